//! How often a loop's test is executed, found by executing it.
//!
//! The test and what it reads inside of the loop, across its phis, is a small program over constants: the phis of the
//! header have values on entry, each round evaluates the program once, and the latch hands the phis their next values.
//! A program that reads anything else has no count.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Shape;
use crate::analysis::{BitMemo, Cfg, Definitions};
use crate::edit::graph::incoming;
use crate::fold::fold;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Inst, Operand, Reg};

/// Instructions of a test, phis included.
const MOST_INSTS: usize = 16;

/// What constants are found with.
pub struct Trips {
    cfg: Arc<Cfg>,
    definitions: Arc<Definitions>,
    bits: BitMemo,
}

/// A loop whose rounds are counted.
pub struct Counted {
    /// How often the test is executed; never 0.
    pub rounds: u32,
    /// Registers whose value in each round is known.
    pub known: FxHashSet<Reg>,
}

impl Trips {
    /// Of the function that the analyses are about.
    pub fn new(cfg: Arc<Cfg>, definitions: Arc<Definitions>) -> Trips {
        Trips { cfg, definitions, bits: BitMemo::default() }
    }

    /// The rounds of a loop that has no more than so many.
    pub fn count(&self, func: &Function, shape: &Shape, most: u32) -> Option<Counted> {
        let test = self.test(func, shape)?;
        let mut values = test.entry.clone();
        for rounds in 1..=most {
            for inst in &test.insts {
                let srcs: Option<Vec<u64>> = func.srcs(*inst).iter().map(|src| value(func, &values, *src)).collect();
                values.extend(func.defs(*inst).zip(results(func, *inst, srcs?)?));
            }
            let condition = value(func, &values, shape.condition)? & 1 == 1;
            if condition == shape.leaves_if {
                return Some(Counted { rounds, known: values.into_keys().collect() });
            }
            let next = |(phi, latch): &(Reg, Operand)| Some((*phi, value(func, &values, *latch)?));
            let next: Option<Vec<(Reg, u64)>> = test.phis.iter().map(next).collect();
            values.extend(next?);
        }
        None
    }

    fn test(&self, func: &Function, shape: &Shape) -> Option<Test> {
        let mut test = Test::default();
        let mut seen: FxHashSet<Reg> = FxHashSet::default();
        let mut work: Vec<Reg> = shape.condition.reg().into_iter().collect();
        while let Some(reg) = work.pop() {
            if !seen.insert(reg) {
                continue;
            }
            // Constants have 64 bits at most.
            if seen.len() > MOST_INSTS || func.regs()[reg].words > 2 {
                return None;
            }
            let (inst, block) = (self.definitions.inst(reg)?, self.definitions.block(reg)?);
            let data = func.inst(inst);
            if !shape.blocks.contains(&block) {
                test.entry.insert(reg, self.constant(func, reg.into())?);
            } else if data.opcode == Opcode::Phi && block == shape.header {
                let latch = self.phi(func, shape, inst, &mut test)?;
                work.extend(latch.reg());
                test.phis.push((reg, latch));
            } else {
                let computes = data.is(Flags::PURE) && data.opcode != Opcode::Phi && data.guard.is_none();
                computes.then_some(())?;
                test.insts.push(inst);
                work.extend(func.uses(inst));
            }
        }
        self.in_order(func, &mut test.insts);
        Some(test)
    }

    /// What a phi of the header takes from every latch; notes what it has on entry.
    fn phi(&self, func: &Function, shape: &Shape, phi: Inst, test: &mut Test) -> Option<Operand> {
        let latch = incoming(func, phi, shape.latches[0])?;
        for pair in func.srcs(phi).chunks_exact(2) {
            let from = pair[1].block()?;
            if shape.latches.contains(&from) {
                (pair[0] == latch).then_some(())?;
                continue;
            }
            let constant = self.constant(func, pair[0])?;
            let reg = func.defs(phi).next()?;
            if test.entry.insert(reg, constant).is_some_and(|other| other != constant) {
                return None;
            }
        }
        Some(latch)
    }

    fn constant(&self, func: &Function, operand: Operand) -> Option<u64> {
        self.bits.of(func, &self.definitions, operand).value()
    }

    /// What an instruction reads comes before it; an instruction with two results is in the list once.
    fn in_order(&self, func: &Function, insts: &mut Vec<Inst>) {
        let place = |inst: Inst| func.block_of(inst).and_then(|block| self.cfg.rpo_number(block));
        let within = |a: Inst, b: Inst| func.is_before(b, a).cmp(&func.is_before(a, b));
        insts.sort_by(|a, b| place(*a).cmp(&place(*b)).then_with(|| within(*a, *b)));
        insts.dedup();
    }
}

/// What a test is computed by.
#[derive(Default)]
struct Test {
    /// What registers have on entry: phis, and what is defined outside of the loop.
    entry: FxHashMap<Reg, u64>,
    /// Phis of the header, each with what the latch hands to it.
    phis: Vec<(Reg, Operand)>,
    insts: Vec<Inst>,
}

fn results(func: &Function, inst: Inst, srcs: Vec<u64>) -> Option<Vec<u64>> {
    let data = func.inst(inst);
    if data.is(Flags::COPY) {
        return Some(srcs);
    }
    Some(fold(data.opcode, &data.fields, &srcs)?.results)
}

fn value(func: &Function, values: &FxHashMap<Reg, u64>, operand: Operand) -> Option<u64> {
    match operand {
        Operand::Reg(reg) => values.get(&reg).copied(),
        Operand::Word(reg, word) => values.get(&reg).map(|bits| bits >> (32 * u32::from(word)) & 0xffff_ffff),
        other => func.imm_bits(other),
    }
}
