//! Findings as SARIF 2.1.0, which code hosts show as annotations.
//!
//! A class of bugs (phase, verdict, rule) is a SARIF rule; a finding is a result at the place in the optimizer's source
//! where the rule of the guilty rewrite is named, or else where the phase has its row. Places are found by looking
//! through the source below a root, so that paths are relative to it; without sources, the place is the reproducer.
//!
//! What counts no more is not shown as open: a closed finding, or a known one, is a suppressed result (SARIF 2.1.0,
//! "suppressions property"), and a fixed one is none, by which code hosts know that it is gone.

use oriole_ir::diagnostics::counted;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::record::Reduction;
use super::store::Stored;
use super::store::life::State;

/// Where the phases and passes are, with what they share, below the root.
const SOURCES: &[&str] = &["optimizer/pass/src", "optimizer/passes/src", "optimizer/phases/src", "optimizer/src"];
/// Where each phase has its row.
const TABLE: &str = "optimizer/src/pipeline/table.rs";

/// Why a result is suppressed.
const CLOSED: &str = "closed with `oriole findings close`";

/// The document for some findings; `folder` is where their reproducers are, relative to `root`.
pub fn document(findings: &[Stored], root: &Path, folder: &str) -> Value {
    let sources = Sources::read(root);
    let findings: Vec<&Stored> = findings.iter().filter(|stored| stored.life.state != State::Fixed).collect();
    let mut rules: Vec<String> = findings.iter().map(|stored| stored.record.key.rule_id()).collect();
    rules.sort();
    rules.dedup();
    let results: Vec<Value> = findings.iter().map(|stored| result(stored, &rules, &sources, folder)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "oriole",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|id| rule(id)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(id: &str) -> Value {
    let mut parts = id.splitn(3, '/');
    let mut part = || parts.next().unwrap_or_default();
    let (phase, verdict, rule) = (part(), part(), part());
    let meaning = meaning(verdict);
    let guilty = match rule {
        "-" => "No single change of it is known to be guilty.".to_owned(),
        rule => format!("The guilty change is called `{rule}`."),
    };
    json!({
        "id": id,
        "shortDescription": { "text": format!("{verdict} in {phase}, rule {rule}") },
        "fullDescription": { "text": format!("{phase} makes another program of a kernel: {meaning}. {guilty}") },
        "help": {
            "text": format!("{guilty} Execute the replay command of the result to see it, then `oriole bisect` and \
                             `oriole reduce` on the same file."),
            "markdown": format!(
                "{guilty}\n\n\
                 1. See it: the replay command of the result.\n\
                 2. Look at it: `oriole findings show ID`, where ID is the result's fingerprint `oriole/v1`.\n\
                 3. Once it is mended: `oriole findings replay ID`; keep the reduced kernel under `corpus/regress`.\n\
                 4. If it shall not count: `oriole findings close ID`, which suppresses the result."
            ),
        },
        "defaultConfiguration": { "level": "error" },
    })
}

/// What a verdict, as it is in the name of a rule, says of the step.
fn meaning(verdict: &str) -> &'static str {
    match verdict {
        "mismatch" => "it leaves other bytes, ends otherwise, or races anew",
        "panic" => "the step panicked",
        "hang" => "the step did not end",
        "out-of-memory" => "the step took memory without end",
        "refused" => "the step refused a valid program",
        "invalid-IR" => "the step left a module that the verifier rejects",
        "unexpected" => "the results are not those that the launch expects",
        _ => "it is not what it was before",
    }
}

fn result(stored: &Stored, rules: &[String], sources: &Sources, folder: &str) -> Value {
    let record = &stored.record;
    let key = &record.key;
    let rule = key.rule_id();
    let file = format!("{folder}/{}/{}", stored.id, record.reproducer());
    let (uri, line) = sources.place(&key.phase, &key.rule).unwrap_or((file.clone(), 1));
    let size = match record.reduction {
        Reduction::Done { from, to, .. } => format!("reduced from {from} to {to}", to = counted(to, "instruction")),
        _ => "not reduced".to_owned(),
    };
    let detail = record.detail.lines().next().unwrap_or_default();
    let replay = record.replay_of(&file);
    let variant = if key.variant.is_empty() { String::new() } else { format!("; {}", key.variant) };
    let text = format!("{} in {}: {detail} ({}{variant}; {size}). Replay: {replay}", key.verdict, key.phase, key.shape);
    let why = record.known.as_ref().map_or(CLOSED.to_owned(), |case| format!("known: {case}"));
    let suppression = json!({ "kind": "external", "status": "accepted", "justification": why });
    let suppressions: Vec<Value> = (!stored.counts()).then_some(suppression).into_iter().collect();
    json!({
        "ruleId": rule,
        "ruleIndex": rules.iter().position(|id| *id == rule),
        "level": "error",
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri },
            "region": { "startLine": line },
        }}],
        "suppressions": suppressions,
        // Code hosts compare results of two runs by the second one; where lines move, the finding is still the same.
        "partialFingerprints": { "oriole/v1": stored.id, "primaryLocationLineHash": format!("{}:1", stored.id) },
        "occurrenceCount": stored.hits.total().max(1),
    })
}

/// The optimizer's source: paths relative to the root, and texts.
struct Sources(Vec<(String, String)>);

impl Sources {
    fn read(root: &Path) -> Sources {
        let mut files = Vec::new();
        SOURCES.iter().for_each(|folder| collect(&root.join(folder), 0, &mut files));
        files.sort();
        let relative = |path: &Path| {
            let parts = path.strip_prefix(root).unwrap_or(path).components();
            parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
        };
        let text = |path: &PathBuf| Some((relative(path), fs::read_to_string(path).ok()?));
        Sources(files.iter().filter_map(text).collect())
    }

    /// Where a rule is named outside of tables and tests, or else where the phase has its row.
    fn place(&self, phase: &str, rule: &str) -> Option<(String, u64)> {
        let is_code = |path: &str| !path.contains("/pipeline/") && !path.contains("test");
        let code = self.0.iter().filter(|(path, _)| is_code(path));
        let table = self.0.iter().filter(|(path, _)| path == TABLE);
        let named = (!rule.is_empty()).then(|| code.filter_map(|file| find(file, rule)).next()).flatten();
        named.or_else(|| table.filter_map(|file| find(file, phase)).next())
    }
}

/// The line of a file that holds a name in quotes.
fn find((path, text): &(String, String), name: &str) -> Option<(String, u64)> {
    let quoted = format!("\"{name}\"");
    let at = text.lines().position(|line| line.contains(&quoted))?;
    Some((path.clone(), at as u64 + 1))
}

/// The Rust files below a folder; what cannot be read is left out, as the places are a help and no more.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth < 16 {
            collect(&path, depth + 1, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
