//! The function in physical form, once its registers have places.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Flags;
use oriole_ir::{Function, Inst, InstHead, Level, Operand, PhysicalReg, Reg};

use crate::sequences;

/// The function with places for registers, and which instruction each one was. Copies of a register to itself go.
pub(super) fn physical(
    func: &Function,
    place: &SecondaryMap<Reg, Option<u16>>,
) -> (Function, SecondaryMap<Inst, Option<Inst>>) {
    let mut origins: SecondaryMap<Inst, Option<Inst>> = SecondaryMap::new();
    let mut made = Function::new(func.name.as_str(), func.kind);
    (made.linkage, made.level) = (func.linkage, Level::Machine);
    made.directives.clone_from(&func.directives);
    made.use_physical_registers();
    for _ in 0..func.blocks().len() {
        made.create_block();
    }
    made.set_layout(func.layout().to_vec());
    let named = |reg: Reg, word: Option<u8>| {
        let info = func.regs()[reg];
        let at = place[reg].unwrap_or(0) + u16::from(word.unwrap_or(0));
        let words = if word.is_some() { 1 } else { info.words };
        PhysicalReg { file: info.file, number: at as u8, words }.reg().expect("places are those of the file")
    };
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            let data = func.inst(inst);
            let mut map = |operand: &Operand| match *operand {
                Operand::Reg(reg) => Operand::Reg(named(reg, None)),
                Operand::Word(reg, word) => Operand::Reg(named(reg, Some(word))),
                Operand::Modified { reg, word, modifiers } => {
                    Operand::Modified { reg: named(reg, word), word: None, modifiers }
                }
                Operand::Name(_) => made.adopt(func, *operand),
                other => made.bind(func.free(other)),
            };
            let (results, sources) = sequences::of_word(func, inst);
            let dsts: Vec<Operand> = results.iter().map(&mut map).collect();
            let srcs: Vec<Operand> = sources.iter().map(&mut map).collect();
            let is_copy = data.is(Flags::MACHINE) && data.machine_row().is_some_and(|row| row.copies);
            if is_copy && dsts.first() == srcs.first() {
                continue;
            }
            let guard = data.guard.map(|guard| guard.with_reg(named(guard.reg(), None)));
            let head = InstHead { guard, ..data.head() };
            let new = made.new_inst(head, &dsts, &srcs, &[]);
            made.append_inst(*block, new);
            origins[new] = Some(inst);
        }
    }
    (made, origins)
}
