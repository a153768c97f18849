//! Errors as exceptions of Python: the message, the place in the input, and the remedy.

use std::fmt::{self, Display};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use oriole_check::CheckError;
use oriole_check::supervise::Panic;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The class of `oriole.errors` that an error becomes.
#[derive(Clone, Copy, Debug)]
enum Class {
    Input,
    Internal,
}

/// An error on its way to Python.
#[derive(Debug)]
pub struct Error {
    class: Class,
    message: String,
    /// `file:line:column`.
    place: Option<String>,
    remedy: Option<String>,
    /// All of it with the excerpt, as a terminal shows it.
    shown: String,
}

/// How wide an excerpt is drawn.
const WIDTH: usize = 120;

impl Error {
    /// Bad input, and what to do about it.
    pub fn input(message: impl Display, remedy: impl Into<String>) -> Error {
        let (message, remedy) = (message.to_string(), remedy.into());
        let shown = format!("{message}\n  help: {remedy}");
        Error { class: Class::Input, message, place: None, remedy: Some(remedy), shown }
    }

    /// Bad input that a diagnostic describes: the messages of all its faults, the place of the first, and the remedies.
    pub fn of(diagnostic: &dyn Diagnostic) -> Error {
        let mut shown = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
        if handler.with_links(false).render_report(&mut shown, diagnostic).is_err() {
            shown = diagnostic.to_string();
        }
        let faults = || diagnostic.related().into_iter().flatten();
        let messages: Vec<String> = faults().map(ToString::to_string).collect();
        let message = match messages.is_empty() {
            true => diagnostic.to_string(),
            false => format!("{diagnostic}: {}", messages.join("; ")),
        };
        let remedy = diagnostic.help().map(|help| help.to_string());
        let remedy = remedy.or_else(|| faults().find_map(|fault| fault.help().map(|help| help.to_string())));
        let place = place(diagnostic, diagnostic).or_else(|| faults().find_map(|fault| place(fault, diagnostic)));
        Error { class: Class::Input, message, place, remedy, shown: shown.trim_end().to_owned() }
    }

    /// A kernel that cannot be checked.
    pub fn of_check(kernel: &str, error: &CheckError) -> Error {
        let remedy = match error {
            CheckError::Load { .. } => "arguments and entry of the launch must fit the kernel's parameters",
            CheckError::Lift(_) => "`Cubin.functions` has the words, and says which are not known",
            CheckError::UnknownPhase(_) | CheckError::NotAmong { .. } => "`oriole phases` lists them all",
            CheckError::Target(_) => "the architecture is behind `.target` in PTX, behind `target` in .ori",
            CheckError::Reproducer { .. } => "name another folder",
        };
        Error::input(format!("{kernel}: {error}"), remedy)
    }

    /// A fault of Oriole itself.
    pub fn internal(panic: &Panic) -> Error {
        let message = format!("Oriole itself goes wrong: {}", panic.message);
        let remedy = "please report it with the input; the process may continue".to_owned();
        let shown =
            format!("{message}\n  at {}\n  help: {remedy}", panic.place.as_deref().unwrap_or("an unknown place"));
        Error { class: Class::Internal, message, place: panic.place.clone(), remedy: Some(remedy), shown }
    }
}

/// Where the first label of a diagnostic is. Faults may leave the text to the diagnostic that they belong to.
fn place(diagnostic: &dyn Diagnostic, owner: &dyn Diagnostic) -> Option<String> {
    let label = diagnostic.labels()?.next()?;
    let source = diagnostic.source_code().or_else(|| owner.source_code())?;
    let contents = source.read_span(label.inner(), 0, 0).ok()?;
    let (line, column) = (contents.line() + 1, contents.column() + 1);
    Some(match contents.name() {
        Some(name) => format!("{name}:{line}:{column}"),
        None => format!("line {line}, column {column}"),
    })
}

impl Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl std::error::Error for Error {}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        Python::attach(|py| {
            let class = match error.class {
                Class::Input => "InputError",
                Class::Internal => "InternalError",
            };
            let Error { message, place, remedy, shown, .. } = error;
            let class = py.import("oriole.errors").and_then(|errors| errors.getattr(class));
            match class.and_then(|class| class.call1((message, place, remedy, &shown))) {
                Ok(exception) => PyErr::from_value(exception),
                // The package is not whole; its error is still one of Python.
                Err(_) => PyRuntimeError::new_err(shown),
            }
        })
    }
}
