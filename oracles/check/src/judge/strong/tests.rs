use oriole_interp::Executable;
use oriole_ir::{Module, parse_module};
use oriole_launch::{Launch, command_line};

use crate::judge::{Judge, Mismatch, Verdict};

/// Kernels over a buffer of 64 bytes at `%d0` and 64 bytes of shared memory.
fn kernel(body: &str) -> Module {
    let text = format!(
        "target sm_90 ptx 9.0\nglobal @s: b8[64] shared align 16\n\nentry @k visible ssa {{\n  \
         param $out: u64 param align 8\nbb0:\n  %d0 = ld.param.b64 [$out]\n  %r9 = s2r.b32 sr.tid.x\n{body}  ret\n}}\n"
    );
    parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn launch(threads: u32) -> Launch {
    let launch = command_line::launch(None, "1", &threads.to_string(), &["zeroed:64".to_owned()]);
    launch.expect("the launch is well-formed")
}

fn verdict(original: &str, changed: &str, threads: u32) -> Verdict {
    let (before, after) = (kernel(original), kernel(changed));
    let [original, changed] = [&before, &after].map(|module| Executable::new(module).expect("it loads"));
    let judge = Judge::of(&original, &launch(threads), None).expect("the original finishes");
    judge.judge(&changed).verdict
}

/// What is wrong with the changed program, in one word; `kept` where it is as good as the original.
fn wrong(original: &str, changed: &str) -> &'static str {
    match verdict(original, changed, 1) {
        Verdict::Mismatch(Mismatch::Strong(fault)) => fault.wrong.name(),
        Verdict::Equal => "kept",
        other => panic!("{other}"),
    }
}

/// Lines of a kernel by letters; registers are numbered by the place of the line, so that lines can be exchanged.
fn lines(letters: &str) -> String {
    let line = |(at, letter): (usize, char)| {
        let r = at + 10;
        match letter {
            // Volatile loads of two words, and stores.
            'v' => format!("%r{r} = ld.volatile.global.b32 [%d0]"),
            'w' => format!("%r{r} = ld.volatile.global.b32 [%d0+4]"),
            'V' => "st.volatile.global.b32 [%d0], 0".to_owned(),
            'W' => "st.volatile.global.b32 [%d0+4], 0".to_owned(),
            'd' => format!("%d{r} = ld.volatile.global.b64 [%d0]"),
            // Weak ones.
            'x' => format!("%r{r} = ld.global.b32 [%d0]"),
            'y' => format!("%r{r} = ld.global.b32 [%d0+4]"),
            'X' => "st.global.b32 [%d0], 0".to_owned(),
            // Relaxed ones, of two words and of both together.
            'r' => format!("%r{r} = ld.relaxed.gpu.global.b32 [%d0]"),
            's' => format!("%r{r} = ld.relaxed.gpu.global.b32 [%d0+4]"),
            'R' => "st.relaxed.gpu.global.b32 [%d0], 0".to_owned(),
            'S' => "st.relaxed.gpu.global.b32 [%d0+4], 0".to_owned(),
            't' => format!("%r{r}, %r{} = ld.relaxed.gpu.global.v2.b32 [%d0]", r + 50),
            'T' => "st.relaxed.gpu.global.b64 [%d0], 0".to_owned(),
            'g' => format!("%r{r} = ld.relaxed.sys.global.b32 [%d0]"),
            'c' => format!("%r{r} = ld.relaxed.cta.global.b32 [%d0]"),
            'm' => format!("%r{r} = ld.mmio.relaxed.sys.global.b32 [%d0]"),
            // Acquire and release.
            'a' => format!("%r{r} = ld.acquire.gpu.global.b32 [%d0]"),
            'b' => "st.release.gpu.global.b32 [%d0+8], 0".to_owned(),
            // Atomic operations.
            'n' => format!("%r{r} = atom.global.or.b32 [%d0+8], 0"),
            'N' => "red.global.or.b32 [%d0+8], 0".to_owned(),
            'q' => format!("%r{r} = atom.acq_rel.gpu.global.or.b32 [%d0+8], 0"),
            // Fences.
            'F' => "fence.acq_rel.gpu".to_owned(),
            'G' => "fence.sc.sys".to_owned(),
            'H' => "fence.acq_rel.cta".to_owned(),
            'A' => "fence.acquire.gpu".to_owned(),
            'L' => "fence.release.gpu".to_owned(),
            'B' => "bar.sync 0, 0".to_owned(),
            // Shared memory, by scope.
            'i' => format!("%r{r} = atom.sys.shared.exch.b32 [@s], 0"),
            'j' => format!("%r{r} = atom.cluster.shared.exch.b32 [@s], 0"),
            'k' => format!("%r{r} = atom.cta.shared.exch.b32 [@s], 0"),
            // Asynchronous copies.
            'o' => "cp.async.commit_group".to_owned(),
            '0' => "cp.async.wait_group 0".to_owned(),
            '1' => "cp.async.wait_group 1".to_owned(),
            '2' => "cp.async.wait_all".to_owned(),
            'D' => "griddepcontrol.wait".to_owned(),
            'E' => "griddepcontrol.launch_dependents".to_owned(),
            _ => unreachable!("no line has this letter"),
        }
    };
    letters.chars().enumerate().map(line).map(|line| format!("  {line}\n")).collect()
}

#[track_caller]
fn expect(original: &str, changed: &str, expected: &str) {
    assert_eq!(wrong(&lines(original), &lines(changed)), expected, "{original} becomes {changed}");
}

#[test]
fn what_is_dropped_or_weaker_is_found() {
    for dropped in ["v", "V", "r", "R", "a", "b", "m", "n", "N", "F", "A", "G", "o", "0", "2", "D", "t"] {
        expect(dropped, "", "missing");
    }
    expect("v", "x", "missing");
    expect("vv", "v", "missing");
    expect("V", "X", "missing");
    expect("d", "vw", "missing");
    expect("vw", "d", "missing");
    for (original, weaker) in
        [("v", "r"), ("v", "g"), ("v", "m"), ("m", "v"), ("m", "g"), ("a", "r"), ("g", "r"), ("r", "c")]
    {
        expect(original, weaker, "weaker");
    }
    for (original, weaker) in [("F", "A"), ("F", "L"), ("F", "H"), ("G", "F"), ("q", "n"), ("0", "1"), ("2", "0")] {
        expect(original, weaker, "weaker");
    }
    expect("j", "k", "weaker");
}

#[test]
fn what_is_stronger_is_kept() {
    for (original, stronger) in
        [("x", "r"), ("r", "a"), ("c", "r"), ("r", "g"), ("r", "v"), ("r", "m"), ("x", "v"), ("X", "V")]
    {
        expect(original, stronger, "kept");
    }
    for (original, stronger) in
        [("A", "F"), ("L", "F"), ("H", "F"), ("F", "G"), ("", "F"), ("n", "q"), ("n", "N"), ("1", "0"), ("0", "2")]
    {
        expect(original, stronger, "kept");
    }
    expect("i", "j", "kept");
    expect("E", "", "kept");
    expect("xFr", "rFr", "kept");
    expect("ts", "rss", "kept");
}

#[test]
fn what_is_performed_too_often_is_found() {
    expect("v", "vv", "added");
    expect("dx", "dv", "added");
    expect("n", "nn", "added");
    expect("X", "XN", "added");
    expect("w", "vw", "kept");
}

#[test]
fn the_order_that_the_model_fixes_is_kept() {
    for (original, moved) in [
        ("vw", "wv"),
        ("VW", "WV"),
        ("vW", "Wv"),
        ("RF", "FR"),
        ("Fr", "rF"),
        ("Gr", "rG"),
        ("as", "sa"),
        ("Rb", "bR"),
        ("rR", "Rr"),
        ("tR", "Rt"),
        ("rA", "Ar"),
        ("As", "sA"),
        ("RL", "LR"),
        ("LR", "RL"),
        ("rB", "Br"),
        ("BR", "RB"),
        ("Ds", "sD"),
        ("o0", "0o"),
        ("0F", "F0"),
        ("qs", "sq"),
        ("sq", "qs"),
        ("0B", "B0"),
    ] {
        expect(original, moved, "moved");
    }
}

#[test]
fn the_order_that_the_model_leaves_open_may_change() {
    for (original, moved) in [
        ("rs", "sr"),
        ("RS", "SR"),
        ("rS", "Sr"),
        ("sa", "as"),
        ("bR", "Rb"),
        ("vs", "sv"),
        ("nr", "rn"),
        ("RA", "AR"),
        ("Lr", "rL"),
        ("rs0", "0rs"),
        ("ba", "ab"),
        ("to", "ot"),
        ("xv", "vx"),
        ("rTs", "sTr"),
    ] {
        // The wide store overlaps both words; exchanging the loads before and behind it is no change of the listed
        // kind.
        let expected = if original.contains('T') { "moved" } else { "kept" };
        expect(original, moved, expected);
    }
}

/// Barriers count where there are as many.
#[test]
fn a_barrier_may_go_and_what_stands_beside_it_may_not_change_sides() {
    expect("rBB", "rB", "kept");
    expect("rBBs", "rsB", "kept");
    expect("rBs", "rsB", "moved");
}

#[test]
fn the_message_says_thread_access_and_place() {
    let text = |original: &str, changed: &str| verdict(&lines(original), &lines(changed), 2).to_string();
    assert_eq!(
        text("rw", "r"),
        "thread (0,0,0) of CTA (0,0,0) does not perform the volatile load of 4 bytes at byte 4 of `arg 0`, or only as \
         a weak access: `%r11 = ld.volatile.global.b32 [%d0+4]` in `k`"
    );
    assert!(
        text("g", "r").contains("the load.relaxed.sys of 4 bytes at byte 0 of `arg 0` only as load.relaxed.gpu: `")
    );
    assert!(
        text("Fs", "sF").contains("performs the load.relaxed.gpu of 4 bytes at byte 4 of `arg 0` before the fence")
    );
    assert!(text("v", "vv").contains("`arg 0`, which the original does not: `%r11 = ld.volatile"));
}

/// Each thread has its own sequence: what one drops, another does not make up for.
#[test]
fn threads_are_told_apart() {
    let body = |guard: &str| {
        format!(
            "  %p1 = setp.eq.u32 %r9, 1\n  cbra {guard}%p1, bb1, bb2\nbb1:\n  \
             st.volatile.global.b32 [%d0], 0\n  bra bb2\nbb2:\n"
        )
    };
    let other = body("").replace("setp.eq", "setp.ne");
    let Verdict::Mismatch(Mismatch::Strong(fault)) = verdict(&body(""), &other, 2) else { panic!("it is found") };
    assert_eq!((fault.wrong.name(), fault.thread.tid[0]), ("missing", 1));
}

/// A thread spins until another warp sets a flag; how often depends on the order in which warps run.
#[test]
fn how_often_a_loop_spins_is_nobodys_promise() {
    let body = |work: &str| {
        format!(
            "  %p1 = setp.lt.u32 %r9, 32\n  cbra %p1, bb1, bb2\nbb1:\n  %r2 = ld.volatile.global.b32 [%d0]\n  \
             %p3 = setp.eq.u32 %r2, 0\n  cbra %p3, bb1, bb4\nbb2:\n  bra bb3\nbb3:\n  \
             %r4 = phi [bb2: 0], [bb3: %r5]\n  %r5 = iadd.u32 %r4, 1\n{work}  %p6 = setp.lt.u32 %r5, 4000\n  \
             cbra %p6, bb3, bb5\nbb5:\n  st.volatile.global.b32 [%d0], 1\n  bra bb4\nbb4:\n"
        )
    };
    assert_eq!(verdict(&body(""), &body("  %r7 = iadd.u32 %r5, 1\n"), 64), Verdict::Equal);
    let lost = body("").replace("st.volatile", "st");
    assert!(matches!(verdict(&body(""), &lost, 64), Verdict::Mismatch(Mismatch::Strong(_))));
}

/// Who comes last is left to chance by a race; that thread alone performs the access.
#[test]
fn nothing_follows_where_threads_of_the_original_race() {
    let body = |first: &str| {
        format!(
            "  %d1 = mov.b64 @s\n  %p2 = setp.{first}.u32 %r9, 32\n  cbra %p2, bb1, bb2\nbb1:\n  \
             %r3 = phi [bb0: 0], [bb1: %r4]\n  %r4 = iadd.u32 %r3, 1\n  %p5 = setp.lt.u32 %r4, 5000\n  \
             cbra %p5, bb1, bb2\nbb2:\n  st.shared.b32 [%d1], %r9\n  bar.sync 0, 0\n  \
             %r6 = ld.shared.b32 [%d1]\n  %p7 = setp.eq.u32 %r6, %r9\n  cbra %p7, bb3, bb4\nbb3:\n  \
             st.volatile.global.b32 [%d0], 0\n  bra bb4\nbb4:\n"
        )
    };
    assert_eq!(verdict(&body("lt"), &body("lt"), 64), Verdict::Equal);
    assert_eq!(verdict(&body("lt"), &body("ge"), 64), Verdict::Equal);
}

/// What is wrong with a changed program that has other shared memory, for so many threads.
fn wrong_elsewhere(changed_globals: &str, changed: &str) -> &'static str {
    let kernel = |globals: &str, body: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\n{globals}\nentry @k visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
             %r9 = s2r.b32 sr.tid.x\n  %d0 = ld.param.b64 [$out]\n{body}\n  ret\n}}\n"
        );
        parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let before = kernel(
        "global @sum: b32 shared align 4\nglobal @flags: b32[2] shared align 4\n",
        "  st.volatile.shared.b32 [@sum], 0\n  red.shared.add.u32 [@flags], 1\n  red.shared.or.b32 [@flags+4], 2",
    );
    let after = kernel(changed_globals, changed);
    let [original, changed] = [&before, &after].map(|module| Executable::new(module).expect("it loads"));
    let judge = Judge::of(&original, &launch(2), None).expect("the original finishes");
    match judge.judge(&changed).verdict {
        Verdict::Mismatch(Mismatch::Strong(fault)) => fault.wrong.name(),
        Verdict::Equal => "kept",
        other => panic!("{other}"),
    }
}

#[test]
fn shared_memory_may_have_other_names_and_places() {
    let other = "global @$s0: b8[64] shared align 4\n";
    let body = |sum: &str, first: &str, second: &str| {
        format!(
            "  st.volatile.shared.b32 [@$s0+{sum}], 0\n  red.shared.add.u32 [@$s0+{first}], 1\n  \
             red.shared.or.b32 [@$s0+{second}], 2"
        )
    };
    assert_eq!(wrong_elsewhere(other, &body("40", "8", "4")), "kept");
    // Names that other variables have now.
    let exchanged = "global @flags: b32 shared align 4\nglobal @sum: b32[2] shared align 4\n";
    let same = body("0", "0", "4").replace("@$s0+0], 0", "@flags], 0").replace("@$s0", "@sum");
    assert_eq!(wrong_elsewhere(exchanged, &same), "kept");
    // Two places have become one, and an operation is missing.
    assert_eq!(wrong_elsewhere(other, &body("40", "8", "8")), "missing");
    assert_eq!(wrong_elsewhere(other, "  red.shared.add.u32 [@$s0], 1\n  red.shared.or.b32 [@$s0+4], 2"), "missing");
}
