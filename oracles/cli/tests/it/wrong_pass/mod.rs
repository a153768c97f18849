//! Whether generated kernels show that a pass is wrong.

use oriole_check::{CheckOptions, check_module, kernels};
use oriole_generate::Config;
use oriole_optimizer::pass::{Element, PhaseFn, Run};

/// Generated kernels in which a wrong pass must show. Most do so in some hundred, which a core checks in a second.
const CASES: u64 = 20_000;

/// The first case that has a finding.
pub fn first_finding(function: PhaseFn, config: &Config, cases: u64) -> Option<u64> {
    let options = CheckOptions {
        passes: [Element::custom("Planted", Run::function(function))].into(),
        randoms: 0,
        destruction: false,
        round_trip: false,
        ..CheckOptions::default()
    };
    (0..cases).find(|number| {
        let generated = kernels::case(1, *number, config);
        let report = check_module("planted", &generated.module, &generated.launches, &options);
        !report.expect("it can be checked").clean
    })
}

#[track_caller]
pub fn assert_found(function: PhaseFn, config: &Config) {
    let found = first_finding(function, config, CASES);
    assert!(found.is_some(), "no finding in {CASES} cases");
}
