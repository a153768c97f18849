//! The scoreboard twin: code of ptxas, words written by hand, planted faults.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

mod common;
mod corpus;
mod faults;
mod ptxas;
mod twin;
mod words;
