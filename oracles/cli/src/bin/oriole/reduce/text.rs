//! Reduction of PTX that the front end does not read well, for which there is no module: on the text.

use std::io::Write;
use std::path::PathBuf;

use oriole_check::input::{InputError, Language, MAX_KERNEL_BYTES, fault_of_reading};
use oriole_check::judge::Verdict;
use oriole_check::reduce::Options;
use oriole_check::reduce::external::{External, Wanted};
use oriole_check::reduce::text::{ReducedText, misread_text, reduce_text};
use oriole_check::supervise::{StepId, Stuck, guard};
use oriole_interp::file::{is_standard_input, read_text};

use super::{Args, MOST_LINES, Predicate, store};
use crate::failure::Failure;

/// Reduces the file where it is PTX that is not read well, as far as that is what the options ask for. `None` where it
/// is read, or where nothing but a diagnostic is to come of it.
pub fn run(args: &Args, options: &Options, out: &mut dyn Write) -> Result<Option<()>, Failure> {
    let file = &args.subject.file;
    if is_standard_input(file) || Language::of(file) != Some(Language::Ptx) {
        return Ok(None);
    }
    let unreadable = |failure| InputError::Unreadable { path: file.clone(), failure };
    // What is no text has a diagnostic of its own.
    let Ok(text) = read_text(file, MAX_KERNEL_BYTES).map_err(unreadable) else { return Ok(None) };
    let own = text.clone();
    let verdict = match guard(StepId::FrontEnd, args.limit, move || fault_of_reading(&own)) {
        Ok(None) => return Ok(None),
        Ok(Some(verdict)) => Some(verdict),
        Err(Stuck::Panicked(panic)) => Some(Verdict::Panicked(panic)),
        Err(Stuck::Hangs(_) | Stuck::OutOfMemory(..)) => None,
    };
    let reduced = match (&args.exec, &verdict) {
        (Some(line), _) => by_command(&External::shell(line, args.limit, Language::Ptx), &text, options)?,
        (None, Some(verdict)) if is_asked_for(args.predicate, verdict) => misread_text(&text, verdict, options),
        (None, None) if matches!(args.predicate, None | Some(Predicate::Hang)) => {
            by_command(&reading(args)?, &text, options)?
        }
        (None, _) => None,
    };
    reduced.filter(|reduced| reduced.interesting).map(|reduced| report(args, &reduced, out)).transpose()
}

/// Whether this is what must stay wrong. That a text is refused is right in general, so it must be asked for.
fn is_asked_for(predicate: Option<Predicate>, verdict: &Verdict) -> bool {
    match predicate {
        None => !matches!(verdict, Verdict::Refused(_)),
        Some(Predicate::Refused) => matches!(verdict, Verdict::Refused(_)),
        Some(Predicate::Panic) => matches!(verdict, Verdict::Panicked(_)),
        Some(Predicate::Invalid) => matches!(verdict, Verdict::InvalidIr(_)),
        Some(Predicate::Mismatch | Predicate::Hang | Predicate::Miscompile) => false,
    }
}

/// A process that reads the file and does not end.
fn reading(args: &Args) -> Result<External, Failure> {
    let arguments = vec!["opt".to_owned()];
    let program = std::env::current_exe()?;
    Ok(External { program, arguments, wanted: Wanted::Hang, limit: args.limit, language: Language::Ptx })
}

fn by_command(command: &External, text: &str, options: &Options) -> Result<Option<ReducedText>, Failure> {
    let failure = std::cell::RefCell::new(None);
    let holds = |candidate: &str| {
        command.accepts(candidate).unwrap_or_else(|error| {
            *failure.borrow_mut() = Some(error);
            false
        })
    };
    let reduced = reduce_text(text, &holds, options);
    match failure.into_inner() {
        Some(error) => Err(super::command_failed(&error)),
        None => Ok(Some(reduced)),
    }
}

/// Writes the reduced text, and says what became of it.
fn report(args: &Args, reduced: &ReducedText, out: &mut dyn Write) -> Result<(), Failure> {
    let stem = args.subject.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let default = PathBuf::from(format!("{stem}-reduced.ptx"));
    let path = args.output.as_ref().unwrap_or(&default);
    store(path, &reduced.text)?;
    let ReducedText { before, after, evaluations, time, complete, text, .. } = reduced;
    let end = if *complete { "nothing more can go" } else { "a limit was met" };
    writeln!(out, "{after} statements of {before}, {evaluations} candidates, {:.2} s; {end}", time.as_secs_f64())?;
    if let Some(Verdict::Refused(why) | Verdict::InvalidIr(why)) = fault_of_reading(text) {
        writeln!(out, "{why}")?;
    }
    if text.lines().count() <= MOST_LINES {
        write!(out, "\n{}\n\n", oriole_ir::diagnostics::escape::escaped(text.trim_end()))?;
    }
    Ok(writeln!(out, "{}", path.display())?)
}
