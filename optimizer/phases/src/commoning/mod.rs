//! Commoning: values that are computed twice are computed once (`spec/copy-propagation-and-cse.txt`).
//!
//! [`oriole_pass::engine::expression`] says when two instructions of a function in SSA form compute the same: as words
//! that can be compared, with a hash. Its table maps them to what a phase knows of them. The phases are [`gvn`] and
//! [`late`]; they share one walk down the dominator tree ([`scoped`]).

mod collectives;
mod dead_stores;
mod eligibility;
mod extended_blocks;
mod facts;
mod forward;
mod global;
pub mod gvn;
pub mod late;
mod leaders;
mod numbering;
mod scope_tree;
mod scoped;
mod signature;

use oriole_ir::ops::Flags;
use oriole_ir::{Function, Inst};
use oriole_pass::engine::expression::COMMON;

/// The same of a load, which is equal only if memory is: what aliases and memory SSA are asked for is one family.
const COMMON_LOAD: &str = "access:common";

/// What it is counted as that an instruction becomes copies of an equal one.
fn commoned(func: &Function, inst: Inst) -> &'static str {
    if func.inst(inst).is(Flags::READS) { COMMON_LOAD } else { COMMON }
}
