//! How many registers a function may have live at once, and how many are left for values that are to live through
//! loops: general ones by the budget of OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.

use crate::analysis::{Liveness, Pressure, Words};
use crate::pass::{Knob, PhaseContext};
use oriole_ir::sm::REGISTER_LIMIT;
use oriole_ir::{Function, Reg, RegFile};

/// Registers that are left where most are live.
pub struct Room {
    general: u32,
    predicates: u32,
}

impl Room {
    /// The room that a function leaves. Liveness is asked for only where counting all registers does not do.
    pub fn of(func: &Function, cx: &mut PhaseContext<'_>) -> Room {
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
    pub fn holds(&mut self, func: &Function, regs: impl Iterator<Item = Reg>) -> bool {
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

/// Whether more words are live somewhere in a function than the budget has.
pub fn is_over_budget(func: &Function, cx: &mut PhaseContext<'_>) -> bool {
    let budget = budget(func, cx.knobs.limit(Knob::SplitLiveRangesBudget));
    words_in_all(func, RegFile::R) > u64::from(budget) && pressure(func, cx).max().of(RegFile::R) > budget
}

/// How many words are live where.
pub fn pressure(func: &Function, cx: &mut PhaseContext<'_>) -> Pressure {
    let (cfg, liveness) = (cx.analyses.get(func), cx.analyses.get::<Liveness>(func));
    Pressure::compute(func, &cfg, &liveness)
}

/// The words of general registers that a thread of this function has: those given, or else those that it can name.
pub fn budget(func: &Function, given: Option<u32>) -> u32 {
    let directive = func.directives.iter().find(|directive| directive.name == "maxnreg");
    let named = directive.and_then(|directive| directive.values.first()).and_then(|value| u32::try_from(*value).ok());
    given.unwrap_or_else(|| named.unwrap_or(REGISTER_LIMIT).min(REGISTER_LIMIT))
}

/// No more words of a file than these can be live at once; a predicate counts as one.
pub fn words_in_all(func: &Function, file: RegFile) -> u64 {
    func.regs().values().filter(|info| info.file == file).map(|info| u64::from(info.words)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{Directive, FunctionKind};

    #[test]
    fn the_budget_is_what_a_thread_can_name_unless_something_says_less() {
        let mut func = Function::new("f", FunctionKind::Entry);
        assert_eq!(budget(&func, None), 255);
        func.directives.push(Directive { name: "maxnreg".to_owned(), values: vec![64] });
        assert_eq!((budget(&func, None), budget(&func, Some(7))), (64, 7));
        func.directives[0].values = vec![1000];
        assert_eq!(budget(&func, None), 255);
    }
}
