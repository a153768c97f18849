//! `oriole compare`: whether one program does what another does, whoever made the second.

use std::io::Write;
use std::path::PathBuf;

use miette::miette;
use oriole_check::compare::{Answer, CompareError, Compared, Difference, Kernel, entries};
use oriole_check::input::{InputError, launches_for};
use oriole_check::{CheckOptions, RaceSearch};
use oriole_interp::Executable;
use oriole_launch::Tolerance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cases;
use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::live;
use crate::numbers::{self, counted, sets};
use crate::paint;
use crate::settings::{Reading, check_failure};

/// Executes two programs on the same launches and compares what they leave behind
///
/// BEFORE and AFTER are .ptx or .ori files, in any combination, or `-` for standard input. AFTER may come from any
/// compiler: it is judged as a step of the optimizer is. Entries belong together by name; a single entry may have
/// another one. Each launch file beside BEFORE, or each --launch, is executed with its own data and with random data of
/// its shape, which go as far from it as BEFORE lets them. Floats are the same to the last bit, unless the launch's key
/// `tolerance` or --tolerance says how far they may be apart; where fused products explain a difference, that is said.
/// Exit code 0 where all kernels do the same, 1 where one does not, 2 on bad input, 3 where a kernel has no launch, or
/// none on which BEFORE itself says what should happen, with the reason.
#[derive(clap::Args)]
pub struct Args {
    /// The program that is right
    before: PathBuf,
    /// The program that should do the same
    after: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// A launch file, instead of those beside BEFORE
    #[arg(long, value_name = "FILE")]
    launch: Vec<PathBuf>,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = numbers::randoms())]
    randoms: u32,
    /// The seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Stop BEFORE after so many warp instructions; such a case says nothing
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Look for data races in every case of BEFORE, and not in the beginning of each launch alone; a case that has one
    /// says nothing
    #[arg(long)]
    races: bool,
    /// How far floats of AFTER may be from those of BEFORE, in buffers whose launch gives their type and no tolerance:
    /// ulp=2, relative=1e-6, absolute=1e-9, or the last two with a comma, of which the larger distance counts
    #[arg(long, value_name = "DISTANCE", value_parser = Tolerance::parse)]
    tolerance: Option<Tolerance>,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON of `compare`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// Whether all kernels do the same.
    equal: bool,
    /// The kernels of the first program.
    kernels: &'a [Kernel],
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "compare";
    const VERSION: u32 = 2;
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let (before, after) = (args.reading.kernel(&args.before)?, args.reading.kernel(&args.after)?);
    let launches = match launches_for(&args.before, &args.launch) {
        Err(InputError::NoLaunch { .. }) if args.launch.is_empty() => launches_for(&args.after, &[])?,
        launches => launches?,
    };
    // An AFTER that cannot be decoded is bad input; one that cannot run on a launch is different.
    let executable = Executable::new(&after).map_err(|error| {
        let (path, launch) = (args.after.clone(), "any launch".to_owned());
        InputError::Load { path, launch, error: Box::new(error) }
    })?;
    let names = entries(&before);
    if names.is_empty() {
        let path = args.before.display();
        return Err(Failure::Input(miette!(help = "a kernel is an `.entry` with a body", "`{path}` has no kernel")));
    }
    let options = CheckOptions {
        randoms: args.randoms,
        seed: args.seed,
        vary: true,
        steps: args.steps,
        races: RaceSearch::asked(args.races),
        ..CheckOptions::default()
    };
    let path = args.before.display().to_string();
    let programs = Compared {
        name: &path,
        before: &before,
        after: &executable,
        launches: &launches,
        options: &options,
        tolerance: args.tolerance,
    };
    let mut kernels = Vec::new();
    let bar = live::bar(names.len());
    for name in names {
        bar.set_message(name.to_owned());
        kernels.push(kernel(args, &programs, name)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    match args.format {
        Format::Text => text(&kernels, out)?,
        Format::Json => {
            let equal = kernels.iter().all(|kernel| kernel.answer == Answer::Equal);
            document::print(out, &Document { equal, kernels: &kernels })?;
        }
    }
    let any = |answer| kernels.iter().any(|kernel| kernel.answer == answer);
    Ok(match (any(Answer::Different), any(Answer::Inconclusive)) {
        (true, _) => Status::Found,
        (false, true) => Status::TooLittle,
        (false, false) => Status::Clean,
    })
}

/// Compares one kernel.
fn kernel(args: &Args, programs: &Compared<'_>, name: &str) -> Result<Kernel, Failure> {
    programs.kernel(name).map_err(|error| match error {
        CompareError::Check(error) => check_failure(&args.before.display().to_string(), &error),
        CompareError::NoFloats(name) => {
            let help = "give the buffer's argument a `type`: f16, bf16, f32 or f64";
            let what = format!("--tolerance: no buffer of a launch of `{name}` has elements of a floating-point type");
            Failure::Input(miette!(help = help, "{what}"))
        }
    })
}

/// Lines of a kind that are shown of a kernel.
const SHOWN: usize = 3;

fn text(kernels: &[Kernel], out: &mut dyn Write) -> Result<(), Failure> {
    for kernel in kernels {
        let answer = match kernel.answer {
            Answer::Equal => "equal",
            Answer::Different => "DIFFERENT",
            Answer::Inconclusive => "inconclusive",
        };
        let answer = paint::verdict(answer);
        let Kernel { name, compared, data, inconclusive, unexpected, tolerated, difference, .. } = kernel;
        let open = inconclusive.len();
        writeln!(
            out,
            "{name}: {answer}, {} compared, {}, {open} inconclusive",
            counted(*compared, "case"),
            sets(*data)
        )?;
        if let Some(Difference { case, detail, explained_by_fusion }) = difference {
            writeln!(out, "  {case}: {detail}")?;
            if *explained_by_fusion {
                writeln!(out, "  both do the same once each fused multiply-add is a product and a sum: --tolerance")?;
                writeln!(
                    out,
                    "  lets floats differ that far, and compilers have an option to fuse nothing (-fmad=false)"
                )?;
            }
        }
        cases::inconclusive(out, inconclusive, open + compared, "  ")?;
        let missed = "BEFORE itself does not do what the launch expects";
        for (what, lines) in [("within the tolerance", tolerated), (missed, unexpected)] {
            lines.iter().take(SHOWN).try_for_each(|line| writeln!(out, "  {what}: {line}"))?;
        }
    }
    Ok(())
}
