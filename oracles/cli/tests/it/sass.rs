//! `oriole sass`: what it prints, against nvdisasm where that is installed, and how it ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use oriole_sass::cubin::Cubin;

const KERNEL: &str = "half2_dot.sm_90.O3.cubin";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cubin(name: &str) -> PathBuf {
    root().join("corpus/cubins").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(cubin(name)).expect("the corpus has it")
}

/// Runs the command with a file of these bytes.
fn sass(options: &[&str], bytes: &[u8]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("K.cubin");
    std::fs::write(&file, bytes).expect("the folder is writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder.path()).args(["sass", "K.cubin"]).args(options).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, stdout: &str, stderr: &str) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    assert!(out.contains(stdout), "no `{stdout}` in\n{out}");
    // Diagnostics are broken into lines.
    let err: String = err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(err.contains(stderr), "no `{stderr}` in\n{err}");
    assert!(!err.contains("panicked"), "{err}");
}

/// The lines of instructions, without what is said of relocations, and those of labels that instructions mention.
fn lines(text: &str) -> Vec<String> {
    let mentions = |label: &str| text.contains(&format!("`({label})")) || text.contains(&format!(" + {label}@srel)"));
    let is_label = |line: &str| line.strip_suffix(':').is_some_and(mentions);
    let is_word = |line: &str| line.trim_start().starts_with("/*");
    // Numbers that the driver puts in, of which the word has nothing.
    let of_driver = ["independent.texref", "independent.samplerref", "unified.texref", "surfref"];
    let of_driver = of_driver.map(|of| format!(".nv.{of}DescSize)"));
    let of_driver = of_driver.iter().flat_map(|name| ["`(", "32@lo("].map(|before| format!("{before}{name}")));
    let of_driver: Vec<String> = of_driver.collect();
    let plain = |line: &str| of_driver.iter().fold(line.to_owned(), |line, name| line.replace(name, "0x0"));
    let bare = |line: &str| plain(line.split("// ").next().unwrap_or_default().trim_end());
    text.lines().filter(|line| is_word(line) || is_label(line)).map(bare).collect()
}

#[test]
fn listings_are_those_of_nvdisasm() {
    let finder = Command::new(root().join("ci/cuda-tools")).args(["--find", "nvdisasm"]).output();
    let Some(tool) = finder.ok().filter(|output| output.status.success()).map(|output| text(&output.stdout)) else {
        println!("skipped: no nvdisasm (ci/cuda-tools installs it)");
        return;
    };
    let (mut compared, mut partly) = (0, 0);
    for file in std::fs::read_dir(root().join("corpus/cubins")).expect("there is a corpus") {
        let path = file.expect("a folder lists its files").path();
        if path.extension().is_none_or(|extension| extension != "cubin") {
            continue;
        }
        let ours = sass(&[], &std::fs::read(&path).expect("a file"));
        let theirs = Command::new(tool.trim()).args(["-c", "-ndf"]).arg(&path).output().expect("the tool starts");
        if ours.status.code() == Some(1) {
            partly += 1;
            continue;
        }
        assert_ends(&ours, 0, "", "");
        let [ours, theirs] = [ours, theirs].map(|output| lines(&text(&output.stdout)));
        let differing = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!((differing, ours.len()), (None, theirs.len()), "{}", path.display());
        compared += 1;
    }
    println!("{compared} cubins are printed as by nvdisasm; {partly} have words without an encoding");
    assert!(compared > 40, "{compared} cubins are few");
}

#[test]
fn functions_are_printed_with_what_is_asked_for() {
    let file = bytes(KERNEL);
    assert_ends(&sass(&[], &file), 0, ".text.half2_dot ", "");
    assert_ends(&sass(&[], &file), 0, "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n", "");
    let one = sass(&["--function", "half2_dot"], &file);
    assert_ends(&one, 0, "half2_dot:\n        /*0000*/", "");
    assert!(!text(&one.stdout).contains(".text."), "a function stands alone");
    assert_ends(&sass(&["--hex"], &file), 0, "LDC R1, c[0x0][0x28] ;                     /* 0x", "");
    assert_ends(&sass(&["--control"], &file), 0, "// {stall ", "");
    assert_ends(&sass(&["--function", "dot"], &file), 2, "", "no function dot; it has half2_dot");
}

#[test]
fn functions_are_printed_as_ori_that_reads_back() {
    let file = bytes(KERNEL);
    let all = sass(&["--ori"], &file);
    assert_ends(&all, 0, "entry @half2_dot visible machine physical {\n  directive code ", "");
    oriole_sass::ori::register();
    let module = oriole_ir::parse_module(&text(&all.stdout)).expect("what is printed is Ori");
    let cubin = Cubin::read(&file).expect("a cubin");
    let id = module.function_named("half2_dot").expect("the kernel is there");
    let words = oriole_sass::ori::lower(&module, id).expect("what is printed is words");
    assert!(words.into_iter().eq(cubin.words(cubin.function("half2_dot").expect("the kernel is there"))));
    assert_eq!(text(&sass(&["--ori", "--function", "half2_dot"], &file).stdout), text(&all.stdout));
    assert_ends(&sass(&["--ori", "--function", "dot"], &file), 2, "", "no function dot; it has half2_dot");
}

#[test]
fn programs_read_functions_as_json() {
    let output = sass(&["--json"], &bytes(KERNEL));
    assert_ends(&output, 0, "", "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&json["target"], &json["linked"]), (&"sm_90".into(), &true.into()));
    let function = &json["functions"][0];
    assert_eq!((&function["name"], &function["kernel"]), (&"half2_dot".into(), &true.into()));
    assert!(function["registers"].as_u64().is_some_and(|registers| registers > 0), "{function}");
    assert_eq!(function["parameters"][0]["offset"], 0);
    let first = &function["instructions"][0];
    assert_eq!((&first["mnemonic"], &first["address"]), (&"LDC".into(), &0.into()));
    assert_eq!(first["operands"], serde_json::json!(["R1", "c[0x0][0x28]"]));
    assert!(first["word"].as_str().is_some_and(|word| word.len() == 34), "{first}");
    assert!(first["control"]["stall"].is_u64(), "{first}");
    let guarded = function["instructions"].as_array().into_iter().flatten().find(|item| item["guard"].is_string());
    let guarded = guarded.expect("a kernel with a branch has a guard");
    assert!(guarded["text"].as_str().is_some_and(|text| text.starts_with('@')), "{guarded}");
}

#[test]
fn words_that_are_not_known_are_data() {
    let nop = 0x000f_c000_0000_0000_0000_0000_0000_7918_u128.to_le_bytes();
    let words = [nop, [0; 16]].concat();
    let output = sass(&["--raw", "sm_90"], &words);
    let data = "        /*0000*/                   NOP;\n        /*0010*/                   .word 0x00000000000000000000000000000000";
    assert_ends(&output, 1, data, "K.cubin+0x10: no instruction of sm_90 has the opcode 0x000");
    let json = sass(&["--raw", "90", "--json"], &words);
    assert_ends(&json, 1, "\"error\": \"no instruction", "has the opcode 0x000");
    // A guard that is no branch's: the bits between the parts of NOP belong to nobody.
    let bits = (u128::from_le_bytes(nop) | 1 << 40).to_le_bytes();
    assert_ends(&sass(&["--raw", "120"], &bits), 1, ".word 0x000fc00000000000", "NOP does not have the bits 40");
    assert_ends(&sass(&["--raw", "90"], &[0; 16 * 40]), 1, "/*0270*/", "and 20 more words that are not known");
}

#[test]
fn bad_files_end_with_two_and_say_why() {
    let file = bytes(KERNEL);
    assert_ends(&sass(&[], b"target sm_90"), 2, "", "this is no cubin");
    assert_ends(&sass(&[], &file[..file.len() / 2]), 2, "", "`K.cubin`: ");
    let mut other = file.clone();
    other[18..20].copy_from_slice(&62u16.to_le_bytes());
    assert_ends(&sass(&[], &other), 2, "", "is for the machine 62, not for CUDA");
    // The SM is in the second byte of the flags from CUDA 13 on, before that in the first.
    let mut old = file.clone();
    let sm = if file[8] >= 8 { 49 } else { 48 };
    old[sm] = 75;
    assert_ends(&sass(&[], &old), 2, "", "is for sm_75, whose words are not known");
    assert_ends(&sass(&["--raw", "90"], &[0; 17]), 2, "", "has 17 bytes, which are no whole words");
    assert_ends(&sass(&["--raw", "75"], &[0; 16]), 2, "", "the words of `75` are not known; those of sm_80, sm_86");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    let missing = command.args(["sass", "none.cubin"]).output().expect("the command starts");
    assert_ends(&missing, 2, "", "cannot read `none.cubin`");
}

#[test]
fn standard_input_is_a_file_too() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(["sass", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(&bytes(KERNEL)).expect("the command reads");
    drop(input);
    assert_ends(&child.wait_with_output().expect("it ends"), 0, ".text.half2_dot ", "");
}
