//! From a match to a changed function.
//!
//! A plan is made first, against the unchanged function: which operations are new, and what the destinations become.
//! Where an operand does not fit its place, a captured field combination is illegal, or a copy cannot be written, there
//! is no plan and the rule does not apply. New operations stand before the root, without a guard; the root's guard and
//! `else` carry over to what defines its destinations.

use super::eval::{evaluate, operation_fields};
use super::instance::{Instance, Operation, Value, ones, place_type};
use super::matcher::Bindings;
use super::subject::Subject;
use crate::analysis::{Definitions, Uses};
use crate::ir::{Block, Function, Inst, InstHead, Operand, Reg, RegInfo};
use crate::ops::{FieldValue, FieldValues, Opcode, Type};
use crate::phases::values::mov_type;

/// A source of a new operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planned {
    Known(Operand),
    /// The value of the operation with this index.
    New(usize),
}

/// A new operation.
#[derive(Clone, PartialEq, Debug)]
struct NewOperation {
    opcode: Opcode,
    fields: FieldValues,
    srcs: Vec<Planned>,
}

/// What an instruction becomes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    operations: Vec<NewOperation>,
    results: Vec<Planned>,
    /// The last operation has the root's destinations.
    direct: bool,
}

impl Plan {
    /// What a matched instruction becomes; `None` where that cannot be written down.
    pub fn new(subject: Subject<'_>, instance: &Instance, bindings: &Bindings, root: Inst) -> Option<Plan> {
        let mut planner = Planner { subject, bindings, plan: Plan::default(), lets: Vec::new() };
        for value in &instance.lets {
            let planned = planner.value(value)?;
            planner.lets.push(planned);
        }
        if let [Value::Op(operation)] = instance.results.as_slice() {
            planner.operation(operation)?;
            planner.plan.direct = true;
            return Some(planner.plan);
        }
        for (value, dst) in instance.results.iter().zip(subject.func.dsts(root)) {
            mov_type(subject.func.operand_info(*dst)?)?;
            let planned = planner.value(value)?;
            planner.plan.results.push(planned);
        }
        Some(planner.plan)
    }

    /// The operations that the plan adds.
    pub fn opcodes(&self) -> impl Iterator<Item = Opcode> + '_ {
        self.operations.iter().map(|operation| operation.opcode)
    }

    /// Changes the function; returns how many instructions now stand in the root's place.
    pub fn apply(self, func: &mut Function, definitions: &mut Definitions, uses: &mut Uses, place: Place) -> usize {
        let Place { block, at } = place;
        let root = func.blocks[block].insts[at];
        let mut before: Vec<Inst> = Vec::new();
        let mut values: Vec<Reg> = Vec::new();
        let inner = self.operations.len() - usize::from(self.direct);
        for operation in &self.operations[..inner] {
            let (inst, reg) = operation.create(func, &values, root);
            values.push(reg);
            definitions.set(reg, inst, block);
            before.push(inst);
        }
        let known = |planned: &Planned| match planned {
            Planned::Known(operand) => *operand,
            Planned::New(index) => Operand::Reg(values[*index]),
        };
        let old = func.insts[root];
        let (dsts, elses) = (func.dsts(root).to_vec(), func.elses(root).to_vec());
        let mut after: Vec<Inst> = Vec::new();
        if let Some(last) = self.operations.last().filter(|_| self.direct) {
            let srcs: Vec<Operand> = last.srcs.iter().map(known).collect();
            let head = InstHead { opcode: last.opcode, fields: last.fields, ..old.head() };
            // Nothing reads the results where the new operation has none.
            let kept = if last.opcode.row().dsts.is_empty() { 0 } else { dsts.len() };
            after.push(func.new_inst(head, &dsts[..kept], &srcs, &elses[..kept.min(elses.len())]));
        } else {
            for (index, (dst, value)) in dsts.iter().zip(&self.results).enumerate() {
                let ty = func.operand_info(*dst).and_then(mov_type).expect("the plan has checked the destinations");
                let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(ty), ..old.head() };
                let elses = elses.get(index..=index).unwrap_or(&[]);
                after.push(func.new_inst(head, &[*dst], &[known(value)], elses));
            }
        }
        for inst in before.iter().chain(&after) {
            uses.add(func, *inst);
        }
        uses.remove(func, definitions, root);
        let (first, more) = after.split_first().expect("an instruction becomes at least one");
        func.replace_inst(root, *first);
        for inst in more {
            func.defs(*inst).for_each(|reg| definitions.set(reg, *inst, block));
        }
        let count = before.len() + after.len();
        let list = &mut func.blocks[block].insts;
        list.splice(at + 1..at + 1, more.iter().copied());
        list.splice(at..at, before);
        count
    }
}

/// A position in a block.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The block.
    pub block: Block,
    /// The index in its list.
    pub at: usize,
}

impl NewOperation {
    fn create(&self, func: &mut Function, values: &[Reg], root: Inst) -> (Inst, Reg) {
        let row = self.opcode.row();
        let ty = row.dsts.first().and_then(|shape| place_type(self.opcode, &self.fields, *shape));
        let reg = func.new_reg(RegInfo::of(ty.unwrap_or(Type::B32)));
        let known = |planned: &Planned| match planned {
            Planned::Known(operand) => *operand,
            Planned::New(index) => Operand::Reg(values[*index]),
        };
        let srcs: Vec<Operand> = self.srcs.iter().map(known).collect();
        let line = func.insts[root].line;
        let head = InstHead { opcode: self.opcode, fields: self.fields, guard: None, line };
        (func.new_inst(head, &[Operand::Reg(reg)], &srcs, &[]), reg)
    }
}

/// The fields of a `mov` of a type.
pub(crate) fn mov_fields(ty: Type) -> FieldValues {
    let row = Opcode::Mov.row();
    let mut fields = row.default_fields();
    if let Some(slot) = row.slot(Type::FIELD) {
        fields.0[slot] = ty.index();
    }
    fields
}

struct Planner<'a> {
    subject: Subject<'a>,
    bindings: &'a Bindings,
    plan: Plan,
    lets: Vec<Planned>,
}

impl Planner<'_> {
    fn value(&mut self, value: &Value) -> Option<Planned> {
        Some(match value {
            Value::Capture(capture) => Planned::Known(self.bindings.operand(*capture)?),
            Value::Word(word, capture) => Planned::Known(self.word(*word, self.bindings.operand(*capture)?)?),
            Value::Constant(constant) => Planned::Known(Operand::Imm(evaluate(constant, self.bindings)?)),
            Value::Let(index) => *self.lets.get(*index)?,
            Value::Op(operation) => Planned::New(self.operation(operation)?),
        })
    }

    fn word(&self, word: u8, operand: Operand) -> Option<Operand> {
        match operand {
            Operand::Imm(bits) => Some(Operand::Imm(bits >> (32 * u32::from(word)) & 0xffff_ffff)),
            Operand::Reg(reg) if self.subject.func.regs[reg].words == 2 => Some(Operand::Word(reg, word)),
            _ => None,
        }
    }

    fn operation(&mut self, operation: &Operation) -> Option<usize> {
        let fields = operation_fields(operation, self.bindings)?;
        let opcode = operation.opcode;
        let mut srcs = Vec::with_capacity(operation.srcs.len());
        for (index, (src, shape)) in operation.srcs.iter().zip(opcode.row().srcs).enumerate() {
            let mut planned = self.value(src)?;
            if let Planned::Known(operand) = &mut planned {
                if let (Operand::Imm(bits), Some(ty)) = (&mut *operand, place_type(opcode, &fields, *shape)) {
                    *bits &= ones(ty.bits());
                }
                if !self.subject.fits(*operand, opcode, &fields, index) {
                    return None;
                }
            }
            srcs.push(planned);
        }
        self.plan.operations.push(NewOperation { opcode, fields, srcs });
        Some(self.plan.operations.len() - 1)
    }
}
