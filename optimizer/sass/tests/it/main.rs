//! Machine words and cubins: their text, their tables, their way through Ori.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

mod common;
mod corpus;
mod cubin;
mod nvdisasm;
mod ori;
mod timing;
mod words;
