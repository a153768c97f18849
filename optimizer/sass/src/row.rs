//! Rows of the encoding table: what one mnemonic's words look like, for all forms of its operands.
//!
//! A row lists its parts in the order in which the text has them: modifiers, then operands. Each part owns bits. What a
//! row does not list belongs to nobody and has the value that the row states as fixed, else zero. The operands that
//! exchange places between forms (a register, an immediate, a word of a constant bank, a uniform register) are
//! [`What::B`] and [`What::C`]; [`super::encoding`] makes them concrete.
//!
//! Layout of all words from Volta on: bits 0 to 11 opcode with the form in bits 9 to 11, 12 to 15 guard, 16 to 23
//! destination, 24 to 31, 32 to 39 (or 32 to 63) and 64 to 71 sources, 105 to 125 scheduling.

use super::bits::Bits;
use super::class::Class;

/// The names of a modifier's values, by their codes; `""` is not printed, [`RESERVED`] is no value.
pub type Names = &'static [&'static str];

/// A code that stands for nothing.
pub const RESERVED: &str = "?";

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// General registers, 32 bits for each lane; the last reads as zero.
    R,
    /// Uniform registers, 32 bits for a warp; the last reads as zero.
    Ur,
    /// Predicates; the last is true.
    P,
    /// Uniform predicates; the last is true.
    Up,
    /// Convergence barriers.
    B,
    /// Scoreboards.
    Sb,
}

/// How an immediate is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `0x1f`
    Hex,
    /// `-0x7`, two's complement in the part's bits.
    SignedHex,
    /// With a sign where the bit is set, else without.
    HexBy(u8),
    /// `12`
    Decimal,
    /// A float of 32 bits.
    F32,
    /// The upper half of a float of 64 bits.
    F64,
    /// A float of 16 bits, the lower half of the part.
    F16,
    /// A float of 16 bits with the exponent of 32-bit ones, the lower half of the part.
    Bf16,
    /// Two floats of 16 bits, the upper one first.
    F16x2,
    /// Two floats of 16 bits with the exponent of 32-bit ones, the upper one first.
    Bf16x2,
    /// Pairs of signs by two bits each, the upper ones first: `PPPNNPZP`.
    Signs,
    /// Two floats, in the format that the bit of the row says.
    HalfBy(u8),
}

/// What a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// `.NAME` behind the mnemonic.
    Modifier(Names),
    /// A register.
    Register(File),
    /// The operand that is a register, an immediate, a constant or a uniform register, as the form says.
    B(Format),
    /// The other operand that may be one of these.
    C(Format),
    /// The same, of an operation without `B` that has it in the place of `B` in every form.
    Low(Format),
    /// An immediate.
    Immediate(Format),
    /// A word of a constant bank: `c[0x0][0x210]`. The bits are those of the bank, then of the offset.
    Constant,
    /// A word of a bank at an offset that a register adds to: `c[0x3][R2+0x10]`. The register stands before.
    Indexed(File),
    /// A word of a bank that a uniform register names: `cx[UR4][0x10]`.
    Bindless,
    /// What is at an offset in bytes in a bank: `c[0x0][0x211]`. The bits are those of the bank, then of the
    /// offset.
    ConstantByte,
    /// What is at an offset in bytes in a bank that a uniform register names: `cx[UR4][0x11]`.
    BindlessByte,
    /// The uniform register of a memory descriptor: `desc[UR4]`, before an address.
    Descriptor,
    /// The uniform register of the descriptors of matrices in shared memory, `gdesc[UR4]`, or of an address in tensor
    /// memory, `tmem[UR4]`, which an offset may follow.
    Within(&'static str),
    /// Two uniform registers side by side in brackets of their own: `tmem[UR4], idesc[UR5]`.
    Beside([&'static str; 2]),
    /// `.NAME` behind the operand before.
    Mark(Names),
    /// The register that an address begins with.
    Base,
    /// The uniform register that is added to an address.
    UniformBase,
    /// The signed offset that ends an address.
    Offset,
    /// The same in units of 32 bytes.
    WideOffset,
    /// The address that a branch goes to, as a distance from the next word.
    Target,
    /// The same, as a distance in bytes.
    TargetByte,
    /// The same, in words of four bytes, behind a register that is added, without a comma between them.
    TargetBehind,
    /// A signed distance in words of four bytes, behind a register that it is added to, without a comma between them.
    Distance,
    /// An absolute address in words of four bytes.
    Place,
    /// A special register by number.
    Special(Names),
    /// An operand that is written as a name.
    Name(Names),
    /// Text that is always there.
    Word(&'static str),
    /// A set of predicates by mask.
    Mask,
}

impl What {
    /// The bytes that an address's offset counts; nothing else has them.
    pub fn offset_unit(self) -> Option<i64> {
        match self {
            What::Offset => Some(1),
            What::WideOffset => Some(32),
            _ => None,
        }
    }
}

/// When a part is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// Always.
    Always,
    /// Unless it has this value, its `not` bit on top.
    Unless(u64),
    /// Where these bits have this value.
    Where(Bits, u64),
    /// Where these bits have another value.
    WhereNot(Bits, u64),
    /// Where both have these values.
    WhereBoth([(Bits, u64); 2]),
    /// Never: the bits may have any value, which nothing reads.
    Never,
}

/// How many neighbouring registers of its file a part names, the first of them by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// So many. The registers of 64-bit addresses and of memory descriptors are two where nothing else is said.
    Count(u8),
    /// As many as this modifier says by its name: `.64` two, `.F16x8` four, `.E` the two of a 64-bit address.
    By(&'static Part),
}

/// What becomes of the registers that a part names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Those of the bits 16 to 23 are written, and so are predicates that no bit can invert; all others are read.
    Usual,
    /// They are read.
    Read,
    /// They are written.
    Written,
}

/// No bit.
pub const NO_BIT: u8 = u8::MAX;

/// A part of an encoding: what it is, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is.
    pub what: What,
    /// Its bits.
    pub at: Bits,
    /// Further bits, above those in its value.
    pub above: Bits,
    /// The bit that negates it.
    pub negate: u8,
    /// The bit that takes its absolute value.
    pub absolute: u8,
    /// The bit that inverts it, all bits or the one of a predicate.
    pub invert: u8,
    /// The bit that makes a negation an inversion of all bits: operations that take a carry.
    pub complement: u8,
    /// The bit by which it stays in the operand cache.
    pub reuse: u8,
    /// A suffix, such as the half that is read: its bits and names.
    pub suffix: Option<(Bits, Names)>,
    /// Whether the code counts down: all bits set stand for the number zero.
    pub backwards: bool,
    /// When it is printed.
    pub show: Show,
    /// How many registers it names.
    pub words: Words,
    /// What becomes of them.
    pub access: Access,
    /// What ptxas writes where nothing reads it.
    pub usual: u64,
}

impl Part {
    /// A part without anything beside its bits.
    pub const fn new(what: What, at: Bits) -> Part {
        Part {
            what,
            at,
            above: Bits::NONE,
            negate: NO_BIT,
            absolute: NO_BIT,
            invert: NO_BIT,
            complement: NO_BIT,
            reuse: NO_BIT,
            suffix: None,
            backwards: false,
            show: Show::Always,
            words: Words::Count(1),
            access: Access::Usual,
            usual: 0,
        }
    }

    /// Naming so many registers.
    pub const fn words(mut self, count: u8) -> Part {
        self.words = Words::Count(count);
        self
    }

    /// Naming as many registers as a modifier says.
    pub const fn sized(mut self, by: &'static Part) -> Part {
        self.words = Words::By(by);
        self
    }

    /// Naming registers that are read although they stand where results do.
    pub const fn read(mut self) -> Part {
        self.access = Access::Read;
        self
    }

    /// Naming registers that are written although they stand where sources do.
    pub const fn written(mut self) -> Part {
        self.access = Access::Written;
        self
    }

    /// With what ptxas writes where nothing reads it.
    pub const fn usually(mut self, value: u64) -> Part {
        self.usual = value;
        self
    }

    /// With a bit that negates it.
    pub const fn neg(mut self, bit: u8) -> Part {
        self.negate = bit;
        self
    }

    /// With a bit that takes its absolute value.
    pub const fn abs(mut self, bit: u8) -> Part {
        self.absolute = bit;
        self
    }

    /// With a bit that inverts it.
    pub const fn not(mut self, bit: u8) -> Part {
        self.invert = bit;
        self
    }

    /// With a bit, of another part, that makes its negation an inversion of all bits.
    pub const fn complement(mut self, bit: u8) -> Part {
        self.complement = bit;
        self
    }

    /// With a bit by which it stays in the operand cache.
    pub const fn reuse(mut self, bit: u8) -> Part {
        self.reuse = bit;
        self
    }

    /// With further bits, above the others.
    pub const fn above(mut self, low: u8, len: u8) -> Part {
        self.above = Bits::new(low, len);
        self
    }

    /// With a suffix.
    pub const fn suffix(mut self, low: u8, len: u8, names: Names) -> Part {
        self.suffix = Some((Bits::new(low, len), names));
        self
    }

    /// With a code that counts down.
    pub const fn backwards(mut self) -> Part {
        self.backwards = true;
        self
    }

    /// Printed only there.
    pub const fn show(mut self, show: Show) -> Part {
        self.show = show;
        self
    }

    /// Printed unless it has this value, its `not` bit on top.
    pub const fn unless(self, value: u64) -> Part {
        self.show(Show::Unless(value))
    }

    /// Printed where these bits have this value.
    pub const fn only(self, low: u8, len: u8, value: u64) -> Part {
        self.show(Show::Where(Bits::new(low, len), value))
    }

    /// All bits that it owns.
    pub fn mask(&self) -> u128 {
        let marks = [self.negate, self.absolute, self.invert, self.reuse];
        let marks = marks.into_iter().filter(|bit| *bit != NO_BIT).fold(0, |mask, bit| mask | 1u128 << bit);
        self.at.mask() | self.above.mask() | self.suffix.map_or(0, |(bits, _)| bits.mask()) | marks
    }
}

/// The forms of words: what is in bits 32 to 63, and for which operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The opcode says all; the row has neither [`What::B`] nor [`What::C`].
    Whole,
    /// Registers.
    Rr,
    /// `C` is an immediate, and `B` is in the place of `C`.
    Ri,
    /// `C` is a constant.
    Rc,
    /// `B` is an immediate.
    Ir,
    /// `B` is a constant.
    Cr,
    /// `B` is a word of a bank that a uniform register names.
    Xr,
    /// `B` is a uniform register.
    Ur,
    /// `C` is a uniform register.
    Ru,
    /// `C` is a word of a bank that a uniform register names.
    Rx,
}

impl Form {
    /// Bits 9 to 11 of the word.
    pub const fn code(self) -> u16 {
        match self {
            Form::Whole => 0,
            Form::Rr => 1,
            Form::Ri => 2,
            Form::Rc | Form::Rx => 3,
            Form::Ir => 4,
            Form::Cr | Form::Xr => 5,
            Form::Ur => 6,
            Form::Ru => 7,
        }
    }

    /// Whether an SM has it: operands in constant banks ended with `sm_90`.
    pub const fn is_on(self, sm: u16) -> bool {
        sm < 100 || !matches!(self, Form::Rc | Form::Rx | Form::Cr | Form::Xr)
    }
}

/// The marks that operands take in the two places where `B` and `C` stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks {
    /// Negation, by the bit 63 or 75.
    pub negate: bool,
    /// Absolute value, by the bit 62 or 74.
    pub absolute: bool,
    /// Inversion, by the bit 63 or 75.
    pub invert: bool,
    /// Of pairs of halves: the marks of the high place are the bits 83 and 84.
    pub pairs: bool,
    /// The names of the halves that are read, by the bits 60 and 61 or 81 and 82.
    pub halves: Names,
}

/// The SMs that have an encoding: from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sms(pub u16, pub u16);

/// The later name of a word that the same opcode has for some operands (`IMAD.MOV.U32`), with its modifiers.
pub type Alias = fn(u128, Form) -> Option<&'static str>;

/// How many registers a part of a word names, where more than one modifier decides; `None` where the part says it.
pub type Widths = fn(u128, &Part) -> Option<u8>;

/// Whether a word is one, beyond what its parts say for themselves.
pub type Rule = fn(u128) -> bool;

/// What the words of one mnemonic look like.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The mnemonic, with modifiers that are always there.
    pub name: &'static str,
    /// Bits 0 to 11, less the form where there are several.
    pub opcode: u16,
    /// What it does beside writing its results, and how long that takes.
    pub class: Class,
    /// The forms.
    pub forms: &'static [Form],
    /// Modifiers and operands, in the order of the text.
    pub parts: &'static [Part],
    /// Bits that have a value of their own.
    pub fixed: &'static [(Bits, u64)],
    /// Which SMs have it.
    pub sms: Sms,
    /// What marks `B` takes.
    pub b: Marks,
    /// What marks `C` takes.
    pub c: Marks,
    /// Other names.
    pub alias: Option<Alias>,
    /// Which words are none although their parts say nothing against them.
    pub rule: Option<Rule>,
    /// How many registers parts name, where more than one modifier decides.
    pub widths: Option<Widths>,
    /// Whether operands can stay in the operand cache.
    pub reuses: bool,
    /// The file of the guard.
    pub guard: File,
    /// Whether the parts are those of a word of general registers and predicates, of which this one has the uniform
    /// ones.
    pub is_twin: bool,
}

/// No marks.
pub const PLAIN: Marks = Marks { negate: false, absolute: false, invert: false, pairs: false, halves: &[] };
/// Negation.
pub const NEG: Marks = Marks { negate: true, ..PLAIN };
/// Negation and absolute value.
pub const NEG_ABS: Marks = Marks { negate: true, absolute: true, ..PLAIN };
/// Inversion.
pub const INV: Marks = Marks { invert: true, ..PLAIN };
/// Of pairs of halves: negation and absolute value.
pub const PAIRS: Marks = Marks { pairs: true, ..NEG_ABS };
/// The same, and which halves are read.
pub const HALVES: Marks = Marks { halves: HALF, ..PAIRS };
/// The name of the upper half where one is read.
pub const H1: Names = &["", "H1"];
/// The names of the halves that are read.
pub const HALF: Names = &["", RESERVED, "H0_H0", "H1_H1"];

impl Row {
    /// A row with one form and nothing fixed, on every SM.
    pub const fn new(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
        let forms = &[Form::Whole];
        Row {
            name,
            opcode,
            class,
            forms,
            parts,
            fixed: &[],
            sms: Sms(0, u16::MAX),
            b: PLAIN,
            c: PLAIN,
            alias: None,
            rule: None,
            widths: None,
            reuses: true,
            guard: File::P,
            is_twin: false,
        }
    }

    /// With these forms.
    pub const fn forms(mut self, forms: &'static [Form]) -> Row {
        self.forms = forms;
        self
    }

    /// With bits that have a value of their own.
    pub const fn fixed(mut self, fixed: &'static [(Bits, u64)]) -> Row {
        self.fixed = fixed;
        self
    }

    /// On these SMs, from the first to the last.
    pub const fn sms(mut self, first: u16, last: u16) -> Row {
        self.sms = Sms(first, last);
        self
    }

    /// From this SM on.
    pub const fn since(self, first: u16) -> Row {
        self.sms(first, u16::MAX)
    }

    /// With these marks on `B` and `C`.
    pub const fn marks(mut self, b: Marks, c: Marks) -> Row {
        self.b = b;
        self.c = c;
        self
    }

    /// Of the uniform datapath: a uniform predicate guards it.
    pub const fn uniform(mut self) -> Row {
        self.guard = File::Up;
        self
    }

    /// Only words for which this holds.
    pub const fn rule(mut self, rule: Rule) -> Row {
        self.rule = Some(rule);
        self
    }

    /// Naming as many registers as this says.
    pub const fn widths(mut self, widths: Widths) -> Row {
        self.widths = Some(widths);
        self
    }

    /// Of a unit that has no operand cache.
    pub const fn no_reuse(mut self) -> Row {
        self.reuses = false;
        self
    }

    /// Of the uniform datapath, with the parts of the word that does the same for each lane.
    pub const fn twin(mut self) -> Row {
        self.guard = File::Up;
        self.is_twin = true;
        self.no_reuse()
    }

    /// With other names.
    pub const fn alias(mut self, alias: Alias) -> Row {
        self.alias = Some(alias);
        self
    }
}
