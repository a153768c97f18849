//! The instructions of each block, in order: doubly linked lists with a key for the order.
//!
//! An instruction is in one block at most, and knows which. Insertion and removal touch its neighbours alone, and
//! which of two instructions of a block comes first is a comparison of keys. Everything lies in two dense tables, so a
//! copy is two copies of memory, and instructions that were made one after the other are walked in memory order.
//!
//! Keys leave gaps. Where an insertion finds none, the keys of the smallest range around it that is sparse enough are
//! spread evenly (Bender, Cole, Demaine, Farach-Colton, Zito, "Two Simplified Algorithms for Maintaining Order in a
//! List", 2002): amortised, an insertion moves a number of keys that grows with the logarithm of the block's length,
//! wherever insertions gather.

use std::iter::FusedIterator;

use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::entity::{Block, Inst};

/// The gap that appending leaves between two keys.
const GAP: u32 = 64;

/// A range of `2^n` keys is sparse enough to be spread when it holds at most `2^n / 1.2^n` instructions. The base must
/// lie between 1 and 2: a smaller one spreads smaller ranges more often, a larger one admits shorter blocks.
const DENSITY: f64 = 1.2;

/// A block: the ends of its list, and what is said about it.
#[derive(Clone, Copy, Default, Debug)]
pub struct BlockData {
    pub(super) first: PackedOption<Inst>,
    pub(super) last: PackedOption<Inst>,
    pub(super) len: u32,
    pub(super) nounroll: bool,
}

/// An instruction's place; without a block it is nowhere, and the rest means nothing.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Node {
    pub(super) block: PackedOption<Block>,
    pub(super) prev: PackedOption<Inst>,
    pub(super) next: PackedOption<Inst>,
    pub(super) key: u32,
}

/// The lists of all blocks of a function.
#[derive(Default, Debug)]
pub(super) struct Lists {
    pub(super) blocks: PrimaryMap<Block, BlockData>,
    /// As long as the function's arena of instructions.
    pub(super) nodes: PrimaryMap<Inst, Node>,
}

impl Lists {
    /// The instructions of a block.
    #[inline]
    pub(super) fn iter(&self, block: Block) -> BlockInsts<'_> {
        let BlockData { first, last, len, .. } = self.blocks[block];
        BlockInsts { lists: self, front: first, back: last, left: len }
    }

    /// Puts an instruction at the end of a block.
    pub(super) fn append(&mut self, block: Block, inst: Inst) {
        let last = self.blocks[block].last;
        self.link(block, last, PackedOption::default(), inst);
    }

    /// Puts an instruction before another one.
    pub(super) fn insert_before(&mut self, at: Inst, inst: Inst) {
        let Node { block, prev, .. } = self.nodes[at];
        let block = block.expect("what is inserted stands beside an instruction of a block");
        self.link(block, prev, at.into(), inst);
    }

    /// Puts an instruction after another one.
    pub(super) fn insert_after(&mut self, at: Inst, inst: Inst) {
        let Node { block, next, .. } = self.nodes[at];
        let block = block.expect("what is inserted stands beside an instruction of a block");
        self.link(block, at.into(), next, inst);
    }

    /// Takes an instruction out of its block.
    pub(super) fn remove(&mut self, inst: Inst) {
        let Node { block, prev, next, .. } = std::mem::take(&mut self.nodes[inst]);
        let block = block.expect("what is removed stands in a block");
        self.set_next(block, prev, next);
        self.set_prev(block, next, prev);
        self.blocks[block].len -= 1;
    }

    /// Moves an instruction, and what follows it in its block, to the end of another block. Costs the length of what
    /// moves.
    pub(super) fn move_tail(&mut self, from: Inst, to: Block) {
        let mut next = Some(from);
        while let Some(inst) = next {
            next = self.nodes[inst].next.expand();
            self.remove(inst);
            self.append(to, inst);
        }
    }

    /// Whether the first of two instructions of one block comes before the second.
    #[inline]
    pub(super) fn is_before(&self, first: Inst, second: Inst) -> bool {
        debug_assert_eq!(
            self.nodes[first].block, self.nodes[second].block,
            "only instructions of a block have an order"
        );
        self.nodes[first].key < self.nodes[second].key
    }

    /// Whether an instruction that was met in a block after `prev` knows its place there.
    pub(super) fn is_linked(&self, block: Block, prev: Option<Inst>, inst: Inst) -> bool {
        let node = &self.nodes[inst];
        let after = prev.is_none_or(|prev| self.nodes[prev].key < node.key);
        node.block.expand() == Some(block) && node.prev.expand() == prev && after
    }

    /// Whether a walk over so many instructions of a block, the last of them `last`, has met them all.
    pub(super) fn ends_with(&self, block: Block, count: usize, last: Option<Inst>) -> bool {
        let ends = &self.blocks[block];
        let open = last.is_some_and(|last| self.nodes[last].next.is_some());
        ends.len as usize == count && ends.last.expand() == last && !open
    }

    fn link(&mut self, block: Block, prev: PackedOption<Inst>, next: PackedOption<Inst>, inst: Inst) {
        debug_assert!(self.nodes[inst].block.is_none(), "{inst} stands in a block already");
        let key = self.key_between(prev, next);
        self.nodes[inst] = Node { block: block.into(), prev, next, key };
        self.set_next(block, prev, inst.into());
        self.set_prev(block, next, inst.into());
        self.blocks[block].len += 1;
    }

    fn set_next(&mut self, block: Block, inst: PackedOption<Inst>, next: PackedOption<Inst>) {
        match inst.expand() {
            Some(inst) => self.nodes[inst].next = next,
            None => self.blocks[block].first = next,
        }
    }

    fn set_prev(&mut self, block: Block, inst: PackedOption<Inst>, prev: PackedOption<Inst>) {
        match inst.expand() {
            Some(inst) => self.nodes[inst].prev = prev,
            None => self.blocks[block].last = prev,
        }
    }

    /// A key between those of two neighbours; keys of others move where there is none.
    fn key_between(&mut self, prev: PackedOption<Inst>, next: PackedOption<Inst>) -> u32 {
        loop {
            // Bounds that no key has, so that a key is free when they differ by two.
            let low = prev.expand().map_or(-1, |inst| i64::from(self.nodes[inst].key));
            let high = match next.expand() {
                Some(inst) => i64::from(self.nodes[inst].key),
                None => (low + 2 * i64::from(GAP)).min(1 << 32),
            };
            if high - low >= 2 {
                return (low + (high - low) / 2) as u32;
            }
            let around = prev.expand().or(next.expand()).expect("an empty block has room");
            self.spread(around);
        }
    }

    /// Spreads the keys of the smallest aligned range around an instruction that is sparse enough.
    fn spread(&mut self, around: Inst) {
        let key = self.nodes[around].key;
        let (mut first, mut last, mut count) = (around, around, 1u64);
        for bits in 1..=32 {
            let size = 1u64 << bits;
            let low = u64::from(key) & !(size - 1);
            // The range doubles, so the walk continues where it ended for the range before.
            while let Some(inst) = self.nodes[first].prev.expand().filter(|i| u64::from(self.nodes[*i].key) >= low) {
                (first, count) = (inst, count + 1);
            }
            while let Some(inst) = self.nodes[last].next.expand().filter(|i| u64::from(self.nodes[*i].key) < low + size)
            {
                (last, count) = (inst, count + 1);
            }
            let limit = (2.0 / DENSITY).powi(bits);
            // A range with fewer than two keys for each instruction leaves gaps to none.
            if (count as f64 <= limit && size >= 2 * (count + 1)) || bits == 32 {
                return self.space_out(first, count, low, size);
            }
        }
    }

    /// Gives so many instructions keys at equal distances in a range.
    fn space_out(&mut self, first: Inst, count: u64, low: u64, size: u64) {
        let mut inst = first;
        for place in 0..count {
            self.nodes[inst].key = (low + size * (2 * place + 1) / (2 * count)) as u32;
            #[cfg(test)]
            tests::count_move();
            match self.nodes[inst].next.expand() {
                Some(next) => inst = next,
                None => return,
            }
        }
    }
}

/// The instructions of a block, in order.
#[derive(Clone, Debug)]
pub struct BlockInsts<'a> {
    lists: &'a Lists,
    front: PackedOption<Inst>,
    back: PackedOption<Inst>,
    left: u32,
}

impl Iterator for BlockInsts<'_> {
    type Item = Inst;

    #[inline]
    fn next(&mut self) -> Option<Inst> {
        self.left = self.left.checked_sub(1)?;
        let inst = self.front.expand()?;
        // The verifier walks broken lists too: where one leaves the arena, the walk ends after what it met there.
        self.front = self.lists.nodes.get(inst).map_or(None.into(), |node| node.next);
        Some(inst)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl DoubleEndedIterator for BlockInsts<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Inst> {
        self.left = self.left.checked_sub(1)?;
        let inst = self.back.expand()?;
        self.back = self.lists.nodes.get(inst).map_or(None.into(), |node| node.prev);
        Some(inst)
    }
}

impl ExactSizeIterator for BlockInsts<'_> {}
impl FusedIterator for BlockInsts<'_> {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    thread_local! {
        static MOVED: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count_move() {
        MOVED.set(MOVED.get() + 1);
    }

    fn empty(blocks: usize) -> Lists {
        let mut lists = Lists::default();
        for _ in 0..blocks {
            lists.blocks.push(BlockData::default());
        }
        lists
    }

    fn new_inst(lists: &mut Lists) -> Inst {
        lists.nodes.push(Node::default())
    }

    /// Holds a block against the list that it should be.
    fn assert_is(lists: &Lists, block: Block, model: &[Inst]) {
        assert_eq!(lists.iter(block).collect::<Vec<_>>(), model);
        assert!(lists.iter(block).rev().eq(model.iter().rev().copied()));
        let mut prev = None;
        for inst in model {
            assert!(lists.is_linked(block, prev, *inst), "{inst} after {prev:?}");
            prev = Some(*inst);
        }
        assert!(lists.ends_with(block, model.len(), prev));
        assert!(model.is_sorted_by(|a, b| lists.is_before(*a, *b)));
    }

    proptest! {
        /// Whatever is done, two blocks are what two vectors become.
        #[test]
        fn lists_are_what_vectors_are(choices in prop::collection::vec((0..6u8, any::<bool>(), any::<u16>()), 1..300)) {
            let mut lists = empty(2);
            let mut model = [Vec::new(), Vec::new()];
            for (choice, second, number) in choices {
                let block = Block::from_u32(second.into());
                let (here, there) = model.split_at_mut(1);
                let (list, other) = if second { (&mut there[0], &mut here[0]) } else { (&mut here[0], &mut there[0]) };
                let at = usize::from(number) % list.len().max(1);
                match (choice, list.get(at).copied()) {
                    (0, _) | (_, None) => {
                        list.push(new_inst(&mut lists));
                        lists.append(block, list[list.len() - 1]);
                    }
                    (1 | 2, Some(inst)) => {
                        list.insert(at, new_inst(&mut lists));
                        lists.insert_before(inst, list[at]);
                    }
                    (3, Some(inst)) => {
                        list.insert(at + 1, new_inst(&mut lists));
                        lists.insert_after(inst, list[at + 1]);
                    }
                    (4, Some(inst)) => {
                        list.remove(at);
                        lists.remove(inst);
                    }
                    (_, Some(inst)) => {
                        other.extend(list.drain(at..));
                        lists.move_tail(inst, Block::from_u32((!second).into()));
                    }
                }
                assert_is(&lists, Block::from_u32(0), &model[0]);
                assert_is(&lists, Block::from_u32(1), &model[1]);
            }
        }
    }

    /// How many keys moved while so many instructions were put into one block, each where `place` says.
    fn moves(count: usize, place: impl Fn(&mut Lists, &[Inst], Inst)) -> usize {
        let mut lists = empty(1);
        let block = Block::from_u32(0);
        let mut insts: Vec<Inst> = (0..count).map(|_| new_inst(&mut lists)).collect();
        insts.iter().for_each(|inst| lists.append(block, *inst));
        MOVED.set(0);
        for _ in 0..count {
            let inst = new_inst(&mut lists);
            place(&mut lists, &insts, inst);
            insts.push(inst);
        }
        assert!(lists.iter(block).is_sorted_by(|a, b| lists.is_before(*a, *b)));
        assert_eq!(lists.iter(block).len(), 2 * count);
        MOVED.get()
    }

    /// 80,000 insertions into one block move few keys, wherever they go: some before each of many instructions, before
    /// the block's end, at its beginning, all before one instruction in the middle, each before the one before it.
    /// Twice the work is little more than twice.
    #[test]
    fn insertions_are_linear() {
        let each = |lists: &mut Lists, insts: &[Inst], inst: Inst| {
            lists.insert_before(insts[inst.as_u32() as usize % 20_000], inst);
        };
        let at_end = |lists: &mut Lists, _: &[Inst], inst: Inst| {
            let last = lists.blocks[Block::from_u32(0)].last.expect("the block is not empty");
            lists.insert_before(last, inst);
        };
        let at_start = |lists: &mut Lists, insts: &[Inst], inst: Inst| lists.insert_after(insts[0], inst);
        let middle = |lists: &mut Lists, insts: &[Inst], inst: Inst| lists.insert_before(insts[20_000], inst);
        let backward = |lists: &mut Lists, insts: &[Inst], inst: Inst| {
            lists.insert_before(insts[insts.len() - 1], inst);
        };
        type Placing = fn(&mut Lists, &[Inst], Inst);
        let all: [(&str, Placing); 5] = [
            ("before each", each),
            ("at the end", at_end),
            ("at the start", at_start),
            ("middle", middle),
            ("backward", backward),
        ];
        for (name, place) in all {
            let [half, whole] = [40_000, 80_000].map(|count| moves(count, place));
            assert!(whole <= 40 * 80_000, "{name}: {whole} moves");
            assert!(whole <= 5 * half / 2 + 80_000, "{name}: {half}, then {whole}");
        }
    }
}
