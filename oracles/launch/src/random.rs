//! Random bytes for launches: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014; the constants of Vigna's `splitmix64.c`).
//!
//! Invariant: the bytes that a seed stands for never change between releases, because `random = { seed = 7, … }` in a
//! launch file is data. That rules out generators whose crate may change them; this one is ten lines, and its first
//! outputs are asserted in a test.

use super::{Scalar, ScalarType};

/// The generator.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero: the high half of a widening multiplication, whose bias of at
    /// most `bound` / 2^64 is of no concern here.
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "no number is below zero");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1, without 1, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer from `low` to `high`, both inclusive, `low` not above `high` and less than 2^64 apart.
    pub fn between(&mut self, low: i128, high: i128) -> i128 {
        let width = (high - low) as u128 + 1;
        low + match u64::try_from(width) {
            Ok(width) => i128::from(self.below(width)),
            Err(_) => i128::from(self.next_u64()),
        }
    }

    /// Fills `bytes` with the generator's outputs in order, each little-endian; the last one is cut off.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The content of `random = { seed, bytes }`: the generator's outputs.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    SplitMix64::new(seed).fill(&mut bytes);
    bytes
}

/// The content of `random = { seed, bytes, min, max }`: elements drawn evenly from `min` to `max`, both inclusive.
/// Bytes after the last whole element are zero.
pub fn elements(seed: u64, length: usize, min: Scalar, max: Scalar) -> Vec<u8> {
    let mut generator = SplitMix64::new(seed);
    let mut bytes = vec![0; length];
    let ty = min.ty();
    for element in bytes.chunks_exact_mut(ty.bytes()) {
        let drawn = draw(&mut generator, ty, min, max);
        element.copy_from_slice(&drawn.to_le_bytes()[..ty.bytes()]);
    }
    bytes
}

fn draw(generator: &mut SplitMix64, ty: ScalarType, min: Scalar, max: Scalar) -> u64 {
    if !ty.is_float() {
        return generator.between(ty.integer(min.bits()), ty.integer(max.bits())) as u64;
    }
    let (low, high) = (ty.to_f64(min.bits()), ty.to_f64(max.bits()));
    let part = generator.unit();
    // Two products instead of a difference, which could overflow between the extremes of f64.
    ty.nearest_bits((low * (1.0 - part) + high * part).clamp(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_seed_are_fixed_for_ever() {
        // The first outputs of Vigna's splitmix64.c for seed 1234567.
        let mut generator = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([(); 3].map(|()| generator.next_u64()), expected);
        assert_eq!(bytes(1_234_567, 11)[8..], expected[1].to_le_bytes()[..3]);
    }

    #[test]
    fn elements_stay_between_their_bounds() {
        let scalar = |ty, text| Scalar::parse(ty, text).unwrap();
        let (low, high) = (scalar(ScalarType::S16, "-3"), scalar(ScalarType::S16, "4"));
        let drawn = elements(5, 2000, low, high);
        let mut seen = [false; 8];
        for element in drawn.chunks(2) {
            let value = i16::from_le_bytes([element[0], element[1]]);
            seen[usize::try_from(value + 3).unwrap()] = true;
        }
        assert_eq!(seen, [true; 8]);

        let (low, high) = (scalar(ScalarType::F64, "-1.7e308"), scalar(ScalarType::F64, "1.7e308"));
        for element in elements(6, 800, low, high).chunks(8) {
            assert!(f64::from_bits(Scalar::from_bytes(ScalarType::F64, element).bits()).is_finite());
        }
        let (low, high) = (scalar(ScalarType::U64, "0"), scalar(ScalarType::U64, "0xffffffffffffffff"));
        assert_eq!(elements(9, 64, low, high), bytes(9, 64));
    }
}
