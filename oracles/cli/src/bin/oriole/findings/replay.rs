//! The life of findings: executed again, closed, opened.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use oriole::campaign::export::export;
use oriole::campaign::store::life::State;
use oriole::campaign::store::{Store, Stored};

use oriole_check::OUTSIDE;
use oriole_check::input::{MAX_KERNEL_BYTES, fault_of_reading};
use oriole_check::judge::{Hang, Verdict};
use oriole_check::supervise::{LIMIT, StepId, Stuck, guard};
use oriole_interp::file::read_text;

use super::NO_REPLAY;
use crate::failure::{Failure, Status};
use crate::options::{only_checks, words_of};
use crate::output::Visible;

/// What the command of a finding came to.
#[derive(Clone, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
    /// It could not be executed, as this says: options of another version, rule files that are gone.
    Unknown(String),
}

/// Executes the commands of findings, and saves what that says about them.
pub fn replay(store: &mut Store, ids: &[String], out: &mut dyn Write) -> Result<Status, Failure> {
    let mut chosen = chosen(store, ids)?;
    if ids.is_empty() {
        chosen.retain(|stored| stored.life.state != State::Closed);
    }
    let out = &mut Visible(out);
    let (mut shows, mut gone, mut unknown) = (0, 0, 0);
    for stored in &chosen {
        let shown = execute(store, stored)?;
        let (id, key) = (&stored.id, &stored.record.key);
        let what = match shown {
            Shown::Unknown(why) => {
                unknown += 1;
                &format!("cannot be executed: {why}")
            }
            Shown::Yes | Shown::No => {
                let state = store.replayed(id, shown == Shown::Yes).map_err(Failure::input)?;
                match shown {
                    Shown::Yes => shows += u32::from(state.counts()),
                    _ => gone += 1,
                }
                match (state, shown) {
                    (State::Regressed, Shown::Yes) => "REGRESSION: it was fixed and shows again",
                    (State::Closed, Shown::Yes) => "still shows; it stays closed",
                    (_, Shown::Yes) => "still shows",
                    (State::Closed, _) => "shows no more; it stays closed",
                    _ => "fixed",
                }
            }
        };
        writeln!(out, "{id} {} in {}: {what}", key.verdict, key.phase)?;
    }
    writeln!(out, "{gone} show no more, {shows} show, {unknown} cannot be executed")?;
    Ok(match (unknown, shows) {
        (1.., _) => Status::BadInput,
        (_, 1..) => Status::Found,
        _ => Status::Clean,
    })
}

/// Gives findings another state.
pub fn set_state(store: &mut Store, ids: &[String], state: State, out: &mut dyn Write) -> Result<(), Failure> {
    for stored in chosen(store, ids)? {
        store.set_state(&stored.id, state).map_err(Failure::input)?;
        writeln!(out, "{} {}", stored.id, state.name())?;
    }
    Ok(())
}

/// The findings with these identifiers, all variants where they name a family, or all.
pub fn chosen(store: &Store, ids: &[String]) -> Result<Vec<Stored>, Failure> {
    let findings = match ids {
        [] => store.findings(),
        ids => ids.iter().map(|id| store.variants(id)).collect::<Result<Vec<_>, _>>().map(|found| found.concat()),
    };
    findings.map_err(Failure::input)
}

/// Executes the command of a finding in a process of its own, which a phase may take down. What goes wrong while a text
/// is read is no command's result, since most commands take it for bad input; that text is read again.
fn execute(store: &Store, stored: &Stored) -> Result<Shown, Failure> {
    let folder = tempfile::tempdir()?;
    let file = export(store, stored, folder.path()).map_err(Failure::input)?;
    if stored.record.is_text && stored.record.replay.starts_with("oriole check ") {
        return Ok(read_again(&file, &stored.record.key.verdict));
    }
    let words = words_of(&stored.record.replay_of(&file.display().to_string()));
    if stored.record.replay.contains(OUTSIDE) {
        return Ok(Shown::Unknown(stored.record.replay_of(stored.record.reproducer())));
    }
    if !only_checks(&words) {
        return Ok(Shown::Unknown(NO_REPLAY.to_owned()));
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words.iter().skip(1));
    if words.get(1).is_some_and(|name| name == "check") {
        command.arg("--out").arg(folder.path().join("out"));
    }
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    Ok(match output.status.code() {
        Some(0) => Shown::No,
        // A command that is killed shows what it was killed by.
        Some(1) | None => Shown::Yes,
        Some(_) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
            Shown::Unknown(first.trim_start_matches("× ").to_owned())
        }
    })
}

/// Whether reading a text goes wrong with this verdict.
fn read_again(file: &Path, verdict: &str) -> Shown {
    let text = match read_text(file, MAX_KERNEL_BYTES) {
        Ok(text) => text,
        Err(failure) => return Shown::Unknown(failure.to_string()),
    };
    let found = match guard(StepId::FrontEnd, LIMIT, move || fault_of_reading(&text)) {
        Ok(found) => found,
        Err(Stuck::Panicked(panic)) => Some(Verdict::Panicked(panic)),
        Err(Stuck::Hangs(_)) => Some(Verdict::Hangs(Hang::Clock(LIMIT))),
        Err(Stuck::OutOfMemory(_, most)) => Some(Verdict::OutOfMemory(most)),
    };
    if found.is_some_and(|found| found.name() == verdict) { Shown::Yes } else { Shown::No }
}
