//! Barriers in shared memory: PTX ISA 9.0, "mbarrier".
//!
//! PTX leaves open what the 64 bits of such an object hold. Here they hold what code of ptxas for `sm_90` and later
//! takes them for, so that machine code can be executed beside: from bit 1 on 2^20 minus the arrivals that each phase
//! waits for, from bit 43 on 2^20 minus those that this one still waits for (20 bits each), in bit 63 whether the
//! phase is an odd one. Code does not say where the rest is. Here the bytes under way are in 21 bits from bit 22 on,
//! signed, and the number of the phase modulo 8 has its higher bits in bits 0 and 21. A state, as arrivals yield it, is
//! the object as it was before.
//!
//! A question that only what is pending for the barrier keeps from being answered with yes has that done first
//! ([`super::asynchronous`]). What PTX calls undefined traps: counts out of range, arrivals beyond those that are
//! waited for, an object that nothing has made.

use std::fmt::{self, Display};

use super::access::{Fault, Located, Spaces, address_of, check_defined};
use super::asynchronous::{Pending, Site, Until, Work};
use super::frame::{Frame, lanes};
use super::outcome::Cause;
use super::program::{Address, Place};
use super::strong::Strong;

/// The widest count.
const MOST: u64 = (1 << COUNT_BITS) - 1;
const COUNT_BITS: u32 = 20;
const EXPECTED_AT: u32 = 1;
const BYTES_AT: u32 = 22;
const BYTES_BITS: u32 = COUNT_BITS + 1;
const PENDING_AT: u32 = 43;
/// The bits of a phase's number, the lowest one first.
const PHASE_AT: [u32; 3] = [63, 0, 21];
/// Bytes of an object.
const SIZE: u32 = 8;

/// The steps that an operation takes beside its own, for each lane.
const EXTRA_STEPS: u64 = 4;

/// What is done with a barrier. The operand is a count, a number of bytes, a state or a parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierOp {
    /// Makes one for so many arrivals.
    Init,
    /// Ends one.
    Inval,
    /// Expects so many bytes.
    Expect,
    /// So many bytes have come.
    Complete,
    /// Arrives.
    Arrive(Arrive),
    /// Arrives once the thread's copies are done; counted as one more to wait for, or as one of those.
    ArriveForCopies {
        /// Whether it is one of those that are waited for.
        is_counted: bool,
    },
    /// Whether the phase of a state is over.
    IsOver,
    /// Whether the phase of a parity is over.
    IsParityOver,
}

/// How a thread arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrive {
    /// Later phases wait for so many fewer.
    pub drops: bool,
    /// The operand is a number of bytes to expect; it arrives once.
    pub expects: bool,
    /// The phase must not end with it.
    pub goes_on: bool,
}

/// An operation on a barrier in memory.
#[derive(Clone, Debug)]
pub struct MbarrierOp {
    pub op: BarrierOp,
    pub address: Address,
    /// The operand; arrivals without one arrive once.
    pub operand: Place,
    /// The state before, or the answer.
    pub dst: Place,
    /// What it is to other threads. Making and ending a barrier orders nothing.
    pub strong: Option<Strong>,
}

/// What PTX leaves undefined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Misuse {
    NotShared,
    Elsewhere,
    NotMade,
    Count,
    Arrivals,
    EndsPhase,
    Bytes,
}

impl Display for Misuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::NotShared => out.write_str("barriers are in shared memory"),
            Misuse::Elsewhere => out.write_str(
                "the barrier of another CTA takes bytes, and arrivals that yield no state, and nothing else",
            ),
            Misuse::NotMade => out.write_str("no barrier was made there"),
            Misuse::Count => write!(out, "a barrier waits for 1 to {MOST} arrivals"),
            Misuse::Arrivals => out.write_str("the phase does not wait for so many arrivals"),
            Misuse::EndsPhase => out.write_str("an arrival that must not end the phase ends it"),
            Misuse::Bytes => write!(out, "a barrier counts at most {MOST} bytes under way"),
        }
    }
}

impl MbarrierOp {
    /// Whether it may be about the barrier of another CTA of the cluster.
    fn reaches_others(&self) -> bool {
        let comes = matches!(self.op, BarrierOp::Arrive(_) | BarrierOp::Expect | BarrierOp::Complete);
        comes && self.dst == Place::None
    }

    /// Whether this was a question that some lane of a mask was answered with no. Kernels ask again then, so that
    /// others had better continue first.
    pub fn is_denied(&self, frame: &Frame, mask: u32) -> bool {
        match self.dst {
            Place::Pred(slot) => frame.preds[slot as usize] & mask != mask,
            _ => false,
        }
    }
}

/// A barrier's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Barrier {
    expected: u64,
    pending: u64,
    bytes: i64,
    phase: u64,
}

impl Barrier {
    fn of(bits: u64) -> Barrier {
        let count = |at: u32| (bits >> at & MOST).wrapping_neg() & MOST;
        Barrier {
            expected: count(EXPECTED_AT),
            pending: count(PENDING_AT),
            bytes: (bits << (64 - BYTES_BITS - BYTES_AT)) as i64 >> (64 - BYTES_BITS),
            phase: (0..).zip(PHASE_AT).fold(0, |phase, (at, bit)| phase | (bits >> bit & 1) << at),
        }
    }

    fn bits(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        let count = |count: u64, at: u32| (count.wrapping_neg() & MOST) << at;
        let phase = (0..).zip(PHASE_AT).fold(0, |bits, (at, bit)| bits | (self.phase >> at & 1) << bit);
        count(self.expected, EXPECTED_AT) | count(self.pending, PENDING_AT) | bytes << BYTES_AT | phase
    }

    /// The barrier after an operation.
    fn after(mut self, op: BarrierOp, operand: u64) -> Result<Barrier, Misuse> {
        match op {
            BarrierOp::Expect => self.bytes += operand as i64,
            BarrierOp::Complete => self.bytes -= operand as i64,
            BarrierOp::Arrive(arrive) => self.arrive(arrive, operand)?,
            _ => return Ok(self),
        }
        if self.bytes.unsigned_abs() > MOST {
            return Err(Misuse::Bytes);
        }
        if self.pending == 0 && self.bytes == 0 {
            if matches!(op, BarrierOp::Arrive(Arrive { goes_on: true, .. })) {
                return Err(Misuse::EndsPhase);
            }
            (self.pending, self.phase) = (self.expected, (self.phase + 1) % 8);
        }
        Ok(self)
    }

    fn arrive(&mut self, arrive: Arrive, operand: u64) -> Result<(), Misuse> {
        let count = if arrive.expects { 1 } else { operand };
        if arrive.expects {
            self.bytes += operand as i64;
        }
        if count == 0 || count > self.pending {
            return Err(Misuse::Arrivals);
        }
        self.pending -= count;
        if arrive.drops {
            self.expected = self.expected.saturating_sub(count);
        }
        Ok(())
    }

    /// The answer to a question about a phase; `None` where the operation is no question.
    fn answer(self, op: BarrierOp, operand: u64) -> Option<bool> {
        match op {
            BarrierOp::IsOver => Some(self.phase != Barrier::of(operand).phase),
            BarrierOp::IsParityOver => Some(self.phase & 1 != operand & 1),
            _ => None,
        }
    }
}

/// What 64 bits of a barrier are after an operation, for those who execute machine code.
///
/// # Errors
///
/// If PTX leaves the operation undefined.
pub fn after_operation(bits: u64, op: BarrierOp, operand: u64) -> Result<u64, Cause> {
    Barrier::of(bits).after(op, operand).map(Barrier::bits).map_err(bad)
}

/// How many arrivals a state waits for.
pub fn pending(state: u64) -> u64 {
    Barrier::of(state).pending
}

impl Spaces<'_> {
    /// Executes an operation on barriers, lane after lane.
    pub fn mbarrier(&mut self, frame: &mut Frame, barrier: &MbarrierOp, mask: u32) -> Result<(), Fault> {
        check_defined(frame, &barrier.address, mask)?;
        for lane in lanes(mask) {
            self.extra_steps += EXTRA_STEPS;
            let address = address_of(frame, &barrier.address, lane);
            let found = self.locate(barrier.address.memory, address, SIZE.into(), lane);
            let at = match found.map_err(|cause| Fault::Trap(lane, cause))? {
                at @ Located::Shared(_) => at,
                at @ Located::Peer(..) if barrier.reaches_others() => at,
                Located::Peer(..) => return Err(Fault::Trap(lane, bad(Misuse::Elsewhere))),
                _ => return Err(Fault::Trap(lane, bad(Misuse::NotShared))),
            };
            let operand = match barrier.operand {
                Place::None => 1,
                place => operand_of(frame, place, lane)?,
            };
            let answer = matches!(barrier.op, BarrierOp::IsOver | BarrierOp::IsParityOver);
            if answer {
                self.settle_barrier(at, (barrier.op, operand), lane)?;
            }
            self.observe(at, SIZE.into(), lane, !answer, barrier.strong);
            self.note_access(barrier.strong, at, SIZE, lane);
            self.operate(frame, barrier, at, operand, lane)?;
        }
        Ok(())
    }

    /// Executes an operation for a lane on the barrier at an offset.
    fn operate(
        &mut self,
        frame: &mut Frame,
        barrier: &MbarrierOp,
        at: Located,
        operand: u64,
        lane: usize,
    ) -> Result<(), Fault> {
        let trap = |misuse| Fault::Trap(lane, bad(misuse));
        if let (BarrierOp::Inval, Located::Shared(at)) = (barrier.op, at) {
            self.shared.forget(at..at + SIZE as usize);
            return Ok(());
        }
        if barrier.op == BarrierOp::Init {
            let made = Barrier { pending: operand, expected: operand, bytes: 0, phase: 0 };
            let fits = (1..=MOST).contains(&operand);
            self.put_barrier(at, made, lane)?;
            return if fits { Ok(()) } else { Err(trap(Misuse::Count)) };
        }
        let before = self.made_barrier(at, lane)?;
        let bits = before.bits();
        if let Some(answer) = before.answer(barrier.op, operand) {
            let Place::Pred(slot) = barrier.dst else { return Ok(()) };
            frame.set_pred(slot, u32::from(answer) << lane, 0, 1 << lane);
            return Ok(());
        }
        if let BarrierOp::ArriveForCopies { is_counted } = barrier.op {
            let pending = before.pending + u64::from(!is_counted);
            if pending > MOST {
                return Err(trap(Misuse::Count));
            }
            self.put_barrier(at, Barrier { pending, ..before }, lane)?;
            if let Some(site) = self.site(at) {
                self.begin(lane, Until::Barrier(site), 0, Work::Arrive)?;
            }
            return Ok(());
        }
        let after = before.after(barrier.op, operand).map_err(trap)?;
        self.put_barrier(at, after, lane)?;
        if let Place::Pair(slot) = barrier.dst {
            frame.put(slot, lane, bits as u32, 0);
            frame.put(slot + 1, lane, (bits >> 32) as u32, 0);
        }
        Ok(())
    }

    /// What the bytes of a barrier say, whatever they are.
    fn barrier(&self, at: Located) -> Barrier {
        let (memory, at) = self.memory(at);
        Barrier::of(memory.load(at, SIZE as usize).0)
    }

    /// Does as much of what is pending for a barrier as makes the answer to a question yes; nothing where all of it
    /// would not.
    fn settle_barrier(&mut self, at: Located, (op, operand): (BarrierOp, u64), lane: usize) -> Result<(), Fault> {
        let Some(site) = self.site(at).filter(|_| !self.in_flight.is_empty()) else { return Ok(()) };
        let mut barrier = self.barrier(at);
        if barrier.answer(op, operand) != Some(false) {
            return Ok(());
        }
        let is_enough = |one: &Pending| {
            let (done, count) = match one.work {
                Work::Arrive => (BarrierOp::Arrive(Arrive::default()), 1),
                _ => (BarrierOp::Complete, one.bytes as u64),
            };
            // What is not allowed shows when it is done.
            let Ok(after) = barrier.after(done, count) else { return true };
            barrier = after;
            barrier.answer(op, operand) == Some(true)
        };
        let enough = self.pending_at(site).iter().position(is_enough);
        self.complete_oldest(site, enough.map_or(0, |last| last + 1), lane)
    }

    fn made_barrier(&self, at: Located, lane: usize) -> Result<Barrier, Fault> {
        let (memory, start) = self.memory(at);
        match memory.load(start, SIZE as usize) {
            (bits, false) => Ok(Barrier::of(bits)),
            _ => Err(Fault::Trap(lane, bad(Misuse::NotMade))),
        }
    }

    fn put_barrier(&mut self, at: Located, barrier: Barrier, lane: usize) -> Result<(), Fault> {
        let written = self.write(at, SIZE as usize, barrier.bits(), false, lane);
        written.map_err(|cause| Fault::Trap(lane, cause))
    }

    fn change_barrier(&mut self, site: Site, op: BarrierOp, operand: u64, lane: usize) -> Result<(), Fault> {
        let at = self.located(site);
        let after = self.made_barrier(at, lane)?.after(op, operand);
        self.put_barrier(at, after.map_err(|misuse| Fault::Trap(lane, bad(misuse)))?, lane)
    }

    /// So many bytes have come that a barrier counts.
    pub(super) fn count_bytes(&mut self, site: Site, bytes: u64, lane: usize) -> Result<(), Fault> {
        self.change_barrier(site, BarrierOp::Complete, bytes, lane)
    }

    /// A thread's copies are done for which it has arrived.
    pub(super) fn arrive_late(&mut self, site: Site, lane: usize) -> Result<(), Fault> {
        self.change_barrier(site, BarrierOp::Arrive(Arrive::default()), 1, lane)
    }
}

fn bad(misuse: Misuse) -> Cause {
    Cause::BadBarrier(misuse.to_string())
}

/// A lane's operand.
fn operand_of(frame: &Frame, place: Place, lane: usize) -> Result<u64, Fault> {
    let word = |slot: u32| match frame.undefined[slot as usize] >> lane & 1 {
        0 => Ok(u64::from(frame.words[slot as usize][lane])),
        _ => Err(Fault::Undefined(lane, "an operand of a barrier in memory")),
    };
    match place {
        Place::Word(slot) => word(slot),
        Place::Pair(slot) => Ok(word(slot)? | word(slot + 1)? << 32),
        Place::Pred(_) | Place::None => Ok(0),
    }
}

#[cfg(test)]
mod tests;
