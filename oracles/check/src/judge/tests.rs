use oriole_ir::parse_module;

use super::*;
use oriole_launch::{Arg, ArgValue, Buffer, command_line};

/// What the judge makes of two programs on a launch.
fn judged(before: &Module, after: &Module, launch: &Launch) -> Judged {
    let [original, changed] = [before, after].map(|module| Executable::new(module).expect("it loads"));
    let judge = Judge::of(&original, launch, None).expect("the original finishes");
    judge.judge(&changed)
}

/// Each thread stores a word and loads its neighbour's; the one warp runs in step, so that memory is the same without
/// the barrier.
fn exchange(barrier: &str) -> Module {
    let text = format!(
        "target sm_90 ptx 9.0\nglobal @s: b8[256] shared align 4\n\nentry @k visible ssa {{\nbb0:\n  \
         %r0 = s2r.b32 sr.tid.x\n  %d1 = mov.b64 @s\n  %d2 = imad.wide.u32 %r0, 4, %d1\n  \
         st.shared.b32 [%d2], %r0\n{barrier}  %r3 = xor.b32 %r0, 1\n  %d4 = imad.wide.u32 %r3, 4, %d1\n  \
         %r5 = ld.shared.b32 [%d4]\n  st.shared.b32 [%d2+128], %r5\n  ret\n}}\n"
    );
    parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_race_that_changes_no_byte_is_found_unless_it_was_there_before() {
    let (with, without) = (exchange("  bar.sync 0, 0\n"), exchange(""));
    let mut launch = Launch::new(None);
    launch.block = [32, 1, 1];
    let verdict = |before: &Module, after: &Module| judged(before, after, &launch).verdict;
    assert!(matches!(verdict(&with, &without), Verdict::Mismatch(Mismatch::Race(_))));
    assert_eq!(verdict(&with, &with), Verdict::Equal);
    assert_eq!(verdict(&without, &without), Verdict::Equal);
    // Behind the accesses, the barrier orders none of them.
    let late = without.to_string().replace("  ret", "  bar.sync 0, 0\n  ret");
    let late = parse_module(&late).unwrap_or_else(|error| panic!("{error}\n{late}"));
    let [original, changed] = [&late, &without].map(|module| Executable::new(module).expect("it loads"));
    let mut judge = Judge::of(&original, &launch, None).expect("the original finishes");
    let judged = judge.judge(&changed);
    assert_eq!((&judged.verdict, judged.order.is_some()), (&Verdict::Equal, true), "it raced before");
    judge.adopt(judged);
    assert_eq!(judge.judge(&changed).verdict, Verdict::Equal);
}

/// A phase may change the order without any race, and the next one is held against what it left.
#[test]
fn a_race_is_found_behind_a_good_change_of_the_order() {
    const BARRIER: &str = "  bar.sync 0, 0\n";
    let two = format!("{BARRIER}{BARRIER}");
    let programs = [&two, BARRIER, ""].map(exchange);
    let [before, good, bad] = programs.each_ref().map(|module| Executable::new(module).expect("it loads"));
    let mut launch = Launch::new(None);
    launch.block = [32, 1, 1];
    let mut judge = Judge::of(&before, &launch, None).expect("the original finishes");
    let dropped = judge.judge(&good);
    assert_eq!((&dropped.verdict, dropped.order.is_some()), (&Verdict::Equal, true), "it is looked at");
    judge.adopt(dropped);
    let again = judge.judge(&good);
    assert_eq!((&again.verdict, again.order.is_some()), (&Verdict::Equal, false), "its races are known");
    judge.adopt(again);
    assert!(matches!(judge.judge(&bad).verdict, Verdict::Mismatch(Mismatch::Race(_))));
}

/// The next phase must keep what the original defines, although the interpreter lost sight of it here.
#[test]
fn what_tracking_gave_up_on_is_still_to_be_kept() {
    let kernel = |value: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.b64 [$out]\n  %r1 = imul.lo.u32 undef, 2\n  %r2 = and.b32 {value}, 1\n  \
             st.global.b32 [%d0], %r2\n  ret\n}}\n"
        );
        parse_module(&text).expect("the kernel reads")
    };
    let [before, after] = [kernel("4"), kernel("%r1")];
    let launch = command_line::launch(None, "1", "1", &["zeroed:4".to_owned()]).expect("it is well-formed");
    let ran = judged(&before, &after, &launch);
    assert_eq!(ran.verdict, Verdict::Refined);
    assert!(ran.result.buffer(0).is_some_and(|bytes| !bytes.is_undefined(0)));
}

/// The first warp, which goes round a loop, and the second one exchange a word; who comes last is nobody's promise,
/// although atomic operations are in no race.
#[test]
fn a_difference_is_inconclusive_where_the_order_of_atomics_decides() {
    let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
         %d0 = ld.param.b64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  %p2 = setp.lt.u32 %r1, 32\n  cbra %p2, bb1, bb2\n\
         bb1:\n  %r3 = phi [bb0: 0], [bb1: %r4]\n  %r4 = iadd.u32 %r3, 1\n  %p5 = setp.lt.u32 %r4, 40\n  \
         cbra %p5, bb1, bb2\nbb2:\n  %r6 = shr.u32 %r1, 5\n  %r7 = atom.global.exch.b32 [%d0], %r6\n  ret\n}\n";
    let before = parse_module(text).expect("the kernel reads");
    let after = text.replace("atom.global.exch.b32 [%d0], %r6", "atom.global.exch.b32 [%d0], %r1");
    let after = parse_module(&after).expect("the kernel reads");
    let mut launch = Launch::new(None);
    launch.block = [64, 1, 1];
    let bytes = ArgValue::Buffer(Buffer { bytes: vec![0; 4], ..Buffer::default() });
    launch.args.push(Arg { name: None, value: bytes });
    assert_eq!(judged(&before, &before, &launch).verdict, Verdict::Equal);
    assert_eq!(judged(&before, &after, &launch).verdict, Verdict::OriginalRaces);
}

/// A thread looks at what it copies before the copy is done for certain, or behind that.
#[test]
fn a_difference_is_inconclusive_where_the_moment_of_a_copy_decides() {
    let kernel = |body: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\nglobal @s: b32 shared align 4\n\nentry @k visible ssa {{\n  \
             param $out: u64 param align 8\nbb0:\n  %d0 = ld.param.b64 [$out]\n  %d1 = mov.b64 @s\n  \
             st.shared.b32 [%d1], 5\n  cp.async.ca.shared [%d1], [%d0+4], 4, 4\n{body}  \
             st.global.b32 [%d0], %r2\n  ret\n}}\n"
        );
        parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let (look, wait) = ("  %r2 = ld.shared.b32 [%d1]\n", "  cp.async.wait_all\n");
    let (early, late) = (kernel(&[look, wait].concat()), kernel(&[wait, look].concat()));
    let launch = command_line::launch(None, "1", "1", &["zeroed:8".to_owned()]).expect("it is well-formed");
    assert_eq!(judged(&early, &early, &launch).verdict, Verdict::Equal);
    assert_eq!(judged(&early, &late, &launch).verdict, Verdict::OriginalRaces);
    assert!(judged(&late, &early, &launch).verdict.is_finding());
}

/// Products of zeros over a cluster, where one buffer of the pipeline overlaps the next: where copies are done early,
/// they are done before threads read.
#[test]
fn a_difference_is_inconclusive_where_the_original_races_at_other_moments_of_copies() {
    let source = include_str!("../../../../corpus/kernels/cluster_product.ptx");
    let kernel = |overlapping: &str| {
        let tree = oriole_ptx::parse(overlapping).expect("the kernel reads");
        oriole_ptx::lower(&tree, overlapping).expect("the kernel lowers")
    };
    let overlapping = source.replace("%r23, 1536;", "%r23, 64;");
    let (before, after) = (kernel(&overlapping), kernel(&overlapping.replace("[%rd17], %r229", "[%rd17], 7")));
    let args = ["zeroed:10240", "zeroed:10240", "zeroed:16384", "zeroed:16", "u32:5"].map(str::to_owned);
    let mut launch = command_line::launch(Some("cluster_product"), "2,2", "64", &args).expect("it is well-formed");
    let executable = Executable::new(&before).expect("it decodes");
    let races = |launch: &Launch| {
        let options = RunOptions { races: true, ..RunOptions::default() };
        !executable.run(launch, &options).expect("the launch fits").races.is_empty()
    };
    assert!(races(&launch));
    launch.copies = (0..100).find(|seed| !races(&Launch { copies: Some(*seed), ..launch.clone() }));
    assert!(launch.copies.is_some());
    assert_eq!(judged(&before, &before, &launch).verdict, Verdict::Equal);
    assert_eq!(judged(&before, &after, &launch).verdict, Verdict::OriginalRaces);
}

/// What a kernel makes of its one word, against one that stores this.
fn value(expected: u32, body: &str) -> Verdict {
    let kernel = |body: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $p0: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.b64 [$p0]\n{body}  st.b32 [%d0], %r9\n  ret\n}}\n"
        );
        parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let launch = command_line::launch(None, "1", "1", &["zeroed:4".to_owned()]).expect("the launch is well-formed");
    let original = kernel(&format!("  %r9 = mov.b32 {expected}\n"));
    judged(&original, &kernel(body), &launch).verdict
}

/// The interpreter calls a product undefined as a whole; its low bit is zero all the same.
#[test]
fn what_depends_on_nothing_undefined_is_no_mismatch() {
    assert_eq!(value(0, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 1\n"), Verdict::Refined);
    assert_eq!(value(7, "  %r9 = selp.b32 7, 7, undef\n"), Verdict::Refined);
    let branch = "  %r1 = imul.lo.u32 undef, 2\n  %r2 = and.b32 %r1, 1\n  %p3 = setp.eq.u32 %r2, 0\n  \
                  %r9 = mov.b32 7\n  cbra %p3, bb1, bb1\nbb1:\n";
    assert_eq!(value(7, branch), Verdict::Refined);
}

#[test]
fn what_depends_on_something_undefined_is_a_mismatch() {
    assert!(value(0, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 2\n").is_finding());
    assert!(value(7, "  %r9 = selp.b32 7, 8, undef\n").is_finding());
    assert!(value(8, "  %r9 = selp.b32 7, 8, undef\n").is_finding());
    assert!(value(0, "  %r1 = mov.b32 undef\n  %r9 = isub.u32 %r1, undef\n").is_finding());
    assert!(value(1, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 1\n").is_finding());
    let branch = "  %p1 = setp.lt.u32 undef, 9\n  cbra %p1, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  \
                  %r9 = phi [bb0: 1], [bb1: 2]\n";
    assert!(value(1, branch).is_finding());
}

#[test]
fn an_original_that_does_not_finish_is_inconclusive() {
    let kernel = |body: &str| {
        parse_module(&format!("target sm_90 ptx 9.0\n\nentry @k visible ssa {{\nbb0:\n{body}}}\n")).expect("it reads")
    };
    let launch = command_line::launch(None, "1", "1", &[]).expect("the launch is well-formed");
    let verdict = |body: &str| {
        let module = kernel(body);
        let original = Executable::new(&module).expect("it loads");
        match Judge::of(&original, &launch, Some(50)) {
            Err(Inconclusive::Run(verdict)) => Some(verdict),
            _ => None,
        }
    };
    assert_eq!(verdict("  ret\n"), None);
    assert_eq!(verdict("  trap\n  ret\n"), Some(Box::new(Verdict::OriginalTraps)));
    assert_eq!(verdict("  bra bb1\nbb1:\n  bra bb1\n"), Some(Box::new(Verdict::OutOfSteps)));
    let undefined = "  %p1 = setp.lt.u32 undef, 9\n  cbra %p1, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  ret\n";
    assert_eq!(verdict(undefined), Some(Box::new(Verdict::OriginalUndefined)));
}
