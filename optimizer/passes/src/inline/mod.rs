//! The inliners of cicc: the body of a function in place of its call.
//!
//! `always-inline` (`spec/pass-pipeline.txt`, line 816, LLVM's AlwaysInliner) inlines without weighing. PTX has no mark
//! that asks for it; here a body asks that is no dearer than its call, and one of an internal function that is called
//! at one place. Internal functions that nothing names behind it are removed. `inline` (line 1229) goes over the
//! components of the call graph bottom-up and weighs (`cost.rs`). `nv-inline-must` and `nv-early-inliner` (line 203,
//! which has the names alone) are the same engine: the former takes what asks, the latter weighs with LLVM's threshold
//! as it is for other targets.
//!
//! A call is inlined if
//!
//! - it names a function with a body, in SSA form as the caller, that no other module may replace and that does not
//!   call itself, directly or through others;
//! - it has no guard;
//! - each parameter and result is a variable of the caller that only loads, stores and this one call name, of the size
//!   that the function declares, each a different one.
//!
//! A linker may put another module's body in place of a `.weak` function. CUDA's headers are full of them, each the
//! same wherever it is, and nvcc marks what it compiles of one file as weak though nobody links it again. So the knob
//! `InlineWeak` decides: never, in modules that need no other one (the default), or always. A module needs no other one
//! if it has an entry, every function that it declares has a body or is one of the device runtime, and none but entries
//! and weak ones can be named from outside.
//!
//! These variables become local memory (`splice.rs`): PTX has no parameter space apart from calls. Each activation has
//! variables of its own; in the caller they keep what the activation before has left, where a new one has undefined
//! bytes. Threads that part in the body meet in front of the rest of the caller, as they do where a call returns.
//!
//! Cost: linear in the bodies that are copied.

mod cost;
mod passed;
mod splice;

use std::collections::HashSet;

use super::calls::callee;
use cost::{EARLY, THRESHOLD, call_price, pays, price};
use oriole_ir::ops::Opcode;
use oriole_ir::{Form, FuncId, Function, FunctionKind, Inst, Linkage, Module, SymbolRef};
use oriole_pass::analysis::{CallGraph, Circles, is_whole_program};
use oriole_pass::pass::{Changed, Knob, ModuleContext};
use passed::Passed;
use splice::splice;

/// A function grows to no more instructions than this,
const LARGEST: usize = 20_000;
/// and to no more than so many times its own, and some.
const GROWTH: usize = 4;
const FREE: usize = 4_000;

/// The always-inline pass, and nv-inline-must.
pub fn always(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let graph = cx.analyses.get::<CallGraph>(module);
    let calls = count_calls(module);
    let asks = |module: &Module, _: FuncId, passed: &Passed, callee: FuncId| {
        let body = &module.functions[callee];
        let is_own = body.linkage == Linkage::Internal && !graph.is_called_by_unknown(callee);
        let is_only = is_own && calls[callee.as_u32() as usize] == 1;
        is_only || price(body, &[]) <= call_price(passed.variables.len())
    };
    everywhere(module, &graph, cx, &asks)
}

/// The nv-early-inliner pass.
pub fn early(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let graph = cx.analyses.get::<CallGraph>(module);
    let pays = |module: &Module, caller: FuncId, passed: &Passed, callee: FuncId| {
        pays(&module.functions[caller], passed, &module.functions[callee], EARLY)
    };
    everywhere(module, &graph, cx, &pays)
}

/// Inlines the wanted calls of all functions, callees first, and removes what nothing names then.
fn everywhere(module: &mut Module, graph: &CallGraph, cx: &mut ModuleContext<'_>, wanted: Wanted<'_>) -> Changed {
    let weak_is_final = weak_is_final(module, cx);
    let ids: Vec<FuncId> = graph.bottom_up().flatten().copied().collect();
    let circles = Circles::new(module, graph);
    let each = |changed, id| changed | inline_into(module, id, &circles, cx, weak_is_final, wanted);
    let changed = ids.into_iter().fold(Changed::No, each);
    changed | remove_unnamed(module, weak_is_final, cx)
}

/// The inline pass on a component.
pub fn component(module: &mut Module, members: &[FuncId], cx: &mut ModuleContext<'_>) -> Changed {
    if !members.iter().any(|id| calls_by_name(&module.functions[*id])) {
        return Changed::No;
    }
    let walk = cx.analyses.walk(module);
    let (circles, is_whole) = (walk.circles(), walk.is_whole_program());
    let weak_is_final = is_final(cx, || is_whole);
    let pays = |module: &Module, caller: FuncId, passed: &Passed, callee: FuncId| {
        pays(&module.functions[caller], passed, &module.functions[callee], THRESHOLD)
    };
    let each = |changed, id: &FuncId| changed | inline_into(module, *id, &circles, cx, weak_is_final, &pays);
    members.iter().fold(Changed::No, each)
}

/// Whether a `.weak` function is what its body here says.
pub(super) fn weak_is_final(module: &Module, cx: &ModuleContext<'_>) -> bool {
    is_final(cx, || is_whole_program(module))
}

fn is_final(cx: &ModuleContext<'_>, is_whole_program: impl Fn() -> bool) -> bool {
    match cx.knobs.number(Knob::InlineWeak) {
        0 => false,
        1 => is_whole_program(),
        _ => true,
    }
}

fn calls_by_name(func: &Function) -> bool {
    func.layout_insts().any(|inst| callee(func, inst).is_some())
}

/// By function: the calls that name it.
fn count_calls(module: &Module) -> Vec<u32> {
    let mut calls = vec![0; module.functions.len()];
    for func in module.functions.values() {
        let called = func.layout_insts().filter_map(|inst| callee(func, inst));
        called.for_each(|id| calls[id.as_u32() as usize] += 1);
    }
    calls
}

/// Whether a call is wanted: of what function, with what it passes, by what function.
type Wanted<'a> = &'a dyn Fn(&Module, FuncId, &Passed, FuncId) -> bool;

/// Inlines the calls of a function that are wanted. Calls that come with a body are left: the callee was looked at
/// before its callers.
fn inline_into(
    module: &mut Module,
    id: FuncId,
    circles: &Circles,
    cx: &mut ModuleContext<'_>,
    weak_is_final: bool,
    wanted: Wanted<'_>,
) -> Changed {
    let func = &module.functions[id];
    if func.form != Form::Ssa {
        return Changed::No;
    }
    let most = LARGEST.min(GROWTH * func.inst_count() + FREE);
    let calls: Vec<(Inst, FuncId)> = func.layout_insts().filter_map(|inst| Some((inst, callee(func, inst)?))).collect();
    let mut changed = Changed::No;
    for (call, callee) in calls {
        let Some(passed) = Passed::of(&module.functions[id], call, &module.functions[callee]) else { continue };
        let may = may_be_inlined(&module.functions[callee], weak_is_final) && !circles.is_recursive(module, callee);
        let room = module.functions[id].inst_count() + module.functions[callee].inst_count() <= most;
        if !may || !room || !wanted(module, id, &passed, callee) {
            continue;
        }
        let body = module.functions[callee].clone();
        changed |= cx.function(module, id, |func, cx| {
            let granted = cx.rewrite("inline-call");
            if granted {
                splice(func, call, &body, &passed);
            }
            Changed::when(granted)
        });
    }
    changed
}

/// Whether calls of a function can be replaced by its body at all.
fn may_be_inlined(body: &Function, weak_is_final: bool) -> bool {
    let returns_plainly = |inst: Inst| body.inst(inst).opcode != Opcode::Ret || body.inst(inst).guard.is_none();
    let is_final = match body.linkage {
        Linkage::Weak => weak_is_final,
        linkage => linkage != Linkage::Extern,
    };
    body.is_definition()
        && is_final
        && body.kind == FunctionKind::Device
        && body.form == Form::Ssa
        && body.layout_insts().all(returns_plainly)
}

/// Removes internal functions that nothing names, and those that only such functions name; weak ones too where no other
/// module can name them.
fn remove_unnamed(module: &mut Module, weak_is_final: bool, cx: &mut ModuleContext<'_>) -> Changed {
    let mut changed = Changed::No;
    loop {
        let named: HashSet<SymbolRef> = module.named_symbols().into_iter().collect();
        let is_named = |id: &FuncId| named.contains(&SymbolRef::Func(*id));
        let is_own = |func: &Function| {
            let is_hidden = func.linkage == Linkage::Internal || func.linkage == Linkage::Weak && weak_is_final;
            func.kind == FunctionKind::Device && is_hidden && func.is_definition()
        };
        let unnamed = module.functions.iter().filter(|(id, func)| is_own(func) && !is_named(id));
        let unnamed: Vec<FuncId> = unnamed.map(|(id, _)| id).collect();
        let gone: Vec<FuncId> = unnamed.into_iter().filter(|_| cx.rewrite("remove-function")).collect();
        if gone.is_empty() {
            return changed;
        }
        cx.remove_symbols(module, &gone, &[]);
        changed = Changed::Yes;
    }
}
