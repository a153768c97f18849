//! Commoning: values that are computed twice are computed once (`spec/copy-propagation-and-cse.txt`).
//!
//! [`expression`] says when two instructions of a function in SSA form compute the same: as words that can be compared,
//! with a hash ([`hash`]). [`table`] maps them to what a phase knows of them.

pub(super) mod expression;
pub(super) mod hash;
pub(super) mod table;
