//! Formulas over polynomials.

use std::fmt::Write as _;

use super::poly::Poly;

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
            None => Formula::Zero(difference),
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
            (a, b) => Formula::Same(Box::new([a, b])),
        }
    }

    /// `self` implies `other`.
    pub(super) fn implies(self, other: Formula) -> Formula {
        self.negated().or(other)
    }

    /// The most unknowns that are multiplied.
    pub(super) fn degree(&self) -> usize {
        match self {
            Formula::Known(_) | Formula::Bit(_) => 0,
            Formula::Zero(poly) | Formula::NotNegative(poly) => poly.degree(),
            Formula::Not(inner) => inner.degree(),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().map(Formula::degree).max().unwrap_or(0),
            Formula::Same(both) => both[0].degree().max(both[1].degree()),
        }
    }

    /// As SMT-LIB writes it, with `b0`, `b1`, ... for the truth values.
    pub(super) fn write(&self, text: &mut String) {
        let (name, parts): (&str, &[Formula]) = match self {
            Formula::Known(holds) => return text.push_str(if *holds { "true" } else { "false" }),
            Formula::Bit(bit) => {
                let _ = write!(text, "b{bit}");
                return;
            }
            Formula::Zero(poly) => return relation(text, "=", poly),
            Formula::NotNegative(poly) => return relation(text, ">=", poly),
            Formula::Not(inner) => ("not", std::slice::from_ref(inner)),
            Formula::All(parts) => ("and", parts),
            Formula::Any(parts) => ("or", parts),
            Formula::Same(both) => ("=", both.as_slice()),
        };
        let _ = write!(text, "({name}");
        for part in parts {
            text.push(' ');
            part.write(text);
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

fn relation(text: &mut String, name: &str, poly: &Poly) {
    let _ = write!(text, "({name} ");
    poly.write(text);
    text.push_str(" 0)");
}
