//! `oriole run`: executes a kernel on its launches and compares with what they expect.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miette::miette;
use oriole_check::input::{InputError, NamedLaunch, launches_for};
use oriole_interp::{Bytes, Executable, LoadError, Outcome, RunOptions, RunResult, ThreadId, TraceEvent};
use oriole_ir::Module;
use oriole_ir::diagnostics::escape::escaped;
use oriole_launch::{Buffer, Launch, Scalar, ScalarType, Tolerated, Written, command_line};
use oriole_machine::Lifted;
use oriole_sass::ori::{self, in_place};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::judge::read_cubin;
use crate::launch::write_new;
use crate::numbers::counted;
use crate::settings::Reading;

/// Differing elements shown for a buffer.
const SHOWN_DIFFERENCES: usize = 5;
/// Elements shown of a buffer that nothing is expected of.
const SHOWN_ELEMENTS: usize = 8;

/// Executes a kernel and compares its buffers with what the launch expects
///
/// Runs every launch file beside the kernel, or those given, or the one described by --grid, --block and --arg. Of a
/// cubin the machine code is executed; a .ori file of machine code, as `sass --ori` prints it, takes with --cubin the
/// place of the code of a cubin, which has the rest that a launch needs.
/// Exit code 0 when everything matches, 1 when it does not, 2 for bad input.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx, .ori or .cubin file
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// The cubin that the machine code of a .ori file was lifted from
    #[arg(long, value_name = "FILE")]
    cubin: Option<PathBuf>,
    /// A launch file, instead of those beside the kernel
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entry", "grid", "block", "arg"])]
    launch: Vec<PathBuf>,
    /// The entry to launch, where the module has several
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Blocks of the grid: 4 or 4,2,1
    #[arg(long, value_name = "X,Y,Z")]
    grid: Option<String>,
    /// Threads of a block: 256 or 16,16
    #[arg(long, value_name = "X,Y,Z")]
    block: Option<String>,
    /// An argument, one for each parameter in order
    #[arg(long, value_name = "ARG", allow_negative_numbers = true, long_help = format!("An argument, one for each parameter in order: {}", command_line::HELP))]
    arg: Vec<String>,
    /// Write the launch that --grid, --block and --arg describe, for the next time
    #[arg(long, value_name = "FILE", requires = "grid")]
    save_launch: Option<PathBuf>,
    /// Count executed instructions by opcode
    #[arg(long)]
    stats: bool,
    /// Follow one thread, by its index in the block and the block's in the grid: 3, 3:1 or 1,2:0,1
    #[arg(long, value_name = "TID[:CTA]", value_parser = thread)]
    trace: Option<ThreadId>,
    /// Look for data races, whatever the launch file says
    #[arg(long)]
    races: bool,
    /// Stop after so many warp instructions
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON of `run`.
#[derive(JsonSchema, Serialize)]
pub struct Document {
    /// Whether every launch finishes without races and leaves what it expects.
    good: bool,
    /// The launches.
    launches: Vec<Run>,
}

impl document::Document for Document {
    const COMMAND: &'static str = "run";
}

/// A launch that was executed.
#[derive(JsonSchema, Serialize)]
struct Run {
    /// Its name.
    launch: String,
    /// Whether it finishes without races and leaves what it expects.
    good: bool,
    /// How it ended: `finished`, or why not, with thread and line.
    outcome: String,
    /// Threads.
    threads: u64,
    /// Warp instructions that were executed.
    executed: u64,
    /// How long it took.
    microseconds: u64,
    /// What buffers hold, in the order of the arguments; none unless it finishes.
    buffers: Vec<Content>,
    /// Data races, where they were looked for.
    races: Vec<String>,
    /// Executed instructions of threads by opcode, with --stats.
    statistics: BTreeMap<&'static str, u64>,
    /// What the thread of --trace did.
    trace: Vec<Traced>,
}

/// What a buffer holds.
#[derive(JsonSchema, Serialize)]
struct Content {
    /// Its argument.
    name: String,
    /// Its size.
    bytes: usize,
    /// FNV-1a over bytes and undefinedness, in hexadecimal: the same on every machine.
    fnv: String,
    /// The type of its elements.
    #[serde(rename = "type")]
    ty: &'static str,
    /// The first of them.
    first: Vec<String>,
    /// Whether it holds what the launch expects; null where that expects nothing.
    expected: Option<bool>,
    /// The first elements that differ from that.
    differences: Vec<String>,
    /// Elements that do only within the tolerance.
    tolerated: usize,
}

/// An instruction of the traced thread.
#[derive(JsonSchema, Serialize)]
struct Traced {
    /// Its first result, in hexadecimal; null where it has none.
    value: Option<String>,
    /// The instruction, with function and line.
    place: String,
}

/// A text that names no thread.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum NoThread {
    #[error("a thread has at most three indices")]
    TooManyIndices,
    #[error("`{0}` is no thread or block index")]
    NoIndex(String),
}

fn thread(text: &str) -> Result<ThreadId, NoThread> {
    let (tid, ctaid) = text.split_once(':').unwrap_or((text, "0"));
    let index = |text: &str| -> Result<[u32; 3], NoThread> {
        let mut index = [0; 3];
        for (axis, part) in text.split(',').enumerate() {
            let slot = index.get_mut(axis).ok_or(NoThread::TooManyIndices)?;
            *slot = part.trim().parse().map_err(|_| NoThread::NoIndex(part.to_owned()))?;
        }
        Ok(index)
    };
    Ok(ThreadId { tid: index(tid)?, ctaid: index(ctaid)? })
}

/// What a file holds that is executed.
enum Source {
    /// A program of PTX or Ori.
    Module(Module),
    /// Machine code.
    Code(Box<Lifted>),
}

/// The same, ready to run.
enum Program<'s> {
    Module(Box<Executable<'s>>),
    Code(&'s Lifted),
}

impl Source {
    fn read(args: &Args) -> Result<Source, Failure> {
        let is_cubin = args.file.extension().is_some_and(|ending| ending == "cubin");
        if !is_cubin && args.cubin.is_none() {
            return Ok(Source::Module(args.reading.kernel(&args.file)?));
        }
        if args.stats || args.races {
            let help = "`run` of the PTX counts, and looks for races";
            return Err(Failure::Input(miette!(help = help, "--stats and --races are not for machine code")));
        }
        let wrong = |error: &dyn std::fmt::Display| Failure::Input(miette!("{}: {error}", args.file.display()));
        let cubin = read_cubin(args.cubin.as_ref().unwrap_or(&args.file))?;
        let module = if is_cubin {
            in_place::lift(&cubin).map_err(|error| wrong(&error))?
        } else {
            ori::register();
            args.reading.kernel(&args.file)?
        };
        Ok(Source::Code(Box::new(Lifted::new(&cubin, &module).map_err(|error| wrong(&error))?)))
    }

    fn program(&self, args: &Args) -> Result<Program<'_>, Failure> {
        Ok(match self {
            Source::Module(module) => {
                let executable = Executable::new(module).map_err(|error| cannot(args, "any launch", error))?;
                Program::Module(Box::new(executable))
            }
            Source::Code(lifted) => Program::Code(lifted),
        })
    }
}

fn cannot(args: &Args, launch: &str, error: LoadError) -> InputError {
    InputError::Load { path: args.file.clone(), launch: launch.to_owned(), error: Box::new(error) }
}

impl Program<'_> {
    fn run(&self, args: &Args, name: &str, launch: &Launch, options: &RunOptions) -> Result<RunResult, Failure> {
        match self {
            Program::Module(executable) => {
                Ok(executable.run(launch, options).map_err(|error| cannot(args, name, error))?)
            }
            Program::Code(lifted) => lifted
                .run(launch, options)
                .map_err(|error| Failure::Input(miette!("{} cannot run on {name}: {error}", args.file.display()))),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let source = Source::read(args)?;
    let launches = launches(args)?;
    let program = source.program(args)?;
    let options = RunOptions {
        steps: args.steps,
        stats: args.stats,
        trace: args.trace,
        races: args.races,
        ..RunOptions::default()
    };
    let mut document = Document { good: true, launches: Vec::new() };
    for NamedLaunch { name, launch } in &launches {
        if let Some(thread) = args.trace.filter(|thread| !has_thread(launch, thread)) {
            let (grid, block) = (launch.grid, launch.block);
            let help = format!("the grid is {grid:?} and a block {block:?}, counted from 0");
            return Err(Failure::Input(miette!(help = help, "--trace: {name} has no {thread}")));
        }
        let start = Instant::now();
        let result = program.run(args, name, launch, &options)?;
        let run = Run::new(name, launch, &result, start.elapsed());
        document.good &= run.good;
        match args.format {
            Format::Text => show(out, name, launch, &result, start.elapsed())?,
            Format::Json => document.launches.push(run),
        }
    }
    if args.format == Format::Json {
        document::print(out, &document)?;
    }
    Ok(if document.good { Status::Clean } else { Status::Found })
}

impl Run {
    fn new(name: &str, launch: &Launch, result: &RunResult, time: Duration) -> Run {
        let finishes = result.outcome == Outcome::Finished;
        let contents = launch.contents().enumerate().filter(|_| finishes);
        let content = |(place, (name, buffer)): (usize, (String, &Buffer))| {
            Some(Content::new(name, buffer, result.content(place)?))
        };
        let traced = |event: &TraceEvent| Traced {
            value: event.value.map(|value| format!("{value:#x}")),
            place: event.place.to_string(),
        };
        Run {
            launch: name.to_owned(),
            good: is_good(launch, result),
            outcome: if finishes { "finished".to_owned() } else { result.outcome.to_string() },
            threads: launch.threads(),
            executed: result.executed,
            microseconds: time.as_micros() as u64,
            buffers: contents.filter_map(content).collect(),
            races: result.races.iter().map(ToString::to_string).collect(),
            statistics: result.stats.clone(),
            trace: result.trace.iter().map(traced).collect(),
        }
    }
}

impl Content {
    fn new(name: String, buffer: &Buffer, bytes: &Bytes) -> Content {
        let differences = expectation(&name, buffer, bytes);
        Content {
            bytes: bytes.len(),
            fnv: format!("{:016x}", hash(bytes)),
            ty: element(buffer).name(),
            first: first_elements(buffer, bytes),
            expected: buffer.expect.as_ref().map(|_| differences.is_empty()),
            tolerated: buffer.tolerated(bytes.data()).map_or(0, |tolerated| tolerated.elements),
            differences,
            name,
        }
    }
}

/// Whether a launch finishes without races and leaves what it expects.
fn is_good(launch: &Launch, result: &RunResult) -> bool {
    result.outcome == Outcome::Finished && differences(launch, result).is_empty() && result.races.is_empty()
}

fn has_thread(launch: &Launch, thread: &ThreadId) -> bool {
    let inside = |index: [u32; 3], size: [u32; 3]| index.iter().zip(size).all(|(index, size)| *index < size);
    inside(thread.tid, launch.block) && inside(thread.ctaid, launch.grid)
}

fn launches(args: &Args) -> Result<Vec<NamedLaunch>, Failure> {
    let described = args.entry.is_some() || args.grid.is_some() || args.block.is_some() || !args.arg.is_empty();
    if !described {
        return Ok(launches_for(&args.file, &args.launch)?);
    }
    let (Some(grid), Some(block)) = (&args.grid, &args.block) else {
        let help = "give both --grid and --block, and one --arg for each parameter";
        return Err(Failure::Input(miette!(help = help, "a launch on the command line needs a grid and a block")));
    };
    let launch = command_line::launch(args.entry.as_deref(), grid, block, &args.arg)?;
    if let Some(path) = &args.save_launch {
        save(&launch, path)?;
    }
    Ok(vec![NamedLaunch { name: "the command line".to_owned(), launch }])
}

/// Writes a launch and the files of its buffers, none of which may exist yet.
fn save(launch: &Launch, path: &Path) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.strip_suffix(".toml").unwrap_or(&name);
    let stem = stem.strip_suffix(".launch").unwrap_or(stem);
    let folder = path.parent().unwrap_or(Path::new(""));
    let Written { text, files } = launch.to_toml(stem);
    for (file, content) in files {
        write_new(&folder.join(file), &content, false)?;
    }
    write_new(path, text.as_bytes(), false)
}

/// Prints what became of a launch.
fn show(out: &mut dyn Write, name: &str, launch: &Launch, result: &RunResult, time: Duration) -> io::Result<()> {
    let (lines, good) = (differences(launch, result), is_good(launch, result));
    let expected = launch.contents().filter(|(_, buffer)| buffer.expect.is_some()).count();
    let head = match (&result.outcome, good) {
        (Outcome::Finished, true) if expected == 0 => "finished".to_owned(),
        (Outcome::Finished, true) => format!("ok, {} as expected", counted(expected, "buffer")),
        (Outcome::Finished, false) if lines.is_empty() => "RACES".to_owned(),
        (Outcome::Finished, false) => "MISMATCH".to_owned(),
        (outcome, _) => outcome.to_string(),
    };
    let (threads, executed) = (launch.threads(), result.executed);
    let name = escaped(name);
    writeln!(
        out,
        "{name}: {head} ({threads}, {executed}, {time:.1?})",
        threads = counted(threads, "thread"),
        executed = counted(executed, "warp instruction")
    )?;
    lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    for (place, (name, buffer)) in launch.contents().enumerate().filter(|_| result.outcome == Outcome::Finished) {
        let Some(bytes) = result.content(place) else { continue };
        tolerated(out, &name, buffer, bytes.data())?;
    }
    result.races.iter().try_for_each(|race| writeln!(out, "  {race}"))?;
    if expected == 0 && good {
        for (place, (name, buffer)) in launch.contents().enumerate() {
            let Some(bytes) = result.content(place) else { continue };
            summary(out, &name, buffer, bytes)?;
        }
    }
    if !result.stats.is_empty() {
        statistics(out, result)?;
    }
    for event in &result.trace {
        let value = event.value.map_or(String::new(), |value| format!("{value:#x}"));
        writeln!(out, "  {value:>18}  {}", event.place)?;
    }
    Ok(())
}

/// The first differing elements of every buffer that something is expected of.
fn differences(launch: &Launch, result: &RunResult) -> Vec<String> {
    if result.outcome != Outcome::Finished {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (place, (name, buffer)) in launch.contents().enumerate() {
        let Some(bytes) = result.content(place) else { continue };
        lines.extend(expectation(&name, buffer, bytes));
    }
    lines
}

/// The first elements of a buffer that are not as is expected of it.
fn expectation(name: &str, buffer: &Buffer, bytes: &Bytes) -> Vec<String> {
    if buffer.expect.is_none() {
        return Vec::new();
    }
    let mut lines: Vec<String> =
        buffer.describe_differences(name, bytes.data(), SHOWN_DIFFERENCES).into_iter().collect();
    if let Some(at) = (0..bytes.len()).find(|at| bytes.is_undefined(*at)) {
        lines.push(format!("{name}: byte {at} is undefined"));
    }
    lines
}

/// The type of a buffer's elements.
fn element(buffer: &Buffer) -> ScalarType {
    buffer.element.unwrap_or(ScalarType::B32)
}

fn first_elements(buffer: &Buffer, bytes: &Bytes) -> Vec<String> {
    let ty = element(buffer);
    let elements = bytes.data().chunks_exact(ty.bytes()).take(SHOWN_ELEMENTS);
    elements.map(|element| Scalar::from_bytes(ty, element).to_string()).collect()
}

/// For what elements of a buffer a tolerance was needed.
fn tolerated(out: &mut dyn Write, name: &str, buffer: &Buffer, bytes: &[u8]) -> io::Result<()> {
    let Some(Tolerated { elements, farthest, ulp }) = buffer.tolerated(bytes) else { return Ok(()) };
    let elements = counted(elements, "element");
    writeln!(out, "  {name}: {elements} within the tolerance, the farthest by {ulp} ulp at {name}[{farthest}]")
}

/// A buffer's size, hash and first elements.
fn summary(out: &mut dyn Write, name: &str, buffer: &Buffer, bytes: &Bytes) -> io::Result<()> {
    let (ty, shown) = (element(buffer), first_elements(buffer, bytes));
    let (length, hash) = (bytes.len(), hash(bytes));
    writeln!(
        out,
        "  {name}: {length}, fnv {hash:016x}, {}: {}",
        ty.name(),
        shown.join(" "),
        length = counted(length, "byte")
    )
}

/// FNV-1a over bytes and undefinedness: the same on every machine and in every version.
fn hash(bytes: &Bytes) -> u64 {
    let step = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x0000_0100_0000_01b3);
    let value = |at: usize| if bytes.is_undefined(at) { 256 } else { u64::from(bytes.data()[at]) };
    (0..bytes.len()).map(value).fold(0xcbf2_9ce4_8422_2325, step)
}

/// Executed instructions by opcode, most frequent first.
fn statistics(out: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    let mut rows: Vec<(&str, u64)> = result.stats.iter().map(|(name, count)| (*name, *count)).collect();
    rows.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let total: u64 = rows.iter().map(|(_, count)| count).sum();
    writeln!(out, "  {total:>12}  thread instructions")?;
    rows.iter().try_for_each(|(name, count)| writeln!(out, "  {count:>12}  {name}"))
}
