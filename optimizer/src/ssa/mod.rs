//! Into SSA form and out of it.
//!
//! [`construct`] turns the virtual form, where registers have many definitions, into pruned SSA form; [`destruct`] turns
//! SSA form back. Both keep every observable effect in order; neither optimises. Barrier registers carry order, not
//! values: SSA leaves them alone.

mod construct;
mod destruct;
mod parallel_copy;
#[cfg(test)]
mod tests;

pub use construct::construct;
pub use destruct::destruct;
pub use parallel_copy::sequentialise;
