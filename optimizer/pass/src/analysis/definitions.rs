//! Where values come from, and how often they are read: for functions in SSA form.

use cranelift_entity::EntityRef;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg};

/// By register: the instruction that defines it and the block of that.
#[derive(Clone, Debug)]
pub struct Definitions(Vec<Option<(Inst, Block)>>);

impl Definitions {
    /// The definitions of a function.
    pub fn new(func: &Function) -> Definitions {
        let mut definitions = vec![None; func.regs().len()];
        for block in func.layout() {
            for inst in func.block_insts(*block) {
                for reg in func.defs(inst) {
                    definitions[reg.index()] = Some((inst, *block));
                }
            }
        }
        Definitions(definitions)
    }

    /// Says that another instruction defines a register now.
    pub fn set(&mut self, reg: Reg, inst: Inst, block: Block) {
        if self.0.len() <= reg.index() {
            self.0.resize(reg.index() + 1, None);
        }
        self.0[reg.index()] = Some((inst, block));
    }

    /// Says that nothing defines a register any more.
    pub fn clear(&mut self, reg: Reg) {
        if let Some(place) = self.0.get_mut(reg.index()) {
            *place = None;
        }
    }

    /// The instruction that defines a register; `None` where there is none.
    pub fn inst(&self, reg: Reg) -> Option<Inst> {
        self.0.get(reg.index()).copied().flatten().map(|(inst, _)| inst)
    }

    /// The block in which a register is defined.
    pub fn block(&self, reg: Reg) -> Option<Block> {
        self.0.get(reg.index()).copied().flatten().map(|(_, block)| block)
    }

    /// The instruction that always defines a register, if it has this opcode: one without a guard.
    pub fn unguarded(&self, func: &Function, operand: Operand, opcode: Opcode) -> Option<Inst> {
        self.always(func, operand).filter(|inst| func.inst(*inst).opcode == opcode)
    }

    /// The instruction that always defines a whole register: one without a guard.
    pub fn always(&self, func: &Function, operand: Operand) -> Option<Inst> {
        let inst = self.inst(operand.whole_reg()?)?;
        func.inst(inst).guard.is_none().then_some(inst)
    }
}

/// Registers that nothing defines count for nothing, so that a new one that is not used yet makes no difference.
impl PartialEq for Definitions {
    fn eq(&self, other: &Definitions) -> bool {
        same_up_to(&self.0, &other.0, None)
    }
}

/// Whether two lists are the same but for repetitions of a value at their ends.
pub(super) fn same_up_to<T: PartialEq>(a: &[T], b: &[T], nothing: T) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short == &long[..short.len()] && long[short.len()..].iter().all(|value| *value == nothing)
}

/// By register: how many operands and guards read it.
#[derive(Clone, Debug)]
pub struct Uses(Vec<u32>);

impl Uses {
    /// The uses in a function.
    pub fn new(func: &Function) -> Uses {
        let mut counts = vec![0; func.regs().len()];
        for inst in func.layout_insts() {
            func.uses(inst).for_each(|reg| counts[reg.index()] += 1);
        }
        Uses(counts)
    }

    /// How often a register is read.
    pub fn count(&self, reg: Reg) -> u32 {
        self.0.get(reg.index()).copied().unwrap_or(0)
    }

    /// Takes back one read of a register; how many are left.
    pub fn lose(&mut self, reg: Reg) -> u32 {
        let count = &mut self.0[reg.index()];
        *count = count.saturating_sub(1);
        *count
    }

    /// Counts what an instruction reads.
    pub fn add(&mut self, func: &Function, inst: Inst) {
        for reg in func.uses(inst) {
            if self.0.len() <= reg.index() {
                self.0.resize(reg.index() + 1, 0);
            }
            self.0[reg.index()] += 1;
        }
    }

    /// Takes back reads of these registers; what nothing reads any more reads nothing either, if it is pure.
    pub fn release(&mut self, func: &Function, definitions: &Definitions, mut gone: Vec<Reg>) {
        while let Some(reg) = gone.pop() {
            let left = self.lose(reg);
            let Some(definition) = definitions.inst(reg).filter(|_| left == 0) else { continue };
            let unread = func.defs(definition).all(|reg| self.count(reg) == 0);
            if unread
                && func.inst(definition).is(oriole_ir::ops::Flags::PURE)
                && func.inst(definition).opcode != Opcode::Phi
            {
                gone.extend(func.uses(definition));
            }
        }
    }
}

/// As for [`Definitions`]: registers that nothing reads count for nothing.
impl PartialEq for Uses {
    fn eq(&self, other: &Uses) -> bool {
        same_up_to(&self.0, &other.0, 0)
    }
}
