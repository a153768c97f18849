//! The bodies of the fuzz targets: from bytes to an assertion.
//!
//! Each takes what libFuzzer makes of the seeds (text of a kernel, more or less) and returns whether the input got as
//! far as the property, so that a test can see that the target is not idle. A broken property is a panic that says
//! what to do next.

use oriole_optimizer::ir::{Function, FunctionKind, Module, Variable, parse_module};
use oriole_optimizer::ptx;
use oriole_optimizer::verify::verify_module;

use crate::check::{CheckOptions, check_module};
use crate::generate::{self, Config, Generated};
use crate::input::NamedLaunch;
use crate::interp::{Executable, RunOptions};
use crate::launch::{Arg, ArgValue, Buffer, Launch, Scalar, ScalarType, random};

/// Warp instructions that one run may take.
const STEPS: u64 = 20_000;
/// Bytes of a buffer that is made for a pointer parameter.
const BUFFER: usize = 512;
/// Inputs above this many bytes are not looked at: the time goes into size, not into cases.
const MAX_INPUT: usize = 1 << 16;

/// PTX text: reading gives a module that verifies, or diagnostics; never a panic. What verifies runs without one.
pub fn ptx(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    match ptx::read(text) {
        Ok(module) => {
            if let Err(violations) = verify_module(&module) {
                panic!("the front end made a module that does not verify: {}", violations[0]);
            }
            execute(&module);
            true
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal names at least one fault");
            false
        }
    }
}

/// `.ori` text: what parses is printed to text that parses to the same module; what verifies runs without a panic.
pub fn ori_round_trip(data: &[u8]) -> bool {
    let Some(Ok(module)) = text(data).map(parse_module) else { return false };
    let printed = module.to_string();
    match parse_module(&printed) {
        Ok(again) => assert_eq!(module, again, "printing and parsing changes the module:\n{printed}"),
        Err(error) => panic!("what was printed does not parse: {error}:\n{printed}"),
    }
    if verify_module(&module).is_ok() {
        execute(&module);
    }
    true
}

/// A kernel, as `.ori` or PTX: no phase changes what it does.
pub fn phase_check(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    let module = match parse_module(text) {
        Ok(module) => module,
        Err(_) => match ptx::read(text) {
            Ok(module) => module,
            Err(_) => return false,
        },
    };
    if verify_module(&module).is_err() || Executable::new(&module).is_err() {
        return false;
    }
    let launches: Vec<NamedLaunch> = entries(&module).filter_map(|func| launch_for(func, 1)).collect();
    check(&module, &launches)
}

/// A generated kernel, made of these bytes: no phase changes what it does.
pub fn generated_check(data: &[u8]) -> bool {
    let Generated { module, launches } = generate::from_bytes(data, &Config::default());
    if let Err(violations) = verify_module(&module) {
        panic!("the generator made a module that does not verify: {}\n{module}", violations[0]);
    }
    check(&module, &launches)
}

/// Whether there was anything to check; a finding is a panic.
fn check(module: &Module, launches: &[NamedLaunch]) -> bool {
    let options = CheckOptions { steps: Some(STEPS), randoms: 0, ..CheckOptions::default() };
    match check_module("fuzzed", module, launches, &options) {
        Ok(report) => {
            let findings = report.findings.iter().map(|finding| format!("{finding:#?}")).collect::<Vec<_>>();
            assert!(findings.is_empty(), "{}\n{module}", findings.join("\n"));
            !launches.is_empty()
        }
        Err(_) => false,
    }
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok().filter(|text| text.len() <= MAX_INPUT)
}

fn entries(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.values().filter(|func| func.kind == FunctionKind::Entry && func.is_definition())
}

/// Runs every entry on made-up data; any outcome will do.
fn execute(module: &Module) {
    let Ok(executable) = Executable::new(module) else { return };
    let options = RunOptions { steps: Some(STEPS), ..RunOptions::default() };
    for NamedLaunch { launch, .. } in entries(module).filter_map(|func| launch_for(func, 1)) {
        // A launch can be refused, for example where a variable lives in another module.
        let _ = executable.run(&launch, &options);
    }
}

/// A small launch that fits an entry: a buffer for each parameter of 8 bytes, small numbers for the others; `None`
/// where the parameters are too large.
pub fn launch_for(func: &Function, seed: u64) -> Option<NamedLaunch> {
    let mut launch = Launch::new(Some(func.name.clone()));
    (launch.grid, launch.block) = ([2, 1, 1], [40, 1, 1]);
    for (index, param) in func.params.iter().enumerate() {
        let value = argument(func.locals.get(*param)?, seed + index as u64)?;
        launch.args.push(Arg { name: None, value });
    }
    Some(NamedLaunch { name: format!("{}, made up from seed {seed}", func.name), launch })
}

fn argument(param: &Variable, seed: u64) -> Option<ArgValue> {
    match param.size() {
        8 => {
            let bytes = random::bytes(seed, BUFFER);
            Some(ArgValue::Buffer(Buffer { bytes, element: None, expect: None }))
        }
        4 => Some(ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 37 + seed % 8))),
        size @ 0..=4096 => Some(ArgValue::Bytes(random::bytes(seed, size as usize))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::launch::random::SplitMix64;

    const KERNEL: &str = include_str!("../../corpus/kernels/saxpy.ptx");

    /// Runs a target for a second on damaged text; at least one input in a hundred must reach the property.
    fn smoke(seed: &str, target: fn(&[u8]) -> bool) {
        let mut rng = SplitMix64::new(7);
        let (mut reached, mut cases) = (0, 0);
        let start = Instant::now();
        assert!(target(seed.as_bytes()), "the seed itself reaches the property");
        while start.elapsed() < Duration::from_secs(1) {
            let mut bytes = seed.as_bytes().to_vec();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = b"0123456789abcdefrsu.,;%@ "[rng.below(25) as usize];
            reached += u32::from(target(&bytes));
            cases += 1;
        }
        assert!(cases > 20 && reached * 100 >= cases, "{reached} of {cases} reached the property");
    }

    fn as_ori() -> String {
        ptx::read(KERNEL).expect("the kernel reads").to_string()
    }

    #[test]
    fn ptx_target_is_not_idle() {
        smoke(KERNEL, super::ptx);
    }

    #[test]
    fn ori_target_is_not_idle() {
        smoke(&as_ori(), ori_round_trip);
    }

    #[test]
    fn phase_check_target_is_not_idle() {
        smoke(&as_ori(), phase_check);
    }

    #[test]
    fn generated_check_target_is_not_idle() {
        let start = Instant::now();
        let mut cases = 0;
        while start.elapsed() < Duration::from_secs(1) {
            let length = 16 << (cases % 8);
            assert!(generated_check(&random::bytes(cases, length)), "every input is a kernel");
            cases += 1;
        }
        assert!(cases > 20, "{cases} cases in a second");
    }
}
