//! The 42 slots (`spec/peephole.txt`, "Matching algorithm", step 1), by number.
//!
//! Numbers of slots and values are the document's. Of the names of values, those of types, spaces, scopes and rounding
//! are; it gives the others a range and an example at most, and the meaning that they have here is our reading.

use oriole_ir::ops::{
    Addend, AsyncCache, AtomOp, Field, LeftElement, MatrixShape, Order, RightElement, Rounding, Scope, ShuffleMode,
    SrcType, Type,
};

use super::Code::{Known, Of};
use super::{Code, Counts, OWN, Slot, Words, derived};

const NONE: Slot =
    Slot { number: 0, name: "", doc: "", fields: &[], words: &[], function: None, values: &[], missing: None };

/// A code for each of some values of a field: `codes!(Type: "F16" => F16, …)`.
macro_rules! codes {
    ($field:ident: $($word:literal => $value:ident),* $(,)?) => {
        &[$(($word, Of(Field::$field, $field::$value as u8))),*]
    };
}

const fn words(
    of: &'static [&'static str],
    counts: Counts,
    means: &'static [(&'static str, Code)],
    otherwise: Option<Code>,
) -> Words {
    Words { of, means, counts, otherwise }
}

const fn ty(ty: Type) -> Option<Code> {
    Some(Of(Field::Type, ty as u8))
}

/// Loads, stores and atomic operations by the space that they name.
const GENERIC: &[&str] = &["LD", "ST", "ATOM", "QSPC"];
const GLOBAL: &[&str] = &["LDG", "STG", "ATOMG", "RED", "REDG", "LDGSTS"];
const SHARED: &[&str] = &["LDS", "STS", "ATOMS", "LDSM", "STSM"];
const LOCAL: &[&str] = &["LDL", "STL"];
const CONSTANT: &[&str] = &["LDC", "ULDC", "LDCU"];
const ACCESSES: &[&str] = &[
    "LD", "ST", "ATOM", "LDG", "STG", "ATOMG", "RED", "REDG", "LDS", "STS", "ATOMS", "LDL", "STL", "LDC", "ULDC",
    "LDCU",
];
const ORDERED: &[&str] = &["LD", "ST", "LDG", "STG", "ATOM", "ATOMG", "RED", "REDG"];
const ATOMICS: &[&str] = &["ATOM", "ATOMG", "ATOMS", "RED", "REDG"];
/// Operations on floats of 32 bits, on pairs of halves and on doubles.
const SINGLES: &[&str] = &[
    "FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "FSEL", "FSETP", "FSET", "FRND", "FCHK", "FSWZADD", "UFADD", "UFMUL",
    "UFFMA", "UFMNMX", "UFSEL", "UFSETP", "UFSET",
];
const HALVES: &[&str] = &["HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSET2", "HSETP2"];
const DOUBLES: &[&str] = &["DADD", "DMUL", "DFMA", "DSETP", "DMMA"];
const INTEGERS: &[&str] = &[
    "IADD3",
    "IADD",
    "IMAD",
    "ISETP",
    "IMNMX",
    "VIMNMX",
    "VIMNMX3",
    "VIADD",
    "VIADDMNMX",
    "UIADD3",
    "UIMAD",
    "UISETP",
];
const BITS: &[&str] = &["MOV", "SEL", "LOP3", "PRMT", "UMOV", "USEL", "ULOP3", "UPRMT", "LEA", "ULEA"];
/// Rounded sums and products.
const ROUNDED: &[&str] = &["FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "I2F", "F2F", "UFADD", "UFMUL", "UFFMA"];

const TYPES: &[Words] = &[
    words(
        &["MUFU"],
        Counts::First,
        codes!(Type: "RCP64H" => F64, "RSQ64H" => F64, "F16" => F16, "BF16" => Bf16),
        ty(Type::F32),
    ),
    words(SINGLES, Counts::First, codes!(Type: "F16" => F16, "BF16" => Bf16, "F64" => F64), ty(Type::F32)),
    words(HALVES, Counts::First, codes!(Type: "BF16_V2" => Bf16x2, "F32" => F32), ty(Type::F16x2)),
    words(DOUBLES, Counts::First, &[], ty(Type::F64)),
    words(&["F2F"], Counts::First, codes!(Type: "F16" => F16, "BF16" => Bf16, "F32" => F32, "F64" => F64), None),
    words(&["I2F"], Counts::First, codes!(Type: "F16" => F16, "BF16" => Bf16, "F64" => F64), ty(Type::F32)),
    words(
        &["F2I"],
        Counts::First,
        codes!(Type: "U8" => U8, "U16" => U16, "U32" => U32, "U64" => U64, "S8" => S8, "S16" => S16, "S64" => S64),
        ty(Type::S32),
    ),
    words(&["SHF", "USHF"], Counts::First, codes!(Type: "U32" => U32, "S32" => S32, "U64" => U64, "S64" => S64), None),
    words(
        INTEGERS,
        Counts::First,
        codes!(Type: "U32" => U32, "U64" => U64, "S64" => S64, "U16x2" => U16x2, "S16x2" => S16x2),
        ty(Type::S32),
    ),
    words(BITS, Counts::First, codes!(Type: "64" => B64), ty(Type::B32)),
    words(
        ACCESSES,
        Counts::First,
        codes!(
            Type: "U8" => U8, "S8" => S8, "U16" => U16, "S16" => S16, "S32" => S32, "64" => B64, "S64" => S64,
            "128" => B128, "F16x2" => F16x2, "BF16x2" => Bf16x2, "F32" => F32, "F64" => F64,
        ),
        ty(Type::B32),
    ),
];

const SOURCE_TYPES: &[Words] = &[
    words(&["F2F"], Counts::Last, codes!(SrcType: "F16" => F16, "BF16" => Bf16, "F32" => F32, "F64" => F64), None),
    words(
        &["F2I"],
        Counts::Last,
        codes!(SrcType: "F16" => F16, "BF16" => Bf16, "F64" => F64),
        Some(Of(Field::SrcType, SrcType::F32 as u8)),
    ),
    words(
        &["I2F"],
        Counts::Last,
        codes!(
            SrcType: "U8" => U8, "U16" => U16, "U32" => U32, "U64" => U64, "S8" => S8, "S16" => S16, "S64" => S64,
        ),
        Some(Of(Field::SrcType, SrcType::S32 as u8)),
    ),
];

const OPERATIONS: &[Words] = &[
    words(
        ATOMICS,
        Counts::First,
        codes!(
            AtomOp: "ADD" => Add, "MIN" => Min, "MAX" => Max, "AND" => And, "OR" => Or, "XOR" => Xor, "EXCH" => Exch,
            "INC" => Inc, "DEC" => Dec,
        ),
        None,
    ),
    words(
        &["MUFU"],
        Counts::First,
        &[
            ("RCP", Known(598)),
            ("RSQ", Known(599)),
            ("COS", Known(OWN)),
            ("SIN", Known(OWN + 1)),
            ("EX2", Known(OWN + 2)),
            ("LG2", Known(OWN + 3)),
            ("SQRT", Known(OWN + 4)),
            ("TANH", Known(OWN + 5)),
            ("RCP64H", Known(OWN + 6)),
            ("RSQ64H", Known(OWN + 7)),
        ],
        None,
    ),
];

const ELEMENTS_A: &[Words] = &[
    words(&["HMMA", "HGMMA"], Counts::First, codes!(LeftElement: "BF16" => Bf16, "TF32" => Tf32), FIRST_F16),
    words(&["DMMA"], Counts::First, &[], Some(Of(Field::LeftElement, LeftElement::F64 as u8))),
    words(&["BMMA", "BGMMA"], Counts::First, &[], Some(Of(Field::LeftElement, LeftElement::B1 as u8))),
    words(
        &["IMMA", "IGMMA", "QMMA", "QGMMA"],
        Counts::First,
        codes!(LeftElement: "U8" => U8, "S8" => S8, "U4" => U4, "S4" => S4, "E4M3" => E4m3, "E5M2" => E5m2),
        None,
    ),
];
const FIRST_F16: Option<Code> = Some(Of(Field::LeftElement, LeftElement::F16 as u8));

const ELEMENTS_B: &[Words] = &[
    words(
        &["HMMA", "HGMMA"],
        Counts::First,
        codes!(RightElement: "BF16" => Bf16, "TF32" => Tf32),
        Some(Of(Field::RightElement, RightElement::F16 as u8)),
    ),
    words(&["DMMA"], Counts::First, &[], Some(Of(Field::RightElement, RightElement::F64 as u8))),
    words(&["BMMA", "BGMMA"], Counts::First, &[], Some(Of(Field::RightElement, RightElement::B1 as u8))),
    words(
        &["IMMA", "IGMMA", "QMMA", "QGMMA"],
        Counts::Last,
        codes!(RightElement: "U8" => U8, "S8" => S8, "U4" => U4, "S4" => S4, "E4M3" => E4m3, "E5M2" => E5m2),
        None,
    ),
];

const SUMS: &[Words] = &[
    words(&["HMMA", "HGMMA", "QMMA", "QGMMA"], Counts::First, codes!(Addend: "F16" => F16, "F32" => F32), None),
    words(&["DMMA"], Counts::First, &[], Some(Of(Field::Addend, Addend::F64 as u8))),
    words(&["IMMA", "BMMA", "IGMMA", "BGMMA"], Counts::First, &[], Some(Of(Field::Addend, Addend::S32 as u8))),
];

const SHAPES: &[Words] = &[words(
    &["HMMA", "IMMA", "BMMA", "DMMA", "QMMA"],
    Counts::First,
    codes!(
        MatrixShape: "1684" => M16n8k4, "1688" => M16n8k8, "16816" => M16n8k16, "16832" => M16n8k32,
        "16864" => M16n8k64, "168128" => M16n8k128, "168256" => M16n8k256, "884" => M8n8k4, "8x8x4" => M8n8k4,
        "16x8x4" => M16n8k4, "16x8x8" => M16n8k8, "16x8x16" => M16n8k16, "8816" => M8n8k16, "8832" => M8n8k32,
        "88128" => M8n8k128,
    ),
    None,
)];

const SCOPES: &[Words] = &[
    words(ORDERED, Counts::First, codes!(Scope: "CTA" => Cta, "SM" => Cta, "GPU" => Gpu, "SYS" => Sys), None),
    words(
        &["MEMBAR", "FENCE", "ERRBAR"],
        Counts::First,
        codes!(Scope: "CTA" => Cta, "SM" => Cta, "GPU" => Gpu, "SYS" => Sys),
        None,
    ),
];

/// How sums and products round. `RN` is not written.
const ROUNDINGS: &[Words] = &[
    words(
        ROUNDED,
        Counts::First,
        codes!(Rounding: "RM" => Rm, "RP" => Rp, "RZ" => Rz),
        Some(Of(Field::Rounding, Rounding::Rn as u8)),
    ),
    words(
        &["F2I", "FRND"],
        Counts::First,
        codes!(Rounding: "FLOOR" => Rmi, "CEIL" => Rpi, "TRUNC" => Rzi),
        Some(Of(Field::Rounding, Rounding::Rni as u8)),
    ),
];

/// The slots, by number.
pub const SLOTS: &[Slot] = &[
    Slot {
        number: 0x05,
        name: "Ori opcode ID",
        doc: "The opcode; products of matrices are one.",
        function: Some(derived::opcode),
        values: &[(12, "product of matrices")],
        ..NONE
    },
    Slot {
        number: 0x7b,
        name: "operation class",
        doc: "Computes, or accesses memory, orders, decides control.",
        function: Some(derived::class),
        values: &[(536, "computes of its operands alone")],
        ..NONE
    },
    Slot {
        number: 0x7e,
        name: "data type qualifier",
        doc: "The type of the result.",
        fields: &[Field::Type],
        words: TYPES,
        values: &[(547, "f32"), (548, "f64")],
        ..NONE
    },
    Slot {
        number: 0x88,
        name: "sub-operation modifier",
        doc: "What an atomic operation or a reduction does; the function of `MUFU`.",
        fields: &[Field::AtomOp, Field::ReduxOp],
        words: OPERATIONS,
        values: &[(406, "add"), (407, "min"), (408, "max"), (598, "reciprocal"), (599, "reciprocal of the root")],
        ..NONE
    },
    Slot {
        number: 0x90,
        name: "FP precision class",
        doc: "Floats of 16 bits, or of 32.",
        words: &[
            words(HALVES, Counts::First, &[], Some(Known(628))),
            words(SINGLES, Counts::First, &[("F16", Known(628)), ("BF16", Known(628))], Some(Known(629))),
            words(&["MUFU"], Counts::First, &[("F16", Known(628)), ("BF16", Known(628))], Some(Known(629))),
        ],
        function: Some(derived::precision),
        values: &[(628, "16 bits"), (629, "32 bits")],
        ..NONE
    },
    Slot {
        number: 0xa1,
        name: "addressing mode variant",
        doc: "An address in a register, with or without a uniform one, or in none.",
        function: Some(derived::address),
        values: &[(700, "a register")],
        ..NONE
    },
    Slot {
        number: 0xbe,
        name: "operation subtype",
        doc: "An instruction without operands.",
        function: Some(derived::operandless),
        values: &[(815, "no operands")],
        ..NONE
    },
    Slot {
        number: 0xd2,
        name: "memory scope",
        doc: "The threads that an access or a fence is ordered with.",
        fields: &[Field::Scope],
        words: SCOPES,
        values: &[(1177, "gpu"), (1181, "sys")],
        ..NONE
    },
    Slot {
        number: 0xd3,
        name: "memory ordering",
        doc: "How an access is ordered. SASS has strong accesses and fences of their own for acquire and release.",
        fields: &[Field::Order],
        words: &[words(
            ORDERED,
            Counts::First,
            codes!(Order: "STRONG" => Relaxed, "MMIO" => Mmio),
            Some(Of(Field::Order, Order::Weak as u8)),
        )],
        values: &[(1181, "acquire")],
        ..NONE
    },
    Slot {
        number: 0xdc,
        name: "encoding property (type)",
        doc: "The type of the source of a conversion.",
        fields: &[Field::SrcType],
        words: SOURCE_TYPES,
        values: &[(1206, "f32")],
        ..NONE
    },
    Slot {
        number: 0xf2,
        name: "width / size qualifier",
        doc: "32 or 64 bits.",
        words: &[words(
            ACCESSES,
            Counts::First,
            &[
                ("64", Known(1282)),
                ("S64", Known(1282)),
                ("F64", Known(1282)),
                ("U8", Known(OWN)),
                ("S8", Known(OWN)),
                ("U16", Known(OWN + 1)),
                ("S16", Known(OWN + 1)),
                ("128", Known(OWN + 2)),
                ("256", Known(OWN + 3)),
            ],
            Some(Known(1281)),
        )],
        function: Some(derived::width),
        values: &[(1281, "32 bits"), (1282, "64 bits")],
        ..NONE
    },
    Slot {
        number: 0x101,
        name: "async copy routing",
        doc: "The caches that an asynchronous copy goes through.",
        fields: &[Field::AsyncCache],
        words: &[words(
            &["LDGSTS"],
            Counts::First,
            codes!(AsyncCache: "BYPASS" => Cg),
            Some(Of(Field::AsyncCache, AsyncCache::Ca as u8)),
        )],
        values: &[(1332, "cg")],
        ..NONE
    },
    Slot {
        number: 0x119,
        name: "address space qualifier",
        doc: "The state space of an access.",
        fields: &[Field::Space],
        words: &[
            words(GENERIC, Counts::First, &[], Some(Known(1435))),
            words(GLOBAL, Counts::First, &[], Some(Known(1436))),
            words(SHARED, Counts::First, &[], Some(Known(1437))),
            words(LOCAL, Counts::First, &[], Some(Known(1438))),
            words(CONSTANT, Counts::First, &[], Some(Known(1439))),
        ],
        values: &[
            (1435, "generic"),
            (1436, "global"),
            (1437, "shared"),
            (1438, "local"),
            (1439, "const"),
            (1440, "param"),
        ],
        ..NONE
    },
    Slot {
        number: 0x126,
        name: "constraint field",
        doc: "The SM has a word of the instruction.",
        function: Some(derived::has_word),
        values: &[(1493, "it has one")],
        ..NONE
    },
    Slot {
        number: 0x127,
        name: "extended constraint",
        doc: "The SM has a word of the instruction with these operands.",
        function: Some(derived::has_operands),
        values: &[(1499, "it has one")],
        ..NONE
    },
    Slot {
        number: 0x142,
        name: "instruction form",
        doc: "The word has other forms: an operand may be a register, an immediate, a constant, a uniform register.",
        function: Some(derived::has_forms),
        values: &[(1800, "one of several")],
        ..NONE
    },
    Slot {
        number: 0x152,
        name: "operand layout tag",
        doc: "Which source is no general register.",
        function: Some(derived::layout),
        values: &[(1871, "none"), (1873, "the second"), (1874, "the third")],
        ..NONE
    },
    Slot {
        number: 0x155,
        name: "source modifier",
        doc: "Whether a source is an absolute value, or negated.",
        function: Some(derived::source_marks),
        values: &[(1881, "absolute value"), (1882, "negated")],
        ..NONE
    },
    Slot {
        number: 0x159,
        name: "rounding mode selector",
        doc: "How a result is rounded.",
        fields: &[Field::Rounding],
        words: ROUNDINGS,
        values: &[(1899, "not written"), (1900, "rn"), (1901, "rz"), (1902, "rm"), (1903, "rp")],
        ..NONE
    },
    Slot {
        number: 0x15c,
        name: "precision qualifier",
        doc: "How exact a function is.",
        fields: &[Field::Approx],
        words: &[words(&["MUFU"], Counts::First, &[], Some(Known(1912)))],
        values: &[(1912, "approx"), (1915, "full")],
        ..NONE
    },
    Slot {
        number: 0x163,
        name: "extended property (rnd)",
        doc: "Rounding is to nearest even.",
        function: Some(derived::is_nearest),
        values: &[(1943, "rn")],
        ..NONE
    },
    Slot {
        number: 0x167,
        name: "operand negation mask",
        doc: "The negated sources of a float operation of the machine: above the first number, a bit for each.",
        function: Some(derived::negations),
        values: &[(1957, "none"), (1961, "the third")],
        ..NONE
    },
    Slot {
        number: 0x178,
        name: "extended property A",
        doc: "A product of matrices, of whole ones or of sparse ones.",
        function: Some(derived::product),
        values: &[(2035, "whole")],
        ..NONE
    },
    Slot {
        number: 0x179,
        name: "extended property B",
        doc: "The orders of the matrices of a product.",
        function: Some(derived::orders),
        values: &[(2037, "row.col"), (2038, "row.row"), (2039, "col.col"), (2040, "col.row"), (2041, "not said")],
        ..NONE
    },
    Slot {
        number: 0x18a,
        name: "dual-issue / sched hint",
        missing: Some(
            "No SM of the table issues two instructions of a warp at once, and its words have no bit for it.",
        ),
        ..NONE
    },
    Slot {
        number: 0x18d,
        name: "encoding validity stamp",
        doc: "Operands are legal: behind SetAfterLegalization, and in physical form.",
        function: Some(derived::is_legal),
        values: &[(2115, "legal")],
        ..NONE
    },
    Slot {
        number: 0x196,
        name: "MMA type A",
        doc: "What the elements of the first matrix are.",
        fields: &[Field::LeftElement],
        words: ELEMENTS_A,
        values: &[(2146, "f16")],
        ..NONE
    },
    Slot {
        number: 0x197,
        name: "MMA type B",
        doc: "What the elements of the second matrix are.",
        fields: &[Field::RightElement],
        words: ELEMENTS_B,
        ..NONE
    },
    Slot {
        number: 0x199,
        name: "MMA accumulator type",
        doc: "What the elements of the matrix that is added to are.",
        fields: &[Field::Addend],
        words: SUMS,
        ..NONE
    },
    Slot {
        number: 0x19d,
        name: "extended qualifier",
        doc: "The shape of a product of matrices.",
        fields: &[Field::MatrixShape],
        words: SHAPES,
        values: &[(2167, "m16n8k8"), (2168, "m16n8k16")],
        ..NONE
    },
    Slot {
        number: 0x1a8,
        name: "uniform register hint",
        doc: "One value for a warp, or that it could be one.",
        function: Some(derived::uniform),
        values: &[
            (2214, "it is"),
            (2215, "it could be"),
            (2216, ""),
            (2217, ""),
            (2218, ""),
            (2219, ""),
            (2220, ""),
            (2221, ""),
            (2222, ""),
            (2223, ""),
            (2224, ""),
            (2225, ""),
        ],
        ..NONE
    },
    Slot {
        number: 0x1ad,
        name: "extended qualifier B",
        doc: "How many pairs are multiplied for an element of a product of a warpgroup.",
        fields: &[Field::GroupInner],
        function: Some(derived::pairs),
        values: &[(2253, "k8"), (2254, "k16"), (2255, "k32"), (2256, "k64"), (2257, "k256")],
        ..NONE
    },
    Slot {
        number: 0x1ae,
        name: "warp shuffle mode A",
        doc: "How a shuffle selects the lane.",
        fields: &[Field::ShuffleMode],
        words: &[words(
            &["SHFL"],
            Counts::First,
            codes!(ShuffleMode: "IDX" => Idx, "UP" => Up, "DOWN" => Down, "BFLY" => Bfly),
            None,
        )],
        ..NONE
    },
    Slot {
        number: 0x1af,
        name: "warp shuffle mode B",
        doc: "Whether a shuffle says if the lane is in range.",
        function: Some(derived::shuffle),
        ..NONE
    },
    Slot {
        number: 0x1b2,
        name: "FP composition",
        doc: "PTX lets the operation be contracted into a fused one. A word does not say what PTX allowed.",
        function: Some(derived::contracts),
        values: &[(2274, "it may be")],
        ..NONE
    },
    Slot {
        number: 0x1d1,
        name: "codegen control A",
        missing: Some(
            "The document gives neither a value nor what reads it; nothing of a word or an operation is left.",
        ),
        ..NONE
    },
    Slot {
        number: 0x1d2,
        name: "codegen control B",
        missing: Some("As codegen control A: no value, no use, and no part of a word without a slot."),
        ..NONE
    },
    Slot {
        number: 0x1e0,
        name: "encoding format class",
        doc: "What the sources are.",
        function: Some(derived::operands),
        values: &[
            (2478, "three registers"),
            (2479, "registers and an immediate"),
            (2480, "two registers"),
            (2481, "registers and a constant"),
        ],
        ..NONE
    },
    Slot {
        number: 0x1e4,
        name: "extended modifier C",
        missing: Some("Of Blackwell, without a value; its modifiers are in the words of their mnemonics."),
        ..NONE
    },
    Slot {
        number: 0x1ec,
        name: "extended modifier D",
        missing: Some("Of Blackwell, without a value; its modifiers are in the words of their mnemonics."),
        ..NONE
    },
    Slot {
        number: 0x216,
        name: "MMA layout descriptor",
        doc: "A matrix lies where a descriptor says.",
        function: Some(derived::descriptor),
        values: &[(2717, "in shared memory")],
        ..NONE
    },
    Slot {
        number: 0x253,
        name: "extended field (max)",
        doc: "A product of matrices by a warp, or by four together.",
        function: Some(derived::tag),
        values: &[(2937, "of a warp"), (2938, "of a warpgroup")],
        ..NONE
    },
];
