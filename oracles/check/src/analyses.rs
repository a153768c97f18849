//! The optimizer's analyses held against the definitions.

mod calls;
mod dense;
mod divergence;
mod flow;
mod markers;
mod memory;
mod pressure;
mod reaching;
mod values;

use std::collections::BTreeSet;

use oriole_ir::{Block, Function, Reg, RegFile};
use oriole_optimizer::analysis::{Cfg, Dominators, LiveWalk, Liveness};

use oriole_reference::{Dominance, Graph, LiveRegisters, equations};

pub use calls::compare_calls;

/// An answer of an analysis that its definition contradicts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("function `{function}`: {analysis} is wrong about {subject}: it says {said}, by definition it is {expected}")]
pub struct Disagreement {
    /// The function.
    pub function: String,
    /// The analysis.
    pub analysis: &'static str,
    /// What was asked.
    pub subject: String,
    /// The analysis's answer.
    pub said: String,
    /// The answer by definition.
    pub expected: String,
}

/// What is compared, with its name.
pub struct Check {
    /// The analyses.
    pub name: &'static str,
    run: fn(&Judge<'_>, &Function) -> Result<(), Disagreement>,
}

/// Everything that is compared, in an order in which what others build on comes first.
pub const CHECKS: &[Check] = &[
    Check { name: "graph", run: |judge, _| judge.graph().and_then(|()| judge.order()) },
    Check { name: "dominators", run: |judge, _| judge.dominators() },
    Check { name: "post-dominators", run: |judge, _| judge.post_dominators() },
    Check { name: "loops", run: |judge, _| judge.loops() },
    Check { name: "divergence", run: |judge, truth| judge.divergence(truth) },
    Check { name: "memory", run: |judge, truth| judge.memory(truth) },
    Check { name: "reaching", run: |judge, truth| judge.reaching(truth) },
    Check { name: "liveness", run: |judge, truth| judge.live_registers(truth) },
    Check { name: "kill markers", run: |judge, truth| judge.kill_markers(truth) },
    Check { name: "live files", run: |judge, truth| judge.live_files(truth) },
    Check { name: "live predicates", run: |judge, truth| judge.live_predicates(truth) },
    Check { name: "live and defined", run: |judge, truth| judge.live_and_defined(truth) },
    Check { name: "values", run: |judge, truth| judge.values(truth) },
];

impl Check {
    /// Asks the analyses everything about `func`, and compares with what is true of `truth` by definition; the same
    /// function, unless a test wants to see a difference found. Both have the same blocks and registers.
    pub fn compare(&self, func: &Function, truth: &Function) -> Result<(), Disagreement> {
        (self.run)(&Judge::new(func, truth), truth)
    }
}

/// The same for all analyses of functions.
pub fn compare(func: &Function, truth: &Function) -> Result<(), Disagreement> {
    let judge = Judge::new(func, truth);
    CHECKS.iter().try_for_each(|check| (check.run)(&judge, truth))
}

/// The answer of an analysis is that of the definition.
fn expect<T: PartialEq + std::fmt::Debug>(
    function: &str,
    analysis: &'static str,
    subject: impl FnOnce() -> String,
    said: T,
    expected: T,
) -> Result<(), Disagreement> {
    if said == expected {
        return Ok(());
    }
    let (function, said, expected) = (function.to_owned(), format!("{said:?}"), format!("{expected:?}"));
    Err(Disagreement { function, analysis, subject: subject(), said, expected })
}

struct Judge<'a> {
    func: &'a Function,
    cfg: Cfg,
    graph: Graph,
    dominance: Dominance,
}

impl Judge<'_> {
    fn new<'a>(func: &'a Function, truth: &Function) -> Judge<'a> {
        let graph = Graph::of(truth);
        Judge { func, cfg: Cfg::new(func), dominance: Dominance::of(&graph), graph }
    }

    fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        analysis: &'static str,
        subject: impl FnOnce() -> String,
        said: T,
        expected: T,
    ) -> Result<(), Disagreement> {
        expect(&self.func.name, analysis, subject, said, expected)
    }

    fn named(&self, places: &[usize]) -> Vec<Block> {
        places.iter().map(|place| self.graph.blocks[*place]).collect()
    }

    /// Edges and reachability.
    fn graph(&self) -> Result<(), Disagreement> {
        for (place, block) in self.graph.blocks.iter().enumerate() {
            let subject = |what: &'static str| move || format!("{what} of {block}");
            let successors = self.named(&self.graph.successors[place]);
            self.expect("the graph", subject("the successors"), self.cfg.successors(*block).to_vec(), successors)?;
            let predecessors = self.named(&self.graph.predecessors[place]);
            self.expect("the graph", subject("predecessors"), self.cfg.predecessors(*block).to_vec(), predecessors)?;
            let reachable = self.dominance.is_reachable(place);
            self.expect("the graph", subject("reachability"), self.cfg.is_reachable(*block), reachable)?;
        }
        Ok(())
    }

    /// The reverse post-order holds every reachable block once, each but the entry behind one of its predecessors, and
    /// behind its dominators.
    fn order(&self) -> Result<(), Disagreement> {
        let rpo = self.cfg.rpo();
        let reachable = (0..self.graph.blocks.len()).filter(|place| self.dominance.is_reachable(*place));
        let (mut listed, mut all) = (rpo.to_vec(), self.named(&reachable.collect::<Vec<_>>()));
        listed.sort_unstable();
        all.sort_unstable();
        self.expect("the order", || "its members".to_owned(), listed, all)?;
        for (number, block) in rpo.iter().enumerate() {
            let subject = || format!("the number of {block}");
            self.expect("the order", subject, self.cfg.rpo_number(*block), Some(number))?;
            let before = |from: &Block| rpo[..number].contains(from);
            let follows = number == 0 || self.cfg.predecessors(*block).iter().any(before);
            self.expect("the order", || format!("a predecessor before {block}"), follows, true)?;
        }
        Ok(())
    }

    fn dominators(&self) -> Result<(), Disagreement> {
        let (cfg, dominators) = (&self.cfg, Dominators::new(&self.cfg));
        let frontiers = dominators.frontiers(cfg);
        for (at, block) in self.graph.blocks.iter().enumerate() {
            let immediate = self.dominance.immediate(at).map(|place| self.graph.blocks[place]);
            let subject = || format!("the immediate dominator of {block}");
            self.expect("dominance", subject, dominators.immediate_dominator(cfg, *block), immediate)?;
            let mut frontier = frontiers.of(cfg, *block).to_vec();
            frontier.sort_by_key(|join| cfg.position(*join));
            let ends = |join: &usize| self.dominance.ends_at(&self.graph, at, *join);
            let expected: Vec<usize> = (0..self.graph.blocks.len()).filter(ends).collect();
            self.expect("dominance", || format!("the frontier of {block}"), frontier, self.named(&expected))?;
            for (other, below) in self.graph.blocks.iter().enumerate() {
                let subject = || format!("whether {block} dominates {below}");
                let expected = self.dominance.dominates(at, other);
                self.expect("dominance", subject, dominators.dominates(cfg, *block, *below), expected)?;
            }
        }
        let preorder: Vec<Block> = dominators.preorder(cfg).collect();
        self.expect("dominance", || "the length of the preorder".to_owned(), preorder.len(), cfg.rpo().len())?;
        for (number, block) in preorder.iter().enumerate() {
            let above = dominators.immediate_dominator(cfg, *block);
            let first = above.is_none_or(|above| preorder[..number].contains(&above));
            self.expect("dominance", || format!("{block} behind its dominator"), first, true)?;
        }
        Ok(())
    }

    /// Liveness, and the pressure that follows from it.
    fn live_registers(&self, truth: &Function) -> Result<(), Disagreement> {
        let liveness = Liveness::solve(self.func, &self.cfg);
        self.equations(truth, &liveness)?;
        let live = LiveRegisters::of(truth, &self.graph);
        self.liveness(&live, &liveness)?;
        self.pressure(truth, &live, &liveness)
    }

    /// The solution satisfies its equations.
    fn equations(&self, truth: &Function, liveness: &Liveness) -> Result<(), Disagreement> {
        let live_in: Vec<BTreeSet<Reg>> =
            self.graph.blocks.iter().map(|block| liveness.live_in(*block).iter().collect()).collect();
        for (place, block) in self.graph.blocks.iter().enumerate() {
            let live_out: BTreeSet<Reg> = liveness.live_out(*block).iter().collect();
            let end = equations::live_out(truth, &self.graph, place, &live_in);
            self.expect("liveness", || format!("the equation of the end of {block}"), &live_out, &end)?;
            let entry = equations::live_in(truth, *block, live_out);
            self.expect("liveness", || format!("the equation of the entry of {block}"), &live_in[place], &entry)?;
        }
        Ok(())
    }

    fn liveness(&self, live: &LiveRegisters, liveness: &Liveness) -> Result<(), Disagreement> {
        let mut walk = LiveWalk::new(self.func);
        for (place, block) in self.graph.blocks.iter().enumerate() {
            let expected =
                |at: &dyn Fn(Reg) -> bool| self.func.regs().keys().filter(|reg| at(*reg)).collect::<Vec<_>>();
            let entry = expected(&|reg| live.live_in(place, reg));
            let end = expected(&|reg| live.live_out(place, reg));
            for (set, what, expected) in
                [(liveness.live_in(*block), "entry", &entry), (liveness.live_out(*block), "end", &end)]
            {
                let subject = || format!("the {what} of {block}");
                let mut listed: Vec<Reg> = set.iter().collect();
                listed.sort_unstable();
                self.expect("liveness", subject, &listed, expected)?;
                let contained: Vec<Reg> = self.func.regs().keys().filter(|reg| set.contains(*reg)).collect();
                self.expect("liveness", subject, &contained, expected)?;
                for file in [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP] {
                    let members = expected.iter().filter(|reg| self.func.regs()[**reg].file == file).count();
                    self.expect("liveness", || format!("{file:?} at the {what} of {block}"), set.count(file), members)?;
                }
            }
            walk.start(liveness, *block);
            self.func.block_insts(*block).rev().for_each(|inst| walk.step(self.func, inst));
            let mut walked = walk.live().to_vec();
            walked.sort_unstable();
            self.expect("the walk", || format!("the entry of {block}"), &walked, &entry)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    /// Every graph of four blocks, each of which ends, jumps, or branches two ways.
    #[test]
    fn all_graphs_of_four_blocks_agree() {
        let mut ends = vec!["ret".to_owned()];
        ends.extend((0..4).map(|to| format!("bra bb{to}")));
        let pairs = (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b)));
        ends.extend(pairs.map(|(a, b)| format!("cbra %p0, bb{a}, bb{b}")));
        let count = ends.len();
        assert_eq!(count, 11);
        for number in 0..count.pow(4) {
            let end = |at: u32| &ends[number / count.pow(at) % count];
            let text = format!(
                "device @f {{\nbb0:\n  %r1 = mov.b32 1\n  {}\nbb1:\n  @%p2 %r1 = mov.b32 2\n  {}\nbb2:\n  \
                 st.global.b32 [8], %r1\n  {}\nbb3:\n  %p0 = mov.pred 1\n  {}\n}}\n",
                end(0),
                end(1),
                end(2),
                end(3)
            );
            let func = parse_function(&text).expect("the text is a function");
            if let Err(wrong) = compare(&func, &func) {
                panic!("{wrong}\n{text}");
            }
        }
    }

    #[test]
    fn a_difference_of_one_edge_or_read_is_seen() {
        let text =
            "device @f {\nbb0:\n  cbra %p0, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  st.global.b32 [8], %r1\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        assert_eq!(compare(&func, &func), Ok(()));
        let said =
            |text: &str| compare(&func, &parse_function(text).expect("a function")).map_err(|wrong| wrong.analysis);
        assert_eq!(said(&text.replace("cbra %p0, bb1, bb2", "bra bb1")), Err("the graph"));
        assert_eq!(said(&text.replace("[8], %r1", "[8], 1")), Err("liveness"));
    }
}
