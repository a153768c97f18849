//! Machine code against the program that it was made of: whoever compiled it, its words are executed on the launches of
//! the program, and what both leave behind is compared as of any step.
//!
//! What may differ: code has no undefined values, so it may leave anything where the program leaves a byte undefined.
//! A program whose threads race, or depend on the order in which they run, says nothing about its code.

use oriole_interp::{Executable, LoadError, RunOptions, RunResult, StoreRecord};
use oriole_machine::{Image, RunError};
use oriole_sass::cubin::Cubin;

use super::{Judge, Verdict, budget, equivalence};

/// Machine instructions that may be executed for each step of the program: code that is not optimized has several for
/// one, and functions of floats have dozens.
const EXPANSION: u64 = 64;

/// Why code cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The program does not run on the launch.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The code does not run, or holds what is not executed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Judge<'_> {
    /// Judges the code of a cubin that was made of the original.
    ///
    /// # Errors
    ///
    /// If the cubin has no such kernel, or an instruction is executed that the machine-level interpreter does not have.
    pub fn judge_code(&self, original: &Executable<'_>, cubin: &Cubin) -> Result<Verdict, CodeError> {
        let result = self.run_code(original, cubin, &RunOptions::default())?;
        Ok(match equivalence::compare(&self.before, &result) {
            verdict if verdict.is_finding() && self.races() => Verdict::OriginalRaces,
            verdict => verdict,
        })
    }

    /// The last store of the code to a byte of a buffer: the argument that owns it, and the offset.
    pub fn last_store_of_code(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        byte: (usize, usize),
    ) -> Option<StoreRecord> {
        let options = RunOptions { watch: vec![byte], ..RunOptions::default() };
        self.run_code(original, cubin, &options).ok()?.stores.pop()
    }

    fn run_code(&self, original: &Executable<'_>, cubin: &Cubin, options: &RunOptions) -> Result<RunResult, CodeError> {
        let bound = original.bound(&self.launch)?;
        let steps = Some(budget(self.before.steps).saturating_mul(EXPANSION));
        let image = Image::load(cubin, &bound)?;
        Ok(image.run(&self.launch, &bound, &RunOptions { steps, ..options.clone() })?)
    }
}
