//! Hostile launch files: thousands of deterministic mutations, and nesting without end.

use std::path::Path;

use super::random::SplitMix64;
use super::*;

/// Seeds of the mutations: between them they use every key.
const SEEDS: [&str; 2] = [
    "kernel = \"k\"\ngrid = [4, 1, 1]\nblock = 256\ncluster = [2, 1]\ndynamic_shared = 16\nsteps = 100\nrace_check = true\ncopies = 9\n\
     [[arg]]\nname = \"n\"\ntype = \"u32\"\nvalue = 1000\n[[arg]]\ndata = [1.0, 2.5e3, nan]\ntype = \"f32\"\n\
     expect_data = [1, 2, 3]\n[[arg]]\nalias = { arg = 1, offset = 8 }\n",
    "grid = 1\nblock = [8, 8]\n[[arg]]\nbytes = \"00 01 02\"\n[[arg]]\nhex = \"0011\"\nexpect_hex = \"2233\"\n[[arg]]\n\
     random = { seed = 7, bytes = 64, min = -3, max = 3 }\ntype = \"s16\"\n[[arg]]\nzeroed = 4096\nexpect = \"e.bin\"\n\
     [[arg]]\nbuffer = \"b.bin\"\n[[arg]]\nnull = true\n",
];

fn mutate(text: &str, generator: &mut SplitMix64) -> String {
    const PIECES: [&str; 20] = [
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\n",
        "=",
        "0",
        "999999999999",
        "-",
        ".",
        "'''",
        "nan",
        "true",
        "[[arg]]\n",
        "zeroed = ",
        "é",
        "[a.b.c]\n",
        "\0",
        "1e999",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=generator.below(2) {
        let at = generator.below(bytes.len() as u64 + 1) as usize;
        let end = (at + generator.below(12) as usize).min(bytes.len());
        match generator.below(5) {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].repeat(1 + generator.below(3) as usize);
                bytes.splice(at..at, copy);
            }
            3 => {
                let piece = PIECES[generator.below(PIECES.len() as u64) as usize];
                bytes.splice(at..end, piece.bytes());
            }
            _ => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (at % 7)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The two files that the seeds name; any other is too large.
fn resolve(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFailure> {
    match path.to_str() {
        Some("b.bin") if limit >= 100 => Ok(vec![1; 100]),
        Some("e.bin") => Ok(vec![0; limit.min(4096) as usize]),
        _ => Err(ReadFailure::TooLarge { bytes: u64::MAX, limit }),
    }
}

/// 6,000 mutations: each is a launch within its limits or an error that renders, and either way nothing panics.
#[test]
fn hostile_texts_are_launches_or_errors() {
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::none());
    let (mut good, mut bad) = (0, 0);
    for seed in SEEDS {
        assert!(Launch::parse(seed, "seed", resolve).is_ok(), "{seed}");
    }
    for round in 0..6000 {
        let text = mutate(SEEDS[round % 2], &mut SplitMix64::new(round as u64));
        match Launch::parse_within(1 << 16, &text, "mutant", resolve) {
            Ok(launch) => {
                good += 1;
                assert!(launch.buffers().map(|(_, buffer)| buffer.bytes.len()).sum::<usize>() <= 1 << 16);
                let again = Launch::parse(&launch.to_toml("m").text, "again", |path, _| {
                    let files = launch.to_toml("m").files;
                    Ok(files.into_iter().find(|(name, _)| name == path).expect("every file is listed").1)
                });
                assert_eq!(again.as_ref(), Ok(&launch), "{text}");
                assert_eq!(launch.randomized(1).args.len(), launch.args.len());
            }
            Err(error) => {
                bad += 1;
                let mut rendered = String::new();
                handler.render_report(&mut rendered, &error).expect("an error renders");
            }
        }
    }
    // Mutations that only ever fail, or never do, would test half of what they should.
    assert!(good > 200 && bad > 3000, "{good} launches, {bad} errors");
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    for unit in ["[", "{a=", "a."] {
        let text = format!("grid = {}", unit.repeat(100_000));
        let dotted = format!("{}x = 1", "a.".repeat(100_000));
        assert!(Launch::parse(&text, "deep", resolve).is_err());
        assert!(Launch::parse(&dotted, "deep", resolve).is_err());
    }
}
