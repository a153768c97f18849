//! What is said of findings, for programs.

use std::path::PathBuf;

use oriole_campaign::store::Stored;
use oriole_campaign::store::life::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document;

/// The JSON of `findings list`.
#[derive(JsonSchema, Serialize)]
pub struct List<'a> {
    /// The findings, those met most often first.
    pub findings: &'a [Stored],
}

impl document::Document for List<'_> {
    const COMMAND: &'static str = "findings list";
}

/// The JSON of `findings show`.
#[derive(JsonSchema, Serialize)]
pub struct Show<'a> {
    /// The finding, or the variants of a family.
    pub findings: &'a [Stored],
}

impl document::Document for Show<'_> {
    const COMMAND: &'static str = "findings show";
}

/// The JSON of `findings export`.
#[derive(JsonSchema, Serialize)]
pub struct Export {
    /// The findings whose files were written.
    pub exported: Vec<Exported>,
}

impl document::Document for Export {
    const COMMAND: &'static str = "findings export";
}

/// A finding whose files were written.
#[derive(JsonSchema, Serialize)]
pub struct Exported {
    /// Its identifier.
    pub id: String,
    /// The reproducer.
    pub file: PathBuf,
    /// The command that shows the finding again.
    pub replay: String,
}

/// The JSON of `findings merge`.
#[derive(JsonSchema, Serialize)]
pub struct Merge {
    /// The store.
    pub store: PathBuf,
    /// How many findings it has now.
    pub findings: usize,
    /// What each of the other stores added.
    pub merged: Vec<Merged>,
}

impl document::Document for Merge {
    const COMMAND: &'static str = "findings merge";
}

/// What a store added to another.
#[derive(JsonSchema, Serialize)]
pub struct Merged {
    /// The store.
    pub store: PathBuf,
    /// Findings that were new.
    pub new_findings: usize,
    /// Campaigns that were new, or further.
    pub campaigns: usize,
}

/// The JSON of `findings replay`.
#[derive(JsonSchema, Serialize)]
pub struct Replay {
    /// Findings that show no more.
    pub gone: usize,
    /// Findings that show and are not closed.
    pub shows: usize,
    /// Findings whose commands cannot be executed.
    pub unknown: usize,
    /// The findings.
    pub findings: Vec<Replayed>,
}

impl document::Document for Replay {
    const COMMAND: &'static str = "findings replay";
}

/// A finding that was executed again.
#[derive(JsonSchema, Serialize)]
pub struct Replayed {
    /// Its identifier.
    pub id: String,
    /// The guilty step.
    pub phase: String,
    /// What the step did.
    pub verdict: String,
    /// Whether it shows; null where its command cannot be executed.
    pub shows: Option<bool>,
    /// Its state now; null where its command cannot be executed.
    pub state: Option<State>,
    /// The same in words.
    pub what: String,
}

/// A finding with another state.
#[derive(JsonSchema, Serialize)]
pub struct Moved {
    /// Its identifier.
    pub id: String,
    /// Its state.
    pub state: State,
}

/// The JSON of `findings close`.
#[derive(JsonSchema, Serialize)]
pub struct Close {
    /// The findings.
    pub findings: Vec<Moved>,
}

impl document::Document for Close {
    const COMMAND: &'static str = "findings close";
}

/// The JSON of `findings reopen`.
#[derive(JsonSchema, Serialize)]
pub struct Reopen {
    /// The findings.
    pub findings: Vec<Moved>,
}

impl document::Document for Reopen {
    const COMMAND: &'static str = "findings reopen";
}
