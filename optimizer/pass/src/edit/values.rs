//! Where values come from in a function in SSA form, and how instructions become copies of values.

use crate::peephole::rewrite::mov_fields;
use oriole_ir::ops::{FieldValues, Opcode, Type};
use oriole_ir::{Function, Guard, Inst, InstHead, Operand, RegInfo};

/// Whether values of the type fill their register, so that selecting one selects the whole register.
pub fn fills_register(ty: Type) -> bool {
    ty == Type::Pred || ty.bits() >= 32
}

/// The value of a phi whose sources, other than itself, are all the same, and how many of those there are.
pub fn only_source(func: &Function, phi: Inst) -> Option<(Operand, usize)> {
    let own = func.defs(phi).next().map(Operand::Reg);
    let mut sources = func.srcs(phi).chunks_exact(2).map(|pair| pair[0]).filter(|value| Some(*value) != own);
    let first = sources.next()?;
    let mut count = 1;
    for value in sources {
        if value != first {
            return None;
        }
        count += 1;
    }
    Some((first, count))
}

/// Puts a `mov` for each result in place of an instruction, with a guard and what the results become where it is false.
/// The instruction itself becomes the first of those that are returned, in order.
///
/// # Panics
/// If a result has no `mov`.
pub fn become_copies(
    func: &mut Function,
    inst: Inst,
    guard: Option<Guard>,
    values: &[Operand],
    elses: &[Operand],
) -> Vec<Inst> {
    let dsts = func.dsts(inst).to_vec();
    let mov = |func: &Function, dst: Operand| {
        let ty = func.operand_info(dst).and_then(RegInfo::mov_type).expect("checked before the change was taken");
        (Opcode::Mov, mov_fields(ty))
    };
    let parts: Vec<_> = dsts.iter().map(|dst| mov(func, *dst)).collect();
    become_parts(func, inst, guard, &parts, values, elses)
}

/// The same with other operations of one operand than `mov`.
pub fn become_parts(
    func: &mut Function,
    inst: Inst,
    guard: Option<Guard>,
    parts: &[(Opcode, FieldValues)],
    values: &[Operand],
    elses: &[Operand],
) -> Vec<Inst> {
    let (line, dsts) = (func.inst(inst).line, func.dsts(inst).to_vec());
    let mut made = vec![inst];
    for (index, ((dst, value), (opcode, fields))) in dsts.iter().zip(values).zip(parts).enumerate() {
        let old: &[Operand] = elses.get(index..=index).unwrap_or(&[]);
        let head = InstHead { opcode: *opcode, fields: *fields, guard, line };
        if index == 0 {
            func.set_inst(inst, head, &[*dst], &[*value], old);
            continue;
        }
        let part = func.new_inst(head, &[*dst], &[*value], old);
        func.insert_after(made[index - 1], part);
        made.push(part);
    }
    made
}
