//! Faults that the harness plants in a step, to see whether it finds them.
//!
//! A [`Kind`] is a row of [`KINDS`]: given an instruction it lists the changes that a bug of this kind could make
//! there. A [`FaultSpec`] (`KIND@STEP:SEED`) names a kind, the step after whose work the change is made, and a seed
//! that chooses among all places of the module. A phase keeps its name and asks for leave before the change as before
//! any other, so that it is bisected and reduced like one with a bug of its own. SSA construction and the PTX round
//! trip take faults as phases do. A fault for which no module has a place was never planted ([`NotPlanted`]): finding
//! nothing then means nothing.
//!
//! Changes are made to leave valid IR where the kind allows it: what the verifier catches is no test of execution.

mod change;
mod code;
mod fields;
mod flow;
mod memory;
mod operands;
mod strong;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use oriole_ir::{FuncId, Function, FunctionKind, Module, Operand};
use oriole_optimizer::codegen::compile::Stage;
use oriole_optimizer::pass::{Changed, ModuleContext, PassId, Row, Run, Statistics, Status, split_instance};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::table::{NESTS, Selection, UnknownPhase, select};

pub use change::{Change, Place};

use crate::supervise::StepId;
use oriole_launch::random::SplitMix64;

/// A kind of fault.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name on the command line and, after `planted `, as the rule of the guilty rewrite.
    pub name: &'static str,
    /// What goes wrong.
    pub doc: &'static str,
    rule: &'static str,
    nature: Nature,
    changes: fn(&Function, Place) -> Vec<Change>,
}

/// How a fault shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nature {
    /// The module is changed.
    Changes,
    /// The phase does not end, where there would be a place for the change: it asks for ever, or does not even ask.
    AsksForEver,
    StandsStill,
    /// It takes ten gigabytes there.
    TakesMemory,
}

impl fmt::Debug for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

macro_rules! kinds {
    ($(#[$doc_of_all:meta])* $all:ident; $($name:literal $function:path, $doc:literal;)*) => {
        $(#[$doc_of_all])*
        pub const $all: &[Kind] = &[$(Kind {
            name: $name,
            doc: $doc,
            rule: concat!("planted ", $name),
            nature: Nature::Changes,
            changes: $function,
        }),*];
    };
}

kinds! {
    /// Every kind of fault in Ori that is no machine code.
    KINDS;
    "drop-store" memory::drop_store, "A store, reduction or call vanishes.";
    "drop-operation" operands::drop_operation, "The result of an operation is one of its operands.";
    "duplicate-effect" memory::duplicate_effect, "A read-modify-write that adds up is done twice.";
    "swap-operands" operands::swap_operands, "The first two operands of an operation that does not commute are exchanged.";
    "off-by-one" operands::off_by_one, "An integer constant is one more or one less.";
    "wrong-constant-bit" operands::wrong_constant_bit, "One bit of a constant is flipped.";
    "wrong-register" operands::wrong_register, "An operand is another register that is at hand.";
    "undefined-operand" operands::undefined_operand, "An operand is undefined.";
    "wrong-word" operands::wrong_word, "The other word of a wide register is read.";
    "swap-words" operands::swap_words, "The parts of a wide value are packed in the wrong order.";
    "narrowed-width" operands::narrowed_width, "The upper half of a wide result is lost.";
    "wrong-shift" operands::wrong_shift, "A constant shift amount is one more or one less.";
    "wrong-table" operands::wrong_table, "One bit of an instruction's table or selector is flipped.";
    "uncontracted" operands::uncontracted, "A fused multiplication and addition rounds twice.";
    "dropped-guard" fields::dropped_guard, "A guarded instruction always executes.";
    "flipped-guard" fields::flipped_guard, "A guarded instruction executes where it should not.";
    "wrong-else" fields::wrong_else, "What a guarded instruction yields otherwise is something else.";
    "wrong-rounding" fields::wrong_rounding, "Rounds in another direction.";
    "wrong-signedness" fields::wrong_signedness, "A signed operation is unsigned, or the other way round.";
    "inverted-comparison" fields::inverted_comparison, "A comparison is inverted.";
    "comparison-boundary" fields::comparison_boundary, "A comparison includes its boundary where it should not, or the other way round.";
    "toggled-ftz" fields::toggled_ftz, "Subnormals are flushed, or no longer flushed.";
    "toggled-saturation" fields::toggled_saturation, "A result saturates, or no longer does.";
    "wrong-mode" fields::wrong_mode, "A modifier that selects what an operation does has another value.";
    "swapped-select" operands::swapped_select, "The two values of a selection are exchanged.";
    "wrong-offset" memory::wrong_offset, "An address is off by one element.";
    "narrowed-access" memory::narrowed_access, "Fewer bytes are loaded or stored.";
    "wrong-atomic" memory::wrong_atomic, "An atomic operation is another one.";
    "load-over-store" memory::load_over_store, "A load moves up over a store to the same bytes.";
    "store-over-access" memory::store_over_access, "A store moves up over a load or store of the same bytes.";
    "access-over-barrier" memory::access_over_barrier, "An access to shared memory moves over a barrier.";
    "dropped-barrier" memory::dropped_barrier, "A barrier vanishes.";
    "dropped-volatile" strong::dropped_volatile, "A volatile access is an ordinary one.";
    "weaker-scope" strong::weaker_scope, "An access or a fence orders fewer threads.";
    "weaker-order" strong::weaker_order, "An access or a fence orders less.";
    "dropped-fence" strong::dropped_fence, "A fence, or a wait for copies or other grids, vanishes.";
    "looser-wait" strong::looser_wait, "A wait for groups of copies leaves one more, or waits for reading alone.";
    "dropped-commit" strong::dropped_commit, "A group of copies is not closed.";
    "swapped-volatiles" strong::swapped_volatiles, "A volatile access moves up over another one.";
    "wrong-phi" flow::wrong_phi, "Two inputs of a phi are exchanged.";
    "stale-phi" flow::stale_phi, "An input of a phi is another one of its inputs.";
    "swapped-branch" flow::swapped_branch, "The two targets of a branch are exchanged.";
    "wrong-switch" flow::wrong_switch, "Two targets of a branch table are exchanged.";
    "dropped-branch" flow::dropped_branch, "A conditional branch always goes one way.";
    "skipped-block" flow::skipped_block, "A branch skips the block that it leads to.";
    "swapped-arguments" flow::swapped_arguments, "Two arguments of a call are exchanged.";
}

kinds! {
    /// Every kind of fault in machine code.
    CODE_KINDS;
    "code-dropped" code::dropped, "An instruction that computes a register is gone.";
    "code-wrong-register" code::wrong_register, "A source is another register that is at hand.";
    "code-wrong-result" code::wrong_result, "A result goes to another register that is in use.";
    "code-swapped-sources" code::swapped_sources, "Two neighbouring sources are exchanged.";
    "code-off-by-one" code::off_by_one, "A constant is one more or one less.";
    "code-wrong-polarity" code::wrong_polarity, "A predicate is read inverted.";
    "code-dropped-guard" fields::dropped_guard, "A guarded instruction always executes.";
    "code-flipped-guard" fields::flipped_guard, "A guarded instruction executes where it should not.";
    "code-shorter-stall" code::shorter_stall, "An instruction lets the next one issue at once.";
    "code-dropped-wait" code::dropped_wait, "An instruction waits for no barrier.";
    "code-stale-reuse" code::stale_reuse, "A register is marked in the operand cache, and written before it is read there.";
    "code-dropped-spill" code::dropped_spill, "A value that is kept in memory is not stored there.";
    "code-wrong-slot" code::wrong_slot, "A value that is kept in memory is stored or loaded a word beside.";
    "code-out-of-order" code::out_of_order, "An instruction comes before the one that makes a register for it.";
    "code-wrong-target" code::wrong_target, "A jump leads to another block.";
}

/// The kinds that are planted in stages of our own compiler. A stage that computes nothing that such a fault could be
/// in has none: an encoder that drops a word would leave a file that nobody reads.
pub const STAGE_KINDS: &[(Stage, &[&str])] = &[
    (
        Stage::Expand,
        &["drop-store", "swap-operands", "off-by-one", "wrong-constant-bit", "wrong-register", "inverted-comparison"],
    ),
    (
        Stage::Select,
        &[
            "code-dropped",
            "code-wrong-register",
            "code-swapped-sources",
            "code-off-by-one",
            "code-wrong-polarity",
            "code-dropped-guard",
            "code-flipped-guard",
        ],
    ),
    (Stage::Layout, &["code-wrong-target", "code-flipped-guard"]),
    (Stage::Macros, &["code-dropped", "code-wrong-register", "code-wrong-result"]),
    (Stage::Order, &["code-out-of-order", "code-dropped"]),
    (
        Stage::Allocate,
        &["code-dropped", "code-wrong-register", "code-wrong-result", "code-dropped-spill", "code-wrong-slot"],
    ),
    (Stage::Reorder, &["code-out-of-order", "code-dropped"]),
    (Stage::Schedule, &["code-shorter-stall", "code-dropped-wait", "code-stale-reuse"]),
    (Stage::Encode, &["code-wrong-register", "code-off-by-one", "code-wrong-polarity", "code-dropped-guard"]),
];

/// Kinds that do not end, on kernels with a switch. They are no part of the self-test, which would not end either.
pub const ENDLESS_KINDS: &[Kind] = &[
    Kind {
        name: "endless-phase",
        doc: "The phase stands still where there is a switch.",
        rule: "planted endless-phase",
        nature: Nature::StandsStill,
        changes: flow::wrong_switch,
    },
    Kind {
        name: "endless-rewrites",
        doc: "The phase goes on changing where there is a switch.",
        rule: "planted endless-rewrites",
        nature: Nature::AsksForEver,
        changes: flow::wrong_switch,
    },
    Kind {
        name: "endless-memory",
        doc: "The phase takes ten gigabytes where there is a switch.",
        rule: "planted endless-memory",
        nature: Nature::TakesMemory,
        changes: flow::wrong_switch,
    },
];

fn all_kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(CODE_KINDS).chain(ENDLESS_KINDS)
}

/// The kind with a name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    all_kinds().find(|kind| kind.name == name)
}

/// A fault to plant: `KIND@STEP` or `KIND@STEP:SEED`.
#[derive(Clone, Copy, Debug)]
pub struct FaultSpec {
    /// What goes wrong.
    pub kind: &'static Kind,
    /// In which step.
    pub step: StepId,
    /// Chooses the place.
    pub seed: u64,
}

/// Why a text names no fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultError {
    /// The text has another form.
    #[error("`{0}` is no fault: KIND@STEP or KIND@STEP:SEED, as in drop-store@OriPerformLiveDeadFirst:7")]
    Form(String),
    /// There is no such kind.
    #[error("`{0}` is no kind of fault; the kinds are {kinds}", kinds = names())]
    Kind(String),
    /// There is no such step.
    #[error(
        "{0}; ssa-construction, ssa-destruction and ptx-round-trip are the steps that are no phases, expansion, \
         selection, layout, macro-expansion, ordering, allocation, reordering, scheduling and encoding the stages of \
         code generation"
    )]
    Step(UnknownPhase),
    /// The phase does nothing yet.
    #[error("{0} is planned, so it cannot go wrong")]
    Planned(&'static str),
}

/// Faults that were never planted, so that a clean result says nothing about them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, miette::Diagnostic)]
#[error("never planted: {}", faults.join(", "))]
#[diagnostic(help(
    "the step was not taken, or left no place for a fault of this kind in any kernel: choose another step, kind or kernel"
))]
pub struct NotPlanted {
    /// The faults, as `--fault` takes them.
    pub faults: Vec<String>,
}

fn names() -> String {
    all_kinds().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}:{}", self.kind.name, self.step.token(), self.seed)
    }
}

impl FromStr for FaultSpec {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<FaultSpec, FaultError> {
        let form = || FaultError::Form(text.to_owned());
        let (name, rest) = text.split_once('@').ok_or_else(form)?;
        let (step, seed) = match rest.split_once(':') {
            Some((step, seed)) => (step, seed.parse().map_err(|_| form())?),
            None => (rest, 1),
        };
        let kind = kind(name).ok_or_else(|| FaultError::Kind(name.to_owned()))?;
        // What a compiler gets may have a fault, too, so that its code does something else.
        let compiled = step.eq_ignore_ascii_case(&StepId::Compilation.token());
        let step = if compiled { StepId::Compilation } else { step_named(step)? };
        Ok(FaultSpec { kind, step, seed })
    }
}

/// The step that a token names and that can go wrong: one outside of the phases, a stage of code generation, or a phase
/// that is built.
///
/// # Errors
///
/// There is no such step, or it does nothing yet.
pub fn step_named(token: &str) -> Result<StepId, FaultError> {
    if let Some(step) = StepId::outside_phases(token).or_else(|| StepId::stage(token)) {
        return Ok(step);
    }
    let (name, instance) = split_instance(token).unwrap_or((token, None));
    let PassId { name, instance: first } = PassId::first(built(name)?.name);
    Ok(StepId::Pass(PassId { name, instance: instance.unwrap_or(first) }))
}

/// The nest or the built pass that a token names; the first one where it names several.
fn built(token: &str) -> Result<&'static Row, FaultError> {
    if let Some(nest) = NESTS.iter().find(|row| row.is_called(token)) {
        return Ok(nest);
    }
    let rows = match select(token).map_err(FaultError::Step)? {
        Selection::Phases(rows) => rows,
        Selection::SubPass(row) => return built(row.inside),
    };
    let found = rows.iter().find(|row| row.status() == Status::Built);
    let name = rows.first().map_or("this phase", |row| row.name);
    found.copied().ok_or(FaultError::Planned(name))
}

impl FaultSpec {
    /// Puts the pass with the fault in the place of the pass, as a step of its own where it is in a nest. Other steps
    /// plant their faults themselves.
    pub fn plant(&self, passes: &mut Pipeline) {
        let (fault, StepId::Pass(id)) = (*self, self.step) else { return };
        *passes = passes.steps();
        let inject = Run::module(move |module, cx| inject(fault.kind, fault.seed, module, cx));
        passes.change(id, |element| element.followed_by(inject));
    }

    /// Makes the change in what a step has left, if the module has a place for it, and counts it as the runner does for
    /// phases.
    pub(crate) fn make(&self, module: &mut Module, statistics: &mut Statistics) {
        let Some((id, place, change)) = self.choose(module) else { return };
        match self.kind.nature {
            Nature::Changes => change.apply(&mut module.functions[id], place),
            Nature::AsksForEver | Nature::StandsStill => stand_still(),
            Nature::TakesMemory => take_memory(),
        }
        *statistics.entry(self.kind.rule).or_default() += 1;
    }

    /// Whether a step with these counters has made the change.
    pub fn was_made(&self, statistics: &Statistics) -> bool {
        statistics.contains_key(self.kind.rule)
    }

    /// The place and the change that the fault makes in a module; `None` where the module has no place for it.
    pub fn choose(&self, module: &Module) -> Option<(FuncId, Place, Change)> {
        choose(self.kind, self.seed, module)
    }
}

/// All places of a kind in a module, then one of them, then one of the changes there.
fn choose(kind: &Kind, seed: u64, module: &Module) -> Option<(FuncId, Place, Change)> {
    let mut places = Vec::new();
    let named = |id: FuncId| {
        let insts =
            module.functions.values().flat_map(|func| change::places(func).map(move |place| (func, place.inst)));
        insts.into_iter().any(|(func, inst)| func.srcs(inst).contains(&Operand::Func(id)))
    };
    // A fault in a function that nothing calls cannot show.
    let runs = |(id, func): &(FuncId, &Function)| func.kind == FunctionKind::Entry || named(*id);
    for (id, func) in module.functions.iter().filter(runs) {
        for place in change::places(func) {
            let changes = (kind.changes)(func, place);
            if !changes.is_empty() {
                places.push((id, place, changes));
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let mut random = SplitMix64::new(seed);
    let at = random.below(places.len() as u64) as usize;
    let (id, place, mut changes) = places.swap_remove(at);
    let at = random.below(changes.len() as u64) as usize;
    Some((id, place, changes.swap_remove(at)))
}

/// Makes the change, if there is a place for it and leave.
fn inject(kind: &Kind, seed: u64, module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let Some((id, place, change)) = choose(kind, seed, module) else { return Changed::No };
    cx.function(module, id, |func, cx| {
        if !cx.rewrite(kind.rule) {
            return Changed::No;
        }
        match kind.nature {
            Nature::Changes => change.apply(func, place),
            Nature::AsksForEver => while cx.rewrite(kind.rule) {},
            Nature::StandsStill => stand_still(),
            Nature::TakesMemory => take_memory(),
        }
        Changed::Yes
    })
}

/// Fills ten gigabytes piece by piece, and gives them back.
fn take_memory() {
    let pieces: Vec<Vec<u8>> = (0..10 << 10).map(|_| vec![1; 1 << 20]).collect();
    drop(std::hint::black_box(pieces));
}

/// Does not come back, and leaves the processor to others.
fn stand_still() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}
