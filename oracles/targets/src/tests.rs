//! A second of every target: it reaches its property, finds nothing, and finds the fault that is planted for it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;
use oriole_check::supervise::catch;
use oriole_launch::random::{self, SplitMix64};

/// One input in so many reaches the property at least.
const IDLE: u32 = 50;
/// So many inputs are tried, however slow the machine is. A minute of each target is a job of every night.
const INPUTS: u32 = 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts that text targets start from.
fn seeds(seeds: Seeds) -> Vec<Vec<u8>> {
    let folder = root().join(seeds.folder());
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a folder lists its files").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed is a file")).collect()
}

/// Input `number`: a text with one byte changed, or bytes of many lengths.
fn input(target: &Target, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(number);
    match target.seeds {
        Seeds::Bytes => random::bytes(number, 16 << rng.below(8)),
        Seeds::Cubins => {
            let mut bytes = seeds[rng.below(seeds.len() as u64) as usize].clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.next_u64() as u8;
            }
            bytes
        }
        Seeds::Texts | Seeds::Rules => {
            let mut bytes = seeds[rng.below(seeds.len() as u64) as usize].clone();
            // Mostly a digit becomes another one, which leaves more texts readable than any other change.
            let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
            if rng.below(3) > 0 && !digits.is_empty() {
                bytes[digits[rng.below(digits.len() as u64) as usize]] = b'0' + rng.below(10) as u8;
            } else {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = b"0123456789abcdefrsu.,;%@ "[rng.below(25) as usize];
            }
            bytes
        }
    }
}

/// Runs a target for a second: it finds nothing, and reaches what it asserts often enough.
fn is_not_idle(target: &Target) {
    let seeds = seeds(target.seeds);
    let (mut reached, mut cases) = (0, 0);
    for seed in &seeds {
        (target.body)(seed);
    }
    let start = Instant::now();
    while cases < INPUTS || start.elapsed() < Duration::from_secs(1) {
        reached += u32::from((target.body)(&input(target, &seeds, u64::from(cases))));
        cases += 1;
    }
    println!("{}: {reached} of {cases} inputs reach the property", target.name);
    assert!(reached * IDLE >= cases, "{}: {reached} of {cases} reach the property", target.name);
}

/// The planted fault is found, and only where it is planted.
fn finds_its_canary(target: &Target) {
    let seeds = seeds(target.seeds);
    let found = (0..400).find(|number| {
        let input = input(target, &seeds, *number);
        canary::with(|| catch(|| (target.body)(&input))).is_err()
    });
    let number = found.unwrap_or_else(|| panic!("{} does not find its canary", target.name));
    println!("{}: found at input {number}", target.name);
    (target.body)(&input(target, &seeds, number));
}

macro_rules! smoke {
    ($($name:ident,)*) => {
        $(mod $name {
            fn target() -> &'static super::Target {
                let found = super::TARGETS.iter().find(|target| target.name == stringify!($name));
                found.expect("the table has a row for it")
            }

            #[test]
            fn is_not_idle() {
                super::is_not_idle(target());
            }

            #[test]
            fn finds_its_canary() {
                super::finds_its_canary(target());
            }
        })*

        #[test]
        fn every_target_has_smoke_tests() {
            let tested: Vec<&str> = vec![$(stringify!($name)),*];
            let listed: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(tested, listed);
        }
    };
}

smoke! {
    ptx,
    ori_round_trip,
    ptx_round_trip,
    phase_check,
    pipeline_text,
    generated_text,
    generated_check,
    pipeline_check,
    convergence,
    verifier_soundness,
    reducer,
    analyses,
    encoding,
    files,
    rules,
    sass_encoding,
    sass_words,
    machine_ori,
    cubin,
    allocation,
    scheduling,
}

/// Diagnostics of lines that no screen holds are drawn: `miette` counts columns in 16 bits.
#[test]
fn targets_draw_diagnostics_of_long_lines() {
    let text = " ".repeat(70_000) + "bogus";
    for name in ["ptx", "ori_round_trip", "rules"] {
        let target = TARGETS.iter().find(|target| target.name == name).expect("it is listed");
        assert!(!(target.body)(text.as_bytes()), "{name}");
    }
}

/// The crate under `fuzz/` has a binary for every target, which names its seeds, and no other.
#[test]
fn the_fuzz_crate_has_every_target() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("the fuzz crate has a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let bins = manifest["bin"].as_array().expect("binaries are a list");
    let mut bins: Vec<&str> = bins.iter().filter_map(|bin| bin["name"].as_str()).collect();
    let mut listed: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    bins.sort_unstable();
    listed.sort_unstable();
    assert_eq!(bins, listed);
    for target in TARGETS {
        let path = root().join(format!("fuzz/fuzz_targets/{}.rs", target.name));
        let glue = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let line = format!("//! Seeds: {}", target.seeds.folder());
        assert!(glue.lines().any(|found| found == line), "{} lacks the line `{line}`", path.display());
    }
}

/// The nightly workflow fuzzes every target: they are under its `target:`.
#[test]
fn the_nightly_workflow_runs_every_target() {
    let workflow = std::fs::read_to_string(root().join(".github/workflows/nightly.yml")).expect("there is a workflow");
    let (_, list) = workflow.split_once(" target:\n").expect("it has a matrix of targets");
    let mut run: Vec<&str> = list.lines().map_while(|line| line.trim().strip_prefix("- ")).collect();
    let mut listed: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    run.sort_unstable();
    listed.sort_unstable();
    assert_eq!(run, listed);
}
