//! How many wrong rewrite rules are refuted: `cargo bench -p oriole --bench rules`.
//!
//! Every built-in rule is changed by one mutation after the other, and each mutant judged. `-- N` takes every
//! N-th mutant only, `-- N --verbose` also prints those about which nothing is known, and
//! refutations that take more than a second.

#[path = "tools/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use oriole_optimizer::peephole::RuleSet;
use oriole_proof::{Cache, Prover, Solver};
use oriole_rules::Source;
use oriole_validate::kernel::Confirmation;
use oriole_validate::mutate::{Mutant, mutants};
use oriole_validate::{Judge, RuleReport, Settings, Verdict};
use rayon::prelude::*;

/// Runs the benchmark.
pub fn main() {
    let arguments = words::words(&["2000"]);
    let every = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1usize);
    let verbose = arguments.iter().any(|argument| argument == "--verbose");
    let solver = Solver::find(None).expect("a solver on the path can be asked its version");
    let cache = Mutex::new(Cache::in_memory());
    let settings = Settings { guards: false, ..Settings::default() };
    let judge = Judge::new(Prover { solver, cache, limit: Duration::from_secs(3) }, settings);
    let all: Vec<Mutant> = RuleSet::builtin().rules().iter().flat_map(|rule| mutants(rule.decl())).collect();
    let chosen: Vec<&Mutant> = all.iter().step_by(every).collect();
    let start = Instant::now();
    let judged: Vec<Option<(RuleReport, Duration)>> = chosen.par_iter().map(|mutant| verdict(&judge, mutant)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut slowest, mut disagreements, mut late) = (Duration::ZERO, 0, 0);
    for (mutant, judged) in chosen.iter().zip(&judged) {
        let Some((report, time)) = judged else {
            *counts.entry("refused when read").or_default() += 1;
            continue;
        };
        *counts.entry(report.verdict.name()).or_default() += 1;
        let open = matches!(report.verdict, Verdict::Unknown | Verdict::Vacuous);
        if let Some(refutation) = &report.refutation {
            slowest = slowest.max(*time);
            late += usize::from(*time > Duration::from_secs(2));
            if verbose && *time > Duration::from_secs(1) {
                println!("slow: {} ({})\n  {time:?}, {}", mutant.decl, mutant.mutation, refutation.found_by);
            }
            if !matches!(refutation.confirmation, Confirmation::Confirmed(_)) {
                disagreements += 1;
                println!(
                    "not confirmed: {} ({})\n  {refutation}\n  {:?}",
                    mutant.decl,
                    mutant.mutation,
                    reason(report)
                );
            }
        }
        if verbose && open {
            println!("{}: {} ({})\n  {:?}", report.verdict.name(), mutant.decl, mutant.mutation, report.proof.open);
        }
    }
    println!("{} of {} mutants in {:.1} s", chosen.len(), all.len(), start.elapsed().as_secs_f64());
    counts.iter().for_each(|(verdict, count)| println!("{count:6} {verdict}"));
    let refuted = counts.get("refuted").copied().unwrap_or(0);
    let unknown = counts.get("unknown").copied().unwrap_or(0);
    let share = 100.0 * refuted as f64 / (refuted + unknown).max(1) as f64;
    println!("refuted of those that are wrong or unknown: {share:.2} %");
    println!("slowest refutation {slowest:?}, {late} above two seconds, {disagreements} not confirmed");
}

fn reason(report: &RuleReport) -> Option<&str> {
    match &report.refutation.as_ref()?.confirmation {
        Confirmation::Disagreement { reason, .. } => Some(reason),
        _ => None,
    }
}

fn verdict(judge: &Judge, mutant: &Mutant) -> Option<(RuleReport, Duration)> {
    let source = Source { name: "mutant".to_owned(), text: mutant.decl.to_string().into() };
    let set = RuleSet::unchecked(&[source]).ok()?;
    let start = Instant::now();
    let report = judge.rule(&set, 0).expect("the solver answers");
    Some((report, start.elapsed()))
}
