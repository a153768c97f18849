//! The command line, and the harness as a whole: what takes every crate.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

// Benchmarks are programs of their own elsewhere, with the modules that they share with others.
#![allow(clippy::duplicate_mod)]

mod benches;
mod book;
mod bugs;
mod cases;
mod checked;
mod chromium;
mod cli;
#[allow(dead_code, reason = "tests of the optimizer compile, too")]
#[path = "../../../../optimizer/tests/it/common/mod.rs"]
mod common;
mod compact;
mod compile;
mod compiled;
mod constants;
mod corpus;
mod coverage;
mod example;
mod explain;
mod findings;
mod front_end;
mod generate;
mod golden_exec;
mod gpu;
mod hostile;
mod in_place;
mod json;
mod judge;
mod lanes;
mod limits;
mod machine_phases;
mod machine_rules;
mod mutate;
mod opcode_lists;
mod operands;
mod operations;
mod planted;
mod planted_flow;
mod planted_folds;
mod planted_memory;
mod readme;
mod reduce;
mod remarks;
mod sass;
mod scale;
mod shards;
mod snapshots;
mod stages;
mod threads;
mod tidy;
mod uniform;
mod values;
mod wrong_pass;
