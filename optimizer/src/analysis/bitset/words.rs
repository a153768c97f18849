//! The operations on slices of words. Operands of one operation have the same length.
//!
//! Loops over one word after the other are what the compiler turns into vector code by itself. A search that stops at
//! the first hit is not: the `_if_changed` forms look at [`LANES`] words at a time, without a branch among them.

/// Bits of one word.
pub const WORD: usize = u64::BITS as usize;

/// Words that a search takes at a time: a cache line, and two to four vector registers for each operand.
pub(super) const LANES: usize = 8;

/// Words for so many bits.
pub const fn words_for(bits: usize) -> usize {
    bits.div_ceil(WORD)
}

/// Whether a bit is set.
pub fn contains(set: &[u64], bit: usize) -> bool {
    set[bit / WORD] >> (bit % WORD) & 1 == 1
}

/// Sets a bit; whether it was clear.
pub fn insert(set: &mut [u64], bit: usize) -> bool {
    let word = &mut set[bit / WORD];
    let old = *word;
    *word |= 1 << (bit % WORD);
    *word != old
}

/// Clears a bit; whether it was set.
pub fn remove(set: &mut [u64], bit: usize) -> bool {
    let word = &mut set[bit / WORD];
    let old = *word;
    *word &= !(1 << (bit % WORD));
    *word != old
}

/// `dst |= src`.
pub fn union(dst: &mut [u64], src: &[u64]) {
    assert_eq!(dst.len(), src.len());
    for (d, s) in dst.iter_mut().zip(src) {
        *d |= s;
    }
}

/// `dst |= src`; whether that changed `dst` (`orIfChanged`).
pub fn union_if_changed(dst: &mut [u64], src: &[u64]) -> bool {
    let first = first_change([&*dst, src], |[d, s]| !d & s);
    if let Some(first) = first {
        union(&mut dst[first..], &src[first..]);
    }
    first.is_some()
}

/// `dst &= src`.
pub fn intersect(dst: &mut [u64], src: &[u64]) {
    assert_eq!(dst.len(), src.len());
    for (d, s) in dst.iter_mut().zip(src) {
        *d &= s;
    }
}

/// `dst &= src`; whether that changed `dst` (`andIfChanged`).
pub fn intersect_if_changed(dst: &mut [u64], src: &[u64]) -> bool {
    let first = first_change([&*dst, src], |[d, s]| d & !s);
    if let Some(first) = first {
        intersect(&mut dst[first..], &src[first..]);
    }
    first.is_some()
}

/// `dst ^= src`.
pub fn xor(dst: &mut [u64], src: &[u64]) {
    assert_eq!(dst.len(), src.len());
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// `dst = a & b` (`assignAND`).
pub fn assign_and(dst: &mut [u64], a: &[u64], b: &[u64]) {
    assert!(dst.len() == a.len() && dst.len() == b.len());
    for ((d, a), b) in dst.iter_mut().zip(a).zip(b) {
        *d = a & b;
    }
}

/// `dst |= gen | (live & !kill)` (`orWithAndNot`).
pub fn or_with_and_not(dst: &mut [u64], generated: &[u64], live: &[u64], kill: &[u64]) {
    assert!(dst.len() == generated.len() && dst.len() == live.len() && dst.len() == kill.len());
    for (((d, g), l), k) in dst.iter_mut().zip(generated).zip(live).zip(kill) {
        *d |= g | (l & !k);
    }
}

/// The same; whether that changed `dst` (`orWithAndNotIfChanged`): the transfer function of liveness in one pass.
pub fn or_with_and_not_if_changed(dst: &mut [u64], generated: &[u64], live: &[u64], kill: &[u64]) -> bool {
    let first = first_change([&*dst, generated, live, kill], |[d, g, l, k]| !d & (g | (l & !k)));
    if let Some(first) = first {
        or_with_and_not(&mut dst[first..], &generated[first..], &live[first..], &kill[first..]);
    }
    first.is_some()
}

/// The first word of the first stretch of [`LANES`] words in which `change` is not zero somewhere; the words behind the
/// last full stretch are one more.
fn first_change<const N: usize>(operands: [&[u64]; N], change: impl Fn([u64; N]) -> u64) -> Option<usize> {
    let length = operands[0].len();
    assert!(operands.iter().all(|operand| operand.len() == length));
    let split = operands.map(|operand| operand.as_chunks::<LANES>());
    for index in 0..length / LANES {
        let lanes = split.map(|(stretches, _)| &stretches[index]);
        // No branch on a single word, so that the loop becomes vector code.
        if (0..LANES).fold(0, |any, at| any | change(lanes.map(|words| words[at]))) != 0 {
            return Some(index * LANES);
        }
    }
    let rest = split.map(|(_, rest)| rest);
    let changes = (0..length % LANES).fold(0, |any, at| any | change(rest.map(|words| words[at]))) != 0;
    changes.then_some(length / LANES * LANES)
}

/// Writes the bits from `start` to before `end` to `out`, the first of them as bit 0, and zeroes behind them
/// (`extractBits`). They may begin and end inside of words; `out` has room for them.
pub fn extract(set: &[u64], start: usize, end: usize, out: &mut [u64]) {
    assert!(start <= end && end <= set.len() * WORD && end - start <= out.len() * WORD);
    let (first, shift) = (start / WORD, start % WORD);
    let word = |at: usize| set.get(at).copied().unwrap_or(0);
    for (index, out) in out.iter_mut().enumerate() {
        let left = (end - start).saturating_sub(index * WORD);
        let low = word(first + index) >> shift;
        // A shift by the width of a word has no meaning; the word above contributes nothing then.
        let high = word(first + index + 1).checked_shl((WORD - shift) as u32).unwrap_or(0);
        *out = (low | high) & low_bits(left);
    }
}

/// The word with its lowest bits set.
fn low_bits(count: usize) -> u64 {
    if count >= WORD { u64::MAX } else { (1 << count) - 1 }
}

/// How many bits are set.
pub fn count(set: &[u64]) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}

/// Whether every bit of `a` is set in `b`.
pub fn is_subset(a: &[u64], b: &[u64]) -> bool {
    first_change([a, b], |[a, b]| a & !b).is_none()
}

/// The bits that are set, lowest first.
pub fn iter(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| index * WORD + rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(bit)
        })
    })
}
