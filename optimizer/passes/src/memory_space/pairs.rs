//! `nvvm-generic-addr-opt`: conversions of addresses that undo each other (`spec/pass-pipeline.txt`, line 1246:
//! NVVMGenericAddrOpt, which the page gives by name).
//!
//! An address that `cvta` has made generic and `cvta.to` brings back to its space is the one that it was; what was
//! counted on the generic one in between, offsets and indices, is counted on that instead. So is the other way round:
//! `cvta` of what `cvta.to` has taken to the same space is the generic address, since one that leads elsewhere has no
//! address in the space. Phis and choices are left to memory-space-opt, which also has accesses say their space.
//!
//! Cost: linear, times the [`DEPTH`] that an address is followed through.

use super::specific::Specific;
use oriole_ir::ops::{CvtaDirection, Opcode, Space, Type};
use oriole_ir::{Function, Inst, Operand};
use oriole_pass::analysis::{Addresses, Definitions};
use oriole_pass::edit::values::become_copies;
use oriole_pass::pass::{Changed, PhaseContext};

/// How many definitions an address is followed through.
const DEPTH: usize = 16;

/// The nvvm-generic-addr-opt pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let addresses = cx.analyses.get::<Addresses>(func);
    let definitions = cx.analyses.get::<Definitions>(func);
    let mut specific = Specific::new((*definitions).clone(), &addresses, false);
    let mut changed = Changed::No;
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        let Some((space, direction)) = conversion(func, inst).filter(|_| func.inst(inst).guard.is_none()) else {
            continue;
        };
        let from = func.srcs(inst)[0];
        let value = match direction {
            CvtaDirection::ToGeneric => {
                was_generic(func, &definitions, from, space).filter(|_| cx.rewrite("cvta-pair"))
            }
            CvtaDirection::FromGeneric => {
                let was = was_in(func, &addresses, &definitions, from, space) && cx.rewrite("cvta-back");
                from.whole_reg().filter(|_| was).map(|reg| specific.make(func, reg, space))
            }
        };
        if let Some(value) = value {
            become_copies(func, inst, None, &[value], &[]);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The space and the direction of a conversion of 64 bits.
fn conversion(func: &Function, inst: Inst) -> Option<(Space, CvtaDirection)> {
    let data = func.inst(inst);
    let is_conversion = data.opcode == Opcode::Cvta && data.ty() == Type::U64;
    Some((data.field::<Space>().filter(|_| is_conversion)?, data.field::<CvtaDirection>()?))
}

/// The generic address that an address of a space was taken from.
fn was_generic(func: &Function, definitions: &Definitions, from: Operand, space: Space) -> Option<Operand> {
    let inst = definitions.unguarded(func, from, Opcode::Cvta)?;
    let is_inverse = conversion(func, inst) == Some((space, CvtaDirection::FromGeneric));
    func.srcs(inst)[0].whole_reg().filter(|_| is_inverse).map(Operand::Reg)
}

/// Whether a generic address was counted, by sums alone, from what a conversion of the space has made.
fn was_in(func: &Function, addresses: &Addresses, definitions: &Definitions, from: Operand, space: Space) -> bool {
    let mut at = from;
    for _ in 0..DEPTH {
        let is_there = addresses.pointer(func, at).is_some_and(|of| of.generic && of.space == Some(space));
        let Some(inst) = definitions.always(func, at).filter(|_| is_there) else { return false };
        let srcs = func.srcs(inst);
        let is_pointer = |operand: &&Operand| addresses.pointer(func, **operand).is_some_and(|of| of.generic);
        let mut pointers = srcs.iter().filter(is_pointer);
        match func.inst(inst).opcode {
            Opcode::Cvta => return conversion(func, inst) == Some((space, CvtaDirection::ToGeneric)),
            Opcode::Mov | Opcode::IAdd | Opcode::ISub | Opcode::IMadLo | Opcode::IMadWide => match pointers.next() {
                Some(pointer) if pointers.next().is_none() => at = *pointer,
                _ => return false,
            },
            _ => return false,
        }
    }
    false
}
