//! Polynomials over the integers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Neg;

use num_bigint::{BigInt, Sign};

/// The number of an unknown.
pub(super) type Atom = u32;

/// The least and the greatest value that something takes.
pub(super) type Range = (BigInt, BigInt);

/// How products of unknowns are written: as such, or by a name (`n0.n1`), like an unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Products {
    Multiplied,
    Named,
}

/// A sum of products of unknowns with coefficients, none of them zero. The product of no unknown is 1.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct Poly {
    parts: BTreeMap<Vec<Atom>, BigInt>,
}

/// Two to a power.
pub(super) fn power(exponent: u32) -> BigInt {
    BigInt::from(1) << exponent
}

/// The quotient rounded down, for a positive divisor.
pub(super) fn floor(a: &BigInt, b: &BigInt) -> BigInt {
    let quotient = a / b;
    if a.sign() == Sign::Minus && &quotient * b != *a { quotient - 1 } else { quotient }
}

/// The product without some of its factors, if it has them.
pub(super) fn without(product: &[Atom], factors: &[Atom]) -> Option<Vec<Atom>> {
    let mut left = product.to_vec();
    for factor in factors {
        let at = left.iter().position(|atom| atom == factor)?;
        left.remove(at);
    }
    Some(left)
}

impl Poly {
    pub(super) fn constant(value: impl Into<BigInt>) -> Poly {
        Poly::product_of(&[], value.into())
    }

    pub(super) fn atom(atom: Atom) -> Poly {
        Poly::product_of(&[atom], BigInt::from(1))
    }

    /// A product of unknowns, times a number.
    pub(super) fn product_of(product: &[Atom], coefficient: BigInt) -> Poly {
        let mut poly = Poly::default();
        poly.insert(product.to_vec(), coefficient);
        poly
    }

    fn insert(&mut self, product: Vec<Atom>, coefficient: BigInt) {
        let sum = self.parts.remove(&product).unwrap_or_default() + coefficient;
        if sum.sign() != Sign::NoSign {
            self.parts.insert(product, sum);
        }
    }

    /// The value of a polynomial without unknowns.
    pub(super) fn value(&self) -> Option<BigInt> {
        match self.parts.len() {
            0 => Some(BigInt::from(0)),
            1 => self.parts.get(&Vec::new()).cloned(),
            _ => None,
        }
    }

    /// The unknown that it is.
    pub(super) fn as_atom(&self) -> Option<Atom> {
        let mut parts = self.parts.iter();
        match (parts.next(), parts.next()) {
            (Some((product, coefficient)), None) if product.len() == 1 && *coefficient == 1.into() => Some(product[0]),
            _ => None,
        }
    }

    /// How many products it adds.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The most unknowns that one product has.
    pub(super) fn degree(&self) -> usize {
        self.parts.keys().map(Vec::len).max().unwrap_or(0)
    }

    pub(super) fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        other.parts.iter().for_each(|(product, coefficient)| sum.insert(product.clone(), coefficient.clone()));
        sum
    }

    pub(super) fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.times(&BigInt::from(-1)))
    }

    pub(super) fn plus_number(&self, number: impl Into<BigInt>) -> Poly {
        let mut sum = self.clone();
        sum.insert(Vec::new(), number.into());
        sum
    }

    pub(super) fn times(&self, factor: &BigInt) -> Poly {
        self.mapped(|coefficient| coefficient * factor)
    }

    pub(super) fn product(&self, other: &Poly) -> Poly {
        let mut sum = Poly::default();
        for (left, a) in &self.parts {
            for (right, b) in &other.parts {
                let mut both = [left.as_slice(), right.as_slice()].concat();
                both.sort_unstable();
                sum.insert(both, a * b);
            }
        }
        sum
    }

    fn mapped(&self, f: impl Fn(&BigInt) -> BigInt) -> Poly {
        let mut result = Poly::default();
        self.parts.iter().for_each(|(product, coefficient)| result.insert(product.clone(), f(coefficient)));
        result
    }

    /// The same modulo a power of two, with coefficients as near to zero as they can be.
    pub(super) fn reduced(&self, width: u32) -> Poly {
        let (modulus, half) = (power(width), power(width - 1));
        self.mapped(|coefficient| {
            let rest = coefficient - floor(coefficient, &modulus) * &modulus;
            if rest > half { rest - &modulus } else { rest }
        })
    }

    /// A multiple of a divisor and what is left, where the coefficients show it: no part of the rest is a multiple. A
    /// divisor that is a sum is no part of anything.
    pub(super) fn split(&self, divisor: &Poly) -> (Poly, Poly) {
        let (mut multiple, mut rest) = (Poly::default(), Poly::default());
        let [(factors, by)] = divisor.parts.iter().collect::<Vec<_>>()[..] else { return (multiple, self.clone()) };
        if by.sign() != Sign::Plus {
            return (multiple, self.clone());
        }
        for (product, coefficient) in &self.parts {
            let quotient = floor(coefficient, by);
            let left = coefficient - &quotient * by;
            match without(product, factors) {
                Some(others) if left.sign() == Sign::NoSign || product.is_empty() => {
                    multiple.insert(others, quotient);
                    rest.insert(product.clone(), left);
                }
                _ => rest.insert(product.clone(), coefficient.clone()),
            }
        }
        (multiple, rest)
    }

    /// The unknowns that all products have in common, and none where one has no unknown.
    pub(super) fn common_factors(&self) -> Vec<Atom> {
        let mut products = self.parts.keys();
        let first = products.next().cloned().unwrap_or_default();
        products.fold(first, |known, product| {
            let (mut common, mut left) = (Vec::new(), product.clone());
            for atom in known {
                if let Some(others) = without(&left, &[atom]) {
                    common.push(atom);
                    left = others;
                }
            }
            common
        })
    }

    /// What it adds and what it subtracts.
    pub(super) fn signs(&self) -> (Poly, Poly) {
        let (mut added, mut subtracted) = (Poly::default(), Poly::default());
        for (product, coefficient) in &self.parts {
            if coefficient.sign() == Sign::Plus {
                added.insert(product.clone(), coefficient.clone());
            } else {
                subtracted.insert(product.clone(), -coefficient);
            }
        }
        (added, subtracted)
    }

    /// The products that have unknowns, with their coefficients.
    pub(super) fn products(&self) -> impl Iterator<Item = (&Vec<Atom>, &BigInt)> {
        self.parts.iter().filter(|(product, _)| !product.is_empty())
    }

    /// The coefficient of a product.
    pub(super) fn coefficient(&self, product: &[Atom]) -> Option<&BigInt> {
        self.parts.get(product)
    }

    /// The coefficient of an unknown that nothing multiplies; nothing where it is not there, or in a product too.
    pub(super) fn linear_in(&self, atom: Atom) -> Option<&BigInt> {
        let mut found = None;
        for (product, coefficient) in self.parts.iter().filter(|(product, _)| product.contains(&atom)) {
            if product.len() > 1 {
                return None;
            }
            found = Some(coefficient);
        }
        found
    }

    /// The unknowns that occur, the last made first.
    pub(super) fn atoms(&self) -> Vec<Atom> {
        let mut atoms: Vec<Atom> = self.parts.keys().flatten().copied().collect();
        atoms.sort_unstable_by(|a, b| b.cmp(a));
        atoms.dedup();
        atoms
    }

    /// The number that nothing is multiplied with.
    pub(super) fn free_number(&self) -> BigInt {
        self.parts.get(&Vec::new()).cloned().unwrap_or_default()
    }

    /// The greatest common divisor of all coefficients of unknowns, and zero where there are none.
    pub(super) fn content(&self) -> BigInt {
        let coefficients = self.parts.iter().filter(|(product, _)| !product.is_empty()).map(|(_, value)| value);
        coefficients.fold(BigInt::from(0), |known, value| {
            let (mut a, mut b) = (known, value.clone());
            while b.sign() != Sign::NoSign {
                (a, b) = (b.clone(), a % b);
            }
            if a.sign() == Sign::Minus { -a } else { a }
        })
    }

    /// Bounds of the value, from those of the unknowns.
    pub(super) fn range(&self, atoms: &[Range]) -> Range {
        let mut sum = (BigInt::from(0), BigInt::from(0));
        for (product, coefficient) in &self.parts {
            let mut range = (coefficient.clone(), coefficient.clone());
            for atom in product {
                let (low, high) = &atoms[*atom as usize];
                let corners = [&range.0 * low, &range.0 * high, &range.1 * low, &range.1 * high];
                let (least, most) = (corners.iter().min().cloned(), corners.iter().max().cloned());
                range = (least.unwrap_or_default(), most.unwrap_or_default());
            }
            sum = (sum.0 + range.0, sum.1 + range.1);
        }
        sum
    }

    /// The value for values of the unknowns.
    #[cfg(test)]
    pub(super) fn eval(&self, atoms: &[BigInt]) -> BigInt {
        let part = |(product, coefficient): (&Vec<Atom>, &BigInt)| {
            product.iter().fold(coefficient.clone(), |value, atom| value * &atoms[*atom as usize])
        };
        self.parts.iter().map(part).sum()
    }

    /// As SMT-LIB writes it, with `n0`, `n1`, ... for the unknowns.
    pub(super) fn write(&self, text: &mut String, products: Products) {
        if self.parts.is_empty() {
            text.push('0');
            return;
        }
        if self.parts.len() > 1 {
            text.push_str("(+");
        }
        for (product, coefficient) in &self.parts {
            if self.parts.len() > 1 {
                text.push(' ');
            }
            let mut factors: Vec<String> = Vec::new();
            let names = product.iter().map(|atom| format!("n{atom}"));
            match products {
                Products::Named => factors.extend((!product.is_empty()).then(|| names.collect::<Vec<_>>().join("."))),
                Products::Multiplied => factors.extend(names),
            }
            if *coefficient != BigInt::from(1) || factors.is_empty() {
                factors.insert(0, number(coefficient));
            }
            match &factors[..] {
                [factor] => text.push_str(factor),
                factors => {
                    let _ = write!(text, "(* {})", factors.join(" "));
                }
            }
        }
        if self.parts.len() > 1 {
            text.push(')');
        }
    }
}

/// SMT-LIB has no negative literals.
fn number(value: &BigInt) -> String {
    match value.sign() {
        Sign::Minus => format!("(- {})", value.neg()),
        _ => value.to_string(),
    }
}
