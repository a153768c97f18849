//! Goldens: one phase on one module, and the text that comes out (`corpus/golden/<phase>/*.ori`).
//!
//! A file is lines that begin with `;;` and two modules:
//!
//! ```text
//! ;; phase: GeneralOptimize        the phase, by its name in the table
//! ;; knob: NamedPhases=OriCopyProp  any number of settings
//! <module>
//! ;; expect:
//! <module after the phase>
//! ```
//!
//! `ORIOLE_BLESS=1 cargo test -p oriole-optimizer --test it golden::` writes what comes out into the files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oriole_ir::sm::Target;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::engine::bundle::simplify::rule_names;
use oriole_optimizer::pass::SecondRun;
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, Report, run_passes};
use oriole_optimizer::pipeline::text::TextError;
use oriole_rules::builtin_sources;

const BLESS: &str = "ORIOLE_BLESS=1 cargo test -p oriole-optimizer --test it golden::";

/// A golden, taken apart.
struct Golden {
    header: String,
    phase: String,
    knobs: Vec<String>,
    input: String,
    expected: String,
}

impl Golden {
    fn read(text: &str) -> Result<Golden, String> {
        let (input, expected) = text.split_once(";; expect:\n").ok_or("no line `;; expect:`")?;
        let (mut phase, mut knobs, mut header) = (None, Vec::new(), String::new());
        let directives = input.lines().take_while(|line| line.starts_with(";;"));
        for line in directives {
            writeln!(header, "{line}").map_err(|e| e.to_string())?;
            match line[2..].trim().split_once(':') {
                Some(("phase", name)) => phase = Some(name.trim().to_owned()),
                Some(("knob", setting)) => knobs.push(setting.trim().to_owned()),
                _ => return Err(format!("`{line}` is neither `;; phase:` nor `;; knob:`")),
            }
        }
        let input = input[header.len()..].to_owned();
        Ok(Golden { header, phase: phase.ok_or("no line `;; phase:`")?, knobs, input, expected: expected.to_owned() })
    }

    fn text(&self, output: &str) -> String {
        format!("{}{};; expect:\n{output}", self.header, self.input)
    }
}

fn parse(text: &str) -> Result<Module, String> {
    let excerpt = |offset: usize| text[offset..].lines().next().unwrap_or_default().to_owned();
    let module = parse_module(text).map_err(|e| format!("{e}: `{}`", excerpt(e.span.offset())))?;
    let verified = verify_module(&module);
    verified.map_err(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(module)
}

/// The passes of a golden: one, as a rule.
fn passes(golden: &Golden) -> Result<Pipeline, String> {
    golden.phase.parse().map_err(|error: TextError| format!("`{}`: {error}", golden.phase))
}

fn run(golden: &Golden, module: &mut Module) -> Result<Report, String> {
    let passes = passes(golden)?;
    let target: Target = module.target.parse().map_err(|_| format!("no target `{}`", module.target))?;
    let mut options = Options { verify: true, ..Options::new(target) };
    for setting in &golden.knobs {
        options.knobs.set(setting).map_err(|e| e.to_string())?;
    }
    let report = run_passes(&passes, module, &options, &mut ()).map_err(|e| e.to_string())?;
    match report.passes.iter().find_map(|pass| Some((pass.id, pass.skipped?))) {
        Some((pass, reason)) => Err(format!("{pass} did not run: {reason}")),
        None => Ok(report),
    }
}

/// What a golden's text should have been, and what the phase did.
fn outcome(text: &str) -> Result<(Golden, String, Report), String> {
    let golden = Golden::read(text)?;
    if text.lines().count() > 80 {
        return Err("longer than 80 lines".to_owned());
    }
    let mut module = parse(&golden.input)?;
    let report = run(&golden, &mut module)?;
    let output = module.to_string();
    if parse(&output)? != module {
        return Err("the output does not read back as what was printed".to_owned());
    }
    let again = run(&golden, &mut module)?;
    if again.rewrites != 0 && passes(&golden)?.all().all(|pass| pass.second_run == SecondRun::ChangesNothing) {
        return Err(format!("a second run makes {} changes more:\n{module}", again.rewrites));
    }
    Ok((golden, output, report))
}

/// The difference between what a golden expects and what comes out.
fn difference(text: &str) -> Result<(), String> {
    let (golden, output, _) = outcome(text)?;
    if output == golden.expected {
        return Ok(());
    }
    let mut options = diffy::DiffOptions::new();
    options.set_context_len(4).set_original_filename("expected").set_modified_filename("found");
    Err(options.create_patch(&golden.expected, &output).to_string())
}

fn check(path: &Path, bless: bool) -> Result<(), String> {
    let text = read(path);
    if !bless {
        return difference(&text);
    }
    let (golden, output, _) = outcome(&text)?;
    std::fs::write(path, golden.text(&output)).map_err(|e| e.to_string())
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/golden")
}

fn goldens(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(goldens(&path)),
            false if path.extension().is_some_and(|ext| ext == "ori") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

#[test]
fn phases_do_what_the_goldens_say() {
    let bless = std::env::var_os("ORIOLE_BLESS").is_some();
    let files = goldens(&folder());
    assert!(files.len() >= 25, "only {} goldens in {}", files.len(), folder().display());
    let mut failures = String::new();
    for path in &files {
        if let Err(problem) = check(path, bless) {
            let name = path.strip_prefix(folder()).unwrap_or(path).display();
            writeln!(failures, "\n{name}: {problem}").expect("writing to a string succeeds");
        }
    }
    assert!(failures.is_empty(), "{failures}\nto accept what comes out: {BLESS}\n");
}

#[test]
fn a_wrong_expectation_shows_as_a_difference() {
    let text = "\
;; phase: EarlyOriSimpleLiveDead
target sm_90 ptx 9.0

entry @k ssa {
bb0:
  %r1 = mov.b32 1
  ret
}
;; expect:
target sm_90 ptx 9.0

entry @k ssa {
bb0:
  %r1 = mov.b32 1
  ret
}
";
    let problem = difference(text).expect_err("the copy is dead");
    assert!(problem.contains("-  %r1 = mov.b32 1"), "{problem}");
}

/// Each simplification has a golden that shows it; a rule of a rule file has that or an example beside it, which
/// `RuleSet::parse` holds against the rule.
#[test]
fn every_rule_has_a_golden() {
    let rules = RuleSet::parse_all(&builtin_sources()).expect("the built-in rules are right");
    let has_example =
        |name: &str| rules.rule(name).is_some_and(|rule| rule.decl().examples.iter().any(|e| e.expected.is_some()));
    let mut unseen: Vec<&str> = rule_names().filter(|name| !has_example(name)).collect();
    assert!(!unseen.is_empty(), "the simplifications in code have no examples");
    for path in goldens(&folder()) {
        if let Ok((_, _, report)) = outcome(&read(&path)) {
            unseen.retain(|name| !report.passes[0].statistics.contains_key(name));
        }
    }
    assert!(unseen.is_empty(), "no golden shows {unseen:?}");
}
