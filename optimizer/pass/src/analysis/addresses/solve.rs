//! Rounds over a function, until each value is known to be what its definition makes of the others.

use cranelift_entity::EntityRef;

use super::slots::{Extent, Slots};
use super::{Accessed, Addresses, Pointer, ROUNDS, Value, Variable, of_symbol};
use oriole_ir::ops::{CvtaDirection, Flags, Opcode, Saturate, Shape, Space, Type};
use oriole_ir::{Form, Function, Inst, Operand};

/// The addresses of a function while they are found.
pub(super) struct Solver<'a> {
    func: &'a Function,
    /// Whether parameters of 64 bits are addresses of global memory.
    parameters: bool,
    found: Addresses,
    slots: Slots,
    changed: bool,
}

impl<'a> Solver<'a> {
    pub(super) fn new(func: &'a Function, parameters: bool) -> Solver<'a> {
        let values = vec![Value::Unseen; func.regs().len()];
        let found = Addresses { values, captured: vec![false; func.locals.len()], beyond: false };
        Solver { func, parameters, found, slots: Slots::new(func), changed: false }
    }

    pub(super) fn solve(mut self) -> Addresses {
        for _ in 0..ROUNDS {
            self.changed = false;
            self.slots.forget_accesses();
            for inst in self.func.layout_insts() {
                self.visit(inst);
            }
            for pointer in self.slots.spoilt(&self.found.captured) {
                self.capture(pointer);
            }
            if !self.changed {
                return self.found;
            }
        }
        self.capture_all();
        self.found.values.fill(Value::Plain);
        self.found
    }

    fn value(&self, operand: Operand) -> Value {
        match operand {
            Operand::Undef => Value::Unseen,
            Operand::Reg(reg) => self.found.values[reg.index()],
            // A part of a pointer is none.
            other => of_symbol(self.func, other).map_or(Value::Plain, Value::Pointer),
        }
    }

    fn capture(&mut self, pointer: Pointer) {
        if let Some(Variable::Local(local)) = pointer.variable {
            self.changed |= !std::mem::replace(&mut self.found.captured[local.index()], true);
        }
    }

    fn capture_all(&mut self) {
        self.changed |= !std::mem::replace(&mut self.found.beyond, true);
        self.found.captured.fill(true);
    }

    fn capture_operand(&mut self, operand: Operand) {
        let whole = if let Operand::Word(reg, _) = operand { Operand::Reg(reg) } else { operand };
        if let Value::Pointer(pointer) = self.value(whole) {
            self.capture(pointer);
        }
    }

    /// What is one of two values.
    fn join(&mut self, a: Value, b: Value) -> Value {
        let (x, y) = match (a, b) {
            (Value::Unseen, other) | (other, Value::Unseen) => return other,
            (Value::Plain, Value::Plain) => return Value::Plain,
            (Value::Pointer(x), Value::Pointer(y)) if (x.space, x.generic) == (y.space, y.generic) => (x, y),
            _ => {
                for value in [a, b] {
                    if let Value::Pointer(pointer) = value {
                        self.capture(pointer);
                    }
                }
                return Value::Plain;
            }
        };
        if x.variable == y.variable {
            let offset = x.offset.filter(|_| x.offset == y.offset);
            return Value::Pointer(Pointer { offset, ..x });
        }
        [x, y].into_iter().for_each(|pointer| self.capture(pointer));
        match x.space {
            Some(_) => Value::Pointer(Pointer { variable: None, offset: None, ..x }),
            None => Value::Plain,
        }
    }

    fn visit(&mut self, inst: Inst) {
        let func = self.func;
        let mut result = self.result(inst);
        let is_part = |operand: &&Operand| matches!(operand, Operand::Word(..));
        func.inputs(inst).iter().filter(is_part).for_each(|part| self.capture_operand(*part));
        // Where the guard is false, the result is another value; and outside SSA form, nobody knows which.
        for other in func.elses(inst) {
            let value = self.value(*other);
            result = self.join(result, value);
        }
        let follows = func.form == Form::Ssa && func.dsts(inst).len() == 1;
        for dst in func.dsts(inst) {
            match dst {
                Operand::Reg(reg) if follows => {
                    let joined = self.join(self.found.values[reg.index()], result);
                    self.changed |= std::mem::replace(&mut self.found.values[reg.index()], joined) != joined;
                }
                _ => {
                    if let Value::Pointer(pointer) = result {
                        self.capture(pointer);
                    }
                    let plain =
                        dst.reg().map(|reg| std::mem::replace(&mut self.found.values[reg.index()], Value::Plain));
                    self.changed |= plain.is_some_and(|before| before != Value::Plain);
                }
            }
        }
    }

    /// What an instruction yields; what it does not follow is captured.
    fn result(&mut self, inst: Inst) -> Value {
        let (func, data) = (self.func, self.func.inst(inst));
        let srcs = func.srcs(inst);
        match (data.opcode, srcs) {
            (Opcode::Phi, _) => srcs.chunks_exact(2).fold(Value::Unseen, |all, pair| {
                let value = self.value(pair[0]);
                self.join(all, value)
            }),
            (Opcode::SelP, [yes, no, _]) if is_address(data.ty()) => {
                let (yes, no) = (self.value(*yes), self.value(*no));
                self.join(yes, no)
            }
            (Opcode::Mov | Opcode::Split, [from]) if is_address(data.ty()) => self.value(*from),
            (Opcode::Cvta, [from]) => self.converted(inst, *from),
            (Opcode::IAdd, [a, b]) if is_sum(func, inst) => self.sum(*a, *b),
            (Opcode::ISub, [from, by]) if is_sum(func, inst) => match (self.value(*from), self.value(*by)) {
                (Value::Pointer(pointer), Value::Plain | Value::Unseen) => {
                    Value::Pointer(pointer.moved(func.imm_bits(*by).map(u64::wrapping_neg)))
                }
                _ => self.captured(srcs),
            },
            (Opcode::IMadLo | Opcode::IMadWide, [a, b, base]) if is_sum(func, inst) => {
                let factors = [self.value(*a), self.value(*b)];
                match (self.value(*base), factors.iter().any(|value| matches!(value, Value::Pointer(_)))) {
                    (Value::Pointer(pointer), false) => Value::Pointer(pointer.moved(None)),
                    _ => self.captured(srcs),
                }
            }
            (Opcode::IsSpaceP, _) => Value::Plain,
            // Which of two addresses is the lower one says of neither where it leads.
            _ if data.is(Flags::PURE) && data.opcode.row().dsts.iter().all(|shape| *shape == Shape::P) => Value::Plain,
            _ => self.access(inst),
        }
    }

    fn captured(&mut self, operands: &[Operand]) -> Value {
        operands.iter().for_each(|operand| self.capture_operand(*operand));
        Value::Plain
    }

    fn sum(&mut self, a: Operand, b: Operand) -> Value {
        match (self.value(a), self.value(b)) {
            (Value::Pointer(pointer), Value::Plain | Value::Unseen) => {
                Value::Pointer(pointer.moved(self.func.imm_bits(b)))
            }
            (Value::Plain | Value::Unseen, Value::Pointer(pointer)) => {
                Value::Pointer(pointer.moved(self.func.imm_bits(a)))
            }
            _ => self.captured(&[a, b]),
        }
    }

    fn converted(&mut self, inst: Inst, from: Operand) -> Value {
        let data = self.func.inst(inst);
        let (space, to_generic) =
            (data.field::<Space>(), data.field::<CvtaDirection>() != Some(CvtaDirection::FromGeneric));
        let space_of = |pointer: Pointer| pointer.space.is_none() || pointer.space == space;
        match self.value(from) {
            Value::Pointer(pointer) if pointer.generic != to_generic && space_of(pointer) => {
                Value::Pointer(Pointer { space, generic: to_generic, ..pointer })
            }
            Value::Pointer(_) => self.captured(&[from]),
            _ if to_generic => Value::Pointer(Pointer { space, generic: true, variable: None, offset: None }),
            _ => Value::Plain,
        }
    }

    /// An access, or an instruction of which nothing is known.
    fn access(&mut self, inst: Inst) -> Value {
        let (func, opcode) = (self.func, self.func.inst(inst).opcode);
        let srcs = func.srcs(inst);
        let value = |operand: Operand| match self.value(operand) {
            Value::Pointer(pointer) => Some(pointer),
            _ => None,
        };
        let Some(accessed) = Accessed::of(func, inst, value) else { return self.captured(srcs) };
        let local = accessed.pointer.variable.and_then(Variable::local);
        let known = local.and_then(|local| accessed.within(func.locals[local].size()));
        if local.is_some() && accessed.first.is_some() && known.is_none() {
            self.capture_all();
        }
        if self.parameters && reads_address(func, inst) {
            return Value::Pointer(Pointer { space: Some(Space::Global), generic: true, variable: None, offset: None });
        }
        let Some(local) = local else { return self.captured(&srcs[2..]) };
        let is_scalar = self.func.inst(inst).vector_len() == 1 && self.func.inst(inst).ty().bits() == 64;
        let is_whole = is_scalar && matches!(opcode, Opcode::Ld | Opcode::St);
        self.slots.note(local, known.map(|first| Extent { first, size: accessed.size, is_whole }));
        match (opcode, known.filter(|_| is_whole && self.slots.may_hold(local))) {
            (Opcode::St, Some(first)) => {
                let (before, stored) = (self.slots.get(local, first), self.value(srcs[2]));
                let joined = self.join(before, stored);
                self.changed |= self.slots.set(local, first, joined);
                Value::Plain
            }
            (Opcode::Ld, Some(first)) => match self.slots.get(local, first) {
                Value::Unseen => Value::Plain,
                value => value,
            },
            _ => self.captured(&srcs[2..]),
        }
    }
}

/// Whether values of a type may be whole addresses.
fn is_address(ty: Type) -> bool {
    matches!(ty, Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64)
}

/// Whether an instruction computes a sum as wide as its result, modulo two to the power of its width.
fn is_sum(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    is_address(data.ty()) && data.field::<Saturate>() != Some(Saturate::Sat)
}

/// Whether an instruction reads a parameter of 64 bits by name.
fn reads_address(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_load = data.opcode == Opcode::Ld && data.vector_len() == 1 && data.ty().bits() == 64;
    let named = |operand: &Operand| matches!(operand, Operand::Local(local) if func.params.contains(local));
    is_load && data.field::<Space>() == Some(Space::Param) && func.srcs(inst).first().is_some_and(named)
}
