//! What an edge of the control-flow graph says of predicates, in SSA form: the condition of the branch that it leaves,
//! and with it what the condition was computed from.

use crate::analysis::Definitions;
use crate::edit::graph::two_ways;
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Function, Reg};

/// Predicates that are followed backward from a condition.
const DEEPEST: usize = 8;

/// The condition of the branch at the end of a block, and its value, where it decides whether control goes to another.
pub fn decided(func: &Function, from: Block, to: Block) -> Option<(Reg, bool)> {
    let (condition, yes, _) = two_ways(func, from)?;
    Some((condition.whole_reg()?, yes == to))
}

/// A predicate's value, and those of the predicates that follow from it: both operands of an `and` that is true and of
/// an `or` that is false, and the operand of a `not`.
pub fn implied(func: &Function, definitions: &Definitions, reg: Reg, value: bool) -> Vec<(Reg, bool)> {
    let mut facts = vec![(reg, value)];
    let mut next = 0;
    while next < facts.len().min(DEEPEST) {
        let (reg, value) = facts[next];
        next += 1;
        let Some(inst) = definitions.inst(reg) else { continue };
        let data = func.inst(inst);
        let below = match (data.opcode, value) {
            (Opcode::And, true) | (Opcode::Or, false) | (Opcode::Mov, _) => value,
            (Opcode::Not, _) => !value,
            _ => continue,
        };
        if data.guard.is_some() || data.ty() != Type::Pred {
            continue;
        }
        facts.extend(func.srcs(inst).iter().filter_map(|operand| operand.whole_reg()).map(|reg| (reg, below)));
    }
    facts
}
