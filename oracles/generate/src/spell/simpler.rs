//! Simpler ways of writing a line: of all that a spelling changes, one thing alone.
//!
//! A line in a scope with a declaration, a negative offset and an octal number may be misread for any of them. Each
//! thing alone has a name, so a fault of the reader has the same name whatever way of writing has shown it.

use super::Spelled;
use super::line::{Line, replaced, type_of};
use super::numbers::{FORMS, integer_value, other_form, single_operators, with_single_operator};

/// What a line is changed in that has only other white space and comments.
pub(super) const WHITE_SPACE: &str = "white-space";

/// Simpler ways than `other` to write what was printed, the simplest first.
pub(super) fn ways(printed: &str, other: &str) -> Vec<Spelled> {
    let plain = printed.trim_end_matches('\n');
    let mut ways = Vec::new();
    // Behind the last statement of the other way there is but white space and comments.
    let end = other.rfind([';', '}']).filter(|_| !other.contains("/*") && !other.contains("//"));
    if end.is_none() {
        let commented = other.find("/*").or(other.find("//")).map_or("", |at| &other[at..]);
        ways.push(Spelled::new(WHITE_SPACE, format!("{plain} {commented}")));
    }
    if let Some(line) = Line::of(plain) {
        let text = line.text();
        ways.push(Spelled::new("scope", format!("\t{{ {text} }}\n")));
        for (ty, name) in declarations(other) {
            let declared = format!(".reg .{ty} {name};");
            ways.push(Spelled::new("hiding-declaration", format!("\t{{ {declared} {text} }}\n")));
            if let Some(zero) = zero(ty, name) {
                ways.push(Spelled::new("hiding-register", format!("\t{{ {declared} {zero} {text} }}\n")));
            }
        }
    }
    for (rule, form) in FORMS {
        let text = replaced(plain, |word| other_form(word, *form));
        if text != plain {
            ways.push(Spelled::new(rule, text + "\n"));
        }
    }
    // Between the parentheses of a call, and in declarations, there are no expressions.
    let takes_expressions = Line::of(plain).is_some_and(|line| line.base() != "call");
    for rule in single_operators().filter(|_| takes_expressions) {
        let text = replaced(plain, |word| integer_value(word).and_then(|number| with_single_operator(rule, number)));
        if text != plain {
            ways.push(Spelled::new(rule, text + "\n"));
        }
    }
    ways
}

/// The printed text without what it has in common with other spellings, one such thing at a time: negative offsets,
/// negated guards, decimal numbers. Our printer writes them too, so that whoever misreads them misreads some texts as
/// they are printed.
pub(super) fn avoiding(text: &str) -> Vec<Spelled> {
    let with = |rule, positive: fn(&str) -> Option<String>| {
        let lines = text.split_inclusive('\n');
        let other: String = lines.map(|line| positive(line.trim_end()).unwrap_or_else(|| line.to_owned())).collect();
        (other != text).then(|| Spelled::new(rule, other))
    };
    let ways = [with("negative-offset", summed), with("negated-guard", unnegated), with("decimal-number", hexadecimal)];
    ways.into_iter().flatten().collect()
}

/// With all decimal numbers in base 16.
fn hexadecimal(line: &str) -> Option<String> {
    let text = replaced(&Line::of(line)?.text(), |word| word.parse().ok().map(|value: u64| format!("{value:#x}")));
    Some(format!("\t{text}\n"))
}

/// With the sum of address and negative offset in a register.
fn summed(line: &str) -> Option<String> {
    let mut parsed = Line::of(line)?;
    let (base, by, at) = parsed.operands.iter().enumerate().find_map(|(at, operand)| {
        let (base, by) = operand.strip_prefix('[')?.strip_suffix(']')?.split_once("+-")?;
        (type_of(base) == Some("b64")).then(|| (base.to_owned(), by.to_owned(), at))
    })?;
    parsed.operands[at] = "[%sum]".to_owned();
    Some(format!("\t{{ .reg .b64 %sum; sub.s64 %sum, {base}, {by}; {} }}\n", parsed.text()))
}

/// With the negated predicate in a register.
fn unnegated(line: &str) -> Option<String> {
    let mut parsed = Line::of(line)?;
    let predicate = parsed.predicate().filter(|(_, negated)| *negated)?.0.to_owned();
    parsed.guard = "@%not ".to_owned();
    Some(format!("\t{{ .reg .pred %not; not.pred %not, {predicate}; {} }}\n", parsed.text()))
}

/// The registers that a text declares, with their types; vectors left out.
fn declarations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(".reg .").skip(1).filter_map(|rest| {
        let (ty, name) = rest.split_once(';')?.0.split_once(' ')?;
        (!ty.contains('v') && name.starts_with('%') && !name.contains([',', '<', ' '])).then_some((ty, name))
    })
}

/// Sets a register to zero.
fn zero(ty: &str, name: &str) -> Option<String> {
    match ty {
        "pred" => Some(format!("setp.eq.u32 {name}, 0, 1;")),
        "f32" => Some(format!("mov.f32 {name}, 0f00000000;")),
        "b16" | "b32" | "s32" | "b64" => Some(format!("mov.{ty} {name}, 0;")),
        _ => None,
    }
}
