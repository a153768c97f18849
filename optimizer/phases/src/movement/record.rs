//! The record of a movement: what is left to move, and how far it is from fetches to their first reads.
//!
//! `spec/instruction-movement.txt` ("Storage Layout") has a record of flags that the engine reads behind its first
//! movement: whether any candidate survives, whether kill markers do, whether fetches do. A *survivor* is an
//! instruction or a marker of the class that could still move. The flags decide on the second movement; the numbers are
//! counters of the phase.

use super::kill;
use super::kinds::{Class, Direction};
use super::texture::{Fetches, is_fetch};
use oriole_ir::{Function, Inst};
use oriole_pass::engine::worker::Movement;
use oriole_pass::pass::PhaseContext;

/// The record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Record {
    /// The fetches of the function.
    pub fetches: u64,
    /// Those that could still move: v34 of the page.
    pub fetch_survivors: u64,
    /// The kill markers of the function.
    pub markers: u64,
    /// Markers that could still move: v33 of the page.
    pub kill_survivors: u64,
    /// Instructions from each fetch to its first read, or to the end of its block, in all.
    pub distance: u64,
}

impl Record {
    /// The record of a function behind a movement of markers.
    pub fn of_markers(func: &Function, direction: Direction) -> Record {
        let kill_survivors = kill::survivors(func, direction);
        Record { markers: func.kills().len() as u64, kill_survivors, ..Record::default() }
    }

    /// The record of a function behind a movement of fetches.
    pub fn of_fetches(func: &Function, cx: &mut PhaseContext<'_>) -> Record {
        let mut record = Record::default();
        let fetches = Fetches::new(func, cx);
        for block in fetches.blocks() {
            for inst in func.block_insts(block).filter(|inst| is_fetch(func, *inst)) {
                record.fetches += 1;
                record.fetch_survivors += u64::from(fetches.place(func, inst, block).is_some());
                record.distance += distance(func, inst);
            }
        }
        record
    }

    /// v31 of the page: whether anything survives.
    pub fn any(self) -> bool {
        self.survivors_of(Class::Kill) || self.survivors_of(Class::Texture)
    }

    /// Whether instructions of a class survive.
    pub fn survivors_of(self, class: Class) -> bool {
        match class {
            Class::Kill => self.kill_survivors > 0,
            Class::Texture => self.fetch_survivors > 0,
        }
    }
}

/// Instructions between a fetch and its first read in its block, or the end of that.
fn distance(func: &Function, fetch: Inst) -> u64 {
    let reads = |inst: &Inst| func.uses(*inst).any(|reg| func.defs(fetch).any(|own| own == reg));
    let behind = std::iter::successors(func.next_inst(fetch), |inst| func.next_inst(*inst));
    behind.take_while(|inst| !reads(inst)).count() as u64
}
