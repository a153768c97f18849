//! Whether blocks that were put in order do what they did.
//!
//! Code generation orders the blocks of a function of the machine level, so that each block which continues without a
//! jump is followed by the one that it continues to. [`check`] takes the function before and after: every block that
//! control reaches is there with the same instructions, control takes the same ways out of it, and a way without a jump
//! leads to the block behind. Blocks that hold nothing but a jump may be added on a way.
//!
//! Cost: one pass over the instructions, whose texts are compared.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Guard, Inst, Operand, inst_to_string};

use crate::graph::Graph;

/// A fault of an order of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disorder {
    /// The block, as the function before names it.
    pub block: Block,
    /// Its fault.
    pub what: Fault,
}

/// The fault of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Control reaches it, and it is gone; or control begins elsewhere.
    Gone,
    /// It has other instructions.
    Changed,
    /// Control leaves it on other ways.
    Ways,
    /// It continues without a jump, and the block behind is another one.
    Behind,
}

impl std::fmt::Display for Disorder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            Fault::Gone => "is reached, and has no place in the order",
            Fault::Changed => "has other instructions than before",
            Fault::Ways => "leads elsewhere than before",
            Fault::Behind => "continues to a block that is not behind it",
        };
        write!(out, "{} {what}", self.block)
    }
}

/// The ways out of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ways {
    /// The last instruction without its targets and its guard; none where it has no word.
    text: Option<String>,
    guard: Option<Guard>,
    targets: Vec<Block>,
}

/// The name of the jump that an order of blocks may need, or do without.
const JUMP: &str = "BRA";

impl Ways {
    fn of(func: &Function, block: Block) -> Ways {
        let Some(last) = func.terminator(block) else {
            return Ways { text: None, guard: None, targets: Vec::new() };
        };
        let targets: Vec<Block> = func.srcs(last).iter().filter_map(|operand| operand.block()).collect();
        let data = func.inst(last);
        let text = (data.opcode != Opcode::Bra).then(|| {
            let rest: Vec<Operand> =
                func.srcs(last).iter().copied().filter(|operand| operand.block().is_none()).collect();
            format!("{} {rest:?}", func.mnemonic(last).unwrap_or_default())
        });
        Ways { text, guard: data.guard, targets }
    }

    /// Whether it is a jump of the kind that the order of blocks decides about.
    fn is_plain(&self) -> bool {
        self.text.as_ref().is_none_or(|text| text.split(' ').next() == Some(JUMP))
    }

    /// Whether control takes the same ways.
    fn is_like(&self, other: &Ways) -> bool {
        let is_same = self.text == other.text || self.is_plain() && other.is_plain();
        let opposite = self.guard.map(Guard::opposite);
        let swapped = || self.targets.iter().rev().eq(&other.targets) && self.targets.len() == 2;
        is_same
            && (self.guard == other.guard && self.targets == other.targets
                || opposite.is_some() && opposite == other.guard && swapped() && self.is_plain())
    }
}

/// Compares a function whose blocks were put in order with the one before.
pub fn check(before: &Function, after: &Function) -> Option<Disorder> {
    let graph = Graph::of(before);
    let reached = graph.reachable(0, None);
    let is_added = |block: Block| !graph.blocks.contains(&block);
    // Behind blocks that were added and only jump. A ring of them leads to itself.
    let resolved = |mut block: Block| {
        for _ in 0..after.layout().len() {
            match (is_added(block), Ways::of(after, block)) {
                (true, Ways { guard: None, targets, .. })
                    if targets.len() == 1 && after.block_insts(block).count() == 1 =>
                {
                    block = targets[0];
                }
                _ => break,
            }
        }
        block
    };
    if let (Some(first), Some(entry)) = (graph.blocks.first(), after.layout().first())
        && first != entry
    {
        return Some(Disorder { block: *first, what: Fault::Gone });
    }
    for (block, _) in graph.blocks.iter().copied().zip(reached).filter(|(_, is_reached)| *is_reached) {
        let wrong = |what| Some(Disorder { block, what });
        if !after.layout().contains(&block) {
            return wrong(Fault::Gone);
        }
        if body(before, block) != body(after, block) {
            return wrong(Fault::Changed);
        }
        let (old, mut new) = (Ways::of(before, block), Ways::of(after, block));
        new.targets.iter_mut().for_each(|to| *to = resolved(*to));
        if !old.is_like(&new) {
            return wrong(Fault::Ways);
        }
    }
    after.layout().iter().enumerate().find_map(|(at, block)| {
        let behind = after.layout().get(at + 1).copied();
        let continues = continues_to(after, *block)?;
        (Some(continues) != behind).then_some(Disorder { block: *block, what: Fault::Behind })
    })
}

/// The texts of a block's instructions but for the last one, where that ends it.
fn body(func: &Function, block: Block) -> Vec<String> {
    let inner = |inst: &Inst| !func.inst(*inst).is(Flags::TERMINATOR);
    func.block_insts(block).filter(inner).map(|inst| inst_to_string(func, inst, None)).collect()
}

/// The block that control continues to without a jump.
fn continues_to(func: &Function, block: Block) -> Option<Block> {
    let ways = Ways::of(func, block);
    match (&ways.text, ways.targets.as_slice()) {
        (None, [to]) => Some(*to),
        (Some(_), [_, rest]) if ways.is_plain() => Some(*rest),
        _ => None,
    }
}
