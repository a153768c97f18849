//! Rule sets: files read, resolved, checked and compiled.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use super::matcher::{Bindings, Matching};
use super::preparation::timed;
use super::program::{Program, orders};
use super::rewrite::Plan;
use super::subject::Subject;
use super::{check, examples};
use oriole_ir::ops::{FieldValues, Opcode};
use oriole_ir::{Inst, Operand};
use oriole_rules::cost::Weights;
use oriole_rules::instance::{Instance, Pattern, Rule};
use oriole_rules::language::ast::MeasureDecl;
use oriole_rules::language::{Fault, SourceError, Span, parse};
use oriole_rules::resolve;
use oriole_rules::source::{Source, builtin_count, builtin_rules, builtin_sources};

/// Rules ready for use.
#[derive(Debug, Default)]
pub struct RuleSet {
    sources: Vec<Source>,
    rules: Vec<Rule>,
    program: Program,
    /// What operations weigh, and where that is stated: the file, as an index, and the place in it.
    weights: Weights,
    stated: Option<(usize, Span)>,
}

/// A rule that applies to an instruction.
#[derive(Clone, Debug)]
pub struct Match {
    /// The rule, as an index into [`RuleSet::rules`].
    pub rule: usize,
    /// What the instruction becomes.
    pub plan: Plan,
}

/// How far rules are looked at when they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Resolved, so that they can be used.
    Resolved,
    /// The same, with examples, and held against each other.
    Checked,
}

/// How many rules a set may have. Each is compared with every other one.
pub const MAX_RULES: usize = 4096;

impl RuleSet {
    /// The rules of the tree.
    ///
    /// # Panics
    /// If a built-in file has a fault, which a test excludes.
    pub fn builtin() -> Arc<RuleSet> {
        static SET: OnceLock<Arc<RuleSet>> = OnceLock::new();
        SET.get().unwrap_or_else(|| timed(|| SET.get_or_init(|| Arc::new(RuleSet::load_builtin())))).clone()
    }

    /// The rules of the tree, from their text. No more than their beginnings is read: each is parsed when an opcode is
    /// met that it is about, and resolved for the types and comparisons that are met.
    ///
    /// # Panics
    /// As [`RuleSet::builtin`].
    pub fn load_builtin() -> RuleSet {
        let rules = builtin_rules();
        RuleSet { sources: builtin_sources(), program: Program::new(&rules), rules, ..RuleSet::default() }
    }

    /// The rules of one file, checked by themselves: all of it, examples too.
    pub fn parse(name: &str, text: &str) -> Result<RuleSet, SourceError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        RuleSet::of(&[source], &RuleSet::default(), Reading::Checked)
    }

    /// The rules of several files, checked as one set.
    pub fn parse_all(sources: &[Source]) -> Result<RuleSet, SourceError> {
        RuleSet::of(sources, &RuleSet::default(), Reading::Checked)
    }

    /// These rules and those of one more file, which is checked against them.
    pub fn with(&self, name: &str, text: &str) -> Result<RuleSet, SourceError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        RuleSet::of(&[source], self, Reading::Checked)
    }

    /// The rules of several files, resolved and no more: what is not cheaper, shadowed or contradicted by its examples
    /// is accepted. For those who judge what rules mean; rewriting by them ends only because passes have budgets.
    pub fn unchecked(sources: &[Source]) -> Result<RuleSet, SourceError> {
        RuleSet::of(sources, &RuleSet::default(), Reading::Resolved)
    }

    /// One rule of this set alone.
    pub fn only(&self, rule: usize) -> RuleSet {
        let rules = vec![self.rules[rule].clone()];
        self.of_these(rules)
    }

    /// One rule without one of its guards. That a capture is then used nowhere is no fault.
    ///
    /// # Panics
    /// If there is no rule or guard of that number.
    pub fn without_guard(&self, rule: usize, guard: usize) -> Result<RuleSet, Fault> {
        let rule = &self.rules[rule];
        let weaker = resolve::without_guard(rule.decl(), guard)?;
        let rules = vec![Rule::new(rule.decl().clone(), rule.source, weaker)];
        Ok(self.of_these(rules))
    }

    /// Rules of the same files, and the same measure.
    fn of_these(&self, rules: Vec<Rule>) -> RuleSet {
        let (sources, weights) = (self.sources.clone(), self.weights.clone());
        RuleSet { sources, program: Program::new(&rules), rules, weights, stated: self.stated }
    }

    fn of(sources: &[Source], before: &RuleSet, reading: Reading) -> Result<RuleSet, SourceError> {
        let mut set = RuleSet {
            sources: before.sources.clone(),
            rules: before.rules.clone(),
            weights: before.weights.clone(),
            stated: before.stated,
            ..RuleSet::default()
        };
        let known = set.rules.len();
        for source in sources {
            let faults = set.read(source, reading);
            if !faults.is_empty() {
                return Err(SourceError::new(&source.name, &source.text, faults));
            }
        }
        // What several files do to each other; each fault is shown in the file of the rule that it is about.
        if reading == Reading::Checked {
            for (index, source) in set.sources.iter().enumerate() {
                let mut faults = check::set_faults(&set.rules, known, index, &set.weights);
                if before.stated.is_none() {
                    faults.extend(set.measure_fault(known, index));
                }
                if !faults.is_empty() {
                    return Err(SourceError::new(&source.name, &source.text, faults));
                }
            }
        }
        set.program = Program::new(&set.rules);
        Ok(set)
    }

    /// What is wrong with the measure that a file states, beside the rules before it and those of the tree.
    fn measure_fault(&self, known: usize, source: usize) -> Option<Fault> {
        let (_, span) = self.stated.filter(|(stated, _)| *stated == source)?;
        let builtin = RuleSet::builtin();
        let others = self.rules[..known].iter().filter(|rule| builtin.rule(rule.name).is_none());
        check::counter_to(builtin.rules().iter().chain(others), &self.weights, span)
    }

    /// Takes the measure that a file states. A set has one.
    fn measure(&mut self, decl: &MeasureDecl) -> Result<(), Fault> {
        if self.stated.is_some() {
            let help = "put all weights into one line, and into one file";
            return Err(Fault::new(decl.span, "there is a measure already", "again", help));
        }
        self.weights = Weights::of(decl)?;
        self.stated = Some((self.sources.len() - 1, decl.span));
        Ok(())
    }

    /// Adds the rules of a file; those with faults are left out.
    fn read(&mut self, source: &Source, reading: Reading) -> Vec<Fault> {
        let (file, mut faults) = parse(&source.text);
        self.sources.push(source.clone());
        faults.extend(file.measures.iter().filter_map(|decl| self.measure(decl).err()));
        for decl in file.rules {
            if self.rules.len() >= MAX_RULES {
                let message = format!("this is rule number {}, a set has at most {MAX_RULES}", MAX_RULES + 1);
                faults.push(Fault::new(decl.name.span, message, "this rule", "use several sets, one after the other"));
                break;
            }
            if let Some(rule) = self.rules.iter().find(|rule| rule.name == decl.name.text) {
                let there = match &self.sources[rule.source].name {
                    name if *name == source.name => String::new(),
                    name => format!(", in {name}"),
                };
                let message = format!("there is a rule `{}` already{there}", rule.name);
                faults.push(Fault::new(decl.name.span, message, "again", "give this rule another name"));
                continue;
            }
            match resolve::instances(&decl) {
                Ok(instances) => {
                    let rule = Rule::new(decl, self.sources.len() - 1, instances);
                    if reading == Reading::Checked {
                        faults.extend(examples::faults(&rule));
                    }
                    self.rules.push(rule);
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults
    }

    /// Makes ready what instructions of these kinds will ask for. That they wait for it, or not, is all the difference:
    /// another thread may do it while the program is read and executed.
    pub fn prepare(&self, kinds: impl IntoIterator<Item = (Opcode, FieldValues)>) {
        for (opcode, fields) in kinds {
            self.program.arm(&self.rules, opcode, &fields);
        }
    }

    /// The files.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// What operations weigh by the measure that a file states.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The rules, in the order of their files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// How many of the first rules are built in; the others are the user's own.
    pub fn builtin_count(&self) -> usize {
        builtin_count(&self.sources, &self.rules)
    }

    /// The rule with a name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// The rules that never apply behind those of another set, each with one that is tried first and matches as much.
    /// Rules that the other set has too, by their names, are left out.
    pub fn shadowed_by(&self, first: &RuleSet) -> Vec<(&Rule, &'static str)> {
        let all: Vec<Rule> = first.rules.iter().chain(&self.rules).cloned().collect();
        let own = self.rules.iter().enumerate().filter(|(_, rule)| first.rule(rule.name).is_none());
        let shadow = |(index, rule)| {
            let name = check::shadow_of(&all, first.rules.len() + index)?;
            first.rule(name).map(|shadow| (rule, shadow.name))
        };
        own.filter_map(shadow).collect()
    }

    /// The best rule that applies to an instruction, whose sources are [`Subject::sources`].
    pub fn find(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<Match> {
        self.find_or(subject, inst, srcs, &mut Bindings::default(), |_| {})
    }

    /// The same; `unmet` sees the rules tried before, whose pattern matches and whose guards do not hold. Captures are
    /// bound in `memory`, whatever it holds.
    pub fn find_or(
        &self,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
        memory: &mut Bindings,
        unmet: impl FnMut(&Rule),
    ) -> Option<Match> {
        let data = subject.func.inst(inst);
        let arm = self.program.arm(&self.rules, data.opcode, &data.fields)?;
        let variants = arm.candidates(subject, inst, srcs);
        let candidates = variants.map(|variant| (variant.rule, &arm.instances[variant.instance], &variant.pattern));
        self.first_of(candidates, subject, inst, srcs, memory, unmet)
    }

    /// The same from all instances of all rules, without what chooses among them: its slow reference, for tests.
    pub fn find_slowly(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<Match> {
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|rule| Reverse(self.rules[*rule].priority));
        order.into_iter().find_map(|rule| {
            self.rules[rule].instances().iter().find_map(|instance| {
                let patterns = orders(instance.pattern());
                let candidates = patterns.iter().map(|pattern| (rule, instance, pattern));
                self.first_of(candidates, subject, inst, srcs, &mut Bindings::default(), |_| {})
            })
        })
    }

    fn first_of<'a>(
        &self,
        candidates: impl Iterator<Item = (usize, &'a Instance, &'a Pattern)>,
        subject: Subject<'a>,
        inst: Inst,
        srcs: &[Operand],
        memory: &mut Bindings,
        mut unmet: impl FnMut(&Rule),
    ) -> Option<Match> {
        for (rule, instance, pattern) in candidates {
            let mut matching = Matching::new(subject, instance, memory);
            if matching.matches(pattern, inst, srcs) {
                let allowed = matching.is_allowed();
                let plan = allowed.then(|| Plan::new(subject, instance, matching.bindings, inst)).flatten();
                match plan {
                    Some(plan) => return Some(Match { rule, plan }),
                    None => unmet(&self.rules[rule]),
                }
            }
        }
        None
    }

    /// How many patterns the rules come to, with both orders of operands that commute.
    pub fn patterns(&self) -> usize {
        let instances = self.rules.iter().flat_map(Rule::instances);
        instances.map(|instance| orders(instance.pattern()).len()).sum()
    }
}
