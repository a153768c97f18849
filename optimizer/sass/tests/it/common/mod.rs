//! Words as NVIDIA's nvdisasm prints them, where it is installed, and as we do.

use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_sass::{Table, text};

/// The tool, on the PATH, in `CUDA_HOME`, or by `ci/cuda-tools`.
pub fn nvdisasm() -> Option<PathBuf> {
    let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let output = Command::new(finder).args(["--find", "nvdisasm"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    if !output.status.success() {
        println!("skipped: no nvdisasm (ci/cuda-tools installs it)");
        return None;
    }
    Some(PathBuf::from(path.trim()))
}

/// A word that every SM has: NOP.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// nvdisasm's text for each word, one behind the other from address 0; `None` where it refuses the word or prints a
/// code that it calls invalid. A word that it refuses ends its output, so that it runs again with a NOP in that place.
pub fn texts(tool: &Path, sm: u16, words: &[u128]) -> Vec<Option<String>> {
    let name = format!("words-{sm}-{}.bin", std::thread::current().name().unwrap_or_default().replace(':', "-"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Of a word of zeros it says no address, so this one is never asked about.
    let mut refused: Vec<bool> = words.iter().map(|word| *word == 0).collect();
    let mut words: Vec<u128> = words.iter().map(|word| if *word == 0 { NOP } else { *word }).collect();
    let place = |text: &str| usize::from_str_radix(text, 16).ok().map(|address| address / 16);
    loop {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("the test folder is writable");
        let mut command = Command::new(tool);
        command.args(["-b", &format!("SM{sm}"), "-raw", "-ndf"]).arg(&file);
        let output = command.output().expect("the tool starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let bad = errors.split("at address 0x").skip(1);
        let bad: Vec<usize> = bad.filter_map(|rest| place(rest.split_whitespace().next()?)).collect();
        if bad.is_empty() {
            let mut found = vec![None; words.len()];
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let Some((at, text)) = line.trim_start().trim_start_matches("/*").split_once("*/") else { continue };
                let Some(at) = place(at) else { continue };
                let text = text.trim().trim_end_matches(';').trim_end();
                let is_legal = !refused[at] && !text.contains("INVALID") && !text.contains("???");
                found[at] = is_legal.then(|| text.to_owned());
            }
            return found;
        }
        for at in bad {
            words[at] = NOP;
            refused[at] = true;
        }
    }
}

/// Our text for a word.
pub fn ours(table: &Table, word: u128, address: u64) -> Option<String> {
    let instruction = table.decode(word).ok()?;
    let mut out = String::new();
    text::print(&mut out, &instruction, address);
    assert_eq!(instruction.encode(), word, "{out} is another word when encoded");
    Some(out)
}
