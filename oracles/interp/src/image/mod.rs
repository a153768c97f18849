//! Textures and surfaces: PTX ISA 9.0, "Texture Instructions" and "Surface Instructions"; filters and address modes:
//! CUDA C++ Programming Guide, "Texture Fetching".
//!
//! The texels of an image are a region of global memory that no address is told of, so what surfaces hold after the run
//! is compared as buffers are, and races on them are found. A handle is a number that stands for an image and for what
//! is done with it; a variable of the module, or a parameter, leads to the same by its address.
//!
//! What PTX and the guide leave open is settled here: filters add in double precision and round once, but for bytes
//! from 0 to 1, which are added as an H200 does it; a weight is the nearest of the 257 that there are, the upper one
//! where two are as near; a texel of fewer than four components has
//! zeros and a last one, as `CL_R` and `CL_RG` have it, which name the order; a depth passes where it is at most the
//! texel; a question for a filter or an address mode yields the number that the CUDA driver has for it.

mod outside;
mod query;
mod surface;
mod texel;
mod texture;

use oriole_ir::ops::{AtomOp, Component, Geometry, ImageQuery, LevelOfDetail, OutOfBounds, Type};
use oriole_ir::reference::Settings;
use rustc_hash::FxHashMap;

use super::access::{Fault, Spaces};
use super::frame::Frame;
use super::outcome::Cause;
use super::program::{Elements, Place, Slot};
use oriole_launch::{HandleKind, Image};
use oriole_semantics::lanes::lanes;
pub use outside::{ImageAccess, ImageLane};

/// Handles of images begin here, above all addresses: so many for each image.
pub const HANDLE_WINDOW: u64 = 0x7500_0000_0000;
const HANDLES_OF_IMAGE: u64 = 16;
/// The first number, beyond those of handles, of what variables and parameters lead to.
const FIRST_REFERENCE: u32 = 0x800;
/// Where parameters stand that are textures, samplers or surfaces, by their offsets.
pub const REFERENCE_WINDOW: u64 = 0x7600_0000_0000;

/// The steps that a warp's access takes beside its own. Measured 2026-11-25: 26 us for a linear filter in two
/// dimensions of a texel with four components, 3.6 us for a word of a surface; a step is 20 ns.
const FETCH_STEPS: u64 = 1300;
const SURFACE_STEPS: u64 = 180;

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    /// A filtered fetch.
    Fetch(LevelOfDetail),
    /// One component of four texels.
    Gather(Component),
    /// A question, of a level where there is one.
    Query(ImageQuery),
    /// Whether a handle is of a kind.
    IsType(HandleKind),
    /// Bytes of a surface.
    Load,
    /// The same, stored.
    Store,
    /// The same, combined with a word.
    Reduce(AtomOp),
    /// Texels of a surface.
    StoreTexel,
    /// A texel of a surface, combined with a word.
    ReduceTexel(AtomOp),
}

/// An instruction on an image.
#[derive(Clone, Debug)]
pub struct ImageOp {
    pub kind: ImageKind,
    pub geometry: Geometry,
    /// The type of a component or of an element.
    pub ty: Type,
    /// Whether coordinates are floats.
    pub floats: bool,
    pub beyond: OutOfBounds,
    pub handle: Place,
    pub sampler: Place,
    pub coordinates: Elements,
    pub levels: Elements,
    pub offsets: Elements,
    /// What depths are compared with.
    pub reference: Option<Slot>,
    /// Results, or values that are stored.
    pub values: Elements,
    /// The second result of a fetch, or the one of a test.
    pub predicate: Place,
}

/// What a handle or a variable leads to.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub kind: HandleKind,
    /// The image's place in the table.
    pub image: usize,
    /// What fetches do.
    pub settings: Settings,
}

/// An image, and where its texels are.
#[derive(Clone, Debug)]
pub struct Bound {
    pub image: Image,
    /// The region of global memory.
    pub region: usize,
}

/// The images of a run.
#[derive(Clone, Debug, Default)]
pub struct Images {
    images: Vec<Bound>,
    views: FxHashMap<u64, View>,
    /// The numbers by which code reaches what variables and parameters of these names lead to.
    numbers: Vec<(String, u32)>,
}

impl Images {
    /// Adds an image with its handles.
    pub fn add(&mut self, image: &Image, region: usize) {
        let index = self.images.len();
        for kind in HandleKind::ALL {
            self.views.insert(handle(kind, index), View { kind, image: index, settings: image.settings });
        }
        self.images.push(Bound { image: Image { buffer: Default::default(), ..image.clone() }, region });
    }

    /// Has an address lead to what a variable of this name is bound to, where anything is; the variable's own settings
    /// count where the image says nothing.
    pub fn bind(&mut self, address: u64, name: &str, kind: HandleKind, own: Settings) {
        let is_meant = |bound: &Bound| bound.image.name == name || bound.image.bind.iter().any(|other| other == name);
        if let Some(image) = self.images.iter().position(is_meant) {
            let settings = self.images[image].image.settings.or(own);
            self.views.insert(address, View { kind, image, settings });
            self.number(name, View { kind, image, settings });
        }
    }

    /// Gives what a variable or a parameter leads to a number in the window of handles, unless images have so many.
    fn number(&mut self, name: &str, view: View) {
        let number = FIRST_REFERENCE + self.numbers.len() as u32;
        if HANDLES_OF_IMAGE * (self.images.len() as u64 + 1) <= FIRST_REFERENCE.into() {
            self.views.insert(HANDLE_WINDOW + u64::from(number), view);
            self.numbers.push((name.to_owned(), number));
        }
    }

    /// The number, above the first handle, of what a variable or a parameter of this name leads to.
    pub fn number_of(&self, name: &str) -> Option<u32> {
        self.numbers.iter().find(|(other, _)| other == name).map(|(_, number)| *number)
    }

    /// Every handle as a number above the first one, smallest first.
    pub fn handles(&self) -> Vec<u32> {
        let number = |address: &u64| address.checked_sub(HANDLE_WINDOW).filter(|number| *number < 1 << 20);
        let mut numbers: Vec<u32> = self.views.keys().filter_map(number).map(|number| number as u32).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Has a parameter of this name lead to the image of its argument; which that is.
    pub fn pass(&mut self, address: u64, handle: u64, name: &str) -> Option<View> {
        let view = self.views.get(&handle).copied()?;
        self.views.insert(address, view);
        self.number(name, view);
        Some(view)
    }
}

/// The handle of an image.
pub fn handle(kind: HandleKind, image: usize) -> u64 {
    HANDLE_WINDOW + HANDLES_OF_IMAGE * (image as u64 + 1) + kind as u64
}

impl Spaces<'_> {
    /// Executes an instruction on an image, lane after lane.
    pub fn image(&mut self, frame: &mut Frame, op: &ImageOp, mask: u32) -> Result<(), Fault> {
        let fetches = matches!(op.kind, ImageKind::Fetch(_) | ImageKind::Gather(_));
        self.extra_steps += if fetches { FETCH_STEPS } else { SURFACE_STEPS };
        let images = self.images;
        for lane in lanes(mask) {
            if let ImageKind::IsType(kind) = op.kind {
                images.test(frame, op, kind, lane);
                continue;
            }
            let view = images.view(frame, op.handle, lane)?;
            let bound = &images.images[view.image];
            match op.kind {
                ImageKind::Query(query) => images.query(frame, op, (query, view), lane)?,
                ImageKind::Fetch(_) | ImageKind::Gather(_) => self.fetch(frame, op, (view, bound), lane)?,
                _ => self.surface(frame, op, (view, bound), lane)?,
            }
        }
        Ok(())
    }
}

impl Images {
    /// What a handle leads to.
    fn view(&self, frame: &Frame, place: Place, lane: usize) -> Result<View, Fault> {
        let Place::Pair(slot) = place else { return Err(bad(lane, "a handle has 64 bits")) };
        if frame.pair_undefined(slot) >> lane & 1 == 1 {
            return Err(Fault::Undefined(lane, "a handle"));
        }
        let value = pair(frame, slot, lane);
        let found = self.views.get(&value).copied();
        found.ok_or_else(|| bad(lane, &format!("nothing is bound to {value:#x}; the launch's images have handles")))
    }
}

/// Two words.
fn pair(frame: &Frame, slot: Slot, lane: usize) -> u64 {
    u64::from(frame.words[slot as usize][lane]) | u64::from(frame.words[slot as usize + 1][lane]) << 32
}

/// A word that decides what is accessed.
fn word(frame: &Frame, slot: Slot, lane: usize) -> Result<u32, Fault> {
    match frame.undefined[slot as usize] >> lane & 1 {
        0 => Ok(frame.words[slot as usize][lane]),
        _ => Err(Fault::Undefined(lane, "a coordinate")),
    }
}

fn bad(lane: usize, what: &str) -> Fault {
    Fault::Trap(lane, Cause::BadImage(what.to_owned()))
}

/// A lane's bit of a mask.
fn lanes_bit(lane: usize, on: bool) -> u32 {
    u32::from(on) << lane
}

#[cfg(test)]
mod tests;
