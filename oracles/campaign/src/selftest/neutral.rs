//! Whether a fault that shows nothing can show anything.
//!
//! The structure of the module gives certain answers: what changed computes a value that nothing observes, or stands
//! where no path leads. Otherwise other data decides: the launch's arguments filled with corner values anew, and with
//! random bits. Data that tells the two modules apart proves that the fault is not neutral; data that does not proves
//! nothing, and the answer says so.

use std::collections::HashMap;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg};

use super::Trial;
use oriole_check::inject::Place;
use oriole_check::judge::Judge;
use oriole_generate::{another_launch, reachable};
use oriole_interp::Executable;
use oriole_launch::Launch;

/// What can be said about a fault that showed nothing.
pub enum Argument {
    /// It cannot show, for this reason.
    Certain(&'static str),
    /// Nothing that was tried shows it.
    Probable(String),
    /// This shows it.
    Refuted(String),
}

/// Looks for an argument, with so many other sets of data.
pub fn argument(trial: &Trial, data_sets: u64) -> Argument {
    let (func, place) = (&trial.before.functions[trial.function], trial.place);
    if !reachable(func).contains(&place.block) {
        return Argument::Certain("unreachable");
    }
    if !observed(func).contains(&place.inst) {
        return Argument::Certain("dead");
    }
    if one_way(func, place) {
        return Argument::Certain("both ways are the same");
    }
    if races(trial) {
        return Argument::Refuted("threads race that did not before".to_owned());
    }
    let launches: Vec<Launch> = trial.launches().cloned().collect();
    let other = |at: u64| {
        let like = &launches[at as usize % launches.len()];
        if at.is_multiple_of(2) { another_launch(like, at) } else { like.randomized(at) }
    };
    let shown = if launches.is_empty() { None } else { trial.compare_on((0..data_sets).map(other)) };
    match shown {
        Some(at) => Argument::Refuted(format!("other data shows it, set {} of {data_sets}", at + 1)),
        None => Argument::Probable(format!("{data_sets} other sets of data do not show it")),
    }
}

/// Whether the changed module races on a launch on which the other does not.
fn races(trial: &Trial) -> bool {
    let (Ok(before), Ok(after)) = (Executable::new(&trial.before), Executable::new(&trial.after)) else {
        return false;
    };
    let judges = trial.launches().filter_map(|launch| Judge::of(&before, launch, None).ok());
    judges.into_iter().any(|judge| judge.race_in(&after).is_some())
}

/// Whether all targets of a branch lead to one block through blocks that do nothing, with the same values for its phis.
fn one_way(func: &Function, place: Place) -> bool {
    if !func.inst(place.inst).is(Flags::TERMINATOR) {
        return false;
    }
    let mut ends = func.successors(place.block).map(|target| end_of(func, place.block, target));
    let Some(first) = ends.next() else { return false };
    ends.all(|end| end == first)
}

/// The first block that does something, and what its phis get on the way there.
fn end_of(func: &Function, mut from: Block, mut block: Block) -> (Block, Vec<Operand>) {
    for _ in 0..func.layout().len() {
        let mut insts = func.block_insts(block);
        let (Some(only), None) = (insts.next(), insts.next()) else { break };
        if func.inst(only).opcode != Opcode::Bra {
            break;
        }
        let Some(next) = func.successors(block).next() else { break };
        (from, block) = (block, next);
    }
    let phis = func.block_insts(block).filter(|inst| func.inst(*inst).opcode == Opcode::Phi);
    let value = |phi: Inst| {
        let mut pairs = func.srcs(phi).chunks_exact(2);
        pairs.find(|pair| pair[1] == Operand::Block(from)).map_or(Operand::Undef, |pair| pair[0])
    };
    (block, phis.map(value).collect())
}

/// The instructions whose results reach an effect, a branch or a call.
fn observed(func: &Function) -> Vec<Inst> {
    let insts = || func.layout_insts();
    let makers: HashMap<Reg, Inst> = insts().flat_map(|inst| func.defs(inst).map(move |reg| (reg, inst))).collect();
    let mut found: Vec<Inst> = insts().filter(|inst| !func.inst(*inst).is(Flags::PURE)).collect();
    let mut at = 0;
    while let Some(inst) = found.get(at).copied() {
        let inputs: Vec<Inst> = func.uses(inst).filter_map(|reg| makers.get(&reg).copied()).collect();
        inputs.into_iter().for_each(|inst| {
            if !found.contains(&inst) {
                found.push(inst)
            }
        });
        at += 1;
    }
    found
}
