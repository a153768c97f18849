//! Taking unused entries out of a function's arenas.
//!
//! Edits leave what they take out in the arenas. Compaction gives the instructions new numbers, in program order, so it
//! runs between phases, when nobody holds numbers of instructions. Registers and blocks keep theirs: the text form
//! shows them.

use std::collections::BTreeMap;

use cranelift_entity::PrimaryMap;

use super::function::Function;
use super::immediate::Constants;
use super::inst::InstData;
use super::kill::{Anchor, Kill};
use super::lists::{BlockData, Lists, Node};
use super::name::Names;
use super::operand::Operand;

/// Functions with fewer unused entries than this are left as they are.
const SLACK: usize = 64;

impl Function {
    /// Compacts the arenas if more than half of their entries are unused. Says whether it did; then every instruction
    /// has another number.
    pub fn compact_if_sparse(&mut self) -> bool {
        let sparse = self.is_sparse();
        if sparse {
            self.compact();
        }
        sparse
    }

    fn is_sparse(&self) -> bool {
        let insts = self.inst_count();
        if self.insts.len() > 2 * insts + SLACK {
            return true;
        }
        // Most instructions have two to four operands, so few functions are counted without need.
        let pool = self.pool.len() > 4 * insts + SLACK && self.pool.len() > 2 * self.operands_in_use() + SLACK;
        pool || self.constants.len() > insts + SLACK && self.constants.len() > 2 * self.constants_in_use() + SLACK
    }

    /// How many operands stand for constants of the table; as many or fewer constants are in use.
    fn constants_in_use(&self) -> usize {
        let operands = self.layout_insts().flat_map(|inst| &self.pool[self.operand_places(inst)]);
        operands.filter(|operand| operand.is_placed()).count()
    }

    fn operands_in_use(&self) -> usize {
        self.layout_insts().map(|inst| self.operand_places(inst).len()).sum()
    }

    /// Drops the instructions that are in no block of the layout, the operands that belong to no instruction, and
    /// the constants that no operand stands for.
    pub fn compact(&mut self) {
        let count = self.inst_count();
        let mut lists = Lists { blocks: PrimaryMap::new(), nodes: PrimaryMap::with_capacity(count) };
        for block in self.lists.blocks.values() {
            lists.blocks.push(BlockData { nounroll: block.nounroll, ..BlockData::default() });
        }
        let mut insts = PrimaryMap::with_capacity(count);
        let mut pool = Vec::with_capacity(self.operands_in_use());
        let (mut constants, mut names, mut schedules) = (Constants::default(), Names::default(), Vec::new());
        let mut unsaid = BTreeMap::new();
        let mut kills = Vec::with_capacity(self.kills.len());
        for block in &self.layout {
            let entry = Anchor::Entry(*block);
            kills.extend(self.kills_at(entry).map(|reg| Kill { at: entry, reg }));
            for old in self.block_insts(*block) {
                let start = pool.len() as u32;
                let operands = self.pool[self.operand_places(old)].iter();
                pool.extend(operands.map(|operand| match operand {
                    Operand::Name(name) => names.adopt(&self.names, *name),
                    operand => constants.adopt(&self.constants, *operand),
                }));
                let inst = insts.push(InstData { start, ..self.insts[old] });
                lists.nodes.push(Node::default());
                lists.append(*block, inst);
                if !self.schedules.is_empty() {
                    schedules.push(self.schedule(old));
                }
                kills.extend(self.kills_at(Anchor::Behind(old)).map(|reg| Kill { at: Anchor::Behind(inst), reg }));
                unsaid.extend(self.unsaid.get(&old).map(|bits| (inst, *bits)));
            }
        }
        (self.lists, self.insts, self.pool) = (lists, insts, pool);
        (self.constants, self.names, self.schedules, self.unsaid) = (constants, names, schedules, unsaid);
        self.set_kills(kills);
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::{Opcode, Type};
    use crate::verify::verify_function;
    use crate::{Function, FunctionKind, InstBuilder, Operand, parse_function};

    const TEXT: &str = "\
device @f ssa {
bb0:
  %r1 = mov.b32 1
  %r2 = iadd.u32 %r1, 2
  cbra undef, bb1, bb2
bb1:
  bra bb2
bb2:
  %r3 = phi [bb0: %r1], [bb1: %r2]
  ret
}
";

    #[test]
    fn a_compact_function_is_the_same_and_smaller() {
        let mut func = parse_function(TEXT).unwrap();
        let original = func.clone();
        let (add, block) = (func.inst_at(func.entry(), 1), func.layout()[1]);
        for round in 0..100 {
            let mov = InstBuilder::new(Opcode::Mov).field(Type::B32).src(round);
            let gone = mov.create(&mut func);
            func.insert_before(add, gone);
            func.remove_inst(gone);
            let srcs: Vec<Operand> = (0..round).map(|number| func.imm(number)).collect();
            func.set_srcs(add, &srcs);
        }
        let srcs = original.srcs(original.inst_at(original.entry(), 1)).to_vec();
        func.set_srcs(add, &srcs);
        assert_eq!(func, original);
        assert!(func.compact_if_sparse());
        assert_eq!(func, original);
        assert_eq!((func.insts().len(), func.operand_count()), (func.inst_count(), 14));
        assert_eq!(verify_function(&func, None), Ok(()));
        assert!(!func.compact_if_sparse());
        // What is not in the layout leaves its instructions behind.
        func.retain_blocks(|other| *other != block);
        func.compact();
        assert_eq!(func.first_inst(block), None);
    }

    #[test]
    fn constants_that_nothing_names_go() {
        let mut func = Function::new("f", FunctionKind::Device);
        let block = func.new_block();
        let bits = |number: u32| f64::from(number).to_bits();
        let mov = |number| InstBuilder::new(Opcode::Mov).field(Type::B64).src(bits(number));
        let insts = [1, 2, 3].map(|number| mov(number).append(&mut func, block));
        for number in 4..300 {
            func.srcs_mut(insts[1])[0] = func.imm(bits(number));
        }
        assert_eq!(func.constants.len(), 299);
        let original = func.clone();
        assert!(func.compact_if_sparse());
        assert_eq!((func.constants.len(), &func), (3, &original));
        assert_eq!(func.imm_bits(func.srcs(func.inst_at(block, 1))[0]), Some(bits(299)));
        assert!(!func.compact_if_sparse());
    }
}
