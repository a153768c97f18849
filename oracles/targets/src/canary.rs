//! Canaries: faults that a target plants into what it checks, so that a run can prove that it would find one.
//!
//! Fuzzing usually ends by finding nothing because it has stopped working. While [`with`] runs, each target meets one
//! fault of its own: a phase that drops a store or never settles, a verifier that is not asked, a value that is changed
//! on its way through a file. A target that then stays content is broken itself. The fuzz crate's feature `canary` and
//! `ci/fuzz --canary` are built on this, and a test does it for every target.

use std::cell::Cell;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Inst, Module};
use oriole_optimizer::analysis::AnalysisSet;
use oriole_optimizer::pass::{Changed, Element, Needs, PhaseContext, PhaseFn, Run};
use oriole_optimizer::pipeline::Pipeline;

thread_local! {
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Puts the flag back, also where the work panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        PLANTED.set(self.0);
    }
}

/// Calls `work` with the faults planted on this thread.
pub fn with<T>(work: impl FnOnce() -> T) -> T {
    let _restore = Restore(PLANTED.replace(true));
    work()
}

/// Whether this thread's targets are to go wrong.
pub(super) fn planted() -> bool {
    PLANTED.get()
}

/// The phases, with one behind them that loses a store where a fault is planted.
pub(super) fn phases_that_lose() -> Pipeline {
    with_planted("LoseStore", lose_store)
}

/// The phases, with one behind them that always finds something to do where a fault is planted.
pub(super) fn phases_that_go_on() -> Pipeline {
    with_planted("SwapForEver", swap_for_ever)
}

fn with_planted(name: &'static str, function: PhaseFn) -> Pipeline {
    let mut passes = Pipeline::ptxas();
    if planted() {
        let pass = Element::custom(name, Run::function(function));
        passes.push(pass.needing(Needs::ANYTHING).preserving(AnalysisSet::CONTROL_FLOW));
    }
    passes
}

/// Drops the last store of a function.
fn lose_store(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    for block in func.layout().to_vec().into_iter().rev() {
        let store = |inst: &Inst| func.inst(*inst).opcode == Opcode::St;
        if let Some(found) = func.block_insts(block).rfind(store)
            && cx.rewrite("lose-store")
        {
            func.remove_inst(found);
            return Changed::Yes;
        }
    }
    Changed::No
}

/// Exchanges the first two sources of a commutative instruction: right, and without end.
fn swap_for_ever(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let swaps = |inst: &Inst| func.inst(*inst).is(Flags::COMMUTATIVE) && func.srcs(*inst)[0] != func.srcs(*inst)[1];
    let found = func.layout_insts().find(swaps);
    match found {
        Some(inst) if cx.rewrite("swap-for-ever") => {
            func.srcs_mut(inst).swap(0, 1);
            Changed::Yes
        }
        _ => Changed::No,
    }
}

/// Where a fault is planted, takes the last instruction of every function.
pub(super) fn cut(module: &mut Module) {
    for func in module.functions.values_mut().filter(|_| planted()) {
        if let Some(last) = func.layout().last().and_then(|block| func.last_inst(*block)) {
            func.remove_inst(last);
        }
    }
}
