//! THE pass table of cicc: one row for every pass that `spec/pass-pipeline.txt` names or places in a pipeline.
//!
//! The passes of NVIDIA have the names of "NVIDIA Custom Passes"; those that the page lists there are complete. Of
//! the others it gives classes alone: LLVM's passes have the names under which LLVM registers them, NVIDIA's the name
//! of their class, so spelt. Their rows say so by [`Page::Customary`]. All of them are planned.
//!
//! The table is in the order of the page. A pipeline of cicc is not this order but a text ([`super::text`]).

use crate::analysis::AnalysisSet;
use crate::pass::{Needs, Page, Pass, SecondRun, Stage, Status, Unit};

/// The arguments of a pass that takes none.
const PLAIN: Parameters = &[];
/// As the page's "Parameterized Pass Parsing" has them.
const MEMORY_SPACE: Parameters = &[&["first-time", "second-time"], &["warnings", "no-warnings"]];
const SINK: Parameters = &[&["rp-aware"]];
/// As "The nvopt<> Naming Convention" has them.
const LEVELS: Parameters = &[&["O0", "O1", "O2", "O3", "Ofcmax", "Ofcmid", "Ofcmin"]];

type Parameters = &'static [&'static [&'static str]];

macro_rules! passes {
    ($($page:ident $unit:ident { $($name:literal $([$parameters:ident])?, $doc:literal;)+ })+) => {
        /// The pass table of cicc.
        pub static PASSES: &[Pass] = &[
            $($(row($name, Unit::$unit, passes!(@parameters $($parameters)?), Page::$page, $doc),)+)+
        ];
    };
    (@parameters) => { PLAIN };
    (@parameters $parameters:ident) => { $parameters };
}

passes! {
    PassPipeline Module {
        "nvopt" [LEVELS], "A whole pipeline of cicc, by optimization level or by level of fast compilation.";
        "check-gep-index", "Checks the indices of address computations.";
        "check-kernel-functions", "Checks what the ABI asks of kernels.";
        "cnp-launch-check", "Checks launches from device code.";
        "ipmsp", "Propagates memory spaces between procedures.";
        "nv-early-inliner", "Inlines early.";
        "nv-inline-must", "Inlines what must be inlined.";
        "nvvm-pretreat", "Prepares the module for the other passes.";
        "nvvm-verify", "Verifies what NVVM asks of a module. NVVMVerifier of the tiers.";
        "printf-lowering", "Lowers calls of printf to vprintf with an argument buffer.";
        "select-kernels", "Keeps the kernels that were asked for.";
        "lower-ops", "Lowers operations that the target lacks. It takes arguments that the page does not give.";
        "set-global-array-alignment", "Aligns global arrays. It takes arguments that the page does not give.";
    }
    PassPipeline Function {
        "basic-dbe", "Eliminates dead blocks.";
        "branch-dist", "Distributes branches. NVVMBranchDist of the tiers.";
        "byval-mem2reg", "Turns parameters that are passed by value into registers.";
        "bypass-slow-division", "Divides by the narrow operation where both operands fit.";
        "normalize-gep", "Brings address computations into one form.";
        "nvvm-reflect-pp", "Simplifies branches on constants that nvvm-reflect leaves: SimplifyConstantConditionals.";
        "nvvm-peephole-optimizer", "Rewrites few instructions at a time. NVVMPeephole of the language paths.";
        "old-load-store-vectorizer", "Vectorizes loads and stores.";
        "remat", "Recomputes values instead of keeping them live. NVVMRematerialization of the tiers.";
        "propagate-alignment", "Propagates alignment.";
        "reuse-local-memory", "Shares local memory between variables that are not live together.";
        "set-local-array-alignment", "Aligns local arrays.";
        "sinking2", "Sinks instructions toward their uses. NVVMSinking2 of the tiers.";
        "d2ir-scalarizer", "Splits vector operations: LLVM's Scalarizer under another name.";
        "sink" [SINK], "Sinks instructions into the block of their use; rp-aware, with regard to register pressure.";
        "memory-space-opt" [MEMORY_SPACE], "Resolves generic addresses to memory spaces; second-time, once simplified.";
        "lower-aggr-copies", "Lowers copies of aggregates to loops. It takes arguments that the page does not give.";
        "lower-struct-args", "Lowers parameters that are structures. It takes arguments that the page does not give.";
        "process-restrict", "Uses what restrict says about pointers. It takes arguments that the page does not give.";
    }
    PassPipeline Loop {
        "loop-index-split", "Splits a loop where a condition on its index changes.";
    }
    Customary Module {
        "ipconstprop", "Propagates constants into procedures: IPConstantPropagation.";
        "constmerge", "Merges constants that are the same: ConstantMerge.";
        "deadargelim", "Eliminates arguments that nothing reads: DeadArgElimination.";
        "always-inline", "Inlines what asks for it: AlwaysInliner.";
        "generic-to-nvvm", "Moves variables from the generic to the global space: GenericToNVVM.";
        "nvvm-annotations-processor", "Turns annotations into attributes: NVVMAnnotationsProcessor.";
        "nvvm-late-opt", "NVVMLateOpt. The page gives its class and its place in tier 3.";
        "nvvm-final-lowering", "Lowers what is left before code generation: NVVMFinalLowering.";
    }
    Customary Component {
        "inline", "Inlines callees into their callers, components of the call graph bottom-up: Inliner.";
        "function-attrs", "Derives attributes of functions from their bodies: FunctionAttrs.";
    }
    Customary Function {
        "break-crit-edges", "Splits edges from several successors to several predecessors: BreakCriticalEdges.";
        "memcpyopt", "Forwards and removes copies of memory: MemCpyOpt.";
        "gvn", "Numbers values globally and removes what is computed twice: GVN.";
        "newgvn", "The other value numbering of LLVM: NewGVN or GVNHoist, which the page does not tell apart.";
        "nvvm-reflect", "Resolves queries of the target to constants: NVVMReflect.";
        "sccp", "Propagates constants over edges that can execute: SCCP.";
        "nvvm-predicate-opt", "Simplifies predicates: NVVMPredicateOpt.";
        "nvvm-ir-verification", "Verifies functions between passes: NVVMIRVerification.";
        "tailcallelim", "Turns calls in tail position into loops: TailCallElim.";
        "jump-threading", "Threads jumps over blocks whose branch is decided: JumpThreading.";
        "instsimplify", "Simplifies single instructions: InstructionSimplify.";
        "instcombine", "Combines instructions: InstCombine.";
        "loop-simplify", "Brings loops into canonical form: LoopSimplify.";
        "loop-unroll", "Unrolls loops: LoopUnroll.";
        "adce", "Eliminates dead code, cycles included: ADCE.";
        "dce", "Eliminates dead code: DCE.";
        "dse", "Eliminates dead stores: DSE.";
        "sroa", "Replaces aggregates in local memory by registers: SROA.";
        "early-cse", "Removes what is computed twice along the dominator tree: EarlyCSE.";
        "simplifycfg", "Simplifies control flow: SimplifyCFG.";
        "correlated-propagation", "Uses what branches say about values: CorrelatedValuePropagation.";
        "reassociate", "Reorders operands of associative operations: Reassociate.";
        "nvvm-intrinsic-lowering", "Lowers intrinsics of NVVM: NVVMIntrinsicLowering.";
        "nvvm-barrier-analysis", "Finds barriers that are not needed: NVVMBarrierAnalysis.";
        "nvvm-lower-barriers", "Lowers barriers: NVVMLowerBarriers.";
        "nvvm-unreachable-block-elim", "Removes blocks that control cannot reach: NVVMUnreachableBlockElim.";
        "nvvm-generic-addr-opt", "Optimizes generic addresses: NVVMGenericAddrOpt.";
        "nvvm-loop-opt", "NVVMLoopOpt, of which the page also speaks as BarrierOpt.";
        "nvvm-lower-alloca", "Lowers variables in local memory: NVVMLowerAlloca.";
        "nvvm-warp-shuffle", "Optimizes shuffles in a warp: NVVMWarpShuffle.";
        "nvvm-reduction", "Optimizes reductions: NVVMReduction.";
    }
    Customary Loop {
        "licm", "Moves what does not change in a loop out of it: LICM.";
        "loop-unswitch", "Moves conditions that do not change out of loops: LoopUnswitch.";
        "loop-idiom", "Recognizes loops that are memory operations: LoopIdiomRecognize.";
        "loop-reduce", "Reduces the strength of induction expressions: LoopStrengthReduce, with NVIDIA's own settings.";
    }
}

const fn row(name: &'static str, unit: Unit, parameters: Parameters, page: Page, doc: &'static str) -> Pass {
    Pass {
        name,
        number: None,
        binary_number: None,
        unit,
        stage: Stage::Cicc,
        needs: Needs::SSA,
        preserves: AnalysisSet::NONE,
        second_run: SecondRun::ChangesNothing,
        min_opt_level: 0,
        no_op_by_default: false,
        tokens: &[],
        parameters,
        arguments: Vec::new(),
        status: Status::Planned,
        page,
        doc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_custom_passes_of_the_page_are_all_there() {
        let of = |unit| PASSES.iter().filter(|row| row.page == Page::PassPipeline && row.unit == unit).count();
        // The pipelines of nvopt beside the passes; the page counts 20 function passes and names 19.
        assert_eq!((of(Unit::Module), of(Unit::Function), of(Unit::Loop)), (12 + 1, 19, 1));
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
