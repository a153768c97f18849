//! The `oriole` command: one file for each subcommand, and what they share.
//!
//! Exit codes: 0 all is well, 1 something was found, 2 bad input. A reader that closes standard output early ends the
//! command quietly.

mod failure;
mod run;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Optimizes GPU kernels, executes them, and proves that the one does not change the other.
#[derive(Parser)]
#[command(name = "oriole", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(io::stdout());
    let result = match cli.command {
        Command::Run(args) => run::run(&args, &mut out),
    };
    let result = result.and_then(|status| {
        out.flush()?;
        Ok(status)
    });
    match result {
        Ok(status) => status.into(),
        Err(failure) => failure.report(),
    }
}
