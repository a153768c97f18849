//! Words that a thread hands over to the one before it without a barrier: it writes and releases, the other one
//! acquires and reads.
//!
//! PTX ISA, "Release and Acquire Patterns". A phase that moves a load in front of what acquires, or a store behind what
//! releases, changes no value in the order of threads that the interpreter takes, but makes a race. Left to chance,
//! orders stand on accesses to the memory of one thread, where nobody can tell.

use oriole_ir::ops::{AtomOp, Compare, FenceKind, Opcode, Order, Scope, Space, SpecialReg, Type};
use oriole_ir::{Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::{REGION, Region};

/// The first SM whose accesses acquire and release.
const FIRST_SM: u16 = 70;

/// A word of a thread, for those that have such a thread.
#[derive(Clone, Copy)]
struct Word {
    space: Space,
    base: Operand,
    offset: u64,
    guard: Option<Guard>,
}

impl Word {
    /// The word that stands so many bytes behind.
    fn at(self, bytes: u64) -> Word {
        Word { offset: self.offset.wrapping_add(bytes), ..self }
    }

    fn access(self, opcode: Opcode) -> InstBuilder {
        let inst = Builder::typed(opcode, Type::B32).field(self.space).src(self.base).src(self.offset);
        inst.guard(self.guard)
    }
}

/// What orders the accesses of a thread.
#[derive(Clone, Copy)]
struct Means {
    scope: Scope,
    by: By,
}

/// Which of its operations do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Loads that acquire, and stores that release.
    Accesses,
    /// Fences beside relaxed accesses.
    Fences,
    /// Atomic operations that acquire and release, on both sides.
    Atomics,
}

impl Builder<'_, '_> {
    /// Each thread hands a word over to the one before it in its warp. Before it writes the word, that one may read
    /// what was there, and says that it has. All threads of the CTA come here.
    pub(super) fn hand_over(&mut self) {
        let by = self.entropy.choose(&[By::Accesses, By::Fences]);
        self.hand_over_by(by);
    }

    /// The same, where a thread's atomic operations alone, which acquire and release, order what it reads and writes.
    pub(super) fn hand_over_atomically(&mut self) {
        self.hand_over_by(By::Atomics);
    }

    fn hand_over_by(&mut self, by: By) {
        if self.only.is_some_and(|target| target.number() < FIRST_SM) {
            return;
        }
        let Some(Region { space, base, .. }) = self.region_in_sight() else { return };
        let means = Means { scope: self.entropy.choose(&[Scope::Cta, Scope::Gpu, Scope::Sys]), by };
        // A word, and behind it a flag that counts.
        let word = 8 * self.entropy.below(REGION as usize / 8) as u64;
        let own = Word { space, base, offset: word, guard: None };
        let [next, previous] = self.beside(own);
        let barrier = InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0));
        self.write(own);
        self.push(&own.at(4).access(Opcode::St).src(Operand::imm(0)));
        self.push(&barrier);
        let mut count = 1;
        let before = self.entropy.percent(60).then(|| {
            let before = self.read(next);
            self.release(own, means, count);
            self.wait(previous, means, count);
            self.acquire(previous, means);
            count += 1;
            before
        });
        self.write(own);
        self.release(own, means, count);
        self.wait(next, means, count);
        self.read_in_time(next, means);
        self.push(&barrier);
        before.into_iter().for_each(|before| self.fold(before));
        self.write(own);
    }

    /// The same word of the next thread of the warp, and of the one before. The address of the next one's is at a
    /// constant distance, so that it is known to be no word of the thread itself, or computed.
    fn beside(&mut self, own: Word) -> [Word; 2] {
        let lane = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::LaneId));
        let lane = self.hidden(lane, RegInfo::words(1));
        let has_next = self.compare(Compare::Lt, lane.into(), 31);
        let has_previous = self.compare(Compare::Gt, lane.into(), 0);
        let guarded = |there: Word, predicate| Word { guard: Some(Guard::new(predicate, false)), ..there };
        let region = u64::from(REGION);
        let next = if self.entropy.percent(50) {
            guarded(own.at(region), has_next)
        } else {
            let ahead = Self::typed(Opcode::SelP, Type::B64).src(region).src(Operand::imm(0)).src(has_next);
            let ahead = self.hidden(ahead, RegInfo::words(2));
            let base = Self::typed(Opcode::IAdd, Type::U64).src(own.base).src(ahead);
            Word { base: self.hidden(base, RegInfo::words(2)).into(), ..own }
        };
        [next, guarded(own.at(region.wrapping_neg()), has_previous)]
    }

    fn write(&mut self, own: Word) {
        let value = self.value(Type::B32);
        self.push(&own.access(Opcode::St).src(value));
    }

    /// A thread that does not exist has a zero.
    fn read(&mut self, there: Word) -> Reg {
        let to = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        self.push(&there.access(Opcode::Ld).dst(to));
        to
    }

    /// Sets the flag of a word, behind everything that the thread did before.
    fn release(&mut self, own: Word, means: Means, count: u32) {
        let order = if means.by == By::Accesses { Order::Release } else { Order::Relaxed };
        match means.by {
            By::Accesses => {}
            By::Fences => self.fence(means),
            By::Atomics => return self.update(own, means, AtomOp::Exch, count),
        }
        let store = own.at(4).access(Opcode::St).field(order).field(means.scope);
        self.push(&store.src(Operand::imm(count)));
    }

    /// Waits until the flag of a word has come to a count. The loop orders nothing.
    fn wait(&mut self, there: Word, means: Means, count: u32) {
        let [head, behind] = self.blocks();
        self.jump(head, head);
        let seen = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(count)), RegInfo::words(1));
        self.push(&there.at(4).access(Opcode::Ld).field(Order::Relaxed).field(means.scope).dst(seen));
        let more = self.compare(Compare::Lt, seen.into(), u64::from(count));
        self.branch(more.into(), [head, behind], behind);
    }

    /// Orders what stands behind after what the thread of a flag that was seen did before.
    fn acquire(&mut self, there: Word, means: Means) {
        match means.by {
            By::Accesses => {}
            By::Fences => return self.fence(means),
            By::Atomics => return self.update(there, means, AtomOp::Or, 0),
        }
        let seen = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        self.push(&there.at(4).access(Opcode::Ld).field(Order::Acquire).field(means.scope).dst(seen));
    }

    /// Changes the flag of a word by an atomic operation that acquires and releases; what was there nobody reads.
    fn update(&mut self, there: Word, means: Means, op: AtomOp, by: u32) {
        let seen = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        let atom = there.at(4).access(Opcode::Atom).field(op).field(Order::AcqRel).field(means.scope);
        self.push(&atom.src(Operand::imm(by)).dst(seen));
    }

    fn fence(&mut self, means: Means) {
        self.push(&InstBuilder::new(Opcode::Fence).field(FenceKind::AcqRel).field(means.scope));
    }

    /// Acquires and reads a word: at once, on both sides of a branch, or in each round of a loop.
    fn read_in_time(&mut self, there: Word, means: Means) {
        let acquired = |builder: &mut Self| {
            builder.acquire(there, means);
            let read = builder.read(there);
            builder.fold(read);
        };
        match self.entropy.below(3) {
            0 => acquired(self),
            1 => {
                let on = self.condition(false);
                let [yes, no, join] = self.blocks();
                self.branch(on, [yes, no], yes);
                for (number, next) in [(3, no), (5, join)] {
                    acquired(self);
                    self.visit(number);
                    self.jump(join, next);
                }
            }
            _ => {
                let counter = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
                let [head, behind] = self.blocks();
                self.jump(head, head);
                acquired(self);
                self.count(counter, 1);
                let more = self.below(counter, Operand::imm(2));
                self.branch(more.into(), [head, behind], behind);
            }
        }
    }
}
