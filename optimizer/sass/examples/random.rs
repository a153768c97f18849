//! Asks nvdisasm about random words of mnemonics, and prints where we differ: `random SM COUNT [PREFIX...]`.
//!
//! Every part of an encoding gets random bits, the reserved codes among them; in every fourth word one bit that nobody
//! owns is set too. nvdisasm is the one in the path, or in the variable `NVDISASM`. A word that we refuse counts as the
//! same if nvdisasm refuses it, prints a code that it calls invalid, or prints what the word without the bit is.
use oriole_sass::encoding::Encoding;
use oriole_sass::row::{Format, NO_BIT, Part, What};
use oriole_sass::{Table, text};
use std::collections::BTreeMap;
use std::process::Command;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

const FLOATS: [u32; 12] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7f80_0001,
    0x7c00_fc00,
    0x7ff0_0000,
    0x7e00_8000,
    0x4e6e_6b27,
    0x41cd_cd65,
];

fn value(random: &mut Random, part: &Part) -> u64 {
    let width = u32::from(part.at.len + part.above.len);
    let mask = 1u64.checked_shl(width).unwrap_or(0).wrapping_sub(1);
    let any = random.next() & mask;
    match part.what {
        What::Modifier(names) | What::Name(names) if !random.one_in(8) => {
            let known: Vec<u64> = (0..=mask.min(255))
                .filter(|value| names.get(*value as usize).is_some_and(|name| *name != oriole_sass::row::RESERVED))
                .collect();
            if known.is_empty() { 0 } else { known[(any % known.len() as u64) as usize] }
        }
        What::Register(_) if random.one_in(6) => mask,
        What::Register(_) if random.one_in(2) => any & mask & !3,
        What::Immediate(Format::F32 | Format::F64 | Format::F16x2 | Format::HalfBy(_)) if random.one_in(4) => {
            u64::from(FLOATS[(any % 12) as usize]) & mask
        }
        What::Immediate(_) if random.one_in(3) => any & 0xff & mask,
        _ => any,
    }
}

fn word(random: &mut Random, encoding: &Encoding) -> u128 {
    let mut word = encoding.value | 0x000f_e200 << 96;
    word |= if random.one_in(4) { u128::from(random.next() & 15) << 12 } else { 7 << 12 };
    for part in &encoding.parts {
        word = part.put(word, value(random, part)).expect("the value has the part's width");
        if let Some((bits, names)) = part.suffix {
            word = bits.put(word, random.next() % names.len().max(1) as u64);
        }
        for bit in [part.negate, part.absolute, part.invert] {
            word |= if bit != NO_BIT && random.one_in(3) { 1 << bit } else { 0 };
        }
        word |= if part.reuse != NO_BIT && random.one_in(6) { 1 << part.reuse } else { 0 };
    }
    let guard = encoding.guard.mask();
    word & !encoding.fixed | encoding.value | word & guard
}

/// nvdisasm's text for each word; `None` where it refuses.
fn texts(sm: u16, words: &[u128]) -> Vec<Option<String>> {
    let tool = std::env::var("NVDISASM").unwrap_or_else(|_| "nvdisasm".to_owned());
    let file = std::env::temp_dir().join(format!("random-{}.bin", std::process::id()));
    let mut words = words.to_vec();
    let mut refused = vec![false; words.len()];
    let address = |text: &str| usize::from_str_radix(text, 16).ok().map(|address| address / 16);
    loop {
        std::fs::write(&file, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).expect("writable");
        let run = Command::new(&tool).args(["-b", &format!("SM{sm}"), "-raw", "-ndf"]).arg(&file).output();
        let run = run.expect("nvdisasm runs");
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        let bad = errors.split("at address 0x").skip(1);
        let bad: Vec<usize> = bad.filter_map(|rest| address(rest.split_whitespace().next()?)).collect();
        if bad.is_empty() {
            let mut found = vec![None; words.len()];
            for line in String::from_utf8_lossy(&run.stdout).lines() {
                let Some((at, text)) = line.trim_start().trim_start_matches("/*").split_once("*/") else { continue };
                if let Some(at) = address(at) {
                    let text = text.trim().trim_end_matches(';').trim_end();
                    let legal = !refused[at] && !text.contains("INVALID") && !text.contains("???");
                    found[at] = legal.then(|| text.to_owned());
                }
            }
            let _ = std::fs::remove_file(&file);
            return found;
        }
        for at in bad {
            words[at] = 0x000f_c000_0000_0000_0000_0000_0000_7918;
            refused[at] = true;
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let sm: u16 = args.next().and_then(|sm| sm.parse().ok()).expect("an SM");
    let count: usize = args.next().and_then(|count| count.parse().ok()).expect("a count");
    let prefixes: Vec<String> = args.collect();
    let table = Table::of(sm).expect("a known SM");
    let wanted = |name: &str| prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let encodings: Vec<&Encoding> = table.encodings().iter().filter(|encoding| wanted(encoding.name)).collect();
    let mut random = Random(u64::from(sm));
    let mut words = Vec::new();
    for i in 0..count {
        let encoding = encodings[i % encodings.len()];
        let base = word(&mut random, encoding);
        let owned = encoding.parts.iter().fold(0, |mask, part| mask | part.mask());
        let bit = 16 + random.next() % 89;
        let free = random.one_in(4) && owned >> bit & 1 == 0 && bit != 91;
        words.extend([base, if free { base ^ 1 << bit } else { base }]);
    }
    let theirs = texts(sm, &words);
    let mut wrong: BTreeMap<(&str, &str), (usize, Vec<String>)> = BTreeMap::new();
    let (mut same, mut legal) = (0, 0);
    for (i, (word, theirs_text)) in words.iter().zip(&theirs).enumerate() {
        let encoding = encodings[i / 2 % encodings.len()];
        let ours = table.decode(*word).map(|instruction| {
            let mut out = String::new();
            text::print(&mut out, &instruction, 16 * i as u64);
            assert_eq!(instruction.encode(), *word, "{out}");
            out
        });
        legal += usize::from(theirs_text.is_some());
        let kind = match (&ours, theirs_text) {
            (Ok(ours), Some(theirs)) if ours == theirs => "",
            (Err(_), None) => "",
            (Err(_), Some(text)) if i % 2 == 1 && theirs[i - 1].as_ref().is_none_or(|base| base == text) => "",
            // The bit makes a word of another mnemonic, whose own parts are random elsewhere.
            (Err(_), Some(text)) if i % 2 == 1 && !text.contains(encoding.name.split('.').next().unwrap_or("")) => "",
            (Ok(_), Some(_)) => "DIFFERS",
            (Ok(_), None) => "ACCEPTS",
            (Err(_), Some(_)) => "REFUSES",
        };
        if kind.is_empty() {
            same += 1;
            continue;
        }
        let entry = wrong.entry((encoding.name, kind)).or_default();
        entry.0 += 1;
        let ours = ours.unwrap_or_else(|error| error.to_string());
        let theirs = theirs_text.as_deref().unwrap_or("refused");
        entry.1.push(format!("  {word:032x} {theirs}\n       {:?} ours {ours}", encoding.form));
    }
    for ((name, kind), (n, examples)) in &wrong {
        println!("{name} {kind} {n}");
        examples.iter().take(4).for_each(|example| println!("{example}"));
    }
    println!("{same} of {} the same; {legal} legal", words.len());
}
