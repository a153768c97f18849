//! Register allocation, after the fat-point allocator of ptxas (`spec/liveness-and-dce.txt`, L:427-481).
//!
//! Registers are taken in the order in which they are defined, block after block, so that what is defined together ends
//! up together; each takes the best place that its constraints leave ([`constraint`]). Files are allocated apart:
//! general registers, predicates, uniform registers and predicates, convergence barriers. Where no place is left, a
//! register that costs least is spilled, and everything begins anew with what that changed.
//!
//! **Invariant:** two registers of a file that are live together, or of which one is written while the other is live,
//! share no place, unless the one is a copy of the other. Products that run beside the warp share none of a factor with
//! the sum.

pub mod constraint;
pub(crate) mod live;
mod spill;

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Flags;
use oriole_ir::{Function, FunctionKind, Guard, Inst, InstHead, Level, Operand, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::{Cfg, LoopNest};

use crate::select::convergence::{BARRIERS, KEPT};
use crate::select::{Bundle, Places, STACK, Selected, is_group_product};
use constraint::{HARD, Histograms, Kind, Node, PLACES, Target};
use live::{Access, Sparse, Words};
use rustc_hash::FxHashSet;
use spill::Spills;

/// How many registers of each file code may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// General registers.
    pub general: u16,
    /// Uniform ones.
    pub uniform: u16,
}

/// A file that has too few registers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{function}: {} registers are too few, whatever is kept in memory; raise the limit", .limit)]
pub struct AllocError {
    /// The function's name.
    pub function: String,
    /// How many general registers it may have.
    pub limit: u16,
}

/// A function with registers of the machine.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The function, in physical form.
    pub func: Function,
    /// General registers that it uses.
    pub registers: u16,
    /// Bytes of its frame, with what is spilled.
    pub frame: u32,
    /// Registers that were spilled to memory.
    pub spilled: usize,
    /// By instruction: which one of the function before it was; none that was added.
    pub origins: SecondaryMap<Inst, Option<Inst>>,
}

/// Bundles of this many words and more begin at a multiple of it.
const BUNDLE: u16 = 8;

/// Rounds of spilling before the allocator gives up.
const ROUNDS: usize = 24;

/// Gives a function of the machine in virtual form registers of the machine.
///
/// # Errors
///
/// If the file of general registers is too small for a single instruction.
pub fn allocate(selected: Selected, places: &Places, limits: Limits) -> Result<Allocation, AllocError> {
    let Selected { mut func, stack, fixed, results, bundles, patches } = selected;
    let mut spills = Spills::new(places, stack);
    let first_added = func.layout_insts().map(|inst| inst.as_u32() + 1).max().unwrap_or(0);
    for _ in 0..ROUNDS {
        let cfg = Cfg::new(&func);
        let mut across = across_calls(&func, &cfg, stack);
        across.retain(|reg| !results.iter().any(|(own, _)| own == reg));
        // Barriers and general registers have places that functions leave as they are.
        let can_be_kept = |reg: &mut Reg| matches!(func.regs()[*reg].file, RegFile::B | RegFile::R);
        let kept: FxHashSet<Reg> = across.extract_if(.., can_be_kept).collect();
        if !across.is_empty() {
            spills.insert(&mut func, &across);
            continue;
        }
        let mut allocator = Allocator::new(&func, &cfg, limits, &spills, kept, &bundles);
        for (reg, place) in &fixed {
            allocator.place[*reg] = Some(*place);
            allocator.costs[*reg] = f32::INFINITY;
        }
        allocator.run();
        if allocator.is_stuck {
            break;
        }
        if allocator.spilled.is_empty() {
            let registers = general(&func, &allocator.place);
            let is_called = func.kind == FunctionKind::Device;
            let used = if is_called { allocator.used() } else { Vec::new() };
            // Over registers that a caller keeps something in it would be spread for a price.
            let is_free = !is_called || registers <= SAVED.start;
            let place = if is_free { allocator.spread(registers, &fixed) } else { allocator.place };
            let saved: Vec<(u16, u64)> = used.into_iter().map(|place| (place, spills.slot())).collect();
            for patch in &patches {
                patch.apply(&mut func, spills.frame());
            }
            let (mut made, mut origins) = physical(&func, &place);
            save(&mut made, &saved);
            let old = |origin: Option<Inst>| origin.filter(|inst| inst.as_u32() < first_added);
            origins.values_mut().for_each(|origin| *origin = old(*origin));
            let (frame, spilled) = (spills.frame(), spills.count());
            return Ok(Allocation { func: made, registers, frame, spilled, origins });
        }
        let spilled = allocator.spilled;
        if spilled.iter().any(|reg| spills.is_own(*reg)) {
            break;
        }
        spills.insert(&mut func, &spilled);
    }
    Err(AllocError { function: func.name, limit: limits.general })
}

/// The registers that are live across a call, but for the stack pointer: a function that is called may use them all.
fn across_calls(func: &Function, cfg: &Cfg, stack: Option<Reg>) -> Vec<Reg> {
    if !func.layout_insts().any(|inst| func.is_machine_call(inst)) {
        return Vec::new();
    }
    let words = Words::of(func, cfg);
    let mut found = Vec::new();
    words.backward(func, cfg, |inst, live| {
        if func.is_machine_call(inst) {
            found.extend(live.iter().map(|word| words.reg(word)));
        }
    });
    found.retain(|reg| Some(*reg) != stack);
    found.sort_unstable();
    found.dedup();
    found
}

/// The general registers that a function that is called leaves as they are. Those that ptxas keeps, but for the place
/// to return to and what lies below.
pub const SAVED: std::ops::Range<u16> = 22..32;

/// Keeps what a caller has in registers in the frame, each at its offset, while the function is at work.
fn save(func: &mut Function, saved: &[(u16, u64)]) {
    let stack = Operand::Reg(word(STACK));
    let moves_stack = |func: &Function, inst: &Inst| func.dsts(*inst).first() == Some(&stack);
    let entry = func.entry();
    let first = func.block_insts(entry).find(|inst| moves_stack(func, inst));
    for (place, offset) in saved {
        let (offset, kept) = (func.imm(*offset), Operand::Reg(word(*place)));
        let store = spill::make(func, "STL", None, &[], &[stack, offset, kept]);
        match first {
            Some(first) => func.insert_after(first, store),
            None => func.prepend_inst(entry, store),
        }
        for block in func.layout().to_vec() {
            let is_return = |inst: &Inst| func.mnemonic(*inst).is_some_and(|name| name.starts_with("RET"));
            let Some(last) = func.last_inst(block).filter(is_return) else { continue };
            let leaves = func.block_insts(block).rfind(|inst| moves_stack(func, inst)).unwrap_or(last);
            let load = spill::make(func, "LDL", None, &[kept], &[stack, offset]);
            func.insert_before(leaves, load);
        }
    }
}

/// A general register of the machine.
fn word(number: u16) -> Reg {
    PhysicalReg { file: RegFile::R, number: number as u8, words: 1 }.reg().expect("the file has it")
}

/// How many general registers are used.
fn general(func: &Function, place: &SecondaryMap<Reg, Option<u16>>) -> u16 {
    let ends = func.regs().iter().filter(|(_, info)| info.file == RegFile::R);
    ends.filter_map(|(reg, info)| Some(place[reg]? + u16::from(info.words))).max().unwrap_or(0)
}

struct Allocator<'f> {
    func: &'f Function,
    limits: Limits,
    /// By register: its constraints.
    nodes: SecondaryMap<Reg, Vec<Node>>,
    /// By register: copies between words, own, other register, its word.
    copies: SecondaryMap<Reg, Vec<(u8, Reg, u8)>>,
    /// Two registers, the lower first, of which one gets a word of the other.
    related: FxHashSet<(Reg, Reg)>,
    /// Those that are live across a call: their places are some that functions leave as they are.
    kept: FxHashSet<Reg>,
    place: SecondaryMap<Reg, Option<u16>>,
    /// In the order of definitions.
    order: Vec<Reg>,
    costs: SecondaryMap<Reg, f32>,
    spilled: Vec<Reg>,
    /// Registers whose places are side by side, and by register: which ones it belongs to.
    bundles: &'f [Bundle],
    bundle_of: SecondaryMap<Reg, Option<usize>>,
    /// Whether such registers have no places: they are not spilled.
    is_stuck: bool,
    /// Whether a general register gets a place behind the one before, `next`, rather than the lowest.
    is_spread: bool,
    next: u16,
}

impl<'f> Allocator<'f> {
    fn new(
        func: &'f Function,
        cfg: &Cfg,
        limits: Limits,
        spills: &Spills,
        kept: FxHashSet<Reg>,
        bundles: &'f [Bundle],
    ) -> Allocator<'f> {
        let words = Words::of(func, cfg);
        let mut allocator = Allocator {
            func,
            limits,
            nodes: SecondaryMap::new(),
            copies: SecondaryMap::new(),
            related: FxHashSet::default(),
            kept,
            place: SecondaryMap::new(),
            order: Vec::new(),
            costs: SecondaryMap::new(),
            spilled: Vec::new(),
            bundles,
            bundle_of: SecondaryMap::new(),
            is_stuck: false,
            is_spread: false,
            next: 0,
        };
        for (at, reg) in bundles.iter().enumerate().flat_map(|(at, bundle)| bundle.iter().map(move |reg| (at, reg))) {
            allocator.bundle_of[*reg] = Some(at);
        }
        allocator.find_order(cfg);
        allocator.find_related();
        allocator.find_constraints(cfg, &words);
        allocator.find_kept();
        allocator.find_costs(cfg, spills);
        allocator
    }

    fn find_order(&mut self, cfg: &Cfg) {
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
    }

    /// Values that are live across calls come first, since they have few places. Then come bundles and wide registers:
    /// they need places side by side, and what is copied into their words goes there.
    fn find_related(&mut self) {
        let func = self.func;
        self.order.sort_by_key(|reg| {
            let size = self.bundle_of[*reg].map_or(0, |at| self.bundles[at].len());
            (!self.kept.contains(reg), std::cmp::Reverse((size, func.regs()[*reg].words)))
        });
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
            let number = |node: &Node| match node.target {
                Target::Register(number) => number,
                Target::Place(at, _) => at.into(),
            };
            nodes.sort_unstable_by_key(|node| (number(node), node.words));
            nodes.dedup();
        }
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

    /// Two words that must not be in one place. Whole registers stay apart for it, unless one is copied into the other.
    fn conflict(&mut self, words: &Words, first: u32, second: u32) {
        let (a, b) = (words.reg(first), words.reg(second));
        if self.func.regs()[a].file != self.func.regs()[b].file {
            return;
        }
        let is_related = self.related.contains(&(a.min(b), a.max(b)));
        let of = |word: u32, reg: Reg| (word - words.of_reg(reg).start) as u8;
        let (own, other) = (of(first, a), of(second, b));
        let node = |reg: Reg, words: (u8, u8)| {
            let target = Target::Register(reg.as_u32());
            Node { kind: Kind::Point, words: is_related.then_some(words), target, weight: 1 }
        };
        self.nodes[a].push(node(b, (own, other)));
        self.nodes[b].push(node(a, (other, own)));
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
    }

    /// The places that functions leave as they are and this one uses.
    fn used(&self) -> Vec<u16> {
        let taken = self.func.regs().iter().filter(|(_, info)| info.file == RegFile::R);
        let taken: Vec<(u16, u16)> =
            taken.filter_map(|(reg, info)| Some((self.place[reg]?, info.words.into()))).collect();
        SAVED.filter(|place| taken.iter().any(|(at, words)| (*at..at + words).contains(place))).collect()
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
        for reg in self.func.regs().keys().filter(|reg| spills.is_own(*reg) || self.bundle_of[*reg].is_some()) {
            self.costs[reg] = f32::INFINITY;
        }
    }

    /// How many places a file has.
    fn end(&self, file: RegFile) -> u16 {
        match file {
            RegFile::R => self.limits.general,
            RegFile::UR => self.limits.uniform,
            RegFile::P | RegFile::UP => 7,
            RegFile::B => BARRIERS,
        }
    }

    fn run(&mut self) {
        let mut counts = Histograms::new();
        let mut work: std::collections::VecDeque<Reg> = self.order.iter().copied().collect();
        while let Some(reg) = work.pop_front() {
            if self.spilled.contains(&reg) || self.place[reg].is_some() {
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

    /// Places over all of so many general registers, as far as that leads to no others than those: what is made next
    /// then seldom waits for who still reads what was there before.
    fn spread(mut self, general: u16, fixed: &[(Reg, u16)]) -> SecondaryMap<Reg, Option<u16>> {
        let packed = std::mem::take(&mut self.place);
        self.limits.general = general;
        self.is_spread = true;
        fixed.iter().for_each(|(reg, place)| self.place[*reg] = Some(*place));
        self.run();
        if self.spilled.is_empty() { self.place } else { packed }
    }

    /// Fills the histograms from a register's list.
    fn fill(&self, reg: Reg, counts: &mut Histograms) {
        counts.clear();
        for node in &self.nodes[reg] {
            let (at, words) = match node.target {
                Target::Place(at, words) => (at, words),
                Target::Register(number) => {
                    let other = Reg::from_u32(number);
                    let Some(at) = self.place[other] else { continue };
                    (at, self.func.regs()[other].words)
                }
            };
            let weight = if node.kind.is_hard() { HARD } else { node.weight.into() };
            if let Some((own, other)) = node.words {
                // Their words meet where this register begins so far from the other one.
                let start = (at + u16::from(other)).checked_sub(own.into());
                start.into_iter().for_each(|start| counts.count_start(start, weight));
                continue;
            }
            counts.count(node.kind, at, words, weight);
        }
        for (own, other, word) in &self.copies[reg] {
            let info = self.func.regs()[*other];
            match self.place[*other] {
                Some(at) => {
                    let wanted = i32::from(at) + i32::from(*word) - i32::from(*own);
                    if let Ok(wanted) = u16::try_from(wanted) {
                        counts.count(Kind::ExcludeAllBut, wanted, 1, 4);
                    }
                }
                // A word of a pair that comes later wants a place of its parity.
                None if info.words > 1 && self.func.regs()[reg].words == 1 => {
                    counts.count(Kind::EvenParity, (*word).into(), 1, 1);
                }
                None => {}
            }
        }
    }

    /// The register that is cheapest to spill where another one finds no place.
    fn victim(&self, reg: Reg) -> Reg {
        let wide = self.func.regs()[reg].words;
        let degree = |reg: Reg| 1.0 + self.nodes[reg].len() as f32;
        let cost = |reg: Reg| self.costs[reg] / degree(reg);
        let others = self.nodes[reg].iter().filter_map(|node| match node.target {
            Target::Register(number) => Some(Reg::from_u32(number)),
            Target::Place(..) => None,
        });
        let has_room = |other: &Reg| self.place[*other].is_some() && self.func.regs()[*other].words >= wide;
        let is_kept = self.kept.contains(&reg);
        let candidates = others.filter(|other| has_room(other) && (!is_kept || self.kept.contains(other))).chain([reg]);
        candidates.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(reg)
    }
}

/// A copy of a word: where to, and where from.
pub(crate) fn copied(func: &Function, inst: Inst) -> Option<(Operand, Operand)> {
    let data = func.inst(inst);
    let is_move = data.guard.is_none() && data.machine_row().is_some_and(|row| row.copies);
    let ([to], Some(from)) = (func.dsts(inst), func.srcs(inst).first()) else { return None };
    let is_word = |operand: Operand| {
        func.operand_info(operand).is_some_and(|info| info.words == 1 && info.file == RegFile::R)
            && operand.modifiers().is_none()
            && operand.reg().is_some()
    };
    (is_move && is_word(*to) && is_word(*from)).then_some((*to, *from))
}

/// The function with places for registers, and which instruction each one was. Copies of a register to itself go.
fn physical(func: &Function, place: &SecondaryMap<Reg, Option<u16>>) -> (Function, SecondaryMap<Inst, Option<Inst>>) {
    let mut origins: SecondaryMap<Inst, Option<Inst>> = SecondaryMap::new();
    let mut made = Function::new(func.name.as_str(), func.kind);
    (made.linkage, made.level) = (func.linkage, Level::Machine);
    made.directives.clone_from(&func.directives);
    made.use_physical_registers();
    for _ in 0..func.blocks().len() {
        made.create_block();
    }
    made.set_layout(func.layout().to_vec());
    let named = |reg: Reg, word: Option<u8>| {
        let info = func.regs()[reg];
        let at = place[reg].unwrap_or(0) + u16::from(word.unwrap_or(0));
        let words = if word.is_some() { 1 } else { info.words };
        PhysicalReg { file: info.file, number: at as u8, words }.reg().expect("places are those of the file")
    };
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            let data = func.inst(inst);
            let mut map = |operand: &Operand| match *operand {
                Operand::Reg(reg) => Operand::Reg(named(reg, None)),
                Operand::Word(reg, word) => Operand::Reg(named(reg, Some(word))),
                Operand::Modified { reg, word, modifiers } => {
                    Operand::Modified { reg: named(reg, word), word: None, modifiers }
                }
                Operand::Name(_) => made.adopt(func, *operand),
                other => made.bind(func.free(other)),
            };
            let dsts: Vec<Operand> = func.dsts(inst).iter().map(&mut map).collect();
            let srcs: Vec<Operand> = func.srcs(inst).iter().map(&mut map).collect();
            let is_copy = data.is(Flags::MACHINE) && data.machine_row().is_some_and(|row| row.copies);
            if is_copy && dsts.first() == srcs.first() {
                continue;
            }
            let guard = data.guard.map(|guard| guard.with_reg(named(guard.reg(), None)));
            let head = InstHead { guard, ..data.head() };
            let new = made.new_inst(head, &dsts, &srcs, &[]);
            made.append_inst(*block, new);
            origins[new] = Some(inst);
        }
    }
    (made, origins)
}
