//! Chains of comparisons of one value with constants, each of which leads away where it is equal.
//!
//! The links behind the first hold nothing but their comparison and branch, and have no other way in, so the whole
//! chain is replaced at once. Where two links compare with the same constant, the first decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use cranelift_entity::EntitySet;

use super::build::{Build, Case};
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, Operand, Reg};
use oriole_pass::analysis::{BranchRanges, Cfg, Definitions, Range, RangeAnalyses, Uses};
use oriole_pass::edit::graph::two_ways;
use oriole_pass::pass::{Changed, Knob, PhaseContext};
use rustc_hash::FxHashMap;

/// Entries of a table at most, however few of them must be cases.
const MOST_ENTRIES: u64 = 1024;

/// Turns the chains that are long enough into switches.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limits = Limits::new(cx);
    let mut chains = Search::new(func, cx).chains();
    chains.retain(|chain| limits.wants_table(&chain.cases) || chain.cases.len() >= limits.tree);
    if chains.is_empty() {
        return Changed::No;
    }
    let bounds = bounds(func, cx, &chains);
    let (mut placed, mut gone) = (FxHashMap::default(), EntitySet::<Block>::new());
    for (chain, bounds) in chains.into_iter().zip(bounds) {
        let table = limits.wants_table(&chain.cases);
        if !cx.rewrite(if table { "switch-table" } else { "switch-tree" }) {
            break;
        }
        gone.extend(chain.links.iter().skip(1).copied());
        placed.insert(chain.links[0], chain.replace(func, table, bounds));
    }
    if placed.is_empty() {
        return Changed::No;
    }
    Build::place(func, &placed, |block| gone.contains(block));
    Changed::Yes
}

/// What the value of each chain may be where the chain begins.
fn bounds(func: &Function, cx: &mut PhaseContext<'_>, chains: &[Chain]) -> Vec<(u64, u64)> {
    let (asked, ranges) = (RangeAnalyses::new(func, cx.analyses), cx.analyses.get::<BranchRanges>(func));
    let of = |chain: &Chain| ranges.0.in_block(asked.context(func), chain.value.into(), chain.links[0]);
    chains.iter().map(|chain| of(chain).map_or((0, u64::MAX), Range::unsigned)).collect()
}

/// From how many cases on a chain is replaced.
struct Limits {
    table: usize,
    /// Percent of a table's entries that are cases.
    density: u64,
    tree: usize,
}

impl Limits {
    fn new(cx: &PhaseContext<'_>) -> Limits {
        let limit = |knob| cx.knobs.limit(knob).map_or(usize::MAX, |most| most as usize);
        Limits {
            table: limit(Knob::SwitchOptTableCases).max(2),
            density: limit(Knob::SwitchOptTableDensity) as u64,
            tree: limit(Knob::SwitchOptTreeCases).max(3),
        }
    }

    fn wants_table(&self, cases: &BTreeMap<u32, (Block, Block)>) -> bool {
        let ends = cases.keys().next().zip(cases.keys().next_back());
        let span = ends.map_or(u64::MAX, |(first, last)| u64::from(last - first) + 1);
        cases.len() >= self.table
            && span <= MOST_ENTRIES
            && 100 * cases.len() as u64 >= self.density.saturating_mul(span)
    }
}

/// A chain of comparisons.
struct Chain {
    value: Reg,
    links: Vec<Block>,
    /// By constant: the link that compares with it, and where that leads.
    cases: BTreeMap<u32, (Block, Block)>,
    /// Where the last link leads if nothing is equal.
    default: Block,
}

struct Search<'a> {
    func: &'a Function,
    cfg: Arc<Cfg>,
    definitions: Arc<Definitions>,
    uses: Arc<Uses>,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, cx: &mut PhaseContext<'_>) -> Search<'a> {
        Search { func, cfg: cx.analyses.get(func), definitions: cx.analyses.get(func), uses: cx.analyses.get(func) }
    }

    /// The chains, each block in one of them.
    fn chains(&self) -> Vec<Chain> {
        let mut taken = EntitySet::<Block>::new();
        let mut found = Vec::new();
        for block in self.cfg.rpo() {
            let Some(chain) = (!taken.contains(*block)).then(|| self.chain(*block)).flatten() else { continue };
            taken.extend(chain.links.iter().copied());
            found.push(chain);
        }
        found
    }

    fn chain(&self, head: Block) -> Option<Chain> {
        let (value, constant, equal, mut default) = self.test(head)?;
        let cases = BTreeMap::from([(constant, (head, equal))]);
        let mut chain = Chain { value, links: vec![head], cases, default };
        while let Some((other, constant, equal, next)) = self.link(default).filter(|link| link.0 == value) {
            // A second comparison with a constant that was met never holds; what it leads to keeps its edge.
            if other != value || chain.cases.contains_key(&constant) || default == head {
                break;
            }
            chain.cases.insert(constant, (default, equal));
            chain.links.push(default);
            default = next;
        }
        Some(Chain { default, ..chain })
    }

    /// A test in a block that holds nothing else and that one edge leads to.
    fn link(&self, block: Block) -> Option<(Reg, u32, Block, Block)> {
        let test = self.test(block)?;
        let branch = self.func.terminator(block)?;
        let own = |inst| {
            let only_here = self.func.defs(inst).all(|reg| self.uses.count(reg) == 1);
            inst == branch || self.func.inst(inst).opcode == Opcode::SetP && only_here
        };
        let read = |inst| self.func.defs(inst).all(|reg| self.func.uses(branch).any(|used| used == reg));
        let alone = self.cfg.predecessors(block).len() == 1;
        (alone && self.func.block_insts(block).all(|inst| own(inst) && (inst == branch || read(inst)))).then_some(test)
    }

    /// Value and constant that a block's branch compares for equality; where it leads if they are, and if not.
    fn test(&self, block: Block) -> Option<(Reg, u32, Block, Block)> {
        let (condition, yes, no) = two_ways(self.func, block)?;
        let inst = self.definitions.unguarded(self.func, condition, Opcode::SetP)?;
        let data = self.func.inst(inst);
        let &[Operand::Reg(value), constant] = self.func.srcs(inst).first_chunk::<2>()? else { return None };
        let is_word = data.ty() != Type::Pred && !data.ty().is_float() && data.ty().bits() == 32;
        let constant = u32::try_from(self.func.imm_bits(constant)?).ok().filter(|_| is_word)?;
        match data.field::<Compare>()? {
            Compare::Eq => Some((value, constant, yes, no)),
            Compare::Ne => Some((value, constant, no, yes)),
            _ => None,
        }
    }
}

impl Chain {
    /// Ends the first link with the switch of a value between two bounds; the blocks that were made.
    fn replace(self, func: &mut Function, table: bool, bounds: (u64, u64)) -> Vec<Block> {
        let head = self.links[0];
        let last = *self.links.last().expect("a chain has a link");
        if let Some(branch) = func.terminator(head) {
            func.remove_inst(branch);
        }
        let mut build = Build { func, value: self.value, made: Vec::new() };
        let default = build.way(last, self.default);
        let cases: Vec<Case> = self.cases.iter().map(|(value, (from, to))| (*value, build.way(*from, *to))).collect();
        if table {
            let (first, last) = (cases[0].0, cases[cases.len() - 1].0);
            let inside = u64::from(first) <= bounds.0 && bounds.1 <= u64::from(last);
            build.table(head, &cases, default, !inside);
        } else {
            build.equal_tree(head, &cases, default);
        }
        build.made
    }
}
