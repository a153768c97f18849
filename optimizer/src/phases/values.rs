//! Where values come from: the definition of each register of a function in SSA form.

use cranelift_entity::EntityRef;

use crate::ir::{Block, Function, Inst, Operand, Reg, RegInfo};
use crate::ops::{Opcode, Type};

/// By register: the instruction that defines it and the block of that.
#[derive(Clone, Debug)]
pub(super) struct Definitions(Vec<Option<(Inst, Block)>>);

impl Definitions {
    pub(super) fn new(func: &Function) -> Definitions {
        let mut definitions = vec![None; func.regs.len()];
        for block in &func.layout {
            for inst in &func.blocks[*block].insts {
                for reg in func.defs(*inst) {
                    definitions[reg.index()] = Some((*inst, *block));
                }
            }
        }
        Definitions(definitions)
    }

    /// Says that another instruction defines a register now.
    pub(super) fn set(&mut self, reg: Reg, inst: Inst, block: Block) {
        self.0[reg.index()] = Some((inst, block));
    }

    /// The instruction that defines a register; `None` where there is none.
    pub(super) fn inst(&self, reg: Reg) -> Option<Inst> {
        self.0.get(reg.index()).copied().flatten().map(|(inst, _)| inst)
    }

    /// The block in which a register is defined.
    pub(super) fn block(&self, reg: Reg) -> Option<Block> {
        self.0.get(reg.index()).copied().flatten().map(|(_, block)| block)
    }

    /// The instruction that always defines a register, if it has this opcode: one without a guard.
    pub(super) fn unguarded(&self, func: &Function, operand: Operand, opcode: Opcode) -> Option<Inst> {
        let inst = self.inst(operand.whole_reg()?)?;
        let data = &func.insts[inst];
        (data.guard.is_none() && data.opcode == opcode).then_some(inst)
    }
}

/// The type of a `mov` between such registers; `None` where there is no such `mov`.
pub(super) fn mov_type(info: RegInfo) -> Option<Type> {
    match (info.is_predicate(), info.words) {
        (true, _) => Some(Type::Pred),
        (false, 1) => Some(Type::B32),
        (false, 2) => Some(Type::B64),
        (false, 4) => Some(Type::B128),
        _ => None,
    }
}

/// Whether values of the type fill their register, so that selecting one selects the whole register.
pub(super) fn fills_register(ty: Type) -> bool {
    ty == Type::Pred || ty.bits() >= 32
}

/// The value of a phi whose sources, other than itself, are all the same, and how many of those there are.
pub(super) fn only_source(func: &Function, phi: Inst) -> Option<(Operand, usize)> {
    let own = func.defs(phi).next().map(Operand::Reg);
    let mut sources = func.srcs(phi).chunks_exact(2).map(|pair| pair[0]).filter(|value| Some(*value) != own);
    let first = sources.next()?;
    let mut count = 1;
    for value in sources {
        if value != first {
            return None;
        }
        count += 1;
    }
    Some((first, count))
}
