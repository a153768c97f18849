//! What commands say beside their results: lines of the source, costs, remarks, colours, and how signals end them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

const KERNEL: &str = include_str!("snapshots/k.ptx");
const LAUNCH: &str = "grid = 1\nblock = 1\n[[arg]]\nname = \"out\"\nzeroed = 4\n";

fn folder(kernel: &str, launch: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.ptx"), kernel).expect("it is writable");
    std::fs::write(folder.path().join("k.launch.toml"), launch).expect("it is writable");
    folder
}

fn oriole(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(args).current_dir(folder).output().expect("the command starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn traps_races_and_wrong_stores_name_the_line_of_the_source() {
    let small = folder(KERNEL, &LAUNCH.replace("zeroed = 4", "zeroed = 2"));
    let trap = out(&oriole(&["run", "k.ptx"], small.path()));
    assert!(trap.contains("in `k` (line 17, k.cu:9)"), "{trap}");
    let racing = folder(KERNEL, &LAUNCH.replace("block = 1", "block = 2"));
    let race = out(&oriole(&["run", "k.ptx", "--races"], racing.path()));
    assert!(race.contains("(line 17, k.cu:9)"), "{race}");
    let good = folder(KERNEL, LAUNCH);
    let rules = "rule wrong priority 20: imul.lo.u32(x, 8) => shl.b32(x, 2)\n";
    std::fs::write(good.path().join("wrong.rules"), rules).expect("it is writable");
    let check = ["check", "k.ptx", "--rules", "wrong.rules", "--phase", "GeneralOptimizeEarly"];
    let found = out(&oriole(&check, good.path()));
    assert!(found.contains("in `k` (line 17, k.cu:9) by thread (0,0,0)"), "{found}");
    // Behind the end of a function nothing is known, and neither is without `.file`.
    let nameless = folder(&KERNEL.replace(".file 1 \"/src/k.cu\"\n", ""), &LAUNCH.replace("zeroed = 4", "zeroed = 2"));
    let trap = out(&oriole(&["run", "k.ptx"], nameless.path()));
    assert!(trap.contains("in `k` (line 16)"), "{trap}");
}

#[test]
fn phases_say_what_they_cost_where_there_is_a_launch() {
    let here = folder(KERNEL, LAUNCH);
    let check = out(&oriole(&["check", "k.ptx", "--costs"], here.path()));
    let table = check.split("k.ptx, on ./k.launch.toml\n").nth(1).unwrap_or_else(|| panic!("{check}"));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["phase", "executed", "loads", "pressure"]);
    assert_eq!(rows[2], ["(before)", "7", "1", "3"]);
    // An addition of zero is gone.
    assert!(rows.contains(&vec!["GeneralOptimizeEarly", "6", "1", "3"]), "{table}");
    let timed = err(&oriole(&["opt", "k.ptx", "--time", "-o", "out.ptx"], here.path()));
    assert!(timed.lines().next().is_some_and(|title| title.ends_with("executed  loads  pressure")), "{timed}");
    std::fs::remove_file(here.path().join("k.launch.toml")).expect("it is there");
    let timed = err(&oriole(&["opt", "k.ptx", "--time", "-o", "out.ptx"], here.path()));
    assert!(timed.lines().next().is_some_and(|title| title.ends_with("us")), "{timed}");
}

#[test]
fn quiet_commands_say_nothing_beside_their_results() {
    let here = folder(KERNEL, LAUNCH);
    let minimize = ["corpus", "minimize", "."];
    let said = err(&oriole(&minimize, here.path()));
    assert!(said.starts_with("1 of 1 kernel needed to cover what all do: "), "{said}");
    assert_eq!(err(&oriole(&[&minimize[..], &["--quiet"]].concat(), here.path())), "");
    assert_eq!(err(&oriole(&["-q", "check", "k.ptx"], here.path())), "");
    // Errors are no remarks.
    assert!(err(&oriole(&["run", "none.ptx", "--quiet"], here.path())).contains("none.ptx"));
}

#[test]
fn a_pipe_takes_no_colours_and_no_progress() {
    let here = folder(KERNEL, LAUNCH);
    let check = oriole(&["check", "k.ptx"], here.path());
    assert!(!out(&check).contains('\u{1b}') && err(&check).is_empty(), "{}\n{}", out(&check), err(&check));
}

#[test]
fn reduction_carries_through_what_nobody_knows() {
    let unknown = KERNEL.replace("    ret;", "    newthing.commit.b32 %r4;\n    ret;");
    let here = folder(&unknown, LAUNCH);
    let exec = ["reduce", "k.ptx", "--exec", "grep -q newthing", "-o", "small.ptx"];
    let refused = oriole(&["reduce", "k.ptx"], here.path());
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    let reduced = oriole(&[&exec[..], &["--opaque", "newthing"]].concat(), here.path());
    assert_eq!(reduced.status.code(), Some(0), "{}\n{}", out(&reduced), err(&reduced));
    let text = std::fs::read_to_string(here.path().join("small.ptx")).expect("it is written");
    assert!(text.contains("newthing.commit.b32") && !text.contains("mul.lo"), "{text}");
}

/// A check that takes long says nothing that could be left, so a signal ends it at once.
#[cfg(unix)]
#[test]
fn a_signal_during_the_first_check_is_answered_at_once() {
    use std::time::{Duration, Instant};
    let looping =
        "    mov.u32 %r3, 0;\nL:\n    add.u32 %r3, %r3, 1;\n    setp.lt.u32 %p1, %r3, 2000000000;\n    @%p1 bra L;\n";
    let kernel = KERNEL.replace("    .reg .b64 %d<2>;", "    .reg .b64 %d<2>;\n    .reg .pred %p<2>;");
    let kernel = kernel.replace("    add.u32 %r3, %r2, 5;\n", looping);
    let here = folder(&kernel, &format!("steps = 9000000000\n{LAUNCH}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(["reduce", "k.ptx", "--limit", "10m"]).current_dir(here.path()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command starts");
    std::thread::sleep(Duration::from_secs(2));
    let start = Instant::now();
    let killed = Command::new("kill").arg(child.id().to_string()).status().expect("there is such a command");
    assert!(killed.success(), "it still runs");
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("a signal came before it was known"), "{}", err(&output));
}
