//! Sums of shifted values: ptxas has both as one instruction (`LEA`) where they are in one block, and shifts and adds
//! by words where they do not. A shift of the entry block is written again before the sums of other blocks.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, InstData, Operand, Reg};

/// A value of 64 bits that is shifted to the left.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    from: Reg,
    amount: u64,
}

/// What `LEA` can shift by.
const AMOUNTS: std::ops::RangeInclusive<u64> = 1..=31;

/// What the entry block shifts by constants, by the register that it comes to. Everything that reads such a register
/// finds there what it would by shifting anew: the block is executed once, and nothing else writes the register or
/// what it is made from.
pub(super) fn entry_shifts(func: &Function) -> FxHashMap<Reg, Shift> {
    let Some(entry) = func.layout().first().copied() else { return FxHashMap::default() };
    let mut shifts: FxHashMap<Reg, Shift> = func.block_insts(entry).filter_map(|inst| shift_of(func, inst)).collect();
    let is_repeated = || func.layout().iter().any(|block| func.successors(*block).any(|next| next == entry));
    if shifts.is_empty() || is_repeated() {
        return FxHashMap::default();
    }
    let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
    func.layout_insts().flat_map(|inst| func.defs(inst)).for_each(|reg| definitions[reg] += 1);
    // What the entry block has written so far, and nothing else writes.
    let mut settled: SecondaryMap<Reg, bool> = SecondaryMap::new();
    for inst in func.block_insts(entry) {
        if let Some((to, shift)) = shift_of(func, inst)
            && !(settled[shift.from] && definitions[to] == 1)
        {
            shifts.remove(&to);
        }
        func.defs(inst).for_each(|reg| settled[reg] = definitions[reg] == 1);
    }
    shifts
}

/// A shift by a constant that always happens, and where it goes.
fn shift_of(func: &Function, inst: Inst) -> Option<(Reg, Shift)> {
    let data = func.inst(inst);
    let (&[Operand::Reg(to)], &[Operand::Reg(from), amount]) = (func.dsts(inst), func.srcs(inst)) else {
        return None;
    };
    let amount = func.imm_bits(amount).filter(|amount| AMOUNTS.contains(amount))?;
    let shifts = data.opcode == Opcode::Shl && data.ty().bits() == 64 && data.guard.is_none();
    shifts.then_some((to, Shift { from, amount }))
}

impl FunctionWriter<'_> {
    /// Which operand of a sum is a shift of the entry block, where the sum is in another block.
    pub(super) fn shifted_addend(&self, inst: Inst) -> Option<(usize, Shift)> {
        let func = self.func;
        if self.entry_shifts.is_empty() || func.inst(inst).ty().bits() != 64 {
            return None;
        }
        if func.block_of(inst) == func.layout().first().copied() {
            return None;
        }
        let shift = |operand: &Operand| self.entry_shifts.get(&operand.reg()?).copied();
        func.srcs(inst).iter().enumerate().find_map(|(at, operand)| Some((at, shift(operand)?)))
    }

    pub(super) fn sum_of_shift(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let (Some((at, shift)), Some(name)) = (self.shifted_addend(inst), self.mnemonic(data)) else {
            return Err(self.refuse("PTX has no such instruction"));
        };
        let shapes = data.src_shapes(self.func.srcs(inst).len());
        let mut sources = self.sources(inst, data, &shapes)?;
        let again = self.temp(Temp::Double);
        let from = self.reg(shift.from);
        self.line(format_args!("shl.b64 {again}, {from}, {}", shift.amount));
        sources[at] = again;
        self.with_results(inst, data, &name, &sources)
    }
}
