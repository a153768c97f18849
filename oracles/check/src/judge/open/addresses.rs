//! Whether what is open may decide where memory is accessed.

use std::collections::HashSet;

use oriole_ir::ops::Shape;
use oriole_ir::{Function, Inst, Reg};

/// Whether one of these registers, or what is computed of them, is an address in a function. Values are followed
/// through registers alone, whatever the order of instructions.
pub(super) fn reaches(func: &Function, open: &[Reg]) -> bool {
    let mut open: HashSet<Reg> = open.iter().copied().collect();
    let insts: Vec<Inst> = if open.is_empty() { Vec::new() } else { func.layout_insts().collect() };
    loop {
        let before = open.len();
        for inst in &insts {
            let mut read = func.inputs(*inst).iter().filter_map(|operand| operand.reg());
            if read.any(|reg| open.contains(&reg)) {
                open.extend(func.defs(*inst));
            }
        }
        if open.len() == before {
            break;
        }
    }
    insts.iter().any(|inst| {
        let srcs = func.srcs(*inst);
        let shapes = func.inst(*inst).src_shapes(srcs.len());
        srcs.iter()
            .zip(shapes)
            .any(|(src, shape)| shape == Shape::Base && src.reg().is_some_and(|reg| open.contains(&reg)))
    })
}
