//! Words in place: a function of a cubin that phases have changed stands where it stood, with every word at its offset.
//!
//! [`lift()`] makes the functions, [`write()`] the file. What a phase removed becomes a `NOP` that stalls, yields and
//! waits as the instruction did, so nothing behind it issues earlier; what stays has its scheduling control. Since
//! nothing moves, branches, tables of jumps, unwinding tables and attributes that name offsets stay true, and
//! everything else in the file is the same byte for byte.
//!
//! What phases must leave alone, and [`write()`] refuses:
//! - the graph, but for blocks that control does not reach: their words stay as they are;
//! - the order of instructions;
//! - instructions that set a barrier, unless nothing overlaps in the code ([`Function::is_serial`]). Another one may
//!   rely on the barrier, since units work in order, and a `DEPBAR` may count it.
//!
//! A function with relocated words has no body in the module: their operands are not known before it is loaded. Nor has
//! one that calls a place among its own words, as code for `sm_80` calls what is slow and rare: no block ends in such a
//! call, so the graph does not lead there. The same holds where a jump goes to an address that no table names.
//!
//! A mark in the operand cache (`R5.reuse`) whose reader is gone, or reads another register, goes as well: what stays
//! there is read by nobody, and may be overwritten.

use std::collections::BTreeMap;

use oriole_ir::machine::HandsOver;
use oriole_ir::{Block, FuncId, Function, Inst, Module, inst_to_string};

use super::lift::{self, LiftError};
use super::lower::{Lower, LowerError, is_word, word_of};
use crate::cubin::{self, Cubin, CubinError};
use crate::encoding::Table;
use crate::instruction::{schedule, with_schedule};
use crate::row::File;
use crate::text::WORD_BYTES;

/// Why a module cannot be in a cubin's place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InPlaceError {
    /// The cubin is none that can be lifted.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// An instruction is no word.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The cubin does not take the words.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The module has other functions than the cubin.
    #[error("the module has not the functions of the cubin; lift it anew")]
    Functions,
    /// A block is none of the code's, or an instruction is in another block or order.
    #[error("{function}, {block}: `{text}` has no place in the code; what stands in place cannot move")]
    Moved {
        /// The function's name.
        function: String,
        /// The block.
        block: Block,
        /// The instruction.
        text: String,
    },
    /// An instruction that sets a barrier is gone.
    #[error("{function}, offset {offset:#x}: what stood here sets barrier {barrier}, which others may wait for")]
    Signals {
        /// The function's name.
        function: String,
        /// The offset in the section.
        offset: u64,
        /// The barrier.
        barrier: u8,
    },
}

/// What became of a function's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// The function's name.
    pub function: String,
    /// Its words, without those that did nothing before.
    pub words: usize,
    /// Those that do nothing now.
    pub removed: usize,
    /// Those that are others now.
    pub changed: usize,
    /// Whether it was left alone: its words are relocated, or it calls a place among them, or jumps to any.
    pub is_left_alone: bool,
}

/// The functions of a cubin, to be changed in place.
///
/// # Errors
///
/// If the words of the SM are not known, or a word is none.
pub fn lift(cubin: &Cubin) -> Result<Module, LiftError> {
    let mut module = lift::module(cubin)?;
    for (func, it) in module.functions.values_mut().zip(&cubin.functions) {
        if is_relocated(cubin, it) || calls_itself(func) || jumps_anywhere(func) {
            func.set_layout(Vec::new());
        }
    }
    Ok(module)
}

/// Whether a call leads to a block of its own function.
fn calls_itself(func: &Function) -> bool {
    let leads = |inst: Inst| func.srcs(inst).iter().any(|operand| operand.block().is_some());
    func.layout_insts().any(|inst| func.is_machine_call(inst) && leads(inst))
}

/// Whether a jump leads to an address of which nothing says what it may be: any word of the function may be there.
fn jumps_anywhere(func: &Function) -> bool {
    let jumps = |inst: Inst| {
        func.inst(inst).machine_row().is_some_and(|row| row.hands_over == HandsOver::WithoutTargets)
            && func.hands_over(inst)
    };
    func.layout_insts().any(jumps)
}

fn is_relocated(cubin: &Cubin, function: &cubin::Function) -> bool {
    let range = cubin.own_range(function);
    cubin.relocations.iter().any(|it| it.section == function.section && range.contains(&it.offset))
}

/// The file with the words of a module that was lifted from it by [`lift()`], and what became of each function.
///
/// # Errors
///
/// If phases have done to the module what cannot be in place, or an instruction is no word of the SM.
pub fn write(cubin: &Cubin, module: &Module) -> Result<(Vec<u8>, Vec<Counts>), InPlaceError> {
    let sm = cubin.target.sm;
    let table = Table::of(sm).ok_or(LiftError::Sm(sm))?;
    let original = lift(cubin)?;
    if module.functions.len() != cubin.functions.len() {
        return Err(InPlaceError::Functions);
    }
    let (mut data, mut all) = (cubin.data().to_vec(), Vec::new());
    for (id, it) in original.functions.keys().zip(&cubin.functions) {
        if module.functions[id].name != it.name {
            return Err(InPlaceError::Functions);
        }
        let range = cubin.own_range(it);
        let start = cubin.sections[it.section].range.start + range.start as usize;
        let place = start..start + (range.end - range.start) as usize;
        let before: Vec<u128> = cubin::words(&data[place.clone()]).collect();
        let is_left_alone = !original.functions[id].is_definition();
        let mut counts = Counts { is_left_alone, ..Counts::of(&it.name, &before) };
        if !is_left_alone {
            let is_serial = original.functions[id].is_serial();
            let after =
                Placed { table, module, id, start: range.start, is_serial }.words(&original.functions[id], &before)?;
            counts.compare(&before, &after);
            let bytes = data[place].as_chunks_mut::<16>().0;
            bytes.iter_mut().zip(&after).for_each(|(place, word)| *place = word.to_le_bytes());
        }
        all.push(counts);
    }
    Ok((data, all))
}

/// The cubin with the words of a module, as [`write()`] makes the file.
///
/// # Errors
///
/// As [`write()`].
pub fn replaced(cubin: &Cubin, module: &Module) -> Result<Cubin, InPlaceError> {
    Ok(cubin.with_data(write(cubin, module)?.0))
}

/// The opcode of `NOP`.
pub(super) fn is_nop(word: &u128) -> bool {
    crate::encoding::OPCODE.get(*word) == NOP_OPCODE
}

const NOP_OPCODE: u64 = 0x918;

impl Counts {
    fn of(name: &str, words: &[u128]) -> Counts {
        let words = words.iter().filter(|word| !is_nop(word)).count();
        Counts { function: name.to_owned(), words, removed: 0, changed: 0, is_left_alone: false }
    }

    fn compare(&mut self, before: &[u128], after: &[u128]) {
        for (before, after) in before.iter().zip(after).filter(|(before, after)| before != after) {
            *if is_nop(after) && !is_nop(before) { &mut self.removed } else { &mut self.changed } += 1;
        }
    }
}

/// A function on its way to its place.
struct Placed<'m> {
    table: &'static Table,
    module: &'m Module,
    id: FuncId,
    /// The offset of the first word.
    start: u64,
    /// Whether nothing overlaps in the code as it was.
    is_serial: bool,
}

/// What a block ends with, whatever its number is: whether that is a word, and the number of the word. No two blocks
/// have the same.
fn end(func: &Function, block: Block) -> Option<(bool, u32)> {
    let last = func.last_inst(block)?;
    Some((is_word(func, last), func.inst(last).line))
}

/// The numbers of a block's words, the first one and the one behind the last.
type Numbers = (u32, u32);

/// The numbers of the words of each block, by what it ends with. The blocks follow one another.
fn numbers(original: &Function) -> BTreeMap<(bool, u32), Numbers> {
    let mut next = 1;
    let mut found = BTreeMap::new();
    for block in original.layout() {
        let Some((ends_in_word, number)) = end(original, *block) else { continue };
        let behind = number + u32::from(ends_in_word);
        found.insert((ends_in_word, number), (next, behind));
        next = behind;
    }
    found
}

impl Placed<'_> {
    fn func(&self) -> &Function {
        &self.module.functions[self.id]
    }

    /// The words, in the place of others.
    fn words(&self, original: &Function, before: &[u128]) -> Result<Vec<u128>, InPlaceError> {
        let (func, known) = (self.func(), numbers(original));
        let mut places = Vec::new();
        for block in func.layout() {
            let found = end(func, *block).and_then(|end| known.get(&end));
            places.push((*block, *found.ok_or_else(|| self.moved(*block, func.last_inst(*block)))?));
        }
        let starts = places.iter().map(|(block, (first, _))| (*block, self.offset(*first)));
        let lower = Lower::with_blocks(self.table, self.module, self.id, starts.collect());
        let mut after = before.to_vec();
        for (at, (block, range)) in places.iter().enumerate() {
            let next = places.get(at + 1).map(|(next, _)| *next);
            self.block(&lower, *block, *range, next, &mut after)?;
        }
        if after != before {
            let starts = known.values().map(|(first, _)| *first as usize - 1);
            drop_marks(self.table, before, &mut after, &starts.collect::<Vec<_>>());
        }
        Ok(after)
    }

    fn offset(&self, number: u32) -> u64 {
        self.start.wrapping_add(u64::from(number).wrapping_sub(1).wrapping_mul(WORD_BYTES))
    }

    #[cold]
    fn moved(&self, block: Block, inst: Option<Inst>) -> InPlaceError {
        let func = self.func();
        let text = inst.map_or_else(String::new, |inst| inst_to_string(func, inst, Some(self.module)));
        InPlaceError::Moved { function: func.name.clone(), block, text }
    }

    /// Puts the words of a block in their places, and `NOP` where one is gone.
    fn block(
        &self,
        lower: &Lower<'_>,
        block: Block,
        (first, behind): Numbers,
        next: Option<Block>,
        words: &mut [u128],
    ) -> Result<(), InPlaceError> {
        let func = self.func();
        let mut number = first;
        for inst in func.block_insts(block) {
            let own = func.inst(inst).line;
            lower.order(block, next, inst)?;
            let range = number..behind;
            if !is_word(func, inst) {
                continue;
            }
            if !range.contains(&own) {
                return Err(self.moved(block, Some(inst)));
            }
            (number..own).try_for_each(|gone| self.remove(gone, words))?;
            words[own as usize - 1] = lower.word(block, inst, self.offset(own))?;
            number = own + 1;
        }
        (number..behind).try_for_each(|gone| self.remove(gone, words))
    }

    /// Puts a `NOP` where a word is gone, which waits and stalls as the word did.
    fn remove(&self, number: u32, words: &mut [u128]) -> Result<(), InPlaceError> {
        let (func, offset) = (self.func(), self.offset(number));
        let word = &mut words[number as usize - 1];
        let mut control = schedule(*word);
        if let Some(barrier) = control.write_barrier.or(control.read_barrier).filter(|_| !self.is_serial) {
            return Err(InPlaceError::Signals { function: func.name.clone(), offset, barrier });
        }
        (control.write_barrier, control.read_barrier) = (None, None);
        let nop = word_of(self.table, func, "NOP", &[], &[], &|_| None).expect("every SM has NOP");
        let nop = super::lower::guarded(self.table, nop, None).and_then(|nop| with_schedule(nop, &control));
        *word = nop.expect("the control is that of a word");
        Ok(())
    }
}

/// The operand that a slot of the cache holds: the register's number, and whether it is marked.
fn in_slot(table: &Table, word: u128, mark: u8) -> Option<u64> {
    let parts = &table.find(word)?.parts;
    let part = parts.iter().find(|part| part.reuse == mark && part.file() == Some(File::R))?;
    Some(part.number(word)).filter(|number| part.constant_number() != Some(*number))
}

/// The bits of the marks, one for each slot.
const MARKS: std::ops::Range<u8> = 122..126;

/// Takes marks away whose next reader, in the same block, is another instruction or reads another register than before.
fn drop_marks(table: &Table, before: &[u128], after: &mut [u128], starts: &[usize]) {
    for mark in MARKS {
        // Going backward: the next reader of the slot, before and now.
        let mut next = [None; 2];
        for at in (0..after.len()).rev() {
            let is_marked = after[at] >> mark & 1 == 1 && in_slot(table, after[at], mark).is_some();
            if is_marked && next[0] != next[1] {
                after[at] &= !(1 << mark);
            }
            for (next, word) in next.iter_mut().zip([before[at], after[at]]) {
                *next = in_slot(table, word, mark).map(|number| (at, number)).or(*next);
            }
            if starts.contains(&at) {
                next = [None; 2];
            }
        }
    }
}
