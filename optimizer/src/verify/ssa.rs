//! Third step: what SSA form promises. Barrier registers carry order, not values, and are left out.
//!
//! Uses in unreachable blocks are dominated by everything, as no path leads to them.

use cranelift_entity::EntityRef;

use super::{Checker, Rule};
use crate::analysis::{Cfg, Dominators};
use crate::ir::{Block, Inst, Operand, Reg, RegFile};
use crate::ops::Opcode;

/// Where a register is defined: the block, and the place in it.
type Definition = Option<(Block, u32)>;

/// The place behind all instructions of a block.
const END: u32 = u32::MAX;

impl Checker<'_> {
    pub(super) fn ssa(&mut self) {
        let cfg = Cfg::new(self.func);
        let entry = self.func.entry();
        self.block = Some(entry);
        self.expect(cfg.predecessors(entry).is_empty(), Rule::EntryPredecessors, || {
            "a branch leads to the entry".into()
        });
        let definitions = self.definitions();
        let mut flow = Flow { dominators: Dominators::new(&cfg), cfg: &cfg, definitions, marks: Vec::new(), mark: 0 };
        flow.marks.resize(cfg.blocks().len(), 0);
        for block in &self.func.layout {
            self.block = Some(*block);
            for (place, inst) in self.func.blocks[*block].insts.iter().enumerate() {
                self.inst = Some(*inst);
                if self.func.insts[*inst].opcode == Opcode::Phi {
                    self.phi(*inst, *block, &mut flow);
                } else {
                    let uses = self.func.uses(*inst);
                    uses.for_each(|reg| self.use_of(reg, *block, place as u32, &flow));
                }
            }
            self.inst = None;
        }
        self.block = None;
    }

    fn is_value(&self, reg: Reg) -> bool {
        self.func.regs[reg].file != RegFile::B
    }

    fn definitions(&mut self) -> Vec<Definition> {
        let func = self.func;
        let mut definitions: Vec<Definition> = vec![None; func.regs.len()];
        for block in &func.layout {
            self.block = Some(*block);
            for (place, inst) in func.blocks[*block].insts.iter().enumerate() {
                self.inst = Some(*inst);
                for reg in func.defs(*inst).filter(|reg| func.regs[*reg].file != RegFile::B) {
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

    fn use_of(&mut self, reg: Reg, block: Block, place: u32, flow: &Flow<'_>) {
        let holds = !self.is_value(reg) || flow.reaches(reg, block, place);
        self.expect(holds, Rule::Dominance, || format!("no definition of register {} dominates this", reg.as_u32()));
    }

    fn phi(&mut self, inst: Inst, block: Block, flow: &mut Flow<'_>) {
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
struct Flow<'a> {
    cfg: &'a Cfg,
    dominators: Dominators,
    definitions: Vec<Definition>,
    /// By a block's place in the layout: the last mark it got.
    marks: Vec<u32>,
    mark: u32,
}

impl Flow<'_> {
    /// Whether the register is defined on every path to the place.
    fn reaches(&self, reg: Reg, block: Block, place: u32) -> bool {
        match self.definitions[reg.index()] {
            _ if !self.cfg.is_reachable(block) => true,
            None => false,
            Some((at, order)) if at == block => order < place,
            Some((at, _)) => self.dominators.dominates(self.cfg, at, block),
        }
    }

    /// Whether the blocks are the predecessors, each once: a predecessor's mark moves from even to odd when it is named.
    fn names_predecessors(&mut self, block: Block, named: impl Iterator<Item = Block>) -> bool {
        self.mark += 2;
        let predecessors = self.cfg.predecessors(block);
        for position in predecessors.iter().filter_map(|block| self.cfg.position(*block)) {
            self.marks[position] = self.mark;
        }
        let mut count = 0;
        for block in named {
            let mark = self.cfg.position(block).map(|position| &mut self.marks[position]);
            let Some(mark) = mark.filter(|mark| **mark == self.mark) else { return false };
            *mark += 1;
            count += 1;
        }
        count == predecessors.len()
    }
}
