//! Macro expansion: which values are made where an instruction of several words wants them, and which are copied there.
//!
//! An instruction that names a group of registers side by side ([`roles`]) constrains each word of it
//! ([`constraint`]). Selection copies every word into a group of its own. This stage annotates each register with the
//! meet of what its uses want, and resolves what agrees (`spec/peephole.txt`, 580-710):
//!
//! 1. *Chains.* A word that is copied from a word is that word: its readers read the first one of the chain. A group
//!    whose words are all copied from the words of another group, in their order, is that group. The chain is taken
//!    whole or not at all (`validateOperandChain`).
//! 2. *Equal groups.* A group whose words are copied from the same values as those of an earlier one is that one.
//! 3. *In place.* A value that one word of one group alone is copied from is made there.
//!
//! Copies that are left have values that are wanted in two places at once. `MacroExpansionDistance` (183) bounds how
//! far a group may be kept for what reads it later: in steps 2 and 3 at most so many instructions with groups lie
//! between the copy that is left, or the definition, and the copy that goes. With 0 every copy stays.
//!
//! **Where the document guesses.** It has register files A and B and calls them odd and even pairs. There are no odd
//! pairs: -2 is here an even word of a group, -3 an odd one, and the width code is the width of the group. It gives no
//! unit of the distance: here it is the instructions that may name groups, those of its worklist, since the others are
//! many and constrain nothing. It dispatches by 20 opcodes whose names are not those of what it does with
//! them; the rows of [`roles`] have the numbers by their role. What it inserts, I2IP and MOV, selection has made
//! before: here copies only go.
//!
//! **Invariants.** A register takes part whose words have one definition each, under no guard, which dominates all
//! reads. Then a value of the word is the value of its definition wherever it is read, so it is the same to read the
//! definition's own source. Each step takes at least one copy away and makes none, so the loop over the steps ends.
//! [`verify::check`] finds no constraint that is left violated and no copy that a step would take.
//!
//! Cost: linear in instructions and operands, for as many rounds as chains are nested; dominance beside.

pub mod constraint;
mod facts;
pub mod roles;
#[cfg(test)]
mod tests;
pub mod verify;

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, Operand, Reg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::select::Selected;
use constraint::{Annotations, Constraint};
use facts::Facts;

/// The distance where no knob says another one.
pub const DISTANCE: u32 = 7;

/// The copies that went, by the step that took them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Expanded {
    /// Copies of chains, of words and of whole groups.
    pub chains: usize,
    /// Copies into groups that are equal to an earlier one.
    pub equal: usize,
    /// Copies of values that are made in place.
    pub in_place: usize,
}

impl Expanded {
    /// All copies that went.
    pub fn total(self) -> usize {
        self.chains + self.equal + self.in_place
    }
}

/// Resolves the constraints of a selected function; `distance` as the knob has it, `None` for no limit.
pub fn expand(selected: &mut Selected, distance: Option<u32>) -> Expanded {
    let mut done = Expanded::default();
    if distance == Some(0) {
        return done;
    }
    loop {
        let mut step = Step::new(selected, distance);
        step.chains();
        let found = if step.is_empty() { step.equal().or_else(|| step.in_place()) } else { Some(Kind::Chains) };
        let Some(kind) = found else { return done };
        let Step { to, gone, .. } = step;
        apply(&mut selected.func, &to, &gone);
        match kind {
            Kind::Chains => done.chains += gone.len(),
            Kind::Equal => done.equal += gone.len(),
            Kind::InPlace => done.in_place += gone.len(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Chains,
    Equal,
    InPlace,
}

/// A register that is no more: the operand that a whole use of it becomes. A wide one becomes a wide one.
type Substitution = SecondaryMap<Reg, Option<Operand>>;

/// The work of one round: analysed at once, then applied.
struct Step<'f> {
    func: &'f Function,
    facts: Facts,
    distance: Option<u32>,
    to: Substitution,
    gone: Vec<Inst>,
}

impl<'f> Step<'f> {
    fn new(selected: &'f Selected, distance: Option<u32>) -> Step<'f> {
        let facts = Facts::of(selected);
        Step { func: &selected.func, facts, distance, to: SecondaryMap::new(), gone: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }

    fn is_near(&self, first: Inst, last: Inst) -> bool {
        self.distance.is_none_or(|distance| self.facts.distance(first, last) <= distance)
    }

    /// Words that are copied from words, and groups that are copied from groups. A register leads to one that is
    /// defined before it, so no chain leads back to itself.
    fn chains(&mut self) {
        for copy in self.facts.copies() {
            if let Operand::Reg(to) = copy.to
                && self.facts.may_replace(copy.inst, to, copy.from)
            {
                self.to[to] = Some(copy.from);
                self.gone.push(copy.inst);
            }
        }
        for (group, words) in self.facts.groups() {
            let Some(Operand::Word(first, 0)) = words.first().map(|copy| copy.from) else { continue };
            let is_same = |(at, copy): (u8, &facts::Copy)| copy.from == Operand::Word(first, at);
            let same_width = self.func.regs()[group] == self.func.regs()[first];
            if same_width && group != first && self.facts.is_simple(first) && (0u8..).zip(&words).all(is_same) {
                self.to[group] = Some(Operand::Reg(first));
                self.gone.extend(words.iter().map(|copy| copy.inst));
            }
        }
    }

    /// Groups whose words are copied from the same values as those of an earlier one.
    fn equal(&mut self) -> Option<Kind> {
        struct Earlier {
            group: Reg,
            /// Where it is made.
            made: SmallVec<[Inst; 4]>,
            /// The last copy of it, or of one that became it.
            last: Inst,
        }
        let mut known: FxHashMap<SmallVec<[facts::Key; 4]>, Vec<Earlier>> = FxHashMap::default();
        for (group, words) in self.facts.groups() {
            let Some(key) = words.iter().map(|copy| self.facts.key(self.func, copy.from)).collect() else { continue };
            let made: SmallVec<[Inst; 4]> = words.iter().map(|copy| copy.inst).collect();
            let by_number = |inst: &&Inst| self.facts.number(**inst);
            let (Some(first), Some(last)) = (made.iter().min_by_key(by_number), made.iter().max_by_key(by_number))
            else {
                continue;
            };
            let (first, last) = (*first, *last);
            let earlier = known.entry(key).or_default();
            let width = self.func.regs()[group];
            let found = earlier.iter_mut().rev().find(|other| {
                let is_made = other.made.iter().all(|inst| made.iter().all(|own| self.facts.is_before(*inst, *own)));
                self.func.regs()[other.group] == width && is_made && self.is_near(other.last, first)
            });
            match found {
                Some(other) => {
                    self.to[group] = Some(Operand::Reg(other.group));
                    // It is there for what comes next, too.
                    other.last = last;
                    self.gone.extend(made);
                }
                None => earlier.push(Earlier { group, made, last }),
            }
        }
        (!self.is_empty()).then_some(Kind::Equal)
    }

    /// Values that one word of one group alone is copied from; where there are none, those that several are copied
    /// from, each made in the first of them: the others are copied from there.
    fn in_place(&mut self) -> Option<Kind> {
        let annotations = Annotations::of(self.func, &self.facts);
        for takes in [Constraint::is_resolved, Constraint::is_conflict] {
            for copy in self.facts.copies() {
                let (Operand::Word(group, _), Operand::Reg(value)) = (copy.to, copy.from) else { continue };
                let Some(made) = self.facts.definition(value, 0) else { continue };
                let is_free = self.to[value].is_none() && takes(annotations.of_value(value));
                if is_free && self.facts.is_simple(group) && self.is_near(made, copy.inst) {
                    self.to[value] = Some(copy.to);
                    self.gone.push(copy.inst);
                }
            }
            if !self.is_empty() {
                return Some(Kind::InPlace);
            }
        }
        None
    }
}

/// Puts operands in the place of registers, and takes instructions away.
fn apply(func: &mut Function, to: &Substitution, gone: &[Inst]) {
    gone.iter().for_each(|inst| func.remove_inst(*inst));
    let changed = |mut operand: Operand| {
        while let Some(with) = operand.reg().and_then(|reg| to[reg]) {
            let with = match (operand, with) {
                (Operand::Word(_, word), Operand::Reg(reg)) => Operand::Word(reg, word),
                (Operand::Modified { word: Some(word), .. }, Operand::Reg(reg)) => Operand::Word(reg, word),
                (_, with) => with,
            };
            operand = with.with_modifiers(operand.modifiers()).expect("a register takes any");
        }
        operand
    };
    for inst in func.layout_insts().collect::<Vec<_>>() {
        func.dsts_mut(inst).iter_mut().for_each(|operand| *operand = changed(*operand));
        func.inputs_mut(inst).iter_mut().for_each(|operand| *operand = changed(*operand));
    }
}
