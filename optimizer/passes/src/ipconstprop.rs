//! `ipconstprop`: constants that calls pass (`spec/pass-pipeline.txt`, line 1194: IPConstantPropagation).
//!
//! A parameter is a constant if every call of the function is known and stores that constant, or nothing, in the
//! variable that it passes. A result is one if the function's body stores that constant, or nothing, as its result,
//! and no other module may put another body in its place. Loads of such a parameter or result are copies of the
//! constant. A variable that is never stored to is undefined, so the constant refines it. The stores stay:
//! `deadargelim` removes what nobody reads then.
//!
//! The order of stores and calls does not matter: all stores to a variable store the same. A variable is looked at if
//! nothing but loads, stores and calls by name names it.
//!
//! Cost: linear in the instructions of the module.

use cranelift_entity::EntityRef;

use super::calls::{KnownCalls, Site, arguments, callee, is_load, local_of, results};
use super::inline::weak_is_final;
use super::stored::{Content, Stored};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Form, FuncId, Function, Inst, InstHead, Linkage, Local, Module, Operand};
use oriole_pass::analysis::{CallGraph, Definitions};
use oriole_pass::pass::{Changed, ModuleContext};
use oriole_pass::peephole::rewrite::mov_fields;

/// The constant that a store puts in the whole of a variable.
fn content(func: &Function, definitions: &Definitions, store: Inst, local: Local) -> Option<u64> {
    let &[_, offset, value] = func.srcs(store) else { return None };
    let copied = definitions.unguarded(func, value, Opcode::Mov).map_or(value, |mov| func.srcs(mov)[0]);
    let width = func.inst(store).ty().bits();
    let is_whole = func.imm_bits(offset) == Some(0) && u64::from(width) == 8 * func.locals[local].size() && width <= 64;
    let bits = func.imm_bits(copied).filter(|_| is_whole)?;
    Some(bits & (u64::MAX >> (64 - width)))
}

/// The constants that the stores of a function put in its variables.
fn constants(func: &Function) -> Stored<u64> {
    let definitions = Definitions::new(func);
    Stored::of(func, |store, local| content(func, &definitions, store, local))
}

/// The ipconstprop pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let graph = cx.analyses.get::<CallGraph>(module);
    let stored: Vec<Stored<u64>> = module.functions.values().map(constants).collect();
    let calls = KnownCalls::new(module, &graph);
    let weak_is_final = weak_is_final(module, cx);
    let ids: Vec<FuncId> = module.functions.keys().collect();
    let mut known: Vec<Vec<(Local, u64)>> = vec![Vec::new(); ids.len()];
    for id in &ids {
        known[id.index()] = parameters(module, *id, &calls, &stored);
    }
    for (id, found) in ids.iter().zip(&mut known) {
        found.extend(filled(module, *id, &stored, weak_is_final));
    }
    let mut changed = Changed::No;
    for (id, known) in ids.iter().zip(known).filter(|(_, known)| !known.is_empty()) {
        changed |= cx.function(module, *id, |func, cx| {
            let loads: Vec<Inst> = func.layout_insts().filter(|inst| is_load(func, *inst)).collect();
            let each = |changed, load| changed | Changed::when(replace(func, load, &known, |rule| cx.rewrite(rule)));
            loads.into_iter().fold(Changed::No, each)
        });
    }
    changed
}

/// The parameters of a function that every call passes the same constant.
fn parameters(module: &Module, id: FuncId, calls: &KnownCalls, stored: &[Stored<u64>]) -> Vec<(Local, u64)> {
    let (func, Some(sites)) = (&module.functions[id], calls.all(id)) else { return Vec::new() };
    let passed = |place: usize, (caller, call): &Site, size: u64| {
        let func = &module.functions[*caller];
        let given = arguments(func, *call).nth(place).expect("the call passes what the function has");
        let fits = func.locals[given].size() == size;
        if fits { stored[caller.index()].passed(func, given) } else { Content::Varying }
    };
    let constant = |(place, local): (usize, &Local)| {
        let size = func.locals[*local].size();
        let each = |content: Content<u64>, site| content.join(passed(place, site, size));
        match sites.iter().fold(Content::Nothing, each) {
            Content::Known(bits) if stored[id.index()].is_read_alone(*local) => Some((*local, bits)),
            _ => None,
        }
    };
    func.params.iter().enumerate().filter_map(constant).collect()
}

/// The variables of a function that calls fill with the same constant.
fn filled(module: &Module, id: FuncId, stored: &[Stored<u64>], weak_is_final: bool) -> Vec<(Local, u64)> {
    let func = &module.functions[id];
    let mut contents = vec![Content::Nothing; func.locals.len()];
    for (inst, callee) in func.layout_insts().filter_map(|inst| Some((inst, callee(func, inst)?))) {
        let body = &module.functions[callee];
        for (place, local) in results(func, inst).enumerate() {
            let result = body.returns.get(place).filter(|_| is_final(body, weak_is_final));
            let fits = |result: &&Local| body.locals[**result].size() == func.locals[local].size();
            let content = result.filter(fits).map_or(Content::Varying, |of| stored[callee.index()].passed(body, *of));
            // What a body never stores is undefined; nothing is gained by a constant of our own.
            contents[local.index()] = contents[local.index()].join(content);
        }
    }
    let constant = |(local, content): (Local, Content<u64>)| match content {
        Content::Known(bits) if stored[id.index()].is_read_alone(local) => Some((local, bits)),
        _ => None,
    };
    func.locals.keys().zip(contents).filter_map(constant).collect()
}

/// Whether a function does what its body here does.
fn is_final(body: &Function, weak_is_final: bool) -> bool {
    let is_own = body.linkage != Linkage::Extern && (body.linkage != Linkage::Weak || weak_is_final);
    is_own && body.is_definition() && body.form == Form::Ssa
}

/// Makes a copy of a constant of a load of one of these variables, where it loads the whole of it.
fn replace(func: &mut Function, load: Inst, known: &[(Local, u64)], leave: impl FnOnce(&'static str) -> bool) -> bool {
    let local = local_of(&func.srcs(load)[0]);
    let Some((local, bits)) = known.iter().find(|(of, _)| Some(*of) == local).copied() else { return false };
    let ty = func.inst(load).ty();
    let is_whole = func.dsts(load).len() == 1
        && func.imm_bits(func.srcs(load)[1]) == Some(0)
        && u64::from(ty.bits()) == 8 * func.locals[local].size();
    if !is_whole || !leave("constant-through-call") {
        return false;
    }
    let shift = 64 - ty.bits();
    // A load extends what is narrower than a word by the sign of its type.
    let extended =
        if ty.is_signed() && ty.bits() < 32 { u64::from((((bits << shift) as i64) >> shift) as u32) } else { bits };
    let InstHead { guard, line, .. } = func.inst(load).head();
    let (dsts, elses) = (func.dsts(load).to_vec(), func.elses(load).to_vec());
    let width = if ty.bits() == 64 { Type::B64 } else { Type::B32 };
    let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(width), guard, line };
    let value: Operand = func.imm(extended);
    func.set_inst(load, head, &dsts, &[value], &elses);
    true
}
