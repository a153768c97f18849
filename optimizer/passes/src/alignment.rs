//! `set-global-array-alignment` and `set-local-array-alignment`: arrays that begin where a wide access can
//! (`spec/pass-pipeline.txt`, lines 203 and 204, which have the names alone).
//!
//! An array of the module's own, in global or shared memory, and one in a function's local memory is aligned to the
//! widest access that fits in it, up to 16 bytes, so that `old-load-store-vectorizer` may use that. A variable that
//! other modules can name stays: they may declare it as it is. Shared memory stays where the bytes in front of
//! aligned variables might be too many for a CTA.
//!
//! Cost: linear in the variables.

use oriole_ir::ops::Space;
use oriole_ir::{Function, Linkage, Module, Variable};
use oriole_pass::pass::{Changed, ModuleContext, PhaseContext};

/// The widest access, in bytes.
const WIDEST: u32 = 16;
/// The static shared memory that every kernel may have, in bytes (CUDA C++ Programming Guide, "Compute Capabilities").
const SHARED: u64 = 48 << 10;
const RULE: &str = "align-array";

/// The set-global-array-alignment pass.
pub fn globals(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let functions = module.functions.values().flat_map(|func| func.locals.values());
    let shared = module.globals.values().chain(functions).filter(|variable| variable.space == Space::Shared);
    let fits = shared.map(|variable| variable.size() + u64::from(WIDEST)).sum::<u64>() <= SHARED;
    let mut changed = Changed::No;
    for variable in module.globals.values_mut() {
        let is_here = variable.space == Space::Global || variable.space == Space::Shared && fits;
        changed |= align(variable, is_here && variable.linkage == Linkage::Internal, |rule| cx.rewrite(rule));
    }
    changed
}

/// The set-local-array-alignment pass.
pub fn locals(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for variable in func.locals.values_mut() {
        let is_here = variable.space == Space::Local;
        changed |= align(variable, is_here, |rule| cx.rewrite(rule));
    }
    changed
}

/// Aligns a variable, if it is an array that may be.
fn align(variable: &mut Variable, may_be: bool, leave: impl FnOnce(&'static str) -> bool) -> Changed {
    let size = variable.size();
    let fitting = [WIDEST, 8, 4, 2].into_iter().find(|width| u64::from(*width) <= size).unwrap_or(1);
    if !may_be || variable.count.is_none() || variable.align >= fitting || !leave(RULE) {
        return Changed::No;
    }
    variable.align = fitting;
    Changed::Yes
}
