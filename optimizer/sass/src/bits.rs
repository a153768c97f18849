//! Ranges of bits of a machine word.

/// Neighbouring bits of a word: the lowest, and how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// The lowest bit.
    pub low: u8,
    /// How many bits: at most 64.
    pub len: u8,
}

impl Bits {
    /// No bits.
    pub const NONE: Bits = Bits { low: 0, len: 0 };

    /// So many bits from a bit on.
    pub const fn new(low: u8, len: u8) -> Bits {
        assert!(len <= 64 && low as u32 + len as u32 <= 128, "a word has 128 bits, and a value 64");
        Bits { low, len }
    }

    /// The bits as a mask over the word.
    #[inline]
    pub const fn mask(self) -> u128 {
        ((1u128 << self.len) - 1) << self.low
    }

    /// The value that is in a word.
    #[inline]
    pub const fn get(self, word: u128) -> u64 {
        (word >> self.low) as u64 & self.largest()
    }

    /// The word with a value in place, of which only what fits is taken.
    #[inline]
    pub const fn put(self, word: u128, value: u64) -> u128 {
        word & !self.mask() | ((value & self.largest()) as u128) << self.low
    }

    /// The largest value.
    #[inline]
    pub const fn largest(self) -> u64 {
        ((1u128 << self.len) - 1) as u64
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_they_were_put() {
        for bits in [Bits::new(0, 12), Bits::new(60, 8), Bits::new(64, 64), Bits::new(127, 1), Bits::new(34, 48)] {
            for value in [0, 1, bits.largest() / 3, bits.largest()] {
                let word = bits.put(u128::MAX, value);
                assert_eq!((bits.get(word), word | bits.mask()), (value, u128::MAX));
                assert_eq!(bits.put(word, 0), !bits.mask());
            }
        }
        assert_eq!((Bits::NONE.get(u128::MAX), Bits::NONE.mask()), (0, 0));
    }
}
