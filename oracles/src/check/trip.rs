//! The round trip: what the phases made, printed as PTX and read again, must still behave as the original.

use std::time::Instant;

use oriole_optimizer::ir::{Module, Operand};
use oriole_optimizer::ptx;

use super::CheckError;
use super::blame::{Said, of_step};
use super::border::Border;
use super::cases::{Case, run_all};
use super::report::{Finding, PhaseLine};
use super::{CheckOptions, instructions};
use crate::equivalence::Verdict;

/// Prints a module as PTX, reads it, and runs it on the cases: a line, and a finding where something is wrong.
pub(super) fn round_trip(
    name: &str,
    module: &Module,
    cases: &[Case<'_>],
    options: &CheckOptions,
) -> Result<(PhaseLine, Option<Finding>), CheckError> {
    let start = Instant::now();
    let count = instructions(module);
    if reads_banks(module) {
        let skipped = Some("PTX has no constant banks");
        return Ok((PhaseLine { skipped, ..line(count, count, None, start) }, None));
    }
    let (verdict, case, after) = match Border::RoundTrip.cross(module, &options.faults) {
        Err(why) => (Verdict::InvalidIr(why), 0, count),
        Ok(read) => {
            let (verdict, case) = judge(&read, cases);
            (verdict, case, instructions(&read))
        }
    };
    let said = (!cases.is_empty() || verdict.is_finding()).then_some(verdict.name());
    let line = line(count, after, said, start);
    let launch = cases.get(case).map(Case::named);
    let finding = || of_step(name, Said::of(Border::RoundTrip, &verdict), module, launch, options);
    let finding = verdict.is_finding().then(finding);
    Ok((line, finding.transpose()?))
}

fn line(before: usize, after: usize, verdict: Option<&'static str>, start: Instant) -> PhaseLine {
    PhaseLine {
        name: Border::RoundTrip.name(),
        number: None,
        skipped: None,
        changed: false,
        instructions_before: before,
        instructions_after: after,
        rewrites: 0,
        verdict,
        microseconds: start.elapsed().as_micros() as u64,
    }
}

/// Whether an operand is a word of a constant bank, which PTX cannot spell.
pub(crate) fn reads_banks(module: &Module) -> bool {
    module.functions.values().any(|func| {
        let mut insts = func.layout.iter().flat_map(|block| &func.blocks[*block].insts);
        insts.any(|inst| func.inputs(*inst).iter().any(|operand| matches!(operand, Operand::Const { .. })))
    })
}

/// The module after printing and reading, or why there is none.
pub(super) fn print_and_read(module: &Module) -> Result<Module, String> {
    let text = ptx::emit(module).map_err(|error| error.to_string())?;
    ptx::read(&text).map_err(|faults| match faults.first() {
        Some(fault) => {
            let (line, _) = fault.line_column(&text);
            let excerpt = text.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
            format!("our own PTX is refused at `{excerpt}`: {fault}")
        }
        None => "our own PTX is refused".to_owned(),
    })
}

/// The worst verdict, and the case that leads to it.
fn judge(module: &Module, cases: &[Case<'_>]) -> (Verdict, usize) {
    let ran = match run_all(module, cases) {
        Ok(ran) => ran,
        Err(error) => return (Verdict::InvalidIr(error.to_string()), 0),
    };
    let mut verdict = Verdict::Equal;
    for (case, ran) in ran.into_iter().enumerate() {
        if ran.verdict.is_finding() {
            return (ran.verdict, case);
        }
        if ran.verdict == Verdict::Refined {
            verdict = Verdict::Refined;
        }
    }
    (verdict, 0)
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::ir::parse_module;

    use super::super::check_module;
    use super::*;
    use crate::input::NamedLaunch;
    use crate::launch::pieces;

    /// Checks a kernel in virtual form, of which nothing but the round trip changes anything.
    fn trip(body: &str) -> bool {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible virtual {{\n  param $out: u64 param align 8\nbb0:\n  \
             %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  %d3 = imad.wide.u32 %r1, 4, %d2\n{body}\n  \
             st.global.b32 [%d3], %r9\n  ret\n}}\n"
        );
        let module = parse_module(&text).expect("it parses");
        let launch = pieces::launch(None, "1", "8", &["zeroed:32".to_owned()]).expect("it is well-formed");
        let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
        let options = CheckOptions { randoms: 0, phases: Vec::new(), ..CheckOptions::default() };
        check_module("k", &module, &launches, &options).expect("it fits").clean
    }

    #[test]
    fn a_result_may_be_the_guard() {
        // Where 1.0 > 2.0 is asked for, the first result becomes false and the second true.
        assert!(trip(
            "  %r6 = and.b32 %r1, 1\n  %p4 = setp.eq.u32 %r6, 0\n  %p5 = setp.ne.u32 %r6, 0\n  \
             %p7 = setp.ge.u32 %r1, 0\n  @%p4 %p4, %p5 = setp.bool.gt.and.bf16 16256, 16384, %p7\n  \
             %r8 = selp.u32 1, 0, %p5\n  %r9 = selp.u32 2, %r8, %p4"
        ));
    }

    #[test]
    fn constant_banks_have_no_ptx() {
        assert!(trip("  %r9 = mov.b32 c[0][0x210]"));
    }
}
