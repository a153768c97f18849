//! Barriers in shared memory, bulk copies, and what blocks of a cluster do together.
//!
//! A bulk copy takes its addresses in uniform registers, and so does a new barrier from Hopper on: where lanes have
//! them in registers of their own, one lane after the other is led through the operation (`Emit::each_lane`).
//! Addresses of shared memory have the rank of their block in the upper byte where a kernel reaches other blocks.

use oriole_ir::ops::{
    Arrival, ArrivalMode, AtomOp, CopyFrom, FieldValue, MbarrierWait, NoInc, Opcode, Order, Scope, Space, Transactions,
    Type, WaitRead,
};
use oriole_ir::{Guard, Inst, InstData, Modifiers, Operand, RegFile, RegInfo};

use super::emit::{marked, never};
use super::memory::{Address, CLUSTERS};
use super::{Refusal, Select, Value};

/// The bits of the rank of a block in an address of shared memory.
const RANK: u64 = 24;
/// The arrivals that a barrier counts to, before and from Hopper on: it has counted so far less what it waits for.
const FULL: u64 = 1 << 30;
const FULL_OF_HOPPER: u64 = 1 << 20;

impl Select<'_> {
    /// An operation on a barrier in shared memory.
    pub(super) fn barrier(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        if data.opcode == Opcode::MbarrierPending {
            return self.pending(dsts[0], srcs[0]);
        }
        let is_old = self.emit.table.sm < CLUSTERS;
        let zero = Operand::wired(RegFile::R, 1);
        let count = srcs.get(2).copied();
        match data.opcode {
            Opcode::MbarrierInit => return self.new_barrier(&srcs),
            Opcode::MbarrierInval if is_old => return Ok(()),
            Opcode::MbarrierInval => {
                return self.synchronize("SYNCS.CCTL.IV", &[], &srcs, &[]);
            }
            Opcode::MbarrierWait => {
                let state = self.register_of(srcs[2], 2)?;
                let high = self.emit.word(state, 1);
                return self.wait(&data, dsts[0], &srcs, high);
            }
            Opcode::MbarrierWaitParity => {
                let parity = self.register_of(srcs[2], 1)?;
                let (high, bits) = (Operand::Reg(self.emit.temp(1)), self.emit.func.imm(31));
                self.emit.op("SHF.L.U32", &[high], &[parity, bits, zero])?;
                return self.wait(&data, dsts[0], &srcs, high);
            }
            Opcode::CpAsyncArrive => return self.arrive_for_copies(&data, &srcs),
            _ => {}
        }
        self.before_arrival(&data)?;
        let state = dsts.first().copied().unwrap_or(Operand::wired(RegFile::R, 2));
        let drops = data.field::<Arrival>() == Some(Arrival::Drop);
        if is_old {
            return self.old_arrival(&data, inst, state, &srcs, drops);
        }
        let remote = if data.field::<Space>() == Some(Space::Cluster) { ".RED" } else { "" };
        let kind = match (data.opcode, data.field::<ArrivalMode>(), data.field::<Transactions>()) {
            (Opcode::MbarrierTx, _, Some(Transactions::Expect)) => ".RED.A0TR",
            (Opcode::MbarrierTx, ..) => ".RED.A0TX",
            (Opcode::MbarrierArrive, ..) => ".A1T0",
            (_, Some(ArrivalMode::ExpectTx), _) => "",
            _ => ".ART0",
        };
        let remote = if data.opcode == Opcode::MbarrierTx { "" } else { remote };
        let out = if drops { ".OPTOUT" } else { "" };
        let count = count.map_or(Ok(zero), |count| self.register_of(count, 1))?;
        let mnemonic = format!("SYNCS.ARRIVE.TRANS64{remote}{out}{kind}");
        if data.field::<ArrivalMode>() != Some(ArrivalMode::NoComplete) {
            return self.synchronize(&mnemonic, &[state], &srcs, &[count]);
        }
        // The state that each lane gets counts the arrivals of those before it.
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        let none = Operand::wired(RegFile::UR, 1);
        self.emit.each_lane(|emit| {
            let (long, short) = ([base, none, offset, count], [base, offset, count]);
            emit.first_of(&mnemonic, &[(&[state], &long), (&[state], &short)]).map(|_| ())
        })
    }

    /// Fences that come before an arrival.
    fn before_arrival(&mut self, data: &InstData) -> Result<(), Refusal> {
        let is_relaxed = data.field::<Order>() == Some(Order::Relaxed) || data.opcode == Opcode::MbarrierTx;
        match (is_relaxed, data.field::<Scope>()) {
            (true, _) => Ok(()),
            (false, Some(Scope::Cluster)) => {
                for mnemonic in ["MEMBAR.ALL.CTA", "MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR"] {
                    self.emit.op(mnemonic, &[], &[])?;
                }
                Ok(())
            }
            (false, _) if self.emit.table.sm < CLUSTERS => self.emit.op("MEMBAR.ALL.CTA", &[], &[]).map(|_| ()),
            (false, _) => Ok(()),
        }
    }

    /// An instruction on a barrier whose address is in the first two sources of an operation.
    fn synchronize(
        &mut self,
        mnemonic: &str,
        dsts: &[Operand],
        srcs: &[Operand],
        more: &[Operand],
    ) -> Result<(), Refusal> {
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        let none = Operand::wired(RegFile::UR, 1);
        let (long, short) = ([&[base, none, offset], more].concat(), [&[base, offset], more].concat());
        let forms: [(&[Operand], &[Operand]); 2] = [(dsts, &long), (dsts, &short)];
        self.emit.first_of(mnemonic, &forms).map(|_| ())
    }

    /// A barrier that waits for so many arrivals.
    fn new_barrier(&mut self, srcs: &[Operand]) -> Result<(), Refusal> {
        let count = self.register_of(srcs[2], 1)?;
        let (state, truth) = (Operand::Reg(self.emit.temp(2)), Operand::wired(RegFile::P, 1));
        let [low, high] = [0, 1].map(|word| self.emit.word(state, word));
        let zero = Operand::wired(RegFile::R, 1);
        let none = never();
        let negated = marked(count, Modifiers::NEGATE);
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        if self.emit.table.sm < CLUSTERS {
            for (to, full) in [(low, FULL), (high, 2 * FULL)] {
                let full = self.emit.func.imm(full);
                self.emit.op("IADD3", &[to, truth, truth], &[negated, full, zero, none, none])?;
            }
            return self.emit.op("STS.64", &[], &[base, offset, state]).map(|_| ());
        }
        let left = Operand::Reg(self.emit.temp(1));
        let [full, one, eleven] = [FULL_OF_HOPPER, 1, 11].map(|number| self.emit.func.imm(number));
        self.emit.op("IADD3", &[left, truth, truth], &[negated, full, zero, none, none])?;
        self.emit.op("SHF.L.U32", &[low], &[left, one, zero])?;
        self.emit.op("SHF.L.U32", &[high], &[left, eleven, zero])?;
        self.emit.op("FENCE.VIEW.ASYNC.S", &[], &[])?;
        self.emit.each_lane(|emit| {
            let (at, value) = (emit.uniform(&[base])?, emit.uniform(&[low, high])?);
            let none = Operand::wired(RegFile::UR, 2);
            emit.op("SYNCS.EXCH.64", &[none], &[at, offset, value]).map(|_| ())
        })
    }

    /// Whether a phase is over: that of a state, or the one with a parity, by the upper word of either.
    fn wait(&mut self, data: &InstData, dst: Operand, srcs: &[Operand], high: Operand) -> Result<(), Refusal> {
        if self.emit.table.sm < CLUSTERS {
            let sum = self.func.imm_bits(srcs[1]).unwrap_or(0).wrapping_add(4);
            let Address { base, offset } = self.address_beyond(srcs[0], sum as i64)?;
            let (now, none) = (Operand::Reg(self.emit.temp(1)), Operand::wired(RegFile::R, 1));
            self.emit.op("LDS", &[now], &[base, offset])?;
            let [sign, differs] = [1 << 31, 0x48].map(|number| self.emit.func.imm(number));
            let never = never();
            return self.emit.op("LOP3.LUT", &[dst, none], &[now, sign, high, differs, never]).map(|_| ());
        }
        let tries = if data.field::<MbarrierWait>() == Some(MbarrierWait::Try) { ".TRYWAIT" } else { "" };
        self.synchronize(&format!("SYNCS.PHASECHK.TRANS64{tries}"), &[dst], srcs, &[high])?;
        let is_relaxed = data.field::<Order>() == Some(Order::Relaxed);
        if data.field::<Scope>() == Some(Scope::Cluster) && !is_relaxed {
            // What the phase was waited for is not read before.
            self.emit.op("CCTL.IVALL", &[], &[])?;
        }
        Ok(())
    }

    /// How many arrivals a state waits for.
    fn pending(&mut self, dst: Operand, state: Operand) -> Result<(), Refusal> {
        let state = self.register_of(state, 2)?;
        let high = self.emit.word(state, 1);
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let none = never();
        let [shifted, kept] = [(); 2].map(|()| Operand::Reg(self.emit.temp(1)));
        let (first, mask, full) = if self.emit.table.sm < CLUSTERS {
            (0, 2 * FULL - 1, 2 * FULL)
        } else {
            (11, FULL_OF_HOPPER - 1, FULL_OF_HOPPER)
        };
        let [first, mask, full, and] = [first, mask, full, 0xc0].map(|number| self.emit.func.imm(number));
        self.emit.op("SHF.R.U32.HI", &[shifted], &[zero, first, high])?;
        self.emit.op("LOP3.LUT", &[truth, kept], &[shifted, mask, zero, and, none])?;
        let negated = marked(kept, Modifiers::NEGATE);
        self.emit.op("IADD3", &[dst, truth, truth], &[negated, full, zero, none, none]).map(|_| ())
    }

    /// An arrival before Hopper: the upper word of a barrier counts down what is waited for, the lower one those that
    /// take part.
    fn old_arrival(
        &mut self,
        data: &InstData,
        inst: Inst,
        state: Operand,
        srcs: &[Operand],
        drops: bool,
    ) -> Result<(), Refusal> {
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        let nothing = Operand::wired(RegFile::R, 1);
        match (data.opcode, data.field::<ArrivalMode>()) {
            (Opcode::MbarrierArrive, _) => {
                if drops {
                    let one = self.in_registers(Value::Imm(1, 1), 1);
                    self.emit.op("ATOMS.ADD", &[nothing], &[base, offset, one])?;
                }
                let none = Operand::wired(RegFile::UR, 1);
                let forms: [(&[Operand], &[Operand]); 2] =
                    [(&[state], &[base, none, offset]), (&[state], &[base, offset])];
                self.emit.first_of("ATOMS.ARRIVE.64", &forms).map(|_| ())
            }
            (_, Some(ArrivalMode::NoComplete)) => {
                let count = self.register_of(srcs[2], 1)?;
                if drops {
                    self.emit.op("ATOMS.ADD", &[nothing], &[base, offset, count])?;
                }
                let sum = self.func.imm_bits(srcs[1]).unwrap_or(0).wrapping_add(4);
                let Address { base, offset } = self.address_beyond(srcs[0], sum as i64)?;
                let [low, high] = [0, 1].map(|word| self.emit.word(state, word));
                self.emit.op("ATOMS.ADD", &[high], &[base, offset, count])?;
                if low.reg().is_some() {
                    self.emit.copy_word(low, high);
                }
                Ok(())
            }
            _ => Err(self.refused(inst)),
        }
    }

    /// An arrival once the copies of this thread are done.
    fn arrive_for_copies(&mut self, data: &InstData, srcs: &[Operand]) -> Result<(), Refusal> {
        let is_counted = data.field::<NoInc>() == Some(NoInc::NoInc);
        let (nothing, zero) = (Operand::wired(RegFile::R, 2), Operand::wired(RegFile::R, 1));
        if self.emit.table.sm < CLUSTERS {
            if !is_counted {
                // One more to wait for.
                let less = self.in_registers(Value::Imm(0xffff_ffff, 1), 1);
                let sum = self.func.imm_bits(srcs[1]).unwrap_or(0).wrapping_add(4);
                let Address { base, offset } = self.address_beyond(srcs[0], sum as i64)?;
                self.emit.op("ATOMS.ADD", &[zero], &[base, offset, less])?;
            }
            return self.synchronize("ARRIVES.LDGSTSBAR.64", &[], srcs, &[]);
        }
        if is_counted {
            return self.synchronize("ARRIVES.LDGSTSBAR.64.ARVCNT", &[], srcs, &[]);
        }
        self.synchronize("SYNCS.ARRIVE.TRANS64.RED.A0T1", &[nothing], srcs, &[zero])?;
        self.synchronize("ARRIVES.LDGSTSBAR.64.TRANSCNT", &[], srcs, &[])
    }

    /// A copy of bytes beside the threads, or a reduction with them.
    pub(super) fn bulk(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let srcs = self.func.srcs(inst).to_vec();
        match data.opcode {
            Opcode::BulkCommit => return self.emit.op("UTMACMDFLUSH", &[], &[]).map(|_| ()),
            Opcode::BulkWait => {
                let most = self.func.imm_bits(srcs[0]).unwrap_or(0);
                let [slot, most, none] = [0, most, 0].map(|number| self.emit.func.imm(number));
                self.emit.op("DEPBAR.LE", &[], &[slot, most, none])?;
                if data.field::<WaitRead>() == Some(WaitRead::Read) {
                    return Ok(());
                }
                return self.emit.op("CCTL.IVALL", &[], &[]).map(|_| ());
            }
            _ => {}
        }
        let is_store = matches!(data.opcode, Opcode::BulkStore | Opcode::BulkReduceStore);
        let is_prefetch = data.opcode == Opcode::BulkPrefetch;
        let size_at = if is_prefetch { 2 } else { 4 };
        let mask = if data.opcode == Opcode::BulkMulticast { Some(self.register_of(srcs[7], 1)?) } else { None };
        let size = self.register_of(srcs[size_at], 1)?;
        // Units of 16 bytes, and above them the blocks that get a copy.
        let [units, packed] = [(); 2].map(|()| Operand::Reg(self.emit.temp(1)));
        let (zero, [four, both]) =
            (Operand::wired(RegFile::R, 1), [4, 0x5410].map(|number| self.emit.func.imm(number)));
        self.emit.op("SHF.R.U32.HI", &[units], &[zero, four, size])?;
        self.emit.op("PRMT", &[packed], &[units, both, mask.unwrap_or(zero)])?;
        let from_global = data.field::<CopyFrom>() == Some(CopyFrom::Global);
        let to = self.words_at(srcs[0], srcs[1], is_store || is_prefetch)?;
        let (from, barrier) = match data.opcode {
            Opcode::BulkPrefetch => (Vec::new(), None),
            Opcode::BulkStore | Opcode::BulkReduceStore => (self.words_at(srcs[2], srcs[3], false)?, None),
            _ => (self.words_at(srcs[2], srcs[3], from_global)?, Some(self.words_at(srcs[5], srcs[6], false)?)),
        };
        let to = [to, barrier.unwrap_or_default()].concat();
        let spaces = match (is_store, from_global) {
            (true, _) => ".G.S",
            (false, true) => ".S.G",
            (false, false) => ".S.S",
        };
        let mnemonic = match data.opcode {
            Opcode::BulkPrefetch => "UBLKPF.L2".to_owned(),
            Opcode::BulkReduce | Opcode::BulkReduceStore => format!("UBLKRED{spaces}{}", reduction(&data, true)),
            Opcode::BulkMulticast => format!("UBLKCP{spaces}.MULTICAST"),
            _ => format!("UBLKCP{spaces}"),
        };
        self.emit.each_lane(|emit| {
            let (to, size) = (emit.uniform(&to)?, emit.uniform(&[packed])?);
            if from.is_empty() {
                return emit.first_of(&mnemonic, &[(&[], &[to, size])]).map(|_| ());
            }
            let from = emit.uniform(&from)?;
            emit.first_of(&mnemonic, &[(&[], &[to, from, size])]).map(|_| ())
        })
    }

    /// The words of an address with its offset added.
    pub(super) fn words_at(&mut self, base: Operand, offset: Operand, is_wide: bool) -> Result<Vec<Operand>, Refusal> {
        let words = if is_wide { 2 } else { 1 };
        let offset = self.func.imm_bits(offset).unwrap_or(0) as i64;
        let value = self.source(base, words)?;
        let base = self.in_registers(value, words);
        let sum = if offset == 0 { base } else { self.sum(base, offset, words)? };
        Ok((0..words).map(|word| self.emit.word(sum, word)).collect())
    }

    /// A store or a reduction in shared memory of the cluster that a barrier counts.
    pub(super) fn remote(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let srcs = self.func.srcs(inst).to_vec();
        let (values, barrier) = srcs[2..].split_at(srcs.len() - 4);
        let value = self.gathered(values, data.ty())?;
        let pair = Operand::Reg(self.emit.temp(2));
        for (word, place) in [(0, &srcs[..2]), (1, barrier)] {
            let [at] = self.words_at(place[0], place[1], false)?[..] else { return Err(self.refused(inst)) };
            let to = self.emit.word(pair, word);
            self.emit.copy_word(to, at);
        }
        let mnemonic = if data.opcode == Opcode::RedAsync {
            format!("REDAS{}", reduction(&data, false))
        } else {
            let size = match data.ty().bits() * values.len() as u32 {
                32 => "",
                64 => ".64",
                128 => ".128",
                _ => return Err(self.refused(inst)),
            };
            format!("STAS{size}")
        };
        let (none, zero) = (Operand::wired(RegFile::UR, 1), self.emit.func.imm(0));
        self.emit.first_of(&mnemonic, &[(&[], &[pair, none, zero, value])]).map(|_| ())
    }

    /// The barrier of a cluster. A kernel that may be launched without clusters asks, and waits for its block alone.
    pub(super) fn cluster_barrier(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let is_arrival = data.opcode == Opcode::ClusterArrive;
        if is_arrival && data.field::<Order>() != Some(Order::Relaxed) {
            for mnemonic in ["MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR"] {
                self.emit.op(mnemonic, &[], &[])?;
            }
        }
        let mnemonic = if is_arrival { "UCGABAR_ARV" } else { "UCGABAR_WAIT" };
        let layout = self.places.constants.clusters.ok_or_else(|| self.refused(inst))?;
        if self.places.is_cluster {
            self.emit.op(mnemonic, &[], &[])?;
        } else {
            let outer = self.emit.guard;
            if outer.is_some() {
                return Err(self.refused(inst));
            }
            let in_cluster = self.emit.new_reg(RegInfo::PRED);
            let word = self.bank_word(layout.is_explicit);
            self.is_not_zero(Operand::Reg(in_cluster), word)?;
            self.emit.guard = Some(Guard::new(in_cluster, false));
            self.emit.op(mnemonic, &[], &[])?;
            if !is_arrival {
                self.emit.guard = Some(Guard::new(in_cluster, true));
                let zero = self.emit.func.imm(0);
                self.emit.op("BAR.SYNC.DEFER_BLOCKING", &[], &[zero])?;
            }
            self.emit.guard = outer;
        }
        if !is_arrival {
            self.emit.op("CCTL.IVALL", &[], &[])?;
        }
        Ok(())
    }

    /// The place of an address in another block of the cluster, and the block that an address belongs to.
    pub(super) fn of_block(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let (dst, srcs) = (self.func.dsts(inst)[0], self.func.srcs(inst).to_vec());
        let words = if data.ty() == Type::U64 { 2 } else { 1 };
        let value = self.source(srcs[0], words)?;
        let base = self.in_registers(value, words);
        let low = self.emit.word(base, 0);
        let zero = Operand::wired(RegFile::R, 1);
        if data.opcode == Opcode::GetCtaRank {
            let bits = self.emit.func.imm(RANK);
            return self.emit.op("SHF.R.U32.HI", &[dst], &[zero, bits, low]).map(|_| ());
        }
        let rank = self.register_of(srcs[1], 1)?;
        // The upper byte is the lowest one of the rank.
        let bytes = self.emit.func.imm(0x654);
        let made = Operand::Reg(self.emit.temp(1));
        self.emit.op("PRMT", &[made], &[rank, bytes, low])?;
        let to = self.emit.word(dst, 0);
        self.emit.copy_word(to, made);
        if words == 2 {
            let (to, from) = (self.emit.word(dst, 1), self.emit.word(base, 1));
            self.emit.copy_word(to, from);
        }
        Ok(())
    }

    /// A source in registers.
    pub(super) fn register_of(&mut self, operand: Operand, words: u8) -> Result<Operand, Refusal> {
        let value = self.source(operand, words)?;
        Ok(match value {
            Value::Operand(operand) => operand,
            other => self.in_registers(other, words),
        })
    }
}

/// The operation of a reduction and its type, in mnemonics.
fn reduction(data: &InstData, is_bulk: bool) -> String {
    let op = data.field::<AtomOp>().map_or("", FieldValue::name).to_uppercase();
    let ty = match data.ty() {
        Type::S32 => ".S32",
        Type::U64 | Type::B64 if is_bulk => ".U64",
        Type::S64 if is_bulk => ".S64",
        Type::U64 | Type::B64 | Type::S64 => ".64",
        Type::F16 => ".F16.RN",
        Type::Bf16 => ".BF16.RN",
        Type::F32 => ".F32.RN",
        Type::F64 => ".F64.RN",
        _ => "",
    };
    format!(".{op}{ty}")
}
