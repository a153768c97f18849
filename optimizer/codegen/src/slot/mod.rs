//! The property slots of instructions: `queryModifier(instr, slot)` of `spec/peephole.txt`, for both levels.
//!
//! The document lists 42 slots that ptxas's matchers read, with numbers of some of their values. [`SLOTS`] has a row
//! for each. A slot is stored, in a field of the virtual level or in the words of a mnemonic of the machine; or it is
//! derived, by a function of the instruction, its operands and the SM; or it has no counterpart here, and the row says
//! why. The document gives few values a name: a name that it does not give is ours, and where we know none, the row
//! keeps the number without one.
//!
//! [`query`] asks the sources of a slot in this order: fields, words, function. A property that an instruction does not
//! have is `None`. ptxas's -1 is a number, and `value - 547 > 1` lets it pass.
//!
//! Values without a number in the document have one from 4096 on: those of fields that of [`Field::code`], all others
//! one from [`OWN`] on.

mod derived;
mod table;

use oriole_ir::ops::Field;
use oriole_ir::{Function, Inst};
use oriole_pass::analysis::Divergence;
use oriole_pass::pass::Progress;
use oriole_sass::Table;

pub use table::SLOTS;

/// The first number of values that neither the document nor a field numbers.
pub const OWN: u16 = 16384;

/// A property of instructions.
pub struct Slot {
    /// Its number in ptxas.
    pub number: u16,
    /// Its name in the document.
    pub name: &'static str,
    /// Its meaning here.
    pub doc: &'static str,
    /// The fields of the virtual level that hold it.
    pub fields: &'static [Field],
    /// The words of mnemonics that hold it at the machine level; the first that has such instructions answers.
    pub words: &'static [Words],
    /// The function that derives it.
    pub function: Option<fn(&Asked<'_>) -> Option<u16>>,
    /// The values that the document numbers, with what they are here; `""` where nobody knows.
    pub values: &'static [(u16, &'static str)],
    /// Why nothing here has it.
    pub missing: Option<&'static str>,
}

/// The meaning of words of mnemonics.
pub struct Words {
    /// The instructions, by the first words of their mnemonics.
    pub of: &'static [&'static str],
    /// Words and what they mean.
    pub means: &'static [(&'static str, Code)],
    /// Which of several words counts.
    pub counts: Counts,
    /// The value of an instruction without such a word.
    pub otherwise: Option<Code>,
}

/// Which of the words of a mnemonic counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// The first.
    First,
    /// The last.
    Last,
}

/// The number of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// This one.
    Known(u16),
    /// That of a field's value, by its index.
    Of(Field, u8),
}

impl Code {
    fn number(self) -> u16 {
        match self {
            Code::Known(number) => number,
            Code::Of(field, index) => field.code(index),
        }
    }
}

/// Where a slot comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Instructions hold it.
    Stored,
    /// A function derives it; a field or a word may say it, too.
    Derived,
    /// Nothing here has it.
    NoCounterpart,
}

impl Slot {
    /// Where it comes from.
    pub fn kind(&self) -> Kind {
        match (self.missing, self.function) {
            (Some(_), _) => Kind::NoCounterpart,
            (None, Some(_)) => Kind::Derived,
            (None, None) => Kind::Stored,
        }
    }
}

/// An instruction whose slots are asked for, and what is known around it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Its function.
    pub func: &'a Function,
    /// It.
    pub inst: Inst,
    /// The encodings of the SM, if one is chosen.
    pub table: Option<&'static Table>,
    /// How far the pipeline has come.
    pub progress: Progress,
    /// Which registers are the same for all lanes, if somebody has looked.
    pub divergence: Option<&'a Divergence>,
}

impl<'a> Asked<'a> {
    /// An instruction of which nothing more is known.
    pub fn new(func: &'a Function, inst: Inst) -> Asked<'a> {
        Asked { func, inst, table: None, progress: Progress::default(), divergence: None }
    }

    /// The mnemonic of an instruction of the machine.
    fn mnemonic(&self) -> Option<String> {
        self.func.mnemonic(self.inst)
    }
}

/// The slot with a number, if the document lists it.
pub fn slot(number: u16) -> Option<&'static Slot> {
    SLOTS.binary_search_by_key(&number, |slot| slot.number).ok().map(|at| &SLOTS[at])
}

/// The number of the value that an instruction has in a slot; `None` where it has none, or where nothing is known of
/// the slot.
pub fn query(asked: &Asked<'_>, number: u16) -> Option<u16> {
    let slot = slot(number)?;
    let data = asked.func.inst(asked.inst);
    let field = || slot.fields.iter().find_map(|field| data.query(*field));
    field().or_else(|| said(asked, slot.words)).or_else(|| slot.function.and_then(|of| of(asked)))
}

/// The value that the words of a mnemonic have in a slot.
fn said(asked: &Asked<'_>, words: &[Words]) -> Option<u16> {
    let mnemonic = asked.mnemonic()?;
    let mut parts = mnemonic.split('.');
    let first = parts.next()?;
    let own = words.iter().find(|words| words.of.contains(&first))?;
    let meaning = |part: &str| own.means.iter().find(|(word, _)| *word == part).map(|(_, code)| *code);
    let mut found = parts.filter_map(meaning);
    let found = match own.counts {
        Counts::First => found.next(),
        Counts::Last => found.next_back(),
    };
    found.or(own.otherwise).map(Code::number)
}

#[cfg(test)]
mod tests;
