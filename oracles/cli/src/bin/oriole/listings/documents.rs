//! The tables, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::document;

/// The JSON of `phases`.
#[derive(JsonSchema, Serialize)]
pub struct Phases {
    /// The phases in the order in which they run; with --cicc the passes, in that of the document.
    pub phases: Vec<PhaseItem>,
    /// Steps inside phases that a token of their own addresses.
    pub steps: Vec<SubPassItem>,
}

impl document::Document for Phases {
    const COMMAND: &'static str = "phases";
}

/// The JSON of `knobs`.
#[derive(JsonSchema, Serialize)]
pub struct Knobs {
    /// The knobs; none with --cicc.
    pub knobs: Vec<KnobItem>,
    /// Conditions that nobody sets by name; none with --cicc.
    pub gates: Vec<GateItem>,
    /// The options of cicc's passes, with --cicc.
    pub options: Vec<OptionItem>,
}

impl document::Document for Knobs {
    const COMMAND: &'static str = "knobs";
}

/// The JSON of `ops`.
#[derive(JsonSchema, Serialize)]
pub struct Ops {
    /// The opcodes.
    pub ops: Vec<OpItem>,
}

impl document::Document for Ops {
    const COMMAND: &'static str = "ops";
}

/// A step inside a phase, for programs.
#[derive(JsonSchema, Serialize)]
pub struct SubPassItem {
    /// Its name, which is its token.
    pub name: &'static str,
    /// A token of every phase that contains it.
    pub inside: &'static str,
    /// The document that it comes from, and the line.
    pub document: String,
    /// What it does.
    pub doc: &'static str,
}

/// A gate, for programs.
#[derive(JsonSchema, Serialize)]
pub struct GateItem {
    /// Its name.
    pub name: &'static str,
    /// Where ptxas has it.
    pub place: &'static str,
    /// What decides it.
    pub decided: String,
    /// The document that it comes from, and the line.
    pub document: String,
    /// What it decides.
    pub doc: &'static str,
}

/// An opcode, for programs.
#[derive(JsonSchema, Serialize)]
pub struct OpItem {
    /// Its mnemonic.
    pub name: &'static str,
    /// virtual, machine or common.
    pub level: String,
    /// Its PTX name with the modifiers that are always there; null where it takes code to read and print.
    pub ptx: Option<&'static str>,
    /// What its results are.
    pub results: Vec<String>,
    /// What its operands are.
    pub operands: Vec<String>,
    /// Its properties.
    pub flags: Vec<&'static str>,
    /// Its fields, with the values that they may have.
    pub fields: Vec<FieldItem>,
    /// The first SM that has it.
    pub since: u16,
    /// What it costs.
    pub cost: String,
    /// How long its results take.
    pub latency: String,
    /// How undefined bits pass through.
    pub undefined: String,
    /// What it does.
    pub doc: &'static str,
}

/// A field of an opcode, for programs.
#[derive(JsonSchema, Serialize)]
pub struct FieldItem {
    /// Its name.
    pub name: String,
    /// Its values; an empty one is not written.
    pub values: Vec<&'static str>,
}

/// A phase, for programs.
#[derive(JsonSchema, Serialize)]
pub struct PhaseItem {
    /// Its name.
    pub name: &'static str,
    /// Its number in the inventory of phases.
    pub number: Option<u16>,
    /// Its part of the pipeline.
    pub stage: String,
    /// Whether it is built, planned, or has no work.
    pub status: String,
    /// The optimization level from which it runs.
    pub from_level: u8,
    /// Whether it does something in the default pipeline.
    pub on_by_default: bool,
    /// What it works on at a time.
    pub unit: String,
    /// The level and form that it needs.
    pub needs: String,
    /// The analyses that hold behind it.
    pub preserves: String,
    /// Whether a second run may change something, too.
    pub second_run_may_go_on: bool,
    /// Other names of it.
    pub tokens: &'static [&'static str],
    /// The arguments that it takes.
    pub arguments: Vec<String>,
    /// The document of spec/ that it comes from.
    pub page: Option<String>,
    /// The line there.
    pub line: Option<u16>,
    /// What it does.
    pub doc: &'static str,
}

/// A knob, for programs.
#[derive(JsonSchema, Serialize)]
pub struct KnobItem {
    /// Its name.
    pub name: &'static str,
    /// The spelling in the binary of ptxas.
    pub rot13: String,
    /// Its index there.
    pub index: Option<u16>,
    /// What it takes.
    pub kind: &'static str,
    /// Its default.
    pub default: String,
    /// The document of spec/ that it comes from.
    pub page: String,
    /// The line there.
    pub line: u16,
    /// Why nothing asks it; null where something does.
    pub unasked: Option<&'static str>,
    /// What it controls.
    pub doc: &'static str,
}

/// An option of cicc's passes, for programs.
#[derive(JsonSchema, Serialize)]
pub struct OptionItem {
    /// Its name.
    pub name: String,
    /// Its slot in the table of cicc.
    pub slot: Option<u16>,
    /// Its offset there.
    pub offset: Option<u16>,
    /// What its slot stores.
    pub storage: Option<&'static str>,
    /// What it takes.
    pub kind: &'static str,
    /// Its default.
    pub default: String,
    /// Who asks it; nobody yet where this is empty.
    pub consumers: Vec<String>,
    /// The document of spec/ that it comes from.
    pub page: String,
    /// The line there.
    pub line: u16,
    /// What it controls.
    pub doc: &'static str,
}
