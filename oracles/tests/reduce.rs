//! The reducer on findings of planted bugs in generated kernels.

mod bugs;

use bugs::{BUGS, findings, options};
use oriole_optimizer::ir::Function;
use oriole_oracles::check::report::{Evidence, Finding};
use oriole_oracles::reduce::{self, Options, Reduced};

fn instructions(evidence: &Evidence) -> usize {
    evidence.module.functions.values().map(Function::inst_count).sum()
}

/// One finding of each bug, reduced.
fn reduced() -> Vec<(&'static str, Finding, Reduced)> {
    let one = |(name, verdict, function): &(&'static str, &str, _)| {
        let options = options(name, *function);
        let finding = findings(&options, verdict, 3, 1).pop().unwrap_or_else(|| panic!("{name} shows in no kernel"));
        let reduced = reduce::finding(&finding, &options, &Options::default()).expect("the phase is known");
        (*name, finding, reduced)
    };
    BUGS.iter().map(one).collect()
}

#[test]
fn findings_become_small_and_stay_what_they_are() {
    let mut sizes = Vec::new();
    for (name, finding, reduced) in reduced() {
        let Reduced { before, after, evaluations, rounds, time, .. } = reduced;
        println!(
            "{name}: {} to {} instructions, {evaluations} evaluations, {rounds} rounds, {time:?}\n{}",
            before.instructions, after.instructions, reduced.evidence.module
        );
        assert!(reduced.interesting && reduced.complete, "{name}");
        assert!(before.instructions >= 200, "{name}");
        assert_eq!(after.instructions, instructions(&reduced.evidence));
        sizes.push((after.instructions, evaluations));
        let _ = finding;
    }
    sizes.sort_unstable();
    assert!(sizes[sizes.len() / 2].0 <= 12, "{sizes:?}");
    assert!(sizes.iter().all(|(_, evaluations)| *evaluations <= 2000), "{sizes:?}");
}
