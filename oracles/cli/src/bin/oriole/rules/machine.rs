//! Machine rules: what they do in their examples, and whether they are right.

use std::io::Write;

use oriole_optimizer::codegen::peephole::examples;
use oriole_optimizer::codegen::peephole::set::MachineRules;
use oriole_optimizer::peephole::RuleSet;
use oriole_proof::Prover;
use oriole_rules::machine::Rule;
use oriole_sass::{SMS, Table};
use oriole_validate::machine::{Verdict, judge};

use super::CheckArgs;
use crate::document::Format;
use crate::failure::{Failure, Status};

/// The machine rules of the files that were named, or those of the tree.
pub(super) fn rules<'a>(args: &CheckArgs, set: &'a RuleSet) -> &'a [Rule] {
    if args.files.is_empty() { MachineRules::builtin().rules() } else { set.machine() }
}

/// Checks the machine rules of the files that were named, or all; says what became of each, below the table of the
/// others.
pub(super) fn check(args: &CheckArgs, set: &RuleSet, prover: &Prover, out: &mut dyn Write) -> Result<Status, Failure> {
    let rules = rules(args, set);
    let chosen = |rule: &&Rule| args.rule.is_empty() || args.rule.iter().any(|name| name == rule.name);
    let mut status = Status::Clean;
    for rule in rules.iter().filter(chosen) {
        let verdict = verdict(rule, prover);
        if matches!(verdict, Verdict::Wrong(_)) {
            status = Status::Found;
        }
        if args.format == Format::Text {
            writeln!(out, "machine rule {}: {}", rule.name, said(&verdict))?;
        }
        for fault in examples::wrong(rule) {
            if status == Status::Clean {
                status = Status::BadInput;
            }
            if args.format == Format::Text {
                writeln!(out, "  an example is wrong: {fault}")?;
            }
        }
    }
    Ok(status)
}

/// The verdict on the first SM that has words for the rule.
fn verdict(rule: &Rule, prover: &Prover) -> Verdict {
    let prover = Some(prover).filter(|prover| prover.solver.is_some());
    let sms = SMS.into_iter().filter(|sm| rule.only.is_empty() || rule.only.contains(sm));
    let mut verdicts = sms.filter_map(Table::of).map(|table| judge(rule, table, prover));
    verdicts.find(|verdict| *verdict != Verdict::NoWords).unwrap_or(Verdict::NoWords)
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right { spellings, proved } => format!("right in {spellings} spellings, {proved} of them proved"),
        Verdict::Wrong(where_it_is) => format!("wrong: {where_it_is}"),
        Verdict::NotModelled(why) => format!("not judged: {why}"),
        Verdict::NoWords => "not judged: no SM has words for it".to_owned(),
    }
}
