//! Values of which some bits are known, made in the ways that code has them: masked, shifted, summed, chosen, negated.
//!
//! The value may deliberately lack the requested bits, to test that guards are really checked: half of the sums,
//! products and fields have one bit more, some shifts go one too far, and some operands are what the result should be.
//! A rule that applies then is wrong, or relies on an analysis that claims too much.

use oriole_ir::ops::{Opcode, SrcType, Type};
use oriole_ir::{Operand, RegInfo};

use super::super::builder::Builder;

/// Ways inside ways.
const DEPTH: u32 = 2;

/// Of a hundred operands, so many are not as they should be.
const ASTRAY: u32 = 25;

/// Bits that are zero, and bits that are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Bits {
    pub zeros: u64,
    pub ones: u64,
}

/// What is wanted: a value made of another one, of a width, of which some bits are known.
#[derive(Clone, Copy)]
struct Goal {
    value: Operand,
    info: RegInfo,
    bits: Bits,
    depth: u32,
}

/// A way to get there, and when it can.
struct Way {
    applies: fn(&Goal) -> bool,
    make: fn(&mut Builder<'_, '_>, &Goal) -> Operand,
}

const WAYS: &[Way] = &[
    Way { applies: |_| true, make: |builder, goal| builder.masked(goal) },
    Way { applies: |_| true, make: |builder, goal| builder.negated(goal) },
    Way { applies: |_| true, make: |builder, goal| builder.chosen(goal) },
    Way { applies: |_| true, make: |builder, goal| builder.exclusive(goal) },
    Way { applies: |goal| goal.low_zeros() > 0, make: |builder, goal| builder.shifted_left(goal) },
    Way { applies: |goal| goal.high_zeros() > 0, make: |builder, goal| builder.shifted_right(goal) },
    Way { applies: Goal::is_a_number, make: |builder, goal| builder.sum(goal) },
    Way { applies: Goal::is_a_number, make: |builder, goal| builder.product(goal) },
    Way { applies: Goal::is_a_number, make: |builder, goal| builder.field(goal) },
    Way { applies: |goal| goal.is_a_number() && goal.length() <= 8, make: |builder, goal| builder.counted(goal) },
    Way { applies: |goal| goal.narrow().is_some(), make: |builder, goal| builder.extended(goal) },
    Way { applies: |goal| goal.narrow().is_some(), make: |builder, goal| builder.loaded(goal) },
];

impl Goal {
    fn ty(&self) -> Type {
        if self.info.words > 1 { Type::B64 } else { Type::B32 }
    }

    fn unsigned(&self) -> Type {
        if self.info.words > 1 { Type::U64 } else { Type::U32 }
    }

    fn width(&self) -> u32 {
        self.ty().bits()
    }

    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// How many bits from bit 0 on are zero, of a value that is not zero as a whole.
    fn low_zeros(&self) -> u32 {
        self.bits.zeros.trailing_ones().min(self.width() - 1)
    }

    fn high_zeros(&self) -> u32 {
        (self.bits.zeros << (64 - self.width())).leading_ones().min(self.width() - 1)
    }

    fn length(&self) -> u32 {
        self.width() - self.high_zeros()
    }

    /// Whether what is wanted is a small number of at least two bits.
    fn is_a_number(&self) -> bool {
        self.bits.ones == 0 && self.high_zeros() > 0 && self.length() >= 2
    }

    /// The types, unsigned and signed, that end where the zeros begin.
    fn narrow(&self) -> Option<[SrcType; 2]> {
        let types = [[SrcType::U8, SrcType::S8], [SrcType::U16, SrcType::S16], [SrcType::U32, SrcType::S32]];
        let length = |types: &[SrcType; 2]| Type::from(types[0]).bits();
        let fits = |types: &[SrcType; 2]| length(types) < self.width() && length(types) == self.length();
        types.into_iter().find(fits).filter(|_| self.bits.ones == 0)
    }

    /// The same for an operand of the way that is taken.
    fn inner(&self, value: Operand, zeros: u64, ones: u64) -> Goal {
        let bits = Bits { zeros: zeros & self.all(), ones: ones & self.all() };
        Goal { value, bits, depth: self.depth.saturating_sub(1), ..*self }
    }

    /// A number of so many bits, that many of them zeros from bit 0 on.
    fn number(&self, value: Operand, length: u32, low: u32) -> Goal {
        let ones = |bits: u32| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        self.inner(value, !ones(length) | ones(low), 0)
    }
}

impl Builder<'_, '_> {
    /// A value made of another one, of which these bits are known, or nearly.
    pub(super) fn with_known_bits(&mut self, value: Operand, info: RegInfo, bits: Bits) -> Operand {
        let goal = Goal { value, info, bits, depth: DEPTH };
        self.known(&goal.inner(value, bits.zeros, bits.ones))
    }

    /// The same by masks alone, which make them known for certain.
    pub(super) fn with_certain_bits(&mut self, value: Operand, info: RegInfo, bits: Bits) -> Operand {
        let goal = Goal { value, info, bits, depth: 0 };
        self.masked(&goal.inner(value, bits.zeros, bits.ones))
    }

    fn known(&mut self, goal: &Goal) -> Operand {
        if goal.depth == 0 || self.entropy.percent(40) {
            return self.masked(goal);
        }
        let ways: Vec<&Way> = WAYS.iter().filter(|way| (way.applies)(goal)).collect();
        let way = ways[self.entropy.below(ways.len())];
        (way.make)(self, goal)
    }

    fn made(&mut self, goal: &Goal, opcode: Opcode, ty: Type, srcs: &[Operand]) -> Operand {
        Operand::Reg(self.hidden(Self::typed(opcode, ty).srcs(srcs.iter().copied()), goal.info))
    }

    /// Any value of the width.
    fn any(&mut self, goal: &Goal) -> Operand {
        Operand::Reg(self.register(goal.info))
    }

    /// The unsigned type of the width, now and then the signed one, whose operations repeat the sign.
    fn number_type(&mut self, goal: &Goal) -> Type {
        match (self.entropy.percent(ASTRAY), goal.info.words > 1) {
            (false, _) => goal.unsigned(),
            (true, true) => Type::S64,
            (true, false) => Type::S32,
        }
    }

    /// Now and then one bit too many.
    fn slack(&mut self) -> u32 {
        u32::from(self.entropy.percent(50))
    }

    fn masked(&mut self, goal: &Goal) -> Operand {
        let Bits { zeros, ones } = goal.bits;
        let mut value = goal.value;
        if zeros != 0 || ones == 0 {
            let mask = self.func.imm(!zeros & goal.all());
            value = self.made(goal, Opcode::And, goal.ty(), &[value, mask]);
        }
        if ones != 0 {
            let ones = self.func.imm(ones);
            value = self.made(goal, Opcode::Or, goal.ty(), &[value, ones]);
        }
        value
    }

    fn negated(&mut self, goal: &Goal) -> Operand {
        let Bits { zeros, ones } = goal.bits;
        let [zeros, ones] = if self.entropy.percent(ASTRAY) { [zeros, ones] } else { [ones, zeros] };
        let inner = self.known(&goal.inner(goal.value, zeros, ones));
        self.made(goal, Opcode::Not, goal.ty(), &[inner])
    }

    /// One of two values that have both what is wanted, or one of them less.
    fn chosen(&mut self, goal: &Goal) -> Operand {
        let [value, other] = [goal.value, self.any(goal)];
        let one = self.known(&goal.inner(value, goal.bits.zeros, goal.bits.ones));
        let lost = if self.slack() == 1 { 0 } else { 1 << self.entropy.below(goal.width() as usize) };
        let other = self.known(&goal.inner(other, goal.bits.zeros & !lost, goal.bits.ones & !lost));
        let mut srcs = [one, other];
        if self.entropy.percent(50) {
            srcs.swap(0, 1);
        }
        let on = self.condition(false);
        self.made(goal, Opcode::SelP, goal.ty(), &[srcs[0], srcs[1], on])
    }

    fn exclusive(&mut self, goal: &Goal) -> Operand {
        let all = goal.bits.zeros | goal.bits.ones;
        let random = self.entropy.bits() & all;
        let other = self.any(goal);
        let one = self.known(&goal.inner(goal.value, all & !random, random));
        let ones = if self.entropy.percent(ASTRAY) { random } else { random ^ goal.bits.ones };
        let other = self.known(&goal.inner(other, all & !ones, ones));
        self.made(goal, Opcode::Xor, goal.ty(), &[one, other])
    }

    fn shifted_left(&mut self, goal: &Goal) -> Operand {
        let count = self.entropy.between(1, goal.low_zeros());
        let inner = self.known(&goal.inner(goal.value, goal.bits.zeros >> count, goal.bits.ones >> count));
        let count = count + u32::from(self.entropy.percent(ASTRAY));
        self.made(goal, Opcode::Shl, goal.ty(), &[inner, Operand::imm(count)])
    }

    fn shifted_right(&mut self, goal: &Goal) -> Operand {
        let count = self.entropy.between(1, goal.high_zeros());
        let inner = self.known(&goal.inner(goal.value, goal.bits.zeros << count, goal.bits.ones << count));
        let count = count - u32::from(self.entropy.percent(ASTRAY));
        let ty = self.number_type(goal);
        self.made(goal, Opcode::Shr, ty, &[inner, Operand::imm(count)])
    }

    fn sum(&mut self, goal: &Goal) -> Operand {
        let (length, low) = (goal.length() - 1 + self.slack(), goal.low_zeros());
        let other = self.any(goal);
        let one = self.known(&goal.number(goal.value, length, low));
        let other = self.known(&goal.number(other, length, low));
        self.made(goal, Opcode::IAdd, goal.unsigned(), &[one, other])
    }

    fn product(&mut self, goal: &Goal) -> Operand {
        let first = self.entropy.between(1, goal.length() - 1);
        let second = goal.length() - first + self.slack();
        let low = self.entropy.between(0, goal.low_zeros());
        let other = self.any(goal);
        let one = self.known(&goal.number(goal.value, first, low));
        let other = self.known(&goal.number(other, second, goal.low_zeros() - low));
        self.made(goal, Opcode::IMulLo, goal.unsigned(), &[one, other])
    }

    fn field(&mut self, goal: &Goal) -> Operand {
        let length = goal.length() + self.slack();
        let start = self.entropy.between(0, goal.width() - 1);
        let srcs = [goal.value, Operand::imm(start), Operand::imm(length)];
        let ty = self.number_type(goal);
        self.made(goal, Opcode::Bfe, ty, &srcs)
    }

    /// The number of bits of a word, or of two: six bits, or seven.
    fn counted(&mut self, goal: &Goal) -> Operand {
        let opcode = self.entropy.choose(&[Opcode::Popc, Opcode::Clz]);
        let of = Goal { info: RegInfo::words(self.entropy.choose(&[1, 2])), ..*goal };
        let value = self.any(&of);
        let word = Goal { info: RegInfo::words(1), ..*goal };
        let count = self.made(&word, opcode, of.ty(), &[value]);
        if goal.info == word.info { count } else { self.convert(goal, SrcType::U32, count) }
    }

    /// A narrow value made wider, now and then with its sign.
    fn extended(&mut self, goal: &Goal) -> Operand {
        let value = self.any(&Goal { info: RegInfo::words(1), ..*goal });
        let [unsigned, signed] = goal.narrow().unwrap_or([SrcType::U32, SrcType::S32]);
        let from = if self.entropy.percent(75) { unsigned } else { signed };
        self.convert(goal, from, value)
    }

    /// A narrow value from memory, now and then with its sign. Whoever can see no memory extends one.
    fn loaded(&mut self, goal: &Goal) -> Operand {
        let (regions, [unsigned, signed]) =
            (self.regions.clone(), goal.narrow().unwrap_or([SrcType::U32, SrcType::S32]));
        let (ty, bytes) = (Type::from(unsigned), Type::from(unsigned).bits() / 8);
        if regions.is_empty() || bytes > 2 {
            return self.extended(goal);
        }
        let region = self.entropy.choose(&regions);
        let (base, offset) = self.address(region, bytes);
        let ty = if self.entropy.percent(75) { ty } else { Type::from(signed) };
        let load = Self::typed(Opcode::Ld, ty).field(region.space).src(base).src(offset);
        let value = Operand::Reg(self.hidden(load, RegInfo::words(1)));
        if goal.info.words == 1 { value } else { self.convert(goal, SrcType::U32, value) }
    }

    fn convert(&mut self, goal: &Goal, from: SrcType, value: Operand) -> Operand {
        let inst = Self::typed(Opcode::Cvt, goal.unsigned()).field(from).src(value);
        Operand::Reg(self.hidden(inst, goal.info))
    }
}
