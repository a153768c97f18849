//! The meaning of operations, apart from any machine that executes them: of one lane ([`scalar`]), of the matrices of a
//! warp ([`matrix`], and [`tensor`] for whole products), of a barrier in memory ([`mbarrier`]).
//!
//! Nothing here comes from the optimizer but the opcode table, and nothing executes: interpreters are above.

pub mod lanes;
pub mod matrix;
pub mod mbarrier;
pub mod processor;
pub mod scalar;
pub mod tensor;
