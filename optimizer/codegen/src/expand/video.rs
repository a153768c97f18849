//! Video operations: arithmetic on parts of words, of which the machine has none any longer.
//!
//! A scalar one takes a byte, a half or a word of each source and computes in 64 bits, where every result fits. It is
//! saturated, then combined with the third source or put into a part of it. Those on two halves or four bytes compute
//! lane by lane in 32 bits.

use std::fmt::Write as _;

use oriole_ir::ops::{
    Compare, FieldValue, Opcode, PlusOne, Saturate, Scale, SecondOp, SecondType, ShiftMode, SimdSelectors, SrcType,
    VideoPart, VideoSelectors,
};
use oriole_ir::{Function, Inst, InstData, Operand};

/// The text of a function that does an operation, and the operands that it takes.
pub(super) fn body(func: &Function, inst: Inst) -> Option<(String, Vec<Operand>)> {
    let data = func.inst(inst);
    if !data.is(oriole_ir::ops::Flags::VIDEO) {
        return None;
    }
    let srcs = func.srcs(inst);
    let selectors = func.imm_bits(*srcs.get(3)?)? as u32;
    // The names say how many lanes there are, where there are several.
    let lanes = data.opcode.row().name.chars().last().and_then(|last| last.to_digit(10)).unwrap_or(1);
    let mut text = Text { lines: String::from("device @f {\nbb0:\n"), next: 4 };
    let is_signed = data.opcode.row().slot(oriole_ir::ops::Field::Type).is_some() && data.ty().is_signed();
    let signs = Signs {
        result: is_signed,
        first: data.field() == Some(SrcType::S32),
        second: data.field() == Some(SecondType::S32),
    };
    match (data.opcode, lanes) {
        (Opcode::VMad, _) => text.mad(data, VideoSelectors::unpack(selectors), signs)?,
        (_, 1) => text.scalar(data, VideoSelectors::unpack(selectors), signs)?,
        _ => text.lanes(data, SimdSelectors::unpack(selectors), lanes, signs)?,
    }
    Some((text.lines + "  ret\n}\n", srcs[..3].to_vec()))
}

/// Which types are signed.
#[derive(Clone, Copy)]
struct Signs {
    result: bool,
    first: bool,
    second: bool,
}

/// A text that grows. Registers 0 to 2 are the sources, 3 is the result.
struct Text {
    lines: String,
    next: usize,
}

fn letter(is_signed: bool) -> char {
    if is_signed { 's' } else { 'u' }
}

impl Text {
    /// A line that computes a register of its own: `file` is its prefix.
    fn own(&mut self, file: &str, what: &str) -> String {
        let name = format!("%{file}{}", self.next);
        self.next += 1;
        let _ = writeln!(self.lines, "  {name} = {what}");
        name
    }

    /// A part of a word, extended to 64 bits.
    fn part(&mut self, word: &str, part: VideoPart, is_signed: bool) -> String {
        let letter = letter(is_signed);
        let taken = match part.bits() {
            (0, 32) => word.to_owned(),
            (low, width) => self.own("r", &format!("bfe.{letter}32 {word}, {low}, {width}")),
        };
        self.own("d", &format!("cvt.{letter}64.{letter}32 {taken}"))
    }

    /// A value of 64 bits within a type of so many bits.
    fn within(&mut self, value: &str, width: u32, is_signed: bool) -> String {
        let (least, most) = match is_signed {
            true => (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1),
            false => (0, (1i64 << width) - 1),
        };
        let above = self.own("d", &format!("imax.s64 {value}, {least:#x}", least = least as u64));
        self.own("d", &format!("imin.s64 {above}, {most}"))
    }

    /// The result of an operation on two values of so many bits.
    fn combined(&mut self, data: &InstData, a: &str, b: &str, bits: u32) -> Option<String> {
        let file = if bits == 64 { "d" } else { "r" };
        Some(match data.opcode {
            Opcode::VAdd | Opcode::VAdd2 | Opcode::VAdd4 => self.own(file, &format!("iadd.s{bits} {a}, {b}")),
            Opcode::VSub | Opcode::VSub2 | Opcode::VSub4 => self.own(file, &format!("isub.s{bits} {a}, {b}")),
            Opcode::VAbsDiff | Opcode::VAbsDiff2 | Opcode::VAbsDiff4 => {
                let difference = self.own(file, &format!("isub.s{bits} {a}, {b}"));
                self.own(file, &format!("iabs.s{bits} {difference}"))
            }
            Opcode::VMin | Opcode::VMin2 | Opcode::VMin4 => self.own(file, &format!("imin.s{bits} {a}, {b}")),
            Opcode::VMax | Opcode::VMax2 | Opcode::VMax4 => self.own(file, &format!("imax.s{bits} {a}, {b}")),
            Opcode::VAvrg2 | Opcode::VAvrg4 => {
                // Halves away from zero: a sum below zero has minus one added to the one of the others.
                let sum = self.own(file, &format!("iadd.s{bits} {a}, {b}"));
                let sign = self.own(file, &format!("shr.s{bits} {sum}, {}", bits - 1));
                let one = self.own(file, &format!("iadd.s{bits} {sum}, 1"));
                let even = self.own(file, &format!("iadd.s{bits} {one}, {sign}"));
                self.own(file, &format!("shr.s{bits} {even}, 1"))
            }
            Opcode::VShl | Opcode::VShr => {
                let count = self.own("r", &format!("cvt.u32.u64 {b}"));
                let count = match data.field::<ShiftMode>() {
                    Some(ShiftMode::Wrap) => self.own("r", &format!("and.b32 {count}, 31")),
                    _ => self.own("r", &format!("imin.u32 {count}, 32")),
                };
                if data.opcode == Opcode::VShr {
                    return Some(self.own(file, &format!("shr.s{bits} {a}, {count}")));
                }
                // Results have 34 bits, and these are the only ones that may have more.
                let shifted = self.own(file, &format!("shl.b{bits} {a}, {count}"));
                let up = self.own(file, &format!("shl.b{bits} {shifted}, 30"));
                self.own(file, &format!("shr.s{bits} {up}, 30"))
            }
            Opcode::VSet | Opcode::VSet2 | Opcode::VSet4 => {
                let compare = data.field::<Compare>()?.name();
                let holds = self.own("p", &format!("setp.{compare}.s{bits} {a}, {b}"));
                self.own(file, &format!("selp.b{bits} 1, 0, {holds}"))
            }
            _ => return None,
        })
    }

    fn scalar(&mut self, data: &InstData, select: VideoSelectors, signs: Signs) -> Option<()> {
        let a = self.part("%r0", select.a, signs.first);
        let b = self.part("%r1", select.b, signs.second);
        let mut value = self.combined(data, &a, &b, 64)?;
        if data.field() == Some(Saturate::Sat) {
            value = self.within(&value, select.dst.bits().1, signs.result);
        }
        let low = self.own("r", &format!("cvt.u32.u64 {value}"));
        let second = data.field().unwrap_or(SecondOp::None);
        match second {
            SecondOp::None => match select.dst.bits() {
                (0, 32) => _ = writeln!(self.lines, "  %r3 = mov.b32 {low}"),
                (at, width) => _ = writeln!(self.lines, "  %r3 = bfi.b32 {low}, %r2, {at}, {width}"),
            },
            SecondOp::Add => _ = writeln!(self.lines, "  %r3 = iadd.u32 {low}, %r2"),
            SecondOp::Min | SecondOp::Max => {
                let letter = letter(signs.result);
                let c = self.part("%r2", VideoPart::Word, signs.result);
                // An unsigned operation takes a value below zero for one above all words.
                let is_less = self.own("p", &format!("setp.lt.{letter}64 {value}, {c}"));
                let (less, other) = if second == SecondOp::Min { (&*low, "%r2") } else { ("%r2", &*low) };
                _ = writeln!(self.lines, "  %r3 = selp.b32 {less}, {other}, {is_less}");
            }
        }
        Some(())
    }

    /// `a * b + c`, the product or `c` negated, plus one, shifted right. The result is signed if a source is or
    /// anything is negated.
    fn mad(&mut self, data: &InstData, select: VideoSelectors, signs: Signs) -> Option<()> {
        let saturates = data.field() == Some(Saturate::Sat);
        let [negate_a, negate_b, negate_c] = select.negate;
        let has_one = data.field() == Some(PlusOne::Po);
        let negates_product = negate_a != negate_b;
        let is_signed = signs.first || signs.second || negates_product || negate_c;
        // A value that saturates has to be known whole, and 64 bits are too few for the negation of such a product.
        let is_wide = !signs.first && !signs.second && is_signed;
        let (a_bits, b_bits) = (select.a.bits().1, select.b.bits().1);
        if saturates && is_wide && a_bits + b_bits > 62 {
            return None;
        }
        let a = self.part("%r0", select.a, signs.first);
        let b = self.part("%r1", select.b, signs.second);
        // As PTX has it, a negation complements before it extends.
        let inverts = negate_c && !negates_product && !has_one;
        let c = if inverts { self.own("r", "not.b32 %r2") } else { "%r2".to_owned() };
        let c = self.part(&c, VideoPart::Word, is_signed);
        let mut value = self.own("d", &format!("imul.lo.u64 {a}, {b}"));
        if negates_product && !has_one {
            value = self.own("d", &format!("ineg.s64 {value}"));
        }
        value = self.own("d", &format!("iadd.u64 {value}, {c}"));
        if has_one || inverts {
            value = self.own("d", &format!("iadd.u64 {value}, 1"));
        }
        let letter = letter(is_signed);
        match data.field::<Scale>() {
            Some(Scale::Shr7) => value = self.own("d", &format!("shr.{letter}64 {value}, 7")),
            Some(Scale::Shr15) => value = self.own("d", &format!("shr.{letter}64 {value}, 15")),
            _ => {}
        }
        if saturates && is_signed {
            value = self.within(&value, 32, true);
        } else if saturates {
            value = self.own("d", &format!("imin.u64 {value}, 0xffffffff"));
        }
        _ = writeln!(self.lines, "  %r3 = cvt.u32.u64 {value}");
        Some(())
    }

    fn lanes(&mut self, data: &InstData, select: SimdSelectors, lanes: u32, signs: Signs) -> Option<()> {
        let width = 32 / lanes;
        let mut result = "%r2".to_owned();
        let saturates = data.field() == Some(Saturate::Sat);
        let adds = data.field() == Some(SecondOp::Add);
        for lane in (0..lanes).filter(|lane| select.mask >> lane & 1 == 1) {
            let mut picked = |from: u8, is_signed: bool| {
                let from = u32::from(from) % (2 * lanes);
                let source = if from < lanes { "%r0" } else { "%r1" };
                self.own("r", &format!("bfe.{}32 {source}, {}, {width}", letter(is_signed), from % lanes * width))
            };
            let a = picked(select.a[lane as usize], signs.first);
            let b = picked(select.b[lane as usize], signs.second);
            let mut value = self.combined(data, &a, &b, 32)?;
            if saturates {
                let (least, most) = match signs.result {
                    true => (1u32.wrapping_shl(width - 1).wrapping_neg(), (1 << (width - 1)) - 1),
                    false => (0, (1 << width) - 1),
                };
                let above = self.own("r", &format!("imax.s32 {value}, {least:#x}"));
                value = self.own("r", &format!("imin.s32 {above}, {most}"));
            }
            result = match adds {
                true => self.own("r", &format!("iadd.u32 {result}, {value}")),
                false => self.own("r", &format!("bfi.b32 {value}, {result}, {}, {width}", lane * width)),
            };
        }
        _ = writeln!(self.lines, "  %r3 = mov.b32 {result}");
        Some(())
    }
}
