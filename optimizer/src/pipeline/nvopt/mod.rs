//! `nvopt`: the pipelines of cicc, assembled from sequences that are data.
//!
//! `spec/pass-pipeline.txt` builds them in phases ("Complete 8-Phase Construction Algorithm"): 0 infrastructure, 1 the
//! language, 2 before the tiers, 3 tiers between the passes that others add, 4 the path of the language, 5 finalization
//! and the order of code generation. Phase 6 asks the target for passes of its own, of which there are none; phase 7
//! runs the pipeline, which the runner does; phase 8 names blocks.
//!
//! - The language `ptx` takes phases 0, 4 and 5 alone: its path trusts what came before, so no tier is for it.
//! - O0 takes phases 0 and 5, and one pass between them. Ofcmax takes phase 2 as well. Ofcmid and Ofcmin take phases 0
//!   and 2, the mid path, loops as the level wants them, and 5.
//! - O1, O2 and O3 take all phases. Tier 0 is for each of them; the other tier has the number of the level (line 602).
//!
//! Options decide guards when the pipeline is assembled. An element whose guard says no stays in the pipeline, and
//! says which condition left it out ([`oriole_pass::pass::Refusal`]).

mod dispatch;
mod entry;
mod fixed;
mod guard;
mod level;
mod paths;
mod plugins;
#[cfg(test)]
mod tests;
mod tiers;

pub use dispatch::order;
pub use entry::{Entry, Given};
pub use guard::{Guard, Term};
pub use level::{Language, Level, UnknownLevel};
pub use plugins::{ExtensionPoint, Plugin};

use super::constraints::CONSTRAINTS;
use super::sequence::Pipeline;
use super::table::{PHASES, Phase};
use guard::Under;
use oriole_pass::pass::options::slot_at;
use oriole_pass::pass::{Argument, Element, PassOption, PassOptions};

/// A sequence with its name.
pub type Sequence = (&'static str, &'static [Entry]);

/// All sequences.
pub static SEQUENCES: [Sequence; 12] = [
    ("phase 0", fixed::INFRASTRUCTURE),
    ("phase 2", fixed::PRE_OPTIMIZATION),
    ("tier 0", tiers::TIER_0),
    ("tiers 1 to 3", tiers::TIERS),
    ("path ptx", paths::PTX),
    ("path mid", paths::MID),
    ("path default", paths::DEFAULT),
    ("O0", fixed::O0),
    ("Ofcmax", fixed::OFCMAX),
    ("Ofcmid", fixed::OFCMID),
    ("Ofcmin", fixed::OFCMIN),
    ("phase 5", fixed::FINALIZATION),
];

/// The slot that asks for the jobserver of make (`spec/pass-pipeline.txt`, line 78).
pub const JOBSERVER: u16 = 163;
/// The slot that asks for names of blocks by their places (line 889).
pub const BLOCK_NAMES: u16 = 195;
/// The slot of the number of parts that a module is compiled in (line 87).
pub const SPLIT: u16 = 203;

/// Passes with the options that they ask by name.
const ASKED_BY_NAME: [(&str, &[&str]); 1] = [(
    "remat",
    &[
        "dump-remat",
        "dump-remat-add",
        "remat-load-param",
        "remat-max-live-limit",
        "remat-maxreg-ceiling",
        "remat-single-cost-limit",
        "remat-use-limit",
    ],
)];

/// The slots that the assembly itself asks, or who runs it, and what each decides.
const ASKED: [(u16, &str); 11] = [
    (9, "the order of code generation"),
    (175, "tier 1"),
    (177, "tier 2"),
    (179, "tier 3"),
    (181, "the path"),
    (193, "verify behind added passes"),
    (JOBSERVER, "the threads of opt"),
    (BLOCK_NAMES, "the labels that opt prints"),
    (SPLIT, "the parts of opt"),
    (209, "tier 0"),
    (217, "phases 0 and 5 alone"),
];

/// What a pipeline of cicc is assembled from.
#[derive(Clone, Debug)]
pub struct Nvopt {
    /// The level.
    pub level: Level,
    /// The options, as they were set; `lang` is the language.
    pub options: PassOptions,
    /// Passes at positions of the command line, in their order.
    pub plugins: Vec<Plugin>,
    /// The positions of the switches of tiers 0 to 3 on the command line; 0 for what is nowhere.
    pub thresholds: [u32; 4],
    /// Passes at named points.
    pub points: Vec<(ExtensionPoint, Element)>,
}

impl Nvopt {
    /// A level with nothing set and nothing added.
    pub fn new(level: Level) -> Nvopt {
        let (options, plugins, points) = (PassOptions::new(), Vec::new(), Vec::new());
        Nvopt { level, options, plugins, thresholds: [0; 4], points }
    }

    /// Options that were set and that the level overrides.
    pub fn overridden(&self) -> Vec<PassOption> {
        let contrary = |slot: &u16| {
            let (option, _) = self.options.decides(*slot);
            (self.options.is_set(option) && !self.options.holds(*slot)).then_some(option)
        };
        self.level.forces().iter().filter_map(contrary).collect()
    }

    /// The options, with what the level sets.
    fn options(&self) -> PassOptions {
        let mut options = self.options.clone();
        let unset = |slot: &&u16| !self.options.is_set(self.options.decides(**slot).0);
        self.level.turns_on().iter().filter(unset).for_each(|slot| options.hold(*slot, true));
        self.level.forces().iter().for_each(|slot| options.hold(*slot, true));
        options
    }

    /// The pipeline.
    pub fn pipeline(&self) -> Pipeline {
        let options = self.options();
        let mut assembly = Assembly { nvopt: self, options: &options, elements: Vec::new(), objects: Vec::new() };
        assembly.sequence(fixed::INFRASTRUCTURE, 0);
        if !options.holds(217) {
            assembly.optimize();
        }
        assembly.sequence(fixed::FINALIZATION, 0);
        assembly.elements.into()
    }

    /// The pipeline, then the phases of ptxas of its level.
    pub fn with_phases(&self) -> Pipeline {
        self.before_phases(self.level.of_phases())
    }

    /// The pipeline, then the phases of ptxas in the order of code generation at a level.
    pub fn before_phases(&self, phases: u8) -> Pipeline {
        let level = PassOption::of_slot(9);
        let given = self.options.number(level).filter(|_| self.options.is_set(level));
        let ordered = order(Phase::ALL, CONSTRAINTS, given.unwrap_or(phases.into()));
        let phases = ordered.into_iter().map(|phase| Element::from(&PHASES[phase as usize]));
        self.pipeline().into_iter().chain(phases).collect()
    }
}

/// A pipeline that is being assembled.
struct Assembly<'a> {
    nvopt: &'a Nvopt,
    options: &'a PassOptions,
    elements: Vec<Element>,
    /// The objects that were added.
    objects: Vec<u32>,
}

impl Assembly<'_> {
    /// Phases 2 to 4.
    fn optimize(&mut self) {
        let language = Language::of(self.options);
        let path = match language {
            Language::Ptx => paths::PTX,
            Language::Mid => paths::MID,
            Language::Default => paths::DEFAULT,
        };
        match self.nvopt.level {
            Level::O0 => return self.sequence(fixed::O0, 0),
            _ if language == Language::Ptx => return self.sequence(path, 0),
            _ => self.sequence(fixed::PRE_OPTIMIZATION, 0),
        }
        self.tiers();
        match self.nvopt.level {
            Level::Ofcmax => self.sequence(fixed::OFCMAX, 0),
            Level::Ofcmid | Level::Ofcmin => {
                let loops = if self.nvopt.level == Level::Ofcmid { fixed::OFCMID } else { fixed::OFCMIN };
                self.sequence(paths::MID, 0);
                self.sequence(loops, 0);
            }
            _ => self.sequence(path, 0),
        }
    }

    /// Phase 3: passes that others add, and each tier once: in front of the first of them whose position is behind that
    /// of the tier's switch, or behind all of them.
    fn tiers(&mut self) {
        let mut waiting: Vec<(u8, u32)> = (0..4).zip(self.nvopt.thresholds).collect();
        waiting.retain(|(tier, _)| self.options.holds([209, 175, 177, 179][usize::from(*tier)]));
        for plugin in &self.nvopt.plugins {
            waiting.retain(|(tier, threshold)| {
                let fires = plugin.position > *threshold;
                if fires {
                    self.tier(*tier);
                }
                !fires
            });
            if !self.objects.contains(&plugin.object) {
                self.objects.push(plugin.object);
                self.elements.push(plugin.element.clone());
                if self.options.holds(193) {
                    self.elements.push(entry::named("verify"));
                }
            }
        }
        waiting.into_iter().for_each(|(tier, _)| self.tier(tier));
    }

    fn tier(&mut self, tier: u8) {
        self.sequence(if tier == 0 { tiers::TIER_0 } else { tiers::TIERS }, tier);
    }

    /// The elements of a sequence; behind a standard pipeline of LLVM, what was asked for at its point.
    fn sequence(&mut self, entries: &[Entry], tier: u8) {
        let under = Under { options: self.options, tier };
        for entry in entries {
            let element = entry.element(&under);
            let point = element.arguments.iter().find_map(|argument| match argument {
                Argument::Number(number) if entry.pass == "cgscc" => ExtensionPoint::of(*number),
                _ => None,
            });
            self.elements.push(element);
            let asked = self.nvopt.points.iter().filter(|(at, _)| Some(*at) == point);
            self.elements.extend(asked.map(|(_, element)| element.clone()));
        }
    }
}

/// Who asks an option: places of sequences by guard or argument, the assembly itself, and rows that it leaves out where
/// they are named.
pub fn consumers(option: PassOption) -> Vec<String> {
    let row = option.row();
    let is_asked = |offset: u16| slot_at(offset).is_some() && slot_at(offset) == row.slot;
    let mut consumers: Vec<String> = Vec::new();
    for (name, entries) in SEQUENCES {
        for entry in entries {
            let guards = entry.guard.terms().iter().filter_map(|term| term.offset());
            let arguments = entry.arguments.iter().filter_map(|argument| argument.offset());
            if guards.chain(arguments).any(is_asked) {
                consumers.push(format!("{} of {name}", entry.pass));
            }
        }
    }
    let asked = ASKED.iter().filter(|(slot, _)| Some(*slot) == row.slot);
    consumers.extend(asked.map(|(_, what)| (*what).to_owned()));
    let by_name = ASKED_BY_NAME.iter().filter(|(_, names)| names.iter().any(|name| Some(*name) == row.name));
    consumers.extend(by_name.map(|(pass, _)| (*pass).to_owned()));
    let rows = super::table::PASSES.iter().filter(|pass| pass.off_by.is_some() && pass.off_by == row.name);
    consumers.extend(rows.map(|pass| format!("{} by name", pass.name)));
    let dumped = row.name.and_then(|name| name.strip_prefix("dump-ir-")?.split_once('-'));
    consumers.extend(dumped.map(|(when, pass)| format!("the runner, {when} {pass}")));
    consumers.dedup();
    consumers
}
