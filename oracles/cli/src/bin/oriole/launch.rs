//! `oriole launch`: writes a launch file for a kernel that has none.

mod guess;
mod uses;

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_interp::Outcome;
use oriole_ir::{Function, FunctionKind, Module};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::settings::Reading;

/// Writes a launch file for a kernel that has none
///
/// Each parameter gets an entry. Which of them are buffers, and of what, the code says; how large they must be is found
/// by execution, with as many threads as the kernel asks for, and numbers that are as large as the grid. The file is a
/// beginning: what a kernel means by its numbers only its author knows. Exit code 0 when the kernel finishes on what is
/// written, 1 where it does not and the file says why, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx or .ori file
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// The entry to launch, where the module has several
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Where the launch goes; by default beside the kernel, `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    force: bool,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON of `launch`.
#[derive(JsonSchema, Serialize)]
pub struct Document {
    /// Where the launch was written; null where that is standard output.
    file: Option<PathBuf>,
    /// The launch file's text.
    launch: String,
    /// Whether the kernel finishes on it.
    finishes: bool,
    /// How it ends otherwise; null where it cannot run.
    outcome: Option<String>,
}

impl document::Document for Document {
    const COMMAND: &'static str = "launch";
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let module = args.reading.kernel(&args.file)?;
    let entry = entry(&module, args.entry.as_deref())?;
    let (guess, ended) = guess::guess(&module, entry)?;
    let text = guess.text(&ended);
    let path = args.output.clone().unwrap_or_else(|| args.file.with_extension("launch.toml"));
    let file = (path != Path::new("-")).then_some(path);
    if let Some(path) = &file {
        write_new(path, text.as_bytes(), args.force)?;
    }
    let finishes = ended == Some(Outcome::Finished);
    if args.format == Format::Json {
        let outcome = ended.filter(|_| !finishes).map(|outcome| outcome.to_string());
        document::print(out, &Document { file, launch: text, finishes, outcome })?;
        return Ok(if finishes { Status::Clean } else { Status::Found });
    }
    match &file {
        None => out.write_all(text.as_bytes())?,
        Some(path) => writeln!(out, "{}", path.display())?,
    }
    match ended {
        Some(Outcome::Finished) => return Ok(Status::Clean),
        Some(outcome) => writeln!(io::stderr(), "with these arguments it does not finish: {outcome}")?,
        None => writeln!(io::stderr(), "it cannot run with these arguments; `oriole run` says why")?,
    }
    Ok(Status::Found)
}

/// The entry of that name, or the only one.
fn entry<'m>(module: &'m Module, name: Option<&str>) -> Result<&'m Function, Failure> {
    let is_entry = |func: &&Function| func.kind == FunctionKind::Entry && func.is_definition();
    let entries: Vec<&Function> = module.functions.values().filter(is_entry).collect();
    let names = || entries.iter().map(|func| func.name.as_str()).collect::<Vec<_>>().join(", ");
    let bad = |help: String, message: String| Err(Failure::Input(miette!(help = help, "{message}")));
    match (name, &entries[..]) {
        (_, []) => bad("a kernel is an `.entry`".to_owned(), "there is no kernel in the file".to_owned()),
        (None, [one]) => Ok(one),
        (None, _) => bad(format!("name one with --entry: {}", names()), "the file has several kernels".to_owned()),
        (Some(name), _) => match entries.iter().find(|func| func.name == name) {
            Some(func) => Ok(func),
            None => bad(format!("there is {}", names()), format!("no kernel is called `{name}`")),
        },
    }
}

/// Writes a file that must not exist yet, unless that is wanted.
pub fn write_new(path: &Path, content: &[u8], force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    let options = if force { options.create(true) } else { options.create_new(true) };
    let written = options.open(path).and_then(|mut file| file.write_all(content));
    written.map_err(|error| {
        let help = match error.kind() {
            ErrorKind::AlreadyExists => "write over it with --force, or name another file",
            _ => "name another file",
        };
        Failure::Input(miette!(help = help, "cannot write `{}`: {error}", path.display()))
    })
}
