//! Tensor maps and what copies by them: PTX ISA 9.0, "Tensors" and "cp.async.bulk.tensor"; CUDA driver API,
//! "cuTensorMapEncodeTiled".
//!
//! A map has 128 bytes, which nobody but the driver and the machine know. Here they hold what the launch says of the
//! map in an encoding of our own ([`encoded`]): an instruction reads them where its operand leads to, so that a map may
//! be a parameter, a constant or a copy of one in global memory. What is there otherwise is no map, and a trap.
//!
//! A copy by a map moves a box of elements, in the tiled mode without interleaving. In shared memory the box lies
//! without gaps, the first direction innermost; pieces of 16 bytes of it change places as the swizzle says, by bits of
//! their addresses. Elements outside of the tensor are filled when they are loaded, and left out when they are stored.
//! Each piece is an operation of its own ([`super::asynchronous`]), so on request they are done at different moments.

use oriole_ir::ops::{AtomOp, Type};

use super::access::{Fault, Spaces, address_of, check_defined};
use super::asynchronous::{GroupKind, Site, Source, Until, Work};
use super::bulk::{BARRIER, BYTE_STEPS, GRAIN, word};
use super::frame::Frame;
use super::memory::Bytes;
use super::outcome::Cause;
use super::program::{Address, Elements, Memory, Place};
use super::strong::Strong;
use oriole_launch::{MAX_BOX, MAX_RANK, ScalarType, Swizzle, TensorMap};
use oriole_semantics::lanes::lanes;

/// Bytes of a map.
const MAP_BYTES: usize = TensorMap::BYTES;
/// What a map begins with.
const MARK: [u8; 8] = *b"OrioleTM";
/// What boxes in shared memory are aligned to, in bytes.
const BOX_ALIGN: u64 = 128;

/// A copy by a tensor map.
#[derive(Clone, Debug)]
pub struct TensorOp {
    /// Where the map lies.
    pub map: Address,
    /// The place of the box in the tensor, in elements.
    pub coordinates: Elements,
    /// Where the box lies in shared memory.
    pub shared: Address,
    /// The barrier that counts what is loaded; stores are in the thread's open group.
    pub barrier: Option<Address>,
    /// The CTAs of the cluster that it goes to, one bit each; without that it goes to one place.
    pub ctas: Option<Place>,
    /// How global memory is combined with what is stored.
    pub combine: Option<AtomOp>,
}

/// A map as its bytes say it, at an address.
struct Map {
    address: u64,
    element: ScalarType,
    swizzle: Swizzle,
    nan: bool,
    dims: Vec<u64>,
    /// Bytes from one element to the next in each direction.
    strides: Vec<u64>,
    extents: Vec<u64>,
    steps: Vec<u64>,
}

/// The bytes of a map of what lies at an address.
///
/// Eight bytes that say what it is, the address, the type, the number of directions, the swizzle and the fill, a byte
/// each; then five directions: 4 bytes of extent, less one, 8 of stride, 2 of the box, 1 of the step.
pub fn encoded(map: &TensorMap, address: u64) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    bytes.extend(address.to_le_bytes());
    let ty = ScalarType::ALL.iter().position(|ty| *ty == map.element).unwrap_or(0);
    bytes.extend([ty as u8, map.dims.len() as u8, map.swizzle as u8, u8::from(map.nan)]);
    let strides = std::iter::once(map.element.bytes() as u64).chain(map.strides.iter().copied());
    for (axis, stride) in strides.enumerate() {
        let of = |values: &[u64]| values.get(axis).copied().unwrap_or(0);
        bytes.extend((of(&map.dims) as u32).wrapping_sub(1).to_le_bytes());
        bytes.extend(stride.to_le_bytes());
        bytes.extend((of(&map.extents) as u16).to_le_bytes());
        bytes.push(of(&map.steps) as u8);
    }
    bytes.resize(MAP_BYTES, 0);
    bytes
}

impl Map {
    /// Reads what [`encoded`] writes; `None` for anything else.
    fn decoded(bytes: &[u8; MAP_BYTES]) -> Option<Map> {
        let number = |at: usize, len: usize| {
            bytes[at..at + len].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
        };
        if bytes[..8] != MARK {
            return None;
        }
        let [ty, rank, swizzle, nan] = [16, 17, 18, 19].map(|at| bytes[at]);
        let at = |axis: usize| 20 + 15 * axis;
        let axes = || 0..usize::from(rank);
        let extents: Vec<u64> = axes().take(MAX_RANK).map(|axis| number(at(axis) + 12, 2)).collect();
        let sound =
            (1..=MAX_RANK).contains(&usize::from(rank)) && extents.iter().all(|extent| (1..=MAX_BOX).contains(extent));
        sound.then_some(())?;
        Some(Map {
            address: number(8, 8),
            element: *ScalarType::ALL.get(usize::from(ty))?,
            swizzle: *Swizzle::ALL.get(usize::from(swizzle))?,
            nan: nan == 1,
            dims: axes().map(|axis| number(at(axis), 4) + 1).collect(),
            strides: axes().map(|axis| number(at(axis) + 4, 8)).collect(),
            extents,
            steps: axes().map(|axis| number(at(axis) + 14, 1).max(1)).collect(),
        })
    }

    /// How many elements of each direction a box has. The step of the first one does not count (CUDA driver API).
    fn counts(&self) -> Vec<u64> {
        let count =
            |axis: usize| if axis == 0 { self.extents[0] } else { self.extents[axis].div_ceil(self.steps[axis]) };
        (0..self.dims.len()).map(count).collect()
    }

    /// The type of an element, as reductions take it.
    fn ty(&self) -> Type {
        match self.element {
            ScalarType::F16 => Type::F16,
            ScalarType::Bf16 => Type::Bf16,
            ScalarType::F32 => Type::F32,
            ScalarType::F64 => Type::F64,
            ScalarType::S32 => Type::S32,
            ScalarType::S64 => Type::S64,
            ty if ty.bytes() == 8 => Type::U64,
            _ => Type::U32,
        }
    }

    /// What stands for elements outside of the tensor, in 16 bytes: zeros, or what is no number.
    fn fill(&self) -> Bytes {
        let size = self.element.bytes();
        let byte = |at: usize| match self.nan {
            true if at % size == size - 1 => 0x7f,
            true => 0xff,
            false => 0,
        };
        Bytes::defined((0..GRAIN as usize).map(byte).collect())
    }
}

/// A row of a box: where it lies in the box, in bytes, and in the tensor, where it lies there at all.
struct Row {
    within: u64,
    address: Option<u64>,
}

/// The rows of a box at a place.
fn rows(map: &Map, place: &[i64]) -> Vec<Row> {
    let counts = map.counts();
    let pitch = counts[0] * map.element.bytes() as u64;
    let total: u64 = counts[1..].iter().product();
    let row = |index: u64| {
        let (mut left, mut address) = (index, Some(map.address));
        for axis in 1..counts.len() {
            let at = place[axis] + ((left % counts[axis]) * map.steps[axis]) as i64;
            left /= counts[axis];
            let inside = u64::try_from(at).ok().filter(|at| *at < map.dims[axis]);
            address = address.zip(inside).map(|(address, at)| address.wrapping_add(at.wrapping_mul(map.strides[axis])));
        }
        Row { within: index * pitch, address }
    };
    (0..total).map(row).collect()
}

/// Some bytes of a box: where they lie in it, and in the tensor, or nowhere.
struct Piece {
    within: u64,
    bytes: u64,
    address: Option<u64>,
}

/// The pieces of a row: 16 bytes where these lie in the tensor and are aligned to 8, or all outside; else elements.
fn pieces(map: &Map, row: &Row, first: i64) -> Vec<Piece> {
    let size = map.element.bytes() as u64;
    let count = map.counts()[0];
    let each = GRAIN / size;
    let address = |index: u64| {
        let at = u64::try_from(first + index as i64).ok().filter(|at| *at < map.dims[0])?;
        Some(row.address?.wrapping_add(at * size))
    };
    let mut out = Vec::new();
    for chunk in 0..count.div_ceil(each) {
        let elements = chunk * each..((chunk + 1) * each).min(count);
        let found: Vec<Option<u64>> = elements.clone().map(address).collect();
        let whole = found.iter().all(Option::is_none)
            || found.iter().all(Option::is_some) && found[0].is_some_and(|at| at.is_multiple_of(8));
        let within = row.within + chunk * GRAIN;
        if whole {
            out.push(Piece { within, bytes: size * found.len() as u64, address: found[0] });
            continue;
        }
        let single = |(index, address)| Piece { within: within + size * index as u64, bytes: size, address };
        out.extend(found.into_iter().enumerate().map(single));
    }
    out
}

/// An address in shared memory with the bits that a swizzle exchanges: the number of a piece of 16 bytes within a row
/// of a bank pattern, combined with the number of the row.
fn swizzled(swizzle: Swizzle, at: u64) -> u64 {
    at ^ (at >> 7 & swizzle.mask()) << 4
}

impl Spaces<'_> {
    /// Begins a copy by a tensor map in each lane of a mask.
    pub fn tensor(&mut self, frame: &Frame, op: &TensorOp, mask: u32) -> Result<(), Fault> {
        for address in [&op.map, &op.shared].into_iter().chain(&op.barrier) {
            check_defined(frame, address, mask)?;
        }
        lanes(mask).try_for_each(|lane| self.tensor_of_lane(frame, op, lane))
    }

    fn tensor_of_lane(&mut self, frame: &Frame, op: &TensorOp, lane: usize) -> Result<(), Fault> {
        let map = self.map(frame, &op.map, lane)?;
        let trap = |what: String| Fault::Trap(lane, Cause::BadCopy(what));
        let mut place = Vec::new();
        for slot in op.coordinates.iter() {
            let at = word(frame, Place::Word(*slot), lane, "the place of a box in a tensor")?;
            place.push(i64::from(at as u32 as i32));
        }
        if place.len() != map.dims.len() {
            return Err(trap(format!("its tensor has {} directions, and it names {}", map.dims.len(), place.len())));
        }
        let size: u64 = map.counts().iter().product::<u64>() * map.element.bytes() as u64;
        let start = address_of(frame, &op.shared, lane);
        if !start.is_multiple_of(BOX_ALIGN) {
            let cause = Cause::Misaligned { space: "shared", address: start, bytes: BOX_ALIGN as u32 };
            return Err(Fault::Trap(lane, cause));
        }
        // A swizzle moves pieces within lines of 128 bytes.
        let taken = if map.swizzle == Swizzle::None { size } else { size.next_multiple_of(BOX_ALIGN) };
        let shared = self.stretch(&op.shared, frame, (taken, GRAIN), lane)?;
        let barrier = match &op.barrier {
            Some(barrier) => Some(self.stretch(barrier, frame, (BARRIER, BARRIER), lane)?),
            None => None,
        };
        let ctas = match op.ctas {
            Some(ctas) => Some(word(frame, ctas, lane, "the CTAs that a copy goes to")?),
            None => None,
        };
        self.extra_steps += BYTE_STEPS * size;
        for (shared, barrier) in self.places(shared, barrier, ctas, lane)? {
            let Site::Shared(..) = shared else {
                return Err(trap("a box lies in shared memory".to_owned()));
            };
            for row in rows(&map, &place) {
                for piece in pieces(&map, &row, place[0]) {
                    self.piece_of_box(&map, op, (shared, barrier), &piece, lane)?;
                }
            }
        }
        Ok(())
    }

    /// Begins to load or store some bytes of a box.
    fn piece_of_box(
        &mut self,
        map: &Map,
        op: &TensorOp,
        (shared, barrier): (Site, Option<Site>),
        piece: &Piece,
        lane: usize,
    ) -> Result<(), Fault> {
        let Site::Shared(rank, start) = shared else { return Ok(()) };
        let here = Site::Shared(rank, swizzled(map.swizzle, start as u64 + piece.within) as usize);
        let there = match piece.address {
            Some(address) => Some(self.tensor_site(address, piece.bytes, lane)?),
            None => None,
        };
        let bytes = piece.bytes as usize;
        let (until, work, written) = match (barrier, there) {
            (Some(barrier), there) => {
                let from = there.map_or_else(|| Source::Held(map.fill()), Source::Memory);
                (Until::Barrier(barrier), Work::Copy { to: here, from, read: bytes }, here)
            }
            (None, None) => return Ok(()),
            (None, Some(to)) => {
                let from = Source::Memory(here);
                let work = match op.combine {
                    Some(op) => Work::Combine { to, from, op, ty: map.ty() },
                    None => Work::Copy { to, from, read: bytes },
                };
                (Until::Group(GroupKind::Bulk, None), work, to)
            }
        };
        if let Some(read) = there.map(|there| if barrier.is_some() { there } else { here }) {
            self.observe_next(self.located(read), piece.bytes, lane, false, None);
        }
        self.observe_next(self.located(written), piece.bytes, lane, true, op.combine.map(|_| Strong::COMBINES));
        self.begin(lane, until, bytes, work)
    }

    fn tensor_site(&mut self, address: u64, bytes: u64, lane: usize) -> Result<Site, Fault> {
        let trap = |cause| Fault::Trap(lane, cause);
        let size = if bytes == GRAIN { 8 } else { bytes };
        let found = self.locate(Memory::Global, address, size, lane).map_err(trap)?;
        if bytes == GRAIN {
            self.locate(Memory::Global, address + 8, size, lane).map_err(trap)?;
        }
        self.site(found).ok_or_else(|| trap(Cause::BadCopy("its tensor is not in global memory".to_owned())))
    }

    /// The map at an address.
    fn map(&mut self, frame: &Frame, address: &Address, lane: usize) -> Result<Map, Fault> {
        let trap = |cause| Fault::Trap(lane, cause);
        let start = address_of(frame, address, lane);
        let mut bytes = [0; MAP_BYTES];
        for at in (0..MAP_BYTES).step_by(8) {
            let found = self.locate(address.memory, start.wrapping_add(at as u64), 8, lane).map_err(trap)?;
            let (memory, offset) = self.memory(found);
            let (value, undefined) = memory.load(offset, 8);
            if undefined {
                return Err(Fault::Undefined(lane, "a tensor map"));
            }
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let none =
            || trap(Cause::BadCopy("no tensor map lies there, as `tensor_map` in a launch file makes one".to_owned()));
        Map::decoded(&bytes).ok_or_else(none)
    }
}

#[cfg(test)]
mod tests;
