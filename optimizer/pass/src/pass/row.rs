//! The row of a pass: all facts about it that hold wherever it runs, and its work.
//!
//! A phase of ptxas is a pass with a number; a pass of cicc is one that may take arguments. Both are rows of static
//! tables in `oriole-optimizer`, of one type. One place of a pass in a pipeline, with the arguments that it has there,
//! is an [`Element`](super::Element).

use std::borrow::Cow;
use std::fmt;

use super::run::{Run, Unit};
use super::source::{Page, Source};
use crate::analysis::AnalysisSet;
use oriole_ir::{Form, Function, Level};

/// One pass.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name in dumps, on the command line, and in the text of a pipeline.
    pub name: &'static str,
    /// Its number in the inventory of ptxas phases, where the documents give one.
    pub number: Option<u16>,
    /// The slot in the binary that a document gives beside or instead of the inventory number.
    pub binary_number: Option<u16>,
    /// What it works on at a time.
    pub unit: Unit,
    /// The part of the pipeline it belongs to.
    pub stage: Stage,
    /// The functions it accepts.
    pub needs: Needs,
    /// The analyses that stay true when it changes something.
    pub preserves: AnalysisSet,
    /// What a second run over its own output does.
    pub second_run: SecondRun,
    /// The optimization level from which it runs. Where no document gives one it is 0 for what every compilation
    /// needs, 1 for cleanup, and 2 for the rest.
    pub min_opt_level: u8,
    /// Whether the default pipeline skips it: a hook that a target fills in.
    pub no_op_by_default: bool,
    /// Tokens beside its own name that address it too.
    pub tokens: &'static [&'static str],
    /// The arguments it takes in the text of a pipeline: at most one for each of these, but for names.
    pub parameters: &'static [Parameter],
    /// The option of cicc that leaves it out where it is on.
    pub off_by: Option<&'static str>,
    /// The name of its class, where a document has errors about its arguments say it.
    pub class: Option<&'static str>,
    /// Whether the runner verifies each function behind it, whatever the options say.
    pub verifies: bool,
    /// Why it has nothing to do, where it is never built.
    pub no_work: Option<&'static str>,
    /// Its work; `None` while it is planned.
    pub run: Option<Run>,
    /// The line of the documents that it comes from; `None` for a pass of no table.
    pub source: Option<Source>,
    /// What it does, and what the documents leave open.
    pub doc: &'static str,
}

/// One argument that a pass may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number up to this one.
    Number(u32),
    /// The same, or -1 for no limit.
    Limit(u32),
    /// Names of functions, any number of them.
    Names,
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Word(words) => f.write_str(&words.join("|")),
            Parameter::Number(most) => write!(f, "0..{most}"),
            Parameter::Limit(most) => write!(f, "-1..{most}"),
            Parameter::Names => f.write_str("name;..."),
        }
    }
}

impl Row {
    /// A row that states nothing yet: a pass of no table, over functions in SSA form, that preserves no analysis.
    ///
    /// The setters change the row in place, so that tables can be constants though work may be shared.
    pub const fn new(name: &'static str, unit: Unit, run: Option<Run>) -> Row {
        Row {
            name,
            number: None,
            binary_number: None,
            unit,
            stage: Stage::InitialSetup,
            needs: Needs::SSA,
            preserves: AnalysisSet::NONE,
            second_run: SecondRun::ChangesNothing,
            min_opt_level: 0,
            no_op_by_default: false,
            tokens: &[],
            parameters: &[],
            off_by: None,
            class: None,
            verifies: false,
            no_work: None,
            run,
            source: None,
            doc: "",
        }
    }

    /// The slot in the binary.
    pub const fn binary(mut self, slot: u16) -> Row {
        self.binary_number = Some(slot);
        self
    }

    /// The number in the inventory.
    pub const fn numbered(mut self, number: u16) -> Row {
        self.number = Some(number);
        self
    }

    /// The part of the pipeline, and the line of the documents.
    pub const fn placed(mut self, stage: Stage, source: Source) -> Row {
        (self.stage, self.source) = (stage, Some(source));
        self
    }

    /// A phase of ptxas with a number in the inventory. A row of the table states only what differs from a phase of
    /// level 2 on SSA form that leaves control flow alone.
    pub const fn at(self, number: u16, stage: Stage, source: Source) -> Row {
        self.unnumbered(stage, source).numbered(number)
    }

    /// The same for a phase that the documents give no number.
    pub const fn unnumbered(self, stage: Stage, source: Source) -> Row {
        self.placed(stage, source).preserves(AnalysisSet::CONTROL_FLOW).since(2)
    }

    /// A pass of cicc: its parameters, its line in `spec/pass-pipeline.txt`, and what it does.
    pub const fn of_cicc(self, parameters: &'static [Parameter], line: u16, doc: &'static str) -> Row {
        self.placed(Stage::Cicc, Page::PassPipeline.line(line)).parameters(parameters).doc(doc)
    }

    /// The level from which it runs.
    pub const fn since(mut self, min_opt_level: u8) -> Row {
        self.min_opt_level = min_opt_level;
        self
    }

    /// The functions that it accepts.
    pub const fn needs(mut self, needs: Needs) -> Row {
        self.needs = needs;
        self
    }

    /// The analyses that it preserves.
    pub const fn preserves(mut self, preserves: AnalysisSet) -> Row {
        self.preserves = preserves;
        self
    }

    /// Why a second run may change more.
    pub const fn may_go_on(mut self, reason: &'static str) -> Row {
        self.second_run = SecondRun::MayGoOn(reason);
        self
    }

    /// A hook that the default pipeline leaves empty.
    pub const fn off_by_default(mut self) -> Row {
        self.no_op_by_default = true;
        self
    }

    /// Tokens beside its name.
    pub const fn tokens(mut self, tokens: &'static [&'static str]) -> Row {
        self.tokens = tokens;
        self
    }

    /// The arguments that it takes.
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Row {
        self.parameters = parameters;
        self
    }

    /// The option of cicc that leaves it out.
    pub const fn off_by(mut self, option: &'static str) -> Row {
        self.off_by = Some(option);
        self
    }

    /// The name by which errors about its arguments call it.
    pub const fn class(mut self, name: &'static str) -> Row {
        self.class = Some(name);
        self
    }

    /// The runner verifies each function behind it.
    pub const fn verifies(mut self) -> Row {
        self.verifies = true;
        self
    }

    /// For a pass that is never built, the reason.
    pub const fn no_work(mut self, reason: &'static str) -> Row {
        self.no_work = Some(reason);
        self
    }

    /// What it does.
    pub const fn doc(mut self, doc: &'static str) -> Row {
        self.doc = doc;
        self
    }

    /// Whether it can run.
    pub fn status(&self) -> Status {
        match (&self.run, self.no_work) {
            (Some(_), _) => Status::Built,
            (None, Some(reason)) => Status::NoWork(reason),
            (None, None) => Status::Planned,
        }
    }

    /// The row as text, one cell for each of [`COLUMN_TITLES`].
    pub fn columns(&self) -> [Cow<'static, str>; 10] {
        let number = self.number.map_or(Cow::from("-"), |n| n.to_string().into());
        let default = if self.no_op_by_default { "off" } else { "on" };
        [
            number,
            self.name.into(),
            self.stage.to_string().into(),
            self.status().to_string().into(),
            format!("O{}", self.min_opt_level).into(),
            default.into(),
            self.needs.to_string().into(),
            self.tokens.join(", ").into(),
            self.document().into(),
            self.what(),
        ]
    }

    /// The line of the documents that it comes from, as text; `-` for a pass that is in no table.
    pub fn document(&self) -> String {
        self.source.map_or_else(|| "-".to_owned(), |source| source.to_string())
    }

    /// What it does, and where nothing, why.
    fn what(&self) -> Cow<'static, str> {
        match self.status() {
            Status::NoWork(reason) => format!("{} No work: {reason}.", self.doc).into(),
            _ => self.doc.into(),
        }
    }

    /// Whether `token` addresses this pass: its name, one of its tokens, or its number. Case is ignored.
    pub fn answers_to(&self, token: &str) -> bool {
        self.is_called(token) || self.tokens.iter().any(|t| t.eq_ignore_ascii_case(token))
    }

    /// Whether `token` addresses this pass alone: its name, or its number. Case is ignored.
    pub fn is_called(&self, token: &str) -> bool {
        self.name.eq_ignore_ascii_case(token) || self.number.is_some_and(|n| token.parse() == Ok(n))
    }
}

/// Titles of [`Row::columns`].
pub const COLUMN_TITLES: [&str; 10] =
    ["number", "phase", "stage", "status", "from", "default", "needs", "tokens", "document", "what it does"];

/// The part of the pipeline that a pass belongs to: those of ptxas as `spec/liveness-and-dce.txt` ("Pipeline
/// Placement") groups them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The cicc pipeline, in front of every phase of ptxas.
    Cicc,
    /// Right after lowering.
    InitialSetup,
    /// Control flow and loops.
    EarlyOptimization,
    /// From the first liveness pass after the loops to value numbering.
    MidLevelOptimization,
    /// Expansion, predication and the last redundancy elimination.
    LateOptimization,
    /// Loop invariants, movement, rematerialization, and copies toward definitions.
    Movement,
    /// Register attributes and operand legality.
    Legalization,
    /// Registers and schedule.
    Allocation,
    /// What is left to do about pressure once everything else has run.
    LateCleanup,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Cicc => "cicc",
            Stage::InitialSetup => "initial setup",
            Stage::EarlyOptimization => "early optimization",
            Stage::MidLevelOptimization => "mid-level optimization",
            Stage::LateOptimization => "late optimization",
            Stage::Movement => "movement",
            Stage::Legalization => "legalization",
            Stage::Allocation => "allocation",
            Stage::LateCleanup => "late cleanup",
        })
    }
}

/// The functions that a pass accepts: those of one of the levels in one of the forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    /// The levels.
    pub levels: &'static [Level],
    /// The forms.
    pub forms: &'static [Form],
}

impl Needs {
    /// Any level and any form.
    pub const ANYTHING: Needs = Needs { levels: Level::ALL, forms: Form::ALL };
    /// SSA form, at the virtual or the machine level.
    pub const SSA: Needs = Needs { levels: Level::ALL, forms: &[Form::Ssa] };
    /// Any level, before registers are physical.
    pub const NOT_PHYSICAL: Needs = Needs { levels: Level::ALL, forms: &[Form::Ssa, Form::Virtual] };
    /// SSA form at the machine level.
    pub const MACHINE_SSA: Needs = Needs { levels: &[Level::Machine], forms: &[Form::Ssa] };
    /// The machine level, in any form.
    pub const MACHINE: Needs = Needs { levels: &[Level::Machine], forms: Form::ALL };

    /// Whether a function is of such a level and form.
    pub fn met_by(self, func: &Function) -> bool {
        self.allow(func.level, func.form)
    }

    /// Whether functions may be of a level and form.
    pub fn allow(self, level: Level, form: Form) -> bool {
        self.levels.contains(&level) && self.forms.contains(&form)
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels.iter().map(|level| level.name()).filter(|_| self.levels != Level::ALL);
        let forms = self.forms.iter().map(|form| form.name()).filter(|_| self.forms != Form::ALL);
        let words: Vec<&str> = levels.chain(forms).collect();
        f.pad(&if words.is_empty() { "any".to_owned() } else { words.join(", ") })
    }
}

/// What a second run of a pass over its own output does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecondRun {
    /// It changes nothing.
    ChangesNothing,
    /// It may continue where the first run stopped, for this reason.
    MayGoOn(&'static str),
}

/// Whether a pass can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Known, listed, never run, and never counted as having run.
    Planned,
    /// Nothing is left for it to do on what is compiled here, or others do it when it is needed; the reason.
    NoWork(&'static str),
    /// Can run.
    Built,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Planned => "planned",
            Status::NoWork(_) => "no work",
            Status::Built => "built",
        })
    }
}
