//! Whether the tests of two loops yield the same in each round.
//!
//! Two registers are taken for the same in each round, and what defines them must bear it out: phis of the two headers
//! that begin with the same value and continue with registers that are the same; or the same operation on operands that
//! are the same. This is an induction over rounds: where it holds for all pairs that were asked for, it holds in the
//! first round, and in each one behind a round in which it holds.

use rustc_hash::FxHashSet;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Inst, Operand, Reg};
use oriole_pass::analysis::Definitions;
use oriole_pass::edit::graph::incoming;
use oriole_pass::engine::loop_tests::Shape;

/// Pairs of registers that are compared.
const MOST_PAIRS: usize = 16;

/// Phis of the second loop's header, each with the one of the first loop that is the same in each round, if the tests
/// are the same so; otherwise `None`. Both loops have one latch, and the second one block that leads to it from
/// outside.
pub(super) fn counters(
    func: &Function,
    definitions: &Definitions,
    first: &Shape,
    second: &Shape,
) -> Option<Vec<(Reg, Reg)>> {
    (first.leaves_if == second.leaves_if).then_some(())?;
    let search = Search { func, definitions, first, second };
    let mut work = vec![(first.condition, second.condition)];
    let (mut seen, mut counters) = (FxHashSet::default(), Vec::new());
    while let Some((a, b)) = work.pop() {
        let Some((x, y)) = a.reg().zip(b.reg()) else {
            (a == b).then_some(())?;
            continue;
        };
        (a.map_reg(|_| y) == b).then_some(())?;
        if !seen.insert((x, y)) || search.is_outside(x, y) {
            continue;
        }
        let is_counter = search.compare(x, y, &mut work)?;
        counters.extend(is_counter.then_some((y, x)));
        (seen.len() <= MOST_PAIRS).then_some(())?;
    }
    Some(counters)
}

struct Search<'a> {
    func: &'a Function,
    definitions: &'a Definitions,
    first: &'a Shape,
    second: &'a Shape,
}

impl Search<'_> {
    /// Whether both are one register that neither loop changes.
    fn is_outside(&self, x: Reg, y: Reg) -> bool {
        let home = self.definitions.block(x);
        let inside = |shape: &Shape| home.is_some_and(|home| shape.blocks.contains(&home));
        x == y && !inside(self.first) && !inside(self.second)
    }

    /// What must be the same for two registers to be the same in each round; whether they are phis of the headers.
    fn compare(&self, x: Reg, y: Reg, work: &mut Vec<(Operand, Operand)>) -> Option<bool> {
        let &Search { func, definitions, first, second } = self;
        let homes = (definitions.block(x)?, definitions.block(y)?);
        let (i, j) = (definitions.inst(x)?, definitions.inst(y)?);
        let inside = first.blocks.contains(&homes.0) && second.blocks.contains(&homes.1);
        (inside && func.regs()[x] == func.regs()[y]).then_some(())?;
        if homes == (first.header, second.header) && [i, j].iter().all(|inst| is_phi(func, *inst)) {
            self.begin_alike(i, j).then_some(())?;
            work.push((incoming(func, i, first.latches[0])?, incoming(func, j, second.latches[0])?));
            return Some(true);
        }
        let alike =
            self.compute_alike(i, j) && func.defs(i).position(|reg| reg == x) == func.defs(j).position(|reg| reg == y);
        work.extend(func.srcs(i).iter().copied().zip(func.srcs(j).iter().copied()).filter(|_| alike));
        alike.then_some(false)
    }

    /// Whether phis of the headers have one value on all ways in.
    fn begin_alike(&self, i: Inst, j: Inst) -> bool {
        let outside = |phi: Inst, shape: &Shape| {
            let latch = Operand::Block(shape.latches[0]);
            let pairs = self.func.srcs(phi).chunks_exact(2).filter(move |pair| pair[1] != latch);
            pairs.map(|pair| pair[0]).collect::<Vec<Operand>>()
        };
        let (mut all, other) = (outside(i, self.first), outside(j, self.second));
        all.extend(other);
        all.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn compute_alike(&self, i: Inst, j: Inst) -> bool {
        let func = self.func;
        let (a, b) = (func.inst(i), func.inst(j));
        let computes = a.is(Flags::PURE) && a.opcode != Opcode::Phi && a.guard.is_none() && b.guard.is_none();
        computes && (a.opcode, a.fields) == (b.opcode, b.fields) && func.srcs(i).len() == func.srcs(j).len()
    }
}

fn is_phi(func: &Function, inst: Inst) -> bool {
    func.inst(inst).opcode == Opcode::Phi
}
