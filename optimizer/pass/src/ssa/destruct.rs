//! From SSA form to the virtual form (Boissinot et al., "Revisiting Out-of-SSA Translation", 2009).
//!
//! 1. Old values of a loop's phis that live on behind the loop are copied inside where another phi takes them
//!    ([`rotate`]); the other such phis get a register of their own ([`isolate`]).
//! 2. Registers that can be one become one ([`Classes`]); what is left to copy is what interferes.
//! 3. The phis of a block become one parallel copy on the edge from each predecessor, put in sequence (the swap
//!    problem). A predecessor with one successor has it at its end. Another one has that of one edge before its branch,
//!    if nobody else could tell; the others are in new blocks on their edges (the lost-copy problem). An edge without
//!    copies stays as it is, so loops keep their shape.
//! 4. A guarded instruction with `else` becomes copies of its `else` operands, then the instruction without them.
//! 5. Copies that were made already on the only way to them are left out ([`leave_out_repeated`]), then blocks in which
//!    no copies came to stand ([`leave_out_empty`]).
//!
//! No copy can overwrite what anybody still reads, other than in the same parallel copy: the members of a class do not
//! interfere, and a destination's definition is where its copies are. What is undefined is copied only where somebody
//! could see that a register without a definition has several values ([`Reads`]).

use cranelift_entity::EntityRef;

use super::coalesce::Classes;
use super::forward::leave_out_empty;
use super::isolate::isolate;
use super::parallel_copy::sequentialise;
use super::reads::Reads;
use super::repeated::leave_out_repeated;
use super::rotate::rotate;
use crate::analysis::{Cfg, Liveness};
use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::{Block, Form, Function, Inst, InstBuilder, Operand, Reg, RegInfo};
use rustc_hash::FxHashSet;

/// Brings a function from SSA form into virtual form, without kill markers; functions in other forms stay as they are.
pub fn destruct(func: &mut Function) {
    if func.form != Form::Ssa {
        return;
    }
    func.set_kills(Vec::new());
    let cfg = Cfg::new(func);
    let reads = Reads::new(func);
    let mut liveness = Liveness::solve(func, &cfg);
    let mut apart = FxHashSet::default();
    for step in [rotate, isolate] {
        let copies = step(func, &cfg, &liveness);
        if !copies.is_empty() {
            liveness = Liveness::solve(func, &cfg);
            apart.extend(copies);
        }
    }
    let classes = Classes::new(func, &cfg, &liveness, &apart);
    let edges = Edges::new(func, &cfg, &reads, &classes);
    remove_phis(func);
    for block in func.layout().to_vec() {
        expand_elses(func, block, &reads);
        rename(func, block, &classes);
    }
    edges.place(func, &cfg, &classes, &liveness);
    let cfg = Cfg::new(func);
    leave_out_repeated(func, &cfg);
    leave_out_empty(func, &cfg);
    func.form = Form::Virtual;
}

/// Copies that read all their sources before they write any destination.
type ParallelCopy = Vec<(Reg, Operand)>;

/// The parallel copies that are left, by edge.
struct Edges {
    /// By block number: successors, and what is copied on the way to them.
    copies: Vec<Vec<(Block, ParallelCopy)>>,
    /// By block number: successors with phis, and the registers that these take from there, copied or not.
    taken: Vec<Vec<(Block, Reg)>>,
}

impl Edges {
    fn new(func: &Function, cfg: &Cfg, reads: &Reads, classes: &Classes) -> Edges {
        let blocks = func.blocks().len();
        let mut edges = Edges { copies: vec![Vec::new(); blocks], taken: vec![Vec::new(); blocks] };
        for block in cfg.blocks() {
            for phi in phis(func, *block) {
                for (dst, src, predecessor) in phi_copies(func, phi, *block, reads) {
                    let (dst, src) = (classes.of(dst), classes.operand(src));
                    edges.taken[predecessor.index()].extend(src.reg().map(|reg| (*block, reg)));
                    if src != Operand::Reg(dst) {
                        edges.add(predecessor, *block, (dst, src));
                    }
                }
            }
        }
        edges
    }

    fn add(&mut self, from: Block, to: Block, copy: (Reg, Operand)) {
        let list = &mut self.copies[from.index()];
        match list.iter_mut().find(|(block, _)| *block == to) {
            Some((_, copies)) => copies.push(copy),
            None => list.push((to, vec![copy])),
        }
    }

    /// Puts the copies of every edge where they act on it alone.
    fn place(self, func: &mut Function, cfg: &Cfg, classes: &Classes, liveness: &Liveness) {
        let mut layout = Vec::with_capacity(func.layout().len());
        for block in func.layout().to_vec() {
            layout.push(block);
            let edges = &self.copies[block.index()];
            let in_front = self.in_front(func, cfg, block, classes, liveness);
            for (successor, copies) in edges {
                if cfg.successors(block).len() == 1 {
                    jump_plainly(func, block, *successor);
                    write_copies(func, block, copies);
                } else if in_front == Some(*successor) {
                    write_copies(func, block, copies);
                } else {
                    let between = func.create_block();
                    InstBuilder::new(Opcode::Bra).src(*successor).append(func, between);
                    write_copies(func, between, copies);
                    redirect(func, block, *successor, between);
                    layout.push(between);
                }
            }
        }
        func.set_layout(layout);
    }

    /// The successor whose copies precede a block's branch, if some can: that of the edge back to a loop's header
    /// before others, as it is taken most. There is one at most, since what is there acts on the other edges too.
    fn in_front(
        &self,
        func: &Function,
        cfg: &Cfg,
        block: Block,
        classes: &Classes,
        liveness: &Liveness,
    ) -> Option<Block> {
        let harmless = |(to, copies): &&(Block, ParallelCopy)| {
            self.harmless_before_branch(func, cfg, (block, *to), copies, classes, liveness)
        };
        let goes_back = |(to, _): &&(Block, ParallelCopy)| cfg.rpo_number(block) >= cfg.rpo_number(*to);
        let edges = &self.copies[block.index()];
        let (back, onward): (Vec<_>, Vec<_>) = edges.iter().partition(goes_back);
        back.into_iter().chain(onward).find(harmless).map(|(to, _)| *to)
    }

    /// Whether copies on one edge may precede a block's branch: neither that nor what is behind the other edges,
    /// phis and their copies included, reads what they write.
    fn harmless_before_branch(
        &self,
        func: &Function,
        cfg: &Cfg,
        (block, to): (Block, Block),
        copies: &[(Reg, Operand)],
        classes: &Classes,
        liveness: &Liveness,
    ) -> bool {
        let written = |reg: Reg| copies.iter().any(|(dst, _)| *dst == reg);
        let Some(branch) = func.terminator(block) else { return false };
        let guard = func.inst(branch).guard.map(|guard| guard.reg());
        let mut read = func.inputs(branch).iter().filter_map(|operand| operand.reg()).chain(guard);
        let mut taken = self.taken[block.index()].iter().filter(|(other, _)| *other != to);
        let mut others = cfg.successors(block).iter().filter(|other| **other != to);
        let lives_in = |other: &Block| liveness.live_in(*other).iter().any(|reg| written(classes.of(reg)));
        !read.any(written) && !taken.any(|(_, reg)| written(*reg)) && !others.any(lives_in)
    }
}

/// Puts a parallel copy at the end of a block, before its terminator.
fn write_copies(func: &mut Function, block: Block, copies: &[(Reg, Operand)]) {
    let sequence = sequentialise(copies, |like| {
        let info = func.regs()[like];
        func.new_reg(info)
    });
    for (dst, src) in sequence {
        let copy = copy(func, dst, src, 0);
        match func.last_inst(block) {
            Some(end) => func.insert_before(end, copy),
            None => func.append_inst(block, copy),
        }
    }
}

pub(super) fn phis(func: &Function, block: Block) -> impl Iterator<Item = Inst> + '_ {
    func.block_insts(block).take_while(|inst| func.inst(*inst).opcode == Opcode::Phi)
}

fn remove_phis(func: &mut Function) {
    for block in func.layout().to_vec() {
        while let Some(phi) = func.first_inst(block).filter(|inst| func.inst(*inst).opcode == Opcode::Phi) {
            func.remove_inst(phi);
        }
    }
}

/// Gives every operand of a block the register of its class, and drops copies of a register to itself.
fn rename(func: &mut Function, block: Block, classes: &Classes) {
    let mut next = func.first_inst(block);
    while let Some(inst) = next {
        next = func.next_inst(inst);
        for operand in func.dsts_mut(inst) {
            *operand = classes.operand(*operand);
        }
        for operand in func.inputs_mut(inst) {
            *operand = classes.operand(*operand);
        }
        if let Some(guard) = func.inst(inst).guard {
            func.set_guard(inst, Some(guard.with_reg(classes.of(guard.reg()))));
        }
        if func.inst(inst).is(Flags::COPY) && func.srcs(inst) == func.dsts(inst) {
            func.remove_inst(inst);
        }
    }
}

/// A branch all of whose targets are one block could read what the copies before it overwrite; it need not read.
fn jump_plainly(func: &mut Function, block: Block, successor: Block) {
    if let Some(inst) = func.terminator(block)
        && func.inst(inst).opcode != Opcode::Bra
    {
        InstBuilder::new(Opcode::Bra).src(successor).replace(func, inst);
    }
}

/// Sends a block's branches to one block to another.
fn redirect(func: &mut Function, block: Block, old: Block, new: Block) {
    let Some(inst) = func.terminator(block) else { return };
    for operand in func.srcs_mut(inst).iter_mut().filter(|operand| **operand == Operand::Block(old)) {
        *operand = Operand::Block(new);
    }
}

/// What a phi copies, and at the end of which predecessor.
fn phi_copies<'a>(
    func: &'a Function,
    phi: Inst,
    block: Block,
    reads: &'a Reads,
) -> impl Iterator<Item = (Reg, Operand, Block)> + 'a {
    let dst = func.defs(phi).next();
    let keeps_undefined = dst.is_some_and(|dst| reads.see_several(dst, block, None));
    func.srcs(phi).chunks_exact(2).filter_map(move |pair| {
        let copied = keeps_undefined || pair[0] != Operand::Undef;
        Some((dst.filter(|_| copied)?, pair[0], pair[1].block()?))
    })
}

/// The last step, for one block. No destination is a source of its own instruction in SSA form.
fn expand_elses(func: &mut Function, block: Block, reads: &Reads) {
    let mut next = func.first_inst(block);
    while let Some(inst) = next {
        next = func.next_inst(inst);
        if func.elses(inst).is_empty() {
            continue;
        }
        let kept: Vec<(Reg, Operand)> = func.defs(inst).zip(func.elses(inst).iter().copied()).collect();
        let (line, guard) = (func.inst(inst).line, func.inst(inst).guard);
        let copied = |(dst, old): &(Reg, Operand)| match old {
            Operand::Undef => reads.see_several(*dst, block, guard),
            old => *old != Operand::Reg(*dst),
        };
        for (dst, old) in kept.into_iter().filter(copied) {
            let copy = copy(func, dst, old, line);
            func.insert_before(inst, copy);
        }
        let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        func.set_inst(inst, func.inst(inst).head(), &dsts, &srcs, &[]);
    }
}

/// A copy into a register of any file and width.
pub(super) fn copy(func: &mut Function, dst: Reg, src: Operand, line: u32) -> Inst {
    let mov = |ty: Type| InstBuilder::new(Opcode::Mov).field(ty).src(src);
    let inst = match func.regs()[dst] {
        info if info.is_predicate() => mov(Type::Pred),
        RegInfo { words: 1, .. } => mov(Type::B32),
        RegInfo { words: 2, .. } => mov(Type::B64),
        RegInfo { words: 4, .. } => mov(Type::B128),
        info => {
            InstBuilder::new(Opcode::Pack).field(Type::B32).srcs((0..info.words).map(|word| word_of(func, src, word)))
        }
    };
    inst.dst(dst).line(line).create(func)
}

/// A word of an operand that is as wide as a register.
fn word_of(func: &Function, operand: Operand, word: u8) -> Operand {
    match operand {
        Operand::Reg(reg) => Operand::Word(reg, word),
        Operand::Imm(imm) => func.imm_word(imm, word),
        other => other,
    }
}
