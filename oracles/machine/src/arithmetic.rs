//! What operations compute over the lanes of a warp, beyond a function of one to three words.

use oriole_ir::ops::Compare as FloatCompare;

use super::lanes::{LANES, Lanes, each, map, map2, map3, mask};
use super::program::*;
use super::state::Warp;

impl Warp {
    /// The smaller or larger of words.
    pub fn pick(&mut self, literals: &[Lanes], kind: &Kind, active: u32) {
        let (dst, result) = match kind {
            Kind::Pick { dst, srcs, pick, min, add, chosen } => {
                let [a, b, c] = srcs.map(|src| self.fetch(literals, src));
                let min = self.pred(min[0]);
                let (a, b) = add.map_or((a, b), |add| (add(&a, &b), c));
                if let Some(Chosen { preds, is_chosen }) = chosen {
                    let is_first = |half: usize| mask(|lane| is_chosen(a[lane], b[lane], min >> lane & 1 == 1)[half]);
                    // Where both are one predicate, the lower half's stays.
                    self.set_pred(preds[1], is_first(1), active);
                    self.set_pred(preds[0], is_first(0), active);
                }
                let result: Lanes = std::array::from_fn(|lane| pick(a[lane], b[lane], min >> lane & 1 == 1));
                (*dst, result)
            }
            Kind::Pick3 { dst, srcs, pick, min } => {
                let [a, b, c] = srcs.map(|src| self.fetch(literals, src));
                let [first, second] = min.map(|pred| self.pred(pred));
                let result: Lanes = std::array::from_fn(|lane| {
                    let two = pick(a[lane], b[lane], first >> lane & 1 == 1);
                    pick(two, c[lane], second >> lane & 1 == 1)
                });
                (*dst, result)
            }
            _ => return,
        };
        self.write(dst, &result, active);
    }

    /// Integers of two words.
    pub fn wide(&mut self, literals: &[Lanes], kind: &Kind, active: u32) {
        let Kind::Wide { op, dst, preds, srcs, marks, with } = kind else { return };
        let rows = srcs.map(|(low, high)| (self.fetch(literals, low), self.fetch(literals, high)));
        let value = |at: usize, lane: usize| u64::from(rows[at].1[lane]) << 32 | u64::from(rows[at].0[lane]);
        let holds = |at: usize| with[at].map_or(0, |pred| self.pred(pred));
        let [first, second] = [holds(0), holds(1)];
        let bit = |mask: u32, lane: usize| mask >> lane & 1 == 1;
        let order = |signed: bool, lane: usize| {
            let flip = if signed { 1 << 63 } else { 0 };
            (value(0, lane) ^ flip).cmp(&(value(1, lane) ^ flip))
        };
        if let Wide::Compare(compare, signed, combine) = op {
            let found = mask(|lane| match compare {
                Compare::False => false,
                Compare::Lt => order(*signed, lane).is_lt(),
                Compare::Eq => order(*signed, lane).is_eq(),
                Compare::Le => order(*signed, lane).is_le(),
                Compare::Gt => order(*signed, lane).is_gt(),
                Compare::Ne => order(*signed, lane).is_ne(),
                Compare::Ge => order(*signed, lane).is_ge(),
                Compare::True => true,
            });
            self.set_pred(preds[0], combine.of(found, first), active);
            self.set_pred(preds[1], combine.of(!found, first), active);
            return;
        }
        let result: [u128; LANES] = std::array::from_fn(|lane| match op {
            Wide::Add => {
                let term = |at: usize| match marks[at] {
                    Mark::Negate => (1 << 64) - u128::from(value(at, lane)),
                    Mark::Invert => u128::from(!value(at, lane)),
                    _ => u128::from(value(at, lane)),
                };
                term(0) + term(1) + term(2) + u128::from(bit(first, lane)) + u128::from(bit(second, lane))
            }
            Wide::Select => value(usize::from(!bit(first, lane)), lane).into(),
            Wide::Extreme(signed) => {
                let takes_first = order(*signed, lane).is_le() == bit(first, lane);
                value(usize::from(!takes_first), lane).into()
            }
            _ => value(0, lane).into(),
        });
        if *op == Wide::Add {
            self.set_pred(preds[0], mask(|lane| result[lane] >> 64 >= 1), active);
            self.set_pred(preds[1], mask(|lane| result[lane] >> 64 >= 2), active);
        }
        self.write(*dst, &result.map(|value| value as u32), active);
        self.write(*dst + 1, &result.map(|value| (value >> 32) as u32), active);
    }

    /// Sums with carries. A negated word counts as 2^32 less the word, so that a difference that does not borrow
    /// carries.
    pub fn sum(&mut self, literals: &[Lanes], kind: &Kind, active: u32) {
        let term = |src: Src, row: &Lanes, lane: usize| match src.mark {
            Mark::Negate => (1 << 32) - u64::from(row[lane]),
            Mark::Invert => u64::from(!row[lane]),
            _ => u64::from(row[lane]),
        };
        let carry = |lanes: u32, lane: usize| u64::from(lanes >> lane & 1);
        match kind {
            Kind::Add3 { dst, carries, srcs, more } => {
                let rows = srcs.map(|src| self.fetch_row(literals, src.row));
                let more = more.map(|pred| pred.map_or(0, |pred| self.pred(pred)));
                let total = |lane: usize| -> u64 {
                    let sum: u64 = (0..3).map(|at| term(srcs[at], &rows[at], lane)).sum();
                    sum + carry(more[0], lane) + carry(more[1], lane)
                };
                let result = each(|lane| total(lane) as u32);
                if carries[0] != NOWHERE {
                    self.set_pred(carries[0], mask(|lane| total(lane) >> 32 >= 1), active);
                }
                if carries[1] != NOWHERE {
                    self.set_pred(carries[1], mask(|lane| total(lane) >> 32 >= 2), active);
                }
                self.write(*dst, &result, active);
            }
            Kind::Lea { dst, carry: out, srcs, shift, high, extends, more } => {
                let [a, b, c] = srcs.map(|src| self.fetch_row(literals, src.row));
                let subtracts = srcs[0].mark == Mark::Negate;
                let more = more.map_or(0, |pred| self.pred(pred));
                let total = |lane: usize| -> u64 {
                    let upper = match (*high, *extends) {
                        (true, true) => (a[lane] as i32 >> 31) as u32,
                        (true, false) => c[lane],
                        (false, _) => 0,
                    };
                    let pair = (u64::from(upper) << 32 | u64::from(a[lane])) << shift;
                    let word = if *high { pair >> 32 } else { pair & 0xffff_ffff };
                    let word = if subtracts { (1 << 32) - word } else { word };
                    word + term(srcs[1], &b, lane) + carry(more, lane)
                };
                let result = each(|lane| total(lane) as u32);
                if *out != NOWHERE {
                    self.set_pred(*out, mask(|lane| total(lane) >> 32 != 0), active);
                }
                self.write(*dst, &result, active);
            }
            Kind::Mad(product) => self.product(literals, product, active),
            _ => {}
        }
    }

    /// A product of two words and a sum.
    fn product(&mut self, literals: &[Lanes], product: &Product, active: u32) {
        let mut marked = [[0; LANES]; 4];
        let [first, second, third, fourth] = &mut marked;
        let [a, b, low, high] = product.srcs;
        let (a, b) = (self.operand(literals, a, first), self.operand(literals, b, second));
        let (low, high) = (self.operand(literals, low, third), self.operand(literals, high, fourth));
        let more = product.more.map_or(0, |pred| self.pred(pred));
        // The sum without a carry of 64 bits, and whether there is one.
        let total = |lane: usize| -> (u64, bool) {
            let (a, b) = (a[lane], b[lane]);
            let value = if product.signed {
                (i64::from(a as i32) * i64::from(b as i32)) as u64
            } else {
                u64::from(a) * u64::from(b)
            };
            let more = u64::from(more >> lane & 1);
            if product.part == Part::Low {
                let sum = u64::from(value as u32) + u64::from(low[lane]) + more;
                return (sum, sum >> 32 & 1 == 1);
            }
            let addend = u64::from(high[lane]) << 32 | u64::from(low[lane]);
            let addend = if product.subtracts { addend.wrapping_neg() } else { addend };
            let (sum, first) = value.overflowing_add(addend);
            let (sum, second) = sum.overflowing_add(more);
            (sum, first | second)
        };
        let carries = if product.carry == NOWHERE { 0 } else { mask(|lane| total(lane).1) };
        let word = |at: u32| each(|lane| (total(lane).0 >> (32 * at)) as u32);
        let words = match product.part {
            Part::Low => [word(0), [0; LANES]],
            Part::High => [word(1), [0; LANES]],
            Part::Wide => [word(0), word(1)],
        };
        self.set_pred(product.carry, carries, active);
        self.write(product.dst, &words[0], active);
        if product.part == Part::Wide {
            self.write(product.dst + 1, &words[1], active);
        }
    }
}

/// Whether the first of two doubles is the smaller, or larger, one; of a number and none, the number.
pub fn prefers(a: f64, b: f64, min: bool) -> bool {
    if b.is_nan() {
        return true;
    }
    if a == b {
        return a.is_sign_negative() == min;
    }
    if min { a < b } else { a > b }
}

/// Whether a quotient of floats is not found by refining the product with an approximate reciprocal: operands that are
/// no normal numbers, and exponents at which something on the way is none.
pub fn is_hard_quotient(a: u32, b: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32;
    let (ea, eb) = (exponent(a), exponent(b));
    let ordinary = (1..255).contains(&ea) && (1..255).contains(&eb);
    !ordinary || !(3..=250).contains(&eb) || ea < 27 || !(-124..=124).contains(&(ea - eb))
}

/// A logical function of three words of each lane by its table; the usual ones have functions of their own.
pub fn lop3(a: &Lanes, b: &Lanes, c: &Lanes, table: u8) -> Lanes {
    match table {
        0xc0 => map2(a, b, |a, b| a & b),
        0xfc => map2(a, b, |a, b| a | b),
        0x3c => map2(a, b, |a, b| a ^ b),
        0x33 => map(b, |b| !b),
        0x96 => map3(a, b, c, |a, b, c| a ^ b ^ c),
        _ => map3(a, b, c, |a, b, c| table_of_masks(a, b, c, table)),
    }
}

/// A logical function of three words by its table.
#[inline(always)]
pub fn table_of_masks(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let side = |word: u32, bit: u32| if row >> bit & 1 == 1 { word } else { !word };
            result |= side(a, 2) & side(b, 1) & side(c, 0);
        }
    }
    result
}

/// The lanes in which a comparison holds. With what the lower words said, this is that of the upper words.
pub fn compare_lanes(a: &Lanes, b: &Lanes, compare: Compare, signed: bool, lower: Option<u32>) -> u32 {
    let flip = if signed { 1 << 31 } else { 0 };
    let order = |lane: usize| (a[lane] ^ flip).cmp(&(b[lane] ^ flip));
    let less = mask(|lane| order(lane).is_lt());
    let equal = mask(|lane| order(lane).is_eq());
    let greater = !(less | equal);
    let Some(lower) = lower else {
        return match compare {
            Compare::False => 0,
            Compare::Lt => less,
            Compare::Eq => equal,
            Compare::Le => less | equal,
            Compare::Gt => greater,
            Compare::Ne => !equal,
            Compare::Ge => !less,
            Compare::True => u32::MAX,
        };
    };
    match compare {
        Compare::False => 0,
        Compare::Lt | Compare::Le => less | equal & lower,
        Compare::Eq => equal & lower,
        Compare::Gt | Compare::Ge => greater | equal & lower,
        Compare::Ne => !equal | equal & lower,
        Compare::True => u32::MAX,
    }
}

/// The lanes in which a comparison of single floats holds.
pub fn compare_floats(a: &Lanes, b: &Lanes, compare: FloatCompare, flushes: bool) -> u32 {
    let read = |bits: u32| {
        let is_subnormal = flushes && bits & 0x7f80_0000 == 0;
        f32::from_bits(if is_subnormal { bits & 0x8000_0000 } else { bits })
    };
    let less = mask(|lane| read(a[lane]) < read(b[lane]));
    let equal = mask(|lane| read(a[lane]) == read(b[lane]));
    by_order(compare, less, equal, mask(|lane| read(a[lane]) > read(b[lane])))
}

/// The lanes in which a comparison of floats holds, given those where the first is less, equal or greater.
pub fn by_order(compare: FloatCompare, less: u32, equal: u32, greater: u32) -> u32 {
    match compare {
        FloatCompare::Lt => less,
        FloatCompare::Eq => equal,
        FloatCompare::Le => less | equal,
        FloatCompare::Gt => greater,
        FloatCompare::Ne => less | greater,
        FloatCompare::Ge => greater | equal,
        FloatCompare::Num => less | equal | greater,
        FloatCompare::Nan => !(less | equal | greater),
        FloatCompare::Ltu => !(greater | equal),
        FloatCompare::Equ => !(less | greater),
        FloatCompare::Leu => !greater,
        FloatCompare::Gtu => !(less | equal),
        FloatCompare::Neu => !equal,
        FloatCompare::Geu => !less,
        // The others are comparisons of integers.
        _ => 0,
    }
}

/// Words of other lanes, and which lanes are in range (PTX ISA, "shfl.sync").
pub fn shuffle(mode: Shuffle, a: &Lanes, b: &Lanes, c: &Lanes) -> (Lanes, u32) {
    let (mut result, mut within) = ([0; LANES], 0);
    for lane in 0..LANES as u32 {
        let at = lane as usize;
        let (by, clamp, segment) = (b[at] & 31, c[at] & 31, c[at] >> 8 & 31);
        let most = lane & segment | clamp & !segment;
        let least = lane & segment;
        let (from, valid) = match mode {
            Shuffle::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
            Shuffle::Down => (lane + by, lane + by <= most),
            Shuffle::Bfly => (lane ^ by, lane ^ by <= most),
            Shuffle::Idx => (least | by & !segment, (least | by & !segment) <= most),
        };
        let from = if valid { from } else { lane };
        within |= u32::from(valid) << lane;
        result[at] = a[(from & 31) as usize];
    }
    (result, within)
}
