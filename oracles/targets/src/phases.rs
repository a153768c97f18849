//! Phase equivalence: no phase changes what a kernel does.

use oriole_check::input::{read_ptx, write_ptx};
use oriole_ir::Module;

use super::canary;
use super::input::{STEPS, kernel_of_bytes, launches_for, module_of_text};
use oriole_check::input::NamedLaunch;
use oriole_check::{CheckOptions, check_module};
use oriole_generate::Generated;

/// A kernel, as `.ori` or PTX: no phase changes what it does.
pub fn phase_check(data: &[u8]) -> bool {
    let Some(module) = module_of_text(data) else { return false };
    let launches = launches_for(&module);
    check(&module, &launches)
}

/// A generated kernel, made of these bytes: no phase changes what it does.
pub fn generated_check(data: &[u8]) -> bool {
    let (_, Generated { module, launches, .. }) = kernel_of_bytes(data, 0);
    check(&module, &launches)
}

/// Whether there was anything to check; a finding is a panic.
fn check(module: &Module, launches: &[NamedLaunch]) -> bool {
    let passes = canary::phases_that_lose();
    // Text form can say what is well-formed and yet no PTX, such as `ldu` from a parameter.
    let round_trip = write_ptx(module).is_ok_and(|text| read_ptx(&text).is_ok());
    let options = CheckOptions { passes, round_trip, steps: Some(STEPS), randoms: 0, ..CheckOptions::default() };
    match check_module("fuzzed", module, launches, &options) {
        Ok(report) => {
            let findings = report.findings.iter().map(|finding| format!("{finding:#?}")).collect::<Vec<_>>();
            assert!(findings.is_empty(), "{}\n{module}", findings.join("\n"));
            report.inconclusive() < report.cases.len()
        }
        Err(_) => false,
    }
}
