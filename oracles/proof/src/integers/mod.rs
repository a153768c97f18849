//! Questions about terms as questions about integers.
//!
//! Solvers of bit vectors take a product apart into thousands of gates, and give up on what schoolbook arithmetic shows
//! in a line: that `x / 7` is a high product and two shifts, or that `x - x / c * c` is a remainder. Here every vector
//! is an integer from 0 to 2^width - 1. Sums and products are polynomials modulo 2^width; only where a value is
//! compared, divided or extended is the multiple of 2^width named that is taken off. Quotients and remainders are
//! unknowns that meet `a = b * q + r` and `0 <= r < b`. With constants as divisors and factors that is linear
//! arithmetic, which z3 and cvc5 decide. Much is shown before any of them is asked: products with a reciprocal are
//! taken for the quotients that they stand for, quotients of quotients are one quotient, and polynomials that are equal
//! are the same.
//!
//! What is said of an unknown holds for the value that it stands for, but need not say all (of `a & b` only bounds are
//! known). So where no integers meet the question, no vectors do; integers that meet it show nothing.

mod assume;
mod bounds;
mod division;
mod encode;
mod formula;
mod multiples;
mod ones;
mod poly;
mod signs;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::collections::{BTreeMap, HashMap};

use super::query::Query;
use super::solve::split;
use super::term::{Op, Term, Terms};
use assume::assumed;
use formula::Formula;
pub use multiples::with_multiples;
pub(super) use ones::populations;
use poly::{Atom, Poly, Range};
pub use signs::by_signs;

/// Questions of more terms are left to solvers of bit vectors.
const MOST_TERMS: usize = 400;
/// Unknowns and facts about them: more are not solved in the time that a question has.
const MOST_ATOMS: usize = 600;
/// A product of sums stays a polynomial up to this size; beyond it, its factors become unknowns.
const MOST_PARTS: usize = 24;
const MOST_FACTORS: usize = 4;

/// What is left of a question over integers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Integers {
    /// Nothing: arithmetic shows that no inputs meet it.
    Impossible,
    /// SMT-LIB texts, one command a line, the simplest first. No integers meet one only if no inputs meet the question.
    Texts(Vec<String>),
}

impl Integers {
    /// The texts, where there are any.
    pub fn texts(self) -> Option<Vec<String>> {
        match self {
            Integers::Impossible => None,
            Integers::Texts(texts) => Some(texts),
        }
    }
}

/// Whether integers may help with a question: it multiplies, divides, or counts ones.
pub fn is_arithmetic(terms: &Terms, query: &Query) -> bool {
    let needed = terms.reachable(&[query.goal]);
    let is_one = |term: &Term| matches!(terms.node(*term).op, Op::Mul | Op::UDiv | Op::URem | Op::SDiv | Op::SRem);
    needed.len() <= MOST_TERMS && (needed.iter().any(is_one) || !populations(terms, &needed).is_empty())
}

/// The question over integers; nothing where it is too large, or has an operation without integers.
pub fn question(terms: &Terms, query: &Query) -> Option<Integers> {
    let mut encoder = Encoder::of(terms, query)?;
    let goal = encoder.truth(query.goal);
    encoder.facts.push(goal);
    if encoder.facts.contains(&Formula::Known(false)) {
        return Some(Integers::Impossible);
    }
    Some(Integers::Texts(encoder.texts()))
}

/// What an unknown stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Origin {
    /// The variable with this number.
    Variable(u32),
    /// The polynomial modulo 2^width.
    Wrapped(Poly, u32),
    /// How often 2^width goes into the polynomial.
    Wraps(Poly, u32),
    /// The quotient rounded down; all ones of the width where the divisor is zero.
    Quotient(Poly, Poly, u32),
    /// What is left of the quotient rounded down; the dividend where the divisor is zero.
    Remainder(Poly, Poly),
    /// The quotient of signed numbers, rounded to zero; 1 for negative numbers and -1 for others by zero.
    Truncated(Poly, Poly),
    /// What is left of the quotient rounded to zero.
    TruncatedRest(Poly, Poly),
    /// The number that a vector of the width stands for when its highest bit is a sign.
    Signed(Poly, u32),
    /// One where a statement holds, else zero.
    Indicator(Formula),
    /// Two to this power, or to the width if that is less.
    Power(Poly, u32),
    /// The first polynomial where the statement holds, else the second.
    Choice(Formula, Poly, Poly),
    /// The bits that both have.
    Common(Poly, Poly),
    /// For how many `i` below the end bit `i` plus an offset is set in each of these terms, for their offsets.
    Ones(Vec<(Term, i64)>, i64),
}

/// What a truth value is.
#[derive(Clone, Debug)]
enum Bit {
    /// The variable with this number.
    Variable(#[cfg_attr(not(test), expect(dead_code, reason = "tests give variables values"))] u32),
    /// Whether this holds.
    Defined(Formula),
}

struct Encoder<'t> {
    terms: &'t Terms,
    /// The bounds of each unknown, and what it stands for.
    ranges: Vec<Range>,
    origins: Vec<Origin>,
    known: HashMap<Origin, Atom>,
    /// Bits that the goal is a conjunction of, and the values that they must have.
    conditions: HashMap<Term, bool>,
    /// The bounds of variables under which alone the goal is met.
    assumed: HashMap<u32, Range>,
    bits: Vec<Bit>,
    facts: Vec<Formula>,
    /// Polynomials that are zero or positive where the goal is met, beside what bounds of unknowns say.
    not_negative: Vec<Poly>,
    /// Values that are powers of two or zero, and unknowns that are odd.
    powers: Vec<Poly>,
    odd: Vec<Atom>,
    /// Terms that count the ones of others, with these; and terms without common bits.
    populations: HashMap<Term, Term>,
    apart: Vec<(Term, Term)>,
    /// Terms of one bit.
    truths: HashMap<Term, Formula>,
    /// Other terms: what they are modulo 2^width, and their values where these are known.
    residues: HashMap<Term, Poly>,
    values: HashMap<Term, Poly>,
    /// Values by residue and width.
    exact: HashMap<(Poly, u32), Poly>,
    /// What divisions leave, by the dividend less the multiple of the divisor.
    rests: BTreeMap<Poly, Poly>,
}

impl<'t> Encoder<'t> {
    /// Encodes all terms of a question, and states what its goal is a conjunction of but for what the sides yield.
    /// Nothing where that is too large, or an operation has no integers.
    fn of(terms: &'t Terms, query: &Query) -> Option<Encoder<'t>> {
        let needed = terms.reachable(&[query.goal]);
        if needed.len() > MOST_TERMS {
            return None;
        }
        let mut encoder = Encoder::new(terms);
        encoder.populations = populations(terms, &needed);
        let mut conditions = Vec::new();
        split(terms, query.goal, true, &mut conditions);
        encoder.assumed = assumed(terms, query.goal);
        encoder.conditions = conditions.into_iter().collect();
        encoder.encode_conditions(query.premise)?;
        encoder.encode(&encoder.needed(query.goal))?;
        Some(encoder)
    }

    fn new(terms: &'t Terms) -> Encoder<'t> {
        Encoder {
            terms,
            ranges: Vec::new(),
            origins: Vec::new(),
            known: HashMap::new(),
            conditions: HashMap::new(),
            assumed: HashMap::new(),
            bits: Vec::new(),
            facts: Vec::new(),
            not_negative: Vec::new(),
            powers: Vec::new(),
            odd: Vec::new(),
            populations: HashMap::new(),
            apart: Vec::new(),
            truths: HashMap::new(),
            residues: HashMap::new(),
            values: HashMap::new(),
            exact: HashMap::new(),
            rests: BTreeMap::new(),
        }
    }
}

fn fits(poly: &Poly) -> bool {
    poly.len() <= MOST_PARTS && poly.degree() <= MOST_FACTORS
}
