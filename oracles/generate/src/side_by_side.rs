//! Accesses to neighbouring words, and loops that count the same twice: what vectorization, linear replacement and
//! pipelining look for.
//!
//! Left to chance, two accesses of a block are seldom neighbours, and two counters of a loop seldom have one step.

use oriole_ir::Reg;
use oriole_ir::ops::{Space, Type};

use super::builder::Builder;
use super::memory::{REGION, Region};
use super::template::spelled;

/// Words of a region.
const WORDS: u32 = REGION / 4;

impl Builder<'_, '_> {
    /// A region that the thread may write, and its address in a register.
    fn own_region(&mut self) -> Option<(Region, Reg)> {
        let fits =
            |region: &Region| region.writable && matches!(region.space, Space::Global | Space::Shared | Space::Local);
        let regions: Vec<Region> = self.regions.iter().copied().filter(fits).collect();
        if regions.is_empty() {
            return None;
        }
        let region = self.entropy.choose(&regions);
        let base = self.base_of(region);
        Some((region, base))
    }

    /// Stores to neighbouring words, or loads of them, in some order, some of them under guards; maybe with something
    /// between them that does not let them pass.
    pub(super) fn side_by_side(&mut self) {
        let Some((region, base)) = self.own_region() else { return };
        let [value, other] = [(); 2].map(|()| self.variable_word());
        let on = self.condition(false);
        let on = self.copy_of(on, Type::Pred);
        let (load, store) = (spelled("ld", region.space), spelled("st", region.space));
        let order = self.entropy.choose(&[[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [0, 2, 1, 3], [0, 1, 0, 1]]);
        let first = self.entropy.choose(&[0, 0, 4, 4, 2, 1]);
        let (loads, guarded, obstacle) = (self.entropy.percent(50), self.entropy.percent(35), self.entropy.below(5));
        let (mut text, mut reads) = (String::new(), String::new());
        for (at, place) in order.into_iter().enumerate() {
            let offset = 4 * (first + place);
            let guard = match (guarded, self.entropy.below(8)) {
                (true, 0) => "@!%p3 ",
                (true, 1) => "",
                (true, _) => "@%p3 ",
                (false, _) => "",
            };
            let result = 10 + at;
            if loads && guard.is_empty() {
                text += &format!("  %r{result} = {load}.b32 [%d2+{offset}]\n");
            } else if loads {
                text += &format!("  %r{result} = mov.b32 {at}\n  {guard}%r{result} = {load}.b32 [%d2+{offset}]\n");
            } else {
                let stored = self.entropy.choose(&["%r0", "%r1", "7"]);
                text += &format!("  {guard}{store}.b32 [%d2+{offset}], {stored}\n");
            }
            if loads {
                reads += &format!("  %r4 = imad.lo.u32 %r4, 16777619, %r{result}\n");
            }
            let within = 4 * self.entropy.below(WORDS as usize);
            match (at, obstacle) {
                (1, 0) => text += &format!("  {store}.b32 [%d2+{within}], %r1\n"),
                (1, 1) => {
                    text += &format!("  %r20 = {load}.b32 [%d2+{within}]\n");
                    reads += "  %r4 = imad.lo.u32 %r4, 16777619, %r20\n";
                }
                _ => {}
            }
        }
        let sum = self.sums[0];
        self.template(format!("{text}{reads}").trim_end(), &[value, other, base, on, sum]);
    }

    /// A loop of one block with two counters and an address that it counts, all of which are read.
    pub(super) fn counted_alike(&mut self) {
        let Some((region, base)) = self.own_region() else { return };
        let rounds = self.few_rounds().min(WORDS - 2);
        let variable = self.variable_word();
        let step = self.entropy.choose(&[1, 1, 2, 3]);
        let (start, load) = (self.entropy.choose(&[0, 5]), spelled("ld", region.space));
        let second = self.entropy.choose(&["0", "5", "9", "%r2"]);
        let other_step = if self.entropy.percent(75) { step } else { self.entropy.choose(&[1, 4]) };
        // Far enough from the load for a fetch in the round before to pay.
        let long = "  %r2 = imad.lo.u32 %r2, 5, %r4\n  %r2 = xor.b32 %r2, 77\n".repeat(self.entropy.below(5));
        let read = self.entropy.choose(&["", "  %r2 = xor.b32 %r2, %r5\n", "  %r2 = imad.lo.u32 %r2, %r5, %r4\n"]);
        let within = 4 * self.entropy.below(WORDS as usize);
        let stores = match self.entropy.percent(25) {
            true => format!("  {}.b32 [%d0+{within}], %r2\n", spelled("st", region.space)),
            false => String::new(),
        };
        let [one, two] = [format!("  %r4 = iadd.u32 %r4, {step}\n"), format!("  %r5 = iadd.u32 %r5, {other_step}\n")];
        let steps = if self.entropy.percent(50) { format!("{one}{two}") } else { format!("{two}{one}") };
        let behind = self.entropy.choose(&["", "  %r2 = xor.b32 %r2, %r5\n"]);
        let limit = start + rounds * step;
        let test = self.entropy.choose(&["lt", "ne"]);
        let text = format!(
            "  %r4 = mov.b32 {start}
  %r5 = mov.b32 {second}
  %d6 = mov.b64 %d0
  bra bb1
bb1:
{long}  %r7 = {load}.b32 [%d6+4]
  %r1 = imad.lo.u32 %r1, 16777619, %r7
{read}{stores}  pmevent 0
{steps}{behind}  %d6 = iadd.u64 %d6, 4
  %p8 = setp.{test}.u32 %r4, {limit}
  cbra %p8, bb1, bb2
bb2:
  %r1 = imad.lo.u32 %r1, 31, %r4
  %r1 = imad.lo.u32 %r1, 31, %r5"
        );
        let sum = self.sums[0];
        self.template_around(&text, &[base, sum, variable], &mut |builder| builder.sometimes_more(15, rounds));
    }
}
