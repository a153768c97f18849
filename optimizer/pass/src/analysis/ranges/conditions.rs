//! What branches and guards say of registers where they lead.
//!
//! A branch on a predicate leads to a block under a condition if the block has no other way in. Everything that the
//! block dominates executes under it too, and reads the value that was compared: the register's definition dominates
//! the comparison, so it can only execute again on a way that comes by the comparison again.

use super::range::Range;
use crate::analysis::{Cfg, Definitions};
use oriole_ir::ops::{BoolOp, Compare, Opcode, Type};
use oriole_ir::{Block, Function, Inst, Operand, Reg};

/// How many definitions of a predicate are looked at.
const DEPTH: u32 = 8;
/// How many conditions on one register are kept.
pub(super) const MOST: usize = 32;

/// How a register stands to an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) reg: Reg,
    relation: Relation,
    /// Whether signed numbers are compared; makes no difference for equality.
    signed: bool,
    pub(super) other: Operand,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Relation {
    /// The relation and whether it is of unsigned numbers whatever the type says; `None` for those of floats.
    fn of(compare: Compare) -> Option<(Relation, bool)> {
        Some(match compare {
            Compare::Eq => (Relation::Equal, false),
            Compare::Ne => (Relation::Different, false),
            Compare::Lt => (Relation::Less, false),
            Compare::Le => (Relation::AtMost, false),
            Compare::Gt => (Relation::Greater, false),
            Compare::Ge => (Relation::AtLeast, false),
            Compare::Lo => (Relation::Less, true),
            Compare::Ls => (Relation::AtMost, true),
            Compare::Hi => (Relation::Greater, true),
            Compare::Hs => (Relation::AtLeast, true),
            _ => return None,
        })
    }

    /// What holds where it does not.
    fn negated(self) -> Relation {
        match self {
            Relation::Equal => Relation::Different,
            Relation::Different => Relation::Equal,
            Relation::Less => Relation::AtLeast,
            Relation::AtLeast => Relation::Less,
            Relation::Greater => Relation::AtMost,
            Relation::AtMost => Relation::Greater,
        }
    }

    /// The same seen from the other side.
    fn swapped(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::Greater => Relation::Less,
            Relation::AtMost => Relation::AtLeast,
            Relation::AtLeast => Relation::AtMost,
            same => same,
        }
    }
}

impl Condition {
    /// What is left of a range under the condition, where `other` may be what stands on the other side.
    pub(super) fn narrowed(self, range: Range, other: Range) -> Range {
        let bits = range.bits();
        let within = |low: Option<i128>, high: Option<i128>| {
            let all = super::range::bounds(bits, self.signed);
            let (low, high) = (low.unwrap_or(all.0), high.unwrap_or(all.1));
            if low > high || high < all.0 || low > all.1 {
                return range;
            }
            range.meet(match self.signed {
                true => Range::signed_between(low as i64, high as i64, bits),
                false => Range::unsigned_between(low as u64, high as u64, bits),
            })
        };
        let (low, high): (i128, i128) = match self.signed {
            true => (other.signed().0.into(), other.signed().1.into()),
            false => (other.unsigned().0.into(), other.unsigned().1.into()),
        };
        match self.relation {
            Relation::Equal => range.meet(other),
            Relation::Different => other.value().map_or(range, |value| range.without(value)),
            Relation::Less => within(None, Some(high - 1)),
            Relation::AtMost => within(None, Some(high)),
            Relation::Greater => within(Some(low + 1), None),
            Relation::AtLeast => within(Some(low), None),
        }
    }
}

/// The conditions under which control takes an edge.
pub(super) fn on_edge(func: &Function, definitions: &Definitions, from: Block, to: Block) -> Vec<Condition> {
    let mut found = Vec::new();
    let branch = func.terminator(from).filter(|inst| func.inst(*inst).opcode == Opcode::CBra);
    if let Some(&[predicate, yes, no]) = branch.map(|inst| func.srcs(inst))
        && yes != no
        && let Some(reg) = predicate.whole_reg()
    {
        collect(func, definitions, reg, yes.block() == Some(to), DEPTH, &mut found);
    }
    found
}

/// The conditions under which an instruction with a guard executes.
pub(super) fn on_guard(func: &Function, definitions: &Definitions, inst: Inst) -> Vec<Condition> {
    let mut found = Vec::new();
    if let Some(guard) = func.inst(inst).guard {
        collect(func, definitions, guard.reg(), !guard.negated(), DEPTH, &mut found);
    }
    found
}

/// The conditions under which each block is entered that has one way in, in reverse post-order.
pub(super) fn on_entry(func: &Function, cfg: &Cfg, definitions: &Definitions) -> Vec<(Block, Condition)> {
    let mut found = Vec::new();
    for block in cfg.rpo().iter().skip(1) {
        let mut ways = cfg.predecessors(*block).iter().filter(|from| cfg.is_reachable(**from));
        if let (Some(from), None) = (ways.next(), ways.next()) {
            found.extend(on_edge(func, definitions, *from, *block).into_iter().map(|condition| (*block, condition)));
        }
    }
    found
}

/// What it means for registers that a predicate has a value.
fn collect(
    func: &Function,
    definitions: &Definitions,
    predicate: Reg,
    value: bool,
    depth: u32,
    found: &mut Vec<Condition>,
) {
    let Some(inst) = definitions.always(func, Operand::Reg(predicate)).filter(|_| depth > 0) else { return };
    let (data, srcs) = (func.inst(inst), func.srcs(inst));
    let mut go_on = |operand: Operand, value: bool| {
        if let Some(reg) = operand.whole_reg() {
            collect(func, definitions, reg, value, depth - 1, found);
        }
    };
    match (data.opcode, srcs) {
        (Opcode::Mov, [from]) => go_on(*from, value),
        (Opcode::Not, [from]) => go_on(*from, !value),
        (Opcode::And, [a, b]) if value => [*a, *b].into_iter().for_each(|operand| go_on(operand, true)),
        (Opcode::Or, [a, b]) if !value => [*a, *b].into_iter().for_each(|operand| go_on(operand, false)),
        (Opcode::SetP, _) => compared(func, inst, value, found),
        (Opcode::SetPBool, [_, _, with]) => {
            // The second result is made of the inverse comparison.
            let inverse = func.dsts(inst).first() != Some(&Operand::Reg(predicate));
            let decides = match data.field::<BoolOp>() {
                Some(BoolOp::And) => value,
                Some(BoolOp::Or) => !value,
                _ => false,
            };
            if decides {
                go_on(*with, value);
                compared(func, inst, value != inverse, found);
            }
        }
        _ => {}
    }
}

/// What a comparison says of the registers that it compares whole.
fn compared(func: &Function, inst: Inst, holds: bool, found: &mut Vec<Condition>) {
    let (data, srcs) = (func.inst(inst), func.srcs(inst));
    let relation = data.field::<Compare>().and_then(Relation::of).filter(|_| is_integer(data.ty()));
    let (Some((relation, unsigned)), [a, b, ..]) = (relation, srcs) else { return };
    let relation = if holds { relation } else { relation.negated() };
    let signed = data.ty().is_signed() && !unsigned;
    for (operand, other, relation) in [(a, b, relation), (b, a, relation.swapped())] {
        let whole = |reg: &Reg| 32 * u32::from(func.regs()[*reg].words) == data.ty().bits();
        if let Some(reg) = operand.whole_reg().filter(whole) {
            found.push(Condition { reg, relation, signed, other: *other });
        }
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float() && ty != Type::Pred
}
