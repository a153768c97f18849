//! Terms as SMT-LIB 2 text.
//!
//! The text depends on the structure of the terms alone: variables are `x0`, `x1`, ... and shared terms `t0`, `t1`, ...
//! in the order in which the arena has them, so the same question has the same text whatever is beside it and
//! whatever its variables are called, and answers can be kept by it. One command is one line.
//!
//! A shared term is a constant that an assertion says the value of, not a `define-fun`: z3 4.8.12 takes 6 s to read a
//! chain of a thousand such definitions, and 0.1 s for the assertions (2026-11-21).

use std::fmt::Write;

use super::floats::Float;
use super::term::{Op, Term, Terms};

/// How deep expressions nest before a definition is made for them, so that no reader's stack is at risk.
const MAX_DEPTH: u32 = 12;

/// A question to a solver, and how its variables are called there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Declarations, definitions and the assertion, one command a line.
    pub text: String,
    /// The number in the arena of each variable `x0`, `x1`, ...
    pub variables: Vec<usize>,
}

/// The question whether a bit can be one.
pub fn script(terms: &Terms, goal: Term) -> Script {
    let mut printer = Printer::new(terms, &[goal]);
    printer.define_all();
    let goal = printer.text_of(goal);
    let _ = writeln!(printer.text, "(assert (= {goal} #b1))");
    Script { text: printer.text, variables: printer.variables }
}

/// Definitions of some terms for any use, and the expressions that stand for the terms.
pub fn definitions(terms: &Terms, roots: &[Term]) -> (Script, Vec<String>) {
    let mut printer = Printer::new(terms, roots);
    printer.define_all();
    let roots = roots.iter().map(|root| printer.text_of(*root)).collect();
    (Script { text: printer.text, variables: printer.variables }, roots)
}

/// A constant as SMT-LIB writes it.
pub fn literal(value: u128, width: u32) -> String {
    if width.is_multiple_of(4) {
        format!("#x{value:0digits$x}", digits = width as usize / 4)
    } else {
        format!("#b{value:0digits$b}", digits = width as usize)
    }
}

struct Printer<'t> {
    terms: &'t Terms,
    needed: Vec<Term>,
    /// How often each needed term is read.
    uses: Vec<u32>,
    /// What stands for each needed term so far, and how deep it nests.
    shown: Vec<(String, u32)>,
    variables: Vec<usize>,
    /// How many operations on floats are defined.
    floats: usize,
    text: String,
}

impl<'t> Printer<'t> {
    fn new(terms: &'t Terms, roots: &[Term]) -> Printer<'t> {
        let needed = terms.reachable(roots);
        let mut uses = vec![0; needed.len()];
        for term in &needed {
            for arg in terms.node(*term).operands() {
                uses[place(&needed, *arg)] += 1;
            }
        }
        let shown = Vec::with_capacity(needed.len());
        let has_floats = needed.iter().any(|term| matches!(terms.node(*term).op, Op::Float(_)));
        let text = if has_floats { "(set-logic QF_BVFP)\n" } else { "(set-logic QF_BV)\n" };
        Printer { terms, needed, uses, shown, variables: Vec::new(), floats: 0, text: text.into() }
    }

    /// Declares variables, then gives every term its text, defining those that are read twice or nest deep.
    fn define_all(&mut self) {
        let mut defined = 0;
        for index in 0..self.needed.len() {
            let term = self.needed[index];
            let width = self.terms.width(term);
            if let Op::Float(float) = self.terms.node(term).op {
                self.define_float(float, term);
                continue;
            }
            let (text, depth) = self.expression(term);
            let is_leaf = self.terms.node(term).op.arity() == 0;
            if is_leaf || (self.uses[index] < 2 && depth < MAX_DEPTH) {
                self.shown.push((text, depth));
                continue;
            }
            let name = format!("t{defined}");
            defined += 1;
            let _ = writeln!(self.text, "(declare-const {name} (_ BitVec {width}))\n(assert (= {name} {text}))");
            self.shown.push((name, 0));
        }
    }

    /// Defines the bits of an operation on floats.
    fn define_float(&mut self, float: Float, term: Term) {
        let operands = self.terms.node(term).operands();
        let operands: Vec<&str> = operands.iter().map(|arg| &*self.shown[place(&self.needed, *arg)].0).collect();
        let (name, result) = (format!("f{}", self.floats), format!("r{}", self.floats));
        float.definition(&mut self.text, &name, &result, &operands);
        self.floats += 1;
        self.shown.push((result, 0));
    }

    fn text_of(&self, term: Term) -> String {
        self.shown[place(&self.needed, term)].0.clone()
    }

    /// A term's expression over what stands for its operands.
    fn expression(&mut self, term: Term) -> (String, u32) {
        let node = *self.terms.node(term);
        match node.op {
            Op::Const(value) => return (literal(value, node.width), 0),
            Op::Variable(number) => return (self.declare(number as usize, node.width), 0),
            _ => {}
        }
        let args: Vec<&(String, u32)> =
            node.operands().iter().map(|arg| &self.shown[place(&self.needed, *arg)]).collect();
        let depth = 1 + args.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        let by = node.width - self.terms.width(node.args[0]).min(node.width);
        let a = &args[0].0;
        let text = match node.op {
            Op::Eq | Op::Ult | Op::Slt => format!("(ite ({} {a} {}) #b1 #b0)", operator(node.op), args[1].0),
            Op::Ite => format!("(ite (= {a} #b1) {} {})", args[1].0, args[2].0),
            Op::Extract(low) => format!("((_ extract {} {low}) {a})", low + node.width - 1),
            Op::ZeroExtend => format!("((_ zero_extend {by}) {a})"),
            Op::SignExtend => format!("((_ sign_extend {by}) {a})"),
            Op::Not | Op::Neg => format!("({} {a})", operator(node.op)),
            _ => format!("({} {a} {})", operator(node.op), args[1].0),
        };
        (text, depth)
    }

    fn declare(&mut self, number: usize, width: u32) -> String {
        let name = format!("x{}", self.variables.len());
        self.variables.push(number);
        let _ = writeln!(self.text, "(declare-const {name} (_ BitVec {width}))");
        name
    }
}

fn place(needed: &[Term], term: Term) -> usize {
    needed.binary_search(&term).expect("operands of what is reachable are reachable")
}

/// SMT-LIB's name; those of operations with a syntax of their own are not asked for.
fn operator(op: Op) -> &'static str {
    match op {
        Op::Not => "bvnot",
        Op::Neg => "bvneg",
        Op::And => "bvand",
        Op::Or => "bvor",
        Op::Xor => "bvxor",
        Op::Add => "bvadd",
        Op::Sub => "bvsub",
        Op::Mul => "bvmul",
        Op::UDiv => "bvudiv",
        Op::URem => "bvurem",
        Op::SDiv => "bvsdiv",
        Op::SRem => "bvsrem",
        Op::Shl => "bvshl",
        Op::LShr => "bvlshr",
        Op::AShr => "bvashr",
        Op::Eq => "=",
        Op::Ult => "bvult",
        Op::Slt => "bvslt",
        Op::Concat => "concat",
        Op::Ite => "ite",
        Op::Const(_) | Op::Variable(_) | Op::Extract(_) | Op::ZeroExtend | Op::SignExtend | Op::Float(_) => "_",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shares_and_forgets_names() {
        let mut t = Terms::new();
        t.variable("unused", 64);
        let (x, y) = (t.variable("left", 32), t.variable("right", 32));
        let sum = t.add(x, y);
        let square = t.mul(sum, sum);
        let goal = t.is_zero(square);
        let script = script(&t, goal);
        let expected = "(set-logic QF_BV)\n\
                        (declare-const x0 (_ BitVec 32))\n\
                        (declare-const x1 (_ BitVec 32))\n\
                        (declare-const t0 (_ BitVec 32))\n\
                        (assert (= t0 (bvadd x0 x1)))\n\
                        (assert (= (ite (= (bvmul t0 t0) #x00000000) #b1 #b0) #b1))\n";
        assert_eq!(script.text, expected);
        assert_eq!(script.variables, [1, 2]);
    }

    #[test]
    fn long_chains_are_cut() {
        let mut t = Terms::new();
        let (x, one) = (t.variable("x", 8), t.constant(3, 8));
        let mut chain = x;
        for _ in 0..1000 {
            let product = t.mul(chain, one);
            chain = t.xor(product, x);
        }
        let goal = t.is_zero(chain);
        let text = script(&t, goal).text;
        let nests = |line: &str| {
            line.chars()
                .scan(0, |open, c| {
                    *open += i32::from(c == '(') - i32::from(c == ')');
                    Some(*open)
                })
                .max()
        };
        assert!(text.lines().all(|line| nests(line) < Some(40)), "no line nests deep");
    }
}
