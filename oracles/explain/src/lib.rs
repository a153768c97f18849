//! Recorded checks, and the pages that show them to people.
//!
//! 1. A check keeps the programs between its steps ([`oriole_check::recording`]).
//! 2. [`Subject::kernel`] makes a kernel of a [`record`] of them: texts, graphs with loops, liveness, pressure and
//!    divergence, what a launch executes of each program, and the rules with their reasons. A record is JSON with a
//!    schema; reading it back needs neither kernel nor optimizer.
//! 3. [`page`] makes one file of HTML of a record, which loads nothing.
//!
//! Nothing here judges: verdicts are those of the report.

pub mod code;
mod interned;
mod kernel;
pub mod page;
mod program;
pub mod record;
mod rules;

pub use kernel::Subject;
pub use record::Record;
