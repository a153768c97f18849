//! Blocks one behind the other, each of which may leave for one of two joins, with variables that take each other's
//! values on the way.
//!
//! Out of SSA, what a join takes is copied at the end of each block that goes there, all at once: a copy that
//! overwrites what another one reads is wrong, as is one on an edge that it is not meant for. Left to chance, joins
//! take values that their blocks have just made, which no other copy reads.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Operand, Reg, RegInfo};

use super::builder::Builder;

/// How many variables take each other's values.
const TAKEN: usize = 3;

impl Builder<'_, '_> {
    /// Blocks that leave for one of two joins.
    pub(super) fn exits(&mut self) {
        let variables = [(); TAKEN].map(|()| self.variable_word());
        let [join, other, behind] = self.blocks();
        for _ in 0..self.entropy.between(1, 3) {
            if self.entropy.percent(70) {
                self.permute(variables);
            }
            let on = self.condition(false);
            let [rest] = self.blocks();
            let exit = self.entropy.choose(&[join, other]);
            let targets = if self.entropy.percent(50) { [exit, rest] } else { [rest, exit] };
            self.branch(on, targets, rest);
            if self.entropy.percent(30) {
                self.within(false, 1, Self::stretch);
            }
        }
        self.permute(variables);
        if self.entropy.percent(70) {
            let on = self.condition(false);
            self.branch(on, [join, other], join);
        } else {
            let only = self.entropy.choose(&[join, other]);
            self.jump(only, join);
        }
        for (number, next) in [(7, other), (11, behind)] {
            self.show(&variables);
            self.visit(number);
            self.jump(behind, next);
        }
        self.show(&variables);
    }

    /// Each variable takes the value of one of them, at once, or a new value.
    fn permute(&mut self, variables: [Reg; TAKEN]) {
        let word = RegInfo::words(1);
        let held = variables.map(|_| match self.entropy.below(4) {
            0 => {
                let [a, b] = [(); 2].map(|()| self.register(word));
                self.hidden(Self::typed(Opcode::IMulLo, Type::U32).src(a).src(b), word)
            }
            _ => {
                let of = self.entropy.choose(&variables);
                self.hidden(Self::typed(Opcode::Mov, Type::B32).src(of), word)
            }
        });
        // Two that are one value from here on.
        let held = if self.entropy.percent(30) { [held[0], held[0], held[2]] } else { held };
        for (variable, value) in variables.into_iter().zip(held) {
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(value).dst(variable));
        }
    }

    /// Has the checksum depend on some of the variables.
    fn show(&mut self, variables: &[Reg]) {
        for variable in variables {
            if self.entropy.percent(60) {
                let [word, _] = self.sums;
                self.mix(word, Type::U32, Operand::Reg(*variable));
            }
        }
    }
}
