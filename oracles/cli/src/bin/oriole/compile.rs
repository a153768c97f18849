//! `oriole compile`: from PTX to a cubin, or to a fat binary with one for each of several SMs.
//!
//! Nothing is written before everything is made: a kernel that is not compiled leaves no file behind.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::ValueEnum;
use miette::miette;
use oriole_check::compiled::report;
use oriole_check::input::{NamedLaunch, launches_for, write_ptx};
use oriole_ir::sm::Target;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, PhysicalReg};
use oriole_optimizer::codegen::compile::{CompileError, Options, Output, Tuning, compile, compile_from};
use oriole_optimizer::codegen::schedule::uninitialized::WARNING;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{self, Observer, run_passes};
use oriole_optimizer::ssa;
use oriole_sass::cubin::{self, Cubin, fat};

use crate::axes::arch;
use crate::failure::{Failure, Status};
use crate::opt;
use crate::sass::listing;
use crate::settings::{Reading, knobs, target};

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Emit {
    /// A cubin; of several SMs a fat binary with a cubin for each
    Cubin,
    /// The machine words as text, as `oriole sass` and nvdisasm print them
    Sass,
    /// The instructions as Ori at the machine level, with their scheduling control
    Ori,
    /// A program in C that runs the cubin on a launch by the CUDA driver API and compares what it leaves with the PTX
    C,
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
    /// Where the output goes; by default a cubin has the kernel's name with .cubin, a fat binary with .fatbin, and text
    /// is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The GPUs to compile for, as ptxas names them; that of K.ptx's .target where none is named
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    sm: Vec<String>,
    /// The optimization level: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value = "3", value_parser = Level::of_flag)]
    level: Level,
    /// The most registers that a thread may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=255))]
    max_registers: Option<u16>,
    /// Set a knob (see `oriole knobs`)
    #[arg(long, value_name = "NAME=VALUE")]
    knob: Vec<String>,
    /// Say in the cubin which lines of source code words come from, as `.loc` of the PTX does, and which lines of the
    /// PTX: for nvdisasm -g and -gp, debuggers and profilers
    #[arg(long, visible_alias = "generate-line-info")]
    lineinfo: bool,
    /// Warn of registers of the machine that may be read before anything writes them, as scheduled code has them
    #[arg(long)]
    warn_uninitialized: bool,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = Emit::Cubin)]
    emit: Emit,
    /// The launch of the program in C, instead of the first beside the kernel
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Say of each kernel how many registers, barriers and bytes it has, in the words of `ptxas -v`
    #[arg(short, long)]
    verbose: bool,
}

/// Nothing is watched.
struct Silent;

impl Observer for Silent {}

/// The code for an SM.
struct Made {
    target: Target,
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let module = args.reading.kernel(&args.file)?;
    if args.emit == Emit::C && args.sm.len() > 1 {
        let help = "name one SM; the program is for one GPU";
        return Err(Failure::Input(miette!(help = help, "--emit c takes one cubin")));
    }
    let mut all = Vec::new();
    let targets: Vec<Option<&String>> =
        if args.sm.is_empty() { vec![None] } else { args.sm.iter().map(Some).collect() };
    for sm in targets {
        let mut own = module.clone();
        let target = retarget(args, &mut own, sm)?;
        let output = made(args, &mut own, target)?;
        warn_uninitialized(&own, &output);
        all.push(Made { target, output });
    }
    if args.verbose {
        // Standard output may be the text.
        let is_free = args.emit == Emit::Cubin || args.output.is_some();
        let mut errors = io::stderr();
        let to: &mut dyn Write = if is_free { out } else { &mut errors };
        all.iter().try_for_each(|made| say(made, to))?;
    }
    match args.emit {
        Emit::Cubin => {
            let (bytes, extension) = match &all[..] {
                [one] => (one.output.cubin.clone(), "cubin"),
                _ => (fat(&all), "fatbin"),
            };
            let path = args.output.clone().unwrap_or_else(|| args.file.with_extension(extension));
            store(&path, &bytes)?;
        }
        Emit::Sass => text(args, &words(args, &all)?, out)?,
        Emit::Ori => text(args, &listed(all), out)?,
        Emit::C => text(args, program(args, &module, &all[0])?.as_bytes(), out)?,
    }
    Ok(Status::Clean)
}

/// Warns on standard error, in the words of ptxas, with a line for each function that has such registers, and one for
/// each of them.
fn warn_uninitialized(module: &Module, output: &Output) {
    for (id, found) in &output.uninitialized {
        let (count, name) = (found.len(), &module.functions[*id].name);
        let mut text =
            format!("warning {WARNING}: Found {count} potentially uninitialized register(s) in function {name}\n");
        for found in found {
            let named = PhysicalReg::of(found.reg).map_or_else(String::new, PhysicalReg::name);
            text += &opt::uninitialized(module, &named, found);
        }
        // A closed standard error takes no warnings; the code is still wanted.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

/// Gives a module the target that is named, if one is.
fn retarget(args: &Args, module: &mut Module, sm: Option<&String>) -> Result<Target, Failure> {
    if let Some(sm) = sm {
        let parsed: Result<Target, _> = sm.parse();
        let target = parsed.map_err(|error| Failure::Input(miette!("--sm {sm}: {error}")))?;
        let own = std::mem::replace(&mut module.target, target.to_string());
        if let Err(violations) = verify_module(module) {
            let help = format!("compile for {own}, which the file names, or a later one");
            return Err(Failure::Input(miette!(help = help, "`{}`: {}", args.file.display(), violations[0])));
        }
    }
    target(module)
}

/// A fat binary with the cubins.
fn fat(all: &[Made]) -> Vec<u8> {
    let image = |Made { target, output }: &Made| {
        let suffix = target.to_string().chars().last().filter(|last| last.is_alphabetic());
        (cubin::Target { sm: target.number(), suffix }, output.cubin.clone())
    };
    fat::write(&all.iter().map(image).collect::<Vec<_>>())
}

/// The machine words, as `oriole sass` prints them.
fn words(args: &Args, all: &[Made]) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for Made { output, .. } in all {
        let cubin = Cubin::read(&output.cubin)
            .map_err(|error| Failure::Input(miette!("`{}`: {error}", args.file.display())))?;
        listing(&cubin, &args.file, &mut bytes)?;
    }
    Ok(bytes)
}

/// The functions as Ori.
fn listed(all: Vec<Made>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Made { target, output } in all {
        let mut listed = Module { target: target.to_string(), ..Module::default() };
        output.functions.into_iter().for_each(|func| {
            listed.functions.push(func);
        });
        bytes.extend(listed.to_string().into_bytes());
    }
    bytes
}

/// The program in C.
fn program(args: &Args, module: &Module, made: &Made) -> Result<String, Failure> {
    let launches = launches_for(&args.file, &args.launch.iter().cloned().collect::<Vec<_>>())?;
    let name = args.file.display();
    let Some(NamedLaunch { launch, .. }) = launches.first() else {
        let help = "name one with --launch; `oriole launch` writes one";
        return Err(Failure::Input(miette!(help = help, "`{name}` has no launch file beside it")));
    };
    let ptx = write_ptx(module).map_err(|error| Failure::Input(miette!("`{name}` has no words in PTX: {error}")))?;
    let head =
        format!("Runs {name}, compiled by oriole for {}, and compares what it leaves with the PTX.", made.target);
    report::runner(&head, &ptx, module, launch, &made.output.cubin).ok_or_else(|| {
        let help = "choose another launch: without images and tensor maps, and one that finishes";
        Failure::Input(miette!(help = help, "no program in C makes this launch of `{name}`"))
    })
}

/// Writes a text to the file that was named, or prints it.
fn text(args: &Args, bytes: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    match &args.output {
        Some(path) => store(path, bytes),
        None => Ok(out.write_all(bytes)?),
    }
}

/// Optimizes and compiles a module.
fn made(args: &Args, module: &mut Module, target: Target) -> Result<Output, Failure> {
    if ssa::is_virtual(module) {
        ssa::construct_module(module);
    }
    let knobs = knobs(&args.knob)?;
    let phases = args.level.of_phases();
    if phases > 0 {
        let pipeline = Nvopt::new(args.level).before_phases(phases);
        let options = runner::Options { knobs: knobs.clone(), ..runner::Options::new(target) };
        run_passes(&pipeline, module, &options, &mut Silent)
            .map_err(|error| Failure::Input(miette!("`{}`: {error}", args.file.display())))?;
    }
    let (keeps_order, has_lines) = (phases == 0, args.lineinfo);
    let tuning = Tuning::of(&knobs);
    let options = Options {
        max_registers: args.max_registers,
        keeps_order,
        has_lines,
        tuning,
        finds_uninitialized: args.warn_uninitialized,
        ..Options::default()
    };
    // Ori has no lines of PTX.
    let is_ptx = args.file.extension().is_none_or(|extension| extension != "ori");
    let text = has_lines.then(|| fs::read(&args.file).ok()).flatten().filter(|_| is_ptx);
    let made = match text {
        Some(text) => compile_from(module, target, options, &String::from_utf8_lossy(&text)),
        None => compile(module, target, options),
    };
    made.map_err(|error| refused(args, &error))
}

fn refused(args: &Args, error: &CompileError) -> Failure {
    let help = "compile this kernel with ptxas; `oriole opt` optimizes its PTX";
    Failure::Input(miette!(help = help, "`{}`: {error}", args.file.display()))
}

/// The lines of `ptxas -v`, and one more with what that does not say.
fn say(made: &Made, out: &mut dyn Write) -> io::Result<()> {
    let Made { target, output } = made;
    const INFO: &str = "oriole info    : ";
    writeln!(out, "{INFO}{} bytes gmem", output.globals)?;
    for kernel in &output.kernels {
        let (name, [stores, loads]) = (&kernel.name, kernel.spill_bytes);
        writeln!(out, "{INFO}Compiling entry function '{name}' for '{target}'")?;
        writeln!(out, "{INFO}Function properties for {name}")?;
        let frame = kernel.frame;
        writeln!(out, "    {frame} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads")?;
        write!(out, "{INFO}Used {} registers, used {} barriers", kernel.registers, kernel.barriers)?;
        if frame > 0 {
            write!(out, ", {frame} bytes cumulative stack size")?;
        }
        if kernel.shared > 0 {
            write!(out, ", {} bytes smem", kernel.shared)?;
        }
        writeln!(out)?;
        writeln!(out, "{INFO}{} instructions, {} registers kept in memory", kernel.words, kernel.spilled)?;
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
