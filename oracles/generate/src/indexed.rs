//! Loops that ask about their counter: whether it has come to a bound, or this is the first or the last round.
//!
//! Left to chance, no round of a loop differs from another by the counter alone.

use oriole_ir::Operand;
use oriole_ir::ops::Type;

use super::builder::Builder;
use super::loops::Trips;

impl Builder<'_, '_> {
    /// A loop with a comparison of its counter, which goes up or down, tested at its end or at its head.
    pub(super) fn indexed(&mut self) {
        let Trips { limit, most, uniform } = self.trips();
        let limit = self.copy_of(limit, Type::B32);
        let variable = self.variable_word();
        let bound = match self.entropy.percent(70) {
            true => Operand::imm(self.entropy.between(0, most + 1)),
            false => self.value(Type::B32),
        };
        let bound = self.copy_of(bound, Type::B32);
        let compare = self.entropy.choose(&["lt.s32", "ge.s32", "le.u32", "gt.s32", "lo.u32", "eq.u32", "ne.u32"]);
        // The first round, the last one, or any.
        let to = self.entropy.choose(&["0", "1", "%r8", "%r2", "%r2", "%r1"]);
        let asks = match self.entropy.percent(70) {
            true => format!("  %p7 = setp.{compare} %r3, {to}\n"),
            false => {
                let swapped = compare.replace("lt", "gt").replace("ge", "le").replace("lo", "hi");
                format!("  %p7 = setp.{swapped} {to}, %r3\n")
            }
        };
        let differs = match self.entropy.percent(70) {
            true => {
                "  cbra %p7, bb3, bb4\nbb3:\n  %r0 = imad.lo.u32 %r0, 5, %r3\n  bra bb5\nbb4:\n  %r0 = xor.b32 %r0, 85\n  \
                 bra bb5\nbb5:\n"
            }
            false => "  @%p7 %r0 = imad.lo.u32 %r0, 5, %r3\n",
        };
        let last = "  %r8 = iadd.u32 %r1, 4294967295\n";
        let step = self.entropy.choose(&[1_u32, 1, 1, 2, 3]);
        let down = step.wrapping_neg();
        let text = match self.entropy.between(0, 3) {
            0 => format!(
                "{last}  %r3 = mov.b32 0
  bra bb1
bb1:
  %p6 = setp.lt.s32 %r3, %r1
  cbra %p6, bb2, bb6
bb2:
{asks}{differs}  pmevent 0
  %r3 = iadd.u32 %r3, {step}
  bra bb1
bb6:"
            ),
            1 => format!(
                "{last}  %r3 = mov.b32 %r1
  bra bb1
bb1:
  %p6 = setp.le.s32 %r3, 0
  cbra %p6, bb6, bb2
bb2:
{asks}{differs}  pmevent 0
  %r3 = iadd.u32 %r3, {down}
  bra bb1
bb6:"
            ),
            _ => format!(
                "{last}  %r3 = mov.b32 0
  bra bb1
bb1:
{asks}{differs}  pmevent 0
  %r3 = iadd.u32 %r3, {step}
  %p6 = setp.lt.s32 %r3, %r1
  cbra %p6, bb1, bb6
bb6:"
            ),
        };
        self.template_around(&text, &[variable, limit, bound], &mut |builder| {
            if builder.entropy.percent(20) {
                builder.within(uniform, most, Self::stretch);
            }
        });
    }
}
