//! The order that instructions of a piece of a block must keep, and by how many cycles.
//!
//! Two instructions are ordered where one writes a register that the other reads or writes, where they may access the
//! same memory and one writes there, and where one does something that others must not pass ([`Kind::Fence`]):
//! barriers, convergence, fences, clocks (L:498-504). Such edges for order alone make nothing live. The graph holds the
//! last writers of a unit and who has read since, so it grows with the accesses, not with their pairs.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Operand, PhysicalReg, RegFile};
use oriole_sass::class::Space;
use oriole_sass::row::File;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::latency::{Timing, Use};
use crate::allocate::live::Words;

/// A word of a virtual register, by its number in [`Words`], or a register of one word of the machine, by its entity.
pub type Unit = u32;

/// The units that operands name.
#[derive(Clone, Copy)]
pub enum Units<'w> {
    /// Words of virtual registers.
    Virtual(&'w Words),
    /// Registers of the machine.
    Physical,
}

impl Units<'_> {
    /// The units of an operand, in order.
    fn of_operand(self, operand: Operand) -> SmallVec<[Unit; 4]> {
        match self {
            Units::Virtual(words) => words.of_operand(operand).collect(),
            Units::Physical => {
                let reg = operand.reg().and_then(PhysicalReg::of);
                reg.into_iter().flat_map(PhysicalReg::units).map(|unit| unit.as_u32()).collect()
            }
        }
    }
}

/// The value of a register of one or two words: its first word, and which instruction wrote each word last.
type Base = (Unit, [u32; 2]);

/// The register that is always zero.
const ZERO: Base = (Unit::MAX, [0; 2]);

/// How an instruction accesses a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It reads it, perhaps as its guard.
    Read(Use),
    /// It writes it.
    Written,
    /// It writes it where its guard holds, and leaves it as it is elsewhere.
    Perhaps,
}

/// An instruction's accesses.
#[derive(Clone, Default, Debug)]
pub struct Accesses(pub SmallVec<[(Unit, File, Access); 8]>);

/// The effect of an instruction beside writing registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Nothing.
    Free,
    /// It reads memory.
    Load,
    /// It writes memory, and may read it.
    Store,
    /// Its results depend on the lanes that are together.
    Together,
    /// Whatever has an effect stays on its side.
    Fence,
}

/// An access of memory: its space, and where that is known which base it has, from which byte on and to which.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bytes {
    space: Space,
    place: Option<(Base, i64, i64)>,
}

impl Bytes {
    /// Whether two accesses may be of the same byte.
    fn meets(&self, other: &Bytes) -> bool {
        let is_all = |space| matches!(space, Space::Generic | Space::Several | Space::None);
        if self.space != other.space && !is_all(self.space) && !is_all(other.space) {
            return false;
        }
        match (self.place, other.place) {
            (Some((base, start, end)), Some((of, from, to))) if base == of => start < to && from < end,
            _ => true,
        }
    }
}

/// An edge: the later instruction, and how many cycles behind the earlier one it issues at the earliest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The later one.
    pub to: u32,
    /// The cycles.
    pub cycles: u16,
}

/// The order of a piece of a block; instructions by their numbers in it.
#[derive(Clone, Debug, Default)]
pub struct Dag {
    /// By instruction: what comes behind it.
    pub behind: Vec<Vec<Edge>>,
    /// By instruction: how many edges lead to it.
    pub before: Vec<u32>,
}

/// The accesses of memory since the last fence that are looked at one by one; beyond, the last one orders all others.
const MOST_RANGES: usize = 64;

/// The last writers of a unit, and who has read it since.
type Last = (SmallVec<[u32; 2]>, SmallVec<[u32; 4]>);

struct Builder<'f> {
    func: &'f Function,
    insts: &'f [Inst],
    timings: &'f SecondaryMap<Inst, Option<Timing>>,
    words: Units<'f>,
    dag: Dag,
    /// By unit: its last writers, of which all but the first write perhaps, and who has read it since.
    units: FxHashMap<Unit, Last>,
    /// By unit: which instruction wrote it last, counted from 1.
    versions: FxHashMap<Unit, u32>,
    loads: Vec<(u32, Bytes)>,
    stores: Vec<(u32, Bytes)>,
    /// Others that a fence comes behind.
    others: Vec<u32>,
    fence: Option<u32>,
}

impl Dag {
    /// The order of instructions that follow each other in a block, with the accesses of each.
    pub fn of(
        func: &Function,
        insts: &[Inst],
        accesses: &[Accesses],
        timings: &SecondaryMap<Inst, Option<Timing>>,
        words: Units<'_>,
    ) -> Dag {
        let dag = Dag { behind: vec![Vec::new(); insts.len()], before: vec![0; insts.len()] };
        let mut builder = Builder {
            func,
            insts,
            timings,
            words,
            dag,
            units: FxHashMap::default(),
            versions: FxHashMap::default(),
            loads: Vec::new(),
            stores: Vec::new(),
            others: Vec::new(),
            fence: None,
        };
        for (at, accesses) in (0u32..).zip(accesses) {
            builder.registers(at, accesses);
            builder.effects(at, accesses);
            builder.write(at, accesses);
        }
        builder.dag
    }

    /// Adds an edge.
    pub fn order(&mut self, from: u32, to: u32, cycles: u16) {
        debug_assert!(from < to, "edges follow the order that the instructions have");
        let edges = &mut self.behind[from as usize];
        match edges.iter_mut().rev().take(8).find(|edge| edge.to == to) {
            Some(edge) => edge.cycles = edge.cycles.max(cycles),
            None => {
                edges.push(Edge { to, cycles });
                self.before[to as usize] += 1;
            }
        }
    }
}

impl Builder<'_> {
    fn timing(&self, at: u32) -> Option<Timing> {
        self.timings[self.insts[at as usize]]
    }

    /// Orders an instruction behind the accesses that it meets.
    fn registers(&mut self, at: u32, accesses: &Accesses) {
        let own = self.timing(at);
        for (unit, file, access) in &accesses.0 {
            let Some((writers, readers)) = self.units.get(unit) else { continue };
            for writer in writers {
                let from = self.timing(*writer);
                let cycles = match (from, own, access) {
                    (Some(from), Some(own), Access::Read(used)) => from.until_read(*file, &own, *used),
                    (Some(from), ..) if from.is_variable() => from.estimate(),
                    _ => 1,
                };
                self.dag.order(*writer, at, cycles);
            }
            if matches!(access, Access::Written | Access::Perhaps) {
                for reader in readers.iter().filter(|reader| **reader != at) {
                    let is_late = self.timing(*reader).is_some_and(|reader| reader.reads_late());
                    self.dag.order(*reader, at, if is_late { READ } else { 1 });
                }
            }
        }
    }

    /// Notes what an instruction reads and writes.
    fn write(&mut self, at: u32, accesses: &Accesses) {
        for (unit, _, access) in &accesses.0 {
            let (writers, readers) = self.units.entry(*unit).or_default();
            match access {
                Access::Read(_) => {
                    if readers.last() != Some(&at) {
                        readers.push(at);
                    }
                }
                Access::Written => {
                    (*writers, *readers) = (SmallVec::from_slice(&[at]), SmallVec::new());
                    self.versions.insert(*unit, at + 1);
                }
                Access::Perhaps => {
                    writers.push(at);
                    readers.clear();
                    self.versions.insert(*unit, at + 1);
                }
            }
        }
    }

    fn kind(&self, at: u32, accesses: &Accesses) -> Kind {
        let data = self.func.inst(self.insts[at as usize]);
        // A uniform register that is written is that of the lanes that are together until they wait for others.
        let is_theirs = |(unit, file, access): &(Unit, File, Access)| {
            let is_uniform = matches!(file, File::Ur | File::Up);
            is_uniform && (!matches!(access, Access::Read(_)) || self.versions.contains_key(unit))
        };
        match data.opcode {
            Opcode::MachinePure if accesses.0.iter().any(is_theirs) => Kind::Together,
            Opcode::MachinePure => Kind::Free,
            Opcode::MachineLoad if self.is_constant(at) => Kind::Free,
            Opcode::MachineCollective => Kind::Together,
            Opcode::MachineLoad => Kind::Load,
            Opcode::MachineStore | Opcode::MachineAtomic => Kind::Store,
            _ => Kind::Fence,
        }
    }

    /// Orders an instruction behind those that do something which it must not pass.
    fn effects(&mut self, at: u32, accesses: &Accesses) {
        let kind = self.kind(at, accesses);
        if kind == Kind::Free {
            return;
        }
        if let Some(fence) = self.fence {
            self.dag.order(fence, at, 1);
        }
        match kind {
            Kind::Free => {}
            Kind::Together => self.others.push(at),
            Kind::Load | Kind::Store => {
                let bytes = self.bytes(at);
                let meets = |list: &[(u32, Bytes)]| -> Vec<u32> {
                    list.iter().filter(|(_, other)| bytes.meets(other)).map(|(at, _)| *at).collect()
                };
                let mut met = meets(&self.stores);
                if kind == Kind::Store {
                    met.extend(meets(&self.loads));
                }
                met.into_iter().for_each(|other| self.dag.order(other, at, 1));
                let list = if kind == Kind::Store { &mut self.stores } else { &mut self.loads };
                list.push((at, bytes));
                if list.len() > MOST_RANGES {
                    self.close(at);
                }
            }
            Kind::Fence => self.close(at),
        }
    }

    /// Makes an instruction a fence: all that came since the last one come before it.
    fn close(&mut self, at: u32) {
        let accesses = self.loads.drain(..).chain(self.stores.drain(..)).map(|(other, _)| other);
        let before: Vec<u32> = accesses.chain(self.others.drain(..)).filter(|other| *other != at).collect();
        before.into_iter().for_each(|other| self.dag.order(other, at, 1));
        self.fence = Some(at);
    }

    /// Whether a load is of memory that nothing writes while the kernel runs.
    fn is_constant(&self, at: u32) -> bool {
        self.func.mnemonic(self.insts[at as usize]).is_some_and(|name| name.split('.').any(|word| word == "CONSTANT"))
    }

    /// The bytes that an access of memory reads or writes.
    fn bytes(&self, at: u32) -> Bytes {
        let space = self.timing(at).map_or(Space::Several, |timing| timing.space());
        Bytes { space, place: self.place(self.insts[at as usize]) }
    }

    /// Which base an access has, and which bytes from there; known of ordinary loads and stores.
    ///
    /// Equal bases are equal addresses. Offsets in a frame are not known before the allocator has laid it out.
    fn place(&self, inst: Inst) -> Option<(Base, i64, i64)> {
        let func = self.func;
        let mnemonic = func.mnemonic(inst)?;
        let mut words = mnemonic.split('.');
        let is_laid_out = matches!(self.words, Units::Physical);
        match words.next()? {
            "LDG" | "STG" | "LDS" | "STS" => {}
            "LDL" | "STL" if is_laid_out => {}
            _ => return None,
        }
        let size = words.find_map(|word| match word {
            "U8" | "S8" => Some(1),
            "U16" | "S16" => Some(2),
            "64" => Some(8),
            "128" => Some(16),
            _ => None,
        });
        // The offset comes behind its base, and before any other number.
        let srcs = func.srcs(inst);
        let (at, offset) = srcs.iter().enumerate().find_map(|(at, src)| Some((at, func.imm_bits(*src)?)))?;
        let base = *srcs.get(at.checked_sub(1)?)?;
        let start = i64::from((offset as u32) << 8) << 32 >> 40;
        let base = match func.operand_info(base) {
            Some(info) if info.file == RegFile::R && base.reg().is_some() => {
                let units = self.words.of_operand(base);
                let writer = |at: usize| units.get(at).and_then(|unit| self.versions.get(unit)).copied().unwrap_or(0);
                (*units.first()?, [writer(0), writer(1)])
            }
            None if base == Operand::wired(RegFile::R, 1) => ZERO,
            _ => return None,
        };
        Some((base, start, start + size.unwrap_or(4)))
    }
}

/// Cycles after which a source that is read late is read.
const READ: u16 = 10;

#[cfg(test)]
pub(super) mod tests {
    use oriole_ir::{Block, FunctionKind, Guard, InstHead, Level, Reg, RegInfo};
    use oriole_pass::analysis::Cfg;
    use oriole_sass::Table;
    use proptest::array::uniform4;
    use proptest::collection::vec;

    use super::super::before::accesses;
    use super::super::control::timings;
    use super::*;
    use crate::select::identity;

    /// A function of one block that is made instruction by instruction.
    pub struct Made {
        pub func: Function,
        block: Block,
        pub general: Vec<Reg>,
        pub predicates: Vec<Reg>,
    }

    impl Made {
        pub fn new() -> Made {
            oriole_sass::ori::register();
            let mut func = Function::new("f", FunctionKind::Entry);
            func.level = Level::Machine;
            let block = func.new_block();
            let general = (0..6).map(|_| func.new_reg(RegInfo::words(1))).collect();
            let predicates = (0..2).map(|_| func.new_reg(RegInfo { file: RegFile::P, words: 1 })).collect();
            Made { func, block, general, predicates }
        }

        pub fn op(&mut self, mnemonic: &str, guard: Option<Guard>, dsts: &[Operand], srcs: &[Operand]) -> Inst {
            let id = identity(mnemonic);
            let opcode = self.func.machine_opcode(id, srcs).expect("it has a row");
            let inst = self.func.new_inst(InstHead { opcode, fields: id.fields(), guard, line: 0 }, dsts, srcs, &[]);
            self.func.append_inst(self.block, inst);
            inst
        }

        /// An instruction that numbers choose.
        fn any(&mut self, [kind, a, b, c]: [usize; 4]) {
            let reg = |at: usize| Operand::Reg(self.general[at % 6]);
            let (a, b, c, flag) = (reg(a), reg(b), reg(c), self.predicates[a % 2]);
            let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
            let never = crate::select::never();
            let offset = self.func.imm(4 * (kind as u64 / 16 % 3));
            match kind % 12 {
                0 | 1 => self.op("IADD3", None, &[a, truth, truth], &[b, c, zero, never, never]),
                2 => self.op("IADD3", Some(Guard::new(flag, false)), &[a, truth, truth], &[b, c, zero, never, never]),
                3 => self.op("ISETP.LT.AND", None, &[Operand::Reg(flag), truth], &[a, b, truth, truth]),
                4 | 5 => self.op("LDS", None, &[a], &[b, offset]),
                6 | 7 => self.op("STS", None, &[], &[a, offset, b]),
                8 => self.op("LDL", None, &[a], &[b, offset]),
                9 => self.op("STL", None, &[], &[a, offset, b]),
                10 => self.op("VOTE.ANY", None, &[a, truth], &[truth]),
                _ => self.op("WARPSYNC.ALL", None, &[], &[truth]),
            };
        }

        /// The graph of all instructions, and their accesses.
        pub fn dag(&self) -> (Dag, Vec<Inst>, Vec<Accesses>, Vec<Timing>) {
            let cfg = Cfg::new(&self.func);
            let words = Words::of(&self.func, &cfg);
            let timings = timings(&self.func, Table::of(90).expect("it is known"));
            let insts: Vec<Inst> = self.func.block_insts(self.block).collect();
            let all: Vec<Accesses> = insts.iter().map(|inst| accesses(&self.func, *inst, &words)).collect();
            let dag = Dag::of(&self.func, &insts, &all, &timings, Units::Virtual(&words));
            let timings = insts.iter().map(|inst| timings[*inst].expect("it has a word")).collect();
            (dag, insts, all, timings)
        }
    }

    /// Whether two instructions must stay in order, said of the pair alone.
    fn is_ordered(made: &Made, insts: &[Inst], all: &[Accesses], [first, second]: [usize; 2]) -> bool {
        let writes = |at: usize, unit: Unit| {
            all[at].0.iter().any(|(own, _, access)| *own == unit && !matches!(access, Access::Read(_)))
        };
        let units = |at: usize| all[at].0.iter().map(|(unit, ..)| *unit).collect::<Vec<_>>();
        let meet = units(first).into_iter().filter(|unit| units(second).contains(unit));
        if meet.into_iter().any(|unit| writes(first, unit) || writes(second, unit)) {
            return true;
        }
        let name = |at: usize| made.func.mnemonic(insts[at]).expect("it has one");
        let memory = |at: usize| Some(name(at)).filter(|name| matches!(&name[..], "LDS" | "STS" | "LDL" | "STL"));
        let does_nothing = |at: usize| matches!(&name(at)[..], "IADD3" | "ISETP.LT.AND");
        if [first, second].iter().any(|at| name(*at).starts_with("WARPSYNC")) {
            return !does_nothing(first) && !does_nothing(second);
        }
        let (Some(one), Some(other)) = (memory(first), memory(second)) else { return false };
        if one[2..] != other[2..] || !one.starts_with("ST") && !other.starts_with("ST") {
            return false;
        }
        // The same base with other offsets is another place of shared memory; frames are not laid out yet.
        let srcs = |at: usize| made.func.srcs(insts[at]);
        let is_same_base = srcs(first)[0] == srcs(second)[0]
            && !(first..second).any(|at| made.func.dsts(insts[at]).contains(&srcs(second)[0]));
        !(one.ends_with('S') && is_same_base && srcs(first)[1] != srcs(second)[1])
    }

    proptest::proptest! {
        /// Two instructions are ordered by the graph, over others or not, where they must be; and each edge is one that
        /// must be.
        #[test]
        fn the_order_is_that_of_all_pairs(numbers in vec(uniform4(0usize..96), 2..24)) {
            let mut made = Made::new();
            numbers.iter().for_each(|numbers| made.any(*numbers));
            let (dag, insts, all, _) = made.dag();
            let mut reached = vec![vec![false; insts.len()]; insts.len()];
            for first in (0..insts.len()).rev() {
                for edge in &dag.behind[first] {
                    let to = edge.to as usize;
                    assert!(is_ordered(&made, &insts, &all, [first, to]), "{first} {to}");
                    reached[first][to] = true;
                    let behind = reached[to].clone();
                    reached[first].iter_mut().zip(behind).for_each(|(own, other)| *own |= other);
                }
            }
            for (first, reached) in reached.iter().enumerate() {
                for (second, is_reached) in reached.iter().enumerate().skip(first + 1) {
                    assert!(*is_reached || !is_ordered(&made, &insts, &all, [first, second]), "{first} {second}");
                }
            }
        }
    }
}
