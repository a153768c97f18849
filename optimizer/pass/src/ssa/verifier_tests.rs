//! The verifier on random functions, before and after SSA construction.

use oriole_ir::verify::verify_function;
use oriole_ir::{Block, Function, Inst, Module, Operand, Reg};
use proptest::prelude::*;

use super::{construct, destruct};
use crate::analysis::testing::{ladder, random_function};

#[test]
fn large_functions_are_quick() {
    let mut func = ladder(100_000);
    assert_eq!(verify_function(&func, None), Ok(()));
    construct(&mut func);
    assert_eq!(verify_function(&func, None), Ok(()));
}

proptest! {
    #[test]
    fn both_forms_are_in_order(words in prop::collection::vec(any::<u32>(), 4..200)) {
        let mut func = random_function(&words);
        prop_assert_eq!(verify_function(&func, None), Ok(()));
        construct(&mut func);
        prop_assert_eq!(verify_function(&func, None), Ok(()));
        destruct(&mut func);
        prop_assert_eq!(verify_function(&func, None), Ok(()));
    }

    /// Whatever an edit does to entities, counts and fields, the verifier answers.
    #[test]
    fn broken_functions_get_answers(
        words in prop::collection::vec(any::<u32>(), 20..80),
        edits in prop::collection::vec(any::<[u32; 3]>(), 1..4),
    ) {
        let mut func = random_function(&words);
        construct(&mut func);
        for [place, kind, value] in edits {
            scramble(&mut func, place as usize, kind, value);
        }
        let result = verify_function(&func, Some(&Module::default()));
        for violation in result.err().into_iter().flatten() {
            prop_assert!(!violation.to_string().is_empty());
        }
    }
}

fn scramble(func: &mut Function, place: usize, kind: u32, value: u32) {
    let blocks: Vec<Block> = func.layout().iter().copied().filter(|b| func.blocks().is_valid(*b)).collect();
    let insts: Vec<Inst> = blocks.iter().flat_map(|b| func.block_insts(*b)).collect();
    let inst = insts[place % insts.len()];
    let valid = func.insts().is_valid(inst);
    let operands = [
        Operand::Reg(Reg::from_u32(value)),
        Operand::Block(Block::from_u32(value % 12)),
        Operand::imm(value),
        Operand::Word(Reg::from_u32(value % 20), value as u8),
        Operand::Func(oriole_ir::FuncId::from_u32(0)),
    ];
    let operand = operands[value as usize % operands.len()];
    match kind % 9 {
        0 if valid => func.srcs_mut(inst).iter_mut().for_each(|src| *src = operand),
        1 if valid => func.dsts_mut(inst).iter_mut().for_each(|dst| *dst = operand),
        2 if valid => func.raw().insts[inst].fields.0[place % 12] = value as u8,
        3 if valid => {
            func.raw().insts[inst].opcode = oriole_ir::ops::ROWS[value as usize % oriole_ir::ops::ROWS.len()].opcode
        }
        4 => func.append_block(Block::from_u32(value % 12)),
        5 => func.raw().regs.values_mut().for_each(|info| info.words = value as u8 % 6),
        6 if valid => func.raw().set_prev(inst, Some(Inst::from_u32(value % 100))),
        7 if valid => func.raw().set_block(inst, Some(Block::from_u32(value % 12))),
        _ if valid => func.raw().set_next(inst, Some(Inst::from_u32(value % 100))),
        _ => {}
    }
}
