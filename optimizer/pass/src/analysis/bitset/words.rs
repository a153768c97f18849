//! The operations on slices of words. Operands of one operation have the same length.
//!
//! Loops over one word after the other are what the compiler turns into vector code by itself. One that may stop or
//! skip at each word is not: the `_if_changed` forms and searches take up to [`STRETCH`] words at a time, without a
//! branch among them.

/// Bits of one word.
pub const WORD: usize = u64::BITS as usize;

/// Words that are looked at together. With a fixed number of eight the compiler made branches of the words instead of
/// vector code, 38 ns in place of 24 for 64 words that do not change (2026-11-23).
pub(super) const STRETCH: usize = 64;

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
    update(dst, [src], |d, [s]| d | s)
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
    update(dst, [src], |d, [s]| d & s)
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
    update(dst, [generated, live, kill], |d, [g, l, k]| d | g | (l & !k))
}

/// `live_out |= after`, then `live_in |= gen | (live_out & !kill)`; whether that changed `live_in`: a block's meet with
/// its one or last successor, and its transfer, in one pass that writes both sets.
///
/// A call of its own: inside another function the compiler no longer knows that the sets are apart, and makes scalar
/// code of it.
#[inline(never)]
pub fn meet_and_transfer(
    live_in: &mut [u64],
    live_out: &mut [u64],
    after: &[u64],
    generated: &[u64],
    kill: &[u64],
) -> bool {
    let words = live_in.len();
    assert!([live_out.len(), after.len(), generated.len(), kill.len()] == [words; 4]);
    let outs = live_out.iter_mut().zip(after);
    let mut new = 0;
    for (((live_in, (live_out, after)), generated), kill) in live_in.iter_mut().zip(outs).zip(generated).zip(kill) {
        *live_out |= after;
        let entry = *live_in | generated | (*live_out & !kill);
        new |= entry ^ *live_in;
        *live_in = entry;
    }
    new != 0
}

/// Makes each word of `dst` what `new` says; whether that changed one. Stretches that do not change are not written.
fn update<const N: usize>(dst: &mut [u64], operands: [&[u64]; N], new: impl Fn(u64, [u64; N]) -> u64) -> bool {
    assert!(operands.iter().all(|operand| operand.len() == dst.len()));
    let mut changed = false;
    for start in (0..dst.len()).step_by(STRETCH) {
        let end = dst.len().min(start + STRETCH);
        let (dst, operands) = (&mut dst[start..end], operands.map(|operand| &operand[start..end]));
        let after = |dst: &[u64], at: usize| new(dst[at], operands.map(|operand| operand[at]));
        if (0..dst.len()).fold(0, |any, at| any | (dst[at] ^ after(dst, at))) != 0 {
            (0..dst.len()).for_each(|at| dst[at] = after(dst, at));
            changed = true;
        }
    }
    changed
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
    assert_eq!(a.len(), b.len());
    let mut stretches = a.chunks(STRETCH).zip(b.chunks(STRETCH));
    stretches.all(|(a, b)| a.iter().zip(b).fold(0, |any, (a, b)| any | (a & !b)) == 0)
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
