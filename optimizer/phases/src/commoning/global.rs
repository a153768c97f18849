//! The full variant of GvnCse (`spec/copy-propagation-and-cse.txt`, "Full GVN Body").
//!
//! First all values are numbered ([`super::numbering`]), and the blocks in which an instruction shares its number with
//! another one are recorded in the scope tree, by their place in the preorder of the dominator tree. Then the recorded
//! blocks come out of it in that order; in each, an instruction whose value a leader above has becomes copies of the
//! leader, and the others are leaders themselves. A leader whose block does not dominate the one at hand never
//! dominates a later one. Targets that order commutative operands have those of the recorded blocks put in order.
//!
//! Linear in instructions, beside what memory SSA costs for loads that meet an equal one.

use cranelift_entity::SecondaryMap;

use super::commoned;
use super::facts::Facts;
use super::leaders::{behind_phis, replace};
use super::numbering::Numbers;
use super::scope_tree::ScopeTree;
use oriole_ir::ops::Flags;
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::pass::{Changed, PhaseContext};

/// What an exchange of operands is counted as.
const ORDER: &str = "common:order";

/// From where a value may be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// From every block that dominates.
    Dominators,
    /// From blocks of the same extended block: those from which each way down to the block at hand meets no join.
    ExtendedBlock,
}

/// Numbers the values of a function and commons those that are eligible.
pub(super) fn run(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    facts: &Facts,
    reach: Reach,
    eligible: impl Fn(&Function, Inst) -> bool,
) -> Changed {
    let numbers = Numbers::new(func, facts, |inst| eligible(func, inst));
    let preorder = facts.preorder();
    let mut scopes = ScopeTree::default();
    for (place, block) in (0u32..).zip(&preorder) {
        let mut insts = func.block_insts(*block);
        if insts.any(|inst| eligible(func, inst) && numbers.is_shared(func, inst)) {
            scopes.insert(place);
        }
    }
    let leaders = vec![None; numbers.count()];
    let mut pass = Full { facts, numbers, roots: roots(func, facts, &preorder, reach), leaders };
    let mut changed = Changed::No;
    for place in scopes.drain() {
        changed |= pass.block(func, cx, preorder[place as usize], &eligible);
    }
    changed
}

/// By block: the first block of its extended block, or the entry where all blocks count as one.
fn roots(func: &Function, facts: &Facts, preorder: &[Block], reach: Reach) -> SecondaryMap<Block, Block> {
    let mut roots = SecondaryMap::with_default(func.entry());
    for block in preorder.iter().filter(|_| reach == Reach::ExtendedBlock) {
        roots[*block] = match facts.cfg.predecessors(*block) {
            [above] if *block != func.entry() => roots[*above],
            _ => *block,
        };
    }
    roots
}

struct Full<'a> {
    facts: &'a Facts,
    numbers: Numbers,
    roots: SecondaryMap<Block, Block>,
    /// By value number: the register that was defined last with it, and the block.
    leaders: Vec<Option<(Reg, Block)>>,
}

impl Full<'_> {
    fn block(
        &mut self,
        func: &mut Function,
        cx: &mut PhaseContext<'_>,
        block: Block,
        eligible: impl Fn(&Function, Inst) -> bool,
    ) -> Changed {
        let mut changed = Changed::No;
        let behind = behind_phis(func, block);
        let mut next = func.first_inst(block);
        while let Some(inst) = next {
            next = func.next_inst(inst);
            if !eligible(func, inst) {
                continue;
            }
            match self.values(func, block, inst) {
                Some(values) if cx.rewrite(commoned(func, inst)) => {
                    replace(func, inst, behind, &values);
                    changed = Changed::Yes;
                }
                Some(_) => {}
                None => {
                    func.defs(inst).for_each(|reg| self.leaders[self.numbers.get(reg) as usize] = Some((reg, block)));
                    changed |= self.order(func, cx, inst);
                }
            }
        }
        changed
    }

    /// The registers that have the values of an instruction's results already.
    fn values(&self, func: &Function, block: Block, inst: Inst) -> Option<Vec<Reg>> {
        let value = |reg: Reg| {
            let (leader, above) = self.leaders[self.numbers.get(reg) as usize]?;
            let near = self.roots[above] == self.roots[block] && self.facts.dominates(above, block);
            (near && func.regs()[leader] == func.regs()[reg]).then_some(leader)
        };
        func.defs(inst).map(value).collect()
    }

    /// Puts the first two operands in the order of their numbers, where they can be exchanged and the target wants it.
    fn order(&self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst) -> Changed {
        let [Operand::Reg(first), Operand::Reg(second), ..] = *func.srcs(inst) else { return Changed::No };
        let in_order = self.numbers.get(first) <= self.numbers.get(second);
        let wanted = cx.target.orders_commutative_operands() && func.inst(inst).is(Flags::COMMUTATIVE);
        if in_order || !wanted || !cx.rewrite(ORDER) {
            return Changed::No;
        }
        func.srcs_mut(inst).swap(0, 1);
        Changed::Yes
    }
}
