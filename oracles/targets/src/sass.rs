//! Machine words and cubins: what is decoded is encoded again bit for bit, and everything else is refused.

use oriole_generate::Entropy;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_sass::cubin::{Cubin, Placement, SectionKind, words};
use oriole_sass::row::{NO_BIT, Part, What};
use oriole_sass::{Instruction, SMS, Table, WordError, ori, sample, schedule, text, with_schedule};

use super::canary;

/// The most words of an input.
const MOST_WORDS: usize = 64;
/// The most words of a cubin: in a damaged one, many sections may be the same bytes.
const MOST_CODE: usize = 1 << 16;

/// The words of an SM.
fn table(entropy: &mut Entropy<'_>) -> &'static Table {
    let sm = entropy.choose(&SMS);
    Table::of(sm).unwrap_or_else(|| panic!("sm_{sm} stands in the list and has no words"))
}

/// A word as the code under test gives it; one bit of it flips where a fault is planted.
fn carried(word: u128) -> u128 {
    word ^ u128::from(canary::planted()) << 16
}

/// The word with what every part of an instruction says, part by part.
fn rebuilt(instruction: &Instruction<'_>) -> u128 {
    let Instruction { encoding, word } = *instruction;
    let mut made = encoding.value;
    for part in encoding.parts.iter().chain([&encoding.guard]) {
        let value = part.value(word);
        made = part.put(made, value).unwrap_or_else(|| panic!("{}: {value:#x} does not fit {part:?}", encoding.name));
        if let Some((bits, _)) = part.suffix {
            made = bits.put(made, bits.get(word));
        }
        let marks = [part.negate, part.absolute, part.invert, part.reuse];
        made = marks.iter().filter(|bit| **bit != NO_BIT).fold(made, |made, bit| made & !(1 << bit) | word & 1 << bit);
    }
    let control = schedule(word);
    with_schedule(made, &control).unwrap_or(made | word & oriole_sass::encoding::SCHEDULE.mask())
}

/// Decodes a word, and asserts that it is the same when encoded; the text is made and dropped.
fn check(table: &Table, word: u128, address: u64, out: &mut String) -> Result<(), WordError> {
    let instruction = table.decode(word)?;
    out.clear();
    text::print(out, &instruction, address);
    assert!(!out.is_empty(), "sm_{}: {word:#034x} has no text", table.sm);
    assert_eq!(carried(instruction.encode()), word, "sm_{}: encoded from `{out}`", table.sm);
    assert_eq!(rebuilt(&instruction), word, "sm_{}: made of the parts of `{out}`", table.sm);
    Ok(())
}

/// Random values in the parts of random encodings: each is a word of that encoding.
pub fn sass_encoding(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let (mut reached, mut out) = (false, String::new());
    for at in 0..MOST_WORDS as u64 {
        if entropy.is_exhausted() {
            break;
        }
        let table = table(&mut entropy);
        let encoding = &table.encodings()[entropy.below(table.encodings().len())];
        let word = sample::word(encoding, true, &mut || entropy.bits());
        assert!(encoding.matches(word), "sm_{}: {word:#034x} is no word of its own {}", table.sm, encoding.name);
        match check(table, word, at * text::WORD_BYTES, &mut out) {
            Ok(()) => reached = true,
            // Some combinations of legal values are no instruction; and where two encodings share a word, the first has
            // it.
            Err(WordError::Combination { .. } | WordError::Reserved { .. }) => {}
            Err(error) => panic!("sm_{}: {word:#034x} of {} is refused: {error}", table.sm, encoding.name),
        }
    }
    reached
}

/// Any 16 bytes on any SM. Every second word gets the fixed bits of an encoding, without which few are one.
pub fn sass_words(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let (mut reached, mut out) = (false, String::new());
    for _ in 0..MOST_WORDS {
        if entropy.is_exhausted() {
            break;
        }
        let table = table(&mut entropy);
        let mut word = u128::from(entropy.bits()) << 64 | u128::from(entropy.bits());
        if entropy.percent(50) {
            let encoding = &table.encodings()[entropy.below(table.encodings().len())];
            word = word & !encoding.fixed | encoding.value;
        }
        match check(table, word, entropy.bits(), &mut out) {
            Ok(()) => reached = true,
            Err(error) => assert!(!error.to_string().is_empty(), "{error:?} says nothing"),
        }
    }
    reached
}

/// Random words in the parts of random encodings of one SM, as a function of Ori: it is well-formed, reads back from
/// its text, and becomes the same words. Targets of every second jump lie within the function.
pub fn machine_ori(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let table = table(&mut entropy);
    let mut words = Vec::new();
    while !entropy.is_exhausted() && words.len() < MOST_WORDS {
        let encoding = &table.encodings()[entropy.below(table.encodings().len())];
        let mut word = sample::word(encoding, true, &mut || entropy.bits());
        let is_target = |part: &&Part| matches!(part.what, What::Target | What::TargetBehind);
        if let Some(part) = encoding.parts.iter().find(is_target).filter(|_| entropy.percent(50)) {
            let distance = (entropy.below(MOST_WORDS) as i64 - words.len() as i64 - 1) * (text::WORD_BYTES as i64 / 4);
            let len = u32::from(part.at.len + part.above.len);
            word = part.put(word, distance as u64 & ((1 << len) - 1)).unwrap_or(word);
        }
        if table.decode(word).is_ok_and(|instruction| instruction.schedule().is_encodable()) {
            words.push(word);
        }
    }
    let func = ori::function(table.sm, "f", &words).unwrap_or_else(|error| panic!("{error}"));
    let mut module = Module { target: format!("sm_{}", table.sm), ..Module::default() };
    let id = module.functions.push(func);
    let printed = module.to_string();
    if let Err(violations) = verify_module(&module) {
        panic!("a lifted function is not well-formed: {}\n{printed}", violations[0]);
    }
    let again = parse_module(&printed).unwrap_or_else(|error| panic!("{error} at {:?}\n{printed}", error.span));
    assert!(again == module, "another module reads back:\n{printed}");
    let lowered = ori::lower(&again, id).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    let lowered: Vec<u128> = lowered.into_iter().map(carried).collect();
    assert_eq!(lowered, words, "a lifted function becomes other words:\n{printed}");
    !words.is_empty()
}

/// Any bytes as a cubin. What is one is loaded, and its words are decoded or refused.
pub fn cubin(data: &[u8]) -> bool {
    let cubin = match Cubin::read(data) {
        Ok(cubin) => cubin,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{error:?} says nothing");
            return false;
        }
    };
    // Relocations of a damaged file may be refused, but not otherwise than before.
    let placement = Placement::new(&cubin, 0x1_0000, 0x7000_0000_0000, 0x1000);
    let (once, again) = (cubin.apply_relocations(&placement), cubin.apply_relocations(&placement));
    assert_eq!(once, again, "relocations are applied in two ways");
    for function in &cubin.functions {
        let code: Vec<u128> = cubin.words(function).collect();
        assert_eq!(code.len() as u64 * text::WORD_BYTES, function.size, "{} loses words", function.name);
        if let Ok(image) = &once {
            assert_eq!(image.words(function).len(), code.len(), "{} loses words when loaded", function.name);
        }
    }
    let Some(table) = Table::of(cubin.target.sm) else { return false };
    let (mut reached, mut out) = (false, String::new());
    let is_code = |at: &usize| cubin.sections[*at].kind == SectionKind::Code;
    let code = (0..cubin.sections.len())
        .filter(is_code)
        .flat_map(|section| (0..).step_by(text::WORD_BYTES as usize).zip(words(cubin.bytes(section))));
    for (address, word) in code.take(MOST_CODE) {
        reached |= check(table, word, address, &mut out).is_ok();
    }
    reached
}
