//! Numbers of 64 bits, which are two registers side by side: their sums come as `IADD3` and `IADD3.X`, linked by the
//! carry.
//!
//! [`offset`]: an address that is a sum with a constant is the other addend, with a larger offset. Hardware adds the
//! offset to all 64 bits, so nothing depends on the carry.
//!
//! [`product`]: the upper half of a sum whose one addend is a product of 64 bits becomes `IMAD.WIDE` with the other
//! addend, where the lower half is still in the register below. It writes that one once more.

use oriole_ir::ops::Flags;
use oriole_ir::{Inst, Operand, PhysicalReg, RegFile};
use oriole_sass::row::What;
use smallvec::SmallVec;

use super::build::{Builder, Candidate};
use super::matcher::marks;
use super::values::{Made, Origin, Several, Source, Value, Values};

/// Accesses whose address is a pair of registers and an offset behind it.
const ACCESSES: [&str; 8] = ["LDG", "STG", "LD", "ST", "ATOMG", "ATOM", "REDG", "RED"];

/// A sum of 64 bits: the addends of both halves.
struct Sum {
    low: [Value; 2],
    high: [Value; 2],
}

/// The two addends of a sum of three that are not zero.
fn addends(values: &Values, sources: &[Source]) -> Option<[Value; 2]> {
    let mut found: SmallVec<[Value; 3]> = SmallVec::new();
    for source in sources.get(..3)? {
        let [value] = source.values[..] else { return None };
        if !marks(source.operand).is_none() {
            return None;
        }
        if values.origin(value) != Origin::Bits(0) {
            found.push(value);
        }
    }
    // For a half that is zero, any source that is zero will do.
    let zero = || sources[..3].iter().map(|source| source.values[0]).find(|v| values.origin(*v) == Origin::Bits(0));
    match found[..] {
        [one, other] => Some([one, other]),
        [one] => Some([one, zero()?]),
        [] => Some([zero()?, zero()?]),
        _ => None,
    }
}

/// Whether a source is no carry: `~PT`.
fn is_never(values: &Values, source: &Source) -> bool {
    marks(source.operand) == oriole_ir::Modifiers::INVERT
        && matches!(source.values[..], [value] if values.origin(value) == Origin::True)
}

/// The instruction that made a value, and which unit of its results it is, if the instruction has this mnemonic.
fn maker_of(values: &Values, value: Value, mnemonic: &str) -> Option<(Made, u8)> {
    let Origin::Made(made, unit) = values.origin(value) else { return None };
    let name = oriole_ir::machine::table()?.mnemonic(values.maker(made).id)?;
    (name == mnemonic).then_some((made, unit))
}

/// The sum whose upper half has these sources, and the value of the lower half.
fn sum(values: &Values, upper: &[Source]) -> Option<(Sum, Made)> {
    let [.., carry, never] = upper else { return None };
    let [carried] = carry.values[..] else { return None };
    if !marks(carry.operand).is_none() || !is_never(values, never) {
        return None;
    }
    let (made, unit) = maker_of(values, carried, "IADD3")?;
    let lower = values.maker(made);
    let [.., one, other] = &lower.sources[..] else { return None };
    // The first result is the sum, the second the carry.
    let is_carry = lower.results.get(1).is_some_and(|(first, _)| *first == unit);
    if !is_carry || !is_never(values, one) || !is_never(values, other) {
        return None;
    }
    let (low, high) = (addends(values, &lower.sources)?, addends(values, upper)?);
    Some((Sum { low, high }, made))
}

/// An access with a larger offset from the other addend of its address.
pub(super) fn offset(
    builder: &mut Builder<'_>,
    values: &Values,
    inst: Inst,
    old: &Candidate,
    sources: &[Several],
) -> Option<Candidate> {
    let data = builder.func.inst(inst);
    let name = data.machine_row()?.name;
    let is_access = ACCESSES.contains(&name) && (data.is(Flags::READS) || data.is(Flags::WRITES));
    if !is_access || !builder.is_serial || builder.func.mnemonic(inst)?.split('.').any(|word| word == "256") {
        return None;
    }
    let is_pair = |operand: &Operand| {
        let info = builder.func.operand_info(*operand);
        matches!(operand, Operand::Reg(_)) && info.is_some_and(|info| (info.file, info.words) == (RegFile::R, 2))
    };
    let at = old.srcs.iter().position(is_pair)?;
    // As many bits as the word has, the uppermost of them the sign.
    let bits = |builder: &Builder<'_>, candidate: &Candidate| {
        let encoding = builder.encoding(inst, candidate)?;
        encoding.parts.iter().find(|part| part.what == What::Offset).map(|part| u32::from(part.at.len + part.above.len))
    };
    let len = bits(builder, old).filter(|len| (1..=32).contains(len))?;
    let offsets = -(1i64 << (len - 1))..1i64 << (len - 1);
    let extended = |bits: u64| (bits << (u64::BITS - len)) as i64 >> (u64::BITS - len);
    let before = extended(builder.func.imm_bits(*old.srcs.get(at + 1)?)?);
    let [low, high] = sources[at][..] else { return None };
    let Origin::Made(upper, 0) = values.origin(high) else { return None };
    maker_of(values, high, "IADD3.X")?;
    let (sum, lower) = sum(values, &values.maker(upper).sources)?;
    if values.origin(low) != Origin::Made(lower, 0) {
        return None;
    }
    let found = [(0, 1), (1, 0)].into_iter().find_map(|(constant, other)| {
        let low = values.bits(&[sum.low[constant]])?;
        let upper = [(0, 1), (1, 0)].into_iter().find_map(|(constant, other)| {
            let high = values.bits(&[sum.high[constant]])?;
            let whole = (high << 32 | low) as i64;
            let offset = before.checked_add(whole).filter(|offset| offsets.contains(offset))?;
            Some((sum.high[other], offset))
        })?;
        Some((sum.low[other], upper))
    });
    let (low, (high, offset)) = found?;
    let wanted: Several = [low, high].into_iter().collect();
    let base = values.holder(builder.func, RegFile::R, &wanted)?;
    let mut candidate = old.clone();
    candidate.srcs[at] = Operand::Reg(base);
    candidate.srcs[at + 1] = builder.func.imm(offset as u64 & (u64::MAX >> (u64::BITS - len)));
    let is_alike = bits(builder, &candidate) == Some(len) && builder.fits(inst, &candidate);
    is_alike.then_some(candidate)
}

/// A product of 64 bits with an addend in the place of the upper half of their sum.
pub(super) fn product(
    builder: &mut Builder<'_>,
    values: &mut Values,
    inst: Inst,
    old: &Candidate,
    sources: &[Several],
) -> Option<Candidate> {
    let func = &*builder.func;
    if !builder.is_serial || func.inst(inst).guard.is_some() || func.mnemonic(inst)? != "IADD3.X" {
        return None;
    }
    let [Operand::Reg(dst), Operand::Wired { .. }, Operand::Wired { .. }] = old.dsts[..] else { return None };
    let upper: Vec<Source> = sources
        .iter()
        .zip(&old.srcs)
        .map(|(values, operand)| Source { values: values.clone(), operand: *operand })
        .collect();
    let (sum, lower) = sum(values, &upper)?;
    let own = PhysicalReg::of(dst).filter(|reg| reg.number % 2 == 1)?;
    let pair = PhysicalReg { number: own.number - 1, words: 2, ..own };
    let below = PhysicalReg { words: 1, ..pair };
    let held = values.of_reg(func, below.reg()?);
    if !matches!(held[..], [value] if values.origin(value) == Origin::Made(lower, 0)) {
        return None;
    }
    let halves = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let (made, addend) = halves.into_iter().find_map(|(low, high)| {
        let (made, 0) = whole(values, sum.low[low])? else { return None };
        let (other, 1) = whole(values, sum.high[high])? else { return None };
        (made == other).then_some((made, [sum.low[1 - low], sum.high[1 - high]]))
    })?;
    let maker = values.maker(made).clone();
    let [x, y, nothing, never] = &maker.sources[..] else { return None };
    let is_zero = |value: &Value| values.origin(*value) == Origin::Bits(0);
    if nothing.values.len() != 2 || !nothing.values.iter().all(is_zero) || !is_never(values, never) {
        return None;
    }
    let wanted: Several = addend.into_iter().collect();
    let bank = match addend.map(|value| values.origin(value)) {
        [Origin::Bank(bank, offset), Origin::Bank(other, above)]
            if bank == other && above == offset + 4 && offset % 8 == 0 && builder.table.has_banks() =>
        {
            Some(Operand::constant(bank, offset))
        }
        _ => None,
    };
    let addend = match bank {
        Some(bank) => bank,
        None => Operand::Reg(values.holder(builder.func, RegFile::R, &wanted)?),
    };
    let factor = |source: &Source| {
        let operand = builder.held(values, &source.values, source.operand)?;
        operand.with_modifiers(marks(source.operand))
    };
    let (x, y) = (factor(x)?, factor(y)?);
    let candidate = Candidate {
        id: maker.id,
        dsts: [Operand::Reg(pair.reg()?), Operand::wired(RegFile::P, 1)].into_iter().collect(),
        srcs: [x, y, addend, never.operand].into_iter().collect(),
    };
    builder.fits(inst, &candidate).then_some(candidate)
}

/// The product of 64 bits that a value is a half of, without what is added to it, and which half.
fn whole(values: &Values, value: Value) -> Option<(Made, u8)> {
    maker_of(values, value, "IMAD.WIDE").or_else(|| maker_of(values, value, "IMAD.WIDE.U32"))
}
