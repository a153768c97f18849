//! What README and book show is what happens: their files are written, their commands are executed, their output is
//! compared.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A block between fences: what follows the opening one, and its lines.
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

/// A command, and the lines that must be in its output, in this order.
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

/// Where `ci/cuda-tools` has a tool, if there is one.
fn cuda_tool(name: &str) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let output = Command::new(script).args(["--find", name]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && path.is_file()).then_some(path)
}

fn is_there(tool: &str) -> bool {
    cuda_tool(tool).is_some()
}

/// Executes a command as a reader does.
fn shell(command: &str, folder: &Path) -> Output {
    let binaries = Path::new(env!("CARGO_BIN_EXE_oriole")).parent().expect("it lies in a folder");
    let tools = cuda_tool("ptxas").and_then(|tool| Some(format!(":{}", tool.parent()?.display()))).unwrap_or_default();
    let path = format!("{}:{}{tools}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let limited = format!("ulimit -t 120; {command}");
    Command::new("sh").args(["-c", &limited]).env("PATH", &path).current_dir(folder).output().expect("sh")
}

/// A document of the tree.
fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The chapters of the book, in its order.
fn chapters() -> Vec<String> {
    let contents = read("book/src/introduction.md");
    let links = contents.lines().filter_map(|line| Some(line.split_once("](")?.1.trim_end_matches(')')));
    links.map(|file| format!("book/src/{file}")).collect()
}

/// Writes the files that a document shows, executes its commands, and says how many there were.
fn execute(document: &str, folder: &Path) -> usize {
    let mut executed = 0;
    for (info, lines) in blocks(&read(document)) {
        match info.split_once(' ') {
            Some(("console", tool)) if !is_there(tool) => {
                println!("skipped: no {tool} (ci/cuda-tools installs it)");
                continue;
            }
            Some(("console", _)) => {}
            Some((_, name)) => {
                std::fs::write(folder.join(name), lines.join("\n") + "\n").expect("the folder is writable");
                continue;
            }
            None => {
                let is_console = lines.iter().any(|line| line.starts_with("$ "));
                assert_eq!(is_console, info == "console", "{document}: a block of commands is a `console`: {lines:?}");
                if !is_console {
                    continue;
                }
            }
        }
        for Example { command, shows } in examples(&lines) {
            executed += 1;
            let output = shell(&command.replace("--time 10m", "--time 2s"), folder);
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let ends = matches!(output.status.code(), Some(0 | 1));
            assert!(ends, "{document}: {command}: {:?}\n{out}\n{err}", output.status);
            let mut rest = out.lines();
            for line in shows.into_iter().filter(|line| line.trim() != "...") {
                assert!(rest.any(|found| found == line), "{document}: `{command}` shows no `{line}`:\n{out}\n{err}");
            }
        }
    }
    executed
}

/// The chapters use the files of README's example, and what earlier chapters left.
#[test]
fn the_documents_show_what_happens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = execute("README.md", folder.path());
    assert!(first >= 4, "README shows {first} commands");
    let chapters = chapters();
    assert!(chapters.len() >= 10, "{chapters:?}");
    let executed: usize = chapters.iter().map(|chapter| execute(chapter, folder.path())).sum();
    assert!(executed >= 7, "the book shows {executed} commands");
}

/// README has a line for each command, and for no other.
#[test]
fn the_readme_has_a_line_for_each_command() {
    let readme = read("README.md");
    let rows = readme.lines().skip_while(|line| *line != "| command | what it does |").skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).filter_map(|row| row.split(" | ").next());
    let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let help = shell("oriole --help", Path::new("."));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let listed: BTreeSet<&str> = subcommands(&help).filter(|name| *name != "help").collect();
    assert_eq!(named, listed);
}

/// The subcommands that a help lists.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.split("Commands:\n").nth(1).unwrap_or("").lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()))
}

/// The commands of a cell: spans that begin with `oriole`, and those behind them that stand for their end.
fn commands(cell: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for span in cell.split('`').skip(1).step_by(2) {
        let Some(first) = commands.first().filter(|_| !span.starts_with("oriole ")) else {
            commands.push(span.to_owned());
            continue;
        };
        let kept: Vec<&str> = match span.starts_with('-') {
            true => first.split(' ').take_while(|word| !word.starts_with('-')).collect(),
            false => first.split(' ').take(2).collect(),
        };
        commands.push(format!("{} {span}", kept.join(" ")));
    }
    commands
}

/// What the table's placeholders stand for here, and limits for what would take a minute.
fn concrete(command: &str, id: &str) -> String {
    let word = |word: &str| match word {
        "PATH…" | "BEFORE" | "AFTER" => "K.ptx".to_owned(),
        "FILE" | "F.rules" | "[FILE…]" => "my.rules".to_owned(),
        "[NAME]" => "iadd".to_owned(),
        "[COMMAND]" => "check".to_owned(),
        "NAME" => "half my.rules".to_owned(),
        "FOLDER" => "kernels".to_owned(),
        "STORE" | "STORE…" => "copy.db".to_owned(),
        "TID" => "0".to_owned(),
        "ID" | "[ID…]" => id.to_owned(),
        "10m" => "1s".to_owned(),
        word => word.to_owned(),
    };
    let command = command.split(' ').map(word).collect::<Vec<_>>().join(" ");
    match command.as_str() {
        "oriole launch K.ptx" => "oriole launch K.ptx --force".to_owned(),
        "oriole selftest" => "oriole selftest --kind drop-store --phase GeneralOptimizeEarly".to_owned(),
        "oriole selftest --machine sm_90" => format!("{command} --kind code-dropped --cases 8 --data-sets 1"),
        "oriole selftest --compile sm_90" => format!("{command} --kind code-dropped --cases 4 --data-sets 1"),
        command if command.starts_with("oriole fuzz") && !command.contains("--time") => format!("{command} --time 1s"),
        command => command.to_owned(),
    }
}

const KERNEL: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u32 %r1, [n];
    ld.param.u64 %d1, [out];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d3, %d1, %d2;
    div.s32 %r3, %r1, 2;
    st.global.u32 [%d3], %r3;
    ret;
}
";

const LAUNCH: &str = "grid = 1\nblock = 32\n[[arg]]\ntype = \"u32\"\nvalue = 7\n[[arg]]\nzeroed = 128\n";

/// Every command of the book's table of commands ends as its row says, with a kernel, rules and a store at hand.
#[test]
fn commands_of_the_table_do_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = read("book/src/commands.md");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::create_dir(here.join("kernels")).expect("the folder is writable");
    for (name, text) in [
        ("K.ptx", KERNEL),
        ("K.launch.toml", LAUNCH),
        ("kernels/K.ptx", KERNEL),
        ("kernels/K.launch.toml", LAUNCH),
        ("my.rules", "rule half priority 20: idiv.s32(x, 2) => shr.s32(x, 1)\n"),
    ] {
        std::fs::write(here.join(name), text).expect("the folder is writable");
    }
    let cubin = root.join("corpus/cubins/half2_dot.sm_90.O3.cubin");
    std::fs::copy(cubin, here.join("K.cubin")).expect("the corpus has cubins");
    let planted = shell("oriole fuzz --cases 40 --plant --corpus none --jobs 2", here);
    assert_eq!(planted.status.code(), Some(1), "{}", String::from_utf8_lossy(&planted.stderr));
    std::fs::copy(here.join("oriole-findings/findings.db"), here.join("copy.db")).expect("there is a store");
    let listed = shell("oriole findings list", here);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let id = listed.lines().nth(2).and_then(|line| line.split(' ').next()).expect("a finding");
    let rows = page.lines().filter(|line| line.starts_with("| `oriole "));
    let mut executed = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let says = |words: &str| cells.last().is_some_and(|cell| cell.contains(words));
        for command in commands(cells[0]) {
            let command = concrete(&command, id);
            let output = shell(&command, here);
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let code = output.status.code();
            let lacks = says("or no ptxas") && err.contains("there is no ptxas");
            if lacks {
                println!("skipped: no ptxas (ci/cuda-tools installs it)");
            }
            let bad = says("or nothing wrong") || lacks;
            let ends = matches!(code, Some(0 | 1 | 3)) || bad && code == Some(2);
            assert!(ends && !err.contains("panicked"), "{command}: {:?}\n{out}\n{err}", output.status);
            assert!(!out.is_empty() || !err.is_empty() || command.contains("export"), "`{command}` says nothing");
            executed += 1;
        }
    }
    assert!(executed >= 30, "only {executed} commands were found");
}

/// Every subcommand has a help that says what it does, how it is called, and what each of its options is for.
#[test]
fn every_subcommand_has_help() {
    let here = std::env::temp_dir();
    let mut open = vec!["oriole".to_owned()];
    let mut seen = 0;
    while let Some(command) = open.pop() {
        let output = shell(&format!("{command} --help"), &here);
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && help.contains(&format!("Usage: {command}")), "{command}: {help}");
        open.extend(subcommands(&help).filter(|name| *name != "help").map(|name| format!("{command} {name}")));
        let mut lines = help.lines().skip_while(|line| *line != "Options:").peekable();
        while let Some(line) = lines.next() {
            let is_option =
                line.trim_start().starts_with('-') && line.starts_with("  ") && !line.starts_with("          ");
            let said =
                line.trim().split_once("  ").is_some() || lines.peek().is_some_and(|next| !next.trim().is_empty());
            assert!(!is_option || said, "{command}: nothing is said of {line}");
        }
        seen += 1;
    }
    assert!(seen >= 25, "{seen} commands");
}
