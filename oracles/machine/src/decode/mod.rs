//! From words to operations: what each mnemonic does.

mod control;
mod convert;
mod float;
mod image;
mod integer;
mod matrix;
mod memory;
mod synchronize;
mod warpgroup;

use oriole_ir::InstBuilder;
use oriole_sass::Table;

#[cfg(test)]
pub use integer::meaning;

use super::launch::Banks;
use super::operands::{Literals, Operands, Sign, Unknown};
use super::program::*;

/// Decodes the words of functions that stand one behind the other; `functions` are their first words, in order. Words
/// of banks are left to a launch; with its banks, what reads outside of them has no meaning.
pub fn decode(table: &Table, words: &[u128], functions: Vec<(u32, String)>, banks: Option<&Banks>) -> Program {
    let mut literals = Literals::default();
    let numbered = words.iter().enumerate();
    let ops = numbered.map(|(at, word)| operation(table, *word, at as u32, banks, &mut literals)).collect();
    let (literals, constants, used) = literals.into_rows();
    Program { ops, literals, constants, used, words: words.to_vec(), functions }
}

fn operation(table: &Table, word: u128, at: u32, banks: Option<&Banks>, literals: &mut Literals) -> Op {
    let inst = match table.decode(word) {
        Ok(inst) => inst,
        Err(error) => return Op { guard: Pred::TRUE, kind: Kind::Unknown(error.to_string()) },
    };
    let mut ops = Operands::new(inst, banks, literals);
    let guard = ops.pred_of(&inst.encoding.guard).unwrap_or(Pred::TRUE);
    let name = inst.encoding.name.split('.').next().unwrap_or_default();
    let found = integer::decode(name, &mut ops)
        .or_else(|| float::decode(name, &mut ops))
        .or_else(|| convert::decode(name, &mut ops))
        .or_else(|| synchronize::decode(name, &mut ops))
        .or_else(|| memory::decode(name, &mut ops))
        .or_else(|| image::decode(name, &mut ops))
        .or_else(|| matrix::decode(name, &mut ops))
        .or_else(|| warpgroup::decode(name, &mut ops))
        .or_else(|| control::decode(name, &mut ops, at))
        .unwrap_or_else(|| Err("it has no meaning here yet".to_owned()));
    let found = match (found, ops.unread()) {
        (Ok(kind), Some(modifier)) if !matches!(kind, Kind::Nop | Kind::Yield) => Err(format!("modifier {modifier}")),
        (found, _) => found,
    };
    let kind = found.unwrap_or_else(|why| Kind::Unknown(format!("{name}: {why}")));
    // All lanes of a group go the same way there, whatever the guard is in each.
    let guard = if matches!(kind, Kind::BranchDivergent { .. }) { Pred::TRUE } else { guard };
    Op { guard, kind }
}

/// The row of a register of so many words, if the machine can name it: its number is a multiple of theirs.
fn aligned(row: u16, words: u16) -> Result<u16, Unknown> {
    let number = if row < UNIFORM { row } else { row - UNIFORM };
    if row >= ZERO || number.is_multiple_of(words.next_power_of_two()) {
        return Ok(row);
    }
    Err(format!("a register of {words} words with the number {number}"))
}

/// A word, as it is.
fn word(ops: &mut Operands<'_>, at: usize) -> Result<Value, Unknown> {
    Ok(Value::Word(ops.src(at, Sign::Integer)?))
}

/// An operation of PTX, computed lane by lane.
fn lane_wise(builder: &InstBuilder, dst: (u16, u8), values: &[Value]) -> Result<Kind, Unknown> {
    lane_wise_with(builder, dst, [NOWHERE; 2], values)
}

/// The same with predicates as results.
fn lane_wise_with(builder: &InstBuilder, dst: (u16, u8), preds: [u8; 2], values: &[Value]) -> Result<Kind, Unknown> {
    let op = integer::meaning(builder)?;
    aligned(dst.0, dst.1.max(1).into())?;
    let values = std::array::from_fn(|i| values.get(i).copied().unwrap_or(Value::None));
    Ok(Kind::Scalar { op, dst, preds, values })
}

/// One of two operations, as a predicate says.
fn either(pred: Pred, holds: Kind, fails: Kind) -> Result<Kind, Unknown> {
    Ok(match pred {
        Pred { at, not: false } if at % UNIFORM_PREDICATES == TRUE => holds,
        Pred { at, not: true } if at % UNIFORM_PREDICATES == TRUE => fails,
        _ => Kind::Either(pred, Box::new([holds, fails])),
    })
}
