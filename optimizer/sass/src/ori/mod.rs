//! Functions of machine words as Ori, and back.
//!
//! [`lift`] makes a function of the machine level, in physical form, of the words of one: blocks by the targets of
//! branches, for each word an instruction with its mnemonic, modifiers, operands and scheduling control. [`lower()`]
//! makes the words again. An instruction's identity is the number of its mnemonic's row and the codes of its modifiers
//! ([`register`]); the text form says of each what it writes and what it takes.
//!
//! - The mnemonic is the row's name with the names of all modifiers, in the order of nvdisasm's text.
//! - Results are the registers that the instruction writes, in that order; operands are all others. A register that is
//!   always there is written out where nvdisasm leaves it out (`%P0, %PT = ISETP.LT.AND %R2, 7, %PT`).
//! - A pair of registers is one operand (`%R4x2`) where its number is even, and so on; else its words stand one by one.
//! - An immediate is the bits that are in the word. An address is its registers, then the offset; `cx[UR4][0x10]` is
//!   the register, then the offset.
//! - What is neither register nor number is a name: `'SR_TID.X'`. A name behind an operand says how it is taken:
//!   `%R4, 'H1_H1'`.
//! - `P2R` takes, and `R2P` writes, the predicates of its mask; all of them where a register is the mask.
//! - The line of an instruction is the number of its word in the function, from 1 on: by it [`in_place`] puts the words
//!   of a function that phases have changed where they stood. What is no word has the number of the next one.
//! - Branches have blocks as targets; a jump that may also continue to the next instruction has that block as its last
//!   operand. Where a block continues to the next without one, it ends in `bra`, which is no word. `end` stands behind
//!   the last instruction.
//! - Bits that mean nothing, or whose meaning depends on another one that is not set, and that differ from what they
//!   are in ptxas's words, follow the mnemonic: `.bit76`.
//!
//! **Invariant:** `lower(lift(words)) == words`, for all words that [`super::Table::decode`] reads.

pub mod compact;
pub mod in_place;
mod lift;
mod lower;
mod operands;
mod rows;

pub use lift::{LiftError, function, module};
pub use lower::{LowerError, PLACE, encode, lower, word_of};
pub use rows::register;
