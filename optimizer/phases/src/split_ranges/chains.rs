//! Splits along chains of phis.
//!
//! A phi and its sources can share a register as long as they do not interfere. The ones that do are split at the end
//! of their predecessor: leaving SSA form copies them there anyway, if the predecessor leads nowhere else. Other edges
//! are left alone, since a copy before a branch is executed on both ways.

use super::interference::{KillSets, KnownPairs, Web};
use super::{split_of, takes};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};
use oriole_pass::analysis::{Cfg, Definitions, Liveness, Pressure};
use oriole_pass::pass::{Changed, PhaseContext};

const RULE: &str = "split-phi-source";

/// Ranges whose kill sets are held; 2 MiB.
pub(super) const MOST_MEMBERS: usize = 1 << 12;

/// Splits the sources of phis that stand where more words are live than the budget has.
pub(super) fn split(func: &mut Function, cx: &mut PhaseContext<'_>, pressure: &Pressure, budget: u32) -> Changed {
    let (cfg, liveness) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Liveness>(func));
    let definitions = cx.analyses.get::<Definitions>(func);
    let phis = tight_phis(func, &cfg, pressure, budget);
    let mut members: Vec<Reg> =
        phis.iter().flat_map(|phi| func.defs(*phi).chain(func.uses(*phi)).collect::<Vec<_>>()).collect();
    members.sort_unstable();
    members.dedup();
    members.truncate(MOST_MEMBERS);
    let sets = KillSets::new(func, &cfg, &liveness, &members);
    let (mut known, mut changed) = (KnownPairs::new(), Changed::No);
    for phi in phis {
        let Some(dst) = func.defs(phi).next() else { continue };
        let Some(mut web) = sets.bit(dst).map(|bit| sets.web(bit)) else { continue };
        for at in (0..func.srcs(phi).len()).step_by(2) {
            let (Some(reg), Some(from)) = (func.srcs(phi)[at].reg(), func.srcs(phi)[at + 1].block()) else { continue };
            let Some(bit) = sets.bit(reg) else { continue };
            if !must_split(&sets, &mut web, &mut known, dst, (reg, bit)) {
                continue;
            }
            let is_split = definitions
                .inst(reg)
                .is_some_and(|inst| func.inst(inst).opcode == Opcode::Split && func.block_of(inst) == Some(from));
            if is_split || !is_splittable(func, &cfg, phi, at) {
                continue;
            }
            if !cx.rewrite(RULE) {
                return changed;
            }
            split_source(func, phi, at, reg, from);
            // The part belongs to the web, and begins where these are live.
            web.keep_apart(
                liveness.live_out(from).iter().filter(|other| *other != reg).filter_map(|other| sets.bit(other)),
            );
            changed = Changed::Yes;
        }
    }
    changed
}

/// The phis of general registers in blocks over the budget, or behind ones that are at their ends.
fn tight_phis(func: &Function, cfg: &Cfg, pressure: &Pressure, budget: u32) -> Vec<Inst> {
    let over = |block: &Block| pressure.in_block(*block).of(RegFile::R) > budget;
    let tight = |block: &&Block| over(block) || cfg.predecessors(**block).iter().any(over);
    let phis = cfg
        .rpo()
        .iter()
        .filter(tight)
        .flat_map(|block| func.block_insts(*block).take_while(|inst| func.inst(*inst).opcode == Opcode::Phi));
    phis.filter(|phi| func.defs(*phi).all(|reg| takes(func.regs()[reg]))).collect()
}

/// Whether a source cannot share the register of the phi's web; it joins the web where it can.
fn must_split(sets: &KillSets, web: &mut Web, known: &mut KnownPairs, dst: Reg, (reg, bit): (Reg, usize)) -> bool {
    let pair = [dst.as_u32(), reg.as_u32()];
    if known.contains(pair) {
        return true;
    }
    let interferes = web.interferes(sets, bit);
    if interferes {
        known.insert(pair);
    } else {
        web.join(sets, bit);
    }
    interferes
}

/// Whether the source at a place may be copied at the end of its predecessor: of the phi's file and width, and on an
/// edge that is the only one of its block.
fn is_splittable(func: &Function, cfg: &Cfg, phi: Inst, at: usize) -> bool {
    let (Operand::Reg(reg), Some(from)) = (func.srcs(phi)[at], func.srcs(phi)[at + 1].block()) else { return false };
    let alike = func.defs(phi).all(|dst| func.regs()[dst] == func.regs()[reg]);
    alike && cfg.successors(from).len() == 1
}

fn split_source(func: &mut Function, phi: Inst, at: usize, reg: Reg, from: Block) {
    let (copy, part) = split_of(func, reg);
    match func.terminator(from) {
        Some(end) => func.insert_before(end, copy),
        None => func.append_inst(from, copy),
    }
    func.srcs_mut(phi)[at] = Operand::Reg(part);
}
