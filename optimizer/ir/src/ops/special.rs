//! Special registers: read-only values that the machine provides (PTX ISA 9.0, chapter "Special Registers").

macro_rules! special {
    ($($(#[$doc:meta])* $reg:ident = $name:literal $bits:literal $kind:ident;)*) => {
        /// A special register.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum SpecialReg { $($(#[$doc])* #[doc = concat!("`", $name, "`")] $reg,)* }

        impl SpecialReg {
            /// Every special register.
            pub const ALL: &'static [SpecialReg] = &[$(SpecialReg::$reg),*];

            /// Its name without the leading `%`.
            pub fn name(self) -> &'static str {
                match self { $(SpecialReg::$reg => $name,)* }
            }

            /// Its width in bits.
            pub fn bits(self) -> u32 {
                match self { $(SpecialReg::$reg => $bits,)* }
            }

            /// Whether two reads can differ.
            pub fn is_volatile(self) -> bool {
                match self { $(SpecialReg::$reg => special!($kind).0,)* }
            }

            /// Whether the machine and its state decide what it holds, and not the launch and the thread.
            pub fn is_of_machine(self) -> bool {
                match self { $(SpecialReg::$reg => special!($kind).1,)* }
            }
        }
    };
    (fixed) => { (false, false) };
    (machine) => { (false, true) };
    (volatile) => { (true, true) };
}

special! {
    TidX = "tid.x" 32 fixed; TidY = "tid.y" 32 fixed; TidZ = "tid.z" 32 fixed;
    NtidX = "ntid.x" 32 fixed; NtidY = "ntid.y" 32 fixed; NtidZ = "ntid.z" 32 fixed;
    CtaidX = "ctaid.x" 32 fixed; CtaidY = "ctaid.y" 32 fixed; CtaidZ = "ctaid.z" 32 fixed;
    NctaidX = "nctaid.x" 32 fixed; NctaidY = "nctaid.y" 32 fixed; NctaidZ = "nctaid.z" 32 fixed;
    LaneId = "laneid" 32 fixed; WarpId = "warpid" 32 machine; NWarpId = "nwarpid" 32 machine;
    LanemaskEq = "lanemask_eq" 32 fixed; LanemaskLe = "lanemask_le" 32 fixed; LanemaskLt = "lanemask_lt" 32 fixed;
    LanemaskGe = "lanemask_ge" 32 fixed; LanemaskGt = "lanemask_gt" 32 fixed;
    SmId = "smid" 32 machine; NSmId = "nsmid" 32 machine; GridId = "gridid" 64 machine;
    Clock = "clock" 32 volatile; ClockHi = "clock_hi" 32 volatile; Clock64 = "clock64" 64 volatile;
    GlobalTimer = "globaltimer" 64 volatile;
    GlobalTimerLo = "globaltimer_lo" 32 volatile; GlobalTimerHi = "globaltimer_hi" 32 volatile;
    DynamicSmemSize = "dynamic_smem_size" 32 fixed; TotalSmemSize = "total_smem_size" 32 machine;
    AggrSmemSize = "aggr_smem_size" 32 machine;
    ReservedSmemBegin = "reserved_smem_offset_begin" 32 machine; ReservedSmemEnd = "reserved_smem_offset_end" 32 machine;
    ReservedSmemCap = "reserved_smem_offset_cap" 32 machine;
    ReservedSmem0 = "reserved_smem_offset_0" 32 machine; ReservedSmem1 = "reserved_smem_offset_1" 32 machine;
    IsExplicitCluster = "is_explicit_cluster" 1 fixed;
    ClusterIdX = "clusterid.x" 32 fixed; ClusterIdY = "clusterid.y" 32 fixed; ClusterIdZ = "clusterid.z" 32 fixed;
    NClusterIdX = "nclusterid.x" 32 fixed; NClusterIdY = "nclusterid.y" 32 fixed; NClusterIdZ = "nclusterid.z" 32 fixed;
    ClusterCtaidX = "cluster_ctaid.x" 32 fixed; ClusterCtaidY = "cluster_ctaid.y" 32 fixed;
    ClusterCtaidZ = "cluster_ctaid.z" 32 fixed;
    ClusterNctaidX = "cluster_nctaid.x" 32 fixed; ClusterNctaidY = "cluster_nctaid.y" 32 fixed;
    ClusterNctaidZ = "cluster_nctaid.z" 32 fixed;
    ClusterCtaRank = "cluster_ctarank" 32 fixed; ClusterNctaRank = "cluster_nctarank" 32 fixed;
    EnvReg0 = "envreg0" 32 machine; EnvReg1 = "envreg1" 32 machine; EnvReg2 = "envreg2" 32 machine;
    EnvReg3 = "envreg3" 32 machine; EnvReg4 = "envreg4" 32 machine; EnvReg5 = "envreg5" 32 machine;
    EnvReg6 = "envreg6" 32 machine; EnvReg7 = "envreg7" 32 machine; EnvReg8 = "envreg8" 32 machine;
    EnvReg9 = "envreg9" 32 machine; EnvReg10 = "envreg10" 32 machine; EnvReg11 = "envreg11" 32 machine;
    EnvReg12 = "envreg12" 32 machine; EnvReg13 = "envreg13" 32 machine; EnvReg14 = "envreg14" 32 machine;
    EnvReg15 = "envreg15" 32 machine; EnvReg16 = "envreg16" 32 machine; EnvReg17 = "envreg17" 32 machine;
    EnvReg18 = "envreg18" 32 machine; EnvReg19 = "envreg19" 32 machine; EnvReg20 = "envreg20" 32 machine;
    EnvReg21 = "envreg21" 32 machine; EnvReg22 = "envreg22" 32 machine; EnvReg23 = "envreg23" 32 machine;
    EnvReg24 = "envreg24" 32 machine; EnvReg25 = "envreg25" 32 machine; EnvReg26 = "envreg26" 32 machine;
    EnvReg27 = "envreg27" 32 machine; EnvReg28 = "envreg28" 32 machine; EnvReg29 = "envreg29" 32 machine;
    EnvReg30 = "envreg30" 32 machine; EnvReg31 = "envreg31" 32 machine;
    Pm0 = "pm0" 32 volatile; Pm1 = "pm1" 32 volatile; Pm2 = "pm2" 32 volatile; Pm3 = "pm3" 32 volatile;
    Pm4 = "pm4" 32 volatile; Pm5 = "pm5" 32 volatile; Pm6 = "pm6" 32 volatile; Pm7 = "pm7" 32 volatile;
    Pm0Wide = "pm0_64" 64 volatile; Pm1Wide = "pm1_64" 64 volatile; Pm2Wide = "pm2_64" 64 volatile;
    Pm3Wide = "pm3_64" 64 volatile; Pm4Wide = "pm4_64" 64 volatile; Pm5Wide = "pm5_64" 64 volatile;
    Pm6Wide = "pm6_64" 64 volatile; Pm7Wide = "pm7_64" 64 volatile;
    CurrentGraphExec = "current_graph_exec" 64 machine;
}

impl SpecialReg {
    /// The special register with this name, without the leading `%`.
    pub fn from_name(name: &str) -> Option<SpecialReg> {
        Self::ALL.iter().copied().find(|reg| reg.name() == name)
    }
}
