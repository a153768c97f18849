//! Mutators of the launch: fewer threads, smaller buffers, simpler content.

use super::choice::Choice;
use super::insts::weight;
use crate::report::Evidence;
use oriole_launch::{Arg, ArgValue, Buffer, Launch, REPLICA_GRAIN, Scalar};

/// Content is zeroed in pieces of this many bytes.
const PIECE: usize = 8;

fn with(evidence: &mut Evidence, edit: impl FnOnce(&mut Launch)) {
    if let Some(launch) = &mut evidence.launch {
        edit(launch);
    }
}

/// Grid and block of one in each dimension.
pub fn single(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for size in launch.grid.iter_mut().chain(&mut launch.block) {
            if *size > 1 && choice.take() {
                *size = 1;
            }
        }
    });
}

/// Half as many threads or blocks in a dimension.
pub fn half(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for size in launch.grid.iter_mut().chain(&mut launch.block) {
            if *size > 1 && choice.take() {
                *size = size.div_ceil(2);
            }
        }
    });
}

/// Fewer threads or blocks in a dimension: by a quarter, an eighth and so on, down to one. Whatever number is needed is
/// found in one sweep.
pub fn less(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for size in launch.grid.iter_mut().chain(&mut launch.block).filter(|size| **size > 1) {
            let largest = (*size / 4).max(1);
            for step in (0..=largest.ilog2()).rev().map(|bits| 1 << bits) {
                if *size > step && choice.take() {
                    *size -= step;
                }
            }
        }
    });
}

/// No clusters, dynamic shared memory, step budget, moments of copies, expected content or names of arguments.
pub fn frame(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        if launch.cluster.is_some() && choice.take() {
            launch.cluster = None;
        }
        if launch.dynamic_shared > 0 && choice.take() {
            launch.dynamic_shared = 0;
        }
        if launch.steps.is_some() && choice.take() {
            launch.steps = None;
        }
        if launch.copies.is_some() && choice.take() {
            launch.copies = None;
        }
        for arg in &mut launch.args {
            if arg.name.is_some() && choice.take() {
                arg.name = None;
            }
            if let ArgValue::Buffer(buffer) = &mut arg.value
                && (buffer.expect.is_some() || buffer.element.is_some())
                && choice.take()
            {
                (buffer.expect, buffer.element) = (None, None);
            }
        }
        for image in &mut launch.images {
            if image.buffer.expect.is_some() && choice.take() {
                image.buffer.expect = None;
            }
        }
    });
}

/// Half as much dynamic shared memory, and buffers half as long.
pub fn shorter(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        if launch.dynamic_shared > 0 && choice.take() {
            launch.dynamic_shared /= 2;
        }
        for Arg { value, .. } in &mut launch.args {
            if let ArgValue::Buffer(buffer) = value
                && !buffer.bytes.is_empty()
                && choice.take()
            {
                halve(buffer);
                buffer.expect = None;
            }
        }
    });
}

/// Leaves the first half of a buffer, or of each of its replicas, which keep whole grains.
fn halve(buffer: &mut Buffer) {
    let (whole, half) = match buffer.replicas {
        0 => (buffer.bytes.len(), buffer.bytes.len() / 2),
        _ => {
            let (whole, grain) = (buffer.replica_bytes() as usize, REPLICA_GRAIN as usize);
            (whole, (whole / 2).next_multiple_of(grain).min(whole))
        }
    };
    let parts = buffer.bytes.chunks_exact(whole.max(1));
    buffer.bytes = parts.flat_map(|part| &part[..half]).copied().collect();
}

/// Buffers of a few bytes.
pub fn tiny(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for Arg { value, .. } in &mut launch.args {
            for length in [0, 4, 8, 16] {
                if let ArgValue::Buffer(buffer) = value
                    && buffer.replicas == 0
                    && buffer.bytes.len() > length
                    && choice.take()
                {
                    buffer.bytes.truncate(length);
                    buffer.expect = None;
                }
            }
        }
    });
}

/// The contents of arguments that are bytes, and of images.
fn contents(launch: &mut Launch) -> impl Iterator<Item = &mut Vec<u8>> {
    let arguments = launch.args.iter_mut().filter_map(|arg| match &mut arg.value {
        ArgValue::Buffer(buffer) => Some(&mut buffer.bytes),
        ArgValue::Bytes(bytes) => Some(bytes),
        ArgValue::Structure(structure) => Some(&mut structure.bytes),
        _ => None,
    });
    arguments.chain(launch.images.iter_mut().map(|image| &mut image.buffer.bytes))
}

/// Buffers and structures of zeros.
pub fn blank(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for bytes in contents(launch) {
            if bytes.iter().any(|byte| *byte != 0) && choice.take() {
                bytes.fill(0);
            }
        }
    });
}

/// Pieces of buffers and structures that are zero.
pub fn blank_pieces(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for piece in contents(launch).flat_map(|bytes| bytes.chunks_mut(PIECE)) {
            if piece.iter().any(|byte| *byte != 0) && choice.take() {
                piece.fill(0);
            }
        }
    });
}

/// Single bytes that are zero.
pub fn blank_bytes(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    with(evidence, |launch| {
        for byte in contents(launch).flatten() {
            if *byte != 0 && choice.take() {
                *byte = 0;
            }
        }
    });
}

fn scalars(evidence: &mut Evidence, choice: &mut Choice<'_>, simpler: fn(u64) -> u64) {
    with(evidence, |launch| {
        for Arg { value, .. } in &mut launch.args {
            if let ArgValue::Scalar(scalar) = value {
                let new = simpler(scalar.bits());
                if weight(new) < weight(scalar.bits()) && choice.take() {
                    *scalar = Scalar::from_bits(scalar.ty(), new);
                }
            }
        }
    });
}

/// Scalar arguments that are zero.
pub fn scalars_zero(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    scalars(evidence, choice, |_| 0);
}

/// Scalar arguments that are one.
pub fn scalars_one(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    scalars(evidence, choice, |_| 1);
}

/// Scalar arguments of half as many bits.
pub fn scalars_half(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    scalars(evidence, choice, |bits| if bits == 0 { 0 } else { bits >> bits.ilog2().div_ceil(2) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_replicas_keep_whole_grains() {
        let halved = |bytes: u8, replicas| {
            let mut buffer = Buffer { bytes: (0..bytes).collect(), replicas, ..Buffer::default() };
            halve(&mut buffer);
            buffer.bytes
        };
        assert_eq!(halved(7, 0), [0, 1, 2]);
        assert_eq!(halved(96, 2), (0..32).chain(48..80).collect::<Vec<u8>>());
        assert_eq!(halved(32, 2), (0..32).collect::<Vec<u8>>(), "there is less than two grains of each");
    }
}
