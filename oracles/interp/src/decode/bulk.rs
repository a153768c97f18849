//! Decoding of what runs beside the threads.

use oriole_ir::ops::{AtomOp, CopyFrom, CopyTo, Multicast, Opcode, Shape, Space, WaitRead};
use oriole_ir::{Inst, InstData};

use super::{DecodeFault, Decoded, Decoder, op};
use crate::bulk::{Brought, BulkOp};
use crate::program::{Kind, Op};
use crate::stretch::StretchOp;
use crate::strong::StrongKind;

impl Decoder<'_> {
    pub(super) fn bulk(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let operation = match data.opcode {
            Opcode::StAsync | Opcode::RedAsync => self.brought_by_registers(inst, data)?,
            _ => self.brought_by_memory(inst, data)?,
        };
        self.program.bulks.push(operation);
        Ok(op(Kind::Bulk).x(self.program.bulks.len() as u32 - 1))
    }

    /// What is about a stretch of global memory.
    pub(super) fn stretch(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let operation = match data.opcode {
            Opcode::Discard => StretchOp::Discard(self.address(inst, 0, Self::space(data))?),
            _ => StretchOp::Prefetch(self.address(inst, 0, Space::Global)?, self.source(data, inst, 2, Shape::R)?),
        };
        self.program.stretches.push(operation);
        Ok(op(Kind::Stretch).x(self.program.stretches.len() as u32 - 1))
    }

    fn brought_by_memory(&mut self, inst: Inst, data: &InstData) -> Decoded<BulkOp> {
        let to = match data.field() {
            Some(CopyTo::Global) => Space::Global,
            Some(CopyTo::Cluster) => Space::Cluster,
            _ => Space::Shared,
        };
        let from = if data.field() == Some(CopyFrom::Cta) { Space::Shared } else { Space::Global };
        let to = self.address(inst, 0, to)?;
        let from = self.address(inst, 2, from)?;
        let bytes = self.source(data, inst, 4, Shape::R)?;
        let has_barrier = data.opcode.row().srcs.get(5) == Some(&Shape::Base);
        // A copy to the own CTA has its barrier there, others where they go.
        let barrier = if has_barrier { Some(self.address(inst, 5, Space::Cluster)?) } else { None };
        let ctas = match data.field::<Multicast>() {
            Some(Multicast::Cluster) => Some(self.source(data, inst, 7, Shape::R)?),
            _ => None,
        };
        let combine = data.field::<AtomOp>().map(|op| (op, data.ty()));
        Ok(BulkOp { to, brought: Brought::Memory { from, bytes }, barrier, combine, ctas })
    }

    fn brought_by_registers(&mut self, inst: Inst, data: &InstData) -> Decoded<BulkOp> {
        let space = Self::space(data);
        let to = self.address(inst, 0, space)?;
        let count = data.vector_len();
        let values = self.func.srcs(inst).get(2..2 + count).ok_or(DecodeFault::OperandCount)?;
        let regs = self.elements(data, values)?;
        let barrier = Some(self.address(inst, 2 + count, space)?);
        let combine = data.field::<AtomOp>().map(|op| (op, data.ty()));
        let bytes = (data.ty().bits() / 8) as u8;
        Ok(BulkOp { to, brought: Brought::Registers { regs, bytes }, barrier, combine, ctas: None })
    }

    /// What waits for the groups of bulk copies that the thread has closed.
    pub(super) fn bulk_wait(&self, inst: Inst, data: &InstData) -> StrongKind {
        let groups = self.func.srcs(inst).first().and_then(|groups| self.func.imm_bits(*groups));
        StrongKind::BulkWait { left: groups.unwrap_or(0) as u32, reading: data.field() == Some(WaitRead::Read) }
    }
}
