//! Which passes of a list run: what options and knobs turn off, name, or show.

use super::report::SkipReason;
use super::runner::Options;
use super::table::{self, Selection, SubPassRow, UnknownPhase};
use super::throttle;
use oriole_pass::pass::{Element, Knob, PassOption, Run, Status, SubPasses, split_instance};

/// Tokens of one list: which passes and sub-passes they address.
#[derive(Default)]
struct Tokens {
    tokens: Vec<String>,
    sub_passes: Vec<&'static SubPassRow>,
}

impl Tokens {
    /// The tokens of an option and those of a knob, each checked against the table and the list's own passes.
    fn new(option: &[String], knob: &str, elements: &[Element]) -> Result<Tokens, UnknownPhase> {
        let mut found = Tokens::default();
        let listed = knob.split(',').map(str::trim).filter(|token| !token.is_empty());
        for token in option.iter().map(String::as_str).chain(listed) {
            match table::select(split_instance(token).map_or(token, |(name, _)| name)) {
                Ok(Selection::SubPass(row)) => found.sub_passes.push(row),
                Ok(Selection::Phases(_)) => found.tokens.push(token.to_owned()),
                Err(_) if answered(elements, token) => found.tokens.push(token.to_owned()),
                Err(unknown) => return Err(unknown),
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.sub_passes.is_empty()
    }

    fn names(&self, element: &Element) -> bool {
        self.tokens.iter().any(|token| element.answers_to(token))
    }

    /// The sub-passes named that the phase contains.
    fn inside<'a>(&'a self, element: &'a Element) -> impl Iterator<Item = &'static str> + 'a {
        self.sub_passes.iter().filter(|row| element.answers_to(row.inside)).map(|row| row.name)
    }
}

/// Whether some element, inside a nest or outside, answers to a token.
fn answered(elements: &[Element], token: &str) -> bool {
    elements.iter().any(|element| element.answers_to(token) || answered(&element.inside, token))
}

/// The decisions about an element that hold for every module.
pub(super) struct Plan {
    /// Its place in the pipeline; that of the nest for an element inside one.
    pub(super) position: usize,
    /// Why it does not run.
    pub(super) skip: Option<SkipReason>,
    /// Its steps that do not.
    pub(super) sub_passes: SubPasses,
    /// Whether functions are shown before it.
    pub(super) dumps_before: bool,
    /// Whether functions are shown after it.
    pub(super) dumps_after: bool,
}

/// Which passes run.
pub(super) struct Choice {
    disabled: Tokens,
    enabled: Tokens,
    named: Tokens,
    dump: Tokens,
}

impl Choice {
    pub(super) fn new(elements: &[Element], options: &Options) -> Result<Choice, UnknownPhase> {
        let knob = |knob| options.knobs.text(knob);
        Ok(Choice {
            disabled: Tokens::new(&options.disabled, &knob(Knob::DisablePhases), elements)?,
            enabled: Tokens::new(&[], &knob(Knob::EnablePhases), elements)?,
            named: Tokens::new(&[], &knob(Knob::NamedPhases), elements)?,
            dump: Tokens::new(&options.dump, &knob(Knob::DUMPIR), elements)?,
        })
    }

    /// Why a pass does not run at all.
    pub(super) fn skip(&self, element: &Element, position: usize, options: &Options) -> Option<SkipReason> {
        if options.stop_after.is_some_and(|last| position > last) {
            return Some(SkipReason::Stopped);
        }
        if let Some(refusal) = element.refused() {
            return Some(SkipReason::Guard(refusal));
        }
        match element.status() {
            Status::Planned => return Some(SkipReason::Planned),
            Status::NoWork(_) => return Some(SkipReason::NoWork),
            Status::Built => {}
        }
        if element.min_opt_level > throttle::level_of_first(options) {
            return Some(SkipReason::OptLevel);
        }
        if element.no_op_by_default && !element.is_named && !self.enabled.names(element) {
            return Some(SkipReason::NoOpByDefault);
        }
        let is_on =
            |name: &str| PassOption::named(name).is_some_and(|option| options.pass_options.flag(option) == Some(true));
        if !element.of_sequence && element.off_by.is_some_and(is_on) {
            return Some(SkipReason::PassOption);
        }
        if self.disabled.names(element) {
            return Some(SkipReason::Disabled);
        }
        let named = self.named.is_empty() || self.named.names(element) || self.named.inside(element).next().is_some();
        (!named).then_some(SkipReason::NotNamed)
    }

    /// An element with what runs inside it, if it runs itself; a nest runs where something inside does.
    pub(super) fn running(&self, element: &Element, position: usize, options: &Options) -> Option<Element> {
        if self.skip(element, position, options).is_some() {
            return None;
        }
        let inside = element.inside.iter().filter_map(|inner| self.running(inner, position, options));
        let element = Element { inside: inside.collect(), is_named: true, ..element.clone() };
        let is_nest = matches!(element.run, Some(Run::Nest(_)));
        (!is_nest || !element.inside.is_empty()).then_some(element)
    }

    /// The plan of an element, and behind it those of the elements inside.
    pub(super) fn plan(&self, element: &Element, position: usize, options: &Options, plans: &mut Vec<Plan>) {
        plans.push(Plan {
            position,
            skip: self.skip(element, position, options),
            sub_passes: self.sub_passes(element),
            dumps_before: self.dumps(element, "before", options),
            dumps_after: self.dumps(element, "after", options),
        });
        element.inside.iter().for_each(|inner| self.plan(inner, position, options, plans));
    }

    fn sub_passes(&self, element: &Element) -> SubPasses {
        let only = if self.named.names(element) { Vec::new() } else { self.named.inside(element).collect() };
        SubPasses { disabled: self.disabled.inside(element).collect(), only }
    }

    /// Whether the functions at hand are shown before or after an element.
    fn dumps(&self, element: &Element, when: &str, options: &Options) -> bool {
        let is_on =
            |name: &str| PassOption::named(name).is_some_and(|one| options.pass_options.flag(one) == Some(true));
        self.dump.names(element)
            || self.dump.inside(element).next().is_some()
            || (!options.pass_options.is_default() && is_on(&format!("dump-ir-{when}-{}", element.name)))
    }
}
