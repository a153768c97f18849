//! Liveness inside a block: the live registers of one point, moved backward one instruction at a time.

use cranelift_entity::EntityRef;

use super::live_scan::kills;
use super::liveness::Liveness;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg, RegFile};

const NONE: u32 = u32::MAX;

/// The live registers of one point, moved backward through a block one instruction at a time. The memory serves any
/// number of blocks of one function, as long as that gets no new registers.
#[derive(Clone, Debug)]
pub struct LiveWalk {
    live: Vec<Reg>,
    /// By register number: the place in `live`; `NONE` where it is dead.
    place: Vec<u32>,
}

impl LiveWalk {
    /// A walk over blocks of this function, at no block yet.
    pub fn new(func: &Function) -> LiveWalk {
        LiveWalk { live: Vec::new(), place: vec![NONE; func.regs().len()] }
    }

    /// Goes to a block's end.
    pub fn start(&mut self, liveness: &Liveness, block: Block) {
        for reg in self.live.drain(..) {
            self.place[reg.index()] = NONE;
        }
        liveness.live_out(block).iter().for_each(|reg| self.insert(reg));
    }

    /// Whether a register is live here; in physical form, whether a unit is.
    pub fn is_live(&self, reg: Reg) -> bool {
        self.place[reg.index()] != NONE
    }

    /// The registers that are live here, in no particular but a reproducible order.
    pub fn live(&self) -> &[Reg] {
        &self.live
    }

    /// Goes from behind an instruction to before it. A phi only loses its destination: its sources are read elsewhere.
    /// Passing over an instruction without this call treats it as removed.
    pub fn step(&mut self, func: &Function, inst: Inst) {
        if kills(func, inst) {
            func.defs(inst).for_each(|reg| self.remove(reg));
        }
        if func.inst(inst).opcode != Opcode::Phi {
            func.uses(inst).filter(|reg| func.regs()[*reg].file != RegFile::B).for_each(|reg| self.insert(reg));
        }
    }

    fn insert(&mut self, reg: Reg) {
        if !self.is_live(reg) {
            self.place[reg.index()] = self.live.len() as u32;
            self.live.push(reg);
        }
    }

    fn remove(&mut self, reg: Reg) {
        let place = std::mem::replace(&mut self.place[reg.index()], NONE);
        if place != NONE {
            self.live.swap_remove(place as usize);
            if let Some(moved) = self.live.get(place as usize) {
                self.place[moved.index()] = place;
            }
        }
    }
}
