//! What operations yield where PTX does not say it: a quotient by zero, a bit that is not found.
//!
//! *The decision.* The ISA calls such a result "an unspecified, machine-specific value" ("Integer Arithmetic
//! Instructions: div", "rem"). So it is any value, and the same one wherever the same operation has the same
//! operands: an unknown function of them. At the root of a pattern it may become anything. Inside a pattern it may be
//! masked, multiplied by zero or not selected; the root's bits that are the same whatever it is are defined, and the
//! result must have them. In a result it is unknown like any other value, and harmless where the result does not
//! depend on it.
//!
//! Which bits depend on an unknown value is tried with four values: zero, all ones, what the interpreter has, and the
//! one that the search for a counterexample chooses. A bit that depends on it in none of these counts as defined.

use oriole_ir::ops::{FieldValues, Opcode};

use super::translate::{Question, Translation};
use oriole_proof::eval::Program;
use oriole_proof::term::{Node, Op, ones};
use oriole_proof::{Term, Terms};

/// An operation whose results are undefined for some operands.
pub(super) struct Unknown {
    opcode: Opcode,
    fields: FieldValues,
    operands: Vec<Term>,
    /// What the interpreter yields there, and the variables that stand for it.
    modelled: Vec<Term>,
    variables: Vec<Term>,
}

/// The name of variables that stand for results which are not defined.
const NAME: &str = "undefined";

impl Question<'_> {
    /// Whether some result that it depends on is not defined for these inputs.
    pub(super) fn is_undefined_at(&self, inputs: &[u128]) -> bool {
        let is_chosen = |term: &Term| {
            let Node { op: Op::Ite, args: [defined, _, other], .. } = *self.terms.node(*term) else { return None };
            let Op::Variable(number) = self.terms.node(other).op else { return None };
            (self.terms.variables()[number as usize].name == NAME).then_some(defined)
        };
        let defined: Vec<Term> = self.terms.reachable(&[self.query.goal]).iter().filter_map(is_chosen).collect();
        Program::new(&self.terms, &defined).eval(inputs).contains(&0)
    }
}

impl Translation<'_> {
    /// The results of an operation, unknown where they are not defined.
    pub(super) fn unless_defined(
        &mut self,
        (opcode, fields): (Opcode, &FieldValues),
        operands: &[Term],
        results: Vec<Term>,
        defined: Option<Term>,
    ) -> Vec<Term> {
        let Some(defined) = defined.filter(|defined| self.terms.value(*defined) != Some(1)) else { return results };
        let same = |one: &&Unknown| one.opcode == opcode && one.fields == *fields && one.operands == operands;
        let variables = match self.unknown.iter().find(same) {
            Some(known) => known.variables.clone(),
            None => results.iter().map(|value| self.terms.variable(NAME, self.terms.width(*value))).collect(),
        };
        let choose = |(value, other): (&Term, &Term)| self.terms.ite(defined, *value, *other);
        let chosen = results.iter().zip(&variables).map(choose).collect();
        let operands = operands.to_vec();
        self.unknown.push(Unknown { opcode, fields: *fields, operands, modelled: results, variables });
        chosen
    }

    /// The bits of values that depend on nothing unknown; nothing where all are such.
    pub(super) fn certain_bits(&mut self, values: &[Term]) -> Option<Vec<Term>> {
        let read = self.terms.reachable(values);
        let pairs = self.unknown.iter().flat_map(|one| one.variables.iter().copied().zip(one.modelled.iter().copied()));
        let pairs: Vec<(Term, Term)> = pairs.filter(|(variable, _)| read.contains(variable)).collect();
        if pairs.is_empty() {
            return None;
        }
        let mut with = |choice: fn(&mut Terms, Term) -> Option<Term>| {
            let other = |(variable, modelled): &(Term, Term)| {
                (*variable, choice(&mut self.terms, *variable).unwrap_or(*modelled))
            };
            let others: Vec<(Term, Term)> = pairs.iter().map(other).collect();
            self.terms.replace(values, &others)
        };
        let zeros = with(|terms, variable| Some(terms.constant(0, terms.width(variable))));
        let all_ones = with(|terms, variable| Some(terms.constant(ones(terms.width(variable)), terms.width(variable))));
        let modelled = with(|_, _| None);
        let mut depends: Vec<Term> =
            values.iter().map(|value| self.terms.constant(0, self.terms.width(*value))).collect();
        // Bits that differ between the first two differ from one of them whatever else is chosen. That says nothing
        // new, but of a value that is unknown altogether it leaves a constant.
        for (some, others) in [(&zeros[..], &all_ones), (values, &zeros), (values, &all_ones), (values, &modelled)] {
            for ((bits, value), other) in depends.iter_mut().zip(some).zip(others) {
                let differs = self.terms.xor(*value, *other);
                *bits = self.terms.or(*bits, differs);
            }
        }
        Some(depends.into_iter().map(|bits| self.terms.not(bits)).collect())
    }
}
