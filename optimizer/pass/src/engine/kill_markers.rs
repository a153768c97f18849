//! Kill markers where values end: behind the last read of each, on every way.
//!
//! A value that is live behind no instruction of a block ends in it, behind its last read, or behind its definition
//! where nothing reads it. What a block hands over and one of its successors does not want ends at the beginning of
//! that successor, and so does what the block's terminator reads last. In SSA form a second definition follows a marker
//! only in the next round of a loop; a value from outside of the loop that is read in it is live throughout.
//!
//! So a register is live exactly from its definition to its markers (`oriole_reference::marked` states it).
//!
//! Cost: that of liveness, and a word for each 64 registers that are live on an edge.

use crate::analysis::{Cfg, LiveWalk, Liveness};
use crate::edit::graph::phis;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Anchor, Block, Form, Function, Kill, Level, Reg, RegFile};

const RULE: &str = "mark-last-read";

/// Whether a function is one that markers are made for: of the virtual level, in SSA form.
pub fn takes_markers(func: &Function) -> bool {
    func.level == Level::Virtual && func.form == Form::Ssa && func.is_definition()
}

/// Gives a function markers where its values end, in the place of those that it has.
pub fn mark(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !takes_markers(func) {
        return Changed::No;
    }
    let kills = ends(func, &cx.analyses.get(func), &cx.analyses.get(func));
    if kills == func.kills() {
        return Changed::No;
    }
    let new: Vec<Kill> = kills.iter().filter(|kill| func.kills().binary_search(kill).is_err()).copied().collect();
    let granted = new.iter().take_while(|_| cx.rewrite(RULE)).count();
    // Markers that were there are true as well, so they stay until all others have taken their place.
    let is_complete = granted == new.len() && (granted > 0 || cx.rewrite(RULE));
    match is_complete {
        true => func.set_kills(kills),
        false => func.set_kills([func.kills(), &new[..granted]].concat()),
    }
    Changed::when(is_complete || granted > 0)
}

/// Where the values of a function end, in order.
pub fn ends(func: &Function, cfg: &Cfg, liveness: &Liveness) -> Vec<Kill> {
    let (mut kills, mut walk) = (Vec::new(), LiveWalk::new(func));
    for block in func.layout() {
        walk.start(liveness, *block);
        for inst in func.block_insts(*block).rev() {
            let at = match func.inst(inst) {
                data if data.opcode == Opcode::Phi => Anchor::Entry(*block),
                data if data.is(Flags::TERMINATOR) => {
                    walk.step(func, inst);
                    continue;
                }
                _ => Anchor::Behind(inst),
            };
            // The sources of a phi are read on the edges, and end behind all phis.
            let named = func.defs(inst).chain(func.uses(inst).filter(|_| at != Anchor::Entry(*block)));
            let last = named.filter(|reg| !walk.is_live(*reg) && is_marked(func, *reg));
            kills.extend(last.map(|reg| Kill { at, reg }));
            walk.step(func, inst);
        }
        kills.extend(handed_over(func, cfg, liveness, *block).map(|reg| Kill { at: Anchor::Entry(*block), reg }));
    }
    kills.sort_unstable();
    kills.dedup();
    kills
}

/// Whether a register can have a marker: barriers of the machine have no ranges.
fn is_marked(func: &Function, reg: Reg) -> bool {
    func.regs()[reg].file != RegFile::B
}

/// The registers that predecessors of a block hand over to others, or read last, and that the block does not want.
fn handed_over<'a>(
    func: &'a Function,
    cfg: &'a Cfg,
    liveness: &'a Liveness,
    block: Block,
) -> impl Iterator<Item = Reg> + 'a {
    let wanted = liveness.live_in(block);
    // What a phi yields may come in as one of its sources.
    let joined: Vec<Reg> = phis(func, block).flat_map(|phi| func.defs(phi)).collect();
    let handed = cfg.predecessors(block).iter().flat_map(move |before| {
        let read = func.terminator(*before).into_iter().flat_map(|inst| func.uses(inst));
        let read = read.filter(move |reg| !wanted.contains(*reg) && is_marked(func, *reg));
        liveness.live_out(*before).without(wanted).chain(read)
    });
    handed.filter(move |reg| !joined.contains(reg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{function_to_string, parse_function};

    /// Values that end behind their last read, at a branch, in the next round of a loop, on one side alone, behind a
    /// phi, not where a phi takes itself, and unread.
    const TEXT: &str = "\
device @f ssa {
bb0:
  %r0 = mov.b32 1
  %r1 = iadd.u32 %r0, 2
  kill %r0
  %p2 = setp.lt.u32 %r1, 7
  cbra %p2, bb1, bb3
bb1:
  %r3 = phi [bb0: 0], [bb1: %r4]
  %r7 = phi [bb0: %r1], [bb1: %r7]
  kill %p2, %r4, %p5
  %r4 = iadd.u32 %r3, %r1
  kill %r3
  %p5 = setp.lt.u32 %r4, 90
  cbra %p5, bb1, bb2
bb2:
  kill %r1, %r4, %p5
  st.global.b32 [8], %r7
  kill %r7
  ret
bb3:
  kill %r1, %p2
  %r6 = mov.b32 3
  kill %r6
  ret
}
";

    #[test]
    fn values_end_behind_their_last_read_on_every_way() {
        let mut func = parse_function(TEXT).expect("a function");
        let cfg = Cfg::new(&func);
        let found = ends(&func, &cfg, &Liveness::solve(&func, &cfg));
        func.set_kills(found);
        assert_eq!(function_to_string(&func, None), TEXT);
    }
}
