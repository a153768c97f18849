//! From a round trip that goes wrong to what of the text is misread.
//!
//! The text that is read differs from the one that was printed in numbered changes ([`Respelling`]). Where the printed
//! text is read well, a binary search over them finds one that it takes; then that change alone, and simpler ways of
//! writing the same line, are tried. So the fault has one name, whatever kernel and whatever way of writing shows it.

use oriole_generate::spell::{Respelling, avoiding};
use oriole_ptx::Dialect;

use super::printed;
use crate::bisect::{Culprit, difference};
use crate::report::Rewrite;
use crate::step::{Outcome, Step};
use crate::supervise::catch;

/// What of a text is misread.
#[derive(Debug)]
pub(crate) struct Misread {
    /// The text that is misread, with as little spelled otherwise as it takes.
    pub text: String,
    /// What is spelled otherwise, or what the text is read well without (number 0); `None` where the text is misread as
    /// it was printed.
    pub spelling: Option<Rewrite>,
}

impl Culprit<'_> {
    /// What the reader makes something else of. `None` where the module cannot be printed, or its text is read well.
    pub(crate) fn misread(&self) -> Option<Misread> {
        let printed = catch(|| printed(self.before)).ok()?.ok()?;
        misread(printed, &|text| self.is_misread(text))
    }

    /// Whether a text does not come back as a program that does the same as the one before the step.
    fn is_misread(&self, text: &str) -> bool {
        match Step::read(text, &Dialect::of(self.before), &self.conditions) {
            (module, Outcome::Done(_)) => self.misbehaves(&module),
            (_, Outcome::Skipped(_)) => false,
            (_, Outcome::Failed(_)) => true,
        }
    }
}

/// What of a text that was printed is misread, spelled otherwise as the round trip does.
fn misread(printed: String, is_misread: &dyn Fn(&str) -> bool) -> Option<Misread> {
    if is_misread(&printed) {
        let well = avoiding(&printed).into_iter().find(|other| !is_misread(&other.text));
        let spelling = well.map(|other| Rewrite {
            index: 0,
            rule: Some(other.rule.to_owned()),
            pass: None,
            function: None,
            diff: difference(&other.text, &printed),
            change: String::new(),
        });
        return Some(Misread { text: printed, spelling });
    }
    let respelling = Respelling::of(&printed);
    let change = first_misread(&respelling, is_misread)?;
    let whole = respelling.change(change);
    let ways = respelling.simpler(change).into_iter().chain([whole.clone()]);
    let alone = ways.map(|way| (way.rule, respelling.with(change, &way))).find(|(_, text)| is_misread(text));
    let (rule, text) = alone.unwrap_or_else(|| (whole.rule, respelling.text(|other| other <= change)));
    let diff = difference(&printed, &text);
    let (index, rule) = (change as u64 + 1, Some(rule.to_owned()));
    let spelling = Rewrite { index, rule, pass: None, function: None, diff, change: String::new() };
    Some(Misread { text, spelling: Some(spelling) })
}

/// The first change such that the text with it and all before it is misread.
fn first_misread(respelling: &Respelling<'_>, is_misread: &dyn Fn(&str) -> bool) -> Option<usize> {
    let with = |count: usize| is_misread(&respelling.text(|change| change < count));
    let (mut low, mut high) = (0, respelling.changes());
    if high == 0 || !with(high) {
        return None;
    }
    // The text with `low` changes is read well, that with `high` is misread.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if with(middle) { high = middle } else { low = middle }
    }
    Some(high - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use oriole_generate::Config;

    use super::*;
    use crate::kernels::case;

    /// The names of what readers with a fault misread in generated kernels, and how many lines it takes at most.
    fn names(is_misread: &dyn Fn(&str) -> bool) -> (BTreeSet<String>, usize) {
        let (mut names, mut most) = (BTreeSet::new(), 0);
        for number in 0..150 {
            let Ok(printed) = printed(&case(3, number, &Config::default()).module) else { continue };
            let Some(found) = misread(printed, is_misread) else { continue };
            let Some(spelling) = found.spelling else { continue };
            assert!(is_misread(&found.text));
            // The printed text may be what is misread; then there is a way round it.
            if spelling.index == 0 {
                names.insert(spelling.rule.expect("ways have names"));
                continue;
            }
            most = most.max(spelling.diff.lines().filter(|line| line.starts_with('+')).count());
            names.insert(spelling.rule.expect("ways have names"));
        }
        (names, most)
    }

    /// Whether a text has a number that begins so.
    fn has_number(text: &str, start: &str) -> bool {
        let digits = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_.%$".contains(c));
        text.match_indices(start).any(|(at, _)| begins(at) && digits(&text[at + start.len()..]))
    }

    /// Whether an instruction has a decimal number of several digits.
    fn has_decimal(text: &str) -> bool {
        let is_decimal = |word: &str| {
            word.len() > 1 && !word.starts_with('0') && word.trim_end_matches('U').bytes().all(|c| c.is_ascii_digit())
        };
        let words = |line: &str| line.split([' ', ',', '+', '-', '[', ']', '(', ')', ';']).any(is_decimal);
        text.lines().any(|line| line.starts_with('\t') && !line.starts_with("\t.") && words(line))
    }

    /// A fault of the reader is one finding, in whatever way of writing it is met: offsets, scopes and constant
    /// expressions have numbers and scopes too.
    #[test]
    fn one_fault_has_one_name() {
        let octal = |text: &str| has_number(text, "0");
        for (is_misread, name) in [
            (&(|text: &str| has_number(text, "0B")) as &dyn Fn(&str) -> bool, "binary-number"),
            (&octal, "octal-number"),
            (&|text| text.contains("\t{ "), "scope"),
            (&|text| text.contains("\t{ .reg .b") || text.contains("; .reg .b"), "hiding-declaration"),
            (&|text| text.contains("+-"), "negative-offset"),
            (&|text| text.contains(".reg .v2 ") || text.contains(".reg .v4 "), "vector-register"),
            (&|text| text.contains("@!%"), "negated-guard"),
            (&has_decimal, "decimal-number"),
        ] {
            let (names, most) = names(is_misread);
            assert!(names.len() <= 2 && names.contains(name), "{name}: {names:?}");
            assert!(most <= 3, "{name}: {most} lines are spelled otherwise");
        }
    }
}
