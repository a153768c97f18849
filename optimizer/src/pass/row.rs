//! The row of a pass: all that is known about it, and its work.
//!
//! A phase of ptxas is a pass with a number; a pass of cicc is one that may take arguments. Both stand in static
//! tables ([`crate::pipeline`]), as rows of one type. A pipeline is a list of rows: those of the tables, copies that
//! do their work in another way, and a test's own.

use std::borrow::Cow;
use std::fmt;

use super::run::{Run, Unit};
use super::source::Source;
use crate::analysis::AnalysisSet;
use oriole_ir::{Form, Function, Level};

/// One pass.
#[derive(Clone, Debug)]
pub struct Pass {
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
    /// The arguments it takes in the text of a pipeline: one of each of these groups.
    pub parameters: &'static [&'static [&'static str]],
    /// The arguments it was given, in the order of the groups.
    pub arguments: Vec<&'static str>,
    /// Whether it can run.
    pub status: Status,
    /// The line of the documents that it comes from; `None` for a pass that stands in no table.
    pub source: Option<Source>,
    /// What it does, and what the documents leave open.
    pub doc: &'static str,
}

impl Pass {
    /// A pass that stands in no table: it accepts functions in SSA form and preserves no analysis.
    pub fn custom(name: &'static str, run: Run) -> Pass {
        Pass {
            name,
            number: None,
            binary_number: None,
            unit: run.unit(),
            stage: Stage::InitialSetup,
            needs: Needs::SSA,
            preserves: AnalysisSet::NONE,
            second_run: SecondRun::ChangesNothing,
            min_opt_level: 0,
            no_op_by_default: false,
            tokens: &[],
            parameters: &[],
            arguments: Vec::new(),
            status: Status::Built(run),
            source: None,
            doc: "",
        }
    }

    /// The same pass with other functions that it accepts.
    pub fn needing(self, needs: Needs) -> Pass {
        Pass { needs, ..self }
    }

    /// The same pass with other analyses that it preserves.
    pub fn preserving(self, preserves: AnalysisSet) -> Pass {
        Pass { preserves, ..self }
    }

    /// The same pass with more work behind its own: how a test plants a fault in it. It preserves no analysis then.
    /// One that is planned stays so.
    pub fn followed_by(self, more: Run) -> Pass {
        let Status::Built(run) = self.status else { return self };
        let run = run.then(more);
        Pass { unit: run.unit(), preserves: AnalysisSet::NONE, status: Status::Built(run), ..self }
    }

    /// Its work; `None` while it is planned.
    pub fn run(&self) -> Option<&Run> {
        match &self.status {
            Status::Planned | Status::NoWork(_) => None,
            Status::Built(run) => Some(run),
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
            self.status.to_string().into(),
            format!("O{}", self.min_opt_level).into(),
            default.into(),
            self.needs.to_string().into(),
            self.tokens.join(", ").into(),
            self.document().into(),
            self.what(),
        ]
    }

    /// The line of the documents that it comes from, as text; `-` for a pass that stands in no table.
    pub fn document(&self) -> String {
        self.source.map_or_else(|| "-".to_owned(), |source| source.to_string())
    }

    /// What it does, and where nothing, why.
    fn what(&self) -> Cow<'static, str> {
        match self.status {
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

/// As the text of a pipeline names it: its name, and its arguments in angle brackets.
impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.arguments.is_empty() { Ok(()) } else { write!(f, "<{}>", self.arguments.join(";")) }
    }
}

/// Titles of [`Pass::columns`].
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
        self.levels.contains(&func.level) && self.forms.contains(&func.form)
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
    /// It may go on where the first run stopped, for this reason.
    MayGoOn(&'static str),
}

/// Whether a pass can run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Status {
    /// Known, listed, never run, and never counted as having run.
    Planned,
    /// Nothing is left for it to do on what is compiled here, or others do it when it is needed; the reason.
    NoWork(&'static str),
    /// Can run: this is its work.
    Built(Run),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Planned => "planned",
            Status::NoWork(_) => "no work",
            Status::Built(_) => "built",
        })
    }
}
