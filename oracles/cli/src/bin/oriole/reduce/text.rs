//! Reduction of PTX that the front end does not read well, for which there is no module: on the text.

use std::io::Write;

use oriole_check::input::{InputError, Language, MAX_KERNEL_BYTES, fault_of_reading, fault_of_reading_in};
use oriole_check::judge::Verdict;
use oriole_check::reduce::Watch;
use oriole_check::reduce::external::External;
use oriole_check::reduce::text::{ReducedText, misread_text, reduce_text};
use oriole_check::supervise::{StepId, Stuck, guard};
use oriole_launch::file::{is_standard_input, read_text};

use super::report::{Document, Extent};
use super::{MOST_LINES, Predicate, Search, boring, command, command_failed, end, ended_early, files, status};
use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::numbers::counted;

/// Reduces the file where it is PTX that is not read well, as far as that is what the options ask for. `None` where it
/// is read, or where nothing but a diagnostic is to come of it.
pub fn run(search: &Search<'_>, watch: Watch<'_>, out: &mut dyn Write) -> Result<Option<Status>, Failure> {
    let (args, options) = (search.args, &search.limits);
    let file = &args.subject.file;
    if is_standard_input(file) || Language::of(file) != Some(Language::Ptx) {
        return Ok(None);
    }
    let unreadable = |failure| InputError::Unreadable { path: file.clone(), failure };
    // What is no text has a diagnostic of its own.
    let Ok(text) = read_text(file, MAX_KERNEL_BYTES).map_err(unreadable) else { return Ok(None) };
    let (own, dialect) = (text.clone(), args.reading.dialect());
    let verdict = match guard(StepId::FrontEnd, args.limit, move || fault_of_reading_in(&own, &dialect)) {
        Ok(None) => return Ok(None),
        Ok(Some(verdict)) => Some(verdict),
        Err(Stuck::Panicked(panic)) => Some(Verdict::Panicked(panic)),
        Err(Stuck::Hangs(_) | Stuck::OutOfMemory(..)) => None,
    };
    let reduced = match (&args.exec, &verdict) {
        (Some(line), _) => {
            let external = search.shell(line, Language::Ptx);
            command::likes_the_file(search, &external)?;
            return by_command(search, &external, &text, watch, out).map(Some);
        }
        (None, Some(verdict)) if is_asked_for(args.predicate, verdict) => misread_text(&text, verdict, options, watch),
        (None, None) if matches!(args.predicate, None | Some(Predicate::Hang)) => {
            let reading = search.itself(vec!["opt".to_owned()], Language::Ptx)?;
            return by_command(search, &reading, &text, watch, out).map(Some);
        }
        (None, _) => None,
    };
    reduced.filter(|reduced| reduced.interesting).map(|reduced| report(search, &reduced, out)).transpose()
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

/// Reduces a text by what a command says of it.
pub fn by_command(
    search: &Search<'_>,
    command: &External,
    text: &str,
    watch: Watch<'_>,
    out: &mut dyn Write,
) -> Result<Status, Failure> {
    let failure = std::cell::RefCell::new(None);
    let holds = |candidate: &str| {
        command.accepts(candidate).unwrap_or_else(|error| {
            *failure.borrow_mut() = Some(error);
            false
        })
    };
    let reduced = reduce_text(text, &holds, &search.limits, watch);
    match failure.into_inner() {
        Some(error) => Err(command_failed(&error)),
        None if reduced.interesting => report(search, &reduced, out),
        None if reduced.stopped => Err(ended_early(search.args)),
        None => Err(boring(search.args, "the command does not say the same of it twice")),
    }
}

/// Writes the reduced text, and says what became of it.
fn report(search: &Search<'_>, reduced: &ReducedText, out: &mut dyn Write) -> Result<Status, Failure> {
    search.live.finish();
    let path = search.args.output.clone().unwrap_or_else(|| files::output(search.args, Language::Ptx));
    files::store(&path, &reduced.text)?;
    let ReducedText { before, after, evaluations, time, text, complete, stopped, .. } = reduced;
    if search.args.format == Format::Json {
        let document = Document {
            complete: *complete,
            stopped: *stopped,
            candidates: *evaluations,
            seconds: time.as_secs_f64(),
            before: Extent::of_text(*before),
            after: Extent::of_text(*after),
            file: path,
            text: text.clone(),
            ptx: None,
            findings: Vec::new(),
        };
        document::print(out, &document)?;
        return Ok(status(*stopped));
    }
    let end = end(reduced.complete, reduced.stopped);
    writeln!(
        out,
        "{after} of {before}, {evaluations}, {:.2} s; {end}",
        time.as_secs_f64(),
        after = counted(after, "statement"),
        evaluations = counted(evaluations, "candidate")
    )?;
    if let Some(Verdict::Refused(why) | Verdict::InvalidIr(why)) = fault_of_reading(text) {
        writeln!(out, "{why}")?;
    }
    if text.lines().count() <= MOST_LINES {
        write!(out, "\n{}\n\n", oriole_ir::diagnostics::escape::escaped(text.trim_end()))?;
    }
    writeln!(out, "{}", path.display())?;
    Ok(status(reduced.stopped))
}
