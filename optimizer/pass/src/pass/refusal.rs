//! What the guard of an element says against it.

use std::fmt;

use super::PassOption;

/// What leaves an element out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// An option with the value that it has.
    Option(PassOption, bool),
    /// The tier.
    Tier(u8),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Option(option, on) => write!(f, "disabled by {}={}", option.row().key(), u8::from(*on)),
            Refusal::Tier(tier) => write!(f, "not in tier {tier}"),
        }
    }
}
