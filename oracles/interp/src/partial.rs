//! Bit-level tracking of undefined values, for words of which only some bits are undefined: a bit field that is written
//! into fresh memory leaves such.
//!
//! Everything here is off the fast path: operations come here when a word that they read is undefined. Bitwise
//! operations track each bit, shifts and selections move them, sums and products keep what is below the lowest
//! undefined bit, other arithmetic makes the whole result undefined: which of them an opcode does is a column of its
//! row.

use oriole_ir::ops::UndefTransfer;

use super::frame::Frame;
use super::program::Slot;
use oriole_semantics::lanes::{LANES, lanes};

/// The undefined bits of the first result of an operation, from its operands and their undefined bits.
///
/// Where bits are routed, the result grows or falls with each operand bit: a result bit that is the same for all
/// undefined bits clear and for all of them set does not depend on them.
pub fn spread<const N: usize>(
    transfer: UndefTransfer,
    values: [u64; N],
    unknown: [u64; N],
    g: &dyn Fn([u64; N]) -> u64,
) -> u64 {
    if unknown == [0; N] {
        return 0;
    }
    match transfer {
        UndefTransfer::Nothing => 0,
        UndefTransfer::Bitwise => unknown.iter().fold(0, |all, bits| all | bits),
        UndefTransfer::Routing(controls) if !controlled(controls, &unknown) => {
            let low = std::array::from_fn(|i| values[i] & !unknown[i]);
            let high = std::array::from_fn(|i| values[i] | unknown[i]);
            g(low) ^ g(high)
        }
        UndefTransfer::Carrying => carried(unknown.iter().fold(0, |all, bits| all | bits)),
        _ => u64::MAX,
    }
}

/// The undefined bits of a sum or a product: all from the lowest one of the operands on.
pub fn carried(unknown: u64) -> u64 {
    unknown | unknown.wrapping_neg()
}

/// Whether an operand that says where bits go is undefined.
fn controlled(controls: u8, unknown: &[u64]) -> bool {
    unknown.iter().enumerate().any(|(i, bits)| controls >> i & 1 == 1 && *bits != 0)
}

/// Writes the words of an operation on words, with their undefined bits.
#[cold]
#[inline(never)]
pub fn write_words<const N: usize>(
    frame: &mut Frame,
    dst: Slot,
    srcs: [Slot; N],
    mask: u32,
    transfer: UndefTransfer,
    g: &dyn Fn([u32; N]) -> u32,
) {
    let mut results = [(0, 0); LANES];
    for lane in lanes(mask) {
        let values = srcs.map(|slot| u64::from(frame.words[slot as usize][lane]));
        let unknown = srcs.map(|slot| u64::from(frame.bits(slot, lane)));
        let wide = |values: [u64; N]| u64::from(g(values.map(|value| value as u32)));
        results[lane] = (wide(values), spread(transfer, values, unknown, &wide));
    }
    lanes(mask).for_each(|lane| frame.put(dst, lane, results[lane].0 as u32, results[lane].1 as u32));
}

/// The same for two operands and a result of two words; the second operand is one word where `count` says so.
#[cold]
#[inline(never)]
pub fn write_pairs(
    frame: &mut Frame,
    dst: Slot,
    srcs: [Slot; 2],
    count: bool,
    mask: u32,
    transfer: UndefTransfer,
    g: &dyn Fn([u64; 2]) -> u64,
) {
    write_longs(frame, dst, mask, &|frame, lane| {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let read = |i: usize, word: &dyn Fn(Slot) -> u32| {
            let high = if i == 1 && count { 0 } else { word(srcs[i] + 1) };
            pair(word(srcs[i]), high)
        };
        let value = |slot: Slot| frame.words[slot as usize][lane];
        let bits = |slot: Slot| frame.bits(slot, lane);
        let (values, unknown) = ([read(0, &value), read(1, &value)], [read(0, &bits), read(1, &bits)]);
        (g(values), spread(transfer, values, unknown, g))
    });
}

/// Writes results of two words, lane after lane: values and their undefined bits.
#[cold]
#[inline(never)]
pub fn write_longs(frame: &mut Frame, dst: Slot, mask: u32, result: &dyn Fn(&Frame, usize) -> (u64, u64)) {
    let mut results = [(0, 0); LANES];
    lanes(mask).for_each(|lane| results[lane] = result(frame, lane));
    for lane in lanes(mask) {
        let (value, bits) = results[lane];
        frame.put(dst, lane, value as u32, bits as u32);
        frame.put(dst + 1, lane, (value >> 32) as u32, (bits >> 32) as u32);
    }
}
