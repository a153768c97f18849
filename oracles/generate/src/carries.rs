//! Carries that the flag of PTX does not bring: of a guarded addition, which leaves what was there before, a comparison
//! or an older carry that the flag has lost; and narrow conversions that saturate, of values with known bits.
//!
//! Left to chance, a guarded addition writes a predicate that nothing adds, and what is converted has any bits.

use oriole_ir::ops::{Opcode, Saturate, SrcType, Type};
use oriole_ir::{InstBuilder, Operand, RegInfo};

use super::builder::{Builder, fixed};

impl Builder<'_, '_> {
    /// A guarded addition or subtraction whose old carry comes from elsewhere, and what takes its carry in.
    pub(super) fn carries(&mut self) {
        if ![Opcode::IAddCarry, Opcode::ISubCarry].into_iter().all(|opcode| self.config.makes(opcode)) {
            return;
        }
        let (ty, reg, info) = match self.entropy.percent(70) {
            true => (self.entropy.choose(&["u32", "s32"]), "%r", RegInfo::words(1)),
            false => (self.entropy.choose(&["u64", "s64"]), "%d", RegInfo::words(2)),
        };
        let [a, b, c, d] = [(); 4].map(|()| self.register(info));
        let old = self.register(info);
        let guard = self.register(RegInfo::PRED);
        let subtracts = self.entropy.percent(25);
        let (one, idle) = if subtracts { ("isub", 1) } else { ("iadd", 0) };
        // What reads the carry of a subtraction as that of an addition sees its complement.
        let two = if subtracts != self.entropy.percent(15) { "isub" } else { "iadd" };
        let negated = self.bang(40);
        let before = match self.entropy.below(4) {
            0 => "  %p11 = mov.pred %p5\n".to_owned(),
            1 => format!("  %p11 = setp.lt.{ty} {reg}2, {reg}3\n"),
            2 => format!("  {reg}12, %p11 = {one}.carry.{ty} {reg}0, {reg}3, {idle}\n"),
            // The flag has another carry since.
            _ => format!(
                "  {reg}12, %p11 = {one}.carry.{ty} {reg}0, {reg}3, {idle}\n  \
                 {reg}13, %p14 = {one}.carry.{ty} {reg}12, {reg}1, {idle}\n"
            ),
        };
        let between = match self.entropy.below(4) {
            0 => format!("  {reg}16, %p17 = iadd.carry.{ty} {reg}2, {reg}2, 0\n"),
            _ => String::new(),
        };
        let text = format!(
            "{before}  {reg}15 = mov.b{bits} {reg}4
  @{negated}%p5 {reg}15, %p11 = {one}.carry.{ty} {reg}0, {reg}1, {idle}
{between}  {reg}6, %p7 = {two}.carry.{ty} {reg}2, {reg}15, %p11",
            bits = if reg == "%r" { 32 } else { 64 },
        );
        let results = [self.destination(info, false), self.destination(RegInfo::PRED, false)];
        self.template(&text, &[a, b, c, d, old, guard, results[0], results[1]]);
    }

    /// A guarded addition or subtraction that takes a carry in, and mostly one behind it that takes its carry.
    pub(super) fn guarded_carries(&mut self) {
        if ![Opcode::IAddCarry, Opcode::ISubCarry].into_iter().all(|opcode| self.config.makes(opcode)) {
            return;
        }
        let (ty, reg, info) = match self.entropy.percent(70) {
            true => ("u32", "%r", RegInfo::words(1)),
            false => ("u64", "%d", RegInfo::words(2)),
        };
        let [a, b, c, d] = [(); 4].map(|()| self.register(info));
        let old = self.register(info);
        let guard = self.register(RegInfo::PRED);
        let (one, idle) = if self.entropy.percent(25) { ("isub", 1) } else { ("iadd", 0) };
        let negated = self.bang(40);
        // The carry that stays where the guard does not hold.
        let kept = self.entropy.choose(&["%p11", "%p5", "0"]);
        let behind = match self.entropy.percent(60) {
            true => format!("{reg}6, %p7 = {one}.carry.{ty} {reg}2, {reg}3, %p13"),
            false => format!("{reg}6, %p7 = {one}.carry.{ty} {reg}2, {reg}12, {idle}"),
        };
        let text = format!(
            "  {reg}10, %p11 = {one}.carry.{ty} {reg}0, {reg}1, {idle}
  {reg}12 = mov.b{bits} {reg}4
  %p13 = mov.pred {kept}
  @{negated}%p5 {reg}12, %p13 = {one}.carry.{ty} {reg}2, {reg}3, %p11
  {behind}",
            bits = if reg == "%r" { 32 } else { 64 },
        );
        let results = [self.destination(info, false), self.destination(RegInfo::PRED, false)];
        self.template(&text, &[a, b, c, d, old, guard, results[0], results[1]]);
        if self.entropy.percent(50) {
            self.fold(results[1]);
        }
    }

    /// A conversion to less than a word that saturates, of a value whose lowest bits are known, and some bits of the
    /// result.
    pub(super) fn saturated(&mut self) {
        let to = self.entropy.choose(&[Type::S8, Type::U8, Type::S16, Type::U16]);
        let from = self.entropy.choose(&[SrcType::S32, SrcType::U32, SrcType::S16, SrcType::U16, SrcType::S64]);
        let fields = self.fields(Opcode::Cvt, &[fixed(to), fixed(from), fixed(Saturate::Sat)]);
        let Some(fields) = fields.filter(|_| self.config.makes(Opcode::Cvt)) else { return };
        let wide = from == SrcType::S64;
        let info = if wide { RegInfo::words(2) } else { RegInfo::words(1) };
        let bits = if wide { 64 } else { 32 };
        let reg = if wide { "%d" } else { "%r" };
        let value = self.register(info);
        let known = self.func.new_reg(info);
        let low = self.entropy.between(1, 4);
        let ones = (1u64 << low) - 1;
        // Few bits more than the result has, so that some values fit and others do not.
        let some = ones | 0x1FF << self.entropy.between(0, 8);
        let known_by = match self.entropy.below(5) {
            0 => format!("shl.b{bits} {reg}0, {low}"),
            1 => format!("or.b{bits} {reg}0, {ones}"),
            2 => format!("and.b{bits} {reg}0, {}", some & !ones),
            3 => format!("imul.lo.u{bits} {reg}0, {}", 1 << low),
            _ => format!("and.b{bits} {reg}0, {some}"),
        };
        self.template(&format!("  {reg}1 = {known_by}"), &[value, known]);
        let cut = InstBuilder::new(Opcode::Cvt).fields(fields).src(known);
        let cut = self.hidden(cut, RegInfo::words(1));
        let mask = self.entropy.choose(&[1, 3, 7, 15, ones as u32, 0x80]);
        let masked = Self::typed(Opcode::And, Type::B32).src(cut).src(Operand::imm(mask));
        let result = self.destination(RegInfo::words(1), false);
        self.push(&masked.dst(result));
        if self.entropy.percent(30) {
            self.offer(cut);
        }
    }
}
