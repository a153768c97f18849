//! Executes machine code of NVIDIA GPUs: words of the real ptxas, or of anybody else.
//!
//! A kernel of a cubin is decoded for a launch ([`decode`]) and run warp by warp: 32 lanes in groups that execute
//! together, with convergence barriers as the code has them ([`state`]), general registers as a word for each lane and
//! uniform ones as a word for all ([`program`]). Observable is what the interpreter of PTX observes, in the same form
//! ([`oriole_interp::RunResult`]), so that the two can be compared.
//!
//! Ori at the machine level, in physical form, is executed by its words ([`Lifted`]).
//!
//! Functions that PTX has too are those of [`oriole_semantics::scalar`]. Nothing is undefined here: shared memory
//! begins as zero, registers with words that are no zeros, so that one which nobody has written shows. Scheduling
//! control is not looked at: a missing wait for a scoreboard does not show.

mod access;
mod arithmetic;
mod bulk;
mod clock;
mod cluster;
#[cfg(test)]
mod columns;
mod common;
mod decode;
mod doubles;
mod engine;
mod execute;
mod external;
mod headers;
mod image;
mod lanes;
mod launch;
mod lifted;
mod machine;
mod multicast;
mod operands;
mod program;
mod run;
mod single;
mod state;
#[cfg(test)]
mod tests;
mod tiles;
mod trace;
mod warpgroup;

pub use lifted::{Lifted, LiftedError};
pub use run::{Image, RunError, not_executed};
pub use single::{GENERAL_REGISTERS, Registers, SingleError, UNIFORM_REGISTERS};
