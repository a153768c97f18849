//! An entry of a sequence: a pass at one place, with its arguments, its guard, and its line of the document.

use super::guard::{Guard, Term, Under};
use crate::pipeline::table::{NESTS, PASSES};
use oriole_pass::pass::{Argument, Element, PassOption, PassOptions, Refusal};

/// An argument, as far as it is known before options are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// This word.
    Word(&'static str),
    /// This number.
    Number(u32),
    /// No limit.
    Unlimited,
    /// 1 where the switch at this offset is on, 0 where it is off.
    Switch(u16),
    /// The first word where the switch at this offset is on, else the second.
    Either(u16, &'static str, &'static str),
}

impl Given {
    /// The offset of the slot that it asks.
    pub fn offset(self) -> Option<u16> {
        match self {
            Given::Word(_) | Given::Number(_) | Given::Unlimited => None,
            Given::Switch(offset) | Given::Either(offset, ..) => Some(offset),
        }
    }

    fn under(self, under: &Under<'_>) -> Argument {
        match self {
            Given::Word(word) => Argument::Word(word),
            Given::Number(number) => Argument::Number(number),
            Given::Unlimited => Argument::Unlimited,
            Given::Switch(offset) => Argument::Number(u32::from(under.holds(offset))),
            Given::Either(offset, on, off) => Argument::Word(if under.holds(offset) { on } else { off }),
        }
    }
}

/// `memory-space-opt` as the switch at an offset says.
pub(super) const fn memory_space(offset: u16) -> Given {
    Given::Either(offset, "first-time", "second-time")
}

/// The last look at memory spaces, over the joins that inlining has made.
pub(super) const SECOND_TIME: Given = Given::Word("second-time");

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its line of `spec/pass-pipeline.txt`.
    pub line: u16,
    /// The name of the pass.
    pub pass: &'static str,
    /// Its arguments.
    pub arguments: &'static [Given],
    /// When it runs.
    pub guard: Guard,
    /// What is inside, where the pass is a nest.
    inside: &'static [Inside],
}

/// An element inside a nest; our own choice, where the document says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Inside {
    Pass(&'static str),
    Nest(&'static str, &'static [Inside]),
}

/// A pass under conditions that must all hold.
pub(super) const fn at(
    line: u16,
    pass: &'static str,
    arguments: &'static [Given],
    conditions: &'static [Term],
) -> Entry {
    Entry { line, pass, arguments, guard: Guard::All(conditions), inside: &[] }
}

/// A pass under conditions of which one must hold.
pub(super) const fn either(line: u16, pass: &'static str, conditions: &'static [Term]) -> Entry {
    Entry { guard: Guard::Any(conditions), ..at(line, pass, &[], &[]) }
}

/// The standard pipeline of LLVM, sub_1A62BF0, with inlining or without: at most so many rounds over each component.
pub(super) const fn standard(
    line: u16,
    rounds: &'static [Given; 1],
    inlines: bool,
    conditions: &'static [Term],
) -> Entry {
    let inside = if inlines { INLINE } else { SIMPLIFY };
    Entry { inside, ..at(line, "cgscc", rounds, conditions) }
}

use Inside::{Nest, Pass};

/// What LLVM's own inliner pipeline is at heart: what a component calls is simple when its callers look at it.
const INLINE: &[Inside] = &[Pass("inline"), Pass("function-attrs"), Nest("function", FUNCTION)];
const SIMPLIFY: &[Inside] = &[Pass("function-attrs"), Nest("function", FUNCTION)];
const FUNCTION: &[Inside] = &[
    Pass("sroa"),
    Pass("early-cse"),
    Pass("jump-threading"),
    Pass("correlated-propagation"),
    Pass("simplifycfg"),
    Pass("instcombine"),
    Pass("dse"),
    Pass("adce"),
];

impl Entry {
    /// The rows of which its element and those inside are made; for tests.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        fn add(inside: &[Inside], into: &mut Vec<&'static str>) {
            for one in inside {
                match one {
                    Pass(name) => into.push(name),
                    Nest(name, inside) => {
                        into.push(name);
                        add(inside, into);
                    }
                }
            }
        }
        let mut names = vec![self.pass];
        add(self.inside, &mut names);
        names
    }

    /// Its element under options and in a tier.
    pub(super) fn element(&self, under: &Under<'_>) -> Element {
        let refused = self.guard.refusal(under);
        Element {
            arguments: self.arguments.iter().map(|argument| argument.under(under)).collect(),
            of_sequence: true,
            refused,
            inside: self.inside.iter().map(|inside| inside.element(refused, under.options)).collect(),
            ..named(self.pass)
        }
    }
}

impl Inside {
    /// Its element. It has no guard of its own, so the option of its row decides.
    fn element(self, refused: Option<Refusal>, options: &PassOptions) -> Element {
        let (name, inside) = match self {
            Pass(name) => (name, &[][..]),
            Nest(name, inside) => (name, inside),
        };
        let element = named(name);
        let off_by = element.off_by.and_then(PassOption::named);
        let off = off_by.filter(|option| options.flag(*option) == Some(true));
        let refused = refused.or(off.map(|option| Refusal::Option(option, true)));
        let inside = inside.iter().map(|inside| inside.element(refused, options)).collect();
        Element { inside, refused, of_sequence: true, ..element }
    }
}

/// An element of the row with a name, which is wanted, also where it is a hook that others leave empty.
pub(super) fn named(name: &str) -> Element {
    let row = PASSES.iter().chain(NESTS).find(|row| row.name == name);
    Element { is_named: true, ..Element::from(row.expect("every name in a sequence has a row, as a test holds")) }
}
