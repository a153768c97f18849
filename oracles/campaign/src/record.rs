//! Findings as a campaign keeps them: families, which are a line each, and their variants.
//!
//! The identity of a finding has two parts, the same on every machine and in every campaign:
//!
//! - Its family is where the fault is. With a guilty rewrite, it is the rewrite's: phases that share code call its
//!   rewrites alike, and those that rest on one analysis are a family
//!   ([`oriole_optimizer::pass::PhaseContext::rewrite`]). Only rules, which users name, are told apart from what other
//!   phases than GeneralOptimize do. One wrong rewrite leaves wrong bytes in one kernel, a trap in the next and an
//!   endless loop in a third, or breaks a rule of the IR, so verdict and signature do not count beside it. Without a
//!   rewrite it is the step, where the bundles of GeneralOptimize are one: every way to behave otherwise is one family
//!   of it, and other verdicts are told apart by their messages, which name places and rules.
//! - Its variant is which fault of the family it is, by what is left of the kernel when it is reduced
//!   ([`oriole_check::variant`]). A family that is known, closed or fixed does not hide another fault in the same code:
//!   its variant is a finding of its own, with a state of its own. A rule of the rule language is one fault, and so is
//!   a way of spelling or the place of a panic; these have no variants, nor has what is not reduced. Folding is no such
//!   rule: each operation is folded by code of its own.
//!
//! About a compiler nothing is known but what is left: the opcodes of that are the family, their modifiers the variant;
//! on which axes it goes wrong counts for neither.
//!
//! A store keeps names, so that those of steps and verdicts that this version does not know stay readable; step,
//! verdict and signature are those of the finding that was seen first.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::Target;
use oriole_check::bisection_limit::FailureClass;
use oriole_check::compiled::signature as compiled;
use oriole_check::report::Finding;
use oriole_check::signature;
use oriole_check::supervise::StepId;
use oriole_ir::Module;
use oriole_launch::Launch;
use oriole_optimizer::codegen::compile::Stage;
use oriole_optimizer::pass::split_instance;
use oriole_optimizer::pipeline::table::PHASES;

/// The verdict on what behaves otherwise, in whatever way.
const MISMATCH: &str = "mismatch";
/// The family of the bundles, which apply rules.
const GENERAL_OPTIMIZE: &str = "GeneralOptimize";
/// What the bundles do by code of their own for all opcodes, each of which may be wrong by itself.
const FOLD: &str = "fold";
/// Digits of an identifier that say which family it is; those behind say which variant.
const FAMILY_DIGITS: usize = 10;
/// What stands for the file in a replay command.
const FILE: &str = "{file}";

/// What a finding is known by; [`Key::id`] says which of it makes two findings one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Key {
    /// The name of the guilty step.
    pub phase: String,
    /// The name of the verdict.
    pub verdict: String,
    /// The rule of the guilty rewrite; empty where it has none.
    pub rule: String,
    /// The failure signature ([`oriole_check::signature`]).
    pub shape: String,
    /// The variant; empty where there is none, or it is not known yet.
    #[serde(default)]
    pub variant: String,
}

/// Whether the name is that of a step that makes machine code of a program, or of a stage of our own compiler.
fn is_compiler(name: &str) -> bool {
    let compilers = [StepId::Compilation, StepId::CodeGeneration, StepId::Optimization];
    let mut stages = Stage::ALL.into_iter().map(StepId::Stage);
    compilers.iter().any(|step| step.name() == name) || stages.any(|step| step.name() == name)
}

impl Key {
    /// The key of a finding that is not reduced; one about a compiler is, where its signature says what is left.
    pub fn of(finding: &Finding) -> Key {
        let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone());
        let variant = match finding.phase {
            step if step.is_compilation() => compiled::without_axes(&finding.signature).to_owned(),
            _ => String::new(),
        };
        Key {
            phase: finding.phase.to_string(),
            verdict: finding.verdict.name().to_owned(),
            rule: rule.unwrap_or_default(),
            shape: finding.signature.clone(),
            variant,
        }
    }

    /// Its class, for [`oriole_check::bisection_limit`].
    pub(super) fn class(&self) -> FailureClass {
        (self.phase.clone(), self.verdict.clone(), self.shape.clone())
    }

    /// The identifier: 16 hexadecimal digits, of which the first say the family.
    pub fn id(&self) -> String {
        let mut hash = Fnv::default();
        hash.text(&self.variant);
        let digits = hash.hex();
        self.family() + &digits[FAMILY_DIGITS..]
    }

    /// The digits of the family.
    pub fn family(&self) -> String {
        let mut hash = Fnv::default();
        let rewrite = self.rule.split(':').next().unwrap_or_default();
        let opcodes = opcodes(&self.variant);
        let parts = match family(&self.phase) {
            step if is_compiler(step) => [step, &self.verdict, "", &opcodes],
            step if self.rule.is_empty() && self.verdict == MISMATCH => [step, MISMATCH, "", ""],
            step if self.rule.is_empty() => [step, &self.verdict, "", signature::kept(&self.shape)],
            step if step == GENERAL_OPTIMIZE || self.is_spelling() => [step, "", rewrite, ""],
            _ => ["", "", rewrite, ""],
        };
        parts.into_iter().for_each(|part| hash.text(part));
        hash.hex()[..FAMILY_DIGITS].to_owned()
    }

    /// Whether a reduced kernel says which variant of its family a finding is.
    pub fn has_variants(&self) -> bool {
        let outside = self.phase == StepId::FrontEnd.name() || is_compiler(&self.phase);
        match self.rule.is_empty() {
            true => self.verdict == MISMATCH && !outside,
            false => (family(&self.phase) != GENERAL_OPTIMIZE || self.rule == FOLD) && !self.is_spelling(),
        }
    }

    /// Whether a way of writing PTX is misread. What is misread may be refused in one kernel, and be another program in
    /// the next.
    pub fn is_spelling(&self) -> bool {
        self.phase == StepId::PtxRoundTrip.name() && !self.rule.is_empty()
    }

    /// The name of a class of bugs: `GeneralOptimize/mismatch/add-zero`.
    pub fn rule_id(&self) -> String {
        let rule = if self.rule.is_empty() { "-" } else { &self.rule };
        format!("{}/{}/{rule}", self.phase, self.verdict).replace(' ', "-")
    }
}

/// The family that an identifier belongs to.
pub fn family_of(id: &str) -> &str {
    id.get(..FAMILY_DIGITS).unwrap_or(id)
}

/// Operations without their modifiers, each once.
fn opcodes(operations: &str) -> String {
    let names: BTreeSet<&str> = operations.split(' ').filter_map(|name| name.split('.').next()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// The name by which a phase is addressed together with others that do the same elsewhere; another step's own name,
/// without the instance.
fn family(phase: &str) -> &str {
    static FAMILIES: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| PHASES.iter().filter_map(|row| Some((row.name, *row.tokens.first()?))).collect());
    let name = split_instance(phase).map_or(phase, |(name, _)| name);
    FAMILIES.get(name).copied().unwrap_or(name)
}

/// FNV-1a of 64 bits: small, and the same everywhere and always, as identifiers must be.
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text and its end.
    pub(super) fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(super) fn hex(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// A case of a campaign.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct CaseId {
    /// The campaign's seed.
    pub seed: u64,
    /// The case's number.
    pub number: u64,
    /// The target that it belongs to.
    pub target: Target,
    /// The command that makes it again.
    pub command: String,
}

/// A finding in a store.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Record {
    /// What makes it this one.
    #[serde(flatten)]
    pub key: Key,
    /// The kernel on which it was seen first.
    pub kernel: String,
    /// The case on which it was seen first; `None` for kernels that are files.
    pub first: Option<CaseId>,
    /// Seconds since 1970 at that time.
    pub time: u64,
    /// The launch that shows it.
    pub launch: String,
    /// What differs.
    pub detail: String,
    /// The function, where it is known.
    pub function: Option<String>,
    /// The number of the guilty rewrite among those of the phase.
    pub rewrite: Option<u64>,
    /// What the guilty rewrite changes, as a unified diff.
    pub diff: String,
    /// The store that wrote the first differing byte before the phase.
    pub store_before: Option<String>,
    /// The store that wrote it after the phase.
    pub store_after: Option<String>,
    /// The replay command, with `{file}` for the reproducer.
    pub replay: String,
    /// Whether the reproducer is PTX text: what is not read well has no module, and a compiler takes nothing else.
    #[serde(default)]
    pub is_text: bool,
    /// The committed case of what a compiler is known to do wrong that this is ([`super::miscompiles`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// What became of reduction.
    pub reduction: Reduction,
}

/// What became of reduction.
#[derive(Clone, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// It has not been tried.
    #[default]
    Pending,
    /// There is a smaller program, of so many instructions.
    Done {
        /// Before.
        from: usize,
        /// After.
        to: usize,
        /// Whether the end of the campaign came before that of the reduction.
        #[serde(default)]
        cut_off: bool,
    },
    /// It was tried, and failed.
    Failed {
        /// Why.
        why: String,
    },
}

impl Reduction {
    /// Whether there is something left to do.
    pub fn is_open(&self) -> bool {
        matches!(self, Reduction::Pending | Reduction::Done { cut_off: true, .. })
    }

    /// Whether it has come further than another one.
    pub fn is_further_than(&self, other: &Reduction) -> bool {
        match (self, other) {
            (Reduction::Done { to: ours, .. }, Reduction::Done { to: theirs, .. }) => ours < theirs,
            (Reduction::Done { .. }, _) => true,
            _ => false,
        }
    }
}

/// A file of a finding: its name, and its bytes.
pub type File = (String, Vec<u8>);

impl Record {
    /// The record of a finding that was just made.
    pub fn new(finding: &Finding, first: Option<CaseId>) -> Record {
        let rewrite = finding.rewrite.as_ref();
        // The check was told to write no file, so that its command names the kernel.
        let file = finding.reproducer.as_ref().unwrap_or(&finding.kernel);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Record {
            key: Key::of(finding),
            kernel: finding.kernel.clone(),
            first,
            time: now.map_or(0, |time| time.as_secs()),
            launch: finding.case.clone(),
            detail: finding.detail.clone(),
            function: finding.function.clone(),
            rewrite: rewrite.map(|rewrite| rewrite.index),
            diff: rewrite.map_or(String::new(), |rewrite| rewrite.diff.clone()),
            store_before: finding.store_before.clone(),
            store_after: finding.store_after.clone(),
            // The launch is among the files, beside the reproducer.
            replay: finding.replay.replacen(file, FILE, 1).replacen(&format!(" --launch {}", finding.case), "", 1),
            is_text: is_text(finding),
            known: None,
            reduction: Reduction::Pending,
        }
    }

    /// A record of nothing, which tests fill in.
    #[cfg(test)]
    pub(super) fn without_evidence(reduction: Reduction) -> Record {
        let empty = || String::new();
        Record {
            key: Key { phase: empty(), verdict: empty(), rule: empty(), shape: empty(), variant: empty() },
            kernel: "k".to_owned(),
            first: None,
            time: 0,
            launch: empty(),
            detail: empty(),
            function: None,
            rewrite: None,
            diff: empty(),
            store_before: None,
            store_after: None,
            replay: "oriole check {file}".to_owned(),
            is_text: false,
            known: None,
            reduction,
        }
    }

    /// This record, first seen as the earlier of two says; so it does not matter in which order stores are merged.
    pub fn first_seen_as(&self, other: &Record) -> Record {
        let earlier = if (other.time, &other.kernel) < (self.time, &self.kernel) { other } else { self };
        let Record { first, kernel, time, .. } = earlier.clone();
        Record { first, kernel, time, ..self.clone() }
    }

    /// The command that shows the finding again, from a file with the reproducer.
    pub fn replay_of(&self, file: &str) -> String {
        self.replay.replacen(FILE, file, 1)
    }

    /// Whether the size of the reproducer counts statements of a text, and not instructions.
    pub fn counts_statements(&self) -> bool {
        self.is_text && self.key.phase == StepId::FrontEnd.name()
    }

    /// The name of the file to replay: the smallest there is.
    pub fn reproducer(&self) -> &'static str {
        match (matches!(self.reduction, Reduction::Done { .. }), self.is_text) {
            (true, false) => "reduced.ori",
            (false, false) => "original.ori",
            (true, true) => "reduced.ptx",
            (false, true) => "original.ptx",
        }
    }
}

/// Whether a finding is shown by a text alone.
fn is_text(finding: &Finding) -> bool {
    let goes_through_compiler = !finding.axes.is_empty();
    (finding.phase == StepId::FrontEnd || goes_through_compiler) && finding.text.is_some()
}

/// The files of a finding as it was found.
pub fn originals(finding: &Finding) -> Vec<File> {
    let module = (!is_text(finding)).then_some(&finding.evidence.module);
    files(module, finding.evidence.launch.as_ref(), finding.text.as_deref(), "original")
}

/// The files that show a finding: `stem.ori`, `stem.ptx` where it is text that shows it, `stem.launch.toml`, and large
/// buffers beside it.
pub fn files(module: Option<&Module>, launch: Option<&Launch>, text: Option<&str>, stem: &str) -> Vec<File> {
    let mut files = Vec::new();
    files.extend(module.map(|module| (format!("{stem}.ori"), module.to_string().into_bytes())));
    files.extend(text.map(|text| (format!("{stem}.ptx"), text.as_bytes().to_vec())));
    if let Some(launch) = launch {
        let written = launch.to_toml(stem);
        let name = |path: PathBuf| path.display().to_string();
        files.extend(written.files.into_iter().map(|(path, bytes)| (name(path), bytes)));
        files.push((format!("{stem}.launch.toml"), written.text.into_bytes()));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_key_tells_findings_apart() {
        let key = |parts: [&str; 4]| {
            let [phase, verdict, rule, shape] = parts.map(str::to_owned);
            Key { phase, verdict, rule, shape, variant: String::new() }.id()
        };
        let first = key(["a", "b", "c", "d"]);
        assert_eq!(first, key(["a", "b", "c", "d"]));
        assert_eq!(first.len(), 16);
        let others = [["a", "b", "x", "d"], ["a", "b", "", "cd"], ["a", "b", "", "d"]];
        assert!(others.into_iter().all(|other| key(other) != first));
        assert_ne!(key(["a", "b", "", "d"]), key(["a", "b", "", "e"]));
        assert_ne!(key(["a", "b", "", "d"]), key(["x", "b", "", "d"]));
        assert_ne!(key(["a", "b", "", "d"]), key(["a", "x", "", "d"]));
        // To behave otherwise has many faces, with a rewrite and without.
        assert_eq!(key(["a", MISMATCH, "", "wrong, one lane"]), key(["a", MISMATCH, "", "out of steps"]));
        assert_eq!(first, key(["a", "x", "c", "d"]));
        // One wrong rewrite is one finding, wherever it shows and however.
        assert_eq!(first, key(["a", "b", "c", "e"]));
        assert_eq!(key(["GeneralOptimizeMid", "b", "c", "d"]), key(["GeneralOptimizeLate2", "b", "c", "e"]));
        assert_ne!(key(["GeneralOptimizeMid", "b", "common", "d"]), key(["OriCommoning", "b", "common", "d"]));
        assert_eq!(key(["OriCommoning", "b", "common", "d"]), key(["OriReassociateAndCommon", "b", "common", "e"]));
        // What rests on one analysis is, too.
        assert_eq!(key(["GvnCse", "b", "access:dead-store", "d"]), key(["OriCommoning", "b", "access:common", "e"]));
        assert_ne!(key(["GvnCse", "b", "access:common", "d"]), key(["GvnCse", "b", "common", "d"]));
        assert_eq!(key(["GeneralOptimizeMid", "b", "", "d"]), key(["GeneralOptimizeLate2", "b", "", "d"]));
        assert_ne!(key(["GeneralOptimizeMid", "b", "", "d"]), key(["OriLiveDead", "b", "", "d"]));
        // A spelling and a rewrite of the same name are two.
        assert_ne!(key(["PTX round trip", "b", "c", "d"]), first);
    }

    #[test]
    fn variants_share_the_digits_of_their_family() {
        let key = |variant: &str| {
            let [phase, verdict, rule] = ["GvnCse", MISMATCH, "access:forward"].map(str::to_owned);
            Key { phase, verdict, rule, shape: String::new(), variant: variant.to_owned() }
        };
        let (known, other) = (key("-ld +mov; straight line"), key("-ld +mov; loop"));
        assert_ne!(known.id(), other.id());
        assert_eq!(family_of(&known.id()), family_of(&other.id()));
        assert_eq!(family_of(&known.id()), known.family());
        let bundled = |rule: &str| {
            Key { phase: "GeneralOptimizeMid".to_owned(), rule: rule.to_owned(), ..known.clone() }.has_variants()
        };
        assert!(known.has_variants() && !bundled("add-zero") && bundled(FOLD));
        assert!(oriole_optimizer::engine::bundle::simplify::rule_names().any(|name| name == FOLD));
    }

    #[test]
    fn axes_and_modifiers_make_no_family_of_a_compiler_fault() {
        let key = |variant: &str| {
            let [phase, verdict] = ["ptxas", MISMATCH].map(str::to_owned);
            Key { phase, verdict, rule: String::new(), shape: String::new(), variant: variant.to_owned() }
        };
        let of = |variant: &str| key(variant).family();
        assert_eq!(of("multimem.red.add.u32"), of("multimem.red.max.s64"));
        assert_ne!(of("multimem.red.add.u32"), of("multimem.red.add.u32 setp.eq.u32"));
        assert_ne!(key("multimem.red.add.u32").id(), key("multimem.red.max.s64").id());
    }
}
