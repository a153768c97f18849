//! The registers around instructions, as terms.

use std::collections::BTreeMap;

use super::Results;
use crate::term::{Term, Terms};

/// Where an instruction reads a value of one word, or a predicate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// A general register, by its number.
    General(u8),
    /// A uniform register.
    Uniform(u8),
    /// A predicate.
    Predicate(u8),
    /// A uniform predicate.
    UniformPredicate(u8),
    /// A word of a constant bank: the bank, and the offset in bytes. Nothing writes it.
    Constant(u8, u32),
}

impl Place {
    /// The width of a value there in bits.
    pub fn width(self) -> u32 {
        match self {
            Place::Predicate(_) | Place::UniformPredicate(_) => 1,
            _ => 32,
        }
    }
}

/// The values of registers before and after instructions: a variable for each that is read before it is written.
#[derive(Clone, Debug, Default)]
pub struct State {
    now: BTreeMap<Place, Term>,
    inputs: Vec<(Place, Term)>,
}

impl State {
    /// Registers of which nothing is known.
    pub fn new() -> State {
        State::default()
    }

    /// The variables of what registers held at first, in the order in which they were read.
    pub fn inputs(&self) -> &[(Place, Term)] {
        &self.inputs
    }

    /// The value in a place.
    pub fn read(&mut self, terms: &mut Terms, place: Place) -> Term {
        if let Some(term) = self.now.get(&place) {
            return *term;
        }
        let input = terms.variable(format!("{place:?}"), place.width());
        self.inputs.push((place, input));
        self.now.insert(place, input);
        input
    }

    /// Writes what an instruction does, where its guard holds.
    pub fn write(&mut self, terms: &mut Terms, results: &Results) {
        for (place, value) in &results.values {
            let before = self.read(terms, *place);
            let after = terms.ite(results.guard, *value, before);
            self.now.insert(*place, after);
        }
    }
}
