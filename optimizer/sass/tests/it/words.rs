//! What every encoding must hold, and real words with nvdisasm's text.

use oriole_sass::encoding::Encoding;
use oriole_sass::row::{NO_BIT, RESERVED, What};
use oriole_sass::{SMS, Table, text};

/// Words of ptxas 13.0 with the text of nvdisasm 13.5: a line holds the SM, the word, the text.
const WORDS: &str = include_str!("words.txt");

fn print(table: &Table, word: u128) -> Option<String> {
    let instruction = table.decode(word).ok()?;
    let mut out = String::new();
    text::print(&mut out, &instruction, 0);
    Some(out)
}

#[test]
fn words_print_as_nvdisasm_prints_them() {
    for line in WORDS.lines() {
        let mut fields = line.splitn(3, ' ');
        let sm = fields.next().and_then(|sm| sm.parse().ok()).expect("an SM");
        let word = fields.next().and_then(|word| u128::from_str_radix(word, 16).ok()).expect("a word");
        let table = Table::of(sm).expect("a known SM");
        assert_eq!(print(table, word).as_deref(), fields.next(), "{word:032x} of sm_{sm}");
        assert_eq!(table.decode(word).map(|instruction| instruction.encode()), Ok(word));
    }
    assert!(WORDS.lines().count() > 90);
}

#[test]
fn parts_do_not_overlap() {
    for sm in SMS {
        for encoding in Table::of(sm).expect("a known SM").encodings() {
            assert_eq!(encoding.overlaps(), [], "{} {:?} of sm_{sm}", encoding.name, encoding.form);
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A word of an encoding: any bits in its parts, names only among those that stand for something.
fn word(random: &mut Random, encoding: &Encoding) -> u128 {
    let mut word = encoding.value | u128::from(random.next()) << 64 & encoding.guard.mask() << 64;
    word |= u128::from(random.next()) & encoding.guard.mask();
    let code = |random: &mut Random, names: &[&str], len: u8| {
        let known: Vec<u64> = (0..1u64 << len.min(12))
            .filter(|code| names.get(*code as usize).is_some_and(|name| *name != RESERVED))
            .collect();
        known.get(random.next() as usize % known.len().max(1)).copied().unwrap_or(0)
    };
    for part in &encoding.parts {
        let len = part.at.len + part.above.len;
        let value = match part.what {
            What::Modifier(names) | What::Name(names) => code(random, names, len),
            _ => random.next() & 1u64.checked_shl(len.into()).unwrap_or(0).wrapping_sub(1),
        };
        word = part.put(word, value).expect("the value has the part's width");
        if let Some((bits, names)) = part.suffix {
            word = bits.put(word, code(random, names, bits.len));
        }
        for bit in [part.negate, part.absolute, part.invert, part.reuse] {
            word |= if bit == NO_BIT { 0 } else { u128::from(random.next() & 1) << bit };
        }
    }
    word & !encoding.fixed | encoding.value
}

#[test]
fn random_words_are_encoded_again_and_every_encoding_is_found() {
    let mut random = Random(1);
    for sm in SMS {
        let table = Table::of(sm).expect("a known SM");
        for encoding in table.encodings() {
            let mut is_found = false;
            for _ in 0..64 {
                let word = word(&mut random, encoding);
                let Ok(instruction) = table.decode(word) else { continue };
                assert_eq!(instruction.encode(), word, "{} {:?} of sm_{sm}", encoding.name, encoding.form);
                assert!(print(table, word).is_some_and(|text| !text.is_empty()));
                is_found |= std::ptr::eq(instruction.encoding, encoding);
            }
            assert!(is_found, "no word of sm_{sm} is read as {} {:?}", encoding.name, encoding.form);
        }
    }
}

#[test]
fn what_nvdisasm_refuses_is_refused() {
    // From above: scaling by no power, saturation with RELU, a sum of 32 bits of bfloat16, a shape that is none.
    let refused: [(u16, u128); 4] = [
        (90, 0x000fe2000000000000000000040d7220),
        (90, 0x000fe200061ca05c6fed9e68b82d1431),
        (90, 0x000fe20000216e00c69748c158ff7430),
        (90, 0x000fe20000005808000000161008723c),
    ];
    for (sm, word) in refused {
        assert_eq!(print(Table::of(sm).expect("a known SM"), word), None, "{word:032x}");
    }
}
