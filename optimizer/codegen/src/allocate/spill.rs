//! Spilling: a value without a register is kept in memory, made again, or, of predicates, kept in a general register.
//!
//! Up to seven predicates are bits of one register: `P2R` puts a bit in, `R2P` takes it out. Both name a predicate by
//! the number of its bit, so what is loaded or about to be stored has that number (its port), and no two spilled
//! predicates of one instruction have the same. Where that is not possible, a predicate has a register of its own:
//! `SEL` makes a number of it, and `ISETP` takes it back.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Guard, Inst, InstHead, Modifiers, Operand, Reg, RegFile, RegInfo};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::select::{Places, identity};

/// Bytes of a word.
const WORD: u32 = 4;

/// Predicates that have numbers.
const BITS: u8 = 7;

/// The registers that were spilled so far, and where they are.
pub(super) struct Spills<'p> {
    places: &'p Places,
    /// Whether predicates are bits of a register.
    packs: bool,
    /// Registers with predicates, and which of their bits are taken.
    bases: Vec<(Reg, u8)>,
    /// The numbers of registers that spilling made for predicates, and by instruction all that are in use there.
    ports: FxHashMap<Reg, u8>,
    in_use: FxHashMap<Inst, u8>,
    /// Registers that spilling made: they are live for one instruction, and spilled no more.
    own: FxHashSet<Reg>,
    /// The stack pointer, where there is one.
    stack: Option<Reg>,
    /// The register that holds the top of the frame, where there is none.
    top: Option<Reg>,
    /// Bytes below the frame of local variables.
    size: u32,
    count: usize,
}

impl<'p> Spills<'p> {
    pub fn new(places: &'p Places, stack: Option<Reg>, packs: bool) -> Spills<'p> {
        Spills {
            places,
            packs,
            bases: Vec::new(),
            ports: FxHashMap::default(),
            in_use: FxHashMap::default(),
            own: FxHashSet::default(),
            stack,
            top: None,
            size: 0,
            count: 0,
        }
    }

    /// The number that a predicate must have, where spilling gave it one.
    pub fn port(&self, reg: Reg) -> Option<u8> {
        self.ports.get(&reg).copied()
    }

    /// All predicates that have one, in the order in which they were made.
    pub fn ports(&self) -> impl Iterator<Item = (Reg, u8)> {
        let mut ports: Vec<(Reg, u8)> = self.ports.iter().map(|(reg, port)| (*reg, *port)).collect();
        ports.sort_unstable();
        ports.into_iter()
    }

    /// Whether spilling made a register.
    pub fn is_own(&self, reg: Reg) -> bool {
        self.own.contains(&reg)
    }

    /// Bytes of the frame.
    pub fn frame(&self) -> u32 {
        (self.places.frame + self.size).next_multiple_of(16)
    }

    /// How many registers are in memory.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A new word of the frame: its offset from the stack pointer.
    pub fn slot(&mut self) -> u64 {
        self.size = self.size.next_multiple_of(WORD) + WORD;
        u64::from(self.places.frame + self.size - WORD)
    }

    /// Takes registers out of their files.
    pub fn insert(&mut self, func: &mut Function, spilled: &[Reg]) {
        let mut uses: FxHashMap<Reg, Vec<Inst>> = FxHashMap::default();
        let named = |func: &Function, inst: Inst| -> Vec<Reg> {
            let guard = func.inst(inst).guard.map(Guard::reg);
            let operands = func.dsts(inst).iter().chain(func.inputs(inst));
            operands.filter_map(|operand| operand.reg()).chain(guard).collect()
        };
        let is_spilled: FxHashSet<Reg> = spilled.iter().copied().collect();
        for inst in func.layout_insts() {
            for reg in named(func, inst) {
                if is_spilled.contains(&reg) {
                    let list = uses.entry(reg).or_default();
                    if list.last() != Some(&inst) {
                        list.push(inst);
                    }
                }
            }
        }
        for reg in spilled {
            let insts = uses.remove(reg).unwrap_or_default();
            match func.regs()[*reg].file {
                RegFile::P => self.predicate(func, *reg, &insts),
                _ => self.general(func, *reg, &insts),
            }
        }
    }

    fn temp(&mut self, func: &mut Function, info: RegInfo) -> Reg {
        let reg = func.new_reg(info);
        self.own.insert(reg);
        reg
    }

    fn predicate(&mut self, func: &mut Function, reg: Reg, insts: &[Inst]) {
        if self.packs
            && let Some((base, bit)) = self.bit(func, insts)
        {
            return self.packed(func, (reg, insts), base, bit);
        }
        self.alone(func, reg, insts);
    }

    /// A register with a free bit whose number no other spilled predicate of these instructions has.
    fn bit(&mut self, func: &mut Function, insts: &[Inst]) -> Option<(Reg, u8)> {
        let in_use = insts.iter().filter_map(|inst| self.in_use.get(inst)).fold(0, |all, bits| all | bits);
        // From the last number on: predicates that were not spilled take the first ones.
        let free = |taken: u8| (0..BITS).rev().find(|bit| (in_use | taken) >> bit & 1 == 0);
        if let Some((base, taken)) = self.bases.iter_mut().find(|(_, taken)| free(*taken).is_some()) {
            let bit = free(*taken)?;
            *taken |= 1 << bit;
            return Some((*base, bit));
        }
        let bit = free(0)?;
        let base = func.new_reg(RegInfo::words(1));
        self.bases.push((base, 1 << bit));
        // No bit is undefined, whichever is put in first.
        let none = func.imm(0);
        let make_none = make(func, "P2R", None, &[Operand::Reg(base)], &[Operand::wired(RegFile::R, 1), none]);
        match self.framed(func) {
            Some(last) => func.insert_after(last, make_none),
            None => func.prepend_inst(func.entry(), make_none),
        }
        Some((base, bit))
    }

    /// The instruction behind which the frame can be reached, by the stack pointer or where it ends: what is kept in
    /// memory is stored behind it.
    fn framed(&self, func: &Function) -> Option<Inst> {
        let stack = Operand::Reg(self.stack.or(self.top)?);
        let moves_it = |inst: &Inst| func.dsts(*inst).first() == Some(&stack);
        let mut last = func.block_insts(func.entry()).find(moves_it)?;
        while let Some(next) = func.next_inst(last).filter(moves_it) {
            last = next;
        }
        Some(last)
    }

    /// A predicate is a bit of a general register between its uses.
    fn packed(&mut self, func: &mut Function, (reg, insts): (Reg, &[Inst]), base: Reg, bit: u8) {
        let base = Operand::Reg(base);
        for inst in insts {
            let fresh = self.temp(func, RegInfo::PRED);
            self.ports.insert(fresh, bit);
            *self.in_use.entry(*inst).or_default() |= 1 << bit;
            let mask = func.imm(1 << bit);
            if reads(func, *inst, reg) || func.inst(*inst).guard.is_some() {
                let load = make(func, "R2P", None, &[Operand::Reg(fresh)], &[base, mask]);
                func.insert_before(*inst, load);
            }
            if rename(func, *inst, reg, fresh) {
                let store = make(func, "P2R", None, &[base], &[Operand::Reg(fresh), base, mask]);
                func.insert_after(*inst, store);
            }
        }
    }

    /// A predicate is a number in a general register of its own between its uses.
    fn alone(&mut self, func: &mut Function, reg: Reg, insts: &[Inst]) {
        let home = func.new_reg(RegInfo::words(1));
        let truth = Operand::wired(RegFile::P, 1);
        let zero = Operand::wired(RegFile::R, 1);
        for inst in insts {
            let fresh = self.temp(func, RegInfo::PRED);
            if reads(func, *inst, reg) || func.inst(*inst).guard.is_some() {
                let srcs = [Operand::Reg(home), zero, truth, truth];
                let load = make(func, "ISETP.NE.AND", None, &[Operand::Reg(fresh), truth], &srcs);
                func.insert_before(*inst, load);
            }
            let writes = rename(func, *inst, reg, fresh);
            if writes {
                let one = func.imm(1);
                let inverted = Operand::Modified { reg: fresh, word: None, modifiers: Modifiers::INVERT };
                let store = make(func, "SEL", None, &[Operand::Reg(home)], &[zero, one, inverted]);
                func.insert_after(*inst, store);
            }
        }
    }

    fn general(&mut self, func: &mut Function, reg: Reg, insts: &[Inst]) {
        if let Some(definition) = again(func, reg, insts) {
            return self.rematerialize(func, reg, insts, definition);
        }
        let info = func.regs()[reg];
        let bytes = WORD * u32::from(info.words.next_power_of_two());
        self.size = self.size.next_multiple_of(bytes) + bytes;
        self.count += 1;
        let top = self.stack.unwrap_or_else(|| self.top(func));
        // From the stack pointer upward, behind the variables; from the top downward where there are none.
        let below = match self.stack {
            Some(_) => u64::from(self.places.frame + self.size - bytes),
            None => i64::from(self.size).wrapping_neg() as u64 & 0xff_ffff,
        };
        // By access: its width, its distance from the first word, and the operand of a register. There is none of three
        // words.
        let accesses: SmallVec<[(&str, u64, Option<u8>); 4]> = match info.words {
            1 => smallvec![("", 0, None)],
            2 => smallvec![(".64", 0, None)],
            4 => smallvec![(".128", 0, None)],
            words => (0..words).map(|word| ("", u64::from(WORD) * u64::from(word), Some(word))).collect(),
        };
        let part = |fresh: Reg, word: Option<u8>| word.map_or(Operand::Reg(fresh), |word| Operand::Word(fresh, word));
        for inst in insts {
            let fresh = self.temp(func, info);
            let is_part = func.dsts(*inst).iter().any(|dst| matches!(dst, Operand::Word(part, _) if *part == reg));
            let keeps = is_part && info.words > 1 || func.inst(*inst).guard.is_some();
            if reads(func, *inst, reg) || keeps {
                for (suffix, at, word) in &accesses {
                    let offset = func.imm((below + at) & 0xff_ffff);
                    let (to, srcs) = (part(fresh, *word), [Operand::Reg(top), offset]);
                    let load = make(func, &format!("LDL{suffix}"), None, &[to], &srcs);
                    func.insert_before(*inst, load);
                }
            }
            if rename(func, *inst, reg, fresh) {
                for (suffix, at, word) in accesses.iter().rev() {
                    let offset = func.imm((below + at) & 0xff_ffff);
                    let srcs = [Operand::Reg(top), offset, part(fresh, *word)];
                    let store = make(func, &format!("STL{suffix}"), None, &[], &srcs);
                    func.insert_after(*inst, store);
                }
            }
        }
    }

    /// The register that the frame ends at, made in the first block.
    fn top(&mut self, func: &mut Function) -> Reg {
        if let Some(top) = self.top {
            return top;
        }
        let top = self.temp(func, RegInfo::words(1));
        let bank = Operand::constant(0, self.places.constants.stack);
        let first = func.entry();
        let load = make(func, "LDC", None, &[Operand::Reg(top)], &[Operand::wired(RegFile::R, 1), bank]);
        func.prepend_inst(first, load);
        self.top = Some(top);
        top
    }

    /// Makes a value again before each use.
    fn rematerialize(&mut self, func: &mut Function, reg: Reg, insts: &[Inst], definition: Inst) {
        let info = func.regs()[reg];
        let (head, srcs) = (func.inst(definition).head(), func.srcs(definition).to_vec());
        for inst in insts.iter().filter(|inst| **inst != definition) {
            let fresh = self.temp(func, info);
            let again = func.new_inst(head, &[Operand::Reg(fresh)], &srcs, &[]);
            func.insert_before(*inst, again);
            rename(func, *inst, reg, fresh);
        }
        func.remove_inst(definition);
    }
}

/// The one definition of a register that can be repeated anywhere: it reads no register.
fn again(func: &Function, reg: Reg, insts: &[Inst]) -> Option<Inst> {
    let mut writers = insts.iter().filter(|inst| func.dsts(**inst).iter().any(|dst| dst.reg() == Some(reg)));
    let (only, None) = (writers.next()?, writers.next()) else { return None };
    (can_repeat(func, *only) == Some(reg)).then_some(*only)
}

/// The register that an instruction makes which can be repeated anywhere: numbers, words of a constant bank, special
/// registers that never change.
fn can_repeat(func: &Function, inst: Inst) -> Option<Reg> {
    let data = func.inst(inst);
    let reads_none = func.inputs(inst).iter().all(|operand| operand.reg().is_none());
    let is_pure = data.opcode == Opcode::MachinePure && data.guard.is_none();
    match func.dsts(inst) {
        [Operand::Reg(reg)] if is_pure && reads_none => Some(*reg),
        _ => None,
    }
}

/// The registers whose only definition can be repeated anywhere.
pub(super) fn repeatable(func: &Function) -> Vec<Reg> {
    let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
    for inst in func.layout_insts() {
        func.dsts(inst).iter().filter_map(|dst| dst.reg()).for_each(|reg| definitions[reg] += 1);
    }
    let made = func.layout_insts().filter_map(|inst| can_repeat(func, inst));
    made.filter(|reg| definitions[*reg] == 1 && func.regs()[*reg].file == RegFile::R).collect()
}

fn reads(func: &Function, inst: Inst, reg: Reg) -> bool {
    let is_guard = func.inst(inst).guard.is_some_and(|guard| guard.reg() == reg);
    is_guard || func.inputs(inst).iter().any(|operand| operand.reg() == Some(reg))
}

/// Puts one register in the place of another; whether the instruction writes it.
fn rename(func: &mut Function, inst: Inst, from: Reg, to: Reg) -> bool {
    let change = |reg: Reg| if reg == from { to } else { reg };
    for operand in func.inputs_mut(inst) {
        *operand = operand.map_reg(change);
    }
    let mut writes = false;
    for operand in func.dsts_mut(inst) {
        writes |= operand.reg() == Some(from);
        *operand = operand.map_reg(change);
    }
    let guard = func.inst(inst).guard.map(|guard| guard.with_reg(change(guard.reg())));
    func.set_guard(inst, guard);
    writes
}

pub(super) fn make(
    func: &mut Function,
    mnemonic: &str,
    guard: Option<Guard>,
    dsts: &[Operand],
    srcs: &[Operand],
) -> Inst {
    let id = identity(mnemonic);
    let opcode = func.machine_opcode(id, srcs).expect("it has a row");
    func.new_inst(InstHead { opcode, fields: id.fields(), guard, line: 0 }, dsts, srcs, &[])
}
