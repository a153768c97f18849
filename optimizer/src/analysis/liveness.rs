//! Liveness of registers: the backward dataflow of `spec/liveness-and-dce.txt`, "Dataflow Algorithm".
//!
//! ```text
//! LiveOut(B) = union of LiveIn(S) over the successors S, with the sources of their phis that come from B
//! LiveIn(B)  = gen(B) | (LiveOut(B) & !kill(B))
//! ```
//!
//! 1. Number the registers that are read in a block before it defines them, densely and apart for each file. No other
//!    register is live at a block's entry, so the sets stay small; what a block defines for a phi behind it alone is listed.
//! 2. Compute gen and kill by a reverse scan of each block.
//! 3. Solve each file by itself, blocks in reverse of the reverse post-order, until a pass changes nothing.
//!
//! A phi's sources are read at the end of the predecessors, its destination is defined at its block's entry. Outside SSA a
//! guarded definition does not kill, since the old value shows through; in SSA the `else` operand is that old value, read
//! like a source. Barrier registers carry order, not values: they are in no set. Unreachable blocks are solved too.

use cranelift_entity::EntityRef;

use super::bitset::{self, BitMatrix};
use super::cfg::Cfg;
use crate::ir::{Block, Form, Function, Inst, Operand, Reg, RegFile};
use crate::ops::Opcode;

const NONE: u32 = u32::MAX;

/// The files that are solved, in the order of their sets.
const FILES: [RegFile; 4] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP];

/// The registers that are live at the borders of each block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// By block number: the row in the sets.
    row: Vec<u32>,
    /// By register number: the number in the sets of its file.
    number: Vec<u32>,
    /// By register number: the place of its file in [`FILES`].
    file: Vec<u8>,
    solutions: [Solution; FILES.len()],
    /// By row: registers without a number that phis read from that block, sorted and different.
    handed_over: Vec<Vec<Reg>>,
}

/// The sets of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Solution {
    members: Vec<Reg>,
    live_in: BitMatrix,
    live_out: BitMatrix,
}

/// The registers that are live at one border of a block.
#[derive(Clone, Copy, Debug)]
pub struct LiveSet<'a> {
    liveness: &'a Liveness,
    row: Option<usize>,
    out: bool,
}

impl Liveness {
    /// Solves all files.
    pub fn solve(func: &Function, cfg: &Cfg) -> Liveness {
        let mut row = vec![NONE; func.blocks.len()];
        for (index, block) in cfg.blocks().iter().enumerate() {
            row[block.index()] = index as u32;
        }
        let file_of = |file| FILES.iter().position(|f| *f == file).map_or(NONE as u8, |place| place as u8);
        let file: Vec<u8> = func.regs.values().map(|info| file_of(info.file)).collect();
        let (number, members) = number_exposed(func, cfg, &file);
        let solutions = members.map(|members| Solution::empty(members, cfg.blocks().len()));
        let mut liveness = Liveness { row, number, file, solutions, handed_over: vec![Vec::new(); cfg.blocks().len()] };
        let transfers = Transfers::new(func, cfg, &mut liveness);
        for (solution, transfer) in liveness.solutions.iter_mut().zip(&transfers.files) {
            if !solution.members.is_empty() {
                solution.iterate(cfg, transfer);
            }
        }
        for regs in &mut liveness.handed_over {
            regs.sort_unstable();
            regs.dedup();
        }
        liveness
    }

    /// The registers that are live at a block's entry, before its phis are read and without their destinations.
    pub fn live_in(&self, block: Block) -> LiveSet<'_> {
        LiveSet { liveness: self, row: self.row_of(block), out: false }
    }

    /// The registers that are live at a block's end: those that its successors' phis read from it too.
    pub fn live_out(&self, block: Block) -> LiveSet<'_> {
        LiveSet { liveness: self, row: self.row_of(block), out: true }
    }

    /// Whether a register can be live at a block's entry: some block reads it without having defined it.
    pub fn enters_blocks(&self, reg: Reg) -> bool {
        self.place(reg).is_some()
    }

    fn row_of(&self, block: Block) -> Option<usize> {
        self.row.get(block.index()).filter(|row| **row != NONE).map(|row| *row as usize)
    }

    /// The place of a register's file and its number there.
    fn place(&self, reg: Reg) -> Option<(usize, usize)> {
        let number = *self.number.get(reg.index())?;
        (number != NONE).then(|| (self.file[reg.index()] as usize, number as usize))
    }
}

impl<'a> LiveSet<'a> {
    /// Whether a register is live. Barrier registers never are.
    pub fn contains(self, reg: Reg) -> bool {
        match (self.row, self.liveness.place(reg)) {
            (Some(row), Some((file, number))) => bitset::contains(self.words(file, row), number),
            _ => self.handed_over().binary_search(&reg).is_ok(),
        }
    }

    /// The live registers: file by file, each in order of register number; then those that only phis read.
    pub fn iter(self) -> impl Iterator<Item = Reg> + 'a {
        let files = (0..FILES.len()).filter_map(move |file| Some((file, self.row?)));
        let numbered = files.flat_map(move |(file, row)| {
            let members = &self.liveness.solutions[file].members;
            bitset::iter(self.words(file, row)).map(move |number| members[number])
        });
        numbered.chain(self.handed_over().iter().copied())
    }

    /// How many registers of a file are live.
    pub fn count(self, file: RegFile) -> usize {
        let Some((place, row)) = FILES.iter().position(|f| *f == file).zip(self.row) else { return 0 };
        let here = |reg: &&Reg| self.liveness.file[reg.index()] as usize == place;
        bitset::count(self.words(place, row)) + self.handed_over().iter().filter(here).count()
    }

    fn handed_over(self) -> &'a [Reg] {
        self.row.filter(|_| self.out).map_or(&[], |row| &self.liveness.handed_over[row])
    }

    fn words(self, file: usize, row: usize) -> &'a [u64] {
        let solution = &self.liveness.solutions[file];
        if self.out { solution.live_out.row(row) } else { solution.live_in.row(row) }
    }
}

/// Whether the old values of an instruction's destinations are gone after it, whatever its guard says.
pub(super) fn kills(func: &Function, inst: Inst) -> bool {
    func.insts[inst].guard.is_none() || func.form == Form::Ssa || !func.elses(inst).is_empty()
}

/// Pairs of value and predecessor of a phi.
fn incoming(func: &Function, phi: Inst) -> impl Iterator<Item = (Operand, Block)> + '_ {
    func.srcs(phi).chunks_exact(2).filter_map(|pair| Some((pair[0], pair[1].block()?)))
}

/// The first step: numbers for the registers that a block reads before it defines them, or that a phi reads from a block
/// that does not define them. Where SSA form has many phis, most values go from the block that defines them straight into
/// phis of the next; without numbers they make no set wider.
fn number_exposed(func: &Function, cfg: &Cfg, file: &[u8]) -> (Vec<u32>, [Vec<Reg>; FILES.len()]) {
    let mut exposed = vec![false; func.regs.len()];
    // The last block that has defined a register so far.
    let mut defined_in = vec![NONE; func.regs.len()];
    let mut read_by_phis = Vec::new();
    for (index, block) in cfg.blocks().iter().enumerate() {
        for inst in &func.blocks[*block].insts {
            if func.insts[*inst].opcode == Opcode::Phi {
                read_by_phis.extend(incoming(func, *inst).filter_map(|(value, from)| Some((value.reg()?, from))));
            } else {
                func.uses(*inst).for_each(|reg| exposed[reg.index()] |= defined_in[reg.index()] != index as u32);
            }
            if kills(func, *inst) {
                func.defs(*inst).for_each(|reg| defined_in[reg.index()] = index as u32);
            }
        }
    }
    for (reg, from) in read_by_phis {
        exposed[reg.index()] |= cfg.position(from) != Some(defined_in[reg.index()] as usize);
    }
    let mut number = vec![NONE; func.regs.len()];
    let mut members: [Vec<Reg>; FILES.len()] = Default::default();
    for reg in func.regs.keys() {
        if exposed[reg.index()] && (file[reg.index()] as usize) < FILES.len() {
            let members = &mut members[file[reg.index()] as usize];
            number[reg.index()] = members.len() as u32;
            members.push(reg);
        }
    }
    (number, members)
}

/// gen and kill of every block, for one file.
struct Transfer {
    generated: BitMatrix,
    kill: BitMatrix,
}

struct Transfers {
    files: [Transfer; FILES.len()],
}

impl Transfers {
    /// The second step; what phis read goes straight into the live-out sets of their predecessors.
    fn new(func: &Function, cfg: &Cfg, liveness: &mut Liveness) -> Transfers {
        let rows = cfg.blocks().len();
        let empty = |solution: &Solution| {
            let bits = solution.members.len();
            Transfer { generated: BitMatrix::new(rows, bits), kill: BitMatrix::new(rows, bits) }
        };
        let mut transfers = Transfers { files: liveness.solutions.each_ref().map(empty) };
        for (row, block) in cfg.blocks().iter().enumerate() {
            for inst in func.blocks[*block].insts.iter().rev() {
                transfers.scan(func, *inst, row, liveness);
            }
        }
        transfers
    }

    fn scan(&mut self, func: &Function, inst: Inst, row: usize, liveness: &mut Liveness) {
        if kills(func, inst) {
            for (file, number) in func.defs(inst).filter_map(|reg| liveness.place(reg)) {
                bitset::remove(self.files[file].generated.row_mut(row), number);
                bitset::insert(self.files[file].kill.row_mut(row), number);
            }
        }
        if func.insts[inst].opcode != Opcode::Phi {
            for (file, number) in func.uses(inst).filter_map(|reg| liveness.place(reg)) {
                bitset::insert(self.files[file].generated.row_mut(row), number);
            }
            return;
        }
        for (value, predecessor) in incoming(func, inst) {
            let read = value.reg().filter(|reg| func.regs[*reg].file != RegFile::B);
            let Some((reg, row)) = read.zip(liveness.row_of(predecessor)) else { continue };
            match liveness.place(reg) {
                Some((file, number)) => {
                    bitset::insert(liveness.solutions[file].live_out.row_mut(row), number);
                }
                None => liveness.handed_over[row].push(reg),
            }
        }
    }
}

impl Solution {
    fn empty(members: Vec<Reg>, rows: usize) -> Solution {
        let bits = members.len();
        Solution { members, live_in: BitMatrix::new(rows, bits), live_out: BitMatrix::new(rows, bits) }
    }

    /// The third step. The sets only grow, so it ends; on reducible graphs after loop depth plus two passes.
    fn iterate(&mut self, cfg: &Cfg, transfer: &Transfer) {
        let unreachable = cfg.blocks().iter().filter(|block| !cfg.is_reachable(**block));
        let order: Vec<Block> = cfg.rpo().iter().chain(unreachable).rev().copied().collect();
        let rows: Vec<usize> = order.iter().filter_map(|block| cfg.position(*block)).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (block, row) in order.iter().zip(&rows) {
                for successor in cfg.successors(*block).iter().filter_map(|s| cfg.position(*s)) {
                    changed |= bitset::union_if_changed(self.live_out.row_mut(*row), self.live_in.row(successor));
                }
                changed |= bitset::or_with_and_not_if_changed(
                    self.live_in.row_mut(*row),
                    transfer.generated.row(*row),
                    self.live_out.row(*row),
                    transfer.kill.row(*row),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::live_walk::LiveWalk;
    use super::super::testing::random_function;
    use super::*;
    use crate::ir::parse_function;
    use proptest::prelude::*;

    fn solve(func: &Function) -> Liveness {
        Liveness::solve(func, &Cfg::new(func))
    }

    fn names(func: &Function, set: LiveSet<'_>) -> Vec<String> {
        set.iter().map(|reg| format!("{}{}", func.regs[reg].prefix(), reg.as_u32())).collect()
    }

    /// The definition: some path from the block's entry reads the register before anything overwrites it.
    fn live_in_by_paths(func: &Function, reg: Reg, block: Block) -> bool {
        let (mut seen, mut stack) = (HashSet::new(), vec![block]);
        while let Some(block) = stack.pop() {
            if !seen.insert(block) {
                continue;
            }
            let mut overwritten = false;
            for inst in &func.blocks[block].insts {
                if func.uses(*inst).any(|r| r == reg) {
                    return true;
                }
                overwritten = func.insts[*inst].guard.is_none() && func.defs(*inst).any(|r| r == reg);
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
        let phis = func.blocks[block].insts.iter().filter(|inst| func.insts[**inst].opcode == Opcode::Phi);
        let pairs = phis.flat_map(|phi| func.srcs(*phi).chunks(2));
        pairs.filter(move |pair| pair[1].block() == Some(from)).filter_map(|pair| pair[0].reg())
    }

    /// LiveOut of a block, from LiveIn of all.
    fn out_by_sets(func: &Function, block: Block, live_in: &HashMap<Block, HashSet<Reg>>) -> HashSet<Reg> {
        let flows = |next: Block| read_by_phis(func, next, block).chain(live_in[&next].iter().copied());
        func.successors(block).flat_map(flows).collect()
    }

    /// The equations, over plain sets, with a worklist in layout order.
    fn live_in_by_sets(func: &Function) -> HashMap<Block, HashSet<Reg>> {
        let mut live_in: HashMap<Block, HashSet<Reg>> = func.layout.iter().map(|b| (*b, HashSet::new())).collect();
        let mut work = func.layout.clone();
        while let Some(block) = work.pop() {
            let mut live = out_by_sets(func, block, &live_in);
            for inst in func.blocks[block].insts.iter().rev() {
                if func.insts[*inst].guard.is_none() || func.form == Form::Ssa {
                    live.retain(|reg| func.defs(*inst).all(|def| def != *reg));
                }
                if func.insts[*inst].opcode != Opcode::Phi {
                    live.extend(func.uses(*inst));
                }
            }
            if live_in[&block] != live {
                live_in.insert(block, live);
                work.extend(func.layout.iter().filter(|p| func.successors(**p).any(|s| s == block)));
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
            for block in &func.layout {
                for reg in func.regs.keys() {
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
            for block in &func.layout {
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
            for block in &func.layout {
                walk.start(&liveness, *block);
                func.blocks[*block].insts.iter().rev().for_each(|inst| walk.step(&func, *inst));
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
        let [_, left, right, join] = func.layout[..] else { panic!("four blocks") };
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
        assert_eq!(names(&func, solve(&func).live_out(func.layout[1])), ["r1", "r2"]);
        assert_eq!(names(&func, solve(&func).live_in(func.layout[1])), [""; 0]);
    }

    #[test]
    fn guarded_definitions_kill_only_in_ssa() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  @%p1 %r2 = mov.b32 1\n  st.global.b32 [8], %r2\n  ret\n}\n";
        let func = parse_function(text).unwrap();
        assert_eq!(names(&func, solve(&func).live_in(func.layout[1])), ["r2", "p1"]);
        let text = text.replace("@f {", "@f ssa {").replace("b32 1\n", "b32 1 else 0\n");
        let func = parse_function(&text).unwrap();
        assert_eq!(names(&func, solve(&func).live_in(func.layout[1])), ["p1"]);
    }

    #[test]
    fn files_are_apart_and_barriers_are_none() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  st.global.b32 [%ur1], %r2\n  %r3 = mov.b32 %b4\n  cbra %up5, bb0, bb1\n}\n";
        let func = parse_function(text).unwrap();
        let liveness = solve(&func);
        assert_eq!(names(&func, liveness.live_in(func.layout[0])), ["r2", "ur1", "up5"]);
        assert!(!liveness.live_in(func.layout[0]).contains(Reg::from_u32(4)));
    }
}
