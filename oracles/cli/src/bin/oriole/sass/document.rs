//! Machine words, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::Item;
use crate::document;

/// The JSON of `sass`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'c> {
    /// The target, as ptxas names it.
    pub target: String,
    /// Whether nvlink has linked the file.
    pub linked: bool,
    /// Its functions; none with --raw.
    pub functions: Vec<FunctionItem<'c>>,
    /// The words of a file that has nothing else (--raw).
    pub words: Vec<Item>,
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "sass";
    // Words alone were an array.
    const VERSION: u32 = 2;
}

/// A function, for programs.
#[derive(JsonSchema, Serialize)]
pub struct FunctionItem<'c> {
    /// Its name.
    pub name: &'c str,
    /// The section of its words.
    pub section: &'c str,
    /// Whether it is an entry.
    pub kernel: bool,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Where in bank 0 the parameters begin.
    pub parameter_base: Option<u32>,
    /// Its parameters.
    pub parameters: Vec<ParameterItem>,
    /// Its words.
    pub instructions: Vec<Item>,
}

/// A parameter, for programs.
#[derive(JsonSchema, Serialize)]
pub struct ParameterItem {
    /// Its place among the parameters, from 0.
    pub ordinal: u16,
    /// Bytes from the first one.
    pub offset: u16,
    /// Bytes.
    pub size: u16,
}

/// [`Schedule`] for programs.
#[derive(JsonSchema, Serialize)]
pub struct Control {
    /// Cycles until the next word may issue.
    pub stall: u8,
    /// Whether another warp goes first.
    pub yields: bool,
    /// The barrier that is released when results are written.
    pub write_barrier: Option<u8>,
    /// The barrier that is released when sources are read.
    pub read_barrier: Option<u8>,
    /// A bit for each barrier that must be released before.
    pub wait_mask: u8,
}
