//! The failure signature: a short description of what is wrong that is the same for one bug on many kernels.
//!
//! - An outcome other than finishing: its class and cause, `traps: out of bounds`, `out of steps`, `deadlock`.
//! - Bytes: what the first wrong one is (`wrong`, `undefined`), and how far the difference reaches in words of four
//!   bytes: `one word`, `one lane` (several, all at the same place modulo 32), `every word`, or `some words`.
//! - Strong operations: what is wrong with the first one that is not kept, `strong operation weaker`.
//! - Invalid IR and panics: the message without names of functions and what it quotes, and with every number as `#`, so
//!   that `%r12` and `%r7` are one bug. The place of a panic is kept: it says most about what is wrong.
//!
//! Findings of one step, verdict, rule and signature, but for how bytes differ, are taken for one bug, and a finding
//! keeps its signature while it is reduced.

use crate::judge::{Extent, Hang, Mismatch, Verdict};
use crate::supervise::StepId;
use oriole_interp::{Cause, Outcome};

/// Bytes of a message that are kept.
const MOST_BYTES: usize = 160;

/// The signature of a verdict that is a finding; empty for others.
pub fn of(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Panicked(panic) => of_message(&panic.to_string()),
        Verdict::Hangs(Hang::Changes(message)) => of_message(message),
        Verdict::Hangs(Hang::Clock(_)) => "does not end by itself".to_owned(),
        Verdict::OutOfMemory(_) => "takes memory without end".to_owned(),
        Verdict::Refused(why) | Verdict::InvalidIr(why) => of_message(why),
        Verdict::Unexpected(_) => "not what the launch expects".to_owned(),
        Verdict::Mismatch(Mismatch::Outcome(outcome)) => of_outcome(outcome).to_owned(),
        Verdict::Mismatch(Mismatch::Gpu(why)) => of_message(why),
        Verdict::Mismatch(Mismatch::Race(_)) => "threads race".to_owned(),
        Verdict::Mismatch(Mismatch::Hazard(_)) => "register used too early".to_owned(),
        Verdict::Mismatch(Mismatch::Strong(fault)) => format!("strong operation {}", fault.wrong.name()),
        Verdict::Mismatch(Mismatch::Missing { .. }) => "memory is missing".to_owned(),
        Verdict::Mismatch(Mismatch::Bytes { undefined, extent, .. }) => {
            format!("{}, {}", if *undefined { "undefined" } else { "wrong" }, name(*extent))
        }
        Verdict::Equal | Verdict::Refined => String::new(),
        Verdict::OriginalTraps | Verdict::OriginalUndefined | Verdict::OriginalRaces | Verdict::OutOfSteps => {
            String::new()
        }
    }
}

/// The signature of a step's verdict. Where reading printed PTX makes another program of it, how far that reaches says
/// nothing about the reader: what it misreads does, and that is asked for elsewhere ([`crate::trip::misread`]).
pub fn of_step(step: StepId, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Mismatch(_) if step == StepId::PtxRoundTrip => "reads as another program".to_owned(),
        verdict => of(verdict),
    }
}

/// The same in fewer words, which stay while a program shrinks: the difference reaches less far, and the cause of a
/// trap may become another one.
pub fn coarse(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Mismatch(Mismatch::Bytes { .. }) => kept(&of(verdict)).to_owned(),
        Verdict::Mismatch(Mismatch::Outcome(outcome)) => {
            let fine = of_outcome(outcome);
            fine.split_once(": ").map_or(fine, |(class, _)| class).to_owned()
        }
        verdict => of(verdict),
    }
}

/// A signature of [`of`] in the words that one bug keeps: which bytes are wrong, and how, differs between kernels.
pub fn kept(signature: &str) -> &str {
    match signature.split_once(", ") {
        Some(("wrong" | "undefined", _)) => "bytes",
        _ => signature,
    }
}

fn name(extent: Extent) -> &'static str {
    match extent {
        Extent::OneWord => "one word",
        Extent::OneLane => "one lane",
        Extent::SomeWords => "some words",
        Extent::EveryWord => "every word",
    }
}

fn of_outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "finishes",
        Outcome::Undefined { .. } => "depends on an undefined value",
        Outcome::OutOfSteps { .. } => "out of steps",
        Outcome::Deadlock(_) => "deadlock",
        Outcome::Trapped { cause, .. } => match cause {
            Cause::Trap => "traps: trap instruction",
            Cause::Opaque(_) => "traps: instruction without a meaning",
            Cause::Assertion(_) => "traps: assertion",
            Cause::OutOfBounds { .. } => "traps: out of bounds",
            Cause::Misaligned { .. } => "traps: misaligned",
            Cause::ReadOnly { .. } => "traps: read-only",
            Cause::BadCall(_) => "traps: bad call",
            Cause::BadIndex(_) => "traps: bad branch index",
            Cause::StackOverflow | Cause::StacksTooLarge { .. } => "traps: stack overflow",
            Cause::BadBarrier(_) => "traps: bad barrier",
            Cause::BadCopy(_) => "traps: bad bulk copy",
            Cause::BadImage(_) => "traps: bad access to an image",
            Cause::Unfinished => "traps: unfinished asynchronous operation",
            Cause::BadCollective(_) => "traps: bad collective",
        },
    }
}

/// The signature of a message: names of functions, instructions and what follows the first fault left out, numbers as
/// `#`.
pub fn of_message(message: &str) -> String {
    let (message, place) = match message.rsplit_once(" (at ") {
        Some((message, place)) => (message, format!(" (at {place}")),
        None => (message, String::new()),
    };
    let first = message.lines().next().unwrap_or_default();
    let first = match first.rsplit_once("; and ") {
        Some((head, tail)) if tail.ends_with(" more") => head,
        _ => first,
    };
    // `function `k`: rule`, `@k bb3 `%r1 = mov.b32 %r0`: rule`: what is quoted, or a name, does not say which bug it
    // is.
    let outside: String = first.split('`').step_by(2).collect();
    let words: Vec<&str> = outside.split_whitespace().filter(|word| !word.starts_with('@')).collect();
    let mut signature = String::new();
    for c in words.join(" ").trim_start_matches("function : ").chars() {
        match c {
            '0'..='9' if signature.ends_with('#') => {}
            '0'..='9' => signature.push('#'),
            _ => signature.push(c),
        }
        if signature.len() >= MOST_BYTES {
            break;
        }
    }
    signature + &place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_of_functions_do_not_count() {
        let one = "function `k`: in bb3, %r12 is not defined on every path; and 3 more";
        let other = "function `device0`: in bb14, %r7 is not defined on every path";
        assert_eq!(of_message(one), "in bb#, %r# is not defined on every path");
        assert_eq!(of_message(one), of_message(other));
    }

    #[test]
    fn quoted_instructions_do_not_count() {
        let (long, short) = (
            "@kernel bb12 `%r7 = iadd.u32 %r6, 5`: no definition of register 6 dominates this (Dominance); and 3 more",
            "@k bb0 `%r1 = mov.b32 %r0`: no definition of register 0 dominates this (Dominance)",
        );
        assert_eq!(of_message(long), of_message(short));
        assert_ne!(of_message(short), of_message("@k bb0: the block is empty (Terminator)"));
    }

    #[test]
    fn the_place_of_a_panic_counts() {
        let panic = |index: u32, line: u32| format!("index {index} of 3 (at optimizer/src/x2.rs:{line})");
        assert_eq!(of_message(&panic(3, 70)), "index # of # (at optimizer/src/x2.rs:70)");
        assert_eq!(of_message(&panic(3, 70)), of_message(&panic(4, 70)));
        assert_ne!(of_message(&panic(3, 70)), of_message(&panic(3, 71)));
    }

    #[test]
    fn outcomes_are_told_apart_by_cause_and_not_by_place() {
        let steps = |executed| of(&Verdict::Mismatch(Mismatch::Outcome(Outcome::OutOfSteps { executed })));
        assert_eq!((steps(1), steps(2)), ("out of steps".to_owned(), "out of steps".to_owned()));
        assert_eq!(of(&Verdict::Equal), "");
    }
}
