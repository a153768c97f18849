//! Another layout of `wmma` fragments: "the mapping of fragment elements to the lanes is unspecified" (PTX ISA 9.0,
//! "wmma: Matrix Fragments").

use oriole_ir::ops::{Matrix, Opcode, Shape, ShuffleMode, Type};
use oriole_ir::{Function, Guard, Inst, InstBuilder, Operand, Reg, RegInfo};

/// Registers of fragments that are exchanged; those of f64 are two words, and their sums are open anyway.
const WORD: RegInfo = RegInfo::words(1);

/// Gives pairs of lanes each other's parts of all fragments, and turns the registers of factors so many places; whether
/// there are any. A program that takes fragments for nothing but fragments does the same as before.
pub(super) fn permute(func: &mut Function, turns: usize) -> bool {
    let fragments: Vec<Inst> = func.layout_insts().filter(|inst| has_fragments(func.inst(*inst).opcode)).collect();
    fragments.iter().for_each(|inst| permute_of(func, *inst, turns));
    !fragments.is_empty()
}

fn has_fragments(opcode: Opcode) -> bool {
    opcode.row().name.starts_with("wmma.")
}

/// The instruction takes what the other lanes hold, and gives its results to them.
fn permute_of(func: &mut Function, inst: Inst, turns: usize) {
    let data = *func.inst(inst);
    let mut srcs = func.srcs(inst).to_vec();
    let shapes = data.src_shapes(srcs.len());
    let mut begin = 0;
    while begin < srcs.len() {
        let count = shapes[begin..].iter().take_while(|shape| **shape == shapes[begin]).count();
        if let Shape::Matrix(matrix) = shapes[begin] {
            let fragment = &mut srcs[begin..begin + count];
            turn_factor(fragment, matrix, turns);
            for src in fragment {
                if let Operand::Reg(reg) = *src
                    && func.regs()[reg] == WORD
                {
                    let taken = func.new_reg(WORD);
                    exchanged(func, (taken, reg), matrix, data.guard).insert_before(func, inst);
                    *src = taken.into();
                }
            }
        }
        begin += count;
    }
    let mut dsts = func.dsts(inst).to_vec();
    let result = data.opcode.row().dsts.first().copied();
    if let Some(Shape::Matrix(matrix)) = result {
        turn_factor(&mut dsts, matrix, turns);
        for dst in dsts.iter().filter_map(|dst| dst.reg()).filter(|dst| func.regs()[*dst] == WORD).collect::<Vec<_>>() {
            exchanged(func, (dst, dst), matrix, data.guard).insert_after(func, inst);
        }
    }
    func.set_inst(inst, func.inst(inst).head(), &dsts, &srcs, &[]);
}

/// Turns the registers of a factor; sums stay, or rows of both would only change their names.
fn turn_factor(registers: &mut [Operand], matrix: Matrix, turns: usize) {
    if matches!(matrix, Matrix::Left | Matrix::Right) {
        registers.rotate_left(turns % registers.len().max(1));
    }
}

/// What another lane holds in a register of a word. Factors and sums have layouts of their own: to exchange the same
/// lanes of all would only name rows and columns anew.
fn exchanged(func: &mut Function, (dst, src): (Reg, Reg), matrix: Matrix, guard: Option<Guard>) -> InstBuilder {
    let distance = match matrix {
        Matrix::Left => 4u64,
        Matrix::Right => 8,
        _ => 1,
    };
    let shuffle = InstBuilder::new(Opcode::Shfl).field(ShuffleMode::Bfly).field(Type::B32);
    let is_there = func.new_reg(RegInfo::PRED);
    shuffle.dst(dst).dst(is_there).src(src).src(distance).src(0x1fu64).src(u64::from(u32::MAX)).guard(guard)
}
