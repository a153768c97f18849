//! GvnCse, phase 49: global value numbering with the elimination of common subexpressions
//! (`spec/copy-propagation-and-cse.txt`, "Phase 49 -- GvnCse").
//!
//! The dispatcher chooses one of three variants by the knob `EnableGvnCseMode`, the target and the context:
//!
//! - *simple* (mode 1) sees one block at a time;
//! - *standard* (mode 2) sees the blocks that dominate ([`super::scoped`]), after a pre-pass that marks the candidates
//!   ([`super::extended_blocks`]);
//! - *full* (modes 3 to 6) numbers all values first and then looks for leaders ([`super::global`]), so that a value
//!   which both arms of a branch compute is known behind it. Mode 5 looks in the extended block alone: by the formula
//!   of the page, `(mode & ~2) - 5` is what turns the scope across blocks off.
//!
//! A full mode needs the enhanced scope of the target, and mode 3 the context's flag besides; with that flag it also
//! stands in for modes 5 and 6. Where something is missing the standard variant runs, as the page has it of mode 4.
//!
//! Every variant makes `mov`s, which the next bundle propagates, forwards stores to loads ([`forward`]), and removes
//! stores that are overwritten at once ([`dead_stores`]).

use cranelift_entity::EntitySet;

use super::eligibility::{Class, class};
use super::facts::{Facts, rounds};
use super::leaders::closed;
use super::scoped::{Scope, Walk};
use super::{dead_stores, extended_blocks, forward, global};
use oriole_ir::sm::Target;
use oriole_ir::{Function, Inst};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// How values are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Simple,
    Standard,
    Full(global::Reach),
}

/// GvnCse.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mode = cx.knobs.number(Knob::EnableGvnCseMode);
    let enhanced = cx.target.has_enhanced_value_numbering();
    let variant = variant(mode, enhanced, cx.knobs.flag(Knob::GvnCseContextScope));
    let on = cx.target.has_value_numbering() && cx.knobs.flag(Knob::EnableGvnCse);
    let Some(variant) = variant.filter(|_| on) else { return Changed::No };
    let closed = closed(func, cx, Knob::EnableGvnCsePerInstr);
    rounds(func, cx, |func, cx, facts| round(func, cx, facts, variant, &closed))
}

/// The standard variant on every target: cicc's `gvn`.
pub fn standard(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, |func, cx, facts| round(func, cx, facts, Variant::Standard, &EntitySet::new()))
}

/// The full variant on every target, which numbers all values before it compares any: cicc's `newgvn`.
pub fn full(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let variant = Variant::Full(global::Reach::Dominators);
    rounds(func, cx, |func, cx, facts| round(func, cx, facts, variant, &EntitySet::new()))
}

/// The mode dispatcher.
fn variant(mode: i64, enhanced: bool, context: bool) -> Option<Variant> {
    Some(match mode {
        1 => Variant::Simple,
        3 | 5 | 6 if enhanced && context => Variant::Full(global::Reach::Dominators),
        5 if enhanced => Variant::Full(global::Reach::ExtendedBlock),
        4 | 6 if enhanced => Variant::Full(global::Reach::Dominators),
        2..=6 => Variant::Standard,
        _ => return None,
    })
}

fn round(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    facts: &Facts,
    variant: Variant,
    closed: &EntitySet<Inst>,
) -> Changed {
    let target = cx.target;
    let scope = if variant == Variant::Simple { Scope::Block } else { Scope::Dominators };
    let forwarded = forward::run(func, cx, facts, scope, closed);
    let is_eligible = |func: &Function, inst| !closed.contains(inst) && is_eligible(func, inst, target);
    let numbered = match variant {
        Variant::Simple => Walk::new(facts, scope).run(func, cx, is_eligible),
        Variant::Standard if skips_extended_blocks(cx) => Walk::new(facts, scope).run(func, cx, is_eligible),
        Variant::Standard => {
            let marked = extended_blocks::candidates(func, target, |inst| is_eligible(func, inst));
            let is_marked = |_: &Function, inst| !closed.contains(inst) && marked.contains(inst);
            Walk::new(facts, scope).run(func, cx, is_marked)
        }
        Variant::Full(reach) => {
            let any = |func: &Function, inst| !closed.contains(inst) && class(func, inst, target).is_some();
            global::run(func, cx, facts, reach, any)
        }
    };
    forwarded | numbered | dead_stores::run(func, cx, facts, closed)
}

/// Whether an instruction is eligible by its own class.
fn is_eligible(func: &Function, inst: Inst, target: Target) -> bool {
    match class(func, inst, target) {
        Some(Class::Common | Class::Load) => true,
        Some(Class::Special) => target.has_enhanced_value_numbering(),
        Some(Class::Moving) | None => false,
    }
}

/// Whether the pre-pass is left out.
fn skips_extended_blocks(cx: &PhaseContext<'_>) -> bool {
    let asked = cx.knobs.flag(Knob::GvnCseContextExtendedBlocks);
    cx.target.may_skip_extended_blocks() && (cx.knobs.flag(Knob::GvnCseSkipExtendedBlocks) || !asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use global::Reach::{Dominators, ExtendedBlock};

    #[test]
    fn modes_are_those_of_the_dispatcher() {
        let modes = |enhanced, context| (0..=7).map(move |mode| variant(mode, enhanced, context)).collect::<Vec<_>>();
        let (simple, standard) = (Some(Variant::Simple), Some(Variant::Standard));
        let (full, extended) = (Some(Variant::Full(Dominators)), Some(Variant::Full(ExtendedBlock)));
        assert_eq!(modes(true, false), [None, simple, standard, standard, full, extended, full, None]);
        assert_eq!(modes(true, true), [None, simple, standard, full, full, full, full, None]);
        for context in [false, true] {
            let plain = [None, simple, standard, standard, standard, standard, standard, None];
            assert_eq!(modes(false, context), plain);
        }
    }
}
