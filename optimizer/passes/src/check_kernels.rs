//! `check-kernel-functions`: what no launch of a kernel could satisfy (`spec/pass-pipeline.txt`, line 203, which has
//! the name alone).
//!
//! Kernels return nothing and are not called: the verifier of the IR refuses a module in which one does or is. What is
//! left are limits of launches, at which ptxas stops or of which only the launch would tell:
//!
//! - parameters take no more than [`PARAMETERS`] bytes, 4352 before Volta and before PTX 8.1 (PTX ISA, "Kernel Function
//!   Parameters");
//! - variables in shared memory that the kernel leads to take no more than 48 KiB, as for ptxas;
//! - `.reqntid` and `.maxntid` exclude each other, and no extent is zero (PTX ISA, "Performance-Tuning Directives");
//! - `.reqntid` asks for no more threads than a CTA can have.
//!
//! All faults of all kernels are said at once, and the run ends. The pass changes nothing.
//!
//! Cost: linear in the module, for each of its kernels where it has variables in shared memory.

use super::reached::Reached;
use oriole_ir::ops::Space;
use oriole_ir::sm::{MAX_CTA_EXTENT, MAX_STATIC_SHARED, MAX_THREADS_PER_CTA, Target};
use oriole_ir::{FuncId, Function, FunctionKind, Module, SymbolRef, Variable};
use oriole_pass::pass::{Changed, ModuleContext, Objection};

/// Bytes of a kernel's parameters, at most: on early machines and for early PTX, and else.
const PARAMETERS: [u64; 2] = [4352, 32764];

/// The check-kernel-functions pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    for (id, func) in module.functions.iter().filter(|(_, func)| func.kind == FunctionKind::Entry) {
        let faults = [parameters(module, func, cx.target), shared(module, id), directives(func)];
        let said = faults.into_iter().flatten().map(|what| Objection::to_function(func, what));
        said.for_each(|objection| cx.object(objection));
    }
    Changed::No
}

fn parameters(module: &Module, func: &Function, target: Target) -> Option<String> {
    let many = target.has_independent_threads() && module.ptx_version >= (8, 1);
    let most = PARAMETERS[usize::from(many)];
    let bytes = func.params.iter().fold(0, |end: u64, param| {
        let Variable { align, .. } = func.locals[*param];
        end.next_multiple_of(u64::from(align.max(1))).saturating_add(func.locals[*param].size())
    });
    let remedy = "pass what is large by address";
    (bytes > most).then(|| format!("parameters take {bytes} bytes, and {most} are the most: {remedy}"))
}

fn shared(module: &Module, id: FuncId) -> Option<String> {
    let is_shared = |variable: &&Variable| variable.space == Space::Shared;
    let locals = module.functions.values().flat_map(|func| func.locals.values());
    module.globals.values().chain(locals).find(is_shared)?;
    let reached = Reached::from(module, [SymbolRef::Func(id)]);
    let globals = reached.globals.iter().map(|global| &module.globals[global]);
    let locals = reached.functions.iter().flat_map(|func| module.functions[func].locals.values());
    let bytes: u64 = globals.chain(locals).filter(is_shared).map(Variable::size).sum();
    let most = u64::from(MAX_STATIC_SHARED);
    let remedy = "declare what is large `.extern` and give its size at the launch";
    (bytes > most).then(|| format!("shared variables take {bytes} bytes, and {most} are the most: {remedy}"))
}

fn directives(func: &Function) -> Option<String> {
    let values = |name: &str| Some(func.directives.iter().find(|directive| directive.name == name)?.values.as_slice());
    let (exact, most) = (values("reqntid"), values("maxntid"));
    if exact.is_some() && most.is_some() {
        return Some("`.reqntid` and `.maxntid` exclude each other: leave one of them out".to_owned());
    }
    let given = exact.or(most)?;
    if given.contains(&0) {
        return Some("a CTA has threads along each axis: no extent is 0".to_owned());
    }
    let threads = given.iter().fold(1, |threads: u64, extent| threads.saturating_mul(*extent));
    let fits = given.iter().zip(MAX_CTA_EXTENT).all(|(extent, most)| *extent <= u64::from(most));
    let too_many = exact.is_some() && !(fits && threads <= u64::from(MAX_THREADS_PER_CTA));
    too_many.then(|| {
        let [x, y, z] = MAX_CTA_EXTENT;
        format!("`.reqntid` asks for {threads} threads: a CTA has {MAX_THREADS_PER_CTA}, {x} by {y} by {z} at most")
    })
}
