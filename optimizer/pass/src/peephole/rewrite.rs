//! From a match to a changed function.
//!
//! A plan is made first, against the unchanged function: which operations are new, and what the destinations become.
//! Where an operand does not fit its place, a captured field combination is illegal, or a copy cannot be written, there
//! is no plan and the rule does not apply. New operations precede the root, without a guard; the root's guard and
//! `else` carry over to what defines its destinations.

use super::eval::{evaluate, operation_fields};
use super::matcher::Bindings;
use super::subject::Subject;
use crate::analysis::{Definitions, Uses};
use oriole_ir::ops::{FieldValue, FieldValues, Opcode, Type};
use oriole_ir::{FreeOperand, Function, Inst, InstHead, Operand, Reg, RegInfo};
use oriole_rules::instance::{Instance, Operation, Value, ones, place_type};

/// A source of a new operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planned {
    Known(FreeOperand),
    /// The value of the operation with this index.
    New(usize),
}

impl Planned {
    /// The source as an operand; `values` are those of the new operations so far.
    fn operand(self, func: &mut Function, values: &[Reg]) -> Operand {
        match self {
            Planned::Known(value) => func.bind(value),
            Planned::New(index) => Operand::Reg(values[index]),
        }
    }
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
    /// What a matched instruction becomes; `None` where that cannot be written down, or is what is there.
    pub fn new(subject: Subject<'_>, instance: &Instance, bindings: &Bindings, root: Inst) -> Option<Plan> {
        let mut planner = Planner { subject, bindings, plan: Plan::default(), lets: Vec::new() };
        for value in &instance.lets {
            let planned = planner.value(value)?;
            planner.lets.push(planned);
        }
        if let [Value::Op(operation)] = instance.results.as_slice() {
            planner.operation(operation)?;
            planner.plan.direct = true;
            return Some(planner.plan).filter(|plan| !plan.is_idle(subject.func, root));
        }
        for (value, dst) in instance.results.iter().zip(subject.func.dsts(root)) {
            subject.func.operand_info(*dst)?.mov_type()?;
            let planned = planner.value(value)?;
            planner.plan.results.push(planned);
        }
        Some(planner.plan)
    }

    /// Whether the only operation of the plan is the one that is there.
    fn is_idle(&self, func: &Function, root: Inst) -> bool {
        let [made] = self.operations.as_slice() else { return false };
        let data = func.inst(root);
        let same = |(src, old): (&Planned, &Operand)| *src == Planned::Known(func.free(*old));
        (made.opcode, made.fields) == (data.opcode, data.fields) && made.srcs.iter().zip(func.srcs(root)).all(same)
    }

    /// What the operations of the plan cost.
    pub fn cost(&self) -> u32 {
        self.operations.iter().map(|operation| operation.opcode.row().cost(&operation.fields)).sum()
    }

    /// Whether an operation takes the root's place, or comes in front of it.
    pub fn makes_instructions(&self) -> bool {
        !self.operations.is_empty()
    }

    /// Whether an operation of the plan reads a register, or a result is one.
    pub fn reads(&self, reg: Reg) -> bool {
        let is_read = |planned: &Planned| match planned {
            Planned::Known(value) => value.operand().and_then(|operand| operand.reg()) == Some(reg),
            Planned::New(_) => false,
        };
        self.operations.iter().flat_map(|operation| &operation.srcs).chain(&self.results).any(is_read)
    }

    /// The operations that the plan adds.
    pub fn opcodes(&self) -> impl Iterator<Item = Opcode> + '_ {
        self.operations.iter().map(|operation| operation.opcode)
    }

    /// Changes the function; returns the instructions that now are in the root's place, which is in a block.
    pub fn apply(self, func: &mut Function, definitions: &mut Definitions, uses: &mut Uses, root: Inst) -> Vec<Inst> {
        let block = func.block_of(root).expect("what matches stands in a block");
        let mut before: Vec<Inst> = Vec::new();
        let mut values: Vec<Reg> = Vec::new();
        let inner = self.operations.len() - usize::from(self.direct);
        // An operation reads what the match has captured and operations before it, so one pass in order suffices.
        // They enter the block only below.
        for operation in &self.operations[..inner] {
            let (inst, reg) = operation.create(func, &values, root);
            values.push(reg);
            definitions.set(reg, inst, block);
            before.push(inst);
        }
        let old = *func.inst(root);
        let (dsts, elses) = (func.dsts(root).to_vec(), func.elses(root).to_vec());
        // What the root reads must be kept: setting it below overwrites its operands.
        let read: Vec<Reg> = func.uses(root).collect();
        let mut after: Vec<Inst> = vec![root];
        if let Some(last) = self.operations.last().filter(|_| self.direct) {
            let srcs: Vec<Operand> = last.srcs.iter().map(|src| src.operand(func, &values)).collect();
            let head = InstHead { opcode: last.opcode, fields: last.fields, ..old.head() };
            // Nothing reads the results where the new operation has none.
            let kept = if last.opcode.row().dsts.is_empty() { 0 } else { dsts.len() };
            dsts[kept..].iter().filter_map(|dst| dst.reg()).for_each(|reg| definitions.clear(reg));
            func.set_inst(root, head, &dsts[..kept], &srcs, &elses[..kept.min(elses.len())]);
        } else {
            for (index, (dst, value)) in dsts.iter().zip(&self.results).enumerate() {
                let ty =
                    func.operand_info(*dst).and_then(RegInfo::mov_type).expect("the plan has checked the destinations");
                let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(ty), ..old.head() };
                let elses = elses.get(index..=index).unwrap_or(&[]);
                let value = value.operand(func, &values);
                if index == 0 {
                    func.set_inst(root, head, &[*dst], &[value], elses);
                } else {
                    after.push(func.new_inst(head, &[*dst], &[value], elses));
                }
            }
        }
        // New reads are counted before old ones are taken back. Otherwise the count of a register that both read
        // falls to zero in between, and its definition counts as unread.
        for inst in before.iter().chain(&after) {
            uses.add(func, *inst);
        }
        uses.release(func, definitions, read);
        before.iter().for_each(|inst| func.insert_before(root, *inst));
        for pair in after.windows(2) {
            func.defs(pair[1]).for_each(|reg| definitions.set(reg, pair[1], block));
            func.insert_after(pair[0], pair[1]);
        }
        before.extend(after);
        before
    }
}

impl NewOperation {
    fn create(&self, func: &mut Function, values: &[Reg], root: Inst) -> (Inst, Reg) {
        let row = self.opcode.row();
        let ty = row.dsts.first().and_then(|shape| place_type(self.opcode, &self.fields, *shape));
        let reg = func.new_reg(RegInfo::of(ty.unwrap_or(Type::B32)));
        let srcs: Vec<Operand> = self.srcs.iter().map(|src| src.operand(func, values)).collect();
        let line = func.inst(root).line;
        let head = InstHead { opcode: self.opcode, fields: self.fields, guard: None, line };
        (func.new_inst(head, &[Operand::Reg(reg)], &srcs, &[]), reg)
    }
}

/// The fields of a `mov` of a type.
pub fn mov_fields(ty: Type) -> FieldValues {
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
            Value::Constant(constant) => Planned::Known(FreeOperand::Imm(evaluate(constant, self.bindings)?)),
            Value::Let(index) => *self.lets.get(*index)?,
            Value::Op(operation) => Planned::New(self.operation(operation)?),
        })
    }

    fn word(&self, word: u8, value: FreeOperand) -> Option<FreeOperand> {
        match value {
            FreeOperand::Imm(bits) => Some(FreeOperand::Imm(bits >> (32 * u32::from(word)) & 0xffff_ffff)),
            FreeOperand::Operand(Operand::Reg(reg)) if self.subject.func.regs()[reg].words == 2 => {
                Some(Operand::Word(reg, word).into())
            }
            _ => None,
        }
    }

    fn operation(&mut self, operation: &Operation) -> Option<usize> {
        let fields = operation_fields(operation, self.bindings)?;
        let opcode = operation.opcode;
        let mut srcs = Vec::with_capacity(operation.srcs.len());
        for (index, (src, shape)) in operation.srcs.iter().zip(opcode.row().srcs).enumerate() {
            let mut planned = self.value(src)?;
            if let Planned::Known(value) = &mut planned {
                if let (FreeOperand::Imm(bits), Some(ty)) = (&mut *value, place_type(opcode, &fields, *shape)) {
                    *bits &= ones(ty.bits());
                }
                if !self.subject.fits(*value, opcode, &fields, index) {
                    return None;
                }
            }
            srcs.push(planned);
        }
        self.plan.operations.push(NewOperation { opcode, fields, srcs });
        Some(self.plan.operations.len() - 1)
    }
}
