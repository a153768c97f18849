//! Every phase, knob and gate that the documents on copy propagation and on liveness state has a row (`documents.txt`
//! lists them with their lines), and every row that names a line of these documents is in the list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oriole_optimizer::pass::knobs::{KNOBS, find};
use oriole_optimizer::pass::{Page, Source};
use oriole_optimizer::pipeline::gates::GATES;
use oriole_optimizer::pipeline::table::{PHASES, Phase, SUB_PASSES, rows_for_token};

/// The two documents, with the number of their lines.
const DOCUMENTS: [(Page, u16); 2] = [(Page::CopyPropagation, 1280), (Page::Liveness, 619)];

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Statement {
    document: String,
    line: u16,
    kind: String,
    name: String,
}

impl Statement {
    fn read(text: &str) -> Option<Statement> {
        let [place, kind, name] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let (document, line) = place.split_once(':')?;
        Some(Statement { document: document.into(), line: line.parse().ok()?, kind: kind.into(), name: name.into() })
    }

    /// Whether a table has the row.
    fn has_row(&self) -> bool {
        let number = || self.name.parse::<u16>().ok();
        match self.kind.as_str() {
            "phase" => PHASES.iter().any(|row| row.name == self.name),
            "number" => number().and_then(Phase::numbered).is_some(),
            "step" => SUB_PASSES.iter().any(|row| row.name == self.name),
            "token" => rows_for_token(&self.name).is_ok(),
            "knob" => find(&self.name).is_ok_and(|row| row.name == self.name),
            "index" => KNOBS.iter().any(|row| row.index.is_some() && row.index == number()),
            "gate" => GATES.iter().any(|row| row.name == self.name),
            _ => false,
        }
    }
}

fn list() -> Vec<Statement> {
    let lines = include_str!("documents.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Statement::read(line).unwrap_or_else(|| panic!("`{line}` is no statement"))).collect()
}

/// What the rows themselves say that they come from.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, Source)> {
    let phases = PHASES.iter().filter_map(|row| Some(("phase", row.name, row.source?)));
    let steps = SUB_PASSES.iter().map(|row| ("step", row.name, row.source));
    let knobs = KNOBS.iter().map(|row| ("knob", row.name, row.source));
    let gates = GATES.iter().map(|row| ("gate", row.name, row.source));
    phases.chain(steps).chain(knobs).chain(gates)
}

#[test]
fn what_the_documents_state_has_a_row() {
    let missing: Vec<Statement> = list().into_iter().filter(|statement| !statement.has_row()).collect();
    assert!(missing.is_empty(), "no row for {missing:#?}");
}

#[test]
fn rows_of_these_documents_stand_in_the_list() {
    let listed: BTreeSet<Statement> = list().into_iter().collect();
    for (kind, name, source) in rows().filter(|(_, _, source)| DOCUMENTS.iter().any(|(page, _)| *page == source.page)) {
        let (document, line) = (source.page.to_string(), source.line);
        let row = Statement { document, line, kind: kind.to_owned(), name: name.to_owned() };
        assert!(listed.contains(&row), "`{source} {kind} {name}` is not in the list");
    }
}

#[test]
fn the_list_is_in_order_and_names_lines_that_exist() {
    let list = list();
    assert!(list.is_sorted_by(|a, b| a < b), "a line stands twice, or out of order");
    for statement in &list {
        let document = DOCUMENTS.iter().find(|(page, _)| page.to_string() == statement.document);
        assert!(document.is_some_and(|(_, lines)| (1..=*lines).contains(&statement.line)), "{statement:?}");
    }
}

#[test]
fn what_has_no_row_is_missed() {
    for (kind, name) in [("phase", "GvnCsee"), ("number", "78"), ("knob", "257"), ("index", "999"), ("gate", "GvnCse")]
    {
        let statement = Statement::read(&format!("liveness-and-dce:1 {kind} {name}")).expect("it is a statement");
        assert!(!statement.has_row(), "{statement:?}");
    }
}

/// Sources of the optimizer below a folder, but for tests and the table of knobs itself.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder lists its files") {
        let path = entry.expect("a folder lists its files").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        match path.is_dir() {
            true if name != "tests" && name != "target" && name != "knobs" => sources(&path, found),
            false if name.ends_with(".rs") && !name.ends_with("tests.rs") => found.push(path),
            _ => {}
        }
    }
}

/// A knob that nobody asks changes nothing, and its row says why; a row of one that is asked must not.
#[test]
fn every_knob_has_a_reader_or_a_reason() {
    let mut files = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    assert!(files.len() > 200, "{} files", files.len());
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut asked = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("pipeline/gates.rs")) {
        let text = std::fs::read_to_string(file).expect("the file is text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let names = code.split("Knob::").skip(1).filter_map(|rest| rest.split(|c| !is_word(c)).next());
        asked.extend(names.map(str::to_owned));
    }
    for row in KNOBS {
        assert_eq!(asked.contains(row.name), row.unasked.is_none(), "{}: {:?}", row.name, row.unasked);
    }
}
