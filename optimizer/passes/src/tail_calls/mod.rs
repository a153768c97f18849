//! `tailcallelim`: a function that ends by calling itself goes round instead (`spec/pass-pipeline.txt`, line 1190:
//! TailCallElim; its argument is 3 wherever it stands, and the page does not say what it means).
//!
//! The call becomes a branch to the function's beginning. Its parameters, which the function loads from parameter
//! space, become phis there: of what the function was called with, and of what each call in tail position passes
//! (`position.rs`). A function is left alone
//!
//! - if a variable of its own may be known where its address is not followed: each call would have one;
//! - if it does what threads do together beside calling itself: threads that go round are together at other places than
//!   those in calls of different depth;
//! - if it loads a parameter other than by 4 or 8 bytes at a known place.
//!
//! Cost: linear in the function, times the calls.

mod position;

use crate::sroa::named_locals;
use oriole_ir::ops::{Flags, Opcode, Space};
use oriole_ir::{Block, FuncId, Function, FunctionKind, Inst, InstBuilder, InstHead, Local, Operand, Reg, RegInfo};
use oriole_pass::analysis::Addresses;
use oriole_pass::edit::graph::{come_from, map_targets, remove_incoming};
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::peephole::rewrite::mov_fields;
use position::{TailCall, access};

/// Bytes of a parameter that the function loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    /// The parameter, by its place.
    place: usize,
    first: u64,
    words: u8,
}

/// The tailcallelim pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let Some(own) = cx.function_at_hand().filter(|_| func.kind == FunctionKind::Device) else { return Changed::No };
    let calls: Vec<Inst> = func.layout_insts().filter(|inst| calls(func, *inst, own)).collect();
    if calls.is_empty() || !is_alone(func, own) || !keeps_variables(func, &cx.analyses.get(func)) {
        return Changed::No;
    }
    let Some(loads) = loads(func) else { return Changed::No };
    let mut parts: Vec<Part> = Vec::new();
    for (_, part) in &loads {
        if !parts.contains(part) {
            parts.push(*part);
        }
    }
    let tails = calls.into_iter().filter_map(|call| TailCall::of(func, call, &parts));
    let tails: Vec<TailCall> = tails.filter(|_| cx.rewrite("tail-call")).collect();
    if tails.is_empty() {
        return Changed::No;
    }
    go_round(func, &parts, &loads, &tails);
    Changed::Yes
}

fn calls(func: &Function, inst: Inst, own: FuncId) -> bool {
    func.inst(inst).opcode == Opcode::Call && func.srcs(inst).first() == Some(&Operand::Func(own))
}

/// Whether threads do nothing together in the function but call it again.
fn is_alone(func: &Function, own: FuncId) -> bool {
    func.layout_insts().all(|inst| calls(func, inst, own) || !func.inst(inst).is(Flags::CONVERGENT))
}

/// Whether no call can tell its own variables from those of the call before.
fn keeps_variables(func: &Function, addresses: &Addresses) -> bool {
    let is_own = |local: &Local| func.locals[*local].space == Space::Local;
    !addresses.goes_beyond() && func.locals.keys().filter(is_own).all(|local| !addresses.is_captured(local))
}

/// The loads of parameters; `None` where the function does something else with one.
fn loads(func: &Function) -> Option<Vec<(Inst, Part)>> {
    let mut found = Vec::new();
    for inst in func.layout_insts() {
        let is_param = |operand: &Operand| matches!(operand, Operand::Local(local) if func.params.contains(local));
        if !func.inputs(inst).iter().any(is_param) {
            continue;
        }
        let (local, first, words) = access(func, inst, Opcode::Ld)?;
        let place = func.params.iter().position(|param| *param == local)?;
        found.push((inst, Part { place, first, words }));
    }
    Some(found)
}

/// Has the function go round in place of the calls.
fn go_round(func: &mut Function, parts: &[Part], loads: &[(Inst, Part)], tails: &[TailCall]) {
    let (entry, header) = (func.entry(), func.create_block());
    func.move_insts(entry, header);
    for next in func.successors(header).collect::<Vec<Block>>() {
        come_from(func, next, entry, header);
    }
    let mut layout = func.layout().to_vec();
    layout.insert(1, header);
    func.set_layout(layout);
    for block in func.layout().to_vec() {
        map_targets(func, block, |target| if target == entry { header } else { target });
    }
    let merged: Vec<Reg> =
        parts.iter().enumerate().map(|(at, part)| merge(func, [entry, header], at, *part, tails)).collect();
    InstBuilder::new(Opcode::Bra).src(header).append(func, entry);
    for (load, part) in loads {
        let at = parts.iter().position(|own| own == part).expect("all parts are there");
        let InstHead { guard, line, .. } = func.inst(*load).head();
        let ty = RegInfo::words(part.words).mov_type().expect("one or two words");
        let (dsts, elses) = (func.dsts(*load).to_vec(), func.elses(*load).to_vec());
        let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(ty), guard, line };
        func.set_inst(*load, head, &dsts, &[Operand::Reg(merged[at])], &elses);
    }
    tails.iter().for_each(|tail| finish(func, tail, entry, header));
    drop_variables(func, tails);
}

/// A part of a parameter in each round: what it is at first, in front of the header, and what each call passes.
fn merge(func: &mut Function, [entry, header]: [Block; 2], at: usize, part: Part, tails: &[TailCall]) -> Reg {
    let info = RegInfo::words(part.words);
    let ty = info.mov_type().expect("one or two words");
    let first = func.imm(part.first);
    let load = InstBuilder::new(Opcode::Ld).field(Space::Param).field(ty);
    let given = load.src(Operand::Local(func.params[part.place])).src(first).append_value(func, entry, info);
    let merged = func.new_reg(info);
    let mut phi = InstBuilder::new(Opcode::Phi).dst(merged).src(given).src(entry);
    for tail in tails {
        let from = if tail.block == entry { header } else { tail.block };
        phi = phi.src(func.free(tail.passed[at])).src(from);
    }
    let phi = phi.create(func);
    func.prepend_inst(header, phi);
    merged
}

/// The end of the block with a call: what passes, the call and the return are a branch.
fn finish(func: &mut Function, tail: &TailCall, entry: Block, header: Block) {
    let block = if tail.block == entry { header } else { tail.block };
    for next in func.successors(block).collect::<Vec<Block>>() {
        remove_incoming(func, next, |from| from == block);
    }
    let mut at = Some(tail.call);
    while let Some(inst) = at {
        at = func.next_inst(inst);
        func.remove_inst(inst);
    }
    tail.stores.iter().for_each(|store| func.remove_inst(*store));
    InstBuilder::new(Opcode::Bra).src(header).append(func, block);
}

/// Variables in parameter space that no call passes are none of PTX.
fn drop_variables(func: &mut Function, tails: &[TailCall]) {
    let named = named_locals(func);
    let mut gone: Vec<Local> = tails.iter().flat_map(|tail| &tail.variables).copied().collect();
    gone.sort_unstable();
    gone.dedup();
    gone.retain(|local| !named.contains(*local));
    func.remove_locals(&gone);
}
