//! A check as a document: programs between the steps, changes, verdicts, and what a launch executes.
//!
//! Most instructions and blocks are in many programs, so a text and a block are each there once, and programs name
//! them by number. A record that comes from elsewhere is looked at before anybody uses it: [`Record::read`] refuses
//! numbers that lead nowhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A check.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Record {
    /// The kernels, each with the code on which it was checked.
    pub kernels: Vec<Kernel>,
}

/// A kernel, step by step.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Kernel {
    /// Its name: its file, and how code was made of it.
    pub name: String,
    /// The machine that it is for.
    pub target: String,
    /// One word for the whole kernel, as in the table of `check`.
    pub verdict: String,
    /// Whether a case says what the kernel should do.
    pub judged: bool,
    /// The original on every case.
    pub cases: Vec<Case>,
    /// The launch on which instructions are counted; null where no case says something.
    pub launch: Option<Launch>,
    /// The most registers that a thread may have on that launch, of words.
    pub registers: Option<u32>,
    /// The text of the kernel, where it is PTX.
    pub source: Option<Source>,
    /// The steps, in their order, those that were not taken among them.
    pub steps: Vec<Step>,
    /// The programs: as it is given, and behind each step that changed something.
    pub programs: Vec<Program>,
    /// The faults that were found.
    pub findings: Vec<Finding>,
    /// Every text of an instruction, and every name of a value. Others name them by their number.
    pub texts: Vec<String>,
    /// Every block. Functions name them by their number.
    pub blocks: Vec<Block>,
}

/// The original on a case.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Case {
    /// The launch, and the seed of its data.
    pub name: String,
    /// `finished`, or why nothing follows from it.
    pub outcome: String,
    /// The same in words.
    pub detail: String,
}

/// A launch.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Launch {
    /// The case.
    pub case: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

/// The text of a kernel.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Source {
    /// Its lines.
    pub lines: Vec<String>,
    /// By line of PTX, counted from 1: the line of the source that `.loc` names, as `k.cu:7`.
    pub places: BTreeMap<u32, String>,
}

/// A step.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its number in the inventory of phases.
    pub number: Option<u16>,
    /// Its purpose, in a sentence or more.
    pub doc: String,
    /// The document that it comes from, and the line of it.
    pub document: Option<String>,
    /// Why it was not taken.
    pub skipped: Option<String>,
    /// Whether it changed what the next step takes.
    pub changed: bool,
    /// The worst verdict over all cases; null where nothing was compared.
    pub verdict: Option<String>,
    /// Whether the verdict is one of something that is wrong.
    pub wrong: bool,
    /// Instructions before it.
    pub instructions_before: usize,
    /// Instructions after it.
    pub instructions_after: usize,
    /// Changes made.
    pub rewrites: u64,
    /// How long it took.
    pub microseconds: u64,
    /// Its counters, by name.
    pub counters: BTreeMap<String, u64>,
    /// The rules among these, with how often each applied.
    pub rules: Vec<Rule>,
    /// Its changes, one by one; the first ones alone where there are many in a large program.
    pub changes: Vec<Change>,
}

/// A rule by which a step made changes.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// How often it applied.
    pub count: u64,
    /// Why it is right: what its file says of it, and the rule as it is written; what the phase does where the rule is
    /// no text.
    pub reason: String,
    /// Where it is written: a document or a file of rules, and the line of it.
    pub document: Option<String>,
}

/// A change.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Change {
    /// Its number among the changes of the step, from 1.
    pub index: u64,
    /// The rule.
    pub rule: Option<String>,
    /// The function; null for a change of the module itself.
    pub function: Option<String>,
    /// The block.
    pub block: Option<String>,
    /// The line of PTX that it comes from.
    pub line: Option<u32>,
    /// The line of the source, where the PTX says so.
    pub source: Option<String>,
    /// The texts of lines that go.
    pub removed: Vec<u32>,
    /// The texts of lines that come.
    pub added: Vec<u32>,
}

/// A fault of a step.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Finding {
    /// The step.
    pub step: String,
    /// The verdict.
    pub verdict: String,
    /// The case that shows it.
    pub case: String,
    /// The difference, in words.
    pub detail: String,
    /// The number of the guilty change, where there is one.
    pub rewrite: Option<u64>,
    /// The rule of the guilty change.
    pub rule: Option<String>,
    /// The lines that the guilty change changes, as a unified diff.
    pub diff: String,
    /// The store that wrote the first differing byte before the step.
    pub store_before: Option<String>,
    /// The store that wrote it after the step.
    pub store_after: Option<String>,
    /// The command that shows it again.
    pub replay: String,
}

/// How a program is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// The text form of the IR.
    #[default]
    Ori,
    /// Machine words, as nvdisasm prints them.
    Words,
}

/// A program.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Program {
    /// Its name: the step, or the stage of the compiler.
    pub title: String,
    /// The step that left it, by its number; null for the program as it is given.
    pub step: Option<usize>,
    /// Whether the steps behind it start with it. One that a step went wrong on is dropped.
    pub kept: bool,
    /// How it is written.
    pub notation: Notation,
    /// Instructions of threads that the launch executes; null where it was not executed.
    pub executed: Option<u64>,
    /// Those of them that read memory; null for machine words.
    pub loads: Option<u64>,
    /// The most words of registers that are live at any point of any function; null where that is not known.
    pub pressure: Option<u32>,
    /// Its functions.
    pub functions: Vec<Function>,
}

/// A function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The form of its registers: `virtual`, `ssa`, `physical`. Equal names are equal values in the same form alone.
    pub form: String,
    /// The texts of the lines in front of its blocks: its head, parameters and variables.
    pub head: Vec<u32>,
    /// Its blocks.
    pub blocks: Vec<u32>,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Block {
    /// Its name: `bb3`.
    pub name: String,
    /// The blocks that control may continue at.
    pub successors: Vec<String>,
    /// How many loops it is in.
    pub depth: u32,
    /// The header of the innermost of them.
    pub header: Option<String>,
    /// How its branch is decided: `launch`, `cta`, `warp`, or `varying` where lanes may part; null where it has none,
    /// and outside of SSA form.
    pub branch: Option<String>,
    /// The texts of its instructions.
    pub instructions: Vec<u32>,
    /// Notes beside them, as the bits of a word; empty, or a text for each.
    pub notes: Vec<u32>,
    /// By instruction: its line of PTX; 0 where it has none.
    pub lines: Vec<u32>,
    /// The names of the values that are live at its start, as texts; null where that is not known.
    pub live_in: Option<Vec<u32>>,
    /// By instruction: the words of registers that are live before it; empty where that is not known.
    pub pressure: Vec<u32>,
    /// By instruction: groups of lanes that executed it. One number where it is the same for all; empty where nothing
    /// was counted.
    pub warps: Vec<u64>,
    /// By instruction: threads that executed it, in the same way.
    pub threads: Vec<u64>,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is no record.
    #[error("it is no record of a check: {0}")]
    Json(#[from] serde_json::Error),
    /// It is the JSON of another command.
    #[error("it is the JSON of `{0}`, and no record of a check")]
    Command(String),
    /// It is of another version.
    #[error("it is a record of version {found}, and version {known} is known")]
    Version {
        /// Its version.
        found: u64,
        /// That of this build.
        known: u64,
    },
    /// A number leads nowhere.
    #[error("kernel {kernel} of it has no {what} {number}")]
    Reference {
        /// The kernel, from 0.
        kernel: usize,
        /// A text, a block or a step.
        what: &'static str,
        /// The number.
        number: usize,
    },
    /// Lists of a block do not fit its instructions.
    #[error("block {block} of kernel {kernel} of it has {instructions} instructions, and another number of {what}")]
    Lists {
        /// The kernel, from 0.
        kernel: usize,
        /// The block.
        block: usize,
        /// Its instructions.
        instructions: usize,
        /// The list that is too short or too long.
        what: &'static str,
    },
}

/// The beginning of every document.
#[derive(Deserialize)]
struct Envelope {
    version: u64,
    command: String,
}

impl Record {
    /// The name of a record, in the place where other documents have their command.
    pub const COMMAND: &'static str = "record";
    /// Its version.
    pub const VERSION: u64 = 1;

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// A text that is none, or one whose numbers lead nowhere.
    pub fn read(text: &str) -> Result<Record, RecordError> {
        let Envelope { version, command } = serde_json::from_str(text)?;
        if command != Record::COMMAND {
            return Err(RecordError::Command(command));
        }
        if version != Record::VERSION {
            return Err(RecordError::Version { found: version, known: Record::VERSION });
        }
        let record: Record = serde_json::from_str(text)?;
        record.kernels.iter().enumerate().try_for_each(|(at, kernel)| kernel.validate(at))?;
        Ok(record)
    }
}

impl Kernel {
    /// Whether each number leads somewhere.
    fn validate(&self, kernel: usize) -> Result<(), RecordError> {
        let within = |what, number: usize, count: usize| match number < count {
            true => Ok(()),
            false => Err(RecordError::Reference { kernel, what, number }),
        };
        let texts = |list: &[u32]| list.iter().try_for_each(|text| within("text", *text as usize, self.texts.len()));
        for (at, block) in self.blocks.iter().enumerate() {
            [&block.instructions, &block.notes].into_iter().try_for_each(|list| texts(list))?;
            texts(block.live_in.as_deref().unwrap_or_default())?;
            let instructions = block.instructions.len();
            let lists = [
                ("lines", block.lines.len(), instructions),
                ("notes", block.notes.len(), 0),
                ("points of pressure", block.pressure.len(), 0),
                ("counts of groups", block.warps.len(), 1),
                ("counts of threads", block.threads.len(), block.warps.len()),
            ];
            let odd = |(_, length, other): &(&str, usize, usize)| {
                *length != instructions && *length != *other && *length != 0
            };
            if let Some((what, ..)) = lists.into_iter().find(odd) {
                return Err(RecordError::Lists { kernel, block: at, instructions, what });
            }
        }
        for change in self.steps.iter().flat_map(|step| &step.changes) {
            [&change.removed, &change.added].into_iter().try_for_each(|list| texts(list))?;
        }
        for program in &self.programs {
            program.step.map_or(Ok(()), |step| within("step", step, self.steps.len()))?;
            for function in &program.functions {
                texts(&function.head)?;
                let blocks = |block: &u32| within("block", *block as usize, self.blocks.len());
                function.blocks.iter().try_for_each(blocks)?;
            }
        }
        Ok(())
    }
}
