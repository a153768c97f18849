//! Records of checks, which `oriole explain` shows.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::compiled::{Compiler, Kernel as Program};
use oriole_check::compiler::Effort;
use oriole_check::input::{InputError, Language, MAX_KERNEL_BYTES};
use oriole_check::job::Job;
use oriole_check::report::KernelReport;
use oriole_explain::record::Kernel;
use oriole_explain::{Record, Subject};
use oriole_launch::file::read_text;
use oriole_optimizer::codegen::compile;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use schemars::JsonSchema;
use serde::Serialize;

use super::Checked;
use crate::document;
use crate::failure::Failure;
use crate::settings::check_failure;

/// The JSON of `check --record`.
#[derive(JsonSchema, Serialize)]
pub struct Document {
    #[serde(flatten)]
    record: Record,
}

impl document::Document for Document {
    const COMMAND: &'static str = Record::COMMAND;
    const VERSION: u32 = Record::VERSION as u32;
}

/// Writes a record.
pub fn write(path: &Path, kernels: Vec<Kernel>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let help = "name another file with --record";
        Failure::Input(miette!(help = help, "cannot write `{}`: {error}", path.display()))
    };
    let mut file = BufWriter::new(fs::File::create(path).map_err(failed)?);
    document::print_compact(&mut file, &Document { record: Record { kernels } }).map_err(failed)?;
    file.flush().map_err(failed)
}

/// The record of the check of a file, as far as one is asked for.
pub struct Recording {
    /// Whether anything is.
    records: bool,
    /// The text, where it is PTX.
    text: Option<String>,
}

impl Recording {
    /// Reads the text of a file.
    pub fn of(file: &Path, records: bool) -> Result<Recording, Failure> {
        let is_ptx = records && Language::of(file) == Some(Language::Ptx);
        let unreadable = |failure| InputError::Unreadable { path: PathBuf::from(file), failure };
        let text = is_ptx.then(|| read_text(file, MAX_KERNEL_BYTES)).transpose().map_err(unreadable)?;
        Ok(Recording { records, text })
    }

    /// A report with its record.
    pub fn with(&self, mut report: KernelReport, options: &CheckOptions) -> Checked {
        let kernels = self.records.then(|| self.subject(&report, options, None).kernel());
        report.recording = None;
        Checked { report, kernels: kernels.into_iter().collect() }
    }

    fn subject<'a>(
        &'a self,
        report: &'a KernelReport,
        options: &'a CheckOptions,
        compile: Option<compile::Options>,
    ) -> Subject<'a> {
        Subject { text: self.text.as_deref(), report, options, compile }
    }

    /// The report on our own code, and for each way to compile a record: the steps that the compiler takes, checked one
    /// by one, and the code that it makes of what they leave.
    pub fn of_own_code(
        &self,
        compiler: &Compiler,
        program: &Program,
        report: KernelReport,
        options: &CheckOptions,
        patience: Duration,
    ) -> Result<Checked, Failure> {
        let mut kernels = Vec::new();
        for axis in compiler.axes.iter().filter(|_| self.records) {
            let Effort::Level(level) = axis.effort else { continue };
            let level = Level::named(&format!("O{level}")).expect("it is one of the levels of --compile-level");
            let phases = level.of_phases();
            let passes = match phases {
                0 => Pipeline::default(),
                phases => Nvopt::new(level).before_phases(phases),
            };
            let mut options = CheckOptions { passes, destruction: false, round_trip: false, ..options.clone() };
            options.pipeline.opt_level = phases;
            let mut module = program.module.clone();
            module.target.clone_from(&axis.arch);
            let Program { name, launches, .. } = program.clone();
            let name = format!("{name} ({axis})");
            let job = Job { name, module, launches, options };
            let steps = job.check(patience).map_err(|error| check_failure(&job.name, &error))?;
            let mut steps = KernelReport { findings: [steps.findings, report.findings.clone()].concat(), ..steps };
            steps.phases.extend(report.phases.iter().cloned());
            let tuning = compile::Tuning::of(&job.options.pipeline.knobs);
            let compile =
                compile::Options { max_registers: axis.max_registers(), tuning, ..compile::Options::default() };
            kernels.push(self.subject(&steps, &job.options, Some(compile)).kernel());
        }
        Ok(Checked { report, kernels })
    }
}
