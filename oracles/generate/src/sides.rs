//! Two sides of a branch that begin and end alike, or load from one place.
//!
//! Left to chance, no two blocks begin or end with the same instruction.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::Region;

impl Builder<'_, '_> {
    /// Two sides that begin and end with the same operations; between them, maybe, others.
    pub(super) fn alike(&mut self) {
        if self.entropy.percent(30) {
            return self.loads_alike();
        }
        let [a, b] = [(); 2].map(|()| self.variable_word());
        let store = self.regions.iter().copied().find(|region| region.writable).filter(|_| self.entropy.percent(50));
        let store = store.map(|region| (region, self.address(region, 4)));
        let target = self.variable_word();
        let [first, last] = [(); 2].map(|()| self.entropy.choose(&[Opcode::IAdd, Opcode::IMulLo, Opcode::ISub]));
        let (uniform, same) = (self.entropy.percent(30), self.entropy.percent(40));
        let guard =
            self.entropy.percent(25).then(|| Guard::new(self.register(RegInfo::PRED), self.entropy.percent(50)));
        let on = self.condition(uniform);
        let [yes, no, join] = self.blocks();
        // Where some threads of a side go past the join.
        let past = self.entropy.percent(30).then(|| (self.func.new_block(), self.entropy.choose(&[3, 5])));
        self.branch(on, [yes, no], yes);
        for (number, next) in [(3, no), (5, join)] {
            let word = |opcode| Self::typed(opcode, Type::U32);
            let mut value = match guard.is_some() && self.entropy.percent(40) {
                // What a guarded instruction leaves may differ where the instruction does not.
                true => {
                    let old = self.entropy.choose(&[a, b, target]);
                    self.hidden(Self::typed(Opcode::Mov, Type::B32).src(old), RegInfo::words(1))
                }
                false => self.hidden(word(first).src(a).src(b), RegInfo::words(1)),
            };
            if let Some(guard) = guard {
                let guard = if self.entropy.percent(30) { guard.opposite() } else { guard };
                self.push(&word(first).src(b).src(a).dst(value).guard(Some(guard)));
            }
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
            if self.entropy.percent(20) {
                let read = self.entropy.choose(&[target, value]);
                self.copy_to_variable(read);
            }
            match past.filter(|(_, side)| *side == number) {
                Some((past, _)) => {
                    let on = self.condition(false);
                    self.branch(on, [join, past], next);
                }
                None => self.jump(join, next),
            }
        }
        if let Some((past, _)) = past {
            let [behind] = self.blocks();
            for (number, next) in [(29, past), (31, behind)] {
                self.visit(number);
                self.jump(behind, next);
            }
        }
    }

    /// Two sides that load from one place, behind a store on one of them, to that place or one that data decides.
    fn loads_alike(&mut self) {
        let writable: Vec<Region> = self.regions.iter().copied().filter(|region| region.writable).collect();
        if writable.is_empty() {
            return;
        }
        let region = self.entropy.choose(&writable);
        let place = self.address(region, 4);
        let other = if self.entropy.percent(50) { self.dynamic_address(region, 4) } else { place };
        let (stores, to) = (self.entropy.below(3), self.variable_word());
        let on = self.condition(false);
        let [yes, no, join] = self.blocks();
        self.branch(on, [yes, no], yes);
        for (side, next) in [no, join].into_iter().enumerate() {
            if stores == side {
                let value = self.variable_word();
                self.push(&store_word(region, other, value));
            }
            let load = Self::typed(Opcode::Ld, Type::B32).field(region.space).src(place.0).src(place.1);
            self.push(&load.dst(to));
            self.visit(37);
            self.jump(join, next);
        }
    }

    /// A variable that is this register from here on.
    fn copy_to_variable(&mut self, read: Reg) {
        let variable = self.variable_word();
        self.push(&Self::typed(Opcode::Mov, Type::B32).src(read).dst(variable));
    }
}

pub(super) fn store_word(region: Region, (base, offset): (Operand, Operand), value: Reg) -> InstBuilder {
    let store = InstBuilder::new(Opcode::St).field(Type::B32).field(region.space);
    store.src(base).src(offset).src(value)
}
