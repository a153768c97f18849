//! Changes to one instruction, or to the order of two.

use oriole_ir::ops::{
    Compare, Field, FieldValue, FieldValues, Flags, OpRow, Opcode, ROWS, Shape, SrcType, Type, Vector,
};
use oriole_ir::{Function, Guard, Inst, InstBuilder, InstHead, Operand, Reg, RegInfo};

use super::super::config::OperandPercent;
use super::super::entropy::Entropy;
use super::super::fields::fields;
use super::super::values::constant;
use super::place;

/// Attempts to find another value or operation that fits.
const ATTEMPTS: usize = 8;

/// A copy of an instruction that is nowhere yet.
pub(super) fn copy(func: &mut Function, inst: Inst) -> Inst {
    let head = func.inst(inst).head();
    let (dsts, srcs, elses) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec(), func.elses(inst).to_vec());
    func.new_inst(head, &dsts, &srcs, &elses)
}

/// The type of a source that may be any constant; `None` for offsets, truth tables and the like.
fn value_type(func: &Function, inst: Inst, at: usize) -> Option<Type> {
    let data = func.inst(inst);
    let shape = data.src_shapes(func.srcs(inst).len()).get(at).copied()?;
    data.shape_type(shape)
}

/// Sources of an instruction that are values and fit.
fn value_sources(func: &Function, inst: Inst, fits: impl Fn(Operand) -> bool) -> Vec<(usize, Type)> {
    let operands = func.srcs(inst).iter().enumerate().filter(|(_, operand)| fits(**operand));
    operands.filter_map(|(at, _)| Some((at, value_type(func, inst, at)?))).collect()
}

/// A constant becomes another one.
pub(super) fn constant_of(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let is_constant = Operand::is_imm;
    let (block, at) = place(func, entropy, |inst| !value_sources(func, inst, is_constant).is_empty())?;
    let inst = func.inst_at(block, at);
    let sources = value_sources(func, inst, is_constant);
    let (source, ty) = entropy.choose(&sources);
    func.srcs_mut(inst)[source] = func.imm(constant(entropy, ty));
    Some(())
}

/// A register that is read becomes another one, or a constant; also addresses, since most do not survive that anyway.
pub(super) fn operand(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let is_register = |operand: Operand| operand.whole_reg().is_some();
    let (block, at) = place(func, entropy, |inst| !value_sources(func, inst, is_register).is_empty())?;
    let inst = func.inst_at(block, at);
    let sources = value_sources(func, inst, is_register);
    let (source, ty) = entropy.choose(&sources);
    let new = if entropy.percent(30) {
        func.imm(constant(entropy, ty))
    } else {
        Operand::Reg(register(func, entropy, RegInfo::of(ty))?)
    };
    func.srcs_mut(inst)[source] = new;
    Some(())
}

/// A register of a file and width that some instruction defines.
pub(super) fn register(func: &Function, entropy: &mut Entropy<'_>, info: RegInfo) -> Option<Reg> {
    let insts = func.layout_insts();
    let mut fitting: Vec<Reg> =
        insts.flat_map(|inst| func.defs(inst)).filter(|reg| func.regs()[*reg] == info).collect();
    fitting.sort_unstable();
    fitting.dedup();
    fitting.get(entropy.below(fitting.len())).copied()
}

/// Files and widths of all operands that a row has under these fields.
fn widths(row: &OpRow, values: &FieldValues) -> Vec<Option<RegInfo>> {
    row.dsts.iter().chain(row.srcs).map(|shape| row.shape_type(values, *shape).map(RegInfo::of)).collect()
}

/// Whether all constants of an instruction fit under other fields.
fn constants_fit(func: &Function, inst: Inst, head: InstHead) -> bool {
    let row = head.opcode.row();
    let shapes = func.inst(inst).src_shapes(func.srcs(inst).len());
    func.srcs(inst).iter().zip(shapes).all(|(operand, shape)| {
        match (func.imm_bits(*operand), row.shape_type(&head.fields, shape)) {
            (Some(bits), Some(ty)) => ty.bits() >= 64 || bits >> ty.bits() == 0,
            _ => true,
        }
    })
}

/// A field gets another value that leaves the operands as they are.
pub(super) fn field(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let choice = |inst: Inst| func.inst(inst).opcode.row().fields.iter().any(|spec| spec.legal.count_ones() > 1);
    let (block, at) = place(func, entropy, choice)?;
    let inst = func.inst_at(block, at);
    let head = func.inst(inst).head();
    let row = head.opcode.row();
    for _ in 0..ATTEMPTS {
        let slot = entropy.below(row.fields.len());
        let spec = &row.fields[slot];
        let value = spec.values().nth(entropy.below(spec.legal.count_ones() as usize))?;
        let mut new = head;
        new.fields.0[slot] = value;
        let fits = row.broken_rule(&new.fields).is_none() && widths(row, &new.fields) == widths(row, &head.fields);
        // Another number of registers is another shape, and another space another address.
        let stays = matches!(spec.field, Field::Vector | Field::Space);
        if fits && new.fields != head.fields && !stays && constants_fit(func, inst, new) {
            func.set_fields(inst, new.fields);
            return Some(());
        }
    }
    None
}

/// Whether an operation could be in another one's place: same operands, same effects.
fn alike(row: &OpRow, other: &OpRow) -> bool {
    let effects = [Flags::PURE, Flags::READS, Flags::WRITES, Flags::CONVERGENT, Flags::FENCE, Flags::TERMINATOR];
    row.opcode != other.opcode
        && row.level == other.level
        && row.dsts == other.dsts
        && row.srcs == other.srcs
        && effects.into_iter().all(|flag| row.flags.has(flag) == other.flags.has(flag))
}

/// An operation becomes another one that takes the same operands.
pub(super) fn opcode(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let movable = |inst: Inst| {
        let row = func.inst(inst).opcode.row();
        !row.srcs.iter().any(|shape| matches!(shape, Shape::Special | Shape::Callee)) && !row.srcs.is_empty()
    };
    let (block, at) = place(func, entropy, movable)?;
    let inst = func.inst_at(block, at);
    let head = func.inst(inst).head();
    let row = head.opcode.row();
    let others: Vec<Opcode> = ROWS.iter().filter(|other| alike(row, other)).map(|other| other.opcode).collect();
    let percent = OperandPercent { rare_field: 0, ..OperandPercent::default() };
    for _ in 0..ATTEMPTS {
        let other = others.get(entropy.below(others.len())).copied()?;
        let kept: Vec<(Field, u8)> = [Type::FIELD, SrcType::FIELD, Field::Space]
            .into_iter()
            .filter_map(|field| Some((field, head.fields.0[row.slot(field)?])))
            .filter(|(field, _)| other.row().slot(*field).is_some())
            .collect();
        let Some(fields) = fields(other.row(), entropy, &percent, &kept) else { continue };
        let new = InstHead { opcode: other, fields, ..head };
        let moves = |row: &OpRow, fields: &FieldValues| row.value::<Vector>(fields).map_or(1, Vector::len);
        let alike = widths(other.row(), &fields) == widths(row, &head.fields)
            && moves(other.row(), &fields) == moves(row, &head.fields);
        if alike && constants_fit(func, inst, new) {
            let [dsts, srcs, elses] = [func.dsts(inst), func.srcs(inst), func.elses(inst)].map(<[Operand]>::to_vec);
            func.set_inst(inst, new, &dsts, &srcs, &elses);
            return Some(());
        }
    }
    None
}

/// Two instructions of a block change places.
pub(super) fn swap(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let (block, at) = place(func, entropy, |_| true)?;
    // The last one is the terminator.
    let movable = func.block_insts(block).len() - 1;
    let near = if entropy.percent(60) { at + 1 } else { entropy.below(movable) };
    (near < movable && near != at).then(|| func.swap_insts(func.inst_at(block, at), func.inst_at(block, near)))
}

/// An instruction is repeated behind itself, in its block.
pub(super) fn duplicate(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let (block, at) = place(func, entropy, |_| true)?;
    let inst = func.inst_at(block, at);
    let new = copy(func, inst);
    let end = func.block_insts(block).len();
    let to = at + 1 + entropy.below(end - at - 1);
    func.insert_at(block, to, new);
    Some(())
}

/// An instruction goes.
pub(super) fn delete(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let (block, at) = place(func, entropy, |_| true)?;
    func.remove_inst(func.inst_at(block, at));
    Some(())
}

/// An instruction gets a guard, or its guard is inverted. Where there is no predicate, one is made of a word.
pub(super) fn guard(func: &mut Function, entropy: &mut Entropy<'_>) -> Option<()> {
    let separate = |inst: Inst| !func.inst(inst).is(Flags::CONVERGENT);
    let (block, at) = place(func, entropy, separate)?;
    let inst = func.inst_at(block, at);
    if let Some(guard) = func.inst(inst).guard {
        func.set_guard(inst, Some(guard.opposite()));
        return Some(());
    }
    let reg = match register(func, entropy, RegInfo::PRED).filter(|_| entropy.percent(70)) {
        Some(reg) => reg,
        None => {
            let word = register(func, entropy, RegInfo::words(1))?;
            let to = func.new_reg(RegInfo::PRED);
            let test = InstBuilder::new(Opcode::SetP).field(Type::S32).field(Compare::Gt);
            let test = test.src(word).src(constant(entropy, Type::S32)).dst(to).create(func);
            func.insert_before(inst, test);
            to
        }
    };
    func.set_guard(inst, Some(Guard::new(reg, entropy.percent(30))));
    Some(())
}
