//! The four OriHoistInvariants: the engine is [`oriole_pass::engine::hoisting`].
//!
//! `spec/instruction-movement.txt` (line 206) gives their places and says that a discriminator selects the class of
//! loops. What each of them is for follows from its place:
//!
//! - *early*, behind the loop phases: innermost loops, before products are fused and redundancies looked for; products
//!   that came fused are taken apart;
//! - *late*, behind predication: all loops, as far out as it goes. The movements follow it;
//! - *late 2*, behind rematerialization: what that has computed again in loops though registers are left;
//! - *late 3*, behind the phases of the architecture: what these have put there that reads no register, such as
//!   addresses of shared variables.

use oriole_ir::Function;
use oriole_pass::engine::hoisting::{self, Policy};
use oriole_pass::pass::{Changed, PhaseContext};

/// OriHoistInvariantsEarly.
pub fn early(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    hoisting::all(func, cx, Policy { innermost: true, preheaders: true, products: true, fixed: false })
}

/// OriHoistInvariantsLate.
pub fn late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    hoisting::all(func, cx, Policy { preheaders: true, ..Policy::ALL })
}

/// OriHoistInvariantsLate2.
pub fn behind_remat(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    hoisting::all(func, cx, Policy::ALL)
}

/// OriHoistInvariantsLate3.
pub fn fixed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    hoisting::all(func, cx, Policy { fixed: true, ..Policy::ALL })
}
