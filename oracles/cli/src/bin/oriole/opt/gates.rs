//! `oriole opt --explain-gates`: which gates of a phase are open for each function.

use std::io::Write;

use miette::miette;
use oriole_ir::Module;
use oriole_optimizer::pipeline::gates::{Explanation, explain};
use oriole_optimizer::pipeline::runner::Options;
use oriole_optimizer::pipeline::table::{Phase, rows_for_token};

use crate::failure::Failure;
use crate::selection::unknown_phase;
use crate::table::Table;

/// Prints for each phase that a token addresses, and each function, the gates with their states.
pub fn print(token: &str, module: &Module, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = rows_for_token(token).map_err(unknown_phase)?;
    let named = |phase: &&Phase| rows.iter().any(|row| row.name == phase.row().name);
    let phases: Vec<Phase> = Phase::ALL.iter().filter(named).copied().collect();
    if phases.is_empty() {
        let help = "name a phase of `oriole phases`";
        return Err(Failure::Input(miette!(help = help, "`{token}` is a pass of cicc, which has no gates")));
    }
    for phase in phases {
        for explanation in explain(phase, module, options).map_err(unknown_phase)? {
            of_function(phase, &explanation, out)?;
        }
    }
    Ok(())
}

fn of_function(phase: Phase, explanation: &Explanation, out: &mut dyn Write) -> Result<(), Failure> {
    let Explanation { function, level, skipped, gates } = explanation;
    let outcome = match (explanation.closed(), skipped) {
        (Some(gate), _) => format!("{} is closed", gate.name),
        (None, Some(reason)) => format!("left out, {reason}"),
        (None, None) => "no gate is closed".to_owned(),
    };
    writeln!(out, "{phase} in `{function}` at O{level}: {outcome}")?;
    if gates.is_empty() {
        return Ok(writeln!(out, "  it has no gates but its level, O{}, and the tokens", phase.row().min_opt_level)?);
    }
    let mut table = Table::new(&["gate", "is", "decided by", "in ptxas", "document"]);
    for (row, state) in gates {
        let (decided, document) = (row.decided.to_string(), row.source.to_string());
        table.row([row.name.into(), state.to_string(), decided, row.place.into(), document]);
    }
    Ok(table.print(out)?)
}
