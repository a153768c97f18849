//! Answers of solvers, kept by the text of the question.
//!
//! One file in a folder of the caller's, a line an answer, sorted, so that it can be kept in a repository:
//!
//! ```text
//! # hash verdict solver milliseconds
//! 00ff...: proved z3-4.13.0 12
//! 01ab...: refuted:0,ffffffff z3-4.13.0 7
//! 02cd...: unknown:timeout z3-4.13.0 10000
//! ```
//!
//! The values of a refutation are those of the text's variables in their order, in hexadecimal. A line that cannot be
//! read is an error with its place: a cache that is wrong would prove what is not true.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::solver::{Answer, Answered};

/// The name of the file in its folder.
pub const FILE: &str = "answers.txt";

const HEADER: &str = "# hash verdict solver milliseconds";

/// Why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The file cannot be read or written.
    #[error("cannot {action} the answers of solvers in {path}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is no answer.
    #[error("{path}:{line}: {fault} in `{text}`; delete the line to have its question answered again", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from one.
        line: usize,
        /// What is wrong.
        fault: LineFault,
        /// The line.
        text: String,
    },
}

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LineFault {
    /// It has more or fewer words than an answer.
    #[error("not four words")]
    Words,
    /// The first word is no hash.
    #[error("a hash that is not 32 hexadecimal digits")]
    Hash,
    /// The second word is no verdict.
    #[error("a verdict that is not proved, refuted or unknown")]
    Verdict,
    /// A value of the counterexample is no number.
    #[error("a value that is no hexadecimal number")]
    Value,
    /// The last word is no number.
    #[error("milliseconds that are no number")]
    Milliseconds,
    /// An earlier line has the same hash.
    #[error("a second answer to one question")]
    Second,
}

/// Known answers, by the hash of their question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cache {
    answers: BTreeMap<u128, Answered>,
    path: Option<PathBuf>,
    changed: bool,
    /// The questions that were asked since it was read.
    asked: BTreeSet<u128>,
}

impl Cache {
    /// A cache that is never written.
    pub fn in_memory() -> Cache {
        Cache::default()
    }

    /// The cache of a folder; an empty one where there is no file yet.
    pub fn load(folder: &Path) -> Result<Cache, CacheError> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(CacheError::File { action: "read", path, source }),
        };
        Cache::read(&text, &path).map(|cache| Cache { path: Some(path), ..cache })
    }

    /// The answers of a text, which messages call `path`; they are never written.
    pub fn read(text: &str, path: &Path) -> Result<Cache, CacheError> {
        let mut answers = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |fault| {
                let text = line.chars().take(200).collect();
                CacheError::Line { path: path.to_owned(), line: index + 1, fault, text }
            };
            let (hash, answered) = read_line(line).map_err(fail)?;
            if answers.insert(hash, answered).is_some() {
                return Err(fail(LineFault::Second));
            }
        }
        Ok(Cache { answers, ..Cache::default() })
    }

    /// The answer to a question.
    pub fn get(&mut self, text: &str) -> Option<&Answered> {
        let hash = hash(text);
        self.asked.insert(hash);
        self.answers.get(&hash)
    }

    /// Keeps an answer.
    pub fn put(&mut self, text: &str, answered: Answered) {
        let hash = hash(text);
        self.asked.insert(hash);
        self.answers.insert(hash, answered);
        self.changed = true;
    }

    /// Drops the answers to questions that nobody has asked since the cache was read, and says how many there were.
    pub fn drop_unasked(&mut self) -> usize {
        let before = self.answers.len();
        self.answers.retain(|hash, _| self.asked.contains(hash));
        self.changed |= self.answers.len() < before;
        before - self.answers.len()
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Writes the file if anything is new, all at once.
    pub fn save(&mut self) -> Result<(), CacheError> {
        let Some(path) = self.path.clone().filter(|_| self.changed) else { return Ok(()) };
        let mut text = format!("{HEADER}\n");
        for (hash, answered) in &self.answers {
            write_line(&mut text, *hash, answered);
        }
        let fail = |source| CacheError::File { action: "write", path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        let fresh = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).map_err(fail)?;
        self.changed = false;
        Ok(())
    }
}

/// The key of a question: 128-bit FNV-1a of its text.
pub fn hash(text: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

fn write_line(text: &mut String, hash: u128, answered: &Answered) {
    let verdict = match &answered.answer {
        Answer::Proved => "proved".into(),
        Answer::Refuted(values) => {
            let values: Vec<String> = values.iter().map(|value| format!("{value:x}")).collect();
            format!("refuted:{}", values.join(","))
        }
        Answer::Unknown(reason) => format!("unknown:{}", word(reason)),
    };
    let _ = writeln!(text, "{hash:032x} {verdict} {} {}", word(&answered.solver), answered.millis);
}

/// A text without spaces.
fn word(text: &str) -> String {
    let clean: Vec<&str> = text.split_whitespace().collect();
    if clean.is_empty() { "-".into() } else { clean.join("-") }
}

fn read_line(line: &str) -> Result<(u128, Answered), LineFault> {
    let words: Vec<&str> = line.split(' ').collect();
    let [hash, verdict, solver, millis] = words[..] else { return Err(LineFault::Words) };
    if hash.len() != 32 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(LineFault::Hash);
    }
    let hash = u128::from_str_radix(hash, 16).map_err(|_| LineFault::Hash)?;
    let millis = millis.parse().map_err(|_| LineFault::Milliseconds)?;
    let answer = match verdict.split_once(':') {
        None if verdict == "proved" => Answer::Proved,
        Some(("refuted", "")) => Answer::Refuted(Vec::new()),
        Some(("refuted", values)) => {
            let value = |text: &str| u128::from_str_radix(text, 16).ok();
            let values: Option<Vec<u128>> = values.split(',').map(value).collect();
            Answer::Refuted(values.ok_or(LineFault::Value)?)
        }
        Some(("unknown", reason)) => Answer::Unknown(reason.into()),
        _ => return Err(LineFault::Verdict),
    };
    Ok((hash, Answered { answer, solver: solver.into(), millis, cached: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answer: Answer) -> Answered {
        Answered { answer, solver: "z3-1.0".into(), millis: 12, cached: true }
    }

    #[test]
    fn answers_survive_and_lines_are_sorted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut cache = Cache::load(folder.path()).expect("no file yet");
        assert!(cache.is_empty());
        for (text, answer) in [
            ("one", Answer::Proved),
            ("two", Answer::Refuted(vec![0, u128::MAX])),
            ("three", Answer::Refuted(vec![])),
            ("four", Answer::Unknown("timeout".into())),
        ] {
            cache.put(text, answered(answer));
        }
        cache.save().expect("the folder can be written");
        let text = fs::read_to_string(folder.path().join(FILE)).expect("it was written");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines.len() == 4 && lines.is_sorted());
        let mut again = Cache::load(folder.path()).expect("what was written can be read");
        assert_eq!(again.answers, cache.answers);
        assert_eq!(again.get("two").map(|a| a.answer.clone()), Some(Answer::Refuted(vec![0, u128::MAX])));
        assert_eq!(again.get("five"), None);
    }

    /// What is asked or answered stays; the rest goes when it is asked to.
    #[test]
    fn unasked_answers_are_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut cache = Cache::load(folder.path()).expect("no file yet");
        ["one", "two", "three"].iter().for_each(|text| cache.put(text, answered(Answer::Proved)));
        assert_eq!(cache.drop_unasked(), 0);
        cache.save().expect("the folder can be written");
        let mut cache = Cache::load(folder.path()).expect("what was written can be read");
        assert!(cache.get("one").is_some() && cache.get("five").is_none());
        cache.put("four", answered(Answer::Proved));
        assert_eq!((cache.drop_unasked(), cache.len()), (2, 2));
        cache.save().expect("the folder can be written");
        let mut cache = Cache::load(folder.path()).expect("what was written can be read");
        assert!(cache.get("one").is_some() && cache.get("two").is_none() && cache.get("four").is_some());
    }

    #[test]
    fn broken_lines_are_errors_with_their_place() {
        let good = format!("{:032x} proved z3-1.0 12", 7);
        let cases = [
            ("nonsense", "not four words"),
            ("zz proved z3 1", "a hash"),
            (&good.replace("proved", "proven"), "a verdict"),
            (&good.replace("proved", "refuted:xyz"), "a value"),
            (&good.replace(" 12", " soon"), "milliseconds"),
            (&good, "a second answer"),
        ];
        for (line, expected) in cases {
            let folder = tempfile::tempdir().expect("a temporary folder");
            fs::write(folder.path().join(FILE), format!("{HEADER}\n{good}\n{line}\n")).expect("it can be written");
            let error = Cache::load(folder.path()).expect_err(line).to_string();
            assert!(error.contains(expected) && error.contains(":3:"), "{error}");
        }
    }

    /// The published test vector of the hash: the empty text, and one letter.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
