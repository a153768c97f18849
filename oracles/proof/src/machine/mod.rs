//! The meaning of machine instructions that compute registers from registers, as terms.
//!
//! [`meaning`] reads an instruction of `sass` by its parts, in the order of its text, and says what each register and
//! predicate becomes. It is written apart from the machine interpreter and from the scalar functions of the reference
//! interpreter, which the judge of compiled code has on both of its sides; the test compares them bit for bit, for
//! every word that the interpreter executes. Sources: NVIDIA's names of modifiers, what ptxas makes of PTX whose
//! meaning the PTX ISA states, and IEEE 754.
//!
//! *Floats.* Arithmetic that yields a NaN yields the one of its type: `0x7fffffff` for 32 bits, `0x7fff` for 16 bits of
//! either format, `0x7ff8000000000000` for 64 bits, `0x7f` for 8 bits. Conversions and minima do so, too. What moves,
//! selects or changes signs keeps the payload. `.FTZ` makes zeros of subnormal operands and results, with their sign.
//!
//! *Sums with carries.* A negated word of `n` bits counts as `2^n` less the word, so that a difference which does not
//! borrow carries, and the difference of nothing does.
//!
//! *What is not known* has no meaning: a modifier that no row here lists, an operand's suffix that its reader does not
//! know, a pair of registers with an odd number. [`absence`] has the mnemonics that stay without one.

mod bits;
mod convert;
mod float;
mod half;
mod integer;
mod packed;
mod predicate;
mod state;
mod word;

use oriole_sass::Instruction;
use oriole_sass::class::{Class, Flow, Memory, Order};

use super::term::{Term, Terms};
pub use state::{Place, State};
use word::Word;

/// The effect of an instruction on registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Results {
    /// Whether it does anything: a bit.
    pub guard: Term,
    /// The values that are written if it does: 32 bits for a register, one for a predicate. Of two values for one place
    /// the later one stays.
    pub values: Vec<(Place, Term)>,
}

/// Mnemonics, the modifiers that they may have, and what they do.
struct Row {
    names: &'static [&'static str],
    modifiers: &'static [&'static str],
    build: fn(&mut Word<'_>) -> Option<()>,
}

const fn row(
    names: &'static [&'static str],
    modifiers: &'static [&'static str],
    build: fn(&mut Word<'_>) -> Option<()>,
) -> Row {
    Row { names, modifiers, build }
}

const COMPARE: &[&str] = &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "T", "AND", "OR", "XOR", "U32", "U64", "S64", "EX"];
const SINGLE: &[&str] = &["FTZ", "RM", "RP", "RZ", "SAT"];
const COMPARE_FLOATS: &[&str] = &[
    "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T", "AND", "OR",
    "XOR", "FTZ", "BF", "BF16_V2", "MIN", "MAX",
];
const HALVES: &[&str] = &["FTZ", "SAT", "RELU", "OOB", "BF16_V2", "MMA", "F32"];
const LANES: &[&str] = &["32", "U32", "S32", "16x2", "U16x2", "S16x2", "U8x4", "S8x4", "RELU", "ISAT", "U64", "S64"];
const NUMBERS: &[&str] = &[
    "F16", "BF16", "F32", "F64", "TF32", "U2", "S2", "U4", "S4", "U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64",
    "FTZ", "NTZ", "SAT", "RM", "RP", "RZ", "FLOOR", "CEIL", "TRUNC",
];
const PACKED: &[&str] = &[
    "F16",
    "BF16",
    "F32",
    "TF32",
    "E4M3",
    "E5M2",
    "RZ",
    "RELU",
    "SATFINITE",
    "PACK_AB",
    "MERGE_C",
    "PACK_B",
    "UNPACK_B",
    "UNPACK_B_MERGE_C",
    "PACK_AB_MERGE_C",
];

const ROWS: &[Row] = &[
    row(&["IADD3", "UIADD3"], &["X", "64"], integer::add3),
    row(&["IADD"], &["X", "64"], integer::add),
    row(&["IMAD", "UIMAD"], &["X", "U32", "WIDE", "HI"], integer::multiply_add),
    row(&["LEA", "ULEA"], &["X", "HI", "SX32"], integer::shift_add),
    row(&["IABS", "UIABS"], &[], integer::absolute),
    row(&["VIADD", "UVIADD"], LANES, packed::add),
    row(&["IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX"], LANES, packed::extreme),
    row(&["VIMNMX3"], LANES, packed::extreme3),
    row(&["VIADDMNMX"], LANES, packed::add_extreme),
    row(&["IDP"], &["4A", "2A", "LO", "HI", "U8", "S8", "U16", "S16"], packed::dot),
    row(&["VABSDIFF"], &["U32"], packed::difference),
    row(&["VABSDIFF4"], &["U8", "ACC"], packed::differences),
    row(&["LOP3", "ULOP3"], &["LUT", "PAND"], bits::logic),
    row(&["SHF", "USHF"], &["L", "R", "W", "HI", "U32", "S32", "U64", "S64"], bits::shift),
    row(&["PRMT", "UPRMT"], &["F4E", "B4E", "RC8", "ECL", "ECR", "RC16"], bits::permute),
    row(&["MOV", "UMOV"], &["64"], bits::copy),
    row(&["SEL", "USEL"], &["64"], bits::select),
    row(&["BREV", "UBREV"], &[], bits::reverse),
    row(&["POPC", "UPOPC"], &[], bits::population),
    row(&["FLO", "UFLO"], &["U32", "SH"], bits::leading),
    row(&["SGXT", "USGXT"], &["U32", "W"], bits::extend),
    row(&["BMSK", "UBMSK"], &["W"], bits::mask),
    row(&["ISETP", "UISETP"], COMPARE, predicate::compare),
    row(&["PLOP3", "UPLOP3"], &["LUT"], predicate::logic),
    row(&["P2R", "UP2UR"], &["B1", "B2", "B3"], predicate::to_register),
    row(&["R2P", "UR2UP"], &[], predicate::from_register),
    row(&["FADD", "UFADD"], SINGLE, float::add),
    row(&["FMUL", "UFMUL"], SINGLE, float::multiply),
    row(&["FFMA", "UFFMA"], SINGLE, float::fused),
    row(&["DADD"], SINGLE, float::add),
    row(&["DMUL"], SINGLE, float::multiply),
    row(&["DFMA"], SINGLE, float::fused),
    row(&["FMNMX", "UFMNMX", "FMNMX3"], &["FTZ", "NAN", "XORSIGN"], float::extreme),
    row(&["FSEL", "UFSEL"], &[], float::select),
    row(&["FSETP", "UFSETP", "DSETP"], COMPARE_FLOATS, float::compare),
    row(&["FSET", "UFSET"], COMPARE_FLOATS, float::set),
    row(&["HADD2"], HALVES, half::add),
    row(&["HMUL2"], HALVES, half::multiply),
    row(&["HFMA2"], HALVES, half::fused),
    row(&["HMNMX2"], &["FTZ", "NAN", "XORSIGN", "BF16_V2"], half::extreme),
    row(&["HSETP2"], COMPARE_FLOATS, half::compare),
    row(&["HSET2"], COMPARE_FLOATS, half::set),
    row(&["F2F", "UF2F"], NUMBERS, convert::between_floats),
    row(&["F2I", "UF2I"], NUMBERS, convert::to_integer),
    row(&["I2F", "UI2F", "I2FP", "UI2FP"], NUMBERS, convert::from_integer),
    row(&["I2I", "UI2I"], NUMBERS, convert::between_integers),
    row(&["FRND", "UFRND"], NUMBERS, convert::to_integral),
    row(&["F2FP"], PACKED, convert::pack),
    row(&["I2IP"], NUMBERS, convert::pack_integers),
    row(&["F2IP"], NUMBERS, convert::to_bytes),
];

const TEXTURES: &str = "textures are the launch's affair";

/// Mnemonics that compute registers from registers and have no meaning here, with the reason.
const ABSENT: &[(&str, &str)] = &[
    ("MUFU", "its results are approximations, of which NVIDIA states the error and not the value"),
    ("QSPC", "which space an address lies in is the affair of memory"),
    ("TXQ", TEXTURES),
    ("TMML", TEXTURES),
    ("FCHK", "which quotients need the long way is not documented"),
];

/// Whether an instruction of a class computes registers from registers and does nothing else.
pub fn is_register_only(class: &Class) -> bool {
    (class.memory, class.order, class.flow) == (Memory::None, Order::Free, Flow::Next) && !class.convergent
}

/// Why a mnemonic has no meaning here; `None` where it has one, if only for some of its modifiers, and for one that
/// does more than compute registers.
pub fn absence(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(absent, _)| *absent == family(name)).map(|(_, reason)| *reason)
}

/// The effect of an instruction on the registers of a state, which it may read; `None` where nothing here says.
pub fn meaning(terms: &mut Terms, instruction: &Instruction<'_>, state: &mut State) -> Option<Results> {
    let name = family(instruction.encoding.name);
    let row = ROWS.iter().find(|row| row.names.contains(&name))?;
    let mut word = Word::new(terms, state, *instruction)?;
    if !word.names().iter().all(|name| row.modifiers.contains(name)) {
        return None;
    }
    (row.build)(&mut word)?;
    word.results()
}

/// A mnemonic without modifiers.
fn family(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
