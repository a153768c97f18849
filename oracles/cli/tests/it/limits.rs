//! Hostile and huge inputs of every kind of file end with an answer or a diagnostic, within 2 GB and 10 s of
//! processor time: no panic, no memory or time without end.

#![cfg(unix)]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Memory that a command may have resident, in KiB.
const MAX_RESIDENT: i64 = 2 << 20;
/// Processor time that a command may take; builds for tests are hardly optimized.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 10 });
/// Time on the clock after which a command hangs; other tests run beside this one.
const HANGS: Duration = Duration::from_secs(120);

/// What came of a command.
struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
}

/// Runs `oriole`, and demands that it keeps to the limits. Beyond twice of them the system ends it.
#[track_caller]
#[expect(clippy::zombie_processes, reason = "`wait4` waits for the child, and says what it has used")]
fn oriole(args: &[&str], folder: &Path) -> Ended {
    let limited = format!("ulimit -v {}; ulimit -t {}; exec \"$0\" \"$@\"", 4 * MAX_RESIDENT, 2 * MAX_TIME.as_secs());
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_oriole")]).args(args).current_dir(folder);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh");
    let pid = libc::pid_t::try_from(child.id()).expect("an id of a process");
    let (mut stdout, mut stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let over = AtomicBool::new(false);
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| stdout.read_to_end(&mut out));
        scope.spawn(|| stderr.read_to_end(&mut err));
        let watch = scope.spawn(|| {
            std::thread::park_timeout(HANGS);
            if !over.load(Ordering::SeqCst) {
                // SAFETY: the child is waited for only by this test, so that the id is still its own.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        });
        // SAFETY: both places outlive the call, and the child is a child of this process that nobody else waits for.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        over.store(true, Ordering::SeqCst);
        watch.thread().unpark();
        assert_eq!(waited, pid);
    });
    // SAFETY: all bytes of it are zero or written by the system.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    let time = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let ended = Ended { status: ExitStatus::from_raw(status), out: text(out), err: text(err) };
    let said = ended.err.chars().take(2000).collect::<String>();
    assert!(usage.ru_maxrss < MAX_RESIDENT, "{args:?}: {} KiB\n{said}", usage.ru_maxrss);
    assert!(time < MAX_TIME, "{args:?}: {time:?}\n{said}");
    assert!(!ended.err.contains("panicked"), "{args:?}: {said}");
    ended
}

#[track_caller]
fn assert_ends(ended: &Ended, code: i32, out: &str, err: &str) {
    let (said, told) = (ended.out.chars().take(2000).collect::<String>(), ended.err.chars().take(2000));
    let told = told.collect::<String>();
    assert_eq!(ended.status.code(), Some(code), "{:?}\n{said}\n{told}", ended.status);
    // Diagnostics are wrapped to the width of a screen.
    let unwrapped = |text: &str| text.replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ended.out.contains(out), "no `{out}` in\n{said}");
    assert!(unwrapped(&ended.err).contains(err), "no `{err}` in\n{told}");
}

fn write(folder: &Path, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder is writable");
    path
}

fn corpus(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels").join(name).display().to_string()
}

/// A command for each kind of file, by the name of the file that it reads.
fn readers() -> [(&'static str, Vec<String>); 5] {
    let saxpy = corpus("saxpy.ptx");
    let command = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    [
        ("f.ptx", command(&["opt", "f.ptx"])),
        ("f.ori", command(&["opt", "f.ori"])),
        ("f.rules", command(&["opt", &saxpy, "--rules", "f.rules"])),
        ("f.launch.toml", command(&["run", &saxpy, "--launch", "f.launch.toml"])),
        ("f.toml", command(&["fuzz", "--cases", "1", "--corpus", "none", "--config", "f.toml"])),
    ]
}

/// Every kind of file, with a text: a diagnostic, and nothing more than fits some screens.
fn refused_everywhere(text: &[u8]) {
    for (name, command) in readers() {
        let here = tempfile::tempdir().expect("a temporary folder");
        write(here.path(), name, text);
        let ended = oriole(&command.iter().map(String::as_str).collect::<Vec<_>>(), here.path());
        assert_ends(&ended, 2, "", name);
        assert!(ended.err.len() < 64 << 10, "{name}: {} bytes of a diagnostic", ended.err.len());
    }
}

#[test]
fn long_lines_are_cut_in_diagnostics() {
    refused_everywhere(format!("{}bogus", " ".repeat(65_600)).as_bytes());
    refused_everywhere("x".repeat(1 << 20).as_bytes());
    refused_everywhere(&[&b"\"".repeat(70_000)[..], b"\xc3\xa9\n"].concat());
    let here = Path::new(".");
    let long = "x".repeat(100_000);
    assert_ends(&oriole(&["opt", &corpus("saxpy.ptx"), "--passes", &long], here), 2, "", "no pass is called");
}

/// No file can write to the terminal by what is shown of it, whatever kind it is.
#[test]
fn diagnostics_hold_no_control_characters() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let kernel = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\nbb0:\n  ret\n}\n";
    std::fs::write(here.join("k.ori"), kernel).expect("the folder is writable");
    let hostile = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}turned\u{9b}2J";
    let toml = "\\u001b[31m";
    for (file, text, args, shown) in [
        ("a.ptx", format!(".version 8.0\n.target sm_80\n bogus {hostile}\n"), &["opt", "a.ptx"][..], "\\u{1b}[31mred"),
        ("b.ori", kernel.replace("  ret", &format!("  bogus {hostile}")), &["opt", "b.ori"], "\\u{1b}]0;title\\u{7}"),
        (
            "c.rules",
            format!("rule a: bogus.u32(x, {hostile}) => x\n"),
            &["rules", "check", "c.rules"],
            "\\u{202e}turned",
        ),
        ("k.launch.toml", format!("grid = 1 {hostile}\nblock = 1\n"), &["run", "k.ori"], "\\u{9b}2J"),
        ("k.launch.toml", format!("grid = 1\nblock = 1\n\"{toml}\" = 1\n"), &["run", "k.ori"], "`\\u{1b}[31m`"),
        ("d.toml", format!("trips = {hostile}\n"), &["fuzz", "--cases", "1", "--config", "d.toml"], "\\u{1b}[31mred"),
    ] {
        std::fs::write(here.join(file), text).expect("the folder is writable");
        let ended = oriole(args, here);
        assert_ends(&ended, 2, "", "");
        let all = ended.out.clone() + &ended.err;
        let hidden: Vec<char> = all.chars().filter(|c| c.is_control() && *c != '\n' || *c == '\u{202e}').collect();
        assert!(hidden.is_empty() && all.contains(shown), "{file}: {hidden:?}\n{}", all.escape_debug());
    }
    // Names of files reach tables, comments of rules their explanation.
    let name = "\u{1b}[31mk.ori";
    std::fs::copy(here.join("k.ori"), here.join(name)).expect("the folder is writable");
    std::fs::write(here.join("\u{1b}[31mk.launch.toml"), "grid = 1\nblock = 1\n").expect("the folder is writable");
    let rules = "// A \u{1b}[31mcomment.\nrule my-rule: iadd.u32(x, 0) => x\n".replace("//", "#");
    std::fs::write(here.join("f.rules"), rules).expect("the folder is writable");
    for args in [
        &["check", name][..],
        &["check", name, "--fault", "off-by-one@ssa-construction"],
        &["run", name],
        &["rules", "explain", "my-rule", "f.rules"],
    ] {
        let ended = oriole(args, here);
        assert!(ended.out.contains("\\u{1b}[31m") || args[0] == "run", "{args:?}: {}", ended.out.escape_debug());
        assert!(
            !ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'),
            "{args:?}: {}",
            ended.out.escape_debug()
        );
    }
    std::fs::write(here.join("e.ptx"), b".version 8.0\n\xff\x1b").expect("the folder is writable");
    let ended = oriole(&["opt", "e.ptx"], here);
    assert_ends(&ended, 2, "", "");
    assert!(ended.err.contains("e.ptx:2:1") && !ended.err.contains('\u{1b}'), "{}", ended.err.escape_debug());
}

#[test]
fn only_regular_files_are_read() {
    for (name, command) in readers() {
        let here = tempfile::tempdir().expect("a temporary folder");
        let path = here.path().join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        assert_ends(&oriole(&command, here.path()), 2, "", "it is a pipe or a device");
        std::fs::remove_file(&path).expect("it was made");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("the folder is writable");
        assert_ends(&oriole(&command, here.path()), 2, "", "it is a pipe or a device");
    }
}

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const LAUNCH: &[u8] = b"grid = 64\nblock = 1024\n";

/// A folder with `k.ptx` and a launch without arguments.
fn kernel(text: &str) -> tempfile::TempDir {
    let here = tempfile::tempdir().expect("a temporary folder");
    write(here.path(), "k.ptx", format!("{PTX}{text}").as_bytes());
    write(here.path(), "k.launch.toml", LAUNCH);
    here
}

/// A call stack without end is a trap, as on the device, whether calls take stack or nothing at all.
#[test]
fn endless_recursion_is_a_trap() {
    let plain = kernel(".func f()\n{ call f; ret; }\n.visible .entry k()\n{ call f; ret; }\n");
    assert_ends(&oriole(&["run", "k.ptx"], plain.path()), 1, "trapped: stack overflow", "");
    assert_ends(&oriole(&["check", "k.ptx"], plain.path()), 3, "original traps", "");
    let call = "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }";
    let function = format!(".func f(.param .b32 x)\n{{ .reg .b32 %r<2>; ld.param.u32 %r1, [x]; {call} ret; }}\n");
    let entry = format!(".visible .entry k()\n{{ .reg .b32 %r<2>; mov.u32 %r1, 0; {call} ret; }}\n");
    let passing = kernel(&(function + &entry));
    assert_ends(&oriole(&["run", "k.ptx"], passing.path()), 1, "the stacks of all threads take more than 768 MiB", "");
}

#[test]
fn large_variables_are_refused_with_the_limit() {
    let entry = ".visible .entry k()\n{ .local .b8 a[1000000000]; .reg .b32 %r; ld.local.u32 %r, [a]; ret; }\n";
    assert_ends(&oriole(&["run", "k.ptx"], kernel(entry).path()), 2, "", "a thread has at most 524288 of local memory");
    let local = ".local .b8 a[300000]; .local .b8 b[300000]; .reg .b32 %r; ld.local.u32 %r, [a];";
    let entry = format!(".visible .entry k()\n{{ {local} ld.local.u32 %r, [b]; ret; }}\n");
    assert_ends(&oriole(&["run", "k.ptx"], kernel(&entry).path()), 2, "", "its variables have 600");
    let entry = ".visible .entry k()\n{ st.global.u32 [a0], 1; ret; }\n";
    let global = format!(".global .b8 a0[1000000000];\n{entry}");
    assert_ends(&oriole(&["check", "k.ptx"], kernel(&global).path()), 2, "", "it is larger than 128 MiB");
    let many: String = (0..20).map(|i| format!(".global .b8 a{i}[10000000];\n")).collect();
    let ended = oriole(&["run", "k.ptx"], kernel(&(many + entry)).path());
    assert_ends(&ended, 2, "", "have at most 128 MiB together");
    // What is just within the limits keeps to those of time and memory.
    let entry = ".visible .entry k()\n{ .local .b8 a[500000]; st.local.u32 [a], 1; ret; }\n";
    assert_ends(&oriole(&["run", "k.ptx"], kernel(entry).path()), 0, "finished", "");
    let global = ".global .b8 a[130000000];\n.visible .entry k()\n{ st.global.u32 [a], 1; ret; }\n";
    assert_ends(&oriole(&["run", "k.ptx"], kernel(global).path()), 0, "finished", "");
    let here = kernel(".visible .entry k(.param .u64 p)\n{ ret; }\n");
    let arg = ["run", "k.ptx", "--grid", "1", "--block", "1", "--arg", "zeroed:1000000000"];
    assert_ends(&oriole(&arg, here.path()), 2, "", "have at most 268435456 bytes together");
}

/// A thousand registers over a thousand blocks come to a million phis.
#[test]
fn many_phis_fit() {
    let (registers, blocks) = (1000, 1000);
    let mut text =
        format!(".visible .entry k(.param .u64 p)\n{{ .reg .b32 %r<{registers}>; .reg .pred %p; .reg .b64 %d;\n");
    text += "ld.param.u64 %d, [p]; ld.global.u32 %r0, [%d]; setp.eq.u32 %p, %r0, 0;\n";
    (1..registers).for_each(|i| text += &format!("add.u32 %r{i}, %r0, {i};\n"));
    for block in 0..blocks {
        let (to, from, target) = (block % registers, block * 7 % registers, block * 37 % blocks);
        text += &format!("L{block}: add.u32 %r{to}, %r{from}, 1; @%p bra L{target};\n");
    }
    (0..registers).for_each(|i| text += &format!("st.global.u32 [%d], %r{i};\n"));
    let here = kernel(&(text + "ret; }\n"));
    assert_ends(&oriole(&["opt", "k.ptx", "-o", "k.ori"], here.path()), 0, "", "");
}

/// A loop around functions of the system ends as one around nothing does, and its heap is bounded.
#[test]
fn endless_calls_of_the_system_end() {
    let declared = ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 n);\n";
    let malloc =
        "{ .param .b64 a; .param .b64 b; st.param.b64 [a], %d1; call (b), malloc, (a); ld.param.b64 %d2, [b]; }";
    let free = "{ .param .b64 a; st.param.b64 [a], %d2; call free, (a); }";
    for (bytes, free) in [(0, ""), (16, ""), (16, free)] {
        let body = format!(".reg .b64 %d<3>; mov.u64 %d1, {bytes}; L: {malloc} {free} bra L;");
        let here = kernel(&format!("{declared}.visible .entry k()\n{{ {body} }}\n"));
        assert_ends(&oriole(&["run", "k.ptx"], here.path()), 1, "out of steps", "");
        assert_ends(&oriole(&["check", "k.ptx"], here.path()), 3, "out of steps", "");
    }
    let printf = ".param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 0; st.param.b64 [b], 0;";
    let body = format!("L: {{ {printf} call (r), vprintf, (a, b); }} bra L;");
    let declared = ".extern .func (.param .b32 r) vprintf (.param .b64 n, .param .b64 m);\n";
    let here = kernel(&format!("{declared}.visible .entry k()\n{{ {body} }}\n"));
    assert_ends(&oriole(&["run", "k.ptx"], here.path()), 1, "out of steps", "");
}

/// Operations that take long count as more than one step, so that a loop around them ends as soon as another. Half of
/// the default budget has to do: a plain loop takes 16 s for the whole on a slow machine.
#[test]
fn endless_loops_of_dear_operations_end() {
    let dear = [
        "match.any.sync.b32 %r1, %r0, -1;",
        "atom.global.add.u32 %r1, [%d0], 1;",
        "st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4};",
    ];
    for dear in dear {
        let begin = ".reg .b32 %r<5>; .reg .b64 %d<1>; mov.u32 %r0, %tid.x; ld.param.u64 %d0, [p];";
        let here = kernel(&format!(".visible .entry k(.param .u64 p)\n{{ {begin} L: {dear} bra L; }}\n"));
        let launch = ["run", "k.ptx", "--grid", "1", "--block", "64", "--arg", "zeroed:64", "--steps", "134217728"];
        assert_ends(&oriole(&launch, here.path()), 1, "out of steps", "");
    }
}

/// Many threads that do nothing, and many kernels.
#[test]
fn many_threads_and_kernels_take_little_time() {
    let here = kernel(".visible .entry k()\n{ ret; }\n");
    write(here.path(), "k.launch.toml", b"grid = [2147483647, 65535, 65535]\nblock = 1024\n");
    assert_ends(&oriole(&["run", "k.ptx"], here.path()), 1, "out of steps", "");
    assert_ends(&oriole(&["check", "k.ptx"], here.path()), 3, "out of steps", "");
    let kernels: String = (0..50_000).map(|i| format!(".visible .entry k{i}()\n{{ ret; }}\n")).collect();
    // Cicc's pipeline in front would take longer than a test may.
    let phases = ["opt", "k.ptx", "-o", "k.ori", "--no-nvopt"];
    assert_ends(&oriole(&phases, kernel(&kernels).path()), 0, "", "");
}

#[test]
fn many_blocks_rules_and_zeros_take_little_time() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let blocks = 200_000;
    let mut text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n".to_owned();
    (0..blocks).for_each(|block| text += &format!("bb{block}:\n  bra bb{}\n", block + 1));
    text += &format!("bb{blocks}:\n  ret\n}}\n");
    write(here.path(), "blocks.ori", text.as_bytes());
    assert_ends(&oriole(&["opt", "blocks.ori", "-o", "out.ori"], here.path()), 0, "", "");
    let rules: String = (0..20_000).map(|i| format!("rule r{i}: iadd.u32(x, {i}) => x\n")).collect();
    write(here.path(), "many.rules", rules.as_bytes());
    for command in ["check", "list"] {
        let ended = oriole(&["rules", command, "many.rules"], here.path());
        assert_ends(&ended, 2, "", "this is rule number 4097, a set has at most 4096");
    }
    // Rules are held against the built-in ones, which count too.
    let most: String = rules.lines().take(3700).map(|line| format!("{line}\n")).collect();
    write(here.path(), "most.rules", most.as_bytes());
    assert_ends(&oriole(&["rules", "list", "most.rules"], here.path()), 0, "r3699", "");
    refused_everywhere(&[&vec![0; 3_000_000][..], b"x"].concat());
}

#[test]
fn numbers_beyond_limits_are_refused() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let saxpy = corpus("saxpy.ptx");
    assert_ends(&oriole(&["check", &saxpy, "--jobs", "1000000"], here.path()), 2, "", "is not in 0..=1024");
    assert_ends(&oriole(&["fuzz", "--cases", "0"], here.path()), 2, "", "0 is not in 1..");
    assert_ends(&oriole(&["check", &saxpy, "--hang-after", "0"], here.path()), 2, "", "at least 100ms");
    write(here.path(), "c.toml", b"instructions = [4294967295, 4294967295]\n");
    let fuzz = ["fuzz", "--cases", "1", "--corpus", "none", "--config", "c.toml"];
    assert_ends(&oriole(&fuzz, here.path()), 2, "", "`instructions` is 4294967295, but at most 5000");
    let printed = oriole(&["fuzz", "--print-config"], here.path());
    assert_ends(&printed, 0, "trips = 3", "");
    write(here.path(), "c.toml", printed.out.as_bytes());
    assert_ends(&oriole(&fuzz, here.path()), 0, "1 case, ", "");
}

/// Settings may be as large as they can be: cases that take longer than the campaign are left.
#[test]
fn the_largest_settings_keep_to_the_time() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let printed = oriole(&["fuzz", "--print-config"], here.path());
    // What each setting is at most is above it.
    let (mut most, mut text, mut set) = (None, String::new(), 0);
    for line in printed.out.lines() {
        let said = line.rsplit_once("At most ").and_then(|(_, rest)| rest.trim_end_matches('.').parse::<u64>().ok());
        most = said.or(most);
        let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) else {
            text += &format!("{line}\n");
            continue;
        };
        set += usize::from(most.is_some());
        text += &match most.take() {
            Some(most) if value.starts_with('[') => format!("{key} = [{most}, {most}]\n"),
            Some(most) => format!("{key} = {most}\n"),
            None => format!("{line}\n"),
        };
    }
    assert!(set > 40, "{set} settings have a limit");
    write(here.path(), "most.toml", text.as_bytes());
    let start = Instant::now();
    let fuzz = ["fuzz", "--time", "2s", "--jobs", "1", "--corpus", "none", "--config", "most.toml"];
    assert_ends(&oriole(&fuzz, here.path()), 0, " case", "");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// A file that may not grow is an error that is reported.
#[test]
fn a_full_file_is_an_error() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let command = "ulimit -f 1; exec \"$0\" opt \"$1\" --emit ori > out.ori";
    let output = Command::new("sh")
        .args(["-c", command, env!("CARGO_BIN_EXE_oriole"), &corpus("sha256.ptx")])
        .current_dir(here.path())
        .output()
        .expect("sh");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{:?}: {said}", output.status);
    assert!(said.contains("cannot write the output"), "{said}");
}

/// Who reads the output may leave after the first line; the exit code still says what was found.
#[test]
fn findings_are_in_the_exit_code_though_nobody_reads() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command
        .args(["check", &corpus("saxpy.ptx"), "--fault", "swapped-branch@ssa-construction"])
        .current_dir(here.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}
