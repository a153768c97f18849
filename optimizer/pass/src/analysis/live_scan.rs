//! What each block does with registers, as far as liveness asks: the sets gen and kill as lists.
//!
//! A phi's sources are read at the end of the predecessors, its destination is defined at its block's entry. Outside
//! SSA a guarded definition does not kill, since the old value shows through; in SSA the `else` operand is that old
//! value, read like a source. Barrier registers carry order, not values: they are in no list of reads, and so in no
//! live set. Linear.

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg, RegFile};

pub(super) const NONE: u32 = u32::MAX;

/// Pairs of register and block, by its place in the layout, in layout order.
pub(super) struct Scan {
    /// The block reads the register before it defines it.
    pub(super) read: Vec<(Reg, u32)>,
    /// A phi reads the register from that block.
    pub(super) handed_over: Vec<(Reg, u32)>,
    /// The block defines the register whatever its guards say.
    pub(super) defined: Vec<(Reg, u32)>,
}

impl Scan {
    /// Goes through all blocks, unreachable ones too.
    pub(super) fn of(func: &Function, cfg: &Cfg) -> Scan {
        let mut scan = Scan { read: Vec::new(), handed_over: Vec::new(), defined: Vec::new() };
        // The last block that has read or defined a register: each block is listed once for each register.
        let mut last_reader = vec![NONE; func.regs().len()];
        let mut last_definer = vec![NONE; func.regs().len()];
        let is_value = |reg: &Reg| func.regs()[*reg].file != RegFile::B;
        for (place, block) in cfg.blocks().iter().enumerate() {
            let place = place as u32;
            for inst in func.block_insts(*block) {
                if func.inst(inst).opcode == Opcode::Phi {
                    let sources = incoming(func, inst).filter_map(|(value, from)| Some((value.reg()?, from)));
                    let placed = sources.filter_map(|(reg, from)| Some((reg, cfg.position(from)? as u32)));
                    scan.handed_over.extend(placed.filter(|(reg, _)| is_value(reg)));
                } else {
                    for reg in func.uses(inst).filter(is_value) {
                        let exposed = last_definer[reg.index()] != place;
                        if exposed && std::mem::replace(&mut last_reader[reg.index()], place) != place {
                            scan.read.push((reg, place));
                        }
                    }
                }
                if kills(func, inst) {
                    for reg in func.defs(inst) {
                        if std::mem::replace(&mut last_definer[reg.index()], place) != place {
                            scan.defined.push((reg, place));
                        }
                    }
                }
            }
        }
        scan
    }

    /// Numbers the registers that are read behind another block's end; those of a group are close to each other in
    /// the text, mostly, and are live in the same blocks.
    pub(super) fn numbers(&self, func: &Function) -> (Vec<u32>, Vec<Reg>) {
        let mut number = vec![NONE; func.regs().len()];
        for (reg, _) in self.read.iter().chain(&self.handed_over) {
            number[reg.index()] = 0;
        }
        let mut members = Vec::new();
        for reg in func.regs().keys().filter(|reg| number[reg.index()] == 0).collect::<Vec<_>>() {
            number[reg.index()] = members.len() as u32;
            members.push(reg);
        }
        (number, members)
    }
}

/// Whether the old values of an instruction's destinations are gone after it, whatever its guard says.
pub(super) fn kills(func: &Function, inst: Inst) -> bool {
    func.inst(inst).guard.is_none() || func.form == Form::Ssa || !func.elses(inst).is_empty()
}

/// Pairs of value and predecessor of a phi.
fn incoming(func: &Function, phi: Inst) -> impl Iterator<Item = (Operand, Block)> + '_ {
    func.srcs(phi).chunks_exact(2).filter_map(|pair| Some((pair[0], pair[1].block()?)))
}
