//! Rule files, and those of the tree.

use std::borrow::Cow;

use crate::instance::Rule;
use crate::language::outlines;

/// A rule file: where it came from and its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: Cow<'static, str>,
}

/// The built-in rule files.
const BUILTIN: &[(&str, &str)] = &[
    ("arithmetic.rules", include_str!("builtin/arithmetic.rules")),
    ("sums.rules", include_str!("builtin/sums.rules")),
    ("multiply.rules", include_str!("builtin/multiply.rules")),
    ("minmax.rules", include_str!("builtin/minmax.rules")),
    ("logic.rules", include_str!("builtin/logic.rules")),
    ("algebra.rules", include_str!("builtin/algebra.rules")),
    ("masks.rules", include_str!("builtin/masks.rules")),
    ("shift.rules", include_str!("builtin/shift.rules")),
    ("bits.rules", include_str!("builtin/bits.rules")),
    ("select.rules", include_str!("builtin/select.rules")),
    ("compare.rules", include_str!("builtin/compare.rules")),
    ("predicate.rules", include_str!("builtin/predicate.rules")),
    ("convert.rules", include_str!("builtin/convert.rules")),
    ("float.rules", include_str!("builtin/float.rules")),
];

/// The built-in files of rules over instructions of the machine.
const MACHINE: &[(&str, &str)] = &[
    ("moves.rules", include_str!("builtin/machine/moves.rules")),
    ("immediates.rules", include_str!("builtin/machine/immediates.rules")),
    ("sums.rules", include_str!("builtin/machine/sums.rules")),
    ("predicates.rules", include_str!("builtin/machine/predicates.rules")),
    ("selections.rules", include_str!("builtin/machine/selections.rules")),
    ("narrow.rules", include_str!("builtin/machine/narrow.rules")),
];

/// The files of machine rules of the tree.
pub fn machine_sources() -> Vec<Source> {
    sources(MACHINE)
}

/// The rule files of the tree.
pub fn builtin_sources() -> Vec<Source> {
    sources(BUILTIN)
}

fn sources(files: &[(&str, &'static str)]) -> Vec<Source> {
    let source = |(name, text): &(&str, &'static str)| Source { name: (*name).to_owned(), text: Cow::Borrowed(text) };
    files.iter().map(source).collect()
}

/// How many of the first rules come from the files of the tree, if `sources` begin with these.
pub fn builtin_count(sources: &[Source], rules: &[Rule]) -> usize {
    let builtin = builtin_sources();
    match sources.starts_with(&builtin) {
        true => rules.iter().take_while(|rule| rule.source < builtin.len()).count(),
        false => 0,
    }
}

/// The rules of the tree. No more than their beginnings is read: each is parsed and resolved as far as somebody asks.
///
/// # Panics
/// If a built-in file has a fault, which a test excludes.
pub fn builtin_rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (source, (name, text)) in BUILTIN.iter().copied().enumerate() {
        let found = outlines(text).unwrap_or_else(|fault| panic!("the built-in file {name} is wrong: {fault}"));
        rules.extend(found.into_iter().map(|outline| Rule::later(outline, text, source)));
    }
    rules
}
