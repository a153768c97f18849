//! Optimization, the check of each step, and the comparison of two programs.

use std::time::Duration;

use oriole_check::compare::{CompareError, Compared, entries};
use oriole_check::job::Job;
use oriole_check::supervise::{LIMIT, catch};
use oriole_check::{CheckOptions, RaceSearch};
use oriole_interp::Executable;
use oriole_launch::{NamedLaunch, Tolerance};
use oriole_optimizer::pipeline::runner::run_passes;
use oriole_optimizer::ssa;
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::Error;
use crate::finding::Finding;
use crate::launch::Launch;
use crate::program::Module;
use crate::settings::Settings;
use crate::work;

/// The launches that Python gives.
pub fn named(launches: &[Py<Launch>]) -> Vec<NamedLaunch> {
    launches.iter().map(|launch| launch.get().named.clone()).collect()
}

/// The program that the passes make of another one.
#[pyfunction]
pub fn optimize(py: Python<'_>, module: &Module, settings: Settings) -> PyResult<Module> {
    let (mut program, name) = ((*module.inner).clone(), module.name.clone());
    work::run(py, move |_| {
        let (passes, options) = settings.pipeline(&program)?;
        let outcome = catch(|| {
            if ssa::is_virtual(&program) {
                ssa::construct_module(&mut program);
            }
            run_passes(&passes, &mut program, &options, &mut ())
        });
        let remedy = "`check` says which step it is, and why";
        match outcome {
            Ok(Ok(_)) => Ok(Module::made(&name, program)),
            Ok(Err(error)) => Err(Error::input(format!("{name}: {error}"), remedy)),
            Err(panic) => Err(Error::internal(&panic)),
        }
    })
}

/// Checks every step on the launches: the report as JSON, and the findings.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's function")]
pub fn check(
    py: Python<'_>,
    module: &Module,
    launches: Vec<Py<Launch>>,
    settings: Settings,
    randoms: u32,
    seed: u64,
    steps: Option<u64>,
    races: bool,
) -> PyResult<(String, Vec<Finding>)> {
    let (program, name, launches) = (module.inner.clone(), module.name.clone(), named(&launches));
    work::run(py, move |_| {
        let races = RaceSearch::asked(races);
        let options = CheckOptions { randoms, seed, steps, races, ..settings.check(&program)? };
        let job = Job { name, module: (*program).clone(), launches, options };
        let report = job.check(LIMIT).map_err(|error| Error::of_check(&job.name, &error))?;
        let text = text(&report)?;
        let Job { launches, options, .. } = job;
        let finding = |finding: &oriole_check::report::Finding| Finding::of_step(finding, &options, &launches);
        Ok((text, report.findings.iter().map(finding).collect()))
    })
}

/// A document in JSON.
pub fn text(document: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(document)
        .map_err(|error| Error::input(format!("no JSON: {error}"), "report it with the input"))
}

/// Compares the kernels of two programs: for each what is known, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's function")]
pub fn compare(
    py: Python<'_>,
    before: &Module,
    after: &Module,
    launches: Vec<Py<Launch>>,
    randoms: u32,
    seed: u64,
    steps: Option<u64>,
    races: bool,
    tolerance: Option<String>,
) -> PyResult<String> {
    let (first, second, name) = (before.inner.clone(), after.inner.clone(), before.name.clone());
    let (launches, called) = (named(&launches), after.name.clone());
    work::run(py, move |_| {
        let tolerance = tolerance.map(|text| Tolerance::parse(&text)).transpose();
        let distance = "write ulp=2, relative=1e-6 or absolute=1e-9, or the last two with a comma";
        let tolerance = tolerance.map_err(|error| Error::input(format!("tolerance: {error}"), distance))?;
        let after = Executable::new(&second)
            .map_err(|error| Error::input(format!("{called} cannot run: {error}"), "`run` says more"))?;
        let races = RaceSearch::asked(races);
        let options = CheckOptions { randoms, seed, steps, races, vary: true, ..CheckOptions::default() };
        let (before, launches) = (&*first, &launches[..]);
        let names = entries(before);
        if names.is_empty() {
            return Err(Error::input(format!("`{name}` has no kernel"), "a kernel is an `.entry` with a body"));
        }
        let compared = Compared { name: &name, before, after: &after, launches, options: &options, tolerance };
        let kernel = |kernel: &str| {
            compared.kernel(kernel).map_err(|error| match error {
                CompareError::Check(error) => Error::of_check(&name, &error),
                error @ CompareError::NoFloats(_) => Error::input(error, "give an array of floats"),
            })
        };
        let kernels = names.into_iter().map(kernel).collect::<Result<Vec<_>, _>>()?;
        text(&kernels)
    })
}

/// A duration of Python's seconds; bounded, so that no number of them panics.
pub fn seconds(seconds: f64) -> Result<Duration, Error> {
    let most = Duration::from_secs(7 * 24 * 3600);
    Duration::try_from_secs_f64(seconds)
        .map(|time| time.min(most))
        .map_err(|_| Error::input(format!("{seconds} is no time in seconds"), "give a number that is not negative"))
}
