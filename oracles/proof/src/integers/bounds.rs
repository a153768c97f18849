//! Bounds of values, and what they decide.

use num_bigint::BigInt;

use super::Encoder;
use super::formula::Formula;
use super::poly::{Poly, Range, floor};

/// Quotients that are looked into for the bounds of one value.
const MOST_QUOTIENTS: usize = 6;

impl Encoder<'_> {
    /// A statement that bounds decide is known.
    pub(super) fn decided(&self, formula: Formula) -> Formula {
        let (low, high) = match &formula {
            Formula::Zero(poly) | Formula::NotNegative(poly) => self.bounds(poly),
            _ => return formula,
        };
        let zero = BigInt::from(0);
        match formula {
            Formula::Zero(_) if low > zero || high < zero => Formula::Known(false),
            Formula::NotNegative(_) if low >= zero => Formula::Known(true),
            Formula::NotNegative(_) if high < zero => Formula::Known(false),
            other => other,
        }
    }

    /// Whether a polynomial is negative.
    pub(super) fn is_negative(&self, poly: &Poly) -> Formula {
        self.decided(Formula::less(poly, &Poly::default()))
    }

    /// Bounds of a value. Quotients by numbers are related to what they are quotients of: `x - x / 3` is not negative.
    pub(super) fn bounds(&self, poly: &Poly) -> Range {
        let (low, high) = poly.range(&self.ranges);
        let least = self.least(poly);
        let most = -self.least(&Poly::default().minus(poly));
        (low.max(least), high.min(most))
    }

    /// A number that the value is not below.
    fn least(&self, poly: &Poly) -> BigInt {
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
}
