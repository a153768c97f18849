//! What is known of the bits of one value.

/// Bits that are known. Those above the value's width are known to be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    /// Known to be zero.
    pub zeros: u64,
    /// Known to be one.
    pub ones: u64,
}

impl Bits {
    /// Nothing.
    pub const UNKNOWN: Bits = Bits { zeros: 0, ones: 0 };

    /// Every bit of a number.
    pub fn constant(bits: u64) -> Bits {
        Bits { zeros: !bits, ones: bits }
    }

    /// Nothing but that the value has at most so many bits.
    pub fn below(bits: u32) -> Bits {
        Bits { zeros: !low(bits), ones: 0 }
    }

    /// What is known of the low bits, with zeros above.
    pub fn cut(self, bits: u32) -> Bits {
        Bits { zeros: self.zeros | !low(bits), ones: self.ones & low(bits) }
    }

    /// What is known of a value that is one of two.
    pub fn join(self, other: Bits) -> Bits {
        Bits { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// The same without the zeros directly above the highest bit that was known in `old`.
    pub(super) fn without_zeros_above(self, old: Bits) -> Bits {
        let lost = (old.zeros | old.ones) & !(self.zeros | self.ones);
        let from = 64 - lost.leading_zeros();
        let above = self.zeros.checked_shr(from).unwrap_or(0);
        let run = low(above.trailing_ones()).checked_shl(from).unwrap_or(0);
        Bits { zeros: self.zeros & !run, ones: self.ones }
    }

    /// Whether a number has all bits as they are known.
    pub fn allows(self, value: u64) -> bool {
        value & self.zeros == 0 && value & self.ones == self.ones
    }

    /// The number, where every bit is known.
    pub fn value(self) -> Option<u64> {
        (self.zeros == !self.ones).then_some(self.ones)
    }

    /// How many of the lowest bits are zero.
    pub fn trailing_zeros(self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// How many bits the largest value has.
    pub fn width(self) -> u32 {
        64 - self.zeros.leading_ones()
    }

    /// One 32-bit word of the value, lowest first; of words above the second nothing is known.
    pub fn word(self, word: u8) -> Bits {
        match word {
            0 | 1 => Bits { zeros: self.zeros >> (32 * word), ones: self.ones >> (32 * word) }.cut(32),
            _ => Bits::below(32),
        }
    }
}

/// The lowest bits.
pub(super) fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
