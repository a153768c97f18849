//! Vectorization and LateVectorization: the engine is [`oriole_pass::engine::vectorize`].
//!
//! `spec/instruction-movement.txt` (line 204) says that the two share one engine, with candidates from before
//! predication and from after it. So the late instance looks at accesses under guards too, and at local memory, of
//! which the phases between the two take what they can into registers.

use oriole_ir::Function;
use oriole_pass::engine::vectorize::{Policy, run};
use oriole_pass::pass::{Changed, PhaseContext};

/// Vectorization.
pub fn early(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    run(func, cx, Policy { guarded: false, local: false, raises: true })
}

/// LateVectorization.
pub fn late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    run(func, cx, Policy { guarded: true, local: true, raises: true })
}
