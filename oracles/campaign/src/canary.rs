//! A known fault, to see that a campaign still finds faults.
//!
//! A fuzzer that finds nothing because it stopped working looks like one that finds nothing because all is well. So a
//! phase of our own, wrong in a way that generated kernels show, is added to the list of phases, and a campaign of its
//! own must find it and blame it. The same phase serves to try out findings: `oriole fuzz --plant`. Over machine code
//! it does something else that is wrong. Where a compiler is judged, the fault is planted in what it gets.

use std::time::{Duration, Instant};

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Form, Function, Inst, InstBuilder, Level};
use oriole_optimizer::analysis::AnalysisSet;
use oriole_optimizer::pass::{Changed, Element, Needs, PhaseContext, Run};
use oriole_optimizer::pipeline::Pipeline;

use super::store::Store;
use super::{CampaignError, Options, run};
use oriole_check::CheckOptions;
use oriole_check::inject::FaultSpec;

/// The name of the planted phase.
pub const NAME: &str = "Canary";
/// The rule that it says it applies.
pub const RULE: &str = "add-to-subtract";
/// The one that it says it applies to machine code.
const CODE_RULE: &str = "drop-store";
/// What a compiler gets is wrong in this way, so that its code is.
const COMPILED: &str = "drop-store@ptxas";
/// How long a campaign may take to find it.
pub const LIMIT: Duration = Duration::from_secs(60);
/// Behind this phase, where it is among those that run; what precedes it has simplified the kernel already.
const BEHIND: &str = "GeneralOptimizeEarly";

/// The planted phase.
pub fn phase() -> Element {
    let needs = Needs { levels: Level::ALL, forms: &[Form::Ssa, Form::Physical] };
    Element::custom(NAME, Run::function(add_to_subtract)).preserving(AnalysisSet::CONTROL_FLOW).needing(needs)
}

/// Adds the phase to a pipeline.
pub fn plant(passes: &mut Pipeline) {
    let behind = passes.iter().position(|element| element.name == BEHIND);
    passes.insert(behind.map_or(passes.len(), |at| at + 1), phase());
}

/// Takes the first store to global memory out of machine code.
fn drop_store(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_store = |inst: &Inst| func.mnemonic(*inst).is_some_and(|name| name.starts_with("STG"));
    let store = func.layout_insts().find(is_store);
    let Some(inst) = store.filter(|_| cx.rewrite(CODE_RULE)) else { return Changed::No };
    func.remove_inst(inst);
    Changed::Yes
}

/// Makes the first addition of a function a subtraction.
fn add_to_subtract(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if func.level == Level::Machine {
        return drop_store(func, cx);
    }
    let plain = |inst: &Inst| {
        let data = func.inst(*inst);
        data.opcode == Opcode::IAdd && data.field::<Type>() == Some(Type::U32) && data.guard.is_none()
    };
    let Some(inst) = func.layout_insts().find(plain) else { return Changed::No };
    let Some(dst) = func.defs(inst).next().filter(|_| cx.rewrite(RULE)) else { return Changed::No };
    let srcs = func.srcs(inst).to_vec();
    InstBuilder::new(Opcode::ISub).field(Type::U32).dst(dst).srcs(srcs).replace(func, inst);
    Changed::Yes
}

/// What became of the canary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sighting {
    /// It was found and blamed.
    Found {
        /// Cases until then.
        cases: u64,
        /// Time until then.
        time: Duration,
    },
    /// Nothing was found in time.
    Missed {
        /// Cases that were checked.
        cases: u64,
    },
    /// Something was found, and something else was blamed.
    Misblamed {
        /// The step in which the fault was.
        planted: &'static str,
        /// The phase, verdict and rule that were.
        blamed: String,
    },
}

/// Runs a campaign with the fault planted, like the one that is to follow, until it is found.
///
/// # Errors
///
/// Those of the campaign.
pub fn watch(options: &Options) -> Result<Sighting, CampaignError> {
    let mut check = CheckOptions { out: None, bisection_limit: None, ..options.check.clone() };
    let (name, rule) = match &options.compiler {
        Some(compiler) if compiler.phases.is_some() => {
            plant(&mut check.passes);
            (NAME, CODE_RULE)
        }
        Some(compiler) => {
            check.faults.extend(COMPILED.parse::<FaultSpec>().ok());
            (compiler.tool.step().name(), "")
        }
        None => {
            plant(&mut check.passes);
            (NAME, RULE)
        }
    };
    let own = Options {
        cases: None,
        time: Some(LIMIT),
        shard: (0, 1),
        first_finding: true,
        reduce: None,
        check,
        ..options.clone()
    };
    let start = Instant::now();
    let summary = run(&own, Store::in_memory()?, |_| ())?;
    let stored = summary.store.findings()?;
    let cases = summary.progress.tally.cases;
    // Other workers may find a real bug at the same time; that is the campaign's business.
    Ok(match stored.iter().find(|stored| stored.record.key.phase == name).or(stored.first()) {
        None => Sighting::Missed { cases },
        Some(stored) if stored.record.key.phase == name && stored.record.key.rule == rule => {
            Sighting::Found { cases, time: start.elapsed() }
        }
        Some(stored) => Sighting::Misblamed { planted: name, blamed: stored.record.key.rule_id() },
    })
}
