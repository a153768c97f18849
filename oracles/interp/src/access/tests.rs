//! Tests of local memory.

use super::*;

const SIZE: usize = 64;
const LANE: usize = 3;

/// A lane's memory where every third byte is undefined, and every sixth only in part.
fn memory() -> LocalMemory {
    let mut memory = LocalMemory::default();
    memory.reserve(SIZE);
    for at in 0..SIZE {
        memory.bytes.store(LANE * memory.stride + at, 1, at as u64 * 37, at % 3 == 1);
        if at % 6 == 1 {
            memory.set_bits(LANE, at, 0x0F);
        }
    }
    memory
}

/// What can be seen of a byte: its value, whether it is undefined, and which of its bits are.
fn seen(memory: &LocalMemory, at: usize) -> (u64, bool, u8) {
    let (value, undefined) = memory.bytes.load(LANE * memory.stride + at, 1);
    (value, undefined, if undefined { memory.bits(LANE, at) } else { 0 })
}

#[test]
fn copies_take_every_byte_as_it_is() {
    let places = (0..12).flat_map(|from| (30..44).map(move |to| (from, to)));
    for ((from, to), len) in places.flat_map(|place| (0..18).map(move |len| (place, len))) {
        let before = memory();
        let mut after = before.clone();
        after.copy(1 << LANE, from, to, len);
        for at in 0..SIZE {
            let source = if (to..to + len).contains(&at) { at - to + from } else { at };
            assert_eq!(seen(&after, at), seen(&before, source), "byte {at} of {len} bytes from {from} to {to}");
        }
    }
}

#[test]
fn bytes_that_can_be_moved_at_once_are_aligned_at_both_ends() {
    assert_eq!([piece(0, 8, 16), piece(0, 4, 16), piece(2, 8, 16), piece(1, 8, 16)], [8, 4, 2, 1]);
    assert_eq!([piece(16, 8, 7), piece(16, 8, 3), piece(16, 8, 1)], [4, 2, 1]);
}

#[test]
fn memory_that_grows_keeps_every_byte() {
    let (before, mut after) = (memory(), memory());
    after.reserve(before.stride + 1);
    assert!(after.stride > before.stride);
    (0..SIZE).for_each(|at| assert_eq!(seen(&after, at), seen(&before, at), "byte {at}"));
    (SIZE..before.stride + 64).for_each(|at| assert!(seen(&after, at).1, "byte {at}"));
}
