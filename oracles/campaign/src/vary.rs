//! Cases under other conditions than the default: knobs, levels and machines that change what phases do.
//!
//! Code that the default pipeline never reaches is tested by nobody else. Which case gets which condition follows from
//! its number, and the replay command of a finding names it; the machine is in the module.

use std::sync::LazyLock;

use oriole_check::CheckOptions;
use oriole_check::supervise::StepId;
use oriole_generate::another_launch;
use oriole_ir::Module;
use oriole_launch::random::SplitMix64;
use oriole_optimizer::pass::Element;
use oriole_optimizer::pass::knobs::{KNOBS, KnobRow, Knobs};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::table::PHASES;

use super::Options;

/// How many conditions the cases of a campaign get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vary {
    /// All cases have the default, or what the caller has set.
    Nothing,
    /// Some cases have another machine, level or setting of knobs.
    Some,
    /// Every knob is at both of its ends in some cases, alone and together with others.
    Knobs,
}

/// A condition: what a phase does differently under it.
#[derive(Clone)]
struct Variation {
    /// The machine; that of the module where `None`.
    target: Option<&'static str>,
    /// The optimization level; the campaign's own where `None`, and where that is not the default.
    level: Option<u8>,
    knobs: Vec<String>,
    /// A step that is left out.
    without: Option<StepId>,
    /// A pipeline in place of the phases of ptxas, where a campaign is about these.
    passes: Option<&'static str>,
}

const PLAIN: Variation = Variation { target: None, level: None, knobs: Vec::new(), without: None, passes: None };
/// The level that a user has not chosen.
const DEFAULT_LEVEL: u8 = 3;
/// Conditions under which many knobs are at an end at once.
const MIXTURES: u64 = 128;
/// The machines of these: the oldest, those on which phases are off, and the module's own.
const MACHINES: [Option<&str>; 4] = [None, None, Some("sm_70"), Some("sm_80")];

fn level(level: u8) -> Variation {
    Variation { level: Some(level), ..PLAIN }
}

/// Cases are in virtual form and stay so; phases that need SSA form leave them alone.
fn in_virtual_form(settings: &[&str]) -> Variation {
    Variation { without: Some(StepId::SsaConstruction), ..knobs(settings) }
}

/// Levels that have no number, and the passes of cicc that are built, in several orders: calls are inlined whole or
/// after their callees were simplified, and variables go in rounds or at once.
const CICC: [&str; 12] = [
    "nvopt<Ofcmid>",
    "nvopt<Ofcmin>,GeneralOptimizeEarly",
    "nvopt<Ofcmax>,nvopt<O1>",
    "always-inline,cgscc<2>(inline,function(sroa)),GeneralOptimizeEarly,OriHoistInvariantsEarly,\
     function(loop(loop-unswitch),GeneralOptimizeMid)",
    "function(sroa,GvnCse),cgscc(inline,function(sroa,loop(loop-unswitch))),loop(loop-unswitch),always-inline,sroa",
    "function(loop-unroll,loop(loop-rotate),loop(licm),loop(loop-unswitch),GvnCse),loop-rotate,loop-unroll,licm,\
     loop-simplify,sink,sinking2",
    "module(always-inline),cgscc<4>(inline,function(memory-space-opt<first-time>,nvvm-lower-alloca,sroa,dse,instcombine,\
     gvn,dce)),memory-space-opt<second-time>,sroa,newgvn,jump-threading,simplifycfg,dse,reassociate,early-cse",
    "nv-inline-must,nvvm-lower-alloca,dse,cgscc(function-attrs),nv-early-inliner,\
     function(byval-mem2reg,early-cse,sroa,memory-space-opt,dse),simplifycfg,cgscc(inline,function(dce,dse,sroa))",
    "function(tailcallelim,instsimplify,sccp,correlated-propagation,adce,nvvm-predicate-opt,break-crit-edges,memcpyopt),\
     simplifycfg,nvvm-peephole-optimizer,nvvm-predicate-opt,adce,sccp",
    "function(nvvm-generic-addr-opt,nvvm-barrier-analysis,nvvm-lower-barriers,nvvm-warp-shuffle,nvvm-reduction,\
     normalize-gep,bypass-slow-division,nvvm-reflect-pp,branch-dist,basic-dbe,nvvm-ir-verification),\
     GeneralOptimizeEarly,break-crit-edges,nvvm-unreachable-block-elim,correlated-propagation",
    "ipconstprop,deadargelim,constmerge,set-global-array-alignment,function(set-local-array-alignment,reuse-local-memory,\
     old-load-store-vectorizer,loop(licm)),ipmsp,always-inline,ipconstprop,deadargelim,function(dce,memory-space-opt,\
     reuse-local-memory,loop-rotate,loop(licm),loop-unroll,loop(loop-reduce),old-load-store-vectorizer)",
    "check-kernel-functions,select-kernels<kernel>,function(GeneralOptimizeEarly,loop(loop-index-split,loop-rotate,\
     loop-index-split,loop-unswitch,loop-index-split),GeneralOptimizeMid,remat,loop-unroll,dce),remat,OriDoRemat",
];

fn passes(passes: &'static str) -> Variation {
    Variation { passes: Some(passes), ..PLAIN }
}

fn knobs(knobs: &[&str]) -> Variation {
    Variation { knobs: knobs.iter().map(|setting| (*setting).to_owned()).collect(), ..PLAIN }
}

/// No phase asks what it costs.
const EAGER: [&str; 13] = [
    "BranchOptThreadInsts=32",
    "SwitchOptTableCases=1000",
    "SwitchOptTreeCases=3",
    "SwitchOptFewTargets=16",
    "PredicationDivergent=1000",
    "PredicationUniform=1000",
    "PredicationOverhead=1000",
    "PredicationPartial=1000",
    "PredicationAccesses=1000",
    "StrengthReduceGain=0",
    "UnrollSize=1024",
    "PipelineLoads=unlimited",
    "LoopFusionSize=unlimited",
];

/// By number, around. Most cases are plain, as most users' kernels are.
static VARIATIONS: LazyLock<Vec<Variation>> = LazyLock::new(|| {
    vec![
        PLAIN,
        PLAIN,
        Variation { target: Some("sm_70"), ..PLAIN },
        PLAIN,
        level(1),
        PLAIN,
        Variation { target: Some("sm_70"), ..level(2) },
        PLAIN,
        level(0),
        PLAIN,
        knobs(&["CopyPropNoWriteNonRR=1"]),
        PLAIN,
        knobs(&["CopyPropAddr=0", "LateCopyPropComplPred=0"]),
        PLAIN,
        Variation { target: Some("sm_70"), ..knobs(&["CopyPropNonRegMultiDef=1", "CopyPropForceGlobal=1"]) },
        PLAIN,
        knobs(&["CopyPropNonRegMultiDef=1", "CopyPropConstantBank=0"]),
        PLAIN,
        knobs(&["GeneralOptimizeIterations=1", "CopyPropGlobalBudget=3"]),
        in_virtual_form(&[]),
        in_virtual_form(&["EnablePhases=AdvancedPhaseBackPropVReg"]),
        knobs(&["EnableGvnCseMode=4"]),
        PLAIN,
        knobs(&["EnableGvnCseMode=1", "ForceLateCommoning=0"]),
        PLAIN,
        Variation { target: Some("sm_80"), ..PLAIN },
        knobs(&["EnableGvnCseMode=5"]),
        // Spellings that begin with Blackwell.
        Variation { target: Some("sm_100"), ..PLAIN },
        knobs(&EAGER),
        knobs(&["EnableGvnCse=0", "DisableMoveCommoning=1"]),
        Variation { target: Some("sm_70"), ..knobs(&["EnableGvnCseMode=6", "ForceLateCommoning=0"]) },
        knobs(&["GvnCseSkipExtendedBlocks=1", "EnableGvnCsePerInstr=!3-20"]),
        // Whatever can be a switch or under a guard, be it worth it or not.
        knobs(&EAGER),
        knobs(&[&EAGER[..], &["SwitchOptTableCases=2", "SwitchOptTableDensity=0"]].concat()),
        // Budgets that generated kernels are over.
        knobs(&["SplitLiveRangesBudget=1", "LoopSimplifyEverywhere=1"]),
        PLAIN,
        knobs(&["SplitLiveRangesBudget=12", "SplitHighPressureLiveRanges=1", "SplitHighPressureGap=2"]),
        in_virtual_form(&["CopyPropUseReachingDefs=1"]),
        in_virtual_form(&["CopyPropUseReachingDefs=1", "EnablePhases=AdvancedPhaseBackPropVReg"]),
        Variation { target: Some("sm_70"), ..knobs(&["EnableGvnCseMode=6"]) },
        passes(CICC[3]),
        PLAIN,
        passes(CICC[4]),
        passes(CICC[0]),
        passes(CICC[1]),
        passes(CICC[2]),
        passes(CICC[5]),
        passes(CICC[6]),
        passes(CICC[7]),
        passes(CICC[8]),
        passes(CICC[9]),
        passes(CICC[10]),
        passes(CICC[11]),
        // Fewer registers than any kernel needs.
        Variation { passes: Some(CICC[11]), ..knobs(&["SplitLiveRangesBudget=12"]) },
    ]
});

/// The same for [`Vary::Knobs`]: those, each end of each knob alone, what is off by default, and mixtures of ends.
static KNOB_VARIATIONS: LazyLock<Vec<Variation>> = LazyLock::new(|| {
    let off_by_default = PHASES.iter().filter(|phase| phase.no_op_by_default && phase.run.is_some());
    let enabled = off_by_default.map(|phase| knobs(&[&format!("EnablePhases={}", phase.name)]));
    let alone = KNOBS.iter().flat_map(settings).map(|setting| knobs(&[&setting]));
    VARIATIONS.iter().cloned().chain(alone).chain(enabled).chain((0..MIXTURES).map(mixture)).collect()
});

/// The settings of a knob's ends that are not its default.
fn settings(row: &'static KnobRow) -> impl Iterator<Item = String> {
    let default = Knobs::new().text_of(row.knob);
    row.kind.ends().into_iter().filter(move |end| *end != default).map(|end| format!("{}={end}", row.name))
}

/// A machine, a level that runs most phases, and a third of the knobs at an end, all by number.
fn mixture(number: u64) -> Variation {
    let mut random = SplitMix64::new(number);
    let mut knobs = Vec::new();
    for row in KNOBS {
        let ends: Vec<String> = settings(row).collect();
        let drawn = random.next_u64() as usize % (3 * ends.len().max(1));
        knobs.extend(ends.into_iter().nth(drawn));
    }
    let target = MACHINES[random.next_u64() as usize % MACHINES.len()];
    let level = [2, DEFAULT_LEVEL][random.next_u64() as usize % 2];
    Variation { target, level: Some(level).filter(|level| *level != DEFAULT_LEVEL), knobs, ..PLAIN }
}

impl Options {
    /// The conditions of this campaign, by number around.
    fn variations(&self) -> &'static [Variation] {
        match self.vary {
            Vary::Nothing => &VARIATIONS[..1],
            Vary::Some => &VARIATIONS,
            Vary::Knobs => &KNOB_VARIATIONS,
        }
    }

    /// Of each variation whether its cases are in virtual form.
    pub(super) fn virtual_variations(&self) -> Vec<bool> {
        self.variations().iter().map(|variation| variation.without == Some(StepId::SsaConstruction)).collect()
    }

    /// The number of a case's variation.
    pub(super) fn variation_of(&self, number: u64) -> usize {
        (number % self.variations().len() as u64) as usize
    }

    /// How the cases of each variation are checked, without and with the round trip.
    pub(super) fn checks(&self) -> Vec<[CheckOptions; 2]> {
        // A campaign has just verified the module.
        let with = |mut check: CheckOptions, round_trip| {
            check.pipeline.trusted = true;
            CheckOptions { destruction: check.destruction && round_trip, round_trip, ..check }
        };
        let both = |number| [false, true].map(|trip| with(self.check_of(number), self.check.round_trip && trip));
        (0..self.variations().len() as u64).map(both).collect()
    }

    /// How a case is checked.
    pub fn check_of(&self, number: u64) -> CheckOptions {
        let mut check = CheckOptions { tries: self.config.tries, another: another_launch, ..self.check.clone() };
        let Variation { level, knobs, without, passes, .. } = &self.variations()[self.variation_of(number)];
        let mut replay = String::new();
        let are = Standard::of(&check);
        if let (Some(level), Some(are)) = (level.filter(|_| check.pipeline.opt_level == DEFAULT_LEVEL), are) {
            check.pipeline.opt_level = level;
            check.passes = are.at(level, &check);
            replay += &format!(" -O{level}");
        }
        if let Some(step) = without {
            check.pipeline.disabled.insert(0, step.token().into_owned());
            replay += &format!(" --disable-phases {}", step.token());
        }
        if let Some(text) = passes.filter(|_| are == Some(Standard::Whole)) {
            check.passes = text.parse().expect("every row is tested to be a pipeline");
            replay += &format!(" --passes '{text}'");
        }
        // What the caller has set comes last, and so stays.
        let own: Vec<String> = check.pipeline.knobs.settings().collect();
        replay.extend(knobs.iter().map(|setting| format!(" --knob {setting}")));
        check.replay = replay + &check.replay;
        for setting in knobs.iter().chain(&own) {
            // Every row is tested to be legal, and the caller's settings were taken before.
            let _ = check.pipeline.knobs.set(setting);
        }
        check
    }

    /// The module of a case, for the machine that it runs for: that of the variation, if it has all the operations.
    pub fn module_of(&self, number: u64, mut module: Module) -> Module {
        if let Some(compiler) = &self.compiler {
            compiler.make_for_oldest(&mut module);
            return module;
        }
        let varied = self.variations()[self.variation_of(number)].target;
        let has_all = |name: &&str| name.parse().is_ok_and(|target| module.is_for(target));
        if let Some(target) = varied.filter(has_all) {
            module.target = target.to_owned();
        }
        module
    }
}

/// Passes that a level alone decides, none of them with a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standard {
    /// The pipeline of cicc, then the phases of ptxas.
    Whole,
    /// The phases of ptxas alone.
    Phases,
}

impl Standard {
    /// What a check takes; `None` where it takes others.
    fn of(check: &CheckOptions) -> Option<Standard> {
        let level = check.pipeline.opt_level;
        [Standard::Whole, Standard::Phases].into_iter().find(|standard| same(&check.passes, &standard.at(level, check)))
    }

    /// The passes at a level, under the options of a check.
    fn at(self, level: u8, check: &CheckOptions) -> Pipeline {
        let level = Level::named(&format!("O{level}")).expect("each level of the phases is one of cicc's");
        match self {
            Standard::Whole => {
                Nvopt { options: check.pipeline.pass_options.clone(), ..Nvopt::new(level) }.with_phases()
            }
            Standard::Phases => Pipeline::ptxas(),
        }
    }
}

/// Whether two pipelines have the same rows with the same arguments. A pass with a fault has a row of its own.
fn same(one: &Pipeline, other: &Pipeline) -> bool {
    let same = |(one, other): (&Element, &Element)| {
        std::ptr::eq(one.row(), other.row()) && one.id() == other.id() && one.arguments == other.arguments
    };
    one.all().count() == other.all().count() && one.all().zip(other.all()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_optimizer::pass::Status;
    use oriole_optimizer::pipeline::table::PASSES;

    /// Each end of each knob is set in a case alone, where the guilt of a knob shows, and with others.
    #[test]
    fn every_knob_is_at_both_ends() {
        let set = |variation: &Variation, setting: &String| variation.knobs.contains(setting);
        for setting in KNOBS.iter().flat_map(settings) {
            let rows = KNOB_VARIATIONS.iter().filter(|variation| set(variation, &setting));
            let (alone, together): (Vec<_>, Vec<_>) = rows.partition(|variation| variation.knobs.len() == 1);
            assert!(!alone.is_empty() && !together.is_empty(), "{setting}");
        }
    }

    /// The options of a campaign as the command makes them.
    fn standard() -> Options {
        let mut options = Options::new(1, 1);
        options.check.passes = Nvopt::new(Level::O3).with_phases();
        options
    }

    #[test]
    fn levels_are_varied_and_said_unless_one_is_chosen() {
        let mut options = standard();
        let levels = |options: &Options| {
            (0..VARIATIONS.len() as u64).map(|number| options.check_of(number)).collect::<Vec<CheckOptions>>()
        };
        let checks = levels(&options);
        for level in 0..=3 {
            let said = |check: &&CheckOptions| check.pipeline.opt_level == level;
            let check = checks.iter().find(said).unwrap_or_else(|| panic!("no case has level {level}"));
            assert_eq!(check.replay.contains(&format!(" -O{level}")), level != DEFAULT_LEVEL, "{}", check.replay);
            assert!(same(&check.passes, &Standard::Whole.at(level, check)), "level {level}");
        }
        options.check.passes = "GvnCse".parse().expect("a pipeline");
        assert!(levels(&options).iter().all(|check| !check.replay.contains("-O")), "a text goes with no level");
        options.check.passes = Pipeline::ptxas();
        assert!(levels(&options).iter().any(|check| check.pipeline.opt_level == 1 && check.passes.len() < 100));
        options.check.pipeline.opt_level = 1;
        assert!(levels(&options).iter().all(|check| check.pipeline.opt_level == 1 && !check.replay.contains("-O")));
    }

    #[test]
    fn some_kernels_are_for_the_older_machine() {
        let options = Options::new(1, 1);
        let (mut varied, mut older) = (0, 0);
        for number in
            (0..20 * VARIATIONS.len() as u64).filter(|n| VARIATIONS[options.variation_of(*n)].target.is_some())
        {
            let module = options.module_of(number, oriole_check::kernels::case(1, number, &options.config).module);
            assert!(module.sm().is_some_and(|target| module.is_for(target)));
            varied += 1;
            older += u32::from(module.target != "sm_90");
        }
        assert!(10 * older > varied, "{older} of {varied}");
    }

    /// Phases over virtual form have something to do in every case that goes without SSA construction.
    #[test]
    fn cases_without_ssa_construction_are_in_virtual_form() {
        let options = Options::new(1, 1);
        let (cases, mut counted) = (options.by_number(), 0);
        for number in 0..VARIATIONS.len() as u64 {
            let without = VARIATIONS[options.variation_of(number)].without == Some(StepId::SsaConstruction);
            let module = cases.case(number).generated.module;
            let all = module.functions.values().all(|func| func.form == oriole_ir::Form::Virtual);
            assert!(all || !without, "case {number}");
            counted += usize::from(without);
        }
        assert!(counted > 3, "{counted} of {}", VARIATIONS.len());
    }

    #[test]
    fn every_built_pass_of_cicc_is_in_some_case() {
        let built = PASSES.iter().filter(|row| row.status() == Status::Built);
        let taken: Vec<Pipeline> = CICC.iter().map(|text| text.parse().expect("a pipeline")).collect();
        for row in built {
            assert!(taken.iter().flat_map(Pipeline::all).any(|element| element.name == row.name), "{}", row.name);
        }
        let mut options = standard();
        let about = |options: &Options| {
            let cases = 0..VARIATIONS.len() as u64;
            cases.filter(|number| options.check_of(*number).replay.contains("--passes")).count()
        };
        assert_eq!(about(&options), CICC.len() + 1, "one of them with fewer registers too");
        options.check.passes = "GvnCse".parse().expect("a pipeline");
        assert_eq!(about(&options), 0, "a campaign about one phase takes no others");
    }

    #[test]
    fn every_knob_and_machine_is_known() {
        for variation in &*KNOB_VARIATIONS {
            for setting in &variation.knobs {
                Knobs::new().set(setting).expect("a knob and a value");
            }
            let module = Module { target: variation.target.unwrap_or("sm_90").to_owned(), ..Module::default() };
            oriole_check::target_of(&module).expect("a machine");
        }
    }
}
