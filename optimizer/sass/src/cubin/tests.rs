//! Small files: one that is linked, one that is not, and damaged ones. The PTX beside them says how they are made.

use super::*;

const LINKED: &[u8] = include_bytes!("data/linked.cubin");
const OBJECT: &[u8] = include_bytes!("data/object.cubin");

/// Where the tests put code, data and what is defined elsewhere.
const CODE: u64 = 0x12_3456_7800;
const DATA: u64 = 0x7f00_0000_1000;
const EXTERNS: u64 = 0x50_0000;

fn load(bytes: &[u8]) -> (Cubin, Placement, Image) {
    let cubin = Cubin::read(bytes).expect("the file is sound");
    let placement = Placement::new(&cubin, CODE, DATA, EXTERNS);
    let image = cubin.apply_relocations(&placement).expect("everything has a place");
    (cubin, placement, image)
}

fn address(cubin: &Cubin, placement: &Placement, name: &str) -> u64 {
    let symbol = cubin.symbol(name).expect("the symbol is in the file");
    placement.symbol(cubin, symbol).expect("every symbol has a place")
}

fn number(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("8 bytes"))
}

#[test]
fn a_kernel_says_what_a_launch_has_to_know() {
    let cubin = Cubin::read(LINKED).expect("the file is sound");
    assert_eq!((cubin.target.to_string(), cubin.is_linked), ("sm_90".to_owned(), true));
    let names: Vec<&str> = cubin.entries().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["pick"]);
    let pick = cubin.function("pick").expect("it is an entry");
    let info = &pick.info;
    assert_eq!((info.registers, info.barriers, info.frame_size), (Some(24), 1, 0));
    let parameters: Vec<_> = info.parameters.iter().map(|p| (p.ordinal, p.offset, p.size)).collect();
    assert_eq!(parameters, [(0, 0, 8), (1, 8, 4), (2, 12, 2)]);
    assert_eq!((info.parameter_base, info.parameter_size), (Some(0x210), 14));
    assert_eq!((info.required_threads, info.max_threads), (Some([32, 2, 1]), None));
    let targets: Vec<usize> = info.indirect_branches.iter().map(|branch| branch.targets.len()).collect();
    assert_eq!((info.exits.len(), targets), (1, vec![4]));
    let externs: Vec<&str> = info.externs.iter().map(|at| cubin.symbols[*at as usize].name.as_str()).collect();
    assert_eq!(externs, ["vprintf"]);
    assert_eq!(cubin.shared_size(pick), 0x400 + 32);
    assert_eq!((cubin.words(pick).len() * 16, pick.size % 128), (pick.size as usize, 0));
    // The table of jumps holds the offsets that the attribute names.
    let jumps = cubin.constants(pick, 2).expect("the kernel has a table of jumps");
    let (jumps, _) = cubin.bytes(jumps).as_chunks::<4>();
    let jumps: Vec<u32> = jumps.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_eq!(jumps, info.indirect_branches[0].targets);
}

#[test]
fn constants_and_data_get_addresses() {
    let (cubin, placement, image) = load(LINKED);
    let pick = cubin.function("pick").expect("it is an entry");
    let addresses = image.bytes(cubin.constants(pick, 4).expect("the file has a bank of addresses"));
    let found: Vec<u64> = (0..3).map(|at| number(addresses, at * 8)).collect();
    let expected = ["vprintf", "counter", "where"].map(|name| address(&cubin, &placement, name));
    assert_eq!(found, expected);
    assert!((EXTERNS..EXTERNS + 0x1000).contains(&expected[0]), "{:#x} is where externs go", expected[0]);
    assert_eq!(placement.external(&cubin, expected[0]), cubin.symbol("vprintf"));
    let data = image.bytes(cubin.section(".nv.global.init").expect("the file has data"));
    assert_eq!(number(data, (expected[2] - DATA) as usize), expected[1]);
    assert_eq!(data[(expected[1] - DATA) as usize], 7);
    assert!(image.words(pick).eq(cubin.words(pick)), "the code of a linked file depends on no address");
}

#[test]
fn code_gets_addresses() {
    let (cubin, placement, image) = load(OBJECT);
    assert_eq!((cubin.target.sm, cubin.is_linked), (80, false));
    let sum = cubin.function("sum").expect("it is an entry");
    let words: Vec<u128> = image.words(sum).collect();
    let bits = |offset: usize, low: u32, len: u32| (words[offset / 16] >> low & ((1 << len) - 1)) as u64;
    let twice = address(&cubin, &placement, "twice");
    // CALL.ABS.NOINC: addends in place.
    assert_eq!(bits(0x90, 34, 47) << 2, twice);
    assert_eq!(bits(0x110, 34, 47) << 2, address(&cubin, &placement, "elsewhere"));
    // UMOV with the halves of a variable's address, MOV with those of where a call returns.
    let table = address(&cubin, &placement, "table");
    assert_eq!(bits(0xc0, 32, 32) << 32 | bits(0xa0, 32, 32), table);
    let return_address = bits(0x80, 32, 32) << 32 | bits(0x70, 32, 32);
    assert_eq!(return_address, address(&cubin, &placement, "sum") + 0xa0);
    // nvlink puts the shared variables in the same places.
    assert_eq!([0x20, 0x30, 0x50].map(|offset| bits(offset, 40, 24)), [0x4, 0x48, 0x20]);
    // IADD3 R4, R4, c[0x3][0x8], RZ
    assert_eq!((bits(0x60, 54, 5), bits(0x60, 40, 14) * 4), (3, 8));
    let data = image.bytes(cubin.section(".nv.global.init").expect("the file has data"));
    assert_eq!((number(data, 0), number(data, 8)), (1, twice));
}

#[test]
fn what_has_no_place_or_no_known_effect_is_named() {
    let mut cubin = Cubin::read(OBJECT).expect("the file is sound");
    let mut placement = Placement::new(&cubin, CODE, DATA, EXTERNS);
    let elsewhere = cubin.symbol("elsewhere").expect("the symbol is in the file");
    placement.put_symbol(elsewhere, 0x4440);
    let image = cubin.apply_relocations(&placement).expect("everything has a place");
    let section = cubin.section(".text.sum").expect("the section is in the file");
    assert_eq!(image.bytes(section)[0x110 + 4..0x110 + 8], (0x4440_u32).to_le_bytes());
    cubin.relocations[0].kind = 67;
    let error = cubin.apply_relocations(&placement).expect_err("nobody knows what it does").to_string();
    assert!(error.contains("R_CUDA_INSTRUCTION128") && error.contains(".text.sum"), "{error}");
}

#[test]
fn generic_addresses_of_constants_lie_in_their_window() {
    let mut cubin = Cubin::read(OBJECT).expect("the file is sound");
    let data = cubin.section(".nv.global.init").expect("the file has data");
    let constants =
        |at: Option<usize>| matches!(at.map(|at| cubin.sections[at].kind), Some(SectionKind::Constant { bank: 3 }));
    let is_constant = |symbol: &Symbol| symbol.kind == SymbolKind::Object && constants(symbol.section);
    let constant = cubin.symbols.iter().position(is_constant).expect("the file has a constant");
    let value = cubin.symbols[constant].value;
    let mut placement = Placement::new(&cubin, CODE, DATA, EXTERNS);
    placement.put_constants(0x7f00_0000_0000);
    let at = cubin.relocations.iter().position(|relocation| relocation.section == data).expect("data has one");
    for (kind, window) in [(2, 0), (4, 0x7f00_0000_0000)] {
        let relocation = &mut cubin.relocations[at];
        (relocation.kind, relocation.symbol, relocation.addend) = (kind, constant, Some(4));
        let start = relocation.offset as usize;
        let image = cubin.apply_relocations(&placement).expect("everything has a place");
        let written = image.bytes(data)[start..start + 8].try_into().expect("it is as long");
        assert_eq!(u64::from_le_bytes(written), window + value + 4, "type {kind}");
    }
}

#[test]
fn other_words_stand_in_a_functions_place() {
    let cubin = Cubin::read(OBJECT).expect("the file is sound");
    for function in &cubin.functions {
        let mut words: Vec<u128> = cubin.words(function).collect();
        words.reverse();
        let changed = cubin.with_code(&function.name, &words).expect("the length is the same");
        let again = Cubin::read(&changed).expect("the file is sound");
        assert!(again.words(function).eq(words.iter().copied()));
        let differences = changed.iter().zip(OBJECT).filter(|(new, old)| new != old).count();
        assert!(differences <= function.size as usize, "{} alone changed", function.name);
        words.reverse();
        assert_eq!(again.with_code(&function.name, &words).as_deref(), Ok(OBJECT));
    }
    let error = cubin.with_code("twice", &[0; 3]).expect_err("three words are too few").to_string();
    assert!(error.contains("has 16 words, and 3"), "{error}");
    let error = cubin.with_code("thrice", &[]).expect_err("there is no such function").to_string();
    assert!(error.contains("twice, sum"), "{error}");
}

#[test]
fn what_is_no_cubin_is_refused() {
    let error = |bytes: &[u8]| Cubin::read(bytes).expect_err("this is no cubin").to_string();
    assert!(error(b"").contains("no cubin"));
    assert!(error(b".version 9.0").contains("no cubin"));
    let mut other = LINKED.to_vec();
    other[18] = 62;
    assert!(error(&other).contains("machine 62"));
    other[18] = 190;
    other[8] = 9;
    assert!(error(&other).contains("version 9"));
}

#[test]
fn the_target_is_told_by_header_and_attributes() {
    let target = |bytes: &[u8]| Cubin::read(bytes).map(|cubin| cubin.target.to_string());
    let cubin = Cubin::read(LINKED).expect("the file is sound");
    let start = |name: &str| cubin.sections[cubin.section(name).expect("the section is there")].range.start;
    let (mut one, mut family, mut old) = (LINKED.to_vec(), LINKED.to_vec(), LINKED.to_vec());
    one[start(".nv.compat") + 2] = 1;
    assert_eq!(target(&one).as_deref(), Ok("sm_90a"));
    // The command line in the note ends in a blank.
    let arch = LINKED.windows(6).position(|bytes| bytes == b"sm_90 ").expect("ptxas notes its command line");
    family[arch + 5] = b'f';
    assert_eq!(target(&family).as_deref(), Ok("sm_90f"));
    // As CUDA 12 writes it: the SM in the lowest byte, with a bit for `a` above.
    old[8] = 7;
    old[48..52].copy_from_slice(&0x005a_0d5a_u32.to_le_bytes());
    assert_eq!(target(&old).as_deref(), Ok("sm_90a"));
    old[49] = 0x05;
    assert_eq!(target(&old).as_deref(), Ok("sm_90"));
}

/// Numbers that look random, always the same ones (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Everything that can be asked of a file; says whether it could be read, and loaded.
fn exercise(bytes: &[u8]) -> (bool, bool) {
    let Ok(cubin) = Cubin::read(bytes) else { return (false, false) };
    let placement = Placement::new(&cubin, CODE, u64::MAX - 0x100, EXTERNS);
    let image = cubin.apply_relocations(&placement);
    for function in &cubin.functions {
        let words: Vec<u128> = cubin.words(function).collect();
        let changed = cubin.with_code(&function.name, &words);
        // Damage may give two functions the same name.
        if cubin.function(&function.name) == Some(function) {
            assert_eq!(changed.as_deref(), Ok(bytes));
        }
        cubin.shared_size(function);
        assert!((0..8).all(|bank| cubin.constants(function, bank).is_none_or(|at| at < cubin.sections.len())));
        if let Ok(image) = &image {
            assert_eq!(image.words(function).len(), words.len());
        }
    }
    (true, image.is_ok())
}

#[test]
fn damaged_files_are_read_or_refused() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut loaded, rounds) = (0, 0, 20_000);
    for round in 0..rounds {
        let mut bytes = [LINKED, OBJECT][round % 2].to_vec();
        for _ in 0..=numbers.below(8) {
            let at = numbers.below(bytes.len());
            // Headers and tables are what is read most.
            let at = if numbers.below(3) == 0 { at % 64 } else { at };
            bytes[at] = match numbers.below(4) {
                0 => bytes[at] ^ 1 << numbers.below(8),
                1 => u8::MAX,
                2 => 0,
                _ => numbers.below(256) as u8,
            };
        }
        if numbers.below(16) == 0 {
            bytes.truncate(numbers.below(bytes.len()));
        }
        let (is_read, is_loaded) = exercise(&bytes);
        read += usize::from(is_read);
        loaded += usize::from(is_loaded);
    }
    assert!(read > rounds / 10 && loaded > rounds / 20, "{read} files were read and {loaded} loaded: too few");
    assert!(read < rounds && loaded < read, "no damage was found");
}

#[test]
fn rows_stand_at_their_numbers() {
    for (at, row) in RelocationKind::ALL.iter().enumerate() {
        assert_eq!((row.kind as usize, RelocationKind::of(row.kind)), (at + 1, Some(row)));
        let Effect::Put(fields) = row.effect else { continue };
        assert!(row.size() <= 16, "{} stays within a word", row.name);
        let taken = fields.iter().fold(0, |taken, field| taken | field.largest() << field.to);
        let lengths: u32 = fields.iter().map(|field| u32::from(field.len)).sum();
        assert_eq!(taken.count_ones(), lengths, "the fields of {} are apart", row.name);
    }
    assert_eq!(RelocationKind::of(0), None);
    assert!(AttributeRow::ALL.is_sorted_by_key(|row| row.code));
    assert_eq!(AttributeRow::of(code::REGCOUNT).map(|row| row.name), Some("EIATTR_REGCOUNT"));
}

#[test]
fn a_part_has_what_its_kernel_needs() {
    let whole = Cubin::read(LINKED).expect("the file is sound");
    let part = whole.part("pick").expect("it is an entry");
    let load = |cubin: &Cubin| {
        let placement = Placement::new(cubin, CODE, DATA, EXTERNS);
        let image = cubin.apply_relocations(&placement).expect("everything has a place");
        let pick = cubin.function("pick").expect("it is an entry");
        let constants = |bank| cubin.constants(pick, bank).map(|at| image.bytes(at).to_vec());
        // Bank 4 begins with the address of a function that is elsewhere, which may differ.
        let addresses = constants(4).map(|bytes| bytes[8..].to_vec());
        ([0, 2, 3].map(constants), addresses, image.words(pick).collect::<Vec<_>>(), cubin.shared_size(pick))
    };
    assert!(load(&part) == load(&whole));
    assert!(part.sections.iter().any(|section| section.kind == SectionKind::GlobalInit), "bank 4 names variables");
    assert!(whole.part("where").is_none() && whole.part("none").is_none());

    // Without relocations in the constants of the whole file, nothing leads from the kernel to the variables.
    let mut apart = whole.clone();
    apart.relocations.clear();
    let part = apart.part("pick").expect("it is an entry");
    assert!(part.sections.iter().all(|section| section.kind != SectionKind::GlobalInit));
    assert!(part.symbol("counter").is_none() && apart.symbol("counter").is_some());
}
