//! What is said of rules, for programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::machine::Line;
use crate::document;

/// The JSON of `rules check`.
#[derive(JsonSchema, Serialize)]
pub struct CheckDocument<'a> {
    /// The rules.
    pub rules: Vec<Item<'a>>,
    /// The rules over instructions of the machine.
    pub machine: &'a [Line],
    /// What operations weigh, where a file states it.
    pub weights: BTreeMap<&'static str, u32>,
    /// Built-in rules that raise the measure of these weights.
    pub raising: &'a [&'static str],
    /// How long all took, in milliseconds.
    pub ms: u64,
}

impl document::Document for CheckDocument<'_> {
    const COMMAND: &'static str = "rules check";
}

/// The JSON of `rules list`.
#[derive(JsonSchema, Serialize)]
pub struct ListDocument<'a> {
    /// The rules.
    pub rules: Vec<Item<'a>>,
}

impl document::Document for ListDocument<'_> {
    const COMMAND: &'static str = "rules list";
}

/// The JSON of `rules explain`.
#[derive(JsonSchema, Serialize)]
pub struct ExplainDocument<'a> {
    /// The rule, and the evidence.
    pub rule: Item<'a>,
    /// What is above it in its file.
    pub doc: &'a str,
    /// Its text.
    pub text: String,
    /// What its type variables stand for, one text an instance.
    pub bindings: Vec<String>,
    /// What falls from the pattern to the result, of its first instance.
    pub measure: Option<String>,
}

impl document::Document for ExplainDocument<'_> {
    const COMMAND: &'static str = "rules explain";
}

/// A rule, for programs.
#[derive(JsonSchema, Serialize)]
pub struct Item<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file and line.
    pub place: &'a str,
    /// Rules of a higher priority are tried first.
    pub priority: u16,
    /// Instances: one for each choice of its type variables.
    pub instances: usize,
    /// Variants: instances with every field settled.
    pub variants: usize,
    /// What it promises: bit-exact, or modulo NaN.
    pub contract: &'a str,
    /// The verdict.
    pub verdict: &'a str,
    /// Variants whose sides are the same term.
    pub equal_terms: u32,
    /// Variants that solvers proved.
    pub solved: u32,
    /// These solvers.
    pub solvers: Vec<&'a str>,
    /// How long they took, in milliseconds.
    pub solver_ms: u64,
    /// Variants of which every input was tried.
    pub exhausted: u32,
    /// Variants that never apply.
    pub vacuous: u32,
    /// Variants that were executed as kernels, and not proved.
    pub kernels_only: Vec<&'a str>,
    /// On how many inputs.
    pub kernels_only_inputs: u64,
    /// What nobody has shown of each of these, and why.
    pub not_shown: Vec<String>,
    /// Questions that are open.
    pub open: &'a [String],
    /// Inputs that were tried.
    pub tried: u64,
    /// Those of them that met the guards.
    pub met_guards: u64,
    /// Kernels that were executed.
    pub kernels: u64,
    /// How often the optimizer applied it there.
    pub applied: u64,
    /// Its guards.
    pub guards: Vec<GuardItem<'a>>,
    /// Guards that the language adds, since the result reads more of an operand than the pattern.
    pub added_guards: &'a [String],
    /// An input on which it is wrong.
    pub counterexample: Option<String>,
    /// Whether executing a kernel shows the same.
    pub confirmed: Option<bool>,
    /// The command that shows it.
    pub replay: Option<&'a str>,
    /// The built-in rule that is tried first and matches as much.
    pub shadowed_by: Option<&'a str>,
    /// How long judging it took, in milliseconds.
    pub ms: u64,
}

#[derive(JsonSchema, Serialize)]
pub struct GuardItem<'a> {
    /// Its text.
    pub guard: &'a str,
    /// needed, cost, idle or unclear.
    pub need: &'static str,
    /// Why, in words.
    pub why: String,
}
