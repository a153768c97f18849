//! Whether macro expansion has left a constraint violated.

use oriole_ir::{Function, Inst, Operand, Reg};
use oriole_sass::{Table, ori};

use super::constraint::{Annotations, Constraint};
use super::facts::Facts;
use crate::select::{Selected, probes};
use crate::sequences;

/// A constraint that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// The machine has no instruction with these operands.
    #[error("`{0}` takes no such operands")]
    Operands(String),
    /// A word that its register does not have.
    #[error("`{0}` names word {2} of {1}, which has fewer")]
    Word(String, Reg, u8),
    /// A word of a group that is read and that nothing writes.
    #[error("`{0}` reads word {2} of {1}, which nothing writes")]
    Unwritten(String, Reg, u8),
    /// A copy of a value that is wanted in one place alone and is made elsewhere, though no distance was in the way.
    #[error("`{0}` copies what could be made there")]
    Copy(String),
}

/// Finds the violations of a function. `distance` as in [`super::expand`]; where it is none, no copy may be left that
/// a step would take. `written` says which words the function wrote before expansion.
pub fn check(
    selected: &Selected,
    table: &'static Table,
    distance: Option<u32>,
    written: &dyn Fn(Reg, u8) -> bool,
) -> Vec<Violation> {
    let func = &selected.func;
    let mut found = Vec::new();
    let text = |inst: Inst| oriole_ir::inst_to_string(func, inst, None);
    let own = words_written(func);
    for inst in func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some()) {
        for operand in func.dsts(inst).iter().chain(func.inputs(inst)) {
            let Some((reg, words)) = super::facts::words(func, *operand) else { continue };
            for word in words {
                if word >= func.regs()[reg].words.max(1) {
                    found.push(Violation::Word(text(inst), reg, word));
                } else if func.inputs(inst).contains(operand) && written(reg, word) && !own.contains(&(reg, word)) {
                    found.push(Violation::Unwritten(text(inst), reg, word));
                }
            }
        }
        let (dsts, srcs) = sequences::of_word(func, inst);
        let (dsts, srcs) = (probes(func, dsts), probes(func, srcs));
        let mnemonic = func.mnemonic(inst).unwrap_or_default();
        if ori::word_of(table, func, &mnemonic, &dsts, &srcs, &|_| Some(0)).is_none() {
            found.push(Violation::Operands(text(inst)));
        }
    }
    if distance.is_none() {
        let facts = Facts::of(selected);
        let annotations = Annotations::of(func, &facts);
        for copy in facts.copies() {
            let is_chain = matches!(copy.to, Operand::Reg(to) if facts.may_replace(copy.inst, to, copy.from));
            let is_wanted = match (copy.to, copy.from) {
                (Operand::Word(group, word), Operand::Reg(value)) if facts.is_simple(group) => {
                    let wanted = annotations.of_value(value);
                    matches!(wanted, Constraint::Word { group: own, word: at, .. } if (own, at) == (group, word))
                }
                _ => false,
            };
            if is_chain || is_wanted {
                found.push(Violation::Copy(text(copy.inst)));
            }
        }
    }
    found
}

/// The words that a function writes.
pub fn words_written(func: &Function) -> std::collections::BTreeSet<(Reg, u8)> {
    let written = func.layout_insts().flat_map(|inst| func.dsts(inst));
    let words = written.filter_map(|dst| super::facts::words(func, *dst));
    words.flat_map(|(reg, words)| words.map(move |word| (reg, word))).collect()
}
