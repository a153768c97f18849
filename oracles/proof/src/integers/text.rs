//! Questions over integers as SMT-LIB text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::formula::Formula;
use super::poly::{Atom, Poly, Products};
use super::{Bit, Encoder};

impl Encoder<'_> {
    /// The question; before it, if unknowns are multiplied, one in which each product is a number of which bounds alone
    /// are known: that is decided soon, and often enough.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut products = BTreeSet::new();
        self.statements().iter().for_each(|formula| formula.products(&mut products));
        if products.is_empty() {
            return vec![self.text("QF_LIA", &products, Products::Multiplied)];
        }
        vec![
            self.text("QF_LIA", &products, Products::Named),
            self.text("QF_NIA", &BTreeSet::new(), Products::Multiplied),
        ]
    }

    /// All that is stated of unknowns.
    fn statements(&self) -> Vec<Formula> {
        let defined = self.bits.iter().enumerate().filter_map(|(number, bit)| match bit {
            Bit::Variable(_) => None,
            Bit::Defined(formula) => Some(Formula::Bit(number as u32).same(formula.clone())),
        });
        let known = self.not_negative.iter().map(|poly| Formula::NotNegative(poly.clone()));
        let facts = self.facts.iter().filter(|fact| **fact != Formula::Known(true));
        defined.chain(known).chain(facts.cloned()).collect()
    }

    fn text(&self, logic: &str, named: &BTreeSet<Vec<Atom>>, products: Products) -> String {
        let mut text = format!("(set-logic {logic})\n");
        for atom in 0..self.ranges.len() {
            self.declare(&mut text, &[atom as Atom], products);
        }
        named.iter().for_each(|product| self.declare(&mut text, product, products));
        for product in named {
            // A product with a positive number is not less than what is multiplied.
            for (at, factor) in product.iter().enumerate() {
                let others = [&product[..at], &product[at + 1..]].concat();
                let others_range = Poly::product_of(&others, 1.into()).range(&self.ranges);
                let is_known = others.len() == 1 || named.contains(&others);
                if is_known && self.ranges[*factor as usize].0 > 0.into() && others_range.0 >= 0.into() {
                    let [less, more] = [&others, product].map(|product| Poly::product_of(product, 1.into()));
                    assert(&mut text, &Formula::at_most(&less, &more), products);
                }
            }
        }
        for number in 0..self.bits.len() {
            let _ = writeln!(text, "(declare-const b{number} Bool)");
        }
        self.statements().iter().for_each(|fact| assert(&mut text, fact, products));
        text
    }

    /// An unknown or a product of them, with its bounds.
    fn declare(&self, text: &mut String, product: &[Atom], products: Products) {
        let poly = Poly::product_of(product, 1.into());
        let (low, high) = poly.range(&self.ranges);
        let mut name = String::new();
        poly.write(&mut name, products);
        let _ = writeln!(text, "(declare-const {name} Int)");
        assert(text, &Formula::at_most(&Poly::constant(low), &poly), products);
        assert(text, &Formula::at_most(&poly, &Poly::constant(high)), products);
    }
}

fn assert(text: &mut String, formula: &Formula, products: Products) {
    text.push_str("(assert ");
    formula.write(text, products);
    text.push_str(")\n");
}
