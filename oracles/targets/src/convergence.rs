//! Fixed points: what phases leave needs no more of the same, and the analyses agree with their definitions on every
//! state.
//!
//! For a generated kernel, in SSA form or taken out of it:
//!
//! 1. Graph, dominators and liveness equal their definitions (`oriole_reference`) before the first phase and after
//!    each that changed something; the live sets also satisfy their equations.
//! 2. A phase that runs again over its own output changes nothing, unless its row says that it may continue, or a cap
//!    ended it.
//! 3. The bundles end: within their cap of rounds, and without one after at most one round more than they made changes.
//! 4. The whole pipeline over its own output makes the same, but for the numbers of registers: one phase may take apart
//!    what a later one puts together again. Where a cap ends its bundles, a phase that may continue does so, or later
//!    phases have left an earlier one work ([`LEFT_WORK`]), it reaches a fixed point within [`MOST_RUNS`].

use oriole_ir::sm::Target;
use oriole_ir::{Form, Module};
use oriole_optimizer::pass::knobs::{Knob, Knobs};
use oriole_optimizer::pass::{Element, SecondRun};
use oriole_optimizer::pipeline::runner::{Options, PassReport, run_passes};
use oriole_optimizer::pipeline::table::Phase;
use oriole_optimizer::ssa;

use super::canary;
use super::input::kernel_of_bytes;
use oriole_check::analyses;
use oriole_check::reduce::renumbered_module;
use oriole_generate::Entropy;

/// Bytes in front of an input that choose the settings.
const HEAD: usize = 8;
/// Runs of the whole pipeline over its own output of which one must make the same again, where the first need not.
pub const MOST_RUNS: usize = 4;
/// Phases that have nothing left to do over their own output, and may have over that of the pipeline: later phases
/// simplify instructions on both sides of a branch until they are the same.
const LEFT_WORK: [Phase; 1] = [Phase::SpeculativeHoistComInsts];
/// Phases behind the last one that simplifies, which put instructions beside others that they can be simplified with.
const MOVES_LATE: [Phase; 2] = [Phase::OriHoistInvariantsLate, Phase::SinkCodeIntoBlock];

/// A generated kernel: every phase settles, and so does the pipeline.
pub fn convergence(data: &[u8]) -> bool {
    let (head, generated) = kernel_of_bytes(data, HEAD);
    let mut entropy = Entropy::from_bytes(head);
    let mut module = generated.module;
    let mut knobs = Knobs::new();
    if entropy.percent(30) {
        set(&mut knobs, Knob::GeneralOptimizeIterations, entropy.below(4));
    }
    if entropy.percent(20) {
        module.functions.values_mut().for_each(ssa::destruct);
    }
    settles(&module, &knobs);
    true
}

/// Checks a module of any form, with the knobs that cap the bundles. Returns how many runs of the pipeline over its own
/// output it took until one made the same again.
///
/// # Panics
///
/// If something does not settle, or an analysis is wrong.
pub fn settles(module: &Module, knobs: &Knobs) -> usize {
    let target = oriole_check::target_of(module).unwrap_or_else(|_| Target::portable(90).expect("sm_90 has a row"));
    let options = Options { knobs: knobs.clone(), verify: true, trusted: true, ..Options::new(target) };
    agree(module, "before the first phase");
    let phases = canary::phases_that_go_on();
    let mut state = module.clone();
    let mut moved = false;
    for entry in &phases {
        let changed = phase_settles(entry, &mut state, &options);
        moved |= changed && MOVES_LATE.iter().any(|phase| phase.row().name == entry.name);
    }
    pipeline_settles(&phases, state, &options, moved)
}

fn set(knobs: &mut Knobs, knob: Knob, value: usize) {
    let setting = format!("{knob}={value}");
    knobs.set(&setting).unwrap_or_else(|error| panic!("`{setting}` is a legal setting, but: {error}"));
}

/// The analyses of every function equal their definitions.
fn agree(module: &Module, when: &str) {
    for func in module.functions.values().filter(|func| func.is_definition()) {
        if let Err(wrong) = analyses::compare(func, func) {
            panic!("{when}: {wrong}\n{module}");
        }
    }
}

/// Runs a list of phases; the module is as it was where none of them runs.
fn run(phases: &[Element], module: &mut Module, options: &Options) -> Vec<PassReport> {
    let before = module.clone();
    match run_passes(phases, module, options, &mut ()) {
        Ok(report) => report.passes,
        Err(error) => panic!("{error}\n{before}"),
    }
}

/// Whether the phase changes something, which it does once.
fn phase_settles(entry: &Element, state: &mut Module, options: &Options) -> bool {
    let name = entry.name;
    let before = state.clone();
    let Some(first) = run(std::slice::from_ref(entry), state, options).pop() else { return false };
    if !first.changed.is_yes() {
        assert_eq!(before, *state, "{name} says that it changed nothing");
        return false;
    }
    agree(state, &format!("after {name}"));
    let capped = rounds_end(&first, state, options);
    let mut again = state.clone();
    let Some(second) = run(std::slice::from_ref(entry), &mut again, options).pop() else { return true };
    let goes_on = second.changed.is_yes() || second.rewrites > 0 || again != *state;
    assert!(!goes_on || capped || may_go_on(entry), "{name} goes on over its own output:\n{state}\nbecomes\n{again}");
    true
}

/// Whether the phase's row says that a second run may find more to do.
fn may_go_on(entry: &Element) -> bool {
    entry.second_run != SecondRun::ChangesNothing
}

/// Checks the number of rounds of a bundle, and says whether its cap may have ended it.
fn rounds_end(report: &PassReport, state: &Module, options: &Options) -> bool {
    let Some(rounds) = report.statistics.get("rounds").copied() else { return false };
    let functions =
        state.functions.values().filter(|func| func.form == Form::Ssa && func.is_definition()).count() as u64;
    let most = report.rewrites + functions;
    assert!(rounds <= most, "{}: {rounds} rounds for {} changes\n{state}", report.id, report.rewrites);
    let counted = matches!(report.number, Some(13 | 29));
    match options.knobs.limit(Knob::GeneralOptimizeIterations).filter(|_| counted) {
        Some(cap) => {
            let all = u64::from(cap) * functions;
            assert!(rounds <= all, "{}: {rounds} rounds, where {cap} a function are allowed\n{state}", report.id);
            rounds >= u64::from(cap)
        }
        None => false,
    }
}

/// The pipeline over its own output makes the same again, in the run with the number that is returned: the first,
/// unless late phases have moved something before, or a knob or a phase lets it continue.
fn pipeline_settles(phases: &[Element], mut state: Module, options: &Options, moved: bool) -> usize {
    let mut open = moved || options.knobs.is_set(Knob::GeneralOptimizeIterations);
    let before = state.clone();
    for runs in 1.. {
        let last = state.clone();
        let reports = run(phases, &mut state, options);
        let changed = |at: &usize| reports[*at].changed.is_yes();
        let busy: Vec<&Element> = (0..phases.len()).filter(changed).map(|at| &phases[at]).collect();
        if busy.is_empty() || renumbered_module(&last) == renumbered_module(&state) {
            return runs;
        }
        open |= busy.iter().any(|pass| may_go_on(pass) || LEFT_WORK.iter().any(|phase| phase.row().name == pass.name));
        let names: Vec<&str> = busy.iter().map(|pass| pass.name).collect();
        let names = names.join(", ");
        assert!(
            open && runs < MOST_RUNS,
            "run {runs} of the pipeline over its own output still changes something, in {names}:\n{before}\nbecomes\n\
             {state}"
        );
    }
    unreachable!("the runs are bounded")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use oriole_check::input::read_kernel;
    use oriole_check::kernels::from_seed;
    use oriole_generate::Config;

    /// Both sides of a branch compute the same, as late phases may leave it: hoisting it is no fault.
    #[test]
    fn work_that_later_phases_left_is_done_in_another_run() {
        let text = "target sm_90 ptx 9.0\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
                    %d0 = ld.param.u64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  %p2 = setp.lt.u32 %r1, 5\n  \
                    cbra %p2, bb1, bb2\nbb1:\n  %r3 = imul.lo.u32 %r1, %r1\n  st.global.b32 [%d0], %r3\n  bra bb3\n\
                    bb2:\n  %r4 = imul.lo.u32 %r1, %r1\n  st.global.b32 [%d0+8], %r4\n  bra bb3\nbb3:\n  ret\n}\n";
        let module = oriole_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { verify: true, ..Options::new(Target::portable(90).expect("sm_90 has a row")) };
        let phases = canary::phases_that_go_on();
        assert!((2..=MOST_RUNS).contains(&pipeline_settles(&phases, module, &options, false)));
    }

    fn settle(mut module: Module) {
        ssa::construct_module(&mut module);
        settles(&module, &Knobs::new());
    }

    #[test]
    fn real_kernels_settle() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
        let files = std::fs::read_dir(folder).expect("the corpus is there").filter_map(Result::ok);
        let mut paths: Vec<_> = files.map(|file| file.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
        assert!(paths.len() >= 48, "{} kernels", paths.len());
        paths.iter().for_each(|path| settle(read_kernel(path).expect("the corpus reads")));
    }

    #[test]
    fn generated_kernels_settle() {
        let config = Config::default();
        (0..150).for_each(|seed| settle(from_seed(seed, &config).module));
    }
}
