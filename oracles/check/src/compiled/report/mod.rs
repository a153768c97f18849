//! A finding about a compiler as something that can be handed on: text and files that need nothing of this project.

pub mod program;

use std::fmt::Write as _;

use oriole_interp::{Executable, RunOptions, RunResult};
use oriole_ir::Module;
use oriole_launch::Launch;
use oriole_sass::cubin::{Cubin, Function};
use oriole_sass::text::{self, WORD_BYTES};
use oriole_sass::{Table, instruction};

use super::Compiler;
use super::answer::{Answer, Judged};
use crate::cases::Case;
use crate::compiler::Axis;
use crate::judge::Judge;
use crate::judge::code::CodeError;
use crate::judge::gpu::job;
use program::{Parts, program};

/// Files of a report: names, and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// The name of the text of a report.
pub const REPORT: &str = "report.md";
/// The name of the program that confirms it.
pub const PROGRAM: &str = "confirm.c";

/// What a report is about: a text of PTX on a launch, and the axis on which its code is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The PTX.
    pub ptx: &'a str,
    /// What it says.
    pub module: &'a Module,
    /// The launch that shows it.
    pub launch: &'a Launch,
    /// The axis.
    pub axis: &'a Axis,
}

/// The files of a report: the text, and a program that confirms it on a GPU. `None` where nothing is wrong.
pub fn files(compiler: &Compiler, subject: &Subject<'_>) -> Option<Files> {
    let Subject { ptx, module, launch, axis } = *subject;
    let original = Executable::new(module).ok()?;
    let expected = original.run(launch, &RunOptions::default()).ok()?;
    let cases = [Case { name: "the launch".to_owned(), judge: Judge::of(&original, launch, None).ok()? }];
    let own = compiler.compile_text(ptx, axis);
    let codes = compiler.axes.iter().map(|axis| compiler.compile_text(ptx, axis).map(Into::into)).collect();
    let judged = compiler.judge(&original, &cases, codes);
    if !judged.iter().any(|judged| judged.wrong.is_some()) {
        return None;
    }
    let mut report = Report { compiler, subject, judged: &judged, text: String::new() };
    let cubin = match own {
        Ok(cubin) => cubin,
        Err(error) => {
            report.head(if error.verdict().is_some() { "crashes" } else { "refuses what it takes at another level" });
            return Some(vec![(REPORT.to_owned(), report.text.into_bytes())]);
        }
    };
    let function = match &launch.kernel {
        Some(name) => cubin.function(name)?,
        None => cubin.entries().next()?,
    };
    report.head("compiles wrongly");
    // A kernel that fails on a GPU leaves nothing; the head says how.
    let found = judged.iter().filter(|judged| judged.axis == axis.to_string());
    let lanes =
        found.filter_map(|judged| judged.difference.as_ref()).map(|found| found.lanes).next().unwrap_or_default();
    match cases[0].judge.run_by(&original, &cubin, compiler.executor(axis), lanes) {
        Ok(actual) => report.results(&expected, &actual),
        Err(CodeError::Gpu(error)) if error.is_of_kernel() => {}
        Err(_) => return None,
    }
    report.code(&cubin, function);
    let head = report.text.lines().take_while(|line| !line.starts_with("## The PTX")).collect::<Vec<_>>().join("\n");
    // No program makes a launch with images.
    let program = job(&original, launch)
        .ok()
        .map(|job| program(&Parts { head: &head, ptx, cubin: cubin.data(), launch, job: &job, expected: &expected }));
    if program.is_some() {
        report.confirmation();
    }
    let program = program.map(|program| (PROGRAM.to_owned(), program.into_bytes()));
    Some(std::iter::once((REPORT.to_owned(), report.text.into_bytes())).chain(program).collect())
}

/// A program in C that runs a cubin, whoever compiled it, on a launch by the CUDA driver API, and compares the buffers
/// with what the PTX leaves; `None` where the PTX does not finish on it, or no program makes such a launch.
pub fn runner(head: &str, ptx: &str, module: &Module, launch: &Launch, cubin: &[u8]) -> Option<String> {
    let original = Executable::new(module).ok()?;
    let expected = original.run(launch, &RunOptions::default()).ok()?;
    Judge::of(&original, launch, None).ok()?;
    let job = job(&original, launch).ok()?;
    Some(program(&Parts { head, ptx, cubin, launch, job: &job, expected: &expected }))
}

/// A text under way.
struct Report<'a> {
    compiler: &'a Compiler,
    subject: &'a Subject<'a>,
    judged: &'a [Judged],
    text: String,
}

impl Report<'_> {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn block(&mut self, language: &str, content: &str) {
        self.line(format!("```{language}\n{}\n```\n", content.trim_end()));
    }

    /// What is wrong, where, and the program with its launch.
    fn head(&mut self, what: &str) {
        let Subject { ptx, axis, launch, .. } = *self.subject;
        self.line(format!("# ptxas {what}: {axis}\n"));
        self.line(format!("- compiler: {}", self.compiler.version));
        self.line(format!("- command: `ptxas -arch {} {} --fmad false{}`", axis.arch, axis.effort, options(axis)));
        self.line(concat!("- judged by: oriole ", env!("CARGO_PKG_VERSION"), ", which executes PTX and machine code"));
        for judged in self.judged {
            let reason = judged.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
            let detail = judged.difference.as_ref().map_or(String::new(), |found| format!(": {}", found.detail));
            self.line(format!("- {}: {}{reason}{detail}", judged.axis, judged.answer));
        }
        if self.judged.len() > 1 && self.judged.iter().all(|judged| judged.answer == Answer::Different) {
            self.line("\nEvery axis differs: the fault may be in how Oriole reads the PTX or the code.");
        }
        self.line("\n## The PTX\n");
        self.block("ptx", ptx);
        self.line("## The launch\n");
        self.block("toml", &launch.to_toml("launch").text);
    }

    /// What is expected and what the code leaves, of each buffer that differs.
    fn results(&mut self, expected: &RunResult, actual: &RunResult) {
        self.line("## Expected and actual\n");
        self.line(format!("The PTX: {}. The code: {}.\n", expected.outcome, actual.outcome));
        let mut table = String::from("buffer  byte      expected                 actual\n");
        for (right, wrong) in expected.memory.iter().zip(&actual.memory) {
            let words = right.bytes.data().chunks(8).zip(wrong.bytes.data().chunks(8)).enumerate();
            for (at, (right_bytes, wrong_bytes)) in words.filter(|(_, (one, other))| one != other).take(8) {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
                let (right_bytes, wrong_bytes) = (hex(right_bytes), hex(wrong_bytes));
                let _ = writeln!(table, "{:<7} {:<9} {right_bytes:<24} {wrong_bytes}", right.name, at * 8);
            }
        }
        self.block("text", &table);
        let stores = self.judged.iter().find_map(|judged| judged.difference.as_ref());
        let stores = stores.map(|found| (found.ptx.clone(), found.code.clone()));
        for (what, store) in stores.into_iter().flat_map(|(ptx, code)| [("PTX", ptx), ("code", code)]) {
            if let Some(store) = store {
                self.line(format!("The {what} stores the first wrong byte last by `{store}`.\n"));
            }
        }
    }

    fn code(&mut self, cubin: &Cubin, function: &Function) {
        self.line("## The code\n");
        self.block("text", &listing(cubin, function));
    }

    fn confirmation(&mut self) {
        self.line("## Confirm it on a GPU\n");
        self.line(format!("`cc {PROGRAM} -o confirm && ./confirm` runs the code that ptxas made (with -ldl for a C library before glibc 2.34);"));
        self.line("`./confirm 0` to `./confirm 4` have the driver compile the PTX at that level instead.");
        self.line("It prints `right`, or `WRONG` with the first wrong byte, and ends with 0 or 1.\n");
    }
}

fn options(axis: &Axis) -> String {
    axis.options.iter().map(|option| format!(" {option}")).collect()
}

/// The words of a function as text, without what fills its end.
pub fn listing(cubin: &Cubin, function: &Function) -> String {
    let Some(table) = Table::of(cubin.target.sm) else { return String::new() };
    let words: Vec<u128> = cubin.words(function).collect();
    let name = |word: &u128| table.decode(*word).map_or("", |instruction| instruction.encoding.name);
    let end = words.iter().rposition(|word| name(word) != "NOP").map_or(0, |last| last + 1);
    let mut out = String::new();
    for (at, word) in words[..end].iter().enumerate() {
        let address = at as u64 * WORD_BYTES;
        let mut line = String::new();
        match table.decode(*word) {
            Ok(instruction) => text::print(&mut line, &instruction, address),
            Err(error) => _ = write!(line, "{word:#034x} ({error})"),
        }
        let _ = writeln!(out, "/*{address:04x}*/ {line:<56} // {}", instruction::schedule(*word));
    }
    out
}
