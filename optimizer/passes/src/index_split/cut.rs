//! Where a loop is split: a relation of the counter to a bound that holds in the first rounds, and from some round on
//! no more, and what a comparison is before and behind.

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::Range;

/// An instruction that compares a counter with something.
pub(super) struct Compared {
    pub(super) inst: Inst,
    /// The result.
    pub(super) reg: Reg,
    pub(super) counter: Reg,
    /// As if the counter were the first operand.
    pub(super) compare: Compare,
    pub(super) is_signed: bool,
    pub(super) bound: Operand,
}

impl Compared {
    /// The comparison of a whole register that an instruction is.
    pub(super) fn of(func: &Function, inst: Inst, counter: Reg) -> Option<Compared> {
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

    pub(super) fn is_equality(&self) -> bool {
        matches!(self.compare, Compare::Eq | Compare::Ne)
    }

    /// The relation under which control stays in a loop whose test it is.
    pub(super) fn stays(&self, leaves_if: bool) -> Order {
        let compare = if leaves_if { negated(self.compare) } else { self.compare };
        Order { compare, is_signed: self.is_signed }
    }
}

/// A relation of integers, by order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub(super) compare: Compare,
    pub(super) is_signed: bool,
}

impl Order {
    pub(super) fn negated(self) -> Order {
        Order { compare: negated(self.compare), ..self }
    }

    /// An instruction that compares two values of so many bits.
    pub(super) fn of(self, bits: u32, value: Operand, bound: Operand, func: &Function) -> InstBuilder {
        let ty = Type::integer(bits, self.is_signed).expect("counters have 32 or 64 bits");
        let builder = InstBuilder::new(Opcode::SetP).field(ty).field(self.compare);
        builder.src(func.free(value)).src(func.free(bound))
    }

    /// The same relation as one of this kind to another constant.
    pub(super) fn as_kind(self, kind: Compare, bound: u64, bits: u32) -> Option<u64> {
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

/// Where a loop is split.
pub(super) struct Cut {
    /// The relation of the counter to the bound in the rounds of the first loop.
    pub(super) stays: Order,
    /// The result of the comparison in the first and in the second loop.
    pub(super) values: [bool; 2],
}

impl Cut {
    /// The cut for a comparison of a counter that goes up or down. `ends` says whether equality holds in the first or
    /// in the last round alone.
    pub(super) fn of(compared: &Compared, is_signed: bool, goes_up: bool, ends: [bool; 2]) -> Option<Cut> {
        let (strictly, at_most) = if goes_up { (Compare::Lt, Compare::Le) } else { (Compare::Gt, Compare::Ge) };
        let cut = |compare: Compare, first: bool| Cut { stays: Order { compare, is_signed }, values: [first, !first] };
        Some(match compared.compare {
            Compare::Eq | Compare::Ne => {
                let equal = compared.compare == Compare::Eq;
                match ends {
                    [true, _] => cut(at_most, equal),
                    [_, true] => cut(strictly, !equal),
                    _ => return None,
                }
            }
            compare if compare == strictly || compare == at_most => cut(compare, true),
            compare => cut(negated(compare), false),
        })
    }
}

/// Whether one more step of a counter may leave the numbers of its type.
pub(super) fn wraps(range: Range, step: i64, is_signed: bool) -> bool {
    let (least, most) = limits(range.bits(), is_signed);
    let (low, high) = bounds(range, is_signed);
    let step = i128::from(step);
    low + step < least || high + step > most
}

/// Whether a bound is a constant that is the largest number of a range, or the smallest.
pub(super) fn is_end(range: Range, bound: Range, is_signed: bool, largest: bool) -> bool {
    let ((low, high), (least, most)) = (bounds(range, is_signed), bounds(bound, is_signed));
    least == most && least == if largest { high } else { low }
}

fn bounds(range: Range, is_signed: bool) -> (i128, i128) {
    match is_signed {
        true => (range.signed().0.into(), range.signed().1.into()),
        false => (range.unsigned().0.into(), range.unsigned().1.into()),
    }
}

/// The smallest and the largest number of so many bits.
fn limits(bits: u32, is_signed: bool) -> (i128, i128) {
    match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// So many bits as a signed number.
pub(super) fn signed(value: u64, bits: u32) -> i64 {
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

fn negated(compare: Compare) -> Compare {
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
