//! Pipeline settings by choice: level, target, phases left out, knobs, a limit on rewrites.

use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_optimizer::pass::knobs::{KNOBS, Kind, Knob, KnobRow, Knobs};
use oriole_optimizer::pass::{Row, Status};
use oriole_optimizer::pipeline::runner::Options;
use oriole_optimizer::pipeline::table::{PHASES, SUB_PASSES};

use oriole_generate::Entropy;

/// Settings for a module, which is made one for the target that was chosen. Where choices have run out they are those
/// of `oriole opt`.
pub(super) fn choose(entropy: &mut Entropy<'_>, module: &mut Module) -> Options {
    if entropy.percent(50) {
        let targets: Vec<Target> = Target::all().filter(|target| module.is_for(*target)).collect();
        if !targets.is_empty() {
            module.target = entropy.choose(&targets).to_string();
        }
    }
    let target = oriole_check::target_of(module).unwrap_or_else(|_| Target::portable(90).expect("sm_90 has a row"));
    let mut options = Options::new(target);
    options.opt_level = 3 - entropy.below(4) as u8;
    for _ in 0..entropy.below(4) {
        options.disabled.push(phase(entropy));
    }
    for _ in 0..entropy.below(6) {
        knob(entropy, &mut options.knobs);
    }
    if entropy.percent(10) {
        options.rewrite_limit = Some(entropy.below(64) as u64);
    }
    options
}

/// What a command line says to choose these settings.
pub(super) fn describe(options: &Options) -> String {
    let mut text = format!("-O{}", options.opt_level);
    for setting in options.knobs.settings() {
        text += &format!(" --knob {setting}");
    }
    if !options.disabled.is_empty() {
        text += &format!(" --disable-phases {}", options.disabled.join(","));
    }
    if let Some(limit) = options.rewrite_limit {
        text += &format!(" (at most {limit} rewrites)");
    }
    text
}

/// The name of a phase that is built, or of a step inside one.
fn phase(entropy: &mut Entropy<'_>) -> String {
    let built = |row: &&Row| row.status() == Status::Built;
    let mut names: Vec<&str> = PHASES.iter().filter(built).map(|row| row.name).collect();
    names.extend(SUB_PASSES.iter().map(|row| row.name));
    entropy.choose(&names).to_owned()
}

/// Sets one knob to a legal value. Those that only print are left alone.
pub(super) fn knob(entropy: &mut Entropy<'_>, knobs: &mut Knobs) {
    let settable = |row: &&KnobRow| !matches!(row.knob, Knob::DUMPIR | Knob::SH);
    let rows: Vec<&KnobRow> = KNOBS.iter().filter(settable).collect();
    let row = entropy.choose(&rows);
    let value = value(entropy, row.kind);
    let setting = format!("{}={value}", row.name);
    if let Err(error) = knobs.set(&setting) {
        panic!("`{setting}` is a legal setting, but: {error}");
    }
}

/// A legal value of a knob, as text. Text knobs are lists of phases.
fn value(entropy: &mut Entropy<'_>, kind: Kind) -> String {
    match kind {
        Kind::Flag(default) => if default != entropy.percent(80) { "on" } else { "off" }.to_owned(),
        Kind::Limit(_) if entropy.percent(20) => "unlimited".to_owned(),
        Kind::Limit(_) => entropy.below(40).to_string(),
        Kind::Number { min, max, .. } => {
            let span = max.abs_diff(min).min(1 << 20) as usize;
            (min + entropy.below(span + 1) as i64).to_string()
        }
        Kind::Real(_) => (entropy.below(17) as f64 / 8.0).to_string(),
        Kind::InstructionGate => gate(entropy, |entropy| {
            let first = entropy.below(60);
            format!("{first}-{}", first + entropy.below(20))
        }),
        Kind::FunctionGate => gate(entropy, |entropy| entropy.choose(&["kernel", "device0"]).to_owned()),
        Kind::Text => (0..entropy.below(3)).map(|_| phase(entropy)).collect::<Vec<_>>().join(","),
    }
}

fn gate(entropy: &mut Entropy<'_>, mut item: impl FnMut(&mut Entropy<'_>) -> String) -> String {
    match entropy.below(4) {
        0 => "all".to_owned(),
        1 => "none".to_owned(),
        2 => item(entropy),
        _ => format!("!{},{}", item(entropy), item(entropy)),
    }
}
