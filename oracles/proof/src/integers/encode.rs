//! Terms as formulas and polynomials, by operation.

use num_bigint::BigInt;

use super::super::term::{Node, Op, Term, ones};
use super::formula::Formula;
use super::poly::{Poly, floor, power};
use super::{Bit, Encoder, MOST_ATOMS, Origin, fits};

impl Encoder<'_> {
    /// Encodes terms, operands first; nothing where that gets too large or an operation has no integers.
    pub(super) fn encode(&mut self, needed: &[Term]) -> Option<()> {
        for term in needed {
            if self.truths.contains_key(term) || self.residues.contains_key(term) {
                continue;
            }
            let node = *self.terms.node(*term);
            if let Some(counted) = self.populations.get(term).copied() {
                let count = self.ones_of(counted)?;
                self.residues.insert(*term, count.clone());
                self.values.insert(*term, count);
                continue;
            }
            if node.width == 1 {
                let truth = self.one_bit(&node)?;
                let truth = self.decided(truth);
                // A condition that the goal needs is stated once, and known wherever else it is read.
                let truth = match self.conditions.get(term).copied() {
                    Some(holds) => {
                        let statement = if holds { truth } else { truth.negated() };
                        self.learn(&statement);
                        self.facts.push(statement);
                        if holds {
                            self.learn_of_bits(&node);
                        }
                        Formula::Known(holds)
                    }
                    None => self.named(truth),
                };
                self.truths.insert(*term, truth);
            } else {
                self.vector(*term, &node)?;
            }
            if self.ranges.len() > MOST_ATOMS {
                return None;
            }
        }
        Some(())
    }

    /// A short formula for a long one.
    pub(super) fn named(&mut self, formula: Formula) -> Formula {
        if matches!(formula, Formula::Known(_) | Formula::Bit(_)) {
            return formula;
        }
        let known = self.bits.iter().position(|bit| matches!(bit, Bit::Defined(known) if *known == formula));
        match known {
            Some(bit) => Formula::Bit(bit as u32),
            None => self.new_bit(Bit::Defined(formula)),
        }
    }

    fn new_bit(&mut self, bit: Bit) -> Formula {
        self.bits.push(bit);
        Formula::Bit(self.bits.len() as u32 - 1)
    }

    pub(super) fn truth(&self, term: Term) -> Formula {
        self.truths[&term].clone()
    }

    fn one_bit(&mut self, node: &Node) -> Option<Formula> {
        let [a, b, c] = node.args;
        let wide = self.terms.width(a) > 1;
        Some(match node.op {
            Op::Const(value) => Formula::Known(value == 1),
            Op::Variable(number) => self.new_bit(Bit::Variable(number)),
            Op::Not => self.truth(a).negated(),
            Op::Neg => self.truth(a),
            Op::And | Op::Mul => self.truth(a).and(self.truth(b)),
            Op::Or => self.truth(a).or(self.truth(b)),
            Op::Xor | Op::Add | Op::Sub => self.truth(a).same(self.truth(b)).negated(),
            Op::Ite => {
                let (condition, yes, no) = (self.truth(a), self.truth(b), self.truth(c));
                condition.clone().implies(yes).and(condition.or(no))
            }
            Op::Eq if wide => self.equal(a, b),
            Op::Ult if wide => Formula::less(&self.value(a), &self.value(b)),
            Op::Slt if wide => {
                let (a, b) = (self.signed(a), self.signed(b));
                Formula::less(&a, &b)
            }
            Op::Eq => self.truth(a).same(self.truth(b)),
            Op::Ult => self.truth(a).negated().and(self.truth(b)),
            Op::Slt => self.truth(a).and(self.truth(b).negated()),
            Op::Extract(low) if wide => {
                let value = self.value(a);
                let bit = self.field(&value, low, 1);
                Formula::equal(&bit, &Poly::constant(1))
            }
            _ => return None,
        })
    }

    /// Values are equal where their difference is a multiple of 2^width, and so are their multiples by odd numbers.
    pub(super) fn equal(&mut self, a: Term, b: Term) -> Formula {
        let width = self.terms.width(a);
        let whole = self.residue(a).minus(&self.residue(b)).reduced(width);
        let mut difference = whole.clone();
        for factor in difference.common_factors() {
            if self.odd.contains(&factor) {
                difference = difference.split(&Poly::atom(factor)).0;
            }
        }
        let (low, high) = self.bounds(&difference);
        let (first, last) = (-floor(&-low, &power(width)), floor(&high, &power(width)));
        if first > last {
            return Formula::Known(false);
        }
        if first == last {
            return Formula::equal(&self.with_rests(difference), &Poly::constant(first * power(width)));
        }
        if difference == whole {
            return Formula::equal(&self.value(a), &self.value(b));
        }
        let (added, subtracted) = difference.signs();
        Formula::equal(&self.wrapped(&added, width), &self.wrapped(&subtracted, width))
    }

    pub(super) fn vector(&mut self, term: Term, node: &Node) -> Option<()> {
        let [a, b, c] = node.args;
        let width = node.width;
        // A value is a residue too; what is only one goes to the end.
        let value = match node.op {
            Op::Const(value) => Poly::constant(value),
            Op::Variable(number) => {
                let range = self.assumed.get(&number).cloned();
                self.unknown(Origin::Variable(number), range.unwrap_or((0.into(), ones(width).into()))).0
            }
            Op::ZeroExtend => self.value(a),
            Op::Concat => {
                let (high, low) = (self.value(a), self.value(b));
                high.times(&power(self.terms.width(b))).plus(&low)
            }
            Op::Extract(low) if low > 0 => {
                let value = self.value(a);
                self.field(&value, low, width)
            }
            Op::LShr => {
                let (a, by) = (self.value(a), self.power_of(b, width));
                self.divided(&a, &by, width).0
            }
            Op::UDiv => {
                let (a, b) = (self.value(a), self.value(b));
                self.divided(&a, &b, width).0
            }
            Op::URem => {
                let (a, b) = (self.value(a), self.value(b));
                let (quotient, rest) = self.divided(&a, &b, width);
                // Products with the quotient elsewhere cancel against this one.
                let residue = a.minus(&b.product(&quotient)).reduced(width);
                self.exact.insert((residue.clone(), width), rest.clone());
                self.residues.insert(term, residue);
                self.values.insert(term, rest);
                return Some(());
            }
            Op::SignExtend => {
                let signed = self.signed(a);
                self.residues.insert(term, signed.clone());
                let negative = self.is_negative(&signed);
                let negative = self.indicator(negative);
                signed.plus(&negative.times(&power(width)))
            }
            Op::AShr => {
                let (a, by) = (self.signed(a), self.power_of(b, width));
                let quotient = self.divided(&a, &by, width).0;
                self.residues.insert(term, quotient.clone());
                let negative = self.is_negative(&a);
                let negative = self.indicator(negative);
                quotient.plus(&negative.times(&power(width)))
            }
            Op::And => self.common(a, b),
            Op::Or | Op::Xor => {
                let common = self.common(a, b);
                let sum = self.value(a).plus(&self.value(b));
                sum.minus(&common.times(&BigInt::from(if node.op == Op::Or { 1 } else { 2 })))
            }
            Op::Ite => {
                let condition = self.truth(a);
                if let Formula::Known(holds) = condition {
                    let chosen = if holds { b } else { c };
                    let residue = self.residue(chosen);
                    self.residues.insert(term, residue);
                    if let Some(value) = self.values.get(&chosen).cloned() {
                        self.values.insert(term, value);
                    }
                    return Some(());
                }
                let (yes, no) = (self.value(b), self.value(c));
                self.choice(condition, &yes, &no)
            }
            _ => {
                let residue = self.wrapping(node)?.reduced(width);
                self.residues.insert(term, residue);
                return Some(());
            }
        };
        let (low, high) = self.bounds(&value);
        // It is known, though the polynomial alone may not show it.
        if low < 0.into() {
            self.facts.push(Formula::NotNegative(value.clone()));
        }
        if high > ones(width).into() {
            self.facts.push(Formula::at_most(&value, &Poly::constant(ones(width))));
        }
        let residue = value.reduced(width);
        self.exact.entry((residue.clone(), width)).or_insert_with(|| value.clone());
        self.residues.entry(term).or_insert(residue);
        self.values.insert(term, value);
        Some(())
    }

    /// Operations whose results are known modulo 2^width.
    fn wrapping(&mut self, node: &Node) -> Option<Poly> {
        let [a, b, _] = node.args;
        Some(match node.op {
            Op::Not => Poly::constant(-1).minus(&self.residue(a)),
            Op::Neg => Poly::default().minus(&self.residue(a)),
            Op::Add => self.residue(a).plus(&self.residue(b)),
            Op::Sub => self.residue(a).minus(&self.residue(b)),
            Op::Mul => self.product(a, b, node.width),
            Op::Shl => {
                let by = self.power_of(b, node.width);
                self.residue(a).product(&by)
            }
            Op::Extract(0) => {
                let residue = self.residue(a);
                self.congruent(residue, node.width)
            }
            Op::SDiv => self.truncated(a, b).0,
            Op::SRem => {
                let (quotient, rest) = self.truncated(a, b);
                let residue = self.signed(a).minus(&self.signed(b).product(&quotient)).reduced(node.width);
                // Products with the quotient elsewhere cancel against this residue, too.
                let value = self.wrapped(&rest.reduced(node.width), node.width);
                self.exact.insert((residue.clone(), node.width), value);
                residue
            }
            _ => return None,
        })
    }

    pub(super) fn product(&mut self, a: Term, b: Term, width: u32) -> Poly {
        let residue = self.residue(a).product(&self.residue(b));
        // As values, factors may show that their product does not wrap.
        let (exact_left, exact_right) = (self.values.get(&a).cloned(), self.values.get(&b).cloned());
        if let (Some(left), Some(right)) = (exact_left, exact_right) {
            let product = left.product(&right);
            let (least, most) = self.bounds(&product);
            if least >= 0.into() && most <= ones(width).into() && fits(&product) {
                self.exact.insert((residue.reduced(width), width), product.clone());
                return if fits(&residue) { residue } else { product };
            }
        }
        if fits(&residue) { residue } else { self.value(a).product(&self.value(b)) }
    }
}
