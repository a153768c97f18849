//! What is wrong with a cubin.

use oriole_ir::diagnostics::counted;

/// Why bytes are no cubin, or why one cannot be loaded or changed as was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CubinError {
    /// The bytes are not an ELF file of 64 bits, or one that breaks off.
    #[error(
        "this is no cubin: {reason}; a cubin is what `ptxas` or `nvcc -cubin` writes, or `cuobjdump -xelf all` extracts"
    )]
    Elf {
        /// What the ELF reader says.
        reason: String,
    },
    /// An ELF file of another machine.
    #[error("this ELF file is for the machine {0}, not for CUDA (190); compile with `ptxas` or `nvcc -cubin`")]
    Machine(u16),
    /// A header of a version that is not known here.
    #[error("this cubin has version {0} of the header, and only 7 (CUDA 11 and 12) and 8 (CUDA 13) are known")]
    Version(u8),
    /// A part of a section that cannot be.
    #[error(
        "section {section}, offset {offset:#x}: {what}; the file is damaged or from a later CUDA: compare `cuobjdump -elf`"
    )]
    Section {
        /// The section's name.
        section: String,
        /// The offset in the section.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A symbol that cannot be.
    #[error("symbol {index} ({name}): {what}; the file is damaged or from a later CUDA: compare `cuobjdump -elf`")]
    Symbol {
        /// The index in the symbol table.
        index: usize,
        /// The name.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A relocation whose effect is not known.
    #[error(
        "section {section}, offset {offset:#x}: what the relocation {kind} does is not known; link the file with nvlink first"
    )]
    Relocation {
        /// The section's name.
        section: String,
        /// The offset in the section.
        offset: u64,
        /// The relocation's name, or its number.
        kind: String,
    },
    /// A relocation against a symbol without an address.
    #[error("section {section}, offset {offset:#x}: {symbol} has no address; give it one with `Placement::put_symbol`")]
    Unplaced {
        /// The section's name.
        section: String,
        /// The offset in the section.
        offset: u64,
        /// The symbol's name.
        symbol: String,
    },
    /// A name that no function has.
    #[error("the cubin has no function {name}; it has {known}")]
    NoFunction {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Code of another length than the function has.
    #[error("{name} has {has}, and {given} cannot stand in their place; fill up with NOP, or compile anew", has = counted(.has, "word"))]
    Length {
        /// The function's name.
        name: String,
        /// The words that it has.
        has: usize,
        /// The words given.
        given: usize,
    },
}

impl From<object::Error> for CubinError {
    fn from(error: object::Error) -> CubinError {
        CubinError::Elf { reason: error.to_string() }
    }
}
