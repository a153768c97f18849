//! THE pass table of cicc: one row for every pass that `spec/pass-pipeline.txt` names or places in a pipeline.
//!
//! A row begins with the line of the page that it comes from. The passes of NVIDIA have the names of "NVIDIA Custom
//! Passes", lines 203 to 205; those that the page lists there are complete. Of the others it gives classes alone, most
//! of them in "Pass Factory Address Inventory": LLVM's passes have the names under which LLVM registers them, NVIDIA's
//! the name of their class, so spelt. A row without work and without a reason is planned.
//!
//! The table is in the order of the page. A pipeline of cicc is not this order but a text ([`super::text`]).

use Parameter::{Limit, Names, Number, Word};
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::engine::vectorize;
use oriole_pass::pass::{Needs, Parameter, Row, Run, Unit, Work};
use oriole_passes::{
    adce, addresses, barriers, bypass_division, combine, correlated, critical_edges, dse, function_attrs,
};
use oriole_passes::{alignment, check_kernels, constmerge, deadargelim, ipconstprop, ipmsp, reuse_local};
use oriole_passes::{
    index_split, inline, lower_alloca, memcpy, memory_space, predicates, rotate, sccp, sroa, tail_calls,
};
use oriole_passes::{select_kernels, unswitch, verification, warp};
use oriole_phases::commoning::{gvn, late};
use oriole_phases::{analyze_control_flow, branches, live_dead, loop_simplify, reassociate};
use oriole_phases::{remat, sink, strength_reduce, unroll};

/// The arguments of a pass that takes none.
const PLAIN: Parameters = &[];
/// As the page's "Parameterized Pass Parsing" has them.
const MEMORY_SPACE: Parameters = &[Word(&["first-time", "second-time"]), Word(&["warnings", "no-warnings"])];
const SINK: Parameters = &[Word(&["rp-aware"])];
const FAST: Parameters = &[Word(&["fast"])];
/// Kernels.
const NAMES: Parameters = &[Names];
/// One of two levels or variants.
const ONE: Parameters = &[Number(1)];
const TWO: Parameters = &[Number(1), Number(1)];
/// The numbers of sub_1833EB0 and sub_1B7FDF0, which are 3 wherever they stand.
const THREE: Parameters = &[Number(3)];
/// The seven numbers of sub_19B73C0, which the page does not name.
const UNSWITCH: Parameters = &[Limit(3), Limit(3), Limit(3), Limit(3), Limit(3), Limit(3), Limit(3)];
/// As "The nvopt<> Naming Convention" has them.
const LEVELS: Parameters = &[Word(&["O0", "O1", "O2", "O3", "Ofcmax", "Ofcmid", "Ofcmin"])];
/// Rounds over a component: the first argument of the page's CGSCC passes, lines 604 and 1071.
const ROUNDS: Parameters = &[Number(8)];

const BODIES: &str = "a call that comes with a body is looked at in the next run";
const REGISTERS: &str = "where an instruction has gone decides how long others live";
const PASSED_ON: &str = "what arrives may be passed on to other functions";
const OUTER_LOOPS: &str = "a loop around unrolled ones is looked at in the next of `UnrollPasses` passes";
const CAPTURES: &str = "a store that goes may have been all that let others know an address";
const BRANCH_ROUNDS: &str = "its rounds are counted";
const ROUNDS_OF_TREES: &str = "its rounds are counted, and distributions have a budget a run";
const NARROWER: &str = "what is decided bounds what depends on it";
const INNER_SUMS: &str = "a sum below the one that was taken apart is looked at in the next run";
const KEPT: &str = "a place that is kept in a register leaves values that the loop around does not change";
const BETWEEN: &str = "a store that goes may have been all that was between others";
const ONE_CONDITION: &str = "a run takes one condition of a loop";

type Parameters = &'static [Parameter];

macro_rules! passes {
    ($($unit:ident {
        $($line:literal: $name:literal $([$parameters:ident])?, $doc:literal $(no work $reason:literal)?
            $(=> $work:path $(, $setter:ident($($value:expr),*))*)?;)+
    })+) => {
        /// The pass table of cicc.
        pub static PASSES: &[Row] = &[
            $($(Row::new($name, Unit::$unit, passes!(@run $unit $($work)?))
                .of_cicc(passes!(@parameters $($parameters)?), $line, $doc)
                $(.no_work($reason))? $($(.$setter($($value),*))*)?,)+)+
        ];
    };
    (@parameters) => { PLAIN };
    (@parameters $parameters:ident) => { $parameters };
    (@run $unit:ident) => { None };
    (@run $unit:ident $work:path) => { Some(Run::$unit(Work::Static(&$work))) };
}

passes! {
    Module {
        203: "check-gep-index", "Checks the indices of address computations."
            no work "PTX computes addresses from bytes: there is no index that a type bounds";
        203: "check-kernel-functions", "Checks what launches ask of kernels: parameters, shared memory, directives. A run \
            ends where one cannot be launched." => check_kernels::run, preserves(AnalysisSet::ALL);
        203: "cnp-launch-check", "Checks launches from device code."
            no work "PTX launches by calls of the device runtime, whose arguments have no type that could be wrong";
        203: "ipmsp", "Propagates memory spaces between procedures: a parameter that every call passes an address of one space."
            => ipmsp::run;
        203: "nv-early-inliner", "Inlines early. The engine of inline, over the whole module, with a lower threshold."
            => inline::early, may_go_on(BODIES);
        203: "nv-inline-must", "Inlines what must be inlined. The engine of always-inline."
            => inline::always, may_go_on(BODIES);
        203: "nvvm-pretreat", "Prepares the module for the other passes."
            no work "the document gives no semantics";
        203: "nvvm-verify", "Verifies what NVVM asks of a module. NVVMVerifier of the tiers."
            no work "what it asks is about NVVM IR; --verify has the runner verify the module after every change";
        203: "printf-lowering", "Lowers calls of printf to vprintf with an argument buffer."
            no work "PTX knows vprintf alone: whoever wrote the module has filled the buffer";
        203: "select-kernels" [NAMES], "Keeps the kernels that its arguments name, and what they need. Without arguments all \
            stay." => select_kernels::run;
        203: "lower-ops", "Lowers operations that the target lacks. It takes arguments that the page does not give."
            no work "PTX has no operation that its target lacks: a module with one is refused";
        203: "set-global-array-alignment", "Aligns global arrays, for wide accesses. It takes arguments that the page does not give."
            => alignment::globals;
    }
    Function {
        204: "basic-dbe", "Eliminates dead blocks. The engine of AnalyzeControlFlow." => analyze_control_flow::run;
        204: "branch-dist", "Distributes branches. NVVMBranchDist of the tiers. The page does not say what that is: here a \
            merge that decides a branch is copied into the ways that lead there, the step of OriBranchOpt that \
            jump-threading is." => branches::thread::run, may_go_on(BRANCH_ROUNDS);
        204: "byval-mem2reg", "Turns parameters that are passed by value into registers. The engine of sroa, on what is \
            stored from parameters." => sroa::of_parameters, preserves(AnalysisSet::CONTROL_FLOW);
        204: "bypass-slow-division", "Divides by the narrow operation where both operands fit."
            => bypass_division::run;
        204: "normalize-gep", "Brings address computations into one form: constants are added last."
            => addresses::run, preserves(AnalysisSet::CONTROL_FLOW), may_go_on(INNER_SUMS);
        204: "nvvm-reflect-pp",
            "Simplifies branches on constants that nvvm-reflect leaves: SimplifyConstantConditionals. The engine of \
            GeneralOptimize: what folds, branches that this decides, and blocks that nobody comes to then."
            => combine::conditionals;
        204: "nvvm-peephole-optimizer", "Rewrites few instructions at a time: the rules of \
            GeneralOptimize, without copies between. NVVMPeephole of the language paths." => combine::rules_alone;
        204: "old-load-store-vectorizer", "Vectorizes loads and stores whose alignment is known."
            => vectorize::of_cicc, preserves(AnalysisSet::CONTROL_FLOW);
        204: "remat", "Recomputes values instead of keeping them live. NVVMRematerialization of the tiers, the engine of \
            OriDoRemat." => remat::of_cicc, preserves(AnalysisSet::CONTROL_FLOW);
        204: "propagate-alignment", "Propagates alignment."
            no work "an access of PTX has no alignment of its own: who needs it follows the address to its variable";
        204: "reuse-local-memory", "Shares local memory between variables that are not live together."
            => reuse_local::run, preserves(AnalysisSet::CONTROL_FLOW);
        204: "set-local-array-alignment", "Aligns local arrays, for wide accesses."
            => alignment::locals, preserves(AnalysisSet::CONTROL_FLOW);
        204: "sinking2" [FAST], "Sinks instructions toward their uses. NVVMSinking2 of the tiers."
            => sink::run, may_go_on(REGISTERS);
        204: "d2ir-scalarizer", "Splits vector operations: LLVM's Scalarizer under another name."
            no work "vectors of PTX are accesses alone, and several accesses cost more than one";
        204: "sink" [SINK],
            "Sinks instructions into the block of their use; rp-aware, with regard to register pressure, as both do here."
            => sink::run, may_go_on(REGISTERS);
        204: "memory-space-opt" [MEMORY_SPACE],
            "Resolves generic addresses to memory spaces; second-time, once simplified, also through phis and choices."
            => memory_space::run, preserves(AnalysisSet::CONTROL_FLOW), off_by("no-memspaceopt-b"), class("MemorySpaceOpt");
        204: "lower-aggr-copies",
            "Lowers copies of aggregates to loops. It takes arguments that the page does not give."
            no work "PTX copies no aggregate: a copy is loads and stores already";
        204: "lower-struct-args",
            "Lowers parameters that are structures. It takes arguments that the page does not give."
            no work "a parameter of PTX is bytes, which loads read where they are";
        204: "process-restrict",
            "Uses what restrict says about pointers. It takes arguments that the page does not give."
            no work "PTX has no such promise: .ptr gives space and alignment alone";
    }
    Loop {
        205: "loop-index-split", "Splits a loop where a condition on its index changes."
            => index_split::run, may_go_on(ONE_CONDITION), off_by("no-loopindexsplit");
    }
    Module {
        1194: "ipconstprop", "Propagates constants into procedures, and out of them: IPConstantPropagation."
            => ipconstprop::run, may_go_on(PASSED_ON);
        126: "constmerge", "Merges constants that are the same: ConstantMerge."
            => constmerge::run, off_by("no-constmerge");
        1204: "deadargelim", "Eliminates arguments and results that nothing reads: DeadArgElimination."
            => deadargelim::run, may_go_on(PASSED_ON);
        816: "always-inline", "Inlines what asks for it: AlwaysInliner. Here a body asks that is no dearer than its call, \
            or whose only call this is; then internal functions go that nothing names."
            => inline::always, may_go_on(BODIES), off_by("no-inline-b");
        1218: "generic-to-nvvm", "Moves variables from the generic to the global space: GenericToNVVM."
            no work "every variable of PTX has a space";
        1249: "nvvm-annotations-processor", "Turns annotations into attributes: NVVMAnnotationsProcessor."
            no work "they are directives in PTX, and what they bound is known to the analyses of ranges and bits";
        1228: "nvvm-late-opt", "NVVMLateOpt. The page gives its class and its place in tier 3."
            no work "the document gives no semantics";
        764: "targetlibinfo", "What functions the target's library has: TargetLibraryInfo."
            no work "no library is linked to a kernel";
        768: "verify", "Verifies the module." no work "--verify has the runner verify after every change";
        770: "assumption-cache-tracker", "Keeps what the program assumes: AssumptionCacheTracker."
            no work "analyses are computed when a pass asks for them";
        818: "print-module", "Prints the module: PrintModulePass." no work "--dump-ir prints around any pass";
        1247: "nvvm-final-lowering", "Lowers what is left before code generation: NVVMFinalLowering."
            no work "what is left is PTX, which is printed as it is";
    }
    Component {
        1229: "inline", "Inlines callees into their callers, components of the call graph bottom-up: Inliner."
            => inline::component, may_go_on(BODIES), off_by("no-inline-c");
        1191: "function-attrs", "Derives attributes of functions from their bodies: FunctionAttrs. Here they are an analysis, \
            and calls that do nothing go." => function_attrs::component;
    }
    Function {
        1187: "break-crit-edges", "Splits edges from several successors to several predecessors: BreakCriticalEdges. \
            Edges back to a loop's header stay." => critical_edges::run;
        1225: "memcpyopt", "Forwards and removes copies of memory: MemCpyOpt. Here stores of what is there."
            => memcpy::run, preserves(AnalysisSet::CONTROL_FLOW), may_go_on(BETWEEN), off_by("no-memcpyopt");
        1231: "gvn", "Numbers values globally and removes what is computed twice: GVN. The standard variant of GvnCse."
            => gvn::standard, preserves(AnalysisSet::CONTROL_FLOW);
        1230: "newgvn", "The other value numbering of LLVM: NewGVN or GVNHoist, which the page does not tell apart. The full \
            variant of GvnCse." => gvn::full, preserves(AnalysisSet::CONTROL_FLOW);
        1193: "nvvm-reflect", "Resolves queries of the target to constants: NVVMReflect."
            no work "who writes PTX has resolved them: nothing to link has a function that answers";
        1192: "sccp", "Propagates constants over edges that can execute: SCCP." => sccp::run, off_by("no-sccp");
        1197: "nvvm-predicate-opt", "Simplifies predicates: NVVMPredicateOpt. The rules of GeneralOptimize about predicates, \
            and comparisons that look through merges." => predicates::run;
        1220: "nvvm-ir-verification", "Verifies functions between passes: NVVMIRVerification."
            => verification::run, verifies(), preserves(AnalysisSet::ALL);
        1190: "tailcallelim" [THREE], "Turns calls of a function by itself in tail position into loops: TailCallElim."
            => tail_calls::run, off_by("no-tailcallelim");
        1190: "jump-threading", "Threads jumps over blocks whose branch is decided: JumpThreading. A step of OriBranchOpt."
            => branches::thread::run, may_go_on(BRANCH_ROUNDS);
        1223: "instsimplify", "Simplifies single instructions: InstructionSimplify. The engine of GeneralOptimize, as far \
            as it makes no instruction." => combine::values;
        1214: "instcombine", "Combines instructions: InstCombine. The engine of GeneralOptimize, without a limit."
            => combine::everything;
        1212: "loop-simplify", "Brings loops into canonical form: LoopSimplify."
            => loop_simplify::all, off_by("no-loopsimplify");
        1211: "loop-unroll" [TWO], "Unrolls loops: LoopUnroll."
            => unroll::loop_unroll, may_go_on(OUTER_LOOPS), off_by("no-loopunroll");
        1232: "adce", "Eliminates dead code, cycles and branches without effect included: ADCE." => adce::run;
        1200: "dce", "Eliminates dead code: DCE. The engine of OriPerformLiveDead." => live_dead::run;
        1203: "dse", "Eliminates dead stores: DSE. Those to local variables that nothing reads, and those to memory of any space that \
            the thread overwrites on all ways."
            => dse::run, preserves(AnalysisSet::CONTROL_FLOW), may_go_on(CAPTURES), off_by("no-dse");
        1209: "sroa", "Replaces aggregates in local memory by registers: SROA."
            => sroa::run, preserves(AnalysisSet::CONTROL_FLOW), off_by("no-sroa");
        1210: "early-cse" [ONE], "Removes what is computed twice along the dominator tree: EarlyCSE. The engine of OriCommoning."
            => late::run, preserves(AnalysisSet::CONTROL_FLOW);
        1205: "simplifycfg" [TWO], "Simplifies control flow: SimplifyCFG. The engine of OriBranchOpt."
            => branches::run, may_go_on(BRANCH_ROUNDS);
        1202: "correlated-propagation", "Uses what branches say about values: CorrelatedValuePropagation."
            => correlated::run, preserves(AnalysisSet::CONTROL_FLOW), may_go_on(NARROWER);
        1226: "reassociate" [THREE], "Reorders operands of associative operations: Reassociate. The engine of OriReassociateAndCommon."
            => reassociate::run, preserves(AnalysisSet::CONTROL_FLOW), may_go_on(ROUNDS_OF_TREES);
        1240: "nvvm-intrinsic-lowering" [ONE], "Lowers intrinsics of NVVM: NVVMIntrinsicLowering."
            no work "what intrinsics of NVVM stand for are instructions of PTX";
        1201: "nvvm-barrier-analysis", "Removes barriers that are not needed: NVVMBarrierAnalysis."
            => barriers::analysis, preserves(AnalysisSet::CONTROL_FLOW);
        1237: "nvvm-lower-barriers" [ONE], "Lowers barriers of a CTA of one warp to that warp's: NVVMLowerBarriers."
            => barriers::lower, preserves(AnalysisSet::CONTROL_FLOW);
        1243: "nvvm-unreachable-block-elim", "Removes blocks that control cannot reach: NVVMUnreachableBlockElim. The \
            engine of AnalyzeControlFlow." => analyze_control_flow::run;
        1246: "nvvm-generic-addr-opt", "Optimizes generic addresses: NVVMGenericAddrOpt. Conversions that undo each other."
            => memory_space::pairs::run, preserves(AnalysisSet::CONTROL_FLOW);
        1198: "nvvm-loop-opt", "NVVMLoopOpt, of which the page also speaks as BarrierOpt."
            no work "the page does not say what it does";
        1242: "nvvm-lower-alloca", "Lowers variables in local memory: NVVMLowerAlloca."
            => lower_alloca::run, preserves(AnalysisSet::CONTROL_FLOW), off_by("no-loweralloca-b");
        766: "tti", "What operations cost on the target: TargetTransformInfo."
            no work "the rows of opcodes and of SMs say it";
        772: "profile-summary-info", "What a profile says: ProfileSummaryInfo." no work "there is no profile";
        600: "nvvm-final-cleanup", "NVVMFinalCleanup, the only pass of O0 between the first phases and finalization."
            no work "at O0 the code is left as it is";
        567: "nvidia-pass", "sub_1AAC510, of which the page gives the place alone."
            no work "the page does not say what it does";
        1234: "nvvm-warp-shuffle" [ONE], "Optimizes shuffles in a warp: NVVMWarpShuffle. Those whose result is known."
            => warp::shuffles, preserves(AnalysisSet::CONTROL_FLOW);
        1244: "nvvm-reduction", "Optimizes reductions: NVVMReduction. Butterflies of a warp to redux.sync."
            => warp::reductions, preserves(AnalysisSet::CONTROL_FLOW);
    }
    Loop {
        1208: "loop-rotate", "Moves the test at the top of a loop to its bottom: LoopRotate."
            => rotate::run;
        1208: "licm", "Moves what does not change in a loop out of it, behind its test: LICM and LoopRotate."
            => rotate::licm, preserves(AnalysisSet::NONE), may_go_on(KEPT);
        1215: "loop-unswitch" [UNSWITCH], "Moves conditions that do not change out of loops: LoopUnswitch."
            => unswitch::run, may_go_on(ONE_CONDITION);
        559: "nvidia-loop-pass", "sub_1922F90, of which the page gives the place alone."
            no work "the page does not say what it does";
        1222: "loop-idiom", "Recognizes loops that are memory operations: LoopIdiomRecognize."
            no work "PTX has no function that fills or copies memory; what a loop does once unrolled is vectorized";
        808: "loop-reduce",
            "Reduces the strength of induction expressions: LoopStrengthReduce, with NVIDIA's own settings, which the \
            page does not give. The engine of OriStrengthReduce, on one loop."
            => strength_reduce::loop_reduce, preserves(AnalysisSet::CONTROL_FLOW);
    }
}

/// What stands for a whole pipeline in a text, and is read as its elements ([`super::nvopt`]). `default` is another
/// name of it, line 655.
pub static NVOPT: Row = Row::new("nvopt", Unit::Module, None)
    .of_cicc(LEVELS, 623, "A whole pipeline of cicc, by optimization level or by level of fast compilation.")
    .tokens(&["default"])
    .no_work("a text that names it has its elements instead");

/// The nests: elements that call those inside them for one unit after the other, as LLVM's adaptors do.
pub static NESTS: &[Row] = &[
    nest("module", Unit::Module, PLAIN, "The passes inside, one after the other."),
    nest(
        "cgscc",
        Unit::Component,
        ROUNDS,
        "The passes inside, for one component of the call graph after the other, callees first; again, at most as often \
         as the argument says, while a round turns calls through registers into calls by name.",
    ),
    nest("function", Unit::Function, PLAIN, "The passes inside, for one function after the other."),
    nest("loop", Unit::Loop, PLAIN, "The passes inside, for one loop after the other, inner loops first."),
];

const fn nest(name: &'static str, unit: Unit, parameters: Parameters, doc: &'static str) -> Row {
    Row::new(name, unit, Some(Run::Nest(unit))).of_cicc(parameters, 655, doc).needs(Needs::ANYTHING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_pass::pass::{Page, PassOption, PassOptions};

    #[test]
    fn the_custom_passes_of_the_page_are_all_there() {
        let of = |unit, line| {
            let source = Some(Page::PassPipeline.line(line));
            PASSES.iter().filter(|row| row.unit == unit && row.source == source).count()
        };
        // The page counts 20 function passes and names 19.
        assert_eq!((of(Unit::Module, 203), of(Unit::Function, 204), of(Unit::Loop, 205)), (12, 19, 1));
    }

    #[test]
    fn options_that_leave_passes_out_are_switches_that_are_off() {
        let defaults = PassOptions::new();
        let options: Vec<&str> = PASSES.iter().filter_map(|row| row.off_by).collect();
        assert!(options.len() >= 3, "{options:?}");
        for name in options {
            assert_eq!(defaults.flag(PassOption::find(name).expect("an option")), Some(false), "{name}");
        }
    }

    #[test]
    fn names_are_lower_case_and_rows_have_a_doc() {
        for row in PASSES {
            assert!(
                row.name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-'),
                "{}",
                row.name
            );
            assert!(row.doc.ends_with('.'), "{}: {}", row.name, row.doc);
        }
    }
}
