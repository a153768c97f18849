//! Clusters: their barrier, and shared memory of other CTAs.

use oriole_ir::ops::{Opcode, Space, SpecialReg, Type};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::bulk::BARRIER;
use super::memory::{REGION, Region};

impl Builder<'_, '_> {
    /// All threads of the cluster arrive and wait, in uniform flow.
    pub(super) fn cluster_barrier(&mut self) {
        for opcode in [Opcode::ClusterArrive, Opcode::ClusterWait] {
            if let Some(fields) = self.fields(opcode, &[]) {
                self.push(&InstBuilder::new(opcode).fields(fields));
            }
        }
    }

    /// The same, where it has to order accesses: the arrival releases.
    fn cluster_meeting(&mut self) {
        self.push(&InstBuilder::new(Opcode::ClusterArrive));
        self.push(&InstBuilder::new(Opcode::ClusterWait));
    }

    pub(super) fn cta_rank(&mut self) -> Reg {
        let rank = Operand::Special(SpecialReg::ClusterCtaRank);
        self.hidden(Self::typed(Opcode::S2r, Type::B32).src(rank), RegInfo::words(1))
    }

    /// The address of the same place in the shared memory of a CTA of the cluster; a generic one where that is asked
    /// for.
    pub(super) fn mapped(&mut self, address: Reg, space: Space, rank: Operand) -> Reg {
        let info = self.info(address);
        let ty = if info.words == 1 { Type::U32 } else { Type::U64 };
        let inst = Self::typed(Opcode::Mapa, ty).field(space).src(address).src(rank);
        self.hidden(inst, info)
    }

    fn own_shared(&self) -> Option<Region> {
        self.regions.iter().copied().find(|region| region.space == Space::Shared && region.writable)
    }

    /// The thread's own shared memory by its address in the cluster: stored there, and loaded again here.
    pub(super) fn map_own(&mut self) {
        let Some(fields) = self.fields(Opcode::Mapa, &[]) else { return };
        let row = Opcode::Mapa.row();
        let (Some(region), Some(ty)) = (self.own_shared(), row.value::<Type>(&fields)) else { return };
        let space = row.value::<Space>(&fields).unwrap_or(Space::Generic);
        let rank = self.cta_rank();
        let map = InstBuilder::new(Opcode::Mapa).fields(fields);
        let (Operand::Reg(own), Type::U64) = (region.base, ty) else {
            // Half of an address is nothing that an access could use.
            let half = self.register(RegInfo::words(1));
            self.hidden(map.src(half).src(rank), RegInfo::words(1));
            return;
        };
        let from = if space == Space::Generic { region.generic } else { Some(own) };
        let Some(from) = from else { return };
        let mapped = self.hidden(map.src(from).src(rank), RegInfo::words(2));
        let word = 4 * self.entropy.below(REGION as usize / 4) as u64;
        let value = self.value(Type::B32);
        self.push(&Self::typed(Opcode::St, Type::B32).field(space).src(mapped).src(word).src(value));
        let to = self.destination(RegInfo::words(1), false);
        self.push(&Self::typed(Opcode::Ld, Type::B32).field(Space::Shared).src(own).src(word).dst(to));
    }

    /// The rank of the CTA that the thread's shared memory lies in.
    pub(super) fn ask_rank(&mut self) {
        let Some(fields) = self.fields(Opcode::GetCtaRank, &[]) else { return };
        let row = Opcode::GetCtaRank.row();
        let space = row.value::<Space>(&fields).unwrap_or(Space::Generic);
        if row.value::<Type>(&fields) == Some(Type::U32) {
            // Half of an address is one of whatever CTA.
            let half = self.register(RegInfo::words(1));
            self.hidden(InstBuilder::new(Opcode::GetCtaRank).fields(fields).src(half), RegInfo::words(1));
            return;
        }
        let Some(region) = self.own_shared() else { return };
        let address = match (space, region.base, region.generic) {
            (Space::Generic, _, Some(generic)) => generic,
            (Space::Generic, ..) => return,
            (_, Operand::Reg(own), _) => own,
            _ => return,
        };
        let to = self.destination(RegInfo::words(1), false);
        self.push(&InstBuilder::new(Opcode::GetCtaRank).fields(fields).src(address).dst(to));
    }

    /// Each thread sends a word to the memory of a thread of the next CTA, whose barrier there tells it.
    fn send_in_cluster(&mut self, own: Reg) {
        let rank = self.next_rank();
        self.make_barrier(own);
        self.cluster_meeting();
        let other = self.mapped(own, Space::Cluster, rank);
        let (at, value) = (Operand::imm(8), self.value(Type::B32));
        let barrier = self.func.imm(BARRIER);
        let send = Self::typed(Opcode::StAsync, Type::B32).field(Space::Cluster).src(other).src(at).src(value);
        self.push(&send.src(other).src(barrier));
        self.await_barrier(own, 4);
        let to = self.destination(RegInfo::words(1), false);
        self.push(&Self::typed(Opcode::Ld, Type::B32).field(Space::Shared).src(own).src(at).dst(to));
        self.cluster_meeting();
    }

    fn next_rank(&mut self) -> Operand {
        let next = Self::typed(Opcode::Xor, Type::B32).src(self.cta_rank()).src(u64::from(self.cluster) - 1);
        self.hidden(next, RegInfo::words(1)).into()
    }

    /// Each thread writes its own shared memory or that of a thread of the next CTA, and after a barrier reads the
    /// other.
    pub(super) fn exchange_in_cluster(&mut self) {
        let Some(region) = self.own_shared() else { return };
        let Operand::Reg(own) = region.base else { return };
        if self.entropy.percent(30) {
            return self.send_in_cluster(own);
        }
        let is_generic = self.entropy.percent(30) && region.generic.is_some();
        let (from, space) = match region.generic.filter(|_| is_generic) {
            Some(generic) => (generic, Space::Generic),
            None => (own, Space::Cluster),
        };
        let word = 4 * self.entropy.below(REGION as usize / 4) as u64;
        let next = self.next_rank();
        let other = self.mapped(from, space, next);
        let places = [(own, Space::Shared), (other, space)];
        let first = usize::from(self.entropy.percent(50));
        // The next CTA may not have come so far, and may write its own memory still.
        self.cluster_meeting();
        for _ in 0..1 + u32::from(self.entropy.percent(self.config.operand.exchange_again)) {
            let value = self.value(Type::B32);
            let access =
                |opcode, (base, space): (Reg, Space)| Self::typed(opcode, Type::B32).field(space).src(base).src(word);
            self.push(&access(Opcode::St, places[first]).src(value));
            self.cluster_meeting();
            let to = self.destination(RegInfo::words(1), false);
            self.push(&access(Opcode::Ld, places[1 - first]).dst(to));
            self.cluster_meeting();
        }
    }
}
