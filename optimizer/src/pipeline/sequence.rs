//! A pipeline as a value: elements in their order.
//!
//! **Invariant:** each element has the number of its instance, and no two elements of one name, inside nests or
//! outside, have the same. An element keeps its number when others go, so that what is known about `gvn#2` stays about
//! it.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU16;
use std::ops::Deref;
use std::str::FromStr;

use super::table::{PHASES, Phase};
use super::text::{self, TextError};
use oriole_pass::pass::{Element, PassId, Run, Unit};

/// How often the phases over code of the machine run.
const MACHINE_ROUNDS: usize = 5;

/// A list of elements, to be run in their order.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    elements: Vec<Element>,
}

impl Pipeline {
    /// The phases of ptxas, planned ones included.
    pub fn ptxas() -> Pipeline {
        PHASES.iter().map(Element::from).collect()
    }

    /// The phases over code of the machine whose words stay in place: the peephole, copies over its registers, dead
    /// code, and copies that the definition of their source can take over. Five times, since a register that dead code
    /// has written is free for the source of a copy behind it.
    pub fn machine() -> Pipeline {
        let round = [
            Phase::PeepholeGeneric,
            Phase::PeepholeSm,
            Phase::GeneralOptimizeLate2,
            Phase::OriPerformLiveDeadFourth,
            Phase::AdvancedPhaseBackPropVReg,
        ];
        let named = |phase: &Phase| Element { is_named: true, ..Element::from(phase.row()) };
        [round; MACHINE_ROUNDS].as_flattened().iter().map(named).collect()
    }

    /// Adds an element at the end.
    pub fn push(&mut self, element: Element) {
        self.insert(self.elements.len(), element);
    }

    /// Adds an element in front of that at a place.
    ///
    /// # Panics
    ///
    /// There are fewer elements in front of the place.
    pub fn insert(&mut self, at: usize, mut element: Element) {
        let mut numbers = self.numbers();
        number(&mut element, &mut numbers);
        self.elements.insert(at, element);
    }

    /// Puts another element in the place of one.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn replace(&mut self, at: usize, element: Element) {
        self.elements.remove(at);
        self.insert(at, element);
    }

    /// Leaves out the elements that are not wanted, of those that are in no nest.
    pub fn retain(&mut self, wanted: impl FnMut(&Element) -> bool) {
        self.elements.retain(wanted);
    }

    /// Leaves out all elements from a place on.
    pub fn truncate(&mut self, len: usize) {
        self.elements.truncate(len);
    }

    /// Changes the element with an identity; whether there is one.
    pub fn change(&mut self, id: PassId, change: impl FnOnce(Element) -> Element) -> bool {
        match find_mut(&mut self.elements, id) {
            Some(element) => {
                *element = change(element.clone());
                true
            }
            None => false,
        }
    }

    /// All elements, those inside nests behind the nest.
    pub fn all(&self) -> impl Iterator<Item = &Element> {
        all(&self.elements)
    }

    /// Elements that have their numbers.
    pub(super) fn of_numbered(elements: Vec<Element>) -> Pipeline {
        Pipeline { elements }
    }

    /// The elements that no guard leaves out, with their numbers.
    pub fn unguarded(&self) -> Pipeline {
        let elements = self.elements.iter().filter(|element| element.refused().is_none()).cloned();
        Pipeline::of_numbered(elements.collect())
    }

    /// The same work one element after the other, each over the whole module, as far as that is the same: nests of
    /// components alone stay, since what is inside decides by what it has made of the callees.
    pub fn steps(&self) -> Pipeline {
        let mut elements = Vec::with_capacity(self.elements.len());
        self.elements.iter().for_each(|element| flatten(element, &mut elements));
        Pipeline { elements }
    }

    /// The largest number of each name.
    fn numbers(&self) -> HashMap<&'static str, u16> {
        let mut numbers = HashMap::new();
        for id in self.all().map(Element::id) {
            let number: &mut u16 = numbers.entry(id.name).or_default();
            *number = (*number).max(id.instance.get());
        }
        numbers
    }
}

/// Elements in preorder.
pub(super) fn all(elements: &[Element]) -> Box<dyn Iterator<Item = &Element> + '_> {
    Box::new(elements.iter().flat_map(|element| std::iter::once(element).chain(all(&element.inside))))
}

fn find_mut(elements: &mut [Element], id: PassId) -> Option<&mut Element> {
    elements.iter_mut().find_map(|element| match element.id() == id {
        true => Some(element),
        false => find_mut(&mut element.inside, id),
    })
}

fn flatten(element: &Element, into: &mut Vec<Element>) {
    match &element.run {
        Some(Run::Nest(unit)) if *unit != Unit::Component => {
            element.inside.iter().for_each(|inner| flatten(inner, into));
        }
        _ => into.push(element.clone()),
    }
}

/// Gives an element and those inside it the next numbers of their names, unless they have one.
fn number(element: &mut Element, numbers: &mut HashMap<&'static str, u16>) {
    let last = numbers.entry(element.name).or_default();
    let next = NonZeroU16::MIN.saturating_add(*last);
    let given = *element.instance.get_or_insert(next);
    *last = given.get().max(*last);
    element.inside.iter_mut().for_each(|inner| number(inner, numbers));
}

impl FromIterator<Element> for Pipeline {
    fn from_iter<I: IntoIterator<Item = Element>>(elements: I) -> Pipeline {
        let (mut elements, mut numbers): (Vec<Element>, _) = (elements.into_iter().collect(), HashMap::new());
        elements.iter_mut().for_each(|element| number(element, &mut numbers));
        Pipeline { elements }
    }
}

impl<const N: usize> From<[Element; N]> for Pipeline {
    fn from(elements: [Element; N]) -> Pipeline {
        elements.into_iter().collect()
    }
}

impl From<Vec<Element>> for Pipeline {
    fn from(elements: Vec<Element>) -> Pipeline {
        elements.into_iter().collect()
    }
}

impl Deref for Pipeline {
    type Target = [Element];

    fn deref(&self) -> &[Element] {
        &self.elements
    }
}

impl<'a> IntoIterator for &'a Pipeline {
    type Item = &'a Element;
    type IntoIter = std::slice::Iter<'a, Element>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter()
    }
}

impl IntoIterator for Pipeline {
    type Item = Element;
    type IntoIter = std::vec::IntoIter<Element>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.into_iter()
    }
}

/// The text that [`text::parse`] reads as this pipeline.
impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::print(self))
    }
}

impl FromStr for Pipeline {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Pipeline, TextError> {
        text::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(pipeline: &Pipeline) -> Vec<String> {
        pipeline.all().map(|element| element.id().to_string()).collect()
    }

    fn pipeline(text: &str) -> Pipeline {
        text.parse().expect("a pipeline")
    }

    #[test]
    fn places_of_one_name_are_numbered_and_keep_their_numbers() {
        let mut some = pipeline("gvn,function(licm,gvn),gvn");
        assert_eq!(ids(&some), ["gvn", "function", "licm", "gvn#2", "gvn#3"]);
        some.retain(|element| element.id() != PassId::first("gvn"));
        assert_eq!(ids(&some), ["function", "licm", "gvn#2", "gvn#3"]);
        let row = super::super::table::PASSES.iter().find(|row| row.name == "gvn").expect("gvn has a row");
        some.push(Element::from(row));
        assert_eq!(ids(&some).last().map(String::as_str), Some("gvn#4"));
    }

    #[test]
    fn an_element_inside_a_nest_is_changed_by_its_identity() {
        let mut some = pipeline("gvn,function(licm,gvn)");
        let second = PassId { name: "gvn", instance: NonZeroU16::MIN.saturating_add(1) };
        assert!(some.change(second, |element| element.needing(oriole_pass::pass::Needs::MACHINE)));
        let needs: Vec<_> = some.all().map(|element| element.needs == oriole_pass::pass::Needs::MACHINE).collect();
        assert_eq!(needs, [false, false, false, true]);
        assert!(!some.change(PassId::first("dse"), |element| element));
    }

    #[test]
    fn steps_leave_nests_of_components_alone() {
        let some = pipeline("module(gvn,cgscc<2>(inline,function(gvn)),function(loop(licm)))");
        let names: Vec<String> = some.steps().iter().map(|element| element.id().to_string()).collect();
        assert_eq!(names, ["gvn", "cgscc", "licm"]);
    }
}
