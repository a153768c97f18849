//! Instructions: a word with its encoding.

use oriole_ir::Schedule;

use super::bits::Bits;
use super::encoding::{Encoding, Table};
use super::row::{File, NO_BIT, Part, RESERVED, Show, What};
use super::text;

/// A word, read.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'t> {
    /// What the word is of.
    pub encoding: &'t Encoding,
    /// The word.
    pub word: u128,
}

/// Why a word is no instruction, or an instruction no word.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WordError {
    /// No encoding has the opcode.
    #[error("no instruction of sm_{sm} has the opcode {opcode:#05x}")]
    Opcode {
        /// The SM.
        sm: u16,
        /// Bits 0 to 11.
        opcode: u64,
    },
    /// Bits are set that mean nothing.
    #[error("{name} does not have the bits {bits}")]
    Bits {
        /// The mnemonic.
        name: &'static str,
        /// The bits that differ from what is fixed.
        bits: BitList,
    },
    /// A modifier has a code that stands for nothing.
    #[error("{name} has no modifier for the value {value} of the bits from {low} on")]
    Reserved {
        /// The mnemonic.
        name: &'static str,
        /// The modifier's lowest bit.
        low: u8,
        /// The code.
        value: u64,
    },
    /// Parts contradict each other.
    #[error("{name} does not have this combination of modifiers and operands")]
    Combination {
        /// The mnemonic.
        name: &'static str,
    },
    /// The scheduling is one that the machine does not have.
    #[error("{0:#x} is no scheduling control")]
    Schedule(u64),
}

/// Bits of a word, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitList(pub u128);

impl std::fmt::Display for BitList {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = (0..128).filter(|bit| self.0 >> bit & 1 == 1);
        bits.enumerate().try_for_each(|(i, bit)| write!(out, "{}{bit}", if i > 0 { ", " } else { "" }))
    }
}

/// The scheduling control's bits: stall, not yielding, barriers, wait mask.
const STALL: Bits = Bits::new(105, 4);
const NO_YIELD: Bits = Bits::new(109, 1);
const WRITE_BARRIER: Bits = Bits::new(110, 3);
const READ_BARRIER: Bits = Bits::new(113, 3);
const WAIT_MASK: Bits = Bits::new(116, 6);
/// The number that stands for no barrier.
const NO_BARRIER: u64 = 7;

/// The scheduling control of a word.
pub fn schedule(word: u128) -> Schedule {
    let barrier = |bits: Bits| Some(bits.get(word) as u8).filter(|barrier| u64::from(*barrier) != NO_BARRIER);
    Schedule {
        stall: STALL.get(word) as u8,
        yields: NO_YIELD.get(word) == 0,
        write_barrier: barrier(WRITE_BARRIER),
        read_barrier: barrier(READ_BARRIER),
        wait_mask: WAIT_MASK.get(word) as u8,
    }
}

/// The word with another scheduling control; `None` for one that the machine does not have.
pub fn with_schedule(word: u128, schedule: &Schedule) -> Option<u128> {
    let number = |barrier: Option<u8>| barrier.map_or(NO_BARRIER, u64::from);
    let fields = [
        (STALL, u64::from(schedule.stall)),
        (NO_YIELD, u64::from(!schedule.yields)),
        (WRITE_BARRIER, number(schedule.write_barrier)),
        (READ_BARRIER, number(schedule.read_barrier)),
        (WAIT_MASK, u64::from(schedule.wait_mask)),
    ];
    schedule.is_encodable().then(|| fields.iter().fold(word, |word, (bits, value)| bits.put(word, *value)))
}

impl Table {
    /// Reads a word.
    ///
    /// # Errors
    ///
    /// If no encoding has the opcode, bits are set that nobody owns, or a modifier has a code that stands for nothing.
    pub fn decode(&self, word: u128) -> Result<Instruction<'_>, WordError> {
        let Some(encoding) = self.find(word) else { return Err(self.refuse(word)) };
        if let Some((low, value)) = encoding.nameless(word) {
            return Err(WordError::Reserved { name: encoding.name, low, value });
        }
        match encoding.rule {
            Some(rule) if !rule(word) => Err(WordError::Combination { name: encoding.name }),
            _ => Ok(Instruction { encoding, word }),
        }
    }

    #[cold]
    fn refuse(&self, word: u128) -> WordError {
        let opcode = super::encoding::OPCODE.get(word);
        let wrong = |encoding: &&Encoding| ((word ^ encoding.value) & encoding.fixed).count_ones();
        match self.of_opcode(opcode as u16).iter().min_by_key(wrong) {
            Some(encoding) => {
                let bits = BitList((word ^ encoding.value) & encoding.fixed);
                WordError::Bits { name: encoding.name, bits }
            }
            None => WordError::Opcode { sm: self.sm, opcode },
        }
    }
}

impl Part {
    /// The value in a word.
    #[inline]
    pub fn value(&self, word: u128) -> u64 {
        let low = self.at.get(word);
        if self.backwards {
            return self.at.largest() - low;
        }
        if self.above.is_empty() { low } else { low | self.above.get(word) << self.at.len }
    }

    /// The word with a value in the part's bits; `None` if it does not fit.
    #[inline]
    pub fn put(&self, word: u128, value: u64) -> Option<u128> {
        let width = u32::from(self.at.len) + u32::from(self.above.len);
        let fits = width >= 64 || value >> width == 0;
        let value = if self.backwards { self.at.largest().wrapping_sub(value) } else { value };
        fits.then(|| self.above.put(self.at.put(word, value), value.checked_shr(self.at.len.into()).unwrap_or(0)))
    }

    /// Whether one of the part's bits is set that negate, invert and the like.
    #[inline]
    pub fn has(&self, bit: u8, word: u128) -> bool {
        bit != NO_BIT && word >> bit & 1 == 1
    }

    /// Whether it is printed.
    pub fn is_shown(&self, word: u128) -> bool {
        match self.show {
            Show::Always => true,
            Show::Never => false,
            Show::Where(bits, value) => bits.get(word) == value,
            Show::WhereNot(bits, value) => bits.get(word) != value,
            Show::WhereBoth(both) => both.iter().all(|(bits, value)| bits.get(word) == *value),
            Show::Unless(value) => self.value(word) | u64::from(self.has(self.invert, word)) << self.at.len != value,
        }
    }

    /// The name of the value that a modifier or a named operand has.
    pub fn name(&self, word: u128) -> Option<&'static str> {
        match self.what {
            What::Modifier(names) | What::Name(names) | What::Special(names) | What::Mark(names) => {
                names.get(self.value(word) as usize).copied().filter(|name| *name != RESERVED)
            }
            _ => None,
        }
    }
}

impl Instruction<'_> {
    /// The modifiers that are written, in their order.
    pub fn modifiers(&self) -> impl Iterator<Item = &'static str> + '_ {
        let modifiers = self.encoding.parts.iter().filter(|part| matches!(part.what, What::Modifier(_)));
        let shown = modifiers.filter(|part| part.is_shown(self.word));
        shown.filter_map(|part| part.name(self.word)).filter(|name| !name.is_empty())
    }

    /// Whether a modifier is written.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers().any(|name| name == modifier)
    }

    /// The scheduling control.
    pub fn schedule(&self) -> Schedule {
        schedule(self.word)
    }

    /// The register of a part, `None` where it is the one that is constant.
    pub fn register(&self, part: &Part) -> Option<(File, u8)> {
        let What::Register(file) = part.what else { return None };
        Some((file, part.value(self.word) as u8))
    }

    /// The word, made anew from the bits that the encoding's parts own and those that it fixes: the same, if these are
    /// all that the word says.
    #[inline]
    pub fn encode(&self) -> u128 {
        self.encoding.value | self.word & self.encoding.owned()
    }

    /// The distance of the target, in words of four bytes, as its bits have it.
    pub(super) fn target_value(&self) -> Option<u64> {
        let is_target = |part: &&Part| matches!(part.what, What::Target | What::TargetBehind);
        Some(self.encoding.parts.iter().find(is_target)?.value(self.word))
    }

    /// Where it goes if it is at an address: the target of a branch or call that is a distance.
    pub fn target(&self, address: u64) -> Option<u64> {
        let is_target = |part: &&Part| matches!(part.what, What::Target | What::TargetBehind);
        let part = self.encoding.parts.iter().find(is_target)?;
        Some(text::target(part, self.word, address))
    }

    /// The place in the code that it names if it is at an address: where it goes, or what `LEPC` puts into a
    /// register.
    pub fn place(&self, address: u64) -> Option<u64> {
        let part = self.encoding.parts.iter().find(|part| part.what == What::TargetByte);
        self.target(address).or_else(|| Some(text::target_byte(part?, self.word, address)))
    }
}
