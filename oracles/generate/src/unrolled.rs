//! Loops of a few rounds that are known beforehand, of which unrolling makes copies: with predicates that guard behind
//! them, and with collectives at which some lanes are in one round and the others in another one.
//!
//! Left to chance, nothing behind a loop reads a predicate that the loop has made, and all lanes come to a collective
//! in the same round, so that it does not matter whether each round has one of its own.

use oriole_ir::ops::{Compare, FieldValue, Opcode, Type};
use oriole_ir::{Reg, RegInfo};

use super::builder::Builder;

/// Collectives of all lanes, of a word `%r1` and a predicate `%p3`, that yield a word `%r10`.
const MEETS: [(Opcode, &str); 6] = [
    (Opcode::Ballot, "  %r10 = vote.sync.ballot.b32 %p3, 0xffffffff"),
    (Opcode::Shfl, "  %r10, %p11 = shfl.sync.bfly.b32 %r1, 31, 31, 0xffffffff"),
    (Opcode::Shfl, "  %r10, %p11 = shfl.sync.idx.b32 %r1, 9, 31, 0xffffffff"),
    (Opcode::MatchAny, "  %r10 = match.any.sync.b32 %r1, 0xffffffff"),
    (Opcode::Vote, "  %p11 = vote.sync.any.pred %p3, 0xffffffff\n  %r10 = selp.b32 9, 4, %p11"),
    (Opcode::BarWarpSync, "  bar.warp.sync 0xffffffff\n  %r10 = mov.b32 %r5"),
];

impl Builder<'_, '_> {
    /// A loop whose predicates guard what follows it: what its rounds compare, and its own test.
    pub(super) fn late_guards(&mut self) {
        let rounds = self.few_rounds();
        let [variable, other, third] = [(); 3].map(|()| self.variable_word());
        let changing = self.begin_with_word();
        let (at, how) = (self.entropy.below(3), self.entropy.choose(&[Compare::Eq, Compare::Ge, Compare::Ne]).name());
        // Of a counter of 64 bits one word alone says how many rounds there are.
        let (counter, low, ty, begin, step) = match self.entropy.below(10) {
            0 => ("%d5", "%d5.0", "64", 0x7_0000_0000u64, 1u64),
            1 => ("%d5", "%d5.1", "64", 7, 1 << 32),
            _ => ("%r5", "%r5", "32", 0, 1),
        };
        let made = match self.entropy.below(3) {
            0 => format!("  %p10 = setp.{how}.u32 {low}, {at}\n"),
            1 => format!("  %p10 = setp.{how}.s32 %r4, %r1\n"),
            // What one round has made guards in the next one, too.
            _ => format!("  @%p10 %r0 = iadd.u32 %r0, 3\n  %p10 = setp.{how}.s32 %r4, %r1\n"),
        };
        let (negated, last) = (self.bang(50), self.bang(50));
        let behind = match self.entropy.below(6) {
            0 => format!("  %r0 = selp.b32 %r1, %r0, %p10\n  @{last}%p11 %r1 = isub.u32 %r1, %r4"),
            1 => format!(
                "  @{negated}%p10 %r0 = iadd.u32 %r0, %r4\n  %p12 = and.pred %p10, %p11\n  @%p12 %r1 = mov.b32 %r2"
            ),
            2 => format!("  cbra %p10, bb6, bb7\nbb6:\n  @{last}%p11 %r0 = iadd.u32 %r0, 7\n  bra bb7\nbb7:"),
            // Where the guard does not hold it is what the last round has left.
            3 => format!("  @{negated}%p10 %r4 = mov.b32 %r1\n  @{last}%p10 %r4 = imul.lo.u32 %r4, 3"),
            _ => format!("  @{negated}%p10 %r0 = iadd.u32 %r0, 7\n  @{last}%p11 %r1 = xor.b32 %r1, %r4"),
        };
        let work = format!("{}{made}  %r4 = imad.lo.u32 %r4, 5, %r21\n  pmevent 0\n", known_in_each_round(low));
        let count = format!("  {counter} = iadd.u{ty} {counter}, {step}\n");
        let test = format!("  %p11 = setp.{}.u32 {low}, {rounds}\n", self.entropy.choose(&["lt", "ne"]));
        // Tested at its end; or at its head, with two ways back that count alike.
        let code = match self.entropy.percent(65) {
            true => format!("bb1:\n{work}{count}{test}  cbra %p11, bb1, bb2\nbb2:\n"),
            false => format!(
                "bb1:
{test}  cbra %p11, bb2, bb5
bb2:
{work}{count}  %p13 = setp.gt.s32 %r4, %r2
  cbra %p13, bb3, bb4
bb3:
  %r1 = iadd.u32 %r1, 9
  bra bb1
bb4:
  %r0 = xor.b32 %r0, %r4
  bra bb1
bb5:
"
            ),
        };
        let text = format!("  %p10 = mov.pred 0\n  {counter} = mov.b{ty} {begin}\n  bra bb1\n{code}{behind}");
        self.template_around(&text, &[variable, other, third, self.sums[0], changing], &mut |builder| {
            builder.sometimes_more(15, rounds);
        });
        self.fold(changing);
    }

    /// A loop of two rounds in which each lane comes to a collective once: some lanes in the first round, the others in
    /// the second one. They meet there, as a collective asks for no round.
    ///
    /// Code of ptxas 13.0.88 at `-O0` waits for all lanes behind the branch in each round, and so for ever: kernels for
    /// compilers have none of these.
    pub(super) fn in_turns(&mut self) {
        let Some(lane) = self.lane else { return };
        let [value, variable] = [(); 2].map(|()| self.variable_word());
        let on = self.register(RegInfo::PRED);
        let bit = self.entropy.below(5);
        let made = |(opcode, _): &&(Opcode, &'static str)| self.config.makes(*opcode);
        let meets: Vec<&str> = MEETS.iter().filter(made).map(|(_, text)| *text).collect();
        if meets.is_empty() {
            return;
        }
        let meets = self.entropy.choose(&meets);
        // In the other rounds nothing, something, or the same in both where every lane comes to it each time.
        let (turn, skips) = match self.entropy.percent(75) {
            true => ("%r7", "eq"),
            false => ("1", self.entropy.choose(&["eq", "ne"])),
        };
        let known = known_in_each_round("%r5");
        let text = format!(
            "  %r6 = shr.u32 %r0, {bit}
  %r7 = and.b32 %r6, 1
  %r5 = mov.b32 0
  bra bb1
bb1:
{known}  %p9 = setp.{skips}.u32 %r5, {turn}
  cbra %p9, bb2, bb3
bb2:
{meets}
  %r4 = imad.lo.u32 %r4, 16777619, %r10
  %r2 = iadd.u32 %r2, %r21
  bra bb3
bb3:
  %r5 = iadd.u32 %r5, 1
  %p12 = setp.lt.u32 %r5, 2
  cbra %p12, bb1, bb4
bb4:"
        );
        self.template(&text, &[lane, value, variable, on, self.sums[0]]);
    }

    /// How many rounds a loop has that unrolling may make copies of.
    pub(super) fn few_rounds(&mut self) -> u32 {
        let most = self.config.trips.min(self.config.nested_trips / self.flow.trips.max(1)).max(1);
        self.entropy.between(1, most)
    }

    /// A word of its own that begins as some value.
    pub(super) fn begin_with_word(&mut self) -> Reg {
        let value = self.value(Type::B32);
        self.copy_of(value, Type::B32)
    }

    /// The sign of a guard that is negated, in so many of a hundred cases.
    pub(super) fn bang(&mut self, percent: u32) -> &'static str {
        if self.entropy.percent(percent) { "!" } else { "" }
    }
}

/// A quotient `%r21` of a counter, which each copy of a loop's body knows, so that the copies together are no larger.
fn known_in_each_round(counter: &str) -> String {
    format!("  %r20 = iadd.u32 {counter}, 3\n  %r21 = idiv.u32 5000, %r20\n")
}
