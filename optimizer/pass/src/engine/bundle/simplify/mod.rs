//! Constant folding and algebraic simplification: the second step of a bundle's round.
//!
//! One scan in reverse post-order rewrites each instruction that a change has touched until nothing fits. What can be
//! said as a rule is in the rule files of [`crate::peephole`]; [`control`] is what cannot, and says why. Each
//! single change lowers a measure ([`oriole_rules::cost`]; for the code: operations that are neither copies nor
//! constants, guards, operands out of canonical order), so that the scan ends; [`BUDGET`] bounds it whatever rules a
//! user brings.
//!
//! What a change may assume: operations read only the bits of their type and zero-extend, so a 16-bit operation is no
//! copy of its operand's register. Floats change only bit for bit, NaN, signed zeros and flushing included. An
//! instruction with an undefined operand is left alone. Results that become known turn into `mov`, which copy
//! propagation forwards and dead-code elimination removes. No rule moves work into a loop: where an operation before
//! the loop would go for a costlier one inside, both stay. No rule reads what a loop counts behind the step either:
//! with both values of the counter alive, the loop would copy one of them in every turn.
//!
//! Cost: linear in instructions; a decision tree finds the few rules that may fit one.

mod control;

use std::borrow::Cow;
use std::sync::Arc;

use crate::analysis::{AnalysisSet, BitMemo, Cfg, Definitions, LoopNest, Uses};
use crate::edit::graph::remove_incoming;
use crate::edit::values::become_copies;
use crate::engine::touched::Touched;
use crate::pass::{Changed, PhaseContext};
use crate::peephole::rewrite::Plan;
use crate::peephole::{Bindings, Match, RuleSet, Subject};
use oriole_ir::ops::{FieldValues, Flags, Opcode};
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, InstData, InstHead, Operand, Reg};
use oriole_rules::instance::Rule;

/// How many changes a scan makes at most for each instruction of the function. Chains of rules on one instruction are
/// short: the longest seen on the corpus is 6 (2026-11).
const BUDGET: usize = 64;

/// What an instruction becomes.
enum Rewrite {
    /// Copies of constants with these bits into its destinations.
    Constants(Vec<u64>),
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

/// Which simplifications a scan makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Everything,
    /// Those after which the results are values that are there already: constants, operands, `else` values.
    Values,
    /// The same, and branches of which one way is left.
    Conditionals,
    /// All of what reads or makes a predicate.
    Predicates,
}

impl Scope {
    /// Whether it has simplifications of an instruction at all.
    fn concerns(self, func: &Function, inst: Inst) -> bool {
        let is_predicate = |reg: Reg| func.regs()[reg].is_predicate();
        self != Scope::Predicates || func.defs(inst).chain(func.uses(inst)).any(is_predicate)
    }

    fn has(self, rewrite: &Rewrite) -> bool {
        match rewrite {
            Rewrite::Constants(_) | Rewrite::Otherwise | Rewrite::Guard(None) | Rewrite::Nothing => true,
            Rewrite::Goto(_) => self != Scope::Values,
            Rewrite::Inst(..) | Rewrite::Guard(Some(_)) => self.makes_instructions(),
        }
    }

    fn makes_instructions(self) -> bool {
        matches!(self, Scope::Everything | Scope::Predicates)
    }
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
        View { subject, inst, data: subject.func.inst(inst), srcs: subject.sources(inst) }
    }

    fn src(&self, index: usize) -> Option<Operand> {
        self.srcs.get(index).copied()
    }

    /// The bits of an immediate.
    fn imm(&self, operand: Operand) -> Option<u64> {
        self.subject.func.imm_bits(operand)
    }

    /// The first source of the unguarded operation with this opcode that defines an operand.
    fn source_of(&self, operand: Operand, opcode: Opcode) -> Option<Operand> {
        let inst = self.subject.definitions.unguarded(self.subject.func, operand, opcode)?;
        self.subject.func.srcs(inst).first().copied()
    }

    /// Whether the rewrite can be written down: copies need a `mov` of each destination's width.
    fn takes(&self, rewrite: &Rewrite) -> bool {
        let (func, copies) = (self.subject.func, matches!(rewrite, Rewrite::Constants(_) | Rewrite::Otherwise));
        !copies || func.defs(self.inst).all(|reg| func.regs()[reg].mov_type().is_some())
    }
}

/// The names of all simplifications: those in code, then the built-in rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    let rules: Vec<&'static str> = RuleSet::builtin().rules().iter().map(|rule| rule.name).collect();
    control::RULES.iter().map(|rule| rule.name).chain(rules)
}

/// Simplifies the reachable instructions that are touched; behind it, `touched` is what this scan has changed. Leaves
/// the analyses that are still true.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>, scope: Scope, touched: &mut Touched) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut pass = Simplify {
        scope,
        rules: cx.rules(),
        loops: Loops { nest: cx.analyses.get(func), cfg: cfg.clone() },
        definitions: cx.analyses.take(func),
        uses: cx.analyses.take(func),
        bits: BitMemo::default(),
        bindings: Bindings::default(),
        left: BUDGET.saturating_mul(func.inst_count()),
        lost: Vec::new(),
        earlier: std::mem::take(touched),
        touched: Touched::default(),
        changed: Changed::No,
        branches_changed: Changed::No,
    };
    for block in cfg.rpo().iter().copied() {
        let mut at = func.first_inst(block);
        while let Some(inst) = at {
            at = match pass.step(func, cx, inst) {
                Some(change) => pass.apply(func, inst, change),
                None => func.next_inst(inst),
            };
        }
    }
    pass.lost.sort_unstable();
    for edges in pass.lost.chunk_by(|a, b| a.0 == b.0) {
        remove_incoming(func, edges[0].0, |from| edges.binary_search(&(edges[0].0, from)).is_ok());
    }
    *touched = pass.touched;
    match (pass.changed, pass.branches_changed) {
        (Changed::No, _) => cx.analyses.put(pass.uses),
        (Changed::Yes, Changed::No) => cx.analyses.retain(AnalysisSet::CONTROL_FLOW),
        (Changed::Yes, Changed::Yes) => cx.analyses.retain(AnalysisSet::NONE),
    }
    // Uses leave out what is dead now, and are counted anew.
    cx.analyses.put(pass.definitions);
    pass.changed
}

/// The loops as they are at the beginning of a scan.
struct Loops {
    nest: Arc<LoopNest>,
    cfg: Arc<Cfg>,
}

impl Loops {
    fn depth(&self, block: Option<Block>) -> u32 {
        block.map_or(0, |block| self.nest.depth(&self.cfg, block))
    }
}

struct Simplify {
    scope: Scope,
    rules: Arc<RuleSet>,
    loops: Loops,
    definitions: Definitions,
    uses: Uses,
    bits: BitMemo,
    /// Memory for the captures of rules.
    bindings: Bindings,
    left: usize,
    /// Edges that are gone, target first. The phis behind them lose their sources all at once at the end, which no
    /// simplification looks at: a block may lose as many edges as it has.
    lost: Vec<(Block, Block)>,
    /// What had changed before the scan.
    earlier: Touched,
    /// What the scan has changed.
    touched: Touched,
    changed: Changed,
    /// Whether one of the changes was of a branch.
    branches_changed: Changed,
}

impl Simplify {
    /// The first change that fits and has leave.
    fn step(&mut self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> Option<Change> {
        let is_touched = self.earlier.concerns(func, inst) || self.touched.concerns(func, inst);
        if !is_touched || !self.scope.concerns(func, inst) {
            return None;
        }
        let data = func.inst(inst);
        if matches!(data.opcode, Opcode::Phi) || func.srcs(inst).contains(&Operand::Undef) || self.left == 0 {
            return None;
        }
        let subject = Subject { func, definitions: &self.definitions, uses: &self.uses, bits: &self.bits };
        let view = View::new(subject, inst);
        let fits = |rule: &&CodeRule| rule.opcode.is_none_or(|opcode| opcode == data.opcode);
        let by_code = control::RULES
            .iter()
            .filter(fits)
            .find_map(|rule| Some((rule.name, (rule.apply)(&view).filter(|rewrite| self.fits(&view, rewrite))?)));
        if let Some((name, rewrite)) = by_code {
            let behind = self.rules.own_behind(None, subject, inst, &view.srcs, &mut self.bindings);
            behind.iter().for_each(|rule| cx.count(rule.behind(name), 1));
            return cx.rewrite(name).then_some(Change::Code(rewrite));
        }
        let unmet = |rule: &Rule| cx.count(rule.unmet(), 1);
        let Match { rule, plan } = self.rules.find_or(subject, inst, &view.srcs, &mut self.bindings, unmet)?;
        let found = &self.rules.rules()[rule];
        if plan.makes_instructions() && !self.scope.makes_instructions() {
            return None;
        }
        if self.moves_into_loop(func, inst, &plan) || self.reads_behind_step(func, inst, &plan) {
            if self.rules.is_own(rule) {
                cx.count(found.in_a_loop(), 1);
            }
            return None;
        }
        let behind = self.rules.own_behind(Some(rule), subject, inst, &view.srcs, &mut self.bindings);
        behind.iter().for_each(|rule| cx.count(rule.behind(found.name), 1));
        cx.rewrite(found.name).then_some(Change::Rule(plan))
    }

    fn fits(&self, view: &View<'_>, rewrite: &Rewrite) -> bool {
        view.takes(rewrite) && self.scope.has(rewrite)
    }

    /// Whether a plan is costlier than the root alone and does without an operand that comes from outside of the root's
    /// loop: what that operand cost once, the loop would then cost in every iteration.
    fn moves_into_loop(&self, func: &Function, root: Inst, plan: &Plan) -> bool {
        let depth = self.loops.depth(func.block_of(root));
        let data = func.inst(root);
        let is_outside = |reg: &Reg| self.loops.depth(self.definitions.block(*reg)) < depth;
        depth > 0
            && plan.cost() > data.opcode.row().cost(&data.fields)
            && func.uses(root).filter(is_outside).any(|reg| !plan.reads(reg))
    }

    /// Whether a plan reads what a loop counts in place of the root's operand, the same one step later.
    fn reads_behind_step(&self, func: &Function, root: Inst, plan: &Plan) -> bool {
        let counts = |counted: Reg, next: Reg| {
            let phi = self.definitions.inst(counted).filter(|inst| func.inst(*inst).opcode == Opcode::Phi);
            phi.is_some_and(|phi| func.uses(phi).any(|source| source == next))
        };
        let replaced = func.uses(root).filter(|next| !plan.reads(*next));
        replaced.filter_map(|next| Some((next, self.definitions.inst(next)?))).any(|(next, step)| {
            let old = |reg: &Reg| plan.reads(*reg) && func.uses(root).all(|own| own != *reg);
            func.uses(step).filter(old).any(|counted| counts(counted, next))
        })
    }

    /// Returns where the scan continues: at the first of the instructions that now are there, or after them.
    fn apply(&mut self, func: &mut Function, inst: Inst, change: Change) -> Option<Inst> {
        self.changed = Changed::Yes;
        self.left -= 1;
        let after = func.next_inst(inst);
        self.touched.regs(func.uses(inst).chain(func.defs(inst)));
        let made = match change {
            Change::Rule(plan) => plan.apply(func, &mut self.definitions, &mut self.uses, inst),
            Change::Code(rewrite) => self.apply_code(func, inst, rewrite),
        };
        made.iter().for_each(|inst| self.touched.inst(func, *inst));
        made.iter().flat_map(|inst| func.defs(*inst)).for_each(|reg| self.bits.forget(reg));
        made.first().copied().or(after)
    }

    fn apply_code(&mut self, func: &mut Function, inst: Inst, rewrite: Rewrite) -> Vec<Inst> {
        let read: Vec<Reg> = func.uses(inst).collect();
        // Even where a branch keeps its targets their order may change, which is part of the graph.
        self.branches_changed |= Changed::when(func.inst(inst).is(Flags::TERMINATOR));
        let made = self.replace(func, inst, rewrite);
        for new in &made {
            self.uses.add(func, *new);
        }
        self.uses.release(func, &self.definitions, read);
        made
    }

    /// Returns the instructions that now are in its place.
    fn replace(&mut self, func: &mut Function, inst: Inst, rewrite: Rewrite) -> Vec<Inst> {
        let head = func.inst(inst).head();
        let block = func.block_of(inst).expect("the scan walks blocks");
        let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
        match rewrite {
            Rewrite::Constants(values) => {
                let values: Vec<Operand> = values.into_iter().map(|bits| func.imm(bits)).collect();
                return self.copies(func, inst, head.guard, &values, &elses);
            }
            Rewrite::Otherwise => return self.copies(func, inst, None, &elses, &[]),
            Rewrite::Inst(opcode, fields, srcs) => {
                func.set_inst(inst, InstHead { opcode, fields, ..head }, &dsts, &srcs, &elses);
            }
            Rewrite::Guard(guard) => {
                let srcs = func.srcs(inst).to_vec();
                let elses = if guard.is_some() { elses } else { Vec::new() };
                func.set_inst(inst, InstHead { guard, ..head }, &dsts, &srcs, &elses);
            }
            Rewrite::Goto(target) => {
                let lost = func.successors(block).filter(|next| *next != target);
                self.lost.extend(lost.map(|next| (next, block)));
                InstBuilder::new(Opcode::Bra).src(target).replace(func, inst);
            }
            Rewrite::Nothing => {
                func.defs(inst).for_each(|reg| self.definitions.clear(reg));
                func.remove_inst(inst);
                return Vec::new();
            }
        }
        vec![inst]
    }

    /// Puts a `mov` for each destination in place of an instruction. The instruction itself becomes the first.
    fn copies(
        &mut self,
        func: &mut Function,
        inst: Inst,
        guard: Option<Guard>,
        values: &[Operand],
        elses: &[Operand],
    ) -> Vec<Inst> {
        let block = func.block_of(inst).expect("the scan walks blocks");
        let made = become_copies(func, inst, guard, values, elses);
        for mov in &made {
            func.defs(*mov).for_each(|reg| self.definitions.set(reg, *mov, block));
        }
        made
    }
}

/// Whether the results depend on the operands alone.
fn is_pure(data: &InstData) -> bool {
    data.is(Flags::PURE)
}
