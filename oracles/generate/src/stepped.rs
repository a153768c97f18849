//! Loops that step what is no counter and looks like one: the result of a shift in the entry block, and products of a
//! counter of 64 bits under guards, which keep what they were elsewhere.
//!
//! Left to chance, what a loop steps begins as a constant, and a product of its counter is made in every round.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::loops::Trips;

impl Builder<'_, '_> {
    /// A loop that steps the result of a shift in the entry block.
    pub(super) fn stepped(&mut self) {
        let Some(shifted) = self.shifted_at_entry() else { return };
        let Trips { limit, most, uniform } = self.trips();
        let limit = self.copy_of(limit, Type::B32);
        let step = match self.entropy.percent(60) {
            true => Operand::imm(self.entropy.between(1, 9)),
            false => self.value(Type::B32),
        };
        let step = self.copy_of(step, Type::B32);
        let [variable, factor] = [(); 2].map(|()| self.variable_word());
        let how = self.entropy.choose(&["iadd", "iadd", "isub"]);
        let used = self.entropy.choose(&[
            "  %r3 = imad.lo.u32 %r3, 5, %r0\n",
            "  %r7 = imul.lo.u32 %r0, %r4\n  %r3 = iadd.u32 %r3, %r7\n",
            "  %r7 = imad.lo.u32 %r0, 12, %r4\n  %r3 = xor.b32 %r3, %r7\n",
            "",
        ]);
        let steps = match self.entropy.percent(50) {
            true => format!("  %r0 = {how}.u32 %r0, %r2\n"),
            false => {
                // A step that is known, maybe by what other rounds do not add.
                let by = self.entropy.between(1, 9);
                format!("  %r0 = {how}.u32 %r0, {by}\n")
            }
        };
        let text = format!(
            "  %r5 = mov.b32 0
  bra bb1
bb1:
{used}  pmevent 0
{steps}  %r5 = iadd.u32 %r5, 1
  %p6 = setp.lt.u32 %r5, %r1
  cbra %p6, bb1, bb2
bb2:"
        );
        self.template_around(&text, &[shifted, limit, step, variable, factor], &mut |builder| {
            if builder.entropy.percent(20) {
                builder.within(uniform, most, Self::stretch);
            }
        });
        self.fold(shifted);
    }

    /// A new register with a shift, at the end of the entry block, of what is defined in front of the body.
    fn shifted_at_entry(&mut self) -> Option<Reg> {
        let of = self.lane?;
        let of = match self.uniforms.first().copied() {
            Some((uniform, _)) if self.entropy.percent(50) => uniform,
            _ => of,
        };
        let entry = self.func.entry();
        let to = self.func.new_reg(RegInfo::words(1));
        let (opcode, ty) = self.entropy.choose(&[
            (Opcode::Shl, Type::B32),
            (Opcode::Shl, Type::B32),
            (Opcode::Shr, Type::U32),
            (Opcode::Shr, Type::S32),
        ]);
        let by = self.entropy.choose(&[1, 2, 3, 4, 16, 31]);
        let shift = InstBuilder::new(opcode).field(ty).src(of).src(Operand::imm(by)).dst(to);
        match self.func.terminator(entry).filter(|_| self.block != entry) {
            Some(end) => _ = shift.insert_before(&mut self.func, end),
            None => self.push(&shift),
        }
        Some(to)
    }

    /// A loop with a product of its counter under a guard: where this does not hold, it is what it was.
    pub(super) fn guarded_products(&mut self) {
        let rounds = self.few_rounds();
        let wide = self.entropy.percent(75);
        let (ty, bits) = if wide { (Type::U64, Type::B64) } else { (Type::U32, Type::B32) };
        let [factor, old] = [(); 2].map(|()| {
            let value = self.value(ty);
            self.copy_of(value, bits)
        });
        let sum = if wide { self.sums[1] } else { self.sums[0] };
        let on = self.condition(false);
        let on = self.copy_of(on, Type::Pred);
        let (reg, size) = if wide { ("%d", 64) } else { ("%r", 32) };
        let (start, step) = (self.entropy.between(0, 2), self.entropy.choose(&[1, 1, 2, 3]));
        let negated = self.bang(40);
        let product = match self.entropy.percent(60) {
            true => format!("imul.lo.u{size} {reg}5, {reg}0"),
            false => format!("imad.lo.u{size} {reg}5, {reg}0, {reg}2"),
        };
        // The guard is the same in each round, or another one.
        let (made, guard) = match self.entropy.below(3) {
            0 => (String::new(), "%p3"),
            1 => (format!("  %p10 = setp.gt.u{size} {reg}5, {}\n", start + step - 1), "%p10"),
            _ => (format!("  %p9 = setp.eq.u{size} {reg}5, {start}\n  %p10 = xor.pred %p9, %p3\n"), "%p10"),
        };
        let renews = if self.entropy.percent(50) { format!("  {reg}1 = mov.b{size} 77\n") } else { String::new() };
        let limit = start + rounds * step;
        let text = format!(
            "  {reg}5 = mov.b{size} {start}
  bra bb1
bb1:
{made}{renews}  @{negated}{guard} {reg}1 = {product}
  {reg}2 = imad.lo.u{size} {reg}2, 5, {reg}1
  {reg}5 = iadd.u{size} {reg}5, {step}
  %p8 = setp.lt.u{size} {reg}5, {limit}
  cbra %p8, bb1, bb2
bb2:"
        );
        self.template(&text, &[factor, old, sum, on]);
        self.fold(old);
    }
}
