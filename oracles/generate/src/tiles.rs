//! Collectives of tiles: the lanes of a warp that has not parted, in groups of 4, 8 or 16, each under a member mask of
//! its own, as cooperative groups write them.
//!
//! Left to chance, all lanes that come to a collective together name each other.

use oriole_ir::ops::{FieldValue, ShuffleMode, Type};
use oriole_ir::{Operand, RegInfo};

use super::builder::Builder;
use super::insts::Family;
use super::sync::ALL_LANES;
use oriole_ir::ops::Opcode;

impl Builder<'_, '_> {
    /// A few collectives of the tile of each lane.
    pub(super) fn tiles(&mut self) {
        let Some(lane) = self.lane else { return };
        let size = self.entropy.choose(&[4, 8, 16]);
        let ones = (1u32 << size) - 1;
        let [first, mask] = [(); 2].map(|()| self.copy_of(Operand::imm(0), Type::B32));
        let text = format!("  %r1 = and.b32 %r0, {}\n  %r3 = mov.b32 {ones}\n  %r2 = shl.b32 %r3, %r1", 32 - size);
        self.template(&text, &[lane, first, mask]);
        for _ in 0..self.entropy.between(1, 3) {
            match self.opcode_of(Family::Collective) {
                Some(Opcode::Shfl) => self.shuffle_in_tile(size, mask.into()),
                Some(opcode) => self.collective(opcode, mask.into(), false),
                None => {}
            }
            if self.entropy.percent(20) {
                self.template("  bar.warp.sync %r0", &[mask]);
            }
        }
        // The bits of the own tile, as if there were no other one.
        let on = self.register(RegInfo::PRED);
        if self.entropy.percent(50) {
            let to = self.copy_of(Operand::imm(0), Type::B32);
            self.template("  %r4 = vote.sync.ballot.b32 %p0, %r1\n  %r3 = shr.u32 %r4, %r2", &[on, mask, first, to]);
            self.offer(to);
        }
        if self.entropy.percent(30) {
            self.collective(Opcode::Ballot, ALL_LANES, false);
        }
    }

    /// A shuffle that stays in the tile, whatever lane it asks for: `c` has a segment of the tile's size.
    fn shuffle_in_tile(&mut self, size: u32, mask: Operand) {
        let (value, by) = (self.variable_word(), self.begin_with_word());
        let mode = self.entropy.choose(ShuffleMode::ALL);
        let clamp = if mode == ShuffleMode::Up { 0 } else { 31 };
        let segment = (32 - size) << 8 | clamp;
        let results = [self.destination(RegInfo::words(1), false), self.destination(RegInfo::PRED, false)];
        let text = format!(
            "  %r6 = and.b32 %r1, {}\n  %r3, %p4 = shfl.sync.{}.b32 %r0, %r6, {segment}, %r2",
            size - 1,
            mode.name()
        );
        let Some(mask) = mask.reg() else { return };
        self.template(&text, &[value, by, mask, results[0], results[1]]);
    }
}
