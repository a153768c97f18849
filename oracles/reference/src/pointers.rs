//! Which registers hold addresses of variables, and which variables have an address that is lost sight of.
//!
//! By definition: values are assumed to be undefined at first, and what each instruction makes of them is noted again
//! and again until nothing new comes. What comes from two places is what both agree on. A pointer in a variable of the
//! function is what all stores of 64 bits leave at its place, while no other access may touch one of its bytes.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::ops::{CvtaDirection, Flags, Opcode, Saturate, Shape, Space, Type};
use oriole_ir::{Form, Function, Inst, Local, Operand, Reg};

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    pub(super) space: Option<Space>,
    generic: bool,
    /// The variable that it is counted from.
    pub(super) variable: Option<Operand>,
    distance: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Undefined,
    Number,
    Pointer(Pointer),
}

/// Where an instruction accesses memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) pointer: Pointer,
    /// Bytes from the variable's beginning.
    pub(super) first: Option<u64>,
    pub(super) size: u64,
}

/// The bytes that an access of a variable touches, where they are known, and whether it moves them as one value.
type Touched = (Option<(u64, u64)>, bool);

/// What is known of the addresses of a function.
#[derive(Default)]
pub(super) struct Pointers {
    registers: BTreeMap<Reg, Value>,
    kept: BTreeMap<(Local, u64), Value>,
    lost: BTreeSet<Local>,
    pub(super) beyond: bool,
    touched: BTreeMap<Local, Vec<Touched>>,
    news: bool,
}

impl Pointers {
    pub(super) fn of(func: &Function) -> Pointers {
        let mut all = Pointers { news: true, ..Pointers::default() };
        while std::mem::take(&mut all.news) {
            all.touched.clear();
            func.layout_insts().for_each(|inst| all.note(func, inst));
            all.drop_kept();
        }
        all
    }

    pub(super) fn is_lost(&self, local: Local) -> bool {
        self.beyond || self.lost.contains(&local)
    }

    /// Where an instruction accesses memory, if its address is a pointer.
    pub(super) fn place(&self, func: &Function, inst: Inst) -> Option<Place> {
        let data = func.inst(inst);
        let is_access = matches!(data.opcode, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red);
        let base = *func.srcs(inst).first().filter(|_| is_access)?;
        let Value::Pointer(pointer) = self.value(func, base) else { return None };
        let space = data.field::<Space>().unwrap_or(Space::Generic);
        let fits = if pointer.generic {
            space == Space::Generic
        } else {
            space != Space::Generic && pointer.space.is_none_or(|known| known == space)
        };
        let narrow = func.operand_info(base).is_some_and(|info| info.words == 1);
        let sum = pointer.distance.zip(func.imm_bits(func.srcs(inst)[1])).map(|(at, by)| at.wrapping_add(by));
        let first = sum.map(|sum| if narrow { sum as i32 as i64 as u64 } else { sum });
        let size = u64::from(data.ty().bits().div_ceil(8)) * data.vector_len() as u64;
        fits.then_some(Place { pointer, first, size })
    }

    fn value(&self, func: &Function, operand: Operand) -> Value {
        let named = |space| Pointer { space, generic: false, variable: Some(operand), distance: Some(0) };
        match operand {
            Operand::Undef => Value::Undefined,
            Operand::Local(local) => Value::Pointer(named(Some(func.locals[local].space))),
            Operand::Global(_) => Value::Pointer(named(None)),
            Operand::Reg(reg) => self.registers.get(&reg).copied().unwrap_or(Value::Undefined),
            _ => Value::Number,
        }
    }

    fn lose(&mut self, value: Value) {
        if let Value::Pointer(Pointer { variable: Some(Operand::Local(local)), .. }) = value {
            self.news |= self.lost.insert(local);
        }
    }

    fn lose_all(&mut self, func: &Function, operands: &[Operand]) -> Value {
        for operand in operands {
            let whole = if let Operand::Word(reg, _) = operand { Operand::Reg(*reg) } else { *operand };
            self.lose(self.value(func, whole));
        }
        Value::Number
    }

    /// What both of two values are.
    fn both(&mut self, a: Value, b: Value) -> Value {
        match (a, b) {
            (Value::Undefined, one) | (one, Value::Undefined) => one,
            _ if a == b => a,
            (Value::Pointer(x), Value::Pointer(y)) if x.space == y.space && x.generic == y.generic => {
                if x.variable == y.variable {
                    return Value::Pointer(Pointer { distance: None, ..x });
                }
                [a, b].into_iter().for_each(|value| self.lose(value));
                match x.space {
                    None => Value::Number,
                    _ => Value::Pointer(Pointer { variable: None, distance: None, ..x }),
                }
            }
            _ => {
                [a, b].into_iter().for_each(|value| self.lose(value));
                Value::Number
            }
        }
    }

    fn note(&mut self, func: &Function, inst: Inst) {
        let parts: Vec<Operand> =
            func.inputs(inst).iter().copied().filter(|o| matches!(o, Operand::Word(..))).collect();
        self.lose_all(func, &parts);
        let mut result = self.result(func, inst);
        for other in func.elses(inst) {
            result = self.both(result, self.value(func, *other));
        }
        let is_followed = func.form == Form::Ssa && func.dsts(inst).len() == 1;
        for dst in func.dsts(inst) {
            let Some(reg) = dst.reg() else { continue };
            let before = self.registers.get(&reg).copied().unwrap_or(Value::Undefined);
            let after = if is_followed && dst.whole_reg().is_some() {
                self.both(before, result)
            } else {
                self.lose(result);
                Value::Number
            };
            self.news |= before != after;
            self.registers.insert(reg, after);
        }
    }

    fn result(&mut self, func: &Function, inst: Inst) -> Value {
        let (data, srcs) = (func.inst(inst), func.srcs(inst));
        let integer = matches!(data.ty(), Type::B32 | Type::B64 | Type::U32 | Type::U64 | Type::S32 | Type::S64);
        let exact = integer && data.field::<Saturate>() != Some(Saturate::Sat);
        let only_predicates = data.opcode.row().dsts.iter().all(|shape| *shape == Shape::P);
        match data.opcode {
            Opcode::Phi => srcs.iter().step_by(2).fold(Value::Undefined, |all, value| {
                let value = self.value(func, *value);
                self.both(all, value)
            }),
            Opcode::SelP if integer => {
                let (yes, no) = (self.value(func, srcs[0]), self.value(func, srcs[1]));
                self.both(yes, no)
            }
            Opcode::Mov | Opcode::Split if integer => self.value(func, srcs[0]),
            Opcode::Cvta => self.converted(func, inst),
            Opcode::IAdd if exact => match [0, 1].map(|at| self.value(func, srcs[at])) {
                [Value::Pointer(_), Value::Pointer(_)]
                | [Value::Number | Value::Undefined, Value::Number | Value::Undefined] => self.lose_all(func, srcs),
                [Value::Pointer(pointer), _] => moved(pointer, func.imm_bits(srcs[1])),
                [_, Value::Pointer(pointer)] => moved(pointer, func.imm_bits(srcs[0])),
            },
            Opcode::ISub if exact => match [0, 1].map(|at| self.value(func, srcs[at])) {
                [Value::Pointer(pointer), Value::Number | Value::Undefined] => {
                    moved(pointer, func.imm_bits(srcs[1]).map(u64::wrapping_neg))
                }
                _ => self.lose_all(func, srcs),
            },
            Opcode::IMadLo | Opcode::IMadWide if exact => match [0, 1, 2].map(|at| self.value(func, srcs[at])) {
                [Value::Number | Value::Undefined, Value::Number | Value::Undefined, Value::Pointer(pointer)] => {
                    moved(pointer, None)
                }
                _ => self.lose_all(func, srcs),
            },
            Opcode::IsSpaceP => Value::Number,
            _ if data.is(Flags::PURE) && only_predicates => Value::Number,
            _ => self.accessed(func, inst),
        }
    }

    fn converted(&mut self, func: &Function, inst: Inst) -> Value {
        let (data, from) = (func.inst(inst), func.srcs(inst)[0]);
        let space = data.field::<Space>();
        let generic = data.field::<CvtaDirection>() != Some(CvtaDirection::FromGeneric);
        match self.value(func, from) {
            Value::Pointer(pointer)
                if pointer.generic != generic && (pointer.space.is_none() || pointer.space == space) =>
            {
                Value::Pointer(Pointer { space, generic, ..pointer })
            }
            Value::Pointer(_) => self.lose_all(func, &[from]),
            _ if generic => Value::Pointer(Pointer { space, generic, variable: None, distance: None }),
            _ => Value::Number,
        }
    }

    fn accessed(&mut self, func: &Function, inst: Inst) -> Value {
        let (opcode, srcs) = (func.inst(inst).opcode, func.srcs(inst));
        let Some(place) = self.place(func, inst) else { return self.lose_all(func, srcs) };
        let Some(Operand::Local(local)) = place.pointer.variable else { return self.lose_all(func, &srcs[2..]) };
        let inside = inside(place, func.locals[local].size());
        if place.first.is_some() && inside.is_none() {
            self.news |= !std::mem::replace(&mut self.beyond, true);
        }
        let one = func.inst(inst).vector_len() == 1 && func.inst(inst).ty().bits() == 64;
        let whole = one && matches!(opcode, Opcode::Ld | Opcode::St);
        self.touched.entry(local).or_default().push((inside.map(|first| (first, place.size)), whole));
        let passed = func.params.contains(&local) || func.returns.contains(&local);
        let keeps = matches!(func.locals[local].space, Space::Local | Space::Param) && !passed;
        let Some(first) = inside.filter(|_| whole && keeps) else { return self.lose_all(func, &srcs[2..]) };
        let before = self.kept.get(&(local, first)).copied().unwrap_or(Value::Undefined);
        if opcode == Opcode::Ld {
            return if before == Value::Undefined { Value::Number } else { before };
        }
        let after = self.both(before, self.value(func, srcs[2]));
        self.news |= self.kept.insert((local, first), after) != Some(after);
        Value::Number
    }

    /// Forgets pointers that others may know of or change.
    fn drop_kept(&mut self) {
        let places: Vec<(Local, u64)> = self.kept.keys().copied().collect();
        for (local, first) in places {
            let value = self.kept[&(local, first)];
            let meets = |touched: &Touched| match touched {
                (None, _) => true,
                (Some((at, size)), whole) => !(*whole && *at == first) && *at < first + 8 && first < at + size,
            };
            let spoilt = self.is_lost(local) || self.touched.get(&local).is_some_and(|all| all.iter().any(meets));
            if spoilt && matches!(value, Value::Pointer(_)) {
                self.kept.insert((local, first), Value::Number);
                self.lose(value);
                self.news = true;
            }
        }
    }
}

fn moved(pointer: Pointer, by: Option<u64>) -> Value {
    let distance = pointer.distance.zip(by).map(|(distance, by)| distance.wrapping_add(by));
    Value::Pointer(Pointer { distance, ..pointer })
}

/// The first byte of an access that lies within so many bytes.
pub(super) fn inside(place: Place, size: u64) -> Option<u64> {
    place.first.filter(|first| u128::from(*first) + u128::from(place.size) <= u128::from(size))
}
