//! How many registers are left for values that are to live through loops: general ones by the budget of
//! OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.

use super::split_ranges::{budget, pressure, words_in_all};
use crate::analysis::Words;
use crate::pass::{Knob, PhaseContext};
use oriole_ir::{Function, Reg, RegFile};

/// Registers that are left where most are live.
pub(super) struct Room {
    general: u32,
    predicates: u32,
}

impl Room {
    pub(super) fn of(func: &Function, cx: &mut PhaseContext<'_>) -> Room {
        let budget = budget(func, cx.knobs.limit(Knob::SplitLiveRangesBudget));
        let predicates = cx.knobs.limit(Knob::HoistInvariantsPredicates).unwrap_or(u32::MAX);
        let in_all = |file: RegFile| words_in_all(func, file).try_into().unwrap_or(u32::MAX);
        let (mut general_used, mut predicates_used) = (in_all(RegFile::R), in_all(RegFile::P));
        // Counting all registers is cheap, and mostly enough.
        if general_used > budget || predicates_used > predicates {
            let most: Words = pressure(func, cx).max();
            (general_used, predicates_used) = (most.of(RegFile::R), most.of(RegFile::P));
        }
        Room { general: budget.saturating_sub(general_used), predicates: predicates.saturating_sub(predicates_used) }
    }

    /// Takes so many registers, where there are.
    pub(super) fn holds(&mut self, func: &Function, regs: impl Iterator<Item = Reg>) -> bool {
        let (mut general, mut predicates) = (0, 0);
        for info in regs.map(|reg| func.regs()[reg]) {
            match info.file {
                RegFile::R => general += u32::from(info.words),
                RegFile::P => predicates += u32::from(info.words),
                _ => {}
            }
        }
        let fits = general <= self.general && predicates <= self.predicates;
        if fits {
            self.general -= general;
            self.predicates -= predicates;
        }
        fits
    }
}
