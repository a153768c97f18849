//! `normalize-gep`: constants of address computations in one place, at the end (`spec/pass-pipeline.txt`, line 204,
//! which has the name alone; LLVM's SeparateConstOffsetFromGEP has the task).
//!
//! An index is computed in 32 bits, widened and scaled: `(i + 1) * 4` of one access and `i * 4` of the next have
//! nothing in common then. A constant that was added before is added behind, `cvt(i + c)` is `cvt(i) + c` and `wide(i +
//! c, s)` is `wide(i, s) + c * s`, so that it comes to the offset of the access, and the rest is computed once. That is
//! the same unless the narrow sum wraps, which [`Ranges`] must exclude, in the sign of the widening.
//!
//! Rules bring a constant that is added to an address into the access's offset, and sums into one order.
//!
//! Cost: that of the ranges, and linear.

use oriole_ir::ops::{Opcode, Saturate, SrcType, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand, Reg, RegInfo};
use oriole_pass::analysis::{RangeAnalyses, RangeContext, Ranges};
use oriole_pass::pass::{Changed, PhaseContext};

/// The new form of a widening.
struct Plan {
    inst: Inst,
    /// Its operand now.
    from: Reg,
    /// The constant that is added behind it.
    added: u64,
}

/// The normalize-gep pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let widens = |inst: &Inst| source_type(func, *inst).is_some();
    let widenings: Vec<Inst> = func.layout_insts().filter(widens).collect();
    if widenings.is_empty() {
        return Changed::No;
    }
    let (asked, ranges) = (RangeAnalyses::new(func, cx.analyses), cx.analyses.get::<Ranges>(func));
    let known = asked.context(func);
    let plans: Vec<Plan> = widenings.into_iter().filter_map(|inst| plan(known, &ranges, inst)).collect();
    let mut changed = Changed::No;
    for plan in plans {
        if cx.rewrite("constant-behind-widening") {
            apply(func, &plan);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The narrow type of an operation that widens its first operand, alone or times a constant.
fn source_type(func: &Function, inst: Inst) -> Option<Type> {
    let data = func.inst(inst);
    let is_plain = data.guard.is_none() && data.field::<Saturate>() != Some(Saturate::Sat);
    match data.opcode {
        _ if !is_plain => None,
        Opcode::Cvt if data.ty().bits() == 64 && !data.ty().is_float() => match data.field::<SrcType>()? {
            SrcType::U32 => Some(Type::U32),
            SrcType::S32 => Some(Type::S32),
            _ => None,
        },
        Opcode::IMulWide if func.srcs(inst)[1].is_imm() && data.ty().bits() == 32 => Some(data.ty()),
        _ => None,
    }
}

fn plan(known: RangeContext<'_>, ranges: &Ranges, inst: Inst) -> Option<Plan> {
    let RangeContext { func, definitions, .. } = known;
    let ty = source_type(func, inst)?;
    let sum = definitions.unguarded(func, func.srcs(inst)[0], Opcode::IAdd)?;
    let &[from, by] = func.srcs(sum) else { return None };
    let from = from.whole_reg()?;
    let by = func.imm_bits(by).filter(|_| func.inst(sum).field::<Saturate>() != Some(Saturate::Sat))?;
    let (by, is_whole) = (i128::from(by as u32 as i32), func.inst(sum).ty().bits() == 32);
    let range = ranges.at_inst(known, Operand::Reg(from), sum).filter(|range| is_whole && range.bits() == 32)?;
    let (low, high) = match ty.is_signed() {
        true => (i128::from(range.signed().0), i128::from(range.signed().1)),
        false => (i128::from(range.unsigned().0), i128::from(range.unsigned().1)),
    };
    let (least, most) = match ty.is_signed() {
        true => (i128::from(i32::MIN), i128::from(i32::MAX)),
        false => (0, i128::from(u32::MAX)),
    };
    let stays = low + by >= least && high + by <= most;
    let scale = match func.inst(inst).opcode {
        Opcode::IMulWide if ty.is_signed() => i128::from(func.imm_bits(func.srcs(inst)[1])? as u32 as i32),
        Opcode::IMulWide => i128::from(func.imm_bits(func.srcs(inst)[1])? as u32),
        _ => 1,
    };
    stays.then_some(Plan { inst, from, added: (by * scale) as u64 })
}

fn apply(func: &mut Function, plan: &Plan) {
    let result = func.defs(plan.inst).next().expect("a widening has a result");
    let (head, mut srcs) = (func.inst(plan.inst).head(), func.srcs(plan.inst).to_vec());
    let wide = func.new_reg(RegInfo::words(2));
    srcs[0] = Operand::Reg(plan.from);
    func.set_inst(plan.inst, head, &[Operand::Reg(wide)], &srcs, &[]);
    let sum = InstBuilder::new(Opcode::IAdd).field(Type::U64).dst(result).src(wide).src(plan.added).line(head.line);
    sum.insert_after(func, plan.inst);
}
