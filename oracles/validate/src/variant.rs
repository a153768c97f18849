//! Instances with every field settled.
//!
//! A pattern may match several values of a field (`int(T)`, `{F}`, `{_}`). Each combination that the opcode table
//! allows is a [`Variant`], and is judged by itself.

use oriole_ir::ops::{FieldValues, Opcode};
use oriole_rules::Instance;
use oriole_rules::instance::{Condition, Operation, Pattern, Source};

/// An instance with the fields of all operations of its pattern.
#[derive(Clone, Debug)]
pub struct Variant<'i> {
    /// The instance.
    pub instance: &'i Instance,
    /// The fields of the pattern's operations, each before those inside it, in the order of their sources.
    pub fields: Vec<FieldValues>,
    /// The captured fields.
    pub rests: Vec<Option<FieldValues>>,
}

/// A pattern matches more combinations of fields than are looked at one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// The most variants of an instance.
const MOST: usize = 4096;

/// All variants of an instance.
pub fn variants(instance: &Instance) -> Result<Vec<Variant<'_>>, TooMany> {
    let mut operations = Vec::new();
    collect(instance.pattern(), &mut operations);
    let start = Variant { instance, fields: Vec::new(), rests: vec![None; instance.rests.len()] };
    let mut all = vec![start];
    for pattern in operations {
        let legal = legal_fields(pattern)?;
        let mut next = Vec::new();
        for variant in &all {
            next.extend(legal.iter().filter_map(|fields| variant.with(pattern, fields)));
            if next.len() > MOST {
                return Err(TooMany);
            }
        }
        all = next;
    }
    Ok(all.into_iter().filter(Variant::fields_hold).collect())
}

/// The operations of a pattern, each before those inside it.
fn collect<'p>(pattern: &'p Pattern, into: &mut Vec<&'p Pattern>) {
    into.push(pattern);
    pattern.srcs.iter().for_each(|source| collect_source(source, into));
}

fn collect_source<'p>(source: &'p Source, into: &mut Vec<&'p Pattern>) {
    match source {
        Source::Inst(pattern) => collect(pattern, into),
        Source::Word(_, of) => collect_source(of, into),
        _ => {}
    }
}

/// The combinations of field values that a pattern matches and the opcode table allows.
fn legal_fields(pattern: &Pattern) -> Result<Vec<FieldValues>, TooMany> {
    let mut all = vec![FieldValues::default()];
    for (slot, mask) in pattern.fields.iter().enumerate() {
        let values = (0..64u8).filter(|value| mask >> value & 1 == 1);
        let with = |value: u8| {
            all.iter().map(move |fields| {
                let mut fields = *fields;
                fields.0[slot] = value;
                fields
            })
        };
        let next: Vec<FieldValues> = values.flat_map(with).collect();
        if next.len() > 256 * MOST {
            return Err(TooMany);
        }
        all = next;
    }
    all.retain(|fields| pattern.opcode.row().broken_rule(fields).is_none());
    Ok(all)
}

impl Variant<'_> {
    /// The variant with one more operation's fields; nothing where the same captured fields differ.
    fn with(&self, pattern: &Pattern, fields: &FieldValues) -> Option<Self> {
        let mut next = self.clone();
        next.fields.push(*fields);
        let Some(rest) = pattern.rest else { return Some(next) };
        let captured = &self.instance.rests[rest];
        if captured.opcode != pattern.opcode {
            return None;
        }
        match &self.rests[rest] {
            Some(known) => {
                let taken = |slot: &usize| captured.slots >> slot & 1 == 1;
                let same = (0..pattern.fields.len()).filter(taken).all(|slot| known.0[slot] == fields.0[slot]);
                same.then_some(next)
            }
            None => {
                next.rests[rest] = Some(*fields);
                Some(next)
            }
        }
    }

    /// Whether the conditions that are about captured fields alone hold.
    fn fields_hold(&self) -> bool {
        self.instance.conditions.iter().all(|condition| self.field_condition(condition) != Some(false))
    }

    /// Whether a condition about captured fields holds; `None` for one that is about values too.
    pub fn field_condition(&self, condition: &Condition) -> Option<bool> {
        match condition {
            Condition::Field { rest, slot, equal, value } => {
                Some((self.rests[*rest].as_ref()?.0[*slot] == *value) == *equal)
            }
            Condition::Not(condition) => self.field_condition(condition).map(|holds| !holds),
            Condition::Any(conditions) => {
                let mut known = conditions.iter().map(|condition| self.field_condition(condition));
                known.try_fold(false, |any, holds| Some(any | holds?))
            }
            Condition::Always(holds) => Some(*holds),
            _ => None,
        }
    }

    /// The fields of an operation of the result; `None` where the opcode table does not allow them and the rule does
    /// not apply.
    pub fn result_fields(&self, operation: &Operation) -> Option<FieldValues> {
        let row = operation.opcode.row();
        let mut fields = operation.fields;
        if let Some(rest) = operation.rest {
            let captured = self.rests[rest]?;
            for (to, from) in &operation.copied {
                let value = captured.0[*from];
                if !row.fields[*to].values().any(|legal| legal == value) {
                    return None;
                }
                fields.0[*to] = value;
            }
        }
        row.broken_rule(&fields).is_none().then_some(fields)
    }

    /// `imul.lo.u32`, for messages: the root's mnemonic and fields.
    pub fn root_text(&self) -> String {
        let pattern = self.instance.pattern();
        self.fields.first().map_or_else(String::new, |fields| operation_text(pattern.opcode, fields))
    }
}

/// A mnemonic with the fields that differ from what is left out.
pub fn operation_text(opcode: Opcode, fields: &FieldValues) -> String {
    let row = opcode.row();
    let mut text = row.name.to_owned();
    for (spec, value) in row.fields.iter().zip(fields.0) {
        let name = spec.field.value_name(value);
        if spec.default != Some(value) && !name.is_empty() {
            text += &format!(".{name}");
        }
    }
    text
}
