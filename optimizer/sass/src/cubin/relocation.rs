//! Relocations: where an address, or a part of it, has to be written.
//!
//! The table says for every type which bits of the sum of address and addend go where. Those of the types that nvlink
//! applies itself were found by letting it apply them to sums with a single bit set; those that wait for the loader, by
//! asking nvdisasm which bits of a call are its target. Numbers of headers have the bits that a handle of a texture has
//! for them: the texture's 20 below the sampler's 12.

/// A relocation of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// The index of the section that is changed.
    pub section: usize,
    /// The offset of what is changed: a word of code, or some bytes of data.
    pub offset: u64,
    /// The index of the symbol.
    pub symbol: usize,
    /// The type: a row of [`RelocationKind::ALL`] says what it does.
    pub kind: u32,
    /// What is added to the address; `None` if it is in the bits that are changed (`SHT_REL`).
    pub addend: Option<i64>,
}

/// A row of the table of relocations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelocationKind {
    /// The type.
    pub kind: u32,
    /// The name that cuobjdump prints.
    pub name: &'static str,
    /// What it does.
    pub effect: Effect,
}

/// What a relocation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Fields get parts of the value. The other bits stay as they are.
    Put(&'static [Field]),
    /// Nothing, if the symbol is in use.
    Nothing,
    /// Not known.
    Unknown,
}

/// Some bits that get a part of the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// What the bits are of.
    pub source: Source,
    /// The lowest bit that is taken.
    pub from: u8,
    /// How many bits.
    pub len: u8,
    /// Where the lowest one goes, from the relocation's offset on.
    pub to: u8,
}

/// What a field is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The address with the addend.
    Sum,
    /// The number of the constant bank that the symbol lies in.
    Bank,
}

const fn sum(from: u8, len: u8, to: u8) -> Field {
    Field { source: Source::Sum, from, len, to }
}

const fn bank(to: u8) -> Field {
    Field { source: Source::Bank, from: 0, len: 5, to }
}

macro_rules! relocations {
    ($($kind:literal $name:ident $([$($field:expr),+])? $($effect:ident)?,)*) => {
        impl RelocationKind {
            /// Every type that cuobjdump 13.5 has a name for.
            pub const ALL: &[RelocationKind] = &[$(RelocationKind {
                kind: $kind,
                name: stringify!($name),
                effect: $(Effect::Put(&[$($field),+]))? $(Effect::$effect)?,
            },)*];
        }
    };
}

relocations! {
    1 R_CUDA_32 [sum(0, 32, 0)],
    2 R_CUDA_64 [sum(0, 64, 0)],
    3 R_CUDA_G32 [sum(0, 32, 0)],
    4 R_CUDA_G64 [sum(0, 64, 0)],
    5 R_CUDA_ABS32_26 [sum(0, 32, 26)],
    6 R_CUDA_TEX_HEADER_INDEX [sum(0, 20, 0)],
    7 R_CUDA_SAMP_HEADER_INDEX [sum(0, 12, 20)],
    8 R_CUDA_SURF_HW_DESC Unknown,
    9 R_CUDA_SURF_HW_SW_DESC Unknown,
    10 R_CUDA_ABS32_LO_26 [sum(0, 32, 26)],
    11 R_CUDA_ABS32_HI_26 [sum(32, 32, 26)],
    12 R_CUDA_ABS32_23 [sum(0, 32, 23)],
    13 R_CUDA_ABS32_LO_23 [sum(0, 32, 23)],
    14 R_CUDA_ABS32_HI_23 [sum(32, 32, 23)],
    15 R_CUDA_ABS24_26 [sum(0, 24, 26)],
    16 R_CUDA_ABS24_23 [sum(0, 24, 23)],
    17 R_CUDA_ABS16_26 [sum(0, 16, 26)],
    18 R_CUDA_ABS16_23 [sum(0, 16, 23)],
    19 R_CUDA_TEX_SLOT Unknown,
    20 R_CUDA_SAMP_SLOT Unknown,
    21 R_CUDA_SURF_SLOT Unknown,
    22 R_CUDA_TEX_BINDLESSOFF13_32 [sum(2, 13, 32)],
    23 R_CUDA_TEX_BINDLESSOFF13_47 [sum(2, 13, 47)],
    24 R_CUDA_CONST_FIELD19_28 Unknown,
    25 R_CUDA_CONST_FIELD19_23 [sum(2, 14, 23), bank(37)],
    26 R_CUDA_TEX_SLOT9_49 Unknown,
    27 R_CUDA_6_31 [sum(0, 6, 31)],
    28 R_CUDA_2_47 [sum(0, 2, 47)],
    29 R_CUDA_TEX_BINDLESSOFF13_41 [sum(2, 13, 41)],
    30 R_CUDA_TEX_BINDLESSOFF13_45 [sum(2, 13, 45)],
    31 R_CUDA_FUNC_DESC32_23 Unknown,
    32 R_CUDA_FUNC_DESC32_LO_23 Unknown,
    33 R_CUDA_FUNC_DESC32_HI_23 Unknown,
    34 R_CUDA_FUNC_DESC_32 Unknown,
    35 R_CUDA_FUNC_DESC_64 Unknown,
    36 R_CUDA_CONST_FIELD21_26 [sum(0, 16, 26), bank(42)],
    37 R_CUDA_QUERY_DESC21_37 Unknown,
    38 R_CUDA_CONST_FIELD19_26 [sum(2, 14, 26), bank(40)],
    39 R_CUDA_CONST_FIELD21_23 [sum(0, 16, 23), bank(39)],
    40 R_CUDA_PCREL_IMM24_26 Unknown,
    41 R_CUDA_PCREL_IMM24_23 Unknown,
    42 R_CUDA_ABS32_20 [sum(0, 32, 20)],
    43 R_CUDA_ABS32_LO_20 [sum(0, 32, 20)],
    44 R_CUDA_ABS32_HI_20 [sum(32, 32, 20)],
    45 R_CUDA_ABS24_20 [sum(0, 24, 20)],
    46 R_CUDA_ABS16_20 [sum(0, 16, 20)],
    47 R_CUDA_FUNC_DESC32_20 Unknown,
    48 R_CUDA_FUNC_DESC32_LO_20 Unknown,
    49 R_CUDA_FUNC_DESC32_HI_20 Unknown,
    50 R_CUDA_CONST_FIELD19_20 [sum(2, 14, 20), bank(34)],
    51 R_CUDA_BINDLESSOFF13_36 [sum(2, 13, 36)],
    52 R_CUDA_SURF_HEADER_INDEX [sum(0, 20, 0)],
    53 R_CUDA_INSTRUCTION64 Unknown,
    54 R_CUDA_CONST_FIELD21_20 [sum(0, 16, 20), bank(36)],
    55 R_CUDA_ABS32_32 [sum(0, 32, 32)],
    56 R_CUDA_ABS32_LO_32 [sum(0, 32, 32)],
    57 R_CUDA_ABS32_HI_32 [sum(32, 32, 32)],
    58 R_CUDA_ABS47_34 [sum(2, 47, 34)],
    59 R_CUDA_ABS16_32 [sum(0, 16, 32)],
    60 R_CUDA_ABS24_32 [sum(0, 24, 32)],
    61 R_CUDA_FUNC_DESC32_32 Unknown,
    62 R_CUDA_FUNC_DESC32_LO_32 Unknown,
    63 R_CUDA_FUNC_DESC32_HI_32 Unknown,
    64 R_CUDA_CONST_FIELD19_40 [sum(2, 14, 40), bank(54)],
    65 R_CUDA_BINDLESSOFF14_40 [sum(2, 14, 40)],
    66 R_CUDA_CONST_FIELD21_38 [sum(0, 16, 38), bank(54)],
    67 R_CUDA_INSTRUCTION128 Unknown,
    68 R_CUDA_YIELD_OPCODE9_0 Unknown,
    69 R_CUDA_YIELD_CLEAR_PRED4_87 Unknown,
    70 R_CUDA_32_LO [sum(0, 32, 0)],
    71 R_CUDA_32_HI [sum(32, 32, 0)],
    72 R_CUDA_UNUSED_CLEAR32 Nothing,
    73 R_CUDA_UNUSED_CLEAR64 Nothing,
    74 R_CUDA_ABS24_40 [sum(0, 24, 40)],
    75 R_CUDA_ABS55_16_34 [sum(2, 8, 16), sum(10, 47, 34)],
    76 R_CUDA_8_0 [sum(0, 8, 0)],
    77 R_CUDA_8_8 [sum(8, 8, 0)],
    78 R_CUDA_8_16 [sum(16, 8, 0)],
    79 R_CUDA_8_24 [sum(24, 8, 0)],
    80 R_CUDA_8_32 [sum(32, 8, 0)],
    81 R_CUDA_8_40 [sum(40, 8, 0)],
    82 R_CUDA_8_48 [sum(48, 8, 0)],
    83 R_CUDA_8_56 [sum(56, 8, 0)],
    84 R_CUDA_G8_0 [sum(0, 8, 0)],
    85 R_CUDA_G8_8 [sum(8, 8, 0)],
    86 R_CUDA_G8_16 [sum(16, 8, 0)],
    87 R_CUDA_G8_24 [sum(24, 8, 0)],
    88 R_CUDA_G8_32 [sum(32, 8, 0)],
    89 R_CUDA_G8_40 [sum(40, 8, 0)],
    90 R_CUDA_G8_48 [sum(48, 8, 0)],
    91 R_CUDA_G8_56 [sum(56, 8, 0)],
    92 R_CUDA_FUNC_DESC_8_0 Unknown,
    93 R_CUDA_FUNC_DESC_8_8 Unknown,
    94 R_CUDA_FUNC_DESC_8_16 Unknown,
    95 R_CUDA_FUNC_DESC_8_24 Unknown,
    96 R_CUDA_FUNC_DESC_8_32 Unknown,
    97 R_CUDA_FUNC_DESC_8_40 Unknown,
    98 R_CUDA_FUNC_DESC_8_48 Unknown,
    99 R_CUDA_FUNC_DESC_8_56 Unknown,
    100 R_CUDA_ABS20_44 [sum(0, 20, 44)],
    101 R_CUDA_SAMP_HEADER_INDEX_0 [sum(0, 12, 0)],
    102 R_CUDA_UNIFIED [sum(0, 64, 0)],
    103 R_CUDA_UNIFIED_32 [sum(0, 32, 0)],
    104 R_CUDA_UNIFIED_8_0 [sum(0, 8, 0)],
    105 R_CUDA_UNIFIED_8_8 [sum(8, 8, 0)],
    106 R_CUDA_UNIFIED_8_16 [sum(16, 8, 0)],
    107 R_CUDA_UNIFIED_8_24 [sum(24, 8, 0)],
    108 R_CUDA_UNIFIED_8_32 [sum(32, 8, 0)],
    109 R_CUDA_UNIFIED_8_40 [sum(40, 8, 0)],
    110 R_CUDA_UNIFIED_8_48 [sum(48, 8, 0)],
    111 R_CUDA_UNIFIED_8_56 [sum(56, 8, 0)],
    112 R_CUDA_UNIFIED32_LO_32 [sum(0, 32, 32)],
    113 R_CUDA_UNIFIED32_HI_32 [sum(32, 32, 32)],
    114 R_CUDA_ABS56_16_34 [sum(2, 8, 16), sum(10, 48, 34)],
    115 R_CUDA_CONST_FIELD22_37 [sum(0, 17, 37), bank(54)],
}

impl RelocationKind {
    /// The row of a type.
    pub fn of(kind: u32) -> Option<&'static RelocationKind> {
        // The rows are those of the types from 1 on.
        Self::ALL.get((kind as usize).wrapping_sub(1))
    }

    /// Whether it writes the number of a texture, a sampler or a surface.
    pub fn is_number(&self) -> bool {
        self.name.contains("_HEADER_INDEX")
    }

    /// Whether it writes addresses that are good for any space.
    pub fn is_generic(&self) -> bool {
        self.name.starts_with("R_CUDA_G")
    }

    /// How many bytes it changes or reads at most: 4, 8, or those of a word of code.
    pub fn size(&self) -> usize {
        let Effect::Put(fields) = self.effect else { return 0 };
        let bits = fields.iter().map(|field| field.to + field.len).max().unwrap_or(0);
        usize::from(bits).div_ceil(8)
    }
}

impl Field {
    /// The field of the value.
    pub(super) fn get(&self, sum: u64, bank: u64) -> u128 {
        let value = match self.source {
            Source::Sum => sum,
            Source::Bank => bank,
        };
        u128::from(value >> self.from) & self.largest()
    }

    /// The bits that the field has.
    pub(super) fn largest(&self) -> u128 {
        (1 << self.len) - 1
    }
}
