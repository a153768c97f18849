//! THE table of pass options: `NVVMPassOptions` by slot, then the options that are known by name alone.
//!
//! Slots, types and defaults are those of `spec/pass-pipeline.txt` ("Complete Slot-to-Offset Map" and "Complete Option
//! Name Inventory"). Of 221 slots the document describes 94; the others follow from what it says of pairs and widths
//! ([`SLOTS`]), and every offset is computed. An option known by name alone has no documented default: a `do-` switch
//! is on, because the document says that a switch nobody set reads as on; a dump is off; a parameter is empty.
//!
//! Two sentences of the document are refuted by its own numbers. It has two switches at 192 and 193 (line 180), but 114
//! strings and the offset 3904 of slot 193 need a string at 192. It has all numbers between 196 and 207 (line 305), but
//! 9 and 215 are numbers, too.

use crate::pass::{Page, Source};
use Kind::Int;

/// What an option holds, with its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text; absent by default. The document gives every parameter this type, numbers included.
    Text,
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// Its slot in `NVVMPassOptions`, from 1 to 221, where known.
    pub slot: Option<u16>,
    /// Its name, where known.
    pub name: Option<&'static str>,
    /// What it holds, with its default.
    pub kind: Kind,
    /// Whether the slot holds the inverse of what the name says.
    pub inverted: bool,
    /// The option whose inverse the slot holds where that was set and the slot itself was not.
    pub follows: Option<&'static str>,
    /// The line of the document that it comes from: its row of the map or of the inventory, or the guard that asks it.
    pub source: Source,
    /// What it controls.
    pub doc: &'static str,
}

impl OptionRow {
    /// How the option is written: its name, or `slot-61`.
    pub fn key(&self) -> String {
        match (self.name, self.slot) {
            (Some(name), _) => name.to_owned(),
            (None, Some(slot)) => format!("slot-{slot}"),
            (None, None) => String::new(),
        }
    }

    /// Byte offset of the slot.
    pub fn offset(&self) -> Option<u16> {
        self.slot.map(offset_of)
    }

    pub(super) fn answers_to(&self, key: &str) -> bool {
        let slot = key.strip_prefix("slot-").and_then(|s| s.parse().ok());
        self.name == Some(key) || (slot.is_some() && self.slot == slot)
    }
}

const ON: Kind = Kind::Bool(true);
const OFF: Kind = Kind::Bool(false);
const TEXT: Kind = Kind::Text;

/// The slots of `NVVMPassOptions`, from 1.
pub const SLOTS: usize = 221;

/// What a slot stores, which decides how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// 24 bytes.
    String,
    /// 16 bytes. The document knows two writers of switches, of 83 and of 17 slots, and does not say which is whose.
    Switch,
    /// 16 bytes.
    Number,
    /// 28 bytes.
    Pointer,
}

impl Storage {
    /// What a slot stores: even ones are the parameters of the switches behind them, lines 179 and 180.
    pub const fn of(slot: u16) -> Storage {
        match slot {
            1..=6 | 160..=162 => Storage::String,
            181 => Storage::Pointer,
            9 | 197 | 203 | 205 | 207 | 215 => Storage::Number,
            even if even % 2 == 0 => Storage::String,
            _ => Storage::Switch,
        }
    }

    const fn width(self) -> u16 {
        match self {
            Storage::String => 24,
            Storage::Switch | Storage::Number => 16,
            Storage::Pointer => 28,
        }
    }

    /// What listings call it.
    pub const fn name(self) -> &'static str {
        match self {
            Storage::String => "string",
            Storage::Switch => "switch",
            Storage::Number => "number",
            Storage::Pointer => "string pointer",
        }
    }
}

/// The bytes at which the slots begin; the last one is where they end. Guards of pipelines ask for each of them.
static OFFSETS: [u16; SLOTS + 1] = {
    let (mut offsets, mut at) = ([16; SLOTS + 1], 1);
    while at <= SLOTS {
        offsets[at] = (offsets[at - 1] + Storage::of(at as u16).width()).next_multiple_of(8);
        at += 1;
    }
    offsets
};

/// The byte at which a slot begins: behind a header of 16 bytes come those before it, each at a multiple of 8.
pub fn offset_of(slot: u16) -> u16 {
    OFFSETS[usize::from(slot) - 1]
}

/// The slot that begins at a byte.
pub fn slot_at(offset: u16) -> Option<u16> {
    let at = OFFSETS[..SLOTS].binary_search(&offset).ok()?;
    Some(at as u16 + 1)
}

const fn slot(line: u16, slot: u16, name: &'static str, kind: Kind, doc: &'static str) -> OptionRow {
    OptionRow {
        slot: Some(slot),
        name: if name.is_empty() { None } else { Some(name) },
        kind,
        inverted: false,
        follows: None,
        source: Page::PassPipeline.line(line),
        doc,
    }
}

const fn inverse(line: u16, number: u16, name: &'static str, kind: Kind, doc: &'static str) -> OptionRow {
    OptionRow { inverted: true, ..slot(line, number, name, kind, doc) }
}

const fn follows(option: &'static str, row: OptionRow) -> OptionRow {
    OptionRow { follows: Some(option), ..row }
}

const fn named(line: u16, name: &'static str, kind: Kind, doc: &'static str) -> OptionRow {
    let source = Page::PassPipeline.line(line);
    OptionRow { slot: None, name: Some(name), kind, inverted: false, follows: None, source, doc }
}

/// What the document says of slots, by slot. A row begins with its line of the document.
#[rustfmt::skip]
const DESCRIBED: &[OptionRow] = &[
    slot(311, 1, "ftz", TEXT, "Flush-to-zero mode."),
    slot(312, 2, "prec-div", TEXT, "Precise division."),
    slot(313, 3, "prec-sqrt", TEXT, "Precise square root."),
    slot(314, 4, "fmad", TEXT, "Fused multiply-add policy."),
    slot(315, 5, "opt-level", TEXT, "Optimization level."),
    slot(316, 6, "sm-arch", TEXT, "Target SM."),
    slot(317, 7, "", OFF, "Meaning not documented."),
    slot(318, 8, "", TEXT, "Meaning not documented."),
    slot(319, 9, "", Int(1), "Optimization level of code generation."),
    slot(320, 10, "", TEXT, "Meaning not documented."),
    slot(321, 11, "", OFF, "Meaning not documented."),
    slot(322, 13, "no-dce", OFF, "Disables DCE."),
    slot(323, 15, "no-tailcallelim", OFF, "Disables TailCallElim."),
    slot(324, 17, "no-late-opt", OFF, "Disables NVVMLateOpt."),
    slot(325, 19, "no-inline-a", ON, "Inlining, variant A. The document reads it as a switch that disables, and lists it among those on by default."),
    slot(326, 21, "no-inline-b", OFF, "Disables inlining, variant B: AlwaysInliner."),
    slot(327, 23, "no-inline-c", OFF, "Disables inlining, variant C."),
    slot(328, 25, "", ON, "NVIDIA pass A. The document reads it as a switch that disables, and lists it among those on by default."),
    slot(329, 27, "", OFF, "Disables NVIDIA pass B."),
    slot(330, 29, "no-nvvm-verify", OFF, "Disables NVVMVerifier."),
    slot(331, 33, "no-func-attrs", OFF, "Disables FunctionAttrs."),
    slot(332, 35, "no-sccp", OFF, "Disables SCCP."),
    slot(333, 37, "no-dse", OFF, "Disables DSE."),
    slot(334, 43, "no-nvvm-reflect", OFF, "Disables NVVMReflect."),
    slot(335, 45, "no-ipconst", OFF, "Disables IPConstProp."),
    slot(336, 47, "no-simplifycfg", OFF, "Disables SimplifyCFG."),
    slot(337, 49, "no-instcombine", OFF, "Disables InstCombine."),
    slot(338, 51, "no-sink", OFF, "Disables Sink, on MemorySSA."),
    slot(339, 53, "no-dump", OFF, "Disables PrintModulePass."),
    slot(340, 55, "no-predopt", OFF, "Disables NVVMPredicateOpt."),
    slot(341, 57, "no-loopindexsplit", OFF, "Disables LoopIndexSplit."),
    slot(342, 59, "no-simplifycfg-b", OFF, "Disables SimplifyCFG variant B."),
    follows("do-licm", slot(343, 61, "", OFF, "Disables LICM: the inverse of do-licm, which has slot 143 as well, and is set with it.")),
    slot(344, 63, "no-reassoc", OFF, "Disables Reassociate."),
    slot(345, 65, "no-adce-a", OFF, "Disables ADCE variant."),
    slot(346, 67, "no-loopunroll", OFF, "Disables LoopUnroll."),
    slot(347, 69, "no-sroa", OFF, "Disables SROA."),
    slot(348, 71, "no-earlycse", OFF, "Disables EarlyCSE."),
    slot(349, 73, "no-adce-b", OFF, "Disables ADCE variant B."),
    slot(350, 75, "no-loopsimplify", OFF, "Disables LoopSimplify."),
    slot(581, 81, "", OFF, "Disables NVVMWarpShuffle. Known from its guard alone."),
    slot(351, 83, "", OFF, "Disables an NVIDIA pass, also called LoopStrengthReduce."),
    inverse(352, 87, "do-ip-msp", ON, "Memory space propagation between procedures. The slot holds the inverse."),
    slot(353, 91, "no-adce-c", OFF, "Disables ADCE."),
    slot(354, 93, "", ON, "NVVMReduction, parameter A."),
    slot(355, 95, "", ON, "NVVMReduction, parameter B."),
    slot(356, 97, "no-constmerge", OFF, "Disables ConstantMerge."),
    slot(357, 99, "no-intrin-lower", OFF, "Disables NVVMIntrinsicLowering."),
    slot(358, 101, "no-memcpyopt", OFF, "Disables MemCpyOpt."),
    slot(580, 103, "", OFF, "Disables NVVMBranchDist, variant A. Known from its guard alone."),
    slot(359, 105, "no-branchdist-b", OFF, "Disables NVVMBranchDist B."),
    slot(528, 107, "", OFF, "Disables the NVVMPredicateOpt variant. Known from its guard alone."),
    slot(360, 109, "no-generic2nvvm", OFF, "Disables GenericToNVVM."),
    slot(579, 111, "", OFF, "Disables NVVMLowerAlloca, variant A. Known from its guard alone."),
    slot(361, 113, "no-loweralloca-b", OFF, "Disables NVVMLowerAlloca B."),
    inverse(362, 115, "do-remat", ON, "NVVMRematerialization. The slot holds the inverse."),
    slot(363, 117, "", ON, "NVVMUnreachableBlockElim. Its guard skips the pass when this is set, and the document lists it among those on by default."),
    slot(582, 119, "", OFF, "Disables NVVMReduction. Known from its guard alone."),
    slot(364, 121, "no-sinking2", OFF, "Disables NVVMSinking2."),
    slot(365, 127, "no-genericaddropt", OFF, "Disables NVVMGenericAddrOpt."),
    slot(366, 129, "no-irverify", OFF, "Disables NVVMIRVerification."),
    slot(367, 131, "no-loopopt", OFF, "Disables NVVMLoopOpt."),
    slot(368, 133, "no-memspaceopt-b", OFF, "Disables MemorySpaceOpt in tiers 1 to 3."),
    slot(369, 135, "no-instsimplify", OFF, "Disables InstructionSimplify."),
    slot(870, 139, "", OFF, "Disables late CFG cleanup, variant A: BreakCriticalEdges. Known from its guard alone."),
    slot(370, 141, "", ON, "Enables ADCE."),
    slot(371, 143, "do-licm", ON, "Enables LICM."),
    slot(868, 145, "", OFF, "Parameter of NVVMLowerBarriers. Known from its guard alone."),
    slot(372, 149, "", OFF, "Runs DeadArgElimination once more."),
    slot(373, 151, "", ON, "Enables CorrelatedValuePropagation."),
    slot(559, 153, "", OFF, "Enables the NVIDIA loop pass. Known from its guard alone."),
    slot(374, 155, "", ON, "Address-space optimization."),
    slot(375, 157, "", ON, "Enables the dump-* options."),
    slot(376, 159, "", ON, "Enables the advanced group: IPConstPropagation, NVVMReflect, SCCP and others."),
    slot(78, 163, "", OFF, "Takes threads from the jobserver of make. Known from its use alone."),
    slot(377, 165, "", ON, "Enables warp shuffle, reduction and sinking, which depend on the SM."),
    slot(378, 173, "", OFF, "Enables barrier optimization."),
    slot(379, 175, "", OFF, "Enables tier 1."),
    slot(380, 177, "", OFF, "Enables tier 2."),
    slot(381, 179, "", OFF, "Enables tier 3."),
    slot(382, 181, "lang", TEXT, "Language of the input: ptx, mid or default, which is also spelt idn. The document gives no name."),
    slot(383, 183, "", OFF, "Late optimization, address-space mode."),
    slot(384, 193, "", OFF, "Verifies after each plugin pass."),
    slot(385, 195, "", OFF, "Names blocks F%d_B%d."),
    slot(386, 197, "", Int(20), "A limit, such as an unroll count: as many rounds as LoopUnroll makes one, 8 at most."),
    slot(87, 203, "", Int(-1), "Parts to split a module into for compilation, where it is not -1. The document splits where it is negative, and gives -1 as the default (line 387), so -1 is what nobody asked for."),
    slot(388, 205, "", Int(-1), "Unlimited or automatic."),
    slot(389, 207, "", Int(-1), "Unlimited or automatic."),
    slot(390, 209, "", OFF, "Master switch of optimization, tier 0."),
    slot(391, 211, "", ON, "Meaning not documented."),
    slot(392, 213, "", OFF, "Device code, separate compilation."),
    slot(393, 215, "", Int(0), "A counter, disabled."),
    slot(394, 217, "", OFF, "Fast compilation that bypasses the LLVM pipeline."),
    slot(395, 219, "", ON, "Meaning not documented."),
    slot(396, 221, "", OFF, "Disables late CFG cleanup, variant B."),
];

/// The options without a known slot: switches, parameters, dumps.
#[rustfmt::skip]
const NAMED: &[OptionRow] = &[
    named(406, "do-clone-for-ip-msp", ON, "Enables function cloning for IPMSP."),
    named(407, "do-cssa", ON, "Enables Conventional SSA construction."),
    named(408, "do-scev-cgp", ON, "Enables SCEV-based CodeGenPrepare."),
    named(409, "do-function-scev-cgp", ON, "Enables function-level SCEV-CGP."),
    named(410, "do-scev-cgp-aggresively", ON, "Aggressive SCEV-CGP mode; the name is spelt so."),
    named(411, "do-base-address-strength-reduce", ON, "Enables base address strength reduction."),
    named(412, "do-base-address-strength-reduce-chain", ON, "Enables chained base address SR."),
    named(413, "do-comdat-renaming", ON, "Enables COMDAT group renaming."),
    named(414, "do-counter-promotion", ON, "Enables counter promotion."),
    named(415, "do-lsr-64-bit", ON, "Enables 64-bit loop strength reduction."),
    named(416, "do-sign-ext-expand", ON, "Enables sign extension expansion."),
    named(417, "do-sign-ext-simplify", ON, "Enables sign extension simplification."),
    named(421, "remat-for-occ", TEXT, "Rematerialization occupancy target."),
    named(422, "remat-gep-cost", TEXT, "GEP rematerialization cost."),
    named(423, "remat-ignore-single-cost", TEXT, "Skips single-use cost analysis."),
    named(424, "remat-lli-factor", TEXT, "Live-interval factor."),
    named(425, "remat-load-param", TEXT, "Parameter load remat policy."),
    named(426, "remat-loop-trip", TEXT, "Loop trip count for remat decisions."),
    named(427, "remat-max-live-limit", TEXT, "Maximum live variable count."),
    named(428, "remat-maxreg-ceiling", TEXT, "Register ceiling for remat."),
    named(429, "remat-move", TEXT, "Rematerialization move policy."),
    named(430, "remat-single-cost-limit", TEXT, "Single-value cost limit."),
    named(431, "remat-use-limit", TEXT, "Use count limit for remat."),
    named(432, "branch-dist-block-limit", TEXT, "Block count limit for branch distribution."),
    named(433, "branch-dist-func-limit", TEXT, "Function-level branch dist limit."),
    named(434, "branch-dist-norm", TEXT, "Normalization factor."),
    named(435, "scev-cgp-check-latency", TEXT, "Latency check threshold."),
    named(436, "scev-cgp-control", TEXT, "CGP control mode."),
    named(437, "scev-cgp-cross-block-limit", TEXT, "Cross-block analysis limit."),
    named(438, "scev-cgp-idom-level-limit", TEXT, "Immediate dominator depth limit."),
    named(439, "scev-cgp-inst-limit", TEXT, "Instruction count limit."),
    named(440, "scev-cgp-norm", TEXT, "Normalization factor."),
    named(441, "scev-cgp-old-base", TEXT, "Legacy base address mode."),
    named(442, "scev-cgp-tid-max-value", TEXT, "Thread ID maximum value."),
    named(443, "base-address-strength-reduce-iv-limit", TEXT, "IV count limit for base addr SR."),
    named(444, "base-address-strength-reduce-max-iv", TEXT, "Maximum IV for base addr SR."),
    named(445, "cssa-coalesce", TEXT, "CSSA coalescing mode."),
    named(446, "cssa-verbosity", TEXT, "CSSA debug verbosity."),
    named(450, "dump-ip-msp", OFF, "Dumps IPMSP analysis results."),
    named(451, "dump-ir-before-memory-space-opt", OFF, "Dumps IR before MemorySpaceOpt."),
    named(452, "dump-ir-after-memory-space-opt", OFF, "Dumps IR after MemorySpaceOpt."),
    named(453, "dump-memory-space-warnings", OFF, "Dumps address space warnings."),
    named(454, "dump-remat", OFF, "Dumps rematerialization decisions."),
    named(455, "dump-remat-add", OFF, "Dumps remat additions."),
    named(456, "dump-remat-iv", OFF, "Dumps remat induction variables."),
    named(457, "dump-remat-load", OFF, "Dumps remat load decisions."),
    named(458, "dump-branch-dist", OFF, "Dumps branch distribution analysis."),
    named(459, "dump-scev-cgp", OFF, "Dumps SCEV-CGP analysis."),
    named(460, "dump-base-address-strength-reduce", OFF, "Dumps base address SR."),
    named(461, "dump-sink2", OFF, "Dumps Sinking2 pass output."),
    named(462, "dump-before-cssa", OFF, "Dumps IR before CSSA."),
    named(463, "dump-phi-remove", OFF, "Dumps PHI node removal."),
    named(464, "dump-normalize-gep", OFF, "Dumps GEP normalization."),
    named(465, "dump-simplify-live-out", OFF, "Dumps live-out simplification."),
    named(466, "dump-process-restrict", OFF, "Dumps restrict processing."),
    named(467, "dump-process-builtin-assume", OFF, "Dumps builtin assume processing."),
    named(468, "dump-conv-dot", OFF, "Dumps convergence as DOT graph."),
    named(469, "dump-conv-func", OFF, "Dumps convergence per function."),
    named(470, "dump-conv-text", OFF, "Dumps convergence as text."),
    named(471, "dump-nvvmir", OFF, "Dumps NVVM IR."),
    named(472, "dump-va", OFF, "Dumps value analysis."),
];

/// The option table: all slots in order, then the options that are known by name alone.
pub static OPTIONS: &[OptionRow] = &ALL;

static ALL: [OptionRow; SLOTS + NAMED.len()] = all();

const fn all() -> [OptionRow; SLOTS + NAMED.len()] {
    let mut all = [undescribed(1); SLOTS + NAMED.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < SLOTS { undescribed(at as u16 + 1) } else { NAMED[at - SLOTS] };
        at += 1;
    }
    let mut at = 0;
    while at < DESCRIBED.len() {
        if let Some(slot) = DESCRIBED[at].slot {
            all[slot as usize - 1] = DESCRIBED[at];
        }
        at += 1;
    }
    all
}

/// A slot of which the document says no more than what holds of all: even ones are strings, odd ones switches, which
/// are off.
const fn undescribed(number: u16) -> OptionRow {
    match Storage::of(number) {
        Storage::String => slot(179, number, "", TEXT, "A string. The document names no use of it."),
        _ => slot(179, number, "", OFF, "A switch. The document names no use of it."),
    }
}
