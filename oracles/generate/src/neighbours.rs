//! Loops one behind the other that make as many rounds, or nearly, and products of what loops count.
//!
//! Left to chance, nothing multiplies a counter, no two loops count alike, and a loop reads what the loop before it has
//! made. Here each loop works on a sum of its own, and what would make it matter in which order the rounds of two loops
//! are executed is chosen by itself, so that most pairs have one such thing or none.

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Guard, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::loops::Trips;
use super::memory::Region;

/// How a loop counts its rounds, and where it mostly meets memory.
#[derive(Clone, Copy)]
struct Rounds {
    ty: Type,
    start: u64,
    step: u64,
    less: Compare,
    bound: Operand,
    at_head: bool,
    place: Option<Place>,
    /// Whether no loop behind it counts alike.
    alone: bool,
}

/// Eight bytes of a region.
#[derive(Clone, Copy)]
struct Place {
    region: Region,
    offset: u64,
    /// Whether they are the bytes at the offset in even rounds, and others in odd ones.
    alternates: bool,
}

impl Builder<'_, '_> {
    /// A loop, and mostly another one behind it.
    pub(super) fn neighbours(&mut self) {
        let ty = self.entropy.choose(&[Type::U32, Type::U64]);
        let trips = self.trips();
        let bound = self.widened(trips.limit, ty);
        let at_head = self.entropy.percent(40);
        let place = self.eight_bytes(true);
        let two = self.entropy.percent(70);
        let first = Rounds { ty, start: 0, step: 1, less: Compare::Lt, bound, at_head, place, alone: !two };
        let sums = [(); 2].map(|()| self.sum_of_its_own(ty));
        let [begin, second, end] = self.blocks();
        if two && self.entropy.percent(8) {
            let on = self.condition(false);
            self.branch(on, [begin, second], begin);
        } else {
            self.jump(begin, begin);
        }
        self.counting_loop(first, &trips, sums[0], second);
        if two {
            self.between(ty, sums);
            let again = self.varied(first);
            if self.entropy.percent(10) {
                self.add(ty, sums[1], sums[0].into());
            }
            self.counting_loop(again, &trips, sums[1], end);
        } else {
            self.jump(end, end);
        }
        sums.into_iter().for_each(|sum| self.fold(sum));
    }

    /// A limit of trips as a value of a type.
    fn widened(&mut self, limit: Operand, ty: Type) -> Operand {
        match limit {
            Operand::Reg(reg) if ty == Type::U64 => {
                let pair = Self::typed(Opcode::IMadWide, Type::U32).src(reg).src(Operand::imm(1)).src(Operand::imm(0));
                Operand::Reg(self.hidden(pair, RegInfo::words(2)))
            }
            other => other,
        }
    }

    /// A register of its own that begins with some value.
    fn sum_of_its_own(&mut self, ty: Type) -> Reg {
        let value = self.value(ty);
        let bits = if ty == Type::U64 { Type::B64 } else { Type::B32 };
        self.hidden(Self::typed(Opcode::Mov, bits).src(value), RegInfo::of(ty))
    }

    fn add(&mut self, ty: Type, sum: Reg, value: Operand) {
        let opcode = self.entropy.choose(&[Opcode::IAdd, Opcode::ISub]);
        self.push(&Self::typed(opcode, ty).src(sum).src(value).dst(sum));
    }

    /// Code between two loops: mostly none.
    fn between(&mut self, ty: Type, [first, second]: [Reg; 2]) {
        match self.entropy.below(12) {
            0 => self.fold(first),
            1 => self.add(ty, second, first.into()),
            2 => {
                let value = self.value(ty);
                self.add(ty, second, value);
            }
            3 => self.stretch(),
            _ => {}
        }
    }

    /// The same rounds, or others by one thing.
    fn varied(&mut self, of: Rounds) -> Rounds {
        match self.entropy.below(14) {
            0 => Rounds { start: 1, ..of },
            1 => Rounds { step: 2, ..of },
            2 => Rounds { less: Compare::Le, ..of },
            3 => Rounds { at_head: !of.at_head, ..of },
            4 => Rounds { bound: Operand::imm(2), ..of },
            5 => Rounds { bound: Operand::imm(3), start: 1, ..of },
            _ => of,
        }
    }

    /// A loop that works on a sum, in front of `next`.
    fn counting_loop(&mut self, rounds: Rounds, trips: &Trips, sum: Reg, next: Block) {
        let Rounds { ty, start, step, .. } = rounds;
        let bits = if ty == Type::U64 { Type::B64 } else { Type::B32 };
        let counter = self.hidden(Self::typed(Opcode::Mov, bits).src(start), RegInfo::of(ty));
        let uneven = (rounds.alone && self.entropy.percent(35)).then(|| self.sum_of_its_own(ty));
        let [head, body] = self.blocks();
        self.jump(head, head);
        if rounds.at_head {
            let more = self.goes_on(rounds, counter);
            self.branch(more.into(), [body, next], body);
        } else {
            self.jump(body, body);
        }
        self.within(trips.uniform, trips.most, |builder| {
            for _ in 0..builder.entropy.between(1, 2) {
                builder.work(rounds, counter, sum);
            }
            if builder.entropy.percent(6) {
                let [rest] = builder.blocks();
                let on = builder.condition(false);
                builder.branch(on, [next, rest], rest);
            }
            builder.push(&Self::typed(Opcode::IAdd, ty).src(counter).src(step).dst(counter));
            if rounds.alone && builder.entropy.percent(35) {
                // What is multiplied is the counter of the next round.
                builder.add_product(ty, counter, sum);
            }
            if let Some(uneven) = uneven {
                // It counts, too, but by what the loop changes.
                builder.add_product(ty, uneven, sum);
                builder.push(&Self::typed(Opcode::IAdd, ty).src(uneven).src(sum).dst(uneven));
            }
            builder.step_again(rounds, counter, head);
        });
        if rounds.at_head {
            self.jump(head, next);
        } else {
            let more = self.goes_on(rounds, counter);
            self.branch(more.into(), [head, next], next);
        }
    }

    /// In some loops, a second step in some rounds: under a guard, or on a way back of its own where the head tests.
    fn step_again(&mut self, Rounds { ty, step, at_head, .. }: Rounds, counter: Reg, head: Block) {
        let again = Self::typed(Opcode::IAdd, ty).src(counter).src(step).dst(counter);
        match self.entropy.below(12) {
            0 => {
                let past = Self::typed(Opcode::SetP, ty).field(Compare::Gt).src(counter).src(Operand::imm(1));
                let past = self.hidden(past, RegInfo::PRED);
                self.push(&again.guard(Some(Guard::new(past, false))));
            }
            1 if at_head => {
                let on = self.condition(false);
                let [twice, once] = self.blocks();
                self.branch(on, [twice, once], twice);
                self.push(&again);
                self.jump(head, once);
            }
            _ => {}
        }
    }

    fn goes_on(&mut self, Rounds { ty, less, bound, .. }: Rounds, counter: Reg) -> Reg {
        let inst = Self::typed(Opcode::SetP, ty).field(less).src(counter).src(bound);
        self.hidden(inst, RegInfo::PRED)
    }

    /// Changes a sum by a product of the counter, the counter, or a value; or has it meet memory.
    fn work(&mut self, Rounds { ty, place, .. }: Rounds, counter: Reg, sum: Reg) {
        let writes = self.entropy.percent(50);
        let alike = place.filter(|_| self.entropy.percent(60));
        match self.entropy.below(9) {
            0..=3 => self.add_product(ty, counter, sum),
            4 => self.add(ty, sum, counter.into()),
            5 => self.push(&Self::typed(Opcode::IMadLo, ty).src(sum).src(Operand::imm(5)).src(counter).dst(sum)),
            _ => {
                if let Some(place) = alike.or_else(|| self.eight_bytes(writes)) {
                    self.access_place(ty, (sum, counter), place, writes);
                }
            }
        }
    }

    fn add_product(&mut self, ty: Type, counter: Reg, sum: Reg) {
        let product = self.product_of_counter(ty, counter);
        self.add(ty, sum, product.into());
    }

    /// A product of a counter and what no loop of these changes, maybe with an addend.
    fn product_of_counter(&mut self, ty: Type, counter: Reg) -> Reg {
        let factor = self.value(ty);
        let addend = self.entropy.percent(40).then(|| self.value(ty));
        let opcode = if addend.is_some() { Opcode::IMadLo } else { Opcode::IMulLo };
        let pair = if self.entropy.percent(30) { [factor, counter.into()] } else { [counter.into(), factor] };
        self.hidden(Self::typed(opcode, ty).srcs(pair).srcs(addend), RegInfo::of(ty))
    }

    /// Eight bytes of a region.
    fn eight_bytes(&mut self, writable: bool) -> Option<Place> {
        let regions: Vec<Region> = self.regions.iter().copied().filter(|region| region.writable || !writable).collect();
        if regions.is_empty() {
            return None;
        }
        let (region, offset) = (self.entropy.choose(&regions), self.entropy.choose(&[0, 8]));
        Some(Place { region, offset, alternates: self.entropy.percent(40) })
    }

    /// Stores a sum, or adds what is loaded.
    fn access_place(&mut self, ty: Type, (sum, counter): (Reg, Reg), place: Place, writes: bool) {
        let Place { region, offset, alternates } = place;
        let (base, offset) = match alternates {
            true => (self.alternating(place, counter).into(), 0),
            false => (region.base, offset),
        };
        let access = |opcode| Self::typed(opcode, ty).field(region.space).src(base).src(offset);
        if writes {
            return self.push(&access(Opcode::St).src(sum));
        }
        let loaded = self.hidden(access(Opcode::Ld), RegInfo::of(ty));
        self.add(ty, sum, loaded.into());
    }

    /// The address of eight bytes in even rounds, and of the eight beside them in odd ones.
    fn alternating(&mut self, Place { region, offset, .. }: Place, counter: Reg) -> Reg {
        let word = |opcode| Self::typed(opcode, Type::B32);
        let low = if self.info(counter).words == 1 { counter.into() } else { Operand::Word(counter, 0) };
        let shifted = self.hidden(word(Opcode::Shl).src(low).src(Operand::imm(3)), RegInfo::words(1));
        let bit = self.hidden(word(Opcode::And).src(shifted).src(Operand::imm(8)), RegInfo::words(1));
        let index = match offset {
            0 => bit,
            offset => self.hidden(word(Opcode::Xor).src(bit).src(offset), RegInfo::words(1)),
        };
        let base = self.base_of(region);
        self.sum_of_address(base, index)
    }
}
