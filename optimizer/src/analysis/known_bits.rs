//! Bits of a value that are the same in every execution.
//!
//! Looks a few definitions back from an operand of a function in SSA form, through unguarded instructions. Values
//! narrower than 32 bits live in a word that operations zero-extend to (`ops/table.rs`), and this is about the whole
//! register: the bits above 32 of a word are zero. Nothing is ever assumed of phis, loads wider than their type and
//! calls, so the answer holds wherever the register is defined.

use super::definitions::Definitions;
use crate::ir::{Function, Inst, InstData, Operand};
use crate::ops::{FieldValue, Opcode, Order, SrcType, Type};

/// How many definitions deep the analysis looks.
const DEPTH: u32 = 6;

/// Bits that are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownBits {
    /// Known to be zero.
    pub zeros: u64,
    /// Known to be one.
    pub ones: u64,
}

impl KnownBits {
    fn constant(bits: u64) -> KnownBits {
        KnownBits { zeros: !bits, ones: bits }
    }

    /// Nothing but that the value has at most so many bits.
    fn below(bits: u32) -> KnownBits {
        KnownBits { zeros: !low(bits), ones: 0 }
    }

    /// What is known of the low bits, with zeros above.
    fn cut(self, bits: u32) -> KnownBits {
        KnownBits { zeros: self.zeros | !low(bits), ones: self.ones & low(bits) }
    }

    fn both(self, other: KnownBits) -> KnownBits {
        KnownBits { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// How many of the lowest bits are zero.
    fn trailing_zeros(self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// How many bits the largest value has.
    fn width(self) -> u32 {
        64 - self.zeros.leading_ones()
    }
}

fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// What is known of an operand.
pub fn known_bits(func: &Function, definitions: &Definitions, operand: Operand) -> KnownBits {
    Known { func, definitions }.operand(operand, DEPTH)
}

struct Known<'a> {
    func: &'a Function,
    definitions: &'a Definitions,
}

impl Known<'_> {
    fn operand(&self, operand: Operand, depth: u32) -> KnownBits {
        let width = match operand {
            Operand::Imm(bits) => return KnownBits::constant(bits),
            Operand::Word(reg, word) => {
                let whole = self.operand(Operand::Reg(reg), depth);
                let shift = 32 * u32::from(word.min(1));
                let known = KnownBits { zeros: whole.zeros >> shift, ones: whole.ones >> shift };
                return if word < 2 { known.cut(32) } else { KnownBits::below(32) };
            }
            Operand::Reg(reg) => match self.func.regs[reg] {
                info if info.is_predicate() => 1,
                info => 32 * u32::from(info.words),
            },
            _ => return KnownBits::default(),
        };
        let definition = self.definitions.always(self.func, operand).filter(|_| depth > 0);
        let known = definition.map_or(KnownBits::default(), |inst| self.result(inst, depth - 1));
        if width >= 64 { known } else { known.cut(width) }
    }

    /// The only result of an instruction.
    fn result(&self, inst: Inst, depth: u32) -> KnownBits {
        let (data, srcs) = (&self.func.insts[inst], self.func.srcs(inst));
        let row = data.opcode.row();
        if row.dsts.len() != 1 || self.func.dsts(inst).len() != 1 {
            return KnownBits::default();
        }
        let ty = data.shape_type(row.dsts[0]);
        let bits = ty.map_or(64, Type::bits);
        let src = |index: usize, width: u32| match srcs.get(index) {
            Some(operand) => self.operand(*operand, depth).cut(width),
            None => KnownBits::default(),
        };
        match data.opcode {
            Opcode::Mov => src(0, bits),
            Opcode::Cvt => self.conversion(data, srcs, depth),
            Opcode::Ld => loaded(data),
            Opcode::Phi | Opcode::Ldu | Opcode::Pack | Opcode::CvtPackInt => KnownBits::default(),
            _ => operation(data, bits, &src).cut(bits),
        }
    }

    fn conversion(&self, data: &InstData, srcs: &[Operand], depth: u32) -> KnownBits {
        let (Some(from), to) = (data.field::<SrcType>().map(Type::from), data.ty()) else {
            return KnownBits::default();
        };
        let plain = data
            .opcode
            .row()
            .fields
            .iter()
            .zip(data.fields.0)
            .all(|(spec, value)| spec.default.is_none_or(|default| default == value));
        if from.is_float() || to.is_float() || !plain || (to.is_signed() && to.bits() < 32) {
            // Conversions to narrow signed types are sign-extended.
            let narrow = !to.is_signed() && !to.is_float();
            return if narrow { KnownBits::below(to.bits()) } else { KnownBits::default() };
        }
        let known = srcs.first().map_or(KnownBits::default(), |src| self.operand(*src, depth).cut(from.bits()));
        let sign = 1u64 << (from.bits() - 1);
        match from.is_signed() && known.zeros & sign == 0 {
            false => known.cut(to.bits()),
            true if to.bits() <= from.bits() => known.cut(to.bits()),
            true => KnownBits { zeros: known.zeros & low(from.bits()), ones: known.ones }.below_of(to.bits()),
        }
    }
}

impl KnownBits {
    /// The same, with zeros above a width.
    fn below_of(self, bits: u32) -> KnownBits {
        KnownBits { zeros: self.zeros | !low(bits), ones: self.ones }
    }
}

/// Loads of narrow unsigned types fill the register with zeros.
fn loaded(data: &InstData) -> KnownBits {
    let ty = data.ty();
    let zero_extended = matches!(ty, Type::U8 | Type::B8 | Type::U16 | Type::B16);
    let plain = data.field::<Order>().is_some();
    if zero_extended && plain { KnownBits::below(ty.bits()) } else { KnownBits::default() }
}

fn operation(data: &InstData, bits: u32, src: &dyn Fn(usize, u32) -> KnownBits) -> KnownBits {
    let ty = data.ty();
    let count = |index: usize| {
        let known = src(index, 32);
        (known.zeros == !known.ones).then_some(known.ones.min(64) as u32)
    };
    let simple = data.fields == with_type(data);
    match data.opcode {
        Opcode::And => {
            let (a, b) = (src(0, bits), src(1, bits));
            KnownBits { zeros: a.zeros | b.zeros, ones: a.ones & b.ones }
        }
        Opcode::Or => {
            let (a, b) = (src(0, bits), src(1, bits));
            KnownBits { zeros: a.zeros & b.zeros, ones: a.ones | b.ones }
        }
        Opcode::Xor => {
            let (a, b) = (src(0, bits), src(1, bits));
            KnownBits { zeros: a.zeros & b.zeros | a.ones & b.ones, ones: a.zeros & b.ones | a.ones & b.zeros }
        }
        Opcode::Not => {
            let a = src(0, bits);
            KnownBits { zeros: a.ones, ones: a.zeros & low(bits) }
        }
        Opcode::Shl => match count(1) {
            Some(n) if n >= bits => KnownBits::constant(0),
            Some(n) => KnownBits { zeros: src(0, bits).zeros << n | low(n), ones: src(0, bits).ones << n },
            None => trailing(src(0, bits).trailing_zeros()),
        },
        Opcode::Shr if !ty.is_signed() || src(0, bits).zeros >> (bits - 1) & 1 == 1 => match count(1) {
            Some(n) if n >= bits => KnownBits::constant(0),
            Some(n) => KnownBits { zeros: src(0, bits).zeros >> n | !(u64::MAX >> n), ones: src(0, bits).ones >> n },
            None => KnownBits::below(src(0, bits).width()),
        },
        Opcode::SelP => src(0, bits).both(src(1, bits)),
        Opcode::IAdd if simple && !matches!(ty, Type::U16x2 | Type::S16x2) => {
            let (a, b) = (src(0, bits), src(1, bits));
            let width = a.width().max(b.width()) + 1;
            KnownBits { zeros: !low(width.min(64)) | low(a.trailing_zeros().min(b.trailing_zeros())), ones: 0 }
        }
        Opcode::IMulLo | Opcode::IMulWide if !ty.is_signed() => {
            let (a, b) = (src(0, ty.bits()), src(1, ty.bits()));
            let zeros = a.trailing_zeros().saturating_add(b.trailing_zeros()).min(64);
            KnownBits { zeros: !low((a.width() + b.width()).min(64)) | low(zeros), ones: 0 }
        }
        Opcode::Popc | Opcode::Clz => KnownBits::below(7),
        Opcode::CNot => KnownBits::below(1),
        Opcode::Bfe if !ty.is_signed() => match count(2) {
            Some(n) => KnownBits::below(n & 0xff),
            None => KnownBits::default(),
        },
        _ => KnownBits::default(),
    }
}

fn trailing(zeros: u32) -> KnownBits {
    KnownBits { zeros: low(zeros), ones: 0 }
}

/// The fields of an operation that has none but its type.
fn with_type(data: &InstData) -> crate::ops::FieldValues {
    let row = data.opcode.row();
    let mut fields = row.default_fields();
    if let Some(slot) = row.slot(Type::FIELD) {
        fields.0[slot] = data.ty().index();
    }
    fields
}
