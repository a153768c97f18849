//! Marks in the operand cache (`R5.reuse`): a register that an instruction soon reads again in the same slot.
//!
//! The rules are those that words of ptxas 13.0.88 for `sm_90` follow (2026-11, over the corpus): a marked instruction
//! has no guard and does not write the register, and from it to the one that reads again the warp keeps its turn, with
//! stalls of at most two cycles, in one block. No instruction between has another register in the slot, and none writes
//! the register. A register that is read for the last time has no mark.

use oriole_ir::{Function, Inst, MachineId, Modifiers, Operand, PhysicalReg, Reg};
use oriole_pass::analysis::Cfg;
use oriole_sass::{Table, ori};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::before::uses_uniform;
use super::live::Live;

/// The bits of the marks, one for each slot.
const MARKS: [u8; 4] = [122, 123, 124, 125];
/// The longest stall over which a register stays.
const LONGEST: u8 = 2;
/// How many instructions further on it may be read again.
const FURTHEST: usize = 7;

/// By source of an instruction: its slot.
type Slots = SmallVec<[Option<u8>; 6]>;

struct Marking<'f> {
    func: &'f Function,
    table: &'static Table,
    /// By instruction and kinds of operands, since the slot of a source depends on those beside it.
    known: FxHashMap<(MachineId, SmallVec<[u8; 8]>), Slots>,
}

/// Marks the sources of a function in physical form that has its scheduling control. How many.
pub fn mark(func: &mut Function, table: &'static Table) -> usize {
    let cfg = Cfg::new(func);
    let live = Live::solve(func, &cfg, uses_uniform(func));
    let mut found: Vec<(Inst, usize)> = Vec::new();
    let mut marking = Marking { func, table, known: FxHashMap::default() };
    for block in marking.func.layout().to_vec() {
        let insts: Vec<Inst> = marking.func.block_insts(block).collect();
        let slots: Vec<Slots> = insts.iter().map(|inst| marking.slots(*inst)).collect();
        let mut lasts: FxHashMap<Inst, SmallVec<[Reg; 4]>> = FxHashMap::default();
        live.backward(marking.func, block, |inst, behind| {
            let last = marking.func.uses(inst).filter(|unit| !behind.has(*unit)).collect();
            lasts.insert(inst, last);
        });
        for at in 0..insts.len() {
            for (source, slot) in slots[at].iter().enumerate() {
                let Some(slot) = slot else { continue };
                let operand = marking.func.srcs(insts[at])[source];
                let is_last = units(operand).any(|unit| lasts[&insts[at]].contains(&unit));
                if !is_last && marking.is_read_again(&insts[at..], &slots[at..], operand, *slot) {
                    found.push((insts[at], source));
                }
            }
        }
    }
    for (inst, source) in &found {
        let operand = func.srcs(*inst)[*source];
        let marked = operand.with_modifiers(operand.modifiers().or(Modifiers::REUSE));
        func.srcs_mut(*inst)[*source] = marked.expect("it is a register");
    }
    found.len()
}

/// The registers of one word of an operand.
fn units(operand: Operand) -> impl Iterator<Item = Reg> {
    operand.reg().and_then(PhysicalReg::of).into_iter().flat_map(PhysicalReg::units)
}

/// A source that may be in the cache: its register.
fn cached(func: &Function, inst: Inst, source: usize) -> Option<Reg> {
    func.srcs(inst)[source].reg()
}

impl Marking<'_> {
    /// The slots of an instruction's sources; none of those that have none.
    fn slots(&mut self, inst: Inst) -> Slots {
        let func = self.func;
        let Some(id) = func.inst(inst).machine() else { return Slots::new() };
        let kind = |operand: &Operand| match operand {
            Operand::Imm(_) => 1,
            Operand::Const { .. } => 2,
            other => 3 + func.operand_info(*other).map_or(0, |info| info.file as u8 + 1),
        };
        let kinds = func.srcs(inst).iter().map(kind).collect();
        if let Some(slots) = self.known.get(&(id, kinds)) {
            return slots.clone();
        }
        let kinds = func.srcs(inst).iter().map(kind).collect();
        let slots: Slots = (0..func.srcs(inst).len()).map(|source| self.slot(inst, source)).collect();
        self.known.insert((id, kinds), slots.clone());
        slots
    }

    /// The slot whose mark a word has where this source is marked.
    fn slot(&self, inst: Inst, source: usize) -> Option<u8> {
        let func = self.func;
        cached(func, inst, source)?;
        let mut srcs: SmallVec<[Operand; 8]> = func.srcs(inst).into();
        srcs[source] = srcs[source].with_modifiers(srcs[source].modifiers().or(Modifiers::REUSE))?;
        let mnemonic = func.mnemonic(inst)?;
        let word = ori::word_of(self.table, func, &mnemonic, func.dsts(inst), &srcs, &|_| Some(0))?;
        (0u8..).zip(MARKS).find(|(_, bit)| word >> bit & 1 == 1).map(|(slot, _)| slot)
    }

    /// Whether the register of a source of the first of these instructions is read again in its slot while it is there.
    fn is_read_again(&self, insts: &[Inst], slots: &[Slots], operand: Operand, slot: u8) -> bool {
        let func = self.func;
        if func.inst(insts[0]).guard.is_some() {
            return false;
        }
        let stays = |inst: Inst| {
            let keeps_turn = func.schedule(inst).is_some_and(|control| !control.yields && control.stall <= LONGEST);
            keeps_turn && !func.defs(inst).any(|def| units(operand).any(|unit| unit == def))
        };
        let further = insts.iter().zip(slots).skip(1).take(FURTHEST);
        for ((inst, slots), before) in further.zip(insts) {
            if !stays(*before) {
                return false;
            }
            let own = slots.iter().position(|other| *other == Some(slot));
            if let Some(own) = own.and_then(|source| cached(func, *inst, source)) {
                return Some(own) == operand.reg();
            }
        }
        false
    }
}
