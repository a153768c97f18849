//! Fused products that a loop does not change are taken apart, so that they may leave it.
//!
//! nvcc fuses `a * b + i` though only `i` changes in the loop, and then the product is computed anew in each round.
//! Apart, the product is an instruction of its own that leaves the loop, and the addition stays. It pays
//! where a product costs more than an addition by the knob `StrengthReduceGain`: products of 64 bits by default, which
//! take three instructions or more. Products of 32 bits and those that are wide are one machine instruction with
//! the addition in it. The rules fuse a product and an addition of the same loop only, so nothing undoes this.

use super::Hoisting;
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};

const RULE: &str = "split-product";

/// Takes products of some blocks apart and puts each in front of its loop; the addition stays. Everything else that
/// leaves has left before.
pub(super) fn split(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    blocks: &[Block],
    hoisting: &mut Hoisting<'_>,
) -> Changed {
    let least = cx.knobs.limit(Knob::StrengthReduceGain).unwrap_or(u32::MAX);
    let mut changed = Changed::No;
    for block in blocks {
        let insts: Vec<Inst> = func.block_insts(*block).collect();
        for inst in insts {
            let Some((ty, to)) = hoisting.product(func, *block, inst, least) else { continue };
            if !hoisting.has_room(func, cx, inst) {
                continue;
            }
            if !cx.rewrite(RULE) {
                return changed;
            }
            let (product, made) = take_apart(func, inst, ty, to);
            hoisting.definitions.set(product, made, to);
            changed = Changed::Yes;
        }
    }
    changed
}

impl Hoisting<'_> {
    /// The type of a product whose factors the loop around a block does not change, though it changes the addend, and
    /// the block at whose end the product may be instead.
    fn product(&self, func: &Function, block: Block, inst: Inst, least: u32) -> Option<(Type, Block)> {
        let data = func.inst(inst);
        let ty = data.field::<Type>().filter(|_| data.opcode == Opcode::IMadLo && data.guard.is_none())?;
        let addition = InstBuilder::new(Opcode::IAdd).field(ty).head();
        let cost = data.opcode.row().cost(&data.fields);
        let [first, second, addend] = func.srcs(inst) else { return None };
        let pays = cost.saturating_sub(addition.opcode.row().cost(&addition.fields)) >= least;
        // A product of constants is one itself, and folding sees to it.
        if !pays || first.is_imm() && second.is_imm() || self.awaited.is_read_by(func, inst) {
            return None;
        }
        let of = self.nest.innermost(self.cfg, block)?;
        let homes = |operands: &[&Operand]| -> Vec<Block> {
            operands.iter().filter_map(|operand| self.definitions.block(operand.reg()?)).collect()
        };
        // Where the addend stays too, the whole instruction leaves, if anything does.
        self.ways.out_of(of, &homes(&[addend])).is_none().then_some(())?;
        Some((ty, self.ways.out_of(of, &homes(&[first, second]))?))
    }
}

/// Puts the product at the end of a block and makes the addition of what was both; returns the product.
fn take_apart(func: &mut Function, inst: Inst, ty: Type, to: Block) -> (Reg, Inst) {
    let dst = func.defs(inst).next().expect("a product has a result");
    let [first, second, addend] = func.srcs(inst).try_into().expect("two factors and an addend");
    let (line, product) = (func.inst(inst).line, func.new_reg(func.regs()[dst]));
    let factors = [first, second].map(|operand| func.free(operand));
    let end = func.terminator(to).expect("a preheader ends with a branch");
    let multiplication = InstBuilder::new(Opcode::IMulLo).field(ty).line(line);
    let made = multiplication.dst(product).srcs(factors).insert_before(func, end);
    let head = InstBuilder::new(Opcode::IAdd).field(ty).line(line).head();
    func.set_inst(inst, head, &[dst.into()], &[product.into(), addend], &[]);
    (product, made)
}
