//! Multicast memory: PTX ISA 9.0, "multimem.ld_reduce, multimem.st, multimem.red".
//!
//! A multicast address stands for the same place in each replica of a buffer. PTX leaves open in which order replicas
//! are combined; here it is that of the buffer, from the first to the last, in the precision of the type or in the one
//! that is asked for. Loads keep subnormals of f32 and reductions flush them, as the machine's instructions say that
//! ptxas makes (`LDGMC.E.ADD.F32.RN`, `REDG.E.ADD.F32.FTZ.RN`). Each access counts for the race detector on every
//! replica.

use super::access::{
    ATOMIC_STEPS, Fault, LOADED_ELEMENT_STEPS, Located, STORED_ELEMENT_STEPS, Spaces, address_of, check_defined,
};
use super::frame::Frame;
use super::outcome::Cause;
use super::program::{Access, MOST_ELEMENTS, Memory, Rmw};
use oriole_semantics::lanes::lanes;
use oriole_semantics::scalar;

/// What is done to the replicas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Load,
    Store,
    Combine,
}

impl Action {
    fn of(access: &Access) -> Action {
        match access.rmw {
            None => Action::Store,
            Some(_) if access.operands.is_empty() => Action::Load,
            Some(_) => Action::Combine,
        }
    }

    /// The steps that it takes for an element of a replica.
    fn steps(self) -> u64 {
        match self {
            Action::Load => LOADED_ELEMENT_STEPS,
            Action::Store => STORED_ELEMENT_STEPS,
            Action::Combine => ATOMIC_STEPS,
        }
    }
}

impl Spaces<'_> {
    /// An access to each replica of multicast memory, lane after lane.
    pub fn multimem(&mut self, frame: &mut Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        check_defined(frame, &access.address, mask)?;
        let action = Action::of(access);
        let elements = access.regs.len().max(access.operands.len());
        let whole = u64::from(access.bytes) * elements as u64;
        for lane in lanes(mask) {
            let trap = |cause| Fault::Trap(lane, cause);
            let address = address_of(frame, &access.address, lane);
            let places = self.replicas(address, whole, lane).map_err(trap)?;
            self.extra_steps += action.steps() * (elements * places.len()) as u64;
            places.iter().for_each(|at| self.observe(*at, whole, lane, action != Action::Load, access.strong));
            match action {
                Action::Load => self.load_combined(frame, &places, access, lane),
                Action::Store => {
                    places.iter().try_for_each(|at| self.store_elements(frame, *at, access, lane)).map_err(trap)?;
                }
                Action::Combine => {
                    places.iter().try_for_each(|at| self.combine(frame, *at, access, lane)).map_err(trap)?;
                }
            }
        }
        Ok(())
    }

    /// The places that an access to a multicast address goes to.
    fn replicas(&mut self, address: u64, bytes: u64, lane: usize) -> Result<Vec<Located>, Cause> {
        let first = self.locate(Memory::Multicast, address, bytes, lane)?;
        let Located::Global(index, _) = first else { return Ok(Vec::new()) };
        let region = self.global.region(index);
        Ok((0..region.replicas as usize).map(|replica| first.plus(replica * region.replica_bytes())).collect())
    }

    /// Combines each element of a replica with its operand.
    fn combine(&mut self, frame: &Frame, start: Located, access: &Access, lane: usize) -> Result<(), Cause> {
        (0..access.operands.len().min(MOST_ELEMENTS)).try_for_each(|element| {
            let at = start.plus(element * usize::from(access.bytes));
            self.modify(frame, at, access, element, lane).map(|_| ())
        })
    }

    /// Loads each element: that of all replicas, combined. It is undefined where that of a replica is.
    fn load_combined(&self, frame: &mut Frame, places: &[Located], access: &Access, lane: usize) {
        let Some((rmw, ty)) = access.rmw else { return };
        let bytes = usize::from(access.bytes);
        for (element, slot) in access.regs.iter().enumerate() {
            let read = places.iter().map(|at| self.read_wide(at.plus(element * bytes), bytes));
            let undefined = read.clone().any(|(_, unknown)| unknown != 0);
            let values = read.map(|(value, _)| value as u64);
            let value = match rmw {
                Rmw::SingleSum => scalar::sum_in_single(ty, values),
                Rmw::Op(op) => {
                    values.reduce(|all, value| scalar::atomic_with_subnormals(op, ty, all, value)).unwrap_or(0)
                }
                Rmw::Cas => 0,
            };
            let bits = if undefined { u32::MAX } else { 0 };
            for word in 0..bytes.div_ceil(4) {
                frame.put(slot + word as u32, lane, (value >> (32 * word)) as u32, bits);
            }
        }
    }
}

#[cfg(test)]
mod tests;
