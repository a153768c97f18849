//! Findings: what is wrong, with what it takes to reduce them.

use std::path::Path;
use std::sync::Arc;

use oriole_check::CheckOptions;
use oriole_check::compiled::answer::Judged;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::judge::{Mismatch, Verdict};
use oriole_check::report::{self, Rewrite};
use oriole_launch::{Launch, NamedLaunch};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::check::{seconds, text};
use crate::error::Error;
use crate::{reduce, work};

/// Where a finding comes from, and with it who can show the same of a smaller kernel.
#[derive(Clone)]
pub enum Origin {
    /// A step of the check.
    Step(Box<(report::Finding, CheckOptions)>),
    /// Code that a compiler made.
    Compiled(Box<(Compiler, Kernel, CheckOptions)>),
    /// Code that somebody gave.
    Given,
}

/// The first bytes that differ.
#[derive(Clone, Debug, Serialize)]
struct Bytes {
    /// The argument's place; null of a variable of the module.
    index: Option<usize>,
    /// The argument's name, or the variable's.
    argument: String,
    /// The first byte of it.
    offset: usize,
    expected: Vec<u8>,
    actual: Vec<u8>,
    /// The first element on both sides, where its type is known.
    element: Option<String>,
    /// How many bytes differ.
    count: usize,
}

impl Bytes {
    fn of(verdict: &Verdict, launch: Option<&Launch>) -> Option<Bytes> {
        let Verdict::Mismatch(Mismatch::Bytes { argument, name, offset, expected, actual, element, count, .. }) =
            verdict
        else {
            return None;
        };
        let own = argument.and_then(|index| Some(launch?.arg_name(index)));
        Some(Bytes {
            index: *argument,
            argument: own.unwrap_or_else(|| name.clone()),
            offset: *offset,
            expected: expected.clone(),
            actual: actual.clone(),
            element: element.clone(),
            count: *count,
        })
    }
}

/// The facts of a finding, as Python gets them.
#[derive(Serialize)]
struct Facts<'a> {
    kernel: &'a str,
    launch: &'a str,
    verdict: &'a str,
    detail: &'a str,
    bytes: Option<Bytes>,
    phase: Option<String>,
    rewrite: Option<&'a Rewrite>,
    axis: Option<&'a str>,
    right_store: Option<&'a str>,
    wrong_store: Option<&'a str>,
    order: Option<&'a str>,
    replay: Option<&'a str>,
}

/// Something that is wrong.
#[pyclass(frozen, module = "oriole._oriole")]
pub struct Finding {
    facts: String,
    origin: Arc<Origin>,
}

impl Finding {
    /// A finding of a check.
    pub fn of_step(finding: &report::Finding, check: &CheckOptions, launches: &[NamedLaunch]) -> Finding {
        let launch = finding.evidence.launch.as_ref().or(launches.first().map(|named| &named.launch));
        let facts = Facts {
            kernel: &finding.kernel,
            launch: &finding.case,
            verdict: finding.verdict.name(),
            detail: &finding.detail,
            bytes: Bytes::of(&finding.verdict, launch),
            phase: Some(finding.phase.to_string()),
            rewrite: finding.rewrite.as_ref(),
            axis: None,
            right_store: finding.store_before.as_deref(),
            wrong_store: finding.store_after.as_deref(),
            order: None,
            // A program that is no file has no command that shows it.
            replay: Path::new(&finding.kernel).is_file().then_some(&finding.replay),
        };
        let origin = Origin::Step(Box::new((finding.clone(), check.clone())));
        Finding { facts: text(&facts).unwrap_or_default(), origin: origin.into() }
    }

    /// The finding that code goes wrong, if it does. `launch` is that of the case that tells.
    pub fn of_code(kernel: &str, judged: &Judged, launch: Option<(&str, &Launch)>, origin: Origin) -> Option<Finding> {
        let (_, verdict) = judged.wrong.as_ref()?;
        let difference = judged.difference.as_ref();
        let (case, launch) = launch.unzip();
        let said = verdict.to_string();
        let facts = Facts {
            kernel,
            launch: difference.map(|difference| difference.case.as_str()).or(case).unwrap_or_default(),
            verdict: verdict.name(),
            detail: difference.map_or(&said, |difference| &difference.detail),
            bytes: Bytes::of(verdict, launch),
            phase: None,
            rewrite: None,
            axis: Some(&judged.axis),
            right_store: difference.and_then(|difference| difference.ptx.as_deref()),
            wrong_store: difference.and_then(|difference| difference.code.as_deref()),
            order: difference.and_then(|difference| difference.order.as_deref()),
            replay: None,
        };
        Some(Finding { facts: text(&facts).unwrap_or_default(), origin: origin.into() })
    }
}

#[pymethods]
impl Finding {
    /// Its facts, as JSON.
    fn facts(&self) -> &str {
        &self.facts
    }

    /// Makes kernel and launch smaller while they show the same.
    fn reduce<'py>(&self, py: Python<'py>, time: f64, evaluations: u64) -> PyResult<Bound<'py, PyDict>> {
        let origin = self.origin.clone();
        let limits = oriole_check::reduce::Options { evaluations, time: seconds(time)? };
        let reduced = work::run(py, move |stop| match &*origin {
            Origin::Step(step) => reduce::of_step(&step.0, &step.1, &limits, stop),
            Origin::Compiled(code) => reduce::of_code(&code.0, &code.1, &code.2, &limits, stop),
            Origin::Given => Err(Error::input(
                "this code was given, and nobody can compile a smaller kernel",
                "judge what a compiler makes: `judge(…, sm=\"sm_90\")`",
            )),
        })?;
        reduced.into_dict(py)
    }
}
