//! Execution of a launch.

use std::sync::Arc;

use miette::Diagnostic;
use oriole_interp::{Bytes, Executable, Outcome, RunOptions, RunResult};
use oriole_launch::{Launch as Described, ScalarType};
use oriole_machine::Lifted;
use oriole_sass::ori::in_place;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::Error;
use crate::launch::Launch;
use crate::program::{Cubin, Module};
use crate::work;

/// Differing elements told of a buffer.
const SHOWN: usize = 5;

/// A buffer, or the texels of an image, behind a run.
struct Content {
    name: String,
    argument: Option<usize>,
    element: Option<ScalarType>,
    bytes: Bytes,
}

/// A run behind its end.
struct Left {
    outcome: String,
    is_finished: bool,
    executed: u64,
    steps: u64,
    races: Vec<String>,
    statistics: Vec<(&'static str, u64)>,
    contents: Vec<Content>,
    differences: Vec<String>,
}

impl Left {
    fn of(launch: &Described, mut result: RunResult) -> Left {
        let is_finished = result.outcome == Outcome::Finished;
        let (mut contents, mut differences) = (Vec::new(), Vec::new());
        let owners: Vec<Option<usize>> = result.memory.iter().map(|state| state.argument).collect();
        for (place, (name, buffer)) in launch.contents().enumerate().filter(|_| is_finished) {
            let Some(state) = result.memory.get_mut(place) else { continue };
            let bytes = std::mem::replace(&mut state.bytes, Bytes::defined(Vec::new()));
            if buffer.expect.is_some() {
                differences.extend(buffer.describe_differences(&name, bytes.data(), SHOWN));
            }
            contents.push(Content { name, argument: owners[place], element: buffer.element, bytes });
        }
        Left {
            outcome: result.outcome.to_string(),
            is_finished,
            executed: result.executed,
            steps: result.steps,
            races: result.races.iter().map(ToString::to_string).collect(),
            statistics: result.stats.into_iter().collect(),
            contents,
            differences,
        }
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("outcome", self.outcome)?;
        dict.set_item("finished", self.is_finished)?;
        dict.set_item("executed", self.executed)?;
        dict.set_item("steps", self.steps)?;
        dict.set_item("races", self.races)?;
        let statistics = PyDict::new(py);
        self.statistics.iter().try_for_each(|(name, count)| statistics.set_item(name, count))?;
        dict.set_item("statistics", statistics)?;
        dict.set_item("differences", self.differences)?;
        let content = |content: Content| {
            let undefined: Vec<u8> = (0..content.bytes.len()).map(|at| content.bytes.is_undefined(at).into()).collect();
            let undefined = undefined.contains(&1).then(|| PyBytes::new(py, &undefined));
            let data = PyBytes::new(py, content.bytes.data());
            (content.name, content.argument, content.element.map(ScalarType::name), data, undefined)
        };
        dict.set_item("buffers", self.contents.into_iter().map(content).collect::<Vec<_>>())?;
        Ok(dict)
    }
}

/// Executes a program on a launch.
#[pyfunction]
pub fn run<'py>(
    py: Python<'py>,
    module: &Module,
    launch: &Launch,
    steps: Option<u64>,
    races: bool,
    stats: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (program, name) = (module.inner.clone(), module.name.clone());
    let (launch, called) = (launch.named.launch.clone(), launch.named.name.clone());
    let left = work::run(py, move |_| {
        let misfit = |error: oriole_interp::LoadError| {
            let remedy = error.help().map_or("entry and arguments must fit the launch".to_owned(), |it| it.to_string());
            Error::input(format!("{name} cannot run on {called}: {error}"), remedy)
        };
        let executable = Executable::new(&program).map_err(misfit)?;
        let options = RunOptions { steps, races, stats, ..RunOptions::default() };
        Ok(Left::of(&launch, executable.run(&launch, &options).map_err(misfit)?))
    })?;
    left.into_dict(py)
}

/// Executes machine code on a launch.
#[pyfunction]
pub fn run_code<'py>(
    py: Python<'py>,
    cubin: &Cubin,
    launch: &Launch,
    steps: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let (code, name) = (Arc::clone(&cubin.inner), cubin.name.clone());
    let (launch, called) = (launch.named.launch.clone(), launch.named.name.clone());
    let left = work::run(py, move |_| {
        let remedy = "`Cubin.functions` has its words; entry and arguments must fit the launch";
        let unknown = |error: &dyn std::fmt::Display| Error::input(format!("{name}: {error}"), remedy);
        let lifted = in_place::lift(&code).map_err(|error| unknown(&error))?;
        let lifted = Lifted::new(&code, &lifted).map_err(|error| unknown(&error))?;
        let result = lifted.run(&launch, &RunOptions { steps, ..RunOptions::default() });
        let misfit = |error| Error::input(format!("{name} cannot run on {called}: {error}"), remedy);
        Ok(Left::of(&launch, result.map_err(misfit)?))
    })?;
    left.into_dict(py)
}
