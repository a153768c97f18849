//! The `oriole` command: one file for each subcommand, and what they share.
//!
//! Exit codes: 0 all is well, 1 something was found, 2 bad input, also where a reader closes standard output early, 3
//! nothing is known: a campaign did too little, a signal ended a reduction, or no case says what a kernel should do.

mod axes;
mod bisect;
mod cases;
mod check;
mod compare;
mod compile;
mod corpus;
mod document;
mod explain;
mod failure;
mod findings;
mod folders;
mod fuzz;
mod generator;
mod judge;
mod launch;
mod listings;
mod live;
mod numbers;
mod opt;
mod options;
mod output;
mod paint;
mod reduce;
mod rule_uses;
mod rules;
mod run;
mod sass;
mod schema;
mod selection;
mod selftest;
mod settings;
mod shell;
mod table;
mod threads;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::{Failure, Status};
use miette::Report;
use options::Given;
use oriole::allocator::Mimalloc;
use oriole_check::supervise::memory::Metered;
use output::Output;

/// Checks make and drop modules, strings and reports all the time; no step may take memory without end.
#[global_allocator]
static ALLOCATOR: Metered<Mimalloc> = Metered(Mimalloc);

/// Optimizes GPU kernels, executes them, and proves that the one does not change the other.
#[derive(Parser)]
#[command(name = "oriole", version, max_term_width = 100)]
struct Cli {
    /// Say nothing of progress, and no remarks: standard error has errors alone
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Launch(launch::Args),
    Check(check::Args),
    Explain(explain::Args),
    Compare(compare::Args),
    Compile(compile::Args),
    Judge(judge::Args),
    Corpus(corpus::Args),
    Fuzz(fuzz::Args),
    Findings(findings::Args),
    Bisect(bisect::Args),
    Reduce(reduce::Args),
    Selftest(selftest::Args),
    Rules(rules::Args),
    Opt(opt::Args),
    Sass(sass::Args),
    #[command(name = axes::GPU_WORKER, hide = true)]
    GpuWorker,
    Phases(listings::PhasesArgs),
    Knobs(listings::KnobsArgs),
    Ops(listings::OpsArgs),
    Schema(schema::Args),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

impl Command {
    fn run(&self, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
        match self {
            Command::Run(args) => run::run(args, out),
            Command::Launch(args) => launch::run(args, out),
            Command::Check(args) => check::run(args, given, out),
            Command::Explain(args) => explain::run(args, given, out),
            Command::Compare(args) => compare::run(args, out),
            Command::Compile(args) => compile::run(args, out),
            Command::Judge(args) => judge::run(args, out),
            Command::Corpus(args) => corpus::run(args, out),
            Command::Fuzz(args) => fuzz::run(args, given, out),
            Command::Findings(args) => findings::run(args, out),
            Command::Bisect(args) => bisect::run(args, given, out),
            Command::Reduce(args) => reduce::run(args, given, out),
            Command::Selftest(args) => selftest::run(args, given, out),
            Command::Rules(args) => rules::run(args, out),
            Command::Opt(args) => opt::run(args, given, out),
            Command::Sass(args) => sass::run(args, out),
            Command::GpuWorker => {
                let ended = oriole_gpu::worker::serve(&mut std::io::stdin().lock(), out);
                ended.map(|()| Status::Clean).map_err(|error| Failure::Input(Report::msg(error)))
            }
            Command::Phases(args) => listings::phases(args, out),
            Command::Knobs(args) => listings::knobs(args, out),
            Command::Ops(args) => listings::ops(args, out),
            Command::Schema(args) => schema::run(args, out),
            Command::Completions(args) => shell::completions(args, out),
            Command::Man(args) => shell::man(args, out),
        }
    }
}

fn main() -> ExitCode {
    let mut program = Cli::command();
    let matches = program
        .try_get_matches_from_mut(options::as_clap_reads(std::env::args_os()))
        .unwrap_or_else(|error| failure::exit(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| failure::exit(&error));
    let given = Given::of(&program, &matches);
    output::report_full_files();
    live::set_quiet(cli.quiet);
    let mut out = BufWriter::new(Output::default());
    let result = options::exclude(&matches).and_then(|()| cli.command.run(&given, &mut out));
    let result = result.and_then(|status| {
        out.flush()?;
        Ok(status)
    });
    match result {
        Ok(status) => status.into(),
        Err(failure) => failure.report(),
    }
}
