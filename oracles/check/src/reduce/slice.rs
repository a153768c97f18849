//! Backward slices: what an instruction needs of the program that it is in, and the program of nothing else.
//!
//! An instruction needs what defines the registers that it reads, the branches that decide whether control comes to it
//! ([`super::control`]), and what writes the variables that it names, as calls do for what they pass. A function needs
//! what calls it. Memory that is reached through registers is left out: who stored what a load reads is not asked for,
//! but on request everything that writes to the spaces of such loads is taken. So a slice may do less than the program
//! does at its roots, and whoever asked for it holds it against that.
//!
//! In the program of a slice, a branch that the slice does not need goes to where control is sure to come. Cost:
//! linear in the size of the module.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{Flags, Opcode, Space};
use oriole_ir::{Block, FuncId, Function, Inst, Local, Module, Operand, Reg};

use super::choice::Choice;
use super::control::{Control, Next};
use super::edit::{self, Substitution, become_plain, places};
use super::items;
use crate::report::Evidence;
use oriole_generate::reachable;

/// An instruction of a module.
pub type Site = (FuncId, Inst);

/// Whether slices follow memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// A load needs nothing of what was stored.
    Unknown,
    /// A load needs all that writes to its space, and what orders threads.
    Whole,
}

/// Effects that go with everything that only they need.
pub fn effects(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let all: Vec<Site> = effects_of(&evidence.module).collect();
    let left: Vec<Site> = all.iter().copied().filter(|_| !choice.take()).collect();
    if left.len() < all.len() {
        keep(evidence, &left, Memory::Unknown);
    }
}

/// What a program does: stores, calls, barriers and the like.
pub fn effects_of(module: &Module) -> impl Iterator<Item = Site> + '_ {
    let sites = places(module).into_iter().map(|(id, _, inst)| (id, inst));
    sites.filter(|(id, inst)| {
        let data = module.functions[*id].inst(*inst);
        data.is(Flags::EFFECT) && !data.is(Flags::TERMINATOR)
    })
}

/// Leaves what the roots need, and no other instruction, block, function or variable.
pub fn keep(evidence: &mut Evidence, roots: &[Site], memory: Memory) {
    let program = Program::of(&evidence.module);
    let kept = program.slice(roots, memory);
    let bodies = program.bodies;
    for (id, func) in &mut evidence.module.functions {
        if let Some(body) = &bodies[id] {
            straighten(func, &body.control, &kept[id]);
            remove_others(func, &kept[id]);
            shorten(func);
        }
    }
    items::keep_needed(evidence, |id| bodies[id].is_some() && roots.iter().any(|(root, _)| *root == id));
}

/// By function and instruction: whether it is kept.
type Kept = SecondaryMap<FuncId, SecondaryMap<Inst, bool>>;

/// What stands where in a function.
#[derive(Clone)]
struct Body {
    control: std::rc::Rc<Control>,
    definitions: SecondaryMap<Reg, Vec<Inst>>,
    /// What names a variable and does more than read it.
    writers: SecondaryMap<Local, Vec<Inst>>,
    /// What orders proxies, without which asynchronous operations mean nothing.
    proxies: Vec<Inst>,
}

/// A module, with what slices ask for.
struct Program<'m> {
    module: &'m Module,
    bodies: SecondaryMap<FuncId, Option<Body>>,
    /// By function: what names it.
    callers: SecondaryMap<FuncId, Vec<Site>>,
}

impl<'m> Program<'m> {
    fn of(module: &'m Module) -> Program<'m> {
        let mut program = Program { module, bodies: SecondaryMap::new(), callers: SecondaryMap::new() };
        for (id, func) in module.functions.iter().filter(|(_, func)| func.is_definition()) {
            program.bodies[id] = Some(Body::of(func));
            for inst in func.layout_insts() {
                for operand in func.inputs(inst) {
                    if let Operand::Func(callee) = operand {
                        program.callers[*callee].push((id, inst));
                    }
                }
            }
        }
        program
    }

    fn slice(&self, roots: &[Site], memory: Memory) -> Kept {
        let (mut kept, mut work) = (Kept::new(), roots.to_vec());
        let mut read = Vec::new();
        loop {
            while let Some((id, inst)) = work.pop() {
                if !std::mem::replace(&mut kept[id][inst], true) {
                    self.needs(id, inst, &mut work);
                }
            }
            if memory == Memory::Unknown || !self.stores(&kept, &mut read, &mut work) {
                return kept;
            }
        }
    }

    /// What an instruction needs directly.
    fn needs(&self, id: FuncId, inst: Inst, work: &mut Vec<Site>) {
        let (func, Some(body)) = (&self.module.functions[id], &self.bodies[id]) else { return };
        let data = func.inst(inst);
        let registers = func.uses(inst).flat_map(|reg| &body.definitions[reg]);
        work.extend(registers.map(|definition| (id, *definition)));
        let sources = func.inputs(inst).iter().filter_map(|operand| operand.block());
        let sources = sources.filter(|_| data.opcode == Opcode::Phi);
        for block in func.block_of(inst).into_iter().chain(sources.clone()) {
            work.extend(body.control.deciders(block).iter().filter_map(|from| Some((id, func.terminator(*from)?))));
        }
        // Which way control comes decides what a phi is.
        work.extend(sources.filter_map(|from| Some((id, func.terminator(from)?))));
        for operand in func.inputs(inst) {
            if let Operand::Local(local) = operand {
                work.extend(body.writers[*local].iter().map(|writer| (id, *writer)));
            }
            if let (Operand::Func(callee), Opcode::Call) = (operand, data.opcode) {
                work.extend(self.returns(*callee));
            }
        }
        if data.is(Flags::ASYNC) {
            work.extend(body.proxies.iter().map(|fence| (id, *fence)));
        }
        work.extend(&self.callers[id]);
    }

    /// What stores the results of a function.
    fn returns(&self, callee: FuncId) -> impl Iterator<Item = Site> + '_ {
        let returns = self.module.functions[callee].returns.iter();
        let bodies = self.bodies[callee].iter();
        bodies
            .flat_map(move |body| returns.clone().flat_map(|local| &body.writers[*local]))
            .map(move |inst| (callee, *inst))
    }

    /// Adds what writes to the spaces that the slice reads, and what orders threads; whether a space is new.
    fn stores(&self, kept: &Kept, read: &mut Vec<Option<Space>>, work: &mut Vec<Site>) -> bool {
        let before = read.len();
        for (id, _, inst) in places(self.module) {
            let data = self.module.functions[id].inst(inst);
            let space = data.field::<Space>();
            if kept[id][inst] && data.is(Flags::READS) && space != Some(Space::Param) && !read.contains(&space) {
                read.push(space);
            }
        }
        let is_read = |space: Option<Space>| {
            let generic = |space: &Option<Space>| matches!(space, None | Some(Space::Generic));
            read.iter().any(|other| *other == space || generic(other)) || generic(&space)
        };
        let writes = |(id, inst): &Site| {
            let data = self.module.functions[*id].inst(*inst);
            data.is(Flags::FENCE)
                || data.is(Flags::CTA_BARRIER)
                || data.is(Flags::CONVERGENT)
                || is_read(data.field::<Space>())
        };
        if read.len() > before {
            work.extend(effects_of(self.module).filter(writes));
        }
        read.len() > before
    }
}

impl Body {
    fn of(func: &Function) -> Body {
        let mut definitions: SecondaryMap<Reg, Vec<Inst>> = SecondaryMap::new();
        let mut writers: SecondaryMap<Local, Vec<Inst>> = SecondaryMap::new();
        let mut proxies = Vec::new();
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            func.defs(inst).for_each(|reg| definitions[reg].push(inst));
            if data.is(Flags::PROXY) {
                proxies.push(inst);
            }
            for operand in func.inputs(inst).iter().filter(|_| data.is(Flags::EFFECT)) {
                if let Operand::Local(local) = operand {
                    writers[*local].push(inst);
                }
            }
        }
        Body { control: Control::of(func).into(), definitions, writers, proxies }
    }
}

/// Branches that nothing needs go to where control is sure to come.
fn straighten(func: &mut Function, control: &Control, kept: &SecondaryMap<Inst, bool>) {
    for block in func.layout().to_vec() {
        let Some(branch) = func.terminator(block).filter(|branch| !kept[*branch]) else { continue };
        if func.successors(block).nth(1).is_none() {
            continue;
        }
        match control.next(block) {
            Next::Block(next) => become_plain(func, branch, Opcode::Bra, &[Operand::Block(next)]),
            Next::End => become_plain(func, branch, Opcode::Ret, &[]),
            Next::Unknown => {}
        }
    }
}

/// Removes what is not kept, but for what ends blocks, and what only unreachable code has left to phis.
fn remove_others(func: &mut Function, kept: &SecondaryMap<Inst, bool>) {
    let reached = reachable(func);
    func.retain_blocks(|block| reached.contains(block));
    let mut removed = Substitution::default();
    for inst in func.layout_insts().collect::<Vec<_>>() {
        if !kept[inst] && !func.inst(inst).is(Flags::TERMINATOR) {
            removed.remove(func, inst);
        }
    }
    removed.apply(func);
}

/// Leads past blocks that only continue to another one without phis.
fn shorten(func: &mut Function) {
    let mut onward: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for block in func.layout() {
        let only = func.first_inst(*block).filter(|inst| func.inst(*inst).opcode == Opcode::Bra);
        let target = only.and_then(|inst| func.srcs(inst)[0].block());
        let phi = |to: Block| func.first_inst(to).is_some_and(|inst| func.inst(inst).opcode == Opcode::Phi);
        onward[*block] = target.filter(|to| !phi(*to));
    }
    // A ring of such blocks stays one: after as many steps as there are blocks, any of them is as good.
    let most = func.layout().len();
    let mut ends: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    // From the last block on, so that the end of a chain is known before its beginning.
    for block in func.layout().to_vec().into_iter().rev() {
        let Some(branch) = func.terminator(block) else { continue };
        for place in 0..func.srcs(branch).len() {
            let Some(first) = func.srcs(branch)[place].block() else { continue };
            let (mut at, mut steps) = (first, 0);
            while let Some(next) = ends[at].or(onward[at]).filter(|_| steps < most) {
                (at, steps) = (next, steps + 1);
            }
            ends[first] = Some(at).filter(|end| *end != first);
            func.srcs_mut(branch)[place] = Operand::Block(at);
        }
    }
    let reached = reachable(func);
    func.retain_blocks(|block| reached.contains(block));
    edit::repair(func);
}
