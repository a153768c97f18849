//! Reaching definitions, in functions outside SSA form.

use oriole_ir::{Form, Function};
use oriole_optimizer::analysis::{Definition, Dominators, ReachingDefinitions};

use super::{Disagreement, Judge};
use oriole_reference::seen;

impl Judge<'_> {
    pub(super) fn reaching(&self, truth: &Function) -> Result<(), Disagreement> {
        if self.func.form == Form::Ssa {
            return Ok(());
        }
        let dominators = Dominators::new(&self.cfg);
        let frontiers = dominators.frontiers(&self.cfg);
        let found = ReachingDefinitions::compute(self.func, &self.cfg, &dominators, &frontiers);
        for (place, block) in
            self.graph.blocks.iter().enumerate().filter(|(place, _)| self.dominance.is_reachable(*place))
        {
            for (index, inst) in self.func.block_insts(*block).enumerate() {
                for reg in self.func.uses(inst) {
                    let expected = seen(truth, &self.graph, place, index, reg);
                    let start = expected.start.then_some(Definition::Start);
                    let expected = start.into_iter().chain(expected.insts.into_iter().map(Definition::Inst)).collect();
                    let subject = || format!("what {inst} in {block} sees of {reg}");
                    self.expect("reaching definitions", subject, found.of(inst, reg), expected)?;
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
    fn a_guard_that_is_missing_is_seen() {
        let text = "device @f {\nbb0:\n  %r1 = mov.b32 1\n  @%p2 %r1 = mov.b32 2\n  st.global.b32 [8], %r1\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |text: &str| {
            let truth = parse_function(text).expect("the text is a function");
            Judge::new(&func, &truth).reaching(&truth).map_err(|wrong| wrong.subject)
        };
        assert_eq!(said(text), Ok(()));
        assert_eq!(said(&text.replace("@%p2 ", "")), Err("what inst2 in bb0 sees of %1".to_owned()));
    }
}
