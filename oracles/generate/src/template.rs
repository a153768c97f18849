//! Code as text: blocks in the text form `.ori`, put where code goes.
//!
//! The text goes on where code is, with its first instruction in the current block, and code goes on behind its last
//! one. In between it may have blocks, `bb1` and so on. The registers with the first numbers are those that it is lent,
//! in their order; others are new, whatever their numbers. `pmevent` is a hole: there the caller puts what it likes.

use std::collections::HashMap;

use oriole_ir::ops::{FieldValue, Flags, Opcode, Space};
use oriole_ir::{Block, Function, Inst, Operand, Reg, parse_function};

use super::builder::Builder;

impl Builder<'_, '_> {
    /// Code without holes.
    pub(super) fn template(&mut self, text: &str, lent: &[Reg]) {
        self.template_around(text, lent, &mut |_| {});
    }

    /// Code with something in each hole.
    ///
    /// # Panics
    ///
    /// If the text is none of the text form: it is part of the generator.
    pub(super) fn template_around(&mut self, text: &str, lent: &[Reg], hole: &mut dyn FnMut(&mut Self)) {
        let text = format!("device @template {{\nbb0:\n{text}\n  ret\n}}\n");
        let from = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let blocks = from.layout().iter().map(|block| (*block, self.block)).collect();
        let mut names = Names { regs: lent.to_vec(), new: HashMap::new(), blocks };
        for block in &from.layout()[1..] {
            names.blocks.insert(*block, self.func.new_block());
        }
        for block in from.layout() {
            self.block = names.blocks[block];
            for inst in from.block_insts(*block) {
                match from.inst(inst).opcode {
                    Opcode::PmEvent => hole(self),
                    Opcode::Ret => return,
                    _ => self.copy(&from, inst, &mut names),
                }
            }
        }
    }

    fn copy(&mut self, from: &Function, inst: Inst, names: &mut Names) {
        let mut head = from.inst(inst).head();
        head.guard = head.guard.map(|guard| guard.with_reg(names.reg(self, from, guard.reg())));
        let [dsts, srcs, elses] = [from.dsts(inst), from.srcs(inst), from.elses(inst)]
            .map(|list| list.iter().map(|operand| names.operand(self, from, *operand)).collect::<Vec<Operand>>());
        if from.inst(inst).is(Flags::TERMINATOR) {
            self.settle();
        }
        let copy = self.func.new_inst(head, &dsts, &srcs, &elses);
        self.func.append_inst(self.block, copy);
        self.budget = self.budget.saturating_sub(1);
    }
}

/// What the numbers of a text stand for.
struct Names {
    /// The registers that it is lent.
    regs: Vec<Reg>,
    new: HashMap<Reg, Reg>,
    blocks: HashMap<Block, Block>,
}

impl Names {
    fn reg(&mut self, builder: &mut Builder<'_, '_>, from: &Function, reg: Reg) -> Reg {
        let lent = self.regs.get(reg.as_u32() as usize).copied();
        let own =
            lent.unwrap_or_else(|| *self.new.entry(reg).or_insert_with(|| builder.func.new_reg(from.regs()[reg])));
        debug_assert_eq!(builder.info(own), from.regs()[reg], "{reg} stands for a register like it");
        own
    }

    fn operand(&mut self, builder: &mut Builder<'_, '_>, from: &Function, operand: Operand) -> Operand {
        match operand {
            Operand::Block(block) => Operand::Block(self.blocks[&block]),
            Operand::Reg(reg) => Operand::Reg(self.reg(builder, from, reg)),
            Operand::Word(reg, word) => Operand::Word(self.reg(builder, from, reg), word),
            other => builder.func.bind(from.free(other)),
        }
    }
}

/// A mnemonic with the name of a space, which generic addresses have none of.
pub(super) fn spelled(mnemonic: &str, space: Space) -> String {
    let dot = if space.name().is_empty() { "" } else { "." };
    format!("{mnemonic}{dot}{}", space.name())
}
