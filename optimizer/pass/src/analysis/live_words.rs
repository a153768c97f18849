//! The solver of liveness: 64 registers at a time, each block's sets one word.
//!
//! ```text
//! LiveOut(B) = union of LiveIn(S) over the successors S, with the sources of their phis that come from B
//! LiveIn(B)  = gen(B) | (LiveOut(B) & !kill(B))
//! ```
//!
//! 1. One scan of the function lists what each block reads before it defines it, what phis read from it, and what it
//!    defines. Registers of the first two lists are numbered in order; no other register is live at a block's border.
//! 2. For 64 numbers at a time, the words of the listed blocks are set, and a worklist carries new bits from entries to
//!    the ends of predecessors. Blocks where none of the 64 is live are never looked at.
//!
//! Cost: the size of the function, and for each 64 registers the blocks where one of them is live. Dense sets would
//! take blocks times registers: out of memory at a million instructions (23 GB, 2026-11).
//!
//! Unreachable blocks are solved too. What counts as read and as defined says [`Scan`].

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::live_scan::{NONE, Scan};
use oriole_ir::{Function, Reg};

/// Registers in a group: bits of a word.
pub(super) const GROUP: usize = u64::BITS as usize;

/// Solves the liveness of one group of registers after the other. A block is meant by its place in the layout.
pub struct LiveWords<'a> {
    cfg: &'a Cfg,
    /// By register number: the place in `members`.
    number: Vec<u32>,
    /// The registers that can be live at a block's border, in order of their number.
    members: Vec<Reg>,
    read: Places,
    handed_over: Places,
    defined: Places,
    /// By block: its words for the group at hand.
    words: Vec<Words>,
    /// The blocks with words, each once.
    touched: Vec<u32>,
    /// The blocks with bits at their entry that are not carried to the predecessors yet.
    queue: Vec<u32>,
}

/// A block's sets for one group, by bit.
#[derive(Clone, Copy, Default)]
struct Words {
    live_in: u64,
    live_out: u64,
    kill: u64,
    touched: bool,
    queued: bool,
}

/// Pairs of register and block, by group of registers; in the order of the scan inside of a group.
struct Places {
    start: Vec<u32>,
    /// The bit of the register in its group, and the block.
    of: Vec<(u8, u32)>,
}

impl<'a> LiveWords<'a> {
    /// The first step; no group is solved yet.
    pub fn new(func: &Function, cfg: &'a Cfg) -> LiveWords<'a> {
        let scan = Scan::of(func, cfg);
        let (number, members) = scan.numbers(func);
        let places = |pairs: &[(Reg, u32)]| Places::new(pairs, &number, members.len().div_ceil(GROUP));
        LiveWords {
            cfg,
            read: places(&scan.read),
            handed_over: places(&scan.handed_over),
            defined: places(&scan.defined),
            number,
            members,
            words: vec![Words::default(); cfg.blocks().len()],
            touched: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.members.len().div_ceil(GROUP)
    }

    /// The registers of a group, by bit.
    pub fn members(&self, group: usize) -> &[Reg] {
        let start = group * GROUP;
        &self.members[start..self.members.len().min(start + GROUP)]
    }

    /// Whether a register can be live at a block's border: it is in a group.
    pub fn crosses_blocks(&self, reg: Reg) -> bool {
        self.number.get(reg.index()).is_some_and(|number| *number != NONE)
    }

    /// The second step for one group; what is known of others is forgotten.
    pub fn solve(&mut self, group: usize) {
        for block in self.touched.drain(..) {
            self.words[block as usize] = Words::default();
        }
        for at in self.defined.range(group) {
            let (bit, block) = self.defined.of[at];
            self.touch(block).kill |= 1 << bit;
        }
        for at in self.read.range(group) {
            let (bit, block) = self.read.of[at];
            self.enter(block, 1 << bit);
        }
        for at in self.handed_over.range(group) {
            let (bit, block) = self.handed_over.of[at];
            self.leave(block, 1 << bit);
        }
        // The block that was queued last goes first: seeds are in layout order, so that bits run up a chain of blocks
        // together with those that they meet.
        while let Some(block) = self.queue.pop() {
            let words = &mut self.words[block as usize];
            words.queued = false;
            let live = words.live_in;
            let cfg = self.cfg;
            for predecessor in cfg.predecessors(cfg.blocks()[block as usize]) {
                let position = cfg.position(*predecessor).expect("an edge stays in the layout");
                self.leave(position as u32, live);
            }
        }
    }

    /// The registers of the solved group that are live at a block's entry, before its phis are read and without their
    /// destinations.
    pub fn live_in(&self, block: usize) -> u64 {
        self.words[block].live_in
    }

    /// The registers of the solved group that are live at a block's end: those that its successors' phis read from it
    /// too.
    pub fn live_out(&self, block: usize) -> u64 {
        self.words[block].live_out
    }

    /// The blocks where registers of the solved group are live or defined, in no particular but a reproducible order.
    pub fn blocks(&self) -> &[u32] {
        &self.touched
    }

    /// The number of every register, [`NONE`] for those that stay in their block, and the register of every number.
    pub(super) fn into_numbers(self) -> (Vec<u32>, Vec<Reg>) {
        (self.number, self.members)
    }

    fn touch(&mut self, block: u32) -> &mut Words {
        let words = &mut self.words[block as usize];
        if !std::mem::replace(&mut words.touched, true) {
            self.touched.push(block);
        }
        words
    }

    /// Bits are live at a block's end, and at its entry where it does not define them.
    fn leave(&mut self, block: u32, bits: u64) {
        let words = self.touch(block);
        let new = bits & !words.live_out;
        if new != 0 {
            words.live_out |= new;
            let through = new & !words.kill;
            self.enter(block, through);
        }
    }

    /// Bits are live at a block's entry.
    fn enter(&mut self, block: u32, bits: u64) {
        let words = self.touch(block);
        if bits & !words.live_in != 0 {
            words.live_in |= bits;
            if !std::mem::replace(&mut words.queued, true) {
                self.queue.push(block);
            }
        }
    }
}

impl Places {
    /// Sorts pairs by group; registers without a number are left out.
    fn new(pairs: &[(Reg, u32)], number: &[u32], groups: usize) -> Places {
        let numbered = || pairs.iter().map(|(reg, block)| (number[reg.index()], *block)).filter(|(n, _)| *n != NONE);
        let mut start = vec![0; groups + 1];
        for (number, _) in numbered() {
            start[number as usize / GROUP + 1] += 1;
        }
        for group in 0..groups {
            start[group + 1] += start[group];
        }
        let mut fill = start.clone();
        let mut of = vec![(0, 0); start[groups] as usize];
        for (number, block) in numbered() {
            let place = &mut fill[number as usize / GROUP];
            of[*place as usize] = ((number as usize % GROUP) as u8, block);
            *place += 1;
        }
        Places { start, of }
    }

    fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.start[group] as usize..self.start[group + 1] as usize
    }
}
