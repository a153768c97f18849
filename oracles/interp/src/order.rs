//! The orders in which lanes of a warp may execute.

use std::cmp::Reverse;
use std::fmt;

/// Which lanes of a warp go first where that is left open: groups of lanes that have parted, and, in PTX, lanes that an
/// atomic operation serves one after the other. Programs whose lanes do not race do the same in every order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum LaneOrder {
    /// Groups take turns: the one that is furthest back goes first.
    #[default]
    Turns,
    /// Lanes that do not branch go first, each group until it waits.
    Straight,
    /// Lanes that branch go first, each group until it waits.
    Branching,
    /// A seed chooses wherever groups could change.
    Chosen(u32),
}

/// How often a group goes back until others have their turn, for which it may wait.
const PATIENCE: u32 = 64;

/// What says which group is next: the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// Turns that it has had, and its place.
    Place(u32, u32),
    /// Turns, and when it came: the last one first.
    Arrival(u32, Reverse<usize>),
    /// A number that a seed makes.
    Chosen(u64),
}

impl LaneOrder {
    /// Orders in which a mistake shows as a rule that any order shows: the usual one, then those that find most. Of 160
    /// loops that lanes enter in different places, 43 go wrong in code for `sm_100` and `sm_120`, 37 in the first order
    /// and six more in the second (2026-11).
    pub const SEVERAL: [LaneOrder; 4] =
        [LaneOrder::Turns, LaneOrder::Straight, LaneOrder::Branching, LaneOrder::Chosen(1)];

    /// The rank of a group of lanes: when it came, how often it has gone back, its place, and its lanes.
    #[inline(always)]
    pub fn rank(self, arrival: usize, turns: u32, place: u32, lanes: u32) -> Rank {
        match self {
            LaneOrder::Turns => Rank::Place(turns, place),
            LaneOrder::Straight | LaneOrder::Branching => Rank::Arrival(turns / PATIENCE, Reverse(arrival)),
            LaneOrder::Chosen(seed) => {
                let words = [seed, turns, place, lanes];
                Rank::Chosen(words.into_iter().fold(0, |number, word| mixed(number ^ u64::from(word))))
            }
        }
    }

    /// The lanes of a mask in the order in which an atomic operation of PTX serves them.
    pub(crate) fn lanes(self, mask: u32) -> impl Iterator<Item = usize> {
        let exchanged = match self {
            LaneOrder::Turns => 0,
            LaneOrder::Straight => 1,
            LaneOrder::Branching => 31,
            LaneOrder::Chosen(seed) => mixed(seed.into()) as usize & 31,
        };
        (0..32).map(move |number| number ^ exchanged).filter(move |lane| mask >> lane & 1 == 1)
    }
}

/// A number that depends on all bits of another one (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl fmt::Display for LaneOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaneOrder::Turns => out.write_str("lanes that have parted take turns"),
            LaneOrder::Straight => out.write_str("lanes that do not branch go first"),
            LaneOrder::Branching => out.write_str("lanes that branch go first"),
            LaneOrder::Chosen(seed) => write!(out, "the seed {seed} chooses which lanes go first"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_serves_all_lanes() {
        for order in LaneOrder::SEVERAL {
            let mut lanes: Vec<usize> = order.lanes(0xf00f_0ff0).collect();
            assert_eq!(lanes.is_sorted(), order == LaneOrder::Turns, "{order}");
            lanes.sort_unstable();
            assert_eq!(lanes, oriole_semantics::lanes::lanes(0xf00f_0ff0).collect::<Vec<_>>());
        }
    }
}
