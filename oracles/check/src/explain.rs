//! Every single change that phases make: the rule, the place, and the instructions that go and come.
//!
//! A phase makes exactly the first `n` changes when it gets leave for `n`, so change `n` is what differs between two
//! runs with leave for `n - 1` and for `n`. Cost: a run of the phase for each of its changes.

use std::fmt;

use diffy::{DiffOptions, Line};
use oriole_ir::{Module, function_to_string};
use oriole_optimizer::pass::Element;
use oriole_optimizer::pipeline::table::UnknownPhase;
use schemars::JsonSchema;
use serde::Serialize;

use crate::step::{Conditions, Outcome, Step};

/// A change.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Change {
    /// The phase.
    pub phase: String,
    /// Its number among the phase's changes, from 1.
    pub index: u64,
    /// The rule, where it has a name.
    pub rule: Option<&'static str>,
    /// The function; null for a change of the module itself.
    pub function: Option<String>,
    /// The block.
    pub block: Option<String>,
    /// The first instruction that goes, or else that comes.
    pub instruction: Option<String>,
    /// The line of PTX that it comes from.
    pub line: Option<u32>,
    /// The file and line of the source, where the PTX says so.
    pub source: Option<String>,
    /// The lines that go.
    pub removed: Vec<String>,
    /// The lines that come.
    pub added: Vec<String>,
}

/// The changes that a phase makes of a module, at most so many; fewer where it goes wrong on the way.
///
/// # Errors
///
/// An option that names no phase.
pub fn changes(
    element: &Element,
    before: &Module,
    conditions: &Conditions<'_>,
    most: u64,
) -> Result<Vec<Change>, UnknownPhase> {
    let step = Step::pass(element.clone());
    let (mut changes, mut good) = (Vec::new(), before.clone());
    for index in 1..=most {
        let mut module = before.clone();
        let limited = Conditions { limit: Some(index), ..*conditions };
        let Outcome::Done(done) = step.take(&mut module, &limited)? else { break };
        if done.rewrites < index {
            break;
        }
        let last = done.last_rewrite;
        let function = last.as_ref().and_then(|last| last.function.clone());
        let (rule, place) = (last.map(|last| last.rule), function.as_deref());
        let change = Change {
            phase: element.id().to_string(),
            index,
            rule,
            function: None,
            ..difference(&good, &module, place)
        };
        changes.push(Change { function, ..change });
        good = module;
    }
    Ok(changes)
}

/// What differs between two modules, in one function where it is known.
fn difference(before: &Module, after: &Module, function: Option<&str>) -> Change {
    let text = |module: &Module| match function.and_then(|name| module.function_named(name)) {
        Some(id) => function_to_string(&module.functions[id], Some(module)),
        None => module.to_string(),
    };
    let (before, after) = (text(before), text(after));
    let patch = DiffOptions::new().set_context_len(0).create_patch(&before, &after);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for line in patch.hunks().iter().flat_map(|hunk| hunk.lines()) {
        match line {
            Line::Delete(line) => removed.push(line.trim().to_owned()),
            Line::Insert(line) => added.push(line.trim().to_owned()),
            Line::Context(_) => {}
        }
    }
    let first = patch.hunks().first().map(|hunk| hunk.old_range().start());
    let instruction = removed.iter().chain(&added).find(|line| !is_label(line)).cloned();
    let line = instruction.as_deref().and_then(line_of);
    Change {
        phase: String::new(),
        index: 0,
        rule: None,
        function: None,
        block: first.and_then(|first| block_of(&before, first)),
        source: None,
        line,
        instruction,
        removed,
        added,
    }
}

/// The block that a line of a function's text, counted from 1, is in.
fn block_of(text: &str, line: usize) -> Option<String> {
    let until = text.lines().take(line).collect::<Vec<_>>();
    let label = until.iter().rev().find(|line| is_label(line))?;
    label.trim().split([':', '(', ' ']).next().map(str::to_owned)
}

fn is_label(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("bb") && line.ends_with(':')
}

/// The line of the source text behind an instruction: `!12`.
fn line_of(instruction: &str) -> Option<u32> {
    instruction.rsplit_once(" !").and_then(|(_, line)| line.parse().ok())
}

impl Change {
    /// The same with the place in the source that the module of the change knows.
    pub fn with_source(self, module: &Module) -> Change {
        let source = self.line.and_then(|line| module.sources.of(line)).map(|source| source.to_string());
        Change { source, ..self }
    }
}

/// `GvnCse 3 (value-numbering): in \`k\`, bb2, line 12, k.cu:7`, then a line for each that goes or comes.
impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { phase, index, rule, function, block, line, source, removed, added, .. } = self;
        write!(out, "{phase} {index} ({}):", rule.unwrap_or("no named rule"))?;
        let function = function.as_ref().map_or("the module".to_owned(), |name| format!("`{name}`"));
        let line = line.map(|line| format!("line {line}"));
        let places = [Some(function), block.clone(), line, source.clone()];
        write!(out, " {}", places.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
        removed.iter().try_for_each(|line| write!(out, "\n  - {line}"))?;
        added.iter().try_for_each(|line| write!(out, "\n  + {line}"))
    }
}
