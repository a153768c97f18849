//! The builder of constraints: hard ones of what is live together, soft ones of banks, phis, groups and ranges.
//!
//! Which types it makes: 0 and 7 of words that are live together, 0 and 3 of what calls leave as it is, 2 of spilled
//! predicates that have a number, 8 of phis, 12 of banks, 12 to 14 of words that are copied into groups, 15 of long
//! ranges. Alignment of groups is where they may begin, so 5 and 6 are for targets that want halves of pairs alone, and
//! 1 and 11 for those that leave out one register or one parity; no instruction of these SMs does.
//!
//! Cost: overlaps of ranges, as the walk over liveness meets them, and linear work beside.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Function, Guard, Inst, Operand, Reg, RegFile, RegInfo};
use oriole_pass::analysis::{Cfg, LoopNest};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::candidates::Candidates;
use super::choose::Allocator;
use super::constraint::{Kind, MUST, Node, PLACES, Round, Target};
use super::live::{Access, Sparse, Words};
use super::spill::{self, Spills};
use super::{Limits, SAVED, copied};
use crate::select::convergence::{BARRIERS, KEPT};
use crate::select::{Bundle, STACK, is_group_product};
use crate::sequences;

/// The weight of another bank: a cycle.
const BANKS: i32 = 1;
/// The weight of what phis join: a copy, perhaps.
const PHIS: i32 = 2;
/// The weight of words of groups: less than a copy that is there.
const GROUPS: i32 = 3;
/// Instructions from the first to the last that names a register from which on its range is long.
const LONG: u32 = 64;
/// Soft nodes that a new one is compared with.
const NEAR: usize = 16;
/// The cost of making a value again, as part of that of a load.
const AGAIN: f32 = 0.3;

impl<'f> Allocator<'f> {
    /// With all constraints, and places of those alone that have one whatever is chosen.
    pub fn new(
        func: &'f Function,
        cfg: &Cfg,
        limits: Limits,
        (spills, fixed, bundles): (&Spills, &'f Candidates, &'f [Bundle]),
        (kept, below): (FxHashSet<Reg>, &'f BTreeMap<Reg, u16>),
    ) -> Allocator<'f> {
        let words = Words::of(func, cfg);
        let mut allocator = Allocator {
            func,
            limits,
            nodes: SecondaryMap::new(),
            copies: SecondaryMap::new(),
            related: FxHashSet::default(),
            kept,
            below,
            place: SecondaryMap::new(),
            fixed,
            order: Vec::new(),
            costs: SecondaryMap::new(),
            spilled: Vec::new(),
            bundles,
            bundle_of: SecondaryMap::new(),
            is_stuck: false,
            round: Round::FIRST,
            is_spread: false,
            next: 0,
        };
        for (at, reg) in bundles.iter().enumerate().flat_map(|(at, bundle)| bundle.iter().map(move |reg| (at, reg))) {
            allocator.bundle_of[*reg] = Some(at);
        }
        allocator.find_order(cfg, spills);
        allocator.find_related();
        allocator.find_constraints(cfg, &words);
        allocator.find_uniform();
        allocator.find_kept();
        allocator.find_ports(spills);
        allocator.find_soft(cfg);
        allocator.find_costs(cfg, spills);
        allocator
    }

    /// Values that are live across calls come first, and predicates with a number that spilling gave them, since they
    /// have few places. Then come bundles and wide registers: they need places side by side, and what is copied into
    /// their words goes there.
    fn find_order(&mut self, cfg: &Cfg, spills: &Spills) {
        let mut seen: SecondaryMap<Reg, bool> = SecondaryMap::new();
        let blocks = cfg.rpo().iter().flat_map(|block| self.func.block_insts(*block));
        for inst in blocks {
            let guard = self.func.inst(inst).guard.map(Guard::reg);
            let named = self.func.dsts(inst).iter().chain(self.func.inputs(inst)).filter_map(|operand| operand.reg());
            for reg in named.chain(guard) {
                if !std::mem::replace(&mut seen[reg], true) {
                    self.order.push(reg);
                }
            }
        }
        let (kept, below) = (&self.kept, self.below);
        let is_kept = |reg: Reg| kept.contains(&reg) || below.get(&reg).is_some_and(|first| *first > 0);
        let is_bound = |reg: Reg| is_kept(reg) || spills.port(reg).is_some();
        let regs = self.func.regs();
        let bundled = |reg: Reg| self.bundle_of[reg].map_or(0, |at| self.bundles[at].len());
        self.order.sort_by_key(|reg| (!is_bound(*reg), std::cmp::Reverse((bundled(*reg), regs[*reg].words))));
    }

    fn find_related(&mut self) {
        let func = self.func;
        for inst in func.layout_insts() {
            let pair = copied(func, inst).and_then(|(to, from)| Some((to.reg()?, from.reg()?)));
            self.related.extend(pair.map(|(to, from)| (to.min(from), to.max(from))));
        }
    }

    /// A word that is written conflicts with those that are live behind.
    fn find_constraints(&mut self, cfg: &Cfg, words: &Words) {
        let func = self.func;
        words.backward(func, cfg, |inst, live| self.at(inst, words, live));
        for reg in func.regs().keys() {
            let nodes = &mut self.nodes[reg];
            nodes.sort_unstable_by_key(|node| (node.target, node.words));
            nodes.dedup();
            self.join(reg);
        }
    }

    /// Makes one node of those between all words of two registers. The list is sorted, and has conflicts alone.
    fn join(&mut self, reg: Reg) {
        let regs = self.func.regs();
        let own = usize::from(regs[reg].words);
        let mut joined: Vec<Node> = Vec::with_capacity(self.nodes[reg].len());
        for nodes in self.nodes[reg].chunk_by(|one, other| one.target == other.target) {
            let Target::Register(number) = nodes[0].target else { continue };
            let other = regs[Reg::from_u32(number)].words;
            let is_whole = nodes.last().is_some_and(|node| node.words.is_none());
            if !is_whole && nodes.len() < own * usize::from(other) {
                joined.extend(nodes);
                continue;
            }
            let kind = if other == 2 { Kind::AlignedPair } else { Kind::Point };
            joined.push(Node { kind, words: None, ..nodes[0] });
        }
        self.nodes[reg] = joined;
    }

    fn at(&mut self, inst: Inst, words: &Words, live: &Sparse) {
        let func = self.func;
        let copied = copied(func, inst).and_then(|(to, from)| {
            let one = |operand| words.of_operand(operand).next();
            Some((one(to)?, one(from)?))
        });
        let mut written = Vec::new();
        words.accesses(func, inst, |word, access| {
            if access != Access::Read {
                written.push(word);
            }
        });
        for word in &written {
            let reg = words.reg(*word);
            for other in live.iter().chain(written.iter().copied()) {
                let is_copy = copied == Some((*word, other));
                if words.reg(other) != reg && !is_copy {
                    self.conflict(words, *word, other);
                }
            }
        }
        if !written.is_empty() && is_group_product(func, inst) {
            let read = func.inputs(inst).iter().flat_map(|src| words.of_operand(*src)).collect::<Vec<_>>();
            for (word, other) in written.iter().flat_map(|word| read.iter().map(move |other| (*word, *other))) {
                if words.reg(word) != words.reg(other) {
                    self.conflict(words, word, other);
                }
            }
        }
        if let Some((to, from)) = copied {
            let (a, b) = (words.reg(to), words.reg(from));
            let (own, other) = (to - words.of_reg(a).start, from - words.of_reg(b).start);
            if a != b {
                self.copies[a].push((own as u8, b, other as u8));
                self.copies[b].push((other as u8, a, own as u8));
            }
        }
    }

    /// Two words that must not be in one place. Of registers of one word that is the place itself. Of wide ones it is
    /// where they begin: a place may be free in the middle of a group whose other words are taken.
    fn conflict(&mut self, words: &Words, first: u32, second: u32) {
        let (a, b) = (words.reg(first), words.reg(second));
        let (one, other) = (self.func.regs()[a], self.func.regs()[b]);
        if one.file != other.file {
            return;
        }
        let by_word = one.words > 1 || other.words > 1 || self.related.contains(&(a.min(b), a.max(b)));
        let of = |word: u32, reg: Reg| (word - words.of_reg(reg).start) as u8;
        let (own, other) = (of(first, a), of(second, b));
        let node = |reg: Reg, words: (u8, u8)| {
            let target = Target::Register(reg.as_u32());
            Node { kind: Kind::Point, words: by_word.then_some(words), target, weight: 1 }
        };
        self.nodes[a].push(node(b, (own, other)));
        self.nodes[b].push(node(a, (other, own)));
    }

    /// Gives a uniform register that several blocks name a place that no other one has: lanes that part at a branch
    /// take its sides one after the other, and what is live for those that wait no way of the others shows.
    fn find_uniform(&mut self) {
        let func = self.func;
        let mut homes: SecondaryMap<Reg, Option<Block>> = SecondaryMap::new();
        let mut crossing: FxHashSet<Reg> = FxHashSet::default();
        let mut uniform: FxHashSet<Reg> = FxHashSet::default();
        for block in func.layout() {
            for inst in func.block_insts(*block) {
                let guard = func.inst(inst).guard.map(Guard::reg);
                let named = func.dsts(inst).iter().chain(func.inputs(inst)).filter_map(|operand| operand.reg());
                for reg in named.chain(guard) {
                    if matches!(func.regs()[reg].file, RegFile::UR | RegFile::UP) {
                        uniform.insert(reg);
                        if *homes[reg].get_or_insert(*block) != *block {
                            crossing.insert(reg);
                        }
                    }
                }
            }
        }
        let sorted = |set: FxHashSet<Reg>| {
            let mut list: Vec<Reg> = set.into_iter().collect();
            list.sort_unstable();
            list
        };
        let (crossing, uniform) = (sorted(crossing), sorted(uniform));
        let node = |reg: Reg| {
            let target = Target::Register(reg.as_u32());
            Node { kind: Kind::Point, words: None, target, weight: 1 }
        };
        for reg in &crossing {
            let is_other = |other: &&Reg| *other != reg && func.regs()[**other].file == func.regs()[*reg].file;
            for other in uniform.iter().filter(is_other) {
                self.nodes[*reg].push(node(*other));
                self.nodes[*other].push(node(*reg));
            }
        }
    }

    /// Gives what is live across calls places that functions leave as they are; a barrier that is not has another one.
    fn find_kept(&mut self) {
        let node = |kind, place, words| {
            let target = Target::Place(place, words);
            Node { kind, words: None, target, weight: 1 }
        };
        let func = self.func;
        for (reg, info) in func.regs().iter() {
            match (info.file, self.kept.contains(&reg)) {
                (RegFile::B, true) => self.nodes[reg].push(node(Kind::BelowPoint, KEPT, 1)),
                (RegFile::B, false) => self.nodes[reg].push(node(Kind::Point, KEPT, (BARRIERS - KEPT) as u8)),
                (RegFile::R, true) => {
                    let behind = (PLACES as u16 - SAVED.end).min(u8::MAX.into()) as u8;
                    self.nodes[reg].push(node(Kind::BelowPoint, SAVED.start, 1));
                    self.nodes[reg].push(node(Kind::Point, SAVED.end, behind));
                }
                _ => {}
            }
        }
        for (reg, first) in self.below.iter().filter(|(_, first)| **first > 0) {
            self.nodes[*reg].push(node(Kind::BelowPoint, *first, 1));
        }
        // The stack pointer is that of the caller.
        if sequences::is(func) {
            for (reg, _) in func.regs().iter().filter(|(_, info)| info.file == RegFile::R) {
                self.nodes[reg].push(node(Kind::Point, STACK, 1));
            }
        }
    }

    /// Holds predicates that are kept as bits of a register in the places of these numbers.
    fn find_ports(&mut self, spills: &Spills) {
        for (reg, port) in spills.ports() {
            let target = Target::Place(port.into(), 1);
            self.nodes[reg].push(Node { kind: Kind::ExcludeAllBut, words: None, target, weight: MUST });
        }
    }

    /// Soft constraints: what banks, phis, groups and ranges would like.
    fn find_soft(&mut self, cfg: &Cfg) {
        let func = self.func;
        let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
        let mut range: SecondaryMap<Reg, Option<(u32, u32)>> = SecondaryMap::new();
        let insts = cfg.rpo().iter().flat_map(|block| func.block_insts(*block));
        for (at, inst) in (0u32..).zip(insts.clone()) {
            func.dsts(inst).iter().filter_map(|dst| dst.reg()).for_each(|reg| definitions[reg] += 1);
            for reg in func.dsts(inst).iter().chain(func.inputs(inst)).filter_map(|operand| operand.reg()) {
                let (first, _) = range[reg].unwrap_or((at, at));
                range[reg] = Some((first, at));
            }
        }
        for inst in insts {
            self.of_banks(inst);
            if let Some((to, from)) = copied(func, inst) {
                self.of_copy(to, from, &definitions);
            }
        }
        for (reg, info) in func.regs().iter().filter(|(_, info)| info.file == RegFile::R) {
            let length = range[reg].map_or(0, |(first, last)| last - first);
            if length >= LONG && info.words == 1 {
                let weight = length.min(1 << 16) as i32;
                self.soft(reg, Kind::Range, Target::Place(0, 1), weight);
            }
        }
    }

    fn soft(&mut self, reg: Reg, kind: Kind, target: Target, weight: i32) {
        let node = Node { kind, words: None, target, weight };
        // Equal ones are near: they come from one instruction, or from a few.
        if !self.nodes[reg].iter().rev().take(NEAR).any(|known| *known == node) {
            self.nodes[reg].push(node);
        }
    }

    /// Three sources of one bank are read in two cycles, so the third one wants the other bank than each of the others.
    fn of_banks(&mut self, inst: Inst) {
        let func = self.func;
        let is_word = |reg: &Reg| func.regs()[*reg] == RegInfo::words(1);
        let mut regs: SmallVec<[Reg; 4]> = SmallVec::new();
        for reg in func.inputs(inst).iter().filter_map(|src| src.reg()).filter(is_word) {
            if !regs.contains(&reg) {
                regs.push(reg);
            }
        }
        if let [first, second, third] = regs[..] {
            for other in [first, second] {
                self.soft(third, Kind::OddParity, Target::Register(other.as_u32()), BANKS);
                self.soft(other, Kind::OddParity, Target::Register(third.as_u32()), BANKS);
            }
        }
    }

    /// A word that is copied from or to another one: where it cannot be in the same place, it can be in one from which
    /// words of groups are copied without being in each other's way.
    fn of_copy(&mut self, to: Operand, from: Operand, definitions: &SecondaryMap<Reg, u32>) {
        let regs = self.func.regs();
        let word = |operand: Operand| match operand {
            Operand::Word(_, word) => word,
            _ => 0,
        };
        let (Some(a), Some(b)) = (to.reg(), from.reg()) else { return };
        // Several definitions: the variable of a phi, which each block before it copies to.
        let is_joined = definitions[a] > 1;
        for (own, other, at) in [(a, b, word(from)), (b, a, word(to))] {
            if regs[own].words > 1 {
                continue;
            }
            let of = Target::Register(other.as_u32());
            if is_joined && at % 2 == 0 {
                self.soft(own, Kind::PhiRelated, of, PHIS);
            }
            match (regs[other].words, at % 2) {
                (1, _) => {}
                (_, 0) => self.soft(own, Kind::ParityGroup, Target::Place(0, 1), GROUPS),
                _ => self.soft(own, Kind::OddParity, Target::Place(0, 1), GROUPS),
            }
            if regs[other].words == 4 && at % 2 == 0 {
                self.soft(own, Kind::Extended, of, GROUPS);
            }
        }
    }

    fn find_costs(&mut self, cfg: &Cfg, spills: &Spills) {
        let nest = LoopNest::compute(cfg);
        for block in cfg.rpo() {
            let weight = 10f32.powi(nest.depth(cfg, *block).min(8) as i32);
            for inst in self.func.block_insts(*block) {
                let guard = self.func.inst(inst).guard.map(Guard::reg);
                let named = self.func.dsts(inst).iter().chain(self.func.inputs(inst));
                for reg in named.filter_map(|operand| operand.reg()).chain(guard) {
                    self.costs[reg] += weight;
                }
            }
        }
        for reg in self.func.regs().keys() {
            if spills.is_own(reg) || self.fixed.get(reg).is_some() || self.bundle_of[reg].is_some() {
                self.costs[reg] = f32::INFINITY;
            }
        }
        // A value that is made again costs an instruction of a few cycles, and no access to memory.
        for reg in spill::repeatable(self.func) {
            self.costs[reg] *= AGAIN;
        }
    }
}
