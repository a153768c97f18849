//! Where operands stand: slots for registers, constants, and addresses of variables.

use cranelift_entity::EntityRef;
use oriole_ir::ops::Shape;
use oriole_ir::{FunctionKind, Inst, InstData, Local, Modifiers, Operand, Reg};

use super::{DecodeFault, Decoded, Decoder, Slots, Width};
use crate::image::REFERENCE_WINDOW;
use crate::memory::CODE_WINDOW;
use crate::program::{Kind, Op, Place, Slot};

impl Decoder<'_> {
    pub(super) fn width(&self, reg: Reg) -> Decoded<Width> {
        let info = self.func.regs().get(reg).ok_or(DecodeFault::NoRegister)?;
        Ok(if info.is_predicate() { Width::Pred } else { Width::Words(info.words) })
    }

    pub(super) fn fresh(&mut self, width: Width) -> Slots {
        match width {
            Width::Pred => {
                self.info.preds += 1;
                Slots::Pred(self.info.preds - 1)
            }
            Width::Words(words) => {
                self.info.words += u32::from(words);
                Slots::Words(self.info.words - u32::from(words), u32::from(words))
            }
        }
    }

    pub(super) fn reg_place(&mut self, reg: Reg) -> Decoded<Slots> {
        if let Some(slots) = self.slots[reg] {
            return Ok(slots);
        }
        let slots = self.fresh(self.width(reg)?);
        self.slots[reg] = Some(slots);
        Ok(slots)
    }

    /// Where an operand of a given width stands; constants get slots of their own.
    pub(super) fn place(&mut self, operand: Operand, width: Width) -> Decoded<Slots> {
        match (operand, width) {
            (Operand::Reg(reg), width) => {
                let slots = self.reg_place(reg)?;
                if slots.width() == width { Ok(slots) } else { Err(DecodeFault::RegisterWidth) }
            }
            (Operand::Word(reg, word), Width::Words(1)) => match self.reg_place(reg)? {
                Slots::Words(slot, words) if u32::from(word) < words => Ok(Slots::Words(slot + u32::from(word), 1)),
                _ => Err(DecodeFault::NoWord(word)),
            },
            (Operand::Word(..), _) => Err(DecodeFault::RegisterWidth),
            (Operand::Modified { .. }, _) => Err(DecodeFault::Modified),
            (Operand::Undef, Width::Pred) => Ok(Slots::Pred(self.pred_constant(None))),
            (Operand::Undef, Width::Words(words)) => Ok(Slots::Words(self.undefined(), u32::from(words))),
            (Operand::Imm(imm), Width::Pred) => Ok(Slots::Pred(self.pred_constant(Some(self.func.bits(imm) & 1 == 1)))),
            (Operand::Imm(imm), Width::Words(words)) => Ok(self.constant(self.func.bits(imm), words)),
            (Operand::Global(id), Width::Words(words)) if self.addresses.is_valid(id) => {
                Ok(self.constant(self.addresses[id], words))
            }
            (Operand::Func(id), Width::Words(words)) => Ok(self.constant(CODE_WINDOW + 16 * id.index() as u64, words)),
            (Operand::Local(local), Width::Words(words @ (1 | 2))) => self.local_address(local, words),
            (Operand::Const { bank: 0, offset, modifiers: Modifiers::NONE }, Width::Words(words)) => {
                let Slots::Words(slot, n) = self.fresh(width) else { unreachable!("words stay words") };
                self.info.bank.extend((0..u32::from(words)).map(|word| (slot + word, offset + 4 * word)));
                Ok(Slots::Words(slot, n))
            }
            _ => Err(DecodeFault::NotValue),
        }
    }

    pub(super) fn constant(&mut self, bits: u64, words: u8) -> Slots {
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        let key = (low, (words > 1).then_some(high));
        if words <= 2
            && let Some(slot) = self.constants.get(&key)
        {
            return Slots::Words(*slot, u32::from(words));
        }
        let Slots::Words(slot, n) = self.fresh(Width::Words(words)) else { unreachable!("words stay words") };
        let value = |word| match word {
            0 => low,
            1 => high,
            _ => 0,
        };
        self.info.constants.extend((0..n).map(|word| (slot + word, value(word))));
        self.constants.insert(key, slot);
        Slots::Words(slot, n)
    }

    pub(super) fn pred_constant(&mut self, value: Option<bool>) -> Slot {
        if let Some(slot) = self.pred_constants.get(&value) {
            return *slot;
        }
        self.info.preds += 1;
        let slot = self.info.preds - 1;
        match value {
            Some(true) => self.info.truths.push(slot),
            Some(false) => self.info.falsehoods.push(slot),
            None => {}
        }
        self.pred_constants.insert(value, slot);
        slot
    }

    /// Four words that nothing ever writes.
    pub(super) fn undefined(&mut self) -> Slot {
        *self.undef.get_or_insert_with(|| {
            self.info.words += 4;
            self.info.words - 4
        })
    }

    pub(super) fn local_address(&mut self, local: Local, words: u8) -> Decoded<Slots> {
        if !self.func.locals.is_valid(local) {
            return Err(DecodeFault::NoVariable);
        }
        if self.is_entry_param(local) {
            let is_reference = self.func.locals[local].ty.is_reference();
            let window = if is_reference { REFERENCE_WINDOW } else { 0 };
            return Ok(self.constant(window + u64::from(self.offsets[local]), words));
        }
        let place = self.fresh(Width::Words(words));
        let Slots::Words(dst, _) = place else { unreachable!("words stay words") };
        let at = self.push(Kind::LocalAddress, None);
        self.program.ops[at] = Op { dst, a: self.offsets[local], b: u32::from(words), ..self.program.ops[at] };
        Ok(place)
    }

    pub(super) fn is_entry_param(&self, local: Local) -> bool {
        self.func.kind == FunctionKind::Entry && self.func.params.contains(&local)
    }

    /// Where a source of a shape stands.
    pub(super) fn source(&mut self, data: &InstData, inst: Inst, index: usize, shape: Shape) -> Decoded<Place> {
        let operand = *self.func.srcs(inst).get(index).ok_or(DecodeFault::OperandCount)?;
        self.typed(data, operand, shape)
    }

    pub(super) fn typed(&mut self, data: &InstData, operand: Operand, shape: Shape) -> Decoded<Place> {
        let width = match shape {
            Shape::Imm => Width::Words(1),
            Shape::Base => match self.func.operand_info(operand) {
                Some(info) => Width::Words(info.words),
                None => Width::Words(2),
            },
            _ => Width::of(data.shape_type(shape).ok_or(DecodeFault::NotValue)?),
        };
        self.place(operand, width)?.narrow()
    }

    pub(super) fn destination(&mut self, data: &InstData, inst: Inst, index: usize, shape: Shape) -> Decoded<Place> {
        match self.func.dsts(inst).get(index) {
            Some(operand @ Operand::Reg(_)) => self.typed(data, *operand, shape),
            _ => Err(DecodeFault::NoDestination),
        }
    }
}
