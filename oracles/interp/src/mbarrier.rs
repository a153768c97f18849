//! Barriers in shared memory: PTX ISA 9.0, "mbarrier".
//!
//! [`oriole_semantics::mbarrier`] says what the 64 bits of one mean, and what they become. A state, as arrivals yield
//! it, is the object as it was before.
//!
//! A question that only what is pending for the barrier keeps from being answered with yes has that done first
//! ([`super::asynchronous`]). What PTX calls undefined traps: counts out of range, arrivals beyond those that are
//! waited for, an object that nothing has made.

use super::access::{Fault, Located, Spaces, address_of, check_defined};
use super::asynchronous::{Pending, Site, Until, Work};
use super::frame::Frame;
use super::outcome::Cause;
use super::program::{Address, Place};
use super::strong::Strong;
use oriole_semantics::lanes::lanes;
use oriole_semantics::mbarrier::{Arrive, Barrier, BarrierOp, MOST, Misuse, SIZE};

/// The steps that an operation takes beside its own, for each lane.
const EXTRA_STEPS: u64 = 4;

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

/// What 64 bits of a barrier are after an operation, for those who execute machine code.
///
/// # Errors
///
/// If PTX leaves the operation undefined.
pub fn after_operation(bits: u64, op: BarrierOp, operand: u64) -> Result<u64, Cause> {
    Barrier::of(bits).after(op, operand).map(Barrier::bits).map_err(bad)
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
