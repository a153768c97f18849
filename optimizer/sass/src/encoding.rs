//! Encodings: rows of the table, one for each form that an SM has, with every operand in its place.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::bits::Bits;
use super::class::Class;
use super::row::{Alias, File, Form, Format, Marks, NO_BIT, Names, Part, RESERVED, Row, Rule, Show, What, Widths};
use super::table;

/// The guard of every instruction: a predicate, and whether it is inverted.
pub const GUARD: Part = Part::new(What::Register(File::P), Bits::new(12, 3)).not(15);

/// The opcode with its form.
pub const OPCODE: Bits = Bits::new(0, 12);

/// One encoding: the bits that tell it from others, and what owns the rest.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// The mnemonic, with modifiers that are always there.
    pub name: &'static str,
    /// The form.
    pub form: Form,
    /// Modifiers and operands, in the order of the text.
    pub parts: Vec<Part>,
    /// Other names.
    pub alias: Option<Alias>,
    /// Which words are none although their parts say nothing against them.
    pub rule: Option<Rule>,
    /// The bits that have a value of their own, the opcode among them, and those of nobody.
    pub fixed: u128,
    /// What is in the fixed bits.
    pub value: u128,
    /// The guard's file.
    pub guard: Part,
    /// How many registers parts name, where more than one modifier decides.
    pub widths: Option<Widths>,
    /// What it does beside writing its results, and how long that takes.
    pub class: Class,
    /// The bits that parts, guard and scheduling own, less those that are fixed.
    owned: u128,
    /// The parts that have no name for some of their codes.
    checks: Vec<Check>,
}

/// A modifier, a named operand or a suffix with codes that stand for nothing.
#[derive(Clone, Copy, Debug)]
struct Check {
    /// Its value.
    part: Part,
    names: Names,
    /// Of the codes below 64, those that have a name.
    named: u64,
}

impl Check {
    /// The check of a suffix and that of a part; none where every code has a name.
    fn of(part: &Part) -> impl Iterator<Item = Check> + use<> {
        let suffix = part.suffix.map(|(bits, names)| (Part::new(What::Modifier(names), bits), names));
        let own = match part.what {
            What::Modifier(names) | What::Name(names) if part.show != Show::Never => Some((*part, names)),
            _ => None,
        };
        suffix.into_iter().chain(own).filter_map(|(part, names)| {
            let codes = 1u64.checked_shl(u32::from(part.at.len + part.above.len));
            let named = |code: u64| names.get(code as usize).is_some_and(|name| *name != RESERVED);
            let bits = (0..64).filter(|code| named(*code)).fold(0, |bits, code| bits | 1 << code);
            let is_total = codes.is_some_and(|codes| codes <= 1 << 12 && (0..codes).all(named));
            (!is_total).then_some(Check { part, names, named: bits })
        })
    }

    #[inline]
    fn passes(&self, word: u128) -> bool {
        match self.part.value(word) {
            code @ 0..64 => self.named >> code & 1 == 1,
            code => self.names.get(code as usize).is_some_and(|name| *name != RESERVED),
        }
    }
}

/// The bits that scheduling owns: 105 to 121. The two on top are zero in every word.
pub const SCHEDULE: Bits = Bits::new(105, 17);

impl Encoding {
    /// Whether a word is of this encoding: what is fixed is in it.
    #[inline]
    pub fn matches(&self, word: u128) -> bool {
        word & self.fixed == self.value
    }

    /// The lowest bit and the code of a part that has no name for it.
    #[inline]
    pub(crate) fn nameless(&self, word: u128) -> Option<(u8, u64)> {
        let check = self.checks.iter().find(|check| !check.passes(word))?;
        Some((check.part.at.low, check.part.value(word)))
    }

    /// The bits that parts, guard and scheduling own, less those that are fixed.
    pub fn owned(&self) -> u128 {
        self.owned
    }

    /// The parts whose bits overlap those of another part, or of what is fixed. What is written twice may.
    pub fn overlaps(&self) -> Vec<Part> {
        let mut owned = OPCODE.mask() | GUARD.mask() | SCHEDULE.mask();
        let mut found = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            let is_repeated = self.parts[..i].iter().any(|other| other.at == part.at && other.what == part.what);
            if owned & part.mask() != 0 && !is_repeated {
                found.push(*part);
            }
            owned |= part.mask();
        }
        found
    }
}

/// The encodings that an SM has.
#[derive(Debug)]
pub struct Table {
    /// The SM's number.
    pub sm: u16,
    encodings: Vec<Encoding>,
    /// By the opcode with its form: the encodings' range in `order`.
    starts: Vec<u16>,
    /// By the mnemonic up to its first dot: the encodings' places.
    families: BTreeMap<&'static str, Vec<u16>>,
}

/// How many bits a uniform register has on an SM.
const fn uniform_bits(sm: u16) -> u8 {
    if sm < 100 { 6 } else { 8 }
}

impl Table {
    /// Whether operations take words of constant banks as operands: from `sm_100` on loads alone read them.
    pub fn has_banks(&self) -> bool {
        Form::Cr.is_on(self.sm)
    }

    /// The table of an SM; `None` for one that has other words.
    pub fn of(sm: u16) -> Option<&'static Table> {
        static TABLES: [OnceLock<Table>; SMS.len()] = [const { OnceLock::new() }; SMS.len()];
        let at = SMS.iter().position(|known| *known == sm)?;
        Some(TABLES[at].get_or_init(|| Table::new(sm)))
    }

    fn new(sm: u16) -> Table {
        let mut by_opcode: BTreeMap<u16, Vec<Encoding>> = BTreeMap::new();
        for row in table::rows().filter(|row| row.sms.0 <= sm && sm <= row.sms.1) {
            for form in row.forms.iter().filter(|form| form.is_on(sm)) {
                let encoding = concrete(row, *form, sm);
                let opcode = OPCODE.get(encoding.value) as u16;
                by_opcode.entry(opcode).or_default().push(encoding);
            }
        }
        let (starts, families) = (Vec::with_capacity(0x1001), BTreeMap::new());
        let mut table = Table { sm, encodings: Vec::new(), starts, families };
        for opcode in 0..=OPCODE.largest() as u16 {
            table.starts.push(table.encodings.len() as u16);
            table.encodings.extend(by_opcode.remove(&opcode).into_iter().flatten());
        }
        table.starts.push(table.encodings.len() as u16);
        for (place, encoding) in (0..).zip(&table.encodings) {
            let family = encoding.name.split('.').next().unwrap_or(encoding.name);
            table.families.entry(family).or_default().push(place);
        }
        table
    }

    /// The encoding that a word is of.
    #[inline]
    pub fn find(&self, word: u128) -> Option<&Encoding> {
        self.of_opcode(OPCODE.get(word) as u16).iter().find(|encoding| encoding.matches(word))
    }

    /// The encodings with an opcode and form.
    #[inline]
    pub fn of_opcode(&self, opcode: u16) -> &[Encoding] {
        let range = |at: usize| usize::from(self.starts[at]);
        &self.encodings[range(opcode.into())..range(usize::from(opcode) + 1)]
    }

    /// The encodings whose mnemonics begin with a word, up to a dot.
    pub fn of_family(&self, family: &str) -> impl Iterator<Item = &Encoding> {
        let places = self.families.get(family).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.encodings[usize::from(*place)])
    }

    /// Every encoding, by opcode.
    pub fn encodings(&self) -> &[Encoding] {
        &self.encodings
    }
}

/// The SMs whose words are known.
pub const SMS: [u16; 7] = [80, 86, 89, 90, 100, 103, 120];

/// The SMs whose words are known, for people.
pub fn known() -> String {
    SMS.map(|sm| format!("sm_{sm}")).join(", ")
}

/// Where the second source stands if it is no third one.
const LOW: u8 = 32;
/// Where the other one stands.
const HIGH: u8 = 64;
/// Set where a uniform register is in a general register's place.
const UNIFORM: u8 = 91;

fn concrete(row: &Row, form: Form, sm: u16) -> Encoding {
    let mut parts = Vec::new();
    let file = if row.guard == File::Up { File::Ur } else { File::R };
    for part in row.parts {
        let reuse = |bit| part.reuse(if row.reuses { bit } else { NO_BIT });
        let part = &if row.is_twin { uniform_twin(reuse(part.reuse)) } else { reuse(part.reuse) };
        match part.what {
            What::B(format) => parts.push(place(reuse(123), format, row.b, form, form_is_of_c(form), file, sm)),
            What::C(format) => parts.push(place(reuse(124), format, row.c, form, !form_is_of_c(form), file, sm)),
            What::Low(format) => parts.push(place(reuse(124), format, row.c, form, false, file, sm)),
            What::Register(File::Ur)
            | What::UniformBase
            | What::Descriptor
            | What::Within(_)
            | What::Beside(_)
            | What::Indexed(File::Ur)
            | What::BindlessByte => {
                let len = if part.at.len == 6 { uniform_bits(sm) } else { part.at.len };
                parts.push(Part { at: Bits::new(part.at.low, len), ..*part });
            }
            _ => parts.push(*part),
        }
    }
    let mut fixed = vec![(OPCODE, u64::from(row.opcode | form.code() << 9))];
    fixed.extend(row.fixed);
    match form {
        Form::Ur | Form::Ru | Form::Xr | Form::Rx => fixed.push((Bits::new(UNIFORM, 1), 1)),
        _ => {}
    }
    if row.is_twin {
        fixed.push((Bits::new(UNIFORM, 1), 1));
    }
    let owned = parts.iter().fold(GUARD.mask() | SCHEDULE.mask(), |mask, part| mask | part.mask());
    let mut value = fixed.iter().fold(0, |word, (bits, value)| bits.put(word, *value));
    assert!(value & owned == 0, "{} has a fixed bit that one of its parts owns", row.name);
    let mut known = !owned;
    for (bits, code) in parts.iter().flat_map(only_codes) {
        known |= bits.mask();
        value = bits.put(value, code);
    }
    let guard = Part { what: What::Register(row.guard), ..GUARD };
    let checks = parts.iter().flat_map(Check::of).collect();
    let (name, alias, rule, owned) = (row.name, row.alias, row.rule, owned & !known);
    let (widths, class) = (row.widths, row.class);
    Encoding { name, form, parts, alias, rule, fixed: known, value, guard, widths, class, owned, checks }
}

/// The part with the uniform register or predicate in the place of the other.
fn uniform_twin(part: Part) -> Part {
    match part.what {
        What::Register(File::R) => {
            Part { what: What::Register(File::Ur), at: Bits::new(part.at.low, uniform_bits(0)), ..part }
        }
        What::Register(File::P) => Part { what: What::Register(File::Up), ..part },
        _ => part,
    }
}

/// The codes of a modifier and a suffix that have a single one: they tell this encoding from others.
fn only_codes(part: &Part) -> impl Iterator<Item = (Bits, u64)> + use<> {
    let single = |names: Names| {
        let mut codes = names.iter().zip(0..).filter(|(name, _)| **name != RESERVED);
        let (_, code) = codes.next()?;
        codes.next().is_none().then_some(code)
    };
    let modifier = match part.what {
        What::Modifier(names) => single(names),
        _ => None,
    };
    let suffix = part.suffix.and_then(|(bits, names)| Some((bits, single(names)?)));
    let (at, above) = (part.at, part.above);
    let modifier = modifier.into_iter().flat_map(move |code: u64| [(at, code), (above, code >> at.len)]);
    modifier.chain(suffix)
}

/// Whether the low place is that of `C`.
fn form_is_of_c(form: Form) -> bool {
    matches!(form, Form::Ri | Form::Rc | Form::Ru | Form::Rx)
}

/// Puts `B` or `C` in its place: the high one, as a register of a file, or the low one, as what the form says.
fn place(part: Part, format: Format, marks: Marks, form: Form, is_high: bool, file: File, sm: u16) -> Part {
    let bit = |wanted, bit| if wanted { bit } else { NO_BIT };
    let (sign, magnitude) = match (is_high, marks.pairs) {
        (true, false) => (75, 74),
        (true, true) => (84, 83),
        (false, _) => (63, 62),
    };
    let halves = Bits::new(if is_high { 81 } else { 60 }, 2);
    let marked = Part {
        negate: bit(marks.negate, sign),
        absolute: bit(marks.absolute, magnitude),
        invert: bit(marks.invert, sign),
        suffix: if marks.halves.is_empty() { part.suffix } else { Some((halves, marks.halves)) },
        ..part
    };
    let (len, reuse) = if file == File::Ur { (uniform_bits(sm), NO_BIT) } else { (8, marked.reuse) };
    let register = |low| Part { what: What::Register(file), at: Bits::new(low, len), reuse, ..marked };
    if is_high {
        return register(HIGH);
    }
    let uniform = Bits::new(LOW, uniform_bits(sm));
    let other = Part { reuse: NO_BIT, ..marked };
    match form {
        Form::Ri | Form::Ir => {
            let what = What::Immediate(format);
            let suffix = other.suffix.filter(|(bits, _)| bits.low >= HIGH);
            let unmarked = Part { negate: NO_BIT, absolute: NO_BIT, invert: NO_BIT, suffix, ..other };
            Part { what, at: Bits::new(LOW, 32), ..unmarked }
        }
        Form::Rc | Form::Cr => Part { what: What::Constant, at: Bits::new(54, 5), above: Bits::new(40, 14), ..other },
        Form::Rx | Form::Xr => Part { what: What::Bindless, at: uniform, above: Bits::new(40, 14), ..other },
        Form::Ru | Form::Ur => Part { what: What::Register(File::Ur), at: uniform, ..other },
        Form::Rr | Form::Whole => register(LOW),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A word of an encoding with what every part of another word says, part by part.
    fn rebuilt(encoding: &Encoding, word: u128) -> Option<u128> {
        let mut made = SCHEDULE.put(encoding.value, SCHEDULE.get(word));
        for part in encoding.parts.iter().chain([&encoding.guard]) {
            made = part.put(made, part.value(word))?;
            if let Some((bits, _)) = part.suffix {
                made = bits.put(made, bits.get(word));
            }
            let marks = [part.negate, part.absolute, part.invert, part.reuse].into_iter().filter(|bit| *bit != NO_BIT);
            made = marks.fold(made, |made, bit| made & !(1 << bit) | word & 1 << bit);
        }
        Some(made)
    }

    /// Random words of each encoding, with codes that have names.
    fn samples(of: &Encoding) -> impl Iterator<Item = u128> {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
        };
        (0..8).map(move |_| sample::word(of, true, &mut next))
    }

    #[test]
    fn what_parts_say_makes_the_word_again() {
        for table in SMS.into_iter().filter_map(Table::of) {
            for encoding in table.encodings() {
                for word in samples(encoding) {
                    assert!(encoding.matches(word), "sm_{}: {} is not {word:032x}", table.sm, encoding.name);
                    assert_eq!(encoding.nameless(word), None, "sm_{}: {} {word:032x}", table.sm, encoding.name);
                    assert_eq!(rebuilt(encoding, word), Some(word), "sm_{}: {}", table.sm, encoding.name);
                    if let Ok(instruction) = table.decode(word) {
                        assert_eq!(instruction.encode(), word, "sm_{}: {}", table.sm, encoding.name);
                    }
                }
            }
        }
    }

    /// Listings put a label in place of the text's end.
    #[test]
    fn places_in_the_code_end_the_text() {
        let is_target = |part: &Part| matches!(part.what, What::Target | What::TargetBehind | What::TargetByte);
        for encoding in SMS.into_iter().filter_map(Table::of).flat_map(Table::encodings) {
            let before = encoding.parts.split_last().map_or(&[][..], |(_, before)| before);
            assert!(!before.iter().any(is_target), "the target of {} does not stand last", encoding.name);
        }
    }
}
