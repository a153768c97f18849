//! Verifier soundness: what the verifier accepts is good for everything else.
//!
//! A generated kernel is damaged by one to four edits that respect nothing ([`super::damage`]). The verifier may refuse
//! the result; otherwise it is printed and parsed, executed, written as PTX, brought from form to form, and goes
//! through all phases with each change verified. Whatever it means then: nothing may panic.

use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::pipeline::runner::{Options, PipelineError, run};
use oriole_optimizer::ssa;

use super::canary;
use super::damage::damage;
use super::input::{execute_on, kernel_of_bytes, launches_for};
use super::text::through_ori;
use oriole_check::input::{NamedLaunch, read_ptx, write_ptx};
use oriole_check::target_of;
use oriole_generate::Entropy;

/// Bytes in front of an input that choose the edits.
const HEAD: usize = 64;

/// A damaged kernel: whether the verifier accepts it.
pub fn verifier_soundness(data: &[u8]) -> bool {
    let (head, generated) = kernel_of_bytes(data, HEAD);
    let (mut module, mut launches) = (generated.module, generated.launches);
    let mut entropy = Entropy::from_bytes(head);
    if entropy.percent(30) {
        module.functions.values_mut().for_each(ssa::destruct);
    }
    for _ in 0..=entropy.below(4) {
        if !damage(&mut module, &mut entropy) {
            break;
        }
    }
    if verify_module(&module).is_err() && !canary::planted() {
        return false;
    }
    launches.extend(launches_for(&module));
    good_for_everything(module, &launches);
    true
}

/// Everything that takes a valid module.
fn good_for_everything(mut module: Module, launches: &[NamedLaunch]) {
    through_ori(&module);
    execute_on(&module, launches);
    write(&module);
    ssa::construct_module(&mut module);
    verified(&module, "the construction of SSA form");
    optimize(&mut module);
    execute_on(&module, launches);
    write(&module);
    module.functions.values_mut().for_each(ssa::destruct);
    verified(&module, "the way out of SSA form");
    optimize(&mut module);
    execute_on(&module, launches);
}

/// PTX need not have words for everything, and refuses to read some of what is well-formed.
fn write(module: &Module) {
    if let Ok(text) = write_ptx(module)
        && let Ok(read) = read_ptx(&text)
    {
        verified(&read, "reading our own PTX");
    }
}

fn verified(module: &Module, what: &str) {
    if let Err(violations) = verify_module(module) {
        panic!("{what} leaves an invalid module: {}\n{module}", violations[0]);
    }
}

/// All phases, each change verified. A module for an unknown machine stays as it is.
fn optimize(module: &mut Module) {
    let Ok(target) = target_of(module) else { return };
    match run(module, &Options { verify: true, ..Options::new(target) }, &mut ()) {
        Ok(_) => {}
        Err(
            error
            @ (PipelineError::Invalid { .. } | PipelineError::InvalidInput { .. } | PipelineError::Endless { .. }),
        ) => {
            panic!("{error}\n{module}")
        }
        Err(error @ PipelineError::Refused { .. }) => panic!("no phase of these refuses a module: {error}"),
        Err(error @ PipelineError::UnknownPhase(_)) => panic!("no phase is named here: {error}"),
    }
}
