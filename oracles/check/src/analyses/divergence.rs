//! Divergence, in functions in SSA form.

use oriole_ir::{Form, Function};
use oriole_optimizer::analysis::{Divergence, Dominators, LoopNest, PostDominators, Uniformity};

use super::{Disagreement, Judge};
use oriole_reference::{Group, Varying};

/// Functions of more blocks are not asked about: the definition takes the fourth power of their number.
const BLOCKS: usize = 20;

impl Judge<'_> {
    pub(super) fn divergence(&self, truth: &Function) -> Result<(), Disagreement> {
        if self.func.form != Form::Ssa || self.graph.blocks.len() > BLOCKS {
            return Ok(());
        }
        let (cfg, nest) = (&self.cfg, LoopNest::compute(&self.cfg));
        let (dominators, post) = (Dominators::new(cfg), PostDominators::compute(cfg));
        let found = Divergence::compute(self.func, cfg, &dominators, &post, &nest);
        let groups =
            [(Group::Warp, Uniformity::Warp), (Group::Cta, Uniformity::Cta), (Group::Launch, Uniformity::Launch)];
        for (group, level) in groups {
            let varying = Varying::of(truth, &self.graph, group);
            for (place, block) in self.graph.blocks.iter().enumerate() {
                let subject = || format!("the branch of {block} in the {group:?}");
                self.expect("divergence", subject, found.branch(*block) < level, varying.branches[place])?;
                for reg in self.func.regs().keys() {
                    let subject = || format!("{reg} in {block} in the {group:?}");
                    let said = found.at(cfg, &nest, reg, *block) < level;
                    self.expect("divergence", subject, said, varying.at(reg, place))?;
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
    fn a_source_that_is_another_is_seen() {
        let text = "device @f ssa {\nbb0:\n  %r1 = s2r.b32 sr.ctaid.x\n  %r2 = iadd.u32 %r1, 1\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |text: &str| {
            let truth = parse_function(text).expect("the text is a function");
            Judge::new(&func, &truth).divergence(&truth).map_err(|wrong| wrong.subject)
        };
        assert_eq!(said(text), Ok(()));
        assert_eq!(said(&text.replace("ctaid.x", "tid.x")), Err("%1 in bb0 in the Warp".to_owned()));
        assert_eq!(said(&text.replace("ctaid.x", "ntid.x")), Err("%1 in bb0 in the Launch".to_owned()));
    }
}
