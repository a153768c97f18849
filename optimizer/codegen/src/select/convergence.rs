//! Convergence barriers: where the lanes of a warp that part at a branch meet again.
//!
//! Lanes that part meet at the immediate post-dominator of the branch. `BSSY` before the branch notes in a barrier
//! register which lanes are together, and `BSYNC` before the post-dominator waits for them. Where the branch leaves a
//! loop, the barrier is set before the loop: set in each round, it would forget the lanes that have left.
//!
//! Lanes that part inside of a loop and may leave it before they meet would go through the rest of it apart, in every
//! round. Such a loop has a barrier of its own: its header sets it, each round waits for it in front of the latch, and
//! lanes that leave before that take themselves out of it (`BREAK`).
//!
//! A function that is called leaves barriers from [`KEPT`] on as they are, as ptxas has it: one that is waited for
//! behind a call is among those, and a function that is called keeps what it finds in them and puts it back.
//!
//! **Invariant:** between a `BSSY` and its `BSYNC` control goes through blocks that the `BSSY` dominates, so only lanes
//! that it noted arrive. A branch for which no such place is found has no barrier: its lanes meet later or not at all,
//! which costs time and changes no result, since what asks for lanes to be together waits for them itself.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Function, FunctionKind, Inst, InstHead, Operand, RegFile, RegInfo};
use oriole_pass::analysis::{Cfg, Dominators, Loop, LoopNest, PostDominators};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{go_on, identity};
use crate::sequences::Sequence;

/// A branch's barrier.
struct Region {
    /// The block that sets it.
    start: Block,
    /// The block in front of which it is waited for.
    join: Block,
    /// The blocks between, the start among them.
    blocks: FxHashSet<Block>,
    /// Whether it is a round of a loop, which lanes may leave without coming to the join.
    is_round: bool,
}

/// As many barriers as a warp has.
pub(crate) const BARRIERS: u16 = 16;
/// The first of the barriers that functions leave as they are.
pub(crate) const KEPT: u16 = 6;

/// Puts barriers around the branches at the ends of these blocks.
/// `sequences` are functions in which lanes meet again before they return.
pub(super) fn place(
    func: &mut Function,
    stack: Option<Operand>,
    sequences: &[Sequence],
    is_divergent: &dyn Fn(Block) -> bool,
) {
    join_latches(func, is_divergent);
    let cfg = Cfg::new(func);
    let (dominators, post_dominators) = (Dominators::new(&cfg), PostDominators::compute(&cfg));
    let nest = LoopNest::compute(&cfg);
    let calls: FxHashSet<Block> = cfg.rpo().iter().copied().filter(|block| has_call(func, *block)).collect();
    let parting = parting(&cfg, &nest, &post_dominators, is_divergent);
    let mut regions = Regions::default();
    for of in parting {
        let (Some(latch), start) = (nest.latches(&cfg, of).next(), nest.header(of)) else { continue };
        let blocks: FxHashSet<Block> = nest.blocks(of).iter().copied().filter(|block| *block != latch).collect();
        if latch != start {
            regions.push(Region { start, join: latch, blocks, is_round: true });
        }
    }
    let mut is_deep = false;
    for block in cfg.rpo().to_vec() {
        if cfg.successors(block).len() < 2 || !is_divergent(block) {
            continue;
        }
        let Some(join) = post_dominators.immediate_post_dominator(&cfg, block) else { continue };
        let Some(start) = start(&cfg, &nest, block, join) else { continue };
        // One that begins earlier and ends at the same place does for this branch, too.
        if regions.of_join(join).any(|known| known.start == start || known.blocks.contains(&start)) {
            continue;
        }
        // It would have no barrier; what it contains, each block of it would be counted for every level.
        if calls.is_empty() && regions.depth(start) >= KEPT.into() {
            is_deep = true;
            continue;
        }
        let Some(blocks) = between(&cfg, start, join) else { continue };
        // Lanes that only end there end at once: others may wait for their whole block until they have.
        if leaves(func, &cfg, join)
            && (cfg.successors(block).contains(&join) || blocks.iter().any(|inner| has_block_barrier(func, *inner)))
        {
            continue;
        }
        if blocks.iter().all(|inner| dominators.dominates(&cfg, start, *inner)) {
            regions.replace(Region { start, join, blocks, is_round: false });
        }
    }
    let depths: Vec<usize> = regions.all().map(|region| regions.depth(region.start)).collect();
    let mut regions: Vec<Region> = regions.into_list();
    let covered = |block: Block| regions.iter().any(|region| !region.is_round && region.blocks.contains(&block));
    let is_together = func.kind == FunctionKind::Entry
        && calls.iter().all(|block| calls_sequences(func, *block, sequences))
        && !is_deep
        && regions.len() <= KEPT.into()
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
    let has_calls = |region: &Region| !calls.is_empty() && region.blocks.iter().any(|block| calls.contains(block));
    // Those that are kept over calls are live all along in a function that is called.
    let mut left_to_keep = usize::from(BARRIERS - KEPT);
    let is_called = func.kind == FunctionKind::Device;
    let mut has_barrier = |(region, depth): (&Region, usize)| match has_calls(region) {
        true if is_called => {
            let left = left_to_keep;
            left_to_keep = left.saturating_sub(1);
            left > 0
        }
        true => depth < (BARRIERS - KEPT).into(),
        false => depth < KEPT.into(),
    };
    let kept: Vec<bool> = regions.iter().zip(depths).map(&mut has_barrier).collect();
    let over_calls: Vec<bool> = regions.iter().map(has_calls).collect();
    // By block that a region starts with: the regions that contain it.
    let mut around: FxHashMap<Block, Vec<usize>> = regions.iter().map(|region| (region.start, Vec::new())).collect();
    for (at, region) in regions.iter().enumerate() {
        for block in &region.blocks {
            if let Some(around) = around.get_mut(block) {
                around.push(at);
            }
        }
    }
    let mut meetings = Meetings::default();
    for at in (0..regions.len()).filter(|at| kept[*at]) {
        if regions[at].is_round {
            // New blocks come behind some that may be new themselves.
            meetings.insert(func);
        }
        let (barrier, new, left) = put(func, &regions[at], &mut meetings);
        if over_calls[at] && func.kind == FunctionKind::Device {
            keep(func, barrier, stack);
        }
        // Ways out of a region that this one is in go through its new blocks.
        let start = regions[at].start;
        for other in &around[&start] {
            let other = &mut regions[*other];
            if other.start != start {
                other.blocks.insert(new);
                other.blocks.extend(left.iter().copied());
            }
        }
    }
    meetings.insert(func);
}

/// The regions so far, found by where they end and by what they contain.
#[derive(Default)]
struct Regions {
    /// In the order in which they came; none where another one took the place.
    list: Vec<Option<Region>>,
    by_join: FxHashMap<Block, Vec<usize>>,
    /// By block: the regions that contain it, and those that start with it.
    inside: SecondaryMap<Block, (u32, u32)>,
}

impl Regions {
    fn push(&mut self, region: Region) {
        region.blocks.iter().for_each(|block| self.inside[*block].0 += 1);
        self.inside[region.start].1 += 1;
        self.by_join.entry(region.join).or_default().push(self.list.len());
        self.list.push(Some(region));
    }

    /// Adds a region in place of those that it contains and that end where it does.
    fn replace(&mut self, region: Region) {
        let known = self.by_join.remove(&region.join).unwrap_or_default();
        let is_inside = |at: &usize| self.list[*at].as_ref().is_some_and(|known| region.blocks.contains(&known.start));
        let (gone, stay): (Vec<usize>, Vec<usize>) = known.into_iter().partition(is_inside);
        for old in gone.into_iter().filter_map(|at| self.list[at].take()) {
            old.blocks.iter().for_each(|block| self.inside[*block].0 -= 1);
            self.inside[old.start].1 -= 1;
        }
        self.by_join.insert(region.join, stay);
        self.push(region);
    }

    fn all(&self) -> impl Iterator<Item = &Region> {
        self.list.iter().flatten()
    }

    fn of_join(&self, join: Block) -> impl Iterator<Item = &Region> {
        self.by_join.get(&join).into_iter().flatten().filter_map(|at| self.list[*at].as_ref())
    }

    /// How many regions that start elsewhere contain a block.
    fn depth(&self, start: Block) -> usize {
        let (inside, starts) = self.inside[start];
        (inside - starts) as usize
    }

    fn into_list(self) -> Vec<Region> {
        self.list.into_iter().flatten().collect()
    }
}

/// New blocks in which lanes meet, by the blocks before which they come. A layout is a list, so they are inserted
/// together.
#[derive(Default)]
struct Meetings(FxHashMap<Block, Vec<Block>>);

impl Meetings {
    fn add(&mut self, join: Block, meeting: Block) {
        self.0.entry(join).or_default().push(meeting);
    }

    /// Puts them into the layout, each behind those of the same place that came before it.
    fn insert(&mut self, func: &mut Function) {
        if self.0.is_empty() {
            return;
        }
        let mut layout = Vec::with_capacity(func.layout().len() + self.0.len());
        for block in func.layout() {
            layout.extend(self.0.remove(block).into_iter().flatten());
            layout.push(*block);
        }
        func.set_layout(layout);
    }
}

fn has_call(func: &Function, block: Block) -> bool {
    func.block_insts(block).any(|inst| func.is_machine_call(inst))
}

/// Whether all calls of a block are calls of sequences.
fn calls_sequences(func: &Function, block: Block, sequences: &[Sequence]) -> bool {
    let is_one =
        |inst: Inst| sequences.iter().any(|sequence| func.srcs(inst).contains(&Operand::Func(sequence.function)));
    func.block_insts(block).filter(|inst| func.is_machine_call(*inst)).all(is_one)
}

/// Whether lanes of a block of the program wait for others of their CTA or cluster.
fn has_block_barrier(func: &Function, block: Block) -> bool {
    let is_barrier = |name: &str| name.starts_with("BAR") || name.starts_with("UCGABAR");
    func.block_insts(block).any(|inst| func.inst(inst).machine_row().is_some_and(|row| is_barrier(row.name)))
}

/// Keeps what the caller has in a barrier, and puts it back before the function returns. The frame is there then.
fn keep(func: &mut Function, barrier: Operand, stack: Option<Operand>) {
    let kept = Operand::Reg(func.new_reg(RegInfo::words(1)));
    let save = made(func, "BMOV.32.CLEAR", &[kept], &[barrier]);
    let moves_stack = |func: &Function, inst: &Inst| stack.is_some_and(|stack| func.dsts(*inst).contains(&stack));
    let entry = func.entry();
    match func.block_insts(entry).rfind(|inst| moves_stack(func, inst)) {
        Some(last) => func.insert_after(last, save),
        None => func.prepend_inst(entry, save),
    }
    for block in func.layout().to_vec() {
        let Some(last) = func.last_inst(block).filter(|inst| is_return(func, *inst)) else { continue };
        let before = func.block_insts(block).find(|inst| *inst != save && moves_stack(func, inst) && block != entry);
        let restore = made(func, "BMOV.32", &[barrier], &[kept]);
        func.insert_before(before.unwrap_or(last), restore);
    }
}

fn is_return(func: &Function, inst: Inst) -> bool {
    func.mnemonic(inst).is_some_and(|mnemonic| mnemonic.starts_with("RET"))
}

/// A new instruction.
fn made(func: &mut Function, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> Inst {
    let id = identity(mnemonic);
    let opcode = func.machine_opcode(id, srcs).expect("it has a row");
    func.new_inst(InstHead { opcode, fields: id.fields(), guard: None, line: 0 }, dsts, srcs, &[])
}

/// The loops in which lanes part and may leave before they meet again, though all ways that stay come to the latch.
fn parting(
    cfg: &Cfg,
    nest: &LoopNest,
    post_dominators: &PostDominators,
    is_divergent: &dyn Fn(Block) -> bool,
) -> Vec<Loop> {
    let parts = |of: Loop, block: Block| {
        let stays = cfg.successors(block).iter().filter(|next| nest.contains(cfg, of, **next)).count();
        let join = post_dominators.immediate_post_dominator(cfg, block);
        // In the loop, but behind another round of it for some lanes, they do not meet either.
        let meets = |join: Block| nest.contains(cfg, of, join) && between(cfg, block, join).is_some();
        is_divergent(block) && stays > 1 && !join.is_some_and(meets)
    };
    let own = |of: Loop| nest.blocks(of).iter().copied().filter(move |block| nest.innermost(cfg, *block) == Some(of));
    nest.loops().filter(|of| nest.is_natural(*of) && own(*of).any(|block| parts(*of, block))).collect()
}

/// Gives loops in which lanes part one latch, which does nothing else.
fn join_latches(func: &mut Function, is_divergent: &dyn Fn(Block) -> bool) {
    let cfg = Cfg::new(func);
    let (nest, post_dominators) = (LoopNest::compute(&cfg), PostDominators::compute(&cfg));
    for of in parting(&cfg, &nest, &post_dominators, is_divergent) {
        let (header, latches): (Block, Vec<Block>) = (nest.header(of), nest.latches(&cfg, of).collect());
        if latches.len() < 2 {
            continue;
        }
        let latch = func.new_block_after(latches[latches.len() - 1]);
        for block in latches {
            retarget(func, block, header, latch);
        }
        go_on(func, latch, header, 0);
    }
}

/// Has a block go somewhere else instead.
fn retarget(func: &mut Function, block: Block, from: Block, to: Block) {
    let Some(last) = func.terminator(block) else { return };
    func.srcs_mut(last)
        .iter_mut()
        .filter(|src| **src == Operand::Block(from))
        .for_each(|src| *src = Operand::Block(to));
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

/// Sets a region's barrier and waits for it; the barrier, the block that waits, and those on ways that leave a round.
fn put(func: &mut Function, region: &Region, meetings: &mut Meetings) -> (Operand, Block, Vec<Block>) {
    let truth = Operand::wired(RegFile::P, 1);
    let barrier = Operand::Reg(func.new_reg(RegInfo { file: RegFile::B, words: 1 }));
    // A block of its own, which all ways out of the region go through.
    let meeting = func.create_block();
    meetings.add(region.join, meeting);
    let mut from: Vec<Block> = region.blocks.iter().copied().collect();
    from.sort_unstable();
    let mut left = Vec::new();
    for block in &from {
        retarget(func, *block, region.join, meeting);
        let is_outside = |to: &Block| *to != meeting && !region.blocks.contains(to);
        let leaves: Vec<Block> = func.successors(*block).filter(|to| region.is_round && is_outside(to)).collect();
        for to in leaves {
            let by = func.new_block_after(*block);
            retarget(func, *block, to, by);
            let gone = made(func, "BREAK", &[], &[truth, barrier]);
            func.append_inst(by, gone);
            go_on(func, by, to, 0);
            left.push(by);
        }
    }
    let sync = made(func, "BSYNC", &[], &[truth, barrier]);
    func.append_inst(meeting, sync);
    go_on(func, meeting, region.join, 0);
    let set = made(func, "BSSY", &[barrier], &[truth, Operand::Block(meeting)]);
    match func.terminator(region.start) {
        Some(last) => func.insert_before(last, set),
        None => func.append_inst(region.start, set),
    }
    (barrier, meeting, left)
}
