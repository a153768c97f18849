//! Loops: with a counter, nested deeply, and back to the entry block.

use oriole_ir::ops::{Compare, Opcode, Space, Type};
use oriole_ir::{Block, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::kernel::AGAIN;

/// How many trips a loop makes: the number as an operand, the largest that it may be, and whether it is the same in all
/// threads.
pub(super) struct Trips {
    pub limit: Operand,
    pub most: u32,
    pub uniform: bool,
}

impl Builder<'_, '_> {
    /// How many trips a loop makes.
    pub(super) fn trips(&mut self) -> Trips {
        let most = self.config.trips.min(self.config.nested_trips / self.flow.trips.max(1)).max(1);
        if self.entropy.percent(60) {
            let trips = self.entropy.between(1, most);
            return Trips { limit: Operand::imm(trips), most: trips, uniform: true };
        }
        let value = self.value(Type::B32);
        // The least of a value and a small bound is the bound nearly always; the low bits are any number.
        let trips = match (most + 1).is_power_of_two() && self.entropy.percent(self.config.operand.boundary) {
            true => Self::typed(Opcode::And, Type::B32),
            false => Self::typed(Opcode::IMin, Type::U32),
        };
        let trips = trips.src(value).src(u64::from(most));
        Trips { limit: Operand::Reg(self.hidden(trips, RegInfo::words(1))), most, uniform: false }
    }

    /// A loop, tested at its end or at its head; some threads may leave it from its middle.
    pub(super) fn repeat(&mut self) {
        self.repeat_around(&mut |builder, _| builder.inner());
    }

    /// A loop around what `inside` makes, which gets the block behind the loop.
    fn repeat_around(&mut self, inside: &mut dyn FnMut(&mut Self, Block)) {
        let counter = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        let Trips { limit, most, uniform } = self.trips();
        let breaks = self.entropy.percent(25);
        let at_head = self.entropy.percent(40);
        let [head, body, exit] = self.blocks();
        // Threads that leave from the middle may come to another block than the others.
        let middle = if breaks && self.entropy.percent(50) { self.func.new_block() } else { exit };
        self.jump(head, head);
        if at_head {
            let more = self.below(counter, limit);
            self.branch(more.into(), [body, exit], body);
        } else {
            self.jump(body, body);
        }
        self.within(uniform && !breaks, most, |builder| {
            inside(builder, exit);
            if breaks {
                let [rest] = builder.blocks();
                let on = builder.condition(false);
                builder.branch(on, [middle, rest], rest);
                builder.inner();
            }
            builder.count(counter, 1);
        });
        if at_head {
            self.jump(head, middle);
        } else {
            let more = self.below(counter, limit);
            self.branch(more.into(), [head, exit], middle);
        }
        if middle != exit {
            self.visit(19);
            self.within(false, 1, Self::stretch);
            self.jump(exit, exit);
        }
    }

    pub(super) fn below(&mut self, counter: Reg, limit: Operand) -> Reg {
        let inst = Self::typed(Opcode::SetP, Type::U32).field(Compare::Lt).src(counter).src(limit);
        self.hidden(inst, RegInfo::PRED)
    }

    pub(super) fn count(&mut self, counter: Reg, by: u64) {
        self.push(&Self::typed(Opcode::IAdd, Type::U32).src(counter).src(by).dst(counter));
    }

    /// Loops inside of loops, deeper than other shapes nest.
    pub(super) fn nest(&mut self) {
        let [low, high] = self.config.nest;
        let levels = self.entropy.between(low, high);
        self.within(false, 1, |builder| builder.level(levels, &[]));
    }

    /// A loop with so many levels in it, inside of loops that end at `exits`.
    fn level(&mut self, levels: u32, exits: &[Block]) {
        self.repeat_around(&mut |builder, exit| {
            let exits: Vec<Block> = exits.iter().copied().chain([exit]).collect();
            match levels.checked_sub(2) {
                Some(left) => builder.level(left + 1, &exits),
                None => builder.innermost(&exits),
            }
        });
    }

    /// The code of the innermost loop; some threads leave it and any number of those around it.
    fn innermost(&mut self, exits: &[Block]) {
        // The counters of the loops alone may have spent the budget.
        self.budget = self.budget.max(2);
        self.stretch();
        if self.entropy.percent(30) {
            let exit = self.entropy.choose(exits);
            let [rest] = self.blocks();
            let on = self.condition(false);
            self.branch(on, [exit, rest], rest);
        }
    }

    /// Goes back to the entry block once, which begins with everything anew. Registers cannot tell the first time from
    /// the second, so a byte of the results does: it is odd before the kernel runs, and counts the rounds.
    pub(super) fn again(&mut self) {
        let Some(results) = self.results else { return };
        self.within(true, 2, |builder| {
            if builder.entropy.percent(50) {
                builder.stretch();
            } else {
                // Threads that are not all here must not wait for each other the second time.
                builder.within(false, 1, Self::inner);
            }
        });
        let byte = |opcode| {
            let access = Self::typed(opcode, Type::U8).field(Space::Global);
            access.src(Operand::Reg(results)).src(Operand::imm(AGAIN))
        };
        let before = self.hidden(byte(Opcode::Ld), RegInfo::words(1));
        let counted = Self::typed(Opcode::IAdd, Type::U32).src(before).src(Operand::imm(1));
        let counted = self.hidden(counted, RegInfo::words(1));
        self.push(&byte(Opcode::St).src(counted));
        let first = self.bit_of(before, 0);
        let (entry, [rest]) = (self.func.entry(), self.blocks());
        self.branch(first.into(), [entry, rest], rest);
    }
}
