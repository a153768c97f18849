//! Post-dominators, control dependence and the loop nest.

use oriole_ir::Block;
use oriole_optimizer::analysis::{LoopNest, PostDominators};

use super::{Disagreement, Judge};
use oriole_reference::{PostDominance, loops};

impl Judge<'_> {
    pub(super) fn post_dominators(&self) -> Result<(), Disagreement> {
        let (cfg, post) = (&self.cfg, PostDominators::compute(&self.cfg));
        let truth = PostDominance::of(&self.graph);
        let exits = self.named(truth.exits());
        self.expect("post-dominance", || "the ways to the virtual exit".to_owned(), post.exits(), &exits[..])?;
        let dependences = post.control_dependences(cfg);
        for (at, block) in self.graph.blocks.iter().enumerate() {
            let immediate = truth.immediate(at).map(|place| self.graph.blocks[place]);
            let subject = || format!("the immediate post-dominator of {block}");
            self.expect("post-dominance", subject, post.immediate_post_dominator(cfg, *block), immediate)?;
            for (other, before) in self.graph.blocks.iter().enumerate() {
                let subject = || format!("whether {block} post-dominates {before}");
                let said = post.post_dominates(cfg, *block, *before);
                self.expect("post-dominance", subject, said, truth.post_dominates(at, other))?;
            }
            let depends =
                |branch: &usize| self.dominance.is_reachable(*branch) && truth.depends(&self.graph, at, *branch);
            let branches: Vec<usize> = (0..self.graph.blocks.len()).filter(depends).collect();
            let subject = || format!("the branches that decide about {block}");
            let said = self.in_layout_order(dependences.of(cfg, *block));
            self.expect("control dependence", subject, said, self.named(&branches))?;
        }
        self.expect(
            "post-dominance",
            || "the length of the preorder".to_owned(),
            post.preorder(cfg).count(),
            cfg.rpo().len(),
        )
    }

    pub(super) fn loops(&self) -> Result<(), Disagreement> {
        let (cfg, nest) = (&self.cfg, LoopNest::compute(&self.cfg));
        let mut all: Vec<_> = nest.loops().collect();
        all.sort_by_key(|of| cfg.position(nest.header(*of)));
        let truth = loops(&self.graph);
        let headers = self.named(&truth.iter().map(|nested| nested.header).collect::<Vec<_>>());
        let said: Vec<Block> = all.iter().map(|of| nest.header(*of)).collect();
        self.expect("the loop nest", || "the headers".to_owned(), said, headers)?;
        for (of, nested) in all.iter().zip(&truth) {
            let header = nest.header(*of);
            let subject = |what: &'static str| move || format!("{what} of the loop of {header}");
            let inside = |place: &usize| nested.blocks.contains(place);
            let said = self.in_layout_order(nest.blocks(*of));
            self.expect("the loop nest", subject("the blocks"), said, self.named(&nested.blocks))?;
            let parent = nested.parent.map(|place| self.graph.blocks[place]);
            let said = (nest.parent(*of).map(|parent| nest.header(parent)), nest.loop_depth(*of));
            self.expect("the loop nest", subject("the parent and depth"), said, (parent, nested.depth))?;
            let edges: Vec<(usize, usize)> = (0..self.graph.blocks.len())
                .filter(|from| self.dominance.is_reachable(*from))
                .flat_map(|from| self.graph.successors[from].iter().map(move |to| (from, *to)))
                .collect();
            let latches = edges.iter().filter(|(from, to)| inside(from) && *to == nested.header).map(|edge| edge.0);
            let said = self.in_layout_order(&nest.latches(cfg, *of).collect::<Vec<_>>());
            self.expect("the loop nest", subject("the latches"), said, self.named(&latches.collect::<Vec<_>>()))?;
            let entry = |place: &usize| *place == 0 || edges.iter().any(|(from, to)| to == place && !inside(from));
            let entries: Vec<usize> = nested.blocks.iter().copied().filter(entry).collect();
            let said = self.in_layout_order(&nest.entries(cfg, *of).collect::<Vec<_>>());
            self.expect("the loop nest", subject("the entries"), said, self.named(&entries))?;
            self.expect("the loop nest", subject("the kind"), nest.is_natural(*of), entries == [nested.header])?;
            let left = edges.iter().filter(|(from, to)| inside(from) && !inside(to));
            let left = left.map(|(from, to)| (self.graph.blocks[*from], self.graph.blocks[*to]));
            let mut said: Vec<(Block, Block)> = nest.exits(cfg, *of).collect();
            said.sort_by_key(|(from, _)| cfg.position(*from));
            self.expect("the loop nest", subject("the exits"), said, left.collect())?;
            let before = &self.graph.predecessors[nested.header];
            let outside: Vec<usize> = before.iter().copied().filter(|from| !inside(from)).collect();
            let leads_there =
                |from: &usize| self.graph.successors[*from].len() == 1 && self.dominance.is_reachable(*from);
            let single = outside.len() == 1 && entries == [nested.header] && nested.header != 0;
            let preheader =
                outside.iter().find(|from| single && leads_there(from)).map(|from| self.graph.blocks[*from]);
            self.expect("the loop nest", subject("the preheader"), nest.preheader(cfg, *of), preheader)?;
        }
        for (place, block) in self.graph.blocks.iter().enumerate() {
            let around = truth.iter().filter(|nested| nested.blocks.contains(&place));
            let innermost = around.max_by_key(|nested| nested.depth);
            let said = nest.innermost(cfg, *block).map(|of| nest.header(of));
            let expected = innermost.map(|nested| self.graph.blocks[nested.header]);
            self.expect("the loop nest", || format!("the innermost loop of {block}"), said, expected)?;
        }
        Ok(())
    }

    fn in_layout_order(&self, blocks: &[Block]) -> Vec<Block> {
        let mut blocks = blocks.to_vec();
        blocks.sort_by_key(|block| self.cfg.position(*block));
        blocks
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::{Function, parse_function};

    use super::*;

    fn function(ends: [&str; 4]) -> Function {
        let blocks = ends.iter().enumerate().map(|(at, end)| format!("bb{at}:\n  {end}\n"));
        parse_function(&format!("device @f {{\n{}}}\n", blocks.collect::<String>())).expect("the text is a function")
    }

    /// The graph of one function, judged by the definitions over another that differs in one edge.
    #[test]
    fn a_difference_of_one_edge_is_seen() {
        let func = function(["bra bb1", "cbra %p0, bb1, bb2", "cbra %p0, bb1, bb3", "ret"]);
        let said = |ends| {
            let truth = function(ends);
            let judge = Judge::new(&func, &truth);
            [judge.post_dominators(), judge.loops()].map(|said| said.map_err(|wrong| wrong.subject))
        };
        let wrong = |subject: &str| Err(subject.to_owned());
        assert_eq!(said(["bra bb1", "cbra %p0, bb1, bb2", "cbra %p0, bb1, bb3", "ret"]), [Ok(()), Ok(())]);
        let other_end = said(["bra bb1", "cbra %p0, bb1, bb2", "cbra %p0, bb1, bb3", "bra bb3"]);
        assert_eq!(other_end, [wrong("the branches that decide about bb3"), wrong("the headers")]);
        let other_latch = said(["bra bb1", "cbra %p0, bb1, bb2", "bra bb3", "ret"]);
        assert_eq!(other_latch, [wrong("the branches that decide about bb1"), wrong("the blocks of the loop of bb1")]);
    }
}
