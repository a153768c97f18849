//! Compaction: what phases have left out is not a `NOP` any longer; the words behind it move forward.
//!
//! [`super::in_place`] puts a `NOP` where a word is gone, so that nothing moves. [`compact()`] takes these out: words
//! that are `NOP` now, and were something else. Behind the last word of a function `NOP`s fill its place, so functions
//! begin where they began, and have the size that they had: calls, symbols, sections and headers stay true. Whatever
//! names a word of a function follows it:
//!
//! - branches, as distances, also those of `BSSY` and its kin;
//! - tables of jumps in bank 2, and the distance of the `BRX` that reads them;
//! - the attributes that list offsets: `EXIT`, calls of the system, groups of lanes, indirect branches;
//! - the steps of unwinding tables (`.debug_frame`);
//! - the addresses to which calls return: numbers that are moved into the register through which the callee returns.
//!
//! The barriers that a `NOP` waited for, the next word waits for. Nothing else depends on its place, since functions
//! move only where nothing overlaps ([`Function::is_serial`]): each word stalls until its own results are there.
//!
//! A function stays as it is, and [`Compacted::kept`] says why, if a word of it is named by a number that nobody tells
//! from others: a return address that is not found, an attribute of unknown shape, a table that is not found, a table
//! of lines. From `sm_100` on the code for other SMs (`.nv.merc`) stays, too: it is code of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use oriole_ir::{Block, FuncId, Function, Inst, Module, Operand, PhysicalReg, RegFile};

use super::in_place::{self, InPlaceError, is_nop};
use super::lift::LiftError;
use super::lower::{Lower, guarded, is_word, place, word_of};
use crate::cubin::{self, Cubin, SectionKind, Shape};
use crate::encoding::Table;
use crate::instruction::{schedule, with_schedule};
use crate::text::WORD_BYTES;

/// The fate of a function's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compacted {
    /// The function's name.
    pub function: String,
    /// How many words moved out of the way: `NOP`s that were something else.
    pub gone: usize,
    /// Why the function stays as it is, where it has such words.
    pub kept: Option<&'static str>,
}

/// A function whose words move.
struct Moved {
    /// The place among the cubin's functions.
    at: usize,
    id: FuncId,
    range: Range<u64>,
    /// By the number of a word, from 0 on: whether it stays.
    stays: Vec<bool>,
    /// The instructions that make addresses to which calls return.
    returns: Vec<Inst>,
}

/// The bank of the constants that the compiler made, tables of jumps among them.
const TABLES: u8 = 2;

/// The file without the words that phases have left out: `now` is what [`in_place::write()`] made of `original`.
///
/// # Errors
///
/// If the words of the SM are not known, or the files do not have the same functions.
pub fn compact(original: &Cubin, now: &Cubin) -> Result<(Vec<u8>, Vec<Compacted>), InPlaceError> {
    let sm = now.target.sm;
    let table = Table::of(sm).ok_or(LiftError::Sm(sm))?;
    let module = in_place::lift(now)?;
    let is_same = |(one, other): (&cubin::Function, &cubin::Function)| {
        one.name == other.name && original.own_range(one) == now.own_range(other)
    };
    if original.functions.len() != now.functions.len() || !original.functions.iter().zip(&now.functions).all(is_same) {
        return Err(InPlaceError::Functions);
    }
    let (mut all, mut moved) = (Vec::new(), Vec::new());
    for (at, id) in module.functions.keys().enumerate() {
        let it = &now.functions[at];
        let (before, after) = (original.words(&original.functions[at]), now.words(it));
        let range = now.own_range(it);
        let count = ((range.end - range.start) / WORD_BYTES) as usize;
        let stays: Vec<bool> =
            before.zip(after).take(count).map(|(before, after)| is_nop(&before) || !is_nop(&after)).collect();
        let gone = stays.iter().filter(|stays| !**stays).count();
        let found = returns(&module, id);
        let kept = match (gone, &found) {
            (0, _) => None,
            (_, None) => Some("it calls a function, and the address of its return is not found"),
            (_, Some(_)) => reason(now, it, &module.functions[id]),
        };
        if let (None, Some(returns)) = (kept, found)
            && gone > 0
        {
            moved.push(Moved { at, id, range, stays, returns });
        }
        all.push(Compacted { function: it.name.clone(), gone, kept });
    }
    let mut data = now.data().to_vec();
    let sections: BTreeSet<usize> = moved.iter().map(|moved| now.functions[moved.at].section).collect();
    for section in sections {
        let of = |moved: &&Moved| now.functions[moved.at].section == section;
        let here: Vec<&Moved> = moved.iter().filter(of).collect();
        let tables = match tables(now, &module, section) {
            Some(tables) => tables,
            None => {
                for moved in here {
                    all[moved.at].kept = Some("it jumps through a table that is not found");
                }
                continue;
            }
        };
        for moved in &here {
            moved.write(table, &module, now, &mut data)?;
        }
        let place = |offset: u64| here.iter().find_map(|moved| moved.place(offset)).unwrap_or(offset);
        for at in tables {
            follow(&mut data, at, &place);
        }
        attributes(now, section, &mut data, &place);
        for moved in &here {
            frames(now, moved, &mut data);
        }
    }
    Ok((data, all))
}

/// Why a function's words cannot move.
fn reason(cubin: &Cubin, it: &cubin::Function, func: &Function) -> Option<&'static str> {
    let is_unknown = |attribute: &cubin::Attribute| {
        let name = attribute.name().unwrap_or_default();
        let names_words = name.contains("OFFSET") || name.contains("INSTR");
        let is_known = cubin::AttributeRow::of(attribute.code)
            .is_some_and(|row| matches!(row.shape, Shape::Offsets | Shape::Branches));
        names_words && !is_known
    };
    let owner = cubin.functions.iter().filter(|other| other.section == it.section);
    let counts = |inst: Inst| {
        let name = func.inst(inst).machine_row().map_or("", |row| row.name);
        ["LEPC", "JMX", "RET.ABS", "CALL.ABS", "RPCMOV"].iter().any(|word| name.starts_with(word))
    };
    if !func.is_definition() {
        return Some("its words are relocated, or it jumps to any of them");
    }
    if !func.is_serial() {
        return Some("its instructions overlap");
    }
    if func.layout_insts().any(counts) {
        return Some("it computes with addresses of words");
    }
    if owner.flat_map(|owner| &owner.info.attributes).any(is_unknown) {
        return Some("an attribute names words of it in a way that is not known");
    }
    let has_lines = cubin.sections.iter().any(|section| section.name.contains("debug_line"));
    if has_lines {
        return Some("the file has a table of lines");
    }
    let frame = cubin.section(FRAME);
    if frame.is_some_and(|frame| steps(cubin, frame, it.symbol).is_none()) {
        return Some("its unwinding table is not understood");
    }
    None
}

/// The instructions that make the addresses to which the calls of a function return: in front of each call, in its
/// block, the last one that writes the register through which the callee returns, if it moves the number of the word
/// behind the call there. `None` where one is not found. ptxas counts from the start of the section.
fn returns(module: &Module, id: FuncId) -> Option<Vec<Inst>> {
    let func = &module.functions[id];
    let mut found = Vec::new();
    for block in func.layout() {
        let insts: Vec<Inst> = func.block_insts(*block).collect();
        for (at, call) in insts.iter().enumerate().filter(|(_, inst)| func.is_machine_call(**inst)) {
            let is_callee = |operand: &Operand| match operand {
                Operand::Func(id) => Some(*id),
                _ => None,
            };
            let callee = func.srcs(*call).iter().find_map(is_callee)?;
            let through = return_register(module, callee)?;
            let makes = |inst: &&Inst| func.dsts(**inst).iter().any(|dst| names(func, *dst, through));
            let made = *insts[..at].iter().rev().find(makes)?;
            let behind = place(func).1 + u64::from(func.inst(*call).line) * WORD_BYTES;
            let moves = func.machine_copy(made).and_then(|from| func.imm_bits(from));
            if moves != Some(behind) || func.inst(made).guard.is_some() {
                return None;
            }
            found.push(made);
        }
    }
    Some(found)
}

/// Whether an operand names a register of one word.
fn names(func: &Function, operand: Operand, wanted: PhysicalReg) -> bool {
    let Some(reg) = operand.reg().and_then(PhysicalReg::of) else { return false };
    let range = reg.number..reg.number + func.operand_info(operand).map_or(1, |info| info.words);
    reg.file == wanted.file && range.contains(&wanted.number)
}

/// The register with the lower half of the address to which a function returns, if all its returns count from the start
/// of the section.
fn return_register(module: &Module, id: FuncId) -> Option<PhysicalReg> {
    let func = &module.functions[id];
    let mut found = None;
    for inst in func.layout_insts() {
        if func.inst(inst).machine_row().is_none_or(|row| row.name != "RET.REL") {
            continue;
        }
        let base = func.srcs(inst).iter().find_map(|operand| match operand {
            Operand::Func(id) => Some(place(&module.functions[*id])),
            _ => None,
        });
        let own = func.srcs(inst).iter().filter_map(|operand| operand.reg().and_then(PhysicalReg::of));
        let reg = own.filter(|reg| reg.file == RegFile::R).map(|reg| PhysicalReg { words: 1, ..reg }).next()?;
        if base != Some((place(func).0, 0)) || found.is_some_and(|known| known != reg) {
            return None;
        }
        found = Some(reg);
    }
    found
}

impl Moved {
    /// The number of a word among those that stay: of one that goes, that of the next.
    fn number(&self, at: usize) -> u64 {
        self.stays[..at].iter().filter(|stays| **stays).count() as u64
    }

    /// Where a place in the section is now: that of a word, or the end of the function.
    fn place(&self, offset: u64) -> Option<u64> {
        if !self.range.contains(&offset) || !(offset - self.range.start).is_multiple_of(WORD_BYTES) {
            return None;
        }
        let at = ((offset - self.range.start) / WORD_BYTES) as usize;
        Some(self.range.start + self.number(at) * WORD_BYTES)
    }

    /// Puts the words in their places.
    fn write(
        &self,
        table: &'static Table,
        module: &Module,
        cubin: &Cubin,
        data: &mut [u8],
    ) -> Result<(), InPlaceError> {
        let func = &module.functions[self.id];
        let it = &cubin.functions[self.at];
        let before: Vec<u128> = cubin.words(it).take(self.stays.len()).collect();
        let mut starts = BTreeMap::new();
        let mut number = 0usize;
        for block in func.layout() {
            starts.insert(*block, self.range.start + self.number(number) * WORD_BYTES);
            number += func.block_insts(*block).filter(|inst| is_word(func, *inst)).count();
        }
        let lower = Lower::with_blocks(table, module, self.id, starts);
        let mut words = Vec::with_capacity(before.len());
        let mut waits = 0;
        let insts = func.layout().iter().flat_map(|block| func.block_insts(*block).map(|inst| (*block, inst)));
        let insts = insts.filter(|(_, inst)| is_word(func, *inst));
        for ((at, word), (block, inst)) in before.iter().enumerate().zip(insts) {
            if !self.stays[at] {
                waits |= schedule(*word).wait_mask;
                continue;
            }
            let offset = self.range.start + words.len() as u64 * WORD_BYTES;
            let old = self.range.start + at as u64 * WORD_BYTES;
            let mut made = self.word(table, &lower, func, (block, inst), [old, offset])?;
            let mut control = schedule(made);
            control.wait_mask |= std::mem::take(&mut waits);
            made = with_schedule(made, &control).expect("the control is that of a word");
            words.push(made);
        }
        let nop = word_of(table, func, "NOP", &[], &[], &|_| None).and_then(|nop| guarded(table, nop, None));
        words.resize(before.len(), nop.expect("every SM has NOP"));
        let start = cubin.sections[it.section].range.start + self.range.start as usize;
        for (place, word) in data[start..].as_chunks_mut::<16>().0.iter_mut().zip(&words) {
            *place = word.to_le_bytes();
        }
        Ok(())
    }

    /// A word that moves from one offset to another. A `BRX` counts from its own place what its table does not.
    fn word(
        &self,
        table: &'static Table,
        lower: &Lower<'_>,
        func: &Function,
        (block, inst): (Block, Inst),
        [old, new]: [u64; 2],
    ) -> Result<u128, InPlaceError> {
        let word = lower.word(block, inst, new)?;
        if self.returns.contains(&inst) {
            return Ok(self.return_to(table, word));
        }
        if !func.inst(inst).machine_row().is_some_and(|row| row.name.starts_with("BRX")) {
            return Ok(word);
        }
        let encoding = table.find(word).expect("it is a word");
        let part = encoding.parts.iter().find(|part| part.what == crate::row::What::Distance);
        let part = part.expect("it has a distance");
        let distance = part.value(word).wrapping_add((old.wrapping_sub(new) as i64 >> 2) as u64);
        let len = u32::from(part.at.len + part.above.len);
        let distance = distance & (u64::MAX >> (u64::BITS - len));
        Ok(part.put(word, distance).expect("the bits are those of the part"))
    }

    /// A word that makes the address to which a call returns.
    fn return_to(&self, table: &'static Table, word: u128) -> u128 {
        let encoding = table.find(word).expect("it is a word");
        let number =
            |part: &&crate::row::Part| matches!(part.what, crate::row::What::Immediate(_)) && part.at.len == 32;
        let part = encoding.parts.iter().find(number).expect("it has a number");
        let old = part.value(word);
        part.put(word, self.place(old).unwrap_or(old)).expect("an address has 32 bits")
    }
}

/// Changes the number of 32 bits at a place of the file.
fn follow(data: &mut [u8], at: usize, place: &impl Fn(u64) -> u64) {
    let Some(bytes) = data[at..].first_chunk_mut::<4>() else { return };
    let number = u32::from_le_bytes(*bytes);
    *bytes = (place(number.into()) as u32).to_le_bytes();
}

/// Where the file has the entries of the tables through which functions of a section jump; `None` if a table is not
/// found, or not told from other constants.
///
/// A table begins where a load with an index reads bank 2, and goes as far as the next place that a load names. All of
/// its entries must be targets, and no other constant of the bank may be one.
fn tables(cubin: &Cubin, module: &Module, section: usize) -> Option<Vec<usize>> {
    let here = || cubin.functions.iter().zip(module.functions.values()).filter(|(it, _)| it.section == section);
    let branches = || here().flat_map(|(it, _)| &it.info.indirect_branches);
    if branches().next().is_none() {
        return Some(Vec::new());
    }
    let targets: BTreeSet<u32> = branches().flat_map(|branch| branch.targets.iter().copied()).collect();
    let owner = here().next()?.0;
    let bank = cubin.constants(owner, TABLES)?;
    if cubin.sections[bank].kind != (SectionKind::Constant { bank: TABLES }) {
        return None;
    }
    let (mut indexed, mut named) = (BTreeSet::new(), BTreeSet::new());
    for (_, func) in here() {
        for inst in func.layout_insts() {
            let srcs = func.srcs(inst);
            for (at, operand) in srcs.iter().enumerate() {
                let Operand::Const { bank: TABLES, offset, .. } = *operand else { continue };
                let is_indexed = at.checked_sub(1).is_some_and(|before| srcs[before].reg().is_some());
                if is_indexed {
                    indexed.insert(offset)
                } else {
                    named.insert(offset)
                };
            }
        }
    }
    let words: Vec<u32> = cubin.bytes(bank).as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let ends: BTreeSet<u32> = indexed.union(&named).copied().chain([4 * words.len() as u32]).collect();
    let mut entries = BTreeSet::new();
    for start in &indexed {
        let end = *ends.range(start + 1..).next()?;
        entries.extend((start / 4..end / 4).map(|entry| entry as usize));
    }
    let is_table = |entry: usize| targets.contains(&words[entry]);
    let is_told = (0..words.len()).all(|entry| is_table(entry) == entries.contains(&entry));
    let start = cubin.sections[bank].range.start;
    is_told.then(|| entries.into_iter().map(|entry| start + 4 * entry).collect())
}

/// Changes the offsets in the attributes of the functions of a section.
fn attributes(cubin: &Cubin, section: usize, data: &mut [u8], place: &impl Fn(u64) -> u64) {
    for it in cubin.functions.iter().filter(|it| it.section == section) {
        let Some(info) = cubin.section(&format!(".nv.info.{}", it.name)) else { continue };
        let range = cubin.sections[info].range.clone();
        let mut at = range.start;
        for attribute in &it.info.attributes {
            let value = at + 4;
            let cubin::Value::Bytes(bytes) = &attribute.value else {
                at = value;
                continue;
            };
            at = value + bytes.len();
            match cubin::AttributeRow::of(attribute.code).map(|row| row.shape) {
                Some(Shape::Offsets) => (value..at).step_by(4).for_each(|at| follow(data, at, place)),
                Some(Shape::Branches) => {
                    let numbers: Vec<u32> = attribute.numbers().collect();
                    let mut number = 0;
                    while let Some([_, _, count]) = numbers.get(number..number + 3) {
                        follow(data, value + 4 * number, place);
                        let targets = number + 3..number + 3 + *count as usize;
                        number = targets.end;
                        targets.for_each(|target| follow(data, value + 4 * target, place));
                    }
                }
                _ => {}
            }
        }
    }
}

const FRAME: &str = ".debug_frame";

/// The steps of a function's unwinding table: where the file has the four bytes of each, and the distance, in bytes of
/// code, from the one before. `None` where an instruction of the table is not known.
///
/// DWARF 3, "Call Frame Instruction Encoding". ptxas writes tables of 64 bits and steps of four bytes, in units of four
/// bytes.
fn steps(cubin: &Cubin, section: usize, symbol: usize) -> Option<Vec<(usize, u64)>> {
    let (start, bytes) = (cubin.sections[section].range.start, cubin.bytes(section));
    let of_symbol = relocated(cubin, symbol);
    let mut found = Vec::new();
    let mut at = 0;
    while at + 12 <= bytes.len() {
        let length = match bytes[at..].first_chunk::<4>()? {
            [0xff, 0xff, 0xff, 0xff] => u64::from_le_bytes(*bytes[at + 4..].first_chunk()?),
            _ => return None,
        };
        let (head, end) = (at + 12, (at + 12).checked_add(usize::try_from(length).ok()?)?);
        let entry = bytes.get(head..end)?;
        let is_description = entry.first_chunk::<8>()? != &[0xff; 8];
        if is_description && of_symbol.iter().any(|offset| (head..end).contains(offset)) {
            // The entry of what is common, the address and the size are before the instructions.
            instructions(entry, 24, start + head, &mut found)?;
        }
        at = end;
    }
    Some(found)
}

/// The offsets in the unwinding tables where the address of a function is written.
fn relocated(cubin: &Cubin, symbol: usize) -> Vec<usize> {
    let rows = cubin.section(".rela.debug_frame").map_or(&[][..], |section| cubin.bytes(section));
    let rows = rows.as_chunks::<24>().0.iter().filter_map(|row| {
        let number = |at: usize| row[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        (number(8)? >> 32 == symbol as u64).then_some(number(0)? as usize)
    });
    rows.collect()
}

/// Goes over the instructions of a table from an offset on.
fn instructions(entry: &[u8], mut at: usize, start: usize, found: &mut Vec<(usize, u64)>) -> Option<()> {
    const UNIT: u64 = 4;
    while at < entry.len() {
        let code = entry[at];
        at += 1;
        let numbers = match code {
            // A nop, state that is kept or restored.
            0x00 | 0x0a | 0x0b => 0,
            0x04 => {
                let delta = u32::from_le_bytes(*entry.get(at..)?.first_chunk()?);
                found.push((start + at, u64::from(delta) * UNIT));
                at += 4;
                0
            }
            // A register is restored, undefined, the same; the frame's register or offset.
            0x06 | 0x07 | 0x08 | 0x0d | 0x0e => 1,
            // A register is at an offset, is another one; the frame's register and offset.
            0x05 | 0x09 | 0x0c => 2,
            _ => return None,
        };
        for _ in 0..numbers {
            while entry.get(at)? & 0x80 != 0 {
                at += 1;
            }
            at += 1;
        }
    }
    Some(())
}

/// Changes the steps of a function's unwinding table.
fn frames(cubin: &Cubin, moved: &Moved, data: &mut [u8]) {
    const UNIT: u64 = 4;
    let it = &cubin.functions[moved.at];
    let Some(section) = cubin.section(FRAME) else { return };
    let place = |offset: u64| moved.place(moved.range.start + offset).map_or(offset, |new| new - moved.range.start);
    let (mut before, mut now) = (0, 0);
    for (at, step) in steps(cubin, section, it.symbol).unwrap_or_default() {
        before += step;
        let new = place(before);
        let delta = (new - now) / UNIT;
        now = new;
        data[at..at + 4].copy_from_slice(&(delta as u32).to_le_bytes());
    }
}
