//! Divergence by definition: what may differ between threads of a warp, a CTA, a launch.
//!
//! Each group of threads is looked at by itself, as a yes or no for every register. For a branch `b` that the threads
//! of a group may take differently, with `p` its immediate post-dominator:
//!
//! - `X` is a join where `b` still has a way to `X` when any one block but these two is removed, and when any one edge
//!   from `b` to `X` is. Ways pass neither `b` again nor `p`. Phis in joins vary, unless all their values are one.
//! - Threads are apart in what a join other than `p` leads to without passing `p`. There, phis in blocks with several
//!   predecessors vary, and what instructions yield that are not pure.
//! - Threads of `b` wait in a block with a convergent instruction that `b` has a way to without passing `p`. Where `p`
//!   leads there, others come to them later, and threads of different rounds are together from then on: in all blocks
//!   that `p` leads to and that lead to `p`, the same varies as where threads are apart.
//! - The cycle of `b` are the blocks on closed ways through `b` without `p`. What is defined in it varies outside of
//!   it, if it is one of the loops of the nest, and otherwise everywhere.
//!
//! The least solution, found by going over everything until nothing changes. Cost: about the fourth power of the
//! blocks.

use cranelift_entity::EntityRef;
use oriole_ir::ops::{Flags, NonCoherent, Opcode, Order, Space, SpecialReg};
use oriole_ir::{Function, FunctionKind, Inst, Operand, Reg};

use super::graph::Graph;
use super::nest::loops;
use super::post_dominance::PostDominance;

/// A group of threads, the widest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Lanes of a warp that execute together.
    Warp,
    /// The threads of a CTA.
    Cta,
    /// All threads.
    Launch,
}

/// What may vary in one group of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Varying {
    /// By register: where it is defined.
    pub values: Vec<bool>,
    /// By place in the layout: the branch at its end.
    pub branches: Vec<bool>,
    /// Sets of blocks: what is defined in one of these varies outside of it.
    cycles: Vec<Vec<usize>>,
    /// By register: the place of its definition.
    defined: Vec<Option<usize>>,
}

impl Varying {
    /// What varies in a group while a function in SSA form runs.
    pub fn of(func: &Function, graph: &Graph, group: Group) -> Varying {
        let mut defined = vec![None; func.regs().len()];
        for (at, block) in graph.blocks.iter().enumerate() {
            for reg in func.block_insts(*block).flat_map(|inst| func.dsts(inst)).filter_map(|dst| dst.reg()) {
                defined[reg.index()] = Some(at);
            }
        }
        let (values, branches) = (vec![false; func.regs().len()], vec![false; graph.blocks.len()]);
        let mut varying = Varying { values, branches, cycles: Vec::new(), defined };
        let mut limits = Limits::new(func, graph);
        while varying.pass(func, graph, group, &mut limits) {}
        varying
    }

    /// Whether a register varies where a block reads it.
    pub fn at(&self, reg: Reg, place: usize) -> bool {
        let leaves = |cycle: &Vec<usize>| {
            self.defined[reg.index()].is_some_and(|at| cycle.contains(&at)) && !cycle.contains(&place)
        };
        self.values[reg.index()] || self.cycles.iter().any(leaves)
    }

    /// Goes over everything once; whether something is new.
    fn pass(&mut self, func: &Function, graph: &Graph, group: Group, limits: &mut Limits) -> bool {
        let mut changed = false;
        for (place, block) in graph.blocks.iter().enumerate() {
            for inst in func.block_insts(*block) {
                let varies = self.varies(func, graph, group, limits, place, inst);
                if func.inst(inst).is(Flags::TERMINATOR) {
                    let parts = varies && graph.successors[place].len() > 1 && limits.reachable[place];
                    if parts && !std::mem::replace(&mut self.branches[place], true) {
                        changed = true;
                        self.cycles.extend(limits.part(graph, place));
                    }
                    continue;
                }
                for reg in func.dsts(inst).iter().filter_map(|dst| dst.reg()).filter(|_| varies) {
                    changed |= !std::mem::replace(&mut self.values[reg.index()], true);
                }
            }
        }
        changed
    }

    fn varies(&self, func: &Function, graph: &Graph, group: Group, limits: &Limits, place: usize, inst: Inst) -> bool {
        let data = func.inst(inst);
        if limits.everything[place] && !data.is(Flags::TERMINATOR) {
            return true;
        }
        if data.opcode == Opcode::Phi {
            let pairs: Vec<_> = func.srcs(inst).chunks_exact(2).collect();
            let several = pairs.iter().any(|pair| pair[0] != pairs[0][0]);
            let read = |pair: &&[Operand]| match (pair[0].reg(), pair[1].block()) {
                (Some(reg), Some(from)) => {
                    let from = graph.blocks.iter().position(|block| *block == from);
                    self.at(reg, place) || from.is_some_and(|from| self.at(reg, from))
                }
                _ => false,
            };
            return several && limits.joins[place] || pairs.iter().any(read);
        }
        // What lanes give to a vote may differ; who votes may not.
        let given = usize::from(data.is(Flags::TOGETHER));
        let operands = func.srcs(inst)[given..].iter().chain(func.elses(inst)).filter_map(|operand| operand.reg());
        let read = operands.chain(data.guard.map(|guard| guard.reg())).any(|reg| self.at(reg, place));
        let itself = by_itself(func, inst, group) || !data.is(Flags::PURE) && limits.apart[place];
        read || itself && !data.is(Flags::TERMINATOR)
    }
}

/// What divergent branches do to blocks, by place.
struct Limits {
    reachable: Vec<bool>,
    post: PostDominance,
    nest: Vec<Vec<usize>>,
    waits: Vec<bool>,
    joins: Vec<bool>,
    apart: Vec<bool>,
    everything: Vec<bool>,
}

impl Limits {
    fn new(func: &Function, graph: &Graph) -> Limits {
        let none = vec![false; graph.blocks.len()];
        let nest = loops(graph).into_iter().map(|nested| nested.blocks).collect();
        let convergent = |inst: Inst| func.inst(inst).is(Flags::CONVERGENT);
        let waits = graph.blocks.iter().map(|block| func.block_insts(*block).any(convergent)).collect();
        let (joins, apart, everything) = (none.clone(), none.clone(), none);
        let (reachable, post) = (graph.reachable(0, None), PostDominance::of(graph));
        Limits { reachable, post, nest, waits, joins, apart, everything }
    }

    /// Threads are in different rounds in some blocks.
    fn mix(&mut self, graph: &Graph, blocks: impl Iterator<Item = usize>) {
        for at in blocks {
            self.apart[at] = true;
            self.joins[at] |= graph.predecessors[at].len() > 1;
        }
    }

    /// The blocks in which threads of a branch continue together in different rounds, since some have waited.
    fn mixed(&self, graph: &Graph, branch: usize) -> Vec<usize> {
        let Some(end) = self.post.immediate(branch) else { return Vec::new() };
        let before = ways(graph, branch, &|_, to| to == end);
        let behind = ways(graph, end, &|_, _| false);
        let count = graph.blocks.len();
        if !(0..count).any(|at| self.waits[at] && before[at] && behind[at]) {
            return Vec::new();
        }
        (0..count).filter(|at| behind[*at] && ways(graph, *at, &|_, _| false)[end]).collect()
    }

    /// Threads part at a branch; its cycle, if it is a loop.
    fn part(&mut self, graph: &Graph, branch: usize) -> Option<Vec<usize>> {
        let (count, end) = (graph.blocks.len(), self.post.immediate(branch));
        for join in (0..count).filter(|join| graph.predecessors[*join].len() > 1) {
            let leads = |removed: usize, edge: Option<usize>| {
                let passes = |to: usize| to == removed || to == branch && join != branch;
                let onward = |from| Some(from) != end;
                leads(graph, branch, join, &|from, to| {
                    passes(to) || !onward(from) || from == branch && Some(to) == edge
                })
            };
            let any_block =
                (0..count).filter(|other| *other != branch && *other != join).all(|other| leads(other, None));
            if leads(count, None) && any_block && leads(count, Some(join)) {
                self.joins[join] = true;
                if Some(join) != end {
                    let reached = ways(graph, join, &|_, to| Some(to) == end);
                    self.mix(graph, (0..count).filter(|at| *at == join || reached[*at]));
                }
            }
        }
        let mixed = self.mixed(graph, branch);
        self.mix(graph, mixed.into_iter());
        let without_end = |_: usize, to: usize| Some(to) == end;
        let from_branch = ways(graph, branch, &without_end);
        if !from_branch[branch] {
            return None;
        }
        let back = |at: &usize| from_branch[*at] && (*at == branch || ways(graph, *at, &without_end)[branch]);
        let cycle: Vec<usize> = (0..count).filter(back).collect();
        if self.nest.contains(&cycle) {
            return Some(cycle);
        }
        cycle.iter().for_each(|at| self.everything[*at] = true);
        None
    }
}

/// The blocks that a way of one edge or more leads to, where some edges are closed.
fn ways(graph: &Graph, from: usize, closed: &dyn Fn(usize, usize) -> bool) -> Vec<bool> {
    let (mut reached, mut work) = (vec![false; graph.blocks.len()], vec![from]);
    while let Some(at) = work.pop() {
        for to in graph.successors[at].iter().filter(|to| !closed(at, **to)) {
            if !std::mem::replace(&mut reached[*to], true) {
                work.push(*to);
            }
        }
    }
    reached
}

/// Whether a way of one edge or more leads from one block to another; a way ends where it is there.
fn leads(graph: &Graph, from: usize, to: usize, closed: &dyn Fn(usize, usize) -> bool) -> bool {
    let (mut reached, mut work) = (vec![false; graph.blocks.len()], vec![from]);
    while let Some(at) = work.pop() {
        for next in graph.successors[at].iter().filter(|next| !closed(at, **next)) {
            if *next != to && !std::mem::replace(&mut reached[*next], true) {
                work.push(*next);
            }
            reached[*next] = true;
        }
    }
    reached[to]
}

/// Whether an instruction yields different things to threads of a group, although they read the same.
fn by_itself(func: &Function, inst: Inst, group: Group) -> bool {
    let data = func.inst(inst);
    let place_in_thread = |operand: &Operand| match operand {
        Operand::Special(reg) => special(*reg, group),
        Operand::Local(local) => group > Group::Warp && func.locals[*local].space == Space::Local,
        _ => false,
    };
    if func.srcs(inst).iter().chain(func.elses(inst)).any(place_in_thread) {
        return true;
    }
    match data.opcode {
        _ if data.is(Flags::TOGETHER) => group > Group::Warp,
        Opcode::Ld | Opcode::Ldu => match data.field::<Space>() {
            _ if data.field::<Order>().is_some_and(|order| order != Order::Weak) => true,
            Some(Space::Const) => false,
            Some(Space::Param) => {
                let parameter =
                    |operand: Operand| matches!(operand, Operand::Local(local) if func.params.contains(&local));
                func.kind != FunctionKind::Entry || !parameter(func.srcs(inst)[0])
            }
            Some(Space::Global) if data.field::<NonCoherent>() == Some(NonCoherent::Nc) => false,
            Some(Space::Global | Space::Shared | Space::Cluster) => group > Group::Warp,
            _ => true,
        },
        Opcode::Cs2r => false,
        // The answer is about the executing CTA.
        Opcode::GetCtaRank | Opcode::IsSpaceP => group > Group::Cta,
        _ => !data.is(Flags::PURE),
    }
}

fn special(reg: SpecialReg, group: Group) -> bool {
    let name = reg.name();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if reg.is_volatile() || begins(&["tid.", "laneid", "lanemask"]) {
        return true;
    }
    let of_warp = begins(&["warpid", "smid"]);
    let of_cta = begins(&["ctaid.", "clusterid.", "cluster_ctaid.", "cluster_ctarank"]);
    group > Group::Warp && of_warp || group > Group::Cta && (of_warp || of_cta)
}
