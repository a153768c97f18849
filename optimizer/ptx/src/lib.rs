//! PTX ISA 9.0 text in and out.
//!
//! [`parse`] turns text into the syntax tree of [`ast`] in three steps: [`lexer`] makes tokens, the parser builds the
//! tree and continues behind a fault, so that one run reports as many as make sense. Meaning (which opcodes
//! exist, which names are declared) is left to the lowering. No text, however hostile, makes it panic,
//! overflow the stack, or take more than a small multiple of the text's size in memory.
//!
//! A module for an SM before sm_50 is read as one for sm_50, and printed so: nothing makes code for the older ones, and
//! PTX runs on later SMs. Where the older one flushes denormals unasked, so do the operations that are read.

pub mod ast;
mod diagnostics;
mod emit;
pub mod lexer;
mod lower;
mod opaque;
mod parser;
mod spelling;

use oriole_ir as ir;

pub use emit::{EmitError, Labels};
pub use opaque::Dialect;
pub use oriole_ir::diagnostics::{Fault, MAX_FAULTS, SourceError};
pub use oriole_ir::place::line_column;

/// Parses a whole PTX module.
///
/// # Errors
///
/// All faults found, in the order of the text, at most [`MAX_FAULTS`].
pub fn parse(source: &str) -> Result<ast::Module<'_>, Vec<Fault>> {
    parser::parse(source)
}

/// Lowers the tree of a module to IR in virtual form; `source` is the text that the tree was parsed from.
///
/// # Errors
///
/// All faults found, in the order of the text, at most [`MAX_FAULTS`].
pub fn lower(tree: &ast::Module<'_>, source: &str) -> Result<ir::Module, Vec<Fault>> {
    lower_dialect(tree, source, &Dialect::default())
}

/// The same of a module with instructions that the tables do not know.
///
/// # Errors
///
/// All faults found, in the order of the text, at most [`MAX_FAULTS`].
pub fn lower_dialect(tree: &ast::Module<'_>, source: &str, dialect: &Dialect) -> Result<ir::Module, Vec<Fault>> {
    lower::lower(tree, source, dialect)
}

/// Parses and lowers a whole PTX module. Its functions are in virtual form; SSA construction is a step of its own.
///
/// # Errors
///
/// As [`parse()`] and [`lower()`].
pub fn read(source: &str) -> Result<ir::Module, Vec<Fault>> {
    read_dialect(source, &Dialect::default())
}

/// The same of a module with instructions that the tables do not know.
///
/// # Errors
///
/// As [`parse()`] and [`lower()`].
pub fn read_dialect(source: &str, dialect: &Dialect) -> Result<ir::Module, Vec<Fault>> {
    lower_dialect(&parse(source)?, source, dialect)
}

/// Prints a module at virtual level and in virtual form as PTX text for ptxas.
///
/// # Errors
///
/// The first thing that PTX has no words for: machine-level instructions and registers, constant banks.
pub fn emit(module: &ir::Module) -> Result<String, EmitError> {
    emit::emit(module, Labels::Numbers)
}

/// The same with blocks named in one of several ways.
///
/// # Errors
///
/// As [`emit()`].
pub fn emit_labelled(module: &ir::Module, labels: Labels) -> Result<String, EmitError> {
    emit::emit(module, labels)
}

/// The text of a PTX file, without the NUL bytes that end an image meant for the driver.
///
/// # Errors
///
/// The place of the first byte that is not UTF-8, as a place in the lossy decoding of the same bytes.
pub fn decode(bytes: &[u8]) -> Result<&str, Fault> {
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    str::from_utf8(&bytes[..length]).map_err(|error| {
        let start = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
        let span = ast::Span { start, end: start };
        Fault::new(span, "the file is not UTF-8 text", "first bad byte", "give PTX text, not a cubin or fatbin")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_trims_the_final_nul_and_places_bad_bytes() {
        assert_eq!(decode(b"abc\0\0"), Ok("abc"));
        assert_eq!(decode(b""), Ok(""));
        let fault = decode(b"ab\xFFc").expect_err("not UTF-8");
        assert_eq!(fault.span.offset(), 2);
    }
}
