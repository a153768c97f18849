//! Barriers in shared memory and what they count: copies and reductions of many bytes, and stores to other CTAs.
//!
//! A barrier holds what [`oriole_interp::after_barrier_operation`] says, or, in code for SMs before `sm_90`, from the
//! lowest bit on: 2^30 minus the arrivals that each phase waits for, in the upper word 2^31 minus those that this one
//! still waits for, and above whether the phase is an odd one. What runs beside the threads is done where it begins.

use oriole_interp::{Cause, after_barrier_operation};
use oriole_ir::ops::{AtomOp, Type};
use oriole_semantics::mbarrier::{Arrive, BarrierOp};
use oriole_semantics::scalar;

use super::access::{Place, advance};
use super::engine::Next;
use super::lanes::{LANES, mask, set};
use super::machine::{Cta, Machine, Stop};
use super::program::*;
use super::state::{Group, Warp};

/// Bytes of a barrier.
const BARRIER: u64 = 8;
/// What bulk copies are made of, in bytes.
const GRAIN: u64 = 16;
/// Where the CTAs stand that a copy goes to.
const CTAS_AT: u32 = 16;

/// Who does something: a lane of a warp of a CTA, and where.
#[derive(Clone, Copy)]
struct Who {
    warp: usize,
    lane: usize,
    pc: u32,
}

impl Who {
    fn trap(self, cause: Cause) -> Stop {
        Stop::Trap { pc: self.pc, lane: self.lane as u32, cause }
    }
}

impl Machine<'_> {
    /// An operation on barriers, lane after lane. A group that is denied lets others go first.
    pub fn synchronize(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        at: usize,
        group: Group,
        active: u32,
        sync: &Synchronize,
    ) -> Result<Next, Stop> {
        let space = if sync.is_remote { Space::Cluster } else { Space::Shared };
        let addresses = cta.warps[warp].addresses(&sync.address, false);
        let literals = self.literals;
        let word = |at: u16| cta.warps[warp].stored(sync.src, at, literals);
        let (low, high) = (word(0), if sync.op == SyncOp::Exchange { word(1) } else { [0; LANES] });
        let (mut old, mut over) = ([[0; LANES]; 2], 0);
        for lane in set(active) {
            let who = Who { warp, lane, pc: group.pc };
            let place = self.locate(cta, warp, group.pc, lane, space, addresses[lane], BARRIER)?;
            let before = self.read(cta, warp, place, BARRIER as usize);
            (old[0][lane], old[1][lane]) = (before as u32, (before >> 32) as u32);
            let after = match sync.op {
                SyncOp::Exchange => u64::from(high[lane]) << 32 | u64::from(low[lane]),
                SyncOp::Load => before,
                SyncOp::IsOver => {
                    over |= u32::from(before >> 63 != u64::from(low[lane] >> 31)) << lane;
                    before
                }
                SyncOp::Arrive(count, arrive) => {
                    let (op, operand) = operation(count, arrive, low[lane]);
                    after_barrier_operation(before, op, operand).map_err(|cause| who.trap(cause))?
                }
                SyncOp::ArriveBefore90 => arrived_before_90(before),
            };
            self.put(cta, warp, place, BARRIER as usize, after);
        }
        let w = &mut cta.warps[warp];
        w.write(sync.dst, &old[0], active);
        w.write(sync.dst + 1, &old[1], active);
        if sync.op == SyncOp::IsOver {
            w.set_pred(sync.pred, over, active);
            if over & active != active {
                w.groups[at].pc = group.pc + 1;
                w.groups[at].turns += 1;
                return Ok(Next::Elsewhere);
            }
        }
        Ok(Next::Behind)
    }

    /// A copy of many bytes, or a reduction, of a warp.
    pub fn bulk(&mut self, cta: &mut Cta, warp: usize, pc: u32, active: u32, bulk: &Bulk) -> Result<(), Stop> {
        let who = Who { warp, lane: active.trailing_zeros() as usize, pc };
        let literals = self.literals;
        let word = |warp: &Warp, row: u16| u64::from(warp.fetch_row(literals, row)[0]);
        let pair = |row: u16| [row, row + 1].map(|row| word(&cta.warps[warp], row));
        let size = word(&cta.warps[warp], bulk.size);
        let bytes = (size & 0xffff) * GRAIN;
        let joined = |[low, high]: [u64; 2]| low | high << 32;
        let from = if bulk.from_global { joined(pair(bulk.from)) } else { word(&cta.warps[warp], bulk.from) };
        let [to, barrier] = pair(bulk.to);
        let from =
            self.stretch(cta, who, if bulk.from_global { Space::Global } else { Space::Cluster }, from, bytes)?;
        if bulk.to_global {
            let to = self.stretch(cta, who, Space::Global, joined([to, barrier]), bytes)?;
            return self.carry_out(cta, who, (from, to), bytes, bulk.combine);
        }
        let ranks: Vec<Option<u64>> = match bulk.multicast {
            false => vec![None],
            true => (0..16).filter(|rank| size >> (CTAS_AT + rank) & 1 == 1).map(|rank| Some(rank.into())).collect(),
        };
        for rank in ranks {
            let of = |address: u64| rank.map_or(address, |rank| super::cluster::in_rank(address, rank));
            let (to, barrier) = (of(to), of(barrier));
            let to = self.stretch(cta, who, Space::Cluster, to, bytes)?;
            self.carry_out(cta, who, (from, to), bytes, bulk.combine)?;
            self.complete(cta, who, barrier, bytes)?;
        }
        Ok(())
    }

    /// Stores, or reductions, that a barrier counts.
    pub fn remote(&mut self, cta: &mut Cta, warp: usize, pc: u32, active: u32, remote: &Remote) -> Result<(), Stop> {
        let words = |row: u16| cta.warps[warp].stored(row, 0, self.literals);
        let (to, barrier) = (words(remote.address), words(remote.address + 1));
        let value = |at: u16| cta.warps[warp].stored(remote.src, at, self.literals);
        let values: Vec<_> = (0..u16::from(remote.bytes / 4)).map(value).collect();
        let bytes = u64::from(remote.bytes);
        for lane in set(active) {
            let who = Who { warp, lane, pc };
            let address = u64::from(to[lane]).wrapping_add_signed(remote.offset) & 0xffff_ffff;
            let place = self.locate(cta, warp, pc, lane, Space::Cluster, address, bytes)?;
            let word = |at: usize| u64::from(values[at][lane]);
            match remote.combine {
                Some((op, ty)) => {
                    let operand = if bytes == 8 { word(0) | word(1) << 32 } else { word(0) };
                    let before = self.read(cta, warp, place, bytes as usize);
                    self.put(cta, warp, place, bytes as usize, scalar::atomic_with_subnormals(op, ty, before, operand));
                }
                None => (0..values.len()).for_each(|at| self.put(cta, warp, advance(place, 4 * at), 4, word(at))),
            }
            self.complete(cta, who, barrier[lane].into(), bytes)?;
        }
        Ok(())
    }

    /// So many bytes have come that a barrier counts.
    fn complete(&mut self, cta: &mut Cta, who: Who, barrier: u64, bytes: u64) -> Result<(), Stop> {
        let place = self.locate(cta, who.warp, who.pc, who.lane, Space::Cluster, barrier, BARRIER)?;
        let before = self.read(cta, who.warp, place, BARRIER as usize);
        let after = after_barrier_operation(before, BarrierOp::Complete, bytes).map_err(|cause| who.trap(cause))?;
        self.put(cta, who.warp, place, BARRIER as usize, after);
        Ok(())
    }

    /// Where so many bytes begin, all of which are there.
    fn stretch(&mut self, cta: &mut Cta, who: Who, space: Space, address: u64, bytes: u64) -> Result<Place, Stop> {
        let first = self.locate(cta, who.warp, who.pc, who.lane, space, address, GRAIN)?;
        let last = address.wrapping_add(bytes.max(GRAIN) - GRAIN);
        let last = self.locate(cta, who.warp, who.pc, who.lane, space, last, GRAIN)?;
        let is_one = std::mem::discriminant(&first) == std::mem::discriminant(&last)
            && match (first, last) {
                (Place::Global { region, .. }, Place::Global { region: other, .. }) => region == other,
                (Place::Peer(rank, _), Place::Peer(other, _)) => rank == other,
                _ => true,
            };
        let torn = "it is within no buffer, and no CTA's shared memory".to_owned();
        if is_one { Ok(first) } else { Err(who.trap(Cause::BadCopy(torn))) }
    }

    fn carry_out(
        &mut self,
        cta: &mut Cta,
        who: Who,
        (from, to): (Place, Place),
        bytes: u64,
        combine: Option<(AtomOp, Type)>,
    ) -> Result<(), Stop> {
        let step = combine.map_or(8, |(_, ty)| ty.bits() as usize / 8);
        self.note(cta, who.warp, who.pc, who.lane, to, bytes as u32);
        for at in (0..bytes as usize).step_by(step) {
            let value = self.read(cta, who.warp, advance(from, at), step);
            let place = advance(to, at);
            let value = match combine {
                None => value,
                Some((op, ty)) => scalar::atomic_with_subnormals(op, ty, self.read(cta, who.warp, place, step), value),
            };
            self.put(cta, who.warp, place, step, value);
        }
        Ok(())
    }
}

/// What PTX calls it.
fn operation(count: Count, arrive: Arrive, operand: u32) -> (BarrierOp, u64) {
    let operand = u64::from(operand);
    match count {
        Count::One => (BarrierOp::Arrive(arrive), 1),
        Count::Operand => (BarrierOp::Arrive(arrive), operand),
        Count::Expects => (BarrierOp::Arrive(Arrive { expects: true, ..arrive }), operand),
        Count::Bytes => (BarrierOp::Expect, operand),
        Count::Complete => (BarrierOp::Complete, operand),
    }
}

/// A barrier of code for SMs before `sm_90` after an arrival.
fn arrived_before_90(bits: u64) -> u64 {
    const PHASE: u32 = 1 << 31;
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    let next = high.wrapping_add(1);
    let next = if (next ^ high) & PHASE == 0 { next } else { next & PHASE | low.wrapping_add(1 << 30) & !PHASE };
    u64::from(next) << 32 | u64::from(low)
}

impl Warp {
    /// Arrives at the cluster's barrier.
    pub fn arrive_at_cluster(&mut self, active: u32) {
        self.cluster_arrived |= active;
    }

    /// The lanes of a mask whose phase of the cluster's barrier is not over.
    pub fn early_at_cluster(&self, active: u32) -> u32 {
        self.cluster_arrived & active
    }

    /// Which lanes have another word than the first of them.
    pub fn differing(words: &super::lanes::Lanes, active: u32) -> u32 {
        let first = words[active.trailing_zeros() as usize & 31];
        mask(|lane| words[lane] != first) & active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code for `sm_80` makes a barrier for two arrivals of 2^30 - 2 and, above it, 2^31 - 2, and adds to either word
    /// by itself where arrivals are not waited for any more, or not yet.
    #[test]
    fn barriers_before_sm_90_end_a_phase_with_the_last_arrival() {
        let made = u64::from((1u32 << 31) - 2) << 32 | u64::from((1u32 << 30) - 2);
        let once = arrived_before_90(made);
        assert_eq!(once >> 32, (1 << 31) - 1);
        let twice = arrived_before_90(once);
        assert_eq!((twice >> 32, twice as u32), ((1 << 32) - 2, (1 << 30) - 2));
        assert_eq!(arrived_before_90(arrived_before_90(twice)), made);
    }
}
