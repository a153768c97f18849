//! `oriole completions` and `oriole man`: what shells and readers of manuals want.

use std::io::Write;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::failure::{Failure, Status};

/// Prints a completion script for a shell
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the manual page, with a section for each subcommand
#[derive(clap::Args)]
pub struct ManArgs {}

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "oriole", &mut script);
    out.write_all(&script)?;
    Ok(Status::Clean)
}

/// Prints the manual pages, one after the other.
pub fn man(_: &ManArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut command = Cli::command();
    command.build();
    let pages: Vec<Command> = command.get_subcommands().cloned().collect();
    clap_mangen::Man::new(command).render(out)?;
    for page in pages {
        clap_mangen::Man::new(page).render(out)?;
    }
    Ok(Status::Clean)
}
