//! The choice of places: registers in turn, each by its histograms, in rounds of soft constraints.
//!
//! The round without soft constraints packs: each register takes the lowest place that is free, or the one that a copy
//! wishes for, and the highest that is taken says how many registers are enough. Rounds with soft constraints spread
//! registers over all of these: what is made next then seldom waits for who still reads what was there before. The
//! first of them counts all soft nodes, each further one those alone whose weight reaches a threshold that rises
//! (L:447, `SoftConstraintSkip`), until one has a place for every register; the packed round remains otherwise.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Reg, RegFile};
use rustc_hash::FxHashSet;

use super::Limits;
use super::SAVED;
use super::candidates::Candidates;
use super::constraint::{HARD, Histograms, Kind, MUST, Node, Round, Target, refuses};
use crate::select::Bundle;
use crate::select::convergence::BARRIERS;

/// The weight of a copy that goes where both of its registers have one place.
const COPY: i64 = 8;
/// The weight of one that is copied on, where what is between has no place yet.
const CHAIN: i64 = 4;
/// Bundles of this many words and more begin at a multiple of it.
const BUNDLE: u16 = 8;
/// The threshold that no soft node reaches.
const NONE: Round = Round { threshold: MUST };
/// The weight of the heaviest soft nodes that count in the first histogram.
const HEAVIEST: i32 = 3;

pub(super) struct Allocator<'f> {
    pub func: &'f Function,
    pub limits: Limits,
    /// By register: its constraints.
    pub nodes: SecondaryMap<Reg, Vec<Node>>,
    /// By register: copies between words, own, other register, its word.
    pub copies: SecondaryMap<Reg, Vec<(u8, Reg, u8)>>,
    /// Two registers, the lower first, of which one gets a word of the other.
    pub related: FxHashSet<(Reg, Reg)>,
    /// Those that are live across a call: their places are some that functions leave as they are.
    pub kept: FxHashSet<Reg>,
    /// Those that are live across a call of a sequence, each with the first place that it leaves as it is.
    pub below: &'f BTreeMap<Reg, u16>,
    pub place: SecondaryMap<Reg, Option<u16>>,
    /// Those that have a place whatever is chosen.
    pub fixed: &'f Candidates,
    /// In the order of definitions.
    pub order: Vec<Reg>,
    pub costs: SecondaryMap<Reg, f32>,
    pub spilled: Vec<Reg>,
    /// Registers whose places are side by side, and by register: which ones it belongs to.
    pub bundles: &'f [Bundle],
    pub bundle_of: SecondaryMap<Reg, Option<usize>>,
    /// Whether such registers have no places: they are not spilled.
    pub is_stuck: bool,
    pub round: Round,
    /// Whether a general register gets a place behind the one before, `next`, rather than the lowest.
    pub is_spread: bool,
    pub next: u16,
}

impl Allocator<'_> {
    /// How many places a file has.
    fn end(&self, file: RegFile) -> u16 {
        match file {
            RegFile::R => self.limits.general,
            RegFile::UR => self.limits.uniform,
            RegFile::P | RegFile::UP => 7,
            RegFile::B => BARRIERS,
        }
    }

    /// Gives registers the lowest places, without soft constraints.
    pub fn pack(&mut self) {
        self.round = NONE;
        self.run();
    }

    fn run(&mut self) {
        let fixed = self.order.iter().filter_map(|reg| Some((*reg, self.fixed.get(*reg)?)));
        fixed.for_each(|(reg, place)| self.place[reg] = Some(place));
        let mut counts = Histograms::new();
        let mut is_spilled: FxHashSet<Reg> = self.spilled.iter().copied().collect();
        let mut work: std::collections::VecDeque<Reg> = self.order.iter().copied().collect();
        while let Some(reg) = work.pop_front() {
            if self.place[reg].is_some() || is_spilled.contains(&reg) {
                continue;
            }
            let info = self.func.regs()[reg];
            if let Some(bundle) = self.bundle_of[reg] {
                self.is_stuck |= !self.place_bundle(bundle, &mut counts);
                if self.is_stuck {
                    return;
                }
                continue;
            }
            self.fill(reg, &mut counts);
            let from = if self.is_spread && info.file == RegFile::R { self.next } else { 0 };
            if let Some(place) = counts.best(info.words, self.end(info.file), from) {
                self.place[reg] = Some(place);
                self.next = place + u16::from(info.words);
                continue;
            }
            let victim = self.victim(reg);
            self.place[victim] = None;
            self.spilled.push(victim);
            is_spilled.insert(victim);
            if victim != reg {
                work.push_front(reg);
            }
        }
    }

    /// Gives the registers of a bundle places side by side, those that all of them want most; whether there are any.
    fn place_bundle(&mut self, bundle: usize, counts: &mut Histograms) -> bool {
        let regs = &self.bundles[bundle];
        let size = regs.iter().map(|reg| u16::from(self.func.regs()[*reg].words)).sum::<u16>();
        let starts = (0..).step_by(size.next_power_of_two().min(BUNDLE).into());
        let starts: Vec<u16> = starts.take_while(|start| start + size <= self.limits.general).collect();
        let mut sums = vec![0i64; starts.len()];
        let mut offset = 0;
        for reg in regs {
            self.fill(*reg, counts);
            let words = self.func.regs()[*reg].words;
            for (sum, start) in sums.iter_mut().zip(&starts) {
                *sum = sum.saturating_add(counts.at(start + offset, words).unwrap_or(HARD)).min(HARD);
            }
            offset += u16::from(words);
        }
        let from = if self.is_spread { self.next } else { 0 };
        let free = sums.iter().zip(&starts).filter(|(sum, _)| **sum < HARD);
        let Some((_, start)) = free.min_by_key(|(sum, start)| (**sum, **start < from, **start)) else { return false };
        let mut next = *start;
        for reg in regs {
            self.place[*reg] = Some(next);
            next += u16::from(self.func.regs()[*reg].words);
        }
        self.next = next;
        true
    }

    /// Places over all of so many general registers, as far as that leads to no others than those.
    pub fn spread(mut self, general: u16) -> SecondaryMap<Reg, Option<u16>> {
        let packed = std::mem::take(&mut self.place);
        self.limits.general = general;
        self.is_spread = true;
        for round in rounds(self.limits.soft_skip) {
            (self.round, self.next) = (round, 0);
            self.run();
            if self.spilled.is_empty() && !self.is_stuck {
                return self.place;
            }
            self.is_stuck = false;
            self.place = SecondaryMap::new();
            self.spilled.clear();
        }
        packed
    }

    /// Fills the histograms from a register's list.
    fn fill(&self, reg: Reg, counts: &mut Histograms) {
        counts.clear();
        for node in self.nodes[reg].iter().filter(|node| self.round.counts(node.kind, node.weight)) {
            let (at, words) = match node.target {
                Target::Place(at, words) => (at, words),
                Target::Register(number) => {
                    let other = Reg::from_u32(number);
                    let Some(at) = self.place[other] else { continue };
                    (at, self.func.regs()[other].words)
                }
            };
            let weight = node.count();
            if let Some((own, other)) = node.words {
                // Their words meet where this register begins so far from the other one.
                let start = (at + u16::from(other)).checked_sub(own.into());
                start.into_iter().for_each(|start| counts.count_start(start, weight));
                continue;
            }
            counts.count(node.kind, at, words, weight, refuses).expect("the builder makes no reserved types");
        }
        let mut wish = |at: u16, word: u8, own: u8, weight: i64| {
            let wanted = i32::from(at) + i32::from(word) - i32::from(own);
            if let Ok(wanted) = u16::try_from(wanted) {
                let known = counts.count(Kind::ExcludeAllBut, wanted, 1, weight, refuses);
                known.expect("the type is none of the reserved ones");
            }
        };
        for (own, other, word) in &self.copies[reg] {
            if let Some(at) = self.place[*other] {
                wish(at, *word, *own, COPY);
                continue;
            }
            // What lies between may come to the place of either.
            let chain = self.copies[*other].iter().filter(|(at, next, _)| at == word && *next != reg);
            for (_, next, word) in chain.take(CHAINS) {
                if let Some(at) = self.place[*next] {
                    wish(at, *word, *own, CHAIN);
                }
            }
        }
    }

    /// Whether a register is live across some call, and has few places.
    pub fn is_kept(&self, reg: Reg) -> bool {
        self.kept.contains(&reg) || self.below.get(&reg).is_some_and(|first| *first > 0)
    }

    /// The places that functions leave as they are and this one uses.
    pub fn used(&self) -> Vec<u16> {
        let taken = self.func.regs().iter().filter(|(_, info)| info.file == RegFile::R);
        let taken: Vec<(u16, u16)> =
            taken.filter_map(|(reg, info)| Some((self.place[reg]?, info.words.into()))).collect();
        SAVED.filter(|place| taken.iter().any(|(at, words)| (*at..at + words).contains(place))).collect()
    }

    /// The register that is cheapest to spill where another one finds no place.
    fn victim(&self, reg: Reg) -> Reg {
        let wide = self.func.regs()[reg].words;
        let degree = |reg: Reg| 1.0 + self.nodes[reg].len() as f32;
        let cost = |reg: Reg| self.costs[reg] / degree(reg);
        let hard = self.nodes[reg].iter().filter(|node| !node.kind.row().soft);
        let others = hard.filter_map(|node| match node.target {
            Target::Register(number) => Some(Reg::from_u32(number)),
            Target::Place(..) => None,
        });
        let has_room = |other: &Reg| self.place[*other].is_some() && self.func.regs()[*other].words >= wide;
        let is_kept = self.is_kept(reg);
        // One that must be in one place has room there alone.
        let port = self.nodes[reg].iter().find_map(|node| match node.target {
            Target::Place(at, _) if (node.kind, node.weight) == (Kind::ExcludeAllBut, MUST) => Some(at),
            _ => None,
        });
        let is_there = |other: &Reg| port.is_none() || self.place[*other] == port;
        let others = others.filter(|other| has_room(other) && is_there(other));
        let candidates = others.filter(|other| !is_kept || self.is_kept(*other)).chain([reg]);
        candidates.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(reg)
    }
}

/// The copies behind a copy that are looked at.
const CHAINS: usize = 8;

/// The rounds with soft constraints, whose threshold rises by so much.
fn rounds(skip: Option<u32>) -> Vec<Round> {
    match skip.map(|skip| i32::try_from(skip).unwrap_or(MUST)) {
        // Nothing is passed over, or everything.
        Some(0) => vec![Round::FIRST],
        None => vec![NONE],
        Some(skip) => {
            let thresholds = std::iter::successors(Some(0i32), move |last| last.checked_add(skip));
            let soft = thresholds.take_while(|threshold| *threshold <= HEAVIEST);
            soft.map(|threshold| Round { threshold }).chain([NONE]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_pass_over_more_each_time() {
        let thresholds = |skip| rounds(skip).iter().map(|round| round.threshold).collect::<Vec<_>>();
        assert_eq!(thresholds(Some(0)), [0]);
        assert_eq!(thresholds(Some(1)), [0, 1, 2, 3, MUST]);
        assert_eq!(thresholds(Some(2)), [0, 2, MUST]);
        assert_eq!(thresholds(Some(u32::MAX)), [0, MUST]);
        assert_eq!(thresholds(None), [MUST]);
    }
}
