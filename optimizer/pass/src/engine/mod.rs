//! Engines and helpers that several phases and passes share: a pass imports from here, and never from another pass.
//!
//! An engine does the work of rows that have one task, such as OriHoistInvariants of ptxas and `licm` of cicc; the
//! others answer questions or keep count for several: facts on edges, loops that are counted, registers that are left,
//! equal expressions.

pub mod branch_facts;
pub mod bundle;
pub mod dead_code;
pub mod edge_facts;
pub mod expression;
pub mod hoisting;
pub mod kill_markers;
pub mod loop_tests;
pub mod merge_blocks;
pub mod readers;
pub mod registers;
pub mod rounds;
pub mod touched;
pub mod vectorize;
pub mod worker;
