//! Memory dependence: which instruction wrote what another one reads, as memory SSA.
//!
//! All memory is one variable. An instruction that may change it, or after which other threads' changes may be seen,
//! defines a new state; states that meet make a phi; every access knows the state that it starts from. Novillo, "Memory
//! SSA: A Unified Approach for Sparsely Representing Memory Operations" (2007); as in LLVM, one variable is enough,
//! since [`MemorySsa::clobber`] walks up the states and passes those that have nothing to do with the access.
//!
//! What an instruction does to memory is said by `access.rs`, and whether two addresses meet by `alias.rs`. Phis stand
//! at the iterated dominance frontier of definitions; a block without one starts from the state at the end of its
//! immediate dominator. Near-linear in instructions; a walk looks at [`STEPS`] states and then answers with the one
//! that it has come to, which is right but not the best. In functions that are not in SSA form, addresses in registers
//! are unknown.

mod access;
pub mod alias;
mod stored;
#[cfg(test)]
mod tests;

use cranelift_entity::EntityRef;
use rustc_hash::FxHashSet;

use super::cfg::Cfg;
use super::dominators::Dominators;
use super::loops::LoopNest;
use access::Locations;
pub use access::{Effect, Location, Root};
use alias::{Alias, alias};
use oriole_ir::{Block, Function, Inst, Reg};
pub use stored::StoredValues;

/// How many states a walk looks at.
pub const STEPS: usize = 256;

/// A state of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MemoryState {
    /// What the function starts with.
    Entry,
    /// What an instruction leaves.
    Behind(Inst),
    /// Where states meet at the start of a block.
    Phi(Block),
}

/// The states of memory in a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemorySsa {
    /// By instruction: what it does to memory, and the state before it.
    insts: Vec<Option<(Effect, MemoryState)>>,
    /// By block number: the states at both ends.
    blocks: Vec<(MemoryState, MemoryState)>,
    /// By instruction that defines a register which is the root of an address: its block.
    roots: Vec<Option<Block>>,
    /// By local variable: whether its address may be known where it is not followed.
    captured: Vec<bool>,
}

impl MemorySsa {
    /// The states of a function.
    pub fn compute(func: &Function, cfg: &Cfg, dominators: &Dominators) -> MemorySsa {
        let locations = Locations::new(func);
        let mut insts = vec![None; func.insts().len()];
        let mut defines = vec![false; func.blocks().len()];
        let mut roots = vec![None; func.regs().len()];
        for block in func.layout() {
            for inst in func.block_insts(*block) {
                func.defs(inst).for_each(|reg| roots[reg.index()] = Some(*block));
                let effect = locations.effect(inst);
                defines[block.index()] |= effect.changes();
                insts[inst.index()] = (effect != Effect::None).then_some((effect, MemoryState::Entry));
            }
        }
        let captured = locations.captured();
        let blocks = vec![(MemoryState::Entry, MemoryState::Entry); func.blocks().len()];
        let mut memory = MemorySsa { insts, blocks, roots, captured };
        memory.place_phis(cfg, dominators, &defines);
        memory.number(func, cfg, dominators);
        memory
    }

    fn place_phis(&mut self, cfg: &Cfg, dominators: &Dominators, defines: &[bool]) {
        let frontiers = dominators.frontiers(cfg);
        let mut work: Vec<Block> = cfg.rpo().iter().copied().filter(|block| defines[block.index()]).collect();
        while let Some(block) = work.pop() {
            for join in frontiers.of(cfg, block) {
                if self.blocks[join.index()].0 == MemoryState::Entry {
                    self.blocks[join.index()].0 = MemoryState::Phi(*join);
                    work.push(*join);
                }
            }
        }
    }

    /// Dominators come first, so that the state at their end is known.
    fn number(&mut self, func: &Function, cfg: &Cfg, dominators: &Dominators) {
        let unreachable = cfg.blocks().iter().copied().filter(|block| !cfg.is_reachable(*block));
        for block in dominators.preorder(cfg).chain(unreachable) {
            let mut state = self.blocks[block.index()].0;
            if let Some(above) = dominators.immediate_dominator(cfg, block).filter(|_| state == MemoryState::Entry) {
                state = self.blocks[above.index()].1;
            }
            self.blocks[block.index()].0 = state;
            for inst in func.block_insts(block) {
                if let Some((effect, before)) = &mut self.insts[inst.index()] {
                    *before = state;
                    if effect.changes() {
                        state = MemoryState::Behind(inst);
                    }
                }
            }
            self.blocks[block.index()].1 = state;
        }
    }

    /// What an instruction does to memory.
    pub fn effect(&self, inst: Inst) -> Effect {
        self.insts[inst.index()].map_or(Effect::None, |(effect, _)| effect)
    }

    /// The state before an instruction that has to do with memory.
    pub fn before(&self, inst: Inst) -> Option<MemoryState> {
        self.insts[inst.index()].map(|(_, before)| before)
    }

    /// The registers that addresses are counted from, with repeats.
    pub fn address_roots(&self) -> impl Iterator<Item = Reg> + '_ {
        self.insts.iter().flatten().filter_map(|(effect, _)| match effect {
            Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at) => at.root.reg(),
            _ => None,
        })
    }

    /// The state at a block's entry.
    pub fn at_entry(&self, block: Block) -> MemoryState {
        self.blocks[block.index()].0
    }

    /// The state at a block's end.
    pub fn at_end(&self, block: Block) -> MemoryState {
        self.blocks[block.index()].1
    }

    /// The closest state, up from an access, that may have been left by a change of what it accesses: nothing behind
    /// that state, up to the access, changes that. For accesses that other threads order themselves by, the state
    /// before them.
    pub fn clobber(&self, cfg: &Cfg, nest: &LoopNest, inst: Inst) -> Option<MemoryState> {
        let (effect, before) = self.insts[inst.index()]?;
        let (Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at)) = effect else { return Some(before) };
        if at.is_constant() {
            return Some(MemoryState::Entry);
        }
        let walk = Walk { memory: self, cfg, nest, at, defined: at.root.reg().and_then(|reg| self.roots[reg.index()]) };
        Some(walk.up(before))
    }
}

/// A walk up the states for one access.
struct Walk<'a> {
    memory: &'a MemorySsa,
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    at: Location,
    /// Where the register that the address is based on is defined.
    defined: Option<Block>,
}

impl Walk<'_> {
    fn up(&self, from: MemoryState) -> MemoryState {
        let mut steps = STEPS;
        let first = self.pass(from, false, &mut steps);
        let MemoryState::Phi(join) = first else { return first };
        // Behind a phi, all ways must lead to one state; otherwise the phi is the answer.
        let mut work = vec![(join, self.is_stale(join, false))];
        let (mut found, mut seen) = (None, FxHashSet::from_iter(work.clone()));
        while let Some((join, stale)) = work.pop() {
            if join == self.cfg.rpo()[0] {
                if found.is_some_and(|found| found != MemoryState::Entry) {
                    return first;
                }
                found = Some(MemoryState::Entry);
            }
            for from in self.cfg.predecessors(join).iter().filter(|from| self.cfg.is_reachable(**from)) {
                match self.pass(self.memory.at_end(*from), stale, &mut steps) {
                    MemoryState::Phi(other) => {
                        let next = (other, self.is_stale(other, stale));
                        if seen.insert(next) {
                            work.push(next);
                        }
                    }
                    state if found.is_none_or(|found| found == state) => found = Some(state),
                    _ => return first,
                }
            }
            if steps == 0 {
                return first;
            }
        }
        found.unwrap_or(first)
    }

    /// Passes instructions that do not change what is accessed, up to one that does, a phi, or the entry.
    fn pass(&self, mut state: MemoryState, stale: bool, steps: &mut usize) -> MemoryState {
        while let MemoryState::Behind(inst) = state {
            let Some((effect, before)) = self.memory.insts[inst.index()].filter(|_| *steps > 0) else { break };
            *steps -= 1;
            if self.changes(effect, stale) {
                break;
            }
            state = before;
        }
        state
    }

    fn changes(&self, effect: Effect, stale: bool) -> bool {
        let captured = &self.memory.captured;
        match effect {
            Effect::None | Effect::Reads(_) => false,
            Effect::Writes(other) | Effect::Updates(other) => {
                !self.at.is_apart(&other, captured) && alias(&self.at, &other, stale) != Alias::No
            }
            Effect::Orders => !self.at.is_own(),
            Effect::Anything => !self.at.is_private(captured),
        }
    }

    /// Whether a phi is where another iteration's value of the address's register may come from.
    fn is_stale(&self, join: Block, stale: bool) -> bool {
        let mut around = self.nest.innermost(self.cfg, join);
        while let Some(of) = around {
            let turns = self.nest.header(of) == join || !self.nest.is_natural(of);
            if turns && self.defined.is_some_and(|defined| self.nest.contains(self.cfg, of, defined)) {
                return true;
            }
            around = self.nest.parent(of);
        }
        stale
    }
}
