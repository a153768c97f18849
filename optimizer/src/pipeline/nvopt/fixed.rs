//! The other sequences of the pipeline: what comes before and behind tiers and language paths, and the levels without
//! tiers.

use super::entry::Given::{Number, Switch, Word};
use super::entry::{Entry, at, either};
use super::guard::Term::{Off, On};
use super::paths::THREE;
use super::tiers::TWO;

/// Phase 0: what all passes rest on.
pub static INFRASTRUCTURE: &[Entry] = &[
    at(764, "targetlibinfo", &[], &[]),
    at(766, "tti", &[], &[]),
    at(768, "verify", &[], &[]),
    at(770, "assumption-cache-tracker", &[], &[]),
    at(772, "profile-summary-info", &[], &[]),
];

/// Phase 2: before the tiers. The guards of NVVMReflect and of DeadArgElimination are as the page has them: they ask
/// for the switch of ConstantMerge, and for one more run (lines 803 to 806). Slot 19, `no-inline-a`, is on by default
/// and leaves AlwaysInliner out (lines 325 and 815).
pub static PRE_OPTIMIZATION: &[Entry] = &[
    either(804, "nvvm-reflect", &[Off(1960), On(3000)]),
    at(806, "deadargelim", &[], &[On(3000)]),
    at(808, "loop-reduce", &[], &[Off(1680)]),
    at(809, "nvvm-intrinsic-lowering", &[Number(0)], &[]),
    at(811, "memcpyopt", &[], &[Off(2040)]),
    at(812, "nvvm-verify", &[], &[]),
    at(814, "constmerge", &[], &[Off(1960)]),
    at(816, "always-inline", &[], &[Off(440), Off(400)]),
    at(818, "print-module", &[], &[On(3160), Off(1080)]),
];

/// What O0 does between phases 0 and 5. The page gives sub_1C8A4D0 three names: NVVMFinalCleanup here, EarlyCSE in
/// tiers and paths (line 534), and "EarlyCSE / GVN variant" (line 1235). The place decides: at O0 it cleans up.
pub static O0: &[Entry] = &[at(600, "nvvm-final-cleanup", &[], &[])];

/// What Ofcmax does behind phase 2, line 614. The page has two ways at this level, by slot 213, "device code": without
/// it O0, with it this. What is compiled here is code of a device.
pub static OFCMAX: &[Entry] = &[at(614, "sinking2", &[Word("fast")], &[])];

/// What Ofcmid does behind the mid path, line 615. The page says "LoopVectorize(conservative)" where it means
/// sub_19B73C0, which is LoopUnswitch by its tables.
pub static OFCMID: &[Entry] = &[at(615, "loop-unswitch", THREE, &[])];

/// What Ofcmin does behind the mid path, line 616: "more aggressive loop settings", which the page does not give; here
/// those of tier 0, as it has them at lines 129, 138 and 142.
pub static OFCMIN: &[Entry] = &[
    at(616, "loop-index-split", &[], &[Off(1160)]),
    at(616, "loop-unroll", &[Number(0), Number(1)], &[Off(1360)]),
    at(616, "loop-unswitch", TWO, &[]),
];

/// Phase 5: behind everything, before code generation.
pub static FINALIZATION: &[Entry] = &[
    at(868, "nvvm-lower-barriers", &[Switch(2920)], &[On(3488)]),
    at(869, "nvvm-final-lowering", &[], &[]),
    at(871, "break-crit-edges", &[], &[Off(2800), Off(4464)]),
];
