//! `correlated-propagation`: what branches say about values, where they are read (`spec/pass-pipeline.txt`, line 1202:
//! CorrelatedValuePropagation).
//!
//! In a block that one way of a branch leads to, its condition is known, and whatever that implies: a range of what
//! was compared ([`Ranges`]), and the predicates that the condition was made of (`phases/edge_facts.rs`). With these
//!
//! - comparisons of integers, and choices between two values, are decided: so are the smaller and the larger of two;
//! - of numbers that are not negative, the signed quotient, remainder, shift and extension become unsigned, which cost
//!   less and say more about their results, and the absolute value is the number;
//! - masks that keep all bits that a value can have are left out.
//!
//! Branches stay: deciding these is the work of jump-threading.
//!
//! Cost: that of the ranges, and linear.

use std::sync::Arc;

use oriole_ir::ops::{Compare, FieldValue, FieldValues, Opcode, Relu, SrcType, Type};
use oriole_ir::{Block, Function, Inst, InstHead, Operand};
use oriole_pass::analysis::{Range, RangeAnalyses, Ranges, compared};
use oriole_pass::edit::values::{become_copies, fills_register};
use oriole_pass::engine::branch_facts::{Facts, Place};
use oriole_pass::pass::{Changed, PhaseContext};

/// The new form of an instruction.
enum Decision {
    /// A copy of a value.
    Is(Operand),
    /// The same operation with other fields.
    With(&'static str, FieldValues),
}

/// The correlated-propagation pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut facts = Facts::new(func, cx);
    let known = Known { asked: RangeAnalyses::new(func, cx.analyses), ranges: cx.analyses.get(func) };
    let RangeAnalyses { cfg, dominators, .. } = &known.asked;
    let mut changed = Changed::No;
    // The blocks that dominate the current one, each with the number of facts before it.
    let mut open: Vec<(Block, usize)> = Vec::new();
    for block in dominators.preorder(cfg) {
        while let Some((_, mark)) = open.pop_if(|(top, _)| !dominators.dominates(cfg, *top, block)) {
            facts.forget(mark);
        }
        open.push((block, facts.mark()));
        if let [from] = *cfg.predecessors(block) {
            facts.learn_edge(func, from, block);
        }
        for inst in func.block_insts(block).collect::<Vec<Inst>>() {
            changed |= decide(func, inst, block, &known, &facts, cx);
        }
    }
    changed
}

struct Known {
    asked: RangeAnalyses,
    ranges: Arc<Ranges>,
}

impl Known {
    /// The range of an operand where an instruction executes, if it has a width.
    fn range(&self, func: &Function, operand: Operand, inst: Inst, bits: u32) -> Option<Range> {
        if let Some(constant) = func.imm_bits(operand) {
            return Some(Range::constant(constant, bits));
        }
        self.ranges.at_inst(self.asked.context(func), operand, inst).filter(|range| range.bits() == bits)
    }
}

fn decide(
    func: &mut Function,
    inst: Inst,
    block: Block,
    known: &Known,
    facts: &Facts,
    cx: &mut PhaseContext<'_>,
) -> Changed {
    let decision = match func.inst(inst).opcode {
        Opcode::SelP => chosen(func, inst, block, facts),
        _ => by_ranges(func, inst, known),
    };
    let copies = func.defs(inst).all(|reg| func.regs()[reg].mov_type().is_some());
    match decision {
        Some(Decision::Is(value)) if copies && cx.rewrite("known-by-branch") => {
            let (guard, elses) = (func.inst(inst).guard, func.elses(inst).to_vec());
            become_copies(func, inst, guard, &[value], &elses);
            Changed::Yes
        }
        Some(Decision::With(rule, fields)) if cx.rewrite(rule) => {
            func.set_fields(inst, fields);
            Changed::Yes
        }
        _ => Changed::No,
    }
}

/// The chosen operand of a selection, in a block where its condition is known.
fn chosen(func: &Function, inst: Inst, block: Block, facts: &Facts) -> Option<Decision> {
    let &[yes, no, condition] = func.srcs(inst) else { return None };
    let place = Place { end_of: block, through: None };
    let holds = facts.decide(func, condition, place).filter(|_| fills_register(func.inst(inst).ty()))?;
    Some(Decision::Is(if holds { yes } else { no }))
}

/// The decision that ranges make of an operation on whole registers.
fn by_ranges(func: &Function, inst: Inst, known: &Known) -> Option<Decision> {
    let (data, ty) = (func.inst(inst), func.inst(inst).ty());
    if !matches!(ty, Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64) {
        return None;
    }
    let range = |at: usize, ty: Type| known.range(func, *func.srcs(inst).get(at)?, inst, ty.bits());
    let natural = |at: usize, ty: Type| range(at, ty).is_some_and(|range| range.signed().0 >= 0);
    let unsigned = Type::integer(ty.bits(), false)?;
    match data.opcode {
        Opcode::SetP => {
            let holds = compared(data.field::<Compare>()?, ty.is_signed(), range(0, ty)?, range(1, ty)?)?;
            Some(Decision::Is(Operand::imm(u32::from(holds))))
        }
        Opcode::IMin | Opcode::IMax => {
            let is_less = compared(Compare::Le, ty.is_signed(), range(0, ty)?, range(1, ty)?)?;
            let plain = data.field::<Relu>() != Some(Relu::Relu);
            let first = is_less == (data.opcode == Opcode::IMin);
            plain.then(|| Decision::Is(func.srcs(inst)[usize::from(!first)]))
        }
        Opcode::IDiv | Opcode::IRem if ty.is_signed() && natural(0, ty) && natural(1, ty) => {
            with_types(func, inst, "unsigned-division", unsigned, None)
        }
        Opcode::Shr if ty.is_signed() && natural(0, ty) => with_types(func, inst, "unsigned-shift", unsigned, None),
        Opcode::Cvt if ty.bits() == 64 && data.field::<SrcType>() == Some(SrcType::S32) && natural(0, Type::S32) => {
            with_types(func, inst, "unsigned-extension", Type::U64, Some(SrcType::U32))
        }
        Opcode::IAbs if natural(0, ty) => Some(Decision::Is(func.srcs(inst)[0])),
        Opcode::And => {
            let mask = func.imm_bits(func.srcs(inst)[1]).filter(|mask| mask & mask.wrapping_add(1) == 0)?;
            let keeps = range(0, ty)?.unsigned().1 <= mask;
            keeps.then(|| Decision::Is(func.srcs(inst)[0]))
        }
        _ => None,
    }
}

/// The operation on other types, where there is such a one.
fn with_types(func: &Function, inst: Inst, rule: &'static str, ty: Type, from: Option<SrcType>) -> Option<Decision> {
    let InstHead { opcode, mut fields, .. } = func.inst(inst).head();
    let row = opcode.row();
    fields.0[row.slot(Type::FIELD)?] = ty.index();
    if let Some(from) = from {
        fields.0[row.slot(SrcType::FIELD)?] = from.index();
    }
    row.broken_rule(&fields).is_none().then_some(Decision::With(rule, fields))
}
