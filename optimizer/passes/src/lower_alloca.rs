//! `nvvm-lower-alloca`: accesses at known places of a variable in local memory name the variable
//! (`spec/pass-pipeline.txt`, line 1242: NVVMLowerAlloca).
//!
//! LLVM's NVPTXLowerAlloca has accesses of stack variables be accesses to local memory. Unoptimized code of nvcc
//! addresses them all through one generic address of the frame: `cvta.local %d1, frame; st.f32 [%d1+12], %r2` becomes
//! `st.local.f32 [frame+12], %r2`. The address of a place is known through copies, sums, choices of equal places, and
//! through the frame itself, where it is kept there ([`Addresses`]). What computed it is left to others.
//!
//! Cost: linear in the function.

use super::memory_space::{access_at, in_space, place};
use oriole_ir::ops::Space;
use oriole_ir::{Function, Inst, Operand};
use oriole_pass::analysis::{Accessed, Addresses, Variable};
use oriole_pass::pass::{Changed, PhaseContext};

/// The nvvm-lower-alloca pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let addresses = cx.analyses.get::<Addresses>(func);
    let mut changed = Changed::No;
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        let Some(accessed) = Accessed::of(func, inst, |base| addresses.pointer(func, base)) else { continue };
        let Some((Variable::Local(local), first)) = place(func, &accessed) else { continue };
        let is_named = func.srcs(inst)[0] == Operand::Local(local);
        let Some(fields) = in_space(func, inst, Space::Local).filter(|_| !is_named) else { continue };
        if func.locals[local].space != Space::Local || !cx.rewrite("name-variable") {
            continue;
        }
        access_at(func, inst, fields, Operand::Local(local), Some(first));
        changed = Changed::Yes;
    }
    changed
}
