//! Which words of registers are live, on the way to the machine's registers.
//!
//! A register of several words may be written word by word, so what is followed is a word of a register. A definition
//! under a guard leaves the value before where the guard does not hold, unless no definition leads there: then there is
//! no value before. The only definition of a register leads to itself where it is in a loop.

use cranelift_entity::{EntityRef, SecondaryMap};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::Cfg;
use rustc_hash::FxHashSet;

/// The words of registers by numbers.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    start: Vec<u32>,
    /// By word: its register.
    reg: Vec<Reg>,
    /// Words that are written under a guard where nothing has written them before, by instruction.
    first: FxHashSet<(Inst, u32)>,
}

/// Whether an operand is read, written or, where a guard may keep it away, perhaps written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Read.
    Read,
    /// Written whatever the guard says.
    Written,
    /// Written where the guard holds.
    Perhaps,
}

impl Words {
    pub fn of(func: &Function, cfg: &Cfg) -> Words {
        let (mut start, mut reg) = (Vec::with_capacity(func.regs().len() + 1), Vec::new());
        for (at, info) in func.regs().iter() {
            start.push(reg.len() as u32);
            reg.extend((0..info.words).map(|_| at));
        }
        start.push(reg.len() as u32);
        let mut words = Words { start, reg, first: FxHashSet::default() };
        words.find_first(func, cfg);
        words
    }

    /// Finds what is written under a guard where no definition leads to.
    fn find_first(&mut self, func: &Function, cfg: &Cfg) {
        let is_guarded = |inst: &Inst| func.inst(*inst).guard.is_some() && !func.dsts(*inst).is_empty();
        if !func.layout_insts().any(|inst| is_guarded(&inst)) {
            return;
        }
        let mut written: SecondaryMap<Block, Set> = SecondaryMap::with_default(Set::new(self.len()));
        let mut changed = true;
        // Sets grow until no way adds a word.
        while changed {
            changed = false;
            for block in cfg.rpo() {
                let mut now = written[*block].clone();
                for dst in func.block_insts(*block).flat_map(|inst| func.dsts(inst)) {
                    self.of_operand(*dst).for_each(|word| now.insert(word));
                }
                for next in cfg.successors(*block) {
                    changed |= written[*next].add(&now);
                }
            }
        }
        for block in cfg.rpo() {
            let mut now = written[*block].clone();
            for inst in func.block_insts(*block) {
                for word in func.dsts(inst).iter().flat_map(|dst| self.of_operand(*dst)).collect::<Vec<_>>() {
                    if is_guarded(&inst) && !now.has(word) {
                        self.first.insert((inst, word));
                    }
                    now.insert(word);
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.reg.len()
    }

    /// The register of a word.
    pub fn reg(&self, word: u32) -> Reg {
        self.reg[word as usize]
    }

    /// The words that an operand names.
    pub fn of_operand(&self, operand: Operand) -> std::ops::Range<u32> {
        let all = |reg: Reg| self.start[reg.index()]..self.start[reg.index() + 1];
        match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => all(reg),
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => {
                let first = all(reg).start + u32::from(word);
                first..first + 1
            }
            _ => 0..0,
        }
    }

    pub fn of_reg(&self, reg: Reg) -> std::ops::Range<u32> {
        self.start[reg.index()]..self.start[reg.index() + 1]
    }

    /// Gives an instruction's accesses of words, writes first.
    pub fn accesses(&self, func: &Function, inst: Inst, mut see: impl FnMut(u32, Access)) {
        let guard = func.inst(inst).guard;
        for dst in func.dsts(inst) {
            self.of_operand(*dst).for_each(|word| {
                let is_certain = guard.is_none() || self.first.contains(&(inst, word));
                see(word, if is_certain { Access::Written } else { Access::Perhaps });
            });
        }
        for src in func.inputs(inst) {
            self.of_operand(*src).for_each(|word| see(word, Access::Read));
        }
        if let Some(guard) = guard {
            self.of_reg(guard.reg()).for_each(|word| see(word, Access::Read));
        }
    }

    /// Walks every block backward, and shows each instruction with the words that live behind it.
    pub fn backward(&self, func: &Function, cfg: &Cfg, mut see: impl FnMut(Inst, &Sparse)) {
        let live = Live::compute(func, cfg, self);
        let mut now = Sparse::new(self.len());
        for block in cfg.rpo() {
            now.clear();
            live.out(*block).for_each(|word| now.insert(word));
            let mut next = func.last_inst(*block);
            while let Some(inst) = next {
                next = func.prev_inst(inst);
                see(inst, &now);
                // Certain writes go first, since the instruction may read the same word.
                self.accesses(func, inst, |word, access| {
                    if access == Access::Written {
                        now.remove(word);
                    }
                });
                self.accesses(func, inst, |word, access| {
                    if access != Access::Written {
                        now.insert(word);
                    }
                });
            }
        }
    }
}

/// A set of words that is cleared at once.
pub(crate) struct Sparse {
    place: Vec<u32>,
    list: Vec<u32>,
}

impl Sparse {
    pub fn new(len: usize) -> Sparse {
        Sparse { place: vec![u32::MAX; len], list: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.list.drain(..).for_each(|word| self.place[word as usize] = u32::MAX);
    }

    pub fn insert(&mut self, word: u32) {
        if self.place[word as usize] == u32::MAX {
            self.place[word as usize] = self.list.len() as u32;
            self.list.push(word);
        }
    }

    pub fn remove(&mut self, word: u32) {
        let at = std::mem::replace(&mut self.place[word as usize], u32::MAX);
        if at != u32::MAX {
            self.list.swap_remove(at as usize);
            if let Some(moved) = self.list.get(at as usize) {
                self.place[*moved as usize] = at;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().copied()
    }
}

/// A set of words, dense.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub fn new(len: usize) -> Set {
        Set(vec![0; len.div_ceil(64)])
    }

    pub fn insert(&mut self, word: u32) {
        self.0[word as usize / 64] |= 1 << (word % 64);
    }

    pub fn has(&self, word: u32) -> bool {
        self.0[word as usize / 64] >> (word % 64) & 1 == 1
    }

    pub fn remove(&mut self, word: u32) {
        self.0[word as usize / 64] &= !(1 << (word % 64));
    }

    /// Adds the words of another set; whether that changed something.
    pub fn add(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            let sum = *own | other;
            changed |= sum != *own;
            *own = sum;
        }
        changed
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip(0u32..).flat_map(|(bits, at)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(64 * at + bit)
            })
        })
    }
}

/// The live words at the ends of blocks. Words that no block reads before it writes them are in no set.
struct Live {
    /// By word: its number among those that are live in some block's beginning.
    number: Vec<u32>,
    /// The words by those numbers.
    words: Vec<u32>,
    out: SecondaryMap<Block, Set>,
}

const LOCAL: u32 = u32::MAX;

impl Live {
    fn compute(func: &Function, cfg: &Cfg, words: &Words) -> Live {
        let mut live = Live { number: vec![LOCAL; words.len()], words: Vec::new(), out: SecondaryMap::new() };
        // Blocks' own reads before writes, and writes.
        let mut exposed: Vec<(Block, Vec<u32>, Vec<u32>)> = Vec::new();
        let mut state = vec![(u32::MAX, false); words.len()];
        for (at, block) in (0u32..).zip(cfg.rpo()) {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for inst in func.block_insts(*block) {
                words.accesses(func, inst, |word, access| {
                    if access == Access::Read || access == Access::Perhaps {
                        let (known, _) = &mut state[word as usize];
                        if *known != at {
                            *known = at;
                            state[word as usize].1 = false;
                            reads.push(word);
                        }
                    }
                });
                words.accesses(func, inst, |word, access| {
                    if access == Access::Written && state[word as usize].0 != at {
                        state[word as usize] = (at, true);
                        writes.push(word);
                    }
                });
            }
            for word in &reads {
                if live.number[*word as usize] == LOCAL {
                    live.number[*word as usize] = live.words.len() as u32;
                    live.words.push(*word);
                }
            }
            exposed.push((*block, reads, writes));
        }
        let len = live.words.len();
        let mut ins: SecondaryMap<Block, Set> = SecondaryMap::new();
        for (block, reads, _) in &exposed {
            let mut set = Set::new(len);
            reads.iter().for_each(|word| set.insert(live.number[*word as usize]));
            ins[*block] = set;
            live.out[*block] = Set::new(len);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (block, _, writes) in exposed.iter().rev() {
                let mut out = std::mem::take(&mut live.out[*block]);
                for next in cfg.successors(*block) {
                    out.add(&ins[*next]);
                }
                let mut passing = out.clone();
                for word in writes {
                    let number = live.number[*word as usize];
                    if number != LOCAL {
                        passing.remove(number);
                    }
                }
                changed |= ins[*block].add(&passing);
                live.out[*block] = out;
            }
        }
        live
    }

    /// The words that are live where a block ends.
    fn out(&self, block: Block) -> impl Iterator<Item = u32> + '_ {
        self.out[block].iter().map(|number| self.words[number as usize])
    }
}
