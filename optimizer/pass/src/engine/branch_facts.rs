//! What predicates are known to be at the end of a block, and on the way from there through another one.
//!
//! A branch tells what its condition is in the blocks that only one of its ways leads to, and so of what the condition
//! is made of: the operands of a negation, of a true conjunction, of a false disjunction. Facts are learned on the way
//! down the dominator tree and forgotten on the way up. A comparison of integers is decided where the ranges of its
//! operands in the block allow one answer ([`BranchRanges`]).
//!
//! On the way through a block its phis are what comes from the block before, and what it computes is computed of that.
//! Facts say nothing of what the block on the way defines: it is defined anew.

use std::sync::Arc;

use cranelift_entity::SecondaryMap;

use crate::analysis::{BranchRanges, Cfg, Definitions, Dominators, Range, RangeContext, compared};
use crate::engine::edge_facts;
use crate::pass::PhaseContext;
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, Inst, Operand, Reg};

use crate::edit::graph::incoming;

/// How many definitions a question follows.
const DEPTH: u32 = 8;

/// Known predicates, and what questions about others are answered with.
pub struct Facts {
    /// The graph that they are about.
    pub cfg: Arc<Cfg>,
    /// Its dominators.
    pub dominators: Arc<Dominators>,
    definitions: Arc<Definitions>,
    ranges: Arc<BranchRanges>,
    known: SecondaryMap<Reg, Option<bool>>,
    /// The registers that became known, in order.
    log: Vec<Reg>,
}

/// Where an operand is read: at the end of a block, or in a block that control comes to from there.
#[derive(Clone, Copy)]
pub struct Place {
    /// The block at whose end it is read, or that control comes from.
    pub end_of: Block,
    /// The block that it is read in, where that is another one.
    pub through: Option<Block>,
}

impl Facts {
    /// Nothing is known yet but what analyses say.
    pub fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Facts {
        Facts {
            cfg: cx.analyses.get(func),
            dominators: cx.analyses.get(func),
            definitions: cx.analyses.get(func),
            ranges: cx.analyses.get(func),
            known: SecondaryMap::new(),
            log: Vec::new(),
        }
    }

    /// How many facts there are, for [`Facts::forget`].
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets all facts but so many.
    pub fn forget(&mut self, mark: usize) {
        for reg in self.log.drain(mark..) {
            self.known[reg] = None;
        }
    }

    /// Learns what holds where control takes the edge between two blocks.
    pub fn learn_edge(&mut self, func: &Function, from: Block, to: Block) {
        let Some((reg, value)) = edge_facts::decided(func, from, to) else { return };
        for (reg, value) in edge_facts::implied(func, &self.definitions, reg, value) {
            if self.known[reg].is_none() {
                self.known[reg] = Some(value);
                self.log.push(reg);
            }
        }
    }

    /// What a predicate is at a place, if that is known.
    pub fn decide(&self, func: &Function, operand: Operand, place: Place) -> Option<bool> {
        self.predicate(func, operand, place, DEPTH)
    }

    fn predicate(&self, func: &Function, operand: Operand, place: Place, depth: u32) -> Option<bool> {
        if let Some(bits) = func.imm_bits(operand) {
            return Some(bits & 1 == 1);
        }
        let reg = operand.whole_reg().filter(|_| depth > 0)?;
        if let Some(phi) = self.phi_on_the_way(func, reg, place) {
            let value = incoming(func, phi, place.end_of)?;
            return self.predicate(func, value, Place { through: None, ..place }, depth - 1);
        }
        let fact = self.known[reg].filter(|_| !self.is_on_the_way(reg, place));
        fact.or_else(|| self.computed(func, self.definitions.always(func, operand)?, place, depth - 1))
    }

    fn computed(&self, func: &Function, inst: Inst, place: Place, depth: u32) -> Option<bool> {
        let of = |at: usize| self.predicate(func, *func.srcs(inst).get(at)?, place, depth);
        let both = |decides: bool| match (of(0), of(1)) {
            (Some(a), _) | (_, Some(a)) if a == decides => Some(decides),
            (Some(_), Some(_)) => Some(!decides),
            _ => None,
        };
        match func.inst(inst).opcode {
            Opcode::Mov => of(0),
            Opcode::Not => of(0).map(|value| !value),
            Opcode::And => both(false),
            Opcode::Or => both(true),
            Opcode::SetP => self.comparison(func, inst, place),
            _ => None,
        }
    }

    /// A comparison of whole registers as integers, and constants.
    fn comparison(&self, func: &Function, inst: Inst, place: Place) -> Option<bool> {
        let (data, ty) = (func.inst(inst), func.inst(inst).ty());
        let is_whole = ty != Type::Pred && !ty.is_float() && matches!(ty.bits(), 32 | 64);
        let &[a, b] = func.srcs(inst).first_chunk::<2>().filter(|_| is_whole)?;
        let ranges = [a, b].map(|operand| self.range(func, operand, ty, place));
        let [Some(a), Some(b)] = ranges else { return None };
        compared(data.field::<Compare>()?, ty.is_signed(), a, b)
    }

    fn range(&self, func: &Function, operand: Operand, ty: Type, place: Place) -> Option<Range> {
        if let Some(bits) = func.imm_bits(operand) {
            return Some(Range::constant(bits, ty.bits()));
        }
        let reg = operand.whole_reg()?;
        if let Some(phi) = self.phi_on_the_way(func, reg, place) {
            return self.range(func, incoming(func, phi, place.end_of)?, ty, Place { through: None, ..place });
        }
        let cx = RangeContext { func, cfg: &self.cfg, dominators: &self.dominators, definitions: &self.definitions };
        let range = match self.is_on_the_way(reg, place) {
            true => self.ranges.0.of(func, operand),
            false => self.ranges.0.in_block(cx, operand, place.end_of),
        };
        range.filter(|range| range.bits() == ty.bits())
    }

    fn is_on_the_way(&self, reg: Reg, place: Place) -> bool {
        place.through.is_some() && self.definitions.block(reg) == place.through
    }

    fn phi_on_the_way(&self, func: &Function, reg: Reg, place: Place) -> Option<Inst> {
        let inst = self.definitions.inst(reg).filter(|_| self.is_on_the_way(reg, place))?;
        (func.inst(inst).opcode == Opcode::Phi).then_some(inst)
    }
}
