//! Rule files: diagnostics or rules; what is accepted is printed, read again, and applied.

use std::sync::Arc;

use oriole_ir::sm::Target;
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_rules::{Source, SourceError};

use super::canary;
use super::input::{draw, text};
use oriole_check::kernels::from_seed;
use oriole_generate::Config;
use oriole_generate::patterns::Patterns;
use oriole_launch::random::SplitMix64;
use oriole_validate::kernel::PHASE;

/// Changes that the rules of a file may make to a kernel: they are not known to come to an end.
const MOST_REWRITES: u64 = 256;
/// A rule stands for many instances; files for more are read and not applied.
const MOST_INSTANCES: usize = 3000;

/// A rule file: reading ends in diagnostics or rules, never in a panic. Rules are printed as text that reads as the
/// same rules, and whatever they mean, what they make of a kernel with their left-hand sides verifies.
pub fn rules(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    oriole_sass::ori::register();
    let source = Source { name: "fuzz.rules".to_owned(), text: text.to_owned().into() };
    let checked = RuleSet::parse_all(std::slice::from_ref(&source));
    if let Err(error) = &checked {
        assert_places(error, text);
    }
    match RuleSet::unchecked(&[source]) {
        Err(error) => {
            assert_places(&error, text);
            draw(error);
            assert!(checked.is_err(), "rules with faults are accepted:\n{text}");
            false
        }
        Ok(set) => {
            through_text(&set, text);
            if !set.rules().is_empty() && set.patterns() <= MOST_INSTANCES {
                applied(set, data);
            }
            true
        }
    }
}

/// A refusal says at least one thing, about bytes of what is shown of the file.
fn assert_places(error: &SourceError, text: &str) {
    assert!(!error.lines().is_empty(), "a refusal names at least one fault:\n{text}");
    for fault in &error.related {
        let end = fault.span.offset() + fault.span.len();
        let inside = error.source_code.shown().get(fault.span.offset()..end).is_some();
        assert!(inside, "`{fault}` is about bytes {:?}, which the text does not have:\n{text}", fault.span);
        assert!(!fault.help.is_empty() && !fault.message.is_empty(), "`{fault}` says not what to do:\n{text}");
    }
}

/// Printing and reading gives the same rules.
fn through_text(set: &RuleSet, text: &str) {
    let print = |set: &RuleSet| -> Vec<String> { set.rules().iter().map(|rule| rule.decl().to_string()).collect() };
    let mut written = print(set);
    if let Some(first) = written.first_mut().filter(|_| canary::planted()) {
        *first = first.replacen("(", "( ,", 1);
    }
    let source = Source { name: "printed.rules".to_owned(), text: written.join("\n").into() };
    match RuleSet::unchecked(&[source]) {
        Ok(again) => {
            assert_eq!(print(&again), written, "printing and reading changes the rules:\n{text}");
            assert_eq!(
                again.patterns(),
                set.patterns(),
                "printing and reading changes what the rules stand for:\n{text}"
            );
        }
        Err(error) => panic!("what was printed is refused: {}\n{text}", error.lines()),
    }
}

/// Kernels with the left-hand sides stay valid.
fn applied(set: RuleSet, data: &[u8]) {
    let set = Arc::new(set);
    let seed = data.iter().fold(0, |seed: u64, byte| SplitMix64::new(seed ^ u64::from(*byte)).next_u64());
    let mut config =
        Config { patterns: Patterns::new(set.sources(), set.rules()), instructions: [20, 40], ..Config::default() };
    config.family.pattern = 400;
    let mut module = from_seed(seed, &config).module;
    let before = module.to_string();
    let mut passes = Pipeline::ptxas();
    passes.retain(|element| element.name == PHASE);
    let target = Target::portable(90).expect("sm_90 has a row");
    let options =
        Options { rules: Some(set), verify: true, rewrite_limit: Some(MOST_REWRITES), ..Options::new(target) };
    if let Err(error) = run_passes(&passes, &mut module, &options, &mut ()) {
        let text = options.rules.iter().flat_map(|set| set.rules()).map(|rule| format!("{}\n", rule.decl()));
        panic!("rules leave an invalid module: {error}\n{}\n{before}", text.collect::<String>());
    }
}
