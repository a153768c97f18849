//! The operands of an instruction, as rows and predicates of a program.

use std::cell::Cell;

use oriole_sass::Instruction;
use oriole_sass::row::{File, Format, Part, What};
use oriole_sass::text::signed;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::lanes::{LANES, Lanes};
use super::launch::Banks;
use super::program::*;

/// The words that a program's operations name without a register.
#[derive(Default)]
pub struct Literals {
    rows: Vec<Lanes>,
    known: FxHashMap<u32, u16>,
    constants: Vec<Constant>,
    used: Used,
}

impl Literals {
    /// Notes a register that belongs to an operand of many.
    pub fn note(&mut self, row: u16) {
        self.used.note(row);
    }

    /// The row that holds a word in every lane.
    pub fn row(&mut self, word: u32) -> u16 {
        if word == 0 {
            return ZERO;
        }
        *self.known.entry(word).or_insert_with(|| {
            self.rows.push([word; LANES]);
            LITERALS + self.rows.len() as u16 - 1
        })
    }

    /// The row that holds a word of a bank, once a launch has filled it.
    fn constant(&mut self, bank: u8, offset: u64) -> u16 {
        let known = self.constants.iter().find(|known| (known.bank, known.offset) == (bank, offset));
        let at = known.map_or(self.rows.len(), |known| known.at);
        if at == self.rows.len() {
            self.rows.push([0; LANES]);
            self.constants.push(Constant { bank, offset, at });
        }
        LITERALS + at as u16
    }

    /// The word that a row holds in every lane, if it is a literal of any launch.
    pub fn word(&self, row: u16) -> Option<u32> {
        let at = || row.checked_sub(LITERALS).map(usize::from).filter(|at| self.constants.iter().all(|c| c.at != *at));
        if row == ZERO { Some(0) } else { Some(self.rows.get(at()?)?[0]) }
    }

    /// All of them, which of them are words of banks, and how many registers were named beside them.
    pub fn into_rows(self) -> (Vec<Lanes>, Vec<Constant>, Used) {
        (self.rows, self.constants, self.used)
    }
}

/// What the signs of an operand mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Two's complement.
    Integer,
    /// The highest bit of a word.
    Float,
    /// The highest bits of both halves.
    Halves,
}

/// An instruction with its operands: predicates by the bits where they stand, all others in order.
pub struct Operands<'a> {
    /// The instruction.
    pub inst: Instruction<'a>,
    parts: SmallVec<[&'a Part; 12]>,
    preds: SmallVec<[&'a Part; 12]>,
    /// The words of all modifiers that are written, those that are always there included.
    words: SmallVec<[&'static str; 12]>,
    /// Which of these were asked for, a bit each.
    taken: Cell<u64>,
    /// The operands whose suffix was asked for, a bit each.
    read: Cell<u64>,
    /// The first bits of the predicates that were asked for, a bit each.
    read_preds: Cell<u128>,
    /// The banks of a launch, where words outside of them are to be refused.
    banks: Option<&'a Banks>,
    /// Literals of the program.
    pub literals: &'a mut Literals,
}

/// Modifiers that change nothing that is observed here: caches, orders, scopes, hints, what stands for the default.
const MEANINGLESS: &[&str] = &[
    "",
    "E",
    "LUT",
    "AND",
    "RN",
    "NTZ",
    "PACK_AB",
    "MMA",
    "REL",
    "ABS",
    "NOINC",
    "NODEC",
    "DEFER_BLOCKING",
    "RELIABLE",
    "RECONVERGENT",
    "STRONG",
    "CTA",
    "SM",
    "GPU",
    "SYS",
    "VC",
    "PRIVATE",
    "CONSTANT",
    "MMIO",
    "EF",
    "EL",
    "LU",
    "EU",
    "NA",
    "LTC64B",
    "LTC128B",
    "LTC256B",
    "EFL2",
    "ENL2",
    "ELL2",
    "BYPASS",
    "SPIN",
    "H0_H0",
    "WARP",
    "RAND",
    "TRAP",
    "SC",
    "ALL",
    "LE",
];

/// Suffixes of operands that say what is always so: how factors of integers lie, and which half or byte is the first.
const MEANINGLESS_SUFFIXES: &[&str] = &["", "ROW", "COL", "H0", "B0"];

/// Why an instruction is not executed.
pub type Unknown = String;

impl<'a> Operands<'a> {
    /// The operands of an instruction on a launch.
    pub fn new(inst: Instruction<'a>, banks: Option<&'a Banks>, literals: &'a mut Literals) -> Operands<'a> {
        let fixed = inst.encoding.name.split('.').skip(1);
        // A modifier may be several words: `CAST.SPIN`.
        let words = fixed.chain(inst.modifiers().flat_map(|name| name.split('.'))).collect();
        let operands =
            inst.encoding.parts.iter().filter(|part| !matches!(part.what, What::Modifier(_) | What::Word(_)));
        let is_pred = |part: &&Part| matches!(part.what, What::Register(File::P | File::Up));
        let (preds, parts): (SmallVec<[&Part; 12]>, SmallVec<[&Part; 12]>) = operands.partition(is_pred);
        let rows = parts.iter().filter_map(|part| match part.what {
            What::Register(File::R | File::Ur) | What::Base | What::UniformBase | What::Indexed(_) => {
                register(part, inst.word)
            }
            _ => None,
        });
        rows.for_each(|row| literals.used.note(row));
        let (taken, read, read_preds) = Default::default();
        Operands { inst, parts, preds, words, taken, read, read_preds, banks, literals }
    }

    /// How many operands there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether a modifier is written.
    pub fn has(&self, modifier: &str) -> bool {
        let here = self.words.iter().enumerate().filter(|(_, word)| **word == modifier);
        let found = here.fold(0, |found, (at, _)| found | 1 << at);
        self.taken.set(self.taken.get() | found);
        found != 0
    }

    /// Whether an operand has a mark behind it (`tnspB`).
    pub fn is_marked(&self, mark: &str) -> bool {
        self.parts.iter().any(|part| match part.what {
            What::Mark(names) => names.get(part.value(self.inst.word) as usize) == Some(&mark),
            _ => false,
        })
    }

    /// All modifiers, none of which counts as asked for.
    pub fn names(&self) -> &[&'static str] {
        &self.words
    }

    /// All modifiers, for who looks at each of them.
    pub fn take_modifiers(&self) -> &[&'static str] {
        self.taken.set(u64::MAX);
        &self.words
    }

    /// A modifier, suffix or predicate that nobody has asked for and that may mean something: the instruction is not
    /// understood.
    pub fn unread(&self) -> Option<&'static str> {
        let unread = self.words.iter().enumerate().filter(|(at, _)| self.taken.get() >> at & 1 == 0);
        let word = unread.map(|(_, word)| *word).find(|word| !MEANINGLESS.contains(word));
        word.or_else(|| self.unread_suffix()).or_else(|| self.unread_pred())
    }

    /// A predicate that is written or read, that nobody has asked for, and that is not the constant one.
    fn unread_pred(&self) -> Option<&'static str> {
        let unread = |part: &&&Part| self.read_preds.get() >> part.at.low & 1 == 0 && part.is_shown(self.inst.word);
        let varies = |pred: Pred| pred.at % UNIFORM_PREDICATES != TRUE;
        self.preds.iter().filter(unread).any(|part| self.pred_of(part).is_some_and(varies)).then_some("a predicate")
    }

    /// Notes that a predicate was asked for, by its first bit.
    fn note_pred(&self, low: u8) {
        self.read_preds.set(self.read_preds.get() | 1 << low);
    }

    /// A suffix of an operand that nobody has asked for and that may mean something. Those of addresses are known.
    fn unread_suffix(&self) -> Option<&'static str> {
        let is_value =
            |part: &Part| matches!(part.what, What::Register(_) | What::Immediate(_) | What::Constant | What::Bindless);
        let is_unread = |at: &usize| self.read.get() >> at & 1 == 0 && is_value(self.parts[*at]);
        let unread = (0..self.parts.len()).filter(is_unread);
        unread.map(|at| self.written_suffix(at)).find(|suffix| !MEANINGLESS_SUFFIXES.contains(suffix))
    }

    fn written_suffix(&self, at: usize) -> &'static str {
        let suffix = self.parts.get(at).and_then(|part| part.suffix);
        suffix.and_then(|(bits, names)| names.get(bits.get(self.inst.word) as usize).copied()).unwrap_or("")
    }

    /// The first of these modifiers that is written.
    pub fn one_of<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        choices.iter().find(|(name, _)| self.has(name)).map(|(_, value)| *value)
    }

    /// An operand.
    pub fn part(&self, at: usize) -> Result<&'a Part, Unknown> {
        self.parts.get(at).copied().ok_or_else(|| format!("no operand {at}"))
    }

    /// The place of the first operand of a kind.
    pub fn find(&self, wanted: impl Fn(What) -> bool) -> Option<usize> {
        self.parts.iter().position(|part| wanted(part.what))
    }

    /// The raw value of an operand.
    pub fn value(&self, at: usize) -> Result<u64, Unknown> {
        Ok(self.part(at)?.value(self.inst.word))
    }

    /// The row of a register that is read.
    pub fn row(&self, at: usize) -> Result<u16, Unknown> {
        let part = self.part(at)?;
        Ok(register(part, self.inst.word).unwrap_or(ZERO))
    }

    /// The row of a register that is written.
    pub fn dst(&self, at: usize) -> Result<u16, Unknown> {
        let part = self.part(at)?;
        match part.what {
            What::Register(File::R | File::Ur) => Ok(register(part, self.inst.word).unwrap_or(SINK)),
            other => Err(format!("operand {at} is {other:?}, no register")),
        }
    }

    /// Where a predicate is that is written, by its first bit.
    pub fn pred_out(&self, low: u8) -> u8 {
        self.note_pred(low);
        let found = self.preds.iter().find(|part| part.at.low == low).and_then(|part| self.pred_of(part));
        found.map(|pred| pred.at).filter(|at| at % UNIFORM_PREDICATES != TRUE).unwrap_or(NOWHERE)
    }

    /// A predicate that is read, by its first bit.
    pub fn pred_in(&self, low: u8) -> Result<Pred, Unknown> {
        self.note_pred(low);
        let found = self.preds.iter().find(|part| part.at.low == low).and_then(|part| self.pred_of(part));
        found.ok_or_else(|| format!("no predicate at bit {low}"))
    }

    /// The predicate among the operands that is not always true.
    pub fn any_pred(&self) -> Option<Pred> {
        let is_condition = |pred: &Pred| pred.not || pred.at % UNIFORM_PREDICATES != TRUE;
        let found = self.preds.iter().find_map(|part| {
            let pred = self.pred_of(part).filter(is_condition)?;
            Some((part.at.low, pred))
        });
        found.inspect(|(low, _)| self.note_pred(*low));
        found.map(|(_, pred)| pred)
    }

    /// What a part says if it is a predicate.
    pub fn pred_of(&self, part: &Part) -> Option<Pred> {
        let value = part.value(self.inst.word) as u8;
        let at = match part.what {
            What::Register(File::P) => value,
            What::Register(File::Up) => value + UNIFORM_PREDICATES,
            _ => return None,
        };
        Some(Pred { at, not: part.has(part.invert, self.inst.word) })
    }

    /// The row of an operand that is no register, as the format of the operation says.
    fn literal(&mut self, part: &Part) -> Result<Option<u16>, Unknown> {
        let value = part.value(self.inst.word);
        Ok(match part.what {
            What::Immediate(Format::SignedHex) => {
                Some(self.literals.row(signed(value, part.at.len + part.above.len) as u32))
            }
            What::Immediate(_) => Some(self.literals.row(value as u32)),
            What::Constant => Some(self.constant(part, 0)?),
            What::Bindless => return Err("a bank that a register names".to_owned()),
            _ => None,
        })
    }

    /// The row of a word of a bank, so many bytes behind the one that is there.
    fn constant(&mut self, part: &Part, behind: u64) -> Result<u16, Unknown> {
        let value = part.value(self.inst.word);
        self.constant_at(value as u8 & 0x1f, (value >> part.at.len) * 4 + behind)
    }

    /// The row of a word of a bank.
    pub fn constant_at(&mut self, bank: u8, offset: u64) -> Result<u16, Unknown> {
        if self.banks.is_some_and(|banks| banks.word(bank, offset).is_none()) {
            return Err(format!("c[{bank:#x}][{offset:#x}] is outside of its bank"));
        }
        Ok(self.literals.constant(bank, offset))
    }

    /// An operand of a word.
    pub fn src(&mut self, at: usize, sign: Sign) -> Result<Src, Unknown> {
        let part = self.part(at)?;
        let word = self.inst.word;
        let (negate, absolute) = (part.has(part.negate, word), part.has(part.absolute, word));
        let invert = part.has(part.invert, word) || negate && part.has(part.complement, word);
        let row = match self.literal(part)? {
            Some(row) => row,
            None => register(part, self.inst.word).unwrap_or(ZERO),
        };
        let top = match sign {
            Sign::Halves => 0x8000_8000,
            _ => 0x8000_0000,
        };
        let mark = match sign {
            _ if invert => Mark::Invert,
            Sign::Integer if negate => Mark::Negate,
            Sign::Float | Sign::Halves if negate || absolute => {
                let flip = if negate { top } else { 0 };
                Mark::Bits { keep: if absolute { !top } else { u32::MAX }, flip }
            }
            _ => Mark::Plain,
        };
        Ok(Src { row, mark })
    }

    /// The word of an operand that is no register.
    pub fn literal_of(&self, src: Src) -> Option<u32> {
        self.literals.word(src.row)
    }

    /// An operand of two words; the sign belongs to the upper one where it is a float.
    pub fn pair(&mut self, at: usize, sign: Sign) -> Result<(Src, Src), Unknown> {
        let part = self.part(at)?;
        let upper = self.src(at, sign)?;
        let value = part.value(self.inst.word);
        let plain = |row| Src { row, mark: Mark::Plain };
        Ok(match part.what {
            What::Immediate(Format::F64) => (plain(ZERO), upper),
            What::Immediate(_) => {
                let bits = signed(value, part.at.len + part.above.len);
                let (low, high) = (self.literals.row(bits as u32), self.literals.row((bits >> 32) as u32));
                (plain(low), plain(high))
            }
            What::Constant => {
                let low = Src { row: upper.row, mark: Mark::Plain };
                (low, Src { row: self.constant(part, 4)?, mark: upper.mark })
            }
            _ if upper.row == ZERO => (plain(ZERO), upper),
            _ if upper.row % 2 != 0 => return Err(format!("a pair of registers with the number {value}")),
            _ => (plain(upper.row), Src { row: upper.row + 1, mark: upper.mark }),
        })
    }

    /// The suffix of an operand.
    pub fn suffix(&self, at: usize) -> Result<&'static str, Unknown> {
        self.part(at)?;
        self.read.set(self.read.get() | 1 << at);
        Ok(self.written_suffix(at))
    }

    /// The number of the register that is at an operand, of any file.
    pub fn number(&self, at: usize) -> Result<u8, Unknown> {
        Ok(self.value(at)? as u8)
    }

    /// The address among the operands, or the second one.
    pub fn address(&self, which: usize) -> Result<Address, Unknown> {
        let ends = |what: What| what.offset_unit().is_some();
        let is_start = |part: &&&Part| matches!(part.what, What::Base | What::UniformBase) || ends(part.what);
        let mut groups: Vec<Vec<&Part>> = Vec::new();
        for part in self.parts.iter().filter(is_start) {
            let continues = groups
                .last()
                .is_some_and(|group| group.last().is_some_and(|last| !ends(last.what)) && part.what != What::Base);
            match groups.last_mut().filter(|_| continues) {
                Some(group) => group.push(part),
                None => groups.push(vec![part]),
            }
        }
        let group = groups.get(which).ok_or("no address")?;
        let mut address = Address { base: None, uniform: None, offset: 0, scale: 1 };
        for part in group {
            let suffix = part.suffix.and_then(|(bits, names)| names.get(bits.get(self.inst.word) as usize).copied());
            match part.what {
                What::Base => {
                    address.base = register(part, self.inst.word).map(|row| (row, suffix == Some("64")));
                    address.scale = match suffix {
                        Some("X4") => 4,
                        Some("X8") => 8,
                        Some("X16") => 16,
                        _ => 1,
                    };
                }
                What::UniformBase => address.uniform = register(part, self.inst.word).map(|row| (row, false)),
                what => {
                    let offset = signed(part.value(self.inst.word), part.at.len + part.above.len);
                    address.offset = offset * what.offset_unit().unwrap_or(1);
                }
            }
        }
        Ok(address)
    }
}

/// The row of a register; `None` for the constant one.
fn register(part: &Part, word: u128) -> Option<u16> {
    let value = part.value(word) as u16;
    match part.what {
        What::Register(File::R) | What::Base | What::Indexed(File::R) => (value != 255).then_some(value),
        _ => (u64::from(value) != part.at.largest()).then_some(UNIFORM + value),
    }
}
