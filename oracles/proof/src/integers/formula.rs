//! Formulas over polynomials.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::poly::{Atom, Poly, Products};

/// A statement about unknowns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Formula {
    /// It holds, or not.
    Known(bool),
    /// The truth value with this number.
    Bit(u32),
    /// The polynomial is zero.
    Zero(Poly),
    /// The polynomial is zero or positive.
    NotNegative(Poly),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
    /// Both hold, or neither.
    Same(Box<[Formula; 2]>),
}

impl Formula {
    pub(super) fn equal(a: &Poly, b: &Poly) -> Formula {
        let difference = a.minus(b);
        match difference.value() {
            Some(value) => Formula::Known(value == 0.into()),
            // The same for `a = b` and `b = a`.
            None if a < b => Formula::Zero(difference),
            None => Formula::Zero(b.minus(a)),
        }
    }

    /// `a <= b`.
    pub(super) fn at_most(a: &Poly, b: &Poly) -> Formula {
        let difference = b.minus(a);
        match difference.value() {
            Some(value) => Formula::Known(value >= 0.into()),
            None => Formula::NotNegative(difference),
        }
    }

    /// `a < b`.
    pub(super) fn less(a: &Poly, b: &Poly) -> Formula {
        Formula::at_most(&a.plus_number(1), b)
    }

    pub(super) fn negated(self) -> Formula {
        match self {
            Formula::Known(holds) => Formula::Known(!holds),
            Formula::Not(inner) => *inner,
            other => Formula::Not(Box::new(other)),
        }
    }

    pub(super) fn and(self, other: Formula) -> Formula {
        match (self, other) {
            (Formula::Known(true), one) | (one, Formula::Known(true)) => one,
            (Formula::Known(false), _) | (_, Formula::Known(false)) => Formula::Known(false),
            (a, b) => Formula::All(vec![a, b]),
        }
    }

    pub(super) fn or(self, other: Formula) -> Formula {
        self.negated().and(other.negated()).negated()
    }

    pub(super) fn same(self, other: Formula) -> Formula {
        match (self, other) {
            (Formula::Known(true), one) | (one, Formula::Known(true)) => one,
            (Formula::Known(false), one) | (one, Formula::Known(false)) => one.negated(),
            (a, b) if a == b => Formula::Known(true),
            (a, b) => Formula::Same(Box::new([a, b])),
        }
    }

    /// `self` implies `other`.
    pub(super) fn implies(self, other: Formula) -> Formula {
        self.negated().or(other)
    }

    /// Adds the products of several unknowns that occur.
    pub(super) fn products(&self, into: &mut BTreeSet<Vec<Atom>>) {
        match self {
            Formula::Known(_) | Formula::Bit(_) => {}
            Formula::Zero(poly) | Formula::NotNegative(poly) => {
                into.extend(poly.products().map(|(product, _)| product).filter(|product| product.len() > 1).cloned());
            }
            Formula::Not(inner) => inner.products(into),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|part| part.products(into)),
            Formula::Same(both) => both.iter().for_each(|part| part.products(into)),
        }
    }

    /// As SMT-LIB writes it, with `b0`, `b1`, ... for the truth values.
    pub(super) fn write(&self, text: &mut String, products: Products) {
        let (name, parts): (&str, &[Formula]) = match self {
            Formula::Known(holds) => return text.push_str(if *holds { "true" } else { "false" }),
            Formula::Bit(bit) => {
                let _ = write!(text, "b{bit}");
                return;
            }
            Formula::Zero(poly) => return relation(text, "=", poly, products),
            Formula::NotNegative(poly) => return relation(text, ">=", poly, products),
            Formula::Not(inner) => ("not", std::slice::from_ref(inner)),
            Formula::All(parts) => ("and", parts),
            Formula::Any(parts) => ("or", parts),
            Formula::Same(both) => ("=", both.as_slice()),
        };
        let _ = write!(text, "({name}");
        for part in parts {
            text.push(' ');
            part.write(text, products);
        }
        text.push(')');
    }

    /// Whether it holds for these values.
    #[cfg(test)]
    pub(super) fn eval(&self, atoms: &[num_bigint::BigInt], bits: &[bool]) -> bool {
        match self {
            Formula::Known(holds) => *holds,
            Formula::Bit(bit) => bits[*bit as usize],
            Formula::Zero(poly) => poly.eval(atoms) == 0.into(),
            Formula::NotNegative(poly) => poly.eval(atoms) >= 0.into(),
            Formula::Not(inner) => !inner.eval(atoms, bits),
            Formula::All(parts) => parts.iter().all(|part| part.eval(atoms, bits)),
            Formula::Any(parts) => parts.iter().any(|part| part.eval(atoms, bits)),
            Formula::Same(both) => both[0].eval(atoms, bits) == both[1].eval(atoms, bits),
        }
    }
}

fn relation(text: &mut String, name: &str, poly: &Poly, products: Products) {
    let _ = write!(text, "({name} ");
    poly.write(text, products);
    text.push_str(" 0)");
}
