//! Pipelines as text: passes by name, separated by commas, their arguments in angle brackets, separated by semicolons;
//! nests have the passes inside them in parentheses.
//!
//! ```text
//! gvn,licm,memory-space-opt<second-time;warnings>,GeneralOptimizeEarly,OriPerformLiveDeadFirst
//! module(cgscc<4>(inline,function(sroa,gvn)),function(loop(licm)))
//! ```
//!
//! Passes of cicc and phases of ptxas may be in one text. A phase may be written by its number; a token that names
//! several phases may not stand here. `gvn#3` is `gvn` with the number of an instance; without one, a pass has the next
//! number of its name. `nvopt<O3>`, which may be written `default<O3>`, stands for the elements of that pipeline of
//! cicc ([`super::nvopt`]). Blanks between words do not count, nor does case in the names of phases. [`print()`]
//! writes what [`parse`] reads: `parse(print(p)) == p`.

use std::collections::HashMap;
use std::num::NonZeroU16;
use std::ops::Range;

use miette::{Diagnostic, SourceSpan};
use oriole_ir::diagnostics::excerpt::{SourceText, clipped};

use super::nvopt::{Level, Nvopt};
use super::sequence::{Pipeline, all};
use super::table::{self, Selection};
use oriole_pass::pass::{Argument, Element, Parameter, PassId, Row, Run, Unit, split_instance, suggest};

/// Nests in nests, at most.
const MAX_DEPTH: usize = 16;

/// The text of a pipeline.
pub fn print(pipeline: &Pipeline) -> String {
    let mut printer = Printer { text: String::new(), numbers: HashMap::new() };
    printer.list(pipeline);
    printer.text
}

/// Writes elements, and knows which number the reader will give the next one of a name.
struct Printer {
    text: String,
    numbers: HashMap<&'static str, u16>,
}

impl Printer {
    fn list(&mut self, elements: &[Element]) {
        for (place, element) in elements.iter().enumerate() {
            if place > 0 {
                self.text.push(',');
            }
            self.element(element);
        }
    }

    fn element(&mut self, element: &Element) {
        let PassId { name, instance } = element.id();
        let last = self.numbers.entry(name).or_default();
        self.text += name;
        if last.checked_add(1) != Some(instance.get()) {
            self.text += &format!("#{instance}");
        }
        *last = instance.get().max(*last);
        if !element.arguments.is_empty() {
            let arguments: Vec<String> = element.arguments.iter().map(Argument::to_string).collect();
            self.text += &format!("<{}>", arguments.join(";"));
        }
        if !element.inside.is_empty() {
            self.text.push('(');
            self.list(&element.inside);
            self.text.push(')');
        }
    }
}

/// The pipeline that a text names, planned passes included. A blank text names none.
pub fn parse(text: &str) -> Result<Pipeline, TextError> {
    parse_with(text, &Nvopt::new(Level::O3))
}

/// The same, where pipelines of cicc are assembled from this, at the level that the text says.
pub fn parse_with(text: &str, nvopt: &Nvopt) -> Result<Pipeline, TextError> {
    if text.trim().is_empty() {
        return Ok(Pipeline::default());
    }
    let mut reader = Reader { text, at: 0, nvopt };
    let elements = reader.list(None, 0)?;
    if reader.at < text.len() {
        return Err(error(text, reader.at..reader.at + 1, Problem::ClosesNothing));
    }
    let mut seen = HashMap::new();
    let pipeline: Pipeline = elements.iter().map(|placed| placed.element.clone()).collect();
    let places = elements.iter().flat_map(Placed::places);
    for (element, place) in pipeline.all().zip(places) {
        if seen.insert(element.id(), ()).is_some() {
            return Err(error(text, place, Problem::Twice { pass: element.id().to_string() }));
        }
    }
    Ok(pipeline)
}

/// An element and the place of its name, and of the names inside it in preorder.
struct Placed {
    element: Element,
    name: Range<usize>,
    inside: Vec<Range<usize>>,
}

impl Placed {
    fn places(&self) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(self.name.clone()).chain(self.inside.iter().cloned())
    }
}

/// What is wrong with the text of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nothing stands where a pass should.
    #[error("a pass is missing")]
    MissingPass,
    /// No such pass.
    #[error("no pass is called `{name}`{}", suggest::hint(.suggestions))]
    UnknownPass {
        /// What was asked for.
        name: String,
        /// Names near it, nearest first.
        suggestions: Vec<&'static str>,
    },
    /// A token that names no pass by itself.
    #[error("`{token}` stands for several steps: name one of {}", .passes.join(", "))]
    Ambiguous {
        /// The token.
        token: String,
        /// The passes that it addresses.
        passes: Vec<&'static str>,
    },
    /// The number of an instance is none.
    #[error("`{pass}#` wants the number of an instance, from 1 to 65535")]
    Instance {
        /// The pass.
        pass: String,
    },
    /// Two elements of one name with one number.
    #[error("`{pass}` is in the pipeline already")]
    Twice {
        /// The pass, with its number.
        pass: String,
    },
    /// Passes in parentheses behind one that is no nest.
    #[error("`{pass}` takes no passes in parentheses: {}", nests())]
    NoNest {
        /// The pass.
        pass: &'static str,
    },
    /// A nest without passes.
    #[error("`{pass}` takes the passes inside it in parentheses")]
    EmptyNest {
        /// The nest.
        pass: &'static str,
    },
    /// A pass inside a nest of smaller units than its own.
    #[error("`{pass}` works on each {unit}, so it cannot be inside `{nest}`")]
    Unit {
        /// The pass.
        pass: &'static str,
        /// What it works on.
        unit: Unit,
        /// The nest.
        nest: &'static str,
    },
    /// Too many nests in nests.
    #[error("more than {MAX_DEPTH} nests are inside each other")]
    TooDeep,
    /// A whole pipeline without its level, or with the number of an instance.
    #[error("a whole pipeline is written with its level, as in `nvopt<O3>`, and has no number")]
    NoLevel,
    /// A parenthesis that is never closed.
    #[error("the parenthesis is never closed")]
    NeverClosed,
    /// Something behind a closing parenthesis.
    #[error("a comma is missing behind the parenthesis")]
    MissingComma,
    /// A closing parenthesis without an opening one.
    #[error("the parenthesis closes nothing")]
    ClosesNothing,
    /// An opening bracket without the closing one at the end of the element, or the other way round.
    #[error("the arguments of `{pass}` stand between `<` and `>` at its end")]
    Brackets {
        /// The pass.
        pass: &'static str,
    },
    /// An argument for a pass that takes none.
    #[error("`{pass}` takes no arguments")]
    NoParameters {
        /// The pass.
        pass: &'static str,
    },
    /// More numbers than the pass takes, or one that is too large.
    #[error("`{pass}` takes {}, so `{argument}` does not fit", numbers(.most))]
    Number {
        /// The pass.
        pass: &'static str,
        /// What was given.
        argument: String,
        /// The bounds of the number in each place.
        most: Vec<Bound>,
    },
    /// No such argument.
    #[error("{}{}", takes_no(pass, *class, argument), suggest::hint(.suggestions))]
    UnknownArgument {
        /// The pass.
        pass: &'static str,
        /// The class by which the message calls it.
        class: Option<&'static str>,
        /// What was given.
        argument: String,
        /// Arguments near it, nearest first; all where none is near.
        suggestions: Vec<&'static str>,
    },
    /// An argument that is no name, for a pass that takes names.
    #[error("`{pass}` takes names of functions, and `{argument}` is none")]
    NoName {
        /// The pass.
        pass: &'static str,
        /// The argument.
        argument: String,
    },
    /// Two arguments of one group.
    #[error("`{first}` and `{second}` exclude each other")]
    Conflict {
        /// The one that comes first.
        first: String,
        /// The other.
        second: String,
    },
}

/// That a pass does not take an argument: of a class that a document names, in its words (`spec/pass-pipeline.txt`,
/// line 700).
fn takes_no(pass: &str, class: Option<&str>, argument: &str) -> String {
    match class {
        Some(class) => format!("invalid {class} pass parameter '{argument}'"),
        None => format!("`{pass}` takes no argument `{argument}`"),
    }
}

/// A problem with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("{}", clipped(&.problem.to_string()))]
pub struct TextError {
    /// What is wrong.
    pub problem: Box<Problem>,
    /// The text.
    #[source_code]
    pub text: SourceText,
    /// The bytes of it that the problem is about.
    #[label("here")]
    pub span: SourceSpan,
}

fn error(text: &str, place: Range<usize>, problem: Problem) -> TextError {
    let text = SourceText::new("--passes", text);
    TextError { problem: Box::new(problem), span: text.mark(place.into()), text }
}

/// The names of the nests.
fn nests() -> String {
    let names: Vec<&str> = table::NESTS.iter().map(|row| row.name).collect();
    format!("the nests are {}", names.join(", "))
}

/// The bounds of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The least: -1 where there may be no limit.
    pub least: i8,
    /// The largest.
    pub most: u32,
}

/// The bounds of numbers.
fn numbers(bounds: &[Bound]) -> String {
    let bounds: Vec<String> = bounds.iter().map(|Bound { least, most }| format!("{least} to {most}")).collect();
    format!("numbers from {}", bounds.join(" and "))
}

/// The place of a part that begins at an offset, without the blanks around it.
fn trimmed(part: &str, start: usize) -> Range<usize> {
    let start = start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

/// The text of a pipeline, read from the left.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// What pipelines of cicc are assembled from.
    nvopt: &'t Nvopt,
}

impl Reader<'_> {
    /// Elements up to the parenthesis that closes the nest, or to the end.
    fn list(&mut self, nest: Option<&'static Row>, depth: usize) -> Result<Vec<Placed>, TextError> {
        let mut elements = Vec::new();
        loop {
            elements.extend(self.element(nest, depth)?);
            if !self.takes(',') {
                return Ok(elements);
            }
        }
    }

    /// An element; those of a whole pipeline.
    fn element(&mut self, nest: Option<&'static Row>, depth: usize) -> Result<Vec<Placed>, TextError> {
        let name = self.up_to(&[',', '<', '(', ')']);
        let (row, instance) = named(self.text, name.clone())?;
        if let Some(nest) = nest.filter(|nest| row.unit < nest.unit) {
            let problem = Problem::Unit { pass: row.name, unit: row.unit, nest: nest.name };
            return Err(error(self.text, name, problem));
        }
        // What is named is wanted, also a hook that the default pipeline leaves empty.
        let mut element = Element { is_named: true, instance, ..Element::from(row) };
        if self.text[self.at..].starts_with('<') {
            let brackets = self.up_to(&[',', '(', ')']);
            let inside = brackets.start + 1..brackets.end - 1;
            if inside.start > inside.end || !self.text[brackets.clone()].ends_with('>') {
                return Err(error(self.text, brackets, Problem::Brackets { pass: row.name }));
            }
            element.arguments = arguments(self.text, inside, row)?;
        }
        let inside = self.inside(row, &name, depth)?;
        if std::ptr::eq(row, &raw const table::NVOPT) {
            return self.whole(&element, &name);
        }
        element.inside = inside.iter().map(|placed| placed.element.clone()).collect();
        let inside = inside.iter().flat_map(Placed::places).collect();
        Ok(vec![Placed { element, name, inside }])
    }

    /// The elements that `nvopt` stands for.
    fn whole(&mut self, nvopt: &Element, name: &Range<usize>) -> Result<Vec<Placed>, TextError> {
        let level = nvopt.arguments.iter().find_map(|argument| Level::named(&argument.to_string()));
        let Some(level) = level.filter(|_| nvopt.instance.is_none()) else {
            return Err(error(self.text, name.clone(), Problem::NoLevel));
        };
        let elements = Nvopt { level, ..self.nvopt.clone() }.pipeline().into_iter();
        let unnumbered = elements.map(Element::without_number);
        let placed = |element: Element| {
            let inside = vec![name.clone(); all(&element.inside).count()];
            Placed { element, name: name.clone(), inside }
        };
        Ok(unnumbered.map(placed).collect())
    }

    /// The elements in the parentheses behind a name, where it is a nest.
    fn inside(&mut self, row: &'static Row, name: &Range<usize>, depth: usize) -> Result<Vec<Placed>, TextError> {
        let (open, is_nest) = (self.at, matches!(row.run, Some(Run::Nest(_))));
        let here = open..(open + 1).min(self.text.len());
        match (self.takes('('), is_nest) {
            (false, false) => return Ok(Vec::new()),
            (false, true) => return Err(error(self.text, name.clone(), Problem::EmptyNest { pass: row.name })),
            (true, false) => return Err(error(self.text, here, Problem::NoNest { pass: row.name })),
            (true, true) if depth == MAX_DEPTH => return Err(error(self.text, here, Problem::TooDeep)),
            (true, true) => {}
        }
        let inside = self.list(Some(row), depth + 1)?;
        if !self.takes(')') {
            return Err(error(self.text, here, Problem::NeverClosed));
        }
        self.blanks();
        match self.text[self.at..].chars().next() {
            None | Some(',' | ')') => Ok(inside),
            Some(_) => {
                let rest = self.up_to(&[',', ')']);
                Err(error(self.text, rest, Problem::MissingComma))
            }
        }
    }

    /// Whether the next character is this one, which is passed over then.
    fn takes(&mut self, character: char) -> bool {
        let takes = self.text[self.at..].starts_with(character);
        self.at += if takes { character.len_utf8() } else { 0 };
        takes
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The place of the text up to one of some characters or the end, without the blanks around it.
    fn up_to(&mut self, ends: &[char]) -> Range<usize> {
        let rest = &self.text[self.at..];
        let len = rest.find(ends).unwrap_or(rest.len());
        let place = trimmed(&rest[..len], self.at);
        self.at += len;
        place
    }
}

fn named(text: &str, place: Range<usize>) -> Result<(&'static Row, Option<NonZeroU16>), TextError> {
    let written = &text[place.clone()];
    if written.is_empty() {
        return Err(error(text, place, Problem::MissingPass));
    }
    let Some((name, instance)) = split_instance(written) else {
        let pass = written.split('#').next().unwrap_or_default().trim_end().to_owned();
        return Err(error(text, place, Problem::Instance { pass }));
    };
    let whole = Some(&table::NVOPT).filter(|row| row.answers_to(name));
    if let Some(row) = whole.or_else(|| table::all_rows().chain(table::NESTS).find(|row| row.is_called(name))) {
        return Ok((row, instance));
    }
    let problem = match table::select(name) {
        Ok(Selection::Phases(rows)) => several(name, &rows),
        Ok(Selection::SubPass(sub_pass)) => several(name, &table::rows_for_token(sub_pass.inside).unwrap_or_default()),
        Err(unknown) => Problem::UnknownPass { name: unknown.token, suggestions: unknown.suggestions },
    };
    Err(error(text, place, problem))
}

fn several(token: &str, rows: &[&'static Row]) -> Problem {
    Problem::Ambiguous { token: token.to_owned(), passes: rows.iter().map(|row| row.name).collect() }
}

/// At most one argument for each parameter, in the order of the parameters; of names as many as there are. Words are
/// found by what they are, numbers by their order, and names are what is neither.
fn arguments(text: &str, inside: Range<usize>, row: &Row) -> Result<Vec<Argument>, TextError> {
    if row.parameters.is_empty() {
        return Err(error(text, inside, Problem::NoParameters { pass: row.name }));
    }
    let mut chosen: Vec<Vec<Argument>> = vec![Vec::new(); row.parameters.len()];
    let mut start = inside.start;
    for part in text[inside].split(';') {
        let place = trimmed(part, start);
        start += part.len() + 1;
        let (at, argument) = argument(text, place.clone(), row, &chosen)?;
        if let Some(first) = chosen[at].first().filter(|_| row.parameters[at] != Parameter::Names) {
            let problem = Problem::Conflict { first: first.to_string(), second: argument.to_string() };
            return Err(error(text, place, problem));
        }
        chosen[at].push(argument);
    }
    Ok(chosen.concat())
}

/// The parameter of an argument, and what it is.
fn argument(
    text: &str,
    place: Range<usize>,
    row: &Row,
    chosen: &[Vec<Argument>],
) -> Result<(usize, Argument), TextError> {
    let written = &text[place.clone()];
    let words = || {
        row.parameters.iter().enumerate().flat_map(|(at, parameter)| match parameter {
            Parameter::Word(words) => words.iter().map(|word| (at, *word)).collect(),
            Parameter::Number(_) | Parameter::Limit(_) | Parameter::Names => Vec::new(),
        })
    };
    if let Some((at, word)) = words().find(|(_, word)| *word == written) {
        return Ok((at, Argument::Word(word)));
    }
    let bounds: Vec<(usize, Bound)> = row.parameters.iter().enumerate().filter_map(number_bound).collect();
    let digits = written.strip_prefix('-').unwrap_or(written);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !bounds.is_empty() {
        let free = bounds.iter().find(|(at, _)| chosen[*at].is_empty());
        return match (free, written.parse::<i64>()) {
            (Some((at, bound)), Ok(-1)) if bound.least == -1 => Ok((*at, Argument::Unlimited)),
            (Some((at, bound)), Ok(number)) if (0..=i64::from(bound.most)).contains(&number) => {
                Ok((*at, Argument::Number(number as u32)))
            }
            _ => {
                let most = bounds.into_iter().map(|(_, bound)| bound).collect();
                Err(error(text, place, Problem::Number { pass: row.name, argument: written.to_owned(), most }))
            }
        };
    }
    if let Some(at) = row.parameters.iter().position(|parameter| *parameter == Parameter::Names) {
        let problem = || Problem::NoName { pass: row.name, argument: written.to_owned() };
        return match is_name(written) {
            true => Ok((at, Argument::Name(written.into()))),
            false => Err(error(text, place, problem())),
        };
    }
    let mut suggestions = suggest::near(written, words().map(|(_, word)| word));
    if suggestions.is_empty() {
        suggestions = words().map(|(_, word)| word).collect();
    }
    let (pass, class, argument) = (row.name, row.class, written.to_owned());
    let problem = Problem::UnknownArgument { pass, class, argument, suggestions };
    Err(error(text, place, problem))
}

fn number_bound((at, parameter): (usize, &Parameter)) -> Option<(usize, Bound)> {
    match parameter {
        Parameter::Number(most) => Some((at, Bound { least: 0, most: *most })),
        Parameter::Limit(most) => Some((at, Bound { least: -1, most: *most })),
        Parameter::Word(_) | Parameter::Names => None,
    }
}

/// Whether a text is an identifier of PTX.
fn is_name(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
    text.chars().all(is_inside) && text.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// The identity, the arguments and the elements inside of each element.
    fn names(elements: &[Element]) -> Vec<(String, Vec<String>, usize)> {
        let texts = |element: &Element| element.arguments.iter().map(Argument::to_string).collect();
        let one = |element: &Element| (element.id().to_string(), texts(element), element.inside.len());
        elements.iter().flat_map(|element| std::iter::once(one(element)).chain(names(&element.inside))).collect()
    }

    fn wrong(text: &str) -> (String, Range<usize>) {
        let error = parse(text).expect_err(text);
        let start = error.span.offset();
        (error.to_string(), start..start + error.span.len())
    }

    #[test]
    fn the_pipelines_of_the_documents_read() {
        for text in [
            "gvn,licm,memory-space-opt<second-time;warnings>",
            "sink<rp-aware>",
            "select-kernels<_Z3addPf;sum$1>",
            "module(cgscc<4>(inline,function(sroa,gvn)),function(loop(licm)))",
            "gvn#2,licm,gvn#7,gvn",
            "gvn#65535,gvn#3",
        ] {
            assert_eq!(print(&parse(text).expect(text)), text);
        }
    }

    #[test]
    fn phases_are_named_or_numbered_and_blanks_do_not_count() {
        let passes = parse(" 13 , generaloptimize,memory-space-opt < warnings ; first-time >").expect("a pipeline");
        assert_eq!(print(&passes), "GeneralOptimizeEarly,GeneralOptimize,memory-space-opt<first-time;warnings>");
        assert!(parse("  ").expect("no pass").is_empty());
    }

    #[test]
    fn mistakes_have_a_place_and_a_suggestion() {
        let cases = [
            ("gvn,gvn2,licm", "no pass is called `gvn2` (did you mean gvn?)", 4..8),
            ("gvn,,licm", "a pass is missing", 4..4),
            ("function()", "a pass is missing", 9..9),
            ("function", "`function` takes the passes inside it in parentheses", 0..8),
            ("function(gvn", "the parenthesis is never closed", 8..9),
            ("gvn)", "the parenthesis closes nothing", 3..4),
            ("function(gvn)licm", "a comma is missing behind the parenthesis", 13..17),
            ("gvn(licm)", "`gvn` takes no passes in parentheses: the nests are module, cgscc, function, loop", 3..4),
            ("function(inline)", "`inline` works on each component, so it cannot be inside `function`", 9..15),
            ("cgscc<9>(inline)", "`cgscc` takes numbers from 0 to 8, so `9` does not fit", 6..7),
            ("cgscc<1;2>(inline)", "`cgscc` takes numbers from 0 to 8, so `2` does not fit", 8..9),
            ("gvn#x", "`gvn#` wants the number of an instance, from 1 to 65535", 0..5),
            ("gvn#0", "`gvn#` wants the number of an instance, from 1 to 65535", 0..5),
            ("gvn#2,function(gvn # 2)", "`gvn#2` is in the pipeline already", 15..22),
            ("gvn,", "a pass is missing", 4..4),
            (
                "memory-space-opt<second-tme>",
                "invalid MemorySpaceOpt pass parameter 'second-tme' (did you mean second-time?)",
                17..27,
            ),
            ("sink<>", "`sink` takes no argument `` (did you mean rp-aware?)", 5..5),
            ("nvopt<O1;O2>", "`O1` and `O2` exclude each other", 9..11),
            (
                "nvopt<O1>(gvn)",
                "`nvopt` takes no passes in parentheses: the nests are module, cgscc, function, loop",
                9..10,
            ),
            ("gvn,nvopt", "a whole pipeline is written with its level, as in `nvopt<O3>`, and has no number", 4..9),
            ("default#2<O1>", "a whole pipeline is written with its level, as in `nvopt<O3>`, and has no number", 0..9),
            ("function(nvopt<O1>)", "`nvopt` works on each module, so it cannot be inside `function`", 9..14),
            (
                "loop-unswitch<-2>",
                "`loop-unswitch` takes numbers from -1 to 3 and -1 to 3 and -1 to 3 and -1 to 3 and -1 to 3 \
              and -1 to 3 and -1 to 3, so `-2` does not fit",
                14..16,
            ),
            ("cgscc<-1>(inline)", "`cgscc` takes numbers from 0 to 8, so `-1` does not fit", 6..8),
            ("gvn<x>", "`gvn` takes no arguments", 4..5),
            ("select-kernels<a;1b>", "`select-kernels` takes names of functions, and `1b` is none", 17..19),
            ("select-kernels<>", "`select-kernels` takes names of functions, and `` is none", 15..15),
            ("sink<rp-aware", "the arguments of `sink` stand between `<` and `>` at its end", 4..13),
            ("sink<", "the arguments of `sink` stand between `<` and `>` at its end", 4..5),
            (
                "OriPerformLiveDead",
                "`OriPerformLiveDead` stands for several steps: name one of OriPerformLiveDeadFirst, \
                 OriPerformLiveDeadSecond, OriPerformLiveDeadThird, OriPerformLiveDeadFourth",
                0..18,
            ),
        ];
        for (text, message, place) in cases {
            assert_eq!(wrong(text), (message.to_owned(), place), "{text}");
        }
        assert!(wrong("OriCopyProp").0.contains("GeneralOptimizeLate2"));
    }

    #[test]
    fn nests_that_are_too_deep_are_refused() {
        let text = "module(".repeat(100_000);
        assert_eq!(wrong(&text).0, "more than 16 nests are inside each other");
    }

    #[test]
    fn every_row_reads_as_what_it_prints() {
        let all: Pipeline = table::all_rows().map(Element::from).collect();
        assert_eq!(names(&parse(&print(&all)).expect("every row has a name")), names(&all));
    }

    /// An element with some of its arguments.
    fn any_element() -> impl Strategy<Value = Element> {
        let rows: Vec<&'static Row> = table::all_rows().collect();
        let numbers = prop::option::weighted(0.2, (1..200_u16).prop_filter_map("not zero", NonZeroU16::new));
        let leaf = (select(rows), any::<u64>(), numbers.clone()).prop_map(|(row, choice, instance)| {
            let mut element = Element { instance, ..Element::from(row) };
            for (group, parameter) in row.parameters.iter().enumerate() {
                let drawn = (choice >> (8 * group)) as usize;
                element.arguments.extend(match parameter {
                    Parameter::Word(words) => words.get(drawn % (words.len() + 1)).map(|word| Argument::Word(word)),
                    Parameter::Number(most) => Some(Argument::Number(drawn as u32 % (most + 1))),
                    Parameter::Limit(_) if drawn.is_multiple_of(3) => Some(Argument::Unlimited),
                    Parameter::Limit(most) => Some(Argument::Number(drawn as u32 % (most + 1))),
                    Parameter::Names => Some(Argument::Name(format!("k{drawn}").into())),
                });
            }
            element
        });
        leaf.prop_recursive(3, 12, 4, |inner| {
            (select(table::NESTS.iter().collect::<Vec<&'static Row>>()), prop::collection::vec(inner, 1..4)).prop_map(
                |(row, mut inside)| {
                    inside.retain(|element| element.unit >= row.unit);
                    let nest = Element { inside: inside.clone(), ..Element::from(row) };
                    if inside.is_empty() { Element::from(&table::PASSES[0]) } else { nest }
                },
            )
        })
    }

    proptest! {
        #[test]
        fn pipelines_round_trip(elements in prop::collection::vec(any_element(), 0..12)) {
            let passes: Pipeline = elements.into_iter().collect();
            let mut ids: Vec<PassId> = passes.all().map(Element::id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assume!(ids.len() == passes.all().count());
            let text = print(&passes);
            let again = parse(&text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
            prop_assert_eq!(names(&again), names(&passes));
            prop_assert_eq!(print(&again), text);
        }

        /// Any text is read or refused with a place inside it.
        #[test]
        fn any_text_is_answered(text in "[a-zA-Z0-9<>();,# \\-é]{0,40}") {
            if let Err(error) = parse(&text) {
                let end = error.span.offset() + error.span.len();
                prop_assert!(text.is_char_boundary(error.span.offset()) && text.is_char_boundary(end), "{}", error);
            }
        }
    }
}
