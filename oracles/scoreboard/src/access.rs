//! What an instruction reads and writes, by register unit, and from which place in the word it reads it.

use oriole_sass::Instruction;
use oriole_sass::row::{File, Part, Show, What};

/// A register of 32 bits, or a predicate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Unit(u16);

/// The units of each file begin at a multiple of this.
const FILE: u16 = 256;
/// Predicates that can be written.
const PREDICATES: u64 = 7;

impl Unit {
    /// The first of all.
    pub const FIRST: Unit = Unit(0);

    pub(crate) fn new(file: File, number: u64) -> Option<Unit> {
        let base = match file {
            File::R => 0,
            File::Ur => 1,
            File::P => 2,
            File::Up => 3,
            File::B => 4,
            File::Sb => return None,
        };
        (number < FILE.into()).then_some(Unit(base * FILE + number as u16))
    }

    /// Which file it is of.
    pub fn file(self) -> File {
        [File::R, File::Ur, File::P, File::Up, File::B][usize::from(self.0 / FILE)]
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.file() {
            File::R => "R",
            File::Ur => "UR",
            File::P => "P",
            File::Up => "UP",
            _ => "B",
        };
        write!(out, "{name}{}", self.0 % FILE)
    }
}

/// A read: the unit, and the part that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The unit.
    pub unit: Unit,
    /// The lowest bit of the part.
    pub place: u8,
    /// Which of the part's registers it is.
    pub word: u8,
}

/// The place of a guard.
pub const GUARD: u8 = 12;

/// What an instruction reads and writes.
#[derive(Clone, Default, Debug)]
pub struct Accesses {
    /// Its reads, the guard among them.
    pub reads: Vec<Read>,
    /// The units that it writes.
    pub writes: Vec<Unit>,
    /// The predicate that guards it, and whether that must be false.
    pub guard: Option<(Unit, bool)>,
}

impl Accesses {
    /// Those of an instruction.
    pub fn of(inst: &Instruction<'_>) -> Accesses {
        let mut all = Accesses::default();
        for part in &inst.encoding.parts {
            let is_written = part.is_written();
            for (unit, word) in units(inst, part).into_iter().zip(0..) {
                let read = Read { unit, place: part.at.low, word };
                if is_written { all.writes.push(unit) } else { all.reads.push(read) }
            }
        }
        let guard = &inst.encoding.guard;
        if let Some(unit) = units(inst, guard).first() {
            all.guard = Some((*unit, guard.has(guard.invert, inst.word)));
            all.reads.push(Read { unit: *unit, place: GUARD, word: 0 });
        }
        all
    }
}

/// The units that a part names, without registers that are constant.
fn units(inst: &Instruction<'_>, part: &Part) -> Vec<Unit> {
    if part.show == Show::Never {
        return Vec::new();
    }
    let Some(file) = part.file() else { return implied(inst, part) };
    let number = part.number(inst.word);
    let is_named = part.is_used(inst.word) && part.constant_number() != Some(number);
    let count = if is_named { u64::from(inst.encoding.words(part, inst.word)) } else { 0 };
    (number..number + count).filter_map(|number| Unit::new(file, number)).collect()
}

/// The predicates that `PR` or `UPR` stands for: those of the mask, where that is an immediate, else all.
fn implied(inst: &Instruction<'_>, part: &Part) -> Vec<Unit> {
    let file = match part.what {
        What::Word("PR") => File::P,
        What::Word("UPR") => File::Up,
        _ => return Vec::new(),
    };
    let mask = inst.encoding.parts.iter().find(|part| matches!(part.what, What::Immediate(_)));
    let mask = mask.map_or(u64::MAX, |mask| mask.value(inst.word));
    (0..PREDICATES).filter(|number| mask >> number & 1 == 1).filter_map(|number| Unit::new(file, number)).collect()
}
