//! Video instructions (PTX ISA, "Video Instructions").
//!
//! The selectors travel in the last operand and must be a constant. Values are extracted into 72 signed bits, which
//! hold every result exactly.

use oriole_ir::ops::{
    Compare, Opcode, PlusOne, Saturate, Scale, SecondOp, SecondType, ShiftMode, SimdSelectors, SrcType, Type,
    VideoSelectors,
};

use super::super::term::{Term, Terms};
use super::Context;
use super::integer::saturate;

/// The width of intermediate values: a 32-bit value shifted left by up to 32 and a sign fit, and so does a product and
/// what is added to it.
const WIDE: u32 = 72;

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    use Opcode::*;
    let selectors = match opcode {
        VAdd | VSub | VAbsDiff | VMin | VMax | VShl | VShr | VSet | VMad | VAdd2 | VSub2 | VAvrg2 | VAbsDiff2
        | VMin2 | VMax2 | VSet2 | VAdd4 | VSub4 | VAvrg4 | VAbsDiff4 | VMin4 | VMax4 | VSet4 => {
            cx.t.value(cx.operands[3])? as u32
        }
        _ => return None,
    };
    Some(vec![match opcode {
        VMad => multiply_add(cx, VideoSelectors::unpack(selectors)),
        VAdd | VSub | VAbsDiff | VMin | VMax | VShl | VShr | VSet => {
            scalar(cx, opcode, VideoSelectors::unpack(selectors))
        }
        VAdd2 | VSub2 | VAvrg2 | VAbsDiff2 | VMin2 | VMax2 | VSet2 => {
            simd(cx, opcode, 2, SimdSelectors::unpack(selectors))
        }
        _ => simd(cx, opcode, 4, SimdSelectors::unpack(selectors)),
    }])
}

/// What an operation does to extracted values.
fn combine(cx: &mut Context, opcode: Opcode, a: Term, b: Term) -> Term {
    use Opcode::*;
    let (compare, wraps) = (cx.get::<Compare>(), cx.get::<ShiftMode>() == ShiftMode::Wrap);
    let t = &mut *cx.t;
    match opcode {
        VAdd | VAdd2 | VAdd4 => t.add(a, b),
        VSub | VSub2 | VSub4 => t.sub(a, b),
        VMin | VMin2 | VMin4 => t.min(a, b, true),
        VMax | VMax2 | VMax4 => t.max(a, b, true),
        VAbsDiff | VAbsDiff2 | VAbsDiff4 => {
            let (less, up, down) = (t.slt(a, b), t.sub(b, a), t.sub(a, b));
            t.ite(less, up, down)
        }
        VAvrg2 | VAvrg4 => average(t, a, b),
        VShl | VShr => {
            let limit = t.constant(if wraps { 31 } else { 32 }, WIDE);
            let count = if wraps { t.and(b, limit) } else { t.min(b, limit, false) };
            if opcode == VShr {
                return t.ashr(a, count);
            }
            let (shifted, width) = (t.shl(a, count), 34);
            let low = t.extract(shifted, 0, width);
            t.extend(low, WIDE, true)
        }
        _ => compared(t, compare, a, b),
    }
}

/// Half the sum, halves away from zero.
fn average(t: &mut Terms, a: Term, b: Term) -> Term {
    let (sum, one) = (t.add(a, b), t.constant(1, WIDE));
    let (negative, more) = (t.sign(sum), t.add(sum, one));
    let rounded = t.ite(negative, sum, more);
    t.ashr(rounded, one)
}

fn compared(t: &mut Terms, compare: Compare, a: Term, b: Term) -> Term {
    let (less, equal, greater) = (t.slt(a, b), t.eq(a, b), t.slt(b, a));
    let holds = match compare {
        Compare::Eq => equal,
        Compare::Ne => t.not(equal),
        Compare::Lt => less,
        Compare::Le => t.not(greater),
        Compare::Gt => greater,
        _ => t.not(less),
    };
    t.zero_extend(holds, WIDE)
}

/// A bit field of an operand, extended as a type says.
fn field(cx: &mut Context, number: usize, (low, width): (u32, u32), signed: bool) -> Term {
    let word = cx.operand(number, 32);
    let bits = cx.t.extract(word, low, width);
    cx.t.extend(bits, WIDE, signed)
}

fn source_signs(cx: &Context) -> [bool; 2] {
    [Type::from(cx.get::<SrcType>()).is_signed(), Type::from(cx.get::<SecondType>()).is_signed()]
}

/// A word with a field replaced by the low bits of a value.
fn insert(t: &mut Terms, word: Term, (low, width): (u32, u32), value: Term) -> Term {
    let mut result = t.extract(value, 0, width);
    if low > 0 {
        let below = t.extract(word, 0, low);
        result = t.concat(result, below);
    }
    if low + width < 32 {
        let above = t.extract(word, low + width, 32 - low - width);
        result = t.concat(above, result);
    }
    result
}

fn scalar(cx: &mut Context, opcode: Opcode, select: VideoSelectors) -> Term {
    let signs = source_signs(cx);
    let (a, b) = (field(cx, 0, select.a.bits(), signs[0]), field(cx, 1, select.b.bits(), signs[1]));
    let result = combine(cx, opcode, a, b);
    let (signed, saturates, second) = (cx.is_signed(), cx.has::<Saturate>(), cx.get());
    let result = if saturates { saturated(cx.t, result, select.dst.bits().1, signed) } else { result };
    let c = field(cx, 2, (0, 32), signed);
    let third = cx.operand(2, 32);
    let t = &mut *cx.t;
    let whole = match second {
        SecondOp::None => return insert(t, third, select.dst.bits(), result),
        SecondOp::Add => t.add(result, c),
        SecondOp::Min => t.min(result, c, signed),
        SecondOp::Max => t.max(result, c, signed),
    };
    t.extract(whole, 0, 32)
}

/// A value brought into the range of a field, still wide.
fn saturated(t: &mut Terms, value: Term, width: u32, signed: bool) -> Term {
    let low = saturate(t, value, width, signed);
    t.extend(low, WIDE, signed)
}

/// `a * b + c`, shifted right and saturated. Negating a factor, or both, negates the product by their exclusive or;
/// negating `c` complements it and adds one. The result is signed if a source is or anything is negated.
fn multiply_add(cx: &mut Context, select: VideoSelectors) -> Term {
    let signs = source_signs(cx);
    let (a, b) = (field(cx, 0, select.a.bits(), signs[0]), field(cx, 1, select.b.bits(), signs[1]));
    let [negate_a, negate_b, negate_c] = select.negate;
    let negate_product = negate_a != negate_b;
    let signed = signs[0] || signs[1] || negate_product || negate_c;
    let (plus_one, saturates, scale) = (cx.has::<PlusOne>(), cx.has::<Saturate>(), cx.get());
    let third = cx.operand(2, 32);
    let t = &mut *cx.t;
    // The ISA tests `.po` first, then the product's negation, then that of `c`; only one of them takes effect.
    let complements = negate_c && !plus_one && !negate_product;
    let third = if complements { t.not(third) } else { third };
    let c = t.extend(third, WIDE, signed);
    let product = t.mul(a, b);
    let product = if negate_product && !plus_one { t.neg(product) } else { product };
    let sum = t.add(product, c);
    let extra = t.constant(u128::from(plus_one || complements), WIDE);
    let sum = t.add(sum, extra);
    let by = match scale {
        Scale::None => 0,
        Scale::Shr7 => 7,
        Scale::Shr15 => 15,
    };
    let by = t.constant(by, WIDE);
    let scaled = t.ashr(sum, by);
    if saturates { saturate(t, scaled, 32, signed) } else { t.extract(scaled, 0, 32) }
}

/// Lane by lane: the lanes of the mask replace those of the third operand, or are all added to it.
fn simd(cx: &mut Context, opcode: Opcode, lanes: u32, select: SimdSelectors) -> Term {
    let (signs, signed, saturates) = (source_signs(cx), cx.ty == Type::S32, cx.has::<Saturate>());
    let adds = cx.get::<SecondOp>() == SecondOp::Add;
    let (low, high, mut result) = (cx.operand(0, 32), cx.operand(1, 32), cx.operand(2, 32));
    let (pair, width) = (cx.t.concat(high, low), 32 / lanes);
    for lane in (0..lanes).filter(|lane| select.mask >> lane & 1 == 1) {
        let mut pick = |from: [u8; 4], signed| {
            let from = u32::from(from[lane as usize]) % (2 * lanes);
            let bits = cx.t.extract(pair, from * width, width);
            cx.t.extend(bits, WIDE, signed)
        };
        let (a, b) = (pick(select.a, signs[0]), pick(select.b, signs[1]));
        let value = combine(cx, opcode, a, b);
        let value = if saturates { saturated(cx.t, value, width, signed) } else { value };
        result = if adds {
            let low = cx.t.extract(value, 0, 32);
            cx.t.add(result, low)
        } else {
            insert(cx.t, result, (lane * width, width), value)
        };
    }
    result
}
