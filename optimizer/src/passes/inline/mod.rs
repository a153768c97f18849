//! The inliners of cicc: the body of a function in place of its call.
//!
//! `always-inline` (`spec/pass-pipeline.txt`, line 816, LLVM's AlwaysInliner) inlines without weighing. PTX has no mark
//! that asks for it; here a body asks that is no dearer than its call, and one of an internal function that is called
//! at one place. Internal functions that nothing names behind it are removed. `inline` (line 1229) goes over the
//! components of the call graph bottom-up and weighs: with LLVM's prices, 5 for an instruction, 25 and 10 an argument
//! for the call, against the threshold of 225 times 11, the factor that LLVM has for NVPTX because calls are dear
//! there.
//!
//! A call is inlined if
//!
//! - it names a function with a body, in SSA form as the caller, that no other module may replace (`.weak` may be) and
//!   that does not call itself, directly or through others;
//! - it has no guard;
//! - each parameter and result is a variable of the caller that only loads, stores and this one call name, of the size
//!   that the function declares, each a different one.
//!
//! These variables become local memory (`splice.rs`): PTX has no parameter space apart from calls. Each activation has
//! variables of its own; in the caller they keep what the activation before has left, where a new one has undefined
//! bytes. Threads that part in the body meet in front of the rest of the caller, as they do where a call returns.
//!
//! Cost: linear in the bodies that are copied.

mod splice;

use crate::analysis::CallGraph;
use crate::pass::{Changed, ModuleContext};
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Form, FuncId, Function, FunctionKind, Inst, Linkage, Local, Module, Operand};
use splice::splice;

/// LLVM's prices (`InlineCost.h`) and its threshold at `-O3` for NVPTX.
const INSTRUCTION: usize = 5;
const CALL: usize = 25;
const ARGUMENT: usize = 10;
const THRESHOLD: usize = 225 * 11;
/// A function that has grown to so many instructions grows no more.
const LARGEST: usize = 20_000;

/// The always-inline pass.
pub fn always(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let graph = cx.analyses.get::<CallGraph>(module);
    let calls = count_calls(module);
    let asks = |module: &Module, callee: FuncId, arguments: usize| {
        let body = &module.functions[callee];
        let is_own = body.linkage == Linkage::Internal && !graph.is_called_by_unknown(callee);
        (is_own && calls[callee.as_u32() as usize] == 1) || price(body) <= call_price(arguments)
    };
    let mut changed = Changed::No;
    for id in graph.bottom_up().flatten().copied() {
        changed |= inline_into(module, id, &graph, cx, &asks);
    }
    changed | remove_unnamed(module, cx)
}

/// The inline pass on a component.
pub fn component(module: &mut Module, members: &[FuncId], cx: &mut ModuleContext<'_>) -> Changed {
    if !members.iter().any(|id| calls_by_name(&module.functions[*id])) {
        return Changed::No;
    }
    let graph = cx.analyses.get::<CallGraph>(module);
    let pays = |module: &Module, callee: FuncId, arguments: usize| {
        price(&module.functions[callee]) <= THRESHOLD + call_price(arguments)
    };
    members.iter().fold(Changed::No, |changed, id| changed | inline_into(module, *id, &graph, cx, &pays))
}

fn price(body: &Function) -> usize {
    body.inst_count() * INSTRUCTION
}

fn call_price(arguments: usize) -> usize {
    CALL + ARGUMENT * arguments
}

fn calls_by_name(func: &Function) -> bool {
    func.layout_insts().any(|inst| callee(func, inst).is_some())
}

/// The function that an instruction calls by name.
fn callee(func: &Function, inst: Inst) -> Option<FuncId> {
    match func.srcs(inst).first().filter(|_| func.inst(inst).opcode == Opcode::Call)? {
        Operand::Func(id) => Some(*id),
        _ => None,
    }
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

/// Inlines the calls of a function that are wanted. Calls that come with a body are left: the callee was looked at
/// before its callers.
fn inline_into(
    module: &mut Module,
    id: FuncId,
    graph: &CallGraph,
    cx: &mut ModuleContext<'_>,
    wanted: &dyn Fn(&Module, FuncId, usize) -> bool,
) -> Changed {
    let func = &module.functions[id];
    if func.form != Form::Ssa {
        return Changed::No;
    }
    let calls: Vec<(Inst, FuncId)> = func.layout_insts().filter_map(|inst| Some((inst, callee(func, inst)?))).collect();
    let mut changed = Changed::No;
    for (call, callee) in calls {
        let Some(passed) = Passed::of(&module.functions[id], call, &module.functions[callee]) else { continue };
        let may = may_be_inlined(&module.functions[callee]) && !graph.is_recursive(callee);
        if !may || module.functions[id].inst_count() > LARGEST || !wanted(module, callee, passed.variables.len()) {
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
fn may_be_inlined(body: &Function) -> bool {
    let returns_plainly = |inst: Inst| body.inst(inst).opcode != Opcode::Ret || body.inst(inst).guard.is_none();
    let is_final = !matches!(body.linkage, Linkage::Weak | Linkage::Extern);
    body.is_definition()
        && is_final
        && body.kind == FunctionKind::Device
        && body.form == Form::Ssa
        && body.layout_insts().all(returns_plainly)
}

/// The variables of a caller that a call passes and gets, in the order of the function's results and parameters.
pub(super) struct Passed {
    /// By place: the variable of the caller, and that of the function.
    variables: Vec<(Local, Local)>,
}

impl Passed {
    /// `None` where some variable cannot become local memory.
    fn of(func: &Function, call: Inst, body: &Function) -> Option<Passed> {
        let declared: Vec<Local> = body.returns.iter().chain(&body.params).copied().collect();
        // Behind the function and the number of results, the variables follow.
        let given = func.srcs(call).get(2..)?;
        let own = |operand: &Operand| if let Operand::Local(local) = operand { Some(*local) } else { None };
        let given: Vec<Local> = given.iter().map(own).collect::<Option<_>>()?;
        let fits = func.inst(call).guard.is_none() && given.len() == declared.len();
        let variables: Vec<(Local, Local)> = given.into_iter().zip(declared).collect();
        let mut seen = Vec::with_capacity(variables.len());
        for (local, parameter) in &variables {
            if seen.contains(local) || func.locals[*local].size() != body.locals[*parameter].size() {
                return None;
            }
            seen.push(*local);
        }
        let parameters: Vec<Local> = variables.iter().map(|(_, parameter)| *parameter).collect();
        let is_own = seen.iter().any(|local| func.params.contains(local) || func.returns.contains(local));
        let accessed = accessed_alone(func, &seen, Some(call)) && accessed_alone(body, &parameters, None);
        (fits && !is_own && accessed).then_some(Passed { variables })
    }
}

/// Whether nothing but accesses to parameter space, and one call, names any of these variables.
fn accessed_alone(func: &Function, variables: &[Local], call: Option<Inst>) -> bool {
    let named = |operand: &Operand| matches!(operand, Operand::Local(local) if variables.contains(local));
    func.layout_insts()
        .filter(|inst| func.inputs(*inst).iter().any(named))
        .all(|inst| Some(inst) == call || (is_access(func, inst) && !func.srcs(inst)[1..].iter().any(named)))
}

/// Whether an instruction loads or stores in parameter space.
fn is_access(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    matches!(data.opcode, Opcode::Ld | Opcode::St) && data.field::<Space>() == Some(Space::Param)
}

/// Removes internal functions that nothing names, and those that only such functions name.
fn remove_unnamed(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let mut changed = Changed::No;
    loop {
        let named = module.named_symbols();
        let is_named = |id: &FuncId| named.contains(&oriole_ir::SymbolRef::Func(*id));
        let is_own = |func: &Function| {
            func.kind == FunctionKind::Device && func.linkage == Linkage::Internal && func.is_definition()
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
