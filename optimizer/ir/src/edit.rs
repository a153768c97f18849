//! Editing a function: the only code that changes its arenas.
//!
//! Every edit leaves the lists of instructions in order, so that each instruction's block and place are known at any
//! time. No edit of an instruction costs the length of its block. Definitions and uses are not kept here, since most
//! who edit ask for neither: [`super::Rewriter`] makes the same edits and keeps them.
//!
//! Entries that are taken out stay in their arenas until [`Function::compact`]; numbers of registers and blocks, which
//! the text form shows, never change.

use cranelift_entity::EntityRef;

use super::entity::{Block, Inst, Reg};
use super::function::Function;
use super::immediate::FreeOperand;
use super::inst::{InstData, InstHead};
use super::lists::{BlockData, Node};
use super::operand::{Guard, Operand};
use super::register::RegInfo;
use super::schedule::Schedule;
use crate::ops::{FieldValue, FieldValues};

/// Registers and blocks.
impl Function {
    /// A new register.
    pub fn new_reg(&mut self, info: RegInfo) -> Reg {
        self.regs.push(info)
    }

    /// Gives a register another file or width.
    pub fn set_reg_info(&mut self, reg: Reg, info: RegInfo) {
        self.regs[reg] = info;
    }

    /// A new block at the end of the layout.
    pub fn new_block(&mut self) -> Block {
        let block = self.create_block();
        self.layout.push(block);
        block
    }

    /// A new block that is not in the layout yet.
    pub fn create_block(&mut self) -> Block {
        self.lists.blocks.push(BlockData::default())
    }

    /// Says whether the loop that a block is the header of is not to be unrolled.
    pub fn set_nounroll(&mut self, block: Block, nounroll: bool) {
        self.lists.blocks[block].nounroll = nounroll;
    }

    /// Puts a block at a place of the layout, before the block that is there.
    pub fn insert_block(&mut self, place: usize, block: Block) {
        self.layout.insert(place, block);
    }

    /// Puts a block at the end of the layout.
    pub fn append_block(&mut self, block: Block) {
        self.layout.push(block);
    }

    /// Takes the blocks out of the layout for which `keep` does not hold.
    pub fn retain_blocks(&mut self, keep: impl FnMut(&Block) -> bool) {
        self.layout.retain(keep);
    }

    /// Makes other blocks the function's body, in this order.
    pub fn set_layout(&mut self, layout: Vec<Block>) {
        self.layout = layout;
    }

    /// A new block behind another one of the layout.
    pub fn new_block_after(&mut self, block: Block) -> Block {
        let place = self.layout.iter().position(|other| *other == block).expect("the block stands in the layout");
        let new = self.create_block();
        self.layout.insert(place + 1, new);
        new
    }

    /// Moves an instruction, and all that follow it in its block, to the end of another block.
    pub fn move_tail(&mut self, from: Inst, to: Block) {
        self.lists.move_tail(from, to);
    }

    /// Moves all instructions of a block to the end of another one.
    pub fn move_insts(&mut self, from: Block, to: Block) {
        if let Some(first) = self.first_inst(from) {
            self.lists.move_tail(first, to);
        }
    }
}

/// Where instructions stand.
impl Function {
    /// Makes room for so many more instructions with so many operands together.
    pub fn reserve(&mut self, insts: usize, operands: usize) {
        self.insts.reserve(insts);
        self.lists.nodes.reserve(insts);
        self.pool.reserve(operands);
    }

    /// A new instruction that is in no block yet.
    pub fn new_inst(&mut self, head: InstHead, dsts: &[Operand], srcs: &[Operand], elses: &[Operand]) -> Inst {
        let data = self.add_operands(head, dsts, srcs, elses);
        self.add_inst(data)
    }

    /// The same of values that belong to no function yet.
    pub(super) fn new_free_inst(
        &mut self,
        head: InstHead,
        dsts: &[Operand],
        srcs: &[FreeOperand],
        elses: &[FreeOperand],
    ) -> Inst {
        let start = self.pool.len();
        self.pool.extend_from_slice(dsts);
        for value in srcs.iter().chain(elses) {
            let operand = self.bind(*value);
            self.pool.push(operand);
        }
        self.add_inst(InstData::new(head, start, [dsts.len(), srcs.len(), elses.len()]))
    }

    fn add_inst(&mut self, data: InstData) -> Inst {
        self.lists.nodes.push(Node::default());
        self.insts.push(data)
    }

    /// Puts an instruction at the end of a block.
    pub fn append_inst(&mut self, block: Block, inst: Inst) {
        self.lists.append(block, inst);
    }

    /// Puts an instruction at the beginning of a block.
    pub fn prepend_inst(&mut self, block: Block, inst: Inst) {
        match self.first_inst(block) {
            Some(first) => self.lists.insert_before(first, inst),
            None => self.lists.append(block, inst),
        }
    }

    /// Puts an instruction before another one.
    pub fn insert_before(&mut self, at: Inst, inst: Inst) {
        self.lists.insert_before(at, inst);
    }

    /// Puts an instruction after another one.
    pub fn insert_after(&mut self, at: Inst, inst: Inst) {
        self.lists.insert_after(at, inst);
    }

    /// Puts an instruction into a block so that `place` others precede it, or all, where they are fewer; costs the
    /// place.
    pub fn insert_at(&mut self, block: Block, place: usize, inst: Inst) {
        match self.block_insts(block).nth(place) {
            Some(at) => self.lists.insert_before(at, inst),
            None => self.lists.append(block, inst),
        }
    }

    /// Exchanges the places of two instructions of a block.
    pub fn swap_insts(&mut self, a: Inst, b: Inst) {
        if a == b {
            return;
        }
        let (first, second) = if self.is_before(a, b) { (a, b) } else { (b, a) };
        let before = self.prev_inst(second).filter(|inst| *inst != first);
        self.remove_inst(second);
        self.insert_before(first, second);
        self.remove_inst(first);
        self.insert_after(before.unwrap_or(second), first);
    }

    /// Takes an instruction out of its block.
    pub fn remove_inst(&mut self, inst: Inst) {
        self.lists.remove(inst);
    }

    /// Takes the instructions out of a block for which `keep` does not hold; it is asked in order.
    pub fn retain_insts(&mut self, block: Block, mut keep: impl FnMut(&Function, Inst) -> bool) {
        let mut next = self.first_inst(block);
        while let Some(inst) = next {
            next = self.next_inst(inst);
            if !keep(self, inst) {
                self.remove_inst(inst);
            }
        }
    }
}

/// What instructions are.
impl Function {
    /// Makes an instruction another one in its place; its source line and schedule stay. Bits of a machine word that
    /// operands do not say mean nothing there any more.
    pub fn set_inst(&mut self, inst: Inst, head: InstHead, dsts: &[Operand], srcs: &[Operand], elses: &[Operand]) {
        let old = self.insts[inst];
        let head = InstHead { line: old.line, ..head };
        if !self.unsaid.is_empty() {
            self.unsaid.remove(&inst);
        }
        let count = dsts.len() + srcs.len() + elses.len();
        if count > self.operand_places(inst).len() {
            self.insts[inst] = self.add_operands(head, dsts, srcs, elses);
            return;
        }
        let start = old.start as usize;
        for (place, operand) in (start..).zip(dsts.iter().chain(srcs).chain(elses)) {
            self.pool[place] = *operand;
        }
        self.insts[inst] = InstData::new(head, start, [dsts.len(), srcs.len(), elses.len()]);
    }

    /// Gives an instruction other sources.
    pub fn set_srcs(&mut self, inst: Inst, srcs: &[Operand]) {
        let (dsts, elses) = (self.dsts(inst).to_vec(), self.elses(inst).to_vec());
        self.set_inst(inst, self.insts[inst].head(), &dsts, srcs, &elses);
    }

    /// Gives an instruction another guard.
    pub fn set_guard(&mut self, inst: Inst, guard: Option<Guard>) {
        self.insts[inst].guard = guard;
    }

    /// Gives a field of an instruction another value.
    ///
    /// # Panics
    /// If the opcode does not have the field.
    pub fn set_field<F: FieldValue>(&mut self, inst: Inst, value: F) {
        let opcode = self.insts[inst].opcode;
        let slot = opcode.row().slot(F::FIELD).unwrap_or_else(|| panic!("{opcode:?} has no field {:?}", F::FIELD));
        self.insts[inst].fields.0[slot] = value.index();
    }

    /// Gives an instruction other fields.
    pub fn set_fields(&mut self, inst: Inst, fields: FieldValues) {
        self.insts[inst].fields = fields;
    }

    /// Gives an instruction another source line.
    pub fn set_line(&mut self, inst: Inst, line: u32) {
        self.insts[inst].line = line;
    }

    /// Says how an instruction of the machine level is scheduled, or that it is not.
    pub fn set_schedule(&mut self, inst: Inst, schedule: Option<Schedule>) {
        if self.schedules.len() <= inst.index() {
            self.schedules.resize(inst.index() + 1, None);
        }
        self.schedules[inst.index()] = schedule;
    }

    /// Says which bits of a machine word an instruction's operands do not say, and are other than usual.
    pub fn set_unsaid_bits(&mut self, inst: Inst, bits: u128) {
        match bits {
            0 => self.unsaid.remove(&inst),
            _ => self.unsaid.insert(inst, bits),
        };
    }

    /// The destinations, to change.
    pub fn dsts_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let range = self.range(0, self.insts[inst].dsts(), inst);
        &mut self.pool[range]
    }

    /// The sources, to change.
    pub fn srcs_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let range = self.range(self.insts[inst].dsts(), self.insts[inst].srcs, inst);
        &mut self.pool[range]
    }

    /// Everything that is read by value, to change: sources, then what the destinations become where the guard is
    /// false.
    pub fn inputs_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let data = self.insts[inst];
        let range = self.range(data.dsts(), data.srcs + data.elses(), inst);
        &mut self.pool[range]
    }

    /// Appends operands to the pool: an instruction with them.
    fn add_operands(&mut self, head: InstHead, dsts: &[Operand], srcs: &[Operand], elses: &[Operand]) -> InstData {
        let start = self.pool.len();
        self.pool.extend_from_slice(dsts);
        self.pool.extend_from_slice(srcs);
        self.pool.extend_from_slice(elses);
        InstData::new(head, start, [dsts.len(), srcs.len(), elses.len()])
    }
}
