//! Mutants of text, for fuzzers: parse, change, print.
//!
//! The text stays in its language and form: `.ori` in SSA form is changed in virtual form and brought back. A fuzzer's
//! own mutator serves where there is nothing to parse; it breaks texts, this one keeps them kernels.

use oriole_check::input::{read_ptx, write_ptx};
use oriole_ir::{Form, Module, parse_module};
use oriole_optimizer::ssa;

use oriole_generate::Entropy;
use oriole_generate::config::MutantConfig;
use oriole_generate::mutate::mutate;

/// Changes the kernel that a text holds; `None` where it holds none, nothing changes, or the result is longer than
/// `most` bytes.
pub fn text(text: &str, most: usize, seed: u64) -> Option<String> {
    let mut entropy = Entropy::from_seed(seed);
    let config = MutantConfig::default();
    let (mut module, is_ptx) = match parse_module(text) {
        Ok(module) => (module, false),
        Err(_) => (read_ptx(text).ok()?, true),
    };
    let forms: Vec<Form> = module.functions.values().map(|func| func.form).collect();
    if !changeable(&module) {
        return None;
    }
    module.functions.values_mut().for_each(ssa::destruct);
    let donor = module.clone();
    if mutate(&mut module, &donor, &mut entropy, &config).is_empty() {
        return None;
    }
    for (func, form) in module.functions.values_mut().zip(forms) {
        if form == Form::Ssa {
            ssa::construct(func);
        }
    }
    let printed = if is_ptx { write_ptx(&module).ok()? } else { module.to_string() };
    if is_ptx && read_ptx(&printed).is_err() {
        return None;
    }
    (printed.len() <= most && printed != text).then_some(printed)
}

/// Bringing a function out of SSA form relies on what the verifier checks.
fn changeable(module: &Module) -> bool {
    oriole_ir::verify::verify_module(module).is_ok()
}

/// The same in a fuzzer's buffer, of which the first `size` bytes are the text: the new size.
pub fn in_place(buffer: &mut [u8], size: usize, most: usize, seed: u32) -> Option<usize> {
    let text_now = std::str::from_utf8(buffer.get(..size)?).ok()?;
    let new = text(text_now, most.min(buffer.len()), seed.into())?;
    buffer[..new.len()].copy_from_slice(new.as_bytes());
    Some(new.len())
}

/// One in so many inputs is left to the fuzzer's own mutator all the same: texts that are no kernels test the readers.
const BYTES_ONE_IN: u32 = 8;

/// A fuzzer's custom mutator: [`in_place`], or else its own mutator of bytes.
pub fn or_bytes(
    buffer: &mut [u8],
    size: usize,
    most: usize,
    seed: u32,
    bytes: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let changed = if seed.is_multiple_of(BYTES_ONE_IN) { None } else { in_place(buffer, size, most, seed) };
    changed.unwrap_or_else(|| bytes(buffer, size, most))
}
