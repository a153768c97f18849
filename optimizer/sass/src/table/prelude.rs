//! The words that rows are written with.

pub use crate::bits::Bits;
pub use crate::class::*;
pub use crate::row::Form::*;
pub use crate::row::Format::*;
pub use crate::row::{
    File, Form, H1, HALF, HALVES, INV, Marks, NEG, NEG_ABS, Names, PAIRS, PLAIN, Part, RESERVED, Row, Show, What,
};

/// `B` and `C` in every form of an operation with two sources.
pub const TWO: &[Form] = &[Rr, Ir, Cr, Xr, Ur];
/// The forms of an operation with three sources.
pub const THREE: &[Form] = &[Rr, Ri, Rc, Rx, Ir, Cr, Xr, Ur, Ru];

/// The forms of an operation whose second source is called the third one.
pub const LAST: &[Form] = &[Rr, Ri, Rc, Rx, Ru];

/// A modifier of so many bits.
pub const fn m(low: u8, len: u8, names: Names) -> Part {
    Part::new(What::Modifier(names), Bits::new(low, len))
}

/// A modifier of one bit, printed where that is set.
pub const fn flag(bit: u8, names: Names) -> Part {
    m(bit, 1, names)
}

/// A general register.
pub const fn r(low: u8) -> Part {
    Part::new(What::Register(File::R), Bits::new(low, 8))
}

/// The destination.
pub const fn rd() -> Part {
    r(16)
}

/// The first source.
pub const fn ra() -> Part {
    r(24).reuse(122)
}

/// The second source where it is a register in every form.
pub const fn rb() -> Part {
    r(32).reuse(123)
}

/// The third source where it is a register in every form.
pub const fn rc() -> Part {
    r(64).reuse(124)
}

/// A uniform register: of 6 bits before `sm_100`, of 8 from then on.
pub const fn ur(low: u8) -> Part {
    Part::new(What::Register(File::Ur), Bits::new(low, 6))
}

/// A predicate.
pub const fn p(low: u8) -> Part {
    Part::new(What::Register(File::P), Bits::new(low, 3))
}

/// A predicate that is read, with the bit that inverts it behind its own.
pub const fn pin(low: u8) -> Part {
    p(low).not(low + 3)
}

/// A uniform predicate.
pub const fn up(low: u8) -> Part {
    Part::new(What::Register(File::Up), Bits::new(low, 3))
}

/// A uniform predicate that is read.
pub const fn upin(low: u8) -> Part {
    up(low).not(low + 3)
}

/// The operand of the middle.
pub const fn b(format: crate::row::Format) -> Part {
    Part::new(What::B(format), Bits::NONE)
}

/// The last operand.
pub const fn c(format: crate::row::Format) -> Part {
    Part::new(What::C(format), Bits::NONE)
}

/// The last operand of an operation that has it in the place of the middle one.
pub const fn low(format: crate::row::Format) -> Part {
    Part::new(What::Low(format), Bits::NONE)
}

/// An immediate.
pub const fn imm(low: u8, len: u8, format: crate::row::Format) -> Part {
    Part::new(What::Immediate(format), Bits::new(low, len))
}

/// Bits that may have any value, which nothing reads.
pub const fn any(low: u8, len: u8) -> Part {
    m(low, len, &[]).show(Show::Never)
}

/// A bit that is set in words of the uniform datapath and of operations that take a uniform register.
pub const U: (Bits, u64) = (Bits::new(91, 1), 1);

/// The bits of a row that has nothing but [`U`] fixed.
pub const FIXED_U: &[(Bits, u64)] = &[U];

/// A predicate whose code counts down from `PT`, with the bit that inverts it behind its own.
pub const fn p_down(low: u8) -> Part {
    pin(low).backwards()
}

/// The register that an address begins with.
pub const fn base(low: u8) -> Part {
    Part::new(What::Base, Bits::new(low, 8))
}

/// The same, with a pair of registers.
pub const fn base64(low: u8) -> Part {
    base(low).suffix(0, 0, &["64"])
}

/// The register that an address begins with, a pair where the flag says that it has 64 bits.
pub const fn address(flag: &'static Part) -> Part {
    base(24).sized(flag)
}

/// The uniform register of an address.
pub const fn ubase(low: u8) -> Part {
    Part::new(What::UniformBase, Bits::new(low, 6))
}

/// The uniform registers of an address of 64 bits.
pub const fn ubase64(low: u8) -> Part {
    ubase(low).words(2)
}

/// The uniform register of a memory descriptor.
pub const fn desc(low: u8) -> Part {
    Part::new(What::Descriptor, Bits::new(low, 6))
}

/// The offset of an address.
pub const fn offset() -> Part {
    Part::new(What::Offset, Bits::new(40, 24))
}

/// An operand, or a group of operands, of another kind at some bits.
pub const fn at(what: What, low: u8, len: u8) -> Part {
    Part::new(what, Bits::new(low, len))
}
