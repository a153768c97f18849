//! What an instruction reads and writes: which registers, how many of them.
//!
//! The columns of the rows say it ([`super::row::Words`], [`super::row::Access`]); nvdisasm's live ranges judge them.

use super::encoding::Encoding;
use super::row::{Access, File, NO_BIT, Part, Show, What, Words};

impl Part {
    /// The file of the registers that it names.
    pub fn file(&self) -> Option<File> {
        match self.what {
            What::Register(file) | What::Indexed(file) => Some(file),
            What::Base => Some(File::R),
            What::UniformBase | What::Descriptor | What::Within(_) | What::Beside(_) | What::Bindless => Some(File::Ur),
            What::BindlessByte => Some(File::Ur),
            _ => None,
        }
    }

    /// The number of the register that it names.
    pub fn number(&self, word: u128) -> u64 {
        // What is above the register of a bank is the offset in it.
        if matches!(self.what, What::Bindless | What::BindlessByte) { self.at.get(word) } else { self.value(word) }
    }

    /// The number that stands for no register: what is read there is zero or true.
    pub fn constant_number(&self) -> Option<u64> {
        let is_bank = matches!(self.what, What::Bindless | What::BindlessByte);
        let above = if is_bank { 0 } else { self.above.len };
        match self.file()? {
            File::B | File::Sb => None,
            _ => Some((1 << (self.at.len + above)) - 1),
        }
    }

    /// Whether the registers that it names are written; else they are read.
    pub fn is_written(&self) -> bool {
        match self.access {
            Access::Read => false,
            Access::Written => true,
            Access::Usual => match self.what {
                What::Register(File::P | File::Up) => self.invert == NO_BIT,
                What::Register(_) => self.at.low == 16,
                _ => false,
            },
        }
    }

    /// Whether a word reads or writes what it names: parts may be there for some modifiers only. One whose access is
    /// said is always there, written or not.
    pub fn is_used(&self, word: u128) -> bool {
        match self.show {
            Show::Always | Show::Unless(_) => true,
            _ => self.access != Access::Usual || self.is_shown(word),
        }
    }

    fn own_words(&self, word: u128) -> u8 {
        let has_suffix = |name| self.suffix.is_some_and(|(bits, names)| bits.is_empty() && names == [name]);
        match self.words {
            Words::By(part) => part.name(word).map_or(1, words_of),
            Words::Count(count) => match self.what {
                What::Base if has_suffix("64") => 2,
                // Whatever is read there, a descriptor and the address of a bank have 64 bits.
                What::Descriptor | What::Bindless | What::BindlessByte => 2,
                _ => count,
            },
        }
    }
}

/// How many registers a value has whose type or size a modifier names, or an address of a space.
fn words_of(name: &str) -> u8 {
    match name.split('.').next().unwrap_or(name) {
        "E" | "G" | "2" | "64" | "U64" | "S64" | "SD64" | "F64" | "F16x4" | "BF16x4" | "F32x2" | "E5M2x8"
        | "E4M3x8" => 2,
        "4" | "128" | "F16x8" | "BF16x8" | "F32x4" | "E5M2x16" | "E4M3x16" => 4,
        _ => 1,
    }
}

impl Encoding {
    /// How many registers a part of a word names.
    pub fn words(&self, part: &Part, word: u128) -> u8 {
        self.widths.and_then(|widths| widths(word, part)).unwrap_or_else(|| part.own_words(word))
    }
}
