//! Barriers in shared memory: what the 64 bits of one mean (PTX ISA 9.0, "mbarrier").
//!
//! PTX leaves open what the bits of such an object hold. Here they hold what code of ptxas for `sm_90` and later takes
//! them for, so that machine code can be executed beside: from bit 1 on 2^20 minus the arrivals that each phase waits
//! for, from bit 43 on 2^20 minus those that this one still waits for (20 bits each), in bit 63 whether the phase is
//! an odd one. Code does not say where the rest is. Here the bytes under way are in 21 bits from bit 22 on, signed, and
//! the number of the phase modulo 8 has its higher bits in bits 0 and 21.

use std::fmt::{self, Display};

/// The widest count.
pub const MOST: u64 = (1 << COUNT_BITS) - 1;
const COUNT_BITS: u32 = 20;
const EXPECTED_AT: u32 = 1;
const BYTES_AT: u32 = 22;
const BYTES_BITS: u32 = COUNT_BITS + 1;
const PENDING_AT: u32 = 43;
/// The bits of a phase's number, the lowest one first.
const PHASE_AT: [u32; 3] = [63, 0, 21];
/// Bytes of an object.
pub const SIZE: u32 = 8;

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

/// What PTX leaves undefined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// It is no barrier of shared memory.
    NotShared,
    /// It is that of another CTA, and is asked what that one alone may.
    Elsewhere,
    /// Nothing has made a barrier there.
    NotMade,
    /// A count is out of range.
    Count,
    /// More arrive than are waited for.
    Arrivals,
    /// An arrival that must not end the phase ends it.
    EndsPhase,
    /// More bytes are under way than are counted.
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

/// A barrier's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Barrier {
    /// The arrivals that each phase waits for.
    pub expected: u64,
    /// Those that this one still waits for.
    pub pending: u64,
    /// Bytes under way; fewer than none where they came before they were expected.
    pub bytes: i64,
    /// The number of the phase modulo 8.
    pub phase: u64,
}

impl Barrier {
    /// Reads the bits of an object, whatever they are.
    #[inline]
    pub fn of(bits: u64) -> Barrier {
        let count = |at: u32| (bits >> at & MOST).wrapping_neg() & MOST;
        Barrier {
            expected: count(EXPECTED_AT),
            pending: count(PENDING_AT),
            bytes: (bits << (64 - BYTES_BITS - BYTES_AT)) as i64 >> (64 - BYTES_BITS),
            phase: (0..).zip(PHASE_AT).fold(0, |phase, (at, bit)| phase | (bits >> bit & 1) << at),
        }
    }

    /// The bits of the object.
    #[inline]
    pub fn bits(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        let count = |count: u64, at: u32| (count.wrapping_neg() & MOST) << at;
        let phase = (0..).zip(PHASE_AT).fold(0, |bits, (at, bit)| bits | (self.phase >> at & 1) << bit);
        count(self.expected, EXPECTED_AT) | count(self.pending, PENDING_AT) | bytes << BYTES_AT | phase
    }

    /// The barrier after an operation. Making, ending and questions leave it as it is.
    ///
    /// # Errors
    ///
    /// If PTX leaves the operation undefined.
    #[inline]
    pub fn after(mut self, op: BarrierOp, operand: u64) -> Result<Barrier, Misuse> {
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
    #[inline]
    pub fn answer(self, op: BarrierOp, operand: u64) -> Option<bool> {
        match op {
            BarrierOp::IsOver => Some(self.phase != Barrier::of(operand).phase),
            BarrierOp::IsParityOver => Some(self.phase & 1 != operand & 1),
            _ => None,
        }
    }
}

/// How many arrivals a state waits for.
pub fn pending(state: u64) -> u64 {
    Barrier::of(state).pending
}
