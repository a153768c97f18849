//! Registers with the same value, and instructions in the place of which the value of another one stands.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::edit::values::become_copies;
use oriole_pass::pass::knobs::Gate;
use oriole_pass::pass::{Knob, PhaseContext};

/// By register: the one that stands for all of its value. It is defined first, and stands for itself.
#[derive(Default)]
pub(super) struct Representatives(SecondaryMap<Reg, PackedOption<Reg>>);

impl Representatives {
    /// The register that stands for another one's value.
    pub(super) fn of(&self, reg: Reg) -> Reg {
        self.0[reg].expand().unwrap_or(reg)
    }

    /// Says that a register has the value of another one.
    pub(super) fn join(&mut self, reg: Reg, value: Reg) {
        self.0[reg] = self.of(value).into();
    }

    /// Notes a copy of a register of the same file and width.
    pub(super) fn follow(&mut self, func: &Function, inst: Inst) {
        if let Some((copy, source)) = copied(func, inst) {
            self.join(copy, source);
        }
    }
}

/// The register that an instruction always copies another one of the same file and width to, and that one.
pub(super) fn copied(func: &Function, inst: Inst) -> Option<(Reg, Reg)> {
    let data = func.inst(inst);
    let ([Operand::Reg(copy)], [Operand::Reg(source)]) = (func.dsts(inst), func.srcs(inst)) else { return None };
    let plain = data.opcode == Opcode::Mov && data.guard.is_none();
    (plain && func.regs()[*copy] == func.regs()[*source]).then_some((*copy, *source))
}

/// The register that an instruction always copies the address of a variable to.
pub(super) fn copied_address(func: &Function, inst: Inst) -> Option<Reg> {
    let data = func.inst(inst);
    let ([Operand::Reg(copy)], [Operand::Global(_) | Operand::Local(_)]) = (func.dsts(inst), func.srcs(inst)) else {
        return None;
    };
    (data.opcode == Opcode::Mov && data.guard.is_none()).then_some(*copy)
}

/// Makes each result of an instruction a copy of a register. What stood for a phi follows the phis of its block,
/// of which `behind` is the first instruction that is none.
pub(super) fn replace(func: &mut Function, inst: Inst, behind: Inst, values: &[Reg]) {
    if func.inst(inst).opcode != Opcode::Phi {
        let values: Vec<Operand> = values.iter().map(|reg| Operand::Reg(*reg)).collect();
        become_copies(func, inst, None, &values, &[]);
        return;
    }
    let (line, dst) = (func.inst(inst).line, func.defs(inst).next().expect("a phi defines a register"));
    let ty = func.regs()[dst].mov_type().expect("what is commoned can be copied");
    func.remove_inst(inst);
    InstBuilder::new(Opcode::Mov).field(ty).line(line).dst(dst).src(values[0]).insert_before(func, behind);
}

/// The first instruction of a block that is no phi.
pub(super) fn behind_phis(func: &Function, block: Block) -> Inst {
    let mut insts = func.block_insts(block);
    insts.find(|inst| func.inst(*inst).opcode != Opcode::Phi).expect("a block ends with a terminator")
}

/// The instructions that a gate closes, by their places when the phase begins.
pub(super) fn closed(func: &Function, cx: &PhaseContext<'_>, gate: Knob) -> EntitySet<Inst> {
    let gate = cx.knobs.instruction_gate(gate);
    let mut closed = EntitySet::new();
    if gate != Gate::All {
        let places = (0u32..).zip(func.layout_insts());
        closed.extend(places.filter(|(place, _)| !gate.allows(*place)).map(|(_, inst)| inst));
    }
    closed
}
