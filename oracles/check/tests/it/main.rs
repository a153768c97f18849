//! Compilers of others, and what their code reads and writes.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

mod allocation;
mod compiler;
mod machine_level;
mod stages;
