//! An access taken apart into those of the slices that it covers.
//!
//! A load is loads of the slices and what puts their bits together, a store is what takes bits out of the value and
//! stores of the slices. The guard is on the accesses, and on what defines the result of a load.

use super::slices::element;
use oriole_ir::ops::{Opcode, Space, SrcType, Type};
use oriole_ir::{Function, Inst, InstBuilder, InstHead, Operand, RegInfo};
use oriole_pass::peephole::rewrite::mov_fields;

/// A slice: its first byte, and how many.
type Part = (u64, u64);

/// The accesses in place of one, each of a whole slice, with the slice's first byte. An access of one slice stays.
pub(super) fn split(func: &mut Function, inst: Inst, cuts: &[u64]) -> Vec<(u64, Inst)> {
    let first = func.imm_bits(func.srcs(inst)[1]).expect("an access is at a known place");
    let (width, count) = (element(func, inst), func.inst(inst).vector_len());
    let of = |index: u64| parts(cuts, first + index * width, width);
    if count == 1 && of(0).len() == 1 {
        return vec![(first, inst)];
    }
    let mut made = Vec::new();
    for index in 0..count {
        let parts = of(index as u64);
        match func.inst(inst).opcode {
            Opcode::Ld => load(func, inst, index, &parts, &mut made),
            _ => store(func, inst, index, &parts, &mut made),
        }
    }
    func.remove_inst(inst);
    made
}

/// The slices that an element covers.
fn parts(cuts: &[u64], first: u64, width: u64) -> Vec<Part> {
    let inside = cuts.windows(2).filter(|cut| first <= cut[0] && cut[0] < first + width);
    inside.map(|cut| (cut[0], cut[1] - cut[0])).collect()
}

fn unsigned(bytes: u64) -> Type {
    Type::integer(bytes as u32 * 8, false).expect("a slice has 1, 2, 4 or 8 bytes")
}

/// An access of a slice of the variable that an access names.
fn access(func: &Function, inst: Inst, opcode: Opcode, (first, bytes): Part) -> InstBuilder {
    let InstHead { guard, line, .. } = func.inst(inst).head();
    let access = InstBuilder::new(opcode).field(Space::Local).field(unsigned(bytes)).guard(guard).line(line);
    access.src(func.srcs(inst)[0]).src(Operand::imm(first as u32))
}

fn store(func: &mut Function, inst: Inst, index: usize, parts: &[Part], made: &mut Vec<(u64, Inst)>) {
    let value = func.srcs(inst)[2 + index];
    let beginning = parts[0].0;
    for part in parts {
        let shift = 8 * (part.0 - beginning);
        let bits = match value {
            Operand::Imm(imm) => {
                let mask = if part.1 == 8 { u64::MAX } else { (1 << (8 * part.1)) - 1 };
                func.imm(func.bits(imm) >> shift & mask)
            }
            Operand::Reg(reg) if func.regs()[reg].words == 2 && part.1 < 8 => {
                let word = Operand::Word(reg, (shift / 32) as u8);
                shifted(func, inst, word, shift % 32)
            }
            other => shifted(func, inst, other, shift),
        };
        let store = access(func, inst, Opcode::St, *part).src(func.free(bits)).insert_before(func, inst);
        made.push((part.0, store));
    }
}

/// The upper bits of a word, in front of an access.
fn shifted(func: &mut Function, inst: Inst, word: Operand, by: u64) -> Operand {
    if by == 0 || word == Operand::Undef {
        return word;
    }
    let shift = InstBuilder::new(Opcode::Shr).field(Type::U32).src(func.free(word)).src(Operand::imm(by as u32));
    value(func, inst, shift, 1)
}

/// Puts an operation in front of an access; its result of so many words.
fn value(func: &mut Function, inst: Inst, operation: InstBuilder, words: u8) -> Operand {
    let result = func.new_reg(RegInfo::words(words));
    operation.dst(result).line(func.inst(inst).line).insert_before(func, inst);
    Operand::Reg(result)
}

fn load(func: &mut Function, inst: Inst, index: usize, parts: &[Part], made: &mut Vec<(u64, Inst)>) {
    let mut words: Vec<Vec<(Part, Operand)>> = vec![Vec::new(); 2];
    for part in parts {
        let result = func.new_reg(RegInfo::words(if part.1 == 8 { 2 } else { 1 }));
        let mut load = access(func, inst, Opcode::Ld, *part).dst(result);
        if func.inst(inst).guard.is_some() {
            load = load.or_else(Operand::Undef);
        }
        let load = load.insert_before(func, inst);
        made.push((part.0, load));
        words[((part.0 - parts[0].0) / 4) as usize].push((*part, Operand::Reg(result)));
    }
    let ty = func.inst(inst).ty();
    let joined = match (parts, ty.bits()) {
        ([_], _) => words[0][0].1,
        (_, 64) => {
            let [low, high] = [0, 1].map(|word| join(func, inst, &words[word]));
            value(func, inst, InstBuilder::new(Opcode::Pack).field(Type::B32).src(low).src(high), 2)
        }
        _ => join(func, inst, &words[0]),
    };
    define(func, inst, index, joined, ty);
}

/// The word that slices are parts of.
fn join(func: &mut Function, inst: Inst, parts: &[(Part, Operand)]) -> Operand {
    let bytes = parts[0].0.1;
    if parts.len() == 1 {
        return parts[0].1;
    }
    if parts.iter().all(|(part, _)| part.1 == bytes) && parts.len() as u64 * bytes == 4 {
        let ty = if bytes == 1 { Type::B8 } else { Type::B16 };
        let values = parts.iter().map(|(_, value)| *value);
        return self::value(func, inst, InstBuilder::new(Opcode::Pack).field(ty).srcs(values), 1);
    }
    let beginning = parts[0].0.0;
    let mut word = parts[0].1;
    for (part, bits) in &parts[1..] {
        let by = 8 * (part.0 - beginning) as u32;
        let moved = InstBuilder::new(Opcode::Shl).field(Type::B32).src(*bits).src(Operand::imm(by));
        let moved = value(func, inst, moved, 1);
        word = value(func, inst, InstBuilder::new(Opcode::Or).field(Type::B32).src(word).src(moved), 1);
    }
    word
}

/// Defines a result of a load by what was put together, as the load extends it.
fn define(func: &mut Function, inst: Inst, index: usize, joined: Operand, ty: Type) {
    let InstHead { guard, line, .. } = func.inst(inst).head();
    let operation = if ty.is_signed() && ty.bits() < 32 {
        let from = if ty.bits() == 8 { SrcType::S8 } else { SrcType::S16 };
        InstBuilder::new(Opcode::Cvt).field(Type::S32).field(from)
    } else {
        InstBuilder::new(Opcode::Mov).fields(mov_fields(if ty.bits() == 64 { Type::B64 } else { Type::B32 }))
    };
    let dst = func.dsts(inst)[index].whole_reg().expect("a promoted load defines whole registers");
    let mut operation = operation.dst(dst).src(joined).guard(guard).line(line);
    if let Some(other) = func.elses(inst).get(index) {
        operation = operation.or_else(func.free(*other));
    }
    operation.insert_before(func, inst);
}
