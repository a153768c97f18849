//! The field namespace: every named modifier that an instruction can carry, with its values.
//!
//! A field is one modifier (rounding, type, scope, ...) and is here once. The opcode table says which
//! fields and which of their values an opcode takes; the text form, the PTX front end and printer, the verifier,
//! the generator and the matchers all read the names below. An empty name is the value that is not written.
//!
//! Numbers: `spec/peephole.txt`, "Matching algorithm", lists field identifiers and value identifiers that it
//! observed in ptxas; those are kept, so that [`Field::id`] and [`Field::code`] answer as that document does.
//! Fields and values that it does not list get numbers above its namespaces (fields from 0x400, values from 4096).

/// A value of one field; implemented by the enums of this module.
pub trait FieldValue: Copy + Eq + 'static {
    /// The field that this is a value of.
    const FIELD: Field;
    /// Every value, in encoding order.
    const ALL: &'static [Self];
    /// The value's index in [`FieldValue::ALL`].
    fn index(self) -> u8;
    /// Its text in `.ori` and PTX; empty where the default is not written.
    fn name(self) -> &'static str {
        Self::FIELD.value_name(self.index())
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident = $id:literal {
        $($(#[$vdoc:meta])* $value:ident = $name:literal $(@ $code:literal)?),* $(,)?
    })*) => {
        /// A modifier that instructions can carry.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Field {
            $($(#[$doc])* $field,)*
        }

        impl Field {
            /// Every field, in declaration order.
            pub const ALL: &'static [Field] = &[$(Field::$field),*];

            /// The field's name, as the matcher and messages spell it.
            pub fn name(self) -> &'static str {
                match self { $(Field::$field => stringify!($field),)* }
            }

            /// The field's number in ptxas's property namespace, or one above it where the number is not known.
            pub const fn id(self) -> u16 {
                match self { $(Field::$field => $id,)* }
            }

            /// The names of the field's values, by index.
            pub const fn value_names(self) -> &'static [&'static str] {
                match self { $(Field::$field => &[$($name),*],)* }
            }

            fn known_codes(self) -> &'static [u16] {
                match self { $(Field::$field => &[$(fields!(@code $($code)?)),*],)* }
            }
        }

        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
            #[repr(u8)]
            pub enum $field { $($(#[$vdoc])* #[doc = concat!("`", $name, "`")] $value,)* }

            impl FieldValue for $field {
                const FIELD: Field = Field::$field;
                const ALL: &'static [Self] = &[$($field::$value),*];
                fn index(self) -> u8 { self as u8 }
            }

            impl $field {
                /// The mask with only this value's bit, for [`crate::ops::FieldSpec::legal`].
                pub const fn bit(self) -> u64 { 1 << self as u8 }
            }
        )*
    };
    (@code) => { 0 };
    (@code $code:literal) => { $code };
}

impl Field {
    /// The text of the value with this index.
    pub fn value_name(self, index: u8) -> &'static str {
        self.value_names()[index as usize]
    }

    /// The index of the value with this text.
    pub fn value_index(self, name: &str) -> Option<u8> {
        self.value_names().iter().position(|n| *n == name).map(|i| i as u8)
    }

    /// The number that `query(inst, field)` answers for a value.
    pub fn code(self, index: u8) -> u16 {
        match self.known_codes()[index as usize] {
            0 => 4096 + self as u16 * 64 + u16::from(index),
            code => code,
        }
    }
}

fields! {
    /// The type that an operation works in: its destination's type where there are several.
    Type = 0x7E {
        Pred = "pred", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        F32 = "f32" @ 547, F64 = "f64" @ 548,
        U16x2 = "u16x2", S16x2 = "s16x2", Tf32 = "tf32", E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2",
        TexRef = "texref", SamplerRef = "samplerref", SurfRef = "surfref",
        U4 = "u4", S4 = "s4", U2 = "u2", S2 = "s2",
    }
    /// The type of the first source where it differs from [`Type`].
    SrcType = 0xDC {
        Pred = "pred", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        F32 = "f32" @ 1206, F64 = "f64",
        U16x2 = "u16x2", S16x2 = "s16x2", Tf32 = "tf32", E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2",
        TexRef = "texref", SamplerRef = "samplerref", SurfRef = "surfref",
        U4 = "u4", S4 = "s4", U2 = "u2", S2 = "s2",
    }
    /// The type of the second source where it differs from both (dp4a, video).
    SecondType = 0x400 { U8 = "u8", U16 = "u16", U32 = "u32", S8 = "s8", S16 = "s16", S32 = "s32", B32 = "b32" }
    /// Rounding. Nothing written means nearest even, and leave to contract into a fused operation.
    Rounding = 0x159 {
        /// Nearest even, contraction allowed.
        Default = "" @ 1899,
        Rn = "rn" @ 1900, Rz = "rz" @ 1901, Rm = "rm" @ 1902, Rp = "rp" @ 1903,
        /// Nearest, ties away from zero.
        Rna = "rna",
        Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    }
    /// Subnormal inputs and results are flushed to zero of the same sign.
    Ftz = 0x401 { No = "", Ftz = "ftz" }
    /// Saturation: integers to the type's range, floats to [0, 1].
    Saturate = 0x402 { No = "", Sat = "sat" }
    /// Conversions to narrow floats clamp to the largest finite value, sums of matrix products to the type's range.
    SatFinite = 0x403 { No = "", SatFinite = "satfinite" }
    /// Negative results become zero.
    Relu = 0x404 { No = "", Relu = "relu" }
    /// Minimum and maximum return NaN where an input is NaN.
    NanMode = 0x405 { No = "", Nan = "NaN" }
    /// Minimum and maximum of absolute values, signed by the exclusive or of both signs.
    XorSign = 0x406 { No = "", XorSignAbs = "xorsign.abs" }
    /// How exact a function is. Nothing written means correctly rounded.
    Approx = 0x15C { Exact = "", Approx = "approx" @ 1912, Full = "full" @ 1915 }
    /// A comparison, ordered or unordered (`u`), signed by type or unsigned (`lo ls hi hs`).
    Compare = 0x407 {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
    }
    /// How a comparison is combined with a predicate.
    BoolOp = 0x408 { And = "and", Or = "or", Xor = "xor" }
    /// What `testp` tests for.
    TestProperty = 0x409 {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber",
        Normal = "normal", Subnormal = "subnormal",
    }
    /// State space of an access.
    Space = 0x119 {
        Generic = "" @ 1435, Global = "global" @ 1436, Shared = "shared" @ 1437,
        Local = "local" @ 1438, Const = "const" @ 1439, Param = "param" @ 1440,
        Cluster = "shared::cluster",
    }
    /// Ordering of a load, store or atomic operation.
    Order = 0xD3 {
        Weak = "", Relaxed = "relaxed", Acquire = "acquire" @ 1181, Release = "release",
        AcqRel = "acq_rel", Volatile = "volatile", Mmio = "mmio.relaxed",
    }
    /// The threads that an ordered access or fence is ordered with.
    Scope = 0xD2 { None = "", Cta = "cta", Cluster = "cluster", Gpu = "gpu" @ 1177, Sys = "sys" @ 1181 }
    /// What a fence orders.
    FenceKind = 0x40A { AcqRel = "acq_rel", Sc = "sc", Acquire = "acquire", Release = "release" }
    /// Cache operation of a load or store.
    CacheOp = 0x40B {
        None = "", Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt",
    }
    /// The load's data is read-only while the kernel runs.
    NonCoherent = 0x40C { No = "", Nc = "nc" }
    /// Eviction priority in the first-level cache.
    EvictL1 = 0x40D {
        None = "", Normal = "L1::evict_normal", Unchanged = "L1::evict_unchanged", First = "L1::evict_first",
        Last = "L1::evict_last", NoAllocate = "L1::no_allocate",
    }
    /// Eviction priority in the second-level cache.
    EvictL2 = 0x40E {
        None = "", Normal = "L2::evict_normal", First = "L2::evict_first", Last = "L2::evict_last",
    }
    /// Prefetch size of a load.
    PrefetchSize = 0x40F { None = "", B64 = "L2::64B", B128 = "L2::128B", B256 = "L2::256B" }
    /// The cache that a prefetch fills.
    PrefetchLevel = 0x410 {
        L1 = "L1", L2 = "L2", L2EvictLast = "L2::evict_last", L2EvictNormal = "L2::evict_normal",
    }
    /// Number of registers that an access moves.
    Vector = 0x411 { V1 = "", V2 = "v2", V4 = "v4", V8 = "v8" }
    /// The read-modify-write of an atomic operation.
    AtomOp = 0x88 {
        And = "and", Or = "or", Xor = "xor", Exch = "exch", Add = "add" @ 406, Inc = "inc", Dec = "dec",
        Min = "min" @ 407, Max = "max" @ 408,
    }
    /// Half-precision atomics keep subnormals.
    NoFtz = 0x413 { No = "", NoFtz = "noftz" }
    /// Selection of the shuffled lane.
    ShuffleMode = 0x1AE { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx" }
    /// What a vote decides.
    VoteMode = 0x414 { All = "all", Any = "any", Uni = "uni" }
    /// The operation of a warp-wide reduction.
    ReduxOp = 0x415 { Add = "add" @ 406, Min = "min" @ 407, Max = "max" @ 408, And = "and", Or = "or", Xor = "xor" }
    /// Byte selection of `prmt`.
    PrmtMode = 0x416 {
        Index = "", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
    }
    /// Direction of a funnel shift.
    ShiftDirection = 0x417 { Left = "l", Right = "r" }
    /// What a shift count above the width means.
    ShiftMode = 0x418 { Clamp = "clamp", Wrap = "wrap" }
    /// `bfind` returns the shift amount that normalises.
    ShiftAmount = 0x419 { No = "", ShiftAmt = "shiftamt" }
    /// The half of the second source that `dp2a` reads.
    Half = 0x41A { Lo = "lo", Hi = "hi" }
    /// The secondary operation of a video instruction.
    SecondOp = 0x41B { None = "", Add = "add", Min = "min", Max = "max" }
    /// The result shift of `vmad`.
    Scale = 0x41C { None = "", Shr7 = "shr7", Shr15 = "shr15" }
    /// `vmad` adds one.
    PlusOne = 0x41D { No = "", Po = "po" }
    /// All threads of the warp execute the barrier together.
    Aligned = 0x41E { No = "", Aligned = "aligned" }
    /// Direction of an address conversion.
    CvtaDirection = 0x41F { ToGeneric = "", FromGeneric = "to" }
    /// Programmatic dependent launch.
    GridDep = 0x420 { LaunchDependents = "launch_dependents", Wait = "wait" }
    /// Register count adjustment.
    MaxNReg = 0x421 { Inc = "inc", Dec = "dec" }
    /// Rows and columns of a matrix; of a product, rows of the first, columns of the second, and what is between.
    MatrixShape = 0x19D {
        M8n8 = "m8n8", M8n8k4 = "m8n8k4", M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n8k128 = "m8n8k128",
        M16n8k4 = "m16n8k4", M16n8k8 = "m16n8k8" @ 2167, M16n8k16 = "m16n8k16" @ 2168, M16n8k32 = "m16n8k32",
        M16n8k64 = "m16n8k64", M16n8k128 = "m16n8k128", M16n8k256 = "m16n8k256", M16n16k16 = "m16n16k16",
        M8n32k16 = "m8n32k16", M32n8k16 = "m32n8k16", M16n16k8 = "m16n16k8",
    }
    /// How many matrices a warp moves at once.
    MatrixCount = 0x423 { X1 = "x1", X2 = "x2", X4 = "x4" }
    /// Rows and columns change places.
    Transpose = 0x424 { No = "", Trans = "trans" }
    /// Order in which the first matrix of a product is held.
    LeftLayout = 0x425 { Row = "row", Col = "col" }
    /// Order in which the second matrix of a product is held.
    RightLayout = 0x426 { Col = "col", Row = "row" }
    /// What the elements of the first matrix of a product are.
    LeftElement = 0x196 {
        F16 = "f16" @ 2146, Bf16 = "bf16", Tf32 = "tf32", F64 = "f64", S8 = "s8", U8 = "u8", S4 = "s4", U4 = "u4",
        B1 = "b1", E4m3 = "e4m3", E5m2 = "e5m2",
    }
    /// What the elements of the second matrix of a product are.
    RightElement = 0x197 {
        F16 = "f16", Bf16 = "bf16", Tf32 = "tf32", F64 = "f64", S8 = "s8", U8 = "u8", S4 = "s4", U4 = "u4",
        B1 = "b1", E4m3 = "e4m3", E5m2 = "e5m2",
    }
    /// What the elements of the matrix that a product is added to are.
    Addend = 0x199 { F16 = "f16", F32 = "f32", F64 = "f64", S32 = "s32" }
    /// How single bits are multiplied; their products are counted.
    BitProduct = 0x42A { None = "", Xor = "xor.popc", And = "and.popc" }
    /// Order in which memory holds a matrix that is added to, or a product.
    SumLayout = 0x42B { Row = "row", Col = "col" }
    /// The geometry of an image: its dimensions, an array of such images, or the six faces of a cube.
    Geometry = 0x450 {
        D1 = "1d", D2 = "2d", D3 = "3d", A1d = "a1d", A2d = "a2d", Cube = "cube", Acube = "acube",
    }
    /// How the level of a mipmap is chosen: as the coordinates change from thread to thread, which here is the first
    /// one; always the first one; by a number; by how the coordinates change.
    LevelOfDetail = 0x451 { Implicit = "", Base = "base", Level = "level", Grad = "grad" }
    /// The component of the texels that a gathering fetch takes.
    Component = 0x452 { R = "r", G = "g", B = "b", A = "a" }
    /// What is asked of a texture, a sampler or a surface.
    ImageQuery = 0x453 {
        Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type",
        ChannelOrder = "channel_order", ArraySize = "array_size", NormalizedCoords = "normalized_coords",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples", MemoryLayout = "memory_layout",
        ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
        AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
    }
    /// What an access to a surface beyond its border does: it traps, goes to the border, or reads zeros and writes
    /// nothing.
    OutOfBounds = 0x454 { Trap = "trap", Clamp = "clamp", Zero = "zero" }
    /// How a thread arrives at a barrier in memory: for this phase, or for all that follow too.
    Arrival = 0x430 { Arrive = "arrive", Drop = "arrive_drop" }
    /// What an arrival does beside: it expects bytes, or is known not to end the phase.
    ArrivalMode = 0x431 { Plain = "", ExpectTx = "expect_tx", NoComplete = "noComplete" }
    /// Bytes under way to a barrier in memory.
    Transactions = 0x432 { Expect = "expect_tx", Complete = "complete_tx" }
    /// Whether a thread looks at a barrier in memory, or waits for a while.
    MbarrierWait = 0x433 { Test = "test_wait", Try = "try_wait" }
    /// A phase is given by its parity.
    Parity = 0x434 { Parity = "parity" }
    /// An arrival is among those that the barrier waits for already.
    NoInc = 0x435 { No = "", NoInc = "noinc" }
    /// Where a bulk copy goes.
    CopyTo = 0x436 { Global = "global", Cta = "shared::cta", Cluster = "shared::cluster" }
    /// Where a bulk copy comes from.
    CopyFrom = 0x437 { Global = "global", Cta = "shared::cta" }
    /// What is told that an asynchronous operation is done.
    Completion = 0x438 { Barrier = "mbarrier::complete_tx::bytes", Group = "bulk_group" }
    /// Whether a bulk copy goes to several CTAs.
    Multicast = 0x439 { No = "", Cluster = "multicast::cluster" }
    /// Whether a wait for bulk copies is over when they have read what they copy.
    WaitRead = 0x43A { No = "", Read = "read" }
    /// Rows and columns of a product of a warpgroup.
    GroupShape = 0x43B {
        N8 = "m64n8", N16 = "m64n16", N24 = "m64n24", N32 = "m64n32", N40 = "m64n40", N48 = "m64n48", N56 = "m64n56",
        N64 = "m64n64", N72 = "m64n72", N80 = "m64n80", N88 = "m64n88", N96 = "m64n96", N104 = "m64n104",
        N112 = "m64n112", N120 = "m64n120", N128 = "m64n128", N136 = "m64n136", N144 = "m64n144", N152 = "m64n152",
        N160 = "m64n160", N168 = "m64n168", N176 = "m64n176", N184 = "m64n184", N192 = "m64n192", N200 = "m64n200",
        N208 = "m64n208", N216 = "m64n216", N224 = "m64n224", N232 = "m64n232", N240 = "m64n240", N248 = "m64n248",
        N256 = "m64n256",
    }
    /// How many pairs are multiplied for each element of a product of a warpgroup.
    GroupInner = 0x1AD {
        K8 = "k8" @ 2253, K16 = "k16" @ 2254, K32 = "k32" @ 2255, K64 = "k64" @ 2256, K256 = "k256" @ 2257,
    }
    /// The first matrix of a product is negated. PTX has an operand for it.
    NegateLeft = 0x43D { No = "", Negate = "neg.a" }
    /// The second one is.
    NegateRight = 0x43E { No = "", Negate = "neg.b" }
    /// Shared memory holds the first matrix of a product by columns. PTX has an operand for it.
    TransposeLeft = 0x43F { No = "", Transpose = "trans.a" }
    /// It holds the second one by rows.
    TransposeRight = 0x440 { No = "", Transpose = "trans.b" }
    /// Cache operation of an asynchronous copy.
    AsyncCache = 0x101 { Ca = "ca", Cg = "cg" @ 1332 }
    /// The NaN that copies write for elements beyond a tensor makes the result zero, where a factor is that. PTX does
    /// not say which NaN it is; an H200 takes 0x7ff7, of either sign, in both formats.
    Oob = 0x441 { No = "", Oob = "oob" }
    /// The memory that a fence is for, if not all.
    Restriction = 0x444 {
        None = "", Cluster = "sync_restrict::shared::cluster", Cta = "sync_restrict::shared::cta",
    }
    /// The proxy whose accesses a fence orders with those of the generic one.
    Proxy = 0x455 { Alias = "alias", Async = "async" }
    /// The memory that such a fence is for, if not all.
    ProxySpace = 0x456 { All = "", Global = "global", Cta = "shared::cta", Cluster = "shared::cluster" }
    /// The precision in which values of the replicas of multicast memory are added, where it is not their own.
    Accumulation = 0x457 { Own = "", F32 = "acc::f32" }
    /// A mask of performance-monitor events, not the number of one.
    EventMask = 0x443 { No = "", Mask = "mask" }
    /// Values count without their signs.
    Absolute = 0x442 { No = "", Abs = "abs" }
}

impl Type {
    /// Width of a value in bits; a predicate has one.
    #[inline]
    pub const fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred => 1,
            U2 | S2 => 2,
            U4 | S4 => 4,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 => 16,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 | U16x2 | S16x2 | Tf32 => 32,
            B64 | U64 | S64 | F64 | TexRef | SamplerRef | SurfRef => 64,
            B128 => 128,
        }
    }

    /// The integer type of so many bits, if there is one.
    pub const fn integer(bits: u32, signed: bool) -> Option<Type> {
        Some(match (bits, signed) {
            (8, false) => Type::U8,
            (8, true) => Type::S8,
            (16, false) => Type::U16,
            (16, true) => Type::S16,
            (32, false) => Type::U32,
            (32, true) => Type::S32,
            (64, false) => Type::U64,
            (64, true) => Type::S64,
            _ => return None,
        })
    }

    /// Whether the type is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S2 | Type::S4 | Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
    }

    /// Whether the type is that of a texture, a sampler or a surface: variables have it, and what names them.
    pub const fn is_reference(self) -> bool {
        matches!(self, Type::TexRef | Type::SamplerRef | Type::SurfRef)
    }

    /// Whether the type is a floating-point one, packed or not.
    pub const fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64 | Tf32 | E4m3x2 | E5m2x2)
    }
}

impl Compare {
    /// The comparison that says the same of exchanged operands.
    pub const fn mirrored(self) -> Compare {
        use Compare::*;
        match self {
            Eq | Ne | Equ | Neu | Num | Nan => self,
            Lt => Gt,
            Gt => Lt,
            Le => Ge,
            Ge => Le,
            Lo => Hi,
            Hi => Lo,
            Ls => Hs,
            Hs => Ls,
            Ltu => Gtu,
            Gtu => Ltu,
            Leu => Geu,
            Geu => Leu,
        }
    }
}

impl From<SrcType> for Type {
    fn from(value: SrcType) -> Type {
        Type::ALL[value.index() as usize]
    }
}

impl From<SecondType> for Type {
    fn from(value: SecondType) -> Type {
        match value {
            SecondType::U8 => Type::U8,
            SecondType::U16 => Type::U16,
            SecondType::U32 => Type::U32,
            SecondType::S8 => Type::S8,
            SecondType::S16 => Type::S16,
            SecondType::S32 => Type::S32,
            SecondType::B32 => Type::B32,
        }
    }
}

impl Vector {
    /// How many registers.
    pub const fn len(self) -> usize {
        1 << self as usize
    }

    /// Never: an access moves at least one register.
    pub const fn is_empty(self) -> bool {
        false
    }
}

impl MatrixShape {
    /// Rows and columns of a product, and how many pairs are multiplied for each of its elements.
    pub const fn extents(self) -> [usize; 3] {
        use MatrixShape::*;
        match self {
            M8n8 => [8, 8, 0],
            M8n8k4 => [8, 8, 4],
            M8n8k16 => [8, 8, 16],
            M8n8k32 => [8, 8, 32],
            M8n8k128 => [8, 8, 128],
            M16n8k4 => [16, 8, 4],
            M16n8k8 => [16, 8, 8],
            M16n8k16 => [16, 8, 16],
            M16n8k32 => [16, 8, 32],
            M16n8k64 => [16, 8, 64],
            M16n8k128 => [16, 8, 128],
            M16n8k256 => [16, 8, 256],
            M16n16k16 => [16, 16, 16],
            M8n32k16 => [8, 32, 16],
            M32n8k16 => [32, 8, 16],
            M16n16k8 => [16, 16, 8],
        }
    }

    /// Whether `wmma` alone has the shape.
    pub const fn is_whole(self) -> bool {
        use MatrixShape::*;
        matches!(self, M16n16k16 | M8n32k16 | M32n8k16 | M16n16k8)
    }
}

impl GroupShape {
    /// Columns of the product.
    pub const fn columns(self) -> usize {
        8 * (self as usize + 1)
    }
}

impl GroupInner {
    /// How many pairs.
    pub const fn count(self) -> usize {
        match self {
            GroupInner::K8 => 8,
            GroupInner::K16 => 16,
            GroupInner::K32 => 32,
            GroupInner::K64 => 64,
            GroupInner::K256 => 256,
        }
    }
}

impl Addend {
    /// The type of an element.
    pub const fn ty(self) -> Type {
        match self {
            Addend::F16 => Type::F16,
            Addend::F32 => Type::F32,
            Addend::F64 => Type::F64,
            Addend::S32 => Type::S32,
        }
    }
}

impl LeftElement {
    /// Width of an element in bits; of tf32, that of the word in which it is held.
    pub const fn bits(self) -> u32 {
        use LeftElement::*;
        match self {
            B1 => 1,
            S4 | U4 => 4,
            S8 | U8 | E4m3 | E5m2 => 8,
            F16 | Bf16 => 16,
            Tf32 => 32,
            F64 => 64,
        }
    }
}

impl From<RightElement> for LeftElement {
    fn from(value: RightElement) -> LeftElement {
        LeftElement::ALL[value.index() as usize]
    }
}

impl MatrixCount {
    /// How many matrices: one, two or four.
    pub const fn matrices(self) -> usize {
        1 << self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_comparisons_mirror_back() {
        use Compare::*;
        let own: Vec<Compare> = Compare::ALL.iter().copied().filter(|compare| compare.mirrored() == *compare).collect();
        assert_eq!(own, [Eq, Ne, Equ, Neu, Num, Nan]);
        assert!(Compare::ALL.iter().all(|compare| compare.mirrored().mirrored() == *compare));
        assert_eq!([Lt, Le, Hi, Hs, Ltu, Geu].map(Compare::mirrored), [Gt, Ge, Lo, Ls, Gtu, Leu]);
    }

    #[test]
    fn src_type_mirrors_type() {
        assert_eq!(Field::Type.value_names(), Field::SrcType.value_names());
        assert_eq!(Field::LeftElement.value_names(), Field::RightElement.value_names());
    }

    #[test]
    fn spec_numbers_are_kept() {
        assert_eq!(Field::Rounding.id(), 345);
        assert_eq!(Field::Rounding.code(Rounding::Rz.index()), 1901);
        assert_eq!(Field::Type.code(Type::F64.index()), 548);
    }

    #[test]
    fn ids_and_codes_are_unique() {
        let mut ids: Vec<_> = Field::ALL.iter().map(|f| f.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Field::ALL.len());
        for field in Field::ALL {
            let n = field.value_names().len();
            assert!(n <= 64, "{} has more values than a mask holds", field.name());
            let mut codes: Vec<_> = (0..n as u8).map(|v| field.code(v)).collect();
            codes.sort_unstable();
            codes.dedup();
            assert_eq!(codes.len(), n);
        }
    }
}
