//! OriDoPredication (phase 63): short branches become guarded instructions.
//!
//! `spec/copy-propagation-and-cse.txt` says what comes of it, "converts branches to predicated instructions", whose
//! redundancies LateOriCommoning then removes; how is left open. Here:
//!
//! - a branch is converted whose arms, one or two, hold nothing but a few instructions, and lead to one join
//!   (`region.rs`);
//! - an instruction of an arm gets the arm's guard. A phi of the join becomes the `else` value of the instruction that
//!   computes it, or a selection where there is none. Loads and stores are always guarded; what is pure runs for all
//!   threads where something under another guard reads it (`plan.rs`);
//! - the join becomes a part of the block, so that the branch behind it can follow at once, and branches around both in
//!   the next round (`convert.rs`). An instruction that has a guard of its own gets one that holds where both do.
//!
//! Whether it pays: a thread saves the branches and pays for selections and combined guards, whose number
//! `PredicationOverhead` limits; a warp that takes one arm issues the other one too, so the arms' weight is limited by
//! `PredicationUniform` where the branch is known to be the same for the warp, and by `PredicationDivergent` where both
//! arms may run anyway. What takes long or threads do together is in no arm. A pure result that is guarded without an
//! `else` value becomes an operation and a selection in ptxas, and so does an atomic operation with a result, so
//! `PredicationPartial` limits the words of these.
//!
//! Cost: a round is near-linear; rounds end when one changes nothing, or by `PredicationRounds`.

mod convert;
mod plan;
mod region;

use cranelift_entity::{EntitySet, SecondaryMap};

use convert::Conversion;
use oriole_ir::{Block, Function, Rewriter};
use oriole_pass::analysis::{AnalysisSet, Cfg, Divergence, Uniformity};
use oriole_pass::engine::rounds::rounds;
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use plan::{Limits, Plan};
use region::Region;

const RULE: &str = "predicate";

/// OriDoPredication.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Knob::PredicationRounds, |func, cx| {
        let changed = round(func, cx);
        if changed.is_yes() {
            cx.analyses.retain(AnalysisSet::NONE);
        }
        changed
    })
}

/// Each branch once, in an order in which a join becomes a part of the block before it ends with another branch that is
/// converted: so each instruction moves to another block once in a round.
fn round(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut ways: SecondaryMap<Block, u32> = SecondaryMap::new();
    cfg.blocks().iter().for_each(|block| ways[*block] = cfg.predecessors(*block).len() as u32);
    if !cfg.rpo().iter().any(|block| Region::of(func, &ways, *block).is_some()) {
        return Changed::No;
    }
    let limits = Limits::new(cx.knobs);
    let mut state = State { func: Rewriter::new(func), ways, gone: EntitySet::new(), ends_of: SecondaryMap::new() };
    if !cfg.rpo().iter().any(|head| state.plan(*head).is_some()) {
        return Changed::No;
    }
    let divergence = cx.analyses.get::<Divergence>(&state.func);
    for head in cfg.rpo() {
        let uniform = |state: &State<'_>| divergence.branch(state.end_of(*head)) > Uniformity::Varying;
        while let Some(plan) = state.plan(*head).filter(|plan| plan.pays(&limits, uniform(&state))) {
            if !cx.rewrite(RULE) {
                return state.finish();
            }
            state.convert(plan);
        }
    }
    state.finish()
}

/// A function under conversion.
struct State<'f> {
    func: Rewriter<'f>,
    /// By block: how many blocks lead to it.
    ways: SecondaryMap<Block, u32>,
    /// Blocks that have become parts of others.
    gone: EntitySet<Block>,
    /// By block: the one whose branch it ends with.
    ends_of: SecondaryMap<Block, Option<Block>>,
}

impl State<'_> {
    fn plan(&self, head: Block) -> Option<Plan> {
        if self.gone.contains(head) {
            return None;
        }
        Plan::new(&self.func, Region::of(&self.func, &self.ways, head)?)
    }

    fn convert(&mut self, plan: Plan) {
        let region = plan.region.clone();
        Conversion::new(&mut self.func, plan).run(self.ways[region.join] == region.edges());
        self.gone.extend(region.arms.iter().map(|arm| arm.block));
        self.ways[region.join] -= region.edges() - 1;
        if self.ways[region.join] == 1 && convert::absorb(&mut self.func, region.head, region.join) {
            self.gone.insert(region.join);
            self.ends_of[region.head] = Some(self.end_of(region.join));
        }
    }

    /// The block that a block's branch was the end of at first.
    fn end_of(&self, block: Block) -> Block {
        self.ends_of[block].unwrap_or(block)
    }

    fn finish(self) -> Changed {
        let State { func, gone, .. } = self;
        func.into_function().retain_blocks(|block| !gone.contains(*block));
        Changed::when(!gone.is_empty())
    }
}
