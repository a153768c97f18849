//! Counts of ones.
//!
//! The ones of `a | b` are those of `a` and of `b`, less those of `a & b`; so the count for any bitwise function is a
//! sum of counts for conjunctions of what it is made of, and these are the unknowns. Each is a difference of two counts
//! from the lowest bit on, so that parts of a word add up to the word.

use std::collections::HashMap;

use super::super::meaning::population;
use super::super::term::{Node, Op, Term, Terms, ones};
use super::formula::Formula;
use super::poly::Poly;
use super::{Encoder, Origin};

/// Conjunctions that are looked at for one count.
const MOST_CONJUNCTIONS: u32 = 400;

/// Bits `i + offset` of a term, for the `i` of a range.
type Bits = (Term, i64);

/// Terms that count the ones of others, which they stand for, by the shape that counting has in terms.
pub fn populations(terms: &Terms, needed: &[Term]) -> HashMap<Term, Term> {
    // The sums of eight bits are masked by this in every count.
    let is_mask = |term: &Term| {
        let width = terms.width(*term);
        width >= 16 && terms.value(*term) == Some(0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f & ones(width))
    };
    let mut found = HashMap::new();
    if !needed.iter().any(is_mask) {
        return found;
    }
    let mut all = terms.clone();
    for term in needed.iter().filter(|term| terms.width(**term) >= 16 && terms.value(**term).is_none()) {
        let count = population(&mut all, *term);
        if count != *term && needed.binary_search(&count).is_ok() {
            found.insert(count, *term);
        }
    }
    found
}

impl Encoder<'_> {
    /// Terms that a root depends on, operands first; of counts, nothing that they are made of.
    pub(super) fn needed(&self, root: Term) -> Vec<Term> {
        let all = self.terms.reachable(&[root]);
        if self.populations.is_empty() {
            return all;
        }
        let mut used = vec![root];
        for term in all.iter().rev().filter(|term| !self.populations.contains_key(term)) {
            if used.contains(term) {
                used.extend(self.terms.node(*term).operands());
            }
        }
        all.into_iter().filter(|term| used.contains(term)).collect()
    }

    /// How many ones a term has.
    pub(super) fn ones_of(&mut self, term: Term) -> Option<Poly> {
        let mut budget = MOST_CONJUNCTIONS;
        self.ones_in(vec![(term, 0)], 0, self.terms.width(term).into(), &mut budget)
    }

    /// For how many `i` from `low` to below `high` all of these bits are set.
    fn ones_in(&mut self, bits: Vec<Bits>, low: i64, high: i64, budget: &mut u32) -> Option<Poly> {
        *budget = budget.checked_sub(1)?;
        if low >= high {
            return Some(Poly::default());
        }
        for (at, (term, offset)) in bits.iter().copied().enumerate() {
            let mut others = bits.clone();
            others.remove(at);
            let with = |more: &[Term]| -> Vec<Bits> {
                others.iter().copied().chain(more.iter().map(|term| (*term, offset))).collect()
            };
            let Node { op, args: [a, b, _], .. } = *self.terms.node(term);
            return match op {
                Op::Const(value) => {
                    let mut sum = Poly::default();
                    for i in (low..high).filter(|i| value >> (i + offset) & 1 == 1) {
                        sum = sum.plus(&self.ones_in(others.clone(), i, i + 1, budget)?);
                    }
                    Some(sum)
                }
                Op::And => self.ones_in(with(&[a, b]), low, high, budget),
                Op::Not => {
                    let (all, some) = (others.clone(), with(&[a]));
                    let all = self.ones_in(all, low, high, budget)?;
                    Some(all.minus(&self.ones_in(some, low, high, budget)?))
                }
                Op::Or | Op::Xor => {
                    let [left, right, both] = [with(&[a]), with(&[b]), with(&[a, b])];
                    let sum = self.ones_in(left, low, high, budget)?.plus(&self.ones_in(right, low, high, budget)?);
                    let both = self.ones_in(both, low, high, budget)?;
                    Some(sum.minus(&both.times(&(if op == Op::Or { 1 } else { 2 }).into())))
                }
                Op::ZeroExtend => {
                    let end = i64::from(self.terms.width(a)) - offset;
                    self.ones_in(with(&[a]), low, high.min(end), budget)
                }
                Op::Extract(from) => {
                    let mut inner = others;
                    inner.push((a, offset + i64::from(from)));
                    self.ones_in(inner, low, high, budget)
                }
                Op::Shl | Op::LShr if self.terms.value(b).is_some_and(|by| by < 128) => {
                    let by = self.terms.value(b).map_or(0, |by| by as i64);
                    let by = if op == Op::Shl { -by } else { by };
                    // Where no bit is shifted from, there is a zero.
                    let end = i64::from(self.terms.width(a)) - offset - by;
                    let mut inner = others;
                    inner.push((a, offset + by));
                    self.ones_in(inner, low.max(-offset - by), high.min(end), budget)
                }
                Op::Concat => {
                    let width = i64::from(self.terms.width(b));
                    let middle = (width - offset).clamp(low, high);
                    let below = self.ones_in(with(&[b]), low, middle, budget)?;
                    let mut above = others;
                    above.push((a, offset - width));
                    Some(below.plus(&self.ones_in(above, middle, high, budget)?))
                }
                _ => continue,
            };
        }
        Some(self.ones_of_all(bits, low, high))
    }

    /// The same for terms that are not looked into.
    fn ones_of_all(&mut self, mut bits: Vec<Bits>, low: i64, high: i64) -> Poly {
        bits.sort_unstable();
        bits.dedup();
        let Some((_, offset)) = bits.first().copied() else { return Poly::constant(high - low) };
        let is_apart = |(x, y): &(Term, Term)| {
            let places = |term: Term| bits.iter().filter(move |(of, _)| *of == term).map(|(_, offset)| *offset);
            places(*x).any(|at| places(*y).any(|other| at == other))
        };
        if self.apart.iter().any(is_apart) {
            return Poly::default();
        }
        // Bits are counted by their places in the first term.
        bits.iter_mut().for_each(|(_, at)| *at -= offset);
        let below = |encoder: &mut Self, end: i64| match end {
            0 => Poly::default(),
            end => encoder.unknown(Origin::Ones(bits.clone(), end), (0.into(), end.into())).0,
        };
        let (first, last) = (below(self, low + offset), below(self, high + offset));
        let count = last.minus(&first);
        if low + offset > 0 {
            for fact in [Formula::at_most(&first, &last), Formula::at_most(&count, &Poly::constant(high - low))] {
                self.learn(&fact);
                self.facts.push(fact);
            }
        }
        count
    }
}
