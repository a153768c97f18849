//! Whether each guard of a rule is needed: without it, the rule must be wrong.
//!
//! A guard on operands or constants is left out of every instance; one on variables alone lets combinations in that it
//! excluded. Guards that only say when a rule pays (`variable`, `constant`, `single_use`) are exempt.

use oriole_optimizer::peephole::language::ast::{Guard, RuleDecl};
use oriole_optimizer::peephole::{Rule, without_guard};

use super::judge::{Judge, Settled, described, tried};
use super::kernel::{Case, Confirmation};
use super::report::{GuardReport, Need};
use super::translate::{Absence, Question, translate};
use super::variant::variants;
use crate::smt::{SolverError, shrink};

/// Every guard with whether it is needed.
pub fn needs(judge: &Judge, rule: &Rule) -> Result<Vec<GuardReport>, SolverError> {
    let mut reports = listed(&rule.decl);
    for (number, report) in reports.iter_mut().enumerate() {
        if report.need != Need::Cost {
            report.need = need(judge, rule, number)?;
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

/// Whether a guard says nothing about what the rule means.
fn is_cost(guard: &Guard) -> bool {
    match guard {
        Guard::Call { function, .. } => matches!(function.text.as_str(), "variable" | "constant" | "single_use"),
        Guard::Not { guard, .. } => is_cost(guard),
        Guard::Any(guards) => guards.iter().all(is_cost),
        _ => false,
    }
}

fn need(judge: &Judge, rule: &Rule, number: usize) -> Result<Need, SolverError> {
    let instances = match without_guard(&rule.decl, number) {
        Ok(instances) => instances,
        Err(fault) => return Ok(Need::Refused(fault.to_string())),
    };
    let changed = instances.iter().filter(|instance| !rule.instances.contains(instance));
    let (mut questions, mut need): (Vec<Question<'_>>, Need) = (Vec::new(), Need::Idle);
    for variant in changed.filter_map(|instance| variants(instance).ok()).flatten() {
        match translate(variant) {
            Ok(question) => questions.push(question),
            Err(Absence::Fields) => {}
            Err(_) => need = Need::Unclear,
        }
    }
    for question in &mut questions {
        let found = tried(&mut question.terms, &question.query, judge.settings.quick, 3);
        if let Some(inputs) = found.counterexample {
            let inputs = shrink(&question.terms, &question.query, inputs);
            return Ok(shown(question, &inputs));
        }
    }
    for question in &mut questions {
        match &judge.question(&mut question.terms, &question.query)?.settled {
            Settled::Wrong { inputs, .. } => {
                let mut inputs = inputs.clone();
                inputs.resize(question.terms.variables().len(), 0);
                return Ok(shown(question, &inputs));
            }
            Settled::Open { .. } => need = Need::Unclear,
            _ => {}
        }
    }
    Ok(need)
}

fn shown(question: &Question<'_>, inputs: &[u128]) -> Need {
    Need::Shown(described(question, &Case::plain(inputs), "samples", Confirmation::NotTried).to_string())
}
