//! Tiers 0 to 3: the sub-pipelines that the document lists in "Tier 0" and "Tier 1/2/3 Incremental Additions".
//!
//! The page counts "~40" passes of tier 0 and lists 34, which are here. Where it says that a guard is more than it
//! shows ("&& guards"), the switches stand that its map gives the pass. LoopUnswitch gets arguments from the SM in
//! tiers 2 and 3, which the page does not give: they are those of tier 0. The page has two readings of two factories:
//! sub_1833EB0(3) is TailCallElim as its tables say, not "loop unroll factor 3" (line 605), and sub_19B73C0 is
//! LoopUnswitch, not a vectorizer (line 606). An argument of -1 alone is what an element without arguments has.
//! sub_1C6FCA0 and sub_1C76260 are two factories of ADCE, sub_18A3090 and sub_18A3430 two of NVVMPredicateOpt, and
//! sub_196A2B0 and sub_1C8A4D0 two of EarlyCSE, of which the second takes an argument.
//!
//! As the page has it: the standard pipeline asks for `!opts[600]`, the switch of the verifier (lines 555, 566), and
//! sub_1AAC510 and NVVMUnreachableBlockElim ask that a switch is off that is on by default (lines 537, 567).

use super::entry::Given::{self, Number, Switch, Unlimited};
use super::entry::{Entry, at, memory_space, standard};
use super::guard::Term::{InTier, NotTier, Off, On};

/// LoopUnswitch of tier 0, line 608.
pub(super) const TWO: &[Given] = &[Number(2), Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited];

/// Tier 0, sub_12DE330.
#[rustfmt::skip]
pub static TIER_0: &[Entry] = &[
    at(116, "break-crit-edges", &[], &[]),
    standard(117, &[Number(1)], true, &[]),
    at(118, "memcpyopt", &[], &[]),
    at(119, "ipconstprop", &[], &[]),
    at(120, "gvn", &[], &[]),
    at(121, "newgvn", &[], &[]),
    at(122, "nvvm-reflect", &[], &[]),
    at(123, "sccp", &[], &[]),
    at(124, "nvvm-verify", &[], &[]),
    at(125, "nvvm-predicate-opt", &[], &[]),
    at(126, "constmerge", &[], &[]),
    at(127, "sink", &[], &[Off(1040)]),
    at(128, "tailcallelim", &[Number(3)], &[]),
    at(129, "loop-index-split", &[], &[]),
    standard(130, &[Number(1)], true, &[]),
    at(131, "nvvm-ir-verification", &[], &[]),
    at(132, "instsimplify", &[], &[]),
    standard(133, &[Number(1)], true, &[]),
    at(134, "generic-to-nvvm", &[], &[]),
    at(135, "loop-simplify", &[], &[]),
    at(136, "adce", &[], &[Off(1320)]),
    at(137, "licm", &[], &[On(2880)]),
    at(138, "loop-unroll", &[Number(0), Number(1)], &[Off(1360)]),
    at(139, "instcombine", &[], &[]),
    at(140, "sroa", &[], &[]),
    at(141, "early-cse", &[], &[]),
    at(142, "loop-unswitch", TWO, &[]),
    at(143, "simplifycfg", &[Number(0), Number(0)], &[]),
    at(144, "remat", &[], &[]),
    at(145, "dse", &[], &[]),
    at(146, "dce", &[], &[]),
    standard(147, &[Number(1)], true, &[]),
    at(148, "nvvm-loop-opt", &[], &[]),
    at(149, "function-attrs", &[], &[]),
];

/// Tiers 1 to 3, sub_12DE8F0: one table with gates.
#[rustfmt::skip]
pub static TIERS: &[Entry] = &[
    at(517, "nvvm-intrinsic-lowering", &[Number(1)], &[Off(2000)]),
    at(518, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(519, "nvvm-intrinsic-lowering", &[Number(1)], &[Off(2000)]),
    at(520, "nvvm-barrier-analysis", &[], &[On(3488)]),
    at(521, "nvvm-lower-barriers", &[Number(0)], &[On(3488)]),
    at(522, "nvvm-verify", &[], &[Off(600)]),
    at(523, "ipconstprop", &[], &[On(3200), Off(920)]),
    at(524, "nvvm-reflect", &[], &[On(3200), Off(880)]),
    at(525, "nvvm-predicate-opt", &[], &[On(3200), Off(1120)]),
    at(526, "sccp", &[], &[On(3200), Off(720)]),
    at(527, "nvvm-verify", &[], &[Off(600)]),
    at(528, "nvvm-predicate-opt", &[], &[On(3200), Off(2160)]),
    at(529, "constmerge", &[], &[On(3200), Off(1960)]),
    at(530, "simplifycfg", &[Number(1), Number(0)], &[NotTier(1), Off(960), Off(1200)]),
    at(531, "loop-index-split", &[], &[NotTier(1), Off(1160)]),
    at(532, "nvvm-verify", &[], &[NotTier(1), Off(600)]),
    at(533, "licm", &[], &[On(3704), On(2880)]),
    at(534, "early-cse", &[Switch(3704)], &[]),
    at(535, "sink", &[], &[NotTier(1), Off(1040)]),
    at(536, "tailcallelim", &[Number(3)], &[InTier(3), Off(320)]),
    at(537, "nvvm-unreachable-block-elim", &[], &[Off(2360)]),
    at(538, "correlated-propagation", &[], &[On(3040)]),
    at(539, "nvvm-verify", &[], &[Off(600)]),
    at(540, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(541, "nvvm-intrinsic-lowering", &[Number(1)], &[Off(2000)]),
    at(542, "inline", &[], &[Off(440), Off(480)]),
    at(543, "instsimplify", &[], &[Off(2720)]),
    at(544, "nvvm-verify", &[], &[Off(600)]),
    at(545, "generic-to-nvvm", &[], &[Off(2200)]),
    at(546, "loop-simplify", &[], &[Off(1520)]),
    at(547, "adce", &[], &[Off(1320), Off(1480)]),
    at(548, "licm", &[], &[On(2880), Off(1240)]),
    at(549, "nvvm-lower-barriers", &[Switch(2920)], &[On(3488)]),
    at(550, "loop-unroll", &[Number(0), Number(1)], &[Off(1360)]),
    at(551, "instcombine", &[], &[Off(1000)]),
    at(552, "early-cse", &[], &[Off(1440)]),
    at(553, "sroa", &[], &[Off(1400)]),
    at(554, "loop-unswitch", TWO, &[NotTier(1)]),
    standard(555, &[Number(1)], false, &[Off(600)]),
    at(556, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(557, "nvvm-intrinsic-lowering", &[Number(1)], &[Off(2000)]),
    at(558, "simplifycfg", &[Number(0), Number(0)], &[Off(960)]),
    at(559, "nvidia-loop-pass", &[], &[On(3080)]),
    at(560, "licm", &[], &[On(2880), Off(1240)]),
    at(561, "remat", &[], &[Off(2320)]),
    at(562, "sroa", &[], &[Off(1400)]),
    at(563, "correlated-propagation", &[], &[On(3040)]),
    at(564, "dse", &[], &[Off(760)]),
    at(565, "dce", &[], &[Off(280)]),
    standard(566, &[Number(1)], false, &[Off(600)]),
    at(567, "nvidia-pass", &[], &[Off(520), Off(560)]),
    at(568, "nvvm-ir-verification", &[], &[Off(2600)]),
    at(569, "nvvm-intrinsic-lowering", &[Number(1)], &[Off(2000)]),
    at(570, "memory-space-opt", &[memory_space(3120)], &[Off(2680)]),
    at(571, "nvvm-generic-addr-opt", &[], &[Off(2560)]),
    at(572, "nvvm-lower-barriers", &[Number(1)], &[On(3488)]),
    at(573, "adce", &[], &[On(2840), Off(1840)]),
    at(574, "nvvm-loop-opt", &[], &[On(3200), Off(2640)]),
    at(575, "nvvm-reflect", &[], &[On(3200), InTier(3)]),
    at(576, "function-attrs", &[], &[On(3200), Off(680)]),
    at(577, "nvvm-late-opt", &[], &[InTier(3), Off(360)]),
    at(578, "function-attrs", &[], &[On(3200), Off(680)]),
    at(579, "nvvm-lower-alloca", &[], &[Off(2240), Off(2280)]),
    at(580, "branch-dist", &[], &[Off(2080), Off(2120)]),
    at(581, "nvvm-warp-shuffle", &[Number(1)], &[On(3328), Off(1640)]),
    at(582, "nvvm-reduction", &[], &[On(3328), Off(2400)]),
    at(583, "sinking2", &[], &[On(3328), Off(2440)]),
    at(584, "branch-dist", &[], &[On(3328), Off(2080), Off(2120)]),
    at(585, "reassociate", &[Number(3)], &[On(3328), Off(1280)]),
];
