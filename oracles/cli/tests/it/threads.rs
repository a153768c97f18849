//! `opt` on several threads: the same result for every number of them, and leave of make for each but the first.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jobserver::Client;

/// A module of so many kernels, each with a loop, a call and a product of its own.
fn kernels(count: usize) -> String {
    let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
    for kernel in 0..count {
        let lengths = 3 + kernel % 7;
        write!(
            text,
            ".visible .entry k{kernel}(.param .u32 n, .param .u64 out)\n{{\n    .reg .pred %p<3>;\n    .reg .b32 %r<40>;\n    \
             .reg .b64 %d<4>;\n    ld.param.u32 %r1, [n];\n    ld.param.u64 %d1, [out];\n    mov.u32 %r2, 0;\n    \
             mov.u32 %r3, %tid.x;\nagain:\n"
        )
        .expect("memory");
        for step in 0..lengths {
            writeln!(text, "    mul.lo.u32 %r{0}, %r3, {kernel};\n    add.u32 %r3, %r{0}, %r1;", 4 + step)
                .expect("memory");
            writeln!(text, "    mul.lo.u32 %r{0}, %r1, {kernel};\n    xor.b32 %r3, %r{0}, %r3;", 14 + step)
                .expect("memory");
        }
        text += "    add.u32 %r2, %r2, 1;\n    setp.lt.u32 %p1, %r2, %r1;\n    @%p1 bra again;\n    st.global.u32 [%d1], %r3;\n    \
                 ret;\n}\n";
    }
    text
}

fn opt(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(["opt", "K.ptx"]).args(arguments);
    ["MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS"].iter().for_each(|name| _ = command.env_remove(name));
    command
}

fn folder(kernels_in_it: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("K.ptx"), kernels(kernels_in_it)).expect("the folder is writable");
    folder
}

fn finished(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The kernels that are written do not depend on the number of threads. Reports are the optimizer's own test.
#[test]
fn results_are_the_same_for_every_number_of_threads() {
    let folder = folder(100);
    let small: &[&str] = &["--passes", "function(early-cse,licm,dce),gvn,simplifycfg"];
    let whole: &[&str] = &["-O3", "--no-nvopt"];
    for (pipeline, numbers) in [(whole, &["2", "8"] as &[&str]), (small, &["2", "3", "8", "64", "0"])] {
        let result = |threads: &str| finished(opt(folder.path(), pipeline).args(["--threads", threads])).stdout;
        let alone = result("1");
        assert!(alone.len() > 10_000);
        for threads in numbers {
            assert!(result(threads) == alone, "{threads} threads make something else");
        }
    }
}

/// A server with so many tokens, and a command that works for it.
fn under_make(command: &mut Command, tokens: usize) -> Client {
    let make = Client::new(tokens).expect("a jobserver");
    make.configure_make(command);
    make
}

#[test]
fn make_gets_its_tokens_back() {
    let folder = folder(300);
    let mut command = opt(folder.path(), &["--jobserver", "--threads", "8"]);
    let make = under_make(&mut command, 3);
    let output = finished(&mut command);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("jobserver"), "it has one");
    assert_eq!(make.available().expect("a pipe"), 3);
    // Rules that undo each other have no end: a thread with a token finds that out, and the command ends with 1.
    let rules = "rule there priority 36: imul.lo.u32(x, y) => imul.lo.u32(y, x)\n";
    std::fs::write(folder.path().join("endless.rules"), rules).expect("the folder is writable");
    let endless = ["--jobserver", "--threads", "8", "--no-nvopt", "--rules", "endless.rules", "--unchecked-rules"];
    let mut command = opt(folder.path(), &endless);
    let make = under_make(&mut command, 3);
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("does not end on function"), "{said}");
    assert_eq!(make.available().expect("a pipe"), 3);
}

/// A signal finds tokens out, and all are back when the process has ended.
#[cfg(unix)]
#[test]
fn make_gets_its_tokens_back_after_a_signal() {
    let folder = folder(4000);
    let mut command = opt(folder.path(), &["--threads", "8", "-o", "out.ptx"]);
    let make = under_make(&mut command, 3);
    let mut child = command.spawn().expect("it starts");
    let start = Instant::now();
    while make.available().expect("a pipe") == 3 && start.elapsed() < Duration::from_secs(60) {
        assert_eq!(child.try_wait().expect("a child"), None, "it has ended before it has taken a token");
        sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    assert_eq!(child.wait().expect("a child").code(), Some(130));
    assert_eq!(make.available().expect("a pipe"), 3);
    assert!(!folder.path().join("out.ptx").exists());
}

#[test]
fn a_jobserver_that_is_not_there_is_said() {
    let folder = folder(2);
    let told = |makeflags: &str| {
        let output = opt(folder.path(), &["--jobserver"]).env("MAKEFLAGS", makeflags).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (makeflags, problem) in
        [("", "there is no"), ("-j2 --jobserver-auth=-2,-2", "is negative"), ("-j2 --jobserver-auth=198,199", "198")]
    {
        let (code, said) = told(makeflags);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("jobserver pipe problem") && said.contains(problem), "{makeflags}: {said}");
    }
    for makeflags in ["--jobserver-auth=nonsense", "--jobserver-auth=fifo:/nowhere/there"] {
        let (code, said) = told(makeflags);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("GNU Jobserver support requested, but an error occurred"), "{makeflags}: {said}");
    }
    for makeflags in ["-j2 --jobserver-auth=-2,-2", "--jobserver-auth=nonsense"] {
        let silent = finished(opt(folder.path(), &[]).env("MAKEFLAGS", makeflags));
        assert!(silent.stderr.is_empty(), "nobody asked for one");
    }
}

/// Parts change nothing where passes look at one function at a time, and results where they look at more: each kernel
/// is in one part.
#[test]
fn results_are_the_same_for_every_number_of_parts() {
    let folder = folder(60);
    let whole = finished(&mut opt(folder.path(), &["-O3"])).stdout;
    for parts in [
        &["--split-compile", "0"] as &[&str],
        &["--split-compile", "1"],
        &["--split-compile", "64"],
        &["--opt", "slot-203=3"],
    ] {
        let split = finished(opt(folder.path(), &["-O3"]).args(parts)).stdout;
        assert!(split == whole, "{parts:?} make something else");
    }
}

/// Some things cannot be told of parts, whichever way they are asked for.
#[test]
fn parts_are_refused_what_wants_a_whole() {
    let folder = folder(2);
    for parts in [&["--split-compile", "2"], &["--opt", "slot-203=2"]] {
        for (asked, why) in [(&["--explain"] as &[&str], "changes of its own"), (&["--rewrite-limit", "3"], "no order")]
        {
            let output = opt(folder.path(), asked).args(parts).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(why) && said.contains("leave out --split-compile"), "{said}");
        }
    }
    // Dumps come one part after the other.
    let dumped =
        finished(opt(folder.path(), &["--dump-ir", "GeneralOptimizeEarly", "--split-compile", "2"]).arg("--no-nvopt"));
    let said = String::from_utf8_lossy(&dumped.stderr);
    assert!(
        ["k0", "k1"].iter().all(|kernel| said.contains(&format!("; after GeneralOptimizeEarly: {kernel}"))),
        "{said}"
    );
}

#[test]
fn blocks_are_named_by_their_places_where_an_option_asks_for_it() {
    let folder = folder(2);
    let named = finished(&mut opt(folder.path(), &["--passes", "dce", "--opt", "slot-195=1"])).stdout;
    let named = String::from_utf8(named).expect("it is text");
    assert!(["F1_B1:", "F1_B2:", "F2_B1:", "bra F2_B2;"].iter().all(|name| named.contains(name)), "{named}");
    assert!(!named.contains("$L_"), "{named}");
}
