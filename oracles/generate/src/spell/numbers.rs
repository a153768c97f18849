//! Numbers: integers in every base, with and without `U`, and as constant expressions; floats as bits and in decimal.

use super::super::Entropy;
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

/// A constant expression in parentheses. Numbers of 63 bits are left whole, so that nothing overflows.
fn expression(value: u64, entropy: &mut Entropy<'_>) -> String {
    let k = 1 + entropy.bits() % 1000;
    if value >> 47 != 0 {
        return match entropy.below(4) {
            0 => format!("(~{:#x})", !value),
            1 => format!("({:#x} ^ {k})", value ^ k),
            2 => format!("({k} >= {} ? {k} : {value:#x})", k + 1),
            _ => format!("((.u64){value:#x})"),
        };
    }
    if value == 32 && entropy.percent(50) {
        return "WARP_SZ".to_owned();
    }
    let (a, b) = (integer(value, entropy), integer(k, entropy));
    match entropy.below(15) {
        0 => format!("({} + {b})", value.wrapping_sub(k) as i64),
        1 => format!("({} - {b})", value + k),
        2 => format!("({a} * {k} / {k})"),
        3 => format!("({} ^ {b})", value ^ k),
        4 => format!("({a} << 9 >> 9)"),
        5 => format!("({a} / {b} * {k} + {a} % {b})"),
        6 => format!("({b} < {} ? {a} : {k})", k + 1),
        7 => format!("(!{k} ? {b} : {a})"),
        8 => format!("(~{})", !value),
        9 => format!("(-(-{value}))"),
        10 => format!("((.s64){a})"),
        11 => format!("({a} & {value} | {value})"),
        12 => format!("(({k} != {b} || 7 > 5) * {a})"),
        13 => format!("((.u64){a})"),
        _ => format!("({k} && 1 == 1 ? {a} : 0)"),
    }
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
