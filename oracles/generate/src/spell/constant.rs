//! What constant expressions denote (PTX ISA, "Constants" and "Constant Expressions"), from their text alone.
//!
//! This is a definition and no reader: an expression is cut at the operators that bind least, and each part is cut
//! again. Integers are numbers without bounds of which 64 bits are kept, signed or not; with one unsigned operand both
//! are. Where the manual is silent or ptxas 13.0 differs from it, it is as ptxas has it: a remainder divides unsigned
//! numbers and is one, shifts count modulo 64, `&`, `|` and `^` of signed numbers are signed, and a conditional
//! expression is the operand that is chosen, as it is. `cargo test -p oriole --test it constants::` asks ptxas.

use std::fmt;

/// What a constant expression denotes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// `.s64`
    Signed(i64),
    /// `.u64`
    Unsigned(u64),
    /// `.f64`
    Double(f64),
    /// The bits of an `.f32`, with which nothing is computed.
    Single(u32),
}

impl Value {
    /// The bits of an integer.
    pub fn bits(self) -> Option<u64> {
        match self {
            Value::Signed(value) => Some(value as u64),
            Value::Unsigned(value) => Some(value),
            Value::Double(_) | Value::Single(_) => None,
        }
    }

    /// An integer as a number.
    fn number(self) -> Option<i128> {
        match self {
            Value::Signed(value) => Some(value.into()),
            Value::Unsigned(value) => Some(value.into()),
            Value::Double(_) | Value::Single(_) => None,
        }
    }

    /// The low 64 bits of a number.
    fn of(number: i128, is_signed: bool) -> Value {
        if is_signed { Value::Signed(number as i64) } else { Value::Unsigned(number as u64) }
    }

    fn truth(is_true: bool) -> Option<Value> {
        Some(Value::Signed(is_true.into()))
    }

    fn is_signed(self) -> bool {
        matches!(self, Value::Signed(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Signed(value) => write!(out, "{value}"),
            Value::Unsigned(value) => write!(out, "{value}U"),
            Value::Double(value) => write!(out, "{value:e}"),
            Value::Single(bits) => write!(out, "0f{bits:08X}"),
        }
    }
}

/// What an expression denotes; `None` where it is none, or divides by zero.
pub fn value(text: &str) -> Option<Value> {
    whole(&tokens(text)?)
}

/// Operators of two operands, those that bind least first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Everything else that is no word. Longer ones come first.
const SIGNS: [&str; 24] = [
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+", "-", "*", "/", "%", "!", "~", "(",
    ")", "?", ":",
];

/// Words and signs; comments and white space fall away.
fn tokens(text: &str) -> Option<Vec<&str>> {
    let (mut rest, mut tokens) = (text.trim_start(), Vec::new());
    while !rest.is_empty() {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind).trim_start();
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1.trim_start();
            continue;
        }
        let length = match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => sign.len(),
            None => word_length(rest),
        };
        let (token, behind) = rest.split_at_checked(length).filter(|(token, _)| !token.is_empty())?;
        tokens.push(token);
        rest = behind.trim_start();
    }
    Some(tokens)
}

/// How many bytes a word has: a number, a type with its dot, or `WARP_SZ`. The sign of an exponent belongs to it.
fn word_length(text: &str) -> usize {
    let is_hexadecimal = text.starts_with(['0']) && text[1..].starts_with(['x', 'X', 'f', 'F', 'd', 'D']);
    let mut last = ' ';
    let belongs = |letter: char| {
        let is_exponent = matches!(letter, '+' | '-') && matches!(last, 'e' | 'E') && !is_hexadecimal;
        last = letter;
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.') || is_exponent
    };
    let mut belongs = belongs;
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

/// The places of tokens that no parenthesis encloses.
fn outside<'a, 't>(tokens: &'a [&'t str]) -> impl Iterator<Item = (usize, &'t str)> + 'a {
    let mut depth = 0usize;
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        match *token {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth == 0 => return Some((at, *token)),
            _ => {}
        }
        None
    })
}

/// With `?:`, which binds least and groups to the right.
fn whole(tokens: &[&str]) -> Option<Value> {
    let Some((question, _)) = outside(tokens).find(|(_, token)| *token == "?") else { return binary(tokens, 0) };
    let mut open = 0usize;
    let (colon, _) = outside(tokens).filter(|(at, _)| *at > question).find(|(_, token)| {
        match *token {
            "?" => open += 1,
            ":" if open == 0 => return true,
            ":" => open -= 1,
            _ => {}
        }
        false
    })?;
    let condition = binary(&tokens[..question], 0)?.bits()?;
    let (yes, no) = (whole(&tokens[question + 1..colon])?, whole(&tokens[colon + 1..])?);
    Some(if condition != 0 { yes } else { no })
}

/// Operators of a level and all that bind more, from the left.
fn binary(tokens: &[&str], level: usize) -> Option<Value> {
    let Some(operators) = LEVELS.get(level) else { return unary(tokens) };
    let (mut value, mut operator, mut start): (Option<Value>, &str, usize) = (None, "", 0);
    let cuts = outside(tokens).filter(|(at, token)| operators.contains(token) && is_behind_operand(tokens, *at));
    for (at, token) in cuts.chain([(tokens.len(), "")]) {
        let part = binary(&tokens[start..at], level + 1)?;
        value = Some(match value {
            Some(left) => computed(left, operator, part)?,
            None => part,
        });
        (operator, start) = (token, at + 1);
    }
    value
}

/// Whether what precedes a place is an operand, so that a sign there has two.
fn is_behind_operand(tokens: &[&str], at: usize) -> bool {
    let is_cast = |end: usize| end >= 2 && tokens[end - 1].starts_with('.') && tokens[end - 2] == "(";
    match at.checked_sub(1).map(|before| (before, tokens[before])) {
        Some((before, ")")) => !is_cast(before),
        Some((_, token)) => !SIGNS.contains(&token),
        None => false,
    }
}

/// Signs before an operand, casts, parentheses, and literals.
fn unary(tokens: &[&str]) -> Option<Value> {
    // The signs apply from the operand outward.
    let is_sign = |token: &&&str| matches!(**token, "+" | "-" | "!" | "~");
    let signs = tokens.iter().take_while(is_sign).count();
    let operand = match &tokens[signs..] {
        ["(", ".s64", ")", rest @ ..] => Value::of(unary(rest)?.number()?, true),
        ["(", ".u64", ")", rest @ ..] => Value::of(unary(rest)?.number()?, false),
        ["(", inside @ .., ")"] => whole(inside)?,
        [word] => literal(word)?,
        _ => return None,
    };
    tokens[..signs].iter().rev().try_fold(operand, |value, sign| {
        Some(match (*sign, value) {
            ("+", Value::Single(_)) | ("-", Value::Single(_)) => return None,
            ("+", value) => value,
            ("-", Value::Double(value)) => Value::Double(-value),
            ("-", value) => Value::of(-value.number()?, value.is_signed()),
            ("!", value) => Value::Signed((value.bits()? == 0).into()),
            (_, value) => Value::Unsigned(!value.bits()?),
        })
    })
}

fn literal(word: &str) -> Option<Value> {
    let hexadecimal =
        |digits: &str, count: usize| (digits.len() == count).then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    match word.get(..2) {
        Some("0f" | "0F") => return hexadecimal(&word[2..], 8).map(|bits| Value::Single(bits as u32)),
        Some("0d" | "0D") => return hexadecimal(&word[2..], 16).map(|bits| Value::Double(f64::from_bits(bits))),
        _ if word == "WARP_SZ" => return Some(Value::Signed(32)),
        _ => {}
    }
    let (digits, is_unsigned) = word.strip_suffix('U').map_or((word, false), |digits| (digits, true));
    let radix = match digits.get(..2) {
        Some("0x" | "0X") => Some((&digits[2..], 16)),
        Some("0b" | "0B") => Some((&digits[2..], 2)),
        _ if digits.len() > 1 && digits.starts_with('0') => Some((&digits[1..], 8)),
        _ => Some((digits, 10)),
    };
    let is_real = digits.contains('.') || radix.is_some_and(|(_, radix)| radix != 16) && digits.contains(['e', 'E']);
    if is_real {
        return digits.parse().ok().filter(|_| !is_unsigned).map(Value::Double);
    }
    let number = radix.and_then(|(digits, radix)| u64::from_str_radix(digits, radix).ok())?;
    Some(Value::of(number.into(), !is_unsigned && number >> 63 == 0))
}

/// An operator with two operands.
fn computed(left: Value, operator: &str, right: Value) -> Option<Value> {
    if let (Value::Double(a), Value::Double(b)) = (left, right) {
        return computed_doubles(a, operator, b);
    }
    let is_signed = left.is_signed() && right.is_signed();
    let [a, b] = match is_signed {
        true => [left.number()?, right.number()?],
        false => [left.bits()?.into(), right.bits()?.into()],
    };
    let is_division = matches!(operator, "/" | "%");
    if is_division && b == 0 {
        return None;
    }
    let number = |number: i128| Some(Value::of(number, is_signed));
    let count = right.bits()? % 64;
    match operator {
        "+" => number(a + b),
        "-" => number(a - b),
        "*" => number(a.wrapping_mul(b)),
        "/" => number(a / b),
        "%" => Some(Value::Unsigned(left.bits()? % right.bits()?)),
        "<<" => Some(Value::of(left.number()? << count, left.is_signed())),
        ">>" => Some(Value::of(left.number()? >> count, left.is_signed())),
        "&" => number(a & b),
        "|" => number(a | b),
        "^" => number(a ^ b),
        "&&" => Value::truth(a != 0 && b != 0),
        "||" => Value::truth(a != 0 || b != 0),
        _ => Value::truth(holds(operator, a.partial_cmp(&b))?),
    }
}

fn computed_doubles(a: f64, operator: &str, b: f64) -> Option<Value> {
    match operator {
        "+" => Some(Value::Double(a + b)),
        "-" => Some(Value::Double(a - b)),
        "*" => Some(Value::Double(a * b)),
        "/" => Some(Value::Double(a / b)),
        _ => Value::truth(holds(operator, a.partial_cmp(&b))?),
    }
}

/// Whether a comparison holds for operands in an order; those that have none are unequal, and nothing else.
fn holds(operator: &str, order: Option<std::cmp::Ordering>) -> Option<bool> {
    Some(match operator {
        "==" => order.is_some_and(std::cmp::Ordering::is_eq),
        "!=" => order.is_none_or(std::cmp::Ordering::is_ne),
        "<" => order.is_some_and(std::cmp::Ordering::is_lt),
        "<=" => order.is_some_and(std::cmp::Ordering::is_le),
        ">" => order.is_some_and(std::cmp::Ordering::is_gt),
        ">=" => order.is_some_and(std::cmp::Ordering::is_ge),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples say what the manual's table of conversions says, and where ptxas goes its own way.
    #[test]
    fn expressions_have_the_values_of_the_manual() {
        use Value::{Double, Signed, Unsigned};
        for (text, wanted) in [
            ("-1 >> 3", Signed(-1)),
            ("-1U >> 3", Unsigned(u64::MAX >> 3)),
            ("(.u64)-8 >> 1", Unsigned((u64::MAX - 7) >> 1)),
            ("-8 >> 1U", Signed(-4)),
            ("1 << 65", Signed(2)),
            ("-7 / 2", Signed(-3)),
            ("-7 / 2U", Unsigned(9_223_372_036_854_775_804)),
            ("-7 % 4", Unsigned(1)),
            ("-1 < 1", Signed(1)),
            ("-1 < 1U", Signed(0)),
            ("~0", Unsigned(u64::MAX)),
            ("!5 + !0", Signed(1)),
            ("-1 & 3", Signed(3)),
            ("-1 ^ 1U", Unsigned(u64::MAX - 1)),
            ("0 ? 1U : -2", Signed(-2)),
            ("1 ? 2 : 0 ? 3 : 4", Signed(2)),
            ("0 ? 2 : 0 ? 3 : 4", Signed(4)),
            ("1 - 2 - 3", Signed(-4)),
            ("2 + 3 * 4 == 14 && 1", Signed(1)),
            ("1 | 2 ^ 3 & 1", Signed(3)),
            ("- -3", Signed(3)),
            ("-(.s64)0xFFFFFFFFFFFFFFFF", Signed(1)),
            ("9223372036854775808", Unsigned(1 << 63)),
            ("-9223372036854775807 - 1", Signed(i64::MIN)),
            ("0x7fffffffffffffff * 2", Signed(-2)),
            ("017 + 0b11 + 0x1F // three bases", Signed(15 + 3 + 31)),
            ("WARP_SZ /* lanes */ - 1", Signed(31)),
            ("1.5 + 2.0e-1", Double(1.7)),
            ("1.0 < 2.0", Signed(1)),
            ("-0d3FF0000000000000", Double(-1.0)),
        ] {
            assert_eq!(value(text), Some(wanted), "{text}");
        }
        for text in
            ["1 / 0", "1 %", "(1", "1 + 1.0", "0f3F800000 + 1", "- 0f3F800000", "1 ? 2", "a", "1.0 & 2.0", "0x", ""]
        {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
