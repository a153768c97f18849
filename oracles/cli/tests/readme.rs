//! What the README shows is what happens: its files are written, its commands are executed, its output is compared.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

/// A block between fences: what stands behind the opening one, and its lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            blocks.push((info, lines.by_ref().take_while(|line| !line.starts_with("```")).collect()));
        }
    }
    blocks
}

/// A command, and the lines that must stand in its output, in this order.
struct Example<'a> {
    command: &'a str,
    shows: Vec<&'a str>,
}

fn examples<'a>(lines: &[&'a str]) -> Vec<Example<'a>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command, shows: Vec::new() }),
            (None, Some(example)) => example.shows.push(line),
            (None, None) => panic!("`{line}` stands before the first command"),
        }
    }
    examples
}

#[test]
fn the_readme_shows_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("there is a README");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let binaries = Path::new(env!("CARGO_BIN_EXE_oriole")).parent().expect("it lies in a folder");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let mut executed = 0;
    for (info, lines) in blocks(&readme) {
        if let Some((_, name)) = info.split_once(' ') {
            std::fs::write(folder.path().join(name), lines.join("\n") + "\n").expect("the folder is writable");
        }
        if info != "console" {
            continue;
        }
        for Example { command, shows } in examples(&lines) {
            executed += 1;
            let limited = format!("ulimit -t 120; {command}");
            let output =
                Command::new("sh").args(["-c", &limited]).env("PATH", &path).current_dir(folder.path()).output();
            let output = output.expect("sh");
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {:?}\n{out}\n{err}", output.status);
            let mut rest = out.lines();
            for line in shows {
                assert!(rest.any(|found| found == line), "`{command}` does not show `{line}`:\n{out}\n{err}");
            }
        }
    }
    assert!(executed >= 8, "only {executed} commands were found");
}
