//! Values at which operations do something else than between them.

use oriole_ir::ops::Type;

use super::float::{self, Format};
use crate::term::ones;

/// The special values of a type, sorted: of floats zeros, subnormals, the ends of normal numbers, one, infinities and
/// NaNs with either sign and all ones; of integers the numbers around zero and around the ends of both orders, and a
/// change of every byte. A packed type has each value in all its parts, beside a zero, and beside another one.
pub fn special_values(ty: Type) -> Vec<u128> {
    let format = float::format(ty).filter(|format| ty.bits().is_multiple_of(format.width()));
    let width = match (format, ty) {
        (Some(format), _) => format.width(),
        (None, Type::U16x2 | Type::S16x2) => 16,
        _ => ty.bits(),
    };
    let one = format.map_or_else(|| integers(width), floats);
    let mut values = if width < ty.bits() { packed(&one, width) } else { one };
    values.sort_unstable();
    values.dedup();
    values
}

fn floats(format: &Format) -> Vec<u128> {
    let (sign, normal) = (1 << (format.width() - 1), 1 << format.fraction);
    let infinity = format.infinity();
    let numbers = [0, 1, normal - 1, normal, format.one(), format.largest(), infinity];
    let nans = [infinity | 1, infinity | normal >> 1, format.nan];
    let mut values: Vec<u128> = numbers.into_iter().chain(nans).flat_map(|value| [value, value | sign]).collect();
    values.push(ones(format.width()));
    values
}

fn integers(width: u32) -> Vec<u128> {
    let (all, sign) = (ones(width), 1 << (width - 1));
    let bytes = (0..width).step_by(8).fold(0, |value, low| value | (u128::from(low) + 1) << low);
    let ends = [0, 1, 2, all, all - 1, sign, sign + 1, sign - 1, bytes, 1 << (width / 2), ones(width / 2)];
    ends.map(|value| value & all).to_vec()
}

fn packed(parts: &[u128], width: u32) -> Vec<u128> {
    let next = |at: usize| parts[(at + 1) % parts.len()];
    let pairs = |(at, part): (usize, &u128)| [*part, 0, next(at)].map(|high| high << width | *part);
    parts.iter().enumerate().flat_map(pairs).collect()
}
