//! Products of warpgroups: the rows of one warp.

use oriole_interp::Cause;
use oriole_semantics::tensor::{COLUMNS, SharedFactor, Side};

use super::lanes::{LANES, Lanes};
use super::machine::{Cta, Machine};
use super::program::{GroupLeft, GroupMultiply, ZERO};

/// Rows of a warp.
const ROWS: u64 = 16;
/// Warps of a group.
const WARPS: u32 = 4;

impl Machine<'_> {
    /// Multiplies, all lanes of the warp together; traps where a factor lies beyond shared memory.
    pub(super) fn multiply_in_group(&self, cta: &mut Cta, warp: usize, group: &GroupMultiply) -> Result<(), Cause> {
        let [a, b, c, d] = group.product.words();
        let (w, shared) = (&cta.warps[warp], &cta.shared);
        let literals = self.literals;
        let words = |row: u16, first: usize, count: usize| -> Vec<Lanes> {
            let word = |at: usize| if row == ZERO { [0; LANES] } else { w.fetch_row(literals, row + at as u16) };
            (first..first + count).map(word).collect()
        };
        let load = |address: u64| {
            let piece = shared.get(address as usize..).and_then(|rest| rest.first_chunk::<16>());
            let beyond = || format!("a matrix reaches {address:#x} of {} bytes of shared memory", shared.len());
            piece.copied().ok_or_else(|| Cause::BadCollective(beyond()))
        };
        let described = |row: u16| {
            let [low, high] = [0, 1].map(|word| w.fetch_row(literals, row + word)[0]);
            u64::from(high) << 32 | u64::from(low)
        };
        let read = |row: u16, side: Side, first: u64, lines: u64| {
            SharedFactor::read(described(row), first..first + lines, group.inner, side, load)
        };
        let left = match group.left {
            GroupLeft::Registers(row, side) => {
                words(row, 0, a).into_iter().map(|word| side.signed((word, 0)).0).collect()
            }
            GroupLeft::Shared(row, side) => {
                let first = ROWS * u64::from(w.first / LANES as u32 % WARPS);
                read(row, side, first, ROWS)?.left(a)
            }
        };
        let right = read(group.right.0, group.right.1, 0, COLUMNS as u64 * u64::from(group.tiles))?;
        let adds = w.pred(group.adds) != 0;
        let tiles = (0..usize::from(group.tiles)).map(|tile| {
            let added = if adds { words(group.addend, c * tile, c) } else { vec![[0; LANES]; c] };
            let sources: Vec<Lanes> = left.iter().copied().chain(right.right(tile, b)).chain(added).collect();
            group.product.eval(&sources)
        });
        let results: Vec<Lanes> = tiles.flatten().collect();
        debug_assert_eq!(results.len(), d * usize::from(group.tiles));
        let w = &mut cta.warps[warp];
        (group.dst..).zip(results).for_each(|(row, word)| w.write(row, &word, u32::MAX));
        Ok(())
    }
}
