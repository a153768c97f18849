//! `oriole judge`: whether ptxas, or another compiler, made code that does what its PTX says.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_check::cases::first_runs;
use oriole_check::compiled::aligned::{Line, Step};
use oriole_check::compiled::answer::{Answer, Difference, Judged, compare_refusals};
use oriole_check::compiler::{Axis, CompileError, ON_GPU};
use oriole_check::input::launches_for;
use oriole_check::judge::code::Executor;
use oriole_check::report::{CaseLine, KernelReport};
use oriole_check::{CheckOptions, RaceSearch, target_of};
use oriole_gpu::Device;
use oriole_interp::Executable;
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_launch::file::read_input;
use oriole_sass::cubin::Cubin;
use oriole_scoreboard::{Hazard, Missing, check_cubin};
use schemars::JsonSchema;
use serde::Serialize;

use crate::axes::{Variants, arch, gpu, own_arch, ptxas};
use crate::cases::{Inconclusive, inconclusive, unexpected};
use crate::document::{self, ReportFormat};
use crate::failure::{Failure, Status};
use crate::live;
use crate::numbers::counted;
use crate::numbers::{self, sets};
use crate::paint;
use crate::settings::{Reading, check_failure};

/// Compiles PTX with the real ptxas, executes the machine code, and compares it with the PTX
///
/// No GPU is needed: the words of the code are decoded and executed, warp by warp, on the launches beside K.ptx or
/// given by --launch, each with its own data and with random data of its shape, which go as far from it as the kernel
/// lets them; the report says how many different data there were. A launch on which the PTX traps, depends on something
/// undefined, runs out of steps or races says nothing, with the reason; races are looked for in the beginning of each
/// launch. Every combination of SM with a level of
/// optimization, or with fast compilation, is an axis with a verdict of its own, and so is each of them with a limit of
/// registers or a further option. Where all axes disagree with the PTX in the same way, the fault may be Oriole's own;
/// --gpu asks the GPU of this machine, too. ptxas compiles with --fmad false, since it may otherwise fuse products and
/// sums, which changes results by design. With --cubin, code that somebody else made is judged instead. `oriole reduce
/// --predicate miscompile` makes a kernel smaller that is compiled wrongly. The scheduling of all code is checked, too:
/// a line says which instruction uses a register before another one is done with it.
///
/// Exit code 0 where all axes do what the PTX says, 1 where one does not, ptxas crashes, or refuses on one axis what it
/// takes on another of the same architecture, where nothing waits for an instruction whose time is not known, and where
/// the PTX itself misses what its launch expects, 2 on bad input, 3 where nothing could be judged.
#[derive(clap::Args)]
pub struct Args {
    /// The program: PTX
    kernel: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Cubins that were made of it, instead of compiling it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sm", "level", "fast_compile", "max_registers",
        "ptxas_option"])]
    cubin: Vec<PathBuf>,
    /// Architectures to compile for, as ptxas names them; that of K.ptx's .target where none is named
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    sm: Vec<String>,
    /// Levels of optimization
    #[arg(long, short = 'O', value_name = "N", value_delimiter = ',', default_values_t = [0, 1, 2, 3],
        value_parser = clap::value_parser!(u8).range(0..=3))]
    level: Vec<u8>,
    #[command(flatten)]
    variants: Variants,
    /// A launch file, instead of those beside the kernel
    #[arg(long, value_name = "FILE")]
    launch: Vec<PathBuf>,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = numbers::randoms())]
    randoms: u32,
    /// The seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Look for data races in every case of the PTX, and not in the beginning of each launch alone
    #[arg(long)]
    races: bool,
    /// Runs the code on the GPU of this machine, too, and compares what that leaves; needs the CUDA driver
    #[arg(long)]
    gpu: bool,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The JSON of `judge`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// Whether every axis does what the PTX says, and the PTX what its launches expect.
    equal: bool,
    /// How many different data the cases have that say something.
    data: usize,
    /// The PTX on every case.
    cases: &'a [CaseLine],
    /// The GPU, if one was asked.
    gpu: Option<&'a Device>,
    /// The ways to compile.
    axes: &'a [Judged],
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "judge";
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let module = args.reading.kernel(&args.kernel)?;
    let launches = launches_for(&args.kernel, &args.launch)?;
    let name = args.kernel.display().to_string();
    let races = RaceSearch::asked(args.races);
    let options = CheckOptions { randoms: args.randoms, seed: args.seed, vary: true, races, ..CheckOptions::default() };
    let (cases, report) =
        first_runs(&name, &module, &launches, &options).map_err(|error| check_failure(&name, &error))?;
    let original = Executable::new(&module).map_err(|error| Failure::Input(miette!("{name}: {error}")))?;
    let gpu = gpu(args.gpu)?;
    let (mut judged, mut is_uncovered) = (Vec::new(), false);
    let judge = |name: String, code: &Result<Cubin, CompileError>, executor, fuses| {
        Judged::of(&original, &cases, name, code.as_ref(), executor, fuses)
    };
    let mut axes = Vec::new();
    let codes = codes(args, &module)?;
    let bar = live::bar(codes.len());
    for Compiled { name, axis, code } in codes {
        bar.set_message(name.clone());
        // Nobody says how given code was compiled.
        let fuses = axis.as_ref().is_none_or(Axis::fuses);
        let mut here = judge(name.clone(), &code, Executor::Interpreter, fuses);
        code.iter().for_each(|cubin| here.look_closer(&original, &cases, cubin));
        let uncovered = code.as_ref().map_or_else(|_| Ok(Vec::new()), check_cubin).unwrap_or_default();
        is_uncovered |= uncovered.iter().any(is_certain);
        here.hazards = uncovered.iter().map(Hazard::to_string).collect();
        judged.push(here);
        judged.extend(gpu.as_deref().map(|gpu| judge(format!("{name}{ON_GPU}"), &code, Executor::Gpu(gpu), fuses)));
        axes.extend(axis.into_iter().flat_map(|axis| std::iter::repeat_n(axis, 1 + usize::from(gpu.is_some()))));
        bar.inc(1);
    }
    bar.finish_and_clear();
    compare_refusals(&mut judged, &axes);
    say_what_fits(&mut judged, &axes, &module);
    let gpu = gpu.as_deref().map(|gpu| &gpu.device);
    match args.format {
        ReportFormat::Text => {
            gpu.iter().try_for_each(|gpu| writeln!(out, "the GPU: {gpu}"))?;
            text(&judged, &report, cases.len(), out)?;
        }
        ReportFormat::Json | ReportFormat::Html => {
            let equal =
                report.is_as_expected() && !is_uncovered && judged.iter().all(|judged| judged.answer == Answer::Equal);
            let (data, cases) = (report.data, &report.cases[..]);
            let document = Document { equal, data, cases, gpu, axes: &judged };
            match args.format {
                ReportFormat::Html => document::print_page(out, &document, &BTreeMap::new())?,
                _ => document::print(out, &document)?,
            }
        }
    }
    let any = |wanted: &[Answer]| judged.iter().any(|judged| wanted.contains(&judged.answer));
    Ok(match () {
        () if any(&[Answer::Different, Answer::Crashed, Answer::RefusedHere]) => Status::Found,
        () if !report.is_as_expected() || is_uncovered => Status::Found,
        () if any(&[Answer::Equal]) && !any(&[Answer::Unjudged]) => Status::Clean,
        () => Status::TooLittle,
    })
}

/// Whether a hazard is wrong on any machine: nothing waits for an instruction that takes as long as it takes. How many
/// cycles the others need is measured over code of ptxas, which may know better.
fn is_certain(hazard: &Hazard) -> bool {
    matches!(hazard.missing, Missing::Wait(_) | Missing::Barrier)
}

/// The code of an axis, or why there is none.
struct Compiled {
    name: String,
    /// How it was compiled, where that is known.
    axis: Option<Axis>,
    code: Result<Cubin, CompileError>,
}

/// The code of each axis: compiled, or as it is given.
fn codes(args: &Args, module: &Module) -> Result<Vec<Compiled>, Failure> {
    if !args.cubin.is_empty() {
        let given =
            |path: &PathBuf| Ok(Compiled { name: path.display().to_string(), axis: None, code: Ok(read_cubin(path)?) });
        return args.cubin.iter().map(given).collect();
    }
    let ptxas = ptxas()?;
    let compiled = |axis: Axis| {
        let (name, code) = (axis.to_string(), ptxas.compile(&args.kernel, &axis));
        Compiled { name, axis: Some(axis), code }
    };
    let sm = if args.sm.is_empty() { vec![own_arch(module)?] } else { args.sm.clone() };
    Ok(args.variants.axes(&sm, &args.level).into_iter().map(compiled).collect())
}

/// Adds to refusals for an architecture that does not run code for the module which one does.
fn say_what_fits(judged: &mut [Judged], axes: &[Axis], module: &Module) {
    let (Ok(target), Ok(own)) = (target_of(module), own_arch(module)) else { return };
    let misfits = |axis: &Axis| axis.arch.parse::<Target>().is_ok_and(|arch| !arch.accepts_code_for(target));
    for (judged, axis) in judged.iter_mut().zip(axes) {
        if let Some(reason) = judged.reason.as_mut().filter(|_| judged.answer == Answer::Refused && misfits(axis)) {
            *reason += &format!("; the PTX is for {}, which --sm {own} compiles for", module.target);
        }
    }
}

/// A cubin may have this many bytes.
const MAX_CUBIN_BYTES: u64 = 256 << 20;

/// Reads a cubin.
pub fn read_cubin(path: &Path) -> Result<Cubin, Failure> {
    let name = path.display();
    let bytes = read_input(path, MAX_CUBIN_BYTES).map_err(|error| Failure::Input(miette!("{name}: {error}")))?;
    Cubin::read(&bytes).map_err(|error| Failure::Input(miette!("{name}: {error}")))
}

fn text(judged: &[Judged], report: &KernelReport, cases: usize, out: &mut dyn Write) -> Result<(), Failure> {
    for Judged { axis, answer, compared, data, reason, difference, hazards, .. } in judged {
        let answer = paint::verdict(&answer.to_string());
        let data = if *compared == 0 { String::new() } else { format!(", {}", sets(*data)) };
        writeln!(out, "{axis}: {answer}, {compared} of {cases} compared{data}", cases = counted(cases, "case"))?;
        if let Some(difference) = difference {
            differs(difference, out)?;
        }
        if let Some(reason) = reason {
            writeln!(out, "  {reason}")?;
        }
        uncovered(hazards, out)?;
    }
    let wrong = judged.iter().filter(|judged| judged.answer == Answer::Different).count();
    if wrong > 1 && wrong == judged.len() {
        writeln!(out, "all axes differ from the PTX: the fault may be in how Oriole reads the PTX or the code")?;
    }
    inconclusive(out, &Inconclusive::among(&report.cases), report.cases.len(), "")?;
    Ok(unexpected(out, &report.kernel, &report.cases, "any compiler")?)
}

/// Hazards of an axis that are shown.
const MOST_HAZARDS: usize = 4;

/// What the scheduling of the code does not cover.
fn uncovered(hazards: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    hazards.iter().take(MOST_HAZARDS).try_for_each(|hazard| writeln!(out, "  scheduling: {hazard}"))?;
    if hazards.len() > MOST_HAZARDS {
        writeln!(out, "  scheduling: and {} more", hazards.len() - MOST_HAZARDS)?;
    }
    Ok(())
}

/// What differs on a case, and who stored it.
fn differs(difference: &Difference, out: &mut dyn Write) -> Result<(), Failure> {
    let Difference { case, detail, code, ptx, steps, .. } = difference;
    writeln!(out, "  {case}: {detail}")?;
    for (what, place) in [("the code", code), ("the PTX", ptx)] {
        if let Some(place) = place {
            writeln!(out, "  {what} stores it last by {place}")?;
        }
    }
    side_by_side(steps, out)
}

/// How wide the text of an instruction of the PTX is shown, and of the code.
const WIDTHS: [usize; 2] = [36, 56];

/// What the thread did on both sides: in one line what made the same value.
fn side_by_side(steps: &[Line], out: &mut dyn Write) -> Result<(), Failure> {
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "  the thread until then, the PTX beside the code (`=`: the same value):")?;
    let value = |step: &Option<Step>| match step.as_ref().and_then(|step| step.value) {
        Some(value) => format!("{value:#x}"),
        None => String::new(),
    };
    let text = |step: &Option<Step>, width: usize| -> String {
        step.as_ref().map_or("", |step| &step.text).chars().take(width).collect()
    };
    let [left, right] = WIDTHS;
    for Line { ptx, code, same } in steps {
        let same = if *same { "=" } else { "|" };
        let line = format!(
            "    {:<left$} {:>18} {same} {:>18} {}",
            text(ptx, left),
            value(ptx),
            value(code),
            text(code, right)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
