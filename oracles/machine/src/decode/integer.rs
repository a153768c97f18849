//! Integer arithmetic and logic.

use oriole_ir::InstBuilder;
use oriole_ir::ops::{Half, Opcode, PrmtMode, SecondType, Type};
use oriole_sass::row::{self, File, What};
use oriole_semantics::scalar::ScalarOp;

use super::{aligned, lane_wise, word};
use crate::lanes::{map, map2, map3};
use crate::operands::{Operands, Sign, Unknown};
use crate::program::*;

const COMPARES: &[(&str, Compare)] = &[
    ("F", Compare::False),
    ("LT", Compare::Lt),
    ("EQ", Compare::Eq),
    ("LE", Compare::Le),
    ("GT", Compare::Gt),
    ("NE", Compare::Ne),
    ("GE", Compare::Ge),
    ("T", Compare::True),
];

const COMBINES: &[(&str, Combine)] = &[("AND", Combine::And), ("OR", Combine::Or), ("XOR", Combine::Xor)];

/// How the results of a comparison are combined.
pub fn combine(ops: &Operands<'_>) -> Result<Combine, Unknown> {
    ops.one_of(COMBINES).ok_or_else(|| "no combination".to_owned())
}

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    if let Some(kind) = wide(base, ops) {
        return Some(kind);
    }
    Some(match base {
        "IADD3" | "UIADD3" => add3(ops),
        "IADD" | "VIADD" | "UVIADD" | "UIADD" => add(ops),
        "IMAD" | "UIMAD" => mad(ops),
        "LEA" | "ULEA" => lea(ops),
        "ISETP" | "UISETP" => compare(ops),
        "LOP3" | "ULOP3" => lop3(ops),
        "SHF" | "USHF" => shf(ops),
        "PRMT" | "UPRMT" => prmt(ops),
        "MOV" | "UMOV" => copy(ops),
        "SEL" | "USEL" => select(ops, Sign::Integer),
        "FSEL" | "UFSEL" => select(ops, Sign::Float),
        "IABS" | "UIABS" => one(ops, |a| map(a, |a| (a as i32).unsigned_abs())),
        "BREV" | "UBREV" => one(ops, |a| map(a, u32::reverse_bits)),
        "POPC" | "UPOPC" => one(ops, |a| map(a, u32::count_ones)),
        "FLO" | "UFLO" => flo(ops),
        "SGXT" | "USGXT" => sgxt(ops),
        "BMSK" | "UBMSK" => bmsk(ops),
        "VIMNMX" => chosen(ops).and_then(|chosen| extreme(ops, chosen)),
        "IMNMX" | "UVIMNMX" | "UIMNMX" => extreme(ops, None),
        "VIADDMNMX" => add_extreme(ops),
        "VIMNMX3" | "UVIMNMX3" => extreme3(ops),
        "IDP" => dot(ops),
        "VABSDIFF" => difference(ops),
        "VABSDIFF4" => differences(ops),
        _ => return None,
    })
}

/// Operations on two words, from `sm_120` on and of the uniform datapath.
fn wide(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    let signed = ops.has("S64");
    if !signed && !ops.has("U64") && !ops.has("64") {
        return None;
    }
    let (op, count) = match base {
        "MOV" | "UMOV" => (Wide::Move, 1),
        "IADD" | "UIADD" => (Wide::Add, 2),
        "UIADD3" => (Wide::Add, 3),
        "SEL" | "USEL" => (Wide::Select, 2),
        "IMNMX" | "UIMNMX" => (Wide::Extreme(signed), 2),
        "ISETP" | "UISETP" => {
            let compare = ops.one_of(COMPARES)?;
            (Wide::Compare(compare, signed, combine(ops).ok()?), 2)
        }
        _ => return None,
    };
    Some(pairs(ops, op, count))
}

/// Operands: a result unless it is a comparison, and so many integers of two words.
fn pairs(ops: &mut Operands<'_>, op: Wide, count: usize) -> Result<Kind, Unknown> {
    let compares = matches!(op, Wide::Compare(..));
    let (dst, from) = if compares { (SINK, 0) } else { (aligned(ops.dst(0)?, 2)?, 1) };
    let mut srcs = [(Src::default(), Src::default()); 3];
    srcs.iter_mut().for_each(|(low, high)| (low.row, high.row) = (ZERO, ZERO));
    let mut marks = [Mark::Plain; 3];
    for at in 0..count {
        let (low, high) = ops.pair(from + at, Sign::Integer)?;
        marks[at] = high.mark;
        srcs[at] = (Src { mark: Mark::Plain, ..low }, Src { mark: Mark::Plain, ..high });
    }
    let with = match op {
        Wide::Move => [None; 2],
        Wide::Add if ops.has("X") => [Some(ops.pred_in(87)?), ops.pred_in(77).ok()],
        Wide::Add => [None; 2],
        Wide::Compare(..) if ops.has("EX") => return Err("a comparison of four words".to_owned()),
        _ => [Some(ops.pred_in(87)?), None],
    };
    let preds = match op {
        Wide::Add | Wide::Compare(..) => [ops.pred_out(81), ops.pred_out(84)],
        _ => [NOWHERE; 2],
    };
    Ok(Kind::Wide { op, dst, preds, srcs, marks, with })
}

/// Operands: result, word, and a mask that is not written where it is whole.
fn copy(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let word = ops.inst.word;
    if ops.part(2).is_ok_and(|mask| mask.is_shown(word)) {
        return Err("a mask of what is moved".to_owned());
    }
    Ok(Kind::One(|a| *a, ops.dst(0)?, ops.src(1, Sign::Integer)?))
}

fn one(ops: &mut Operands<'_>, f: Fn1) -> Result<Kind, Unknown> {
    Ok(Kind::One(f, ops.dst(0)?, ops.src(1, Sign::Integer)?))
}

fn three(ops: &mut Operands<'_>, from: usize, f: Fn3, dst: u16) -> Result<Kind, Unknown> {
    let srcs = [ops.src(from, Sign::Integer)?, ops.src(from + 1, Sign::Integer)?, ops.src(from + 2, Sign::Integer)?];
    Ok(Kind::Three(f, dst, srcs))
}

/// Operands: result, two carries, three words, two carries that are read with `.X`.
fn add3(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    if ops.has("64") {
        return Err("sums of two words".to_owned());
    }
    let carries = [ops.pred_out(81), ops.pred_out(84)];
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    let more = if ops.has("X") { [Some(ops.pred_in(87)?), Some(ops.pred_in(77)?)] } else { [None; 2] };
    let plain = srcs.iter().all(|src| src.mark == Mark::Plain || src.mark == Mark::Negate);
    if carries == [NOWHERE; 2] && more == [None; 2] && plain {
        let add = |a: &_, b: &_, c: &_| map3(a, b, c, |a, b, c| a.wrapping_add(b).wrapping_add(c));
        return Ok(Kind::Three(add, dst, srcs));
    }
    Ok(Kind::Add3 { dst, carries, srcs, more })
}

/// `VIADD` and the like: two words, or two pairs of halves; `IADD` may have carries.
fn add(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let carry = ops.pred_out(81);
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?];
    if let Some(packed) = packed_sum(ops, srcs) {
        return Ok(Kind::Two(packed, dst, srcs.map(|src| Src { mark: Mark::Plain, ..src })));
    }
    if carry != NOWHERE || ops.has("X") {
        let more = if ops.has("X") { [Some(ops.pred_in(87)?), None] } else { [None; 2] };
        let zero = Src { row: ZERO, mark: Mark::Plain };
        return Ok(Kind::Add3 { dst, carries: [carry, NOWHERE], srcs: [srcs[0], srcs[1], zero], more });
    }
    match (ops.has("ISAT"), ops.has("S32")) {
        // The sum of the least integer, negated, saturates as well.
        (true, true) => {
            let [a, b] = srcs.map(|src| src.mark == Mark::Negate);
            let plain = srcs.map(|src| Src { mark: Mark::Plain, ..src });
            fn sum(a: u32, b: u32, signs: [i64; 2]) -> u32 {
                let sum = signs[0] * i64::from(a as i32) + signs[1] * i64::from(b as i32);
                sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
            }
            let f: Fn2 = match (a, b) {
                (false, false) => |a, b| map2(a, b, |a, b| sum(a, b, [1, 1])),
                (false, true) => |a, b| map2(a, b, |a, b| sum(a, b, [1, -1])),
                (true, false) => |a, b| map2(a, b, |a, b| sum(a, b, [-1, 1])),
                (true, true) => |a, b| map2(a, b, |a, b| sum(a, b, [-1, -1])),
            };
            Ok(Kind::Two(f, dst, plain))
        }
        (false, _) => Ok(Kind::Two(|a, b| map2(a, b, u32::wrapping_add), dst, srcs)),
        _ => Err("saturation of another type".to_owned()),
    }
}

/// The sum of packed halves or bytes, each with the sign of its operand; `None` for whole words.
fn packed_sum(ops: &Operands<'_>, srcs: [Src; 2]) -> Option<Fn2> {
    fn negated_sum(a: u16, b: u16) -> u16 {
        a.wrapping_add(b).wrapping_neg()
    }
    let minus = srcs.map(|src| src.mark == Mark::Negate);
    Some(match (ops.has("16x2"), ops.has("U8x4") || ops.has("S8x4"), minus) {
        (true, _, [false, false]) => |a, b| map2(a, b, |a, b| halves(a, b, u16::wrapping_add)),
        (true, _, [false, true]) => |a, b| map2(a, b, |a, b| halves(a, b, u16::wrapping_sub)),
        (true, _, [true, false]) => |a, b| map2(b, a, |b, a| halves(b, a, u16::wrapping_sub)),
        (true, _, [true, true]) => |a, b| map2(a, b, |a, b| halves(a, b, negated_sum)),
        (_, true, [false, false]) => |a, b| map2(a, b, |a, b| bytewise(a, b, u8::wrapping_add)),
        (_, true, [false, true]) => |a, b| map2(a, b, |a, b| bytewise(a, b, u8::wrapping_sub)),
        (_, true, [true, false]) => |a, b| map2(b, a, |b, a| bytewise(b, a, u8::wrapping_sub)),
        (_, true, [true, true]) => |a, b| map2(a, b, |a, b| bytewise(a, b, |a, b| a.wrapping_add(b).wrapping_neg())),
        _ => return None,
    })
}

fn bytewise(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(std::array::from_fn(|at| f(a[at], b[at])))
}

fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16 | u32::from(f(a as u16, b as u16))
}

/// Operands: result, carry, two factors, addend, the carry that `.X` reads.
fn mad(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let part = match () {
        () if ops.has("WIDE") => Part::Wide,
        () if ops.has("HI") => Part::High,
        () => Part::Low,
    };
    let dst = ops.dst(0)?;
    let carry = if part == Part::Low { NOWHERE } else { ops.pred_out(81) };
    let signed = !ops.has("U32");
    let (a, b) = (ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?);
    let more = if ops.has("X") { Some(ops.pred_in(87)?) } else { None };
    if part == Part::Low {
        let c = ops.src(3, Sign::Integer)?;
        if carry == NOWHERE && more.is_none() {
            let mad = |a: &_, b: &_, c: &_| map3(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
            return Ok(Kind::Three(mad, dst, [a, b, c]));
        }
        return Ok(Kind::Mad(Product {
            dst,
            carry,
            srcs: [a, b, c, Src::default()],
            part,
            signed,
            more,
            subtracts: false,
        }));
    }
    if part == Part::Wide {
        aligned(dst, 2)?;
    }
    let (low, high) = ops.pair(3, Sign::Integer)?;
    let subtracts = high.mark == Mark::Negate;
    if subtracts && carry != NOWHERE {
        return Err("the carry of a difference".to_owned());
    }
    let mark = if subtracts { Mark::Plain } else { high.mark };
    let (low, high) = (Src { mark, ..low }, Src { mark, ..high });
    Ok(Kind::Mad(Product { dst, carry, srcs: [a, b, low, high], part, signed, more, subtracts }))
}

/// Operands: result, carry, the shifted word, the addend, the upper word, the distance, the carry that `.X` reads.
fn lea(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    let more = if ops.has("X") { Some(ops.pred_in(87)?) } else { None };
    let (high, extends) = (ops.has("HI"), ops.has("SX32"));
    let (dst, carry, shift) = (ops.dst(0)?, ops.pred_out(81), ops.value(4)? as u8);
    // What is shifted is subtracted then. Beside a carry it would matter what that says of a difference.
    let alone = carry == NOWHERE && more.is_none();
    if srcs[0].mark != Mark::Plain && !(srcs[0].mark == Mark::Negate && alone) {
        return Err("a shifted word with a sign, and a carry".to_owned());
    }
    Ok(Kind::Lea { dst, carry, srcs, shift, high, extends, more })
}

/// Operands: two predicates, two words, the predicate that is combined, and with `.EX` what the lower words said.
fn compare(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    if ops.has("U64") || ops.has("S64") {
        return Err("a comparison of two words".to_owned());
    }
    let dsts = [ops.pred_out(81), ops.pred_out(84)];
    let srcs = [ops.src(0, Sign::Integer)?, ops.src(1, Sign::Integer)?];
    let compare = ops.one_of(COMPARES).ok_or("no comparison")?;
    let lower = if ops.has("EX") { Some(ops.pred_in(68)?) } else { None };
    let combine = (combine(ops)?, ops.pred_in(87)?);
    Ok(Kind::Compare { dsts, srcs, compare, signed: !ops.has("U32"), combine, lower })
}

/// Operands: predicate, result, three words, table, the predicate that is combined.
fn lop3(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let pred = ops.pred_out(81);
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    let table = ops.value(4)? as u8;
    let all = ops.has("PAND");
    // It decides the predicate alone, so without one it does not matter.
    let with = ops.pred_in(87);
    let test = if pred == NOWHERE { None } else { Some((pred, with?, all)) };
    Ok(Kind::Lop3 { dst: ops.dst(0)?, srcs, table, test })
}

/// Shifts of the pair of the third and the first word. Operands: result, lower word, distance, upper word.
fn shf(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let wide = ops.has("U64") || ops.has("S64");
    let signed = ops.has("S32") || ops.has("S64");
    let (left, high, wrap) = (ops.has("L"), ops.has("HI"), ops.has("W"));
    if !left && !ops.has("R") || !wide && !signed && !ops.has("U32") {
        return Err("a direction or a type".to_owned());
    }
    macro_rules! shift {
        ($($wide:literal $signed:literal $left:literal $high:literal $wrap:literal),*) => {
            match (wide, signed, left, high, wrap) {
                $(($wide, $signed, $left, $high, $wrap) => |a, s, c| map3(a, s, c, |a, s, c| {
                    funnel::<$wide, $signed, $left, $high, $wrap>(a, s, c)
                }),)*
            }
        };
    }
    let f: Fn3 = shift!(
        false false false false false, false false false false true, false false false true false,
        false false false true true, false false true false false, false false true false true,
        false false true true false, false false true true true, false true false false false,
        false true false false true, false true false true false, false true false true true,
        false true true false false, false true true false true, false true true true false,
        false true true true true, true false false false false, true false false false true,
        true false false true false, true false false true true, true false true false false,
        true false true false true, true false true true false, true false true true true,
        true true false false false, true true false false true, true true false true false,
        true true false true true, true true true false false, true true true false true,
        true true true true false, true true true true true
    );
    let dst = ops.dst(0)?;
    three(ops, 1, f, dst)
}

/// The pair shifted by a distance that is clamped to the width of the type, or taken modulo it; of left shifts of the
/// lower word nothing enters from the upper one.
#[inline(always)]
fn funnel<const WIDE: bool, const SIGNED: bool, const LEFT: bool, const HIGH: bool, const WRAP: bool>(
    low: u32,
    distance: u32,
    high: u32,
) -> u32 {
    let width = if WIDE { 64 } else { 32 };
    let distance = if WRAP { distance & (width - 1) } else { distance.min(width) };
    let pair = u64::from(high) << 32 | u64::from(low);
    let shifted = match (LEFT, SIGNED) {
        (true, _) => pair.checked_shl(distance).unwrap_or(0),
        (false, true) => ((pair as i64) >> distance.min(63)) as u64,
        (false, false) => pair.checked_shr(distance).unwrap_or(0),
    };
    (if HIGH { shifted >> 32 } else { shifted }) as u32
}

/// Operands: result, first word, selector, second word.
fn prmt(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const MODES: &[(&str, PrmtMode)] = &[
        ("F4E", PrmtMode::F4e),
        ("B4E", PrmtMode::B4e),
        ("RC8", PrmtMode::Rc8),
        ("ECL", PrmtMode::Ecl),
        ("ECR", PrmtMode::Ecr),
        ("RC16", PrmtMode::Rc16),
    ];
    let dst = ops.dst(0)?;
    let Some(mode) = ops.one_of(MODES) else {
        return three(ops, 1, |a, s, b| map3(a, s, b, permute), dst);
    };
    let (a, selector, b) = (word(ops, 1)?, word(ops, 2)?, word(ops, 3)?);
    lane_wise(&InstBuilder::new(Opcode::Prmt).field(mode), (dst, 1), &[a, b, selector])
}

/// Four bytes of two words, or their signs, by the nibbles of a selector.
#[inline(always)]
fn permute(a: u32, selector: u32, b: u32) -> u32 {
    let pair = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |result, i| {
        let nibble = selector >> (4 * i) & 0xf;
        let byte = (pair >> (8 * (nibble & 7)) & 0xff) as u32;
        let byte = if nibble & 8 != 0 { (byte >> 7) * 0xff } else { byte };
        result | byte << (8 * i)
    })
}

/// Operands: result, two words, the predicate.
fn select(ops: &mut Operands<'_>, sign: Sign) -> Result<Kind, Unknown> {
    Ok(Kind::Select(ops.dst(0)?, [ops.src(1, sign)?, ops.src(2, sign)?], ops.pred_in(87)?))
}

/// The place of the highest bit that differs from the sign, or its distance from the top. Operands: result, a predicate
/// that says whether there is one, the word.
fn flo(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    if ops.pred_out(81) != NOWHERE {
        return Err("whether there is a bit".to_owned());
    }
    let f: Fn1 = match (ops.has("U32"), ops.has("SH")) {
        (true, false) => |a| map(a, |a| 31u32.wrapping_sub(a.leading_zeros())),
        (true, true) => |a| map(a, |a| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        (false, false) => |a| map(a, |a| 31u32.wrapping_sub((a ^ (a as i32 >> 31) as u32).leading_zeros())),
        (false, true) => |a| {
            map(a, |a| match (a ^ (a as i32 >> 31) as u32).leading_zeros() {
                32 => u32::MAX,
                zeros => zeros,
            })
        },
    };
    Ok(Kind::One(f, ops.dst(0)?, ops.src(1, Sign::Integer)?))
}

/// The low bits of a word, extended. Operands: result, word, how many bits.
fn sgxt(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    fn extend(word: u32, bits: u32, wrap: bool, signed: bool) -> u32 {
        let bits = if wrap { bits & 31 } else { bits.min(32) };
        match (bits, signed) {
            (0, _) => 0,
            (_, true) => ((word << (32 - bits)) as i32 >> (32 - bits)) as u32,
            (_, false) => word << (32 - bits) >> (32 - bits),
        }
    }
    let f: Fn2 = match (ops.has("W"), ops.has("U32")) {
        (false, false) => |a, b| map2(a, b, |a, b| extend(a, b, false, true)),
        (false, true) => |a, b| map2(a, b, |a, b| extend(a, b, false, false)),
        (true, false) => |a, b| map2(a, b, |a, b| extend(a, b, true, true)),
        (true, true) => |a, b| map2(a, b, |a, b| extend(a, b, true, false)),
    };
    Ok(Kind::Two(f, ops.dst(0)?, [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?]))
}

/// So many ones from a place on. Operands: result, place, count.
fn bmsk(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    fn mask(place: u32, count: u32, wrap: bool) -> u32 {
        let (place, count) = if wrap { (place & 31, count & 31) } else { (place.min(32), count.min(32)) };
        ((1u64 << count).wrapping_sub(1) << place) as u32
    }
    let f: Fn2 = if ops.has("W") {
        |a, b| map2(a, b, |a, b| mask(a, b, true))
    } else {
        |a, b| map2(a, b, |a, b| mask(a, b, false))
    };
    Ok(Kind::Two(f, ops.dst(0)?, [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?]))
}

/// A function of two words of a type.
type Pick = fn(u32, u32, bool) -> u32;

/// The smaller or larger of two values of a type; as a function of the words and whether the smaller one is wanted.
fn picks(ops: &Operands<'_>) -> Result<Pick, Unknown> {
    fn by_halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
        halves(a, b, f)
    }
    let relu = ops.has("RELU");
    // What is written on some SMs alone, and meant where nothing is.
    ops.has("S32");
    if relu && ["U8x4", "U16x2", "U32"].iter().any(|unsigned| ops.has(unsigned)) {
        return Err("integers without a sign that are zero at least".to_owned());
    }
    Ok(match () {
        () if ops.has("U8x4") => |a, b, min| bytewise(a, b, |a, b| if min { a.min(b) } else { a.max(b) }),
        () if ops.has("S8x4") && relu => |a, b, min| {
            bytewise(a, b, |a, b| {
                let (a, b) = (a as i8, b as i8);
                (if min { a.min(b) } else { a.max(b) }).max(0) as u8
            })
        },
        () if ops.has("S8x4") => |a, b, min| {
            bytewise(a, b, |a, b| {
                let (a, b) = (a as i8, b as i8);
                (if min { a.min(b) } else { a.max(b) }) as u8
            })
        },
        () if ops.has("U16x2") => |a, b, min| by_halves(a, b, |a, b| if min { a.min(b) } else { a.max(b) }),
        () if ops.has("S16x2") && relu => |a, b, min| {
            by_halves(a, b, |a, b| {
                let (a, b) = (a as i16, b as i16);
                (if min { a.min(b) } else { a.max(b) }).max(0) as u16
            })
        },
        () if ops.has("S16x2") => |a, b, min| {
            by_halves(a, b, |a, b| {
                let (a, b) = (a as i16, b as i16);
                (if min { a.min(b) } else { a.max(b) }) as u16
            })
        },
        () if ops.has("U32") => |a, b, min| if min { a.min(b) } else { a.max(b) },
        () if relu => |a, b, min| {
            let (a, b) = (a as i32, b as i32);
            (if min { a.min(b) } else { a.max(b) }).max(0) as u32
        },
        () => |a, b, min| {
            let (a, b) = (a as i32, b as i32);
            (if min { a.min(b) } else { a.max(b) }) as u32
        },
    })
}

/// Operands: result, two words, the predicate.
fn extreme(ops: &mut Operands<'_>, chosen: Option<Chosen>) -> Result<Kind, Unknown> {
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, Src::default()];
    let pick = picks(ops)?;
    Ok(Kind::Pick { dst: ops.dst(0)?, srcs, pick, min: [ops.pred_in(87)?; 2], add: None, chosen })
}

/// The predicates at the bits 81 and 84: whether the first word was chosen, or its lower half, and the same of the
/// upper half. Of equal ones the first is.
fn chosen(ops: &Operands<'_>) -> Result<Option<Chosen>, Unknown> {
    fn of(order: std::cmp::Ordering, min: bool) -> bool {
        if min { order.is_le() } else { order.is_ge() }
    }
    let preds = [ops.pred_out(81), ops.pred_out(84)];
    if preds == [NOWHERE; 2] {
        return Ok(None);
    }
    let word = ops.inst.word;
    let hides = |part: &row::Part| part.what == What::Register(File::P) && part.at.low == 84 && !part.is_shown(word);
    if ops.inst.encoding.parts.iter().any(hides) {
        return Err("a predicate that is not written".to_owned());
    }
    let is_chosen: fn(u32, u32, bool) -> [bool; 2] = match () {
        () if ops.has("RELU") || ops.has("U8x4") || ops.has("S8x4") => {
            return Err("which word was chosen, of bytes or below zero".to_owned());
        }
        () if ops.has("U16x2") => {
            |a, b, min| [of((a as u16).cmp(&(b as u16)), min), of((a >> 16).cmp(&(b >> 16)), min)]
        }
        () if ops.has("S16x2") => |a, b, min| {
            let half = |a: u32, b: u32| of((a as i16).cmp(&(b as i16)), min);
            [half(a, b), half(a >> 16, b >> 16)]
        },
        () if ops.has("U32") => |a, b, min| [of(a.cmp(&b), min); 2],
        () => |a, b, min| [of((a as i32).cmp(&(b as i32)), min); 2],
    };
    Ok(Some(Chosen { preds, is_chosen }))
}

fn add_extreme(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let mut srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    let pick = picks(ops)?;
    let is_packed = ["U16x2", "S16x2", "U8x4", "S8x4"].iter().any(|packed| ops.has(packed));
    let add: Fn2 = match srcs.map(|src| src.mark) {
        _ if !is_packed => |a, b| map2(a, b, u32::wrapping_add),
        [Mark::Plain, Mark::Plain, Mark::Plain] if ops.has("U16x2") || ops.has("S16x2") => {
            |a, b| map2(a, b, |a, b| halves(a, b, u16::wrapping_add))
        }
        // Each half is negated by itself.
        [Mark::Plain, Mark::Negate, Mark::Plain] if ops.has("U16x2") || ops.has("S16x2") => {
            srcs[1].mark = Mark::Plain;
            |a, b| map2(a, b, |a, b| halves(a, b, u16::wrapping_sub))
        }
        _ => return Err("a sum of bytes, or of packed integers with such signs".to_owned()),
    };
    Ok(Kind::Pick { dst: ops.dst(0)?, srcs, pick, min: [ops.pred_in(87)?; 2], add: Some(add), chosen: None })
}

/// The first predicate decides between the first two, the second between that and the third.
fn extreme3(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    let last = ops.pred_in(87)?;
    let min = [ops.pred_in(77).unwrap_or(last), last];
    let pick = picks(ops)?;
    Ok(Kind::Pick3 { dst: ops.dst(0)?, srcs, pick, min })
}

/// Operands: result, two words, addend.
fn dot(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let full = ops.take_modifiers();
    let types: Vec<&str> = full.iter().copied().filter(|name| name.starts_with(['U', 'S'])).collect();
    let [first, second] = types[..] else { return Err("types of a dot product".to_owned()) };
    let four = full.contains(&"4A");
    let builder = InstBuilder::new(if four { Opcode::Dp4a } else { Opcode::Dp2a });
    let builder = builder.field(if first.starts_with('S') { Type::S32 } else { Type::U32 });
    let builder = builder.field(if second.starts_with('S') { SecondType::S32 } else { SecondType::U32 });
    let builder = if four { builder } else { builder.field(if full.contains(&"HI") { Half::Hi } else { Half::Lo }) };
    let dst = ops.dst(0)?;
    lane_wise(&builder, (dst, 1), &[word(ops, 1)?, word(ops, 2)?, word(ops, 3)?])
}

/// The distance of two words, and a sum. Operands: result, two words, addend.
fn difference(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let f: Fn3 = if ops.has("U32") {
        |a, b, c| map3(a, b, c, |a, b, c| a.abs_diff(b).wrapping_add(c))
    } else {
        |a, b, c| map3(a, b, c, |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c))
    };
    let dst = ops.dst(0)?;
    three(ops, 1, f, dst)
}

/// The distances of bytes: each by itself, or their sum with `.ACC`.
fn differences(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    fn bytes(a: u32, b: u32, unsigned: bool) -> [u32; 4] {
        std::array::from_fn(|i| {
            let (a, b) = ((a >> (8 * i)) as u8, (b >> (8 * i)) as u8);
            u32::from(if unsigned { a.abs_diff(b) } else { (a as i8).abs_diff(b as i8) })
        })
    }
    fn sum(a: u32, b: u32, c: u32, unsigned: bool) -> u32 {
        bytes(a, b, unsigned).iter().sum::<u32>().wrapping_add(c)
    }
    fn each(a: u32, b: u32, unsigned: bool) -> u32 {
        bytes(a, b, unsigned).iter().rev().fold(0, |word, byte| word << 8 | byte)
    }
    let f: Fn3 = match (ops.has("ACC"), ops.has("U8")) {
        (true, true) => |a, b, c| map3(a, b, c, |a, b, c| sum(a, b, c, true)),
        (true, false) => |a, b, c| map3(a, b, c, |a, b, c| sum(a, b, c, false)),
        (false, true) => |a, b, c| map3(a, b, c, |a, b, _| each(a, b, true)),
        (false, false) => |a, b, c| map3(a, b, c, |a, b, _| each(a, b, false)),
    };
    let dst = ops.dst(0)?;
    three(ops, 1, f, dst)
}

/// The meaning of an operation of PTX with its fields.
pub fn meaning(builder: &InstBuilder) -> Result<ScalarOp, Unknown> {
    let head = builder.head();
    ScalarOp::resolve(head.opcode, &head.fields)
        .ok_or_else(|| format!("{} has no meaning by lane", head.opcode.row().name))
}
