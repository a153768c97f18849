//! Whole-pipeline equivalence: the original against what the whole pipeline makes of it, under settings of any kind.
//!
//! Cheaper than the check of every phase (one optimization, one more run), so it sees more kernels; and it alone sees
//! phases in combinations that the default settings never give.

use std::hash::{DefaultHasher, Hash, Hasher};

use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::pipeline::runner::run_passes;
use oriole_optimizer::ssa;

use super::input::{assert_same, kernel_of_bytes, launches_for, module_of_text};
use super::{canary, settings};
use oriole_check::input::NamedLaunch;
use oriole_generate::{Entropy, Generated};

/// Bytes in front of an input that choose the settings.
const HEAD: usize = 24;

/// A generated kernel and settings, made of these bytes.
pub fn pipeline_check(data: &[u8]) -> bool {
    let (head, Generated { module, launches, .. }) = kernel_of_bytes(data, HEAD);
    equivalent(module, &launches, &mut Entropy::from_bytes(head))
}

/// A kernel, as `.ori` or PTX, with settings that its text's hash stands for: any change of the text changes them.
pub fn pipeline_text(data: &[u8]) -> bool {
    let Some(mut module) = module_of_text(data) else { return false };
    ssa::construct_module(&mut module);
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let launches = launches_for(&module);
    equivalent(module, &launches, &mut Entropy::from_seed(hasher.finish()))
}

/// Whether some launch is conclusive; a difference is a panic.
fn equivalent(mut module: Module, launches: &[NamedLaunch], entropy: &mut Entropy<'_>) -> bool {
    let options = settings::choose(entropy, &mut module);
    let settings = settings::describe(&options);
    let mut after = module.clone();
    if let Err(error) = run_passes(&canary::phases_that_lose(), &mut after, &options, &mut ()) {
        panic!("the pipeline refuses a valid module: {error}\n{settings}\n{module}");
    }
    if let Err(violations) = verify_module(&after) {
        panic!("the pipeline leaves an invalid module: {}\n{settings}\n{module}", violations[0]);
    }
    assert_same(&module, &after, launches, || format!("{settings}\n{module}"))
}
