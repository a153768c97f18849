//! `bypass-slow-division`: a division of 64 bits by the narrow one where both operands fit (`spec/pass-pipeline.txt`,
//! line 204; LLVM's BypassSlowDivision).
//!
//! The machine has no division: one of 64 bits takes about four times the instructions of one of 32. In front of it the
//! high words are combined; where they are zero, both operands are the same numbers in 32 bits, and neither is
//! negative, so that the unsigned narrow division gives quotient and remainder. The wide one stays on the other way.
//! Where [`Ranges`] say that both operands always fit there is no test, and where they never do nothing changes.
//!
//! Divisions by constants are left to the multiplication that replaces them, and guarded ones as they are. Threads
//! meet behind both ways.
//!
//! Cost: that of the ranges, and linear.

use oriole_ir::ops::{Compare, Opcode, SrcType, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg, RegInfo};
use oriole_pass::analysis::{Cfg, Definitions, Range, RangeAnalyses, Ranges};
use oriole_pass::edit::graph::{come_from, two_ways};
use oriole_pass::pass::{Changed, PhaseContext};

/// The bypass-slow-division pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_wide = |inst: &Inst| slow(func, *inst).is_some();
    let divisions: Vec<Inst> = func.layout_insts().filter(is_wide).collect();
    if divisions.is_empty() {
        return Changed::No;
    }
    let (asked, ranges) = (RangeAnalyses::new(func, cx.analyses), cx.analyses.get::<Ranges>(func));
    let plan = |inst: Inst| {
        let known = asked.context(func);
        let operands = slow(func, inst)?;
        let of = operands.map(|reg| ranges.at_inst(known, Operand::Reg(reg), inst).unwrap_or(Range::full(64)));
        let always = of.iter().all(|range| range.unsigned().1 <= u64::from(u32::MAX));
        let never = of.iter().any(|range| range.unsigned().0 > u64::from(u32::MAX));
        let tested = is_tested(func, &asked.cfg, &asked.definitions, inst, operands);
        (always || !never && !tested).then_some((inst, operands, always))
    };
    let plans: Vec<(Inst, [Reg; 2], bool)> = divisions.into_iter().filter_map(plan).collect();
    let mut changed = Changed::No;
    for (inst, operands, always) in plans {
        if always && cx.rewrite("narrow-division") {
            let narrow = narrow(func, inst, operands);
            let result = func.defs(inst).next().expect("a division has a result");
            func.insert_before(inst, narrow.1);
            widened(narrow.0).dst(result).line(func.inst(inst).line).replace(func, inst);
            changed = Changed::Yes;
        } else if !always && cx.rewrite("bypass-division") {
            bypass(func, inst, operands);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The operands of a division of 64 bits by what is no constant.
fn slow(func: &Function, inst: Inst) -> Option<[Reg; 2]> {
    let data = func.inst(inst);
    let is_division = matches!(data.opcode, Opcode::IDiv | Opcode::IRem) && data.ty().bits() == 64;
    let &[a, b] = func.srcs(inst).first_chunk::<2>().filter(|_| is_division && data.guard.is_none())?;
    Some([a.whole_reg()?, b.whole_reg()?])
}

/// Whether a block is only reached where the high words are not zero.
fn is_tested(func: &Function, cfg: &Cfg, definitions: &Definitions, inst: Inst, operands: [Reg; 2]) -> bool {
    let Some(block) = func.block_of(inst) else { return true };
    let [from] = *cfg.predecessors(block) else { return false };
    let Some((condition, _, no)) = two_ways(func, from).filter(|(_, _, no)| *no == block) else { return false };
    let high = |inst: Inst| func.srcs(inst) == operands.map(|reg| Operand::Word(reg, 1));
    let compared = definitions.unguarded(func, condition, Opcode::SetP).and_then(|inst| func.srcs(inst).first());
    let both = compared.and_then(|operand| definitions.unguarded(func, *operand, Opcode::Or));
    no == block && both.is_some_and(high)
}

/// The result of the narrow operation, and that operation, which is in no block yet.
fn narrow(func: &mut Function, inst: Inst, operands: [Reg; 2]) -> (Reg, Inst) {
    let (opcode, line) = (func.inst(inst).opcode, func.inst(inst).line);
    let result = func.new_reg(RegInfo::words(1));
    let low = operands.map(|reg| Operand::Word(reg, 0));
    (result, InstBuilder::new(opcode).field(Type::U32).dst(result).srcs(low).line(line).create(func))
}

/// The narrow result in 64 bits.
fn widened(narrow: Reg) -> InstBuilder {
    InstBuilder::new(Opcode::Cvt).field(Type::U64).field(SrcType::U32).src(narrow)
}

/// Puts both ways in place of a division, and a phi behind them.
fn bypass(func: &mut Function, inst: Inst, operands: [Reg; 2]) {
    let block = func.block_of(inst).expect("it is in the layout");
    let line = func.inst(inst).line;
    let behind = func.new_block_after(block);
    let wide = func.new_block_after(block);
    let short = func.new_block_after(block);
    if let Some(after) = func.next_inst(inst) {
        func.move_tail(after, behind);
    }
    for next in func.successors(behind).collect::<Vec<Block>>() {
        come_from(func, next, block, behind);
    }
    let result = func.defs(inst).next().expect("a division has a result");
    let high = operands.map(|reg| Operand::Word(reg, 1));
    let both = InstBuilder::new(Opcode::Or).field(Type::B32).srcs(high).line(line);
    let both = both.append_value(func, block, RegInfo::words(1));
    let test =
        InstBuilder::new(Opcode::SetP).field(Compare::Eq).field(Type::U32).src(both).src(Operand::imm(0)).line(line);
    let fits = test.append_value(func, block, RegInfo::PRED);
    let (quotient, operation) = narrow(func, inst, operands);
    func.append_inst(short, operation);
    let quotient = widened(quotient).line(line).append_value(func, short, RegInfo::words(2));
    let slow = func.new_reg(RegInfo::words(2));
    let (head, srcs) = (func.inst(inst).head(), func.srcs(inst).to_vec());
    let moved = func.new_inst(head, &[Operand::Reg(slow)], &srcs, &[]);
    func.append_inst(wide, moved);
    func.remove_inst(inst);
    InstBuilder::new(Opcode::CBra).src(fits).src(short).src(wide).line(line).append(func, block);
    for way in [short, wide] {
        InstBuilder::new(Opcode::Bra).src(behind).line(line).append(func, way);
    }
    let phi = InstBuilder::new(Opcode::Phi).dst(result).src(quotient).src(short).src(slow).src(wide).line(line);
    let phi = phi.create(func);
    func.prepend_inst(behind, phi);
}
