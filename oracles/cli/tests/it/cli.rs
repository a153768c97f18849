//! The command line: exit codes, and what the commands print.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const KERNEL: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = iadd.u32 3, 4
  st.global.u32 [%d0], %r1
  ret
}
";

const LAUNCH: &str = "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\nexpect_hex = \"07000000\"\n";

/// A folder with the kernel and the launch.
fn folder(kernel: &str, launch: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.ori"), kernel).expect("the kernel is written");
    std::fs::write(folder.path().join("k.launch.toml"), launch).expect("the launch is written");
    folder
}

fn oriole(args: &[&str], folder: &Path) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_oriole")).args(args).current_dir(folder).output();
    command.expect("the command starts")
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels")
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, stdout: &str, stderr: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    assert!(out.contains(stdout), "no `{stdout}` in\n{out}");
    assert!(err.contains(stderr), "no `{stderr}` in\n{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn run_says_whether_buffers_match() {
    let good = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&["run", "k.ori"], good.path()), 0, "ok, 1 buffer as expected", "");
    let other = folder(KERNEL, &LAUNCH.replace("07", "08"));
    assert_ends(&oriole(&["run", "k.ori"], other.path()), 1, "expected 8 (0x00000008), got 7 (0x00000007)", "");
    let out_of_steps = oriole(&["run", "k.ori", "--steps", "2"], good.path());
    assert_ends(&out_of_steps, 1, "out of steps after 2 warp instructions", "");
    let pieces = ["run", "k.ori", "--grid", "1", "--block", "2", "--arg", "zeroed:8", "--stats"];
    assert_ends(&oriole(&pieces, good.path()), 0, "b32: 0x7 0x0", "");
    assert_ends(&oriole(&["run", "k.ori", "--trace", "0"], good.path()), 0, "`%r1 = iadd.u32 3, 4`", "");
}

#[test]
fn bad_input_ends_with_two_and_says_where() {
    let good = folder(KERNEL, LAUNCH);
    let small = oriole(&["run", "k.ori", "--grid", "1", "--block", "1", "--arg", "zeroed:2"], good.path());
    assert_ends(&small, 1, "out of bounds", "");
    assert_ends(&oriole(&["run", "none.ori"], good.path()), 2, "", "cannot read `none.ori`");
    assert_ends(&oriole(&["run", "k.launch.toml"], good.path()), 2, "", "is no kernel file");
    assert_ends(&oriole(&["check", "k.ori", "--phase", "GeneralOptimise"], good.path()), 2, "", "did you mean");
    assert_ends(&oriole(&["check", "k.ori", "--knob", "NoSuchKnob=1"], good.path()), 2, "", "no knob");
    let empty = tempfile::tempdir().expect("a temporary folder");
    assert_ends(&oriole(&["check", "."], empty.path()), 2, "", "there is no kernel");
    let misspelt = folder(&KERNEL.replace("iadd", "iaddd"), LAUNCH);
    assert_ends(&oriole(&["check", "k.ori"], misspelt.path()), 2, "", "k.ori:7:");
    let launch = folder(KERNEL, &LAUNCH.replace("block", "blok"));
    assert_ends(&oriole(&["run", "k.ori"], launch.path()), 2, "", "k.launch.toml:2:");
    let alone = folder(KERNEL, LAUNCH);
    std::fs::remove_file(alone.path().join("k.launch.toml")).expect("it was there");
    assert_ends(&oriole(&["check", "k.ori"], alone.path()), 2, "", "has no launch file");
    let invalid = folder(&KERNEL.replace("st.global.u32 [%d0], %r1", "st.global.u32 [%d0], %r9"), LAUNCH);
    assert_ends(&oriole(&["opt", "k.ori"], invalid.path()), 2, "", "is not a valid module");
}

/// Programs search messages for words and paths: no length of a path breaks a line between them.
#[test]
fn messages_to_programs_are_not_wrapped() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let name = format!("{}/kernel.ori", "a long name/".repeat(12));
    let missing = oriole(&["run", &name], here.path());
    assert_ends(&missing, 2, "", &format!("cannot read `{name}`"));
}

#[test]
fn check_reports_phases_as_text_and_json() {
    let good = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&["check", "k.ori"], good.path()), 0, "1 of 1 kernel clean, 3 cases, 0 findings", "");
    let output = oriole(&["check", "k.ori", "--format", "json"], good.path());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(json["clean"], true);
    assert_eq!(json["kernels"][0]["cases"].as_array().map(Vec::len), Some(3));
    let changed = |phase: &serde_json::Value| phase["name"] == "GeneralOptimizeEarly" && phase["changed"] == 1;
    assert!(json["phases"].as_array().is_some_and(|phases| phases.iter().any(changed)), "{json:#}");
    let other = folder(KERNEL, &LAUNCH.replace("07", "08"));
    assert_ends(&oriole(&["check", "k.ori"], other.path()), 1, "unexpected", "");
}

/// PTX is read into virtual form, so that SSA construction is a step that is judged, bisected and reduced like any
/// other.
#[test]
fn faults_in_ssa_construction_are_found_in_ptx() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let fault = ["--fault", "swapped-branch@ssa-construction"];
    for kernel in ["saxpy", "sha256", "transpose", "quicksort"] {
        let file = corpus().join(format!("{kernel}.ptx"));
        let check = ["check", file.to_str().expect("a path of plain letters"), "--randoms", "0"];
        let found = oriole(&[&check[..], &fault].concat(), here.path());
        assert_ends(&found, 1, "mismatch in SSA construction", "");
    }
    let file = corpus().join("saxpy.ptx");
    let file = file.to_str().expect("a path of plain letters");
    let bisected = oriole(&[&["bisect", file][..], &fault].concat(), here.path());
    assert_ends(&bisected, 1, "mismatch in SSA construction", "");
    let reduced = oriole(&[&["reduce", file, "-o", "small.ori"][..], &fault].concat(), here.path());
    assert_ends(&reduced, 0, "mismatch in SSA construction", "");
    assert_ends(&reduced, 0, "small.ptx shows the same", "");
    let text = std::fs::read_to_string(here.path().join("small.ori")).expect("it is written");
    // In text form, virtual form is what no other word says.
    assert!(!text.contains(" ssa {") && text.contains("cbra"), "{text}");
}

/// A fault that was never planted is no fault that was not found.
#[test]
fn a_fault_without_a_place_is_an_error() {
    let good = folder(KERNEL, LAUNCH);
    let never = |args: &[&str], fault: &str| {
        let output = oriole(&[args, &["--fault", fault]].concat(), good.path());
        assert_ends(&output, 2, "", &format!("never planted: {fault}"));
    };
    // The kernel is in SSA form already, has no branch, and is no PTX that makes the round trip.
    for fault in
        ["off-by-one@ssa-construction:1", "swapped-branch@GeneralOptimizeEarly:7", "drop-store@ptx-round-trip:1"]
    {
        never(&["check", "k.ori"], fault);
        never(&["bisect", "k.ori"], fault);
        never(&["reduce", "k.ori"], fault);
        never(&["opt", "k.ori"], fault);
    }
    never(&["check", "k.ori", "--phase", "GeneralOptimizeMid"], "off-by-one@GeneralOptimizeEarly:1");
    let instructions = ["--target", "instructions", "--corpus", "none", "--jobs", "1"];
    never(&[&["fuzz", "--cases", "4"][..], &instructions].concat(), "dropped-barrier@GeneralOptimizeEarly:1");
    never(&[&["fuzz", "--case", "1"][..], &instructions].concat(), "dropped-barrier@GeneralOptimizeEarly:1");
    let selftest = [
        "selftest",
        "--kind",
        "dropped-barrier",
        "--phase",
        "ptx-round-trip",
        "--cases",
        "1",
        "--jobs",
        "1",
        "--seed",
        "2",
    ];
    assert_ends(&oriole(&selftest, good.path()), 2, "", "never planted: dropped-barrier");
    // Where changes are limited, the limit keeps the fault out: that is how a bisection shows what is right.
    let fault = ["check", "k.ori", "--fault", "drop-store@GeneralOptimizeEarly:1"];
    assert_ends(&oriole(&fault, good.path()), 1, "mismatch in GeneralOptimizeEarly", "");
    assert_ends(&oriole(&[&fault[..], &["--rewrite-limit", "0"]].concat(), good.path()), 0, "0 findings", "");
    // One kernel of several is enough.
    let branch = corpus().join("saxpy.ptx");
    let both = ["check", "k.ori", branch.to_str().expect("a path of plain letters"), "--randoms", "0"];
    let found = oriole(&[&both[..], &["--fault", "swapped-branch@ssa-construction"]].concat(), good.path());
    assert_ends(&found, 1, "mismatch in SSA construction", "");
}

#[test]
fn fuzz_checks_generated_kernels_and_replays_one() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let output = oriole(&["fuzz", "--cases", "20", "--jobs", "1"], here.path());
    assert_ends(&output, 0, "20 cases", "");
    assert_ends(&output, 0, "100.00 % valid", "");
    assert_ends(&oriole(&["fuzz", "--case", "7", "--out", "found"], here.path()), 0, "seed1-case7.ori", "");
    assert_ends(&oriole(&["check", "found/seed1-case7.ori"], here.path()), 0, "0 findings", "");
    std::fs::write(here.path().join("c.toml"), "tripes = 2").expect("the folder is writable");
    assert_ends(&oriole(&["fuzz", "--config", "c.toml"], here.path()), 2, "", "unknown field `tripes`");
    assert_ends(&oriole(&["fuzz", "--shard", "4/4"], here.path()), 2, "", "a shard from 0");
}

/// What cannot be checked is said to be so, with what to do; a copy's refutation replays, though copies are forwarded.
/// What a file is called may not reach a terminal: not in a message, its causes, or above an excerpt.
#[test]
fn names_of_files_are_escaped_in_errors() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let name = "k\u{1b}[31m\u{202e}.ptx";
    let missing = oriole(&["check", name], here.path());
    std::fs::write(here.path().join(name), ".version 9.0\n.target sm_90\n.bogus\n").expect("the folder is writable");
    let rules = "r\u{1b}[31m\u{202e}.rules";
    std::fs::write(here.path().join(rules), "rule a: iad.u32(x, 0) => x\n").expect("the folder is writable");
    let refused = oriole(&["rules", "check", rules], here.path());
    let unknown = oriole(&["check", "--k\u{1b}[31m\u{202e}.ptx"], here.path());
    let text = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        !text.contains(['\u{1b}', '\u{202e}']) && text.contains("unexpected argument '--k\\u{202e}.ptx'"),
        "{text}"
    );
    for output in [missing, oriole(&["check", name], here.path()), oriole(&["opt", name], here.path()), refused] {
        assert_ends(&output, 2, "", "\\u{1b}[31m\\u{202e}.");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn rule_files_are_checked_or_refused() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &[u8]| std::fs::write(here.path().join(name), text).expect("the folder is writable");
    let check = |file: &str| oriole(&["rules", "check", file, "--no-solver"], here.path());
    write("empty.rules", b"# nothing\n");
    assert_ends(&check("empty.rules"), 2, "", "there is no rule to check");
    write("bytes.rules", &[0xff, 0xfe, 0]);
    assert_ends(&check("bytes.rules"), 2, "", "it is no text");
    assert_ends(&check("."), 2, "", "it is a folder");
    write("endless.rules", b"rule a: iadd.u32(x, y) => iadd.u32(y, x)\n");
    assert_ends(&check("endless.rules"), 2, "1 proved", "rule `a` applies to its own result");
    write("measure.rules", b"measure shf 1\nrule a: shf.l.wrap.b32(x, x, 16) => prmt.b32(x, 0, 0x1032)\n");
    let measured = String::from_utf8_lossy(&check("measure.rules").stdout).into_owned();
    assert!(measured.contains("measure: shf 1; no built-in rule raises it"), "{measured}");
    let explained = oriole(&["rules", "explain", "a", "measure.rules"], here.path());
    assert!(String::from_utf8_lossy(&explained.stdout).contains(", weight 1 becomes 0, rank "), "{explained:?}");
    // The same pattern as a built-in rule, at the same priority; one that is tried before it; one that matches more.
    write(
        "shadow.rules",
        b"rule a: iadd.u32(x, 0) => x\nrule b priority 11: iadd.u32(x, 0) => x\nrule c: irem.u32(x, C) => 0 if C == 1, variable(x)\n",
    );
    let shadowed = String::from_utf8_lossy(&check("shadow.rules").stdout).into_owned();
    assert!(shadowed.contains("a at shadow.rules:1: never applies beside the built-in `add-zero`"), "{shadowed}");
    assert!(!shadowed.contains("b at shadow.rules:2: never") && !shadowed.contains("c at"), "{shadowed}");
    let told = oriole(&["rules", "check", "shadow.rules", "--no-solver", "--format", "json"], here.path());
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("it is JSON");
    assert_eq!([0, 1].map(|at| told["rules"][at]["shadowed_by"].as_str()), [Some("add-zero"), None]);
    write("counter.rules", b"measure shl 1\nrule a: shl.b32(x, 16) => prmt.b32(x, 0, 0x1044)\n");
    let counter = check("counter.rules");
    assert_ends(&counter, 1, "the built-in `add-same`, `funnel-left-of-zero`, ", "`prmt-to-high-half`");
    // What is wrong with a rule that is not asked for is its own.
    let two = b"rule endless: iadd.u32(x, y) => iadd.u32(y, x)\n\nrule fine:\n    isub.u32(x, x) => 0\n";
    write("two.rules", two);
    let one = |name: &str| oriole(&["rules", "check", "two.rules", "--no-solver", "--rule", name], here.path());
    assert_ends(&one("fine"), 0, "1 proved", "");
    assert_ends(&one("endless"), 2, "1 proved", "applies to its own result");
    assert_ends(&one("fine,endless"), 2, "2 proved", "applies to its own result");
    // What only a solver could tell ends nothing: all rules are tried, and each open question has its rule's name.
    write(
        "open.rules",
        b"rule open: and.b32(iadd.u32(x, 0x700), 0xff) => and.b32(x, 0xff)\nrule bad: iadd.u32(x, 1) => x\nrule good: isub.u32(x, x) => 0\n",
    );
    let found = check("open.rules");
    for text in ["unknown: open at open.rules:1", "refuted: bad at open.rules:2", "1 proved, 1 unknown, 1 refuted"] {
        assert_ends(&found, 1, text, "");
    }
    write("copy.rules", b"rule copy: mov.b32(lo(&cvt.u64.u32(_))) => 1\n");
    let found = check("copy.rules");
    assert_ends(&found, 1, "the interpreter confirms it", "");
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let replay = text.lines().find_map(|line| line.trim().strip_prefix("oriole ")).expect("it says how to replay");
    let replay: Vec<&str> = replay.split_whitespace().collect();
    assert_ends(&oriole(&replay, here.path()), 1, "mismatch", "");
}

/// Sums of what only the launch knows.
const SUMS: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = ld.global.u32 [%d0]
  %r2 = ld.global.u32 [%d0+4]
  %r3 = iadd.u32 %r1, 0
  %r4 = iadd.u32 %r3, %r2
  st.global.u32 [%d0], %r4
  ret
}
";

const SUMS_LAUNCH: &str = "grid = 1\nblock = 1\n[[arg]]\nzeroed = 8\n";

/// Every command that takes rules says of a file what `rules check` says, and refuses it; who insists is warned, and
/// rules that never end are named after a thousand changes.
#[test]
fn every_command_refuses_the_same_rules() {
    let here = folder(SUMS, SUMS_LAUNCH);
    let write = |text: &str| std::fs::write(here.path().join("mine.rules"), text).expect("the folder is writable");
    let commands: [&[&str]; 6] = [
        &["rules", "check", "mine.rules", "--no-solver"],
        &["opt", "k.ori", "--rules", "mine.rules"],
        &["check", "k.ori", "--rules", "mine.rules"],
        &["bisect", "k.ori", "--rules", "mine.rules"],
        &["reduce", "k.ori", "--rules", "mine.rules"],
        &["fuzz", "--cases", "1", "--rules", "mine.rules"],
    ];
    let cases = [
        ("rule dear: iadd.u32(x, 0) => not.b32(not.b32(x))", "the result of `dear` is not cheaper"),
        ("measure shl 1\nrule back: not.b32(not.b32(x)) => x", "the result of `add-same` weighs more"),
        ("rule one: not.b32(not.b32(x)) => x\n  no not.b32(not.b32(x))", "the rule applies to this example"),
        ("rule add-zero: iadd.u32(x, 0) => x", "there is a rule `add-zero` already"),
    ];
    for (text, message) in cases {
        write(text);
        for command in commands {
            let output = oriole(command, here.path());
            let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(output.status.code() == Some(2) && said.contains(message), "{command:?}: {output:?}");
        }
    }
    write(
        "rule there: iadd.u32(x, y) => isub.u32(x, ineg.s32(y)) if variable(y)\nrule back priority 30: isub.u32(x, ineg.s32(y)) => iadd.u32(x, y)",
    );
    let insist = [commands[1], &["--unchecked-rules"]].concat();
    let endless = oriole(&insist, here.path());
    assert_ends(&endless, 1, "back, there in turn", "warning: the rules of `mine.rules` are used all the same");
    let text = String::from_utf8_lossy(&endless.stdout).into_owned();
    let changes = text.split("after ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    assert!(changes.is_some_and(|changes| changes < 2000), "{text}");
}

/// Who optimizes or checks with rules hears how often each applied, and what stood before it.
#[test]
fn rules_that_never_apply_say_why() {
    let here = folder(SUMS, SUMS_LAUNCH);
    let text = "rule same: iadd.u32(x, 0) => x\nrule other: clz.b32(brev.b32(brev.b32(x))) => clz.b32(x)";
    std::fs::write(here.path().join("mine.rules"), text).expect("the folder is writable");
    let shadowed = "rule same at mine.rules:1: never applied; ";
    let unmet = "rule other at mine.rules:2: never applied; nothing matched";
    for expected in [shadowed, "`add-zero` applied in its place", "the built-in `add-zero` is tried first", unmet] {
        assert_ends(&oriole(&["check", "k.ori", "--rules", "mine.rules"], here.path()), 0, expected, "");
        assert_ends(&oriole(&["opt", "k.ori", "--rules", "mine.rules"], here.path()), 0, "", expected);
    }
    let told = oriole(&["check", "k.ori", "--rules", "mine.rules", "--format", "json"], here.path());
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("it is JSON");
    assert_eq!(told["rules"][0]["shadowed_by"], "add-zero");
    assert_eq!(told["rules"][0]["behind"][0]["simplification"], "add-zero");
    assert_eq!(told["rules"][1]["applied"], 0);
}

#[test]
fn a_users_rules_join_the_built_in_ones() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let write = |text: &str| std::fs::write(here.path().join("mine.rules"), text).expect("the folder is writable");
    let fuzz = ["fuzz", "--target", "kernels", "--cases", "300", "--jobs", "1", "--rules", "mine.rules"];
    write("rule mine priority 20: idiv.s32(x, 4) => shr.s32(x, 2)");
    let found = oriole(&fuzz, here.path());
    assert_ends(&found, 1, "mismatch in GeneralOptimizeEarly, mine: ", "");
    assert_ends(&found, 1, "\nrule mine ", "");
    let list = oriole(&["findings", "list", "--store", "oriole-findings/findings.db"], here.path());
    // Whatever bundle applies it, and however it shows: one rule is one finding.
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let ids: Vec<&str> = list.lines().filter(|line| line.contains(" mine ")).map(|line| &line[..16]).collect();
    let [id] = ids[..] else { panic!("one finding was expected:\n{list}") };
    let store = ["findings", "show", id, "--store", "oriole-findings/findings.db"];
    assert_ends(&oriole(&store, here.path()), 0, " --rules mine.rules", "");
    write("rule mine priority 20: idiv.s32(x, 4) => shr.s32(x, 2) if x");
    assert_ends(&oriole(&fuzz, here.path()), 2, "", "this is no condition");
    let missing = ["opt", "k.ori", "--rules", "other.rules"];
    let good = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&missing, good.path()), 2, "", "cannot read `other.rules`");
    write("rule mine: imul.lo.u32(_, C) => 0 if C == 0x1234567, C == 0x7654321");
    let unfired = [&fuzz[..], &["--require-rules", "--phases", "GeneralOptimize"]].concat();
    assert_ends(&oriole(&unfired, here.path()), 1, "rules that never applied: ", "");
    // Every phase says how often it changed something, and why; what rules did is counted apart.
    assert_ends(&oriole(&unfired, here.path()), 1, " kernels: rounds ", "");
    // The user's own rule applies, which is all that is demanded.
    write("rule mine priority 20: iadd.u32(imul.lo.u32(x, 5), x) => imul.lo.u32(x, 6)");
    assert_ends(&oriole(&unfired, here.path()), 0, "rules that never applied: ", "");
}

#[test]
fn reduce_by_a_command_writes_what_is_left() {
    let good = folder(KERNEL, LAUNCH);
    let output = oriole(&["reduce", "k.ori", "--exec", "grep -q iadd", "--jobs", "1"], good.path());
    assert_ends(&output, 0, "2 instructions of 4, 1 block of 1", "");
    assert_ends(&output, 0, "nothing more can go", "");
    let text = std::fs::read_to_string(good.path().join("k-reduced.ori")).expect("it is written");
    assert!(text.contains("iadd.u16 0, 0") && !text.contains("st.global"), "{text}");
    let again = oriole(&["reduce", "k-reduced.ori", "--exec", "grep -q iadd", "-o", "twice.ori"], good.path());
    assert_ends(&again, 0, "2 instructions of 2", "");
    let twice = std::fs::read_to_string(good.path().join("twice.ori")).expect("it is written");
    assert_eq!(twice, text);
    assert!(good.path().join("twice.launch.toml").exists());
    let output = oriole(&["reduce", "k.ori", "--exec", "grep -q iadd", "--emit", "ptx"], good.path());
    assert_ends(&output, 0, "k-reduced.ptx shows the same", "");
    let ptx = ["reduce", "k-reduced.ptx", "--exec", "grep -q add.u16", "-o", "three.ori"];
    assert_ends(&oriole(&ptx, good.path()), 0, "three.ptx shows the same", "");
}

/// A kernel and its launch file are replaced where that is asked for alone.
#[test]
fn reduce_writes_over_nothing_that_it_reads() {
    let here = folder(KERNEL, LAUNCH);
    let before = std::fs::read_to_string(here.path().join("k.ori")).expect("it is there");
    for output in ["k.ori", "k.ptx", "./k"] {
        let refused = oriole(&["reduce", "k.ori", "--exec", "grep -q iadd", "-o", output], here.path());
        assert_ends(&refused, 2, "", "is read, and would be written over");
        assert_ends(&refused, 2, "", "--force");
    }
    assert_eq!(std::fs::read_to_string(here.path().join("k.ori")).ok(), Some(before.clone()));
    let forced = oriole(&["reduce", "k.ori", "--exec", "grep -q iadd", "-o", "k.ori", "--force"], here.path());
    assert_ends(&forced, 0, "nothing more can go", "");
    assert_ne!(std::fs::read_to_string(here.path().join("k.ori")).ok(), Some(before));
}

/// A command that says nothing of use is told apart: by its exit code on the file itself, and by what it makes of what
/// is printed.
#[test]
fn reduce_says_what_is_the_matter_with_a_command() {
    let here = folder(KERNEL, LAUNCH);
    let on = |command: &str| oriole(&["reduce", "k.ori", "--exec", command], here.path());
    assert_ends(&on("no-such-command"), 2, "", "the command is not found");
    assert_ends(&on("echo hopeless >&2; exit 4;"), 2, "", "hopeless");
    assert_ends(&on("test $(basename $ORIOLE_ORI) = k.ori -a"), 2, "", "makes another module");
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n// A note.\n.visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\
                \tmov.u32 %r1, 7;\n\tret;\n}\n";
    std::fs::write(here.path().join("noted.ptx"), text).expect("it is writable");
    let noted = oriole(&["reduce", "noted.ptx", "--exec", "grep -q note"], here.path());
    assert_ends(&noted, 0, "nothing more can go", "the text is reduced");
    let left = std::fs::read_to_string(here.path().join("noted-reduced.ptx")).expect("it is written");
    assert!(left.contains("note") && left.len() < 20, "{left}");
}

/// A signal ends the search in order, with the best so far.
#[cfg(unix)]
#[test]
fn reduce_leaves_the_best_when_it_is_ended() {
    let here = folder(KERNEL, LAUNCH);
    let program = env!("CARGO_BIN_EXE_oriole");
    for signal in ["INT", "TERM"] {
        let child = std::process::Command::new(program)
            .args(["reduce", "k.ori", "--exec", "sleep 0.3; grep -q st.global", "--jobs", "1", "-o", "best.ori"])
            .current_dir(here.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(2500));
        let kill = format!("kill -{signal} {}", child.id());
        std::process::Command::new("sh").args(["-c", &kill]).status().expect("a shell is there");
        let output = child.wait_with_output().expect("it ends");
        assert_ends(&output, 3, "a signal ended it: the best so far", "");
        let best = std::fs::read_to_string(here.path().join("best.ori")).expect("it is written");
        assert!(best.contains("st.global"), "{best}");
    }
}

#[test]
fn reduce_refuses_what_is_not_interesting() {
    let good = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&["reduce", "k.ori"], good.path()), 2, "", "is not interesting: a check finds nothing");
    let other = oriole(&["reduce", "k.ori", "--exec", "grep -q imul"], good.path());
    assert_ends(&other, 2, "", "is not interesting: on the file itself");
    let quick = oriole(&["reduce", "k.ori", "--predicate", "hang", "--limit", "20s"], good.path());
    assert_ends(&quick, 2, "", "is not interesting: the predicate does not hold");
    assert_ends(&oriole(&["reduce", "k.ori", "--phase", "NoSuchPhase"], good.path()), 2, "", "NoSuchPhase");
}

#[test]
fn bisect_says_that_nothing_is_wrong() {
    let good = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&["bisect", "k.ori"], good.path()), 0, "nothing is wrong: 3 cases, 0 of which", "");
    assert_ends(&oriole(&["bisect", "none.ori"], good.path()), 2, "", "cannot read `none.ori`");
    assert_ends(&oriole(&["check", "k.ori", "--rewrite-limit", "0"], good.path()), 0, "0 findings", "");
}

#[test]
fn opt_prints_what_can_be_read_again() {
    let good = folder(KERNEL, LAUNCH);
    let output = oriole(&["opt", "k.ori", "-o", "k2.ptx", "--verify"], good.path());
    assert_ends(&output, 0, "", "");
    let launch = good.path().join("k.launch.toml");
    let launch = launch.to_str().expect("a path of plain letters");
    assert_ends(&oriole(&["run", "k2.ptx", "--launch", launch], good.path()), 0, "as expected", "");
    assert_ends(&oriole(&["opt", "k.ori"], good.path()), 0, "st.global.u32 [%d0], 7", "");
    let stopped = oriole(&["opt", "k.ori", "--stop-after", "AnalyzeControlFlow", "--no-nvopt"], good.path());
    assert_ends(&stopped, 0, "%r1 = iadd.u32 3, 4", "");
    let dumped = oriole(&["opt", "k.ori", "--dump-ir", "GeneralOptimizeEarly", "--time"], good.path());
    assert_ends(&dumped, 0, "", "; after GeneralOptimizeEarly: k");
}

#[test]
fn opt_runs_a_pipeline_that_is_given_as_text() {
    let good = folder(KERNEL, LAUNCH);
    let run = |text: &str| oriole(&["opt", "k.ori", "--passes", text], good.path());
    assert_ends(&run("AnalyzeControlFlow"), 0, "%r1 = iadd.u32 3, 4", "");
    assert_ends(&run("AnalyzeControlFlow,GeneralOptimizeEarly"), 0, "st.global.u32 [%d0], 7", "");
    assert_ends(&run("GeneralOptimizeEarly,AdvancedPhasePreSched"), 2, "", "AdvancedPhasePreSched is planned and not");
    assert_ends(&run("GvnCse,GvnCsee"), 2, "", "no pass is called `GvnCsee` (did you mean GvnCse, gvn?)");
    assert_ends(&run("sink<rp>"), 2, "", "`sink` takes no argument `rp` (did you mean rp-aware?)");
}

/// Adds two buffers that threads beyond the length leave alone, by inline addresses and a function.
const SUM: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 x, .param .u32 n, .param .f32 factor, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [factor];
    ld.param.u64 %d2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %d1, %d1;
    mad.wide.u32 %d3, %r5, 4, %d1;
    mad.wide.u32 %d4, %r5, 8, %d2;
    ld.global.f32 %f2, [%d3];
    mul.f32 %f2, %f2, %f1;
    cvt.f64.f32 %d5, %f2;
    st.global.b64 [%d4], %d5;
done:
    ret;
}
";

#[test]
fn a_launch_is_guessed_from_the_code_and_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("sum.ptx"), SUM).expect("the kernel is written");
    assert_ends(&oriole(&["launch", "sum.ptx"], folder.path()), 0, "sum.launch.toml", "");
    let text = std::fs::read_to_string(folder.path().join("sum.launch.toml")).expect("the launch is written");
    // 256 threads read a word each and write eight bytes, which nobody reads.
    assert!(text.contains("type = \"f32\"\nrandom = { seed = 1, bytes = 1024, "), "{text}");
    assert!(text.contains("type = \"u32\"\nvalue = 256") && text.contains("type = \"f32\"\nvalue = 2"), "{text}");
    assert!(text.contains("type = \"b64\"\nzeroed = 2048"), "{text}");
    assert_ends(&oriole(&["run", "sum.ptx"], folder.path()), 0, "finished", "");
    assert_ends(&oriole(&["launch", "sum.ptx"], folder.path()), 2, "", "--force");
    assert_ends(&oriole(&["launch", "sum.ptx", "--force", "--entry", "sum"], folder.path()), 0, "", "");
    assert_ends(&oriole(&["launch", "sum.ptx", "-o", "-"], folder.path()), 0, "[[arg]]", "");
    assert_ends(&oriole(&["launch", "sum.ptx", "--entry", "mus"], folder.path()), 2, "", "there is sum");
    // A kernel that no arguments make finish gets its file too, and why.
    let endless = folder.path().join("endless.ptx");
    std::fs::write(&endless, SUM.replace("    mov.u32 %r3, %ntid.x;", "again: bra again;"))
        .expect("the kernel is written");
    assert_ends(&oriole(&["launch", "endless.ptx"], folder.path()), 1, "endless.launch.toml", "out of steps");
    let text = std::fs::read_to_string(folder.path().join("endless.launch.toml")).expect("the launch is written");
    assert!(text.contains("# With these arguments: out of steps"), "{text}");
}

#[test]
fn a_launch_of_the_command_line_is_saved() {
    let good = folder(KERNEL, LAUNCH);
    let save = ["run", "k.ori", "--grid", "1", "--block", "2", "--arg", "random:3:4096", "--save-launch", "mine.toml"];
    let first = oriole(&save, good.path());
    assert_ends(&first, 0, "b32: 0x7", "");
    let again = oriole(&["run", "k.ori", "--launch", "mine.toml"], good.path());
    let results = |output: &Output| {
        String::from_utf8_lossy(&output.stdout).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(results(&again), results(&first));
    assert_ends(&oriole(&save, good.path()), 2, "", "cannot write");
    assert_ends(&oriole(&["run", "k.ori", "--save-launch", "x.toml"], good.path()), 2, "", "--grid");
}

#[test]
fn a_selection_that_takes_no_step_is_an_error() {
    let good = folder(KERNEL, LAUNCH);
    for (selection, why) in [
        (
            &["--phase", "nvvm-late-opt", "--nvopt", "O3"][..],
            "`nvvm-late-opt` selects nothing that runs: nvvm-late-opt has",
        ),
        (&["--phase", "nvvm-late-opt"], "`nvvm-late-opt` is a pass of cicc and no phase of ptxas"),
        (&["--phase", "gvn"], "there is GvnCse"),
        (&["--phase", "AdvancedPhasePreSched"], "AdvancedPhasePreSched is planned and not"),
        (&["--phase", "OriCommoning", "-O", "0"], "OriCommoning runs from"),
        (&["--phase", "GvnCse", "--disable-phases", "GvnCse"], "GvnCse is left"),
        (&["--knob", "NamedPhases=AdvancedPhasePreSched"], "no phase runs under these options"),
    ] {
        for command in ["check", "bisect", "reduce"] {
            let arguments = [&[command, "k.ori"], selection].concat();
            assert_ends(&oriole(&arguments, good.path()), 2, "", why);
        }
    }
    for tokens in ["nvvm-late-opt", "AdvancedPhasePreSched", "GvnCse,AdvancedPhasePreSched"] {
        let output = oriole(&["fuzz", "--phases", tokens, "--cases", "1"], good.path());
        assert_ends(&output, 2, "", "`oriole phases` lists them all");
    }
    let unknown = ["check", "k.ori", "--passes", "select-kernels<nothere>"];
    let why = "`select-kernels` took no step: its arguments fit none of the kernels";
    assert_ends(&oriole(&unknown, good.path()), 2, "", why);
    // A step that is no phase needs none, and neither does a level that runs nothing but bookkeeping.
    assert_ends(&oriole(&["check", "k.ori", "--phase", "ptx-round-trip"], good.path()), 0, "1 of 1 kernel clean", "");
    assert_ends(&oriole(&["check", "k.ori", "-O", "0"], good.path()), 0, "1 of 1 kernel clean", "");
}

/// The second of two equal passes goes wrong: its instance is named, replayed and bisected alone.
#[test]
fn places_of_one_pass_are_told_apart() {
    let good = folder(KERNEL, LAUNCH);
    let passes = "AnalyzeControlFlow,OriPerformLiveDeadFirst,function(GvnCse,OriPerformLiveDeadFirst)";
    let common = ["k.ori", "--passes", passes];
    let fault = ["--fault", "drop-store@OriPerformLiveDeadFirst#2:7"];
    assert_ends(&oriole(&[&["check"], &common[..]].concat(), good.path()), 0, "1 of 1 kernel clean", "");
    for command in ["check", "bisect"] {
        let output = oriole(&[&[command], &common[..], &fault].concat(), good.path());
        assert_ends(&output, 1, "mismatch in OriPerformLiveDeadFirst#2", "");
        assert_ends(&output, 1, "--phase OriPerformLiveDeadFirst#2 --randoms 0 --passes", "");
    }
    let of = |phase: &str| oriole(&[&["check"], &common[..], &fault, &["--phase", phase]].concat(), good.path());
    assert_ends(&of("OriPerformLiveDeadFirst#2"), 1, "mismatch", "");
    assert_ends(&of("OriPerformLiveDeadFirst#1"), 2, "", "never planted");
    assert_ends(&of("OriPerformLiveDeadFirst#3"), 2, "", "is not in the pipeline; the last of its name");
    assert_ends(&of("OriPerformLiveDeadFirst#x"), 2, "", "has no number behind `#`");
    let replay = "oriole-findings/k-OriPerformLiveDeadFirst-2.ori";
    let again = [&["check", replay], &common[1..], &fault, &["--phase", "OriPerformLiveDeadFirst#2"]].concat();
    assert_ends(&oriole(&again, good.path()), 1, "mismatch in OriPerformLiveDeadFirst#2", "");
    let reduced = oriole(&[&["reduce"], &common[..], &fault, &["-o", "small.ori"]].concat(), good.path());
    assert_ends(&reduced, 0, "", "");
    let small = [&["check", "small.ori"], &common[1..], &fault].concat();
    assert_ends(&oriole(&small, good.path()), 1, "mismatch in OriPerformLiveDeadFirst#2", "");
    let campaign = ["fuzz", "--passes", "OriPerformLiveDeadFirst,OriPerformLiveDeadFirst", "--cases", "20"];
    let campaign = oriole(&[&campaign, &fault[..]].concat(), good.path());
    assert_ends(&campaign, 1, "OriPerformLiveDeadFirst#2", "");
}

/// An option of cicc leaves its pass out, in every command, and a replay command says so.
#[test]
fn options_of_cicc_leave_passes_out() {
    let good = folder(KERNEL, LAUNCH);
    let run = |option: &str| {
        let arguments = ["opt", "k.ori", "--passes", "sroa,AnalyzeControlFlow", "--pass-option", option];
        oriole(&arguments, good.path())
    };
    assert_ends(&run("-no-sroa"), 0, "%r1 = iadd.u32 3, 4", "sroa did not run: pass option");
    assert_ends(&run("no-sroa=2"), 2, "", "`2` does not fit no-sroa");
    assert_ends(&run("no-sora"), 2, "", "no pass option is called `no-sora`");
    let alone = ["check", "k.ori", "--passes", "sroa", "--opt", "no-sroa", "--phase", "sroa"];
    assert_ends(&oriole(&alone, good.path()), 2, "", "`sroa` selects nothing that runs: sroa is left out by");
    let passes = "sroa,OriPerformLiveDeadFirst";
    let fault = ["check", "k.ori", "--passes", passes, "--fault", "drop-store@OriPerformLiveDeadFirst:7"];
    let found = oriole(&[&fault[..], &["--pass-option", "no-sroa"]].concat(), good.path());
    assert_ends(&found, 1, "--opt no-sroa", "");
}

/// What a command says, its lines joined, since messages are broken where they are shown.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// The pipelines of cicc by level, by flag, and in a text.
#[test]
fn levels_of_cicc_are_chosen_and_printed() {
    let good = folder(KERNEL, LAUNCH);
    let printed = |arguments: &[&str]| {
        let output = oriole(&[&["opt", "--print-pipeline"], arguments].concat(), good.path());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let third = printed(&["--passes", "nvopt<O3>"]);
    assert_eq!(printed(&["--passes", "default<O3>"]), third);
    assert!(printed(&[]).starts_with(&format!("{third},AnalyzeControlFlow,")));
    assert_eq!(printed(&["-O3"]), printed(&[]));
    assert!(printed(&["--no-nvopt"]).starts_with("AnalyzeControlFlow,"));
    for arguments in [&["-O0"][..], &["-O1"], &["-O2"], &["-Ofc=mid"], &["-Ofast-compile=min"], &["--lang", "mid"]] {
        let text = printed(arguments);
        assert_eq!(printed(&["--passes", &text]), text, "{arguments:?}");
    }
    assert_eq!(printed(&["--nvopt", "Ofcmid", "-O1"]), printed(&["-Ofc=mid"]));
    assert_ne!(printed(&["--lang", "ptx"]), printed(&[]));
    assert_ne!(printed(&["--opt", "slot-217=1"]), printed(&[]));
}

#[test]
fn options_of_cicc_decide_guards_and_say_so() {
    let good = folder(KERNEL, LAUNCH);
    for option in [&["-opt", "-do-licm=0"][..], &["--opt", "do-licm=0"], &["--pass-option=do-licm=0"]] {
        let output = oriole(&[&["opt", "k.ori", "--time"], option].concat(), good.path());
        assert_ends(&output, 0, "st.global.u32 [%d0], 7", "left out, disabled by do-licm=0: licm, licm#3");
    }
    let forced = oriole(&["opt", "k.ori", "-Ofc=max", "--opt", "do-ip-msp=1"], good.path());
    assert_ends(&forced, 0, "", "nvopt<Ofcmax> leaves memory-space-opt out, whatever do-ip-msp says");
    assert_ends(&oriole(&["opt", "k.ori", "--opt", "slot-222=1"], good.path()), 2, "", "no pass option is called");
}

/// Lines 654 and 667 of the document have these texts.
#[test]
fn levels_that_are_none_and_levels_with_passes_are_refused() {
    let good = folder(KERNEL, LAUNCH);
    let both = "Cannot specify -O#/-Ofast-compile=<min,mid,max> and --passes=/--foo-pass, use \
                -passes='default<O#>,other-pass' or -passes='default<Ofcmax>,other-pass'";
    let unsupported =
        "libnvvm : error: -Ofast-compile called with unsupported level, only supports 0, min, mid, or max";
    for (arguments, text) in [
        (&["-O2", "--passes", "GvnCse"][..], both),
        (&["-O3", "--passes", "GvnCse"], both),
        (&["-Ofast-compile=fast"], unsupported),
        (&["-Ofc="], unsupported),
        (&["-O4"], "`4` is no level"),
        (&["--nvopt", "O2", "--passes", "GvnCse"], "write nvopt<LEVEL> in its text"),
        (&["--no-nvopt", "--passes", "GvnCse"], "that --no-nvopt leaves out"),
        (&["--no-nvopt", "--nvopt", "O2"], "exclude each other"),
        (&["--passes", "nvopt"], "a whole pipeline is written with its level"),
    ] {
        for command in ["opt", "check", "bisect", "reduce"] {
            let output = oriole(&[&[command, "k.ori"], arguments].concat(), good.path());
            assert_eq!(output.status.code(), Some(2), "{command} {arguments:?}");
            assert!(said(&output).contains(text), "{command} {arguments:?}: {}", said(&output));
        }
    }
    for command in ["fuzz", "selftest"] {
        let output = oriole(&[command, "-O2", "--passes", "GvnCse"], good.path());
        assert_eq!((output.status.code(), said(&output).contains(both)), (Some(2), true), "{}", said(&output));
    }
}

/// A kernel with a function, a variable in local memory, and a loop whose condition does not change in it.
const UNITS: &str = "target sm_90 ptx 9.0\ndevice @add ssa {\n  param $x: b32 param align 4\n  \
    return $r: b32 param align 4\nbb0:\n  %r1 = ld.param.b32 [$x]\n  %r2 = iadd.u32 %r1, 3\n  \
    st.param.b32 [$r], %r2\n  ret\n}\nentry @k visible ssa {\n  param $out: u64 param align 8\n  \
    local $a: b32 param align 4\n  local $b: b32 param align 4\n  local $v: b32 local align 4\nbb0:\n  \
    %d0 = ld.param.u64 [$out]\n  %r1 = s2r.b32 sr.ntid.x\n  %p2 = setp.eq.u32 %r1, 1\n  st.param.b32 [$a], %r1\n  \
    call @add($a) -> ($b)\n  %r3 = ld.param.b32 [$b]\n  st.local.b32 [$v], %r3\n  bra bb1\nbb1:\n  \
    %r4 = phi [bb0: 0], [bb4: %r8]\n  cbra %p2, bb2, bb3\nbb2:\n  %r5 = ld.local.b32 [$v]\n  bra bb4\nbb3:\n  \
    %r6 = imad.lo.u32 %r4, 5, 1\n  bra bb4\nbb4:\n  %r7 = phi [bb2: %r5], [bb3: %r6]\n  \
    st.global.u32 [%d0], %r7\n  %r8 = iadd.u32 %r4, 1\n  %p9 = setp.lt.u32 %r8, 4\n  cbra %p9, bb1, bb5\nbb5:\n  \
    ret\n}\n";

/// A pass of each unit is checked, bisected, reduced and fuzzed by its name.
#[test]
fn passes_of_every_unit_are_steps() {
    let good = folder(UNITS, &LAUNCH.replace("07000000", "04000000"));
    for (passes, name) in [
        ("always-inline", "always-inline"),
        ("cgscc(inline)", "cgscc"),
        ("function(sroa)", "sroa"),
        ("loop(loop-unswitch)", "loop-unswitch"),
    ] {
        let clean = oriole(&["check", "k.ori", "--passes", passes, "--verbose"], good.path());
        assert_ends(&clean, 0, "1 of 1 kernel clean", "");
        let text = String::from_utf8_lossy(&clean.stdout).into_owned();
        let changes = |line: &str| line.starts_with(&format!("{name} ")) && line.contains("yes");
        assert!(text.lines().any(changes), "{name} changes nothing:\n{text}");
        // Some stores are read by nobody on this launch.
        let shows = |fault: &String| {
            let output = oriole(&["check", "k.ori", "--passes", passes, "--fault", fault], good.path());
            String::from_utf8_lossy(&output.stdout).contains(&format!("mismatch in {name}"))
        };
        let fault = (1..60).map(|seed| format!("drop-store@{name}:{seed}")).find(shows).expect("a store that shows");
        let planted = ["k.ori", "--passes", passes, "--fault", &fault];
        assert_ends(&oriole(&[&["bisect"], &planted[..]].concat(), good.path()), 1, "(planted drop-store)", "");
        let small = format!("{name}.small.ori");
        assert_ends(&oriole(&[&["reduce"], &planted[..], &["-o", &small]].concat(), good.path()), 0, "", "");
        let again = [&["check", &small], &planted[1..]].concat();
        assert_ends(&oriole(&again, good.path()), 1, &format!("mismatch in {name}"), "");
        let campaign = ["fuzz", "--passes", passes, "--fault", &fault, "--cases", "40", "--out", name];
        assert_ends(&oriole(&campaign, good.path()), 1, name, "");
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_rings_are_followed_once() {
    use std::os::unix::fs::symlink;
    let root = folder(KERNEL, LAUNCH);
    // Each folder leads to both in eight ways: a walk that follows every one of them does not end.
    for folder in ["a", "b"] {
        std::fs::create_dir(root.path().join(folder)).expect("a folder");
        for link in 0..8 {
            let target = if link % 2 == 0 { "../a" } else { "../b" };
            symlink(target, root.path().join(folder).join(format!("x{link}"))).expect("a link");
        }
    }
    assert_ends(&oriole(&["check", "."], root.path()), 0, "1 of 1 kernel clean", "");
    assert_ends(&oriole(&["corpus", "minimize", "."], root.path()), 0, "", "1 of 1 kernel");
}

#[test]
fn values_may_be_negative_and_numbers_have_bounds() {
    let kernel =
        KERNEL.replace("param $out: u64 param align 8", "param $out: u64 param align 8\n  param $n: s32 param");
    let negative = folder(&kernel, LAUNCH);
    let launch = ["run", "k.ori", "--grid", "1", "--block", "1", "--arg", "zeroed:4", "--arg"];
    assert_ends(&oriole(&[&launch[..], &["s32:-5"]].concat(), negative.path()), 0, "b32: 0x7", "");
    assert_ends(&oriole(&[&launch[..], &["-5"]].concat(), negative.path()), 2, "", "TYPE:VALUE");
    for command in ["check", "bisect"] {
        let output = oriole(&[command, "k.ori", "--randoms", "4000000000"], negative.path());
        assert_ends(&output, 2, "", "0..=65536");
    }
}

#[test]
fn listings_are_complete() {
    let here = Path::new(".");
    assert_ends(&oriole(&["phases", "--cicc"], here), 0, "first-time|second-time;warnings|no-warnings", "");
    assert_ends(&oriole(&["phases"], here), 0, "OriPerformLiveDeadFourth", "");
    assert_ends(&oriole(&["phases", "--format", "json"], here), 0, "\"status\": \"planned\"", "");
    assert_ends(&oriole(&["knobs"], here), 0, "DisablePhases", "");
    assert_ends(&oriole(&["phases", "--cicc"], here), 0, "pass-pipeline:1231", "");
    assert_ends(&oriole(&["phases"], here), 0, "copy-propagation-and-cse:562", "");
    assert_ends(&oriole(&["phases"], here), 0, "GeneralOptimize  copy-propagation-and-cse:987", "");
    assert_ends(&oriole(&["knobs"], here), 0, "copy-propagation-and-cse:1134", "");
    assert_ends(&oriole(&["knobs", "--format", "json"], here), 0, "\"line\": 1134", "");
    assert_ends(&oriole(&["knobs"], here), 0, "the target", "");
    assert_ends(&oriole(&["knobs", "--cicc"], here), 0, "pass-pipeline:371", "");
    assert_ends(&oriole(&["knobs", "--cicc", "--format", "json"], here), 0, "\"slot\": 143", "");
    assert_ends(&oriole(&["ops", "iadd"], here), 0, "commutative", "");
    assert_ends(&oriole(&["ops", "nonsense"], here), 2, "", "no opcode is named like `nonsense`");
    assert_ends(&oriole(&["completions", "bash"], here), 0, "oriole", "");
    assert_ends(&oriole(&["man"], here), 0, "dump\\-ir", "");
}

/// A reader that closes the pipe after the first bytes must not make the command panic.
#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let kernel = corpus().join("sha256.ptx");
    for args in [&["knobs"][..], &["opt", kernel.to_str().expect("a path of plain letters"), "--emit", "ori"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_ends(&output, 0, "", "");
    }
}

/// Any two programs, in any language, kernel by kernel.
#[test]
fn compare_judges_two_programs() {
    let here = folder(KERNEL, LAUNCH);
    let write = |name: &str, text: &str| std::fs::write(here.path().join(name), text).expect("the folder is writable");
    assert_ends(&oriole(&["opt", "k.ori", "-o", "same.ptx"], here.path()), 0, "", "");
    assert_ends(&oriole(&["compare", "k.ori", "same.ptx"], here.path()), 0, "k: equal, 9 cases compared", "");
    write("wrong.ori", &KERNEL.replace("iadd.u32 3, 4", "iadd.u32 3, 5"));
    let wrong = oriole(&["compare", "k.ori", "wrong.ori"], here.path());
    assert_ends(&wrong, 1, "k: DIFFERENT", "");
    let json = oriole(&["compare", "k.ori", "wrong.ori", "--format", "json"], here.path());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&json["equal"], &json["kernels"][0]["answer"]), (&false.into(), &"different".into()));
    // A single entry may have another name; of several, the name decides.
    write("renamed.ori", &KERNEL.replace("@k", "@other"));
    assert_ends(&oriole(&["compare", "k.ori", "renamed.ori"], here.path()), 0, "k: equal", "");
    let two = format!("{KERNEL}\n{}", KERNEL.split_once("\n\n").expect("a head").1.replace("@k", "@l"));
    write("two.ori", &two);
    write("two.launch.toml", &format!("kernel = \"l\"\n{LAUNCH}"));
    let half = oriole(&["compare", "two.ori", "two.ori"], here.path());
    assert_ends(&half, 3, "k: inconclusive", "");
    assert_ends(&half, 3, "l: equal", "");
    let missing = oriole(&["compare", "two.ori", "k.ori"], here.path());
    assert_ends(&missing, 1, "there is no entry `l`", "");
    write("traps.ori", &KERNEL.replace("  ret\n", "  trap\n  ret\n"));
    write("traps.launch.toml", LAUNCH);
    assert_ends(&oriole(&["compare", "traps.ori", "k.ori"], here.path()), 3, "k: inconclusive, 0 cases", "");
    assert_ends(&oriole(&["compare", "k.ori", "none.ori"], here.path()), 2, "", "none.ori");
    assert_ends(&oriole(&["compare", "k.ori", "nosuch"], here.path()), 2, "", "there is no file or folder `nosuch`");
}

/// `-` is a kernel in either language.
#[test]
fn standard_input_is_a_kernel() {
    use std::io::Write as _;
    let here = folder(KERNEL, LAUNCH);
    assert_ends(&oriole(&["opt", "k.ori", "-o", "k2.ptx"], here.path()), 0, "", "");
    let ptx = std::fs::read_to_string(here.path().join("k2.ptx")).expect("it was written");
    let piped = |text: &str, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.args(args).current_dir(here.path()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    };
    for text in [KERNEL, &ptx] {
        let run = ["run", "-", "--grid", "1", "--block", "1", "--arg", "zeroed:4"];
        assert_ends(&piped(text, &run), 0, "b32: 0x7", "");
        assert_ends(&piped(text, &["opt", "-"]), 0, "st.global.u32 [%d0], 7", "");
        assert_ends(&piped(text, &["check", "-", "--launch", "k.launch.toml"]), 0, "0 findings", "");
        assert_ends(&piped(text, &["compare", "k.ori", "-"]), 0, "k: equal", "");
    }
    assert_ends(&piped("rule a: iadd.u32(x, 1) => x\n", &["rules", "list", "-"]), 0, "a ", "");
    assert_ends(&piped("", &["check", "-"]), 2, "", "");
    assert_ends(&piped("bogus", &["opt", "-"]), 2, "", "is not a module");
}

/// What others cover goes, and what stays is copied with its launches; the folder stays as it was.
#[test]
fn corpora_are_minimized() {
    let here = folder(KERNEL, LAUNCH);
    let at = |path: &str| here.path().join(path);
    let write = |path: &str, text: &str| std::fs::write(at(path), text).expect("the folder is writable");
    std::fs::create_dir_all(at("corpus/deep")).expect("the folder is writable");
    let twice = "  %r2 = iadd.u32 %r1, 4\n  %r3 = iadd.u32 %r2, 4\n  st.global.u32 [%d0], %r3\n";
    let other = KERNEL.replace("iadd.u32 3, 4", "imax.s32 3, 7");
    for (path, kernel) in [
        ("corpus/small", KERNEL),
        ("corpus/large", &KERNEL.replace("  st.global.u32 [%d0], %r1\n", twice)),
        ("corpus/deep/other", &other),
    ] {
        write(&format!("{path}.ori"), kernel);
        write(&format!("{path}.launch.toml"), "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\n");
        write(&format!("{path}.file.launch.toml"), "grid = 1\nblock = 1\n[[arg]]\nbuffer = \"data.bin\"\n");
        write(&at(path).with_file_name("data.bin").to_string_lossy(), "1234");
    }
    let done = oriole(&["corpus", "minimize", "corpus", "-o", "new"], here.path());
    let left = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(left == "corpus/large.ori\n" || left == "corpus/small.ori\n", "{left}");
    assert_ends(&done, 0, "", "2 of 3 kernels needed to cover what all do");
    let kept = if left.contains("large") { "small" } else { "large" };
    assert!(at("corpus/large.ori").exists() && at("corpus/small.ori").exists());
    let again = oriole(&["corpus", "minimize", "new", "--format", "json"], here.path());
    assert_ends(&again, 0, &format!("new/{kept}.ori"), "");
    let document: serde_json::Value = serde_json::from_slice(&again.stdout).expect("it is JSON");
    assert_eq!(document["go"].as_array().map(Vec::len), Some(0), "{document}");
    assert_ends(&oriole(&["check", "new"], here.path()), 0, "2 of 2 kernels clean, 12 cases", "");
    assert_ends(&oriole(&["corpus", "minimize", "corpus", "-o", "new"], here.path()), 2, "", "new is not empty");
    assert_ends(&oriole(&["corpus", "minimize", "none"], here.path()), 2, "", "none");
}

/// Kept answers stay as long as a rule asks for them: all rules of a file are asked, with a solver, before any goes.
#[test]
fn answers_that_no_rule_asks_for_are_dropped() {
    if oriole_proof::Solver::find(None).expect("a solver on the path can be asked its version").is_none() {
        eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
        return;
    }
    let here = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| here.path().join(name);
    let first = "rule a: xor.b32(&not.b32(x), &not.b32(y)) => xor.b32(x, y)\n";
    let second = "rule b: and.b32(&or.b32(x, _), x) => x\n";
    std::fs::write(at("two.rules"), format!("{first}{second}")).expect("the folder is writable");
    let check = |more: &[&str]| oriole(&[&["rules", "check", "two.rules", "--cache", "."], more].concat(), here.path());
    let kept = || std::fs::read_to_string(at("answers.txt")).expect("answers are kept").lines().count() - 1;
    assert_ends(&check(&[]), 0, "2 proved", "");
    let both = kept();
    assert!(both >= 2, "{both} answers");
    std::fs::write(at("two.rules"), first).expect("the folder is writable");
    assert_ends(&check(&["--rule", "a"]), 0, "1 proved", "");
    assert_ends(&check(&["--no-solver"]), 0, "1 proved", "");
    assert_eq!(kept(), both, "a part of the rules, or no solver, drops nothing");
    assert_ends(&check(&[]), 0, "1 proved", "no rule asks");
    assert!((1..both).contains(&kept()));
}

/// `%r2` is defined on one path, `%r3` on none; `%r1` and `%d1` on all.
#[test]
fn registers_that_nothing_defines_are_warned_of_where_asked() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n\
                .reg .b64 %d<2>;\n.reg .pred %p<2>;\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n\
                setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nmov.u32 %r2, 1;\nL:\nst.global.u32 [%d1], %r2;\n\
                st.global.u32 [%d1+4], %r3;\nst.global.u32 [%d1+8], %r1;\nret;\n}\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.ptx"), text).expect("the kernel is written");
    let asked = oriole(&["opt", "k.ptx", "--warn-uninitialized", "-o", "out.ptx"], folder.path());
    assert_ends(&asked, 0, "", "warning: Found 2 potentially uninitialized registers in function k\n");
    let warned = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(warned.contains(", read in line 15: not defined on every path there\n"), "{warned}");
    assert!(warned.contains(", read in line 16: defined on no path there\n"), "{warned}");
    assert_eq!(warned.lines().count(), 3, "{warned}");
    assert!(oriole(&["opt", "k.ptx", "-o", "out.ptx"], folder.path()).stderr.is_empty());
    let defined = text.replace("@%p1 bra L;\n", "").replace("[%d1+4], %r3", "[%d1+4], %r2");
    std::fs::write(folder.path().join("k.ptx"), defined).expect("the kernel is written");
    assert!(oriole(&["opt", "k.ptx", "--warn-uninitialized", "-o", "out.ptx"], folder.path()).stderr.is_empty());
}
