//! Register pressure: how many words of each file are live at each point.
//!
//! A point lies before each instruction and behind the last one of a block. What is live there comes from [`Liveness`],
//! walked backward ([`LiveWalk`]). At an instruction, its sources and destinations count together where they overlap in
//! time: what is live behind it, with destinations that nobody reads, and separately what is live before it. Phis read
//! at the ends of predecessors and define at the start of their block, all at once. Barrier registers are in no live
//! set and are not counted. Linear in instructions and in the sizes of the live sets at block ends.

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::live_walk::LiveWalk;
use super::liveness::Liveness;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg, RegFile};

/// The words of each file: a predicate counts as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words([u32; 4]);

impl Words {
    /// The words of a file; none of barrier registers.
    pub fn of(self, file: RegFile) -> u32 {
        place(file).map_or(0, |place| self.0[place])
    }

    fn add(&mut self, func: &Function, reg: Reg) {
        let info = func.regs()[reg];
        if let Some(place) = place(info.file) {
            self.0[place] += u32::from(info.words);
        }
    }

    /// File by file, the larger number.
    fn max(self, other: Words) -> Words {
        Words(std::array::from_fn(|place| self.0[place].max(other.0[place])))
    }
}

fn place(file: RegFile) -> Option<usize> {
    [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP].iter().position(|counted| *counted == file)
}

/// The pressure at each point of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// By instruction: the words that are live before it. For a phi, at the start of its block, the phis' results
    /// included.
    before: Vec<Words>,
    /// By block number: the words at its end, and the most at any point or instruction in it.
    blocks: Vec<(Words, Words)>,
    max: Words,
}

impl Pressure {
    /// The pressure in a function.
    pub fn compute(func: &Function, cfg: &Cfg, liveness: &Liveness) -> Pressure {
        let (before, blocks) =
            (vec![Words::default(); func.insts().len()], vec![Default::default(); func.blocks().len()]);
        let mut pressure = Pressure { before, blocks, max: Words::default() };
        let mut walk = LiveWalk::new(func);
        for block in cfg.blocks() {
            walk.start(liveness, *block);
            let end = pressure.count(func, &walk);
            let most = pressure.block(func, *block, &mut walk, end);
            pressure.blocks[block.index()] = (end, most);
            pressure.max = pressure.max.max(most);
        }
        pressure
    }

    fn count(&self, func: &Function, walk: &LiveWalk) -> Words {
        let mut words = Words::default();
        walk.live().iter().for_each(|reg| words.add(func, *reg));
        words
    }

    /// Walks a block from its end; the most that is live in it.
    fn block(&mut self, func: &Function, block: Block, walk: &mut LiveWalk, end: Words) -> Words {
        let (mut now, mut most) = (end, end);
        let is_phi = |inst: &Inst| func.inst(*inst).opcode == Opcode::Phi;
        for inst in func.block_insts(block).rev().take_while(|inst| !is_phi(inst)) {
            most = most.max(with_unread(func, inst, walk, now));
            now = step(func, inst, walk, now);
            self.before[inst.index()] = now;
            most = most.max(now);
        }
        // The results of all phis are there at once, read or not.
        for phi in func.block_insts(block).take_while(is_phi) {
            now = with_unread(func, phi, walk, now);
        }
        for phi in func.block_insts(block).take_while(is_phi) {
            self.before[phi.index()] = now;
        }
        most.max(now)
    }

    /// The words that are live before an instruction; for a phi, behind all phis of the block.
    pub fn before(&self, inst: Inst) -> Words {
        self.before[inst.index()]
    }

    /// The words that are live at a block's end.
    pub fn at_end(&self, block: Block) -> Words {
        self.blocks[block.index()].0
    }

    /// The most words that are live at any point of a block, destinations that nobody reads included.
    pub fn in_block(&self, block: Block) -> Words {
        self.blocks[block.index()].1
    }

    /// The most words that are live anywhere.
    pub fn max(&self) -> Words {
        self.max
    }
}

/// The words behind an instruction, with its destinations that nobody reads.
fn with_unread(func: &Function, inst: Inst, walk: &LiveWalk, mut now: Words) -> Words {
    let dsts: Vec<Reg> = func.defs(inst).collect();
    for (index, reg) in dsts.iter().enumerate() {
        if !walk.is_live(*reg) && !dsts[..index].contains(reg) {
            now.add(func, *reg);
        }
    }
    now
}

/// Goes to before an instruction. Only what it names can start or end there, so nothing else is counted.
fn step(func: &Function, inst: Inst, walk: &mut LiveWalk, mut now: Words) -> Words {
    let named = || func.defs(inst).chain(func.uses(inst));
    let live = |walk: &LiveWalk| {
        let mut regs: Vec<Reg> = named().filter(|reg| walk.is_live(*reg)).collect();
        regs.sort_unstable();
        regs.dedup();
        regs.iter().fold(Words::default(), |mut words, reg| {
            words.add(func, *reg);
            words
        })
    };
    let behind = live(walk);
    walk.step(func, inst);
    let before = live(walk);
    for place in 0..now.0.len() {
        now.0[place] = now.0[place] + before.0[place] - behind.0[place];
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_function;

    fn of(text: &str) -> (Function, Pressure) {
        let func = parse_function(text).expect("the text is a function");
        let cfg = Cfg::new(&func);
        let pressure = Pressure::compute(&func, &cfg, &Liveness::solve(&func, &cfg));
        (func, pressure)
    }

    fn files(words: Words) -> [u32; 4] {
        [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP].map(|file| words.of(file))
    }

    /// Two words and one more, then a result that takes their place; `%r9` is read by nobody.
    #[test]
    fn words_are_counted_where_they_are_live() {
        let (func, pressure) =
            of("device @f {\nbb0:\n  %d1 = mov.b64 1\n  %ur2 = mov.b32 2\n  %p3 = mov.pred 1\n  %r9 = mov.b32 7\n  \
             @%p3 st.global.b32 [%d1], %ur2\n  ret\n}\n");
        let insts = func.block_insts(func.entry());
        let before: Vec<_> = insts.map(|inst| files(pressure.before(inst))).collect();
        assert_eq!(before, [[0, 0, 0, 0], [2, 0, 0, 0], [2, 1, 0, 0], [2, 1, 1, 0], [2, 1, 1, 0], [0, 0, 0, 0]]);
        assert_eq!(files(pressure.max()), [3, 1, 1, 0]);
        assert_eq!(files(pressure.at_end(func.entry())), [0; 4]);
        assert_eq!(pressure.max().of(RegFile::B), 0);
    }

    #[test]
    fn phis_are_defined_together() {
        let (func, pressure) = of(
            "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 1]\n  %r2 = phi [bb0: 2]\n  %d3 = phi [bb0: 3]\n  \
             st.global.b32 [8], %r1\n  ret\n}\n",
        );
        let block = func.layout()[1];
        assert_eq!(files(pressure.before(func.inst_at(block, 0))), [4, 0, 0, 0]);
        assert_eq!(files(pressure.before(func.inst_at(block, 3))), [1, 0, 0, 0]);
        assert_eq!(files(pressure.in_block(block)), [4, 0, 0, 0]);
    }
}
