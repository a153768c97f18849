//! Branches that have to do with each other: on a condition that an earlier branch has decided, on a flag that says
//! which way control came; chains of comparisons of one value with constants; instructions that predicates guard which
//! are made beside them; and copies of what changes later.
//!
//! Left to chance, no two branches of a kernel depend on each other.

use oriole_ir::ops::{Compare, Opcode, Type, Vector};
use oriole_ir::{Block, Guard, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::sides::store_word;

/// Comparisons of a chain at most, and of a long one.
const MOST_CASES: [u32; 2] = [6, 20];

/// What a first branch leaves for a second one.
struct Decided {
    /// A predicate of which the branch says something.
    about: Reg,
    /// What was compared, with what, if it was a comparison.
    value: Reg,
    bound: u64,
    /// One on one side and something else on the other; a word and a predicate.
    flags: [Reg; 2],
}

impl Builder<'_, '_> {
    /// A branch, and behind its join another one that has to do with it.
    pub(super) fn correlated(&mut self) {
        let value = self.value(Type::B32);
        let near = self.entropy.percent(self.config.operand.boundary);
        let value = match near {
            true => self.low_bits(value),
            false => self.hidden(Self::typed(Opcode::Mov, Type::B32).src(value), RegInfo::words(1)),
        };
        let bound = self.entropy.between(1, if near { 15 } else { 40 }).into();
        let about = match self.entropy.percent(50) {
            true => self.compare(Compare::Lt, value.into(), bound),
            false => {
                let on = self.condition(false);
                self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(on), RegInfo::PRED)
            }
        };
        let on = match self.entropy.below(8) {
            0 | 1 => self.with_negation_of(about),
            2 => self.under_a_guard(about),
            _ => about,
        };
        let flags = [RegInfo::words(1), RegInfo::PRED].map(|info| self.func.new_reg(info));
        let [yes, no, join] = self.blocks();
        self.branch(on.into(), [yes, no], yes);
        self.side(about, flags, 1, join, no);
        self.side(about, flags, 0, join, join);
        if self.entropy.percent(30) {
            self.within(false, 1, Self::stretch);
        }
        // A branch that is led around this block takes along what else is made in it.
        let made = self.entropy.percent(30).then(|| {
            let value = self.variable_word();
            let bits = self.low_bits(value.into());
            self.compare(Compare::Lt, bits.into(), 7)
        });
        let again = self.again_on(&Decided { about, value, bound, flags });
        let [inside, rest] = self.blocks();
        let targets = if self.entropy.percent(50) { [inside, rest] } else { [rest, inside] };
        self.branch(again.into(), targets, inside);
        self.visit(13);
        self.step_under(made);
        self.within(false, 1, Self::stretch);
        self.jump(rest, rest);
        self.step_under(made);
    }

    /// Changes a variable under a predicate, where there is one.
    fn step_under(&mut self, made: Option<Reg>) {
        let Some(made) = made else { return };
        let (variable, guard) = (self.variable_word(), Guard::new(made, self.entropy.percent(50)));
        let step = Self::typed(Opcode::IAdd, Type::U32).src(variable).src(Operand::imm(11)).dst(variable);
        self.push(&step.guard(Some(guard)));
    }

    /// A predicate that is made of another one under a guard only, and has some other value otherwise.
    fn under_a_guard(&mut self, about: Reg) -> Reg {
        let [old, other, guard] = [(); 3].map(|()| self.register(RegInfo::PRED));
        let to = self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(old), RegInfo::PRED);
        let logic = match self.entropy.below(3) {
            0 => Self::typed(Opcode::Not, Type::Pred).src(about),
            1 => Self::typed(Opcode::And, Type::Pred).src(about).src(other),
            _ => Self::typed(Opcode::Or, Type::Pred).src(about).src(other),
        };
        let guard = Guard::new(guard, self.entropy.percent(30));
        self.push(&logic.dst(to).guard(Some(guard)));
        to
    }

    /// A conjunction or disjunction of a predicate's negation and another predicate.
    fn with_negation_of(&mut self, about: Reg) -> Reg {
        let negation = self.hidden(Self::typed(Opcode::Not, Type::Pred).src(about), RegInfo::PRED);
        let other = self.register(RegInfo::PRED);
        let opcode = self.entropy.choose(&[Opcode::And, Opcode::Or]);
        self.hidden(Self::typed(opcode, Type::Pred).src(negation).src(other), RegInfo::PRED)
    }

    /// One side of the first branch, which says that control came this way, mostly by constants. Something on it may be
    /// guarded by what the branch decided.
    fn side(&mut self, about: Reg, [word, predicate]: [Reg; 2], number: u32, join: Block, next: Block) {
        let guards = self.entropy.percent(40);
        self.step_under(Some(about).filter(|_| guards));
        if self.entropy.percent(60) {
            self.within(false, 1, Self::inner);
        }
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(number)).dst(word));
        let known = match self.entropy.percent(70) {
            true => Operand::imm(number),
            false => self.register(RegInfo::PRED).into(),
        };
        self.push(&Self::typed(Opcode::Mov, Type::Pred).src(known).dst(predicate));
        self.jump(join, next);
    }

    /// A condition that follows from the first, at least on one side of it.
    fn again_on(&mut self, decided: &Decided) -> Reg {
        let pred = |opcode| Self::typed(opcode, Type::Pred).src(decided.about);
        match self.entropy.below(10) {
            9 => self.with_negation_of(decided.flags[1]),
            0 | 1 => decided.about,
            2 => self.hidden(pred(Opcode::Not), RegInfo::PRED),
            3 | 4 => {
                let opcode = self.entropy.choose(&[Opcode::And, Opcode::Or]);
                let other = self.register(RegInfo::PRED);
                self.hidden(pred(opcode).src(other), RegInfo::PRED)
            }
            5 => {
                let how = self.entropy.choose(&[Compare::Lt, Compare::Ge, Compare::Gt, Compare::Eq]);
                let near = decided.bound + u64::from(self.entropy.between(0, 2)) - 1;
                self.compare(how, decided.value.into(), near)
            }
            6 | 7 => decided.flags[1],
            _ => self.compare(Compare::Ne, decided.flags[0].into(), 0),
        }
    }

    /// Changes a variable, so that it shows in the results which way control went, however little else it met there.
    pub(super) fn visit(&mut self, number: u32) {
        let variable = self.variable_word();
        let step = Self::typed(Opcode::IMadLo, Type::U32).src(variable).src(Operand::imm(3)).src(Operand::imm(number));
        self.push(&step.dst(variable));
    }

    /// A chain of comparisons of one value, each of which leads to a side of its own; some sides are shared.
    pub(super) fn cases(&mut self) {
        let value = self.value(Type::B32);
        let most: u32 = self.entropy.choose(&[3, 7, 15, 31]);
        // The least numbers and the zeros of both signs, which are equal, though their bits are not.
        let float = self.entropy.percent(15);
        // Of a word of which half is compared the other half may be anything.
        let half = self.entropy.percent(10);
        let ty = match (float, half) {
            (true, _) => Type::F32,
            (false, true) => Type::U16,
            (false, false) => Type::U32,
        };
        let mask = most | if float { 1 << 31 } else { 0 } | if half { 0x3_0000 } else { 0 };
        let guard = Guard::new(self.register(RegInfo::PRED), false);
        let guard = Some(guard).filter(|_| self.entropy.percent(8));
        let masked = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(mask));
        let value = self.hidden(masked, RegInfo::words(1));
        let long = self.entropy.percent(10);
        let first = self.entropy.between(0, 2);
        let count = match self.entropy.percent(30) {
            // All that the value can be, or all but one.
            true => (most + self.entropy.between(0, 1) - first).clamp(3, MOST_CASES[1]),
            false => self.entropy.between(3, MOST_CASES[usize::from(long)]),
        };
        let sides: Vec<Block> = (0..self.entropy.between(2, 4)).map(|_| self.func.new_block()).collect();
        let [join] = self.blocks();
        let (last, at_once) = (self.entropy.choose(&[join, sides[0]]), self.entropy.percent(40));
        let sparse = self.entropy.percent(30);
        for case in 0..u64::from(count) {
            // What was met before decides a constant that comes again.
            let of = if self.entropy.percent(10) { case / 2 } else { case };
            let number = if sparse { of * of * 3 } else { of + u64::from(first) };
            let how = if self.entropy.percent(35) { Compare::Ne } else { Compare::Eq };
            let is = Self::typed(Opcode::SetP, ty).field(how).src(value).src(number);
            let is = match guard {
                None => self.hidden(is, RegInfo::PRED),
                Some(guard) => {
                    // Where the guard does not hold, something else decides.
                    let old = self.register(RegInfo::PRED);
                    let to = self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(old), RegInfo::PRED);
                    self.push(&is.dst(to).guard(Some(guard)));
                    to
                }
            };
            if self.entropy.percent(4) {
                // Somebody behind asks for this comparison, too.
                self.copy_to_flag(is);
            }
            let side = self.entropy.choose(&sides);
            // What is equal to no constant has a block of its own, or comes to the others from the last comparison.
            let ends = case + 1 == u64::from(count) && at_once;
            let next = if ends { last } else { self.func.new_block() };
            let targets = if how == Compare::Eq { [side, next] } else { [next, side] };
            self.branch(is.into(), targets, if ends { sides[0] } else { next });
        }
        if !at_once {
            self.jump(last, sides[0]);
        }
        for at in 0..sides.len() {
            self.visit(17 + at as u32);
            self.within(false, 1, Self::stretch);
            let next = sides.get(at + 1).copied().unwrap_or(join);
            self.jump(join, next);
        }
    }

    /// A branch around a few instructions, or between two groups of them, each guarded by a predicate that stands
    /// before the branch or is made on the side itself.
    pub(super) fn guarded(&mut self) {
        let on = self.condition(false);
        let both = self.entropy.percent(40);
        let [one, join] = self.blocks();
        let two = if both { self.func.new_block() } else { join };
        let targets = if self.entropy.percent(50) { [one, two] } else { [two, one] };
        self.branch(on, targets, one);
        self.guarded_side();
        self.jump(join, two);
        if both {
            self.guarded_side();
            self.jump(join, join);
        }
    }

    /// Four bits of a value, or of the lane, where every number comes up: those of some thread are at the boundary of a
    /// comparison.
    fn low_bits(&mut self, value: Operand) -> Reg {
        let lane = self.lane.filter(|_| self.entropy.percent(70));
        let value = lane.map_or(value, Operand::Reg);
        let bits = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(15));
        self.hidden(bits, RegInfo::words(1))
    }

    fn guarded_side(&mut self) {
        let writable = self.regions.iter().copied().find(|region| region.writable);
        if let Some(region) = writable.filter(|_| self.entropy.percent(15)) {
            // Nothing but a store, so that the side looks empty to whom registers alone matter.
            let (value, address) = (self.variable_word(), self.address(region, 4));
            return self.push(&store_word(region, address, value));
        }
        let compared = self.variable_word();
        let near = self.entropy.between(0, 200).into();
        let made = match self.entropy.percent(self.config.operand.boundary) {
            true => {
                let bits = self.low_bits(compared.into());
                self.compare(Compare::Lt, bits.into(), near % 16)
            }
            false => self.compare(Compare::Lt, compared.into(), near),
        };
        let outside = self.register(RegInfo::PRED);
        let on = if self.entropy.percent(70) { made } else { outside };
        if self.entropy.percent(35) {
            // Behind the join, too, somebody reads what guards here.
            self.copy_to_flag(made);
        }
        let one_sense = self.entropy.percent(50);
        for _ in 0..self.entropy.between(1, 3) {
            let [target, a, b] = [(); 3].map(|()| self.variable_word());
            let word = |opcode| Self::typed(opcode, Type::U32).dst(target);
            let opcode = self.entropy.choose(&[Opcode::IAdd, Opcode::ISub, Opcode::Xor]);
            let step = match opcode {
                Opcode::Xor => Self::typed(opcode, Type::B32).dst(target),
                _ => word(opcode),
            };
            let guard = Guard::new(on, !one_sense && self.entropy.percent(50));
            match self.entropy.below(6) {
                0 => self.push(&step.src(a).src(b)),
                1 => self.push(&word(Opcode::SelP).src(a).src(b).src(made)),
                _ => self.push(&step.src(a).src(b).guard(Some(guard))),
            }
        }
    }

    /// A copy, then maybe another value for what was copied or for the copy, under a guard or on one side of a branch,
    /// or of one within another; then something reads both.
    pub(super) fn copied(&mut self) {
        match self.entropy.below(100) {
            0..22 => return self.copied_twice(),
            22..32 => return self.halves_by_sides(),
            32..38 => return self.half_behind_joins(),
            _ => {}
        }
        let [copy, original, other, sum] = [(); 4].map(|()| self.variable_word());
        let guard = |builder: &mut Self| {
            let predicate = builder.register(RegInfo::PRED);
            builder.entropy.percent(40).then(|| Guard::new(predicate, false))
        };
        let word = |opcode| Self::typed(opcode, Type::U32);
        let region = self.regions.first().copied().filter(|_| original != copy && self.entropy.percent(20));
        let together = region.is_some();
        if let Some(region) = region {
            // One instruction that writes both, so that the copy cannot take the place of what is copied.
            let (base, offset) = self.address(region, 8);
            let load = Self::typed(Opcode::Ld, Type::B32).field(region.space).field(Vector::V2);
            self.push(&load.src(base).src(offset).dst(original).dst(copy));
        }
        let first = guard(self).filter(|_| !together);
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(original).dst(copy).guard(first));
        let changed = self.entropy.choose(&[copy, original, other]);
        let step = word(Opcode::IAdd).src(changed).src(Operand::imm(7)).dst(changed);
        match self.entropy.below(3) {
            0 => {}
            1 => {
                let second = guard(self);
                self.push(&step.guard(second));
            }
            _ => {
                // Behind a join that follows another one.
                self.deep_inside(|builder| builder.push(&step));
            }
        }
        self.push(&word(Opcode::IMadLo).src(copy).src(Operand::imm(5)).src(original).dst(sum));
        if self.entropy.percent(40) {
            // The same copy again, which is needed if either has changed.
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(original).dst(copy));
            self.push(&word(Opcode::IMadLo).src(sum).src(Operand::imm(5)).src(copy).dst(sum));
        }
    }

    /// Two variables that take the halves of one value, one way round on one side and mostly the other on the other.
    fn halves_by_sides(&mut self) {
        let variables = [(); 2].map(|()| self.variable_word());
        let wide = self.register(RegInfo::words(2));
        let on = self.condition(false);
        let [yes, no, join] = self.blocks();
        self.branch(on, [yes, no], yes);
        for (first, next) in [(0, no), (u8::from(self.entropy.percent(75)), join)] {
            for (variable, half) in variables.into_iter().zip([first, 1 - first]) {
                self.push(&Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(wide, half)).dst(variable));
            }
            self.jump(join, next);
        }
        for variable in variables {
            self.mix(self.sums[0], Type::U32, variable.into());
        }
    }

    /// A variable that takes the high half of what two sides set, one constant each, where these are within a side.
    fn half_behind_joins(&mut self) {
        let (variable, wide) = (self.variable_word(), self.func.new_reg(RegInfo::words(2)));
        let [inside, one, two, near, far] = self.blocks();
        let on = self.condition(false);
        self.branch(on, [inside, far], inside);
        let on = self.condition(false);
        self.branch(on, [one, two], one);
        for next in [two, near] {
            let constant = self.constant(Type::B64);
            self.push(&Self::typed(Opcode::Mov, Type::B64).src(constant).dst(wide));
            self.jump(near, next);
        }
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(wide, 1)).dst(variable));
        self.jump(far, far);
        self.mix(self.sums[0], Type::U32, variable.into());
    }

    /// A variable that is this predicate from here on.
    fn copy_to_flag(&mut self, predicate: Reg) {
        let flag = self.variables.iter().copied().find(|reg| self.info(*reg).is_predicate());
        if let Some(flag) = flag {
            self.push(&Self::typed(Opcode::Mov, Type::Pred).src(predicate).dst(flag));
        }
    }

    /// Does something on one side of a branch, or of one within another.
    pub(super) fn deep_inside(&mut self, inside: impl FnOnce(&mut Self)) {
        let mut joins = Vec::new();
        for _ in 0..self.entropy.between(1, 2) {
            let on = self.condition(false);
            let [inside, join] = self.blocks();
            self.branch(on, [inside, join], inside);
            joins.push(join);
        }
        self.within(false, 1, inside);
        let outer = joins[0];
        for join in joins.into_iter().rev() {
            self.jump(join, join);
            // An empty join within another one is soon none.
            if join != outer && self.entropy.percent(50) {
                self.visit(41);
            }
        }
    }

    /// A value that is copied into a variable by way of another register, which the variable may be read before. The
    /// variable may keep what it has under a guard.
    fn copied_twice(&mut self) {
        let [variable, a, b] = [(); 3].map(|()| self.variable_word());
        let word = RegInfo::words(1);
        if let Some(region) = self.regions.first().copied().filter(|_| self.entropy.percent(20)) {
            // What makes the value has made the variable, too.
            let value = self.func.new_reg(word);
            let (base, offset) = self.address(region, 8);
            let load = Self::typed(Opcode::Ld, Type::B32).field(region.space).field(Vector::V2).src(base).src(offset);
            self.push(&load.dst(value).dst(variable));
            return self.push(&Self::typed(Opcode::Mov, Type::B32).src(value).dst(variable));
        }
        let value = self.hidden(Self::typed(Opcode::IMulLo, Type::U32).src(a).src(b), word);
        if self.entropy.percent(60) {
            let [sum, _] = self.sums;
            self.mix(sum, Type::U32, variable.into());
        }
        let way = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(value), word);
        let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
        let guard = Some(guard).filter(|_| self.entropy.percent(40));
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(way).dst(variable).guard(guard));
    }

    /// A variable of one word.
    pub(super) fn variable_word(&mut self) -> Reg {
        let is_word = |reg: &Reg| self.info(*reg) == RegInfo::words(1);
        let words: Vec<Reg> = self.variables.iter().copied().filter(is_word).collect();
        self.entropy.choose(&words)
    }
}
