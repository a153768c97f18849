//! Operations about stretches of global memory that move nothing: PTX ISA, "discard" and "cp.async.bulk.prefetch".

use oriole_ir::diagnostics::counted;

use super::access::{Fault, Spaces, address_of, check_defined};
use super::asynchronous::Site;
use super::bulk::{GRAIN, word};
use super::frame::Frame;
use super::outcome::Cause;
use super::program::{Address, Place};
use oriole_semantics::lanes::lanes;

/// The bytes that a discard is about, to which it is aligned.
const LINE: u64 = 128;

/// An operation about a stretch of global memory.
#[derive(Clone, Debug)]
pub enum StretchOp {
    /// A line of the cache may be dropped without being written back: "semantically, this behaves like a weak write of
    /// an unstable indeterminate value". Where the address leads to no global memory, "the behavior is undefined".
    Discard(Address),
    /// So many bytes are brought into a cache, if address and size are multiples of 16: an H200 traps otherwise.
    Prefetch(Address, Place),
}

impl Spaces<'_> {
    /// An operation by each lane of a mask.
    pub fn stretch_op(&mut self, frame: &Frame, op: &StretchOp, mask: u32) -> Result<(), Fault> {
        let (StretchOp::Discard(address) | StretchOp::Prefetch(address, _)) = op;
        check_defined(frame, address, mask)?;
        for lane in lanes(mask) {
            match op {
                StretchOp::Discard(address) => self.discard(frame, address, lane)?,
                StretchOp::Prefetch(address, bytes) => {
                    let at = address_of(frame, address, lane);
                    let bytes = word(frame, *bytes, lane, "the size of a prefetch")?;
                    if !at.is_multiple_of(GRAIN) || !bytes.is_multiple_of(GRAIN) {
                        let cause = format!(
                            "{bytes} at {at:#x} are prefetched, no multiples of {GRAIN}",
                            bytes = counted(bytes, "byte")
                        );
                        return Err(Fault::Trap(lane, Cause::BadCopy(cause)));
                    }
                }
            }
        }
        Ok(())
    }

    fn discard(&mut self, frame: &Frame, address: &Address, lane: usize) -> Result<(), Fault> {
        match self.stretch(address, frame, (LINE, LINE), lane)? {
            Site::Global(region, at) => {
                self.observe(self.located(Site::Global(region, at)), LINE, lane, true, None);
                self.global.region_mut(region).bytes.forget(at..at + LINE as usize);
                Ok(())
            }
            Site::Shared(..) => Err(Fault::Undefined(lane, "a discard of what is no global memory")),
        }
    }
}
