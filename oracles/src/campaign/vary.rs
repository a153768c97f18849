//! Cases under other conditions than the default: knobs, levels and machines that change what phases do.
//!
//! Code that the default pipeline never reaches is tested by nobody else. Which case gets which condition follows from its
//! number, and the replay command of a finding names it; the machine stands in the module.

use oriole_optimizer::ir::Module;

use super::Options;
use crate::check::CheckOptions;
use crate::generate::another_launch;

/// A condition: what a phase does differently under it.
struct Variation {
    /// The machine; that of the module where `None`.
    target: Option<&'static str>,
    knobs: &'static [&'static str],
}

const PLAIN: Variation = Variation { target: None, knobs: &[] };

const fn knobs(knobs: &'static [&'static str]) -> Variation {
    Variation { knobs, ..PLAIN }
}

/// By number, around. Most cases are plain, as most users' kernels are.
const VARIATIONS: &[Variation] = &[
    PLAIN,
    PLAIN,
    Variation { target: Some("sm_70"), ..PLAIN },
    PLAIN,
    knobs(&["CopyPropNoWriteNonRR=1"]),
    PLAIN,
    knobs(&["CopyPropAddr=0", "LateCopyPropComplPred=0"]),
    PLAIN,
    Variation { target: Some("sm_70"), knobs: &["CopyPropNonRegMultiDef=1", "CopyPropForceGlobal=1"] },
    PLAIN,
    knobs(&["CopyPropNonRegMultiDef=1", "CopyPropConstantBank=0"]),
    PLAIN,
    knobs(&["GeneralOptimizeIterations=1", "CopyPropGlobalBudget=3"]),
];

impl Options {
    /// The number of a case's variation.
    pub(super) fn variation_of(&self, number: u64) -> usize {
        if self.vary { (number % VARIATIONS.len() as u64) as usize } else { 0 }
    }

    /// How the cases of each variation are checked, without and with the round trip.
    pub(super) fn checks(&self) -> Vec<[CheckOptions; 2]> {
        // A campaign has just verified the module.
        let with = |mut check: CheckOptions, round_trip| {
            check.pipeline.trusted = true;
            CheckOptions { round_trip, ..check }
        };
        let both = |number| [false, true].map(|trip| with(self.check_of(number), self.check.round_trip && trip));
        (0..VARIATIONS.len() as u64).map(both).collect()
    }

    /// How a case is checked.
    pub fn check_of(&self, number: u64) -> CheckOptions {
        let mut check = CheckOptions { tries: self.config.tries, another: another_launch, ..self.check.clone() };
        // What the caller has set comes last, and so stays.
        let own: Vec<String> = check.pipeline.knobs.settings().collect();
        let settings = VARIATIONS[self.variation_of(number)].knobs;
        check.replay = settings.iter().map(|setting| format!(" --knob {setting}")).collect::<String>() + &check.replay;
        for setting in settings.iter().map(|setting| (*setting).to_owned()).chain(own) {
            // Every row is tested to be legal, and the caller's settings were taken before.
            let _ = check.pipeline.knobs.set(&setting);
        }
        check
    }

    /// The module of a case, for the machine that it runs for.
    pub fn module_of(&self, number: u64, mut module: Module) -> Module {
        if let Some(target) = VARIATIONS[self.variation_of(number)].target {
            module.target = target.to_owned();
        }
        module
    }
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::pipeline::knobs::Knobs;

    use super::*;

    #[test]
    fn every_knob_and_machine_is_known() {
        for variation in VARIATIONS {
            for setting in variation.knobs {
                Knobs::new().set(setting).expect("a knob and a value");
            }
            let module = Module { target: variation.target.unwrap_or("sm_90").to_owned(), ..Module::default() };
            crate::check::target_of(&module).expect("a machine");
        }
    }
}
