//! How PTX spells the opcodes whose row has no PTX name.
//!
//! Most rows carry their PTX name. The others differ from a sibling by operands or by modifiers that are part of the
//! name; their spellings are here, for reading and for printing. The first spelling of an opcode is the one printed.

use oriole_ir::ops::{Opcode, Scope, Type};

/// The first version of PTX with all that every printed module may have: `barrier` and `vote.sync` are of 6.0,
/// `activemask` of 6.2, `.aligned` of `wmma` of 6.3 (PTX ISA, "Release Notes").
pub(super) const WRITTEN: (u8, u8) = (6, 3);

/// One way to write an opcode: base name, and the modifiers that are always there.
pub(super) struct Spelling {
    /// The name before the first dot.
    pub base: &'static str,
    /// Modifiers that must be written.
    pub fixed: &'static [&'static str],
    /// The opcode.
    pub opcode: Opcode,
}

macro_rules! spellings {
    ($($base:literal [$($fixed:literal)*] $opcode:ident;)*) => {
        /// Every spelling that the opcode table leaves to code.
        pub(super) const SPELLINGS: &[Spelling] =
            &[$(Spelling { base: $base, fixed: &[$($fixed),*], opcode: Opcode::$opcode }),*];
    };
}

spellings! {
    "add" ["cc"] IAddCarry;
    "addc" ["cc"] IAddCarry;
    "addc" [] IAddCarry;
    "sub" ["cc"] ISubCarry;
    "subc" ["cc"] ISubCarry;
    "subc" [] ISubCarry;
    "mad" ["lo" "cc"] IMadLoCarry;
    "madc" ["lo" "cc"] IMadLoCarry;
    "madc" ["lo"] IMadLoCarry;
    "mad" ["hi" "cc"] IMadHiCarry;
    "madc" ["hi" "cc"] IMadHiCarry;
    "madc" ["hi"] IMadHiCarry;
    "mad" [] FFma;
    "setp" [] SetPBool;
    "setp" [] SetPX2;
    "setp" [] SetPX2Bool;
    "set" [] SetBool;
    "lop3" [] Lop3P;
    "cvt" [] CvtPack2;
    "cvt" [] CvtNarrow;
    "cvt" ["pack" "sat" "s32"] CvtPackInt;
    "cvt" ["pack" "sat" "s32" "b32"] CvtPackInt;
    "cp" ["async" "global"] CpAsync;
    "shfl" ["sync"] Shfl;
    "match" ["all" "sync"] MatchAll;
    "redux" ["sync"] ReduxFloat;
    "elect" ["sync"] Elect;
    "barrier" ["sync"] BarSync;
    "barrier" ["cta" "sync"] BarSync;
    "bar" ["sync"] BarSync;
    "bar" ["cta" "sync"] BarSync;
    "barrier" ["arrive"] BarArrive;
    "barrier" ["cta" "arrive"] BarArrive;
    "bar" ["arrive"] BarArrive;
    "bar" ["cta" "arrive"] BarArrive;
    "barrier" ["red" "popc" "u32"] BarRedPopc;
    "barrier" ["cta" "red" "popc" "u32"] BarRedPopc;
    "bar" ["red" "popc" "u32"] BarRedPopc;
    "bar" ["cta" "red" "popc" "u32"] BarRedPopc;
    "barrier" ["red" "pred"] BarRed;
    "barrier" ["cta" "red" "pred"] BarRed;
    "bar" ["red" "pred"] BarRed;
    "bar" ["cta" "red" "pred"] BarRed;
    "setmaxnreg" ["sync"] SetMaxNReg;
    "tex" [] TexCompare;
    "tld4" [] Tld4Compare;
    "vadd" [] VAdd; "vsub" [] VSub; "vabsdiff" [] VAbsDiff; "vmin" [] VMin; "vmax" [] VMax;
    "vshl" [] VShl; "vshr" [] VShr; "vmad" [] VMad; "vset" [] VSet;
    "vadd2" [] VAdd2; "vsub2" [] VSub2; "vavrg2" [] VAvrg2; "vabsdiff2" [] VAbsDiff2;
    "vmin2" [] VMin2; "vmax2" [] VMax2; "vset2" [] VSet2;
    "vadd4" [] VAdd4; "vsub4" [] VSub4; "vavrg4" [] VAvrg4; "vabsdiff4" [] VAbsDiff4;
    "vmin4" [] VMin4; "vmax4" [] VMax4; "vset4" [] VSet4;
}

/// The levels of `membar`, which is a sequentially consistent `fence` of a scope and stands for it before `sm_70`.
pub(super) const MEMBAR_LEVELS: [(&str, Scope); 3] = [("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::Sys)];

/// The type of the address that an operation of a type takes without brackets. Where clusters map addresses, it is as
/// wide as the operation says (PTX ISA 9.0, "mapa" and "getctarank").
pub(crate) fn address_type(opcode: Opcode, ty: Type) -> Type {
    if matches!(opcode, Opcode::Mapa | Opcode::GetCtaRank) && ty.bits() == 32 { Type::B32 } else { Type::B64 }
}
