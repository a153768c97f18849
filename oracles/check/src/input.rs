//! Kernels and their launches from files, with errors that say where and what to do.
//!
//! A `.ptx` file is read through the PTX front end, a `.ori` file through the text form; either way the module is
//! verified before anybody sees it. PTX comes in virtual form, text form in any.

use std::path::{Path, PathBuf};

use miette::Diagnostic as _;
use oriole_ir::diagnostics::excerpt::{SourceText, clipped};
use oriole_ir::verify::{Violation, verify_module};
use oriole_ir::{Module, ParseError, parse_module};
use oriole_optimizer::ssa;
use oriole_ptx::{self as ptx, Dialect, EmitError, Fault, SourceError};

use oriole_interp::LoadError;
pub use oriole_launch::NamedLaunch;
use oriole_launch::file::{ReadFailure, is_standard_input, read_input};
use oriole_launch::{Launch, LaunchError, launch_files_for};

use crate::constants::{self, Misread};
use crate::judge::Verdict;
use crate::supervise::catch;

/// A kernel file may have this many bytes.
pub const MAX_KERNEL_BYTES: u64 = 64 << 20;

/// The language of a kernel file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// PTX text.
    Ptx,
    /// The text form of the IR.
    Ori,
}

impl Language {
    /// The language that a text is in. A module of PTX begins with its version.
    pub fn of_text(text: &[u8]) -> Language {
        let directive = |line: &[u8]| line.trim_ascii_start().starts_with(b".version");
        if text.split(|&byte| byte == b'\n').any(directive) { Language::Ptx } else { Language::Ori }
    }

    /// The language that a file's name says.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "ptx" => Some(Language::Ptx),
            "ori" => Some(Language::Ori),
            _ => None,
        }
    }
}

/// The fault of a text in `.ori` form, with the text.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{} is not a module in .ori text form", source_code.name())]
pub struct OriError {
    /// The file's name and text.
    #[source_code]
    pub source_code: SourceText,
    /// The fault.
    #[related]
    pub related: [ParseError; 1],
}

/// Why a kernel or its launch cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum InputError {
    /// A file or folder cannot be read.
    #[error("cannot read `{}`: {failure}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why not.
        failure: ReadFailure,
    },
    /// There is no such file or folder.
    #[error("there is no file or folder `{}`", path.display())]
    #[diagnostic(help("{}", meant_or_endings(meant.as_deref())))]
    NoSuchFile {
        /// What was asked for.
        path: PathBuf,
        /// A kernel file of almost that name.
        meant: Option<PathBuf>,
    },
    /// The file's name ends in something else.
    #[error("`{}` is no kernel file", path.display())]
    #[diagnostic(help("kernel files end in .ptx or .ori"))]
    UnknownLanguage {
        /// Which.
        path: PathBuf,
    },
    /// The PTX text has faults.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ptx(Box<SourceError>),
    /// The front end reads a constant of the PTX text wrongly.
    #[error("`{}` is misread: {misread}", path.display())]
    #[diagnostic(help("this is a fault of Oriole; write the value in place of the expression to go on"))]
    Misread {
        /// The file.
        path: PathBuf,
        /// The constant.
        misread: Misread,
    },
    /// The `.ori` text has a fault.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ori(Box<OriError>),
    /// The module breaks rules of the IR.
    #[error("`{}` is not a valid module: {}", path.display(), listed(violations))]
    #[diagnostic(help("`oriole ops NAME` shows what an opcode takes"))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What it breaks.
        violations: Vec<Violation>,
    },
    /// There is no launch for a kernel.
    #[error("`{}` has no launch file", path.display())]
    #[diagnostic(help(
        "write `{}` beside it, name one with --launch, or give --grid, --block and --arg to `oriole run`",
        beside(path)
    ))]
    NoLaunch {
        /// The kernel file.
        path: PathBuf,
    },
    /// A folder holds no kernels.
    #[error("there is no kernel in `{}`", path.display())]
    #[diagnostic(help("kernels are .ptx files, and .ori files with a launch file beside them"))]
    NoKernels {
        /// The folder.
        path: PathBuf,
    },
    /// A launch file has a fault.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel cannot run on a launch.
    #[error("`{}` cannot run on {launch}: {error}", path.display())]
    #[diagnostic(help("{}", load_help(error, launch)))]
    Load {
        /// The kernel file.
        path: PathBuf,
        /// The launch.
        launch: String,
        /// Why not.
        error: Box<LoadError>,
    },
}

/// What to do about a kernel that does not fit its launch: what the error itself advises, if anything.
fn load_help(error: &LoadError, launch: &str) -> String {
    match error.help() {
        Some(help) => help.to_string(),
        None => format!("entry, arguments and variables must fit the launch: {launch}"),
    }
}

fn listed(violations: &[Violation]) -> String {
    let shown = violations.iter().take(5).map(|violation| clipped(&violation.to_string()).into_owned());
    let shown: Vec<String> = shown.collect();
    let more = violations.len().saturating_sub(shown.len());
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    shown.join("; ") + &tail
}

fn meant_or_endings(meant: Option<&Path>) -> String {
    match meant {
        Some(path) => format!("did you mean `{}`?", path.display()),
        None => "name a kernel, which ends in .ptx or .ori, or a folder of them; `-` is standard input".to_owned(),
    }
}

fn beside(kernel: &Path) -> String {
    kernel.with_extension("launch.toml").display().to_string()
}

/// Reads and verifies a kernel file. Standard input, `-`, is PTX if it looks like it.
///
/// # Errors
///
/// What cannot be read, and what is no valid module.
pub fn read_kernel(path: &Path) -> Result<Module, InputError> {
    read_kernel_in(path, &Dialect::default())
}

/// The same with instructions of PTX that the tables do not know.
///
/// # Errors
///
/// As [`read_kernel`].
pub fn read_kernel_in(path: &Path, dialect: &Dialect) -> Result<Module, InputError> {
    let read = |path: &Path| {
        let unreadable = |failure| InputError::Unreadable { path: path.to_owned(), failure };
        read_input(path, MAX_KERNEL_BYTES).map_err(unreadable)
    };
    if is_standard_input(path) {
        let bytes = read(path)?;
        return parse_kernel_in(Language::of_text(&bytes), path, &bytes, dialect);
    }
    let language = Language::of(path).ok_or_else(|| unknown_language(path))?;
    parse_kernel_in(language, path, &read(path)?, dialect)
}

/// What to say of a file that no kernel's name ends like: that it is not there, if so.
fn unknown_language(path: &Path) -> InputError {
    if path.exists() {
        return InputError::UnknownLanguage { path: path.to_owned() };
    }
    let meant = ["ptx", "ori"].iter().map(|ending| path.with_extension(ending)).find(|path| path.is_file());
    InputError::NoSuchFile { path: path.to_owned(), meant }
}

/// Reads and verifies the bytes of a kernel file; `path` names it in messages.
pub fn parse_kernel(language: Language, path: &Path, bytes: &[u8]) -> Result<Module, InputError> {
    parse_kernel_in(language, path, bytes, &Dialect::default())
}

/// The same with instructions of PTX that the tables do not know.
///
/// # Errors
///
/// As [`read_kernel`].
pub fn parse_kernel_in(language: Language, path: &Path, bytes: &[u8], dialect: &Dialect) -> Result<Module, InputError> {
    let name = path.display().to_string();
    let failed = |faults| InputError::Ptx(Box::new(SourceError::new(&name, &String::from_utf8_lossy(bytes), faults)));
    let text = ptx::decode(bytes).map_err(|fault| failed(vec![fault]))?;
    let module = match language {
        Language::Ptx => {
            let (module, misread) = read_twice(text, dialect).map_err(failed)?;
            match misread {
                Some(misread) => return Err(InputError::Misread { path: path.to_owned(), misread }),
                None => module,
            }
        }
        Language::Ori => {
            // Texts of the machine level have its instructions.
            oriole_sass::ori::register();
            parse_module(text).map_err(|mut fault| {
                let source_code = SourceText::new(name.as_str(), text);
                fault.span = source_code.mark(fault.span);
                InputError::Ori(Box::new(OriError { source_code, related: [fault] }))
            })?
        }
    };
    verify_module(&module).map_err(|violations| InputError::Invalid { path: path.to_owned(), violations })?;
    Ok(module)
}

/// Reads PTX text, and evaluates its constant expressions a second time: the first that is misread.
fn read_twice(text: &str, dialect: &Dialect) -> Result<(Module, Option<Misread>), Vec<Fault>> {
    let tree = ptx::parse(text)?;
    Ok((ptx::lower_dialect(&tree, text, dialect)?, constants::misread(text, &tree)))
}

/// What the PTX front end does wrong on a text: it panics, refuses it, makes a module that is not valid, or misreads a
/// constant. `None` where it reads it well. Refusing is right where the text is; only who wrote the text can tell.
pub fn fault_of_reading(text: &str) -> Option<Verdict> {
    fault_of_reading_in(text, &Dialect::default())
}

/// The same of a text with instructions that the tables do not know.
pub fn fault_of_reading_in(text: &str, dialect: &Dialect) -> Option<Verdict> {
    match catch(|| read_twice(text, dialect).map(|(module, misread)| (verify_module(&module), misread))) {
        Err(panic) => Some(Verdict::Panicked(panic)),
        Ok(Err(faults)) => Some(Verdict::Refused(faults.first().map_or_else(String::new, ToString::to_string))),
        Ok(Ok((Err(violations), _))) => Some(invalid(&violations)),
        Ok(Ok((Ok(()), misread))) => misread.map(|misread| Verdict::Unexpected(misread.to_string())),
    }
}

/// The verdict on a text that is read and yet no valid module.
pub fn invalid(violations: &[Violation]) -> Verdict {
    Verdict::InvalidIr(violations.first().map_or_else(String::new, ToString::to_string))
}

/// Reads PTX text and brings it into SSA form.
///
/// # Errors
///
/// The faults of the text.
pub fn read_ptx(text: &str) -> Result<Module, Vec<Fault>> {
    let mut module = ptx::read(text)?;
    ssa::construct_module(&mut module);
    Ok(module)
}

/// Prints a module in any form as PTX text.
///
/// # Errors
///
/// The first thing that PTX has no words for.
pub fn write_ptx(module: &Module) -> Result<String, EmitError> {
    ptx::emit(&ssa::destructed(module))
}

/// The launches for a kernel: the files given, or else those beside it.
pub fn launches_for(kernel: &Path, given: &[PathBuf]) -> Result<Vec<NamedLaunch>, InputError> {
    let beside = if given.is_empty() { launch_files_for(kernel) } else { given.to_vec() };
    if beside.is_empty() {
        return Err(InputError::NoLaunch { path: kernel.to_owned() });
    }
    let load = |path: &PathBuf| Ok(NamedLaunch { name: path.display().to_string(), launch: Launch::load(path)? });
    beside.iter().map(load).collect()
}
