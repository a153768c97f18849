//! Bits of a value that are the same in every execution.
//!
//! Looks a few definitions back from an operand of a function in SSA form, through unguarded instructions. Values
//! narrower than 32 bits live in a word that operations zero-extend to (`ops/virtual_level`), and this is about the
//! whole register: the bits above 32 of a word are zero. Nothing is ever assumed of phis, loads wider than their type
//! and calls, so the answer holds wherever the register is defined.

use super::definitions::Definitions;
use oriole_ir::ops::{FieldValue, Opcode, Order, SrcType, Type};
use oriole_ir::{Function, Inst, InstData, Operand};

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
    pub(crate) fn constant(bits: u64) -> KnownBits {
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
            Operand::Imm(imm) => return KnownBits::constant(self.func.bits(imm)),
            Operand::Word(reg, word) => {
                let whole = self.operand(Operand::Reg(reg), depth);
                let shift = 32 * u32::from(word.min(1));
                let known = KnownBits { zeros: whole.zeros >> shift, ones: whole.ones >> shift };
                return if word < 2 { known.cut(32) } else { KnownBits::below(32) };
            }
            Operand::Reg(reg) => match self.func.regs()[reg] {
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
        let (data, srcs) = (self.func.inst(inst), self.func.srcs(inst));
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
fn with_type(data: &InstData) -> oriole_ir::ops::FieldValues {
    let row = data.opcode.row();
    let mut fields = row.default_fields();
    if let Some(slot) = row.slot(Type::FIELD) {
        fields.0[slot] = data.ty().index();
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fold;
    use oriole_ir::ops::{Flags, OpRow, ROWS};
    use oriole_ir::{FunctionKind, InstHead, parse_function};

    /// Operations of `%r2` and `%r3`, of which some bits are known, or of `%d4` and `%d5`.
    const OPERATIONS: &[&str] = &[
        "%r9 = and.b32 %r2, %r3",
        "%r9 = or.b32 %r2, %r3",
        "%r9 = xor.b32 %r2, %r3",
        "%r9 = not.b32 %r2",
        "%r9 = not.b16 %r2",
        "%r9 = shl.b32 %r2, 5",
        "%r9 = shl.b16 %r2, 5",
        "%r9 = shl.b32 %r2, %r3",
        "%r9 = shr.u32 %r2, 7",
        "%r9 = shr.s32 %r2, 7",
        "%r9 = shr.u16 %r2, 3",
        "%r9 = shr.u32 %r2, %r3",
        "%r9 = selp.b32 %r2, 12, 1",
        "%r9 = iadd.u32 %r2, 16",
        "%r9 = iadd.s16 %r2, 16",
        "%r9 = imul.lo.u32 %r2, %r3",
        "%d9 = imul.wide.u32 %r2, %r3",
        "%r9 = imul.wide.u16 %r2, %r3",
        "%r9 = popc.b32 %r2",
        "%r9 = clz.b32 %r2",
        "%r9 = cnot.b32 %r2",
        "%r9 = bfe.u32 %r2, 3, 9",
        "%d9 = cvt.u64.u32 %r2",
        "%d9 = cvt.s64.s32 %r2",
        "%d9 = cvt.u64.s32 %r2",
        "%r9 = cvt.u16.s32 %r2",
        "%r9 = cvt.s16.s32 %r2",
        "%r9 = cvt.u32.s16 %r2",
        "%r9 = cvt.u8.u32 %r2",
        "%d9 = and.b64 %d4, %d5",
        "%d9 = iadd.u64 %d4, 16",
        "%d9 = shl.b64 %d4, 40",
        "%d9 = shr.u64 %d4, 40",
        "%r9 = cvt.u32.u64 %d4",
    ];

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state ^ *state >> 29
    }

    /// What is known holds for the values that the operation folds to, and something is known at times.
    #[test]
    fn known_bits_hold_for_what_operations_yield() {
        let mut state = 1;
        for text in OPERATIONS {
            let mut informed = false;
            for _ in 0..200 {
                let (keep, set) =
                    (random(&mut state) & random(&mut state), random(&mut state) & random(&mut state) >> 40);
                let (keep32, set32) = (keep as u32 >> (keep >> 60), set as u32);
                let body = format!(
                    "  %r2 = and.b32 %r0, {keep32}\n  %r3 = or.b32 %r1, {set32}\n  %d4 = and.b64 %d6, {keep}\n  \
                     %d5 = or.b64 %d7, {set}\n  {text}"
                );
                let func =
                    parse_function(&format!("target sm_90 ptx 9.0\ndevice @f ssa {{\nbb0:\n{body}\n  ret\n}}\n"));
                let func = func.expect("the operation is valid");
                let inst = func.inst_at(func.entry(), 4);
                let known = known_bits(&func, &Definitions::new(&func), func.dsts(inst)[0]);
                informed |= known.zeros & low(if text.starts_with("%d") { 64 } else { 32 }) != 0 || known.ones != 0;
                let (a, b) = (random(&mut state), random(&mut state));
                let wide = [a & keep, b | set];
                let narrow = [u64::from(a as u32 & keep32), u64::from(b as u32 | set32)];
                let values = func.srcs(inst).iter().map(|src| match src {
                    Operand::Reg(reg) => match reg.as_u32() {
                        index @ 2..=3 => narrow[index as usize - 2],
                        index => wide[index as usize - 4],
                    },
                    operand => func.imm_bits(*operand).unwrap_or(0),
                });
                let values: Vec<u64> = values.collect();
                let data = func.inst(inst);
                let value = fold(data.opcode, &data.fields, &values).expect("the operation folds").results[0];
                assert_eq!(value & known.zeros, 0, "{text} of {values:x?} is {value:#x}, not {known:x?}");
                assert_eq!(value & known.ones, known.ones, "{text} of {values:x?} is {value:#x}, not {known:x?}");
            }
            let tells = !matches!(*text, "%r9 = cvt.s16.s32 %r2" | "%r9 = shr.s32 %r2, 7");
            assert!(informed || !tells, "nothing is ever known of {text}");
        }
    }

    #[test]
    fn guarded_definitions_and_phis_tell_nothing() {
        let text = "target sm_90 ptx 9.0\ndevice @f ssa {\nbb0:\n  @%p1 %r2 = mov.b32 1 else %r3\n  bra bb1\nbb1:\n  \
                    %r4 = phi [bb0: 1], [bb1: %r4]\n  cbra %p1, bb1, bb2\nbb2:\n  ret\n}\n";
        let func = parse_function(text).expect("the function is valid");
        let definitions = Definitions::new(&func);
        for block in &func.layout()[..2] {
            let dst = func.dsts(func.inst_at(*block, 0))[0];
            assert_eq!(known_bits(&func, &definitions, dst), KnownBits::below(32));
        }
    }

    /// Operations on registers, apart from video, of which nothing is known but that their results are zero-extended. A
    /// new row must have an arm in [`operation`], or be named here.
    const SILENT: &str = "\
        phi pack isub imul.hi imad.lo imad.hi imad.wide imul24.lo imul24.hi imad24.lo imad24.hi isad idiv irem iabs \
        ineg imin imax bfind fns brev bfi szext bmsk dp4a dp2a fadd fsub fmul ffma fdiv fabs fneg fmin fmax frcp fsqrt \
        frsqrt fsin fcos flg2 fex2 ftanh testp copysign setp set set.bool slct lop3 shf prmt cvt.x2 cvt.narrow \
        cvt.pack isspacep cvta s2r";

    /// Whether something is known of the results of a row on constants at times. It must hold for what the operation
    /// folds to.
    fn tells(row: &'static OpRow) -> bool {
        let mut tells = false;
        let mut state = 7;
        for round in 0..400 {
            let mut fields = row.default_fields();
            for (slot, spec) in row.fields.iter().enumerate() {
                let pick = random(&mut state) as usize % spec.legal.count_ones() as usize;
                fields.0[slot] = spec.values().nth(pick).unwrap_or_default();
            }
            if row.broken_rule(&fields).is_some() {
                continue;
            }
            let constants: Vec<u64> = row.srcs.iter().map(|_| random(&mut state) >> (round % 60)).collect();
            let data = InstHead { opcode: row.opcode, fields, guard: None, line: 0 };
            let mut func = Function::new("f", FunctionKind::Device);
            let inst = func.new_inst(data, &[], &[], &[]);
            let ty = row.shape_type(&fields, row.dsts[0]);
            let bits = ty.map_or(64, Type::bits);
            let src = |index: usize, width: u32| KnownBits::constant(constants[index]).cut(width);
            let known = operation(func.inst(inst), bits, &src);
            tells |= known != KnownBits::default();
            if let Some(folded) = fold(row.opcode, &fields, &constants) {
                let (known, value) = (known.cut(bits), folded.results[0]);
                assert!(value & known.zeros == 0 && value & known.ones == known.ones, "{} {constants:x?}", row.name);
            }
        }
        tells
    }

    #[test]
    fn every_operation_on_registers_is_known_or_known_not_to_be() {
        let pure = ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && row.dsts.len() == 1);
        let elsewhere = |row: &&OpRow| matches!(row.opcode, Opcode::Mov | Opcode::Cvt) || row.flags.has(Flags::VIDEO);
        let silent: Vec<&str> = pure.filter(|row| !elsewhere(row) && !tells(row)).map(|row| row.name).collect();
        assert_eq!(silent, SILENT.split_whitespace().collect::<Vec<_>>());
    }
}
