//! Bulk copies, and stores and reductions that a barrier counts: PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk",
//! "st.async", "red.async". Each is begun here; [`super::asynchronous`] does it.

use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{AtomOp, Type};

use super::access::{Fault, Spaces, address_of, check_defined};
use super::asynchronous::{GroupKind, Site, Source, Until, Work};
use super::frame::Frame;
use super::memory::Bytes;
use super::outcome::Cause;
use super::program::{Address, Elements, Place};
use super::strong::Strong;
use oriole_semantics::lanes::lanes;

/// What bulk copies are aligned to, and made of, in bytes.
pub const GRAIN: u64 = 16;
/// The steps that a lane's operation takes for each byte beside its own.
pub(super) const BYTE_STEPS: u64 = 9;
/// Bytes of a barrier.
pub(super) const BARRIER: u64 = 8;

/// What an operation brings.
#[derive(Clone, Debug)]
pub enum Brought {
    /// So many bytes of memory.
    Memory { from: Address, bytes: Place },
    /// Registers of so many bytes each.
    Registers { regs: Elements, bytes: u8 },
}

/// An operation that runs beside the thread.
#[derive(Clone, Debug)]
pub struct BulkOp {
    pub to: Address,
    pub brought: Brought,
    /// The barrier that counts the bytes; without one the thread's open group has the operation.
    pub barrier: Option<Address>,
    /// How memory is combined with what is brought; without that it is overwritten.
    pub combine: Option<(AtomOp, Type)>,
    /// The CTAs of the cluster that it goes to, one bit each; without that it goes to one place.
    pub ctas: Option<Place>,
}

impl Spaces<'_> {
    /// Begins an operation in each lane of a mask.
    pub fn bulk(&mut self, frame: &Frame, op: &BulkOp, mask: u32) -> Result<(), Fault> {
        check_defined(frame, &op.to, mask)?;
        op.barrier.iter().try_for_each(|barrier| check_defined(frame, barrier, mask))?;
        for lane in lanes(mask) {
            let (source, bytes) = self.brought(frame, &op.brought, lane)?;
            let align = if matches!(op.brought, Brought::Memory { .. }) { GRAIN } else { bytes };
            let to = self.stretch(&op.to, frame, (bytes, align), lane)?;
            let barrier = match &op.barrier {
                Some(barrier) => Some(self.stretch(barrier, frame, (BARRIER, BARRIER), lane)?),
                None => None,
            };
            let ctas = match op.ctas {
                None => None,
                Some(place) => Some(word(frame, place, lane, "the CTAs that a copy goes to")?),
            };
            for (to, barrier) in self.places(to, barrier, ctas, lane)? {
                self.extra_steps += BYTE_STEPS * bytes;
                self.observe_next(self.located(to), bytes, lane, true, op.combine.map(|_| Strong::COMBINES));
                let until = barrier.map_or(Until::Group(GroupKind::Bulk, None), Until::Barrier);
                let (from, read) = (source.clone(), bytes as usize);
                let work = match op.combine {
                    Some((op, ty)) => Work::Combine { to, from, op, ty },
                    None => Work::Copy { to, from, read },
                };
                self.begin(lane, until, bytes as usize, work)?;
            }
        }
        Ok(())
    }

    /// What a lane brings, and how many bytes that is.
    fn brought(&mut self, frame: &Frame, brought: &Brought, lane: usize) -> Result<(Source, u64), Fault> {
        match brought {
            Brought::Memory { from, bytes } => {
                check_defined(frame, from, 1 << lane)?;
                let bytes = word(frame, *bytes, lane, "the size of a copy")?;
                if bytes % GRAIN != 0 {
                    let cause = Cause::BadCopy(format!(
                        "it is of {bytes}, no multiple of {GRAIN}",
                        bytes = counted(bytes, "byte")
                    ));
                    return Err(Fault::Trap(lane, cause));
                }
                let from = self.stretch(from, frame, (bytes, GRAIN), lane)?;
                self.observe_next(self.located(from), bytes, lane, false, None);
                Ok((Source::Memory(from), bytes))
            }
            Brought::Registers { regs, bytes } => {
                let words = u32::from(*bytes) / 4;
                let slots = regs.iter().flat_map(|slot| *slot..slot + words);
                let mut held = Bytes::undefined(4 * words as usize * regs.len());
                for (at, slot) in slots.enumerate() {
                    let undefined = frame.undefined[slot as usize] >> lane & 1 == 1;
                    held.store(4 * at, 4, frame.words[slot as usize][lane].into(), undefined);
                }
                let bytes = held.len() as u64;
                Ok((Source::Held(held), bytes))
            }
        }
    }

    /// Where so many bytes lie at an address that is so far aligned.
    pub(super) fn stretch(
        &mut self,
        address: &Address,
        frame: &Frame,
        (bytes, align): (u64, u64),
        lane: usize,
    ) -> Result<Site, Fault> {
        let trap = |cause| Fault::Trap(lane, cause);
        let start = address_of(frame, address, lane);
        let first = self.locate(address.memory, start, align, lane).map_err(trap)?;
        let last = start.wrapping_add(bytes.max(align) - align);
        let last = self.locate(address.memory, last, align, lane).map_err(trap)?;
        match (self.site(first), self.site(last)) {
            (Some(site), Some(end)) if is_one_memory(site, end) => Ok(site),
            _ => Err(trap(Cause::BadCopy("it is within no buffer, and no CTA's shared memory".to_owned()))),
        }
    }

    /// Where an operation goes: to one place, or to the same one in several CTAs.
    pub(super) fn places(
        &self,
        to: Site,
        barrier: Option<Site>,
        ctas: Option<u64>,
        lane: usize,
    ) -> Result<Vec<(Site, Option<Site>)>, Fault> {
        let Some(ctas) = ctas else { return Ok(vec![(to, barrier)]) };
        let there = self.peers.shared.len().max(1);
        let ranks = (0..16).filter(|rank| ctas >> rank & 1 == 1);
        let within = |site: Site, rank: usize| match site {
            Site::Shared(_, at) => Site::Shared(rank, at),
            site => site,
        };
        let place = |rank: usize| match rank < there {
            true => Ok((within(to, rank), barrier.map(|barrier| within(barrier, rank)))),
            false => {
                let cause = Cause::BadCopy(format!("it goes to CTA {rank} of a cluster of {there}"));
                Err(Fault::Trap(lane, cause))
            }
        };
        ranks.map(place).collect()
    }
}

/// Whether two places are in one region, or in one CTA's shared memory.
fn is_one_memory(a: Site, b: Site) -> bool {
    match (a, b) {
        (Site::Global(a, _), Site::Global(b, _)) | (Site::Shared(a, _), Site::Shared(b, _)) => a == b,
        _ => false,
    }
}

/// A lane's word.
pub(super) fn word(frame: &Frame, place: Place, lane: usize, what: &'static str) -> Result<u64, Fault> {
    match place {
        Place::Word(slot) if frame.undefined[slot as usize] >> lane & 1 == 0 => {
            Ok(frame.words[slot as usize][lane].into())
        }
        _ => Err(Fault::Undefined(lane, what)),
    }
}

#[cfg(test)]
mod tests;
