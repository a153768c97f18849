//! Accesses whose address leads somewhere only where control comes to them: in the rounds of a loop that some threads
//! do not enter, or under a guard. To execute one elsewhere is a trap.
//!
//! Left to chance, every address of a kernel is valid from its first instruction to its last one, so that a load which
//! is moved out of its loop or its branch yields a value that nobody reads.

use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{Operand, Reg, RegInfo};

use super::builder::Builder;
use super::loops::Trips;
use super::memory::Region;
use super::template::spelled;

/// What the address is elsewhere: odd, and outside of all memory.
const NOWHERE: u64 = 0x7FFF_FFF1;

impl Builder<'_, '_> {
    /// Such an access, or two.
    pub(super) fn speculated(&mut self) {
        let Some(region) = self.some_region_by_register() else { return };
        let uniform = self.entropy.percent(30);
        let valid = self.condition(uniform);
        let valid = self.copy_of(valid, Type::Pred);
        let base = self.base_of(region);
        let address = self.address_where(valid, base);
        let access = self.access_text(region);
        let lent = [valid, address, self.sums[0], self.variable_word()];
        match self.entropy.below(5) {
            0 | 1 => self.in_rounds_tested_first(&access, lent),
            2 => self.in_rounds_behind_a_branch(&access, lent),
            3 => self.template(&format!("  cbra %p0, bb1, bb2\nbb1:\n{access}  bra bb2\nbb2:"), &lent),
            _ => self.under_guards(region, lent),
        }
    }

    /// A loop that is tested at its head and has no round where the address is none.
    fn in_rounds_tested_first(&mut self, access: &str, lent: [Reg; 4]) {
        let (rounds, trips) = self.rounds_where(lent[0]);
        let text = format!(
            "  %r5 = mov.b32 0
  bra bb1
bb1:
  %p6 = setp.lt.u32 %r5, %r4
  cbra %p6, bb2, bb3
bb2:
{access}  pmevent 0
  %r5 = iadd.u32 %r5, 1
  bra bb1
bb3:"
        );
        let [valid, address, sum, variable] = lent;
        self.template_around(&text, &[valid, address, sum, variable, rounds], &mut |builder| {
            builder.sometimes_more(20, trips);
        });
    }

    /// A loop that is tested at its end, around which those threads are led whose address is none.
    fn in_rounds_behind_a_branch(&mut self, access: &str, lent: [Reg; 4]) {
        let (rounds, trips) = self.rounds_where(lent[0]);
        let text = format!(
            "  %r5 = mov.b32 0
  cbra %p0, bb1, bb2
bb1:
{access}  pmevent 0
  %r5 = iadd.u32 %r5, 1
  %p6 = setp.lt.u32 %r5, %r4
  cbra %p6, bb1, bb2
bb2:"
        );
        let [valid, address, sum, variable] = lent;
        self.template_around(&text, &[valid, address, sum, variable, rounds], &mut |builder| {
            builder.sometimes_more(20, trips);
        });
    }

    /// Accesses under guards, one of them maybe under a stricter one.
    fn under_guards(&mut self, region: Region, lent: [Reg; 4]) {
        let other = self.register(RegInfo::PRED);
        let [valid, address, sum, variable] = lent;
        let (load, store) = (load_text(region), spelled("st", region.space));
        let offset = 4 * self.entropy.below(4);
        let both = if self.entropy.percent(50) { "and.pred %p0, %p4" } else { "mov.pred %p0" };
        let text = match region.writable && self.entropy.percent(40) {
            true => format!("  %p5 = {both}\n  @%p5 {store}.b32 [%d1+{offset}], %r3"),
            false => format!(
                "  %p5 = {both}
  %r6 = mov.b32 {offset}
  @%p5 %r6 = {load} [%d1+{offset}]
  %r2 = imad.lo.u32 %r2, 16777619, %r6"
            ),
        };
        self.template(&text, &[valid, address, sum, variable, other]);
    }

    /// A load in a branch, and what reads its result under a guard that is not the branch's: in the branch, behind it,
    /// or in both places.
    pub(super) fn read_under_another_guard(&mut self) {
        let Some(region) = self.some_region_by_register() else { return };
        let on = self.condition(false);
        let on = self.copy_of(on, Type::Pred);
        let other = self.register(RegInfo::PRED);
        let base = self.base_of(region);
        let address = if self.entropy.percent(50) { self.address_where(on, base) } else { base };
        let (load, offset) = (load_text(region), 4 * self.entropy.below(4));
        let negated = self.bang(40);
        let reads = match self.entropy.below(3) {
            0 => format!("  @{negated}%p4 %r3 = iadd.u32 %r5, %r3\n"),
            1 => format!("  @{negated}%p4 %r5 = imul.lo.u32 %r5, 5\n"),
            _ => format!("  @{negated}%p4 %r3 = imad.lo.u32 %r5, 7, %r3\n"),
        };
        let (inside, behind) = match self.entropy.below(3) {
            0 => ("", reads.as_str()),
            1 => (reads.as_str(), ""),
            _ => (reads.as_str(), reads.as_str()),
        };
        let [yes, no] = self.entropy.choose(&[["bb1", "bb2"], ["bb2", "bb1"]]);
        // Where the branch is not taken, the address leads nowhere.
        let test = if yes == "bb1" { "mov.pred %p0" } else { "not.pred %p0" };
        let text = format!(
            "  %r5 = mov.b32 %r3
  %p6 = {test}
  cbra %p6, {yes}, {no}
bb1:
  %r5 = {load} [%d1+{offset}]
{inside}  bra bb2
bb2:
{behind}  %r2 = imad.lo.u32 %r2, 16777619, %r5"
        );
        let lent = [on, address, self.sums[0], self.variable_word(), other];
        self.template(&text, &lent);
    }

    /// How many rounds a loop makes where a predicate holds; elsewhere none. And how many these are at most.
    fn rounds_where(&mut self, valid: Reg) -> (Reg, u32) {
        let Trips { limit, most, .. } = self.trips();
        let chosen = self.copy_of(limit, Type::B32);
        self.template("  %r0 = selp.b32 %r0, 0, %p1", &[chosen, valid]);
        (chosen, most)
    }

    /// An address where a predicate holds, elsewhere none.
    fn address_where(&mut self, valid: Reg, base: Reg) -> Reg {
        let address = self.copy_of(base.into(), Type::B64);
        self.template(&format!("  %d0 = selp.b64 %d0, {NOWHERE}, %p1"), &[address, valid]);
        address
    }

    /// An access by `%d1` that goes into the sum `%r2`, or stores `%r3`.
    fn access_text(&mut self, region: Region) -> String {
        let (load, store) = (load_text(region), spelled("st", region.space));
        let offset = 4 * self.entropy.below(4);
        match region.writable && self.entropy.percent(30) {
            true => format!("  {store}.b32 [%d1+{offset}], %r3\n"),
            false => format!("  %r20 = {load} [%d1+{offset}]\n  %r2 = imad.lo.u32 %r2, 16777619, %r20\n"),
        }
    }

    /// A region whose address may be in a register: no parameter.
    fn some_region_by_register(&mut self) -> Option<Region> {
        let fits = |region: &Region| region.space != Space::Param;
        let regions: Vec<Region> = self.regions.iter().copied().filter(fits).collect();
        // What nobody writes is what a phase moves most easily.
        let fixed: Vec<Region> =
            regions.iter().copied().filter(|region| region.constant && region.space == Space::Global).collect();
        if !fixed.is_empty() && self.entropy.percent(50) {
            return Some(self.entropy.choose(&fixed));
        }
        (!regions.is_empty()).then(|| self.entropy.choose(&regions))
    }

    /// In so many of a hundred cases other code, where control comes so often.
    pub(super) fn sometimes_more(&mut self, percent: u32, trips: u32) {
        if self.entropy.percent(percent) {
            self.within(false, trips, Self::stretch);
        }
    }

    /// A register of its own that begins as some value.
    pub(super) fn copy_of(&mut self, value: Operand, ty: Type) -> Reg {
        self.hidden(Self::typed(Opcode::Mov, ty).src(value), RegInfo::of(ty))
    }
}

/// A load of a word from a region; where nobody writes, by the way of caches that are not coherent.
fn load_text(region: Region) -> String {
    let load = spelled("ld", region.space);
    let nc = if region.constant && region.space == Space::Global { ".nc" } else { "" };
    format!("{load}{nc}.b32")
}
