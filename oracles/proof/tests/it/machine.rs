//! Machine words on the machine interpreter against their terms.
//!
//! Every word that computes registers from registers and that the interpreter executes is executed on corner values and
//! random ones, all lanes of a warp at once, and must leave what the terms say: words of the corpus's cubins and of
//! those that ptxas has made of other code, one for each mnemonic with its modifiers and kinds of operands, and random
//! words of every encoding.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use oriole_launch::random::SplitMix64;
use oriole_machine::Registers;
use oriole_proof::eval::Program;
use oriole_proof::machine::{Place, State, absence, is_register_only, meaning};
use oriole_proof::{Term, Terms};
use oriole_sass::cubin::Cubin;
use oriole_sass::row::{File, What};
use oriole_sass::{Encoding, Instruction, SMS, Table, sample, text};

/// Words that mean something to integers, floats of any width, shift counts and selectors.
const CORNERS: [u32; 40] = [
    0,
    1,
    2,
    7,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x3210,
    0x7654,
    0x3c00_7c00,
    0xfc01_8001,
    0x7ff7_7ff7,
    0x7bff_fbff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_3f80,
    0x7f80_0000,
    0xff80_0001,
    0xffc0_1234,
    0x0080_0000,
    0x007f_ffff,
    0x7f7f_ffff,
    0x4f00_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x3ff0_0000,
    0x7ff0_0000,
    0x41e0_0000,
    0xfff8_0000,
    u32::MAX,
];

/// A corner or a value near one, a float of a middle size, a small number, or anything.
fn value(random: &mut SplitMix64) -> u32 {
    let corner = CORNERS[random.below(CORNERS.len() as u64) as usize];
    match random.below(8) {
        0..=2 => corner,
        3 => corner.wrapping_add(random.below(5) as u32).wrapping_sub(2),
        4 => 0x3f80_0000 ^ random.next_u64() as u32 & 0x87ff_ffff,
        5 => random.below(64) as u32,
        _ => random.next_u64() as u32,
    }
}

/// Registers of so many warps: most of the time would go into drawing new ones for each word.
const WARPS: usize = 48;

/// Warps with random registers.
fn pool(random: &mut SplitMix64) -> Vec<Registers> {
    (0..WARPS).map(|_| registers(random)).collect()
}

fn registers(random: &mut SplitMix64) -> Registers {
    let mut registers = Registers::new();
    registers.general.iter_mut().flatten().for_each(|word| *word = value(random));
    registers.uniform.iter_mut().for_each(|word| *word = value(random));
    registers.predicates.iter_mut().for_each(|mask| *mask = random.next_u64() as u32);
    registers.uniform_predicates.iter_mut().for_each(|holds| *holds = random.below(2) == 1);
    registers
}

/// The content of a word of a constant bank.
fn constant(bank: u8, offset: u32) -> u32 {
    value(&mut SplitMix64::new(u64::from(bank) << 32 | u64::from(offset)))
}

/// The value in a place, in a lane.
fn held(registers: &Registers, place: Place, lane: usize) -> u32 {
    match place {
        Place::General(number) => registers.general[usize::from(number)][lane],
        Place::Uniform(number) => registers.uniform[usize::from(number)],
        Place::Predicate(number) => registers.predicates[usize::from(number)] >> lane & 1,
        Place::UniformPredicate(number) => registers.uniform_predicates[usize::from(number)].into(),
        Place::Constant(bank, offset) => constant(bank, offset),
    }
}

fn put(registers: &mut Registers, place: Place, lane: usize, value: u32) {
    match place {
        Place::General(number) => registers.general[usize::from(number)][lane] = value,
        Place::Uniform(number) => registers.uniform[usize::from(number)] = value,
        Place::Predicate(number) => {
            let mask = &mut registers.predicates[usize::from(number)];
            *mask = *mask & !(1 << lane) | value << lane;
        }
        Place::UniformPredicate(number) => registers.uniform_predicates[usize::from(number)] = value == 1,
        Place::Constant(..) => panic!("a constant is written"),
    }
}

fn line(instruction: &Instruction<'_>) -> String {
    let mut line = String::new();
    text::print(&mut line, instruction, 0);
    line
}

/// Whether the interpreter and the terms know a word.
enum Found {
    /// The interpreter does not execute it.
    NotExecuted,
    /// It executes it, and nothing says what it means.
    NoMeaning,
    /// Both know it, and it was compared.
    Compared,
}

/// Compares a word on the registers of warps.
fn compare(table: &Table, instruction: &Instruction<'_>, warps: &[Registers]) -> Result<Found, String> {
    if warps[0].clone().execute(table, instruction.word, constant).is_err() {
        return Ok(Found::NotExecuted);
    }
    let (mut terms, mut state) = (Terms::new(), State::new());
    let Some(results) = meaning(&mut terms, instruction, &mut state) else { return Ok(Found::NoMeaning) };
    state.write(&mut terms, &results);
    let places: BTreeSet<Place> = results.values.iter().map(|(place, _)| *place).collect();
    let roots: Vec<Term> = places.iter().map(|place| state.read(&mut terms, *place)).collect();
    let program = Program::new(&terms, &roots);
    for before in warps {
        let mut after = before.clone();
        after.execute(table, instruction.word, constant).map_err(|error| error.to_string())?;
        let mut expected = before.clone();
        for lane in 0..32 {
            let inputs: Vec<u128> = state.inputs().iter().map(|(place, _)| held(before, *place, lane).into()).collect();
            for (place, value) in places.iter().zip(program.eval(&inputs)) {
                put(&mut expected, *place, lane, value as u32);
            }
        }
        difference(before, &expected, &after, &state)?;
    }
    Ok(Found::Compared)
}

/// Where the registers that a word left are not those that its terms say, with what it read.
fn difference(before: &Registers, expected: &Registers, after: &Registers, state: &State) -> Result<(), String> {
    if expected == after {
        return Ok(());
    }
    let general = (0..after.general.len()).map(|number| Place::General(number as u8));
    let uniform = (0..after.uniform.len()).map(|number| Place::Uniform(number as u8));
    let predicates = (0..7).flat_map(|number| [Place::Predicate(number), Place::UniformPredicate(number)]);
    let mut all = general.chain(uniform).chain(predicates).flat_map(|place| (0..32).map(move |lane| (place, lane)));
    let differs = all.find(|(place, lane)| held(expected, *place, *lane) != held(after, *place, *lane));
    let Some((place, lane)) = differs else { return Err("they differ nowhere".to_owned()) };
    let read: Vec<String> =
        state.inputs().iter().map(|(place, _)| format!("{place:?} = {:#x}", held(before, *place, lane))).collect();
    let [said, left] = [expected, after].map(|registers| held(registers, place, lane));
    Err(format!("{place:?} of lane {lane} is {left:#x}, its terms say {said:#x} ({})", read.join(", ")))
}

/// Mnemonic, modifiers and kinds of operands: words that differ in nothing else have one meaning.
fn shape(instruction: &Instruction<'_>) -> String {
    let mut shape = instruction.encoding.name.to_owned();
    instruction.modifiers().for_each(|name| shape.extend([".", name]));
    for part in &instruction.encoding.parts {
        let word = instruction.word;
        let is_last = part.value(word) == part.at.largest();
        let kind = match part.what {
            What::Modifier(_) | What::Word(_) => continue,
            What::Immediate(_) => "immediate".to_owned(),
            other => format!("{other:?}{}", if is_last { " constant" } else { "" }),
        };
        let marks = [part.negate, part.absolute, part.invert].map(|bit| part.has(bit, word));
        let suffix = part.suffix.map(|(bits, _)| bits.get(word));
        shape.push_str(&format!(", {kind} {marks:?} {suffix:?} {}", part.is_shown(word)));
    }
    shape
}

/// The words of the corpus's cubins and of the examples of `sass`, one for each shape.
fn real_words() -> Vec<(u16, u128)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut words = Vec::new();
    let files = std::fs::read_dir(root.join("corpus/cubins")).expect("the folder is there");
    let mut files: Vec<_> = files.map(|file| file.expect("it can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cubin"));
    files.sort();
    for file in files {
        let cubin = Cubin::read(&std::fs::read(&file).expect("it can be read")).expect("it is a cubin");
        let sm = cubin.target.sm;
        words.extend(cubin.functions.iter().flat_map(|function| cubin.words(function)).map(|word| (sm, word)));
    }
    let examples = std::fs::read_to_string(root.join("optimizer/sass/tests/it/words.txt")).expect("it is there");
    words.extend(examples.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let sm = fields.next()?.parse().ok()?;
        Some((sm, u128::from_str_radix(fields.next()?, 16).ok()?))
    }));
    let mut seen = BTreeSet::new();
    words.retain(|(sm, word)| {
        let instruction = Table::of(*sm).and_then(|table| table.decode(*word).ok());
        instruction.is_some_and(|instruction| {
            is_register_only(&instruction.encoding.class) && seen.insert((*sm, shape(&instruction)))
        })
    });
    words
}

/// The sources of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Terms and their evaluation are of another origin than the interpreters' functions, which only tests name.
#[test]
fn nothing_here_computes_as_the_interpreters_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all = sources(&folder);
    assert!(all.len() > 30, "{} sources", all.len());
    for path in all.iter().filter(|path| !path.ends_with("meaning/tests.rs")) {
        let text = std::fs::read_to_string(path).expect("it can be read");
        let named = ["oriole_interp", "oriole_semantics", "oriole_machine"].map(|name| text.contains(name));
        assert_eq!(named, [false; 3], "{}", path.display());
    }
}

#[test]
fn words_of_ptxas_do_what_their_terms_say() {
    let warps = pool(&mut SplitMix64::new(1));
    let (mut wrong, mut compared, mut left) = (Vec::new(), 0, BTreeSet::new());
    for (number, (sm, word)) in real_words().into_iter().enumerate() {
        let table = Table::of(sm).expect("a known SM");
        let instruction = table.decode(word).expect("it decodes");
        match compare(table, &instruction, &warps[number % WARPS / 6 * 6..][..6]) {
            Ok(Found::Compared) => compared += 1,
            // What is absent may be no affair of registers alone: textures.
            Ok(Found::NotExecuted) if absence(instruction.encoding.name).is_some() => {}
            Ok(Found::NotExecuted) => {
                left.insert(format!("{} is not executed", line(&instruction)));
            }
            Ok(Found::NoMeaning) if absence(instruction.encoding.name).is_some() => {}
            Ok(Found::NoMeaning) => wrong.push(format!("{} on sm_{sm} has no meaning", line(&instruction))),
            Err(why) => wrong.push(format!("{} on sm_{sm}, {word:032x}: {why}", line(&instruction))),
        }
    }
    assert!(left.is_empty(), "{left:#?}");
    assert!(wrong.is_empty(), "{} of {compared} differ: {wrong:#?}", wrong.len());
    assert!(compared > 1000, "only {compared} compared");
}

/// Whether a register is the last before the constant one: a pair that begins there is none, and no code names it.
fn ends_in_constant(instruction: &Instruction<'_>) -> bool {
    instruction.encoding.parts.iter().any(|part| {
        matches!(part.what, What::Register(File::R | File::Ur)) && part.value(instruction.word) + 1 == part.at.largest()
    })
}

/// How many random words of an encoding are compared, and how many are drawn for that at most.
const COMPARED: usize = 24;
const DRAWN: usize = 96;

/// The result of random words of an encoding: how many the interpreter executes, and a word of each kind of difference.
fn sampled(
    table: &Table,
    encoding: &Encoding,
    warps: &[Registers],
    random: &mut SplitMix64,
) -> (usize, BTreeMap<String, String>) {
    let (mut executed, mut wrong) = (0, BTreeMap::new());
    for _ in 0..DRAWN {
        let word = sample::word(encoding, true, &mut || random.next_u64());
        let Ok(instruction) = table.decode(word) else { continue };
        if ends_in_constant(&instruction) {
            continue;
        }
        let why = match compare(table, &instruction, &warps[random.below(WARPS as u64) as usize..][..1]) {
            Ok(Found::NotExecuted) => continue,
            Ok(Found::Compared) => None,
            Ok(Found::NoMeaning) => Some("it is executed, and has no meaning".to_owned()),
            Err(why) => Some(why),
        };
        executed += 1;
        if let Some(why) = why {
            let kind = format!("{} {}", encoding.name, &why[..why.len().min(10)]);
            wrong.entry(kind).or_insert_with(|| format!("sm_{} {word:032x} {}: {why}", table.sm, line(&instruction)));
        }
        if executed == COMPARED {
            break;
        }
    }
    (executed, wrong)
}

#[test]
fn random_words_do_what_their_terms_say() {
    let mut random = SplitMix64::new(2);
    let warps = pool(&mut random);
    let (mut wrong, mut executed, mut all) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for table in SMS.into_iter().filter_map(Table::of) {
        for encoding in table.encodings().iter().filter(|encoding| is_register_only(&encoding.class)) {
            let family = encoding.name.split('.').next().unwrap_or_default();
            all.insert(family);
            // Most encodings are those of the SM before.
            let is_new = seen.insert(format!("{} {:x} {:?}", encoding.name, encoding.value, encoding.parts));
            if !is_new || absence(family).is_some() {
                continue;
            }
            let (count, differences) = sampled(table, encoding, &warps, &mut random);
            if count > 0 {
                executed.insert(family);
            }
            wrong.extend(differences);
        }
    }
    assert!(wrong.is_empty(), "{} differ: {wrong:#?}", wrong.len());
    let absent = all.iter().filter(|name| absence(name).is_some()).count();
    assert_eq!(absent, ABSENT, "of {all:?}");
    // Every mnemonic that only computes registers was compared, has a reason, or is not executed at all.
    let open: BTreeSet<&str> = all.difference(&executed).copied().filter(|name| absence(name).is_none()).collect();
    assert_eq!(open, BTreeSet::from(NOT_EXECUTED), "of {} mnemonics", all.len());
}

/// How many mnemonics have a reason for having no meaning.
const ABSENT: usize = 5;

/// Mnemonics that compute registers from registers and that the interpreter does not execute.
const NOT_EXECUTED: [&str; 17] = [
    "FADD2", "FFMA2", "FHADD", "FHFMA", "FMUL2", "UF2F", "UF2FP", "UF2I", "UF2IP", "UFHADD", "UFHFMA", "UFMNMX",
    "UFRND", "UFSET", "UFSETP", "UI2I", "UI2IP",
];
