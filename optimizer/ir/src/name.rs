//! Names: the words of another language that operands stand for.
//!
//! The opcode table has no row for each instruction of the machine: which there are, and what their modifiers mean,
//! depends on the SM, and the tables of encodings say so. An instruction of the machine level holds its mnemonic with
//! modifiers as a name, and so does an operand that is neither register nor number (`'SR_TID.X'`) or that says how the
//! one before it is taken (`'H1_H1'`). At the virtual level a name is the template of an instruction of PTX that the
//! table has no row for ([`super::template`]). A function has each of its names once, in a table.
//!
//! **Invariant:** equal names are equal texts, within a function.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::function::Function;
use super::operand::Operand;

/// The place of a name in the table of its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name(u32);

impl Name {
    /// The place.
    pub fn as_u32(self) -> u32 {
        self.0
    }
}

/// The names of a function, each once.
#[derive(Default, Debug)]
pub(super) struct Names(IndexSet<Box<str>, FxBuildHasher>);

impl Names {
    /// The text of a name; `None` for one of another function.
    pub(super) fn get(&self, name: Name) -> Option<&str> {
        self.0.get_index(name.0 as usize).map(Box::as_ref)
    }

    fn enter(&mut self, text: &str) -> Name {
        let place = self.0.get_index_of(text).unwrap_or_else(|| self.0.insert_full(text.into()).0);
        Name(u32::try_from(place).expect("a function has fewer than 2^32 names"))
    }

    /// An operand of the function with this table, for a name of the table `from`.
    pub(super) fn adopt(&mut self, from: &Names, name: Name) -> Operand {
        Operand::Name(from.get(name).map_or(name, |text| self.enter(text)))
    }
}

/// Tables are alike if each place has the same text in both.
impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.0.iter().eq(&other.0)
    }
}

impl Clone for Names {
    fn clone(&self) -> Names {
        Names(self.0.clone())
    }

    fn clone_from(&mut self, other: &Names) {
        self.0.clone_from(&other.0);
    }
}

impl Function {
    /// An operand that stands for a word of letters, digits, dots and underscores.
    ///
    /// # Panics
    /// If the text has other characters.
    pub fn name(&mut self, text: &str) -> Operand {
        assert!(is_name(text), "`{text}` is no name");
        self.enter_name(text)
    }

    /// An operand that stands for a text.
    pub(super) fn enter_name(&mut self, text: &str) -> Operand {
        Operand::Name(self.names.enter(text))
    }

    /// An operand of another function as one of this: an immediate and a name stand for the same here. What else it
    /// names is the caller's business.
    pub fn adopt(&mut self, from: &Function, operand: Operand) -> Operand {
        match operand {
            Operand::Name(name) => self.names.adopt(&from.names, name),
            other => self.bind(from.free(other)),
        }
    }

    /// The word that an operand stands for; `None` for what is none, or is one of another function.
    pub fn text(&self, operand: Operand) -> Option<&str> {
        match operand {
            Operand::Name(name) => self.names.get(name),
            _ => None,
        }
    }
}

/// Whether a text can be a name.
pub fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionKind;

    #[test]
    fn names_read_back_and_stand_once() {
        let mut func = Function::new("f", FunctionKind::Device);
        let operands = ["IADD3.X", "", "2D", "IADD3.X"].map(|text| func.name(text));
        assert_eq!(
            operands.map(|operand| func.text(operand)),
            [Some("IADD3.X"), Some(""), Some("2D"), Some("IADD3.X")]
        );
        assert_eq!((operands[0] == operands[3], operands[0] == operands[1]), (true, false));
        let other = Function::new("g", FunctionKind::Device);
        assert_eq!(other.text(operands[0]), None);
        assert!(!is_name("a b") && !is_name("'") && !is_name("é"));
    }
}
