//! Units that work in order: what a later instruction of one has done, an earlier one has done before.
//!
//! ptxas sets a barrier for the last of several instructions of a queue alone, and lets it stand for all of them.

use oriole_sass::class::{Pipe, Sources};
use oriole_sass::row::{File, Part};

use crate::code::Node;
use crate::latency;

/// A queue of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queue {
    /// Shared memory, shuffles, special registers.
    Shared,
    /// Banks of constants.
    Constant,
    /// Everything that goes through the memory queue: sources are read in order.
    Memory,
    /// Textures and surfaces.
    Texture,
    /// Transcendental functions, conversions, counts of bits.
    Special,
    /// Floats of 64 bits.
    Double,
    /// The uniform datapath.
    Uniform,
    /// Products of matrices by warpgroups.
    Group,
}

/// The queue of an instruction, of its reads or of its writes.
pub(crate) type Of = fn(&Node) -> Option<Queue>;

/// The families whose results come in order.
const SHARED: &[&str] =
    &["LDS", "LDSM", "ATOMS", "STS", "SHFL", "B2R", "S2R", "S2UR", "MATCH", "REDUX", "CREDUX", "R2UR", "QSPC"];

/// The number that stands for the scoreboard of a warpgroup, behind those of the barriers.
pub(crate) const GROUP: u8 = 6;

/// Whether an instruction multiplies matrices beside the warp.
pub(crate) fn is_group(node: &Node) -> bool {
    matches!(node.family(), "HGMMA" | "QGMMA" | "IGMMA" | "BGMMA")
}

/// The barriers that an instruction sets: when its results are there, and when its sources are read.
pub(crate) fn sets(node: &Node) -> [Option<u8>; 2] {
    let counts = |part: &Part| part.name(node.inst.word) == Some("gsb0");
    if is_group(node) && node.inst.encoding.parts.iter().any(counts) {
        return [Some(GROUP), None];
    }
    [node.schedule.write_barrier, node.schedule.read_barrier]
}

/// The queue in which sources are read.
pub(crate) fn of_reads(node: &Node) -> Option<Queue> {
    if is_group(node) {
        return Some(Queue::Group);
    }
    match node.inst.encoding.class.pipe {
        Pipe::Memory => Some(Queue::Memory),
        Pipe::Texture => Some(Queue::Texture),
        Pipe::Special => Some(Queue::Special),
        Pipe::Double => Some(Queue::Double),
        Pipe::Uniform => Some(Queue::Uniform),
        _ => None,
    }
}

/// The queue in which results come.
pub(crate) fn of_writes(node: &Node) -> Option<Queue> {
    let family = node.family();
    if SHARED.contains(&family) {
        return Some(Queue::Shared);
    }
    if family == "LDC" {
        return Some(Queue::Constant);
    }
    of_reads(node).filter(|queue| matches!(queue, Queue::Special | Queue::Double | Queue::Texture | Queue::Group))
}

/// Whether both are of one queue.
pub(crate) fn shared(of: Of, first: &Node, second: &Node) -> bool {
    of(first).is_some_and(|queue| of(second) == Some(queue))
}

/// Whether an instruction whose sources are read later reads those of a file later. Uniform registers are read at
/// issue but for copies in bulk, whose names begin with `U` too.
pub(crate) fn reads_late(node: &Node, file: File) -> bool {
    if node.inst.encoding.class.sources == Sources::AtIssue || !latency::is_variable(node) {
        return false;
    }
    let is_bulk = node.family().starts_with('U') && node.family() != "ULDC";
    file == File::R || file == File::Ur && is_bulk
}
