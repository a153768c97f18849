//! Whether each guard of a rule is needed: without it, the rule must be wrong.
//!
//! A guard on operands or constants is left out of every instance; one on variables alone lets combinations in that it
//! excluded. Guards that only say when a rule pays (`variable`, `constant`, `single_use`) are exempt. Where the terms
//! show nothing, kernels are executed.

use std::sync::Arc;

use oriole_optimizer::peephole::RuleSet;
use oriole_rules::language::ast::{Guard, RuleDecl};

use super::describe::described;
use super::judge::Judge;
use super::kernel::{self, Case, Confirmation};
use super::report::{GuardReport, Need};
use super::settle::{Effort, Settled, tried};
use super::translate::{Absence, Question, translate, translate_opaque};
use super::variant::variants;
use oriole_proof::{SolverError, shrink};

/// Every guard with whether it is needed.
pub fn needs(judge: &Judge, set: &RuleSet, index: usize) -> Result<Vec<GuardReport>, SolverError> {
    let mut reports = listed(set.rules()[index].decl());
    for (number, report) in reports.iter_mut().enumerate() {
        if report.need != Need::Cost {
            report.need = need(judge, set, index, number)?;
        }
    }
    Ok(reports)
}

/// The guards, none of them looked at but those about cost.
fn listed(decl: &RuleDecl) -> Vec<GuardReport> {
    let report = |guard: &Guard| {
        let need = if is_cost(guard) { Need::Cost } else { Need::Unclear };
        GuardReport { text: guard.to_string(), need }
    };
    decl.guards.iter().map(report).collect()
}

/// Predicates whose negation says nothing about values.
const UNKNOWN: &[&str] = &["known_zero", "known_one", "disjoint", "nonzero", "not_nan", "unused"];

/// Whether a guard says nothing about what the rule means. Of what an analysis does not know nothing follows.
fn is_cost(guard: &Guard) -> bool {
    let named = |guard: &Guard, names: &[&str]| match guard {
        Guard::Call { function, .. } => names.contains(&function.text.as_str()),
        _ => false,
    };
    match guard {
        Guard::Call { .. } => named(guard, &["variable", "constant", "single_use"]),
        Guard::Not { guard, .. } => is_cost(guard) || named(guard, UNKNOWN),
        Guard::Any(guards) => guards.iter().all(is_cost),
        _ => false,
    }
}

fn need(judge: &Judge, set: &RuleSet, index: usize, number: usize) -> Result<Need, SolverError> {
    let weaker = match set.without_guard(index, number) {
        Ok(weaker) => Arc::new(weaker),
        Err(fault) => return Ok(Need::Refused(fault.to_string())),
    };
    let rule = &set.rules()[index];
    // Only instances that the guard kept out or changed can show what it is good for.
    let changed = weaker.rules()[0].instances().iter().filter(|instance| !rule.instances().contains(instance));
    let (mut questions, mut need): (Vec<Question<'_>>, Need) = (Vec::new(), Need::Idle);
    for variant in changed.filter_map(|instance| variants(instance).ok()).flatten() {
        let found = match translate(variant.clone()) {
            Err(Absence::Operation { .. }) => translate_opaque(variant),
            found => found,
        };
        match found {
            Ok(question) => {
                // Only a kernel can show something of what is any function, or more than registers.
                need = if question.opaque { Need::Unclear } else { need };
                questions.push(question);
            }
            Err(Absence::Fields) => {}
            Err(absence @ Absence::Order(_)) => return Ok(Need::Refused(absence.to_string())),
            Err(_) => need = Need::Unclear,
        }
    }
    // Inputs are tried for all questions before a solver is asked about the first.
    for question in questions.iter_mut().filter(|question| !question.opaque) {
        let found = tried(&mut question.terms, &question.query, judge.settings.quick, 3);
        if let Some(inputs) = found.counterexample {
            let inputs = shrink(&question.terms, &question.query, inputs);
            return Ok(shown(question, &inputs));
        }
    }
    for question in questions.iter_mut().filter(|question| !question.opaque) {
        match &judge.question(&mut question.terms, &question.query, Effort::Brief)?.settled {
            Settled::Wrong { inputs, .. } => {
                let mut inputs = inputs.clone();
                inputs.resize(question.terms.variables().len(), 0);
                return Ok(shown(question, &inputs));
            }
            // The others would take as long.
            Settled::Open { .. } => {
                need = Need::Unclear;
                break;
            }
            _ => {}
        }
    }
    Ok(executed(judge, &questions, &weaker).unwrap_or(need))
}

/// What the terms do not say: effects.
fn executed(judge: &Judge, questions: &[Question<'_>], weaker: &Arc<RuleSet>) -> Option<Need> {
    if !judge.settings.kernels {
        return None;
    }
    let refutation = kernel::execute(questions, &[], weaker).1?;
    let confirmed = matches!(refutation.confirmation, Confirmation::Confirmed(_));
    confirmed.then(|| Need::Shown(refutation.to_string()))
}

fn shown(question: &Question<'_>, inputs: &[u128]) -> Need {
    Need::Shown(described(question, &Case::plain(inputs), "samples", Confirmation::NotTried).to_string())
}
