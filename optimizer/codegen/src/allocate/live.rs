//! Which words of registers are live, on the way to the machine's registers.
//!
//! A register of several words may be written word by word, so what is followed is a word of a register. A definition
//! under a guard leaves the value before where the guard does not hold, unless no definition leads there: then there is
//! no value before. The only definition of a register leads to itself where it is in a loop.

use cranelift_entity::{EntityRef, SecondaryMap};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::Cfg;
use rustc_hash::{FxHashMap, FxHashSet};

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
    ///
    /// Few words are asked for, and a definition is mostly near, so each is looked for by itself, backward. Sets of all
    /// words for each block would take the square of a function's size.
    fn find_first(&mut self, func: &Function, cfg: &Cfg) {
        let is_guarded = |inst: &Inst| func.inst(*inst).guard.is_some() && !func.dsts(*inst).is_empty();
        if !func.layout_insts().any(|inst| is_guarded(&inst)) {
            return;
        }
        // By word: the last block that writes it so far, and whether it is asked for.
        let mut last: Vec<Option<Block>> = vec![None; self.len()];
        let mut is_asked = vec![false; self.len()];
        let mut asked: Vec<(u32, Inst, Block)> = Vec::new();
        for block in cfg.rpo() {
            for inst in func.block_insts(*block) {
                for word in func.dsts(inst).iter().flat_map(|dst| self.of_operand(*dst)) {
                    let before = last[word as usize].replace(*block);
                    if is_guarded(&inst) && before != Some(*block) {
                        is_asked[word as usize] = true;
                        asked.push((word, inst, *block));
                    }
                }
            }
        }
        let mut writers: FxHashMap<u32, Vec<Block>> = FxHashMap::default();
        for block in cfg.rpo() {
            let dsts = func.block_insts(*block).flat_map(|inst| func.dsts(inst));
            for word in dsts.flat_map(|dst| self.of_operand(*dst)).filter(|word| is_asked[*word as usize]) {
                let known = writers.entry(word).or_default();
                if known.last() != Some(block) {
                    known.push(*block);
                }
            }
        }
        asked.sort_by_key(|(word, ..)| *word);
        let mut ways = Ways::new(cfg);
        for asked in asked.chunk_by(|one, other| one.0 == other.0) {
            ways.begin(&writers[&asked[0].0]);
            let first = asked.iter().filter(|(.., block)| !ways.lead_to(cfg, *block));
            self.first.extend(first.map(|(word, inst, _)| (*inst, *word)));
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

/// Whether ways lead from blocks to another one.
struct Ways {
    /// By block: the number of its component, the place of the first of its blocks in reverse postorder. A way that
    /// leaves a component goes to higher numbers.
    component: SecondaryMap<Block, u32>,
    /// By component: whether ways lead from a block of it to itself.
    has_circle: Vec<bool>,
    /// By block and by component: the last question in which ways begin there.
    begins: SecondaryMap<Block, u32>,
    component_begins: Vec<u32>,
    /// The lowest component in which ways begin.
    lowest: u32,
    question: u32,
    /// By block: the last search that has come to it.
    seen: SecondaryMap<Block, u32>,
    search: u32,
}

impl Ways {
    /// Components as Kosaraju finds them: from the first block on, those that lead to it and are in no other one yet.
    fn new(cfg: &Cfg) -> Ways {
        let blocks = cfg.rpo().len();
        let mut component = SecondaryMap::with_default(u32::MAX);
        let mut has_circle = vec![false; blocks];
        for (at, first) in (0u32..).zip(cfg.rpo()) {
            let mut work = vec![*first];
            while let Some(block) = work.pop() {
                has_circle[at as usize] |= component[block] == at;
                if component[block] == u32::MAX {
                    component[block] = at;
                    // Ways between blocks that nothing comes to are none.
                    let before = cfg.predecessors(block).iter().copied();
                    work.extend(before.filter(|before| cfg.is_reachable(*before)));
                }
            }
        }
        let (begins, seen) = (SecondaryMap::new(), SecondaryMap::new());
        let component_begins = vec![0; blocks];
        Ways { component, has_circle, begins, component_begins, lowest: 0, question: 0, seen, search: 0 }
    }

    /// Asks for ways from the ends of these blocks.
    fn begin(&mut self, from: &[Block]) {
        self.question += 1;
        self.lowest = u32::MAX;
        for block in from {
            let component = self.component[*block];
            self.begins[*block] = self.question;
            self.component_begins[component as usize] = self.question;
            self.lowest = self.lowest.min(component);
        }
    }

    /// Whether one leads to the beginning of a block.
    fn lead_to(&mut self, cfg: &Cfg, to: Block) -> bool {
        let own = self.component[to];
        if self.has_circle[own as usize] && self.component_begins[own as usize] == self.question {
            return true;
        }
        if self.lowest >= own {
            return false;
        }
        self.search += 1;
        let mut work: Vec<Block> = cfg.predecessors(to).to_vec();
        while let Some(block) = work.pop() {
            let is_new = std::mem::replace(&mut self.seen[block], self.search) != self.search;
            if self.begins[block] == self.question && is_new {
                return true;
            }
            if is_new && self.component[block] >= self.lowest {
                work.extend(cfg.predecessors(block));
            }
        }
        false
    }
}

/// By block: the live words at its end, those first that are read first.
///
/// Each word that some block reads before it writes it is followed by itself, from its readers to its writers, so the
/// work is as large as the result.
struct Live {
    out: SecondaryMap<Block, Vec<u32>>,
}

const LOCAL: u32 = u32::MAX;

impl Live {
    fn compute(func: &Function, cfg: &Cfg, words: &Words) -> Live {
        // Words that blocks read before they write them get numbers in the order in which they are met.
        let (mut number, mut global) = (vec![LOCAL; words.len()], Vec::new());
        let mut readers: Vec<(u32, Block)> = Vec::new();
        let mut writers: Vec<(u32, Block)> = Vec::new();
        let mut seen = vec![u32::MAX; words.len()];
        for (at, block) in (0u32..).zip(cfg.rpo()) {
            for inst in func.block_insts(*block) {
                words.accesses(func, inst, |word, access| {
                    let is_read = access != Access::Written;
                    if is_read && std::mem::replace(&mut seen[word as usize], at) != at {
                        if number[word as usize] == LOCAL {
                            number[word as usize] = global.len() as u32;
                            global.push(word);
                        }
                        readers.push((number[word as usize], *block));
                    }
                });
                words.accesses(func, inst, |word, access| {
                    let is_written = access == Access::Written;
                    if is_written && std::mem::replace(&mut seen[word as usize], at) != at {
                        writers.push((word, *block));
                    }
                });
            }
        }
        writers.retain_mut(|(word, _)| {
            *word = number[*word as usize];
            *word != LOCAL
        });
        readers.sort_unstable_by_key(|(number, _)| *number);
        writers.sort_unstable_by_key(|(number, _)| *number);
        let mut live = Live { out: SecondaryMap::new() };
        // By block: the word that was last followed to its beginning by what it does with it, and to its end.
        let mut settled: SecondaryMap<Block, u32> = SecondaryMap::with_default(LOCAL);
        let mut reached: SecondaryMap<Block, u32> = SecondaryMap::with_default(LOCAL);
        let (mut work, mut written) = (Vec::new(), &writers[..]);
        for readers in readers.chunk_by(|one, other| one.0 == other.0) {
            let word = readers[0].0;
            written = &written[written.partition_point(|(other, _)| *other < word)..];
            for (_, block) in readers.iter().chain(written.iter().take_while(|(other, _)| *other == word)) {
                settled[*block] = word;
            }
            work.extend(readers.iter().flat_map(|(_, block)| cfg.predecessors(*block)));
            while let Some(block) = work.pop() {
                if std::mem::replace(&mut reached[block], word) == word {
                    continue;
                }
                live.out[block].push(global[word as usize]);
                if settled[block] != word {
                    work.extend(cfg.predecessors(block));
                }
            }
        }
        live
    }

    /// The words that are live where a block ends.
    fn out(&self, block: Block) -> impl Iterator<Item = u32> + '_ {
        self.out[block].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use oriole_ir::{Guard, RegFile, RegInfo};

    use super::*;
    use crate::sketch::Sketch;

    /// A function of some blocks that go anywhere, whose copies have guards or none.
    fn any(next: &mut impl FnMut(usize) -> usize) -> Function {
        let mut made = Sketch::new();
        let words: Vec<Operand> = (0..4).map(|_| made.word()).collect();
        let guard = made.func.new_reg(RegInfo::PRED);
        let mut blocks = vec![made.block];
        blocks.extend((0..1 + next(6)).map(|_| made.func.new_block()));
        for block in &blocks {
            made.block = *block;
            for _ in 0..next(4) {
                let (to, from) = (words[next(4)], words[next(4)]);
                let lanes = made.func.imm(15);
                let guard = (next(2) == 0).then(|| Guard::new(guard, false));
                made.guarded("MOV", guard, &[to], &[from, lanes]);
            }
            let to: Vec<Operand> = (0..1 + next(2)).map(|_| Operand::Block(blocks[next(blocks.len())])).collect();
            let truth = Operand::wired(RegFile::P, 1);
            match (next(4), to[..].first(), to.get(1)) {
                (0, ..) => made.op("EXIT", &[], &[truth]),
                (_, Some(one), Some(other)) => {
                    made.guarded("BRA", Some(Guard::new(guard, false)), &[], &[truth, *one, *other])
                }
                (_, Some(one), None) => made.op("BRA", &[], &[truth, *one]),
                _ => unreachable!("there is a target"),
            };
        }
        made.func
    }

    /// Words that are written under a guard where no definition leads, by sets of all words for each block.
    fn first_by_definition(func: &Function, cfg: &Cfg, words: &Words) -> BTreeSet<(Inst, u32)> {
        let mut written: SecondaryMap<Block, BTreeSet<u32>> = SecondaryMap::new();
        let mut first = BTreeSet::new();
        for _ in 0..=cfg.rpo().len() {
            first.clear();
            for block in cfg.rpo() {
                let mut now = written[*block].clone();
                for inst in func.block_insts(*block) {
                    for word in func.dsts(inst).iter().flat_map(|dst| words.of_operand(*dst)) {
                        if now.insert(word) && func.inst(inst).guard.is_some() {
                            first.insert((inst, word));
                        }
                    }
                }
                cfg.successors(*block).iter().for_each(|next| written[*next].extend(&now));
            }
        }
        first
    }

    /// The live words at the ends of blocks, by sets that grow until nothing changes.
    fn out_by_definition(func: &Function, cfg: &Cfg, words: &Words) -> SecondaryMap<Block, BTreeSet<u32>> {
        let (mut ins, mut out) = (SecondaryMap::<Block, BTreeSet<u32>>::new(), SecondaryMap::new());
        for _ in 0..=cfg.rpo().len() {
            for block in cfg.rpo() {
                let mut live: BTreeSet<u32> =
                    cfg.successors(*block).iter().flat_map(|next| ins[*next].iter().copied()).collect();
                out[*block] = live.clone();
                for inst in func.block_insts(*block).rev() {
                    let mut reads = Vec::new();
                    words.accesses(func, inst, |word, access| match access {
                        Access::Written => _ = live.remove(&word),
                        _ => reads.push(word),
                    });
                    live.extend(reads);
                }
                ins[*block] = live;
            }
        }
        out
    }

    #[test]
    fn words_are_followed_as_sets_would_be() {
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let (mut firsts, mut lives) = (0, 0);
        for _ in 0..2000 {
            let func = any(&mut next);
            let cfg = Cfg::new(&func);
            let words = Words::of(&func, &cfg);
            let first: BTreeSet<(Inst, u32)> = words.first.iter().copied().collect();
            assert_eq!(first, first_by_definition(&func, &cfg, &words), "{func:?}");
            let (live, expected) = (Live::compute(&func, &cfg, &words), out_by_definition(&func, &cfg, &words));
            for block in cfg.rpo() {
                let found: Vec<u32> = live.out(*block).collect();
                assert_eq!(found.iter().copied().collect::<BTreeSet<u32>>(), expected[*block], "{block} of {func:?}");
                assert_eq!(found.len(), expected[*block].len(), "each word is named once");
                lives += found.len();
            }
            firsts += first.len();
        }
        assert!(firsts > 500 && lives > 500, "{firsts} words are written first, {lives} live");
    }
}
