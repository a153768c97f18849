//! Expressions over the same few values, grouped and ordered in different ways: sums and differences with products that
//! share a factor, products, `and`, `or` and `xor`.
//!
//! A phase that regroups expressions finds such trees equal, in part or as a whole, finds terms that cancel and
//! constants that meet. Left to chance, two sums of one kernel hardly ever have three values in common. Some
//! operations saturate, have a guard or another width, and some partial results are read elsewhere: none of these may
//! be regrouped.

use oriole_ir::ops::{Opcode, Saturate, Type};
use oriole_ir::{Guard, InstBuilder, Operand, RegInfo};

use super::builder::Builder;

/// What trees are made of, with their types.
const TREES: [(Opcode, &[Type]); 5] = [
    (Opcode::IAdd, &[Type::U32, Type::S32, Type::U64, Type::S64]),
    (Opcode::IMulLo, &[Type::U32, Type::S32, Type::U64]),
    (Opcode::And, &[Type::B32, Type::B64, Type::Pred]),
    (Opcode::Or, &[Type::B32, Type::B64, Type::Pred]),
    (Opcode::Xor, &[Type::B32, Type::B64, Type::Pred]),
];

/// Trees over the same values at most.
const MOST: u32 = 3;

/// Values at least and at most.
const VALUES: [u32; 2] = [2, 4];

/// Percentage of operations that look alike and are none of the tree.
const OTHER: u32 = 6;

/// Percentage of partial results that others may read.
const READ: u32 = 10;

impl Builder<'_, '_> {
    /// Trees of one operation over the same values.
    pub(super) fn trees(&mut self) {
        if self.entropy.percent(6) {
            return self.wide_products();
        }
        // Sums are what most code regroups.
        let (opcode, types) = TREES[if self.entropy.percent(50) { 0 } else { self.entropy.below(TREES.len()) }];
        let ty = self.entropy.choose(types);
        let count = self.entropy.between(VALUES[0], VALUES[1]);
        let values: Vec<Operand> = (0..count).map(|_| Operand::Reg(self.register(RegInfo::of(ty)))).collect();
        for _ in 0..self.entropy.between(1, MOST) {
            self.tree(opcode, ty, &values);
        }
    }

    /// A sum of products of words that fill twice as many bits, some of which have a factor in common.
    fn wide_products(&mut self) {
        let ty = self.entropy.choose(&[Type::U32, Type::S32, Type::U16]);
        let [a, b, c] = [(); 3].map(|()| self.register(RegInfo::words(1)));
        let info = RegInfo::words(if ty == Type::U16 { 1 } else { 2 });
        let mut sum = Operand::Reg(self.register(info));
        for factor in [b, c] {
            let product = Self::typed(Opcode::IMadWide, ty).src(a).src(factor).src(sum);
            sum = self.hidden(product, info).into();
        }
        sum.reg().into_iter().for_each(|reg| self.offer(reg));
    }

    /// One tree: leaves, of which any two are put together until one value is left.
    fn tree(&mut self, opcode: Opcode, ty: Type, values: &[Operand]) {
        let mut parts: Vec<Operand> = values.iter().map(|value| self.tree_leaf(opcode, ty, *value, values)).collect();
        if self.entropy.percent(25) {
            parts.push(self.entropy.choose(values));
        }
        for _ in 0..self.entropy.below(3) {
            let part = self.tree_constant(opcode, ty);
            parts.push(part);
        }
        while parts.len() > 1 {
            let pair = [(); 2].map(|()| parts.swap_remove(self.entropy.below(parts.len())));
            let whole = self.tree_part(opcode, ty, pair);
            parts.push(whole);
        }
        parts.into_iter().filter_map(Operand::reg).for_each(|reg| self.offer(reg));
    }

    /// A constant, for bits mostly one that nearly keeps or nearly clears them all.
    fn tree_constant(&mut self, opcode: Opcode, ty: Type) -> Operand {
        if ty == Type::Pred || matches!(opcode, Opcode::IAdd | Opcode::IMulLo) || self.entropy.percent(30) {
            return self.constant(ty);
        }
        let ones = u64::MAX >> (64 - ty.bits());
        let most = ones >> self.entropy.choose(&[0, 1, 1, ty.bits() / 2, ty.bits() - 8, ty.bits() - 1]);
        let bits = if self.entropy.percent(40) { ones & !most } else { most };
        self.func.imm(bits)
    }

    /// A value, or in a sum a multiple of it, by a constant or by another of the values.
    fn tree_leaf(&mut self, opcode: Opcode, ty: Type, value: Operand, values: &[Operand]) -> Operand {
        if opcode != Opcode::IAdd || self.entropy.percent(60) {
            return value;
        }
        // Of a product of halves more is gone than of one that fills the sum.
        let narrow = ty == Type::U32 && self.entropy.percent(25);
        let of = if narrow { Type::U16 } else { ty };
        let multiple = match self.entropy.below(4) {
            0 => Self::typed(Opcode::IMulLo, of).src(value).src(self.entropy.choose(values)),
            1 => {
                let signed = Type::integer(ty.bits(), true).unwrap_or(ty);
                Self::typed(Opcode::INeg, signed).src(value)
            }
            2 => Self::typed(Opcode::IMulLo, of).src(value).src(u64::from(self.entropy.between(2, 6))),
            _ => {
                // By as many bits as there are nothing is left, which is no multiple.
                let all = of.bits();
                let bits = match all {
                    16 => Type::B16,
                    64 => Type::B64,
                    _ => Type::B32,
                };
                let by = self.entropy.choose(&[1, 2, 3, 1, 2, 3, 31, all - 1, all, all + 1]);
                Self::typed(Opcode::Shl, bits).src(value).src(u64::from(by))
            }
        };
        Operand::Reg(self.hidden(multiple, RegInfo::of(ty)))
    }

    fn tree_part(&mut self, opcode: Opcode, ty: Type, pair: [Operand; 2]) -> Operand {
        let subtracts = opcode == Opcode::IAdd && self.entropy.percent(25);
        let opcode = if subtracts { Opcode::ISub } else { opcode };
        let mut inst: InstBuilder = Self::typed(opcode, ty).srcs(pair);
        let variable = pair.iter().all(|operand| operand.reg().is_some());
        if self.entropy.percent(OTHER) {
            match ty {
                Type::S32 if matches!(opcode, Opcode::IAdd | Opcode::ISub) => inst = inst.field(Saturate::Sat),
                // No constant is cut for it.
                Type::U32 if variable => inst = Self::typed(opcode, Type::U16).srcs(pair),
                Type::B32 if variable => inst = Self::typed(opcode, Type::B16).srcs(pair),
                _ => {}
            }
        }
        let info = RegInfo::of(ty);
        if self.entropy.percent(OTHER) {
            // Under a guard it writes a variable, which may have another value.
            let guard = Some(Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30)));
            let to = self.destination(info, true);
            self.push(&inst.dst(to).guard(guard));
            return Operand::Reg(to);
        }
        let reg = self.hidden(inst, info);
        if self.entropy.percent(READ) {
            self.offer(reg);
        }
        Operand::Reg(reg)
    }
}
