//! The verifier.

use super::function::Function;
use super::module::Module;

/// A rule that a function breaks, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What is wrong.
    pub message: String,
}

/// Checks a function against every rule of its form.
pub fn verify_function(_func: &Function, _module: Option<&Module>) -> Result<(), Vec<Violation>> {
    Ok(())
}

/// Checks a module and its functions.
pub fn verify_module(module: &Module) -> Result<(), Vec<Violation>> {
    module.functions.values().try_for_each(|func| verify_function(func, Some(module)))
}
