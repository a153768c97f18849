//! Why a pass refuses a module.

use std::fmt;

use oriole_ir::Function;

/// Why a pass refuses a module: a fault of the program, or of what was asked for, and none of the passes before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The function; `None` where the arguments of the pass ask for something that the module does not have.
    pub function: Option<String>,
    /// The line of the source; `None` where it is not known, or no line is meant.
    pub line: Option<u32>,
    /// The fault, and how to mend it.
    pub what: String,
}

impl Objection {
    /// About a function. Its place is the line of its first instruction.
    pub fn to_function(func: &Function, what: String) -> Objection {
        let line = func.layout_insts().map(|inst| func.inst(inst).line).find(|line| *line != 0);
        Objection { function: Some(func.name.clone()), line, what }
    }

    /// About the arguments of the pass.
    pub fn to_arguments(what: String) -> Objection {
        Objection { function: None, line: None, what }
    }
}

/// The place in front of what is wrong.
impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, self.line) {
            (Some(function), Some(line)) => write!(f, "function `{function}`, line {line}: {}", self.what),
            (Some(function), None) => write!(f, "function `{function}`: {}", self.what),
            (None, _) => f.write_str(&self.what),
        }
    }
}
