//! Convergence barriers: where the lanes of a warp that part at a branch meet again.
//!
//! Lanes that part meet at the immediate post-dominator of the branch. `BSSY` before the branch notes in a barrier
//! register which lanes are together, and `BSYNC` before the post-dominator waits for them. Where the branch leaves a
//! loop, the barrier is set before the loop: set in each round, it would forget the lanes that have left.
//!
//! **Invariant:** between a `BSSY` and its `BSYNC` control goes through blocks that the `BSSY` dominates, so only lanes
//! that it noted arrive. A branch for which no such place is found has no barrier: its lanes meet later or not at all,
//! which costs time and changes no result, since what asks for lanes to be together waits for them itself.

use oriole_ir::{Block, Function, FunctionKind, Inst, InstHead, Operand, RegFile, RegInfo};
use oriole_pass::analysis::{Cfg, Dominators, LoopNest, PostDominators};
use rustc_hash::FxHashSet;

use super::flow::{go_on, identity};

/// A branch's barrier.
struct Region {
    /// The block that sets it.
    start: Block,
    /// The block in front of which it is waited for.
    join: Block,
    /// The blocks between, the start among them.
    blocks: FxHashSet<Block>,
}

/// As many barriers as a warp has.
const BARRIERS: usize = 16;

/// Puts barriers around the branches at the ends of these blocks.
pub(super) fn place(func: &mut Function, is_divergent: &dyn Fn(Block) -> bool) {
    let cfg = Cfg::new(func);
    let (dominators, post_dominators) = (Dominators::new(&cfg), PostDominators::compute(&cfg));
    let nest = LoopNest::compute(&cfg);
    let mut regions: Vec<Region> = Vec::new();
    for block in cfg.rpo().to_vec() {
        if cfg.successors(block).len() < 2 || !is_divergent(block) {
            continue;
        }
        let Some(join) = post_dominators.immediate_post_dominator(&cfg, block) else { continue };
        let Some(start) = start(&cfg, &nest, block, join) else { continue };
        // One that begins earlier and ends at the same place does for this branch, too.
        if regions.iter().any(|known| known.join == join && (known.start == start || known.blocks.contains(&start))) {
            continue;
        }
        let Some(blocks) = between(&cfg, start, join) else { continue };
        // A function that is called may use every barrier.
        let calls = |block: &Block| func.block_insts(*block).any(|inst| func.is_machine_call(inst));
        if blocks.iter().any(calls) {
            continue;
        }
        if blocks.iter().all(|inner| dominators.dominates(&cfg, start, *inner)) {
            regions.retain(|known| known.join != join || !blocks.contains(&known.start));
            regions.push(Region { start, join, blocks });
        }
    }
    let covered = |block: Block| regions.iter().any(|region| region.blocks.contains(&block));
    let is_together = func.kind == FunctionKind::Entry
        && !func.layout_insts().any(|inst| func.is_machine_call(inst))
        && regions.len() <= BARRIERS
        && cfg.rpo().iter().all(|block| {
            let successors = cfg.successors(*block);
            successors.len() < 2
                || !is_divergent(*block)
                || covered(*block)
                || successors.iter().any(|next| leaves(func, &cfg, *next))
        });
    if is_together {
        remove_syncs(func, &cfg, &regions);
    }
    let depth = |region: &Region| {
        regions.iter().filter(|other| other.start != region.start && other.blocks.contains(&region.start)).count()
    };
    let kept: Vec<bool> = regions.iter().map(|region| depth(region) < BARRIERS).collect();
    for at in (0..regions.len()).filter(|at| kept[*at]) {
        let meeting = put(func, &regions[at]);
        // Ways out of a region that this one is in go through its new block.
        let start = regions[at].start;
        for other in regions.iter_mut().filter(|other| other.start != start && other.blocks.contains(&start)) {
            other.blocks.insert(meeting);
        }
    }
}

/// Whether a block does nothing but end its lanes.
fn leaves(func: &Function, cfg: &Cfg, block: Block) -> bool {
    let is_end = |inst: Inst| func.mnemonic(inst).is_some_and(|mnemonic| &mnemonic[..] == "EXIT");
    cfg.successors(block).is_empty() && func.block_insts(block).all(is_end)
}

/// Removes what makes a whole warp wait for itself in front of an exchange between its lanes, where they are together:
/// outside of all regions between a branch and the place where its lanes meet.
fn remove_syncs(func: &mut Function, cfg: &Cfg, regions: &[Region]) {
    let apart = |block: &Block| regions.iter().any(|region| region.start != *block && region.blocks.contains(block));
    for block in cfg.rpo().iter().filter(|block| !apart(block)) {
        for inst in func.block_insts(*block).collect::<Vec<_>>() {
            let of = |inst: Inst| func.mnemonic(inst).unwrap_or_default();
            let is_whole = match &of(inst)[..] {
                "WARPSYNC.ALL" => true,
                "WARPSYNC" => func.srcs(inst).get(1).and_then(|mask| func.imm_bits(*mask)) == Some(0xffff_ffff),
                _ => false,
            };
            let exchange = func.next_inst(inst).map(of).unwrap_or_default();
            let is_exchange = ["SHFL", "VOTE", "MATCH", "REDUX"].iter().any(|name| exchange.starts_with(name));
            if is_whole && is_exchange && func.inst(inst).guard.is_none() {
                func.remove_inst(inst);
            }
        }
    }
}

/// The block that sets the barrier of a branch: the branch's own, or the one before the outermost loop that it leaves.
fn start(cfg: &Cfg, nest: &LoopNest, block: Block, join: Block) -> Option<Block> {
    let mut left = None;
    let mut around = nest.innermost(cfg, block);
    while let Some(inner) = around.filter(|inner| !nest.contains(cfg, *inner, join)) {
        left = Some(inner);
        around = nest.parent(inner);
    }
    match left {
        None => Some(block),
        Some(left) => nest.preheader(cfg, left),
    }
}

/// The blocks on ways from one block that have not come to another; `None` where such a way comes back to the first:
/// set again there, the barrier would forget the lanes that are on their way to the other.
fn between(cfg: &Cfg, start: Block, join: Block) -> Option<FxHashSet<Block>> {
    let mut found = FxHashSet::from_iter([start]);
    let mut work = vec![start];
    while let Some(block) = work.pop() {
        for next in cfg.successors(block) {
            if *next == start {
                return None;
            }
            if *next != join && found.insert(*next) {
                work.push(*next);
            }
        }
    }
    Some(found)
}

/// Sets a region's barrier and waits for it; the block that does.
fn put(func: &mut Function, region: &Region) -> Block {
    let truth = Operand::wired(RegFile::P, 1);
    let barrier = Operand::Reg(func.new_reg(RegInfo { file: RegFile::B, words: 1 }));
    // A block of its own, which all ways out of the region go through.
    let meeting = func.create_block();
    let at = func.layout().iter().position(|block| *block == region.join).unwrap_or(func.layout().len());
    func.insert_block(at, meeting);
    let mut from: Vec<Block> = region.blocks.iter().copied().collect();
    from.sort_unstable();
    for block in &from {
        let Some(last) = func.terminator(*block) else { continue };
        for operand in func.srcs_mut(last) {
            if *operand == Operand::Block(region.join) {
                *operand = Operand::Block(meeting);
            }
        }
    }
    let id = identity("BSYNC");
    let opcode = func.machine_opcode(id, &[truth, barrier]).expect("it has a row");
    let sync =
        func.new_inst(InstHead { opcode, fields: id.fields(), guard: None, line: 0 }, &[], &[truth, barrier], &[]);
    func.append_inst(meeting, sync);
    go_on(func, meeting, region.join, 0);

    let id = identity("BSSY");
    let srcs = [truth, Operand::Block(meeting)];
    let opcode = func.machine_opcode(id, &srcs).expect("it has a row");
    let set = func.new_inst(InstHead { opcode, fields: id.fields(), guard: None, line: 0 }, &[barrier], &srcs, &[]);
    match func.terminator(region.start) {
        Some(last) => func.insert_before(last, set),
        None => func.append_inst(region.start, set),
    }
    meeting
}
