//! Integers of a word, or several that are packed in one: sums, minima and maxima, distances, dot products.

use super::integer::width;
use super::word::Word;
use crate::meaning::integer::saturate;
use crate::term::{Term, Terms};

/// How a word is divided: the width of an integer, and whether it has a sign.
#[derive(Clone, Copy)]
struct Lanes {
    width: u32,
    signed: bool,
}

/// The lanes of minima and maxima; those of a whole word are signed where nothing is said.
fn lanes(w: &Word<'_>) -> Lanes {
    let named = w.one_of(&[
        ("U32", (32, false)),
        ("U16x2", (16, false)),
        ("S16x2", (16, true)),
        ("U8x4", (8, false)),
        ("S8x4", (8, true)),
        ("U64", (64, false)),
        ("S64", (64, true)),
    ]);
    let (width, signed) = named.unwrap_or((32, true));
    Lanes { width, signed }
}

/// A function of the integers of words, lane by lane.
fn by_lane<const N: usize>(
    t: &mut Terms,
    width: u32,
    words: [Term; N],
    mut f: impl FnMut(&mut Terms, [Term; N]) -> Term,
) -> Term {
    let mut result = None;
    for low in (0..t.width(words[0])).step_by(width as usize) {
        let integers = words.map(|word| t.extract(word, low, width));
        let lane = f(t, integers);
        result = Some(result.map_or(lane, |below| t.concat(lane, below)));
    }
    result.unwrap_or(words[0])
}

/// The sum of two integers of a width, each perhaps negated.
fn signed_sum(t: &mut Terms, [a, b]: [Term; 2], negates: [bool; 2]) -> Term {
    let a = if negates[0] { t.neg(a) } else { a };
    let b = if negates[1] { t.neg(b) } else { b };
    t.add(a, b)
}

/// Operands: result, two words. `.ISAT` keeps the sum of words in the range of its type.
pub(super) fn add(w: &mut Word<'_>) -> Option<()> {
    let lane = w.one_of(&[("16x2", 16), ("S16x2", 16), ("U8x4", 8), ("S8x4", 8)]).unwrap_or(32);
    let negates = [w.marks(1)?.negate, w.marks(2)?.negate];
    let words = [w.raw(1, 32)?, w.raw(2, 32)?];
    if w.is("ISAT") {
        w.is("S32").then_some(())?;
        let wide = words.map(|word| w.t.sign_extend(word, 34));
        let sum = signed_sum(w.t, wide, negates);
        let sum = saturate(w.t, sum, 32, true);
        return w.define(0, sum);
    }
    let sum = by_lane(w.t, lane, words, |t, lanes| signed_sum(t, lanes, negates));
    w.define(0, sum)
}

/// The smaller or larger of two integers: as a bit says, and zero at least with `.RELU`, which unsigned ones have not.
fn pick(t: &mut Terms, lanes: Lanes, is_least: Term, rectifies: bool, [a, b]: [Term; 2]) -> Term {
    let (least, most) = (t.min(a, b, lanes.signed), t.max(a, b, lanes.signed));
    let picked = t.ite(is_least, least, most);
    if !rectifies {
        return picked;
    }
    let zero = t.constant(0, lanes.width);
    t.max(picked, zero, true)
}

/// Whether results are zero at least.
fn rectifies(w: &Word<'_>, lanes: Lanes) -> Option<bool> {
    let rectifies = w.is("RELU");
    (!rectifies || lanes.signed).then_some(rectifies)
}

/// Operands: result, two words. Two predicates may say whether the first one was chosen, of equal ones it is: of the
/// lower half or the word, and of the upper half. Where both are one predicate, it is that of the lower half.
pub(super) fn extreme(w: &mut Word<'_>) -> Option<()> {
    let (lanes, width) = (lanes(w), width(w));
    let rectifies = rectifies(w, lanes)?;
    let (is_least, words) = (w.truth(0)?, [w.integer(1, width)?, w.integer(2, width)?]);
    let result = by_lane(w.t, lanes.width, words, |t, pair| pick(t, lanes, is_least, rectifies, pair));
    w.define(0, result)?;
    let places = [w.decided(0), w.decided(1)];
    if places == [None; 2] {
        return Some(());
    }
    if rectifies || !matches!(lanes.width, 16 | 32) || w.truths() > 1 {
        return None;
    }
    let is_first = |w: &mut Word<'_>, low: u32| {
        let [a, b] = words.map(|word| w.t.extract(word, low, lanes.width));
        let (above, below) = (w.t.less(b, a, lanes.signed), w.t.less(a, b, lanes.signed));
        let loses = w.t.ite(is_least, above, below);
        w.t.not(loses)
    };
    let [lower, upper] = [0, 32 - lanes.width].map(|low| is_first(w, low));
    w.decide(1, upper)?;
    w.decide(0, lower)
}

/// Operands: result, three words.
pub(super) fn extreme3(w: &mut Word<'_>) -> Option<()> {
    let lanes = lanes(w);
    let (rectifies, is_least) = (rectifies(w, lanes)?, w.truth(0)?);
    let words = [w.integer(1, 32)?, w.integer(2, 32)?, w.integer(3, 32)?];
    let result = by_lane(w.t, lanes.width, words, |t, [a, b, c]| {
        let two = pick(t, lanes, is_least, false, [a, b]);
        pick(t, lanes, is_least, rectifies, [two, c])
    });
    w.define(0, result)
}

/// Operands: result, two words that are added, the word that the sum is compared with.
pub(super) fn add_extreme(w: &mut Word<'_>) -> Option<()> {
    let lanes = lanes(w);
    let (rectifies, is_least) = (rectifies(w, lanes)?, w.truth(0)?);
    let negates = [w.marks(1)?.negate, w.marks(2)?.negate];
    let words = [w.raw(1, 32)?, w.raw(2, 32)?, w.integer(3, 32)?];
    let result = by_lane(w.t, lanes.width, words, |t, [a, b, c]| {
        let sum = signed_sum(t, [a, b], negates);
        pick(t, lanes, is_least, rectifies, [sum, c])
    });
    w.define(0, result)
}

/// Operands: result, four bytes or two halves, four bytes of which halves meet the lower or the upper two, an addend.
pub(super) fn dot(w: &mut Word<'_>) -> Option<()> {
    let types: Vec<bool> =
        w.names().iter().filter(|name| name.starts_with(['U', 'S'])).map(|name| name.starts_with('S')).collect();
    let [first, second] = types[..] else { return None };
    let (width, start) = if w.is("4A") { (8, 0) } else { (16, if w.is("HI") { 16 } else { 0 }) };
    let (a, b, mut sum) = (w.integer(1, 32)?, w.integer(2, 32)?, w.integer(3, 32)?);
    for at in 0..32 / width {
        let (x, y) = (w.t.extract(a, width * at, width), w.t.extract(b, start + 8 * at, 8));
        let (x, y) = (w.t.extend(x, 32, first), w.t.extend(y, 32, second));
        let product = w.t.mul(x, y);
        sum = w.t.add(sum, product);
    }
    w.define(0, sum)
}

/// The distance of two integers, as wide as they are.
fn distance(t: &mut Terms, [a, b]: [Term; 2], signed: bool) -> Term {
    let (less, forth, back) = (t.less(a, b, signed), t.sub(b, a), t.sub(a, b));
    t.ite(less, forth, back)
}

/// Operands: result, two words, an addend.
pub(super) fn difference(w: &mut Word<'_>) -> Option<()> {
    let (signed, words, addend) = (!w.is("U32"), [w.integer(1, 32)?, w.integer(2, 32)?], w.integer(3, 32)?);
    let distance = distance(w.t, words, signed);
    let sum = w.t.add(distance, addend);
    w.define(0, sum)
}

/// Operands: result, four bytes and four bytes, an addend, which is added to the sum of distances with `.ACC`.
pub(super) fn differences(w: &mut Word<'_>) -> Option<()> {
    let (signed, words) = (!w.is("U8"), [w.integer(1, 32)?, w.integer(2, 32)?]);
    if !w.is("ACC") {
        let result = by_lane(w.t, 8, words, |t, pair| distance(t, pair, signed));
        return w.define(0, result);
    }
    let mut sum = w.integer(3, 32)?;
    for low in [0, 8, 16, 24] {
        let bytes = words.map(|word| w.t.extract(word, low, 8));
        let distance = distance(w.t, bytes, signed);
        let distance = w.t.zero_extend(distance, 32);
        sum = w.t.add(sum, distance);
    }
    w.define(0, sum)
}
