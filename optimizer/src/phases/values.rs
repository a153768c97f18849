//! Where values come from: the definition of each register of a function in SSA form.

pub(super) use crate::analysis::Definitions;
use oriole_ir::ops::Type;
use oriole_ir::{Function, Inst, Operand};

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
