//! How a command ends, well or badly.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use miette::{Diagnostic, LabeledSpan, MietteHandlerOpts, Report, ReportHandler, Severity, SourceCode};
use oriole_check::input::InputError;
use oriole_ir::diagnostics::escape::escaped;
use oriole_launch::LaunchError;

/// How a command that could do its work ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// All is well.
    Clean,
    /// Something was found.
    Found,
    /// Some of the input is bad, which was said already.
    BadInput,
    /// Too little was done to say that all is well.
    TooLittle,
}

impl Status {
    fn code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Found => 1,
            Status::BadInput => 2,
            Status::TooLittle => 3,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        status.code().into()
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Its output could not be written.
    Output(io::Error),
    /// Its input is bad.
    Input(Report),
    /// It was ended before it could do any work.
    Unfinished(Report),
}

impl Failure {
    /// A failure of the input.
    pub fn input(error: impl Diagnostic + Send + Sync + 'static) -> Failure {
        Failure::Input(Report::new(error))
    }

    /// Shows the failure on standard error.
    pub fn report(&self) -> ExitCode {
        self.say().into()
    }

    /// The same, for a process that ends here.
    pub fn exit(&self) -> ! {
        std::process::exit(self.say().code().into())
    }

    fn say(&self) -> Status {
        // Nobody is left to tell where standard error is closed too.
        let shown = match self {
            Failure::Output(error) => writeln!(io::stderr(), "cannot write the output: {error}"),
            Failure::Input(report) | Failure::Unfinished(report) => say(report),
        };
        drop(shown);
        if matches!(self, Failure::Unfinished(_)) { Status::TooLittle } else { Status::BadInput }
    }
}

/// Ends the program where its command line says so: help, the version, an error. Errors quote arguments, whose hidden
/// characters are shown; the colours of the others stay.
pub fn exit(error: &clap::Error) -> ! {
    let hides = |argument: std::ffi::OsString| matches!(escaped(&argument.to_string_lossy()), Cow::Owned(_));
    if error.use_stderr() && std::env::args_os().any(hides) {
        // A terminal that is gone cannot be told.
        drop(io::stderr().write_all(shown(error.render()).as_bytes()));
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Shows a report on standard error.
pub fn say(report: &Report) -> io::Result<()> {
    writeln!(io::stderr(), "{:?}", Shown::new(report.as_ref()))
}

/// A report without characters that a terminal would obey, wherever they come from: names of files are in messages
/// and causes as they are. The handler's own colours stay, so the finished text is too late for that.
struct Shown<'a> {
    report: &'a dyn Diagnostic,
    message: String,
    help: Option<String>,
    cause: Option<Box<Cause>>,
    related: Vec<Shown<'a>>,
}

/// What an error came of.
#[derive(Debug)]
struct Cause {
    message: String,
    cause: Option<Box<Cause>>,
}

impl Cause {
    fn of(error: Option<&dyn Error>) -> Option<Box<Cause>> {
        let error = error?;
        Some(Box::new(Cause { message: shown(error), cause: Cause::of(error.source()) }))
    }
}

fn shown(text: impl fmt::Display) -> String {
    escaped(&text.to_string()).into_owned()
}

impl<'a> Shown<'a> {
    fn new(report: &'a dyn Diagnostic) -> Shown<'a> {
        Shown {
            report,
            message: shown(report),
            help: report.help().map(shown),
            cause: Cause::of(report.source()),
            related: report.related().into_iter().flatten().map(Shown::new).collect(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &dyn Error)
    }
}

/// The message alone.
impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The whole report. A terminal gets lines of its width; a program gets each message on one line, since it searches
/// for words and paths that a break would cut in two.
impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MietteHandlerOpts::new().wrap_lines(io::stderr().is_terminal()).build().debug(self, f)
    }
}

impl Error for Shown<'_> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &dyn Error)
    }
}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.report.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.report.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display + 'a>)
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.report.url()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.report.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.report.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.related.iter().map(|report| report as &dyn Diagnostic)))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::input(error)
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Failure {
        Failure::input(error)
    }
}
