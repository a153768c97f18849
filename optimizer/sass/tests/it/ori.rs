//! Words as Ori and back: all functions of `corpus/cubins`, and random words of every encoding.

use std::collections::BTreeMap;
use std::path::Path;

use oriole_ir::verify::verify_module;
use oriole_ir::{Module, inst_to_string, parse_module};
use oriole_sass::cubin::{Cubin, words};
use oriole_sass::ori::in_place::{self, InPlaceError};
use oriole_sass::row::Part;
use oriole_sass::{Instruction, SMS, Table, ori, sample, text};

/// The cubins of the corpus by their names.
fn cubins() -> Vec<(String, Cubin)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let read = |line: &str| {
        let name = line.split(' ').next().expect("a line begins with a name").to_owned();
        let bytes = std::fs::read(folder.join(&name)).expect("ci/cubins wrote the cubin");
        let cubin = Cubin::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, cubin)
    };
    list.lines().map(read).collect()
}

/// A module of the machine level, after the verifier has seen it and it has been written and read.
fn read_back(module: &Module, what: &str) -> Module {
    let printed = module.to_string();
    if let Err(violations) = verify_module(module) {
        panic!("{what}: {}\n{printed}", violations[0]);
    }
    let again = parse_module(&printed).unwrap_or_else(|error| {
        let start = error.span.offset().saturating_sub(80);
        panic!("{what}: {error}: …{}", &printed[start..(error.span.offset() + 40).min(printed.len())])
    });
    assert!(again == *module, "{what} reads back as another module:\n{printed}");
    again
}

/// Whether an instruction is one on images that has bits of the operand cache, which have no names: ptxas sets them for
/// `sm_80`.
fn is_cached_access(text: &str) -> bool {
    let is_of_cache = ["122", "123", "124"].iter().any(|bit| text.contains(&format!(".bit{bit}")));
    is_of_cache && ["TEX", "TLD", "TXD", "TXQ", "SU"].iter().any(|family| text.contains(&format!("= {family}")))
}

/// The instructions that say bits by their numbers.
fn unsaid(module: &Module) -> impl Iterator<Item = String> + '_ {
    module.functions.values().flat_map(|func| {
        let unsaid = func.layout_insts().filter(|inst| func.unsaid_bits(*inst) != 0);
        unsaid.map(|inst| inst_to_string(func, inst, Some(module)))
    })
}

#[test]
fn functions_of_the_corpus_read_back_and_become_their_words() {
    let mut unnamed: BTreeMap<String, usize> = BTreeMap::new();
    let (mut functions, mut count) = (0, 0);
    for (name, cubin) in cubins() {
        let module = ori::module(&cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = read_back(&module, &name);
        unsaid(&module).filter(|text| !is_cached_access(text)).for_each(|name| *unnamed.entry(name).or_default() += 1);
        for (id, function) in again.functions.keys().zip(&cubin.functions) {
            let lowered = ori::lower(&again, id).unwrap_or_else(|error| panic!("{name}: {error}"));
            let range = cubin.own_range(function);
            let own = &cubin.bytes(function.section)[range.start as usize..range.end as usize];
            assert!(lowered.iter().copied().eq(words(own)), "{name}: {} becomes other words", function.name);
            (functions, count) = (functions + 1, count + lowered.len());
        }
    }
    println!("{functions} functions of {count} words");
    assert!(unnamed.is_empty(), "{unnamed:#?}");
}

#[test]
fn random_words_read_back_and_become_themselves() {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    };
    for sm in SMS {
        let table = Table::of(sm).expect("the SM is known");
        for encoding in table.encodings() {
            for _ in 0..8 {
                let word = sample::word(encoding, true, &mut next);
                let Ok(instruction) = table.decode(word) else { continue };
                let mut printed = String::new();
                text::print(&mut printed, &instruction, 0);
                let what = format!("sm_{sm} {word:032x} {printed}");
                let mut module = Module { target: format!("sm_{sm}"), ..Module::default() };
                let func = ori::function(sm, "f", &[word]).unwrap_or_else(|error| panic!("{what}: {error}"));
                let id = module.functions.push(func);
                let again = read_back(&module, &what);
                assert_eq!(ori::lower(&again, id), Ok(vec![word]), "{what}\n{again}");
                let func = &module.functions[id];
                let bits = func.layout_insts().fold(0, |all, inst| all | func.unsaid_bits(inst));
                assert_eq!(bits & !unread(&instruction), 0, "{what}: operands do not say what is read\n{module}");
            }
        }
    }
}

/// The bits of a word that its text does not show: of parts that nothing reads, marks of operands that are not there,
/// and codes without a name beside others.
fn unread(instruction: &Instruction<'_>) -> u128 {
    let parts = instruction.encoding.parts.iter();
    let hidden = parts.clone().filter(|part| !part.is_used(instruction.word)).map(Part::mask);
    let unnamed = parts.filter_map(|part| part.suffix.filter(|(_, names)| names.iter().all(|name| name.is_empty())));
    hidden.chain(unnamed.map(|(bits, _)| bits.mask())).fold(0, |all, mask| all | mask)
}

/// In code that overlaps, whoever waits for a barrier may wait for another instruction that sets it.
#[test]
fn what_sets_a_barrier_stays_where_code_overlaps() {
    let mut refused = 0;
    for (name, cubin) in cubins().into_iter().filter(|(name, _)| name.contains(".O3.")) {
        let lifted = in_place::lift(&cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (id, it) in lifted.functions.keys().zip(&cubin.functions) {
            let func = &lifted.functions[id];
            if func.is_serial() {
                continue;
            }
            let barrier = |inst| func.schedule(inst).and_then(|it| it.write_barrier.or(it.read_barrier));
            let first = func.layout_insts().find_map(|inst| Some((inst, barrier(inst)?)));
            let Some((inst, barrier)) = first else { continue };
            let offset = cubin.own_range(it).start + 16 * u64::from(func.inst(inst).line - 1);
            let mut module = lifted.clone();
            module.functions[id].remove_inst(inst);
            let signals = InPlaceError::Signals { function: func.name.clone(), offset, barrier };
            assert_eq!(in_place::write(&cubin, &module), Err(signals), "{name}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused} functions of the corpus overlap");
}
