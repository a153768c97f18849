//! Operations of the virtual level: PTX ISA 9.0, chapter "Instruction Set", for targets up to `sm_90`, and accesses of
//! 32 bytes for `sm_100`. A file a family.
//!
//! Values narrower than 32 bits live in a 32-bit word. An operation reads only the bits of its type and zero-extends
//! its result, except that sub-word loads and conversions to signed types sign-extend.

mod bulk;
mod cluster;
mod control;
mod convert;
mod float;
mod image;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod multimem;
mod opaque;
mod sparse;
mod tensor;
mod threads;
mod video;
mod warpgroup;
mod wmma;

pub(super) use bulk::*;
pub(super) use cluster::*;
pub(super) use control::*;
pub(super) use convert::*;
pub(super) use float::*;
pub(super) use image::*;
pub(super) use integer::*;
pub(super) use logic::*;
pub(super) use matrix::*;
pub(super) use mbarrier::*;
pub(super) use memory::*;
pub(super) use multimem::*;
pub(super) use opaque::*;
pub(super) use sparse::*;
pub(super) use tensor::*;
pub(super) use threads::*;
pub(super) use video::*;
pub(super) use warpgroup::*;
pub(super) use wmma::*;
