//! Faults in operands: wrong values, wrong order, wrong words.

use oriole_ir::ops::{FieldValues, Flags, Opcode, Rounding, Shape, Type};
use oriole_ir::{Function, InstBuilder, Operand, Reg};

use super::change::{Change, Place, RESULT, move_type};

fn is_value(func: &Function, place: Place) -> bool {
    let data = func.inst(place.inst);
    data.is(Flags::PURE) && data.opcode != Opcode::Phi
}

/// The sources with one of them changed.
fn with(func: &Function, place: Place, at: usize, operand: Operand) -> Change {
    let mut sources = func.srcs(place.inst).to_vec();
    sources[at] = operand;
    Change::Sources(sources)
}

/// Sources with their shapes, of instructions whose results are values.
fn sources(func: &Function, place: Place) -> Vec<(usize, Shape, Operand)> {
    let list = func.srcs(place.inst);
    let shapes = func.inst(place.inst).src_shapes(list.len());
    list.iter().zip(shapes).enumerate().map(|(at, (operand, shape))| (at, shape, *operand)).collect()
}

pub(super) fn drop_operation(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let convergent = data.is(Flags::CONVERGENT) && !data.is(Flags::EFFECT);
    if !(is_value(func, place) || convergent) || data.is(Flags::COPY) {
        return Vec::new();
    }
    let &[Operand::Reg(result)] = func.dsts(place.inst) else { return Vec::new() };
    if move_type(func.regs()[result]).is_none() {
        return Vec::new();
    }
    let fits = |operand: &Operand| func.operand_info(*operand) == Some(func.regs()[result]);
    func.srcs(place.inst).iter().copied().filter(fits).map(Change::CopyOf).collect()
}

/// Comparisons that hold either way round.
fn symmetric(func: &Function, place: Place) -> bool {
    use oriole_ir::ops::Compare::{Eq, Equ, Nan, Ne, Neu, Num};
    let compare = func.inst(place.inst).field();
    compare.is_some_and(|compare| [Eq, Ne, Equ, Neu, Num, Nan].contains(&compare))
}

pub(super) fn swap_operands(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let row = data.opcode.row();
    let same = matches!(row.srcs, [a, b, ..] if a == b && *a != Shape::Base);
    let commutes = data.is(Flags::COMMUTATIVE) || symmetric(func, place) || data.opcode == Opcode::SelP;
    let &[a, b, ..] = func.srcs(place.inst) else { return Vec::new() };
    if !is_value(func, place) || !same || commutes || a == b {
        return Vec::new();
    }
    let mut sources = func.srcs(place.inst).to_vec();
    sources.swap(0, 1);
    vec![Change::Sources(sources)]
}

pub(super) fn swapped_select(func: &Function, place: Place) -> Vec<Change> {
    let selects = matches!(func.inst(place.inst).opcode, Opcode::SelP | Opcode::Slct);
    let mut sources = func.srcs(place.inst).to_vec();
    if !selects || sources[0] == sources[1] {
        return Vec::new();
    }
    sources.swap(0, 1);
    vec![Change::Sources(sources)]
}

/// The type of a source that is an integer or untyped bits, and wider than a predicate.
fn integer(func: &Function, place: Place, shape: Shape) -> Option<Type> {
    let ty = func.inst(place.inst).shape_type(shape)?;
    (!ty.is_float() && ty != Type::Pred).then_some(ty)
}

fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - ty.bits().clamp(1, 64))
}

pub(super) fn off_by_one(func: &Function, place: Place) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, shape, operand) in sources(func, place).into_iter().filter(|_| is_value(func, place)) {
        let (Some(ty), Some(bits)) = (integer(func, place, shape), func.imm_bits(operand)) else { continue };
        for other in [bits.wrapping_add(1), bits.wrapping_sub(1)] {
            changes.push(Change::Immediate(at, other & mask(ty)));
        }
    }
    changes
}

pub(super) fn wrong_constant_bit(func: &Function, place: Place) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, shape, operand) in sources(func, place).into_iter().filter(|_| is_value(func, place)) {
        let (Some(ty), Some(bits)) = (func.inst(place.inst).shape_type(shape), func.imm_bits(operand)) else {
            continue;
        };
        let last = ty.bits().min(64) - 1;
        for bit in [0, last / 2, last] {
            changes.push(Change::Immediate(at, bits ^ 1 << bit));
        }
    }
    changes
}

pub(super) fn wrong_shift(func: &Function, place: Place) -> Vec<Change> {
    let at = match func.inst(place.inst).opcode {
        Opcode::Shl | Opcode::Shr => 1,
        Opcode::Shf => 2,
        _ => return Vec::new(),
    };
    let Some(amount) = func.imm_bits(func.srcs(place.inst)[at]) else { return Vec::new() };
    let near = [amount.wrapping_add(1), amount.wrapping_sub(1)].map(|amount| amount & u64::from(u32::MAX));
    near.into_iter().map(|amount| Change::Immediate(at, amount)).collect()
}

pub(super) fn wrong_table(func: &Function, place: Place) -> Vec<Change> {
    if !matches!(func.inst(place.inst).opcode, Opcode::Lop3 | Opcode::Lop3P) {
        return Vec::new();
    }
    let Some(table) = func.imm_bits(func.srcs(place.inst)[3]) else { return Vec::new() };
    (0..8).map(|bit| Change::Immediate(3, table ^ 1 << bit)).collect()
}

/// Registers that instructions of the block define before a place, the nearest first.
fn at_hand(func: &Function, place: Place) -> Vec<Reg> {
    let before = std::iter::successors(func.prev_inst(place.inst), |inst| func.prev_inst(*inst));
    before.flat_map(|inst| func.defs(inst)).take(8).collect()
}

pub(super) fn wrong_register(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    if data.opcode == Opcode::Phi || data.is(Flags::TERMINATOR) {
        return Vec::new();
    }
    let near = at_hand(func, place);
    let mut changes = Vec::new();
    for (at, shape, operand) in sources(func, place) {
        let Operand::Reg(old) = operand else { continue };
        // A wrong address is a fault of its own.
        if shape != Shape::Base {
            let others = near.iter().filter(|reg| **reg != old && func.regs()[**reg] == func.regs()[old]);
            changes.extend(others.map(|reg| with(func, place, at, Operand::Reg(*reg))));
        }
    }
    changes
}

pub(super) fn undefined_operand(func: &Function, place: Place) -> Vec<Change> {
    let registers = sources(func, place).into_iter().filter(|(_, shape, operand)| {
        is_value(func, place) && operand.reg().is_some() && func.inst(place.inst).shape_type(*shape).is_some()
    });
    registers.map(|(at, ..)| with(func, place, at, Operand::Undef)).collect()
}

pub(super) fn wrong_word(func: &Function, place: Place) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, operand) in func.srcs(place.inst).iter().enumerate() {
        if let Operand::Word(reg, word) = *operand {
            let others = (0..func.regs()[reg].words).filter(|other| *other != word);
            changes.extend(others.map(|other| with(func, place, at, Operand::Word(reg, other))));
        }
    }
    changes
}

pub(super) fn swap_words(func: &Function, place: Place) -> Vec<Change> {
    let sources = func.srcs(place.inst);
    if func.inst(place.inst).opcode != Opcode::Pack {
        return Vec::new();
    }
    let pairs = (1..sources.len()).filter(|at| sources[at - 1] != sources[*at]);
    let swap = |at: usize| {
        let mut sources = sources.to_vec();
        sources.swap(at - 1, at);
        Change::Sources(sources)
    };
    pairs.map(swap).collect()
}

pub(super) fn narrowed_width(func: &Function, place: Place) -> Vec<Change> {
    let plain = is_value(func, place) && func.inst(place.inst).guard.is_none();
    let wide = matches!(func.dsts(place.inst), [Operand::Reg(reg)] if func.regs()[*reg].words == 2);
    if plain && wide { vec![Change::Narrow] } else { Vec::new() }
}

/// The fields of a float operation in a type with a rounding; others at their defaults.
fn float_fields(func: &Function, opcode: Opcode, ty: Type, rounding: Rounding) -> FieldValues {
    let mut scratch = Function::new(func.name.clone(), func.kind);
    let inst = InstBuilder::new(opcode).field(rounding).field(ty).create(&mut scratch);
    scratch.inst(inst).fields
}

fn is_plain_float(func: &Function, place: Place, opcode: Opcode) -> bool {
    let data = func.inst(place.inst);
    let row = data.opcode.row();
    let Some(rounding) = data.field::<Rounding>() else { return false };
    let fields = float_fields(func, opcode, data.ty(), rounding);
    row.opcode == opcode && data.fields == fields && matches!(data.ty(), Type::F32 | Type::F64)
}

pub(super) fn uncontracted(func: &Function, place: Place) -> Vec<Change> {
    if !is_plain_float(func, place, Opcode::FFma) {
        return Vec::new();
    }
    let data = func.inst(place.inst);
    let (ty, rounding) = (data.ty(), data.field().unwrap_or(Rounding::Rn));
    let sources = func.srcs(place.inst);
    let add = Change::Operation(Opcode::FAdd, float_fields(func, Opcode::FAdd, ty, rounding), vec![RESULT, sources[2]]);
    let info = oriole_ir::RegInfo::of(ty);
    let fields = float_fields(func, Opcode::FMul, ty, rounding);
    vec![Change::Before(Opcode::FMul, fields, sources[..2].to_vec(), info, Box::new(add))]
}
