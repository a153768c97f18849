//! The language paths: what the document lists in "Language Path Differences".
//!
//! The prose counts about 15, 45 and 40 passes; the lists have 10, 43 and 45. It calls the mid path's
//! `memory-space-opt` the first invocation and has the second in tiers 1 to 3 (line 151), but numbers the tiers as
//! phase 3 and the paths as phase 4, behind them; the order of phases decides here, so the tiers look first.

use super::entry::Given::{self, Number, Unlimited};
use super::entry::{Entry, SECOND_TIME, at, standard};
use super::guard::Term::Off;

/// LoopUnswitch of the paths, lines 609 and 1003.
pub(super) const THREE: &[Given] = &[Number(3), Unlimited, Unlimited, Number(0), Number(0), Unlimited, Number(0)];

/// The path of PTX, which trusts that others have optimized.
#[rustfmt::skip]
pub static PTX: &[Entry] = &[
    at(910, "nvvm-peephole-optimizer", &[], &[]),
    at(911, "nvvm-annotations-processor", &[], &[]),
    at(912, "nvvm-reflect", &[], &[Off(880)]),
    standard(913, &[Number(1)], false, &[]),
    at(914, "memcpyopt", &[], &[Off(2040)]),
    at(915, "print-module", &[], &[]),
    at(916, "dce", &[], &[Off(280)]),
    standard(917, &[Number(1)], false, &[]),
    at(918, "nvvm-loop-opt", &[], &[Off(2640)]),
    at(919, "memory-space-opt", &[SECOND_TIME], &[Off(1760)]),
];

/// The path of code that comes from the front end.
#[rustfmt::skip]
pub static MID: &[Entry] = &[
    at(924, "constmerge", &[], &[Off(1960)]),
    at(925, "nvvm-intrinsic-lowering", &[Number(0)], &[Off(2000)]),
    at(926, "memcpyopt", &[], &[Off(2040)]),
    at(927, "sroa", &[], &[]),
    at(928, "nvvm-peephole-optimizer", &[], &[]),
    at(929, "nvvm-annotations-processor", &[], &[]),
    at(930, "loop-simplify", &[], &[Off(1520)]),
    at(931, "gvn", &[], &[]),
    at(932, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(933, "simplifycfg", &[Number(0), Number(0)], &[]),
    at(934, "instcombine", &[], &[]),
    standard(935, &[Number(5)], false, &[]),
    at(936, "nvvm-intrinsic-lowering", &[Number(0)], &[Off(2000)]),
    at(937, "deadargelim", &[], &[]),
    at(938, "function-attrs", &[], &[Off(680)]),
    at(939, "dce", &[], &[Off(280)]),
    at(940, "constmerge", &[], &[Off(1960)]),
    at(941, "licm", &[], &[Off(1240)]),
    at(942, "nvvm-lower-barriers", &[Number(0)], &[]),
    at(943, "memory-space-opt", &[SECOND_TIME], &[Off(1760)]),
    at(944, "reassociate", &[Number(3)], &[Off(1280)]),
    standard(945, &[Number(8)], true, &[]),
    at(946, "nvvm-reflect", &[], &[Off(880)]),
    at(947, "adce", &[], &[Off(1840)]),
    at(948, "instsimplify", &[], &[Off(2720)]),
    at(949, "deadargelim", &[], &[]),
    at(950, "tailcallelim", &[Number(3)], &[Off(320)]),
    at(951, "deadargelim", &[], &[]),
    at(952, "correlated-propagation", &[], &[]),
    at(953, "sink", &[], &[]),
    at(954, "simplifycfg", &[Number(0), Number(0)], &[Off(960)]),
    at(955, "dse", &[], &[Off(760)]),
    at(956, "sinking2", &[], &[Off(2440)]),
    at(957, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(958, "early-cse", &[Number(0)], &[]),
    at(959, "nvvm-reflect", &[], &[Off(880)]),
    standard(960, &[Number(8)], true, &[]),
    at(961, "nvvm-intrinsic-lowering", &[Number(0)], &[Off(2000)]),
    at(962, "ipconstprop", &[], &[Off(920)]),
    at(963, "licm", &[], &[Off(1240)]),
    at(964, "nvvm-intrinsic-lowering", &[Number(0)], &[Off(2000)]),
    at(965, "branch-dist", &[], &[Off(2120)]),
    at(966, "remat", &[], &[Off(2320)]),
];

/// The path of all else.
#[rustfmt::skip]
pub static DEFAULT: &[Entry] = &[
    standard(971, &[Number(4)], false, &[]),
    at(972, "nvvm-reflect", &[], &[Off(880)]),
    at(973, "nvvm-intrinsic-lowering", &[Number(0)], &[Off(2000)]),
    at(974, "nvvm-reflect", &[], &[Off(880)]),
    at(975, "nvvm-peephole-optimizer", &[], &[]),
    at(976, "nvvm-annotations-processor", &[], &[]),
    at(977, "instsimplify", &[], &[Off(2720)]),
    standard(978, &[Number(5)], false, &[]),
    at(979, "ipconstprop", &[], &[Off(920)]),
    at(980, "memcpyopt", &[], &[Off(2040)]),
    at(981, "constmerge", &[], &[Off(1960)]),
    at(982, "remat", &[], &[Off(2320)]),
    at(983, "tailcallelim", &[Number(3)], &[Off(320)]),
    at(984, "gvn", &[], &[]),
    at(985, "sccp", &[], &[Off(720)]),
    at(986, "dce", &[], &[Off(280)]),
    at(987, "constmerge", &[], &[Off(1960)]),
    at(988, "deadargelim", &[], &[]),
    at(989, "correlated-propagation", &[], &[]),
    standard(990, &[Number(1)], false, &[]),
    at(991, "loop-unroll", &[], &[]),
    at(992, "instcombine", &[], &[Off(1000)]),
    at(993, "nvvm-reflect", &[], &[Off(880)]),
    standard(994, &[Number(7)], false, &[]),
    at(995, "early-cse", &[Number(0)], &[]),
    at(996, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(997, "instcombine", &[], &[]),
    at(998, "sink", &[], &[]),
    at(999, "loop-idiom", &[], &[]),
    at(1000, "loop-simplify", &[], &[Off(1520)]),
    at(1001, "licm", &[], &[Off(1240)]),
    at(1002, "simplifycfg", &[Number(0), Number(0)], &[Off(960)]),
    at(1003, "loop-unswitch", THREE, &[]),
    at(1004, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(1005, "nvvm-lower-barriers", &[Number(0)], &[]),
    at(1006, "memory-space-opt", &[SECOND_TIME], &[Off(1760)]),
    at(1007, "reassociate", &[Number(3)], &[Off(1280)]),
    at(1008, "nvvm-loop-opt", &[], &[Off(2640)]),
    at(1009, "loop-index-split", &[], &[Off(1160)]),
    at(1010, "deadargelim", &[], &[]),
    at(1011, "sinking2", &[], &[Off(2440)]),
    standard(1012, &[Number(2)], false, &[]),
    at(1013, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(1014, "nvvm-predicate-opt", &[], &[Off(1120)]),
    standard(1015, &[Number(4)], true, &[]),
];
