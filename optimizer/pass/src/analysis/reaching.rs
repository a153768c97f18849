//! Reaching definitions: which definitions of a register a read may see, for functions outside SSA form.
//!
//! A definition reaches a point where some way leads from it there on which no other instruction overwrites the
//! register. One under a guard overwrites only sometimes, so what was there before reaches on behind it. A function
//! starts with every register undefined; that is a definition too ([`Definition::Start`]).
//!
//! Each register has names for its values, as in SSA construction (Cytron and others, 1991): one for each definition,
//! and one where several meet, at the iterated dominance frontier. Each read knows the one name that it sees, found by
//! one sweep over the places of the register in the order of the dominator tree. So the size is linear in instructions
//! and meetings, where sets of definitions at each block would be quadratic; the definitions behind a name are listed
//! on request.
//!
//! After an edit of some blocks that leaves the control-flow graph as it is, [`ReachingDefinitions::repair`] does the
//! registers again that were, or are, named there, and no others. Unreachable blocks are left out.

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::dominators::{Dominators, Frontiers};
use super::live_scan::kills;
use oriole_ir::{Block, Function, Inst, Reg};

/// Where a value of a register comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Definition {
    /// The start of the function: nothing has defined it.
    Start,
    /// An instruction.
    Inst(Inst),
}

/// What every read of a register may see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReachingDefinitions {
    /// By register.
    webs: Vec<Web>,
    /// By block number: the registers that are named there, sorted and different.
    named: Vec<Vec<Reg>>,
}

/// The values of one register.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Web {
    /// Where it is named, sorted by block and place.
    sites: Vec<Site>,
    names: Vec<Name>,
    /// What the reading instructions see, sorted by instruction.
    reads: Vec<(Inst, u32)>,
}

/// An instruction that names a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Site {
    block: Block,
    place: u32,
    use_of: Use,
    inst: Inst,
}

/// A read precedes a definition by the same instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Use {
    Read,
    Define,
    DefineSometimes,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Name {
    Start,
    /// What an instruction defines; where it does so only sometimes, with the name of what was there before.
    Defined(Inst, Option<u32>),
    /// What comes from the predecessors of a block.
    Met(Vec<u32>),
}

impl ReachingDefinitions {
    /// The definitions that reach every read of a function.
    pub fn compute(func: &Function, cfg: &Cfg, dominators: &Dominators, frontiers: &Frontiers) -> ReachingDefinitions {
        let (webs, named) = (vec![Web::default(); func.regs().len()], vec![Vec::new(); func.blocks().len()]);
        let mut reaching = ReachingDefinitions { webs, named };
        for block in cfg.rpo() {
            reaching.scan(func, *block);
        }
        let mut sweep = Sweep::new(cfg, dominators, frontiers, func.blocks().len());
        reaching.webs.iter_mut().for_each(|web| sweep.name(web));
        reaching
    }

    /// Brings the answers up to date after a change of the instructions in some blocks.
    pub fn repair(
        &mut self,
        func: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        frontiers: &Frontiers,
        blocks: &[Block],
    ) {
        self.webs.resize_with(func.regs().len(), Web::default);
        let mut touched: Vec<Reg> = Vec::new();
        for block in blocks.iter().filter(|block| cfg.is_reachable(**block)) {
            for reg in std::mem::take(&mut self.named[block.index()]) {
                self.webs[reg.index()].sites.retain(|site| site.block != *block);
                touched.push(reg);
            }
            self.scan(func, *block);
            touched.extend(&self.named[block.index()]);
        }
        touched.sort_unstable();
        touched.dedup();
        let mut sweep = Sweep::new(cfg, dominators, frontiers, func.blocks().len());
        touched.iter().for_each(|reg| sweep.name(&mut self.webs[reg.index()]));
    }

    /// Notes where a block names registers.
    fn scan(&mut self, func: &Function, block: Block) {
        let mut named = Vec::new();
        for (place, inst) in func.block_insts(block).enumerate() {
            let define = if kills(func, inst) { Use::Define } else { Use::DefineSometimes };
            let reads = func.uses(inst).map(|reg| (reg, Use::Read));
            // Code that is not part of the function may write what it may read.
            let given = func.hands_over(inst).then(|| func.uses(inst).map(|reg| (reg, Use::DefineSometimes)));
            let defined = func.defs(inst).map(|reg| (reg, define)).chain(given.into_iter().flatten());
            for (reg, use_of) in reads.chain(defined) {
                let site = Site { block, place: place as u32, use_of, inst };
                let sites = &mut self.webs[reg.index()].sites;
                // An instruction that names a register twice does so in two of its operands.
                if sites.last() != Some(&site) {
                    sites.push(site);
                }
                named.push(reg);
            }
        }
        named.sort_unstable();
        named.dedup();
        self.named[block.index()] = named;
    }

    /// The definitions of a register that an instruction may see where it reads it, sorted; none where it does not.
    pub fn of(&self, inst: Inst, reg: Reg) -> Vec<Definition> {
        let Some(web) = self.webs.get(reg.index()) else { return Vec::new() };
        let Ok(at) = web.reads.binary_search_by_key(&inst, |read| read.0) else { return Vec::new() };
        let (mut seen, mut work, mut found) = (vec![false; web.names.len()], vec![web.reads[at].1], Vec::new());
        while let Some(name) = work.pop() {
            if std::mem::replace(&mut seen[name as usize], true) {
                continue;
            }
            match &web.names[name as usize] {
                Name::Start => found.push(Definition::Start),
                Name::Defined(inst, before) => {
                    found.push(Definition::Inst(*inst));
                    work.extend(before);
                }
                Name::Met(names) => work.extend(names),
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether two instructions that read a register see the same value of it: one name, which has one value wherever
    /// its definition dominates.
    pub fn see_the_same(&self, a: Inst, b: Inst, reg: Reg) -> bool {
        let name = |inst: Inst| {
            let reads = &self.webs.get(reg.index())?.reads;
            reads.binary_search_by_key(&inst, |read| read.0).ok().map(|at| reads[at].1)
        };
        name(a).is_some() && name(a) == name(b)
    }

    /// The only instruction whose definition of a register another one sees where it reads it, if there is one only.
    pub fn only(&self, inst: Inst, reg: Reg) -> Option<Inst> {
        match self.of(inst, reg)[..] {
            [Definition::Inst(only)] => Some(only),
            _ => None,
        }
    }
}

/// Something that happens to a register, by place in the dominator tree and in its block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event {
    entered: u32,
    place: u32,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Values meet: the name of what they make.
    Meet(u32),
    /// An instruction names it.
    Site(Use, Inst),
    /// The block leads to where values meet.
    Lead(u32),
}

/// Names the values of one register after another, in memory of its own.
struct Sweep<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    frontiers: &'a Frontiers,
    /// By block number: whether values of the register at hand meet there.
    meets: Vec<bool>,
    events: Vec<Event>,
}

impl<'a> Sweep<'a> {
    fn new(cfg: &'a Cfg, dominators: &'a Dominators, frontiers: &'a Frontiers, blocks: usize) -> Sweep<'a> {
        Sweep { cfg, dominators, frontiers, meets: vec![false; blocks], events: Vec::new() }
    }

    fn name(&mut self, web: &mut Web) {
        web.sites.sort_unstable();
        web.names.clear();
        web.names.push(Name::Start);
        web.reads.clear();
        self.place(web);
        // The names that are seen now, each with the end of the part of the dominator tree that sees it.
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for Event { entered, what, .. } in &self.events {
            while seen.last().is_some_and(|(end, _)| end <= entered) {
                seen.pop();
            }
            let current = seen.last().map_or(0, |(_, name)| *name);
            let name = match what {
                What::Meet(name) => *name,
                What::Lead(name) => {
                    if let Name::Met(names) = &mut web.names[*name as usize] {
                        names.push(current);
                    }
                    continue;
                }
                What::Site(Use::Read, inst) => {
                    web.reads.push((*inst, current));
                    continue;
                }
                What::Site(define, inst) => {
                    web.names.push(Name::Defined(*inst, (*define == Use::DefineSometimes).then_some(current)));
                    web.names.len() as u32 - 1
                }
            };
            seen.push((self.dominators.interval_end(*entered), name));
        }
        web.reads.sort_unstable();
        web.reads.dedup();
    }

    /// Lists the events of a register in the order of the dominator tree.
    fn place(&mut self, web: &mut Web) {
        self.events.clear();
        let defines = |site: &&Site| site.use_of != Use::Read;
        let mut work: Vec<Block> = web.sites.iter().filter(defines).map(|site| site.block).collect();
        work.dedup();
        let mut joins: Vec<Block> = Vec::new();
        while let Some(block) = work.pop() {
            for join in self.frontiers.of(self.cfg, block) {
                if !std::mem::replace(&mut self.meets[join.index()], true) {
                    joins.push(*join);
                    work.push(*join);
                }
            }
        }
        joins.sort_unstable();
        let entered = |block: Block| self.dominators.entered(self.cfg, block);
        for join in joins {
            self.meets[join.index()] = false;
            let name = web.names.len() as u32;
            // Behind the entry block, values meet with what the function starts with.
            web.names.push(Name::Met(if self.cfg.rpo()[0] == join { vec![0] } else { Vec::new() }));
            self.events.extend(entered(join).map(|entered| Event { entered, place: 0, what: What::Meet(name) }));
            let from = self.cfg.predecessors(join).iter().filter_map(|from| entered(*from));
            self.events.extend(from.map(|entered| Event { entered, place: u32::MAX, what: What::Lead(name) }));
        }
        for site in &web.sites {
            let (place, what) = (site.place + 1, What::Site(site.use_of, site.inst));
            self.events.extend(entered(site.block).map(|entered| Event { entered, place, what }));
        }
        self.events.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::random_function;
    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    fn of(func: &Function) -> ReachingDefinitions {
        let cfg = Cfg::new(func);
        let dominators = Dominators::new(&cfg);
        ReachingDefinitions::compute(func, &cfg, &dominators, &dominators.frontiers(&cfg))
    }

    /// `%r1` is defined in front of a loop, in the loop under a guard, and read there and behind it; `%r2` by one way
    /// only.
    #[test]
    fn definitions_meet_and_show_through_guards() {
        let text = "device @f {\nbb0:\n  %r1 = mov.b32 1\n  bra bb1\nbb1:\n  st.global.b32 [8], %r1\n  \
                    @%p3 %r1 = mov.b32 2\n  cbra %p3, bb1, bb2\nbb2:\n  %r2 = mov.b32 %r1\n  bra bb3\nbb3:\n  \
                    %r1 = mov.b32 %r2\n  st.global.b32 [8], %r1\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let reaching = of(&func);
        let at = |block: u32, place: usize| func.inst_at(Block::from_u32(block), place);
        let seen = |inst, reg| reaching.of(inst, Reg::from_u32(reg));
        let both = [Definition::Inst(at(0, 0)), Definition::Inst(at(1, 1))];
        assert_eq!(seen(at(1, 0), 1), both);
        assert_eq!(seen(at(2, 0), 1), both);
        assert_eq!(seen(at(3, 1), 1), [Definition::Inst(at(3, 0))]);
        assert_eq!(reaching.only(at(3, 0), Reg::from_u32(2)), Some(at(2, 0)));
        assert_eq!(seen(at(1, 1), 3), [Definition::Start]);
        assert_eq!((seen(at(1, 1), 1), reaching.only(at(1, 0), Reg::from_u32(1))), (vec![], None));
    }

    proptest! {
        /// Whatever is removed from one block, what is repaired is what is computed anew.
        #[test]
        fn repair_is_computing_anew(words in prop::collection::vec(any::<u32>(), 4..160), at in any::<usize>()) {
            let mut func = random_function(&words);
            let mut reaching = of(&func);
            let block = func.layout()[at % func.layout().len()];
            let count = func.block_insts(block).len();
            if count > 1 {
                func.remove_inst(func.inst_at(block, at / 16 % (count - 1)));
            }
            let cfg = Cfg::new(&func);
            let dominators = Dominators::new(&cfg);
            reaching.repair(&func, &cfg, &dominators, &dominators.frontiers(&cfg), &[block]);
            prop_assert_eq!(reaching, of(&func));
        }
    }
}
