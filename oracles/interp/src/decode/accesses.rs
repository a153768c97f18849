//! Decoding of memory accesses and addresses.

use oriole_ir::ops::{Accumulation, AtomOp, CvtaDirection, FenceKind, GridDep, Opcode, Order, Scope, Shape, Space};
use oriole_ir::{FunctionKind, Inst, InstData, Operand};

use super::{DecodeFault, Decoded, Decoder, Part, Slots, Width, op};
use crate::program::{Access, Address, AsyncCopy, Elements, Kind, MOST_ELEMENTS, Memory, Op, Place, Rmw};
use crate::strong::{MemoryOrder, Strong, StrongKind};
use crate::words::Words;

impl Decoder<'_> {
    /// The address in sources `at` and `at + 1`.
    pub(super) fn address(&mut self, inst: Inst, at: usize, space: Space) -> Decoded<Address> {
        let func = self.func;
        let data = *func.inst(inst);
        match func.srcs(inst).get(at..) {
            Some([base, Operand::Imm(offset), ..]) => self.address_at(&data, *base, func.bits(*offset), space),
            _ => Err(DecodeFault::NotAddress),
        }
    }

    /// An address of an instruction, by its base and offset.
    pub(super) fn address_at(&mut self, data: &InstData, base: Operand, offset: u64, space: Space) -> Decoded<Address> {
        let func = self.func;
        let mut memory = match space {
            Space::Generic => Memory::Generic,
            Space::Global => Memory::Global,
            Space::Shared => Memory::Shared,
            Space::Cluster => Memory::Cluster,
            Space::Local => Memory::Local,
            Space::Const => Memory::Const,
            Space::Param if func.kind == FunctionKind::Entry => Memory::Param,
            Space::Param => Memory::Local,
        };
        if let Operand::Local(local) = base {
            if !func.locals.is_valid(local) {
                return Err(DecodeFault::NoVariable);
            }
            let frame = !self.is_entry_param(local);
            if matches!(memory, Memory::Param | Memory::Local) {
                memory = if frame { Memory::Local } else { Memory::Param };
            }
            let offset = offset.wrapping_add(u64::from(self.offsets[local]));
            return Ok(Address { base: Place::None, offset, frame, memory });
        }
        let base = self.typed(data, base, Shape::Base)?;
        Ok(Address { base, offset, frame: false, memory })
    }

    pub(super) fn space(data: &InstData) -> Space {
        data.field::<Space>().unwrap_or(Space::Generic)
    }

    /// The first slot of each element's register; `b128` elements take four words.
    pub(super) fn elements(&mut self, data: &InstData, operands: &[Operand]) -> Decoded<Elements> {
        if operands.len() != data.vector_len() || operands.len() > MOST_ELEMENTS {
            return Err(DecodeFault::VectorLength);
        }
        let width = Width::of(data.ty());
        let mut elements = Elements::default();
        for operand in operands {
            match self.place(*operand, width)? {
                Slots::Words(slot, _) => elements.push(slot),
                Slots::Pred(_) => return Err(DecodeFault::PredicateInMemory),
            }
        }
        Ok(elements)
    }

    pub(super) fn access(&mut self, inst: Inst, data: &InstData, regs: &[Operand]) -> Decoded<Access> {
        let bytes = (data.ty().bits() / 8) as u8;
        let address = self.address(inst, 0, Self::space(data))?;
        let regs = self.elements(data, regs)?;
        Ok(Access {
            address,
            bytes,
            signed: data.ty().is_signed(),
            words: Words::new(&regs, bytes),
            regs,
            rmw: None,
            operands: Elements::default(),
            strong: None,
        })
    }

    pub(super) fn load(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let dsts = self.func.dsts(inst);
        let mut access = self.access(inst, data, dsts)?;
        access.strong = strong_access(data, StrongKind::Load);
        let kind = match access.address.memory {
            _ if !access.moves_weak_words() => Kind::Load,
            Memory::Shared => Kind::LoadShared,
            Memory::Global => Kind::LoadGlobal,
            _ => Kind::LoadWords,
        };
        Ok(self.with_access(kind, access))
    }

    pub(super) fn store(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let values = self.func.srcs(inst).get(2..).ok_or(DecodeFault::OperandCount)?;
        let mut access = self.access(inst, data, values)?;
        access.strong = strong_access(data, StrongKind::Store);
        let kind = match access.address.memory {
            _ if !access.moves_weak_words() => Kind::Store,
            Memory::Shared => Kind::StoreShared,
            Memory::Global => Kind::StoreGlobal,
            _ => Kind::StoreWords,
        };
        Ok(self.with_access(kind, access))
    }

    pub(super) fn with_access(&mut self, kind: Kind, access: Access) -> Op {
        self.program.strong |= access.strong.is_some();
        self.program.accesses.push(access);
        op(kind).x(self.program.accesses.len() as u32 - 1)
    }

    pub(super) fn atomic(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let func = self.func;
        let operands = func.srcs(inst).get(2..).ok_or(DecodeFault::OperandCount)?;
        let mut access = self.access(inst, data, &[Operand::Undef].repeat(data.vector_len()))?;
        access.regs = match data.opcode {
            Opcode::Red => Elements::default(),
            _ => self.elements(data, func.dsts(inst))?,
        };
        let rmw = match data.opcode {
            Opcode::AtomCas => Rmw::Cas,
            _ => Rmw::Op(data.field::<AtomOp>().ok_or(DecodeFault::NoOperation)?),
        };
        let n = if rmw == Rmw::Cas { 2 } else { data.vector_len() };
        if operands.len() != n {
            return Err(DecodeFault::OperandCount);
        }
        for operand in operands {
            let one = self.place(*operand, Width::of(data.ty()))?;
            let Slots::Words(slot, _) = one else { return Err(DecodeFault::PredicateInMemory) };
            access.operands.push(slot);
        }
        access.rmw = Some((rmw, data.ty()));
        access.strong = strong_access(data, StrongKind::Atomic);
        Ok(self.with_access(Kind::Atomic, access))
    }

    /// An access to multicast memory. PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red": reductions that name no
    /// order are relaxed for the system.
    pub(super) fn multimem(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let func = self.func;
        let is_load = data.opcode == Opcode::MultimemLoad;
        let values = if is_load { func.dsts(inst) } else { func.srcs(inst).get(2..).unwrap_or(&[]) };
        let mut access = self.access(inst, data, values)?;
        access.address.memory = Memory::Multicast;
        let ty = data.ty();
        let (rmw, kind) = match (data.opcode, data.field::<AtomOp>()) {
            (Opcode::MultimemStore, _) => (None, StrongKind::Store),
            (_, None) => return Err(DecodeFault::NoOperation),
            (Opcode::MultimemLoad, Some(op)) => match data.field::<Accumulation>() {
                Some(Accumulation::F32) => (Some((Rmw::SingleSum, ty)), StrongKind::Load),
                _ => (Some((Rmw::Op(op), ty)), StrongKind::Load),
            },
            (_, Some(op)) => {
                access.operands = std::mem::take(&mut access.regs);
                (Some((Rmw::Op(op), ty)), StrongKind::Atomic)
            }
        };
        access.rmw = rmw;
        access.strong = strong_access(data, kind).map(|strong| match data.field::<Scope>() {
            Some(Scope::None) | None => Strong { scope: Scope::Sys, ..strong },
            _ => strong,
        });
        Ok(self.with_access(Kind::Multimem, access))
    }

    pub(super) fn async_copy(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let to = self.address(inst, 0, Space::Shared)?;
        let from = self.address(inst, 2, Space::Global)?;
        let bytes = match self.func.srcs(inst).get(4).and_then(|bytes| self.func.imm_bits(*bytes)) {
            Some(bytes @ (4 | 8 | 16)) => bytes as u8,
            _ => return Err(DecodeFault::CopySize),
        };
        let size = self.source(data, inst, 5, Shape::R)?;
        self.program.copies.push(AsyncCopy { to, from, bytes, size });
        Ok(op(Kind::AsyncCopy).x(self.program.copies.len() as u32 - 1))
    }

    pub(super) fn address_test(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let space = Self::space(data) as u32;
        let base = self.source(data, inst, 0, Shape::Base)?;
        let (a, wide) = match base {
            Place::Word(slot) => (slot, 0),
            Place::Pair(slot) => (slot, 1),
            _ => return Err(DecodeFault::AddressWidth),
        };
        if data.opcode == Opcode::Mapa {
            let fixed = self.func.srcs(inst).first().is_some_and(|base| self.func.operand_info(*base).is_none());
            let (dst, wide) = match self.destination(data, inst, 0, Shape::T)? {
                // Variables and constants have two words, of which the first may be all that is asked for.
                Place::Word(dst) if wide == 0 || fixed => (dst, 0),
                Place::Pair(dst) if wide == 1 => (dst, 1),
                _ => return Err(DecodeFault::AddressWidth),
            };
            let Place::Word(rank) = self.source(data, inst, 1, Shape::R)? else {
                return Err(DecodeFault::NotWord(Part::Source));
            };
            return Ok(Op { dst, a, b: wide, c: rank, ..op(Kind::Mapa) }.x(space));
        }
        if data.opcode == Opcode::IsSpaceP {
            let Place::Pred(dst) = self.destination(data, inst, 0, Shape::P)? else {
                return Err(DecodeFault::NotPredicate(Part::Destination));
            };
            return Ok(Op { dst, a, b: wide, ..op(Kind::IsSpace) }.x(space));
        }
        let dst = if data.opcode == Opcode::GetCtaRank { Shape::R } else { Shape::T };
        let (dst, dst_wide) = match self.destination(data, inst, 0, dst)? {
            Place::Word(slot) => (slot, 0),
            Place::Pair(slot) => (slot, 1),
            _ => return Err(DecodeFault::AddressWidth),
        };
        let kind = match data.field::<CvtaDirection>() {
            _ if data.opcode == Opcode::GetCtaRank => Kind::CtaRank,
            Some(CvtaDirection::FromGeneric) => Kind::FromGeneric,
            _ => Kind::ToGeneric,
        };
        Ok(Op { dst, a, b: wide, c: dst_wide, ..op(kind) }.x(space))
    }
}

/// What an access is to other threads. PTX ISA: an atomic operation that names no order is relaxed, and one that names
/// no scope has that of the GPU; volatile and `mmio` accesses have that of the system.
pub(super) fn strong_access(data: &InstData, kind: StrongKind) -> Option<Strong> {
    let order = match data.field::<Order>().unwrap_or(Order::Weak) {
        Order::Weak if kind == StrongKind::Atomic => MemoryOrder::Relaxed,
        Order::Weak => return None,
        Order::Relaxed => MemoryOrder::Relaxed,
        Order::Acquire => MemoryOrder::Acquire,
        Order::Release => MemoryOrder::Release,
        Order::AcqRel => MemoryOrder::AcqRel,
        Order::Volatile => return Some(Strong { kind, order: MemoryOrder::Volatile, scope: Scope::Sys }),
        Order::Mmio => MemoryOrder::Mmio,
    };
    let scope = data.field::<Scope>().filter(|scope| *scope != Scope::None).unwrap_or(Scope::Gpu);
    Some(Strong { kind, order, scope })
}

/// What a use of the cluster's barrier is to other threads. PTX ISA, "barrier.cluster": arrivals that name no order
/// release, and waits acquire.
fn cluster_barrier(data: &InstData) -> Strong {
    let order = match (data.opcode, data.field::<Order>()) {
        (Opcode::ClusterWait, _) => MemoryOrder::Acquire,
        (_, Some(Order::Relaxed)) => MemoryOrder::Relaxed,
        _ => MemoryOrder::Release,
    };
    Strong { kind: StrongKind::Barrier, order, scope: Scope::Cluster }
}

impl Decoder<'_> {
    /// A fence, or something else without operands in registers that orders accesses.
    pub(super) fn fence(&mut self, inst: Inst, data: &InstData) -> Op {
        let wait = |kind| Strong { kind, order: MemoryOrder::Relaxed, scope: Scope::Cta };
        let strong = match data.opcode {
            Opcode::Fence => {
                let order = match data.field::<FenceKind>() {
                    Some(FenceKind::Sc) => MemoryOrder::Sc,
                    Some(FenceKind::Acquire) => MemoryOrder::Acquire,
                    Some(FenceKind::Release) => MemoryOrder::Release,
                    Some(FenceKind::AcqRel) | None => MemoryOrder::AcqRel,
                };
                Strong { kind: StrongKind::Fence, order, scope: data.field::<Scope>().unwrap_or(Scope::Sys) }
            }
            Opcode::CpAsyncCommit => wait(StrongKind::CopyGroup),
            Opcode::CpAsyncWait => {
                let groups = self.func.srcs(inst).first().and_then(|groups| self.func.imm_bits(*groups));
                wait(StrongKind::CopyWait(Some(groups.unwrap_or(0) as u32)))
            }
            Opcode::ClusterArrive | Opcode::ClusterWait => cluster_barrier(data),
            Opcode::BulkCommit => wait(StrongKind::BulkGroup),
            Opcode::BulkWait => wait(self.bulk_wait(inst, data)),
            Opcode::CpAsyncWaitAll => wait(StrongKind::CopyWait(None)),
            _ => match data.field::<GridDep>() {
                Some(GridDep::Wait) => {
                    Strong { kind: StrongKind::GridWait, order: MemoryOrder::AcqRel, scope: Scope::Sys }
                }
                // Other grids may start earlier; nothing is ordered.
                _ => return op(Kind::Nop),
            },
        };
        let kind = match data.opcode {
            Opcode::ClusterArrive => Kind::ClusterArrive,
            Opcode::ClusterWait => Kind::ClusterWait,
            _ => Kind::Fence,
        };
        self.program.strong = true;
        self.program.fences.push(strong);
        op(kind).x(self.program.fences.len() as u32 - 1)
    }
}
