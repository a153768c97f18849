//! How a command ends, well or badly.

use std::io::{self, Write};
use std::process::ExitCode;

use miette::{Diagnostic, Report};
use oriole_check::input::InputError;
use oriole_interp::launch::LaunchError;

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

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Clean => ExitCode::SUCCESS,
            Status::Found => ExitCode::from(1),
            Status::BadInput => ExitCode::from(2),
            Status::TooLittle => ExitCode::from(3),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Its output could not be written.
    Output(io::Error),
    /// Its input is bad.
    Input(Report),
}

impl Failure {
    /// A failure of the input.
    pub fn input(error: impl Diagnostic + Send + Sync + 'static) -> Failure {
        Failure::Input(Report::new(error))
    }

    /// Shows the failure on standard error.
    pub fn report(&self) -> ExitCode {
        // Nobody is left to tell where standard error is closed too.
        let shown = match self {
            Failure::Output(error) => writeln!(io::stderr(), "cannot write the output: {error}"),
            Failure::Input(report) => writeln!(io::stderr(), "{report:?}"),
        };
        drop(shown);
        ExitCode::from(2)
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
