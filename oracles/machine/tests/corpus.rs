//! Code that the real ptxas made of kernels of the corpus, executed beside its PTX: both leave the same bytes behind.
//!
//! The cubins are captured (`corpus/cubins`), so that this needs no tool.

use std::path::{Path, PathBuf};

use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::Module;
use oriole_launch::{Launch, launch_files_for};
use oriole_machine::Image;
use oriole_sass::cubin::Cubin;

fn corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder)
}

fn kernel(name: &str) -> (PathBuf, Module) {
    let path = corpus("kernels").join(format!("{name}.ptx"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tree = oriole_ptx::parse(&text).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
    (path, oriole_ptx::lower(&tree, &text).unwrap_or_else(|faults| panic!("{name}: {faults:?}")))
}

/// The captured cubins: file name, kernel, content.
fn cubins() -> Vec<(String, String, Cubin)> {
    let files = std::fs::read_dir(corpus("cubins")).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".cubin"));
    names.sort();
    let read = |name: String| {
        let bytes = std::fs::read(corpus("cubins").join(&name)).unwrap();
        let cubin = Cubin::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let kernel = name.split('.').next().unwrap().to_owned();
        (name, kernel, cubin)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn captured_code_does_what_its_ptx_says() {
    let mut compared = 0;
    for (name, kernel_name, cubin) in cubins() {
        let (path, module) = kernel(&kernel_name);
        let executable = Executable::new(&module).unwrap();
        for file in launch_files_for(&path) {
            let launch = Launch::load(&file).unwrap();
            let before = executable.run(&launch, &RunOptions::default()).unwrap();
            assert_eq!(before.outcome, Outcome::Finished, "{kernel_name}");
            let bound = executable.bound(&launch).unwrap();
            let image = Image::load(&cubin, &bound).unwrap_or_else(|error| panic!("{name}: {error}"));
            let run = image.run(&launch, &bound, &RunOptions::default());
            let after = run.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(after.outcome, Outcome::Finished, "{name}");
            for (ours, theirs) in before.memory.iter().zip(&after.memory) {
                assert_eq!((&ours.name, ours.bytes.len()), (&theirs.name, theirs.bytes.len()), "{name}");
                let differs = (0..ours.bytes.len())
                    .find(|at| !ours.bytes.is_undefined(*at) && ours.bytes.data()[*at] != theirs.bytes.data()[*at]);
                assert_eq!(differs, None, "{name}: `{}`", ours.name);
            }
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} compared");
}

#[test]
fn a_wrong_word_is_seen() {
    let (name, kernel_name, cubin) =
        cubins().into_iter().find(|(name, ..)| name == "half_arith.sm_90.O3.cubin").unwrap();
    let (path, module) = kernel(&kernel_name);
    let executable = Executable::new(&module).unwrap();
    let launch = Launch::load(&launch_files_for(&path)[0]).unwrap();
    let bound = executable.bound(&launch).unwrap();
    let before = executable.run(&launch, &RunOptions::default()).unwrap();
    let function = cubin.function(&bound.entry).unwrap();
    let words: Vec<u128> = cubin.words(function).collect();
    // Each addition of an immediate adds one more: most of them make another result, or another address.
    let is_sum = |word: &u128| matches!(word & 0xfff, 0x810 | 0x836 | 0x824);
    let sums: Vec<usize> = (0..words.len()).filter(|at| is_sum(&words[*at])).collect();
    assert!(!sums.is_empty(), "{name} has no sums");
    let wrong = sums.iter().filter(|at| {
        let mut changed = words.clone();
        changed[**at] ^= 1 << 34;
        let cubin = Cubin::read(&cubin.with_code(&bound.entry, &changed).unwrap()).unwrap();
        let run = Image::load(&cubin, &bound).unwrap().run(&launch, &bound, &RunOptions::default());
        !run.is_ok_and(|after| {
            after.outcome == Outcome::Finished
                && before.memory.iter().zip(&after.memory).all(|(a, b)| a.bytes.data() == b.bytes.data())
        })
    });
    let wrong = wrong.count();
    assert!(wrong * 2 > sums.len(), "{wrong} of {} changes are seen", sums.len());
}

#[test]
fn a_wrong_operand_of_an_image_is_seen() {
    const FETCH: u128 = 0xf60;
    const STORE: u128 = 0xf9d;
    // Opcode, bit, and what it belongs to.
    let changes = [
        (FETCH, 24, "coordinates"),
        (FETCH, 40, "handle"),
        (FETCH, 61, "shape"),
        (FETCH, 72, "mask"),
        (STORE, 24, "coordinates"),
        (STORE, 32, "value"),
        (STORE, 40, "handle"),
    ];
    changes_are_seen("bilinear.sm_90.O3.cubin", &changes);
}

#[test]
fn a_wrong_operand_of_a_gather_or_a_question_is_seen() {
    const GATHER: u128 = 0xf63;
    const DERIVED: u128 = 0xf6c;
    const QUESTION: u128 = 0xf6f;
    const TEXEL: u128 = 0xf9b;
    const REDUCTION: u128 = 0xf9f;
    let changes = [
        (GATHER, 24, "coordinates"),
        (GATHER, 40, "handle"),
        (GATHER, 72, "mask"),
        (GATHER, 87, "component"),
        (DERIVED, 24, "coordinates"),
        (DERIVED, 32, "derivatives"),
        (DERIVED, 72, "mask"),
        (QUESTION, 24, "level"),
        (QUESTION, 40, "handle"),
        (TEXEL, 24, "coordinates"),
        (TEXEL, 32, "value"),
        (REDUCTION, 24, "coordinates"),
        (REDUCTION, 32, "value"),
        (REDUCTION, 87, "operation"),
    ];
    changes_are_seen("image_gathers.sm_90.O3.cubin", &changes);
}

/// Flips bits of the first words with these opcodes, one at a time: what is left differs, or nothing ends.
fn changes_are_seen(file: &str, changes: &[(u128, u32, &str)]) {
    let (_, kernel_name, cubin) = cubins().into_iter().find(|(name, ..)| name == file).expect("it is captured");
    let (path, module) = kernel(&kernel_name);
    let executable = Executable::new(&module).unwrap();
    let launch = Launch::load(&launch_files_for(&path)[0]).unwrap();
    let bound = executable.bound(&launch).unwrap();
    let before = executable.run(&launch, &RunOptions::default()).unwrap();
    let words: Vec<u128> = cubin.words(cubin.function(&bound.entry).unwrap()).collect();
    for (opcode, bit, what) in changes {
        let at = words.iter().position(|word| word & 0xfff == *opcode).unwrap();
        let mut changed = words.clone();
        changed[at] ^= 1u128 << bit;
        let cubin = Cubin::read(&cubin.with_code(&bound.entry, &changed).unwrap()).unwrap();
        let run = Image::load(&cubin, &bound).unwrap().run(&launch, &bound, &RunOptions::default());
        let same = run.is_ok_and(|after| {
            after.outcome == Outcome::Finished
                && before.memory.iter().zip(&after.memory).all(|(a, b)| a.bytes.data() == b.bytes.data())
        });
        assert!(!same, "another {what} of {opcode:#x} is not seen in {file}");
    }
}
