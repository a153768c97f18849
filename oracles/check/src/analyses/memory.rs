//! Memory dependence.

use oriole_ir::Function;
use oriole_optimizer::analysis::{Dominators, LoopNest, MemorySsa, MemoryState};

use super::{Disagreement, Judge};
use oriole_reference::{Memory, Reached};

impl Judge<'_> {
    /// A state that the analysis answers with is one that all ways to the access come by, and none comes by a change
    /// behind it. Where all ways come by one change last, and loops are natural, the answer is that.
    pub(super) fn memory(&self, truth: &Function) -> Result<(), Disagreement> {
        let (cfg, nest) = (&self.cfg, LoopNest::compute(&self.cfg));
        let found = MemorySsa::compute(self.func, cfg, &Dominators::new(cfg));
        let natural = nest.loops().all(|of| nest.is_natural(of));
        let memory = Memory::new(truth, &self.graph);
        for (place, block) in
            self.graph.blocks.iter().enumerate().filter(|(place, _)| self.dominance.is_reachable(*place))
        {
            for (index, inst) in self.func.block_insts(*block).enumerate() {
                let subject = || format!("what {inst} in {block} depends on");
                let Some(said) = found.clobber(cfg, &nest, inst) else {
                    self.expect("memory dependence", subject, false, memory.touches(inst))?;
                    continue;
                };
                let last = memory.reached(place, index, None);
                let single = match last.insts[..] {
                    [] => Some(MemoryState::Entry),
                    [inst] if !last.entry => Some(MemoryState::Behind(inst)),
                    _ => None,
                };
                if let MemoryState::Phi(join) = said {
                    let stop = cfg.position(join);
                    let behind = memory.reached(place, index, stop);
                    self.expect("memory dependence", subject, behind, Reached::default())?;
                    let precise = natural && single.is_some() && found.before(inst) != Some(said);
                    self.expect("memory dependence", subject, precise, false)?;
                } else {
                    self.expect("memory dependence", subject, Some(said), single)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    #[test]
    fn an_address_that_is_another_is_seen() {
        let text = "device @f ssa {\nbb0:\n  %d1 = ld.const.b64 [0]\n  st.global.b32 [%d1], 1\n  %r2 = ld.global.b32 [%d1+4]\n  \
                    ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |text: &str| {
            let truth = parse_function(text).expect("the text is a function");
            Judge::new(&func, &truth).memory(&truth).map_err(|wrong| wrong.subject)
        };
        assert_eq!(said(text), Ok(()));
        assert_eq!(said(&text.replace("[%d1], 1", "[%d1+6], 1")), Err("what inst2 in bb0 depends on".to_owned()));
    }
}
