//! The book: its reference chapters are made of the rows that everything derives from, its links lead somewhere, the
//! papers that it names are those that the sources cite, and mdBook builds it without a warning.
//!
//! `ORIOLE_BLESS=1 cargo test -p oriole --test it book::` writes the reference chapters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_check::inject::{CODE_KINDS, ENDLESS_KINDS, KINDS};
use oriole_check::reduce::mutators::MUTATORS;
use oriole_generate::mutate::Edit;
use oriole_ir::ops::{Field, FieldSpec, Flags, ROWS};
use oriole_optimizer::codegen::slot::{Kind, SLOTS, Slot};
use oriole_optimizer::pass::knobs::{KNOBS, KnobRow, Knobs};
use oriole_optimizer::pass::{Parameter, PassOption, Row};
use oriole_optimizer::pipeline::constraints::CONSTRAINTS;
use oriole_optimizer::pipeline::gates::GATES;
use oriole_optimizer::pipeline::nvopt::consumers;
use oriole_optimizer::pipeline::table::{NESTS, NVOPT, PASSES, PHASES, SUB_PASSES};
use oriole_sass::row::Sms;
use oriole_sass::table;

/// Where the chapters are that nobody writes.
const REFERENCE: &str = "book/src/reference";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text in a cell: nothing in it ends the cell, and nothing outside of code is taken for HTML.
fn cell(text: &str) -> String {
    let mut is_code = false;
    let escaped = text.chars().map(|c| match c {
        '`' => {
            is_code = !is_code;
            "`".to_owned()
        }
        '|' => "\\|".to_owned(),
        '<' if !is_code => "&lt;".to_owned(),
        '\n' => " ".to_owned(),
        c => c.to_string(),
    });
    escaped.collect()
}

/// A text in a cell as code; a dash for none.
fn code(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// A chapter under construction.
struct Chapter(String);

impl Chapter {
    fn new(title: &str, about: &str) -> Chapter {
        Chapter(format!("# {title}\n\n{about}\n"))
    }

    fn section(&mut self, title: &str, about: &str) {
        write!(self.0, "\n## {title}\n\n{about}\n").expect("a string takes all");
    }

    fn table<const N: usize>(&mut self, titles: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let line = |cells: &[String; N]| format!("| {} |\n", cells.join(" | "));
        self.0 += "\n";
        self.0 += &line(&titles.map(str::to_owned));
        self.0 += &line(&titles.map(|_| "---".to_owned()));
        rows.into_iter().for_each(|cells| self.0 += &line(&cells));
    }
}

fn phases() -> Chapter {
    let about = "The phases of ptxas in the order in which they run. `oriole phases` prints the same; a number, a name or \
                 a token addresses a phase. \"planned\" phases are known and never run.";
    let mut chapter = Chapter::new("Phases", about);
    let phase = |row: &Row| {
        let tokens = row.tokens.iter().map(|token| code(token)).collect::<Vec<_>>().join(" ");
        let number = row.number.map_or("-".to_owned(), |number| number.to_string());
        let from = format!("-O {}", row.min_opt_level);
        let (stage, status) = (row.stage.to_string(), cell(&row.status().to_string()));
        [number, code(row.name), stage, status, from, tokens, cell(&row.document()), cell(row.doc)]
    };
    let titles = ["number", "phase", "stage", "status", "from", "tokens", "document", "what it does"];
    chapter.table(titles, PHASES.iter().map(phase));
    chapter.section("Steps inside phases", "Those that a token of their own addresses.");
    let step = |row: &oriole_optimizer::pipeline::table::SubPassRow| {
        [code(row.name), code(row.inside), cell(&row.source.to_string()), cell(row.doc)]
    };
    chapter.table(["step", "inside", "document", "what it does"], SUB_PASSES.iter().map(step));
    chapter
        .section("Order", "What must come before what, with the reason; a test holds the table of phases against it.");
    let constraint = |row: &oriole_optimizer::pipeline::constraints::Constraint| {
        [code(row.before.row().name), code(row.after.row().name), cell(row.reason)]
    };
    chapter.table(["before", "after", "because"], CONSTRAINTS.iter().map(constraint));
    chapter
}

fn passes() -> Chapter {
    let about = "The passes of cicc, in the order of their document. `--passes` takes them by name, with arguments in \
                 angle brackets and nests; `oriole phases --cicc` prints the same.";
    let mut chapter = Chapter::new("Passes", about);
    let pass = |row: &Row| {
        let arguments = row.parameters.iter().map(Parameter::to_string).collect::<Vec<_>>().join(";");
        let (unit, status) = (row.unit.to_string(), cell(&row.status().to_string()));
        [code(row.name), code(&arguments), unit, status, cell(&row.document()), cell(row.doc)]
    };
    let rows = std::iter::once(&NVOPT).chain(PASSES).chain(NESTS);
    chapter.table(["pass", "arguments", "unit", "status", "document", "what it does"], rows.map(pass));
    chapter
}

fn knobs() -> Chapter {
    let about = "`--knob NAME=VALUE` sets a knob; the spelling in ROT13 is the one of ptxas. `oriole knobs` prints the \
                 same.";
    let mut chapter = Chapter::new("Knobs and gates", about);
    let defaults = Knobs::new();
    let knob = |row: &KnobRow| {
        let index = row.index.map_or("-".to_owned(), |index| index.to_string());
        let default = code(&defaults.text_of(row.knob));
        [code(row.name), code(&row.rot13()), index, default, cell(&row.source.to_string()), cell(row.doc)]
    };
    chapter.table(["knob", "ROT13", "index", "default", "document", "what it controls"], KNOBS.iter().map(knob));
    chapter.section("Gates", "Conditions that nobody sets by name, and what decides them.");
    let gate = |row: &oriole_optimizer::pipeline::gates::GateRow| {
        let decided = cell(&row.decided.to_string());
        [code(row.name), cell(row.place), decided, cell(&row.source.to_string()), cell(row.doc)]
    };
    chapter.table(["gate", "in ptxas", "decided by", "document", "what it decides"], GATES.iter().map(gate));
    chapter
}

fn options() -> Chapter {
    let about = "The options of cicc's passes, which `--opt NAME=VALUE` sets. `oriole knobs --cicc` prints the same.";
    let mut chapter = Chapter::new("Options of passes", about);
    let option = |option: PassOption| {
        let row = option.row();
        let slot = row.slot.map_or("-".to_owned(), |slot| slot.to_string());
        let asked = match &consumers(option)[..] {
            [] => "-".to_owned(),
            [one] => code(one),
            [first, more @ ..] => format!("{} and {} more", code(first), more.len()),
        };
        [code(&row.key()), slot, asked, cell(&row.source.to_string()), cell(row.doc)]
    };
    chapter.table(["option", "slot", "asked by", "document", "what it controls"], PassOption::all().map(option));
    chapter
}

fn opcodes() -> Chapter {
    let about = "The opcodes of Ori at the virtual level, and those that both levels have. `oriole ops NAME` says more of \
                 one: operands, rules between fields, the first SM of each value.";
    let mut chapter = Chapter::new("Opcodes", about);
    let rows = ROWS.iter().map(|row| {
        let flags = Flags::NAMES.iter().filter(|(flag, _)| row.flags.has(*flag));
        let flags: Vec<&str> = flags.map(|(_, name)| *name).collect();
        let fields: Vec<String> =
            row.fields.iter().map(|spec: &FieldSpec| code(&format!("{:?}", spec.field))).collect();
        let level = format!("{:?}", row.level).to_lowercase();
        let ptx = row.ptx.map_or("-".to_owned(), code);
        [code(row.name), level, ptx, fields.join(" "), flags.join(", "), format!("sm_{}", row.since), cell(row.doc)]
    });
    chapter.table(["opcode", "level", "PTX", "fields", "flags", "since", "what it does"], rows);
    chapter
}

fn fields() -> Chapter {
    let about = "The modifiers that instructions carry, with the number that ptxas has for each, and their values in the \
                 spelling of Ori and PTX. An opcode takes those of its row.";
    let mut chapter = Chapter::new("Fields", about);
    let rows = Field::ALL.iter().map(|field| {
        let users = ROWS.iter().filter(|row| row.fields.iter().any(|spec| spec.field == *field)).count();
        let values: Vec<String> = field.value_names().iter().map(|name| code(name)).collect();
        [code(field.name()), field.id().to_string(), users.to_string(), values.join(" ")]
    });
    chapter.table(["field", "number", "opcodes that take it", "values"], rows);
    let about = "The 42 properties of instructions that ptxas's matchers ask for, with the numbers of the document and its \
                 values. Stored ones are fields, or words of the mnemonics of the machine; derived ones follow from the \
                 instruction, its operands and the SM. Values without a name have none that anybody knows.";
    chapter.section("Slots", about);
    let slot = |slot: &Slot| {
        let kind = match slot.kind() {
            Kind::Stored => "stored",
            Kind::Derived => "derived",
            Kind::NoCounterpart => "no counterpart",
        };
        let values: Vec<String> = slot.values.iter().map(|(code, name)| format!("{code} {name}")).collect();
        let values: Vec<String> = values.iter().map(|value| cell(value.trim_end())).collect();
        let fields: Vec<String> = slot.fields.iter().map(|field| code(field.name())).collect();
        let (number, doc) = (format!("`{:#x}`", slot.number), cell(slot.missing.unwrap_or(slot.doc)));
        [number, cell(slot.name), kind.to_owned(), fields.join(" "), values.join(", "), doc]
    };
    chapter.table(["slot", "in the document", "kind", "fields", "values", "what it is"], SLOTS.iter().map(slot));
    chapter
}

fn mutators() -> Chapter {
    let about = "The reducer's mutators in the order in which a round applies them: each makes a kernel or its launch \
                 simpler wherever it can, and what still shows the finding stays. [Making kernels small](../reducing.md) \
                 says how.";
    let mut chapter = Chapter::new("Mutators", about);
    let rows = MUTATORS.iter().map(|mutator| {
        let large = if mutator.removes_much { "yes" } else { "" };
        [code(mutator.name), large.to_owned(), cell(mutator.doc)]
    });
    chapter.table(["mutator", "in large parts first", "what it does"], rows);
    chapter
        .section("Mutations of the corpus", "How campaigns change kernels that somebody wrote (`--target mutants`).");
    chapter.table(["edit", "what it does"], Edit::ALL.iter().map(|edit| [code(edit.name()), cell(edit.doc())]));
    chapter
}

fn faults() -> Chapter {
    let about =
        "`--fault KIND@STEP` plants one of these behind a step, and `oriole selftest` counts how many are found.";
    let mut chapter = Chapter::new("Kinds of faults", about);
    let fault = |kind: &oriole_check::inject::Kind| [code(kind.name), cell(kind.doc)];
    chapter.table(["kind", "what goes wrong"], KINDS.iter().map(fault));
    chapter.section("In machine code", "Behind a step over the words of a cubin.");
    chapter.table(["kind", "what goes wrong"], CODE_KINDS.iter().map(fault));
    chapter.section("Without end", "What the clock and the limit of memory find.");
    chapter.table(["kind", "what goes wrong"], ENDLESS_KINDS.iter().map(fault));
    chapter
}

fn machine_rows() -> Chapter {
    let about = "The machine words that are known: a mnemonic with its opcode bits (without the form, which bits 9 to 11 \
                 are), the forms of its operands, its SMs, and what it does beside writing its results. `oriole sass` \
                 prints words; [Machine words](../machine-words.md) says how they are read.";
    let mut chapter = Chapter::new("Machine rows", about);
    let rows = table::rows().map(|row| {
        let Sms(first, last) = row.sms;
        let forms = row.forms.iter().map(|form| format!("{form:?}")).collect::<Vec<_>>().join(" ");
        let class = row.class;
        let effect = format!("{:?} {:?}, {:?}, {:?}", class.memory, class.space, class.order, class.flow);
        let plain = effect.replace("None None, Free, Next", "-");
        let sms = match (first, last) {
            (0, u16::MAX) => "all".to_owned(),
            (first, u16::MAX) => format!("from sm_{first}"),
            (0, last) => format!("to sm_{last}"),
            (first, last) if first == last => format!("sm_{first}"),
            (first, last) => format!("sm_{first} to sm_{last}"),
        };
        [code(row.name), format!("`{:#05x}`", row.opcode), forms, sms, format!("{:?}", class.pipe), plain]
    });
    chapter.table(["mnemonic", "opcode", "forms", "SMs", "pipe", "memory, order, control"], rows);
    chapter
}

/// Every chapter of the reference, by its file.
fn reference() -> BTreeMap<&'static str, String> {
    let chapters = [
        ("phases.md", phases()),
        ("passes.md", passes()),
        ("knobs.md", knobs()),
        ("pass-options.md", options()),
        ("opcodes.md", opcodes()),
        ("fields.md", fields()),
        ("mutators.md", mutators()),
        ("faults.md", faults()),
        ("machine-rows.md", machine_rows()),
    ];
    chapters.into_iter().map(|(file, chapter)| (file, chapter.0)).collect()
}

fn files_of(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a folder lists its files").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_reference_is_what_the_rows_say() {
    let (folder, chapters) = (root().join(REFERENCE), reference());
    if std::env::var_os("ORIOLE_BLESS").is_some() {
        std::fs::create_dir_all(&folder).expect("the book is writable");
        chapters.iter().for_each(|(file, text)| std::fs::write(folder.join(file), text).expect("it is writable"));
    }
    let bless = "`ORIOLE_BLESS=1 cargo test -p oriole --test it book::` writes it anew";
    assert_eq!(files_of(&folder), chapters.keys().map(|&file| file.to_owned()).collect(), "{bless}");
    for (file, text) in chapters {
        let found = read(&folder.join(file));
        let differs = found.lines().zip(text.lines()).position(|(found, right)| found != right);
        assert!(found == text, "{REFERENCE}/{file} is not what the rows say from line {differs:?} on: {bless}");
        // A cell that ends early, or a title without cells, would be a table of another shape.
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let counts: BTreeSet<usize> = block.lines().map(bars).collect();
            assert_eq!(counts.len(), 1, "{file}: {block}");
            assert!(block.lines().count() > 2, "{file}: a table without rows");
        }
    }
}

/// The documents whose links must lead somewhere.
fn documents() -> Vec<PathBuf> {
    let own = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "corpus/README.md", "fuzz/README.md"];
    let own = own.into_iter().chain(["optimizer/rules/README.md", "python/README.md"]).map(|path| root().join(path));
    let chapters = ["book/src", REFERENCE].map(|folder| root().join(folder));
    let chapters = chapters.iter().flat_map(|folder| files_of(folder).into_iter().map(move |file| folder.join(file)));
    own.chain(chapters.filter(|path| path.extension().is_some_and(|ending| ending == "md"))).collect()
}

/// A document without its blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let keep = |line: &&str| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    };
    text.lines().filter(keep).collect::<Vec<_>>().join("\n")
}

/// The name of a heading in links, as GitHub and mdBook have it.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of links, without what is between backticks.
fn links(text: &str) -> Vec<String> {
    let plain: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    plain.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut lost, mut count) = (Vec::new(), 0);
    for document in documents() {
        let text = prose(&read(&document));
        for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
            count += 1;
            let (file, place) = link.split_once('#').map_or((&link[..], None), |(file, place)| (file, Some(place)));
            let target = match file {
                "" => document.clone(),
                file => document.parent().expect("it lies in a folder").join(file),
            };
            let has = |place: &str| {
                let text = read(&target);
                prose(&text).lines().any(|line| line.starts_with('#') && slug(line.trim_start_matches('#')) == place)
            };
            if !target.exists() || place.is_some_and(|place| !has(place)) {
                lost.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(count > 60, "{count} links");
    assert!(lost.is_empty(), "these lead nowhere:\n{}", lost.join("\n"));
    assert_eq!(links("[a](b.md) `[c](d)` [e](f#g)"), ["b.md", "f#g"]);
    assert_eq!(slug(" A phase: `gvn`, twice"), "a-phase-gvn-twice");
}

/// The comments of all sources, in one line each file.
fn comments() -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join("optimizer"), root().join("oracles")]);
    while let Some(folder) = folders.pop() {
        for name in files_of(&folder) {
            let path = folder.join(&name);
            match path.is_dir() {
                true if name != "target" => folders.push(path),
                false if name.ends_with(".rs") => {
                    let text = read(&path);
                    let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with("//"));
                    let words: Vec<&str> =
                        lines.flat_map(|line| line.trim_start_matches(['/', '!']).split_whitespace()).collect();
                    found.push(words.join(" "));
                }
                _ => {}
            }
        }
    }
    found
}

/// The chapter on sources names what the code cites, by the title that it is cited by.
#[test]
fn papers_are_cited_where_they_are_used() {
    let chapter = read(&root().join("book/src/sources.md"));
    let titles: Vec<&str> =
        chapter.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split('"').nth(1)).collect();
    assert!(titles.len() >= 20, "{} papers", titles.len());
    let comments = comments();
    let missing: Vec<&&str> =
        titles.iter().filter(|title| !comments.iter().any(|text| text.contains(**title))).collect();
    assert!(missing.is_empty(), "no source cites {missing:?}");
}

/// mdBook knows what no other test does: whether it can read the chapters at all.
#[test]
fn the_book_builds_without_warnings() {
    let script = root().join("ci/book");
    let folder = tempfile::tempdir().expect("a temporary folder");
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!("skipped: no mdbook (cargo install mdbook)");
        return;
    }
    let output = Command::new(script).env("BOOK", folder.path()).output().expect("the script runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    assert!(folder.path().join("reference/phases.html").is_file(), "{said}");
    // What leads out of the book leads nowhere in it: chapters name files of the tree as code.
    let mut lost = Vec::new();
    for page in ["", "reference"].map(|place| folder.path().join(place)) {
        for file in files_of(&page).into_iter().filter(|file| file.ends_with(".html")) {
            let text = read(&page.join(&file));
            let targets = text.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
            let own = targets.filter(|target| !target.is_empty() && !target.contains(':'));
            lost.extend(own.filter(|target| !page.join(target).exists()).map(|target| format!("{file}: {target}")));
        }
    }
    assert!(lost.is_empty(), "{lost:?}");
}
