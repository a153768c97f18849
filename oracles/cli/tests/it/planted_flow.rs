//! Wrong passes over control flow. Each does what a phase over branches, switches, predicates or live ranges does, but
//! for one thing that it gets wrong, and generated kernels must show it soon.

#[path = "planted_loops/mod.rs"]
mod planted_loops;

use crate::wrong_pass::{assert_found, first_finding};
use oriole_generate::Config;
use oriole_ir::ops::{Compare, FieldValues, Flags, Opcode, Order, Saturate, Space, Type};
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, Operand, Reg, RegFile, RegInfo};
use oriole_optimizer::analysis::{Cfg, Loop, LoopNest};
use oriole_optimizer::pass::{Changed, PhaseContext, PhaseFn};

/// Kernels on which passes without a bug must be clean.
const CLEAN: u64 = 2000;

/// Kernels in SSA form from the beginning.
fn config() -> Config {
    Config { virtual_form: 0, ..Config::default() }
}

#[track_caller]
fn shows(function: PhaseFn) {
    assert_found(function, &config());
}

fn is(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    func.inst(inst).opcode == opcode
}

fn phis(func: &Function, block: Block) -> Vec<Inst> {
    func.block_insts(block).take_while(|inst| is(func, *inst, Opcode::Phi)).collect()
}

/// The instructions of a block but for its phis and its branch.
fn body(func: &Function, block: Block) -> Vec<Inst> {
    let branch = func.terminator(block);
    func.block_insts(block).filter(|inst| !is(func, *inst, Opcode::Phi) && Some(*inst) != branch).collect()
}

fn predecessors(func: &Function, block: Block) -> Vec<Block> {
    func.layout().iter().copied().filter(|from| func.successors(*from).any(|to| to == block)).collect()
}

fn jump(func: &Function, block: Block) -> Option<Block> {
    let branch = func.terminator(block).filter(|inst| is(func, *inst, Opcode::Bra))?;
    func.srcs(branch)[0].block()
}

/// The condition of a block's branch as a register, and its two targets, which differ.
fn two_ways(func: &Function, block: Block) -> Option<(Reg, Block, Block)> {
    let branch = func.terminator(block).filter(|inst| is(func, *inst, Opcode::CBra))?;
    let (yes, no) = (func.srcs(branch)[1].block()?, func.srcs(branch)[2].block()?);
    func.srcs(branch)[0].reg().filter(|_| yes != no).map(|condition| (condition, yes, no))
}

/// The value that a phi takes from a block.
fn incoming(func: &Function, phi: Inst, from: Block) -> Option<Operand> {
    let pairs = func.srcs(phi).chunks_exact(2);
    pairs.into_iter().find(|pair| pair[1] == Operand::Block(from)).map(|pair| pair[0])
}

/// A phi takes nothing from a block any more.
fn forget(func: &mut Function, phi: Inst, from: Block) {
    let others = func.srcs(phi).chunks_exact(2).filter(|pair| pair[1] != Operand::Block(from));
    let srcs: Vec<Operand> = others.flatten().copied().collect();
    func.set_srcs(phi, &srcs);
}

/// Makes a change for each block that it is planned for.
fn blocks<T>(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    plan: impl Fn(&Function, Block) -> Option<T>,
    change: impl Fn(&mut Function, Block, T),
) -> Changed {
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        if let Some(planned) = plan(func, block).filter(|_| cx.rewrite("planted")) {
            change(func, block, planned);
            changed = Changed::Yes;
        }
    }
    changed
}

/// Whether an instruction touches no memory and orders nothing, so that another one of its kind can be moved over it.
fn is_calm(func: &Function, inst: Inst) -> bool {
    let flags = [Flags::READS, Flags::WRITES, Flags::FENCE, Flags::CONVERGENT, Flags::CTA_BARRIER];
    !flags.into_iter().any(|flag| func.inst(inst).is(flag)) && !is(func, inst, Opcode::Call)
}

// OriBranchOpt: a block that leads nowhere but on is left out of the way.

/// A way through a block that `empty` takes for empty, given its instructions.
struct Way {
    from: Block,
    to: Block,
}

fn forward(func: &mut Function, cx: &mut PhaseContext<'_>, empty: fn(&Function, &[Inst]) -> bool) -> Changed {
    let plan = |func: &Function, block: Block| {
        let (to, from) = (jump(func, block)?, predecessors(func, block));
        let alone = from.len() == 1 && phis(func, block).is_empty() && to != block;
        let read_behind = |inst: &Inst| {
            let dsts: Vec<Reg> = func.defs(*inst).collect();
            func.layout_insts().any(|other| func.uses(other).any(|reg| dsts.contains(&reg)))
        };
        let insts = body(func, block);
        let right = alone && empty(func, &insts) && !insts.iter().any(read_behind);
        // Another way from there would give the phis behind it two sources.
        let once = !func.successors(*from.first()?).any(|next| next == to);
        (right && once).then_some(Way { from: from[0], to })
    };
    blocks(func, cx, plan, |func, block, way| {
        let branch = func.terminator(way.from).expect("it leads to the block");
        func.srcs_mut(branch).iter_mut().filter(|target| **target == Operand::Block(block)).for_each(|target| {
            *target = Operand::Block(way.to);
        });
        for phi in phis(func, way.to) {
            let value = incoming(func, phi, block).expect("the block leads here");
            forget(func, phi, block);
            let srcs: Vec<Operand> = func.srcs(phi).iter().copied().chain([value, Operand::Block(way.from)]).collect();
            func.set_srcs(phi, &srcs);
        }
        remove(func, block);
    })
}

/// Moves an instruction in front of another one.
fn move_before(func: &mut Function, at: Inst, inst: Inst) {
    func.remove_inst(inst);
    func.insert_before(at, inst);
}

/// Removes a block that nothing leads to.
fn remove(func: &mut Function, block: Block) {
    func.retain_blocks(|kept| *kept != block);
}

/// Threading past an effect: a block with stores is taken for empty.
#[test]
fn ways_led_past_a_store() {
    shows(|func, cx| {
        forward(func, cx, |func, insts| {
            !insts.is_empty() && insts.iter().all(|inst| is_calm(func, *inst) || is(func, *inst, Opcode::St))
        })
    });
}

/// What a branch above has decided, along single edges.
fn decided_above(func: &Function, block: Block) -> Option<bool> {
    let (condition, ..) = two_ways(func, block)?;
    let mut at = block;
    for _ in 0..8 {
        let [from] = predecessors(func, at)[..] else { return None };
        if let Some((_, yes, _)) = two_ways(func, from).filter(|(above, ..)| *above == condition) {
            return Some(yes == at);
        }
        at = from;
    }
    None
}

/// Makes the branch of a block go one way.
fn settle(func: &mut Function, block: Block, to: Block, not: Block) {
    let branch = func.terminator(block).expect("it has two ways");
    InstBuilder::new(Opcode::Bra).src(to).replace(func, branch);
    phis(func, not).into_iter().for_each(|phi| forget(func, phi, block));
}

/// Decides a branch by one above on the same condition; `polarity` says which way, given what is known.
fn decide(func: &mut Function, cx: &mut PhaseContext<'_>, polarity: fn(bool) -> bool) -> Changed {
    let plan = |func: &Function, block: Block| {
        let value = decided_above(func, block)?;
        let (_, yes, no) = two_ways(func, block)?;
        // The verifier wants nothing unreachable to be read, so both ways must be entered from elsewhere too.
        let entered = |to: Block| predecessors(func, to).len() > 1;
        (entered(yes) && entered(no)).then_some(if polarity(value) { (yes, no) } else { (no, yes) })
    };
    blocks(func, cx, plan, |func, block, (to, not)| settle(func, block, to, not))
}

#[test]
fn branches_decided_with_the_wrong_polarity() {
    shows(|func, cx| decide(func, cx, |value| !value));
}

/// A comparison above decides its opposite bound: `x < c` is taken to say that `x < c - 1` holds.
#[test]
fn branches_decided_by_a_near_comparison() {
    shows(|func, cx| {
        let comparison = |func: &Function, reg: Reg| {
            let inst = func.layout_insts().find(|inst| func.defs(*inst).any(|def| def == reg))?;
            let known = is(func, inst, Opcode::SetP) && func.inst(inst).guard.is_none();
            let bound = func.srcs(inst).get(1).and_then(|bound| func.imm_bits(*bound))?;
            known.then(|| (func.inst(inst).field::<Compare>(), func.srcs(inst)[0], bound))
        };
        let plan = |func: &Function, block: Block| {
            let [from] = predecessors(func, block)[..] else { return None };
            let ((above, yes, _), (below, to, not)) = (two_ways(func, from)?, two_ways(func, block)?);
            let ((how, value, bound), (again, same, near)) = (comparison(func, above)?, comparison(func, below)?);
            let close = how == again && value == same && bound != near && bound.abs_diff(near) < 40;
            let (to, not) = if yes == block { (to, not) } else { (not, to) };
            let entered = predecessors(func, not).len() > 1;
            (close && entered).then_some((to, not))
        };
        blocks(func, cx, plan, |func, block, (to, not)| settle(func, block, to, not))
    });
}

/// Whether a register is defined in a block.
fn defines(func: &Function, block: Block, reg: Reg) -> bool {
    func.block_insts(block).any(|inst| func.defs(inst).any(|def| def == reg))
}

/// The two blocks that lead to a block, where they are the arms of one branch.
fn arms_before(func: &Function, block: Block) -> Option<[Block; 2]> {
    let [a, b] = predecessors(func, block)[..] else { return None };
    let straight = [a, b].iter().all(|from| jump(func, *from) == Some(block));
    let heads = predecessors(func, a);
    (straight && heads.len() == 1 && heads == predecessors(func, b)).then_some([a, b])
}

/// A source of a phi lost: a variable that one arm changes keeps what it had before, whatever way control comes.
#[test]
fn phis_that_lose_the_change_of_an_arm() {
    shows(|func, cx| {
        let plan = |func: &Function, block: Block| {
            let arms = arms_before(func, block)?;
            let from_before = |phi: Inst, arm: Block| {
                let value = incoming(func, phi, arm)?;
                arms.iter().all(|arm| !value.reg().is_some_and(|reg| defines(func, *arm, reg))).then_some(value)
            };
            let lost = |phi: Inst| {
                let [a, b] = arms.map(|arm| incoming(func, phi, arm));
                let kept = from_before(phi, arms[0]).or_else(|| from_before(phi, arms[1]))?;
                (a != b).then_some((phi, kept))
            };
            phis(func, block).into_iter().find_map(lost)
        };
        blocks(func, cx, plan, |func, _, (phi, kept)| {
            func.srcs_mut(phi).chunks_exact_mut(2).for_each(|pair| pair[0] = kept);
        })
    });
}

// OriBranchOpt: equal ends of two blocks are executed behind them.

/// Merges the stores that end both arms of a branch, of different words to one place: a phi merges these, where `other`
/// says what comes from the second arm.
fn merge_tails(func: &mut Function, cx: &mut PhaseContext<'_>, other: fn(Operand) -> Operand) -> Changed {
    let plan = |func: &Function, block: Block| {
        let arms = arms_before(func, block)?;
        let [one, two] = [*body(func, arms[0]).last()?, *body(func, arms[1]).last()?];
        let store = is(func, one, Opcode::St) && func.inst(one).head() == func.inst(two).head();
        let same = store && func.srcs(one)[..2] == func.srcs(two)[..2] && func.srcs(one).len() == 3;
        let values = [one, two].map(|inst| func.srcs(inst).get(2).and_then(|value| value.reg()));
        let [a, b] = [values[0]?, values[1]?];
        let words = [a, b].iter().all(|reg| func.regs()[*reg] == RegInfo::words(1));
        (same && words && a != b).then_some(([one, two], [(arms[0], a), (arms[1], b)]))
    };
    blocks(func, cx, plan, |func, block, ([one, two], [(arm, value), (second, own)])| {
        let merged = func.new_reg(RegInfo::words(1));
        let phi = InstBuilder::new(Opcode::Phi).dst(merged).src(value).src(arm);
        let phi = phi.src(other(own.into())).src(second).create(func);
        func.prepend_inst(block, phi);
        func.remove_inst(two);
        let behind = func.block_insts(block).find(|inst| !is(func, *inst, Opcode::Phi));
        move_before(func, behind.expect("a block ends with a branch"), one);
        func.srcs_mut(one)[2] = merged.into();
    })
}

#[test]
fn tails_merged_that_store_different_values() {
    shows(|func, cx| merge_tails(func, cx, |_| Operand::imm(1)));
}

// DoSwitchOptFirst: chains of comparisons and tables.

/// A table that is one entry too short: the last target is that of the default.
#[test]
fn tables_that_end_too_early() {
    shows(|func, cx| {
        let plan = |func: &Function, block: Block| {
            let branch = func.terminator(block).filter(|inst| is(func, *inst, Opcode::Brx))?;
            let targets: Vec<Block> = func.srcs(branch).iter().filter_map(|operand| operand.block()).collect();
            let (last, other) = (*targets.last()?, *targets.first()?);
            let lost = last != other && targets.iter().filter(|target| **target == last).count() == 1;
            (lost && phis(func, last).is_empty() && predecessors(func, last).len() > 1).then_some((last, other))
        };
        blocks(func, cx, plan, |func, block, (last, other)| {
            let branch = func.terminator(block).expect("it has a table");
            func.srcs_mut(branch).iter_mut().filter(|target| **target == Operand::Block(last)).for_each(|target| {
                *target = Operand::Block(other);
            });
        })
    });
}

/// Comparisons for equality of one value, one after the other: the second case is taken for the default.
#[test]
fn chains_that_lose_a_case() {
    shows(|func, cx| {
        let case = |func: &Function, block: Block| {
            let (condition, yes, no) = two_ways(func, block)?;
            let inst = func.block_insts(block).find(|inst| func.defs(*inst).any(|def| def == condition))?;
            let equal = is(func, inst, Opcode::SetP) && func.inst(inst).field() == Some(Compare::Eq);
            equal.then(|| (func.srcs(inst)[0], yes, no))
        };
        let plan = |func: &Function, block: Block| {
            let [from] = predecessors(func, block)[..] else { return None };
            let ((value, _, above), (same, yes, no)) = (case(func, from)?, case(func, block)?);
            (value == same && above == block && predecessors(func, yes).len() > 1).then_some((no, yes))
        };
        blocks(func, cx, plan, |func, block, (to, not)| settle(func, block, to, not))
    });
}

// OriDoPredication: a short arm is executed under a guard instead of behind a branch.

/// An arm that one branch leads to, which leads where the branch else goes, and nothing merges behind it.
fn arm(func: &Function, block: Block) -> Option<(Block, Guard)> {
    let [head] = predecessors(func, block)[..] else { return None };
    let (condition, yes, no) = two_ways(func, head)?;
    let join = jump(func, block)?;
    let (other, negated) = if yes == block { (no, false) } else { (yes, true) };
    let insts = body(func, block);
    let store = |inst: &Inst| is(func, *inst, Opcode::St);
    let plain = |inst: &Inst| func.inst(*inst).guard.is_none() && (store(inst) || func.inst(*inst).is(Flags::PURE));
    let right = other == join && phis(func, join).is_empty() && insts.iter().any(store) && insts.iter().all(plain);
    right.then_some((head, Guard::new(condition, negated)))
}

/// Converts arms of stores and what they store, under the guard that `guarded` makes of the right one.
fn predicate(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    guarded: fn(&Function, Guard) -> Option<Guard>,
) -> Changed {
    blocks(func, cx, arm, |func, block, (head, guard)| {
        let branch = func.terminator(head).expect("it leads to the arm");
        let join = jump(func, block).expect("the arm leads on");
        for inst in body(func, block) {
            move_before(func, branch, inst);
            if is(func, inst, Opcode::St) {
                func.set_guard(inst, guarded(func, guard));
            }
        }
        InstBuilder::new(Opcode::Bra).src(join).replace(func, branch);
        remove(func, block);
    })
}

#[test]
fn arms_guarded_without_the_negation() {
    shows(|func, cx| predicate(func, cx, |_, guard| Some(Guard::new(guard.reg(), !guard.negated()))));
}

#[test]
fn arms_that_lose_their_guard() {
    shows(|func, cx| predicate(func, cx, |_, _| None));
}

/// The store is guarded by the first predicate of the kernel instead of the branch's.
#[test]
fn arms_guarded_by_another_predicate() {
    shows(|func, cx| {
        predicate(func, cx, |func, guard| {
            let preds = func.block_insts(func.entry()).flat_map(|inst| func.defs(inst).collect::<Vec<_>>());
            let other = preds.into_iter().find(|reg| func.regs()[*reg].file == RegFile::P && *reg != guard.reg());
            Some(other.map_or(guard, |other| Guard::new(other, guard.negated())))
        })
    });
}

// SpeculativeHoistComInsts: loads are hoisted out of arms.

/// Hoists a load from an arm in front of the branch, where the block of the branch has accessed the same place, over
/// what `passes` lets it pass.
fn hoist(func: &mut Function, cx: &mut PhaseContext<'_>, passes: fn(&Function, Inst) -> bool) -> Changed {
    let plan = |func: &Function, arm: Block| {
        let [head] = predecessors(func, arm)[..] else { return None };
        two_ways(func, head)?;
        let weak = |inst: Inst| {
            let data = func.inst(inst);
            data.opcode == Opcode::Ld && data.guard.is_none() && data.field() == Some(Order::Weak)
        };
        let accessed = |load: Inst| {
            let place =
                |inst: Inst| (func.inst(inst).field::<Space>(), func.inst(inst).ty(), func.srcs(inst)[..2].to_vec());
            let access = |inst: &Inst| {
                let known = is(func, *inst, Opcode::Ld) || is(func, *inst, Opcode::St);
                known && func.inst(*inst).guard.is_none() && place(*inst) == place(load)
            };
            func.inst(load).vector_len() == 1 && body(func, head).iter().any(access)
        };
        let fits = |load: &Inst| weak(*load) && accessed(*load) && !func.uses(*load).any(|reg| defines(func, arm, reg));
        let insts = body(func, arm);
        let free = insts.iter().take_while(|inst| is_calm(func, **inst) || weak(**inst) || passes(func, **inst));
        let load = free.copied().find(|inst| fits(inst))?;
        phis(func, arm).is_empty().then_some((head, load))
    };
    blocks(func, cx, plan, |func, _, (head, load)| {
        let branch = func.terminator(head).expect("it has two ways");
        move_before(func, branch, load);
    })
}

#[test]
fn loads_hoisted_over_a_store() {
    shows(|func, cx| hoist(func, cx, |func, inst| is(func, inst, Opcode::St)));
}

// OriHoistInvariantsEarly: what a loop does not change leaves it.

/// Moves an instruction out of each loop that has a preheader, of those that `moves` lets go. Where it is moved `late`,
/// it reads phis of the header, and then the values with which the loop begins instead.
fn leave(func: &mut Function, cx: &mut PhaseContext<'_>, moves: fn(&Function, Inst) -> bool, late: bool) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut changed = Changed::No;
    for of in nest.loops() {
        let (header, Some(from)) = (nest.header(of), nest.preheader(&cfg, of)) else { continue };
        let begins_with = |func: &Function, reg: Reg| {
            let phi = phis(func, header).into_iter().find(|phi| func.defs(*phi).any(|own| own == reg))?;
            incoming(func, phi, from)?.whole_reg()
        };
        let inside = |func: &Function, reg: Reg| nest.blocks(of).iter().any(|block| defines(func, *block, reg));
        let leaves = |inst: &Inst| {
            let known = func.uses(*inst).all(|reg| !inside(func, reg) || late && begins_with(func, reg).is_some());
            let reads_phi = func.inputs(*inst).iter().any(|read| read.reg().is_some_and(|reg| inside(func, reg)));
            known && reads_phi == late && func.inst(*inst).guard.is_none() && moves(func, *inst)
        };
        let found = nest.blocks(of).iter().flat_map(|block| body(func, *block)).find(leaves);
        let Some(inst) = found.filter(|_| cx.rewrite("planted")) else { continue };
        let inputs = func.inputs(inst).to_vec();
        for (place, read) in inputs.into_iter().enumerate() {
            if let Some(value) = read.reg().and_then(|reg| begins_with(func, reg)) {
                func.inputs_mut(inst)[place] = read.map_reg(|_| value);
            }
        }
        let branch = func.terminator(from).expect("it leads to the loop");
        move_before(func, branch, inst);
        changed = Changed::Yes;
    }
    changed
}

fn is_pure(func: &Function, inst: Inst) -> bool {
    func.inst(inst).is(Flags::PURE)
}

#[test]
fn loads_that_leave_a_loop_which_stores() {
    shows(|func, cx| leave(func, cx, |func, inst| is(func, inst, Opcode::Ld), false));
}

#[test]
fn values_that_leave_a_loop_which_changes_them() {
    shows(|func, cx| leave(func, cx, is_pure, true));
}

// OriLoopUnrolling: the last round of a loop leads on behind it.

/// Takes the edge back from each loop that has its test at its only latch, as if one round were all.
fn one_round(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut changed = Changed::No;
    for of in nest.loops().filter(|of| nest.is_natural(*of)) {
        let header = nest.header(of);
        let [latch] = nest.latches(&cfg, of).collect::<Vec<_>>()[..] else { continue };
        let Some((_, yes, no)) = two_ways(func, latch) else { continue };
        let exit = if yes == header { no } else { yes };
        if nest.contains(&cfg, of, exit) || !cx.rewrite("planted") {
            continue;
        }
        let branch = func.terminator(latch).expect("it has two ways");
        InstBuilder::new(Opcode::Bra).src(exit).replace(func, branch);
        phis(func, header).into_iter().for_each(|phi| forget(func, phi, latch));
        changed = Changed::Yes;
    }
    changed
}

#[test]
fn loops_of_several_rounds_that_become_one() {
    shows(one_round);
}

// OriSplitLiveRanges: reads behind a split take its part. One that is left with the register before is right as well.

/// Splits a word in each block; what reads it takes the part, but for one reader where the pass is `wrong`, which gets
/// another register of the block.
fn split_word(func: &mut Function, cx: &mut PhaseContext<'_>, wrong: bool) -> Changed {
    let plan = |func: &Function, block: Block| {
        let word = |inst: &Inst| {
            let reg = func.defs(*inst).next().filter(|_| func.dsts(*inst).len() == 1)?;
            let info = func.regs()[reg];
            (info.file == RegFile::R && info.words == 1).then_some((*inst, reg))
        };
        let words: Vec<(Inst, Reg)> = body(func, block).iter().filter_map(word).collect();
        let (inst, reg) = *words.last()?;
        let (_, before) = *words.iter().rev().find(|(_, other)| *other != reg)?;
        Some((inst, reg, before))
    };
    blocks(func, cx, plan, |func, _, (inst, reg, before)| {
        let part = func.new_reg(func.regs()[reg]);
        let copy = InstBuilder::new(Opcode::Split).field(Type::B32).dst(part).src(reg).create(func);
        func.insert_after(inst, copy);
        let mut stale = wrong;
        for user in func.layout_insts().collect::<Vec<Inst>>() {
            if user == copy || !func.uses(user).any(|read| read == reg) {
                continue;
            }
            let new = if std::mem::take(&mut stale) { before } else { part };
            let renamed =
                |operand: &mut Operand| *operand = operand.map_reg(|read| if read == reg { new } else { read });
            func.inputs_mut(user).iter_mut().for_each(renamed);
        }
    })
}

#[test]
fn splits_that_leave_a_read_with_another_register() {
    shows(|func, cx| split_word(func, cx, true));
}

/// The same passes without a bug find nothing, so what is found is the bug.
#[test]
fn right_passes_are_clean() {
    let passes: [PhaseFn; 7] = [
        |func, cx| forward(func, cx, |_, insts| insts.is_empty()),
        |func, cx| decide(func, cx, |value| value),
        |func, cx| merge_tails(func, cx, |own| own),
        |func, cx| predicate(func, cx, |_, guard| Some(guard)),
        |func, cx| hoist(func, cx, |_, _| false),
        |func, cx| leave(func, cx, is_pure, false),
        |func, cx| split_word(func, cx, false),
    ];
    for (number, pass) in passes.into_iter().chain(planted_loops::RIGHT).enumerate() {
        assert_eq!(first_finding(pass, &config(), CLEAN), None, "pass {number}");
    }
}
