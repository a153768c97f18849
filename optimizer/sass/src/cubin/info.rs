//! What attributes say of a function.

use super::attribute::{Attribute, Value, code};
use super::error::CubinError;

/// What `.nv.info` and `.nv.info.K` say of a function.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Info {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Named barriers that it uses.
    pub barriers: u32,
    /// Bytes of its own stack frame.
    pub frame_size: u32,
    /// Bytes of stack that it needs with everything that it calls, where that is known.
    pub min_stack_size: Option<u32>,
    /// The same at most, in files that are not linked.
    pub max_stack_size: Option<u32>,
    /// The parameters, in their order.
    pub parameters: Vec<Parameter>,
    /// Bytes of all parameters.
    pub parameter_size: u32,
    /// Where in bank 0 the parameters begin; `None` if it is no entry.
    pub parameter_base: Option<u32>,
    /// Threads of a block at most, in three dimensions.
    pub max_threads: Option<[u32; 3]>,
    /// Threads of a block, if the code is for nothing else.
    pub required_threads: Option<[u32; 3]>,
    /// Whether it has to be launched in clusters.
    pub is_cluster: bool,
    /// Blocks of a cluster, if the code is for nothing else.
    pub cluster: Option<[u32; 3]>,
    /// Blocks of a cluster at most.
    pub max_cluster_rank: Option<u32>,
    /// The offsets of EXIT in the section.
    pub exits: Vec<u32>,
    /// The offsets of calls that the system answers (`printf`, `malloc`) in the section.
    pub system_calls: Vec<u32>,
    /// Branches through a register.
    pub indirect_branches: Vec<IndirectBranch>,
    /// The indices of symbols that are called and defined elsewhere.
    pub externs: Vec<u32>,
    /// Every attribute of `.nv.info.K`, in the file's order.
    pub attributes: Vec<Attribute>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its place among the parameters, from 0.
    pub ordinal: u16,
    /// The offset from the first parameter, in bytes.
    pub offset: u16,
    /// The size in bytes.
    pub size: u16,
}

/// A branch through a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndirectBranch {
    /// Its offset in the section.
    pub offset: u32,
    /// The offsets that it may go to.
    pub targets: Vec<u32>,
}

impl Info {
    /// Takes the attributes of the whole file that name a function.
    pub(super) fn take_common(&mut self, attributes: &[Attribute], symbol: usize) {
        for attribute in attributes.iter().filter(|attribute| attribute.numbers().next() == Some(symbol as u32)) {
            let number = attribute.number(1);
            match attribute.code {
                code::REGCOUNT => self.registers = Some(number),
                code::FRAME_SIZE => self.frame_size = number,
                code::MIN_STACK_SIZE => self.min_stack_size = Some(number),
                code::MAX_STACK_SIZE => self.max_stack_size = Some(number),
                _ => {}
            }
        }
    }

    /// Takes the attributes of the function's own section.
    pub(super) fn take_own(&mut self, section: &str, attributes: Vec<Attribute>) -> Result<(), CubinError> {
        for attribute in &attributes {
            let numbers = || attribute.numbers().collect::<Vec<u32>>();
            let three = || Some([0, 1, 2].map(|at| attribute.number(at)));
            match attribute.code {
                code::KPARAM_INFO | code::KPARAM_INFO_V2 => self.parameters.push(parameter(attribute)),
                code::CBANK_PARAM_SIZE => self.parameter_size = attribute.number(0),
                code::PARAM_CBANK => self.parameter_base = Some(attribute.number(1) & 0xffff),
                code::NUM_BARRIERS => self.barriers = attribute.number(0),
                code::MAX_THREADS => self.max_threads = three(),
                code::REQNTID => self.required_threads = three(),
                code::EXPLICIT_CLUSTER => self.is_cluster = true,
                code::CTA_PER_CLUSTER => self.cluster = three(),
                code::MAX_CLUSTER_RANK => self.max_cluster_rank = Some(attribute.number(0)),
                code::EXIT_INSTR_OFFSETS => self.exits = numbers(),
                code::SYSCALL_OFFSETS => self.system_calls = numbers(),
                code::INDIRECT_BRANCH_TARGETS => self.indirect_branches = branches(section, &numbers())?,
                code::EXTERNS => self.externs.extend(attribute.numbers()),
                _ => {}
            }
        }
        self.parameters.sort_by_key(|parameter| parameter.ordinal);
        self.attributes = attributes;
        Ok(())
    }
}

/// 32 bits index, 16 ordinal, 16 offset; then 8 alignment, 4 space, 6 bank, 14 size, or in the second version 16 size,
/// 8 alignment, 4 space.
fn parameter(attribute: &Attribute) -> Parameter {
    let half = |number: u32, shift: u32| (number >> shift) as u16;
    let (place, rest) = (attribute.number(1), attribute.number(2));
    let size = if attribute.code == code::KPARAM_INFO { half(rest, 18) } else { half(rest, 0) };
    Parameter { ordinal: half(place, 0), offset: half(place, 16), size }
}

/// Each is 32 bits offset, 32 zero, 32 number of targets, then these.
fn branches(section: &str, mut numbers: &[u32]) -> Result<Vec<IndirectBranch>, CubinError> {
    let mut branches = Vec::new();
    while let [offset, _, count, rest @ ..] = numbers {
        let what = "an indirect branch has more targets than its attribute holds";
        let wrong = || CubinError::Section { section: section.to_owned(), offset: (*offset).into(), what };
        let targets = rest.get(..*count as usize).ok_or_else(wrong)?;
        branches.push(IndirectBranch { offset: *offset, targets: targets.to_vec() });
        numbers = &rest[targets.len()..];
    }
    Ok(branches)
}

/// Whether an attribute of `.nv.compat` says that the code uses features of one SM alone.
pub(super) fn is_of_one_sm(attributes: &[Attribute]) -> bool {
    const ACCELERATOR_TARGET: u8 = 9;
    attributes.contains(&Attribute { code: ACCELERATOR_TARGET, value: Value::Byte(1) })
}
