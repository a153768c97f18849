//! `oriole run`: executes a kernel on its launches and compares with what they expect.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miette::miette;
use oriole_check::input::{InputError, NamedLaunch, launches_for};
use oriole_interp::launch::{Buffer, Launch, Scalar, ScalarType, Tolerated, Written, command_line};
use oriole_interp::{Bytes, Executable, Outcome, RunOptions, RunResult, ThreadId};
use oriole_ir::diagnostics::escape::escaped;

use crate::failure::{Failure, Status};
use crate::launch::write_new;
use crate::settings::Reading;

/// Differing elements shown for a buffer.
const SHOWN_DIFFERENCES: usize = 5;
/// Elements shown of a buffer that nothing is expected of.
const SHOWN_ELEMENTS: usize = 8;

/// Executes a kernel and compares its buffers with what the launch expects
///
/// Runs every launch file beside the kernel, or those given, or the one described by --grid, --block and --arg.
/// Exit code 0 when everything matches, 1 when it does not, 2 for bad input.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx or .ori file
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
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

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let module = args.reading.kernel(&args.file)?;
    let launches = launches(args)?;
    let cannot = |launch: &str, error| {
        let (path, launch) = (args.file.clone(), launch.to_owned());
        InputError::Load { path, launch, error: Box::new(error) }
    };
    let executable = Executable::new(&module).map_err(|error| cannot("any launch", error))?;
    let options = RunOptions {
        steps: args.steps,
        stats: args.stats,
        trace: args.trace,
        races: args.races,
        ..RunOptions::default()
    };
    let mut status = Status::Clean;
    for NamedLaunch { name, launch } in &launches {
        if let Some(thread) = args.trace.filter(|thread| !has_thread(launch, thread)) {
            let (grid, block) = (launch.grid, launch.block);
            let help = format!("the grid is {grid:?} and a block {block:?}, counted from 0");
            return Err(Failure::Input(miette!(help = help, "--trace: {name} has no {thread}")));
        }
        let start = Instant::now();
        let result = executable.run(launch, &options).map_err(|error| cannot(name, error))?;
        if !show(out, name, launch, &result, start.elapsed())? {
            status = Status::Found;
        }
    }
    Ok(status)
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

/// Prints what became of a launch, and says whether it ended and matched.
fn show(out: &mut dyn Write, name: &str, launch: &Launch, result: &RunResult, time: Duration) -> io::Result<bool> {
    let lines = differences(launch, result);
    let good = result.outcome == Outcome::Finished && lines.is_empty() && result.races.is_empty();
    let expected = launch.contents().filter(|(_, buffer)| buffer.expect.is_some()).count();
    let head = match (&result.outcome, good) {
        (Outcome::Finished, true) if expected == 0 => "finished".to_owned(),
        (Outcome::Finished, true) => format!("ok, {expected} {} as expected", plural(expected, "buffer")),
        (Outcome::Finished, false) if lines.is_empty() => "RACES".to_owned(),
        (Outcome::Finished, false) => "MISMATCH".to_owned(),
        (outcome, _) => outcome.to_string(),
    };
    let (threads, executed) = (launch.threads(), result.executed);
    let name = escaped(name);
    writeln!(out, "{name}: {head} ({threads} threads, {executed} warp instructions, {time:.1?})")?;
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
    Ok(good)
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// The first differing elements of every buffer that something is expected of.
fn differences(launch: &Launch, result: &RunResult) -> Vec<String> {
    if result.outcome != Outcome::Finished {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (place, (name, buffer)) in launch.contents().enumerate() {
        let (Some(_), Some(bytes)) = (&buffer.expect, result.content(place)) else { continue };
        lines.extend(buffer.describe_differences(&name, bytes.data(), SHOWN_DIFFERENCES));
        if let Some(at) = (0..bytes.len()).find(|at| bytes.is_undefined(*at)) {
            lines.push(format!("{name}: byte {at} is undefined"));
        }
    }
    lines
}

/// For what elements of a buffer a tolerance was needed.
fn tolerated(out: &mut dyn Write, name: &str, buffer: &Buffer, bytes: &[u8]) -> io::Result<()> {
    let Some(Tolerated { elements, farthest, ulp }) = buffer.tolerated(bytes) else { return Ok(()) };
    let elements = format!("{elements} {}", plural(elements, "element"));
    writeln!(out, "  {name}: {elements} within the tolerance, the farthest by {ulp} ulp at {name}[{farthest}]")
}

/// A buffer's size, hash and first elements.
fn summary(out: &mut dyn Write, name: &str, buffer: &Buffer, bytes: &Bytes) -> io::Result<()> {
    let ty = buffer.element.unwrap_or(ScalarType::B32);
    let shown: Vec<String> = bytes
        .data()
        .chunks_exact(ty.bytes())
        .take(SHOWN_ELEMENTS)
        .map(|element| Scalar::from_bytes(ty, element).to_string())
        .collect();
    let (length, hash) = (bytes.len(), hash(bytes));
    writeln!(out, "  {name}: {length} bytes, fnv {hash:016x}, {}: {}", ty.name(), shown.join(" "))
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
