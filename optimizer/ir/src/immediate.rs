//! Immediates: how a function holds the bits of its constant operands.
//!
//! An operand has room for 55 bits, which stand for the number that they are when their sign is extended to 64. That is
//! enough for every 32-bit value, for offsets in both directions, and for most numbers of 64 bits. Others, such as
//! doubles and masks, are in a table of the function, each once, and the operand holds its place there.
//!
//! What an [`Imm`] means is therefore known to its function alone. There is one way to make it, [`Function::imm`], and
//! one to read it, [`Function::bits`]. A value that belongs to no function yet, or goes from one to another, is a
//! [`FreeOperand`]. So it is with words of the machine's language ([`super::name`]), except that they stay in their
//! function.
//!
//! **Invariant:** equal bits are equal immediates, within a function: what fits an operand is not in the table,
//! and the table has no bits twice. Beside its place in the table an operand holds a part of a hash of the bits. So an
//! immediate that strays into another function is seen there, by the verifier and by whoever reads it.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::function::Function;
use super::operand::Operand;

/// The bits of an immediate operand of a function. Within the function equal bits are equal immediates; between
/// functions only [`Function::bits`] can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Imm([u8; Imm::BYTES]);

/// What an immediate's bytes say.
#[derive(Clone, Copy, Debug)]
enum Content {
    Bits(u64),
    Place { place: u32, check: u32 },
}

impl Imm {
    /// What an operand has room for beside its kind.
    const BYTES: usize = 7;

    /// The immediate of bits that fit an operand.
    #[inline]
    const fn fitting(bits: u64) -> Option<Imm> {
        // The lowest bit of the bytes tells bits from places.
        let narrow = ((bits << 9) as i64 >> 9) as u64 == bits;
        if narrow { Some(Imm::from_word(bits << 1)) } else { None }
    }

    /// The immediate of bits that are at a place of the function's table.
    fn at(place: u32, bits: u64) -> Imm {
        Imm::from_word(u64::from(check(bits)) << 33 | u64::from(place) << 1 | 1)
    }

    /// Whether the bits are in the function's table.
    fn is_placed(self) -> bool {
        self.0[0] & 1 == 1
    }

    const fn from_word(word: u64) -> Imm {
        let [a, b, c, d, e, f, g, _] = word.to_le_bytes();
        Imm([a, b, c, d, e, f, g])
    }

    #[inline]
    fn content(self) -> Content {
        let [a, b, c, d, e, f, g] = self.0;
        let above = u64::from_le_bytes([0, a, b, c, d, e, f, g]);
        match above >> 8 & 1 {
            0 => Content::Bits((above as i64 >> 9) as u64),
            _ => Content::Place { place: (above >> 9) as u32, check: (above >> 41) as u32 },
        }
    }
}

impl std::fmt::Debug for Imm {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.content() {
            Content::Bits(bits) => write!(out, "{bits:#x}"),
            Content::Place { place, .. } => write!(out, "constant{place}"),
        }
    }
}

/// What an immediate holds of the hash of its bits: as much as it has room for.
fn check(bits: u64) -> u32 {
    (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 41) as u32
}

/// The bits of a function's immediates that do not fit an operand, each once.
#[derive(Debug, Default)]
pub(super) struct Constants(IndexSet<u64, FxBuildHasher>);

impl Constants {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The bits that an immediate stands for; `None` for one of another function.
    #[inline]
    fn get(&self, imm: Imm) -> Option<u64> {
        match imm.content() {
            Content::Bits(bits) => Some(bits),
            Content::Place { place, check } => self.look_up(place, check),
        }
    }

    #[cold]
    fn look_up(&self, place: u32, check: u32) -> Option<u64> {
        self.0.get_index(place as usize).copied().filter(|bits| self::check(*bits) == check)
    }

    #[cold]
    fn enter(&mut self, bits: u64) -> Imm {
        let (place, _) = self.0.insert_full(bits);
        Imm::at(u32::try_from(place).expect("a function has fewer than 2^32 constants"), bits)
    }

    /// An operand of the function with this table, for one with the table `from`.
    pub(super) fn adopt(&mut self, from: &Constants, operand: Operand) -> Operand {
        match operand {
            Operand::Imm(imm) if imm.is_placed() => {
                from.get(imm).map_or(operand, |bits| Operand::Imm(self.enter(bits)))
            }
            other => other,
        }
    }
}

/// Tables are alike if each place has the same bits in both.
impl PartialEq for Constants {
    fn eq(&self, other: &Constants) -> bool {
        self.0.iter().eq(&other.0)
    }
}

impl Clone for Constants {
    fn clone(&self) -> Constants {
        Constants(self.0.clone())
    }

    fn clone_from(&mut self, other: &Constants) {
        self.0.clone_from(&other.0);
    }
}

/// An operand apart from its function: an immediate stands by its bits, everything else as it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FreeOperand {
    /// An immediate's raw bits.
    Imm(u64),
    /// Another operand, or an immediate that is in the table of the function that it goes to.
    Operand(Operand),
}

impl FreeOperand {
    /// The immediate's bits.
    #[inline]
    pub fn imm(self) -> Option<u64> {
        match self {
            FreeOperand::Imm(bits) => Some(bits),
            FreeOperand::Operand(_) => None,
        }
    }

    /// What is no immediate.
    #[inline]
    pub fn operand(self) -> Option<Operand> {
        match self {
            FreeOperand::Imm(_) => None,
            FreeOperand::Operand(operand) => Some(operand),
        }
    }
}

impl<T: Into<Operand>> From<T> for FreeOperand {
    fn from(operand: T) -> FreeOperand {
        match operand.into() {
            Operand::Imm(imm) if let Content::Bits(bits) = imm.content() => FreeOperand::Imm(bits),
            operand => FreeOperand::Operand(operand),
        }
    }
}

impl From<u64> for FreeOperand {
    fn from(bits: u64) -> FreeOperand {
        FreeOperand::Imm(bits)
    }
}

impl Operand {
    /// An immediate of 32 bits, which every function holds alike.
    #[inline]
    pub const fn imm(bits: u32) -> Operand {
        Operand::Imm(Imm::from_word((bits as u64) << 1))
    }

    /// Whether the operand is an immediate.
    #[inline]
    pub fn is_imm(self) -> bool {
        matches!(self, Operand::Imm(_))
    }

    /// Whether the operand is an immediate whose bits are in the function's table.
    pub(super) fn is_placed(self) -> bool {
        matches!(self, Operand::Imm(imm) if imm.is_placed())
    }
}

/// Immediates.
impl Function {
    /// An immediate of these bits.
    #[inline]
    pub fn imm(&mut self, bits: u64) -> Operand {
        Operand::Imm(Imm::fitting(bits).unwrap_or_else(|| self.constants.enter(bits)))
    }

    /// The bits of an immediate of this function.
    ///
    /// # Panics
    /// If it is one of another function, which the verifier refuses.
    #[inline]
    pub fn bits(&self, imm: Imm) -> u64 {
        self.constants.get(imm).expect("the immediate is one of this function")
    }

    /// The same; `None` for an immediate of another function.
    pub(crate) fn known_bits(&self, imm: Imm) -> Option<u64> {
        self.constants.get(imm)
    }

    /// The bits of an operand of this function that is an immediate.
    #[inline]
    pub fn imm_bits(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Imm(imm) => Some(self.bits(imm)),
            _ => None,
        }
    }

    /// An immediate cut to its low bits, as many as a type has.
    ///
    /// # Panics
    /// If no type has so many bits.
    pub fn cut_imm(&self, imm: Imm, width: u32) -> Operand {
        match width {
            0..=32 => Operand::imm((self.bits(imm) & !(u64::MAX << width)) as u32),
            _ => {
                assert!(width >= 64, "no type has {width} bits");
                Operand::Imm(imm)
            }
        }
    }

    /// A 32-bit word of an immediate, lowest first; words behind its last are zero.
    pub fn imm_word(&self, imm: Imm, word: u8) -> Operand {
        Operand::imm(self.bits(imm).checked_shr(32 * u32::from(word)).unwrap_or(0) as u32)
    }

    /// An operand of this function, apart from it. An immediate of another function stays one, for the verifier to
    /// refuse.
    #[inline]
    pub fn free(&self, operand: Operand) -> FreeOperand {
        match operand {
            Operand::Imm(imm) => self.known_bits(imm).map_or(FreeOperand::Operand(operand), FreeOperand::Imm),
            other => FreeOperand::Operand(other),
        }
    }

    /// The operand of this function that a value becomes.
    #[inline]
    pub fn bind(&mut self, value: impl Into<FreeOperand>) -> Operand {
        match value.into() {
            FreeOperand::Imm(bits) => self.imm(bits),
            FreeOperand::Operand(operand) => operand,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FunctionKind;

    fn function() -> Function {
        Function::new("f", FunctionKind::Device)
    }

    fn imm(func: &mut Function, bits: u64) -> Imm {
        let Operand::Imm(imm) = func.imm(bits) else { panic!("an immediate is one") };
        imm
    }

    /// Bits around the borders between what fits and what does not.
    fn bits() -> impl Strategy<Value = u64> {
        let border = (0u32..64, -2i64..3).prop_map(|(bit, near)| (1u64 << bit).wrapping_add_signed(near));
        prop_oneof![any::<u64>(), border.clone(), border.prop_map(|bits| !bits), 0u64..4]
    }

    proptest! {
        /// Whatever is asked for, it reads back, and the same bits are the same immediate.
        #[test]
        fn bits_read_back_and_stand_once(list in prop::collection::vec(bits(), 0..60)) {
            let mut func = function();
            let first: Vec<Imm> = list.iter().map(|bits| imm(&mut func, *bits)).collect();
            let again: Vec<Imm> = list.iter().map(|bits| imm(&mut func, *bits)).collect();
            prop_assert_eq!(&first, &again);
            for (a, of) in list.iter().zip(&first) {
                prop_assert_eq!(func.bits(*of), *a);
                let different = list.iter().zip(&first).filter(|(b, other)| (*b == a) != (*other == of)).count();
                prop_assert_eq!(different, 0);
            }
            let wide = list.iter().filter(|bits| Imm::fitting(**bits).is_none());
            prop_assert_eq!(func.constants.len(), wide.collect::<std::collections::BTreeSet<_>>().len());
        }

        /// Words and cuts are those of the bits.
        #[test]
        fn words_and_cuts_are_those_of_the_bits(bits in bits()) {
            let mut func = function();
            let imm = imm(&mut func, bits);
            for word in 0..4 {
                let expected = (u128::from(bits) >> (32 * word)) as u32;
                prop_assert_eq!(func.imm_word(imm, word as u8), Operand::imm(expected));
            }
            for width in [1, 8, 16, 32, 64, 128] {
                let expected = if width < 64 { bits & ((1 << width) - 1) } else { bits };
                prop_assert_eq!(func.imm_bits(func.cut_imm(imm, width)), Some(expected));
            }
        }
    }

    #[test]
    fn numbers_with_their_sign_in_fifty_five_bits_fit() {
        for (bits, fits) in [
            (0, true),
            (u64::from(u32::MAX), true),
            ((1 << 54) - 1, true),
            (1 << 54, false),
            (u64::MAX, true),
            (!0 << 54, true),
            ((!0 << 54) - 1, false),
            (1f64.to_bits(), false),
        ] {
            assert_eq!(Imm::fitting(bits).is_some(), fits, "{bits:#x}");
        }
    }

    #[test]
    fn an_immediate_of_another_function_is_seen() {
        let (mut one, mut other) = (function(), function());
        let here = imm(&mut one, 1f64.to_bits());
        let has = |func: &Function, imm| func.known_bits(imm).is_some();
        assert!(has(&one, here) && !has(&other, here));
        // The same place, with other bits.
        let there = imm(&mut other, 2f64.to_bits());
        assert!(!has(&other, here) && has(&other, there));
        assert_eq!(other.free(Operand::Imm(here)), FreeOperand::Operand(Operand::Imm(here)));
        let small = imm(&mut one, 7);
        assert!(has(&other, small));
        let Operand::Imm(moved) = other.bind(one.free(Operand::Imm(here))) else { panic!("an immediate stays one") };
        assert_eq!(other.bits(moved), 1f64.to_bits());
    }
}
