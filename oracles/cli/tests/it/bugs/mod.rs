//! Bugs planted in test-only phases, for kernels of any size: what each does wrong, and kernels that show it.

use oriole_check::kernels::case;
use oriole_check::report::Finding;
use oriole_check::{CheckOptions, check_module};
use oriole_generate::Config;
use oriole_ir::ops::{Compare, Flags, Opcode, Rounding, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand};
use oriole_optimizer::pass::{Changed, Element, PhaseContext, PhaseFn, Run};

/// A bug: its name, the verdict that it leads to, and the phase.
pub const BUGS: &[(&str, &str, PhaseFn)] = &[
    ("AddIsSub", "mismatch", add_is_sub),
    ("AndIsOr", "mismatch", and_is_or),
    ("ShiftByOneMore", "mismatch", shift_by_one_more),
    ("ConstantOffByOne", "mismatch", constant_off_by_one),
    ("SubCommutes", "mismatch", sub_commutes),
    ("LessIsLessEqual", "mismatch", less_is_less_equal),
    ("SelectSwapped", "mismatch", select_swapped),
    ("PhiOfOneSource", "mismatch", phi_of_one_source),
    ("GuardDropped", "mismatch", guard_dropped),
    ("BranchSwapped", "mismatch", branch_swapped),
    ("StoreDropped", "mismatch", store_dropped),
    ("LoadForwarded", "mismatch", load_forwarded),
    ("WrongRounding", "mismatch", wrong_rounding),
    ("LoopNeverEnds", "mismatch", loop_never_ends),
    ("LiveValueDropped", "invalid IR", live_value_dropped),
    ("PanicsOnSelect", "panic", panics_on_select),
];

/// Kernels of 200 instructions and more.
pub fn large() -> Config {
    Config { instructions: [200, 320], ..Config::default() }
}

/// The phase of a bug.
pub fn phase(name: &'static str, function: PhaseFn) -> Element {
    Element::custom(name, Run::function(function))
}

/// How to check for a bug.
pub fn options(name: &'static str, function: PhaseFn) -> CheckOptions {
    let phases = vec![phase(name, function)];
    CheckOptions { passes: phases.into(), randoms: 0, destruction: false, round_trip: false, ..CheckOptions::default() }
}

/// The first findings of a bug on large kernels, from a seed on.
pub fn findings(options: &CheckOptions, verdict: &str, seed: u64, count: usize) -> Vec<Finding> {
    let config = large();
    let kernels = (0..400).map(|number| case(seed, number, &config));
    let found = kernels.filter(|kernel| kernel.module.inst_count() >= 200);
    let check = |kernel: oriole_generate::Generated| {
        let report = check_module("generated", &kernel.module, &kernel.launches, options).expect("it can be checked");
        report.findings.into_iter().next().filter(|finding| finding.verdict.name() == verdict)
    };
    found.filter_map(check).take(count).collect()
}

fn insts(func: &Function) -> Vec<Inst> {
    func.layout_insts().collect()
}

/// Applies `change` wherever it fits, with leave for each.
fn each(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    fits: impl Fn(&Function, Inst) -> bool,
    mut change: impl FnMut(&mut Function, Inst),
) -> Changed {
    let mut changed = Changed::No;
    for inst in insts(func) {
        if fits(func, inst) && cx.rewrite("planted") {
            change(func, inst);
            changed = Changed::Yes;
        }
    }
    changed
}

fn is(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    func.inst(inst).opcode == opcode
}

/// Whether both of the first two sources are different registers.
fn of_registers(func: &Function, inst: Inst) -> bool {
    let srcs = func.srcs(inst);
    srcs.len() >= 2 && srcs[0].reg().is_some() && srcs[1].reg().is_some() && srcs[0] != srcs[1]
}

fn becomes(func: &mut Function, inst: Inst, opcode: Opcode) {
    let data = *func.inst(inst);
    let ty = data.ty();
    let dsts: Vec<_> = func.defs(inst).collect();
    let (srcs, elses) = (func.srcs(inst).to_vec(), func.elses(inst).to_vec());
    let mut new = InstBuilder::new(opcode).field(ty).srcs(srcs).guard(data.guard);
    for dst in dsts {
        new = new.dst(dst);
    }
    for old in elses {
        new = new.or_else(old);
    }
    new.replace(func, inst);
}

fn add_is_sub(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        let packed = matches!(func.inst(inst).ty(), Type::U16x2 | Type::S16x2);
        is(func, inst, Opcode::IAdd) && of_registers(func, inst) && !packed
    };
    each(func, cx, fits, |func, inst| becomes(func, inst, Opcode::ISub))
}

fn and_is_or(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| is(func, inst, Opcode::And) && of_registers(func, inst);
    each(func, cx, fits, |func, inst| becomes(func, inst, Opcode::Or))
}

/// Changes the bits of the second source, where it is an immediate.
fn change_second(func: &mut Function, inst: Inst, change: impl Fn(u64) -> u64) {
    if let Some(bits) = func.imm_bits(func.srcs(inst)[1]) {
        func.srcs_mut(inst)[1] = func.imm(change(bits));
    }
}

fn shift_by_one_more(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        let shifts = matches!(func.inst(inst).opcode, Opcode::Shl | Opcode::Shr);
        shifts && matches!(func.imm_bits(func.srcs(inst)[1]), Some(1..31))
    };
    each(func, cx, fits, |func, inst| change_second(func, inst, |bits| bits + 1))
}

fn constant_off_by_one(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        is(func, inst, Opcode::Xor) && func.imm_bits(func.srcs(inst)[1]).is_some_and(|bits| bits & 0xff == 0)
    };
    each(func, cx, fits, |func, inst| change_second(func, inst, |bits| bits ^ 1))
}

fn sub_commutes(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| is(func, inst, Opcode::ISub) && of_registers(func, inst);
    each(func, cx, fits, |func, inst| func.srcs_mut(inst).swap(0, 1))
}

fn less_is_less_equal(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        is(func, inst, Opcode::SetP) && func.inst(inst).field::<Compare>() == Some(Compare::Lt)
    };
    each(func, cx, fits, |func, inst| func.set_field(inst, Compare::Le))
}

fn select_swapped(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| is(func, inst, Opcode::SelP) && of_registers(func, inst);
    each(func, cx, fits, |func, inst| func.srcs_mut(inst).swap(0, 1))
}

/// Forgets the side of a one-sided branch: the phi behind it takes the value from before the branch either way.
fn phi_of_one_source(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let side_of = |func: &Function, side: Option<Block>, head: Option<Block>| {
        let leads = |block: &&Block| func.successors(**block).any(|next| Some(next) == side);
        let preds: Vec<Block> = func.layout().iter().filter(leads).copied().collect();
        side != head && Some(&preds[..]) == head.as_ref().map(std::slice::from_ref)
    };
    let sides = |func: &Function, inst: Inst| {
        let srcs = func.srcs(inst);
        if !is(func, inst, Opcode::Phi) || srcs.len() != 4 || srcs[0] == srcs[2] {
            return None;
        }
        let (first, second) = (srcs[1].block(), srcs[3].block());
        let second_is_side = side_of(func, second, first).then_some((0, 2));
        second_is_side.or_else(|| side_of(func, first, second).then_some((2, 0)))
    };
    let fits = |func: &Function, inst: Inst| sides(func, inst).is_some();
    each(func, cx, fits, |func, inst| {
        let Some((from, to)) = sides(func, inst) else { return };
        let value = func.srcs(inst)[from];
        func.srcs_mut(inst)[to] = value;
    })
}

fn guard_dropped(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        let data = func.inst(inst);
        data.guard.is_some() && data.is(Flags::PURE) && !func.dsts(inst).is_empty()
    };
    each(func, cx, fits, |func, inst| {
        let data = *func.inst(inst);
        let dsts: Vec<_> = func.defs(inst).collect();
        let srcs = func.srcs(inst).to_vec();
        let mut new = InstBuilder::new(data.opcode).fields(data.fields).srcs(srcs);
        for dst in dsts {
            new = new.dst(dst);
        }
        new.replace(func, inst);
    })
}

fn branch_swapped(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        let srcs = func.srcs(inst);
        let forward = |op: &Operand| {
            let at = |wanted| func.layout().iter().position(|other| Some(*other) == wanted);
            at(op.block()) > at(func.block_of(inst))
        };
        is(func, inst, Opcode::CBra) && srcs[1] != srcs[2] && srcs[1..].iter().all(forward)
    };
    each(func, cx, fits, |func, inst| func.srcs_mut(inst).swap(1, 2))
}

fn store_dropped(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| is(func, inst, Opcode::St) && func.inst(inst).guard.is_some();
    each(func, cx, fits, Function::remove_inst)
}

/// Takes a load for the same as an earlier one from the same base, of its block or the entry, whatever their offsets
/// are and whatever is stored in between.
fn load_forwarded(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    let mut before: Vec<Inst> = Vec::new();
    let mut of_entry = None;
    for block in func.layout().to_vec() {
        before.truncate(of_entry.unwrap_or(0));
        for inst in func.block_insts(block).collect::<Vec<_>>() {
            if !is(func, inst, Opcode::Ld) || func.inst(inst).guard.is_some() || func.dsts(inst).len() != 1 {
                continue;
            }
            let info = |func: &Function, inst: Inst| func.defs(inst).next().map(|reg| func.regs()[reg]);
            let same =
                |other: &&Inst| func.srcs(**other)[0] == func.srcs(inst)[0] && info(func, **other) == info(func, inst);
            if let Some(earlier) = before.iter().find(same).filter(|_| cx.rewrite("planted")) {
                let (from, to) = (func.dsts(*earlier)[0], func.dsts(inst)[0]);
                for user in insts(func) {
                    func.inputs_mut(user).iter_mut().filter(|op| **op == to).for_each(|op| *op = from);
                }
                changed = Changed::Yes;
            }
            before.push(inst);
        }
        of_entry.get_or_insert(before.len());
    }
    changed
}

fn wrong_rounding(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| {
        let data = func.inst(inst);
        let nearest = matches!(data.field::<Rounding>(), Some(Rounding::Rn | Rounding::Default));
        matches!(data.opcode, Opcode::FAdd | Opcode::FMul | Opcode::FFma)
            && nearest
            && matches!(data.ty(), Type::F32 | Type::F64)
    };
    each(func, cx, fits, |func, inst| func.set_field(inst, Rounding::Rz))
}

/// Sends the first branch backwards to where it came from.
fn loop_never_ends(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let place = |func: &Function, wanted: Block| func.layout().iter().position(|block| *block == wanted);
    for block in func.layout().to_vec() {
        let Some(inst) = func.terminator(block).filter(|inst| is(func, *inst, Opcode::CBra)) else { continue };
        let targets: Vec<Block> = func.successors(block).collect();
        let back = targets.iter().copied().find(|target| place(func, *target) <= place(func, block));
        if let Some(back) = back.filter(|_| targets[0] != targets[1] && cx.rewrite("planted")) {
            let lost = if targets[0] == back { targets[1] } else { targets[0] };
            InstBuilder::new(Opcode::Bra).src(back).replace(func, inst);
            for phi in func.block_insts(lost).collect::<Vec<_>>() {
                if is(func, phi, Opcode::Phi) {
                    let pairs = func.srcs(phi).chunks(2).filter(|pair| pair[1] != Operand::Block(block));
                    let srcs: Vec<Operand> = pairs.flatten().copied().collect();
                    func.set_srcs(phi, &srcs);
                }
            }
            return Changed::Yes;
        }
    }
    Changed::No
}

fn live_value_dropped(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let fits = |func: &Function, inst: Inst| is(func, inst, Opcode::IMadWide);
    each(func, cx, fits, Function::remove_inst)
}

fn panics_on_select(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    for inst in insts(func) {
        let select = is(func, inst, Opcode::SelP) && of_registers(func, inst);
        assert!(!(select && cx.rewrite("planted")), "no rule for a select of registers");
    }
    Changed::No
}
