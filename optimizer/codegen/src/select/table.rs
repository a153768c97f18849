//! The table of selection: which instructions of the machine make an operation of the virtual level.
//!
//! A row of `rows/*.sel` is a pattern and what it becomes:
//!
//! ```text
//! class ftz: -= .ftz=.FTZ
//!
//! d = fmul{round}{ftz}{sat}.f32 a, b comm
//!     d = FMUL{ftz}{round}{sat} a, b
//! ```
//!
//! The mnemonic is that of the text form. A class in braces stands for one of its texts, and for what that is in the
//! lines of the row; `{u32|b32}` for one of several texts that the lines do not ask for. So a row makes a [`Pattern`]
//! for each combination. Behind the operands: `sm 90..99`, where not every SM has it; `comm`, where the first two
//! sources may change places; conditions (`b = 0`, `b imm`, `b < 32`, `b pow2`). Of the patterns of a mnemonic the
//! first whose conditions hold is taken.
//!
//! Operands of a line are those of the pattern (`a`, a word of one `a.1`, the upper half of a double `a^`), values
//! that the row makes itself (`t1` of a word, `t1:2` of two, `p1`), wired registers (`RZ`, `RZ2`, `PT`), numbers,
//! names (`'SR_TID.X'`), and numbers that follow from immediates (`=log2(b)`). Marks stand before: `-a`, `|a|`, `~a`.

use std::collections::HashMap;
use std::sync::LazyLock;

use oriole_ir::{MachineId, Modifiers, RegFile, RegInfo};
use smallvec::SmallVec;

/// The rows, in the order in which they are tried.
const TEXTS: [(&str, &str); 6] = [
    ("integer.sel", include_str!("rows/integer.sel")),
    ("logic.sel", include_str!("rows/logic.sel")),
    ("float.sel", include_str!("rows/float.sel")),
    ("convert.sel", include_str!("rows/convert.sel")),
    ("half.sel", include_str!("rows/half.sel")),
    ("threads.sel", include_str!("rows/threads.sel")),
];

/// An operand of a line.
#[derive(Clone, PartialEq, Debug)]
pub enum Slot {
    /// An operand of the pattern: its place, results first.
    Var(usize, Part, Modifiers),
    /// A value that the row makes, by its number.
    Temp(usize, Part, Modifiers),
    /// A wired register.
    Wired(RegFile, u8, Modifiers),
    /// A number.
    Number(u64),
    /// A number that follows from an immediate.
    Computed(Function, usize),
    /// A name.
    Name(&'static str),
}

/// Which part of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// A word.
    Word(u8),
    /// All of a double: as an immediate its upper word alone.
    Double,
}

/// How a number follows from an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// The place of its only bit.
    Log2,
    /// Its negation, in 32 bits.
    Negated,
    /// 32 less it.
    Rest,
    /// It less 32.
    Above,
    /// The low word of its negation in 64 bits.
    LowOfNegated,
    /// The high word of the same.
    HighOfNegated,
}

/// A condition on an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// An immediate.
    Immediate,
    /// This number.
    Equals(u64),
    /// An immediate below this number.
    Below(u64),
    /// An immediate from this number on.
    From(u64),
    /// An immediate with one bit.
    PowerOfTwo,
}

/// An instruction of the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its row and modifiers.
    pub id: MachineId,
    /// Its mnemonic.
    pub mnemonic: String,
    /// Its results.
    pub dsts: SmallVec<[Slot; 3]>,
    /// Its sources.
    pub srcs: SmallVec<[Slot; 6]>,
}

/// The instructions that one operation becomes.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    /// Where its row is: file and line.
    pub place: (&'static str, u32),
    /// The SMs, from the first to the last.
    pub sms: (u16, u16),
    /// How many results it has.
    pub results: usize,
    /// How many sources.
    pub sources: usize,
    /// Conditions on operands, by their places.
    pub conditions: Vec<(usize, Condition)>,
    /// Whether the first two sources may change places.
    pub commutes: bool,
    /// The registers that it makes.
    pub temps: Vec<RegInfo>,
    /// The instructions.
    pub lines: Vec<Line>,
}

/// All patterns, by mnemonics.
pub struct Patterns {
    by_mnemonic: HashMap<String, Vec<Pattern>>,
}

/// Why a table is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct TableError {
    file: &'static str,
    line: u32,
    what: String,
}

static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::read(&TEXTS).unwrap_or_else(|error| panic!("{error}")));

impl Patterns {
    /// The patterns of the tables.
    pub fn get() -> &'static Patterns {
        &PATTERNS
    }

    /// The patterns of an operation, in their order.
    pub fn of(&self, mnemonic: &str) -> &[Pattern] {
        self.by_mnemonic.get(mnemonic).map_or(&[], Vec::as_slice)
    }

    /// All mnemonics with their patterns.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Pattern)> {
        self.by_mnemonic.iter().flat_map(|(name, patterns)| patterns.iter().map(|pattern| (name.as_str(), pattern)))
    }

    fn read(texts: &[(&'static str, &'static str)]) -> Result<Patterns, TableError> {
        let mut by_mnemonic: HashMap<String, Vec<Pattern>> = HashMap::new();
        for (file, text) in texts {
            let mut reader = Reader { file, line: 0, classes: HashMap::new() };
            let mut rows: Vec<RowText> = Vec::new();
            for (number, line) in (1..).zip(text.lines()) {
                reader.line = number;
                let line = line.split('#').next().unwrap_or_default();
                if line.trim().is_empty() {
                    continue;
                }
                if let Some(class) = line.strip_prefix("class ") {
                    reader.class(class)?;
                } else if line.starts_with(' ') {
                    let Some((_, _, body)) = rows.last_mut() else { return Err(reader.wrong("a line without a row")) };
                    body.push((number, line.trim()));
                } else {
                    rows.push((number, line, Vec::new()));
                }
            }
            for (number, head, body) in rows {
                reader.line = number;
                for (mnemonic, pattern) in reader.row(head, &body)? {
                    by_mnemonic.entry(mnemonic).or_default().push(pattern);
                }
            }
        }
        Ok(Patterns { by_mnemonic })
    }
}

/// A row: the number of its line, its first line, the lines below it with their numbers.
type RowText = (u32, &'static str, Vec<(u32, &'static str)>);

/// The texts of a class, and what each is in the lines.
type Class = Vec<(&'static str, &'static str)>;

struct Reader {
    file: &'static str,
    line: u32,
    classes: HashMap<&'static str, Class>,
}

/// The choices of a combination, by the texts in braces.
type Chosen<'a> = Vec<(&'a str, &'static str)>;

impl Reader {
    fn wrong(&self, what: impl Into<String>) -> TableError {
        TableError { file: self.file, line: self.line, what: what.into() }
    }

    fn class(&mut self, text: &'static str) -> Result<(), TableError> {
        let (name, values) = text.split_once(':').ok_or_else(|| self.wrong("a class needs `:`"))?;
        let value = |pair: &'static str| {
            let (from, to) = pair.split_once('=')?;
            Some((if from == "-" { "" } else { from }, to))
        };
        let values: Option<Class> = values.split_whitespace().map(value).collect();
        let values = values.ok_or_else(|| self.wrong("the values of a class are pairs `from=to`"))?;
        self.classes.insert(name.trim(), values);
        Ok(())
    }

    /// The patterns of a row, with their mnemonics.
    fn row(&mut self, head: &'static str, body: &[(u32, &'static str)]) -> Result<Vec<(String, Pattern)>, TableError> {
        let head = Head::of(self, head)?;
        let mut made = Vec::new();
        for (mnemonic, chosen) in self.combinations(head.mnemonic)? {
            let mut pattern = Pattern {
                place: (self.file, self.line),
                sms: head.sms,
                results: head.results,
                sources: head.names.len() - head.results,
                conditions: head.conditions.clone(),
                commutes: head.commutes,
                temps: Vec::new(),
                lines: Vec::new(),
            };
            let mut temps = HashMap::new();
            let start = self.line;
            for (number, line) in body {
                self.line = *number;
                let line = self.line(line, &head.names, &chosen, &mut temps, &mut pattern)?;
                pattern.lines.push(line);
            }
            self.line = start;
            made.push((mnemonic, pattern));
        }
        Ok(made)
    }

    /// The texts that a mnemonic with classes stands for.
    fn combinations<'a>(&self, text: &'a str) -> Result<Vec<(String, Chosen<'a>)>, TableError> {
        let mut all: Vec<(String, Chosen<'a>)> = vec![(String::new(), Vec::new())];
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').ok_or_else(|| self.wrong("a brace is open"))?;
            rest = after;
            let inline: Class = name.split('|').map(|text| (leak(text), "")).collect();
            let class = if name.contains('|') { Some(&inline) } else { self.classes.get(name) };
            let class = class.ok_or_else(|| self.wrong(format!("no class `{name}`")))?;
            let joined = all.iter().flat_map(|(text, chosen)| {
                class.iter().map(move |(from, to)| {
                    let mut chosen = chosen.clone();
                    chosen.push((name, *to));
                    (format!("{text}{before}{from}"), chosen)
                })
            });
            all = joined.collect();
        }
        Ok(all.into_iter().map(|(text, chosen)| (text + rest, chosen)).collect())
    }

    fn line(
        &self,
        text: &str,
        names: &[&str],
        chosen: &Chosen<'_>,
        temps: &mut HashMap<String, usize>,
        pattern: &mut Pattern,
    ) -> Result<Line, TableError> {
        let text = chosen.iter().fold(text.to_owned(), |text, (name, to)| text.replace(&format!("{{{name}}}"), to));
        let (dsts, rest) = match text.split_once(" = ") {
            Some((dsts, rest)) => (dsts, rest),
            None => ("", text.as_str()),
        };
        let (mnemonic, srcs) = rest.split_once(' ').unwrap_or((rest, ""));
        let table = oriole_sass::ori::register();
        let id = table.identify(mnemonic).ok_or_else(|| self.wrong(format!("the machine has no `{mnemonic}`")))?;
        let srcs: Result<SmallVec<_>, _> =
            operands(srcs).map(|text| self.slot(text, names, temps, pattern, false)).collect();
        let srcs = srcs?;
        let dsts: Result<SmallVec<_>, _> =
            operands(dsts).map(|text| self.slot(text, names, temps, pattern, true)).collect();
        Ok(Line { id, mnemonic: mnemonic.to_owned(), dsts: dsts?, srcs })
    }

    fn slot(
        &self,
        text: &str,
        names: &[&str],
        temps: &mut HashMap<String, usize>,
        pattern: &mut Pattern,
        is_result: bool,
    ) -> Result<Slot, TableError> {
        let wrong = || self.wrong(format!("`{text}` is no operand"));
        if let Ok(number) = text.parse::<u64>() {
            return Ok(Slot::Number(number));
        }
        if let Some(number) = text.strip_prefix("0x").and_then(|text| u64::from_str_radix(text, 16).ok()) {
            return Ok(Slot::Number(number));
        }
        if let Some(name) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            return Ok(Slot::Name(leak(name)));
        }
        if let Some(call) = text.strip_prefix('=') {
            let (function, argument) =
                call.strip_suffix(')').and_then(|call| call.split_once('(')).ok_or_else(wrong)?;
            let function = match function {
                "log2" => Function::Log2,
                "neg" => Function::Negated,
                "rest" => Function::Rest,
                "above" => Function::Above,
                "negated0" => Function::LowOfNegated,
                "negated1" => Function::HighOfNegated,
                _ => return Err(wrong()),
            };
            let at = names.iter().position(|name| *name == argument).ok_or_else(wrong)?;
            return Ok(Slot::Computed(function, at));
        }
        let (mut rest, mut marks) = (text, Modifiers::NONE);
        if let Some(inner) = rest.strip_prefix('~') {
            (rest, marks) = (inner, marks.or(Modifiers::INVERT));
        }
        if let Some(inner) = rest.strip_prefix('-') {
            (rest, marks) = (inner, marks.or(Modifiers::NEGATE));
        }
        if let Some(inner) = rest.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
            (rest, marks) = (inner, marks.or(Modifiers::ABSOLUTE));
        }
        let wired = match rest {
            "RZ" => Some((RegFile::R, 1)),
            "RZ2" => Some((RegFile::R, 2)),
            "RZ4" => Some((RegFile::R, 4)),
            "PT" => Some((RegFile::P, 1)),
            "URZ" => Some((RegFile::UR, 1)),
            "UPT" => Some((RegFile::UP, 1)),
            _ => None,
        };
        if let Some((file, words)) = wired {
            return Ok(Slot::Wired(file, words, marks));
        }
        let (base, part) = if let Some(base) = rest.strip_suffix('^') {
            (base, Part::Double)
        } else if let Some((base, word)) = rest.split_once('.') {
            (base, Part::Word(word.parse().map_err(|_| wrong())?))
        } else {
            (rest, Part::Whole)
        };
        if let Some(at) = names.iter().position(|name| *name == base) {
            return Ok(Slot::Var(at, part, marks));
        }
        let (name, words) = match base.split_once(':') {
            Some((name, words)) => (name, words.parse().map_err(|_| wrong())?),
            None => (base, 1),
        };
        if let Some(at) = temps.get(name) {
            return Ok(Slot::Temp(*at, part, marks));
        }
        let info = match name.chars().next() {
            Some('t') => RegInfo::words(words),
            Some('p') => RegInfo::PRED,
            Some('u') => RegInfo { file: RegFile::UR, words },
            _ => return Err(wrong()),
        };
        if !is_result {
            return Err(self.wrong(format!("nothing makes `{text}`")));
        }
        pattern.temps.push(info);
        temps.insert(name.to_owned(), pattern.temps.len() - 1);
        Ok(Slot::Temp(pattern.temps.len() - 1, part, marks))
    }
}

/// The operands of a list.
fn operands(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty())
}

/// The tables are read once for a process.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The first line of a row.
struct Head {
    mnemonic: &'static str,
    /// Results, then sources.
    names: Vec<&'static str>,
    results: usize,
    sms: (u16, u16),
    conditions: Vec<(usize, Condition)>,
    commutes: bool,
}

impl Head {
    fn of(reader: &Reader, text: &'static str) -> Result<Head, TableError> {
        let (dsts, rest) = match text.split_once(" = ") {
            Some((dsts, rest)) if !dsts.contains(' ') || dsts.contains(',') => (dsts, rest),
            _ => ("", text),
        };
        let mut words = rest.split_whitespace();
        let mnemonic = words.next().ok_or_else(|| reader.wrong("a row without a mnemonic"))?;
        let mut names: Vec<&str> = operands(dsts).collect();
        let results = names.len();
        let mut head =
            Head { mnemonic, names: Vec::new(), results, sms: (0, u16::MAX), conditions: Vec::new(), commutes: false };
        let mut words = words.peekable();
        let mut expects_name = true;
        while let Some(word) = words.peek().copied().filter(|word| expects_name && *word != "sm") {
            names.push(word.trim_end_matches(','));
            expects_name = word.ends_with(',');
            words.next();
        }
        head.names = names;
        while let Some(word) = words.next() {
            match word {
                "comm" => head.commutes = true,
                "sm" => {
                    let range = words.next().and_then(|range| range.split_once(".."));
                    let (first, last) = range.ok_or_else(|| reader.wrong("`sm` needs a range `90..99`"))?;
                    let last = if last.is_empty() { Some(u16::MAX) } else { last.parse().ok() };
                    head.sms = first.parse().ok().zip(last).ok_or_else(|| reader.wrong("no SM"))?;
                }
                name => {
                    let at = head.names.iter().position(|known| *known == name);
                    let at = at.ok_or_else(|| reader.wrong(format!("`{name}` is no operand")))?;
                    let number = |word: Option<&str>| {
                        word.and_then(|word| word.parse().ok()).ok_or_else(|| reader.wrong("a number is missing"))
                    };
                    let condition = match words.next() {
                        Some("imm") => Condition::Immediate,
                        Some("pow2") => Condition::PowerOfTwo,
                        Some("=") => Condition::Equals(number(words.next())?),
                        Some("<") => Condition::Below(number(words.next())?),
                        Some(">=") => Condition::From(number(words.next())?),
                        _ => return Err(reader.wrong(format!("no condition of `{name}`"))),
                    };
                    head.conditions.push((at, condition));
                }
            }
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::super::emit::tests::has_words;
    use super::*;
    use oriole_sass::{SMS, Table};

    /// With registers for all operands every line of a row is a word of each SM that the row is for.
    #[test]
    fn rows_are_words_of_their_sms() {
        let mut missing = std::collections::BTreeSet::new();
        for (mnemonic, pattern) in Patterns::get().all() {
            for sm in SMS.into_iter().filter(|sm| (pattern.sms.0..=pattern.sms.1).contains(sm)) {
                let table = Table::of(sm).expect("an SM of the list has a table");
                for line in &pattern.lines {
                    if !has_words(table, mnemonic, pattern, line) {
                        let (file, place) = pattern.place;
                        missing.insert(format!("{file}:{place}: sm_{sm} has no {} ({mnemonic})", line.mnemonic));
                    }
                }
            }
        }
        let text: Vec<String> = missing.into_iter().collect();
        assert!(text.is_empty(), "{}", text.join("\n"));
    }

    #[test]
    fn tables_are_read() {
        let patterns = Patterns::get();
        assert!(patterns.all().count() > 1000);
        assert_eq!(patterns.of("iadd.s32")[0].lines[0].mnemonic, "IADD3");
    }

    #[test]
    fn wrong_rows_are_refused_with_their_line() {
        for (text, what) in [
            ("    d = MOV a, 15", "a line without a row"),
            ("d = mov.b32 a\n    d = MOVE a", "the machine has no `MOVE`"),
            ("d = mov.b32 a\n    d = MOV e, 15", "`e` is no operand"),
            ("d = mov.b32 a\n    d = MOV t1, 15", "nothing makes `t1`"),
            ("d = fadd{round}.f32 a, b", "no class `round`"),
            ("d = mov.b32 a b", "`b` is no operand"),
        ] {
            let error = Patterns::read(&[("x.sel", leak(text))]).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert!(error.starts_with("x.sel, line ") && error.contains(what), "{text}: {error}");
        }
    }
}
