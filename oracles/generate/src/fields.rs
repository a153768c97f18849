//! Field values of an instruction: any that the row allows, found without rejection.

use oriole_ir::ops::{Field, FieldSpec, FieldValues, OpRow};

use super::config::OperandPercent;
use super::entropy::Entropy;

/// Legal field values of a row, where `fixed` says what some of the fields are.
///
/// Now and then one field first gets one of its values, all values alike: so rare ones come up however few combinations
/// have them. Of the other fields those that must be written come first. Each in turn takes the first value, around a
/// circle from a chosen start, with which no rule is broken; where none is left the field before takes its next one.
/// `None` where `fixed` leaves nothing legal.
pub(super) fn fields(
    row: &'static OpRow,
    entropy: &mut Entropy<'_>,
    percent: &OperandPercent,
    fixed: &[(Field, u8)],
) -> Option<FieldValues> {
    let rare = entropy.percent(percent.rare_field).then(|| any_value(row, entropy)).flatten();
    if let Some(rare) = rare.filter(|(field, _)| fixed.iter().all(|(other, _)| other != field)) {
        let fixed: Vec<(Field, u8)> = fixed.iter().copied().chain([rare]).collect();
        if let Some(values) = find(row, entropy, percent.default_field, &fixed) {
            return Some(values);
        }
    }
    find(row, entropy, percent.default_field, fixed)
}

/// Legal field values of a row out of those that each slot's mask allows.
pub(super) fn among(
    row: &'static OpRow,
    entropy: &mut Entropy<'_>,
    percent: &OperandPercent,
    masks: &[u64],
) -> Option<FieldValues> {
    let slots = row.fields.iter().zip(masks).enumerate();
    let candidates: Vec<(usize, Vec<u8>)> = slots
        .map(|(slot, (spec, mask))| {
            let allowed = FieldSpec { legal: spec.legal & mask, ..*spec };
            (slot, if allowed.legal == 0 { Vec::new() } else { around(&allowed, entropy, percent.default_field) })
        })
        .collect();
    let mut values = FieldValues::default();
    search(row, &candidates, 0, &mut values).then_some(values)
}

/// A field of a row and one of its legal values.
fn any_value(row: &OpRow, entropy: &mut Entropy<'_>) -> Option<(Field, u8)> {
    let spec = row.fields.get(entropy.below(row.fields.len()))?;
    let at = entropy.below(spec.legal.count_ones() as usize);
    spec.values().nth(at).map(|value| (spec.field, value))
}

fn find(
    row: &'static OpRow,
    entropy: &mut Entropy<'_>,
    default_percent: u32,
    fixed: &[(Field, u8)],
) -> Option<FieldValues> {
    let is_fixed = |slot: usize| fixed.iter().any(|(field, _)| *field == row.fields[slot].field);
    let mut candidates: Vec<(usize, Vec<u8>)> = row
        .fields
        .iter()
        .map(|spec| match fixed.iter().find(|(field, _)| *field == spec.field) {
            Some((_, value)) => spec.values().filter(|legal| legal == value).collect(),
            None => around(spec, entropy, default_percent),
        })
        .enumerate()
        .collect();
    candidates.sort_by_key(|(slot, _)| (!is_fixed(*slot), row.fields[*slot].default.is_some()));
    let mut values = FieldValues::default();
    search(row, &candidates, 0, &mut values).then_some(values)
}

/// A field's legal values in the order in which they are tried.
fn around(spec: &FieldSpec, entropy: &mut Entropy<'_>, default_percent: u32) -> Vec<u8> {
    let mut values: Vec<u8> = spec.values().collect();
    let count = values.len();
    if spec.default.is_some() && entropy.percent(default_percent) {
        // The default is the first value.
        return values;
    }
    // Both directions, so that a value behind one that is rarely legal is not chosen twice as often.
    let start = entropy.below(2 * count);
    values.rotate_left(start % count);
    if start >= count {
        values[1..].reverse();
    }
    values
}

/// Gives the fields from `at` on values; those before have theirs.
fn search(row: &'static OpRow, candidates: &[(usize, Vec<u8>)], at: usize, values: &mut FieldValues) -> bool {
    let Some((slot, choices)) = candidates.get(at) else { return true };
    let known = candidates[..=at].iter().fold(0, |known: u32, (slot, _)| known | 1 << slot);
    choices.iter().any(|value| {
        values.0[*slot] = *value;
        keeps_rules(row, known, values) && search(row, candidates, at + 1, values)
    })
}

/// Whether no rule is broken, as far as the known fields tell.
fn keeps_rules(row: &OpRow, known: u32, values: &FieldValues) -> bool {
    row.requires.iter().all(|rule| {
        let bit = |field: Field| {
            let slot = row.slot(field)?;
            (known >> slot & 1 == 1).then(|| 1u64 << values.0[slot])
        };
        let applies = rule.also.is_none_or(|(field, mask)| bit(field).is_some_and(|bit| bit & mask != 0))
            && bit(rule.field).is_some_and(|bit| bit & rule.values != 0);
        !applies || bit(rule.then).is_none_or(|bit| bit & rule.allowed != 0)
    })
}

#[cfg(test)]
mod tests {
    use oriole_ir::ops::ROWS;

    use super::*;

    fn percent(default_field: u32) -> OperandPercent {
        OperandPercent { default_field, ..OperandPercent::default() }
    }

    #[test]
    fn every_legal_value_of_every_field_comes_up() {
        let mut entropy = Entropy::from_seed(1);
        for row in ROWS {
            let mut seen = [0u64; oriole_ir::ops::MAX_FIELDS];
            for _ in 0..3000 {
                let values = fields(row, &mut entropy, &percent(30), &[]).expect("every row has legal values");
                assert!(row.broken_rule(&values).is_none(), "{}", row.name);
                (0..row.fields.len()).for_each(|slot| seen[slot] |= 1 << values.0[slot]);
            }
            for (slot, spec) in row.fields.iter().enumerate() {
                assert_eq!(seen[slot], spec.legal, "{} {}", row.name, spec.field.name());
            }
        }
    }

    #[test]
    fn fixed_fields_stay_and_the_impossible_is_none() {
        use oriole_ir::ops::{FieldValue, Opcode, Saturate, Type};
        let mut entropy = Entropy::from_seed(2);
        let row = Opcode::IAdd.row();
        let sat = (Field::Saturate, Saturate::Sat.index());
        let values = fields(row, &mut entropy, &percent(0), &[sat]).expect("s32 saturates");
        assert_eq!(row.value::<Type>(&values), Some(Type::S32));
        assert_eq!(fields(row, &mut entropy, &percent(0), &[sat, (Field::Type, Type::U64.index())]), None);
    }
}
