//! What a campaign generates: the targets, and which case number belongs to which of them.
//!
//! [`Cases`] is the one source of cases: case `n` of a seed, a configuration, a choice of targets and a corpus is
//! always the same. Targets are dealt out by number, each as often as its share says, so that every shard and every
//! worker gets its part of each. With one target alone, all numbers are its own.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use oriole_ir::verify::{Violation, verify_module};

use oriole_check::kernels;
use oriole_check::kernels::from_seed;
use oriole_check::supervise::{StepId, guard};
use oriole_generate::mutate::{Corpus, Mutant};
use oriole_generate::{Config, Entropy, Generated};

macro_rules! targets {
    ($($target:ident $name:literal $share:literal $own:literal $doc:literal;)*) => {
        /// A kind of cases.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, schemars::JsonSchema, serde::Serialize,
            serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Target { $(#[doc = $doc] $target,)* }

        impl Target {
            /// Every target, the most frequent first.
            pub const ALL: &'static [Target] = &[$(Target::$target),*];

            /// The name that `--target` takes.
            pub fn name(self) -> &'static str {
                match self { $(Target::$target => $name,)* }
            }

            /// What its cases are, in a line.
            pub fn doc(self) -> &'static str {
                match self { $(Target::$target => $doc,)* }
            }

            /// Its cases among those of all targets together.
            pub fn share(self) -> u64 {
                match self { $(Target::$target => $share,)* }
            }

            /// Whether its kernels are of our own making: they finish, and PTX can say what they do. Cases of other
            /// targets may be inconclusive, and are not printed as PTX: it has rules about addresses that the
            /// verifier does not.
            pub fn is_own(self) -> bool {
                match self { $(Target::$target => $own,)* }
            }
        }
    };
}

targets! {
    Kernels "kernels" 10 true "Whole kernels with flow, memory, calls and collectives.";
    Instructions "instructions" 5 true "One operation with every legal value of its fields, on corner operands.";
    Mutants "mutants" 1 false "Kernels of the corpus with small changes.";
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// There is no target of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is no target; there are {}", names())]
pub struct UnknownTarget {
    /// The name.
    pub name: String,
}

fn names() -> String {
    Target::ALL.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Target, UnknownTarget> {
        let found = Target::ALL.iter().copied().find(|target| target.name() == name);
        found.ok_or_else(|| UnknownTarget { name: name.to_owned() })
    }
}

/// A case that breaks a rule even in virtual form: a bug of the generator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it breaks a rule: {}", violations.first().map_or(String::new(), ToString::to_string))]
pub struct Unsound {
    /// What it breaks.
    pub violations: Vec<Violation>,
}

/// A case before it is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The target that it belongs to.
    pub target: Target,
    /// The module and its launches.
    pub generated: Generated,
    /// What was made before it and dropped, as it does not verify; mutants alone are.
    pub dropped: u32,
}

/// All cases of a campaign, by number.
#[derive(Clone, Debug)]
pub struct Cases {
    /// The seed of all cases.
    pub seed: u64,
    /// What is generated.
    pub config: Config,
    targets: Vec<Target>,
    corpus: Arc<Corpus>,
    /// By number, around: whether a case is in virtual form whatever its kernel would be.
    virtual_form: Vec<bool>,
}

impl Cases {
    /// The cases of these targets; of all where none is named. Without a corpus to change, kernels take the place of
    /// mutants, so that all other cases keep their numbers.
    pub fn new(seed: u64, config: Config, targets: &[Target], corpus: Arc<Corpus>) -> Cases {
        let wanted = |target: &Target| targets.is_empty() || targets.contains(target);
        let targets = Target::ALL.iter().copied().filter(wanted).collect();
        Cases { seed, config, targets, corpus, virtual_form: Vec::new() }
    }

    /// The same with the cases of some numbers, around, in virtual form.
    pub fn in_virtual_form_where(self, virtual_form: Vec<bool>) -> Cases {
        Cases { virtual_form, ..self }
    }

    /// The same, all in virtual form.
    pub fn in_virtual_form(&self) -> Cases {
        Cases { config: Config { virtual_form: 100, ..self.config.clone() }, ..self.clone() }
    }

    /// A case that verifies. Where SSA construction breaks it, it is in virtual form, and its check says whose fault
    /// that is.
    ///
    /// # Errors
    ///
    /// The rule that even its virtual form breaks.
    pub fn sound(&self, number: u64) -> Result<Case, Unsound> {
        let case = self.case(number);
        if verify_module(&case.generated.module).is_ok() {
            return Ok(case);
        }
        let before = self.in_virtual_form().case(number);
        match verify_module(&before.generated.module) {
            Ok(()) => Ok(before),
            Err(violations) => Err(Unsound { violations }),
        }
    }

    /// The same of a case that may be beyond making: it is also in virtual form where SSA construction does not end in
    /// time.
    ///
    /// # Errors
    ///
    /// As for [`Cases::sound`].
    pub fn sound_within(&self, number: u64, limit: Duration) -> Result<Case, Unsound> {
        let cases = self.clone();
        let made = guard(StepId::Generation, limit, move || cases.sound(number));
        made.unwrap_or_else(|_| Ok(self.in_virtual_form().case(number)))
    }

    /// The target of a case, and how many cases of that target precede it.
    pub fn target(&self, number: u64) -> (Target, u64) {
        let round: u64 = self.targets.iter().map(|target| target.share()).sum();
        let mut at = number % round;
        for target in &self.targets {
            match at.checked_sub(target.share()) {
                Some(rest) => at = rest,
                None => return (*target, number / round * target.share() + at),
            }
        }
        unreachable!("the shares make up the round")
    }

    /// A case.
    pub fn case(&self, number: u64) -> Case {
        if number.checked_rem(self.virtual_form.len() as u64).is_some_and(|at| self.virtual_form[at as usize]) {
            return Cases { virtual_form: Vec::new(), ..self.in_virtual_form() }.case(number);
        }
        let (target, index) = self.target(number);
        let seed = kernels::case_seed(self.seed, number);
        let entropy = &mut Entropy::from_seed(seed);
        let kept = |generated| Case { target, generated, dropped: 0 };
        match target {
            Target::Kernels => kept(from_seed(seed, &self.config)),
            Target::Instructions => kept(kernels::instruction(index, entropy, &self.config)),
            Target::Mutants => match kernels::mutant(&self.corpus, entropy, &self.config) {
                Some(Mutant { generated, dropped, .. }) => Case { target, generated, dropped },
                // There is no corpus, or the attempts are spent; the number still stands for a kernel.
                None => {
                    let dropped = if self.corpus.is_empty() { 0 } else { self.config.mutants.attempts };
                    Case { target: Target::Kernels, generated: from_seed(seed, &self.config), dropped }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::Form;
    use oriole_optimizer::ssa;

    use super::*;

    #[test]
    fn every_target_gets_its_share_and_counts_its_cases() {
        let config = Config::default();
        let corpus = Arc::new(Corpus::of(vec![oriole_generate::from_seed(1, &config)]));
        let cases = Cases::new(1, config, &[], corpus.clone());
        let round: u64 = Target::ALL.iter().map(|target| target.share()).sum();
        for wanted in Target::ALL {
            let own: Vec<u64> = (0..2 * round)
                .map(|number| cases.target(number))
                .filter(|(target, _)| target == wanted)
                .map(|(_, index)| index)
                .collect();
            assert_eq!(own, (0..2 * wanted.share()).collect::<Vec<_>>(), "{wanted}");
            let alone = Cases::new(1, Config::default(), &[*wanted], corpus.clone());
            assert_eq!((alone.target(77), alone.case(77).target), ((*wanted, 77), *wanted));
        }
    }

    #[test]
    fn cases_in_virtual_form_are_those_before_ssa_construction() {
        let config = Config::default();
        let corpus = Arc::new(Corpus::of(vec![oriole_generate::from_seed(1, &config)]));
        let cases = Cases::new(1, config, &[], corpus);
        let virtual_ones = cases.in_virtual_form();
        let mut constructed = 0;
        for number in 0..32 {
            let (case, mut before) = (cases.case(number), virtual_ones.case(number));
            assert!(before.generated.module.functions.values().all(|func| func.form == Form::Virtual));
            before.generated.form = case.generated.form;
            if case != before {
                ssa::construct_module(&mut before.generated.module);
                constructed += 1;
            }
            assert_eq!(case, before, "case {number}");
        }
        assert!(constructed > 16, "{constructed} of 32 cases are in SSA form");
    }

    #[test]
    fn without_a_corpus_kernels_take_the_place_of_mutants() {
        let config = Config::default();
        let corpus = Arc::new(Corpus::of(vec![oriole_generate::from_seed(1, &config)]));
        let with = Cases::new(1, config.clone(), &[], corpus);
        let without = Cases::new(1, config, &[], Arc::default());
        for number in 0..32 {
            let (one, other) = (with.case(number), without.case(number));
            assert_ne!(other.target, Target::Mutants);
            assert!(one == other || one.target == Target::Mutants && other.dropped == 0, "case {number}");
        }
    }

    #[test]
    fn names_are_read_and_unknown_ones_refused() {
        for target in Target::ALL {
            assert_eq!(target.name().parse(), Ok(*target));
        }
        let error = "kernel".parse::<Target>().expect_err("no such target");
        assert!(error.to_string().contains("kernels"), "{error}");
    }
}
