//! Flow: branches, switches, loops, unstructured regions, threads that leave early.
//!
//! Every shape begins in the current block and ends in a new join block, which every entering thread reaches that has
//! not exited. Loops ([`super::loops`], [`super::neighbours`]) count their trips, unstructured regions spend fuel on
//! every branch, so every kernel ends.

use std::collections::BTreeSet;

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, InstBuilder, Operand, RegInfo};

use super::builder::Builder;

impl Builder<'_, '_> {
    /// Shapes one after the other, until the budget is spent.
    pub(super) fn body(&mut self) {
        while !self.is_done() {
            self.shape();
        }
    }

    /// What is inside another shape: one or two shapes, or straight code.
    pub(super) fn inner(&mut self) {
        self.flow.depth += 1;
        for _ in 0..self.entropy.between(1, 2) {
            if !self.is_done() {
                self.shape();
            }
        }
        self.flow.depth -= 1;
    }

    /// Runs `inside` in flow that is uniform only where it was and `uniform` says so.
    pub(super) fn within(&mut self, uniform: bool, trips: u32, inside: impl FnOnce(&mut Self)) {
        let outside = self.flow;
        self.flow.uniform &= uniform;
        self.flow.trips *= trips;
        inside(self);
        self.flow = outside;
    }

    pub(super) fn blocks<const N: usize>(&mut self) -> [Block; N] {
        [(); N].map(|()| self.func.new_block())
    }

    pub(super) fn one_side(&mut self) {
        let uniform = self.entropy.percent(30);
        let on = self.condition(uniform);
        let [inside, join] = self.blocks();
        let targets = if self.entropy.percent(50) { [join, inside] } else { [inside, join] };
        self.branch(on, targets, inside);
        self.within(uniform, 1, Self::inner);
        self.jump(join, join);
    }

    pub(super) fn diamond(&mut self) {
        let uniform = self.entropy.percent(30);
        let on = self.condition(uniform);
        let [yes, no, join] = self.blocks();
        self.branch(on, [yes, no], yes);
        self.within(uniform, 1, Self::inner);
        self.jump(join, no);
        self.within(uniform, 1, Self::inner);
        self.jump(join, join);
    }

    /// A branch table; several indices may go to one block, and a side may continue into the next.
    pub(super) fn switch(&mut self) {
        let count = self.entropy.between(2, self.config.targets) as usize;
        let sides: Vec<Block> = (0..count).map(|_| self.func.new_block()).collect();
        let join = self.func.new_block();
        let size = self.entropy.choose(&[2, 4, 8]);
        let table: Vec<Operand> = (0..size)
            .map(|_| match self.entropy.below(count + 1) {
                0 => Operand::Block(join),
                side => Operand::Block(sides[side - 1]),
            })
            .collect();
        let mut value = self.value(Type::B32);
        // One draw more than for a branch: a warp that goes one way as a whole leaves more ways out here.
        let split = (0..2).any(|_| self.entropy.percent(self.config.operand.split));
        if let Some(lane) = self.lane.filter(|_| split) {
            let both = Self::typed(Opcode::Xor, Type::B32).src(value).src(lane);
            value = Operand::Reg(self.hidden(both, RegInfo::words(1)));
        }
        let index = Self::typed(Opcode::And, Type::B32).src(value).src(size as u64 - 1);
        let index = self.hidden(index, RegInfo::words(1));
        self.end(&InstBuilder::new(Opcode::Brx).src(index).srcs(table), sides[0]);
        for side in 0..count {
            self.within(false, 1, Self::inner);
            let next = sides.get(side + 1).copied().unwrap_or(join);
            let to = if self.entropy.percent(25) { next } else { join };
            self.jump(to, next);
        }
    }

    /// Blocks that branch to each other as they please, while there is fuel; entered at one or two places.
    pub(super) fn unstructured(&mut self) {
        let fuel_left = self.config.fuel.min(self.config.nested_trips / self.flow.trips.max(1)).max(1);
        let fuel = Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0));
        let fuel = self.hidden(fuel, RegInfo::words(1));
        let count = self.entropy.between(2, self.config.unstructured.max(2)) as usize;
        let members: Vec<Block> = (0..count).map(|_| self.func.new_block()).collect();
        let [exit] = self.blocks();
        let entries = [members[0], self.entropy.choose(&members)];
        let on = self.condition(false);
        self.branch(on, entries, members[0]);
        for at in 0..count {
            let next = members.get(at + 1).copied().unwrap_or(exit);
            self.within(false, fuel_left, Self::stretch);
            let targets = [self.entropy.choose(&members), self.entropy.choose(&members)];
            let [onward] = self.blocks();
            self.count(fuel, 1);
            let more = self.below(fuel, Operand::imm(fuel_left));
            self.branch(more.into(), [onward, exit], onward);
            let on = self.condition(false);
            self.branch(on, targets, next);
        }
    }

    /// Some threads store what they have and end. The others are no longer all threads.
    pub(super) fn leave(&mut self) {
        let [gone, rest] = self.blocks();
        let on = self.condition(false);
        self.branch(on, [gone, rest], gone);
        self.store_results(None);
        let end = self.entropy.choose(&[Opcode::Exit, Opcode::Ret]);
        self.end(&InstBuilder::new(end), rest);
        self.flow.uniform = false;
    }

    /// A branch to a trap, or a guarded trap, on a condition that no data meets.
    pub(super) fn never(&mut self) {
        let value = self.value(Type::B32);
        let low = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(7));
        let low = self.hidden(low, RegInfo::words(1));
        let never = self.compare(Compare::Gt, low.into(), 7);
        if self.entropy.percent(30) {
            let guard = oriole_ir::Guard::new(never, false);
            return self.push(&InstBuilder::new(Opcode::Trap).guard(Some(guard)));
        }
        let [trap, rest] = self.blocks();
        self.branch(never.into(), [trap, rest], trap);
        self.push(&InstBuilder::new(Opcode::Trap));
        self.jump(rest, rest);
    }
}

/// The blocks that control can get to.
pub fn reachable(func: &Function) -> BTreeSet<Block> {
    let mut seen = BTreeSet::new();
    let mut stack: Vec<Block> = func.layout().first().copied().into_iter().collect();
    while let Some(block) = stack.pop() {
        if seen.insert(block) {
            stack.extend(func.successors(block));
        }
    }
    seen
}
