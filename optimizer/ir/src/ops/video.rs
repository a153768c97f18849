//! The selectors of video instructions, which travel in one immediate operand.
//!
//! PTX writes them on the operands (`vadd.u32.u32.u32 d.h0, a.b1, b, c`); the opcode table keeps them in the last
//! source. [`VideoSelectors`] belongs to the scalar instructions (`vadd` to `vset`), [`SimdSelectors`] to those that
//! work on two halfwords or four bytes (`vadd2`, `vadd4`, ...).

/// The part of a word that a scalar video operand reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum VideoPart {
    /// The whole word; nothing is written.
    #[default]
    Word,
    /// `.b0`, the lowest byte.
    B0,
    /// `.b1`
    B1,
    /// `.b2`
    B2,
    /// `.b3`
    B3,
    /// `.h0`, the low half.
    H0,
    /// `.h1`
    H1,
}

impl VideoPart {
    /// Every part, in encoding order.
    pub const ALL: [VideoPart; 7] = {
        use VideoPart::*;
        [Word, B0, B1, B2, B3, H0, H1]
    };

    /// Its PTX selector without the dot; empty for the whole word.
    pub fn name(self) -> &'static str {
        ["", "b0", "b1", "b2", "b3", "h0", "h1"][self as usize]
    }

    /// The part with this PTX selector.
    pub fn from_name(name: &str) -> Option<VideoPart> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    /// Its lowest bit and its width.
    pub fn bits(self) -> (u32, u32) {
        match self {
            VideoPart::Word => (0, 32),
            VideoPart::B0 => (0, 8),
            VideoPart::B1 => (8, 8),
            VideoPart::B2 => (16, 8),
            VideoPart::B3 => (24, 8),
            VideoPart::H0 => (0, 16),
            VideoPart::H1 => (16, 16),
        }
    }

    /// The part with this number; numbers that stand for none are the whole word.
    fn unpack(number: u32) -> VideoPart {
        Self::ALL.get(number as usize & 7).copied().unwrap_or_default()
    }
}

/// What a scalar video instruction selects of its operands.
///
/// Packed, from bit 0: three bits each for destination, first and second source, then a bit each for the negation of
/// the three sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VideoSelectors {
    /// The destination's part; the rest of the result comes from the third source. The whole word where there is no
    /// third source or a secondary operation uses it.
    pub dst: VideoPart,
    /// The first source's part.
    pub a: VideoPart,
    /// The second source's part.
    pub b: VideoPart,
    /// `vmad` negates the first, second or third source.
    pub negate: [bool; 3],
}

impl VideoSelectors {
    /// The immediate operand.
    pub fn pack(self) -> u32 {
        let parts = self.dst as u32 | (self.a as u32) << 3 | (self.b as u32) << 6;
        (0..3).fold(parts, |bits, i| bits | u32::from(self.negate[i]) << (9 + i))
    }

    /// The selectors of an immediate operand.
    pub fn unpack(bits: u32) -> VideoSelectors {
        VideoSelectors {
            dst: VideoPart::unpack(bits & 7),
            a: VideoPart::unpack(bits >> 3 & 7),
            b: VideoPart::unpack(bits >> 6 & 7),
            negate: [9, 10, 11].map(|bit| bits >> bit & 1 == 1),
        }
    }
}

/// What a SIMD video instruction selects of its operands.
///
/// Packed, from bit 0: three bits for each lane of the first source, lane 0 lowest, then likewise the second source
/// from bit 12, then the write mask from bit 24.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SimdSelectors {
    /// Where each lane of the first operand comes from: halfwords 0 and 1 (bytes 0 to 3) are those of source a,
    /// halfwords 2 and 3 (bytes 4 to 7) those of source b. Lane 0 is the lowest; `.h10` is `[0, 1]`.
    pub a: [u8; 4],
    /// Where each lane of the second operand comes from.
    pub b: [u8; 4],
    /// A bit for each lane that is written, or added under `.add`.
    pub mask: u8,
}

impl SimdSelectors {
    /// What stands where nothing is written for two halfwords: `.h10`, `.h32`, both lanes.
    pub const HALVES: SimdSelectors = SimdSelectors { a: [0, 1, 0, 0], b: [2, 3, 0, 0], mask: 3 };
    /// What stands where nothing is written for four bytes: `.b3210`, `.b7654`, all lanes.
    pub const BYTES: SimdSelectors = SimdSelectors { a: [0, 1, 2, 3], b: [4, 5, 6, 7], mask: 15 };

    /// The immediate operand.
    pub fn pack(self) -> u32 {
        let lanes = |select: [u8; 4]| (0..4).fold(0, |bits, i| bits | u32::from(select[i] & 7) << (3 * i));
        lanes(self.a) | lanes(self.b) << 12 | u32::from(self.mask & 15) << 24
    }

    /// The selectors of an immediate operand.
    pub fn unpack(bits: u32) -> SimdSelectors {
        let lanes = |from: u32| [0, 3, 6, 9].map(|lane| (bits >> (from + lane) & 7) as u8);
        SimdSelectors { a: lanes(0), b: lanes(12), mask: (bits >> 24 & 15) as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_selectors_survive_packing() {
        for dst in VideoPart::ALL {
            for b in VideoPart::ALL {
                let selectors = VideoSelectors { dst, a: VideoPart::B2, b, negate: [true, false, true] };
                assert_eq!(VideoSelectors::unpack(selectors.pack()), selectors);
                assert_eq!(VideoPart::from_name(dst.name()), Some(dst));
            }
        }
        assert_eq!(VideoSelectors::default().pack(), 0);
    }

    #[test]
    fn simd_selectors_survive_packing() {
        let mixed = SimdSelectors { a: [7, 0, 3, 5], b: [1, 6, 2, 4], mask: 0b1010 };
        for selectors in [SimdSelectors::HALVES, SimdSelectors::BYTES, mixed] {
            assert_eq!(SimdSelectors::unpack(selectors.pack()), selectors);
        }
    }
}
