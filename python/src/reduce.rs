//! Reduction of findings, by the reducer of the check.

use oriole_check::CheckOptions;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::input::write_ptx;
use oriole_check::reduce::{self, Fault, Options, Request, Watch};
use oriole_check::report::{Evidence, Finding};
use oriole_launch::NamedLaunch;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Error;
use crate::launch::Launch;
use crate::program::Module;
use crate::work::Stop;

/// A kernel that was made small.
pub struct Left {
    name: String,
    reduced: reduce::Reduced,
}

const REMEDY: &str = "the finding itself says what it takes; `oriole reduce K --exec COMMAND` reduces by any command";

impl Left {
    fn of(name: &str, reduced: reduce::Reduced) -> Result<Left, Error> {
        if !reduced.interesting {
            return Err(Error::input("the kernel alone does not show the finding again", REMEDY));
        }
        Ok(Left { name: format!("{name}, reduced"), reduced })
    }

    /// The parts of it as a dictionary.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let Left { name, reduced } = self;
        let dict = PyDict::new(py);
        let Evidence { module, launch } = reduced.evidence;
        dict.set_item("ptx", write_ptx(&module).ok())?;
        dict.set_item("ori", module.to_string())?;
        let launch = launch.map(|launch| Launch { named: NamedLaunch { name: name.clone(), launch } });
        dict.set_item("launch", launch.map(|launch| Py::new(py, launch)).transpose()?)?;
        dict.set_item("module", Py::new(py, Module::made(&name, module))?)?;
        dict.set_item("complete", reduced.complete)?;
        dict.set_item("evaluations", reduced.evaluations)?;
        dict.set_item("before", reduced.before.instructions)?;
        dict.set_item("after", reduced.after.instructions)?;
        Ok(dict)
    }
}

/// Reduces what a step does wrong.
pub fn of_step(finding: &Finding, check: &CheckOptions, limits: &Options, stop: &Stop) -> Result<Left, Error> {
    if finding.verdict.costs_a_thread() {
        let remedy = "`oriole reduce` ends each candidate as a process of its own";
        return Err(Error::input(format!("{} does not end, and cannot be ended here", finding.phase), remedy));
    }
    let fault = Fault::new(finding, check).map_err(|error| Error::of_check(&finding.kernel, &error))?;
    Left::of(&finding.kernel, fault.reduced(limits, Watch { progress: None, stop: Some(stop) }))
}

/// Reduces what a compiler makes of a kernel, with the compiler in the loop.
pub fn of_code(
    compiler: &Compiler,
    kernel: &Kernel,
    check: &CheckOptions,
    limits: &Options,
    stop: &Stop,
) -> Result<Left, Error> {
    let checked = compiler.check_all(std::slice::from_ref(kernel), check);
    let checked = checked.map_err(|error| Error::input(error, "see that the compiler can be started"))?.pop();
    let checked = checked.transpose().map_err(|error| Error::of_check(&kernel.name, &error))?;
    let finding = checked.and_then(|checked| checked.report.findings.into_iter().next());
    let again = || Error::input("the kernel, printed and read again, does not show what was found", REMEDY);
    let finding = finding.ok_or_else(again)?;
    let miscompile = Miscompile::new(compiler, &finding, check).ok_or_else(again)?;
    let evidence = miscompile.in_ssa(&finding.evidence).unwrap_or_else(|| (*finding.evidence).clone());
    let predicate = |evidence: &Evidence| miscompile.shows(evidence);
    let watch = Watch { progress: None, stop: Some(stop) };
    let request = Request { predicate: &predicate, roots: miscompile.roots(&evidence), options: *limits, watch };
    Left::of(&kernel.name, request.reduce(&evidence))
}
