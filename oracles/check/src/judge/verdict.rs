//! The verdict on a step: what is known of a program that was made of another.

use std::borrow::Cow;
use std::fmt;
use std::mem::discriminant;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::strong::StrongFault;
use crate::supervise::{Excess, Panic};
use oriole_interp::{Outcome, Race};
use oriole_ir::diagnostics::counted;

/// The result of a step on a kernel, or on one launch of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every byte is the same, undefined ones included.
    Equal,
    /// The same, except where the original leaves bytes undefined.
    Refined,
    /// The optimized program does something else.
    Mismatch(Mismatch),
    /// The step panics.
    Panicked(Panic),
    /// The step does not end.
    Hangs(Hang),
    /// The step would hold more memory than so many bytes.
    OutOfMemory(usize),
    /// The step refuses a valid program, for this reason.
    Refused(String),
    /// The program that the step makes breaks a rule of the IR, or cannot be loaded.
    InvalidIr(String),
    /// The original itself does not do what its launch expects.
    Unexpected(String),
    /// Inconclusive: the original traps or deadlocks.
    OriginalTraps,
    /// Inconclusive: the original depends on an undefined value.
    OriginalUndefined,
    /// Inconclusive: threads of the original race. Only where races were looked for.
    OriginalRaces,
    /// Inconclusive: the original does not end within its budget.
    OutOfSteps,
}

/// How it is known that a step does not end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hang {
    /// It makes far more changes than any program has use for, as this says. It was ended, and can be taken again.
    Changes(String),
    /// It has run for so long. To take it again in this process would hang again.
    Clock(Duration),
}

/// How the optimized program differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// It ends otherwise, where the original finishes.
    Outcome(Outcome),
    /// It ends by an error on a GPU, as the driver says, where the original finishes.
    Gpu(String),
    /// Its threads race where those of the original do not. Only where races were looked for.
    Race(Race),
    /// Its code uses a register before an instruction is done with it, which code before it, if any, did not: this is
    /// where.
    Hazard(String),
    /// A thread does not keep what orders it with others, although the results of this run are the same.
    Strong(Box<StrongFault>),
    /// Global memory that the original has is missing, or has another size.
    Missing {
        /// The buffer or variable.
        name: String,
    },
    /// Bytes differ.
    Bytes {
        /// The argument that owns the buffer; `None` for a variable of the module.
        argument: Option<usize>,
        /// The buffer or variable.
        name: String,
        /// The first differing byte.
        offset: usize,
        /// What the original leaves there: bytes up to the next multiple of 16.
        expected: Vec<u8>,
        /// What the optimized program leaves there.
        actual: Vec<u8>,
        /// The first differing element on both sides, where the launch says its type.
        element: Option<String>,
        /// Whether the optimized program leaves the first byte undefined.
        undefined: bool,
        /// How many bytes of the buffer differ.
        count: usize,
        /// How far the difference reaches.
        extent: Extent,
    },
}

/// How far a difference reaches, in words of four bytes from the start of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// A single word.
    OneWord,
    /// Several, all at the same place modulo 32: one lane of every warp, where each thread has a word.
    OneLane,
    /// Other ones.
    SomeWords,
    /// All, of two or more.
    EveryWord,
}

impl Verdict {
    /// Whether something is wrong: with the step, or with what comes before the first step.
    pub fn is_finding(&self) -> bool {
        !self.is_good() && !self.is_inconclusive()
    }

    /// Whether the optimized program does what its original does.
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::Equal | Verdict::Refined)
    }

    /// Whether nothing follows about the step, because of the original.
    pub fn is_inconclusive(&self) -> bool {
        use Verdict::{OriginalRaces, OriginalTraps, OriginalUndefined, OutOfSteps};
        matches!(self, OriginalTraps | OriginalUndefined | OriginalRaces | OutOfSteps)
    }

    /// Whether the optimized program depends on something undefined, or leaves it behind.
    pub fn is_about_undefined(&self) -> bool {
        matches!(
            self,
            Verdict::Mismatch(Mismatch::Outcome(Outcome::Undefined { .. }) | Mismatch::Bytes { undefined: true, .. })
        )
    }

    /// The verdict on a step that was given up after so long.
    pub fn of_excess(excess: Excess, limit: Duration) -> Verdict {
        match excess {
            Excess::Time => Verdict::Hangs(Hang::Clock(limit)),
            Excess::Memory(most) => Verdict::OutOfMemory(most),
        }
    }

    /// Whether it was only seen from outside, so that to take the step again in this process would cost another thread.
    pub fn costs_a_thread(&self) -> bool {
        matches!(self, Verdict::Hangs(Hang::Clock(_)) | Verdict::OutOfMemory(_))
    }

    /// Whether two verdicts are of the same kind, whatever their details.
    pub fn is_like(&self, other: &Verdict) -> bool {
        discriminant(self) == discriminant(other)
    }

    /// A short name that stays the same between versions: reports, JSON and findings stores hold it.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Refined => "refined",
            Verdict::Mismatch(_) => "mismatch",
            Verdict::Panicked(_) => "panic",
            Verdict::Hangs(_) => "hang",
            Verdict::OutOfMemory(_) => "out of memory",
            Verdict::Refused(_) => "refused",
            Verdict::InvalidIr(_) => "invalid IR",
            Verdict::Unexpected(_) => "unexpected",
            Verdict::OriginalTraps => "original traps",
            Verdict::OriginalUndefined => "original undefined",
            Verdict::OriginalRaces => "original races",
            Verdict::OutOfSteps => "out of steps",
        }
    }
}

/// A text, as it is written.
impl JsonSchema for Verdict {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Mismatch(mismatch) => write!(out, "{mismatch}"),
            Verdict::Panicked(panic) => write!(out, "panics: {panic}"),
            Verdict::Hangs(hang) => write!(out, "does not end: {hang}"),
            Verdict::OutOfMemory(most) => write!(out, "holds more than {} MiB", most >> 20),
            Verdict::Refused(why) => write!(out, "refused: {why}"),
            Verdict::InvalidIr(why) => write!(out, "invalid IR: {why}"),
            Verdict::Unexpected(what) => write!(out, "the launch expects something else: {what}"),
            _ => out.write_str(self.name()),
        }
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hang::Changes(message) => out.write_str(message),
            Hang::Clock(limit) => write!(out, "it has not ended after {limit:?}"),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        match self {
            Mismatch::Outcome(outcome) => {
                write!(out, "the original finishes, the optimized program does not: {outcome}")
            }
            Mismatch::Gpu(why) => write!(out, "the original finishes, the code on the GPU does not: {why}"),
            Mismatch::Race(race) => write!(out, "threads race that did not before: {race}"),
            Mismatch::Hazard(hazard) => write!(out, "the scheduling covers too little: {hazard}"),
            Mismatch::Strong(fault) => write!(out, "{fault}"),
            Mismatch::Missing { name } => write!(out, "`{name}` is missing, or has another size"),
            Mismatch::Bytes { name, offset, expected, actual, element, undefined, count, .. } => {
                let (expected, actual, count) = (hex(expected), hex(actual), counted(count, "byte"));
                write!(out, "`{name}` differs in {count}, first at byte {offset}: expected {expected}, got {actual}")?;
                if *undefined {
                    write!(out, " (undefined)")?;
                }
                element.iter().try_for_each(|element| write!(out, "; {element}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are keys of findings stores; one that changes orphans what is stored under it.
    #[test]
    fn names_are_those_of_findings_stores_and_classes_do_not_overlap() {
        let verdicts = [
            (Verdict::Equal, "equal"),
            (Verdict::Refined, "refined"),
            (Verdict::Mismatch(Mismatch::Missing { name: String::new() }), "mismatch"),
            (Verdict::Panicked(Panic::default()), "panic"),
            (Verdict::Hangs(Hang::Clock(Duration::ZERO)), "hang"),
            (Verdict::OutOfMemory(0), "out of memory"),
            (Verdict::Refused(String::new()), "refused"),
            (Verdict::InvalidIr(String::new()), "invalid IR"),
            (Verdict::Unexpected(String::new()), "unexpected"),
            (Verdict::OriginalTraps, "original traps"),
            (Verdict::OriginalUndefined, "original undefined"),
            (Verdict::OriginalRaces, "original races"),
            (Verdict::OutOfSteps, "out of steps"),
        ];
        for (verdict, name) in &verdicts {
            assert_eq!(verdict.name(), *name);
            let classes = [verdict.is_good(), verdict.is_finding(), verdict.is_inconclusive()];
            assert_eq!(classes.into_iter().filter(|class| *class).count(), 1, "{name}");
            assert_eq!(verdicts.iter().filter(|(other, _)| other.is_like(verdict)).count(), 1, "{name}");
        }
    }
}
