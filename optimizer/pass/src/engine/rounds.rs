//! Work that is done again for as long as it finds something.

use crate::analysis::AnalysisSet;
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::Function;

/// Does a round of a phase after the other, until one changes nothing or there were as many as a knob says. A round
/// leaves the analyses that are true of what it made.
pub fn rounds(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    most: Knob,
    round: impl Fn(&mut Function, &mut PhaseContext<'_>) -> Changed,
) -> Changed {
    let most = cx.knobs.limit(most).unwrap_or(u32::MAX);
    let mut changed = Changed::No;
    for _ in 0..most {
        let made = round(func, cx);
        changed |= made;
        if !made.is_yes() {
            break;
        }
    }
    if !changed.is_yes() {
        cx.preserve(AnalysisSet::ALL);
    }
    cx.keep_analyses();
    changed
}
