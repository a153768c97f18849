//! `wmma.load` and `wmma.store`: a matrix in memory, and the parts of it that the lanes hold.
//!
//! PTX ISA 9.0, "Matrix Fragments for WMMA": "the mapping of the elements of a matrix to the threads is unspecified".
//! Here it is that of the code that ptxas 13.0 makes for `sm_80` and `sm_90`: the matrices of one or two `mma` of 16 or
//! 8 rows, whatever the layout in memory; m8n32k16 is the product of the transposes. Where a fragment has more
//! registers than its lane has elements, they repeat. An element is loaded and stored by the lanes that hold it.
//!
//! PTX ISA 9.0, "Matrix Storage for WMMA", wants each row, or column, at a multiple of the fragment's size; the CUDA
//! C++ guide allows any multiple of 16 bytes between them. The weaker of the two is asked for here.

use super::MatrixOps;
use crate::access::{Fault, Spaces, address_of, address_undefined, from_generic, space_name};
use crate::frame::Frame;
use crate::outcome::Cause;
use crate::program::Memory;
use oriole_semantics::lanes::{LANES, lanes};
use oriole_semantics::matrix::layout::{sum_of_half, sum_of_word, whole_factor};
use oriole_semantics::matrix::{Results, Sources};

/// Accesses to memory that take as long as one step.
const ACCESSES_A_STEP: u64 = 4;

/// Which matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Left,
    Right,
    /// What is added, or the sum.
    Sum,
}

/// A matrix in memory and in lanes.
#[derive(Clone, Copy)]
pub struct Fragment {
    pub part: Part,
    /// Rows and columns.
    pub extents: [usize; 2],
    /// Bits of an element.
    pub bits: usize,
    /// Whether columns, not rows, are consecutive in memory.
    pub by_columns: bool,
    /// How many words of a lane it is, repeated ones counted.
    pub words: usize,
}

impl Fragment {
    /// Row and column of an element of a lane's register.
    pub fn place(&self, lane: usize, register: usize, element: usize) -> (usize, usize) {
        let ([rows, columns], each) = (self.extents, self.each());
        let exchanged = |(row, column)| (column, row);
        match self.part {
            Part::Left => whole_factor([rows, columns], each, lane, register, element),
            // As the rows of A, where the product is that of the transposes: 32 columns are.
            Part::Right if columns == 32 => exchanged(whole_factor([columns, rows], each, lane, register, element)),
            Part::Right => {
                let tile = rows / (4 * each);
                let (column, k) = whole_factor([8, rows], each, lane, register % tile, element);
                (k, column + 8 * (register / tile))
            }
            Part::Sum if columns == 32 => exchanged(self.sum(lane, register, element)),
            Part::Sum => {
                // The registers of 16 rows and 8 columns follow each other.
                let tile = if columns == 16 { 4 / each } else { usize::MAX };
                let (row, column) = self.sum(lane, register % tile, element);
                (row, column + 8 * (register / tile))
            }
        }
    }

    fn sum(&self, lane: usize, register: usize, element: usize) -> (usize, usize) {
        if self.bits == 16 { sum_of_half(lane, register, element) } else { sum_of_word(lane, register) }
    }

    /// Elements of a register.
    fn each(&self) -> usize {
        (32 / self.bits).max(1)
    }

    /// Words of a register.
    fn width(&self) -> usize {
        self.bits.div_ceil(32)
    }

    /// The words of a lane that do not repeat others.
    fn distinct(&self) -> usize {
        self.extents[0] * self.extents[1] * self.bits / (32 * LANES)
    }

    /// How many elements of a register lie beside each other in memory: all or one.
    fn run(&self) -> usize {
        let (first, last) = (self.place(0, 0, 0), self.place(0, 0, self.each() - 1));
        let beside = if self.by_columns { first.1 == last.1 } else { first.0 == last.0 };
        if beside { self.each() } else { 1 }
    }

    /// How many accesses of lanes move it.
    fn accesses(&self) -> u64 {
        (LANES * self.distinct() / self.width() * self.each() / self.run()) as u64
    }

    /// Bytes from the matrix's address to an element.
    fn offset(&self, (row, column): (usize, usize), stride: u64) -> u64 {
        let (line, at) = if self.by_columns { (column, row) } else { (row, column) };
        (stride.wrapping_mul(line as u64)).wrapping_add(at as u64).wrapping_mul(self.bits as u64) / 8
    }
}

/// Where a matrix lies.
#[derive(Clone, Copy)]
pub struct Place {
    memory: Memory,
    address: u64,
    /// In elements.
    stride: u64,
}

/// Where all lanes say that the matrix lies. PTX ISA 9.0, "wmma.load": "each thread in the warp must provide the same
/// address and stride".
pub fn place(frame: &Frame, ops: &MatrixOps, sources: &Sources, fragment: &Fragment) -> Result<Place, Fault> {
    let Some(address) = &ops.address else { return Err(Fault::Undefined(0, "an address")) };
    if let Some(lane) = lanes(address_undefined(frame, address)).next() {
        return Err(Fault::Undefined(lane, "an address"));
    }
    let last = ops.srcs.len() - 1;
    if let Some(lane) = lanes(sources.undefined[last]).next() {
        return Err(Fault::Undefined(lane, "a stride"));
    }
    let given = |lane| (address_of(frame, address, lane), sources.values[last][lane]);
    let (first, stride) = given(0);
    if let Some(lane) = (1..LANES).find(|lane| given(*lane) != given(0)) {
        let cause = format!("lane {lane} gives another address or stride of a matrix than lane 0");
        return Err(Fault::Trap(lane, Cause::BadCollective(cause)));
    }
    let (memory, offset) =
        if address.memory == Memory::Generic { from_generic(first) } else { (address.memory, first) };
    let at = Place { memory, address: offset, stride: stride.into() };
    check(&at, fragment).map_err(|cause| Fault::Trap(0, cause))?;
    Ok(at)
}

/// Refuses other memory than PTX has matrices in, and rows or columns that are not aligned.
fn check(at: &Place, fragment: &Fragment) -> Result<(), Cause> {
    let (space, bytes) = (space_name(at.memory), (4 * fragment.words).min(16) as u32);
    if !matches!(at.memory, Memory::Global | Memory::Shared) {
        let near = "matrices are in global and shared memory".to_owned();
        return Err(Cause::OutOfBounds { space, address: at.address, bytes, near });
    }
    let stride = at.stride * fragment.bits as u64;
    if !at.address.is_multiple_of(bytes.into()) {
        return Err(Cause::Misaligned { space, address: at.address, bytes });
    }
    if !stride.is_multiple_of(8 * u64::from(bytes)) {
        return Err(Cause::Misaligned { space, address: at.address.wrapping_add(stride / 8), bytes });
    }
    Ok(())
}

/// Loads a matrix.
pub fn load(spaces: &mut Spaces<'_>, at: Place, fragment: &Fragment, results: &mut Results) -> Result<(), Fault> {
    let distinct = fragment.distinct();
    spaces.extra_steps += fragment.accesses() / ACCESSES_A_STEP;
    each_access(fragment, |lane, register, element, bytes| {
        let address = at.address.wrapping_add(fragment.offset(fragment.place(lane, register, element), at.stride));
        let (value, undefined) = spaces.read_bytes(at.memory, address, bytes, lane)?;
        let word = register * fragment.width();
        for part in 0..fragment.width() {
            results.values[word + part][lane] |= ((value >> (32 * part)) as u32) << (element * fragment.bits);
            results.undefined[word + part] |= u32::from(undefined) << lane;
        }
        Ok(())
    })?;
    for word in distinct..fragment.words {
        results.values[word] = results.values[word % distinct];
        results.undefined[word] = results.undefined[word % distinct];
    }
    Ok(())
}

/// Stores a matrix.
pub fn store(spaces: &mut Spaces<'_>, at: Place, fragment: &Fragment, sources: &Sources) -> Result<(), Fault> {
    spaces.extra_steps += fragment.accesses() / ACCESSES_A_STEP;
    each_access(fragment, |lane, register, element, bytes| {
        let address = at.address.wrapping_add(fragment.offset(fragment.place(lane, register, element), at.stride));
        let words = register * fragment.width()..(register + 1) * fragment.width();
        let undefined = sources.undefined[words.clone()].iter().any(|lanes| lanes >> lane & 1 == 1);
        let value = words.rev().fold(0, |value, word| value << 32 | u64::from(sources.values[word][lane]));
        spaces.write_bytes(at.memory, address, bytes, lane, (value >> (element * fragment.bits), undefined))
    })
}

/// Visits what each lane accesses: register, first element in it, bytes.
fn each_access(
    fragment: &Fragment,
    mut visit: impl FnMut(usize, usize, usize, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (run, each) = (fragment.run(), fragment.each());
    for lane in 0..LANES {
        for register in 0..fragment.distinct() / fragment.width() {
            for element in (0..each).step_by(run) {
                visit(lane, register, element, run * fragment.bits / 8)?;
            }
        }
    }
    Ok(())
}
