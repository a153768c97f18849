//! Empty blocks: a block that does nothing but continue is left out, and whoever went there continues himself.
//!
//! Blocks are looked at in post-order, so that a chain of empty blocks is forwarded to its end at once. A phi of the
//! target takes, in the place of what came from the empty block, what came to that from each predecessor. An empty
//! block stays where
//!
//! - a predecessor of it leads to the target too, and some phi would need two values for that edge: the block is how
//!   the two ways differ;
//! - the target is the header of a loop: empty blocks there are its preheader and its only latch;
//! - a branch that leaves a loop leads to it, and the target has phis: their copies are in the block when SSA form
//!   ends, and would have to be made in the loop without it;
//! - it has phis that something else than the target's phis reads.
//!
//! Cost: linear. A target with phis and more than [`MOST_INCOMING`] predecessors is left alone.

use cranelift_entity::{EntitySet, SecondaryMap};

use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::{Cfg, LoopNest, Uses};
use oriole_pass::edit::graph::{Renamed, has_phis, incoming, jump_target, map_targets, phis};
use oriole_pass::pass::{Changed, PhaseContext};

const RULE: &str = "forward-empty";
/// Predecessors of a block with phis that forwarding may make: each one more is copied with all before.
pub(super) const MOST_INCOMING: usize = 64;

/// Leaves out the empty blocks.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let (uses, nest) = (cx.analyses.get::<Uses>(func), cx.analyses.get::<LoopNest>(func));
    let mut forwarded = Renamed::default();
    // Registers that are read more or less often than when reads were counted.
    let mut stale = EntitySet::<Reg>::new();
    let mut changed = Changed::No;
    for block in cfg.rpo().iter().rev().copied() {
        let Some(target) = empty_to(func, &cfg, block).map(|target| forwarded.of(target)) else { continue };
        let leaves_loop = |from: &Block| {
            let around = nest.innermost(&cfg, *from).filter(|around| !nest.contains(&cfg, *around, target));
            around.is_some() && cfg.successors(*from).len() > 1
        };
        if has_phis(func, target) && cfg.predecessors(block).iter().any(leaves_loop) {
            continue;
        }
        if phis(func, block).flat_map(|phi| func.defs(phi)).any(|reg| stale.contains(reg)) {
            continue;
        }
        let Some(phis) = forwarded_phis(func, &cfg, &uses, block, target) else { continue };
        if !cx.rewrite(RULE) {
            break;
        }
        stale.extend(phis.iter().flat_map(|(_, srcs)| srcs).filter_map(|operand| operand.reg()));
        phis.into_iter().for_each(|(phi, srcs)| func.set_srcs(phi, &srcs));
        forwarded.set(block, target);
        changed = Changed::Yes;
    }
    if changed.is_yes() {
        func.retain_blocks(|block| !forwarded.is_gone(*block));
        let blocks = func.layout().to_vec();
        blocks.into_iter().for_each(|block| map_targets(func, block, |target| forwarded.of(target)));
    }
    changed
}

/// Where a block leads that holds nothing but phis and that branch, and is no part of a loop's frame.
fn empty_to(func: &Function, cfg: &Cfg, block: Block) -> Option<Block> {
    let target = jump_target(func, block).filter(|target| *target != block && block != func.entry())?;
    let empty = phis(func, block).count() + 1 == func.block_insts(block).len();
    (empty && !is_header(cfg, target) && !is_header(cfg, block)).then_some(target)
}

/// Whether an edge leads back to a block, in the reverse post-order, or one from where control never comes.
pub(super) fn is_header(cfg: &Cfg, block: Block) -> bool {
    let number = cfg.rpo_number(block);
    cfg.predecessors(block).iter().any(|from| cfg.rpo_number(*from).is_none_or(|from| Some(from) >= number))
}

/// The phis of the target with the sources that they get; `None` where they cannot have them.
fn forwarded_phis(
    func: &Function,
    cfg: &Cfg,
    uses: &Uses,
    block: Block,
    target: Block,
) -> Option<Vec<(Inst, Vec<Operand>)>> {
    if !has_phis(func, target) {
        return (!has_phis(func, block)).then(Vec::new);
    }
    let before = cfg.predecessors(block);
    if before.len() > MOST_INCOMING || phis(func, target).any(|phi| func.srcs(phi).len() > 2 * MOST_INCOMING) {
        return None;
    }
    let mut reads: SecondaryMap<Reg, u32> = SecondaryMap::new();
    let mut made = Vec::new();
    for phi in phis(func, target) {
        let value = incoming(func, phi, block)?;
        value.reg().into_iter().for_each(|reg| reads[reg] += 1);
        let mut srcs: Vec<Operand> =
            func.srcs(phi).chunks_exact(2).filter(|pair| pair[1] != Operand::Block(block)).flatten().copied().collect();
        for from in before {
            let value = value_from(func, block, value, *from)?;
            match srcs.chunks_exact(2).find(|pair| pair[1] == Operand::Block(*from)) {
                Some(pair) if pair[0] != value => return None,
                Some(_) => {}
                None => srcs.extend([value, Operand::Block(*from)]),
            }
        }
        made.push((phi, srcs));
    }
    // An undefined value is one value for all reads of the phi, and would be one for each phi of the target.
    let undefined = |phi: Inst| func.srcs(phi).contains(&Operand::Undef);
    let only_there =
        |phi: Inst| func.defs(phi).all(|reg| uses.count(reg) == reads[reg] && (reads[reg] < 2 || !undefined(phi)));
    phis(func, block).all(only_there).then_some(made)
}

/// What a value that leaves the block was when control came from a predecessor.
fn value_from(func: &Function, block: Block, value: Operand, from: Block) -> Option<Operand> {
    let Some(reg) = value.reg() else { return Some(value) };
    match phis(func, block).find(|phi| func.defs(*phi).any(|own| own == reg)) {
        Some(phi) => value.whole_reg().and_then(|_| incoming(func, phi, from)),
        None => Some(value),
    }
}
