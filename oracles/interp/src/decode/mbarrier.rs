//! Decoding of operations on barriers in memory.

use oriole_ir::ops::{Arrival, ArrivalMode, NoInc, Opcode, Order, Scope, Transactions};
use oriole_ir::{Inst, InstData};

use super::accesses::strong_access;
use super::{DecodeFault, Decoded, Decoder, op};
use crate::mbarrier::MbarrierOp;
use crate::program::{Kind, Op, Place};
use crate::strong::{MemoryOrder, Strong, StrongKind};
use oriole_semantics::mbarrier::{Arrive, BarrierOp};

impl Decoder<'_> {
    pub(super) fn mbarrier(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let address = self.address(inst, 0, Self::space(data))?;
        let barrier = barrier_op(data)?;
        let row = data.opcode.row();
        let operand = match row.srcs.get(2) {
            Some(shape) => self.source(data, inst, 2, *shape)?,
            None => Place::None,
        };
        let dst = match row.dsts {
            [shape] => self.destination(data, inst, 0, *shape)?,
            _ => Place::None,
        };
        let strong = strong(data, barrier);
        self.program.strong |= strong.is_some();
        self.program.mbarriers.push(MbarrierOp { op: barrier, address, operand, dst, strong });
        Ok(op(Kind::Mbarrier).x(self.program.mbarriers.len() as u32 - 1))
    }
}

/// What an instruction does with a barrier.
fn barrier_op(data: &InstData) -> Decoded<BarrierOp> {
    Ok(match data.opcode {
        Opcode::MbarrierInit => BarrierOp::Init,
        Opcode::MbarrierInval => BarrierOp::Inval,
        Opcode::MbarrierTx if data.field() == Some(Transactions::Expect) => BarrierOp::Expect,
        Opcode::MbarrierTx => BarrierOp::Complete,
        Opcode::MbarrierArrive | Opcode::MbarrierArriveCount | Opcode::MbarrierArriveRemote => {
            BarrierOp::Arrive(Arrive {
                drops: data.field() == Some(Arrival::Drop),
                expects: data.field() == Some(ArrivalMode::ExpectTx),
                goes_on: data.field() == Some(ArrivalMode::NoComplete),
            })
        }
        Opcode::MbarrierWait => BarrierOp::IsOver,
        Opcode::MbarrierWaitParity => BarrierOp::IsParityOver,
        Opcode::CpAsyncArrive => BarrierOp::ArriveForCopies { is_counted: data.field() == Some(NoInc::NoInc) },
        other => return Err(DecodeFault::NoMeaning(other.row().name)),
    })
}

/// What an operation is to other threads. PTX ISA: arrivals that name no order release, and questions acquire, for the
/// CTA; bytes are counted relaxed.
fn strong(data: &InstData, barrier: BarrierOp) -> Option<Strong> {
    let (kind, order) = match barrier {
        BarrierOp::Init | BarrierOp::Inval => return None,
        BarrierOp::Expect | BarrierOp::Complete => (StrongKind::Atomic, MemoryOrder::Relaxed),
        BarrierOp::Arrive(_) | BarrierOp::ArriveForCopies { .. } => (StrongKind::Atomic, MemoryOrder::Release),
        BarrierOp::IsOver | BarrierOp::IsParityOver => (StrongKind::Load, MemoryOrder::Acquire),
    };
    match data.field::<Order>() {
        Some(Order::Weak) | None => Some(Strong { kind, order, scope: Scope::Cta }),
        Some(_) => strong_access(data, kind),
    }
}
