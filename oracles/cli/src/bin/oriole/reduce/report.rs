//! What became of a reduction: the files that it wrote, and what is said of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use oriole_check::input::{Language, write_ptx};
use oriole_check::reduce::{Reduced, Size};
use oriole_check::report::{Evidence, Finding};
use oriole_ptx::{self as ptx, Dialect};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Args, Job, MOST_LINES, Question, end, files, findings, in_ssa};
use crate::document::{self, Format};
use crate::failure::Failure;
use crate::numbers::counted;
use crate::opt::Emit;

/// The JSON of `reduce`.
#[derive(JsonSchema, Serialize)]
pub struct Document {
    /// Whether nothing more can go.
    pub complete: bool,
    /// Whether a signal ended it.
    pub stopped: bool,
    /// Candidates that were looked at.
    pub candidates: u64,
    /// How long it took.
    pub seconds: f64,
    /// The size before; of a text that is reduced, statements alone.
    pub before: Extent,
    /// The size after.
    pub after: Extent,
    /// The reduced kernel.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// The same as PTX, where that was written.
    pub ptx: Option<Printed>,
    /// What a check says of it.
    pub findings: Vec<Finding>,
}

impl document::Document for Document {
    const COMMAND: &'static str = "reduce";
}

/// How large a kernel is.
#[derive(Clone, Copy, Default, JsonSchema, Serialize)]
pub struct Extent {
    /// Instructions of a program.
    instructions: Option<usize>,
    /// Its blocks.
    blocks: Option<usize>,
    /// Its functions.
    functions: Option<usize>,
    /// Threads of the launch.
    threads: Option<u64>,
    /// Bytes of the launch's buffers.
    bytes: Option<usize>,
    /// Statements of a text.
    statements: Option<usize>,
}

/// A kernel as PTX.
#[derive(JsonSchema, Serialize)]
pub struct Printed {
    /// The file; null where the kernel cannot be written as PTX.
    file: Option<PathBuf>,
    /// What is said of it: that it shows the same, or why not.
    says: String,
}

impl Extent {
    /// The size of a text.
    pub fn of_text(statements: usize) -> Extent {
        Extent { statements: Some(statements), ..Extent::default() }
    }

    fn of(size: Size) -> Extent {
        let Size { functions, blocks, instructions, threads, bytes } = size;
        Extent {
            instructions: Some(instructions),
            blocks: Some(blocks),
            functions: Some(functions),
            threads: Some(threads),
            bytes: Some(bytes),
            statements: None,
        }
    }
}

/// Writes the reduced kernel, and says what became of it.
pub fn print(args: &Args, job: &Job, reduced: &Reduced, out: &mut dyn Write) -> Result<(), Failure> {
    let path = files::output(args, Language::Ori);
    files::write(&path, &reduced.evidence)?;
    let ptx = printed(args, job, reduced, &path)?;
    let text = reduced.evidence.module.to_string();
    if args.format == Format::Json {
        let document = Document {
            complete: reduced.complete,
            stopped: reduced.stopped,
            candidates: reduced.evaluations,
            seconds: reduced.time.as_secs_f64(),
            before: Extent::of(reduced.before),
            after: Extent::of(reduced.after),
            findings: conclusion(job, reduced, &path),
            file: path,
            text,
            ptx,
        };
        return Ok(document::print(out, &document)?);
    }
    sizes(reduced, out)?;
    if text.lines().count() <= MOST_LINES {
        write!(out, "\n{text}\n")?;
    }
    writeln!(out, "{}", path.display())?;
    match ptx {
        Some(Printed { file: Some(file), says }) => writeln!(out, "{} {says}", file.display())?,
        Some(Printed { file: None, says }) => writeln!(out, "{says}")?,
        None => {}
    }
    Ok(conclusion(job, reduced, &path).iter().try_for_each(|finding| writeln!(out, "{finding}"))?)
}

fn sizes(reduced: &Reduced, out: &mut dyn Write) -> Result<(), Failure> {
    let Reduced { before, after, evaluations, rounds, time, .. } = reduced;
    let parts = [
        (counted(after.instructions, "instruction"), before.instructions.to_string()),
        (counted(after.blocks, "block"), before.blocks.to_string()),
        (counted(after.functions, "function"), before.functions.to_string()),
        (counted(after.threads, "thread"), before.threads.to_string()),
        (counted(after.bytes, "byte of buffers"), before.bytes.to_string()),
    ];
    let parts: Vec<String> = parts.iter().map(|(after, before)| format!("{after} of {before}")).collect();
    writeln!(out, "{}", parts.join(", "))?;
    let (candidates, rounds) = (counted(evaluations, "candidate"), counted(rounds, "round"));
    let end = end(reduced.complete, reduced.stopped);
    Ok(writeln!(out, "{candidates} in {rounds}, {:.2} s; {end}", time.as_secs_f64())?)
}

/// What a check says of the reduced kernel. What is left of a large kernel may still be one, and a signal wants an end.
fn conclusion(job: &Job, reduced: &Reduced, path: &Path) -> Vec<Finding> {
    let name = path.with_extension("ori").display().to_string();
    let check = job.check.as_ref().filter(|_| !reduced.stopped);
    check.map_or_else(Vec::new, |check| findings(&name, &reduced.evidence, check))
}

/// The kernel as PTX, written where that is asked for or what is misread.
fn printed(args: &Args, job: &Job, reduced: &Reduced, path: &Path) -> Result<Option<Printed>, Failure> {
    let path = path.with_extension("ptx");
    if let Question::Fault(fault) = &job.question
        && let Some(text) = fault.misread_text(&reduced.evidence)
    {
        files::store(&path, &text)?;
        return Ok(Some(Printed { file: Some(path), says: "is the text that is misread".to_owned() }));
    }
    let named = args.output.as_deref().and_then(Language::of);
    let is_asked = args.emit == Some(Emit::Ptx) || named == Some(Language::Ptx);
    if !is_asked && Language::of(&args.subject.file) != Some(Language::Ptx) {
        return Ok(None);
    }
    let text = match write_ptx(&reduced.evidence.module) {
        Ok(text) => text,
        Err(error) => return Ok(Some(Printed { file: None, says: format!("it cannot be written as PTX: {error}") })),
    };
    files::store(&path, &text)?;
    let says = match () {
        () if reduced.stopped => "",
        () if shows_the_same(job, &reduced.evidence, &text) => "shows the same",
        () => "does not show the same: reading it makes another module",
    };
    Ok(Some(Printed { file: Some(path), says: says.to_owned() }))
}

/// Whether the text shows what the program does. What a compiler gets is the text, whatever form the candidates had.
fn shows_the_same(job: &Job, evidence: &Evidence, text: &str) -> bool {
    let is_read =
        oriole_optimizer::ssa::is_virtual(&evidence.module) || matches!(job.question, Question::Miscompile(_));
    let again = ptx::read_dialect(text, &Dialect::of(&evidence.module)).ok();
    let again = again.map(|module| if is_read { module } else { in_ssa(&module) });
    let again = again.map(|module| Evidence { module, launch: evidence.launch.clone() });
    again.is_some_and(|evidence| job.question.holds(&evidence))
}
