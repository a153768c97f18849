//! Every word of `corpus/cubins`: decoded, encoded again, and printed as nvdisasm prints it.
//!
//! `ci/cubins` makes the cubins, and `text.txt` with a hash of what nvdisasm prints for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oriole_sass::cubin::{Cubin, SectionKind, words};
use oriole_sass::{Table, text};

/// For each SM: its words, those among them that no encoding is written for yet, its cubins, and those that have all
/// encodings and print the right text. A new encoding lowers the second number and raises the last.
const STATE: [(u16, [usize; 4]); 4] =
    [(80, [6968, 0, 26, 26]), (90, [17832, 0, 60, 60]), (100, [12408, 0, 42, 42]), (120, [12680, 0, 51, 51])];

/// One cubin of the corpus.
struct Case {
    name: String,
    cubin: Cubin,
    /// The hash of the text.
    hash: String,
}

fn cases() -> Vec<Case> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let case = |line: &str| {
        let (name, hash) = line.split_once(' ').expect("a name and a hash");
        let bytes = std::fs::read(folder.join(name)).expect("ci/cubins wrote the cubin");
        let cubin = Cubin::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        Case { name: name.to_owned(), cubin, hash: hash.to_owned() }
    };
    list.lines().map(case).collect()
}

/// The code sections of a cubin.
fn code(cubin: &Cubin) -> impl Iterator<Item = &[u8]> {
    let is_code = |at: &usize| cubin.sections[*at].kind == SectionKind::Code;
    (0..cubin.sections.len()).filter(is_code).map(|at| cubin.bytes(at))
}

/// 64-bit FNV-1a, as in `ci/cubins`.
fn hash(text: &str) -> String {
    let value = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{value:016x}")
}

#[test]
fn every_word_is_encoded_again_bit_for_bit() {
    let mut found: BTreeMap<u16, [usize; 4]> = BTreeMap::new();
    for case in cases() {
        let sm = case.cubin.target.sm;
        let table = Table::of(sm).expect("the SM is known");
        let [all, unknown, cubins, printed] = found.entry(sm).or_default();
        let (mut out, mut is_whole) = (String::new(), true);
        for code in code(&case.cubin) {
            for (at, word) in words(code).enumerate() {
                *all += 1;
                match table.decode(word) {
                    Ok(instruction) => {
                        let place = format!("{}: {word:032x} at {:#x}", case.name, at * 16);
                        assert_eq!(instruction.encode(), word, "{place} is another word when encoded");
                        text::print(&mut out, &instruction, at as u64 * 16);
                        out.push('\n');
                    }
                    Err(_) => {
                        *unknown += 1;
                        is_whole = false;
                    }
                }
            }
        }
        *cubins += 1;
        if is_whole {
            assert_eq!(hash(&out), case.hash, "nvdisasm prints another text for {}:\n{out}", case.name);
            *printed += 1;
        }
    }
    let found: Vec<(u16, [usize; 4])> = found.into_iter().collect();
    assert_eq!(found, STATE, "more or fewer words have encodings: change the table `STATE` of this test");
}

#[test]
fn every_kernel_can_be_launched_and_loaded() {
    let mut entries = 0;
    for Case { name, cubin, .. } in cases() {
        assert!(name.contains(&format!(".{}.", cubin.target)), "{name} is for {}", cubin.target);
        let placement = oriole_sass::cubin::Placement::new(&cubin, 0x1_0000, 0x7000_0000_0000, 0x1000);
        let image = cubin.apply_relocations(&placement).unwrap_or_else(|error| panic!("{name}: {error}"));
        for function in cubin.entries() {
            entries += 1;
            let info = &function.info;
            // Where the parameters begin: bank 0 of the SM has that much of the driver's before.
            let base = [(80, 0x160), (90, 0x210), (100, 0x380), (120, 0x380)];
            let base = base.iter().find(|(sm, _)| *sm == cubin.target.sm).map(|(_, base)| *base);
            assert_eq!(info.parameter_base, base, "{name}: {}", function.name);
            // A parameter that is a texture, a sampler or a surface has no bytes there.
            let with_bytes = info.parameters.iter().filter(|parameter| parameter.size > 0);
            let end = with_bytes.map(|last| u32::from(last.offset + last.size)).max().unwrap_or(0);
            assert_eq!(info.parameter_size, end, "{name}: {}", function.name);
            let bank = cubin.constants(function, 0).expect("every kernel has a bank 0");
            // Behind the parameters are the numbers of what the module's variables lead to.
            let numbers = cubin.relocations.iter().filter(|relocation| relocation.section == bank);
            let size = numbers.map(|relocation| relocation.offset + 4).max();
            let size = size.unwrap_or(u64::from(base.unwrap_or(0) + end));
            assert_eq!(cubin.sections[bank].size, size, "{name}: {}", function.name);
            assert!(info.registers.is_some_and(|registers| (1..=255).contains(&registers)), "{name}: {info:?}");
            let words: Vec<u128> = image.words(function).collect();
            let is_exit = |offset: &u32| words.get(*offset as usize / 16).is_some_and(|word| word & 0xfff == 0x94d);
            assert!(info.exits.iter().all(is_exit), "{name}: {:x?}", info.exits);
            for branch in &info.indirect_branches {
                assert!(branch.targets.iter().all(|target| u64::from(*target) < function.size), "{name}: {branch:x?}");
            }
        }
    }
    assert!(entries > 100, "{entries} kernels are few");
}
