//! Cubins: the ELF files that hold the code of NVIDIA GPUs.
//!
//! [`Cubin::read`] takes the bytes of one and finds the SM, the functions with what a launch has to know of each (from
//! `.nv.info`), the symbols and the relocations. [`Cubin::apply_relocations`] does what a loader does: it writes the
//! addresses of a [`Placement`] into code, constants and data. [`Cubin::with_code`] puts other words in a function's
//! place.
//!
//! Nobody documents the format. What is here was found by compiling with CUDA 13.0, by asking `cuobjdump -elf`
//! about files with single bytes changed, and by letting nvlink apply each relocation to sums with a single bit set.
//!
//! What sections hold, by their names (sections of kernels end in the kernel's name):
//!
//! | section | content |
//! |---|---|
//! | `.text.K` | the code of a kernel or function, and of what it calls in a file that is linked |
//! | `.nv.info`, `.nv.info.K` | attributes: registers and stack of all functions; parameters, exits, ... of one |
//! | `.nv.constant0.K` | bank 0: what the driver writes, then the parameters |
//! | `.nv.constant2.K` | bank 2: constants that the compiler made, tables of jumps among them |
//! | `.nv.constant3` | bank 3: `__constant__` variables |
//! | `.nv.constant4` | bank 4: addresses of global variables and of functions elsewhere |
//! | `.nv.global`, `.nv.global.init` | global variables: zero at first, or with values |
//! | `.nv.shared.K` | shared variables; on `sm_90` and later behind the KiB that is the system's |
//! | `.nv.local.K` | local variables outside the stack |
//! | `.nv.merc.*`, `.nv.capmerc.*` | the same once more in a form for other SMs (`sm_100` on), not read here |

mod attribute;
pub mod build;
mod error;
pub mod fat;
mod info;
pub mod lines;
mod part;
mod placement;
mod read;
mod relocation;
#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;
use std::sync::Arc;

pub use attribute::{Attribute, AttributeRow, Shape, Value, code};
pub use error::CubinError;
pub use info::{IndirectBranch, Info, Parameter};
pub use placement::{Image, Placement};
pub use relocation::{Effect, Field, Relocation, RelocationKind, Source};

/// A cubin, read.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// The GPU that the code is for.
    pub target: Target,
    /// Whether variables have their places: false in what `nvcc -rdc=true` and `ptxas -c` make, which nvlink has to
    /// link.
    pub is_linked: bool,
    /// Every section, by its index in the file; the first is empty.
    pub sections: Vec<Section>,
    /// Every symbol, by its index in the file; the first is empty.
    pub symbols: Vec<Symbol>,
    /// Kernels and device functions, in the order of the symbols.
    pub functions: Vec<Function>,
    /// The attributes of the whole file, from `.nv.info`.
    pub attributes: Vec<Attribute>,
    /// Relocations of code, constants and data. Those of debugging information are left out.
    pub relocations: Vec<Relocation>,
    data: Arc<[u8]>,
}

/// The GPU that code is for: `sm_90a`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The SM's number.
    pub sm: u16,
    /// `a` for the features of one SM, `f` for those of a family. `f` is known only by the command line that ptxas
    /// noted.
    pub suffix: Option<char>,
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "sm_{}{}", self.sm, self.suffix.map(String::from).unwrap_or_default())
    }
}

/// A section of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The name, with the leading dot.
    pub name: String,
    /// What it holds.
    pub kind: SectionKind,
    /// Bytes that it has when loaded.
    pub size: u64,
    /// The alignment of its first byte.
    pub align: u64,
    /// Where its bytes are in the file; empty where it has none.
    pub range: Range<usize>,
}

/// What a section holds, as its name says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SectionKind {
    /// `.text.K`
    Code,
    /// `.nv.constantN` or `.nv.constantN.K`
    Constant {
        /// The bank's number.
        bank: u8,
    },
    /// `.nv.global`: no bytes in the file, zero when loaded.
    Global,
    /// `.nv.global.init`
    GlobalInit,
    /// `.nv.shared.K`
    Shared,
    /// `.nv.local.K`
    Local,
    /// Everything else.
    Other,
}

/// A symbol of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name; empty for most that stand for sections.
    pub name: String,
    /// What it names.
    pub kind: SymbolKind,
    /// The index of the section that it lies in; `None` if it is defined elsewhere.
    pub section: Option<usize>,
    /// The offset in the section. In a file that is not linked, for a shared variable, the alignment.
    pub value: u64,
    /// The size in bytes.
    pub size: u64,
    /// Whether zero stands for it where nobody defines it.
    pub is_weak: bool,
    /// Whether it is a shared variable: known only in a file that is not linked.
    pub is_shared: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// A function that others call.
    Function,
    /// A function that a launch begins with.
    Entry,
    /// A variable.
    Object,
    /// A section.
    Section,
    /// Something else.
    Other,
}

/// A kernel or a device function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The name; `$k$f` for a function `f` that follows the kernel `k` in its section.
    pub name: String,
    /// The index of its symbol.
    pub symbol: usize,
    /// The index of the section that holds its code.
    pub section: usize,
    /// The offset of its first word in the section.
    pub offset: u64,
    /// The size in bytes: those of functions behind a kernel among the kernel's.
    pub size: u64,
    /// Whether a launch can begin with it.
    pub is_entry: bool,
    /// What the attributes say.
    pub info: Info,
}

impl Cubin {
    /// The file as it was read.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The same file with other bytes in the places of its code: all else that was read of it stays true.
    pub(crate) fn with_data(&self, data: Vec<u8>) -> Cubin {
        debug_assert_eq!(data.len(), self.data.len(), "code stays in its place");
        Cubin { data: data.into(), ..self.clone() }
    }

    /// The same, shared.
    pub fn shared_data(&self) -> &Arc<[u8]> {
        &self.data
    }

    /// The function with a name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The functions that a launch can begin with.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.is_entry)
    }

    /// The index of the first symbol with a name.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.symbols.iter().position(|symbol| symbol.name == name)
    }

    /// The index of the section with a name.
    pub fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    /// The bytes of a section as they are in the file; none for variables that are zero at first.
    ///
    /// # Panics
    ///
    /// If the file has no such section.
    pub fn bytes(&self, section: usize) -> &[u8] {
        &self.data[self.sections[section].range.clone()]
    }

    /// The code of a function as it is in the file, with nothing relocated.
    pub fn code(&self, function: &Function) -> &[u8] {
        &self.bytes(function.section)[function.bytes()]
    }

    /// Where the words of a function are in its section that belong to no function behind it.
    pub fn own_range(&self, function: &Function) -> Range<u64> {
        let (start, end) = (function.offset, function.offset + function.size);
        let others = self.functions.iter().filter(|other| other.section == function.section);
        let inner = others.map(|other| other.offset).filter(|offset| (start + 1..end).contains(offset)).min();
        start..inner.unwrap_or(end)
    }

    /// The words of a function as they are in the file, with nothing relocated.
    pub fn words(&self, function: &Function) -> impl ExactSizeIterator<Item = u128> {
        words(self.code(function))
    }

    /// The section with the constants of a bank that a function reads: its own, or that of the whole file.
    pub fn constants(&self, function: &Function, bank: u8) -> Option<usize> {
        let own = self.section(&format!(".nv.constant{bank}.{}", self.section_owner(function)));
        own.or_else(|| self.section(&format!(".nv.constant{bank}")))
    }

    /// Bytes of shared memory that a function's own variables take, together with what is reserved before them.
    pub fn shared_size(&self, function: &Function) -> u64 {
        let section = self.section(&format!(".nv.shared.{}", self.section_owner(function)));
        section.map_or(0, |section| self.sections[section].size)
    }

    /// The name behind that of a function's section: another function's where it follows that one.
    fn section_owner(&self, function: &Function) -> &str {
        let name = &self.sections[function.section].name;
        name.strip_prefix(read::CODE).unwrap_or(name)
    }
}

impl Function {
    /// Where its code is in its section.
    pub fn bytes(&self) -> Range<usize> {
        self.offset as usize..(self.offset + self.size) as usize
    }
}

/// Bytes as 128-bit words, the lowest byte first; what is left over is no word.
pub fn words(code: &[u8]) -> impl ExactSizeIterator<Item = u128> {
    code.as_chunks::<16>().0.iter().map(|bytes| u128::from_le_bytes(*bytes))
}
