//! Addresses of 32 bits: words of longer ones, sums that wrap, and accesses to one word by several of them.
//!
//! Shared and local memory needs no longer ones. A phase that compares addresses is wrong where it takes such a sum for
//! one that does not wrap, or two of which nothing is known for the same.

use oriole_ir::ops::{Opcode, Space, SrcType, Type};
use oriole_ir::{Operand, Reg, RegInfo};

use super::builder::Builder;
use super::meeting::access;
use super::memory::{REGION, Region};

/// The bits that addresses of shared and local memory have.
const SHORT: Operand = Operand::imm(0xFF_FFFF);

impl Builder<'_, '_> {
    /// Accesses to one word by addresses of 32 bits: one, and another that points a few bytes before it, and that the
    /// offset brings back. Either is a register of its own, or a word of a sum of 64 bits.
    pub(super) fn meeting_by_words(&mut self, region: Region) {
        let base = match region.base {
            Operand::Reg(reg) if self.info(reg).words == 2 => reg,
            Operand::Reg(_) => return,
            symbol => self.hidden(Self::typed(Opcode::Mov, Type::B64).src(symbol), RegInfo::words(2)),
        };
        let (word, back) = (RegInfo::words(1), self.entropy.choose(&[4u32, 8, 16]));
        let less = |ty, from: Reg, by: Operand| Self::typed(Opcode::IAdd, ty).src(from).src(by);
        let ways = if self.entropy.percent(50) {
            // Of a word of another register nothing is known, so the bits are cut: that is a register.
            let low = Self::typed(Opcode::And, Type::B32).src(Operand::Word(base, 0)).src(SHORT);
            let low = self.hidden(low, word);
            [low, self.hidden(less(Type::U32, low, Operand::imm(back.wrapping_neg())), word)]
        } else {
            let by = self.func.imm(u64::from(back).wrapping_neg());
            let before = self.hidden(less(Type::U64, base, by), RegInfo::words(2));
            [self.low_word(base), self.low_word(before)]
        };
        let offset = 4 * self.entropy.below((REGION / 4) as usize) as u32;
        for _ in 0..self.entropy.between(3, 5) {
            let way = self.entropy.below(2);
            let there = (region.space, ways[way].into(), u64::from(offset + way as u32 * back));
            if self.entropy.percent(50) {
                self.look(there);
            } else {
                let value = self.value(Type::B32);
                self.push(&access(Opcode::St, Type::B32, there).src(value));
            }
        }
    }

    /// Accesses to a word of shared memory by addresses of 32 bits: its own, and one so far away that it has wrapped,
    /// or that the offset has to wrap, to come to the word again.
    pub(super) fn wrapped(&mut self) {
        let is_shared = |region: &Region| region.space == Space::Shared && region.writable;
        let Some(region) = self.regions.iter().copied().find(is_shared) else { return };
        let base = self.base_of(region);
        let low = Self::typed(Opcode::And, Type::B32).src(Operand::Word(base, 0)).src(SHORT);
        let low = self.hidden(low, RegInfo::words(1));
        let far: u32 = self.entropy.choose(&[0x40, 0x1000, 0x1_0000, 0x100_0000, 0x4000_0000, 0x7FFF_FF00]);
        let below = self.entropy.percent(70);
        let moved = Self::typed(Opcode::IAdd, Type::U32).src(low);
        let moved = moved.src(Operand::imm(if below { far.wrapping_neg() } else { far }));
        let moved = self.hidden(moved, RegInfo::words(1));
        let back = if below { u64::from(far) } else { u64::from(far).wrapping_neg() };
        let offset = u64::from(4 * self.entropy.below(REGION as usize / 4) as u32);
        for _ in 0..self.entropy.between(2, 4) {
            let (base, by) = if self.entropy.percent(50) { (low, 0) } else { (moved, back) };
            let there = (region.space, base.into(), offset.wrapping_add(by));
            if self.entropy.percent(50) {
                self.look(there);
            } else {
                let value = self.value(Type::B32);
                self.push(&access(Opcode::St, Type::B32, there).src(value));
            }
        }
    }

    /// The low word of an address.
    pub(super) fn low_word(&mut self, wide: Reg) -> Reg {
        self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(wide, 0)), RegInfo::words(1))
    }

    /// An address of shared memory, of which 16 bits are counted to where they may wrap, and back.
    pub(super) fn counted_in_halves(&mut self, address: Reg) -> Reg {
        let (word, by) = (RegInfo::words(1), self.entropy.choose(&[0x100, 0x8000, 0xFF00, 0xFFFC]));
        let half = |from: Reg, by: u32| Self::typed(Opcode::IAdd, Type::U16).src(from).src(Operand::imm(by));
        let there = self.hidden(half(address, by), word);
        let back = self.hidden(half(there, 0x1_0000 - by), word);
        self.hidden(Self::typed(Opcode::Cvt, Type::U32).field(SrcType::U16).src(back), word)
    }
}
