//! Calls replaced by the body of the function.

use cranelift_entity::EntityRef;
use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{Block, Form, FuncId, Function, Inst, InstBuilder, Local, Module, Operand, RegInfo, Variable};
use oriole_launch::{Arg, ArgValue, Scalar, ScalarType};

use super::choice::Choice;
use super::edit::{Substitution, become_plain, places};
use super::items::entry;
use crate::report::Evidence;

/// Calls replaced by the body of the function, where that calls nothing itself.
pub fn inlined(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for (id, _, call) in places(&evidence.module) {
        if let Some(callee) = inlinable(&evidence.module, id, call).filter(|_| choice.take()) {
            replace(&mut evidence.module, id, call, callee);
        }
    }
}

/// The same, and constants that the kernel passes come from parameters of its own: what a compiler knows of them may be
/// what a finding is hidden by once the call is gone.
pub fn inlined_unknown(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let kernel = entry(evidence);
    for (id, _, call) in places(&evidence.module) {
        let Some(callee) = inlinable(&evidence.module, id, call).filter(|_| Some(id) == kernel) else { continue };
        let passed = constants_for(&evidence.module.functions[id], call);
        if !passed.is_empty() && choice.take() {
            passed.into_iter().for_each(|store| from_parameter(evidence, id, store));
            replace(&mut evidence.module, id, call, callee);
        }
    }
}

/// The function that a call can be replaced by.
fn inlinable(module: &Module, id: FuncId, call: Inst) -> Option<FuncId> {
    let func = &module.functions[id];
    let data = func.inst(call);
    let &Operand::Func(callee) = func.srcs(call).first().filter(|_| data.opcode == Opcode::Call)? else { return None };
    let body = &module.functions[callee];
    let leaf = body.layout_insts().all(|inst| body.inst(inst).opcode != Opcode::Call);
    // Two functions in physical form use the same registers.
    let same = body.form == func.form && func.form != Form::Physical;
    (body.is_definition() && leaf && data.guard.is_none() && same).then_some(callee)
}

fn replace(module: &mut Module, id: FuncId, call: Inst, callee: FuncId) {
    let body = module.functions[callee].clone();
    let func = &mut module.functions[id];
    inline(func, call, &body);
    pass_in_registers(func);
}

/// The stores of constants to variables that a call passes.
fn constants_for(func: &Function, call: Inst) -> Vec<Inst> {
    let passes = |inst: &Inst| func.srcs(*inst).first().is_some_and(|base| func.srcs(call).contains(base));
    let constant = |inst: &Inst| func.srcs(*inst).get(2).is_some_and(|value| func.imm_bits(*value).is_some());
    let insts = func.layout_insts();
    insts.filter(|inst| is_whole(func, *inst, Opcode::St) && passes(inst) && constant(inst)).collect()
}

/// A parameter of the kernel stands for the constant that is stored.
fn from_parameter(evidence: &mut Evidence, id: FuncId, store: Inst) {
    let (func, Some(launch)) = (&mut evidence.module.functions[id], &mut evidence.launch) else { return };
    let &[base, offset, value] = func.srcs(store) else { return };
    let (ty, scalar) = match func.inst(store).ty().bits() {
        64 => (Type::U64, ScalarType::U64),
        32 => (Type::U32, ScalarType::U32),
        _ => return,
    };
    let Some(bits) = func.imm_bits(value) else { return };
    let free = |name: &String| func.locals.values().all(|variable| variable.name != *name);
    let Some(name) = (0..).map(|number| format!("u{number}")).find(free) else { return };
    let local = func.locals.push(Variable::new(name, Space::Param, ty, None));
    // It is the last parameter's argument; behind it there may be buffers of structures, whose places move.
    let at = func.params.len().min(launch.args.len());
    func.params.push(local);
    for arg in &mut launch.args {
        if let ArgValue::Structure(structure) = &mut arg.value {
            structure.pointers.iter_mut().filter(|pointer| pointer.arg >= at).for_each(|pointer| pointer.arg += 1);
        }
    }
    launch.args.insert(at, Arg { name: None, value: ArgValue::Scalar(Scalar::from_bits(scalar, bits)) });
    let loaded = func.new_reg(RegInfo::of(ty));
    let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Param).dst(loaded);
    load.src(Operand::Local(local)).src(Operand::imm(0)).insert_before(func, store);
    func.set_srcs(store, &[base, offset, loaded.into()]);
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
        Operand::Imm(_) | Operand::Name(_) => func.adopt(body, *operand),
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
            let variable = Variable { name, ..variable.clone() };
            func.locals.push(variable)
        }));
    }
    out
}
