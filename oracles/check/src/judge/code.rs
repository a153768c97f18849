//! Machine code against the program that it was made of: whoever compiled it, its words are executed on the launches of
//! the program, and what both leave behind is compared as of any step.
//!
//! What may differ: code has no undefined values, so it may leave anything where the program leaves a byte undefined.
//! PTX leaves open which NaN many operations on floats yield, so where the program has any, two NaNs of one format are
//! the same, in 2, 4 or 8 bytes. (An integer that looks like a NaN in both is taken for one then.) Where a program has
//! approximate functions, single floats that are as close as [`APPROXIMATE`] says are the same, too: code makes such
//! functions of others, with other errors within the bounds that the PTX ISA gives.
//! A program whose threads race, or depend on the order in which they run, says nothing about its code.

use oriole_interp::{Bytes, Executable, LoadError, RunOptions, RunResult, StoreRecord};
use oriole_ir::ops::{Approx, Flags, Type};
use oriole_ir::{Function, InstData, Module};
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
        let mut result = self.run_code(original, cubin, &RunOptions::default())?;
        let module = original.module();
        let alike = |data: &InstData| data.is(Flags::PURE) && !data.is(Flags::COPY);
        let has_floats = has(module, |data| alike(data) && data.field::<Type>().is_some_and(Type::is_float));
        if has_floats {
            let approximates = has(module, |data| data.field::<Approx>().is_some_and(|approx| approx != Approx::Exact));
            for (before, after) in self.before.memory.iter().zip(&mut result.memory) {
                after.bytes = with_floats_of(&before.bytes, &after.bytes, approximates);
            }
        }
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

/// The relative difference of floats that approximate functions may make: several errors of 2 units in the last place.
const APPROXIMATE: f32 = 1.0 / (1 << 18) as f32;

/// Whether a program has such an instruction.
fn has(module: &Module, holds: impl Fn(&InstData) -> bool) -> bool {
    let of_func = |func: &Function| {
        func.layout().iter().flat_map(|block| func.block_insts(*block)).any(|inst| holds(func.inst(inst)))
    };
    module.functions.values().any(of_func)
}

/// Bytes with the floats of others in place of those that count as the same: NaNs of one format, and single ones that
/// are close where that is asked for.
fn with_floats_of(before: &Bytes, after: &Bytes, approximates: bool) -> Bytes {
    let (ours, mut theirs) = (before.data(), after.data().to_vec());
    if ours.len() != theirs.len() || ours == theirs {
        return after.clone();
    }
    for start in (0..ours.len()).step_by(8) {
        let unit = start..(start + 8).min(ours.len());
        if ours[unit.clone()] == theirs[unit.clone()] {
            continue;
        }
        for bytes in [8, 4, 2] {
            for at in unit.clone().step_by(bytes).filter(|at| at + bytes <= unit.end) {
                let (one, other) = (&ours[at..at + bytes], &theirs[at..at + bytes]);
                if is_nan(one) && is_nan(other) || approximates && is_close(one, other) {
                    theirs[at..at + bytes].copy_from_slice(one);
                }
            }
        }
    }
    Bytes::defined(theirs)
}

/// Whether two single floats differ by little.
fn is_close(one: &[u8], other: &[u8]) -> bool {
    let float = |bytes: &[u8]| Some(f32::from_le_bytes(bytes.try_into().ok()?)).filter(|float| float.is_finite());
    let (Some(one), Some(other)) = (float(one), float(other)) else { return false };
    (one - other).abs() <= APPROXIMATE * one.abs().max(other.abs())
}

/// Whether 2, 4 or 8 bytes are a NaN: two bytes of either format.
fn is_nan(bytes: &[u8]) -> bool {
    match *bytes {
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        [low, high] => {
            let magnitude = u16::from_le_bytes([low, high]) & 0x7fff;
            // Above the infinity of f16, which is below that of bf16.
            magnitude > 0x7c00
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_of_one_format_are_the_same_and_nothing_else_is() {
        let same = |ours: &[u8], theirs: &[u8]| {
            let [ours, theirs] = [ours, theirs].map(|bytes| Bytes::defined(bytes.to_vec()));
            with_floats_of(&ours, &theirs, false).data() == ours.data()
        };
        let [canonical, negative] = [0x7fff_ffffu32, 0xffff_ffff].map(u32::to_le_bytes);
        assert!(same(&canonical, &negative) && same(&f64::NAN.to_le_bytes(), &(-f64::NAN).to_le_bytes()));
        assert!(same(&[0xff, 0x7f, 1, 2], &[0x01, 0x7e, 1, 2]));
        assert!(!same(&canonical, &f32::INFINITY.to_le_bytes()) && !same(&1f32.to_le_bytes(), &negative));
        assert!(!same(&[0xff, 0x7f, 1, 2], &[0x01, 0x7e, 1, 3]));
    }

    #[test]
    fn close_floats_are_the_same_where_functions_are_approximate() {
        let same = |ours: f32, theirs: f32, approximates: bool| {
            let [ours, theirs] = [ours, theirs].map(|float| Bytes::defined(float.to_le_bytes().to_vec()));
            with_floats_of(&ours, &theirs, approximates).data() == ours.data()
        };
        assert!(same(1.0, 1.000001, true) && !same(1.0, 1.000001, false));
        assert!(!same(1.0, 1.00001, true) && !same(1.0, -1.0, true) && !same(1.0, f32::INFINITY, true));
    }
}
