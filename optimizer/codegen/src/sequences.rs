//! Long sequences that a kernel holds several times, as functions that are called.
//!
//! Quotients and roots have a short way for most operands and a long one for the rest ([`crate::expand`]). Where a
//! kernel and what it calls hold the rest of one operation at least twice, it becomes a function, as ptxas makes
//! `$__internal_0_$__cuda_sm20_div_rn_f64_full` of it. The function takes its operands in registers, calls nothing and
//! has no frame; so a call costs the copies of operands and result, and only lanes on the long way make it.
//!
//! In the module such a function computes its operation as any other would, from parameters to a result. The operations
//! of kernels stay what they are until selection, which calls it in their place.
//!
//! **Invariant:** a sequence writes the general registers below those that it spares, not the stack pointer, and
//! convergence barriers alone that no caller keeps over a call. One that writes any of [`crate::allocate::SAVED`] is
//! called by kernels alone: functions leave those as they are.

use std::collections::BTreeMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Directive, FuncId, Function, FunctionKind, Inst, Module, Operand, PhysicalReg, RegFile};

use crate::expand;

/// The directive of such a function.
const SEQUENCE: &str = "sequence";
/// How often a kernel must hold a sequence to share it.
const LEAST: usize = 2;
/// A kernel that may have fewer general registers keeps its sequences where they are: values that are live there could
/// not be told from those of the function.
pub const LEAST_REGISTERS: u16 = 40;

/// How many general registers the order of instructions of a sequence aims at.
pub(crate) const FEW: u16 = 12;

/// The first register of the operands, the first of which is where the result comes back, too. Each takes as many words
/// as two operands of 64 bits would.
const OPERANDS: u16 = 2;
/// The first of the two registers with the address to return to.
pub const RETURN: u16 = 6;

/// The first register of an operand.
pub fn operand(place: usize) -> u16 {
    OPERANDS + 2 * place as u16
}

/// A sequence as those that call it know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// The function.
    pub function: FuncId,
    /// By file, the first register that it leaves as it is.
    pub spared: Spared,
}

/// By file, the first register that a function leaves as it is, and all behind it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spared([u16; 4]);

impl Spared {
    /// The first ones behind those that a function in physical form writes.
    pub fn by(func: &Function) -> Spared {
        let mut spared = Spared::default();
        let written = func.layout_insts().flat_map(|inst| func.dsts(inst)).filter_map(|dst| dst.reg());
        for PhysicalReg { file, number, words } in written.filter_map(PhysicalReg::of) {
            if let Some(first) = place(file).map(|place| &mut spared.0[place]) {
                *first = (*first).max(u16::from(number) + u16::from(words));
            }
        }
        spared
    }

    /// The first register of a file; of convergence barriers those that functions keep are told elsewhere.
    pub fn first(self, file: RegFile) -> u16 {
        place(file).map_or(0, |place| self.0[place])
    }
}

fn place(file: RegFile) -> Option<usize> {
    match file {
        RegFile::R => Some(0),
        RegFile::P => Some(1),
        RegFile::UR => Some(2),
        RegFile::UP => Some(3),
        RegFile::B => None,
    }
}

/// The operation that a function is the sequence of.
pub fn of(func: &Function) -> Option<String> {
    let is_sequence = func.directives.iter().any(|directive| directive.name == SEQUENCE);
    let inst = func.layout_insts().find(|inst| !matches!(func.inst(*inst).opcode, Opcode::Ld | Opcode::St));
    is_sequence.then(|| inst.map(|inst| func.operation(inst)))?
}

/// Whether a function is a sequence.
pub fn is(func: &Function) -> bool {
    func.directives.iter().any(|directive| directive.name == SEQUENCE)
}

/// The operands of an instruction of the machine that are in its word: not the registers that a call of a sequence
/// hands over, nor those of its return.
pub(crate) fn of_word(func: &Function, inst: Inst) -> (&[Operand], &[Operand]) {
    let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
    match srcs.iter().position(|src| matches!(src, Operand::Func(_))) {
        Some(function) => (&[], &srcs[..=function]),
        None => (dsts, srcs),
    }
}

/// The operations whose sequences a kernel shares with what it calls.
fn shared(module: &Module, group: &[FuncId]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for func in group.iter().map(|id| &module.functions[*id]).filter(|func| !is(func)) {
        expand::rests(func).into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    counts.into_iter().filter(|(_, count)| *count >= LEAST).map(|(name, _)| name).collect()
}

/// The sequences that a kernel shares with what it calls, by their operations; those alone that the module has.
pub fn of_group(module: &Module, group: &[FuncId]) -> Vec<(String, FuncId)> {
    let has_any = module.functions.values().any(is);
    let names = if has_any { shared(module, group) } else { Vec::new() };
    let named = names.into_iter().filter_map(|name| {
        let (id, _) = module.functions.iter().find(|(_, func)| of(func).as_ref() == Some(&name))?;
        Some((name, id))
    });
    named.collect()
}

/// Adds the functions of sequences that kernels share. A module that has them stays as it is.
pub fn add(module: &mut Module) {
    let mut names: Vec<String> = Vec::new();
    for (id, func) in module.functions.iter() {
        if func.kind == FunctionKind::Entry && func.is_definition() {
            let group: Vec<FuncId> = std::iter::once(id).chain(crate::compile::callees(module, id)).collect();
            names.extend(shared(module, &group));
        }
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !module.functions.values().any(|func| of(func).as_ref() == Some(name)));
    for name in names {
        let number = module.functions.values().filter(|func| is(func)).count();
        module.functions.push(function(&name, number));
    }
}

/// The function of an operation, the so many'th of a module.
fn function(operation: &str, number: usize) -> Function {
    let rest = expand::rest_of(operation).expect("what is shared has a rest");
    let is_wide = operation.ends_with("64");
    let (kind, register, bytes) = if is_wide { ("b64", "%d", 8) } else { ("b32", "%r", 4) };
    let inputs = 0..rest;
    let declared: String = inputs.clone().map(|at| format!("  param $x{at}: {kind} param align {bytes}\n")).collect();
    let loads: String = inputs.clone().map(|at| format!("  {register}{at} = ld.param.{kind} [$x{at}]\n")).collect();
    let named: Vec<String> = inputs.map(|at| format!("{register}{at}")).collect();
    let text = format!(
        "device @sequence ssa {{\n{declared}  return $y: {kind} param align {bytes}\nbb0:\n{loads}  {register}{rest} = \
         {operation} {}\n  st.param.{kind} [$y], {register}{rest}\n  ret\n}}\n",
        named.join(", ")
    );
    let module = oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("no Ori: {error:?}\n{text}"));
    let mut func = module.functions.values().next().expect("it was parsed").clone();
    func.name = format!("$__internal_{number}_$__{}", operation.replace('.', "_"));
    func.directives.push(Directive { name: SEQUENCE.to_owned(), values: Vec::new() });
    func
}
