//! `oriole compile`: from PTX to a cubin.
//!
//! Nothing is written before everything is made: a kernel that is not compiled leaves no file behind.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::ValueEnum;
use miette::miette;
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_ir::verify::verify_module;
use oriole_optimizer::codegen::compile::{CompileError, Options, Output, compile};
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{self, Observer, run_passes};
use oriole_optimizer::ssa;

use crate::failure::{Failure, Status};
use crate::numbers::counted;
use crate::settings::{Reading, target};

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Emit {
    /// A cubin
    Cubin,
    /// The instructions as Ori at the machine level, with their scheduling control
    Ori,
}

/// Compiles PTX to a cubin
///
/// The kernel is optimized as by `opt`, then its instructions are selected, registers allocated, and words scheduled
/// and encoded. `oriole judge K.ptx --cubin K.cubin` executes the result and compares it with the PTX. Exit code 0, or
/// 2 where something in the kernel is not compiled, with its line; no file is written then.
#[derive(clap::Args)]
pub struct Args {
    /// The kernels: a .ptx or .ori file
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Where the cubin goes; by default the kernel's name with .cubin
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The GPU to compile for, as ptxas names it; that of K.ptx's .target where none is named
    #[arg(long, value_name = "ARCH")]
    sm: Option<String>,
    /// The optimization level: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value = "3", value_parser = Level::of_flag)]
    level: Level,
    /// The most registers that a thread may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=255))]
    max_registers: Option<u16>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = Emit::Cubin)]
    emit: Emit,
    /// Say of each kernel how many registers it has, and what is kept in memory
    #[arg(short, long)]
    verbose: bool,
}

/// Nothing is watched.
struct Silent;

impl Observer for Silent {}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut module = args.reading.kernel(&args.file)?;
    if let Some(sm) = &args.sm {
        let parsed: Result<Target, _> = sm.parse();
        let target = parsed.map_err(|error| Failure::Input(miette!("--sm {sm}: {error}")))?;
        let own = std::mem::replace(&mut module.target, target.to_string());
        if let Err(violations) = verify_module(&module) {
            let help = format!("compile for {own}, which the file names, or a later one");
            return Err(Failure::Input(miette!(help = help, "`{}`: {}", args.file.display(), violations[0])));
        }
    }
    let target = target(&module)?;
    let output = made(args, &mut module, target)?;
    if args.verbose && (args.emit == Emit::Cubin || args.output.is_some()) {
        say(&output, target, out)?;
    }
    match args.emit {
        Emit::Cubin => {
            let path = args.output.clone().unwrap_or_else(|| args.file.with_extension("cubin"));
            store(&path, &output.cubin)?;
        }
        Emit::Ori => {
            let mut listed = Module { target: target.to_string(), ..Module::default() };
            output.functions.into_iter().for_each(|func| {
                listed.functions.push(func);
            });
            match &args.output {
                Some(path) => store(path, listed.to_string().as_bytes())?,
                None => write!(out, "{listed}")?,
            }
        }
    }
    Ok(Status::Clean)
}

/// Optimizes and compiles a module.
fn made(args: &Args, module: &mut Module, target: Target) -> Result<Output, Failure> {
    if ssa::is_virtual(module) {
        ssa::construct_module(module);
    }
    let phases = args.level.of_phases();
    if phases > 0 {
        let pipeline = Nvopt::new(args.level).before_phases(phases);
        let options = runner::Options::new(target);
        run_passes(&pipeline, module, &options, &mut Silent)
            .map_err(|error| Failure::Input(miette!("`{}`: {error}", args.file.display())))?;
    }
    let options = Options { max_registers: args.max_registers, keeps_order: phases == 0, ..Options::default() };
    compile(module, target, options).map_err(|error| refused(args, &error))
}

fn refused(args: &Args, error: &CompileError) -> Failure {
    let help = "compile this kernel with ptxas; `oriole opt` optimizes its PTX";
    Failure::Input(miette!(help = help, "`{}`: {error}", args.file.display()))
}

/// A line for each kernel.
fn say(output: &Output, target: Target, out: &mut dyn Write) -> io::Result<()> {
    for kernel in &output.kernels {
        writeln!(
            out,
            "{} for {target}: {}, {}, {} of stack, {} of shared memory, {} in memory",
            kernel.name,
            counted(kernel.words, "instruction"),
            counted(kernel.registers as usize, "register"),
            counted(kernel.frame as usize, "byte"),
            counted(kernel.shared as usize, "byte"),
            counted(kernel.spilled, "register"),
        )?;
    }
    Ok(())
}

/// Writes a file whole or not at all.
fn store(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let beside = path.with_extension("part");
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error: io::Error| {
        drop(fs::remove_file(&beside));
        Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
    })
}
