//! The 128-bit machine words of NVIDIA GPUs from `sm_80` to `sm_120`.
//!
//! [`table`] has one row for each mnemonic and shape: its opcode bits, and the bits of each modifier and operand.
//! [`encoding`] makes an encoding of each form of a row on each SM; [`instruction`] reads words and makes them anew,
//! and [`text`] writes them as NVIDIA's nvdisasm does. All of them derive from the rows. A word whose bits are not all
//! owned by a part of its encoding, or fixed by it, is refused, so what is read can be made anew bit for bit. [`cubin`]
//! reads and writes the files that hold the words, [`access`] says what an instruction reads and writes, and [`ori`]
//! makes functions of the machine level of words, and words of these.

pub mod access;
pub mod bits;
pub mod class;
pub mod cubin;
pub mod encoding;
pub mod instruction;
mod number;
pub mod ori;
pub mod row;
pub mod sample;
pub mod table;
pub mod text;

pub use encoding::{Encoding, SMS, Table};
pub use instruction::{Instruction, WordError, schedule, with_schedule};
