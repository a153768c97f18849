//! What branches say of predicates: the two-direction predicate simplifier of OriCopyProp
//! (`spec/copy-propagation-and-cse.txt`, "Algorithm", `sub_908A60`). The page gives its name, its two runs and what it
//! is asked, not how it answers.
//!
//! Forward: a block that one edge alone enters knows the condition of the branch before it, and so do all blocks that
//! it dominates. Backward: with the condition, what it was computed from is known ([`edge_facts`]).
//!
//! In SSA form this holds although both the condition and its reader may be in a loop: the definition dominates the
//! branch, so control that came to it again would have to pass the edge again before it reached the reader.
//!
//! Cost: linear; a question looks at no more than [`FARTHEST`] branches.

use std::sync::Arc;

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::analysis::bitset::BitSet;
use crate::analysis::{Cfg, Definitions, Dominators};
use crate::engine::edge_facts;
use oriole_ir::{Block, Function, Reg};

/// Branches that are looked at for one predicate.
const FARTHEST: usize = 64;

/// What is known of predicates, by block.
pub(super) struct Conditions {
    cfg: Arc<Cfg>,
    /// By block: the predicates that the edge into it decides.
    facts: SecondaryMap<Block, Vec<(Reg, bool)>>,
    /// By block: the nearest strict dominator with facts of its own.
    above: SecondaryMap<Block, Option<Block>>,
    /// The registers of all facts.
    known: BitSet,
}

impl Conditions {
    pub(super) fn new(
        func: &Function,
        cfg: Arc<Cfg>,
        dominators: &Dominators,
        definitions: &Definitions,
    ) -> Conditions {
        let mut conditions = Conditions {
            facts: SecondaryMap::new(),
            above: SecondaryMap::new(),
            known: BitSet::new(func.regs().len()),
            cfg,
        };
        let cfg = conditions.cfg.clone();
        for block in dominators.preorder(&cfg) {
            let parent = dominators.immediate_dominator(&cfg, block);
            let decided = parent.filter(|parent| cfg.predecessors(block) == [*parent]);
            let decided = decided.and_then(|parent| edge_facts::decided(func, parent, block));
            let facts =
                decided.map_or_else(Vec::new, |(reg, value)| edge_facts::implied(func, definitions, reg, value));
            facts.iter().for_each(|(reg, _)| _ = conditions.known.insert(reg.index()));
            if !facts.is_empty() {
                conditions.facts[block] = facts;
            }
            if let Some(parent) = parent {
                let has_facts = !conditions.facts[parent].is_empty();
                conditions.above[block] = if has_facts { Some(parent) } else { conditions.above[parent] };
            }
        }
        conditions
    }

    /// What a predicate is wherever control is in a block.
    pub(super) fn at(&self, block: Block, reg: Reg) -> Option<bool> {
        if !self.known.contains(reg.index()) {
            return None;
        }
        let chain = std::iter::successors(Some(block), |block| self.above[*block]);
        chain.take(FARTHEST).find_map(|block| value_of(&self.facts[block], reg))
    }

    /// What a predicate is on the edge between two blocks.
    pub(super) fn on_edge(&self, func: &Function, from: Block, to: Block, reg: Reg) -> Option<bool> {
        let decided =
            edge_facts::decided(func, from, to).filter(|(condition, _)| *condition == reg).map(|(_, value)| value);
        decided.or_else(|| self.at(from, reg))
    }
}

fn value_of(facts: &[(Reg, bool)], reg: Reg) -> Option<bool> {
    facts.iter().find(|(known, _)| *known == reg).map(|(_, value)| *value)
}
