//! Text that people and programs read, as it is: help, tables, diagnostics, JSON, schemas, a disassembly.
//!
//! The snapshots lie in `snapshots/`. `cargo insta test --review -p oriole --test it snapshots::` shows how a change
//! alters them; without that tool, `INSTA_UPDATE=always cargo test -p oriole --test it snapshots::`, and `git diff`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const KERNEL: &str = include_str!("snapshots/k.ptx");
const LAUNCH: &str = "grid = 1\nblock = 1\n[[arg]]\nname = \"out\"\nzeroed = 4\n";
const RULES: &str =
    "# Half of what it should be.\nrule half priority 20 for T in u32 s32:\n    imul.lo.T(x, 8) => shl.b32(x, 2)\n";

/// A folder with a kernel, its launch, rules and a cubin.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [("k.ptx", KERNEL), ("k.launch.toml", LAUNCH), ("half.rules", RULES)] {
        std::fs::write(folder.path().join(name), text).expect("it is writable");
    }
    let cubin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins/half2_dot.sm_90.O3.cubin");
    std::fs::copy(cubin, folder.path().join("k.cubin")).expect("the corpus has cubins");
    folder
}

/// Standard output and standard error.
fn oriole(line: &str, folder: &Path) -> [String; 2] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(line.split(' ')).current_dir(folder).env("NO_COLOR", "1").env_remove("COLUMNS");
    let output = command.output().expect("the command starts");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The subcommands that a help lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or("").lines().take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn help_of_every_command() {
    let here = folder();
    let mut open = vec![String::new()];
    let mut seen = 0;
    while let Some(command) = open.pop() {
        let [help, _] = oriole(format!("{command} --help").trim_start(), here.path());
        open.extend(subcommands(&help).into_iter().map(|name| format!("{command} {name}").trim_start().to_owned()));
        insta::assert_snapshot!(format!("help {command}").trim_end().replace(' ', "-"), help);
        seen += 1;
    }
    assert!(seen >= 25, "{seen} commands");
}

#[test]
fn tables() {
    let here = folder();
    for line in ["phases", "phases --cicc", "knobs", "knobs --cicc", "ops", "ops iadd", "selftest --list", "schema"] {
        let [table, _] = oriole(line, here.path());
        insta::assert_snapshot!(format!("table {line}").replace(' ', "-"), table);
    }
}

#[test]
fn diagnostics_of_bad_input() {
    let here = folder();
    let write = |name: &str, text: &str| std::fs::write(here.path().join(name), text).expect("it is writable");
    write("misspelt.ptx", &KERNEL.replace("add.u32", "addd.u32"));
    write("unclosed.ptx", &KERNEL.replace("ret;\n}", "ret;"));
    write("undeclared.ptx", &KERNEL.replace("%r3, 5", "%r9, 5"));
    write("key.launch.toml", &LAUNCH.replace("block", "blok"));
    write("few.launch.toml", "grid = 1\nblock = 1\n");
    write("endless.rules", "rule swap: iadd.u32(x, 1) => iadd.u32(iadd.u32(x, 1), 0)\n");
    for (name, line) in [
        ("no-file", "run none.ptx"),
        ("misspelt", "run misspelt.ptx"),
        ("unclosed", "run unclosed.ptx"),
        ("undeclared", "run undeclared.ptx"),
        ("launch-key", "run k.ptx --launch key.launch.toml"),
        ("launch-arguments", "run k.ptx --launch few.launch.toml"),
        ("phase", "check k.ptx --phase GeneralOptimise"),
        ("knob", "check k.ptx --knob NoSuchKnob=1"),
        ("rules", "check k.ptx --rules endless.rules"),
        ("cubin", "sass k.ptx"),
        ("store", "findings list --store none.db"),
        ("opcode", "ops nonsense"),
        ("schema", "schema nonsense"),
        ("boring", "reduce k.ptx"),
    ] {
        let [_, said] = oriole(line, here.path());
        insta::assert_snapshot!(format!("bad-{name}"), said);
    }
}

/// What differs from run to run.
const TIMES: &[&str] = &["microseconds", "rules_microseconds", "ms", "solver_ms", "seconds", "first_seconds"];

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match TIMES.contains(&name.as_str()) && value.is_number() {
                    true => *value = 0.into(),
                    false => without_times(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[test]
fn json() {
    let here = folder();
    for line in [
        "run k.ptx --stats --trace 0",
        "launch k.ptx -o -",
        "check k.ptx --rules half.rules --phase GeneralOptimizeEarly --costs",
        "compare k.ptx k.ptx",
        "bisect k.ptx --rules half.rules --phase GeneralOptimizeEarly",
        "reduce k.ptx --rules half.rules --jobs 1",
        "rules check half.rules --no-solver",
        "rules explain half half.rules",
        "opt k.ptx --passes GeneralOptimizeEarly --explain --time",
        "sass k.cubin --function half2_dot --json",
        "ops iadd",
    ] {
        let format = if line.ends_with("--json") { "" } else { " --format json" };
        let [text, said] = oriole(&format!("{line}{format}"), here.path());
        let mut document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}\n{said}"));
        without_times(&mut document);
        let name = line.split(' ').take_while(|word| !word.contains(['.', '-'])).collect::<Vec<_>>().join("-");
        insta::assert_snapshot!(format!("json-{name}"), format!("{document:#}"));
    }
}

#[test]
fn schemas() {
    let here = folder();
    let [list, _] = oriole("schema", here.path());
    let commands: Vec<&str> = list.lines().skip(2).filter_map(|line| line.split("  ").next()).collect();
    assert!(commands.len() >= 25, "{list}");
    for command in commands {
        let [schema, _] = oriole(&format!("schema {command}"), here.path());
        insta::assert_snapshot!(format!("schema {command}").replace(' ', "-"), schema);
    }
}

#[test]
fn disassembly() {
    let here = folder();
    let [listing, _] = oriole("sass k.cubin --control --hex", here.path());
    insta::assert_snapshot!("sass", listing);
}

#[test]
fn changes_with_their_places() {
    let here = folder();
    let [_, said] = oriole("opt k.ptx --explain -o out.ptx", here.path());
    insta::assert_snapshot!("explain", said);
}
