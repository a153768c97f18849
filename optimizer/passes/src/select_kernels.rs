//! `select-kernels`: the kernels that were asked for, and what they need (`spec/pass-pipeline.txt`, line 203, which has
//! the name alone).
//!
//! The arguments name kernels; without arguments, all kernels are asked for. Functions go that no such kernel leads to
//! by a call, an address or the content of a variable, and so do variables of the module alone. Those in global memory
//! stay, since they are part of what a launch leaves, and those in shared memory, which `%total_smem_size` counts, with
//! the functions that their content names. A name that no kernel has is an error, and then nothing goes.
//!
//! Cost: linear in the module.

use super::reached::Reached;
use oriole_ir::ops::Space;
use oriole_ir::{FuncId, FunctionKind, Global, Linkage, Module, SymbolRef, Variable};
use oriole_pass::pass::{Changed, ModuleContext, Objection};

/// The select-kernels pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let Some(kernels) = asked(module, cx) else { return Changed::No };
    let is_memory = |global: &Variable| matches!(global.space, Space::Global | Space::Shared);
    let is_seen = |global: &Variable| global.linkage != Linkage::Internal || is_memory(global);
    let seen = module.globals.iter().filter(|(_, global)| is_seen(global));
    let roots = kernels.into_iter().map(SymbolRef::Func).chain(seen.map(|(id, _)| SymbolRef::Global(id)));
    let reached = Reached::from(module, roots);
    let functions: Vec<FuncId> = module.functions.keys().filter(|id| !reached.functions.contains(*id)).collect();
    let globals: Vec<Global> = module.globals.keys().filter(|id| !reached.globals.contains(*id)).collect();
    // What goes may name each other, so it goes together.
    if functions.is_empty() && globals.is_empty() || !cx.rewrite("unselected") {
        return Changed::No;
    }
    cx.count("functions removed", functions.len() as u64);
    cx.count("variables removed", globals.len() as u64);
    cx.remove_symbols(module, &functions, &globals);
    Changed::Yes
}

/// The kernels that the arguments name; `None` where they name none, or one that is not there.
fn asked(module: &Module, cx: &ModuleContext<'_>) -> Option<Vec<FuncId>> {
    let is_kernel = |id: &FuncId| module.functions[*id].kind == FunctionKind::Entry;
    let mut kernels = Vec::new();
    let mut all = true;
    for name in cx.names() {
        match module.function_named(name).filter(is_kernel) {
            Some(id) => kernels.push(id),
            None => {
                all = false;
                cx.object(Objection::to_arguments(format!("no kernel is called `{name}`: {}", those_of(module))));
            }
        }
    }
    (all && !kernels.is_empty()).then_some(kernels)
}

/// The kernels of a module, some of them where there are many.
fn those_of(module: &Module) -> String {
    const LISTED: usize = 8;
    let kernels = || module.functions.values().filter(|func| func.kind == FunctionKind::Entry);
    let names: Vec<String> = kernels().take(LISTED).map(|func| format!("`{}`", func.name)).collect();
    match kernels().count() {
        0 => "the module has no kernel".to_owned(),
        count if count > LISTED => format!("there are {} and {} more", names.join(", "), count - LISTED),
        _ => format!("there is {}", names.join(", ")),
    }
}
