//! Choice of encodings: the same instruction, with something cheaper in the place of a register (`spec/peephole.txt`,
//! "Rewrite-Action Enumeration").
//!
//! The document's tables are 72 actions, pairs of a primary and an alternate form, and 245 templates. Here a
//! [`Choice`] says of one source of a family of instructions that it may be `RZ`, an immediate, a word of a constant
//! bank or a uniform register where the source is known to hold that; [`CHOICES`] has them all. A [`Pair`] is a source
//! for which a family has both: the register form, and one with another operand.
//!
//! There are 189 choices, not 244, and 49 pairs, not 36: those that occur in code. What the document has beside them
//! are these families. Tensor reshapes with 12 and 22 mappings: no instruction of the machine has so many operands.
//! Predicated forms (modifier 0x0b): each word has a guard, so there is no second form. Scopes and orders: an access
//! is as strong as PTX says. Addressing modes (0x07): offsets and bases are no choice between words of the same
//! operands. Combinations of two instructions: those are rules, with a category each, in the files of rules.
//!
//! **Invariant:** an instruction gets another word of its own mnemonic, and its sources have the values that they had.

mod table;

use oriole_ir::{Inst, Operand, RegFile};
use oriole_sass::row::{Form, Format, What};

pub use table::CHOICES;

use super::build::{Builder, Candidate};
use super::matcher::marks;
use super::values::{Origin, Several, Values};

/// The things that a source may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `RZ` for an immediate that is zero: another source may be an immediate then.
    Freed,
    /// `RZ` for a register that holds zero.
    Zero,
    /// An immediate.
    Immediate,
    /// A word of a constant bank, before `sm_100`.
    Bank,
    /// A uniform register.
    Uniform,
}

impl Kind {
    /// Every kind, in the order in which they are tried, with its name.
    pub const NAMES: [(Kind, &'static str); 5] = [
        (Kind::Freed, "freed"),
        (Kind::Zero, "zero"),
        (Kind::Immediate, "immediate"),
        (Kind::Bank, "bank"),
        (Kind::Uniform, "uniform"),
    ];

    /// The modifier of the document whose role it has.
    pub fn modifier(self) -> u8 {
        match self {
            Kind::Freed => 0x03,
            Kind::Zero => 0x05,
            Kind::Immediate => 0x22,
            Kind::Bank => 0x06,
            Kind::Uniform => 0x19,
        }
    }
}

/// The modifiers of the 245 templates of the document with the number of cases that it counts.
pub const DOCUMENT: [(u8, usize); 10] = [
    (0x05, 78),
    (0x22, 46),
    (0x03, 37),
    (0x0b, 21),
    (0x19, 20),
    (0x0a, 17),
    (0x06, 9),
    (0x07, 9),
    (0x13, 6),
    (0x17, 1),
];

/// One source of a family of instructions, and what may stand there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Its name, by which it is counted.
    pub name: &'static str,
    /// The mnemonic, with modifiers that are always there.
    pub family: &'static str,
    /// The place among the sources.
    pub at: usize,
    /// The thing that is there.
    pub kind: Kind,
    /// An SM that has both words of the example.
    pub sm: u16,
    /// An instruction before.
    pub before: &'static str,
    /// The same one behind it.
    pub after: &'static str,
}

/// A source that has a primary and an alternate form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The register form.
    pub primary: &'static Choice,
    /// The one with another operand.
    pub alternate: &'static Choice,
}

/// The pairs, by family and source. The alternate form is the first of immediate, bank and uniform register.
pub fn pairs() -> impl Iterator<Item = Pair> {
    let of = |choice: &&Choice| choice.kind == Kind::Zero;
    CHOICES.iter().filter(of).filter_map(|primary| {
        let is_other =
            |choice: &&Choice| (choice.family, choice.at) == (primary.family, primary.at) && choice.kind > Kind::Zero;
        Some(Pair { primary, alternate: CHOICES.iter().find(is_other)? })
    })
}

/// The choices for a family of instructions.
fn of(family: &str) -> &'static [Choice] {
    let start = CHOICES.partition_point(|choice| choice.family < family);
    let rest = &CHOICES[start..];
    &rest[..rest.partition_point(|choice| choice.family == family)]
}

/// The first choice that fits an instruction, and what it makes of it.
pub(super) fn chosen(
    builder: &mut Builder<'_>,
    values: &Values,
    inst: Inst,
    old: &Candidate,
    sources: &[Several],
) -> Option<(&'static str, Candidate)> {
    let family = builder.func.inst(inst).machine_row()?.name;
    of(family).iter().find_map(|choice| {
        let (operand, known) = (*old.srcs.get(choice.at)?, sources.get(choice.at)?);
        let mut candidate = old.clone();
        candidate.srcs[choice.at] = choice.kind.operand(builder, values, operand, known)?;
        let is_word = candidate != *old && builder.fits(inst, &candidate);
        (is_word && choice.kind.is_whole(builder, inst, old, &candidate)).then_some((choice.name, candidate))
    })
}

impl Kind {
    /// The thing in the place of an operand with these values.
    fn operand(self, builder: &mut Builder<'_>, values: &Values, old: Operand, known: &Several) -> Option<Operand> {
        let Some(reg) = old.reg() else {
            let is_zero = self == Kind::Freed && builder.func.imm_bits(old) == Some(0);
            return is_zero.then(|| Operand::wired(RegFile::R, 1));
        };
        let info = builder.func.regs()[reg];
        let origins: Several = known.clone();
        let origin = |at: usize| origins.get(at).map(|value| values.origin(*value));
        let new = match (self, info.file) {
            (Kind::Zero, RegFile::R | RegFile::UR) => {
                let is_zero = known.iter().all(|value| values.origin(*value) == Origin::Bits(0));
                is_zero.then(|| Operand::wired(info.file, info.words))?
            }
            // A double is its upper half, where the lower one is zero.
            (Kind::Immediate, RegFile::R) if marks(old).is_none() => match (origin(0)?, origin(1), known.len()) {
                (Origin::Bits(bits), None, 1) | (Origin::Bits(0), Some(Origin::Bits(bits)), 2) => {
                    builder.func.imm(bits)
                }
                _ => return None,
            },
            (Kind::Bank, RegFile::R) => match (origin(0)?, origin(1), known.len()) {
                (Origin::Bank(bank, offset), None, 1) => Operand::constant(bank, offset),
                (Origin::Bank(bank, offset), Some(Origin::Bank(other, above)), 2)
                    if bank == other && above == offset + 4 && offset.is_multiple_of(8) =>
                {
                    Operand::constant(bank, offset)
                }
                _ => return None,
            },
            (Kind::Uniform, RegFile::R) if builder.is_serial => {
                Operand::Reg(values.holder(builder.func, RegFile::UR, known)?)
            }
            _ => return None,
        };
        new.with_modifiers(marks(old))
    }

    /// Whether the new word reads the same of its operand: a half of an immediate is not that of a register, and an
    /// immediate is freed only where a register takes its place.
    fn is_whole(self, builder: &Builder<'_>, inst: Inst, old: &Candidate, new: &Candidate) -> bool {
        let form = |candidate| builder.encoding(inst, candidate).map(|encoding| encoding.form);
        match self {
            Kind::Freed => matches!(form(old), Some(Form::Ir | Form::Ri)) && form(new) == Some(Form::Rr),
            Kind::Immediate => builder.encoding(inst, new).is_some_and(|encoding| {
                let is_half = |what| matches!(what, What::Immediate(Format::F16 | Format::Bf16));
                let is_double = |what| what == What::Immediate(Format::F64);
                let has_pair = old.srcs.iter().zip(&new.srcs).any(|(old, new)| {
                    old != new && builder.func.operand_info(*old).is_some_and(|info| info.words == 2)
                });
                !encoding.parts.iter().any(|part| is_half(part.what))
                    && encoding.parts.iter().any(|part| is_double(part.what)) == has_pair
            }),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
