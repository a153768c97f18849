//! Other spellings of printed PTX: the same program in ways that our own printer never writes, so that reading is
//! tested against more than one way of printing.
//!
//! [`Respelling::of`] takes the text that the printer made, whose lines are known: one statement a line, functions
//! between braces at the margin. It changes some of them ([`numbers`], [`declarations`], [`statements`]). What becomes
//! of a line depends on the line alone, so that the reducer may take others away.
//!
//! Changes have numbers and names, and each can be made without the others. So whoever finds that a text is misread can
//! ask which change it takes, and whether a simpler one shows the same ([`Respelling::simpler`]).

pub mod constant;
mod declarations;
mod line;
mod numbers;
mod simpler;
mod statements;

use self::declarations::Sizes;
use self::line::Line;
use self::statements::Uses;
use super::Entropy;

/// A printed text, and how it is spelled otherwise.
#[derive(Clone, Debug)]
pub struct Respelling<'t>(Vec<Unit<'t>>);

/// Lines that are spelled together: one, or a call with what passes its arguments and takes its result.
#[derive(Clone, Debug)]
struct Unit<'t> {
    printed: &'t str,
    /// What is in their place, where that is something else.
    other: Option<Spelled>,
}

/// A spelling, and what that way of writing is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spelled {
    /// `negative-offset`, `octal-number`.
    pub rule: &'static str,
    /// The lines, with their ends.
    pub text: String,
}

impl Spelled {
    fn new(rule: &'static str, text: String) -> Spelled {
        Spelled { rule, text }
    }
}

/// The printed text without what other spellings have too, one such thing at a time.
pub fn avoiding(text: &str) -> Vec<Spelled> {
    simpler::avoiding(text)
}

/// A constant expression that denotes a number, over operands of all kinds.
pub fn constant_expression(number: u64, entropy: &mut Entropy<'_>) -> String {
    numbers::expression(number, entropy)
}

/// The text in another spelling.
pub fn respelled(text: &str) -> String {
    Respelling::of(text).text(|_| true)
}

impl<'t> Respelling<'t> {
    /// How a text that the printer made is spelled otherwise.
    pub fn of(text: &'t str) -> Respelling<'t> {
        let sizes = Sizes::of(text);
        let ends: Vec<&str> = text.split_inclusive('\n').collect();
        let lines: Vec<&str> = text.lines().collect();
        let mut units = Vec::with_capacity(lines.len());
        let (mut at, mut body, mut uses) = (0, 0..0, Uses::default());
        let mut place = 0;
        while at < lines.len() {
            if lines[at] == "{" {
                let end = lines[at..].iter().position(|line| *line == "}").map_or(lines.len(), |length| at + length);
                body = at..end;
                uses = Uses::of(&lines[body.clone()]);
            }
            let entropy = &mut entropy_of(lines[at]);
            let is_argument = body.contains(&at) && lines[at].starts_with("\tst.param");
            let call = is_argument.then(|| statements::call(&lines[at..body.end], &uses, entropy)).flatten();
            let (spelled, taken) = match call {
                Some((text, taken)) => (Spelled::new("call-with-registers", text), taken),
                None => (one(lines[at], body.contains(&at), &sizes, entropy), 1),
            };
            let bytes: usize = ends[at..at + taken].iter().map(|line| line.len()).sum();
            units.push(Unit::new(&text[place..place + bytes], spelled, end_of_line(entropy)));
            (at, place) = (at + taken, place + bytes);
        }
        Respelling(units)
    }

    /// How many changes there are.
    pub fn changes(&self) -> usize {
        self.0.iter().filter(|unit| unit.other.is_some()).count()
    }

    /// The text with some of the changes, which are asked for by their numbers.
    pub fn text(&self, made: impl Fn(usize) -> bool) -> String {
        let mut changes = 0..;
        let part = |unit: &'_ Unit<'t>| match &unit.other {
            Some(other) if changes.next().is_some_and(&made) => other.text.clone(),
            _ => unit.printed.to_owned(),
        };
        self.0.iter().map(part).collect()
    }

    /// The text with one line spelled otherwise, in place of the change with this number.
    pub fn with(&self, change: usize, spelled: &Spelled) -> String {
        let at = self.place(change);
        let part = |(place, unit): (usize, &Unit<'t>)| {
            if place == at { spelled.text.clone() } else { unit.printed.to_owned() }
        };
        self.0.iter().enumerate().map(part).collect()
    }

    /// The change with a number.
    pub fn change(&self, change: usize) -> &Spelled {
        self.0[self.place(change)].other.as_ref().expect("changes are counted where there are some")
    }

    /// What is in the printed text where a change is.
    pub fn printed(&self, change: usize) -> &'t str {
        self.0[self.place(change)].printed
    }

    /// Simpler ways of writing what a change writes, the simplest first.
    pub fn simpler(&self, change: usize) -> Vec<Spelled> {
        simpler::ways(self.printed(change), &self.change(change).text)
    }

    fn place(&self, change: usize) -> usize {
        let changed = self.0.iter().enumerate().filter(|(_, unit)| unit.other.is_some());
        changed.map(|(place, _)| place).nth(change).expect("there are so many changes")
    }
}

impl<'t> Unit<'t> {
    fn new(printed: &'t str, spelled: Spelled, end: &str) -> Unit<'t> {
        let rule = if spelled.text == printed.trim_end_matches('\n') { simpler::WHITE_SPACE } else { spelled.rule };
        let text = spelled.text + end;
        Unit { printed, other: (text != printed).then_some(Spelled { rule, text }) }
    }
}

fn entropy_of(line: &str) -> Entropy<'static> {
    // FNV-1a.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    Entropy::from_seed(line.bytes().fold(0xCBF2_9CE4_8422_2325, hash))
}

/// Percentage of the lines of bodies that are looked at. What is written at length takes long to read and to run.
const CHANGED: u32 = 40;

/// A line by itself.
fn one(line: &str, in_body: bool, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Spelled {
    if !in_body {
        let addresses = declarations::addresses(line, entropy).map(|text| Spelled::new("address", text));
        return addresses.unwrap_or_else(|| Spelled::new("array", sizes.variable(line, entropy)));
    }
    if !entropy.percent(CHANGED) {
        return Spelled::new(simpler::WHITE_SPACE, line.to_owned());
    }
    match Line::of(line) {
        Some(parsed) => statements::statement(parsed, sizes, entropy),
        None => Spelled::new("register-list", declarations::registers(line, entropy)),
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
