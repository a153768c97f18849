//! Edits of a function that keep its definitions and reads.
//!
//! The edits are those of [`Function`], whose methods a rewriter has for reading. It borrows the function, so nothing
//! else changes it meanwhile, and [`DefUse`] is true between any two edits. An edit of an instruction costs its
//! operands.

use std::ops::Deref;

use super::build::InstBuilder;
use super::def_use::DefUse;
use super::entity::{Block, Inst, Reg};
use super::function::Function;
use super::inst::InstHead;
use super::operand::{Guard, Operand};
use super::register::RegInfo;
use crate::ops::{FieldValue, FieldValues};

/// A function under change, with its definitions and reads.
#[derive(Debug)]
pub struct Rewriter<'f> {
    func: &'f mut Function,
    def_use: DefUse,
}

impl Deref for Rewriter<'_> {
    type Target = Function;

    fn deref(&self) -> &Function {
        self.func
    }
}

impl<'f> Rewriter<'f> {
    /// Looks at the whole function once.
    pub fn new(func: &'f mut Function) -> Rewriter<'f> {
        let def_use = DefUse::new(func);
        Rewriter { func, def_use }
    }

    /// Continues with definitions and reads that are those of the function.
    pub fn resume(func: &'f mut Function, def_use: DefUse) -> Rewriter<'f> {
        Rewriter { func, def_use }
    }

    /// The definitions and reads, for [`Rewriter::resume`].
    pub fn finish(self) -> DefUse {
        self.def_use
    }

    /// Ends the rewriting: the function, whose definitions and reads nobody keeps any more.
    pub fn into_function(self) -> &'f mut Function {
        self.func
    }

    /// The definitions and reads as they are now.
    pub fn def_use(&self) -> &DefUse {
        &self.def_use
    }

    /// A new register.
    pub fn new_reg(&mut self, info: RegInfo) -> Reg {
        self.func.new_reg(info)
    }

    /// Puts an instruction at the end of a block.
    pub fn append(&mut self, block: Block, inst: &InstBuilder) -> Inst {
        let inst = inst.append(self.func, block);
        self.def_use.enter(self.func, inst);
        inst
    }

    /// Puts an instruction before another one.
    pub fn insert_before(&mut self, at: Inst, inst: &InstBuilder) -> Inst {
        let inst = inst.insert_before(self.func, at);
        self.def_use.enter(self.func, inst);
        inst
    }

    /// Puts an instruction after another one.
    pub fn insert_after(&mut self, at: Inst, inst: &InstBuilder) -> Inst {
        let inst = inst.insert_after(self.func, at);
        self.def_use.enter(self.func, inst);
        inst
    }

    /// Takes an instruction out of its block.
    pub fn remove(&mut self, inst: Inst) {
        self.def_use.leave(self.func, inst);
        self.func.remove_inst(inst);
    }

    /// Takes a block out of the layout, with what it holds.
    pub fn remove_block(&mut self, block: Block) {
        self.func.block_insts(block).for_each(|inst| self.def_use.leave(self.func, inst));
        self.func.retain_blocks(|other| *other != block);
    }

    /// Moves an instruction before another one, of any block.
    pub fn move_before(&mut self, at: Inst, inst: Inst) {
        self.func.remove_inst(inst);
        self.func.insert_before(at, inst);
    }

    /// Moves an instruction after another one, of any block.
    pub fn move_after(&mut self, at: Inst, inst: Inst) {
        self.func.remove_inst(inst);
        self.func.insert_after(at, inst);
    }

    /// Makes an instruction another one in its place; its source line stays.
    pub fn replace(&mut self, inst: Inst, by: &InstBuilder) {
        self.edit(inst, |func| by.replace(func, inst));
    }

    /// As [`Rewriter::replace`], from its parts.
    pub fn set_inst(&mut self, inst: Inst, head: InstHead, dsts: &[Operand], srcs: &[Operand], elses: &[Operand]) {
        self.edit(inst, |func| func.set_inst(inst, head, dsts, srcs, elses));
    }

    /// Gives an instruction other sources.
    pub fn set_srcs(&mut self, inst: Inst, srcs: &[Operand]) {
        self.edit(inst, |func| func.set_srcs(inst, srcs));
    }

    /// Changes what an instruction reads, its guard left out: sources and `else` values, each by itself.
    pub fn map_inputs(&mut self, inst: Inst, map: impl Fn(Operand) -> Operand) {
        self.edit(inst, |func| func.inputs_mut(inst).iter_mut().for_each(|operand| *operand = map(*operand)));
    }

    /// Gives an instruction another guard.
    pub fn set_guard(&mut self, inst: Inst, guard: Option<Guard>) {
        self.edit(inst, |func| func.set_guard(inst, guard));
    }

    /// Gives a field of an instruction another value, as [`Function::set_field`].
    pub fn set_field<F: FieldValue>(&mut self, inst: Inst, value: F) {
        self.func.set_field(inst, value);
    }

    /// Gives an instruction other fields.
    pub fn set_fields(&mut self, inst: Inst, fields: FieldValues) {
        self.func.set_fields(inst, fields);
    }

    /// Makes everything that reads a register read another one; words stay words. Costs the operands of the readers.
    pub fn replace_reads(&mut self, old: Reg, new: Reg) {
        if old == new {
            return;
        }
        // Each edit takes the reader out of the list, whatever the number of its reads.
        loop {
            let Some(inst) = self.def_use.reads(old).next() else { return };
            let guard = self.func.inst(inst).guard;
            let rename = |reg| if reg == old { new } else { reg };
            let renamed = guard.map(|guard| guard.with_reg(rename(guard.reg())));
            self.edit(inst, |func| {
                func.inputs_mut(inst).iter_mut().for_each(|operand| *operand = operand.map_reg(rename));
                func.set_guard(inst, renamed);
            });
        }
    }

    /// Edits an instruction that is in a block.
    fn edit(&mut self, inst: Inst, edit: impl FnOnce(&mut Function)) {
        self.def_use.leave(self.func, inst);
        edit(self.func);
        self.def_use.enter(self.func, inst);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::{Opcode, Type};
    use crate::verify::verify_function;
    use crate::{Form, FunctionKind};

    /// The readers and definers of every register, sorted.
    fn lists(func: &Function, def_use: &DefUse) -> Vec<(Vec<Inst>, Vec<Inst>)> {
        let sorted = |list: &mut dyn Iterator<Item = Inst>| {
            let mut insts: Vec<Inst> = list.collect();
            insts.sort_unstable();
            insts
        };
        let of = |reg: Reg| (sorted(&mut def_use.definitions(reg)), sorted(&mut def_use.reads(reg)));
        func.regs().keys().map(of).collect()
    }

    fn add(func: &Function, choice: [u32; 4]) -> InstBuilder {
        let reg = |number: u32| Reg::from_u32(number % func.regs().len() as u32);
        let guard = choice[0].is_multiple_of(3).then(|| Guard::new(Reg::from_u32(0), choice[0] & 1 == 1));
        let add = InstBuilder::new(Opcode::IAdd).field(Type::U32).guard(guard);
        let add = add.dst(reg(choice[1].max(1))).src(reg(choice[2]));
        if choice[3].is_multiple_of(4) { add.src(u64::from(choice[3])) } else { add.src(reg(choice[3])) }
    }

    /// One edit; what it takes is chosen by the numbers.
    fn edit(rewriter: &mut Rewriter<'_>, choice: [u32; 4]) {
        let insts: Vec<Inst> = rewriter.layout_insts().collect();
        let pick = |number: u32| insts.get(number as usize % insts.len().max(1)).copied();
        let new = add(rewriter, choice);
        let (Some(inst), Some(other)) = (pick(choice[1]), pick(choice[2])) else {
            let block = rewriter.entry();
            rewriter.append(block, &new);
            return;
        };
        let reg = |number: u32| Reg::from_u32(number % rewriter.regs().len() as u32);
        let (old, by) = (reg(choice[2]), reg(choice[3]));
        match choice[0] % 11 {
            0 => _ = rewriter.new_reg(RegInfo::words(1)),
            1 => _ = rewriter.append(rewriter.entry(), &new),
            2 => _ = rewriter.insert_before(inst, &new),
            3 => _ = rewriter.insert_after(inst, &new),
            4 => rewriter.remove(inst),
            5 => rewriter.replace(inst, &new),
            6 => rewriter.map_inputs(inst, |operand| if operand.reg() == Some(old) { by.into() } else { operand }),
            7 => rewriter.set_srcs(inst, &[old.into(), by.into(), Operand::Word(by, 0)]),
            8 => rewriter.set_guard(inst, Some(Guard::new(by, false))),
            9 => rewriter.replace_reads(old, by),
            _ if inst != other => rewriter.move_before(other, inst),
            _ => rewriter.set_guard(inst, None),
        }
    }

    proptest! {
        /// Whatever is edited, the lists are those of the function as it is.
        #[test]
        fn lists_are_those_that_a_new_look_finds(choices in prop::collection::vec(any::<[u32; 4]>(), 1..120)) {
            let mut func = Function::new("f", FunctionKind::Device);
            func.form = Form::Virtual;
            func.new_reg(RegInfo::PRED);
            for _ in 0..4 {
                func.new_reg(RegInfo::words(1));
            }
            func.new_block();
            let mut rewriter = Rewriter::new(&mut func);
            for choice in choices {
                edit(&mut rewriter, choice);
                let fresh = DefUse::new(&rewriter);
                prop_assert_eq!(lists(&rewriter, rewriter.def_use()), lists(&rewriter, &fresh));
            }
            let violations = verify_function(&func, None).err().unwrap_or_default();
            prop_assert!(violations.iter().all(|violation| violation.rule != crate::verify::Rule::BlockList));
        }
    }

    /// A register with many readers loses each of them in constant time: the others are not walked.
    #[test]
    fn many_readers_go_one_by_one() {
        let mut func = Function::new("f", FunctionKind::Device);
        let (block, source) = (func.new_block(), func.new_reg(RegInfo::words(1)));
        let reader = |func: &mut Function| {
            let dst = func.new_reg(RegInfo::words(1));
            InstBuilder::new(Opcode::Mov).field(Type::B32).dst(dst).src(source).append(func, block)
        };
        let insts: Vec<Inst> = (0..80_000).map(|_| reader(&mut func)).collect();
        let mut rewriter = Rewriter::new(&mut func);
        assert_eq!(rewriter.def_use().read_count(source), insts.len());
        insts.iter().for_each(|inst| rewriter.map_inputs(*inst, |_| Operand::imm(0)));
        assert_eq!(rewriter.def_use().reads(source).next(), None);
        assert_eq!(rewriter.def_use().definition(source), None);
        let last = *insts.last().expect("there are many");
        let dst = rewriter.defs(last).next().expect("a mov defines one");
        assert_eq!(rewriter.def_use().definition(dst), Some(last));
    }
}
