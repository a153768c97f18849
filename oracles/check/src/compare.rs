//! Whether one program does what another does, whoever made the second.
//!
//! Entries belong together by name; a single entry may have another one. The first program runs on each of its launches
//! with its own data and with random data of their shape, and the second is judged by that as a step of the optimizer
//! is. Floats may be as far apart as a launch, or [`Compared::tolerance`], says.

use oriole_interp::Executable;
use oriole_ir::{FunctionKind, Module};
use oriole_launch::{Tolerance, distinct};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cases::{Case, first_runs};
use crate::input::NamedLaunch;
use crate::judge::{Judge, Judged, Leeway, Verdict};
use crate::report::CaseLine;
use crate::{CheckError, CheckOptions};

/// What is known of a kernel. The names stay the same between versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The same on every case that says something.
    Equal,
    /// Another one on some case, or not there.
    Different,
    /// No case says what should happen.
    Inconclusive,
}

/// A kernel of the first program.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// What is known.
    pub answer: Answer,
    /// Launches and variants that were compared.
    pub compared: usize,
    /// How many different data these have.
    pub data: usize,
    /// Those on which the first program itself does not say what should happen, with the reason.
    pub inconclusive: Vec<Inconclusive>,
    /// What launches expect that the first program itself does not leave.
    pub unexpected: Vec<String>,
    /// Floats that are not the same, and no further apart than they may be.
    pub tolerated: Vec<String>,
    /// The case that shows a difference, and what differs.
    pub difference: Option<Difference>,
}

/// The first difference.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Difference {
    /// The case.
    pub case: String,
    /// What differs.
    pub detail: String,
    /// Whether both do the same once each fused product is a product and a sum.
    pub explained_by_fusion: bool,
}

/// A case that says nothing.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Inconclusive {
    /// The case.
    pub case: String,
    /// Why, with thread and line where there are such.
    pub why: String,
}

impl Inconclusive {
    /// Those among all cases.
    pub fn among(cases: &[CaseLine]) -> Vec<Inconclusive> {
        let of = |case: &CaseLine| Some(Inconclusive { case: case.name.clone(), why: case.why_not()? });
        cases.iter().filter_map(of).collect()
    }
}

/// Why nothing is compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The first program cannot run on a launch.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A tolerance was given, and no buffer of floats.
    #[error("no buffer of a launch of `{0}` has elements of a floating-point type, which have a tolerance")]
    NoFloats(String),
}

/// Two programs to be compared.
pub struct Compared<'a> {
    /// The name of the first one in messages.
    pub name: &'a str,
    /// The program that is right.
    pub before: &'a Module,
    /// The program that should do the same.
    pub after: &'a Executable<'a>,
    /// The launches of all kernels.
    pub launches: &'a [NamedLaunch],
    /// Cases, seed, steps and races.
    pub options: &'a CheckOptions,
    /// How far floats may be apart where their launch does not say.
    pub tolerance: Option<Tolerance>,
}

/// The entries that are defined in a module.
pub fn entries(module: &Module) -> Vec<&str> {
    let entries = module.functions.values().filter(|func| func.kind == FunctionKind::Entry && func.is_definition());
    entries.map(|func| func.name.as_str()).collect()
}

impl Compared<'_> {
    /// Compares one kernel.
    ///
    /// # Errors
    ///
    /// A launch on which the first program cannot run, or a tolerance without floats.
    pub fn kernel(&self, name: &str) -> Result<Kernel, CompareError> {
        let unknown = |why: &str| Kernel {
            name: name.to_owned(),
            answer: Answer::Inconclusive,
            compared: 0,
            data: 0,
            inconclusive: vec![Inconclusive { case: "every launch".to_owned(), why: why.to_owned() }],
            unexpected: Vec::new(),
            tolerated: Vec::new(),
            difference: None,
        };
        let single = entries(self.before).len() == 1;
        let is_own = |named: &&NamedLaunch| named.launch.kernel.as_ref().map_or(single, |kernel| kernel == name);
        let mut own: Vec<NamedLaunch> = self.launches.iter().filter(is_own).cloned().collect();
        if own.is_empty() {
            return Ok(unknown("no launch is for it"));
        }
        let there = entries(self.after.module());
        let has_partner = there.contains(&name) || single && there.len() == 1;
        if !has_partner {
            let detail = format!("there is no entry `{name}`, but: {}", there.join(", "));
            let difference = Some(Difference { case: "every launch".to_owned(), detail, explained_by_fusion: false });
            return Ok(Kernel { answer: Answer::Different, inconclusive: Vec::new(), difference, ..unknown("") });
        }
        // A name stands for one of several; where there is one on each side, they are meant.
        let by_name = there.len() > 1 || !single;
        own.iter_mut().for_each(|named| named.launch.kernel = by_name.then(|| name.to_owned()));
        let leeway = Leeway { elsewhere: self.tolerance };
        if self.tolerance.is_some() && !own.iter().any(|named| leeway.is_for(&named.launch)) {
            return Err(CompareError::NoFloats(name.to_owned()));
        }
        let (cases, report) = first_runs(self.name, self.before, &own, self.options)?;
        let missed = report.cases.iter().filter(|case| case.expected == Some(false));
        let kernel = Kernel {
            inconclusive: Inconclusive::among(&report.cases),
            unexpected: missed.map(|case| format!("{}: {}", case.name, case.differences.join("; "))).collect(),
            ..unknown("")
        };
        Ok(self.judged(kernel, cases, leeway))
    }

    /// The kernel with what its cases say of the second program.
    fn judged(&self, mut kernel: Kernel, cases: Vec<Case<'_>>, leeway: Leeway) -> Kernel {
        let mut compared = Vec::new();
        for Case { name, judge } in cases {
            let judge = judge.with_leeway(leeway);
            let Judged { verdict, near, .. } = judge.judge(self.after);
            if verdict.is_inconclusive() {
                let why = judge.race().map_or_else(|| verdict.to_string(), |race| format!("{verdict}: {race}"));
                kernel.inconclusive.push(Inconclusive { case: name, why });
                continue;
            }
            kernel.tolerated.extend(near.iter().map(|near| format!("{name}: {near}")));
            if verdict.is_finding() && kernel.difference.is_none() {
                let explained_by_fusion = judge.is_explained_by_fusion(self.after.module());
                let detail = match verdict {
                    Verdict::InvalidIr(why) => format!("it cannot run: {why}"),
                    verdict => verdict.to_string(),
                };
                kernel.difference = Some(Difference { case: name, detail, explained_by_fusion });
            }
            compared.push(judge);
        }
        (kernel.compared, kernel.data) = (compared.len(), distinct(compared.iter().map(Judge::launch)));
        kernel.answer = match (&kernel.difference, compared.len()) {
            (Some(_), _) => Answer::Different,
            (None, 0) => Answer::Inconclusive,
            (None, _) => Answer::Equal,
        };
        kernel
    }
}
