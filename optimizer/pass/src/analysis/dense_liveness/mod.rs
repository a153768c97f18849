//! Liveness by dense sets, one solve for each register file (`spec/liveness-and-dce.txt`, "Per-Register-File
//! Liveness"), of the registers that the caller chooses.
//!
//! - R and UR have sets of their own, and are solved apart ([`BlockSets`]); UR only where the function has uniform
//!   registers that live across blocks.
//! - Predicates, P and UP, are in none of these sets: each block has a list of those that are live at its borders
//!   ([`predicates`]).
//! - Barrier registers are in nothing.
//!
//! [`super::Liveness`] is what passes ask about all registers: its memory is that of the result, and dense sets of a
//! function of a million instructions would take 23 GB. The dense sets are for questions about chosen registers that
//! compare whole sets: which values live through a loop together, and which registers no definition reaches. So the
//! memory here is blocks times chosen registers, half a byte each.
//!
//! The dominator-respecting variant leaves out what no definition can have reached: a register is live
//! there only where a block that defines it dominates the place, or where that dominance ends at a block that does
//! (`available.rs`). It differs from the plain one for registers that are read where nothing defines them on any way,
//! and so on the edges into irreducible loops that no definition comes along.

use cranelift_entity::EntityRef;

use super::bitset;
use super::cfg::Cfg;
use super::live_scan::{NONE, Scan};
use oriole_ir::{Block, Function, Reg, RegFile};

mod available;
mod predicates;
mod sets;
#[cfg(test)]
mod tests;

use available::available;
use predicates::Predicates;
pub use sets::{BlockSets, Which};

/// Which registers are live at a border.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Those that are read behind it.
    Plain,
    /// Those of them that a definition may have reached: the dominator-respecting variant.
    Reached,
}

/// The chosen registers that are live at the borders of each block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DenseLiveness {
    /// By block number: the place in the layout.
    position: Vec<u32>,
    general: FileSets,
    uniform: Option<FileSets>,
    predicates: Predicates,
}

/// The sets of one register file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSets {
    /// By register number: the bit in the sets.
    number: Vec<u32>,
    /// By bit: the register.
    members: Vec<Reg>,
    sets: BlockSets,
}

impl DenseLiveness {
    /// Solves both files for the registers that are wanted, with predicates beside them.
    pub fn solve(func: &Function, cfg: &Cfg, variant: Variant, wanted: impl Fn(Reg) -> bool) -> DenseLiveness {
        let mut position = vec![NONE; func.blocks().len()];
        for (place, block) in cfg.blocks().iter().enumerate() {
            position[block.index()] = place as u32;
        }
        let scan = Scan::of(func, cfg);
        let (_, crossing) = scan.numbers(func);
        let of = |files: [RegFile; 2]| {
            let chosen = |reg: &Reg| files.contains(&func.regs()[*reg].file) && wanted(*reg);
            crossing.iter().copied().filter(chosen).collect::<Vec<Reg>>()
        };
        let solved = |members| FileSets::solve(func, cfg, &scan, variant, members);
        let uniform = of([RegFile::UR; 2]);
        let members = of([RegFile::P, RegFile::UP]);
        let mut predicates = Predicates::solve(cfg, &scan, &members);
        if variant == Variant::Reached {
            let number = numbered(func, &members);
            predicates.restrict(&available(func, cfg, &number), &number);
        }
        DenseLiveness {
            position,
            general: solved(of([RegFile::R; 2])),
            uniform: (!uniform.is_empty()).then(|| solved(uniform)),
            predicates,
        }
    }

    /// Whether a register is live at a block's entry, before its phis are read and without their destinations.
    pub fn live_in(&self, block: Block, reg: Reg) -> bool {
        self.is_in(block, reg, Which::LiveIn, Predicates::live_in)
    }

    /// Whether a register is live at a block's end: read behind it, or there by its successors' phis.
    pub fn live_out(&self, block: Block, reg: Reg) -> bool {
        self.is_in(block, reg, Which::LiveOut, Predicates::live_out)
    }

    fn is_in(&self, block: Block, reg: Reg, which: Which, list: fn(&Predicates, usize) -> &[Reg]) -> bool {
        let Some(place) = self.place(block) else { return false };
        match self.files().find_map(|file| Some((file, file.bit(reg)?))) {
            Some((file, bit)) => bitset::contains(file.sets.get(which, place), bit),
            None => list(&self.predicates, place).binary_search(&reg).is_ok(),
        }
    }

    fn files(&self) -> impl Iterator<Item = &FileSets> {
        std::iter::once(&self.general).chain(&self.uniform)
    }

    /// The registers that are live at a block's entry, file by file.
    pub fn all_live_in(&self, block: Block) -> impl Iterator<Item = Reg> + '_ {
        self.place(block).into_iter().flat_map(move |place| {
            let in_sets = self.files().flat_map(move |file| file.members_of(Which::LiveIn, place));
            in_sets.chain(self.predicates.live_in(place).iter().copied())
        })
    }

    /// The sets of the general registers.
    pub fn general(&self) -> &FileSets {
        &self.general
    }

    /// The sets of the uniform registers; `None` where none of them lives across blocks.
    pub fn uniform(&self) -> Option<&FileSets> {
        self.uniform.as_ref()
    }

    /// The place of a block in the layout, by which its sets are asked for.
    pub fn place(&self, block: Block) -> Option<usize> {
        self.position.get(block.index()).filter(|place| **place != NONE).map(|place| *place as usize)
    }
}

/// By register number: its place among the members, which is its bit.
fn numbered(func: &Function, members: &[Reg]) -> Vec<u32> {
    let mut number = vec![NONE; func.regs().len()];
    for (bit, reg) in members.iter().enumerate() {
        number[reg.index()] = bit as u32;
    }
    number
}

impl FileSets {
    fn solve(func: &Function, cfg: &Cfg, scan: &Scan, variant: Variant, members: Vec<Reg>) -> FileSets {
        let number = numbered(func, &members);
        let mut sets = BlockSets::new(cfg, members.len());
        for (pairs, which) in
            [(&scan.read, Which::Generated), (&scan.handed_over, Which::LiveOut), (&scan.defined, Which::Killed)]
        {
            let numbered = pairs.iter().map(|(reg, place)| (number[reg.index()], *place as usize));
            for (bit, place) in numbered.filter(|(bit, _)| *bit != NONE) {
                bitset::insert(sets.get_mut(which, place), bit as usize);
            }
        }
        sets.solve(cfg);
        if variant == Variant::Reached {
            let available = available(func, cfg, &number);
            for place in 0..cfg.blocks().len() {
                bitset::intersect_if_changed(sets.get_mut(Which::LiveIn, place), available.entry.row(place));
                bitset::intersect_if_changed(sets.get_mut(Which::LiveOut, place), available.end.row(place));
            }
        }
        FileSets { number, members, sets }
    }

    /// The bit of a register in the sets; `None` where it lives in one block alone, or was not chosen.
    pub fn bit(&self, reg: Reg) -> Option<usize> {
        self.number.get(reg.index()).filter(|bit| **bit != NONE).map(|bit| *bit as usize)
    }

    /// The register of each bit.
    pub fn members(&self) -> &[Reg] {
        &self.members
    }

    /// The registers in a set of the block at a place.
    pub fn members_of(&self, which: Which, place: usize) -> impl Iterator<Item = Reg> + '_ {
        bitset::iter(self.sets.get(which, place)).map(|bit| self.members[bit])
    }

    /// The sets, by place of the block.
    pub fn sets(&self) -> &BlockSets {
        &self.sets
    }
}
