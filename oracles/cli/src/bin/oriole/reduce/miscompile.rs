//! Reduction of a kernel of which ptxas, or a phase over its code, makes wrong code, with ptxas in the loop.

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::compiled::{Checked, Kernel};
use oriole_check::report::Finding;
use oriole_ir::Module;

use super::{Args, Job, Predicate, Question, boring, wanted};
use crate::axes::own_arch;
use crate::failure::Failure;
use crate::options::Given;
use crate::settings::check_failure;

/// What ptxas does wrong with the kernel, on the first axis on which it does.
///
/// # Errors
///
/// Options about Oriole's own phases are refused: a level for them would be taken for one of ptxas.
pub fn job(args: &Args, given: &Given, module: Module) -> Result<Job, Failure> {
    if !given.check().is_empty() || args.subject.scope.phase.is_some() || args.check.is_some() {
        let help = "--ptxas-level, --fast-compile and so on say how ptxas compiles";
        let what = "with `--predicate miscompile` ptxas is judged, and no phase: leave out";
        let options = "-O, --phase, --check, and what is about phases, rules and knobs";
        return Err(Failure::Input(miette!(help = help, "{what} {options}")));
    }
    let compiler = if args.generating.is_asked() {
        args.compiling
            .require_unused("--compile, --compile-level and --compile-registers are for Oriole's own compiler")?;
        args.generating.compiler(args.limit, false)?
    } else {
        args.compiling.compiler(args.limit, || own_arch(&module))?
    };
    // The cases of `oriole judge`, so that what it shows is found again.
    let (name, check) = (args.subject.name(), CheckOptions { randoms: 4, vary: true, ..CheckOptions::default() });
    let kernel = Kernel { name: name.clone(), module, launches: args.subject.launches()? };
    let checked = compiler.check_all(&[kernel], &check).map_err(|error| Failure::Input(miette!("{error}")))?.pop();
    let checked = checked.transpose().map_err(|error| check_failure(&name, &error))?;
    let finding = checked.and_then(|checked| checked.report.findings.into_iter().next());
    let well =
        "the code that the compiler makes of it does what it says on every axis, or nothing says that it does not";
    let finding = finding.ok_or_else(|| boring(args, well))?;
    let again = || boring(args, "the kernel, printed and read again, does not show what a check finds");
    let miscompile = Miscompile::new(&compiler, &finding, &check).ok_or_else(again)?;
    Ok(of(miscompile, &finding))
}

/// The reduction for a phase that goes wrong over the code of the kernel, on the first axis on which it does.
///
/// # Errors
///
/// Where no phase does anything wrong of the kind that was asked for, or one does not end.
pub fn job_of_phases(args: &Args, given: &Given, module: Module) -> Result<Job, Failure> {
    if matches!(args.predicate, Some(Predicate::Miscompile | Predicate::Refused)) {
        let help = "leave one of the two out";
        return Err(Failure::Input(miette!(help = help, "--machine judges phases, and this --predicate another step")));
    }
    let compiler = args.compiling.for_phases(&args.machine, args.limit)?;
    let (name, check) = (args.subject.name(), args.subject.scope.check_code(&args.subject.file, given)?);
    let kernel = Kernel { name: name.clone(), module, launches: args.subject.launches()? };
    let checked = compiler.check_all(&[kernel], &check).map_err(|error| Failure::Input(miette!("{error}")))?.pop();
    let checked = checked.transpose().map_err(|error| check_failure(&name, &error))?;
    let Some(Checked { report, unjudged, .. }) = checked else { unreachable!("there is an answer for each kernel") };
    let Some(finding) = report.findings.iter().find(|finding| wanted(args, finding)) else {
        args.subject.scope.require_planted([&report])?;
        let why = unjudged.map_or(String::new(), |why| format!("; {why}"));
        return Err(boring(args, &format!("phases do nothing of this kind wrong with its code{why}")));
    };
    if finding.verdict.costs_a_thread() {
        return Err(boring(args, "a phase does not end on its code, and no candidate could be given up"));
    }
    let again = || boring(args, "the kernel, printed and read again, does not show what a check finds");
    let miscompile = Miscompile::new(&compiler, finding, &check).ok_or_else(again)?;
    Ok(of(miscompile, finding))
}

/// The reduction of what shows a finding.
fn of(miscompile: Miscompile, finding: &Finding) -> Job {
    let evidence = miscompile.in_ssa(&finding.evidence).unwrap_or_else(|| (*finding.evidence).clone());
    let roots = miscompile.roots(&evidence);
    Job { evidence, roots, question: Question::Miscompile(Box::new(miscompile)), check: None }
}
