//! Oriole's own compiler: the pipeline of a level, then code of the machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oriole_ir::sm::Target;
use oriole_optimizer::codegen::compile::{self, Allocated, Options, compile};
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{self, run_passes};
use oriole_optimizer::ssa;
use oriole_reference::allocation;
use oriole_sass::cubin::Cubin;

use super::{Axis, Code, CompileError, Effort};
use crate::input::read_ptx;
use crate::supervise::{Panic, StepId, catch, enter, within};

/// Oriole's own compiler.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// How long it may take.
    pub patience: Duration,
}

impl Own {
    /// Compiles files of PTX, each by itself.
    pub fn compile_all(self, files: &[PathBuf], axis: &Axis) -> Vec<Code> {
        let code = |file: &PathBuf| {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| CompileError::Start { tool: file.clone(), error })?;
            self.compile_text(&text, axis).map(Arc::new)
        };
        files.iter().map(code).collect()
    }

    /// Compiles a text.
    ///
    /// # Errors
    ///
    /// If something in it is not compiled yet, the compiler panics, or does not end.
    pub fn compile_text(self, text: &str, axis: &Axis) -> Result<Cubin, CompileError> {
        let (text, axis) = (text.to_owned(), axis.clone());
        let work = move || {
            let _running = enter(StepId::CodeGeneration);
            catch(|| made(&text, &axis)).unwrap_or_else(|panic| Err(CompileError::Panicked(panic)))
        };
        within(self.patience, work).unwrap_or(Err(CompileError::Hangs(self.patience)))
    }
}

/// The code of a text.
fn made(text: &str, axis: &Axis) -> Result<Cubin, CompileError> {
    let refused = |said: String| CompileError::NotCompiled(said);
    let mut module = read_ptx(text).map_err(|faults| refused(faults.iter().map(ToString::to_string).collect()))?;
    let target: Target = axis.arch.parse().map_err(|_| refused(format!("no SM `{}`", axis.arch)))?;
    module.target = target.to_string();
    if ssa::is_virtual(&module) {
        ssa::construct_module(&mut module);
    }
    let level = match axis.effort {
        Effort::Level(level) => Level::named(&format!("O{level}")),
        Effort::Fast(fast) => Level::named(&format!("Ofc{}", fast.name())),
    };
    let level = level.ok_or_else(|| refused(format!("no level `{}`", axis.effort)))?;
    let phases = level.of_phases();
    if phases > 0 {
        let pipeline = Nvopt::new(level).before_phases(phases);
        let options = runner::Options::new(target);
        run_passes(&pipeline, &mut module, &options, &mut ()).map_err(|error| refused(error.to_string()))?;
    }
    let options = Options { max_registers: axis.max_registers(), keeps_order: phases == 0, keeps_allocations: true };
    let output = compile(&module, target, options).map_err(|error| match error {
        compile::CompileError::Internal { .. } => fault(error.to_string()),
        other => refused(other.to_string()),
    })?;
    for Allocated { before, after, stack, origins, results } in &output.allocations {
        if let Some(wrong) = allocation::check(before, after, (*stack, results), &|inst| origins[inst]).first() {
            return Err(CompileError::Misplaced(format!("{}, {wrong}", before.name)));
        }
    }
    Ok(Cubin::read(&output.cubin)?)
}

/// A fault that the compiler itself reports.
fn fault(message: String) -> CompileError {
    CompileError::Panicked(Panic { message, place: None })
}
