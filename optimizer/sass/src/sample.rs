//! Random words of an encoding, for tests and fuzz targets.

use super::encoding::Encoding;
use super::row::{Format, NO_BIT, Part, RESERVED, Show, What};

/// A scheduling control with nothing special: the stall and the barriers of a word that waits for nobody.
const PLAIN_SCHEDULE: u128 = 0x000f_e200 << 96;

/// Floats whose text is unlike that of others, as 32 bits, upper halves of 64 bits, or pairs of 16 bits.
const FLOATS: [u32; 12] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7f80_0001,
    0x7c00_fc00,
    0x7ff0_0000,
    0x7e00_8000,
    0x4e6e_6b27,
    0x41cd_cd65,
];

/// A word of an encoding whose parts have random values, of which `bits` gives 64 bits at a time. Where `legal`, codes
/// have names; else some have none, and such a word is refused.
pub fn word(encoding: &Encoding, legal: bool, bits: &mut dyn FnMut() -> u64) -> u128 {
    let mut word = encoding.value | PLAIN_SCHEDULE;
    word |= if one_in(4, bits) { u128::from(bits() & 15) << 12 } else { 7 << 12 };
    for part in &encoding.parts {
        word = part.put(word, value(part, legal, bits)).unwrap_or(word);
        if let Some((at, names)) = part.suffix {
            let named: Vec<u64> =
                (0..).zip(names).filter(|(_, name)| **name != RESERVED).map(|(code, _)| code).collect();
            let any = bits();
            let code = if legal { one_of(&named, any) } else { any % names.len().max(1) as u64 };
            word = at.put(word, code);
        }
        for bit in [part.negate, part.absolute, part.invert] {
            word |= if bit != NO_BIT && one_in(3, bits) { 1 << bit } else { 0 };
        }
        word |= if part.reuse != NO_BIT && one_in(6, bits) { 1 << part.reuse } else { 0 };
    }
    encoding.value | word & encoding.owned()
}

fn one_in(n: u64, bits: &mut dyn FnMut() -> u64) -> bool {
    bits().is_multiple_of(n)
}

fn one_of(values: &[u64], any: u64) -> u64 {
    if values.is_empty() { 0 } else { values[(any % values.len() as u64) as usize] }
}

fn value(part: &Part, legal: bool, bits: &mut dyn FnMut() -> u64) -> u64 {
    let width = u32::from(part.at.len + part.above.len);
    let mask = 1u64.checked_shl(width).unwrap_or(0).wrapping_sub(1);
    let any = bits() & mask;
    match part.what {
        What::Modifier(names) | What::Name(names) if part.show != Show::Never && (legal || !one_in(8, bits)) => {
            let fits = names.iter().zip(0..=mask);
            let named: Vec<u64> = fits.filter(|(name, _)| **name != RESERVED).map(|(_, code)| code).collect();
            one_of(&named, any)
        }
        What::Register(_) if one_in(6, bits) => mask,
        What::Register(_) if one_in(2, bits) => any & !3,
        What::Immediate(Format::F32 | Format::F64 | Format::F16x2 | Format::HalfBy(_)) if one_in(4, bits) => {
            u64::from(FLOATS[(any % FLOATS.len() as u64) as usize]) & mask
        }
        What::Immediate(_) if one_in(3, bits) => any & 0xff,
        _ => any,
    }
}
