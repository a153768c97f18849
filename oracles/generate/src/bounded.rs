//! Values of which a range is known, what is computed of them, and branches on comparisons near the ends of ranges.
//!
//! A phase that decides conditions by ranges is wrong where it takes a range for narrower than it is, mostly by one or
//! by a sign. Left to chance, no comparison of a kernel is with a number near the end of what is compared.

use oriole_ir::ops::{BoolOp, Compare, Opcode, Shape, SrcType, Type};
use oriole_ir::{Block, Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::insts::result_info;

/// Operations of which more can be said than that the result has some bits.
pub(super) const RANGED: [Opcode; 29] = [
    Opcode::IAdd,
    Opcode::ISub,
    Opcode::IAddCarry,
    Opcode::ISubCarry,
    Opcode::INeg,
    Opcode::IAbs,
    Opcode::ISad,
    Opcode::IMulLo,
    Opcode::IMadLo,
    Opcode::IMulHi,
    Opcode::IMadHi,
    Opcode::IMin,
    Opcode::IMax,
    Opcode::IDiv,
    Opcode::IRem,
    Opcode::SelP,
    Opcode::Slct,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Not,
    Opcode::Shl,
    Opcode::Shr,
    Opcode::Popc,
    Opcode::Clz,
    Opcode::Bfind,
    Opcode::Bfe,
    Opcode::Szext,
    Opcode::Cvt,
];

/// Numbers near which ranges end.
const ENDS: [u32; 24] = [
    0,
    1,
    2,
    3,
    4,
    6,
    8,
    10,
    15,
    16,
    20,
    31,
    32,
    128,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x8000_0000,
    0xFFFF_8000,
    0xFFFF_FF80,
    0xFFFF_FFF0,
    0xFFFF_FFF8,
    0xFFFF_FFFE,
];

/// The same of counts of bits.
const COUNTS: [u32; 5] = [0, 31, 32, 63, 64];

const ORDERS: [Compare; 6] = [Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Eq, Compare::Ne];

impl Builder<'_, '_> {
    /// Bounded values, what is computed of them, and comparisons that branches are on.
    pub(super) fn bounded(&mut self) {
        if self.entropy.percent(8) {
            return self.floats_by_their_bits();
        }
        let mut values = Vec::new();
        for _ in 0..2 {
            let value = self.value(Type::B32);
            let value = self.lane.filter(|_| self.entropy.percent(60)).map_or(value, Operand::Reg);
            let narrow = if self.entropy.percent(20) { self.narrow_load() } else { None };
            values.push(narrow.unwrap_or_else(|| self.bounded_word(value)));
        }
        let join = self.entropy.percent(30).then(|| {
            // What is computed is so where the comparison holds, or where it does not.
            let value = self.entropy.choose(&values);
            let [inside, join] = self.blocks();
            self.branch_near(value, [inside, join]);
            join
        });
        let rare: [fn(&mut Self, Reg) -> Reg; 7] = [
            Self::half_of_long,
            Self::half_of_bounded_long,
            Self::rest_of_few,
            Self::high_of_product,
            Self::count_of_long,
            Self::under_a_half,
            Self::more_under_a_guard,
        ];
        if self.entropy.percent(45) {
            let made = self.entropy.choose(&rare)(self, values[0]);
            values.push(made);
        }
        for _ in 0..self.entropy.between(1, 2) {
            let result = self.ranged(&values);
            values.extend(result);
        }
        if self.entropy.percent(25) {
            let pair = [(); 2].map(|()| self.entropy.choose(&values));
            self.unlike(pair);
        }
        for _ in 0..self.entropy.between(2, 3) {
            // What was computed last is compared most often.
            let at = values.len() - 1 - self.entropy.below(values.len()).min(self.entropy.below(values.len()));
            self.compared(values[at], 0);
        }
        if let Some(join) = join {
            self.jump(join, join);
        }
    }

    /// The low half of a long number that may be on either side of a multiple of 2^32: known bounds of the number are
    /// none of its half.
    fn half_of_long(&mut self, few: Reg) -> Reg {
        let double = RegInfo::words(2);
        let wide = self.hidden(Self::typed(Opcode::Pack, Type::B32).src(few).src(Operand::imm(0)), double);
        let below = self.func.imm((1 << 32) - u64::from(self.entropy.between(1, 6)));
        let sum = self.hidden(Self::typed(Opcode::IAdd, Type::U64).src(wide).src(below), double);
        self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(sum, 0)), RegInfo::words(1))
    }

    /// The low half of a long number between bounds whose high halves differ, so that it may be anything.
    fn half_of_bounded_long(&mut self, few: Reg) -> Reg {
        let (double, low) = (RegInfo::words(2), self.value(Type::B32));
        let mut wide = self.hidden(Self::typed(Opcode::Pack, Type::B32).src(low).src(few), double);
        let bounds = [u64::from(self.entropy.between(0, 9)), (1 << 32) + u64::from(self.entropy.between(9, 20))];
        for (opcode, bound) in [Opcode::IMax, Opcode::IMin].into_iter().zip(bounds) {
            let bound = self.func.imm(bound);
            wide = self.hidden(Self::typed(opcode, Type::U64).src(wide).src(bound), double);
        }
        self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(wide, 0)), RegInfo::words(1))
    }

    /// A number, or one more than another where a comparison of that with some end holds, or does not.
    fn more_under_a_guard(&mut self, few: Reg) -> Reg {
        let value = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), RegInfo::words(1));
        let of = if self.entropy.percent(50) { few } else { self.register(RegInfo::words(1)) };
        let end = u64::from(self.entropy.choose(&ENDS));
        let guard = Guard::new(self.compare(Compare::Lt, of.into(), end), self.entropy.percent(50));
        let more = Self::typed(Opcode::IAdd, Type::U32).src(of).src(Operand::imm(1)).dst(value);
        self.push(&more.guard(Some(guard)));
        value
    }

    /// How many bits of a long number are set, or are not in front of the first; it may be all of them.
    fn count_of_long(&mut self, few: Reg) -> Reg {
        let double = RegInfo::words(2);
        let mut wide = self.hidden(Self::typed(Opcode::Pack, Type::B32).src(few).src(Operand::imm(0)), double);
        if self.entropy.percent(50) {
            wide = self.hidden(Self::typed(Opcode::Not, Type::B64).src(wide), double);
        }
        let opcode = self.entropy.choose(&[Opcode::Popc, Opcode::Clz]);
        self.hidden(Self::typed(opcode, Type::B64).src(wide), RegInfo::words(1))
    }

    /// A word that has few bits in its low half, and whatever in the other.
    fn under_a_half(&mut self, few: Reg) -> Reg {
        let (word, any) = (RegInfo::words(1), self.value(Type::B32));
        let above = self.hidden(Self::typed(Opcode::Shl, Type::B32).src(any).src(Operand::imm(16)), word);
        self.hidden(Self::typed(Opcode::Or, Type::B32).src(above).src(few), word)
    }

    /// The remainder of a number by the most that it can be; it is never 0.
    fn rest_of_few(&mut self, value: Reg) -> Reg {
        let (ty, most) = (self.entropy.choose(&[Type::U32, Type::S32]), self.entropy.between(3, 12));
        let step = |builder: &mut Self, opcode, from: Reg, by: u32| {
            builder.hidden(Self::typed(opcode, ty).src(from).src(Operand::imm(by)), RegInfo::words(1))
        };
        let few = step(self, Opcode::IMin, value, most);
        let few = step(self, Opcode::IMax, few, 1);
        step(self, Opcode::IRem, few, most)
    }

    /// The high half of a long product of few bits and a word: of that, few bits are known where the word has no sign.
    fn high_of_product(&mut self, few: Reg) -> Reg {
        let (ty, word) = (self.entropy.choose(&[Type::U32, Type::S32]), self.value(Type::B32));
        let product = self.hidden(Self::typed(Opcode::IMulWide, ty).src(few).src(word), RegInfo::words(2));
        self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::Word(product, 1)), RegInfo::words(1))
    }

    /// A number of less than a word from memory, extended.
    fn narrow_load(&mut self) -> Option<Reg> {
        let region = *self.regions.first()?;
        let ty = self.entropy.choose(&[Type::S8, Type::U8, Type::S16, Type::U16]);
        let (base, offset) = self.address(region, ty.bits() / 8);
        let load = Self::typed(Opcode::Ld, ty).field(region.space).src(base).src(offset);
        Some(self.hidden(load, RegInfo::words(1)))
    }

    /// A branch on a float of a few bits and any sign, and behind it one on its bits: neither says all of the other.
    fn floats_by_their_bits(&mut self) {
        let value = self.value(Type::B32);
        let mask = self.entropy.choose(&[1 << 31, 1 << 31 | 0xFF]);
        let masked = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(mask));
        let mut float = self.hidden(masked, RegInfo::words(1));
        if self.entropy.percent(40) {
            let negative = Self::typed(Opcode::Or, Type::B32).src(float).src(Operand::imm(1 << 31));
            float = self.hidden(negative, RegInfo::words(1));
        }
        let how = self.entropy.choose(&ORDERS);
        let with = self.entropy.choose(&[0, 0, 1 << 31, 0x3F80_0000, 0xBF80_0000]);
        let on = Self::typed(Opcode::SetP, Type::F32).field(how).src(float).src(Operand::imm(with));
        let on = self.hidden(on, RegInfo::PRED);
        let [inside, join] = self.blocks();
        let targets = if how == Compare::Ne { [join, inside] } else { [inside, join] };
        self.branch(on.into(), targets, inside);
        let bits = self.entropy.choose(&[0, 1 << 31]);
        let same = self.compare(Compare::Eq, float.into(), bits);
        let [same_bits, rest] = self.blocks();
        self.branch(same.into(), [same_bits, rest], same_bits);
        self.visit(23);
        self.jump(rest, rest);
        self.visit(5);
        self.jump(join, join);
    }

    /// A few bits of a value, maybe moved.
    pub(super) fn bounded_word(&mut self, value: Operand) -> Reg {
        let mask: u32 = self.entropy.choose(&[1, 3, 3, 7, 7, 15, 31, 255]);
        let masked = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(mask));
        let word = self.hidden(masked, RegInfo::words(1));
        let step = self.entropy.between(1, 9);
        let moved = match self.entropy.below(5) {
            0 => Self::typed(Opcode::IAdd, Type::U32).src(word).src(Operand::imm(step)),
            1 => Self::typed(Opcode::IAdd, Type::S32).src(word).src(Operand::imm(step.wrapping_neg())),
            2 => Self::typed(Opcode::Shl, Type::B32).src(word).src(Operand::imm(step % 5)),
            _ => return word,
        };
        self.hidden(moved, RegInfo::words(1))
    }

    /// The result of an operation on these values, if it is a word.
    fn ranged(&mut self, values: &[Reg]) -> Option<Reg> {
        let opcode = Some(self.entropy.choose(&RANGED)).filter(|opcode| self.config.makes(*opcode))?;
        let row = opcode.row();
        // Of conversions those matter that cut a number to less than a word and extend it again.
        let narrow = fixed(self.entropy.choose(&[Type::S8, Type::U8, Type::S16, Type::U16]));
        let narrow = if opcode == Opcode::Cvt { &[narrow, fixed(SrcType::S32)][..] } else { &[] };
        let fields = self.fields(opcode, narrow)?;
        let mut sources = self.sources(row, &fields)?;
        for (source, shape) in sources.iter_mut().zip(row.srcs) {
            let is_word = row.shape_type(&fields, *shape).is_some_and(|ty| RegInfo::of(ty) == RegInfo::words(1));
            if is_word && self.entropy.percent(85) {
                *source = self.entropy.choose(values).into();
            } else if is_word && self.entropy.percent(50) {
                *source = Operand::imm(self.entropy.between(1, 9));
            }
        }
        self.specify(opcode, row.value::<Type>(&fields).unwrap_or(Type::B32), &mut sources);
        let info = |shape: &Shape| result_info(row, &fields, *shape, sources.len());
        let results: Vec<Reg> = row.dsts.iter().map(|shape| self.func.new_reg(info(shape))).collect();
        let inst = InstBuilder::new(opcode).fields(fields).srcs(sources);
        self.push(&results.iter().fold(inst, |inst, reg| inst.dst(*reg)));
        results.iter().for_each(|reg| self.offer(*reg));
        results.first().copied().filter(|reg| self.info(*reg) == RegInfo::words(1))
    }

    /// A branch around what shows that control came there, and maybe around another such branch.
    fn compared(&mut self, value: Reg, depth: u32) {
        let [inside, join] = self.blocks();
        self.branch_near(value, [inside, join]);
        self.visit(19 + depth);
        if depth < 2 && self.entropy.percent(35) {
            self.compared(value, depth + 1);
        }
        self.jump(join, join);
    }

    /// A comparison of one of two values where they differ, or where they do not.
    fn unlike(&mut self, [one, other]: [Reg; 2]) {
        let how = self.entropy.choose(&[Compare::Eq, Compare::Ne]);
        let differ = Self::typed(Opcode::SetP, Type::U32).field(how).src(one).src(other);
        let differ = self.hidden(differ, RegInfo::PRED);
        let [inside, join] = self.blocks();
        self.branch(differ.into(), [inside, join], inside);
        self.compared(one, 1);
        self.jump(join, join);
    }

    /// Goes to the first block or to the second, as a comparison of a value says; code continues in the first.
    pub(super) fn branch_near(&mut self, value: Reg, [inside, join]: [Block; 2]) {
        let ends = if self.entropy.percent(15) { &COUNTS[..] } else { &ENDS[..] };
        // Of half of a word nothing follows for all of it.
        let halves = self.entropy.percent(12);
        let end = self.entropy.choose(ends).wrapping_add(self.entropy.between(0, 2)).wrapping_sub(1);
        let end = if halves { end & 0xFFFF } else { end };
        let mut sides = [value.into(), Operand::imm(end)];
        if self.entropy.percent(20) {
            // An end that is as far away as a few bits of something say.
            let within = Self::typed(Opcode::And, Type::B32).src(value).src(Operand::imm(3));
            let within = self.hidden(within, RegInfo::words(1));
            let end = if self.entropy.percent(40) { 0 } else { end };
            let moved = Self::typed(Opcode::IAdd, Type::U32).src(within).src(Operand::imm(end));
            sides[1] = self.hidden(moved, RegInfo::words(1)).into();
        }
        if self.entropy.percent(25) {
            sides.swap(0, 1);
        }
        let types = if halves { [Type::U16, Type::S16] } else { [Type::U32, Type::S32] };
        let (ty, how) = (self.entropy.choose(&types), self.entropy.choose(&ORDERS));
        let combined = !self.variables.is_empty() && self.entropy.percent(25);
        let combined = combined && self.config.makes(Opcode::SetPBool);
        let opcode = if combined { Opcode::SetPBool } else { Opcode::SetP };
        let compare = Self::typed(opcode, ty).field(how).srcs(sides);
        let on = match combined {
            true => {
                let bool_op = self.entropy.choose(&[BoolOp::And, BoolOp::Or, BoolOp::Xor]);
                let both = [(); 2].map(|()| self.func.new_reg(RegInfo::PRED));
                let other = self.register(RegInfo::PRED);
                self.push(&compare.field(bool_op).src(other).dst(both[0]).dst(both[1]));
                self.entropy.choose(&both)
            }
            false => self.hidden(compare, RegInfo::PRED),
        };
        let targets = if self.entropy.percent(50) { [inside, join] } else { [join, inside] };
        self.branch(on.into(), targets, inside);
    }
}
