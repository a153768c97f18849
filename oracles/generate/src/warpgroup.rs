//! Products of warpgroups, where all threads of the block come: factors in the shared memory of the block, between
//! barriers, then the group of the product and the wait for it.
//!
//! Only code for Hopper alone has them, so a kernel with a product has nothing that came later.

use oriole_ir::ops::{
    Compare, FieldValues, Flags, GroupShape, LeftElement, Matrix, Opcode, Shape, Space, SpecialReg, TransposeLeft,
    TransposeRight, Type,
};
use oriole_ir::sm::Target;
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::insts::Family;
use super::memory::{REGION, Region};

/// Threads of a warpgroup.
pub(super) const THREADS: u32 = 128;
/// Rows of the first factor.
const ROWS: u32 = 64;
/// Most products have few columns, whose registers are few.
const NARROW: [GroupShape; 4] = [GroupShape::N8, GroupShape::N8, GroupShape::N16, GroupShape::N24];

impl Builder<'_, '_> {
    /// A product, or two of which the second adds to the first. An opcode that is about groups is beside them.
    pub(super) fn warpgroup(&mut self, opcode: Opcode) {
        let Some(hopper) = Target::all_specific().next() else { return };
        let is_product = |opcode: &Opcode| opcode.is(Flags::WARPGROUP.or(Flags::ASYNC));
        let products: Vec<Opcode> = Family::Warpgroup.opcodes().iter().copied().filter(is_product).collect();
        let opcode = if is_product(&opcode) { opcode } else { self.entropy.choose(&products) };
        let insts = self.func.layout_insts().map(|inst| self.func.inst(inst));
        let fits = |data: &oriole_ir::InstData| data.opcode.row().missing_on(hopper, &data.fields).is_none();
        if !self.threads.is_multiple_of(THREADS) || self.is_late || !insts.into_iter().all(fits) {
            return;
        }
        let Some(fields) = self.group_fields(opcode) else { return };
        let Some(base) = self.block_memory() else { return };
        self.only = Some(hopper);
        let barrier = InstBuilder::new(Opcode::BarSync).src(Operand::imm(0)).src(Operand::imm(0));
        self.fence_for_async();
        self.push(&barrier);
        let row = opcode.row();
        let sum = Shape::Matrix(Matrix::Sum);
        let ty = row.shape_type(&fields, sum).unwrap_or(Type::B32);
        let mut added: Vec<Operand> = (0..row.registers(&fields, sum)).map(|_| self.value(ty)).collect();
        let rounds = 1 + u32::from(self.entropy.percent(30));
        let mut taken: Vec<Reg> = Vec::new();
        self.push(&InstBuilder::new(Opcode::WgmmaFence));
        for round in 0..rounds {
            let sources = self.group_sources(opcode, &fields, base, &added);
            let mut inst = InstBuilder::new(opcode).fields(fields).srcs(sources);
            let mut sums = Vec::with_capacity(added.len());
            for _ in 0..added.len() {
                let reg = match round + 1 < rounds {
                    true => self.func.new_reg(RegInfo::words(1)),
                    false => self.separate_destination(RegInfo::words(1), false, &taken),
                };
                taken.push(reg);
                sums.push(Operand::Reg(reg));
                inst = inst.dst(reg);
            }
            self.push(&inst);
            added = sums;
        }
        // A copy of a result may be made before it is there.
        if self.entropy.percent(20) {
            let to = self.separate_destination(RegInfo::words(1), false, &taken);
            self.push(&Self::typed(Opcode::Mov, Type::B32).src(added[0]).dst(to));
        }
        self.push(&InstBuilder::new(Opcode::WgmmaCommit));
        self.unsettled(|builder| builder.await_product(added[0]));
        self.push(&barrier);
    }

    /// Waits for a product: here, on both sides of a branch, or in a loop. Where it does so elsewhere, what is computed
    /// of a result behind the wait is the same on both sides, or in each round.
    fn await_product(&mut self, result: Operand) {
        let wait = InstBuilder::new(Opcode::WgmmaWait).src(Operand::imm(0));
        let word = RegInfo::words(1);
        let of_result = Self::typed(Opcode::IMadLo, Type::U32).src(result).src(Operand::imm(3)).src(Operand::imm(1));
        let places = if self.uniforms.is_empty() { 1 } else { 8 };
        match self.entropy.below(places) {
            6 => {
                let on = self.condition(true);
                let [yes, no, join] = self.blocks();
                self.branch(on, [yes, no], yes);
                for next in [no, join] {
                    self.push(&wait);
                    let value = self.hidden(of_result.clone(), word);
                    self.fold(value);
                    self.jump(join, next);
                }
            }
            7 => {
                let counter = self.hidden(Self::typed(Opcode::Mov, Type::B32).src(Operand::imm(0)), word);
                let [head, exit] = self.blocks();
                self.jump(head, head);
                self.push(&wait);
                let value = self.hidden(of_result, word);
                self.fold(value);
                self.count(counter, 1);
                let more = self.below(counter, Operand::imm(2));
                self.branch(more.into(), [head, exit], exit);
            }
            _ => self.push(&wait),
        }
    }

    fn group_fields(&mut self, opcode: Opcode) -> Option<FieldValues> {
        let narrow = self.entropy.percent(80) && self.pin.is_none_or(|(pinned, ..)| pinned != opcode);
        let shape = self.entropy.choose(&NARROW);
        if narrow { self.fields(opcode, &[fixed(shape)]) } else { self.fields(opcode, &[]) }
    }

    fn group_sources(&mut self, opcode: Opcode, fields: &FieldValues, base: Reg, added: &[Operand]) -> Vec<Operand> {
        let row = opcode.row();
        let [_, columns, inner] = row.extents(fields).map(|extent| extent as u32);
        let bits = row.value(fields).map_or(16, LeftElement::bits);
        let mut factors = vec![(columns, inner, row.value(fields) == Some(TransposeRight::Transpose))];
        if row.srcs.iter().filter(|shape| **shape == Shape::D).count() == 2 {
            let held = inner / if row.selectors(fields).is_some() { 2 } else { 1 };
            factors.push((ROWS, held, row.value(fields) == Some(TransposeLeft::Transpose)));
        }
        let mut sources = added.to_vec();
        for shape in &row.srcs[1..] {
            match *shape {
                Shape::D => {
                    let Some((lines, inner, transposed)) = factors.pop() else { continue };
                    sources.push(self.descriptor(base, lines, inner * bits / 8, transposed));
                }
                Shape::P => sources.push(self.uniform_predicate()),
                Shape::Imm => {
                    let count = row.selectors(fields).unwrap_or(1) as usize;
                    sources.push(Operand::imm(self.entropy.below(count) as u32));
                }
                Shape::Matrix(Matrix::Metadata) => sources.push(self.metadata(bits == 32)),
                shape => sources.extend((0..row.registers(fields, shape)).map(|_| self.value(Type::B32))),
            }
        }
        sources
    }

    /// The first byte of the block's shared memory.
    fn block_memory(&mut self) -> Option<Reg> {
        let own = |region: &&Region| region.space == Space::Shared && region.writable;
        let own = self.regions.iter().find(own)?.base;
        let thread = Self::typed(Opcode::S2r, Type::B32).src(Operand::Special(SpecialReg::TidX));
        let thread = self.hidden(thread, RegInfo::words(1));
        let back = Operand::imm(REGION.wrapping_neg());
        let base = Self::typed(Opcode::IMadWide, Type::S32).src(thread).src(back).src(own);
        Some(self.hidden(base, RegInfo::words(2)))
    }

    /// A descriptor of a matrix that fits in the memory, of so many lines and bytes of the inner extent.
    fn descriptor(&mut self, base: Reg, lines: u32, bytes: u32, transposed: bool) -> Operand {
        let swizzle = self.entropy.below(4) as u64;
        let width: u32 = [16, 128, 64, 32][swizzle as usize];
        let most = |extent: u32, within: u32| extent.div_ceil(within).max(1) - 1;
        // How often each offset is taken at most.
        let (leading, stride) = match (transposed, width) {
            (false, _) => (most(bytes, width), most(lines, 8)),
            (true, 16) => (most(bytes / 2, 8), most(lines, 8)),
            (true, _) => (most(2 * lines, width), most(bytes / 2, 8)),
        };
        let mut room = REGION * self.threads - 8 * width;
        let mut offset = |times: u32| {
            let pieces = self.entropy.below((room / 16 / times.max(1)) as usize + 1) as u32;
            let pieces = if self.entropy.percent(20) { 0 } else { pieces.min(128) };
            room -= 16 * pieces * times;
            u64::from(pieces)
        };
        let (leading, stride) = (offset(leading), offset(stride));
        // What a swizzle exchanges stays within 128 bytes.
        let first = u64::from(room / 128 * self.entropy.below(2) as u32 * 8);
        let fixed = first + (leading << 16) + (stride << 32) + (swizzle << 62);
        // An address has bits above those of a descriptor where blocks are in clusters.
        let own = Self::typed(Opcode::And, Type::B64).src(base).src(Operand::imm(0x3_FFFF));
        let own = self.hidden(own, RegInfo::words(2));
        let piece = Self::typed(Opcode::Shr, Type::U64).src(own).src(Operand::imm(4));
        let piece = self.hidden(piece, RegInfo::words(2));
        let fixed = self.func.imm(fixed);
        let whole = Self::typed(Opcode::IAdd, Type::U64).src(piece).src(fixed);
        self.hidden(whole, RegInfo::words(2)).into()
    }

    /// A predicate that is the same in all threads.
    fn uniform_predicate(&mut self) -> Operand {
        if self.uniforms.is_empty() || self.entropy.percent(50) {
            return Operand::imm(u32::from(self.entropy.percent(70)));
        }
        let uniforms = self.uniforms.clone();
        let (value, _) = self.entropy.choose(&uniforms);
        self.compare(Compare::Ne, value.into(), 0).into()
    }
}
