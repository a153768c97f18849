use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::parse_function;
use oriole_sass::cubin::Cubin;

use super::*;

/// The document's list, line by line: the slot, its name, the values that matchers compare with.
/// (`spec/peephole.txt`, the table of "Step 1"; a range is written out.)
const DOCUMENT: [(u16, &str, &[u16]); 42] = [
    (0x05, "Ori opcode ID", &[12]),
    (0x7B, "operation class", &[536]),
    (0x7E, "data type qualifier", &[547, 548]),
    (0x88, "sub-operation modifier", &[406, 407, 408, 598, 599]),
    (0x90, "FP precision class", &[628, 629]),
    (0xA1, "addressing mode variant", &[700]),
    (0xBE, "operation subtype", &[815]),
    (0xD2, "memory scope", &[1177, 1181]),
    (0xD3, "memory ordering", &[1181]),
    (0xDC, "encoding property (type)", &[1206]),
    (0xF2, "width / size qualifier", &[1281, 1282]),
    (0x101, "async copy routing", &[1332]),
    (0x119, "address space qualifier", &[1435, 1436, 1437, 1438, 1439, 1440]),
    (0x126, "constraint field", &[1493]),
    (0x127, "extended constraint", &[1499]),
    (0x142, "instruction form", &[1800]),
    (0x152, "operand layout tag", &[1871, 1873, 1874]),
    (0x155, "source modifier", &[1881, 1882]),
    (0x159, "rounding mode selector", &[1899, 1900, 1901, 1902, 1903]),
    (0x15C, "precision qualifier", &[1912, 1915]),
    (0x163, "extended property (rnd)", &[1943]),
    (0x167, "operand negation mask", &[1957, 1961]),
    (0x178, "extended property A", &[2035]),
    (0x179, "extended property B", &[2037, 2038, 2039, 2040, 2041]),
    (0x18A, "dual-issue / sched hint", &[]),
    (0x18D, "encoding validity stamp", &[2115]),
    (0x196, "MMA type A", &[2146]),
    (0x197, "MMA type B", &[]),
    (0x199, "MMA accumulator type", &[]),
    (0x19D, "extended qualifier", &[2167, 2168]),
    (0x1A8, "uniform register hint", &[2214, 2215, 2216, 2217, 2218, 2219, 2220, 2221, 2222, 2223, 2224, 2225]),
    (0x1AD, "extended qualifier B", &[2253, 2254, 2255, 2256, 2257]),
    (0x1AE, "warp shuffle mode A", &[]),
    (0x1AF, "warp shuffle mode B", &[]),
    (0x1B2, "FP composition", &[2274]),
    (0x1D1, "codegen control A", &[]),
    (0x1D2, "codegen control B", &[]),
    (0x1E0, "encoding format class", &[2478, 2479, 2480, 2481]),
    (0x1E4, "extended modifier C", &[]),
    (0x1EC, "extended modifier D", &[]),
    (0x216, "MMA layout descriptor", &[2717]),
    (0x253, "extended field (max)", &[2937, 2938]),
];

/// The values that the document names: 547 is `.f32`, and so on.
const NAMED: [(u16, u16, &str); 20] = [
    (0x7E, 547, "f32"),
    (0x7E, 548, "f64"),
    (0xD2, 1177, "gpu"),
    (0xD2, 1181, "sys"),
    (0xDC, 1206, "f32"),
    (0xF2, 1281, "32 bits"),
    (0xF2, 1282, "64 bits"),
    (0x119, 1436, "global"),
    (0x119, 1437, "shared"),
    (0x119, 1438, "local"),
    (0x119, 1439, "const"),
    (0x155, 1881, "absolute value"),
    (0x155, 1882, "negated"),
    (0x159, 1900, "rn"),
    (0x159, 1901, "rz"),
    (0x159, 1902, "rm"),
    (0x159, 1903, "rp"),
    (0x163, 1943, "rn"),
    (0x90, 628, "16 bits"),
    (0x90, 629, "32 bits"),
];

#[test]
fn slots_and_values_are_those_of_the_document() {
    let ours: Vec<(u16, &str, Vec<u16>)> = SLOTS
        .iter()
        .map(|slot| (slot.number, slot.name, slot.values.iter().map(|(code, _)| *code).collect()))
        .collect();
    let theirs: Vec<(u16, &str, Vec<u16>)> =
        DOCUMENT.iter().map(|(number, name, values)| (*number, *name, values.to_vec())).collect();
    assert_eq!(ours, theirs);
    for (number, code, name) in NAMED {
        let slot = slot(number).expect("the document lists it");
        assert!(slot.values.contains(&(code, name)), "{number:#x}: {code} is {name}");
    }
    let values: BTreeSet<u16> = DOCUMENT.iter().flat_map(|(_, _, values)| *values).copied().collect();
    let missing = SLOTS.iter().filter(|slot| slot.kind() == Kind::NoCounterpart).count();
    assert_eq!((values.len(), missing), (78, 5));
}

/// A field of a slot and the row have one name for a value that the document numbers.
#[test]
fn fields_and_rows_number_values_alike() {
    for slot in SLOTS {
        assert!(slot.missing.is_some() || !slot.doc.is_empty(), "{}", slot.name);
        let has_source = !slot.fields.is_empty() || !slot.words.is_empty() || slot.function.is_some();
        assert_eq!(has_source, slot.missing.is_none(), "{}", slot.name);
        assert!(slot.fields.first().is_none_or(|field| field.id() == slot.number), "{}", slot.name);
        for field in slot.fields {
            for (code, name) in (0..).zip(field.value_names()).map(|(index, name)| (field.code(index), *name)) {
                let row = slot.values.iter().find(|(known, _)| *known == code);
                let is_listed = row.is_some_and(|(_, known)| *known == name || name.is_empty());
                assert_eq!(is_listed, code < 4096, "{}: {name} is {code}", slot.name);
            }
        }
    }
}

/// The slots of the first instruction of a function's text, on an SM.
fn slots_of(head: &str, instruction: &str, end: &str, sm: u16) -> BTreeMap<u16, u16> {
    oriole_sass::ori::register();
    let text = format!("{head} {{\nbb0:\n  {instruction}\n  {end}\n}}\n");
    let func = parse_function(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let inst = func.layout_insts().next().expect("there is one");
    let asked = Asked { table: Table::of(sm), ..Asked::new(&func, inst) };
    SLOTS.iter().filter_map(|slot| Some((slot.number, query(&asked, slot.number)?))).collect()
}

/// Slots with their values.
type Has = &'static [(u16, u16)];
/// Slots that are absent.
type Lacks = &'static [u16];

/// Instructions of the machine: their texts, the SM, slots with values, slots that are absent.
const MACHINE: &[(&str, u16, Has, Lacks)] = &[
    (
        "%R3 = FADD.RZ -%R2, |%R4|",
        90,
        &[(0x7E, 547), (0x90, 629), (0x155, 1881), (0x159, 1901), (0x167, 1958), (0x1E0, 2480), (0x127, 1499)],
        &[0x163, 0x119, 0xBE, 0x1B2, 0x178],
    ),
    ("%R3 = FFMA %R2, %R4, -%R5", 90, &[(0x159, 1900), (0x163, 1943), (0x167, 1961), (0x1E0, 2478)], &[0x88]),
    ("%R4x2 = DADD %R2x2, %R6x2", 90, &[(0x7E, 548), (0x167, 1957), (0x126, 1493)], &[0x90, 0x155]),
    (
        "%R3, %PT, %PT = IADD3 %R2, 5, %RZ, ~%PT, ~%PT",
        90,
        &[(0x1E0, 2479), (0x142, 1800), (0x152, 1873)],
        &[0x159, 0x167],
    ),
    ("%R3, %PT, %PT = IADD3 %R2, c[0][0x210], %RZ, ~%PT, ~%PT", 90, &[(0x1E0, 2481), (0x152, 1873)], &[0xBE]),
    // No word of sm_100 takes a bank as an operand.
    ("%R3, %PT, %PT = IADD3 %R2, c[0][0x210], %RZ, ~%PT, ~%PT", 100, &[(0x126, 1493)], &[0x127, 0x142, 0x152]),
    ("%R3 = MUFU.RCP %R2", 90, &[(0x88, 598), (0x15C, 1912), (0x90, 629)], &[0x119]),
    ("%R3 = HADD2 %R2, %R4", 90, &[(0x90, 628)], &[0xF2]),
    ("%R3 = LDS.64 %R2, 16", 90, &[(0x119, 1437), (0xF2, 1282), (0xA1, 700)], &[0xD2, 0xD3]),
    ("NOP", 90, &[(0xBE, 815), (0x18D, 2115)], &[0x119, 0x1E0]),
];

#[test]
fn instructions_of_the_machine_have_what_their_words_say() {
    for (text, sm, has, lacks) in MACHINE {
        let found = slots_of("device @f machine physical", text, "end", *sm);
        for (slot, value) in *has {
            assert_eq!(found.get(slot), Some(value), "{text} on sm_{sm}: slot {slot:#x} of {found:x?}");
        }
        for slot in *lacks {
            assert_eq!(found.get(slot), None, "{text} on sm_{sm}: slot {slot:#x}");
        }
    }
}

/// The same of the virtual level.
const VIRTUAL: &[(&str, Has, Lacks)] = &[
    ("%r3 = fadd.f32 %r1, %r2", &[(0x7E, 547), (0x159, 1899), (0x1B2, 2274), (0x90, 629), (0xF2, 1281)], &[0x163]),
    ("%r3 = fadd.rn.f32 %r1, %r2", &[(0x159, 1900), (0x163, 1943)], &[0x1B2, 0x127]),
    ("%r3 = iadd.s32 %r1, %r2", &[(0x7B, 536), (0x1E0, 2480), (0xF2, 1281)], &[0x159, 0x90, 0x18D, 0x119]),
    ("fence.acq_rel.gpu", &[(0xD2, 1177)], &[0x7E, 0xA1]),
];

#[test]
fn operations_have_what_their_fields_say() {
    for (text, has, lacks) in VIRTUAL {
        let found = slots_of("device @f virtual", text, "ret", 90);
        for (slot, value) in *has {
            assert_eq!(found.get(slot), Some(value), "{text}: slot {slot:#x} of {found:x?}");
        }
        for slot in *lacks {
            assert_eq!(found.get(slot), None, "{text}: slot {slot:#x}");
        }
    }
}

/// The slots that no instruction of the corpus's cubins has, with the reason.
const NOT_IN_CUBINS: &[(u16, &str)] = &[(0x1B2, "no word says what PTX allowed")];

#[test]
fn slots_are_those_of_real_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/cubins");
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for file in std::fs::read_dir(folder).expect("the corpus has cubins") {
        let path = file.expect("a folder lists its files").path();
        if path.extension().is_none_or(|ending| ending != "cubin") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("it is readable");
        let cubin = Cubin::read(&bytes).expect("the corpus's cubins are read");
        let Ok(module) = oriole_sass::ori::module(&cubin) else { continue };
        for func in module.functions.values() {
            for inst in func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some()) {
                let asked = Asked { table: Table::of(cubin.target.sm), ..Asked::new(func, inst) };
                for slot in SLOTS.iter().filter(|slot| query(&asked, slot.number).is_some()) {
                    *counts.entry(slot.number).or_default() += 1;
                }
            }
        }
    }
    for slot in SLOTS {
        let count = counts.get(&slot.number).copied().unwrap_or(0);
        println!("{:#05x} {count:>8} {}", slot.number, slot.name);
        let is_excused = slot.missing.is_some() || NOT_IN_CUBINS.iter().any(|(number, _)| *number == slot.number);
        assert_eq!(count == 0, is_excused, "{:#x}: {count}", slot.number);
    }
}
