//! Which registers of the machine are live, as scheduling behind allocation follows them (L:189-205, L:254-278).
//!
//! General registers have sets always, uniform ones only where the function has some: each file is solved by itself,
//! so none waits for another to settle. Predicates and barriers have small sets of the same kind. A block whose set
//! grows queues the blocks before it.
//!
//! ```text
//! in |= gen | (out & !kill)
//! ```

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Function, Inst, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::Cfg;

/// Registers of a file, by number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Bits([u64; 4]);

impl Bits {
    fn insert(&mut self, number: u8) {
        self.0[usize::from(number) / 64] |= 1 << (number % 64);
    }

    fn remove(&mut self, number: u8) {
        self.0[usize::from(number) / 64] &= !(1 << (number % 64));
    }

    fn has(&self, number: u8) -> bool {
        self.0[usize::from(number) / 64] >> (number % 64) & 1 == 1
    }

    /// Adds what is in one set and not in the other; whether that changed something.
    fn or_with_and_not_if_changed(&mut self, add: &Bits, without: &Bits) -> bool {
        let before = *self;
        for (own, (add, without)) in self.0.iter_mut().zip(add.0.iter().zip(&without.0)) {
            *own |= add & !without;
        }
        *self != before
    }

    fn numbers(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|number| self.has(*number))
    }
}

/// The sets of a file at the ends of blocks.
struct Solved {
    file: RegFile,
    out: SecondaryMap<Block, Bits>,
}

/// The registers that are live where blocks end.
pub(super) struct Live(Vec<Solved>);

/// The live registers of one place.
#[derive(Clone, Default)]
pub(super) struct Here(Vec<(RegFile, Bits)>);

impl Live {
    /// Solves all files of a function in physical form, those of uniform registers where it has some.
    pub fn solve(func: &Function, cfg: &Cfg, follows_uniform: bool) -> Live {
        let uniform = [RegFile::UR, RegFile::UP].into_iter().filter(|_| follows_uniform);
        let files = [RegFile::R, RegFile::P, RegFile::B].into_iter().chain(uniform);
        Live(files.map(|file| Solved { file, out: solve(func, cfg, file) }).collect())
    }

    /// Walks a block backward, and shows each instruction with the registers that are live behind it.
    pub fn backward(&self, func: &Function, block: Block, mut see: impl FnMut(Inst, &Here)) {
        let mut here = Here(self.0.iter().map(|solved| (solved.file, solved.out[block])).collect());
        let mut next = func.last_inst(block);
        while let Some(inst) = next {
            next = func.prev_inst(inst);
            see(inst, &here);
            for (file, live) in &mut here.0 {
                step(func, inst, *file, live, None);
            }
        }
    }
}

impl Here {
    /// Whether a register of one word is live.
    pub fn has(&self, unit: Reg) -> bool {
        let Some(PhysicalReg { file, number, .. }) = PhysicalReg::of(unit) else { return false };
        self.0.iter().any(|(own, live)| *own == file && live.has(number))
    }

    /// All live registers of one word.
    pub fn units(&self) -> impl Iterator<Item = Reg> + '_ {
        let unit = |file, number| PhysicalReg { file, number, words: 1 }.reg();
        self.0.iter().flat_map(move |(file, live)| live.numbers().filter_map(move |number| unit(*file, number)))
    }
}

/// The step over an instruction, backward: what it writes whatever its guard says is gone, what it reads is there.
fn step(func: &Function, inst: Inst, file: RegFile, live: &mut Bits, kill: Option<&mut Bits>) {
    let of_file = |unit: &Reg| PhysicalReg::of(*unit).filter(|reg| reg.file == file).map(|reg| reg.number);
    let mut kill = kill;
    if func.inst(inst).guard.is_none() {
        for unit in func.defs(inst).collect::<smallvec::SmallVec<[Reg; 8]>>() {
            if let Some(number) = of_file(&unit) {
                live.remove(number);
                if let Some(kill) = kill.as_deref_mut() {
                    kill.insert(number);
                }
            }
        }
    }
    for number in func.uses(inst).filter_map(|unit| of_file(&unit)) {
        live.insert(number);
    }
}

/// The live registers of a file at the ends of blocks.
fn solve(func: &Function, cfg: &Cfg, file: RegFile) -> SecondaryMap<Block, Bits> {
    let (mut ins, mut kills): (SecondaryMap<Block, Bits>, SecondaryMap<Block, Bits>) = Default::default();
    let mut out: SecondaryMap<Block, Bits> = SecondaryMap::new();
    let mut is_queued: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in func.layout() {
        let mut next = func.last_inst(*block);
        while let Some(inst) = next {
            next = func.prev_inst(inst);
            step(func, inst, file, &mut ins[*block], Some(&mut kills[*block]));
        }
    }
    cfg.rpo().iter().for_each(|block| is_queued[*block] = true);
    let mut has_queued = true;
    // The last block comes first: what it needs goes up in one sweep where there is no loop. A block that is taken as
    // soon as it is queued would be taken once for every way from it to an end.
    while has_queued {
        has_queued = false;
        for block in cfg.rpo().iter().rev() {
            if !std::mem::take(&mut is_queued[*block]) {
                continue;
            }
            let mut live = out[*block];
            for next in cfg.successors(*block) {
                live.or_with_and_not_if_changed(&ins[*next], &Bits::default());
            }
            out[*block] = live;
            if ins[*block].or_with_and_not_if_changed(&live, &kills[*block]) {
                for before in cfg.predecessors(*block) {
                    is_queued[*before] = true;
                    has_queued = true;
                }
            }
        }
    }
    out
}
