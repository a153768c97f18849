//! `oriole explain`: a page that shows a check, step by step.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_check::input::InputError;
use oriole_explain::{Record, page};
use oriole_launch::file::read_text;

use crate::check::{Checked, Checking, Kept, check_file};
use crate::failure::{Failure, Status};
use crate::numbers::counted;
use crate::options::Given;

/// Writes a page that shows a kernel behind every step of a check
///
/// One file of HTML, which loads nothing: the PTX, a column for each step that changed something, the machine words
/// where there are any (--compile, --machine, --cubin); what changed, by which rule and why; the graph of blocks with
/// loops, liveness, register pressure, divergence, and how often the first case executes each instruction; the verdict
/// of each step, and why others were not taken. A record of `check --record` is shown without checking anything again.
///
/// Exit code 0, 1 where the check finds something, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel (.ptx, .ori), or a record (.json), with which options of a check have no meaning
    file: PathBuf,
    /// Where the page goes; standard output where no file is named
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    checking: Checking,
}

/// A record may have this many bytes.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let (record, status) = match args.file.extension().is_some_and(|ending| ending == "json") {
        true => (read_record(&args.file)?, Status::Clean),
        false => check(&args.file, &args.checking, given)?,
    };
    write_page(&record, args.output.as_deref(), out)?;
    Ok(status)
}

/// Checks a kernel, and records that.
pub fn check(file: &Path, checking: &Checking, given: &Given) -> Result<(Record, Status), Failure> {
    let kept = Kept { records: true, ..Kept::default() };
    let checked = check_file(file, checking, &kept, given)?;
    let is_found = checked.iter().any(|one| !one.report.findings.is_empty() || !one.report.is_as_expected());
    let kernels = checked.into_iter().flat_map(|Checked { kernels, .. }| kernels).collect();
    Ok((Record { kernels }, if is_found { Status::Found } else { Status::Clean }))
}

/// Writes the page of a record.
pub fn write_page(record: &Record, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let page = page::viewer(record).map_err(|error| Failure::Output(error.into()))?;
    let Some(path) = output else { return Ok(out.write_all(page.as_bytes())?) };
    fs::write(path, &page).map_err(|error| {
        Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
    })?;
    let programs = record.kernels.iter().map(|kernel| kernel.programs.len()).sum::<usize>();
    let (kernels, programs) = (counted(record.kernels.len(), "kernel"), counted(programs, "program"));
    Ok(writeln!(out, "{}: {programs} of {kernels}; open it in a browser", path.display())?)
}

/// Reads a record.
pub fn read_record(path: &Path) -> Result<Record, Failure> {
    let unreadable = |failure| InputError::Unreadable { path: path.to_owned(), failure };
    let text = read_text(path, MAX_RECORD_BYTES).map_err(unreadable)?;
    Record::read(&text).map_err(|error| {
        let help = "`oriole check K.ptx --record F.json` writes a record; `oriole explain K.ptx` needs none";
        Failure::Input(miette!(help = help, "`{}`: {error}", path.display()))
    })
}
