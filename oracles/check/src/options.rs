//! The options of a check: its steps, its data, its limits; and the errors of a check that cannot be made.

use std::path::PathBuf;
use std::sync::Arc;

use oriole_ir::Module;
use oriole_ir::sm::{Target, TargetError};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::Options;
use oriole_optimizer::pipeline::table::UnknownPhase;
use oriole_sass::ori::LiftError;

use super::bisection_limit::BisectionLimit;
use crate::inject::FaultSpec;
use crate::supervise::StepId;
use crate::trip::second::SecondReader;
use oriole_interp::LoadError;
use oriole_launch::Launch;

/// How to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The passes, planned ones included.
    pub passes: Pipeline,
    /// How the phases run; the target is that of the module, and verification is always on.
    pub pipeline: Options,
    /// Variants with random data for each launch.
    pub randoms: u32,
    /// The seed of the first variant.
    pub seed: u64,
    /// Whether variants draw what [`Launch::randomized`] keeps, too, as far as the kernel lets them
    /// ([`variants`](crate::variants)).
    pub vary: bool,
    /// Launches with other data that are tried where all others leave operations alone ([`crate::extra_launches`]).
    pub tries: u32,
    /// How such a launch is made from the first one and a seed.
    pub another: fn(&Launch, u64) -> Launch,
    /// The step budget of the launches; their own where `None`.
    pub steps: Option<u64>,
    /// Where data races are looked for in the original; a case that has one is inconclusive.
    pub races: RaceSearch,
    /// Whether SSA destruction is taken behind the phases, and judged by itself.
    pub destruction: bool,
    /// Whether the PTX round trip is taken behind the phases.
    pub round_trip: bool,
    /// After so many findings the steps that are left are not taken; all are where `None`.
    pub enough: Option<usize>,
    /// Who reads the text of the round trip beside ourselves.
    pub second_reader: Option<SecondReader>,
    /// Where reproducers are written; nowhere where `None`.
    pub out: Option<PathBuf>,
    /// Failures that are known well enough to need no bisection; everything is bisected where `None`.
    pub bisection_limit: Option<Arc<BisectionLimit>>,
    /// Faults that are planted. Those of passes are in `passes` already ([`FaultSpec::plant`]).
    pub faults: Vec<FaultSpec>,
    /// Whether what each step leaves is measured on the first case ([`crate::cost`]).
    pub costs: bool,
    /// Whether what each step leaves is kept ([`crate::recording`]).
    pub records: bool,
    /// What a replay command says beside file, phase and launch: ` -O 1 --knob X=1`.
    pub replay: String,
}

/// Where data races are looked for before anything differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaceSearch {
    /// Nowhere: only a difference has them looked for.
    OnDifference,
    /// In the beginning of each launch with its own data, and where that has one, of its variants.
    Briefly,
    /// In every case.
    Everywhere,
}

/// What is in place of a replay command where no command of `oriole` knows the phase.
pub const OUTSIDE: &str = "only the program that registers";

impl RaceSearch {
    /// The search of a command: everywhere if its user says so.
    pub fn asked(everywhere: bool) -> RaceSearch {
        if everywhere { RaceSearch::Everywhere } else { RaceSearch::Briefly }
    }
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        let target = Target::portable(90).expect("sm_90 has a row");
        CheckOptions {
            passes: Pipeline::ptxas(),
            pipeline: Options::new(target),
            randoms: 2,
            seed: 1,
            vary: false,
            tries: 0,
            another: Launch::randomized,
            steps: None,
            races: RaceSearch::OnDifference,
            destruction: true,
            round_trip: true,
            enough: None,
            second_reader: None,
            out: None,
            bisection_limit: None,
            faults: Vec::new(),
            costs: false,
            records: false,
            replay: String::new(),
        }
    }
}

impl CheckOptions {
    /// The command that shows a finding of a step again.
    pub(super) fn replay_of(&self, file: &str, step: StepId) -> String {
        if self.is_outside(step) {
            return format!("{file}: {OUTSIDE} {step} takes it again, by `oriole_check::check_module`");
        }
        format!("oriole check {file} --phase {} --randoms 0{}", step.token(), self.replay)
    }

    /// Whether a step is a phase that is in no table, so that no command knows it; one that a command plants is
    /// named by its replay options.
    fn is_outside(&self, step: StepId) -> bool {
        let pass = self.passes.all().find(|element| StepId::Pass(element.id()) == step);
        pass.is_some_and(|element| element.source.is_none()) && !self.replay.contains(" --plant")
    }

    /// The same check of one step alone, and of what it cannot do without: SSA construction, and SSA destruction in
    /// front of the PTX round trip.
    pub fn only(mut self, step: StepId) -> CheckOptions {
        self.passes = self.passes.steps();
        self.passes.retain(|element| StepId::Pass(element.id()) == step);
        self.destruction = matches!(step, StepId::SsaDestruction | StepId::PtxRoundTrip);
        self.round_trip = step == StepId::PtxRoundTrip;
        self.second_reader = self.second_reader.map(|reader| SecondReader { every: 1, ..reader });
        self
    }

    /// The same check without a step; `None` where nothing can be done without it.
    pub fn without(&self, step: StepId) -> Option<CheckOptions> {
        let mut options = self.clone();
        match step {
            StepId::Generation | StepId::FrontEnd | StepId::SsaConstruction => return None,
            StepId::Compilation | StepId::CodeGeneration => return None,
            StepId::Optimization | StepId::Stage(_) => return None,
            StepId::SsaDestruction => options.destruction = false,
            StepId::PtxRoundTrip => options.round_trip = false,
            StepId::Pass(id) => {
                options.passes = options.passes.steps();
                options.passes.retain(|element| element.id() != id);
            }
        }
        Some(options)
    }

    /// A check of all steps before one, which writes nothing; `None` where there is none before it.
    pub(super) fn up_to(&self, step: StepId) -> Option<CheckOptions> {
        let mut options = CheckOptions { out: None, destruction: false, round_trip: false, ..self.clone() };
        match step {
            StepId::Generation | StepId::FrontEnd | StepId::SsaConstruction => return None,
            StepId::Compilation | StepId::CodeGeneration => return None,
            StepId::Optimization | StepId::Stage(_) => return None,
            StepId::SsaDestruction | StepId::PtxRoundTrip => {}
            StepId::Pass(id) => {
                options.passes = options.passes.steps();
                let at = options.passes.iter().position(|element| element.id() == id);
                options.passes.truncate(at.unwrap_or(options.passes.len()));
            }
        }
        Some(options)
    }
}

/// Why a module cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The original cannot run on a launch.
    #[error("it cannot run on {launch}: {error}")]
    Load {
        /// The launch.
        launch: String,
        /// Why not.
        error: LoadError,
    },
    /// It is for a machine that nobody knows.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Its code has words that are not known.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// An option names no phase.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// A finding is about a step that the check does not take.
    #[error("{step} is not among the steps that are taken")]
    NotAmong {
        /// The step.
        step: StepId,
    },
    /// A reproducer cannot be written.
    #[error("cannot write the reproducer `{}`: {reason}", path.display())]
    Reproducer {
        /// Where to.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// The target that a module is for.
pub fn target_of(module: &Module) -> Result<Target, TargetError> {
    let name = module.target.split(',').next().unwrap_or_default();
    name.trim().parse()
}
