//! Calls of functions by pointers.
//!
//! A function is compiled once for each kernel that reaches it and has no address that holds for all of them. Its
//! pointer is a number, which a call compares with those of the functions that it can mean: those whose pointer
//! something takes, with as many bytes of parameters and results. No pointer is zero. One that is none of them ends the
//! grid with an error; PTX leaves it undefined.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, FuncId, Function, Inst, InstHead, Module, Operand, RegInfo, SymbolRef};

use crate::select::go_on;

/// The functions whose pointers a module takes, in the order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pointers {
    /// With the bytes of each result and parameter.
    functions: Vec<(FuncId, Vec<u64>)>,
}

impl Pointers {
    /// Those of a module.
    pub fn of(module: &Module) -> Pointers {
        let mut taken: Vec<FuncId> = Vec::new();
        let mut take = |id: FuncId| {
            if !taken.contains(&id) {
                taken.push(id);
            }
        };
        for row in module.globals.values().flat_map(|variable| &variable.relocations) {
            if let SymbolRef::Func(id) = row.symbol {
                take(id);
            }
        }
        for func in module.functions.values() {
            for inst in func.layout_insts() {
                let callee = usize::from(func.inst(inst).opcode == Opcode::Call);
                for operand in func.srcs(inst).iter().skip(callee) {
                    if let Operand::Func(id) = operand {
                        take(*id);
                    }
                }
            }
        }
        let sizes = |id: FuncId| {
            let func = &module.functions[id];
            func.returns.iter().chain(&func.params).map(|local| func.locals[*local].size()).collect()
        };
        Pointers { functions: taken.into_iter().map(|id| (id, sizes(id))).collect() }
    }

    /// The number of a function.
    pub fn number(&self, id: FuncId) -> Option<u64> {
        self.functions.iter().position(|(known, _)| *known == id).map(number)
    }

    /// The functions that a call of one by its pointer can mean, with their numbers.
    pub fn of_call(&self, func: &Function, inst: Inst) -> Vec<(FuncId, u64)> {
        let variables = func.srcs(inst)[1..].iter().filter_map(|operand| match operand {
            Operand::Local(local) => Some(func.locals[*local].size()),
            _ => None,
        });
        let sizes: Vec<u64> = variables.collect();
        let fit = self.functions.iter().enumerate().filter(|(_, (_, own))| *own == sizes);
        fit.map(|(at, (id, _))| (*id, number(at))).collect()
    }
}

/// Pointers are multiples of the size of an instruction.
fn number(at: usize) -> u64 {
    16 * (at as u64 + 1)
}

/// Puts comparisons and calls in the place of each call by a pointer.
pub(super) fn resolve(func: &mut Function, divergent: &mut SecondaryMap<Block, bool>, pointers: &Pointers) {
    let is_indirect = |inst: &Inst| {
        let data = func.inst(*inst);
        data.opcode == Opcode::Call && data.guard.is_none() && matches!(func.srcs(*inst)[0], Operand::Reg(_))
    };
    let calls: Vec<Inst> = func.layout_insts().filter(is_indirect).collect();
    for inst in calls {
        let block = func.block_of(inst).expect("it is in a block");
        let (head, srcs) = (func.inst(inst).head(), func.srcs(inst).to_vec());
        let callees = pointers.of_call(func, inst);
        let behind = func.new_block_after(block);
        if let Some(next) = func.next_inst(inst) {
            func.move_tail(next, behind);
        }
        func.remove_inst(inst);
        divergent[behind] = divergent[block];
        let mut last = block;
        for (callee, number) in callees {
            let rest = func.new_block_after(last);
            let call = func.new_block_after(last);
            let is_it = func.new_reg(RegInfo::PRED);
            let number = func.imm(number);
            let compare = func.new_inst(of(Opcode::SetP, head), &[Operand::Reg(is_it)], &[srcs[0], number], &[]);
            func.set_field(compare, Compare::Eq);
            func.set_field(compare, Type::B64);
            func.append_inst(last, compare);
            let targets = [Operand::Reg(is_it), Operand::Block(call), Operand::Block(rest)];
            let branch = func.new_inst(of(Opcode::CBra, head), &[], &targets, &[]);
            func.append_inst(last, branch);
            let mut own = srcs.clone();
            own[0] = Operand::Func(callee);
            let made = func.new_inst(head, &[], &own, &[]);
            func.append_inst(call, made);
            go_on(func, call, behind, head.line);
            divergent[last] = true;
            last = rest;
        }
        let trap = func.new_inst(of(Opcode::Trap, head), &[], &[], &[]);
        func.append_inst(last, trap);
        go_on(func, last, behind, head.line);
    }
}

/// The head of an operation in the place of another one.
fn of(opcode: Opcode, head: InstHead) -> InstHead {
    InstHead { opcode, fields: opcode.row().default_fields(), guard: None, line: head.line }
}
