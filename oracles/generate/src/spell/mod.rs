//! Other spellings of printed PTX: the same program in ways that our own printer never writes, so that reading is
//! tested against more than one way of printing.
//!
//! [`respelled`] takes the text that the printer made, whose lines are known: one statement a line, functions between
//! braces at the margin. It changes some of them ([`numbers`], [`declarations`], [`statements`]). What becomes of a
//! line depends on the line alone, so that the reducer may take others away.

mod declarations;
mod line;
mod numbers;
mod statements;

use self::declarations::Sizes;
use self::line::Line;
use self::statements::Uses;
use super::Entropy;

/// The text in another spelling.
pub fn respelled(text: &str) -> String {
    let sizes = Sizes::of(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(2 * text.len());
    let (mut at, mut body, mut uses) = (0, 0..0, Uses::default());
    while at < lines.len() {
        if lines[at] == "{" {
            let end = lines[at..].iter().position(|line| *line == "}").map_or(lines.len(), |length| at + length);
            body = at..end;
            uses = Uses::of(&lines[body.clone()]);
        }
        let entropy = &mut entropy_of(lines[at]);
        let is_argument = body.contains(&at) && lines[at].starts_with("\tst.param");
        let call = is_argument.then(|| statements::call(&lines[at..body.end], &uses, entropy)).flatten();
        match call {
            Some((written, taken)) => {
                out.push_str(&written);
                at += taken;
            }
            None => {
                out.push_str(&one(lines[at], body.contains(&at), &sizes, entropy));
                at += 1;
            }
        }
        out.push_str(end_of_line(entropy));
    }
    out
}

fn entropy_of(line: &str) -> Entropy<'static> {
    // FNV-1a.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    Entropy::from_seed(line.bytes().fold(0xCBF2_9CE4_8422_2325, hash))
}

/// Percentage of the lines of bodies that are looked at. What is written at length takes long to read and to run.
const CHANGED: u32 = 40;

/// A line by itself.
fn one(line: &str, in_body: bool, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> String {
    if !in_body {
        return sizes.variable(line, entropy);
    }
    if !entropy.percent(CHANGED) {
        return line.to_owned();
    }
    match Line::of(line) {
        Some(parsed) => statements::statement(parsed, sizes, entropy),
        None => declarations::registers(line, entropy),
    }
}

/// White space is free in PTX, and so are comments.
fn end_of_line(entropy: &mut Entropy<'_>) -> &'static str {
    match entropy.weighted(&[20, 1, 1, 1]) {
        1 => " // } ; {\n",
        2 => " /* , ;\n } */ ",
        3 => "\n\n\t",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests;
