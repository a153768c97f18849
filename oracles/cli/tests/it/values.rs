//! What is known of the bits and the ranges of values holds while kernels run.
//!
//! Every kernel of the corpus, and generated ones, get a check at each definition and in front of each instruction that
//! reads a register: it traps where the value is not as the known bits say, or beyond the range that is said of the
//! block. A check of an undefined value ends the run, which then says nothing.

use std::sync::Arc;

use crate::checked::{in_generated_kernels, in_the_corpus, insert_checks};
use oriole_check::kernels::case;
use oriole_generate::Config;
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, Reg, RegFile, RegInfo};
use oriole_optimizer::analysis::{
    Analyses, Analysis, Bits, BranchRanges, Cfg, Definitions, Dominators, KnownBits, Range, RangeContext, Ranges,
};
use oriole_optimizer::ssa;

/// The analyses of a function as it was before any check was added.
struct Facts {
    func: Function,
    cfg: Arc<Cfg>,
    dominators: Arc<Dominators>,
    definitions: Arc<Definitions>,
    known: Arc<KnownBits>,
    ranges: Arc<Ranges>,
}

impl Facts {
    fn of(func: &Function) -> Facts {
        let mut analyses = Analyses::default();
        Facts {
            cfg: analyses.get(func),
            dominators: analyses.get(func),
            definitions: analyses.get(func),
            known: analyses.get(func),
            ranges: analyses.get(func),
            func: func.clone(),
        }
    }

    fn bits(&self, reg: Reg) -> Bits {
        self.known.of(&self.func, reg.into())
    }

    fn range(&self, reg: Reg, block: Block) -> Range {
        let (cfg, dominators, definitions) = (&*self.cfg, &*self.dominators, &*self.definitions);
        let cx = RangeContext { func: &self.func, cfg, dominators, definitions };
        self.ranges.in_block(cx, reg.into(), block).expect("a register of one or two words has a range")
    }
}

/// The types of a register's numbers, and those of its bits.
const WIDTHS: [[Type; 3]; 2] = [[Type::U32, Type::S32, Type::B32], [Type::U64, Type::S64, Type::B64]];

/// Adds instructions to a list.
struct Adder<'a> {
    func: &'a mut Function,
    insts: &'a mut Vec<Inst>,
}

impl Adder<'_> {
    fn put(&mut self, inst: InstBuilder) {
        self.insts.push(inst.create(self.func));
    }

    /// Traps where a comparison with a number holds.
    fn trap_where(&mut self, compare: Compare, ty: Type, reg: Reg, bits: u64) {
        let wrong = self.func.new_reg(RegInfo::PRED);
        let bits = bits & (u64::MAX >> (64 - ty.bits()));
        self.put(InstBuilder::new(Opcode::SetP).field(compare).field(ty).dst(wrong).src(reg).src(bits));
        self.put(InstBuilder::new(Opcode::Trap).guard(Some(Guard::new(wrong, false))));
    }
}

/// Checks the registers of one or two words of which something is known.
fn check_values(
    func: &mut Function,
    facts: &Facts,
    block: Block,
    regs: Vec<Reg>,
    checked: &mut Vec<Reg>,
    insts: &mut Vec<Inst>,
) -> usize {
    let before = checked.len();
    for reg in regs {
        let RegInfo { file: RegFile::R, words: words @ 1..=2 } = func.regs()[reg] else { continue };
        let [unsigned, signed, bits] = WIDTHS[usize::from(words) - 1];
        let (range, full) = (facts.range(reg, block), Range::full(bits.bits()));
        let known = facts.bits(reg);
        let mask = (known.zeros | known.ones) & full.unsigned().1;
        if checked.contains(&reg) || (range == full && mask == 0) {
            continue;
        }
        checked.push(reg);
        let mut adder = Adder { func, insts };
        let ends = [
            (Compare::Lo, range.unsigned().0, full.unsigned().0),
            (Compare::Hi, range.unsigned().1, full.unsigned().1),
        ];
        for (compare, end, _) in ends.into_iter().filter(|(_, end, widest)| end != widest) {
            adder.trap_where(compare, unsigned, reg, end);
        }
        let ends = [(Compare::Lt, range.signed().0, full.signed().0), (Compare::Gt, range.signed().1, full.signed().1)];
        for (compare, end, _) in ends.into_iter().filter(|(_, end, widest)| end != widest) {
            adder.trap_where(compare, signed, reg, end as u64);
        }
        if mask != 0 {
            let kept = adder.func.new_reg(RegInfo::words(words));
            adder.put(InstBuilder::new(Opcode::And).field(bits).dst(kept).src(reg).src(mask));
            adder.trap_where(Compare::Ne, bits, kept, known.ones);
        }
    }
    checked.len() - before
}

/// Puts the checks into a function; how many.
fn plant(func: &mut Function) -> Option<usize> {
    let facts = Facts::of(func);
    Some(insert_checks(func, |func, block, regs, checked, insts| {
        check_values(func, &facts, block, regs, checked, insts)
    }))
}

#[test]
fn values_are_as_known_in_the_corpus() {
    let tally = in_the_corpus(plant);
    assert!(tally.checks > 1000 && tally.finished * 2 > tally.kernels, "{tally:?}");
}

#[test]
fn values_are_as_known_in_generated_kernels() {
    let tally = in_generated_kernels(300, plant);
    assert!(tally.checks > 1000 && tally.finished > 100, "{tally:?}");
}

/// What is compared in front of a branch has the range that it has among all registers; every other register has that
/// range too, or any value.
#[test]
fn ranges_for_branches_are_those_of_all_registers() {
    let (mut compared, mut others) = (0, 0);
    for number in 0..300 {
        let mut module = case(2, number, &Config::default()).module;
        ssa::construct_module(&mut module);
        for func in module.functions.values().filter(|func| func.is_definition()) {
            let facts = Facts::of(func);
            let few = BranchRanges::compute(func, &mut Analyses::default());
            let decides = |reg: Reg| {
                let inst =
                    facts.definitions.always(func, reg.into()).filter(|inst| func.inst(*inst).opcode == Opcode::SetP);
                inst.into_iter().flat_map(|inst| func.uses(inst)).collect::<Vec<Reg>>()
            };
            let conditions = func.layout().iter().filter_map(|block| func.terminator(*block));
            let wanted: Vec<Reg> = conditions.flat_map(|inst| func.uses(inst)).flat_map(decides).collect();
            for reg in func.regs().keys() {
                let (all, some) = (facts.ranges.of(func, reg.into()), few.0.of(func, reg.into()));
                let same = all == some;
                let open = !wanted.contains(&reg) && some.is_some_and(Range::is_full);
                assert!(same || open, "kernel {number}: {reg} is {all:?}, and {some:?} for branches");
                compared += usize::from(wanted.contains(&reg) && all.is_some_and(|range| !range.is_full()));
                others += usize::from(!same);
            }
        }
    }
    assert!(compared > 500 && others > 500, "{compared} registers decide, {others} do not matter");
}
