//! The rule files of the tree, as a user of the crate sees them: valid, shown by examples, and robust.

use oriole_optimizer::peephole::RuleSet;
use oriole_rules::{Source, builtin_sources};

/// A generator of numbers that is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

#[test]
fn every_rule_has_an_example_that_shows_it() {
    let set = RuleSet::parse_all(&builtin_sources()).unwrap_or_else(|error| panic!("\n{}", error.lines()));
    for rule in set.rules() {
        let shown = rule.decl().examples.iter().any(|example| example.expected.is_some());
        assert!(shown, "rule `{}` has no `yes` example", rule.name);
    }
}

/// One rule of a file with what is under it, so that ten thousand mutations are read in seconds.
fn pieces(sources: &[Source]) -> Vec<&str> {
    sources.iter().flat_map(|source| source.text.split("\n\n")).filter(|text| text.contains("rule ")).collect()
}

/// What mutations put in: words and signs of the language, some in wrong places.
const PIECES: &[&str] = &[
    "rule",
    "yes",
    "no",
    "for T in int",
    "if",
    "let t = ",
    "=>",
    "(",
    ")",
    "&",
    "@",
    "{F}",
    "_",
    "x",
    "C",
    "W",
    "MIN",
    "UMAX",
    "-",
    "~",
    "<<",
    ">>s",
    "/",
    "%s",
    "log2(",
    "fold(",
    "mask(64)",
    "sext(C)",
    ".s32",
    ".b64",
    ".pred",
    "iadd",
    "setp.lt",
    "imul.wide",
    "lo(",
    "hi(",
    "bits(T)",
    "wide(T)",
    "inverse(CMP, T)",
    "none",
    "where legal",
    "priority 99",
    "0xffffffffffffffff",
    "18446744073709551616",
    "1.5",
    "known_zero(x, ",
    "single_use(",
    "||",
    "!",
    "\n",
    "#",
    "é",
    "\0",
    "modulo nan",
    "ld.global.u32(x, 0)",
    "phi",
    "st.u32(x, 0, y)",
    "T in T",
    ", ",
    ";",
    "b128",
    "f16x2",
    "cvt.s16.s32",
];

fn mutated(text: &str, numbers: &mut Numbers) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + numbers.below(3) {
        let mut at = || {
            let mut at = numbers.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (at(), at());
        let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 12));
        let end = (start..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(start);
        match numbers.below(4) {
            0 => text.replace_range(start..end, ""),
            1 => text.insert_str(start, PIECES[numbers.below(PIECES.len())]),
            2 => text.replace_range(start..end, PIECES[numbers.below(PIECES.len())]),
            _ => {
                let copy = text[start..end].to_owned();
                text.insert_str(a, &copy);
            }
        }
    }
    text
}

#[test]
fn broken_files_are_refused_with_places() {
    let sources = builtin_sources();
    let pieces = pieces(&sources);
    assert!(pieces.len() > 50, "{} rules are mutated", pieces.len());
    let mut numbers = Numbers(1);
    let (mut refused, mut read) = (0, 0);
    for _ in 0..10_000 {
        let text = mutated(pieces[numbers.below(pieces.len())], &mut numbers);
        match RuleSet::parse("mutated.rules", &text) {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                assert!(!error.related.is_empty(), "no fault in\n{text}");
                for fault in &error.related {
                    let end = fault.span.offset() + fault.span.len();
                    let shown = error.source_code.shown().len();
                    assert!(end <= shown && !fault.message.is_empty() && !fault.help.is_empty(), "{fault:?}");
                }
            }
        }
    }
    assert!(refused > 5_000 && read > 100, "{refused} refused, {read} read");
}
