//! The table of operands that ptxas takes (`oriole_check::trip::operands`): where ptxas is, it is made again and
//! compared; everywhere, what is printed of generated kernels and of the corpus keeps to it, and a wrong operand is
//! noticed. `ORIOLE_BLESS=1` writes the table.

#[allow(dead_code, reason = "other tests compile, too")]
#[path = "../../../../optimizer/tests/it/common/rows.rs"]
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use oriole_check::input::read_kernel;
use oriole_check::target_of;
use oriole_check::trip::operands::{self, Allowed, Instruction, Kinds, TABLE};
use oriole_generate::{Config, Entropy, from_seed, single};
use oriole_ir::ops::ROWS;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

use crate::common;

/// Generated kernels that are held against the table, of each kind.
const KERNELS: u64 = 1000;
/// Combinations of a row among which its variants are looked for.
const COMBINATIONS: u64 = 20_000;
/// Variants of an instruction that are tried.
const VARIANTS: usize = 4;
/// Lines that ptxas reads at once.
const LINES: usize = 4000;
/// No code: the text is read, for whatever target it names.
const READ: [&str; 2] = ["-arch=compute_121", "-O0"];
/// What stands in for an operand of each kind; it is enough that ptxas takes one of a list: there are sizes, alignments
/// and numbers of barriers.
const STAND_INS: [&[&str]; 4] = [&["1", "16", "128"], &["0f3F800000"], &["0d3FF0000000000000"], &[SYMBOL]];
/// A variable of global memory, and the other spaces that have one.
const SYMBOL: &str = "symbol";
const OTHERS: [&str; 3] = ["shared", "const", "local"];

/// A line of PTX in terms of few registers, with what it needs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sample {
    target: String,
    line: String,
}

/// A line with its registers counted anew, in the order in which they stand.
fn renumbered(line: &str) -> String {
    let (mut names, mut out, mut rest) = (Vec::new(), String::new(), line);
    while let Some(at) = rest.find('%') {
        let length = rest[at + 1..].find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len() - at - 1);
        let name = &rest[at..at + 1 + length];
        out.push_str(&rest[..at]);
        let letters = name.trim_end_matches(|digit: char| digit.is_ascii_digit()).trim_start_matches("%x");
        let letters = letters.trim_start_matches('%');
        if letters.len() == 1 && letters.len() + 1 < name.len() {
            let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let _ = write!(out, "%{letters}{number}");
        } else {
            out.push_str(name);
        }
        rest = &rest[at + 1 + length..];
    }
    out + rest
}

/// What the printer writes for more than one row, or with what only whole kernels have.
fn others() -> Vec<String> {
    let moves = ["mov.u32 %r0, %r1;", "mov.u64 %d0, %d1;", "mov.b16 %h0, %h1;", "barrier.sync.aligned %r0;"];
    let types = [("u32", 'r'), ("s32", 'r'), ("u64", 'd'), ("s64", 'd')];
    let carries = types.into_iter().flat_map(|(ty, reg)| {
        let sums = ["add.cc", "addc.cc", "sub.cc", "subc.cc"].map(|op| format!("{op}.{ty} %{reg}0, %{reg}1, %{reg}2;"));
        let products = ["mad.lo.cc", "madc.lo.cc", "madc.hi.cc"]
            .map(|op| format!("{op}.{ty} %{reg}0, %{reg}1, %{reg}2, %{reg}3;"));
        sums.into_iter().chain(products)
    });
    moves.map(str::to_owned).into_iter().chain(carries).collect()
}

/// Samples of each instruction: the opcode table's rows over their legal combinations, of which some variants stand for
/// all. So the table depends on nothing that is drawn.
fn samples() -> BTreeMap<String, Vec<Sample>> {
    let mut found: BTreeMap<String, BTreeMap<String, Sample>> = BTreeMap::new();
    let mut add = |target: &str, line: &str| {
        let Some(instruction) = Instruction::read(line) else { return };
        let mnemonic = line.split(' ').next().unwrap_or_default().to_owned();
        let sample = Sample { target: target.to_owned(), line: renumbered(line) };
        found.entry(instruction.key).or_default().entry(mnemonic).or_insert(sample);
    };
    others().iter().for_each(|line| add("sm_90", line));
    for row in ROWS.iter().filter(|row| rows::is_tried(row)) {
        let (module, _) = rows::kernel(row, &rows::combinations(row, COMBINATIONS));
        // What one SM alone has would have to be compiled for it, which takes long.
        if module.target.ends_with('a') {
            continue;
        }
        let text = ptx::emit(&ssa::destructed(&module)).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        text.lines().for_each(|line| add(&module.target, line.trim()));
    }
    let some = |variants: BTreeMap<String, Sample>| {
        let step = variants.len().div_ceil(VARIANTS);
        variants.into_values().step_by(step).collect()
    };
    found.into_iter().map(|(key, variants)| (key, some(variants))).collect()
}

/// A line with one operand, or the part of it that tells its kind, replaced.
fn replaced(line: &str, position: usize, by: &str) -> Option<String> {
    let instruction = Instruction::read(line)?;
    let operand = *instruction.operands.get(position)?;
    let space = OTHERS.iter().find(|space| line.contains(&format!(".{space}")));
    let changed = match operand.chars().next()? {
        '[' => return None,
        _ if by == SYMBOL && line.contains(".param") => return None,
        '{' => {
            let end = operand.find([',', '}'])?;
            format!("{{{by}{}", &operand[end..])
        }
        _ if by == SYMBOL => space.map_or_else(|| by.to_owned(), |space| format!("{by}_{space}")),
        _ => by.to_owned(),
    };
    let start = operand.as_ptr() as usize - line.as_ptr() as usize;
    Some(format!("{}{changed}{}", &line[..start], &line[start + operand.len()..]))
}

/// Which lines ptxas takes. A syntax error may hide what follows it, so it is asked until it has no complaint.
fn taken<'l>(tool: &Path, target: &str, lines: &[&'l String]) -> Vec<&'l String> {
    let mut left = lines.to_vec();
    loop {
        let registers: String = [("p", "pred"), ("h", "b16"), ("r", "b32"), ("d", "b64"), ("q", "b128")]
            .map(|(letter, ty)| format!("\t.reg .{ty} %{letter}<600>;\n"))
            .concat();
        let [shared, constant, local] = OTHERS.map(|space| format!(".{space} .align 16 .b8 {SYMBOL}_{space}[64];\n"));
        let head = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.global .align 16 .b8 {SYMBOL}[64];\n{shared}\
             {constant}.visible .entry k()\n{{\n{local}{registers}"
        );
        let body: String = left.iter().map(|line| format!("\t{line}\n")).collect();
        let text = format!("{head}{body}\tret;\n}}\n");
        let Ok(complaints) = common::complaints(tool, &READ, "operands", &text) else {
            // One line that it crashes on is not taken.
            let (some, others) = left.split_at(left.len() / 2);
            let parts = [some, others].map(|part| if left.len() > 1 { taken(tool, target, part) } else { Vec::new() });
            return parts.concat();
        };
        let before = head.lines().count() + 1;
        let wrong: BTreeSet<usize> = complaints.keys().filter_map(|line| line.checked_sub(before)).collect();
        if wrong.is_empty() {
            assert!(complaints.is_empty(), "{complaints:?}");
            return left;
        }
        left = left.into_iter().enumerate().filter(|(at, _)| !wrong.contains(at)).map(|(_, line)| line).collect();
    }
}

/// A sample, and the lines that have something of one kind at one place of it instead.
struct Trial {
    sample: Sample,
    replaced: Vec<(usize, Vec<String>)>,
}

impl Trial {
    fn new(sample: &Sample) -> Trial {
        let count = Instruction::read(&sample.line).map_or(0, |instruction| instruction.operands.len());
        let lines = |position, list: &[&str]| -> Vec<String> {
            list.iter().filter_map(|by| replaced(&sample.line, position, by)).collect()
        };
        let at = |position| STAND_INS.iter().map(move |list| (position, lines(position, list)));
        let replaced = (0..count).flat_map(at).filter(|(_, lines)| !lines.is_empty()).collect();
        Trial { sample: sample.clone(), replaced }
    }

    fn lines(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.sample.line).chain(self.replaced.iter().flat_map(|(_, lines)| lines))
    }
}

fn kinds(line: &str) -> Kinds {
    Instruction::read(line).map(|instruction| instruction.kinds()).unwrap_or_default()
}

/// The table, by ptxas.
fn asked(tool: &Path) -> String {
    let trials: BTreeMap<String, Vec<Trial>> =
        samples().into_iter().map(|(key, samples)| (key, samples.iter().map(Trial::new).collect())).collect();
    let mut lines: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
    for trial in trials.values().flatten() {
        lines.entry(&trial.sample.target).or_default().extend(trial.lines());
    }
    let mut accepted: BTreeSet<(&str, &String)> = BTreeSet::new();
    for (target, lines) in &lines {
        let lines: Vec<&String> = lines.iter().copied().collect();
        for some in lines.chunks(LINES) {
            accepted.extend(taken(tool, target, some).into_iter().map(|line| (*target, line)));
        }
    }
    let rows = trials.iter().filter_map(|(key, trials)| Some(format!("{key} {}\n", row(trials, &accepted)?)));
    rows.collect()
}

/// What the operands of an instruction may be: what ptxas takes there in some variant.
fn row(trials: &[Trial], accepted: &BTreeSet<(&str, &String)>) -> Option<String> {
    let takes = |trial: &Trial, line: &String| accepted.contains(&(trial.sample.target.as_str(), line));
    let trials: Vec<&Trial> = trials.iter().filter(|trial| takes(trial, &trial.sample.line)).collect();
    let mut allowed = vec![Allowed::default(); kinds(&trials.first()?.sample.line).len()];
    for trial in trials {
        for (allowed, own) in allowed.iter_mut().zip(kinds(&trial.sample.line)) {
            allowed.kinds.extend(own);
        }
        for (at, lines) in &trial.replaced {
            let Some(kind) = kinds(&lines[0])[*at].first().copied() else { continue };
            allowed[*at].tried.push(kind.0);
            if lines.iter().any(|line| takes(trial, line)) {
                allowed[*at].kinds.push(kind);
            }
        }
    }
    Some(allowed.iter().map(Allowed::to_string).collect::<Vec<_>>().join(" "))
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../check/src/trip/operands.txt")
}

#[test]
fn the_table_is_what_ptxas_takes() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas (ci/cuda-tools installs it)");
        return;
    };
    let table = asked(&tool);
    if std::env::var_os("ORIOLE_BLESS").is_some() {
        std::fs::write(file(), &table).expect("the table is writable");
        return;
    }
    let [ours, theirs] = [TABLE, &table].map(|table| table.lines().collect::<BTreeSet<&str>>());
    let differing: Vec<&&str> = ours.symmetric_difference(&theirs).collect();
    assert!(differing.is_empty(), "{} lines differ, ORIOLE_BLESS=1 writes the table:\n{differing:#?}", differing.len());
}

/// Numbers are addresses in local memory, and of maps that fences acquire, alone.
#[test]
fn absolute_addresses_are_what_ptxas_takes() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas (ci/cuda-tools installs it)");
        return;
    };
    let mut lines: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for sample in samples().into_values().flatten() {
        let Some(start) = sample.line.find('[') else { continue };
        let end = start + sample.line[start..].find(']').expect("the bracket is closed");
        let first = sample.line[start + 1..end].split(['+', ',']).next().unwrap_or_default().to_owned();
        if !first.starts_with("%d") || sample.line[start..end].contains(',') {
            continue;
        }
        let absolute = format!("{}[128{}", &sample.line[..start], &sample.line[end..]);
        let (with, without) = lines.entry(sample.target).or_default();
        without.insert(sample.line);
        with.insert(absolute);
    }
    let (mut taken_there, mut wrong) = ([0, 0], Vec::new());
    for (target, (with, without)) in &lines {
        assert!(!taken(&tool, target, &without.iter().collect::<Vec<_>>()).is_empty(), "{target}");
        let accepted: BTreeSet<&String> = taken(&tool, target, &with.iter().collect::<Vec<_>>()).into_iter().collect();
        for line in with {
            let ours = operands::refused(line).is_none();
            taken_there[usize::from(ours)] += 1;
            if accepted.contains(line) != ours {
                wrong.push(line.clone());
            }
        }
    }
    assert!(wrong.is_empty() && taken_there[0] > 100 && taken_there[1] > 0, "{taken_there:?}: {wrong:#?}");
}

/// Everything that is printed keeps to the table, which has nearly every instruction that is printed.
#[test]
fn what_is_printed_keeps_to_the_table() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let kernels = std::fs::read_dir(corpus).expect("there is a corpus").flatten().map(|entry| entry.path());
    let kernels = kernels.filter(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    let optimized = kernels.map(|path| {
        let mut module = read_kernel(&path).expect("the corpus is valid");
        ssa::construct_module(&mut module);
        let options = Options::new(target_of(&module).expect("the target is known"));
        run_passes(&Pipeline::ptxas(), &mut module, &options, &mut ()).expect("the phases run");
        ptx::emit(&ssa::destructed(&module)).expect("it prints")
    });
    let (mut known, mut unknown, mut wrong) = (0, BTreeMap::new(), Vec::new());
    let config = Config::default();
    let generated = (0..KERNELS).flat_map(|seed| {
        let one = single::instruction(seed, &mut Entropy::from_seed(seed), &config);
        [one, from_seed(seed, &config)]
    });
    let generated = generated.filter_map(|generated| ptx::emit(&ssa::destructed(&generated.module)).ok());
    for text in generated.chain(optimized) {
        wrong.extend(operands::refused(&text));
        for instruction in text.lines().filter_map(Instruction::read) {
            match operands::is_known(&instruction) {
                true => known += 1,
                false => *unknown.entry(instruction.key).or_insert(0) += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let missed: u32 = unknown.values().sum();
    assert!(known > 20_000 && missed * 100 < known, "{known} known, {missed} unknown: {unknown:?}");
}
