//! `oriole compile`: cubins of our own, judged by execution, by the scoreboard and by NVIDIA's tools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oriole_generate::config::Config;
use oriole_generate::entropy::Entropy;
use oriole_generate::single;
use oriole_interp::Executable;
use oriole_ir::ops::{Flags, Opcode};
use oriole_optimizer::codegen::expand;
use oriole_optimizer::ssa;
use oriole_sass::cubin::{Cubin, Info, RelocationKind};

fn oriole(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).output().expect("the command starts")
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let files = std::fs::read_dir(folder).expect("the corpus is there").filter_map(|entry| Some(entry.ok()?.path()));
    let mut kernels: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    kernels.sort();
    kernels
}

/// The kernels of the corpus that `sm_90` has no code for: products of warpgroups are of `sm_90a`.
const NOT_YET: &[&str] = &["wgmma_product"];

/// A tool of NVIDIA, where it is installed.
fn cuda_tool(name: &str) -> Option<String> {
    let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let found = Command::new(finder).args(["--find", name]).output().ok().filter(|found| found.status.success());
    let path = found.map(|found| String::from_utf8_lossy(&found.stdout).trim().to_owned());
    if path.is_none() {
        println!("skipped: no {name} (ci/cuda-tools installs it)");
    }
    path
}

/// Compiles kernels and judges each; the names of those that are refused.
fn judged(kernels: &[PathBuf], sm: &str, level: &str) -> BTreeSet<String> {
    let (folder, nvdisasm) = (tempfile::tempdir().expect("a temporary folder"), cuda_tool("nvdisasm"));
    let mut refused = BTreeSet::new();
    for kernel in kernels {
        let name = kernel.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let cubin = folder.path().join(format!("{name}.cubin"));
        let (kernel, cubin) = (kernel.to_str().expect("a path is text"), cubin.to_str().expect("a path is text"));
        let made = oriole(&["compile", kernel, "--sm", sm, "-O", level, "-o", cubin]);
        if !made.status.success() {
            assert_eq!(made.status.code(), Some(2), "{name}: {}", said(&made));
            assert!(said(&made).contains("not compiled yet") || said(&made).contains("sm_"), "{}", said(&made));
            assert!(!Path::new(cubin).exists(), "{name}: a refused kernel leaves no file");
            refused.insert(name);
            continue;
        }
        let judged = oriole(&["judge", kernel, "--cubin", cubin]);
        assert!(judged.status.success(), "{name} on {sm} at -O{level}: {}", said(&judged));
        if let Some(nvdisasm) = &nvdisasm {
            let read = Command::new(nvdisasm).args(["-c", "-plr", cubin]).output().expect("nvdisasm starts");
            assert!(read.status.success() && read.stderr.is_empty(), "{name}: {}", said(&read));
        }
    }
    refused
}

#[test]
fn the_corpus_compiles_and_does_what_the_ptx_says() {
    let refused = judged(&kernels(), "sm_90", "3");
    let known: BTreeSet<String> = NOT_YET.iter().map(|name| (*name).to_owned()).collect();
    let new: Vec<&String> = refused.difference(&known).collect();
    assert!(new.is_empty(), "no longer compiled: {new:?}");
    let done: Vec<&String> = known.difference(&refused).collect();
    assert!(done.is_empty(), "compiled now, and still in the list: {done:?}");
}

#[test]
fn products_of_warpgroups_are_compiled() {
    let own: Vec<PathBuf> = kernels().into_iter().filter(|path| path.ends_with("wgmma_product.ptx")).collect();
    for level in ["0", "3"] {
        assert!(judged(&own, "sm_90a", level).is_empty(), "at -O{level}");
    }
}

#[test]
fn other_sms_and_levels_are_compiled_as_well() {
    for (sm, level, first) in [("sm_90", "0", 0), ("sm_80", "3", 1), ("sm_100", "3", 2), ("sm_120", "3", 3)] {
        let some: Vec<PathBuf> = kernels().into_iter().skip(first).step_by(4).collect();
        let refused = judged(&some, sm, level);
        assert!(refused.len() * 2 < some.len(), "{sm}: {refused:?}");
    }
}

/// The attributes of a file's kernels, by name.
fn attributes(bytes: &[u8]) -> Vec<(String, Info)> {
    let cubin = Cubin::read(bytes).expect("a cubin");
    let entries = cubin.functions.iter().filter(|function| function.is_entry);
    entries.map(|function| (function.name.clone(), function.info.clone())).collect()
}

/// The driver believes what a file says of its kernels, and no execution of words shows it.
#[test]
fn files_say_of_kernels_what_those_of_ptxas_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("own.cubin");
    let mut compared = 0;
    for kernel in kernels() {
        let theirs = kernel.display().to_string().replace("/kernels/", "/cubins/").replace(".ptx", ".sm_90.O3.cubin");
        let Ok(theirs) = std::fs::read(theirs) else { continue };
        let (file, out) = (kernel.display().to_string(), own.display().to_string());
        if !oriole(&["compile", &file, "--sm", "sm_90", "-o", &out]).status.success() {
            continue;
        }
        let ours = attributes(&std::fs::read(&own).expect("a cubin"));
        for (name, theirs) in attributes(&theirs) {
            let ours = &ours.iter().find(|(own, _)| *own == name).expect("both files have the kernel").1;
            let said = |info: &Info| {
                let parameters = (info.parameters.clone(), info.parameter_size, info.parameter_base);
                let threads = (info.max_threads, info.required_threads, info.is_cluster, info.cluster);
                let outside = (info.externs.len(), info.system_calls.is_empty());
                (info.barriers, parameters, threads, info.exits.is_empty(), outside)
            };
            assert_eq!(said(ours), said(&theirs), "{file}: {name}");
            compared += 1;
        }
    }
    assert!(compared > 15, "{compared} kernels");
}

/// The sections of a file: of each its name, its type, its flags, and the registers that the header of code has.
fn sections(bytes: &[u8]) -> Vec<(String, [u64; 3])> {
    let number = |at: usize, size: usize| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(wide)
    };
    let (first, count) = (number(40, 8) as usize, number(60, 2) as usize);
    let names = number(first + 64 + 24, 8) as usize;
    let section = |at: usize| {
        let header = first + 64 * at;
        let name = names + number(header, 4) as usize;
        let end = name + bytes[name..].iter().position(|byte| *byte == 0).expect("names end with a zero");
        let name = String::from_utf8_lossy(&bytes[name..end]).into_owned();
        (name, [number(header + 4, 4), number(header + 8, 8), number(header + 44, 4) >> 24])
    };
    (1..count).map(section).collect()
}

/// The attributes of a section of `.nv.info`, by their codes.
fn codes(bytes: &[u8], section: &str) -> Vec<u8> {
    let cubin = Cubin::read(bytes).expect("a cubin");
    let (mut codes, mut rest) = (Vec::new(), cubin.bytes(cubin.section(section).expect("a kernel has attributes")));
    while let [format, code, low, high, behind @ ..] = rest {
        codes.push(*code);
        rest = &behind[if *format == 4 { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 }..];
    }
    codes.dedup();
    codes
}

/// Files for one SM differ from those for another: before Hopper the header of code has the registers, relocations have
/// no addends, and nothing says which instructions are of one SM alone.
#[test]
fn files_are_laid_out_as_those_of_ptxas_for_the_same_sm() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, own) = (folder.path().join("k.ptx"), folder.path().join("own.cubin"));
    let (source, own) = (source.display().to_string(), own.display().to_string());
    // Sections that depend on the code: constants of its own, reserved memory, what merges code, addresses, calls.
    let of_code = [
        ".nv.constant2",
        ".nv.constant4",
        ".nv.shared",
        ".nv.capmerc",
        ".nv.merc",
        ".nv.callgraph",
        ".rel",
        ".nv.rel",
        ".debug",
        ".nv_debug",
    ];
    // And attributes: the stack of calls. ptxas lists for debuggers where instructions of a kind are; nothing here.
    let of_calls = [0x04, 0x1e];
    let mut compared = std::collections::BTreeMap::new();
    for kernel in kernels() {
        for sm in ["sm_80", "sm_90", "sm_100", "sm_120"] {
            let theirs = kernel.display().to_string().replace("/kernels/", "/cubins/");
            let theirs = theirs.replace(".ptx", &format!(".{sm}.O3.cubin"));
            let Ok(theirs) = std::fs::read(theirs) else { continue };
            let text = std::fs::read_to_string(&kernel).expect("a kernel");
            std::fs::write(&source, text.replace(".target sm_90", &format!(".target {sm}"))).expect("it is written");
            if !oriole(&["compile", &source, "--sm", sm, "-o", &own]).status.success() {
                continue;
            }
            let ours = std::fs::read(&own).expect("a cubin");
            let (of_ours, of_theirs) = (sections(&ours), sections(&theirs));
            for (name, [kind, flags, registers]) in &of_ours {
                let is_of_code = of_code.iter().any(|start| name.starts_with(start));
                let Some((_, same)) = of_theirs.iter().find(|(other, _)| other == name) else {
                    assert!(is_of_code, "{} for {sm}: ptxas has no `{name}`", kernel.display());
                    continue;
                };
                assert_eq!([*kind, *flags], same[..2], "{} for {sm}: {name}", kernel.display());
                assert_eq!(*registers > 0, same[2] > 0, "{} for {sm}: {name}", kernel.display());
            }
            for (name, _) in of_theirs.iter().filter(|(name, _)| !of_code.iter().any(|start| name.starts_with(start))) {
                let has = of_ours.iter().any(|(own, _)| own == name);
                assert!(has, "{} for {sm}: there is no `{name}`", kernel.display());
            }
            for (name, _) in of_ours.iter().filter(|(name, _)| name.starts_with(".nv.info.")) {
                let [mut ours, mut theirs] = [codes(&ours, name), codes(&theirs, name)].map(|mut codes| {
                    codes.retain(|code| !of_calls.contains(code));
                    codes
                });
                // Those of images have another place.
                theirs.retain(|code| ours.contains(code));
                ours.sort_unstable();
                theirs.sort_unstable();
                assert_eq!(ours, theirs, "{} for {sm}: {name}", kernel.display());
            }
            *compared.entry(sm).or_insert(0) += 1;
        }
    }
    assert!(compared.len() == 4 && compared.values().all(|count| *count >= 10), "{compared:?}");
}

/// The settings of samplers, by names.
type Settings = BTreeSet<(String, Vec<u8>)>;

/// The words of the bank of parameters that the loader fills with the numbers of images, by their symbols; and how
/// samplers fetch.
fn images(bytes: &[u8]) -> (BTreeSet<(String, &'static str)>, Settings) {
    let cubin = Cubin::read(bytes).expect("a cubin");
    let name = |symbol: usize| cubin.symbols[symbol].name.clone();
    let numbers = cubin.relocations.iter().filter_map(|relocation| {
        let row = RelocationKind::of(relocation.kind).filter(|row| row.is_number())?;
        Some((name(relocation.symbol), row.name))
    });
    let common = cubin.section(".nv.info").expect("a file has attributes");
    let (mut samplers, mut rest) = (BTreeSet::new(), cubin.bytes(common));
    while let [format, code, low, high, behind @ ..] = rest {
        let size = if *format == 4 { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (value, next) = behind.split_at(size);
        if let (0x09 | 0x13, Some(symbol)) = (code, value.first_chunk()) {
            samplers.insert((name(u32::from_le_bytes(*symbol) as usize), [&[*code], &value[4..]].concat()));
        }
        rest = next;
    }
    (numbers.collect(), samplers)
}

/// The loader binds images by their symbols.
#[test]
fn files_name_images_as_those_of_ptxas_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("own.cubin").display().to_string();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let kernel = corpus.join("kernels/image_refs.ptx").display().to_string();
    let made = oriole(&["compile", &kernel, "--sm", "sm_90", "-o", &out]);
    assert!(made.status.success(), "{}", said(&made));
    let ours = images(&std::fs::read(&out).expect("a cubin"));
    let theirs = images(&std::fs::read(corpus.join("cubins/image_refs.sm_90.O3.cubin")).expect("a cubin"));
    assert_eq!(ours, theirs);
    assert_eq!((ours.0.len(), ours.1.len()), (6, 2), "{ours:?}");
}

/// A function with a shared variable and a barrier of its own, and a kernel with others.
const SHARED: &str = include_str!("../../../../corpus/regress/shared_variables_of_a_function.ptx");

#[test]
fn kernels_have_room_for_what_they_call() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (kernel, own) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&kernel, SHARED).expect("the folder is writable");
    let (kernel, out) = (kernel.display().to_string(), own.display().to_string());
    let made = oriole(&["compile", &kernel, "--sm", "sm_80", "-O", "0", "-v", "-o", &out]);
    assert!(said(&made).contains(", 256 bytes smem"), "{}", said(&made));
    let (_, info) = &attributes(&std::fs::read(&own).expect("a cubin"))[0];
    assert_eq!(info.barriers, 2, "barrier 1 is the function's");
}

/// Accesses with an order, and the instructions that keep it: an interpreter with one order of accesses cannot miss
/// them.
#[test]
fn ordered_accesses_are_fenced() {
    const BOTH: [&str; 2] = ["st.release.S.global.u32 [%rd1], %r1;", "ld.acquire.S.global.u32 %r1, [%rd1];"];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = folder.path().join("k.ptx");
    for (scope, fence) in [("cta", "CTA"), ("cluster", "GPU"), ("gpu", "GPU"), ("sys", "SYS")] {
        let body = BOTH.map(|line| line.replace(".S.", &format!(".{scope}."))).join("\n");
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %rd<2>;\n\
             .reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, 1;\n{body}\nst.global.u32 [%rd1+4], %r1;\n\
             ret;\n}}\n"
        );
        std::fs::write(&kernel, text).expect("the folder is writable");
        let listed = said(&oriole(&["compile", &kernel.display().to_string(), "-O", "0", "--emit", "ori"]));
        let place = |what: &str| listed.find(what).unwrap_or_else(|| panic!("{scope}: no {what} in\n{listed}"));
        let order = [place(&format!("MEMBAR.ALL.{fence}")), place("STG.E.STRONG"), place("LDG.E.STRONG")];
        assert!(order.is_sorted() && order[2] < place("CCTL.IVALL"), "{scope}: {listed}");
    }
}

/// A branch that all threads take alike, one at which they part, and a loop that they leave in different rounds.
const PARTING: &str = "
.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<9>;
  .reg .pred %p<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.eq.u32 %p1, %r1, 7;
  @%p1 bra $uniform;
  add.u32 %r1, %r1, 1;
$uniform:
  setp.lt.u32 %p2, %r2, 5;
  @%p2 bra $less;
  mul.lo.u32 %r3, %r2, %r1;
  bra $joined;
$less:
  add.u32 %r3, %r2, %r1;
$joined:
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
$loop:
  add.u32 %r3, %r3, 3;
  sub.u32 %r2, %r2, 1;
  setp.gt.s32 %p3, %r2, 0;
  @%p3 bra $loop;
  st.global.u32 [%rd3], %r3;
  ret;
}
";

/// Lanes that part meet again: without that results are the same, and a warp executes what follows once for each lane.
#[test]
fn lanes_meet_behind_a_branch_and_behind_a_loop() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = folder.path().join("k.ptx");
    std::fs::write(&kernel, PARTING).expect("the folder is writable");
    let listed = said(&oriole(&["compile", &kernel.display().to_string(), "-O", "0", "--emit", "ori"]));
    let of_flow = |line: &str| ["@%P0 jump", "BSSY", "BSYNC"].into_iter().find(|what| line.contains(what));
    let flow: Vec<&str> = listed.lines().filter_map(of_flow).collect();
    let jump = "@%P0 jump";
    assert_eq!(flow, [jump, "BSSY", jump, "BSYNC", "BSSY", jump, "BSYNC"], "{listed}");
}

/// Kernels on which our compiler went wrong once, with the SMs that have their operations.
const MENDED: &[(&str, &str)] = &[
    ("guarded_once_in_a_loop", "sm_80,sm_90,sm_100,sm_120"),
    ("lanes_of_many_sets", "sm_80,sm_90,sm_100,sm_120"),
    ("generic_address_in_a_cluster", "sm_90,sm_100,sm_120"),
    ("zero_is_normal", "sm_80,sm_90,sm_100,sm_120"),
    ("sum_of_pairs_is_late", "sm_90,sm_120"),
    ("exchange_reads_its_third_operand", "sm_80,sm_90,sm_100,sm_120"),
    ("negated_zero", "sm_80,sm_90,sm_100,sm_120"),
    ("address_in_a_constant", "sm_80,sm_90,sm_100,sm_120"),
    ("shared_variables_of_a_function", "sm_80,sm_90,sm_100,sm_120"),
    ("predicate_across_a_call", "sm_80,sm_90,sm_100,sm_120"),
    ("images_by_lane", "sm_80,sm_90,sm_100,sm_120"),
    ("guarded_body", "sm_80,sm_90,sm_100,sm_120"),
    ("exit_before_a_barrier", "sm_80,sm_90,sm_100,sm_120"),
    ("two_numbers_of_doubles", "sm_80,sm_90,sm_100,sm_120"),
];

#[test]
fn kernels_that_were_compiled_wrongly_are_right() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().display().to_string();
    for (name, sms) in MENDED {
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/regress/{name}.ptx"));
        let checked = oriole(&["check", &kernel.display().to_string(), "--compile", sms, "--out", &out]);
        assert!(checked.status.success(), "{name}: {}", said(&checked));
        assert!(!said(&checked).contains("not compiled"), "{name}: {}", said(&checked));
    }
}

/// A campaign over our compiler, in a folder of its own: its exit code, and what it says.
fn campaign(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().display().to_string();
    let fixed = ["fuzz", "--compile", "sm_90", "--cases", "128", "--jobs", "1", "--corpus", "none", "--out", &out];
    let ran = oriole(&[&fixed[..], arguments].concat());
    (ran.status.code(), said(&ran))
}

#[test]
fn a_campaign_judges_our_compiler() {
    let (code, said) = campaign(&["--compile-registers", "24"]);
    assert!(code == Some(0) && said.contains("axes equal"), "{said}");
    assert!(said.contains("is not compiled yet"), "what is not compiled is no finding: {said}");
    let (code, said) = campaign(&["--canary"]);
    assert!(code == Some(0) && said.contains("canary: a planted fault was found"), "{said}");
}

/// A fetch that the machine leaves to a function of the driver.
const FETCH: &str = "
.version 8.1
.target sm_80
.address_size 64
.visible .entry fetch(.param .u64 p)
{
  .reg .b64 %rd<2>;
  .reg .f32 %f<9>;
  ld.param.u64 %rd1, [p];
  mov.f32 %f1, 0f3F800000;
  mov.f32 %f2, 0f40000000;
  tex.grad.3d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [%rd1, {%f1,%f1,%f2,%f2}], {%f1,%f2,%f1,%f1}, {%f2,%f2,%f1,%f1};
  st.global.f32 [%rd1], %f5;
  ret;
}
";

/// A sum over multicast memory, which came with `sm_90`.
const MULTICAST: &str = "
.version 8.1
.target sm_90
.address_size 64
.visible .entry sum(.param .u64 p)
{
  .reg .b64 %rd<2>;
  .reg .u32 %r<3>;
  ld.param.u64 %rd1, [p];
  multimem.ld_reduce.relaxed.gpu.global.add.u32 %r1, [%rd1];
  st.global.u32 [%rd1], %r1;
  ret;
}
";

#[test]
fn operations_without_instructions_are_named_with_their_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = folder.path().join("k.ptx");
    let refused = "line 12: `tex.grad.3d.v4.f32.f32` is not compiled yet";
    for (text, sm, says) in [(FETCH, "sm_90", refused), (FETCH, "sm_80", refused), (MULTICAST, "sm_80", "needs sm_90")]
    {
        std::fs::write(&kernel, text).expect("the folder is writable");
        let made = oriole(&["compile", &kernel.display().to_string(), "--sm", sm]);
        assert!(made.status.code() == Some(2) && said(&made).contains(says), "{sm}: {}", said(&made));
        assert!(!said(&made).contains("verification"), "no pass is blamed: {}", said(&made));
    }
}

/// The driver takes the shape of clusters from the file.
#[test]
fn files_say_in_what_clusters_kernels_are_launched() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (kernel, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    let directives = [
        (".reqnctapercluster 2, 1, 1", None, Some([2, 1, 1]), false),
        (".explicitcluster\n.maxclusterrank 8", Some(8), None, true),
        (".explicitcluster\n.reqnctapercluster 1, 4, 1", None, Some([1, 4, 1]), true),
        (".reqntid 32, 1, 1\n.reqnctapercluster 2, 1, 1\n.blocksareclusters", None, Some([2, 1, 1]), false),
    ];
    for (directive, rank, blocks, is_cluster) in directives {
        let head = format!(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{directive}\n");
        std::fs::write(&kernel, format!("{head}{{\nret;\n}}\n")).expect("the folder is writable");
        let made = oriole(&["compile", &kernel.display().to_string(), "-o", &cubin.display().to_string()]);
        assert!(made.status.success(), "{directive}: {}", said(&made));
        let bytes = std::fs::read(&cubin).expect("a cubin");
        let (_, info) = attributes(&bytes).pop().expect("a kernel");
        assert_eq!((info.max_cluster_rank, info.cluster, info.is_cluster), (rank, blocks, is_cluster), "{directive}");
        let counts_clusters = info.attributes.iter().any(|attribute| attribute.code == 0x5b);
        assert_eq!(counts_clusters, directive.contains("blocksareclusters"), "{directive}");
    }
}

/// How many registers the command says that a kernel has.
fn registers(text: &str) -> u32 {
    let before = text.split(" registers,").next().expect("a text has a beginning");
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("the number of registers is said")
}

#[test]
fn few_registers_are_enough() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["sha256", "matmul_tiled", "md5"] {
        let kernel = kernels().into_iter().find(|path| path.ends_with(format!("{name}.ptx"))).expect("it is there");
        let (kernel, cubin) = (kernel.display().to_string(), folder.path().join("k.cubin").display().to_string());
        let made = oriole(&["compile", &kernel, "-o", &cubin, "--max-registers", "24", "-v"]);
        assert!(made.status.success() && registers(&said(&made)) <= 24, "{name}: {}", said(&made));
        let judged = oriole(&["judge", &kernel, "--cubin", &cubin]);
        assert!(judged.status.success(), "{name}: {}", said(&judged));
    }
}

/// Kernels by their bodies, which the corpus has nothing of: `%d1` is an array that is read, `%d2` one that is written,
/// both moved to 16 bytes of the thread, `%r0` the thread, and `%r2` the place of 16 bytes in shared memory.
const BODIES: &[(&str, &str)] = &[
    (
        "copies of fewer bytes than they write",
        "and.b32 %r1, %r0, 15; cp.async.cg.shared.global [%r2], [%d1], 16, %r1; cp.async.wait_all; \
         ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};",
    ),
    (
        "sums that shared memory does not do",
        "ld.global.u64 %d3, [%d1]; st.shared.u64 [%r2], %d3; atom.shared.add.u64 %d4, [%r2], 5; \
         atom.shared.max.s64 %d4, [%r2], -7; atom.shared.xor.b64 %d4, [%r2], %d3; cvt.u32.u64 %r3, %d4; \
         and.b32 %r3, %r3, 0x3fffffff; st.shared.u32 [%r2+8], %r3; atom.shared.add.f32 %r4, [%r2+8], %r3; \
         atom.shared.add.noftz.f16x2 %r4, [%r2+8], %r3; cvt.u16.u32 %h1, %r3; \
         atom.shared.add.noftz.f16 %h2, [%r2+10], %h1; atom.shared.cas.b16 %h3, [%r2+8], %h2, %h1; \
         ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};",
    ),
    (
        "sums by generic addresses of either space",
        "ld.global.u32 %r3, [%d1]; st.shared.u32 [%r2], %r3; st.shared.u32 [%r2+8], %r3; cvt.u64.u32 %d3, %r2; \
         cvta.shared.u64 %d3, %d3; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; selp.b64 %d4, %d3, %d2, %p1; \
         atom.add.u64 %d3, [%d4+8], 9; atom.add.u32 %r5, [%d4], 3; atom.exch.b64 %d3, [%d4+8], %d3; \
         and.b32 %r4, %r3, 0x3fffffff; st.shared.u32 [%r2], %r4; atom.add.f32 %r5, [%d4], %r4; \
         ld.shared.v2.u32 {%r5, %r6}, [%r2+8]; ld.shared.u32 %r4, [%r2]; \
         @%p1 st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};",
    ),
];

/// Special registers and where they are read: those of the machine, and words of bank 0 that are no parameters.
fn homes(cubin: &Path) -> BTreeSet<String> {
    let listed = oriole(&["sass", &cubin.display().to_string()]);
    let text = said(&listed);
    let words = text.split(|c: char| c.is_whitespace() || ",;".contains(c));
    let kept = words.filter(|word| {
        let is_register = word.starts_with("SR_") && *word != "SR_CgaSize";
        // The offset in the driver's table has its entry in a register.
        is_register || word.contains("c[0x0][")
    });
    let offset = |word: &str| match word.rsplit_once("0x") {
        Some((before, digits)) if before.contains("c[") => format!("bank 0 {}", digits.trim_end_matches(']')),
        _ => word.to_owned(),
    };
    kept.map(offset).collect()
}

/// No execution shows where the driver puts these; ptxas knows.
#[test]
fn special_registers_are_read_where_ptxas_reads_them() {
    let Some(ptxas) = cuda_tool("ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, own, theirs] = ["k.ptx", "own.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    let names = "laneid warpid nwarpid smid nsmid gridid.64 clock clock_hi clock64.64 globaltimer.64 globaltimer_lo \
                 globaltimer_hi dynamic_smem_size envreg0 envreg1 current_graph_exec.64 ntid.y nctaid.z";
    let of_clusters = "clusterid.x clusterid.z nclusterid.y cluster_ctarank cluster_nctarank cluster_nctaid.z";
    for sm in ["sm_80", "sm_90", "sm_100", "sm_120"] {
        let more = if sm == "sm_80" { "" } else { of_clusters };
        for name in names.split_whitespace().chain(more.split_whitespace()) {
            let (name, bits) = name.strip_suffix(".64").map_or((name, 32), |name| (name, 64));
            let head = format!(".version 8.8\n.target {sm}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n");
            let body = format!(".reg .b64 %d;\n.reg .b{bits} %v;\nld.param.u64 %d, [p];\nmov.u{bits} %v, %{name};\n");
            std::fs::write(&kernel, format!("{head}{body}st.global.u{bits} [%d], %v;\nret;\n}}\n")).expect("writable");
            let [text, own_text] = [&kernel, &own].map(|path| path.display().to_string());
            let made = oriole(&["compile", &text, "--sm", sm, "-o", &own_text]);
            assert!(made.status.success(), "{sm} {name}: {}", said(&made));
            let made =
                Command::new(&ptxas).args(["-arch", sm, "-O1", &text, "-o"]).arg(&theirs).output().expect("ptxas");
            assert!(made.status.success(), "{sm} {name}: {}", said(&made));
            // Ours sets up no stack that it does not need, and reads the halves of a pair each by itself.
            let (ours, theirs) = (homes(&own), homes(&theirs));
            let common: Vec<&String> = theirs.intersection(&ours).collect();
            let lacks = theirs.difference(&ours).filter(|home| !["bank 0 28", "bank 0 37c"].contains(&home.as_str()));
            let lacks: Vec<&String> = lacks.collect();
            assert!(lacks.is_empty() && !common.is_empty(), "{sm} {name}: {lacks:?} and not {ours:?}");
        }
    }
}

/// Lanes that are together exchange without waiting for each other; those that may be apart wait.
#[test]
fn lanes_wait_where_they_may_be_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, cubin] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    let exchange = "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n";
    for (body, waits) in [
        (exchange.to_owned(), 0),
        (format!("setp.gt.u32 %p, %r1, 40;\n@%p bra L;\nst.global.u32 [%d+4], %r1;\nL:\n{exchange}"), 0),
        (format!("setp.gt.u32 %p, %r1, 40;\n@%p ret;\n{exchange}"), 0),
        (format!("setp.gt.u32 %p, %r1, 40;\n@%p bra L;\n{exchange}st.global.u32 [%d+4], %r2;\nL:\n"), 1),
    ] {
        let head =
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p;\n";
        let registers =
            ".reg .b32 %r<3>;\n.reg .b64 %d;\nld.param.u64 %d, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n";
        let text = format!("{head}{registers}{body}st.global.u32 [%d], %r2;\nret;\n}}\n");
        std::fs::write(&kernel, &text).expect("the folder is writable");
        for sm in ["sm_80", "sm_90"] {
            let [kernel, cubin] = [&kernel, &cubin].map(|path| path.display().to_string());
            let made = oriole(&["compile", &kernel, "--sm", sm, "-O", "0", "-o", &cubin]);
            assert!(made.status.success(), "{text}: {}", said(&made));
            let listed = said(&oriole(&["sass", &cubin]));
            assert_eq!(listed.matches("WARPSYNC").count(), waits, "{sm}: {text}\n{listed}");
        }
    }
}

/// Reductions beside the threads have a type in their mnemonics: each that PTX has is found.
#[test]
fn reductions_beside_the_threads_have_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, cubin] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    let kinds = "xor.b32 or.b64 add.u32 add.s32 add.u64 min.s32 max.s64 max.u64 inc.u32 add.f32 add.f64 \
                 add.noftz.f16 add.noftz.bf16 min.f16 max.bf16";
    for kind in kinds.split_whitespace() {
        let head =
            ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %d;\n";
        let body = ".shared .align 16 .b8 s[64];\n.reg .b32 %r;\nld.param.u64 %d, [p];\nmov.u32 %r, s;\n";
        let operation =
            format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{kind} [%d], [%r], 16;\nret;\n}}\n");
        std::fs::write(&kernel, format!("{head}{body}{operation}")).expect("the folder is writable");
        let made = oriole(&["compile", &kernel.display().to_string(), "-o", &cubin.display().to_string()]);
        assert!(made.status.success(), "{kind}: {}", said(&made));
    }
}

#[test]
fn operations_that_the_corpus_lacks_are_compiled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, launch, cubin] = ["k.ptx", "k.launch.toml", "k.cubin"].map(|name| folder.path().join(name));
    let buffers = "[[arg]]\nrandom = { bytes = 512, seed = 3 }\n[[arg]]\nzeroed = 512\n";
    std::fs::write(launch, format!("grid = 1\nblock = 32\n{buffers}")).expect("the folder is writable");
    let [kernel_text, cubin_text] = [&kernel, &cubin].map(|path| path.display().to_string());
    for (what, body) in BODIES {
        let head =
            ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n";
        let registers = ".reg .b64 %d<6>;\n.reg .b32 %r<8>;\n.reg .b16 %h<4>;\n.reg .pred %p<3>;\n";
        let places = ".shared .align 16 .b8 s[512];\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n\
                      mov.u32 %r0, %tid.x;\nmov.u32 %r2, s;\nmad.lo.u32 %r2, %r0, 16, %r2;\n\
                      mul.wide.u32 %d3, %r0, 16;\nadd.u64 %d1, %d1, %d3;\nadd.u64 %d2, %d2, %d3;\n";
        let body = body.replace("; ", ";\n");
        let text = format!("{head}{registers}{places}{body}\nret;\n}}\n");
        std::fs::write(&kernel, text).expect("the folder is writable");
        for sm in ["sm_80", "sm_90", "sm_100", "sm_120"] {
            let made = oriole(&["compile", &kernel_text, "--sm", sm, "-o", &cubin_text]);
            assert!(made.status.success(), "{what}, {sm}: {}", said(&made));
            let judged = oriole(&["judge", &kernel_text, "--cubin", &cubin_text]);
            assert!(judged.status.success() && said(&judged).contains("5 of 5"), "{what}, {sm}: {}", said(&judged));
        }
    }
}

#[test]
fn wrong_input_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = kernels().into_iter().find(|path| path.ends_with("saxpy.ptx")).expect("it is there");
    let kernel = kernel.display().to_string();
    let out = folder.path().join("k.cubin");
    let out_text = out.display().to_string();
    let nowhere = folder.path().join("no/k.cubin").display().to_string();
    for (arguments, says) in [
        (vec!["compile", &kernel, "--sm", "sm_70", "-o", &out_text], "the words of `sm_70` are not known"),
        (vec!["compile", &kernel, "--sm", "gpu", "-o", &out_text], "the words of `gpu` are not known"),
        (vec!["compile", &kernel, "-o", &nowhere], "cannot write"),
    ] {
        let made = oriole(&arguments);
        assert!(made.status.code() == Some(2) && said(&made).contains(says), "{arguments:?}: {}", said(&made));
        assert!(!out.exists());
    }
}

/// Sequences that a kernel holds several times are one function each, which is called; a kernel with few registers, or
/// with one such operation, has none.
#[test]
fn sequences_are_shared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("k.cubin").display().to_string();
    for (name, least) in [("double_arith", 8), ("float_rounding", 2), ("int64_arith", 2), ("lu_solve", 2)] {
        let kernel = kernels().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        let kernel = kernel.expect("it is in the corpus").display().to_string();
        let calls = |arguments: &[&str]| {
            let made = oriole(&[&["compile", &kernel, "--sm", "sm_90", "-o", &out], arguments].concat());
            assert!(made.status.success(), "{name}: {}", said(&made));
            let judged = oriole(&["judge", &kernel, "--cubin", &out]);
            assert!(judged.status.success(), "{name}: {}", said(&judged));
            let sass = said(&oriole(&["sass", &out]));
            sass.matches("CALL.REL.NOINC `($").count()
        };
        assert!(calls(&[]) >= least, "{name}");
        assert_eq!(calls(&["--max-registers", "32"]), 0, "{name}: few registers");
        assert_eq!(calls(&["-O", "0"]), 0, "{name}: code as it is written");
    }
}

/// Bodies do what their operations do, for operands of all kinds.
#[test]
fn expansions_are_what_they_stand_for() {
    let opcodes = [
        (Opcode::IMadHi, 30),
        (Opcode::IDiv, 30),
        (Opcode::IRem, 30),
        (Opcode::FDiv, 30),
        (Opcode::FSqrt, 30),
        (Opcode::FRcp, 30),
        (Opcode::FRsqrt, 30),
        (Opcode::Atom, 30),
        (Opcode::AtomCas, 30),
        (Opcode::Red, 30),
        (Opcode::Cvt, 20),
        (Opcode::Fns, 200),
        (Opcode::Wmma, 3),
        (Opcode::WmmaHalves, 3),
    ];
    let config = Config::default();
    let pins = single::pins(config.level);
    let rounds = |opcode: Opcode| {
        // They have hundreds of combinations of types, signs and saturation.
        let of_video = opcode.row().flags.has(Flags::VIDEO).then_some(6);
        opcodes.iter().find(|(known, _)| *known == opcode).map(|(_, rounds)| *rounds).or(of_video)
    };
    let wanted = (0u64..).zip(pins).filter_map(|(at, pin)| Some((at, rounds(pin.0)?)));
    let (mut seen, mut expanded) = (0, BTreeSet::new());
    for (at, rounds) in wanted {
        for round in 0..rounds {
            let generated = single::instruction(at, &mut Entropy::from_seed(at << 8 | round), &config);
            let before = ssa::destructed(&generated.module);
            // They are done on the word around: the order is kept, and the size is not, which this judge asks for.
            let is_half = |func: &oriole_ir::Function| {
                func.layout_insts().any(|inst| {
                    let data = func.inst(inst);
                    let is_atomic = matches!(data.opcode, Opcode::Atom | Opcode::AtomCas | Opcode::Red);
                    is_atomic && data.ty().bits() == 16
                })
            };
            if before.functions.values().any(is_half) {
                continue;
            }
            let mut after = before.clone();
            for func in after.functions.values_mut() {
                expanded.extend(expand::names(func, true));
                // The short way before a call, the long one alone, and both.
                let called = expand::rests(func);
                let rests = match round % 3 {
                    0 => expand::Rests { called: &called, is_rest: false },
                    1 => expand::Rests { called: &[], is_rest: true },
                    _ => expand::Rests::default(),
                };
                expand::expand(func, &mut Default::default(), &expand::Pointers::default(), true, rests);
            }
            for launch in &generated.launches {
                let original = Executable::new(&before).expect("the module is valid");
                let changed = Executable::new(&after).expect("the module is valid");
                let Ok(judge) = oriole_check::judge::Judge::of(&original, &launch.launch, None) else { continue };
                let judgement = judge.judge(&changed);
                let pin = pins[at as usize];
                assert!(!judgement.verdict.is_finding(), "{pin:?}, {round}: {}\n{before}", judgement.verdict);
                seen += 1;
            }
        }
    }
    let of = |what: &str| expanded.iter().filter(|name| name.starts_with(what)).count();
    let least = [("v", 500), ("wmma", 50), ("f", 20), ("cvt", 30), ("i", 10), ("atom", 10), ("red", 5)];
    let is_enough = least.iter().all(|(what, least)| of(what) > *least);
    assert!(seen > 500 && is_enough, "{seen}: {expanded:?}");
}

/// `ptxas -v` and ours say the same of what does not depend on how code is made.
#[test]
fn verbose_says_what_ptxas_says() {
    let Some(ptxas) = cuda_tool("ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("k.cubin").display().to_string();
    for name in ["saxpy", "reduce_shared", "device_globals", "local_array", "named_barriers", "transpose"] {
        let kernel = kernels().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        let kernel = kernel.expect("it is in the corpus").display().to_string();
        let theirs =
            Command::new(&ptxas).args(["-v", "-arch", "sm_90", &kernel, "-o", &out]).output().expect("it starts");
        let ours = oriole(&["compile", &kernel, "--sm", "sm_90", "-v", "-o", &out]);
        assert!(ours.status.success(), "{name}: {}", said(&ours));
        // Numbers of registers, instructions and times are the compiler's own.
        let lines = |output: &Output| -> Vec<String> {
            let text = said(output).replace("ptxas info", "oriole info");
            let own = |line: &&str| !line.contains("Compile time") && !line.contains("kept in memory");
            let facts = |line: &str| match line.split_once("Used ") {
                Some((head, used)) => format!("{head}Used{}", used.split_once(" registers").expect(line).1),
                None => line.to_owned(),
            };
            text.lines().filter(own).map(facts).collect()
        };
        assert_eq!(lines(&ours), lines(&theirs), "{name}");
    }
}

/// Several SMs are one fat binary, which NVIDIA's tools and ours take apart; and the text is that of `sass`.
#[test]
fn several_sms_are_one_fat_binary() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = folder.path().join("k.ptx");
    std::fs::write(&kernel, SHARED).expect("the folder is writable");
    let (kernel, fat) = (kernel.display().to_string(), folder.path().join("k.fatbin").display().to_string());
    let made = oriole(&["compile", &kernel, "--sm", "sm_80,sm_90,sm_100"]);
    assert!(made.status.success(), "{}", said(&made));
    let bytes = std::fs::read(&fat).expect("the fat binary");
    let images = oriole_sass::cubin::fat::read(&bytes).expect("it is one");
    assert_eq!(images.iter().map(|(sm, _)| *sm).collect::<Vec<_>>(), [80, 90, 100]);
    for (sm, image) in &images {
        let (one, arch) = (folder.path().join("one.cubin").display().to_string(), format!("sm_{sm}"));
        let alone = oriole(&["compile", &kernel, "--sm", &arch, "-o", &one]);
        assert!(alone.status.success(), "{}", said(&alone));
        let alone = std::fs::read(&one).expect("a cubin");
        assert_eq!(image[..alone.len()], alone, "{arch}");
        let [listed, text] = [&["sass", &one][..], &["compile", &kernel, "--sm", &arch, "--emit", "sass"]]
            .map(|words| said(&oriole(words)));
        assert!(listed.contains("EXIT") && listed == text, "{text}");
    }
    let listed = said(&oriole(&["sass", &fat]));
    assert_eq!(listed.matches("\t.target\t").count(), 3, "{listed}");
    if let Some(cuobjdump) = cuda_tool("cuobjdump") {
        let found = Command::new(cuobjdump).args(["-lelf", &fat]).output().expect("it starts");
        let text = said(&found);
        assert!(["1.sm_80", "2.sm_90", "3.sm_100"].iter().all(|name| text.contains(name)), "{text}");
    }
    // One that cannot be compiled leaves nothing of the others.
    std::fs::remove_file(&fat).expect("it is there");
    let refused = oriole(&["compile", &kernel, "--sm", "sm_80,sm_70"]);
    assert!(refused.status.code() == Some(2) && !Path::new(&fat).exists(), "{}", said(&refused));
    let unwritable = oriole(&["compile", &kernel, "--sm", "sm_80", "-o", "/no/such/folder/k.cubin"]);
    assert!(unwritable.status.code() == Some(2) && said(&unwritable).contains("cannot write"), "{}", said(&unwritable));
}

/// A program in C with the cubin and a launch in it: a C compiler takes it, and where there is a GPU it says `right`.
#[test]
fn a_program_in_c_runs_the_cubin() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("k.c").display().to_string();
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels/saxpy.ptx").display().to_string();
    let made = oriole(&["compile", &kernel, "--emit", "c", "-o", &source]);
    assert!(made.status.success(), "{}", said(&made));
    let program = folder.path().join("k").display().to_string();
    let built =
        Command::new("cc").args(["-std=c11", "-Wall", "-Wextra", "-Werror", &source, "-o", &program, "-ldl"]).output();
    let Ok(built) = built else { return println!("skipped: there is no C compiler") };
    assert!(built.status.success(), "{}", said(&built));
    let ran = Command::new(&program).output().expect("it starts");
    match oriole_gpu::Gpu::of(Path::new(env!("CARGO_BIN_EXE_oriole")), &["gpu-worker"]) {
        Ok(_) => assert!(ran.status.success() && said(&ran).contains("right"), "{}", said(&ran)),
        Err(error) => println!("skipped: no GPU ({error}); the program says: {}", said(&ran)),
    }
    let two = oriole(&["compile", &kernel, "--emit", "c", "--sm", "sm_90,sm_100"]);
    assert!(two.status.code() == Some(2) && said(&two).contains("name one SM"), "{}", said(&two));
}

/// A variable that one way alone defines is a register that another way reads as it was.
#[test]
fn registers_that_nothing_writes_are_warned_of() {
    const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .b64 %rd<2>;\n.reg .b32 %r<3>;\n.reg .pred %p;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n\
        setp.lt.u32 %p, %r1, 16;\n@%p bra L;\nld.global.u32 %r2, [%rd1];\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, cubin] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&kernel, TEXT).expect("the folder is writable");
    let made = oriole(&["compile", &kernel, "--warn-uninitialized", "-O", "0", "-o", &cubin]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let expected = "warning 7700: Found 1 potentially uninitialized register(s) in function k\n  %R";
    assert!(
        said(&made).contains(expected) && said(&made).contains("not defined on every path there"),
        "{}",
        said(&made)
    );
    std::fs::write(&kernel, TEXT.replace("%tid.x;", "%tid.x;\nmov.u32 %r2, 7;")).expect("the folder is writable");
    let made = oriole(&["compile", &kernel, "--warn-uninitialized", "-O", "0", "-o", &cubin]);
    assert!(made.status.success() && !said(&made).contains("warning"), "{}", said(&made));
}

/// `nvdisasm -g` shows the lines of `.loc`, and those of ptxas's code and ours are the same set.
#[test]
fn line_tables_say_what_loc_says() {
    const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"/src/k.cu\"\n.file 2 \"h.cuh\"\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<3>;\n.loc 1 300 5\n\
        ld.param.u64 %rd1, [p];\n.loc 2 4 7\nmov.u32 %r1, %tid.x;\n.loc 1 5 1\nst.global.u32 [%rd1], %r1;\n\
        .loc 1 900 1\nst.global.u32 [%rd1+4], %r1;\nret;\n}\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [kernel, own, theirs] =
        ["k.ptx", "own.cubin", "theirs.cubin"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&kernel, TEXT).expect("the folder is writable");
    let made = oriole(&["compile", &kernel, "--lineinfo", "-o", &own]);
    assert!(made.status.success(), "{}", said(&made));
    let has_table = |path: &str| {
        Cubin::read(&std::fs::read(path).expect("a cubin")).expect("a cubin").section(".debug_line").is_some()
    };
    assert!(has_table(&own));
    let judged = oriole(&["sass", &own]);
    assert!(judged.status.success(), "{}", said(&judged));
    let plain = oriole(&["compile", &kernel, "-o", &theirs]);
    assert!(plain.status.success() && !has_table(&theirs), "{}", said(&plain));
    let (Some(nvdisasm), Some(ptxas)) = (cuda_tool("nvdisasm"), cuda_tool("ptxas")) else { return };
    let built = Command::new(ptxas).args(["-lineinfo", "-arch", "sm_90", &kernel, "-o", &theirs]).output();
    assert!(built.expect("it starts").status.success());
    let lines = |path: &str| -> BTreeSet<String> {
        let listed = said(&Command::new(&nvdisasm).args(["-g", "-c", path]).output().expect("it starts"));
        listed.lines().filter_map(|line| Some(line.split_once("//## File ")?.1.trim().to_owned())).collect()
    };
    let (ours, wanted) = (lines(&own), lines(&theirs));
    let ptx_lines = |path: &str| -> BTreeSet<String> {
        let listed = said(&Command::new(&nvdisasm).args(["-gp", "-c", path]).output().expect("it starts"));
        let ptx = listed.lines().filter_map(|line| line.split_once(".nv_debug_ptx_txt\", "));
        ptx.map(|(_, line)| line.trim().to_owned()).collect()
    };
    let (of_ptx, of_theirs) = (ptx_lines(&own), ptx_lines(&theirs));
    // Those of the stores and of the end.
    assert!(["line 15", "line 17", "line 18"].iter().all(|line| of_ptx.contains(*line)), "{of_ptx:?}");
    assert!(of_theirs.contains("line 15") && of_theirs.contains("line 17"), "{of_theirs:?}");
    let section = |path: &str| {
        let cubin = Cubin::read(&std::fs::read(path).expect("a cubin")).expect("a cubin");
        cubin.section(".nv_debug_ptx_txt").map(|section| cubin.bytes(section).to_vec())
    };
    assert_eq!(section(&own), section(&theirs), "the text is that of ptxas");
    let stores = |lines: &BTreeSet<String>| lines.iter().filter(|line| line.contains("k.cu")).count();
    assert!(stores(&ours) >= 2 && ours.iter().any(|line| line.contains("line 900")), "{ours:?}");
    assert!(ours.iter().all(|line| wanted.contains(line) || line.contains("line 300")), "{ours:?} and {wanted:?}");
}
