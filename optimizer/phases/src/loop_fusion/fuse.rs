//! Makes one loop of two.
//!
//! With tests at the latches, the latch of the first loop leads to the second loop's header, whose latch leads back to
//! the header of the first:
//!
//! ```text
//! first header … first latch ─► second header … second latch (test) ─► first header, or out
//! ```
//!
//! With tests at the headers, the second header follows the first, in front of both bodies:
//!
//! ```text
//! first header ─► second header (test) ─► first body … first latch ─► second body … second latch ─► first header
//! ```
//!
//! Either way phis of the second header move to the first one. What they begin with is defined in front of the first
//! loop: it dominates the second loop and is none of the first loop's values.

use cranelift_entity::SecondaryMap;

use super::Plan;
use oriole_ir::{Function, Inst, Operand, Reg};
use oriole_pass::edit::graph::{always, come_from, incoming, map_targets, phis};

impl Plan {
    /// Makes the change; the blocks between the loops are not reached any more.
    pub(super) fn fuse(&self, func: &mut Function) {
        let [first, second] = [&self.pair.first, &self.pair.second];
        self.clear_between(func);
        let merging: Vec<Inst> = phis(func, second.header).collect();
        come_from(func, first.header, first.latches[0], second.latches[0]);
        merging.into_iter().for_each(|phi| self.move_phi(func, phi));
        always(func, first.test, second.header);
        map_targets(func, second.latches[0], |target| if target == second.header { first.header } else { target });
        if !self.at_end {
            self.order_bodies(func);
        }
        let nounroll = func.is_nounroll(first.header) || func.is_nounroll(second.header);
        func.set_nounroll(first.header, nounroll);
    }

    fn clear_between(&self, func: &mut Function) {
        let end = self.between.preheader.and_then(|block| func.terminator(block));
        for inst in &self.between.before {
            func.remove_inst(*inst);
            func.insert_before(end.expect("what goes in front of a loop has a block there"), *inst);
        }
        for inst in self.between.behind.iter().rev() {
            func.remove_inst(*inst);
            func.prepend_inst(self.pair.second.exit, *inst);
        }
    }

    /// Has a phi of the second header are at the first one, unless a phi of that is the same.
    fn move_phi(&self, func: &mut Function, phi: Inst) {
        let (header, latch) = (self.pair.first.header, self.pair.second.latches[0]);
        let dst = func.defs(phi).next().expect("a phi has a result");
        let [start, next] = [self.pair.last, latch].map(|from| incoming(func, phi, from));
        func.remove_inst(phi);
        if self.counters.iter().any(|(counter, _)| *counter == dst) {
            return;
        }
        let [start, next] = [start, next].map(|value| value.expect("a phi has a source for each block before it"));
        let from_outside = self.entries.iter().flat_map(|from| [start, Operand::Block(*from)]);
        let srcs: Vec<Operand> = from_outside.chain([next, Operand::Block(latch)]).collect();
        func.set_srcs(phi, &srcs);
        func.prepend_inst(header, phi);
    }

    /// The test of the second loop leads to the body of the first one, and that to the body of the second.
    fn order_bodies(&self, func: &mut Function) {
        let [first, second] = [&self.pair.first, &self.pair.second];
        map_targets(func, second.test, |target| if target == second.stays { first.stays } else { target });
        map_targets(func, first.latches[0], |target| if target == first.header { second.stays } else { target });
        come_from(func, first.stays, first.test, second.test);
        come_from(func, second.stays, second.test, first.latches[0]);
    }
}

/// Has whatever reads a register of the list read the one beside it.
pub(super) fn rename(func: &mut Function, same: &SecondaryMap<Reg, Option<Reg>>) {
    let name = |reg: Reg| same[reg].unwrap_or(reg);
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        func.inputs_mut(inst).iter_mut().for_each(|input| *input = input.map_reg(name));
        if let Some(guard) = func.inst(inst).guard {
            func.set_guard(inst, Some(guard.with_reg(name(guard.reg()))));
        }
    }
}
