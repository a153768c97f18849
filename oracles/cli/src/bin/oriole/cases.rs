//! What commands say of cases on which the original itself is wrong, or says nothing.

use std::io::{self, Write};

use oriole_check::report::CaseLine;
use oriole_ir::diagnostics::escape::escaped;

use crate::numbers::counted;

/// Cases that are told one by one.
const MOST: usize = 3;

/// Says which cases say nothing, and why.
pub fn inconclusive(out: &mut dyn Write, cases: &[CaseLine], indent: &str) -> io::Result<()> {
    let why: Vec<String> = cases.iter().filter_map(CaseLine::why_not).collect();
    if why.is_empty() {
        return Ok(());
    }
    let says = if why.len() == 1 { "says" } else { "say" };
    writeln!(out, "{indent}{} of {} {says} nothing:", why.len(), counted(cases.len(), "case"))?;
    why.iter().take(MOST).try_for_each(|why| writeln!(out, "{indent}  {}", escaped(why)))?;
    if why.len() > MOST { writeln!(out, "{indent}  and {} more", why.len() - MOST) } else { Ok(()) }
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
