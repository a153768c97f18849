//! Scratch regions: memory that the addresses of a kernel point into, one for each thread and space.

use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo, Variable};

use super::builder::Builder;
use super::effect::SCRATCH;

impl Builder<'_, '_> {
    /// A thread's own address, so many bytes from its neighbour's.
    pub(super) fn own(&mut self, thread: Reg, bytes: u64, base: Reg) -> Reg {
        let at = InstBuilder::new(Opcode::IMadWide).field(Type::U32).src(thread).src(bytes).src(base);
        self.value(at, RegInfo::words(2))
    }

    /// The thread's scratch region in a space, with what the buffer holds.
    pub(super) fn scratch_region(&mut self, space: Space) {
        let (Some(memory), None) = (self.memory, self.scratch.iter().find(|(known, _)| *known == space)) else {
            return;
        };
        let variable = |space, bytes| Variable { align: 16, ..Variable::new("scratch", space, Type::B8, Some(bytes)) };
        let address = match space {
            Space::Shared => {
                let area = variable(space, SCRATCH * u64::from(self.threads));
                Operand::Global(self.module.globals.push(area))
            }
            Space::Local | Space::Param => Operand::Local(self.func.locals.push(variable(space, SCRATCH))),
            _ => {
                self.scratch.push((space, self.multicast.unwrap_or(memory)));
                return;
            }
        };
        let address = InstBuilder::new(Opcode::Mov).field(Type::B64).src(address);
        let mut address = self.value(address, RegInfo::words(2));
        if let (Space::Shared, Some(thread)) = (space, self.thread) {
            address = self.own(thread, SCRATCH, address);
        }
        self.scratch.push((space, address));
        self.copy((Space::Global, memory), (space, address));
    }

    /// Copies a region of memory.
    pub(super) fn copy(&mut self, from: (Space, Reg), to: (Space, Reg)) {
        for at in (0..SCRATCH).step_by(8) {
            let load = InstBuilder::new(Opcode::Ld).field(Type::B64).field(from.0).src(from.1).src(at);
            let value = self.value(load, RegInfo::words(2));
            let store = InstBuilder::new(Opcode::St).field(Type::B64).field(to.0).src(to.1).src(at);
            store.src(value).append(&mut self.func, self.block);
        }
    }

    /// The address that a distance within a region is, where the variable is one.
    pub(super) fn pointing(&mut self, number: usize, distance: Reg) -> Reg {
        let Some(pointer) = self.pointers.iter().find(|pointer| pointer.variable == number) else { return distance };
        let Some((_, region)) = self.scratch.iter().find(|(space, _)| *space == pointer.space) else {
            return distance;
        };
        let info = self.func.regs()[distance];
        let (ty, region) = match info.words {
            1 => (Type::U32, Operand::Word(*region, 0)),
            _ => (Type::U64, Operand::Reg(*region)),
        };
        self.value(InstBuilder::new(Opcode::IAdd).field(ty).src(distance).src(region), info)
    }
}
