//! Rule sets: files read, resolved, checked and compiled.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::instance::Rule;
use super::language::{Fault, RuleError, parse};
use super::matcher::{Bindings, Matching};
use super::program::Program;
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
    ("logic.rules", include_str!("rules/logic.rules")),
    ("select.rules", include_str!("rules/select.rules")),
    ("convert.rules", include_str!("rules/convert.rules")),
];

impl RuleSet {
    /// The rules of the tree.
    ///
    /// # Panics
    /// If a built-in file has a fault, which a test excludes.
    pub fn builtin() -> Arc<RuleSet> {
        static SET: OnceLock<Arc<RuleSet>> = OnceLock::new();
        let load = || {
            let sources = RuleSet::builtin_sources();
            let set = RuleSet::of(&sources, &RuleSet::default(), false);
            Arc::new(set.unwrap_or_else(|error| panic!("a built-in rule file is wrong:\n{}", error.lines())))
        };
        SET.get_or_init(load).clone()
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
        RuleSet::of(&[source], &RuleSet::default(), true)
    }

    /// The rules of several files, checked as one set.
    pub fn parse_all(sources: &[Source]) -> Result<RuleSet, RuleError> {
        RuleSet::of(sources, &RuleSet::default(), true)
    }

    /// These rules and those of one more file, which is checked against them.
    pub fn with(&self, name: &str, text: &str) -> Result<RuleSet, RuleError> {
        let source = Source { name: name.to_owned(), text: Cow::Owned(text.to_owned()) };
        RuleSet::of(&[source], self, true)
    }

    fn of(sources: &[Source], before: &RuleSet, examples: bool) -> Result<RuleSet, RuleError> {
        let mut set = RuleSet { sources: before.sources.clone(), rules: before.rules.clone(), ..RuleSet::default() };
        let known = set.rules.len();
        for source in sources {
            let faults = set.read(source, examples);
            if !faults.is_empty() {
                return Err(RuleError::new(&source.name, &source.text, faults));
            }
        }
        // What several files do to each other; each fault is shown in the file of the rule that it is about.
        if examples {
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
    fn read(&mut self, source: &Source, examples: bool) -> Vec<Fault> {
        let (file, mut faults) = parse(&source.text);
        self.sources.push(source.clone());
        for decl in file.rules {
            if let Some(rule) = self.rules.iter().find(|rule| rule.name == decl.name.text) {
                let message = format!("there is a rule `{}` already", rule.name);
                faults.push(Fault::new(decl.name.span, message, "again", "give this rule another name"));
                continue;
            }
            match resolve::instances(&decl) {
                Ok(instances) => {
                    let name = interned(&decl.name.text);
                    let unmet = interned(&format!("{name}: guard"));
                    let rule = Rule { name, unmet, decl, source: self.sources.len() - 1, instances };
                    if examples {
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
        let candidates = self.program.candidates(subject, inst, srcs).iter().copied();
        self.first_of(candidates, subject, inst, srcs, unmet)
    }

    /// The same without the decision tree: its slow twin, for tests.
    pub fn find_slowly(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<Match> {
        self.first_of(0..self.program.variants.len() as u32, subject, inst, srcs, |_| {})
    }

    fn first_of(
        &self,
        candidates: impl Iterator<Item = u32>,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
        mut unmet: impl FnMut(&Rule),
    ) -> Option<Match> {
        let mut bindings = Bindings::default();
        for candidate in candidates {
            let variant = &self.program.variants[candidate as usize];
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
        (self.program.variants.len(), self.program.node_count())
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
