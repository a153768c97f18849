//! Reduction of a kernel of which ptxas makes wrong code, with ptxas in the loop.

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::report::Finding;
use oriole_check::supervise::catch;
use oriole_ir::Module;

use super::{Args, Job, Question, boring, in_ssa};
use crate::failure::Failure;
use crate::settings::check_failure;

/// What ptxas does wrong with the kernel, on the first axis on which it does.
pub fn job(args: &Args, module: Module) -> Result<Job, Failure> {
    let compiler = args.compiling.compiler(args.limit)?;
    // SSA form has more that can go; what shows in virtual form alone stays in it.
    let in_ssa = catch(|| in_ssa(&module)).ok();
    for module in in_ssa.into_iter().chain([module]) {
        let check = CheckOptions::default();
        let Some(finding) = finding(args, &compiler, module, &check)? else { continue };
        let Some(miscompile) = Miscompile::new(&compiler, &finding, &check) else { continue };
        if miscompile.shows(&finding.evidence) {
            let question = Question::Miscompile(Box::new(miscompile));
            return Ok(Job { evidence: (*finding.evidence).clone(), question, check: None });
        }
    }
    Err(boring(
        args,
        "the code that ptxas makes of it does what it says on every axis, or nothing says that it does not",
    ))
}

fn finding(args: &Args, compiler: &Compiler, module: Module, check: &CheckOptions) -> Result<Option<Finding>, Failure> {
    let name = args.subject.name();
    let kernel = Kernel { name: name.clone(), module, launches: args.subject.launches()? };
    let checked = compiler.check_all(&[kernel], check).map_err(|error| Failure::Input(miette!("{error}")))?.pop();
    let report = checked.map(|checked| checked.map_err(|error| check_failure(&name, &error))).transpose()?;
    Ok(report.and_then(|checked| checked.report.findings.into_iter().next()))
}
