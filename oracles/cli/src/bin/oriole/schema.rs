//! `oriole schema`: what the JSON of commands looks like.

use std::io::Write;

use miette::miette;

use crate::document::{DOCUMENTS, Row};
use crate::failure::{Failure, Status};
use crate::table::Table;

/// Prints the JSON schema of what a command prints for programs
///
/// Every command with `--format json` (`sass`: --json) prints one object with `version` and `command`. Its schema is
/// JSON Schema 2020-12, with a description of each field. Fields are added without a rise of the version. Without a
/// command, the documents are listed.
#[derive(clap::Args)]
pub struct Args {
    /// The command: check, or `rules check`
    command: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.command.is_empty() {
        let mut table = Table::new(&["command", ">version"]);
        DOCUMENTS.iter().for_each(|row| table.row([row.command.to_owned(), row.version.to_string()]));
        table.print(out)?;
        return Ok(Status::Clean);
    }
    let name = args.command.join(" ");
    let Some(Row { schema, .. }) = DOCUMENTS.iter().find(|row| row.command == name) else {
        let help = "`oriole schema` lists the commands that print JSON";
        return Err(Failure::Input(miette!(help = help, "no JSON document is of `{name}`")));
    };
    serde_json::to_writer_pretty(&mut *out, &schema()).map_err(|error| Failure::Output(error.into()))?;
    writeln!(out)?;
    Ok(Status::Clean)
}
