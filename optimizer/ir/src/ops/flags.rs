//! Properties of opcodes, as sets of bits.

/// What is true of an opcode, beyond its shape. A set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flags(u32);

macro_rules! flags {
    ($($(#[doc = $doc:literal])+ $flag:ident = $bit:literal, $name:literal;)*) => {
        impl Flags {
            $($(#[doc = $doc])+ pub const $flag: Flags = Flags(1 << $bit);)*

            /// Every flag with its name for people.
            pub const NAMES: &'static [(Flags, &'static str)] = &[$((Flags::$flag, $name)),*];
        }
    };
}

flags! {
    /// The results depend on the operands alone: removable, repeatable, movable.
    PURE = 0, "pure";
    /// The first two sources can be exchanged.
    COMMUTATIVE = 1, "commutative";
    /// Regrouping chains of the operation changes nothing (integers only; see the type).
    ASSOCIATIVE = 2, "associative";
    /// The results depend on which threads execute it together: never moved, merged or duplicated across control flow.
    CONVERGENT = 3, "convergent";
    /// Reads memory.
    READS = 4, "reads memory";
    /// Writes memory.
    WRITES = 5, "writes memory";
    /// Must stay even when its results are unused, and in order with others of its kind.
    EFFECT = 6, "has an effect";
    /// Ends a block.
    TERMINATOR = 7, "ends a block";
    /// The destination is the source, bit for bit.
    COPY = 8, "copy";
    /// Orders or separates memory accesses of several threads.
    FENCE = 9, "orders memory";
    /// A hint without meaning for the results.
    HINT = 10, "hint";
    /// Threads of a CTA arrive at a numbered barrier.
    CTA_BARRIER = 11, "barrier of the CTA";
    /// The last source is a carry in, the second result the carry out.
    CARRY = 12, "takes and yields a carry";
    /// In PTX its registers may be wider than its types.
    WIDER = 13, "PTX allows wider registers";
    /// The results are the same for the signed and the unsigned type of a width, unless they saturate.
    SIGNLESS = 14, "the sign does not matter";
    /// A video instruction: the last source packs the selectors of what the others are parts of.
    VIDEO = 15, "video";
    /// All lanes of a warp work on matrices of which each holds a part; they wait for each other.
    MATRIX = 16, "matrix";
    /// Works on a barrier in shared memory.
    MBARRIER = 17, "barrier in memory";
    /// Converts an address, or says where it leads; what that is memory and the launch decide.
    ADDRESS = 18, "about addresses";
    /// Continues beside the thread until something waits for it.
    ASYNC = 19, "asynchronous";
    /// Accesses each replica of multicast memory: several places of global memory, which are not known.
    MULTIMEM = 23, "multicast memory";
    /// Orders what another proxy does, or products of a warpgroup, with accesses of threads.
    PROXY = 22, "orders proxies";
    /// Reads, writes or asks about a texture or a surface.
    IMAGE = 24, "of an image";
    /// Four warps work together on matrices, or wait for that; only code for Hopper alone (`sm_90a`) has it.
    WARPGROUP = 20, "warpgroup";
    /// No portable code has it, only code for one SM or its family (`sm_90a`, `sm_100f`).
    SPECIFIC = 21, "for one SM or its family";
    /// An instruction of the machine: its fields hold which ([`crate::MachineId`]).
    MACHINE = 26, "of the machine";
    /// The members of a mask, the last operand, are all told one result of the first operands that they give.
    TOGETHER = 25, "decided together";
}

impl Flags {
    /// Both sets.
    pub const fn or(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether every flag of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}
