//! How often a user's rewrite rules applied, and what kept them from it.
//!
//! The counters are those of the phases: an instruction counts each time that a phase looks at it.

use crate::numbers::counted;
use std::io::{self, Write};

use oriole_ir::diagnostics::escape::escaped;
use oriole_ir::place::line_column;
use oriole_optimizer::pass::Statistics;
use oriole_optimizer::peephole::RuleSet;
use oriole_rules::Rule;
use schemars::JsonSchema;
use serde::Serialize;

/// What came of one rule of the files of `--rules`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct RuleUse {
    /// Its name.
    pub rule: &'static str,
    /// Its file and line.
    pub place: String,
    /// How often it applied.
    pub applied: u64,
    /// Matches of its pattern at which a guard failed.
    pub guard_failed: u64,
    /// Matches that were left alone, since the result would cost more in a loop.
    pub in_a_loop: u64,
    /// What applied in its place, the most frequent first.
    pub behind: Vec<Behind>,
    /// The built-in rule that is tried first and matches as much, wherever this one matches.
    pub shadowed_by: Option<&'static str>,
}

/// A simplification that was tried before a rule and applied.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Behind {
    /// A rule, or a simplification that is written in code.
    pub simplification: String,
    /// How often the rule would have applied too.
    pub times: u64,
}

/// What came of each of the user's own rules of a set, by the counters of all phases.
pub fn uses<'s>(set: &RuleSet, statistics: impl IntoIterator<Item = &'s Statistics>) -> Vec<RuleUse> {
    let mut total = Statistics::new();
    for (name, count) in statistics.into_iter().flatten() {
        *total.entry(name).or_default() += count;
    }
    let shadows = set.shadows();
    let of = |rule: &Rule| RuleUse {
        rule: rule.name,
        place: place(set, rule),
        applied: count(&total, rule.name),
        guard_failed: count(&total, rule.unmet()),
        in_a_loop: count(&total, rule.in_a_loop()),
        behind: behind(&total, rule),
        shadowed_by: shadows.iter().find(|(shadowed, _)| shadowed.name == rule.name).map(|(_, by)| *by),
    };
    set.rules()[set.builtin_count()..].iter().map(of).collect()
}

fn place(set: &RuleSet, rule: &Rule) -> String {
    let source = &set.sources()[rule.source];
    format!("{}:{}", source.name, line_column(&source.text, rule.decl().span.start).0)
}

fn count(total: &Statistics, name: &str) -> u64 {
    total.get(name).copied().unwrap_or(0)
}

fn behind(total: &Statistics, rule: &Rule) -> Vec<Behind> {
    let prefix = rule.behind("");
    let named = total.iter().filter_map(|(name, times)| Some((name.strip_prefix(prefix)?, *times)));
    let mut found: Vec<Behind> = named.map(|(name, times)| Behind { simplification: name.to_owned(), times }).collect();
    found.sort_by_key(|behind| std::cmp::Reverse(behind.times));
    found
}

/// Prints a line for each rule.
pub fn text(out: &mut dyn Write, uses: &[RuleUse]) -> io::Result<()> {
    uses.iter().try_for_each(|rule| writeln!(out, "{}", escaped(&rule.to_string())))
}

impl std::fmt::Display for RuleUse {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RuleUse { rule, place, applied, guard_failed, in_a_loop, behind, shadowed_by } = self;
        let mut parts =
            vec![if *applied == 0 { "never applied".to_owned() } else { format!("applied {}", times(*applied)) }];
        if *guard_failed > 0 {
            parts.push(format!("a guard failed {}", times(*guard_failed)));
        }
        if *in_a_loop > 0 {
            parts.push(format!("left alone {} in a loop, where it would cost more", times(*in_a_loop)));
        }
        for Behind { simplification, times: count } in behind {
            parts.push(format!("`{simplification}` applied in its place {}", times(*count)));
        }
        if let Some(by) = shadowed_by {
            parts.push(format!(
                "the built-in `{by}` is tried first and matches as much: a higher priority lets it apply"
            ));
        }
        if parts.len() == 1 && *applied == 0 {
            parts.push("nothing matched".to_owned());
        }
        write!(out, "rule {rule} at {place}: {}", parts.join("; "))
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { counted(count, "time") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kept_a_rule_from_applying_is_said() {
        let text = "rule a: iadd.u32(x, 0) => x\n\nrule b: isub.u32(x, 1) => x\nrule c: not.b32(not.b32(x)) => x";
        let set = RuleSet::builtin().with("mine.rules", text).unwrap_or_else(|error| panic!("{}", error.lines()));
        let counters: [Statistics; 2] = [
            [("a: behind add-zero", 2), ("a: behind fold-constant", 3), ("b", 1), ("b: guard", 4)].into(),
            [("a: behind add-zero", 2), ("add-zero", 9)].into(),
        ];
        let lines: Vec<String> = uses(&set, &counters).iter().map(ToString::to_string).collect();
        let expected = [
            "rule a at mine.rules:1: never applied; `add-zero` applied in its place 4 times; `fold-constant` applied in \
             its place 3 times; the built-in `add-zero` is tried first and matches as much: a higher priority lets it \
             apply",
            "rule b at mine.rules:3: applied once; a guard failed 4 times",
        ];
        assert_eq!(lines[..2], expected);
        let unmatched = uses(&RuleSet::parse("mine.rules", "rule d: isub.u32(x, 1) => x").expect("right"), &[]);
        assert_eq!(unmatched[0].to_string(), "rule d at mine.rules:1: never applied; nothing matched");
    }
}
