//! How uniform an instruction's result is at most, whatever its operands are.

use super::{Operand, Uniformity};
use oriole_ir::ops::{Flags, NonCoherent, Opcode, Order, Space, SpecialReg};
use oriole_ir::{Function, FunctionKind, Inst};

/// The limit that an instruction sets by itself.
pub(super) fn source(func: &Function, inst: Inst) -> Uniformity {
    let data = func.inst(inst);
    let operands = func.inputs(inst).iter().map(|operand| match operand {
        Operand::Special(reg) => special(*reg),
        // The same place in each thread's own memory, in the same activation of the function.
        Operand::Local(local) if func.locals[*local].space == Space::Local => Uniformity::Warp,
        _ => Uniformity::Launch,
    });
    let operands = operands.min().unwrap_or(Uniformity::Launch);
    let own = match data.opcode {
        _ if data.is(Flags::TOGETHER) => Uniformity::Warp,
        // Whose shared memory an address lies in is another answer in each CTA of a cluster.
        Opcode::GetCtaRank | Opcode::IsSpaceP => Uniformity::Cta,
        _ if data.is(Flags::PURE) => Uniformity::Launch,
        // Each lane gets its part of a matrix, although all may give the same address.
        _ if data.is(Flags::MATRIX) => Uniformity::Varying,
        _ if data.is(Flags::READS) && !data.is(Flags::EFFECT) => load(func, inst),
        Opcode::Cs2r => Uniformity::Launch,
        _ => Uniformity::Varying,
    };
    operands.min(own)
}

/// What one load yields to all threads that name the same address.
fn load(func: &Function, inst: Inst) -> Uniformity {
    let data = func.inst(inst);
    // Memory that nobody writes while the kernel runs.
    let fixed = data.field::<NonCoherent>() == Some(NonCoherent::Nc);
    match data.field::<Space>() {
        // Threads that read what others write at any time need not see the same, even in one instruction.
        _ if data.field::<Order>().is_some_and(|order| order != Order::Weak) => Uniformity::Varying,
        Some(Space::Const) => Uniformity::Launch,
        Some(Space::Param) if is_kernel_parameter(func, func.srcs(inst)[0]) => Uniformity::Launch,
        Some(Space::Global) if fixed => Uniformity::Launch,
        Some(Space::Global | Space::Shared | Space::Cluster) => Uniformity::Warp,
        // Each thread has its own local memory and parameters of calls, which a generic address may lead to.
        _ => Uniformity::Varying,
    }
}

fn is_kernel_parameter(func: &Function, base: Operand) -> bool {
    let Operand::Local(local) = base else { return false };
    func.kind == FunctionKind::Entry && func.params.contains(&local)
}

fn special(reg: SpecialReg) -> Uniformity {
    use SpecialReg::*;
    match reg {
        _ if reg.is_volatile() => Uniformity::Varying,
        TidX | TidY | TidZ | LaneId | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => {
            Uniformity::Varying
        }
        // A warp may be moved to another place of the machine while it runs.
        WarpId | SmId => Uniformity::Warp,
        CtaidX | CtaidY | CtaidZ | ClusterIdX | ClusterIdY | ClusterIdZ | ClusterCtaidX | ClusterCtaidY
        | ClusterCtaidZ | ClusterCtaRank => Uniformity::Cta,
        _ => Uniformity::Launch,
    }
}
