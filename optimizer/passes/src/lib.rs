//! The passes of cicc, one family a file; the table of `oriole-optimizer` names them.
//!
//! **Invariant:** no pass imports a phase of ptxas; what both use is in `oriole-pass`.

pub mod adce;
pub mod addresses;
pub mod alignment;
pub mod barriers;
pub mod bypass_division;
mod calls;
pub mod check_kernels;
pub mod combine;
pub mod constmerge;
pub mod correlated;
pub mod critical_edges;
pub mod deadargelim;
pub mod dse;
pub mod function_attrs;
pub mod index_split;
pub mod inline;
pub mod ipconstprop;
pub mod ipmsp;
pub mod lower_alloca;
pub mod memcpy;
pub mod memory_space;
pub mod predicates;
mod promote_place;
mod reached;
pub mod reuse_local;
pub mod rotate;
pub mod sccp;
pub mod select_kernels;
pub mod sroa;
mod stored;
pub mod tail_calls;
pub mod unswitch;
pub mod verification;
pub mod warp;
