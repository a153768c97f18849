//! The page of a finding: its reproducer, checked again with all programs kept.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use miette::miette;
use oriole_campaign::export::export;
use oriole_campaign::store::{Store, Stored};
use oriole_explain::Record;

use super::NO_REPLAY;
use crate::explain::{read_record, write_page};
use crate::failure::Failure;
use crate::options::{only_checks, words_of};

/// Prints the page of a finding, or of all variants of a family.
pub fn print(store: &Store, id: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut record = Record::default();
    for stored in store.variants(id).map_err(Failure::input)? {
        record.kernels.extend(recorded(store, &stored)?.kernels);
    }
    write_page(&record, None, out)
}

/// The record of a finding. A process of its own makes it, which a phase may take down.
fn recorded(store: &Store, stored: &Stored) -> Result<Record, Failure> {
    let folder = tempfile::tempdir()?;
    let file = export(store, stored, folder.path()).map_err(Failure::input)?;
    let words = words_of(&stored.record.replay_of(&file.display().to_string()));
    let none = |why: String| {
        let help = format!("`oriole findings show {}` has it as text", stored.id);
        Failure::Input(miette!(help = help, "{} has no page: {why}", stored.id))
    };
    if !only_checks(&words) {
        return Err(none(NO_REPLAY.to_owned()));
    }
    let words = as_check(words).ok_or_else(|| none("no check makes code in this way".to_owned()))?;
    let path = folder.path().join("record.json");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words.iter().skip(1)).arg("--record").arg(&path).arg("--out").arg(folder.path().join("out"));
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if !path.exists() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it ends without a record");
        return Err(none(first.trim_start_matches("× ").to_owned()));
    }
    relative(read_record(&path)?, folder.path())
}

/// The command that checks what another one judges: code of ptxas is a step of a check, too. `None` where ptxas is to
/// compile in a way that no check has.
fn as_check(words: Vec<String>) -> Option<Vec<String>> {
    if words.get(1).is_none_or(|command| command != "judge") {
        return Some(words);
    }
    let as_check = |word: String| match word.as_str() {
        "judge" => Some("check".to_owned()),
        "--sm" => Some("--machine".to_owned()),
        "-O" => Some("--ptxas-level".to_owned()),
        "--fast-compile" | "--max-registers" | "--ptxas-option" | "--gpu" => None,
        _ => Some(word),
    };
    words.into_iter().map(as_check).collect()
}

/// The record with names of files as `findings export` has them, and not in a folder that is gone by then.
fn relative(record: Record, folder: &Path) -> Result<Record, Failure> {
    let prefix = format!("{}/", folder.display());
    let text = serde_json::to_string(&record).map_err(|error| Failure::Output(error.into()))?;
    serde_json::from_str(&text.replace(&prefix, "")).map_err(|error| Failure::Output(error.into()))
}
