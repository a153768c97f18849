//! Branches that have to do with each other: on a condition that an earlier branch has decided, on a flag that says
//! which way control came; two sides that begin and end alike; and chains of comparisons of one value with constants.
//!
//! Left to chance, no two branches of a kernel depend on each other, and no two blocks end with the same instruction.

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::Region;

/// Comparisons of a chain at most.
const MOST_CASES: usize = 6;

impl Builder<'_, '_> {
    /// A branch, and behind its join another one that has to do with it.
    pub(super) fn correlated(&mut self) {
        let value = self.value(Type::B32);
        let value = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(value), RegInfo::words(1));
        let bound = self.entropy.between(1, 40).into();
        let on = match self.entropy.percent(50) {
            true => self.compare(Compare::Lt, value.into(), bound),
            false => {
                let on = self.condition(false);
                self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(on), RegInfo::PRED)
            }
        };
        let flag = self.func.new_reg(RegInfo::words(1));
        let [yes, no, join] = self.blocks();
        self.branch(on.into(), [yes, no], yes);
        self.side(flag, 1, join, no);
        self.side(flag, 0, join, join);
        if self.entropy.percent(30) {
            self.within(false, 1, Self::stretch);
        }
        let again = self.again_on(on, value, bound, flag);
        let [inside, rest] = self.blocks();
        let targets = if self.entropy.percent(50) { [inside, rest] } else { [rest, inside] };
        self.branch(again.into(), targets, inside);
        self.within(false, 1, Self::stretch);
        self.jump(rest, rest);
    }

    /// One side of the first branch, which says that control came this way.
    fn side(&mut self, flag: Reg, number: u32, join: Block, next: Block) {
        if self.entropy.percent(60) {
            self.within(false, 1, Self::inner);
        }
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(number)).dst(flag));
        self.jump(join, next);
    }

    /// A condition that follows from the first, at least on one side of it.
    fn again_on(&mut self, on: Reg, value: Reg, bound: u64, flag: Reg) -> Reg {
        let pred = |opcode| Self::typed(opcode, Type::Pred).src(on);
        match self.entropy.below(6) {
            0 => on,
            1 => self.hidden(pred(Opcode::Not), RegInfo::PRED),
            2 | 3 => {
                let opcode = self.entropy.choose(&[Opcode::And, Opcode::Or]);
                let other = self.register(RegInfo::PRED);
                self.hidden(pred(opcode).src(other), RegInfo::PRED)
            }
            4 => {
                let how = self.entropy.choose(&[Compare::Lt, Compare::Ge, Compare::Gt, Compare::Eq]);
                let near = bound + u64::from(self.entropy.between(0, 2)) - 1;
                self.compare(how, value.into(), near)
            }
            _ => self.compare(Compare::Ne, flag.into(), 0),
        }
    }

    /// Two sides that begin and end with the same operations; between them, maybe, others.
    pub(super) fn alike(&mut self) {
        let [a, b] = [(); 2].map(|()| self.variable_word());
        let store = self.regions.iter().copied().find(|region| region.writable).filter(|_| self.entropy.percent(50));
        let store = store.map(|region| (region, self.address(region, 4)));
        let target = self.variable_word();
        let [first, last] = [(); 2].map(|()| self.entropy.choose(&[Opcode::IAdd, Opcode::IMulLo, Opcode::ISub]));
        let (uniform, same) = (self.entropy.percent(30), self.entropy.percent(40));
        let on = self.condition(uniform);
        let [yes, no, join] = self.blocks();
        self.branch(on, [yes, no], yes);
        for (number, next) in [(3, no), (5, join)] {
            let word = |opcode| Self::typed(opcode, Type::U32);
            let mut value = self.hidden(word(first).src(a).src(b), RegInfo::words(1));
            if !same {
                value = self.hidden(word(Opcode::IAdd).src(value).src(Operand::imm(number)), RegInfo::words(1));
            }
            if self.entropy.percent(10) {
                self.within(uniform, 1, Self::stretch);
            }
            self.push(&word(last).src(value).src(a).dst(target));
            if let Some((region, address)) = store {
                self.push(&store_word(region, address, value));
            }
            self.jump(join, next);
        }
    }

    /// A chain of comparisons of one value, each of which leads to a side of its own; some sides are shared.
    pub(super) fn cases(&mut self) {
        let value = self.value(Type::B32);
        let masked = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(15));
        let value = self.hidden(masked, RegInfo::words(1));
        let count = self.entropy.between(3, MOST_CASES as u32) as usize;
        let sides: Vec<Block> = (0..self.entropy.between(2, 4)).map(|_| self.func.new_block()).collect();
        let [join] = self.blocks();
        let sparse = self.entropy.percent(30);
        for case in 0..count as u64 {
            let number = if sparse { case * case * 3 } else { case + 2 };
            let how = if self.entropy.percent(25) { Compare::Ne } else { Compare::Eq };
            let is = self.compare(how, value.into(), number);
            let side = self.entropy.choose(&sides);
            let [next] = self.blocks();
            let targets = if how == Compare::Eq { [side, next] } else { [next, side] };
            self.branch(is.into(), targets, next);
        }
        let last = self.entropy.choose(&[join, sides[0]]);
        self.jump(last, sides[0]);
        for at in 0..sides.len() {
            self.within(false, 1, Self::stretch);
            let next = sides.get(at + 1).copied().unwrap_or(join);
            self.jump(join, next);
        }
    }

    /// A variable of one word.
    fn variable_word(&mut self) -> Reg {
        let is_word = |reg: &Reg| self.info(*reg) == RegInfo::words(1);
        let words: Vec<Reg> = self.variables.iter().copied().filter(is_word).collect();
        self.entropy.choose(&words)
    }
}

fn store_word(region: Region, (base, offset): (Operand, Operand), value: Reg) -> InstBuilder {
    let store = InstBuilder::new(Opcode::St).field(Type::B32).field(region.space);
    store.src(base).src(offset).src(value)
}
