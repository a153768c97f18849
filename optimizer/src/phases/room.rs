//! How many registers are left for values that are to live through loops: general ones by the budget of
//! OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.

use super::split_ranges::{budget, pressure, words_in_all};
use crate::analysis::Words;
use crate::pass::{Knob, PhaseContext};
use oriole_ir::{Function, Inst, RegFile};

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

    /// Takes the registers of an instruction's results, where there are so many.
    pub(super) fn holds(&mut self, func: &Function, inst: Inst) -> bool {
        let words = |file: RegFile| -> u32 {
            let infos = func.defs(inst).map(|reg| func.regs()[reg]);
            infos.filter(|info| info.file == file).map(|info| u32::from(info.words)).sum()
        };
        let (general, predicates) = (words(RegFile::R), words(RegFile::P));
        let fits = general <= self.general && predicates <= self.predicates;
        if fits {
            self.general -= general;
            self.predicates -= predicates;
        }
        fits
    }
}
