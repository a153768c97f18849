//! Whether two accesses touch the same bytes.
//!
//! Accesses to different state spaces never do, but a generic address may lead to any space, and shared memory of the
//! cluster is that of the CTA too. Addresses from the same root
//! are compared by their distance. Different variables do not overlap, but an address that is counted from one may lie
//! in another, so addresses from different roots may meet.

use super::access::{Location, Root};
use oriole_ir::ops::Space;

/// What is known of two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Alias {
    /// They touch no byte in common.
    No,
    /// They may.
    May,
    /// They touch exactly the same bytes.
    Must,
}

/// Compares two accesses of one thread. `stale` says that the registers which both addresses are counted from may have
/// been defined again in between, as in another iteration of a loop.
pub fn alias(a: &Location, b: &Location, stale: bool) -> Alias {
    if !meet(a.space, b.space) {
        return Alias::No;
    }
    let same_root = a.root == b.root && a.root != Root::Unknown && !(stale && a.root.reg().is_some());
    if !same_root || a.space != b.space || a.bits != b.bits {
        return Alias::May;
    }
    // Modulo the width of the address: from a to b, and from b to a.
    let mask = if a.bits >= 64 { u64::MAX } else { (1 << a.bits) - 1 };
    let (ahead, behind) = (b.offset.wrapping_sub(a.offset) & mask, a.offset.wrapping_sub(b.offset) & mask);
    match ahead >= u64::from(a.size) && behind >= u64::from(b.size) {
        true => Alias::No,
        // A narrow address may be counted beyond its width in the instruction itself.
        false if a.offset == b.offset && a.size == b.size => Alias::Must,
        false => Alias::May,
    }
}

/// Whether two state spaces have memory in common.
fn meet(a: Space, b: Space) -> bool {
    let is_shared = |space| matches!(space, Space::Shared | Space::Cluster);
    a == b || a == Space::Generic || b == Space::Generic || is_shared(a) && is_shared(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::Reg;

    fn at(space: Space, root: Root, offset: i64, size: u32) -> Location {
        Location { space, root, offset: offset as u64, within: None, bits: 64, size, fixed: false }
    }

    #[test]
    fn distance_from_one_root_decides() {
        let root = Root::Reg(Reg::from_u32(1));
        let said = |a: (i64, u32), b: (i64, u32)| {
            alias(&at(Space::Global, root, a.0, a.1), &at(Space::Global, root, b.0, b.1), false)
        };
        assert_eq!(said((0, 4), (4, 4)), Alias::No);
        assert_eq!(said((4, 4), (-4, 8)), Alias::No);
        assert_eq!(said((0, 8), (4, 4)), Alias::May);
        assert_eq!(said((8, 4), (8, 4)), Alias::Must);
        // The first access reaches over the end of the address space to its start.
        assert_eq!(said((-4, 8), (0, 4)), Alias::May);
    }

    #[test]
    fn spaces_and_roots_decide_before_distance() {
        let (one, other) = (Root::Reg(Reg::from_u32(1)), Root::Reg(Reg::from_u32(2)));
        let global = at(Space::Global, one, 0, 4);
        assert_eq!(alias(&global, &at(Space::Shared, one, 0, 4), false), Alias::No);
        assert_eq!(alias(&global, &at(Space::Generic, one, 64, 4), false), Alias::May);
        // The same number may name this CTA's memory or another's.
        assert_eq!(alias(&at(Space::Shared, one, 0, 4), &at(Space::Cluster, one, 64, 4), false), Alias::May);
        assert_eq!(alias(&at(Space::Cluster, one, 0, 4), &at(Space::Cluster, one, 64, 4), false), Alias::No);
        assert_eq!(alias(&global, &at(Space::Cluster, one, 0, 4), false), Alias::No);
        assert_eq!(alias(&global, &at(Space::Global, other, 64, 4), false), Alias::May);
        assert_eq!(alias(&global, &at(Space::Global, one, 64, 4), true), Alias::May);
        assert_eq!(alias(&global, &at(Space::Global, Root::Unknown, 0, 4), false), Alias::May);
        let numbers = [0, 64].map(|address| at(Space::Shared, Root::Zero, address, 4));
        assert_eq!(alias(&numbers[0], &numbers[1], true), Alias::No);
    }
}
