//! Collectives of whole warps: what all 32 lanes execute twice, with the same operands, they need once.
//!
//! The page has `shfl`, `vote` and `match` among what is commoned (122, 186, 283, 310 in "Instruction Eligibility"),
//! and ptxas commons them up to `sm_89` ([`oriole_ir::sm::Target::commons_collectives`]). Lanes of a warp may meet in a
//! collective from different places, so taking one away may leave others waiting. It leaves none where
//!
//! - the mask, the last operand, is the constant of all lanes, and nothing guards the instruction;
//! - every branch that decides whether a thread comes to its block is decided alike by all threads of the CTA, and so
//!   it is with whatever else lanes do together in the function. Then all lanes come to the same ones in the same
//!   order, and no lane is in one of them from elsewhere;
//! - the function is a kernel, and calls none: who calls a function, and what it does, is not known.
//!
//! The same holds of the earlier one, which dominates. Operands are the same registers, which each lane has once, so
//! both give each lane the same.
//!
//! Cost: the control dependences, and a walk over them from the blocks that have collectives.

use cranelift_entity::EntitySet;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::sm::Target;
use oriole_ir::{Block, Function, FunctionKind, Inst};
use oriole_pass::analysis::{Cfg, Divergence, PostDominators, Uniformity};
use oriole_pass::pass::PhaseContext;

use super::eligibility::can_be_copied;

/// All lanes of a warp.
const ALL_LANES: u64 = 0xffff_ffff;

/// The collectives of a function that whole warps execute.
#[derive(Default)]
pub(super) struct Collectives {
    blocks: EntitySet<Block>,
}

impl Collectives {
    /// Those of a function; none where the target does not common them.
    pub(super) fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Collectives {
        let target = cx.target;
        let mut found = Collectives::default();
        if !target.commons_collectives() || func.kind != FunctionKind::Entry {
            return found;
        }
        let has = |block: Block, is: &dyn Fn(Inst) -> bool| func.block_insts(block).any(is);
        let blocks = |is: &dyn Fn(Inst) -> bool| -> Vec<Block> {
            func.layout().iter().copied().filter(|block| has(*block, is)).collect()
        };
        let together = blocks(&|inst| func.inst(inst).is(Flags::CONVERGENT));
        let wanted = blocks(&|inst| is_collective(func, inst, target));
        if wanted.is_empty() || func.layout_insts().any(|inst| func.inst(inst).opcode == Opcode::Call) {
            return found;
        }
        let (cfg, divergence) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Divergence>(func));
        let decide = cx.analyses.get::<PostDominators>(func).control_dependences(&cfg);
        let (mut seen, mut work) = (EntitySet::<Block>::new(), together);
        while let Some(at) = work.pop() {
            let branches = decide.of(&cfg, at).iter().copied();
            if branches.clone().any(|branch| divergence.branch(branch) < Uniformity::Cta) {
                return found;
            }
            work.extend(branches.filter(|branch| seen.insert(*branch)));
        }
        found.blocks.extend(wanted);
        found
    }

    /// Whether an instruction may be commoned as one of them.
    pub(super) fn has(&self, func: &Function, inst: Inst, target: Target) -> bool {
        func.block_of(inst).is_some_and(|block| self.blocks.contains(block)) && is_collective(func, inst, target)
    }
}

/// Whether an instruction tells all lanes of a warp something of what they give, and does nothing else.
fn is_collective(func: &Function, inst: Inst, target: Target) -> bool {
    let data = func.inst(inst);
    let more = [
        Flags::READS,
        Flags::WRITES,
        Flags::EFFECT,
        Flags::FENCE,
        Flags::ASYNC,
        Flags::MATRIX,
        Flags::WARPGROUP,
        Flags::MBARRIER,
        Flags::TERMINATOR,
    ];
    let mask = func.srcs(inst).last().and_then(|mask| func.imm_bits(*mask));
    data.is(Flags::CONVERGENT)
        && !more.into_iter().any(|flag| data.is(flag))
        && data.guard.is_none()
        && mask == Some(ALL_LANES)
        && !func.dsts(inst).is_empty()
        && can_be_copied(func, inst, target)
}
