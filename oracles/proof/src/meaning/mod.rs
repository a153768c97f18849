//! The meaning of register-only opcodes as bit-vector terms.
//!
//! Written from PTX ISA 9.0, chapter "Instruction Set", apart from the interpreter, which it is tested against, and
//! from the optimizer's folder, which rules replace. Where the ISA leaves a result open, the interpreter's choice
//! holds, and [`Meaning::defined`] tells where the interpreter calls it undefined.
//!
//! *Registers.* Operands and results are whole registers: one bit for predicates, 32 bits for all types up to that
//! width, else 64 or 128. An operation reads the low bits of its type, whatever the operand's width, and extends its
//! result with zeros, except that conversions to signed sub-word types extend with the sign.
//!
//! *Small twins.* Integer operations answer for the 8-bit types too, which no row allows: the same function of a
//! narrower type, for checks of all inputs.

pub(super) mod bits;
pub(super) mod compare;
pub(super) mod convert;
pub(super) mod float;
pub(super) mod integer;
pub(super) mod soft;
mod special;
#[cfg(test)]
mod tests;
mod video;

use oriole_ir::ops::{Approx, FieldValue, FieldValues, Flags, Ftz, OpRow, Opcode, Rounding, Shape, Type};

pub use self::bits::population;
pub use self::special::special_values;
use super::term::{Term, Terms};

/// What an operation yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// The results, each a register.
    pub values: Vec<Term>,
    /// A bit that tells whether the results are specified; always, where there is none.
    pub defined: Option<Term>,
}

/// The meaning of an operation on operands in the order of the opcode's row; `None` where [`absence`] has a reason,
/// for a wrong number of operands or types that the operation knows no meaning for, and where the selectors of a video
/// instruction are not constant.
pub fn meaning(terms: &mut Terms, opcode: Opcode, fields: &FieldValues, operands: &[Term]) -> Option<Meaning> {
    if absence(opcode, fields).is_some() {
        return None;
    }
    let row = opcode.row();
    let takes_any_number = row.srcs.contains(&Shape::Parts);
    if (!takes_any_number && operands.len() != row.srcs.len()) || operands.is_empty() {
        return None;
    }
    let mut cx = Context { row, fields, ty: field(row, fields), operands, t: terms, defined: None };
    let results = integer::meaning(opcode, &mut cx)
        .or_else(|| bits::meaning(opcode, &mut cx))
        .or_else(|| compare::meaning(opcode, &mut cx))
        .or_else(|| float::meaning(opcode, &mut cx))
        .or_else(|| convert::meaning(opcode, &mut cx))
        .or_else(|| video::meaning(opcode, &mut cx))?;
    let defined = cx.defined;
    let values = results.iter().zip(row.dsts).map(|(value, shape)| register(terms, *value, *shape)).collect();
    Some(Meaning { values, defined })
}

/// Why an operation has no meaning as terms; `None` where it has one.
pub fn absence(opcode: Opcode, fields: &FieldValues) -> Option<&'static str> {
    let row = opcode.row();
    if row.flags.has(Flags::MATRIX) {
        return Some("it works on what all lanes of a warp hold");
    }
    if row.flags.has(Flags::IMAGE) || opcode == Opcode::IsTypeP {
        return Some("textures and surfaces are the launch's affair");
    }
    if !row.flags.has(Flags::PURE) {
        return Some("it does more than compute registers from registers");
    }
    match opcode {
        Opcode::Phi => Some("its result depends on where control came from"),
        Opcode::S2r => Some("special registers are inputs of the launch"),
        _ if row.flags.has(Flags::MACHINE) => Some("what it computes the rows of the machine say"),
        _ if row.flags.has(Flags::ADDRESS) => Some("addresses are the memory's affair"),
        Opcode::MbarrierPending => Some("the ISA does not say what a barrier's state holds"),
        _ if field::<Approx>(row, fields) != Approx::Exact => Some(APPROXIMATE),
        _ => None,
    }
}

const APPROXIMATE: &str = "the ISA bounds the error of approximations and does not say which value they yield";

/// Whether two values of a type differ, where one NaN is as good as another; halves of packed types by themselves.
pub fn differ_modulo_nan(terms: &mut Terms, ty: Type, a: Term, b: Term) -> Term {
    let differ = terms.ne(a, b);
    let Some(format) = float::format(ty).filter(|format| ty.bits().is_multiple_of(format.width())) else {
        return differ;
    };
    let width = format.width();
    let mut any = terms.bit(false);
    for low in (0..ty.bits()).step_by(width as usize) {
        let (a, b) = (terms.extract(a, low, width), terms.extract(b, low, width));
        let (differ, nans) = (terms.ne(a, b), [format.is_nan(terms, a), format.is_nan(terms, b)]);
        let both = terms.all(&nans);
        let number = terms.not(both);
        let here = terms.and(differ, number);
        any = terms.or(any, here);
    }
    any
}

/// The operands of an approximation as far as its result can depend on them: the bits of its type, one NaN for all, and
/// zeros in place of subnormal values where it flushes those. Of other operations they are the operands themselves.
pub fn read_by_approximation(terms: &mut Terms, opcode: Opcode, fields: &FieldValues, operands: &[Term]) -> Vec<Term> {
    let row = opcode.row();
    let ty: Type = field(row, fields);
    let format =
        float::format(ty).filter(|format| field::<Approx>(row, fields) != Approx::Exact && format.width() == ty.bits());
    let Some(format) = format else { return operands.to_vec() };
    let flushes = field::<Ftz>(row, fields).index() == 1;
    let read = |operand: &Term| {
        let value = terms.fit(*operand, format.width());
        let value = if flushes { format.flush(terms, value) } else { value };
        let (is_nan, nan) = (format.is_nan(terms, value), terms.constant(format.nan, format.width()));
        terms.ite(is_nan, nan, value)
    };
    operands.iter().map(read).collect()
}

/// Whether an operation yields any NaN where it yields one (see `float`).
pub fn leaves_nan_open(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::FNeg | Opcode::FAbs)
}

/// A register of a float type with another quiet NaN in place of each: its sign and payload are bits of `other`, as
/// wide as the register.
pub fn with_other_nans(terms: &mut Terms, ty: Type, value: Term, other: Term) -> Term {
    let Some(format) = float::format(ty) else { return value };
    let (width, mut result) = (format.width(), None);
    for low in (0..ty.bits()).step_by(width as usize) {
        let (part, other) = (terms.extract(value, low, width), terms.extract(other, low, width));
        let quiet = terms.constant(format.quiet(), width);
        let (is_nan, nan) = (format.is_nan(terms, part), terms.or(other, quiet));
        let part = terms.ite(is_nan, nan, part);
        result = Some(result.map_or(part, |below| terms.concat(part, below)));
    }
    result.map_or(value, |result| terms.zero_extend(result, terms.width(value)))
}

/// The width of each float of a type, and the bits of the largest magnitude that is no NaN.
pub fn numbers_of(ty: Type) -> Option<(u32, u128)> {
    let format = float::format(ty).filter(|format| ty.bits().is_multiple_of(format.width()))?;
    Some((format.width(), format.last()))
}

/// The value of one field, or its first value where the opcode does not take it.
fn field<F: FieldValue>(row: &OpRow, values: &FieldValues) -> F {
    let index = row.slot(F::FIELD).map_or(0, |slot| usize::from(values.0[slot]));
    F::ALL.get(index).copied().unwrap_or(F::ALL[0])
}

/// A result as the register that holds it.
fn register(t: &mut Terms, value: Term, shape: Shape) -> Term {
    let width = t.width(value);
    if width == 1 && matches!(shape, Shape::P | Shape::T) {
        return value;
    }
    t.zero_extend(value, width.next_power_of_two().max(32))
}

/// An operation at work.
struct Context<'a> {
    row: &'static OpRow,
    fields: &'a FieldValues,
    /// The type that it works in.
    ty: Type,
    operands: &'a [Term],
    t: &'a mut Terms,
    defined: Option<Term>,
}

impl Context<'_> {
    /// The value of a field.
    fn get<F: FieldValue>(&self) -> F {
        field(self.row, self.fields)
    }

    /// Whether a field of two values has its second one.
    fn has<F: FieldValue>(&self) -> bool {
        self.get::<F>().index() == 1
    }

    /// The rounding of floating-point arithmetic.
    fn rounding(&self) -> Rounding {
        self.get()
    }

    /// The width of the type.
    fn width(&self) -> u32 {
        self.ty.bits()
    }

    fn is_signed(&self) -> bool {
        self.ty.is_signed()
    }

    /// The low bits of an operand.
    fn operand(&mut self, number: usize, width: u32) -> Term {
        self.t.fit(self.operands[number], width)
    }

    /// An operand of the operation's type.
    fn typed(&mut self, number: usize) -> Term {
        self.operand(number, self.width())
    }

    /// The first two operands, of the operation's type.
    fn pair(&mut self) -> (Term, Term) {
        (self.typed(0), self.typed(1))
    }

    /// A constant of the operation's type.
    fn constant(&mut self, value: u128) -> Term {
        self.t.constant(value, self.width())
    }

    /// Applies a function to both halves of packed operands.
    fn halves(&mut self, count: usize, mut f: impl FnMut(&mut Self, &[Term]) -> Term) -> Term {
        let [low, high] = [0, 16].map(|from| {
            let words: Vec<Term> = (0..count).map(|number| self.operand(number, 32)).collect();
            let halves: Vec<Term> = words.iter().map(|word| self.t.extract(*word, from, 16)).collect();
            f(self, &halves)
        });
        self.t.concat(high, low)
    }
}
