//! Executes words along random ways: ready times, counters of barriers, the operand cache.

use std::collections::{BTreeMap, BTreeSet};

use oriole_sass::Instruction;
use oriole_sass::class::{Flow, Latency, Pipe, Sources};
use oriole_sass::row::{File, What};
use oriole_scoreboard::Code;
use oriole_scoreboard::access::{Accesses, Read, Unit};

use crate::common::{FunctionOf, Random};

/// The closest meetings of ptxas's code: cycles, and the programs that have them.
pub type Closest = BTreeMap<String, (u64, BTreeSet<String>)>;

/// The fewest programs that must show a distance.
const ENOUGH: usize = 3;
/// How many ways are taken, how long they are before the fault and behind it.
const WAYS: usize = 30;
const BEFORE: usize = 150;
const BEHIND: usize = 200;
/// Cycles until a barrier counts.
const SETTLED: u64 = 2;

/// The unit whose results come in order.
fn results_in_order(inst: &Instruction<'_>) -> Option<&'static str> {
    let family = inst.encoding.name.split('.').next()?;
    match (inst.encoding.class.pipe, family) {
        (
            _,
            "LDS" | "LDSM" | "ATOMS" | "STS" | "SHFL" | "B2R" | "S2R" | "S2UR" | "MATCH" | "REDUX" | "R2UR" | "QSPC",
        ) => Some("shared"),
        (_, "LDC") => Some("constant"),
        (Pipe::Special, _) => Some("special"),
        (Pipe::Double, _) => Some("double"),
        (Pipe::Texture, _) => Some("texture"),
        _ => None,
    }
}

/// The unit that reads sources in order.
fn sources_in_order(inst: &Instruction<'_>) -> Option<Pipe> {
    let pipe = inst.encoding.class.pipe;
    matches!(pipe, Pipe::Memory | Pipe::Texture | Pipe::Special | Pipe::Double).then_some(pipe)
}

fn is_variable(inst: &Instruction<'_>) -> bool {
    let is_coupled = inst.encoding.name.starts_with("CREDUX");
    inst.schedule().write_barrier.is_some() || inst.encoding.class.latency == Latency::Variable && !is_coupled
}

/// What distances are told apart by.
fn key(sm: u16, first: &Instruction<'_>, second: &Instruction<'_>, read: &Read) -> String {
    let (from, to) = (first.encoding.name, second.encoding.name);
    format!("{} {from} {to} {:?} {} {}", sm / 10, read.unit.file(), read.place, read.word)
}

/// An instruction that issued.
struct Issued<'c> {
    inst: &'c Instruction<'static>,
    guard: Option<(Unit, bool)>,
    cycle: u64,
    is_variable: bool,
    is_written: bool,
    is_read: bool,
}

/// Execution.
struct Run<'c> {
    code: &'c Code,
    cycle: u64,
    issued: Vec<Issued<'c>>,
    writers: BTreeMap<Unit, Vec<usize>>,
    readers: BTreeMap<Unit, Vec<usize>>,
    cache: [Option<(Unit, bool)>; 4],
}

impl<'c> Run<'c> {
    fn new(code: &'c Code) -> Run<'c> {
        let (writers, readers) = (BTreeMap::new(), BTreeMap::new());
        Run { code, cycle: 0, issued: Vec::new(), writers, readers, cache: [None; 4] }
    }

    /// Whether another guard keeps the second from being executed where the first was.
    fn is_apart(&self, issued: usize, guard: Option<(Unit, bool)>) -> bool {
        let first = self.issued[issued].guard;
        first.zip(guard).is_some_and(|((one, is_not), (other, is_other_not))| one == other && is_not != is_other_not)
    }

    /// All that counted for a barrier is done, but for the last so many; and what is before it in its unit.
    fn release(&mut self, barrier: u8, but: usize, settled: u64) {
        let counts = |issued: &Issued<'_>| {
            let schedule = issued.inst.schedule();
            let writes = schedule.write_barrier == Some(barrier);
            (writes, writes || schedule.read_barrier == Some(barrier))
        };
        let all: Vec<usize> = (0..self.issued.len()).filter(|at| counts(&self.issued[*at]).1).collect();
        for at in all.iter().take(all.len().saturating_sub(but)).copied() {
            if self.cycle - self.issued[at].cycle < settled {
                continue;
            }
            let ((writes, _), inst) = (counts(&self.issued[at]), self.issued[at].inst);
            for (before, issued) in self.issued[..=at].iter_mut().enumerate() {
                let is_it = before == at;
                let results = results_in_order(inst).is_some_and(|unit| results_in_order(issued.inst) == Some(unit));
                let sources = sources_in_order(inst).is_some_and(|unit| sources_in_order(issued.inst) == Some(unit));
                issued.is_written |= writes && (is_it || results);
                issued.is_read |= is_it || sources;
            }
        }
    }

    fn depbar(&mut self, inst: &Instruction<'_>) {
        if !inst.encoding.name.starts_with("DEPBAR") {
            return;
        }
        let value = |what: fn(What) -> bool| {
            let part = inst.encoding.parts.iter().find(|part| what(part.what))?;
            Some(part.value(inst.word))
        };
        let mask = value(|what| what == What::Mask).unwrap_or(0);
        (0..6).filter(|barrier| mask >> barrier & 1 == 1).for_each(|barrier| self.release(barrier, 0, 0));
        let count = value(|what| matches!(what, What::Immediate(_))).unwrap_or(0) as usize;
        if let Some(barrier) = value(|what| what == What::Register(File::Sb)) {
            self.release(barrier as u8, count, 0);
        }
    }

    /// Takes an instruction; tells each distance from a writer whose latency is fixed, and what is not covered.
    fn step(&mut self, index: usize, far: &mut dyn FnMut(String, u64) -> bool) -> Option<String> {
        let inst = self.code.inst(index)?;
        let (schedule, all) = (inst.schedule(), Accesses::of(inst));
        (0..6).filter(|bit| schedule.wait_mask >> bit & 1 == 1).for_each(|barrier| self.release(barrier, 0, SETTLED));
        let mut harm = None;
        for read in &all.reads {
            for writer in self.writers.get(&read.unit).into_iter().flatten().copied() {
                let first = &self.issued[writer];
                let is_early = match first.is_variable {
                    true => !first.is_written,
                    false => far(key(self.code.sm, first.inst, inst, read), self.cycle - first.cycle),
                };
                if is_early && read.unit.file() != File::B && !self.is_apart(writer, all.guard) {
                    harm =
                        Some(format!("{} at {:#x} reads {}", inst.encoding.name, self.code.offset(index), read.unit));
                }
            }
        }
        for unit in &all.writes {
            let apart = |at: &usize| self.is_apart(*at, all.guard);
            let open = |at: &usize| {
                let first = &self.issued[*at];
                let unit = results_in_order(inst);
                first.is_variable && !first.is_written && (unit.is_none() || results_in_order(first.inst) != unit)
            };
            let unread = |at: &usize| {
                let first = &self.issued[*at];
                let unit = sources_in_order(inst);
                !first.is_read && (unit.is_none() || sources_in_order(first.inst) != unit)
            };
            let early = self.writers.get(unit).into_iter().flatten().any(|at| open(at) && !apart(at))
                || self.readers.get(unit).into_iter().flatten().any(|at| unread(at) && !apart(at));
            if early {
                harm = Some(format!("{} at {:#x} writes {unit}", inst.encoding.name, self.code.offset(index)));
            }
        }
        harm = self.cached(inst, &all).or(harm);
        self.depbar(inst);
        self.issue(inst, &all);
        self.cycle += u64::from(schedule.stall);
        harm
    }

    /// The operand cache.
    fn cached(&mut self, inst: &Instruction<'_>, all: &Accesses) -> Option<String> {
        let mut harm = None;
        for (slot, bit) in self.cache.iter_mut().zip(122..) {
            let part = inst.encoding.parts.iter().find(|part| part.reuse == bit);
            let read = part.and_then(|part| all.reads.iter().find(|read| read.place == part.at.low));
            let Some(unit) = read.map(|read| read.unit).filter(|unit| unit.file() == File::R) else { continue };
            if *slot == Some((unit, true)) {
                harm = Some(format!("{} takes an old {unit} from the cache", inst.encoding.name));
            }
            *slot = (inst.word >> bit & 1 == 1).then_some((unit, false));
        }
        for (unit, is_old) in self.cache.iter_mut().flatten() {
            *is_old |= all.writes.contains(unit);
        }
        harm
    }

    fn issue(&mut self, inst: &'c Instruction<'static>, all: &Accesses) {
        let (at, is_variable) = (self.issued.len(), is_variable(inst));
        let is_read = inst.encoding.class.sources == Sources::AtIssue || !is_variable;
        let guard = all.guard;
        self.issued.push(Issued { inst, guard, cycle: self.cycle, is_variable, is_written: false, is_read });
        for unit in &all.writes {
            if guard.is_none() {
                self.writers.remove(unit);
                self.readers.remove(unit);
            }
            self.writers.entry(*unit).or_default().push(at);
        }
        for read in all.reads.iter().filter(|read| read.unit.file() == File::R) {
            self.readers.entry(read.unit).or_default().push(at);
        }
    }
}

/// The closest meetings in straight code. Routines of the compiler's library are the same in many programs, so they
/// show nothing.
pub fn closest(functions: &[FunctionOf]) -> Closest {
    let mut closest = Closest::new();
    for file in functions.iter().filter(|file| !file.function.starts_with("$__internal")) {
        let code = file.code();
        let starts = starts(&code);
        let mut run = Run::new(&code);
        for index in 0..file.words.len() {
            if starts.contains(&index) {
                run = Run::new(&code);
            }
            run.step(index, &mut |key, cycles| {
                let (fewest, programs) = closest.entry(key).or_insert((u64::MAX, BTreeSet::new()));
                if cycles < *fewest {
                    (*fewest, *programs) = (cycles, BTreeSet::new());
                }
                if cycles == *fewest {
                    programs.insert(file.program().to_owned());
                }
                false
            });
        }
    }
    closest.retain(|_, (_, programs)| programs.len() >= ENOUGH);
    closest
}

fn is_plain(code: &Code, index: usize) -> bool {
    code.inst(index).is_some_and(|inst| inst.encoding.class.flow == Flow::Next)
}

fn len(code: &Code) -> usize {
    (0..).find(|index| code.inst(*index).is_none()).unwrap_or(0)
}

fn starts(code: &Code) -> BTreeSet<usize> {
    let jumps = (0..len(code)).filter(|index| !is_plain(code, *index));
    jumps.flat_map(|index| code.next(index).iter().map(|next| *next as usize).chain([index + 1])).collect()
}

/// What goes wrong on a way through a place; `None` if nothing does on any that is taken.
pub fn harm(code: &Code, at: usize, closest: &Closest, random: &mut Random) -> Option<String> {
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..len(code) {
        code.next(index).iter().for_each(|next| before.entry(*next as usize).or_default().push(index));
    }
    (0..WAYS).find_map(|_| {
        let mut start = at;
        let mut way = vec![at];
        for _ in 0..BEFORE {
            let Some(places) = before.get(&start) else { break };
            start = places[random.below(places.len())];
            way.push(start);
        }
        way.reverse();
        for _ in 0..BEHIND {
            let Some(next) = way.last().map(|last| code.next(*last)).filter(|next| !next.is_empty()) else { break };
            way.push(next[random.below(next.len())] as usize);
        }
        follow(code, &way, closest)
    })
}

fn follow(code: &Code, way: &[usize], closest: &Closest) -> Option<String> {
    let mut run = Run::new(code);
    let mut last: Option<usize> = None;
    for index in way {
        let flow = last.and_then(|last| code.inst(last)).map(|inst| inst.encoding.class.flow);
        if flow == Some(Flow::Call) && last.is_some_and(|last| last + 1 == *index) {
            run = Run::new(code);
        }
        if flow.is_some_and(|flow| flow != Flow::Next) {
            run.cache = [None; 4];
        }
        let early = &mut |key: String, cycles| closest.get(&key).is_some_and(|(fewest, _)| cycles < *fewest);
        if let Some(harm) = run.step(*index, early) {
            return Some(harm);
        }
        last = Some(*index);
    }
    None
}
