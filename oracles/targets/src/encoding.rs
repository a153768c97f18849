//! Encoder round trip: packing into bits and unpacking gives the same value.
//!
//! This covers the selectors of video instructions, which are one immediate, and the numbers and names of fields and
//! their values, by which patterns and texts refer to them. Machine words have targets of their own.

use oriole_ir::ops::{Field, FieldValues, ROWS, SimdSelectors, VideoPart, VideoSelectors};

use super::canary;
use oriole_generate::Entropy;

/// Any bits as selectors, and any field of any row.
pub fn encoding(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let mut rounds = 0;
    while !entropy.is_exhausted() && rounds < 64 {
        match entropy.below(3) {
            0 => video(&mut entropy),
            1 => simd(&mut entropy),
            _ => fields(&mut entropy),
        }
        rounds += 1;
    }
    rounds > 0
}

/// What goes through an encoding; one bit of it flips where a fault is planted.
fn carried(bits: u32) -> u32 {
    bits ^ u32::from(canary::planted())
}

fn video(entropy: &mut Entropy<'_>) {
    let part = |entropy: &mut Entropy<'_>| entropy.choose(&VideoPart::ALL);
    let selectors = VideoSelectors {
        dst: part(entropy),
        a: part(entropy),
        b: part(entropy),
        negate: [(); 3].map(|()| entropy.percent(50)),
    };
    assert_eq!(VideoSelectors::unpack(carried(selectors.pack())), selectors, "packed as {:#x}", selectors.pack());
    // Any immediate means some selectors, and these are spelled one way.
    let read = VideoSelectors::unpack(entropy.bits() as u32);
    assert_eq!(VideoSelectors::unpack(read.pack()), read, "packed as {:#x}", read.pack());
}

fn simd(entropy: &mut Entropy<'_>) {
    let mut lanes = || [(); 4].map(|()| entropy.below(8) as u8);
    let selectors = SimdSelectors { a: lanes(), b: lanes(), mask: entropy.below(16) as u8 };
    assert_eq!(SimdSelectors::unpack(carried(selectors.pack())), selectors, "packed as {:#x}", selectors.pack());
    let read = SimdSelectors::unpack(entropy.bits() as u32);
    assert_eq!(SimdSelectors::unpack(read.pack()), read, "packed as {:#x}", read.pack());
}

/// A field's legal values have names and numbers of their own, and can be told from those.
fn fields(entropy: &mut Entropy<'_>) {
    let row = &ROWS[entropy.below(ROWS.len())];
    let mut values = row.default_fields();
    for (slot, spec) in row.fields.iter().enumerate() {
        let legal: Vec<u8> = spec.values().collect();
        values.0[slot] = entropy.choose(&legal);
    }
    let said: Vec<(Field, &str, u16)> = row
        .fields
        .iter()
        .zip(values.0)
        .map(|(spec, value)| (spec.field, spec.field.value_name(value), spec.field.code(value)))
        .collect();
    let mut read = FieldValues::default();
    for (slot, (field, name, code)) in said.iter().enumerate() {
        let by_code = (0..field.value_names().len() as u8).filter(|value| field.code(*value) == *code);
        assert_eq!(by_code.count(), 1, "{} of {}: the number {code} stands for one value", field.name(), row.name);
        read.0[slot] = field.value_index(name).unwrap_or(u8::MAX);
    }
    assert_eq!(read, values, "the fields of {}, written {said:?}", row.name);
}
