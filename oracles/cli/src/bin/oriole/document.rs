//! JSON for programs: every command prints one object, in one envelope, and its schema is derived from its type.
//!
//! The envelope is `version`, which rises when a field changes its meaning or goes, and `command`. Fields are added
//! without a rise, so readers ignore those that they do not know. `oriole schema` prints the schemas, and snapshots of
//! them (`tests/snapshots`) show in review what a change does to a document.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    bisect, check, compare, corpus, findings, fuzz, judge, launch, listings, opt, reduce, rules, run, sass, selftest,
};

/// How a report is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs: one JSON object, whose schema `oriole schema` prints.
    Json,
}

/// How a report is printed of which there is a page, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// For programs: one JSON object, whose schema `oriole schema` prints.
    Json,
    /// A page: one file of HTML with the JSON in it, which loads nothing.
    Html,
}

/// What a command prints for programs.
pub trait Document: Serialize + JsonSchema {
    /// The command, without `oriole`.
    const COMMAND: &'static str;
    /// Rises when a field changes its meaning, or goes.
    const VERSION: u32 = 1;
}

/// A document in its envelope.
#[derive(Serialize)]
struct Envelope<'a, D> {
    version: u32,
    command: &'static str,
    #[serde(flatten)]
    document: &'a D,
}

/// Prints a document in its envelope.
pub fn print<D: Document>(out: &mut dyn Write, document: &D) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Envelope { version: D::VERSION, command: D::COMMAND, document })?;
    writeln!(out)
}

/// The same in one line: a large document that few people read as it is.
pub fn print_compact<D: Document>(out: &mut dyn Write, document: &D) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Envelope { version: D::VERSION, command: D::COMMAND, document })?;
    writeln!(out)
}

/// Prints the page of a document. `kernels` has texts by the identifiers of findings.
pub fn print_page<D: Document>(
    out: &mut dyn Write,
    document: &D,
    kernels: &BTreeMap<String, String>,
) -> io::Result<()> {
    let report = Envelope { version: D::VERSION, command: D::COMMAND, document };
    out.write_all(oriole_explain::page::report(D::COMMAND, &report, kernels)?.as_bytes())
}

/// A document of the list.
pub struct Row {
    /// The command that prints it.
    pub command: &'static str,
    /// Its version.
    pub version: u32,
    /// Its schema, with the envelope.
    pub schema: fn() -> Schema,
}

impl Row {
    const fn of<D: Document>() -> Row {
        Row { command: D::COMMAND, version: D::VERSION, schema: schema::<D> }
    }
}

/// Every document.
pub const DOCUMENTS: &[Row] = &[
    Row::of::<run::Document>(),
    Row::of::<launch::Document>(),
    Row::of::<check::Document<'static>>(),
    Row::of::<check::Record>(),
    Row::of::<compare::Document<'static>>(),
    Row::of::<judge::Document<'static>>(),
    Row::of::<corpus::Document<'static>>(),
    Row::of::<fuzz::Report>(),
    Row::of::<fuzz::Case<'static>>(),
    Row::of::<findings::List<'static>>(),
    Row::of::<findings::Show<'static>>(),
    Row::of::<findings::Export>(),
    Row::of::<findings::Replay>(),
    Row::of::<findings::Close>(),
    Row::of::<findings::Reopen>(),
    Row::of::<findings::Merge>(),
    Row::of::<bisect::Document>(),
    Row::of::<reduce::Document>(),
    Row::of::<selftest::Document<'static>>(),
    Row::of::<rules::CheckDocument<'static>>(),
    Row::of::<rules::ListDocument<'static>>(),
    Row::of::<rules::ExplainDocument<'static>>(),
    Row::of::<opt::Document>(),
    Row::of::<sass::Document<'static>>(),
    Row::of::<listings::Phases>(),
    Row::of::<listings::Knobs>(),
    Row::of::<listings::Ops>(),
];

/// The schema of a document (JSON Schema 2020-12).
fn schema<D: Document>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<D>();
    schema.insert("title".to_owned(), json!(format!("oriole {}", D::COMMAND)));
    let envelope = [
        ("version", json!({ "const": D::VERSION, "description": "Rises when a field changes its meaning, or goes." })),
        ("command", json!({ "const": D::COMMAND, "description": "The command." })),
    ];
    for (name, of) in envelope {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert(name.to_owned(), of);
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.insert(0, json!(name));
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_an_object_in_the_envelope_and_says_what_its_fields_are() {
        for Row { command, schema, .. } in DOCUMENTS {
            let schema = schema().to_value();
            assert!(schema["required"].as_array().is_some_and(|all| all.contains(&json!("version"))), "{command}");
            let definitions = schema["$defs"].as_object().into_iter().flatten().map(|(_, of)| of);
            for object in definitions.chain([&schema]) {
                for (name, of) in object["properties"].as_object().into_iter().flatten() {
                    let says = of["description"].is_string() || of["$ref"].is_string() || object["enum"].is_array();
                    assert!(says, "{command}: nothing is said of `{name}`");
                }
            }
        }
    }
}
