//! The Ori intermediate representation: one form for every state of a program.
//!
//! A [`Module`] holds variables and [`Function`]s; a function holds blocks, a block holds instructions, an
//! instruction is an opcode with fields, an optional guard, and operands. Everything lives in arenas indexed by
//! u32 entities, so that cloning a function is a few copies of memory.

pub mod diagnostics;
pub mod machine;
pub mod ops;
pub mod place;
pub mod reference;
pub mod sm;
pub mod template;
pub mod verify;

mod build;
mod compact;
mod def_use;
mod edit;
mod entity;
mod form;
mod function;
mod immediate;
mod inst;
mod kill;
mod lists;
mod module;
mod name;
mod operand;
mod parse;
mod physical;
mod print;
mod raw;
mod register;
mod rewriter;
mod schedule;
mod shape;
mod sources;
pub mod symbols;
#[cfg(test)]
mod tests;
mod units;

pub use build::InstBuilder;
pub use def_use::DefUse;
pub use entity::{Block, FuncId, Global, Inst, Local, Reg};
pub use form::{Form, Level};
pub use function::{Directive, Function, FunctionKind};
pub use immediate::{FreeOperand, Imm};
pub use inst::{InstData, InstHead};
pub use kill::{Anchor, Kill};
pub use lists::{BlockData, BlockInsts};
pub use machine::{MachineId, MachineRow};
pub use module::{Linkage, Module, Relocation, SymbolRef, Variable};
pub use name::{Name, is_name};
pub use operand::{Guard, Modifiers, Operand};
pub use parse::{ParseError, parse_function, parse_module};
pub use physical::PhysicalReg;
pub use print::{function_to_string, inst_to_string};
pub use raw::RawFunction;
pub use register::{RegFile, RegInfo};
pub use rewriter::Rewriter;
pub use schedule::Schedule;
pub use sources::{Mark, SourceLine, Sources};
pub use units::{Named, Units};
