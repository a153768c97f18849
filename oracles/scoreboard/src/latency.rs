//! How long results take: measured, not documented.
//!
//! `latencies.txt` has the fewest cycles that ptxas 13.0.88 leaves between two instructions that meet at a register,
//! over the cubins of `corpus/cubins` and what it makes of the PTX kernels of `corpus/kernels` at `-O1` to `-O3` for
//! the seven SMs (2026-11). A row is for a generation, a producer's mnemonic and a consumer's pipe. Wider rows, for all
//! generations, for the producer's pipe, for any consumer, are taken where too few programs show the narrow one.
//! `examples/latencies.rs` writes the file anew; `tests/corpus.rs` holds it against the cubins.

use std::collections::HashMap;
use std::sync::LazyLock;

use oriole_ir::Schedule;
use oriole_sass::class::{Latency, Pipe};
use oriole_sass::row::File;

use crate::access::GUARD;
use crate::code::{Code, Node};
use crate::walk::{Kind, Meeting};

/// Cycles after which a barrier that an instruction sets counts it: a wait that comes earlier does not see it.
pub const SETTLED: u8 = 2;

/// The fewest programs in which ptxas leaves no more cycles, for which a row counts: where fewer come near, nobody
/// knows whether ptxas would leave less elsewhere.
pub const ENOUGH: usize = 3;

/// The place of an addend.
const ADDEND: u8 = 64;

/// The cycles until the next instruction issues.
pub(crate) fn cycles(schedule: &Schedule) -> u8 {
    schedule.stall
}

/// Whether nothing but a barrier says when the results are there.
pub(crate) fn is_variable(node: &Node) -> bool {
    // Coupled, unlike the reductions before it.
    node.inst.encoding.class.latency == Latency::Variable && node.family() != "CREDUX"
}

/// The generation of an SM: those of one have the same latencies.
fn generation(sm: u16) -> &'static str {
    match sm {
        ..=80 => "80",
        81..=89 => "86",
        90..=99 => "90",
        100..=119 => "100",
        _ => "120",
    }
}

/// The columns that a latency is looked up by, from the narrowest to the widest.
pub type Keys = Vec<String>;

/// The keys of a meeting; none where time does not matter. Writes after writes have a wide one alone: what counts there
/// is the difference of two latencies, which ptxas seldom comes near to.
pub fn keys(code: &Code, meeting: &Meeting) -> Keys {
    let (first, second) = (&code.nodes[meeting.first], &code.nodes[meeting.second]);
    let file = meeting.unit.file();
    let (from, to) = (pipe(first), pipe(second));
    // Convergence barriers take part in no count of cycles: ptxas leaves as few as there are.
    if file == File::B {
        return Vec::new();
    }
    if meeting.kind == Kind::WriteAfterWrite {
        let takes_long = is_variable(second);
        return if takes_long { Vec::new() } else { vec![format!("write {file:?} * {from:?} {to:?}")] };
    }
    let place = match meeting.place {
        GUARD => "guard",
        ADDEND if matches!(file, File::R | File::Ur) => "addend",
        _ => "source",
    };
    // Halves of wide operands are read one after the other, and halves of wide results come so.
    let to_half = if is_wide(second) { half(meeting.word) } else { "" };
    let written = first.accesses.writes.iter().position(|unit| *unit == meeting.unit).unwrap_or(0);
    let from_half = if is_wide(first) && matches!(file, File::R) { half(written as u8) } else { "" };
    let (name, generation) = (first.inst.encoding.name, generation(code.sm));
    vec![
        format!("read {file:?} {generation} {name}{from_half} {to:?} {place}{to_half}"),
        format!("read {file:?} * {name}{from_half} {to:?} {place}{to_half}"),
        format!("read {file:?} {generation} {from:?}{from_half} {to:?} {place}{to_half}"),
        format!("read {file:?} * {from:?}{from_half} {to:?} {place}{to_half}"),
        format!("read {file:?} * {from:?}"),
        format!("read {file:?}"),
    ]
}

/// The unit, as latencies show it.
fn pipe(node: &Node) -> Pipe {
    match node.family() {
        // An addition on the unit for products.
        "VIADD" => Pipe::Fma,
        // What it writes to a uniform register is there soon.
        "ELECT" => Pipe::Uniform,
        _ => node.inst.encoding.class.pipe,
    }
}

fn is_wide(node: &Node) -> bool {
    let is_split = matches!(node.inst.encoding.class.pipe, Pipe::Fma | Pipe::Alu);
    is_split && (node.inst.encoding.name.contains("WIDE") || node.inst.has("64"))
}

fn half(word: u8) -> &'static str {
    if word == 0 { ".lo" } else { ".hi" }
}

/// The rows of the table: the cycles by the key.
static ROWS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let rows = include_str!("latencies.txt").lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.rsplit_once(' ')).filter_map(|(key, cycles)| Some((key, cycles.parse().ok()?))).collect()
});

/// The cycles of a row; `None` if the table has none with this key.
pub fn row(key: &str) -> Option<u8> {
    ROWS.get(key).copied()
}

/// The cycles of the narrowest row that the table has; `None` if it has none.
pub fn fewest(keys: &Keys) -> Option<u8> {
    keys.iter().find_map(|key| row(key))
}
