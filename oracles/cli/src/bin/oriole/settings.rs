//! The options about kernel and pipeline that several subcommands share.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use miette::{Report, miette};
use oriole_campaign::canary;
use oriole_check::inject::{FaultSpec, NotPlanted};
use oriole_check::input::{InputError, Language, NamedLaunch, launches_for, read_kernel_in};
use oriole_check::report::KernelReport;
use oriole_check::supervise::StepId;
use oriole_check::{CheckError, CheckOptions, target_of};
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_launch::file::read_text;
use oriole_optimizer::pass::{Knobs, PassOptions, Statistics};
use oriole_optimizer::peephole::{Examined, RuleSet};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{self, Level, Nvopt};
use oriole_optimizer::pipeline::runner::Options;
use oriole_optimizer::pipeline::text::parse_with;
use oriole_ptx::Dialect;
use oriole_rules::{Source, SourceError};

use crate::axes::second_reader;
use crate::failure::{Failure, say};
use crate::live::remark;
use crate::numbers;
use crate::options::Given;
use crate::selection;

/// What PTX is read.
#[derive(clap::Args, Clone)]
pub struct Reading {
    /// Carry instructions of PTX through as they are that Oriole does not know: `tcgen06`, or with their first
    /// modifiers `cp.async.bulk.other`
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    opaque: Vec<String>,
}

impl Reading {
    /// Reads and verifies a kernel file.
    pub fn kernel(&self, file: &Path) -> Result<Module, InputError> {
        read_kernel_in(file, &self.dialect())
    }

    /// What is read beyond what the tables know.
    pub fn dialect(&self) -> Dialect {
        Dialect { opaque: self.opaque.clone() }
    }
}

/// Which passes there are: the phases of ptxas at a level, behind the pipeline of cicc where that is asked for, or
/// those of a text.
#[derive(clap::Args, Clone)]
pub struct Passes {
    /// The optimization level: 0 to 3, or fast-compile=max, mid or min, which is also spelt fc=max
    #[arg(short = 'O', value_name = "LEVEL", default_value = "3", value_parser = Level::of_flag)]
    level: Level,
    /// Run cicc's pipeline of this level, and the phases of ptxas at that of -O; `opt` does so by itself, with the
    /// level of -O
    #[arg(long, value_name = "LEVEL", value_parser = cicc_levels())]
    nvopt: Option<Level>,
    /// Run the phases of ptxas alone, as all commands but `opt` do by themselves
    #[arg(long)]
    no_nvopt: bool,
    /// Where the kernel comes from, which decides the path through cicc's pipeline: ptx, which others have optimized,
    /// mid, the front end of CUDA, or default
    #[arg(long, value_name = "LANGUAGE", value_parser = nvopt::Language::ALL.map(nvopt::Language::name))]
    lang: Option<String>,
    /// Set an option of cicc's passes (see `oriole knobs --cicc`): no-sroa, do-licm=0, slot-197=8; -opt is the same
    #[arg(long = "opt", visible_alias = "pass-option", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pass_option: Vec<String>,
    /// Run these passes, in this order, instead of those of a level: names with commas between them, arguments in angle
    /// brackets, nests as in `cgscc(inline,function(sroa,gvn))`, and whole pipelines of cicc as in
    /// `nvopt<O3>,GeneralOptimize` (see `oriole phases`)
    #[arg(long, value_name = "PIPELINE")]
    passes: Option<String>,
}

impl Passes {
    /// The options of cicc's passes.
    pub fn options(&self) -> Result<PassOptions, Failure> {
        let mut options = PassOptions::new();
        let lang = self.lang.as_ref().map(|lang| format!("lang={lang}"));
        for setting in lang.iter().chain(&self.pass_option) {
            let help = "`oriole knobs --cicc` lists every option with what it takes";
            let set = options.set(setting);
            set.map_err(|error| Failure::Input(miette!(help = help, "--opt {setting}: {error}")))?;
        }
        Ok(options)
    }

    /// The level of the phases of ptxas.
    pub fn level(&self) -> u8 {
        self.level.of_phases()
    }

    /// Whether they are given as a text.
    pub fn are_a_text(&self) -> bool {
        self.passes.is_some()
    }

    /// The passes. Cicc's pipeline has more passes than the phases, each of which a check judges, so it is named to be
    /// checked.
    pub fn pipeline(&self) -> Result<Pipeline, Failure> {
        self.behind(self.nvopt)
    }

    /// The passes over code of the machine: those of a text, else all there are.
    pub fn over_code(&self) -> Result<Pipeline, Failure> {
        if !self.are_a_text() {
            return Ok(Pipeline::machine());
        }
        let named = self.pipeline()?;
        selection::require_code(&named)?;
        Ok(named)
    }

    /// The passes of a command that runs cicc's pipeline at the level of -O by itself.
    pub fn whole_pipeline(&self) -> Result<Pipeline, Failure> {
        self.behind(self.nvopt.or(Some(self.level)))
    }

    fn behind(&self, level: Option<Level>) -> Result<Pipeline, Failure> {
        let nvopt = Nvopt { options: self.options()?, ..Nvopt::new(self.level) };
        if let Some(text) = &self.passes {
            let pipeline = parse_with(text, &nvopt).map_err(Failure::input)?;
            selection::require_built(&pipeline)?;
            return Ok(pipeline);
        }
        let Some(level) = level.filter(|_| !self.no_nvopt) else { return Ok(Pipeline::ptxas()) };
        let nvopt = Nvopt { level, ..nvopt };
        let overridden: Vec<String> = nvopt.overridden().iter().map(|option| option.row().key()).collect();
        if !overridden.is_empty() {
            let keys = overridden.join(", ");
            remark(format_args!("nvopt<{}> leaves memory-space-opt out, whatever {keys} says", nvopt.level));
        }
        Ok(nvopt.before_phases(self.level()))
    }
}

/// Which phases run, and how.
#[derive(clap::Args, Clone)]
pub struct Settings {
    #[command(flatten)]
    pub passes: Passes,
    /// Set a knob (see `oriole knobs`)
    #[arg(long, value_name = "NAME=VALUE")]
    knob: Vec<String>,
    /// Leave out phases, by name, number or token (see `oriole phases`); checks also know ssa-construction, without
    /// which they leave modules in virtual form
    #[arg(long, value_name = "PHASE,...", value_delimiter = ',')]
    disable_phases: Vec<String>,
    #[command(flatten)]
    rules: RuleFiles,
}

impl Settings {
    /// The options of a pipeline for a module.
    pub fn options(&self, module: &Module) -> Result<Options, Failure> {
        let mut options = Options::new(target(module)?);
        options.opt_level = self.passes.level();
        options.pass_options = self.passes.options()?;
        options.disabled.clone_from(&self.disable_phases);
        options.rules = self.rules.load()?;
        options.knobs = knobs(&self.knob)?;
        Ok(options)
    }
}

/// The knobs with settings of `--knob`.
pub fn knobs(settings: &[String]) -> Result<Knobs, Failure> {
    let mut knobs = Knobs::new();
    for setting in settings {
        let help = "`oriole knobs` lists every knob with what it takes";
        knobs.set(setting).map_err(|error| Failure::Input(miette!(help = help, "--knob {setting}: {error}")))?;
    }
    Ok(knobs)
}

/// The names of cicc's levels.
fn cicc_levels() -> impl TypedValueParser<Value = Level> {
    let names = Level::ALL.map(Level::name);
    PossibleValuesParser::new(names).map(|name| Level::named(&name).expect("it is one of the names of levels"))
}

/// Rewrite rules beside those that are built in.
#[derive(clap::Args, Clone)]
pub struct RuleFiles {
    /// Add the rewrite rules of a file (see `oriole rules`)
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Leave the built-in rewrite rules out
    #[arg(long)]
    no_builtin_rules: bool,
    /// Warn of rules that are refused otherwise, and use them: results that are not cheaper, rewriting that may not
    /// end, examples that say what is not so
    #[arg(long)]
    unchecked_rules: bool,
    /// The rules once they are read: a command reads each file, and says what is wrong with it, once.
    #[arg(skip)]
    loaded: OnceLock<Arc<RuleSet>>,
}

impl RuleFiles {
    /// The rules; `None` for the built-in ones. What a rule means is not looked at: that is what checks are for.
    pub fn load(&self) -> Result<Option<Arc<RuleSet>>, Failure> {
        if self.rules.is_empty() && !self.no_builtin_rules {
            return Ok(None);
        }
        if let Some(loaded) = self.loaded.get() {
            return Ok(Some(loaded.clone()));
        }
        let Examined { set, faults } = examined(&self.rules, !self.no_builtin_rules)?;
        if !faults.is_empty() {
            self.doubt(faults)?;
        }
        Ok(Some(self.loaded.get_or_init(|| Arc::new(set)).clone()))
    }

    /// Says what is wrong with the rules; an error unless they are to be used all the same.
    fn doubt(&self, faults: Vec<SourceError>) -> Result<(), Failure> {
        let files: Vec<String> = faults.iter().map(|fault| format!("`{}`", fault.source_code.name())).collect();
        let files = files.join(", ");
        // Nobody is left to tell where standard error is closed.
        faults.into_iter().for_each(|fault| drop(say(&Report::new(fault))));
        if self.unchecked_rules {
            drop(writeln!(std::io::stderr(), "warning: the rules of {files} are used all the same"));
            return Ok(());
        }
        let help = "`oriole rules check` judges each rule; --unchecked-rules uses them all the same";
        Err(Failure::Input(miette!(help = help, "the rules of {files} are refused")))
    }
}

/// The rules of some files, beside the built-in ones or without, and what is wrong with them apart from what they mean.
pub fn examined(files: &[PathBuf], builtin: bool) -> Result<Examined, Failure> {
    let sources: Vec<Source> = files.iter().map(|path| read_rules(path)).collect::<Result<_, _>>()?;
    let before = if builtin { RuleSet::builtin() } else { Arc::default() };
    oriole_sass::ori::register();
    before.examine(&sources).map_err(Failure::input)
}

/// A rule file may have this many bytes.
const MAX_RULE_BYTES: u64 = 4 << 20;

/// Reads a rule file.
fn read_rules(path: &Path) -> Result<Source, Failure> {
    let text = read_text(path, MAX_RULE_BYTES);
    let text = text.map_err(|failure| InputError::Unreadable { path: path.to_owned(), failure })?;
    Ok(Source { name: path.display().to_string(), text: text.into() })
}

/// The machine that a module is for.
pub fn target(module: &Module) -> Result<Target, Failure> {
    target_of(module).map_err(|error| {
        let help = "the architecture stands behind `.target` in PTX, behind `target` in .ori";
        Failure::Input(miette!(help = help, "{error}"))
    })
}

/// Faults to plant, to see the harness find them.
#[derive(clap::Args, Clone)]
pub struct Planting {
    /// Plant a fault after a phase or another step, to see it found: one of the kinds of `oriole selftest --list`, and
    /// a seed for its place; an error where no kernel has a place for it
    #[arg(long, value_name = "KIND@STEP[:SEED]")]
    fault: Vec<FaultSpec>,
    /// Add a phase with a known fault, `Canary`, to see what findings look like
    #[arg(long)]
    plant: bool,
}

impl Planting {
    /// Puts passes with faults in the place of those without.
    pub fn plant(&self, passes: &mut Pipeline) {
        self.fault.iter().for_each(|fault| fault.plant(passes));
        if self.plant {
            canary::plant(passes);
        }
    }

    /// The faults; those of phases are planted in a list of these.
    pub fn faults(&self) -> Vec<FaultSpec> {
        self.fault.clone()
    }

    /// An error where a fault was planted in no kernel, as far as `was_planted` knows: finding nothing means nothing
    /// then.
    pub fn require(&self, was_planted: impl Fn(&FaultSpec) -> bool) -> Result<(), Failure> {
        let missing = self.fault.iter().filter(|fault| !was_planted(fault));
        let faults: Vec<String> = missing.map(FaultSpec::to_string).collect();
        if faults.is_empty() { Ok(()) } else { Err(Failure::input(NotPlanted { faults })) }
    }
}

/// When a phase counts as one that does not end.
#[derive(clap::Args, Clone)]
pub struct Patience {
    /// A phase that takes longer does not end, and is a finding: 10s, 500ms
    #[arg(long, value_name = "TIME", value_parser = numbers::patience, default_value = "10s")]
    pub hang_after: Duration,
}

/// What is checked: which passes, how they run, and with which faults.
#[derive(clap::Args, Clone)]
pub struct Scope {
    /// Look at this phase alone, `gvn#2` for the second of a name; ssa-construction, ssa-destruction and
    /// ptx-round-trip are the steps that are no phases
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    planting: Planting,
}

impl Scope {
    /// How a kernel file is checked. Text form may use what PTX does not have, and a check of one phase is about that
    /// phase, so neither goes through PTX unless that is asked for.
    pub fn check(&self, file: &Path, given: &Given) -> Result<CheckOptions, Failure> {
        self.check_by(self.settings.passes.pipeline()?, file, given)
    }

    /// The same, with the passes of a command that optimizes.
    pub fn optimizing(&self, file: &Path, given: &Given) -> Result<CheckOptions, Failure> {
        self.check_by(self.settings.passes.whole_pipeline()?, file, given)
    }

    /// How code of the machine is checked, whose words stay in place.
    pub fn check_code(&self, file: &Path, given: &Given) -> Result<CheckOptions, Failure> {
        self.check_by(self.settings.passes.over_code()?, file, given)
    }

    fn check_by(&self, mut passes: Pipeline, file: &Path, given: &Given) -> Result<CheckOptions, Failure> {
        self.planting.plant(&mut passes);
        let step = self.phase.as_deref().and_then(StepId::outside_phases);
        let pipeline = self.settings.options(&Module::default())?;
        match (&self.phase, step) {
            (Some(token), None) => passes = selection::keep(&passes, slice::from_ref(token), &pipeline)?,
            (None, _) => selection::require_some(&passes, &pipeline)?,
            (Some(_), Some(_)) => {}
        }
        let whole = self.phase.is_none() && Language::of(file) == Some(Language::Ptx);
        let options = CheckOptions {
            passes,
            pipeline,
            destruction: self.phase.is_none(),
            round_trip: whole,
            second_reader: second_reader(1),
            faults: self.planting.faults(),
            replay: given.replay(),
            vary: true,
            ..CheckOptions::default()
        };
        Ok(match step {
            Some(step) => options.only(step),
            None => options,
        })
    }

    /// An error where a fault was planted in none of the kernels.
    pub fn require_planted<'r>(&self, reports: impl IntoIterator<Item = &'r KernelReport>) -> Result<(), Failure> {
        let lines = reports.into_iter().flat_map(|report| &report.faults).filter(|line| line.planted);
        let planted: Vec<&str> = lines.map(|line| line.fault.as_str()).collect();
        self.planting.require(|fault| planted.contains(&fault.to_string().as_str()))
    }

    /// An error where the counters of no step say that a fault was made in it.
    pub fn require_made(&self, steps: &[(StepId, Statistics)]) -> Result<(), Failure> {
        self.planting.require(|fault| {
            let mut own = steps.iter().filter(|(step, _)| *step == fault.step);
            own.any(|(_, statistics)| fault.was_made(statistics))
        })
    }

    /// Whether all phases run.
    pub fn is_whole(&self) -> bool {
        self.phase.is_none()
    }
}

/// One kernel, and what of it is looked at.
#[derive(clap::Args, Clone)]
pub struct Subject {
    /// The kernel: a .ptx or .ori file
    pub file: PathBuf,
    /// A launch file, instead of those beside the kernel
    #[arg(long, value_name = "FILE")]
    pub launch: Vec<PathBuf>,
    #[command(flatten)]
    pub scope: Scope,
}

impl Subject {
    /// The file's name in messages.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// The launches.
    pub fn launches(&self) -> Result<Vec<NamedLaunch>, InputError> {
        launches_for(&self.file, &self.launch)
    }
}

/// A check that could not be made, as a failure.
pub fn check_failure(kernel: &str, error: &CheckError) -> Failure {
    let help = match error {
        CheckError::Load { .. } => "arguments and entry of the launch file must fit the kernel's parameters",
        CheckError::Lift(_) => "`oriole sass` prints the words of a cubin, and says which are not known",
        CheckError::UnknownPhase(_) | CheckError::NotAmong { .. } => "`oriole phases` lists them all",
        CheckError::Target(_) => "the architecture stands behind `.target` in PTX, behind `target` in .ori",
        CheckError::Reproducer { .. } => "name another folder with --out",
    };
    Failure::Input(miette!(help = help, "{kernel}: {error}"))
}
