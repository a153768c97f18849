//! Where values come from: the definition of each register of a function in SSA form.

pub(super) use crate::analysis::Definitions;
use crate::ir::{Function, Inst, Operand, RegInfo};
use crate::ops::Type;

/// The type of a `mov` between such registers; `None` where there is no such `mov`.
pub(crate) fn mov_type(info: RegInfo) -> Option<Type> {
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
