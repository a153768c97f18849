//! `constmerge`: one variable in place of several with the same content (`spec/pass-pipeline.txt`, line 126:
//! ConstantMerge).
//!
//! A variable is a constant if no other module can name it and every use of its address in this one is a load, by the
//! name or by what copies, conversions and sums make of it ([`Addresses`]). Then nothing writes it, and nothing can
//! tell it from another one with the same bytes: an address that is compared, stored or passed is another use.
//! Constants of one space, type and content become the first of them, which is aligned as any of them was.
//!
//! A variable in global memory stays, also where nothing writes it: what it holds at the end belongs to the result.
//!
//! Cost: linear in the instructions of the module, and in the bytes of its variables.

use std::collections::HashMap;

use cranelift_entity::{EntitySet, SecondaryMap};

use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{Form, Function, Global, Inst, Linkage, Module, Operand, Relocation, SymbolRef, Variable};
use oriole_pass::analysis::{Addresses, Variable as Pointee};
use oriole_pass::pass::{Changed, ModuleContext};

/// The constmerge pass.
pub fn run(module: &mut Module, cx: &mut ModuleContext<'_>) -> Changed {
    let constants = constants(module, cx);
    let mut first: HashMap<Content<'_>, Global> = HashMap::new();
    let mut merged: SecondaryMap<Global, Option<Global>> = SecondaryMap::new();
    let mut gone = Vec::new();
    for (global, variable) in module.globals.iter().filter(|(global, _)| constants.contains(*global)) {
        let representative = *first.entry(content(variable)).or_insert(global);
        if representative != global && cx.rewrite("merge-constants") {
            merged[global] = Some(representative);
            gone.push(global);
        }
    }
    if gone.is_empty() {
        return Changed::No;
    }
    for global in &gone {
        let representative = merged[*global].expect("what goes is merged with another");
        let align = module.globals[*global].align.max(module.globals[representative].align);
        module.globals[representative].align = align;
    }
    module.functions.values_mut().for_each(|func| rename(func, &merged));
    cx.remove_symbols(module, &[], &gone);
    Changed::Yes
}

/// The things that merged constants have in common.
type Content<'a> = (u8, Type, Option<u64>, &'a [u8], &'a [Relocation]);

fn content(variable: &Variable) -> Content<'_> {
    (variable.space as u8, variable.ty, variable.count, variable.init.as_slice(), &variable.relocations)
}

/// The variables that nothing writes and whose address nothing learns.
fn constants(module: &Module, cx: &mut ModuleContext<'_>) -> EntitySet<Global> {
    let is_own = |variable: &Variable| {
        let has_content = !variable.init.is_empty() || !variable.relocations.is_empty();
        variable.linkage == Linkage::Internal && has_content && variable.space == Space::Const
    };
    let mut found = EntitySet::<Global>::new();
    found.extend(module.globals.iter().filter(|(_, variable)| is_own(variable)).map(|(global, _)| global));
    let locals = module.functions.values().flat_map(|func| func.locals.values());
    for relocation in module.globals.values().chain(locals).flat_map(|variable| &variable.relocations) {
        if let SymbolRef::Global(global) = relocation.symbol {
            found.remove(global);
        }
    }
    for (id, func) in &module.functions {
        if func.layout_insts().any(|inst| func.inputs(inst).iter().any(|operand| matches!(operand, Operand::Global(_))))
        {
            let addresses = cx.analyses.of(id).get::<Addresses>(func);
            func.layout_insts().for_each(|inst| leave_out(func, inst, &addresses, &mut found));
        }
    }
    found
}

/// Leaves out the variables whose address an instruction uses otherwise than for a load or for another address.
fn leave_out(func: &Function, inst: Inst, addresses: &Addresses, found: &mut EntitySet<Global>) {
    let variable = |operand: Operand| match operand {
        Operand::Global(global) => Some(global),
        _ if func.form != Form::Ssa => None,
        _ => match addresses.pointer(func, operand)?.variable? {
            Pointee::Global(global) => Some(global),
            Pointee::Local(_) => None,
        },
    };
    let is_load = func.inst(inst).opcode == Opcode::Ld;
    let made = func.dsts(inst).first().and_then(|dst| variable(*dst));
    for (place, operand) in func.inputs(inst).iter().enumerate() {
        let Some(global) = variable(*operand) else { continue };
        if !(is_load && place == 0) && made != Some(global) {
            found.remove(global);
        }
    }
}

/// Has a function name the variables that are left.
fn rename(func: &mut Function, merged: &SecondaryMap<Global, Option<Global>>) {
    let names = |func: &Function, inst: Inst| {
        func.inputs(inst).iter().any(|operand| matches!(operand, Operand::Global(of) if merged[*of].is_some()))
    };
    let naming: Vec<Inst> = func.layout_insts().filter(|inst| names(func, *inst)).collect();
    for inst in naming {
        for operand in func.inputs_mut(inst) {
            if let Operand::Global(global) = operand {
                *global = merged[*global].unwrap_or(*global);
            }
        }
    }
}
