//! The opcode table is the one place that lists opcodes by property: no other file of the sources names four of them in
//! one pattern or list, but for those that give opcodes a meaning. A property that a list would say is a flag or a
//! column.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oriole_ir::ops::ROWS;

/// The opcodes that one list may name.
const MOST: usize = 3;

/// Files that may name more, by the end of their path, and what meaning they give.
const MEANINGS: &[(&str, &str)] = &[
    ("fold/mod.rs", "the optimizer's evaluator"),
    ("select/predicate.rs", "the instructions of the machine that a guard keeps from happening"),
    ("fold/integer.rs", "the optimizer's evaluator, of integer operations"),
    ("known_bits/operation.rs", "the abstract meaning of operations over known bits"),
    ("reassociate/tree.rs", "what operations add to a sum"),
    ("generate/src/bounded.rs", "the operations of whose results ranges say more than how many bits they have"),
    ("generate/src/insts.rs", "the operations of which programs have most"),
    ("meaning/integer.rs", "the meaning of integer operations as terms"),
    ("meaning/float.rs", "the meaning of float operations as terms"),
    ("meaning/video.rs", "the meaning of video operations as terms"),
    ("launch/uses.rs", "which operations carry an address from a parameter to an access"),
    ("analysis/addresses/mod.rs", "the accesses at one address, which comes first"),
    ("inline/cost.rs", "what disappears with a call"),
    ("memory_space/pairs.rs", "the operations that count on an address"),
    ("semantics/src/matrix/resolve.rs", "the meaning of products of matrices"),
    ("reference/src/pointers.rs", "the accesses at one address, by definition"),
    ("codegen/src/compile.rs", "which operations name a barrier"),
    ("codegen/src/expand/mod.rs", "the operations that have bodies, whose names are long to print"),
    ("codegen/src/select/memory.rs", "the accesses that go through the descriptor of memory"),
    ("codegen/src/select/mod.rs", "which file says what an operation becomes"),
    ("reference/src/memory.rs", "which memory an operation touches, by definition"),
];

/// The root of the workspace.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.expect("the crate lies in the workspace").to_owned()
}

/// Every source file below a folder, tests and benchmarks left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["tests", "benches", "target"].contains(&name) || path.join("mod.rs").is_file() {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The text without comments, string literals and the module of tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('"') {
            code.push_str(before.split("//").next().unwrap_or(before));
            rest = if before.contains("//") { "" } else { after.split_once('"').map_or("", |(_, behind)| behind) };
            code.push('_');
        }
        code.push_str(rest.split("//").next().unwrap_or(rest));
        code.push('\n');
    }
    code
}

/// The words of a text with where they begin.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    code.split_inclusive(move |c| !is_word(c)).filter_map(move |piece| {
        let start = at;
        at += piece.len();
        let word = piece.trim_end_matches(|c| !is_word(c));
        (!word.is_empty()).then_some((start, word))
    })
}

/// The longest lists of opcodes in a text: names with nothing between them but what separates alternatives and
/// elements. A name counts behind `Opcode::`, and by itself where the file imports opcodes by name.
fn lists(text: &str, names: &BTreeSet<String>) -> Vec<BTreeSet<String>> {
    let code = code(text);
    let imported = code.contains("Opcode::*") || code.contains("Opcode::{");
    let separates = |gap: &str| {
        let gap = gap.replace("Opcode::", "");
        gap.chars().all(|c| c.is_whitespace() || c.is_ascii_digit() || "|,()[]{}&".contains(c))
    };
    let mut lists: Vec<BTreeSet<String>> = Vec::new();
    let mut end = None;
    for (start, word) in words(&code) {
        let qualified = code[..start].ends_with("Opcode::");
        if !names.contains(word) || !(qualified || imported && !code[..start].ends_with("::")) {
            continue;
        }
        let goes_on = end.is_some_and(|end: usize| separates(&code[end..start]));
        if !goes_on {
            lists.push(BTreeSet::new());
        }
        lists.last_mut().expect("one was pushed").insert(word.to_owned());
        end = Some(start + word.len());
    }
    lists.retain(|list| list.len() > MOST);
    lists
}

fn names() -> BTreeSet<String> {
    ROWS.iter().map(|row| format!("{:?}", row.opcode)).collect()
}

#[test]
fn no_file_lists_opcodes_by_property() {
    let root = root();
    let mut files = Vec::new();
    ["optimizer", "oracles"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    assert!(files.len() > 200, "{} files", files.len());
    let (names, mut faults, mut needed) = (names(), Vec::new(), BTreeSet::new());
    for file in &files {
        let text = std::fs::read_to_string(file).expect("sources are text");
        let path = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let meaning = MEANINGS.iter().find(|(end, _)| path.ends_with(end));
        for list in lists(&text, &names) {
            match meaning {
                Some((end, _)) => _ = needed.insert(*end),
                None => faults.push(format!("{path}: {}", list.into_iter().collect::<Vec<_>>().join(" "))),
            }
        }
    }
    let help = "make it a flag or a column of the table, or say in `MEANINGS` what meaning the file gives them";
    assert!(faults.is_empty(), "{} lists of opcodes; {help}:\n{}", faults.len(), faults.join("\n"));
    let idle: Vec<_> = MEANINGS.iter().filter(|(end, _)| !needed.contains(end)).collect();
    assert!(idle.is_empty(), "files that list no opcodes need no leave: {idle:?}");
}

#[test]
fn lists_are_found_however_they_are_written() {
    let names = names();
    let found = |text: &str| lists(text, &names).len();
    assert_eq!(found("matches!(op, Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not)"), 1);
    assert_eq!(found("use Opcode::*;\nmatch op {\n  And | Or\n  | Xor | Not => 1,\n  _ => 2,\n}"), 1);
    assert_eq!(
        found("const X: [(Opcode, u32); 4] = [(Opcode::And, 1), (Opcode::Or, 2), (Opcode::Xor, 3), (Opcode::Not, 4)];"),
        1
    );
    assert_eq!(found("use ops::Opcode::{And, Not, Or, Xor};"), 1);
    assert_eq!(found("matches!(op, Opcode::And | Opcode::Or | Opcode::Xor)"), 0, "three are no list");
    assert_eq!(found("match op { Opcode::And => a, Opcode::Or => b, Opcode::Xor => c, Opcode::Not => d }"), 0);
    assert_eq!(found("bits!(AtomOp: And | Or | Xor | Exch); \"Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not\""), 0);
    assert_eq!(found("// Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not"), 0);
}
