//! Reduction by what a command says: what it makes of the file itself decides how.
//!
//! A command that does not find the file interesting will find nothing of it interesting, and the message says why. One
//! that finds the file interesting, and what Oriole prints of it not, is about something that reading and printing
//! change; PTX is then reduced as text.

use std::sync::Mutex;

use miette::miette;
use oriole_check::input::{Language, MAX_KERNEL_BYTES};
use oriole_check::reduce::Roots;
use oriole_check::reduce::external::{Answer, External};
use oriole_check::report::Evidence;
use oriole_check::supervise::catch;
use oriole_ir::Module;
use oriole_launch::file::{is_standard_input, read_text};
use oriole_launch::launch_files_for;

use super::{Args, Job, Question, Search, Task, boring, command_failed, ended_early, first_launch, in_ssa};
use crate::failure::Failure;

/// What to reduce by a command line.
pub fn task(search: &Search<'_>, line: &str, module: Module, there: bool) -> Result<Task, Failure> {
    let args = search.args;
    let language = Language::of(&args.subject.file).unwrap_or(Language::Ori);
    let external = search.shell(line, language);
    likes_the_file(search, &external)?;
    let evidence = Evidence { module, launch: first_launch(args, there)? };
    let question = Question::Command(external.clone(), Mutex::new(None));
    if let Some(evidence) = in_form(&question, &evidence) {
        return Ok(Task::Program(Box::new(Job { evidence, roots: Roots::default(), question, check: None })));
    }
    let answer = external.answer(&evidence).map_err(|error| command_failed(&error))?;
    if search.is_stopped() {
        return Err(ended_early(args));
    }
    let makes =
        answer.map_or_else(|| "it cannot be written as PTX".to_owned(), |answer| format!("the command {answer}"));
    let text = (language == Language::Ptx).then(|| read_text(&args.subject.file, MAX_KERNEL_BYTES).ok()).flatten();
    match text {
        Some(text) => {
            search
                .live
                .say(&format!("reading and printing it makes another module, on which {makes}; the text is reduced"));
            Ok(Task::Text(external, text))
        }
        None => Err(unfaithful(args, &makes)),
    }
}

/// The evidence in SSA form, which has more that can go, or as it is; `None` where neither is interesting.
pub fn in_form(question: &Question, evidence: &Evidence) -> Option<Evidence> {
    let ssa = catch(|| in_ssa(&evidence.module)).ok();
    let ssa = ssa.map(|module| Evidence { module, launch: evidence.launch.clone() });
    [ssa, Some(evidence.clone())].into_iter().flatten().find(|evidence| question.holds(evidence))
}

/// Refuses a file that the command does not find interesting.
pub fn likes_the_file(search: &Search<'_>, external: &External) -> Result<(), Failure> {
    let file = &search.args.subject.file;
    if is_standard_input(file) {
        return Ok(());
    }
    let given = &search.args.subject.launch;
    let launches = if given.is_empty() { launch_files_for(file) } else { given.clone() };
    let answer = external.answer_on(file, launches.first().map(|path| &**path));
    let answer: Answer = answer.map_err(|error| command_failed(&error))?;
    match external.likes(answer.ended) {
        true => Ok(()),
        false if search.is_stopped() => Err(ended_early(search.args)),
        false => Err(boring(search.args, &format!("on the file itself the command {answer}, where 0 is wanted"))),
    }
}

fn unfaithful(args: &Args, makes: &str) -> Failure {
    let help = "the command must judge what the program does, and not how it is written";
    let file = args.subject.file.display();
    Failure::Input(miette!(help = help, "reading and printing `{file}` makes another module, on which {makes}"))
}
