//! The identity of a step: the one name under which it is timed, judged, bisected, given faults, and reported.

use std::borrow::Cow;
use std::fmt;

use oriole_optimizer::codegen::compile::Stage;
use oriole_optimizer::pass::PassId;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A step: what makes one program of another, or a first program of a text or of choices.
///
/// A step that is to come, such as encoding and decoding, gets a variant of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StepId {
    /// A kernel is generated.
    Generation,
    /// A kernel file is read.
    FrontEnd,
    /// A module in virtual form is brought into SSA form.
    SsaConstruction,
    /// A pass, by its place in the pipeline.
    Pass(PassId),
    /// A module is taken out of SSA form, as PTX and machine code need it.
    SsaDestruction,
    /// A module out of SSA form is printed as PTX and read again.
    PtxRoundTrip,
    /// A compiler that is not ours makes machine code of a module.
    Compilation,
    /// Our own compiler does.
    CodeGeneration,
    /// The passes and phases that run before our compiler generates code.
    Optimization,
    /// A stage of our compiler.
    Stage(Stage),
}

impl StepId {
    /// The steps that a check takes outside of its phases, in their order.
    pub const OUTSIDE_PHASES: [StepId; 3] = [StepId::SsaConstruction, StepId::SsaDestruction, StepId::PtxRoundTrip];

    /// The first place of a pass in a pipeline.
    pub const fn first(name: &'static str) -> StepId {
        StepId::Pass(PassId::first(name))
    }

    /// Its name in reports, JSON and findings stores, which is also what it displays.
    pub fn label(self) -> Cow<'static, str> {
        match self {
            StepId::Pass(id) => id.label(),
            other => other.name().into(),
        }
    }

    /// Its name, without the instance of a pass.
    pub fn name(self) -> &'static str {
        match self {
            StepId::Generation => "generation",
            StepId::FrontEnd => "PTX front end",
            StepId::SsaConstruction => "SSA construction",
            StepId::Pass(id) => id.name,
            StepId::SsaDestruction => "SSA destruction",
            StepId::PtxRoundTrip => "PTX round trip",
            StepId::Compilation => "ptxas",
            StepId::CodeGeneration => "code generation",
            StepId::Optimization => "optimization",
            StepId::Stage(stage) => stage.name(),
        }
    }

    /// Whether it is a pass of a pipeline.
    pub fn is_pass(self) -> bool {
        matches!(self, StepId::Pass(_))
    }

    /// Whether a compiler, whichever it is, makes machine code.
    pub fn is_compilation(self) -> bool {
        matches!(self, StepId::Compilation) || self.is_own_compilation()
    }

    /// Whether our compiler makes machine code, or a stage of it does its work.
    pub fn is_own_compilation(self) -> bool {
        matches!(self, StepId::CodeGeneration | StepId::Optimization | StepId::Stage(_))
    }

    /// The stage of our compiler that a text names, in any case.
    pub fn stage(text: &str) -> Option<StepId> {
        Stage::ALL.into_iter().map(StepId::Stage).find(|step| step.name().eq_ignore_ascii_case(text))
    }

    /// Its name on the command line, in one word.
    pub fn token(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            StepId::Generation => "generation",
            StepId::FrontEnd => "ptx-front-end",
            StepId::SsaConstruction => "ssa-construction",
            StepId::Pass(id) => return id.label(),
            StepId::SsaDestruction => "ssa-destruction",
            StepId::PtxRoundTrip => "ptx-round-trip",
            StepId::Compilation => "ptxas",
            StepId::CodeGeneration => "code-generation",
            StepId::Optimization | StepId::Stage(_) => self.name(),
        })
    }

    /// The step outside of the phases that a text names, by token in any case or by name.
    pub fn outside_phases(text: &str) -> Option<StepId> {
        let named = |step: &StepId| step.token().eq_ignore_ascii_case(text) || step.name() == text;
        StepId::OUTSIDE_PHASES.into_iter().find(named)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.label())
    }
}

/// A text, as it is written.
impl JsonSchema for StepId {
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

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_outside_of_phases_are_read_by_token_and_by_name() {
        for step in StepId::OUTSIDE_PHASES {
            assert_eq!(StepId::outside_phases(step.name()), Some(step));
            assert_eq!(StepId::outside_phases(&step.token().to_uppercase()), Some(step));
            assert!(step.token().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{step}");
        }
        assert_eq!(StepId::outside_phases("GeneralOptimize"), None);
        assert_eq!(StepId::outside_phases("generation"), None, "no check takes it");
    }
}
