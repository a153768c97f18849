//! Registers of a word that are registers of 16 bits in PTX.
//!
//! PTX wants registers of 16 bits for 16-bit operations, the IR has words for them. A register that only operations on
//! at most 16 bits write and read need not be converted at each of them: nothing sees its upper half. The two sides of
//! a copy are both such registers, or neither; so are the elements of a vector.

use cranelift_entity::SecondaryMap;

use super::function::FunctionWriter;
use super::instruction::takes_words;
use oriole_ir::ops::{Opcode, Shape, Type};
use oriole_ir::template::{Place, Template};
use oriole_ir::{Function, Inst, InstData, Operand, Reg, RegFile};

/// The registers of 16 bits.
#[derive(Default)]
pub(super) struct Halves {
    halves: SecondaryMap<Reg, bool>,
    any: bool,
}

impl Halves {
    /// What 16-bit operations write or read, without what anything else does, both with all that is joined to it.
    pub fn new(writer: &FunctionWriter<'_>) -> Halves {
        let func = writer.func;
        let (mut wanted, mut refused) = (SecondaryMap::<Reg, bool>::new(), SecondaryMap::<Reg, bool>::new());
        let mut joined = Vec::new();
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            if let Some(sides) = copy_of_word(writer, inst, data) {
                joined.extend(sides);
                continue;
            }
            let mut last = None;
            for (operand, shape, ty) in operands(writer, inst, data) {
                let Operand::Reg(reg) = operand else { continue };
                match ty {
                    Some(ty) if ty.bits() == 16 => wanted[reg] = true,
                    Some(_) => {}
                    None => refused[reg] = true,
                }
                if shape == Shape::V {
                    joined.extend(last.replace(reg).map(|last| [last, reg]));
                }
            }
        }
        spread(&joined, &mut refused);
        spread(&joined, &mut wanted);
        let mut found = Halves::default();
        for (reg, info) in func.regs() {
            let half = info.file == RegFile::R && info.words == 1 && wanted[reg] && !refused[reg];
            found.halves[reg] = half;
            found.any |= half;
        }
        found
    }

    pub fn contains(&self, reg: Reg) -> bool {
        self.halves[reg]
    }

    pub fn is_empty(&self) -> bool {
        !self.any
    }
}

/// Marks all that is joined to what is marked.
fn spread(joined: &[[Reg; 2]], marked: &mut SecondaryMap<Reg, bool>) {
    let mut neighbours: SecondaryMap<Reg, Vec<Reg>> = SecondaryMap::new();
    for [a, b] in joined {
        neighbours[*a].push(*b);
        neighbours[*b].push(*a);
    }
    let mut work: Vec<Reg> = neighbours.keys().filter(|reg| marked[*reg]).collect();
    while let Some(reg) = work.pop() {
        for other in std::mem::take(&mut neighbours[reg]) {
            if !std::mem::replace(&mut marked[other], true) {
                work.push(other);
            }
        }
    }
}

/// The two sides of a copy of a word, or nothing but the fact for one of a constant; `None` for anything else, as what
/// goes to or from a uniform register, which has its 32 bits.
fn copy_of_word(writer: &FunctionWriter<'_>, inst: Inst, data: &InstData) -> Option<Option<[Reg; 2]>> {
    let func = writer.func;
    let uniform = func.uses(inst).chain(func.defs(inst)).any(|reg| func.regs()[reg].file == RegFile::UR);
    if data.opcode != Opcode::Mov || data.ty().bits() != 32 || uniform {
        return None;
    }
    match (func.dsts(inst), func.srcs(inst)) {
        ([Operand::Reg(to)], [Operand::Reg(from)]) => Some(Some([*to, *from])),
        ([Operand::Reg(_)], [Operand::Imm(_) | Operand::Undef]) => Some(None),
        _ => None,
    }
}

/// Whether an instruction takes the upper half of a word, which PTX can do into a register of 16 bits.
pub(super) fn is_high_half(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let shifts = data.opcode == Opcode::Shr && matches!(data.ty(), Type::U32 | Type::B32);
    let [Operand::Reg(_), by] = *func.srcs(inst) else { return false };
    shifts && func.imm_bits(by) == Some(16)
}

/// The operands of an instruction, each with the type that it has where it may be in a register of 16 bits: one of
/// at most 16 bits, of an instruction that is printed as its row says. What is stored to a surface takes either.
fn operands(writer: &FunctionWriter<'_>, inst: Inst, data: &InstData) -> Vec<(Operand, Shape, Option<Type>)> {
    let func = writer.func;
    let sources = func.srcs(inst).iter().zip(data.src_shapes(func.srcs(inst).len()));
    let results = func.dsts(inst).iter().zip(data.dst_shapes());
    if data.opcode == Opcode::Pack && data.ty() == Type::B16 {
        let sources = sources.map(|(operand, shape)| (*operand, shape, Some(Type::B16)));
        return sources.chain(results.map(|(operand, shape)| (*operand, shape, None))).collect();
    }
    if data.opcode == Opcode::Opaque {
        return opaque_operands(func, inst);
    }
    if is_high_half(func, inst) {
        let sources = sources.map(|(operand, shape)| (*operand, shape, None));
        return sources.chain(results.map(|(operand, shape)| (*operand, shape, Some(Type::B16)))).collect();
    }
    // The elements of a vector are in registers of one size, and those that are no registers here in words.
    let loose = |(operand, shape): (&Operand, Shape)| shape == Shape::V && !matches!(operand, Operand::Reg(_));
    let mixed = data.vector_len() > 1 && sources.clone().any(loose);
    let plain = !mixed && (writer.special(inst).is_none() || data.opcode == Opcode::Sust);
    let narrow = |shape: Shape| {
        let ty = data.shape_type(shape).filter(|_| plain && !matches!(shape, Shape::Base | Shape::Offset))?;
        (ty.bits() == 16 || ty.bits() == 8 && takes_words(data, ty)).then_some(ty)
    };
    sources.chain(results).map(|(operand, shape)| (*operand, shape, narrow(shape))).collect()
}

/// The operands of an instruction that is carried through: its places say of what size they are.
fn opaque_operands(func: &Function, inst: Inst) -> Vec<(Operand, Shape, Option<Type>)> {
    let text = func.srcs(inst).first().and_then(|first| func.text(*first));
    let Some(template) = text.and_then(Template::of) else { return Vec::new() };
    let half = |ty: Type| (ty == Type::B16).then_some(ty);
    let read = |place: Place| if let Place::Read(ty) | Place::Both(ty) = place { half(ty) } else { None };
    let sources = func.srcs(inst).iter().skip(1).zip(template.sources().map(read));
    let results = func.dsts(inst).iter().zip(template.results().map(half));
    let shaped = |shape| move |(operand, ty): (&Operand, Option<Type>)| (*operand, shape, ty);
    sources.map(shaped(Shape::Places)).chain(results.map(shaped(Shape::Written))).collect()
}
