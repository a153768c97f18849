//! Allocations of equal functions are shared.
//!
//! A function that several kernels call is selected once for each, and kernels may be equal but for their names. Each
//! is told by a fingerprint over its instructions: opcode, number of operands, encoding, file and width of its
//! registers, each taken in by `h = (1025 * (v + h)) ^ ((1025 * (v + h)) >> 6)` (`spec/copy-propagation-and-cse.txt`,
//! 1270-1278). Where two have one fingerprint, they are compared word by word before one takes over the places of the
//! other.

use oriole_ir::{Function, Guard, Inst, Operand, Reg};

use super::{AllocError, Allocation, Limits, allocate};
use crate::select::{Places, Selected};
use crate::sequences;

/// The allocations of a module so far.
#[derive(Debug, Default)]
pub struct Cache {
    known: Vec<Known>,
    /// How many functions took over an allocation.
    pub hits: usize,
}

/// A function, its surroundings as far as allocation asks them, and its allocation.
#[derive(Debug)]
struct Known {
    hash: u32,
    selected: Selected,
    limits: Limits,
    /// Bytes of the frame without spilled registers, and the place of the stack pointer in bank 0.
    frame: (u32, u32),
    made: Allocation,
}

/// Takes a value into a fingerprint.
pub fn accumulate(hash: u32, value: u32) -> u32 {
    let sum = value.wrapping_add(hash).wrapping_mul(1025);
    sum ^ (sum >> 6)
}

/// The fingerprint of a function.
pub fn fingerprint(func: &Function) -> u32 {
    let mut hash = 0;
    let mut take = |value: u32| hash = accumulate(hash, value);
    for block in func.layout() {
        take(block.as_u32());
        for inst in func.block_insts(*block) {
            let data = func.inst(inst);
            take(data.opcode as u32);
            take(data.machine().map_or(0, |id| id.row.into()));
            take((func.dsts(inst).len() as u32) << 16 | func.srcs(inst).len() as u32);
            let operands = func.dsts(inst).iter().chain(func.inputs(inst)).copied();
            for operand in operands.chain(data.guard.map(|guard| Operand::Reg(guard.reg()))) {
                // The file is the class, and the width stands for the pair mode.
                let class = func.operand_info(operand).map_or(0, |info| 1 + info.file as u32);
                let words = func.operand_info(operand).map_or(0, |info| u32::from(info.words));
                take(class | words << 20);
                take(operand.reg().map_or(0, Reg::as_u32));
            }
        }
    }
    hash
}

impl Cache {
    /// As [`allocate`], where no equal function was allocated before.
    ///
    /// # Errors
    ///
    /// As [`allocate`].
    pub fn allocate(&mut self, selected: Selected, places: &Places, limits: Limits) -> Result<Allocation, AllocError> {
        let (hash, frame) = (fingerprint(&selected.func), (places.frame, places.constants.stack));
        let is_equal = |known: &&Known| {
            (known.hash, known.limits, known.frame) == (hash, limits, frame) && equal(&known.selected, &selected)
        };
        if let Some(known) = self.known.iter().find(is_equal) {
            self.hits += 1;
            return Ok(taken_over(&known.made, &selected.func));
        }
        let made = allocate(selected.clone(), places, limits)?;
        self.known.push(Known { hash, selected, limits, frame, made: made.clone() });
        Ok(made)
    }
}

/// The places of an equal function, with the name of this one, its lines and the functions that it names.
fn taken_over(made: &Allocation, func: &Function) -> Allocation {
    let mut made = made.clone();
    made.func.name.clone_from(&func.name);
    made.func.directives.clone_from(&func.directives);
    made.func.linkage = func.linkage;
    for inst in made.func.layout_insts().collect::<Vec<Inst>>() {
        let origin = made.origins[inst];
        made.func.set_line(inst, origin.map_or(0, |origin| func.inst(origin).line));
        let named = origin.map(|origin| func.srcs(origin).to_vec()).unwrap_or_default();
        for (src, own) in made.func.srcs_mut(inst).iter_mut().zip(named) {
            if let (Operand::Func(_), Operand::Func(_)) = (*src, own) {
                *src = own;
            }
        }
    }
    made
}

/// Whether two functions are the same but for their names, the lines that instructions come from, and the functions
/// that they return to or call: where a function is makes no difference to registers.
pub fn equal(one: &Selected, other: &Selected) -> bool {
    let (a, b) = (&one.func, &other.func);
    let around = |selected: &Selected| (selected.stack, selected.func.kind, selected.func.regs().len());
    if around(one) != around(other)
        || (&one.fixed, &one.results, &one.bundles) != (&other.fixed, &other.results, &other.bundles)
        || (&one.patches, &one.sequences) != (&other.patches, &other.sequences)
        || sequences::is(a) != sequences::is(b)
        || a.layout() != b.layout()
        || !a.regs().values().eq(b.regs().values())
    {
        return false;
    }
    let same_operand = |left: &Operand, right: &Operand| match (left, right) {
        (Operand::Func(_), Operand::Func(_)) => true,
        (Operand::Name(_), Operand::Name(_)) => a.text(*left) == b.text(*right),
        _ => a.free(*left) == b.free(*right),
    };
    let same = |left: &[Operand], right: &[Operand]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_operand(left, right))
    };
    let guard = |guard: Option<Guard>| guard.map(|guard| (guard.reg(), guard.negated()));
    let same_inst = |inst: Inst| {
        let (old, new) = (a.inst(inst), b.inst(inst));
        (old.opcode, old.fields, guard(old.guard)) == (new.opcode, new.fields, guard(new.guard))
            && same(a.dsts(inst), b.dsts(inst))
            && same(a.inputs(inst), b.inputs(inst))
    };
    // Instructions have the same numbers too, since allocation says by number where one comes from.
    a.layout_insts().eq(b.layout_insts()) && a.layout_insts().all(same_inst)
}
