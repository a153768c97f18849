//! A function as it was when the rewrite rules found nothing in it, and what has changed since.
//!
//! Whether a rule fits an instruction follows from the instruction, from the definitions that lead to its operands,
//! from how often these registers are read, and from how deep in loops all of them stand. So a scan that found nothing
//! need not look again at an instruction while all of that is as it was. [`FixedPoint`] keeps a hash of each
//! instruction and the count of reads of each register; [`FixedPoint::changes_to`] compares two of them and follows the
//! differences forward through the values. Two different instructions with one hash would cost a rewrite that is not
//! made, and nothing else.

use std::hash::{Hash, Hasher};

use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHasher;

use super::{Cfg, LoopNest, Uses};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg};

/// How many times the values are followed around loops before everything counts as changed.
const PASSES: usize = 4;
/// The hash of an instruction that was not there.
const ABSENT: u64 = 0;

/// A function in SSA form in which the rules find nothing.
#[derive(Clone, Debug)]
pub struct FixedPoint {
    /// By instruction.
    insts: Vec<u64>,
    uses: Uses,
}

/// What a scan of the rules has to look at.
#[derive(Debug, Default)]
pub struct Changes {
    /// Instructions that are other than they were, or define something that is read more or less often.
    pub insts: EntitySet<Inst>,
    /// Registers with another value or other readers than before, as far as one can tell, and all that follow from
    /// them.
    pub regs: EntitySet<Reg>,
}

impl FixedPoint {
    /// The reachable instructions as they are.
    pub fn new(func: &Function, cfg: &Cfg, nest: &LoopNest, uses: &Uses) -> FixedPoint {
        let mut insts = vec![ABSENT; func.insts().len()];
        for block in cfg.rpo() {
            let depth = nest.depth(cfg, *block);
            for inst in func.block_insts(*block) {
                insts[inst.index()] = fingerprint(func, inst, depth);
            }
        }
        FixedPoint { insts, uses: uses.clone() }
    }

    /// What is other in a function that looks like `now`; `None` where following it would take too long.
    pub fn changes_to(&self, now: &FixedPoint, func: &Function, cfg: &Cfg) -> Option<Changes> {
        let mut changes = Changes::default();
        for inst in cfg.rpo().iter().flat_map(|block| func.block_insts(*block)) {
            let reads = func.defs(inst).any(|reg| self.uses.count(reg) != now.uses.count(reg));
            if reads || self.insts.get(inst.index()) != Some(&now.insts[inst.index()]) {
                changes.insts.insert(inst);
                changes.regs.extend(func.defs(inst));
            }
        }
        let round = round_phis(func, cfg);
        let ends = |_| {
            changes.spread(func, cfg);
            !round.iter().any(|phi| changes.goes_round(func, *phi))
        };
        (0..PASSES).any(ends).then_some(changes)
    }
}

impl Changes {
    /// Follows the registers through the function, in the order of the blocks: what is read there is defined before,
    /// but for what phis take from a later block.
    fn spread(&mut self, func: &Function, cfg: &Cfg) {
        for inst in cfg.rpo().iter().flat_map(|block| func.block_insts(*block)) {
            if self.reads(func, inst) {
                self.regs.extend(func.defs(inst));
            }
        }
    }

    /// Whether a phi takes something that was reached only after the phi was looked at.
    fn goes_round(&self, func: &Function, phi: Inst) -> bool {
        self.reads(func, phi) && !func.defs(phi).all(|reg| self.regs.contains(reg))
    }

    fn reads(&self, func: &Function, inst: Inst) -> bool {
        func.uses(inst).any(|reg| self.regs.contains(reg))
    }
}

/// The phis that take something from a block that stands later in the reverse post-order, or from their own.
fn round_phis(func: &Function, cfg: &Cfg) -> Vec<Inst> {
    let number = |block: Block| cfg.rpo_number(block);
    let is_entered_from_behind =
        |block: &Block| cfg.predecessors(*block).iter().any(|from| number(*from) >= number(*block));
    let blocks = cfg.rpo().iter().filter(|block| is_entered_from_behind(block));
    let is_phi = |inst: &Inst| func.inst(*inst).opcode == Opcode::Phi;
    blocks.flat_map(|block| func.block_insts(*block).take_while(is_phi)).collect()
}

/// A number for all that rules can see of an instruction by itself.
fn fingerprint(func: &Function, inst: Inst, depth: u32) -> u64 {
    let (data, mut hasher) = (func.inst(inst), FxHasher::default());
    (data.opcode, data.fields, data.guard, depth).hash(&mut hasher);
    func.dsts(inst).hash(&mut hasher);
    func.inputs(inst).hash(&mut hasher);
    hasher.finish() | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{InstBuilder, Operand, parse_function};

    const LOOP: &str = "device @f ssa {
bb0:
  %r1 = mov.b32 1
  %r2 = mov.b32 2
  %r3 = iadd.u32 %r1, %r1
  bra bb1
bb1:
  %r4 = phi [bb0: %r1], [bb1: %r5]
  %r6 = iadd.u32 %r4, %r2
  %r5 = iadd.u32 %r6, %r2
  %p8 = setp.lt.u32 %r5, 9
  cbra %p8, bb1, bb2
bb2:
  %r7 = iadd.u32 %r3, %r2
  ret
}
";

    fn function() -> Function {
        parse_function(LOOP).unwrap_or_else(|error| panic!("{error}"))
    }

    fn fixed_point(func: &Function) -> (FixedPoint, Cfg) {
        let cfg = Cfg::new(func);
        (FixedPoint::new(func, &cfg, &LoopNest::compute(&cfg), &Uses::new(func)), cfg)
    }

    /// The registers that an edit changes, by number.
    fn changed(edit: impl FnOnce(&mut Function)) -> Vec<u32> {
        let mut func = function();
        let (before, _) = fixed_point(&func);
        edit(&mut func);
        let (now, cfg) = fixed_point(&func);
        let changes = before.changes_to(&now, &func, &cfg).expect("there is one loop");
        func.regs().keys().filter(|reg| changes.regs.contains(*reg)).map(|reg| reg.as_u32()).collect()
    }

    fn nth(func: &Function, place: usize) -> Inst {
        func.layout_insts().nth(place).expect("the function is longer")
    }

    #[test]
    fn nothing_follows_from_no_change() {
        assert_eq!(changed(|_| ()), []);
    }

    #[test]
    fn all_that_follows_from_a_change_has_changed() {
        let add_one = |func: &mut Function| {
            let (first, imm) = (nth(func, 0), func.imm(7));
            func.set_srcs(first, &[imm]);
        };
        assert_eq!(changed(add_one), [1, 3, 4, 5, 6, 7, 8], "all but what holds two");
    }

    #[test]
    fn values_that_go_round_are_followed() {
        // The second addition of the loop reads something else: the phi and the first addition follow from it.
        let other = |func: &mut Function| {
            let (add, reg) = (nth(func, 6), func.dsts(nth(func, 5))[0]);
            func.set_srcs(add, &[reg, reg]);
        };
        // The register that is read less often is no other value, but its readers may be other ones to a rule.
        assert_eq!(changed(other), [2, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_loop_around_a_value_is_a_change() {
        let mut func = function();
        let (before, _) = fixed_point(&func);
        let (entry, body, last) = (func.layout()[0], func.layout()[1], func.layout()[2]);
        let ret = func.last_inst(last).expect("it ends");
        func.remove_inst(ret);
        let back = func.new_inst(InstBuilder::new(Opcode::Bra).head(), &[], &[Operand::Block(last)], &[]);
        func.append_inst(last, back);
        let (now, cfg) = fixed_point(&func);
        let changes = before.changes_to(&now, &func, &cfg).expect("there are two loops");
        let of = |block: Block| func.block_insts(block).filter(|inst| changes.insts.contains(*inst)).count();
        assert_eq!([of(entry), of(body), of(last)], [0, 0, 2]);
    }

    /// A loop in which a value takes so many turns through phis.
    fn queue(turns: usize) -> Function {
        let phi = |turn: usize| format!("  %r{} = phi [bb0: %r1], [bb1: %r{}]\n", turn + 2, turn + 3);
        let phis: String = (0..turns).map(phi).collect();
        let text = format!(
            "device @f ssa {{\nbb0:\n  %r1 = mov.b32 1\n  bra bb1\nbb1:\n{phis}  %r{} = mov.b32 2\n  \
             %p20 = setp.lt.u32 %r2, 9\n  cbra %p20, bb1, bb2\nbb2:\n  ret\n}}\n",
            turns + 2
        );
        parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn values_that_go_round_for_long_are_not_followed() {
        let follows = |turns: usize| {
            let mut func = queue(turns);
            let (before, _) = fixed_point(&func);
            let (last, imm) = (nth(&func, turns + 2), func.imm(7));
            func.set_srcs(last, &[imm]);
            let (now, cfg) = fixed_point(&func);
            before.changes_to(&now, &func, &cfg).map(|changes| changes.regs.iter().count())
        };
        assert_eq!(follows(PASSES), Some(PASSES + 2), "each phi, the last value, and the comparison");
        assert_eq!(follows(PASSES + 1), None);
    }
}
