//! Video operations: arithmetic on parts of words, of which the machine has none any longer.
//!
//! A scalar one takes a byte, a half or a word of each source and computes in 64 bits, where every result fits, or in
//! 32 where that is enough. It is saturated, then combined with the third source or put into a part of it. Those on two
//! halves or four bytes compute lane by lane in 32 bits; sums, differences and averages of all lanes in their places
//! are made in one word, where carries from lane to lane are kept away ([`Text::packed`]). Bytes are taken out,
//! extended and put in by permutations. Differences of four bytes have an instruction on most SMs, so they are no
//! expansion.

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
    if is_selected(data, selectors) {
        return None;
    }
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

/// Whether a row of selection makes an operation: sums or bytes of differences of bytes in their places.
fn is_selected(data: &InstData, selectors: u32) -> bool {
    let is_unsigned = data.opcode == Opcode::VAbsDiff4 && !data.ty().is_signed();
    let is_alike = (data.field() == Some(SrcType::S32)) == (data.field() == Some(SecondType::S32));
    let is_plain = data.field() != Some(Saturate::Sat) && selectors == SimdSelectors::BYTES.pack();
    is_unsigned && is_alike && is_plain
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

    /// A part of a word, extended to so many bits.
    fn part(&mut self, word: &str, part: VideoPart, is_signed: bool, bits: u32) -> String {
        let letter = letter(is_signed);
        let taken = match part.bits() {
            (0, 32) => word.to_owned(),
            (low, width) => self.taken(word, "0", low / 8, width / 8, is_signed),
        };
        if bits == 32 { taken } else { self.own("d", &format!("cvt.{letter}64.{letter}32 {taken}")) }
    }

    /// Bytes from one on, of two words side by side, extended to a word.
    fn taken(&mut self, low: &str, high: &str, from: u32, count: u32, is_signed: bool) -> String {
        // The sign of a byte has 8 more than its number. A byte of the number zero is in the place of the other word.
        let last = from + count - 1;
        let (high, above) = match (is_signed, from + count <= 4, low) {
            (true, ..) => (high, last | 8),
            (false, true, _) => ("0", 4),
            (false, false, _) => return self.taken(high, "0", from - 4, count, false),
        };
        let byte = |at: u32| if at < count { from + at } else { above };
        let selector = (0..4).fold(0, |selector, at| selector | byte(at) << (4 * at));
        self.own("r", &format!("prmt.b32 {low}, {high}, {selector:#x}"))
    }

    /// A value of so many bits within a type of `width` bits, which is narrower.
    fn within(&mut self, value: &str, bits: u32, width: u32, is_signed: bool) -> String {
        let (least, most) = match is_signed {
            true => (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1),
            false => (0, (1i64 << width) - 1),
        };
        let (file, mask) = if bits == 64 { ("d", u64::MAX) } else { ("r", 0xffff_ffff) };
        let above = self.own(file, &format!("imax.s{bits} {value}, {:#x}", least as u64 & mask));
        self.own(file, &format!("imin.s{bits} {above}, {most}"))
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

    /// In how many bits a scalar operation is exact: in 32 of parts that leave room above them, or where no more than
    /// the lower 32 of a sum or difference are asked for.
    fn exact(data: &InstData, select: VideoSelectors, signs: Signs) -> u32 {
        let second = data.field().unwrap_or(SecondOp::None);
        let are_narrow = select.a.bits().1 < 32 && select.b.bits().1 < 32;
        let is_ordered = matches!(second, SecondOp::Min | SecondOp::Max);
        // Whether a value below zero is one above all words.
        let is_high = is_ordered && !signs.result;
        let saturates = data.field() == Some(Saturate::Sat);
        let fits = match data.opcode {
            Opcode::VShl | Opcode::VShr => false,
            Opcode::VSet | Opcode::VMin | Opcode::VMax if signs.first == signs.second && signs.first => {
                !is_high && !saturates
            }
            Opcode::VAdd | Opcode::VSub if !saturates && !is_ordered => true,
            _ => are_narrow && !is_high && (!saturates || select.dst.bits().1 < 32),
        };
        if fits { 32 } else { 64 }
    }

    fn scalar(&mut self, data: &InstData, select: VideoSelectors, signs: Signs) -> Option<()> {
        let bits = Text::exact(data, select, signs);
        let a = self.part("%r0", select.a, signs.first, bits);
        let b = self.part("%r1", select.b, signs.second, bits);
        let mut value = self.combined(data, &a, &b, bits)?;
        if data.field() == Some(Saturate::Sat) {
            value = self.within(&value, bits, select.dst.bits().1, signs.result);
        }
        let low = if bits == 64 { self.own("r", &format!("cvt.u32.u64 {value}")) } else { value.clone() };
        let second = data.field().unwrap_or(SecondOp::None);
        match second {
            SecondOp::None => match select.dst.bits() {
                (0, 32) => _ = writeln!(self.lines, "  %r3 = mov.b32 {low}"),
                (at, width) => {
                    let put = self.put(&low, "%r2", at / 8, width / 8);
                    _ = writeln!(self.lines, "  %r3 = mov.b32 {put}");
                }
            },
            SecondOp::Add => _ = writeln!(self.lines, "  %r3 = iadd.u32 {low}, %r2"),
            SecondOp::Min | SecondOp::Max => {
                let letter = letter(signs.result);
                let c = self.part("%r2", VideoPart::Word, signs.result, bits);
                // An unsigned operation takes a value below zero for one above all words.
                let is_less = self.own("p", &format!("setp.lt.{letter}{bits} {value}, {c}"));
                let (less, other) = if second == SecondOp::Min { (&*low, "%r2") } else { ("%r2", &*low) };
                _ = writeln!(self.lines, "  %r3 = selp.b32 {less}, {other}, {is_less}");
            }
        }
        Some(())
    }

    /// A word with the lowest bytes of another one at a place.
    fn put(&mut self, value: &str, into: &str, at: u32, count: u32) -> String {
        let byte = |place: u32| if (at..at + count).contains(&place) { 4 + place - at } else { place };
        let selector = (0..4).fold(0, |selector, place| selector | byte(place) << (4 * place));
        self.own("r", &format!("prmt.b32 {into}, {value}, {selector:#x}"))
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
        let a = self.part("%r0", select.a, signs.first, 64);
        let b = self.part("%r1", select.b, signs.second, 64);
        // As PTX has it, a negation complements before it extends.
        let inverts = negate_c && !negates_product && !has_one;
        let c = if inverts { self.own("r", "not.b32 %r2") } else { "%r2".to_owned() };
        let c = self.part(&c, VideoPart::Word, is_signed, 64);
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
            value = self.within(&value, 64, 32, true);
        } else if saturates {
            value = self.own("d", &format!("imin.u64 {value}, 0xffffffff"));
        }
        _ = writeln!(self.lines, "  %r3 = cvt.u32.u64 {value}");
        Some(())
    }

    fn lanes(&mut self, data: &InstData, select: SimdSelectors, lanes: u32, signs: Signs) -> Option<()> {
        let width = 32 / lanes;
        let saturates = data.field() == Some(Saturate::Sat);
        let adds = data.field() == Some(SecondOp::Add);
        let usual = if lanes == 2 { SimdSelectors::HALVES } else { SimdSelectors::BYTES };
        if select.pack() == usual.pack() && !saturates && !adds && self.packed(data, width, signs).is_some() {
            return Some(());
        }
        let mut values = Vec::new();
        for lane in (0..lanes).filter(|lane| select.mask >> lane & 1 == 1) {
            let mut picked = |from: u8, is_signed: bool| {
                self.taken("%r0", "%r1", u32::from(from) % (2 * lanes) * width / 8, width / 8, is_signed)
            };
            let a = picked(select.a[lane as usize], signs.first);
            let b = picked(select.b[lane as usize], signs.second);
            let mut value = self.combined(data, &a, &b, 32)?;
            if saturates {
                value = self.within(&value, 32, width, signs.result);
            }
            values.push((lane, value));
        }
        let result = match (adds, &values[..]) {
            (true, _) => values
                .iter()
                .fold("%r2".to_owned(), |sum, (_, value)| self.own("r", &format!("iadd.u32 {sum}, {value}"))),
            (false, [(_, low), (_, high)]) if lanes == 2 => self.own("r", &format!("prmt.b32 {low}, {high}, 0x5410")),
            (false, [(_, first), (_, second), (_, third), (_, fourth)]) => {
                let low = self.own("r", &format!("prmt.b32 {first}, {second}, 0x40"));
                let high = self.own("r", &format!("prmt.b32 {third}, {fourth}, 0x40"));
                self.own("r", &format!("prmt.b32 {low}, {high}, 0x5410"))
            }
            _ => values
                .iter()
                .fold("%r2".to_owned(), |into, (lane, value)| self.put(value, &into, lane * width / 8, width / 8)),
        };
        _ = writeln!(self.lines, "  %r3 = mov.b32 {result}");
        Some(())
    }

    /// All lanes in their places at once, in words whose lanes have room for carries: of a sum the highest bits of
    /// lanes are left out and added without a carry; of a difference they are set, so that nothing is borrowed from the
    /// lane above; the average of two numbers without signs that is rounded up is `(a | b) - ((a ^ b) >> 1)`.
    fn packed(&mut self, data: &InstData, width: u32, signs: Signs) -> Option<()> {
        let high: u32 = if width == 16 { 0x8000_8000 } else { 0x8080_8080 };
        let (rest, without_lowest) = (!high, !(high >> (width - 1)));
        match data.opcode {
            Opcode::VAdd2 | Opcode::VAdd4 => {
                let a = self.own("r", &format!("and.b32 %r0, {rest:#x}"));
                let b = self.own("r", &format!("and.b32 %r1, {rest:#x}"));
                let sum = self.own("r", &format!("iadd.u32 {a}, {b}"));
                let differs = self.own("r", "xor.b32 %r0, %r1");
                let highest = self.own("r", &format!("and.b32 {differs}, {high:#x}"));
                _ = writeln!(self.lines, "  %r3 = xor.b32 {sum}, {highest}");
            }
            Opcode::VSub2 | Opcode::VSub4 => {
                let a = self.own("r", &format!("or.b32 %r0, {high:#x}"));
                let b = self.own("r", &format!("and.b32 %r1, {rest:#x}"));
                let difference = self.own("r", &format!("isub.u32 {a}, {b}"));
                let differs = self.own("r", "xor.b32 %r0, %r1");
                let same = self.own("r", &format!("not.b32 {differs}"));
                let highest = self.own("r", &format!("and.b32 {same}, {high:#x}"));
                _ = writeln!(self.lines, "  %r3 = xor.b32 {difference}, {highest}");
            }
            Opcode::VAvrg2 | Opcode::VAvrg4 if !signs.first && !signs.second => {
                let either = self.own("r", "or.b32 %r0, %r1");
                let differs = self.own("r", "xor.b32 %r0, %r1");
                let kept = self.own("r", &format!("and.b32 {differs}, {without_lowest:#x}"));
                let half = self.own("r", &format!("shr.u32 {kept}, 1"));
                _ = writeln!(self.lines, "  %r3 = isub.u32 {either}, {half}");
            }
            _ => return None,
        }
        Some(())
    }
}
