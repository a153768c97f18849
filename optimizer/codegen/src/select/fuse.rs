//! Instructions that do the work of two.
//!
//! A value that one other instruction of its block reads alone becomes part of that one: tables of truth values of
//! three operands, sums of three, a shift before a sum, and masks that a narrow store does not need.
//!
//! **Invariant:** the value has one definition and one use, both in one block, and nothing between them writes a source
//! of the definition; so the use may read these sources itself. Where it does is asked of the encodings.

use oriole_ir::{Block, Inst, Modifiers, Operand, Reg, RegFile};
use rustc_hash::FxHashMap;

use super::emit::{Emit, marked, never};

/// A word of a register.
type Unit = (Reg, u8);

/// Sources of a sum or a table.
const SOURCES: usize = 3;

/// The instructions that take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A table of truth values that sets no predicate.
    Table,
    /// A sum without carries.
    Sum,
    /// A shift to the left by a number.
    Shift,
}

/// How often each word is written and read.
type Counts = FxHashMap<Unit, (u32, u32)>;

impl Emit {
    /// Fuses instructions of all blocks.
    pub fn fuse(&mut self) {
        let counts = self.counts();
        for block in self.func.layout().to_vec() {
            self.fuse_block(block, &counts);
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for inst in self.func.layout_insts() {
            let guard = self.func.inst(inst).guard.map(|guard| Operand::Reg(guard.reg()));
            for dst in self.func.dsts(inst) {
                self.units(*dst).for_each(|unit| counts.entry(unit).or_default().0 += 1);
            }
            for src in self.func.inputs(inst).iter().copied().chain(guard) {
                self.units(src).for_each(|unit| counts.entry(unit).or_default().1 += 1);
            }
        }
        counts
    }

    fn units(&self, operand: Operand) -> impl Iterator<Item = Unit> + use<> {
        let found = match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => {
                Some((reg, 0..self.func.regs()[reg].words))
            }
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => Some((reg, word..word + 1)),
            _ => None,
        };
        found.into_iter().flat_map(|(reg, words)| words.map(move |word| (reg, word)))
    }

    fn fuse_block(&mut self, block: Block, counts: &Counts) {
        let mut made: FxHashMap<Unit, Inst> = FxHashMap::default();
        for inst in self.func.block_insts(block).collect::<Vec<_>>() {
            while let Some((at, unit, of)) = self.source(inst, &made, counts) {
                if !self.fused(inst, at, of) {
                    made.remove(&unit);
                    continue;
                }
                self.func.remove_inst(of);
                made.remove(&unit);
                if self.func.block_of(inst).is_none() {
                    break;
                }
            }
            let written: Vec<Unit> = self.func.dsts(inst).iter().flat_map(|dst| self.units(*dst)).collect();
            let reads = |of: &Inst| {
                let mut sources = self.func.srcs(*of).iter().flat_map(|src| self.units(*src));
                sources.any(|unit| written.contains(&unit))
            };
            made.retain(|unit, of| !written.contains(unit) && !reads(of));
            let is_there = self.func.block_of(inst).is_some();
            let is_pure = is_there && self.func.inst(inst).guard.is_none() && self.kind(inst).is_some();
            if let ([unit], true) = (&written[..], is_pure)
                && counts.get(unit) == Some(&(1, 1))
            {
                made.insert(*unit, inst);
            }
        }
    }

    /// A source that an earlier instruction makes for this one alone: its place, the word, the instruction.
    fn source(&self, inst: Inst, made: &FxHashMap<Unit, Inst>, counts: &Counts) -> Option<(usize, Unit, Inst)> {
        let places = self.func.srcs(inst).iter().enumerate();
        let own = |(at, src): (usize, &Operand)| {
            let mut units = self.units(*src);
            let unit = units.next().filter(|_| units.next().is_none())?;
            (counts.get(&unit) == Some(&(1, 1))).then_some(())?;
            Some((at, unit, *made.get(&unit)?))
        };
        places.into_iter().find_map(own)
    }

    fn kind(&self, inst: Inst) -> Option<Kind> {
        let (func, mnemonic) = (&self.func, self.func.mnemonic(inst)?);
        let is_wired = |operand: &Operand| matches!(operand, Operand::Wired { file: RegFile::P, .. });
        let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
        match &mnemonic[..] {
            "LOP3.LUT" => (is_wired(&dsts[0])
                && srcs[..SOURCES].iter().all(|src| src.modifiers().is_none())
                && is_wired(&srcs[4]))
            .then_some(Kind::Table),
            "IADD3" => (dsts[1..].iter().chain(&srcs[SOURCES..]).all(is_wired)).then_some(Kind::Sum),
            "SHF.L.U32" => func.imm_bits(srcs[1]).is_some_and(|by| by < 32).then_some(Kind::Shift),
            _ => None,
        }
    }

    /// Makes an instruction part of one that reads its result in this place.
    fn fused(&mut self, inst: Inst, at: usize, of: Inst) -> bool {
        match (self.kind(inst), self.kind(of)) {
            (Some(Kind::Table), Some(Kind::Table)) if at < SOURCES => self.fused_table(inst, at, of),
            (Some(Kind::Sum), Some(Kind::Sum)) if at < SOURCES => self.fused_sum(inst, at, of),
            (Some(Kind::Sum), Some(Kind::Shift)) if at < SOURCES => self.fused_shift(inst, at, of),
            (None, Some(Kind::Table)) => self.fused_mask(inst, at, of),
            _ => false,
        }
    }

    /// Whether the machine takes these sources; then the instruction gets them.
    fn with(&mut self, inst: Inst, sources: &[Operand]) -> bool {
        let (dsts, Some(mnemonic)) = (self.func.dsts(inst).to_vec(), self.func.mnemonic(inst)) else {
            return false;
        };
        let mut srcs = self.func.srcs(inst).to_vec();
        srcs[..sources.len()].copy_from_slice(sources);
        if !self.has(&mnemonic, &dsts, &srcs) {
            return false;
        }
        self.func.srcs_mut(inst).copy_from_slice(&srcs);
        true
    }

    /// The bits of a source that is the same in all threads whatever happens: all of them, or none.
    fn constant(&self, operand: Operand) -> Option<bool> {
        match operand {
            Operand::Wired { file: RegFile::R, .. } => Some(false),
            other => match self.func.imm_bits(other)? & 0xffff_ffff {
                0 => Some(false),
                0xffff_ffff => Some(true),
                _ => None,
            },
        }
    }

    fn fused_table(&mut self, inst: Inst, at: usize, of: Inst) -> bool {
        let own = self.func.srcs(inst).to_vec();
        let inner = self.func.srcs(of).to_vec();
        let (Some(table), Some(inner_table)) = (self.func.imm_bits(own[3]), self.func.imm_bits(inner[3])) else {
            return false;
        };
        let mut variables: Vec<Operand> = Vec::new();
        let outer = (0..SOURCES).filter(|place| *place != at).map(|place| own[place]);
        for operand in outer.chain(inner[..SOURCES].iter().copied()) {
            if self.constant(operand).is_none() && !variables.contains(&operand) {
                variables.push(operand);
            }
        }
        if variables.len() > SOURCES {
            return false;
        }
        // A number, or a word of a bank, is the second source.
        let is_register = |operand: &Operand| operand.reg().is_some();
        variables.sort_by_key(|operand| !is_register(operand));
        let mut slots = [Operand::wired(RegFile::R, 1); SOURCES];
        match variables[..] {
            [first] => slots[if is_register(&first) { 0 } else { 1 }] = first,
            [first, second] => (slots[0], slots[1]) = (first, second),
            [first, second, third] => slots = [first, third, second],
            _ => return false,
        }
        let truth = |values: &[bool; SOURCES], operand: Operand| {
            let slot = slots.iter().position(|slot| *slot == operand);
            self.constant(operand).unwrap_or_else(|| slot.is_some_and(|slot| values[slot]))
        };
        let entry = |table: u64, values: [bool; SOURCES]| {
            let row = values.iter().fold(0, |row, value| row << 1 | u32::from(*value));
            table >> row & 1 == 1
        };
        let mut made = 0;
        for row in 0..8u32 {
            let values = [4, 2, 1].map(|bit| row & bit != 0);
            let of_inner = entry(inner_table, [0, 1, 2].map(|place| truth(&values, inner[place])));
            let of_own = [0, 1, 2].map(|place| if place == at { of_inner } else { truth(&values, own[place]) });
            made |= u64::from(entry(table, of_own)) << row;
        }
        let made = self.func.imm(made);
        self.with(inst, &[slots[0], slots[1], slots[2], made])
    }

    fn fused_sum(&mut self, inst: Inst, at: usize, of: Inst) -> bool {
        let own = self.func.srcs(inst)[..SOURCES].to_vec();
        let is_negated = own[at].modifiers().has(Modifiers::NEGATE);
        let (mut number, mut terms) = (0u32, Vec::new());
        let mut add = |emit: &Emit, operand: Operand, is_negated: bool| match (operand, emit.func.imm_bits(operand)) {
            (_, Some(bits)) if is_negated => number = number.wrapping_sub(bits as u32),
            (_, Some(bits)) => number = number.wrapping_add(bits as u32),
            (Operand::Wired { .. }, None) => {}
            (operand, None) => {
                let negates = operand.modifiers().has(Modifiers::NEGATE) != is_negated;
                terms.push(marked(operand, if negates { Modifiers::NEGATE } else { Modifiers::NONE }));
            }
        };
        (0..SOURCES).filter(|place| *place != at).for_each(|place| add(self, own[place], false));
        let inner = self.func.srcs(of)[..SOURCES].to_vec();
        inner.into_iter().for_each(|operand| add(self, operand, is_negated));
        if number != 0 {
            terms.push(self.func.imm(number.into()));
        }
        if terms.len() > SOURCES {
            return false;
        }
        terms.sort_by_key(|operand| operand.reg().is_none());
        let zero = Operand::wired(RegFile::R, 1);
        let slots = match terms[..] {
            [] => [zero; SOURCES],
            [first] => [first, zero, zero],
            [first, second] => [first, second, zero],
            [first, second, third, ..] => [first, third, second],
        };
        self.with(inst, &slots)
    }

    /// A shift before a sum of two: `LEA`.
    fn fused_shift(&mut self, inst: Inst, at: usize, of: Inst) -> bool {
        let own = self.func.srcs(inst)[..SOURCES].to_vec();
        let rest: Vec<Operand> = (0..SOURCES).filter(|place| *place != at).map(|place| own[place]).collect();
        let is_zero = |operand: &Operand| self.constant(*operand) == Some(false);
        let other = match rest[..] {
            [other, zero] if is_zero(&zero) => other,
            [zero, other] if is_zero(&zero) => other,
            _ => return false,
        };
        let shift = self.func.srcs(of).to_vec();
        let is_plain = [own[at], other, shift[0]].iter().all(|operand| operand.modifiers().is_none());
        if !is_plain || shift[0].reg().is_none() || self.constant(shift[2]) != Some(false) {
            return false;
        }
        let dst = self.func.dsts(inst)[0];
        let none = never();
        let truth = Operand::wired(RegFile::P, 1);
        let forms: [(&[Operand], &[Operand]); 2] =
            [(&[dst, truth], &[shift[0], other, shift[1], none]), (&[dst, truth], &[shift[0], other, shift[1]])];
        let Some((dsts, srcs)) = forms.into_iter().find(|(dsts, srcs)| self.has("LEA", dsts, srcs)) else {
            return false;
        };
        self.replace(inst, "LEA", dsts, srcs);
        true
    }

    /// A mask before a store of fewer bits.
    fn fused_mask(&mut self, inst: Inst, at: usize, of: Inst) -> bool {
        let Some(mnemonic) = self.func.mnemonic(inst) else { return false };
        let is_store = ["STG.E.U16", "ST.E.U16", "STS.U16", "STL.U16"].iter().any(|name| mnemonic.starts_with(name));
        let is_value = at + 1 == self.func.srcs(inst).len();
        let mask = self.func.srcs(of).to_vec();
        let is_mask = self.func.imm_bits(mask[1]) == Some(0xffff) && self.func.imm_bits(mask[3]) == Some(0xc0);
        if !(is_store && is_value && is_mask) || mask[0].reg().is_none() {
            return false;
        }
        self.func.srcs_mut(inst)[at] = mask[0];
        true
    }
}
