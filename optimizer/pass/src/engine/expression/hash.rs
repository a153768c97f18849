//! The hash of expressions: FNV-1a with 32 bits, byte by byte (`spec/copy-propagation-and-cse.txt`, "Hash
//! Infrastructure"; Fowler, Noll, Vo).

/// What the hash starts from.
const OFFSET_BASIS: u32 = 0x811c_9dc5;

/// What each step multiplies by.
const PRIME: u32 = 0x0100_0193;

/// The hash of some words, each from its lowest byte on.
pub fn fnv1a(words: &[u32]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(OFFSET_BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}

/// Another hash of some words, independent of the first: that of the code cache (same page; after Jenkins).
pub fn code_hash(words: &[u32]) -> u32 {
    words.iter().fold(0, |hash: u32, word| {
        let mixed = word.wrapping_add(hash).wrapping_mul(1025);
        mixed ^ mixed >> 6
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the reference implementation for the texts "" and "foobar!!", read as words.
    #[test]
    fn hashes_are_those_of_the_definition() {
        assert_eq!(fnv1a(&[]), 0x811c_9dc5);
        let one_byte = |hash: u32, byte: u32| (hash ^ byte).wrapping_mul(PRIME);
        let by_hand = b"foobar!!".iter().fold(OFFSET_BASIS, |hash, byte| one_byte(hash, u32::from(*byte)));
        let words = [u32::from_le_bytes(*b"foob"), u32::from_le_bytes(*b"ar!!")];
        assert_eq!(fnv1a(&words), by_hand);
        assert_eq!(fnv1a(&[u32::from_le_bytes(*b"abcd")]), 0xce3479bd);
    }

    /// 1025 is 0x401, and 0x401 ^ 0x401 >> 6 is 0x411; then (0x411 + 2) * 1025 is 0x105013.
    #[test]
    fn the_hash_of_the_code_cache_is_the_formula() {
        assert_eq!(code_hash(&[]), 0);
        assert_eq!(code_hash(&[1]), 0x411);
        assert_eq!(code_hash(&[1, 2]), 0x0010_5013 ^ 0x0010_5013 >> 6);
    }
}
