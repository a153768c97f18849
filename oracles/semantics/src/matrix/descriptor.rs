//! Matrices in shared memory as `wgmma` reads them: PTX ISA 9.0, "Shared Memory Matrix Layout", "Strides" and "Matrix
//! Descriptor Format".
//!
//! A descriptor has the address of the first element, two strides, a swizzle and a base offset, all in units of 16
//! bytes but the last two. By *lines* is meant what the matrix has beside the inner extent: rows of A, columns of B.
//!
//! Where the inner extent runs within 16 bytes ("K-major"), eight lines are below each other: 16 bytes apart without
//! swizzle, else the width of the swizzle apart (32, 64 or 128 bytes). The next eight lines are a stride byte offset
//! away, and what does not fit in the 16 bytes, or in the width, a leading byte offset. Where the lines run within 16
//! bytes ("MN-major", for elements of 16 bits), the same holds of the inner extent, whose next eight are a stride byte
//! offset away and the next lines a leading byte offset; without swizzle the two offsets change places.
//!
//! A swizzle then flips bits 4 to 6 of an address by bits 7 to 9, as many as its width has. These count from where a
//! pattern begins: the base offset is bits 7 to 9 of that address.

/// What is in one piece: 16 bytes.
const GRAIN: u64 = 16;
/// Lines of a core matrix.
const LINES: u64 = 8;
/// The bits of an address that a descriptor has.
const ADDRESS: u64 = 0x3FFFF;

/// A matrix descriptor, with bytes as units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// The address of the first element.
    pub start: u64,
    /// The leading byte offset.
    pub leading: u64,
    /// The stride byte offset.
    pub stride: u64,
    /// Bits 7 to 9 of the address at which the swizzle's pattern begins.
    pub base_offset: u64,
    /// Bytes that a swizzle works on; 16 where there is none.
    pub width: u64,
}

impl Descriptor {
    /// Reads the bits.
    #[inline]
    pub fn new(bits: u64) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3FFF) * GRAIN;
        let width = match bits >> 62 {
            0 => GRAIN,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), base_offset: bits >> 49 & 7, width }
    }

    /// The address of a byte of the inner extent in a line.
    #[inline]
    pub fn inner_major(&self, line: u64, byte: u64) -> u64 {
        let within = line / LINES * self.stride + line % LINES * self.width;
        self.swizzled(within + byte / self.width * self.leading + byte % self.width)
    }

    /// The address of an element of two bytes, at a place of the inner extent in a line.
    #[inline]
    pub fn line_major(&self, line: u64, inner: u64) -> u64 {
        let (next_lines, next_inner) =
            if self.width == GRAIN { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let byte = 2 * line;
        let within = inner / LINES * next_inner + inner % LINES * self.width;
        self.swizzled(within + byte / self.width * next_lines + byte % self.width)
    }

    #[inline]
    fn swizzled(&self, offset: u64) -> u64 {
        let address = (self.start + offset) & ADDRESS;
        let phase = (address >> 7).wrapping_sub(self.base_offset) & (self.width / GRAIN - 1);
        address ^ phase << 4
    }
}
