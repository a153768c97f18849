//! Barriers in shared memory, each in the memory of one thread: so what comes out depends on no order of threads, and
//! they may stand anywhere.
//!
//! One is made, used, ended and written over. What PTX leaves undefined is never done: a phase gets the arrivals that
//! it waits for and no more. States are no values like others, since PTX does not say what they hold.

use oriole_ir::ops::{Arrival, ArrivalMode, Field, FieldValues, NoInc, Opcode, Shape, Space, Transactions, Type};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::insts::Family;
use super::memory::{REGION, Region};

/// Bytes of a barrier.
const SIZE: u32 = 8;

/// A barrier in use: where it is, what it waits for, and the state that the last arrival found.
struct Barrier {
    region: Region,
    offset: u64,
    pending: u32,
    expected: u32,
    bytes: u32,
    /// How many phases are over.
    phase: u32,
    state: Option<Reg>,
}

impl Barrier {
    /// So many arrivals fewer to wait for, in this phase or in later ones too.
    fn arrived(&mut self, count: u32, drops: bool) {
        self.pending -= count;
        self.expected -= if drops { count } else { 0 };
        self.settle();
    }

    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.phase += 1;
        }
    }
}

impl Builder<'_, '_> {
    /// A barrier with an operation of an opcode, where there is shared memory.
    pub(super) fn mbarrier(&mut self, opcode: Opcode) {
        let Some(region) = self.regions.iter().copied().find(|region| region.space == Space::Shared && region.writable)
        else {
            return;
        };
        let offset = u64::from(SIZE) * self.entropy.below((REGION / SIZE) as usize) as u64;
        let count = self.entropy.between(3, 6);
        let mut barrier = Barrier { region, offset, pending: count, expected: count, bytes: 0, phase: 0, state: None };
        self.on_barrier(&barrier, Opcode::MbarrierInit, &[], Some(Operand::imm(count)));
        self.arrive(&mut barrier, Opcode::MbarrierArrive);
        self.use_barrier(&mut barrier, opcode);
        for _ in 0..self.entropy.below(3) {
            if let Some(opcode) = self.opcode_of(Family::Mbarrier) {
                self.use_barrier(&mut barrier, opcode);
            }
        }
        self.on_barrier(&barrier, Opcode::MbarrierInval, &[], None);
        let value = self.value(Type::B64);
        let store = Self::typed(Opcode::St, Type::B64).field(Space::Shared).src(region.base);
        self.push(&store.src(barrier.offset).src(value));
    }

    fn use_barrier(&mut self, barrier: &mut Barrier, opcode: Opcode) {
        match opcode {
            Opcode::MbarrierInit | Opcode::MbarrierInval => {}
            Opcode::MbarrierArrive | Opcode::MbarrierArriveCount => self.arrive(barrier, opcode),
            Opcode::MbarrierArriveRemote => self.arrive_by_cluster(barrier),
            Opcode::MbarrierTx => self.count_bytes(barrier),
            Opcode::CpAsyncArrive => self.arrive_for_copies(barrier),
            Opcode::MbarrierWait => {
                let Some(state) = barrier.state else { return };
                self.ask(barrier, opcode, state.into());
            }
            _ => {
                let parity = Operand::imm(self.entropy.between(0, 1));
                self.ask(barrier, opcode, parity);
            }
        }
    }

    /// An arrival, as often as its mode allows while the phase waits for more, and no later one waits for nothing.
    fn arrive(&mut self, barrier: &mut Barrier, opcode: Opcode) {
        let (Some(fields), row) = (self.fields(opcode, &[]), opcode.row()) else { return };
        let mode = row.value::<ArrivalMode>(&fields);
        let drops = row.value::<Arrival>(&fields) == Some(Arrival::Drop);
        let kept = u32::from(mode == Some(ArrivalMode::NoComplete));
        let most = barrier.pending.min(if drops { barrier.expected - 1 } else { barrier.expected });
        let Some(most) = most.checked_sub(kept).filter(|most| *most > 0) else { return };
        let count = match mode {
            None | Some(ArrivalMode::ExpectTx) => 1,
            Some(_) => self.entropy.between(1, most),
        };
        let mut inst = self.barrier_inst(barrier, opcode, fields);
        if mode == Some(ArrivalMode::ExpectTx) {
            let bytes = self.bytes();
            barrier.bytes += bytes;
            inst = inst.src(Operand::imm(bytes));
        } else if mode.is_some() {
            inst = inst.src(Operand::imm(count));
        }
        barrier.state = Some(self.hidden(inst, RegInfo::words(2)));
        barrier.arrived(count, drops);
    }

    /// An arrival by the barrier's address in the cluster, which yields no state.
    fn arrive_by_cluster(&mut self, barrier: &mut Barrier) {
        let (opcode, row) = (Opcode::MbarrierArriveRemote, Opcode::MbarrierArriveRemote.row());
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let drops = row.value::<Arrival>(&fields) == Some(Arrival::Drop);
        let most = barrier.pending.min(if drops { barrier.expected - 1 } else { barrier.expected });
        if most == 0 {
            return;
        }
        let expects = row.value::<ArrivalMode>(&fields) == Some(ArrivalMode::ExpectTx);
        let (count, operand) = if expects {
            let bytes = self.bytes();
            barrier.bytes += bytes;
            (1, bytes)
        } else {
            let count = self.entropy.between(1, most);
            (count, count)
        };
        let inst = self.barrier_inst(barrier, opcode, fields).src(Operand::imm(operand));
        self.push(&inst);
        barrier.arrived(count, drops);
    }

    fn bytes(&mut self) -> u32 {
        16 * self.entropy.between(1, 4)
    }

    /// Expects bytes, or lets all come that are expected.
    fn count_bytes(&mut self, barrier: &mut Barrier) {
        let Some(fields) = self.fields(Opcode::MbarrierTx, &[]) else { return };
        let expects = Opcode::MbarrierTx.row().value::<Transactions>(&fields) == Some(Transactions::Expect);
        let bytes = self.bytes();
        if !expects && barrier.bytes == 0 {
            self.on_barrier(barrier, Opcode::MbarrierTx, &[fixed(Transactions::Expect)], Some(Operand::imm(bytes)));
            barrier.bytes = bytes;
        }
        let bytes = if expects { bytes } else { barrier.bytes };
        let inst = self.barrier_inst(barrier, Opcode::MbarrierTx, fields).src(Operand::imm(bytes));
        self.push(&inst);
        barrier.bytes = if expects { barrier.bytes + bytes } else { 0 };
        barrier.settle();
    }

    /// A copy, an arrival once it is done, and all that the phase waits for beside that: what comes behind does not
    /// depend on when it arrives.
    fn arrive_for_copies(&mut self, barrier: &mut Barrier) {
        let Some(fields) = self.fields(Opcode::CpAsyncArrive, &[]) else { return };
        let counts = Opcode::CpAsyncArrive.row().value::<NoInc>(&fields) == Some(NoInc::NoInc);
        if counts && barrier.pending == 0 {
            return;
        }
        let beside = (barrier.offset + u64::from(SIZE)) % u64::from(REGION);
        self.copy_to(barrier.region, beside, SIZE);
        let inst = self.barrier_inst(barrier, Opcode::CpAsyncArrive, fields);
        self.push(&inst);
        barrier.pending -= u32::from(counts);
        if barrier.bytes > 0 {
            let complete = [fixed(Transactions::Complete)];
            self.on_barrier(barrier, Opcode::MbarrierTx, &complete, Some(Operand::imm(barrier.bytes)));
        }
        let at = |opcode, barrier: &Barrier| {
            Self::typed(opcode, Type::B64).field(Space::Shared).src(barrier.region.base).src(barrier.offset)
        };
        for _ in 0..barrier.pending {
            self.hidden(at(Opcode::MbarrierArrive, barrier), RegInfo::words(2));
        }
        let parity = Operand::imm(barrier.phase & 1);
        self.hidden(at(Opcode::MbarrierWaitParity, barrier).src(parity), RegInfo::PRED);
        (barrier.pending, barrier.bytes) = (0, 0);
        barrier.settle();
        let to = self.destination(RegInfo::words(1), false);
        self.push(
            &Self::typed(Opcode::Ld, Type::B32).field(Space::Shared).src(barrier.region.base).src(beside).dst(to),
        );
    }

    /// A question to a barrier, whose answer is a value like others.
    fn ask(&mut self, barrier: &Barrier, opcode: Opcode, operand: Operand) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let inst = self.barrier_inst(barrier, opcode, fields).src(operand);
        let to = self.destination(RegInfo::PRED, false);
        self.push(&inst.dst(to));
    }

    /// An operation without a result.
    fn on_barrier(&mut self, barrier: &Barrier, opcode: Opcode, fixed: &[(Field, u8)], operand: Option<Operand>) {
        let Some(fields) = self.fields(opcode, fixed) else { return };
        let inst = self.barrier_inst(barrier, opcode, fields).srcs(operand);
        self.push(&inst);
    }

    /// An operation with its address.
    fn barrier_inst(&mut self, barrier: &Barrier, opcode: Opcode, fields: FieldValues) -> InstBuilder {
        debug_assert_eq!(opcode.row().srcs.first(), Some(&Shape::Base));
        let generic = opcode.row().value::<Space>(&fields) == Some(Space::Generic);
        let base = match barrier.region.generic.filter(|_| generic) {
            Some(generic) => generic.into(),
            None => barrier.region.base,
        };
        InstBuilder::new(opcode).fields(fields).src(base).src(barrier.offset)
    }
}
