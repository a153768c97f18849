//! Machine rules: what they do in their examples, and whether they are right.

use std::io::{self, Write};

use oriole_optimizer::codegen::peephole::examples;
use oriole_optimizer::codegen::peephole::set::MachineRules;
use oriole_optimizer::peephole::RuleSet;
use oriole_proof::Prover;
use oriole_rules::machine::Rule;
use oriole_sass::{SMS, Table};
use oriole_validate::machine::{Verdict, judge};
use schemars::JsonSchema;
use serde::Serialize;

use super::CheckArgs;

/// What is known of a machine rule.
#[derive(JsonSchema, Serialize)]
pub struct Line {
    /// Its name.
    name: &'static str,
    /// The verdict: `right`, `wrong`, or `not judged`.
    verdict: &'static str,
    /// How many choices of constants and marks were compared.
    spellings: usize,
    /// Those of them that are proved for every content of the registers; the others were tried.
    proved: usize,
    /// Words for which the rule is wrong, or why it is not judged.
    detail: Option<String>,
    /// The examples that say what is not so.
    wrong_examples: Vec<String>,
}

/// The machine rules of the files that were named, or those of the tree.
pub(super) fn rules<'a>(args: &CheckArgs, set: &'a RuleSet) -> &'a [Rule] {
    if args.files.is_empty() { MachineRules::builtin().rules() } else { set.machine() }
}

/// Judges the machine rules that were asked for.
pub(super) fn lines(args: &CheckArgs, set: &RuleSet, prover: &Prover) -> Vec<Line> {
    let chosen = |rule: &&Rule| args.rule.is_empty() || args.rule.iter().any(|name| name == rule.name);
    rules(args, set).iter().filter(chosen).map(|rule| Line::of(rule, prover)).collect()
}

impl Line {
    /// Judged on the first SM that has words for the rule.
    fn of(rule: &Rule, prover: &Prover) -> Line {
        let prover = Some(prover).filter(|prover| prover.solver.is_some());
        let sms = SMS.into_iter().filter(|sm| rule.only.is_empty() || rule.only.contains(sm));
        let mut verdicts = sms.filter_map(Table::of).map(|table| judge(rule, table, prover));
        let found = verdicts.find(|verdict| *verdict != Verdict::NoWords).unwrap_or(Verdict::NoWords);
        let (verdict, spellings, proved, detail) = match found {
            Verdict::Right { spellings, proved } => ("right", spellings, proved, None),
            Verdict::Wrong(words) => ("wrong", 0, 0, Some(words)),
            Verdict::NotModelled(why) => ("not judged", 0, 0, Some(why)),
            Verdict::NoWords => ("not judged", 0, 0, Some("no SM has words for it".to_owned())),
        };
        let wrong_examples = examples::wrong(rule).iter().map(ToString::to_string).collect();
        Line { name: rule.name, verdict, spellings, proved, detail, wrong_examples }
    }

    /// Whether the rule is wrong.
    pub(super) fn is_wrong(&self) -> bool {
        self.verdict == "wrong"
    }

    /// Whether the rule says of itself what is not so.
    pub(super) fn is_faulty(&self) -> bool {
        !self.wrong_examples.is_empty()
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Line { name, verdict, spellings, proved, detail, wrong_examples } = self;
        match detail {
            Some(detail) => writeln!(out, "machine rule {name}: {verdict}: {detail}")?,
            None => writeln!(out, "machine rule {name}: {verdict} in {spellings} spellings, {proved} of them proved")?,
        }
        wrong_examples.iter().try_for_each(|fault| writeln!(out, "  an example is wrong: {fault}"))
    }
}
