//! Questions over integers as SMT-LIB text.

use std::fmt::Write as _;

use super::formula::Formula;
use super::poly::{Atom, Poly};
use super::{Bit, Encoder};

impl Encoder<'_> {
    pub(super) fn text(&self) -> String {
        let is_linear = |formula: &Formula| formula.degree() <= 1;
        let defined = self.bits.iter().filter_map(|bit| match bit {
            Bit::Variable(_) => None,
            Bit::Defined(formula) => Some(formula),
        });
        let linear = self.facts.iter().chain(defined).all(is_linear);
        let mut text = format!("(set-logic {})\n", if linear { "QF_LIA" } else { "QF_NIA" });
        for (atom, (low, high)) in self.ranges.iter().enumerate() {
            let atom = Poly::atom(atom as Atom);
            let mut name = String::new();
            atom.write(&mut name);
            let _ = writeln!(text, "(declare-const {name} Int)");
            for bound in [
                Formula::at_most(&Poly::constant(low.clone()), &atom),
                Formula::at_most(&atom, &Poly::constant(high.clone())),
            ] {
                assert(&mut text, &bound);
            }
        }
        for (number, bit) in self.bits.iter().enumerate() {
            let _ = writeln!(text, "(declare-const b{number} Bool)");
            if let Bit::Defined(formula) = bit {
                assert(&mut text, &Formula::Bit(number as u32).same(formula.clone()));
            }
        }
        let facts = self.facts.iter().filter(|fact| **fact != Formula::Known(true));
        facts.for_each(|fact| assert(&mut text, fact));
        text
    }
}

fn assert(text: &mut String, formula: &Formula) {
    text.push_str("(assert ");
    formula.write(text);
    text.push_str(")\n");
}
