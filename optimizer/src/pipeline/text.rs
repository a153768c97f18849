//! Pipelines as text: passes by name, separated by commas, their arguments in angle brackets, separated by semicolons.
//!
//! ```text
//! gvn,licm,memory-space-opt<second-time;warnings>,GeneralOptimizeEarly,OriPerformLiveDeadFirst
//! ```
//!
//! Passes of cicc and phases of ptxas may stand in one text. A phase may be written by its number; a token that names
//! several phases may not stand here. Blanks between words do not count, nor does case in the names of phases.
//! [`print`] writes what [`parse`] reads: `parse(print(p)) == p`.

use std::ops::Range;

use miette::{Diagnostic, SourceSpan};
use oriole_ir::diagnostics::excerpt::{SourceText, clipped};

use super::table::{self, Selection};
use crate::pass::{Pass, suggest};

/// The text of a pipeline.
pub fn print(passes: &[Pass]) -> String {
    passes.iter().map(Pass::to_string).collect::<Vec<_>>().join(",")
}

/// The passes that a text names, planned ones included. A blank text names none.
pub fn parse(text: &str) -> Result<Vec<Pass>, TextError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    pieces(text, 0..text.len(), ',').into_iter().map(|element| pass(text, element)).collect()
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
    /// No such argument.
    #[error("`{pass}` takes no argument `{argument}`{}", suggest::hint(.suggestions))]
    UnknownArgument {
        /// The pass.
        pass: &'static str,
        /// What was given.
        argument: String,
        /// Arguments near it, nearest first; all where none is near.
        suggestions: Vec<&'static str>,
    },
    /// Two arguments of one group.
    #[error("`{first}` and `{second}` exclude each other")]
    Conflict {
        /// The one that stands first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

/// A problem with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("{}", clipped(&.problem.to_string()))]
pub struct TextError {
    /// What is wrong.
    pub problem: Problem,
    /// The text.
    #[source_code]
    pub text: SourceText,
    /// The bytes of it that the problem is about.
    #[label("here")]
    pub span: SourceSpan,
}

fn error(text: &str, place: Range<usize>, problem: Problem) -> TextError {
    let text = SourceText::new("--passes", text);
    TextError { problem, span: text.mark(place.into()), text }
}

/// The parts of a range between separators, without the blanks around them.
fn pieces(text: &str, within: Range<usize>, separator: char) -> Vec<Range<usize>> {
    let mut start = within.start;
    let parts = text[within].split(separator).map(|part| {
        let place = trimmed(part, start);
        start += part.len() + separator.len_utf8();
        place
    });
    parts.collect()
}

/// The place of a part that begins at an offset, without the blanks around it.
fn trimmed(part: &str, start: usize) -> Range<usize> {
    let start = start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

fn pass(text: &str, element: Range<usize>) -> Result<Pass, TextError> {
    let name_end = text[element.clone()].find('<').map_or(element.end, |at| element.start + at);
    let name = trimmed(&text[element.start..name_end], element.start);
    // What is named is wanted, also a hook that the default pipeline leaves empty.
    let mut pass = Pass { no_op_by_default: false, ..named(text, name)?.clone() };
    if name_end == element.end {
        return Ok(pass);
    }
    let inside = name_end + 1..element.end - 1;
    if inside.start > inside.end || !text[element.clone()].ends_with('>') {
        return Err(error(text, name_end..element.end, Problem::Brackets { pass: pass.name }));
    }
    pass.arguments = arguments(text, inside, &pass)?;
    Ok(pass)
}

fn named(text: &str, place: Range<usize>) -> Result<&'static Pass, TextError> {
    let name = &text[place.clone()];
    if name.is_empty() {
        return Err(error(text, place, Problem::MissingPass));
    }
    if let Some(row) = table::all_rows().find(|row| row.is_called(name)) {
        return Ok(row);
    }
    let problem = match table::select(name) {
        Ok(Selection::Phases(rows)) => several(name, &rows),
        Ok(Selection::SubPass(sub_pass)) => several(name, &table::rows_for_token(sub_pass.inside).unwrap_or_default()),
        Err(unknown) => Problem::UnknownPass { name: unknown.token, suggestions: unknown.suggestions },
    };
    Err(error(text, place, problem))
}

fn several(token: &str, rows: &[&'static Pass]) -> Problem {
    Problem::Ambiguous { token: token.to_owned(), passes: rows.iter().map(|row| row.name).collect() }
}

/// At most one argument of each group, in the order of the groups.
fn arguments(text: &str, inside: Range<usize>, pass: &Pass) -> Result<Vec<&'static str>, TextError> {
    if pass.parameters.is_empty() {
        return Err(error(text, inside, Problem::NoParameters { pass: pass.name }));
    }
    let mut chosen: Vec<Option<&'static str>> = vec![None; pass.parameters.len()];
    for place in pieces(text, inside, ';') {
        let (group, argument) = argument(text, place.clone(), pass)?;
        if let Some(first) = chosen[group].replace(argument) {
            return Err(error(text, place, Problem::Conflict { first, second: argument }));
        }
    }
    Ok(chosen.into_iter().flatten().collect())
}

/// The group of an argument, and its spelling in the row.
fn argument(text: &str, place: Range<usize>, pass: &Pass) -> Result<(usize, &'static str), TextError> {
    let word = &text[place.clone()];
    let all =
        || pass.parameters.iter().enumerate().flat_map(|(group, names)| names.iter().map(move |name| (group, *name)));
    all().find(|(_, name)| *name == word).ok_or_else(|| {
        let mut suggestions = suggest::near(word, all().map(|(_, name)| name));
        if suggestions.is_empty() {
            suggestions = all().map(|(_, name)| name).collect();
        }
        let problem = Problem::UnknownArgument { pass: pass.name, argument: word.to_owned(), suggestions };
        error(text, place, problem)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn names(passes: &[Pass]) -> Vec<(&'static str, Vec<&'static str>)> {
        passes.iter().map(|pass| (pass.name, pass.arguments.clone())).collect()
    }

    fn wrong(text: &str) -> (String, Range<usize>) {
        let error = parse(text).expect_err(text);
        let start = error.span.offset();
        (error.to_string(), start..start + error.span.len())
    }

    #[test]
    fn the_pipelines_of_the_documents_read() {
        for text in ["nvopt<O3>", "nvopt<Ofcmid>", "gvn,licm,memory-space-opt<second-time;warnings>", "sink<rp-aware>"]
        {
            assert_eq!(print(&parse(text).expect(text)), text);
        }
    }

    #[test]
    fn phases_are_named_or_numbered_and_blanks_do_not_count() {
        let passes = parse(" 13 , generaloptimize,memory-space-opt < warnings ; first-time >").expect("a pipeline");
        let memory = ("memory-space-opt", vec!["first-time", "warnings"]);
        assert_eq!(names(&passes), [("GeneralOptimizeEarly", vec![]), ("GeneralOptimize", vec![]), memory]);
        assert!(parse("  ").expect("no pass").is_empty());
    }

    #[test]
    fn mistakes_have_a_place_and_a_suggestion() {
        let cases = [
            ("gvn,gvn2,licm", "no pass is called `gvn2` (did you mean gvn?)", 4..8),
            ("gvn,,licm", "a pass is missing", 4..4),
            ("gvn,", "a pass is missing", 4..4),
            (
                "memory-space-opt<second-tme>",
                "`memory-space-opt` takes no argument `second-tme` (did you mean second-time?)",
                17..27,
            ),
            ("sink<>", "`sink` takes no argument `` (did you mean rp-aware?)", 5..5),
            ("nvopt<O1;O2>", "`O1` and `O2` exclude each other", 9..11),
            ("gvn<x>", "`gvn` takes no arguments", 4..5),
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
    fn every_row_reads_as_what_it_prints() {
        let all: Vec<Pass> = table::all_rows().cloned().collect();
        assert_eq!(names(&parse(&print(&all)).expect("every row has a name")), names(&all));
    }

    /// A pass with some of its arguments.
    fn any_pass() -> impl Strategy<Value = Pass> {
        let rows: Vec<&'static Pass> = table::all_rows().collect();
        (select(rows), any::<u64>()).prop_map(|(row, choice)| {
            let mut pass = row.clone();
            for (group, names) in row.parameters.iter().enumerate() {
                let at = (choice >> (8 * group)) as usize % (names.len() + 1);
                pass.arguments.extend(names.get(at));
            }
            pass
        })
    }

    proptest! {
        #[test]
        fn pipelines_round_trip(passes in prop::collection::vec(any_pass(), 0..12)) {
            let text = print(&passes);
            let again = parse(&text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
            prop_assert_eq!(names(&again), names(&passes));
            prop_assert_eq!(print(&again), text);
        }

        /// Any text is read or refused with a place inside it.
        #[test]
        fn any_text_is_answered(text in "[a-zA-Z0-9<>;, \\-é]{0,40}") {
            if let Err(error) = parse(&text) {
                let end = error.span.offset() + error.span.len();
                prop_assert!(text.is_char_boundary(error.span.offset()) && text.is_char_boundary(end), "{}", error);
            }
        }
    }
}
