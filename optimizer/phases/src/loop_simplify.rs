//! OriLoopSimplification (phase 18): natural loops get a preheader and one latch.
//!
//! `spec/liveness-and-dce.txt` says that OriSplitLiveRanges follows this phase, since ranges are split at the
//! borders of loops in canonical form, and no more. Here
//!
//! - a *preheader* is a block outside of a natural loop that leads to its header alone, where no other block outside
//!   does. One is put between the header and all blocks outside that lead there;
//! - a *latch* leads from the loop to its header. Where there are several, one block is put between them and the
//!   header.
//!
//! What phis of the header take from these blocks, a phi of the new block merges, unless it is one value. Irreducible
//! loops stay as they are. No branch leads to the first block in SSA form, so every loop is entered from outside.
//!
//! Each new block is a branch more to execute, and nothing but range splitting asks for them. So the phase acts where
//! that one does, in functions in which more words are live than the budget has; the knob `LoopSimplifyEverywhere` has
//! it act in all.
//!
//! Cost: linear.

use oriole_ir::{Block, Function};
use oriole_pass::analysis::{Cfg, LoopNest};
use oriole_pass::edit::meeting::{Meeting, latch, lay_out, preheader};
use oriole_pass::engine::registers::is_over_budget;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// OriLoopSimplification.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    match cx.knobs.flag(Knob::LoopSimplifyEverywhere) || is_over_budget(func, cx) {
        true => all(func, cx),
        false => Changed::No,
    }
}

/// `loop-simplify` of cicc (`spec/pass-pipeline.txt`, line 1212): loops of all functions.
pub fn all(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let natural = nest.loops().filter(|of| nest.is_natural(*of));
    let wanted: Vec<Meeting> =
        natural.flat_map(|of| [preheader(&cfg, &nest, of), latch(&cfg, &nest, of)]).flatten().collect();
    let mut made: Vec<(Block, Block)> = Vec::new();
    for meeting in wanted {
        if !cx.rewrite(meeting.rule) {
            break;
        }
        made.push((meeting.last(), meeting.insert(func)));
    }
    lay_out(func, &made);
    if made.is_empty() { Changed::No } else { Changed::Yes }
}
