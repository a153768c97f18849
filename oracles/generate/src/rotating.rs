//! Loops whose variables take each other's values in each round, and that are left from the middle and from the end to
//! one block, which reads what some of them were at the beginning of the round.
//!
//! Out of SSA, what a loop carries is copied at its end, all at once, and what is read behind it may be the old value
//! or the new one. Left to chance, no variable of a loop takes the value of another one, nor half of it.

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Guard, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::loops::Trips;

impl Builder<'_, '_> {
    /// Such a loop.
    pub(super) fn rotating(&mut self) {
        let [a, b, c] = [(); 3].map(|()| self.variable_word());
        let [x, y] = [(); 2].map(|()| {
            let from = self.register(RegInfo::words(2));
            self.hidden(Self::typed(Opcode::Mov, Type::B64).src(from), RegInfo::words(2))
        });
        let half = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(a), RegInfo::words(1));
        let held = self.entropy.percent(40).then(|| {
            let from = self.register(RegInfo::PRED);
            self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(from), RegInfo::PRED)
        });
        let counter = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        let turn = self
            .entropy
            .percent(25)
            .then(|| self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1)));
        let Trips { limit, .. } = self.trips();
        let [head, exit] = self.blocks();
        self.jump(head, head);
        let copy = |builder: &mut Self, from: Reg| {
            builder.hidden(Self::typed(Opcode::Mov, Type::B32).src(from), RegInfo::words(1))
        };
        let old = [b, c].map(|reg| copy(self, reg));
        if self.entropy.percent(60) {
            let [rest] = self.blocks();
            let on = self.condition(false);
            self.branch(on, [exit, rest], rest);
        }
        let next = Self::typed(Opcode::IMadLo, Type::U32).src(c).src(Operand::imm(3)).src(counter);
        let next = self.hidden(next, RegInfo::words(1));
        let taken = if self.entropy.percent(70) { [old[0], old[1], next] } else { [old[1], old[0], next] };
        for (variable, value) in [a, b, c].into_iter().zip(taken) {
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(value).dst(variable));
        }
        self.mix(self.sums[0], Type::U32, half.into());
        let has_halves = self.entropy.percent(60);
        if has_halves {
            // A half of what the other was in this round.
            let word = Operand::Word(x, self.entropy.below(2) as u8);
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(word).dst(half));
            let step = Self::typed(Opcode::IMadLo, Type::U64).src(y).src(Operand::imm(5)).src(Operand::imm(3));
            let step = self.hidden(step, RegInfo::words(2));
            for (to, from) in [(x, y), (y, step)] {
                self.push(&Self::typed(Opcode::Mov, Type::B64).src(from).dst(to));
            }
        }
        if self.entropy.percent(30) {
            self.kept_under_a_guard(half, counter);
        }
        if self.entropy.percent(15) {
            self.left_by_the_round_before(counter);
        }
        if let Some(held) = held {
            // What guards is the predicate of the round before, and that of the next round is there already.
            let next = self.compare(Compare::Lt, a.into(), 1 << 31);
            let guard = Some(Guard::new(held, self.entropy.percent(30)));
            self.push(&Self::typed(Opcode::IAdd, Type::U32).src(b).src(Operand::imm(9)).dst(b).guard(guard));
            self.push(&Self::typed(Opcode::Mov, Type::Pred).src(next).dst(held));
        }
        match turn {
            Some(turn) => self.take_turns(counter, turn),
            None => self.count(counter, 1),
        }
        let more = self.below(counter, limit);
        self.branch(more.into(), [head, exit], exit);
        if has_halves && self.entropy.percent(30) {
            self.offer(x);
        }
        // Some of them alone, so that others are not needed any more.
        let [sum, _] = self.sums;
        for reg in old.into_iter().chain([a, b, c, half]) {
            if self.entropy.percent(45) {
                self.mix(sum, Type::U32, reg.into());
            }
        }
    }

    /// A counter becomes another one, and that a step more than it was: it comes to its limit in twice the rounds.
    fn take_turns(&mut self, counter: Reg, other: Reg) {
        let next = Self::typed(Opcode::IAdd, Type::U32).src(counter).src(Operand::imm(1));
        let next = self.hidden(next, RegInfo::words(1));
        for (to, from) in [(counter, other), (other, next)] {
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(from).dst(to));
        }
    }

    /// A copy of what is made in the first round, and in others under a guard: else it is what it was in the round
    /// before, which the copy may have lost since.
    fn kept_under_a_guard(&mut self, copy: Reg, counter: Reg) {
        let (word, other) = (RegInfo::words(1), self.register(RegInfo::PRED));
        let first = self.compare(Compare::Eq, counter.into(), 0);
        let made = self.hidden(Self::typed(Opcode::Or, Type::Pred).src(first).src(other), RegInfo::PRED);
        let [a, b] = [(); 2].map(|()| self.register(word));
        let kept = self.func.new_reg(word);
        let guard = Some(Guard::new(made, false));
        self.push(&Self::typed(Opcode::IMulLo, Type::U32).src(a).src(b).dst(kept).guard(guard));
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(kept).dst(copy));
        let [sum, _] = self.sums;
        self.mix(sum, Type::U32, copy.into());
        let step = Self::typed(Opcode::IMadLo, Type::U32).src(copy).src(Operand::imm(3)).src(Operand::imm(7));
        self.push(&step.dst(copy));
    }

    /// A copy of what is only made behind it: it is what the round before has left, and not known in the first round,
    /// which does not read it.
    fn left_by_the_round_before(&mut self, counter: Reg) {
        let word = RegInfo::words(1);
        let left = self.func.new_reg(word);
        let copy = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(left), word);
        let [a, b] = [(); 2].map(|()| self.register(word));
        self.push(&Self::typed(Opcode::IMulLo, Type::U32).src(a).src(b).dst(left));
        let first = self.compare(Compare::Eq, counter.into(), 0);
        let known = self.hidden(Self::typed(Opcode::SelP, Type::B32).src(a).src(copy).src(first), word);
        let [sum, _] = self.sums;
        self.mix(sum, Type::U32, known.into());
    }
}
