//! Faults in the stages of our own compiler: invented kernels are compiled, and each kind of fault is planted in what a
//! stage makes of them.
//!
//! The check that a campaign makes must find the fault, and blame the stage. One that shows nothing is tried on other
//! data of the launches: it escaped if that shows it, and else is probably neutral.

use std::time::{Duration, Instant};

use oriole_check::CheckOptions;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::compiler::{Own, Tool};
use oriole_check::inject::{FaultSpec, STAGE_KINDS, kind};
use oriole_check::report::KernelReport;
use oriole_check::supervise::StepId;
use oriole_generate::another_launch;
use rayon::prelude::*;

use super::code::kernels;
use super::{KindReport, MOST_SHOWN, Missed, Options};

/// Plants faults of each kind in each stage that it is for, on each case.
pub(super) fn run(options: &Options, compiler: &Compiler, done: &(dyn Fn(&'static str) + Sync)) -> Vec<KindReport> {
    let Tool::Own(Own { patience, .. }) = &compiler.tool else { return Vec::new() };
    let kernels: Vec<(u64, Kernel)> =
        (0..options.cases).filter_map(kernels(options, options.compiler.clone())).collect();
    rows(options).par_iter().map(|row| of_row(*row, options, (compiler, *patience), &kernels, done)).collect()
}

/// The kinds with their stages, of those that are asked for.
pub fn rows(options: &Options) -> Vec<(StepId, &'static str)> {
    let all = STAGE_KINDS.iter().flat_map(|(stage, kinds)| kinds.iter().map(|name| (StepId::Stage(*stage), *name)));
    let is_asked = |(step, name): &(StepId, &str)| {
        let has_kind = options.kinds.is_empty() || options.kinds.iter().any(|kind| kind.name == *name);
        has_kind && (options.steps.is_empty() || options.steps.contains(step))
    };
    all.filter(is_asked).collect()
}

fn of_row(
    (step, name): (StepId, &'static str),
    options: &Options,
    compiler: (&Compiler, Duration),
    kernels: &[(u64, Kernel)],
    done: &(dyn Fn(&'static str) + Sync),
) -> KindReport {
    let kind = kind(name).expect("the rows name kinds");
    let (mut report, start) = (KindReport { stage: Some(step.name()), ..KindReport::new(kind) }, Instant::now());
    for (number, kernel) in kernels {
        if options.enough.is_some_and(|enough| report.caught >= enough) {
            break;
        }
        done(name);
        report.cases += 1;
        let fault = options.fault(kind, &[step], *number);
        let Some(found) = found(kernel, *number, compiler.0, fault, options, 0) else { continue };
        report.injected += 1;
        if let Some(blamed) = found {
            report.caught += 1;
            report.blamed += u64::from(blamed == step);
            report.first_case.get_or_insert(report.cases);
            report.first_seconds.get_or_insert(start.elapsed().as_secs_f64());
            if blamed != step {
                note(&mut report, fault, *number, options, false, format!("{blamed} is blamed"));
            }
            continue;
        }
        let again = || self::found(kernel, *number, compiler.0, fault, options, options.data_sets).flatten();
        let escaped = options.data_sets > 0 && again().is_some();
        *if escaped { &mut report.escaped } else { &mut report.probably_neutral } += 1;
        let why = if escaped { "other data shows it" } else { "no other data shows it" };
        note(&mut report, fault, *number, options, escaped, why.to_owned());
    }
    report
}

/// Keeps a fault to be shown, unless enough are.
fn note(report: &mut KindReport, fault: FaultSpec, case: u64, options: &Options, escaped: bool, why: String) {
    if report.shown.iter().filter(|missed| missed.escaped == escaped).count() < MOST_SHOWN {
        let (diff, replay) = (String::new(), options.replay_of(fault, case));
        report.shown.push(Missed { fault: fault.to_string(), case, why, escaped, diff, replay });
    }
}

/// The step that a check blames for a fault, if any, with so many further sets of data; `None` where the code has no
/// place for it, or says nothing.
fn found(
    kernel: &Kernel,
    number: u64,
    compiler: &Compiler,
    fault: FaultSpec,
    options: &Options,
    data_sets: u64,
) -> Option<Option<StepId>> {
    // Which way to compile it gets follows from the case.
    let axis = compiler.axes.get(number as usize % compiler.axes.len().max(1))?;
    let alone = Compiler { axes: vec![axis.clone()], ..compiler.clone() };
    let check = CheckOptions {
        randoms: u32::try_from(data_sets).unwrap_or(u32::MAX),
        tries: options.config.tries,
        another: another_launch,
        faults: vec![fault],
        ..CheckOptions::default()
    };
    let checked = alone.check_all(std::slice::from_ref(kernel), &check).ok()?.pop()?.ok()?;
    let report: KernelReport = checked.report;
    let blamed = report.findings.first().map(|finding| finding.phase);
    let is_planted = report.faults.iter().any(|line| line.planted);
    (report.judged && (is_planted || blamed.is_some())).then_some(blamed)
}
