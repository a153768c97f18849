//! The pre-pass over extended blocks (`spec/copy-propagation-and-cse.txt`, "EBB Pre-Pass").
//!
//! It marks the candidates of the standard variant. First those that are eligible by their own class; then, to a fixed
//! point, what a candidate's operands are computed by, so that a whole expression is eligible when what reads it is.
//! So operations that only move bits, or run on a slow unit, are commoned where that makes a larger expression equal.
//! Linear in operands.

use cranelift_entity::EntitySet;

use super::eligibility::class;
use oriole_ir::sm::Target;
use oriole_ir::{Function, Inst};
use oriole_pass::analysis::Definitions;

/// The candidates; `is_eligible` says which are from the beginning.
pub(super) fn candidates(func: &Function, target: Target, is_eligible: impl Fn(Inst) -> bool) -> EntitySet<Inst> {
    let definitions = Definitions::new(func);
    let mut work: Vec<Inst> = func.layout_insts().filter(|inst| is_eligible(*inst)).collect();
    let mut marked = EntitySet::new();
    marked.extend(work.iter().copied());
    while let Some(inst) = work.pop() {
        for operand in func.uses(inst).filter_map(|reg| definitions.inst(reg)) {
            if class(func, operand, target).is_some() && marked.insert(operand) {
                work.push(operand);
            }
        }
    }
    marked
}
