//! Memory: scratch regions, and accesses that stay within them.
//!
//! Each writable region belongs to one thread, so accesses to it never race. Threads share two things: the atomic
//! counters (*cells*), each of which takes one operation whose order does not matter, and shared memory across barriers
//! ([`super::sync`]).

use oriole_ir::ops::{
    AsyncCache, AtomOp, CvtaDirection, FieldValues, Flags, NonCoherent, OpRow, Opcode, Order, Shape, Space, Type,
    Vector,
};
use oriole_ir::{Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::bulk::GRAIN;
use super::image::LINE;

/// Bytes of a thread's region in each space, and of the regions that all threads read. A power of two, and no less than
/// the largest access.
pub(super) const REGION: u32 = 32;

/// Memory that the code at hand may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub space: Space,
    /// Its first byte: a register, or a variable.
    pub base: Operand,
    /// The same as a generic address.
    pub generic: Option<Reg>,
    pub writable: bool,
    /// Nobody writes it while the kernel runs.
    pub constant: bool,
}

impl Region {
    /// Whether it is gone when the kernel ends, so that it is filled in front of the body and stored behind it.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self.space, Space::Shared | Space::Local)
    }
}

/// The operations of the shared cells: each cell of 8 bytes takes one.
pub(super) const CELLS: [(AtomOp, Type); 12] = [
    (AtomOp::Add, Type::U32),
    (AtomOp::Add, Type::S32),
    (AtomOp::Add, Type::U64),
    (AtomOp::Min, Type::U32),
    (AtomOp::Max, Type::S32),
    (AtomOp::Min, Type::S64),
    (AtomOp::Max, Type::U64),
    (AtomOp::And, Type::B32),
    (AtomOp::Or, Type::B32),
    (AtomOp::Xor, Type::B32),
    (AtomOp::And, Type::B64),
    (AtomOp::Xor, Type::B64),
];

impl Builder<'_, '_> {
    /// An instruction with an address.
    pub(super) fn access(&mut self, opcode: Opcode) {
        match opcode {
            Opcode::Cvta => self.convert_address(),
            Opcode::IsSpaceP => self.query_space(),
            Opcode::CpAsync => self.copy_async(),
            Opcode::Mapa => self.map_own(),
            _ if opcode.is(Flags::ASYNC) => self.asynchronous(opcode),
            _ if opcode.is(Flags::MULTIMEM) => self.access_multicast(opcode),
            Opcode::GetCtaRank => self.ask_rank(),
            Opcode::Discard => self.discard(),
            Opcode::AcquireTensorMap => self.acquire_tensor_map(),
            Opcode::BulkPrefetch => self.prefetch_in_bulk(),
            _ => self.access_with(opcode),
        }
    }

    /// A word stored, loaded, stored and loaded again, so that the order of accesses shows. Where all are volatile, the
    /// order of any two counts.
    pub(super) fn reload(&mut self) {
        let writable: Vec<Region> = self.regions.iter().copied().filter(|region| region.writable).collect();
        if writable.is_empty() {
            return;
        }
        let region = self.entropy.choose(&writable);
        let (base, offset) = self.address(region, 4);
        let shared = matches!(region.space, Space::Global | Space::Shared);
        let volatile = shared && self.entropy.percent(self.config.operand.volatile);
        let order = if volatile { Order::Volatile } else { Order::Weak };
        for _ in 0..2 {
            let value = Operand::Reg(self.register(RegInfo::words(1)));
            let access = |opcode| Self::typed(opcode, Type::B32).field(order).field(region.space).src(base).src(offset);
            self.push(&access(Opcode::St).src(value));
            let to = self.destination(RegInfo::words(1), false);
            self.push(&access(Opcode::Ld).dst(to));
        }
    }

    /// Each thread discards memory that nothing reads.
    fn discard(&mut self) {
        let Some(fields) = self.fields(Opcode::Discard, &[]) else { return };
        let Some(line) = self.line(Opcode::Discard.row().value(&fields)) else { return };
        let guard = self.guard();
        let inst = InstBuilder::new(Opcode::Discard).fields(fields).guard(guard);
        self.push(&inst.srcs([line, Operand::imm(0), Operand::imm(LINE)]));
    }

    /// A fence about the tensor map in a line that holds none.
    fn acquire_tensor_map(&mut self) {
        let Some(fields) = self.fields(Opcode::AcquireTensorMap, &[]) else { return };
        let Some(line) = self.line(None) else { return };
        let sources = [line, Operand::imm(0), Operand::imm(LINE)];
        self.push(&InstBuilder::new(Opcode::AcquireTensorMap).fields(fields).srcs(sources));
    }

    /// The address in a space of the thread's line of memory that nothing reads.
    fn line(&mut self, space: Option<Space>) -> Option<Operand> {
        let pool = self.images.as_mut()?;
        let (lines, number) = (pool.lines(), pool.number);
        let first = self.hidden(Self::typed(Opcode::Mov, Type::B64).src(lines), RegInfo::words(2));
        let own = Self::typed(Opcode::IMadWide, Type::U32).src(number).src(u64::from(LINE)).src(first);
        let address = self.hidden(own, RegInfo::words(2));
        if space == Some(Space::Global) {
            return Some(address.into());
        }
        let to_generic = Self::typed(Opcode::Cvta, Type::U64).field(CvtaDirection::ToGeneric);
        Some(self.hidden(to_generic.field(Space::Global).src(address), RegInfo::words(2)).into())
    }

    /// A prefetch of whole pieces.
    fn prefetch_in_bulk(&mut self) {
        let global = |region: &Region| region.space == Space::Global;
        let Some(region) = self.regions.iter().copied().find(global) else { return };
        let (base, offset) = self.address(region, GRAIN);
        let inst = InstBuilder::new(Opcode::BulkPrefetch).srcs([base, offset, Operand::imm(GRAIN)]);
        let guard = self.guard();
        self.push(&inst.guard(guard));
    }

    fn access_with(&mut self, opcode: Opcode) {
        let row = opcode.row();
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let Some(region) = self.region_for(row, &fields) else { return };
        let bytes = access_bytes(row, &fields);
        let (base, offset) = self.address(region, bytes);
        let mut sources = vec![base, offset];
        for shape in row.srcs.iter().skip(2) {
            let count = if *shape == Shape::V { vector(row, &fields) } else { 1 };
            for _ in 0..count {
                match row.shape_type(&fields, *shape) {
                    Some(ty) => sources.push(self.value(ty)),
                    // The size of what a hint is about: a line of the cache.
                    None => sources.push(Operand::imm(128)),
                }
            }
        }
        let guard = self.guard();
        let mut inst = InstBuilder::new(opcode).fields(fields).srcs(sources).guard(guard);
        let mut taken: Vec<Reg> = Vec::new();
        for shape in row.dsts {
            let info = row.shape_type(&fields, *shape).map_or(RegInfo::words(1), RegInfo::of);
            let count = if *shape == Shape::V { vector(row, &fields) } else { 1 };
            inst = self.results(inst, info, count, guard.is_some(), &mut taken);
        }
        self.push(&inst);
    }

    /// So many results more of an instruction, one of which may be dead; none is one of those that are taken.
    pub(super) fn results(
        &mut self,
        mut inst: InstBuilder,
        info: RegInfo,
        count: usize,
        is_guarded: bool,
        taken: &mut Vec<Reg>,
    ) -> InstBuilder {
        let dead = self.dead_result(count);
        for at in 0..count {
            let reg = match dead {
                Some(dead) if dead == at => self.func.new_reg(info),
                _ => self.separate_destination(info, is_guarded, taken),
            };
            taken.push(reg);
            inst = inst.dst(reg);
        }
        inst
    }

    /// Memory of the space that the fields say, which may be written where the row writes.
    pub(super) fn region_for(&mut self, row: &OpRow, fields: &FieldValues) -> Option<Region> {
        let space = row.value::<Space>(fields).unwrap_or(Space::Generic);
        let read_only = matches!(space, Space::Const | Space::Param);
        let writes = row.flags.has(Flags::WRITES) || row.flags.has(Flags::HINT) && !read_only;
        let constant = row.value::<NonCoherent>(fields) == Some(NonCoherent::Nc) || row.opcode == Opcode::Ldu;
        let fits = |region: &Region| {
            let there = match space {
                Space::Generic => region.generic.is_some(),
                Space::Cluster => region.space == Space::Shared,
                space => region.space == space,
            };
            // Atomics exist in global and shared memory only.
            let atomic = row.flags.has(Flags::READS.or(Flags::WRITES));
            let place = !atomic || matches!(region.space, Space::Global | Space::Shared);
            // Vectors of atomics, and accesses of 32 bytes, exist in global memory only.
            let global = atomic && vector(row, fields) > 1 || access_bytes(row, fields) > 16;
            let place = place && (!global || region.space == Space::Global);
            there && place && (!writes || region.writable) && (!constant || region.constant)
        };
        let fitting: Vec<Region> = self.regions.iter().copied().filter(fits).collect();
        if fitting.is_empty() {
            return None;
        }
        let region = self.entropy.choose(&fitting);
        let base = match (space, region.generic) {
            (Space::Generic, Some(generic)) => Operand::Reg(generic),
            _ => region.base,
        };
        Some(Region { base, ..region })
    }

    /// An aligned address of so many bytes within a region: a constant offset, or one that depends on data.
    pub(super) fn address(&mut self, region: Region, bytes: u32) -> (Operand, Operand) {
        let places = (REGION / bytes) as usize;
        let offset = self.entropy.below(places) as u64 * u64::from(bytes);
        let dynamic = region.space != Space::Param && self.entropy.percent(self.config.operand.dynamic);
        if dynamic { self.dynamic_address(region, bytes) } else { (region.base, self.func.imm(offset)) }
    }

    /// An aligned address of so many bytes within a region that depends on data.
    pub(super) fn dynamic_address(&mut self, region: Region, bytes: u32) -> (Operand, Operand) {
        let base = self.base_of(region);
        if self.info(base).words == 2 && bytes < REGION && self.entropy.percent(15) {
            return (self.further_in_some(base, bytes), Operand::imm(0));
        }
        let index = self.register(RegInfo::words(1));
        let mask = u64::from((REGION - 1) & !(bytes - 1));
        let masked = Self::typed(Opcode::And, Type::B32).src(index).src(mask);
        let masked = self.hidden(masked, RegInfo::words(1));
        (Operand::Reg(self.sum_of_address(base, masked)), Operand::imm(0))
    }

    /// An address of either width plus a 32-bit number.
    pub(super) fn sum_of_address(&mut self, base: Reg, index: Reg) -> Reg {
        if self.info(base).words == 1 {
            return self.hidden(Self::typed(Opcode::IAdd, Type::U32).src(base).src(index), RegInfo::words(1));
        }
        self.wide_sum(base, index)
    }

    /// The address of a region in a register.
    pub(super) fn base_of(&mut self, region: Region) -> Reg {
        match region.base {
            Operand::Reg(reg) => reg,
            symbol => self.hidden(Self::typed(Opcode::Mov, Type::B64).src(symbol), RegInfo::words(2)),
        }
    }

    /// The address of a region, or in some threads one further on, where there is place for so many bytes.
    fn further_in_some(&mut self, base: Reg, bytes: u32) -> Operand {
        let by = u64::from(bytes * self.entropy.between(1, REGION / bytes - 1));
        let address = self.hidden(Self::typed(Opcode::Mov, Type::B64).src(base), RegInfo::words(2));
        let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
        let sum = Self::typed(Opcode::IAdd, Type::U64).src(base).src(by).dst(address);
        self.push(&sum.guard(Some(guard)));
        address.into()
    }

    /// A 64-bit address plus a 32-bit number, in one of the ways of compilers.
    pub(super) fn wide_sum(&mut self, base: Reg, index: Reg) -> Reg {
        let double = RegInfo::words(2);
        if self.entropy.percent(50) {
            let inst = Self::typed(Opcode::IMadWide, Type::U32).src(index).src(Operand::imm(1)).src(base);
            return self.hidden(inst, double);
        }
        let pack = Self::typed(Opcode::Pack, Type::B32).src(index).src(Operand::imm(0));
        let wide = self.hidden(pack, double);
        self.hidden(Self::typed(Opcode::IAdd, Type::S64).src(base).src(wide), double)
    }

    /// A destination that is none of `taken`.
    pub(super) fn separate_destination(&mut self, info: RegInfo, guarded: bool, taken: &[Reg]) -> Reg {
        let reg = self.destination(info, guarded);
        if !taken.contains(&reg) {
            return reg;
        }
        let reg = self.func.new_reg(info);
        self.define(reg);
        reg
    }

    /// There and back again: the result is an address, and as such used for an access, never observed.
    fn convert_address(&mut self) {
        // What compilers do with each pointer that a kernel is given.
        let usual = [fixed(CvtaDirection::FromGeneric), fixed(Space::Global), fixed(Type::U64)];
        let usual = if self.pin.is_none() && self.entropy.percent(50) { &usual[..] } else { &[] };
        let Some(fields) = self.fields(Opcode::Cvta, usual) else { return };
        let row = Opcode::Cvta.row();
        let space = row.value::<Space>(&fields).unwrap_or(Space::Global);
        let ty = row.value::<Type>(&fields).unwrap_or(Type::U64);
        let to_generic = row.value::<CvtaDirection>(&fields) == Some(CvtaDirection::ToGeneric);
        let inside = if space == Space::Cluster { Space::Shared } else { space };
        let fits = |region: &Region| region.space == inside && region.generic.is_some();
        let region = self.regions.iter().copied().find(fits);
        let from = match (region.and_then(|region| Some((region.base, region.generic?))), ty) {
            // Half of an address is nothing that an access could use.
            (_, Type::U32) => Operand::Reg(self.register(RegInfo::words(1))),
            (Some((base, _)), _) if to_generic => base,
            (Some((_, generic)), _) => Operand::Reg(generic),
            (None, _) => return,
        };
        let inst = InstBuilder::new(Opcode::Cvta).fields(fields).src(from);
        let address = self.hidden(inst, RegInfo::of(ty));
        if ty == Type::U64 {
            let space = if to_generic { Space::Generic } else { space };
            let Some(load) =
                self.fields(Opcode::Ld, &[fixed(space), fixed(Vector::V1), fixed(Type::U32), fixed(NonCoherent::No)])
            else {
                return;
            };
            let to = self.destination(RegInfo::words(1), false);
            self.push(&InstBuilder::new(Opcode::Ld).fields(load).src(address).src(Operand::imm(0)).dst(to));
        }
    }

    fn query_space(&mut self) {
        let generics: Vec<Reg> = self.regions.iter().filter_map(|region| region.generic).collect();
        let Some(fields) = self.fields(Opcode::IsSpaceP, &[]) else { return };
        if generics.is_empty() {
            return;
        }
        let address = self.entropy.choose(&generics);
        let to = self.destination(RegInfo::PRED, false);
        self.push(&InstBuilder::new(Opcode::IsSpaceP).fields(fields).src(address).dst(to));
    }

    /// A copy from global to shared memory, and what waits for it.
    fn copy_async(&mut self) {
        let find = |space, writable: bool| move |region: &Region| region.space == space && region.writable == writable;
        let from = self.regions.iter().copied().find(find(Space::Global, false));
        let to = self.regions.iter().copied().find(find(Space::Shared, true));
        let (Some(from), Some(to)) = (from, to) else { return };
        let Some(fields) = self.fields(Opcode::CpAsync, &[]) else { return };
        let cached_above = fields.0[0] != 0;
        let bytes = if cached_above { 16 } else { self.entropy.choose(&[4, 8, 16]) };
        let (to, to_offset) = self.address(to, bytes);
        let (from, from_offset) = self.address(from, bytes);
        let read = Operand::imm(self.entropy.between(0, bytes));
        let addresses = [to, to_offset, from, from_offset, Operand::imm(bytes), read];
        self.push(&InstBuilder::new(Opcode::CpAsync).fields(fields).srcs(addresses));
        if self.entropy.percent(50) {
            self.push(&InstBuilder::new(Opcode::CpAsyncCommit));
            self.push(&InstBuilder::new(Opcode::CpAsyncWait).src(Operand::imm(0)));
        } else {
            self.push(&InstBuilder::new(Opcode::CpAsyncWaitAll));
        }
    }

    /// A copy of so many bytes to a place in a thread's memory, which something else waits for.
    pub(super) fn copy_to(&mut self, to: Region, offset: u64, bytes: u32) {
        let from = self.regions.iter().copied().find(|region| region.space == Space::Global && !region.writable);
        let Some(from) = from else { return };
        let (from, from_offset) = self.address(from, bytes);
        let bytes = Operand::imm(bytes);
        let copy =
            InstBuilder::new(Opcode::CpAsync).field(AsyncCache::Ca).field(Space::Shared).src(to.base).src(offset);
        self.push(&copy.srcs([from, from_offset, bytes, bytes]));
    }

    /// An atomic on a cell that all threads change. What it yields depends on their order, and is not used.
    pub(super) fn contended(&mut self) {
        let Some(cells) = self.cells else { return };
        let at = self.entropy.below(CELLS.len());
        let (op, ty) = CELLS[at];
        let opcode = self.entropy.choose(&[Opcode::Red, Opcode::Atom]);
        let space = self.entropy.choose(&[Space::Global, Space::Generic]);
        let Some(fields) = self.fields(opcode, &[fixed(op), fixed(ty), fixed(space), fixed(Vector::V1)]) else {
            return;
        };
        let value = self.value(ty);
        let guard = self.guard();
        let inst = InstBuilder::new(opcode).fields(fields).src(cells).src(8 * at as u64).src(value);
        if opcode == Opcode::Atom {
            self.hidden(inst, RegInfo::of(ty));
        } else {
            self.push(&inst.guard(guard));
        }
    }
}

fn vector(row: &OpRow, fields: &FieldValues) -> usize {
    row.value::<Vector>(fields).map_or(1, Vector::len)
}

/// Bytes that an access moves; hints are about a line, but move nothing.
pub(super) fn access_bytes(row: &OpRow, fields: &FieldValues) -> u32 {
    let ty = row.value::<Type>(fields).unwrap_or(Type::B32);
    (ty.bits() / 8).max(1) * vector(row, fields) as u32
}
