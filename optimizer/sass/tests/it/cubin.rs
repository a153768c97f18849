//! Cubins against NVIDIA's tools, where they are installed: nvlink, nvdisasm, cuobjdump.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oriole_sass::cubin::{Cubin, Effect, Placement, RelocationKind, Source};
use oriole_sass::{schedule, with_schedule};

const LINKED: &[u8] = include_bytes!("../../src/cubin/data/linked.cubin");
const OBJECT: &[u8] = include_bytes!("../../src/cubin/data/object.cubin");

/// A CUDA tool, where it is installed: on the PATH, in `CUDA_HOME`, or by `ci/cuda-tools`.
fn tool(name: &str) -> Option<PathBuf> {
    let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let output = Command::new(finder).args(["--find", name]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    if !output.status.success() {
        println!("skipped: no {name} (ci/cuda-tools installs it)");
        return None;
    }
    Some(PathBuf::from(path.trim()))
}

/// A file in the folder of the tests.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the test folder is writable");
    path
}

fn run(tool: &Path, options: &[&str], files: &[&Path]) -> Output {
    Command::new(tool).args(options).args(files).output().expect("the tool starts")
}

/// What a tool prints.
fn text(tool: &Path, options: &[&str], name: &str, bytes: &[u8]) -> String {
    let output = run(tool, options, &[&file(name, bytes)]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} refuses {name}: {complaint}", tool.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The object file with its relocation of `second` changed to another type and addend, and the word that it is of.
fn with_relocation(kind: u32, addend: i64) -> Vec<u8> {
    let cubin = Cubin::read(OBJECT).expect("the file is sound");
    let section = cubin.section(".rela.text.sum").expect("the section is in the file");
    let (rows, _) = cubin.bytes(section).as_chunks::<24>();
    let is_second = |row: &[u8; 24]| row[..8] == 0x20_u64.to_le_bytes();
    let row = rows.iter().position(is_second).expect("the store to `second` is relocated");
    let start = cubin.sections[section].range.start + row * 24;
    let mut bytes = OBJECT.to_vec();
    bytes[start + 8..start + 12].copy_from_slice(&kind.to_le_bytes());
    bytes[start + 16..start + 24].copy_from_slice(&addend.to_le_bytes());
    bytes
}

/// The word at 0x20 of `sum`.
fn word(code: &[u8]) -> u128 {
    u128::from_le_bytes(code[0x20..0x30].try_into().expect("16 bytes"))
}

#[test]
fn relocations_do_what_nvlink_does() {
    let (Some(nvlink), Some(ptxas)) = (tool("nvlink"), tool("ptxas")) else { return };
    let other = file(
        "elsewhere.ptx",
        b".version 9.0\n.target sm_80\n.address_size 64\n.visible .func elsewhere(.param .u64 at) { ret; }\n",
    );
    let elsewhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("elsewhere.cubin");
    let linked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvlink.cubin");
    let options = ["-arch=sm_80", "-c", "-o", elsewhere.to_str().expect("the test folder has a plain name")];
    assert!(run(&ptxas, &options, &[&other]).status.success());
    let output = ["-arch=sm_80", "-o", linked.to_str().expect("the test folder has a plain name")];
    let mut compared = 0;
    let known = RelocationKind::ALL.iter().filter(|row| matches!(row.effect, Effect::Put(_)));
    for row in known {
        for addend in [0x0123_4567_89ab_cdef, 0x7edc_ba98_7654_3210, -1] {
            let bytes = with_relocation(row.kind, addend);
            let object = file("object.cubin", &bytes);
            let _ = std::fs::remove_file(&linked);
            // nvlink leaves some types to the loader, and does not let those name a shared variable.
            if !run(&nvlink, &output, &[&object, &elsewhere]).status.success() {
                continue;
            }
            let theirs = Cubin::read(&std::fs::read(&linked).expect("nvlink wrote a file")).expect("it is sound");
            let theirs = word(theirs.code(theirs.function("sum").expect("it is an entry")));
            let cubin = Cubin::read(&bytes).expect("the file is sound");
            let image = cubin.apply_relocations(&Placement::new(&cubin, 0, 0, 0)).expect("everything has a place");
            let sum = cubin.function("sum").expect("it is an entry");
            let ours = image.words(sum).nth(2).expect("the function has 32 words");
            // A shared variable lies in no bank; nvlink takes another number there.
            let Effect::Put(fields) = row.effect else { continue };
            let bank = fields.iter().filter(|field| field.source == Source::Bank);
            let bank = bank.fold(0u128, |bits, field| bits | 0x1f << field.to);
            assert_eq!(ours & !bank, theirs & !bank, "{}, addend {addend:#x}", row.name);
            compared += 1;
        }
    }
    assert!(compared >= 3 * 60, "nvlink applied {compared} relocations to a shared variable: too few");
}

#[test]
fn attributes_have_the_names_that_cuobjdump_prints() {
    let Some(cuobjdump) = tool("cuobjdump") else { return };
    for (name, bytes) in [("linked.cubin", LINKED), ("object.cubin", OBJECT)] {
        let text = text(&cuobjdump, &["-elf"], name, bytes);
        let printed = text.lines().filter_map(|line| line.trim().strip_prefix("Attribute:\t"));
        let mut theirs: Vec<&str> = printed.filter(|name| name.starts_with("EIATTR_")).collect();
        let cubin = Cubin::read(bytes).expect("the file is sound");
        let own = cubin.functions.iter().flat_map(|function| &function.info.attributes);
        let mut ours: Vec<&str> = cubin.attributes.iter().chain(own).filter_map(|attribute| attribute.name()).collect();
        // The tool prints sections in the file's order, here they stand by function.
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{name}");
        assert!(ours.len() > 10, "{name} has attributes");
    }
}

#[test]
fn nvdisasm_and_cuobjdump_read_changed_files() {
    let (Some(nvdisasm), Some(cuobjdump)) = (tool("nvdisasm"), tool("cuobjdump")) else { return };
    let cubin = Cubin::read(LINKED).expect("the file is sound");
    let pick = cubin.function("pick").expect("it is an entry");
    let mut words: Vec<u128> = cubin.words(pick).collect();
    // The last word, a NOP, becomes EXIT, with the scheduling of a NOP.
    let exit = pick.info.exits[0] as usize / 16;
    let last = words.len() - 1;
    words[last] = with_schedule(words[exit], &schedule(words[last])).expect("a NOP has a scheduling");
    let changed = cubin.with_code("pick", &words).expect("the length is the same");
    let exits = |text: &str| text.lines().filter(|line| line.contains(" EXIT")).count();
    let before = text(&nvdisasm, &["-c", "-ndf"], "before.cubin", LINKED);
    let after = text(&nvdisasm, &["-c", "-ndf"], "after.cubin", &changed);
    assert_eq!((exits(&before), exits(&after)), (1, 2));
    let sections = |text: &str| text.lines().filter(|line| line.contains("EIATTR_")).count();
    let (before, after) = (text(&cuobjdump, &["-elf"], "a", LINKED), text(&cuobjdump, &["-elf"], "b", &changed));
    assert_eq!(sections(&before), sections(&after));
}
