//! What no compiler says about the tree: stray files, sources that nothing declares, lines that are too wide, documents
//! that name what does not exist, errors without a type, and crates that know others than ARCHITECTURE.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What may lie in the root; everything else there was left by accident.
const ROOT: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "book",
    "ci",
    "corpus",
    "examples",
    "fuzz",
    "optimizer",
    "oracles",
    "python",
    "rustfmt.toml",
    // What is built, found or installed, all of it ignored.
    "oriole-findings",
    "target",
];
/// The most characters of a line, unless it holds a literal that cannot be broken.
const WIDTH: usize = 120;
/// Documents that name files of the tree, beside the book.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "corpus/README.md", "fuzz/README.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder lists its files").path()).collect();
    paths.sort();
    paths
}

/// The chapters of the book that somebody writes: neither those of the reference, which are made of rows, nor the list
/// of chapters that `ci/book` writes.
fn chapters() -> Vec<String> {
    let files = entries(&root().join("book/src")).into_iter().filter(|path| path.is_file());
    let names = files.map(|path| name(&path).to_owned()).filter(|name| name != "SUMMARY.md");
    names.map(|name| format!("book/src/{name}")).collect()
}

/// All documents that name files of the tree.
fn documents() -> impl Iterator<Item = String> {
    DOCUMENTS.iter().map(|document| (*document).to_owned()).chain(chapters())
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Every Rust file below the two folders of crates, and of the Python package.
fn sources() -> Vec<PathBuf> {
    let folders = ["optimizer", "oracles", "python/src"].map(|folder| root().join(folder));
    let (mut found, mut folders) = (Vec::new(), folders.to_vec());
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            match path.is_dir() {
                true if name(&path) != "target" => folders.push(path),
                false if name(&path).ends_with(".rs") => found.push(path),
                _ => {}
            }
        }
    }
    assert!(found.len() > 300, "{} files", found.len());
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn nothing_stray_lies_in_the_root() {
    let stray: Vec<PathBuf> = entries(&root())
        .into_iter()
        .filter(|path| !name(path).starts_with('.') && !ROOT.contains(&name(path)))
        .collect();
    assert!(stray.is_empty(), "remove it, or say in `ROOT` why it is there: {stray:?}");
}

#[test]
fn no_line_is_too_wide() {
    let mut wide = Vec::new();
    for path in sources() {
        let text = read(&path);
        let is_literal = |line: &str| line.contains(['"', '\\']) && !line.trim_start().starts_with("//");
        let is_wide = |line: &str| line.chars().count() > WIDTH && !is_literal(line);
        let lines = text.lines().enumerate().filter(|(_, line)| is_wide(line));
        wide.extend(lines.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
    }
    assert!(wide.is_empty(), "{} lines have more than {WIDTH} characters:\n{}", wide.len(), wide.join("\n"));
}

/// Of what is indented behind an empty line of a comment rustdoc makes a test, which `cargo test` compiles and runs.
#[test]
fn figures_in_comments_are_no_tests() {
    let mut found = Vec::new();
    for path in sources() {
        let (text, mut fenced, mut opens) = (read(&path), false, false);
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let comment = ["//!", "///"].iter().find_map(|mark| line.strip_prefix(mark));
            fenced ^= comment.is_some_and(|comment| comment.trim_start().starts_with("```"));
            let indented = comment.is_some_and(|comment| comment.starts_with("     "));
            if opens && indented && !fenced {
                found.push(format!("{}:{}", path.display(), at + 1));
            }
            opens = comment.is_some_and(str::is_empty);
        }
    }
    assert!(found.is_empty(), "put it between ```text and ```:\n{}", found.join("\n"));
}

/// Whether the module that a file is comes from the file that should declare it.
fn is_declared(path: &Path) -> bool {
    let folder = path.parent().expect("a file lies in a folder");
    // `a/mod.rs` is declared beside `a`, `a/b.rs` in `a/mod.rs`, `a.rs` or a root in `a`.
    let (name, place) = match stem(path) {
        "mod" => (stem(folder).to_owned(), folder.parent().expect("a module has a parent")),
        stem => (stem.to_owned(), folder),
    };
    let beside = place.with_extension("rs");
    let declaring = ["mod.rs", "lib.rs", "main.rs"].map(|file| place.join(file)).into_iter().chain([beside]);
    let declarations = [format!("mod {name};"), format!("mod {name} {{")];
    let texts: Vec<String> = declaring.filter(|file| file.is_file()).map(|file| read(&file)).collect();
    texts.iter().any(|text| declarations.iter().any(|declaration| text.contains(declaration)))
}

#[test]
fn every_source_is_declared() {
    let is_root = |path: &Path| {
        let folder = path.parent().map(name).unwrap_or_default();
        ["lib", "main"].contains(&stem(path))
            || ["tests", "benches"].contains(&folder) && !path.components().any(|part| part.as_os_str() == "src")
    };
    let in_sources = |path: &Path| path.components().any(|part| part.as_os_str() == "src");
    let dead: Vec<PathBuf> =
        sources().into_iter().filter(|path| in_sources(path) && !is_root(path) && !is_declared(path)).collect();
    assert!(dead.is_empty(), "no module declares these files: {dead:?}");
}

/// The paths of the tree that a text names in backticks: those that begin with one of its folders.
fn named_paths(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        ["optimizer/", "oracles/", "corpus/", "fuzz/", "ci/", "python/", "examples/", "book/"]
            .iter()
            .any(|folder| word.starts_with(folder))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
            && !["NAME", "TARGET"].iter().any(|placeholder| word.contains(placeholder))
    };
    words.filter(is_path).map(str::to_owned).collect()
}

#[test]
fn documents_name_files_that_exist() {
    let mut missing = Vec::new();
    let mut count = 0;
    for document in documents() {
        for path in named_paths(&read(&root().join(&document))) {
            count += 1;
            if !root().join(&path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(count > 30, "{count} paths are named");
    assert!(missing.is_empty(), "documents name what does not exist:\n{}", missing.join("\n"));
}

/// The item that a piece of code in a text is about, if it names one by its path (`check::judge`) or calls it as a
/// method (`cx.rewrite(rule)`).
fn named_item(code: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let path = &code[..code.find(|c: char| !is_name(c) && c != ':' && c != '.').unwrap_or(code.len())];
    let is_call = path.contains('.') && code[path.len()..].starts_with('(') && !path.starts_with('.');
    let placeholder = path == "module::function";
    let item = path.trim_end_matches(':').rsplit([':', '.']).next()?;
    ((path.contains("::") || is_call) && !placeholder && !item.is_empty()).then_some(item)
}

/// Phrases of which a plainer one exists, with how often comments and documents may have them; the counts only fall.
const PHRASES: &[(&str, usize)] =
    &[("stands ", 187), ("goes on", 13), ("go on ", 4), ("/// What ", 1230), ("//! What ", 122)];

/// By how much a count may be below its number.
const SLACK: usize = 20;

/// The comments of the sources, and the documents.
fn prose() -> Vec<String> {
    let comments = sources().into_iter().map(|path| {
        let text = read(&path);
        text.lines().filter(|line| line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
    });
    comments.chain(documents().map(|path| read(&root().join(path)))).collect()
}

/// A sentence begins with its subject, and a thing *is* somewhere: a phrase that is taken out stays out.
#[test]
fn prose_gets_plainer() {
    let prose = prose();
    let mut wrong = Vec::new();
    for (phrase, most) in PHRASES {
        let count: usize = prose.iter().map(|text| text.matches(phrase).count()).sum();
        // Some may go without a new number here.
        if !(most.saturating_sub(SLACK)..=*most).contains(&count) {
            wrong.push(format!("`{phrase}`: {count}, and PHRASES says {most}"));
        }
    }
    assert!(wrong.is_empty(), "write it plainly, or lower the number where there are fewer:\n{}", wrong.join("\n"));
}

/// A chapter that the introduction does not name is in no book, and no test executes its commands.
#[test]
fn the_introduction_names_every_chapter() {
    let contents = read(&root().join("book/src/introduction.md"));
    let reference = entries(&root().join("book/src/reference"));
    let reference = reference.iter().map(|path| format!("book/src/reference/{}", name(path)));
    for chapter in chapters().into_iter().chain(reference).filter(|chapter| !chapter.ends_with("introduction.md")) {
        let file = chapter.trim_start_matches("book/src/");
        assert!(contents.contains(&format!("]({file})")), "{chapter} is missing");
    }
}

/// The code map is read whole: a paragraph of at most ten lines says what a crate is for. `ci/map` names the files.
#[test]
fn the_code_map_is_short() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let map = text.split_once("## Code map: the program being tested").expect("there is a code map").1;
    let map = map.split_once("## Cross-cutting").expect("it ends").0;
    let paragraphs: Vec<&str> = map.split("\n\n").filter(|paragraph| !paragraph.starts_with('-')).collect();
    assert!(paragraphs.iter().filter(|paragraph| paragraph.starts_with("**`")).count() >= 14, "a crate has none");
    for paragraph in paragraphs {
        assert!(paragraph.lines().count() <= 10, "this is too long:\n{paragraph}");
        assert!(!paragraph.contains(".rs`"), "a file is named:\n{paragraph}");
    }
}

#[test]
fn documents_name_items_that_exist() {
    let text: String = sources().iter().map(|path| read(path)).collect();
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let declares = |word: &str| ["fn", "mod", "struct", "enum", "trait", "type", "const"].contains(&word);
    let declared: BTreeSet<&str> = words.windows(2).filter(|pair| declares(pair[0])).map(|pair| pair[1]).collect();
    let (mut missing, mut count) = (Vec::new(), 0);
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(&root().join(document));
        for item in text.split('`').skip(1).step_by(2).filter_map(named_item) {
            count += 1;
            if !declared.contains(item) {
                missing.push(format!("{document}: {item}"));
            }
        }
    }
    assert!(count > 25, "{count} items are named");
    assert!(missing.is_empty(), "documents name what does not exist:\n{}", missing.join("\n"));
}

/// A fault whose text is not there any more would be planted nowhere, and all are planted at once: what one changes
/// must not be what another one is found by, unless both are about the same expression.
#[test]
fn planted_faults_have_a_place() {
    let (mut lost, mut count) = (Vec::new(), 0);
    let mut places: BTreeMap<PathBuf, BTreeMap<usize, (usize, String)>> = BTreeMap::new();
    for row in read(&root().join("ci/mutants.txt")).lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let (file, rest) = row.split_once(" :: ").unwrap_or_else(|| panic!("no file: {row}"));
        let (right, _) = rest.split_once(" ==> ").unwrap_or_else(|| panic!("nothing to plant: {row}"));
        count += 1;
        let path = root().join("optimizer").join(file);
        let text = right.replace(['⟦', '⟧'], "");
        let source = if path.is_file() { read(&path) } else { String::new() };
        let found: Vec<usize> = source.match_indices(&text).map(|(at, _)| at).collect();
        let [at] = found[..] else {
            lost.push(row.to_owned());
            continue;
        };
        let others = places.entry(path).or_default();
        let (before, behind) = (others.range(..at).next_back(), others.range(at..).next());
        let overlaps = before.is_some_and(|(_, (end, _))| *end > at)
            || behind.is_some_and(|(start, (_, other))| *start < at + text.len() && other != right);
        match overlaps && !file.ends_with(".rules") {
            true => lost.push(row.to_owned()),
            false => drop(others.insert(at, (at + text.len(), right.to_owned()))),
        }
    }
    assert!(count > 80, "{count} faults");
    assert!(lost.is_empty(), "these do not stand once in their files, or overlap with others:\n{}", lost.join("\n"));
}

/// The arguments of a type that begins with `Result<`, between its brackets, with commas of inner types left out.
fn result_arguments(text: &str) -> Vec<String> {
    let (mut depth, mut arguments) = (0, vec![String::new()]);
    for c in text.chars() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' if depth == 0 => break,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => arguments.push(String::new()),
            _ => {}
        }
        if depth > 0 || c != ',' {
            arguments.last_mut().expect("there is one from the start").push(c);
        }
    }
    arguments.iter().map(|argument| argument.trim().to_owned()).collect()
}

/// Tests may: their errors are messages for people.
#[test]
fn no_error_is_a_text() {
    let in_sources = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "src");
    let is_text = |arguments: &Vec<String>| match &arguments[..] {
        [_, error] => ["String", "&str", "&'static str"].contains(&error.as_str()),
        _ => false,
    };
    let has_texts = |path: &PathBuf| read(path).split("Result<").skip(1).map(result_arguments).any(|it| is_text(&it));
    let texts: Vec<PathBuf> = sources().into_iter().filter(in_sources).filter(has_texts).collect();
    assert!(texts.is_empty(), "errors are types, which callers can tell apart: {texts:?}");
}

/// A row of the table of crates in ARCHITECTURE.md.
struct CrateRow {
    name: String,
    folder: String,
    knows: BTreeSet<String>,
}

/// The rows of the table, from the crate that knows nothing of ours on.
fn crate_rows() -> Vec<CrateRow> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
        let [_, name, folder, knows, ..] = &cells[..] else { panic!("{line}") };
        let knows = names(knows).iter().map(|known| format!("oriole-{known}")).collect();
        CrateRow { name: names(name).concat(), folder: names(folder).concat(), knows }
    };
    text.lines().filter(|line| line.starts_with("| `oriole")).map(row).collect()
}

/// Every crate of ours that a manifest names, by the section that does: `dependencies`, `dev-dependencies` and others,
/// for all machines or for some.
fn dependencies(manifest: &toml::Table) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (section, content) in manifest {
        let Some(content) = content.as_table() else { continue };
        if section == "target" {
            for (section, names) in content.values().filter_map(toml::Value::as_table).flat_map(dependencies) {
                found.entry(section).or_default().extend(names);
            }
        } else if section.ends_with("dependencies") {
            let package = |value: &toml::Value| value.get("package").and_then(toml::Value::as_str).map(str::to_owned);
            let names = content.iter().map(|(name, value)| package(value).unwrap_or_else(|| name.clone()));
            let ours = names.filter(|name| name == "oriole" || name.starts_with("oriole-"));
            found.entry(section.clone()).or_default().extend(ours);
        }
    }
    found
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    read(&path).parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn crates_know_whom_the_architecture_says() {
    let rows = crate_rows();
    let workspace = manifest(".");
    let members = workspace["workspace"]["members"].as_array().expect("a list of folders");
    let members: BTreeSet<&str> = members.iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(members, rows.iter().map(|row| row.folder.as_str()).collect(), "the table has a row for each crate");
    let mut above = BTreeSet::new();
    for CrateRow { name, folder, knows } in &rows {
        let manifest = manifest(folder);
        assert_eq!(manifest["package"]["name"].as_str(), Some(name.as_str()), "{folder}");
        let dependencies = dependencies(&manifest);
        let known = dependencies.get("dependencies").cloned().unwrap_or_default();
        assert_eq!(known, *knows, "{folder}/Cargo.toml and the table differ about what {name} knows");
        let all: BTreeSet<String> = dependencies.into_values().flatten().collect();
        assert!(all.is_subset(&above), "{name} depends on what stands below it: {:?}", all.difference(&above));
        above.insert(name.clone());
    }
}

/// An oracle that shares an evaluator or an analysis with the optimizer shares its bugs, in tests too.
#[test]
fn no_oracle_below_the_check_reaches_the_optimizer() {
    let rows = crate_rows();
    let mut reached: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for CrateRow { name, folder, .. } in &rows {
        let direct: BTreeSet<String> = dependencies(&manifest(folder)).into_values().flatten().collect();
        // The rows above are done, and nobody depends on a row below.
        let further = direct.iter().filter_map(|known| reached.get(known)).flatten().cloned().collect();
        reached.insert(name.clone(), &direct | &further);
    }
    for below in
        ["ir", "ptx", "rules", "sass", "launch", "semantics", "interp", "machine", "reference", "proof", "generate"]
    {
        let reached = &reached[&format!("oriole-{below}")];
        for room in ["pass", "phases", "passes", "optimizer"] {
            assert!(!reached.contains(&format!("oriole-{room}")), "oriole-{below} reaches {room} through {reached:?}");
        }
    }
}

/// The names behind `crate::` in a source, and behind as many `super::` as lead from it to the root of its crate; `{`
/// where a list follows.
fn names_from_the_root(text: &str, depth: usize) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '{';
    let behind = |prefix: &str| text.match_indices(prefix).map(|(at, found)| at + found.len()).collect::<Vec<_>>();
    let places = behind("crate::").into_iter().chain(behind(&"super::".repeat(depth)));
    places.map(|at| text[at..].split(|c| !is_name(c)).next().unwrap_or_default()).collect()
}

/// A family of phases is a folder, or a file, of the crate. What two of them use is in a room below both.
#[test]
fn no_phase_imports_another_family() {
    let folder = root().join("optimizer/phases/src");
    let families: BTreeSet<String> = entries(&folder).iter().map(|path| stem(path).to_owned()).collect();
    assert!(families.len() > 15, "{families:?}");
    let mut wrong = Vec::new();
    for path in sources().into_iter().filter(|path| path.starts_with(&folder)) {
        let inside: Vec<&Path> = path.strip_prefix(&folder).expect("it lies there").iter().map(Path::new).collect();
        let family = stem(inside[0]);
        let depth = inside.len() - usize::from(stem(&path) == "mod");
        let text = read(&path);
        let others = names_from_the_root(&text, depth).into_iter().filter(|name| *name != family);
        let is_import = |name: &&str| name.starts_with('{') || families.contains(*name);
        wrong.extend(others.filter(is_import).map(|other| format!("{}: `{other}`", path.display())));
    }
    assert!(wrong.is_empty(), "move what they share to optimizer/pass/src/engine or edit:\n{}", wrong.join("\n"));
    for (passes, phases) in [("passes", "phases"), ("phases", "passes")] {
        let known = dependencies(&manifest(&format!("optimizer/{passes}"))).into_values().flatten();
        assert!(!known.collect::<BTreeSet<_>>().contains(&format!("oriole-{phases}")), "{passes} know {phases}");
    }
}
