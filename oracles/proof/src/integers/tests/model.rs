//! The values of unknowns for inputs.

use num_bigint::BigInt;

use super::super::formula::Formula;
use super::super::poly::Poly;
use super::super::poly::{Products, floor, power};
use super::super::{Bit, Encoder, Origin};
use crate::eval::Program;
use crate::term::{Term, ones};

/// What unknowns stand for, for inputs.
pub(super) struct Model<'e> {
    encoder: &'e Encoder<'e>,
    inputs: &'e [u128],
    pub(super) atoms: Vec<BigInt>,
    bits: Vec<bool>,
}

impl Model<'_> {
    pub(super) fn of<'e>(encoder: &'e Encoder<'e>, inputs: &'e [u128]) -> Model<'e> {
        let mut model = Model { encoder, inputs, atoms: Vec::new(), bits: Vec::new() };
        for origin in &encoder.origins {
            if let Origin::Indicator(formula) | Origin::Choice(formula, ..) = origin {
                model.bits_of(formula);
            }
            let value = model.meaning(origin);
            model.atoms.push(value);
        }
        while model.bits.len() < encoder.bits.len() {
            model.next_bit();
        }
        model
    }

    /// Truth values precede the unknowns that ask for them.
    fn bits_of(&mut self, formula: &Formula) {
        let mut text = String::new();
        formula.write(&mut text, Products::Multiplied);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let numbers = words.filter_map(|word| word.strip_prefix('b')?.parse::<usize>().ok());
        let count = numbers.max().map_or(0, |most| most + 1);
        while self.bits.len() < count {
            self.next_bit();
        }
    }

    fn next_bit(&mut self) {
        let bit = match &self.encoder.bits[self.bits.len()] {
            Bit::Variable(number) => self.inputs[*number as usize] == 1,
            Bit::Defined(formula) => formula.eval(&self.atoms, &self.bits),
        };
        self.bits.push(bit);
    }

    fn meaning(&self, origin: &Origin) -> BigInt {
        let value = |poly: &Poly| poly.eval(&self.atoms);
        let zero = BigInt::from(0);
        match origin {
            Origin::Variable(number) => self.inputs[*number as usize].into(),
            Origin::Wrapped(poly, width) => value(poly) - floor(&value(poly), &power(*width)) * power(*width),
            Origin::Wraps(poly, width) => floor(&value(poly), &power(*width)),
            Origin::Quotient(a, b, width) if value(b) == zero => {
                assert!(value(a) >= zero);
                ones(*width).into()
            }
            Origin::Quotient(a, b, _) => floor(&value(a), &value(b)),
            Origin::Remainder(a, b) if value(b) == zero => value(a),
            Origin::Remainder(a, b) => value(a) - floor(&value(a), &value(b)) * value(b),
            Origin::Truncated(a, b) if value(b) == zero => if value(a) < zero { 1 } else { -1 }.into(),
            Origin::Truncated(a, b) => value(a) / value(b),
            Origin::TruncatedRest(a, b) if value(b) == zero => value(a),
            Origin::TruncatedRest(a, b) => value(a) % value(b),
            Origin::Signed(poly, width) => {
                let value = value(poly);
                if value < power(width - 1) { value } else { value - power(*width) }
            }
            Origin::Indicator(formula) => u8::from(formula.eval(&self.atoms, &self.bits)).into(),
            Origin::Power(count, width) => {
                let count = value(count).min((*width).into());
                power(u32::try_from(count).expect("a width at most"))
            }
            Origin::Choice(formula, yes, no) => value(if formula.eval(&self.atoms, &self.bits) { yes } else { no }),
            Origin::Common(a, b) => value(a) & value(b),
            Origin::Ones(bits, end) => {
                let terms: Vec<Term> = bits.iter().map(|(term, _)| *term).collect();
                let values = Program::new(self.encoder.terms, &terms).eval(self.inputs);
                let is_set = |i: i64, value: u128, offset: i64| i + offset >= 0 && value >> (i + offset) & 1 == 1;
                let all = |i: &i64| values.iter().zip(bits).all(|(value, (_, offset))| is_set(*i, *value, *offset));
                (0..*end).filter(all).count().into()
            }
        }
    }
}

impl Model<'_> {
    /// All that the texts of the question assert holds.
    pub(super) fn meets(&self, texts: &[String]) {
        texts.iter().for_each(|text| self.meets_text(text));
    }

    fn meets_text(&self, text: &str) {
        let mut asserted = 0;
        for line in text.lines().filter(|line| line.starts_with("(assert ")) {
            let spaced = line.replace('(', " ( ").replace(')', " ) ");
            let mut words = spaced.split_whitespace().skip(2);
            assert_eq!(self.read(&mut words), Some(Value::Truth(true)), "{line} for {:x?}", self.inputs);
            asserted += 1;
        }
        assert!(asserted >= self.encoder.ranges.len());
        for fact in &self.encoder.not_negative {
            assert!(fact.eval(&self.atoms) >= 0.into(), "{fact:?} for {:x?}", self.inputs);
        }
    }

    /// The value of one expression; nothing at a closing parenthesis.
    fn read<'w>(&self, words: &mut impl Iterator<Item = &'w str>) -> Option<Value> {
        let word = words.next().expect("parentheses are balanced");
        if word == ")" {
            return None;
        }
        if word != "(" {
            return Some(match (word, word.split_at(1)) {
                ("true" | "false", _) => Value::Truth(word == "true"),
                (_, ("n", _)) => {
                    let factors = word.split('.').map(|name| name[1..].parse::<usize>().expect("a number"));
                    Value::Number(factors.map(|number| self.atoms[number].clone()).product())
                }
                (_, ("b", number)) => Value::Truth(self.bits[number.parse::<usize>().expect("a number")]),
                _ => Value::Number(word.parse().expect("a literal")),
            });
        }
        let operator = words.next().expect("an operator");
        let mut arguments = Vec::new();
        while let Some(argument) = self.read(&mut *words) {
            arguments.push(argument);
        }
        let truths = || arguments.iter().map(|one| *one == Value::Truth(true));
        let numbers = || {
            arguments.iter().map(|one| match one {
                Value::Number(number) => number.clone(),
                Value::Truth(_) => panic!("{operator} takes numbers"),
            })
        };
        Some(match (operator, &arguments[..]) {
            ("+", _) => Value::Number(numbers().sum()),
            ("*", _) => Value::Number(numbers().product()),
            ("-", [_]) => Value::Number(-numbers().sum::<BigInt>()),
            (">=", [Value::Number(a), Value::Number(b)]) => Value::Truth(a >= b),
            ("=", [a, b]) => Value::Truth(a == b),
            ("not", [Value::Truth(inner)]) => Value::Truth(!inner),
            ("and", _) => Value::Truth(truths().all(|holds| holds)),
            ("or", _) => Value::Truth(truths().any(|holds| holds)),
            _ => panic!("{operator} with {} arguments", arguments.len()),
        })
    }
}

/// What SMT-LIB text computes.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Number(BigInt),
    Truth(bool),
}
