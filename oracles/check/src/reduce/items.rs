//! Mutators of what is around the instructions: functions, variables, parameters, directives, initial content.

use std::collections::HashSet;

use cranelift_entity::EntityRef;
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, Function, FunctionKind, Global, Local, Module, Operand, SymbolRef, Variable};

use super::choice::Choice;
use super::edit::places;
use crate::report::Evidence;
use oriole_launch::{Arg, ArgValue, Launch, TensorMap};

/// The function that a launch starts.
pub fn entry(evidence: &Evidence) -> Option<FuncId> {
    let launch = evidence.launch.as_ref()?;
    let mut entries = evidence.module.functions.iter().filter(|(_, func)| {
        func.kind == FunctionKind::Entry && launch.kernel.as_ref().is_none_or(|name| *name == func.name)
    });
    entries.next().map(|(id, _)| id)
}

/// Leaves the function that is launched, or where none is, those that are roots, and what these name directly or not.
pub fn keep_needed(evidence: &mut Evidence, is_root: impl Fn(FuncId) -> bool) {
    let entry = entry(evidence);
    let module = &mut evidence.module;
    let root = |id: &FuncId| entry.map_or_else(|| is_root(*id), |entry| entry == *id);
    let mut work: Vec<SymbolRef> = module.functions.keys().filter(root).map(SymbolRef::Func).collect();
    let mut needed: HashSet<SymbolRef> = HashSet::new();
    while let Some(symbol) = work.pop() {
        if needed.insert(symbol) {
            work.extend(named_by(module, symbol));
        }
    }
    let dead: Vec<FuncId> = module.functions.keys().filter(|id| !needed.contains(&SymbolRef::Func(*id))).collect();
    let unused: Vec<Global> = module.globals.keys().filter(|id| !needed.contains(&SymbolRef::Global(*id))).collect();
    if !dead.is_empty() || !unused.is_empty() {
        module.remove_symbols(&dead, &unused);
    }
}

/// What a function or a variable names.
fn named_by(module: &Module, symbol: SymbolRef) -> Vec<SymbolRef> {
    let of_variable = |variable: &Variable| variable.relocations.iter().map(|r| r.symbol).collect::<Vec<_>>();
    match symbol {
        SymbolRef::Global(id) => of_variable(&module.globals[id]),
        SymbolRef::Func(id) => {
            let func = &module.functions[id];
            let operands = func.layout_insts().flat_map(|inst| func.inputs(inst));
            let named = operands.filter_map(|operand| match operand {
                Operand::Global(id) => Some(SymbolRef::Global(*id)),
                Operand::Func(id) => Some(SymbolRef::Func(*id)),
                _ => None,
            });
            named.chain(func.locals.values().flat_map(of_variable)).collect()
        }
    }
}

/// Functions that nothing names and nobody launches, and variables that nothing names.
pub fn unused_symbols(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let named: HashSet<SymbolRef> = evidence.module.named_symbols().into_iter().collect();
    let entry = entry(evidence);
    let module = &mut evidence.module;
    let function = |id: FuncId| Some(id) != entry && !named.contains(&SymbolRef::Func(id));
    let dead: Vec<FuncId> = module.functions.keys().filter(|id| function(*id) && choice.take()).collect();
    let global = |id: Global| !named.contains(&SymbolRef::Global(id));
    let unused: Vec<Global> = module.globals.keys().filter(|id| global(*id) && choice.take()).collect();
    if !dead.is_empty() || !unused.is_empty() {
        module.remove_symbols(&dead, &unused);
    }
}

fn uses_local(func: &Function, local: Local) -> bool {
    let insts = func.layout_insts();
    insts.flat_map(|inst| func.inputs(inst)).any(|operand| *operand == Operand::Local(local))
}

/// Variables, parameters and results of functions that nothing names; arguments of launch and calls go with them.
pub fn unused_locals(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let entry = entry(evidence);
    for id in evidence.module.functions.keys().collect::<Vec<_>>() {
        let func = &evidence.module.functions[id];
        for local in func.locals.keys().rev().collect::<Vec<_>>() {
            let func = &evidence.module.functions[id];
            let param = func.params.iter().position(|param| *param == local);
            let result = func.returns.iter().position(|result| *result == local);
            // A declaration is what others call: what it takes is not ours to change.
            let fixed = !func.is_definition() && (param.is_some() || result.is_some());
            if fixed || uses_local(func, local) || !choice.take() {
                continue;
            }
            match (param, &mut evidence.launch) {
                (Some(at), Some(launch)) if Some(id) == entry => {
                    drop_argument(launch, at);
                    drop_unnamed(launch, evidence.module.functions[id].params.len() - 1);
                }
                _ => {}
            }
            drop_from_calls(&mut evidence.module, id, param, result);
            drop_local(&mut evidence.module.functions[id], local);
        }
    }
}

fn drop_local(func: &mut Function, local: Local) {
    let after = |other: Local| if other > local { Local::new(other.index() - 1) } else { other };
    let locals = std::mem::take(&mut func.locals);
    func.locals = locals.into_iter().filter(|(id, _)| *id != local).map(|(_, variable)| variable).collect();
    for list in [&mut func.params, &mut func.returns] {
        list.retain(|other| *other != local);
        list.iter_mut().for_each(|other| *other = after(*other));
    }
    for inst in func.insts().keys().collect::<Vec<_>>() {
        for operand in func.inputs_mut(inst) {
            if let Operand::Local(id) = operand {
                *id = after(*id);
            }
        }
    }
}

/// Takes an argument out of a launch. Addresses within its buffer become null, and tensor maps of it none.
fn drop_argument(launch: &mut Launch, at: usize) {
    if at >= launch.args.len() {
        return;
    }
    launch.args.remove(at);
    for arg in &mut launch.args {
        match &mut arg.value {
            ArgValue::Alias { arg: owner, .. } | ArgValue::Multicast { arg: owner, .. } if *owner > at => *owner -= 1,
            ArgValue::Alias { arg: owner, .. } | ArgValue::Multicast { arg: owner, .. } if *owner == at => {
                arg.value = ArgValue::Null;
            }
            ArgValue::Structure(structure) => {
                structure.pointers.retain(|pointer| pointer.arg != at);
                structure.pointers.iter_mut().filter(|pointer| pointer.arg > at).for_each(|pointer| pointer.arg -= 1);
            }
            ArgValue::TensorMap(map) if map.arg > at => map.arg -= 1,
            ArgValue::TensorMap(map) if map.arg == at => arg.value = ArgValue::Bytes(vec![0; TensorMap::BYTES]),
            _ => {}
        }
    }
}

/// Takes buffers out of a launch that are behind the arguments of all parameters, and that no structure has the address
/// of any more.
fn drop_unnamed(launch: &mut Launch, parameters: usize) {
    for at in (parameters..launch.args.len()).rev() {
        let names = |arg: &Arg| match &arg.value {
            ArgValue::Structure(structure) => structure.pointers.iter().any(|pointer| pointer.arg == at),
            ArgValue::Alias { arg, .. } => *arg == at,
            _ => false,
        };
        if !launch.args.iter().any(names) {
            drop_argument(launch, at);
        }
    }
}

/// Takes a parameter or result of a function out of every call of it.
fn drop_from_calls(module: &mut Module, callee: FuncId, param: Option<usize>, result: Option<usize>) {
    for (id, _, inst) in places(module) {
        let func = &mut module.functions[id];
        let mut srcs = func.srcs(inst).to_vec();
        if func.inst(inst).opcode != Opcode::Call || srcs[0] != Operand::Func(callee) {
            continue;
        }
        let Some(results) = func.imm_bits(srcs[1]) else { continue };
        let place = result.map(|at| 2 + at).or(param.map(|at| 2 + results as usize + at));
        if let Some(place) = place.filter(|place| *place < srcs.len()) {
            srcs.remove(place);
            srcs[1] = func.imm(results - u64::from(result.is_some()));
            func.set_srcs(inst, &srcs);
        }
    }
}

/// Functions without performance directives.
pub fn directives(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        func.directives.retain(|_| !choice.take());
    }
}

/// Variables without initial content.
pub fn initial_content(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let module = &mut evidence.module;
    let locals = module.functions.values_mut().flat_map(|func| func.locals.values_mut());
    for variable in module.globals.values_mut().chain(locals) {
        if !(variable.init.is_empty() && variable.relocations.is_empty()) && choice.take() {
            variable.init.clear();
            variable.relocations.clear();
        }
    }
}

/// Arrays of half as many elements, that are no parameters.
pub fn shorter_arrays(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let module = &mut evidence.module;
    let mut halve = |variable: &mut Variable| {
        if let Some(count) = variable.count.filter(|count| *count > 1)
            && choice.take()
        {
            variable.count = Some(count / 2);
            let size = variable.size();
            variable.init.truncate(size as usize);
            variable.relocations.retain(|r| u64::from(r.offset) + u64::from(r.width) <= size);
        }
    };
    module.globals.values_mut().for_each(&mut halve);
    for func in module.functions.values_mut() {
        let taken = [func.params.clone(), func.returns.clone()].concat();
        func.locals.iter_mut().filter(|(id, _)| !taken.contains(id)).for_each(|(_, local)| halve(local));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_launch::{Buffer, Pointer, Structure};

    #[test]
    fn addresses_follow_the_argument_that_they_are_in() {
        let values = [
            ArgValue::Null,
            ArgValue::Buffer(Buffer { bytes: vec![0; 32], replicas: 2, ..Buffer::default() }),
            ArgValue::Alias { arg: 1, offset: 16 },
            ArgValue::Multicast { arg: 1, offset: 0 },
        ];
        let mut launch = Launch::new(None);
        launch.args.extend(values.into_iter().map(|value| Arg { name: None, value }));
        drop_argument(&mut launch, 0);
        let others = [ArgValue::Alias { arg: 0, offset: 16 }, ArgValue::Multicast { arg: 0, offset: 0 }];
        assert_eq!([1, 2].map(|at| launch.args[at].value.clone()), others);
        drop_argument(&mut launch, 0);
        assert!(launch.args.iter().all(|arg| arg.value == ArgValue::Null));
    }

    #[test]
    fn buffers_go_with_the_last_structure_that_has_their_address() {
        let buffer = || ArgValue::Buffer(Buffer { bytes: vec![0; 8], ..Buffer::default() });
        let structure = |args: &[usize]| {
            let pointers = args.iter().map(|arg| Pointer { at: 0, arg: *arg, offset: 0 }).collect();
            ArgValue::Structure(Structure { bytes: vec![0; 8], pointers })
        };
        let mut launch = Launch::new(None);
        let values = [structure(&[2]), structure(&[3]), buffer(), buffer()];
        launch.args.extend(values.into_iter().map(|value| Arg { name: None, value }));
        drop_argument(&mut launch, 0);
        drop_unnamed(&mut launch, 1);
        let left: Vec<ArgValue> = launch.args.into_iter().map(|arg| arg.value).collect();
        assert_eq!(left, [structure(&[1]), buffer()]);
    }
}
