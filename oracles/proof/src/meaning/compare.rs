//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions", also for half precision).

use oriole_ir::ops::{BoolOp, Compare, Ftz, Opcode, SrcType, Type};

use super::super::term::{Term, Terms};
use super::Context;
use super::bits::combine;
use super::float::{Format, format};

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    match opcode {
        Opcode::SetP => Some(vec![compared(cx, cx.ty)]),
        Opcode::SetPBool => {
            let holds = compared(cx, cx.ty);
            let fails = cx.t.not(holds);
            Some(vec![combined(cx, holds), combined(cx, fails)])
        }
        Opcode::SetPX2 => Some(compared_halves(cx, cx.ty)),
        Opcode::SetPX2Bool => {
            let holds = compared_halves(cx, cx.ty);
            Some(holds.into_iter().map(|holds| combined(cx, holds)).collect())
        }
        Opcode::Set | Opcode::SetBool => Some(vec![set(opcode, cx)]),
        Opcode::SelP => {
            let condition = cx.operand(2, 1);
            Some(vec![choose(cx, condition)])
        }
        Opcode::Slct => {
            let condition = selects_first(cx);
            Some(vec![choose(cx, condition)])
        }
        _ => None,
    }
}

/// Whether the comparison holds for the first two operands, of a type.
fn compared(cx: &mut Context, ty: Type) -> Term {
    let (a, b) = (cx.operand(0, ty.bits()), cx.operand(1, ty.bits()));
    holds(cx, ty, a, b)
}

/// Whether it holds for the low and for the high halves, of a packed type.
fn compared_halves(cx: &mut Context, ty: Type) -> Vec<Term> {
    let (a, b) = (cx.operand(0, 32), cx.operand(1, 32));
    let half = |low| {
        let (a, b) = (cx.t.extract(a, low, 16), cx.t.extract(b, low, 16));
        holds(cx, ty, a, b)
    };
    [0, 16].map(half).to_vec()
}

/// A result of a comparison combined with the predicate operand.
fn combined(cx: &mut Context, holds: Term) -> Term {
    let (op, with) = (cx.get::<BoolOp>(), cx.operand(2, 1));
    combine(cx.t, op, holds, with)
}

fn holds(cx: &mut Context, ty: Type, a: Term, b: Term) -> Term {
    let compare: Compare = cx.get();
    let Some(format) = format(ty) else {
        let order = Order { less: cx.t.less(a, b, ty.is_signed()), equal: cx.t.eq(a, b) };
        return order.satisfies(cx.t, compare);
    };
    let flush = cx.has::<Ftz>();
    let [a, b] = [a, b].map(|value| if flush { format.flush(cx.t, value) } else { value });
    float_holds(cx.t, format, compare, a, b)
}

/// How two values that have an order stand.
struct Order {
    less: Term,
    equal: Term,
}

impl Order {
    fn satisfies(&self, t: &mut Terms, compare: Compare) -> Term {
        let at_most = t.or(self.less, self.equal);
        match compare {
            Compare::Eq | Compare::Equ => self.equal,
            Compare::Ne | Compare::Neu => t.not(self.equal),
            Compare::Lt | Compare::Lo | Compare::Ltu => self.less,
            Compare::Le | Compare::Ls | Compare::Leu => at_most,
            Compare::Gt | Compare::Hi | Compare::Gtu => t.not(at_most),
            Compare::Ge | Compare::Hs | Compare::Geu => t.not(self.less),
            Compare::Num => t.bit(true),
            Compare::Nan => t.bit(false),
        }
    }
}

/// Zeros are equal whatever their signs. With a NaN, only unordered comparisons and `nan` hold.
pub(crate) fn float_holds(t: &mut Terms, format: &Format, compare: Compare, a: Term, b: Term) -> Term {
    let magnitudes = {
        let (a, b) = (format.magnitude(t, a), format.magnitude(t, b));
        t.or(a, b)
    };
    let both_zero = t.is_zero(magnitudes);
    let same = t.eq(a, b);
    let equal = t.or(same, both_zero);
    let (rank_a, rank_b) = (format.rank(t, a), format.rank(t, b));
    let (below, not_equal) = (t.slt(rank_a, rank_b), t.not(equal));
    let order = Order { less: t.and(below, not_equal), equal };
    let ordered = order.satisfies(t, compare);
    let (nan_a, nan_b) = (format.is_nan(t, a), format.is_nan(t, b));
    let unordered = t.or(nan_a, nan_b);
    let with_nan = matches!(
        compare,
        Compare::Equ | Compare::Neu | Compare::Ltu | Compare::Leu | Compare::Gtu | Compare::Geu | Compare::Nan
    );
    let with_nan = t.bit(with_nan);
    t.ite(unordered, with_nan, ordered)
}

/// True is 1.0 for float results and all ones for integers; of packed sources, each half gives half a result.
fn set(opcode: Opcode, cx: &mut Context) -> Term {
    let source = Type::from(cx.get::<SrcType>());
    let packed = matches!(source, Type::F16x2 | Type::Bf16x2);
    let holds = if packed { compared_halves(cx, source) } else { vec![compared(cx, source)] };
    let width = if packed { 16 } else { cx.width() };
    let truth = format(cx.ty).map_or(u128::MAX, |format| format.one());
    let (truth, zero) = (cx.t.constant(truth, width), cx.t.constant(0, width));
    let results: Vec<Term> =
        holds.into_iter().map(|holds| if opcode == Opcode::SetBool { combined(cx, holds) } else { holds }).collect();
    let results: Vec<Term> = results.into_iter().map(|holds| cx.t.ite(holds, truth, zero)).collect();
    match results[..] {
        [low, high] => cx.t.concat(high, low),
        _ => results[0],
    }
}

/// The first operand where a bit is set, else the second.
fn choose(cx: &mut Context, condition: Term) -> Term {
    let (a, b) = cx.pair();
    cx.t.ite(condition, a, b)
}

/// Whether the third operand is not negative; -0 is not, a NaN counts as negative.
fn selects_first(cx: &mut Context) -> Term {
    let value = cx.operand(2, 32);
    let negative = cx.t.sign(value);
    if cx.get::<SrcType>() != SrcType::F32 {
        return cx.t.not(negative);
    }
    let format = &Format::F32;
    let value = if cx.has::<Ftz>() { format.flush(cx.t, value) } else { value };
    let magnitude = format.magnitude(cx.t, value);
    let (nan, nonzero) = (format.is_nan(cx.t, value), cx.t.is_nonzero(magnitude));
    let below_zero = cx.t.and(negative, nonzero);
    let second = cx.t.or(nan, below_zero);
    cx.t.not(second)
}
