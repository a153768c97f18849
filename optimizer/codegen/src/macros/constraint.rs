//! The constraint of a register: where the groups that it is copied into want it.
//!
//! Codes are those of the document (`spec/peephole.txt`, 593-598): 0 where nothing is wanted, -2 for an even word of a
//! group, -3 for an odd one, -1 where uses want different things. They form a lattice: 0 above, then the words of all
//! groups side by side, -1 below. A meet only goes down, and each register goes down twice at most.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, Operand, Reg};

use super::facts::{self, Facts};
use super::roles::{self, Role};

/// A constraint, with the group and its word where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Constraint {
    /// No use wants anything.
    #[default]
    Free,
    /// One use wants it in a word of a group.
    Word {
        /// The group.
        group: Reg,
        /// The word.
        word: u8,
        /// How many words the group has.
        width: u8,
    },
    /// Uses want it in several places.
    Conflict,
}

impl Constraint {
    /// The code of the document.
    pub fn code(self) -> i32 {
        match self {
            Constraint::Free => 0,
            Constraint::Word { word, .. } if word % 2 == 0 => -2,
            Constraint::Word { .. } => -3,
            Constraint::Conflict => -1,
        }
    }

    /// The width code: the words of the group, 0 where there is none.
    pub fn width(self) -> u8 {
        match self {
            Constraint::Word { width, .. } => width,
            _ => 0,
        }
    }

    /// That of two uses together.
    pub fn meet(self, other: Constraint) -> Constraint {
        match (self, other) {
            (Constraint::Free, one) | (one, Constraint::Free) => one,
            (one, two) if one == two => one,
            _ => Constraint::Conflict,
        }
    }

    /// Whether the value can be made where it is wanted.
    pub fn is_resolved(self) -> bool {
        matches!(self, Constraint::Word { .. })
    }

    /// Whether uses want it in several places.
    pub fn is_conflict(self) -> bool {
        self == Constraint::Conflict
    }
}

/// The constraints of all registers of one word that take part.
#[derive(Debug)]
pub struct Annotations(SecondaryMap<Reg, Constraint>);

impl Annotations {
    /// Those of a function: the meet over all uses.
    pub fn of(func: &Function, facts: &Facts) -> Annotations {
        let mut all: SecondaryMap<Reg, Constraint> = SecondaryMap::new();
        for inst in func.layout_insts() {
            for src in func.inputs(inst) {
                if let Some((reg, _)) = facts::words(func, *src) {
                    let met = all[reg].meet(of_use(func, inst, *src));
                    all[reg] = met;
                }
            }
        }
        for (reg, info) in func.regs().iter() {
            // A word of a group is in its place already, and a variable has no definition that could be elsewhere.
            if info.words != 1 || !facts.is_simple(reg) {
                all[reg] = all[reg].meet(Constraint::Conflict);
            }
        }
        Annotations(all)
    }

    /// That of a register.
    pub fn of_value(&self, reg: Reg) -> Constraint {
        self.0[reg]
    }
}

/// The constraint that one use makes.
fn of_use(func: &Function, inst: Inst, src: Operand) -> Constraint {
    match (roles::of(func, inst), func.dsts(inst)) {
        (Role::Copy, [Operand::Word(group, word)]) if src.modifiers().is_none() => {
            // Under a guard the word may keep what it held.
            let is_certain = func.inst(inst).guard.is_none();
            let width = func.regs()[*group].words;
            if is_certain { Constraint::Word { group: *group, word: *word, width } } else { Constraint::Conflict }
        }
        _ => Constraint::Free,
    }
}
