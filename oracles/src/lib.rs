//! What judges the optimizer: a reference interpreter, launch files, and the checks built on them.

pub mod interp;
pub mod launch;
