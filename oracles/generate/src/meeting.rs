//! Accesses that meet: a few to the same eight bytes, with addresses computed in several ways, types of several widths,
//! guards, and in between what may change memory or not: atomics, calls, barriers, fences.
//!
//! A phase that commons loads, forwards or removes stores, or moves accesses is wrong on few pairs of accesses. Left
//! to chance, two accesses of one kernel hardly ever overlap. The bytes belong to the thread, so nothing races; all
//! of them were defined in the prologue, so no load finds anything undefined.

use oriole_ir::ops::{AtomOp, Compare, Opcode, Order, Scope, Space, SpecialReg, SrcType, Type, Vector};
use oriole_ir::{FuncId, Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::{REGION, Region};
use super::values::extreme;

/// The bytes that a group of accesses shares: those of the widest one.
const WINDOW: u32 = 8;

/// Types of one element, with every width and extension.
const TYPES: [Type; 12] = [
    Type::B32,
    Type::U32,
    Type::F32,
    Type::B64,
    Type::S64,
    Type::F64,
    Type::U16,
    Type::S16,
    Type::B16,
    Type::U8,
    Type::S8,
    Type::B8,
];

/// Accesses to the same bytes.
struct Meeting {
    region: Region,
    /// The first of the bytes in the region.
    window: u32,
    /// What most accesses are.
    ty: Type,
    /// Where most accesses are, behind the first byte.
    offset: u32,
    /// Addresses near the first byte, computed, and how far that byte is ahead of each.
    computed: Vec<(Reg, i64)>,
    /// The low word of the region's address, from which some of these are computed.
    low: Option<Reg>,
    /// Whether most addresses are such.
    computes: bool,
    /// The address of the first byte of the region in the cluster.
    mapped: Option<Reg>,
    /// How most accesses are ordered, where they are strong.
    strong: Option<Order>,
}

/// The space and the address of an access: a base and an offset.
pub(super) type There = (Space, Operand, u64);

pub(super) fn access(opcode: Opcode, ty: Type, (space, base, offset): There) -> InstBuilder {
    Builder::typed(opcode, ty).field(space).src(base).src(offset)
}

impl Builder<'_, '_> {
    /// A group of accesses to the same bytes.
    pub(super) fn meeting(&mut self) {
        if self.tables.len() > 1 && self.entropy.percent(self.config.meeting.named) {
            return self.load_by_name();
        }
        let writable: Vec<Region> = self.regions.iter().copied().filter(|region| region.writable).collect();
        if writable.is_empty() {
            return;
        }
        // What a function gets the address of and its caller names is local memory alone.
        let local = writable.iter().copied().find(|region| region.space == Space::Local);
        // In memory that one thread alone knows there are names and computed addresses of one variable.
        if let Some(sole) = self.sole.filter(|_| self.entropy.percent(self.config.meeting.sole)) {
            return self.meeting_of_one_thread(sole);
        }
        let region = match local.filter(|_| self.touching.is_some() && self.entropy.percent(50)) {
            Some(local) => local,
            None => self.entropy.choose(&writable),
        };
        self.meeting_in(region);
    }

    /// The same by the first thread of the grid, in a variable of the module.
    fn meeting_of_one_thread(&mut self, variable: Operand) {
        let special = |reg| Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(reg));
        let [tid, cta] = [SpecialReg::TidX, SpecialReg::CtaidX].map(|reg| self.hidden(special(reg), RegInfo::words(1)));
        let either = self.hidden(Self::typed(Opcode::Or, Type::B32).src(tid).src(cta), RegInfo::words(1));
        let first = self.compare(Compare::Eq, either.into(), 0);
        let [inside, join] = self.blocks();
        self.branch(first.into(), [inside, join], inside);
        let region = Region { space: Space::Global, base: variable, generic: None, writable: true, constant: false };
        self.within(false, 1, |builder| builder.meeting_in(region));
        self.jump(join, join);
    }

    fn meeting_in(&mut self, region: Region) {
        if matches!(region.space, Space::Local | Space::Shared) && self.entropy.percent(self.config.meeting.narrow) {
            return self.meeting_by_words(region);
        }
        let shared = matches!(region.space, Space::Global | Space::Shared);
        let strong = shared && self.entropy.percent(self.config.meeting.strong);
        let strong = strong.then(|| self.entropy.choose(&[Order::Volatile, Order::Relaxed]));
        // Groups of one kernel, and those of the function that it calls, are to meet too.
        let first = self.entropy.percent(self.config.meeting.first);
        let window = if first { 0 } else { WINDOW * self.entropy.below((REGION / WINDOW) as usize) as u32 };
        let ty = self.entropy.choose(&TYPES);
        let offset = self.offset_of(ty);
        let mapped = (region.space == Space::Shared && self.entropy.percent(self.config.meeting.mapped))
            .then(|| self.in_cluster(region))
            .flatten();
        let computes = self.entropy.percent(self.config.meeting.computes);
        let computed = Vec::new();
        let mut meeting = Meeting { region, window, ty, offset, computed, low: None, computes, mapped, strong };
        let since = self.entropy.percent(self.config.operand.timed).then(|| self.clock());
        let [low, high] = self.config.meeting.accesses;
        for _ in 0..self.entropy.between(low, high) {
            match self.entropy.percent(self.config.meeting.nested) {
                true => self.meet_inside(&mut meeting),
                false => self.meet(&mut meeting),
            }
        }
        if let Some(since) = since {
            self.passed(since);
        }
    }

    /// Loads at one offset of several variables, each by its name.
    fn load_by_name(&mut self) {
        let ty = self.entropy.choose(&TYPES);
        let offset = self.offset_of(ty);
        for _ in 0..self.entropy.between(2, 3) {
            let table = self.entropy.choose(&self.tables.clone());
            let to = self.destination(RegInfo::of(ty), false);
            self.push(&access(Opcode::Ld, ty, (Space::Global, table, offset.into())).dst(to));
        }
    }

    /// An access on one side of a branch, or of one within another.
    fn meet_inside(&mut self, meeting: &mut Meeting) {
        if self.entropy.percent(40) {
            return self.store_inside_between_looks(meeting);
        }
        // What is computed there is not known behind.
        let (computed, low) = (meeting.computed.len(), meeting.low);
        self.deep_inside(|builder| builder.meet(meeting));
        meeting.computed.truncate(computed);
        meeting.low = low;
    }

    /// A store there to a word that is looked at in front of the branch and behind its join.
    fn store_inside_between_looks(&mut self, meeting: &Meeting) {
        let Region { space, base, .. } = meeting.region;
        let there = (space, base, u64::from(meeting.window + self.offset_of(Type::B32)));
        self.look(there);
        self.deep_inside(|builder| {
            let value = builder.value(Type::B32);
            builder.push(&access(Opcode::St, Type::B32, there).src(value));
        });
        self.look(there);
    }

    /// The address of a region of the thread's shared memory by which the cluster knows it.
    fn in_cluster(&mut self, region: Region) -> Option<Reg> {
        let Operand::Reg(own) = region.base else { return None };
        self.config.makes(Opcode::Mapa).then_some(())?;
        let rank = self.cta_rank();
        Some(self.mapped(own, Space::Cluster, rank.into()))
    }

    fn meet(&mut self, meeting: &mut Meeting) {
        let weights = &self.config.meeting;
        let shared = matches!(meeting.region.space, Space::Global | Space::Shared);
        let called = self.touching.filter(|_| meeting.region.generic.is_some());
        let weights = [
            weights.load,
            weights.store,
            weights.guarded,
            if shared { weights.atomic } else { 0 },
            if called.is_some() { weights.call } else { 0 },
            weights.order,
        ];
        match (self.entropy.weighted(&weights), called) {
            (0, _) => self.load_there(meeting),
            (1, _) => self.store_there(meeting, None),
            (2, _) => {
                let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
                self.store_there(meeting, Some(guard));
            }
            (3, _) => self.atomic_there(meeting),
            (4, Some(callee)) => self.lend(meeting, callee),
            _ if self.flow.uniform && self.entropy.percent(50) => {
                self.push(&InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0)));
            }
            _ => self.instruction_of(Opcode::Fence),
        }
    }

    /// A call of a function that gets the address, mostly between two looks at a word that it may write.
    fn lend(&mut self, meeting: &Meeting, callee: FuncId) {
        let Region { space, base, generic, .. } = meeting.region;
        let there = (space, base, u64::from(self.offset_of(Type::B32)));
        let looks = self.entropy.percent(70);
        if looks {
            let value = self.value(Type::B32);
            match self.entropy.percent(50) {
                true => self.push(&access(Opcode::St, Type::B32, there).src(value)),
                false => self.look(there),
            }
        }
        let value = self.value(Type::B32);
        self.call_with(callee, [value, generic.map_or(base, Operand::Reg)]);
        if looks {
            self.look(there);
        }
    }

    pub(super) fn look(&mut self, there: There) {
        let to = self.destination(RegInfo::words(1), false);
        self.push(&access(Opcode::Ld, Type::B32, there).dst(to));
    }

    /// An aligned place for a type within the window.
    fn offset_of(&mut self, ty: Type) -> u32 {
        let bytes = ty.bits() / 8;
        bytes * self.entropy.below((WINDOW / bytes) as usize) as u32
    }

    /// The type of an access, and an address for it: those of the group for the most part.
    fn place(&mut self, meeting: &mut Meeting) -> (Type, There) {
        let alike = self.entropy.percent(self.config.meeting.alike);
        let ty = if alike { meeting.ty } else { self.entropy.choose(&TYPES) };
        let same = alike || meeting.offset.is_multiple_of(ty.bits() / 8) && self.entropy.percent(50);
        let offset = if same { meeting.offset } else { self.offset_of(ty) };
        (ty, self.address_of(meeting, offset))
    }

    /// The space and the address of a byte of the window, in one of several ways.
    fn address_of(&mut self, meeting: &mut Meeting, offset: u32) -> There {
        let Region { space, base, generic, .. } = meeting.region;
        let within = meeting.window + offset;
        if let Some(mapped) = meeting.mapped.filter(|_| self.entropy.percent(50)) {
            return (Space::Cluster, mapped.into(), within.into());
        }
        let way = match meeting.computes && self.entropy.percent(70) {
            true => 2,
            false => self.entropy.weighted(&self.config.meeting.addresses()),
        };
        match (way, generic) {
            (1, Some(generic)) => (Space::Generic, generic.into(), within.into()),
            (2, _) => {
                let again = !meeting.computed.is_empty() && self.entropy.percent(50);
                let (computed, ahead) = match again {
                    true => self.entropy.choose(&meeting.computed),
                    false => self.computed(meeting),
                };
                if !again {
                    meeting.computed.push((computed, ahead));
                }
                (space, computed.into(), ahead.wrapping_add(offset.into()) as u64)
            }
            _ => (space, base, within.into()),
        }
    }

    /// An address near a byte of a region, and how far the byte is ahead of it: the sum of a register and a number,
    /// which another register may hold. Where 32 bits suffice for an address, it may have no more.
    fn computed(&mut self, meeting: &mut Meeting) -> (Reg, i64) {
        let Meeting { region, window: at, .. } = *meeting;
        let base = self.base_of(region);
        // A sum of 32 bits may point before the bytes that it is counted from, and come back by the offset.
        let aheads: &[i64] = if at == 0 && self.entropy.percent(50) { &[4, 8, 16] } else { &[0, 0, 4, 8, 16, -4, -8] };
        let ahead = self.entropy.choose(aheads);
        let number = i64::from(at) - ahead;
        let narrow = matches!(region.space, Space::Shared | Space::Local);
        if narrow && self.info(base).words == 2 && self.entropy.percent(25) {
            // The low word of a sum of 64 bits, of which nothing else is known.
            let number = self.func.imm(number as u64);
            let sum = Self::typed(Opcode::IAdd, Type::U64).src(base).src(number);
            let sum = self.hidden(sum, RegInfo::words(2));
            return (self.low_word(sum), ahead);
        }
        if narrow && self.info(base).words == 2 && (meeting.low.is_some() || self.entropy.percent(50)) {
            let low = meeting.low.unwrap_or_else(|| self.low_word(base));
            meeting.low = Some(low);
            let sum = Self::typed(Opcode::IAdd, Type::U32).src(low).src(Operand::imm(number as u32));
            let sum = self.hidden(sum, RegInfo::words(1));
            let short = region.space == Space::Shared && ahead <= 0 && self.entropy.percent(70);
            return (if short { self.counted_in_halves(sum) } else { sum }, ahead);
        }
        if self.entropy.percent(50) {
            let (opcode, number) = match self.entropy.percent(25) {
                true => (Opcode::ISub, -number),
                false => (Opcode::IAdd, number),
            };
            let number = self.func.imm(number as u64);
            let sum = Self::typed(opcode, Type::U64).src(base).src(number);
            return (self.hidden(sum, RegInfo::words(2)), ahead);
        }
        let index = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(at)), RegInfo::words(1));
        (self.wide_sum(base, index), 0)
    }

    fn load_there(&mut self, meeting: &mut Meeting) {
        if let Some((ty, vector, place)) = self.place_of_several(meeting) {
            let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
            let guard = Some(guard).filter(|_| self.entropy.percent(30));
            let load = access(Opcode::Ld, ty, place).field(vector).guard(guard);
            let load = self.results(load, RegInfo::of(ty), vector.len(), guard.is_some(), &mut Vec::new());
            return self.push(&load);
        }
        if self.entropy.percent(self.config.meeting.widened) {
            return self.load_and_widen(meeting);
        }
        let (ty, place) = self.place(meeting);
        let guard = self.guard();
        let to = self.destination(RegInfo::of(ty), guard.is_some());
        let load = self.ordered(access(Opcode::Ld, ty, place), meeting, place.0);
        self.push(&load.dst(to).guard(guard));
    }

    /// A load of an integer that a conversion alone reads: to 64 bits, from as many as were loaded or fewer, of either
    /// sign.
    fn load_and_widen(&mut self, meeting: &mut Meeting) {
        let (ty, place) = self.place(meeting);
        let from: &[SrcType] = match ty.bits() {
            _ if ty.is_float() => return,
            8 => &[SrcType::U8, SrcType::S8],
            16 => &[SrcType::U16, SrcType::S16, SrcType::U8, SrcType::S8],
            32 => &[SrcType::U32, SrcType::S32, SrcType::U32, SrcType::S32, SrcType::U16, SrcType::S16],
            _ => return,
        };
        let from = self.entropy.choose(from);
        let loaded = self.hidden(access(Opcode::Ld, ty, place), RegInfo::of(ty));
        let to = self.entropy.choose(&[Type::U64, Type::S64]);
        let wide = self.destination(RegInfo::of(to), false);
        self.push(&Self::typed(Opcode::Cvt, to).field(from).src(loaded).dst(wide));
    }

    /// Two or four elements of a type beside each other, for some accesses.
    fn place_of_several(&mut self, meeting: &mut Meeting) -> Option<(Type, Vector, There)> {
        if !self.entropy.percent(self.config.meeting.vector) {
            return None;
        }
        let ty = self.entropy.choose(&[Type::U8, Type::B16, Type::S16, Type::B32, Type::U32, Type::F32]);
        let four = ty.bits() < 32 && self.entropy.percent(50);
        let vector = if four { Vector::V4 } else { Vector::V2 };
        let bytes = vector.len() as u32 * ty.bits() / 8;
        let offset = bytes * self.entropy.below((WINDOW / bytes) as usize) as u32;
        Some((ty, vector, self.address_of(meeting, offset)))
    }

    /// What is stored, now and then a constant with all bits or the sign set, of which narrow loads see a part.
    fn stored(&mut self, ty: Type) -> Operand {
        if !self.entropy.percent(25) {
            return self.value(ty);
        }
        let bits = extreme(self.entropy, ty);
        self.func.imm(bits)
    }

    /// An access in a space, ordered as those of its group.
    fn ordered(&mut self, access: InstBuilder, meeting: &Meeting, space: Space) -> InstBuilder {
        match meeting.strong.filter(|_| space == meeting.region.space && self.entropy.percent(70)) {
            Some(Order::Relaxed) => {
                let scope = self.entropy.choose(&[Scope::Cta, Scope::Gpu, Scope::Sys]);
                access.field(Order::Relaxed).field(scope)
            }
            Some(order) => access.field(order),
            None => access,
        }
    }

    fn store_there(&mut self, meeting: &mut Meeting, guard: Option<Guard>) {
        // One that may see the other accesses or not, as data says.
        if guard.is_none() && self.entropy.percent(self.config.meeting.elsewhere) {
            let bytes = meeting.ty.bits() / 8;
            let (base, offset) = self.dynamic_address(meeting.region, bytes);
            let store = Self::typed(Opcode::St, meeting.ty).field(meeting.region.space).src(base).src(offset);
            let value = self.value(meeting.ty);
            return self.push(&store.src(value));
        }
        if let Some((ty, vector, place)) = self.place_of_several(meeting) {
            let all: Vec<Operand> = (0..vector.len()).map(|_| self.stored(ty)).collect();
            return self.push(&access(Opcode::St, ty, place).field(vector).srcs(all).guard(guard));
        }
        let (ty, place) = self.place(meeting);
        let value = self.stored(ty);
        let store = self.ordered(access(Opcode::St, ty, place), meeting, place.0);
        self.push(&store.src(value).guard(guard));
        // Of two weak stores the first may go; of these neither.
        if meeting.strong.is_some() && self.entropy.percent(40) {
            let (value, again) = (self.stored(ty), self.ordered(access(Opcode::St, ty, place), meeting, place.0));
            self.push(&again.src(value));
        }
        if self.entropy.percent(self.config.meeting.read_back) {
            let to = self.destination(RegInfo::of(ty), false);
            let signs = TYPES.into_iter().filter(|other| other.bits() == ty.bits()).collect::<Vec<_>>();
            let ty = self.entropy.choose(&signs);
            self.push(&access(Opcode::Ld, ty, place).dst(to));
        }
    }

    fn atomic_there(&mut self, meeting: &mut Meeting) {
        let (ty, op) = self.entropy.choose(&[
            (Type::U32, AtomOp::Add),
            (Type::B32, AtomOp::Exch),
            (Type::B32, AtomOp::Xor),
            (Type::U64, AtomOp::Add),
            (Type::B64, AtomOp::Exch),
        ]);
        let offset = self.offset_of(ty);
        let place = self.address_of(meeting, offset);
        let value = self.value(ty);
        let guard = self.guard();
        let to = self.destination(RegInfo::of(ty), guard.is_some());
        self.push(&access(Opcode::Atom, ty, place).field(op).src(value).dst(to).guard(guard));
    }

    /// What the clock shows; nobody may see it.
    fn clock(&mut self) -> Reg {
        let clock = Self::typed(Opcode::Cs2r, Type::B64).src(Operand::Special(SpecialReg::Clock64));
        self.hidden(clock, RegInfo::words(2))
    }

    /// That the clock does not go backwards; that it does is how exchanged reads of it show.
    fn passed(&mut self, since: Reg) {
        let now = self.clock();
        let to = self.destination(RegInfo::PRED, false);
        let later = Self::typed(Opcode::SetP, Type::U64).field(Compare::Ge).src(now).src(since);
        self.push(&later.dst(to));
    }
}
