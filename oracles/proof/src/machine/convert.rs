//! Conversions.

use oriole_ir::ops::Rounding;

use super::float::{flushed, rounding};
use super::word::Word;
use crate::meaning::convert::{Integer, Narrowing, in_word_of_f32, integer_of, narrow};
use crate::meaning::float::Format;
use crate::meaning::integer::saturate;
use crate::meaning::soft;
use crate::term::Term;

/// An integer type: its width, and whether it has a sign.
type Whole = (u32, bool);

/// The integer types that modifiers name, in the order of the text.
fn wholes(w: &Word<'_>) -> Vec<Whole> {
    let whole = |name: &&str| {
        let (sign, width) = name.split_at_checked(1)?;
        let width = width.parse().ok().filter(|width| *width != 0)?;
        matches!(sign, "U" | "S").then_some((width, sign == "S"))
    };
    w.names().iter().filter_map(whole).collect()
}

/// The float types that modifiers name, in the order of the text.
fn floats(w: &Word<'_>) -> Vec<&'static Format> {
    let float = |name: &&str| match *name {
        "F16" => Some(&Format::F16),
        "BF16" => Some(&Format::BF16),
        "F32" => Some(&Format::F32),
        "F64" => Some(&Format::F64),
        "E4M3" => Some(&Format::E4M3),
        "E5M2" => Some(&Format::E5M2),
        "TF32" => Some(&Format::TF32),
        _ => None,
    };
    w.names().iter().filter_map(float).collect()
}

/// The part of an operand that its suffix names, as wide as said.
fn part(w: &mut Word<'_>, at: usize, width: u32) -> Option<Term> {
    if width > 16 {
        w.suffix(at)?.is_empty().then_some(())?;
        return w.raw(at, width);
    }
    let low = match (w.suffix(at)?, width) {
        ("" | "B0" | "H0", _) => 0,
        ("H1", 16) => 16,
        ("B1", 8) => 8,
        ("B2", 8) => 16,
        ("B3", 8) => 24,
        _ => return None,
    };
    let word = w.raw(at, 32)?;
    Some(w.t.extract(word, low, width))
}

/// A float that is converted, flushed if the word says so and it has 32 bits.
fn source(w: &mut Word<'_>, at: usize, format: &Format) -> Option<Term> {
    let (value, marks) = (part(w, at, format.width())?, w.marks(at)?);
    let value = w.signed(format, value, marks);
    Some(if *format == Format::F32 { flushed(w, format, value) } else { value })
}

/// Writes a result of at most 64 bits, below zeros.
fn define(w: &mut Word<'_>, value: Term) -> Option<()> {
    let width = w.t.width(value).max(32);
    let value = w.t.zero_extend(value, width);
    w.define(0, value)
}

/// Operands: result, value.
pub(super) fn between_floats(w: &mut Word<'_>) -> Option<()> {
    let [to, from] = floats(w)[..] else { return None };
    let value = source(w, 1, from)?;
    let rounding = rounding(w);
    let result = soft::convert(w.t, from, to, rounding, value);
    let result = if *to == Format::F32 { flushed(w, to, result) } else { result };
    define(w, result)
}

/// How a word makes values integral.
fn whole_rounding(w: &Word<'_>) -> Rounding {
    let named = [("FLOOR", Rounding::Rmi), ("CEIL", Rounding::Rpi), ("TRUNC", Rounding::Rzi)];
    w.one_of(&named).unwrap_or(Rounding::Rni)
}

/// A NaN becomes zero with `.NTZ`. Without it, it becomes the highest bit alone, which ptxas says wherever one side has
/// 64 bits; of narrower results the PTX ISA has no such conversion, and what they yield is not known.
pub(super) fn to_integer(w: &mut Word<'_>) -> Option<()> {
    let from = floats(w).first().copied().unwrap_or(&Format::F32);
    let (width, signed) = wholes(w).first().copied().unwrap_or((32, true));
    let ends_in_zero = w.is("NTZ");
    if ends_in_zero == (width == 64 || from.width() == 64) {
        return None;
    }
    let (value, rounding) = (source(w, 1, from)?, whole_rounding(w));
    let nan = if ends_in_zero { 0 } else { 1 << (width - 1) };
    let result = integer_of(w.t, from, rounding, value, Integer { width, signed, nan });
    let result = w.t.extend(result, width.max(32), signed);
    w.define(0, result)
}

/// Operands: result, value. `I2FP` has integers of 32 bits alone.
pub(super) fn from_integer(w: &mut Word<'_>) -> Option<()> {
    let to = floats(w).first().copied().unwrap_or(&Format::F32);
    let (width, signed) = wholes(w).first().copied().unwrap_or((32, true));
    let (value, rounding) = (part(w, 1, width)?, rounding(w));
    let result = soft::from_integer(w.t, to, rounding, value, signed);
    define(w, result)
}

/// Operands: result, value.
pub(super) fn to_integral(w: &mut Word<'_>) -> Option<()> {
    let format = floats(w).first().copied().unwrap_or(&Format::F32);
    let (value, rounding) = (source(w, 1, format)?, whole_rounding(w));
    let result = soft::to_integral(w.t, format, rounding, value);
    let result = if *format == Format::F32 { flushed(w, format, result) } else { result };
    define(w, result)
}

/// Operands: result, an integer of 32 bits that is brought into the range of a narrower type.
pub(super) fn between_integers(w: &mut Word<'_>) -> Option<()> {
    let [(width, signed), (32, true)] = wholes(w)[..] else { return None };
    let value = w.integer(1, 32)?;
    let wide = w.t.sign_extend(value, 34);
    let result = saturate(w.t, wide, width, signed);
    let result = w.t.extend(result, 32, signed);
    w.define(0, result)
}

/// Two integers of 32 bits in the range of a narrower type, the first one above, below as much of a third word as there
/// is room for. Operands: result, two words, the third.
pub(super) fn pack_integers(w: &mut Word<'_>) -> Option<()> {
    let [(width, signed), (32, true)] = wholes(w)[..] else { return None };
    w.is("SAT").then_some(())?;
    let [high, low] = [w.integer(1, 32)?, w.integer(2, 32)?].map(|value| {
        let wide = w.t.sign_extend(value, 34);
        saturate(w.t, wide, width, signed)
    });
    let packed = w.t.concat(high, low);
    if width == 16 {
        return w.define(0, packed);
    }
    let room = 32 - 2 * width;
    let from = match w.suffix(3)? {
        "" | "24" | "28" => 0,
        "H1" => 16,
        _ => return None,
    };
    let others = w.raw(3, 32)?;
    let above = w.t.extract(others, from, room);
    let result = w.t.concat(above, packed);
    w.define(0, result)
}

/// Whether an operand is zero in every state.
fn is_zero(w: &mut Word<'_>, at: usize) -> Option<bool> {
    let value = w.raw(at, 32)?;
    Some(w.t.value(value) == Some(0))
}

/// A float as a byte; nothing beside it is known. Operands: result, upper value, lower value, what is above.
pub(super) fn to_bytes(w: &mut Word<'_>) -> Option<()> {
    let rounding = whole_rounding(w);
    if !is_zero(w, 1)? || !is_zero(w, 3)? || !w.is("U8") {
        return None;
    }
    let value = w.float(2, &Format::F32)?;
    let result = integer_of(w.t, &Format::F32, rounding, value, Integer { width: 8, signed: false, nan: 0 });
    define(w, result)
}

/// Conversions of which the result or the source is packed. What is put beside a narrow result is zero; nothing else is
/// known.
pub(super) fn pack(w: &mut Word<'_>) -> Option<()> {
    let how = Narrowing { rounding: rounding(w), rectifies: w.is("RELU"), is_finite: w.is("SATFINITE") };
    let formats = floats(w);
    let (to, from) = match formats[..] {
        // Before `sm_89` the source has 32 bits, and the result is in F16 if nothing is said.
        [] => (&Format::F16, &Format::F32),
        [to] => (to, &Format::F32),
        [to, from] => (to, from),
        _ => return None,
    };
    let is_small = to.width() == 8;
    // PTX has only narrow floats that stay finite, rounded to the nearest.
    if is_small && (!how.is_finite || how.rounding != Rounding::Rn) {
        return None;
    }
    let convert = |w: &mut Word<'_>, value: Term| narrow(w.t, from, to, how, value);
    let result = match w {
        _ if w.is("PACK_AB") && to.width() == 16 || w.is("PACK_AB_MERGE_C") && is_small => {
            if is_small && !is_zero(w, 3)? {
                return None;
            }
            let values = [w.float(1, &Format::F32)?, w.float(2, &Format::F32)?];
            let [high, low] = values.map(|value| convert(w, value));
            w.t.concat(high, low)
        }
        _ if w.is("MERGE_C") && to.width() == 16 && is_zero(w, 2)? => {
            let value = w.float(1, &Format::F32)?;
            convert(w, value)
        }
        _ if w.is("PACK_B") && *to == Format::TF32 => {
            let value = w.float(1, &Format::F32)?;
            let rounded = convert(w, value);
            in_word_of_f32(w.t, rounded)
        }
        _ if w.is("UNPACK_B") && from.width() == 8 => {
            let pair = part(w, 1, 16)?;
            let [low, high] = [0, 8].map(|low| {
                let byte = w.t.extract(pair, low, 8);
                convert(w, byte)
            });
            w.t.concat(high, low)
        }
        _ if w.is("UNPACK_B_MERGE_C") && is_small && from.width() == 16 && is_zero(w, 2)? => {
            let pair = w.raw(1, 32)?;
            w.suffix(1)?.is_empty().then_some(())?;
            let [low, high] = [0, 16].map(|low| {
                let half = w.t.extract(pair, low, 16);
                convert(w, half)
            });
            w.t.concat(high, low)
        }
        _ => return None,
    };
    define(w, result)
}
