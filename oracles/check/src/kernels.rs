//! Generated kernels in the form in which they are checked, and the kernels of folders that mutations begin from.
//!
//! Generators know nothing of the optimizer and make virtual form. SSA construction happens here; where it panics, the
//! kernel stays in virtual form, and its check meets the panic again and says whose fault it is.

use std::path::{Path, PathBuf};

use oriole_generate::config::MutantConfig;
use oriole_generate::mutate::{Corpus, Mutant};
use oriole_generate::{Config, Entropy, Generated, single};
use oriole_ir::{Form, Module};
use oriole_launch::NamedLaunch;
use oriole_launch::random::SplitMix64;
use oriole_optimizer::ssa;

use crate::input::{Language, launches_for, read_kernel};
use crate::supervise::{LIMIT, StepId, Stuck, catch, enter, guard};

/// A generated kernel in the form that it asks for.
pub fn formed(mut generated: Generated) -> Generated {
    if generated.form == Form::Ssa {
        let mut after = generated.module.clone();
        let _running = enter(StepId::SsaConstruction);
        if catch(|| ssa::construct_module(&mut after)).is_ok() {
            generated.module = after;
        }
    }
    generated
}

/// The kernel of a seed.
pub fn from_seed(seed: u64, config: &Config) -> Generated {
    formed(oriole_generate::from_seed(seed, config))
}

/// The kernel of a case of whole kernels.
pub fn case(seed: u64, number: u64, config: &Config) -> Generated {
    from_seed(case_seed(seed, number), config)
}

/// The seed of everything about a case.
pub fn case_seed(seed: u64, number: u64) -> u64 {
    let hash = SplitMix64::new(number).next_u64();
    SplitMix64::new(seed ^ hash).next_u64()
}

/// The kernel that these bytes spell.
pub fn from_bytes(bytes: &[u8], config: &Config) -> Generated {
    formed(oriole_generate::from_bytes(bytes, config))
}

/// A kernel about one operation, as [`single::instruction`] makes it.
pub fn instruction(pin: u64, entropy: &mut Entropy<'_>, config: &Config) -> Generated {
    formed(single::instruction(pin, entropy, config))
}

/// A changed kernel, as [`Corpus::mutant`] makes it.
pub fn mutant(corpus: &Corpus, entropy: &mut Entropy<'_>, config: &Config) -> Option<Mutant> {
    let mutant = corpus.mutant(entropy, config)?;
    Some(Mutant { generated: formed(mutant.generated), ..mutant })
}

/// The kernels of these folders that finish soon on their launches, for mutations. What cannot be read, or only with a
/// panic, is left out, and all that come after one that is not read in time: whoever checks the corpus itself says so.
pub fn corpus(folders: &[PathBuf], config: &MutantConfig) -> Corpus {
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| kernel_files(folder)).collect();
    files.sort();
    let mut corpus = Corpus::default();
    for file in files {
        match guard(StepId::FrontEnd, LIMIT, move || in_virtual_form(&file)) {
            Ok(Some((module, launches))) => drop(corpus.add(module, launches, config)),
            Ok(None) | Err(Stuck::Panicked(_)) => {}
            Err(Stuck::Hangs(_) | Stuck::OutOfMemory(..)) => break,
        }
    }
    corpus
}

/// The kernel files of a folder; none where it cannot be read.
fn kernel_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.filter(|path| Language::of(path).is_some()).collect()
}

/// A kernel file in virtual form, with its launches.
fn in_virtual_form(file: &Path) -> Option<(Module, Vec<NamedLaunch>)> {
    let module = read_kernel(file).ok()?;
    Some((ssa::destructed(&module), launches_for(file, &[]).ok()?))
}
