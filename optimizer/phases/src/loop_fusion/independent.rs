//! Whether the rounds of two loops may be executed in turn.
//!
//! All accesses of the first loop come before all of the second one. Fused, those of a later round of the first come
//! behind those of an earlier round of the second. So no byte that one loop accesses may be written by the other, in
//! any two rounds. Addresses are compared by what they are counted from: a register outside of both loops has one value
//! through both, and one of a loop is the root of that loop's addresses alone, of which nothing is known then.
//!
//! Accesses that other threads may order themselves by do not come here, nor does what threads do together. Other
//! threads' plain accesses to the same bytes are data races, with either order.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Inst, RegFile};
use oriole_pass::analysis::MemorySsa;
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::memory::{Effect, Location};
use oriole_pass::engine::loop_tests::Shape;

/// How many pairs of accesses are compared.
const MOST_PAIRS: usize = 4096;

/// Whether nothing that one loop does depends on what the other does.
pub(super) fn are_independent(func: &Function, memory: &MemorySsa, first: &Shape, second: &Shape) -> bool {
    let [first, second] = [first, second].map(|shape| accesses(func, memory, shape));
    let (Some(first), Some(second)) = (first, second) else { return false };
    first.len() * second.len() <= MOST_PAIRS && first.iter().all(|a| second.iter().all(|b| are_apart(a, b)))
}

/// A load or a store.
struct Access {
    at: Location,
    writes: bool,
}

/// The accesses of a loop, if it does nothing whose order matters otherwise.
fn accesses(func: &Function, memory: &MemorySsa, shape: &Shape) -> Option<Vec<Access>> {
    let mut found = Vec::new();
    for inst in shape.blocks.iter().flat_map(|block| func.block_insts(*block)) {
        if computes(func, inst) {
            continue;
        }
        let is_access = matches!(func.inst(inst).opcode, Opcode::Ld | Opcode::St);
        found.push(match memory.effect(inst) {
            Effect::Reads(at) if is_access => Access { at, writes: false },
            Effect::Writes(at) if is_access => Access { at, writes: true },
            _ => return None,
        });
    }
    Some(found)
}

/// Whether an instruction does nothing but compute or lead on. Terminators of such loops are plain branches.
fn computes(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let barrier = func.defs(inst).chain(func.uses(inst)).any(|reg| func.regs()[reg].file == RegFile::B);
    (data.is(Flags::PURE) || data.is(Flags::TERMINATOR)) && !barrier
}

fn are_apart(a: &Access, b: &Access) -> bool {
    let reads = !a.writes && !b.writes;
    reads || a.at.is_constant() || b.at.is_constant() || alias(&a.at, &b.at, false) == Alias::No
}
