//! The effect of instructions on memory, and their addresses.
//!
//! An address is a root and a number of bytes behind it: a variable, a register at its definition, or nothing where the
//! address is a number. Additions of constants and copies are followed, and from a variable's address `cvta` too
//! ([`Addresses`]).

use cranelift_entity::EntityRef;

use super::super::addresses::{Accessed, Addresses, Variable};
use super::super::definitions::Definitions;
use oriole_ir::ops::{Flags, NonCoherent, Opcode, Order, Saturate, Shape, Space, Type};
use oriole_ir::{Form, Function, Global, Inst, Local, Operand, Reg};

/// How many definitions an address is followed through.
const DEPTH: usize = 32;
/// Bytes behind the beginning of a variable of the module up to which a generic address is taken to stay in its space.
const WINDOW: u64 = 1 << 24;

/// The texels of an image: bytes of global memory that no address names. CUDA leaves a fetch undefined whose texel the
/// same launch writes; here what may write it keeps its place.
const TEXELS: Location =
    Location { space: Space::Global, root: Root::Unknown, offset: 0, within: None, bits: 64, size: 16, fixed: false };

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
    /// The register, if it is one.
    pub fn reg(self) -> Option<Reg> {
        if let Root::Reg(reg) = self { Some(reg) } else { None }
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
    /// The local variable that the address is counted from, by whatever number of bytes, where that is known.
    pub within: Option<Local>,
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

    /// Whether only accesses that are counted from the variable reach the bytes.
    pub(super) fn is_private(&self, captured: &[bool]) -> bool {
        self.is_own() && self.within.is_some_and(|local| !captured[local.index()])
    }

    /// Whether two accesses are known to be to different variables, or one to a variable that the other cannot reach.
    pub(super) fn is_apart(&self, other: &Location, captured: &[bool]) -> bool {
        match (self.within.filter(|_| self.is_own()), other.within.filter(|_| other.is_own())) {
            (Some(a), Some(b)) => a != b,
            _ => self.is_private(captured) || other.is_private(captured),
        }
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
    addresses: Addresses,
}

impl<'a> Locations<'a> {
    pub(super) fn new(func: &'a Function) -> Locations<'a> {
        let definitions = (func.form == Form::Ssa).then(|| Definitions::new(func));
        Locations { func, definitions, addresses: Addresses::new(func) }
    }

    /// By local variable: whether its address may be known where it is not followed.
    pub(super) fn captured(&self) -> Vec<bool> {
        self.func.locals.keys().map(|local| self.addresses.is_captured(local)).collect()
    }

    /// What an instruction does to memory.
    pub(super) fn effect(&self, inst: Inst) -> Effect {
        let data = self.func.inst(inst);
        let (reads, writes) = (data.is(Flags::READS), data.is(Flags::WRITES));
        match data.field::<Order>() {
            _ if data.is(Flags::FENCE) && writes || data.is(Flags::MULTIMEM) => Effect::Anything,
            _ if data.is(Flags::FENCE) => Effect::Orders,
            _ if !reads && !writes => Effect::None,
            _ if data.is(Flags::IMAGE) => match (reads, writes) {
                (true, true) => Effect::Updates(TEXELS),
                (false, true) => Effect::Writes(TEXELS),
                _ => Effect::Reads(TEXELS),
            },
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
        let location = Location { space, root, offset, within: None, bits, size, fixed };
        Some(self.in_variable(inst, location))
    }

    /// An access whose address is counted from a variable is one there, also where the address is a generic one.
    fn in_variable(&self, inst: Inst, location: Location) -> Location {
        let pointer = |operand| self.addresses.pointer(self.func, operand);
        let Some(accessed) = Accessed::of(self.func, inst, pointer).filter(|_| !self.addresses.goes_beyond()) else {
            return location;
        };
        let space = accessed.pointer.space.unwrap_or(location.space);
        let within = accessed.pointer.variable.and_then(Variable::local);
        let (root, first) = match accessed.pointer.variable {
            Some(Variable::Local(local)) => (Root::Local(local), accessed.within(self.func.locals[local].size())),
            Some(Variable::Global(global)) => (Root::Global(global), accessed.within(WINDOW)),
            None => return Location { space, ..location },
        };
        match first {
            Some(offset) => Location { space, root, offset, within, bits: 64, ..location },
            None => Location { space, within, ..location },
        }
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
