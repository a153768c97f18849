//! Branch tables: entries that the index does not reach go, and a table of few stretches becomes comparisons.

use super::build::{Build, Case};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::{BranchRanges, RangeAnalyses};
use oriole_pass::edit::graph::remove_incoming;
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use rustc_hash::FxHashMap;

/// Looks at every branch table.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let few = cx.knobs.limit(Knob::SwitchOptFewTargets).map_or(usize::MAX, |most| most as usize);
    let reached = reached(func, cx);
    let (mut changed, mut placed) = (Changed::No, FxHashMap::default());
    for (block, branch, bounds) in reached {
        changed |= narrow(func, cx, block, branch, bounds);
        let Some((value, stretches)) = stretches(func, branch).filter(|(_, found)| (2..=few).contains(&found.len()))
        else {
            continue;
        };
        if !cx.rewrite("table-to-branches") {
            break;
        }
        placed.insert(block, compare(func, block, branch, value, &stretches));
        changed = Changed::Yes;
    }
    if !placed.is_empty() {
        Build::place(func, &placed, |_| false);
    }
    changed
}

/// The tables with the bounds of their index.
fn reached(func: &Function, cx: &mut PhaseContext<'_>) -> Vec<(Block, Inst, (u64, u64))> {
    let (asked, ranges) = (RangeAnalyses::new(func, cx.analyses), cx.analyses.get::<BranchRanges>(func));
    let table = |block: &Block| {
        let branch = func.terminator(*block).filter(|inst| func.inst(*inst).opcode == Opcode::Brx)?;
        let range = ranges.0.in_block(asked.context(func), *func.srcs(branch).first()?, *block)?;
        Some((*block, branch, range.unsigned()))
    };
    asked.cfg.rpo().iter().filter_map(table).collect()
}

/// Cuts a table behind the largest index, and lets entries below the smallest be like that of the smallest.
fn narrow(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    block: Block,
    branch: Inst,
    (low, high): (u64, u64),
) -> Changed {
    let targets = &func.srcs(branch)[1..];
    let low = usize::try_from(low).unwrap_or(usize::MAX).min(targets.len() - 1);
    let kept = usize::try_from(high).unwrap_or(usize::MAX).min(targets.len() - 1) + 1;
    let mut left = targets[..kept.max(low + 1)].to_vec();
    let first = left[low];
    left[..low].fill(first);
    if left == targets || !cx.rewrite("table-range") {
        return Changed::No;
    }
    let lost: Vec<Operand> = targets.iter().copied().filter(|target| !left.contains(target)).collect();
    for next in lost.into_iter().filter_map(Operand::block) {
        remove_incoming(func, next, |from| from == block);
    }
    left.insert(0, func.srcs(branch)[0]);
    func.set_srcs(branch, &left);
    Changed::Yes
}

/// The index, and where stretches of equal targets begin, if no target has two.
fn stretches(func: &Function, branch: Inst) -> Option<(Reg, Vec<Case>)> {
    let [index, targets @ ..] = func.srcs(branch) else { return None };
    let mut found: Vec<Case> = Vec::new();
    for (at, target) in (0u32..).zip(targets) {
        let target = target.block()?;
        if found.last().is_some_and(|(_, last)| *last == target) {
            continue;
        }
        if found.iter().any(|(_, other)| *other == target) || found.len() > 16 {
            return None;
        }
        found.push((at, target));
    }
    Some((index.whole_reg()?, found))
}

fn compare(func: &mut Function, block: Block, branch: Inst, value: Reg, stretches: &[Case]) -> Vec<Block> {
    func.remove_inst(branch);
    let mut build = Build { func, value, made: Vec::new() };
    let ways: Vec<Case> = stretches.iter().map(|(at, target)| (*at, build.way(block, *target))).collect();
    build.order_tree(block, &ways);
    build.made
}
