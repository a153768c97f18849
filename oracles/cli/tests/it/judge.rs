//! `oriole judge`: captured code beside its PTX, changed code, and how the command ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oriole_sass::cubin::Cubin;

fn corpus(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file)
}

fn judge(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).arg("judge").args(arguments).output().expect("the command starts")
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, said: &[&str]) {
    let all = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert_eq!(output.status.code(), Some(code), "{all}");
    // Diagnostics are broken into lines.
    let all = all.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    said.iter().for_each(|said| assert!(all.contains(said), "no `{said}` in {all}"));
    assert!(!all.contains("panicked"), "{all}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("paths of the tree are text")
}

/// Code that waits for nothing computes the same in order, and is wrong on a machine.
#[test]
fn code_whose_waits_are_cleared_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, cubin) = (corpus("kernels/half_arith.ptx"), corpus("cubins/half_arith.sm_90.O3.cubin"));
    let read = Cubin::read(&std::fs::read(&cubin).unwrap()).unwrap();
    let function = read.function("half_arith").unwrap();
    // The six bits of the wait mask.
    let words: Vec<u128> = read.words(function).map(|word| word & !(0x3f << 116)).collect();
    std::fs::write(folder.path().join("hasty.cubin"), read.with_code("half_arith", &words).unwrap()).unwrap();
    let hasty = judge(&[path(&kernel), "--cubin", "hasty.cubin"], folder.path());
    assert_ends(&hasty, 1, &["hasty.cubin: equal", "scheduling: half_arith: ", "nothing waits for barrier"]);
    let json = judge(&[path(&kernel), "--cubin", "hasty.cubin", "--format", "json"], folder.path());
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let hazards = document["axes"][0]["hazards"].as_array().expect("a list");
    assert!(document["equal"] == false && hazards.len() > 3, "{document}");
}

#[test]
fn captured_code_is_equal_and_changed_code_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, cubin) = (corpus("kernels/half_arith.ptx"), corpus("cubins/half_arith.sm_90.O3.cubin"));
    let good = judge(&[path(&kernel), "--cubin", path(&cubin)], folder.path());
    assert_ends(&good, 0, &["equal, 5 of 5 cases compared"]);

    // A fused product loses its addend: the source of the sum becomes the register that is zero.
    let read = Cubin::read(&std::fs::read(&cubin).unwrap()).unwrap();
    let function = read.function("half_arith").unwrap();
    let mut words: Vec<u128> = read.words(function).collect();
    let is_fused = |word: &u128| matches!(word & 0xfff, 0x235 | 0x231);
    let at = words.iter().position(is_fused).expect("the kernel has a fused product of halves");
    words[at] |= 0xff << 64;
    std::fs::write(folder.path().join("wrong.cubin"), read.with_code("half_arith", &words).unwrap()).unwrap();
    let wrong = judge(&[path(&kernel), "--cubin", "wrong.cubin"], folder.path());
    assert_ends(&wrong, 1, &["wrong.cubin: DIFFERENT", "the code stores it last by thread", "the PTX stores it last"]);
    let json = judge(&[path(&kernel), "--cubin", "wrong.cubin", "--format", "json"], folder.path());
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&document["equal"], &document["axes"][0]["answer"]), (&false.into(), &"different".into()));
    // Both sides end at the store, and in front of it they have values in common.
    let steps = document["axes"][0]["difference"]["steps"].as_array().expect("the thread was executed again");
    let text = |line: &serde_json::Value, side: &str| line[side]["text"].as_str().unwrap_or_default().to_owned();
    let last = steps.last().expect("there is a store");
    assert!(text(last, "ptx").starts_with("st.global") && text(last, "code").contains("STG.E"), "{last}");
    let equal: Vec<_> = steps.iter().filter(|line| line["same"] == true).collect();
    let low = |line: &serde_json::Value, side: &str| line[side]["value"].as_u64().expect("it made a value") as u16;
    assert!(equal.len() > 3 && equal.iter().all(|line| low(line, "ptx") == low(line, "code")), "{steps:#?}");
    let fused = |line: &serde_json::Value| text(line, "code").contains("HFMA2") && line["same"] == false;
    assert!(steps.iter().any(fused), "what is wrong is no equal of anything: {steps:#?}");
}

#[test]
fn bad_input_and_what_is_not_executed_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = corpus("kernels/mbarrier_pipeline.ptx");
    // A word of no instruction is at the beginning.
    let own = std::fs::read(corpus("cubins/mbarrier_pipeline.sm_90.O3.cubin")).unwrap();
    let own = Cubin::read(&own).unwrap();
    let entry = own.entries().next().expect("it has a kernel");
    let words: Vec<u128> = std::iter::once(0).chain(own.words(entry).skip(1)).collect();
    std::fs::write(folder.path().join("unknown.cubin"), own.with_code(&entry.name, &words).unwrap()).unwrap();
    let unknown = judge(&[path(&kernel), "--cubin", "unknown.cubin"], folder.path());
    assert_ends(&unknown, 3, &["not judged", "is not executed"]);
    let other = corpus("cubins/half_arith.sm_90.O3.cubin");
    assert_ends(&judge(&[path(&kernel), "--cubin", path(&other)], folder.path()), 3, &["has no kernel"]);
    std::fs::write(folder.path().join("bad.cubin"), b"no cubin").unwrap();
    assert_ends(&judge(&[path(&kernel), "--cubin", "bad.cubin"], folder.path()), 2, &["bad.cubin"]);
    assert_ends(&judge(&[path(&kernel), "--cubin", "none.cubin"], folder.path()), 2, &["none.cubin"]);
    assert_ends(&judge(&["none.ptx"], folder.path()), 2, &["none.ptx"]);
    assert_ends(&judge(&[path(&kernel), "-O", "7"], folder.path()), 2, &["7"]);
    assert_ends(&judge(&[path(&kernel), "--sm", "sm_50"], folder.path()), 2, &["sm_50", "sm_80, sm_86"]);
}

/// Judges captured code of `half_arith` as if it were that of another kernel, whose registers and body these are; its
/// first parameter is `p`, and four more buffers follow.
fn judge_as(registers: &str, body: &str) -> Output {
    judge_words_as(&[], registers, body, &[])
}

/// The same, where the code begins with other words.
fn judge_words_as(words: &[u128], registers: &str, body: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("half_arith.ptx");
    let entry = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry half_arith(\n\
        .param .u64 p, .param .u64 q, .param .u64 r, .param .u64 s, .param .u64 t)\n{\n";
    std::fs::write(&ptx, format!("{entry}{registers}{body}ret;\n}}\n")).unwrap();
    let launch = "kernel = \"half_arith\"\ngrid = [1, 1, 1]\nblock = [96, 1, 1]\n";
    let launch = [launch, &"[[arg]]\nzeroed = 3072\n".repeat(5)].concat();
    std::fs::write(folder.path().join("half_arith.launch.toml"), launch).unwrap();
    let captured = Cubin::read(&std::fs::read(corpus("cubins/half_arith.sm_90.O3.cubin")).unwrap()).unwrap();
    let mut code: Vec<u128> = captured.words(captured.function("half_arith").unwrap()).collect();
    code[..words.len()].copy_from_slice(words);
    let cubin = folder.path().join("code.cubin");
    std::fs::write(&cubin, captured.with_code("half_arith", &code).unwrap()).unwrap();
    let own = [path(&ptx), "--cubin", path(&cubin), "--randoms", "0"];
    judge(&[&own[..], arguments].concat(), folder.path())
}

/// The first sixteen lanes of a warp add 4 to a uniform register, which all lanes then store.
const SHARED_SUM: [u128; 11] = [
    0x000e_2e00_0000_2100_0000_0000_0005_7919, // S2R R5, SR_TID.X
    0x000e_6200_0000_0a00_0000_8400_ff02_7b82, // LDC.64 R2, c[0x0][0x210]
    0x000f_e200_0000_0a00_0000_8200_0004_7ab9, // ULDC.64 UR4, c[0x0][0x208]
    0x041f_e200_03f0_6070_0000_0010_0500_780c, // ISETP.GE.U32.AND P0, PT, R5, 0x10, PT
    0x002f_ce00_078e_0002_0000_0004_0502_7825, // IMAD.WIDE.U32 R2, R5, 0x4, R2
    0x000f_e200_0000_0000_0000_0000_0006_7882, // UMOV UR6, 0x0
    0x000f_ea00_0380_0000_0000_0000_0004_0947, // @P0 BRA 0x80
    0x000f_e400_0fff_e03f_0000_0004_0606_7890, // UIADD3 UR6, UR6, 0x4, URZ
    0x001f_ce00_0f8e_00ff_0000_0006_ff07_7e24, // IMAD.U32 R7, RZ, RZ, UR6
    0x000f_e200_0c10_1904_0000_0007_0200_7986, // STG.E desc[UR4][R2.64], R7
    0x000f_ea00_0380_0000_0000_0000_0000_794d, // EXIT
];

/// The code stores what the PTX does in the first warp only as long as lanes that do not branch go first. Who goes
/// first is said, and the thread is shown as it is then.
#[test]
fn code_is_wrong_that_is_right_in_one_order_of_lanes() {
    let store = "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\nselp.u32 %r2, 0, 4, %p1;\n\
        mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r2;\n";
    let registers = ".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n";
    let wrong = |arguments: &[&str]| judge_words_as(&SHARED_SUM, registers, store, arguments);
    assert_ends(&wrong(&[]), 1, &["DIFFERENT", "where lanes that branch go first"]);
    let document: serde_json::Value = serde_json::from_slice(&wrong(&["--format", "json"]).stdout).unwrap();
    let difference = &document["axes"][0]["difference"];
    assert_eq!(difference["order"], "lanes that branch go first");
    let steps = difference["steps"].as_array().expect("the thread was executed again");
    let copied = steps.iter().find(|line| line["code"]["text"].as_str().is_some_and(|text| text.contains("IMAD.U32")));
    assert_eq!(copied.expect("it copies the sum")["code"]["value"], 0);
}

/// What the PTX leaves depends on the order of lanes as well, so the code may do the same.
#[test]
fn code_may_depend_on_the_order_of_lanes_where_its_program_does() {
    let body = "ld.param.u64 %d1, [p];\nld.param.u64 %d3, [q];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n\
        add.u64 %d1, %d1, %d2;\nshr.u32 %r3, %r1, 5;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra last;\n\
        setp.ge.u32 %p1, %r1, 16;\n@%p1 bra all;\nred.global.or.b32 [%d3+128], 4;\nall:\n\
        atom.global.or.b32 %r2, [%d3+128], 0;\nst.global.u32 [%d1], %r2;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\n\
        red.global.and.b32 [%d3+128], 0;\nret;\nlast:\nst.global.u32 [%d1], 0;\n";
    let registers = ".reg .pred %p<3>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n";
    assert_ends(&judge_words_as(&SHARED_SUM, registers, body, &[]), 0, &["equal, 1 of 1 case compared"]);
}

/// Additions and conjunctions in one cell do not commute: what is left depends on the order of the threads.
#[test]
fn what_depends_on_the_order_of_threads_is_not_judged() {
    let body = "ld.param.u64 %d1, [p];\ncvta.to.global.u64 %d2, %d1;\nmov.u32 %r1, %tid.x;\n\
        red.global.and.b32 [%d2], %r1;\nred.global.add.u32 [%d2], %r1;\n";
    assert_ends(&judge_as(".reg .b32 %r<4>;\n.reg .b64 %d<4>;\n", body), 3, &["depends on their order"]);
}

/// Reasons have kinds for programs that read the report: here a texture is read, or the program races.
#[test]
fn causes_have_names() {
    // TEX.LL.F16.RN R6, R4, R6, R4, UR4, 0x0, 2D: halves are not executed.
    let texture = [0x000f_6200_099e_8f06_2000_0404_0604_7f60];
    let body = "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n\
        st.global.u32 [%d1], %r1;\n";
    let cause = |words: &[u128], body: &str| {
        let registers = ".reg .b32 %r<4>;\n.reg .b64 %d<4>;\n";
        let output = judge_words_as(words, registers, body, &["--format", "json"]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        document["axes"][0]["cause"].clone()
    };
    assert_eq!(cause(&texture, body), serde_json::json!({ "kind": "not-executed", "mnemonic": "TEX" }));
    let orders = "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nred.global.and.b32 [%d1], %r1;\n\
        red.global.add.u32 [%d1], %r1;\n";
    assert_eq!(cause(&[], orders), serde_json::json!({ "kind": "races" }));
}

/// One thread fills all buffers with a word, of which the machine decides what it is; the code does something else.
#[test]
fn what_the_isa_leaves_open_is_not_judged() {
    let fill = |value: &str| {
        let mut body = format!(
            "mov.u32 %r1, {value};\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u64 %d1, 0;\n"
        );
        for (at, parameter) in ["p", "q", "r", "s", "t"].iter().enumerate() {
            body += &format!("ld.param.u64 %d{}, [{parameter}];\n", at + 2);
        }
        body += "L:\n";
        for at in 2..7 {
            body += &format!("add.u64 %d8, %d{at}, %d1;\nst.global.u32 [%d8], %r1;\n");
        }
        body += "add.u64 %d1, %d1, 4;\nsetp.lt.u64 %p1, %d1, 3072;\n@%p1 bra L;\n";
        judge_as(".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %d<9>;\n", &body)
    };
    assert_ends(&fill("%smid"), 3, &["not judged", "open: NaNs"]);
    assert_ends(&fill("%nctaid.y"), 1, &["DIFFERENT"]);
}

/// Captured code has fused products. PTX that has products and sums in their place, none of which says how it rounds,
/// leaves it to the compiler to fuse them; one that says so does not.
#[test]
fn products_may_be_fused_with_sums_where_ptx_leaves_that_open() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = std::fs::read_to_string(corpus("kernels/matmul_tiled.ptx")).unwrap();
    let launch = std::fs::read_to_string(corpus("kernels/matmul_tiled.launch.toml")).unwrap();
    let launch: Vec<&str> = launch.lines().filter(|line| !line.starts_with("expect")).collect();
    std::fs::write(folder.path().join("matmul_tiled.launch.toml"), launch.join("\n")).unwrap();
    for buffer in launch.iter().filter_map(|line| line.strip_prefix("buffer = \"")?.strip_suffix('"')) {
        std::fs::copy(corpus("kernels").join(buffer), folder.path().join(buffer)).unwrap();
    }
    let cubin = corpus("cubins/matmul_tiled.sm_90.O3.cubin");
    let judge = |rounding: &str| {
        let apart = |line: &str| match line.trim().strip_prefix("fma.rn.f32") {
            Some(operands) => {
                let operands: Vec<&str> = operands.trim().trim_end_matches(';').split(", ").collect();
                let [d, a, b, c] = operands[..] else { panic!("{line}") };
                format!("mul{rounding}.f32 %product, {a}, {b};\nadd{rounding}.f32 {d}, %product, {c};\n")
            }
            None if line.contains(".reg .pred") => format!(".reg .f32 %product;\n{line}\n"),
            None => format!("{line}\n"),
        };
        let apart: String = ptx.lines().map(apart).collect();
        std::fs::write(folder.path().join("matmul_tiled.ptx"), apart).unwrap();
        judge(&["matmul_tiled.ptx", "--cubin", path(&cubin), "--randoms", "0"], folder.path())
    };
    assert_ends(&judge(""), 0, &["equal, 1 of 1 case compared", "equal once products are fused with sums"]);
    assert_ends(&judge(".rn"), 1, &["DIFFERENT"]);
}

/// Judges a file with a compiler that executes these lines of shell, with the last word of its command in `$out`.
#[cfg(unix)]
fn judge_with(lines: &str, arguments: &[&str], folder: &Path) -> Output {
    use std::os::unix::fs::PermissionsExt;
    let tool = folder.join("ptxas");
    std::fs::write(&tool, format!("#!/bin/sh\nfor out; do :; done\n{lines}\n")).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).env("PATH", path).arg("judge").args(arguments).output().expect("the command starts")
}

#[test]
#[cfg(unix)]
fn refusals_and_errors_of_the_compiler_itself_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, cubin) = (corpus("kernels/half_arith.ptx"), corpus("cubins/half_arith.sm_90.O3.cubin"));
    let judge = |at_3: &str| {
        let lines = format!("case \"$*\" in *-O3*) {at_3};; *) cp {} \"$out\";; esac", cubin.display());
        judge_with(&lines, &[path(&kernel), "-O", "0,3"], folder.path())
    };
    let refused = judge("echo 'ptxas fatal   : odd' >&2; exit 255");
    let said = ["sm_90 -O0: equal", "sm_90 -O3: REFUSED HERE", "fatal : odd; sm_90 -O0 takes it"];
    assert_ends(&refused, 1, &said);
    let internal = judge("echo 'ptxas fatal   : (C7907) Internal compiler error.' >&2; exit 255");
    assert_ends(&internal, 1, &["sm_90 -O0: equal", "sm_90 -O3: CRASHED", "ptxas crashed: ptxas fatal : (C7907)"]);
    let killed = judge("echo 'ptxas warning : odd' >&2; kill -SEGV $$");
    assert_ends(&killed, 1, &["sm_90 -O3: CRASHED", "ptxas crashed: signal: 11 (SIGSEGV)"]);
}

#[test]
#[cfg(unix)]
fn the_architecture_is_that_of_the_kernel_where_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shift.launch.toml"), "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\n").unwrap();
    let refuse = "echo 'ptxas fatal   : odd' >&2; exit 255";
    let judge = |target: &str, arguments: &[&str]| {
        std::fs::write(folder.path().join("shift.ptx"), SHIFT.replace("sm_80", target)).unwrap();
        judge_with(refuse, &[&["shift.ptx", "-O", "3"], arguments].concat(), folder.path())
    };
    for (target, arch) in [("sm_80", "sm_80"), ("sm_60", "sm_80"), ("sm_100a", "sm_100a"), ("sm_87", "sm_89")] {
        assert_ends(&judge(target, &[]), 3, &[&format!("{arch} -O3: refused")]);
    }
    assert_ends(&judge("sm_121", &[]), 2, &["sm_121", "--sm"]);
    assert_ends(&judge("sm_100a", &["--sm", "sm_90"]), 3, &["the PTX is for sm_100a, which --sm sm_100a compiles for"]);
    let bare = judge("sm_80", &["--sm", "sm_90"]);
    assert!(!String::from_utf8_lossy(&bare.stdout).contains("--sm"), "the architecture is not why it is refused");
}

#[test]
fn without_ptxas_the_command_says_where_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = corpus("kernels/saxpy.ptx");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder.path()).env("PATH", "").env_remove("CUDA_HOME");
    let output = command.args(["judge", path(&kernel)]).output().unwrap();
    assert_ends(&output, 2, &["there is no ptxas", "ci/cuda-tools"]);
}

/// The real ptxas reads the distance of a shift of 16 bits in 16 bits, although it has 32 (PTX ISA, "shl").
#[test]
fn ptxas_reads_a_distance_in_16_bits() {
    let folder = tempfile::tempdir().unwrap();
    let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let found = Command::new(finder).args(["--find", "ptxas"]).output().expect("the script starts");
    if !found.status.success() {
        println!("skipped: no ptxas (ci/cuda-tools installs it)");
        return;
    }
    let tool = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    std::fs::write(folder.path().join("shift.ptx"), SHIFT).unwrap();
    std::fs::write(folder.path().join("shift.launch.toml"), "grid = 1\nblock = 1\n[[arg]]\nzeroed = 4\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder.path()).env("PATH", tool.parent().expect("a tool lies in a folder"));
    let output = command.args(["judge", "shift.ptx", "-O", "0,3"]).output().unwrap();
    assert_ends(&output, 1, &["sm_80 -O0: DIFFERENT", "sm_80 -O3: DIFFERENT", "expected 00 00", "got ff 7f"]);
}

const SHIFT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 out)
{
    .reg .b16 %h1;
    .reg .b32 %r1;
    .reg .b64 %d1;
    ld.param.u64 %d1, [out];
    shl.b16 %h1, 32767, 2147483648;
    cvt.u32.u16 %r1, %h1;
    st.global.b32 [%d1], %r1;
    ret;
}
";
