//! Copies that were made already on the only way to them.
//!
//! Copies in front of a branch act on all ways behind it, and the edge that they are not for may have the same ones:
//! where a loop is guarded, its counter begins with the value that stands for it where the loop is left out. Such a
//! copy is left out if nothing has written either side since. Down the tree of blocks with one predecessor; linear, as
//! few copies are known at any point.

use cranelift_entity::SecondaryMap;

use crate::analysis::Cfg;
use oriole_ir::ops::{FieldValues, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};

/// Copies of a block that are known in it and right behind it, at most: as many as one product of a warpgroup has
/// results, which a loop begins with zeros.
const MOST_OWN: usize = 256;
/// How few own copies there have to be for those of blocks above to stay known. More copies than one branch has in
/// front of it for nearly every other loop.
const FEW: usize = 16;

/// A register, what it holds a copy of, and how that was copied.
type Known = (Reg, Operand, FieldValues);

/// Leaves out copies in a function in virtual form.
pub(super) fn leave_out_repeated(func: &mut Function, cfg: &Cfg) {
    let mut at_end: SecondaryMap<Block, Vec<Known>> = SecondaryMap::new();
    for block in cfg.rpo() {
        let mut above = match cfg.predecessors(*block) {
            [only] => at_end[*only].clone(),
            _ => Vec::new(),
        };
        let mut own: Vec<Known> = Vec::new();
        for inst in func.block_insts(*block).collect::<Vec<Inst>>() {
            let copy = copy_of(func, inst);
            if copy.is_some_and(|copy| above.contains(&copy) || own.contains(&copy)) {
                func.remove_inst(inst);
                continue;
            }
            let written = |reg: Reg| func.defs(inst).any(|def| def == reg);
            for known in [&mut above, &mut own] {
                known.retain(|(dst, src, _)| !written(*dst) && !src.reg().is_some_and(written));
            }
            own.extend(copy);
            own.drain(..own.len().saturating_sub(MOST_OWN));
        }
        // The last ones first to stay.
        above.drain(..(above.len() + own.len()).saturating_sub(FEW).min(above.len()));
        above.append(&mut own);
        at_end[*block] = above;
    }
}

/// What an instruction copies, where it does so always. Uniform registers belong to all lanes of a warp, of which
/// others may have written one.
fn copy_of(func: &Function, inst: Inst) -> Option<Known> {
    let data = func.inst(inst);
    let (&[Operand::Reg(dst)], &[src]) = (func.dsts(inst), func.srcs(inst)) else { return None };
    let of_lane = |reg: Reg| matches!(func.regs()[reg].file, RegFile::R | RegFile::P);
    let whole = src.is_imm() || src.whole_reg().is_some_and(|src| src != dst && of_lane(src));
    (data.opcode == Opcode::Mov && data.guard.is_none() && whole && of_lane(dst)).then_some((dst, src, data.fields))
}
