//! Registers that have a place before allocation begins, by their numbers.
//!
//! The stack pointer, the address to return to, arguments and results of calls. The allocator asks for them wherever it
//! comes to a register, so they are in a table by FNV-1a over the four bytes of the number (L:476): eight buckets at
//! first, four times as many where more than half of them are full. Buckets that are taken lead to the next one.

use oriole_ir::Reg;

/// The value that a hash begins with.
pub const SEED: u32 = 0x811C_9DC5;
/// The factor between bytes.
pub const PRIME: u32 = 0x0100_0193;

/// FNV-1a over the bytes of a number, the lowest first.
pub fn hash(number: u32) -> u32 {
    number.to_le_bytes().iter().fold(SEED, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

/// Places by registers.
#[derive(Clone, Debug)]
pub struct Candidates {
    buckets: Vec<Option<(Reg, u16)>>,
    count: usize,
}

impl Candidates {
    /// Those of a list of registers with their first places; of a register that is there twice the last counts.
    pub fn of(fixed: &[(Reg, u16)]) -> Candidates {
        let mut candidates = Candidates { buckets: vec![None; 8], count: 0 };
        fixed.iter().for_each(|(reg, place)| candidates.insert(*reg, *place));
        candidates
    }

    /// The place of a register, if it has one.
    pub fn get(&self, reg: Reg) -> Option<u16> {
        self.buckets[self.bucket(reg)].map(|(_, place)| place)
    }

    fn insert(&mut self, reg: Reg, place: u16) {
        let at = self.bucket(reg);
        self.count += usize::from(self.buckets[at].is_none());
        self.buckets[at] = Some((reg, place));
        if 2 * self.count > self.buckets.len() {
            let larger = vec![None; 4 * self.buckets.len()];
            for (reg, place) in std::mem::replace(&mut self.buckets, larger).into_iter().flatten() {
                let at = self.bucket(reg);
                self.buckets[at] = Some((reg, place));
            }
        }
    }

    /// The bucket that a register is in, or would be. One is empty, since at most half of them are full.
    fn bucket(&self, reg: Reg) -> usize {
        let len = self.buckets.len();
        let mut at = hash(reg.as_u32()) as usize % len;
        while self.buckets[at].is_some_and(|(other, _)| other != reg) {
            at = (at + 1) % len;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_are_published() {
        // The published hash of "a" is one step; that of a number is four.
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(PRIME);
        assert_eq!(step(SEED, b'a'), 0xe40c_292c);
        assert_eq!(hash(u32::from_le_bytes([b'f', b'o', 0, 0])), step(step(step(step(SEED, b'f'), b'o'), 0), 0));
        assert_eq!(step(step(step(SEED, b'f'), b'o'), b'o'), 0xa9f3_7ed7, "the published hash of `foo`");
    }

    #[test]
    fn all_that_was_put_in_is_found_and_nothing_else() {
        let fixed: Vec<(Reg, u16)> = (0..100).map(|number| (Reg::from_u32(8 * number), number as u16)).collect();
        let candidates = Candidates::of(&fixed);
        assert_eq!(candidates.buckets.len(), 512, "it grew by four at 5, 17, 65");
        for number in 0..800 {
            let expected = fixed.iter().find(|(reg, _)| reg.as_u32() == number).map(|(_, place)| *place);
            assert_eq!(candidates.get(Reg::from_u32(number)), expected);
        }
        let twice = [(Reg::from_u32(3), 1), (Reg::from_u32(3), 2)];
        assert_eq!(Candidates::of(&twice).get(Reg::from_u32(3)), Some(2));
    }
}
