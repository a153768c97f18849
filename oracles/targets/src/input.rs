//! From a fuzzer's bytes to modules and launches.

use oriole_check::input::read_ptx;
use oriole_ir::verify::verify_module;
use oriole_ir::{Function, FunctionKind, Module, Variable, parse_module};

use oriole_check::input::NamedLaunch;
use oriole_check::judge::Judge;
use oriole_generate::{self, Config, Generated};
use oriole_interp::{Executable, RunOptions};
use oriole_launch::{Arg, ArgValue, Buffer, Launch, Scalar, ScalarType, random};

/// Warp instructions that one run may take.
pub(super) const STEPS: u64 = 20_000;
/// Bytes of a buffer that is made for a pointer parameter.
const BUFFER: usize = 512;
/// Inputs above this many bytes are not looked at: the time goes into size, not into cases.
const MAX_INPUT: usize = 1 << 17;

/// Bytes that a diagnostic may have: a hundred faults, each with some lines.
const MAX_DRAWN: usize = 1 << 20;

/// The bytes as text of a size that is worth a look.
pub(super) fn text(data: &[u8]) -> Option<&str> {
    // A text may be one of the machine level.
    oriole_sass::ori::register();
    std::str::from_utf8(data).ok().filter(|text| text.len() <= MAX_INPUT)
}

/// Draws a diagnostic as the commands do. Lines may be of any length.
pub(super) fn draw(error: impl miette::Diagnostic + Send + Sync + 'static) {
    let drawn = format!("{:?}", miette::Report::new(error));
    assert!(drawn.len() < MAX_DRAWN, "a diagnostic has {} bytes", drawn.len());
}

/// The valid module that a text is, as `.ori` or as PTX.
pub(super) fn module_of_text(data: &[u8]) -> Option<Module> {
    let text = text(data)?;
    let module = parse_module(text).ok().or_else(|| read_ptx(text).ok())?;
    verify_module(&module).is_ok().then_some(module)
}

/// The kernel that bytes spell, and what is left of the bytes in front of it: the first `head` are for other choices.
pub(super) fn kernel_of_bytes(data: &[u8], head: usize) -> (&[u8], Generated) {
    let (head, rest) = data.split_at(head.min(data.len()));
    let generated = oriole_check::kernels::from_bytes(rest, &Config::default());
    if let Err(violations) = verify_module(&generated.module) {
        panic!("the generator made a module that does not verify: {}\n{}", violations[0], generated.module);
    }
    (head, generated)
}

/// Small launches for the entries of a module, as far as their parameters allow.
pub(super) fn launches_for(module: &Module) -> Vec<NamedLaunch> {
    entries(module).filter_map(|func| launch_for(func, 1)).collect()
}

/// Runs every entry on a made-up launch; only a panic is a failure.
pub(super) fn execute(module: &Module) {
    execute_on(module, &launches_for(module));
}

/// Runs a module on launches; only a panic is a failure.
pub(super) fn execute_on(module: &Module, launches: &[NamedLaunch]) {
    let Ok(executable) = Executable::new(module) else { return };
    for NamedLaunch { launch, .. } in launches {
        let options = RunOptions { steps: Some(STEPS), ..RunOptions::default() };
        // A launch that fits the parameters may still be refused, for example where a variable lives in another module.
        let _ = executable.run(launch, &options);
    }
}

fn entries(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.values().filter(|func| func.kind == FunctionKind::Entry && func.is_definition())
}

/// A small launch that fits an entry: a buffer for each parameter of 8 bytes, small numbers for the others; `None`
/// where the parameters are too large.
pub fn launch_for(func: &Function, seed: u64) -> Option<NamedLaunch> {
    let mut launch = Launch::new(Some(func.name.clone()));
    (launch.grid, launch.block) = ([2, 1, 1], [40, 1, 1]);
    for (index, param) in func.params.iter().enumerate() {
        let value = argument(func.locals.get(*param)?, seed + index as u64)?;
        launch.args.push(Arg { name: None, value });
    }
    Some(NamedLaunch { name: format!("{}, made up from seed {seed}", func.name), launch })
}

fn argument(param: &Variable, seed: u64) -> Option<ArgValue> {
    match param.size() {
        8 => {
            let bytes = random::bytes(seed, BUFFER);
            Some(ArgValue::Buffer(Buffer { bytes, ..Buffer::default() }))
        }
        4 => Some(ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 37 + seed % 8))),
        size @ 0..=4096 => Some(ArgValue::Bytes(random::bytes(seed, size as usize))),
        _ => None,
    }
}

/// Judges what was made of a module on launches: whether some launch is conclusive.
///
/// # Panics
///
/// If they differ; the message ends with what `context` says.
pub(super) fn assert_same(
    original: &Module,
    made: &Module,
    launches: &[NamedLaunch],
    context: impl Fn() -> String,
) -> bool {
    let Ok(before) = Executable::new(original) else { return false };
    let after = Executable::new(made).unwrap_or_else(|error| panic!("it cannot be decoded: {error}\n{}", context()));
    let judges =
        launches.iter().filter_map(|named| Some((&named.name, Judge::of(&before, &named.launch, Some(STEPS)).ok()?)));
    let mut conclusive = false;
    for (name, judge) in judges {
        let verdict = judge.judge(&after).verdict;
        assert!(!verdict.is_finding(), "on {name}: {verdict}\n{}", context());
        conclusive = true;
    }
    conclusive
}
