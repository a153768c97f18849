//! `oriole sass`: the machine words of a cubin as text, as nvdisasm prints them.
//!
//! Functions are in the file's order, each under the name of its section. Targets of branches are names of functions,
//! or labels that are numbered as nvdisasm numbers them (`symbols.rs`); labels that nothing mentions are left out.

mod document;
mod symbols;

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_check::input::{InputError, MAX_KERNEL_BYTES};
use oriole_ir::Schedule;
use oriole_ir::diagnostics::escape::escaped;
use oriole_launch::file::read_input;
use oriole_sass::cubin::{Cubin, CubinError, Function, fat, words};
use oriole_sass::encoding::known;
use oriole_sass::{Instruction, SMS, Table, WordError, ori, schedule, text};
use schemars::JsonSchema;
use serde::Serialize;
use symbols::Symbols;

pub use document::Document;
use document::{Control, FunctionItem, ParameterItem};

use crate::document as documents;
use crate::failure::{Failure, Status};
use crate::numbers::counted;

/// Bytes of a word.
const WORD_BYTES: u64 = text::WORD_BYTES;
/// Where the mnemonic follows the address; the guard ends a column before.
const MNEMONIC: usize = 19;
/// Where words and scheduling controls begin.
const COMMENT: usize = 78;
/// Reasons that are shown for words that are not known.
const SHOWN_REASONS: usize = 20;

/// Prints the machine words of a cubin as text, as nvdisasm does
///
/// A word that is not known is printed as `.word`, and the reason on standard error. Exit code 0 when every word is
/// known, 1 when one is not, 2 for a file that is no cubin.
#[derive(clap::Args)]
pub struct Args {
    /// The cubin: what `ptxas` or `nvcc -cubin` writes
    file: PathBuf,
    /// Print one function alone
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    function: Option<String>,
    /// Show the scheduling control of each word: stall, yield, barriers, wait mask
    #[arg(long)]
    control: bool,
    /// Show each word in hexadecimal
    #[arg(long)]
    hex: bool,
    /// Print functions with their instructions as JSON
    #[arg(long, conflicts_with_all = ["control", "hex"])]
    json: bool,
    /// Print functions as Ori at the machine level, which reads back
    #[arg(long, conflicts_with_all = ["control", "hex", "json", "raw"])]
    ori: bool,
    /// The file has nothing but words of this SM, 16 bytes each: 90 or sm_90
    #[arg(long, value_name = "SM", value_parser = sm)]
    raw: Option<u16>,
}

/// A text that names no SM whose words are known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the words of `{0}` are not known; those of {known} are", known = known())]
pub(super) struct NoSm(pub(super) String);

/// The number of an SM whose words are known, written as `90`, `sm_90` or `sm_90a`.
pub(super) fn sm(text: &str) -> Result<u16, NoSm> {
    let number = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
    let number = number.trim_end_matches(['a', 'f']).parse().ok();
    number.filter(|sm| SMS.contains(sm)).ok_or_else(|| NoSm(text.to_owned()))
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let unreadable = |failure| InputError::Unreadable { path: args.file.clone(), failure };
    let bytes = read_input(&args.file, MAX_KERNEL_BYTES).map_err(unreadable)?;
    let mut unknown = Unknown::default();
    match args.raw {
        Some(sm) => raw(args, sm, &bytes, &mut unknown, out)?,
        None => {
            let wrong = |error: CubinError| Failure::Input(miette!("`{}`: {error}", args.file.display()));
            if let Some(images) = fat::read(&bytes) {
                return each(args, &images, out);
            }
            let cubin = Cubin::read(&bytes).map_err(wrong)?;
            if args.ori {
                return lifted(args, &cubin, out);
            }
            let listing = Listing::new(&cubin, &args.file)?;
            let chosen = args.function.as_deref().map(|name| function(&cubin, name).map_err(wrong)).transpose()?;
            match args.json {
                true => documents::print(out, &listing.file(chosen, &mut unknown))?,
                false => listing.print(args, chosen, &mut unknown, out)?,
            }
        }
    }
    Ok(unknown.report())
}

/// Prints the cubins of a fat binary, one after the other.
fn each(args: &Args, images: &[(u32, &[u8])], out: &mut dyn Write) -> Result<Status, Failure> {
    let wrong = |error: CubinError| Failure::Input(miette!("`{}`: {error}", args.file.display()));
    if args.json || args.function.is_some() {
        let help = "`cuobjdump -xelf all` takes it apart";
        let what = "has cubins for several SMs, and --json and --function are for one";
        return Err(Failure::Input(miette!(help = help, "`{}` {what}", args.file.display())));
    }
    let mut unknown = Unknown::default();
    for (_, image) in images {
        let cubin = Cubin::read(image).map_err(wrong)?;
        match args.ori {
            true => _ = lifted(args, &cubin, out)?,
            false => Listing::new(&cubin, &args.file)?.print(args, None, &mut unknown, out)?,
        }
    }
    Ok(unknown.report())
}

/// Prints the words of a cubin that is not in a file yet, as the command does without options; `file` names it in
/// messages.
///
/// # Errors
///
/// If the words of the SM are not known.
pub fn listing(cubin: &Cubin, file: &Path, out: &mut dyn Write) -> Result<Status, Failure> {
    let args =
        Args { file: file.to_owned(), function: None, control: false, hex: false, json: false, ori: false, raw: None };
    let mut unknown = Unknown::default();
    Listing::new(cubin, file)?.print(&args, None, &mut unknown, out)?;
    Ok(unknown.report())
}

/// Prints functions as Ori. Where one is chosen, the others are there without their code, so that the text reads
/// back.
fn lifted(args: &Args, cubin: &Cubin, out: &mut dyn Write) -> Result<Status, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Input(miette!("`{}`: {error}", args.file.display()));
    let mut module = ori::module(cubin).map_err(|error| wrong(&error))?;
    if let Some(name) = &args.function {
        let chosen = function(cubin, name).map_err(|error| wrong(&error))?;
        let others = module.functions.values_mut().filter(|func| func.name != chosen.name);
        others.for_each(|func| func.set_layout(Vec::new()));
    }
    write!(out, "{module}")?;
    Ok(Status::Clean)
}

/// The function with a name.
fn function<'c>(cubin: &'c Cubin, name: &str) -> Result<&'c Function, CubinError> {
    cubin.function(name).ok_or_else(|| {
        let known: Vec<&str> = cubin.functions.iter().map(|function| function.name.as_str()).collect();
        CubinError::NoFunction { name: name.to_owned(), known: known.join(", ") }
    })
}

/// The words that are not known.
#[derive(Default)]
struct Unknown {
    count: usize,
    reasons: Vec<String>,
}

impl Unknown {
    fn add(&mut self, place: &str, address: u64, error: &WordError) {
        self.count += 1;
        if self.reasons.len() < SHOWN_REASONS {
            self.reasons.push(format!("{}+{address:#x}: {error}", escaped(place)));
        }
    }

    fn report(&self) -> Status {
        // A closed standard error takes no reasons; the exit code still says that there are some.
        self.reasons.iter().for_each(|reason| drop(writeln!(io::stderr(), "{reason}")));
        let more = self.count - self.reasons.len();
        if more > 0 {
            let verb = if more == 1 { "is" } else { "are" };
            let words = counted(more, "more word");
            drop(writeln!(io::stderr(), "and {words} that {verb} not known"));
        }
        if self.count > 0 { Status::Found } else { Status::Clean }
    }
}

/// The words of a file that has nothing else, with targets as addresses.
fn raw(args: &Args, sm: u16, bytes: &[u8], unknown: &mut Unknown, out: &mut dyn Write) -> Result<(), Failure> {
    if !bytes.len().is_multiple_of(WORD_BYTES as usize) {
        let (file, length) = (args.file.display(), bytes.len());
        let help = "a word has 16 bytes; a cubin is read without --raw";
        return Err(Failure::Input(miette!(
            help = help,
            "`{file}` has {}, which are no whole words",
            counted(length, "byte")
        )));
    }
    let table = table(sm, &args.file)?;
    let place = args.file.display().to_string();
    let lines = (0..).step_by(WORD_BYTES as usize).zip(words(bytes));
    if args.json {
        let lines = lines.map(|(address, word)| Item::new(table, address, word, &symbols::printed, Vec::new()));
        let lines: Vec<Item> = lines.collect();
        lines.iter().for_each(|line| line.note(&place, unknown));
        let target = format!("sm_{sm}");
        return Ok(documents::print(out, &Document { target, linked: false, functions: Vec::new(), words: lines })?);
    }
    for (address, word) in lines {
        let line = Item::new(table, address, word, &symbols::printed, Vec::new());
        line.note(&place, unknown);
        line.print(args, out)?;
    }
    Ok(())
}

fn table(sm: u16, file: &Path) -> Result<&'static Table, Failure> {
    Table::of(sm).ok_or_else(|| {
        let help = format!("the words of {} are known", known());
        Failure::Input(miette!(help = help, "`{}` is for sm_{sm}, whose words are not known", file.display()))
    })
}

/// A word with what is said of it.
#[derive(JsonSchema, Serialize)]
pub struct Item {
    /// Bytes from the beginning of its section.
    address: u64,
    /// The 128 bits, in hexadecimal.
    word: String,
    #[serde(flatten)]
    content: Content,
    /// What a loader writes into it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relocations: Vec<String>,
    /// The scheduling control.
    control: Control,
    #[serde(skip)]
    schedule: Schedule,
}

#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum Content {
    /// A word that is known.
    Known {
        /// As nvdisasm prints it.
        text: String,
        /// The guard.
        guard: Option<String>,
        /// The mnemonic.
        mnemonic: String,
        /// The modifiers behind it.
        modifiers: Vec<String>,
        /// The operands.
        operands: Vec<String>,
    },
    /// A word that is not known.
    Unknown {
        /// Why.
        error: String,
        #[serde(skip)]
        reason: WordError,
    },
}

/// The text of an instruction at an address.
type Texts<'a> = dyn Fn(&Instruction<'_>, u64) -> String + 'a;

impl Item {
    fn new(table: &Table, address: u64, word: u128, texts: &Texts<'_>, relocations: Vec<String>) -> Item {
        let content = match table.decode(word) {
            Ok(instruction) => Content::known(texts(&instruction, address)),
            Err(reason) => Content::Unknown { error: reason.to_string(), reason },
        };
        let schedule = schedule(word);
        let Schedule { stall, yields, write_barrier, read_barrier, wait_mask } = schedule;
        let control = Control { stall, yields, write_barrier, read_barrier, wait_mask };
        Item { address, word: format!("{word:#034x}"), content, relocations, control, schedule }
    }

    fn note(&self, place: &str, unknown: &mut Unknown) {
        if let Content::Unknown { reason, .. } = &self.content {
            unknown.add(place, self.address, reason);
        }
    }

    fn print(&self, args: &Args, out: &mut dyn Write) -> io::Result<()> {
        let word = format!(".word {}", self.word);
        let (guard, text) = match &self.content {
            Content::Known { text, guard: Some(guard), .. } => text.split_at(guard.len()),
            Content::Known { text, .. } => ("", text.as_str()),
            Content::Unknown { .. } => ("", word.as_str()),
        };
        let start = format!("        /*{:04x}*/", self.address);
        // nvdisasm has a space there if the word waits, for cycles or for barriers.
        let waits = self.schedule.stall > 0 || self.schedule.wait_mask != 0;
        // It also has one behind a number that is not finite, and behind zero with a sign.
        let is_number = !["NAN", "INF", "-0.0"].iter().any(|special| text.ends_with(special));
        let end = format!("{}{};", if is_number { "" } else { " " }, if waits { " " } else { "" });
        let line = format!("{start}{guard:>width$} {}{end}", text.trim_start(), width = MNEMONIC - 1);
        let mut comments: Vec<String> = Vec::new();
        comments.extend(args.hex.then(|| format!("/* {} */", self.word)));
        comments.extend(args.control.then(|| format!("// {}", self.schedule)));
        comments.extend(self.relocations.iter().map(|relocation| format!("// {relocation}")));
        match comments.is_empty() {
            true => writeln!(out, "{line}"),
            false => writeln!(out, "{line:<width$} {}", comments.join(" "), width = COMMENT - 1),
        }
    }
}

impl Content {
    /// The parts of a text.
    fn known(text: String) -> Content {
        let (guard, rest) = match text.split_once(' ') {
            Some((guard, rest)) if guard.starts_with('@') => (Some(guard.to_owned()), rest),
            _ => (None, text.as_str()),
        };
        let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut names = name.split('.').map(str::to_owned);
        let mnemonic = names.next().unwrap_or_default();
        let modifiers = names.collect();
        let operands = operands.split(", ").filter(|operand| !operand.is_empty()).map(str::to_owned).collect();
        Content::Known { guard, mnemonic, modifiers, operands, text }
    }
}

/// What is printed of a cubin.
struct Listing<'c> {
    cubin: &'c Cubin,
    table: &'static Table,
    symbols: Symbols<'c>,
}

impl<'c> Listing<'c> {
    fn new(cubin: &'c Cubin, file: &Path) -> Result<Listing<'c>, Failure> {
        let table = table(cubin.target.sm, file)?;
        Ok(Listing { cubin, table, symbols: Symbols::new(cubin, table) })
    }

    fn item(&self, section: usize, address: u64, word: u128) -> Item {
        let texts = |instruction: &Instruction<'_>, address| self.symbols.text(section, instruction, address);
        Item::new(self.table, address, word, &texts, self.symbols.comments(section, address))
    }

    fn print(
        &self,
        args: &Args,
        chosen: Option<&Function>,
        unknown: &mut Unknown,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        match chosen {
            Some(function) => self.print_range(args, function.section, self.cubin.own_range(function), unknown, out)?,
            None => {
                writeln!(out, "\t.target\t{}", self.cubin.target)?;
                for section in sections(self.cubin) {
                    let Section { name, size } = Section::of(self.cubin, section);
                    writeln!(out, "\n//--------------------- {:<25} --------------------------", escaped(name))?;
                    self.print_range(args, section, 0..size, unknown, out)?;
                }
            }
        }
        Ok(())
    }

    fn print_range(
        &self,
        args: &Args,
        section: usize,
        range: Range<u64>,
        unknown: &mut Unknown,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for (address, word) in section_words(self.cubin, section, range) {
            if let Some(name) = self.symbols.name(section, address) {
                writeln!(out, "{}:", escaped(name))?;
            }
            let line = self.item(section, address, word);
            line.note(Section::of(self.cubin, section).name, unknown);
            line.print(args, out)?;
        }
        Ok(())
    }

    /// The chosen function, or all, for programs.
    fn file(&self, chosen: Option<&'c Function>, unknown: &mut Unknown) -> Document<'c> {
        let all = self.cubin.functions.iter();
        let functions = all.filter(|function| chosen.is_none_or(|chosen| chosen == *function));
        let item = |function: &'c Function| {
            let section = Section::of(self.cubin, function.section).name;
            let words = section_words(self.cubin, function.section, self.cubin.own_range(function));
            let instructions = words.map(|(address, word)| self.item(function.section, address, word));
            let instructions: Vec<Item> = instructions.collect();
            instructions.iter().for_each(|line| line.note(section, unknown));
            let parameters = function.info.parameters.iter();
            FunctionItem {
                name: &function.name,
                section,
                kernel: function.is_entry,
                registers: function.info.registers,
                shared: self.cubin.shared_size(function),
                parameter_base: function.info.parameter_base,
                parameters: parameters
                    .map(|it| ParameterItem { ordinal: it.ordinal, offset: it.offset, size: it.size })
                    .collect(),
                instructions,
            }
        };
        Document {
            target: self.cubin.target.to_string(),
            linked: self.cubin.is_linked,
            functions: functions.map(item).collect(),
            words: Vec::new(),
        }
    }
}

/// The sections with code.
fn sections(cubin: &Cubin) -> impl Iterator<Item = usize> + '_ {
    (0..cubin.sections.len()).filter(|section| symbols::is_code(cubin, *section))
}

/// Words of a section with their addresses.
fn section_words(cubin: &Cubin, section: usize, range: Range<u64>) -> impl Iterator<Item = (u64, u128)> + '_ {
    let bytes = cubin.bytes(section).get(range.start as usize..range.end as usize).unwrap_or(&[]);
    (range.start..).step_by(WORD_BYTES as usize).zip(words(bytes))
}

/// A section's name and size.
struct Section<'c> {
    name: &'c str,
    size: u64,
}

impl<'c> Section<'c> {
    fn of(cubin: &'c Cubin, section: usize) -> Section<'c> {
        let section = &cubin.sections[section];
        Section { name: &section.name, size: section.size }
    }
}
