//! Whether the scheduling control of machine words covers every register that they read and write.
//!
//! The machine does not look whether a result is there: each word says how many cycles pass until the next one
//! issues, which of six barriers it sets, and which it waits for. [`check`] follows a function ([`Code`]) on all ways
//! through it, and [`check_cubin`] all functions of a cubin. A read or write of a register that may come before an
//! earlier instruction is done with it is a [`Hazard`]: it names both instructions and what is missing between them.
//!
//! Results of fixed latency need cycles ([`latency`]): as many as ptxas leaves at least. Other results, and sources
//! that are read late, need a barrier that the instruction sets and a later one waits for, `DEPBAR` among them; or one
//! that a later instruction of the same unit sets, where the unit works in order.
//!
//! Each function is followed by itself: nothing is known of what its caller left under way, nor of what a call leaves.
//! Convergence barriers are in no count of cycles, and uniform registers are read at issue, as ptxas takes them.
//!
//! ```
//! use oriole_scoreboard::{Code, check};
//!
//! // S2R R3, SR_TID.X sets barrier 0; IMAD R16, R16, UR4, R3 waits for it, or does not.
//! let (reads, waits, waits_not) = (
//!     0x000e2e00000021000000000000037919,
//!     0x001fe2000f8e02030000000410107c24,
//!     0x000fe2000f8e02030000000410107c24,
//! );
//! assert_eq!(check(&Code::new(90, "f", 0, &[reads, waits], &[])?), []);
//! let hazards = check(&Code::new(90, "f", 0, &[reads, waits_not], &[])?);
//! assert_eq!(
//!     hazards[0].to_string(),
//!     "f: `IMAD R16, R16, UR4, R3` at 0x10 reads R3 before `S2R R3, SR_TID.X` at 0x0 writes it: nothing waits for \
//!      barrier 0"
//! );
//! # Ok::<(), oriole_scoreboard::Unread>(())
//! ```

pub mod access;
mod code;
mod hazard;
pub mod latency;
mod queue;
mod reuse;
mod state;
mod walk;

pub use code::{Code, Unread};
pub use hazard::{Hazard, Missing, Place, check, check_cubin};
pub use walk::{Kind, Meeting, walk};
