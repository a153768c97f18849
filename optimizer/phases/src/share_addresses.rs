//! LateArchOptimizeSecond: the address of a shared variable is computed once for all blocks that need it.
//!
//! `spec/liveness-and-dce.txt` names the phase and no more: it optimizes for the architecture, late. From Hopper on the
//! address of a shared variable is no constant, since the CTA's place in its cluster is a part of it. ptxas computes it
//! anew, in three instructions, in each block that names the variable, whether in a `mov` or in an access. Here
//!
//! - what names a variable are reads of a `mov` of its address, and accesses to shared memory that it is the base of;
//! - where they are in several blocks, one `mov` is in front of all of them: at the first in the closest block
//!   that dominates them, or at the end of that block. The other copies are dead then, and accesses read its result.
//!
//! References within one block stay, as ptxas computes the address once for these. So does everything in a function in
//! which more words are live than a thread has, and so do accesses in a loop that counts from a constant to a constant:
//! ptxas -O3 computes their addresses in front of the loop, but unrolls the whole loop if it holds few instructions. Of
//! sort_radix it makes 371 then, instead of 125. In string_search, ptxas -O1 makes 94 instructions instead of 103 of
//! the result, and -O3 90 instead of 102 (2026-11-23).
//!
//! Cost: near-linear in instructions, and for each such variable the depth of the dominator tree.

use oriole_ir::ops::{Flags, Opcode, Shape, Space, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg, RegInfo, Rewriter};
use oriole_pass::analysis::{Cfg, Dominators, Loop, LoopNest};
use oriole_pass::edit::graph::phis;
use oriole_pass::engine::registers::is_over_budget;
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use rustc_hash::FxHashMap;

const RULE: &str = "share-address";

/// LateArchOptimizeSecond.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !cx.target.computes_shared_addresses() || !cx.knobs.flag(Knob::ShareAddresses) {
        return Changed::No;
    }
    let mut references = references(func);
    references.sort_by_key(|reference| reference.variable);
    let groups: Vec<&[Reference]> = references.chunk_by(|a, b| a.variable == b.variable).collect();
    if !groups.iter().any(|group| in_several_blocks(group)) || is_over_budget(func, cx) {
        return Changed::No;
    }
    let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Dominators>(func));
    let nest = cx.analyses.get::<LoopNest>(func);
    let mut func = Rewriter::new(func);
    let (mut counted, mut changed) = (FxHashMap::default(), Changed::No);
    for group in groups {
        let is_counted = |func: &Rewriter<'_>, of| *counted.entry(of).or_insert_with(|| counts(func, &cfg, &nest, of));
        let needed = needed(&func, &cfg, &nest, group, is_counted);
        if in_several_blocks(&needed) {
            if !cx.rewrite(RULE) {
                break;
            }
            share(&mut func, &cfg, &dominators, &needed);
            changed = Changed::Yes;
        }
    }
    changed
}

/// An instruction that names a shared variable.
#[derive(Clone, Copy, Debug)]
struct Reference {
    variable: u32,
    inst: Inst,
    block: Block,
}

/// Everything that names variables, in the order of the layout.
fn references(func: &Function) -> Vec<Reference> {
    let mut found = Vec::new();
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            let named = func.srcs(inst).first().and_then(|operand| match operand {
                Operand::Global(variable) => Some(variable.as_u32()),
                _ => None,
            });
            let named = named.filter(|_| copied(func, inst).is_some() || is_shared_access(func, inst));
            found.extend(named.map(|variable| Reference { variable, inst, block: *block }));
        }
    }
    found
}

/// The references that count: control comes there, and something reads what they compute, or they may read a register.
fn needed(
    func: &Rewriter<'_>,
    cfg: &Cfg,
    nest: &LoopNest,
    group: &[Reference],
    mut is_counted: impl FnMut(&Rewriter<'_>, Loop) -> bool,
) -> Vec<Reference> {
    let mut counts = |reference: &&Reference| match copied(func, reference.inst) {
        Some(reg) => func.def_use().read_count(reg) > 0,
        None => nest.innermost(cfg, reference.block).is_none_or(|of| !is_counted(func, of)),
    };
    group.iter().filter(|one| cfg.rpo_number(one.block).is_some() && counts(one)).copied().collect()
}

/// Whether a loop is left when what a phi of its header counts, from a constant on, is compared with a constant.
fn counts(func: &Rewriter<'_>, cfg: &Cfg, nest: &LoopNest, of: Loop) -> bool {
    let begins = |phi: &Inst| func.srcs(*phi).chunks_exact(2).any(|pair| matches!(pair[0], Operand::Imm(_)));
    let counters: Vec<Reg> = phis(func, nest.header(of)).filter(begins).flat_map(|phi| func.defs(phi)).collect();
    let counted = |inst: Inst| func.uses(inst).any(|reg| counters.contains(&reg));
    let compared = |inst: Inst| match func.srcs(inst) {
        &[Operand::Reg(reg), Operand::Imm(_)] => counted(inst) || func.def_use().definition(reg).is_some_and(counted),
        _ => false,
    };
    let condition = |from: Block| func.srcs(func.terminator(from)?).first()?.reg();
    nest.exits(cfg, of).filter_map(|(from, _)| func.def_use().definition(condition(from)?)).any(compared)
}

fn in_several_blocks(group: &[Reference]) -> bool {
    group.iter().any(|reference| reference.block != group[0].block)
}

/// The register that becomes an address of 32 bits, those of shared variables.
fn copied(func: &Function, inst: Inst) -> Option<Reg> {
    let data = func.inst(inst);
    let copies = data.opcode == Opcode::Mov && data.guard.is_none() && data.ty() == Type::B32;
    func.defs(inst).next().filter(|_| copies)
}

fn is_shared_access(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let accesses = data.is(Flags::READS) || data.is(Flags::WRITES);
    accesses && data.field::<Space>() == Some(Space::Shared) && data.opcode.row().srcs.first() == Some(&Shape::Base)
}

/// Computes the address once, where that dominates all references.
fn share(func: &mut Rewriter<'_>, cfg: &Cfg, dominators: &Dominators, group: &[Reference]) {
    let home = common_dominator(cfg, dominators, group);
    let first = group.iter().find(|reference| reference.block == home).map(|reference| reference.inst);
    let kept = first.and_then(|inst| copied(func, inst));
    let address = kept.unwrap_or_else(|| {
        let at = first.or_else(|| func.terminator(home)).expect("a block that dominates another ends with a branch");
        let address = func.new_reg(RegInfo::words(1));
        let variable = func.srcs(group[0].inst)[0];
        let line = func.inst(at).line;
        func.insert_before(at, &InstBuilder::new(Opcode::Mov).field(Type::B32).dst(address).src(variable).line(line));
        address
    });
    for reference in group {
        match copied(func, reference.inst) {
            Some(reg) if reg == address => {}
            Some(reg) => func.replace_reads(reg, address),
            None => read_address(func, reference.inst, address),
        }
    }
}

fn read_address(func: &mut Rewriter<'_>, access: Inst, address: Reg) {
    let mut srcs = func.srcs(access).to_vec();
    srcs[0] = Operand::Reg(address);
    func.set_srcs(access, &srcs);
}

/// The closest block that dominates all references: that of the first and the last one in a walk down the tree, since
/// all blocks between these two are in the same subtrees.
fn common_dominator(cfg: &Cfg, dominators: &Dominators, group: &[Reference]) -> Block {
    let entered = |reference: &&Reference| dominators.entered(cfg, reference.block);
    let first = group.iter().min_by_key(entered).expect("a group has references").block;
    let last = group.iter().max_by_key(entered).expect("a group has references").block;
    let mut above = first;
    while !dominators.dominates(cfg, above, last) {
        above = dominators.immediate_dominator(cfg, above).expect("the entry dominates all blocks");
    }
    above
}
