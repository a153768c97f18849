//! The lattice of sccp: what registers hold, and which edges execute.

use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHashSet;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::fold::fold;

/// The knowledge of a register. It only ever goes from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// Nothing has defined it yet.
    Unknown,
    /// These bits.
    Constant(u64),
    /// More than one value, or one that nobody knows.
    Varies,
}

impl Value {
    fn join(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unknown, value) | (value, Value::Unknown) => value,
            (one, other) if one == other => one,
            _ => Value::Varies,
        }
    }
}

/// The state of the search.
pub(super) struct Solver<'a> {
    func: &'a Function,
    /// By register.
    values: Vec<Value>,
    /// By register: the instructions that read it.
    readers: Vec<Vec<Inst>>,
    /// The blocks that control comes to.
    reached: EntitySet<Block>,
    /// The edges that execute.
    edges: FxHashSet<(Block, Block)>,
    /// Edges that execute and are not looked at yet.
    flow: Vec<(Block, Block)>,
    /// Instructions whose operands have changed.
    work: Vec<Inst>,
}

impl<'a> Solver<'a> {
    pub(super) fn new(func: &'a Function) -> Solver<'a> {
        let mut readers = vec![Vec::new(); func.regs().len()];
        for inst in func.layout_insts() {
            func.uses(inst).for_each(|reg| readers[reg.index()].push(inst));
        }
        Solver {
            func,
            values: vec![Value::Unknown; func.regs().len()],
            readers,
            reached: EntitySet::new(),
            edges: FxHashSet::default(),
            flow: Vec::new(),
            work: Vec::new(),
        }
    }

    pub(super) fn solve(mut self) -> Solver<'a> {
        self.enter(self.func.entry());
        loop {
            if let Some(inst) = self.work.pop() {
                if self.func.block_of(inst).is_some_and(|block| self.reached.contains(block)) {
                    self.visit(inst);
                }
            } else if let Some((from, to)) = self.flow.pop() {
                if self.edges.insert((from, to)) {
                    self.arrive(to);
                }
            } else {
                return self;
            }
        }
    }

    /// Whether control comes to a block.
    pub(super) fn executes(&self, block: Block) -> bool {
        self.reached.contains(block)
    }

    /// The results of an instruction, where all of them are constants.
    pub(super) fn results(&self, inst: Inst) -> Option<Vec<u64>> {
        let constant = |reg: Reg| match self.values[reg.index()] {
            Value::Constant(bits) => Some(bits),
            _ => None,
        };
        let results: Vec<u64> = self.func.defs(inst).map(constant).collect::<Option<_>>()?;
        (!results.is_empty()).then_some(results)
    }

    /// Where control goes from a block that has a choice, if that is one block.
    pub(super) fn only_way(&self, block: Block) -> Option<Block> {
        let mut ways: Vec<Block> = self.func.successors(block).collect();
        if ways.len() < 2 {
            return None;
        }
        ways.retain(|to| self.edges.contains(&(block, *to)));
        ways.dedup();
        match ways[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    fn arrive(&mut self, block: Block) {
        if self.reached.contains(block) {
            let is_phi = |inst: &Inst| self.func.inst(*inst).opcode == Opcode::Phi;
            self.work.extend(self.func.block_insts(block).take_while(is_phi));
        } else {
            self.enter(block);
        }
    }

    fn enter(&mut self, block: Block) {
        self.reached.insert(block);
        for inst in self.func.block_insts(block) {
            self.visit(inst);
        }
    }

    fn visit(&mut self, inst: Inst) {
        if self.func.inst(inst).is(Flags::TERMINATOR) {
            return self.branch(inst);
        }
        let regs: Vec<Reg> = self.func.defs(inst).collect();
        let values = self.evaluate(inst, regs.len());
        for (reg, value) in regs.into_iter().zip(values) {
            let joined = self.values[reg.index()].join(value);
            if joined != self.values[reg.index()] {
                self.values[reg.index()] = joined;
                self.work.extend(&self.readers[reg.index()]);
            }
        }
    }

    /// The results of an instruction, as far as its guard lets it execute.
    fn evaluate(&self, inst: Inst, count: usize) -> Vec<Value> {
        let Some(guard) = self.func.inst(inst).guard else { return self.operation(inst, count) };
        let elses: Vec<Value> = self.func.elses(inst).iter().map(|operand| self.of(*operand)).collect();
        match self.values[guard.reg().index()] {
            Value::Unknown => vec![Value::Unknown; count],
            Value::Constant(bits) if (bits & 1 == 1) != guard.negated() => self.operation(inst, count),
            Value::Constant(_) => elses,
            Value::Varies => self.operation(inst, count).iter().zip(&elses).map(|(a, b)| a.join(*b)).collect(),
        }
    }

    /// The results of an instruction where its guard holds.
    fn operation(&self, inst: Inst, count: usize) -> Vec<Value> {
        let (data, srcs) = (self.func.inst(inst), self.func.srcs(inst));
        match data.opcode {
            Opcode::Phi => return vec![self.phi(inst)],
            Opcode::Mov => return vec![self.of(srcs[0])],
            Opcode::SelP => return vec![self.choice(inst).unwrap_or(Value::Varies)],
            _ if !data.is(Flags::PURE) || data.is(Flags::COPY) || srcs.is_empty() => return vec![Value::Varies; count],
            _ => {}
        }
        let mut bits = Vec::with_capacity(srcs.len());
        let mut unknown = false;
        for value in srcs.iter().map(|operand| self.of(*operand)) {
            match value {
                Value::Constant(constant) => bits.push(constant),
                Value::Unknown => unknown = true,
                Value::Varies => return vec![Value::Varies; count],
            }
        }
        if unknown {
            return vec![Value::Unknown; count];
        }
        match fold(data.opcode, &data.fields, &bits).filter(|folded| folded.results.len() == count) {
            Some(folded) => folded.results.into_iter().map(Value::Constant).collect(),
            None => vec![Value::Varies; count],
        }
    }

    /// The values that come over the edges that execute.
    fn phi(&self, phi: Inst) -> Value {
        let to = self.func.block_of(phi).expect("it is in the layout");
        let pairs = self.func.srcs(phi).chunks_exact(2);
        let taken = pairs.filter(|pair| pair[1].block().is_some_and(|from| self.edges.contains(&(from, to))));
        taken.fold(Value::Unknown, |value, pair| value.join(self.of(pair[0])))
    }

    /// The chosen operand of a selection; both where the condition varies.
    fn choice(&self, inst: Inst) -> Option<Value> {
        let &[yes, no, condition] = self.func.srcs(inst) else { return None };
        let (yes, no) = (self.of(yes), self.of(no));
        let folded = |bits: u64, value: Value| match value {
            Value::Constant(chosen) => {
                let data = self.func.inst(inst);
                let folded = fold(data.opcode, &data.fields, &[chosen, chosen, bits]);
                folded.map_or(Value::Varies, |folded| Value::Constant(folded.results[0]))
            }
            other => other,
        };
        Some(match self.of(condition) {
            Value::Unknown => Value::Unknown,
            Value::Constant(bits) => folded(bits, if bits & 1 == 1 { yes } else { no }),
            Value::Varies => folded(1, yes.join(no)),
        })
    }

    fn branch(&mut self, inst: Inst) {
        let block = self.func.block_of(inst).expect("it is in the layout");
        let srcs = self.func.srcs(inst);
        let way = |index: u64| srcs.get(usize::try_from(index).ok()? + 1)?.block();
        let only = match (self.func.inst(inst).opcode, srcs.first().map(|operand| self.of(*operand))) {
            (Opcode::CBra | Opcode::Brx, Some(Value::Unknown)) => return,
            (Opcode::CBra, Some(Value::Constant(bits))) => way(1 - (bits & 1)),
            (Opcode::Brx, Some(Value::Constant(bits))) => way(bits),
            _ => None,
        };
        match only {
            Some(to) => self.flow.push((block, to)),
            None => self.flow.extend(self.func.successors(block).map(|to| (block, to))),
        }
    }

    /// The value of an operand, in the bits of its register.
    fn of(&self, operand: Operand) -> Value {
        let word = |bits: u64, word: u8| bits >> (32 * u32::from(word)) & 0xffff_ffff;
        match (operand, self.func.imm_bits(operand)) {
            (_, Some(bits)) => Value::Constant(bits),
            (Operand::Reg(reg), _) => self.values[reg.index()],
            (Operand::Word(reg, at), _) if at < 2 => match self.values[reg.index()] {
                Value::Constant(bits) => Value::Constant(word(bits, at)),
                other => other,
            },
            _ => Value::Varies,
        }
    }
}
