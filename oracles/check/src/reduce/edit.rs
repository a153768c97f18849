//! The parts of mutators: substitution of values, removal of instructions, and the repair of SSA form.
//!
//! Edits may leave invalid IR. [`repair`] corrects phis and dominance, with zeros for missing values, and the verifier
//! refuses the rest before a candidate is run. Control flow is computed here and not by the optimizer, since the
//! candidates test the optimizer.

use cranelift_entity::{EntityRef, SecondaryMap};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, FuncId, Function, Inst, InstHead, Module, Operand, Reg, RegFile};

/// The zero that stands for a missing value.
pub const ZERO: Operand = Operand::imm(0);

/// Every instruction of every body, in program order.
pub fn places(module: &Module) -> Vec<(FuncId, Block, Inst)> {
    let mut out = Vec::new();
    for (id, func) in &module.functions {
        for block in func.layout() {
            out.extend(func.block_insts(*block).map(|inst| (id, *block, inst)));
        }
    }
    out
}

/// Values that stand for registers of one function, and instructions that go.
#[derive(Default)]
pub struct Substitution {
    values: SecondaryMap<Reg, Option<Operand>>,
    removed: Vec<Inst>,
}

impl Substitution {
    /// A value for every use of a register.
    pub fn replace(&mut self, reg: Reg, by: Operand) {
        self.values[reg] = Some(by);
    }

    /// Removes an instruction; registers that it defines and nothing else stands for become zero.
    pub fn remove(&mut self, func: &Function, inst: Inst) {
        for reg in func.defs(inst) {
            self.values[reg].get_or_insert(ZERO);
        }
        self.removed.push(inst);
    }

    /// What stands for an operand in the end; zero in a ring of registers that stand for each other. Chains may be as
    /// long as programs, so the registers on the way are noted to stand for the same.
    fn resolve(&mut self, func: &Function, operand: Operand) -> Operand {
        let (mut end, mut passed) = (operand, Vec::new());
        let mut steps = func.regs().len();
        loop {
            end = match end {
                Operand::Reg(reg) => match self.values[reg] {
                    Some(value) => {
                        passed.push(reg);
                        value
                    }
                    None => break,
                },
                // From here on it is no register as a whole.
                Operand::Word(reg, word) => match self.values[reg] {
                    Some(value) => word_of(func, value, word),
                    None => break,
                },
                _ => break,
            };
            if steps == 0 {
                end = ZERO;
                break;
            }
            steps -= 1;
        }
        passed.into_iter().for_each(|reg| self.values[reg] = Some(end));
        end
    }

    /// Makes the changes. A guard that became a constant lets its instruction be, or makes it its `else`.
    pub fn apply(mut self, func: &mut Function) {
        let insts: Vec<Inst> = func.layout_insts().collect();
        for inst in &insts {
            let Some(guard) = func.inst(*inst).guard else { continue };
            match self.resolve(func, Operand::Reg(guard.reg())) {
                Operand::Reg(reg) => func.set_guard(*inst, Some(guard.with_reg(reg))),
                Operand::Imm(imm) if (func.bits(imm) & 1 == 1) == guard.negated() => self.take_else(func, *inst),
                _ => unguard(func, *inst),
            }
        }
        for inst in insts {
            for place in 0..func.inputs(inst).len() {
                let resolved = self.resolve(func, func.inputs(inst)[place]);
                func.inputs_mut(inst)[place] = resolved;
            }
        }
        discard(func, &self.removed);
    }

    fn take_else(&mut self, func: &Function, inst: Inst) {
        for (dst, old) in func.dsts(inst).iter().zip(func.elses(inst)) {
            if let Some(reg) = dst.reg().filter(|reg| self.values[*reg].is_none()) {
                self.values[reg] = Some(*old);
            }
        }
        self.remove(func, inst);
    }
}

/// One word of a value.
pub fn word_of(func: &Function, value: Operand, word: u8) -> Operand {
    match value {
        Operand::Reg(reg) => Operand::Word(reg, word),
        Operand::Word(..) if word == 0 => value,
        Operand::Imm(imm) => func.imm_word(imm, word),
        _ => ZERO,
    }
}

/// Takes instructions out of their blocks.
pub fn discard(func: &mut Function, insts: &[Inst]) {
    let mut gone: SecondaryMap<Inst, bool> = SecondaryMap::new();
    insts.iter().for_each(|inst| gone[*inst] = true);
    for block in func.layout().to_vec() {
        func.retain_insts(block, |_, inst| !gone[inst]);
    }
}

/// Gives an instruction another head and other operands, in place.
pub fn rebuild(func: &mut Function, inst: Inst, head: InstHead, srcs: &[Operand], elses: &[Operand]) {
    let dsts = func.dsts(inst).to_vec();
    func.set_inst(inst, head, &dsts, srcs, elses);
}

/// Drops a guard and the values for where it is false.
pub fn unguard(func: &mut Function, inst: Inst) {
    let (srcs, head) = (func.srcs(inst).to_vec(), InstHead { guard: None, ..func.inst(inst).head() });
    rebuild(func, inst, head, &srcs, &[]);
}

/// Turns an instruction into one without results or fields.
pub fn become_plain(func: &mut Function, inst: Inst, opcode: Opcode, srcs: &[Operand]) {
    let head = InstHead { opcode, fields: opcode.row().default_fields(), guard: None, line: 0 };
    func.set_inst(inst, head, &[], srcs, &[]);
}

/// The predecessors of every block, each once, in layout order.
pub fn predecessors(func: &Function) -> SecondaryMap<Block, Vec<Block>> {
    let mut out: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for block in func.layout() {
        for next in func.successors(*block) {
            if out[next].last() != Some(block) {
                out[next].push(*block);
            }
        }
    }
    out
}

/// Makes SSA form whole again after edits of control flow: phis name the predecessors, and uses that no definition
/// dominates become zero.
pub fn repair(func: &mut Function) {
    if func.form == Form::Ssa && func.is_definition() {
        let preds = predecessors(func);
        phis(func, &preds);
        uses(func, &preds);
    }
}

fn phis(func: &mut Function, preds: &SecondaryMap<Block, Vec<Block>>) {
    let mut orphans = Vec::new();
    for block in func.layout().to_vec() {
        for inst in func.block_insts(block).collect::<Vec<_>>() {
            if func.inst(inst).opcode != Opcode::Phi {
                break;
            }
            let srcs = func.srcs(inst);
            let named: Vec<Block> = srcs.chunks_exact(2).filter_map(|pair| pair[1].block()).collect();
            if named == preds[block] && !named.is_empty() {
                continue;
            }
            let value = |from: &Block| srcs.chunks_exact(2).find(|pair| pair[1] == Operand::Block(*from)).map(|p| p[0]);
            let new = |from: &Block| [value(from).unwrap_or(ZERO), Operand::Block(*from)];
            let srcs: Vec<Operand> = preds[block].iter().flat_map(new).collect();
            if srcs.is_empty() {
                orphans.push(inst);
            } else {
                func.set_srcs(inst, &srcs);
            }
        }
    }
    discard(func, &orphans);
}

/// A set of registers.
type Set = Vec<u64>;

fn insert(set: &mut Set, reg: Reg) {
    set[reg.index() / 64] |= 1 << (reg.index() % 64);
}

fn contains(set: &Set, reg: Reg) -> bool {
    set[reg.index() / 64] >> (reg.index() % 64) & 1 == 1
}

/// The registers that are defined on every path to the end of each block.
fn available(func: &Function, preds: &SecondaryMap<Block, Vec<Block>>) -> SecondaryMap<Block, Set> {
    let words = func.regs().len().div_ceil(64);
    let mut own: SecondaryMap<Block, Set> = SecondaryMap::with_default(vec![0; words]);
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            func.defs(inst).for_each(|reg| insert(&mut own[*block], reg));
        }
    }
    let mut out: SecondaryMap<Block, Set> = SecondaryMap::with_default(vec![u64::MAX; words]);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, block) in func.layout().iter().enumerate() {
            let mut set = if at == 0 { vec![0; words] } else { common(&preds[*block], &out, words) };
            set.iter_mut().zip(&own[*block]).for_each(|(word, own)| *word |= own);
            if out[*block] != set {
                out[*block] = set;
                changed = true;
            }
        }
    }
    out
}

fn common(preds: &[Block], out: &SecondaryMap<Block, Set>, words: usize) -> Set {
    let mut set = vec![u64::MAX; words];
    for pred in preds {
        set.iter_mut().zip(&out[*pred]).for_each(|(word, other)| *word &= other);
    }
    set
}

fn uses(func: &mut Function, preds: &SecondaryMap<Block, Vec<Block>>) {
    let out = available(func, preds);
    let words = func.regs().len().div_ceil(64);
    let mut defined = vec![0; words];
    let insts = func.layout_insts();
    insts.flat_map(|inst| func.defs(inst)).for_each(|reg| insert(&mut defined, reg));
    for (at, block) in func.layout().to_vec().into_iter().enumerate() {
        let mut set = if at == 0 { vec![0; words] } else { common(&preds[block], &out, words) };
        // Where nothing leads, everything that is defined at all counts as available.
        set.iter_mut().zip(&defined).for_each(|(word, defined)| *word &= defined);
        for inst in func.block_insts(block).collect::<Vec<_>>() {
            let phi = func.inst(inst).opcode == Opcode::Phi;
            for place in 0..func.inputs(inst).len() {
                let from = if phi { func.srcs(inst).get(place + 1).and_then(|op| op.block()) } else { None };
                let known = from.map_or(&set, |from| &out[from]);
                let known = |reg: Reg| contains(known, reg) && contains(&defined, reg);
                let missing = |reg: Reg| func.regs()[reg].file != RegFile::B && !known(reg);
                if func.inputs(inst)[place].reg().is_some_and(missing) {
                    func.inputs_mut(inst)[place] = ZERO;
                }
            }
            if func.inst(inst).guard.is_some_and(|guard| !contains(&set, guard.reg())) {
                unguard(func, inst);
            }
            func.defs(inst).for_each(|reg| insert(&mut set, reg));
        }
    }
}
