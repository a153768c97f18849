//! Quotients and remainders, and the shifts that divide.

use num_bigint::{BigInt, Sign};

use super::super::term::{Term, ones};
use super::formula::Formula;
use super::poly::{Atom, Poly, floor, power};
use super::{Encoder, Origin, fits};

impl Encoder<'_> {
    /// The quotient rounded down and what is left. The divisor is not negative; the dividend is neither, where the
    /// divisor may be zero.
    pub(super) fn divided(&mut self, a: &Poly, b: &Poly, width: u32) -> (Poly, Poly) {
        if self.bounds(b).0 > 0.into() {
            let a = &self.without_remainders(a, b);
            let (multiple, left) = a.split(b);
            for (quotient, rest) in [(&Poly::default(), a), (&multiple, &left)] {
                if self.is_rest(rest, b) {
                    return (quotient.clone(), rest.clone());
                }
            }
            if let Some(quotient) = self.quotient_of_less(a, b) {
                let most = self.bounds(b).1 - 1;
                let (rest, is_new) = self.unknown(Origin::Remainder(a.clone(), b.clone()), (0.into(), most));
                if is_new {
                    self.state_of_rest(a, b, &quotient, &rest);
                }
                return (quotient, rest);
            }
            if multiple != Poly::default() {
                let (quotient, rest) = self.divided(&left, b, 1);
                return (multiple.plus(&quotient), rest);
            }
            return self.divided_as_it_is(a, b, width);
        }
        self.divided_as_it_is(a, b, width)
    }

    /// Whether a number is what a division by another may leave.
    fn is_rest(&self, rest: &Poly, divisor: &Poly) -> bool {
        self.bounds(rest).0 >= 0.into() && self.bounds(&divisor.minus(rest)).0 > 0.into()
    }

    /// A dividend with `a - b * floor(a / b)` for what a division by `b` has left, where `b` is a multiple of the
    /// divisor: all but `a` vanishes.
    fn without_remainders(&mut self, dividend: &Poly, divisor: &Poly) -> Poly {
        let mut dividend = dividend.clone();
        for atom in dividend.atoms() {
            let Origin::Remainder(a, b) = &self.origins[atom as usize] else { continue };
            let (a, b) = (a.clone(), b.clone());
            let is_multiple = b.split(divisor).1 == Poly::default();
            let Some(factor) = dividend.linear_in(atom).cloned() else { continue };
            if is_multiple && b != *divisor && self.bounds(&b).0 > 0.into() {
                let quotient = self.divided(&a, &b, 1).0;
                let whole = a.minus(&b.product(&quotient)).minus(&Poly::atom(atom));
                dividend = dividend.plus(&whole.times(&factor));
            }
        }
        dividend
    }

    /// The quotient by a positive number as that of simpler terms, where there is one: quotients of quotients are one
    /// quotient, and a product with a reciprocal is the quotient that it stands for.
    fn quotient_of_less(&mut self, a: &Poly, divisor: &Poly) -> Option<Poly> {
        let (mut inner, by) = self.unfolded(a, divisor, false);
        let by = self.without_common_factors(&mut inner, by);
        if let Some(quotient) = by.value().and_then(|by| self.reciprocal(&inner, &by)) {
            return Some(quotient);
        }
        let (opposite, by_all) = self.unfolded(a, divisor, true);
        if let Some(quotient) = by_all.value().and_then(|by| self.reciprocal(&opposite, &by)) {
            return Some(quotient);
        }
        (inner != *a).then(|| self.divided(&inner, &by, 1).0)
    }

    /// A dividend and a divisor with the same quotient, without quotients that the dividend adds, or subtracts, too:
    /// floor((floor(p / d) + r) / b) = floor((p + d * r) / (d * b)) for whole r, and -floor(p / d) is
    /// floor((d - 1 - p) / d).
    pub(super) fn unfolded(&self, a: &Poly, divisor: &Poly, subtracted: bool) -> (Poly, Poly) {
        let (mut inner, mut by) = (a.clone(), divisor.clone());
        for atom in a.atoms() {
            let Some((dividend, inner_divisor)) = self.quotient_by_positive(atom) else { continue };
            let Some(factor) = inner.linear_in(atom) else { continue };
            let dividend = match i32::try_from(factor) {
                Ok(1) => dividend,
                Ok(-1) if subtracted => inner_divisor.minus(&dividend).plus_number(-1),
                _ => continue,
            };
            let others = inner.minus(&Poly::atom(atom).times(factor));
            let (whole, product) = (dividend.plus(&others.product(&inner_divisor)), by.product(&inner_divisor));
            if fits(&whole) && fits(&product) {
                (inner, by) = (whole, product);
            }
        }
        (inner, by)
    }

    /// Takes positive factors off a dividend and its divisor: floor((f * p) / (f * d)) = floor(p / d).
    pub(super) fn without_common_factors(&self, dividend: &mut Poly, mut divisor: Poly) -> Poly {
        for factor in divisor.common_factors() {
            let factor = Poly::atom(factor);
            let (shorter, rest) = dividend.split(&factor);
            if rest == Poly::default() && self.bounds(&factor).0 > 0.into() {
                *dividend = shorter;
                divisor = divisor.split(&factor).0;
            }
        }
        divisor
    }

    /// The dividend and the divisor of an unknown that is a quotient by something positive.
    pub(super) fn quotient_by_positive(&self, atom: Atom) -> Option<(Poly, Poly)> {
        match &self.origins[atom as usize] {
            Origin::Quotient(a, b, _) if b.range(&self.ranges).0 > 0.into() => Some((a.clone(), b.clone())),
            _ => None,
        }
    }

    /// The same by a number.
    pub(super) fn quotient_by_number(&self, atom: Atom) -> Option<(Poly, BigInt)> {
        self.quotient_by_positive(atom).and_then(|(a, b)| Some((a, b.value()?)))
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
        let p = a.plus_number(-&k).split(&Poly::constant(m.clone())).0;
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
        let (least, mut most) = self.bounds(b);
        // Bounds that exclude each other are those of a question that nothing meets.
        if most < least {
            self.facts.push(Formula::Known(false));
            most = least.clone();
        }
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
            let positive = self.decided(Formula::less(&Poly::default(), b));
            if least <= 0.into() {
                self.facts.push(Formula::equal(a, &b.product(&quotient).plus(&rest)));
                self.facts.push(positive.clone().implies(Formula::less(&rest, b)));
                self.facts.push(positive.clone().or(Formula::equal(&quotient, &Poly::constant(all))));
                self.facts.push(positive.implies(Formula::at_most(&quotient, a)));
            }
            // Solvers multiply before they see this.
            if low >= 0.into() {
                self.facts.push(Formula::less(a, b).implies(Formula::equal(&quotient, &Poly::default())));
            }
            if least > 0.into() {
                self.state_of_rest(a, b, &quotient, &rest);
            }
        }
        (quotient, rest)
    }

    /// What the quotient by a positive number and the rest mean. Of numbers, bounds say the second; they are learned
    /// where these do not.
    fn state_of_rest(&mut self, a: &Poly, b: &Poly, quotient: &Poly, rest: &Poly) {
        let [whole, below] = [Formula::equal(a, &b.product(quotient).plus(rest)), Formula::less(rest, b)];
        self.rests.insert(a.minus(&b.product(quotient)), rest.clone());
        if b.value().is_none() {
            self.learn(&whole);
            self.learn(&below);
            self.facts.push(below);
        }
        self.facts.push(whole);
    }

    /// The signed quotient rounded to zero, and what is left.
    pub(super) fn truncated(&mut self, a: Term, b: Term) -> (Poly, Poly) {
        let width = self.terms.width(a);
        let (a, b) = (self.signed(a), self.signed(b));
        let zero = Poly::default();
        // Of zero it does not matter.
        let negative_a = match self.bounds(&a).1 <= 0.into() {
            true => Formula::Known(true),
            false => self.is_negative(&a),
        };
        let negative_b = self.is_negative(&b);
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
