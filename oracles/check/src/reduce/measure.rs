//! How simple a program and its launch are.
//!
//! A candidate is only looked at where its measure is below that of the evidence so far; measures are compared part by
//! part, each a natural number, so reducing ends. Parts: what is called and defined, instructions, how complicated each
//! is, the launch.

use cranelift_entity::EntityRef;
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Modifiers, Operand, Variable};

use super::insts::weight;
use crate::report::Evidence;
use oriole_launch::{ArgValue, Buffer, Launch};

/// A measure; the smaller the simpler.
pub type Measure = [u64; 4];

/// Sizes for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Functions, declared ones included.
    pub functions: usize,
    /// Blocks.
    pub blocks: usize,
    /// Instructions.
    pub instructions: usize,
    /// Threads of the launch.
    pub threads: u64,
    /// Bytes of the launch's buffers.
    pub bytes: usize,
}

impl Size {
    /// The sizes of a program and its launch.
    pub fn of(evidence: &Evidence) -> Size {
        let functions = &evidence.module.functions;
        let launch = evidence.launch.as_ref();
        Size {
            functions: functions.len(),
            blocks: functions.values().map(|func| func.layout().len()).sum(),
            instructions: functions.values().map(Function::inst_count).sum(),
            threads: launch.map_or(0, Launch::threads),
            bytes: launch.map_or(0, |launch| launch.contents().map(|(_, buffer)| buffer.bytes.len()).sum()),
        }
    }
}

/// The measure of a program and its launch.
pub fn measure(evidence: &Evidence) -> Measure {
    let module = &evidence.module;
    let mut out = [module.functions.len() as u64 + module.globals.len() as u64, 0, 0, 0];
    out[2] += module.globals.values().map(variable).sum::<u64>();
    for func in module.functions.values() {
        out[1] += func.layout().len() as u64 + func.inst_count() as u64;
        out[2] += func.locals.values().map(variable).sum::<u64>() + func.directives.len() as u64;
        for inst in func.layout_insts() {
            out[0] += u64::from(func.inst(inst).opcode == Opcode::Call);
            out[2] += instruction(func, inst);
        }
    }
    out[3] = evidence.launch.as_ref().map_or(0, launch);
    out
}

fn variable(variable: &Variable) -> u64 {
    let content = variable.init.len() + variable.relocations.len();
    4 + u64::from(variable.size().max(1).ilog2()) + content as u64
}

fn instruction(func: &Function, inst: Inst) -> u64 {
    let data = func.inst(inst);
    let mut sum = 2 * u64::from(data.guard.is_some()) + u64::from(data.line != 0);
    for (slot, spec) in data.opcode.row().fields.iter().enumerate() {
        let value = data.fields.0[slot];
        sum += match spec.default {
            Some(default) => u64::from(default != value),
            None => u64::from(value),
        };
    }
    sum += func.defs(inst).map(|reg| 4 * u64::from(func.regs()[reg].words)).sum::<u64>();
    sum + func.inputs(inst).iter().map(|operand| self::operand(func, *operand)).sum::<u64>()
}

/// Every register is more than every constant, and earlier ones are less than later ones, so that operands move towards
/// the beginning.
fn operand(func: &Function, operand: Operand) -> u64 {
    match operand {
        Operand::Imm(imm) => weight(func.bits(imm)),
        Operand::Reg(reg) => 300 + reg.index().min(1 << 20) as u64,
        Operand::Modified { .. } => {
            1 + operand.with_modifiers(Modifiers::NONE).map_or(0, |plain| self::operand(func, plain))
        }
        Operand::Word(reg, word) => 301 + reg.index().min(1 << 20) as u64 + u64::from(word),
        Operand::Undef | Operand::Block(_) | Operand::Special(_) | Operand::Name(_) | Operand::Wired { .. } => 1,
        Operand::Const { .. } | Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => 250,
    }
}

fn launch(launch: &Launch) -> u64 {
    let threads: u64 = launch.grid.iter().chain(&launch.block).map(|size| u64::from(*size) << 32).sum();
    let frame = u64::from(launch.dynamic_shared)
        + 2 * u64::from(launch.steps.is_some())
        + 2 * u64::from(launch.copies.is_some())
        + launch.cluster.map_or(0, |sizes| 4 * u64::from(sizes.iter().product::<u32>()));
    let content = |bytes: &[u8]| bytes.iter().filter(|byte| **byte != 0).count() as u64;
    let buffer = |buffer: &Buffer| {
        let more = u64::from(buffer.expect.is_some()) + u64::from(buffer.element.is_some());
        8 * buffer.bytes.len() as u64 + content(&buffer.bytes) + more
    };
    let arg = |value: &ArgValue| match value {
        ArgValue::Scalar(scalar) => weight(scalar.bits()),
        ArgValue::Bytes(bytes) => content(bytes),
        ArgValue::Structure(structure) => content(&structure.bytes) + structure.pointers.len() as u64,
        ArgValue::Buffer(one) => buffer(one),
        ArgValue::Alias { .. } | ArgValue::Handle { .. } => 1,
        ArgValue::Multicast { .. } | ArgValue::TensorMap(_) => 2,
        ArgValue::Null => 0,
    };
    let args = launch.args.iter().map(|a| arg(&a.value) + u64::from(a.name.is_some())).sum::<u64>();
    let images = launch.images.iter().map(|image| buffer(&image.buffer)).sum();
    threads.saturating_add(frame).saturating_add(args).saturating_add(images)
}
