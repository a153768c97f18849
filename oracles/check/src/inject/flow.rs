//! Faults in the flow of control, and in what flows along it.

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Operand};

use super::change::{Change, Place};

fn pairs(func: &Function, place: Place) -> Vec<(Operand, Operand)> {
    if func.inst(place.inst).opcode != Opcode::Phi {
        return Vec::new();
    }
    func.srcs(place.inst).chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn sources(pairs: &[(Operand, Operand)]) -> Change {
    Change::Sources(pairs.iter().flat_map(|(value, block)| [*value, *block]).collect())
}

/// Whether a value that comes from one block is there at the end of another: only what the phi's block inherits from
/// above is certain, so a phi of values made in the incoming blocks is left to the verifier.
pub(super) fn wrong_phi(func: &Function, place: Place) -> Vec<Change> {
    let old = pairs(func, place);
    let mut changes = Vec::new();
    for at in 1..old.len() {
        if old[at].0 != old[at - 1].0 {
            let mut new = old.clone();
            (new[at].0, new[at - 1].0) = (old[at - 1].0, old[at].0);
            changes.push(sources(&new));
        }
    }
    changes
}

pub(super) fn stale_phi(func: &Function, place: Place) -> Vec<Change> {
    let old = pairs(func, place);
    let mut changes = Vec::new();
    for at in 0..old.len() {
        for other in (0..old.len()).filter(|other| old[*other].0 != old[at].0) {
            let mut new = old.clone();
            new[at].0 = old[other].0;
            changes.push(sources(&new));
        }
    }
    changes
}

fn targets(func: &Function, place: Place) -> Option<[Block; 2]> {
    if func.inst(place.inst).opcode != Opcode::CBra {
        return None;
    }
    let mut targets = func.successors(place.block);
    let both = [targets.next()?, targets.next()?];
    (both[0] != both[1]).then_some(both)
}

pub(super) fn swapped_branch(func: &Function, place: Place) -> Vec<Change> {
    let Some([yes, no]) = targets(func, place) else { return Vec::new() };
    vec![Change::Sources(vec![func.srcs(place.inst)[0], no.into(), yes.into()])]
}

pub(super) fn dropped_branch(func: &Function, place: Place) -> Vec<Change> {
    targets(func, place).into_iter().flatten().map(Change::GoTo).collect()
}

pub(super) fn wrong_switch(func: &Function, place: Place) -> Vec<Change> {
    let sources = func.srcs(place.inst);
    if func.inst(place.inst).opcode != Opcode::Brx {
        return Vec::new();
    }
    let differing = (2..sources.len()).filter(|at| sources[at - 1] != sources[*at]);
    let swap = |at: usize| {
        let mut sources = sources.to_vec();
        sources.swap(at - 1, at);
        Change::Sources(sources)
    };
    differing.map(swap).collect()
}

/// A block that this branch alone leads to, and that continues to one place.
pub(super) fn skipped_block(func: &Function, place: Place) -> Vec<Change> {
    let Some(both) = targets(func, place) else { return Vec::new() };
    let edges = || func.layout().iter().flat_map(|from| func.successors(*from));
    let mut changes = Vec::new();
    for skipped in both {
        let onward: Vec<Block> = func.successors(skipped).collect();
        let works = func.block_insts(skipped).len() > 1;
        let &[next] = onward.as_slice() else { continue };
        if works && edges().filter(|to| *to == skipped).count() == 1 && next != skipped && !both.contains(&next) {
            changes.push(Change::Redirect(skipped, next));
        }
    }
    changes
}

pub(super) fn swapped_arguments(func: &Function, place: Place) -> Vec<Change> {
    if func.inst(place.inst).opcode != Opcode::Call {
        return Vec::new();
    }
    let sources = func.srcs(place.inst);
    let alike = |a: Operand, b: Operand| match (a, b) {
        (Operand::Local(a), Operand::Local(b)) => {
            let (a, b) = (&func.locals[a], &func.locals[b]);
            a.ty == b.ty && a.count == b.count
        }
        _ => false,
    };
    let mut changes = Vec::new();
    for (at, a) in sources.iter().enumerate() {
        for (other, _) in sources.iter().enumerate().skip(at + 1).filter(|(_, b)| a != *b && alike(*a, **b)) {
            let mut sources = sources.to_vec();
            sources.swap(at, other);
            changes.push(Change::Sources(sources));
        }
    }
    changes
}
