//! Which passes run, and how: what the options of the commands say, as keywords.

use std::sync::Arc;

use oriole_check::CheckOptions;
use oriole_check::supervise::StepId;
use oriole_ir::Module;
use oriole_optimizer::pass::{PassOptions, Status};
use oriole_optimizer::peephole::{Examined, RuleSet};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{Options, skips};
use oriole_optimizer::pipeline::text::parse_with;
use oriole_rules::Source;
use pyo3::prelude::*;

use crate::error::Error;

/// The keywords of `optimize` and `check`, each of which is there.
#[derive(FromPyObject, Clone, Debug)]
#[pyo3(from_item_all)]
pub struct Settings {
    /// The level of the phases: `3`, or `fast-compile=max`.
    level: String,
    /// Whether cicc's pipeline of this level is in front of the phases.
    nvopt: bool,
    /// These passes instead of those of a level.
    passes: Option<String>,
    /// This phase or step alone.
    phase: Option<String>,
    /// `NAME=VALUE` of knobs.
    knobs: Vec<String>,
    /// The same of options of cicc's passes.
    options: Vec<String>,
    /// Phases that are left out.
    disable: Vec<String>,
    /// Rule files, as name and text.
    rules: Vec<(String, String)>,
    builtin_rules: bool,
}

const LISTING: &str = "`oriole phases` lists them all";

impl Settings {
    /// The passes, and how they run on a module.
    pub fn pipeline(&self, module: &Module) -> Result<(Pipeline, Options), Error> {
        let level = Level::of_flag(&self.level).map_err(|error| {
            Error::input(format!("level {}: {error}", self.level), "write 0 to 3, or fast-compile=max, mid or min")
        })?;
        let options = self.pass_options()?;
        let nvopt = Nvopt { options: options.clone(), ..Nvopt::new(level) };
        let passes = match &self.passes {
            Some(text) => parse_with(text, &nvopt).map_err(|error| Error::of(&error))?,
            None if self.nvopt => nvopt.before_phases(level.of_phases()),
            None => Pipeline::ptxas(),
        };
        let planned = |element: &&oriole_optimizer::pass::Element| {
            self.passes.is_some() && !element.is_of_sequence() && element.status() == Status::Planned
        };
        if let Some(element) = passes.all().find(planned) {
            return Err(Error::input(format!("`{}` is planned and not built yet", element.name), LISTING));
        }
        let target = oriole_check::target_of(module).map_err(|error| {
            Error::input(error, "the architecture is behind `.target` in PTX, behind `target` in .ori")
        })?;
        let mut run = Options::new(target);
        (run.opt_level, run.pass_options) = (level.of_phases(), options);
        run.disabled.clone_from(&self.disable);
        run.rules = self.rules()?;
        for knob in &self.knobs {
            let set = run.knobs.set(knob);
            set.map_err(|error| Error::input(format!("knob {knob}: {error}"), "`oriole knobs` lists every knob"))?;
        }
        Ok((passes, run))
    }

    /// How a kernel is checked. A phase that is named must be one that runs.
    pub fn check(&self, module: &Module) -> Result<CheckOptions, Error> {
        let (mut passes, pipeline) = self.pipeline(module)?;
        let step = self.phase.as_deref().and_then(StepId::outside_phases);
        if let (Some(token), None) = (&self.phase, step) {
            passes = passes.steps();
            let mut judged = pipeline.clone();
            judged.disabled.retain(|token| StepId::outside_phases(token).is_none());
            let skips = skips(&passes, &judged).map_err(|error| Error::input(error, LISTING))?;
            let runs: Vec<bool> =
                passes.iter().zip(&skips).map(|(element, skip)| element.answers_to(token) && skip.is_none()).collect();
            if !runs.contains(&true) {
                return Err(Error::input(format!("`{token}` selects no phase that runs under these options"), LISTING));
            }
            let mut runs = runs.into_iter();
            passes.retain(|_| runs.next().unwrap_or(false));
        }
        let destruction = self.phase.is_none();
        let options = CheckOptions {
            passes,
            pipeline,
            destruction,
            round_trip: destruction,
            vary: true,
            ..CheckOptions::default()
        };
        Ok(match step {
            Some(step) => options.only(step),
            None => options,
        })
    }

    fn pass_options(&self) -> Result<PassOptions, Error> {
        let mut options = PassOptions::new();
        for setting in &self.options {
            let set = options.set(setting);
            let remedy = "`oriole knobs --cicc` lists every option with what it takes";
            set.map_err(|error| Error::input(format!("option {setting}: {error}"), remedy))?;
        }
        Ok(options)
    }

    /// The rules beside those that are built in; `None` for these alone.
    fn rules(&self) -> Result<Option<Arc<RuleSet>>, Error> {
        if self.rules.is_empty() && self.builtin_rules {
            return Ok(None);
        }
        let source = |(name, text): &(String, String)| Source { name: name.clone(), text: text.clone().into() };
        let sources: Vec<Source> = self.rules.iter().map(source).collect();
        let before = if self.builtin_rules { RuleSet::builtin() } else { Arc::default() };
        oriole_sass::ori::register();
        let Examined { set, faults } = before.examine(&sources).map_err(|error| Error::of(&error))?;
        match faults.first() {
            Some(fault) => Err(Error::of(fault)),
            None => Ok(Some(Arc::new(set))),
        }
    }
}
