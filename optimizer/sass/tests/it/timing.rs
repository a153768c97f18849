//! The timing columns of rows, measured on ptxas's own code: the cubins of `corpus/cubins` (CUDA 13.0, 2026-11).
//!
//! In straight code, the cycles from an instruction to the first one that reads a register of its results are the
//! stalls between them. The fewest over the corpus are what [`Latency::Fixed`] says, where the compiler counts cycles.
//! Results with a write barrier are there when it is released ([`Latency::Variable`]), and a read barrier says that
//! sources are read later ([`Sources::Later`]).

use std::collections::BTreeMap;
use std::path::Path;

use oriole_sass::class::{Class, Latency, Pipe, Sources};
use oriole_sass::cubin::{Cubin, words};
use oriole_sass::row::{File, Part, Show};
use oriole_sass::{Instruction, Table};

/// A register: its file, its number.
type Register = (u8, u64);

/// What is measured of the rows of one mnemonic with one class.
#[derive(Default, Debug)]
struct Measured {
    /// The fewest cycles to a reader.
    fewest: Option<u64>,
    /// How many readers were seen, but for `-O0` code, which waits for each instruction.
    readers: usize,
    /// How many words there are, how many with a write barrier and how many with a read barrier.
    words: usize,
    written: usize,
    read: usize,
}

fn cubins() -> Vec<(String, Cubin)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let read = |line: &str| {
        let name = line.split(' ').next().expect("a line begins with a name").to_owned();
        let bytes = std::fs::read(folder.join(&name)).expect("ci/cubins wrote the cubin");
        (name, Cubin::read(&bytes).expect("a cubin"))
    };
    list.lines().map(read).collect()
}

/// The registers that a part of a word names, without those that are constant.
fn registers(inst: &Instruction<'_>, part: &Part) -> Vec<Register> {
    let Some(file) = part.file().filter(|file| matches!(file, File::R | File::Ur | File::P | File::Up)) else {
        return Vec::new();
    };
    let number = part.number(inst.word);
    let is_named = part.show != Show::Never && part.is_used(inst.word) && part.constant_number() != Some(number);
    let count = if is_named { u64::from(inst.encoding.words(part, inst.word)) } else { 0 };
    (number..number + count).map(|number| (file as u8, number)).collect()
}

/// Whether an instruction adds a product: its last register is read later than the others.
fn is_addend(inst: &Instruction<'_>, part: &Part) -> bool {
    let pipes = [Pipe::Fma, Pipe::Uniform, Pipe::Half, Pipe::Tensor, Pipe::Double];
    pipes.contains(&inst.encoding.class.pipe) && part.at.low == 64
}

/// Goes through straight code: from one word that jumps, or that is jumped to, to the next.
fn measure(table: &'static Table, code: &[u128], is_slow: bool, measured: &mut BTreeMap<String, (Class, Measured)>) {
    let decoded: Vec<_> = code.iter().map(|word| table.decode(*word).expect("the corpus is known")).collect();
    let mut leaders = vec![false; decoded.len() + 1];
    for (at, inst) in decoded.iter().enumerate() {
        if let Some(target) = inst.target(16 * at as u64).filter(|target| target / 16 < decoded.len() as u64) {
            leaders[(target / 16) as usize] = true;
        }
        leaders[at + 1] |= inst.encoding.class.flow.ends_block();
    }
    let mut pending: BTreeMap<Register, (usize, u64)> = BTreeMap::new();
    let mut cycle = 0;
    for (at, inst) in decoded.iter().enumerate() {
        if leaders[at] {
            pending.clear();
        }
        let (schedule, class) = (inst.schedule(), inst.encoding.class);
        let entry = measured.entry(key(inst)).or_insert((class, Measured::default()));
        entry.1.words += 1;
        entry.1.written += usize::from(schedule.write_barrier.is_some());
        entry.1.read += usize::from(schedule.read_barrier.is_some());
        for part in inst.encoding.parts.iter().chain([&inst.encoding.guard]).filter(|part| !part.is_written()) {
            for reg in registers(inst, part).into_iter().filter(|_| !is_addend(inst, part)) {
                let Some((from, start)) = pending.get(&reg) else { continue };
                let of = &mut measured.get_mut(&key(&decoded[*from])).expect("it was seen").1;
                of.readers += usize::from(!is_slow);
                of.fewest = Some(of.fewest.map_or(cycle - start, |fewest| fewest.min(cycle - start)));
            }
        }
        for part in inst.encoding.parts.iter().filter(|part| part.is_written()) {
            for reg in registers(inst, part) {
                match schedule.write_barrier {
                    Some(_) => pending.remove(&reg),
                    None => pending.insert(reg, (at, cycle)),
                };
            }
        }
        cycle += u64::from(schedule.stall);
        // After a stall of zero in `-O0` code the next instruction waits by itself.
        if schedule.stall == 0 {
            pending.clear();
        }
    }
}

/// The mnemonic, apart by what its rows say of timing.
fn key(inst: &Instruction<'_>) -> String {
    format!("{} {:?} {:?}", inst.encoding.name, inst.encoding.class.latency, inst.encoding.class.sources)
}

#[test]
fn columns_of_timing_are_what_ptxas_counts_on() {
    let mut measured = BTreeMap::new();
    for (name, cubin) in cubins() {
        let table = Table::of(cubin.target.sm).expect("the SM is known");
        for function in &cubin.functions {
            let range = cubin.own_range(function);
            let own = &cubin.bytes(function.section)[range.start as usize..range.end as usize];
            measure(table, &words(own).collect::<Vec<_>>(), name.contains(".O0."), &mut measured);
        }
    }
    let mut wrong = Vec::new();
    for (name, (class, found)) in &measured {
        let fits = match class.latency {
            Latency::Fixed(cycles) => {
                let is_least = found.fewest.is_none_or(|fewest| fewest >= cycles.into());
                // Where many readers were seen, one of them came as early as it may.
                let is_met = found.readers < 40 || found.fewest == Some(cycles.into());
                found.written == 0 && is_least && is_met
            }
            Latency::Variable => found.words < 8 || found.written > 0 || found.read > 0 || found.readers == 0,
        };
        let reads = class.sources == Sources::Later || found.read == 0;
        if !(fits && reads) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows are other than ptxas takes them:\n{}", wrong.len(), wrong.join("\n"));
}
