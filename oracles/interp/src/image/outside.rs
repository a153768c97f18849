//! Accesses by code whose registers this crate does not hold: a lane gives words and gets words.

use super::{Fault, ImageKind, ImageOp, Images};
use crate::access::{LocalMemory, Spaces};
use crate::asynchronous::InFlight;
use crate::cluster::Peers;
use crate::frame::Frame;
use crate::memory::{Bytes, GlobalMemory};
use crate::order::LaneOrder;
use crate::outcome::Cause;
use crate::program::{Elements, Place, Slot};
use oriole_ir::ops::{Geometry, OutOfBounds, Type};
use oriole_semantics::matrix::Results;

/// An access without its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageAccess {
    /// A fetch, a question, or an access to a surface.
    pub kind: ImageKind,
    /// The shape of the image.
    pub geometry: Geometry,
    /// The type of a component or of an element; each has a word.
    pub ty: Type,
    /// Whether coordinates are floats.
    pub floats: bool,
    /// How an access beyond a surface ends.
    pub beyond: OutOfBounds,
    /// How many words it yields.
    pub results: usize,
}

/// The operands of one lane, in the order of PTX.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ImageLane {
    /// The handle of the texture or surface.
    pub handle: u64,
    /// The handle of the sampler; of a texture, where it has its own.
    pub sampler: u64,
    /// The layer of an array, and the coordinates.
    pub coordinates: Vec<u32>,
    /// The level, where one is given.
    pub levels: Vec<u32>,
    /// Offsets in texels, signed.
    pub offsets: Vec<u32>,
    /// The depth that is compared.
    pub reference: Option<u32>,
    /// Words that are stored, or combined with what is there.
    pub values: Vec<u32>,
}

impl Images {
    /// How many directions the image of a handle has.
    pub fn dimensions(&self, handle: u64) -> Option<usize> {
        let view = self.views.get(&handle)?;
        Some(self.images[view.image].image.extents.len())
    }

    /// Accesses an image for one lane, and returns what it yields.
    ///
    /// # Errors
    ///
    /// If the lane traps.
    pub fn access(&self, global: &mut GlobalMemory, access: &ImageAccess, lane: &ImageLane) -> Result<Vec<u32>, Cause> {
        let mut frame = Frame::default();
        let handle = pair(&mut frame, lane.handle);
        let sampler = pair(&mut frame, lane.sampler);
        let coordinates = words(&mut frame, &lane.coordinates);
        let levels = words(&mut frame, &lane.levels);
        let offsets = words(&mut frame, &lane.offsets);
        let reference = lane.reference.map(|word| add(&mut frame, word));
        let values = match access.kind {
            ImageKind::Store | ImageKind::StoreTexel => words(&mut frame, &lane.values),
            // One element, of one word or of two side by side.
            ImageKind::Reduce(_) | ImageKind::ReduceTexel(_) => {
                let all = words(&mut frame, &lane.values);
                all.iter().take(1).copied().fold(Elements::default(), |mut first, slot| {
                    first.push(slot);
                    first
                })
            }
            _ => words(&mut frame, &vec![0; access.results]),
        };
        let op = ImageOp {
            kind: access.kind,
            geometry: access.geometry,
            ty: access.ty,
            floats: access.floats,
            beyond: access.beyond,
            handle,
            sampler,
            coordinates,
            levels,
            offsets,
            reference,
            values,
            predicate: Place::None,
        };
        let (none, mut shared, mut local) = (Bytes::default(), Bytes::default(), LocalMemory::default());
        let mut spaces = Spaces {
            global,
            constants: &none,
            images: self,
            params: &none,
            shared: &mut shared,
            peers: Peers { rank: 0, own: 0, shared: &mut [], numbers: &[] },
            local: &mut local,
            hint: 0,
            order: LaneOrder::default(),
            watch: &[],
            written: Vec::new(),
            extra_steps: 0,
            in_flight: &mut InFlight::default(),
            results: &mut Results::default(),
            first_thread: 0,
            races: None,
            strong: None,
            pc: 0,
        };
        match spaces.image(&mut frame, &op, 1) {
            Ok(()) => {}
            Err(Fault::Trap(_, cause)) => return Err(cause),
            Err(Fault::Undefined(_, what)) => return Err(Cause::BadImage(format!("{what} is undefined"))),
        }
        let yielded = op.values.iter().take(access.results).map(|slot| frame.words[*slot as usize][0]);
        Ok(yielded.collect())
    }
}

/// Adds a word that is defined.
fn add(frame: &mut Frame, word: u32) -> Slot {
    frame.words.push([word; 32]);
    frame.undefined.push(0);
    frame.words.len() as Slot - 1
}

fn pair(frame: &mut Frame, value: u64) -> Place {
    let low = add(frame, value as u32);
    add(frame, (value >> 32) as u32);
    Place::Pair(low)
}

fn words(frame: &mut Frame, words: &[u32]) -> Elements {
    let mut elements = Elements::default();
    words.iter().for_each(|word| elements.push(add(frame, *word)));
    elements
}
