//! The Ori intermediate representation: one form for every state of a program.
//!
//! A [`Module`] holds variables and [`Function`]s; a function holds blocks, a block holds instructions, an
//! instruction is an opcode with fields, an optional guard, and operands. Everything lives in arenas indexed by
//! u32 entities, so that cloning a function is a few copies of memory.

mod build;
mod entity;
mod function;
mod module;
mod operand;
mod parse;
mod print;
mod shape;
#[cfg(test)]
mod tests;

pub use build::InstBuilder;
pub use entity::{Block, FuncId, Global, Inst, Local, Reg};
pub use function::{BlockData, Directive, Form, Function, FunctionKind, InstData, InstHead, RegFile, RegInfo};
pub use module::{Linkage, Module, Relocation, SymbolRef, Variable};
pub use operand::{Guard, Operand};
pub use parse::{ParseError, parse_function, parse_module};
pub use print::{function_to_string, inst_to_string};
