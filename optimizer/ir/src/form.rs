//! Which opcodes a function is made of, and what its registers are.

use crate::ops::{self, OpRow};

/// Which opcodes a function is made of: those of its level, and those of any level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Typed operations, as PTX has them.
    Virtual,
    /// Operations of the machine.
    Machine,
}

impl Level {
    /// Every level.
    pub const ALL: &'static [Level] = &[Level::Virtual, Level::Machine];

    /// The level's text name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Virtual => "virtual",
            Level::Machine => "machine",
        }
    }

    /// Whether instructions with an opcode of this row may be in a function of the level.
    pub fn has(self, row: &OpRow) -> bool {
        match row.level {
            ops::Level::Any => true,
            ops::Level::Virtual => self == Level::Virtual,
            ops::Level::Machine => self == Level::Machine,
        }
    }
}

/// What a function's registers are, and how many definitions each may have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Form {
    /// Each register has one definition, which dominates its uses.
    Ssa,
    /// Registers may have many definitions.
    Virtual,
    /// Registers are the machine's.
    Physical,
}

impl Form {
    /// Every form with its text name.
    pub const NAMES: &'static [(Form, &'static str)] =
        &[(Form::Ssa, "ssa"), (Form::Virtual, "virtual"), (Form::Physical, "physical")];

    /// Every form.
    pub const ALL: &'static [Form] = &[Form::Ssa, Form::Virtual, Form::Physical];

    /// The form's text name.
    pub fn name(self) -> &'static str {
        Form::NAMES[self as usize].1
    }
}
