//! Bounds of values, and what they decide.

use num_bigint::{BigInt, Sign};

use super::formula::Formula;
use super::poly::{Atom, Poly, Range, floor, power, without};
use super::{Encoder, Origin, fits};

/// Quotients that are looked into for the bounds of one value.
const MOST_QUOTIENTS: usize = 6;
/// Facts that are added up for one bound, and sums that are tried.
const MOST_FACTS: u32 = 4;
const MOST_SUMS: u32 = 300;

impl Encoder<'_> {
    /// The statement in its simplest form, and decided where bounds do that.
    ///
    /// A quotient that is compared becomes a product: `p / b >= c` is `p >= b * c`, and `p / b <= c` is
    /// `p < b * (c + 1)`, for positive `b`.
    pub(super) fn decided(&self, formula: Formula) -> Formula {
        let zero = BigInt::from(0);
        match formula {
            Formula::NotNegative(poly) => {
                let simpler = self.without_factors(self.without_quotients(poly.clone()));
                for form in [&poly, &simpler] {
                    match self.bounds(form) {
                        (low, _) if low >= zero => return Formula::Known(true),
                        (_, high) if high < zero => return Formula::Known(false),
                        _ => {}
                    }
                }
                Formula::NotNegative(simpler)
            }
            Formula::Zero(poly) => {
                let poly = self.without_factors(poly);
                let opposite = Poly::default().minus(&poly);
                let (low, high) = self.bounds(&poly);
                if low > zero || high < zero {
                    Formula::Known(false)
                } else if low == zero {
                    self.decided(Formula::NotNegative(opposite))
                } else if high == zero {
                    self.decided(Formula::NotNegative(poly))
                } else if self.quotient_in(&poly).is_some_and(|(_, _, _, divisor)| divisor.value().is_none()) {
                    let [a, b] = [poly, opposite].map(|poly| self.decided(Formula::NotNegative(poly)));
                    a.and(b)
                } else {
                    Formula::Zero(poly)
                }
            }
            Formula::Not(inner) => self.decided(*inner).negated(),
            other => other,
        }
    }

    /// The polynomial without positive unknowns that it is a multiple of: it has the same sign.
    fn without_factors(&self, mut poly: Poly) -> Poly {
        for factor in poly.common_factors() {
            if self.ranges[factor as usize].0 > 0.into() {
                poly = poly.split(&Poly::atom(factor)).0;
            }
        }
        poly
    }

    /// A polynomial that is negative where the given one is, without quotients that are not multiplied.
    fn without_quotients(&self, mut poly: Poly) -> Poly {
        for _ in 0..MOST_QUOTIENTS {
            let Some((atom, is_positive, dividend, divisor)) = self.quotient_in(&poly) else { break };
            let quotient = Poly::atom(atom);
            let product = match is_positive {
                true => dividend.plus(&poly.minus(&quotient).product(&divisor)),
                false => poly.plus(&quotient).plus_number(1).product(&divisor).minus(&dividend).plus_number(-1),
            };
            if !fits(&product) {
                break;
            }
            poly = product;
        }
        poly
    }

    /// A quotient by something positive that a polynomial adds or subtracts once: the unknown, whether it is added, its
    /// dividend and its divisor.
    fn quotient_in(&self, poly: &Poly) -> Option<(Atom, bool, Poly, Poly)> {
        poly.atoms().into_iter().find_map(|atom| {
            let factor = poly.linear_in(atom)?;
            let is_positive = *factor == 1.into();
            let (dividend, divisor) = self.quotient_by_positive(atom)?;
            (is_positive || *factor == (-1).into()).then_some((atom, is_positive, dividend, divisor))
        })
    }

    /// Whether a polynomial is negative.
    pub(super) fn is_negative(&self, poly: &Poly) -> Formula {
        self.decided(Formula::less(poly, &Poly::default()))
    }

    /// Bounds of a value. Quotients by numbers are related to what they are quotients of: `x - x / 3` is not negative.
    pub(super) fn bounds(&self, poly: &Poly) -> Range {
        let opposite = Poly::default().minus(poly);
        let mut sums = MOST_SUMS;
        let low = self.least(poly, MOST_FACTS, &mut sums);
        (low, -self.least(&opposite, MOST_FACTS, &mut sums))
    }

    /// A number that the value is not below: from the bounds of unknowns, or by taking off what is known to be not
    /// negative.
    fn least(&self, poly: &Poly, facts: u32, sums: &mut u32) -> BigInt {
        let mut best = self.least_by_quotients(poly);
        if facts == 0 || self.not_negative.is_empty() {
            return best;
        }
        // The product that lowers the sum most has to be compensated by a fact that has it, too.
        let range = |product: &[Atom], factor: &BigInt| Poly::product_of(product, factor.clone()).range(&self.ranges).0;
        let lowest = poly.products().map(|(product, factor)| (range(product, factor), product, factor));
        let Some((_, product, factor)) = lowest.min() else { return best };
        for fact in &self.not_negative {
            let Some(fact) = self.multiple_with(fact, product, factor.sign()) else { continue };
            let Some(part) = fact.coefficient(product) else { continue };
            if *sums == 0 {
                break;
            }
            *sums -= 1;
            let magnitude = |number: &BigInt| BigInt::from(number.magnitude().clone());
            let (scale, times) = (magnitude(part), magnitude(factor));
            let rest = poly.times(&scale).minus(&fact.times(&times));
            // scale * poly >= rest
            best = best.max(-floor(&-self.least(&rest, facts - 1, sums), &scale));
        }
        best
    }

    /// A fact times unknowns that are not negative, so that a product occurs with this sign.
    fn multiple_with(&self, fact: &Poly, product: &[Atom], sign: Sign) -> Option<Poly> {
        let is_not_negative = |atom: &Atom| self.ranges[*atom as usize].0 >= 0.into();
        fact.products().filter(|(_, coefficient)| coefficient.sign() == sign).find_map(|(part, _)| {
            let others = without(product, part).filter(|others| others.iter().all(is_not_negative))?;
            Some(fact.product(&Poly::product_of(&others, 1.into())))
        })
    }

    /// The same from the bounds of unknowns alone, and from what quotients by numbers are quotients of.
    fn least_by_quotients(&self, poly: &Poly) -> BigInt {
        let (mut scaled, mut scale) = (poly.clone(), BigInt::from(1));
        let mut best = poly.range(&self.ranges).0;
        for _ in 0..MOST_QUOTIENTS {
            let quotient = scaled
                .atoms()
                .into_iter()
                .find_map(|atom| Some((atom, scaled.linear_in(atom)?.clone(), self.quotient_by_number(atom)?)));
            let Some((atom, factor, (dividend, divisor))) = quotient else { break };
            // (p - d + 1) / d <= floor(p / d) <= p / d
            let missing: BigInt = if factor > 0.into() { &factor * (&divisor - 1) } else { 0.into() };
            let others = scaled.minus(&Poly::atom(atom).times(&factor));
            scaled = others.times(&divisor).plus(&dividend.times(&factor)).plus_number(-missing);
            scale *= divisor;
            let low = scaled.range(&self.ranges).0;
            best = best.max(-floor(&-low, &scale));
        }
        best
    }

    /// Takes note of what a statement that holds says of polynomials.
    pub(super) fn learn(&mut self, formula: &Formula) {
        match formula {
            Formula::NotNegative(poly) => self.learn_not_negative(poly),
            Formula::Zero(poly) => {
                self.learn_not_negative(poly);
                self.learn_not_negative(&Poly::default().minus(poly));
            }
            Formula::All(parts) => parts.iter().for_each(|part| self.learn(part)),
            Formula::Not(inner) => match inner.as_ref() {
                Formula::NotNegative(poly) => self.learn_not_negative(&Poly::constant(-1).minus(poly)),
                Formula::Any(parts) => parts.iter().for_each(|part| self.learn(&part.clone().negated())),
                _ => {}
            },
            _ => {}
        }
    }

    fn learn_not_negative(&mut self, poly: &Poly) {
        let simpler = self.without_quotients(poly.clone());
        for fact in [poly.clone(), simpler] {
            let is_alone = fact.products().count() == 1;
            if is_alone && fact.degree() == 1 {
                self.learn_bound(&fact);
            } else if fact.degree() > 0 && !self.not_negative.contains(&fact) {
                self.not_negative.push(fact);
            }
        }
    }

    /// A bound of one unknown, which the fact that a multiple of it and a number are not negative says.
    fn learn_bound(&mut self, fact: &Poly) {
        let Some((&[atom], factor)) = fact.products().map(|(product, factor)| (&product[..], factor)).next() else {
            return;
        };
        let (mut low, mut high) = self.ranges[atom as usize].clone();
        let number = fact.free_number();
        match factor.sign() {
            Sign::Plus => low = low.max(-floor(&number, factor)),
            _ => high = high.min(floor(&number, &-factor)),
        }
        // Facts that exclude each other are left to the solver, which is told all of them.
        if low > high {
            return;
        }
        // A number with a known sign tells whether the highest bit is set.
        if let Origin::Signed(whole, width) = self.origins[atom as usize].clone() {
            let half = Poly::constant(power(width - 1));
            if low >= 0.into() {
                self.learn_not_negative(&half.minus(&whole).plus_number(-1));
            } else if high < 0.into() {
                self.learn_not_negative(&whole.minus(&half));
            }
        }
        self.ranges[atom as usize] = (low, high);
    }
}
