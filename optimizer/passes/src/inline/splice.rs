//! The body of a function in place of a call.

use cranelift_entity::EntityRef;

use super::passed::{Passed, is_access};
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Block, Function, Inst, InstBuilder, InstHead, Local, Operand, Reg, Variable};
use oriole_pass::analysis::Cfg;
use oriole_pass::edit::graph::{come_from, keep_reachable};

/// Puts a body in place of a call. The caller's block ends in a branch to the body's first block, and each return of
/// the body is a branch to a new block with what is behind the call.
pub(super) fn splice(func: &mut Function, call: Inst, body: &Function, passed: &Passed) {
    let block = func.block_of(call).expect("the call is part of the function");
    let rest = func.new_block_after(block);
    if let Some(after) = func.next_inst(call) {
        func.move_tail(after, rest);
    }
    for next in func.successors(rest).collect::<Vec<Block>>() {
        come_from(func, next, block, rest);
    }
    let names = Names::new(func, body, passed);
    for old in body.layout() {
        let insts: Vec<Inst> = body.block_insts(*old).collect();
        insts.into_iter().for_each(|inst| names.copy(func, body, inst, *old, rest));
    }
    InstBuilder::new(Opcode::Bra).src(names.blocks[body.entry().index()]).replace(func, call);
    let mut layout = func.layout().to_vec();
    let at = layout.iter().position(|block| *block == rest).expect("it was put there");
    layout.splice(at..at, body.layout().iter().map(|old| names.blocks[old.index()]));
    func.set_layout(layout);
    if !body.layout().iter().any(|old| returns(body, *old)) {
        let cfg = Cfg::new(func);
        keep_reachable(func, &cfg);
    }
    let passed: Vec<Local> = passed.variables.iter().map(|(local, _)| *local).collect();
    become_local(func, &passed);
}

fn returns(body: &Function, block: Block) -> bool {
    body.terminator(block).is_some_and(|inst| body.inst(inst).opcode == Opcode::Ret)
}

/// The caller's names of what a body names, by number.
struct Names {
    blocks: Vec<Block>,
    regs: Vec<Reg>,
    locals: Vec<Local>,
}

impl Names {
    fn new(func: &mut Function, body: &Function, passed: &Passed) -> Names {
        let regs = body.regs().values().map(|info| func.new_reg(*info)).collect();
        let mut blocks = Vec::with_capacity(body.blocks().len());
        for old in body.blocks().keys() {
            let block = func.create_block();
            func.set_nounroll(block, body.is_nounroll(old));
            blocks.push(block);
        }
        let of = |local: Local| passed.variables.iter().find(|(_, own)| *own == local).map(|(given, _)| *given);
        let mut locals = Vec::with_capacity(body.locals.len());
        for (local, variable) in &body.locals {
            locals.push(match of(local) {
                Some(given) => {
                    let align = variable.align.max(func.locals[given].align);
                    func.locals[given].align = align;
                    given
                }
                None => {
                    let name = unused_name(func, &format!("{}_{}", body.name, variable.name));
                    func.locals.push(Variable { name, ..variable.clone() })
                }
            });
        }
        Names { blocks, regs, locals }
    }

    fn reg(&self, reg: Reg) -> Reg {
        self.regs[reg.index()]
    }

    fn operand(&self, func: &mut Function, body: &Function, operand: Operand) -> Operand {
        match operand {
            Operand::Block(block) => Operand::Block(self.blocks[block.index()]),
            Operand::Local(local) => Operand::Local(self.locals[local.index()]),
            Operand::Imm(_) | Operand::Name(_) => func.adopt(body, operand),
            other => other.map_reg(|reg| self.reg(reg)),
        }
    }

    /// Copies an instruction of a block; a return becomes a branch to `rest`.
    fn copy(&self, func: &mut Function, body: &Function, inst: Inst, block: Block, rest: Block) {
        let to = self.blocks[block.index()];
        let head = body.inst(inst).head();
        if head.opcode == Opcode::Ret {
            let branch = InstBuilder::new(Opcode::Bra).src(rest).append(func, to);
            func.set_line(branch, head.line);
            return;
        }
        let head = InstHead { guard: head.guard.map(|guard| guard.with_reg(self.reg(guard.reg()))), ..head };
        let [dsts, srcs, elses] = [body.dsts(inst), body.srcs(inst), body.elses(inst)]
            .map(|list| list.iter().map(|operand| self.operand(func, body, *operand)).collect::<Vec<Operand>>());
        let copy = func.new_inst(head, &dsts, &srcs, &elses);
        func.append_inst(to, copy);
    }
}

/// A name that no variable of the function has, like the one that is wanted.
fn unused_name(func: &Function, wanted: &str) -> String {
    let is_free = |name: &str| func.locals.values().all(|variable| variable.name != name);
    if is_free(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (1_u32..).map(|number| format!("{wanted}_{number}"));
    numbered.find(|name| is_free(name)).expect("some number is free")
}

/// Variables that no call passes any longer are local memory.
fn become_local(func: &mut Function, variables: &[Local]) {
    variables.iter().for_each(|local| func.locals[*local].space = Space::Local);
    let named = |operand: Option<&Operand>| matches!(operand, Some(Operand::Local(local)) if variables.contains(local));
    let accesses: Vec<Inst> = func.layout_insts().filter(|inst| is_access(func, *inst)).collect();
    for inst in accesses {
        if named(func.srcs(inst).first()) {
            func.set_field(inst, Space::Local);
        }
    }
}
