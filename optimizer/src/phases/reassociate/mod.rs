//! OriReassociateAndCommon (phase 50): associative expressions in canonical form, then what became equal once
//! (`spec/copy-propagation-and-cse.txt`, "Phase 50").
//!
//! 1. Each tree of one associative operation is flattened ([`tree`]): integers modulo 2^n and bits alone, since floats
//!    round, and saturation and carries depend on the order.
//! 2. It is planned anew ([`sum`], [`chain`]): constants folded together, like terms and common factors gathered, the
//!    leaves in canonical order, constants last and the others by value number, which is where they are defined in
//!    reverse post-order; then one operation after the other, leaning left, so that equal beginnings of two trees are
//!    equal operations.
//! 3. A tree becomes what is planned where that makes it smaller or cheaper by itself, or where it then shares an
//!    operation with another tree ([`sharing`]). Others keep their order. The page reorders all; ptxas, which
//!    regroups for its three-input operations, makes more of most trees as they were written.
//! 4. Equal operations of a block become one ([`local`]).
//!
//! Needs SSA form; the opcodes are those of the virtual level. All of that is a round; the next one looks at what the
//! commoning made equal. Cost: a round is linear but for sorting.

mod chain;
mod common_factor;
mod local;
mod plan;
mod sharing;
mod sum;
mod tree;
#[cfg(test)]
mod tests;

use cranelift_entity::EntitySet;

use self::plan::Plan;
use self::tree::{Operation, Range, Tree};
use crate::analysis::{Cfg, Dominators};
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::{Block, Function, Inst, Rewriter};

const FOLD: &str = "reassociate-constants";
const LIKE_TERMS: &str = "reassociate-like-terms";
const REPEATED: &str = "reassociate-repeated";
const DISTRIBUTE: &str = "distribute";
const ORDER: &str = "reassociate";

/// Rounds at most: each level of an expression whose parts only reassociation makes equal takes one.
const ROUNDS: usize = 8;

/// What the knobs leave to decide.
struct Settings {
    range: Range,
    large_constants: bool,
    distributions: u32,
    window: u32,
}

/// Reassociates.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !cx.knobs.flag(Knob::AllowReassociateCSE) {
        return Changed::No;
    }
    let limit = |knob| cx.knobs.limit(knob).unwrap_or(u32::MAX);
    let mut settings = Settings {
        range: Range {
            skip: cx.knobs.limit(Knob::ReassociateCSESkip).unwrap_or(0),
            budget: limit(Knob::ReassociateCSEBudget),
        },
        large_constants: cx.knobs.flag(Knob::ReassociateLargeImmInUIADD64),
        distributions: limit(Knob::DistributeAndReassociateMulBudget),
        window: limit(Knob::ReassociateCSEWindow),
    };
    let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Dominators>(func));
    let mut func = Rewriter::new(func);
    let mut changed = Changed::No;
    for round in 0..ROUNDS {
        // First what is smaller by itself: a partial result that two trees share belongs to neither. Then what is equal
        // as it stands, which needs no other order.
        let order = (round > 0).then_some(&*dominators);
        let mut made = reassociate(&mut func, cx, &cfg, order, &mut settings);
        made |= local::common(&mut func, cx, &cfg, settings.window);
        changed |= made;
        if round > 0 && !made.is_yes() {
            break;
        }
    }
    changed
}

/// One round over all trees; reorders them where `dominators` say that they share something then.
fn reassociate(
    func: &mut Rewriter<'_>,
    cx: &mut PhaseContext<'_>,
    cfg: &Cfg,
    dominators: Option<&Dominators>,
    settings: &mut Settings,
) -> Changed {
    let (trees, ranks) = tree::collect(func, cfg, settings.range);
    let plan = |tree: &Tree| match tree.kind.operation {
        Operation::Sum => sum::plan(func, tree, &ranks, settings),
        Operation::Chain(opcode) => chain::plan(func, tree, opcode, &ranks),
    };
    let plans: Vec<(Block, Plan)> = trees.iter().map(plan_in_block(plan)).collect();
    let shared = match dominators {
        Some(dominators) => sharing::shared(&plans, cfg, dominators),
        None => vec![false; plans.len()],
    };
    let mut touched = EntitySet::new();
    let mut changed = Changed::No;
    for ((tree, (_, plan)), shares) in trees.iter().zip(&plans).zip(shared) {
        changed |= rebuild(func, cx, tree, plan, shares, &mut touched);
    }
    changed
}

fn plan_in_block(mut plan: impl FnMut(&Tree) -> Plan) -> impl FnMut(&Tree) -> (Block, Plan) {
    move |tree| (tree.block, plan(tree))
}

/// Makes of a tree what is planned, where that pays. What another tree of this round has touched waits for the next.
fn rebuild(
    func: &mut Rewriter<'_>,
    cx: &mut PhaseContext<'_>,
    tree: &Tree,
    plan: &Plan,
    shares: bool,
    touched: &mut EntitySet<Inst>,
) -> Changed {
    let Some(rule) = plan.rule.or(shares.then_some(ORDER)) else { return Changed::No };
    let mut inner: Vec<Inst> = tree.inner.iter().chain(&plan.absorbed).copied().collect();
    if inner.iter().chain([&tree.root]).any(|inst| touched.contains(*inst)) {
        return Changed::No;
    }
    tree::sort(func, &mut inner);
    let longer = plan.ops.len() > inner.len() + 1;
    if longer || plan.is_met_by(func, &inner, tree.root) || !cx.rewrite(rule) {
        return Changed::No;
    }
    touched.extend(inner.iter().copied().chain([tree.root]));
    plan.apply(func, &inner, tree.root);
    Changed::Yes
}
