//! Kill markers, as phases make them, against liveness by reads.

use oriole_ir::{Function, Kill};
use oriole_optimizer::analysis::Liveness;
use oriole_optimizer::engine::kill_markers;

use super::{Disagreement, Judge};
use oriole_reference::marked;

impl Judge<'_> {
    /// Between its definition and the markers on all ways from there, a value is live, and nowhere else.
    pub(super) fn kill_markers(&self, truth: &Function) -> Result<(), Disagreement> {
        if !kill_markers::takes_markers(self.func) {
            return Ok(());
        }
        let kills = kill_markers::ends(self.func, &self.cfg, &Liveness::solve(self.func, &self.cfg));
        self.live_by_markers(truth, &kills)
    }

    fn live_by_markers(&self, truth: &Function, kills: &[Kill]) -> Result<(), Disagreement> {
        let said = marked::by_markers(self.func, &self.graph, kills);
        let expected = marked::by_reads(truth, &self.graph);
        for (place, block) in self.graph.blocks.iter().enumerate() {
            if !self.dominance.is_reachable(place) {
                continue;
            }
            for (at, (said, expected)) in said[place].iter().zip(&expected[place]).enumerate() {
                let subject = || format!("what is live behind {at} instructions of {block} that are no phis");
                self.expect("kill markers", subject, said, expected)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    const TEXT: &str = "device @f ssa {\nbb0:\n  %r0 = mov.b32 1\n  %r1 = iadd.u32 %r0, 2\n  %p2 = setp.lt.u32 %r1, \
                        7\n  cbra %p2, bb1, bb2\nbb1:\n  %r3 = phi [bb0: %r1], [bb1: %r3]\n  st.global.b32 [8], %r0\n  \
                        st.global.b32 [16], %r3\n  cbra %p2, bb1, bb2\nbb2:\n  ret\n}\n";

    #[test]
    fn a_marker_that_is_missing_early_or_late_is_seen() {
        let func = parse_function(TEXT).expect("a function");
        let judge = Judge::new(&func, &func);
        assert_eq!(judge.kill_markers(&func), Ok(()));
        let kills = kill_markers::ends(&func, &judge.cfg, &Liveness::solve(&func, &judge.cfg));
        for without in 0..kills.len() {
            let rest: Vec<Kill> =
                kills.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, kill)| *kill).collect();
            assert!(judge.live_by_markers(&func, &rest).is_err(), "{:?}", kills[without]);
        }
        let at = oriole_ir::Anchor::Behind(func.inst_at(func.entry(), 1));
        // bb1 reads it.
        let early = Kill { at, reg: func.defs(func.inst_at(func.entry(), 0)).next().expect("it is defined") };
        assert!(judge.live_by_markers(&func, &[&kills[..], &[early]].concat()).is_err());
    }
}
