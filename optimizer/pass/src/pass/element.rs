//! An element of a pipeline: one place of a pass, with the arguments that it has there.
//!
//! The row says what holds of the pass everywhere. Its identity in a pipeline is its name and the number of the
//! instance, so two places of one pass are told apart by reports, bisection, reduction, faults and findings.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU16;
use std::ops::Deref;
use std::sync::Arc;

use super::refusal::Refusal;
use super::row::{Needs, Row};
use super::run::Run;
use crate::analysis::AnalysisSet;

/// The identity of a pass in a pipeline: its name, and which of the places of that name, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PassId {
    /// The name of the row.
    pub name: &'static str,
    /// The number of the place.
    pub instance: NonZeroU16,
}

impl PassId {
    /// The first place of a name.
    pub const fn first(name: &'static str) -> PassId {
        PassId { name, instance: NonZeroU16::MIN }
    }

    /// `gvn` is the first instance, `gvn#2` the second.
    pub fn label(self) -> Cow<'static, str> {
        match self.instance {
            NonZeroU16::MIN => self.name.into(),
            instance => format!("{}#{instance}", self.name).into(),
        }
    }
}

/// Its label.
impl fmt::Display for PassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label())
    }
}

/// The name and the number of the instance that a text asks for; `None` for the number where it asks for any, and for
/// the whole where the number is none.
pub fn split_instance(text: &str) -> Option<(&str, Option<NonZeroU16>)> {
    match text.split_once('#') {
        None => Some((text, None)),
        Some((name, number)) => Some((name.trim_end(), Some(number.trim_start().parse().ok()?))),
    }
}

/// An argument of an element.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    /// A word of the row.
    Word(&'static str),
    /// A number within the row's bound.
    Number(u32),
    /// No limit: -1.
    Unlimited,
    /// The name of a function.
    Name(Arc<str>),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Word(word) => f.write_str(word),
            Argument::Name(name) => f.write_str(name),
            Argument::Number(number) => number.fmt(f),
            Argument::Unlimited => f.write_str("-1"),
        }
    }
}

/// One place in a pipeline.
#[derive(Clone, Debug)]
pub struct Element {
    /// What holds wherever the pass runs; one of its own where a test or a fault has changed it.
    pub row: Cow<'static, Row>,
    /// Those that it was given, in the order of the row's parameters.
    pub arguments: Vec<Argument>,
    /// Its number among the elements of its name; `None` before it is part of a pipeline.
    pub instance: Option<NonZeroU16>,
    /// Whether somebody has named it, so that it runs though the default pipeline leaves it out.
    pub is_named: bool,
    /// The elements inside, where the row is a nest.
    pub inside: Vec<Element>,
    /// Whether it is in a sequence of cicc, where guards decide, and no option of the row.
    pub of_sequence: bool,
    /// What the guard of its place says against it.
    pub refused: Option<Refusal>,
}

impl Element {
    /// A pass of no table: it accepts functions in SSA form and preserves no analysis.
    pub fn custom(name: &'static str, run: Run) -> Element {
        Element::with_row(Cow::Owned(Row::new(name, run.unit(), Some(run))))
    }

    const fn with_row(row: Cow<'static, Row>) -> Element {
        Element {
            row,
            arguments: Vec::new(),
            instance: None,
            is_named: false,
            inside: Vec::new(),
            of_sequence: false,
            refused: None,
        }
    }

    /// Its row.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Its identity.
    pub fn id(&self) -> PassId {
        PassId { name: self.row.name, instance: self.instance.unwrap_or(NonZeroU16::MIN) }
    }

    /// Whether it is in a sequence of cicc, and was not named by anybody.
    pub fn is_of_sequence(&self) -> bool {
        self.of_sequence
    }

    /// What leaves it out of its pipeline, whatever the module is.
    pub fn refused(&self) -> Option<Refusal> {
        self.refused
    }

    /// Whether a text addresses it: a name, token or number of its row, with the number of an instance or without.
    pub fn answers_to(&self, text: &str) -> bool {
        split_instance(text).is_some_and(|(token, instance)| {
            self.row.answers_to(token) && instance.is_none_or(|instance| instance == self.id().instance)
        })
    }

    /// Whether it and those inside look at one function at a time, and at nothing of the module beside it. An element
    /// without work does.
    pub fn is_on_functions(&self) -> bool {
        self.run.as_ref().is_none_or(Run::is_on_functions) && self.inside.iter().all(Element::is_on_functions)
    }

    /// The same pass under another name.
    pub fn named(mut self, name: &'static str) -> Element {
        self.row.to_mut().name = name;
        self
    }

    /// The same element before it is part of a pipeline, and those inside it.
    pub fn without_number(mut self) -> Element {
        self.instance = None;
        self.inside = self.inside.into_iter().map(Element::without_number).collect();
        self
    }

    /// The same pass with other functions that it accepts.
    pub fn needing(mut self, needs: Needs) -> Element {
        self.row.to_mut().needs = needs;
        self
    }

    /// The same pass with other analyses that it preserves.
    pub fn preserving(mut self, preserves: AnalysisSet) -> Element {
        self.row.to_mut().preserves = preserves;
        self
    }

    /// The same pass with more work behind its own: how a test plants a fault in it. It preserves no analysis then.
    /// One that is planned stays so.
    pub fn followed_by(mut self, more: Run) -> Element {
        let Some(run) = self.row.run.clone() else { return self };
        let run = run.then(more);
        let row = self.row.to_mut();
        (row.unit, row.preserves, row.run) = (run.unit(), AnalysisSet::NONE, Some(run));
        self
    }
}

impl From<&'static Row> for Element {
    fn from(row: &'static Row) -> Element {
        Element::with_row(Cow::Borrowed(row))
    }
}

impl Deref for Element {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}
