//! Decoding of instructions, one kind after the other; memory accesses are in [`super::accesses`].

use oriole_ir::ops::{
    Absolute, Aligned, BoolOp, Flags, NanMode, Opcode, ReduxOp, Shape, ShuffleMode, SpecialReg, VoteMode,
};
use oriole_ir::{Block, Inst, InstData, Operand};

use super::lanes::lane_kind;
use super::{DecodeFault, Decoded, Decoder, Part, Slots, Width, op};
use crate::program::{
    ALWAYS, Barrier, BarrierReduce, Call, Collective, CollectiveOp, Kind, Op, Place, PredOp, ScalarOps,
};
use oriole_semantics::scalar::{FloatExtreme, ScalarOp};

impl Decoder<'_> {
    pub(super) fn instruction(&mut self, block: Block, inst: Inst) -> Decoded<()> {
        let data = *self.func.inst(inst);
        self.else_values(inst)?;
        let guard = match data.guard {
            None => (ALWAYS, false),
            Some(guard) => match self.reg_place(guard.reg())? {
                Slots::Pred(slot) => (slot, guard.negated()),
                Slots::Words(..) => return Err(DecodeFault::NotPredicate(Part::Guard)),
            },
        };
        let op = self.operation(inst, &data)?;
        let at = self.program.ops.len();
        self.program.ops.push(Op { guard: guard.0, negated: guard.1, ..op });
        self.program.insts.push((self.id, inst));
        self.program.opcodes.push(Some(data.opcode));
        if matches!(op.kind, Kind::Jump | Kind::Branch | Kind::Switch) {
            self.jumps.push((at, block));
        }
        Ok(())
    }

    pub(super) fn else_values(&mut self, inst: Inst) -> Decoded<()> {
        let func = self.func;
        for (dst, value) in func.dsts(inst).iter().zip(func.elses(inst)) {
            let Operand::Reg(reg) = *dst else { return Err(DecodeFault::NoDestination) };
            let from = self.place(*value, self.width(reg)?)?;
            let to = self.reg_place(reg)?;
            self.copy(to, from);
        }
        Ok(())
    }

    pub(super) fn operation(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        match data.opcode {
            Opcode::Mov | Opcode::Split => self.mov(inst, data),
            Opcode::Pack => self.pack(inst, data),
            Opcode::S2r | Opcode::Cs2r => self.special(inst, data),
            Opcode::Ld | Opcode::Ldu => self.load(inst, data),
            Opcode::St => self.store(inst, data),
            Opcode::Atom | Opcode::AtomCas | Opcode::Red => self.atomic(inst, data),
            Opcode::CpAsync => self.async_copy(inst, data),
            opcode if opcode.is(Flags::MULTIMEM) => self.multimem(inst, data),
            Opcode::IsTypeP => self.image(inst, data),
            opcode if opcode.is(Flags::IMAGE) => self.image(inst, data),
            opcode if opcode.is(Flags::ADDRESS) => self.address_test(inst, data),
            Opcode::Bra => Ok(op(Kind::Jump).x(self.label(inst, 0)?)),
            Opcode::CBra => self.branch(inst, data),
            Opcode::Brx => self.switch(inst, data),
            Opcode::Call => self.call(inst),
            Opcode::Ret => Ok(op(Kind::Return)),
            Opcode::Exit => Ok(op(Kind::Exit)),
            Opcode::Trap => Ok(op(Kind::Trap)),
            Opcode::Opaque => self.opaque(inst, data),
            _ => match lane_kind(self.func, inst, data) {
                Some(kind) => self.lanes(inst, data, kind),
                None => self.general(inst, data),
            },
        }
    }

    /// An operation that has no form over all lanes.
    fn general(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        if let Some(scalar) = ScalarOp::resolve(data.opcode, &data.fields) {
            return self.scalar(inst, data, scalar);
        }
        match data.opcode {
            _ if data.is(Flags::CTA_BARRIER) => self.barrier(inst, data),
            Opcode::ActiveMask => {
                let Place::Word(dst) = self.destination(data, inst, 0, Shape::R)? else {
                    return Err(DecodeFault::NotWord(Part::Destination));
                };
                Ok(Op { dst, ..op(Kind::ActiveMask) })
            }
            Opcode::ClusterArrive | Opcode::ClusterWait => Ok(self.fence(inst, data)),
            _ if data.is(Flags::MBARRIER) => self.mbarrier(inst, data),
            _ if data.is(Flags::WARPGROUP) => self.warpgroup(inst, data),
            _ if data.is(Flags::MATRIX) => self.matrix(inst, data),
            _ if data.is(Flags::CONVERGENT) => self.collective(inst, data),
            Opcode::CpAsyncCommit | Opcode::BulkCommit => Ok(self.fence(inst, data)),
            _ if data.is(Flags::ASYNC) => self.bulk(inst, data),
            _ if data.is(Flags::FENCE) => Ok(self.fence(inst, data)),
            Opcode::Discard | Opcode::BulkPrefetch => self.stretch(inst, data),
            _ if data.is(Flags::HINT) || data.opcode == Opcode::BrkPt => Ok(op(Kind::Nop)),
            other => Err(DecodeFault::NoMeaning(other.row().name)),
        }
    }

    /// An operation that runs over all lanes at once.
    fn lanes(&mut self, inst: Inst, data: &InstData, kind: Kind) -> Decoded<Op> {
        let (srcs, dsts) = self.places(inst, data)?;
        let slot = |place: Place| match place {
            Place::Word(slot) | Place::Pair(slot) | Place::Pred(slot) => slot,
            Place::None => 0,
        };
        let [a, b, c] = [srcs[0], srcs[1], srcs[2]].map(slot);
        Ok(Op { dst: slot(dsts[0]), a, b, c, ..op(kind) })
    }

    fn scalar(&mut self, inst: Inst, data: &InstData, scalar: ScalarOp) -> Decoded<Op> {
        let row = data.opcode.row();
        let (srcs, dsts) = self.places(inst, data)?;
        self.program.scalars.push(ScalarOps {
            op: scalar,
            is_video: data.is(Flags::VIDEO),
            srcs,
            dsts,
            settles: data.field::<BoolOp>().filter(|_| row.srcs.get(2) == Some(&Shape::P)).and_then(settling),
            undef: row.undef_transfer(&data.fields),
            bits: row.dsts.first().map_or(u64::MAX, |shape| own_bits(data, *shape)),
        });
        Ok(op(Kind::Scalar).x(self.program.scalars.len() as u32 - 1))
    }

    /// Where the sources and destinations of a register-only operation stand.
    fn places(&mut self, inst: Inst, data: &InstData) -> Decoded<([Place; 5], [Place; 2])> {
        let row = data.opcode.row();
        if self.func.srcs(inst).len() != row.srcs.len() || self.func.dsts(inst).len() != row.dsts.len() {
            return Err(DecodeFault::OperandCount);
        }
        let (mut srcs, mut dsts) = ([Place::None; 5], [Place::None; 2]);
        for (i, shape) in row.srcs.iter().enumerate() {
            srcs[i] = self.source(data, inst, i, *shape)?;
        }
        for (i, shape) in row.dsts.iter().enumerate() {
            dsts[i] = self.destination(data, inst, i, *shape)?;
        }
        Ok((srcs, dsts))
    }

    pub(super) fn mov(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let [Operand::Reg(dst)] = *self.func.dsts(inst) else { return Err(DecodeFault::NotOneResult) };
        let [src] = *self.func.srcs(inst) else { return Err(DecodeFault::OperandCount) };
        let width = Width::of(data.ty());
        if self.width(dst)? != width {
            return Err(DecodeFault::DestinationWidth);
        }
        match (self.reg_place(dst)?, self.place(src, width)?) {
            (Slots::Pred(dst), Slots::Pred(a)) => Ok(Op { dst, a, ..op(Kind::Pred(PredOp::Mov)) }),
            (Slots::Words(dst, 1), Slots::Words(a, _)) => Ok(Op { dst, a, ..op(Kind::Mov32) }),
            (Slots::Words(dst, 2), Slots::Words(a, _)) => Ok(Op { dst, a, ..op(Kind::Mov64) }),
            (Slots::Words(dst, n), Slots::Words(a, _)) => {
                let parts = (0..n).map(|word| Place::Word(a + word)).collect();
                self.program.packs.push((parts, 32));
                Ok(Op { dst, ..op(Kind::Pack) }.x(self.program.packs.len() as u32 - 1))
            }
            _ => Err(DecodeFault::DestinationWidth),
        }
    }

    pub(super) fn pack(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let parts = self.func.srcs(inst).len();
        let [Operand::Reg(reg)] = *self.func.dsts(inst) else { return Err(DecodeFault::NotOneResult) };
        let dst = match self.reg_place(reg)? {
            Slots::Words(slot, words) if words == u32::from(data.packed_words(parts)) => slot,
            _ => return Err(DecodeFault::DestinationWidth),
        };
        let places = (0..parts).map(|i| self.source(data, inst, i, Shape::Parts)).collect::<Decoded<Vec<_>>>()?;
        self.program.packs.push((places, data.ty().bits() as u8));
        Ok(Op { dst, ..op(Kind::Pack) }.x(self.program.packs.len() as u32 - 1))
    }

    pub(super) fn special(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let [Operand::Special(reg)] = *self.func.srcs(inst) else { return Err(DecodeFault::NotSpecial) };
        let dst = self.destination(data, inst, 0, Shape::T)?;
        let (dst, class) = match dst {
            Place::Word(slot) => (slot, 1),
            Place::Pair(slot) => (slot, 2),
            Place::Pred(slot) => (slot, 0),
            Place::None => return Err(DecodeFault::NoDestination),
        };
        self.program.reserved_shared |= reg.name().starts_with("reserved_smem");
        let index = SpecialReg::ALL.iter().position(|r| *r == reg).unwrap_or_default();
        Ok(Op { dst, a: class, ..op(Kind::Special) }.x(index as u32))
    }

    pub(super) fn label(&self, inst: Inst, index: usize) -> Decoded<u32> {
        match self.func.srcs(inst).get(index) {
            Some(Operand::Block(block)) => Ok(block.as_u32()),
            _ => Err(DecodeFault::NotBlock),
        }
    }

    pub(super) fn branch(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let Place::Pred(a) = self.source(data, inst, 0, Shape::P)? else {
            return Err(DecodeFault::NotPredicate(Part::Condition));
        };
        Ok(Op { a, b: self.label(inst, 1)?, c: self.label(inst, 2)?, ..op(Kind::Branch) })
    }

    pub(super) fn switch(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let Place::Word(a) = self.source(data, inst, 0, Shape::R)? else {
            return Err(DecodeFault::NotWord(Part::Index));
        };
        let n = self.func.srcs(inst).len();
        let targets = (1..n).map(|i| self.label(inst, i)).collect::<Decoded<Vec<_>>>()?;
        self.program.switches.push(targets);
        Ok(Op { a, ..op(Kind::Switch) }.x(self.program.switches.len() as u32 - 1))
    }

    pub(super) fn call(&mut self, inst: Inst) -> Decoded<Op> {
        let func = self.func;
        let [callee, Operand::Imm(results), params @ ..] = func.srcs(inst) else {
            return Err(DecodeFault::NotCall);
        };
        let target = match callee {
            Operand::Func(id) if self.module.functions.is_valid(*id) => Ok(*id),
            other => Err(self.place(*other, Width::Words(2))?.narrow()?),
        };
        let place = |operand: &Operand| match operand {
            Operand::Local(local) if func.locals.is_valid(*local) && !self.is_entry_param(*local) => {
                Ok((self.offsets[*local], func.locals[*local].size() as u32))
            }
            _ => Err(DecodeFault::NotParameter),
        };
        let places = params.iter().map(place).collect::<Decoded<Vec<_>>>()?;
        let split = (func.bits(*results) as usize).min(places.len());
        let (results, args) = (places[..split].to_vec(), places[split..].to_vec());
        self.program.calls.push(Call { target, args, results });
        Ok(op(Kind::Call).x(self.program.calls.len() as u32 - 1))
    }

    pub(super) fn barrier(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let id = self.source(data, inst, 0, Shape::R)?;
        let count = self.source(data, inst, 1, Shape::R)?;
        let reduce = match data.opcode {
            Opcode::BarRedPopc => Some(BarrierReduce::Popc),
            Opcode::BarRed => Some(BarrierReduce::Bool(data.field::<BoolOp>().unwrap_or(BoolOp::And))),
            _ => None,
        };
        let mut decoded = Op { ..op(Kind::Barrier) };
        if let Some(reduce) = reduce {
            let Place::Pred(a) = self.source(data, inst, 2, Shape::P)? else {
                return Err(DecodeFault::NotPredicate(Part::Source));
            };
            let shape = if reduce == BarrierReduce::Popc { Shape::R } else { Shape::P };
            decoded.a = a;
            decoded.dst = match self.destination(data, inst, 0, shape)? {
                Place::Word(slot) | Place::Pred(slot) => slot,
                _ => return Err(DecodeFault::DestinationWidth),
            };
        }
        let waits = data.opcode != Opcode::BarArrive;
        let aligned = data.field::<Aligned>() == Some(Aligned::Aligned);
        self.program.barriers.push(Barrier { id, count, waits, aligned, reduce });
        Ok(decoded.x(self.program.barriers.len() as u32 - 1))
    }

    pub(super) fn collective(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let kind = match data.opcode {
            Opcode::BarWarpSync => CollectiveOp::Sync,
            Opcode::Shfl => CollectiveOp::Shuffle(data.field::<ShuffleMode>().unwrap_or(ShuffleMode::Idx)),
            Opcode::Vote => CollectiveOp::Vote(data.field::<VoteMode>().unwrap_or(VoteMode::All)),
            Opcode::Ballot => CollectiveOp::Ballot,
            Opcode::MatchAny => CollectiveOp::MatchAny,
            Opcode::MatchAll => CollectiveOp::MatchAll,
            Opcode::Redux => CollectiveOp::Reduce(data.field::<ReduxOp>().unwrap_or(ReduxOp::Add), data.ty()),
            Opcode::ReduxFloat => CollectiveOp::ReduceFloat(FloatExtreme {
                is_largest: data.field::<ReduxOp>() == Some(ReduxOp::Max),
                without_signs: data.field::<Absolute>() == Some(Absolute::Abs),
                yields_nan: data.field::<NanMode>() == Some(NanMode::Nan),
            }),
            Opcode::Elect => CollectiveOp::Elect,
            other => return Err(DecodeFault::NoMeaning(other.row().name)),
        };
        let row = data.opcode.row();
        let mut collective = Collective { op: kind, srcs: [Place::None; 3], mask: Place::None, dsts: [Place::None; 2] };
        let last = row.srcs.len() - 1;
        for (i, shape) in row.srcs.iter().enumerate().take(last) {
            collective.srcs[i] = self.source(data, inst, i, *shape)?;
        }
        collective.mask = self.source(data, inst, last, row.srcs[last])?;
        for (i, shape) in row.dsts.iter().enumerate() {
            collective.dsts[i] = self.destination(data, inst, i, *shape)?;
        }
        self.program.collectives.push(collective);
        Ok(op(Kind::Collective).x(self.program.collectives.len() as u32 - 1))
    }
}

/// The value of one operand that makes the other one's irrelevant.
fn settling(op: BoolOp) -> Option<bool> {
    match op {
        BoolOp::And => Some(false),
        BoolOp::Or => Some(true),
        BoolOp::Xor => None,
    }
}

/// The bits that a result of a type has: all of its register where it is sign-extended.
fn own_bits(data: &InstData, shape: Shape) -> u64 {
    let Some(ty) = data.shape_type(shape) else { return u64::MAX };
    let extended = data.opcode == Opcode::Cvt && ty.is_signed();
    if extended || ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 }
}
