//! Which registers can be one outside SSA form: those that phis, copies and guarded definitions join, as long as none
//! of them is written while another one is still needed.
//!
//! 1. A phi's destination and its sources, a guarded destination and its `else`, both sides of a copy, and the sum
//!    of a warpgroup's product and what it is added to have an affinity, which weighs ten times as much for each
//!    loop around it. All that affinities join is one class.
//! 2. A walk over the members of a class in the order of dominance finds those that interfere, and takes the one with
//!    less weight out of the class (Budimlić et al., "Fast Copy Coalescing and Live-Range Identification", 2002). Two
//!    registers of the same value do not interfere (Boissinot et al., "Revisiting Out-of-SSA Translation", 2009).
//!    What left for a member that left later itself comes back, and members that have no affinity with another one any
//!    more leave, a few times.
//! 3. Those that were taken out are joined among themselves in the same way, a few times.
//!
//! Uniform registers stay as they are: a warp has one of each, whichever of its lanes executes.
//!
//! Cost: a sort of the registers that have affinities, over the liveness of all.

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::destruct::phis;
use crate::analysis::{Cfg, Dominators, Liveness, LoopNest};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};

/// How often registers that were taken out of their classes are joined anew.
const ROUNDS: usize = 4;
/// How often members are taken out of a class, and come back.
const PASSES: usize = 4;
/// Members above one that are looked at; beyond these it is taken out.
const MOST_ABOVE: usize = 64;
/// Loops around an affinity that count.
const MOST_LOOPS: u32 = 8;

/// By register: the one that it becomes; `None` for itself.
pub(super) struct Classes(SecondaryMap<Reg, Option<Reg>>);

impl Classes {
    /// The classes of a function in SSA form. The copies in `apart` join nothing.
    pub(super) fn new(func: &Function, cfg: &Cfg, liveness: &Liveness, apart: &FxHashSet<Inst>) -> Classes {
        let mut classes = Classes(SecondaryMap::new());
        let dominators = Dominators::new(cfg);
        let candidates = Candidates::new(func, cfg, &dominators, apart);
        if !candidates.list.is_empty() {
            Joining::new(func, cfg, &dominators, liveness, candidates).run(&mut classes);
        }
        classes
    }

    /// The register that takes the place of this one.
    pub(super) fn of(&self, reg: Reg) -> Reg {
        self.0[reg].unwrap_or(reg)
    }

    /// The same for what an operand reads.
    pub(super) fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Reg(reg) => Operand::Reg(self.of(reg)),
            Operand::Word(reg, word) => Operand::Word(self.of(reg), word),
            other => other,
        }
    }
}

/// A register that has affinities.
struct Candidate {
    reg: Reg,
    /// Where it is defined: the block, when the walk over the dominator tree comes to it, and the instruction's place
    /// in it from 1 on. Phis are all at place 0.
    block: Block,
    entered: u32,
    place: u32,
    /// What it keeps where the guard is false. Such a destination is written before its instruction reads anything.
    keeps: Option<Operand>,
    /// What its affinities weigh together.
    weight: u64,
    /// The candidate that it is a copy of, in the end; itself where it is none.
    value: u32,
}

/// The registers that have affinities, and these.
struct Candidates {
    list: Vec<Candidate>,
    /// By register: its place in the list, from 1 on.
    number: SecondaryMap<Reg, u32>,
    affinities: Vec<[u32; 2]>,
}

impl Candidates {
    fn new(func: &Function, cfg: &Cfg, dominators: &Dominators, apart: &FxHashSet<Inst>) -> Candidates {
        let loops = LoopNest::compute(cfg);
        let (mut pairs, mut of_phis) = (Vec::new(), Vec::new());
        for block in cfg.rpo() {
            for inst in func.block_insts(*block).filter(|inst| !apart.contains(inst)) {
                let list = if func.inst(inst).opcode == Opcode::Phi { &mut of_phis } else { &mut pairs };
                joined(func, inst, *block, |[dst, src], at| {
                    let weight = 10u64.pow(loops.depth(cfg, at).min(MOST_LOOPS));
                    list.push(([dst, src], weight));
                });
            }
            without_swaps(func, *block, &mut of_phis);
            one_phi_each(&mut of_phis);
            pairs.append(&mut of_phis);
        }
        let mut candidates =
            Candidates { list: Vec::new(), number: SecondaryMap::new(), affinities: Vec::with_capacity(pairs.len()) };
        if pairs.is_empty() {
            return candidates;
        }
        // A register is a candidate once its definition is found; what nothing reachable defines is none.
        pairs.iter().flat_map(|(pair, _)| pair).for_each(|reg| candidates.number[*reg] = u32::MAX);
        for block in dominators.preorder(cfg) {
            candidates.define(func, cfg, dominators, block);
        }
        for ([dst, src], weight) in pairs {
            let pair = [dst, src].map(|reg| candidates.number[reg].wrapping_sub(1));
            if pair.iter().all(|number| (*number as usize) < candidates.list.len()) {
                pair.iter().for_each(|number| candidates.list[*number as usize].weight += weight);
                candidates.affinities.push(pair);
            }
        }
        candidates
    }

    /// Numbers the candidates that a block defines. The blocks come in dominance order, so the source of a copy has
    /// its number before the copy.
    fn define(&mut self, func: &Function, cfg: &Cfg, dominators: &Dominators, block: Block) {
        let Some(entered) = dominators.entered(cfg, block) else { return };
        let mut place = 0;
        for inst in func.block_insts(block) {
            place += u32::from(func.inst(inst).opcode != Opcode::Phi);
            for (index, reg) in func.defs(inst).enumerate() {
                if self.number[reg] != u32::MAX {
                    continue;
                }
                let number = self.list.len() as u32;
                let value = copied(func, inst).map_or(number, |src| match self.number[src] {
                    0 | u32::MAX => number,
                    src => self.list[src as usize - 1].value,
                });
                let keeps = func.elses(inst).get(index).copied();
                self.list.push(Candidate { reg, block, entered, place, keeps, weight: 0, value });
                self.number[reg] = number + 1;
            }
        }
    }
}

/// Drops affinities of two phis of one block, of which one takes the other on the way back: both live at once, so they
/// would only join what has nothing to do with each other.
fn without_swaps(func: &Function, block: Block, of_phis: &mut Vec<([Reg; 2], u64)>) {
    let own: FxHashSet<Reg> = phis(func, block).flat_map(|phi| func.defs(phi)).collect();
    if own.len() > 1 {
        of_phis.retain(|([_, source], _)| !own.contains(source));
    }
}

/// Leaves each source one phi of a block, that with the heaviest affinity. The phis of a block interfere, so it could
/// not become one with several, and would only join what has nothing to do with each other.
fn one_phi_each(of_phis: &mut Vec<([Reg; 2], u64)>) {
    if of_phis.len() > 1 {
        of_phis.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        let mut phi_of = FxHashMap::default();
        of_phis.retain(|([phi, source], _)| *phi_of.entry(*source).or_insert(*phi) == *phi);
    }
}

/// Calls for each pair of registers that an instruction joins, and the block in which a copy between them would be.
fn joined(func: &Function, inst: Inst, block: Block, mut call: impl FnMut([Reg; 2], Block)) {
    let mut pair = |dst: Reg, src: Operand, at: Block| {
        let Operand::Reg(src) = src else { return };
        let info = func.regs()[dst];
        if src != dst && info == func.regs()[src] && matches!(info.file, RegFile::R | RegFile::P) {
            call([dst, src], at);
        }
    };
    let Some(first) = func.defs(inst).next() else { return };
    if func.inst(inst).opcode == Opcode::Phi {
        for source in func.srcs(inst).chunks_exact(2) {
            source[1].block().into_iter().for_each(|from| pair(first, source[0], from));
        }
    } else if let Some(src) = copied(func, inst) {
        pair(first, Operand::Reg(src), block);
    }
    func.defs(inst).zip(func.elses(inst)).for_each(|(dst, old)| pair(dst, *old, block));
    // PTX has one register for what a warpgroup adds to and for what comes out.
    if func.inst(inst).is(Flags::WARPGROUP) {
        func.defs(inst).zip(func.srcs(inst)).for_each(|(dst, added)| pair(dst, *added, block));
    }
}

/// The register whose value an instruction copies whatever holds; its destination is as wide.
fn copied(func: &Function, inst: Inst) -> Option<Reg> {
    let data = func.inst(inst);
    let Operand::Reg(src) = *func.srcs(inst).first().filter(|_| data.opcode == Opcode::Mov)? else { return None };
    let same = func.defs(inst).all(|dst| func.regs()[dst] == func.regs()[src]);
    (same && data.guard.is_none()).then_some(src)
}

/// Joins candidates to classes.
struct Joining<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    candidates: Vec<Candidate>,
    affinities: Vec<[u32; 2]>,
    /// By candidate and block: the place of the last instruction there that reads it. Phis read at the ends of blocks.
    last_read: FxHashMap<(u32, Block), u32>,
    /// By candidate: whether it was taken out of its class.
    out: Vec<bool>,
    /// By candidate: the closest member above whose life it meets.
    met: Vec<Option<u32>>,
    /// By candidate: its group in this round.
    group_of: Vec<u32>,
}

impl<'a> Joining<'a> {
    fn new(
        func: &Function,
        cfg: &'a Cfg,
        dominators: &'a Dominators,
        liveness: &'a Liveness,
        candidates: Candidates,
    ) -> Joining<'a> {
        let Candidates { list, number, affinities } = candidates;
        let mut last_read = FxHashMap::default();
        for block in cfg.rpo() {
            let insts = func.block_insts(*block).filter(|inst| func.inst(*inst).opcode != Opcode::Phi);
            for (inst, place) in insts.zip(1..) {
                let guard = func.inst(inst).guard.map(|guard| guard.reg());
                let read = func.inputs(inst).iter().filter_map(|operand| operand.reg()).chain(guard);
                for number in read.map(|reg| number[reg]).filter(|number| (1..=list.len() as u32).contains(number)) {
                    last_read.insert((number - 1, *block), place);
                }
            }
        }
        let (out, met, group_of) = (vec![false; list.len()], vec![None; list.len()], vec![0; list.len()]);
        Joining { cfg, dominators, liveness, candidates: list, affinities, last_read, out, met, group_of }
    }

    fn run(mut self, classes: &mut Classes) {
        for _ in 0..ROUNDS {
            let groups = self.groups();
            self.out.fill(false);
            let affinities = std::mem::take(&mut self.affinities);
            // Both are sorted by group, and each group has an affinity.
            let of_groups = affinities.chunk_by(|a, b| self.group_of[a[0] as usize] == self.group_of[b[0] as usize]);
            let of_groups: Vec<&[[u32; 2]]> = of_groups.collect();
            for (group, affinities) in groups.chunk_by(|a, b| a.0 == b.0).zip(of_groups) {
                let members: Vec<u32> = group.iter().map(|(_, member)| *member).collect();
                self.settle(&members, affinities);
                self.name(&members, classes);
            }
            let out = &self.out;
            self.affinities = affinities;
            self.affinities.retain(|pair| pair.iter().all(|member| out[*member as usize]));
            if self.affinities.is_empty() {
                break;
            }
        }
    }

    /// What affinities join, as pairs of group and member, each group in the order of dominance. The affinities are
    /// sorted by group.
    fn groups(&mut self) -> Vec<(u32, u32)> {
        let mut above: Vec<u32> = (0..self.candidates.len() as u32).collect();
        let mut joined: Vec<u32> = Vec::new();
        for pair in &self.affinities {
            let [one, two] = pair.map(|member| root(&mut above, member));
            above[one as usize] = two;
            joined.extend(pair);
        }
        joined.sort_unstable();
        joined.dedup();
        let mut groups: Vec<(u32, u32)> = joined.into_iter().map(|member| (root(&mut above, member), member)).collect();
        groups.sort_by_key(|(group, member)| {
            let at = &self.candidates[*member as usize];
            (*group, at.entered, at.place, *member)
        });
        groups.iter().for_each(|(group, member)| self.group_of[*member as usize] = *group);
        let group_of = &self.group_of;
        self.affinities.sort_by_key(|[member, _]| group_of[*member as usize]);
        groups
    }

    /// Takes members out of a group, which come in the order of dominance, until none interferes with another.
    fn settle(&mut self, group: &[u32], affinities: &[[u32; 2]]) {
        let mut members = group.to_vec();
        for pass in 1..=PASSES {
            let left = self.take_out(&members);
            if left.is_empty() {
                return;
            }
            // Those whose way is free again, as all that they left for has left too.
            let mut back: FxHashSet<u32> = left.iter().map(|(member, _)| *member).collect();
            left.iter().filter(|(_, other)| !self.out[*other as usize]).for_each(|(member, _)| _ = back.remove(member));
            let stays = |member: &u32| !self.out[*member as usize] || pass < PASSES && back.contains(member);
            let linked: FxHashSet<u32> =
                affinities.iter().filter(|pair| pair.iter().all(stays)).flatten().copied().collect();
            members.retain(|member| linked.contains(member));
            group.iter().for_each(|member| self.out[*member as usize] = true);
            members.iter().for_each(|member| self.out[*member as usize] = false);
            if pass == PASSES || !back.iter().any(|member| linked.contains(member)) {
                return;
            }
        }
    }

    /// One walk over members; those that left for others, with these. Those that have too many above leave for good.
    ///
    /// The stack holds the members above the current one, in the sense of dominance. One of them that lives where the
    /// current one is defined lives also where the members between the two are defined. So those are the closest one
    /// that the next above meets, the one that this one meets, and so on; `met` keeps these links. Members that were
    /// taken out while they were on the stack stay there as links.
    fn take_out(&mut self, members: &[u32]) -> Vec<(u32, u32)> {
        members.iter().for_each(|member| self.met[*member as usize] = None);
        let (mut stack, mut left): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        for member in members {
            while stack.pop_if(|above| !self.is_above(*above, *member)).is_some() {}
            if self.admit(stack.last().copied(), *member, &mut left) {
                stack.push(*member);
            } else {
                self.out[*member as usize] = true;
            }
        }
        left
    }

    /// Whether a member may stay. Those that it interferes with leave for it if they weigh less together.
    fn admit(&mut self, mut above: Option<u32>, member: u32, left: &mut Vec<(u32, u32)>) -> bool {
        let weight = |number: u32| self.candidates[number as usize].weight;
        let (mut closest, mut leaving) = (None, Vec::new());
        for _ in 0..MOST_ABOVE {
            let Some(other) = above else {
                let stays = leaving.iter().map(|other| weight(*other)).sum::<u64>() < weight(member).max(1);
                if stays {
                    self.met[member as usize] = closest;
                    leaving.iter().for_each(|other| self.out[*other as usize] = true);
                    left.extend(leaving.into_iter().map(|other| (other, member)));
                } else {
                    left.extend(leaving.into_iter().map(|other| (member, other)));
                }
                return stays;
            };
            if self.meets(other, member) {
                closest = closest.or(above);
                if !self.out[other as usize] && self.interferes(other, member) {
                    leaving.push(other);
                }
            }
            above = self.met[other as usize];
        }
        false
    }

    /// Whether the definition of the first is on every way to that of the second, or at the same place.
    fn is_above(&self, first: u32, second: u32) -> bool {
        let [a, b] = [first, second].map(|number| &self.candidates[number as usize]);
        if a.block == b.block { a.place <= b.place } else { self.dominators.dominates(self.cfg, a.block, b.block) }
    }

    /// Whether the first, which is above, is needed where the second is written, or is written there too.
    fn meets(&self, first: u32, second: u32) -> bool {
        let [a, b] = [first, second].map(|number| &self.candidates[number as usize]);
        if (a.block, a.place) == (b.block, b.place) {
            return true;
        }
        if b.place == 0 {
            return self.liveness.live_in(b.block).contains(a.reg);
        }
        // The copy of what it keeps precedes all that its instruction reads.
        let reads_late = b.keeps.is_some() && self.last_read.get(&(first, b.block)) == Some(&b.place);
        reads_late || self.is_read_behind(first, b)
    }

    /// Whether one that is above is needed behind the instruction that writes the other.
    fn is_read_behind(&self, first: u32, b: &Candidate) -> bool {
        self.last_read.get(&(first, b.block)).is_some_and(|last| *last > b.place)
            || self.liveness.live_out(b.block).contains(self.candidates[first as usize].reg)
    }

    /// Whether two that meet cannot be one.
    fn interferes(&self, first: u32, second: u32) -> bool {
        let [a, b] = [first, second].map(|number| &self.candidates[number as usize]);
        // What a guarded destination keeps needs no copy where the two are one, if nobody reads it later.
        let kept = || b.keeps == Some(Operand::Reg(a.reg)) && !self.is_read_behind(first, b);
        a.value != b.value && !kept()
    }

    /// Gives the members that stay one register, the first of them.
    fn name(&self, group: &[u32], classes: &mut Classes) {
        let staying = || group.iter().filter(|member| !self.out[**member as usize]);
        let Some(first) = staying().next() else { return };
        let reg = |member: u32| self.candidates[member as usize].reg;
        for member in staying().skip(1) {
            classes.0[reg(*member)] = Some(reg(*first));
        }
    }
}

/// The root of a member in a forest, whose ways are halved as they are walked.
fn root(above: &mut [u32], mut member: u32) -> u32 {
    while above[member as usize] != member {
        above[member as usize] = above[above[member as usize] as usize];
        member = above[member as usize];
    }
    member
}
