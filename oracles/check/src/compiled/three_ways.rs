//! Three ways to the bytes of a launch: the interpreter executes the PTX, and the machine interpreter the code that our
//! own compiler makes of it, and the code that ptxas does.
//!
//! Two that agree say who is wrong. Where our code differs and that of ptxas does what the PTX says, ours is wrong.
//! Where both leave the same bytes and the PTX others, Oriole reads the PTX wrongly, or its interpreter executes it so.
//! Where ptxas's code alone differs, ptxas is wrong, or the machine interpreter is about words that our compiler does
//! not make. Where all three differ, nobody can tell.

use oriole_interp::{Executable, LaneOrder};
use oriole_sass::cubin::Cubin;

use super::Compiler;
use crate::cases::Case;
use crate::compiler::{Code, CompileError};
use crate::judge::code::{Executor, OnCode};
use crate::judge::{Verdict, equivalence};

/// Who is wrong on an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Opinion {
    /// All three agree.
    AllAgree,
    /// Our code differs from the other two.
    OursIsWrong,
    /// The code of ptxas does: on which case, and how.
    WitnessIsWrong(usize, Box<Verdict>),
    /// Both codes leave the same, and the PTX does not.
    ReadingIsWrong,
    /// All three differ.
    AllDiffer,
    /// One of the codes is not there, or not executed.
    Silent,
}

impl Opinion {
    /// Its name in statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Opinion::AllAgree => "three ways: all agree",
            Opinion::OursIsWrong => "three ways: our code differs",
            Opinion::WitnessIsWrong(..) => "three ways: the code of ptxas differs",
            Opinion::ReadingIsWrong => "three ways: the PTX differs",
            Opinion::AllDiffer => "three ways: all differ",
            Opinion::Silent => "three ways: not compared",
        }
    }

    /// Whether ptxas is to blame.
    pub fn blames_witness(&self) -> bool {
        matches!(self, Opinion::WitnessIsWrong(..))
    }

    /// A sentence for a finding.
    pub fn said(&self) -> Option<&'static str> {
        Some(match self {
            Opinion::AllAgree | Opinion::Silent => return None,
            Opinion::OursIsWrong => "the code of ptxas does what the PTX says, so ours is wrong",
            Opinion::WitnessIsWrong(..) => "our code does what the PTX says, so that of ptxas is wrong",
            Opinion::ReadingIsWrong => "the code of ptxas leaves the same, so Oriole reads the PTX wrongly",
            Opinion::AllDiffer => "the code of ptxas leaves something else again, so nobody can tell who is wrong",
        })
    }
}

/// An error in the place of one that is kept elsewhere.
pub(super) fn absent(error: &CompileError) -> CompileError {
    CompileError::NotCompiled(error.to_string())
}

/// The opinion on each axis, of our code and that of ptxas.
pub(super) fn opinions(
    compiler: &Compiler,
    original: &Executable<'_>,
    cases: &[Case<'_>],
    codes: &[(Code, Code)],
) -> Vec<Opinion> {
    let entry = cases.first().and_then(|case| case.judge.launch().kernel.as_deref());
    let of = |(ours, theirs): &(Code, Code)| {
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Opinion::Silent };
        let part = entry.and_then(|entry| theirs.part(entry));
        opinion(original, cases, ours, part.as_ref().unwrap_or(theirs))
    };
    codes.iter().take(compiler.axes.len()).map(of).collect()
}

/// The opinion on the first case on which somebody differs.
fn opinion(original: &Executable<'_>, cases: &[Case<'_>], ours: &Cubin, theirs: &Cubin) -> Opinion {
    let mut compared = false;
    for (at, case) in cases.iter().enumerate() {
        let judged = |cubin| case.judge.judge_code(original, cubin, Executor::Interpreter, &LaneOrder::SEVERAL);
        let (Ok(ours_on), Ok(theirs_on)) = (judged(ours), judged(theirs)) else { continue };
        if ours_on.verdict.is_inconclusive() || theirs_on.verdict.is_inconclusive() {
            continue;
        }
        compared = true;
        match (ours_on.verdict.is_finding(), theirs_on.verdict.is_finding()) {
            (false, false) => {}
            (true, false) => return Opinion::OursIsWrong,
            (false, true) => return Opinion::WitnessIsWrong(at, Box::new(theirs_on.verdict)),
            (true, true) => return both(original, case, (ours, &ours_on), (theirs, &theirs_on)),
        }
    }
    if compared { Opinion::AllAgree } else { Opinion::Silent }
}

/// Whether two codes that differ from the PTX leave the same.
fn both(
    original: &Executable<'_>,
    case: &Case<'_>,
    (ours, ours_on): (&Cubin, &OnCode),
    (theirs, theirs_on): (&Cubin, &OnCode),
) -> Opinion {
    let run = |cubin, on: &OnCode| case.judge.run_by(original, cubin, Executor::Interpreter, on.lanes);
    match (run(ours, ours_on), run(theirs, theirs_on)) {
        (Ok(ours), Ok(theirs)) if equivalence::compare(&ours, &theirs).is_good() => Opinion::ReadingIsWrong,
        (Ok(_), Ok(_)) => Opinion::AllDiffer,
        _ => Opinion::Silent,
    }
}
