//! Faults in phases over machine code: invented kernels are compiled, and each kind of fault is planted in what a phase
//! leaves of the code.
//!
//! The check that a campaign makes must blame the phase. A fault that shows nothing there is tried on other data of the
//! launches: it escaped if that shows it, and else is probably neutral, as what nobody reads, or a wait for what is
//! there anyway.

use std::sync::Arc;
use std::time::Instant;

use oriole_check::CheckOptions;
use oriole_check::bisection_limit::BisectionLimit;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::in_place::Code;
use oriole_check::inject::{CODE_KINDS, FaultSpec, Kind};
use oriole_check::report::KernelReport;
use oriole_check::supervise::{LIMIT, StepId};
use oriole_generate::another_launch;
use rayon::prelude::*;

use super::{KindReport, MOST_SHOWN, Missed, Options, TARGETS, all_steps};
use crate::record::Key;
use crate::{Vary, case_name, compiled};

/// Plants faults of each kind in the code of each case.
pub(super) fn run(options: &Options, compiler: &Compiler, done: &(dyn Fn(&'static str) + Sync)) -> Vec<KindReport> {
    let all: Vec<&'static Kind> = CODE_KINDS.iter().collect();
    let kinds = if options.kinds.is_empty() { &all } else { &options.kinds };
    let codes = codes(options, compiler);
    kinds.par_iter().map(|kind| of_kind(kind, options, &codes, done)).collect()
}

/// The kernel of a case with its number, for a compiler; none where its case has no kernel.
pub(super) fn kernels(
    options: &Options,
    compiler: Option<Arc<Compiler>>,
) -> impl Fn(u64) -> Option<(u64, Kernel)> + Sync {
    let campaign = crate::Options {
        config: options.config.clone(),
        targets: TARGETS.to_vec(),
        compiler,
        vary: Vary::Nothing,
        ..crate::Options::new(options.seed, options.cases)
    };
    let (cases, seed) = (campaign.by_number(), options.seed);
    move |number: u64| {
        let made = cases.sound(number).ok()?.generated;
        let module = campaign.module_of(number, made.module);
        Some((number, Kernel { name: case_name(seed, number), module, launches: made.launches }))
    }
}

/// The code of each case. One whose code is not there is no case.
fn codes(options: &Options, compiler: &Compiler) -> Vec<(u64, Vec<Code>)> {
    let kernel = kernels(options, Some(Arc::new(compiler.clone())));
    let numbers: Vec<u64> = (0..options.cases).collect();
    let batch = |numbers: &[u64]| {
        let (numbers, kernels): (Vec<u64>, Vec<Kernel>) = numbers.iter().filter_map(|number| kernel(*number)).unzip();
        let codes = compiler.code_of(&kernels).unwrap_or_default();
        numbers.into_iter().zip(codes).collect::<Vec<_>>()
    };
    numbers.par_chunks(compiled::BATCH).flat_map_iter(batch).collect()
}

fn of_kind(
    kind: &'static Kind,
    options: &Options,
    codes: &[(u64, Vec<Code>)],
    done: &(dyn Fn(&'static str) + Sync),
) -> KindReport {
    let all: Vec<StepId> =
        all_steps(&options.passes).into_iter().filter(|step| matches!(step, StepId::Pass(_))).collect();
    let steps = if options.steps.is_empty() { &all } else { &options.steps };
    let (mut report, limit, start) = (KindReport::new(kind), Arc::<BisectionLimit>::default(), Instant::now());
    for (number, codes) in codes {
        if options.enough.is_some_and(|enough| report.caught >= enough) {
            break;
        }
        done(kind.name);
        report.cases += 1;
        let fault = options.fault(kind, steps, *number);
        // Which way to compile it gets follows from the case, too.
        let Some(code) = codes.get(*number as usize % codes.len().max(1)) else { continue };
        let Some(found) = found(code, fault, options, &limit, 0) else { continue };
        report.injected += 1;
        if found {
            report.caught += 1;
            report.first_case.get_or_insert(report.cases);
            report.first_seconds.get_or_insert(start.elapsed().as_secs_f64());
            continue;
        }
        let escaped = found_with_data(code, fault, options, &limit);
        *if escaped { &mut report.escaped } else { &mut report.probably_neutral } += 1;
        if report.shown.iter().filter(|missed| missed.escaped == escaped).count() < MOST_SHOWN {
            let shows = if escaped { "other data shows it" } else { "no other data shows it" };
            report.shown.push(Missed {
                fault: fault.to_string(),
                case: *number,
                why: format!("{}: {shows}", code.origin),
                escaped,
                diff: String::new(),
                replay: options.replay_of(fault, *number),
            });
        }
    }
    report
}

fn found_with_data(code: &Code, fault: FaultSpec, options: &Options, limit: &Arc<BisectionLimit>) -> bool {
    options.data_sets > 0 && found(code, fault, options, limit, options.data_sets).unwrap_or(false)
}

/// Whether a check blames the step for its fault, with so many further sets of data; `None` where the code has no place
/// for it, or is not executed.
fn found(
    code: &Code,
    fault: FaultSpec,
    options: &Options,
    limit: &Arc<BisectionLimit>,
    data_sets: u64,
) -> Option<bool> {
    let mut passes = options.passes.clone();
    fault.plant(&mut passes);
    let mut check = CheckOptions {
        passes,
        randoms: u32::try_from(data_sets).unwrap_or(u32::MAX),
        tries: options.config.tries,
        another: another_launch,
        destruction: false,
        round_trip: false,
        enough: Some(1),
        bisection_limit: Some(limit.clone()),
        faults: vec![fault],
        ..CheckOptions::default()
    };
    check.pipeline.opt_level = options.level;
    let report: KernelReport = code.check_within(&check, LIMIT).ok().filter(|report| report.judged)?;
    report
        .findings
        .iter()
        .filter(|finding| finding.bisected)
        .for_each(|finding| limit.note(Key::of(finding).class(), 1));
    let is_blamed = report.findings.iter().any(|finding| finding.phase == fault.step);
    (is_blamed || report.faults.iter().any(|line| line.planted)).then_some(is_blamed)
}
