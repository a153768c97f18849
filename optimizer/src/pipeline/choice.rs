//! Which passes of a list run: what options and knobs turn off, name, or show.

use super::report::SkipReason;
use super::runner::Options;
use super::table::{self, Selection, SubPassRow, UnknownPhase};
use crate::pass::{Knob, Pass, Status, SubPasses};

/// Tokens of one list: which passes and sub-passes they address.
#[derive(Default)]
struct Tokens {
    tokens: Vec<String>,
    sub_passes: Vec<&'static SubPassRow>,
}

impl Tokens {
    /// The tokens of an option and those of a knob, each checked against the table and the list's own passes.
    fn new(option: &[String], knob: &str, passes: &[Pass]) -> Result<Tokens, UnknownPhase> {
        let mut found = Tokens::default();
        let listed = knob.split(',').map(str::trim).filter(|token| !token.is_empty());
        for token in option.iter().map(String::as_str).chain(listed) {
            match table::select(token) {
                Ok(Selection::SubPass(row)) => found.sub_passes.push(row),
                Ok(Selection::Phases(_)) => found.tokens.push(token.to_owned()),
                Err(_) if passes.iter().any(|pass| pass.answers_to(token)) => found.tokens.push(token.to_owned()),
                Err(unknown) => return Err(unknown),
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.sub_passes.is_empty()
    }

    fn names(&self, pass: &Pass) -> bool {
        self.tokens.iter().any(|token| pass.answers_to(token))
    }

    /// The sub-passes named that the phase contains.
    fn inside<'a>(&'a self, pass: &'a Pass) -> impl Iterator<Item = &'static str> + 'a {
        self.sub_passes.iter().filter(|row| pass.answers_to(row.inside)).map(|row| row.name)
    }
}

/// Which passes run.
pub(super) struct Choice {
    disabled: Tokens,
    enabled: Tokens,
    named: Tokens,
    dump: Tokens,
}

impl Choice {
    pub(super) fn new(passes: &[Pass], options: &Options) -> Result<Choice, UnknownPhase> {
        let knob = |knob| options.knobs.text(knob);
        Ok(Choice {
            disabled: Tokens::new(&options.disabled, &knob(Knob::DisablePhases), passes)?,
            enabled: Tokens::new(&[], &knob(Knob::EnablePhases), passes)?,
            named: Tokens::new(&[], &knob(Knob::NamedPhases), passes)?,
            dump: Tokens::new(&options.dump, &knob(Knob::DUMPIR), passes)?,
        })
    }

    /// Why a pass does not run at all.
    pub(super) fn skip(&self, pass: &Pass, position: usize, options: &Options) -> Option<SkipReason> {
        if options.stop_after.is_some_and(|last| position > last) {
            return Some(SkipReason::Stopped);
        }
        match pass.status {
            Status::Planned => return Some(SkipReason::Planned),
            Status::NoWork(_) => return Some(SkipReason::NoWork),
            _ => {}
        }
        if pass.min_opt_level > options.opt_level {
            return Some(SkipReason::OptLevel);
        }
        if pass.no_op_by_default && !self.enabled.names(pass) {
            return Some(SkipReason::NoOpByDefault);
        }
        if self.disabled.names(pass) {
            return Some(SkipReason::Disabled);
        }
        let named = self.named.is_empty() || self.named.names(pass) || self.named.inside(pass).next().is_some();
        (!named).then_some(SkipReason::NotNamed)
    }

    pub(super) fn sub_passes(&self, pass: &Pass) -> SubPasses {
        let only = if self.named.names(pass) { Vec::new() } else { self.named.inside(pass).collect() };
        SubPasses { disabled: self.disabled.inside(pass).collect(), only }
    }

    pub(super) fn dumps(&self, pass: &Pass) -> bool {
        self.dump.names(pass) || self.dump.inside(pass).next().is_some()
    }
}
