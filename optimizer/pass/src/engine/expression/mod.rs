//! What an instruction computes, as words: equal words are equal values.
//!
//! The words are the opcode, its fields, the guard, what it reads, the widths of what it defines and, of a load, the
//! state of memory that it starts from. A register counts by its value number, which the caller gives it. What does not
//! change the value is left out: the source line, the order of operands that can be exchanged, the direction of a
//! comparison, and the sign of a type where the row says that it does not matter (`SIGNLESS`). A guarded instruction
//! yields its `else` value where the guard is false, so guard and `else` value are operands like others: under another
//! guard it is another expression.
//!
//! Two instructions with equal expressions yield the same where the one is in a block that dominates the other's.
//! Those with an `undef` operand may: it is another value at each read, of which a transformation may choose one.

pub mod hash;
pub mod table;

use self::hash::fnv1a;
use crate::analysis::MemoryState;
use oriole_ir::ops::{Compare, FieldValue, Flags, MAX_FIELDS, Opcode, Saturate, Type};
use oriole_ir::{Function, Guard, Inst, InstData, Operand, Reg};

/// The counter of operations that become copies of equal ones, in commoning and in reassociation.
pub const COMMON: &str = "common";

/// An expression, with its hash. It can be made anew again and again in the same memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expression {
    words: Vec<u32>,
    hash: u32,
}

impl Expression {
    /// Becomes what an instruction computes. `number` gives the value number of a register; `version` is the state of
    /// memory that a load reads.
    pub fn assign(&mut self, func: &Function, inst: Inst, number: impl Fn(Reg) -> u32, version: Option<MemoryState>) {
        self.words.clear();
        let data = func.inst(inst);
        let exchanged = is_exchanged(func, inst, data, &number);
        self.head(func, inst, data, exchanged, &number);
        match data.opcode {
            Opcode::Phi => self.phi(func, inst, &number),
            _ => self.operands(func, inst, exchanged, &number),
        }
        if let Some(version) = version {
            self.version(version);
        }
        self.hash = fnv1a(&self.words);
    }

    /// The words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The hash of the words.
    pub fn hash(&self) -> u32 {
        self.hash
    }

    /// Opcode, fields, guard, and what is defined. The first word says how many words of each follow: hashing takes as
    /// long as there are words.
    fn head(&mut self, func: &Function, inst: Inst, data: &InstData, exchanged: bool, number: &impl Fn(Reg) -> u32) {
        let (dsts, elses, srcs) = (func.dsts(inst), func.elses(inst).len(), func.srcs(inst).len());
        let usual = dsts.len() == 1 && elses == 0 && srcs == data.opcode.row().srcs.len();
        let flags = [!usual, data.guard.is_some(), data.guard.is_some_and(Guard::negated)];
        let flags = flags.into_iter().rev().fold(0, |word, flag| word << 1 | u32::from(flag));
        self.words.push(flags << 16 | u32::from(data.opcode as u16));
        if !usual {
            self.words.extend([dsts.len(), elses, srcs].map(|count| count as u32));
        }
        let mut fields = data.fields;
        if let Some(slot) = data.opcode.row().slot(Type::FIELD) {
            fields.0[slot] = value_type(data).index();
        }
        let mirrored = data.field::<Compare>().map(Compare::mirrored).filter(|_| exchanged);
        if let Some((slot, compare)) = data.opcode.row().slot(Compare::FIELD).zip(mirrored) {
            fields.0[slot] = compare.index();
        }
        // What an instruction of the machine is is in the bytes of fields that its opcode does not have.
        let count = if data.is(Flags::MACHINE) { MAX_FIELDS } else { data.opcode.row().fields.len() };
        let used = fields.0[..count].chunks(4);
        self.words.extend(used.map(|four| four.iter().fold(0, |word, value| word << 8 | u32::from(*value))));
        self.words.extend(data.guard.map(|guard| number(guard.reg())));
        for dst in dsts {
            let info = func.operand_info(*dst);
            // What a wired register forgets is no value that another instruction may need.
            let is_lost = u32::from(matches!(dst, Operand::Wired { .. })) << 16;
            self.words.push(is_lost | info.map_or(0, |info| (info.file as u32) << 8 | u32::from(info.words)));
        }
    }

    fn operands(&mut self, func: &Function, inst: Inst, exchanged: bool, number: &impl Fn(Reg) -> u32) {
        for (place, operand) in func.inputs(inst).iter().enumerate() {
            let operand = if exchanged && place < 2 { &func.srcs(inst)[1 - place] } else { operand };
            self.operand(operand_words(func, *operand, number));
        }
    }

    /// The words of an operand, of which the first says how many there are.
    fn operand(&mut self, words: [u32; OPERAND]) {
        let count = match words[0] & 0xff {
            UNDEF => 1,
            REG | IMM | SPECIAL.. => 2,
            _ => 3,
        };
        self.words.extend_from_slice(&words[..count]);
    }

    /// The block, and the values by predecessor.
    fn phi(&mut self, func: &Function, inst: Inst, number: &impl Fn(Reg) -> u32) {
        let block = func.block_of(inst).expect("what is numbered stands in a block");
        self.words.push(block.as_u32());
        let pair = |pair: &[Operand]| (pair[1].block().map(|from| from.as_u32()), operand_words(func, pair[0], number));
        let mut pairs: Vec<_> = func.srcs(inst).chunks_exact(2).map(pair).collect();
        pairs.sort_unstable();
        for (from, words) in pairs {
            self.words.push(from.unwrap_or(u32::MAX));
            self.operand(words);
        }
    }

    fn version(&mut self, version: MemoryState) {
        self.words.extend(match version {
            MemoryState::Entry => [0, 0],
            MemoryState::Behind(inst) => [1, inst.as_u32()],
            MemoryState::Phi(block) => [2, block.as_u32()],
        });
    }

    #[cfg(test)]
    pub(super) fn of_words(words: &[u32]) -> Expression {
        Expression { words: words.to_vec(), hash: fnv1a(words) }
    }

    /// With another hash, so that a test can have collisions.
    #[cfg(test)]
    pub(super) fn with_hash(self, hash: u32) -> Expression {
        Expression { hash, ..self }
    }
}

/// Whether the first two sources can be exchanged and are in descending order: those of a commutative operation, and
/// of a comparison, which becomes the mirrored one then.
fn is_exchanged(func: &Function, inst: Inst, data: &InstData, number: &impl Fn(Reg) -> u32) -> bool {
    let alike = matches!(data.opcode.row().srcs, [a, b, ..] if a == b);
    let compares = data.field::<Compare>().is_some() && alike && !data.is(Flags::VIDEO);
    let [a, b, ..] = func.srcs(inst) else { return false };
    (compares || data.is(Flags::COMMUTATIVE)) && operand_words(func, *b, number) < operand_words(func, *a, number)
}

/// The words of an operand: what it is, and at most two of what it says.
const OPERAND: usize = 3;

const REG: u32 = 0;
const WORD: u32 = 1;
const MODIFIED: u32 = 2;
/// An immediate of 32 bits.
const IMM: u32 = 3;
/// One of more.
const WIDE_IMM: u32 = 4;
const CONST: u32 = 5;
const UNDEF: u32 = 6;
const SPECIAL: u32 = 7;
const GLOBAL: u32 = 8;
const LOCAL: u32 = 9;
const FUNC: u32 = 10;
const BLOCK: u32 = 11;
const NAME: u32 = 12;
const WIRED: u32 = 13;

/// The words of an operand; registers come before immediates where operands are in order.
fn operand_words(func: &Function, operand: Operand, number: &impl Fn(Reg) -> u32) -> [u32; OPERAND] {
    match operand {
        Operand::Reg(reg) => [REG, number(reg), 0],
        Operand::Word(reg, word) => [WORD, number(reg), u32::from(word)],
        Operand::Modified { reg, word, modifiers } => {
            [MODIFIED | u32::from(modifiers.bits()) << 8, number(reg), word.map_or(u32::MAX, u32::from)]
        }
        Operand::Imm(imm) => {
            let bits = func.bits(imm);
            let [low, high] = [bits as u32, (bits >> 32) as u32];
            if high == 0 { [IMM, low, 0] } else { [WIDE_IMM, low, high] }
        }
        Operand::Special(special) => [SPECIAL, special as u32, 0],
        Operand::Const { bank, offset, modifiers } => [CONST | u32::from(modifiers.bits()) << 8, bank.into(), offset],
        Operand::Global(global) => [GLOBAL, global.as_u32(), 0],
        Operand::Local(local) => [LOCAL, local.as_u32(), 0],
        Operand::Func(func) => [FUNC, func.as_u32(), 0],
        Operand::Block(block) => [BLOCK, block.as_u32(), 0],
        Operand::Undef => [UNDEF, 0, 0],
        Operand::Name(name) => [NAME, name.as_u32(), 0],
        Operand::Wired { file, words, modifiers } => {
            [WIRED | u32::from(modifiers.bits()) << 8, (file as u32) << 8 | u32::from(words), 0]
        }
    }
}

/// A type of the same values: the unsigned one where the sign does not matter, raw bits where a load fills its
/// register.
fn value_type(data: &InstData) -> Type {
    let ty = data.ty();
    let signed = Type::integer(ty.bits(), true) == Some(ty);
    if data.is(Flags::SIGNLESS) && data.field::<Saturate>() != Some(Saturate::Sat) && signed {
        return Type::integer(ty.bits(), false).unwrap_or(ty);
    }
    match ty.bits() {
        _ if !data.is(Flags::READS) => ty,
        8 | 16 => Type::integer(ty.bits(), signed).unwrap_or(ty),
        32 => Type::B32,
        64 => Type::B64,
        _ => ty,
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::{Function, parse_function};

    use super::*;

    /// The expression of the instruction that defines a register; registers are numbered by themselves.
    fn of(func: &Function, reg: u32) -> Expression {
        let defines = |inst: &Inst| func.defs(*inst).any(|def| def.as_u32() == reg);
        let inst = func.layout_insts().find(defines).expect("the register is defined");
        let mut expression = Expression::default();
        expression.assign(func, inst, Reg::as_u32, None);
        expression
    }

    fn parse(body: &str) -> Function {
        let head = "device @f ssa {\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %r2 = s2r.b32 sr.laneid\n  \
                    %p3 = setp.lt.u32 %r1, %r2\n";
        let text = format!("{head}  %d4 = cvt.u64.u32 %r1\n{body}  ret\n}}\n");
        parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Whether the definitions of `%r10` and `%r11` are the same expression, with the same hash.
    fn same(first: &str, second: &str) -> bool {
        let func = parse(&format!("  {first}\n  {second}\n"));
        let (a, b) = (of(&func, 10), of(&func, 11));
        assert_eq!(a == b, a.hash() == b.hash(), "hashes this short collide by chance alone");
        a == b
    }

    #[test]
    fn what_does_not_change_the_value_is_left_out() {
        assert!(same("%r10 = iadd.u32 %r1, %r2", "%r11 = iadd.u32 %r2, %r1"));
        assert!(same("%r10 = iadd.u32 %r1, 5", "%r11 = iadd.s32 5, %r1"));
        assert!(same("%r10 = imad.lo.u32 %r1, %r2, %r1", "%r11 = imad.lo.u32 %r2, %r1, %r1"));
        assert!(same("%r10 = set.lt.u32.s32 %r1, %r2", "%r11 = set.gt.u32.s32 %r2, %r1"));
        assert!(same("%r10 = set.ltu.u32.f32 5, %r2", "%r11 = set.gtu.u32.f32 %r2, 5"));
        assert!(same("%r10 = ld.global.u32 [%d4]", "%r11 = ld.global.f32 [%d4]"));
        assert!(same("@%p3 %r10 = iadd.u32 %r1, 5 else %r2", "@%p3 %r11 = iadd.u32 %r1, 5 else %r2"));
    }

    #[test]
    fn what_changes_the_value_is_told_apart() {
        for (first, second) in [
            ("%r10 = isub.u32 %r1, %r2", "%r11 = isub.u32 %r2, %r1"),
            ("%r10 = iadd.u32 %r1, %r2", "%r11 = imul.lo.u32 %r1, %r2"),
            ("%r10 = iadd.u32 %r1, 5", "%r11 = iadd.u32 %r1, 6"),
            ("%r10 = iadd.s32 %r1, 5", "%r11 = iadd.sat.s32 %r1, 5"),
            ("%r10 = imin.u32 %r1, %r2", "%r11 = imin.s32 %r1, %r2"),
            ("%r10 = set.lt.u32.s32 %r1, %r2", "%r11 = set.lt.u32.s32 %r2, %r1"),
            ("%r10 = set.lt.u32.s32 %r1, %r2", "%r11 = set.ge.u32.s32 %r2, %r1"),
            ("%r10 = iadd.u32 %d4.0, 1", "%r11 = iadd.u32 %d4.1, 1"),
            ("%r10 = ld.global.u32 [%d4]", "%r11 = ld.shared.u32 [%d4]"),
            ("%r10 = ld.global.u32 [%d4]", "%r11 = ld.global.u32 [%d4+4]"),
            ("%r10 = ld.global.u8 [%d4]", "%r11 = ld.global.s8 [%d4]"),
            ("%r10 = ld.global.u32 [%d4]", "%r11 = ld.volatile.global.u32 [%d4]"),
            ("@%p3 %r10 = iadd.u32 %r1, 5 else %r2", "@!%p3 %r11 = iadd.u32 %r1, 5 else %r2"),
            ("@%p3 %r10 = iadd.u32 %r1, 5 else %r2", "@%p3 %r11 = iadd.u32 %r1, 5 else %r1"),
            ("@%p3 %r10 = iadd.u32 %r1, 5 else %r2", "%r11 = iadd.u32 %r1, 5"),
        ] {
            assert!(!same(first, second), "{first} and {second}");
        }
    }

    #[test]
    fn registers_count_by_their_number_and_loads_by_their_version() {
        let func = parse("  %r10 = ld.global.u32 [%d4]\n  %r11 = iadd.u32 %r1, 7\n  %r12 = iadd.u32 %r2, 7\n");
        let inst = |place| func.inst_at(func.entry(), place);
        let (mut a, mut b) = (Expression::default(), Expression::default());
        for (versions, equal) in [
            ([MemoryState::Entry, MemoryState::Entry], true),
            ([MemoryState::Entry, MemoryState::Behind(inst(0))], false),
            ([MemoryState::Phi(func.entry()), MemoryState::Behind(inst(0))], false),
        ] {
            a.assign(&func, inst(4), Reg::as_u32, Some(versions[0]));
            b.assign(&func, inst(4), Reg::as_u32, Some(versions[1]));
            assert_eq!(a == b, equal, "{versions:?}");
        }
        a.assign(&func, inst(5), |_| 1, None);
        b.assign(&func, inst(6), |_| 1, None);
        assert_eq!(a, b);
    }

    #[test]
    fn phis_are_equal_in_one_block_whatever_the_order_of_their_sources() {
        let text = "device @f ssa {\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  cbra undef, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  \
                    %r10 = phi [bb0: %r1], [bb1: 4]\n  %r11 = phi [bb1: 4], [bb0: %r1]\n  \
                    %r12 = phi [bb0: 4], [bb1: %r1]\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        assert_eq!(of(&func, 10), of(&func, 11));
        assert_ne!(of(&func, 10), of(&func, 12));
    }
}
