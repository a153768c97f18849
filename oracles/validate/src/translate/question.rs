//! From the values of both sides to the question whether they differ.

use oriole_ir::ops::{FieldValues, Type};
use oriole_rules::instance::{Instance, place_type};
use oriole_rules::language::ast::Contract;

use super::{Absence, Question, Translation};
use crate::effects::unmodelled;
use oriole_proof::{Side, Term, differ_modulo_nan, equivalence, leaves_nan_open};

impl<'i> Translation<'i> {
    pub(super) fn question(mut self, values: [Vec<Term>; 2], fields: &FieldValues) -> Result<Question<'i>, Absence> {
        let [before, after] = &values;
        let row = self.variant.instance.pattern().opcode.row();
        let modulo_nan = is_modulo_nan(self.variant.instance);
        let same_widths = |(a, b): (&Term, &Term)| self.terms.width(*a) == self.terms.width(*b);
        if before.len() != after.len() || !before.iter().zip(after).all(same_widths) {
            return Err(Absence::Function);
        }
        let certain = self.certain_bits(before);
        let mut premises = self.premises.clone();
        if modulo_nan && before.len() == row.dsts.len() {
            // Where both are NaN of the destination's type, which of them does not matter.
            let mut differ = self.terms.bit(false);
            for ((before, after), shape) in before.iter().zip(after).zip(row.dsts) {
                let ty = place_type(row.opcode, fields, *shape).unwrap_or(Type::B32);
                let here = differ_modulo_nan(&mut self.terms, ty, *before, *after);
                differ = self.terms.or(differ, here);
            }
            // The bits of floats mean nothing one by one.
            for bits in certain.into_iter().flatten() {
                let unknown = self.terms.not(bits);
                let all = self.terms.is_zero(unknown);
                differ = self.terms.and(differ, all);
            }
            let zero = self.terms.bit(false);
            let sides = [zero, differ].map(|value| vec![value]);
            return Ok(self.finish(sides, values.clone(), &mut premises));
        }
        let sides = match certain {
            Some(bits) => values
                .clone()
                .map(|side| side.iter().zip(&bits).map(|(value, bits)| self.terms.and(*value, *bits)).collect()),
            None => values.clone(),
        };
        Ok(self.finish(sides, values, &mut premises))
    }

    fn finish(mut self, sides: [Vec<Term>; 2], values: [Vec<Term>; 2], premises: &mut [Term]) -> Question<'i> {
        let [before, after] = sides;
        let before = Side { values: before, defined: self.defined };
        let after = Side { values: after, defined: None };
        let query = equivalence(&mut self.terms, &before, &after, premises);
        let functions = self.opaque.iter().flatten().map(|one| Absence::operation(one.opcode, &one.fields).to_string());
        let functions = functions.collect();
        let captures = self.captures.iter().map(|term| term.unwrap_or(before.values[0])).collect();
        Question {
            unmodelled: unmodelled(self.variant.instance),
            variant: self.variant,
            terms: self.terms,
            query,
            captures,
            others: self.others,
            constants: self.constants,
            known: self.known,
            values,
            defined: self.defined,
            opaque: self.opaque.is_some(),
            functions,
            assumed: self.assumed,
            chooses_nan: self.chooses_nan,
            effect: self.effect,
        }
    }
}

/// Whether one NaN is as good as another in an instance's results: the rule says so, or the operation does.
pub(crate) fn is_modulo_nan(instance: &Instance) -> bool {
    instance.contract == Contract::ModuloNan || leaves_nan_open(instance.pattern().opcode)
}
