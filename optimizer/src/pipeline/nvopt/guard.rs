//! Guards: under which options and in which tier an element of a sequence runs.
//!
//! A guard is data of one place of a sequence, since one pass has different guards in different places. It names slots
//! by their offsets, as the document does (`opts[2880]`, `a4[1240]`).

use std::fmt;

use oriole_pass::pass::options::slot_at;
use oriole_pass::pass::{PassOptions, Refusal};

/// One condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The switch at this offset is on.
    On(u16),
    /// The switch at this offset is off.
    Off(u16),
    /// The tier at hand is this one.
    InTier(u8),
    /// The tier at hand is another one.
    NotTier(u8),
}

/// Under which conditions an element runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Under all of these.
    All(&'static [Term]),
    /// Under one of these.
    Any(&'static [Term]),
}

impl Guard {
    /// Its conditions.
    pub fn terms(self) -> &'static [Term] {
        match self {
            Guard::All(terms) | Guard::Any(terms) => terms,
        }
    }

    /// The condition that leaves the element out; `None` where it runs.
    pub(super) fn refusal(self, under: &Under<'_>) -> Option<Refusal> {
        let mut refusals = self.terms().iter().map(|term| term.refusal(under));
        match self {
            Guard::All(_) => refusals.flatten().next(),
            Guard::Any(_) => refusals.try_fold(None, |first, refusal| Some(first.or(Some(refusal?)))).flatten(),
        }
    }
}

/// What decides guards.
pub(super) struct Under<'a> {
    /// The options, with what the level sets.
    pub(super) options: &'a PassOptions,
    /// The tier, in tiers 1 to 3.
    pub(super) tier: u8,
}

impl Under<'_> {
    /// Whether the switch at an offset is on.
    pub(super) fn holds(&self, offset: u16) -> bool {
        slot_at(offset).is_some_and(|slot| self.options.holds(slot))
    }
}

impl Term {
    /// The offset of the slot that it asks.
    pub fn offset(self) -> Option<u16> {
        match self {
            Term::On(offset) | Term::Off(offset) => Some(offset),
            Term::InTier(_) | Term::NotTier(_) => None,
        }
    }

    fn refusal(self, under: &Under<'_>) -> Option<Refusal> {
        let is_met = match self {
            Term::On(offset) => under.holds(offset),
            Term::Off(offset) => !under.holds(offset),
            Term::InTier(tier) => under.tier == tier,
            Term::NotTier(tier) => under.tier != tier,
        };
        match self.offset().and_then(slot_at) {
            _ if is_met => None,
            Some(slot) => {
                let (option, on) = under.options.decides(slot);
                Some(Refusal::Option(option, on))
            }
            None => Some(Refusal::Tier(under.tier)),
        }
    }
}

/// As the document writes it.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::On(offset) => write!(f, "opts[{offset}]"),
            Term::Off(offset) => write!(f, "!opts[{offset}]"),
            Term::InTier(tier) => write!(f, "tier=={tier}"),
            Term::NotTier(tier) => write!(f, "tier!={tier}"),
        }
    }
}
