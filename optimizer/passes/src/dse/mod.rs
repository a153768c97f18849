//! `dse`: stores to local variables that nothing reads on any way behind them (`spec/pass-pipeline.txt`, line 1203:
//! DSE).
//!
//! Local memory is the thread's own and ends with the function, so a store there matters only if this function, or one
//! that it calls, reads a byte of it later. Bytes are looked at one by one: walks against the control flow keep, for
//! each byte of each local variable, whether it may still be read (`bytes.rs`). A load reads the bytes that it may
//! touch; a store without a guard at a known place ends their lives; what may read anything (a call, a load by an
//! address of which nothing is known) reads every variable whose address others may have ([`Addresses`]). Where the
//! function returns, nothing is read any more. Stores that are volatile stay.
//!
//! Stores to memory of any space go where the thread overwrites them on all ways before anybody may read them
//! (`overwritten.rs`).
//!
//! Variables that nothing names any longer go, too.
//!
//! Cost: blocks times bytes of the variables, over 64; variables beyond [`MOST`] bits in all blocks are left out.

mod bytes;
mod overwritten;

use std::collections::HashMap;

use crate::sroa::remove_unnamed;
use bytes::{Access, Bytes, Places};
use oriole_ir::ops::Space;
use oriole_ir::{Block, Function, Inst};
use oriole_pass::analysis::{Addresses, AnalysisSet, Cfg, MemorySsa};
use oriole_pass::pass::{Changed, PhaseContext};

/// Bits of liveness in all blocks together.
const MOST: u64 = 1 << 26;

/// The dse pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, memory) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<MemorySsa>(func));
    let mut changed = remove(func, cx, "dead-store", overwritten::stores(func, &cfg, &memory));
    if !func.locals.values().any(|variable| variable.space == Space::Local) {
        return changed;
    }
    if changed.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    let memory = cx.analyses.get::<MemorySsa>(func);
    let addresses = cx.analyses.get::<Addresses>(func);
    let dead = {
        let places = Places::new(func, &memory, &addresses, MOST / func.layout().len() as u64, cx);
        dead_stores(func, &cfg, &places)
    };
    changed |= remove(func, cx, "dead-private-store", dead);
    changed | remove_unnamed(func, cx)
}

fn remove(func: &mut Function, cx: &mut PhaseContext<'_>, rule: &'static str, dead: Vec<Inst>) -> Changed {
    let granted: Vec<Inst> = dead.into_iter().filter(|_| cx.rewrite(rule)).collect();
    granted.iter().for_each(|store| func.remove_inst(*store));
    Changed::when(!granted.is_empty())
}

/// The stores of which nothing is read, by block from the last one.
fn dead_stores(func: &Function, cfg: &Cfg, places: &Places) -> Vec<Inst> {
    let accesses: Vec<Vec<(Inst, Access)>> = cfg.rpo().iter().map(|block| accesses(func, *block, places)).collect();
    let places_of: HashMap<Block, usize> = cfg.rpo().iter().enumerate().map(|(at, block)| (*block, at)).collect();
    let index = |block: Block| places_of.get(&block).copied();
    let successors: Vec<Vec<usize>> =
        cfg.rpo().iter().map(|block| func.successors(*block).filter_map(index).collect()).collect();
    let mut live_in: Vec<Bytes> = vec![places.none(); accesses.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..accesses.len()).rev() {
            let mut live = behind(&successors[at], &live_in, places);
            accesses[at].iter().rev().for_each(|(_, access)| _ = places.before(access, &mut live));
            changed |= live != live_in[at];
            live_in[at] = live;
        }
    }
    let mut dead = Vec::new();
    for at in (0..accesses.len()).rev() {
        let mut live = behind(&successors[at], &live_in, places);
        let is_dead = |(inst, access): &(Inst, Access)| places.before(access, &mut live).then_some(*inst);
        dead.extend(accesses[at].iter().rev().filter_map(is_dead));
    }
    dead
}

/// What may be read behind a block.
fn behind(successors: &[usize], live_in: &[Bytes], places: &Places) -> Bytes {
    let mut live = places.none();
    successors.iter().for_each(|next| live.add(&live_in[*next]));
    live
}

fn accesses(func: &Function, block: Block, places: &Places) -> Vec<(Inst, Access)> {
    func.block_insts(block).filter_map(|inst| Some((inst, places.access(inst)?))).collect()
}
