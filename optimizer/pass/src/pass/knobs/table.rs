//! THE knob table: one row for every knob that `spec/` names or gives an index for.
//!
//! Where a document states no default, the row's doc says which was chosen: budgets are unlimited, gates open, and
//! a switch has the value under which the phase does what its page describes. Where a document gives only an index,
//! the name is Oriole's own and the doc says so.

use std::fmt;

use super::value::Kind;
use crate::pass::{Page, Source};
use Kind::{Flag, FunctionGate, InstructionGate, Limit, Number, Real, Text};
use Page::{CopyPropagation, InstructionMovement, Liveness, PassPipeline, Peephole};

/// One knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnobRow {
    /// The knob itself; `knob.row()` is this row.
    pub knob: Knob,
    /// Its name in any listing.
    pub name: &'static str,
    /// Its index in ptxas, where a document gives it. Two rows may share one where the documents query it twice.
    pub index: Option<u16>,
    /// What it holds, with its default.
    pub kind: Kind,
    /// The line of a document that names it, gives its index, or describes the phase that asks for it.
    pub source: Source,
    /// Why nothing asks it, where nothing does.
    pub unasked: Option<&'static str>,
    /// What it controls, whose choice the default is, and whose choice the name.
    pub doc: &'static str,
}

impl KnobRow {
    /// The name as ptxas stores it.
    pub fn rot13(&self) -> String {
        rot13(self.name)
    }

    pub(super) fn answers_to(&self, key: &str) -> bool {
        self.name.eq_ignore_ascii_case(key) || self.rot13().eq_ignore_ascii_case(key)
    }
}

/// Text with each ASCII letter moved half the alphabet on; applying it twice changes nothing.
pub fn rot13(text: &str) -> String {
    let turn = |c: char, base: u8| char::from(base + (c as u8 - base + 13) % 26);
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            _ => c,
        })
        .collect()
}

const UNLIMITED: Kind = Limit(None);
const ON: Kind = Flag(true);
const OFF: Kind = Flag(false);

const fn number(default: i64, min: i64, max: i64) -> Kind {
    Number { default, min, max }
}

macro_rules! knobs {
    ($($(#[doc = $doc:literal])+ $name:ident $([$index:literal])? = $kind:expr, $source:expr
        $(, unasked $why:literal)?;)+) => {
        /// Every knob.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Knob {
            $($(#[doc = $doc])+ $name,)+
        }

        /// The knob table, grouped by document.
        pub static KNOBS: &[KnobRow] = &[
            $(KnobRow {
                knob: Knob::$name,
                name: stringify!($name),
                index: knobs!(@index $($index)?),
                kind: $kind,
                source: $source,
                unasked: knobs!(@unasked $($why)?),
                doc: concat!($($doc),+).trim_ascii(),
            },)+
        ];
    };
    (@index $index:literal) => { Some($index) };
    (@index) => { None };
    (@unasked $why:literal) => { Some($why) };
    (@unasked) => { None };
}

knobs! {
    /// Master switch of GvnCse. On: the page lists the phase as enabled.
    EnableGvnCse = ON, CopyPropagation.line(1133);
    /// How far GvnCse looks: 0 not at all, 1 one block, 2 up the dominator tree, 3 to 6 over all values, numbered
    /// first, of which 5 stays in extended blocks. In ptxas the phase does nothing while this is unset; 2, which the
    /// page calls standard, was chosen.
    EnableGvnCseMode[402] = number(2, 0, 6), CopyPropagation.line(1134);
    /// Which instructions GvnCse may replace. The page describes an enabling gate while its pseudocode stops at a
    /// true answer; open means enabled here.
    EnableGvnCsePerInstr[257] = InstructionGate, CopyPropagation.line(1135);
    /// Skips the extended-block pre-pass of GvnCse on Hopper and later. The page gives only the index; the name is
    /// Oriole's own. Off was chosen.
    GvnCseSkipExtendedBlocks[210] = OFF, CopyPropagation.line(205);
    /// Asks for the extended-block pre-pass of GvnCse on Hopper and later. The page calls it bit 0 of the context
    /// (+1368) and gives no name; the name is Oriole's own. On was chosen.
    GvnCseContextExtendedBlocks = ON, CopyPropagation.line(205);
    /// Keeps GvnCse to the scope of mode 3 in modes 5 and 6, and allows mode 3. The page calls it bit 0 of the context
    /// (+1416) and gives no name; the name is Oriole's own. Off was chosen.
    GvnCseContextScope = OFF, CopyPropagation.line(202);
    /// Master switch of OriReassociateAndCommon. On: the page lists the phase as enabled.
    AllowReassociateCSE = ON, CopyPropagation.line(1136);
    /// Instructions that reassociation processes in one function. Unlimited was chosen.
    ReassociateCSEBudget = UNLIMITED, CopyPropagation.line(1137);
    /// Instructions that local commoning looks back over after reassociation. 1024 was chosen: its tables stay in the
    /// cache, and what is further apart LateOriCommoning finds.
    ReassociateCSEWindow = Limit(Some(1024)), CopyPropagation.line(1138);
    /// Instructions that reassociation passes over first, for debugging. 0 was chosen.
    ReassociateCSESkip = Limit(Some(0)), CopyPropagation.line(1139);
    /// Lets reassociation make 64-bit uniform additions of immediates beyond 32 bits. Off was chosen: no encoding
    /// holds them.
    ReassociateLargeImmInUIADD64 = OFF, CopyPropagation.line(1140);
    /// Rewrites of a*b + a*c into a*(b+c) in one function. Unlimited was chosen.
    DistributeAndReassociateMulBudget = UNLIMITED, CopyPropagation.line(1141);
    /// Runs LateOriCommoning. On: the walker returns at once when this is off, and the page lists the phase as
    /// enabled.
    ForceLateCommoning[487] = ON, CopyPropagation.line(676);
    /// Says that functions are commoned, which LateOriCommoning verifies first. The page gives the place of the value,
    /// +60696, where each knob has 72 bytes, so the index is 843; the name is Oriole's own. On was chosen.
    LateCommoningOfFunctions[843] = ON, CopyPropagation.line(677);
    /// Which instructions LateOriCommoning may replace. The page gives only the index; the name is Oriole's own.
    LateCommoningPerInstr[844] = InstructionGate, CopyPropagation.line(732);
    /// Stops late commoning from following copies. Off was chosen.
    DisableMoveCommoning = OFF, CopyPropagation.line(1143);
    /// Backward propagations in one function. Unlimited was chosen; the page falls back to a scheduler default that
    /// it does not give.
    BackCopyPropBudget[808] = UNLIMITED, CopyPropagation.line(981);
    /// Instructions that one run of OriCopyProp processes. Unlimited was chosen.
    CopyPropBudget = UNLIMITED, CopyPropagation.line(1145);
    /// Copies that one run of OriCopyProp propagates into another block. Unlimited was chosen.
    CopyPropGlobalBudget = UNLIMITED, CopyPropagation.line(1146);
    /// Propagates copies into other blocks whatever the cost. Off was chosen.
    CopyPropForceGlobal = OFF, CopyPropagation.line(1147);
    /// Propagates copies into address operands, and 64-bit sums with a constant into their offsets. On was chosen.
    CopyPropAddr = ON, CopyPropagation.line(1148);
    /// Propagates constant-bank references. On was chosen.
    CopyPropConstantBank = ON, CopyPropagation.line(1149);
    /// Decides by reaching definitions instead of dominance: the bundles propagate copies in virtual form too. Off was
    /// chosen: the page calls it the costlier way.
    CopyPropUseReachingDefs = OFF, CopyPropagation.line(1150);
    /// Propagates copies of registers with a fixed assignment. Off was chosen.
    CopyPropPreAllocReg = OFF, CopyPropagation.line(1151),
        unasked "copies are propagated before registers have places";
    /// Propagates registers alone, and only into operands that are values: no constants, no addresses, no guards. Off
    /// was chosen.
    CopyPropNoWriteNonRR = OFF, CopyPropagation.line(1152);
    /// Propagates a constant that all sources of a phi share. Off was chosen. A phi with one source needs no leave.
    CopyPropNonRegMultiDef = OFF, CopyPropagation.line(1153);
    /// Keeps constant-bank references out of matrix instructions. On was chosen: their operands are registers.
    CopyPropNoMmaCb = ON, CopyPropagation.line(1154),
        unasked "no operand of a matrix instruction may be a constant of a bank, whatever it says";
    /// Propagates copies under complementary predicates in the late bundles. On was chosen.
    LateCopyPropComplPred = ON, CopyPropagation.line(1155);
    /// Asks what branches say of the conditions of selections, of guards and of what else reads a predicate. The page
    /// calls it bits 0 to 2 of the context (+1379) and gives no name; the name is Oriole's own. On was chosen.
    CopyPropSimplifyPredicates = ON, CopyPropagation.line(1058);
    /// Rounds of OriBranchOpt. The documents name the phase alone; the name is Oriole's own. 8 was chosen: a round that
    /// changes nothing ends them.
    BranchOptRounds = Limit(Some(8)), Liveness.line(47);
    /// Instructions that OriBranchOpt copies to thread a branch, its own not counted. The name is Oriole's own. 2 was
    /// chosen: the comparison that decides and one more; with 4, threads execute no less of the corpus, and ptxas makes
    /// more code of it (2026-11-24).
    BranchOptThreadInsts = Limit(Some(2)), Liveness.line(47);
    /// Blocks before a join whose equal ends OriBranchOpt moves into it. The name is Oriole's own. 8 was chosen.
    BranchOptTailBlocks = Limit(Some(8)), Liveness.line(47);
    /// Cases from which on DoSwitchOptFirst makes a branch table of a chain of comparisons. The name is Oriole's own. 4
    /// was chosen: ptxas -O3 for sm_90 makes 31 instructions of a table and 38 of the chain then, 83 and 94 with 16
    /// cases (2026-11-23).
    SwitchOptTableCases = Limit(Some(4)), Liveness.line(47);
    /// Percent of a branch table's entries that must be cases. The name is Oriole's own. 50 was chosen.
    SwitchOptTableDensity = Limit(Some(50)), Liveness.line(47);
    /// Cases from which on DoSwitchOptFirst makes a tree of a chain of comparisons. The name is Oriole's own. 16 was
    /// chosen: ptxas makes half as much code again of a tree as of the chain, and with fewer cases a thread executes
    /// hardly less (2026-11-23).
    SwitchOptTreeCases = Limit(Some(16)), Liveness.line(47);
    /// Stretches of equal targets up to which DoSwitchOptFirst makes comparisons of a branch table. The name is
    /// Oriole's own. 3 was chosen.
    SwitchOptFewTargets = Limit(Some(3)), Liveness.line(47);
    /// By how much a product must cost more than an addition, in half instructions, for OriStrengthReduce to make it a
    /// counter. The documents name the phase alone; the name is Oriole's own. 4 was chosen: products of 64 bits.
    StrengthReduceGain = Limit(Some(4)), Liveness.line(48);
    /// Instructions by which OriLoopUnrolling lets the code of a loop grow. The documents name the phase alone; the
    /// name is Oriole's own. 0 was chosen: loops that go, or are no larger as copies of their bodies.
    UnrollSize = number(0, 0, 1024), Liveness.line(48);
    /// Rounds of a loop that OriLoopUnrolling unrolls. The name is Oriole's own. 16 was chosen.
    UnrollRounds = number(16, 0, 128), Liveness.line(48);
    /// Passes of OriLoopUnrolling over a function, each of which unrolls what is around the loops of the one
    /// before. The name is Oriole's own. 4 was chosen: a pass that changes nothing ends them.
    UnrollPasses = Limit(Some(4)), Liveness.line(48);
    /// Loads of a loop that OriPipelining fetches a round ahead in a run. The documents name the phase alone; the name
    /// is Oriole's own. 0 was chosen: with 2, ptxas -O3 makes 4.8 percent more code of the 15 kernels that have such
    /// loops, since it fetches ahead itself (2026-11-29).
    PipelineLoads = Limit(Some(0)), Liveness.line(48);
    /// Instructions of two loops together up to which OriLoopFusion makes one of them. The documents name the phase
    /// alone; the name is Oriole's own. 256 was chosen.
    LoopFusionSize = Limit(Some(256)), Liveness.line(49);
    /// Passes of OriLoopFusion over a function, each of which fuses what is around the loops of the one before, or
    /// behind them. The name is Oriole's own. 4 was chosen: a pass that changes nothing ends them.
    LoopFusionPasses = Limit(Some(4)), Liveness.line(49);
    /// Whether calls of `.weak` functions are inlined, which a linker may replace: 0 never, 1 in modules that need no
    /// other one, 2 always. The name is Oriole's own, and 1 was chosen.
    InlineWeak = number(1, 0, 2), PassPipeline.line(1229);
    /// Whether memory-space-opt takes 64-bit parameters of kernels for generic addresses of global memory, as CUDA has
    /// them. PTX does not say so. The name is Oriole's own, and off was chosen.
    KernelPointersAreGlobal = OFF, PassPipeline.line(570);
    /// Rounds of OriDoPredication. The documents name the phase alone; the name is Oriole's own. 8 was chosen: a round
    /// that changes nothing ends them.
    PredicationRounds = Limit(Some(8)), CopyPropagation.line(1184);
    /// Issue slots of the arms that OriDoPredication converts where threads of a warp may part. The name is Oriole's
    /// own. 14 was chosen.
    PredicationDivergent = Limit(Some(14)), CopyPropagation.line(1184);
    /// Issue slots of the arms that OriDoPredication converts where a warp goes one way: it then issues those of the
    /// other one too. The name is Oriole's own. 6 was chosen.
    PredicationUniform = Limit(Some(6)), CopyPropagation.line(1184);
    /// Half instructions that threads execute more for selections (one each), combined guards (two or three) and what
    /// is not guarded (two), where OriDoPredication saves a branch or two. The name is Oriole's own. 3 was chosen.
    PredicationOverhead = Limit(Some(3)), CopyPropagation.line(1184);
    /// Words of results that OriDoPredication guards though ptxas then computes them everywhere and selects: those of
    /// pure instructions without an `else` value, and of atomics. The name is Oriole's own. 0 was chosen: with 2, an
    /// address, 23 of 84 kernels get more code from ptxas -O3, `md5` 913 instructions instead of 395 (2026-11-23).
    PredicationPartial = Limit(Some(0)), CopyPropagation.line(1184);
    /// Accesses to memory in the arms that OriDoPredication converts. The name is Oriole's own. 1 was chosen: ptxas -O0
    /// and -O1 branch around each guarded access alone, so with 8 what they make of the corpus is 0.7 and 0.2 percent
    /// larger, and threads execute 0.5 percent less (2026-11-23).
    PredicationAccesses = Limit(Some(1)), CopyPropagation.line(1184);
    /// Runs SpeculativeHoistComInsts. On was chosen.
    SpeculativeHoistCommonInsts = ON, CopyPropagation.line(1156);
    /// Instructions at the beginning of each arm that SpeculativeHoistComInsts looks at. The name is Oriole's own. 32
    /// was chosen.
    SpeculativeHoistWindow = Limit(Some(32)), CopyPropagation.line(1156);
    /// Rounds of the bundles GeneralOptimizeEarly and GeneralOptimize. The page gives only the index; the name is
    /// Oriole's own. Unlimited was chosen: a round that changes nothing ends them.
    GeneralOptimizeIterations[464] = UNLIMITED, CopyPropagation.line(1108);
    /// Gain, as a part of the cost, under which GeneralOptimizeMid and GeneralOptimizeLate stop. The page gives the
    /// index and the value; the name is Oriole's own.
    GeneralOptimizeCostThreshold[474] = Real(0.25), CopyPropagation.line(1108);
    /// Runs the program only when its hash matches. The page mentions SH= in passing; empty matches every program.
    SH = Text, CopyPropagation.line(1266),
        unasked "the page does not say how a program is hashed";
    /// Has OriLoopSimplification act in every function, not only where more words are live than the budget of
    /// OriSplitLiveRanges has. The page names the phase alone; the name is Oriole's own. Off was chosen: a preheader or
    /// latch is a branch more, for which nothing else asks.
    LoopSimplifyEverywhere = OFF, Liveness.line(282);
    /// Runs OriSplitLiveRanges. The page says that the entry is gated and gives only the index; the name is
    /// Oriole's own. On was chosen.
    SplitLiveRanges[456] = ON, Liveness.line(286);
    /// Words of general registers beyond which OriSplitLiveRanges acts. The page calls it the register budget (+1624)
    /// and gives neither name nor value; the name is Oriole's own. Unlimited, which was chosen, leaves it at what a
    /// thread can name, 255, or at `.maxnreg`.
    SplitLiveRangesBudget = UNLIMITED, Liveness.line(606);
    /// Runs OriSplitHighPressureLiveRanges, with the budget of OriSplitLiveRanges. The page names the phase alone; the
    /// name is Oriole's own. Off was chosen: nothing allocates yet, and in printed PTX a split is a copy more.
    SplitHighPressureLiveRanges = OFF, Liveness.line(423);
    /// Instructions that do not touch a value which OriSplitHighPressureLiveRanges splits within a block. The name is
    /// Oriole's own. 8 was chosen: a store and a load with the latency of memory are not worth less.
    SplitHighPressureGap = Limit(Some(8)), Liveness.line(423);
    /// Predicates that are live at once up to which OriHoistInvariantsEarly and OriHoistInvariantsLate let more live
    /// through loops. The page names the phases alone; the name is Oriole's own. 6 was chosen: a thread has seven, and
    /// without a limit ptxas -O1 makes 139 instructions of `sort_radix` instead of 125 (2026-11-23).
    HoistInvariantsPredicates = Limit(Some(6)), InstructionMovement.line(206);
    /// Has LateArchOptimizeSecond compute the address of a shared variable once for all blocks that need it. The page
    /// names the phase alone; the name is Oriole's own. On was chosen.
    ShareAddresses = ON, Liveness.line(50);
    /// Which functions the movement phases may change. The page gives only the index, and queries it twice, here as
    /// a condition; the name is Oriole's own.
    MovementEligibility[381] = FunctionGate, InstructionMovement.line(227);
    /// What the movement phases do in an eligible function: 0 each kind its own movement, 1 upward kill movement
    /// only, 3 stop, others the fallback. The page gives only the index, and queries it twice, here for its value;
    /// the name is Oriole's own. 0, which the page calls the most common, was chosen.
    MovementVariant[381] = number(0, 0, 3), InstructionMovement.line(228);
    /// Functions that have the optimization level that was asked for; those that the module defines behind them have
    /// one less. The page says that a counter throttles the level and gives only the index; the name is Oriole's own.
    /// Unlimited was chosen.
    OptLevelThrottle[499] = UNLIMITED, InstructionMovement.line(29);
    /// Phases and tokens to turn off, separated by commas, like --disable-phases. Empty was chosen.
    DisablePhases = Text, InstructionMovement.line(226);
    /// Phases and tokens to turn on that are off by default, separated by commas: what a target does that brings their
    /// work. The name is Oriole's own. Empty was chosen.
    EnablePhases = Text, CopyPropagation.line(847);
    /// Phases and tokens to run alone, separated by commas. Empty, all of them, was chosen.
    NamedPhases = Text, Liveness.line(40);
    /// Phases and tokens around which the program is dumped, separated by commas, like --dump-ir. Empty was chosen.
    DUMPIR = Text, InstructionMovement.line(252);
    /// Distance from a definition to its use beyond which macro expansion counts a constraint as violated, in
    /// instructions that may name groups of registers: the value is copied then. The page gives the index and the
    /// value, and no unit; the name is Oriole's own. With 0 every value is copied.
    MacroExpansionDistance[183] = Limit(Some(7)), Peephole.line(707);
    /// By how much the weight rises, from one round of allocation to the next, under which a soft constraint is passed
    /// over. The page calls the threshold a knob of OCG and gives neither name, index nor value; the name is Oriole's
    /// own. 2 was chosen: a bank is passed over before a phi. With 0 no round passes over any, and unlimited is without
    /// all.
    SoftConstraintSkip = Limit(Some(2)), Liveness.line(447);
}

impl Knob {
    /// The row of this knob.
    pub fn row(self) -> &'static KnobRow {
        &KNOBS[self as usize]
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().name)
    }
}
