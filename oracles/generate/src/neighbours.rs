//! Loops one behind the other that make as many rounds, or nearly, and products of what loops count.
//!
//! Left to chance, nothing multiplies a counter, no two loops count alike, and a loop reads what the loop before it has
//! made. Here each loop works on a sum of its own, and what would make it matter in which order the rounds of two loops
//! are executed is chosen by itself, so that most pairs have one such thing or none.
//!
//! What must hold phases back is seldom there, one thing at a time: what stops at the largest number or counts by what
//! the loop changes, a way back that leaves out the test, a loop that some threads come to from elsewhere.

use oriole_ir::ops::{AtomOp, Compare, Opcode, Saturate, Space, Type};
use oriole_ir::{Block, Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::loops::Trips;
use super::memory::Region;

/// How a loop counts its rounds, and where it mostly meets memory.
#[derive(Clone, Copy)]
struct Rounds {
    ty: Type,
    start: u32,
    step: u64,
    less: Compare,
    bound: Operand,
    at_head: bool,
    place: Option<Place>,
    /// Whether no loop behind it counts alike.
    alone: bool,
    /// Whether each round stores the sum.
    stores: bool,
}

/// What a loop changes.
struct Work {
    counter: Reg,
    sum: Reg,
    /// What is nearly a counter, and its step.
    near: Option<(Reg, InstBuilder)>,
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
        let first =
            Rounds { ty, start: 0, step: 1, less: Compare::Lt, bound, at_head, place, alone: !two, stores: false };
        let sums = [(); 2].map(|()| self.sum_of_its_own(ty));
        if !two {
            let [begin, end] = self.blocks();
            self.jump(begin, begin);
            self.counting_loop(first, &trips, sums[0], end);
        } else if self.entropy.percent(16) {
            return self.first_may_be_left_out(first, &trips, sums);
        } else {
            let [begin, second, end] = self.blocks();
            self.jump(begin, begin);
            self.counting_loop(first, &trips, sums[0], second);
            self.between(ty, sums, place);
            let again = self.varied(first);
            if self.entropy.percent(10) {
                self.add(ty, sums[1], sums[0].into());
            }
            self.counting_loop(again, &trips, sums[1], end);
        }
        sums.into_iter().for_each(|sum| self.fold(sum));
    }

    /// Two loops, the first of which some threads go around: to the block in front of the second one, or straight into
    /// that. Those that come from the first one may begin to count later.
    fn first_may_be_left_out(&mut self, first: Rounds, trips: &Trips, [sum, other]: [Reg; 2]) {
        let again = self.varied(first);
        let on = self.condition(false);
        let [begin, second, end] = self.blocks();
        if self.entropy.percent(40) {
            self.branch(on, [begin, second], begin);
            self.counting_loop(first, trips, sum, second);
            self.counting_loop(again, trips, other, end);
            return [sum, other].into_iter().for_each(|sum| self.fold(sum));
        }
        let counter = self.begun_with(again.ty, Operand::imm(again.start));
        self.branch(on, [begin, second], begin);
        // Nothing reads the sum behind both, as that would be read in the second loop, in SSA form.
        let first = Rounds { stores: true, ..first };
        if self.entropy.percent(40) {
            let [behind] = self.blocks();
            self.counting_loop(first, trips, sum, behind);
            self.push(&Self::typed(Opcode::IAdd, again.ty).src(counter).src(Operand::imm(1)).dst(counter));
            self.jump(second, second);
        } else {
            self.counting_loop(first, trips, sum, second);
        }
        self.counting_rounds(again, trips, Work { counter, sum: other, near: None }, (second, end));
        self.fold(other);
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
        self.begun_with(ty, value)
    }

    /// A register of its own that begins with a value.
    fn begun_with(&mut self, ty: Type, value: Operand) -> Reg {
        let bits = if ty == Type::U64 { Type::B64 } else { Type::B32 };
        self.hidden(Self::typed(Opcode::Mov, bits).src(value), RegInfo::of(ty))
    }

    fn add(&mut self, ty: Type, sum: Reg, value: Operand) {
        let opcode = self.entropy.choose(&[Opcode::IAdd, Opcode::ISub]);
        self.push(&Self::typed(opcode, ty).src(sum).src(value).dst(sum));
    }

    /// Code between two loops: mostly none.
    fn between(&mut self, ty: Type, [first, second]: [Reg; 2], place: Option<Place>) {
        match self.entropy.below(16) {
            0 => self.fold(first),
            1 => self.add(ty, second, first.into()),
            2 => {
                let value = self.value(ty);
                self.add(ty, second, value);
            }
            3 => self.stretch(),
            4..=7 => {
                // What the loops mostly meet.
                if let Some(place) = place {
                    let writes = self.entropy.percent(50);
                    self.access_place(ty, (second, second), Place { alternates: false, ..place }, writes);
                }
            }
            _ => {}
        }
    }

    /// The same rounds, or others by one thing.
    fn varied(&mut self, of: Rounds) -> Rounds {
        match self.entropy.below(16) {
            0 => Rounds { start: 1, ..of },
            1 => Rounds { step: 2, ..of },
            2 => Rounds { less: Compare::Le, ..of },
            3 => Rounds { at_head: !of.at_head, ..of },
            4 => Rounds { bound: Operand::imm(2), ..of },
            5 => Rounds { bound: Operand::imm(3), start: 1, ..of },
            6 => self.tested_as_often(of),
            _ => of,
        }
    }

    /// The test at the other end, with a bound by which it is executed as often.
    fn tested_as_often(&mut self, of: Rounds) -> Rounds {
        let bound = self.func.imm_bits(of.bound).map(|bound| match of.at_head {
            true => Operand::imm(bound as u32 + 1),
            false => Operand::imm((bound as u32).saturating_sub(1)),
        });
        Rounds { at_head: !of.at_head, bound: bound.unwrap_or(of.bound), ..of }
    }

    /// A loop that works on a sum, in front of `next`.
    fn counting_loop(&mut self, rounds: Rounds, trips: &Trips, sum: Reg, next: Block) {
        let counter = self.begun_with(rounds.ty, Operand::imm(rounds.start));
        let near = if rounds.alone { self.near_counter(rounds.ty, sum) } else { None };
        let [head] = self.blocks();
        self.jump(head, head);
        self.counting_rounds(rounds, trips, Work { counter, sum, near }, (head, next));
    }

    /// What is stepped in each round and is no counter: by what the loop changes, up to the largest number, in 16 bits,
    /// or under a guard.
    fn near_counter(&mut self, ty: Type, sum: Reg) -> Option<(Reg, InstBuilder)> {
        let wraps = ty == Type::U32;
        let (near, adds, step) = match self.entropy.below(100) {
            0..35 => (self.sum_of_its_own(ty), Self::typed(Opcode::IAdd, ty), Operand::Reg(sum)),
            35..70 if wraps => {
                let start = Operand::imm(i32::MAX.unsigned_abs() - self.entropy.between(0, 3));
                let adds = Self::typed(Opcode::IAdd, Type::S32).field(Saturate::Sat);
                (self.begun_with(ty, start), adds, Operand::imm(self.entropy.between(1, 2)))
            }
            70..85 if wraps => {
                // Of the register a half counts.
                let start = Operand::imm(0xFFFF - self.entropy.between(0, 1));
                (self.begun_with(ty, start), Self::typed(Opcode::IAdd, Type::U16), Operand::imm(1))
            }
            85..100 => {
                // In some rounds, or in some threads.
                let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
                (self.sum_of_its_own(ty), Self::typed(Opcode::IAdd, ty).guard(Some(guard)), Operand::imm(1))
            }
            _ => return None,
        };
        Some((near, adds.src(near).src(step).dst(near)))
    }

    /// Such a loop from its head on, where its counter has begun.
    fn counting_rounds(&mut self, rounds: Rounds, trips: &Trips, work: Work, (head, next): (Block, Block)) {
        let (Rounds { ty, step, .. }, Work { counter, sum, near }) = (rounds, work);
        let [body] = self.blocks();
        if rounds.at_head {
            let more = self.goes_on(rounds, counter);
            self.branch(more.into(), [body, next], body);
        } else {
            self.jump(body, body);
        }
        self.within(trips.uniform, trips.most, |builder| {
            if let Some(place) = rounds.place.filter(|_| rounds.stores) {
                builder.access_place(ty, (sum, counter), place, true);
            }
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
            if let Some((near, step)) = &near {
                builder.add_product(ty, *near, sum);
                builder.push(step);
            }
            builder.step_again(rounds, counter, head);
        });
        if rounds.at_head {
            if self.entropy.percent(15) {
                // Another way back, which counts alike.
                let on = self.condition(false);
                let [rest] = self.blocks();
                self.branch(on, [head, rest], rest);
                self.add(ty, sum, counter.into());
            }
            self.jump(head, next);
        } else {
            if self.entropy.percent(8) {
                self.skip_test(ty, counter, trips.most, head);
            }
            let more = self.goes_on(rounds, counter);
            self.branch(more.into(), [head, next], next);
        }
    }

    /// Has some threads continue without the test at the end, a round more than there are trips at most.
    fn skip_test(&mut self, ty: Type, counter: Reg, most: u32, head: Block) {
        let early = self.compares(ty, Compare::Le, counter, Operand::imm(most));
        let on = self.condition(false);
        let skips = Self::typed(Opcode::And, Type::Pred).src(early).src(on);
        let skips = self.hidden(skips, RegInfo::PRED);
        let [test] = self.blocks();
        self.branch(skips.into(), [head, test], test);
    }

    /// In some loops, a second step in some rounds: under a guard, or on a way back of its own where the head tests.
    fn step_again(&mut self, Rounds { ty, step, at_head, .. }: Rounds, counter: Reg, head: Block) {
        let again = Self::typed(Opcode::IAdd, ty).src(counter).src(step).dst(counter);
        match self.entropy.below(12) {
            0 => {
                let past = self.compares(ty, Compare::Gt, counter, Operand::imm(1));
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

    /// The test; in some loops under a guard, so that some threads leave at once.
    fn goes_on(&mut self, Rounds { ty, less, bound, .. }: Rounds, counter: Reg) -> Reg {
        if !self.entropy.percent(6) {
            return self.compares(ty, less, counter, bound);
        }
        let guard = Guard::new(self.register(RegInfo::PRED), self.entropy.percent(30));
        let more = self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(Operand::imm(0)), RegInfo::PRED);
        let test = Self::typed(Opcode::SetP, ty).field(less).src(counter).src(bound).dst(more);
        self.push(&test.guard(Some(guard)));
        more
    }

    fn compares(&mut self, ty: Type, how: Compare, counter: Reg, bound: Operand) -> Reg {
        let inst = Self::typed(Opcode::SetP, ty).field(how).src(counter).src(bound);
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
        match self.entropy.below(100) {
            0..14 => self.add_products_alike(ty, counter, sum),
            14..22 => self.add_product_of_outer(ty, counter, sum),
            _ => {
                let product = self.product_of_counter(ty, counter, sum);
                self.add(ty, sum, product.into());
            }
        }
    }

    /// Two products that differ by what is added alone.
    fn add_products_alike(&mut self, ty: Type, counter: Reg, sum: Reg) {
        let factor = self.value(ty);
        for _ in 0..2 {
            let addend = self.value(ty);
            let product = Self::typed(Opcode::IMadLo, ty).src(counter).src(factor).src(addend);
            let product = self.hidden(product, RegInfo::of(ty));
            self.add(ty, sum, product.into());
        }
    }

    /// A loop within the loop, with a product of what the outer one counts and of what it alone changes.
    fn add_product_of_outer(&mut self, ty: Type, counter: Reg, sum: Reg) {
        let (reg, bits) = if ty == Type::U64 { ("%d", 64) } else { ("%r", 32) };
        let text = format!(
            "  {reg}2 = mov.b{bits} {reg}1
  %r3 = mov.b32 0
  bra bb1
bb1:
  {reg}4 = imul.lo.u{bits} {reg}0, {reg}2
  {reg}1 = iadd.u{bits} {reg}1, {reg}4
  %r3 = iadd.u32 %r3, 1
  %p5 = setp.lt.u32 %r3, 2
  cbra %p5, bb1, bb2
bb2:"
        );
        self.template(&text, &[counter, sum]);
    }

    /// A product of a counter and what no loop of these changes, or seldom the sum, maybe with an addend.
    fn product_of_counter(&mut self, ty: Type, counter: Reg, sum: Reg) -> Reg {
        let changing = |builder: &mut Self| match builder.entropy.percent(6) {
            true => Operand::Reg(sum),
            false => builder.value(ty),
        };
        let factor = changing(self);
        let addend = self.entropy.percent(40).then(|| changing(self));
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
        let is_atomic = matches!(region.space, Space::Global | Space::Shared) && region.writable;
        if is_atomic && self.entropy.percent(8) {
            return self.push(&access(Opcode::Red).field(AtomOp::Add).src(sum));
        }
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
