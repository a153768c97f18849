//! Compilers from PTX to machine code, and what they make: the real ptxas, found where CUDA is installed, and our own.

mod batch;
pub mod own;
mod words;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use oriole_ir::Module;
use oriole_ir::sm::{TargetError, Variant};
use oriole_optimizer::codegen::compile::Tuning;
use oriole_optimizer::pipeline::runner;
use oriole_sass::SMS;
use oriole_sass::cubin::{Cubin, CubinError};

pub use batch::Code;
pub use own::Own;

use crate::inject::FaultSpec;
use crate::judge::{Hang, Verdict};
use crate::options::target_of;
use crate::supervise::{Panic, StepId};

/// How long the compiler may take where nobody says.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a compiler that has not ended is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// How glibc is to give memory to the compiler, unless the environment says something else (glibc manual, "Memory
/// Allocation Tunables"): from one heap that grows by 32 MiB at a time, in huge pages where the kernel has some. A
/// batch of small kernels takes a tenth less time so, since fewer pages are touched first. Other C libraries ignore it.
const TUNABLES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.mmap_threshold=1000000000");

/// How much the compiler does for the code that it makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effort {
    /// A level of optimization: 0 to 3.
    Level(u8),
    /// It compiles fast, and optimizes less. ptxas takes no level beside that.
    Fast(FastCompile),
}

/// How far ptxas goes to compile fast: its option `--Ofast-compile`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FastCompile {
    /// Without some of the optimizations that take long.
    Min,
    /// Without all of them.
    Mid,
    /// Without most optimizations.
    Max,
}

impl FastCompile {
    /// Each with the name that ptxas has for it.
    pub const NAMES: [(FastCompile, &'static str); 3] =
        [(FastCompile::Min, "min"), (FastCompile::Mid, "mid"), (FastCompile::Max, "max")];

    /// The one of a name.
    pub fn of(name: &str) -> Option<FastCompile> {
        FastCompile::NAMES.iter().find(|(_, known)| *known == name).map(|(fast, _)| *fast)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FastCompile::NAMES.iter().find(|(fast, _)| *fast == self).map_or("", |(_, name)| name)
    }
}

/// The option as ptxas takes it: `-O3`, `-Ofc=max`.
impl std::fmt::Display for Effort {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Effort::Level(level) => write!(out, "-O{level}"),
            Effort::Fast(fast) => write!(out, "-Ofc={}", fast.name()),
        }
    }
}

/// One way to compile: an SM, how much is optimized, and further options.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Axis {
    /// The architecture, as ptxas names it: `sm_90`, `sm_90a`.
    pub arch: String,
    /// How much is optimized.
    pub effort: Effort,
    /// Further options, as ptxas takes them.
    pub options: Vec<String>,
    /// Where the code runs.
    pub machine: Machine,
}

/// What follows the name of an axis on the GPU.
pub const ON_GPU: &str = " on the GPU";

/// Where code runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Machine {
    /// In the machine-level interpreter.
    #[default]
    Interpreter,
    /// On the GPU of this machine.
    Gpu,
}

impl Axis {
    /// The most registers that a thread may have, where an option limits them.
    pub fn max_registers(&self) -> Option<u16> {
        self.options.iter().find_map(|option| option.strip_prefix("--maxrregcount=")?.parse().ok())
    }

    /// The axis of an architecture at a level, executed here.
    pub fn new(arch: &str, level: u8) -> Axis {
        Axis::with(arch, Effort::Level(level))
    }

    /// The axis of an architecture, executed here.
    pub fn with(arch: &str, effort: Effort) -> Axis {
        Axis { arch: arch.to_owned(), effort, options: Vec::new(), machine: Machine::default() }
    }

    /// Whether another axis differs at most in how much is optimized.
    pub fn is_like(&self, other: &Axis) -> bool {
        (&self.arch, &self.options) == (&other.arch, &other.options)
    }

    /// Whether products are fused with sums where PTX leaves that open: not by default, and where an option says so.
    pub fn fuses(&self) -> bool {
        self.options.iter().any(|option| option.contains("fmad") && option.contains("true"))
    }

    /// The same code on the GPU.
    pub fn on_gpu(&self) -> Axis {
        Axis { machine: Machine::Gpu, ..self.clone() }
    }
}

/// `sm_90 -O3`, with the further options behind; `sm_90 -O3 on the GPU`.
impl std::fmt::Display for Axis {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.arch, self.effort)?;
        self.options.iter().try_for_each(|option| write!(out, " {option}"))?;
        if self.machine == Machine::Gpu { out.write_str(ON_GPU) } else { Ok(()) }
    }
}

/// Why there is no architecture to compile a module for.
#[derive(Debug, thiserror::Error)]
pub enum NoArch {
    /// Its target is unknown.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The words of no architecture are known that runs code for it.
    #[error("no architecture whose words are known runs code for `{0}`")]
    Words(String),
}

/// The architecture that code of a module is made for where nobody names one: that of its target, else the first later
/// one whose words are known.
///
/// # Errors
///
/// If there is none.
pub fn own_arch(module: &Module) -> Result<String, NoArch> {
    let target = target_of(module)?;
    let later = SMS
        .iter()
        .find(|sm| **sm >= target.number())
        .filter(|sm| target.variant() == Variant::Portable || **sm == target.number());
    let suffix = match target.variant() {
        Variant::Portable => "",
        Variant::Family => "f",
        Variant::Specific => "a",
    };
    later.map(|sm| format!("sm_{sm}{suffix}")).ok_or_else(|| NoArch::Words(module.target.clone()))
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler could not be started, or its output not be read.
    #[error("{}: {error}", tool.display())]
    Start {
        /// The compiler.
        tool: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It says that the program is wrong.
    #[error("the compiler refuses it: {0}")]
    Refused(String),
    /// It ended by a signal, or with a message about itself.
    #[error("ptxas crashed: {0}")]
    Crashed(String),
    /// It did not end.
    #[error("the compiler has not ended after {0:?}")]
    Hangs(Duration),
    /// Our compiler does not compile something in it, or not for this SM.
    #[error("not compiled: {0}")]
    NotCompiled(String),
    /// Our compiler panicked, or said that it made what the machine does not have.
    #[error("the compiler panics: {0}")]
    Panicked(Panic),
    /// Our allocator put a value where it is not read.
    #[error("registers are allocated wrongly: {0}")]
    Misplaced(String),
    /// A word of our compiler says something else than it was made of.
    #[error("words are encoded wrongly: {0}")]
    Miswritten(String),
    /// Its output cannot be read.
    #[error("the code that was made cannot be read: {0}")]
    Cubin(#[from] CubinError),
}

impl CompileError {
    /// What it tells that is wrong of the compiler, where it does.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            CompileError::Crashed(said) => Some(Verdict::Panicked(Panic { message: said.clone(), place: None })),
            CompileError::Panicked(panic) => Some(Verdict::Panicked(panic.clone())),
            CompileError::Misplaced(what) => Some(Verdict::InvalidIr(format!("allocation: {what}"))),
            CompileError::Miswritten(what) => Some(Verdict::InvalidIr(format!("encoding: {what}"))),
            CompileError::Hangs(patience) => Some(Verdict::Hangs(Hang::Clock(*patience))),
            _ => None,
        }
    }
}

/// Who compiles.
#[derive(Clone, Debug)]
pub enum Tool {
    /// The real ptxas.
    Ptxas(Ptxas),
    /// Oriole's own compiler.
    Own(Own),
}

impl Tool {
    /// The step that it is in a check.
    pub fn step(&self) -> StepId {
        match self {
            Tool::Ptxas(_) => StepId::Compilation,
            Tool::Own(_) => StepId::CodeGeneration,
        }
    }

    /// Compiles files of PTX whose symbols all have names of their own.
    pub fn compile_all(&self, files: &[PathBuf], axis: &Axis) -> Vec<Code> {
        match self {
            Tool::Ptxas(ptxas) => ptxas.compile_all(files, axis),
            Tool::Own(own) => own.compile_all(files, axis),
        }
    }

    /// Compiles a text alone.
    ///
    /// # Errors
    ///
    /// As [`Ptxas::compile`] and [`Own::compile_text`].
    pub fn compile_text(&self, text: &str, axis: &Axis) -> Result<Cubin, CompileError> {
        match self {
            Tool::Ptxas(ptxas) => {
                let folder = tempfile::tempdir().map_err(|error| self.unusable(error))?;
                let file = folder.path().join("kernel.ptx");
                std::fs::write(&file, text).map_err(|error| self.unusable(error))?;
                ptxas.compile(&file, axis)
            }
            Tool::Own(own) => own.compile_text(text, axis),
        }
    }

    /// The same tool with the faults that name its stages planted in it.
    pub(crate) fn with_faults(&self, faults: &[FaultSpec]) -> Tool {
        match self {
            Tool::Ptxas(_) => self.clone(),
            Tool::Own(own) => {
                let is_own = |fault: &&FaultSpec| matches!(fault.step, StepId::Stage(_) | StepId::Pass(_));
                let faults = faults.iter().filter(is_own).copied().collect();
                Tool::Own(Own { faults, ..own.clone() })
            }
        }
    }

    /// The same tool with the knobs of code generation that options have.
    pub(crate) fn tuned(self, options: &runner::Options) -> Tool {
        match self {
            Tool::Own(own) => Tool::Own(Own { tuning: Tuning::of(&options.knobs), ..own }),
            other => other,
        }
    }

    /// It cannot be started, or the files around it not be written or read.
    pub(crate) fn unusable(&self, error: io::Error) -> CompileError {
        match self {
            Tool::Ptxas(ptxas) => ptxas.unusable(error),
            Tool::Own(_) => CompileError::Start { tool: std::env::temp_dir(), error },
        }
    }
}

impl From<Ptxas> for Tool {
    fn from(ptxas: Ptxas) -> Tool {
        Tool::Ptxas(ptxas)
    }
}

/// The real ptxas.
#[derive(Clone, Debug)]
pub struct Ptxas {
    tool: PathBuf,
    patience: Duration,
}

impl Ptxas {
    /// The ptxas on the path, else in `CUDA_HOME`, else where `ci/cuda-tools` installs it under a folder or one above.
    pub fn find(folder: &Path) -> Option<Ptxas> {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let in_home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
        let folders = std::env::split_paths(&on_path).chain(in_home).map(|folder| folder.join("ptxas"));
        let installed = folder.ancestors().filter_map(|folder| installed_under(&folder.join(".cuda/venv/lib")));
        folders.chain(installed).find(|tool| tool.is_file()).map(Ptxas::at)
    }

    /// The one at a place.
    pub fn at(tool: PathBuf) -> Ptxas {
        Ptxas { tool, patience: PATIENCE }
    }

    /// The same, which hangs where it has not ended after so long.
    pub fn within(self, patience: Duration) -> Ptxas {
        Ptxas { patience, ..self }
    }

    /// Compiles a file of PTX.
    ///
    /// Multiplications and additions are left apart (`--fmad false`) unless the program itself fuses them: ptxas may
    /// otherwise fuse them, which changes results by design and is no fault.
    ///
    /// # Errors
    ///
    /// If the compiler refuses the program, crashes, or does not end.
    pub fn compile(&self, ptx: &Path, axis: &Axis) -> Result<Cubin, CompileError> {
        self.run(&[ptx], axis)
    }

    /// What it says of its version: `Cuda compilation tools, release 13.0, V13.0.88`.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn version(&self) -> Result<String, CompileError> {
        let output = Command::new(&self.tool)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| self.unusable(error))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = said.lines().find(|line| line.contains("release")).unwrap_or_default();
        Ok(line.trim().to_owned())
    }

    /// It cannot be started, or the files around it not be written or read.
    fn unusable(&self, error: io::Error) -> CompileError {
        CompileError::Start { tool: self.tool.clone(), error }
    }

    /// Compiles files of PTX together.
    fn run(&self, files: &[impl AsRef<Path>], axis: &Axis) -> Result<Cubin, CompileError> {
        let start = |error| self.unusable(error);
        let folder = tempfile::tempdir().map_err(start)?;
        let output = folder.path().join("code.cubin");
        let messages = folder.path().join("messages");
        let mut arguments: Vec<OsString> = vec!["-arch".into(), axis.arch.clone().into()];
        arguments.push(axis.effort.to_string().into());
        arguments.extend(["--fmad", "false"].map(OsString::from));
        arguments.extend(axis.options.iter().map(OsString::from));
        arguments.extend(files.iter().map(|file| file.as_ref().into()));
        arguments.extend(["-o".into(), output.clone().into()]);
        let log = std::fs::File::create(&messages).map_err(start)?;
        let mut command = Command::new(&self.tool);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        if std::env::var_os(TUNABLES.0).is_none() {
            command.env(TUNABLES.0, TUNABLES.1);
        }
        let mut child = command.spawn().map_err(start)?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(start)? {
                break status;
            }
            if started.elapsed() > self.patience {
                child.kill().and_then(|()| child.wait()).map_err(start)?;
                return Err(CompileError::Hangs(self.patience));
            }
            std::thread::sleep(LOOK);
        };
        if status.success() {
            return Ok(Cubin::read(&std::fs::read(&output).map_err(start)?)?);
        }
        Err(complaint(status, String::from_utf8_lossy(&std::fs::read(&messages).map_err(start)?).trim()))
    }
}

/// Why there is no code, of a compiler that ended so and said that. Wrong input is exit code 255 with a line for each
/// error, one of which is about the compiler itself where that went wrong.
fn complaint(status: ExitStatus, said: &str) -> CompileError {
    let crash = signal(status).or_else(|| said.lines().find(|line| is_internal(line)).map(str::to_owned));
    match crash {
        Some(crash) => CompileError::Crashed(crash),
        None if said.is_empty() => CompileError::Refused(status.to_string()),
        None => CompileError::Refused(said.to_owned()),
    }
}

/// What a shell adds to the number of the signal that ended its command.
const SHELL_SIGNAL: i32 = 128;
/// The largest number of a signal.
const MAX_SIGNAL: i32 = 64;

/// The signal that ended a process, or one that it was only the shell of: `signal: 11 (SIGSEGV)`. What the process
/// wrote before that says nothing about it.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    let of_shell = |code: i32| Some(code - SHELL_SIGNAL).filter(|signal| (1..=MAX_SIGNAL).contains(signal));
    let number = status.signal().or_else(|| status.code().and_then(of_shell))?;
    Some(ExitStatus::from_raw(number).to_string())
}

#[cfg(not(unix))]
fn signal(status: ExitStatus) -> Option<String> {
    status.code().is_none().then(|| status.to_string())
}

/// Whether a line is an error of the compiler about itself: `ptxas fatal   : (C7907) Internal compiler error.` Codes of
/// its back end have a C and four digits from 7000 on; one of them says no more than that a limit of registers is too
/// low.
fn is_internal(line: &str) -> bool {
    let Some((_, error)) = line.split_once("fatal ").or_else(|| line.split_once("error ")) else { return false };
    let word = error.trim_start_matches([' ', ':', '(']);
    let has_code = word.strip_prefix("C7").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    let says_so = error.contains("Internal compiler error") || error.contains("Internal error");
    says_so || has_code && !error.contains("Register allocation failed")
}

/// The ptxas of a Python environment's packages.
fn installed_under(lib: &Path) -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        std::fs::read_dir(lib).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    versions.sort();
    let tool = |version: PathBuf| version.join("site-packages/nvidia/cu13/bin/ptxas");
    versions.into_iter().map(tool).find(|tool| tool.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_the_compiler_itself_are_told_from_those_about_its_input() {
        for line in [
            "ptxas fatal   : (C7907) Internal compiler error.",
            "ptxas /tmp/k.ptx, line 7; fatal   : (C7907) Internal compiler error.",
            "ptxas error   : Internal error",
            "ptxas error   : C7123 whatever",
        ] {
            assert!(is_internal(line), "{line}");
        }
        for line in [
            "ptxas fatal   : Ptx assembly aborted due to errors",
            "ptxas k.ptx, line 3; error   : Unknown symbol 'C7907'",
            "ptxas warning : (C7510) Potential Performance Loss",
            "ptxas error   : (C7600) Register allocation failed with register count of '16'.",
        ] {
            assert!(!is_internal(line), "{line}");
        }
    }
}
