//! Matrix instructions: all lanes of a warp come to them. Of single rows each lane gives the address of one in its own
//! memory; a whole matrix lies in the memory of all lanes, between barriers of the warp.

use oriole_ir::ops::{
    FieldValues, LeftElement, Matrix, MatrixShape, Opcode, RightElement, Shape, Space, SpecialReg, Type,
};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::Builder;
use super::memory::{REGION, Region};
use super::sync::ALL_LANES;

/// Bytes of a row that `ldmatrix` and `stmatrix` move.
const ROW: u32 = 16;

impl Builder<'_, '_> {
    /// A matrix instruction, where the whole warp comes.
    pub(super) fn matrix(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let whole = opcode.row().default_stride(&fields).is_some();
        let sources = if whole { self.whole_sources(opcode, &fields) } else { self.matrix_sources(opcode, &fields) };
        let Some(sources) = sources else { return };
        let barrier = InstBuilder::new(Opcode::BarWarpSync).src(ALL_LANES);
        if whole {
            self.push(&barrier);
        }
        let beside = (opcode == Opcode::StMatrix).then(|| self.beside_row(&fields, &sources)).flatten();
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
        if whole {
            self.push(&barrier);
        }
        if let Some(load) = beside {
            let again = self.destination(RegInfo::words(1), false);
            self.push(&load.dst(again));
        }
    }

    /// A load of a word of a row, made here and to be made again: other lanes' values come to the whole row, not only
    /// to the bytes that the address says.
    fn beside_row(&mut self, fields: &FieldValues, sources: &[Operand]) -> Option<InstBuilder> {
        let offset = self.func.imm_bits(*sources.get(1)?).filter(|_| self.entropy.percent(40))?;
        let space = Opcode::StMatrix.row().value(fields).unwrap_or(Space::Generic);
        let at = offset + u64::from(4 * self.entropy.between(0, ROW / 4 - 1));
        let load = Self::typed(Opcode::Ld, Type::B32).field(space).src(sources[0]).src(at);
        let before = self.destination(RegInfo::words(1), false);
        self.push(&load.clone().dst(before));
        Some(load)
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
                Shape::Imm => {
                    let count = row.selectors(fields).unwrap_or(1) as usize;
                    sources.push(Operand::imm(self.entropy.below(count) as u32));
                }
                Shape::Matrix(Matrix::Metadata) => {
                    let wide = row.value(fields) == Some(LeftElement::Tf32);
                    sources.push(self.metadata(wide));
                }
                shape => {
                    let ty = row.shape_type(fields, *shape)?;
                    let near = *shape == Shape::Matrix(Matrix::Addend) && ty == Type::S32;
                    let near = near && self.entropy.percent(self.config.operand.boundary);
                    let values = 0..row.registers(fields, *shape);
                    sources.extend(values.map(|_| if near { self.near_limit() } else { self.value(ty) }));
                }
            }
        }
        Some(sources)
    }

    /// An integer that a product of small elements takes beyond the least or greatest one, half of the time.
    fn near_limit(&mut self) -> Operand {
        let distance = self.entropy.below(64) as u32;
        let [greatest, least] = [0x7FFF_FFFF - distance, 0x8000_0000 + distance];
        Operand::imm(if self.entropy.percent(50) { greatest } else { least })
    }

    /// Metadata of a sparse matrix, others in odd lanes than in even ones: each four bits name two places of four in
    /// rising order, and of wide elements the lower or the upper two.
    pub(super) fn metadata(&mut self, wide: bool) -> Operand {
        const PLACES: [u32; 6] = [0b0100, 0b1110, 0b1000, 0b1100, 0b1001, 0b1101];
        let places = if wide { &PLACES[..2] } else { &PLACES };
        let mut word = || (0..8).fold(0, |word, _| word << 4 | self.entropy.choose(places));
        let words = [word(), word()];
        let lane = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::LaneId));
        let lane = self.hidden(lane, RegInfo::words(1));
        let odd = Self::typed(Opcode::And, Type::B32).src(lane).src(Operand::imm(1));
        let odd = self.hidden(odd, RegInfo::words(1));
        let other = Self::typed(Opcode::IMulLo, Type::U32).src(odd).src(Operand::imm(words[0] ^ words[1]));
        let other = self.hidden(other, RegInfo::words(1));
        let chosen = Self::typed(Opcode::Xor, Type::B32).src(other).src(Operand::imm(words[0]));
        self.hidden(chosen, RegInfo::words(1)).into()
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

    /// Address, values and stride of a whole matrix, which lies in the memory of the warp's threads.
    fn whole_sources(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Vec<Operand>> {
        let row = opcode.row();
        let mut sources = self.warp_address(row.value(fields).unwrap_or(Space::Generic))?.to_vec();
        for shape in row.srcs.iter().filter(|shape| matches!(shape, Shape::Matrix(_))) {
            let ty = row.shape_type(fields, *shape)?;
            sources.extend((0..row.registers(fields, *shape)).map(|_| self.value(ty)));
        }
        sources.push(self.stride(opcode, fields)?);
        Some(sources)
    }

    /// The first byte of the memory of a warp's threads, each of which has a part beside the next one's.
    fn warp_address(&mut self, space: Space) -> Option<[Operand; 2]> {
        let shared = |region: &Region| matches!(region.space, Space::Global | Space::Shared) && region.writable;
        let fits = |region: &Region| match space {
            Space::Generic => region.generic.is_some(),
            space => region.space == space,
        };
        let regions: Vec<Region> = self.regions.iter().copied().filter(|r| shared(r) && fits(r)).collect();
        if regions.is_empty() {
            return None;
        }
        let region = self.entropy.choose(&regions);
        let base = match (space, region.generic) {
            (Space::Generic, Some(generic)) => Operand::Reg(generic),
            _ => region.base,
        };
        let lane = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::LaneId));
        let lane = self.hidden(lane, RegInfo::words(1));
        let back = Operand::imm(REGION.wrapping_neg());
        let first = Self::typed(Opcode::IMadWide, Type::S32).src(lane).src(back).src(base);
        Some([Operand::Reg(self.hidden(first, RegInfo::words(2))), Operand::imm(0)])
    }

    /// Elements between the rows or columns of a matrix: as many as these have, or some more.
    fn stride(&mut self, opcode: Opcode, fields: &FieldValues) -> Option<Operand> {
        /// Every stride in bytes is a multiple of it, or the least one.
        const STEP: u32 = 16;
        let row = opcode.row();
        let least = row.default_stride(fields)?;
        let bits = element_bits(opcode, fields);
        let total = matrix_elements(opcode, fields);
        let (lines, bytes) = (total / least, least * bits / 8);
        let room = (32 * REGION / lines - bytes) / STEP;
        let more = if self.entropy.percent(50) { self.entropy.below(room as usize + 1) as u32 } else { 0 };
        let stride = Operand::imm(least + more * STEP * 8 / bits);
        let known = self.entropy.percent(70);
        let copy = Self::typed(Opcode::Mov, Type::B32).src(stride);
        Some(if known { stride } else { self.hidden(copy, RegInfo::words(1)).into() })
    }
}

/// Bits of an element of the matrix that is loaded or stored.
fn element_bits(opcode: Opcode, fields: &FieldValues) -> u32 {
    let row = opcode.row();
    let right = row.value::<RightElement>(fields).map(LeftElement::from);
    let factor = row.value(fields).or(right).map(LeftElement::bits);
    factor.or(row.value(fields).map(Type::bits)).unwrap_or(32)
}

/// How many elements it has.
fn matrix_elements(opcode: Opcode, fields: &FieldValues) -> u32 {
    let row = opcode.row();
    let [m, n, k] = row.value(fields).map_or([8, 8, 0], MatrixShape::extents);
    let count = match row.dsts.first() {
        Some(Shape::Matrix(Matrix::Left)) => m * k,
        Some(Shape::Matrix(Matrix::Right)) => k * n,
        _ => m * n,
    };
    count as u32
}
