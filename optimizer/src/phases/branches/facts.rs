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

use crate::analysis::{BranchRanges, Cfg, Definitions, Dominators, Range, RangeContext};
use crate::pass::PhaseContext;
use crate::phases::edge_facts;
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, Inst, Operand, Reg};

use crate::edit::graph::incoming;

/// How many definitions a question follows.
const DEPTH: u32 = 8;

/// Known predicates, and what questions about others are answered with.
pub(super) struct Facts {
    pub(super) cfg: Arc<Cfg>,
    pub(super) dominators: Arc<Dominators>,
    definitions: Arc<Definitions>,
    ranges: Arc<BranchRanges>,
    known: SecondaryMap<Reg, Option<bool>>,
    /// The registers that became known, in order.
    log: Vec<Reg>,
}

/// Where an operand is read: at the end of a block, or in a block that control comes to from there.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) end_of: Block,
    pub(super) through: Option<Block>,
}

impl Facts {
    pub(super) fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Facts {
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
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets all facts but so many.
    pub(super) fn forget(&mut self, mark: usize) {
        for reg in self.log.drain(mark..) {
            self.known[reg] = None;
        }
    }

    /// Learns what holds where control takes the edge between two blocks.
    pub(super) fn learn_edge(&mut self, func: &Function, from: Block, to: Block) {
        let Some((reg, value)) = edge_facts::decided(func, from, to) else { return };
        for (reg, value) in edge_facts::implied(func, &self.definitions, reg, value) {
            if self.known[reg].is_none() {
                self.known[reg] = Some(value);
                self.log.push(reg);
            }
        }
    }

    /// What a predicate is at a place, if that is known.
    pub(super) fn decide(&self, func: &Function, operand: Operand, place: Place) -> Option<bool> {
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
        decided(data.field::<Compare>()?, ty.is_signed(), a, b)
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

/// What a comparison of a value of one range with a value of another one yields, if all of them yield the same.
fn decided(compare: Compare, is_signed: bool, a: Range, b: Range) -> Option<bool> {
    let unsigned = |range: Range| (i128::from(range.unsigned().0), i128::from(range.unsigned().1));
    let signed = |range: Range| (i128::from(range.signed().0), i128::from(range.signed().1));
    let below = |a: (i128, i128), b: (i128, i128)| match () {
        () if a.1 < b.0 => Some(true),
        () if a.0 >= b.1 => Some(false),
        () => None,
    };
    let less = |unsigned_only: bool, a: Range, b: Range| match is_signed && !unsigned_only {
        true => below(signed(a), signed(b)),
        false => below(unsigned(a), unsigned(b)),
    };
    let equal = || match (a.value(), b.value()) {
        (Some(a), Some(b)) => Some(a == b),
        _ => {
            let apart = |of: fn(Range) -> (i128, i128)| of(a).1 < of(b).0 || of(b).1 < of(a).0;
            (apart(unsigned) || apart(signed)).then_some(false)
        }
    };
    match compare {
        Compare::Eq => equal(),
        Compare::Ne => equal().map(|same| !same),
        Compare::Lt => less(false, a, b),
        Compare::Ge => less(false, a, b).map(|less| !less),
        Compare::Gt => less(false, b, a),
        Compare::Le => less(false, b, a).map(|less| !less),
        Compare::Lo => less(true, a, b),
        Compare::Hs => less(true, a, b).map(|less| !less),
        Compare::Hi => less(true, b, a),
        Compare::Ls => less(true, b, a).map(|less| !less),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPARES: [Compare; 10] = [
        Compare::Eq,
        Compare::Ne,
        Compare::Lt,
        Compare::Le,
        Compare::Gt,
        Compare::Ge,
        Compare::Lo,
        Compare::Ls,
        Compare::Hi,
        Compare::Hs,
    ];

    fn holds(compare: Compare, is_signed: bool, a: i32, b: i32) -> bool {
        let by_sign = |is_signed: bool| if is_signed { a.cmp(&b) } else { (a as u32).cmp(&(b as u32)) };
        match compare {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => by_sign(is_signed).is_lt(),
            Compare::Le => by_sign(is_signed).is_le(),
            Compare::Gt => by_sign(is_signed).is_gt(),
            Compare::Ge => by_sign(is_signed).is_ge(),
            Compare::Lo => by_sign(false).is_lt(),
            Compare::Ls => by_sign(false).is_le(),
            Compare::Hi => by_sign(false).is_gt(),
            _ => by_sign(false).is_ge(),
        }
    }

    /// All intervals around zero against all others: what is decided holds for each pair of values, and whatever holds
    /// or fails for all pairs of numbers that do not wrap is decided.
    #[test]
    fn what_is_decided_holds_for_all_values() {
        let intervals: Vec<(i32, i32)> = (-3..4).flat_map(|low| (low..4).map(move |high| (low, high))).collect();
        let range = |(low, high): (i32, i32)| Range::signed_between(low.into(), high.into(), 32);
        let mut known = 0;
        for (a, b) in intervals.iter().flat_map(|a| intervals.iter().map(move |b| (*a, *b))) {
            for (compare, is_signed) in COMPARES.iter().flat_map(|compare| [(*compare, false), (*compare, true)]) {
                let pairs = || (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y)));
                let mut results = pairs().map(|(x, y)| holds(compare, is_signed, x, y));
                let first = results.next();
                let all = first.filter(|first| results.all(|other| other == *first));
                let found = decided(compare, is_signed, range(a), range(b));
                assert!(found.is_none() || found == all, "{compare:?} of {a:?} and {b:?}: {found:?}, {all:?}");
                let wraps = |(low, high): (i32, i32)| low < 0 && high >= 0;
                let exact = !wraps(a) && !wraps(b);
                assert!(!exact || found == all, "{compare:?} of {a:?} and {b:?} is {all:?}");
                known += usize::from(found.is_some());
            }
        }
        assert!(known > 1000, "{known} comparisons are decided");
    }
}
