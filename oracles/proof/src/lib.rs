//! Proofs about expressions of register-only operations.
//!
//! - [`term`]: bit-vector terms; [`text`] prints them as SMT-LIB 2, [`eval`] computes them.
//! - [`mod@meaning`]: what every register-only opcode computes, as terms.
//! - [`machine`]: what machine instructions on registers compute, as terms.
//! - [`query`]: whether one expression refines another under preconditions.
//! - [`search`]: answers by trying inputs: all of them, or boundary values and biased samples.
//! - [`mod@solve`]: premises that relate variables are met by construction.
//! - [`cases`]: questions in cases, by the outcomes of conditions.
//! - [`floats`]: operations on floats that stay what they are, for solvers that know them.
//! - [`integers`]: questions that multiply and divide, as questions about integers.
//! - [`prover`]: answers kept by [`cache`] under the text of the question, of arithmetic, and of solvers.
//! - [`solver`]: answers by z3, cvc5 or bitwuzla.
//!
//! Nothing here comes from the optimizer but the opcode table and the rows of machine words, and nothing from the
//! interpreters, which the tests compare [`mod@meaning`] and [`machine`] with.

pub mod cache;
pub mod cases;
pub mod eval;
pub mod floats;
pub mod integers;
pub mod machine;
pub mod meaning;
pub mod narrow;
pub mod prover;
pub mod query;
#[cfg(test)]
mod rewrites;
pub mod search;
pub mod solve;
pub mod solver;
pub mod term;
pub mod text;

pub use cache::{Cache, CacheError};
pub use integers::{is_arithmetic, with_multiples};
pub use meaning::{
    Meaning, absence, differ_modulo_nan, leaves_nan_open, meaning, numbers_of, population, read_by_approximation,
    special_values, with_other_nans,
};
pub use narrow::{few_values, narrowed, without_unread_bits};
pub use prover::Prover;
pub use query::{Inputs, Query, Side, equivalence, satisfiable, shrink};
pub use search::{Domain, Searched, exhaustive, input_bits, sampled};
pub use solve::{Solved, solve};
pub use solver::{Answer, Answered, Solver, SolverError};
pub use term::{Term, Terms, Variable};
