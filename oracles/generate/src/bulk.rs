//! Operations that run beside the threads: each ends at a barrier in the thread's own memory, or in a group, and is
//! waited for at once, so what comes out depends on no moment at which it is done.

use oriole_ir::ops::{CopyFrom, FieldValues, Opcode, Proxy, Shape, Space, SpecialReg, Transactions, Type, WaitRead};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::memory::Region;

/// Where in a thread's shared memory the barrier lies, behind what is copied.
pub(super) const BARRIER: u64 = 16;
/// What bulk copies are aligned to, and made of, in bytes.
pub(super) const GRAIN: u32 = 16;
/// Bytes that a bulk copy moves.
const BYTES: u32 = GRAIN;

impl Builder<'_, '_> {
    /// An operation that runs beside the thread, and what waits for it.
    pub(super) fn asynchronous(&mut self, opcode: Opcode) {
        let own = |region: &Region| region.space == Space::Shared && region.writable;
        let Some(shared) = self.regions.iter().copied().find(own) else { return };
        let (Some(fields), Operand::Reg(own)) = (self.fields(opcode, &[]), shared.base) else { return };
        match opcode {
            Opcode::BulkStore | Opcode::BulkReduceStore => self.bulk_to_global(opcode, fields, own),
            Opcode::StAsync | Opcode::RedAsync => {
                let generic = opcode.row().value::<Space>(&fields) == Some(Space::Generic);
                let Some(base) = (if generic { shared.generic } else { Some(own) }) else { return };
                self.registers_to_shared(opcode, fields, base, own);
            }
            _ => self.bulk_to_shared(opcode, fields, own),
        }
    }

    /// The read-only or writable global memory of the thread.
    fn global(&self, writable: bool) -> Option<Operand> {
        let fits = |region: &&Region| region.space == Space::Global && region.writable == writable;
        self.regions.iter().find(fits).map(|region| region.base)
    }

    fn bulk_to_shared(&mut self, opcode: Opcode, fields: FieldValues, own: Reg) {
        let row = opcode.row();
        let is_global = row.value::<CopyFrom>(&fields) == Some(CopyFrom::Global);
        // From shared memory, what is copied is what is there.
        let from = if is_global { self.global(false) } else { Some(own.into()) };
        let Some(from) = from else { return };
        self.make_barrier(own);
        self.fence_for_async();
        let at = Operand::imm(0);
        let size = Operand::imm(BYTES);
        let mut sources = vec![own.into(), at, from, at, size, own.into(), self.func.imm(BARRIER)];
        if opcode == Opcode::BulkMulticast {
            let rank = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::ClusterCtaRank));
            let rank = self.hidden(rank, RegInfo::words(1));
            let bit = Self::typed(Opcode::Shl, Type::B32).src(Operand::imm(1)).src(rank);
            sources.push(self.hidden(bit, RegInfo::words(1)).into());
        }
        self.push(&InstBuilder::new(opcode).fields(fields).srcs(sources));
        self.await_barrier(own, BYTES);
        self.load_own(own);
    }

    /// What the thread has stored is seen by bulk copies, by products of warpgroups, and by the barrier's count.
    pub(super) fn fence_for_async(&mut self) {
        self.push(&InstBuilder::new(Opcode::FenceProxy).field(Proxy::Async));
    }

    fn registers_to_shared(&mut self, opcode: Opcode, fields: FieldValues, base: Reg, own: Reg) {
        let row = opcode.row();
        let Some(ty) = row.value::<Type>(&fields) else { return };
        let count = row.registers(&fields, Shape::V);
        let count = if opcode == Opcode::StAsync { count } else { 1 };
        self.make_barrier(own);
        let mut sources = vec![Operand::Reg(base), Operand::imm(0)];
        (0..count).for_each(|_| sources.push(self.value(ty)));
        sources.extend([base.into(), self.func.imm(BARRIER)]);
        self.push(&InstBuilder::new(opcode).fields(fields).srcs(sources));
        self.await_barrier(own, count as u32 * ty.bits() / 8);
        self.load_own(own);
    }

    fn bulk_to_global(&mut self, opcode: Opcode, fields: FieldValues, own: Reg) {
        let Some(to) = self.global(true) else { return };
        let at = Operand::imm(0);
        self.fence_for_async();
        self.push(&InstBuilder::new(opcode).fields(fields).srcs([to, at, own.into(), at, Operand::imm(BYTES)]));
        self.push(&InstBuilder::new(Opcode::BulkCommit));
        if self.entropy.percent(30) {
            // What has been read may be written over.
            let read = self.fields(Opcode::BulkWait, &[fixed(WaitRead::Read)]);
            let value = self.value(Type::B32);
            if let Some(read) = read {
                self.push(&InstBuilder::new(Opcode::BulkWait).fields(read).src(Operand::imm(0)));
                self.push(&Self::typed(Opcode::St, Type::B32).field(Space::Shared).src(own).src(at).src(value));
            }
        }
        self.push(&InstBuilder::new(Opcode::BulkWait).src(Operand::imm(0)));
        let to_reg = self.destination(RegInfo::words(1), false);
        self.push(&Self::typed(Opcode::Ld, Type::B32).field(Space::Global).src(to).src(at).dst(to_reg));
    }

    /// A barrier for one arrival in the thread's own memory.
    pub(super) fn make_barrier(&mut self, own: Reg) {
        let init = Self::typed(Opcode::MbarrierInit, Type::B64).field(Space::Shared);
        self.push(&init.src(own).src(BARRIER).src(Operand::imm(1)));
    }

    /// Arrives there, asks until so many bytes have come, and writes over the barrier.
    pub(super) fn await_barrier(&mut self, own: Reg, bytes: u32) {
        let barrier = |opcode| Self::typed(opcode, Type::B64).field(Space::Shared).src(own).src(BARRIER);
        let bytes = Operand::imm(bytes);
        self.push(&barrier(Opcode::MbarrierTx).field(Transactions::Expect).src(bytes));
        self.hidden(barrier(Opcode::MbarrierArrive), RegInfo::words(2));
        let waited = barrier(Opcode::MbarrierWaitParity).src(Operand::imm(0));
        let [again, rest] = self.blocks();
        self.jump(again, again);
        let done = self.hidden(waited, RegInfo::PRED);
        self.branch(done.into(), [rest, again], rest);
        self.push(&barrier(Opcode::MbarrierInval));
        let value = self.value(Type::B64);
        self.push(&Self::typed(Opcode::St, Type::B64).field(Space::Shared).src(own).src(BARRIER).src(value));
    }

    fn load_own(&mut self, own: Reg) {
        let word = 4 * self.entropy.below(BYTES as usize / 4) as u64;
        let to = self.destination(RegInfo::words(1), false);
        self.push(&Self::typed(Opcode::Ld, Type::B32).field(Space::Shared).src(own).src(word).dst(to));
    }
}
