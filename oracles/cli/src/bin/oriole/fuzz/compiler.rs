//! `oriole fuzz --target ptxas`: the compiler in place of our own steps; `--machine`: phases over its code; and
//! `--compile`: our own compiler.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use miette::miette;
use oriole_campaign::target::Target;
use oriole_check::CheckOptions;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::input::write_ptx;
use oriole_check::report::KernelReport;

use crate::axes::{Compiling, Generating};
use crate::failure::Failure;
use crate::numbers::counted;
use crate::settings::check_failure;

/// The name by which the compiler is chosen.
const PTXAS: &str = "ptxas";
/// The kinds of cases that it gets where none is named.
const KINDS: [Target; 2] = [Target::Kernels, Target::Instructions];

/// What `--target` takes: a kind of cases, or who is judged by them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// A kind of cases.
    Kind(Target),
    /// The real ptxas is judged, not our own steps.
    Ptxas,
}

impl Chosen {
    /// All kinds of cases.
    pub fn all() -> impl Iterator<Item = Chosen> {
        Target::ALL.iter().map(|target| Chosen::Kind(*target))
    }

    /// The kinds that were chosen.
    pub fn kinds(chosen: &[Chosen]) -> Vec<Target> {
        let kind = |chosen: &Chosen| match chosen {
            Chosen::Kind(target) => Some(*target),
            Chosen::Ptxas => None,
        };
        let kinds: Vec<Target> = chosen.iter().filter_map(kind).collect();
        if kinds.is_empty() { KINDS.to_vec() } else { kinds }
    }

    /// Reads a name, and lists all with what they are.
    pub fn parser() -> impl TypedValueParser<Value = Chosen> {
        let kinds = Target::ALL.iter().map(|target| PossibleValue::new(target.name()).help(target.doc()));
        let ptxas = PossibleValue::new(PTXAS).help("The real ptxas is judged: alone by kernels and instructions.");
        PossibleValuesParser::new(kinds.chain([ptxas]))
            .try_map(|name| if name == PTXAS { Ok(Chosen::Ptxas) } else { name.parse::<Target>().map(Chosen::Kind) })
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Chosen::Kind(target) => target.name(),
            Chosen::Ptxas => PTXAS,
        })
    }
}

/// The architecture that invented kernels are compiled for where none is named.
const INVENTED: &str = "sm_90";

/// The compiler, if it was chosen, or phases over its code for some architectures; it hangs where it has not ended
/// after so long.
pub fn compiler(
    (compiling, generating): (&Compiling, &Generating),
    chosen: &[Chosen],
    machine: &[String],
    patience: Duration,
) -> Result<Option<Arc<Compiler>>, Failure> {
    if generating.is_asked() {
        if chosen.contains(&Chosen::Ptxas) || !machine.is_empty() {
            let help = "leave out one of the two";
            let what = "--compile judges Oriole's own compiler, --target ptxas and --machine what ptxas makes";
            return Err(Failure::Input(miette!(help = help, "{what}")));
        }
        compiling.require_unused("--compile, --compile-level and --compile-registers are for Oriole's own compiler")?;
        return Ok(Some(Arc::new(generating.compiler(patience, false)?)));
    }
    if !machine.is_empty() {
        if chosen.contains(&Chosen::Ptxas) {
            let help = "leave out one of the two";
            let what = "--target ptxas judges the compiler, and --machine the phases over its code";
            return Err(Failure::Input(miette!(help = help, "{what}")));
        }
        return Ok(Some(Arc::new(compiling.for_phases(machine, patience)?)));
    }
    if chosen.contains(&Chosen::Ptxas) {
        return Ok(Some(Arc::new(compiling.compiler(patience, || Ok(INVENTED.to_owned()))?)));
    }
    compiling.require_unused("--target ptxas judges the compiler, --machine phases over its code").map(|()| None)
}

/// Writes the PTX of a case and checks it, with what each axis comes to.
pub fn one(
    compiler: &Compiler,
    kernel: Kernel,
    options: &CheckOptions,
    folder: &Path,
    out: &mut dyn std::io::Write,
) -> Result<KernelReport, Failure> {
    let Kernel { name, module, launches } = kernel;
    let ptx = write_ptx(&module).map_err(|error| Failure::Input(miette!("{name} has no words in PTX: {error}")))?;
    let path = folder.join(format!("{name}.ptx"));
    std::fs::write(&path, ptx)?;
    for named in &launches {
        named.launch.save(folder, &name).map_err(Failure::input)?;
    }
    writeln!(out, "{}", path.display())?;
    let kernel = Kernel { name: path.display().to_string(), module, launches };
    let checked = compiler.check_all(&[kernel], options).map_err(|error| Failure::Input(miette!("{error}")))?;
    let checked = checked.into_iter().next().expect("there is an answer for each kernel");
    let checked = checked.map_err(|error| check_failure(&name, &error))?;
    if let Some(why) = checked.unjudged.as_ref().filter(|_| checked.axes.is_empty()) {
        writeln!(out, "not judged: {why}")?;
    }
    for axis in &checked.axes {
        let reason = axis.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        writeln!(out, "{}: {}, {} compared{reason}", axis.axis, axis.answer, counted(axis.compared, "case"))?;
    }
    Ok(checked.report)
}
