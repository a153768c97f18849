//! What judges the optimizer: a reference interpreter, launch files, and the checks built on them.

pub mod campaign;
pub mod check;
pub mod equivalence;
pub mod facts;
pub mod generate;
pub mod hostile;
pub mod inject;
pub mod input;
pub mod interp;
pub mod launch;
pub mod reduce;
pub mod rules;
pub mod selftest;
pub mod smt;
pub mod targets;
