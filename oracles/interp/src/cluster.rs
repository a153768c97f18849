//! Clusters: CTAs that run together, see each other's shared memory and meet at a barrier of their own (PTX ISA,
//! "Cluster of Cooperative Thread Arrays").
//!
//! An address of shared memory is the offset in that of the executing CTA; from the 24th bit on it may name the rank of
//! a CTA of the cluster, plus 1. `mapa` makes such addresses, and both kinds may be in the generic window. PTX says
//! that a CTA's own addresses mean the same in its whole cluster, which they do not here: one that is to be handed to
//! another CTA is made by `mapa`, as CUDA's `map_shared_rank` does.

use super::access::Located;
use super::memory::Bytes;

/// The bits of an address above the offset.
const RANK_AT: u32 = 24;
const OFFSET: u64 = (1 << RANK_AT) - 1;
/// The bits of an address in a window.
const ADDRESS_BITS: u32 = 40;

/// The rank that stands for all beyond the largest cluster.
const NO_RANK: u32 = 254;

/// The extents of a cluster in CTAs, and whether the launch or the kernel names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterShape {
    /// CTAs of a cluster along each axis.
    pub extents: [u32; 3],
    /// Whether the launch or the kernel names them.
    pub is_explicit: bool,
}

impl ClusterShape {
    /// CTAs of a cluster.
    pub fn ctas(&self) -> u32 {
        self.extents.iter().product()
    }

    /// The place of a CTA in its cluster.
    pub fn place(&self, ctaid: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| ctaid[axis] % self.extents[axis])
    }

    /// The number of a CTA in its cluster.
    pub fn rank(&self, ctaid: [u32; 3]) -> u32 {
        let ([x, y, z], [width, height, _]) = (self.place(ctaid), self.extents);
        x + width * (y + height * z)
    }

    /// The CTA with a rank in the cluster that another one is in.
    pub fn member(&self, ctaid: [u32; 3], rank: u32) -> [u32; 3] {
        let [width, height, _] = self.extents;
        let place = [rank % width, rank / width % height, rank / width / height];
        std::array::from_fn(|axis| ctaid[axis] / self.extents[axis] * self.extents[axis] + place[axis])
    }
}

/// What an address of shared memory names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    /// The executing CTA.
    Own,
    /// The CTA with a rank, which there may be or not.
    Rank(u64),
}

/// The CTA that an address of shared memory names, and the offset there.
pub fn split(address: u64) -> (Member, u64) {
    match address >> RANK_AT {
        0 => (Member::Own, address),
        above => (Member::Rank(above - 1), address & OFFSET),
    }
}

/// The address of the same place in the shared memory of the CTA with a rank. A window above the address stays. Ranks
/// that no cluster has are all one, so that addresses of 32 bits have room for them.
pub fn mapped(address: u64, rank: u32) -> u64 {
    let above = u64::MAX << ADDRESS_BITS;
    let named = (u64::from(rank.min(NO_RANK)) + 1) << RANK_AT;
    address & above | named | address & OFFSET
}

/// The shared memory of the other CTAs of a cluster.
pub struct Peers<'a> {
    /// The executing CTA's rank.
    pub rank: u32,
    /// The executing CTA's index in the grid.
    pub own: u64,
    /// By rank; the executing CTA's is elsewhere, and its place here empty. Without others there are none at all.
    pub shared: &'a mut [Bytes],
    /// The indices of the cluster's CTAs in the grid, by rank.
    pub numbers: &'a [u64],
}

impl Peers<'_> {
    /// What tells the cluster from others: the index in the grid of its first CTA, or of its only one.
    pub fn first(&self) -> u64 {
        self.numbers.first().copied().unwrap_or(self.own)
    }

    /// Where so many bytes at an address lie, if they are in the shared memory of a CTA of the cluster. `own` is how
    /// much the executing one has.
    pub(super) fn locate(&self, address: u64, bytes: u64, own: usize) -> Option<Located> {
        let (member, at) = split(address);
        let within = |len: usize| at < len as u64 && len as u64 - at >= bytes;
        match member {
            Member::Rank(rank) if rank != u64::from(self.rank) => {
                let rank = usize::try_from(rank).ok()?;
                within(self.shared.get(rank)?.len()).then_some(Located::Peer(rank, at as usize))
            }
            _ => within(own).then_some(Located::Shared(at as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_the_places_of_a_cluster() {
        let shape = ClusterShape { extents: [2, 3, 1], is_explicit: true };
        assert_eq!((shape.ctas(), shape.place([5, 4, 2]), shape.rank([5, 4, 2])), (6, [1, 1, 0], 3));
        for rank in 0..6 {
            let ctaid = shape.member([5, 4, 2], rank);
            assert_eq!((shape.rank(ctaid), ctaid[2]), (rank, 2));
            assert!((4..6).contains(&ctaid[0]) && (3..6).contains(&ctaid[1]), "{ctaid:?}");
        }
    }

    #[test]
    fn mapped_addresses_name_a_rank_and_keep_the_offset() {
        assert_eq!(split(0x123), (Member::Own, 0x123));
        assert_eq!(split(mapped(0x123, 0)), (Member::Rank(0), 0x123));
        assert_eq!(split(mapped(mapped(0x123, 5), 3)), (Member::Rank(3), 0x123));
        let generic = 0x7000_0000_0040;
        assert_eq!(mapped(generic, 1), 0x7000_0200_0040);
        assert_eq!(mapped(generic, u32::MAX), 0x7000_FF00_0040);
    }

    #[test]
    fn peers_are_found_by_rank_within_their_bounds() {
        let mut shared = [Bytes::default(), Bytes::undefined(64)];
        let peers = Peers { rank: 0, own: 0, shared: &mut shared, numbers: &[0, 1] };
        let found = |address, bytes| match peers.locate(address, bytes, 32) {
            Some(Located::Peer(rank, at)) => Some((rank as i64, at)),
            Some(Located::Shared(at)) => Some((-1, at)),
            _ => None,
        };
        assert_eq!(found(28, 4), Some((-1, 28)));
        assert_eq!(found(mapped(28, 0), 4), Some((-1, 28)));
        assert_eq!(found(mapped(60, 1), 4), Some((1, 60)));
        for (address, bytes) in [(32, 1), (mapped(60, 1), 8), (mapped(0, 2), 1), (mapped(0, u32::MAX), 1)] {
            assert_eq!(found(address, bytes), None, "{address:#x}");
        }
    }
}
