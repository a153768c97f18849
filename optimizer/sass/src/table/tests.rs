//! Words that ptxas made, with the text that nvdisasm gives them at address 0.

use crate::{SMS, Table, WordError, text};

const WORDS: &[(u16, u128, &str)] = &[
    (80, 0x0032_1e00_0c1e_1900_0000_0004_0809_7981, "LDG.E R9, [R8.64]"),
    (80, 0x0033_de00_0011_8b00_0000_0004_0200_7386, "STG.E.64.MMIO.SYS [R2], R4"),
    (80, 0x0033_de00_0c10_e784_0000_0005_0e00_798e, "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R14.64], R5"),
    (80, 0x0041_d800_0d00_403f_0000_0000_02ff_7f8c, "ATOMS.POPC.INC.32 RZ, [R2.X4+URZ]"),
    (80, 0x003f_de00_03c3_ffff_ffff_f8e0_0600_7344, "CALL.REL.NOINC R6 -0x710"),
    (80, 0x003f_de00_03c0_0000_0000_0007_0000_7348, "WARPSYNC.EXCLUSIVE R7"),
    (80, 0x003f_de00_0780_0000_0000_0012_1102_7217, "IMNMX.U32 R2, R17, R18, !PT"),
    (80, 0x000f_e200_0000_0a00_0000_4600_0006_7ab9, "ULDC.64 UR6, c[0x0][0x118]"),
    (80, 0x0032_1e00_000e_0000_0000_0000_1004_73c2, "R2UR UR4, R16"),
    (80, 0x0033_de00_0c14_1c44_0000_0000_0c0a_7fae, "LDGSTS.E.BYPASS.128.ZFILL [R10], [R12.64], !P0"),
    (90, 0x0032_1e00_0c5e_9b20_0000_0004_0a0a_7981, "LDG.E.NA.LTC128B.64.CONSTANT R10, desc[UR4][R10.64]"),
    (90, 0x000e_a400_0800_0c00_0000_0004_ff0c_7984, "LDS.128 R12, [UR4]"),
    (90, 0x0032_1e00_0000_0a00_0000_8400_0202_7b82, "LDC.64 R2, c[0x0][R2+0x210]"),
    (90, 0x000f_e400_0800_0000_00c0_0040_0405_7abb, "ULDC.U8 UR5, c[0x3][UR4+0x1]"),
    (90, 0x0032_1e00_001e_e90c_0000_0008_1208_73a9, "ATOMG.E.CAS.128.STRONG.GPU PT, R8, [R18], R8, R12"),
    (90, 0x0032_1e00_0180_040a_0000_0008_0f0a_738d, "ATOMS.CAST.SPIN.64 R10, [R15], R8, R10"),
    (90, 0x0033_de00_0c10_f584_0000_0010_0a00_79a6, "REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU desc[UR4][R10.64], R16"),
    (90, 0x000f_f400_0b80_0000_0000_001a_0684_7947, "BRA.DIV UR6, 0x1a20"),
    (90, 0x000f_e200_0380_0000_0000_02b0_0000_7945, "BSSY B0, 0x2c0"),
    (90, 0x003f_de00_03c3_ffff_ffff_fff8_0638_7344, "CALL.REL.NOINC R6 -0x710"),
    (90, 0x003f_de00_03c3_ffff_ffff_fff0_1498_7950, "RET.REL.NODEC R20 -0xd90"),
    (90, 0x0033_de00_0081_4000_0000_0000_0000_7b1d, "BAR.RED.POPC.DEFER_BLOCKING 0x0, P1"),
    (90, 0x0032_1e00_0800_017f_0000_0012_0d00_75a7, "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R13+URZ], R18"),
    (90, 0x0032_1e00_0810_003f_0000_00ff_0cff_79a7, "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R12+URZ], RZ"),
    (90, 0x0033_de00_0800_0a04_0000_0008_0600_73ba, "UBLKCP.S.G.MULTICAST [UR8], [UR6], UR4"),
    (90, 0x0033_de00_0805_8004_0000_0008_0600_73b4, "UTMALDG.4D.IM2COL [UR8], [UR6], UR4"),
    (90, 0x0033_de00_0800_8000_0000_0008_0400_73b6, "UTMAREDG.2D.ADD [UR8], [UR4]"),
    (90, 0x0032_1e00_0b01_497f_0000_0000_0404_79a5, "LDGMC.E.F32ADD.BF16x4.RN.STRONG.SYS R4, [R4.64+URZ]"),
    (100, 0x0032_1e00_0b03_49ff_0000_0000_0404_79a5, "LDGMC.E.HPADD.BF16x4.RN.STRONG.SYS R4, [R4.64+URZ]"),
    (100, 0x0032_1e00_0a83_47ff_0000_0000_0404_79a5, "LDGMC.E.MAX.E5M2x16.RN.STRONG.SYS R4, [R4.64+URZ]"),
    (90, 0x0032_1e00_0801_417f_0000_0000_0404_79a4, "LDGMC.E.ADD.32.STRONG.SYS R4, [R4.64+URZ]"),
    (90, 0x000e_2200_0000_8800_0000_0000_0005_79c3, "S2UR UR5, SR_CgaCtaId"),
    (90, 0x003f_de00_0001_ff00_0000_0000_0008_7805, "CS2R R8, SRZ"),
    (90, 0x003e_1e00_0010_0000_0000_0000_0718_7355, "BMOV.32.CLEAR R24, B7"),
    (90, 0x0032_1e00_0006_4000_0000_0000_00ff_731c, "B2R.RESULT RZ, P3"),
    (90, 0x0032_1e00_0000_0200_0000_0000_0202_73a1, "MATCH.ALL.U64 P0, R2, R2"),
    (90, 0x000e_7000_0001_4200_0000_0000_0408_73c4, "REDUX.MAX.S32 UR8, R4"),
    (90, 0x0c0f_e400_0780_0903_b960_0000_0200_7446, "VIADDMNMX R0, R2.reuse, -R3.reuse, 0xb9600000, !PT"),
    (90, 0x000f_da00_03f2_f008_0000_0000_0000_781c, "PLOP3.LUT P1, PT, PT, PT, UP0, 0x80, 0x0"),
    (90, 0x003f_de00_0070_0207_0000_0009_0600_721f, "PLOP3.LUT P0, PT, R6.SIGN, R9.SIGN, R7.SIGN, 0x2, 0x0"),
    (90, 0x003f_de00_000e_0000_0000_0000_0e04_72ca, "R2UR UR4, R14"),
    (90, 0x000f_d800_087f_e43f_0000_0005_3f05_7290, "UIADD3.X UR5, URZ, UR5, URZ, UP0, !UPT"),
    (90, 0x000f_c600_0f8f_083f_0000_0005_0505_7291, "ULEA.HI UR5, UR5, UR5, URZ, 0x1"),
    (90, 0x000f_e200_0f8e_0004_0000_0001_0604_78a5, "UIMAD.WIDE.U32 UR4, UR6, 0x1, UR4"),
    (90, 0x008e_2800_000e_00ff_0460_0000_0211_7989, "SHFL.UP PT, R17, R2, 0x3, RZ"),
    (90, 0x003f_de00_0000_0000_0000_8040_0000_791a, "DEPBAR.LE SB0, 0x1"),
    (90, 0x0033_de00_0480_0100_0000_0000_0400_798f, "CCTL.E.PML2 [R4]"),
    (90, 0x003e_1e00_0000_0000_0000_0000_0000_73c6, "FENCE.VIEW.ASYNC.S"),
    (90, 0x003f_de00_0380_0000_0000_0000_003e_782f, "ELECT P0, UR62, PT"),
    (90, 0x0033_de00_0c00_083f_0000_0003_0600_7dbd, "STAS [R6.64], R3"),
    (90, 0x003f_de00_0800_3000_0000_00ff_3e00_7884, "UR2UP UPR, UR62.B3"),
    (90, 0x003f_de00_0000_1610_0000_0004_0814_7226, "IDP.2A.LO.S16.S8 R20, R8, R4, R16"),
    (90, 0x0004_e400_000e_0000_8000_0013_0009_7300, "FLO.U32 R9, ~R19"),
    (100, 0x000e_2400_0800_0000_00c0_0020_0506_77ac, "LDCU.U8 UR6, c[0x3][UR5+0x1]"),
    (100, 0x0032_1e00_081e_f504_8000_0006_0404_79a8, "ATOMG.E.ADD.64.STRONG.GPU PT, R4, desc[UR4][R4.64], R6"),
    (100, 0x0033_de00_0c12_e104_0000_000e_0800_798e, "REDG.E.ADD.STRONG.GPU desc[UR4][R8.64], R14"),
    (100, 0x000f_ec00_0b80_0000_0000_0001_08ac_7547, "BRA.U !UP0, 0x2c0"),
    (100, 0x003f_de00_0393_ffff_ffff_fffd_00ec_3947, "@P3 BRA.U.ANY -0x40"),
    (100, 0x000f_e200_0380_0200_0000_02b0_0000_7945, "BSSY.RECONVERGENT B0, 0x2c0"),
    (100, 0x000f_ce00_0000_0200_0000_0000_0408_72cc, "CREDUX.MAX.S32 UR8, R4"),
    (100, 0x003f_de00_07f1_e0ff_0000_0004_070a_7810, "IADD3 R10, P0, PT, R7, 0x4, RZ"),
    (100, 0x003f_de00_07fe_0000_0000_0012_1102_7248, "VIMNMX.U32 R2, PT, PT, R17, R18, !PT"),
    (100, 0x0032_1e00_0c1c_1804_0000_0000_0c0a_7fae, "LDGSTS.E.BYPASS.128.ZFILL [R10], desc[UR4][R12.64], !P0"),
    (100, 0x000f_e400_0fff_e0ff_0000_0004_0606_7890, "UIADD3 UR6, UPT, UPT, UR6, 0x4, URZ"),
    (100, 0x003e_1e00_09c0_8000_0000_0000_0400_7540, "CCTL.E.C.LDCU.IV.DEEP [UR4]"),
    (120, 0x003f_de00_0000_0000_0000_0030_390a_7402, "MOV.64 R10, 0x3039"),
    (120, 0x003f_de00_0000_0000_0000_0020_1c1c_7607, "SEL.64 R28, R28, R32, P0"),
    (120, 0x003f_de00_000e_0600_0000_00ff_1c1e_7235, "IADD.64.X R30, R28, RZ, P0"),
    (120, 0x003f_de00_03f1_2270_0000_00ff_0600_720c, "ISETP.EQ.S64.AND P0, PT, R6, RZ, PT"),
    (120, 0x003f_de00_03ff_e600_0000_0004_0604_7217, "IMNMX.S64 PT, PT, R4, R6, R4, PT, !PT"),
    (120, 0x003f_de00_0001_0400_0000_0006_0a0a_7236, "VIADD.S32.ISAT R10, R10, R6"),
    (120, 0x003f_de00_07fe_0100_b960_0000_0505_7848, "VIMNMX.S32 R5, R5, -0x46a00000, !PT"),
    (120, 0x000f_e200_0800_0000_0000_0000_2c04_7482, "UMOV.64 UR4, 0x2c"),
    (120, 0x000f_e200_0001_5000_0000_0000_0004_78cb, "CS2UR UR4, SR_CLOCKLO"),
    (120, 0x000f_e200_0ffe_0100_0000_0010_ff04_724a, "UVIMNMX.S32 UR4, URZ, UR16, !UPT"),
    (120, 0x000f_e200_0fff_e0ff_0000_0010_0404_7897, "UIADD3.64 UR4, UPT, UPT, UR4, 0x10, URZ"),
    (120, 0x003f_de00_0000_0000_0000_0000_3014_794e, "LEPC R20, 0x40"),
    (80, 0x000f_e200_019e_5f20_2000_5820_3e22_7b60, "TEX.LL.AOFFI.DC R32, R34, R62, R32, 0x0, 0x58, 2D"),
    (80, 0x048f_4200_009e_0f06_1000_58ff_0c08_7b66, "TLD.SCR.LZ R6, R8, R12, 0x0, 0x58, 1D"),
    (80, 0x0032_1e00_001e_0f10_3800_0010_0c0c_7364, "TLD4.SCR.R.B R16, R12, R12, R16, 2D"),
    (80, 0x0032_1e00_001e_0f1a_2800_001c_1818_736d, "TXD.B R26, R24, R24, R28, 2D"),
    (80, 0x042f_4200_0000_01ff_0000_5800_2a26_7b6f, "TXQ RZ, R38, R42, TEX_HEADER_DIMENSION, 0x0, 0x58, 0x1"),
    (80, 0x0032_1e00_001e_ab30_9000_0000_0404_799a, "SULD.D.BA.2D_ARRAY.64.STRONG.SM.TRAP R4, [R4], R48"),
    (80, 0x0033_de00_0010_a330_b000_0008_0400_799c, "SUST.P.3D.STRONG.SM.RG.TRAP [R4], R8, R48"),
    (80, 0x0033_de00_0091_4b30_7000_002c_0400_73a0, "SURED.D.BA.2D.MIN.S64.STRONG.SYS.TRAP [R4], R44, R48"),
    (80, 0x003f_de00_0010_0000_0000_0000_1a0f_7f56, "BMOV.32.PQUAD MACTIVE, B15"),
    (90, 0x0032_1e00_099e_3f06_0000_0404_2404_7f66, "TLD.LL.AOFFI.CL R6, R4, R36, R4, UR4, 0x0, 1D"),
    (90, 0x0032_1e00_089e_4f06_2000_0410_2404_7f66, "TLD.LZ.MS R6, R4, R36, R16, UR4, 0x0, 2D"),
    (90, 0x0032_1e00_099e_5f04_2000_0404_0606_7f63, "TLD4.A.AOFFI.DC R4, R6, R6, R4, UR4, 0x0, 2D"),
    (90, 0x0033_de00_0810_ab00_7000_0438_2400_7f9d, "SUST.D.BA.2D.64.STRONG.SM.TRAP [R36], R56, UR4, 0x0"),
    (100, 0x0032_1e00_0800_01ff_0000_0400_0000_7f6f, "TXQ RZ, R0, R0, TEX_HEADER_DIMENSION, UR4, 0x0, 0x1"),
    (100, 0x0033_de00_0b11_4100_10ff_0410_2400_7f9f, "SURED.D.BA.1D.OR.STRONG.SYS.TRAP [R36], R16, UR4"),
    (100, 0x000e_e200_083c_0000_0000_000a_0004_79ee, "LDTM.x128 R4, tmem[UR10]"),
    (100, 0x000e_e200_08a8_0000_1000_0009_0004_79ee, "LDTM.16dp32bit_t0_t15.x32 R4, tmem[UR9+0x100000]"),
    (100, 0x0005_e200_0814_000d_0000_8008_0000_79ed, "STTM.x4 tmem[UR13+0x80], R8"),
    (
        100,
        0x0001_e200_0b80_000a_00ff_200e_1a00_75ea,
        "UTCHMMA gdesc[UR26], gdesc[UR14], tmem[UR10], tmem[UR32], idesc[UR33], UPT",
    ),
    (
        100,
        0x0005_e200_0b80_0007_00ff_1404_0d00_79ea,
        "UTCHMMA tmem[UR13], gdesc[UR4], tmem[UR7], tmem[UR20], idesc[UR21], UPT",
    ),
    (
        100,
        0x0001_e200_0f80_0307_00ff_0e0a_0400_75ea,
        "UTCQMMA gdesc[UR4], gdesc[UR10], tmem[UR7], tmem[UR14], idesc[UR15], !UPT",
    ),
    (
        100,
        0x0001_d800_0820_0306_000c_040a_0800_7dea,
        "UTCQMMA.2CTA gdesc[UR8], gdesc[UR10], tmem[UR6], tmem[UR4], idesc[UR5], tmem[UR12], UP0",
    ),
    (
        100,
        0x0001_e200_0b80_000c_c00e_0a06_0400_75ea,
        "UTCOMMA gdesc[UR4], gdesc[UR6], tmem[UR12], tmem[UR10], idesc[UR11], tmem[UR14], UPT",
    ),
    (100, 0x000e_2400_0811_0000_0000_0006_0400_79e7, "UTCCP.T.S.4dp256bit.U4x16P64 tmem[UR4], gdesc[UR6]"),
    (100, 0x000e_2400_0801_0000_0000_0000_0400_79e6, "UTCSHIFT.DOWN tmem[UR4]"),
    (100, 0x0001_e200_0800_08ff_0000_00ff_0600_73e9, "UTCBAR.MULTICAST [UR6], URZ"),
    (100, 0x000e_2400_0800_0800_0000_0006_0006_75e3, "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR6, UR6"),
    (100, 0x0003_e200_0800_0000_0000_0004_00ff_79e3, "UTCATOMSWS.AND URZ, UR4"),
    (100, 0x000f_e200_0000_0000_0000_0080_0000_784c, "UVIRTCOUNT.DEALLOC.SMPOOL 0x80"),
    (100, 0x000f_d800_0800_0000_0000_0000_0400_73ca, "UGETNEXTWORKID.SELFCAST [UR4], [UR5]"),
    (100, 0x0001_e800_0800_0008_0000_08ff_0600_73cb, "UMEMSETS.64 [UR6+0x8], URZ, UR8"),
    (100, 0x000f_ca00_0100_0000_3fb8_aa3b_0814_784a, "FMUL2 R20, R8.F32x2.HI_LO, 1.4426950216293334961"),
    (120, 0x0032_1e00_081e_0f06_21ff_0400_0404_7f60, "TEX.AOFFI R6, R4, R4, R0, UR4, 2D"),
    (120, 0x0032_1e00_081e_ad00_b0ff_0400_2c04_7f99, "SULD.D.BA.3D.128.STRONG.SM.TRAP R4, [R44], UR4"),
];

#[test]
fn words_have_the_text_of_nvdisasm_and_are_made_anew() {
    for (sm, word, expected) in WORDS {
        let table = Table::of(*sm).expect("the SM is known");
        let instruction = table.decode(*word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        let mut printed = String::new();
        text::print(&mut printed, &instruction, 0);
        assert_eq!(printed, *expected, "{word:#034x} of sm_{sm}");
        assert_eq!(instruction.encode(), *word, "{expected}");
    }
}

#[test]
fn no_part_owns_the_bits_of_another() {
    for sm in SMS {
        for encoding in Table::of(sm).expect("the SM is known").encodings() {
            let overlaps = encoding.overlaps();
            assert!(overlaps.is_empty(), "sm_{sm} {} {:?}: {overlaps:?}", encoding.name, encoding.form);
        }
    }
}

#[test]
fn codes_that_stand_for_nothing_are_refused() {
    let table = Table::of(90).expect("the SM is known");
    // A load of 32 bits, then with the size 7, with a set bit that nobody owns, and with an opcode that nothing has.
    let load = 0x0032_1e00_0c1e_1900_0000_0004_0809_7981;
    assert!(table.decode(load).is_ok());
    assert!(matches!(table.decode(load | 7 << 73), Err(WordError::Reserved { name: "LDG", low: 73, value: 7 })));
    assert!(matches!(table.decode(load | 1 << 96), Err(WordError::Bits { name: "LDG", .. })));
    assert!(matches!(table.decode(load & !0xfff | 0x001), Err(WordError::Opcode { sm: 90, opcode: 1 })));
}

/// Listings put a label there; control does not go to it from here.
#[test]
fn lepc_names_a_place_and_is_no_branch() {
    let table = Table::of(120).expect("the SM has a table");
    let lepc = table.decode(0x003f_de00_0000_0000_0000_0000_3014_794e).expect("it is LEPC R20, 0x40");
    assert_eq!((lepc.place(0), lepc.place(0x100), lepc.target(0)), (Some(0x40), Some(0x140), None));
    let branch = Table::of(100).and_then(|table| table.decode(0x000f_ec00_0b80_0000_0000_0001_08ac_7547).ok());
    let branch = branch.expect("it is a branch");
    assert!(branch.place(0x10).is_some() && branch.place(0x10) == branch.target(0x10));
}

/// Effects are those of the mnemonic; only timing differs from SM to SM.
#[test]
fn rows_of_a_mnemonic_have_the_same_effects() {
    let mut classes: std::collections::BTreeMap<&str, crate::class::Class> = std::collections::BTreeMap::new();
    for row in super::rows() {
        let first = classes.entry(row.name).or_insert(row.class);
        assert!(first.has_effects_of(&row.class), "{}: {first:?} and {:?}", row.name, row.class);
    }
}

/// The columns of a row do not contradict each other.
#[test]
fn columns_agree_with_each_other() {
    use crate::class::{Latency, Memory, Order, Pipe, Sources, Space};
    for row in super::rows() {
        let class = row.class;
        assert_eq!(class.memory == Memory::None, class.space == Space::None, "{}: {class:?}", row.name);
        let is_late = class.sources == Sources::Later;
        assert_eq!(class.latency == Latency::Variable, is_late, "{}: a scoreboard has both barriers", row.name);
        let accesses = class.memory != Memory::None && class.order != Order::Asynchronous;
        let is_slow = matches!(class.pipe, Pipe::Memory | Pipe::Texture | Pipe::Uniform | Pipe::Branch);
        assert!(!accesses || is_slow, "{}: {class:?}", row.name);
        let has_special = row.parts.iter().any(|part| matches!(part.what, crate::row::What::Special(_)));
        assert_eq!(has_special, class.order == Order::Special, "{}: a special register", row.name);
    }
}
