//! What commands say of the cases that they compare on: which say nothing and why, how many different data there were,
//! and what the launch itself expects.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a kernel `k` of these parameters and this body, and its launch.
fn folder(parameters: &str, body: &str, launch: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "k.ptx", &kernel(parameters, body));
    write(folder.path(), "k.launch.toml", launch);
    folder
}

fn kernel(parameters: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[256];\n.visible .entry k({parameters})\n\
         {{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\n{body}\nret;\n}}\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("the folder is writable");
}

/// Runs a command; its ptxas hands out code of another kernel, which is judged by nothing.
fn oriole(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(arguments).current_dir(folder);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins/half_arith.sm_90.O3.cubin");
        let tools = folder.join("tools");
        std::fs::create_dir_all(&tools).expect("the folder is writable");
        let tool: PathBuf = tools.join("ptxas");
        let lines = format!("#!/bin/sh\nfor out; do :; done\ncp {} \"$out\"\n", other.display());
        std::fs::write(&tool, lines).expect("the folder is writable");
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        command.env("PATH", format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default()));
    }
    command.output().expect("the command starts")
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, said: &[&str]) {
    let all = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert_eq!(output.status.code(), Some(code), "{all}");
    said.iter().for_each(|said| assert!(all.contains(said), "no `{said}` in {all}"));
}

/// Each command that compares ends with 3, and says this.
#[track_caller]
fn assert_says_nothing(folder: &Path, said: &[&str]) {
    assert_ends(
        &oriole(&["check", "k.ptx"], folder),
        3,
        &[said, &["./k.launch.toml, and 2 more: ", "0 of 1 kernel clean", "1 not judged"]].concat(),
    );
    let compare = oriole(&["compare", "k.ptx", "k.ptx"], folder);
    assert_ends(&compare, 3, &[said, &["inconclusive", "9 of 9 cases say nothing:", ", and 8 more: "]].concat());
    assert_ends(&oriole(&["judge", "k.ptx", "-O", "3"], folder), 3, &[said, &["not judged"]].concat());
    let json = oriole(&["check", "k.ptx", "--format", "json"], folder);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&document["clean"], &document["kernels"][0]["judged"]), (&false.into(), &false.into()));
}

const OUT: &str = ".param .u64 out";
const ONE: &str = "grid = 1\nblock = 1\n[[arg]]\nname = \"out\"\nzeroed = 256\n";

#[test]
fn a_launch_that_says_nothing_is_named_with_the_reason() {
    let traps = folder(OUT, "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 trap;", ONE);
    assert_says_nothing(traps.path(), &["trapped: trap instruction, thread (0,0,0)", "(line 13)"]);
    let undefined = folder(OUT, "ld.shared.u32 %r1, [s];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nL:", ONE);
    assert_says_nothing(undefined.path(), &["undefined: ", "thread (0,0,0)", "(line 13)"]);
    let endless = folder(OUT, "L:\nbra L;", &format!("steps = 1000\n{ONE}"));
    assert_says_nothing(endless.path(), &["out of steps after", "`steps` in the launch file"]);
}

/// Each thread reads what its neighbour stores, with no barrier between. The bytes are the same in any order that is
/// tried, so that nothing else shows it.
#[test]
fn threads_that_race_are_named_unasked() {
    let body = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3], %r1;\nBARRIER\n\
        xor.b32 %r4, %r1, 1;\nmad.lo.u32 %r4, %r4, 4, %r2;\nld.shared.u32 %r5, [%r4];\nld.param.u64 %d1, [out];\n\
        mad.wide.u32 %d2, %r1, 4, %d1;\nst.global.u32 [%d2], %r5;";
    let launch = ONE.replace("block = 1", "block = 64");
    let racing = folder(OUT, &body.replace("BARRIER\n", ""), &launch);
    let said = ["race on shared byte", "st.shared", "(line 14)", "ld.shared", "(line 17)", "order of threads"];
    assert_says_nothing(racing.path(), &said);
    let barrier = folder(OUT, &body.replace("BARRIER", "bar.sync 0;"), &launch);
    assert_ends(&oriole(&["check", "k.ptx"], barrier.path()), 0, &["1 of 1 kernel clean"]);
}

#[test]
fn what_the_launch_expects_is_not_blamed_on_a_phase_or_a_compiler() {
    let body = "ld.param.u64 %d1, [out];\nst.global.u32 [%d1+4], 7;";
    let expects = format!("{ONE}type = \"s32\"\nexpect_hex = \"{}\"\n", "00".repeat(256));
    let wrong = folder(OUT, body, &expects);
    let value = "out[1] (s32 at byte 4): expected 0 (0x00000000), got 7 (0x00000007)";
    let check = oriole(&["check", "k.ptx"], wrong.path());
    assert_ends(
        &check,
        1,
        &["itself, before any phase, does not do what ./k.launch.toml expects", value, "0 findings"],
    );
    let judge = oriole(&["judge", "k.ptx", "-O", "3"], wrong.path());
    assert_ends(&judge, 1, &["itself, before any compiler, does not do what ./k.launch.toml expects", value]);
    let compare = oriole(&["compare", "k.ptx", "k.ptx"], wrong.path());
    assert_ends(&compare, 0, &["equal", "BEFORE itself does not do what the launch expects: ./k.launch.toml", value]);
}

/// The sum saturates unless the data are zero, which they are in the launch.
#[test]
fn zeros_and_integers_are_drawn_too_and_different_data_are_counted() {
    let parameters = ".param .u64 out, .param .u64 data, .param .u32 n";
    let body = |operation: &str| {
        format!(
            "ld.param.u64 %d1, [out];\nld.param.u64 %d2, [data];\nld.param.u32 %r6, [n];\nmov.u32 %r1, %tid.x;\n\
             setp.ge.u32 %p1, %r1, %r6;\n@%p1 ret;\nmul.wide.u32 %d3, %r1, 4;\nadd.u64 %d4, %d2, %d3;\n\
             add.u64 %d5, %d1, %d3;\nld.global.u32 %r2, [%d4];\n{operation} %r3, %r1, %r2;\nst.global.u32 [%d5], %r3;"
        )
    };
    let launch =
        "grid = 1\nblock = 32\n[[arg]]\nzeroed = 128\n[[arg]]\nzeroed = 128\n[[arg]]\ntype = \"u32\"\nvalue = 32\n";
    let zeros = folder(parameters, &body("add.sat.s32"), launch);
    write(zeros.path(), "wraps.ptx", &kernel(parameters, &body("add.s32")));
    let same = oriole(&["compare", "k.ptx", "k.ptx"], zeros.path());
    assert_ends(&same, 0, &["k: equal, 9 cases compared, 9 different sets of data, 0 inconclusive"]);
    assert_ends(&oriole(&["compare", "k.ptx", "wraps.ptx"], zeros.path()), 1, &["k: DIFFERENT"]);
    let json = oriole(&["check", "k.ptx", "--format", "json"], zeros.path());
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&document["clean"], &document["kernels"][0]["data"]), (&true.into(), &3.into()));
    // A kernel without any data has nothing to draw.
    let empty = folder("", "", "grid = 1\nblock = 1\n");
    assert_ends(
        &oriole(&["compare", "k.ptx", "k.ptx"], empty.path()),
        0,
        &["9 cases compared, 1 different set of data"],
    );
}

#[test]
fn floats_may_differ_as_far_as_somebody_says() {
    let parameters = ".param .u64 out, .param .u64 data";
    let body = |sum: &str| {
        format!(
            "ld.param.u64 %d1, [out];\nld.param.u64 %d2, [data];\nld.global.f32 %f1, [%d2];\nld.global.f32 %f2, [%d2+4];\n\
             {sum}\nst.global.f32 [%d1+8], %f3;"
        )
    };
    let data = |key: &str| {
        format!(
            "grid = 1\nblock = 1\n[[arg]]\nname = \"out\"\nzeroed = 12\ntype = \"f32\"\n{key}[[arg]]\ntype = \"f32\"\n\
             data = [1.2, 1.3]\n"
        )
    };
    let folder = folder(parameters, &body("mul.f32 %f4, %f1, %f2;\nadd.f32 %f3, %f4, %f1;"), &data(""));
    let here = folder.path();
    write(here, "fused.ptx", &kernel(parameters, &body("fma.rn.f32 %f3, %f1, %f2, %f1;")));
    write(here, "wrong.ptx", &kernel(parameters, &body("mul.f32 %f4, %f1, %f2;\nadd.f32 %f3, %f4, %f2;")));
    let compare =
        |after: &str, more: &[&str]| oriole(&[&["compare", "k.ptx", after, "--randoms", "0"], more].concat(), here);
    let hint = "both do the same once each fused multiply-add is a product and a sum";
    let fused = compare("fused.ptx", &[]);
    assert_ends(&fused, 1, &["first at byte 8: expected ", "; out[2] (f32 at byte 8): expected 2.7600002 (0x", hint]);
    let near = "within the tolerance: ./k.launch.toml: 1 element of out, the farthest by 1 ulp at out[2]";
    assert_ends(&compare("fused.ptx", &["--tolerance", "ulp=1"]), 0, &["k: equal", near]);
    assert_ends(&compare("fused.ptx", &["--tolerance", "relative=1e-6"]), 0, &["k: equal"]);
    assert_ends(&compare("fused.ptx", &["--tolerance", "ulp=0"]), 1, &["k: DIFFERENT"]);
    assert_ends(&compare("fused.ptx", &["--tolerance", "2"]), 2, &["`2` is no tolerance"]);
    let wrong = compare("wrong.ptx", &["--tolerance", "ulp=1"]);
    assert_ends(&wrong, 1, &["k: DIFFERENT"]);
    assert!(!String::from_utf8_lossy(&wrong.stdout).contains(hint), "nothing is fused there");
    // The launch may say so itself, and no phase may take leave from that.
    write(here, "k.launch.toml", &data("tolerance = { ulp = 1 }\n"));
    assert_ends(&compare("fused.ptx", &[]), 0, &["k: equal", near]);
    write(here, "near.rules", "rule fuse: fadd.f32(fmul.f32(x, y), z) => ffma.rn.f32(x, y, z)\n");
    let check = oriole(&["check", "k.ptx", "--rules", "near.rules", "--randoms", "0"], here);
    assert_ends(&check, 1, &["mismatch", "out[2] (f32 at byte 8): expected 2.7600002"]);
    write(
        here,
        "k.launch.toml",
        &data("").replace("type = \"f32\"\n", "").replace("data = [1.2, 1.3]", "hex = \"9a99993f6666a63f\""),
    );
    assert_ends(&compare("fused.ptx", &["--tolerance", "ulp=1"]), 2, &["--tolerance: no buffer of a launch of `k`"]);
}
