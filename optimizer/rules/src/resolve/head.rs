//! Opcodes and fields of an operation as it is written.
//!
//! The longest mnemonic that the dotted parts begin with is the opcode; each part after it is a value of the next field
//! in the row that takes it. A variable stands where all its values are values of the field.

use super::super::language::Span;
use super::super::language::ast::{Head, Segment};
use super::sets::{NONE, call};
use super::{Resolved, Resolver, Trouble, fault};
use oriole_ir::ops::{Field, FieldSpec, FieldValues, OpRow, Opcode, ROWS, Shape};

/// An opcode and, by slot, the values that are written; `None` for a field that is not.
#[derive(Clone)]
pub(super) struct Written {
    pub opcode: Opcode,
    pub values: Vec<Option<u64>>,
}

/// A dotted part with its value.
struct Part<'a> {
    /// The value's text, or several of which any matches.
    texts: Vec<&'a str>,
    /// All values that the part goes through over the rule's instances.
    domain: Vec<&'a str>,
    span: Span,
    /// Whether it is a word as it stands, which may be joined with the next.
    literal: bool,
}

impl Resolver<'_> {
    /// What a head says. The walks over a pattern each ask for it, so it is kept by its place.
    pub(super) fn written(&self, head: &Head) -> Resolved<Written> {
        let known = self.heads.borrow().iter().find(|(span, _)| *span == head.span).map(|(_, written)| written.clone());
        if let Some(written) = known {
            return Ok(written);
        }
        let written = self.read_head(head)?;
        self.heads.borrow_mut().push((head.span, written.clone()));
        Ok(written)
    }

    fn read_head(&self, head: &Head) -> Resolved<Written> {
        let parts = self.parts(head)?;
        let (opcode, used) = mnemonic(&parts, head)?;
        let row = opcode.row();
        let mut values = vec![None; row.fields.len()];
        let (mut rest, mut slot) = (&parts[used..], 0);
        while let Some(part) = rest.first() {
            let Some((at, mask, count)) = place(row, slot, rest) else { return Err(misplaced(row, part)) };
            if mask == 0 {
                return Err(illegal_value(row, &row.fields[at], part));
            }
            values[at] = Some(mask);
            (slot, rest) = (at + 1, &rest[count..]);
        }
        if head.rest.is_none()
            && let Some(missing) =
                (0..values.len()).find(|slot| values[*slot].is_none() && row.fields[*slot].default.is_none())
        {
            return Err(needs(row, &row.fields[missing], head.span));
        }
        scalar(row, &values, head.span)?;
        Ok(Written { opcode, values })
    }

    fn parts<'s>(&'s self, head: &'s Head) -> Resolved<Vec<Part<'s>>> {
        let mut parts = Vec::new();
        for segment in &head.segments {
            match segment {
                Segment::Word(name) => {
                    match self.instance.variables.iter().position(|(known, _)| *known == name.text) {
                        Some(index) => {
                            let value = self.instance.variables[index].1.as_str();
                            let domain = self.sets[index].iter().map(String::as_str).collect();
                            parts.push(Part { texts: vec![value], domain, span: name.span, literal: false });
                        }
                        None => {
                            let text = name.text.as_str();
                            parts.push(Part { texts: vec![text], domain: vec![text], span: name.span, literal: true });
                        }
                    }
                }
                Segment::Call { function, arguments } => {
                    let values: Vec<_> =
                        arguments.iter().map(|name| (name, self.variable(&name.text).unwrap_or(&name.text))).collect();
                    let texts = call(function, &values)?;
                    parts.push(Part { domain: texts.clone(), texts, span: segment.span(), literal: false });
                }
            }
        }
        Ok(parts)
    }
}

/// Accesses of one value each: the others have lists of operands.
fn scalar(row: &OpRow, values: &[Option<u64>], span: Span) -> Resolved<()> {
    if vector_slot(row).is_none_or(|slot| values[slot].is_none_or(|mask| mask == 1)) {
        return Ok(());
    }
    let message = format!("`{}` of vectors cannot stand in a rule", row.name);
    Err(fault(span, message, "here", "leave the vector out: accesses of one value can"))
}

/// The slot that says how many values an access has. In rules it is one.
pub(super) fn vector_slot(row: &OpRow) -> Option<usize> {
    let listed = row.srcs.iter().chain(row.dsts).any(|shape| *shape == Shape::V);
    if listed { row.slot(Field::Vector) } else { None }
}

/// The opcode with the longest mnemonic, and how many parts it takes.
fn mnemonic(parts: &[Part<'_>], head: &Head) -> Resolved<(Opcode, usize)> {
    let mut found = None;
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push('.');
        }
        text.push_str(part.texts[0]);
        if let Some(opcode) = Opcode::from_name(&text) {
            found = Some((opcode, index + 1));
        }
        if !part.literal && index > 0 {
            break;
        }
    }
    found.ok_or_else(|| {
        let first = parts[0].texts[0];
        if let Some(meant) = meant_by_ptx(parts) {
            let message = format!("unknown opcode `{first}`; did you mean `{meant}`?");
            return fault(head.span, message, "here", "`oriole ops` lists the mnemonics, which are not those of PTX");
        }
        let prefix: String = first.chars().take(2).collect();
        let near: Vec<&str> =
            ROWS.iter().map(|row| row.name).filter(|name| name.starts_with(&prefix)).take(8).collect();
        let help = match near.is_empty() {
            true => "`oriole ops` lists the opcodes".to_owned(),
            false => format!("opcodes that begin alike: {}", near.join(", ")),
        };
        fault(head.span, format!("unknown opcode `{first}`"), "here", help)
    })
}

/// The operation that PTX spells so: `iadd.u32` for `add.u32`.
fn meant_by_ptx(parts: &[Part<'_>]) -> Option<String> {
    let words: Vec<&str> = parts.iter().map(|part| part.texts[0]).collect();
    Opcode::from_ptx(words[0]).iter().find_map(|opcode| {
        let row = opcode.row();
        let spelt: Vec<&str> = row.ptx?.split('.').collect();
        let fields = words.strip_prefix(spelt.as_slice())?;
        let takes = |word: &&str| {
            row.fields.iter().any(|spec| value_index(spec, word).is_some_and(|v| spec.legal >> v & 1 == 1))
        };
        let text: Vec<&str> = [row.name].into_iter().chain(fields.iter().copied()).collect();
        fields.iter().all(takes).then(|| text.join("."))
    })
}

/// The first slot from `from` on that takes the first part, perhaps joined with the next: the slot, the legal values
/// among those meant, and how many parts it takes.
fn place(row: &OpRow, from: usize, parts: &[Part<'_>]) -> Option<(usize, u64, usize)> {
    (from..row.fields.len()).find_map(|slot| {
        let spec = &row.fields[slot];
        if let [first, second, ..] = parts
            && first.literal
            && second.literal
            && let Some(value) = spec.field.value_index(&format!("{}.{}", first.texts[0], second.texts[0]))
            && spec.legal >> value & 1 == 1
        {
            return Some((slot, 1 << value, 2));
        }
        let part = &parts[0];
        let takes = part.domain.iter().all(|text| *text == NONE || spec.field.value_index(text).is_some());
        let named = part.domain.iter().any(|text| *text != NONE) || spec.default.is_some();
        let values = part.texts.iter().filter_map(|text| value_index(spec, text));
        let mask = values.fold(0, |mask, value| mask | 1 << value) & spec.legal;
        // A word is taken by the first field that allows it; a variable by the first field of its kind.
        let fits = takes && named && (mask != 0 || !part.literal);
        fits.then_some((slot, mask, 1))
    })
}

fn value_index(spec: &FieldSpec, text: &str) -> Option<u8> {
    if text == NONE { spec.default } else { spec.field.value_index(text) }
}

/// The names of a field's legal values.
pub(super) fn legal_names(spec: &FieldSpec) -> String {
    let name = |value| match spec.field.value_name(value) {
        "" => NONE,
        name => name,
    };
    spec.values().map(name).collect::<Vec<_>>().join(", ")
}

fn illegal(span: Span, message: String, help: String) -> Trouble {
    Trouble { illegal: true, ..fault(span, message, "here", help) }
}

fn illegal_value(row: &OpRow, spec: &FieldSpec, part: &Part<'_>) -> Trouble {
    let message = format!("`{}` does not take the {} `{}`", row.name, spec.field.name(), part.texts.join(" or "));
    illegal(part.span, message, format!("it takes {}", legal_names(spec)))
}

fn misplaced(row: &OpRow, part: &Part<'_>) -> Trouble {
    let message = format!("`{}` does not take `{}` here", row.name, part.texts.join(" or "));
    let fields: Vec<String> =
        row.fields.iter().map(|spec| format!("{} ({})", spec.field.name(), legal_names(spec))).collect();
    let help = match fields.is_empty() {
        true => "it has no fields".to_owned(),
        false => format!("its fields, in order: {}", fields.join("; ")),
    };
    illegal(part.span, message, help)
}

fn needs(row: &OpRow, spec: &FieldSpec, span: Span) -> Trouble {
    let message = format!("`{}` needs a {}", row.name, spec.field.name());
    fault(span, message, "here", format!("write one of {}, or `{{F}}` for any", legal_names(spec)))
}

/// The fault of field values that the table does not allow together.
pub(super) fn broken(opcode: Opcode, values: &FieldValues, span: Span) -> Resolved<()> {
    let row = opcode.row();
    let Some(rule) = row.broken_rule(values) else { return Ok(()) };
    let name = |field: Field| match row.slot(field).map(|slot| field.value_name(values.0[slot])) {
        Some("") | None => format!("no {}", field.name()),
        Some(text) => format!("{} {text}", field.name()),
    };
    let message = format!("`{}` does not allow {} with {}", row.name, name(rule.then), name(rule.field));
    let allowed: Vec<&str> = (0..64u8)
        .filter(|v| rule.allowed >> v & 1 == 1)
        .filter(|v| usize::from(*v) < rule.then.value_names().len())
        .map(|v| rule.then.value_name(v))
        .map(|name| if name.is_empty() { NONE } else { name })
        .collect();
    Err(illegal(span, message, format!("{} may then be {}", rule.then.name(), allowed.join(", "))))
}
