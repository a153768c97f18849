//! Special registers: what holds the thread's number, clocks, the machine's state.

use super::prelude::*;

const fn names(sm: u16) -> [&'static str; 256] {
    let mut names = [""; 256];
    let mut i = 0;
    while i < COMMON.len() {
        names[COMMON[i].0 as usize] = COMMON[i].1;
        i += 1;
    }
    let mut i = 0;
    while i < LATER.len() {
        if LATER[i].0 <= sm && sm <= LATER[i].1 {
            names[LATER[i].2 as usize] = LATER[i].3;
        }
        i += 1;
    }
    names
}

/// Those that every SM has, by number.
const COMMON: &[(u8, &str)] = &[
    (0, "SR_LANEID"),
    (1, "SR_CLOCK"),
    (2, "SR_VIRTCFG"),
    (3, "SR_VIRTID"),
    (15, "SR_ORDERING_TICKET"),
    (16, "SR_PRIM_TYPE"),
    (17, "SR_INVOCATION_ID"),
    (18, "SR_Y_DIRECTION"),
    (19, "SR_THREAD_KILL"),
    (20, "SM_SHADER_TYPE"),
    (21, "SR_DIRECTCBEWRITEADDRESSLOW"),
    (22, "SR_DIRECTCBEWRITEADDRESSHIGH"),
    (23, "SR_DIRECTCBEWRITEENABLED"),
    (24, "SR_SW_SCRATCH"),
    (25, "SR_MACHINE_ID_1"),
    (26, "SR_MACHINE_ID_2"),
    (27, "SR_MACHINE_ID_3"),
    (28, "SR_AFFINITY"),
    (29, "SR_INVOCATION_INFO"),
    (30, "SR_WSCALEFACTOR_XY"),
    (31, "SR_WSCALEFACTOR_Z"),
    (32, "SR_TID"),
    (33, "SR_TID.X"),
    (34, "SR_TID.Y"),
    (35, "SR_TID.Z"),
    (37, "SR_CTAID.X"),
    (38, "SR_CTAID.Y"),
    (39, "SR_CTAID.Z"),
    (40, "SR_NTID"),
    (41, "SR_CirQueueIncrMinusOne"),
    (42, "SR_NLATC"),
    (44, "SR_SM_SPA_VERSION"),
    (45, "SR_MULTIPASSSHADERINFO"),
    (46, "SR_LWINHI"),
    (47, "SR_SWINHI"),
    (48, "SR_SWINLO"),
    (49, "SR_SWINSZ"),
    (50, "SR_SMEMSZ"),
    (51, "SR_SMEMBANKS"),
    (52, "SR_LWINLO"),
    (53, "SR_LWINSZ"),
    (54, "SR_LMEMLOSZ"),
    (55, "SR_LMEMHIOFF"),
    (56, "SR_EQMASK"),
    (57, "SR_LTMASK"),
    (58, "SR_LEMASK"),
    (59, "SR_GTMASK"),
    (60, "SR_GEMASK"),
    (61, "SR_REGALLOC"),
    (62, "SR_BARRIERALLOC"),
    (64, "SR_GLOBALERRORSTATUS"),
    (66, "SR_WARPERRORSTATUS"),
    (67, "SR_VIRTUALSMID"),
    (68, "SR_VIRTUALENGINEID"),
    (80, "SR_CLOCKLO"),
    (81, "SR_CLOCKHI"),
    (82, "SR_GLOBALTIMERLO"),
    (83, "SR_GLOBALTIMERHI"),
    (84, "SR_ESR_PC"),
    (85, "SR_ESR_PC_HI"),
    (96, "SR_HWTASKID"),
    (97, "SR_CIRCULARQUEUEENTRYINDEX"),
    (98, "SR_CIRCULARQUEUEENTRYADDRESSLOW"),
    (99, "SR_CIRCULARQUEUEENTRYADDRESSHIGH"),
    (100, "SR_PM0"),
    (101, "SR_PM_HI0"),
    (102, "SR_PM1"),
    (103, "SR_PM_HI1"),
    (104, "SR_PM2"),
    (105, "SR_PM_HI2"),
    (106, "SR_PM3"),
    (107, "SR_PM_HI3"),
    (108, "SR_PM4"),
    (109, "SR_PM_HI4"),
    (110, "SR_PM5"),
    (111, "SR_PM_HI5"),
    (112, "SR_PM6"),
    (113, "SR_PM_HI6"),
    (114, "SR_PM7"),
    (115, "SR_PM_HI7"),
    (116, "SR_SNAP_PM0"),
    (117, "SR_SNAP_PM_HI0"),
    (118, "SR_SNAP_PM1"),
    (119, "SR_SNAP_PM_HI1"),
    (120, "SR_SNAP_PM2"),
    (121, "SR_SNAP_PM_HI2"),
    (122, "SR_SNAP_PM3"),
    (123, "SR_SNAP_PM_HI3"),
    (124, "SR_SNAP_PM4"),
    (125, "SR_SNAP_PM_HI4"),
    (126, "SR_SNAP_PM5"),
    (127, "SR_SNAP_PM_HI5"),
    (128, "SR_SNAP_PM6"),
    (129, "SR_SNAP_PM_HI6"),
    (130, "SR_SNAP_PM7"),
    (131, "SR_SNAP_PM_HI7"),
    (132, "SR_VARIABLE_RATE"),
    (133, "__HIR0X000"),
    (255, "SRZ"),
];

/// Those of some SMs: from the first to the last, number, name.
const LATER: &[(u16, u16, u8, &str)] = &[
    (90, u16::MAX, 65, "SR_CGAERRORSTATUS"),
    (90, 90, 134, "SR_WARPGROUP_INFO"),
    (90, 90, 135, "SR_WARPGROUPID"),
    (90, u16::MAX, 136, "SR_CgaCtaId"),
    (90, u16::MAX, 137, "SR_GpcLocalCgaId"),
    (100, u16::MAX, 138, "SR_CgaSize"),
    (90, u16::MAX, 139, "SR_CTARegPoolSz"),
    (100, u16::MAX, 141, "SR_TMemSz"),
    (120, u16::MAX, 142, "SR_CONTEXT_SAVE_ADDR_LO"),
    (120, u16::MAX, 143, "SR_CONTEXT_SAVE_ADDR_HI"),
];

const SM80: &[&str; 256] = &names(80);
const SM90: &[&str; 256] = &names(90);
const SM100: &[&str; 256] = &names(100);
const SM120: &[&str; 256] = &names(120);

/// How much of a special register is read.
const CLOCKS: Part = flag(80, &["32", "64"]);

const fn sr(names: &'static [&'static str; 256]) -> Part {
    at(What::Special(names), 72, 8)
}

macro_rules! rows {
    ($($names:expr, $first:expr, $last:expr);+) => {
        &[$(
            Row::new("S2R", 0x919, SPECIAL_REGISTER, &[rd(), sr($names)]).sms($first, $last),
            Row::new("S2UR", 0x9c3, SPECIAL_REGISTER, &[ur(16), sr($names)]).uniform().sms($first, $last),
            Row::new("CS2R", 0x805, FAST_SPECIAL_REGISTER.after(5), &[flag(80, &["32", ""]), rd().sized(&CLOCKS), sr($names)]).sms($first, $last),
        )+]
    };
}

/// Special registers that the uniform datapath reads.
pub const CS2UR: &[Row] = &[Row::new(
    "CS2UR",
    0x8cb,
    FAST_SPECIAL_REGISTER.uniform().after(5),
    &[flag(80, &["32", ""]), ur(16).sized(&CLOCKS), sr(SM120)],
)
.since(120)
.uniform()];

/// The rows.
pub const ROWS: &[Row] = rows!(SM80, 80, 89; SM90, 90, 90; SM100, 100, 110; SM120, 120, u16::MAX);
