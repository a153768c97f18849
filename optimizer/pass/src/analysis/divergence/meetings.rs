//! Branches whose lanes meet in different rounds of a loop.
//!
//! Lanes that part at a branch meet at its immediate post-dominator, unless some of them wait in between for the others
//! ([`Flags::CONVERGENT`]): a collective whose mask names these, a barrier, a call that may have one. The others then
//! pass the post-dominator without them, and come to the waiting lanes in a later round, if there is a loop around both
//! places. From there on, lanes of several rounds execute together.
//!
//! A block is between a branch and its post-dominator exactly where it depends on the branch, or on a branch that does,
//! and so on. Such a block always leads to the post-dominator; the post-dominator leads back to it exactly where one
//! outermost loop has both. So a walk back over control dependences, from the blocks in which lanes wait, finds the
//! branches. It costs what the dependences hold, and nothing where no lane waits in a loop.

use cranelift_entity::EntityRef;

use super::super::cfg::Cfg;
use super::super::loops::{Loop, LoopNest};
use super::super::post_dominators::PostDominators;
use oriole_ir::ops::Flags;
use oriole_ir::{Block, Function};

/// By block number: the outermost loop in which lanes that part at the block's branch meet in different rounds.
pub(super) struct Meetings(Vec<Option<Loop>>);

impl Meetings {
    pub(super) fn find(func: &Function, cfg: &Cfg, post_dominators: &PostDominators, nest: &LoopNest) -> Meetings {
        let mut meetings = Meetings(vec![None; func.blocks().len()]);
        let waits = |block: &Block| func.block_insts(*block).any(|inst| func.inst(inst).is(Flags::CONVERGENT));
        let in_loop = |block: &Block| Some((*block, outermost(cfg, nest, *block)?));
        let mut work: Vec<(Block, Loop)> = cfg.rpo().iter().filter(|block| waits(block)).filter_map(in_loop).collect();
        if work.is_empty() {
            return meetings;
        }
        let dependences = post_dominators.control_dependences(cfg);
        while let Some((block, of)) = work.pop() {
            for branch in dependences.of(cfg, block) {
                let end = post_dominators.immediate_post_dominator(cfg, *branch);
                let known = &mut meetings.0[branch.index()];
                if known.is_none() && end.and_then(|end| outermost(cfg, nest, end)) == Some(of) {
                    *known = Some(of);
                    work.push((*branch, of));
                }
            }
        }
        meetings
    }

    /// Where lanes that part at a block's branch meet in different rounds.
    pub(super) fn of(&self, block: Block) -> Option<Loop> {
        self.0[block.index()]
    }
}

fn outermost(cfg: &Cfg, nest: &LoopNest, block: Block) -> Option<Loop> {
    std::iter::successors(nest.innermost(cfg, block), |of| nest.parent(*of)).last()
}
