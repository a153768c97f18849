//! Liveness of registers: the backward dataflow of `spec/liveness-and-dce.txt`, "Dataflow Algorithm".
//!
//! [`LiveWords`] solves the equations for 64 registers at a time; this keeps the result. A block's set is a sorted list
//! of the groups of which it holds registers, with a word for each, so that memory is that of the result: where all
//! blocks have the same registers live, a bit for each, and where every block has its own, sixteen bytes.

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::live_scan::NONE;
use super::live_words::{GROUP, LiveWords};
use oriole_ir::{Block, Function, Reg, RegFile};

/// The registers that are live at the borders of each block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// By block number: the place in the layout.
    position: Vec<u32>,
    /// By register number: the number in the sets.
    number: Vec<u32>,
    /// By number in the sets: the register, and its file.
    members: Vec<(Reg, RegFile)>,
    live_in: Sets,
    live_out: Sets,
}

/// The sets of all blocks at one of their borders, by place in the layout.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sets {
    start: Vec<u32>,
    group: Vec<u32>,
    word: Vec<u64>,
}

/// The registers that are live at one border of a block.
#[derive(Clone, Copy, Debug)]
pub struct LiveSet<'a> {
    liveness: &'a Liveness,
    groups: &'a [u32],
    words: &'a [u64],
}

impl Liveness {
    /// Solves all groups.
    pub fn solve(func: &Function, cfg: &Cfg) -> Liveness {
        let mut position = vec![NONE; func.blocks().len()];
        for (place, block) in cfg.blocks().iter().enumerate() {
            position[block.index()] = place as u32;
        }
        let mut solver = LiveWords::new(func, cfg);
        let (mut entries, mut ends) = (Vec::new(), Vec::new());
        for group in 0..solver.groups() {
            solver.solve(group);
            for block in solver.blocks() {
                let words = [solver.live_in(*block as usize), solver.live_out(*block as usize)];
                for (list, word) in [&mut entries, &mut ends].into_iter().zip(words).filter(|(_, word)| *word != 0) {
                    list.push(Entry { block: *block, group: group as u32, word });
                }
            }
        }
        let (number, members) = solver.into_numbers();
        let members = members.into_iter().map(|reg| (reg, func.regs()[reg].file)).collect();
        let [live_in, live_out] = [entries, ends].map(|list| Sets::new(list, cfg.blocks().len()));
        Liveness { position, number, members, live_in, live_out }
    }

    /// The registers that are live at a block's entry, before its phis are read and without their destinations.
    pub fn live_in(&self, block: Block) -> LiveSet<'_> {
        self.set(&self.live_in, block)
    }

    /// The registers that are live at a block's end: those that its successors' phis read from it too.
    pub fn live_out(&self, block: Block) -> LiveSet<'_> {
        self.set(&self.live_out, block)
    }

    fn set<'a>(&'a self, sets: &'a Sets, block: Block) -> LiveSet<'a> {
        let position = self.position.get(block.index()).filter(|position| **position != NONE);
        let range = position.map_or(0..0, |position| sets.range(*position as usize));
        LiveSet { liveness: self, groups: &sets.group[range.clone()], words: &sets.word[range] }
    }
}

/// A word that is not zero.
struct Entry {
    block: u32,
    group: u32,
    word: u64,
}

impl Sets {
    /// Sorts entries, which come in order of their groups, by block.
    fn new(entries: Vec<Entry>, blocks: usize) -> Sets {
        let mut start = vec![0; blocks + 1];
        for entry in &entries {
            start[entry.block as usize + 1] += 1;
        }
        for block in 0..blocks {
            start[block + 1] += start[block];
        }
        let mut fill = start.clone();
        let (mut group, mut word) = (vec![0; entries.len()], vec![0; entries.len()]);
        for entry in entries {
            let place = &mut fill[entry.block as usize];
            (group[*place as usize], word[*place as usize]) = (entry.group, entry.word);
            *place += 1;
        }
        Sets { start, group, word }
    }

    fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.start[block] as usize..self.start[block + 1] as usize
    }
}

impl<'a> LiveSet<'a> {
    /// Whether a register is live; in physical form, whether a unit is. Barrier registers never are.
    pub fn contains(self, reg: Reg) -> bool {
        let number = self.liveness.number.get(reg.index()).filter(|number| **number != NONE);
        number.is_some_and(|number| {
            let (group, bit) = (*number / GROUP as u32, number % GROUP as u32);
            self.groups.binary_search(&group).is_ok_and(|at| self.words[at] >> bit & 1 == 1)
        })
    }

    /// The live registers, in order of their number.
    pub fn iter(self) -> impl Iterator<Item = Reg> + 'a {
        self.members().map(|(reg, _)| reg)
    }

    /// How many registers of a file are live.
    pub fn count(self, file: RegFile) -> usize {
        self.members().filter(|(_, of)| *of == file).count()
    }

    /// The live registers that another set of the same function does not have, in no particular but a reproducible
    /// order. Costs a step for each group of either set.
    pub fn without(self, other: LiveSet<'a>) -> impl Iterator<Item = Reg> + 'a {
        let mut at = 0;
        let words = self.groups.iter().zip(self.words).map(move |(group, word)| {
            at += other.groups[at..].iter().take_while(|found| *found < group).count();
            let taken = if other.groups.get(at) == Some(group) { other.words[at] } else { 0 };
            (*group, word & !taken)
        });
        words.flat_map(move |(group, word)| {
            let bits = (0..GROUP).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| self.liveness.members[group as usize * GROUP + bit].0)
        })
    }

    fn members(self) -> impl Iterator<Item = (Reg, RegFile)> + 'a {
        self.groups.iter().zip(self.words).flat_map(move |(group, word)| {
            let members = &self.liveness.members[*group as usize * GROUP..];
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(members[bit])
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::live_walk::LiveWalk;
    use super::super::testing::random_function;
    use super::*;
    use oriole_ir::ops::Opcode;
    use oriole_ir::{Form, parse_function};
    use proptest::prelude::*;

    fn solve(func: &Function) -> Liveness {
        Liveness::solve(func, &Cfg::new(func))
    }

    fn names(func: &Function, set: LiveSet<'_>) -> Vec<String> {
        set.iter().map(|reg| format!("{}{}", func.regs()[reg].prefix(), reg.as_u32())).collect()
    }

    /// The definition: some path from the block's entry reads the register before anything overwrites it.
    fn live_in_by_paths(func: &Function, reg: Reg, block: Block) -> bool {
        let (mut seen, mut stack) = (HashSet::new(), vec![block]);
        while let Some(block) = stack.pop() {
            if !seen.insert(block) {
                continue;
            }
            let mut overwritten = false;
            for inst in func.block_insts(block) {
                if func.uses(inst).any(|r| r == reg) {
                    return true;
                }
                overwritten = func.inst(inst).guard.is_none() && func.defs(inst).any(|r| r == reg);
                if overwritten {
                    break;
                }
            }
            if !overwritten {
                stack.extend(func.successors(block));
            }
        }
        false
    }

    /// What the phis of a block read from one of its predecessors.
    fn read_by_phis(func: &Function, block: Block, from: Block) -> impl Iterator<Item = Reg> + '_ {
        let phis = func.block_insts(block).filter(|inst| func.inst(*inst).opcode == Opcode::Phi);
        let pairs = phis.flat_map(|phi| func.srcs(phi).chunks(2));
        pairs.filter(move |pair| pair[1].block() == Some(from)).filter_map(|pair| pair[0].reg())
    }

    /// LiveOut of a block, from LiveIn of all.
    fn out_by_sets(func: &Function, block: Block, live_in: &HashMap<Block, HashSet<Reg>>) -> HashSet<Reg> {
        let flows = |next: Block| read_by_phis(func, next, block).chain(live_in[&next].iter().copied());
        func.successors(block).flat_map(flows).collect()
    }

    /// The equations, over plain sets, with a worklist in layout order.
    fn live_in_by_sets(func: &Function) -> HashMap<Block, HashSet<Reg>> {
        let mut live_in: HashMap<Block, HashSet<Reg>> = func.layout().iter().map(|b| (*b, HashSet::new())).collect();
        let mut work = func.layout().to_vec();
        while let Some(block) = work.pop() {
            let mut live = out_by_sets(func, block, &live_in);
            for inst in func.block_insts(block).rev() {
                if func.inst(inst).guard.is_none() || func.form == Form::Ssa {
                    live.retain(|reg| func.defs(inst).all(|def| def != *reg));
                }
                if func.inst(inst).opcode != Opcode::Phi {
                    live.extend(func.uses(inst));
                }
            }
            if live_in[&block] != live {
                live_in.insert(block, live);
                work.extend(func.layout().iter().filter(|p| func.successors(**p).any(|s| s == block)));
            }
        }
        live_in
    }

    proptest! {
        #[test]
        fn solution_is_that_of_both_twins(words in prop::collection::vec(any::<u32>(), 4..160)) {
            let func = random_function(&words);
            let liveness = solve(&func);
            let by_sets = live_in_by_sets(&func);
            for block in func.layout() {
                for reg in func.regs().keys() {
                    let live = liveness.live_in(*block).contains(reg);
                    prop_assert_eq!(live, by_sets[block].contains(&reg), "{} {}", block, reg);
                    prop_assert_eq!(live, live_in_by_paths(&func, reg, *block), "{} {}", block, reg);
                }
                let out: HashSet<Reg> = liveness.live_out(*block).iter().collect();
                prop_assert_eq!(out, out_by_sets(&func, *block, &by_sets));
            }
        }

        #[test]
        fn solution_in_ssa_form_is_that_of_sets(words in prop::collection::vec(any::<u32>(), 4..300)) {
            let mut func = random_function(&words);
            crate::ssa::construct(&mut func);
            let liveness = solve(&func);
            let by_sets = live_in_by_sets(&func);
            for block in func.layout() {
                let found: HashSet<Reg> = liveness.live_in(*block).iter().collect();
                prop_assert_eq!(&found, &by_sets[block]);
                let found: HashSet<Reg> = liveness.live_out(*block).iter().collect();
                prop_assert_eq!(found, out_by_sets(&func, *block, &by_sets));
            }
        }

        #[test]
        fn walking_a_block_ends_at_its_live_in(words in prop::collection::vec(any::<u32>(), 4..160)) {
            let func = random_function(&words);
            let liveness = solve(&func);
            let mut walk = LiveWalk::new(&func);
            for block in func.layout() {
                walk.start(&liveness, *block);
                func.block_insts(*block).rev().for_each(|inst| walk.step(&func, inst));
                let mut found = walk.live().to_vec();
                let mut expected: Vec<Reg> = liveness.live_in(*block).iter().collect();
                found.sort();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }

    const PHIS: &str = "\
device @f ssa {
bb0:
  %r1 = mov.b32 1
  %r2 = mov.b32 2
  %p3 = setp.lt.u32 %r1, %r2
  cbra %p3, bb1, bb2
bb1:
  bra bb3
bb2:
  bra bb3
bb3:
  %r4 = phi [bb1: %r1], [bb2: %r2]
  @%p3 %r5 = iadd.u32 %r4, 1 else %r1
  st.global.b32 [8], %r5
  ret
}
";

    #[test]
    fn phis_read_at_the_end_of_predecessors() {
        let func = parse_function(PHIS).unwrap();
        let liveness = solve(&func);
        let [_, left, right, join] = func.layout()[..] else { panic!("four blocks") };
        assert_eq!(names(&func, liveness.live_out(left)), ["r1", "p3"]);
        assert_eq!(names(&func, liveness.live_out(right)), ["r1", "r2", "p3"]);
        assert_eq!(names(&func, liveness.live_in(join)), ["r1", "p3"]);
        assert_eq!(liveness.live_in(join).count(RegFile::P), 1);
        assert_eq!(liveness.live_in(join).count(RegFile::UR), 0);
    }

    #[test]
    fn phis_that_read_each_other_around_a_loop_are_live_at_its_end() {
        let text = "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 1], [bb1: %r2]\n  \
                    %r2 = phi [bb0: 2], [bb1: %r1]\n  cbra undef, bb1, bb2\nbb2:\n  ret\n}\n";
        let func = parse_function(text).unwrap();
        assert_eq!(names(&func, solve(&func).live_out(func.layout()[1])), ["r1", "r2"]);
        assert_eq!(names(&func, solve(&func).live_in(func.layout()[1])), [""; 0]);
    }

    #[test]
    fn guarded_definitions_kill_only_in_ssa() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  @%p1 %r2 = mov.b32 1\n  st.global.b32 [8], %r2\n  ret\n}\n";
        let func = parse_function(text).unwrap();
        assert_eq!(names(&func, solve(&func).live_in(func.layout()[1])), ["p1", "r2"]);
        let text = text.replace("@f {", "@f ssa {").replace("b32 1\n", "b32 1 else 0\n");
        let func = parse_function(&text).unwrap();
        assert_eq!(names(&func, solve(&func).live_in(func.layout()[1])), ["p1"]);
    }

    #[test]
    fn files_are_apart_and_barriers_are_none() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  st.global.b32 [%ur1], %r2\n  %r3 = mov.b32 %b4\n  cbra %up5, bb0, bb1\n}\n";
        let func = parse_function(text).unwrap();
        let liveness = solve(&func);
        assert_eq!(names(&func, liveness.live_in(func.layout()[0])), ["ur1", "r2", "up5"]);
        assert!(!liveness.live_in(func.layout()[0]).contains(Reg::from_u32(4)));
    }
}
