//! The attributes of `.nv.info`: a list of records, each a format, a code and a value.
//!
//! A record is a byte with the format, a byte with the code, and 16 bits: nothing (format 1), a byte (2), a value (3),
//! or the length (4) of the bytes that follow.

use super::error::CubinError;

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// The code: a row of [`AttributeRow::ALL`] has its name.
    pub code: u8,
    /// The value.
    pub value: Value,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing: that the attribute is there says it.
    None,
    /// 8 bits.
    Byte(u8),
    /// 16 bits.
    Half(u16),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What the value of an attribute is, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// No value.
    Flag,
    /// One number.
    Number,
    /// A symbol's index, and a number: these records are in `.nv.info`.
    OfSymbol,
    /// Numbers of 32 bits.
    Numbers,
    /// Offsets of instructions in the code.
    Offsets,
    /// Indices of symbols.
    Symbols,
    /// A parameter.
    Parameter,
    /// Indirect branches with their targets.
    Branches,
    /// Not known: no file with it was seen, or nobody says what its numbers are.
    Unknown,
}

/// A row of the table of attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttributeRow {
    /// The code.
    pub code: u8,
    /// The name that cuobjdump prints.
    pub name: &'static str,
    /// What the value is.
    pub shape: Shape,
}

macro_rules! attributes {
    ($($code:literal $constant:ident $shape:ident,)*) => {
        /// The codes by name.
        pub mod code {
            $(#[doc = concat!("`EIATTR_", stringify!($constant), "`")] pub const $constant: u8 = $code;)*
        }

        impl AttributeRow {
            /// Every attribute that cuobjdump 13.5 has a name for. 0x35 and 0x5f are among its unknown ones and in most
            /// cubins.
            pub const ALL: &[AttributeRow] = &[
                $(AttributeRow { code: $code, name: concat!("EIATTR_", stringify!($constant)), shape: Shape::$shape },)*
            ];
        }
    };
}

attributes! {
    0x00 ERROR Unknown,
    0x01 PAD Unknown,
    0x02 IMAGE_SLOT Unknown,
    0x03 JUMPTABLE_RELOCS Unknown,
    0x04 CTAIDZ_USED Flag,
    0x05 MAX_THREADS Numbers,
    0x06 IMAGE_OFFSET Unknown,
    0x07 IMAGE_SIZE Unknown,
    0x08 TEXTURE_NORMALIZED Unknown,
    0x09 SAMPLER_INIT Unknown,
    0x0a PARAM_CBANK OfSymbol,
    0x0b SMEM_PARAM_OFFSETS Unknown,
    0x0c CBANK_PARAM_OFFSETS Unknown,
    0x0d SYNC_STACK Unknown,
    0x0e TEXID_SAMPID_MAP Unknown,
    0x0f EXTERNS Symbols,
    0x10 REQNTID Numbers,
    0x11 FRAME_SIZE OfSymbol,
    0x12 MIN_STACK_SIZE OfSymbol,
    0x13 SAMPLER_FORCE_UNNORMALIZED Unknown,
    0x14 BINDLESS_IMAGE_OFFSETS Unknown,
    0x15 BINDLESS_TEXTURE_BANK Unknown,
    0x16 BINDLESS_SURFACE_BANK Unknown,
    0x17 KPARAM_INFO Parameter,
    0x18 SMEM_PARAM_SIZE Unknown,
    0x19 CBANK_PARAM_SIZE Number,
    0x1a QUERY_NUMATTRIB Unknown,
    0x1b MAXREG_COUNT Number,
    0x1c EXIT_INSTR_OFFSETS Offsets,
    0x1d S2RCTAID_INSTR_OFFSETS Unknown,
    0x1e CRS_STACK_SIZE Number,
    0x1f NEED_CNP_WRAPPER Unknown,
    0x20 NEED_CNP_PATCH Unknown,
    0x21 EXPLICIT_CACHING Unknown,
    0x22 ISTYPEP_USED Unknown,
    0x23 MAX_STACK_SIZE OfSymbol,
    0x24 SUQ_USED Unknown,
    0x25 LD_CACHEMOD_INSTR_OFFSETS Unknown,
    0x26 LOAD_CACHE_REQUEST Unknown,
    0x27 ATOM_SYS_INSTR_OFFSETS Unknown,
    0x28 COOP_GROUP_INSTR_OFFSETS Offsets,
    0x29 COOP_GROUP_MASK_REGIDS Numbers,
    0x2b WMMA_USED Flag,
    0x2c HAS_PRE_V10_OBJECT Unknown,
    0x2d ATOMF16_EMUL_INSTR_OFFSETS Unknown,
    0x2e ATOM16_EMUL_INSTR_REG_MAP Numbers,
    0x2f REGCOUNT OfSymbol,
    0x31 INT_WARP_WIDE_INSTR_OFFSETS Offsets,
    0x32 SHARED_SCRATCH Unknown,
    0x33 STATISTICS Unknown,
    0x34 INDIRECT_BRANCH_TARGETS Branches,
    0x36 SW_WAR Number,
    0x37 CUDA_API_VERSION Number,
    0x38 NUM_MBARRIERS Number,
    0x39 MBARRIER_INSTR_OFFSETS Numbers,
    0x3a COROUTINE_RESUME_ID_OFFSETS Unknown,
    0x3b SAM_REGION_STACK_SIZE Unknown,
    0x3c PER_REG_TARGET_PERF_STATS Unknown,
    0x3d CTA_PER_CLUSTER Numbers,
    0x3e EXPLICIT_CLUSTER Flag,
    0x3f MAX_CLUSTER_RANK Number,
    0x40 INSTR_REG_MAP Unknown,
    0x41 RESERVED_SMEM_USED Unknown,
    0x42 RESERVED_SMEM_0_SIZE Unknown,
    0x43 UCODE_SECTION_DATA Unknown,
    0x44 UNUSED_LOAD_BYTE_OFFSET Unknown,
    0x45 KPARAM_INFO_V2 Parameter,
    0x46 SYSCALL_OFFSETS Offsets,
    0x48 GRAPHICS_GLOBAL_CBANK Unknown,
    0x49 SHADER_TYPE Unknown,
    0x4a VRC_CTA_INIT_COUNT Number,
    0x4b TOOLS_PATCH_FUNC Unknown,
    0x4c NUM_BARRIERS Number,
    0x4d TEXMODE_INDEPENDENT Unknown,
    0x4e PERF_STATISTICS Unknown,
    0x4f AT_ENTRY_FRAGMENTS Unknown,
    0x50 SPARSE_MMA_MASK Number,
    0x51 TCGEN05_1CTA_USED Unknown,
    0x52 TCGEN05_2CTA_USED Unknown,
    0x53 GEN_ERRBAR_AT_EXIT Unknown,
    0x54 REG_RECONFIG Unknown,
    0x55 ANNOTATIONS Unknown,
    0x57 STACK_CANARY_TRAP_OFFSETS Unknown,
    0x58 STUB_FUNCTION_KIND Unknown,
    0x59 LOCAL_CTA_ASYNC_STORE_OFFSETS Unknown,
    0x5b BLOCKS_ARE_CLUSTERS Flag,
    0x5c SANITIZE Unknown,
    0x5d SYSCALLS_FALLBACK Unknown,
    0x5e CUDA_REQ Unknown,
    0x61 RTCORE_ENTRY Unknown,
    0x62 CLUSTER_LAUNCH_CONTROL_USED Unknown,
    0x64 MIN_PER_CTA_MEMORY_SIZE Unknown,
    0x65 IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS Unknown,
    0x66 LANGUAGE Unknown,
    0x68 GRID_ATTRIBUTES Unknown,
    0x69 STACK_OFFSET Unknown,
    0x6a RT_LIVESTATE_SASS_MAP Unknown,
    0x6b NVSAL_SW_WAR Unknown,
    0x6c INSTR_OFFSETS Unknown,
    0x6d PREEXIT_USED Unknown,
}

impl AttributeRow {
    /// The row of a code.
    pub fn of(code: u8) -> Option<&'static AttributeRow> {
        Self::ALL.iter().find(|row| row.code == code)
    }
}

impl Attribute {
    /// The name, as cuobjdump prints it.
    pub fn name(&self) -> Option<&'static str> {
        AttributeRow::of(self.code).map(|row| row.name)
    }

    /// The value as numbers of 32 bits: those that its bytes make, or the one number that it is.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let (one, bytes): (Option<u32>, &[u8]) = match &self.value {
            Value::None => (None, &[]),
            Value::Byte(value) => (Some((*value).into()), &[]),
            Value::Half(value) => (Some((*value).into()), &[]),
            Value::Bytes(bytes) => (None, bytes),
        };
        one.into_iter().chain(bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)))
    }

    /// The number at a place among [`Attribute::numbers`]; zero past their end.
    pub fn number(&self, at: usize) -> u32 {
        self.numbers().nth(at).unwrap_or(0)
    }
}

const NO_VALUE: u8 = 1;
const BYTE: u8 = 2;
const HALF: u8 = 3;
const SIZED: u8 = 4;

/// Reads the attributes of a section.
pub(super) fn read(section: &str, mut bytes: &[u8]) -> Result<Vec<Attribute>, CubinError> {
    let size = bytes.len();
    let mut attributes = Vec::new();
    while let Some((&[format, code, low, high], rest)) = bytes.split_first_chunk() {
        let wrong = |what| {
            let offset = (size - bytes.len()) as u64;
            CubinError::Section { section: section.to_owned(), offset, what }
        };
        let half = u16::from_le_bytes([low, high]);
        bytes = rest;
        let value = match format {
            NO_VALUE => Value::None,
            BYTE => Value::Byte(low),
            HALF => Value::Half(half),
            SIZED => {
                let value = rest.get(..half.into()).ok_or(wrong("the attribute ends behind its section"))?;
                bytes = &rest[value.len()..];
                Value::Bytes(value.to_owned())
            }
            _ => return Err(wrong("the attribute has none of the formats 1 to 4")),
        };
        attributes.push(Attribute { code, value });
    }
    match bytes.len() {
        0 => Ok(attributes),
        left => {
            let (section, offset) = (section.to_owned(), (size - left) as u64);
            Err(CubinError::Section { section, offset, what: "the last attribute has less than 4 bytes" })
        }
    }
}
