//! Communication of threads: barriers, values exchanged through shared memory, warp collectives.

use oriole_ir::ops::{Aligned, Compare, Opcode, Shape, ShuffleMode, Space, SpecialReg, Type};
use oriole_ir::{Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::insts::Family;
use super::memory::{REGION, Region};

/// All lanes of a warp.
pub(super) const ALL_LANES: Operand = Operand::imm(0xFFFF_FFFF);

impl Builder<'_, '_> {
    /// A barrier, in uniform flow.
    pub(super) fn barrier(&mut self, opcode: Opcode) {
        match opcode {
            Opcode::BarArrive => self.arrive_or_wait(),
            Opcode::ClusterArrive | Opcode::ClusterWait => self.cluster_barrier(),
            Opcode::BarWarpSync => self.push(&InstBuilder::new(opcode).src(ALL_LANES)),
            _ => self.barrier_with(opcode),
        }
    }

    fn barrier_with(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let number = self.entropy.below(16) as u64;
        let threads = self.entropy.choose(&[0, self.threads]);
        let mut inst = InstBuilder::new(opcode).fields(fields);
        inst = inst.src(number).src(u64::from(threads));
        if opcode.row().srcs.contains(&Shape::P) {
            inst = inst.src(Operand::Reg(self.register(RegInfo::PRED)));
        }
        match opcode.row().dsts.first() {
            None => self.push(&inst),
            Some(shape) => {
                let info = if *shape == Shape::P { RegInfo::PRED } else { RegInfo::words(1) };
                let to = self.destination(info, false);
                self.push(&inst.dst(to));
            }
        }
    }

    /// The first warp continues at once, the others wait for it.
    fn arrive_or_wait(&mut self) {
        if self.pin.is_some_and(|(opcode, ..)| opcode == Opcode::BarArrive) {
            return self.arrive_alone();
        }
        let tid =
            self.hidden(Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::TidX)), RegInfo::words(1));
        let first = self.compare(Compare::Lt, tid.into(), 32);
        let [arrive, wait, join] = [(); 3].map(|()| self.func.new_block());
        let number = Operand::imm(self.entropy.between(1, 15));
        let threads = Operand::imm(self.threads);
        let lone = self.threads == 32;
        self.branch(first.into(), [arrive, wait], arrive);
        // A block of one warp has nobody to wait for it.
        let count = if lone { Operand::imm(64) } else { threads };
        let aligned = [fixed(Aligned::No)];
        if let (Some(arriving), Some(waiting)) =
            (self.fields(Opcode::BarArrive, &aligned), self.fields(Opcode::BarSync, &aligned))
        {
            self.push(&InstBuilder::new(Opcode::BarArrive).fields(arriving).src(number).src(count));
            self.jump(join, wait);
            self.push(&InstBuilder::new(Opcode::BarSync).fields(waiting).src(number).src(count));
        } else {
            self.jump(join, wait);
        }
        self.jump(join, join);
        self.push(&InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0)));
    }

    /// All threads arrive, and nobody waits: only where it is the kernel's one barrier, since it stays half full.
    fn arrive_alone(&mut self) {
        let Some(fields) = self.fields(Opcode::BarArrive, &[]) else { return };
        let count = Operand::imm(self.threads + 32);
        self.push(&InstBuilder::new(Opcode::BarArrive).fields(fields).src(Operand::imm(1)).src(count));
    }

    /// Each thread writes its region of shared memory, and after a barrier reads another one's.
    pub(super) fn exchange(&mut self) {
        if self.cluster > 1 && self.entropy.percent(70) {
            return self.exchange_in_cluster();
        }
        if self.entropy.percent(self.config.operand.hand_over) {
            return self.hand_over();
        }
        if self.entropy.percent(self.config.operand.exchange_next) {
            return self.exchange_with_next();
        }
        let shared = |region: &&Region| region.space == Space::Shared && region.writable;
        let Some(region) = self.regions.iter().find(shared).copied() else { return };
        let Operand::Reg(own) = region.base else { return };
        let word = 4 * self.entropy.below(REGION as usize / 4) as u64;
        let other = self.neighbour(own);
        let access = |opcode, base: Reg| Self::typed(opcode, Type::B32).field(Space::Shared).src(base).src(word);
        let barrier = InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0));
        // In a second round the same load finds something else.
        for _ in 0..1 + u32::from(self.entropy.percent(self.config.operand.exchange_again)) {
            let value = self.value(Type::B32);
            self.push(&access(Opcode::St, own).src(value));
            self.push(&barrier);
            let to = self.destination(RegInfo::words(1), false);
            self.push(&access(Opcode::Ld, other).dst(to));
            self.push(&barrier);
        }
    }

    /// Each thread reads the next one's bytes, which are at a constant distance from its own, before and after that
    /// one writes them: to who compares addresses, its own stores are elsewhere, so barriers alone order all of this.
    /// The last thread has no next one.
    fn exchange_with_next(&mut self) {
        let Some(Region { space, base, .. }) = self.region_in_sight() else { return };
        let word = 4 * self.entropy.below(REGION as usize / 4) as u64;
        let tid = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::TidX));
        let tid = self.hidden(tid, RegInfo::words(1));
        let has_next = Guard::new(self.compare(Compare::Lt, tid.into(), u64::from(self.threads - 1)), false);
        let access = |opcode, at: u64| Self::typed(opcode, Type::B32).field(space).src(base).src(at);
        let barrier = InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0));
        // Alike in all places, so that one may be taken for another.
        let load = |builder: &mut Self| {
            let to = builder.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
            builder.push(&access(Opcode::Ld, word + u64::from(REGION)).dst(to).guard(Some(has_next)));
            to
        };
        self.push(&barrier);
        let before = load(self);
        self.push(&barrier);
        let value = self.value(Type::B32);
        self.push(&access(Opcode::St, word).src(value));
        if self.entropy.percent(60) {
            self.push(&barrier);
            let after = load(self);
            self.fold(after);
        } else {
            let on = self.condition(true);
            let [yes, no, join] = self.blocks();
            self.branch(on, [yes, no], yes);
            for (number, next) in [(3, no), (5, join)] {
                self.push(&barrier);
                let after = load(self);
                self.fold(after);
                self.visit(number);
                self.jump(join, next);
            }
        }
        self.push(&barrier);
        self.fold(before);
        let value = self.value(Type::B32);
        self.push(&access(Opcode::St, word).src(value));
    }

    /// A region of the thread's own that the others of its CTA can reach.
    pub(super) fn region_in_sight(&mut self) -> Option<Region> {
        let seen = |region: &Region| region.writable && matches!(region.space, Space::Global | Space::Shared);
        let regions: Vec<Region> = self.regions.iter().copied().filter(seen).collect();
        (!regions.is_empty()).then(|| self.entropy.choose(&regions))
    }

    /// The address of another thread's region: its number differs in some bits. Nothing but its alignment says where
    /// shared memory begins, so the regions are counted from there.
    fn neighbour(&mut self, own: Reg) -> Reg {
        let Some(base) = self.shared else { return own };
        let flip = u64::from(REGION) * self.entropy.between(1, self.threads - 1) as u64;
        let double = RegInfo::words(2);
        let offset = self.hidden(Self::typed(Opcode::ISub, Type::U64).src(own).src(base), double);
        let other = self.hidden(Self::typed(Opcode::Xor, Type::B64).src(offset).src(flip), double);
        self.hidden(Self::typed(Opcode::IAdd, Type::U64).src(other).src(base), double)
    }

    /// A warp collective of the lanes of `members`, all of which come here. Where some lanes are missing, a shuffle
    /// reads the lowest member.
    pub(super) fn collective(&mut self, opcode: Opcode, members: Operand, partial: bool) {
        let row = opcode.row();
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let Some(mut sources) = self.sources(row, &fields) else { return };
        if let Some(last) = sources.last_mut() {
            *last = members;
        }
        let mut inst = InstBuilder::new(opcode).fields(fields);
        if let (Opcode::Shfl, true) = (opcode, partial) {
            let lowest = Self::typed(Opcode::Fns, Type::B32).src(members).src(Operand::imm(0)).src(Operand::imm(1));
            sources[1] = Operand::Reg(self.hidden(lowest, RegInfo::words(1)));
            sources[2] = Operand::imm(31);
            inst = inst.field(ShuffleMode::Idx);
        }
        let mut inst = inst.srcs(sources);
        if opcode == Opcode::ActiveMask {
            // Which lanes run together is the machine's choice.
            self.hidden(inst, RegInfo::words(1));
            return;
        }
        for shape in row.dsts {
            let info = row.shape_type(&fields, *shape).map_or(RegInfo::words(1), RegInfo::of);
            let to = self.destination(info, false);
            inst = inst.dst(to);
        }
        self.push(&inst);
    }

    /// Splits the warp by a predicate; one or both halves execute collectives.
    ///
    /// No lanes come to a collective of others in another round of a loop than these. The interpreter lets them meet,
    /// as the text of the PTX ISA does; code of ptxas 13.0.88 at `-O0` waits for all lanes behind the branch in each
    /// round, and so for ever.
    pub(super) fn partial(&mut self) {
        let on = Operand::Reg(self.register(RegInfo::PRED));
        let ballot = Self::typed(Opcode::Ballot, Type::B32).src(on).src(ALL_LANES);
        let members = self.hidden(ballot, RegInfo::words(1));
        let others = self.hidden(Self::typed(Opcode::Not, Type::B32).src(members), RegInfo::words(1));
        let [yes, no, join] = [(); 3].map(|()| self.func.new_block());
        self.branch(on, [yes, no], yes);
        let outside = std::mem::replace(&mut self.flow.uniform, false);
        for (mask, next) in [(members, no), (others, join)] {
            for _ in 0..self.entropy.between(0, 2) {
                if self.entropy.percent(20) {
                    self.push(&InstBuilder::new(Opcode::BarWarpSync).src(mask));
                }
                if let Some(opcode) = self.opcode_of(Family::Collective) {
                    self.collective(opcode, mask.into(), true);
                }
            }
            self.stretch();
            self.jump(join, next);
        }
        self.flow.uniform = outside;
    }
}
