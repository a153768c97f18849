//! What a body costs in place of its call, and whether that pays: LLVM's prices, 5 for an instruction, 25 and 10 an
//! argument for the call.
//!
//! What disappears with the call costs nothing: copies, accesses to parameters, and accesses through a parameter that
//! gets the address of a variable of the caller, which becomes registers then (as AMDGPU has it).

use super::passed::{Passed, is_access};
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Local, Operand};

/// LLVM's prices (`InlineCost.h`).
const INSTRUCTION: usize = 5;
const CALL: usize = 25;
const ARGUMENT: usize = 10;
/// LLVM's threshold, and its factor for NVPTX at `-O3`, because calls are dear there.
pub(super) const EARLY: usize = 225;
pub(super) const THRESHOLD: usize = EARLY * 11;

/// Whether a body in place of a call costs no more than a threshold, beside what the call costs.
pub(super) fn pays(func: &Function, passed: &Passed, body: &Function, threshold: usize) -> bool {
    let most = threshold + call_price(passed.variables.len());
    price(body, &[]) <= most || price(body, &passed.addresses(func)) <= most
}

/// What the instructions of a body cost that stay where it is inlined; `addresses` are its parameters that get
/// addresses of variables.
pub(super) fn price(body: &Function, addresses: &[Local]) -> usize {
    let through: Vec<Operand> = body
        .layout_insts()
        .filter(|inst| {
            is_access(body, *inst) && addresses.iter().any(|local| body.srcs(*inst)[0] == Operand::Local(*local))
        })
        .flat_map(|inst| body.dsts(inst).to_vec())
        .collect();
    let stays = |inst: &Inst| match body.inst(*inst).opcode {
        Opcode::Mov | Opcode::Phi | Opcode::Ret | Opcode::Cvta => false,
        Opcode::Ld | Opcode::St => !is_access(body, *inst) && !through.contains(&body.srcs(*inst)[0]),
        _ => true,
    };
    body.layout_insts().filter(stays).count() * INSTRUCTION
}

pub(super) fn call_price(arguments: usize) -> usize {
    CALL + ARGUMENT * arguments
}
