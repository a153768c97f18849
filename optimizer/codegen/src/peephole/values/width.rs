//! How many of the lower bits of a value may be set, by the instruction that made it.

use oriole_ir::machine::table;

use super::super::matcher::marks;
use super::{Maker, Origin, Source, Value, Values};

/// How many instructions are looked at, one behind another.
pub(super) const MOST_STEPS: u8 = 6;
/// Nothing is known.
const ALL: u8 = 32;

/// The width of a value.
pub(super) fn of(values: &Values, value: Value, steps: u8) -> u8 {
    match values.origin(value) {
        Origin::Bits(bits) => (u64::BITS - bits.leading_zeros()).min(ALL.into()) as u8,
        Origin::Made(made, _) if steps > 0 => of_made(values, values.maker(made), steps - 1).unwrap_or(ALL).min(ALL),
        _ => ALL,
    }
}

fn of_made(values: &Values, maker: &Maker, steps: u8) -> Option<u8> {
    let row = table()?.row(maker.id.row)?;
    let has = |word: &str| maker.id.codes().any(|code| row.modifier(code) == Some(word));
    let is_plain = maker.id.codes().next().is_none();
    let plain = |at: usize| maker.sources.get(at).filter(|source| marks(source.operand).is_none());
    let width = |at: usize| match plain(at)?.values[..] {
        [value] => Some(of(values, value, steps)),
        _ => None,
    };
    let number = |at: usize| plain(at).and_then(|source: &Source| values.bits(&source.values));
    Some(match row.name {
        "LDG" | "LD" | "LDS" | "LDL" | "LDC" if has("U8") => 8,
        "LDG" | "LD" | "LDS" | "LDL" | "LDC" if has("U16") => 16,
        "POPC" => 6,
        "LOP3.LUT" if is_plain => table_of([width(0)?, width(1)?, width(2)?], number(3)?),
        "PRMT" if is_plain => bytes([width(0)?, width(2)?], number(1)?),
        "SHF" if has("R") && has("U32") && has("HI") && !has("W") => {
            width(2)?.saturating_sub(number(1)?.min(ALL.into()) as u8)
        }
        "SHF" if has("L") && has("U32") && !has("HI") && !has("W") => {
            width(0)?.saturating_add(number(1)?.min(ALL.into()) as u8)
        }
        "SEL" => width(0)?.max(width(1)?),
        // The sum of three has two bits more than the widest of them.
        "IADD3" if is_plain => {
            let all = [width(0)?, width(1)?, width(2)?];
            let more = all.iter().filter(|width| **width > 0).count().saturating_sub(1) as u8;
            all.into_iter().max()? + more
        }
        "IMAD" if !has("X") => {
            let (product, sum) = (width(0)?.saturating_add(width(1)?), width(2)?);
            let is_zero = width(0)? == 0 || width(1)? == 0;
            match (is_zero, sum) {
                (true, sum) => sum,
                (false, 0) => product,
                (false, sum) => product.max(sum) + 1,
            }
        }
        _ => return None,
    })
}

/// The width of a truth table of inputs with these widths: of a bit, inputs that are too narrow are zero.
fn table_of(widths: [u8; 3], table: u64) -> u8 {
    let may_be_set = |bit: u8| {
        let set = widths.iter().fold(0u64, |set, width| set << 1 | u64::from(*width > bit));
        (0..8u64).any(|row| row & !set == 0 && table >> row & 1 == 1)
    };
    (0..ALL).rev().find(|bit| may_be_set(*bit)).map_or(0, |bit| bit + 1)
}

/// The width of bytes that are chosen of two words.
fn bytes(widths: [u8; 2], selector: u64) -> u8 {
    (0..4u8)
        .rev()
        .find_map(|byte| {
            let choice = (selector >> (4 * byte) & 0xf) as u8;
            // Above 7 it is the sign of the byte, all over.
            let own = widths[usize::from(choice >> 2 & 1)].saturating_sub(8 * (choice & 3)).min(8);
            let own = if choice > 7 && own == 8 {
                8
            } else if choice > 7 {
                0
            } else {
                own
            };
            (own > 0).then_some(8 * byte + own)
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_bytes_are_as_wide_as_their_sources() {
        // and, or, exclusive or of two; what is one where all inputs are zero.
        assert_eq!([0xc0, 0xfc, 0x3c, 0x03].map(|table| table_of([8, 16, 0], table)), [8, 16, 16, 32]);
        assert_eq!([0x80, 0xfe].map(|table| table_of([8, 16, 24], table)), [8, 24]);
        assert_eq!(bytes([32, 0], 0x7770), 8);
        assert_eq!(bytes([5, 0], 0x7770), 5);
        assert_eq!(bytes([32, 0], 0x7710), 16);
        assert_eq!(bytes([12, 0], 0x3210), 12);
        assert_eq!(bytes([12, 0], 0x2107), 20);
        // The sign of a byte whose uppermost bit may be set fills what is above it.
        assert_eq!([bytes([8, 0], 0x8880), bytes([7, 0], 0x8880), bytes([32, 0], 0x9910)], [32, 7, 32]);
    }
}
