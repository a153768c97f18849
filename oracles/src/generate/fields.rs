//! Field values of an instruction: any that the row allows, found without rejection.

use oriole_optimizer::ops::{Field, FieldValues, OpRow};

use super::entropy::Entropy;

/// Legal field values of a row, where `fixed` says what some of the fields are.
///
/// Each field in turn takes the first value, in a circle from a chosen start, with which no rule is broken; where none is
/// left the field before takes its next one. `None` where `fixed` leaves nothing legal.
pub(super) fn fields(
    row: &'static OpRow,
    entropy: &mut Entropy<'_>,
    default_percent: u32,
    fixed: &[(Field, u8)],
) -> Option<FieldValues> {
    let candidates: Vec<Vec<u8>> = row
        .fields
        .iter()
        .map(|spec| {
            if let Some((_, value)) = fixed.iter().find(|(field, _)| *field == spec.field) {
                return spec.values().filter(|legal| legal == value).collect();
            }
            let mut values: Vec<u8> = spec.values().collect();
            let start = match spec.default {
                Some(default) if !entropy.percent(100 - default_percent.min(100)) => {
                    values.iter().position(|value| *value == default).unwrap_or(0)
                }
                _ => entropy.below(values.len()),
            };
            values.rotate_left(start);
            values
        })
        .collect();
    let mut values = FieldValues::default();
    search(row, &candidates, 0, &mut values).then_some(values)
}

fn search(row: &'static OpRow, candidates: &[Vec<u8>], slot: usize, values: &mut FieldValues) -> bool {
    let Some(choices) = candidates.get(slot) else { return true };
    choices.iter().any(|value| {
        values.0[slot] = *value;
        keeps_rules(row, slot, values) && search(row, candidates, slot + 1, values)
    })
}

/// Whether no rule is broken that looks at `slot`, and otherwise only at fields before it.
fn keeps_rules(row: &OpRow, slot: usize, values: &FieldValues) -> bool {
    row.requires.iter().all(|rule| {
        let bit = |field: Field| {
            let at = row.slot(field)?;
            (at <= slot).then(|| 1u64 << values.0[at])
        };
        let applies = rule.also.is_none_or(|(field, mask)| bit(field).is_some_and(|bit| bit & mask != 0))
            && bit(rule.field).is_some_and(|bit| bit & rule.values != 0);
        !applies || bit(rule.then).is_none_or(|bit| bit & rule.allowed != 0)
    })
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::ops::ROWS;

    use super::*;

    #[test]
    fn every_legal_value_of_every_field_comes_up() {
        let mut entropy = Entropy::from_seed(1);
        for row in ROWS {
            let mut seen = [0u64; oriole_optimizer::ops::MAX_FIELDS];
            for _ in 0..3000 {
                let values = fields(row, &mut entropy, 30, &[]).expect("every row has legal values");
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
        use oriole_optimizer::ops::{FieldValue, Opcode, Saturate, Type};
        let mut entropy = Entropy::from_seed(2);
        let row = Opcode::IAdd.row();
        let sat = (Field::Saturate, Saturate::Sat.index());
        let values = fields(row, &mut entropy, 0, &[sat]).expect("s32 saturates");
        assert_eq!(row.value::<Type>(&values), Some(Type::S32));
        assert_eq!(fields(row, &mut entropy, 0, &[sat, (Field::Type, Type::U64.index())]), None);
    }
}
