//! Commoning in one walk down the dominator tree.
//!
//! The walk meets each value after the values that it is computed from, sources of phis along back edges excepted,
//! which count as themselves. The value table knows for each expression the instruction that computed it last, its
//! *leader*. Blocks come in preorder of the tree, so a leader whose block does not dominate the one at hand never
//! dominates a later one, and its place is taken.
//!
//! Loads of the same bytes are the same expression, and may be equal or not: there the table holds a stack, the leaders
//! above each other on the way down the tree. Only the nearest one is asked. If it reads another state of memory than
//! the load at hand, so do those above it: their states precede its own on every way down.
//!
//! A walk makes copies, and leaves it to others to read past them. Near-linear: each instruction is keyed once, and a
//! load that finds a leader asks memory SSA once for each of the two.

use super::commoned;
use super::facts::Facts;
use super::leaders::{Representatives, behind_phis, copied_address, replace};
use super::signature::Signatures;
use oriole_ir::ops::Flags;
use oriole_ir::{Block, Function, Inst, Reg};
use oriole_pass::analysis::MemoryState;
use oriole_pass::engine::expression::Expression;
use oriole_pass::engine::expression::table::ValueTable;
use oriole_pass::pass::{Changed, PhaseContext};

/// What a change of operands is counted as.
const OPERAND: &str = "common:operand";

/// Where a leader may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// In the same block.
    Block,
    /// In a block that dominates.
    Dominators,
}

/// The instruction that computes an expression for those below it.
struct Leader {
    inst: Inst,
    block: Block,
    /// Of a load, once asked: the state of memory that it reads.
    version: Option<MemoryState>,
    /// The leader above it on the way down the tree.
    above: Option<usize>,
}

/// A walk over a function.
pub(super) struct Walk<'a> {
    facts: &'a Facts,
    scope: Scope,
    values: Representatives,
    /// Of registers that are copied the address of one variable. The copies stay, since an address costs no register.
    addresses: Representatives,
    /// By expression: the nearest leader, as a place in `leaders`.
    table: ValueTable<Option<usize>>,
    leaders: Vec<Leader>,
    key: Expression,
    follows_copies: bool,
    /// What late commoning has besides.
    late: Option<Signatures>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(facts: &'a Facts, scope: Scope) -> Walk<'a> {
        Walk {
            facts,
            scope,
            values: Representatives::default(),
            addresses: Representatives::default(),
            table: ValueTable::default(),
            leaders: Vec::new(),
            key: Expression::default(),
            follows_copies: true,
            late: None,
        }
    }

    /// Whether a copy has the value of its source.
    pub(super) fn following_copies(self, follows_copies: bool) -> Walk<'a> {
        Walk { follows_copies, ..self }
    }

    /// Also reads representatives, and rejects by signatures.
    pub(super) fn late(self) -> Walk<'a> {
        Walk { late: Some(Signatures::default()), ..self }
    }

    /// Walks. `eligible` says which instructions are replaced, and may be leaders.
    pub(super) fn run(
        mut self,
        func: &mut Function,
        cx: &mut PhaseContext<'_>,
        eligible: impl Fn(&Function, Inst) -> bool,
    ) -> Changed {
        let mut changed = Changed::No;
        for block in self.facts.preorder() {
            let behind = behind_phis(func, block);
            self.late.iter_mut().for_each(|signatures| signatures.enter(self.facts, block));
            let mut next = func.first_inst(block);
            while let Some(inst) = next {
                next = func.next_inst(inst);
                changed |= self.operands(func, cx, inst);
                if eligible(func, inst) {
                    changed |= self.inst(func, cx, block, behind, inst);
                }
                if self.follows_copies {
                    self.values.follow(func, inst);
                    self.follow_address(func, block, inst);
                }
            }
            self.late.iter_mut().for_each(|signatures| signatures.leave(block));
        }
        changed
    }

    /// Notes a copy of an address that was copied before, so that what is computed of the two is one expression.
    fn follow_address(&mut self, func: &Function, block: Block, inst: Inst) {
        let Some(copy) = copied_address(func, inst) else { return };
        self.key.assign(func, inst, |reg| reg.as_u32(), None);
        let above = *self.table.entry(&self.key, || None).0;
        match self.in_scope(above, block).and_then(|place| copied_address(func, self.leaders[place].inst)) {
            Some(first) => self.addresses.join(copy, first),
            None => {
                *self.table.entry(&self.key, || None).0 = Some(self.leaders.len());
                self.leaders.push(Leader { inst, block, version: None, above });
            }
        }
    }

    /// Has an instruction read the representatives of what it reads.
    fn operands(&self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst) -> Changed {
        let values = &self.values;
        if self.late.is_none() || func.uses(inst).all(|reg| values.of(reg) == reg) || !cx.rewrite(OPERAND) {
            return Changed::No;
        }
        func.inputs_mut(inst).iter_mut().for_each(|operand| *operand = operand.map_reg(|reg| values.of(reg)));
        let guard = func.inst(inst).guard;
        func.set_guard(inst, guard.map(|guard| guard.with_reg(values.of(guard.reg()))));
        Changed::Yes
    }

    fn inst(
        &mut self,
        func: &mut Function,
        cx: &mut PhaseContext<'_>,
        block: Block,
        behind: Inst,
        inst: Inst,
    ) -> Changed {
        let Some(leader) = self.leader(func, block, inst) else { return Changed::No };
        if !cx.rewrite(commoned(func, inst)) {
            return Changed::No;
        }
        let values: Vec<Reg> = func.defs(leader).map(|reg| self.values.of(reg)).collect();
        func.defs(inst).zip(&values).for_each(|(reg, value)| self.values.join(reg, *value));
        replace(func, inst, behind, &values);
        Changed::Yes
    }

    /// The instruction that has computed the same, if there is one; else this one is the leader from here on.
    fn leader(&mut self, func: &Function, block: Block, inst: Inst) -> Option<Inst> {
        let (values, addresses) = (&self.values, &self.addresses);
        self.key.assign(func, inst, |reg| addresses.of(values.of(reg)).as_u32(), None);
        let nearest = *self.table.entry(&self.key, || None).0;
        let may_stand = |signatures: &mut Signatures| signatures.may_stand(func, inst, &self.key);
        let nearest = match self.late.as_mut().is_none_or(may_stand) {
            true => self.in_scope(nearest, block),
            false => {
                debug_assert_eq!(self.in_scope(nearest, block), None, "{inst} has an equal that signatures reject");
                None
            }
        };
        let mut leader = Leader { inst, block, version: None, above: nearest };
        if let Some(nearest) = nearest {
            if !func.inst(inst).is(Flags::READS) {
                return Some(self.leaders[nearest].inst);
            }
            leader.version = self.facts.version(inst);
            if self.version(nearest) == leader.version {
                return Some(self.leaders[nearest].inst);
            }
        }
        let place = self.leaders.len();
        self.leaders.push(leader);
        *self.table.entry(&self.key, || None).0 = Some(place);
        None
    }

    /// The nearest of some leaders from which a block can have the value.
    fn in_scope(&self, mut nearest: Option<usize>, block: Block) -> Option<usize> {
        let sees = |leader: &Leader| match self.scope {
            Scope::Block => leader.block == block,
            Scope::Dominators => self.facts.dominates(leader.block, block),
        };
        while let Some(leader) = nearest.map(|place| &self.leaders[place]).filter(|leader| !sees(leader)) {
            nearest = leader.above;
        }
        nearest
    }

    /// The state of memory that a leader reads; it is asked for once.
    fn version(&mut self, leader: usize) -> Option<MemoryState> {
        let leader = &mut self.leaders[leader];
        leader.version = leader.version.or_else(|| self.facts.version(leader.inst));
        leader.version
    }
}
