//! Runs of small kernels: memory, divergence, barriers, collectives, calls, and every way to end.

use oriole_ir::{Module, parse_module};

use super::{Cause, Concretization, DecodeFault, Executable, LoadError, Outcome, RunOptions, RunResult, ThreadId};
use oriole_launch::{Launch, command_line};

fn module(text: &str) -> Module {
    parse_module(text).unwrap_or_else(|e| panic!("{e}: {}", &text[e.span.offset()..]))
}

pub(crate) fn launch(grid: u32, block: u32, args: &[&str]) -> Launch {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    command_line::launch(None, &grid.to_string(), &block.to_string(), &args).expect("the launch is well-formed")
}

pub(crate) fn run_with(text: &str, launch: &Launch, options: &RunOptions) -> RunResult {
    let module = module(text);
    Executable::new(&module).expect("it decodes").run(launch, options).expect("the launch fits")
}

fn run(text: &str, grid: u32, block: u32, args: &[&str]) -> RunResult {
    run_with(text, &launch(grid, block, args), &RunOptions::default())
}

/// Wraps a body that computes `%r9` in each thread and stores it to `out[tid]`.
fn per_thread(body: &str) -> String {
    format!(
        "entry @k {{\n  param $out: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  \
         %d3 = imad.wide.u32 %r1, 4, %d2\n{body}\n  st.global.b32 [%d3], %r9\n  ret\n}}\n"
    )
}

pub(crate) fn words(result: &RunResult) -> Vec<u32> {
    assert_eq!(result.outcome, Outcome::Finished);
    let bytes = result.buffer(0).expect("the first argument is a buffer").data();
    bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
}

fn computed(body: &str, threads: u32) -> Vec<u32> {
    words(&run(&per_thread(body), 1, threads, &[&format!("zeroed:{}", 4 * threads)]))
}

#[test]
fn variables_beyond_all_memory_are_refused() {
    let text = "entry @k {\n  local $x: u64[18446744073709551615] local align 8\n  local $y: b8[7] local align 1\nbb0:\n  ret\n}\n";
    let module = parse_module(text).expect("the text is a module");
    let error = Executable::new(&module).err().expect("no memory holds it");
    assert!(error.to_string().contains("`$x` has 18446744073709551615 bytes"), "{error}");
}

/// A structure has the address of a buffer that is no argument itself, and one within the buffer of an argument.
#[test]
fn structures_have_addresses_of_buffers_behind_the_arguments() {
    let text = "entry @k {\n  param $s: b8[24] param align 8\n  param $out: u64 param align 8\nbb0:\n  \
         %d0 = ld.param.b64 [$s+16]\n  %d1 = ld.param.b64 [$s]\n  %r2 = ld.param.b32 [$s+8]\n  \
         %r3 = ld.global.b32 [%d0]\n  %r4 = iadd.u32 %r2, %r3\n  st.global.b32 [%d1], %r4\n  ret\n}\n";
    let module = module(text);
    let executable = Executable::new(&module).expect("it decodes");
    let launch = |pointers: &str, behind: &str| {
        let text = format!(
            "grid = 1\nblock = 1\n[[arg]]\nbytes = \"{}05000000{}\"\n{pointers}\n[[arg]]\nzeroed = 8\n{behind}",
            "00".repeat(8),
            "00".repeat(12),
        );
        Launch::parse(&text, "l", |_, _| unreachable!("there is no file")).unwrap_or_else(|error| panic!("{error}"))
    };
    let pointers = "pointers = [{ at = 0, arg = 1, offset = 4 }, { at = 16, arg = 2 }]";
    let behind = "[[arg]]\nhex = \"07000000\"\n";
    let result = executable.run(&launch(pointers, behind), &RunOptions::default()).expect("the launch fits");
    assert_eq!(result.outcome, Outcome::Finished);
    assert_eq!(result.buffer(1).map(|bytes| bytes.data().to_vec()), Some(vec![0, 0, 0, 0, 12, 0, 0, 0]));
    for (pointers, behind) in [("", behind), (pointers, "[[arg]]\nzeroed = 4\n[[arg]]\ntype = \"u32\"\nvalue = 1\n")] {
        let misfit = executable.run(&launch(pointers, behind), &RunOptions::default());
        assert!(matches!(misfit, Err(LoadError::ArgumentCount { .. })), "{misfit:?}");
    }
}

/// The text form is read without a verifier, so it says what decoding must refuse.
#[test]
fn what_cannot_be_decoded_is_said_with_its_place() {
    for (inst, fault) in [
        ("%r9 = mov.b64 %d2", DecodeFault::DestinationWidth),
        ("%r9 = iadd.u32 %d2, 1", DecodeFault::RegisterWidth),
        ("%p7 = ld.global.b32 [%d2]", DecodeFault::RegisterWidth),
    ] {
        let module = parse_module(&per_thread(&format!("  {inst}"))).expect(inst);
        let Err(LoadError::Decode(error)) = Executable::new(&module) else { panic!("`{inst}` is decoded") };
        assert_eq!((error.fault, error.function.as_str()), (fault, "k"), "{inst}");
        assert!(error.inst.contains(inst), "{} is not {inst}", error.inst);
    }
}

#[test]
fn launches_that_directives_do_not_allow_are_refused() {
    let runs = |directive: &str, block: [u32; 3]| {
        let module = module(&format!("entry @k {{\n  directive {directive}\nbb0:\n  ret\n}}\n"));
        let launch = Launch { block, ..launch(1, 1, &[]) };
        Executable::new(&module).expect("it decodes").run(&launch, &RunOptions::default()).is_ok()
    };
    assert!(runs("maxntid 16 2 1", [1, 32, 1]) && !runs("maxntid 16 2 1", [33, 1, 1]));
    assert!(runs("reqntid 16 2", [16, 2, 1]) && !runs("reqntid 16 2", [32, 1, 1]) && !runs("reqntid 16", [16, 1, 2]));
}

#[test]
fn lanes_compute_and_store() {
    let out = computed("  %r4 = imul.lo.u32 %r1, 3\n  %r9 = iadd.u32 %r4, 7", 70);
    assert_eq!(out, (0..70).map(|i| 3 * i + 7).collect::<Vec<_>>());
}

/// Pairs of lanes store four words to one place: those of the last lane stay, all of them.
#[test]
fn of_lanes_that_store_a_vector_to_one_place_the_last_one_wins() {
    let text = "entry @k {
  param $out: u64 param align 8
bb0:
  %r1 = s2r.b32 sr.tid.x
  %d2 = ld.param.u64 [$out]
  %r3 = shr.u32 %r1, 1
  %d4 = imad.wide.u32 %r3, 16, %d2
  %r5 = iadd.u32 %r1, 100
  %r6 = iadd.u32 %r1, 200
  %r7 = iadd.u32 %r1, 300
  st.global.v4.b32 [%d4], %r1, %r5, %r6, %r7
  ret
}
";
    let out = words(&run(text, 1, 32, &["zeroed:256"]));
    let expected = (0..16).flat_map(|pair| [0, 100, 200, 300].map(|more| 2 * pair + 1 + more));
    assert_eq!(out, expected.collect::<Vec<u32>>());
}

/// Accesses of 32 bytes: eight words, and four pairs of words.
#[test]
fn the_widest_vectors_move_each_word_to_its_place() {
    let text = "entry @k {
  param $out: u64 param align 8
  param $in: u64 param align 8
bb0:
  %r1 = s2r.b32 sr.tid.x
  %d2 = ld.param.u64 [$in]
  %d3 = ld.param.u64 [$out]
  %d4 = imad.wide.u32 %r1, 64, %d2
  %d5 = imad.wide.u32 %r1, 64, %d3
  %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13 = ld.global.v8.b32 [%d4]
  st.global.v8.b32 [%d5+32], %r13, %r12, %r11, %r10, %r9, %r8, %r7, %r6
  %d14, %d15, %d16, %d17 = ld.v4.f64 [%d4+32]
  st.v4.b64 [%d5], %d17, %d16, %d15, %d14
  ret
}
";
    let hex: String = (0..64).map(|word| format!("{word:02x}000000")).collect();
    let out = words(&run(text, 1, 4, &["zeroed:256", &format!("hex:{hex}")]));
    let thread = |at: u32| {
        let pairs = [14, 15, 12, 13, 10, 11, 8, 9];
        pairs.into_iter().chain((0..8).rev()).map(move |word| 16 * at + word)
    };
    assert_eq!(out, (0..4).flat_map(thread).collect::<Vec<_>>());
}

#[test]
fn vectors_of_atomics_read_their_operands_before_they_write_results() {
    let text = "entry @k {
  param $out: u64 param align 8
bb0:
  %d2 = ld.param.u64 [$out]
  %r5 = mov.b32 0x3f800000
  %r6 = mov.b32 0x40000000
  %r6, %r5 = atom.global.add.v2.f32 [%d2], %r5, %r6
  st.global.v2.b32 [%d2+8], %r6, %r5
  ret
}
";
    let out = words(&run(text, 1, 1, &["zeroed:16"]));
    assert_eq!(out, [0x3f80_0000, 0x4000_0000, 0, 0]);
}

#[test]
fn divergent_lanes_meet_again() {
    let text = per_thread(
        "  %r4 = and.b32 %r1, 1\n  %p5 = setp.eq.u32 %r4, 0\n  cbra %p5, bb1, bb2\nbb1:\n  %r9 = mov.b32 10\n  bra bb3\nbb2:\n  \
         %r9 = mov.b32 20\n  bra bb3\nbb3:\n  %r6 = activemask.b32\n  %r9 = iadd.u32 %r9, %r6",
    );
    let out = words(&run(&text, 1, 32, &["zeroed:128"]));
    // All 32 lanes are together at bb3: the mask is all ones, which is -1.
    assert_eq!((out[0], out[1], out[31]), (9, 19, 19));
}

#[test]
fn loops_run_each_lane_its_own_number_of_times() {
    let text = per_thread(
        "  %r9 = mov.b32 0\n  %r4 = mov.b32 0\n  bra bb1\nbb1:\n  %p5 = setp.ge.u32 %r4, %r1\n  cbra %p5, bb3, bb2\nbb2:\n  \
         %r4 = iadd.u32 %r4, 1\n  %r9 = iadd.u32 %r9, %r4\n  bra bb1\nbb3:",
    )
    .replace("bb3:\n\n", "bb3:\n");
    let out = words(&run(&text, 1, 40, &["zeroed:160"]));
    assert_eq!(out, (0..40).map(|i| i * (i + 1) / 2).collect::<Vec<_>>());
}

#[test]
fn phis_copy_at_once() {
    let text = "entry @k ssa {\n  param $out: u64 param align 8\nbb0:\n  %d1 = ld.param.u64 [$out]\n  bra bb1\nbb1:\n  \
        %r2 = phi [bb0: 1], [bb1: %r3]\n  %r3 = phi [bb0: 2], [bb1: %r2]\n  %r4 = phi [bb0: 0], [bb1: %r5]\n  \
        %r5 = iadd.u32 %r4, 1\n  %p6 = setp.lt.u32 %r5, 4\n  cbra %p6, bb1, bb2\nbb2:\n  st.global.v2.b32 [%d1], %r2, %r3\n  ret\n}\n";
    assert_eq!(words(&run(text, 1, 1, &["zeroed:8"])), [2, 1]);
}

#[test]
fn shared_memory_is_exchanged_across_a_barrier() {
    let body = "  %r4 = shl.b32 %r1, 2\n  st.shared.b32 [%r4], %r1\n  bar.sync 0, 0\n  %r5 = isub.u32 252, %r4\n  %r9 = ld.shared.b32 [%r5]";
    let text = format!("global @s: b8[256] shared align 4\n{}", per_thread(body));
    let out = words(&run(&text, 1, 64, &["zeroed:256"]));
    assert_eq!(out, (0..64).rev().collect::<Vec<_>>());
}

#[test]
fn collectives_wait_for_their_members() {
    let body = "  %p5 = setp.lt.u32 %r1, 16\n  cbra %p5, bb1, bb2\nbb1:\n  %r6 = mov.b32 1\n  bra bb3\nbb2:\n  %r6 = mov.b32 2\n  bra bb3\nbb3:\n  \
        %r9 = redux.sync.add.u32 %r6, 0xffffffff";
    assert_eq!(computed(body, 32), [48; 32]);
    let body = "  %r6, %p7 = shfl.sync.bfly.b32 %r1, 1, 31, 0xffffffff\n  %r9 = selp.b32 %r6, 99, %p7";
    assert_eq!(computed(body, 32)[..4], [1, 0, 3, 2]);
}

/// The first lane waits, then come four others, of which three are in its tile, and then all others.
#[test]
fn lanes_of_a_tile_go_on_without_those_that_came_with_them() {
    let body = "  %r4 = and.b32 %r1, 28\n  %r5 = shl.b32 15, %r4\n  %p6 = setp.eq.u32 %r1, 0\n  cbra %p6, bb1, bb2\nbb1:\n  \
        %p7 = setp.gt.u32 %r1, 1\n  %r8 = vote.sync.ballot.b32 %p7, %r5\n  %r9 = shr.u32 %r8, %r4\n  bra bb4\nbb2:\n  \
        %p10 = setp.lt.u32 %r1, 5\n  cbra %p10, bb1, bb3\nbb3:\n  bra bb1\nbb4:";
    let text = per_thread(body).replace("bb4:\n\n", "bb4:\n");
    assert_eq!(words(&run(&text, 1, 32, &["zeroed:128"]))[..8], [12, 12, 12, 12, 15, 15, 15, 15]);
}

#[test]
fn calls_recurse() {
    let text = "device @fact {\n  param $n: u32 param align 4\n  return $r: u32 param align 4\n  local $a: u32 param align 4\n  local $b: u32 param align 4\nbb0:\n  \
        %r1 = ld.param.u32 [$n]\n  %p2 = setp.eq.u32 %r1, 0\n  cbra %p2, bb1, bb2\nbb1:\n  st.param.u32 [$r], 1\n  ret\nbb2:\n  \
        %r3 = isub.u32 %r1, 1\n  st.param.u32 [$a], %r3\n  call @fact($a) -> ($b)\n  %r4 = ld.param.u32 [$b]\n  \
        %r5 = imul.lo.u32 %r4, %r1\n  st.param.u32 [$r], %r5\n  ret\n}\n";
    let kernel = per_thread("  st.param.u32 [$x], %r1\n  call @fact($x) -> ($y)\n  %r9 = ld.param.u32 [$y]")
        .replace("bb0:\n", "  local $x: u32 param align 4\n  local $y: u32 param align 4\nbb0:\n");
    let out = words(&run(&format!("{text}{kernel}"), 1, 8, &["zeroed:32"]));
    assert_eq!(out, [1, 1, 2, 6, 24, 120, 720, 5040]);
}

#[test]
fn atomics_combine_over_ctas() {
    let text = "entry @k {\n  param $out: u64 param align 8\nbb0:\n  %d1 = ld.param.u64 [$out]\n  red.global.add.u32 [%d1], 3\n  \
        %r2 = atom.global.max.u32 [%d1+4], 5\n  ret\n}\n";
    assert_eq!(words(&run(text, 4, 33, &["zeroed:8"])), [4 * 33 * 3, 5]);
}

#[test]
fn traps_say_what_and_where() {
    let store = "entry @k {\n  param $out: u64 param align 8\nbb0:\n  %d1 = ld.param.u64 [$out]\n  st.global.b32 [%d1+16], 1 !7\n  ret\n}\n";
    let result = run(store, 1, 1, &["zeroed:16"]);
    let Outcome::Trapped { cause: Cause::OutOfBounds { near, .. }, place, .. } = result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!((near.as_str(), place.line), ("byte 16 of `arg 0`, which has 16 bytes", 7));
    let result = run(&store.replace("+16", "+2"), 1, 1, &["zeroed:16"]);
    assert!(matches!(result.outcome, Outcome::Trapped { cause: Cause::Misaligned { bytes: 4, .. }, .. }));
}

#[test]
fn undefined_values_are_seen_where_they_matter() {
    let branch = "entry @k {\n  param $out: u64 param align 8\nbb0:\n  %p1 = setp.eq.u32 %r2, 0\n  cbra %p1, bb1, bb1\nbb1:\n  ret\n}\n";
    assert!(matches!(run(branch, 1, 1, &["zeroed:4"]).outcome, Outcome::Undefined { what: "a branch", .. }));
    let store = "entry @k {\n  param $out: u64 param align 8\nbb0:\n  %d1 = ld.param.u64 [$out]\n  st.global.b16 [%d1+2], %r2\n  ret\n}\n";
    let result = run(store, 1, 1, &["zeroed:4"]);
    let bytes = result.buffer(0).unwrap();
    assert_eq!((0..4).map(|i| bytes.is_undefined(i)).collect::<Vec<_>>(), [false, false, true, true]);
}

/// %r8 and %p7 are never written, and read as something else each time.
#[test]
fn a_fill_stands_in_for_what_is_undefined() {
    let words = |body: &str, concretization: Concretization| {
        let options = RunOptions { concretization: Some(concretization), ..RunOptions::default() };
        let result = run_with(&per_thread(body), &launch(1, 2, &["zeroed:8"]), &options);
        assert!((0..8).all(|at| !result.buffer(0).expect("a buffer").is_undefined(at)), "{body}");
        words(&result)
    };
    let moved = "  %r9 = mov.b32 %r8";
    assert_eq!(words(moved, Concretization::Zeros), [0; 2]);
    assert_eq!(words(moved, Concretization::Ones), [u32::MAX; 2]);
    let random = words(moved, Concretization::Random(1));
    assert_ne!(random[0], random[1]);
    assert_eq!(random, words(moved, Concretization::Random(1)), "runs can be repeated");
    assert_ne!(random, words(moved, Concretization::Random(2)));
    assert_eq!(words("  %r9 = and.b32 %r8, 0", Concretization::Random(1)), [0; 2]);
    assert_ne!(words("  %r4 = mov.b32 %r8\n  %r9 = isub.u32 %r4, %r8", Concretization::Random(1)), [0; 2], "two reads");
    assert_eq!(
        words("  %r4 = mov.b32 %r8\n  %r9 = isub.u32 %r4, %r4", Concretization::Random(1)),
        [0; 2],
        "a written register"
    );
    assert_eq!(words("  %r9 = selp.b32 3, 4, %p7", Concretization::Zeros), [4; 2]);
    assert_eq!(words("  %r9 = selp.b32 3, 4, %p7", Concretization::Ones), [3; 2]);
    let (local, load) = ("  local $x: b8[4] local align 4\nbb0:", "  %d10 = mov.b64 $x\n  %r9 = ld.local.u32 [%d10]");
    let text = per_thread(load).replace("bb0:", local);
    let options = RunOptions { concretization: Some(Concretization::Ones), ..RunOptions::default() };
    let loaded = run_with(&text, &launch(1, 1, &["zeroed:4"]), &options);
    assert!(!loaded.buffer(0).expect("a buffer").is_undefined(0));
    assert_eq!(self::words(&loaded), [u32::MAX]);
}

#[test]
fn endless_loops_and_missing_threads_end_the_run() {
    let text = "entry @k {\nbb0:\n  bra bb0\n}\n";
    let options = RunOptions { steps: Some(1000), ..RunOptions::default() };
    assert_eq!(run_with(text, &launch(1, 32, &[]), &options).outcome, Outcome::OutOfSteps { executed: 1000 });
    let text = "entry @k {\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %p2 = setp.eq.u32 %r1, 0\n  cbra %p2, bb1, bb2\nbb1:\n  bar.sync 1, 64\n  ret\nbb2:\n  ret\n}\n";
    let Outcome::Deadlock(waiters) = run(text, 1, 64, &[]).outcome else { panic!("thread 0 waits alone") };
    assert_eq!(waiters.len(), 1);
    assert_eq!(waiters[0].waits_for, "barrier 1 (1 of 64 threads have arrived)");
}

#[test]
fn spinning_lanes_let_others_go_on() {
    // Lane 0 releases a lock that all other lanes of its warp spin on; the spin is first in the program.
    let text = "global @lock: u32 global align 4\nentry @k {\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %p2 = setp.eq.u32 %r1, 0\n  cbra %p2, bb2, bb1\nbb1:\n  \
        %r3 = ld.volatile.global.u32 [@lock]\n  %p4 = setp.eq.u32 %r3, 0\n  cbra %p4, bb1, bb3\nbb2:\n  st.volatile.global.u32 [@lock], 1\n  ret\nbb3:\n  ret\n}\n";
    assert_eq!(run(text, 1, 32, &[]).outcome, Outcome::Finished);
}

#[test]
fn observation_counts_and_follows() {
    let text = per_thread("  %r9 = iadd.u32 %r1, 5");
    let thread = ThreadId { ctaid: [0; 3], tid: [3, 0, 0] };
    let watch = vec![(0, 12)];
    let options = RunOptions { stats: true, counts: true, trace: Some(thread), watch, ..RunOptions::default() };
    let result = run_with(&text, &launch(1, 8, &["zeroed:32"]), &options);
    assert_eq!(result.stats["iadd"], 8);
    assert_eq!(result.stats["ret"], 8);
    let threads: u64 = result.counts.iter().map(|count| count.threads).sum();
    assert_eq!(threads, result.stats.values().sum(), "each instruction is counted once");
    assert!(result.counts.iter().all(|count| (&*count.function, count.warps, count.threads) == ("k", 1, 8)));
    let add = result.trace.iter().find(|e| e.place.text.contains("iadd")).expect("the thread adds");
    assert_eq!(add.value, Some(8));
    let store = result.trace.iter().find(|e| e.place.text.contains("st.global")).expect("the thread stores");
    assert_eq!(store.value, None);
    assert_eq!(result.stores.len(), 1);
    assert_eq!((result.stores[0].offset, result.stores[0].thread), (12, thread));
}

/// Lanes of a warp wait for one barrier on either side of a branch.
#[test]
fn an_aligned_barrier_is_one_instruction_for_all_lanes_of_a_warp() {
    let outcome = |bit: u32, [one, other]: [&str; 2]| {
        let text = format!(
            "entry @k {{\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %r2 = and.b32 %r1, {bit}\n  \
             %p3 = setp.ne.u32 %r2, 0\n  cbra %p3, bb1, bb2\nbb1:\n  bar.sync{one} 0, 0\n  bra bb3\nbb2:\n  \
             bar.sync{other} 0, 0\n  bra bb3\nbb3:\n  bar.sync{one} 0, 0\n  ret\n}}\n"
        );
        run_with(&text, &launch(1, 64, &[]), &RunOptions::default()).outcome
    };
    let is_bad = |outcome| matches!(outcome, Outcome::Trapped { cause: Cause::BadBarrier(_), .. });
    assert_eq!(outcome(1, ["", ""]), Outcome::Finished);
    assert!(is_bad(outcome(1, [".aligned", ".aligned"])));
    assert!(is_bad(outcome(1, ["", ".aligned"])) && is_bad(outcome(1, [".aligned", ""])));
    // Whole warps may go either way.
    assert_eq!(outcome(32, [".aligned", ".aligned"]), Outcome::Finished);
}

#[test]
fn races_are_seen_and_barriers_end_them() {
    let body = "  %r4 = shl.b32 %r1, 2\n  st.shared.b32 [%r4], %r1\n  bar.sync 0, 0\n  %r5 = isub.u32 252, %r4\n  %r9 = ld.shared.b32 [%r5]";
    let text = format!("global @s: b8[256] shared align 4\n{}", per_thread(body));
    let options = RunOptions { races: true, ..RunOptions::default() };
    let ordered = run_with(&text, &launch(1, 64, &["zeroed:256"]), &options);
    assert_eq!(ordered.races, []);
    let racy = run_with(&text.replace("  bar.sync 0, 0\n", ""), &launch(1, 64, &["zeroed:256"]), &options);
    assert!(racy.races[0].to_string().starts_with("race on shared byte"), "{}", racy.races[0]);
    // Within one warp only `bar.warp.sync` orders.
    let warp = text.replace("bar.sync 0, 0", "bar.warp.sync 0xffffffff").replace("252", "124");
    assert_eq!(run_with(&warp, &launch(1, 32, &["zeroed:256"]), &options).races, []);
    let plain = warp.replace("  bar.warp.sync 0xffffffff\n", "");
    assert_eq!(run_with(&plain, &launch(1, 32, &["zeroed:256"]), &options).races.len(), 1);
    let atomic = "entry @k {\n  param $out: u64 param align 8\nbb0:\n  %d1 = ld.param.u64 [$out]\n  red.global.add.u32 [%d1], 3\n  ret\n}\n";
    assert_eq!(run_with(atomic, &launch(2, 32, &["zeroed:4"]), &options).races, []);
    let store = atomic.replace("red.global.add.u32 [%d1], 3", "st.global.b32 [%d1], 3");
    assert_eq!(run_with(&store, &launch(2, 1, &["zeroed:4"]), &options).races, []);
    let own = store.replace("  st.", "  %r2 = s2r.b32 sr.ctaid.x\n  st.").replace("], 3", "], %r2");
    assert_eq!(run_with(&own, &launch(2, 1, &["zeroed:4"]), &options).races.len(), 1);
}

/// PTX ISA, "Release and Acquire Patterns": a relaxed access alone orders nothing, with a fence beside it it does.
#[test]
fn what_acquires_and_releases_orders_and_what_is_relaxed_does_not() {
    let races = |[release, set]: [&str; 2], [look, acquire]: [&str; 2]| {
        let body = format!(
            "  %r4 = shl.b32 %r1, 3\n  %r5 = xor.b32 %r4, 8\n  st.shared.b32 [%r4], %r1\n  {release}\n  \
             st{set}.shared.b32 [%r4+4], 1\n  %r6 = ld{look}.shared.b32 [%r5+4]\n  {acquire}\n  \
             %r9 = ld.shared.b32 [%r5]"
        );
        let text = format!("global @s: b8[256] shared align 4\n{}", per_thread(&body));
        let options = RunOptions { races: true, ..RunOptions::default() };
        let result = run_with(&text, &launch(1, 32, &["zeroed:128"]), &options);
        assert_eq!(result.outcome, Outcome::Finished);
        !result.races.is_empty()
    };
    let (relaxed, fence) = (".relaxed.cta", "fence.acq_rel.cta");
    assert!(!races(["", ".release.cta"], [".acquire.cta", ""]));
    assert!(!races([fence, relaxed], [relaxed, fence]));
    assert!(races(["", relaxed], [relaxed, fence]) && races([fence, relaxed], [relaxed, ""]));
    // A fence may be one of the two alone.
    let [acquire, release] = ["fence.acquire.cta", "fence.release.cta"];
    assert!(!races([release, relaxed], [relaxed, acquire]));
    assert!(races([acquire, relaxed], [relaxed, acquire]) && races([release, relaxed], [relaxed, release]));
    assert!(races(["", ".volatile"], [".volatile", ""]));
    assert!(races(["", ".release.cta"], [relaxed, ""]) && races(["", relaxed], [".acquire.cta", ""]));
}

#[test]
fn a_defined_operand_can_settle_what_an_undefined_one_leaves_open() {
    let text = per_thread(
        "  %p4 = setp.eq.u32 %r8, 0\n  %p5 = setp.lt.u32 %r1, 0\n  %p6 = and.pred %p4, %p5\n  %p7 = not.pred %p5\n  \
         %p10 = or.pred %p7, %p4\n  %p11, %p12 = setp.bool.eq.and.u32 %r8, 1, %p5\n  %p13 = or.pred %p6, %p11\n  \
         cbra %p13, bb2, bb1\nbb1:\n  %r9 = selp.b32 7, 8, %p10\n  bra bb3\nbb2:\n  %r9 = mov.b32 1\n  bra bb3\nbb3:",
    )
    .replace("bb3:\n\n", "bb3:\n");
    assert_eq!(words(&run(&text, 1, 2, &["zeroed:8"])), [7, 7]);
    let open = per_thread(
        "  %p4 = setp.eq.u32 %r8, 0\n  %p5 = setp.ge.u32 %r1, 0\n  %p6 = and.pred %p4, %p5\n  cbra %p6, bb1, bb1\nbb1:\n  %r9 = mov.b32 1",
    );
    assert!(matches!(run(&open, 1, 1, &["zeroed:4"]).outcome, Outcome::Undefined { .. }));
}

#[test]
fn bits_that_were_written_beside_undefined_ones_are_defined() {
    // %r8 is never written; its low byte stays open, the field above it holds the thread's index.
    let text = per_thread(
        "  %r4 = and.b32 %r8, 0xff\n  %r5 = shl.b32 %r1, 8\n  %r6 = or.b32 %r4, %r5\n  %d7 = cvt.u64.u32 %r6\n  %r9 = shr.u32 %r6, 8",
    );
    assert_eq!(words(&run(&text, 1, 3, &["zeroed:12"])), [0, 1, 2]);
    let open = per_thread("  %r4 = and.b32 %r8, 0xff\n  %r9 = or.b32 %r4, 0xff00");
    let result = run(&open, 1, 1, &["zeroed:4"]);
    let bytes = result.buffer(0).expect("the first argument is a buffer");
    let undefined: Vec<bool> = (0..4).map(|at| bytes.is_undefined(at)).collect();
    assert_eq!(undefined, [true, false, false, false]);
    let mixed = per_thread("  %r4 = and.b32 %r8, 0xff\n  %r9 = iadd.u32 %r4, 1");
    let result = run(&mixed, 1, 1, &["zeroed:4"]);
    assert!(result.buffer(0).is_some_and(|bytes| bytes.is_undefined(3)));
}

/// A kernel of one parameter that calls what the system provides.
fn with_system_functions(body: &str) -> Module {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 1 .b8 text[4] = {{110, 62, 48, 0}};\n\
         .extern .func (.param .b64 p) malloc (.param .b64 size);\n.extern .func free (.param .b64 p);\n\
         .extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
         .visible .entry k (.param .u64 out)\n{{\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\nld.param.u64 %rd1, [out];\n{body}\nret;\n}}\n"
    );
    oriole_ptx::read(&text).expect("it is PTX")
}

fn run_module(module: &Module) -> RunResult {
    let launch = launch(1, 1, &["zeroed:4"]);
    Executable::new(module).expect("it decodes").run(&launch, &RunOptions::default()).expect("the launch fits")
}

#[test]
fn kernels_allocate_and_free_memory() {
    let take = "call (%rd2), malloc, (8);\nmov.u32 %r1, 7;\nst.u32 [%rd2], %r1;\nld.u32 %r2, [%rd2];\n";
    let give = "call free, (%rd2);\nst.global.u32 [%rd1], %r2;\n";
    let result = run_module(&with_system_functions(&format!("{take}{give}")));
    assert_eq!(words(&result), [7]);
    assert_eq!(result.memory.len(), 2, "the heap is not observable");
    let twice = run_module(&with_system_functions(&format!("{take}{give}{give}")));
    assert!(matches!(twice.outcome, Outcome::Trapped { cause: Cause::BadCall(_), .. }));
    let late = run_module(&with_system_functions(&format!("{take}{give}st.u32 [%rd2], %r1;")));
    assert!(matches!(late.outcome, Outcome::Trapped { cause: Cause::OutOfBounds { .. }, .. }));
}

#[test]
fn a_failed_assertion_says_what_failed() {
    let body = "mov.u64 %rd2, text;\ncvta.global.u64 %rd3, %rd2;\ncall __assertfail, (%rd3, %rd3, 12, %rd3, 1);";
    let result = run_module(&with_system_functions(body));
    let Outcome::Trapped { cause: Cause::Assertion(what), .. } = result.outcome else { panic!("{}", result.outcome) };
    assert_eq!(what, "`n>0` in n>0, n>0:12");
}

/// A short with two bytes of padding: what is computed of the short alone is defined, on whatever way it goes.
#[test]
fn padding_reaches_nothing_but_padding() {
    let half = |body: &str, shown: &str| {
        let head = "  %r10 = shl.b32 %r4, 16\n  %r5 = lop3.b32 %r1, %r10, 0, 252\n";
        let text = per_thread(&format!("{head}{body}\n  %r9 = and.b32 {shown}, 65535"));
        let text = format!("global @s: b8[4] shared align 4\n{text}");
        run(&text, 1, 4, &["zeroed:16"])
    };
    let shuffle = "%r6, %p7 = shfl.sync.down.b32 %r5, 1, 3, 0xf";
    for (body, shown) in [
        (shuffle, "%r6"),
        ("%r6 = redux.sync.add.u32 %r5, 0xf", "%r6"),
        ("%r6 = redux.sync.or.b32 %r5, 0xf", "%r6"),
        (
            "st.global.b32 [%d3], 0\n  %r6 = atom.global.exch.b32 [%d3], %r5\n  %r7 = atom.global.add.u32 [%d3], 1",
            "%r7",
        ),
        ("st.global.b32 [%d3], 0\n  %r6 = atom.global.add.u32 [%d3], %r5\n  %r7 = ld.global.b32 [%d3]", "%r7"),
        ("st.global.b32 [%d3], 9\n  %r7 = atom.cas.global.b32 [%d3], %r5, 7", "%r7"),
        (
            "%r6 = iadd.u32 %r5, 77\n  %r7 = imul.lo.u32 %r6, 3\n  %r8 = isub.u32 %r7, %r5\n  %r11 = ineg.s32 %r8",
            "%r11",
        ),
        ("%d6 = imul.wide.u32 %r5, 5\n  %d7 = imad.wide.s32 %r5, 5, %d6\n  %d8 = iadd.u64 %d7, %d6", "%d8.0"),
        ("%r6, %p7 = iadd.carry.u32 %r5, 3, 0", "%r6"),
        ("%d6 = cvt.s64.s32 %r5\n  %d7 = imul.lo.u64 %d6, %d6", "%d7.0"),
        ("%p7 = setp.lt.u32 %r1, 2\n  %r6 = selp.b32 %r5, 3, %p7", "%r6"),
    ] {
        let result = half(&format!("  {body}"), shown);
        assert_eq!(result.outcome, Outcome::Finished, "{body}");
        let bytes = result.buffer(0).expect("the first argument is a buffer");
        assert!((0..16).all(|at| !bytes.is_undefined(at)), "{body}");
    }
    // The padding itself is not defined by any of this.
    let result = half(&format!("  {shuffle}\n  %r8 = shr.u32 %r6, 16"), "%r8");
    assert!(result.buffer(0).expect("the first argument is a buffer").is_undefined(0));
}
