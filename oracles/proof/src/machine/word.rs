//! A word whose meaning is being built: its operands as terms, its results.
//!
//! Operands are counted in the order of the text, results among them, predicates apart. Predicates that a bit can
//! invert are read, the others written. Every reader refuses what it does not know of an operand.

use oriole_sass::Instruction;
use oriole_sass::row::{File, Format as Written, NO_BIT, Part, What};

use super::{Place, Results, State};
use crate::meaning::float::Format;
use crate::term::{Term, Terms};

/// The number of the predicate that is always true.
const TRUE: u64 = 7;

/// A word at work.
pub(super) struct Word<'a> {
    pub t: &'a mut Terms,
    state: &'a mut State,
    inst: Instruction<'a>,
    names: Vec<&'static str>,
    operands: Vec<&'a Part>,
    written: Vec<&'a Part>,
    read: Vec<&'a Part>,
    values: Vec<(Place, Term)>,
    /// Which of the predicates that are read, and of those that are written, were asked for, a bit each.
    asked: [u32; 2],
}

/// Changes of an operand before it is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub negate: bool,
    pub absolute: bool,
    pub invert: bool,
}

/// The part of a text behind each dot.
fn words(name: &'static str) -> impl Iterator<Item = &'static str> {
    name.split('.').filter(|word| !word.is_empty())
}

impl<'a> Word<'a> {
    /// The word of an instruction; `None` for one that has operands of other kinds.
    pub fn new(t: &'a mut Terms, state: &'a mut State, inst: Instruction<'a>) -> Option<Word<'a>> {
        let names = words(inst.encoding.name).skip(1).chain(inst.modifiers().flat_map(words)).collect();
        let mut word = Word {
            t,
            state,
            inst,
            names,
            operands: Vec::new(),
            written: Vec::new(),
            read: Vec::new(),
            values: Vec::new(),
            asked: [0; 2],
        };
        for part in &inst.encoding.parts {
            match part.what {
                What::Modifier(_) | What::Word(_) => {}
                What::Register(File::P | File::Up) if part.invert != NO_BIT => word.read.push(part),
                What::Register(File::P | File::Up) => word.written.push(part),
                What::Register(File::R | File::Ur) | What::Immediate(_) | What::Constant => word.operands.push(part),
                _ => return None,
            }
        }
        Some(word)
    }

    /// All modifiers.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether a modifier is written.
    pub fn is(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// The first of these modifiers that is written.
    pub fn one_of<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        choices.iter().find(|(name, _)| self.is(name)).map(|(_, value)| *value)
    }

    /// How many operands there are.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    fn part(&self, at: usize) -> Option<&'a Part> {
        self.operands.get(at).copied()
    }

    /// The value of an operand that is an immediate.
    pub fn immediate(&self, at: usize) -> Option<u64> {
        let part = self.part(at)?;
        matches!(part.what, What::Immediate(_)).then(|| part.value(self.inst.word))
    }

    /// Whether an operand is written in the text.
    pub fn is_shown(&self, at: usize) -> bool {
        self.part(at).is_some_and(|part| part.is_shown(self.inst.word))
    }

    /// The changes of an operand.
    pub fn marks(&self, at: usize) -> Option<Marks> {
        let (part, word) = (self.part(at)?, self.inst.word);
        let negate = part.has(part.negate, word);
        let complements = negate && part.has(part.complement, word);
        let invert = part.has(part.invert, word) || complements;
        Some(Marks { negate: negate && !complements, absolute: part.has(part.absolute, word), invert })
    }

    /// The suffix of an operand.
    pub fn suffix(&self, at: usize) -> Option<&'static str> {
        let Some((bits, names)) = self.part(at)?.suffix else { return Some("") };
        names.get(bits.get(self.inst.word) as usize).copied()
    }

    /// The register of an operand; `None` for the one that is constant.
    fn register(&self, part: &Part) -> Option<Place> {
        let number = part.value(self.inst.word);
        let place = match part.what {
            What::Register(File::R) => Place::General,
            What::Register(File::Ur) => Place::Uniform,
            _ => return None,
        };
        (number != part.at.largest()).then_some(place(number as u8))
    }

    /// The first word of an operand, or one behind it, without marks.
    fn word_of(&mut self, at: usize, behind: u8) -> Option<Term> {
        let part = self.part(at)?;
        let value = part.value(self.inst.word);
        match part.what {
            What::Register(_) => match self.register(part) {
                Some(Place::General(number)) => Some(self.state.read(self.t, Place::General(number + behind))),
                Some(Place::Uniform(number)) => Some(self.state.read(self.t, Place::Uniform(number + behind))),
                _ => Some(self.t.constant(0, 32)),
            },
            What::Constant => {
                let bank = value & part.at.largest();
                let offset = 4 * (value >> part.at.len) as u32 + 4 * u32::from(behind);
                Some(self.state.read(self.t, Place::Constant(bank as u8, offset)))
            }
            _ => None,
        }
    }

    /// An operand of so many bits, 32 or 64, without marks.
    pub fn raw(&mut self, at: usize, width: u32) -> Option<Term> {
        let part = self.part(at)?;
        if let What::Immediate(format) = part.what {
            let value = u128::from(part.value(self.inst.word));
            let bits = u32::from(part.at.len + part.above.len);
            return Some(match format {
                // The upper half of 64 bits, of which the others are zero.
                Written::F64 | Written::HexBy(_) if width == 64 => self.t.constant(value << 32, 64),
                Written::SignedHex if bits < width => {
                    let value = self.t.constant(value, bits);
                    self.t.sign_extend(value, width)
                }
                _ => self.t.constant(value, width),
            });
        }
        let low = self.word_of(at, 0)?;
        if width == 32 {
            return Some(low);
        }
        self.is_even(part).then_some(())?;
        let high = self.word_of(at, 1)?;
        Some(self.t.concat(high, low))
    }

    /// Whether an operand of two words can begin there: not where the second one is the constant register.
    fn is_even(&self, part: &Part) -> bool {
        let number = part.value(self.inst.word);
        !matches!(part.what, What::Register(_))
            || self.register(part).is_none()
            || number.is_multiple_of(2) && number + 1 != part.at.largest()
    }

    /// An operand that has no suffix.
    fn whole(&mut self, at: usize, width: u32) -> Option<Term> {
        matches!(self.suffix(at)?, "" | "B0").then_some(())?;
        self.raw(at, width)
    }

    /// An integer with what is done to it.
    pub fn integer(&mut self, at: usize, width: u32) -> Option<Term> {
        let (value, marks) = (self.whole(at, width)?, self.marks(at)?);
        Some(match marks {
            Marks { invert: true, .. } => self.t.not(value),
            Marks { negate: true, .. } => self.t.neg(value),
            _ => value,
        })
    }

    /// An integer as what it adds to a sum with carries, two bits wider.
    pub fn summand(&mut self, at: usize, width: u32) -> Option<Term> {
        let (value, marks) = (self.whole(at, width)?, self.marks(at)?);
        let flipped = self.t.not(value);
        let wide = self.t.zero_extend(if marks.invert || marks.negate { flipped } else { value }, width + 2);
        let one = self.t.constant(u128::from(marks.negate && !marks.invert), width + 2);
        Some(self.t.add(wide, one))
    }

    /// A float with its marks.
    pub fn float(&mut self, at: usize, format: &Format) -> Option<Term> {
        let (value, marks) = (self.whole(at, format.width())?, self.marks(at)?);
        Some(self.signed(format, value, marks))
    }

    /// A float with marks.
    pub fn signed(&mut self, format: &Format, value: Term, marks: Marks) -> Term {
        let value = if marks.absolute { format.magnitude(self.t, value) } else { value };
        if marks.negate { crate::meaning::float::negate(self.t, value) } else { value }
    }

    /// The predicate that is read by this number among them.
    pub fn truth(&mut self, which: usize) -> Option<Term> {
        let part = *self.read.get(which)?;
        self.asked[0] |= 1 << which;
        self.predicate(part)
    }

    /// How many predicates are read.
    pub fn truths(&self) -> usize {
        self.read.len()
    }

    /// A predicate, as it is inverted.
    fn predicate(&mut self, part: &Part) -> Option<Term> {
        let number = part.value(self.inst.word);
        let place = match part.what {
            What::Register(File::P) => Place::Predicate,
            What::Register(File::Up) => Place::UniformPredicate,
            _ => return None,
        };
        let held = match number {
            TRUE => self.t.bit(true),
            number => self.state.read(self.t, place(number as u8)),
        };
        Some(if part.has(part.invert, self.inst.word) { self.t.not(held) } else { held })
    }

    /// The value in a place.
    pub fn held(&mut self, place: Place) -> Term {
        self.state.read(self.t, place)
    }

    /// Writes a register, or two, by the width of the value.
    pub fn define(&mut self, at: usize, value: Term) -> Option<()> {
        let part = self.part(at)?;
        let width = self.t.width(value);
        if !matches!(part.what, What::Register(_)) || width == 64 && !self.is_even(part) {
            return None;
        }
        let Some(place) = self.register(part) else { return Some(()) };
        for (number, low) in (0..).zip((0..width).step_by(32)) {
            let word = self.t.extract(value, low, 32);
            let place = match place {
                Place::General(first) => Place::General(first + number),
                Place::Uniform(first) => Place::Uniform(first + number),
                other => other,
            };
            self.values.push((place, word));
        }
        Some(())
    }

    /// Writes the predicate by this number among those that are written.
    pub fn decide(&mut self, which: usize, value: Term) -> Option<()> {
        self.written.get(which)?;
        self.asked[1] |= 1 << which;
        if let Some(place) = self.decided(which) {
            self.values.push((place, value));
        }
        Some(())
    }

    /// Where a predicate is written, unless nobody reads it.
    pub fn decided(&self, which: usize) -> Option<Place> {
        let part = self.written.get(which)?;
        let number = part.value(self.inst.word);
        let place = if part.what == What::Register(File::Up) { Place::UniformPredicate } else { Place::Predicate };
        (part.is_shown(self.inst.word) && number != TRUE).then_some(place(number as u8))
    }

    /// Writes a place.
    pub fn put(&mut self, place: Place, value: Term) {
        self.values.push((place, value));
    }

    /// Whether the guard, and with it the file of registers and predicates, is uniform.
    pub fn is_uniform(&self) -> bool {
        self.inst.encoding.guard.what == What::Register(File::Up)
    }

    /// Whether floats have 64 bits: the mnemonic says.
    pub fn is_double(&self) -> bool {
        self.inst.encoding.name.starts_with('D')
    }

    /// The effect of the word; `None` where a predicate means something that nobody has asked for, or is
    /// written and not in the text.
    pub fn results(mut self) -> Option<Results> {
        let inst = self.inst;
        let is_open = |asked: u32, at: usize, part: &Part| {
            asked >> at & 1 == 0 && part.is_shown(inst.word) && part.value(inst.word) != TRUE
        };
        let read = self.read.iter().enumerate().any(|(at, part)| is_open(self.asked[0], at, part));
        let written = self.written.iter().enumerate().any(|(at, part)| is_open(self.asked[1], at, part));
        let hidden = self.written.iter().any(|part| !part.is_shown(inst.word) && part.value(inst.word) != TRUE);
        if read || written || hidden {
            return None;
        }
        let guard = self.predicate(&inst.encoding.guard)?;
        Some(Results { guard, values: self.values })
    }
}
