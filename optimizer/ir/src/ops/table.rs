//! The opcode table: one row an opcode, put together from a file for each level and family.
//!
//! A row reads
//!
//! ```text
//! /// What it does.
//! Name "mnemonic" "ptx": [results] <- [operands], flags,
//!     fields &[legal fields], rules &[rules between them],
//!     since first SM, later &[field values that came with later ones],
//!     cost, rank, latency class, how undefined bits pass through;
//! ```
//!
//! where the PTX name carries the modifiers that are always there, and `-` stands for opcodes that PTX spells in a way
//! of its own or does not have. No column may be left out. [`super::columns`] says what they mean, and
//! [`super::prelude`] has the words that they are written with.
//!
//! Each file is a macro that hands its rows, and those of the files before it, to the next one; the last is `opcodes`,
//! which sees all rows at once. So the enum and the table are made from the same text.

use super::ImagePart::*;
use super::Matrix::*;
use super::Shape::*;
use super::columns::{Cost::*, Latency, UndefTransfer::*};
use super::common::{common_control_rows, common_value_rows, split_rows};
use super::machine_level::machine_rows;
use super::prelude::*;
use super::virtual_level::*;
use super::{Level, OpRow};

macro_rules! opcodes {
    (@ptx -) => { None };
    (@ptx $ptx:literal) => { Some($ptx) };
    ([] $(level $level:ident {$(
        $(#[doc = $doc:literal])+
        $op:ident $name:literal $ptx:tt: [$($dst:expr),*] <- [$($src:expr),*], $flags:expr,
        fields $fields:expr, rules $rules:expr,
        since $since:literal, later $later:expr,
        cost $cost:expr, rank $rank:literal, latency $latency:ident, undef $undef:expr;
    )*})*) => {
        /// An operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Opcode { $($($(#[doc = $doc])+ $op,)*)* }

        /// The opcode table, in the order of [`Opcode`].
        pub static ROWS: &[OpRow] = &[$($(OpRow {
            opcode: Opcode::$op,
            name: $name,
            ptx: opcodes!(@ptx $ptx),
            level: Level::$level,
            dsts: &[$($dst),*],
            srcs: &[$($src),*],
            flags: $flags,
            fields: $fields,
            requires: $rules,
            since: $since,
            later: $later,
            cost: $cost,
            rank: $rank,
            latency: Latency::$latency,
            undef: $undef,
            doc: concat!($($doc),+).trim_ascii(),
        }),*),*];
    };
}

common_value_rows! {
    [integer_rows float_rows logic_rows convert_rows memory_rows thread_rows common_control_rows control_rows video_rows
    matrix_rows sparse_rows wmma_rows warpgroup_rows mbarrier_rows cluster_rows bulk_rows tensor_rows multimem_rows
    image_rows opaque_rows split_rows machine_rows opcodes]
}
