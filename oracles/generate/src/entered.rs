//! Loops that lanes enter in several places: two ways that lead straight into the first of two loops which count alike,
//! and ways to the body and to the end of one loop.
//!
//! Left to chance, every loop has one way in. With a counter that all lanes have in common a compiler is tempted to
//! keep one for the warp, though lanes that enter elsewhere have counted less often.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Operand, RegInfo};

use super::builder::Builder;
use super::memory::Region;
use super::template::spelled;

impl Builder<'_, '_> {
    /// Two loops, one behind the other, the first of which is entered from two places, mostly with one count.
    pub(super) fn two_entries(&mut self) {
        let rounds = self.few_rounds();
        let on = self.condition(false);
        let on = self.copy_of(on, Type::Pred);
        let [sum, other] = [(); 2].map(|()| self.begin_with_word());
        let value = self.variable_word();
        let starts = self.entropy.choose(&[[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]]);
        let start = starts[usize::from(self.entropy.percent(20))];
        let same = if self.entropy.percent(90) { rounds } else { 2 };
        // One of the ways may have a block of its own, and may have changed what the first loop works on.
        let (ways, between) = match self.entropy.below(3) {
            0 => ("bb3, bb2", String::new()),
            1 => ("bb1, bb3", String::new()),
            _ => ("bb1, bb2", "  %r1 = iadd.u32 %r1, 11\n".to_owned()),
        };
        let place = self.regions.iter().copied().find(|region| region.writable).filter(|_| self.entropy.percent(30));
        let address = match place {
            Some(region) => self.base_of(region),
            None => self.results.unwrap_or(self.sums[1]),
        };
        let [first, second] = [place; 2].map(|place| place.map_or(String::new(), |region| self.meets(region)));
        let [one, two] = starts;
        let first_way = if ways.contains("bb1") { format!("bb1:\n{between}  bra bb3\n") } else { String::new() };
        let second_way =
            if ways.contains("bb2") { format!("bb2:\n  %r5 = mov.b32 {two}\n  bra bb3\n") } else { String::new() };
        let (right, again) = match self.entropy.below(10) {
            0..6 => ("bb5, bb6", "lt"),
            // The same test, by which the second loop is left after one round.
            6 | 7 if start + 1 < same => ("bb6, bb5", "lt"),
            _ => ("bb6, bb5", "ge"),
        };
        // What the second loop counts may begin in front of both, so that nothing is between them.
        let begins = format!("  %r7 = mov.b32 {start}\n");
        let (ahead, behind) = if self.entropy.percent(70) { (&*begins, "") } else { ("", &*begins) };
        let text = format!(
            "{ahead}  %r5 = mov.b32 {one}
  cbra %p0, {ways}
{first_way}{second_way}bb3:
  %r1 = imad.lo.u32 %r1, 5, %r5
{first}  %r5 = iadd.u32 %r5, 1
  %p6 = setp.lt.u32 %r5, {rounds}
  cbra %p6, bb3, bb4
bb4:
{behind}  bra bb5
bb5:
  %r2 = imad.lo.u32 %r2, 3, %r7
{second}  %r2 = xor.b32 %r2, %r3
  %r7 = iadd.u32 %r7, 1
  %p8 = setp.{again}.u32 %r7, {same}
  cbra %p8, {right}
bb6:"
        );
        self.template(&text, &[on, sum, other, value, address]);
        [sum, other].into_iter().for_each(|reg| self.fold(reg));
    }

    /// A load or a store at a word of the region `%d4`, for a sum.
    fn meets(&mut self, region: Region) -> String {
        let offset = 4 * self.entropy.below(2);
        let [load, store] = ["ld", "st"].map(|opcode| spelled(opcode, region.space));
        match self.entropy.below(3) {
            0 => String::new(),
            1 => format!("  {store}.b32 [%d4+{offset}], %r1\n"),
            _ => format!("  %r9 = {load}.b32 [%d4+{offset}]\n  %r2 = iadd.u32 %r2, %r9\n"),
        }
    }

    /// A loop that some lanes enter at its body and others at its end. All lanes have the same counter.
    pub(super) fn latch(&mut self) {
        let most = (self.config.nested_trips / self.flow.trips.max(1)).clamp(1, 6);
        let on = self.condition(false);
        let on = self.copy_of(on, Type::Pred);
        let rounds = match self.uniforms.first().copied().filter(|_| self.entropy.percent(30)) {
            Some((uniform, _)) if most > 3 => {
                let low = Self::typed(Opcode::And, Type::B32).src(uniform).src(Operand::imm(3));
                self.hidden(low, RegInfo::words(1))
            }
            _ => {
                let rounds = self.entropy.between(1, most);
                self.copy_of(Operand::imm(rounds), Type::B32)
            }
        };
        let value = self.begin_with_word();
        let variable = self.variable_word();
        let region = self.regions.first().copied();
        let address = region.map_or(self.sums[1], |region| self.base_of(region));
        let offset = 4 * self.entropy.below(4);
        let load = match region.filter(|_| self.entropy.percent(70)) {
            Some(region) => {
                format!("  %r2 = {}.b32 [%d4+{offset}]\n", spelled("ld", region.space))
            }
            None => String::new(),
        };
        let work = self.entropy.choose(&[
            "",
            "  %r2 = imad.lo.u32 %r2, 5, %r1\n",
            "  %r3 = iadd.u32 %r3, %r1\n",
            "  %r5 = imad.lo.u32 %r5, 3, %r2\n",
        ]);
        let (body, latch) = if self.entropy.percent(50) { ("bb1", "bb2") } else { ("bb2", "bb1") };
        let (test, step) = match self.entropy.below(3) {
            // Down to none, down with the test behind the step, and up.
            0 => ("  %p7 = setp.eq.u32 %r1, 0\n  cbra %p7, bb4, bb3".to_owned(), "  %r1 = iadd.u32 %r1, 0xffffffff\n"),
            1 => {
                let step = "  %r8 = mov.b32 %r1\n  %r1 = iadd.u32 %r1, 0xffffffff\n";
                (format!("{step}  %p7 = setp.eq.u32 %r8, 0\n  cbra %p7, bb4, bb3"), "")
            }
            _ => ("  %p7 = setp.lt.u32 %r6, %r1\n  cbra %p7, bb3, bb4".to_owned(), "  %r6 = iadd.u32 %r6, 1\n"),
        };
        let text = format!(
            "  %r6 = mov.b32 0
  cbra %p0, {body}, {latch}
bb1:
{load}{work}  pmevent 0
  bra bb2
bb2:
{test}
bb3:
{step}  bra bb1
bb4:"
        );
        let lent = [on, rounds, value, variable, address, self.sums[0]];
        self.template_around(&text, &lent, &mut |builder| builder.sometimes_call(most + 1));
        self.fold(value);
    }

    /// Other code in a body that is executed so often at most, or a call.
    fn sometimes_call(&mut self, trips: u32) {
        match self.entropy.below(4) {
            0 if !self.callees.is_empty() => self.within(false, trips, Self::call),
            1 => self.within(false, trips, Self::stretch),
            _ => {}
        }
    }
}
