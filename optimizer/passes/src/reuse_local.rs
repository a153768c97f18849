//! `reuse-local-memory`: variables in local memory that are not used at the same time share their bytes
//! (`spec/pass-pipeline.txt`, line 204, which has the name alone).
//!
//! A variable is in use in a block if the block accesses it, or if control has come by an access of it and may come by
//! another one. Two variables that are in use in no common block become one: the larger, aligned as either was. What
//! the other has left there is as undefined as what a new variable holds. Variables whose address may be known where
//! it is not followed stay ([`Addresses`]), and so do all where an access goes beyond its variable.
//!
//! Inlined calls bring variables of their own, so that frames of unoptimized code shrink.
//!
//! Cost: edges times variables; beyond [`MOST`] nothing is done. Each variable is
//! compared with those that are left.

use cranelift_entity::EntityRef;

use oriole_ir::ops::{Flags, Space};
use oriole_ir::{Block, Function, Inst, Local, Operand, Variable};
use oriole_pass::analysis::bitset::BitSet;
use oriole_pass::analysis::{Addresses, Cfg};
use oriole_pass::pass::{Changed, PhaseContext};

/// Blocks times variables.
const MOST: usize = 1 << 22;
/// Variables that are kept and compared with each of the others.
const KEPT: usize = 64;

/// The reuse-local-memory pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_local = |variable: &&Variable| variable.space == Space::Local;
    if func.locals.values().filter(is_local).nth(1).is_none() {
        return Changed::No;
    }
    let (cfg, addresses) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Addresses>(func));
    let variables = candidates(func, &addresses);
    if addresses.goes_beyond() || variables.len() < 2 || variables.len() * cfg.rpo().len() > MOST {
        return Changed::No;
    }
    let used = used_blocks(func, &cfg, &addresses, &variables);
    let mut names: Vec<Local> = func.locals.keys().collect();
    let mut gone = Vec::new();
    for (small, large) in shared(func, &variables, used) {
        if cx.rewrite("share-variable") {
            func.locals[large].align = func.locals[large].align.max(func.locals[small].align);
            names[small.index()] = large;
            gone.push(small);
        }
    }
    if gone.is_empty() {
        return Changed::No;
    }
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        for operand in func.inputs_mut(inst) {
            if let Operand::Local(local) = operand {
                *local = names[local.index()];
            }
        }
    }
    func.remove_locals(&gone);
    Changed::Yes
}

/// The variables that may share their bytes, large ones first.
fn candidates(func: &Function, addresses: &Addresses) -> Vec<Local> {
    let is_own = |local: &Local| {
        let variable = &func.locals[*local];
        variable.space == Space::Local && variable.init.is_empty() && !addresses.is_captured(*local)
    };
    let mut variables: Vec<Local> = func.locals.keys().filter(is_own).collect();
    variables.sort_by_key(|local| std::cmp::Reverse(func.locals[*local].size()));
    variables
}

/// By variable: the blocks in which it is in use, by their place in the reverse post-order.
fn used_blocks(func: &Function, cfg: &Cfg, addresses: &Addresses, variables: &[Local]) -> Vec<BitSet> {
    let blocks = cfg.rpo();
    let mut accessed = vec![BitSet::new(blocks.len()); func.locals.len()];
    for (place, block) in blocks.iter().enumerate() {
        for inst in func.block_insts(*block).filter(|inst| accesses_memory(func, *inst)) {
            let named = func.inputs(inst).iter().filter_map(|operand| addresses.pointer(func, *operand)?.variable);
            named.filter_map(|variable| variable.local()).for_each(|local| _ = accessed[local.index()].insert(place));
        }
    }
    let places = |blocks: &[Block]| blocks.iter().filter_map(|block| cfg.rpo_number(*block)).collect::<Vec<usize>>();
    let before: Vec<Vec<usize>> = blocks.iter().map(|block| places(cfg.predecessors(*block))).collect();
    let behind: Vec<Vec<usize>> = blocks.iter().map(|block| places(cfg.successors(*block))).collect();
    let of = |local: &Local| {
        let accessed = &accessed[local.index()];
        let (come_by, come_to) = (reached(accessed, &behind), reached(accessed, &before));
        let mut used = BitSet::new(blocks.len());
        let between = come_by.iter().filter(|block| come_to.contains(*block));
        between.chain(accessed.iter()).for_each(|block| _ = used.insert(block));
        used
    };
    variables.iter().map(of).collect()
}

fn accesses_memory(func: &Function, inst: Inst) -> bool {
    func.inst(inst).is(Flags::READS) || func.inst(inst).is(Flags::WRITES)
}

/// The blocks that edges lead to from some blocks.
fn reached(from: &BitSet, edges: &[Vec<usize>]) -> BitSet {
    let mut found = BitSet::new(edges.len());
    let mut work: Vec<usize> = from.iter().collect();
    while let Some(block) = work.pop() {
        work.extend(edges[block].iter().filter(|next| found.insert(**next)));
    }
    found
}

/// The variables that become another one, each with that.
fn shared(func: &Function, variables: &[Local], used: Vec<BitSet>) -> Vec<(Local, Local)> {
    let mut kept: Vec<(Local, BitSet)> = Vec::new();
    let mut shared = Vec::new();
    for (local, used) in variables.iter().copied().zip(used) {
        debug_assert!(kept.iter().all(|(large, _)| func.locals[*large].size() >= func.locals[local].size()));
        let apart = |of: &BitSet| of.words().iter().zip(used.words()).all(|(a, b)| a & b == 0);
        if let Some((large, of)) = kept.iter_mut().find(|(_, of)| apart(of)) {
            used.iter().for_each(|block| _ = of.insert(block));
            shared.push((local, *large));
        } else if kept.len() < KEPT {
            kept.push((local, used));
        }
    }
    shared
}
