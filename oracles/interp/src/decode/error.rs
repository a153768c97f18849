//! Why a function cannot be decoded.

use std::fmt;

use oriole_ir::Block;
use oriole_ir::diagnostics::counted;

use super::MAX_VARIABLE;

/// A function that cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{function}` cannot run: {fault}{}", at_inst(inst))]
pub struct DecodeError {
    /// The function.
    pub function: String,
    /// The instruction's text; empty where no instruction was met before the fault.
    pub inst: String,
    /// What is wrong.
    pub fault: DecodeFault,
}

fn at_inst(inst: &str) -> String {
    if inst.is_empty() { String::new() } else { format!(", in `{inst}`") }
}

/// What keeps a function from being decoded. The verifier refuses most of these; decoding does not rely on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeFault {
    /// A variable has more than `MAX_VARIABLE` bytes.
    #[error("variable `${name}` has {bytes}, a thread has at most {MAX_VARIABLE} of local memory", bytes = counted(.bytes, "byte"))]
    VariableTooLarge {
        /// The variable.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// The variables of a function have more than `MAX_VARIABLE` bytes together.
    #[error("its variables have {bytes}, a thread has at most {MAX_VARIABLE} of local memory", bytes = counted(.bytes, "byte"))]
    FrameTooLarge {
        /// Their size.
        bytes: u32,
    },
    /// A block has no last instruction that leaves it.
    #[error("`{0}` does not end in a terminator")]
    NoTerminator(Block),
    /// A branch goes to a block that is no block of the function.
    #[error("`{0}` does not exist")]
    NoBlock(Block),
    /// A branch goes to a block that is not in the layout.
    #[error("`{0}` is not part of the function")]
    NotInLayout(Block),
    /// A phi lacks a predecessor of its block.
    #[error("the phi has no source for `{0}`")]
    NoPhiSource(Block),
    /// An instruction that defines one register has other results.
    #[error("it defines one register")]
    NotOneResult,
    /// Sources or results are too many or too few.
    #[error("the number of operands is wrong")]
    OperandCount,
    /// An access has more or fewer registers than elements.
    #[error("the number of registers is not the vector's length")]
    VectorLength,
    /// Something else stands where a predicate is needed.
    #[error("{0} is no predicate")]
    NotPredicate(Part),
    /// Something else stands where one word is needed.
    #[error("{0} is no word")]
    NotWord(Part),
    /// A result is missing, or no register.
    #[error("a destination is missing or no register")]
    NoDestination,
    /// A destination is not as wide as the value that it gets.
    #[error("the destination has another width than its value")]
    DestinationWidth,
    /// A register is not as wide as its operand slot.
    #[error("a register has another width than its place")]
    RegisterWidth,
    /// A value of this many words is no operand.
    #[error("a value of {words} is no operand of this instruction", words = counted(.0, "word"))]
    TooWide(u32),
    /// An operand names a register that the function does not have.
    #[error("an operand is not a register of the function")]
    NoRegister,
    /// An operand reads a word that its register does not have.
    #[error("an operand reads word {0} of a register that has fewer")]
    NoWord(u8),
    /// An operand cannot be a value, or not of the width that is needed.
    #[error("an operand is no value of its place's width")]
    NotValue,
    /// An operand has modifiers of the machine level.
    #[error("source modifiers of the machine level have no meaning yet")]
    Modified,
    /// Something else stands where a special register is needed.
    #[error("expected a special register")]
    NotSpecial,
    /// Something else stands where a block is needed.
    #[error("a branch target is no block")]
    NotBlock,
    /// The operands of a call are not those of a call.
    #[error("a call is a callee, a number of results and parameters")]
    NotCall,
    /// A call passes something else than variables.
    #[error("a call's parameters are variables of the function")]
    NotParameter,
    /// An operand names a variable that the function does not have.
    #[error("a variable does not exist")]
    NoVariable,
    /// An address lacks a base or an offset.
    #[error("an address is a base and an offset")]
    NotAddress,
    /// An address is neither 32 nor 64 bits wide.
    #[error("an address is a word or two")]
    AddressWidth,
    /// A load or store moves a predicate.
    #[error("memory holds no predicates")]
    PredicateInMemory,
    /// An asynchronous copy has another size.
    #[error("a copy is of 4, 8 or 16 bytes")]
    CopySize,
    /// An atomic does not say which operation it does.
    #[error("the operation is missing")]
    NoOperation,
    /// The interpreter does not implement the opcode of this name.
    #[error("the interpreter has no meaning for `{0}`")]
    NoMeaning(&'static str),
}

/// A part of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its guard.
    Guard,
    /// The condition of a branch.
    Condition,
    /// The index of a switch.
    Index,
    /// A source.
    Source,
    /// A result.
    Destination,
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Part::Guard => "the guard",
            Part::Condition => "the condition",
            Part::Index => "the index",
            Part::Source => "the source",
            Part::Destination => "the destination",
        })
    }
}
