//! Values: residues and the unknowns that name what they are taken from.

use super::super::term::{Term, ones};
use super::formula::Formula;
use super::poly::{Atom, Poly, Range, floor, power};
use super::{Encoder, Origin, fits};

/// Bits between which a mask changes from zero to one or back, at most.
const MOST_RUNS: usize = 8;

impl Encoder<'_> {
    /// The same modulo 2^width, without unknowns that were reduced modulo as much or more.
    pub(super) fn congruent(&self, mut poly: Poly, width: u32) -> Poly {
        for atom in poly.atoms() {
            let whole = match &self.origins[atom as usize] {
                Origin::Wrapped(whole, bits) | Origin::Signed(whole, bits) if *bits >= width => whole,
                Origin::Remainder(whole, by)
                    if by.value().is_some_and(|by| by.trailing_zeros() >= Some(width.into())) =>
                {
                    whole
                }
                _ => continue,
            };
            let Some(factor) = poly.linear_in(atom).cloned() else { continue };
            let shorter = poly.plus(&whole.minus(&Poly::atom(atom)).times(&factor));
            if fits(&shorter) {
                poly = shorter;
            }
        }
        poly
    }

    pub(super) fn residue(&mut self, term: Term) -> Poly {
        match self.residues.get(&term) {
            Some(residue) => residue.clone(),
            None => self.value(term),
        }
    }

    /// The value of a term of any width.
    pub(super) fn value(&mut self, term: Term) -> Poly {
        if let Some(value) = self.values.get(&term) {
            return value.clone();
        }
        let width = self.terms.width(term);
        let value = if width == 1 {
            let truth = self.truth(term);
            self.indicator(truth)
        } else {
            let residue = self.residues[&term].clone();
            self.wrapped(&residue, width)
        };
        self.values.insert(term, value.clone());
        value
    }

    /// The value modulo 2^width.
    pub(super) fn wrapped(&mut self, residue: &Poly, width: u32) -> Poly {
        if let Some(value) = self.exact.get(&(residue.clone(), width)) {
            return value.clone();
        }
        let (low, high) = self.bounds(residue);
        if low >= 0.into() && high <= ones(width).into() {
            return self.with_rests(residue.clone());
        }
        if let Some(shorter) = self.in_quotients(residue, width) {
            let value = self.wrapped(&shorter, width);
            self.exact.insert((residue.clone(), width), value.clone());
            return value;
        }
        let range = (floor(&low, &power(width)), floor(&high, &power(width)));
        if range.0 == range.1 {
            return residue.plus_number(-range.0 * power(width));
        }
        let (value, _) = self.unknown(Origin::Wrapped(residue.clone(), width), (0.into(), ones(width).into()));
        let (wraps, _) = self.unknown(Origin::Wraps(residue.clone(), width), range);
        self.facts.push(Formula::equal(&value, &residue.minus(&wraps.times(&power(width)))));
        self.exact.insert((residue.clone(), width), value.clone());
        value
    }

    /// A polynomial with the names of what divisions leave, where it has these as dividends less multiples.
    pub(super) fn with_rests(&self, poly: Poly) -> Poly {
        let shorter = |poly: Poly, (whole, rest): (&Poly, &Poly)| {
            let forms = [poly.minus(whole).plus(rest), poly.plus(whole).minus(rest)];
            forms.into_iter().chain([poly]).min_by_key(Poly::len).unwrap_or_default()
        };
        self.rests.iter().fold(poly, shorter)
    }

    /// A residue with `c * q + r` for unknowns that were divided by a number `c`, if then it wraps less often: by the
    /// inverse of `c`, a multiple of `c` is multiplied to its quotient.
    fn in_quotients(&mut self, residue: &Poly, width: u32) -> Option<Poly> {
        let spread = |encoder: &Self, poly: &Poly| {
            let (low, high) = poly.range(&encoder.ranges);
            high - low
        };
        for atom in residue.atoms() {
            let factor = residue.linear_in(atom).cloned();
            let divisor = self.origins.iter().find_map(|origin| match origin {
                Origin::Quotient(a, b, _) if a.as_atom() == Some(atom) => b.value(),
                _ => None,
            });
            let (Some(factor), Some(divisor)) = (factor, divisor) else { continue };
            let (quotient, rest) = self.divided(&Poly::atom(atom), &Poly::constant(divisor.clone()), width);
            let whole = quotient.times(&divisor).plus(&rest).minus(&Poly::atom(atom));
            let shorter = residue.plus(&whole.times(&factor)).reduced(width);
            if spread(self, &shorter) < spread(self, residue) {
                return Some(shorter);
            }
        }
        None
    }

    /// The unknown that stands for this, the same one each time, and whether facts about it are to be stated. Where its
    /// bounds are one number, it is that number.
    pub(super) fn unknown(&mut self, origin: Origin, range: Range) -> (Poly, bool) {
        if range.0 == range.1 {
            return (Poly::constant(range.0), true);
        }
        let next = self.ranges.len() as Atom;
        let atom = *self.known.entry(origin.clone()).or_insert(next);
        if atom == next {
            self.ranges.push(range);
            self.origins.push(origin);
        }
        (Poly::atom(atom), atom == next)
    }

    pub(super) fn indicator(&mut self, truth: Formula) -> Poly {
        if let Formula::Known(holds) = truth {
            return Poly::constant(u8::from(holds));
        }
        let (one, is_new) = self.unknown(Origin::Indicator(truth.clone()), (0.into(), 1.into()));
        if is_new {
            self.facts.push(truth.same(Formula::equal(&one, &Poly::constant(1))));
        }
        one
    }

    pub(super) fn choice(&mut self, condition: Formula, yes: &Poly, no: &Poly) -> Poly {
        match condition {
            Formula::Known(true) => return yes.clone(),
            Formula::Known(false) => return no.clone(),
            _ if yes == no => return yes.clone(),
            _ => {}
        }
        let (a, b) = (self.bounds(yes), self.bounds(no));
        let origin = Origin::Choice(condition.clone(), yes.clone(), no.clone());
        let (chosen, is_new) = self.unknown(origin, (a.0.min(b.0), a.1.max(b.1)));
        if is_new {
            self.facts.push(condition.clone().implies(Formula::equal(&chosen, yes)));
            self.facts.push(condition.or(Formula::equal(&chosen, no)));
        }
        chosen
    }

    /// The signed number that a vector stands for.
    pub(super) fn signed(&mut self, term: Term) -> Poly {
        let width = self.terms.width(term);
        let half = power(width - 1);
        let residue = self.residue(term);
        let (low, high) = self.bounds(&residue);
        let wraps = floor(&(low + &half), &power(width)) * power(width);
        if high - &wraps < half {
            return residue.plus_number(-wraps);
        }
        let value = self.value(term);
        let (low, high) = self.bounds(&value);
        if high < half {
            return value;
        }
        if low >= half {
            return value.plus_number(-power(width));
        }
        let (signed, is_new) = self.unknown(Origin::Signed(value.clone(), width), (-half.clone(), half - 1));
        if is_new {
            // The bounds of the number decide which of the two it is.
            let negative = self.is_negative(&signed);
            let negative = self.indicator(negative);
            self.facts.push(Formula::equal(&value, &signed.plus(&negative.times(&power(width)))));
        }
        signed
    }

    /// The bits that two terms have in common, as a value.
    pub(super) fn common(&mut self, a: Term, b: Term) -> Poly {
        let width = self.terms.width(a);
        let (x, y) = (self.value(a), self.value(b));
        if x == y {
            return x;
        }
        for (mask, other) in [(x.value(), &y), (y.value(), &x)] {
            let Some(mask) = mask.and_then(|mask| u128::try_from(mask).ok()) else { continue };
            let runs = runs(mask);
            if runs.len() > MOST_RUNS {
                break;
            }
            let mut sum = Poly::default();
            for (low, count) in runs {
                sum = sum.plus(&self.field(other, low, count).times(&power(low)));
            }
            return sum;
        }
        // `x & (p - 1)` is `x % p`, and `x & -p` is what it leaves of `x`; so it is where `p` is zero.
        for (x, mask) in [(&x, &y), (&y, &x)] {
            let (below, above) = (mask.plus_number(1), Poly::constant(power(width)).minus(mask));
            for (power, is_rest) in [(below, true), (above, false)] {
                if self.powers.contains(&power) {
                    let rest = self.divided(x, &power, width).1;
                    return if is_rest { rest } else { x.minus(&rest) };
                }
            }
        }
        let (x, y) = if x <= y { (x, y) } else { (y, x) };
        let most = self.bounds(&x).1.min(self.bounds(&y).1);
        let (common, is_new) = self.unknown(Origin::Common(x.clone(), y.clone()), (0.into(), most));
        if is_new {
            self.facts.push(Formula::at_most(&common, &x));
            self.facts.push(Formula::at_most(&common, &y));
            let all = Poly::constant(ones(width));
            self.facts.push(Formula::at_most(&x.plus(&y).minus(&common), &all));
        }
        common
    }
}

/// The runs of ones in a mask: where each begins, and its length.
pub(super) fn runs(mut mask: u128) -> Vec<(u32, u32)> {
    let mut runs = Vec::new();
    let mut at = 0;
    while mask != 0 {
        let zeros = mask.trailing_zeros();
        mask >>= zeros;
        let count = mask.trailing_ones();
        runs.push((at + zeros, count));
        at += zeros + count;
        mask = mask.checked_shr(count).unwrap_or(0);
    }
    runs
}
