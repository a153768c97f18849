//! The choices: which source of which instruction may be what.
//!
//! Each row has been taken in code that ptxas makes without optimization, of the corpus or of kernels that have each
//! operation of PTX with constants and parameters as operands, for `sm_80`, `sm_90`, `sm_100` or `sm_120`
//! (measured 2026-11-29). The example is from there: the instruction before and after, and an SM that has both words.
//! A choice that no code had is no row.

use super::{Choice, Kind};

macro_rules! choices {
    ($($family:literal $at:literal $kind:ident $name:literal sm $sm:literal: $before:literal => $after:literal;)*) => {
        /// The choices, by family, source and kind.
        pub const CHOICES: &[Choice] = &[$(Choice {
            name: $name,
            family: $family,
            at: $at,
            kind: Kind::$kind,
            sm: $sm,
            before: $before,
            after: $after,
        }),*];
    };
}

choices! {
    "ATOMG" 2 Zero "ATOMG.2.zero" sm 90:
        "%PT, %R8 = ATOMG.E.CAS.STRONG.GPU %R8x2, 0, %R12, %R13"
        => "%PT, %R8 = ATOMG.E.CAS.STRONG.GPU %R8x2, 0, %RZ, %R13";
    "ATOMS" 0 Zero "ATOMS.0.zero" sm 80:
        "%RZ = ATOMS.ADD %R6, 0, %R5" => "%RZ = ATOMS.ADD %RZ, 0, %R5";
    "ATOMS" 2 Zero "ATOMS.2.zero" sm 120:
        "%R6x2 = ATOMS.CAS.64 %R6, 0, %R8x2, %R10x2" => "%R6x2 = ATOMS.CAS.64 %R6, 0, %RZx2, %R10x2";
    "BREV" 0 Zero "BREV.0.zero" sm 90:
        "%R6 = BREV %R6" => "%R6 = BREV %RZ";
    "BREV" 0 Immediate "BREV.0.immediate" sm 90:
        "%R6 = BREV %R6" => "%R6 = BREV 5";
    "BREV" 0 Bank "BREV.0.bank" sm 90:
        "%R3 = BREV %R3" => "%R3 = BREV c[0][0x224]";
    "DADD" 0 Zero "DADD.0.zero" sm 120:
        "%R14x2 = DADD %R14x2, %R6x2" => "%R14x2 = DADD %RZx2, %R6x2";
    "DADD" 1 Zero "DADD.1.zero" sm 120:
        "%R6x2 = DADD %R4x2, %R6x2" => "%R6x2 = DADD %R4x2, %RZx2";
    "DADD" 1 Immediate "DADD.1.immediate" sm 90:
        "%R2x2 = DADD %R6x2, %R2x2" => "%R2x2 = DADD %R6x2, 0x3ff80000";
    "DADD" 1 Bank "DADD.1.bank" sm 90:
        "%R8x2 = DADD %R6x2, %R8x2" => "%R8x2 = DADD %R6x2, c[0][0x220]";
    "DFMA" 0 Zero "DFMA.0.zero" sm 120:
        "%R16x2 = DFMA %R16x2, %R6x2, %R8x2" => "%R16x2 = DFMA %RZx2, %R6x2, %R8x2";
    "DFMA" 1 Zero "DFMA.1.zero" sm 120:
        "%R16x2 = DFMA %R4x2, %R16x2, %R8x2" => "%R16x2 = DFMA %R4x2, %RZx2, %R8x2";
    "DFMA" 1 Immediate "DFMA.1.immediate" sm 90:
        "%R16x2 = DFMA %R8x2, %R16x2, %R4x2" => "%R16x2 = DFMA %R8x2, 0x3ff80000, %R4x2";
    "DFMA" 1 Bank "DFMA.1.bank" sm 90:
        "%R4x2 = DFMA %R8x2, %R12x2, %R4x2" => "%R4x2 = DFMA %R8x2, c[0][0x228], %R4x2";
    "DFMA" 2 Zero "DFMA.2.zero" sm 120:
        "%R8x2 = DFMA %R4x2, %R6x2, %R8x2" => "%R8x2 = DFMA %R4x2, %R6x2, %RZx2";
    "DFMA" 2 Immediate "DFMA.2.immediate" sm 90:
        "%R4x2 = DFMA %R8x2, %R2x2, %R4x2" => "%R4x2 = DFMA %R8x2, %R2x2, 0x3ff80000";
    "DFMA" 2 Bank "DFMA.2.bank" sm 90:
        "%R2x2 = DFMA %R8x2, %R2x2, %R12x2" => "%R2x2 = DFMA %R8x2, %R2x2, c[0][0x228]";
    "DMUL" 0 Zero "DMUL.0.zero" sm 120:
        "%R14x2 = DMUL %R14x2, %R6x2" => "%R14x2 = DMUL %RZx2, %R6x2";
    "DMUL" 1 Zero "DMUL.1.zero" sm 120:
        "%R6x2 = DMUL %R4x2, %R6x2" => "%R6x2 = DMUL %R4x2, %RZx2";
    "DMUL" 1 Immediate "DMUL.1.immediate" sm 90:
        "%R2x2 = DMUL %R6x2, %R2x2" => "%R2x2 = DMUL %R6x2, 0x3ff80000";
    "DMUL" 1 Bank "DMUL.1.bank" sm 90:
        "%R8x2 = DMUL %R6x2, %R8x2" => "%R8x2 = DMUL %R6x2, c[0][0x220]";
    "DSETP" 0 Zero "DSETP.0.zero" sm 120:
        "%P0, %PT = DSETP.EQ.AND %R10x2, %R6x2, %PT" => "%P0, %PT = DSETP.EQ.AND %RZx2, %R6x2, %PT";
    "DSETP" 1 Zero "DSETP.1.zero" sm 120:
        "%P0, %PT = DSETP.EQ.AND %R2x2, %R6x2, %PT" => "%P0, %PT = DSETP.EQ.AND %R2x2, %RZx2, %PT";
    "DSETP" 1 Immediate "DSETP.1.immediate" sm 90:
        "%P0, %PT = DSETP.EQ.AND %R4x2, %R14x2, %PT" => "%P0, %PT = DSETP.EQ.AND %R4x2, 0x3ff80000, %PT";
    "DSETP" 1 Bank "DSETP.1.bank" sm 90:
        "%P0, %PT = DSETP.EQ.AND %R4x2, %R6x2, %PT" => "%P0, %PT = DSETP.EQ.AND %R4x2, c[0][0x220], %PT";
    "F2F" 0 Zero "F2F.0.zero" sm 90:
        "%R11 = F2F.F16.F32 %R11" => "%R11 = F2F.F16.F32 %RZ";
    "F2F" 0 Immediate "F2F.0.immediate" sm 90:
        "%R6x2 = F2F.F64.F32 %R6" => "%R6x2 = F2F.F64.F32 0x3fc00000";
    "F2F" 0 Bank "F2F.0.bank" sm 90:
        "%R4x2 = F2F.F64.F32 %R3" => "%R4x2 = F2F.F64.F32 c[0][0x224]";
    "F2FP" 0 Zero "F2FP.0.zero" sm 90:
        "%R7 = F2FP.F16.F32.PACK_AB %R7, %R6" => "%R7 = F2FP.F16.F32.PACK_AB %RZ, %R6";
    "F2FP" 1 Zero "F2FP.1.zero" sm 90:
        "%R6 = F2FP.F16.F32.PACK_AB %R4, %R6" => "%R6 = F2FP.F16.F32.PACK_AB %R4, %RZ";
    "F2FP" 1 Immediate "F2FP.1.immediate" sm 80:
        "%R6 = F2FP.PACK_AB %R4, %R6" => "%R6 = F2FP.PACK_AB %R4, 0x3fc00000";
    "F2FP" 1 Bank "F2FP.1.bank" sm 90:
        "%R3 = F2FP.F16.F32.PACK_AB %R4, %R3" => "%R3 = F2FP.F16.F32.PACK_AB %R4, c[0][0x224]";
    "F2I" 0 Zero "F2I.0.zero" sm 90:
        "%R10 = F2I.U32.NTZ %R6" => "%R10 = F2I.U32.NTZ %RZ";
    "F2I" 0 Immediate "F2I.0.immediate" sm 90:
        "%R10 = F2I.U32.NTZ %R6" => "%R10 = F2I.U32.NTZ 0x3fc00000";
    "F2I" 0 Bank "F2I.0.bank" sm 90:
        "%R4 = F2I.U32.NTZ %R3" => "%R4 = F2I.U32.NTZ c[0][0x224]";
    "FADD" 0 Zero "FADD.0.zero" sm 90:
        "%R7 = FADD %R7, %R6" => "%R7 = FADD %RZ, %R6";
    "FADD" 1 Zero "FADD.1.zero" sm 90:
        "%R8 = FADD %R3, %R6" => "%R8 = FADD %R3, %RZ";
    "FADD" 1 Immediate "FADD.1.immediate" sm 90:
        "%R3 = FADD %R4, %R3" => "%R3 = FADD %R4, 0xc1c00000";
    "FADD" 1 Bank "FADD.1.bank" sm 90:
        "%R4 = FADD %R3, %R4" => "%R4 = FADD %R3, c[0][0x224]";
    "FFMA" 0 Zero "FFMA.0.zero" sm 90:
        "%R0 = FFMA %R7, %R0, %R6" => "%R0 = FFMA %RZ, %R0, %R6";
    "FFMA" 1 Zero "FFMA.1.zero" sm 90:
        "%R12 = FFMA %R7, %R8, %R6" => "%R12 = FFMA %R7, %RZ, %R6";
    "FFMA" 1 Immediate "FFMA.1.immediate" sm 90:
        "%R0 = FFMA %RZ, %R0, %R5" => "%R0 = FFMA %RZ, 0x40080000, %R5";
    "FFMA" 1 Bank "FFMA.1.bank" sm 90:
        "%R6 = FFMA %R7, %R4, %R6" => "%R6 = FFMA %R7, c[0][0x224], %R6";
    "FFMA" 2 Zero "FFMA.2.zero" sm 90:
        "%R2 = FFMA %R4, %R3, %R2" => "%R2 = FFMA %R4, %R3, %RZ";
    "FFMA" 2 Immediate "FFMA.2.immediate" sm 90:
        "%R3 = FFMA %R0, %R2, %R3" => "%R3 = FFMA %R0, %R2, 0x3f800000";
    "FFMA" 2 Bank "FFMA.2.bank" sm 90:
        "%R4 = FFMA %R7, %R3, %R4" => "%R4 = FFMA %R7, %R3, c[0][0x224]";
    "FLO" 0 Zero "FLO.0.zero" sm 90:
        "%R10, %PT = FLO %R6" => "%R10, %PT = FLO %RZ";
    "FLO" 0 Immediate "FLO.0.immediate" sm 90:
        "%R10, %PT = FLO %R6" => "%R10, %PT = FLO 5";
    "FLO" 0 Bank "FLO.0.bank" sm 90:
        "%R4, %PT = FLO %R3" => "%R4, %PT = FLO c[0][0x224]";
    "FMNMX" 0 Zero "FMNMX.0.zero" sm 90:
        "%R7 = FMNMX %R7, %R6, %PT" => "%R7 = FMNMX %RZ, %R6, %PT";
    "FMNMX" 1 Zero "FMNMX.1.zero" sm 90:
        "%R8 = FMNMX %R3, %R6, %PT" => "%R8 = FMNMX %R3, %RZ, %PT";
    "FMNMX" 1 Immediate "FMNMX.1.immediate" sm 90:
        "%R8 = FMNMX %R3, %R6, %PT" => "%R8 = FMNMX %R3, 0x3fc00000, %PT";
    "FMNMX" 1 Bank "FMNMX.1.bank" sm 90:
        "%R4 = FMNMX %R3, %R4, %PT" => "%R4 = FMNMX %R3, c[0][0x224], %PT";
    "FMUL" 0 Zero "FMUL.0.zero" sm 90:
        "%R6 = FMUL %R7, %R6" => "%R6 = FMUL %RZ, %R6";
    "FMUL" 1 Zero "FMUL.1.zero" sm 90:
        "%R8 = FMUL %R3, %R6" => "%R8 = FMUL %R3, %RZ";
    "FMUL" 1 Immediate "FMUL.1.immediate" sm 90:
        "%R3 = FMUL %R4, %R3" => "%R3 = FMUL %R4, 0x39800000";
    "FMUL" 1 Bank "FMUL.1.bank" sm 90:
        "%R3 = FMUL %R5, %R3" => "%R3 = FMUL %R5, c[0][0x224]";
    "FRND" 0 Zero "FRND.0.zero" sm 90:
        "%R10 = FRND.FLOOR %R6" => "%R10 = FRND.FLOOR %RZ";
    "FRND" 0 Immediate "FRND.0.immediate" sm 90:
        "%R10 = FRND.FLOOR %R6" => "%R10 = FRND.FLOOR 0x3fc00000";
    "FRND" 0 Bank "FRND.0.bank" sm 90:
        "%R4 = FRND.FLOOR %R3" => "%R4 = FRND.FLOOR c[0][0x224]";
    "FSEL" 0 Zero "FSEL.0.zero" sm 120:
        "%R14 = FSEL %R14, %R16, %P0" => "%R14 = FSEL %RZ, %R16, %P0";
    "FSEL" 1 Zero "FSEL.1.zero" sm 90:
        "%R6 = FSEL %R6, %R7, %P0" => "%R6 = FSEL %R6, %RZ, %P0";
    "FSEL" 1 Immediate "FSEL.1.immediate" sm 90:
        "%R7 = FSEL %R7, %R6, %P0" => "%R7 = FSEL %R7, 0x3fc00000, %P0";
    "FSEL" 1 Bank "FSEL.1.bank" sm 90:
        "%R3 = FSEL %R3, %R8, %P0" => "%R3 = FSEL %R3, c[0][0x224], %P0";
    "FSETP" 0 Zero "FSETP.0.zero" sm 90:
        "%P0, %PT = FSETP.LT.AND %R7, %R3, %PT" => "%P0, %PT = FSETP.LT.AND %RZ, %R3, %PT";
    "FSETP" 1 Zero "FSETP.1.zero" sm 90:
        "%P0, %PT = FSETP.LT.AND %R3, %R7, %PT" => "%P0, %PT = FSETP.LT.AND %R3, %RZ, %PT";
    "FSETP" 1 Immediate "FSETP.1.immediate" sm 90:
        "%P0, %PT = FSETP.LT.AND %R4, %R5, %PT" => "%P0, %PT = FSETP.LT.AND %R4, 0x800000, %PT";
    "FSETP" 1 Bank "FSETP.1.bank" sm 90:
        "%P0, %PT = FSETP.LT.AND %R3, %R4, %PT" => "%P0, %PT = FSETP.LT.AND %R3, c[0][0x220], %PT";
    "HADD2" 0 Zero "HADD2.0.zero" sm 90:
        "%R7 = HADD2 %R7, %R6" => "%R7 = HADD2 %RZ, %R6";
    "HADD2" 1 Zero "HADD2.1.zero" sm 90:
        "%R6 = HADD2 %R3, %R6" => "%R6 = HADD2 %R3, %RZ";
    "HADD2" 1 Immediate "HADD2.1.immediate" sm 90:
        "%R6 = HADD2 %R3, %R6" => "%R6 = HADD2 %R3, 5";
    "HADD2" 1 Bank "HADD2.1.bank" sm 90:
        "%R3 = HADD2 %R3, %R4" => "%R3 = HADD2 %R3, c[0][0x224]";
    "HFMA2" 0 Zero "HFMA2.0.zero" sm 90:
        "%R8 = HFMA2 %R8, %R3, %R6" => "%R8 = HFMA2 %RZ, %R3, %R6";
    "HFMA2" 1 Zero "HFMA2.1.zero" sm 90:
        "%R8 = HFMA2 %R7, %R8, %R6" => "%R8 = HFMA2 %R7, %RZ, %R6";
    "HFMA2" 1 Immediate "HFMA2.1.immediate" sm 90:
        "%R8 = HFMA2 %R7, %R8, %R6" => "%R8 = HFMA2 %R7, 5, %R6";
    "HFMA2" 1 Bank "HFMA2.1.bank" sm 90:
        "%R6 = HFMA2 %R7, %R4, %R6" => "%R6 = HFMA2 %R7, c[0][0x224], %R6";
    "HFMA2" 2 Zero "HFMA2.2.zero" sm 90:
        "%R6 = HFMA2 %R7, %R3, %R6" => "%R6 = HFMA2 %R7, %R3, %RZ";
    "HFMA2" 2 Immediate "HFMA2.2.immediate" sm 90:
        "%R6 = HFMA2 %R7, %R3, %R6" => "%R6 = HFMA2 %R7, %R3, 5";
    "HFMA2" 2 Bank "HFMA2.2.bank" sm 90:
        "%R3 = HFMA2 %R7, %R3, %R4" => "%R3 = HFMA2 %R7, %R3, c[0][0x224]";
    "HMMA" 2 Zero "HMMA.2.zero" sm 90:
        "%R24x4 = HMMA.16816.F32 %R20x4, %R34x2, %R24x4, %UPT" => "%R24x4 = HMMA.16816.F32 %R20x4, %R34x2, %RZx4, %UPT";
    "HMNMX2" 0 Zero "HMNMX2.0.zero" sm 90:
        "%R7 = HMNMX2 %R7, %R6, %PT" => "%R7 = HMNMX2 %RZ, %R6, %PT";
    "HMNMX2" 1 Zero "HMNMX2.1.zero" sm 90:
        "%R6 = HMNMX2 %R3, %R6, %PT" => "%R6 = HMNMX2 %R3, %RZ, %PT";
    "HMNMX2" 1 Immediate "HMNMX2.1.immediate" sm 90:
        "%R6 = HMNMX2 %R3, %R6, %PT" => "%R6 = HMNMX2 %R3, 5, %PT";
    "HMNMX2" 1 Bank "HMNMX2.1.bank" sm 90:
        "%R3 = HMNMX2 %R3, %R4, %PT" => "%R3 = HMNMX2 %R3, c[0][0x224], %PT";
    "HMUL2" 0 Zero "HMUL2.0.zero" sm 90:
        "%R7 = HMUL2 %R7, %R6" => "%R7 = HMUL2 %RZ, %R6";
    "HMUL2" 1 Zero "HMUL2.1.zero" sm 90:
        "%R6 = HMUL2 %R3, %R6" => "%R6 = HMUL2 %R3, %RZ";
    "HMUL2" 1 Immediate "HMUL2.1.immediate" sm 90:
        "%R6 = HMUL2 %R3, %R6" => "%R6 = HMUL2 %R3, 5";
    "HMUL2" 1 Bank "HMUL2.1.bank" sm 90:
        "%R3 = HMUL2 %R3, %R4" => "%R3 = HMUL2 %R3, c[0][0x224]";
    "I2F" 0 Zero "I2F.0.zero" sm 90:
        "%R6x2 = I2F.F64 %R6" => "%R6x2 = I2F.F64 %RZ";
    "I2F" 0 Immediate "I2F.0.immediate" sm 90:
        "%R6x2 = I2F.F64 %R6" => "%R6x2 = I2F.F64 5";
    "I2F" 0 Bank "I2F.0.bank" sm 90:
        "%R4 = I2F.U32.RP %R2" => "%R4 = I2F.U32.RP c[0][0x0]";
    "I2FP.F32" 0 Zero "I2FP.F32.0.zero" sm 90:
        "%R10 = I2FP.F32.S32 %R6" => "%R10 = I2FP.F32.S32 %RZ";
    "I2FP.F32" 0 Immediate "I2FP.F32.0.immediate" sm 90:
        "%R10 = I2FP.F32.S32 %R6" => "%R10 = I2FP.F32.S32 5";
    "I2FP.F32" 0 Bank "I2FP.F32.0.bank" sm 90:
        "%R4 = I2FP.F32.S32 %R3" => "%R4 = I2FP.F32.S32 c[0][0x224]";
    "IABS" 0 Zero "IABS.0.zero" sm 90:
        "%R6 = IABS %R6" => "%R6 = IABS %RZ";
    "IABS" 0 Immediate "IABS.0.immediate" sm 90:
        "%R6 = IABS %R6" => "%R6 = IABS 5";
    "IABS" 0 Bank "IABS.0.bank" sm 90:
        "%R3 = IABS %R3" => "%R3 = IABS c[0][0x224]";
    "IADD" 0 Zero "IADD.0.zero" sm 120:
        "%R4x2, %PT = IADD.64 %R10x2, %R4x2, ~%PT" => "%R4x2, %PT = IADD.64 %RZx2, %R4x2, ~%PT";
    "IADD" 1 Zero "IADD.1.zero" sm 120:
        "%R6x2, %PT = IADD.64 %R4x2, %R6x2, ~%PT" => "%R6x2, %PT = IADD.64 %R4x2, %RZx2, ~%PT";
    "IADD3" 0 Zero "IADD3.0.zero" sm 90:
        "%R16, %PT, %PT = IADD3.X %R6, %R16, %RZ, %P0, ~%PT"
        => "%R16, %PT, %PT = IADD3.X %RZ, %R16, %RZ, %P0, ~%PT";
    "IADD3" 1 Freed "IADD3.1.freed" sm 90:
        "%R2, %P0, %PT = IADD3 %R2, 0, %RZ, ~%PT, ~%PT" => "%R2, %P0, %PT = IADD3 %R2, %RZ, %RZ, ~%PT, ~%PT";
    "IADD3" 1 Zero "IADD3.1.zero" sm 90:
        "%R6, %P0, %PT = IADD3 %R7, %R6, %RZ, ~%PT, ~%PT" => "%R6, %P0, %PT = IADD3 %R7, %RZ, %RZ, ~%PT, ~%PT";
    "IADD3" 1 Immediate "IADD3.1.immediate" sm 90:
        "%R8, %PT, %PT = IADD3 %R3, %R6, %RZ, ~%PT, ~%PT" => "%R8, %PT, %PT = IADD3 %R3, 5, %RZ, ~%PT, ~%PT";
    "IADD3" 1 Bank "IADD3.1.bank" sm 90:
        "%R0, %PT, %PT = IADD3 %R0, %R7, %RZ, ~%PT, ~%PT" => "%R0, %PT, %PT = IADD3 %R0, c[0][0x0], %RZ, ~%PT, ~%PT";
    "IDP.4A" 0 Zero "IDP.4A.0.zero" sm 90:
        "%R12 = IDP.4A.S8.S8 %R8, %R3, %R6" => "%R12 = IDP.4A.S8.S8 %RZ, %R3, %R6";
    "IDP.4A" 1 Zero "IDP.4A.1.zero" sm 90:
        "%R12 = IDP.4A.S8.S8 %R7, %R8, %R6" => "%R12 = IDP.4A.S8.S8 %R7, %RZ, %R6";
    "IDP.4A" 1 Bank "IDP.4A.1.bank" sm 90:
        "%R6 = IDP.4A.S8.S8 %R7, %R4, %R6" => "%R6 = IDP.4A.S8.S8 %R7, c[0][0x224], %R6";
    "IDP.4A" 2 Zero "IDP.4A.2.zero" sm 90:
        "%R6 = IDP.4A.S8.S8 %R7, %R3, %R6" => "%R6 = IDP.4A.S8.S8 %R7, %R3, %RZ";
    "IMAD" 1 Freed "IMAD.1.freed" sm 90:
        "%R7 = IMAD %R6, 0, %RZ, ~%PT" => "%R7 = IMAD %R6, %RZ, %RZ, ~%PT";
    "IMAD" 1 Zero "IMAD.1.zero" sm 90:
        "%R8 = IMAD %R3, %R6, %RZ, ~%PT" => "%R8 = IMAD %R3, %RZ, %RZ, ~%PT";
    "IMAD" 1 Immediate "IMAD.1.immediate" sm 90:
        "%R8 = IMAD %R3, %R6, %RZ, ~%PT" => "%R8 = IMAD %R3, 5, %RZ, ~%PT";
    "IMAD" 1 Bank "IMAD.1.bank" sm 90:
        "%R0 = IMAD %R0, %R2, %R3, ~%PT" => "%R0 = IMAD %R0, c[0][0x0], %R3, ~%PT";
    "IMAD" 2 Zero "IMAD.2.zero" sm 90:
        "%R6 = IMAD %R7, %R3, %R6, ~%PT" => "%R6 = IMAD %R7, %R3, %RZ, ~%PT";
    "IMAD" 2 Immediate "IMAD.2.immediate" sm 90:
        "%R6 = IMAD %R7, %R3, %R6, ~%PT" => "%R6 = IMAD %R7, %R3, 5, ~%PT";
    "IMAD" 2 Bank "IMAD.2.bank" sm 90:
        "%R4 = IMAD %R7, %R3, %R4, ~%PT" => "%R4 = IMAD %R7, %R3, c[0][0x224], ~%PT";
    "IMAD.HI" 0 Zero "IMAD.HI.0.zero" sm 90:
        "%R7, %PT = IMAD.HI %R7, %R6, %RZx2, ~%PT" => "%R7, %PT = IMAD.HI %RZ, %R6, %RZx2, ~%PT";
    "IMAD.HI" 1 Zero "IMAD.HI.1.zero" sm 90:
        "%R8, %PT = IMAD.HI %R3, %R6, %RZx2, ~%PT" => "%R8, %PT = IMAD.HI %R3, %RZ, %RZx2, ~%PT";
    "IMAD.HI" 1 Immediate "IMAD.HI.1.immediate" sm 90:
        "%R8, %PT = IMAD.HI %R3, %R6, %RZx2, ~%PT" => "%R8, %PT = IMAD.HI %R3, 5, %RZx2, ~%PT";
    "IMAD.HI" 1 Bank "IMAD.HI.1.bank" sm 90:
        "%R4, %PT = IMAD.HI %R3, %R4, %RZx2, ~%PT" => "%R4, %PT = IMAD.HI %R3, c[0][0x224], %RZx2, ~%PT";
    "IMAD.HI" 2 Zero "IMAD.HI.2.zero" sm 90:
        "%R6, %PT = IMAD.HI.U32 %R7, %R3, %R8x2, ~%PT" => "%R6, %PT = IMAD.HI.U32 %R7, %R3, %RZx2, ~%PT";
    "IMAD.WIDE" 0 Zero "IMAD.WIDE.0.zero" sm 90:
        "%R14x2, %PT = IMAD.WIDE.U32 %R16, %R4, %RZx2, ~%PT" => "%R14x2, %PT = IMAD.WIDE.U32 %RZ, %R4, %RZx2, ~%PT";
    "IMAD.WIDE" 1 Zero "IMAD.WIDE.1.zero" sm 90:
        "%R14x2, %P0 = IMAD.WIDE.U32 %R9, %R4, %R14x2, ~%PT" => "%R14x2, %P0 = IMAD.WIDE.U32 %R9, %RZ, %R14x2, ~%PT";
    "IMAD.WIDE" 1 Immediate "IMAD.WIDE.1.immediate" sm 90:
        "%R10x2, %PT = IMAD.WIDE.U32 %R20, %R9, %RZx2, ~%PT" => "%R10x2, %PT = IMAD.WIDE.U32 %R20, 1, %RZx2, ~%PT";
    "IMAD.WIDE" 1 Bank "IMAD.WIDE.1.bank" sm 90:
        "%R4x2, %P0 = IMAD.WIDE.U32 %R9, %R6, %R4x2, ~%PT"
        => "%R4x2, %P0 = IMAD.WIDE.U32 %R9, c[0][0x224], %R4x2, ~%PT";
    "IMAD.WIDE" 2 Zero "IMAD.WIDE.2.zero" sm 90:
        "%R6x2, %PT = IMAD.WIDE.U32 %R2, 3, %R6x2, ~%PT" => "%R6x2, %PT = IMAD.WIDE.U32 %R2, 3, %RZx2, ~%PT";
    "IMNMX" 0 Zero "IMNMX.0.zero" sm 80:
        "%R7 = IMNMX %R7, %R6, %PT" => "%R7 = IMNMX %RZ, %R6, %PT";
    "IMNMX" 1 Zero "IMNMX.1.zero" sm 80:
        "%R8 = IMNMX %R3, %R6, %PT" => "%R8 = IMNMX %R3, %RZ, %PT";
    "IMNMX" 1 Immediate "IMNMX.1.immediate" sm 80:
        "%R8 = IMNMX %R3, %R6, %PT" => "%R8 = IMNMX %R3, 5, %PT";
    "IMNMX" 1 Bank "IMNMX.1.bank" sm 80:
        "%R4 = IMNMX %R3, %R4, %PT" => "%R4 = IMNMX %R3, c[0][0x174], %PT";
    "ISETP" 0 Zero "ISETP.0.zero" sm 90:
        "%P0, %PT = ISETP.EQ.AND %R7, %R3, %PT, %PT" => "%P0, %PT = ISETP.EQ.AND %RZ, %R3, %PT, %PT";
    "ISETP" 1 Zero "ISETP.1.zero" sm 90:
        "%P0, %PT = ISETP.EQ.AND %R2, %R3, %PT, %PT" => "%P0, %PT = ISETP.EQ.AND %R2, %RZ, %PT, %PT";
    "ISETP" 1 Immediate "ISETP.1.immediate" sm 90:
        "%P0, %PT = ISETP.EQ.AND %R3, %R7, %PT, %PT" => "%P0, %PT = ISETP.EQ.AND %R3, 5, %PT, %PT";
    "ISETP" 1 Bank "ISETP.1.bank" sm 90:
        "%P0, %PT = ISETP.EQ.AND %R3, %R4, %PT, %PT" => "%P0, %PT = ISETP.EQ.AND %R3, c[0][0x220], %PT, %PT";
    "LDS" 0 Zero "LDS.0.zero" sm 80:
        "%R0 = LDS %R0, 0" => "%R0 = LDS %RZ, 0";
    "LEA" 1 Zero "LEA.1.zero" sm 80:
        "%R2, %PT = LEA %R0, %R3, 2, ~%PT" => "%R2, %PT = LEA %R0, %RZ, 2, ~%PT";
    "LEA" 1 Immediate "LEA.1.immediate" sm 90:
        "%R0, %PT = LEA %R1, %R0, 24, ~%PT" => "%R0, %PT = LEA %R1, 1024, 24, ~%PT";
    "LOP3.LUT" 0 Zero "LOP3.LUT.0.zero" sm 90:
        "%PT, %R3 = LOP3.LUT %R3, 2, %RZ, 252, ~%PT" => "%PT, %R3 = LOP3.LUT %RZ, 2, %RZ, 252, ~%PT";
    "LOP3.LUT" 1 Zero "LOP3.LUT.1.zero" sm 90:
        "%PT, %R7 = LOP3.LUT %R7, %R8, %RZ, 60, ~%PT" => "%PT, %R7 = LOP3.LUT %R7, %RZ, %RZ, 60, ~%PT";
    "LOP3.LUT" 1 Immediate "LOP3.LUT.1.immediate" sm 90:
        "%PT, %R7 = LOP3.LUT %R7, %R8, %RZ, 60, ~%PT" => "%PT, %R7 = LOP3.LUT %R7, 2, %RZ, 60, ~%PT";
    "LOP3.LUT" 1 Bank "LOP3.LUT.1.bank" sm 90:
        "%PT, %R2 = LOP3.LUT %RZ, %R2, %RZ, 51, ~%PT" => "%PT, %R2 = LOP3.LUT %RZ, c[0][0x0], %RZ, 51, ~%PT";
    "LOP3.LUT" 2 Zero "LOP3.LUT.2.zero" sm 90:
        "%PT, %R6 = LOP3.LUT %R7, %R3, %R6, 150, ~%PT" => "%PT, %R6 = LOP3.LUT %R7, %R3, %RZ, 150, ~%PT";
    "MOV" 0 Zero "MOV.0.zero" sm 90:
        "%R0 = MOV %R0, 15" => "%R0 = MOV %RZ, 15";
    "MOV" 0 Immediate "MOV.0.immediate" sm 90:
        "%R0 = MOV %R0, 15" => "%R0 = MOV 1, 15";
    "MOV" 0 Bank "MOV.0.bank" sm 90:
        "%R0 = MOV %R0, 15" => "%R0 = MOV c[0][0x0], 15";
    "MOV" 0 Uniform "MOV.0.uniform" sm 80:
        "%R5 = MOV %R5, 15" => "%R5 = MOV %UR4, 15";
    "MOV.64" 0 Zero "MOV.64.0.zero" sm 120:
        "%R2x2 = MOV.64 %R2x2" => "%R2x2 = MOV.64 %RZx2";
    "MUFU" 0 Zero "MUFU.0.zero" sm 90:
        "%R10 = MUFU.TANH %R6" => "%R10 = MUFU.TANH %RZ";
    "MUFU" 0 Immediate "MUFU.0.immediate" sm 90:
        "%R3 = MUFU.RSQ %R3" => "%R3 = MUFU.RSQ 0xffc00000";
    "MUFU" 0 Bank "MUFU.0.bank" sm 90:
        "%R4 = MUFU.TANH %R3" => "%R4 = MUFU.TANH c[0][0x224]";
    "PRMT" 0 Zero "PRMT.0.zero" sm 90:
        "%R12 = PRMT %R8, %R6, %R4" => "%R12 = PRMT %RZ, %R6, %R4";
    "PRMT" 1 Zero "PRMT.1.zero" sm 90:
        "%R6 = PRMT %R7, %R6, %R4" => "%R6 = PRMT %R7, %RZ, %R4";
    "PRMT" 1 Immediate "PRMT.1.immediate" sm 90:
        "%R6 = PRMT %R7, %R6, %R4" => "%R6 = PRMT %R7, 5, %R4";
    "PRMT" 1 Bank "PRMT.1.bank" sm 90:
        "%R4 = PRMT %R7, %R3, %R4" => "%R4 = PRMT %R7, c[0][0x224], %R4";
    "PRMT" 2 Zero "PRMT.2.zero" sm 90:
        "%R0 = PRMT %R0, 801, %R13" => "%R0 = PRMT %R0, 801, %RZ";
    "PRMT" 2 Immediate "PRMT.2.immediate" sm 90:
        "%R12 = PRMT %R7, %R6, %R8" => "%R12 = PRMT %R7, %R6, 5";
    "PRMT" 2 Bank "PRMT.2.bank" sm 90:
        "%R6 = PRMT %R7, %R6, %R3" => "%R6 = PRMT %R7, %R6, c[0][0x224]";
    "R2UR" 0 Zero "R2UR.0.zero" sm 90:
        "%PT, %UR5 = R2UR %R3" => "%PT, %UR5 = R2UR %RZ";
    "SEL" 0 Zero "SEL.0.zero" sm 90:
        "%R0 = SEL %R0, %R7, %P0" => "%R0 = SEL %RZ, %R7, %P0";
    "SEL" 1 Zero "SEL.1.zero" sm 90:
        "%R6 = SEL %R6, %R7, %P0" => "%R6 = SEL %R6, %RZ, %P0";
    "SEL" 1 Immediate "SEL.1.immediate" sm 90:
        "%R2 = SEL %R9, %R2, %P3" => "%R2 = SEL %R9, 1, %P3";
    "SEL" 1 Bank "SEL.1.bank" sm 90:
        "%R2 = SEL %R2, %R3, %P0" => "%R2 = SEL %R2, c[0][0x228], %P0";
    "SGXT" 0 Zero "SGXT.0.zero" sm 90:
        "%R6 = SGXT %R6, 24" => "%R6 = SGXT %RZ, 24";
    "SHF" 0 Zero "SHF.0.zero" sm 90:
        "%R7 = SHF.L.U32 %R7, %R6, %RZ" => "%R7 = SHF.L.U32 %RZ, %R6, %RZ";
    "SHF" 1 Zero "SHF.1.zero" sm 90:
        "%R6 = SHF.R.U32 %R7, %R6, %R3" => "%R6 = SHF.R.U32 %R7, %RZ, %R3";
    "SHF" 1 Immediate "SHF.1.immediate" sm 90:
        "%R6 = SHF.R.U32 %R7, %R6, %R3" => "%R6 = SHF.R.U32 %R7, 5, %R3";
    "SHF" 1 Bank "SHF.1.bank" sm 90:
        "%R2 = SHF.L.U32 %R2, %R0, %RZ" => "%R2 = SHF.L.U32 %R2, c[0][0x210], %RZ";
    "SHF" 2 Zero "SHF.2.zero" sm 90:
        "%R12 = SHF.R.U32 %R7, %R6, %R8" => "%R12 = SHF.R.U32 %R7, %R6, %RZ";
    "SHF" 2 Immediate "SHF.2.immediate" sm 90:
        "%R12 = SHF.R.U32 %R7, %R6, %R8" => "%R12 = SHF.R.U32 %R7, %R6, 5";
    "SHF" 2 Bank "SHF.2.bank" sm 90:
        "%R6 = SHF.R.U32 %R7, %R6, %R4" => "%R6 = SHF.R.U32 %R7, %R6, c[0][0x224]";
    "SHFL" 1 Zero "SHFL.1.zero" sm 90:
        "%P0, %R20 = SHFL.BFLY %R8, %R21, %R20" => "%P0, %R20 = SHFL.BFLY %R8, %RZ, %R20";
    "SHFL" 1 Immediate "SHFL.1.immediate" sm 90:
        "%P0, %R8 = SHFL.UP %R10, %R9, %R8" => "%P0, %R8 = SHFL.UP %R10, 1, %R8";
    "SHFL" 2 Zero "SHFL.2.zero" sm 90:
        "%P0, %R8 = SHFL.UP %R10, 1, %R8" => "%P0, %R8 = SHFL.UP %R10, 1, %RZ";
    "SHFL" 2 Immediate "SHFL.2.immediate" sm 90:
        "%P0, %R8 = SHFL.UP %R10, 2, %R8" => "%P0, %R8 = SHFL.UP %R10, 2, 6144";
    "STG" 3 Zero "STG.3.zero" sm 90:
        "STG.E %UR4x2, %R2x2, 0, %R4" => "STG.E %UR4x2, %R2x2, 0, %RZ";
    "STL" 2 Zero "STL.2.zero" sm 90:
        "STL.128 %R13, 0, %R16x4" => "STL.128 %R13, 0, %RZx4";
    "STS" 2 Zero "STS.2.zero" sm 90:
        "STS %R18, 0, %R6" => "STS %R18, 0, %RZ";
    "VABSDIFF" 0 Zero "VABSDIFF.0.zero" sm 90:
        "%R12, %PT = VABSDIFF %R8, %R3, %R6" => "%R12, %PT = VABSDIFF %RZ, %R3, %R6";
    "VABSDIFF" 1 Zero "VABSDIFF.1.zero" sm 90:
        "%R12, %PT = VABSDIFF %R7, %R8, %R6" => "%R12, %PT = VABSDIFF %R7, %RZ, %R6";
    "VABSDIFF" 1 Immediate "VABSDIFF.1.immediate" sm 90:
        "%R12, %PT = VABSDIFF %R7, %R8, %R6" => "%R12, %PT = VABSDIFF %R7, 5, %R6";
    "VABSDIFF" 1 Bank "VABSDIFF.1.bank" sm 90:
        "%R6, %PT = VABSDIFF %R7, %R4, %R6" => "%R6, %PT = VABSDIFF %R7, c[0][0x224], %R6";
    "VABSDIFF" 2 Zero "VABSDIFF.2.zero" sm 90:
        "%R6, %PT = VABSDIFF %R7, %R3, %R6" => "%R6, %PT = VABSDIFF %R7, %R3, %RZ";
    "VABSDIFF" 2 Immediate "VABSDIFF.2.immediate" sm 90:
        "%R6, %PT = VABSDIFF %R0, %R2, %R6" => "%R6, %PT = VABSDIFF %R0, %R2, 9";
    "VABSDIFF" 2 Bank "VABSDIFF.2.bank" sm 90:
        "%R4, %PT = VABSDIFF %R7, %R3, %R4" => "%R4, %PT = VABSDIFF %R7, %R3, c[0][0x224]";
    "VIMNMX" 0 Zero "VIMNMX.0.zero" sm 120:
        "%R7 = VIMNMX.S32 %R7, %R4, %PT" => "%R7 = VIMNMX.S32 %RZ, %R4, %PT";
    "VIMNMX" 1 Zero "VIMNMX.1.zero" sm 90:
        "%R7, %PT = VIMNMX %PT, %R7, %R6, %PT" => "%R7, %PT = VIMNMX %PT, %RZ, %R6, %PT";
    "VIMNMX" 1 Immediate "VIMNMX.1.immediate" sm 120:
        "%R4 = VIMNMX.S32 %R0, %R4, %PT" => "%R4 = VIMNMX.S32 %R0, 5, %PT";
    "VIMNMX" 2 Zero "VIMNMX.2.zero" sm 90:
        "%R8, %PT = VIMNMX %PT, %R3, %R6, %PT" => "%R8, %PT = VIMNMX %PT, %R3, %RZ, %PT";
    "VIMNMX" 2 Immediate "VIMNMX.2.immediate" sm 90:
        "%R8, %PT = VIMNMX %PT, %R3, %R6, %PT" => "%R8, %PT = VIMNMX %PT, %R3, 5, %PT";
    "VIMNMX" 2 Bank "VIMNMX.2.bank" sm 90:
        "%R4, %PT = VIMNMX %PT, %R3, %R4, %PT" => "%R4, %PT = VIMNMX %PT, %R3, c[0][0x224], %PT";
}
