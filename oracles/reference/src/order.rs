//! Whether instructions that were put in another order do what they did.
//!
//! The scheduler behind allocation orders the instructions of a block anew, over registers of the machine. [`check`]
//! takes the function before and after: each block has the same instructions, every register that one reads was
//! written by the same instructions of the block, or by none, and so is every register where the block ends. Two
//! instructions that do something else than compute registers keep their order, unless both only read memory or their
//! accesses cannot meet.
//!
//! Cost: for each block the pairs of instructions with an effect.

use std::collections::BTreeMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg, inst_to_string};

/// A fault of an order of instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disorder {
    /// The block.
    pub block: Block,
    /// Its fault.
    pub fault: Fault,
}

/// The fault of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It has other instructions.
    Instructions,
    /// The instruction reads another value than before.
    Reads(String),
    /// A register holds another value where the block ends.
    Ends,
    /// The two have changed their order.
    Effects(String, String),
}

impl std::fmt::Display for Disorder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let block = self.block;
        match &self.fault {
            Fault::Instructions => write!(out, "{block} has other instructions than before"),
            Fault::Reads(text) => write!(out, "{block}: `{text}` reads another value than before"),
            Fault::Ends => write!(out, "{block} leaves another value in a register than before"),
            Fault::Effects(first, second) => write!(out, "{block}: `{second}` comes before `{first}`"),
        }
    }
}

/// The instructions that may have written a register: back to the last one without a guard.
type Writers = Vec<Inst>;

/// The registers of a block: by instruction those that it reads with their writers, and those where it ends.
#[derive(PartialEq, Eq)]
struct Flow {
    reads: BTreeMap<Inst, Vec<(Reg, Writers)>>,
    ends: BTreeMap<Reg, Writers>,
}

/// The first fault of an order, if there is one.
pub fn check(before: &Function, after: &Function) -> Option<Disorder> {
    let wrong = |block: Block| fault(before, after, block).map(|fault| Disorder { block, fault });
    before.layout().iter().copied().find_map(wrong)
}

fn fault(before: &Function, after: &Function, block: Block) -> Option<Fault> {
    let text = |func: &Function, inst: Inst| inst_to_string(func, inst, None);
    let (old, new): (Vec<Inst>, Vec<Inst>) = (before.block_insts(block).collect(), after.block_insts(block).collect());
    let sorted = |insts: &[Inst]| {
        let mut insts = insts.to_vec();
        insts.sort_unstable();
        insts
    };
    let is_same = |inst: &Inst| text(before, *inst) == text(after, *inst);
    if sorted(&old) != sorted(&new) || !old.iter().all(is_same) {
        return Some(Fault::Instructions);
    }
    let (flow, other) = (flow(before, &old), flow(after, &new));
    if let Some(inst) = old.iter().find(|inst| flow.reads[*inst] != other.reads[*inst]) {
        return Some(Fault::Reads(text(before, *inst)));
    }
    if flow.ends != other.ends {
        return Some(Fault::Ends);
    }
    let place: BTreeMap<Inst, usize> = new.iter().copied().zip(0..).collect();
    // An address that is counted from an instruction is that of the call so far behind it.
    let until_call = |insts: &[Inst], from: Inst| {
        let rest = insts.iter().skip_while(|inst| **inst != from);
        rest.take_while(|inst| !before.is_machine_call(**inst)).count()
    };
    let is_counted = |inst: &&Inst| before.mnemonic(**inst).is_some_and(|name| name.starts_with("LEPC"));
    if let Some(inst) = old.iter().filter(is_counted).find(|inst| until_call(&old, **inst) != until_call(&new, **inst))
    {
        return Some(Fault::Reads(text(before, *inst)));
    }
    let acting: Vec<Inst> = old.iter().copied().filter(|inst| acts(before, *inst)).collect();
    for (at, first) in acting.iter().enumerate() {
        for second in &acting[at + 1..] {
            if place[first] > place[second] && !may_pass(before, &flow, *first, *second) {
                return Some(Fault::Effects(text(before, *first), text(before, *second)));
            }
        }
    }
    None
}

fn flow(func: &Function, insts: &[Inst]) -> Flow {
    let mut flow = Flow { reads: BTreeMap::new(), ends: BTreeMap::new() };
    for inst in insts {
        let writers = |reg: Reg| (reg, flow.ends.get(&reg).cloned().unwrap_or_default());
        let reads = func.uses(*inst).map(writers).collect();
        flow.reads.insert(*inst, reads);
        for def in func.defs(*inst) {
            let writers = flow.ends.entry(def).or_default();
            if func.inst(*inst).guard.is_none() {
                writers.clear();
            }
            writers.push(*inst);
        }
    }
    flow
}

/// Whether an instruction does something else than compute registers from registers.
fn acts(func: &Function, inst: Inst) -> bool {
    func.inst(inst).opcode != Opcode::MachinePure
}

/// Whether two instructions with effects may change their order.
fn may_pass(func: &Function, flow: &Flow, first: Inst, second: Inst) -> bool {
    let opcode = |inst: Inst| func.inst(inst).opcode;
    let is_load = |inst: Inst| opcode(inst) == Opcode::MachineLoad;
    let is_together = |inst: Inst| opcode(inst) == Opcode::MachineCollective;
    let is_store = |inst: Inst| matches!(opcode(inst), Opcode::MachineStore | Opcode::MachineAtomic);
    let is_access = |inst: Inst| is_load(inst) || is_store(inst);
    match (first, second) {
        (a, b) if is_together(a) || is_together(b) => {
            (is_together(a) || is_access(a)) && (is_together(b) || is_access(b))
        }
        (a, b) if !is_access(a) || !is_access(b) => is_constant(func, a) || is_constant(func, b),
        (a, b) if is_load(a) && is_load(b) => true,
        (a, b) if is_constant(func, a) || is_constant(func, b) => true,
        (a, b) => are_apart(func, flow, a, b),
    }
}

/// Whether a load reads what nothing writes while the kernel runs.
fn is_constant(func: &Function, inst: Inst) -> bool {
    func.mnemonic(inst).is_some_and(|name| name.split('.').any(|part| part == "CONSTANT"))
}

/// Whether two accesses are of other memories, or of other bytes behind the same base.
fn are_apart(func: &Function, flow: &Flow, first: Inst, second: Inst) -> bool {
    let name = |inst: Inst| func.mnemonic(inst).unwrap_or_default();
    let (one, other) = (name(first), name(second));
    let space = |name: &str| match name.split('.').next().unwrap_or_default() {
        "LDS" | "STS" | "ATOMS" | "LDSM" | "STSM" => Some('s'),
        "LDL" | "STL" => Some('l'),
        "LDG" | "STG" | "ATOMG" | "REDG" | "RED" => Some('g'),
        "LDC" => Some('c'),
        "TEX" | "TLD" | "TLD4" | "TXD" | "TXQ" | "TMML" | "SULD" | "SUST" | "SURED" => Some('i'),
        _ => None,
    };
    if let (Some(space), Some(of)) = (space(&one), space(&other))
        && space != of
    {
        return true;
    }
    let (Some((base, start, end)), Some((of, from, to))) = (bytes(func, first), bytes(func, second)) else {
        return false;
    };
    let writers = |inst: Inst, base: Operand| {
        let units: Vec<Reg> =
            base.reg().and_then(oriole_ir::PhysicalReg::of).into_iter().flat_map(|reg| reg.units()).collect();
        let reads = &flow.reads[&inst];
        reads.iter().filter(|(reg, _)| units.contains(reg)).cloned().collect::<Vec<_>>()
    };
    base == of && writers(first, base) == writers(second, of) && (end <= from || to <= start)
}

/// The base of an ordinary access, and its bytes from there.
fn bytes(func: &Function, inst: Inst) -> Option<(Operand, i64, i64)> {
    let name = func.mnemonic(inst)?;
    let mut parts = name.split('.');
    if !matches!(parts.next()?, "LDS" | "STS" | "LDL" | "STL" | "LDG" | "STG") {
        return None;
    }
    let width = parts.find_map(|part| match part {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    });
    let srcs = func.srcs(inst);
    let at = srcs.iter().position(|src| func.imm_bits(*src).is_some())?;
    let base = *srcs.get(at.checked_sub(1)?)?;
    // Offsets have 24 bits and a sign.
    let offset = (func.imm_bits(srcs[at])? as i32) << 8 >> 8;
    Some((base, offset.into(), i64::from(offset) + width.unwrap_or(4)))
}
