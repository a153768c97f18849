//! Third step: what SSA form promises. Barrier registers carry order, not values, and are left out.
//!
//! Uses in unreachable blocks are dominated by everything, as no path leads to them.

use cranelift_entity::{EntityRef, SecondaryMap};

use super::dominance::Dominance;
use super::{Checker, Rule};
use crate::ops::Opcode;
use crate::{Block, Inst, Operand, Reg, RegFile};

/// Where a register is defined: the block, and the place in it.
type Definition = Option<(Block, u32)>;

/// The place behind all instructions of a block.
const END: u32 = u32::MAX;

impl Checker<'_> {
    pub(super) fn ssa(&mut self) {
        let dominance = Dominance::of(self.func);
        let entry = self.func.entry();
        self.block = Some(entry);
        self.expect(dominance.predecessors(entry).is_empty(), Rule::EntryPredecessors, || {
            "a branch leads to the entry".into()
        });
        let definitions = self.definitions();
        let mut flow = Flow { dominance, definitions, marks: SecondaryMap::new(), mark: 0 };
        for block in self.func.layout() {
            self.block = Some(*block);
            for (place, inst) in self.func.block_insts(*block).enumerate() {
                self.inst = Some(inst);
                if self.func.inst(inst).opcode == Opcode::Phi {
                    self.phi(inst, *block, &mut flow);
                } else {
                    let uses = self.func.uses(inst);
                    uses.for_each(|reg| self.use_of(reg, *block, place as u32, &flow));
                }
            }
            self.inst = None;
        }
        self.block = None;
    }

    fn is_value(&self, reg: Reg) -> bool {
        self.func.regs()[reg].file != RegFile::B
    }

    fn definitions(&mut self) -> Vec<Definition> {
        let func = self.func;
        let mut definitions: Vec<Definition> = vec![None; func.regs().len()];
        for block in func.layout() {
            self.block = Some(*block);
            for (place, inst) in func.block_insts(*block).enumerate() {
                self.inst = Some(inst);
                for reg in func.defs(inst).filter(|reg| func.regs()[*reg].file != RegFile::B) {
                    let old = definitions[reg.index()].replace((*block, place as u32));
                    self.expect(old.is_none(), Rule::SingleDefinition, || {
                        format!("register {} has been defined before", reg.as_u32())
                    });
                }
                self.inst = None;
            }
        }
        definitions
    }

    fn use_of(&mut self, reg: Reg, block: Block, place: u32, flow: &Flow) {
        let holds = !self.is_value(reg) || flow.reaches(reg, block, place);
        self.expect(holds, Rule::Dominance, || format!("no definition of register {} dominates this", reg.as_u32()));
    }

    fn phi(&mut self, inst: Inst, block: Block, flow: &mut Flow) {
        let func = self.func;
        let sources = || func.srcs(inst).chunks_exact(2).filter_map(|pair| Some((pair[0], pair[1].block()?)));
        let named = flow.names_predecessors(block, sources().map(|(_, from)| from));
        self.expect(named, Rule::PhiSources, || "the phi does not name each predecessor once".into());
        for (value, from) in sources() {
            if let Operand::Reg(reg) | Operand::Word(reg, _) = value {
                self.use_of(reg, from, END, flow);
            }
        }
    }
}

/// The function's control flow and definitions.
struct Flow {
    dominance: Dominance,
    definitions: Vec<Definition>,
    /// By block: the last mark it got.
    marks: SecondaryMap<Block, u32>,
    mark: u32,
}

impl Flow {
    /// Whether the register is defined on every path to the place.
    fn reaches(&self, reg: Reg, block: Block, place: u32) -> bool {
        match self.definitions[reg.index()] {
            _ if !self.dominance.is_reachable(block) => true,
            None => false,
            Some((at, order)) if at == block => order < place,
            Some((at, _)) => self.dominance.dominates(at, block),
        }
    }

    /// Whether the blocks are the predecessors, each once: a predecessor's mark moves from even to odd when it is
    /// named.
    fn names_predecessors(&mut self, block: Block, named: impl Iterator<Item = Block>) -> bool {
        self.mark += 2;
        let predecessors = self.dominance.predecessors(block);
        for predecessor in predecessors {
            self.marks[*predecessor] = self.mark;
        }
        let mut count = 0;
        for block in named {
            if self.marks[block] != self.mark {
                return false;
            }
            self.marks[block] += 1;
            count += 1;
        }
        count == predecessors.len()
    }
}
