//! Counters of a loop, and comparisons of them as relations by order.

use crate::analysis::Definitions;
use crate::edit::graph::incoming;
use oriole_ir::ops::{Compare, Opcode, Saturate, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg, RegFile};

/// A phi of a header that each round steps by a constant.
pub struct Counter {
    /// The phi.
    pub phi: Reg,
    /// Its value on entry.
    pub start: Operand,
    /// The value that the latch hands to it.
    pub next: Reg,
    /// The addition.
    pub stepping: Inst,
    /// As a signed number of the register's width; never zero.
    pub step: i64,
}

impl Counter {
    /// The counter that a phi of a header is, given the one block outside that leads there, and the one latch.
    pub fn of(func: &Function, definitions: &Definitions, before: Block, latch: Block, inst: Inst) -> Option<Counter> {
        let phi = func.defs(inst).next()?;
        let (next, start) = (incoming(func, inst, latch)?, incoming(func, inst, before)?);
        let stepping = definitions.unguarded(func, next, Opcode::IAdd)?;
        let (data, srcs) = (func.inst(stepping), func.srcs(stepping));
        let bits = data.field::<Type>()?.bits();
        let info = func.regs()[phi];
        let whole = info.file == RegFile::R && u32::from(info.words) * 32 == bits;
        let wraps = data.field::<Saturate>().is_none_or(|saturates| saturates != Saturate::Sat);
        let place = srcs.iter().position(|src| *src == Operand::Reg(phi))?;
        let step = signed(func.imm_bits(srcs[1 - place])?, bits);
        let is_value = start.is_imm() || start.whole_reg().is_some();
        let counter = Counter { phi, start, next: next.whole_reg()?, stepping, step };
        (whole && wraps && step != 0 && is_value).then_some(counter)
    }
}

/// An instruction that compares a counter with something.
pub struct Compared {
    /// The instruction.
    pub inst: Inst,
    /// The result.
    pub reg: Reg,
    /// The counter.
    pub counter: Reg,
    /// As if the counter were the first operand.
    pub compare: Compare,
    /// Whether it compares signed numbers.
    pub is_signed: bool,
    /// The other operand.
    pub bound: Operand,
}

impl Compared {
    /// The comparison of a whole register that an instruction is.
    pub fn of(func: &Function, inst: Inst, counter: Reg) -> Option<Compared> {
        let data = func.inst(inst);
        let (true, None) = (data.opcode == Opcode::SetP, data.guard) else { return None };
        let &[a, b] = func.srcs(inst) else { return None };
        let ty = data.field::<Type>()?;
        if ty.is_float() || ty.bits() != 32 * u32::from(func.regs()[counter].words) {
            return None;
        }
        let (compare, is_unsigned) = integer(data.field::<Compare>()?)?;
        let (compare, bound) = match (a == counter.into(), b == counter.into()) {
            (true, false) => (compare, b),
            (false, true) => (swapped(compare), a),
            _ => return None,
        };
        let reg = func.defs(inst).next()?;
        Some(Compared { inst, reg, counter, compare, is_signed: ty.is_signed() && !is_unsigned, bound })
    }

    /// Whether it asks for equality alone.
    pub fn is_equality(&self) -> bool {
        matches!(self.compare, Compare::Eq | Compare::Ne)
    }

    /// The relation under which control stays in a loop whose test it is.
    pub fn stays(&self, leaves_if: bool) -> Order {
        let compare = if leaves_if { negated(self.compare) } else { self.compare };
        Order { compare, is_signed: self.is_signed }
    }
}

/// A relation of integers, by order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The relation.
    pub compare: Compare,
    /// Whether it is one of signed numbers.
    pub is_signed: bool,
}

impl Order {
    /// The relation of what it does not hold for.
    pub fn negated(self) -> Order {
        Order { compare: negated(self.compare), ..self }
    }

    /// An instruction that compares two values of so many bits.
    pub fn of(self, bits: u32, value: Operand, bound: Operand, func: &Function) -> InstBuilder {
        let ty = Type::integer(bits, self.is_signed).expect("counters have 32 or 64 bits");
        let builder = InstBuilder::new(Opcode::SetP).field(ty).field(self.compare);
        builder.src(func.free(value)).src(func.free(bound))
    }

    /// The same relation as one of this kind to another constant.
    pub fn as_kind(self, kind: Compare, bound: u64, bits: u32) -> Option<u64> {
        let (least, most) = limits(bits, self.is_signed);
        let number = if self.is_signed { i128::from(signed(bound, bits)) } else { i128::from(bound) };
        let other = match (self.compare, kind) {
            (a, b) if a == b => number,
            (Compare::Lt, Compare::Le) | (Compare::Ge, Compare::Gt) => number - 1,
            (Compare::Le, Compare::Lt) | (Compare::Gt, Compare::Ge) => number + 1,
            _ => return None,
        };
        (least..=most).contains(&other).then_some(other as u64 & (u64::MAX >> (64 - bits)))
    }
}

/// The smallest and the largest number of so many bits.
pub fn limits(bits: u32, is_signed: bool) -> (i128, i128) {
    match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// So many bits as a signed number.
pub fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// The comparison without its sign, and whether it is of unsigned numbers whatever the type says; `None` for floats.
fn integer(compare: Compare) -> Option<(Compare, bool)> {
    Some(match compare {
        Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => (compare, false),
        Compare::Lo => (Compare::Lt, true),
        Compare::Ls => (Compare::Le, true),
        Compare::Hi => (Compare::Gt, true),
        Compare::Hs => (Compare::Ge, true),
        _ => return None,
    })
}

/// The comparison that holds where this one does not.
pub fn negated(compare: Compare) -> Compare {
    match compare {
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
        Compare::Lt => Compare::Ge,
        Compare::Le => Compare::Gt,
        Compare::Gt => Compare::Le,
        _ => Compare::Lt,
    }
}

fn swapped(compare: Compare) -> Compare {
    match compare {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        same => same,
    }
}
