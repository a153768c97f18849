//! Which instructions may be commoned (`spec/copy-propagation-and-cse.txt`, "Instruction Eligibility").
//!
//! The page lists opcodes of the binary by number. Here the opcode table decides: what is pure is eligible, a weak load
//! is, and nothing else. So volatile and ordered accesses, atomics, stores, barriers and what defines a convergence
//! barrier are not. Collectives (`shfl`, `vote`, `match`, `redux`) are not either, though the page has them in the
//! enhanced scope: lanes of a warp may meet in one of them from different places, so taking one away can leave another
//! lane waiting. Late commoning takes those of whole warps
//! ([`super::collectives`]). Copies are followed instead, and a load that asks for fresh data (`.cv`) is no equal of
//! another.

use oriole_ir::ops::{CacheOp, FieldValue, Flags, Latency, Opcode, Type, UndefTransfer};
use oriole_ir::sm::Target;
use oriole_ir::{Function, Inst, RegFile};
use oriole_pass::engine::dead_code::is_removable;

/// A kind of eligible instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// An operation of the main pipes, or a phi.
    Common,
    /// One of the slow units, such as a transcendental function: the enhanced scope has it.
    Special,
    /// One that moves bits as they are, such as a `pack`: commoning it alone saves little, if registers fall well.
    Moving,
    /// A weak load.
    Load,
}

/// How an instruction may be commoned, if at all.
pub(super) fn class(func: &Function, inst: Inst, target: Target) -> Option<Class> {
    let data = func.inst(inst);
    if data.is(Flags::COPY) || !is_removable(func, inst) || !can_be_copied(func, inst, target) {
        return None;
    }
    if data.is(Flags::READS) {
        return (data.field::<CacheOp>() != Some(CacheOp::Cv)).then_some(Class::Load);
    }
    let row = data.opcode.row();
    Some(match row.latency {
        _ if data.opcode == Opcode::Phi => Class::Common,
        _ if row.undef == UndefTransfer::Copying => Class::Moving,
        Latency::Variable | Latency::Expanded => Class::Special,
        _ => Class::Common,
    })
}

/// Whether each result has a `mov` that the target knows, and nothing is a convergence barrier.
pub(super) fn can_be_copied(func: &Function, inst: Inst, target: Target) -> bool {
    let mov = Opcode::Mov.row();
    let is_known = |ty: Type| {
        let mut fields = mov.default_fields();
        mov.slot(Type::FIELD).into_iter().for_each(|slot| fields.0[slot] = ty.index());
        mov.missing_on(target, &fields).is_none()
    };
    let barrier = func.uses(inst).any(|reg| func.regs()[reg].file == RegFile::B);
    !barrier && func.defs(inst).all(|reg| func.regs()[reg].mov_type().is_some_and(is_known))
}
