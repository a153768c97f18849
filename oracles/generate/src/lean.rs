//! Kernels without the parts of their frame that nothing in them uses.
//!
//! The frame of a kernel has variables of every width and memory of every space, so that the body can use what it
//! wants. Around a single instruction that is ten times as much code as the instruction itself, and a compiler that is
//! not ours takes its time for each line and each symbol. Here the frame loses what the body does not name: stores of
//! variables that are what they were, memory that nobody reads or writes, and what led to them.

use std::collections::HashSet;
use std::ops::Range;

use oriole_ir::ops::{Opcode, Space, SpecialReg, Type, Vector};
use oriole_ir::{Function, Global, Inst, InstBuilder, Module, Operand, Reg, Rewriter, SymbolRef};

use super::builder::Builder;
use super::memory::Region;

/// What the instructions of a body name.
pub(super) struct Named {
    operands: HashSet<Operand>,
    /// The registers that they write.
    written: HashSet<Reg>,
}

impl Named {
    /// Of the instructions that a function has got since it had so many.
    pub(super) fn since(func: &Function, first: usize) -> Named {
        let body: Vec<Inst> = func.layout_insts().filter(|inst| inst.as_u32() as usize >= first).collect();
        let named = |inst: &Inst| {
            let inst = *inst;
            let regs = func.defs(inst).chain(func.uses(inst)).map(Operand::Reg);
            regs.chain(func.srcs(inst).iter().copied().filter(|src| src.reg().is_none()))
        };
        let written = body.iter().flat_map(|inst| func.defs(*inst)).collect();
        Named { operands: body.iter().flat_map(named).collect(), written }
    }

    /// Whether a register is written.
    pub(super) fn writes(&self, reg: Reg) -> bool {
        self.written.contains(&reg)
    }

    /// Whether a register or a variable is named.
    pub(super) fn has(&self, operand: impl Into<Operand>) -> bool {
        self.operands.contains(&operand.into())
    }
}

impl Builder<'_, '_> {
    /// Forgets shared and local memory that a body does not name, so that it is neither filled nor stored.
    pub(super) fn forget_regions(&mut self, named: &Named, body: usize) {
        let shared = self.shared.is_some_and(|reg| named.has(reg));
        let is_named = |region: &Region| {
            let own = region.generic.is_some_and(|reg| named.has(reg)) || named.has(region.base);
            own || region.space == Space::Shared && shared
        };
        let (kept, forgotten): (Vec<Region>, Vec<Region>) = std::mem::take(&mut self.regions)
            .into_iter()
            .partition(|region| !region.is_transient() || is_named(region));
        self.regions = kept;
        let func = &mut self.func;
        let fills = |func: &Function, inst: Inst| {
            let base = func.srcs(inst).first();
            func.inst(inst).opcode == Opcode::St && forgotten.iter().any(|region| base == Some(&region.base))
        };
        let entry = func.entry();
        func.retain_insts(entry, |func, inst| inst.as_u32() as usize >= body || !fills(func, inst));
    }
}

/// Takes out the instructions in front of the body, which makes nothing but values, that nothing reads any more.
pub(super) fn forget_unread(func: &mut Function, body: usize) {
    let front = func.layout_insts().filter(|inst| (inst.as_u32() as usize) < body);
    let front: Vec<Inst> = front.collect();
    let mut rewriter = Rewriter::new(func);
    for inst in front.into_iter().rev() {
        let results: Vec<Reg> = rewriter.defs(inst).collect();
        // What has no result is a store, which fills memory that is used.
        if !results.is_empty() && results.iter().all(|reg| rewriter.def_use().read_count(*reg) == 0) {
            rewriter.remove(inst);
        }
    }
}

/// Takes out the variables that nothing names, and those that these alone name. Shared ones stay where code reads how
/// much shared memory there is.
pub(super) fn forget_unnamed(module: &mut Module) {
    let sized = module.functions.values().any(reads_shared_size);
    loop {
        let named = module.named_symbols();
        let is_unnamed = |id: &Global| {
            let variable = &module.globals[*id];
            let is_counted = sized && variable.space == Space::Shared;
            !named.contains(&SymbolRef::Global(*id)) && !variable.ty.is_reference() && !is_counted
        };
        let unnamed: Vec<Global> = module.globals.keys().filter(is_unnamed).collect();
        if unnamed.is_empty() {
            return;
        }
        module.remove_symbols(&[], &unnamed);
    }
}

fn reads_shared_size(func: &Function) -> bool {
    let sizes = [SpecialReg::TotalSmemSize, SpecialReg::AggrSmemSize].map(Operand::Special);
    func.layout_insts().any(|inst| func.srcs(inst).iter().any(|src| sizes.contains(src)))
}

/// A load or a store of one value of the thread's own memory, as the frame has them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Access {
    opcode: Opcode,
    ty: Type,
    base: Operand,
    offset: u64,
}

impl Access {
    fn of(func: &Function, inst: Inst) -> Option<Access> {
        let data = func.inst(inst);
        let is_single = data.field() == Some(Space::Global) && data.field() == Some(Vector::V1) && data.guard.is_none();
        let (Opcode::Ld | Opcode::St, [base, offset, ..], true) = (data.opcode, func.srcs(inst), is_single) else {
            return None;
        };
        // A thread's own memory is aligned to 16 bytes; its address is in a register.
        base.reg()?;
        Some(Access { opcode: data.opcode, ty: data.field()?, base: *base, offset: func.imm_bits(*offset)? })
    }

    /// The access that continues where this one ends, after some others.
    fn beside(self, others: u64) -> Access {
        Access { offset: self.offset + others * u64::from(self.ty.bits() / 8), ..self }
    }

    /// As how long a vector a run of so many is begun: one of 8 or 16 bytes that is aligned.
    fn vector(self, run: usize) -> Option<(usize, Vector)> {
        let bytes = u64::from(self.ty.bits() / 8);
        let fits = |count: usize| {
            let size = count as u64 * bytes;
            count <= run && size <= 16 && self.offset.is_multiple_of(size)
        };
        [(4, Vector::V4), (2, Vector::V2)].into_iter().find(|(count, _)| fits(*count))
    }
}

/// Joins the loads in front of the body and the stores behind it that are beside each other to vectors: an access takes
/// ptxas as long as three operations.
pub(super) fn join_accesses(func: &mut Function, body: Range<usize>) {
    let frame = func.layout_insts().filter(|inst| !body.contains(&(inst.as_u32() as usize)));
    let accesses: Vec<(Inst, Access)> = frame.filter_map(|inst| Some((inst, Access::of(func, inst)?))).collect();
    let mut rest = &accesses[..];
    while let [(first, access), ..] = rest {
        let goes_on = |(at, (inst, other)): &(usize, &(Inst, Access))| {
            func.block_of(*inst) == func.block_of(*first) && *other == access.beside(*at as u64)
        };
        let Some((count, vector)) = access.vector(rest.iter().enumerate().take_while(goes_on).count()) else {
            rest = &rest[1..];
            continue;
        };
        let (together, others) = rest.split_at(count);
        rest = others;
        let mut joined = Builder::typed(access.opcode, access.ty).field(Space::Global).field(vector);
        joined = joined.src(access.base).src(access.offset);
        for (inst, _) in together {
            joined = func.defs(*inst).fold(joined, InstBuilder::dst).srcs(func.srcs(*inst)[2..].iter().copied());
        }
        // All that is stored is there before the first store.
        joined.insert_before(func, *first);
        together.iter().for_each(|(inst, _)| func.remove_inst(*inst));
    }
}
