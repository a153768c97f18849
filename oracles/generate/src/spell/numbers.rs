//! Numbers: integers in every base, with and without `U`, and as constant expressions; floats as bits and in decimal.

use super::super::Entropy;
use super::constant::{self, Value};
use super::line::replaced;

/// A text in which some of the numbers are written otherwise. Expressions stand where PTX allows them: not between the
/// parentheses of a call.
pub(super) fn numerals(text: &str, expressions: bool, entropy: &mut Entropy<'_>) -> String {
    replaced(text, |word| {
        if !word.starts_with(|letter: char| letter.is_ascii_digit()) || !entropy.percent(60) {
            return None;
        }
        match word.get(..2) {
            Some("0f") => single(u32::from_str_radix(&word[2..], 16).ok()?, entropy),
            Some("0d") => double(u64::from_str_radix(&word[2..], 16).ok()?, entropy),
            _ => {
                let value = value(word)?;
                Some(if expressions && entropy.percent(40) {
                    expression(value, entropy)
                } else {
                    integer(value, entropy)
                })
            }
        }
    })
}

/// The value of an integer that the printer wrote.
pub(super) fn value(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// An integer in some base.
pub(super) fn integer(value: u64, entropy: &mut Entropy<'_>) -> String {
    let digits = match entropy.below(7) {
        0 => format!("{value}"),
        1 => format!("{value:#x}"),
        2 => format!("0X{value:X}"),
        3 => format!("0x{value:016X}"),
        4 => format!("0{value:o}"),
        5 => format!("0B{value:b}"),
        _ => format!("{value:#b}"),
    };
    digits + if entropy.percent(30) { "U" } else { "" }
}

/// How a number may be written, whatever it is; `None` where it cannot be.
type Form = fn(u64) -> Option<String>;

/// The ways to write an integer, and to write a float, each with its name.
pub(super) const FORMS: &[(&str, [Form; 2])] = &[
    ("decimal-number", [|value| Some(format!("{value}")), |_| None]),
    ("hexadecimal-number", [|value| Some(format!("{value:#x}")), |_| None]),
    ("hexadecimal-number", [|value| Some(format!("0X{value:X}")), |_| None]),
    ("hexadecimal-number", [|value| Some(format!("0x{value:016X}")), |_| None]),
    ("octal-number", [|value| Some(format!("0{value:o}")), |_| None]),
    ("binary-number", [|value| Some(format!("{value:#b}")), |_| None]),
    ("binary-number", [|value| Some(format!("0B{value:b}")), |_| None]),
    ("unsigned-number", [|value| Some(format!("{value}U")), |_| None]),
    ("hexadecimal-float", [|_| None, |bits| Some(format!("0F{bits:08x}"))]),
    ("decimal-float", [|_| None, |bits| decimal(f32::from_bits(bits as u32).into())]),
    (
        "double-for-single",
        [
            |_| None,
            |bits| {
                let value = f32::from_bits(bits as u32);
                (!value.is_nan()).then(|| format!("0d{:016X}", f64::from(value).to_bits()))
            },
        ],
    ),
];

/// A number that the printer wrote in another form: an integer, or a single float.
pub(super) fn other_form(word: &str, [integer, float]: [Form; 2]) -> Option<String> {
    if !word.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    match word.get(..2) {
        Some("0f") => float(u32::from_str_radix(&word[2..], 16).ok()?.into()),
        Some("0d") => None,
        _ => integer(value(word)?),
    }
}

/// Operators of two operands.
const OPERATORS: [&str; 18] =
    ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"];

/// A constant expression in parentheses that denotes a number.
pub(super) fn expression(number: u64, entropy: &mut Entropy<'_>) -> String {
    if number == 32 && entropy.percent(50) {
        return "WARP_SZ".to_owned();
    }
    let depth = 1 + entropy.weighted(&[6, 3, 1]);
    let inner = tree(depth, entropy);
    match constant::value(&inner).and_then(Value::bits) {
        Some(bits) => settled(&inner, bits, number, entropy),
        // It divides by zero.
        None => format!("(~{:#x})", !number),
    }
}

/// Makes an expression that denotes some bits one that denotes others.
fn settled(inner: &str, bits: u64, number: u64, entropy: &mut Entropy<'_>) -> String {
    let other = integer(1 + entropy.bits() % 1000, entropy);
    let wanted = integer(number, entropy);
    match entropy.below(7) {
        0 => format!("(({inner}) + {})", integer(number.wrapping_sub(bits), entropy)),
        1 => format!("(({inner}) - {})", integer(bits.wrapping_sub(number), entropy)),
        2 => format!("({} + ({inner}))", number.wrapping_sub(bits) as i64),
        3 => format!("(({inner}) == {} ? {wanted} : {other})", integer(bits, entropy)),
        4 => format!("(({inner}) != {} ? {other} : {wanted})", bits as i64),
        5 => format!("(~(({inner}) ^ {}))", integer(!(bits ^ number), entropy)),
        _ => format!("(({inner}) ^ {})", integer(bits ^ number, entropy)),
    }
}

/// An expression over negative, wide and small operands, signed and not, mostly without parentheses.
fn tree(depth: usize, entropy: &mut Entropy<'_>) -> String {
    if depth == 0 {
        return leaf(entropy);
    }
    let operand = |entropy: &mut Entropy<'_>| {
        let text = tree(depth - 1, entropy);
        if entropy.percent(30) { format!("({text})") } else { text }
    };
    match entropy.below(12) {
        0 => format!("{}({})", entropy.choose(&["-", "!", "~", "+"]), operand(entropy)),
        1 => format!("({}){}", entropy.choose(&[".s64", ".u64"]), operand(entropy)),
        2 => format!("({}) ? ({}) : ({})", operand(entropy), operand(entropy), operand(entropy)),
        // What a shift by more than a word's bits makes is not said of all readers.
        3 | 4 => format!("({}) {} {}", operand(entropy), entropy.choose(&["<<", ">>"]), entropy.below(64)),
        _ => format!("{} {} {}", operand(entropy), entropy.choose(&OPERATORS), operand(entropy)),
    }
}

/// A number, often negative or of more than 32 bits.
fn leaf(entropy: &mut Entropy<'_>) -> String {
    let small = 1 + entropy.bits() % 70;
    match entropy.below(8) {
        0 => "WARP_SZ".to_owned(),
        1 | 2 => format!("-{small}"),
        3 => format!("-{}", integer(entropy.bits() >> (1 + entropy.below(40)), entropy)),
        4 => integer(entropy.bits(), entropy),
        5 => integer(1u64 << (31 + entropy.below(33)), entropy),
        6 => entropy.choose(&["0", "1", "-1", "0xFFFFFFFFU", "0x7FFFFFFFFFFFFFFF"]).to_owned(),
        _ => integer(small, entropy),
    }
}

/// Expressions of one operator each that a reader may get wrong, each with the name of what it shows.
const SINGLE: [(&str, &str); 12] = [
    ("constant-right-shift", "-77 >> 3"),
    ("constant-left-shift", "-77 << 3"),
    ("constant-remainder", "-77 % 10"),
    ("constant-division", "-77 / 10"),
    ("constant-unsigned-division", "-77 / 10U"),
    ("constant-product", "-77 * 0x100000001"),
    ("constant-comparison", "-1 < 1"),
    ("constant-unsigned-comparison", "-1 < 1U"),
    ("constant-complement", "~77"),
    ("constant-negation", "!77"),
    ("constant-difference", "7 - 5 - 1"),
    ("constant-conditional", "-1 ? 7 : 9"),
];

/// Their names.
pub(super) fn single_operators() -> impl Iterator<Item = &'static str> {
    SINGLE.iter().map(|(rule, _)| *rule)
}

/// A number beside the expression of a name.
pub(super) fn with_single_operator(rule: &str, number: u64) -> Option<String> {
    let (_, text) = SINGLE.iter().find(|(name, _)| *name == rule)?;
    let bits = constant::value(text)?.bits()?;
    Some(format!("(({text}) ^ {:#x})", bits ^ number))
}

/// The value of a word that the printer wrote as an integer.
pub(super) fn integer_value(word: &str) -> Option<u64> {
    let is_integer = word.starts_with(|letter: char| letter.is_ascii_digit())
        && !["0f", "0d"].iter().any(|start| word.starts_with(start));
    value(word).filter(|_| is_integer)
}

fn single(bits: u32, entropy: &mut Entropy<'_>) -> Option<String> {
    let value = f32::from_bits(bits);
    Some(match entropy.below(4) {
        0 => format!("0F{bits:08x}"),
        1 if !value.is_nan() => format!("0d{:016X}", f64::from(value).to_bits()),
        2 | 3 => decimal(value.into())?,
        _ => format!("0f{bits:08x}"),
    })
}

fn double(bits: u64, entropy: &mut Entropy<'_>) -> Option<String> {
    Some(match entropy.below(3) {
        0 => format!("0D{bits:016x}"),
        1 => decimal(f64::from_bits(bits))?,
        _ => format!("0d{bits:016x}"),
    })
}

/// The shortest decimal number that is exactly this one. A negative zero has none.
fn decimal(value: f64) -> Option<String> {
    if !value.is_finite() || value == 0.0 && value.is_sign_negative() {
        return None;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e')?;
    let point = if digits.contains('.') { "" } else { ".0" };
    Some(format!("{digits}{point}e{exponent}"))
}
