//! Into SSA form and out of it.
//!
//! [`construct()`] turns the virtual form, where registers have many definitions, into pruned SSA form; [`destruct()`]
//! turns SSA form back. Both keep every observable effect in order; neither optimises. Barrier registers carry order,
//! not values: SSA leaves them alone.

mod coalesce;
mod construct;
mod destruct;
mod forward;
mod isolate;
mod merges;
mod parallel_copy;
mod reads;
mod repair;
mod repeated;
mod rotate;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verifier_tests;

use oriole_ir::{Form, Module};

pub use construct::construct;
pub use destruct::destruct;
pub use parallel_copy::sequentialise;
pub use repair::{Copies, repair};

/// Brings every definition in virtual form into SSA form, which most phases need.
pub fn construct_module(module: &mut Module) {
    let in_virtual_form = |func: &&mut oriole_ir::Function| func.form == Form::Virtual && func.is_definition();
    module.functions.values_mut().filter(in_virtual_form).for_each(construct);
}

/// Whether a module has a body in virtual form, so that [`construct_module`] changes it.
pub fn is_virtual(module: &Module) -> bool {
    module.functions.values().any(|func| func.form == Form::Virtual && func.is_definition())
}

/// A copy of the module with every function out of SSA form, as PTX needs it.
pub fn destructed(module: &Module) -> Module {
    let mut copy = module.clone();
    copy.functions.values_mut().for_each(destruct);
    copy
}
