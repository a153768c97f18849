//! Words against NVIDIA's nvdisasm, where it is installed: random ones of every encoding of every SM, and all of the
//! corpus.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{nvdisasm, ours, texts};
use oriole_sass::cubin::{Cubin, SectionKind, words};
use oriole_sass::row::{Part, What};
use oriole_sass::{Encoding, SMS, Table, sample};

/// Pairs of words of each encoding, unless `ORIOLE_WORDS` says how many words of an SM are wanted.
const ROUNDS: usize = 5;
/// Examples that are shown of a mnemonic's differences.
const SHOWN: usize = 4;

/// How nvdisasm and we can differ about a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Difference {
    /// Both read it, and print other texts.
    Text,
    /// We read it alone.
    Accepted,
    /// nvdisasm reads it alone.
    Refused,
}

/// Why differences stay. No word of the corpus is among them.
mod because {
    pub const NO_CACHE: &str = "the row has a reuse bit, and nvdisasm shows none: the unit has no operand cache";
    pub const NOT_ON_120: &str = "sm_120 has them no more, or in other words than sm_90";
    pub const MEMORY: &str =
        "the row has no rule for the combinations of order, scope, type and address that do not exist";
    pub const OPERANDS: &str = "the row has no rule for the operands that do not exist";
    pub const LARGE: &str = "nvdisasm drops the highest bit of an absolute address, which none has";
    pub const ZERO: &str = "nvdisasm leaves out a uniform register that reads as zero here alone";
    pub const GUARD: &str = "nvdisasm shows a predicate of lanes as the guard before sm_90";
    pub const MODIFIER: &str = "a further bit makes a variant that no row has: ptxas was not seen to write it";
}

/// Differences that stay, by the encoding's name, each with the reason.
const KNOWN: &[(&str, Difference, &str)] = &[
    ("BMOV.32", Difference::Text, because::NO_CACHE),
    ("BREV", Difference::Text, because::NO_CACHE),
    ("FLO", Difference::Text, because::NO_CACHE),
    ("NANOSLEEP", Difference::Text, because::NO_CACHE),
    ("POPC", Difference::Text, because::NO_CACHE),
    ("SHFL", Difference::Text, because::NO_CACHE),
    ("VABSDIFF", Difference::Accepted, because::NOT_ON_120),
    ("VABSDIFF4", Difference::Accepted, because::NOT_ON_120),
    ("VIADDMNMX", Difference::Accepted, because::NOT_ON_120),
    ("VIMNMX3", Difference::Accepted, because::NOT_ON_120),
    ("ATOM", Difference::Accepted, because::MEMORY),
    ("ATOMG", Difference::Accepted, because::MEMORY),
    ("LDG", Difference::Accepted, because::MEMORY),
    ("LDGMC", Difference::Accepted, because::MEMORY),
    ("MEMBAR", Difference::Accepted, because::MEMORY),
    ("QSPC", Difference::Accepted, because::MEMORY),
    ("RED", Difference::Accepted, because::MEMORY),
    ("STG", Difference::Accepted, because::MEMORY),
    ("FENCE.VIEW.ASYNC", Difference::Accepted, because::MEMORY),
    ("BMOV.32", Difference::Accepted, because::OPERANDS),
    ("CALL.ABS", Difference::Accepted, because::OPERANDS),
    ("DEPBAR.LE", Difference::Accepted, because::OPERANDS),
    ("LEA", Difference::Accepted, because::OPERANDS),
    ("LEA.HI", Difference::Accepted, because::OPERANDS),
    ("LEPC", Difference::Accepted, because::OPERANDS),
    ("CALL.ABS", Difference::Text, because::LARGE),
    ("CCTL.E.C.LDCU.IV", Difference::Text, because::ZERO),
    ("VOTEU", Difference::Text, because::GUARD),
    ("ATOM", Difference::Refused, because::MODIFIER),
    ("LD", Difference::Refused, because::MODIFIER),
    ("LDL", Difference::Refused, because::MODIFIER),
    ("UBLKPF.L2", Difference::Refused, because::MODIFIER),
];

/// Differences of so few words that they show among a million words of an SM alone (`ORIOLE_WORDS=1000000`).
const RARE: &[(&str, Difference, &str)] = &[
    ("LD", Difference::Accepted, because::MEMORY),
    ("REDAS", Difference::Accepted, because::MEMORY),
    ("REDG", Difference::Accepted, because::MEMORY),
    ("ST", Difference::Accepted, because::MEMORY),
    ("STAS", Difference::Accepted, because::MEMORY),
    ("LDGSTS.E", Difference::Text, because::ZERO),
    ("ATOMG", Difference::Refused, because::MODIFIER),
    ("ATOMS", Difference::Refused, because::MODIFIER),
    ("B2R", Difference::Refused, because::MODIFIER),
    ("BAR.SYNC", Difference::Refused, because::MODIFIER),
    ("BMOV.32", Difference::Refused, because::MODIFIER),
    ("BRA", Difference::Refused, because::MODIFIER),
    ("CCTL", Difference::Refused, because::MODIFIER),
    ("CCTLL", Difference::Refused, because::MODIFIER),
    ("ELECT", Difference::Refused, because::MODIFIER),
    ("F2FP", Difference::Refused, because::MODIFIER),
    ("HGMMA", Difference::Refused, because::MODIFIER),
    ("LDG", Difference::Refused, because::MODIFIER),
    ("LDGSTS.E", Difference::Refused, because::MODIFIER),
    ("MOV", Difference::Refused, because::MODIFIER),
    ("MUFU", Difference::Refused, because::MODIFIER),
    ("NANOSLEEP", Difference::Refused, because::MODIFIER),
    ("QMMA", Difference::Refused, because::MODIFIER),
    ("RED", Difference::Refused, because::MODIFIER),
    ("ST", Difference::Refused, because::MODIFIER),
    ("STG", Difference::Refused, because::MODIFIER),
    ("STL", Difference::Refused, because::MODIFIER),
    ("TEX", Difference::Refused, because::MODIFIER),
    ("TLD4", Difference::Refused, because::MODIFIER),
    ("UBLKCP", Difference::Refused, because::MODIFIER),
    ("UBLKRED", Difference::Refused, because::MODIFIER),
    ("UF2FP", Difference::Refused, because::MODIFIER),
    ("USETSHMSZ", Difference::Refused, because::MODIFIER),
    ("UTMALDG", Difference::Refused, because::MODIFIER),
    ("UTMAPF.L2", Difference::Refused, because::MODIFIER),
    ("UTMAREDG", Difference::Refused, because::MODIFIER),
    ("UTMASTG", Difference::Refused, because::MODIFIER),
];

/// A generator of 64 random bits at a time: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// How many pairs of words each encoding of an SM has.
fn rounds(table: &Table) -> usize {
    let wanted = std::env::var("ORIOLE_WORDS").ok();
    let words = wanted.map(|words| words.parse::<usize>().expect("ORIOLE_WORDS is a number of words"));
    words.map_or(ROUNDS, |words| words.div_ceil(2 * table.encodings().len()))
}

/// Pairs of words of each encoding. One of a pair has random parts, codes without a name among them. The other is the
/// same, or in one case of four has a bit set that no part of the encoding owns. Each encoding has random numbers of
/// its own, so that a new row leaves the words of others as they are.
fn pairs(table: &Table) -> Vec<u128> {
    let pairs = table.encodings().iter().flat_map(|encoding| {
        let seed = u64::from(table.sm) ^ encoding.value as u64 ^ (encoding.value >> 64) as u64;
        let mut random = Random(seed);
        (0..rounds(table)).flat_map(move |_| {
            let word = sample::word(encoding, false, &mut || random.next());
            let bit = 16 + random.next() % 89;
            let changes = random.next().is_multiple_of(4) && encoding.owned() >> bit & 1 == 0 && bit != 91;
            [word, if changes { word ^ 1 << bit } else { word }]
        })
    });
    pairs.collect()
}

/// Whether nvdisasm takes a word with a bit set that is nobody's: it prints what the word without the bit is, which
/// stands before, or an instruction of another mnemonic, whose own parts are random elsewhere.
fn ignores(text: &str, without: Option<&String>, encoding: &Encoding) -> bool {
    // The text of a place depends on the word's own.
    let has_place =
        |part: &Part| matches!(part.what, What::Target | What::TargetBehind | What::TargetByte | What::Place);
    let moves = encoding.parts.iter().any(has_place);
    let compared = |text: &str| match text.rsplit_once(' ') {
        Some((rest, _)) if moves => rest.to_owned(),
        _ => text.to_owned(),
    };
    without.is_none_or(|without| compared(without) == compared(text)) || !text.contains(encoding.name)
}

#[test]
fn random_words_of_every_encoding_are_read_alike() {
    let Some(tool) = nvdisasm() else { return };
    let mut unknown: BTreeMap<(&str, Difference), Vec<String>> = BTreeMap::new();
    let mut met = vec![BTreeMap::<u16, usize>::new(); KNOWN.len()];
    for sm in SMS {
        let table = Table::of(sm).expect("the SM is known");
        let words = pairs(table);
        let words_of_each = 2 * rounds(table);
        let theirs = texts(&tool, sm, &words);
        let legal = theirs.iter().flatten().count();
        assert!(legal * 2 > words.len(), "sm_{sm}: nvdisasm reads {legal} of {} words: too few", words.len());
        let (mut same, mut rare) = (0, 0);
        for (at, (word, text)) in words.iter().zip(&theirs).enumerate() {
            let encoding = &table.encodings()[at / words_of_each];
            let ours = ours(table, *word, 16 * at as u64);
            let difference = match (&ours, text) {
                (Some(ours), Some(text)) if ours == text => None,
                (None, None) => None,
                (None, Some(text)) if at % 2 == 1 && ignores(text, theirs[at - 1].as_ref(), encoding) => None,
                (Some(_), Some(_)) => Some(Difference::Text),
                (Some(_), None) => Some(Difference::Accepted),
                (None, Some(_)) => Some(Difference::Refused),
            };
            let Some(difference) = difference else {
                same += 1;
                continue;
            };
            let is_it = |row: &&(&str, Difference, &str)| (row.0, row.1) == (encoding.name, difference);
            match KNOWN.iter().position(|row| is_it(&row)) {
                Some(row) => *met[row].entry(sm).or_default() += 1,
                None if RARE.iter().any(|row| is_it(&row)) => rare += 1,
                None => {
                    let [ours, theirs] = [&ours, text].map(|text| text.as_deref().unwrap_or("refused"));
                    let form = encoding.form;
                    let example = format!("  sm_{sm} {word:032x} {form:?}\n    nvdisasm {theirs}\n    ours     {ours}");
                    unknown.entry((encoding.name, difference)).or_default().push(example);
                }
            }
        }
        let all = words.len();
        println!("sm_{sm}: {same} of {all} words are read alike; {legal} are legal; {rare} differ as few do");
    }
    let list = unknown.iter().map(|((name, difference), examples)| {
        let shown: Vec<&str> = examples.iter().take(SHOWN).map(String::as_str).collect();
        format!("{name} {difference:?}, {} words\n{}\n", examples.len(), shown.join("\n"))
    });
    assert!(unknown.is_empty(), "nvdisasm reads these otherwise:\n{}", list.collect::<String>());
    for ((name, difference, because), met) in KNOWN.iter().zip(&met) {
        println!("{name} {difference:?}, words by SM {met:?}: {because}");
    }
    let idle: Vec<_> = KNOWN.iter().zip(met).filter(|(_, met)| met.is_empty()).map(|(row, _)| (row.0, row.1)).collect();
    assert!(idle.is_empty(), "these differences are no more; take them out of `KNOWN`: {idle:?}");
}

#[test]
fn words_of_the_corpus_print_as_nvdisasm_prints_them() {
    let Some(tool) = nvdisasm() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let mut by_sm: BTreeMap<u16, Vec<u128>> = BTreeMap::new();
    for file in std::fs::read_dir(folder).expect("there is a corpus") {
        let path = file.expect("a folder lists its files").path();
        if path.extension().is_none_or(|extension| extension != "cubin") {
            continue;
        }
        let cubin = Cubin::read(&std::fs::read(&path).expect("a file")).expect("a cubin");
        let code = (0..cubin.sections.len()).filter(|at| cubin.sections[*at].kind == SectionKind::Code);
        by_sm.entry(cubin.target.sm).or_default().extend(code.flat_map(|at| words(cubin.bytes(at))));
    }
    for (sm, words) in &by_sm {
        let table = Table::of(*sm).expect("the SM is known");
        let theirs = texts(&tool, *sm, words);
        let mut compared = 0;
        for (at, (word, theirs)) in words.iter().zip(&theirs).enumerate() {
            // The corpus test counts the words that no encoding is written for yet.
            if let Some(ours) = ours(table, *word, 16 * at as u64) {
                assert_eq!(Some(&ours), theirs.as_ref(), "sm_{sm}: {word:032x}");
                compared += 1;
            }
        }
        println!("sm_{sm}: {compared} of {} words of the corpus compared", words.len());
    }
}
