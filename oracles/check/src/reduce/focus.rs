//! Where a reduction begins: with what a finding names, instead of with the whole program.
//!
//! A finding names the store whose bytes differ, and the change after which they do. [`candidates`] are programs of
//! little else, the simplest first: the slice of the store, that of the store with what the change has touched, the
//! same with all that may have stored what they read, and the store of what the change has touched. A reduction takes
//! the first that still shows what it is about; where none does, it loses a handful of checks.

use oriole_ir::ops::{Opcode, Shape};
use oriole_ir::{Function, Inst, InstHead, Module, Operand, inst_to_string};

use super::edit;
use super::items;
use super::measure::measure;
use super::slice::{self, Memory, Site};
use crate::judge::{Judge, Mismatch, Verdict};
use crate::report::Evidence;

/// A change that touches more is not followed: it has made a function anew.
const MOST_TOUCHED: usize = 64;

/// The instructions that a finding names, in the program before the step.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Roots {
    /// The last store to the first byte that differs.
    pub stores: Vec<Site>,
    /// What the guilty change has touched.
    pub touched: Vec<Site>,
}

impl Roots {
    /// What a verdict names of a program whose case leads to it.
    pub fn of_stores(module: &Module, judge: &Judge<'_>, verdict: &Verdict) -> Roots {
        Roots { stores: stores(module, judge, verdict), touched: Vec::new() }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.touched.is_empty()
    }
}

/// The last store to the first byte that differs.
fn stores(module: &Module, judge: &Judge<'_>, verdict: &Verdict) -> Vec<Site> {
    let Verdict::Mismatch(Mismatch::Bytes { argument: Some(argument), offset, .. }) = verdict else {
        return Vec::new();
    };
    let Some(record) = judge.last_store(module, (*argument, *offset)) else { return Vec::new() };
    let named = |(id, inst): &Site| {
        let func = &module.functions[*id];
        func.name == record.place.function && inst_to_string(func, *inst, Some(module)) == record.place.text
    };
    slice::effects_of(module).filter(named).collect()
}

/// The instructions of a program that differ between two programs made of it: by one of its steps, with leave for
/// one change less and with it.
pub fn touched(before: &Module, good: &Module, bad: &Module) -> Vec<Site> {
    let mut found = Vec::new();
    for (id, func) in &before.functions {
        let (Some(good), Some(bad)) = (good.functions.get(id), bad.functions.get(id)) else { return Vec::new() };
        let insts = func.layout_insts().filter(|inst| state(good, *inst) != state(bad, *inst));
        found.extend(insts.map(|inst| (id, inst)));
    }
    found.truncate(if found.len() > MOST_TOUCHED { 0 } else { MOST_TOUCHED });
    found
}

/// What an instruction is: its head, and its operands with the bits of those that are constants.
type State = (InstHead, Vec<(Operand, Option<u64>)>);

/// What an instruction is in a function, and where; `None` where it has gone.
fn state(func: &Function, inst: Inst) -> Option<State> {
    func.insts().get(inst)?;
    func.block_of(inst)?;
    let operands = func.dsts(inst).iter().chain(func.inputs(inst));
    Some((func.inst(inst).head(), operands.map(|operand| (*operand, func.imm_bits(*operand))).collect()))
}

/// Programs that may show the same as the whole one, the simplest first.
pub fn candidates(evidence: &Evidence, roots: &Roots) -> Vec<Evidence> {
    let mut all = Vec::new();
    let mut sliced = |roots: &[Site], memory| {
        if !roots.is_empty() {
            let mut slice = evidence.clone();
            slice::keep(&mut slice, roots, memory);
            all.push(slice);
        }
    };
    let both = [&roots.stores[..], &roots.touched].concat();
    sliced(&roots.stores, Memory::Unknown);
    sliced(&roots.touched, Memory::Unknown);
    sliced(&both, Memory::Unknown);
    sliced(&both, Memory::Whole);
    all.extend(roots.touched.iter().rev().filter_map(|touched| stored(evidence, &roots.stores, *touched)));
    let mut needed = evidence.clone();
    items::keep_needed(&mut needed, |id| both.iter().any(|(root, _)| *root == id));
    all.push(needed);
    all.sort_by_cached_key(measure);
    all.dedup();
    all
}

/// The slice of the one store, where it stores what the change has touched, and not what is made of that.
fn stored(evidence: &Evidence, stores: &[Site], (id, touched): Site) -> Option<Evidence> {
    let mut evidence = evidence.clone();
    let func = &mut evidence.module.functions[id];
    let (_, store) = *stores.iter().find(|(other, _)| *other == id)?;
    let data = *func.inst(store);
    let value =
        data.src_shapes(func.srcs(store).len()).iter().position(|shape| matches!(shape, Shape::V | Shape::T))?;
    let result = Operand::Reg(func.defs(touched).next()?);
    let fits = func.operand_info(result) == func.operand_info(func.srcs(store)[value]);
    if data.opcode != Opcode::St || !fits || func.srcs(store)[value] == result {
        return None;
    }
    func.srcs_mut(store)[value] = result;
    slice::keep(&mut evidence, &[(id, store)], Memory::Unknown);
    evidence.module.functions.values_mut().for_each(edit::repair);
    Some(evidence)
}
