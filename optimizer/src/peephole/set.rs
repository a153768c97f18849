//! Rule sets: files read, resolved, checked and compiled.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::instance::{Instances, Rule};
use super::language::{Fault, RuleError, parse};
use super::matcher::{Bindings, Matching};
use super::program::{Arm, Program};
use super::rewrite::Plan;
use super::subject::Subject;
use super::{check, examples, resolve};
use crate::ir::{Inst, Operand};

/// A rule file: where it came from and its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: Cow<'static, str>,
}

/// Rules ready for use.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    sources: Vec<Source>,
    rules: Vec<Rule>,
    program: Program,
}

/// A rule that applies to an instruction.
#[derive(Clone, Debug)]
pub struct Match {
    /// The rule, as an index into [`RuleSet::rules`].
    pub rule: usize,
    /// Its instance.
    pub instance: usize,
    /// What the instruction becomes.
    pub plan: Plan,
}

/// The built-in rule files.
const BUILTIN: &[(&str, &str)] = &[
    ("arithmetic.rules", include_str!("rules/arithmetic.rules")),
    ("sums.rules", include_str!("rules/sums.rules")),
    ("multiply.rules", include_str!("rules/multiply.rules")),
    ("minmax.rules", include_str!("rules/minmax.rules")),
    ("logic.rules", include_str!("rules/logic.rules")),
    ("algebra.rules", include_str!("rules/algebra.rules")),
    ("masks.rules", include_str!("rules/masks.rules")),
    ("shift.rules", include_str!("rules/shift.rules")),
    ("bits.rules", include_str!("rules/bits.rules")),
    ("select.rules", include_str!("rules/select.rules")),
    ("compare.rules", include_str!("rules/compare.rules")),
    ("predicate.rules", include_str!("rules/predicate.rules")),
    ("convert.rules", include_str!("rules/convert.rules")),
    ("float.rules", include_str!("rules/float.rules")),
];

/// How far rules are looked at when they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// They are those of the tree, which tests check: instances wait until they are needed.
    BuiltIn,
    /// Resolved, so that they can be used.
    Resolved,
    /// The same, with examples, and held against each other.
    Checked,
}

impl RuleSet {
    /// The rules of the tree.
    ///
    /// # Panics
    /// If a built-in file has a fault, which a test excludes.
    pub fn builtin() -> Arc<RuleSet> {
        static SET: OnceLock<Arc<RuleSet>> = OnceLock::new();
        SET.get_or_init(|| Arc::new(RuleSet::load_builtin())).clone()
    }

    /// The rules of the tree, read again. Patterns are resolved and compiled when an opcode is first met.
    ///
    /// # Panics
    /// As [`RuleSet::builtin`].
    pub fn load_builtin() -> RuleSet {
        let set = RuleSet::of(&RuleSet::builtin_sources(), &RuleSet::default(), Reading::BuiltIn);
        set.unwrap_or_else(|error| panic!("a built-in rule file is wrong:\n{}", error.lines()))
    }

    /// The rule files of the tree.
    pub fn builtin_sources() -> Vec<Source> {
        let source =
            |(name, text): &(&str, &'static str)| Source { name: (*name).to_owned(), text: Cow::Borrowed(text) };
        BUILTIN.iter().map(source).collect()
    }

    /// The rules of one file, checked by themselves: all of it, examples too.
    pub fn parse(name: &str, text: &str) -> Result<RuleSet, RuleError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        RuleSet::of(&[source], &RuleSet::default(), Reading::Checked)
    }

    /// The rules of several files, checked as one set.
    pub fn parse_all(sources: &[Source]) -> Result<RuleSet, RuleError> {
        RuleSet::of(sources, &RuleSet::default(), Reading::Checked)
    }

    /// These rules and those of one more file, which is checked against them.
    pub fn with(&self, name: &str, text: &str) -> Result<RuleSet, RuleError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        RuleSet::of(&[source], self, Reading::Checked)
    }

    /// The rules of several files, resolved and no more: what is not cheaper, shadowed or contradicted by its examples is
    /// accepted. For those who judge what rules mean; rewriting by them ends only because passes have budgets.
    pub fn unchecked(sources: &[Source]) -> Result<RuleSet, RuleError> {
        RuleSet::of(sources, &RuleSet::default(), Reading::Resolved)
    }

    /// One rule of this set alone.
    pub fn only(&self, rule: usize) -> RuleSet {
        let rules = vec![self.rules[rule].clone()];
        RuleSet { sources: self.sources.clone(), program: Program::new(&rules), rules }
    }

    /// One rule without one of its guards. That a capture is then used nowhere is no fault.
    ///
    /// # Panics
    /// If there is no rule or guard of that number.
    pub fn without_guard(&self, rule: usize, guard: usize) -> Result<RuleSet, Fault> {
        let mut weaker = self.rules[rule].clone();
        weaker.instances = Instances::from(resolve::without_guard(&weaker.decl, guard)?);
        let rules = vec![weaker];
        Ok(RuleSet { sources: self.sources.clone(), program: Program::new(&rules), rules })
    }

    fn of(sources: &[Source], before: &RuleSet, reading: Reading) -> Result<RuleSet, RuleError> {
        let mut set = RuleSet { sources: before.sources.clone(), rules: before.rules.clone(), ..RuleSet::default() };
        let known = set.rules.len();
        for source in sources {
            let faults = set.read(source, reading);
            if !faults.is_empty() {
                return Err(RuleError::new(&source.name, &source.text, faults));
            }
        }
        // What several files do to each other; each fault is shown in the file of the rule that it is about.
        if reading == Reading::Checked {
            for (index, source) in set.sources.iter().enumerate() {
                let faults = check::set_faults(&set.rules, known, index);
                if !faults.is_empty() {
                    return Err(RuleError::new(&source.name, &source.text, faults));
                }
            }
        }
        set.program = Program::new(&set.rules);
        Ok(set)
    }

    /// Adds the rules of a file; those with faults are left out.
    fn read(&mut self, source: &Source, reading: Reading) -> Vec<Fault> {
        let (file, mut faults) = parse(&source.text);
        self.sources.push(source.clone());
        for decl in file.rules {
            if let Some(rule) = self.rules.iter().find(|rule| rule.name == decl.name.text) {
                let there = match &self.sources[rule.source].name {
                    name if *name == source.name => String::new(),
                    name => format!(", in {name}"),
                };
                let message = format!("there is a rule `{}` already{there}", rule.name);
                faults.push(Fault::new(decl.name.span, message, "again", "give this rule another name"));
                continue;
            }
            let instances = match reading {
                Reading::BuiltIn => Ok(Instances::later(&decl)),
                Reading::Resolved | Reading::Checked => resolve::instances(&decl).map(Instances::from),
            };
            match instances {
                Ok(instances) => {
                    let name = interned(&decl.name.text);
                    let unmet = interned(&format!("{name}: guard"));
                    let rule = Rule { name, unmet, decl, source: self.sources.len() - 1, instances };
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

    /// The files.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The rules, in the order of their files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// How many of the first rules are built in; the others are the user's own.
    pub fn builtin_count(&self) -> usize {
        let builtin = RuleSet::builtin_sources();
        match self.sources.starts_with(&builtin) {
            true => self.rules.iter().take_while(|rule| rule.source < builtin.len()).count(),
            false => 0,
        }
    }

    /// The rule with a name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// The best rule that applies to an instruction, whose sources are [`Subject::sources`].
    pub fn find(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<Match> {
        self.find_or(subject, inst, srcs, |_| {})
    }

    /// The same; `unmet` sees the rules tried before, whose pattern matches and whose guards do not hold.
    pub fn find_or(
        &self,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
        unmet: impl FnMut(&Rule),
    ) -> Option<Match> {
        let arm = self.program.arm(&self.rules, subject.func.insts[inst].opcode)?;
        let candidates = arm.candidates(subject, inst, srcs).iter().copied();
        self.first_of(arm, candidates, subject, inst, srcs, unmet)
    }

    /// The same without the decision tree: its slow twin, for tests.
    pub fn find_slowly(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<Match> {
        let arm = self.program.arm(&self.rules, subject.func.insts[inst].opcode)?;
        self.first_of(arm, 0..arm.variants.len() as u32, subject, inst, srcs, |_| {})
    }

    fn first_of(
        &self,
        arm: &Arm,
        candidates: impl Iterator<Item = u32>,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
        mut unmet: impl FnMut(&Rule),
    ) -> Option<Match> {
        let mut bindings = Bindings::default();
        for candidate in candidates {
            let variant = &arm.variants[candidate as usize];
            let instance = &self.rules[variant.rule].instances[variant.instance];
            let mut matching = Matching::new(subject, instance, bindings);
            if matching.matches(&variant.pattern, inst, srcs) {
                let allowed = matching.is_allowed();
                let plan = allowed.then(|| Plan::new(subject, instance, &matching.bindings, inst)).flatten();
                match plan {
                    Some(plan) => return Some(Match { rule: variant.rule, instance: variant.instance, plan }),
                    None => unmet(&self.rules[variant.rule]),
                }
            }
            bindings = matching.bindings;
        }
        None
    }

    /// How many patterns the rules come to, and how many nodes decide between them.
    pub fn size(&self) -> (usize, usize) {
        self.program.size(&self.rules)
    }
}

/// A name that statistics can keep. Each name is kept once, however often its file is read.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}
