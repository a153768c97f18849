//! Mutators of what stands around the instructions: functions, variables, parameters, directives, initial content.

use cranelift_entity::EntityRef;
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Block, Form, FuncId, Function, FunctionKind, Global, Inst, Local, Module, Operand, SymbolRef};

use super::choice::Choice;
use super::edit::{Substitution, become_plain, places};
use crate::report::Evidence;
use oriole_interp::launch::{ArgValue, Launch};

/// The function that a launch starts.
pub fn entry(evidence: &Evidence) -> Option<FuncId> {
    let launch = evidence.launch.as_ref()?;
    let mut entries = evidence.module.functions.iter().filter(|(_, func)| {
        func.kind == FunctionKind::Entry && launch.kernel.as_ref().is_none_or(|name| *name == func.name)
    });
    entries.next().map(|(id, _)| id)
}

/// Functions that nothing names and nobody launches, and variables that nothing names.
pub fn unused_symbols(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let (entry, named) = (entry(evidence), evidence.module.named_symbols());
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
                (Some(at), Some(launch)) if Some(id) == entry => drop_argument(launch, at),
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

/// Takes an argument out of a launch. Addresses within its buffer become null.
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
            _ => {}
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

/// Calls replaced by the body of the function, where that calls nothing itself.
pub fn inlined(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, inst) in places(&evidence.module) {
        let module = &evidence.module;
        let func = &module.functions[id];
        let data = func.inst(inst);
        let (Opcode::Call, Some(Operand::Func(callee))) = (data.opcode, func.srcs(inst).first()) else { continue };
        let body = &module.functions[*callee];
        let leaf = body.layout_insts().all(|i| body.inst(i).opcode != Opcode::Call);
        // Two functions in physical form use the same registers.
        let same = body.form == func.form && func.form != Form::Physical;
        if body.is_definition() && leaf && data.guard.is_none() && same && choice.take() {
            let body = body.clone();
            let func = &mut evidence.module.functions[id];
            inline(func, inst, &body);
            pass_in_registers(func);
        }
    }
}

fn inline(func: &mut Function, call: Inst, body: &Function) {
    let Some(block) = func.block_of(call) else { return };
    let srcs = func.srcs(call).to_vec();
    let rest = func.new_block_after(block);
    if let Some(after) = func.next_inst(call) {
        func.move_tail(after, rest);
    }
    rename_source(func, block, rest);
    let locals = map_locals(func, &srcs, body);
    let regs: Vec<_> = body.regs().values().map(|info| func.new_reg(*info)).collect();
    let blocks: Vec<Block> = body.blocks().keys().map(|_| func.create_block()).collect();
    let map = |func: &mut Function, operand: &Operand| match *operand {
        Operand::Block(block) => Operand::Block(blocks[block.index()]),
        Operand::Local(local) => Operand::Local(locals[local.index()]),
        Operand::Imm(imm) => func.imm(body.bits(imm)),
        other => other.map_reg(|reg| regs[reg.index()]),
    };
    for old in body.layout() {
        for inst in body.block_insts(*old) {
            let mut head = body.inst(inst).head();
            if let Some(guard) = &mut head.guard {
                *guard = guard.with_reg(regs[guard.reg().index()]);
            }
            let [dsts, srcs, elses] = [body.dsts(inst), body.srcs(inst), body.elses(inst)]
                .map(|list| list.iter().map(|operand| map(func, operand)).collect::<Vec<_>>());
            let new = func.new_inst(head, &dsts, &srcs, &elses);
            if head.opcode == Opcode::Ret {
                become_plain(func, new, Opcode::Bra, &[Operand::Block(rest)]);
            }
            func.append_inst(blocks[old.index()], new);
        }
    }
    become_plain(func, call, Opcode::Bra, &[Operand::Block(blocks[body.entry().index()])]);
    let mut layout = func.layout().to_vec();
    let at = layout.iter().position(|block| *block == rest).unwrap_or(layout.len());
    layout.splice(at..at, body.layout().iter().map(|old| blocks[old.index()]));
    func.set_layout(layout);
}

/// What is stored once to a variable for a call, and loaded as it was stored, is passed in a register. PTX has no other
/// way behind an inlined call: it takes such variables beside calls alone.
fn pass_in_registers(func: &mut Function) {
    let insts: Vec<Inst> = func.layout_insts().collect();
    let mut substitution = Substitution::default();
    for (local, variable) in &func.locals {
        if variable.space != Space::Param || func.params.contains(&local) || func.returns.contains(&local) {
            continue;
        }
        let named: Vec<Inst> = insts.iter().copied().filter(|inst| names(func, *inst, local)).collect();
        let (stores, loads): (Vec<Inst>, Vec<Inst>) =
            named.into_iter().partition(|inst| func.inst(*inst).opcode == Opcode::St);
        let &[store] = stores.as_slice() else { continue };
        let Some(&value) = func.srcs(store).get(2).filter(|_| is_whole(func, store, Opcode::St)) else { continue };
        let as_stored = |load: &Inst| {
            is_whole(func, *load, Opcode::Ld) && func.inst(*load).ty().bits() == func.inst(store).ty().bits()
        };
        if loads.iter().all(as_stored) {
            for load in loads {
                func.defs(load).for_each(|reg| substitution.replace(reg, value));
                substitution.remove(func, load);
            }
            substitution.remove(func, store);
        }
    }
    substitution.apply(func);
}

fn names(func: &Function, inst: Inst, local: Local) -> bool {
    func.inputs(inst).contains(&Operand::Local(local))
}

/// Whether an instruction accesses a variable from its beginning on, one value of at least a word, under no condition.
fn is_whole(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    let data = func.inst(inst);
    let begins = func.srcs(inst).get(1).is_some_and(|offset| func.imm_bits(*offset) == Some(0));
    data.opcode == opcode && data.guard.is_none() && data.vector_len() == 1 && data.ty().bits() >= 32 && begins
}

/// Phis behind a block that was split name its second half.
fn rename_source(func: &mut Function, block: Block, rest: Block) {
    for next in func.successors(rest).collect::<Vec<_>>() {
        for inst in func.block_insts(next).collect::<Vec<_>>() {
            if func.inst(inst).opcode == Opcode::Phi {
                let names = func.srcs_mut(inst).iter_mut().filter(|op| **op == Operand::Block(block));
                names.for_each(|op| *op = Operand::Block(rest));
            }
        }
    }
}

/// The caller's variable for each of the callee's: those of the call for parameters and results, copies for others.
fn map_locals(func: &mut Function, srcs: &[Operand], body: &Function) -> Vec<Local> {
    let results = srcs.get(1).and_then(|op| func.imm_bits(*op)).unwrap_or(0) as usize;
    let given =
        |at: usize| srcs.get(at).and_then(|op| if let Operand::Local(local) = op { Some(*local) } else { None });
    let mut out = Vec::new();
    for (local, variable) in &body.locals {
        let result = body.returns.iter().position(|other| *other == local).map(|at| 2 + at);
        let param = body.params.iter().position(|other| *other == local).map(|at| 2 + results + at);
        let known = result.or(param).and_then(given);
        let name = format!("{}.{}.{}", body.name, variable.name, func.locals.len());
        out.push(known.unwrap_or_else(|| {
            let variable = oriole_ir::Variable { name, ..variable.clone() };
            func.locals.push(variable)
        }));
    }
    out
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
    let mut halve = |variable: &mut oriole_ir::Variable| {
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
    use oriole_interp::launch::{Arg, Buffer};

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
}
