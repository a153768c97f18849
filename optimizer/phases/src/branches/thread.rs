//! Branches whose outcome is known: in a block, where a branch above has decided it (`branch:known`), and on one way
//! into a block, which then leads on at once (`branch:thread`).
//!
//! One walk down the dominator tree collects both ([`Facts`]). A way from `p` through `b` to `t` becomes one from `p`
//! through a copy of `b` to `t`; the copy has one predecessor and merges with it. It is threaded only if
//!
//! - `b` is not the header of a loop, and any loop around it contains `p` too: then no loop gets a second entry;
//! - `b` defines few registers that are read behind it, which get phis where the copies' ways meet;
//! - `b` has at most as many instructions as the knob `BranchOptThreadInsts` says, none of which threads execute
//!   together;
//! - in a function with such instructions, none of them stands where threads that meet in `b` would come apart: in the
//!   blocks from `b` to its immediate post-dominator.
//!
//! Each way in a plan was there before, so facts that dominance gives stay true while other plans are carried out.
//! Cost: linear, and near-linear for ranges.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::forward::{MOST_INCOMING, is_header};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{Cfg, LoopNest, PostDominators, Uses};
use oriole_pass::edit::graph::{add_incoming, incoming, is_free, map_targets, phis, remove_incoming, two_ways};
use oriole_pass::engine::branch_facts::{Facts, Place};
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use oriole_pass::ssa::{Copies, repair};
use rustc_hash::FxHashMap;

/// Blocks between a branch and its post-dominator that are looked at.
const MOST_BETWEEN: usize = 32;
/// Registers of a block that is copied which may be read behind it: each gets phis.
const MOST_ESCAPING: usize = 6;

/// A change of the graph that facts allow.
#[derive(Clone)]
enum Plan {
    /// The branch of a block always goes to this one.
    Always(Block, Block),
    /// From the first block through the second to the third; what the second defines and is read behind it.
    Through(Block, Block, Block, Vec<Reg>),
}

/// Decides and threads branches.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !func.layout().iter().any(|block| two_ways(func, *block).is_some()) {
        return Changed::No;
    }
    let plans = Search::new(func, cx).plans();
    let mut changed = Changed::No;
    let mut edits = Edits::default();
    for plan in plans {
        let allowed = match &plan {
            Plan::Always(block, to) => is_open(func, *block, *to) && cx.rewrite("branch:known"),
            Plan::Through(from, block, to, _) => leads(func, *from, *block, *to) && cx.rewrite("branch:thread"),
        };
        if allowed {
            edits.apply(func, plan);
            changed = Changed::Yes;
        }
    }
    edits.finish(func);
    changed
}

/// Whether a block's branch still has a choice, one of them this.
fn is_open(func: &Function, block: Block, to: Block) -> bool {
    two_ways(func, block).is_some_and(|(_, yes, no)| to == yes || to == no)
}

/// Whether a way is still there.
fn leads(func: &Function, from: Block, block: Block, to: Block) -> bool {
    func.successors(from).any(|next| next == block) && is_open(func, block, to)
}

struct Search<'a> {
    func: &'a Function,
    facts: Facts,
    uses: Arc<Uses>,
    nest: Arc<LoopNest>,
    /// Where threads do something together in the function.
    post_dominators: Option<Arc<PostDominators>>,
    most_insts: usize,
    plans: Vec<Plan>,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, cx: &mut PhaseContext<'_>) -> Search<'a> {
        let convergent = func.layout_insts().any(|inst| func.inst(inst).is(Flags::CONVERGENT));
        let most_insts = cx.knobs.limit(Knob::BranchOptThreadInsts).map_or(usize::MAX, |most| most as usize);
        Search {
            func,
            facts: Facts::new(func, cx),
            uses: cx.analyses.get(func),
            nest: cx.analyses.get(func),
            post_dominators: convergent.then(|| cx.analyses.get(func)),
            most_insts,
            plans: Vec::new(),
        }
    }

    fn plans(mut self) -> Vec<Plan> {
        let preorder: Vec<Block> = self.facts.dominators.preorder(&self.facts.cfg).collect();
        // The blocks that dominate the current one, each with the number of facts before it.
        let mut open: Vec<(Block, usize)> = Vec::new();
        for block in preorder {
            let (cfg, dominators) = (self.facts.cfg.clone(), self.facts.dominators.clone());
            while let Some((_, mark)) = open.pop_if(|(top, _)| !dominators.dominates(&cfg, *top, block)) {
                self.facts.forget(mark);
            }
            open.push((block, self.facts.mark()));
            if let [from] = *self.facts.cfg.predecessors(block) {
                self.facts.learn_edge(self.func, from, block);
            }
            self.block(block);
        }
        self.plans
    }

    fn block(&mut self, block: Block) {
        if let Some((condition, yes, no)) = two_ways(self.func, block) {
            let place = Place { end_of: block, through: None };
            if let Some(value) = self.facts.decide(self.func, condition, place) {
                return self.plans.push(Plan::Always(block, if value { yes } else { no }));
            }
        }
        for next in self.facts.cfg.successors(block).to_vec() {
            let Some((condition, yes, no)) = two_ways(self.func, next).filter(|_| next != block) else { continue };
            let mark = self.facts.mark();
            self.facts.learn_edge(self.func, block, next);
            let place = Place { end_of: block, through: Some(next) };
            let value = self.facts.decide(self.func, condition, place);
            self.facts.forget(mark);
            let to = value.map(|value| if value { yes } else { no });
            if let Some(to) = to.filter(|to| self.may_thread(block, next, *to)) {
                let escaping = escaping(self.func, &self.facts.cfg, &self.uses, next);
                self.plans.push(Plan::Through(block, next, to, escaping));
            }
        }
    }

    fn may_thread(&self, from: Block, block: Block, to: Block) -> bool {
        let (func, cfg) = (self.func, &self.facts.cfg);
        let several = (2..=MOST_INCOMING).contains(&cfg.predecessors(block).len());
        let natural = self
            .nest
            .innermost(cfg, block)
            .is_none_or(|around| self.nest.is_natural(around) && self.nest.contains(cfg, around, from));
        let few = func.block_insts(block).len() - phis(func, block).count() <= self.most_insts.saturating_add(1);
        let fits = phis(func, to).all(|phi| func.srcs(phi).len() <= 2 * MOST_INCOMING);
        several
            && natural
            && few
            && fits
            && to != block
            && !is_header(cfg, block)
            && self.is_copyable(block)
            && self.stays_together(block)
    }

    /// Whether a block's instructions may stand twice, and few of the registers that it defines are read behind it.
    fn is_copyable(&self, block: Block) -> bool {
        let func = self.func;
        let branch = func.terminator(block);
        let free = |inst: Inst| Some(inst) == branch || is_free(func, inst);
        let can_copy = |reg: Reg| func.regs()[reg].mov_type().is_some();
        let all = func.block_insts(block).all(|inst| free(inst) && func.defs(inst).all(can_copy));
        all && escaping(func, &self.facts.cfg, &self.uses, block).len() <= MOST_ESCAPING
    }

    /// Whether threads do nothing together between a block and where all of them meet behind it.
    fn stays_together(&self, block: Block) -> bool {
        let Some(post_dominators) = &self.post_dominators else { return true };
        let (func, cfg) = (self.func, &self.facts.cfg);
        let end = post_dominators.immediate_post_dominator(cfg, block);
        let (mut seen, mut at) = (vec![block], 0);
        while let Some(here) = seen.get(at).copied() {
            at += 1;
            if seen.len() > MOST_BETWEEN || func.block_insts(here).any(|inst| func.inst(inst).is(Flags::CONVERGENT)) {
                return false;
            }
            for next in cfg.successors(here) {
                if Some(*next) != end && !seen.contains(next) {
                    seen.push(*next);
                }
            }
        }
        true
    }
}

/// The registers that a block defines and that are read elsewhere than in it and on the edges from it.
fn escaping(func: &Function, cfg: &Cfg, uses: &Uses, block: Block) -> Vec<Reg> {
    let mut reads: FxHashMap<Reg, u32> = FxHashMap::default();
    let mut own = |reg: Reg| *reads.entry(reg).or_default() += 1;
    let computed = func.block_insts(block).skip_while(|inst| func.inst(*inst).opcode == Opcode::Phi);
    computed.flat_map(|inst| func.uses(inst)).for_each(&mut own);
    for phi in cfg.successors(block).iter().flat_map(|next| phis(func, *next)) {
        incoming(func, phi, block).and_then(Operand::reg).into_iter().for_each(&mut own);
    }
    let defined = func.block_insts(block).flat_map(|inst| func.defs(inst));
    defined.filter(|reg| uses.count(*reg) != reads.get(reg).copied().unwrap_or(0)).collect()
}

/// What is done to the whole function at the end, since it costs the size of layout and phis.
#[derive(Default)]
struct Edits {
    /// By block: the copies that are to follow it.
    copies: FxHashMap<Block, Vec<Block>>,
    /// Edges that are gone, target first.
    lost: Vec<(Block, Block)>,
    /// By register that is read behind its block: what copies of the block have in its place.
    copied: BTreeMap<Reg, Copies>,
}

impl Edits {
    fn apply(&mut self, func: &mut Function, plan: Plan) {
        match plan {
            Plan::Always(block, to) => {
                self.lost.extend(func.successors(block).filter(|next| *next != to).map(|next| (next, block)));
                if let Some(branch) = func.terminator(block) {
                    InstBuilder::new(Opcode::Bra).src(to).replace(func, branch);
                }
            }
            Plan::Through(from, block, to, escaping) => {
                self.lost.push((block, from));
                let (copy, names) = through(func, from, block, to, &escaping);
                self.copies.entry(from).or_default().push(copy);
                let copied = escaping.into_iter().zip(names);
                copied.for_each(|(reg, name)| self.copied.entry(reg).or_default().push((copy, name)));
            }
        }
    }

    fn finish(mut self, func: &mut Function) {
        self.lost.sort_unstable();
        for edges in self.lost.chunk_by(|a, b| a.0 == b.0) {
            remove_incoming(func, edges[0].0, |from| edges.binary_search(&(edges[0].0, from)).is_ok());
        }
        if !self.copies.is_empty() {
            let mut layout = Vec::new();
            for block in func.layout() {
                layout.push(*block);
                layout.extend(self.copies.get(block).into_iter().flatten());
            }
            func.set_layout(layout);
        }
        repair(func, &self.copied.into_iter().collect::<Vec<_>>());
    }
}

/// Sends control that comes from one block through a copy of the next one, which is returned with the registers that it
/// has in the place of some.
fn through(func: &mut Function, from: Block, block: Block, to: Block, escaping: &[Reg]) -> (Block, Vec<Reg>) {
    let mut copy = Copy { block: func.create_block(), values: FxHashMap::default() };
    for phi in phis(func, block).collect::<Vec<Inst>>() {
        if let (Some(dst), Some(value)) = (func.defs(phi).next(), incoming(func, phi, from)) {
            copy.values.insert(dst, value);
        }
    }
    let branch = func.terminator(block);
    let body: Vec<Inst> = func.block_insts(block).skip_while(|inst| func.inst(*inst).opcode == Opcode::Phi).collect();
    body.into_iter().filter(|inst| Some(*inst) != branch).for_each(|inst| copy.inst(func, inst));
    for phi in phis(func, to).collect::<Vec<Inst>>() {
        if let Some(value) = incoming(func, phi, block) {
            let value = copy.leaving(func, value);
            add_incoming(func, phi, value, copy.block);
        }
    }
    let names = escaping.iter().map(|reg| copy.name(func, *reg)).collect();
    InstBuilder::new(Opcode::Bra).src(to).append(func, copy.block);
    map_targets(func, from, |target| if target == block { copy.block } else { target });
    (copy.block, names)
}

/// A copy of a block for one of its predecessors.
struct Copy {
    block: Block,
    /// By register that the block defines: its value in the copy.
    values: FxHashMap<Reg, Operand>,
}

impl Copy {
    fn inst(&mut self, func: &mut Function, inst: Inst) {
        let mut head = func.inst(inst).head();
        head.guard = head.guard.map(|guard| guard.with_reg(self.register(func, guard.reg())));
        let [srcs, elses] = [func.srcs(inst).to_vec(), func.elses(inst).to_vec()]
            .map(|list| list.into_iter().map(|operand| self.operand(func, operand)).collect::<Vec<Operand>>());
        let mut dsts = func.dsts(inst).to_vec();
        for dst in &mut dsts {
            if let Some(reg) = dst.reg() {
                let own = func.new_reg(func.regs()[reg]);
                self.values.insert(reg, own.into());
                *dst = own.into();
            }
        }
        let made = func.new_inst(head, &dsts, &srcs, &elses);
        func.append_inst(self.block, made);
    }

    /// What is in the copy for a register: positions that take one may take nothing else.
    fn register(&mut self, func: &mut Function, reg: Reg) -> Reg {
        let Some(value) = self.values.get(&reg).copied() else { return reg };
        if let Operand::Reg(own) = value {
            return own;
        }
        let (info, value) = (func.regs()[reg], func.free(value));
        let own = func.new_reg(info);
        let ty = info.mov_type().expect("checked before the branch was threaded");
        InstBuilder::new(Opcode::Mov).field(ty).dst(own).src(value).append(func, self.block);
        self.values.insert(reg, own.into());
        own
    }

    /// A register of the copy alone for what is read behind it.
    fn name(&mut self, func: &mut Function, reg: Reg) -> Reg {
        let value = self.register(func, reg);
        let own = func.new_reg(func.regs()[reg]);
        let ty = func.regs()[reg].mov_type().expect("checked before the branch was threaded");
        InstBuilder::new(Opcode::Mov).field(ty).dst(own).src(value).append(func, self.block);
        own
    }

    fn operand(&mut self, func: &mut Function, operand: Operand) -> Operand {
        match operand.reg() {
            Some(reg) => {
                let own = self.register(func, reg);
                operand.map_reg(|_| own)
            }
            None => operand,
        }
    }

    /// What stands for a value on the edge that leaves the copy. An undefined value stays one for all who read it.
    fn leaving(&mut self, func: &mut Function, value: Operand) -> Operand {
        let known = value.whole_reg().and_then(|reg| self.values.get(&reg).copied());
        match known.filter(|known| *known != Operand::Undef) {
            Some(known) => known,
            None => self.operand(func, value),
        }
    }
}
