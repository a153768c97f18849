//! The life of findings: executed again, closed, opened.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use oriole_campaign::export::export;
use oriole_campaign::store::life::State;
use oriole_campaign::store::{Store, Stored};

use oriole_check::OUTSIDE;
use oriole_check::input::{MAX_KERNEL_BYTES, fault_of_reading};
use oriole_check::judge::{Hang, Verdict};
use oriole_check::supervise::{LIMIT, StepId, Stuck, guard};
use oriole_launch::file::read_text;

use super::NO_REPLAY;
use super::documents::{Close, Moved, Reopen, Replay, Replayed};
use crate::document::{self, Format};
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
pub fn replay(store: &mut Store, ids: &[String], format: Format, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut chosen = chosen(store, ids)?;
    if ids.is_empty() {
        chosen.retain(|stored| stored.life.state != State::Closed);
    }
    let mut findings = Vec::new();
    for stored in &chosen {
        let again = again(store, stored)?;
        if format == Format::Text {
            writeln!(Visible(out), "{} {} in {}: {}", again.id, again.verdict, again.phase, again.what)?;
        }
        findings.push(again);
    }
    let count = |wanted: fn(&Replayed) -> bool| findings.iter().filter(|one| wanted(one)).count();
    let gone = count(|one| one.shows == Some(false));
    let shows = count(|one| one.shows == Some(true) && one.state.is_some_and(State::counts));
    let unknown = count(|one| one.shows.is_none());
    match format {
        Format::Text => writeln!(out, "{gone} show no more, {shows} show, {unknown} cannot be executed")?,
        Format::Json => document::print(out, &Replay { gone, shows, unknown, findings })?,
    }
    Ok(match (unknown, shows) {
        (1.., _) => Status::BadInput,
        (_, 1..) => Status::Found,
        _ => Status::Clean,
    })
}

/// Executes the command of a finding, and saves what that says about it.
fn again(store: &mut Store, stored: &Stored) -> Result<Replayed, Failure> {
    let (id, key) = (stored.id.clone(), &stored.record.key);
    let (phase, verdict) = (key.phase.clone(), key.verdict.clone());
    let shows = match execute(store, stored)? {
        Shown::Yes => true,
        Shown::No => false,
        Shown::Unknown(why) => {
            let what = format!("cannot be executed: {why}");
            return Ok(Replayed { id, phase, verdict, shows: None, state: None, what });
        }
    };
    let state = store.replayed(&id, shows).map_err(Failure::input)?;
    let what = match (state, shows) {
        (State::Regressed, true) => "REGRESSION: it was fixed and shows again",
        (State::Closed, true) => "still shows; it stays closed",
        (_, true) => "still shows",
        (State::Closed, false) => "shows no more; it stays closed",
        (_, false) => "fixed",
    };
    Ok(Replayed { id, phase, verdict, shows: Some(shows), state: Some(state), what: what.to_owned() })
}

/// Closes findings.
pub fn close(store: &mut Store, ids: &[String], format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let findings = set_state(store, ids, State::Closed)?;
    match format {
        Format::Text => say(&findings, out),
        Format::Json => Ok(document::print(out, &Close { findings })?),
    }
}

/// Opens findings again.
pub fn reopen(store: &mut Store, ids: &[String], format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let findings = set_state(store, ids, State::Open)?;
    match format {
        Format::Text => say(&findings, out),
        Format::Json => Ok(document::print(out, &Reopen { findings })?),
    }
}

fn say(findings: &[Moved], out: &mut dyn Write) -> Result<(), Failure> {
    findings.iter().try_for_each(|Moved { id, state }| writeln!(out, "{id} {}", state.name()))?;
    Ok(())
}

/// Gives findings another state.
fn set_state(store: &mut Store, ids: &[String], state: State) -> Result<Vec<Moved>, Failure> {
    let mut moved = Vec::new();
    for Stored { id, .. } in chosen(store, ids)? {
        store.set_state(&id, state).map_err(Failure::input)?;
        moved.push(Moved { id, state });
    }
    Ok(moved)
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
