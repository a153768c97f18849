//! The effect of instructions on memory, and their addresses.
//!
//! An address is a root and a number of bytes behind it: a variable, a register at its definition, or nothing where the
//! address is a number. Additions of constants and copies are followed.

use cranelift_entity::EntityRef;

use super::super::definitions::Definitions;
use oriole_ir::ops::{Flags, NonCoherent, Opcode, Order, Saturate, Shape, Space, Type};
use oriole_ir::{Form, Function, Global, Inst, Local, Operand, Reg};

/// How many definitions an address is followed through.
const DEPTH: usize = 32;

/// What an address is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// A variable of the module.
    Global(Global),
    /// A variable of the function.
    Local(Local),
    /// What a register holds.
    Reg(Reg),
    /// Zero.
    Zero,
    /// Something of which no other address is known.
    Unknown,
}

impl Root {
    pub(super) fn reg(self) -> Option<Reg> {
        if let Root::Reg(reg) = self { Some(reg) } else { None }
    }

    pub(super) fn local(self) -> Option<Local> {
        if let Root::Local(local) = self { Some(local) } else { None }
    }
}

/// The bytes that an access touches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// The state space; generic addresses may lead to any.
    pub space: Space,
    /// What the address is counted from.
    pub root: Root,
    /// The bytes from there, modulo two to the power of `bits`.
    pub offset: u64,
    /// The width of the address.
    pub bits: u32,
    /// How many bytes.
    pub size: u32,
    /// Whether nobody writes there while the kernel runs.
    pub fixed: bool,
}

impl Location {
    /// Whether nobody changes the bytes while the function runs.
    pub fn is_constant(&self) -> bool {
        self.fixed || self.space == Space::Const
    }

    /// Whether no other thread can reach the bytes.
    pub fn is_own(&self) -> bool {
        matches!(self.space, Space::Local | Space::Param)
    }

    /// Whether only accesses by the variable's name reach the bytes.
    pub(super) fn is_private(&self, escaped: &[bool]) -> bool {
        self.is_own() && self.root.local().is_some_and(|local| !escaped[local.index()])
    }
}

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// Reads some bytes.
    Reads(Location),
    /// Writes some bytes, unless its guard is false.
    Writes(Location),
    /// Reads and writes some bytes in one step.
    Updates(Location),
    /// Orders accesses: what other threads have written may be seen behind it.
    Orders,
    /// May read and write anything.
    Anything,
}

impl Effect {
    /// Whether memory may look different behind the instruction.
    pub fn changes(self) -> bool {
        !matches!(self, Effect::None | Effect::Reads(_))
    }
}

/// Finds out where instructions access memory.
pub(super) struct Locations<'a> {
    func: &'a Function,
    definitions: Option<Definitions>,
    /// By local variable: whether its address is used for more than an access by name.
    pub(super) escaped: Vec<bool>,
}

impl<'a> Locations<'a> {
    pub(super) fn new(func: &'a Function) -> Locations<'a> {
        let definitions = (func.form == Form::Ssa).then(|| Definitions::new(func));
        Locations { func, definitions, escaped: escaped(func) }
    }

    /// What an instruction does to memory.
    pub(super) fn effect(&self, inst: Inst) -> Effect {
        let data = self.func.inst(inst);
        let (reads, writes) = (data.is(Flags::READS), data.is(Flags::WRITES));
        match data.field::<Order>() {
            _ if data.is(Flags::FENCE) && writes || data.is(Flags::MULTIMEM) => Effect::Anything,
            _ if data.is(Flags::FENCE) => Effect::Orders,
            _ if !reads && !writes => Effect::None,
            Some(Order::Acquire | Order::Release | Order::AcqRel | Order::Volatile | Order::Mmio) => Effect::Anything,
            order => match self.location(inst) {
                None => Effect::Anything,
                // Other threads write there while this one looks.
                Some(at) if order == Some(Order::Relaxed) => Effect::Updates(at),
                Some(at) if reads && writes => Effect::Updates(at),
                Some(at) if writes => Effect::Writes(at),
                Some(at) => Effect::Reads(at),
            },
        }
    }

    /// The bytes of an instruction with one address, which comes first, and is not other lanes' too.
    fn location(&self, inst: Inst) -> Option<Location> {
        let (data, row) = (self.func.inst(inst), self.func.inst(inst).opcode.row());
        let addresses = row.srcs.iter().filter(|shape| **shape == Shape::Base).count();
        let &[base, offset, ..] = self.func.srcs(inst) else { return None };
        if addresses != 1 || row.srcs[0] != Shape::Base || data.is(Flags::MATRIX) {
            return None;
        }
        let (root, counted, bits) = self.address(base);
        let offset = counted.wrapping_add(self.func.imm_bits(offset)?);
        let size = data.field::<Type>()?.bits().div_ceil(8) * data.vector_len() as u32;
        let space = data.field::<Space>().unwrap_or(Space::Generic);
        let fixed = data.field::<NonCoherent>() == Some(NonCoherent::Nc);
        Some(Location { space, root, offset, bits, size, fixed })
    }

    /// The root of an address, the bytes from there, and the address's width.
    fn address(&self, base: Operand) -> (Root, u64, u32) {
        let bits = self.func.operand_info(base).map_or(64, |info| 32 * u32::from(info.words));
        let (mut at, mut offset) = (base, 0u64);
        for _ in 0..DEPTH {
            let Some((next, added)) = self.followed(at, bits) else { break };
            (at, offset) = (next, offset.wrapping_add(added));
        }
        let root = match at {
            Operand::Global(global) => Root::Global(global),
            Operand::Local(local) => Root::Local(local),
            Operand::Imm(address) => return (Root::Zero, offset.wrapping_add(self.func.bits(address)), bits),
            Operand::Reg(reg) if self.definitions.is_some() => Root::Reg(reg),
            _ => Root::Unknown,
        };
        (root, offset, bits)
    }

    /// What a register was copied or counted from, if that is as wide.
    fn followed(&self, at: Operand, bits: u32) -> Option<(Operand, u64)> {
        let inst = self.definitions.as_ref()?.always(self.func, at)?;
        let (data, srcs) = (self.func.inst(inst), self.func.srcs(inst));
        let modular = data.field::<Saturate>() != Some(Saturate::Sat);
        let whole = matches!(data.ty(), Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64);
        let wide = whole && modular && data.ty().bits() == bits;
        match (data.opcode, srcs) {
            (Opcode::Mov, [from]) if wide => Some((*from, 0)),
            (Opcode::IAdd, [from, Operand::Imm(added)] | [Operand::Imm(added), from]) if wide => {
                Some((*from, self.func.bits(*added)))
            }
            (Opcode::ISub, [from, Operand::Imm(taken)]) if wide => Some((*from, self.func.bits(*taken).wrapping_neg())),
            _ => None,
        }
    }
}

/// By local variable: whether an instruction uses its address for more than an access to its bytes by name. Where one
/// goes beyond a variable, nothing is known of any.
fn escaped(func: &Function) -> Vec<bool> {
    let mut escaped = vec![false; func.locals.len()];
    for inst in func.layout_insts() {
        let data = func.inst(inst);
        let access = data.is(Flags::READS) != data.is(Flags::WRITES) && data.opcode.row().srcs[0] == Shape::Base;
        let size = u64::from(data.ty().bits().div_ceil(8)) * data.vector_len() as u64;
        for (index, operand) in func.inputs(inst).iter().enumerate() {
            let Operand::Local(local) = operand else { continue };
            let named = access && index == 0 && data.field::<Space>() == Some(func.locals[*local].space);
            let offset = func.srcs(inst).get(1).filter(|_| named).and_then(|offset| func.imm_bits(*offset));
            let fits =
                offset.is_some_and(|at| at.checked_add(size).is_some_and(|end| end <= func.locals[*local].size()));
            if named && !fits {
                return vec![true; func.locals.len()];
            }
            escaped[local.index()] |= !fits;
        }
    }
    escaped
}
