//! Which store left what a load reads.
//!
//! A load reads the value of a store that always executes before it, writes exactly its bytes in parts of the same
//! width, and behind which nothing changes them up to the load. The store's block dominates the load's. So the register
//! that both addresses are counted from is the same value at both: it dominates the store, and could only be defined
//! again on a way to the load that avoids the store.
//!
//! Writes by other threads that nothing orders with the load are data races, of which nothing is said.

use super::alias::{Alias, alias};
use super::{Cfg, Effect, LoopNest, MemorySsa, MemoryState};
use crate::analysis::Dominators;
use oriole_ir::ops::Opcode;
use oriole_ir::{Form, Function, Inst, Operand};

/// What loads read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredValues {
    /// By load: the state of memory that it starts from, as [`MemorySsa::clobber`] has it.
    states: Vec<(Inst, MemoryState)>,
    /// By load: the store that it reads, if there is a single one.
    reads: Vec<(Inst, Inst)>,
}

impl StoredValues {
    /// The stores that the loads of a function read; none outside SSA form.
    pub fn new(
        func: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        nest: &LoopNest,
        memory: &MemorySsa,
    ) -> StoredValues {
        let is_load = |inst: &Inst| func.inst(*inst).opcode == Opcode::Ld && func.form == Form::Ssa;
        let loads = func.layout_insts().filter(is_load);
        let mut states: Vec<(Inst, MemoryState)> =
            loads.filter_map(|load| Some((load, memory.clobber(cfg, nest, load)?))).collect();
        states.sort_unstable();
        let reads = states.iter().filter_map(|(load, state)| {
            let (MemoryState::Behind(store), load) = (*state, *load) else { return None };
            let (from, to) = (func.block_of(store)?, func.block_of(load)?);
            let before = if from == to { func.is_before(store, load) } else { dominators.dominates(cfg, from, to) };
            (before && memory.is_read_whole(func, store, load)).then_some((load, store))
        });
        let reads: Vec<(Inst, Inst)> = reads.collect();
        StoredValues { states, reads }
    }

    /// The state of memory that a load starts from: the closest one above that may have changed what it reads.
    pub fn state(&self, load: Inst) -> Option<MemoryState> {
        let found = self.states.binary_search_by_key(&load, |(load, _)| *load);
        found.ok().map(|at| self.states[at].1)
    }

    /// The loads that read a single store.
    pub fn loads(&self) -> impl Iterator<Item = Inst> + '_ {
        self.reads.iter().map(|(load, _)| *load)
    }

    /// The store that a load reads.
    pub fn store(&self, load: Inst) -> Option<Inst> {
        let found = self.reads.binary_search_by_key(&load, |(load, _)| *load);
        found.ok().map(|at| self.reads[at].1)
    }

    /// The operand whose low bits, as many as the type has, a load reads into its destination with an index.
    pub fn read_by(&self, func: &Function, load: Inst, index: usize) -> Option<Operand> {
        // Behind the base and the offset of the address.
        self.store(load).and_then(|store| func.srcs(store).get(2 + index).copied())
    }
}

impl MemorySsa {
    /// Whether a store writes, element by element, what a load reads where their registers have the same values.
    fn is_read_whole(&self, func: &Function, store: Inst, load: Inst) -> bool {
        let (from, to) = (func.inst(store), func.inst(load));
        let same_parts = from.ty().bits() == to.ty().bits() && from.vector_len() == to.vector_len();
        let plain = from.opcode == Opcode::St && from.guard.is_none() && from.ty().bits() <= 64;
        match (self.effect(store), self.effect(load)) {
            (Effect::Writes(written), Effect::Reads(read)) => {
                plain && same_parts && alias(&written, &read, false) == Alias::Must
            }
            _ => false,
        }
    }
}
