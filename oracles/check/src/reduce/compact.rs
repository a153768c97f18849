//! Numbers and names: registers and blocks counted from 0 in program order, arenas without leftovers, short names.

use std::collections::HashSet;

use cranelift_entity::{EntityRef, SecondaryMap};
use oriole_ir::{Block, Form, FuncId, Function, Linkage, Module, Operand, Reg};

use super::items::entry;
use crate::report::Evidence;

/// The same evidence with registers and blocks numbered in the order in which they occur.
pub fn renumbered(evidence: &Evidence) -> Evidence {
    Evidence { module: renumbered_module(&evidence.module), ..evidence.clone() }
}

/// The same module so numbered: two that differ in numbers alone become equal.
pub fn renumbered_module(module: &Module) -> Module {
    let mut out = module.clone();
    for func in out.functions.values_mut() {
        *func = renumber(func);
    }
    out
}

fn renumber(old: &Function) -> Function {
    let mut new = Function::new(old.name.clone(), old.kind);
    (new.level, new.form, new.linkage) = (old.level, old.form, old.linkage);
    (new.params, new.returns) = (old.params.clone(), old.returns.clone());
    (new.directives, new.locals) = (old.directives.clone(), old.locals.clone());
    let mut blocks: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    // Blocks and registers get their numbers before any instruction is copied: branches and phis name what comes
    // later.
    for block in old.layout() {
        blocks[*block] = Some(new.new_block());
    }
    let mut regs: SecondaryMap<Reg, Option<Reg>> = SecondaryMap::new();
    let insts = || old.layout_insts();
    for reg in insts().flat_map(|inst| old.defs(inst).chain(old.uses(inst))) {
        if regs[reg].is_none() {
            regs[reg] = Some(new.new_reg(old.regs()[reg]));
        }
    }
    if old.form == Form::Physical {
        // The machine's registers are what they are called.
        new.use_physical_registers();
        regs.clear();
    }
    let reg = |reg: Reg| regs[reg].unwrap_or(reg);
    let map = |new: &mut Function, operand: &Operand| match *operand {
        Operand::Block(block) => Operand::Block(blocks[block].unwrap_or(block)),
        Operand::Imm(imm) => new.imm(old.bits(imm)),
        other => other.map_reg(reg),
    };
    for (at, block) in old.layout().iter().enumerate() {
        for inst in old.block_insts(*block) {
            let mut head = old.inst(inst).head();
            if let Some(guard) = &mut head.guard {
                *guard = guard.with_reg(reg(guard.reg()));
            }
            let lists = [old.dsts(inst), old.srcs(inst), old.elses(inst)];
            let [dsts, srcs, elses] =
                lists.map(|list| list.iter().map(|operand| map(&mut new, operand)).collect::<Vec<_>>());
            let schedule = old.schedule(inst);
            let inst = new.new_inst(head, &dsts, &srcs, &elses);
            // Blocks were made in the order of the layout, so a place in it is a number.
            new.append_inst(Block::new(at), inst);
            if schedule.is_some() {
                new.set_schedule(inst, schedule);
            }
        }
    }
    new
}

/// The same evidence with short names: `k` for the kernel, `f1` for other functions, `g0` for variables, `p0` for
/// parameters. What is defined elsewhere keeps its name, since the name is its meaning.
pub fn renamed(evidence: &Evidence) -> Evidence {
    let mut out = evidence.clone();
    let launched = entry(evidence);
    let module = &mut out.module;
    let mut taken: HashSet<String> = HashSet::new();
    let outside = module.functions.values().filter(|func| !func.is_definition()).map(|func| &func.name);
    let extern_globals = module.globals.values().filter(|global| global.linkage == Linkage::Extern);
    taken.extend(outside.chain(extern_globals.map(|global| &global.name)).cloned());
    let free = |name: String| if taken.contains(&name) { None } else { Some(name) };
    for (id, func) in &mut module.functions {
        locals(func);
        let name = if Some(id) == launched { "k".to_owned() } else { function_name(id) };
        if let Some(name) = free(name).filter(|_| func.is_definition()) {
            func.name = name;
        }
    }
    for (id, global) in &mut module.globals {
        if let Some(name) = free(format!("g{}", id.index())).filter(|_| global.linkage != Linkage::Extern) {
            global.name = name;
        }
    }
    if let (Some(id), Some(launch)) = (launched, &mut out.launch) {
        launch.kernel = launch.kernel.as_ref().map(|_| out.module.functions[id].name.clone());
    }
    out
}

fn function_name(id: FuncId) -> String {
    format!("f{}", id.index())
}

fn locals(func: &mut Function) {
    for (at, local) in func.locals.values_mut().enumerate() {
        local.name = format!("v{at}");
    }
    for (prefix, list) in [("p", func.params.clone()), ("r", func.returns.clone())] {
        for (at, local) in list.into_iter().enumerate() {
            func.locals[local].name = format!("{prefix}{at}");
        }
    }
}
