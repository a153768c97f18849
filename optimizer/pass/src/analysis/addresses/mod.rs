//! Which values are addresses of variables, and which variables have an address that nobody else learns.
//!
//! A value is a *pointer* if it was counted from the address of one variable, or from what `cvta` made of an address of
//! one space: by copies, sums with numbers, products that are added, choices and phis. Where each way counts the same
//! number of bytes, the offset is known. Whatever else takes a pointer as an operand (masks, differences of pointers, a
//! store of it, a call) *captures* its variable: from there on, anyone may have the address.
//!
//! A pointer that is stored whole in a variable of the function is followed through it (`slots.rs`), since unoptimized
//! code keeps pointers in its frame: what is loaded there is what was stored, as long as every access to those bytes is
//! known and has their extent.
//!
//! The solution is the least one of a system over the values, by rounds over the function in its order; a phi of a
//! pointer and of what no round has reached yet is the pointer. An address that is counted from one variable is taken
//! to stay in it, unless it is a known one beyond: then nothing is known of any variable. Outside SSA form no register
//! is a pointer.
//!
//! Cost: rounds times instructions. A value changes at most three times, so there are few rounds; after [`ROUNDS`] of
//! them every variable counts as captured.

mod slots;
mod solve;
#[cfg(test)]
mod tests;

use cranelift_entity::EntityRef;

use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Function, FunctionKind, Global, Inst, Local, Operand};
use solve::Solver;

/// How many rounds there are at most.
const ROUNDS: usize = 64;

/// A variable of the function or the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Variable {
    /// One of the function.
    Local(Local),
    /// One of the module.
    Global(Global),
}

impl Variable {
    /// The variable, if it is one of the function.
    pub fn local(self) -> Option<Local> {
        if let Variable::Local(local) = self { Some(local) } else { None }
    }
}

impl From<Variable> for Operand {
    fn from(variable: Variable) -> Operand {
        match variable {
            Variable::Local(local) => Operand::Local(local),
            Variable::Global(global) => Operand::Global(global),
        }
    }
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pointer {
    /// The space that it leads to; `None` for a variable of the module, whose space the function does not say.
    pub space: Option<Space>,
    /// Whether it is a generic address, rather than one in that space.
    pub generic: bool,
    /// The variable that it is counted from, where there is one alone.
    pub variable: Option<Variable>,
    /// The bytes from its beginning, where they are known.
    pub offset: Option<u64>,
}

impl Pointer {
    /// The address that is counted on by some bytes, or by an unknown number of them.
    fn moved(self, by: Option<u64>) -> Pointer {
        let offset = self.offset.and_then(|offset| Some(offset.wrapping_add(by?)));
        Pointer { offset, ..self }
    }
}

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// No round has come to it.
    Unseen,
    /// No pointer.
    Plain,
    Pointer(Pointer),
}

/// The pointers of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// By register.
    values: Vec<Value>,
    /// By local variable.
    captured: Vec<bool>,
    /// Whether an access goes beyond the variable that its address is counted from.
    beyond: bool,
}

impl Addresses {
    /// The pointers of a function.
    pub fn new(func: &Function) -> Addresses {
        Solver::new(func, false).solve()
    }

    /// The same where the 64-bit parameters of a kernel are taken to be generic addresses of global memory.
    pub fn with_global_parameters(func: &Function) -> Addresses {
        Solver::new(func, func.kind == FunctionKind::Entry).solve()
    }

    /// The address that an operand is.
    pub fn pointer(&self, func: &Function, operand: Operand) -> Option<Pointer> {
        match (of_symbol(func, operand), operand) {
            (Some(pointer), _) => Some(pointer),
            (None, Operand::Reg(reg)) => match self.values.get(reg.index()) {
                Some(Value::Pointer(pointer)) => Some(*pointer),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an access goes beyond the variable that its address is counted from, so that it may meet others.
    pub fn goes_beyond(&self) -> bool {
        self.beyond
    }

    /// Whether the address of a variable may be known where it is not followed.
    pub fn is_captured(&self, local: Local) -> bool {
        self.captured[local.index()]
    }
}

/// The pointer that the name of a variable is.
fn of_symbol(func: &Function, operand: Operand) -> Option<Pointer> {
    let (space, variable) = match operand {
        Operand::Local(local) => (Some(func.locals[local].space), Variable::Local(local)),
        Operand::Global(global) => (None, Variable::Global(global)),
        _ => return None,
    };
    Some(Pointer { space, generic: false, variable: Some(variable), offset: Some(0) })
}

/// An access of one instruction, by its first two operands.
#[derive(Clone, Copy, Debug)]
pub struct Accessed {
    /// The address, without the offset of the instruction.
    pub pointer: Pointer,
    /// The first byte behind the beginning of the variable, where it is known.
    pub first: Option<u64>,
    /// How many bytes.
    pub size: u64,
}

impl Accessed {
    /// The access of an instruction that loads, stores or updates memory at one address, which comes first, if that is
    /// a pointer, and one in the space that the instruction says.
    pub fn of(func: &Function, inst: Inst, pointer: impl FnOnce(Operand) -> Option<Pointer>) -> Option<Accessed> {
        let data = func.inst(inst);
        let is_plain = matches!(data.opcode, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red);
        let &[base, offset, ..] = func.srcs(inst) else { return None };
        let pointer = Some(base).filter(|_| is_plain).and_then(pointer)?;
        let space = data.field::<Space>().unwrap_or(Space::Generic);
        let leads_there = match pointer.generic {
            true => space == Space::Generic,
            false => space != Space::Generic && pointer.space.is_none_or(|of| of == space),
        };
        let bits = func.operand_info(base).map_or(64, |info| 32 * u32::from(info.words));
        let first = pointer.offset.zip(func.imm_bits(offset)).map(|(at, by)| signed(at.wrapping_add(by), bits));
        let size = u64::from(data.ty().bits().div_ceil(8)) * data.vector_len() as u64;
        leads_there.then_some(Accessed { pointer, first, size })
    }

    /// The first and the last byte, where they are known and lie in a variable of a size.
    pub fn within(&self, size: u64) -> Option<u64> {
        self.first.filter(|first| first.checked_add(self.size).is_some_and(|end| end <= size))
    }
}

/// A number of bytes that was counted in registers of a width, as one of 64 bits.
fn signed(bytes: u64, bits: u32) -> u64 {
    if bits == 32 { i64::from(bytes as u32 as i32) as u64 } else { bytes }
}
