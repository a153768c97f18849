//! OriHoistInvariantsEarly and OriHoistInvariantsLate: the engine is [`oriole_pass::engine::hoisting`].

use oriole_ir::Function;
use oriole_pass::engine::hoisting;
use oriole_pass::pass::{Changed, PhaseContext};

/// Both phases.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    hoisting::all(func, cx)
}
