//! What commands say of cases on which the original itself is wrong, or says nothing.

use std::io::{self, Write};

pub use oriole_check::compare::Inconclusive;
use oriole_check::report::CaseLine;
use oriole_ir::diagnostics::escape::escaped;

use crate::numbers::counted;

/// Reasons that are told.
const MOST: usize = 3;

/// Says which of so many cases say nothing, and why, each reason once.
pub fn inconclusive(out: &mut dyn Write, all: &[Inconclusive], of: usize, indent: &str) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let says = if all.len() == 1 { "says" } else { "say" };
    writeln!(out, "{indent}{} of {} {says} nothing:", all.len(), counted(of, "case"))?;
    let mut reasons: Vec<(&Inconclusive, usize)> = Vec::new();
    for case in all {
        match reasons.iter_mut().find(|(first, _)| first.why == case.why) {
            Some((_, more)) => *more += 1,
            None => reasons.push((case, 0)),
        }
    }
    for (Inconclusive { case, why }, more) in reasons.iter().take(MOST) {
        let more = if *more == 0 { String::new() } else { format!(", and {more} more") };
        writeln!(out, "{indent}  {}{more}: {}", escaped(case), escaped(why))?;
    }
    let rest = reasons.len().saturating_sub(MOST);
    if rest == 0 { Ok(()) } else { writeln!(out, "{indent}  and {}", counted(rest, "other reason")) }
}

/// Says which launches the original itself misses.
pub fn unexpected(out: &mut dyn Write, kernel: &str, cases: &[CaseLine], blameless: &str) -> io::Result<()> {
    for case in cases.iter().filter(|case| case.expected == Some(false)) {
        let (kernel, name) = (escaped(kernel), escaped(&case.name));
        writeln!(out, "{kernel}: the kernel itself, before {blameless}, does not do what {name} expects")?;
        case.differences.iter().try_for_each(|line| writeln!(out, "  {}", escaped(line)))?;
    }
    Ok(())
}
