//! The registers of the machine: what operands name in physical form.
//!
//! `%R0` to `%R254` and `%UR0` to `%UR254` hold a 32-bit word; `%R4x2` is the pair of `%R4` and `%R5`, aligned as the
//! machine wants it. SMs before `sm_100` have uniform registers up to `%UR62`. `%P0` to `%P6` and `%UP0` to `%UP6` are
//! predicates, `%B0` to `%B15` convergence barriers. `%RZ` and `%URZ` read as zero and `%PT` and `%UPT` as true,
//! whatever is written to them: they are operands of their own in every form ([`Operand::Wired`]), and registers only
//! where a guard is one of them.
//!
//! Each has a [`Reg`] of its own, the same in every function, so that numbers say which registers overlap; a function
//! in physical form has all of them in its arena and no others.

use super::entity::Reg;
use super::form::Form;
use super::function::Function;
use super::operand::Operand;
use super::register::{RegFile, RegInfo};
use super::units::Units;

/// A machine register: one to four neighbours of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PhysicalReg {
    /// The file.
    pub file: RegFile,
    /// The number of the first.
    pub number: u8,
    /// How many 32-bit words, all from neighbours; 1 for predicates and barriers.
    pub words: u8,
}

/// A file: its name in register names, how many numbers it has, the name that the last of them has instead, and how
/// many words a register may have.
struct FileRow {
    file: RegFile,
    name: &'static str,
    count: u16,
    last: Option<&'static str>,
    widest: u8,
}

const FILES: [FileRow; 5] = [
    FileRow { file: RegFile::R, name: "R", count: 256, last: Some("RZ"), widest: 4 },
    FileRow { file: RegFile::UR, name: "UR", count: 256, last: Some("URZ"), widest: 4 },
    FileRow { file: RegFile::P, name: "P", count: 8, last: Some("PT"), widest: 1 },
    FileRow { file: RegFile::UP, name: "UP", count: 8, last: Some("UPT"), widest: 1 },
    FileRow { file: RegFile::B, name: "B", count: 16, last: None, widest: 1 },
];

impl FileRow {
    /// How many entities the file has: one for each number and width.
    fn entities(&self) -> u32 {
        u32::from(self.count) * u32::from(self.widest)
    }
}

impl PhysicalReg {
    /// The entities of all registers, those with unaligned numbers included.
    pub fn infos() -> impl Iterator<Item = RegInfo> {
        FILES.iter().flat_map(|row| {
            let widths = move |_| (1..=row.widest).map(|words| RegInfo { file: row.file, words });
            (0..row.count).flat_map(widths)
        })
    }

    /// The register that an entity of a function in physical form is.
    pub fn of(reg: Reg) -> Option<PhysicalReg> {
        let mut place = reg.as_u32();
        for row in &FILES {
            if place < row.entities() {
                let (number, words) = (place / u32::from(row.widest), place % u32::from(row.widest));
                return Some(PhysicalReg { file: row.file, number: number as u8, words: words as u8 + 1 });
            }
            place -= row.entities();
        }
        None
    }

    /// The register's entity, if the file has the number and the width.
    pub fn reg(self) -> Option<Reg> {
        let at = FILES.iter().position(|row| row.file == self.file)?;
        let row = &FILES[at];
        let exists = u16::from(self.number) < row.count && (1..=row.widest).contains(&self.words);
        let before: u32 = FILES[..at].iter().map(FileRow::entities).sum();
        let place = u32::from(self.number) * u32::from(row.widest) + u32::from(self.words) - 1;
        exists.then(|| Reg::from_u32(before + place))
    }

    /// How many numbers the registers of a file have, the constant one's included.
    pub fn count(file: RegFile) -> u16 {
        FILES.iter().find(|row| row.file == file).map_or(0, |row| row.count)
    }

    /// How many neighbours of a file one register can be.
    pub fn widest(file: RegFile) -> u8 {
        FILES.iter().find(|row| row.file == file).map_or(0, |row| row.widest)
    }

    /// The register as an operand.
    pub fn operand(self) -> Option<Operand> {
        if self.is_constant() { Some(Operand::wired(self.file, self.words)) } else { self.reg().map(Operand::Reg) }
    }

    /// The wired register of a file; `None` for barriers, which have none.
    pub fn wired(file: RegFile, words: u8) -> Option<PhysicalReg> {
        let row = FILES.iter().find(|row| row.file == file && row.last.is_some())?;
        Some(PhysicalReg { file, number: (row.count - 1) as u8, words })
    }

    /// Whether it always reads as zero or true.
    pub fn is_constant(self) -> bool {
        let row = self.row();
        row.last.is_some() && u16::from(self.number) == row.count - 1
    }

    /// Whether the machine can name it: registers of several words begin at a multiple of their width, three words at a
    /// multiple of four, and end before the constant register.
    pub fn is_aligned(self) -> bool {
        let row = self.row();
        let ordinary = row.count - u16::from(row.last.is_some());
        let fits = u16::from(self.number) + u16::from(self.words) <= ordinary;
        self.is_constant() || fits && self.number.is_multiple_of(self.words.next_power_of_two())
    }

    /// Whether a write to one may change the other.
    pub fn overlaps(self, other: PhysicalReg) -> bool {
        let end = |reg: PhysicalReg| u16::from(reg.number) + u16::from(reg.words);
        let apart = u16::from(self.number) >= end(other) || u16::from(other.number) >= end(self);
        self.file == other.file && !apart && !self.is_constant() && !other.is_constant()
    }

    /// The registers of one word that it consists of; none of a constant one.
    pub fn units(self) -> Units {
        let widest = u32::from(self.row().widest);
        let single = PhysicalReg { words: 1, ..self }.reg().filter(|_| !self.is_constant());
        single.map_or(Units::NONE, |first| Units::every(first, widest, self.words.into()))
    }

    /// The registers of one word of a file, without the constant one.
    pub fn file_units(file: RegFile) -> Units {
        let first = PhysicalReg { file, number: 0, words: 1 };
        let (row, ordinary) = (first.row(), first.row().count - u16::from(first.row().last.is_some()));
        first.reg().map_or(Units::NONE, |reg| Units::every(reg, row.widest.into(), ordinary))
    }

    /// Its name in the text form, without `%`.
    pub fn name(self) -> String {
        let row = self.row();
        let name = match row.last.filter(|_| self.is_constant()) {
            Some(last) => last.to_owned(),
            None => format!("{}{}", row.name, self.number),
        };
        if self.words == 1 { name } else { format!("{name}x{}", self.words) }
    }

    /// The register with this name; each has one, so `%R255`, `%R07` and `%R4x1` are none.
    pub fn from_name(text: &str) -> Option<PhysicalReg> {
        let (name, words) = match text.split_once('x') {
            Some((name, words)) => (name, words.parse().ok()?),
            None => (text, 1),
        };
        let found = FILES.iter().find_map(|row| {
            let constant = (row.last == Some(name)).then_some((row.count - 1) as u8);
            let number = || name.strip_prefix(row.name)?.parse().ok();
            Some(PhysicalReg { file: row.file, number: constant.or_else(number)?, words })
        });
        found.filter(|reg| reg.reg().is_some() && reg.name() == text)
    }

    fn row(self) -> &'static FileRow {
        FILES.iter().find(|row| row.file == self.file).expect("every file has a row")
    }
}

impl Function {
    /// Brings an empty function into physical form: its registers are the machine's.
    pub fn use_physical_registers(&mut self) {
        self.form = Form::Physical;
        self.regs = PhysicalReg::infos().collect();
    }

    /// Whether the registers are those of the machine.
    pub(crate) fn has_physical_registers(&self) -> bool {
        self.regs.values().copied().eq(PhysicalReg::infos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> PhysicalReg {
        PhysicalReg::from_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn entities_and_names_round_trip() {
        let mut count = 0;
        for (place, info) in PhysicalReg::infos().enumerate() {
            let reg = Reg::from_u32(place as u32);
            let physical = PhysicalReg::of(reg).unwrap();
            assert_eq!((physical.file, physical.words), (info.file, info.words));
            assert_eq!(physical.reg(), Some(reg));
            assert_eq!(PhysicalReg::from_name(&physical.name()), Some(physical), "{}", physical.name());
            count += 1;
        }
        assert_eq!(PhysicalReg::of(Reg::from_u32(count)), None);
        for wrong in ["R255", "R256", "R07", "R4x1", "R4x5", "P7", "P0x2", "UR255", "B16", "X0", "R", "RZx9"] {
            assert_eq!(PhysicalReg::from_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pairs_are_aligned_and_overlap_their_halves() {
        let aligned = |name: &str| named(name).is_aligned();
        assert!(aligned("R4x2") && aligned("R8x4") && aligned("R8x3") && aligned("RZx2") && aligned("R252x2"));
        assert!(!aligned("R5x2") && !aligned("R6x4") && !aligned("R6x3") && !aligned("R254x2") && !aligned("R252x4"));
        assert!(named("R4x2").overlaps(named("R5")) && named("R5").overlaps(named("R4x4")));
        assert!(!named("R4x2").overlaps(named("R6")) && !named("R4").overlaps(named("UR4")));
        assert!(!named("RZ").overlaps(named("RZ")) && named("PT").is_constant() && !named("B15").is_constant());
    }
}
