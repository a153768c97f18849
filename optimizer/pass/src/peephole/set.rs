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
use oriole_rules::language::machine::MachineRule;
use oriole_rules::language::{Fault, SourceError, Span, parse};
use oriole_rules::machine;
use oriole_rules::resolve;
use oriole_rules::source::{Source, builtin_rules, builtin_sources};

/// Rules ready for use.
#[derive(Debug, Default)]
pub struct RuleSet {
    sources: Vec<Source>,
    rules: Vec<Rule>,
    /// The rules over instructions of the machine that files have, those of the tree apart.
    machine: Vec<machine::Rule>,
    /// How many of the first rules are built in.
    builtin: usize,
    program: Program,
    /// What operations weigh, and where that is stated: the file, as an index, and the place in it.
    weights: Weights,
    stated: Option<(usize, Span)>,
    /// Whether nothing shows that rewriting ends.
    may_not_end: bool,
}

/// Rules that can be used, and what speaks against using them.
#[derive(Debug)]
pub struct Examined {
    /// The rules.
    pub set: RuleSet,
    /// Results that are not cheaper, rules that shadow others of these files, wrong examples, and a measure that other
    /// rules raise, by file.
    pub faults: Vec<SourceError>,
}

impl Examined {
    /// The rules, if nothing speaks against using them.
    fn right(mut self) -> Result<RuleSet, SourceError> {
        if self.faults.is_empty() { Ok(self.set) } else { Err(self.faults.swap_remove(0)) }
    }
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

/// What is wrong with a file.
struct Read {
    /// Rules that have no meaning.
    meaningless: Vec<Fault>,
    /// Examples that say what is not so.
    wrong: Vec<Fault>,
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
        let (sources, program, builtin) = (builtin_sources(), Program::new(&rules), rules.len());
        RuleSet { sources, program, builtin, rules, ..RuleSet::default() }
    }

    /// The rules of one file, checked by themselves: all of it, examples too.
    pub fn parse(name: &str, text: &str) -> Result<RuleSet, SourceError> {
        RuleSet::default().with(name, text)
    }

    /// The rules of several files, checked as one set.
    pub fn parse_all(sources: &[Source]) -> Result<RuleSet, SourceError> {
        RuleSet::default().examine(sources)?.right()
    }

    /// These rules and those of one more file, which is checked against them.
    pub fn with(&self, name: &str, text: &str) -> Result<RuleSet, SourceError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        self.examine(&[source])?.right()
    }

    /// These rules and those of more files, with what speaks against using the new ones: beside each other and beside
    /// these. That one of these is tried before a new one is nothing of it ([`RuleSet::shadows`]).
    ///
    /// # Errors
    /// A file has rules that mean nothing.
    pub fn examine(&self, sources: &[Source]) -> Result<Examined, SourceError> {
        self.joined(sources, Reading::Checked)
    }

    /// The rules of several files, resolved and no more: what is not cheaper, shadowed or contradicted by its examples
    /// is accepted. For those who judge what rules mean; rewriting by them ends only because passes have budgets.
    pub fn unchecked(sources: &[Source]) -> Result<RuleSet, SourceError> {
        RuleSet::default().joined(sources, Reading::Resolved).map(|examined| examined.set)
    }

    /// The rules over instructions of the machine that files have, in their order; those of the tree are not among
    /// them.
    pub fn machine(&self) -> &[machine::Rule] {
        &self.machine
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
        let (may_not_end, machine) = (self.may_not_end, Vec::new());
        let program = Program::new(&rules);
        RuleSet { sources, program, machine, builtin: 0, rules, weights, stated: self.stated, may_not_end }
    }

    fn joined(&self, sources: &[Source], reading: Reading) -> Result<Examined, SourceError> {
        let mut set = RuleSet {
            sources: self.sources.clone(),
            rules: self.rules.clone(),
            machine: self.machine.clone(),
            builtin: self.builtin,
            weights: self.weights.clone(),
            stated: self.stated,
            may_not_end: self.may_not_end || reading == Reading::Resolved,
            ..RuleSet::default()
        };
        let (known, first) = (set.rules.len(), set.sources.len());
        let mut faults: Vec<Vec<Fault>> = Vec::new();
        for source in sources {
            let Read { meaningless, mut wrong } = set.read(source, reading);
            if !meaningless.is_empty() {
                wrong.extend(meaningless);
                return Err(SourceError::new(&source.name, &source.text, wrong));
            }
            faults.push(wrong);
        }
        if reading == Reading::Checked {
            let dear = check::dear(&set.rules, known, &set.weights);
            let counter = if self.stated.is_none() { set.counter_to_measure(known) } else { Vec::new() };
            set.may_not_end |= !dear.is_empty() || !counter.is_empty();
            // Each fault is shown in the file of the rule, or of the measure, that it is about.
            for (index, faults) in faults.iter_mut().enumerate() {
                faults.extend(check::shadowed(&set.rules[known..], first + index));
                faults
                    .extend(dear.iter().filter(|(source, _)| *source == first + index).map(|(_, fault)| fault.clone()));
                let stated = set.stated.filter(|(source, _)| *source == first + index);
                faults.extend(stated.and_then(|(_, span)| check::counter_fault(&counter, span)));
            }
        }
        set.program = Program::new(&set.rules);
        let of_file = |(source, faults): (&Source, Vec<Fault>)| SourceError::new(&source.name, &source.text, faults);
        let files = sources.iter().zip(faults).filter(|(_, faults)| !faults.is_empty());
        Ok(Examined { set, faults: files.map(of_file).collect() })
    }

    /// Of the first so many rules those that do not lower the measure which a file states: with rules that do, they
    /// could continue for ever.
    fn counter_to_measure(&self, first: usize) -> Vec<&'static str> {
        if self.stated.is_none() { Vec::new() } else { check::raising(&self.rules[..first], &self.weights) }
    }

    /// The built-in rules that raise the measure which a file states.
    pub fn raising(&self) -> Vec<&'static str> {
        self.counter_to_measure(self.builtin)
    }

    /// Whether nothing shows that rewriting by these rules ends: some are not held against each other, or do not lower
    /// the measure.
    pub fn may_not_end(&self) -> bool {
        self.may_not_end
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

    /// Adds the rules of a file; those that mean nothing are left out.
    fn read(&mut self, source: &Source, reading: Reading) -> Read {
        let (file, mut meaningless) = parse(&source.text);
        let mut wrong = Vec::new();
        self.sources.push(source.clone());
        meaningless.extend(file.measures.iter().filter_map(|decl| self.measure(decl).err()));
        for decl in &file.machine {
            let is_known = self.machine.iter().any(|rule| rule.name == decl.name.text);
            match machine::rule(decl).and_then(|rule| if is_known { Err(again(decl)) } else { Ok(rule) }) {
                Ok(rule) => self.machine.push(rule),
                Err(fault) => meaningless.push(fault),
            }
        }
        for decl in file.rules {
            if self.rules.len() >= MAX_RULES {
                let message = format!("this is rule number {}, a set has at most {MAX_RULES}", MAX_RULES + 1);
                meaningless.push(Fault::new(
                    decl.name.span,
                    message,
                    "this rule",
                    "use several sets, one after the other",
                ));
                break;
            }
            if let Some(rule) = self.rules.iter().find(|rule| rule.name == decl.name.text) {
                let there = match &self.sources[rule.source].name {
                    name if *name == source.name => String::new(),
                    name => format!(", in {name}"),
                };
                let message = format!("there is a rule `{}` already{there}", rule.name);
                meaningless.push(Fault::new(decl.name.span, message, "again", "give this rule another name"));
                continue;
            }
            match resolve::instances(&decl) {
                Ok(instances) => {
                    let rule = Rule::new(decl, self.sources.len() - 1, instances);
                    if reading == Reading::Checked {
                        wrong.extend(examples::faults(&rule));
                    }
                    self.rules.push(rule);
                }
                Err(fault) => meaningless.push(fault),
            }
        }
        Read { meaningless, wrong }
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
        self.builtin
    }

    /// The rule with a name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// The user's own rules that never apply beside the built-in ones, each with one of these that is tried first and
    /// matches as much.
    pub fn shadows(&self) -> Vec<(&Rule, &'static str)> {
        let own = self.rules.iter().enumerate().skip(self.builtin);
        own.filter_map(|(index, rule)| Some((rule, check::shadow_of(&self.rules, index, self.builtin)?))).collect()
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

    /// The user's own rules that would apply to an instruction to which something else applies: the rule `winner`, or a
    /// simplification that is tried before all rules.
    pub fn own_behind(
        &self,
        winner: Option<usize>,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
        memory: &mut Bindings,
    ) -> Vec<&Rule> {
        let data = subject.func.inst(inst);
        let mut found: Vec<usize> = Vec::new();
        let Some(arm) = self.program.arm(&self.rules, data.opcode, &data.fields).filter(|_| self.has_own()) else {
            return Vec::new();
        };
        for variant in arm.candidates(subject, inst, srcs) {
            let is_other = variant.rule >= self.builtin && Some(variant.rule) != winner;
            if !is_other || found.contains(&variant.rule) {
                continue;
            }
            let candidate = (variant.rule, &arm.instances[variant.instance], &variant.pattern);
            let applies = self.first_of([candidate].into_iter(), subject, inst, srcs, memory, |_| {});
            found.extend(applies.map(|applies| applies.rule));
        }
        found.into_iter().map(|rule| &self.rules[rule]).collect()
    }

    /// Whether some rules are the user's own.
    fn has_own(&self) -> bool {
        self.rules.len() > self.builtin
    }

    /// Whether a rule is the user's own.
    pub fn is_own(&self, rule: usize) -> bool {
        rule >= self.builtin
    }

    /// [`RuleSet::find`] from all instances of all rules, without what chooses among them: its slow reference, for
    /// tests.
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

/// The fault of a machine rule whose name another one has.
fn again(decl: &MachineRule) -> Fault {
    let message = format!("there is a machine rule `{}` already", decl.name.text);
    Fault::new(decl.name.span, message, "again", "give this rule another name")
}
