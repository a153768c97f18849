//! A factor of a warpgroup's product in shared memory, and the words of it that lanes multiply.

use std::ops::Range;

use super::COLUMNS;
use super::descriptor::Descriptor;
use super::layout::{inner, row_of_left};
use crate::lanes::{LANES, Word};

/// Bytes that lie together in memory whatever the layout.
pub const PIECE: u64 = 16;

/// A word of all lanes, and a bit a lane for those that are undefined.
pub type Known = (Word, u32);

/// How a factor is read.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Of an element.
    pub bits: usize,
    /// Whether the signs of all elements are changed.
    pub negated: bool,
    /// Whether the lines run within 16 bytes, not the inner extent.
    pub transposed: bool,
}

impl Side {
    /// A word of the factor, its elements negated where that is asked for.
    #[inline]
    pub fn signed(self, (word, undefined): Known) -> Known {
        let signs = match self {
            Side { negated: false, .. } => 0,
            Side { bits: 8, .. } => 0x8080_8080,
            Side { bits: 16, .. } => 0x8000_8000,
            _ => 0x8000_0000,
        };
        (word.map(|bits| bits ^ signs), undefined)
    }
}

/// Visits the pieces of a factor: the address, the line and the byte of its inner extent at which a piece begins.
pub fn pieces<E>(
    descriptor: &Descriptor,
    lines: Range<u64>,
    bytes: u64,
    side: Side,
    mut visit: impl FnMut(u64, u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    if side.transposed {
        return (0..bytes / 2).try_for_each(|inner| {
            lines.clone().step_by(8).try_for_each(|line| visit(descriptor.line_major(line, inner), line, 2 * inner))
        });
    }
    lines.into_iter().try_for_each(|line| {
        (0..bytes).step_by(16).try_for_each(|byte| visit(descriptor.inner_major(line, byte), line, byte))
    })
}

/// A factor by lines of bytes, and which bytes are undefined.
pub struct Lines {
    /// Bytes of a line.
    length: usize,
    bytes: Vec<(u8, bool)>,
    side: Side,
}

impl Lines {
    /// Reads so many bytes of the inner extent of some lines, piece by piece.
    pub fn read<E>(
        descriptor: &Descriptor,
        lines: Range<u64>,
        bytes: u64,
        side: Side,
        mut load: impl FnMut(u64) -> Result<[(u8, bool); PIECE as usize], E>,
    ) -> Result<Lines, E> {
        let (first, length) = (lines.start, bytes as usize);
        let mut all = vec![(0, false); length * (lines.end - first) as usize];
        pieces(descriptor, lines, bytes, side, |address, line, byte| {
            let (line, start) = ((line - first) as usize, byte as usize);
            for (i, byte) in load(address)?.into_iter().enumerate() {
                // The bytes of a piece are one line's, or two each of eight lines.
                let to =
                    if side.transposed { (line + i / 2) * length + start + i % 2 } else { line * length + start + i };
                all[to] = byte;
            }
            Ok(())
        })?;
        Ok(Lines { length, bytes: all, side })
    }

    /// The words of the first factor: 16 lines from the first one on.
    pub fn left(&self, words: usize) -> Vec<Known> {
        (0..words).map(|register| self.word(|lane| row_of_left(lane, register % 2), register / 2)).collect()
    }

    /// The words of the second factor for the eight columns of a tile.
    pub fn right(&self, tile: usize, words: usize) -> Vec<Known> {
        (0..words).map(|register| self.word(|lane| COLUMNS * tile + row_of_left(lane, 0), register)).collect()
    }

    /// A word of each lane, of the line that a function says, where the lanes' register begins.
    fn word(&self, line: impl Fn(usize) -> usize, register: usize) -> Known {
        let each = 32 / self.side.bits;
        let mut undefined = 0;
        let mut word = [0; LANES];
        for (lane, value) in word.iter_mut().enumerate() {
            let byte = inner(lane, register, 0, each) * self.side.bits / 8;
            let four = &self.bytes[line(lane) * self.length + byte..][..4];
            *value = four.iter().rev().fold(0, |word, (byte, _)| word << 8 | u32::from(*byte));
            undefined |= u32::from(four.iter().any(|(_, undefined)| *undefined)) << lane;
        }
        self.side.signed((word, undefined))
    }
}
