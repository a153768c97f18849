//! `function-attrs`: what functions do, and the calls that do nothing (`spec/pass-pipeline.txt`, line 1191:
//! FunctionAttrs).
//!
//! LLVM writes attributes into the program; Ori has no place for them, so they are an analysis of the module
//! ([`ComponentWalk`]). What follows from them at once is done here: a call of a function that writes nothing, orders
//! nothing and returns goes where nothing reads its results. Its parameter variables go with it, and what was stored in
//! them, unless another call passes them too.
//!
//! Cost: linear in the functions.

use cranelift_entity::EntitySet;

use super::calls::{arguments, callee, is_store, local_of, results};
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Function, Inst, Local, Module};
#[cfg(doc)]
use oriole_pass::analysis::ComponentWalk;
use oriole_pass::pass::{Changed, ModuleContext};

/// The function-attrs pass on a component.
pub fn component(module: &mut Module, members: &[FuncId], cx: &mut ModuleContext<'_>) -> Changed {
    let unread: Vec<(FuncId, Vec<Inst>)> = members
        .iter()
        .map(|id| (*id, unread_calls(&module.functions[*id])))
        .filter(|(_, calls)| !calls.is_empty())
        .collect();
    let mut changed = Changed::No;
    for (id, calls) in unread {
        let walk = cx.analyses.walk(module);
        let mut is_dead = |call: &Inst| {
            callee(&module.functions[id], *call).is_some_and(|to| walk.effects(module, to).is_removable())
        };
        let dead: Vec<Inst> = calls.into_iter().filter(&mut is_dead).collect();
        if dead.is_empty() {
            continue;
        }
        changed |= cx.function(module, id, |func, cx| {
            let granted: Vec<Inst> = dead.into_iter().filter(|_| cx.rewrite("dead-call")).collect();
            remove(func, &granted);
            Changed::when(!granted.is_empty())
        });
    }
    changed
}

/// The calls by name of whose results nothing is read.
fn unread_calls(func: &Function) -> Vec<Inst> {
    let mut read = EntitySet::<Local>::new();
    let calls: Vec<Inst> = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call).collect();
    for inst in func.layout_insts().filter(|inst| func.inst(*inst).opcode != Opcode::Call) {
        let is_store = is_store(func, inst);
        read.extend(func.inputs(inst)[usize::from(is_store)..].iter().filter_map(local_of));
    }
    calls.iter().for_each(|call| read.extend(arguments(func, *call)));
    let is_unread =
        |call: &Inst| callee(func, *call).is_some() && !results(func, *call).any(|result| read.contains(result));
    calls.into_iter().filter(is_unread).collect()
}

/// Removes calls, and the variables that no other instruction needs then.
fn remove(func: &mut Function, calls: &[Inst]) {
    let mut passed: Vec<Local> =
        calls.iter().flat_map(|call| func.srcs(*call)[2..].iter().filter_map(local_of)).collect();
    passed.sort_unstable();
    passed.dedup();
    calls.iter().for_each(|call| func.remove_inst(*call));
    let is_passed_on = |local: &Local| func.params.contains(local) || func.returns.contains(local);
    let is_needed = |local: &Local| {
        func.layout_insts().any(|inst| {
            func.inputs(inst)[usize::from(is_store(func, inst))..]
                .iter()
                .filter_map(local_of)
                .any(|named| named == *local)
        })
    };
    let gone: Vec<Local> = passed.into_iter().filter(|local| !is_passed_on(local) && !is_needed(local)).collect();
    let stores = func.layout_insts().filter(|inst| {
        let to = func.srcs(*inst).first().and_then(local_of);
        is_store(func, *inst) && to.is_some_and(|to| gone.contains(&to))
    });
    for store in stores.collect::<Vec<Inst>>() {
        func.remove_inst(store);
    }
    func.remove_locals(&gone);
}
