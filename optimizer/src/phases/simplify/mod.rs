//! Constant folding and algebraic simplification: the second step of a bundle's round.
//!
//! One scan in reverse post-order rewrites each instruction until nothing fits. What can be said as a rule stands in the
//! rule files of [`crate::peephole`]; [`control`] is what cannot, and says why. Each single change lowers a measure
//! ([`crate::peephole::cost`]; for the code: operations that are neither copies nor constants, guards, operands out of
//! canonical order), so that the scan ends; [`BUDGET`] bounds it whatever rules a user brings.
//!
//! What a change may assume: operations read only the bits of their type and zero-extend, so a 16-bit operation is no
//! copy of its operand's register. Floats change only bit for bit, NaN, signed zeros and flushing included. An
//! instruction with an undefined operand is left alone. Results that become known turn into `mov`, which copy
//! propagation forwards and dead-code elimination removes.
//!
//! Cost: linear in instructions; a decision tree finds the few rules that may fit one.

mod control;

use std::borrow::Cow;
use std::sync::Arc;

use super::analyze_control_flow::remove_incoming;
use super::values::mov_type;
use crate::analysis::{Cfg, Definitions, Uses};
use crate::ir::{Block, Function, Guard, Inst, InstBuilder, InstData, InstHead, Operand};
use crate::ops::{FieldValues, Flags, Opcode};
use crate::peephole::rewrite::{Place, Plan, mov_fields};
use crate::peephole::{RuleSet, Subject};
use crate::pipeline::context::{Changed, PhaseContext};

/// How many changes a scan makes at most for each instruction of the function. Chains of rules on one instruction are
/// short: the longest seen on the corpus is 6 (2026-11).
const BUDGET: usize = 64;

/// What an instruction becomes.
enum Rewrite {
    /// Copies of these values into its destinations.
    Values(Vec<Operand>),
    /// Copies of its `else` values, without the guard.
    Otherwise,
    /// Another operation with the same destinations, guard and `else`.
    Inst(Opcode, FieldValues, Vec<Operand>),
    /// The same operation under another guard.
    Guard(Option<Guard>),
    /// A branch to one block.
    Goto(Block),
    /// Nothing: it never executes.
    Nothing,
}

/// A change with leave: by code, or by a rule.
enum Change {
    Code(Rewrite),
    Rule(Plan),
}

/// A named simplification in code, for all opcodes or for one.
struct CodeRule {
    name: &'static str,
    opcode: Option<Opcode>,
    apply: fn(&View<'_>) -> Option<Rewrite>,
}

/// An instruction and what defines its operands.
struct View<'a> {
    subject: Subject<'a>,
    inst: Inst,
    data: &'a InstData,
    /// The sources, with known constants in place of their registers.
    srcs: Cow<'a, [Operand]>,
}

impl<'a> View<'a> {
    fn new(subject: Subject<'a>, inst: Inst) -> View<'a> {
        View { subject, inst, data: &subject.func.insts[inst], srcs: subject.sources(inst) }
    }

    fn src(&self, index: usize) -> Option<Operand> {
        self.srcs.get(index).copied()
    }

    /// The first source of the unguarded operation with this opcode that defines an operand.
    fn source_of(&self, operand: Operand, opcode: Opcode) -> Option<Operand> {
        let inst = self.subject.definitions.unguarded(self.subject.func, operand, opcode)?;
        self.subject.func.srcs(inst).first().copied()
    }

    /// Whether the rewrite can be written down: copies need a `mov` of each destination's width.
    fn takes(&self, rewrite: &Rewrite) -> bool {
        let (func, copies) = (self.subject.func, matches!(rewrite, Rewrite::Values(_) | Rewrite::Otherwise));
        !copies || func.defs(self.inst).all(|reg| mov_type(func.regs[reg]).is_some())
    }
}

/// The names of all simplifications: those in code, then the built-in rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    let rules: Vec<&'static str> = RuleSet::builtin().rules().iter().map(|rule| rule.name).collect();
    control::RULES.iter().map(|rule| rule.name).chain(rules)
}

/// Simplifies every reachable instruction.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg, definitions: Definitions) -> Changed {
    let mut pass = Simplify {
        rules: cx.rules(),
        definitions,
        uses: Uses::new(func),
        left: BUDGET.saturating_mul(func.inst_count()),
        changed: Changed::No,
    };
    for block in cfg.rpo().iter().copied() {
        let mut at = 0;
        while let Some(inst) = func.blocks[block].insts.get(at).copied() {
            match pass.step(func, cx, inst) {
                Some(change) => pass.apply(func, Place { block, at }, change),
                None => at += 1,
            }
        }
    }
    pass.changed
}

struct Simplify {
    rules: Arc<RuleSet>,
    definitions: Definitions,
    uses: Uses,
    left: usize,
    changed: Changed,
}

impl Simplify {
    /// The first change that fits and has leave.
    fn step(&self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> Option<Change> {
        let data = &func.insts[inst];
        if matches!(data.opcode, Opcode::Phi) || func.srcs(inst).contains(&Operand::Undef) || self.left == 0 {
            return None;
        }
        let subject = Subject { func, definitions: &self.definitions, uses: &self.uses };
        let view = View::new(subject, inst);
        let fits = |rule: &&CodeRule| rule.opcode.is_none_or(|opcode| opcode == data.opcode);
        let by_code = control::RULES
            .iter()
            .filter(fits)
            .find_map(|rule| Some((rule.name, (rule.apply)(&view).filter(|rewrite| view.takes(rewrite))?)));
        if let Some((name, rewrite)) = by_code {
            return cx.rewrite(name).then_some(Change::Code(rewrite));
        }
        let found = self.rules.find_or(subject, inst, &view.srcs, |rule| cx.count(rule.unmet, 1))?;
        cx.rewrite(self.rules.rules()[found.rule].name).then_some(Change::Rule(found.plan))
    }

    fn apply(&mut self, func: &mut Function, place: Place, change: Change) {
        self.changed = Changed::Yes;
        self.left -= 1;
        match change {
            Change::Rule(plan) => drop(plan.apply(func, &mut self.definitions, &mut self.uses, place)),
            Change::Code(rewrite) => self.apply_code(func, place, rewrite),
        }
    }

    fn apply_code(&mut self, func: &mut Function, place: Place, rewrite: Rewrite) {
        let inst = func.blocks[place.block].insts[place.at];
        let before = func.insts[inst];
        let old = func.insts.push(before);
        let count = self.replace(func, place, rewrite);
        for new in &func.blocks[place.block].insts[place.at..place.at + count] {
            self.uses.add(func, *new);
        }
        self.uses.remove(func, &self.definitions, old);
    }

    /// Returns how many instructions now stand in its place.
    fn replace(&mut self, func: &mut Function, place: Place, rewrite: Rewrite) -> usize {
        let Place { block, at } = place;
        let inst = func.blocks[block].insts[at];
        let data = func.insts[inst];
        let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
        match rewrite {
            Rewrite::Values(values) => return self.copies(func, place, data.guard, &values, &elses),
            Rewrite::Otherwise => return self.copies(func, place, None, &elses, &[]),
            Rewrite::Inst(opcode, fields, srcs) => {
                let new = func.new_inst(InstHead { opcode, fields, ..data.head() }, &dsts, &srcs, &elses);
                func.replace_inst(inst, new);
            }
            Rewrite::Guard(guard) => {
                let srcs = func.srcs(inst).to_vec();
                let elses = if guard.is_some() { elses } else { Vec::new() };
                let new = func.new_inst(InstHead { guard, ..data.head() }, &dsts, &srcs, &elses);
                func.replace_inst(inst, new);
            }
            Rewrite::Goto(target) => {
                let lost: Vec<Block> = func.successors(block).filter(|next| *next != target).collect();
                InstBuilder::new(Opcode::Bra).src(target).replace(func, inst);
                for next in lost {
                    remove_incoming(func, next, |from| from == block);
                }
            }
            Rewrite::Nothing => {
                func.blocks[block].insts.remove(at);
                return 0;
            }
        }
        1
    }

    /// Puts a `mov` for each destination in place of an instruction. The instruction itself becomes the first.
    fn copies(
        &mut self,
        func: &mut Function,
        place: Place,
        guard: Option<Guard>,
        values: &[Operand],
        elses: &[Operand],
    ) -> usize {
        let Place { block, at } = place;
        let inst = func.blocks[block].insts[at];
        let (line, dsts) = (func.insts[inst].line, func.dsts(inst).to_vec());
        for (index, (dst, value)) in dsts.iter().zip(values).enumerate() {
            let ty = func.operand_info(*dst).and_then(mov_type).expect("checked before the change was taken");
            let old: &[Operand] = elses.get(index..=index).unwrap_or(&[]);
            let head = InstHead { opcode: Opcode::Mov, fields: mov_fields(ty), guard, line };
            let mov = func.new_inst(head, &[*dst], &[*value], old);
            if index == 0 {
                func.replace_inst(inst, mov);
            } else {
                func.blocks[block].insts.insert(at + index, mov);
                dst.reg().into_iter().for_each(|reg| self.definitions.set(reg, mov, block));
            }
        }
        dsts.len()
    }
}

/// Whether the results depend on the operands alone.
fn is_pure(data: &InstData) -> bool {
    data.is(Flags::PURE)
}
