//! The judge of machine code: that which a compiler makes, or a given one, executed and compared with the PTX.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oriole_check::cases::first_runs;
use oriole_check::compare::Inconclusive;
use oriole_check::compiled::answer::{Judged, compare_refusals};
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::compiler::{Axis, CompileError, Effort, FastCompile, Own, Ptxas, Tool, own_arch};
use oriole_check::judge::code::Executor;
use oriole_check::{CheckOptions, RaceSearch};
use oriole_interp::Executable;
use oriole_ir::sm::Target;
use oriole_sass::{SMS, Table, cubin};
use oriole_scoreboard::check_cubin;
use pyo3::prelude::*;
use serde::Serialize;

use crate::check::{named, text};
use crate::error::Error;
use crate::finding::{Finding, Origin};
use crate::launch::Launch;
use crate::program::{Cubin, Module, ptx_of};
use crate::work;

/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who compiles, and how.
#[derive(FromPyObject, Clone, Debug)]
#[pyo3(from_item_all)]
pub struct Compiling {
    /// `ptxas` or `oriole`.
    compiler: String,
    /// Where ptxas is, if Python found it.
    ptxas: Option<PathBuf>,
    /// The architectures; none is that of the PTX.
    arch: Vec<String>,
    /// `0` to `3`, `min`, `mid` or `max`.
    levels: Vec<String>,
    /// Further options of all axes.
    options: Vec<String>,
}

impl Compiling {
    fn compiler(&self, module: &oriole_ir::Module) -> Result<Compiler, Error> {
        let (tool, version) = match self.compiler.as_str() {
            "oriole" => (Tool::Own(Own::new(PATIENCE)), "oriole".to_owned()),
            "ptxas" => {
                let here = std::env::current_dir().unwrap_or_default();
                let found = self.ptxas.clone().map(Ptxas::at).or_else(|| Ptxas::find(&here));
                let remedy = "`pip install nvidia-cuda-nvcc` has one, so has Triton; or put it on the path, set \
                              CUDA_HOME, name it with ptxas=, or judge compiler=\"oriole\"";
                let ptxas = found.ok_or_else(|| Error::input("there is no ptxas", remedy))?.within(PATIENCE);
                let version = ptxas.version().map_err(|error| Error::input(error, remedy))?;
                (ptxas.into(), version)
            }
            other => return Err(Error::input(format!("`{other}` is no compiler"), "name ptxas or oriole")),
        };
        let archs = match self.arch.is_empty() {
            true => vec![own_arch(module).map_err(|error| Error::input(error, known_archs()))?],
            false => self.arch.iter().map(|name| arch(name)).collect::<Result<_, _>>()?,
        };
        let levels = self.levels.iter().map(|level| effort(level)).collect::<Result<Vec<Effort>, _>>()?;
        let axes = archs.iter().flat_map(|arch| levels.iter().map(move |level| (arch, *level)));
        let axes = axes.map(|(arch, level)| Axis { options: self.options.clone(), ..Axis::with(arch, level) });
        Ok(Compiler { tool, axes: axes.collect(), version, gpu: None, phases: None, witness: None })
    }
}

fn known_archs() -> String {
    format!("name an architecture whose words are known: {}", SMS.map(|sm| format!("sm_{sm}")).join(", "))
}

/// The name of an architecture whose words are known.
fn arch(name: &str) -> Result<String, Error> {
    let target: Option<Target> = name.parse().ok();
    let known = target.is_some_and(|target| Table::of(target.number()).is_some());
    if known {
        Ok(name.to_owned())
    } else {
        Err(Error::input(format!("the words of `{name}` are not known"), known_archs()))
    }
}

fn effort(level: &str) -> Result<Effort, Error> {
    let number = level.parse().ok().filter(|level| *level <= 3).map(Effort::Level);
    number.or_else(|| FastCompile::of(level).map(Effort::Fast)).ok_or_else(|| {
        Error::input(format!("`{level}` is no level"), "write 0 to 3, or min, mid or max for fast compilation")
    })
}

/// The facts about all axes.
#[derive(Serialize)]
struct Document<'a> {
    /// Different data of the cases that say something.
    data: usize,
    cases: usize,
    inconclusive: Vec<Inconclusive>,
    /// Expectations of launches that the PTX itself misses.
    unexpected: Vec<String>,
    axes: &'a [Judged],
}

/// An axis whose code is judged.
struct Code {
    name: String,
    axis: Option<Axis>,
    made: Result<cubin::Cubin, CompileError>,
}

/// Judges given cubins, or else what a compiler makes: a document of JSON, and the findings.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's function")]
pub fn judge(
    py: Python<'_>,
    module: &Module,
    launches: Vec<Py<Launch>>,
    cubins: Vec<Py<Cubin>>,
    compiling: Compiling,
    randoms: u32,
    seed: u64,
    races: bool,
) -> PyResult<(String, Vec<Finding>)> {
    let (program, source, name) = (module.inner.clone(), module.source.clone(), module.name.clone());
    let launches = named(&launches);
    let given: Vec<_> = cubins.iter().map(|cubin| (cubin.get().name.clone(), cubin.get().inner.clone())).collect();
    work::run(py, move |_| {
        let races = RaceSearch::asked(races);
        let options = CheckOptions { randoms, seed, vary: true, races, ..CheckOptions::default() };
        let (cases, report) =
            first_runs(&name, &program, &launches, &options).map_err(|error| Error::of_check(&name, &error))?;
        let original = Executable::new(&program)
            .map_err(|error| Error::input(format!("{name}: {error}"), "`run` says whether it can be executed"))?;
        let compiler = given.is_empty().then(|| compiling.compiler(&program)).transpose()?;
        let codes = match &compiler {
            None => {
                given.into_iter().map(|(name, cubin)| Code { name, axis: None, made: Ok((*cubin).clone()) }).collect()
            }
            Some(compiler) => made(compiler, &ptx_of(&program, source.as_deref(), &name)?),
        };
        let mut judged = Vec::new();
        for Code { name, axis, made } in &codes {
            let fuses = axis.as_ref().is_none_or(Axis::fuses);
            let code = made.as_ref();
            let mut of = Judged::of(&original, &cases, name.clone(), code, Executor::Interpreter, fuses);
            code.iter().for_each(|cubin| of.look_closer(&original, &cases, cubin));
            judged.push(match compiler.as_ref().map(|compiler| &compiler.tool) {
                Some(Tool::Own(_)) => of.with_hazards(code.ok()),
                _ => {
                    let hazards = code.map_or_else(|_| Ok(Vec::new()), check_cubin).unwrap_or_default();
                    Judged { hazards: hazards.iter().map(ToString::to_string).collect(), ..of }
                }
            });
        }
        let axes: Vec<Axis> = codes.iter().filter_map(|code| code.axis.clone()).collect();
        if axes.len() == judged.len() {
            compare_refusals(&mut judged, &axes);
        }
        let origin = match compiler {
            None => Origin::Given,
            Some(compiler) => {
                let kernel = Kernel { name: name.clone(), module: (*program).clone(), launches };
                Origin::Compiled(Box::new((compiler, kernel, options)))
            }
        };
        let finding = |judged: &Judged| {
            let case = judged.wrong.as_ref().and_then(|(case, _)| cases.get(*case));
            let launch = case.map(|case| case.named());
            let origin = match (&origin, axes.iter().find(|axis| axis.to_string() == judged.axis)) {
                // Only the axis that goes wrong compiles candidates.
                (Origin::Compiled(code), Some(axis)) => {
                    let mut code = code.clone();
                    code.0.axes = vec![axis.clone()];
                    Origin::Compiled(code)
                }
                (origin, _) => origin.clone(),
            };
            Finding::of_code(&name, judged, launch, origin)
        };
        let findings = judged.iter().filter_map(finding).collect();
        let missed = report.cases.iter().filter(|case| case.expected == Some(false));
        let document = Document {
            data: report.data,
            cases: cases.len(),
            inconclusive: Inconclusive::among(&report.cases),
            unexpected: missed.map(|case| format!("{}: {}", case.name, case.differences.join("; "))).collect(),
            axes: &judged,
        };
        Ok((text(&document)?, findings))
    })
}

/// The code of each axis.
fn made(compiler: &Compiler, ptx: &str) -> Vec<Code> {
    let of =
        |axis: &Axis| Code { name: axis.to_string(), axis: Some(axis.clone()), made: compiler.compile_text(ptx, axis) };
    compiler.axes.iter().map(of).collect()
}

/// The cubin that a compiler makes.
#[pyfunction]
pub fn compile(py: Python<'_>, module: &Module, compiling: Compiling) -> PyResult<Cubin> {
    let (program, source, name) = (module.inner.clone(), module.source.clone(), module.name.clone());
    work::run(py, move |_| {
        let compiler = compiling.compiler(&program)?;
        let none = || Error::input("no level is named", "name one");
        let axis = compiler.axes.first().ok_or_else(none)?;
        let ptx = ptx_of(&program, source.as_deref(), &name)?;
        match compiler.compile_text(&ptx, axis) {
            Ok(cubin) => Ok(Cubin { inner: Arc::new(cubin), name: format!("{name} for {axis}") }),
            Err(CompileError::Panicked(panic)) => Err(Error::internal(&panic)),
            Err(error) => {
                let remedy = "another level or compiler may take it; `optimize` makes PTX of it";
                Err(Error::input(format!("{name}, {axis}: {error}"), remedy))
            }
        }
    })
}
