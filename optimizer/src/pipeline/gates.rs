//! THE gate table: one row for every condition by which `spec/copy-propagation-and-cse.txt` and
//! `spec/liveness-and-dce.txt` let a phase do something or not, and which nobody sets by name.
//!
//! A gate is a flag of the context, a bit of the target's backend, a threshold of the SM, or a function that a backend
//! may replace. A row says what decides it here: the row of the target, a knob where the page gives a flag no name, a
//! fact that is computed of the function, or nothing, with the reason. The pages name few of them, so the names are
//! Oriole's own; the column "in ptxas" has the place in the binary. Knobs are in [`oriole_pass::pass::knobs`].

use std::fmt;

use super::table::Phase;
use Decision::{Always, Computed, Later, Level, Machine, Set};
use Page::{CopyPropagation, Liveness};
use oriole_ir::sm::Target;
use oriole_pass::pass::{Knob, Page, Source};

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
    /// What it decides, and why what decides it does so.
    pub doc: &'static str,
}

macro_rules! gates {
    ($($(#[doc = $doc:literal])+ $name:ident, $place:literal = $decided:expr, $source:expr;)+) => {
        /// The gate table, grouped by document.
        pub static GATES: &[GateRow] = &[
            $(GateRow {
                name: stringify!($name),
                place: $place,
                decided: $decided,
                source: $source,
                doc: concat!($($doc),+).trim_ascii(),
            },)+
        ];
    };
}

gates! {
    /// Whether GvnCse does anything: slot 23 of the backend is empty elsewhere.
    ValueNumbering, "sm_backend vtable[23]" = Machine(Target::has_value_numbering), CopyPropagation.line(559);
    /// Whether GvnCse has its full variants, and numbers operations of the slow units.
    EnhancedScope, "sm_backend+1106 bit 6" = Machine(Target::has_enhanced_value_numbering), CopyPropagation.line(201);
    /// Whether GvnCse keeps to the scope of mode 3.
    ContextScope, "context+1416 bit 0" = Set(Knob::GvnCseContextScope), CopyPropagation.line(202);
    /// Whether the extended-block pre-pass can be left out: above the threshold 0x7fff.
    ExtendedBlockThreshold, "sm_backend+372" = Machine(Target::may_skip_extended_blocks), CopyPropagation.line(203);
    /// Whether the context asks for the extended-block pre-pass.
    ExtendedBlockContext, "context+1368 bit 0" = Set(Knob::GvnCseContextExtendedBlocks), CopyPropagation.line(205);
    /// Whether a value may be commoned across a barrier. Memory SSA says which loads a barrier separates; operations
    /// that threads do together are never commoned.
    BarrierSafety, "sm_backend vtable[371]" = Computed, CopyPropagation.line(478);
    /// Whether the standard variant leaves values alone that the extended-block pre-pass found not worth it. The
    /// pre-pass ran, so its marks decide.
    CrossBlock, "sub_BEAD00 a2" = Computed, CopyPropagation.line(290);
    /// Whether a leader is asked for dominance. A leader is one by its place in the dominator tree, so the question
    /// has an answer before it is asked.
    DominanceCheck, "context+1377 bit 5" = Always(true), CopyPropagation.line(296);
    /// Whether value numbering orders the operands of commutative instructions: up to the threshold 28671.
    CommutativeOrder, "sm_backend+372" = Machine(Target::orders_commutative_operands), CopyPropagation.line(500);
    /// Whether OriReassociateAndCommon runs. The page calls what it asks a count of functions; the movement page shows
    /// that it is the optimization level.
    ReassociateLevel, "sub_7DDB50" = Level(2), CopyPropagation.line(573);
    /// Whether OriCommoning and LateOriCommoning run, likewise.
    LateCommoningLevel, "sub_7DDB50" = Level(2), CopyPropagation.line(667);
    /// Whether the function has been commoned already. The second phase finds it settled where nothing has changed
    /// since the first.
    AlreadyCommoned, "code object+1368 bit 1" = Computed, CopyPropagation.line(707);
    /// Whether the function is left out of late commoning. The page does not say what sets the two bits; nothing here.
    LateCommoningSkipped, "code object+1368 and +1378, bit 3" = Always(false), CopyPropagation.line(708);
    /// Whether dominance is one bit test. Each block knows its interval in the dominator tree, so it always is as
    /// cheap.
    DominatorSets, "code object+1370 bit 6" = Always(true), CopyPropagation.line(778);
    /// Whether a target propagates copies backward: it overrides the hook, and with it the marker behind it.
    BackwardCopies, "phases 82 and 83, isNoOp" = Set(Knob::EnablePhases), CopyPropagation.line(861);
    /// Whether the target's encoding takes address registers where it does not before the stage of backward copies.
    /// The counter advances; operands that ask for it are those of allocated registers.
    AddressOperandRelaxation, "context+1398 bit 2" = Later(Phase::AdvancedPhaseAllocReg), CopyPropagation.line(956);
    /// Whether the scheduler relaxes operands too, once the counter is 19.
    SchedulerRelaxation, "context+1552 == 19" = Later(Phase::AdvancedPhasePreSched), CopyPropagation.line(964);
    /// Whether a copy is propagated only where its operand's constraints are clear: above the threshold 20479.
    CopyConstraints, "context+372" = Machine(Target::constrains_copies), CopyPropagation.line(1016);
    /// Whether the target can mark a guarded copy as propagated. Every instruction of PTX takes a guard, so it can.
    PredicateMarks, "sm_backend vtable, +1312" = Always(true), CopyPropagation.line(1034);
    /// Whether forward copy propagation takes the first instruction for one behind a copy. This decides where the
    /// target cannot mark guarded copies, and here it can.
    CopySeenFirst, "knob 487" = Always(false), CopyPropagation.line(1036);
    /// Whether selections are asked what branches say of their conditions; without, a constant condition decides alone.
    PredicateSimplifier, "context+1379 bits 0 to 2" = Set(Knob::CopyPropSimplifyPredicates), CopyPropagation.line(1058);
    /// Whether the simplifier is asked though the backend can do without. Its answer costs one look at a table, so it
    /// always is.
    PredicateSimplifierForced, "context+1379, mask 0x1b" = Always(true), CopyPropagation.line(1063);
    /// Whether the solver of liveness runs. It does where no liveness is kept that is still true.
    LivenessGuard, "context+1370 bit 6" = Computed, Liveness.line(78);
    /// Whether liveness respects dominance. The consumer chooses: splitting and the detector of uninitialized registers
    /// do, commoning and removal of dead code do not.
    DominatorRespecting, "sub_773140 a2" = Computed, Liveness.line(100);
    /// Whether uniform registers have sets of their own: where the function has some that live across blocks. Another
    /// line, 602, gives the flag as +1378 bit 4.
    UniformRegisters, "code object+1368 bit 4" = Computed, Liveness.line(193);
    /// Whether scheduling tries again without uniform registers.
    RetryWithoutUniform, "sub_A0F970 v63" = Later(Phase::AdvancedPhasePreSched), Liveness.line(193);
    /// Whether the allocator passes over a soft constraint in this round. The page calls the threshold a knob and gives
    /// neither name, index nor value.
    SoftConstraintSkip, "an OCG knob" = Later(Phase::AdvancedPhaseAllocReg), Liveness.line(447);
    /// Whether a register that is live at the start of a function is reported as uninitialized. The bit is that of
    /// volatile registers, and there are none here.
    VolatileRegister, "register+48 bit 5" = Always(false), Liveness.line(512);
    /// Whether liveness is out of date: a pass that changes something says which analyses stay true.
    LivenessInvalid, "context+1370 bit 2" = Computed, Liveness.line(605);
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
        assert_eq!(of_target, 5);
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
}
