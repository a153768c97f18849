//! Mutators of instructions and their operands.

use std::collections::BTreeMap;

use oriole_ir::ops::{Field, Flags, Opcode, Shape, Space, Type};
use oriole_ir::{FuncId, Function, Inst, InstHead, Operand, Reg, RegInfo};

use super::choice::Choice;
use super::edit::{Substitution, ZERO, places, unguard, word_of};
use crate::report::Evidence;

/// Substitutions in several functions.
#[derive(Default)]
pub(super) struct Substitutions(BTreeMap<FuncId, Substitution>);

impl Substitutions {
    pub fn of(&mut self, func: FuncId) -> &mut Substitution {
        self.0.entry(func).or_default()
    }

    pub fn apply(self, evidence: &mut Evidence) {
        for (id, substitution) in self.0 {
            substitution.apply(&mut evidence.module.functions[id]);
        }
    }
}

/// Whether an instruction may go. What orders proxies stays as long as there are asynchronous operations: without it
/// they read what nobody defines on a GPU, and the interpreter, which knows no proxies, would not tell.
fn removable(func: &Function, inst: Inst) -> bool {
    let is_async = |inst: Inst| func.inst(inst).is(Flags::ASYNC);
    let data = func.inst(inst);
    !(data.is(Flags::TERMINATOR) || data.is(Flags::PROXY) && func.layout_insts().any(is_async))
}

/// Instructions that go; zero stands for what they made.
pub fn removed(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let mut changes = Substitutions::default();
    for (id, _, inst) in places(&evidence.module) {
        let func = &evidence.module.functions[id];
        if removable(func, inst) && choice.take() {
            changes.of(id).remove(func, inst);
        }
    }
    changes.apply(evidence);
}

/// Instructions whose results nothing reads.
pub fn unread(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let mut changes = Substitutions::default();
    for (id, func) in &evidence.module.functions {
        let mut uses = vec![0u32; func.regs().len()];
        let reg = |reg: Reg| reg.as_u32() as usize;
        let insts: Vec<Inst> = func.layout_insts().collect();
        insts.iter().flat_map(|inst| func.uses(*inst)).for_each(|used| uses[reg(used)] += 1);
        for inst in insts.iter().rev() {
            let data = func.inst(*inst);
            let dead = removable(func, *inst) && func.defs(*inst).all(|dst| uses[reg(dst)] == 0);
            if dead && !data.is(Flags::EFFECT) && choice.take() {
                func.uses(*inst).for_each(|used| uses[reg(used)] -= 1);
                changes.of(id).remove(func, *inst);
            }
        }
    }
    changes.apply(evidence);
}

/// Instructions that compute the same each time, replaced by what they compute.
pub fn values(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let known = choice.values(evidence);
    let mut changes = Substitutions::default();
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let (Some(value), Some(reg)) = (known.get(&(id, inst)), func.defs(inst).next()) else { continue };
        if removable(func, inst) && choice.take() {
            changes.of(id).replace(reg, func.imm(*value));
            changes.of(id).remove(func, inst);
        }
    }
    changes.apply(evidence);
}

/// Instructions that go; one of their operands of the same kind stands for the result. Phis keep one source.
pub fn forwarded(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let mut changes = Substitutions::default();
    for (id, _, inst) in places(&evidence.module) {
        let func = &evidence.module.functions[id];
        let Some(reg) = func.defs(inst).next().filter(|_| removable(func, inst)) else { continue };
        let info = func.regs()[reg];
        let inputs = func.inputs(inst).iter().filter(|input| fits(func, **input, info) && input.reg() != Some(reg));
        for input in inputs {
            if choice.take() {
                changes.of(id).replace(reg, *input);
                changes.of(id).remove(func, inst);
                break;
            }
        }
    }
    changes.apply(evidence);
}

/// Words of what is packed, replaced by the part that is there, or begins there.
pub fn parts(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        let insts: Vec<Inst> = func.layout_insts().collect();
        let packs = insts.iter().filter(|inst| func.inst(**inst).opcode == Opcode::Pack);
        let packed: BTreeMap<Reg, Inst> = packs.flat_map(|inst| func.defs(*inst).map(|reg| (reg, *inst))).collect();
        for inst in insts {
            for place in 0..func.inputs(inst).len() {
                let Operand::Word(reg, word) = func.inputs(inst)[place] else { continue };
                let Some(pack) = packed.get(&reg) else { continue };
                let at = u32::from(word) * 32;
                let bits = func.inst(*pack).ty().bits();
                let Some(part) = func.srcs(*pack).get((at / bits) as usize).copied() else { continue };
                let part = if bits > 32 { word_of(func, part, (at % bits / 32) as u8) } else { part };
                if fits(func, part, RegInfo::words(1)) && choice.take() {
                    func.inputs_mut(inst)[place] = part;
                }
            }
        }
    }
}

/// Whether an operand can stand wherever a register of this kind does.
fn fits(func: &Function, operand: Operand, info: RegInfo) -> bool {
    match operand {
        Operand::Reg(_) | Operand::Word(..) => func.operand_info(operand) == Some(info),
        Operand::Imm(imm) => info.words > 1 || func.bits(imm) >> if info.is_predicate() { 1 } else { 32 } == 0,
        Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => info.words == 2,
        _ => false,
    }
}

/// Instructions without their guard.
pub fn unguarded(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        if func.inst(inst).guard.is_some() && choice.take() {
            unguard(func, inst);
        }
    }
}

/// Fields at their defaults; types at the first of the same width.
pub fn plain_fields(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let mut fields = func.inst(inst).fields;
        for (slot, spec) in func.inst(inst).opcode.row().fields.iter().enumerate() {
            let value = fields.0[slot];
            let simpler = |other: &u8| !matches!(spec.field, Field::Type | Field::SrcType) || like(*other, value);
            let plain = spec.default.or_else(|| spec.values().find(simpler));
            if let Some(plain) = plain.filter(|plain| *plain != value && choice.take()) {
                fields.0[slot] = plain;
            }
        }
        func.set_fields(inst, fields);
    }
}

/// Whether two types are as wide as each other, and both predicates or neither.
fn like(a: u8, b: u8) -> bool {
    use oriole_ir::ops::FieldValue;
    Type::ALL[usize::from(a)].bits() == Type::ALL[usize::from(b)].bits()
}

/// A constant that is in a position where any other may stand.
fn free(shape: Shape) -> bool {
    !matches!(shape, Shape::Params | Shape::Block | Shape::Blocks)
}

/// Puts what `edit` says in place of every operand that is a value or an immediate. Accesses to parameters name them.
fn operands(evidence: &mut Evidence, mut edit: impl FnMut(&mut Function, Operand) -> Operand) {
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let data = *func.inst(inst);
        let shapes = data.src_shapes(func.srcs(inst).len());
        let phi = data.opcode == Opcode::Phi;
        let of_parameter = |shape| shape == Shape::Base && data.field::<Space>() == Some(Space::Param);
        for place in 0..func.inputs(inst).len() {
            let shape = shapes.get(place).copied().unwrap_or(Shape::Any);
            let symbol = matches!(func.inputs(inst)[place], Operand::Global(_) | Operand::Local(_) | Operand::Func(_));
            // The text of what is carried through has a name there.
            let named = of_parameter(shape) || shape == Shape::Places && symbol;
            if free(shape) && !named && !(phi && place % 2 == 1) {
                let new = edit(func, func.inputs(inst)[place]);
                func.inputs_mut(inst)[place] = new;
            }
        }
    }
}

/// Registers, words of constant banks and addresses of variables replaced by zero. An access through an address that
/// means nothing traps, and then the original says nothing; what stays is an address that nothing is accessed through.
/// Zero is an address in shared memory, though not one that PTX gives a meaning to: the judge takes what is read there
/// for open.
pub fn zeros(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    operands(evidence, |_, operand| {
        let value = matches!(operand, Operand::Reg(_) | Operand::Word(..) | Operand::Const { .. });
        let address = matches!(operand, Operand::Local(_) | Operand::Global(_));
        if (value || address) && choice.take() { ZERO } else { operand }
    });
}

/// Registers replaced by one.
pub fn ones(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    operands(evidence, |_, operand| {
        let register = matches!(operand, Operand::Reg(_) | Operand::Word(..));
        if register && choice.take() { Operand::imm(1) } else { operand }
    });
}

/// How far a constant is from zero: 0 and 1 are simplest, then powers of two, then small ones.
pub fn weight(bits: u64) -> u64 {
    match bits {
        0 => 0,
        1 => 1,
        bits if bits.is_power_of_two() => 2 + u64::from(bits.ilog2()),
        bits => 66 + u64::from(bits.ilog2()) + u64::from(bits.count_ones().min(bits.count_zeros())),
    }
}

/// Rewrites constants that become simpler by it.
fn constants(evidence: &mut Evidence, choice: &mut Choice<'_>, simpler: fn(u64) -> u64) {
    operands(evidence, |func, operand| {
        let Some(bits) = func.imm_bits(operand) else { return operand };
        let new = simpler(bits);
        if weight(new) < weight(bits) && choice.take() { func.imm(new) } else { operand }
    });
}

/// Constants replaced by zero.
pub fn constants_zero(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |_| 0);
}

/// Constants replaced by one.
pub fn constants_one(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |_| 1);
}

/// Constants replaced by their highest bit.
pub fn constants_power(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |bits| if bits == 0 { 0 } else { 1 << bits.ilog2() });
}

/// Constants with half as many bits.
pub fn constants_half(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |bits| if bits == 0 { 0 } else { bits >> bits.ilog2().div_ceil(2) });
}

/// Constants that keep the higher half of the bits that are set.
pub fn constants_upper_bits(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |bits| (0..bits.count_ones() / 2).fold(bits, |left, _| left & left.wrapping_sub(1)));
}

/// Constants without their lowest bit that is set.
pub fn constants_fewer_bits(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    constants(evidence, choice, |bits| bits & bits.wrapping_sub(1));
}

/// Types half as wide: results and operands of 64 bits become words.
pub fn narrowed(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let mut functions = Vec::new();
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let mut fields = func.inst(inst).fields;
        let mut narrower = false;
        for (slot, spec) in func.inst(inst).opcode.row().fields.iter().enumerate() {
            let value = fields.0[slot];
            let half = matches!(spec.field, Field::Type | Field::SrcType).then(|| half_of(value)).flatten();
            if let Some(half) = half.filter(|half| spec.legal >> half & 1 == 1) {
                fields.0[slot] = half;
                narrower = true;
            }
        }
        if narrower && choice.take() {
            func.set_fields(inst, fields);
            narrow_results(func, inst);
            functions.push(id);
        }
    }
    functions.dedup();
    for id in functions {
        refit(&mut evidence.module.functions[id]);
    }
}

/// The type half as wide, of the same kind.
fn half_of(value: u8) -> Option<u8> {
    use oriole_ir::ops::FieldValue;
    let half = match Type::ALL[usize::from(value)] {
        Type::B64 => Type::B32,
        Type::U64 => Type::U32,
        Type::S64 => Type::S32,
        Type::F64 => Type::F32,
        Type::B128 => Type::B64,
        Type::U32 => Type::U16,
        Type::S32 => Type::S16,
        _ => return None,
    };
    Some(half.index())
}

/// Gives an instruction's results the widths that its fields ask for.
fn narrow_results(func: &mut Function, inst: Inst) {
    let data = *func.inst(inst);
    for (dst, shape) in func.dsts(inst).to_vec().into_iter().zip(data.dst_shapes()) {
        if let (Some(reg), Some(info)) = (dst.reg(), data.shape_info(shape)) {
            func.set_reg_info(reg, info);
        }
    }
}

/// Makes operands fit their positions: the low word of what is too wide, zero for what is too narrow. Copies and phis
/// take the width of what they read.
fn refit(func: &mut Function) {
    let insts: Vec<Inst> = func.layout_insts().collect();
    for inst in insts {
        let data = *func.inst(inst);
        let shapes = data.src_shapes(func.srcs(inst).len());
        let results: Vec<RegInfo> = func.defs(inst).map(|reg| func.regs()[reg]).collect();
        let sources = func.srcs(inst).len();
        for place in 0..func.inputs(inst).len() {
            let operand = func.inputs(inst)[place];
            let wanted = match shapes.get(place) {
                None => results.get(place - sources).copied(),
                Some(Shape::Incoming) => results.first().copied(),
                Some(shape) => data.shape_info(*shape),
            };
            if let Some(wanted) = wanted {
                func.inputs_mut(inst)[place] = fit(func, operand, wanted);
            }
        }
    }
}

fn fit(func: &Function, operand: Operand, wanted: RegInfo) -> Operand {
    match operand {
        Operand::Reg(reg) if func.regs()[reg].words > wanted.words && wanted.words == 1 => Operand::Word(reg, 0),
        Operand::Reg(reg) if func.regs()[reg].words != wanted.words => ZERO,
        Operand::Word(reg, _) if func.regs()[reg].words == 1 => Operand::Reg(reg),
        Operand::Word(reg, word) if word >= func.regs()[reg].words => Operand::Word(reg, 0),
        Operand::Imm(imm) if wanted.words == 1 && !wanted.is_predicate() => func.cut_imm(imm, 32),
        other => other,
    }
}

/// Vector accesses of their first element alone.
pub fn scalars(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let data = *func.inst(inst);
        let Some(slot) = data.opcode.row().slot(Field::Vector).filter(|slot| data.fields.0[*slot] != 0) else {
            continue;
        };
        if choice.take() {
            scalar(func, inst, slot);
        }
    }
}

fn scalar(func: &mut Function, inst: Inst, slot: usize) {
    let data = *func.inst(inst);
    let shapes = data.src_shapes(func.srcs(inst).len());
    let first = shapes.iter().position(|shape| *shape == Shape::V);
    let keep = |(at, _): &(usize, &Operand)| shapes[*at] != Shape::V || Some(*at) == first;
    let srcs: Vec<Operand> = func.srcs(inst).iter().enumerate().filter(keep).map(|(_, op)| *op).collect();
    let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
    let mut head: InstHead = data.head();
    head.fields.0[slot] = 0;
    let one = |list: &[Operand]| list.first().copied().into_iter().collect::<Vec<_>>();
    func.set_inst(inst, head, &one(&dsts), &srcs, &one(&elses));
    let mut substitution = Substitution::default();
    dsts.iter().skip(1).filter_map(|dst| dst.reg()).for_each(|reg| substitution.replace(reg, ZERO));
    substitution.apply(func);
}

/// Instructions without their source line.
pub fn without_lines(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        if func.inst(inst).line != 0 && choice.take() {
            func.set_line(inst, 0);
        }
    }
}
