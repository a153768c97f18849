//! The values that registers take, by running a function.
//!
//! Every run goes one way through the function. What the function does not compute itself (what it is launched with,
//! what it finds in memory, what calls and other threads give it) is chosen anew for each, among a few numbers: all
//! choices are tried in turn, as far as the number of runs allows. What operations on registers compute is told by
//! whoever asks; copies, phis, guards, branches and memory have their meaning here.
//!
//! A value that nothing has defined is none: it is not noted, and a run ends where it decides something.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::ops::{Flags, Opcode, Order, Space, Type};
use oriole_ir::{Form, Function, Inst, InstData, Operand, Reg};

use super::graph::Graph;

/// What an operation on registers computes, by destination; `None` where that is undefined.
pub type Meaning<'a> = dyn Fn(&InstData, &[u64]) -> Option<Vec<u64>> + 'a;

/// How far runs go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Runs.
    pub runs: usize,
    /// Instructions of a run.
    pub steps: usize,
}

/// What a value that is not computed may be, cut to its width.
const CHOICES: [u64; 4] = [0, 1, u64::MAX, 0x80];
/// What every special register may hold in some launch.
const SPECIAL: [u64; CHOICES.len()] = [1, 2, 3, 5];

/// The values that registers took.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// By register: where it is defined.
    pub defined: BTreeMap<Reg, BTreeSet<u64>>,
    /// By place of a block and register: where the block's instructions read it.
    pub read: BTreeMap<(usize, Reg), BTreeSet<u64>>,
}

impl Taken {
    /// The values that registers take in some runs of a function.
    pub fn of(func: &Function, graph: &Graph, meaning: &Meaning<'_>, effort: Effort) -> Taken {
        let (mut taken, mut chosen) = (Taken::default(), Vec::new());
        for _ in 0..effort.runs {
            let mut run = Run::new(func, graph, meaning, &mut taken, chosen);
            run.go(effort.steps);
            chosen = run.chosen;
            // The last choice that has another one left takes it; those behind it begin anew.
            while chosen.last().is_some_and(|choice| choice + 1 == CHOICES.len()) {
                chosen.pop();
            }
            match chosen.last_mut() {
                Some(choice) => *choice += 1,
                None => break,
            }
        }
        taken
    }
}

struct Run<'a> {
    func: &'a Function,
    graph: &'a Graph,
    meaning: &'a Meaning<'a>,
    taken: &'a mut Taken,
    chosen: Vec<usize>,
    choices: usize,
    /// By register number.
    values: BTreeMap<Reg, u64>,
    /// Bytes by space and address.
    memory: BTreeMap<(Space, u64), u8>,
    /// Whether an access may have changed any byte, so that nothing is known of those that are not written again.
    disturbed: bool,
}

/// Where control goes.
enum Next {
    Inst,
    Block(usize),
    End,
}

impl<'a> Run<'a> {
    fn new(
        func: &'a Function,
        graph: &'a Graph,
        meaning: &'a Meaning<'a>,
        taken: &'a mut Taken,
        chosen: Vec<usize>,
    ) -> Run<'a> {
        let (values, memory) = (BTreeMap::new(), BTreeMap::new());
        Run { func, graph, meaning, taken, chosen, choices: 0, values, memory, disturbed: false }
    }

    fn go(&mut self, mut steps: usize) {
        let (mut place, mut from) = (0, None);
        loop {
            let insts: Vec<Inst> = self.func.block_insts(self.graph.blocks[place]).collect();
            let phis = insts.iter().take_while(|inst| self.func.inst(**inst).opcode == Opcode::Phi).count();
            self.phis(&insts[..phis], from);
            let mut next = Next::Inst;
            for inst in &insts[phis..] {
                if steps == 0 {
                    return;
                }
                steps -= 1;
                next = self.step(place, *inst);
                if !matches!(next, Next::Inst) {
                    break;
                }
            }
            let Next::Block(to) = next else { return };
            (from, place) = (Some(self.graph.blocks[place]), to);
        }
    }

    /// All phis of a block read before any of them is written.
    fn phis(&mut self, phis: &[Inst], from: Option<oriole_ir::Block>) {
        let incoming = |inst: &Inst| {
            let mut pairs = self.func.srcs(*inst).chunks_exact(2);
            pairs.find(|pair| pair[1].block() == from).map(|pair| pair[0])
        };
        let values: Vec<Option<u64>> = phis.iter().map(|inst| incoming(inst).and_then(|src| self.read(src))).collect();
        for (inst, value) in phis.iter().zip(values) {
            self.write(self.func.dsts(*inst)[0], value);
        }
    }

    fn step(&mut self, place: usize, inst: Inst) -> Next {
        let data = self.func.inst(inst);
        if let Some(guard) = data.guard {
            let Some(value) = self.read(guard.reg().into()) else { return Next::End };
            if (value & 1 == 1) == guard.negated() {
                let elses = self.func.elses(inst).to_vec();
                for (dst, otherwise) in self.func.dsts(inst).to_vec().into_iter().zip(elses) {
                    let value = self.read(otherwise);
                    self.write(dst, value);
                }
                return Next::Inst;
            }
        }
        self.note(place, inst);
        let srcs: Vec<Option<u64>> = self.func.srcs(inst).iter().map(|src| self.read(*src)).collect();
        match data.opcode {
            _ if data.is(Flags::TERMINATOR) => return self.branch(inst, &srcs),
            Opcode::Mov if srcs[0].is_some() => self.write(self.func.dsts(inst)[0], srcs[0]),
            Opcode::Ld if data.field() == Some(Order::Weak) => self.load(inst, &srcs),
            Opcode::St if data.field() == Some(Order::Weak) => self.store(inst, &srcs),
            Opcode::S2r | Opcode::Cs2r => {
                // Directives decide about launches.
                let value = self.func.directives.is_empty().then(|| extended(self.choice(&SPECIAL), data.ty()));
                self.write(self.func.dsts(inst)[0], value);
            }
            _ if data.is(Flags::PURE) => {
                let known: Option<Vec<u64>> = srcs.into_iter().collect();
                let results = known.and_then(|srcs| (self.meaning)(data, &srcs));
                for (index, dst) in self.func.dsts(inst).to_vec().into_iter().enumerate() {
                    self.write(dst, results.as_ref().and_then(|results| results.get(index).copied()));
                }
            }
            _ => {
                self.disturb(inst);
                let shapes = data.dst_shapes().into_iter().map(|shape| data.shape_type(shape).unwrap_or(Type::B64));
                let dsts: Vec<(Operand, Type)> = self.func.dsts(inst).iter().copied().zip(shapes).collect();
                dsts.into_iter().for_each(|(dst, ty)| self.choose(dst, ty));
            }
        }
        Next::Inst
    }

    /// Notes the registers that an instruction reads.
    fn note(&mut self, place: usize, inst: Inst) {
        for reg in self.func.uses(inst).collect::<Vec<_>>() {
            if let Some(value) = self.values.get(&reg) {
                self.taken.read.entry((place, reg)).or_default().insert(*value);
            }
        }
    }

    fn branch(&self, inst: Inst, srcs: &[Option<u64>]) -> Next {
        let operands = self.func.srcs(inst);
        let target = match self.func.inst(inst).opcode {
            Opcode::Bra => operands.first(),
            Opcode::CBra => srcs[0].and_then(|value| operands.get(if value & 1 == 1 { 1 } else { 2 })),
            Opcode::Brx => srcs[0].and_then(|index| operands.get(usize::try_from(index).ok()?.checked_add(1)?)),
            _ => None,
        };
        let block = target.and_then(|target| target.block());
        let place = block.and_then(|block| self.graph.blocks.iter().position(|other| *other == block));
        place.map_or(Next::End, Next::Block)
    }

    /// The bytes of an access, if it is to a known address of one space.
    fn bytes(&self, inst: Inst, srcs: &[Option<u64>]) -> Option<(Space, u64)> {
        let is_one = |space: &Space| !matches!(space, Space::Generic | Space::Cluster);
        let space = self.func.inst(inst).field::<Space>().filter(is_one)?;
        Some((space, srcs[0]?.wrapping_add(srcs[1]?)))
    }

    fn load(&mut self, inst: Inst, srcs: &[Option<u64>]) {
        let (data, at) = (self.func.inst(inst), self.bytes(inst, srcs));
        let size = u64::from(data.ty().bits().div_ceil(8));
        for (index, dst) in (0u64..).zip(self.func.dsts(inst).to_vec()) {
            let found = at.filter(|_| size <= 8).map(|(space, address)| {
                let bytes = (0..size).map(|byte| address.wrapping_add(index * size + byte));
                let bytes: Vec<Option<u8>> = bytes.map(|at| self.memory.get(&(space, at)).copied()).collect();
                bytes
            });
            match found {
                Some(bytes) if bytes.iter().all(Option::is_some) => {
                    let value = bytes.into_iter().rev().flatten().fold(0, |value, byte| value << 8 | u64::from(byte));
                    self.write(dst, Some(extended(value, data.ty())));
                }
                // Bytes of which only some are known, or others may have changed, are undefined here.
                Some(bytes) if !self.disturbed && bytes.iter().all(Option::is_none) => {
                    self.choose(dst, data.ty());
                }
                _ => self.write(dst, None),
            }
        }
    }

    fn store(&mut self, inst: Inst, srcs: &[Option<u64>]) {
        let data = self.func.inst(inst);
        let Some((space, address)) = self.bytes(inst, srcs) else { return self.disturb(inst) };
        let size = u64::from(data.ty().bits().div_ceil(8));
        for (index, value) in (0u64..).zip(&srcs[2..]) {
            for byte in 0..size {
                let at = (space, address.wrapping_add(index * size + byte));
                match value.filter(|_| size <= 8) {
                    Some(value) => self.memory.insert(at, (value >> (8 * byte)) as u8),
                    None => {
                        self.disturbed = true;
                        self.memory.remove(&at)
                    }
                };
            }
        }
    }

    /// An instruction that may have changed any memory.
    fn disturb(&mut self, inst: Inst) {
        if self.func.inst(inst).is(Flags::WRITES) || self.func.inst(inst).is(Flags::FENCE) {
            self.memory.clear();
            self.disturbed = true;
        }
    }

    fn read(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Reg(reg) => self.values.get(&reg).copied(),
            Operand::Word(reg, word @ 0..2) => Some(self.values.get(&reg)? >> (32 * word) & 0xffff_ffff),
            // Far from each other and from small numbers.
            Operand::Local(local) => Some(0x10_0000 * (1 + u64::from(local.as_u32()))),
            Operand::Global(global) => Some(0x1000_0000 * (1 + u64::from(global.as_u32()))),
            operand => self.func.imm_bits(operand),
        }
    }

    fn write(&mut self, dst: Operand, value: Option<u64>) {
        let Operand::Reg(reg) = dst else { return };
        match value.filter(|_| self.func.regs()[reg].words <= 2) {
            Some(value) => {
                self.values.insert(reg, value);
                self.taken.defined.entry(reg).or_default().insert(value);
            }
            None => _ = self.values.remove(&reg),
        }
    }

    /// A value from outside.
    fn choose(&mut self, dst: Operand, ty: Type) {
        let value = self.choice(&CHOICES);
        self.write(dst, Some(extended(value, ty)));
    }

    fn choice(&mut self, among: &[u64; CHOICES.len()]) -> u64 {
        if self.choices == self.chosen.len() {
            self.chosen.push(0);
        }
        self.choices += 1;
        among[self.chosen[self.choices - 1]]
    }
}

/// The low bits of a value, as a load of the type leaves them in a register.
fn extended(value: u64, ty: Type) -> u64 {
    let bits = ty.bits().min(64);
    let (unused, register) = (64 - bits, if bits <= 32 { u64::from(u32::MAX) } else { u64::MAX });
    let zero_extended = value << unused >> unused;
    if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 & register } else { zero_extended }
}

/// Whether the definition says something of a function: the machine's registers overlap.
pub fn can_run(func: &Function) -> bool {
    func.form != Form::Physical && func.is_definition()
}
