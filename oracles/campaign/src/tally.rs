//! What a campaign has seen: counters that add up over workers, shards and interruptions.

use std::collections::BTreeMap;

use oriole_ir::Module;
use oriole_optimizer::codegen::peephole::set::MachineRules;
use oriole_optimizer::peephole::RuleSet;
use oriole_rules::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::coverage::Coverage;
use super::target::Target;
use oriole_check::report::KernelReport;

/// Inconclusive cases that are kept to look at.
const MOST_SILENT: usize = 20;

/// Counters over cases.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Cases that were checked.
    pub cases: u64,
    /// Cases in which the verifier is content and every launch finishes.
    pub valid: u64,
    /// The same by target.
    pub targets: BTreeMap<Target, TargetTally>,
    /// Instructions of all kernels before optimization.
    pub instructions: u64,
    /// Rows of the opcode table and values of their fields that finished kernels hold.
    pub coverage: Coverage,
    /// In how many kernels a phase changed something.
    pub phases: BTreeMap<String, u64>,
    /// The counters of each phase, by name: changes by rule ([`Tally::rules`]), and others.
    #[serde(default)]
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
    /// In how many kernels each fault was planted, as `--fault` takes it.
    #[serde(default)]
    pub planted: BTreeMap<String, u64>,
    /// Inconclusive cases, by number, and why.
    pub silent: BTreeMap<u64, String>,
}

/// What has come of the cases of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
pub struct TargetTally {
    /// Cases that were checked.
    pub cases: u64,
    /// Cases whose launches all finish.
    pub valid: u64,
    /// What was made and dropped before it became a case.
    pub dropped: u64,
}

/// How often a rule has been met. An instruction counts again each time that a phase looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct RuleTally {
    /// Its name.
    pub name: &'static str,
    /// Its pattern matched, and no rule before it applied.
    pub matched: u64,
    /// Its guards held too, so it applied.
    pub applied: u64,
}

/// Adds to a counter, whose name is copied only the first time.
fn add(counters: &mut BTreeMap<String, u64>, name: &str, by: u64) {
    match counters.get_mut(name) {
        Some(count) => *count += by,
        None => _ = counters.insert(name.to_owned(), by),
    }
}

impl Tally {
    /// Valid cases in a hundred of those that are made to finish; 100 where there are none.
    pub fn valid_percent(&self) -> f64 {
        let made = self.targets.iter().filter(|(target, _)| target.is_own());
        let (cases, valid) = made.fold((0, 0), |sum, (_, tally)| (sum.0 + tally.cases, sum.1 + tally.valid));
        if cases == 0 { 100.0 } else { 100.0 * valid as f64 / cases as f64 }
    }

    /// Adds what another part of the campaign has seen.
    pub fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.valid += other.valid;
        self.instructions += other.instructions;
        self.coverage.add(&other.coverage);
        for (target, more) in other.targets {
            let all = self.targets.entry(target).or_default();
            all.cases += more.cases;
            all.valid += more.valid;
            all.dropped += more.dropped;
        }
        other.phases.into_iter().for_each(|(phase, count)| *self.phases.entry(phase).or_default() += count);
        for (phase, counters) in other.counters {
            let all = self.counters.entry(phase).or_default();
            counters.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
        }
        for (fault, count) in other.planted {
            *self.planted.entry(fault).or_default() += count;
        }
        self.silent.extend(other.silent);
        while self.silent.len() > MOST_SILENT {
            self.silent.pop_last();
        }
    }

    /// Counts a case that is about to be checked.
    pub(super) fn begin(&mut self, target: Target, dropped: u32) {
        self.cases += 1;
        let own = self.targets.entry(target).or_default();
        (own.cases, own.dropped) = (own.cases + 1, own.dropped + u64::from(dropped));
    }

    /// Counts what the check of a case says.
    pub(super) fn count(&mut self, number: u64, target: Target, module: &Module, report: &KernelReport) {
        self.instructions += report.instructions_before as u64;
        match report.cases.iter().find(|case| case.inconclusive.is_some()) {
            None => {
                self.valid += 1;
                self.targets.entry(target).or_default().valid += 1;
                self.coverage.count(module);
            }
            Some(case) if target.is_own() => {
                self.silent.insert(number, format!("{}: {}", case.name, case.detail));
            }
            Some(_) => {}
        }
        let changed = report.phases.iter().filter(|phase| phase.changed);
        changed.for_each(|line| add(&mut self.phases, &line.step.label(), 1));
        report.faults.iter().filter(|line| line.planted).for_each(|line| self.plant(&line.fault));
        for line in report.phases.iter().filter(|line| !line.counters.is_empty()) {
            let phase = line.step.label();
            if !self.counters.contains_key(&*phase) {
                self.counters.insert(phase.clone().into_owned(), BTreeMap::new());
            }
            let counters = self.counters.get_mut(&*phase).expect("it was put there");
            line.counters.iter().for_each(|(name, count)| add(counters, name, *count));
        }
    }

    /// Counts a kernel in which a fault was planted.
    pub(super) fn plant(&mut self, fault: &str) {
        add(&mut self.planted, fault, 1);
    }

    /// How often each rule of a set has matched and applied, in the order of the set.
    pub fn rules(&self, rules: &RuleSet) -> Vec<RuleTally> {
        let of = |rule: &Rule| {
            let applied = self.counted(rule.name);
            RuleTally { name: rule.name, matched: applied + self.counted(rule.unmet()), applied }
        };
        rules.rules().iter().map(of).collect()
    }

    /// How often each rule over instructions of the machine has applied: those of the tree, then those of a set. At
    /// which matches a guard fails is not counted.
    pub fn machine_rules(&self, rules: &RuleSet) -> Vec<RuleTally> {
        let all = MachineRules::of(rules.machine());
        let counts = all.rules().iter().map(|rule| (rule.name, self.counted(rule.name)));
        counts.map(|(name, applied)| RuleTally { name, matched: applied, applied }).collect()
    }

    fn counted(&self, name: &str) -> u64 {
        self.counters.values().filter_map(|counters| counters.get(name)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Cases;
    use oriole_generate::Config;

    #[test]
    fn a_tally_survives_its_text() {
        let mut tally = Tally { cases: 3, valid: 2, ..Tally::default() };
        tally.begin(Target::Kernels, 4);
        tally.phases.insert("GeneralOptimize".to_owned(), 2);
        tally.plant("drop-store@GeneralOptimize:1");
        tally.silent.insert(u64::MAX, "traps".to_owned());
        let cases = Cases::new(1, Config::default(), &[Target::Kernels], std::sync::Arc::default());
        (0..40).for_each(|number| tally.coverage.count(&cases.case(number).generated.module));
        assert!(tally.coverage.summary().values > 20);
        let text = serde_json::to_string(&tally).expect("a tally is JSON");
        assert_eq!(serde_json::from_str::<Tally>(&text).ok(), Some(tally));
    }
}
