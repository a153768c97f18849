//! Quotients and remainders, and the shifts that divide.

use num_bigint::{BigInt, Sign};

use super::super::term::{Term, ones};
use super::formula::Formula;
use super::poly::{Atom, Poly, floor, power};
use super::{Encoder, Origin};

impl Encoder<'_> {
    /// The quotient rounded down and what is left. The divisor is not negative; the dividend is neither, where the
    /// divisor may be zero.
    pub(super) fn divided(&mut self, a: &Poly, b: &Poly, width: u32) -> (Poly, Poly) {
        if let Some(divisor) = b.value().filter(|divisor| *divisor > 0.into()) {
            if let Some(split) = self.split_exactly(a, &divisor) {
                return split;
            }
            if let Some(quotient) = self.quotient_of_less(a, &divisor) {
                let (rest, is_new) = self.unknown(Origin::Remainder(a.clone(), b.clone()), (0.into(), divisor - 1));
                if is_new {
                    self.facts.push(Formula::equal(a, &b.product(&quotient).plus(&rest)));
                }
                return (quotient, rest);
            }
        }
        self.divided_as_it_is(a, b, width)
    }

    /// Parts of a dividend that are multiples of the divisor, where what is left is less than it.
    fn split_exactly(&self, a: &Poly, divisor: &BigInt) -> Option<(Poly, Poly)> {
        let (multiple, rest) = a.split(divisor);
        let (least, most) = self.bounds(&rest);
        (least >= 0.into() && most < *divisor).then_some((multiple, rest))
    }

    /// The quotient by a number as that of simpler terms, where there is one: quotients of quotients are one quotient,
    /// and a product with a reciprocal is the quotient that it stands for.
    fn quotient_of_less(&mut self, a: &Poly, divisor: &BigInt) -> Option<Poly> {
        let (mut inner, mut by) = (a.clone(), divisor.clone());
        // floor((floor(p / d) + r) / b) = floor((p + d * r) / (d * b)) for whole r.
        for atom in a.atoms() {
            let Some((dividend, inner_divisor)) = self.quotient_by_number(atom) else { continue };
            if inner.linear_in(atom).is_some_and(|coefficient| *coefficient == 1.into()) {
                let others = inner.minus(&Poly::atom(atom));
                inner = dividend.plus(&others.times(&inner_divisor));
                by *= inner_divisor;
            }
        }
        let changed = inner != *a;
        if let Some(quotient) = self.reciprocal(&inner, &by) {
            return Some(quotient);
        }
        changed.then(|| self.divided(&inner, &Poly::constant(by), 1).0)
    }

    /// The dividend and the divisor of an unknown that is a quotient by a positive number.
    pub(super) fn quotient_by_number(&self, atom: Atom) -> Option<(Poly, BigInt)> {
        match &self.origins[atom as usize] {
            Origin::Quotient(a, b, _) => b.value().filter(|b| *b > 0.into()).map(|b| (a.clone(), b)),
            _ => None,
        }
    }

    /// `floor((m * p + k) / d)` as `floor(p / c)`, where they are equal for all that `p` may be.
    ///
    /// With `e = m * c - d` and `p = c * u + v`, `0 <= v < c`, the dividend is `d * u + e * u + m * v + k`. So they are
    /// equal where `e * u + m * v + k` is from 0 to `d - 1` (T. Granlund and P. L. Montgomery, "Division by Invariant
    /// Integers using Multiplication", PLDI 1994, theorem 4.2).
    fn reciprocal(&mut self, a: &Poly, divisor: &BigInt) -> Option<Poly> {
        let m = a.content();
        if m <= 1.into() {
            return None;
        }
        let shift = floor(&a.free_number(), &m);
        let k = a.free_number() - &shift * &m;
        let p = a.plus_number(-&k).split(&m).0;
        let (low, high) = self.bounds(&p);
        if high < 0.into() {
            // floor(-z / d) = -1 - floor((z - 1) / d)
            let opposite = Poly::constant(-1).minus(a);
            let quotient = self.divided(&opposite, &Poly::constant(divisor.clone()), 1).0;
            return Some(Poly::constant(-1).minus(&quotient));
        }
        if low < 0.into() {
            return None;
        }
        // Of a dividend `m * p - 1` the number is taken for -1, not for `m - 1`.
        let mut forms = vec![(p.clone(), k.clone())];
        if k.sign() != Sign::NoSign {
            forms.push((p.plus_number(1), k - &m));
        }
        for (p, k) in forms {
            let (low, high) = self.bounds(&p);
            let near = floor(divisor, &m);
            for c in [near.clone(), near + 1] {
                if c > 0.into() && is_reciprocal(&m, &k, divisor, &c, &low, &high) {
                    return Some(self.divided(&p, &Poly::constant(c), 1).0);
                }
            }
        }
        None
    }

    /// The quotient and the rest as unknowns.
    fn divided_as_it_is(&mut self, a: &Poly, b: &Poly, width: u32) -> (Poly, Poly) {
        let (low, high) = self.bounds(a);
        let (least, most) = self.bounds(b);
        // No result depends on the width unless the divisor may be zero.
        let width = if least > 0.into() { 1 } else { width };
        let all: BigInt = ones(width).into();
        let bounds = match least > 0.into() {
            // Rounded down, a negative dividend is nearest to zero by the greatest divisor.
            true => {
                let at = |value: &BigInt, by: &BigInt| floor(value, by);
                let low_by = if low < 0.into() { &least } else { &most };
                let high_by = if high < 0.into() { &most } else { &least };
                (at(&low, low_by), at(&high, high_by))
            }
            false => (0.into(), all.clone()),
        };
        let rest_most = if least > 0.into() { most - 1 } else { high.clone().max(0.into()) };
        let origin = Origin::Quotient(a.clone(), b.clone(), width);
        let (quotient, is_new) = self.unknown(origin, bounds);
        let (rest, _) = self.unknown(Origin::Remainder(a.clone(), b.clone()), (0.into(), rest_most));
        if is_new {
            self.facts.push(Formula::equal(a, &b.product(&quotient).plus(&rest)));
            let positive = self.decided(Formula::less(&Poly::default(), b));
            if least <= 0.into() {
                self.facts.push(positive.clone().or(Formula::equal(&quotient, &Poly::constant(all))));
                self.facts.push(positive.clone().implies(Formula::at_most(&quotient, a)));
            }
            // Solvers multiply before they see this.
            if low >= 0.into() {
                self.facts.push(Formula::less(a, b).implies(Formula::equal(&quotient, &Poly::default())));
            }
            self.facts.push(positive.implies(Formula::less(&rest, b)));
        }
        (quotient, rest)
    }

    /// The signed quotient rounded to zero, and what is left.
    pub(super) fn truncated(&mut self, a: Term, b: Term) -> (Poly, Poly) {
        let width = self.terms.width(a);
        let (a, b) = (self.signed(a), self.signed(b));
        let zero = Poly::default();
        let (negative_a, negative_b) = (self.is_negative(&a), self.is_negative(&b));
        if let (Formula::Known(negative_a), Formula::Known(negative_b)) = (negative_a, negative_b) {
            let magnitude = |poly: &Poly, negative: bool| if negative { zero.minus(poly) } else { poly.clone() };
            let divisor = magnitude(&b, negative_b);
            if self.bounds(&divisor).0 > 0.into() {
                let (quotient, rest) = self.divided(&magnitude(&a, negative_a), &divisor, width);
                return (magnitude(&quotient, negative_a != negative_b), magnitude(&rest, negative_a));
            }
        }
        let half = power(width - 1);
        let origin = Origin::Truncated(a.clone(), b.clone());
        let (quotient, is_new) = self.unknown(origin, (-half.clone(), half.clone()));
        let (rest, _) = self.unknown(Origin::TruncatedRest(a.clone(), b.clone()), (-half.clone(), half));
        if is_new {
            self.facts.push(Formula::equal(&a, &b.product(&quotient).plus(&rest)));
            let (dividend, divisor) = (Formula::at_most(&zero, &a), Formula::at_most(&zero, &b));
            let divisor = self.decided(divisor);
            let magnitude = self.choice(divisor, &b, &zero.minus(&b));
            // The remainder has the dividend's sign, or is zero.
            let (below, above) = (Formula::less(&rest, &magnitude), Formula::less(&zero.minus(&rest), &magnitude));
            let nonzero = Formula::equal(&b, &zero).negated();
            let inside = dividend.clone().implies(below).and(dividend.clone().or(above));
            self.facts.push(nonzero.clone().implies(inside));
            self.facts.push(dividend.clone().implies(Formula::at_most(&zero, &rest)));
            self.facts.push(dividend.clone().or(Formula::at_most(&rest, &zero)));
            let by_zero = |value: i32| Formula::equal(&quotient, &Poly::constant(value));
            let by_zero = dividend.clone().implies(by_zero(-1)).and(dividend.or(by_zero(1)));
            self.facts.push(nonzero.or(by_zero));
        }
        (quotient, rest)
    }

    /// Two to the power of a term, or to the width where that is less: by it, shifts multiply and divide.
    pub(super) fn power_of(&mut self, count: Term, width: u32) -> Poly {
        let count = self.value(count);
        if let Some(number) = count.value() {
            let number = u32::try_from(number).unwrap_or(width).min(width);
            return Poly::constant(power(number));
        }
        let origin = Origin::Power(count.clone(), width);
        let (result, is_new) = self.unknown(origin, (1.into(), power(width)));
        if is_new {
            let case = |number: u32| Formula::equal(&result, &Poly::constant(power(number)));
            let within = (0..width).map(|number| Formula::equal(&count, &Poly::constant(number)).and(case(number)));
            let beyond = Formula::at_most(&Poly::constant(width), &count).and(case(width));
            let all = Formula::Any(within.chain([beyond]).collect());
            self.facts.push(all);
        }
        result
    }

    /// Bits of a value that is not negative.
    pub(super) fn field(&mut self, value: &Poly, low: u32, width: u32) -> Poly {
        let above = self.divided(value, &Poly::constant(power(low)), 1).0;
        self.divided(&above, &Poly::constant(power(width)), 1).1
    }
}

/// Whether `floor((m * p + k) / d)` is `floor(p / c)` for all `p` from `low` to `high`, which are not negative.
pub(super) fn is_reciprocal(m: &BigInt, k: &BigInt, d: &BigInt, c: &BigInt, low: &BigInt, high: &BigInt) -> bool {
    let excess = m * c - d;
    let (first, last) = (floor(low, c), floor(high, c));
    let first_multiple = -floor(&-low, c);
    let rests = |u: &BigInt, v: BigInt| &excess * u + m * v + k;
    let mut least = vec![rests(&first, 1.into()), rests(&last, 1.into())];
    if first_multiple <= last {
        least.extend([rests(&first_multiple, 0.into()), rests(&last, 0.into())]);
    }
    let most = [rests(&first, c - 1), rests(&last, c - 1)];
    least.iter().all(|rest| *rest >= 0.into()) && most.iter().all(|rest| rest < d)
}
