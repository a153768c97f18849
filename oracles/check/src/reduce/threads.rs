//! Mutators that leave one thread of many, or one block: another than the first, in the place of the first.
//!
//! Often a single thread shows what goes wrong, for its data or for its number. To leave the first one alone shows
//! nothing then, and neither does any step on the way to it.

use oriole_ir::Operand;
use oriole_ir::ops::SpecialReg;
use oriole_launch::ArgValue;

use super::choice::Choice;
use super::edit::places;
use super::insts::Substitutions;
use crate::report::Evidence;

/// So many threads of a block, and blocks of a grid, are tried: each round asks for all of them.
const MOST: u32 = 32;
/// How many bytes of a buffer a thread may have to itself.
const WIDTHS: [usize; 2] = [4, 8];
/// The lanes of a warp.
const LANES: u32 = 32;

/// Numbers of something in each dimension, and the sizes of what holds it.
type Registers = ([SpecialReg; 3], [SpecialReg; 3]);

const THREADS: Registers =
    ([SpecialReg::TidX, SpecialReg::TidY, SpecialReg::TidZ], [SpecialReg::NtidX, SpecialReg::NtidY, SpecialReg::NtidZ]);
const BLOCKS: Registers = (
    [SpecialReg::CtaidX, SpecialReg::CtaidY, SpecialReg::CtaidZ],
    [SpecialReg::NctaidX, SpecialReg::NctaidY, SpecialReg::NctaidZ],
);

/// One thread of a block is left: the first with what the buffers hold for another one, or with that one's number. Of
/// several opportunities the first is taken.
pub fn one_thread(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let Some(block) = evidence.launch.as_ref().map(|launch| launch.block) else { return };
    for thread in 1..count(block) {
        if let Some(width) = WIDTHS.into_iter().find(|_| choice.take()) {
            leave_data(evidence, thread as usize * width, width);
        } else if choice.take() {
            let mut known = numbered(THREADS, thread, block);
            known.push((SpecialReg::LaneId, thread % LANES));
            fix(evidence, &known);
        } else {
            continue;
        }
        evidence.launch.iter_mut().for_each(|launch| launch.block = [1; 3]);
        return;
    }
}

/// One block of the grid is left, with the number of another than the first.
pub fn one_block(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    let Some(grid) = evidence.launch.as_ref().map(|launch| launch.grid) else { return };
    if let Some(block) = (1..count(grid)).find(|_| choice.take()) {
        fix(evidence, &numbered(BLOCKS, block, grid));
        evidence.launch.iter_mut().for_each(|launch| launch.grid = [1; 3]);
    }
}

/// How many of a size are tried.
fn count(size: [u32; 3]) -> u32 {
    size.iter().fold(1, |all: u32, one| all.saturating_mul(*one)).min(MOST)
}

/// What the registers hold in one of a size.
fn numbered((numbers, sizes): Registers, one: u32, size: [u32; 3]) -> Vec<(SpecialReg, u32)> {
    let [x, y, _] = size;
    let place = [one % x, one / x % y, one / x / y];
    numbers.into_iter().zip(place).chain(sizes.into_iter().zip(size)).collect()
}

/// Numbers stand for what reads these registers.
fn fix(evidence: &mut Evidence, known: &[(SpecialReg, u32)]) {
    let mut changes = Substitutions::default();
    for (id, _, inst) in places(&evidence.module) {
        let func = &mut evidence.module.functions[id];
        let (&[Operand::Special(read)], Some(reg)) = (func.srcs(inst), func.defs(inst).next()) else { continue };
        if let Some((_, value)) = known.iter().find(|(register, _)| *register == read) {
            changes.of(id).replace(reg, func.imm(u64::from(*value)));
            changes.of(id).remove(func, inst);
        }
    }
    changes.apply(evidence);
}

/// Each buffer holds everywhere what it held at a place.
fn leave_data(evidence: &mut Evidence, at: usize, width: usize) {
    for arg in evidence.launch.iter_mut().flat_map(|launch| &mut launch.args) {
        if let ArgValue::Buffer(buffer) = &mut arg.value
            && let Some(own) = buffer.bytes.get(at..at + width).map(<[u8]>::to_vec)
        {
            buffer.bytes.iter_mut().zip(own.iter().cycle()).for_each(|(byte, own)| *byte = *own);
            buffer.expect = None;
        }
    }
}
