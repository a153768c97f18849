//! A mutator of addresses: what a buffer holds behind an offset is moved to its beginning, and the offset goes.

use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Operand};
use oriole_launch::ArgValue;

use super::choice::Choice;
use super::edit::places;
use super::insts::Substitutions;
use crate::report::Evidence;

/// Sums of an address and a constant become the address, and a buffer loses as many bytes at its beginning.
pub fn offsets_gone(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let mut changes = Substitutions::default();
    for (id, _, inst) in places(&evidence.module) {
        let func = &evidence.module.functions[id];
        let (Some((base, offset)), Some(sum)) = (displaced(func, inst), func.defs(inst).next()) else { continue };
        for arg in evidence.launch.iter_mut().flat_map(|launch| &mut launch.args) {
            let ArgValue::Buffer(buffer) = &mut arg.value else { continue };
            if offset > 0 && offset < buffer.bytes.len() as u64 && buffer.replicas == 0 && choice.take() {
                buffer.bytes.drain(..offset as usize);
                buffer.expect = None;
                changes.of(id).replace(sum, base);
                changes.of(id).remove(func, inst);
                break;
            }
        }
    }
    changes.apply(evidence);
}

/// The base and the distance of an address that is a sum with a constant.
fn displaced(func: &Function, inst: Inst) -> Option<(Operand, u64)> {
    let data = func.inst(inst);
    let constant = |operand: Operand| func.imm_bits(operand);
    let found = match (data.opcode, func.srcs(inst)) {
        (Opcode::IAdd, &[base, offset]) if data.ty().bits() == 64 => match (constant(base), constant(offset)) {
            (None, Some(offset)) => (base, offset),
            (Some(distance), None) => (offset, distance),
            _ => return None,
        },
        (Opcode::IMadWide, &[index, size, base]) if data.ty().bits() == 32 => {
            (base, constant(index)?.checked_mul(constant(size)?)?)
        }
        _ => return None,
    };
    matches!(found.0, Operand::Reg(_)).then_some(found)
}
