//! `adce`: what no effect depends on goes, cycles and branches included (`spec/pass-pipeline.txt`, line 1232: ADCE).
//!
//! Everything is taken to be dead at first. What must stay is marked: effects, what threads do together, returns, and
//! the branches that lead back in a loop, since a loop may be all that keeps a thread from its end. What a marked
//! instruction reads is marked, and the branches that decide whether control comes to its block, which is control
//! dependence ([`oriole_pass::analysis::PostDominators`]); for a phi, those that decide by which way. A branch without
//! a mark chooses between ways on which nothing is marked: it goes to where they meet.
//!
//! Threads that would part at such a branch stay together, and are where they would have met.
//!
//! Dead code that is not in a cycle, and what reads nothing of a branch, `dce` finds as well. All that is dead goes
//! together, as one change: parts of it may depend on each other.
//!
//! Cost: linear in instructions and control dependences.

use cranelift_entity::{EntityRef, EntitySet};

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst};
use oriole_pass::analysis::bitset::BitSet;
use oriole_pass::analysis::{AnalysisSet, Cfg, ControlDependences, Definitions, PostDominators};
use oriole_pass::edit::graph::{always, keep_reachable};
use oriole_pass::engine::dead_code::may_go;
use oriole_pass::pass::{Changed, PhaseContext};

/// The adce pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, post_dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<PostDominators>(func));
    let definitions = cx.analyses.get::<Definitions>(func);
    let dependences = post_dominators.control_dependences(&cfg);
    let marked = Marking::new(func, &cfg, &dependences, &definitions).run();
    let is_branch = |inst: Inst| func.inst(inst).is(Flags::TERMINATOR);
    let is_dead = |inst: &Inst| !marked.contains(inst.index());
    let dead: Vec<Inst> = func.layout_insts().filter(|inst| is_dead(inst) && !is_branch(*inst)).collect();
    let decides = |block: &Block| func.successors(*block).count() > 1;
    let dead_branch = |block: &Block| decides(block) && func.terminator(*block).is_some_and(|inst| is_dead(&inst));
    let meeting = |block: &Block| Some((*block, post_dominators.immediate_post_dominator(&cfg, *block)?));
    let branches: Vec<(Block, Block)> =
        cfg.rpo().iter().filter(|block| dead_branch(block)).filter_map(meeting).collect();
    if dead.is_empty() && branches.is_empty() || !cx.rewrite("dead-unmarked") {
        return Changed::No;
    }
    dead.into_iter().for_each(|inst| func.remove_inst(inst));
    if branches.is_empty() {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
        return Changed::Yes;
    }
    branches.into_iter().for_each(|(block, to)| always(func, block, to));
    let cfg = Cfg::new(func);
    keep_reachable(func, &cfg);
    Changed::Yes
}

struct Marking<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dependences: &'a ControlDependences,
    definitions: &'a Definitions,
    /// By number: the instructions that stay.
    marked: BitSet,
    /// The blocks of which it matters whether control comes to them.
    reached: EntitySet<Block>,
    work: Vec<Inst>,
}

impl<'a> Marking<'a> {
    fn new(
        func: &'a Function,
        cfg: &'a Cfg,
        dependences: &'a ControlDependences,
        definitions: &'a Definitions,
    ) -> Marking<'a> {
        let marked = BitSet::new(func.insts().len());
        Marking { func, cfg, dependences, definitions, marked, reached: EntitySet::new(), work: Vec::new() }
    }

    fn run(mut self) -> BitSet {
        for block in self.func.layout() {
            let is_reachable = self.cfg.is_reachable(*block);
            let ends = self.func.successors(*block).next().is_none();
            for inst in self.func.block_insts(*block) {
                let is_branch = self.func.inst(inst).is(Flags::TERMINATOR);
                if !is_reachable || if is_branch { ends } else { !may_go(self.func, inst) } {
                    self.mark(inst);
                }
            }
            let number = self.cfg.rpo_number(*block);
            if self.func.successors(*block).any(|next| self.cfg.rpo_number(next) <= number) {
                self.arrive_by(*block);
            }
        }
        while let Some(inst) = self.work.pop() {
            self.depend(inst);
        }
        self.marked
    }

    fn mark(&mut self, inst: Inst) {
        if self.marked.insert(inst.index()) {
            self.work.push(inst);
        }
    }

    /// Marks what an instruction needs.
    fn depend(&mut self, inst: Inst) {
        for reg in self.func.uses(inst) {
            self.definitions.inst(reg).into_iter().for_each(|definition| self.mark(definition));
        }
        self.func.block_of(inst).into_iter().for_each(|block| self.reach(block));
        if self.func.inst(inst).opcode == Opcode::Phi {
            let before = self.func.srcs(inst).iter().filter_map(|operand| operand.block());
            before.collect::<Vec<Block>>().into_iter().for_each(|block| self.arrive_by(block));
        }
    }

    /// It matters whether control leaves a block, and where to.
    fn arrive_by(&mut self, block: Block) {
        self.func.terminator(block).into_iter().for_each(|branch| self.mark(branch));
        self.reach(block);
    }

    /// It matters whether control comes to a block.
    fn reach(&mut self, block: Block) {
        if !self.reached.insert(block) {
            return;
        }
        for decider in self.dependences.of(self.cfg, block) {
            self.func.terminator(*decider).into_iter().for_each(|branch| self.mark(branch));
        }
    }
}
