//! What an instruction can be: the opcode table, its fields and its operand shapes.
//!
//! One row holds everything that is true of an opcode: parser, printer, verifier, PTX front end and printer, generator,
//! matchers and interpreters read it, and no other place lists opcodes by property. Rows of both levels are in
//! `common.rs`, those of the virtual level in `virtual_level/`, and the few of the machine level in
//! `machine_level.rs`; [`table`] makes the enum and the table of them.

mod columns;
mod common;
pub mod field;
mod flags;
mod image;
mod machine_level;
mod prelude;
pub mod special;
mod table;
pub mod video;
mod virtual_level;

pub use columns::{Availability, Cost, Latency, Later, UndefTransfer};
pub use field::*;
pub use flags::Flags;
pub use image::ImagePart;
pub use special::SpecialReg;
pub use table::{Opcode, ROWS};
pub use video::{SimdSelectors, VideoPart, VideoSelectors};

use std::collections::HashMap;
use std::sync::OnceLock;

/// The kind of program that an opcode belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Typed, PTX-like operations on virtual registers.
    Virtual,
    /// SASS operations with their modifiers.
    Machine,
    /// Both: phis, copies, branches.
    Any,
}

/// What one operand of an opcode is. Widths follow from the instruction's fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// A value of the `Type` field.
    T,
    /// A value twice as wide as `Type`.
    W,
    /// A value of the `SrcType` field.
    S,
    /// A 32-bit value.
    R,
    /// A 64-bit value.
    D,
    /// A predicate.
    P,
    /// The base of an address: a register of one or two words, a symbol, a constant.
    Base,
    /// The byte offset of an address: an immediate.
    Offset,
    /// As many values of `Type` as the `Vector` field says.
    V,
    /// The registers in which a lane holds its part of a matrix.
    Matrix(Matrix),
    /// A part of an instruction on a texture or a surface.
    Image(ImagePart),
    /// An immediate.
    Imm,
    /// A special register.
    Special,
    /// A block.
    Block,
    /// One or more blocks (last in its list).
    Blocks,
    /// A function, or a register that holds a function's address.
    Callee,
    /// Parameter variables: results and arguments of a call (last in its list).
    Params,
    /// Pairs of a value of the destination's width and the predecessor block that it comes from (last in its list).
    Incoming,
    /// Two or more values of `Type`, lowest first (last in its list).
    Parts,
    /// A value as wide as all the parts together.
    Packed,
    /// A register of any file and width.
    Any,
    /// The text of an instruction of PTX, with places for its operands.
    Template,
    /// Registers, as many as the instruction writes (last in its list).
    Written,
    /// What an instruction of the machine takes: registers, immediates, words of constant banks, names, functions,
    /// blocks (last in its list).
    Taken,
    /// What is in the places of a template that are read (last in its list).
    Places,
}

/// A matrix that the lanes of a warp hold together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Matrix {
    /// One of 8 rows of 8 elements of 16 bits, or several beside each other, as many as the `MatrixCount` field says.
    Rows,
    /// The first factor of a product, of `LeftElement`.
    Left,
    /// The second one, of `RightElement`.
    Right,
    /// A product, of `Type`.
    Sum,
    /// What a product is added to, of `Addend`.
    Addend,
    /// The elements of the first factor that are held: half of them.
    Held,
    /// Which ones these are: a register, which PTX writes without braces.
    Metadata,
}

/// A field that an opcode takes: its legal values and the value that is not written, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldSpec {
    /// The field.
    pub field: Field,
    /// A bit for each legal value.
    pub legal: u64,
    /// The value that absence means; `None` where the field must be written.
    pub default: Option<u8>,
}

impl FieldSpec {
    /// The legal values' indices, lowest first.
    pub fn values(&self) -> impl Iterator<Item = u8> + use<> {
        let legal = self.legal;
        (0..64).filter(move |v| legal >> v & 1 == 1)
    }
}

/// A rule between fields of a row: if `field` has one of `values`, and the field of `also` one of its values, then
/// `then` has one of `allowed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The field that the rule looks at.
    pub field: Field,
    /// The values (a bit each) that it applies to.
    pub values: u64,
    /// A second field that must have one of these values for the rule to apply.
    pub also: Option<(Field, u64)>,
    /// The field that it restricts.
    pub then: Field,
    /// The values (a bit each) that are left.
    pub allowed: u64,
}

/// Everything that is true of one opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// The opcode.
    pub opcode: Opcode,
    /// Its mnemonic in `.ori`; may contain dots.
    pub name: &'static str,
    /// Its PTX name with the modifiers that are always there; `None` where it takes code to read and print.
    pub ptx: Option<&'static str>,
    /// The level that it belongs to.
    pub level: Level,
    /// Its results.
    pub dsts: &'static [Shape],
    /// Its operands.
    pub srcs: &'static [Shape],
    /// Its properties.
    pub flags: Flags,
    /// The fields it takes, in the order in which they are written.
    pub fields: &'static [FieldSpec],
    /// Rules between the fields.
    pub requires: &'static [Requirement],
    /// The first SM that has it, of those that [`crate::sm`] knows.
    pub since: u16,
    /// The field values that came later.
    pub later: &'static [Later],
    /// What it costs; see [`OpRow::cost`].
    pub cost: Cost,
    /// The place among operations of equal cost: rewriting prefers those with the lower one.
    pub rank: u8,
    /// How long its results take.
    pub latency: Latency,
    /// How undefined bits pass through; see [`OpRow::undef_transfer`].
    pub undef: UndefTransfer,
    /// What it does.
    pub doc: &'static str,
}

impl OpRow {
    /// The position of a field in an instruction's field values.
    #[inline]
    pub fn slot(&self, field: Field) -> Option<usize> {
        let slot = SLOTS[self.opcode as usize][field as usize];
        (slot != NO_SLOT).then_some(usize::from(slot))
    }

    /// The first rule that these field values break.
    pub fn broken_rule(&self, values: &FieldValues) -> Option<&'static Requirement> {
        let value = |field| self.slot(field).map(|slot| 1u64 << values.0[slot]);
        self.requires.iter().find(|rule| {
            let also = rule.also.is_none_or(|(field, values)| value(field).is_some_and(|v| v & values != 0));
            also && value(rule.field).is_some_and(|v| v & rule.values != 0)
                && value(rule.then).is_some_and(|v| v & rule.allowed == 0)
        })
    }

    /// The value of a field under these values, if the row has the field.
    #[inline]
    pub fn value<F: FieldValue>(&self, values: &FieldValues) -> Option<F> {
        self.slot(F::FIELD).map(|slot| F::ALL[values.0[slot] as usize])
    }

    /// The type of the values of a shape under these field values; `None` where the shape is no value or takes any.
    #[inline]
    pub fn shape_type(&self, values: &FieldValues, shape: Shape) -> Option<Type> {
        let ty = || self.value::<Type>(values).unwrap_or(Type::B32);
        match shape {
            Shape::T | Shape::V | Shape::Parts => Some(ty()),
            Shape::Matrix(matrix) => Some(self.matrix_type(values, matrix)),
            Shape::Image(part) => Some(self.image_type(values, part)),
            Shape::W => Some(match ty() {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                _ => Type::B128,
            }),
            Shape::S => self.value::<SrcType>(values).map(Type::from),
            Shape::R => Some(Type::B32),
            Shape::D => Some(Type::B64),
            Shape::P => Some(Type::Pred),
            _ => None,
        }
    }

    /// How many registers stand for a shape under these field values; for lists that the fields do not limit, one.
    #[inline]
    pub fn registers(&self, values: &FieldValues, shape: Shape) -> usize {
        match shape {
            Shape::V => self.value::<Vector>(values).map_or(1, Vector::len),
            Shape::Matrix(matrix) => self.matrix_registers(values, matrix),
            Shape::Image(part) => self.image_registers(values, part),
            _ => 1,
        }
    }

    /// The type of a register that holds elements of a matrix: PTX packs narrow ones into words.
    fn matrix_type(&self, values: &FieldValues, matrix: Matrix) -> Type {
        let ty = match matrix {
            Matrix::Sum => self.value(values).unwrap_or(Type::B32),
            Matrix::Addend => self.value(values).map_or(Type::B32, Addend::ty),
            Matrix::Left | Matrix::Right if self.element(values) == LeftElement::F64 => Type::F64,
            _ => Type::B32,
        };
        if ty == Type::F16 { Type::B32 } else { ty }
    }

    /// What the elements of the factors are; where no field says it, f16.
    fn element(&self, values: &FieldValues) -> LeftElement {
        let right = || self.value::<RightElement>(values).map(LeftElement::from);
        self.value(values).or_else(right).unwrap_or(LeftElement::F16)
    }

    /// Rows, columns and inner extent of a product of matrices, as far as one warp has them: of 64 rows of a warpgroup
    /// it has 16. Without a field that says it, those of a matrix of 8 by 8.
    pub fn extents(&self, values: &FieldValues) -> [usize; 3] {
        let inner = self.value(values).map_or(0, GroupInner::count);
        match self.value::<GroupShape>(values) {
            Some(shape) => [16, shape.columns(), inner],
            None => self.value(values).map_or([8, 8, 0], MatrixShape::extents),
        }
    }

    /// How many registers of a lane hold its part of a matrix: the lanes hold equal parts, without gaps. `wmma` gives
    /// factors of f16 eight registers in every shape (PTX ISA 9.0, "Matrix Fragments for WMMA"), and m8n8k4 of f16 is
    /// four products ("Matrix Fragments for mma.m8n8k4 with .f16 floating point type").
    fn matrix_registers(&self, values: &FieldValues, matrix: Matrix) -> usize {
        let shape = self.value::<MatrixShape>(values);
        let [rows, columns, inner] = self.extents(values);
        let element = self.element(values);
        let four = shape == Some(MatrixShape::M8n8k4) && self.value(values) == Some(LeftElement::F16);
        let products = if four { 4 } else { 1 };
        let bits = match matrix {
            Matrix::Rows => return self.value(values).map_or(1, MatrixCount::matrices),
            Matrix::Left | Matrix::Right if element == LeftElement::F16 && shape.is_some_and(MatrixShape::is_whole) => {
                return 8;
            }
            Matrix::Left => rows * inner * element.bits() as usize,
            Matrix::Held => rows * inner / 2 * element.bits() as usize,
            Matrix::Metadata => return 1,
            Matrix::Right => columns * inner * element.bits() as usize,
            Matrix::Sum => rows * columns * self.value(values).map_or(32, Type::bits) as usize,
            Matrix::Addend => rows * columns * self.value(values).map_or(Type::B32, Addend::ty).bits() as usize,
        };
        products * bits / (32 * self.matrix_type(values, matrix).bits() as usize)
    }

    /// How many sparsity selectors there are: of four lanes, as many as a selector chooses give metadata, which take
    /// two bits for an element or a pair of narrow ones, or four for a wide one (PTX ISA 9.0, "Sparse matrix storage").
    pub fn selectors(&self, values: &FieldValues) -> Option<u32> {
        const ROWS: u32 = 2;
        self.srcs.contains(&Shape::Matrix(Matrix::Metadata)).then(|| {
            let [_, _, inner] = self.extents(values);
            let each = match self.element(values).bits() {
                ..8 => 1,
                32.. => 4,
                _ => 2,
            };
            4 * 32 / (ROWS * each * inner as u32 / 2).max(32)
        })
    }

    /// How many elements the rows or columns of a matrix in memory are apart where nothing is written: what one of them
    /// has (PTX ISA 9.0, "Matrix Storage for WMMA"). `None` where the row takes no stride.
    pub fn default_stride(&self, values: &FieldValues) -> Option<u32> {
        let matrix = |shape: &Shape| if let Shape::Matrix(matrix) = shape { Some(*matrix) } else { None };
        let strided = self.srcs.first() == Some(&Shape::Base) && self.srcs.last() == Some(&Shape::R);
        let matrix = self.dsts.iter().chain(self.srcs).find_map(matrix).filter(|_| strided)?;
        let [m, n, k] = self.value(values).map_or([8, 8, 0], MatrixShape::extents);
        let [rows, columns] = match matrix {
            Matrix::Left => [m, k],
            Matrix::Right => [k, n],
            _ => [m, n],
        };
        Some(if self.is_by_columns(values) { rows } else { columns } as u32)
    }

    /// Whether memory holds a matrix by columns.
    pub fn is_by_columns(&self, values: &FieldValues) -> bool {
        self.value(values) == Some(LeftLayout::Col)
            || self.value(values) == Some(RightLayout::Col)
            || self.value(values) == Some(SumLayout::Col)
    }

    /// Calls `visit` with every legal combination of the row's fields.
    pub fn for_each_combination(&self, visit: &mut impl FnMut(&FieldValues)) {
        self.combinations_from(0, &mut FieldValues::default(), visit);
    }

    /// The same for the fields from a position on, those before being settled. As deep as a row has fields.
    fn combinations_from(&self, slot: usize, values: &mut FieldValues, visit: &mut impl FnMut(&FieldValues)) {
        let Some(spec) = self.fields.get(slot) else {
            if self.broken_rule(values).is_none() {
                visit(values);
            }
            return;
        };
        for value in spec.values() {
            values.0[slot] = value;
            self.combinations_from(slot + 1, values, visit);
        }
    }

    /// The values that stand for "nothing written"; a field that must be written has its lowest legal value.
    pub fn default_fields(&self) -> FieldValues {
        let mut values = FieldValues::default();
        for (slot, spec) in self.fields.iter().enumerate() {
            values.0[slot] = spec.default.unwrap_or(spec.legal.trailing_zeros() as u8);
        }
        values
    }
}

/// In [`SLOTS`]: the row does not have the field.
const NO_SLOT: u8 = u8::MAX;

/// By opcode and field: the field's position in the row. Every reader of an instruction asks for fields; the search is
/// done once, when this is compiled.
static SLOTS: [[u8; Field::ALL.len()]; ROWS.len()] = slots();

const fn slots() -> [[u8; Field::ALL.len()]; ROWS.len()] {
    let mut slots = [[NO_SLOT; Field::ALL.len()]; ROWS.len()];
    let mut row = 0;
    while row < ROWS.len() {
        let fields = ROWS[row].fields;
        let mut slot = 0;
        while slot < fields.len() {
            slots[row][fields[slot].field as usize] = slot as u8;
            slot += 1;
        }
        row += 1;
    }
    slots
}

/// The most fields that any row has.
pub const MAX_FIELDS: usize = 12;

/// The field values of one instruction, by their position in the opcode's row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FieldValues(pub [u8; MAX_FIELDS]);

impl Opcode {
    /// The opcode's row.
    #[inline]
    pub fn row(self) -> &'static OpRow {
        &ROWS[self as usize]
    }

    /// Whether all of these properties hold.
    #[inline]
    pub fn is(self, flags: Flags) -> bool {
        self.row().flags.has(flags)
    }

    /// The opcode with this mnemonic.
    pub fn from_name(name: &str) -> Option<Opcode> {
        static BY_NAME: OnceLock<HashMap<&'static str, Opcode>> = OnceLock::new();
        BY_NAME.get_or_init(|| ROWS.iter().map(|row| (row.name, row.opcode)).collect()).get(name).copied()
    }

    /// The opcodes whose PTX name begins with this base name, in table order.
    pub fn from_ptx(base: &str) -> &'static [Opcode] {
        static BY_PTX: OnceLock<HashMap<&'static str, Vec<Opcode>>> = OnceLock::new();
        let map = BY_PTX.get_or_init(|| {
            let mut map: HashMap<&'static str, Vec<Opcode>> = HashMap::new();
            for row in ROWS {
                if let Some(ptx) = row.ptx {
                    map.entry(ptx.split('.').next().unwrap_or(ptx)).or_default().push(row.opcode);
                }
            }
            map
        });
        map.get(base).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_well_formed() {
        let mut names: Vec<_> = ROWS.iter().map(|r| r.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len(), "mnemonics are unique");
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.opcode as usize, index);
            assert!(row.fields.len() <= MAX_FIELDS, "{}", row.name);
            assert!(!row.doc.is_empty(), "{} has no doc line", row.name);
            for (slot, spec) in row.fields.iter().enumerate() {
                assert_eq!(row.slot(spec.field), Some(slot), "{} names a field once", row.name);
                let all = spec.field.value_names().len();
                assert!(spec.legal != 0 && (all == 64 || spec.legal >> all == 0), "{} {:?}", row.name, spec.field);
                if let Some(default) = spec.default {
                    assert_eq!(spec.legal >> default & 1, 1, "{} {:?} default is legal", row.name, spec.field);
                    assert_eq!(spec.field.value_name(default), "", "{} {:?}", row.name, spec.field);
                }
            }
            let absent = Field::ALL.iter().filter(|field| row.slot(**field).is_none()).count();
            assert_eq!(absent + row.fields.len(), Field::ALL.len(), "{}", row.name);
            for rule in row.requires {
                let fields = [Some(rule.field), rule.also.map(|also| also.0), Some(rule.then)];
                assert!(fields.iter().flatten().all(|f| row.slot(*f).is_some()), "{} {rule:?}", row.name);
            }
        }
    }

    /// An instruction holds its field values in place, so a function grows with [`MAX_FIELDS`]; a row more or less
    /// costs nothing. Truth tables, barrier numbers and masks are operands, for which a field's 64 values would not
    /// do.
    #[test]
    fn sizes_are_those_that_were_chosen() {
        assert_eq!(size_of::<Opcode>(), 2);
        assert_eq!(size_of::<FieldValues>(), MAX_FIELDS);
        assert_eq!(size_of::<OpRow>(), 160);
        assert_eq!(size_of::<FieldSpec>(), 16);
        assert!(ROWS.iter().all(|row| row.fields.len() <= MAX_FIELDS));
        assert!(Field::ALL.iter().all(|field| field.value_names().len() <= 64));
    }

    /// A row says the same of an operation in each of its columns.
    #[test]
    fn columns_agree_with_flags() {
        for row in ROWS {
            let memory = row.flags.has(Flags::READS) || row.flags.has(Flags::WRITES);
            let slow = matches!(row.latency, Latency::Memory | Latency::Expanded);
            assert!(!memory || slow, "{}: accesses take the memory pipe", row.name);
            let waits = row.flags.has(Flags::FENCE) && !memory;
            assert!(!waits || row.latency == Latency::Wait, "{}: what orders accesses waits for them", row.name);
            assert_eq!(row.undef == UndefTransfer::Nothing, row.dsts.is_empty() || takes_nothing(row), "{}", row.name);
            let mixes = matches!(row.undef, UndefTransfer::Mixing | UndefTransfer::Carrying);
            let may = row.dsts.len() < 2 || mixes || !row.flags.has(Flags::PURE);
            assert!(may, "{}: a second result depends on all bits", row.name);
            assert!(!row.flags.has(Flags::COPY) || row.cost == Cost::Free, "{}: copies are free", row.name);
            assert!(!row.flags.has(Flags::CARRY) || row.srcs.last() == Some(&Shape::P), "{}", row.name);
            assert!(!row.flags.has(Flags::VIDEO) || row.srcs.last() == Some(&Shape::Imm), "{}", row.name);
            let machine = row.level == Level::Machine;
            assert!(!machine || !matches!(row.latency, Latency::Free | Latency::Expanded), "{}", row.name);
            let later = row.later.iter().all(|later| later.sm > row.since && row.slot(later.field).is_some());
            assert!(later, "{}: what came later is later, and a field of the row", row.name);
            assert!(crate::sm::Target::portable(row.since).is_some(), "{}", row.name);
        }
    }

    fn takes_nothing(row: &OpRow) -> bool {
        row.srcs.iter().all(|shape| *shape == Shape::Special)
    }

    /// The text form reads fields from left to right and takes the first that fits; so no optional field may
    /// share a name with a field after it, up to the first that must be written.
    #[test]
    fn field_text_is_unambiguous() {
        for row in ROWS {
            for (i, early) in row.fields.iter().enumerate() {
                if early.default.is_none() {
                    continue;
                }
                for late in &row.fields[i + 1..] {
                    for v in early.values().filter(|v| Some(*v) != early.default) {
                        let name = early.field.value_name(v);
                        let clash = late.field.value_index(name).is_some_and(|w| late.legal >> w & 1 == 1);
                        assert!(!clash, "{}: {:?} and {:?} share `{name}`", row.name, early.field, late.field);
                    }
                    if late.default.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
