//! Known bits and value ranges, held against the values that registers take in runs.

use oriole_ir::{Function, InstData};
use oriole_optimizer::analysis::{Analyses, Cfg, Definitions, Dominators, KnownBits, RangeContext, Ranges};
use oriole_reference::{Effort, Taken, can_run};
use oriole_semantics::scalar::ScalarOp;

use super::{Disagreement, Judge};

/// Functions of more blocks are run less: most of what they do shows in a few ways.
const BLOCKS: usize = 20;
/// Runs of small and of large functions.
const EFFORT: [Effort; 2] = [Effort { runs: 24, steps: 160 }, Effort { runs: 4, steps: 400 }];

impl Judge<'_> {
    /// Every value that a register takes agrees with its known bits and lies in its range, and in that of the block
    /// where it is read.
    pub(super) fn values(&self, truth: &Function) -> Result<(), Disagreement> {
        if !can_run(truth) {
            return Ok(());
        }
        let (func, mut analyses) = (self.func, Analyses::default());
        let (known, ranges) = (analyses.get::<KnownBits>(func), analyses.get::<Ranges>(func));
        let (cfg, dominators) = (analyses.get::<Cfg>(func), analyses.get::<Dominators>(func));
        let definitions = analyses.get::<Definitions>(func);
        let cx = RangeContext { func, cfg: &cfg, dominators: &dominators, definitions: &definitions };
        let effort = EFFORT[usize::from(self.graph.blocks.len() > BLOCKS)];
        let taken = Taken::of(truth, &self.graph, &computed, effort);
        for (reg, values) in &taken.defined {
            let (bits, range) = (known.of(func, (*reg).into()), ranges.of(func, (*reg).into()));
            for value in values {
                self.holds("known bits", || reg.to_string(), bits.allows(*value), &bits, *value)?;
                let inside = range.is_none_or(|range| range.contains(*value));
                self.holds("value ranges", || reg.to_string(), inside, &range, *value)?;
            }
        }
        for ((place, reg), values) in &taken.read {
            let block = self.graph.blocks[*place];
            let range = ranges.in_block(cx, (*reg).into(), block);
            for value in values {
                let inside = range.is_none_or(|range| range.contains(*value));
                self.holds("value ranges", || format!("{reg} in {block}"), inside, &range, *value)?;
            }
        }
        Ok(())
    }

    /// What is said of a value that was seen is true of it.
    fn holds(
        &self,
        analysis: &'static str,
        subject: impl FnOnce() -> String,
        holds: bool,
        said: &dyn std::fmt::Debug,
        value: u64,
    ) -> Result<(), Disagreement> {
        if holds {
            return Ok(());
        }
        let (function, subject) = (self.func.name.clone(), subject());
        Err(Disagreement { function, analysis, subject, said: format!("{said:x?}"), expected: format!("{value:#x}") })
    }
}

/// The meaning of operations on registers is the interpreter's.
fn computed(data: &InstData, srcs: &[u64]) -> Option<Vec<u64>> {
    let mut operands = [0; 5];
    operands.get_mut(..srcs.len())?.copy_from_slice(srcs);
    let lane = ScalarOp::resolve(data.opcode, &data.fields)?.eval(&operands);
    lane.defined.then(|| vec![lane.value, lane.second])
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    #[test]
    fn a_value_beyond_what_is_known_is_seen() {
        let text = "device @f ssa {\nbb0:\n  %r1 = ld.const.b32 [0]\n  %r2 = and.b32 %r1, 6\n  %r3 = imin.u32 %r1, 9\n  \
                    %p4 = setp.lo.u32 %r1, 2\n  cbra %p4, bb1, bb2\nbb1:\n  %r5 = iadd.u32 %r1, 1\n  ret\nbb2:\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |text: &str| {
            let truth = parse_function(text).expect("the text is a function");
            Judge::new(&func, &truth).values(&truth).map_err(|wrong| (wrong.analysis, wrong.subject))
        };
        assert_eq!(said(text), Ok(()));
        assert_eq!(said(&text.replace("%r1, 6", "%r1, 7")), Err(("known bits", "%2".to_owned())));
        assert_eq!(said(&text.replace("%r1, 9", "%r1, 10")), Err(("value ranges", "%3".to_owned())));
        assert_eq!(said(&text.replace("lo.u32", "hs.u32")), Err(("value ranges", "%5".to_owned())));
        let unread = text.replace("%r5 = iadd.u32 %r1, 1", "%r5 = and.b32 %r1, 1").replace("lo.u32", "hs.u32");
        let func = parse_function(&text.replace("%r5 = iadd.u32 %r1, 1", "%r5 = and.b32 %r1, 1")).expect("a function");
        let truth = parse_function(&unread).expect("a function");
        let wrong = Judge::new(&func, &truth).values(&truth).map_err(|wrong| wrong.subject);
        assert_eq!(wrong, Err("%1 in bb1".to_owned()));
    }

    /// What runs choose goes through memory: the load sees what was stored, extended.
    #[test]
    fn memory_is_followed() {
        let text = "device @f ssa {\n  local $a: b8[16] local align 4\nbb0:\n  %r1 = ld.const.b32 [0]\n  \
                    st.local.b8 [$a+1], %r1\n  %r2 = ld.local.s8 [$a+1]\n  ret\n}\n";
        let module = format!("target sm_90 ptx 9.0\n{text}");
        let module = oriole_ir::parse_module(&module).expect("the text is a module");
        let func = module.functions.values().next().expect("there is one");
        let graph = oriole_reference::Graph::of(func);
        let taken = Taken::of(func, &graph, &computed, EFFORT[0]);
        let values = taken.defined.values().map(|values| values.iter().copied().collect::<Vec<_>>());
        let expected = [vec![0, 1, 0x80, 0xffff_ffff], vec![0, 1, 0xffff_ff80, 0xffff_ffff]];
        assert_eq!(values.collect::<Vec<_>>(), expected);
    }
}
