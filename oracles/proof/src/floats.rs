//! Operations on floats as SMT-LIB's theory of floats has them.
//!
//! An arena that is made by [`Terms::over_floats`](super::Terms::over_floats) holds a node for each of them, whose
//! operands and result are the bits of floats. The printed question says by assertions what the bits of a result are,
//! since the theory has no function from floats to bits. What the theory leaves open is said too: the bits of a NaN are
//! those that PTX arithmetic yields.
//!
//! A node has the value of the circuit in `meaning/soft.rs` that stands for the operation elsewhere.

use std::fmt::Write;

use oriole_ir::ops::Rounding;

use super::meaning::soft;
use super::term::{Term, Terms};

/// A binary interchange format with infinities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Width of the exponent field.
    pub exponent: u32,
    /// Width of the fraction field.
    pub fraction: u32,
    /// The NaN that arithmetic yields.
    pub nan: u128,
}

impl Format {
    /// Width of a value.
    pub fn width(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn sort(self) -> String {
        format!("{} {}", self.exponent, self.fraction + 1)
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A sum.
    Add,
    /// A product.
    Multiply,
    /// A product plus a third operand, rounded once.
    Fused,
    /// A quotient.
    Divide,
    /// A square root.
    SquareRoot,
    /// The nearest integral value of the format.
    Integral,
    /// The value in another format.
    Convert,
    /// The value of an integer.
    OfInteger {
        /// Whether the integer has a sign.
        signed: bool,
        /// Its width.
        width: u32,
    },
}

/// An operation on floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Float {
    /// What it does.
    pub kind: Kind,
    /// How the result is rounded.
    pub rounding: Rounding,
    /// The format of operands, of the result where they are integers.
    pub from: Format,
    /// The format of the result.
    pub to: Format,
}

impl Float {
    /// The number of operands.
    pub(super) fn arity(self) -> usize {
        match self.kind {
            Kind::Add | Kind::Multiply | Kind::Divide => 2,
            Kind::Fused => 3,
            _ => 1,
        }
    }

    /// The bits of the result for the bits of operands.
    pub(super) fn value(self, values: [u128; 3]) -> u128 {
        let mut terms = Terms::new();
        let width = match self.kind {
            Kind::OfInteger { width, .. } => width,
            _ => self.from.width(),
        };
        let operands: Vec<Term> = values[..self.arity()].iter().map(|value| terms.constant(*value, width)).collect();
        let result = soft::of_float(&mut terms, self, &operands);
        terms.value(result).expect("an operation on constants is a constant")
    }

    /// Commands that define `result`, the bits of the operation on these operands, by way of the float `name`.
    pub(super) fn definition(self, text: &mut String, name: &str, result: &str, operands: &[&str]) {
        let (sort, width) = (self.to.sort(), self.to.width());
        let float = self.expression(operands);
        let nan = super::text::literal(self.to.nan, width);
        let _ = writeln!(text, "(declare-const {name} (_ FloatingPoint {sort}))\n(assert (= {name} {float}))");
        let _ = writeln!(text, "(declare-const {result} (_ BitVec {width}))");
        let _ = writeln!(text, "(assert (= ((_ to_fp {sort}) {result}) {name}))");
        let _ = writeln!(text, "(assert (=> (fp.isNaN {name}) (= {result} {nan})))");
    }

    fn expression(self, operands: &[&str]) -> String {
        let mode = match self.rounding {
            Rounding::Rz | Rounding::Rzi => "RTZ",
            Rounding::Rm | Rounding::Rmi => "RTN",
            Rounding::Rp | Rounding::Rpi => "RTP",
            Rounding::Rna => "RNA",
            Rounding::Default | Rounding::Rn | Rounding::Rni => "RNE",
        };
        let (from, to) = (self.from.sort(), self.to.sort());
        let floats: Vec<String> = operands.iter().map(|bits| format!("((_ to_fp {from}) {bits})")).collect();
        let floats = floats.join(" ");
        match self.kind {
            Kind::Add => format!("(fp.add {mode} {floats})"),
            Kind::Multiply => format!("(fp.mul {mode} {floats})"),
            Kind::Fused => format!("(fp.fma {mode} {floats})"),
            Kind::Divide => format!("(fp.div {mode} {floats})"),
            Kind::SquareRoot => format!("(fp.sqrt {mode} {floats})"),
            Kind::Integral => format!("(fp.roundToIntegral {mode} {floats})"),
            Kind::Convert => format!("((_ to_fp {to}) {mode} {floats})"),
            Kind::OfInteger { signed: true, .. } => format!("((_ to_fp {to}) {mode} {})", operands[0]),
            Kind::OfInteger { signed: false, .. } => format!("((_ to_fp_unsigned {to}) {mode} {})", operands[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::solver::Solver;
    use super::super::text::{definitions, literal};
    use super::*;
    use oriole_launch::random::SplitMix64;

    const SHORT: Format = Format { exponent: 8, fraction: 23, nan: 0x7fff_ffff };
    const LONG: Format = Format { exponent: 11, fraction: 52, nan: 0x7ff8_0000_0000_0000 };

    /// Each kind in each rounding.
    fn all() -> Vec<Float> {
        let arithmetic = [Kind::Add, Kind::Multiply, Kind::Fused, Kind::Divide, Kind::SquareRoot, Kind::Integral];
        let integers = [true, false].map(|signed| Kind::OfInteger { signed, width: 64 });
        let mut all = Vec::new();
        for rounding in [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp] {
            let of = |kind, from, to| Float { kind, rounding, from, to };
            all.extend(arithmetic.map(|kind| of(kind, LONG, LONG)));
            all.extend(integers.map(|kind| of(kind, LONG, LONG)));
            all.extend([of(Kind::Convert, LONG, SHORT), of(Kind::Convert, SHORT, LONG)]);
        }
        all
    }

    fn operand(random: &mut SplitMix64, format: Format) -> u128 {
        let one = ((1u128 << (format.exponent - 1)) - 1) << format.fraction;
        let infinity = ((1u128 << format.exponent) - 1) << format.fraction;
        let sign = u128::from(random.below(2)) << (format.width() - 1);
        let specials = [0, 1, one, one | 1, infinity, infinity | 5, infinity - 1];
        let near = one - (4u128 << format.fraction) + (u128::from(random.next_u64()) & ((8 << format.fraction) - 1));
        sign | if random.below(3) == 0 { specials[random.below(7) as usize] } else { near }
    }

    /// What solvers make of the printed operations is what the circuits compute.
    #[test]
    fn solvers_and_circuits_agree() {
        let Some(solver) = Solver::find(None).expect("a solver on the path can be asked its version") else {
            return eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
        };
        let (mut t, mut random) = (Terms::over_floats(), SplitMix64::new(3));
        let (mut roots, mut inputs, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for float in all().into_iter().flat_map(|float| [float; 3]) {
            let mut values = [0; 3];
            values[..float.arity()].iter_mut().for_each(|value| *value = operand(&mut random, float.from));
            let operands: Vec<Term> =
                values[..float.arity()].iter().map(|_| t.variable("operand", float.from.width())).collect();
            inputs.extend(&values[..float.arity()]);
            roots.push(t.float(float, &operands).expect("its operands are variables"));
            wanted.push(float.value(values));
        }
        let (script, expressions) = definitions(&t, &roots);
        let mut text = script.text;
        for (name, number) in script.variables.iter().enumerate() {
            let value = literal(inputs[*number], t.variables()[*number].width);
            let _ = writeln!(text, "(assert (= x{name} {value}))");
        }
        assert_eq!(solver.evaluate(&text, &expressions).expect("the solver reads the text"), wanted);
    }

    /// An operation on known floats is a known float, and one on bits stays a circuit.
    #[test]
    fn only_open_operations_stay() {
        let float = Float { kind: Kind::Add, rounding: Rounding::Rn, from: LONG, to: LONG };
        let (mut plain, mut over) = (Terms::new(), Terms::over_floats());
        let one = 0x3ff0_0000_0000_0000;
        assert_eq!(float.value([one, one, 0]), 0x4000_0000_0000_0000);
        let known = over.constant(one, 64);
        assert_eq!(over.float(float, &[known, known]), None);
        let (x, y) = (plain.variable("x", 64), over.variable("x", 64));
        assert_eq!(plain.float(float, &[x, x]), None);
        let sum = over.float(float, &[y, y]).expect("the operand is open");
        let value = over.substitute(&[sum], &[(0, known)]);
        assert_eq!(over.value(value[0]), Some(0x4000_0000_0000_0000));
    }
}
