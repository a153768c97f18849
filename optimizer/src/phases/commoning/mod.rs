//! Commoning: values that are computed twice are computed once (`spec/copy-propagation-and-cse.txt`).
//!
//! [`expression`] says when two instructions of a function in SSA form compute the same: as words that can be compared,
//! with a hash ([`hash`]). [`table`] maps them to what a phase knows of them. The phases are [`gvn`] and [`late`]; they
//! share one walk down the dominator tree ([`scoped`]).

mod dead_stores;
mod eligibility;
pub(super) mod expression;
mod extended_blocks;
mod facts;
mod forward;
mod global;
pub mod gvn;
pub(super) mod hash;
pub mod late;
mod leaders;
mod numbering;
mod scope_tree;
mod scoped;
mod signature;
pub(super) mod table;
