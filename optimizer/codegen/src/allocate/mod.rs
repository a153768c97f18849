//! Register allocation, after the fat-point allocator of ptxas (`spec/liveness-and-dce.txt`, L:427-481).
//!
//! Registers are taken in the order in which they are defined, block after block, so that what is defined together ends
//! up together; each takes the best place that its constraints leave ([`constraint`]). Files are allocated apart:
//! general registers, predicates, uniform registers and predicates, convergence barriers. Where no place is left, a
//! register that costs least is spilled, and everything begins anew with what that changed.
//!
//! A function is allocated in rounds ([`choose`]). The first has hard constraints and the wishes of copies alone, and
//! says how many registers are enough. The next ones have the soft constraints too, as many as fit into those.
//!
//! **Invariant:** two registers of a file that are live together, or of which one is written while the other is live,
//! share no place, unless the one is a copy of the other. Products that run beside the warp share none of a factor with
//! the sum.

mod build;
pub mod cache;
pub mod candidates;
mod choose;
pub mod constraint;
pub(crate) mod live;
mod physical;
mod spill;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, FunctionKind, Inst, Operand, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::Cfg;

use crate::select::{Places, STACK, Selected};
use crate::sequences::{self, Sequence};
use candidates::Candidates;
use choose::Allocator;
use live::Words;
use physical::physical;
use rustc_hash::FxHashSet;
use spill::Spills;

/// How many registers of each file code may use, and how much soft constraints matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// General registers.
    pub general: u16,
    /// Uniform ones.
    pub uniform: u16,
    /// By how much the threshold of soft constraints rises from round to round; `None`: no round has any.
    pub soft_skip: Option<u32>,
}

/// A file that has too few registers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{function}: {} registers are too few, whatever is kept in memory; raise the limit", .limit)]
pub struct AllocError {
    /// The function's name.
    pub function: String,
    /// How many general registers it may have.
    pub limit: u16,
}

/// A function with registers of the machine.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The function, in physical form.
    pub func: Function,
    /// General registers that it uses.
    pub registers: u16,
    /// Bytes of its frame, with what is spilled.
    pub frame: u32,
    /// Registers that were spilled to memory.
    pub spilled: usize,
    /// By instruction: which one of the function before it was; none that was added.
    pub origins: SecondaryMap<Inst, Option<Inst>>,
}

/// Rounds of spilling before the allocator gives up.
const ROUNDS: usize = 24;

/// Gives a function of the machine in virtual form registers of the machine.
///
/// # Errors
///
/// If the file of general registers is too small for a single instruction.
pub fn allocate(selected: Selected, places: &Places, limits: Limits) -> Result<Allocation, AllocError> {
    // Predicates that are bits of a register have their numbers. Where that leaves too few places, each is a register.
    let has_predicates = selected.func.regs().values().any(|info| info.file == RegFile::P);
    let packed = has_predicates.then(|| attempt(selected.clone(), places, limits, true));
    match packed {
        Some(Ok(allocation)) => Ok(allocation),
        _ => attempt(selected, places, limits, false),
    }
}

/// Allocates a function; `packs` says whether predicates are spilled to bits of a register.
fn attempt(selected: Selected, places: &Places, limits: Limits, packs: bool) -> Result<Allocation, AllocError> {
    let Selected { mut func, stack, fixed, results, bundles, patches, sequences } = selected;
    let fixed = Candidates::of(&fixed);
    let is_result: FxHashSet<Reg> = results.iter().map(|(reg, _)| *reg).collect();
    let mut spills = Spills::new(places, stack, packs);
    let first_added = func.layout_insts().map(|inst| inst.as_u32() + 1).max().unwrap_or(0);
    for _ in 0..ROUNDS {
        let cfg = Cfg::new(&func);
        let mut across = across_calls(&func, &cfg, stack, |inst| called(&func, inst, &sequences).is_none());
        let below = across_sequences(&func, &cfg, stack, &sequences);
        let barriers = below.keys().copied().filter(|reg| func.regs()[*reg].file == RegFile::B);
        across.extend(barriers.filter(|reg| !across.contains(reg)).collect::<Vec<_>>());
        across.retain(|reg| !is_result.contains(reg));
        // Barriers and general registers have places that functions leave as they are.
        let can_be_kept = |reg: &mut Reg| matches!(func.regs()[*reg].file, RegFile::B | RegFile::R);
        let kept: FxHashSet<Reg> = across.extract_if(.., can_be_kept).collect();
        if !across.is_empty() {
            spills.insert(&mut func, &across);
            continue;
        }
        let mut allocator = Allocator::new(&func, &cfg, limits, (&spills, &fixed, &bundles), (kept, &below));
        allocator.pack();
        if allocator.is_stuck {
            break;
        }
        if allocator.spilled.is_empty() {
            let registers = general(&func, &allocator.place);
            let is_called = func.kind == FunctionKind::Device && !sequences::is(&func);
            let used = if is_called { allocator.used() } else { Vec::new() };
            // Over registers that a caller keeps something in it would be spread for a price.
            let is_free = !is_called || registers <= SAVED.start;
            let place = if is_free { allocator.spread(registers) } else { allocator.place };
            let saved: Vec<(u16, u64)> = used.into_iter().map(|place| (place, spills.slot())).collect();
            for patch in &patches {
                patch.apply(&mut func, spills.frame());
            }
            let (mut made, mut origins) = physical(&func, &place);
            save(&mut made, &saved);
            let old = |origin: Option<Inst>| origin.filter(|inst| inst.as_u32() < first_added);
            origins.values_mut().for_each(|origin| *origin = old(*origin));
            let (frame, spilled) = (spills.frame(), spills.count());
            return Ok(Allocation { func: made, registers, frame, spilled, origins });
        }
        let spilled = allocator.spilled;
        if spilled.iter().any(|reg| spills.is_own(*reg)) {
            break;
        }
        spills.insert(&mut func, &spilled);
    }
    Err(AllocError { function: func.name, limit: limits.general })
}

/// The registers that are live across one of some calls, but for the stack pointer: a function that is called may use
/// them all.
fn across_calls(func: &Function, cfg: &Cfg, stack: Option<Reg>, is_one: impl Fn(Inst) -> bool) -> Vec<Reg> {
    let is_call = |inst: Inst| func.is_machine_call(inst) && is_one(inst);
    if !func.layout_insts().any(is_call) {
        return Vec::new();
    }
    let words = Words::of(func, cfg);
    let mut found = Vec::new();
    words.backward(func, cfg, |inst, live| {
        if is_call(inst) {
            let results = func.dsts(inst);
            found.extend(live.iter().map(|word| words.reg(word)).filter(|reg| !results.contains(&Operand::Reg(*reg))));
        }
    });
    found.retain(|reg| Some(*reg) != stack);
    found.sort_unstable();
    found.dedup();
    found
}

/// The sequence that an instruction calls.
fn called<'s>(func: &Function, inst: Inst, sequences: &'s [Sequence]) -> Option<&'s Sequence> {
    let is_callee = |sequence: &&Sequence| func.srcs(inst).contains(&Operand::Func(sequence.function));
    sequences.iter().find(is_callee).filter(|_| func.is_machine_call(inst))
}

/// The registers that are live across calls of sequences, each with the first place of its file that all of these leave
/// as it is.
fn across_sequences(func: &Function, cfg: &Cfg, stack: Option<Reg>, sequences: &[Sequence]) -> BTreeMap<Reg, u16> {
    let mut below: BTreeMap<Reg, u16> = BTreeMap::new();
    for sequence in sequences {
        for reg in across_calls(func, cfg, stack, |inst| called(func, inst, sequences) == Some(sequence)) {
            let first = below.entry(reg).or_default();
            *first = (*first).max(sequence.spared.first(func.regs()[reg].file));
        }
    }
    below
}

/// The general registers that a function that is called leaves as they are. Those that ptxas keeps, but for the place
/// to return to and what lies below.
pub const SAVED: std::ops::Range<u16> = 22..32;

/// Keeps what a caller has in registers in the frame, each at its offset, while the function is at work.
fn save(func: &mut Function, saved: &[(u16, u64)]) {
    let stack = Operand::Reg(word(STACK));
    let moves_stack = |func: &Function, inst: &Inst| func.dsts(*inst).first() == Some(&stack);
    let entry = func.entry();
    let first = func.block_insts(entry).find(|inst| moves_stack(func, inst));
    for (place, offset) in saved {
        let (offset, kept) = (func.imm(*offset), Operand::Reg(word(*place)));
        let store = spill::make(func, "STL", None, &[], &[stack, offset, kept]);
        match first {
            Some(first) => func.insert_after(first, store),
            None => func.prepend_inst(entry, store),
        }
        for block in func.layout().to_vec() {
            let is_return = |inst: &Inst| func.mnemonic(*inst).is_some_and(|name| name.starts_with("RET"));
            let Some(last) = func.last_inst(block).filter(is_return) else { continue };
            let leaves = func.block_insts(block).rfind(|inst| moves_stack(func, inst)).unwrap_or(last);
            let load = spill::make(func, "LDL", None, &[kept], &[stack, offset]);
            func.insert_before(leaves, load);
        }
    }
}

/// A general register of the machine.
fn word(number: u16) -> Reg {
    PhysicalReg { file: RegFile::R, number: number as u8, words: 1 }.reg().expect("the file has it")
}

/// How many general registers are used.
fn general(func: &Function, place: &SecondaryMap<Reg, Option<u16>>) -> u16 {
    let ends = func.regs().iter().filter(|(_, info)| info.file == RegFile::R);
    ends.filter_map(|(reg, info)| Some(place[reg]? + u16::from(info.words))).max().unwrap_or(0)
}

/// A copy of a word: where to, and where from.
pub(crate) fn copied(func: &Function, inst: Inst) -> Option<(Operand, Operand)> {
    let data = func.inst(inst);
    let is_move = data.guard.is_none() && data.machine_row().is_some_and(|row| row.copies);
    let ([to], Some(from)) = (func.dsts(inst), func.srcs(inst).first()) else { return None };
    let is_word = |operand: Operand| {
        func.operand_info(operand).is_some_and(|info| info.words == 1 && info.file == RegFile::R)
            && operand.modifiers().is_none()
            && operand.reg().is_some()
    };
    (is_move && is_word(*to) && is_word(*from)).then_some((*to, *from))
}
