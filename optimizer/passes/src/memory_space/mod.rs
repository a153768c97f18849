//! `memory-space-opt`: accesses by generic addresses become accesses to the space that the address leads to
//! (`spec/pass-pipeline.txt`, lines 570 and 693: MemorySpaceOpt; LLVM's InferAddressSpaces has the same task).
//!
//! Where an address leads is known ([`Addresses`]) if it was counted from what `cvta` made of an address of one space,
//! through copies, sums, choices and phis, and where the knob `KernelPointersAreGlobal` says so, from a 64-bit
//! parameter of a kernel: PTX itself does not say where those lead. Of such an address the pass makes the one in its
//! space beside it (`specific.rs`): `cvta` is left out at the beginning, and what was counted on is counted on again.
//! An address at a known place of a variable becomes the variable's name and the place. What the generic address was
//! needed for is dead then, and left to others.
//!
//! `isspacep` of such an address is a constant.
//!
//! `first-time` follows no phis and no choices, as it stands where functions are not yet inlined. `warnings` counts the
//! generic accesses that are left as `generic-access`, which a report of the run shows.
//!
//! Cost: linear in the function.

pub mod pairs;
mod specific;

use oriole_ir::ops::{FieldValue, FieldValues, Opcode, Order, Space, Type};
use oriole_ir::{Function, Inst, InstBuilder, InstHead, Operand};
use oriole_pass::analysis::{Accessed, Addresses, Definitions, Pointer, Variable};
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use oriole_pass::peephole::rewrite::mov_fields;
use specific::Specific;

/// What the generic accesses that are left are counted as.
const GENERIC: &str = "generic-access";

/// The memory-space-opt pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let addresses = match cx.knobs.flag(Knob::KernelPointersAreGlobal) {
        true => Addresses::with_global_parameters(func),
        false => (*cx.analyses.get::<Addresses>(func)).clone(),
    };
    let definitions = cx.analyses.get::<Definitions>(func);
    let mut specific = Specific::new((*definitions).clone(), &addresses, !cx.has_word("first-time"));
    let mut changed = Changed::No;
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        if let Some(answer) = answer(func, inst, &addresses).filter(|_| cx.rewrite("fold-isspacep")) {
            let InstHead { guard, line, .. } = func.inst(inst).head();
            let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
            let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(Type::Pred), guard, line };
            func.set_inst(inst, head, &dsts, &[Operand::imm(u32::from(answer))], &elses);
            changed = Changed::Yes;
        }
        let Some(accessed) = Accessed::of(func, inst, |base| addresses.pointer(func, base)) else { continue };
        if !accessed.pointer.generic {
            continue;
        }
        changed |= narrow(func, inst, &accessed, &mut specific, cx);
    }
    if cx.has_word("warnings") {
        let left = func.layout_insts().filter(|inst| func.inst(*inst).field::<Space>() == Some(Space::Generic)).count();
        cx.count(GENERIC, left as u64);
    }
    changed
}

/// Has an access say the space that its generic address leads to.
fn narrow(
    func: &mut Function,
    inst: Inst,
    accessed: &Accessed,
    specific: &mut Specific<'_>,
    cx: &mut PhaseContext<'_>,
) -> Changed {
    let Some((space, fields)) = accessed.pointer.space.and_then(|to| Some((to, in_space(func, inst, to)?))) else {
        return Changed::No;
    };
    let Some(base) = func.srcs(inst)[0].whole_reg().filter(|_| cx.rewrite("narrow-access")) else {
        return Changed::No;
    };
    match place(func, accessed) {
        Some((variable, first)) => access_at(func, inst, fields, variable.into(), Some(first)),
        None => {
            let base = specific.make(func, base, space);
            access_at(func, inst, fields, base, None);
        }
    }
    Changed::Yes
}

/// Has an access lie at an address: a base, and another offset from it than now.
pub(super) fn access_at(func: &mut Function, inst: Inst, fields: FieldValues, base: Operand, first: Option<u64>) {
    let offset = first.map(|first| func.imm(first));
    func.set_fields(inst, fields);
    let srcs = func.srcs_mut(inst);
    srcs[0] = base;
    if let Some(offset) = offset {
        srcs[1] = offset;
    }
}

/// The variable and the byte of it that an access begins with, where it lies within.
pub(super) fn place(func: &Function, accessed: &Accessed) -> Option<(Variable, u64)> {
    let Pointer { variable, .. } = accessed.pointer;
    match variable? {
        Variable::Local(local) => Some((variable?, accessed.within(func.locals[local].size())?)),
        // The function does not say how large it is; what is counted on may be another variable of its space.
        Variable::Global(_) => Some((variable?, accessed.within(u64::from(u32::MAX >> 8))?)),
    }
}

/// The fields of an access in a space, where there is such an instruction.
pub(super) fn in_space(func: &Function, inst: Inst, space: Space) -> Option<FieldValues> {
    let (data, row) = (func.inst(inst), func.inst(inst).opcode.row());
    // Local memory and constants have no order among threads that could be kept.
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    if matches!(space, Space::Param | Space::Generic) || !is_weak && !matches!(space, Space::Global | Space::Shared) {
        return None;
    }
    let slot = row.slot(Space::FIELD)?;
    let is_legal = row.fields[slot].legal >> space.index() & 1 == 1;
    let mut fields = data.head().fields;
    fields.0[slot] = space.index();
    (is_legal && row.broken_rule(&fields).is_none()).then_some(fields)
}

/// What `isspacep` says of an address that is known to lead to a space.
fn answer(func: &Function, inst: Inst, addresses: &Addresses) -> Option<bool> {
    let asked = func.inst(inst).field::<Space>().filter(|_| func.inst(inst).opcode == Opcode::IsSpaceP)?;
    let pointer = addresses.pointer(func, *func.srcs(inst).first()?).filter(|pointer| pointer.generic)?;
    let is_shared = |space| matches!(space, Space::Shared | Space::Cluster);
    match pointer.space? {
        space if space == asked => Some(true),
        // What is shared in the cluster may be the CTA's own.
        space if is_shared(space) && is_shared(asked) => None,
        _ => Some(false),
    }
}

/// A conversion of a generic address to one in a space.
fn converted(from: Operand, space: Space) -> InstBuilder {
    use oriole_ir::ops::CvtaDirection;
    InstBuilder::new(Opcode::Cvta).field(CvtaDirection::FromGeneric).field(space).field(Type::U64).src(from)
}
