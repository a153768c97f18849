//! Which live ranges interfere: sets of what is defined inside of each, and a table of the pairs that are known to
//! (`spec/liveness-and-dce.txt`, "Phase 4: Interference hash processing").
//!
//! A range's kill set holds the values that are defined while it is live. In SSA form two values interfere exactly if
//! one is defined while the other is live. A web is several ranges that share one register; its kill set is the union
//! of theirs. The page asks in two steps, and so does this: whether one bit of the web's set is there, and, where that
//! says no, whether the web's members, a sparse set, meet the kill set of the other range.

use cranelift_entity::EntityRef;

use oriole_ir::{Function, Reg};
use oriole_pass::analysis::bitset::{self, BitMatrix, SparseBitSet};
use oriole_pass::analysis::{Cfg, LiveWalk, Liveness};
use oriole_pass::engine::expression::hash::fnv1a;

const NONE: u32 = u32::MAX;

/// The kill sets of chosen ranges.
pub(super) struct KillSets {
    /// By register number: the bit, and the row.
    number: Vec<u32>,
    kill: BitMatrix,
}

impl KillSets {
    /// One backward walk over the function. Cost: at each definition of a member, what is live there.
    pub(super) fn new(func: &Function, cfg: &Cfg, liveness: &Liveness, members: &[Reg]) -> KillSets {
        let mut number = vec![NONE; func.regs().len()];
        members.iter().enumerate().for_each(|(bit, reg)| number[reg.index()] = bit as u32);
        let bit = |reg: Reg| Some(number[reg.index()]).filter(|bit| *bit != NONE).map(|bit| bit as usize);
        let mut kill = BitMatrix::new(members.len(), members.len());
        let mut walk = LiveWalk::new(func);
        for block in cfg.rpo() {
            walk.start(liveness, *block);
            for inst in func.block_insts(*block).rev() {
                for defined in func.defs(inst).filter_map(bit) {
                    for live in walk.live().iter().filter_map(|reg| bit(*reg)).filter(|live| *live != defined) {
                        bitset::insert(kill.row_mut(live), defined);
                    }
                }
                walk.step(func, inst);
            }
        }
        KillSets { number, kill }
    }

    /// The number of a chosen register.
    pub(super) fn bit(&self, reg: Reg) -> Option<usize> {
        self.number.get(reg.index()).filter(|bit| **bit != NONE).map(|bit| *bit as usize)
    }

    /// The web of one range.
    pub(super) fn web(&self, member: usize) -> Web {
        Web { members: [member].into_iter().collect(), kill: self.kill.row(member).to_vec() }
    }
}

/// Ranges that can share a register.
pub(super) struct Web {
    members: SparseBitSet,
    kill: Vec<u64>,
}

impl Web {
    /// Whether a range interferes with a member.
    pub(super) fn interferes(&self, sets: &KillSets, other: usize) -> bool {
        if self.members.contains(other) {
            return false;
        }
        bitset::contains(&self.kill, other) || self.members.first_common(sets.kill.row(other)).is_some()
    }

    /// Has other ranges interfere with the web.
    pub(super) fn keep_apart(&mut self, others: impl Iterator<Item = usize>) {
        others.for_each(|other| {
            bitset::insert(&mut self.kill, other);
        });
    }

    /// Takes in a range.
    pub(super) fn join(&mut self, sets: &KillSets, other: usize) {
        self.members.insert(other);
        bitset::union(&mut self.kill, sets.kill.row(other));
    }
}

/// Buckets of a new table.
const BUCKETS: usize = 8;

/// The pairs of web and range that are known to interfere, by the FNV-1a hash of the pair. The number of buckets is a
/// power of two, and doubles when there are more than half as many pairs as buckets.
pub(super) struct KnownPairs {
    buckets: Vec<Vec<([u32; 2], u32)>>,
    pairs: usize,
}

impl KnownPairs {
    pub(super) fn new() -> KnownPairs {
        KnownPairs { buckets: vec![Vec::new(); BUCKETS], pairs: 0 }
    }

    pub(super) fn contains(&self, pair: [u32; 2]) -> bool {
        let hash = fnv1a(&pair);
        self.buckets[hash as usize & (self.buckets.len() - 1)].contains(&(pair, hash))
    }

    /// Adds a pair; whether it is new.
    pub(super) fn insert(&mut self, pair: [u32; 2]) -> bool {
        if self.contains(pair) {
            return false;
        }
        if (self.pairs + 1) * 2 > self.buckets.len() {
            self.grow();
        }
        let hash = fnv1a(&pair);
        let mask = self.buckets.len() - 1;
        self.buckets[hash as usize & mask].push((pair, hash));
        self.pairs += 1;
        true
    }

    /// Pairs keep their hashes, so nothing is hashed again.
    fn grow(&mut self) {
        let more = vec![Vec::new(); self.buckets.len() * 2];
        let mask = more.len() - 1;
        for entry in std::mem::replace(&mut self.buckets, more).into_iter().flatten() {
            self.buckets[entry.1 as usize & mask].push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_table_holds_what_was_put_in(pairs in prop::collection::vec([0u32..9, 0u32..9], 0..60)) {
            let (mut table, mut twin) = (KnownPairs::new(), HashSet::new());
            for pair in pairs {
                prop_assert_eq!(table.contains(pair), twin.contains(&pair));
                prop_assert_eq!(table.insert(pair), twin.insert(pair));
                prop_assert!(table.buckets.len().is_power_of_two() && table.pairs * 2 <= table.buckets.len());
            }
            let held: HashSet<[u32; 2]> = table.buckets.iter().flatten().map(|(pair, _)| *pair).collect();
            prop_assert_eq!(held, twin);
        }
    }

    /// `%r2` is defined while `%r1` is live, `%r3` behind it.
    #[test]
    fn ranges_interfere_where_one_is_defined_inside_the_other() {
        let text = "device @f ssa {\nbb0:\n  %r1 = ld.global.b32 [8]\n  %r2 = iadd.u32 %r1, 1\n  \
                    %r3 = iadd.u32 %r1, %r2\n  st.global.b32 [8], %r3\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let cfg = Cfg::new(&func);
        let members = [1, 2, 3].map(Reg::from_u32);
        let sets = KillSets::new(&func, &cfg, &Liveness::solve(&func, &cfg), &members);
        let pairs = |web: &Web| [0, 1, 2].map(|other| web.interferes(&sets, other));
        assert_eq!(pairs(&sets.web(0)), [false, true, false]);
        assert_eq!(pairs(&sets.web(1)), [true, false, false], "by the set of the other range");
        let mut web = sets.web(2);
        web.join(&sets, 0);
        assert_eq!(pairs(&web), [false, true, false], "a web has the sets of its members");
    }
}
