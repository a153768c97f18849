//! Straight code: instructions of every family, chosen by row.

use std::sync::LazyLock;

use oriole_ir::ops::{Compare, FieldValue, FieldValues, Flags, OpRow, Opcode, ROWS, Shape, SpecialReg, Type};
use oriole_ir::{Guard, InstBuilder, Operand, Reg, RegInfo};

use super::builder::{Builder, fixed};
use super::config::TableLevel;
use super::sync::ALL_LANES;

/// How instructions of an opcode are made. Follows from the row alone, so a new row is generated the day it lands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Results from operands.
    Plain,
    /// Reads a special register.
    Special,
    /// Has an address.
    Memory,
    /// Waits for threads of the block.
    Barrier,
    /// Lanes of a warp together.
    Collective,
    /// All lanes of a warp together, on matrices.
    Matrix,
    /// Four warps together, on matrices.
    Warpgroup,
    /// A barrier in shared memory.
    Mbarrier,
    /// A texture or a surface.
    Image,
    /// Nothing but an effect.
    Effect,
    /// Flow of control; made by the shapes of flow, not in straight code.
    Control,
}

impl Family {
    /// Families that are not made for compilers of some architectures: those whose machine code is not executed, and
    /// those that one architecture alone has.
    pub fn not_compiled<'a>(mut archs: impl Iterator<Item = &'a str>) -> Vec<Family> {
        let elsewhere = archs.all(|arch| arch != "sm_90a");
        [Family::Image].into_iter().chain(elsewhere.then_some(Family::Warpgroup)).collect()
    }

    /// The family of a row.
    pub fn of(row: &OpRow) -> Family {
        let takes = |shapes: &[Shape]| row.srcs.iter().any(|shape| shapes.contains(shape));
        if row.flags.has(Flags::TERMINATOR)
            || takes(&[Shape::Incoming, Shape::Callee, Shape::Taken, Shape::Template])
            || row.opcode == Opcode::Trap
        {
            Family::Control
        } else if row.flags.has(Flags::WARPGROUP) {
            Family::Warpgroup
        } else if row.flags.has(Flags::MATRIX) {
            Family::Matrix
        } else if row.flags.has(Flags::MBARRIER) {
            Family::Mbarrier
        } else if row.flags.has(Flags::IMAGE) || row.opcode == Opcode::IsTypeP {
            Family::Image
        } else if takes(&[Shape::Special]) {
            Family::Special
        } else if takes(&[Shape::Base]) {
            Family::Memory
        } else if row.flags.has(Flags::CONVERGENT.or(Flags::FENCE)) {
            Family::Barrier
        } else if row.flags.has(Flags::CONVERGENT) {
            Family::Collective
        } else if row.flags.has(Flags::PURE) {
            Family::Plain
        } else {
            Family::Effect
        }
    }

    /// The opcodes of the family that whole kernels are made of: those of the virtual level, but for splits, which only
    /// a phase makes.
    pub fn opcodes(self) -> &'static [Opcode] {
        static BY_FAMILY: LazyLock<[Vec<Opcode>; 11]> = LazyLock::new(|| {
            let mut families: [Vec<Opcode>; 11] = Default::default();
            ROWS.iter()
                .filter(|row| TableLevel::Virtual.has(row) && row.opcode != Opcode::Split)
                .for_each(|row| families[Family::of(row) as usize].push(row.opcode));
            families
        });
        &BY_FAMILY[self as usize]
    }
}

/// Operations of which programs have most, and of which most is said in phases: each of the others comes up as often as
/// any other one.
const COMMON: [Opcode; 24] = [
    Opcode::Mov,
    Opcode::Pack,
    Opcode::Bfe,
    Opcode::SelP,
    Opcode::SetP,
    Opcode::Cvt,
    Opcode::IAdd,
    Opcode::ISub,
    Opcode::INeg,
    Opcode::IMulLo,
    Opcode::IMulWide,
    Opcode::IMadLo,
    Opcode::IMadWide,
    Opcode::IMin,
    Opcode::IMax,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Not,
    Opcode::Shl,
    Opcode::Shr,
    Opcode::Prmt,
    Opcode::Lop3,
    Opcode::FAdd,
];

/// The same of matrices: there are many products, of which phases say nothing.
const MOVES: [Opcode; 2] = [Opcode::LdMatrix, Opcode::StMatrix];

impl Builder<'_, '_> {
    /// A stretch of straight code.
    pub(super) fn stretch(&mut self) {
        let [low, high] = self.config.stretch;
        for _ in 0..self.entropy.between(low, high) {
            if !self.is_done() {
                self.instruction();
            }
        }
    }

    /// An access to memory or to an image.
    pub(super) fn memory(&mut self) {
        let is_image = self.entropy.percent(self.config.operand.image);
        self.one_of(if is_image { Family::Image } else { Family::Memory });
    }

    /// Something that all lanes of a warp do together.
    pub(super) fn together(&mut self) {
        if !self.entropy.percent(self.config.operand.matrix) {
            return self.one_of(Family::Collective);
        }
        let whole = self.threads.is_multiple_of(super::warpgroup::THREADS);
        self.one_of(if whole { Family::Warpgroup } else { Family::Matrix });
    }

    /// A fence, a hint, or something about a barrier in shared memory.
    pub(super) fn some_effect(&mut self) {
        let is_barrier = self.entropy.percent(self.config.operand.mbarrier);
        self.one_of(if is_barrier { Family::Mbarrier } else { Family::Effect });
    }

    /// An instruction of a family.
    pub(super) fn one_of(&mut self, family: Family) {
        if let Some(opcode) = self.opcode_of(family) {
            self.instruction_of(opcode);
        }
    }

    /// An opcode of a family; none where it is not to be made.
    pub(super) fn opcode_of(&mut self, family: Family) -> Option<Opcode> {
        let common = self.entropy.percent(self.config.operand.common);
        let opcodes = match family {
            Family::Plain if common => &COMMON[..],
            Family::Matrix if common => &MOVES,
            _ => family.opcodes(),
        };
        Some(self.entropy.choose(opcodes)).filter(|opcode| self.config.makes(*opcode))
    }

    /// An instruction of an opcode that is no control flow, and what it needs; none where the code at hand has no place
    /// for it.
    pub(super) fn instruction_of(&mut self, opcode: Opcode) {
        match Family::of(opcode.row()) {
            Family::Plain => self.plain(opcode),
            Family::Special => self.special(opcode),
            Family::Memory => self.access(opcode),
            Family::Barrier => self.barrier(opcode),
            Family::Collective => self.collective(opcode, ALL_LANES, false),
            Family::Matrix => self.matrix(opcode),
            Family::Warpgroup => self.warpgroup(opcode),
            Family::Mbarrier => self.mbarrier(opcode),
            Family::Image => self.image(opcode),
            Family::Effect => self.effect(opcode),
            Family::Control => {}
        }
    }

    fn plain(&mut self, opcode: Opcode) {
        let row = opcode.row();
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let Some(mut sources) = self.sources(row, &fields) else { return };
        self.specify(opcode, row.value::<Type>(&fields).unwrap_or(Type::B32), &mut sources);
        let compares = row.slot(Compare::FIELD).is_some();
        if compares && self.entropy.percent(self.config.operand.boundary) {
            self.meet_boundary(row, &fields, &mut sources);
        }
        self.operation(opcode, fields, &sources);
    }

    /// Has the second of two operands be the first one in the threads that a predicate chooses.
    fn meet_boundary(&mut self, row: &OpRow, fields: &FieldValues, sources: &mut [Operand]) {
        let types = [0, 1].map(|at| row.srcs.get(at).and_then(|shape| row.shape_type(fields, *shape)));
        let [Some(one), Some(other)] = types.map(|ty| ty.map(RegInfo::of)) else { return };
        let ty = match (one == other, one.words) {
            _ if one.is_predicate() => return,
            (true, 1) => Type::B32,
            (true, 2) => Type::B64,
            _ => return,
        };
        let choice = Operand::Reg(self.register(RegInfo::PRED));
        let chosen = Self::typed(Opcode::SelP, ty).src(sources[0]).src(sources[1]).src(choice);
        sources[1] = self.hidden(chosen, one).into();
    }

    /// Adds an operation on these sources, perhaps under a guard, with destinations of its own choice.
    pub(super) fn operation(&mut self, opcode: Opcode, fields: FieldValues, srcs: &[Operand]) {
        let guard = self.guard();
        self.remember(opcode, fields, srcs, guard);
        self.operation_under(guard, opcode, fields, srcs);
    }

    /// The same under a given guard.
    pub(super) fn operation_under(
        &mut self,
        guard: Option<Guard>,
        opcode: Opcode,
        fields: FieldValues,
        srcs: &[Operand],
    ) {
        let row = opcode.row();
        let mut inst = InstBuilder::new(opcode).fields(fields).srcs(srcs.iter().copied()).guard(guard);
        let mut taken: Vec<Reg> = Vec::new();
        let dead = self.dead_result(row.dsts.len());
        for (at, shape) in row.dsts.iter().enumerate() {
            let info = result_info(row, &fields, *shape, srcs.len());
            if dead == Some(at) {
                inst = inst.dst(self.func.new_reg(info));
                continue;
            }
            let mut reg = self.destination(info, guard.is_some());
            if taken.contains(&reg) {
                // Two results cannot go to one variable.
                reg = self.func.new_reg(info);
                self.define(reg);
            }
            taken.push(reg);
            inst = inst.dst(reg);
        }
        self.push(&inst);
    }

    /// Which of so many results nothing is to read; never the only one.
    pub(super) fn dead_result(&mut self, results: usize) -> Option<usize> {
        let dead = results > 1 && self.entropy.percent(self.config.operand.dead_result);
        dead.then(|| self.entropy.below(results))
    }

    /// Gives a register some value and offers it.
    pub(super) fn define(&mut self, reg: Reg) {
        let info = self.info(reg);
        let ty = match info.words {
            _ if info.is_predicate() => Type::Pred,
            1 => Type::B32,
            2 => Type::B64,
            _ => Type::B128,
        };
        self.push(&Self::typed(Opcode::Mov, ty).src(Operand::imm(0)).dst(reg));
        self.offer(reg);
    }

    /// Registers that do not change are values like others; what a clock shows is never used.
    fn special(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let ty = opcode.row().value::<Type>(&fields).unwrap_or(Type::B32);
        let fits = |reg: &SpecialReg| reg.is_volatile() == (opcode == Opcode::Cs2r) && reg.bits() == ty.bits();
        let fitting: Vec<SpecialReg> = SpecialReg::ALL.iter().copied().filter(fits).collect();
        if fitting.is_empty() {
            return;
        }
        let reg = self.entropy.choose(&fitting);
        let inst = Self::typed(opcode, ty).src(Operand::Special(reg));
        if reg.is_volatile() {
            self.hidden(inst, RegInfo::of(ty));
        } else {
            let to = self.destination(RegInfo::of(ty), false);
            self.push(&inst.dst(to));
        }
    }

    fn effect(&mut self, opcode: Opcode) {
        let Some(fields) = self.fields(opcode, &[]) else { return };
        let Some(mut sources) = self.sources(opcode.row(), &fields) else { return };
        if opcode == Opcode::SetMaxNReg {
            // A multiple of 8 from 24 to 256.
            sources = vec![Operand::imm(8 * self.entropy.between(3, 32))];
        }
        self.push(&InstBuilder::new(opcode).fields(fields).srcs(sources));
    }

    /// A chain of operations on an undefined value whose result nothing uses. The value is nobody's, or that of a
    /// register which other ways to here may have written, or will.
    pub(super) fn undefined(&mut self) {
        let mut value = match (self.entropy.below(3), self.forgotten) {
            (0, Some(reg)) => Operand::Reg(reg),
            (1, _) => {
                let reg = self.func.new_reg(RegInfo::words(1));
                self.awaited = Some((reg, self.block));
                Operand::Reg(reg)
            }
            _ => Operand::Undef,
        };
        for _ in 0..self.entropy.between(1, 2) {
            let Some(opcode) = self.opcode_of(Family::Plain) else { continue };
            let row = opcode.row();
            let Some(fields) = self.fields(opcode, &[fixed(Type::B32)]) else { continue };
            let Some(mut sources) = self.sources(row, &fields) else { continue };
            let [shape] = row.dsts else { continue };
            let at = self.entropy.below(sources.len());
            if matches!(sources[at], Operand::Imm(_))
                || result_info(row, &fields, row.srcs[at.min(row.srcs.len() - 1)], 1) != RegInfo::words(1)
            {
                continue;
            }
            sources[at] = value;
            let count = sources.len();
            let inst = InstBuilder::new(opcode).fields(fields).srcs(sources);
            let info = result_info(row, &fields, *shape, count);
            let reg = self.hidden(inst, info);
            if info == RegInfo::words(1) {
                value = Operand::Reg(reg);
                self.forgotten = Some(reg);
            }
        }
    }
}

/// The register of a result.
pub(super) fn result_info(row: &OpRow, fields: &FieldValues, shape: Shape, sources: usize) -> RegInfo {
    match shape {
        Shape::Packed => {
            let bits = row.value::<Type>(fields).map_or(32, Type::bits) as usize * sources;
            RegInfo::words(bits.div_ceil(32) as u8)
        }
        shape => row.shape_type(fields, shape).map_or(RegInfo::words(1), RegInfo::of),
    }
}
