//! The peephole over code of the machine in physical form (`spec/peephole.txt`).
//!
//! Instructions are looked at in their order, with what the registers hold there ([`values`]). Of the rules about an
//! instruction that fit, the one with the highest priority is applied, among equals the first; what it makes is looked
//! at again. Where no rule fits, a register that is known to hold a constant becomes that constant ([`encodings`]);
//! two truth tables become one ([`tables`]), and so do sums of 64 bits ([`pairs`]) and fences ([`fences`]); an
//! instruction whose results hold already what it makes goes; and one whose result is in another register is a copy of
//! that. So each change leaves as many instructions or fewer, and what feeds the changed one may be dead behind it:
//! `OriPerformLiveDead*` takes that away.
//!
//! **Invariant:** an instruction is rewritten in its place, and reads registers alone that hold the value there. Where
//! scheduled code overlaps, an instruction stays what it is, and at most a register among its operands becomes a
//! constant ([`Builder::fits`](build)).

mod build;
pub mod encodings;
pub mod examples;
mod fences;
mod matcher;
mod pairs;
pub mod set;
mod tables;
pub mod values;

use oriole_ir::ops::Opcode;
use oriole_ir::{Form, Function, Inst, Operand, RegFile};
use oriole_pass::analysis::Cfg;
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_rules::machine::Context;
use oriole_sass::Table;
use smallvec::SmallVec;

use build::{Builder, Candidate};
use matcher::{Binding, Matcher};
use set::{MachineRules, Order};
use values::{Several, Values};

/// How often one instruction is rewritten in a run.
const MOST_REWRITES: usize = 8;

const SAME: &str = "result-is-there";
const COPY: &str = "copy-of-result";
const TABLES: &str = "table-of-table";
const FENCE: &str = "fence-before-fence";
const OFFSET: &str = "offset-of-sum";
const PRODUCT: &str = "sum-of-wide-product";

/// The peephole in front of scheduling, for every SM.
pub fn generic(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    run(func, cx, Context::Generic)
}

/// The one behind it, which consumer Blackwell alone has.
pub fn of_sm(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if cx.target.has_consumer_peepholes() { run(func, cx, Context::Sm) } else { Changed::No }
}

/// The peephole behind scheduling.
pub fn post_schedule(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    run(func, cx, Context::PostSchedule)
}

fn run(func: &mut Function, cx: &mut PhaseContext<'_>, context: Context) -> Changed {
    let Some(table) = Table::of(cx.target.number()).filter(|_| func.form == Form::Physical) else {
        return Changed::No;
    };
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut values = Values::surveyed(func, &cfg);
    let is_serial = func.is_serial();
    let rules = MachineRules::of(cx.own_rules().map_or(&[], |rules| rules.machine()));
    let mut peephole =
        Peephole { builder: Builder { func, table, is_serial }, rules: &rules, context, sm: cx.target.number() };
    let mut changed = Changed::No;
    for block in cfg.rpo() {
        values.begin(peephole.func(), &cfg, *block);
        let mut next = peephole.func().first_inst(*block);
        while let Some(inst) = next {
            next = peephole.func().next_inst(inst);
            changed |= peephole.visit(&mut values, cx, inst);
        }
        values.end(*block);
    }
    changed
}

/// How many instructions of a function in physical form a rule of a set would rewrite, each looked at as it is; `None`
/// where the words of the SM are not known. What a bench measures.
pub fn applicable(func: &mut Function, rules: &MachineRules, sm: u16) -> Option<usize> {
    let cfg = Cfg::new(func);
    let mut values = Values::surveyed(func, &cfg);
    let builder = Builder { is_serial: func.is_serial(), table: Table::of(sm)?, func };
    let mut peephole = Peephole { builder, rules, context: Context::Generic, sm };
    let mut found = 0;
    for block in cfg.rpo() {
        values.begin(peephole.func(), &cfg, *block);
        let insts: Vec<Inst> = peephole.func().block_insts(*block).collect();
        for inst in insts {
            if let Some(old) = Candidate::of(peephole.func(), inst) {
                let srcs = old.srcs.iter();
                let sources: SmallVec<[Several; 8]> =
                    srcs.map(|operand| values.of(peephole.builder.func, *operand)).collect();
                found += usize::from(peephole.by_rule(&values, inst, &old, &sources).is_some());
            }
            values.step(peephole.func(), inst);
        }
        values.end(*block);
    }
    Some(found)
}

struct Peephole<'a> {
    builder: Builder<'a>,
    rules: &'a MachineRules,
    context: Context,
    sm: u16,
}

impl Peephole<'_> {
    fn func(&self) -> &Function {
        self.builder.func
    }

    /// Rewrites an instruction, or takes it out, and goes over what is left of it. It becomes nothing that it was
    /// before: rules that undo each other end so.
    fn visit(&mut self, values: &mut Values, cx: &mut PhaseContext<'_>, inst: Inst) -> Changed {
        let (mut changed, mut before) = (Changed::No, Vec::new());
        while before.len() < MOST_REWRITES
            && let Some((name, candidate)) = self.better(values, inst)
            && !before.contains(&candidate)
            && cx.rewrite(name)
        {
            before.extend(Candidate::of(self.func(), inst));
            self.builder.replace(inst, &candidate);
            changed = Changed::Yes;
        }
        if self.may_go(inst) && values.has(self.func(), inst) && cx.rewrite(SAME) {
            self.builder.func.remove_inst(inst);
            return Changed::Yes;
        }
        if self.builder.is_serial && fences::is_covered(self.func(), inst) && cx.rewrite(FENCE) {
            self.builder.func.remove_inst(inst);
            return Changed::Yes;
        }
        values.step(self.func(), inst);
        changed
    }

    /// The better instruction that one becomes, and the rule.
    fn better(&mut self, values: &mut Values, inst: Inst) -> Option<(&'static str, Candidate)> {
        let old = Candidate::of(self.func(), inst)?;
        if self.func().unsaid_bits(inst) != 0 || self.func().hands_over(inst) {
            return None;
        }
        let sources: SmallVec<[Several; 8]> =
            old.srcs.iter().map(|operand| values.of(self.builder.func, *operand)).collect();
        self.by_rule(values, inst, &old, &sources)
            .or_else(|| encodings::chosen(&mut self.builder, values, inst, &old, &sources))
            .or_else(|| Some((OFFSET, pairs::offset(&mut self.builder, values, inst, &old, &sources)?)))
            .or_else(|| Some((PRODUCT, pairs::product(&mut self.builder, values, inst, &old, &sources)?)))
            .or_else(|| self.table_of_table(values, inst, &old, &sources).map(|found| (TABLES, found)))
            .or_else(|| self.copy(values, inst, &old).map(|found| (COPY, found)))
    }

    fn by_rule(
        &mut self,
        values: &Values,
        inst: Inst,
        old: &Candidate,
        sources: &[Several],
    ) -> Option<(&'static str, Candidate)> {
        let rules = self.rules;
        let mut found: SmallVec<[(Order, Binding); 4]> = SmallVec::new();
        for shape in rules.about(old.id) {
            let fits = Matcher::fits(self.builder.func, values, &shape.pattern, inst, sources);
            let Some(binding) = fits else { continue };
            found.extend(rules.of_numbers(shape, &binding.constants).map(|order| (order, binding.clone())));
        }
        found.sort_by_key(|(order, _)| *order);
        found.into_iter().find_map(|((_, rule, instance), binding)| {
            let (rule, instance) = rules.instance((rule, instance));
            let is_here = rule.only.is_empty() || rule.only.contains(&self.sm);
            if !is_here || !rule.contexts.has(self.context) {
                return None;
            }
            if !matcher::holds(self.builder.func, values, instance, &binding) {
                return None;
            }
            let candidate = self.builder.result(values, instance, &binding)?;
            (candidate != *old && self.builder.fits(inst, &candidate)).then_some((rule.name, candidate))
        })
    }

    /// One truth table in place of two.
    fn table_of_table(
        &mut self,
        values: &Values,
        inst: Inst,
        old: &Candidate,
        sources: &[Several],
    ) -> Option<Candidate> {
        let candidate = tables::merged(&mut self.builder, values, old, sources)?;
        (candidate != *old && self.builder.fits(inst, &candidate)).then_some(candidate)
    }

    /// A copy of a register that holds what the instruction makes.
    fn copy(&mut self, values: &mut Values, inst: Inst, old: &Candidate) -> Option<Candidate> {
        let (func, opcode) = (&*self.builder.func, self.func().inst(inst).opcode);
        if opcode != Opcode::MachinePure || func.machine_copy(inst).is_some() {
            return None;
        }
        let real = |dst: &Operand| matches!(dst, Operand::Reg(_));
        let (at, dst) = old.dsts.iter().enumerate().find(|(_, dst)| real(dst))?;
        let is_one = func.operand_info(*dst).is_some_and(|info| (info.file, info.words) == (RegFile::R, 1));
        if old.dsts.iter().filter(|dst| real(dst)).count() != 1 || !is_one {
            return None;
        }
        let before: usize = old.dsts[..at].iter().map(|dst| values::units_of(func, *dst) as usize).sum();
        let made = *values.results(func, inst).get(before)?;
        let holder = values.holder(func, RegFile::R, &[made])?;
        let id = oriole_ir::machine::table()?.identify("MOV")?;
        let all_lanes = self.builder.func.imm(0xf);
        let candidate = Candidate {
            id,
            dsts: SmallVec::from_slice(&[*dst]),
            srcs: [Operand::Reg(holder), all_lanes].into_iter().collect(),
        };
        self.builder.fits(inst, &candidate).then_some(candidate)
    }

    /// Whether an instruction may be left out: it does nothing but write registers, and nothing relies on its place.
    fn may_go(&self, inst: Inst) -> bool {
        let data = self.func().inst(inst);
        let is_value = data.opcode == Opcode::MachinePure || data.machine_row().is_some_and(|row| row.name == "R2UR");
        let overlaps = self.func().schedule(inst).is_some() && !self.builder.is_serial;
        is_value && !self.func().dsts(inst).is_empty() && !overlaps
    }
}
