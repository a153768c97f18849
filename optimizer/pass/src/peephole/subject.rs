//! What rules are matched against: an instruction, and what defines its operands.

use std::borrow::Cow;

use crate::analysis::{BitMemo, Bits, Definitions, Uses};
use oriole_ir::ops::Opcode;
use oriole_ir::{FreeOperand, Function, Imm, Inst, Operand};
use oriole_rules::instance::{ones, place_type};

/// How many copies are followed to a constant; longer chains wait for copy propagation.
const COPIES: usize = 4;

/// A function in SSA form with what matching asks about it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its definitions.
    pub definitions: &'a Definitions,
    /// How often its registers are read.
    pub uses: &'a Uses,
    /// What has been found out about the bits of its registers.
    pub bits: &'a BitMemo,
}

impl<'a> Subject<'a> {
    /// The sources of an instruction, with known constants in place of their registers, cut to their types; so a chain
    /// of constants folds in one scan.
    pub fn sources(&self, inst: Inst) -> Cow<'a, [Operand]> {
        let func = self.func;
        let mut srcs = Cow::Borrowed(func.srcs(inst));
        for (index, operand) in func.srcs(inst).iter().enumerate() {
            let Some(imm) = self.through_copies(*operand) else { continue };
            let data = func.inst(inst);
            let shape = data.src_shape(srcs.len(), index);
            if let Some(ty) = shape.and_then(|shape| data.shape_type(shape)) {
                srcs.to_mut()[index] = func.cut_imm(imm, ty.bits());
            }
        }
        srcs
    }

    /// The constant that a register holds.
    fn through_copies(&self, mut operand: Operand) -> Option<Imm> {
        for _ in 0..COPIES {
            let mov = self.definitions.unguarded(self.func, operand, Opcode::Mov)?;
            operand = *self.func.srcs(mov).first()?;
            if let Operand::Imm(imm) = operand {
                return Some(imm);
            }
        }
        None
    }

    /// The constant that an operand is, or that its register holds.
    pub fn constant(&self, operand: Operand) -> Option<u64> {
        let imm = if let Operand::Imm(imm) = operand { imm } else { self.through_copies(operand)? };
        Some(self.func.bits(imm))
    }

    /// The definition of a whole register by an unguarded instruction.
    pub fn definition(&self, operand: Operand) -> Option<Inst> {
        self.definitions.always(self.func, operand)
    }

    /// Whether an operand is a register that nothing else reads.
    pub fn is_used_once(&self, operand: Operand) -> bool {
        operand.reg().is_some_and(|reg| self.uses.count(reg) <= 1)
    }

    /// What is known of the bits of an operand.
    pub fn known_bits(&self, operand: Operand) -> Bits {
        self.bits.of(self.func, self.definitions, operand)
    }

    /// Whether an operand can stand as a source of an operation: some places take only some operands.
    pub fn fits(&self, value: FreeOperand, opcode: Opcode, fields: &oriole_ir::ops::FieldValues, index: usize) -> bool {
        use oriole_ir::RegInfo;
        use oriole_ir::ops::{Shape, Type};
        let Some(shape) = opcode.row().srcs.get(index) else { return false };
        let ty = match shape {
            Shape::Imm => return value.imm().is_some(),
            // PTX ISA, "Addresses as Operands": the offset is a signed 32-bit number.
            Shape::Offset => return value.imm().is_some_and(|bits| i32::try_from(bits as i64).is_ok()),
            Shape::Special => return matches!(value, FreeOperand::Operand(Operand::Special(_))),
            Shape::Base => {
                let wrong = |operand| matches!(operand, Operand::Special(_) | Operand::Const { .. } | Operand::Func(_));
                return !value.operand().is_some_and(wrong);
            }
            shape => place_type(opcode, fields, *shape),
        };
        let operand = match value {
            FreeOperand::Imm(bits) => return ty.is_none_or(|ty| bits & !ones(ty.bits()) == 0),
            FreeOperand::Operand(operand) => operand,
        };
        match operand {
            Operand::Reg(_) | Operand::Word(..) => {
                let found = self.func.operand_info(operand);
                ty.is_none_or(|ty| {
                    let wanted = RegInfo::of(ty);
                    found.is_some_and(|info| info.words == wanted.words && info.is_predicate() == wanted.is_predicate())
                })
            }
            Operand::Const { .. } => ty != Some(Type::Pred),
            Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => {
                ty.is_none_or(|ty| ty != Type::Pred && ty.bits() <= 64)
            }
            _ => false,
        }
    }
}
