//! Places in memory that a loop changes, in registers instead: a part of `licm`, as in LLVM.
//!
//! A place is the same in each round: it is counted from a variable, or from a register of outside. It is loaded in
//! front of the loop, and stored where the loop is left. Between, the register has its value:
//! `for (…) out[i] += x` loads and stores once. A place is promoted if
//!
//! - the loop is natural, with a preheader and one way out;
//! - each access in the loop that may meet it is a weak load or store of these very bytes;
//! - nothing in the loop orders memory, has another effect, or is decided by several threads: nobody else may look;
//! - a store to it without a guard is executed before the loop is left, so that none is executed which was not.
//!
//! Inside the loop the accesses become those of a local variable, which `sroa` takes into registers.
//!
//! Cost: accesses of the loop times [`MOST`] places.

use crate::memory_space::{access_at, in_space};
use crate::sroa::promote_all;
use oriole_ir::ops::{Flags, Opcode, Order, Space, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Local, Operand, RegInfo, Variable};
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::memory::{Effect, Location, Root};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Dominators, Loop, LoopNest, MemorySsa};
use oriole_pass::edit::graph::{come_from, map_targets, two_ways};
use oriole_pass::pass::{Changed, PhaseContext};

/// Places that are looked at, the first that are stored to.
const MOST: usize = 8;

/// Promotes the places of the loop with a header.
pub(super) fn run(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for _ in 0..MOST {
        let Some(plan) = plan(func, header, cx).filter(|_| cx.rewrite("promote-place")) else { break };
        promote(func, &plan, cx);
        changed = Changed::Yes;
    }
    changed
}

/// A place, and where the loop around it begins and ends.
struct Plan {
    /// The accesses in the loop.
    members: Vec<Inst>,
    /// One of them whose address is that of outside.
    address: Inst,
    preheader: Block,
    exit: (Block, Block),
    /// The last block of the loop in the layout.
    last: Block,
}

fn plan(func: &Function, header: Block, cx: &mut PhaseContext<'_>) -> Option<Plan> {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let of = nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header && nest.is_natural(*of))?;
    let preheader = nest.preheader(&cfg, of)?;
    let mut exits = nest.exits(&cfg, of);
    let exit = exits.next().filter(|_| exits.next().is_none())?;
    let (_, yes, no) = two_ways(func, exit.0).filter(|(_, yes, no)| yes != no)?;
    debug_assert!([yes, no].contains(&exit.1), "the way out is one of the branch's");
    let stores = |block: &Block| func.block_insts(*block).any(|inst| func.inst(inst).opcode == Opcode::St);
    if !nest.blocks(of).iter().any(stores) {
        return None;
    }
    let memory = cx.analyses.get::<MemorySsa>(func);
    let accesses = accesses(func, &memory, nest.blocks(of))?;
    let dominators = cx.analyses.get::<Dominators>(func);
    let definitions = cx.analyses.get::<Definitions>(func);
    let inside = |block: Option<Block>| block.is_some_and(|block| nest.contains(&cfg, of, block));
    let is_outside = |inst: Inst| {
        let base = func.srcs(inst)[0].reg();
        base.is_none_or(|base| !inside(definitions.block(base)))
    };
    let always = |inst: Inst| {
        let block = func.block_of(inst).expect("an access is part of the function");
        func.inst(inst).guard.is_none() && dominators.dominates(&cfg, block, exit.0)
    };
    let stored = accesses.iter().filter(|(inst, _)| func.inst(*inst).opcode == Opcode::St && always(*inst));
    let found = stored.take(MOST).find_map(|(_, place)| {
        let is_fixed = place.root.reg().is_some_and(|root| inside(definitions.block(root)));
        let members = members(func, &accesses, place).filter(|_| place.root != Root::Unknown && !is_fixed)?;
        let address = members.iter().copied().find(|inst| is_outside(*inst))?;
        Some((members, address))
    });
    let (members, address) = found?;
    let last = last_of(&cfg, &nest, of)?;
    Some(Plan { members, address, preheader, exit, last })
}

fn last_of(cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Block> {
    nest.blocks(of).iter().copied().max_by_key(|block| cfg.position(*block))
}

/// The accesses of a loop; `None` where something in it keeps memory from being looked at later.
fn accesses(func: &Function, memory: &MemorySsa, blocks: &[Block]) -> Option<Vec<(Inst, Location)>> {
    let stops = |inst: Inst| {
        let data = func.inst(inst);
        let flags = [Flags::EFFECT, Flags::FENCE, Flags::ASYNC, Flags::CONVERGENT];
        data.opcode == Opcode::Call || flags.into_iter().any(|flag| data.is(flag) && !data.is(Flags::TERMINATOR))
    };
    let mut found = Vec::new();
    for inst in blocks.iter().flat_map(|block| func.block_insts(*block)) {
        match memory.effect(inst) {
            Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at) => found.push((inst, at)),
            Effect::None if !stops(inst) => {}
            _ => return None,
        }
    }
    Some(found)
}

/// The accesses to a place, if all that may meet it are plain and to these very bytes.
fn members(func: &Function, accesses: &[(Inst, Location)], place: &Location) -> Option<Vec<Inst>> {
    let meeting = accesses.iter().filter(|(_, at)| alias(at, place, false) != Alias::No);
    let is_member = |(inst, at): &&(Inst, Location)| {
        let data = func.inst(*inst);
        let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
        matches!(data.opcode, Opcode::Ld | Opcode::St)
            && is_weak
            && alias(at, place, false) == Alias::Must
            && at.space == place.space
            && !at.is_constant()
            && !at.is_own()
            && data.vector_len() == 1
            && matches!(data.ty().bits(), 8 | 16 | 32 | 64)
            && func.dsts(*inst).iter().all(|dst| dst.whole_reg().is_some())
            && in_space(func, *inst, Space::Local).is_some()
    };
    let members: Vec<&(Inst, Location)> = meeting.collect();
    members.iter().all(is_member).then(|| members.into_iter().map(|(inst, _)| *inst).collect())
}

fn promote(func: &mut Function, plan: &Plan, cx: &mut PhaseContext<'_>) {
    let bits = func.inst(plan.address).ty().bits();
    let ty = Type::integer(bits, false).expect("a place has 8, 16, 32 or 64 bits");
    let local = func.locals.push(Variable::new("promoted", Space::Local, ty, None));
    let end = func.terminator(plan.preheader).expect("a preheader ends with a branch");
    let exit = split_exit(func, plan);
    let back = func.terminator(exit).expect("it was put there");
    let outside = |func: &Function, opcode: Opcode| {
        let (space, line) = (func.inst(plan.address).field::<Space>(), func.inst(plan.address).line);
        let access = InstBuilder::new(opcode).field(space.unwrap_or(Space::Generic)).field(ty).line(line);
        access.src(func.free(func.srcs(plan.address)[0])).src(func.free(func.srcs(plan.address)[1]))
    };
    let [before, behind] = [0; 2].map(|_| func.new_reg(RegInfo::of(ty)));
    let own = |opcode: Opcode| {
        InstBuilder::new(opcode).field(Space::Local).field(ty).src(Operand::Local(local)).src(Operand::imm(0))
    };
    let load = outside(func, Opcode::Ld).dst(before);
    load.insert_before(func, end);
    own(Opcode::St).src(before).insert_before(func, end);
    own(Opcode::Ld).dst(behind).insert_before(func, back);
    let store = outside(func, Opcode::St).src(behind);
    store.insert_before(func, back);
    for inst in &plan.members {
        let fields = in_space(func, *inst, Space::Local).expect("a member may be in local memory");
        access_at(func, *inst, fields, Operand::Local(local), Some(0));
    }
    cx.analyses.retain(AnalysisSet::NONE);
    into_registers(func, local, u64::from(bits / 8), cx);
    cx.analyses.retain(AnalysisSet::NONE);
}

/// A block of its own on the way out.
fn split_exit(func: &mut Function, plan: &Plan) -> Block {
    let (from, to) = plan.exit;
    let exit = func.new_block_after(plan.last);
    InstBuilder::new(Opcode::Bra).src(to).append(func, exit);
    map_targets(func, from, |target| if target == to { exit } else { target });
    come_from(func, to, from, exit);
    exit
}

fn into_registers(func: &mut Function, local: Local, bytes: u64, cx: &mut PhaseContext<'_>) {
    let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Dominators>(func));
    let names = |inst: &Inst| func.srcs(*inst).first() == Some(&Operand::Local(local));
    let accesses: Vec<Inst> = func.layout_insts().filter(names).collect();
    promote_all(func, &cfg, &dominators, bytes, accesses);
    func.remove_locals(&[local]);
}
