//! How many cycles pass while warps issue their words, each warp as if it were alone.
//!
//! The scheduling control of a word says when the next one may issue: so many cycles later, and not before the
//! barriers are released that it waits for. When those are released nobody knows without the machine: here an
//! access takes as long as measurements of Ampere and Hopper say of a hit in the nearest cache that holds data of
//! another block (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking",
//! 2024). The sum compares code with code for the same work; it is no forecast of time.

use oriole_sass::class::{Memory, Pipe, Space};
use oriole_sass::{Instruction, Table};

/// The barriers of a warp.
const BARRIERS: usize = 6;
/// Cycles until a word's sources are read, where it reads them later.
const READ: u16 = 12;

/// The scheduling control of a word, and how long it takes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timed {
    stall: u8,
    waits: u8,
    /// The barriers that are released when its results are there, and when its sources are read.
    sets: [Option<u8>; 2],
    /// Cycles until its results are there.
    takes: u16,
}

/// The time of a warp.
#[derive(Clone, Copy, Default, Debug)]
pub struct Clock {
    now: u64,
    released: [u64; BARRIERS],
}

impl Timed {
    /// Of every word; a word that is no instruction takes a cycle.
    pub fn of(table: &Table, words: &[u128]) -> Vec<Timed> {
        words.iter().map(|word| table.decode(*word).map_or(Timed::default(), |inst| Timed::of_one(&inst))).collect()
    }

    fn of_one(inst: &Instruction<'_>) -> Timed {
        let schedule = inst.schedule();
        let class = inst.encoding.class;
        let takes = match (class.pipe, class.space, class.memory) {
            (_, Space::Global | Space::Generic, Memory::Update) => 500,
            (_, Space::Global | Space::Generic, _) => 260,
            (Pipe::Texture, ..) | (_, Space::Image, _) => 400,
            (_, Space::Local, _) => 40,
            (_, Space::Shared, Memory::Update) => 60,
            (_, Space::Shared, _) => 30,
            (_, Space::Constant, _) => 40,
            (Pipe::Double, ..) => 40,
            (Pipe::Special | Pipe::Tensor, ..) => 20,
            _ => 25,
        };
        Timed {
            stall: schedule.stall,
            waits: schedule.wait_mask,
            sets: [schedule.write_barrier, schedule.read_barrier],
            takes,
        }
    }
}

impl Clock {
    /// A word issues; the cycles that pass from the place before to the place behind it.
    pub fn issue(&mut self, word: &Timed) -> u64 {
        let before = self.now;
        let awaited = (0..BARRIERS).filter(|barrier| word.waits >> barrier & 1 == 1);
        let issued = awaited.map(|barrier| self.released[barrier]).fold(before, u64::max);
        for (barrier, takes) in word.sets.iter().zip([word.takes, READ]) {
            if let Some(released) = barrier.and_then(|barrier| self.released.get_mut(usize::from(barrier))) {
                *released = (*released).max(issued + u64::from(takes));
            }
        }
        self.now = issued + u64::from(word.stall.max(1));
        self.now - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_waits_for_its_barriers_alone() {
        let load = Timed { stall: 2, waits: 0, sets: [Some(3), Some(1)], takes: 260 };
        let (other, reader) =
            (Timed { stall: 4, ..Timed::default() }, Timed { stall: 1, waits: 8, ..Timed::default() });
        let mut clock = Clock::default();
        assert_eq!([&load, &other, &reader, &reader].map(|word| clock.issue(word)), [2, 4, 255, 1]);
        let mut clock = Clock::default();
        let overwriter = Timed { stall: 1, waits: 2, ..Timed::default() };
        assert_eq!([&load, &overwriter].map(|word| clock.issue(word)), [2, 11]);
    }
}
