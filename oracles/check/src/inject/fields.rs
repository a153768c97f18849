//! Faults in what an instruction says beside its operands: modifiers and guards.

use oriole_ir::ops::{Compare, Field, FieldValue, FieldValues, Flags, MatrixShape, Opcode, Rounding, Type};
use oriole_ir::{Function, Guard, InstData, Operand};

use super::change::{Change, Place};

/// The changes of one field to other legal values that `accept` lets pass, given the old value and the new one.
pub(super) fn alternatives(data: &InstData, field: Field, accept: impl Fn(u8, u8) -> bool) -> Vec<Change> {
    let row = data.opcode.row();
    let Some(slot) = row.slot(field) else { return Vec::new() };
    let old = data.fields.0[slot];
    let values = row.fields[slot].values().filter(|new| *new != old && accept(old, *new));
    let with = |value| {
        let mut fields: FieldValues = data.fields;
        fields.0[slot] = value;
        fields
    };
    let legal = values.map(with).filter(|fields| row.broken_rule(fields).is_none());
    legal.map(Change::Fields).collect()
}

/// The same for values of the field's own type.
pub(super) fn among<F: FieldValue>(data: &InstData, accept: impl Fn(F, F) -> bool) -> Vec<Change> {
    alternatives(data, F::FIELD, |old, new| accept(F::ALL[usize::from(old)], F::ALL[usize::from(new)]))
}

pub(super) fn dropped_guard(func: &Function, place: Place) -> Vec<Change> {
    let guarded = func.inst(place.inst).guard.is_some();
    guarded.then_some(Change::Guard(None)).into_iter().collect()
}

pub(super) fn flipped_guard(func: &Function, place: Place) -> Vec<Change> {
    let flip = |guard: Guard| Change::Guard(Some(guard.opposite()));
    func.inst(place.inst).guard.map(flip).into_iter().collect()
}

/// Zero, or an operand of the instruction's own.
pub(super) fn wrong_else(func: &Function, place: Place) -> Vec<Change> {
    let [old] = func.elses(place.inst) else { return Vec::new() };
    let info = func.defs(place.inst).next().map(|reg| func.regs()[reg]);
    let own = func.srcs(place.inst).iter().copied().filter(|op| info.is_some() && func.operand_info(*op) == info);
    let others = own.chain([Operand::imm(0)]).filter(|other| other != old);
    others.map(|other| Change::Elses(vec![other])).collect()
}

/// No rounding written means nearest even, so those two are no different.
pub(super) fn wrong_rounding(func: &Function, place: Place) -> Vec<Change> {
    let plain = |rounding| if rounding == Rounding::Default { Rounding::Rn } else { rounding };
    among::<Rounding>(func.inst(place.inst), |old, new| plain(old) != plain(new) && new != Rounding::Default)
}

pub(super) fn wrong_signedness(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let symmetric = data.field().is_some_and(|compare| [Compare::Eq, Compare::Ne].contains(&compare));
    if data.is(Flags::SIGNLESS) || symmetric || data.is(Flags::WRITES) {
        return Vec::new();
    }
    // A word is filled either way by loads of a word or more.
    let whole = data.is(Flags::READS) && data.ty().bits() >= 32;
    let integer = |ty: Type| !ty.is_float() && matches!(ty.name().as_bytes()[0], b's' | b'u');
    let other = |old: u8, new: u8| {
        let (old, new) = (Type::ALL[usize::from(old)], Type::ALL[usize::from(new)]);
        integer(old) && integer(new) && old.bits() == new.bits() && old.is_signed() != new.is_signed()
    };
    let mut changes = if whole { Vec::new() } else { alternatives(data, Field::Type, other) };
    changes.extend(alternatives(data, Field::SrcType, other));
    changes
}

fn inverse(compare: Compare) -> Option<Compare> {
    use Compare::*;
    Some(match compare {
        Eq => Ne,
        Ne => Eq,
        Lt => Ge,
        Ge => Lt,
        Le => Gt,
        Gt => Le,
        Lo => Hs,
        Hs => Lo,
        Ls => Hi,
        Hi => Ls,
        Num => Nan,
        Nan => Num,
        Equ => Neu,
        Neu => Equ,
        Ltu => Geu,
        Geu => Ltu,
        Leu => Gtu,
        Gtu => Leu,
    })
}

fn with_boundary(compare: Compare) -> Option<Compare> {
    use Compare::*;
    Some(match compare {
        Lt => Le,
        Le => Lt,
        Gt => Ge,
        Ge => Gt,
        Lo => Ls,
        Ls => Lo,
        Hi => Hs,
        Hs => Hi,
        Ltu => Leu,
        Leu => Ltu,
        Gtu => Geu,
        Geu => Gtu,
        _ => return None,
    })
}

pub(super) fn inverted_comparison(func: &Function, place: Place) -> Vec<Change> {
    among::<Compare>(func.inst(place.inst), |old, new| inverse(old) == Some(new))
}

pub(super) fn comparison_boundary(func: &Function, place: Place) -> Vec<Change> {
    among::<Compare>(func.inst(place.inst), |old, new| with_boundary(old) == Some(new))
}

pub(super) fn toggled_ftz(func: &Function, place: Place) -> Vec<Change> {
    alternatives(func.inst(place.inst), Field::Ftz, |_, _| true)
}

pub(super) fn toggled_saturation(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let fields = [Field::Saturate, Field::SatFinite, Field::Relu];
    fields.into_iter().flat_map(|field| alternatives(data, field, |_, _| true)).collect()
}

/// Fields that choose between operations; an access's order and cache hints are not among them.
const MODES: &[Field] = &[
    Field::NanMode,
    Field::XorSign,
    Field::Oob,
    Field::BoolOp,
    Field::TestProperty,
    Field::ShuffleMode,
    Field::VoteMode,
    Field::ReduxOp,
    Field::PrmtMode,
    Field::ShiftDirection,
    Field::ShiftMode,
    Field::ShiftAmount,
    Field::Half,
    Field::SecondOp,
    Field::Scale,
    Field::PlusOne,
];

/// Fields of matrices. Where memory holds one, its elements are what their width is; the order in which it holds the
/// factors of `wmma.mma` is theirs alone, since lanes hold them alike.
const MATRICES: &[Field] = &[Field::Transpose, Field::SumLayout, Field::MatrixShape, Field::BitProduct];
const ELEMENTS: &[Field] = &[Field::LeftElement, Field::RightElement];
const LAYOUTS: &[Field] = &[Field::LeftLayout, Field::RightLayout];

pub(super) fn wrong_mode(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let modes = MODES.iter().flat_map(|field| alternatives(data, *field, |_, _| true));
    modes.chain(wrong_matrix(data)).chain(wrong_selector(func, place)).collect()
}

/// Other matrices in as many registers.
fn wrong_matrix(data: &InstData) -> Vec<Change> {
    let in_memory = data.is(Flags::READS) || data.is(Flags::WRITES);
    let fields = match (in_memory, data.opcode) {
        (true, _) | (_, Opcode::Mma) => LAYOUTS,
        _ => &[],
    };
    let elements = if in_memory { &[] } else { ELEMENTS };
    let all = MATRICES.iter().chain(fields).chain(elements);
    let changes = all.flat_map(|field| alternatives(data, *field, |_, _| true));
    changes.filter(|change| matches!(change, Change::Fields(fields) if holds_other(data, fields))).collect()
}

/// Whether other fields leave an instruction its registers, and a matrix in memory is not the same anyway.
fn holds_other(data: &InstData, fields: &FieldValues) -> bool {
    let row = data.opcode.row();
    let registers = |fields: &FieldValues| -> Vec<_> {
        let shapes = row.dsts.iter().chain(row.srcs);
        shapes.map(|shape| (row.registers(fields, *shape), row.shape_type(fields, *shape).map(Type::bits))).collect()
    };
    let extents = |fields: &FieldValues| row.value(fields).map(|shape: MatrixShape| shape.extents()[..2].to_vec());
    let moved = |fields: &FieldValues| (row.is_by_columns(fields), extents(fields));
    let sums = row.slot(Field::SumLayout).is_some();
    registers(&data.fields) == registers(fields) && !(sums && moved(&data.fields) == moved(fields))
}

/// Other lanes give the metadata of a sparse matrix.
fn wrong_selector(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let (Some(count), Some(at)) =
        (data.opcode.row().selectors(&data.fields), func.srcs(place.inst).len().checked_sub(1))
    else {
        return Vec::new();
    };
    let old = func.imm_bits(func.srcs(place.inst)[at]);
    let others = (0..u64::from(count)).filter(|value| Some(*value) != old);
    others.map(|value| Change::Immediate(at, value)).collect()
}
