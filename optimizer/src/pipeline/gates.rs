//! THE gate table: one row for every condition by which `spec/copy-propagation-and-cse.txt`,
//! `spec/liveness-and-dce.txt` and `spec/instruction-movement.txt` let a phase do something or not, and which nobody
//! sets by name.
//!
//! A gate is a flag of the context, a bit of the target's backend, a threshold of the SM, or a function that a backend
//! may replace. A row says what decides it here: the row of the target, a knob where the page gives a flag no name, a
//! fact that is computed of the function, or nothing, with the reason. The pages name few of them, so the names are
//! Oriole's own; the column "in ptxas" has the place in the binary. Knobs are in [`oriole_pass::pass::knobs`].
//! [`explain`] says of a phase and a function which gates are open.

use std::fmt;

use super::runner::{Options, SkipReason, skips};
use super::sequence::Pipeline;
use super::table::{Phase, UnknownPhase};
use super::throttle::Throttle;
use Decision::{Always, Computed, Later, Level, Machine, Moves, Set};
use Page::{CopyPropagation, InstructionMovement, Liveness};
use Reach::{Nobody, Steers, Stops};
use oriole_ir::sm::Target;
use oriole_ir::{Function, Module};
use oriole_pass::pass::{Knob, Page, Source};
use oriole_phases::movement::gates::{Gate, Question};
use oriole_phases::movement::kinds::Kind;

/// What decides a gate.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    /// The row of the target's machine.
    Machine(fn(Target) -> bool),
    /// A knob.
    Set(Knob),
    /// The optimization level: open from this one on.
    Level(u8),
    /// A fact of the function, or of the run so far.
    Computed,
    /// Nothing: it has this value whatever is compiled.
    Always(bool),
    /// A phase that is not built yet.
    Later(Phase),
    /// The question of the movements about the function.
    Moves(Gate),
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine(_) => f.write_str("the target"),
            Set(knob) => knob.fmt(f),
            Level(level) => write!(f, "level O{level}"),
            Computed => f.write_str("computed"),
            Always(true) => f.write_str("always open"),
            Always(false) => f.write_str("always closed"),
            Later(phase) => write!(f, "{phase}, which is planned"),
            Moves(gate) => gate.fmt(f),
        }
    }
}

/// The phases that ask a gate.
#[derive(Clone, Copy, Debug)]
pub enum Reach {
    /// These do nothing where it is closed.
    Stops(&'static [Phase]),
    /// These act either way, each in its own.
    Steers(&'static [Phase]),
    /// An analysis asks it, or so many phases that none is named.
    Nobody,
}

impl Reach {
    fn phases(self) -> &'static [Phase] {
        match self {
            Stops(phases) | Steers(phases) => phases,
            Nobody => &[],
        }
    }
}

/// One gate.
#[derive(Clone, Copy, Debug)]
pub struct GateRow {
    /// Its name here.
    pub name: &'static str,
    /// Where ptxas has it.
    pub place: &'static str,
    /// What decides it.
    pub decided: Decision,
    /// The line of a document that describes it.
    pub source: Source,
    /// The phases that it is a gate of.
    pub reach: Reach,
    /// What it decides, and why what decides it does so.
    pub doc: &'static str,
}

macro_rules! gates {
    ($($(#[doc = $doc:literal])+ $name:ident, $place:literal = $decided:expr, $source:expr, $reach:expr;)+) => {
        /// The gate table, grouped by document.
        pub static GATES: &[GateRow] = &[
            $(GateRow {
                name: stringify!($name),
                place: $place,
                decided: $decided,
                source: $source,
                reach: $reach,
                doc: concat!($($doc),+).trim_ascii(),
            },)+
        ];
    };
}

const GVN: &[Phase] = &[Phase::GvnCse];
const COMMONING: &[Phase] = &[Phase::OriCommoning, Phase::LateOriCommoning];
const BACKWARD: &[Phase] = &[Phase::AdvancedPhaseBackPropVReg, Phase::OriBackCopyPropagate];
const BUNDLES: &[Phase] = &[
    Phase::GeneralOptimizeEarly,
    Phase::GeneralOptimize,
    Phase::GeneralOptimizeMid,
    Phase::GeneralOptimizeMid2,
    Phase::GeneralOptimizeLate,
    Phase::GeneralOptimizeLate2,
];
const MOVEMENTS: &[Phase] =
    &[Phase::DoKillMovement, Phase::DoKillMovementUpward, Phase::DoTexMovement, Phase::DoTexMovementUpward];

gates! {
    /// Whether GvnCse does anything: slot 23 of the backend is empty elsewhere.
    ValueNumbering, "sm_backend vtable[23]" = Machine(Target::has_value_numbering), CopyPropagation.line(559), Stops(GVN);
    /// Whether GvnCse has its full variants, and numbers operations of the slow units.
    EnhancedScope, "sm_backend+1106 bit 6" = Machine(Target::has_enhanced_value_numbering), CopyPropagation.line(201), Steers(GVN);
    /// Whether GvnCse keeps to the scope of mode 3.
    ContextScope, "context+1416 bit 0" = Set(Knob::GvnCseContextScope), CopyPropagation.line(202), Steers(GVN);
    /// Whether the extended-block pre-pass can be left out: above the threshold 0x7fff.
    ExtendedBlockThreshold, "sm_backend+372" = Machine(Target::may_skip_extended_blocks), CopyPropagation.line(203), Steers(GVN);
    /// Whether the context asks for the extended-block pre-pass.
    ExtendedBlockContext, "context+1368 bit 0" = Set(Knob::GvnCseContextExtendedBlocks), CopyPropagation.line(205), Steers(GVN);
    /// Whether a value may be commoned across a barrier. Memory SSA says which loads a barrier separates; operations
    /// that threads do together are never commoned.
    BarrierSafety, "sm_backend vtable[371]" = Computed, CopyPropagation.line(478), Steers(GVN);
    /// Whether the standard variant leaves values alone that the extended-block pre-pass found not worth it. The
    /// pre-pass ran, so its marks decide.
    CrossBlock, "sub_BEAD00 a2" = Computed, CopyPropagation.line(290), Steers(GVN);
    /// Whether a leader is asked for dominance. A leader is one by its place in the dominator tree, so the question
    /// has an answer before it is asked.
    DominanceCheck, "context+1377 bit 5" = Always(true), CopyPropagation.line(296), Steers(GVN);
    /// Whether value numbering orders the operands of commutative instructions: up to the threshold 28671.
    CommutativeOrder, "sm_backend+372" = Machine(Target::orders_commutative_operands), CopyPropagation.line(500), Steers(GVN);
    /// Whether OriReassociateAndCommon runs. The page calls what it asks a count of functions; the movement page shows
    /// that it is the optimization level.
    ReassociateLevel, "sub_7DDB50" = Level(2), CopyPropagation.line(573), Stops(&[Phase::OriReassociateAndCommon]);
    /// Whether OriCommoning and LateOriCommoning run, likewise.
    LateCommoningLevel, "sub_7DDB50" = Level(2), CopyPropagation.line(667), Stops(COMMONING);
    /// Whether the function has been commoned already. The second phase finds it settled where nothing has changed
    /// since the first.
    AlreadyCommoned, "code object+1368 bit 1" = Computed, CopyPropagation.line(707), Steers(COMMONING);
    /// Whether the function is left out of late commoning. The page does not say what sets the two bits; nothing here.
    LateCommoningSkipped, "code object+1368 and +1378, bit 3" = Always(false), CopyPropagation.line(708), Steers(COMMONING);
    /// Whether dominance is one bit test. Each block knows its interval in the dominator tree, so it always is as
    /// cheap.
    DominatorSets, "code object+1370 bit 6" = Always(true), CopyPropagation.line(778), Steers(COMMONING);
    /// Whether a target propagates copies backward: it overrides the hook, and with it the marker behind it.
    BackwardCopies, "phases 82 and 83, isNoOp" = Set(Knob::EnablePhases), CopyPropagation.line(861), Stops(BACKWARD);
    /// Whether the target's encoding takes address registers where it does not before the stage of backward copies.
    /// The counter advances; operands that ask for it are those of allocated registers.
    AddressOperandRelaxation, "context+1398 bit 2" = Later(Phase::AdvancedPhaseAllocReg), CopyPropagation.line(956), Steers(BACKWARD);
    /// Whether the scheduler relaxes operands too, once the counter is 19.
    SchedulerRelaxation, "context+1552 == 19" = Later(Phase::AdvancedPhasePreSched), CopyPropagation.line(964), Nobody;
    /// Whether a copy is propagated only where its operand's constraints are clear: above the threshold 20479.
    CopyConstraints, "context+372" = Machine(Target::constrains_copies), CopyPropagation.line(1016), Steers(BUNDLES);
    /// Whether the target can mark a guarded copy as propagated. Every instruction of PTX takes a guard, so it can.
    PredicateMarks, "sm_backend vtable, +1312" = Always(true), CopyPropagation.line(1034), Steers(BUNDLES);
    /// Whether forward copy propagation takes the first instruction for one behind a copy. This decides where the
    /// target cannot mark guarded copies, and here it can.
    CopySeenFirst, "knob 487" = Always(false), CopyPropagation.line(1036), Steers(BUNDLES);
    /// Whether selections are asked what branches say of their conditions; without, a constant condition decides alone.
    PredicateSimplifier, "context+1379 bits 0 to 2" = Set(Knob::CopyPropSimplifyPredicates), CopyPropagation.line(1058), Steers(BUNDLES);
    /// Whether the simplifier is asked though the backend can do without. Its answer costs one look at a table, so it
    /// always is.
    PredicateSimplifierForced, "context+1379, mask 0x1b" = Always(true), CopyPropagation.line(1063), Steers(BUNDLES);
    /// Whether the solver of liveness runs. It does where no liveness is kept that is still true.
    LivenessGuard, "context+1370 bit 6" = Computed, Liveness.line(78), Nobody;
    /// Whether liveness respects dominance. The consumer chooses: splitting and the detector of uninitialized registers
    /// do, commoning and removal of dead code do not.
    DominatorRespecting, "sub_773140 a2" = Computed, Liveness.line(100), Nobody;
    /// Whether uniform registers have sets of their own: where the function has some that live across blocks. Another
    /// line, 602, gives the flag as +1378 bit 4.
    UniformRegisters, "code object+1368 bit 4" = Computed, Liveness.line(193), Nobody;
    /// Whether scheduling tries again without uniform registers: where its first order of a function needs more of them
    /// than there are.
    RetryWithoutUniform, "sub_A0F970 v63" = Computed, Liveness.line(193), Nobody;
    /// Whether the allocator passes over a soft constraint in this round. The page calls the threshold a knob and gives
    /// neither name, index nor value.
    SoftConstraintSkip, "an OCG knob" = Set(Knob::SoftConstraintSkip), Liveness.line(447), Nobody;
    /// Whether a register that is live at the start of a function is not reported as uninitialized. Of registers of the
    /// machine the stack pointer is not, nor are those that a caller hands over; every virtual one is.
    VolatileRegister, "register+48 bit 5" = Computed, Liveness.line(512), Nobody;
    /// Whether liveness is out of date: a pass that changes something says which analyses stay true.
    LivenessInvalid, "context+1370 bit 2" = Computed, Liveness.line(605), Nobody;
    /// Whether the wrapper of a movement calls the engine.
    MovementWrapper, "sub_C5FE00, sub_7DDB50" = Moves(Gate::WrapperLevel), InstructionMovement.line(26), Stops(MOVEMENTS);
    /// Whether the late hoist and the movements run at all. The page does not say what clears the bit; nothing here.
    MovementMaster, "context+1368 bit 0" = Moves(Gate::Master), InstructionMovement.line(27), Stops(MOVEMENTS);
    /// Whether the engine acts, though the wrapper has called it. ptxas makes the same code at O2 and O3 of every
    /// kernel of the corpus, so the gate promises nothing (2026-11-22).
    MovementLevel, "sub_8FFDE0, sub_7DDB50" = Moves(Gate::EngineLevel), InstructionMovement.line(27), Stops(MOVEMENTS);
    /// Whether a token leaves the movements out. In ptxas the name of a movement addresses nothing; here it addresses
    /// that movement.
    MovementToken, "sub_799250" = Moves(Gate::Token), InstructionMovement.line(75), Stops(MOVEMENTS);
    /// Whether there are functions: the phase is asked for each, so there are.
    MovementFunctions, "context+520" = Moves(Gate::Functions), InstructionMovement.line(28), Stops(MOVEMENTS);
    /// Whether the function has instructions.
    MovementBody, "sub_8FFDE0 step 2" = Moves(Gate::Body), InstructionMovement.line(91), Stops(MOVEMENTS);
    /// Whether the function may be moved in, or a kind moves where it may not: kill markers before Blackwell.
    MovementCondition, "sub_7A1A90" = Moves(Gate::Eligibility), InstructionMovement.line(96), Stops(MOVEMENTS);
    /// Whether a kind moves by the value of its knob: all at 0, the second at 1, the first two at 2, none at 3.
    MovementValue, "sub_7A1B80" = Moves(Gate::Value), InstructionMovement.line(112), Stops(MOVEMENTS);
    /// Whether a function that may not be moved in ends the phase for every kind: from Blackwell on. On its own it is
    /// no reason to move nothing.
    MovementTier, "context+1704 > 5" = Machine(Target::movement_gate_is_final), InstructionMovement.line(30), Steers(MOVEMENTS);
    /// Whether the function has the level that was asked for, or one less: the first functions of the module have it.
    LevelThrottle, "km+9+35936" = Set(Knob::OptLevelThrottle), InstructionMovement.line(29), Steers(MOVEMENTS);
}

/// How a gate is for a phase and a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It lets the phase act.
    Open,
    /// It does not.
    Closed,
    /// It says which of two ways the phase goes, and this is what it says.
    Says(bool),
    /// The phase computes it when it asks.
    Computed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Open => "open",
            State::Closed => "closed",
            State::Says(true) => "yes",
            State::Says(false) => "no",
            State::Computed => "computed",
        })
    }
}

/// The gates of a phase for one function.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The function.
    pub function: String,
    /// Its effective level.
    pub level: u8,
    /// Why the runner leaves the phase out; `None` where it does not.
    pub skipped: Option<SkipReason>,
    /// The gates that the phase asks, with their states.
    pub gates: Vec<(&'static GateRow, State)>,
}

impl Explanation {
    /// The gate that keeps the phase from acting, if one does that is not computed.
    pub fn closed(&self) -> Option<&'static GateRow> {
        self.gates.iter().find(|(_, state)| *state == State::Closed).map(|(row, _)| *row)
    }
}

/// The gates of a phase for each function of a module that has a body, under options.
///
/// # Errors
///
/// A token of the options that addresses nothing.
pub fn explain(phase: Phase, module: &Module, options: &Options) -> Result<Vec<Explanation>, UnknownPhase> {
    let pipeline = Pipeline::ptxas();
    let skips = skips(&pipeline, options)?;
    let place = pipeline.iter().position(|element| element.name == phase.row().name);
    let skipped = place.and_then(|place| skips[place]);
    let throttle = Throttle::new(module, options);
    let of = |func: &Function| {
        let level = throttle.level(options, &func.name);
        let too_low = (phase.row().min_opt_level > level).then_some(SkipReason::OptLevel);
        let gates = GATES.iter().filter(|row| row.reach.phases().contains(&phase));
        let asked = Asked { phase, func, level, skipped, options, is_first: level == options.opt_level };
        let gates = gates.map(|row| (row, asked.state(row))).collect();
        Explanation { function: func.name.clone(), level, skipped: skipped.or(too_low), gates }
    };
    Ok(module.functions.values().filter(|func| func.is_definition()).map(of).collect())
}

/// All by which the gates of a phase are as they are.
struct Asked<'a> {
    phase: Phase,
    func: &'a Function,
    level: u8,
    skipped: Option<SkipReason>,
    options: &'a Options,
    /// Whether the function has the level that was asked for.
    is_first: bool,
}

impl Asked<'_> {
    fn state(&self, row: &GateRow) -> State {
        let says = |is: bool| match (row.reach, is) {
            (Steers(_) | Nobody, is) => State::Says(is),
            (Stops(_), true) => State::Open,
            (Stops(_), false) => State::Closed,
        };
        match row.decided {
            Machine(is_open) => says(is_open(self.options.target)),
            Set(Knob::OptLevelThrottle) => says(self.is_first),
            Set(Knob::EnablePhases) => says(self.skipped != Some(SkipReason::NoOpByDefault)),
            Set(knob) => says(self.options.knobs.flag(knob)),
            Level(level) => says(self.level >= level),
            Computed => State::Computed,
            Always(is_open) => says(is_open),
            Later(_) => says(false),
            Moves(gate) => says(self.question().is_some_and(|question| question.is_open(gate))),
        }
    }

    fn question(&self) -> Option<Question> {
        let kind = Kind::of_phase(self.phase.row().name)?;
        Some(Question {
            kind,
            level: self.level,
            is_disabled: matches!(self.skipped, Some(SkipReason::Disabled | SkipReason::NotNamed)),
            is_eligible: self.options.knobs.function_gate(Knob::MovementEligibility).allows(&self.func.name),
            value: self.options.knobs.number(Knob::MovementVariant),
            gate_is_final: self.options.target.movement_gate_is_final(),
            is_empty: self.func.inst_count() == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_pass::pass::Status;

    #[test]
    fn gates_of_the_target_divide_the_targets() {
        let mut of_target = 0;
        for row in GATES {
            let Machine(is_open) = row.decided else { continue };
            of_target += 1;
            assert!(Target::all().any(is_open) && !Target::all().all(is_open), "{}", row.name);
        }
        assert_eq!(of_target, 6);
    }

    #[test]
    fn what_waits_for_a_phase_waits_for_a_planned_one() {
        for row in GATES {
            let Later(phase) = row.decided else { continue };
            assert!(matches!(phase.row().status(), Status::Planned), "{} waits for {phase}", row.name);
        }
    }

    #[test]
    fn names_are_unique_and_rows_say_what_they_decide() {
        for (i, row) in GATES.iter().enumerate() {
            assert!(GATES[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(row.doc.starts_with("Whether ") && row.doc.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn levels_are_those_of_the_phases() {
        for (name, phases) in [
            ("ReassociateLevel", &[Phase::OriReassociateAndCommon][..]),
            ("LateCommoningLevel", &[Phase::OriCommoning, Phase::LateOriCommoning]),
        ] {
            let row = GATES.iter().find(|row| row.name == name).expect("the gate has a row");
            for phase in phases {
                assert_eq!(row.decided.to_string(), format!("level O{}", phase.row().min_opt_level));
            }
        }
    }

    const KERNEL: &str = "target sm_90 ptx 9.0\nentry @k ssa {\nbb0:\n  ret\n}\n";

    /// The closed gate of a phase, and why the runner leaves it out, with these knobs.
    fn answer(phase: Phase, target: u16, level: u8, knobs: &[&str]) -> (Option<&'static str>, Option<SkipReason>) {
        let module = oriole_ir::parse_module(KERNEL).expect("the text is a module");
        let target = Target::portable(target).expect("the machine is known");
        let mut options = Options { opt_level: level, ..Options::new(target) };
        knobs.iter().for_each(|knob| options.knobs.set(knob).expect("the knob takes it"));
        let explained = explain(phase, &module, &options).expect("the tokens are known");
        (explained[0].closed().map(|row| row.name), explained[0].skipped)
    }

    #[test]
    fn the_closed_gate_is_named() {
        let closed = |phase, sm, level, knobs: &[&str]| answer(phase, sm, level, knobs).0;
        let texture = Phase::DoTexMovement;
        assert_eq!(closed(texture, 90, 3, &[]), None);
        assert_eq!(closed(texture, 90, 1, &[]), Some("MovementWrapper"));
        assert_eq!(closed(texture, 90, 2, &[]), Some("MovementLevel"));
        assert_eq!(closed(texture, 90, 3, &["OptLevelThrottle=0"]), Some("MovementLevel"));
        assert_eq!(closed(texture, 90, 3, &["MovementEligibility=!k"]), Some("MovementCondition"));
        assert_eq!(closed(texture, 90, 3, &["MovementVariant=1"]), Some("MovementValue"));
        assert_eq!(closed(Phase::DoKillMovementUpward, 90, 3, &["MovementVariant=1"]), None);
        assert_eq!(closed(Phase::DoKillMovement, 90, 3, &["MovementEligibility=none"]), None);
        assert_eq!(closed(Phase::DoKillMovement, 100, 3, &["MovementEligibility=none"]), Some("MovementCondition"));
        assert_eq!(closed(Phase::GvnCse, 80, 3, &[]), Some("ValueNumbering"));
        assert_eq!(answer(Phase::GvnCse, 90, 1, &[]), (None, Some(SkipReason::OptLevel)));
        assert_eq!(closed(Phase::AdvancedPhaseBackPropVReg, 90, 3, &[]), Some("BackwardCopies"));
    }

    #[test]
    fn a_token_closes_the_gate_of_built_movements() {
        for phase in MOVEMENTS.iter().filter(|phase| phase.row().status() == Status::Built) {
            let (closed, skipped) = answer(*phase, 90, 3, &["DisablePhases=HoistInvariants"]);
            assert_eq!((closed, skipped), (Some("MovementToken"), Some(SkipReason::Disabled)), "{phase}");
        }
    }
}
