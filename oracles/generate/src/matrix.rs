//! Matrix instructions: all lanes of a warp come to them, and each gives addresses within its own memory.

use oriole_ir::ops::{FieldValues, Opcode, Shape, Space};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::Region;

/// Bytes of a row that `ldmatrix` and `stmatrix` move.
const ROW: u32 = 16;

impl Builder<'_, '_> {
    /// A matrix instruction, where the whole warp comes.
    pub(super) fn matrix(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let Some(sources) = self.matrix_sources(opcode, &fields) else { return };
        let mut inst = InstBuilder::new(opcode).fields(fields).srcs(sources);
        let row = opcode.row();
        let mut taken: Vec<Reg> = Vec::new();
        for shape in row.dsts {
            let info = row.shape_type(&fields, *shape).map_or(RegInfo::words(1), RegInfo::of);
            let count = row.registers(&fields, *shape);
            let dead = self.dead_result(count);
            for at in 0..count {
                let reg = match dead {
                    Some(dead) if dead == at => self.func.new_reg(info),
                    _ => self.separate_destination(info, false, &taken),
                };
                taken.push(reg);
                inst = inst.dst(reg);
            }
        }
        self.push(&inst);
    }

    /// Sources by the row's shapes; nothing where an address is needed and there is no shared memory.
    fn matrix_sources(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Vec<Operand>> {
        let row = opcode.row();
        let mut sources = Vec::new();
        for shape in row.srcs {
            match shape {
                Shape::Base => {
                    let (base, offset) = self.row_address(row.value(fields).unwrap_or(Space::Generic))?;
                    sources.extend([base, offset]);
                }
                Shape::Offset => {}
                shape => {
                    let ty = row.shape_type(fields, *shape)?;
                    sources.extend((0..row.registers(fields, *shape)).map(|_| self.value(ty)));
                }
            }
        }
        Some(sources)
    }

    /// The address of a row in the thread's part of shared memory.
    fn row_address(&mut self, space: Space) -> Option<(Operand, Operand)> {
        let region = self.regions.iter().copied().find(|region| region.space == Space::Shared && region.writable)?;
        let base = match (space, region.generic) {
            (Space::Generic, Some(generic)) => Operand::Reg(generic),
            _ => region.base,
        };
        Some(self.address(Region { base, ..region }, ROW))
    }
}
