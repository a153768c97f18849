//! `memcpyopt`: copies of memory that change nothing (`spec/pass-pipeline.txt`, line 1225: MemCpyOpt).
//!
//! PTX has no instruction that copies memory: a copy is a load, and a store of what it has loaded. What LLVM's pass
//! does to whole copies is done to these. That a copy of a copy is one of the source, forwarding of loads sees
//! (`phases/commoning/forward.rs`); here the store goes that puts back what is there: of the very values that one load
//! has yielded, to the very bytes, where nothing behind the load may have changed them ([`MemorySsa::clobber`]). Such
//! stores are what is left of `a = b; b = a`, and of structures that are copied onto themselves.
//!
//! Cost: linear, but for walks up the states of memory.

use oriole_ir::ops::{Opcode, Order, Vector};
use oriole_ir::{Function, Inst, Operand};
use oriole_pass::analysis::memory::{Effect, Location};
use oriole_pass::analysis::{Cfg, Definitions, LoopNest, MemorySsa};
use oriole_pass::pass::{Changed, PhaseContext};

/// The memcpyopt pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let definitions = cx.analyses.get::<Definitions>(func);
    let copies: Vec<(Inst, Inst)> =
        func.layout_insts().filter_map(|store| Some((store, copied(func, store, &definitions)?))).collect();
    if copies.is_empty() {
        return Changed::No;
    }
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let memory = cx.analyses.get::<MemorySsa>(func);
    let mut changed = Changed::No;
    for (store, load) in copies {
        let same_place = match (memory.effect(load), memory.effect(store)) {
            (Effect::Reads(from), Effect::Writes(to)) => is_same(&from, &to),
            _ => false,
        };
        let is_there = same_place && memory.clobber(&cfg, &nest, store) == memory.clobber(&cfg, &nest, load);
        if is_there && cx.rewrite("store-what-is-there") {
            func.remove_inst(store);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The load whose values, all of them and in order, a plain store writes.
fn copied(func: &Function, store: Inst, definitions: &Definitions) -> Option<Inst> {
    let values = func.srcs(store).get(2..).filter(|_| is_plain(func, store, Opcode::St))?;
    let load = definitions.inst(values.first()?.whole_reg()?).filter(|load| is_plain(func, *load, Opcode::Ld))?;
    let (to, from) = (func.inst(store), func.inst(load));
    let same_bytes = to.ty().bits() == from.ty().bits() && to.vector_len() == from.vector_len();
    let same_values = values.iter().all(|value| matches!(value, Operand::Reg(_))) && values == func.dsts(load);
    (same_bytes && same_values).then_some(load)
}

fn is_plain(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    let data = func.inst(inst);
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    data.opcode == opcode && data.guard.is_none() && is_weak && data.field::<Vector>().is_some()
}

/// Whether two accesses are of the same bytes.
fn is_same(a: &Location, b: &Location) -> bool {
    let place = |at: &Location| (at.space, at.root, at.offset, at.bits, at.size);
    let is_known = !matches!(a.root, oriole_pass::analysis::memory::Root::Unknown);
    is_known && !a.fixed && place(a) == place(b)
}
