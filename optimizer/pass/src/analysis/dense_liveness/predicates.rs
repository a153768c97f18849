//! Predicates that are live at the borders of blocks: a list for each block, found operand by operand.
//!
//! A function has few predicates, each live in few blocks, so a set of bits for each block would be mostly zeroes. Each
//! read that nothing in its block defines before is followed backward to the definitions. Cost: the size of the lists,
//! times predecessors.

use cranelift_entity::EntityRef;

use super::super::bitset;
use super::super::cfg::Cfg;
use super::super::live_scan::{NONE, Scan};
use super::available::Available;
use oriole_ir::Reg;

/// The live predicates of each block, by place in the layout, in order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Predicates {
    live_in: Vec<Vec<Reg>>,
    live_out: Vec<Vec<Reg>>,
}

impl Predicates {
    /// Follows the reads of the members, which are in order of their numbers.
    pub(super) fn solve(cfg: &Cfg, scan: &Scan, members: &[Reg]) -> Predicates {
        let blocks = cfg.blocks().len();
        let mut found = Predicates { live_in: vec![Vec::new(); blocks], live_out: vec![Vec::new(); blocks] };
        let lists = [&scan.read, &scan.handed_over, &scan.defined].map(|pairs| by_member(pairs, members));
        let mut last_definition = vec![NONE; blocks];
        for (index, reg) in members.iter().enumerate() {
            let [read, handed_over, defined] = &lists;
            defined[index].iter().for_each(|place| last_definition[*place] = index as u32);
            let is_defined = |place: usize| last_definition[place] == index as u32;
            let mut work = Vec::new();
            read[index].iter().for_each(|place| found.enter(*place, *reg, &mut work));
            handed_over[index].iter().for_each(|place| found.leave(*place, *reg, is_defined(*place), &mut work));
            while let Some(place) = work.pop() {
                let before = cfg.predecessors(cfg.blocks()[place]).iter();
                for from in before.filter_map(|from| cfg.position(*from)) {
                    found.leave(from, *reg, is_defined(from), &mut work);
                }
            }
        }
        found
    }

    /// Leaves out what no definition reaches; a register's number is its bit.
    pub(super) fn restrict(&mut self, available: &Available, number: &[u32]) {
        for (lists, sets) in [(&mut self.live_in, &available.entry), (&mut self.live_out, &available.end)] {
            for (place, list) in lists.iter_mut().enumerate() {
                list.retain(|reg| bitset::contains(sets.row(place), number[reg.index()] as usize));
            }
        }
    }

    pub(super) fn live_in(&self, place: usize) -> &[Reg] {
        &self.live_in[place]
    }

    pub(super) fn live_out(&self, place: usize) -> &[Reg] {
        &self.live_out[place]
    }

    /// The registers come one after the other, so a list has this one last or not at all.
    fn enter(&mut self, place: usize, reg: Reg, work: &mut Vec<usize>) {
        if self.live_in[place].last() != Some(&reg) {
            self.live_in[place].push(reg);
            work.push(place);
        }
    }

    fn leave(&mut self, place: usize, reg: Reg, is_defined: bool, work: &mut Vec<usize>) {
        if self.live_out[place].last() != Some(&reg) {
            self.live_out[place].push(reg);
            if !is_defined {
                self.enter(place, reg, work);
            }
        }
    }
}

/// The blocks that pairs name beside each member.
fn by_member(pairs: &[(Reg, u32)], members: &[Reg]) -> Vec<Vec<usize>> {
    let most = members.last().map_or(0, |last| last.index() + 1);
    let mut index = vec![NONE; most];
    members.iter().enumerate().for_each(|(at, reg)| index[reg.index()] = at as u32);
    let mut lists = vec![Vec::new(); members.len()];
    for (reg, place) in pairs {
        if let Some(at) = index.get(reg.index()).filter(|at| **at != NONE) {
            lists[*at as usize].push(*place as usize);
        }
    }
    lists
}
