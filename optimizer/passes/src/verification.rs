//! `nvvm-ir-verification`: whether a function is valid (`spec/pass-pipeline.txt`, line 1220: NVVMIRVerification).
//!
//! The verifier looks at what the pass leaves, as it does behind every pass with `--verify`; its row asks for that
//! wherever it runs ([`oriole_pass::pass::Row::verifies`]), and the run fails in its name.

use oriole_ir::Function;
use oriole_pass::pass::{Changed, PhaseContext};

/// The pass itself changes nothing.
pub fn run(_: &mut Function, _: &mut PhaseContext<'_>) -> Changed {
    Changed::No
}
