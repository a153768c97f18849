//! Mutators over everything that the PTX front end and the generator produce, and the driver on made-up predicates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use oriole_ir::ops::Opcode;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::ssa;

use super::choice::{Choice, Facts};
use super::measure::measure;
use super::mutators::MUTATORS;
use super::*;
use crate::compiler::{Axis, Ptxas};
use crate::input::{launches_for, read_kernel, write_ptx};
use crate::kernels::case;
use oriole_generate::Config;
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_launch::{Arg, ArgValue, Buffer, Launch};

/// The kernels of a folder of the corpus, in SSA form, with their first launch.
fn corpus(folder: &str) -> Vec<(PathBuf, Evidence)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ptx" || extension == "ori"));
    files.sort();
    let read = |path: PathBuf| {
        let mut module = read_kernel(&path).expect("kernels of the corpus read");
        ssa::construct_module(&mut module);
        let launch = launches_for(&path, &[]).ok().and_then(|launches| launches.into_iter().next());
        (path, Evidence { module, launch: launch.map(|named| named.launch) })
    };
    files.into_iter().map(read).collect()
}

fn generated(number: u64) -> Evidence {
    let config = Config { virtual_form: 0, ..Config::default() };
    let mut generated = case(11, number, &config);
    Evidence { module: generated.module, launch: Some(generated.launches.swap_remove(0).launch) }
}

/// What mutators have made.
#[derive(Default)]
struct Made {
    tried: u32,
    /// Candidates that the verifier accepts.
    valid: u32,
    /// Names of mutators that changed something.
    effective: BTreeSet<&'static str>,
    /// Candidates that would be printed with an operand that ptxas does not take.
    refused: u32,
    /// Some of the others, by mutator, with the architecture that they are for.
    printed: BTreeMap<&'static str, Vec<(String, String)>>,
}

impl Made {
    /// Takes whole stretches of opportunities of every mutator; what is valid afterwards survives its text.
    fn mutate(&mut self, evidence: &Evidence, name: &str) {
        let printed = prints(evidence);
        for mutator in MUTATORS {
            let facts = Facts::default();
            let mut none = Choice::new(0..0, &facts);
            let mut same = evidence.clone();
            (mutator.apply)(&mut same, &mut none);
            assert_eq!(same, *evidence, "{name}: {} changes what it was not asked to", mutator.name);
            let sites = none.seen();
            for range in [0..sites, 0..sites / 2, sites / 2..sites, 0..1.min(sites), sites.saturating_sub(1)..sites] {
                if range.is_empty() {
                    continue;
                }
                let changed = self.candidate(evidence, mutator, Choice::new(range, &facts), name);
                if let Some(changed) = changed.filter(|_| printed) {
                    self.print(&changed, mutator);
                }
            }
        }
    }

    fn candidate(
        &mut self,
        evidence: &Evidence,
        mutator: &Mutator,
        mut choice: Choice<'_>,
        name: &str,
    ) -> Option<Evidence> {
        let mut changed = evidence.clone();
        (mutator.apply)(&mut changed, &mut choice);
        changed.module.functions.values_mut().for_each(edit::repair);
        self.tried += 1;
        if verify_module(&changed.module).is_ok() {
            if measure(&changed) < measure(evidence) {
                self.effective.insert(mutator.name);
            }
            self.valid += 1;
            let text = changed.module.to_string();
            let again = parse_module(&text).unwrap_or_else(|error| panic!("{name}: {}: {error}\n{text}", mutator.name));
            assert_eq!(again, changed.module, "{name}: {}", mutator.name);
            return Some(changed);
        }
        None
    }

    /// Prints some candidates as a reduction does that takes them.
    fn print(&mut self, changed: &Evidence, mutator: &Mutator) {
        let some = self.printed.entry(mutator.name).or_default();
        if some.len() == PRINTED {
            return;
        }
        match prints(changed) {
            true => some.push((changed.module.target.clone(), write_ptx(&changed.module).expect("it was printed"))),
            false => self.refused += 1,
        }
    }
}

/// The texts of each mutator that ptxas reads.
const PRINTED: usize = 2;

/// What ptxas says about texts that are printed of candidates; nothing where it takes them.
fn complaints(printed: &BTreeMap<&'static str, Vec<(String, String)>>) -> Vec<String> {
    let Some(tool) = Ptxas::find(Path::new(env!("CARGO_MANIFEST_DIR"))) else {
        println!("skipped: no ptxas (ci/cuda-tools installs it)");
        return Vec::new();
    };
    let folder = tempfile::tempdir().expect("there is a folder for files that pass");
    let complaint = |(name, (target, text)): (&&str, &(String, String))| {
        let file = folder.path().join(format!("{name}.ptx"));
        std::fs::write(&file, text).expect("it is writable");
        let arch = if target.as_str() < "sm_75" || target.len() == 4 { "sm_75" } else { target };
        let refusal = tool.compile(&file, &Axis::new(arch, 0)).err().filter(|error| error.verdict().is_none())?;
        Some(format!("{name}: {refusal}\n{text}"))
    };
    printed.iter().flat_map(|(name, texts)| texts.iter().map(move |text| (name, text))).filter_map(complaint).collect()
}

/// Every kernel of the corpus and some generated ones; each mutator must be good for something.
#[test]
fn mutators_take_every_kernel() {
    let mut made = Made::default();
    for (path, mut evidence) in corpus("kernels") {
        // Buffers are cloned for each candidate, and their content does not matter here.
        for arg in evidence.launch.iter_mut().flat_map(|launch| &mut launch.args) {
            if let ArgValue::Buffer(buffer) = &mut arg.value {
                buffer.bytes.truncate(64);
                buffer.expect = None;
            }
        }
        made.mutate(&evidence, &path.display().to_string());
    }
    for number in 0..20 {
        let evidence = generated(number);
        made.mutate(&evidence, &format!("case {number}"));
        // Edits lead to programs that neither source makes: blocks that nothing leads to, for one.
        let mut edited = evidence;
        super::flow::first_side(&mut edited, &mut Choice::new(0..3, &Facts::default()));
        edited.module.functions.values_mut().for_each(edit::repair);
        made.mutate(&edited, &format!("case {number}, edited"));
    }
    let Made { tried, valid, effective, refused, printed } = made;
    let complaints = complaints(&printed);
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    assert!(refused > 0, "nothing is ever kept from being printed");
    assert!(tried > 2500 && valid * 10 > tried * 6, "{valid} valid of {tried}");
    let idle: Vec<&str> = MUTATORS.iter().map(|m| m.name).filter(|name| !effective.contains(name)).collect();
    assert!(idle.is_empty(), "never make anything simpler: {idle:?}");
}

/// An access to a parameter names it: ptxas takes no number there.
#[test]
fn parameters_are_accessed_by_their_names() {
    for name in ["zeros", "ones", "constants-zero"] {
        let text = everywhere(name, &parsed(LOOP));
        assert!(text.contains("ld.param.u64 [$out]") && text.contains("st.param.u32 [$r], "), "{name}: {text}");
    }
}

/// Where what was given is taken by ptxas, what is left is, too, even if the predicate would have it otherwise.
#[test]
fn what_ptxas_refuses_is_not_written() {
    let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
                %d0 = ld.param.u64 [$out]\n  %r1 = ld.global.b32 [%d0]\n  %r2 = iadd.u16x2 %r1, %r1\n  \
                st.global.b32 [%d0], %r2\n  ret\n}\n";
    let sum = |candidate: &Evidence| holds(&candidate.module, Opcode::IAdd);
    let reduced = reduce(&parsed(text), &sum, &Options::default());
    assert!(reduced.complete && prints(&reduced.evidence), "{}", reduced.evidence.module);
}

#[test]
fn renumbering_and_renaming_are_done_once() {
    for number in 0..12 {
        let tidy = compact::renamed(&compact::renumbered(&generated(number)));
        assert_eq!(verify_module(&tidy.module), Ok(()));
        assert_eq!(compact::renamed(&compact::renumbered(&tidy)), tidy);
        assert_eq!(parse_module(&tidy.module.to_string()).ok(), Some(tidy.module));
    }
}

fn holds(module: &Module, opcode: Opcode) -> bool {
    let insts = |func: &oriole_ir::Function| {
        let insts = func.layout_insts();
        insts.filter(|inst| func.inst(*inst).opcode == opcode).count()
    };
    module.functions.values().map(insts).sum::<usize>() > 0
}

/// Without a run there is no launch to keep finishing, so almost everything can go.
#[test]
fn what_a_predicate_does_not_need_goes() {
    for opcode in [Opcode::IMulLo, Opcode::SetP, Opcode::Cvta] {
        let is_alone = |module: &Module| module.functions.len() == 1;
        let evidence = (0..100).map(generated).find(|one| is_alone(&one.module) && holds(&one.module, opcode));
        let evidence = evidence.expect("one of the kernels has it");
        let reduced = reduce(&evidence, &|candidate| holds(&candidate.module, opcode), &Options::default());
        assert!(reduced.interesting && reduced.complete && holds(&reduced.evidence.module, opcode));
        assert_eq!(reduced.after.instructions, 2, "{}", reduced.evidence.module);
        let launch = reduced.evidence.launch.expect("there was a launch");
        assert_eq!((launch.threads(), launch.args.len()), (1, 0), "{opcode:?}: {}", reduced.evidence.module);
    }
}

/// Without it the copy would read what nobody knows on a GPU.
#[test]
fn fences_stay_with_the_asynchronous_operations_that_they_order() {
    let kernel = |insts: &str| {
        let text = format!(
            "target sm_90a ptx 9.0\nglobal @s: b8[64] shared align 16\nentry @k visible ssa {{\n  \
             param $out: u64 param align 8\nbb0:\n  %d0 = ld.param.u64 [$out]\n  %d1 = mov.b64 @s\n  \
             st.shared.b32 [%d1], 7\n  {insts}\n  ret\n}}\n"
        );
        Evidence { module: parse_module(&text).unwrap_or_else(|error| panic!("{error}")), launch: None }
    };
    let stays = |insts: &str, fence: Opcode, needed: Opcode| {
        let (evidence, options) = (kernel(insts), Options::default());
        let reduced = reduce(&evidence, &|candidate| holds(&candidate.module, needed), &options);
        holds(&reduced.evidence.module, fence)
    };
    let store = "cp.async.bulk.store.global.shared::cta.bulk_group [%d0], [%d1], 16";
    let fences = [
        ("fence.proxy.async", Opcode::FenceProxy),
        ("fence.mbarrier_init", Opcode::FenceBarrierInit),
        ("wgmma.fence", Opcode::WgmmaFence),
    ];
    for (fence, opcode) in fences {
        assert!(stays(&format!("{fence}\n  {store}"), opcode, Opcode::BulkStore), "{fence}");
        assert!(!stays(fence, opcode, Opcode::St), "{fence}");
    }
    assert!(!stays(&format!("fence.acq_rel.gpu\n  {store}"), Opcode::Fence, Opcode::BulkStore));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let evidence = generated(5);
    let predicate =
        |candidate: &Evidence| holds(&candidate.module, Opcode::SetP) && holds(&candidate.module, Opcode::St);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be had");
        let reduced = pool.install(|| reduce(&evidence, &predicate, &Options::default()));
        (reduced.evidence, reduced.evaluations, reduced.rounds)
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

/// Whatever number of threads a finding needs, it is not counted down to by one.
#[test]
fn a_launch_gets_as_few_threads_as_are_needed() {
    let mut evidence = generated(5);
    let set = |evidence: &mut Evidence, threads| {
        evidence.launch.as_mut().expect("it has a launch").block = [threads, 1, 1];
    };
    set(&mut evidence, 1000);
    for needed in [1, 45, 333, 500, 999, 1000] {
        let threads = |candidate: &Evidence| candidate.launch.as_ref().map_or(0, |launch| launch.block[0]);
        let reduced = reduce(&evidence, &|candidate| threads(candidate) >= needed, &Options::default());
        assert_eq!(threads(&reduced.evidence), needed);
        assert!(reduced.rounds <= 5, "{needed}: {} rounds", reduced.rounds);
    }
}

#[test]
fn limits_are_kept_and_what_is_boring_stays() {
    let evidence = generated(6);
    let limited = reduce(&evidence, &|_| true, &Options { evaluations: 5, ..Options::default() });
    assert!(limited.interesting && !limited.complete && limited.evaluations <= 5 + rayon::current_num_threads() as u64);
    let boring = reduce(&evidence, &|_| false, &Options::default());
    assert!(!boring.interesting && !boring.complete);
    assert_eq!((boring.evidence, boring.evaluations), (evidence, 1));
}

fn parsed(text: &str) -> Evidence {
    let mut launch = Launch::new(None);
    let buffer = Buffer { bytes: vec![0; 64], ..Buffer::default() };
    launch.args.push(Arg { name: None, value: ArgValue::Buffer(buffer) });
    Evidence { module: parse_module(text).expect("the kernel is well-formed"), launch: Some(launch) }
}

/// What a mutator makes where it takes these opportunities.
fn mutated(name: &str, evidence: &Evidence, opportunities: std::ops::Range<usize>) -> Evidence {
    let mutator = MUTATORS.iter().find(|mutator| mutator.name == name).expect("there is such a mutator");
    let mut changed = evidence.clone();
    (mutator.apply)(&mut changed, &mut Choice::new(opportunities, &Facts::default()));
    changed.module.functions.values_mut().for_each(edit::repair);
    if let Err(violations) = verify_module(&changed.module) {
        panic!("{name}: {}\n{}", violations[0], changed.module);
    }
    changed
}

/// A mutator, applied everywhere, and the text of what it makes.
fn everywhere(name: &str, evidence: &Evidence) -> String {
    mutated(name, evidence, 0..usize::MAX).module.to_string()
}

/// A module whose kernel calls a function that doubles its argument: what is in front of both, what the function
/// does more, and the kernel's code.
macro_rules! calling {
    ($globals:literal, $more:literal, $code:literal) => {
        concat!(
            "target sm_90 ptx 9.0\n\n",
            $globals,
            "device @twice ssa {
  return $r: u32 param align 4
  param $x: u32 param align 4
bb0:
  %r0 = ld.param.u32 [$x]
  %r1 = iadd.u32 %r0, %r0
  st.param.u32 [$r], %r1
",
            $more,
            "  ret
}

entry @k visible ssa {
  param $out: u64 param align 8
  local $a: u32 param align 4
  local $b: u32 param align 4
bb0:
  %d0 = ld.param.u64 [$out]
",
            $code
        )
    };
}

const LOOP: &str = calling!(
    "",
    "",
    "  bra bb1
bb1:
  %r1 = phi [bb0: 0], [bb2: %r2]
  %p3 = setp.lt.u32 %r1, 3
  cbra %p3, bb2, bb3
bb2:
  %r2 = iadd.u32 %r1, 1
  bra bb1
bb3:
  st.param.u32 [$a], %r1
  call @twice($a) -> ($b)
  %r4 = ld.param.u32 [$b]
  st.global.u32 [%d0+4], %r4
  ret
}
"
);

#[test]
fn a_loop_becomes_one_trip_and_repair_fills_in() {
    let text = everywhere("one-trip", &parsed(LOOP));
    assert!(text.contains("bb2:\n  %r2 = iadd.u32 %r1, 1\n  bra bb3"), "{text}");
    assert!(text.contains("%r1 = phi [bb0: 0]\n"), "{text}");
    let text = everywhere("last-side", &parsed(LOOP));
    assert!(text.contains("bra bb3"), "{text}");
}

#[test]
fn a_call_is_inlined_with_its_variables() {
    let mut evidence = parsed(LOOP);
    let before = run(&evidence);
    let text = everywhere("inlined", &evidence);
    assert!(!text.contains("call"), "{text}");
    evidence.module = parse_module(&text).expect("it parses");
    assert_eq!(run(&evidence), before);
    assert_eq!(before[4..8], [6, 0, 0, 0]);
}

/// Constants that operands have no room for are in a table of their function, and go along to another one.
#[test]
fn wide_constants_go_with_their_instructions() {
    let text = "target sm_90 ptx 9.0

device @twice ssa {
bb0:
  %d0 = mov.b64 0x3ff0000000000001
  %d1 = xor.b64 %d0, 0x7ff0000000000003
  ret
}

entry @k visible ssa {
bb0:
  %d0 = mov.b64 0x4000000000000002
  call @twice() -> ()
  ret
}
";
    let evidence = parsed(text);
    let inlined = everywhere("inlined", &evidence);
    let whole = inlined.split_once("@k").expect("the kernel is there").1.to_owned();
    for constant in ["0x4000000000000002", "0x3ff0000000000001", "0x7ff0000000000003"] {
        assert!(whole.contains(constant), "{whole}");
    }
    let module = compact::renumbered(&parsed(&inlined)).module;
    assert_eq!(verify_module(&module), Ok(()));
    assert_eq!(parse_module(&module.to_string()).ok(), Some(module));
}

/// What the only buffer holds in the end.
fn run(evidence: &Evidence) -> Vec<u8> {
    let executable = Executable::new(&evidence.module).expect("it decodes");
    let launch = evidence.launch.as_ref().expect("there is a launch");
    let result = executable.run(launch, &RunOptions::default()).expect("it loads");
    assert_eq!(result.outcome, Outcome::Finished);
    result.buffer(0).expect("there is a buffer").data().to_vec()
}

#[test]
fn values_are_those_of_the_run_and_addresses_stay() {
    let text = everywhere("values", &parsed(LOOP));
    assert!(text.contains("st.global.u32 [%d0+4], 6"), "{text}");
    assert!(text.contains("%d0 = ld.param.u64 [$out]"), "{text}");
    // The loop's own values change from trip to trip.
    assert!(text.contains("%r1 = phi [bb0: 0], [bb2: %r2]"), "{text}");
}

#[test]
fn unused_parameters_go_with_their_arguments() {
    let text = LOOP.replace("st.global.u32 [%d0+4], %r4\n", "").replace("  %d0 = ld.param.u64 [$out]\n", "");
    let evidence = parsed(&text.replace("[$a], %r1", "[$a], 1"));
    let changed = mutated("unused-locals", &evidence, 0..usize::MAX);
    assert_eq!(changed.launch.expect("there was a launch").args, []);
    assert!(!changed.module.to_string().contains("$out"), "{}", changed.module);
}

const BRANCHES: &str = calling!(
    "global @g: b8[64] global align 16\n\n",
    "  st.global.u32 [@g], %r0\n",
    "  %r1 = ld.global.u32 [%d0]
  %p2 = setp.lt.u32 %r1, 3
  cbra %p2, bb1, bb2
bb1:
  st.global.u32 [%d0+4], %r1
  bra bb2
bb2:
  %p3 = setp.lt.u32 %r1, 7
  cbra %p3, bb3, bb4
bb3:
  %r4 = imul.lo.u32 %r1, 5
  bra bb4
bb4:
  %r5 = phi [bb2: 9], [bb3: %r4]
  st.param.u32 [$a], %r1
  call @twice($a) -> ($b)
  %r6 = ld.param.u32 [$b]
  st.global.u32 [%d0+8], %r5
  st.global.u32 [%d0+12], %r6
  ret
}

entry @other visible ssa {
bb0:
  ret
}
"
);

/// The program of what these stores need.
fn sliced(stores: &[&str]) -> String {
    let mut evidence = parsed(BRANCHES);
    let module = &evidence.module;
    let text = |(id, inst): &slice::Site| oriole_ir::inst_to_string(&module.functions[*id], *inst, Some(module));
    let roots: Vec<slice::Site> =
        slice::effects_of(module).filter(|site| stores.iter().any(|store| text(site).starts_with(store))).collect();
    assert_eq!(roots.len(), stores.len());
    slice::keep(&mut evidence, &roots, slice::Memory::Unknown);
    if let Err(violations) = verify_module(&evidence.module) {
        panic!("{}\n{}", violations[0], evidence.module);
    }
    evidence.module.to_string()
}

#[test]
fn a_slice_is_what_a_store_needs() {
    // What decides whether it is executed stays; what is behind it goes.
    let text = sliced(&["st.global.u32 [%d0+4]"]);
    assert!(text.contains("cbra %p2") && !text.contains("%p3") && !text.contains("call"), "{text}");
    assert!(!text.contains("@other") && !text.contains("@twice"), "{text}");
    // Which way control came decides what a phi is.
    let text = sliced(&["st.global.u32 [%d0+8]"]);
    assert!(text.contains("cbra %p3") && text.contains("imul") && !text.contains("%p2"), "{text}");
    // A call stays with what it passes, and the function with what it returns.
    let text = sliced(&["st.global.u32 [%d0+12]"]);
    assert!(
        text.contains("call @twice") && text.contains("st.param.u32 [$a], %r1") && !text.contains("cbra"),
        "{text}"
    );
    assert!(text.contains("st.param.u32 [$r]") && !text.contains("st.global.u32 [@g]"), "{text}");
    // A store of a function needs what calls it.
    let text = sliced(&["st.global.u32 [@g]"]);
    assert!(text.contains("call @twice") && !text.contains("st.global.u32 [%d0"), "{text}");
}

#[test]
fn a_function_may_begin_later() {
    let text = everywhere("later", &parsed(LOOP));
    assert!(text.contains("entry @k visible ssa {") && text.contains("bb3:") && !text.contains("cbra"), "{text}");
}

const THREADS: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $data: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$data]
  %r1 = s2r.b32 sr.tid.x
  %d2 = imul.wide.u32 %r1, 4
  %d3 = iadd.u64 %d2, %d0
  %r4 = ld.global.b32 [%d3]
  %p5 = setp.eq.u32 %TESTED, 5
  cbra %p5, bb1, bb2
bb1:
  st.global.b32 [%d3], 9
  ret
bb2:
  ret
}
";

/// The thread that tells is the sixth, for its datum.
#[test]
fn the_one_thread_that_tells_is_left_alone() {
    let mut evidence = parsed(&THREADS.replace("TESTED", "r4"));
    let launch = evidence.launch.as_mut().expect("there is a launch");
    (launch.block, launch.grid) = ([8, 1, 1], [3, 1, 1]);
    let ArgValue::Buffer(buffer) = &mut launch.args[0].value else { panic!("it is a buffer") };
    buffer.bytes[20] = 5;
    let stores = |candidate: &Evidence| {
        let launch = candidate.launch.as_ref()?;
        let result = Executable::new(&candidate.module).ok()?.run(launch, &RunOptions::default()).ok()?;
        let data = result.buffer(0).filter(|_| result.outcome == Outcome::Finished)?;
        Some(data.data().contains(&9) && holds(&candidate.module, Opcode::SetP))
    };
    let reduced = reduce(&evidence, &|candidate| stores(candidate) == Some(true), &Options::default());
    assert_eq!(reduced.after.threads, 1, "{}", reduced.evidence.module);
}

#[test]
fn one_block_and_one_thread_stand_for_another() {
    let text = THREADS.replace("TESTED", "r1").replace("%r4 = ld.global.b32 [%d3]", "%r4 = s2r.b32 sr.ctaid.y");
    let mut evidence = parsed(&text);
    let launch = evidence.launch.as_mut().expect("there is a launch");
    (launch.block, launch.grid) = ([4, 2, 1], [2, 3, 1]);
    let take = |name: &str, opportunity: usize| mutated(name, &evidence, opportunity..opportunity + 1);
    // The sixth block is the third row's second; the last way to leave the seventh thread is by its number.
    let block = take("one-block", 4);
    assert_eq!(block.launch.as_ref().map(|launch| (launch.grid, launch.block)), Some(([1; 3], [4, 2, 1])));
    assert!(!block.module.to_string().contains("ctaid"), "{}", block.module);
    let thread = take("one-thread", 6 * 3 - 1);
    assert_eq!(thread.launch.as_ref().map(|launch| (launch.grid, launch.block)), Some(([2, 3, 1], [1; 3])));
    let text = thread.module.to_string();
    assert!(text.contains("imul.wide.u32 2, 4") && text.contains("setp.eq.u32 2, 5"), "{text}");
}

/// What a call passes is in registers once it is inlined, since PTX has those variables beside calls alone.
#[test]
fn what_an_inlined_call_passes_stands_in_registers() {
    let text = everywhere("inlined", &parsed(LOOP));
    assert!(!text.contains("[$a]") && !text.contains("[$b]"), "{text}");
    // Not where it is stored twice, or only sometimes.
    let kept = |store: &str| {
        let text = everywhere("inlined", &parsed(&LOOP.replace("st.param.u32 [$a], %r1", store)));
        text.contains("ld.param.u32 [$a]")
    };
    assert!(kept("st.param.u32 [$a], 1\n  st.param.u32 [$a], %r1"));
    assert!(kept("st.param.u32 [$a], 1\n  @%p3 st.param.u32 [$a], %r1"));
    assert!(kept("st.param.u16 [$a+2], 1"));
    assert!(!kept("st.param.b32 [$a], %r1"));
}

#[test]
fn words_of_what_is_packed_are_its_parts() {
    let kernel = |pack: &str, word: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.u64 [$out]\n  %d1 = ld.global.b64 [%d0]\n  %r2 = ld.global.b32 [%d0+8]\n  {pack}\n  \
             st.global.b32 [%d0], {word}\n  ret\n}}\n"
        );
        let made = everywhere("parts", &parsed(&text));
        let store = made.lines().find(|line| line.contains("st.global.b32")).expect("there is a store").to_owned();
        store.rsplit_once(' ').expect("there is a value").1.to_owned()
    };
    assert_eq!(kernel("%d3 = pack.b32 7, %r2", "%d3.1"), "%r2");
    assert_eq!(kernel("%d3 = pack.b32 7, %r2", "%d3.0"), "7");
    assert_eq!(kernel("%q3 = pack.b64 %d1, 0x200000003", "%q3.1"), "%d1.1");
    assert_eq!(kernel("%q3 = pack.b64 %d1, 0x200000003", "%q3.3"), "2");
    assert_eq!(kernel("%d3 = pack.b16 1, 2, %r2, 4", "%d3.1"), "%r2");
}

#[test]
fn a_branch_around_effects_becomes_their_guard() {
    let kernel = |branch: &str, side: &str, other: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.u64 [$out]\n  %r1 = ld.global.b32 [%d0]\n  %p2 = setp.eq.u32 %r1, 0\n  {branch}\n\
             bb1:\n  {side}\nbb2:\n  {other}\n}}\n"
        );
        everywhere("guarded", &parsed(&text))
    };
    let (store, effects) = ("st.global.b32 [%d0], 1", "st.global.b32 [%d0], 1\n  ret");
    let taken = kernel("cbra %p2, bb1, bb2", effects, "ret");
    assert!(taken.contains(&format!("@%p2 {store}\n  ret")), "{taken}");
    let passed = kernel("cbra %p2, bb2, bb1", effects, "ret");
    assert!(passed.contains(&format!("@!%p2 {store}\n  ret")), "{passed}");
    let joining = kernel("cbra %p2, bb1, bb2", "st.global.b32 [%d0], 1\n  bra bb2", "st.global.b32 [%d0+4], 2\n  ret");
    assert!(joining.contains(&format!("@%p2 {store}\n  bra bb2")), "{joining}");
    // What is computed is not guarded, and neither side continues elsewhere.
    for (side, other) in [("%r3 = ld.global.b32 [%d0]\n  ret", "ret"), (effects, "st.global.b32 [%d0], 2\n  ret")] {
        let kept = kernel("cbra %p2, bb1, bb2", side, other);
        assert!(kept.contains("cbra"), "{kept}");
    }
}

/// What the kernel passes is a parameter once the call is gone, with an argument in the launch.
#[test]
fn constants_of_an_inlined_call_may_come_from_parameters() {
    let text = LOOP.replace("st.param.u32 [$a], %r1", "st.param.u32 [$a], 21");
    let changed = mutated("inlined-unknown", &parsed(&text), 0..usize::MAX);
    let whole = changed.module.to_string();
    assert!(!whole.contains("call") && whole.contains("ld.param.u32 [$u0]"), "{whole}");
    assert_eq!(run(&changed)[4..8], [42, 0, 0, 0]);
    // Nothing is passed that a compiler would know.
    assert_eq!(mutated("inlined-unknown", &parsed(LOOP), 0..usize::MAX), parsed(LOOP));
}

#[test]
fn what_stands_at_an_offset_moves_to_the_beginning() {
    for sum in ["iadd.u64 %d0, 8", "iadd.u64 8, %d0", "imad.wide.u32 2, 4, %d0"] {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $data: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.u64 [$data]\n  %d1 = {sum}\n  %r2 = ld.global.b32 [%d1]\n  \
             %r3 = iadd.u32 %r2, 1\n  st.global.b32 [%d1+4], %r3\n  ret\n}}\n"
        );
        let mut evidence = parsed(&text);
        let launch = evidence.launch.as_mut().expect("there is a launch");
        let ArgValue::Buffer(buffer) = &mut launch.args[0].value else { panic!("it is a buffer") };
        buffer.bytes[8] = 41;
        let changed = mutated("offsets-gone", &evidence, 0..usize::MAX);
        let data = run(&changed);
        assert_eq!((data.len(), data[0], data[4]), (56, 41, 42), "{}", changed.module);
        assert!(!changed.module.to_string().contains("%d1"), "{}", changed.module);
    }
}
