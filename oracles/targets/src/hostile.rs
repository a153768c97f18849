//! Hostile input: mutations of kernels and launch files, each of which must end in an answer or a diagnostic.
//!
//! [`Corpus`] holds seeds; case `n` is a deterministic mutation of one of them, so that a failure is named by its
//! number. [`Corpus::case`] reads it, and where it is still a kernel verifies, optimizes, prints and runs it with a
//! small budget. A panic anywhere is the only failure; time and memory are bounded by the budgets.

use std::path::{Path, PathBuf};

use oriole_ir::Module;
use oriole_optimizer::pipeline::runner::{Options, PipelineError, run};
use oriole_optimizer::ssa;

use oriole_check::input::{Language, parse_kernel, read_ptx, write_ptx};
use oriole_check::supervise::catch;
use oriole_check::target_of;
use oriole_interp::{Executable, RunOptions};
use oriole_launch::file::read_file;
use oriole_launch::random::SplitMix64;
use oriole_launch::{Launch, launch_files_for};

/// The step budget of a run, in warp instructions.
const STEPS: u64 = 20_000;
/// Buffers of a mutated launch may have this many bytes.
const BUFFER_BYTES: u64 = 1 << 20;
/// Seeds larger than this make slow cases and no better ones.
const MAX_SEED_BYTES: usize = 64 << 10;
/// Threads of a mutated launch that still runs.
const MAX_THREADS: u64 = 4096;

/// A kernel as text, and a launch for it as text.
#[derive(Clone, Debug)]
struct Seed {
    name: String,
    language: Language,
    kernel: Vec<u8>,
    launch: Vec<u8>,
    folder: PathBuf,
}

/// What to mutate.
#[derive(Clone, Debug)]
pub struct Corpus {
    seeds: Vec<Seed>,
}

/// How far a case got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reached {
    /// The kernel or the launch was refused with a diagnostic.
    Refused,
    /// The kernel was optimized, but does not fit the launch.
    Optimized,
    /// It ran before and after optimization.
    Ran,
}

/// A case that panics.
#[derive(Clone, Debug)]
pub struct Panic {
    /// The case.
    pub number: u64,
    /// The seed that it was made from.
    pub seed: String,
    /// The panic's message.
    pub message: String,
    /// The mutated kernel.
    pub kernel: Vec<u8>,
    /// The mutated launch file.
    pub launch: Vec<u8>,
}

impl Corpus {
    /// The kernels of a folder as PTX with their first launch file, and the same as `.ori` in SSA form.
    pub fn load(folder: &Path) -> std::io::Result<Corpus> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
        paths.sort();
        let mut seeds = Vec::new();
        for path in paths.iter().filter(|path| Language::of(path).is_some()) {
            let kernel = std::fs::read(path)?;
            let Some(launch) = launch_files_for(path).into_iter().next() else { continue };
            if kernel.len() <= MAX_SEED_BYTES {
                add(&mut seeds, path, kernel, std::fs::read(launch)?, folder);
            }
        }
        Ok(Corpus { seeds })
    }

    /// The number of seeds.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Whether there is nothing to mutate.
    pub fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// Tries case `number`.
    ///
    /// # Errors
    ///
    /// The panic, if there is one.
    ///
    /// # Panics
    ///
    /// If the corpus is empty.
    pub fn case(&self, number: u64) -> Result<Reached, Box<Panic>> {
        let mut generator = SplitMix64::new(number);
        let seed = &self.seeds[generator.below(self.seeds.len() as u64) as usize];
        let (mut kernel, mut launch) = (seed.kernel.clone(), seed.launch.clone());
        // A mutated launch hides what a mutated kernel would do, so most cases leave it alone.
        match generator.below(8) {
            0 => launch = mutate(launch, &mut generator),
            _ => kernel = mutate(kernel, &mut generator),
        }
        catch(|| attempt(seed, &kernel, &launch)).map_err(|panic| {
            Box::new(Panic { number, seed: seed.name.clone(), message: panic.to_string(), kernel, launch })
        })
    }
}

/// Adds a kernel, and if it is PTX also its text form.
fn add(seeds: &mut Vec<Seed>, path: &Path, kernel: Vec<u8>, launch: Vec<u8>, folder: &Path) {
    let Some(language) = Language::of(path) else { return };
    let name = path.display().to_string();
    let folder = folder.to_owned();
    if let (Language::Ptx, Ok(mut module)) = (language, parse_kernel(language, path, &kernel)) {
        // In SSA form, which no PTX shows.
        ssa::construct_module(&mut module);
        let text = module.to_string().into_bytes();
        let (name, launch, folder) = (format!("{name} as .ori"), launch.clone(), folder.clone());
        seeds.push(Seed { name, language: Language::Ori, kernel: text, launch, folder });
    }
    seeds.push(Seed { name, language, kernel, launch, folder });
}

fn attempt(seed: &Seed, kernel: &[u8], launch: &[u8]) -> Reached {
    let launch = read_launch(seed, launch);
    let Ok(mut module) = parse_kernel(seed.language, Path::new(&seed.name), kernel) else {
        return Reached::Refused;
    };
    ssa::construct_module(&mut module);
    let before = launch.as_ref().is_some_and(|launch| execute(&module, launch));
    if !optimize(&mut module) {
        return Reached::Refused;
    }
    if let Ok(text) = write_ptx(&module) {
        // Text form can say what is well-formed and yet no PTX, such as a copy of 5 bytes; what came from PTX cannot.
        let again = read_ptx(&text);
        assert!(again.is_ok() || seed.language == Language::Ori, "printed PTX is refused: {again:?}");
    }
    let after = launch.as_ref().is_some_and(|launch| execute(&module, launch));
    if before && after { Reached::Ran } else { Reached::Optimized }
}

fn read_launch(seed: &Seed, text: &[u8]) -> Option<Launch> {
    let text = String::from_utf8_lossy(text);
    let resolve = |path: &Path, limit: u64| read_file(&seed.folder.join(path), limit);
    let launch = Launch::parse_within(BUFFER_BYTES, &text, "mutant", resolve).ok()?;
    (launch.threads() <= MAX_THREADS).then_some(launch)
}

/// Whether the module could be run on the launch, however the run ended.
fn execute(module: &Module, launch: &Launch) -> bool {
    let options = RunOptions { steps: Some(STEPS), ..RunOptions::default() };
    Executable::new(module).is_ok_and(|executable| executable.run(launch, &options).is_ok())
}

/// Whether the module could be optimized. A phase that leaves an invalid module or does not end is as bad as one that
/// panics.
fn optimize(module: &mut Module) -> bool {
    let Ok(target) = target_of(module) else { return false };
    let options = Options { verify: true, ..Options::new(target) };
    match run(module, &options, &mut ()) {
        Ok(_) => true,
        Err(error @ (PipelineError::Invalid { .. } | PipelineError::Endless { .. })) => panic!("{error}"),
        Err(_) => false,
    }
}

/// One to four small changes.
fn mutate(mut text: Vec<u8>, generator: &mut SplitMix64) -> Vec<u8> {
    for _ in 0..=generator.below(4) {
        if text.is_empty() {
            break;
        }
        match generator.below(8) {
            0 => flip(&mut text, generator),
            1 => text.truncate(below(generator, text.len())),
            2 | 3 => swap_tokens(&mut text, generator),
            4 => duplicate_line(&mut text, generator),
            5 => drop_line(&mut text, generator),
            6 => change_number(&mut text, generator),
            _ => insert_piece(&mut text, generator),
        }
    }
    text
}

fn below(generator: &mut SplitMix64, bound: usize) -> usize {
    generator.below(bound.max(1) as u64) as usize
}

fn flip(text: &mut [u8], generator: &mut SplitMix64) {
    let at = below(generator, text.len());
    text[at] ^= 1 << generator.below(8);
}

/// Where the token at or behind `at` begins and ends.
fn token(text: &[u8], at: usize) -> (usize, usize) {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_%$.".contains(byte);
    let start = at + text[at..].iter().position(word).unwrap_or(0);
    let start = start - text[..start].iter().rev().take_while(|byte| word(byte)).count();
    let length = text[start..].iter().take_while(|byte| word(byte)).count();
    (start, start + length.max(1))
}

/// Puts one token in the place of another.
fn swap_tokens(text: &mut Vec<u8>, generator: &mut SplitMix64) {
    let (from, to) = (token(text, below(generator, text.len())), token(text, below(generator, text.len())));
    let piece = text[from.0..from.1].to_vec();
    text.splice(to.0..to.1, piece);
}

/// Where the line around `at` begins, and where the next one does.
fn line(text: &[u8], at: usize) -> (usize, usize) {
    let start = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |newline| at + newline + 1);
    (start, end)
}

fn duplicate_line(text: &mut Vec<u8>, generator: &mut SplitMix64) {
    let (start, end) = line(text, below(generator, text.len()));
    let (to, _) = line(text, below(generator, text.len()));
    let piece = text[start..end].to_vec();
    text.splice(to..to, piece);
}

fn drop_line(text: &mut Vec<u8>, generator: &mut SplitMix64) {
    let (start, end) = line(text, below(generator, text.len()));
    text.drain(start..end);
}

/// Puts another number in the place of the next one.
fn change_number(text: &mut Vec<u8>, generator: &mut SplitMix64) {
    const NUMBERS: [&str; 10] =
        ["0", "1", "-1", "32", "64", "255", "4294967295", "18446744073709551615", "99999999999999999999", "0x"];
    let at = below(generator, text.len());
    let Some(found) = text[at..].iter().position(u8::is_ascii_digit) else { return };
    let start = at + found;
    let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = NUMBERS[below(generator, NUMBERS.len())];
    text.splice(start..start + length, number.bytes());
}

fn insert_piece(text: &mut Vec<u8>, generator: &mut SplitMix64) {
    const PIECES: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        "@%p1 ",
        "\"",
        "/*",
        "//",
        "é",
        "\0",
        ".reg .b32 %r<1000000000>;\n",
        ":",
    ];
    let at = below(generator, text.len() + 1);
    text.splice(at..at, PIECES[below(generator, PIECES.len())].bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_deterministic_and_change_something() {
        let text = b"mov.u32 %r1, 17;\nadd.s32 %r2, %r1, 4;\n".to_vec();
        let mutant = |seed| mutate(text.clone(), &mut SplitMix64::new(seed));
        let changed = (0..200).filter(|seed| mutant(*seed) != text).count();
        assert!(changed > 180, "{changed}");
        assert!((0..200).all(|seed| mutant(seed) == mutant(seed)));
    }
}
