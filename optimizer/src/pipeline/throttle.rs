//! The effective optimization level of each function: knob 499 (`spec/instruction-movement.txt`, line 29).
//!
//! The page's `sub_7DDB50` lowers the level once a counter of functions has come to the value of the knob. Functions
//! may be worked on at the same time and in parts of the module, so here it is not the order in which they are worked
//! on that counts: those that the module defines first, as many as the knob says, have the level that was asked for,
//! and the others one less. Every question about a level that is asked for a function goes through here.

use std::collections::HashSet;

use super::runner::Options;
use oriole_ir::Module;
use oriole_pass::pass::Knob;

/// The functions of a module that have the level which was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Throttle {
    /// By name, which they keep when others go; `None` for all.
    first: Option<HashSet<String>>,
}

impl Throttle {
    /// Those of a module before passes run on it.
    pub(super) fn new(module: &Module, options: &Options) -> Throttle {
        let defined = module.functions.values().filter(|func| func.is_definition());
        let first = |limit: u32| defined.take(limit as usize).map(|func| func.name.clone()).collect();
        Throttle { first: options.knobs.limit(Knob::OptLevelThrottle).map(first) }
    }

    /// The level of a function.
    pub(super) fn level(&self, options: &Options, function: &str) -> u8 {
        let is_first = self.first.as_ref().is_none_or(|first| first.contains(function));
        if is_first { options.opt_level } else { options.opt_level.saturating_sub(1) }
    }
}

/// The highest level that a function may have.
pub(super) fn level_of_first(options: &Options) -> u8 {
    let has_first = options.knobs.limit(Knob::OptLevelThrottle) != Some(0);
    if has_first { options.opt_level } else { options.opt_level.saturating_sub(1) }
}
