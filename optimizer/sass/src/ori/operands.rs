//! What the parts of a word are in Ori, whatever function it is in.

use oriole_ir::{Modifiers, PhysicalReg, RegFile};

use crate::encoding::Encoding;
use crate::row::{File, NO_BIT, Part, RESERVED, Show, What};

/// An operand apart from its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A register.
    Reg(PhysicalReg, Modifiers),
    /// Bits.
    Imm(u64),
    /// A word of a constant bank.
    Const { bank: u8, offset: u32, modifiers: Modifiers },
    /// A name.
    Name(&'static str),
    /// A special register without a name, by its number.
    Special(u8),
}

/// An operand, and whether it is a result.
pub type Placed = (Item, bool);

/// How many predicates can be written.
const PREDICATES: u8 = 7;

/// The file of Ori, for those that it has.
pub fn file(file: File) -> Option<RegFile> {
    Some(match file {
        File::R => RegFile::R,
        File::Ur => RegFile::UR,
        File::P => RegFile::P,
        File::Up => RegFile::UP,
        File::B => RegFile::B,
        File::Sb => return None,
    })
}

/// Marks of a part by their bits.
pub fn marks(part: &Part) -> impl Iterator<Item = (u8, Modifiers)> {
    let all = [
        (part.negate, Modifiers::NEGATE),
        (part.absolute, Modifiers::ABSOLUTE),
        (part.invert, Modifiers::INVERT),
        (part.reuse, Modifiers::REUSE),
    ];
    all.into_iter().filter(|(bit, _)| *bit != NO_BIT)
}

fn modifiers(part: &Part, word: u128) -> Modifiers {
    let set = marks(part).filter(|(bit, _)| part.has(*bit, word));
    set.fold(Modifiers::NONE, |all, (_, modifier)| all.or(modifier))
}

/// The number that always reads as zero or true, of files that have one.
fn constant_number(file: RegFile) -> Option<u8> {
    match file {
        RegFile::R | RegFile::UR => Some(u8::MAX),
        RegFile::P | RegFile::UP => Some(PREDICATES),
        RegFile::B => None,
    }
}

/// The parts of an encoding in the order in which Ori has their operands: names and numbers first where they say how
/// many registers the others name, else that of the text.
pub fn ordered(encoding: &Encoding) -> impl Iterator<Item = &Part> {
    let says = |part: &&Part| matches!(part.what, What::Name(_) | What::Immediate(_)) && encoding.widths.is_some();
    encoding.parts.iter().filter(says).chain(encoding.parts.iter().filter(move |part| !says(part)))
}

/// The operands of a part of a word. A part that nothing reads has none.
pub fn of_part(encoding: &Encoding, part: &Part, word: u128, out: &mut Vec<Placed>) {
    if part.show == Show::Never {
        return;
    }
    let taken = |item| (item, false);
    match part.what {
        What::Modifier(_) => return,
        What::B(_) | What::C(_) | What::Low(_) => return,
        What::Word(_) => return out.extend(implied(encoding, part, word)),
        What::Mark(_) => {
            return out.extend(part.name(word).filter(|name| !name.is_empty()).map(|n| taken(Item::Name(n))));
        }
        What::Name(_) => out.extend(part.name(word).map(|name| taken(Item::Name(name)))),
        What::Special(_) => out.push(taken(match part.name(word) {
            Some(name) if !name.is_empty() => Item::Name(name),
            _ => Item::Special(part.value(word) as u8),
        })),
        What::Constant | What::ConstantByte => {
            let scale = if part.what == What::Constant { 4 } else { 1 };
            let (bank_number, offset) = (part.at.get(word) as u8, part.above.get(word) as u32 * scale);
            out.push(taken(Item::Const { bank: bank_number, offset, modifiers: modifiers(part, word) }));
        }
        What::Register(_)
        | What::Base
        | What::UniformBase
        | What::Descriptor
        | What::Within(_)
        | What::Beside(_)
        | What::Indexed(_) => {
            registers(encoding, part, word, out);
        }
        What::Bindless | What::BindlessByte => {
            registers(encoding, part, word, out);
            out.push(taken(Item::Imm(part.above.get(word))));
        }
        What::Immediate(_)
        | What::Offset
        | What::WideOffset
        | What::Target
        | What::TargetByte
        | What::TargetBehind
        | What::Distance
        | What::Place
        | What::Mask => out.push(taken(Item::Imm(part.value(word)))),
    }
    let suffix = part.suffix.filter(|(bits, _)| !bits.is_empty());
    let name = suffix.and_then(|(bits, names)| names.get(bits.get(word) as usize));
    out.extend(name.filter(|name| !name.is_empty()).map(|name| taken(Item::Name(name))));
}

/// The file whose predicates a word such as `PR` stands for.
pub fn predicates(part: &Part) -> Option<RegFile> {
    match part.what {
        What::Word("PR") => Some(RegFile::P),
        What::Word("UPR") => Some(RegFile::UP),
        _ => None,
    }
}

/// The predicates that `PR` stands for: those of the mask, where that is an immediate, else all.
fn implied(encoding: &Encoding, part: &Part, word: u128) -> impl Iterator<Item = Placed> {
    let mask = encoding.parts.iter().find(|part| matches!(part.what, What::Immediate(_)));
    let mask = mask.map_or(u64::MAX, |mask| mask.value(word));
    let (file, is_written) = (predicates(part), part.is_written());
    let numbers = (0..PREDICATES).filter(move |number| mask >> number & 1 == 1);
    file.into_iter().flat_map(move |file| {
        let reg = move |number| PhysicalReg { file, number, words: 1 };
        numbers.clone().map(move |number| (Item::Reg(reg(number), Modifiers::NONE), is_written))
    })
}

/// The registers that a part names. Those that the word does not read or write are no registers of it, and are there
/// as a number, unless they are constant.
fn registers(encoding: &Encoding, part: &Part, word: u128, out: &mut Vec<Placed>) {
    let number = part.number(word);
    let is_constant = part.constant_number() == Some(number);
    let is_used = is_named(encoding, part, word);
    let known = part.file().and_then(file).filter(|file| is_used && has(*file, number) || is_constant);
    let Some(file) = known else { return out.push((Item::Imm(number), false)) };
    let first = constant_number(file).filter(|_| is_constant).unwrap_or(number as u8);
    let (count, modifiers) = (encoding.words(part, word), modifiers(part, word));
    let is_result = is_used && part.is_written();
    if is_constant {
        let words = if (1..=PhysicalReg::widest(file)).contains(&count) { count } else { 1 };
        return out.push((Item::Reg(PhysicalReg { file, number: first, words }, modifiers), is_result));
    }
    out.extend(named(file, first, count).map(|reg| (Item::Reg(reg, modifiers), is_result)));
}

/// Whether a word reads or writes what a part names: no element of a texture may be wanted there.
pub fn is_named(encoding: &Encoding, part: &Part, word: u128) -> bool {
    part.is_used(word) && encoding.words(part, word) > 0
}

/// Whether a file has a register of its own with this number.
fn has(file: RegFile, number: u64) -> bool {
    number < PhysicalReg::count(file).into()
}

/// So many neighbours of a file as registers: one, or several where the machine has no one for them.
pub fn named(file: RegFile, first: u8, count: u8) -> impl Iterator<Item = PhysicalReg> {
    let is_one = |number, words| PhysicalReg { file, number, words }.is_aligned();
    let each = match count {
        1..=4 if is_one(first, count) => count,
        // Matrices take more registers than one operand can name.
        8.. if count.is_multiple_of(4)
            && is_one(first, 4)
            && first.checked_add(count - 4).is_some_and(|last| is_one(last, 4)) =>
        {
            4
        }
        _ => 1,
    };
    let end = (u16::from(first) + u16::from(count)).min(PhysicalReg::count(file));
    (u16::from(first)..end).step_by(each.into()).map(move |number| PhysicalReg {
        file,
        number: number as u8,
        words: each,
    })
}

/// The codes of a modifier that can be written, with their names.
pub fn codes(names: &'static [&'static str]) -> impl Iterator<Item = (u64, &'static str)> {
    (0..).zip(names.iter().copied()).filter(|(_, name)| *name != RESERVED)
}

/// The mnemonic of a word with all of its modifiers.
pub fn mnemonic(encoding: &Encoding, word: u128) -> String {
    let modifiers = encoding.parts.iter().filter(|part| part.show != Show::Never);
    let names = modifiers.filter_map(|part| match part.what {
        What::Modifier(_) => part.name(word).filter(|name| !name.is_empty()),
        _ => None,
    });
    names.fold(encoding.name.to_owned(), |text, name| text + "." + name)
}
