//! From SSA form to the virtual form (Boissinot et al., "Revisiting Out-of-SSA Translation", 2009, without coalescing).
//!
//! 1. A block with several successors gets a block of its own on each edge to a block with phis (the edge is critical:
//!    copies at the block's end would act on the other edges too, the lost-copy problem).
//! 2. The phis of a block become one parallel copy at the end of each predecessor, put in sequence (the swap problem).
//! 3. A guarded instruction with `else` becomes copies of its `else` operands, then the instruction without them.
//!
//! Registers keep their numbers. As each still has a definition of its own, and copies run on edges alone, no copy can
//! overwrite what anybody still reads, other than in the same parallel copy. What is undefined is copied only where
//! somebody could see that a register without a definition has several values ([`Reads`]).

use cranelift_entity::EntityRef;

use super::parallel_copy::sequentialise;
use super::reads::Reads;
use crate::analysis::Cfg;
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Form, Function, Inst, InstBuilder, Operand, Reg, RegInfo};

/// Brings a function from SSA form into virtual form; functions in other forms stay as they are.
pub fn destruct(func: &mut Function) {
    if func.form != Form::Ssa {
        return;
    }
    let cfg = Cfg::new(func);
    let reads = Reads::new(func);
    let edges = Edges::split(func, &cfg);
    replace_phis(func, &cfg, &edges, &reads);
    for block in func.layout().to_vec() {
        expand_elses(func, block, &reads);
    }
    func.form = Form::Virtual;
}

/// Where the copies of each edge into a block with phis go.
struct Edges {
    /// By block number: the new blocks behind it, by successor.
    split: Vec<Vec<(Block, Block)>>,
}

impl Edges {
    /// The first step.
    fn split(func: &mut Function, cfg: &Cfg) -> Edges {
        let mut split = vec![Vec::new(); func.blocks().len()];
        let mut layout = Vec::with_capacity(func.layout().len());
        for block in func.layout().to_vec() {
            layout.push(block);
            let successors = cfg.successors(block);
            for successor in successors {
                if !has_phis(func, *successor) {
                    continue;
                }
                if successors.len() == 1 {
                    jump_plainly(func, block, *successor);
                    continue;
                }
                let between = func.create_block();
                InstBuilder::new(Opcode::Bra).src(*successor).append(func, between);
                split[block.index()].push((*successor, between));
                layout.push(between);
            }
            redirect(func, block, &split[block.index()]);
        }
        func.set_layout(layout);
        Edges { split }
    }

    /// The block at whose end the copies from `block` to `successor` go.
    fn copies_at(&self, block: Block, successor: Block) -> Block {
        let found = self.split[block.index()].iter().find(|(to, _)| *to == successor);
        found.map_or(block, |(_, between)| *between)
    }
}

fn has_phis(func: &Function, block: Block) -> bool {
    func.first_inst(block).is_some_and(|inst| func.inst(inst).opcode == Opcode::Phi)
}

/// A branch all of whose targets are one block could read what the copies before it overwrite; it need not read.
fn jump_plainly(func: &mut Function, block: Block, successor: Block) {
    if let Some(inst) = func.terminator(block)
        && func.inst(inst).opcode != Opcode::Bra
    {
        InstBuilder::new(Opcode::Bra).src(successor).replace(func, inst);
    }
}

/// Sends a block's branches to the new blocks.
fn redirect(func: &mut Function, block: Block, split: &[(Block, Block)]) {
    let Some(inst) = func.terminator(block).filter(|_| !split.is_empty()) else { return };
    for operand in func.srcs_mut(inst) {
        let new = split.iter().find(|(to, _)| *operand == Operand::Block(*to));
        if let Some((_, between)) = new {
            *operand = Operand::Block(*between);
        }
    }
}

/// The second step.
fn replace_phis(func: &mut Function, cfg: &Cfg, edges: &Edges, reads: &Reads) {
    // By block number: the parallel copy at its end. A block with copies has one successor, so there is one.
    let mut copies: Vec<Vec<(Reg, Operand)>> = vec![Vec::new(); func.blocks().len()];
    for block in cfg.blocks() {
        while let Some(phi) = func.first_inst(*block).filter(|inst| func.inst(*inst).opcode == Opcode::Phi) {
            func.remove_inst(phi);
            for (dst, src, predecessor) in phi_copies(func, phi, *block, reads) {
                copies[edges.copies_at(predecessor, *block).index()].push((dst, src));
            }
        }
    }
    for block in func.layout().to_vec() {
        let sequence = sequentialise(&copies[block.index()], |like| {
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

/// The third step, for one block. No destination is a source of its own instruction in SSA form.
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
fn copy(func: &mut Function, dst: Reg, src: Operand, line: u32) -> Inst {
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
