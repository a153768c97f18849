//! How far out of its loops a block's instruction may go.
//!
//! From a block whose instructions each round of its loop executes, the way leads to the preheader of the loop; from
//! there on, if each round of the next loop executes that, and so on. The loops on this way are an initial stretch of
//! those around the block, and those that define nothing that an instruction reads are one too, since a loop contains
//! the loops in it. So the furthest loop is found by skipping: each loop knows its parent and one loop further out,
//! such that a way of any length takes a logarithmic number of steps (Myers, "An Applicative Random-Access Stack",
//! 1983).

use cranelift_entity::SecondaryMap;

use crate::analysis::{Cfg, Dominators, Loop, LoopNest};
use oriole_ir::Block;

/// Latches up to which it is asked whether a block dominates all of them; of loops with more the header alone is known
/// to do so.
const MOST_LATCHES: usize = 4;

/// The ways out of the loops of a function.
pub(super) struct WaysOut<'a> {
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    dominators: &'a Dominators,
    loops: SecondaryMap<Loop, Way>,
}

/// The way out of a loop.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The preheader.
    to: Option<Block>,
    /// The depth of the outermost loop that the way leads out of; none without a preheader.
    reaches: Option<u32>,
    /// A loop further out.
    skip: Option<Loop>,
}

impl<'a> WaysOut<'a> {
    pub(super) fn new(cfg: &'a Cfg, nest: &'a LoopNest, dominators: &'a Dominators) -> WaysOut<'a> {
        let mut ways = WaysOut { cfg, nest, dominators, loops: SecondaryMap::new() };
        // The loop around each comes before it.
        for of in nest.loops() {
            ways.loops[of] = ways.way(of);
        }
        ways
    }

    fn way(&self, of: Loop) -> Way {
        let (to, parent) = (self.nest.preheader(self.cfg, of), self.nest.parent(of));
        let further = parent.filter(|parent| to.is_some_and(|to| self.each_round_executes(*parent, to)));
        let reaches = further.and_then(|further| self.loops[further].reaches);
        let reaches = to.map(|_| reaches.unwrap_or(self.nest.loop_depth(of)));
        Way { to, reaches, skip: self.skip(parent) }
    }

    /// The loop to which one with this parent skips: twice as far as the two stretches before, where these are equal.
    fn skip(&self, parent: Option<Loop>) -> Option<Loop> {
        let depth = |of: Option<Loop>| of.map_or(0, |of| self.nest.loop_depth(of));
        let skip = |of: Option<Loop>| of.and_then(|of| self.loops[of].skip);
        let (once, twice) = (skip(parent), skip(skip(parent)));
        if depth(parent) - depth(once) == depth(once) - depth(twice) { twice } else { parent }
    }

    fn each_round_executes(&self, of: Loop, block: Block) -> bool {
        let latches = || self.nest.latches(self.cfg, of);
        let few = latches().nth(MOST_LATCHES).is_none();
        let dominates = |latch: Block| self.dominators.dominates(self.cfg, block, latch);
        block == self.nest.header(of) || few && latches().all(dominates)
    }

    /// Whether something may leave the innermost loop of a block.
    pub(super) fn leads_out(&self, block: Block) -> bool {
        let around = self.nest.innermost(self.cfg, block);
        around.is_some_and(|of| self.loops[of].to.is_some() && self.each_round_executes(of, block))
    }

    /// The preheader of a loop, given the blocks in which what an instruction of the loop reads is defined.
    pub(super) fn out_of(&self, of: Loop, read: &[Block]) -> Option<Block> {
        let inside = read.iter().any(|block| self.nest.contains(self.cfg, of, *block));
        self.loops[of].to.filter(|_| !inside)
    }

    /// The block furthest out to which an instruction may go from a block that leads out, given the blocks in which
    /// what it reads is defined.
    pub(super) fn furthest(&self, block: Block, read: &[Block]) -> Option<Block> {
        let mut at = self.nest.innermost(self.cfg, block)?;
        let reaches = self.loops[at].reaches?;
        let lets_out = |of: &Loop| {
            let defines = |from: &Block| self.nest.contains(self.cfg, *of, *from);
            self.nest.loop_depth(*of) >= reaches && !read.iter().any(defines)
        };
        if !lets_out(&at) {
            return None;
        }
        loop {
            let next = [self.loops[at].skip, self.nest.parent(at)].into_iter().flatten().find(lets_out);
            match next {
                Some(further) => at = further,
                None => return self.loops[at].to,
            }
        }
    }
}
