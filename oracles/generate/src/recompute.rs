//! Operations that were made before, once more: equal expressions in one block, down the dominator tree, on both sides
//! of branches. Some have their first operands exchanged, the opposite guard, or a type of the other sign, and some
//! another operand, so that they are no equals.
//!
//! Left to chance, two operations of one kernel hardly ever have the same operands. Those of other blocks are repeated
//! where they read variables alone, which are defined everywhere, and may have changed since.

use oriole_ir::ops::{Compare, FieldValue, FieldValues, Flags, Opcode, Type};
use oriole_ir::{Block, Guard, InstBuilder, Operand, Reg, RegInfo};

use super::Entropy;
use super::builder::Builder;
use super::insts::result_info;

/// How many operations are remembered: as many as a few stretches have.
const REMEMBERED: usize = 24;

/// An operation, apart from its destinations.
#[derive(Clone, Debug)]
pub(super) struct Made {
    opcode: Opcode,
    fields: FieldValues,
    srcs: Vec<Operand>,
    guard: Option<Guard>,
    block: Block,
}

impl Builder<'_, '_> {
    /// Remembers an operation, in the place of the oldest one.
    pub(super) fn remember(&mut self, opcode: Opcode, fields: FieldValues, srcs: &[Operand], guard: Option<Guard>) {
        let made = Made { opcode, fields, srcs: srcs.to_vec(), guard, block: self.block };
        if self.made.len() == REMEMBERED {
            self.made.pop_front();
        }
        self.made.push_back(made);
    }

    /// An operation that was made before.
    pub(super) fn recompute(&mut self) {
        let here: Vec<usize> = (0..self.made.len()).filter(|at| self.is_defined_here(&self.made[*at])).collect();
        if here.is_empty() {
            return;
        }
        let at = self.entropy.choose(&here);
        let Made { opcode, mut fields, mut srcs, mut guard, .. } = self.made[at].clone();
        let worded = srcs.iter().any(|operand| matches!(operand, Operand::Word(..)));
        // Few operations read words, and which word it is decides.
        let how = if worded && self.entropy.percent(50) { 2 } else { self.entropy.below(8) };
        match how {
            0 | 1 if is_exchangeable(opcode) => {
                exchange(opcode, &mut fields, &mut srcs, self.entropy);
            }
            2 => {
                self.exchange_one(&mut srcs);
                // The new operand may be one that leaves the result open.
                if let Some(ty) = opcode.row().value::<Type>(&fields) {
                    self.specify(opcode, ty, &mut srcs);
                }
            }
            3 => fields = other_sign(opcode, &fields).unwrap_or(fields),
            4 => guard = guard.map(Guard::opposite),
            5 => return self.twins(opcode, fields, &srcs, guard),
            _ => {}
        }
        self.operation_under(guard, opcode, fields, &srcs);
    }

    /// The operation twice, under guards that are opposite or the same, over old values that are the same or not.
    fn twins(&mut self, opcode: Opcode, fields: FieldValues, srcs: &[Operand], guard: Option<Guard>) {
        let row = opcode.row();
        let [shape] = row.dsts else { return };
        let info = result_info(row, &fields, *shape, srcs.len());
        if info.is_predicate() || info.words > 2 {
            return;
        }
        let ty = if info.words == 1 { Type::B32 } else { Type::B64 };
        let guard = guard.unwrap_or_else(|| Guard::new(self.register(RegInfo::PRED), false));
        let same = self.entropy.percent(60);
        for guard in [guard, if self.entropy.percent(60) { guard.opposite() } else { guard }] {
            let old = if same { Operand::imm(5) } else { self.value(ty) };
            let to = self.hidden(Self::typed(Opcode::Mov, ty).src(old), info);
            let inst = InstBuilder::new(opcode).fields(fields).srcs(srcs.iter().copied()).guard(Some(guard));
            self.push(&inst.dst(to));
            self.offer(to);
        }
    }

    /// Puts another register in the place of one that is read, or another word in the place of one.
    fn exchange_one(&mut self, srcs: &mut [Operand]) {
        let is_word = |operand: &Operand| matches!(operand, Operand::Word(..));
        let worded = srcs.iter().any(is_word);
        let may = |operand: &Operand| if worded { is_word(operand) } else { operand.reg().is_some() };
        let read: Vec<usize> = (0..srcs.len()).filter(|at| may(&srcs[*at])).collect();
        if read.is_empty() {
            return;
        }
        let at = self.entropy.choose(&read);
        if let Operand::Word(reg, _) = srcs[at] {
            srcs[at] = Operand::Word(reg, self.entropy.below(usize::from(self.info(reg).words)) as u8);
            return;
        }
        srcs[at] = srcs[at].map_reg(|reg| self.register(self.info(reg)));
    }

    fn is_defined_here(&self, made: &Made) -> bool {
        let mut regs = made.srcs.iter().filter_map(|operand| operand.reg()).chain(made.guard.map(Guard::reg));
        made.block == self.block || regs.all(|reg: Reg| self.variables.contains(&reg))
    }
}

/// Exchanges the first two operands of an operation that allows it; a comparison is mostly mirrored.
pub(super) fn exchange(opcode: Opcode, fields: &mut FieldValues, srcs: &mut [Operand], entropy: &mut Entropy<'_>) {
    srcs.swap(0, 1);
    let compare = opcode.row().value::<Compare>(fields).filter(|_| entropy.percent(60));
    if let (Some(compare), Some(slot)) = (compare, opcode.row().slot(Compare::FIELD)) {
        fields.0[slot] = compare.mirrored().index();
    }
}

/// Whether the first two operands may be in the other order: in commutative operations, and in comparisons, which
/// mean something else then, or the same once they are mirrored. Parts of words that are compared stay where they are.
pub(super) fn is_exchangeable(opcode: Opcode) -> bool {
    let row = opcode.row();
    let compares = row.slot(Compare::FIELD).is_some();
    opcode.is(Flags::COMMUTATIVE) || (compares && matches!(row.srcs, [a, b, ..] if a == b))
}

/// The fields with the integer type of the other sign, where the opcode has it.
fn other_sign(opcode: Opcode, fields: &FieldValues) -> Option<FieldValues> {
    let (row, slot) = (opcode.row(), opcode.row().slot(Type::FIELD)?);
    let ty = row.value::<Type>(fields)?;
    let other =
        Type::integer(ty.bits(), !ty.is_signed()).filter(|_| Type::integer(ty.bits(), ty.is_signed()) == Some(ty))?;
    let mut changed = *fields;
    changed.0[slot] = other.index();
    let legal = row.fields[slot].legal >> other.index() & 1 == 1 && row.broken_rule(&changed).is_none();
    (legal && row.first_sm(&changed) <= row.first_sm(fields)).then_some(changed)
}
