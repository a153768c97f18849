//! Kernels in which something runs beside the threads: when it is done, what waits for it, and what is refused.

use crate::load::RunOptions;
use crate::outcome::Outcome;
use crate::tests::{launch, run_with, words};
use oriole_launch::Launch;

/// A kernel for few threads: `%d2` is the output, `%d3` the input, `%d4` 64 bytes of shared memory that hold 7 in each
/// word, `%d5` a barrier for one arrival, `%r1` the rank of the CTA and `%d7` its word of the output.
fn kernel(body: &str) -> String {
    let fill: String = (0..16).map(|word| format!("  st.shared.b32 [%d4+{}], 7\n", 4 * word)).collect();
    format!(
        "global @s: b8[64] shared align 16\nglobal @bar: b64 shared align 8\nentry @k {{\n  \
         param $out: u64 param align 8\n  param $in: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.cluster_ctarank\n  \
         %d2 = ld.param.u64 [$out]\n  %d3 = ld.param.u64 [$in]\n  %d4 = mov.b64 @s\n  %d5 = mov.b64 @bar\n  \
         %d7 = imad.wide.u32 %r1, 4, %d2\n  mbarrier.init.shared.b64 [%d5], 1\n{fill}{body}  ret\n}}\n"
    )
}

/// The words 10 to 17.
const INPUT: &str = "hex:0a0000000b0000000c0000000d0000000e0000000f0000001000000011000000";
const EXPECT: &str = "  %d8 = mbarrier.arrive.count.arrive.expect_tx.shared.b64 [%d5], 16\n";
const COPY: &str = "  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%d4], [%d3], 16, [%d5]\n";
const WAIT: &str =
    "  bra bb1\nbb1:\n  %p9 = mbarrier.wait.parity.try_wait.parity.shared.b64 [%d5], 0\n  cbra %p9, bb2, bb1\nbb2:\n";
const LOAD: &str = "  %r10 = ld.shared.b32 [%d4+4]\n  st.global.b32 [%d7], %r10\n";
const STORE: &str = "  cp.async.bulk.store.global.shared::cta.bulk_group [%d2], [%d4], 16\n";
const COMMIT: &str = "  cp.async.bulk.commit_group\n";
const OVERWRITE: &str = "  st.shared.b32 [%d4], 8\n";
const DONE: &str = "  cp.async.bulk.wait_group 0\n";
const READ: &str = "  cp.async.bulk.wait_group.read 0\n";

fn one() -> Launch {
    launch(1, 1, &["zeroed:32", INPUT])
}

fn cluster() -> Launch {
    Launch { cluster: Some([2, 1, 1]), ..launch(2, 1, &["zeroed:32", INPUT]) }
}

fn out(body: &[&str], launch: &Launch) -> Vec<u32> {
    words(&run_with(&kernel(&body.concat()), launch, &RunOptions::default()))
}

fn trap(body: &[&str]) -> String {
    match run_with(&kernel(&body.concat()), &one(), &RunOptions::default()).outcome {
        Outcome::Trapped { cause, .. } => cause.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The distinct first words of the output over many seeds.
fn over_seeds(body: &[&str]) -> Vec<u32> {
    let seeded = |seed| Launch { copies: Some(seed), ..one() };
    let mut found: Vec<u32> = (0..100).map(|seed| out(body, &seeded(seed))[0]).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn who_asks_the_barrier_has_the_bytes_and_who_does_not_has_the_old_ones() {
    assert_eq!(out(&[EXPECT, COPY, WAIT, LOAD], &one())[0], 11);
    assert_eq!(out(&[EXPECT, COPY, LOAD, WAIT], &one())[0], 7);
    // What only others keep open does not hurry a copy: the second phase is never over.
    let never = WAIT.replace("], 0", "], 1").replace("cbra %p9, bb2, bb1", "bra bb2");
    assert_eq!(out(&[COPY, &never, LOAD, EXPECT, &WAIT.replace("bb", "bb1")], &one())[0], 7);
}

#[test]
fn seeded_moments_lie_anywhere_before_the_wait() {
    let pause = "  %r11 = mov.b32 0\n".repeat(20);
    assert_eq!(over_seeds(&[EXPECT, COPY, &pause, LOAD, WAIT]), [7, 11]);
    assert_eq!(over_seeds(&[EXPECT, COPY, &pause, WAIT, LOAD]), [11]);
    assert_eq!(over_seeds(&[STORE, COMMIT, &pause, OVERWRITE, DONE]), [7, 8]);
    assert_eq!(over_seeds(&[STORE, COMMIT, DONE, OVERWRITE]), [7]);
}

#[test]
fn groups_are_waited_for_until_some_are_left() {
    let second = STORE.replace("[%d2]", "[%d2+16]");
    let seen_of = |commit: &str, wait: &str| {
        let look = "  %r10 = ld.global.b32 [%d2]\n  %r11 = ld.global.b32 [%d2+16]\n";
        let tell = "  st.global.v2.b32 [%d2], %r10, %r11\n";
        let out = out(&[STORE, COMMIT, &second, commit, wait, look, COMMIT, DONE, tell], &one());
        (out[0], out[1])
    };
    let seen = |wait: &str| seen_of(COMMIT, wait);
    assert_eq!(seen(&DONE.replace(" 0", " 2")), (0, 0));
    assert_eq!(seen(&DONE.replace(" 0", " 1")), (7, 0));
    assert_eq!(seen(DONE), (7, 7));
    assert_eq!(seen(READ), (0, 0));
    // A group that is not closed is not waited for.
    assert_eq!(seen_of("", DONE), (7, 0));
}

#[test]
fn what_has_been_read_may_be_written_over() {
    assert_eq!(out(&[STORE, COMMIT, OVERWRITE, DONE], &one())[0], 8);
    assert_eq!(out(&[STORE, COMMIT, READ, OVERWRITE, DONE], &one())[0], 7);
    // The rest is done when the grid ends.
    assert_eq!(out(&[STORE, COMMIT, READ, OVERWRITE], &one())[..5], [7, 7, 7, 7, 0]);
}

#[test]
fn a_cta_must_not_end_before_what_uses_its_memory() {
    let unfinished =
        "the CTA has ended before this asynchronous operation on its shared memory, which nothing waits for";
    assert_eq!(trap(&[STORE, COMMIT]), unfinished);
    assert_eq!(trap(&[STORE, DONE]), unfinished);
    assert_eq!(trap(&[EXPECT, COPY]), unfinished);
}

#[test]
fn sizes_and_places_that_there_are_none_of_trap() {
    let store = |from: &str, to: &str| trap(&[&STORE.replace(from, to)]);
    assert_eq!(store("16\n", "24\n"), "bad bulk copy: it is of 24 bytes, no multiple of 16");
    assert!(store("[%d2]", "[%d2+8]").starts_with("misaligned"), "{}", store("[%d2]", "[%d2+8]"));
    assert!(store("16\n", "48\n").contains("out of bounds"), "{}", store("16\n", "48\n"));
    assert!(store("16\n", "1024\n").contains("out of bounds"), "{}", store("16\n", "1024\n"));
    assert_eq!(store("[%d4], 16", "[%d4], 0xfffffff0"), store("16\n", "0xfffffff0\n"));
    let barrier = |body: &str| trap(&[body]);
    assert_eq!(barrier(&COPY.replace("[%d5]", "[%d5+4]")).split(' ').next(), Some("misaligned"));
    // A copy of nothing is done, and counts nothing.
    assert_eq!(out(&[&STORE.replace("16\n", "0\n"), COMMIT, DONE], &one())[0], 0);
    let mapped = "  %d12 = mapa.shared::cluster.u64 %d4, 1\n";
    let far = COPY.replace("shared::cta", "shared::cluster").replace("[%d4]", "[%d12]");
    assert!(trap(&[mapped, &far]).contains("CTA 1 of a cluster of 1"));
    let undefined = run_with(&kernel(&STORE.replace("16\n", "%r40\n")), &one(), &RunOptions::default());
    assert!(matches!(undefined.outcome, Outcome::Undefined { what: "the size of a copy", .. }));
}

/// The address of a variable is two words, where it is in an operation on one as well.
#[test]
fn variables_are_mapped_in_both_widths() {
    let wide = "  %d12 = mapa.shared::cluster.u64 @s, 0\n  st.shared::cluster.b32 [%d12+4], 5\n";
    assert_eq!(out(&[wide, LOAD], &one())[0], 5);
    assert_eq!(out(&[&wide.replace("%d12", "%r12").replace("u64", "u32"), LOAD], &one())[0], 5);
}

/// What each CTA of a cluster of two does: `%d12` is the other one's memory, `%d13` the other one's barrier.
fn exchange(send: &str) -> Vec<u32> {
    let other = "  %r14 = xor.b32 %r1, 1\n  %d12 = mapa.shared::cluster.u64 %d4, %r14\n  \
                 %d13 = mapa.shared::cluster.u64 %d5, %r14\n  %r15 = iadd.u32 %r1, 100\n";
    let meet = "  barrier.cluster.arrive\n  barrier.cluster.wait\n";
    out(&[other, meet, send, WAIT, LOAD, meet], &cluster())
}

#[test]
fn ctas_of_a_cluster_send_to_each_other() {
    let completion = "mbarrier::complete_tx::bytes";
    let own = "  st.shared.b32 [%d4+20], %r15\n";
    let copy = format!("  cp.async.bulk.shared::cluster.shared::cta.{completion} [%d12], [%d4+16], 16, [%d13]\n");
    assert_eq!(exchange(&[EXPECT, own, &copy].concat())[..2], [101, 100]);
    let wide = format!("  st.async.shared::cluster.{completion}.v4.b32 [%d12], 1, %r15, 3, 4, [%d13]\n");
    assert_eq!(exchange(&[EXPECT, &wide].concat())[..2], [101, 100]);
    let add = format!("  red.async.relaxed.cluster.shared::cluster.{completion}.add.u32 [%d12+4], %r15, [%d13]\n");
    let word = EXPECT.replace("16", "4");
    assert_eq!(exchange(&format!("{word}{add}"))[..2], [108, 107]);
    let reduce = format!(
        "{own}  cp.reduce.async.bulk.shared::cluster.shared::cta.{completion}.max.u32 [%d12], [%d4+16], 16, [%d13]\n"
    );
    assert_eq!(exchange(&[EXPECT, &reduce].concat())[..2], [101, 100]);
    // An arrival there, by which the memory of both is ordered.
    let arrive = "  mbarrier.arrive.remote.arrive.shared::cluster.b64 [%d13], 1\n";
    assert_eq!(exchange(&["  st.shared::cluster.b32 [%d12+4], %r15\n", arrive].concat())[..2], [101, 100]);
    let generic = "  %d16 = cvta.shared.u64 %d5\n";
    let other = "  %r14 = xor.b32 %r1, 1\n  %d12 = mapa.u64 %d16, %r14\n";
    let init = [generic, other, "  mbarrier.init.b64 [%d12], 1\n"].concat();
    let Outcome::Trapped { cause, .. } = run_with(&kernel(&init), &cluster(), &RunOptions::default()).outcome else {
        panic!("it is another one's");
    };
    assert!(cause.to_string().starts_with("bad barrier: the barrier of another CTA"), "{cause}");
}

#[test]
fn a_multicast_goes_to_each_cta_and_its_barrier() {
    let copy = "  %p16 = setp.eq.u32 %r1, 0\n  @%p16 cp.async.bulk.multicast.shared::cluster.global.\
                mbarrier::complete_tx::bytes.multicast::cluster [%d4], [%d3+16], 16, [%d5], 3\n";
    assert_eq!(exchange(&[EXPECT, copy].concat())[..2], [15, 15]);
    let first = copy.replace("], 3", "], 5");
    let options = RunOptions::default();
    let run = run_with(&kernel(&[EXPECT, &first].concat()), &cluster(), &options);
    let Outcome::Trapped { cause, .. } = run.outcome else { panic!("{:?}", run.outcome) };
    assert_eq!(cause.to_string(), "bad bulk copy: it goes to CTA 2 of a cluster of 2");
}

#[test]
fn reductions_to_global_memory_combine_element_by_element() {
    let reduce = |how: &str, init: &str| {
        let op = format!("  cp.reduce.async.bulk.store.global.shared::cta.bulk_group.{how} [%d2], [%d4], 16\n");
        out(&[init, &op, COMMIT, DONE], &one())
    };
    assert_eq!(reduce("add.u32", "  st.global.b32 [%d2+4], 5\n")[..5], [7, 12, 7, 7, 0]);
    assert_eq!(reduce("min.s32", "  st.global.b32 [%d2+4], 0xfffffff0\n")[..3], [0, 0xFFFF_FFF0, 0]);
    assert_eq!(reduce("inc.u32", "  st.global.b32 [%d2], 7\n")[..3], [0, 1, 1]);
    assert_eq!(reduce("xor.b64", "  st.global.b32 [%d2+4], 1\n")[..3], [7, 6, 7]);
    // 1.5 + 2 in the upper half, 0 + 7 * 2^-24 in the lower one.
    assert_eq!(
        reduce("add.noftz.f16", "  st.global.b32 [%d2], 0x3e004000\n  st.shared.b32 [%d4], 0x40000007\n")[0],
        0x4300_4000
    );
    // 7 is a subnormal number, and so is the sum.
    assert_eq!(reduce("add.f32", "  st.global.b32 [%d2], 5\n")[..2], [12, 7]);
}

#[test]
fn what_is_discarded_is_undefined_and_has_to_be_a_line_of_global_memory() {
    let kernel = |at: &str| {
        format!(
            "global @line: b8[256] global align 128\nentry @k {{\n  \
             param $out: u64 param align 8\n  param $in: u64 param align 8\nbb0:\n  %d2 = ld.param.u64 [$out]\n  \
             %d3 = mov.b64 @line\n  st.global.b32 [%d3], 7\n  discard.global.L2 [%d3{at}], 128\n  \
             %r4 = ld.global.b32 [%d3]\n  st.global.b32 [%d2], %r4\n  ret\n}}\n"
        )
    };
    let run = |at: &str| run_with(&kernel(at), &one(), &RunOptions::default());
    let good = run("");
    assert_eq!(good.outcome, Outcome::Finished);
    let line = good.memory.iter().find(|state| state.name == "line").expect("there is the variable");
    assert!((0..128).all(|at| line.bytes.is_undefined(at)) && !line.bytes.is_undefined(128));
    assert!(good.memory[0].bytes.is_undefined(0));
    assert!(matches!(run("+64").outcome, Outcome::Trapped { .. }), "no line begins there");
    assert!(matches!(run("+256").outcome, Outcome::Trapped { .. }), "it is beyond the variable");
}

#[test]
fn prefetches_are_of_whole_pieces() {
    let prefetch = |at: &str, bytes: u32| {
        let text = format!("  cp.async.bulk.prefetch [%d3{at}], {bytes}\n");
        run_with(&kernel(&text), &one(), &RunOptions::default()).outcome
    };
    assert_eq!(prefetch("+16", 32), Outcome::Finished);
    assert!(matches!(prefetch("+8", 32), Outcome::Trapped { .. }));
    assert!(matches!(prefetch("", 24), Outcome::Trapped { .. }));
}

#[test]
fn single_copies_are_late_as_well() {
    let copy = "  cp.async.ca.shared [%d4], [%d3], 16, 16\n  cp.async.commit_group\n";
    assert_eq!(out(&[copy, LOAD, "  cp.async.wait_all\n"], &one())[0], 7);
    assert_eq!(out(&[copy, "  cp.async.wait_group 0\n", LOAD], &one())[0], 11);
    assert_eq!(out(&[copy, "  cp.async.wait_group 1\n", LOAD], &one())[0], 7);
    // Nobody sees what comes later than the last look.
    assert_eq!(out(&[LOAD, copy], &one())[0], 7);
    let arrive = "  cp.async.mbarrier.arrive.noinc.shared.b64 [%d5]\n";
    assert_eq!(out(&[copy, arrive, LOAD, WAIT], &one())[0], 7);
    assert_eq!(out(&[copy, arrive, WAIT, LOAD], &one())[0], 11);
    let more = "  cp.async.mbarrier.arrive.shared.b64 [%d5]\n  %d8 = mbarrier.arrive.arrive.shared.b64 [%d5]\n";
    assert_eq!(out(&[copy, more, WAIT, LOAD], &one())[0], 11);
}

/// The first of two threads copies, and the second looks.
#[test]
fn a_thread_that_looks_without_waiting_races() {
    let text = |wait: &str| {
        format!(
            "global @s: b8[64] shared align 16\nglobal @bar: b64 shared align 8\nentry @k {{\n  \
             param $out: u64 param align 8\n  param $in: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  \
             %d3 = ld.param.u64 [$in]\n  %d4 = mov.b64 @s\n  %d5 = mov.b64 @bar\n  %d7 = ld.param.u64 [$out]\n  \
             %p20 = setp.eq.u32 %r1, 0\n  @%p20 mbarrier.init.shared.b64 [%d5], 1\n  bar.sync 0, 0\n  \
             cbra %p20, bb3, bb4\nbb3:\n{EXPECT}{COPY}{WAIT}  ret\nbb4:\n{wait}{LOAD}  ret\n}}\n"
        )
    };
    let options = RunOptions { races: true, ..RunOptions::default() };
    let races = |wait: &str| run_with(&text(wait), &launch(1, 2, &["zeroed:32", INPUT]), &options).races.len();
    assert_eq!(races(&WAIT.replace("bb", "bb2")), 0);
    assert!(races("") > 0);
}

/// The first of two threads copies, both meet at a barrier, and the second looks, or writes what is copied.
#[test]
fn a_barrier_does_not_end_a_copy() {
    let races = |[before, behind, second]: [&str; 3]| {
        let text = format!(
            "global @s: b8[64] shared align 16\nglobal @bar: b64 shared align 8\nentry @k {{\n  \
             param $out: u64 param align 8\n  param $in: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  \
             %d3 = ld.param.u64 [$in]\n  %d4 = mov.b64 @s\n  %d5 = mov.b64 @bar\n  %d7 = ld.param.u64 [$out]\n  \
             %p20 = setp.eq.u32 %r1, 0\n  @%p20 mbarrier.init.shared.b64 [%d5], 1\n  bar.sync 0, 0\n  \
             cbra %p20, bb3, bb4\nbb3:\n{before}  bra bb4\nbb4:\n  bar.sync 0, 0\n  cbra %p20, bb5, bb6\nbb5:\n\
             {behind}  bra bb7\nbb6:\n{second}  ret\nbb7:\n  ret\n}}\n"
        );
        let options = RunOptions { races: true, ..RunOptions::default() };
        run_with(&text, &launch(1, 2, &["zeroed:32", INPUT]), &options).races.len()
    };
    let begun = &format!("{EXPECT}{COPY}");
    let [wait, second_wait] = [5, 6].map(|block| WAIT.replace("bb", &format!("bb{block}")));
    // A barrier alone, and one behind which the first thread waits, or both.
    assert_eq!(races([begun, "", LOAD]), 1);
    assert_eq!(races([begun, &wait, LOAD]), 1);
    assert_eq!(races([begun, &wait, &format!("{second_wait}{LOAD}")]), 0);
    // The first thread waits before the barrier, with its own queue of copies, too.
    assert_eq!(races([&format!("{begun}{}", WAIT.replace("bb", "bb3")), "", LOAD]), 0);
    let single = "  cp.async.ca.shared [%d4], [%d3], 16, 16\n  cp.async.commit_group\n";
    let waited = &format!("{single}  cp.async.wait_group 0\n");
    assert_eq!(races([waited, "", LOAD]), 0);
    assert_eq!(races([single, "  cp.async.wait_group 0\n", LOAD]), 1);
    // What is copied may be overwritten once it has been read, and the copy once it is done.
    let out = &format!("{}{COMMIT}", STORE.replace("%d2", "%d7"));
    let store = "  st.shared.b32 [%d4], %r1\n";
    let store_out = "  st.global.b32 [%d7], %r1\n";
    let [read, done] = [READ, DONE].map(|wait| format!("{out}{wait}"));
    assert_eq!(races([out, "", store]), 1);
    assert_eq!(races([&read, "", store]), 0);
    assert_eq!(races([&read, "", store_out]), 1);
    assert_eq!(races([&done, "", store_out]), 0);
    // That the thread reads it too does not hide that the copy does.
    assert_eq!(races([&format!("{out}  %r10 = ld.shared.b32 [%d4]\n"), "", store]), 1);
    // A thread's own accesses are not ordered behind what it has begun, either.
    assert_eq!(races([&format!("{single}{LOAD}"), "", ""]), 1);
    assert_eq!(races([&format!("{waited}{LOAD}"), "", ""]), 0);
}

/// The first thread writes and begins a reduction, and the second one has a fence and reads what was written.
#[test]
fn a_reduction_releases_nothing() {
    let races = |fence: &str| {
        let reduce = "  cp.reduce.async.bulk.store.global.shared::cta.bulk_group.add.u32 [%d3], [%d4], 16\n";
        let text = format!(
            "global @s: b8[64] shared align 16\nentry @k {{\n  param $out: u64 param align 8\n  \
             param $in: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %d3 = ld.param.u64 [$in]\n  \
             %d4 = mov.b64 @s\n  %d7 = ld.param.u64 [$out]\n  %p20 = setp.eq.u32 %r1, 0\n  \
             st.shared.v4.b32 [%d4], 1, 1, 1, 1\n  bar.sync 0, 0\n  cbra %p20, bb1, bb2\nbb1:\n  \
             st.global.b32 [%d7], 1\n{fence}{reduce}{COMMIT}{DONE}  ret\nbb2:\n  fence.acq_rel.gpu\n  \
             %r10 = ld.global.b32 [%d7]\n  ret\n}}\n"
        );
        let options = RunOptions { races: true, ..RunOptions::default() };
        let seen = run_with(&text, &launch(1, 2, &["zeroed:32", INPUT]), &options).races;
        seen.iter().filter(|race| race.to_string().contains("global")).count()
    };
    assert_eq!(races("  fence.acq_rel.gpu\n"), 0);
    assert_eq!(races(""), 1);
}
