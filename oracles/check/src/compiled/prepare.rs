//! A kernel made ready to be compiled among others: its symbols get names that no other kernel has.

use std::path::PathBuf;
use std::sync::Arc;

use oriole_ir::{FunctionKind, Linkage, Module};
use oriole_launch::Launch;
use oriole_optimizer::pass::Statistics;
use oriole_ptx::EmitError;

use super::Kernel;
use crate::inject::FaultSpec;
use crate::input::{NamedLaunch, write_ptx};
use crate::report::{Evidence, Finding, Rewrite};
use crate::supervise::StepId;

/// A kernel that is about to be compiled among others.
pub(super) struct Prepared {
    /// The module, with names that no other kernel has.
    pub module: Module,
    pub launches: Vec<NamedLaunch>,
    /// The file with its PTX, and the faults that were planted there; or why there is none.
    pub file: Result<(PathBuf, Statistics), EmitError>,
}

/// Gives the symbols of a kernel names of their own and writes its PTX, with the faults that are planted there.
pub(super) fn prepare(
    kernel: &Kernel,
    number: usize,
    file: PathBuf,
    faults: &[FaultSpec],
) -> std::io::Result<Prepared> {
    let mut module = kernel.module.clone();
    renamed(&mut module, number);
    let entries = module.functions.values().filter(|func| func.kind == FunctionKind::Entry);
    let entries: Vec<String> = entries.map(|func| func.name.clone()).collect();
    let named = |NamedLaunch { name, launch }: &NamedLaunch| {
        let mut launch = launch.clone();
        launch.kernel = match &launch.kernel {
            Some(own) => Some(name_of(own, number)),
            None => entries.first().cloned(),
        };
        for image in &mut launch.images {
            let names = std::iter::once(&mut image.name).chain(&mut image.bind);
            names.for_each(|name| *name = name_of(name, number));
        }
        NamedLaunch { name: name.clone(), launch }
    };
    let launches = kernel.launches.iter().map(named).collect();
    let file = match faulty_text(&module, faults) {
        Ok((text, planted)) => {
            std::fs::write(&file, text)?;
            Ok((file, planted))
        }
        Err(error) => Err(error),
    };
    Ok(Prepared { module, launches, file })
}

/// A launch of a kernel among others with the names that one of the kernel itself has.
pub(super) fn renamed_back(launch: &Launch, own: &Launch) -> Launch {
    let mut launch = Launch { kernel: own.kernel.clone(), ..launch.clone() };
    for (image, own) in launch.images.iter_mut().zip(&own.images) {
        (image.name, image.bind) = (own.name.clone(), own.bind.clone());
    }
    launch
}

/// Gives a finding about the code of a kernel among others what the kernel itself shows it by.
pub(super) fn give_back(finding: &mut Finding, kernel: &Kernel, number: usize) {
    let own = kernel.launches.first().map(|own| &own.launch);
    let launch = finding.evidence.launch.as_ref().or(own);
    let launch = launch.zip(own).map(|(launch, own)| renamed_back(launch, own));
    finding.evidence = Arc::new(Evidence { module: kernel.module.clone(), launch });
    finding.text = write_ptx(&kernel.module).ok().map(Arc::from);
    finding.kernel.clone_from(&kernel.name);
    let named = |name: String| name.strip_suffix(&name_of("", number)).map_or(name.clone(), str::to_owned);
    let rewrite = finding.rewrite.take();
    finding.rewrite = rewrite.map(|rewrite| Rewrite { function: rewrite.function.map(named), ..rewrite });
    finding.function = finding.function.take().map(named);
}

/// The PTX of a module with the faults that are planted in it, and which of them were.
pub(super) fn faulty_text(module: &Module, faults: &[FaultSpec]) -> Result<(String, Statistics), EmitError> {
    let mut planted = Statistics::new();
    let mut own = faults.iter().filter(|fault| fault.step == StepId::Compilation).peekable();
    if own.peek().is_none() {
        return Ok((write_ptx(module)?, planted));
    }
    let mut faulty = module.clone();
    own.for_each(|fault| fault.make(&mut faulty, &mut planted));
    Ok((write_ptx(&faulty)?, planted))
}

/// The name of a symbol of a kernel among those of others.
fn name_of(symbol: &str, number: usize) -> String {
    format!("{symbol}_{number}")
}

/// Renames what a module defines.
fn renamed(module: &mut Module, number: usize) {
    let globals = module.globals.values_mut().filter(|global| global.linkage != Linkage::Extern);
    globals.for_each(|global| global.name = name_of(&global.name, number));
    let functions = module.functions.values_mut().filter(|func| func.is_definition());
    functions.for_each(|func| func.name = name_of(&func.name, number));
}
