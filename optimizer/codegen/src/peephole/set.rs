//! Machine rules by the instructions that they are about.

use std::borrow::Cow;
use std::sync::OnceLock;

use oriole_ir::MachineId;
use oriole_rules::machine::{Instance, Rule, resolve};
use oriole_rules::source::machine_sources;
use rustc_hash::FxHashMap;

/// Rules, ready to be tried.
#[derive(Clone, Debug, Default)]
pub struct MachineRules {
    rules: Vec<Rule>,
    /// By what the root is: rules and their instances, the highest priority first, among equals in order.
    by_root: FxHashMap<MachineId, Vec<(usize, usize)>>,
}

impl MachineRules {
    /// The rules of the tree.
    ///
    /// # Panics
    /// If a built-in file has a fault, which a test excludes.
    pub fn builtin() -> &'static MachineRules {
        static SET: OnceLock<MachineRules> = OnceLock::new();
        SET.get_or_init(|| {
            oriole_sass::ori::register();
            let mut rules = Vec::new();
            for source in machine_sources() {
                let (found, faults) = resolve(&source.text);
                if let Some(fault) = faults.first() {
                    panic!("the built-in file {} is wrong: {fault}", source.name);
                }
                rules.extend(found);
            }
            MachineRules::new(rules)
        })
    }

    /// The rules of the tree, and behind them those of a run.
    pub fn of(own: &[Rule]) -> Cow<'static, MachineRules> {
        let builtin = MachineRules::builtin();
        match own.is_empty() {
            true => Cow::Borrowed(builtin),
            false => Cow::Owned(MachineRules::new(builtin.rules.iter().chain(own).cloned().collect())),
        }
    }

    /// A set of rules.
    pub fn new(rules: Vec<Rule>) -> MachineRules {
        let mut by_root: FxHashMap<MachineId, Vec<(usize, usize)>> = FxHashMap::default();
        for (at, rule) in rules.iter().enumerate() {
            for (number, instance) in rule.instances.iter().enumerate() {
                by_root.entry(instance.root().id).or_default().push((at, number));
            }
        }
        for found in by_root.values_mut() {
            found.sort_by_key(|(rule, _)| std::cmp::Reverse(rules[*rule].priority));
        }
        MachineRules { rules, by_root }
    }

    /// The rules, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules whose root is such an instruction, in the order in which they are tried.
    pub fn about(&self, id: MachineId) -> impl Iterator<Item = (&Rule, &Instance)> {
        let found = self.by_root.get(&id).map_or(&[][..], Vec::as_slice);
        found.iter().map(|(rule, instance)| (&self.rules[*rule], &self.rules[*rule].instances[*instance]))
    }
}
