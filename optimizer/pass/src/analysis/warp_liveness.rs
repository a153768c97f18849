//! Uniform registers across divergent branches.
//!
//! A uniform register is one for the whole warp, while liveness follows one way of control. Where lanes part at a
//! branch, each side is executed after, or among, the other: a side that overwrites a uniform register overwrites what
//! the other side, and the place where all meet, still read. So a uniform register that is live anywhere between a
//! divergent branch and its immediate post-dominator, or read there, stays live in all blocks between.
//!
//! A branch diverges unless the predicates that decide it are uniform. In whatever order the hardware takes the sides,
//! this holds: no side is ever taken apart from the others. Cost: the blocks of all such regions, once for each branch.

use cranelift_entity::SecondaryMap;

use super::{Cfg, Liveness, PostDominators};
use oriole_ir::{Block, Function, Reg, RegFile};

/// By block: the uniform registers that stay live throughout it for the sake of other lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpLiveness(SecondaryMap<Block, Vec<Reg>>);

impl WarpLiveness {
    /// Finds the regions of all divergent branches.
    pub fn compute(func: &Function, cfg: &Cfg, post_dominators: &PostDominators, liveness: &Liveness) -> WarpLiveness {
        let mut held: SecondaryMap<Block, Vec<Reg>> = SecondaryMap::new();
        for branch in cfg.rpo().iter().copied().filter(|block| diverges(func, cfg, *block)) {
            let region = between(cfg, branch, post_dominators.immediate_post_dominator(cfg, branch));
            let mut live: Vec<Reg> = region.iter().flat_map(|block| wanted(func, liveness, *block)).collect();
            live.sort_unstable();
            live.dedup();
            for block in &region {
                held[*block].extend(&live);
            }
        }
        for block in cfg.rpo() {
            held[*block].sort_unstable();
            held[*block].dedup();
        }
        WarpLiveness(held)
    }

    /// Whether other lanes may still read a uniform register while some are in a block.
    pub fn holds(&self, block: Block, reg: Reg) -> bool {
        self.0[block].binary_search(&reg).is_ok()
    }

    /// The uniform registers that other lanes may still read while some are in a block, in order.
    pub fn held(&self, block: Block) -> &[Reg] {
        &self.0[block]
    }
}

/// Whether lanes may leave a block for different successors.
fn diverges(func: &Function, cfg: &Cfg, block: Block) -> bool {
    let successors = cfg.successors(block);
    let several = successors.iter().any(|next| *next != successors[0]);
    let Some(branch) = func.terminator(block).filter(|_| several) else { return false };
    let mut predicates = func.uses(branch).map(|reg| func.regs()[reg].file).peekable();
    predicates.peek().is_none() || predicates.any(|file| file != RegFile::UP)
}

/// The blocks that lanes can be in behind a branch before all of them meet.
fn between(cfg: &Cfg, branch: Block, meeting: Option<Block>) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut work = cfg.successors(branch).to_vec();
    while let Some(block) = work.pop() {
        if Some(block) != meeting && !found.contains(&block) {
            found.push(block);
            work.extend(cfg.successors(block));
        }
    }
    found
}

/// The uniform registers that lanes in a block may read there or later.
fn wanted(func: &Function, liveness: &Liveness, block: Block) -> Vec<Reg> {
    let read = func.block_insts(block).flat_map(|inst| func.uses(inst));
    let live = liveness.live_in(block).iter().chain(liveness.live_out(block).iter());
    live.chain(read).filter(|reg| matches!(func.regs()[*reg].file, RegFile::UR | RegFile::UP)).collect()
}
