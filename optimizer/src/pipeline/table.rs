//! THE phase table: one row for every Ori phase that `spec/` names, in execution order.
//!
//! The documents number phases twice: by the inventory ("wiki") numbering and by a slot of the binary
//! (`DoKillMovement` is 67 in the one, 78 in the other). [`Row::number`] is the inventory number, because four
//! of the five documents use it alone; the other, where a document gives it, is [`Row::binary_number`]. The two
//! do not even agree on an order (`LateOriCommoning` is inventory 64 and binary 86, `DoKillMovement` 67 and 78), so
//! only the inventory order means anything here. A phase that a document names without an inventory number has
//! none; its place in the table is then the only statement about when it runs.
//!
//! Each row names the line of the documents that it comes from, [`Row::source`]. Where they describe a step and do
//! not spell its name, the row has the name that ptxas itself prints, and its doc calls that name customary.
//!
//! A row whose [`Row::status`] is `Planned` or `NoWork` is listed and never run. The order is checked against
//! [`super::constraints`].

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

pub use super::cicc_table::{NESTS, NVOPT, PASSES};
use Page::{CopyPropagation, InstructionMovement, Liveness, Peephole};
use Stage::{
    Allocation, EarlyOptimization, InitialSetup, LateCleanup, LateOptimization, Legalization, MidLevelOptimization,
    Movement,
};
use oriole_codegen::peephole;
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::pass::{Needs, Page, Row, Run, Source, Stage, Unit, Work, suggest};
use oriole_phases::{
    analyze_control_flow, back_copy, branches, commoning, general_optimize, hoist_common, hoist_invariants,
    linear_replacement, live_dead, loop_fusion, loop_simplify, movement, pipelining, predication, reassociate, remat,
    share_addresses, sink, split_ranges, strength_reduce, switches, unroll, vectorization,
};

macro_rules! phases {
    ($($(#[doc = $doc:literal])+ $name:ident = $($setter:ident($($value:expr),*)).+ $(=> $work:path)?;)+) => {
        /// Every phase, in execution order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Phase {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Phase {
            /// Every phase, in execution order.
            pub const ALL: &'static [Phase] = &[$(Phase::$name),+];
        }

        /// The phase table, in execution order.
        pub static PHASES: &[Row] = &[
            $(Row::new(stringify!($name), Unit::Function, phases!(@run $($work)?))
                .doc(concat!($($doc),+).trim_ascii())
                $(.$setter($($value),*))+,)+
        ];
    };
    (@run) => { None };
    (@run $work:path) => { Some(Run::Function(Work::Static(&$work))) };
}

const LOADS_A_RUN: &str = "loads that it fetches ahead in a run are counted";
const LIMITED: &str = "it ends when a round gains too little for its cost";
const ROUNDS: &str = "its rounds are counted, and distributions have a budget a run";
const TABLE_BOUNDS: &str = "the comparisons that take the place of a table bound what other tables are indexed by";
const BRANCH_ROUNDS: &str = "its rounds are counted";
const BUDGET: &str = "its budget is one of a run";
const PARTS: &str = "a part of a range may be split around a loop where the whole range could not be";
const ROOM: &str = "what leaves a loop may take less room than was set aside for it";
const SUNK: &str = "where an instruction has gone decides how long others live";
const OUTER_PRODUCTS: &str = "what it computes in front of a loop may be a product of what the loop around counts";
const BACK_COPY: &[&str] = &["AdvancedPhaseBackPropVReg"];
const ON_DEMAND: &str = "divergence is computed when a phase first asks for it, and kept while it is true";
const LIVE_DEAD: &[&str] = &["OriPerformLiveDead"];
const BUNDLE: &[&str] = &["GeneralOptimize"];
const HOIST: &[&str] = &["HoistInvariants"];
const HOIST_KILL: &[&str] = &["HoistInvariants", "DoKillMovement"];
const HOIST_TEX: &[&str] = &["HoistInvariants", "DoTexMovement"];

phases! {
    /// Removes the blocks that control cannot reach. In ptxas it also computes the graph, dominators and loops; here
    /// they are computed when a phase first asks for them.
    AnalyzeControlFlow = at(3, InitialSetup, CopyPropagation.line(23))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::NONE).since(0) => analyze_control_flow::run;
    /// Reports the program as lowered; the first dump point.
    ReportInitialRepresentation = at(9, InitialSetup, Liveness.line(209))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::ALL).since(0)
        .no_work("the program can be dumped before and after every phase");
    /// Removes instructions that are obviously dead after lowering, with block-local liveness.
    EarlyOriSimpleLiveDead = at(10, InitialSetup, Liveness.line(207))
        .needs(Needs::ANYTHING).since(1) => live_dead::simple;
    /// General optimization bundle before the loops: copies, constants, algebra, dead code. The document gives
    /// its number, 13, and elsewhere its name.
    GeneralOptimizeEarly = at(13, EarlyOptimization, CopyPropagation.line(1108))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE).preserves(AnalysisSet::NONE) => general_optimize::counted;
    /// Switch optimization, before branches: chains of comparisons become tables or trees, and small tables
    /// comparisons. Described ahead of the first liveness pass; the name is customary.
    DoSwitchOptFirst = unnumbered(EarlyOptimization, Liveness.line(47))
        .may_go_on(TABLE_BOUNDS).preserves(AnalysisSet::NONE) => switches::run;
    /// Branch optimization: known branches, empty blocks, straight lines, equal tails. Described ahead of the first
    /// liveness pass; the name is customary.
    OriBranchOpt = unnumbered(EarlyOptimization, Liveness.line(47))
        .may_go_on(BRANCH_ROUNDS).preserves(AnalysisSet::NONE) => branches::run;
    /// Global liveness and dead code, after branches and switches: what dead branches used.
    OriPerformLiveDeadFirst = at(16, EarlyOptimization, Liveness.line(32))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::NONE).since(1).tokens(LIVE_DEAD) => live_dead::run;
    /// Brings loops into canonical form, one preheader and one latch, where ranges would be split at their borders: in
    /// functions in which more words are live than a thread has registers.
    OriLoopSimplification = at(18, EarlyOptimization, Liveness.line(282))
        .preserves(AnalysisSet::NONE) => loop_simplify::run;
    /// Splits live ranges at loop boundaries and across phi and copy chains, where more words are live than a thread
    /// has registers.
    OriSplitLiveRanges = at(19, EarlyOptimization, Liveness.line(280)) => split_ranges::run;
    /// Strength reduction of induction expressions: products of what a loop counts become counters of their own. nvcc
    /// -O3 leaves no product of 64 bits that is one; its cicc at -O1 does.
    /// Described ahead of the second liveness pass; the name is customary.
    OriStrengthReduce = unnumbered(EarlyOptimization, Liveness.line(48))
        .may_go_on(OUTER_PRODUCTS) => strength_reduce::run;
    /// Loop unrolling: loops whose rounds are counted become as many copies of their bodies. nvcc -O3 has unrolled
    /// those that get no larger by it; its cicc at -O1 has not. Described ahead of the second liveness pass; the name
    /// is customary.
    OriLoopUnrolling = unnumbered(EarlyOptimization, Liveness.line(48))
        .may_go_on(BRANCH_ROUNDS).preserves(AnalysisSet::NONE) => unroll::run;
    /// Software pipelining: a round of a loop fetches what the next one reads, where that costs no instruction. It does
    /// nothing unless the knob PipelineLoads is above 0, since ptxas fetches ahead itself. Described ahead of the
    /// second liveness pass; the name is customary.
    OriPipelining = unnumbered(EarlyOptimization, Liveness.line(48))
        .may_go_on(LOADS_A_RUN) => pipelining::run;
    /// Marks constant-bank reads that may be speculated.
    AnalyzeUniformsForSpeculation = at(27, EarlyOptimization, CopyPropagation.line(553)).preserves(AnalysisSet::ALL)
        .no_work("a phase that speculates asks of each load itself whether it reads a parameter of the kernel");
    /// General optimization bundle after the loops. As a token this name addresses all six bundles; its number
    /// addresses it alone. The documents number it 29; the name is the customary one.
    GeneralOptimize = at(29, EarlyOptimization, CopyPropagation.line(1108))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE).preserves(AnalysisSet::NONE) => general_optimize::counted;
    /// Replaces linear recurrences: what a loop counts becomes what it counts already, and what it has counted a
    /// number. The documents mention its wrapper; the name of the phase is customary.
    OriLinearReplacement = unnumbered(EarlyOptimization, InstructionMovement.line(215)) => linear_replacement::run;
    /// Global liveness and dead code, after the loop phases: dead induction variables, leftovers of unrolling.
    OriPerformLiveDeadSecond = at(33, MidLevelOptimization, Liveness.line(34))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::NONE).since(1).tokens(LIVE_DEAD) => live_dead::run;
    /// Loop-invariant code motion, first of four: out of innermost loops. The documents give only its binary slot.
    OriHoistInvariantsEarly = unnumbered(MidLevelOptimization, InstructionMovement.line(206)).binary(46)
        .preserves(AnalysisSet::NONE).may_go_on(ROOM) => hoist_invariants::early;
    /// Vectorizes memory accesses before predication: neighbours become one of 64 or 128 bits, where the address is
    /// known to be aligned or the variable can be. The documents give only its binary slot.
    Vectorization = unnumbered(MidLevelOptimization, InstructionMovement.line(204)).binary(47)
        => vectorization::early;
    /// General optimization bundle at mid level. It ends when a round gains too little. The documents number it 37;
    /// the name is the customary one.
    GeneralOptimizeMid = at(37, MidLevelOptimization, CopyPropagation.line(1108))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE)
        .may_go_on(LIMITED).preserves(AnalysisSet::NONE) => general_optimize::weighed;
    /// Expands mid-level operations. Described as preceding value numbering; the name is customary.
    MidExpansion = unnumbered(MidLevelOptimization, CopyPropagation.line(17)).preserves(AnalysisSet::NONE).since(0)
        .no_work("at the virtual level every operation is one of PTX that the target has");
    /// General optimization bundle after mid-level expansion.
    GeneralOptimizeMid2 = at(46, MidLevelOptimization, CopyPropagation.line(1162))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE).preserves(AnalysisSet::NONE) => general_optimize::unlimited;
    /// Enforces the calling convention on arguments; may insert copies.
    EnforceArgumentRestrictions = at(48, MidLevelOptimization, CopyPropagation.line(1166)).since(0)
        .no_work("arguments are variables at the virtual level, which any operand can fill");
    /// Global value numbering and common subexpressions along the dominator tree. No document gives its level.
    GvnCse = at(49, MidLevelOptimization, CopyPropagation.line(47)) => commoning::gvn::run;
    /// Reassociates expressions into a canonical order, then commons what became equal. It asks for a level above
    /// O1: the query that its page calls a function count is the level query of the movement page.
    OriReassociateAndCommon = at(50, MidLevelOptimization, CopyPropagation.line(562))
        .may_go_on(ROUNDS) => reassociate::run;
    /// Replaces computations by loads from constant banks.
    ExtractShaderConstsFinal = at(51, MidLevelOptimization, CopyPropagation.line(1178))
        .no_work("what it extracts a graphics driver computes; the driver of a compute kernel computes nothing");
    /// Classifies registers as uniform or varying, first of two. The documents number OriPropagateVarying 53 and 70.
    OriPropagateVaryingFirst = at(53, MidLevelOptimization, CopyPropagation.line(553)).preserves(AnalysisSet::ALL)
        .no_work(ON_DEMAND);
    /// Expands operations that the target lacks. The documents give a binary slot and its place before the third
    /// liveness pass; the name is customary.
    LateExpansion = unnumbered(LateOptimization, Liveness.line(49)).binary(90).preserves(AnalysisSet::NONE).since(0)
        .no_work("at the virtual level every operation is one of PTX that the target has");
    /// Hoists instructions common to both arms of a branch. The documents number it 56 beside the knob
    /// SpeculativeHoistCommonInsts; the name is customary.
    SpeculativeHoistComInsts = at(56, LateOptimization, CopyPropagation.line(1156)) => hoist_common::run;
    /// General optimization bundle after expansion. It ends when a round gains too little.
    GeneralOptimizeLate = at(58, LateOptimization, CopyPropagation.line(1181))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE)
        .may_go_on(LIMITED).preserves(AnalysisSet::NONE) => general_optimize::weighed_late;
    /// Loop fusion: two loops that run one behind the other, equally often, become one. Described ahead of the third
    /// liveness pass; the name is customary.
    OriLoopFusion = unnumbered(LateOptimization, Liveness.line(49))
        .may_go_on(BRANCH_ROUNDS).preserves(AnalysisSet::NONE) => loop_fusion::run;
    /// Vertex, tessellation and geometry expansion; compute kernels have none. Described ahead of the third
    /// liveness pass; the name is customary.
    DoVTGMultiViewExpansion = unnumbered(LateOptimization, Liveness.line(49)).preserves(AnalysisSet::NONE).since(0)
        .no_work("PTX has no such stages");
    /// Global liveness and dead code, after fusion and expansion.
    OriPerformLiveDeadThird = at(61, LateOptimization, Liveness.line(35))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::NONE).since(1).tokens(LIVE_DEAD) => live_dead::run;
    /// If-conversion: short branches become guarded instructions.
    OriDoPredication = at(63, LateOptimization, CopyPropagation.line(1184))
        .may_go_on(BRANCH_ROUNDS).preserves(AnalysisSet::NONE) => predication::run;
    /// Vectorizes memory accesses after predication, those under one guard too. The documents give only its binary
    /// slot.
    LateVectorization = unnumbered(LateOptimization, InstructionMovement.line(204)).binary(85)
        => vectorization::late;
    /// Commoning, first of two that share a function. The documents give only a binary slot, 65, and no page
    /// describes it; it is beside the late instance.
    OriCommoning = unnumbered(LateOptimization, InstructionMovement.line(205)).binary(65) => commoning::late::run;
    /// Commons what predication made adjacent. It asks for a level above O1.
    LateOriCommoning = at(64, LateOptimization, CopyPropagation.line(656)).binary(86) => commoning::late::run;
    /// General optimization bundle after predication, the last one.
    GeneralOptimizeLate2 = at(65, LateOptimization, CopyPropagation.line(1192))
        .needs(Needs::ANYTHING).since(1).tokens(BUNDLE)
        .preserves(AnalysisSet::NONE) => general_optimize::unlimited_late;
    /// Loop-invariant code motion, second of four, whose result the movements reuse. One page gives it the binary
    /// slots 76 and 88; 76 is the one that fits its neighbours.
    OriHoistInvariantsLate = at(66, Movement, InstructionMovement.line(17)).binary(76).tokens(HOIST)
        .preserves(AnalysisSet::NONE).may_go_on(ROOM) => hoist_invariants::late;
    /// Sinks code into the block that uses it. The documents give only its binary slot.
    SinkCodeIntoBlock = unnumbered(Movement, InstructionMovement.line(241)).binary(77)
        .may_go_on(SUNK) => sink::run;
    /// Moves kill markers down to the end of their block (kind 0), and makes them where there are none. Its wrapper
    /// asks for O2, its engine for O3.
    DoKillMovement = at(67, Movement, InstructionMovement.line(37)).binary(78).since(3).tokens(HOIST)
        => movement::kill;
    /// Moves kill markers up, toward the definition, to behind the last read (kind 1). The documents call it "sibling
    /// A" and give it neither name nor number; it runs in the place, and under the name, of DoKillMovement.
    DoKillMovementUpward = unnumbered(Movement, InstructionMovement.line(38)).since(3).tokens(HOIST_KILL)
        => movement::kill_upward;
    /// Moves texture fetches up (kind 2): out of loops, and up blocks as far as registers are left. The page calls the
    /// direction downward in its table and example, and upward in its decision points; up is what hides latency.
    DoTexMovement = at(68, Movement, InstructionMovement.line(39)).binary(79).since(3).tokens(HOIST)
        .may_go_on(ROOM) => movement::texture;
    /// Moves texture fetches up without the cleanup after it (kind 3). The documents call it "sibling B" and give
    /// it neither name nor number; it runs in the place, and under the name, of DoTexMovement, which leaves it nothing.
    DoTexMovementUpward = unnumbered(Movement, InstructionMovement.line(40)).since(3).tokens(HOIST_TEX)
        .may_go_on(ROOM) => movement::texture_raw;
    /// Recomputes cheap values instead of keeping them live, where more words are live than a thread has registers. The
    /// documents give only its binary slot; 69 is the one inventory number left between its neighbours 68 and 70.
    OriDoRemat = at(69, Movement, InstructionMovement.line(247)).binary(80)
        .preserves(AnalysisSet::CONTROL_FLOW) => remat::run;
    /// Classifies registers as uniform or varying, second of two.
    OriPropagateVaryingSecond = at(70, Movement, CopyPropagation.line(553))
        .preserves(AnalysisSet::ALL).no_work(ON_DEMAND);
    /// Loop-invariant code motion, third of four: what rematerialization has computed again in loops, where registers
    /// are left; of the corpus, no kernel has any left there. The documents give only its binary
    /// slot.
    OriHoistInvariantsLate2 = unnumbered(Movement, InstructionMovement.line(206)).binary(92)
        .may_go_on(ROOM) => hoist_invariants::behind_remat;
    /// Optimizes for one architecture, first of two. The page speaks of late peepholes of the architecture among the
    /// phases 66 to 81; the name is customary.
    LateArchOptimizeFirst = unnumbered(Movement, CopyPropagation.line(933))
        .no_work("no operation of the virtual level belongs to one architecture, so the rules of the bundles do");
    /// Optimizes for one architecture, second of two: from Hopper on addresses of shared variables are computed once.
    /// Described ahead of the fourth liveness pass; the name is customary.
    LateArchOptimizeSecond = unnumbered(Movement, Liveness.line(50)) => share_addresses::run;
    /// Hook for a target's backward copy propagation: the definition of a copy's source writes the copy's destination.
    /// Off unless EnablePhases names it.
    AdvancedPhaseBackPropVReg = at(82, Movement, CopyPropagation.line(868))
        .needs(Needs::ANYTHING).may_go_on(BUDGET).off_by_default() => back_copy::run;
    /// Notes that copies have been propagated backward, which relaxes what operands must be. On where the hook is.
    OriBackCopyPropagate = at(83, Movement, CopyPropagation.line(839))
        .needs(Needs::NOT_PHYSICAL).preserves(AnalysisSet::ALL).tokens(BACK_COPY).off_by_default()
        => back_copy::note_progress;
    /// Global liveness and dead code, before registers: what backward copy propagation left. It marks where values end
    /// (kill markers), until SSA form is left.
    OriPerformLiveDeadFourth = at(84, Legalization, Liveness.line(36))
        .needs(Needs::ANYTHING).preserves(AnalysisSet::NONE).since(1).tokens(LIVE_DEAD) => live_dead::marking;
    /// Loop-invariant code motion, fourth of four: what the phases of the architecture have put into loops and reads no
    /// register, such as addresses of variables that a loop alone names. The documents give only its binary slot.
    OriHoistInvariantsLate3 = unnumbered(Legalization, InstructionMovement.line(206)).binary(104)
        .may_go_on(ROOM) => hoist_invariants::fixed;
    /// Computes the attributes of registers. Described as the sequence behind backward copies; the name is customary.
    OriSetRegisterAttr = unnumbered(Legalization, CopyPropagation.line(931)).preserves(AnalysisSet::ALL)
        .no_work("each register has its file and width from the beginning");
    /// Makes operands legal for the target, some by fixed registers. Described as the sequence behind backward copies;
    /// the name is customary.
    LateExpansionUnsupportedOps = unnumbered(Legalization, CopyPropagation.line(937)).preserves(AnalysisSet::NONE)
        .since(0).no_work("at the virtual level every operation is one of PTX that the target has");
    /// Marks the point after which every operand is legal for the target.
    SetAfterLegalization = at(95, Legalization, CopyPropagation.line(964))
        .needs(Needs::MACHINE_SSA).preserves(AnalysisSet::ALL).since(0) => back_copy::note_legal_operands;
    /// The peephole over instructions of the machine, for every SM: rules by priority, constants as operands, results
    /// that are there already. The page has dispatchers in the place of names; the name is customary.
    PeepholeGeneric = unnumbered(Allocation, Peephole.line(40)).needs(Needs::MACHINE).since(0)
        => peephole::generic;
    /// The same once more with the rules of one family of SMs, `sm_120` (dispatcher sub_143C440).
    PeepholeSm = unnumbered(Allocation, Peephole.line(43)).needs(Needs::MACHINE).since(0) => peephole::of_sm;
    /// Schedules instructions before allocation, with liveness of its own and by pressure. The documents give neither
    /// number nor name; the name is customary.
    AdvancedPhasePreSched = unnumbered(Allocation, Liveness.line(487)).needs(Needs::MACHINE_SSA);
    /// Register allocation. The documents number it 101; the name is the customary one.
    AdvancedPhaseAllocReg = at(101, Allocation, CopyPropagation.line(935)).needs(Needs::MACHINE_SSA).since(0);
    /// Schedules instructions after allocation, with live sets of each register class. The documents give neither
    /// number nor name; the name is customary.
    AdvancedPhasePostSched = unnumbered(Allocation, Liveness.line(508)).needs(Needs::MACHINE);
    /// The peephole over scheduled code: results are there no later than before (dispatcher sub_198BCD0).
    PeepholePostSchedule = unnumbered(Allocation, Peephole.line(49)).needs(Needs::MACHINE).since(0)
        => peephole::post_schedule;
    /// Splits live ranges whose pressure is still too high once everything else has run: as the early phase does, and
    /// in blocks. It does nothing unless the knob SplitHighPressureLiveRanges is on.
    OriSplitHighPressureLiveRanges = at(138, LateCleanup, Liveness.line(423))
        .may_go_on(PARTS) => split_ranges::run_late;
}

impl Phase {
    /// The row of this phase.
    pub fn row(self) -> &'static Row {
        &PHASES[self as usize]
    }

    /// The phase with this inventory number.
    pub fn numbered(number: u16) -> Option<Phase> {
        PHASES.iter().zip(Phase::ALL).find(|(row, _)| row.number == Some(number)).map(|(_, phase)| *phase)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().name)
    }
}

/// A named step inside one or more phases, which a token can address without addressing the phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubPassRow {
    /// Its name, which is its token.
    pub name: &'static str,
    /// A token of every phase that contains it.
    pub inside: &'static str,
    /// The line of the documents that it comes from.
    pub source: Source,
    /// What it does.
    pub doc: &'static str,
}

/// Every named sub-pass.
pub static SUB_PASSES: &[SubPassRow] = &[SubPassRow {
    name: "OriCopyProp",
    inside: "GeneralOptimize",
    source: CopyPropagation.line(987),
    doc: "Forward copy propagation: uses of a copy's destination read its source.",
}];

/// What a token on the command line addresses.
#[derive(Clone, Debug)]
pub enum Selection {
    /// Whole phases, in execution order; never empty.
    Phases(Vec<&'static Row>),
    /// One step, in every phase that contains it.
    SubPass(&'static SubPassRow),
}

/// A token that addresses nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no phase is called `{token}`{}", suggest::hint(.suggestions))]
pub struct UnknownPhase {
    /// What was asked for.
    pub token: String,
    /// Names and tokens that are near it, nearest first.
    pub suggestions: Vec<&'static str>,
}

/// The rows of both tables, the passes of cicc first.
pub fn all_rows() -> impl Iterator<Item = &'static Row> {
    PASSES.iter().chain(PHASES)
}

/// What `token` addresses. A token is a phase's name, a shared name such as `HoistInvariants`, a sub-pass, or an
/// inventory number; case is ignored.
///
/// Unlike ptxas, where `DoTexMovement` disables nothing because the engine looks up only `HoistInvariants`, the
/// name of a movement addresses that movement: bisection has to be able to turn off one phase.
pub fn select(token: &str) -> Result<Selection, UnknownPhase> {
    let unknown = || UnknownPhase { token: token.to_owned(), suggestions: suggest::near(token, tokens()) };
    addressed(token).cloned().ok_or_else(unknown)
}

/// Whether `token` addresses anything. Unlike [`select`] it looks for no near names, which takes longer than most
/// phases do.
pub fn is_token(token: &str) -> bool {
    addressed(token).is_some()
}

/// Whether `token` addresses a step inside phases.
pub fn is_sub_pass(token: &str) -> bool {
    matches!(addressed(token), Some(Selection::SubPass(_)))
}

fn addressed(token: &str) -> Option<&'static Selection> {
    let number = token.parse::<u32>().map(|number| number.to_string());
    ADDRESSED.get(&number.unwrap_or_else(|_| token.to_ascii_lowercase()))
}

/// What each token in lower case addresses. A check asks for every token at every step that it takes.
static ADDRESSED: LazyLock<HashMap<String, Selection>> = LazyLock::new(|| {
    let numbers = all_rows().filter_map(|row| row.number).map(|number| number.to_string());
    let keys = tokens().map(str::to_ascii_lowercase).chain(numbers);
    let selection = |key: &str| match SUB_PASSES.iter().find(|row| row.name.eq_ignore_ascii_case(key)) {
        Some(sub_pass) => Selection::SubPass(sub_pass),
        None => Selection::Phases(all_rows().filter(|row| row.answers_to(key)).collect()),
    };
    keys.map(|key| (key.clone(), selection(&key))).collect()
});

/// The phases that `token` touches, in execution order: those it addresses, or for a sub-pass those that contain it.
pub fn rows_for_token(token: &str) -> Result<Vec<&'static Row>, UnknownPhase> {
    match select(token)? {
        Selection::Phases(rows) => Ok(rows),
        Selection::SubPass(sub_pass) => rows_for_token(sub_pass.inside),
    }
}

/// Every name and token, each once, names first.
pub fn tokens() -> impl Iterator<Item = &'static str> {
    let names = all_rows().map(|r| r.name);
    let mut shared: Vec<&'static str> =
        all_rows().flat_map(|r| r.tokens).copied().filter(|t| all_rows().all(|r| r.name != *t)).collect();
    shared.sort_unstable();
    shared.dedup();
    names.chain(shared).chain(SUB_PASSES.iter().map(|s| s.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_pass::pass::COLUMN_TITLES;

    fn names(token: &str) -> Vec<&'static str> {
        let rows = rows_for_token(token).expect("the token is known");
        rows.iter().map(|r| r.name).collect()
    }

    #[test]
    fn a_phase_finds_its_own_row() {
        for (row, phase) in PHASES.iter().zip(Phase::ALL) {
            assert!(std::ptr::eq(phase.row(), row));
            assert_eq!((phase.to_string().as_str(), format!("{phase:?}").as_str()), (row.name, row.name));
        }
    }

    #[test]
    fn numbers_rise_along_the_table() {
        let numbers: Vec<u16> = PHASES.iter().filter_map(|r| r.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert!(numbers.iter().all(|&n| n <= 158));
    }

    #[test]
    fn stages_follow_one_another() {
        assert!(PHASES.is_sorted_by_key(|r| r.stage));
    }

    #[test]
    fn names_are_unique_whatever_the_case() {
        let mut all: Vec<String> = tokens().map(str::to_ascii_lowercase).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn rows_have_a_doc_and_a_known_level() {
        for row in PHASES {
            assert!(row.run.as_ref().is_none_or(|run| run.unit() == row.unit), "{}", row.name);
            assert!(row.doc.ends_with('.'), "{}: {}", row.name, row.doc);
            assert!(row.min_opt_level <= 3);
        }
    }

    #[test]
    fn rows_name_the_line_that_they_come_from() {
        for row in all_rows() {
            assert!(row.source.is_some_and(|source| source.line > 0), "{}", row.name);
        }
        assert_eq!(Phase::OriPerformLiveDeadFirst.row().document(), "liveness-and-dce:32");
        assert_eq!(Row::new("DropStores", Unit::Function, None).document(), "-");
    }

    #[test]
    fn numbered_phases_are_those_of_the_documents() {
        let given: [(u16, &str); 32] = [
            (3, "AnalyzeControlFlow"),
            (9, "ReportInitialRepresentation"),
            (10, "EarlyOriSimpleLiveDead"),
            (13, "GeneralOptimizeEarly"),
            (16, "OriPerformLiveDeadFirst"),
            (18, "OriLoopSimplification"),
            (19, "OriSplitLiveRanges"),
            (27, "AnalyzeUniformsForSpeculation"),
            (29, "GeneralOptimize"),
            (33, "OriPerformLiveDeadSecond"),
            (37, "GeneralOptimizeMid"),
            (46, "GeneralOptimizeMid2"),
            (48, "EnforceArgumentRestrictions"),
            (49, "GvnCse"),
            (50, "OriReassociateAndCommon"),
            (51, "ExtractShaderConstsFinal"),
            (53, "OriPropagateVaryingFirst"),
            (58, "GeneralOptimizeLate"),
            (61, "OriPerformLiveDeadThird"),
            (63, "OriDoPredication"),
            (64, "LateOriCommoning"),
            (65, "GeneralOptimizeLate2"),
            (66, "OriHoistInvariantsLate"),
            (67, "DoKillMovement"),
            (68, "DoTexMovement"),
            (70, "OriPropagateVaryingSecond"),
            (82, "AdvancedPhaseBackPropVReg"),
            (83, "OriBackCopyPropagate"),
            (84, "OriPerformLiveDeadFourth"),
            (95, "SetAfterLegalization"),
            (101, "AdvancedPhaseAllocReg"),
            (138, "OriSplitHighPressureLiveRanges"),
        ];
        for (number, name) in given {
            assert_eq!(names(&number.to_string()), [name]);
            assert_eq!(Phase::numbered(number).map(|p| p.row().name), Some(name));
        }
        assert_eq!(Phase::numbered(78), None, "78 is a binary slot only");
    }

    #[test]
    fn only_the_backward_copy_phases_are_off_by_default() {
        let off: Vec<_> = PHASES.iter().filter(|r| r.no_op_by_default).map(|r| r.name).collect();
        assert_eq!(off, ["AdvancedPhaseBackPropVReg", "OriBackCopyPropagate"]);
    }

    #[test]
    fn hoist_invariants_addresses_the_late_hoist_and_four_movements() {
        let five = [
            "OriHoistInvariantsLate",
            "DoKillMovement",
            "DoKillMovementUpward",
            "DoTexMovement",
            "DoTexMovementUpward",
        ];
        assert_eq!(names("HoistInvariants"), five);
        assert_eq!(names("hoistinvariants"), five);
        assert_eq!(names("DoTexMovement"), five[3..]);
        assert_eq!(names("DoTexMovementUpward"), five[4..]);
    }

    #[test]
    fn movements_need_o3() {
        for row in rows_for_token("HoistInvariants").expect("known") {
            let level = if row.number == Some(66) { 2 } else { 3 };
            assert_eq!(row.min_opt_level, level, "{}", row.name);
        }
    }

    #[test]
    fn shared_names_address_every_instance() {
        let numbers = |token: &str| -> Vec<Option<u16>> {
            let rows = rows_for_token(token).expect("known");
            rows.iter().map(|r| r.number).collect()
        };
        let four = [16, 33, 61, 84].map(Some);
        let six = [13, 29, 37, 46, 58, 65].map(Some);
        assert_eq!(numbers("OriPerformLiveDead"), four);
        assert_eq!(numbers("GeneralOptimize"), six);
        assert_eq!(numbers("29"), [Some(29)]);
        assert_eq!(numbers("oricopyprop"), six);
    }

    #[test]
    fn a_sub_pass_is_not_its_phases() {
        let selection = select("OriCopyProp").expect("known");
        assert!(matches!(selection, Selection::SubPass(s) if s.name == "OriCopyProp"));
        assert!(matches!(select("GvnCse"), Ok(Selection::Phases(rows)) if rows.len() == 1));
    }

    #[test]
    fn an_unknown_token_is_answered_with_near_ones() {
        let error = rows_for_token("GvnCsee").expect_err("misspelt");
        assert_eq!(error.suggestions, ["GvnCse", "gvn"]);
        assert_eq!(error.to_string(), "no phase is called `GvnCsee` (did you mean GvnCse, gvn?)");
        assert!(select("HoistInvariant").is_err_and(|e| e.suggestions[0] == "HoistInvariants"));
        assert!(select("").is_err());
        assert!(select("78").is_err());
    }

    #[test]
    fn columns_are_complete() {
        let cells = Phase::OriBackCopyPropagate.row().columns();
        assert_eq!(cells.len(), COLUMN_TITLES.len());
        assert_eq!(cells[..6], ["83", "OriBackCopyPropagate", "movement", "built", "O2", "off"]);
        assert_eq!(cells[8], "copy-propagation-and-cse:839");
        assert_eq!(Phase::SinkCodeIntoBlock.row().columns()[0], "-");
    }
}
