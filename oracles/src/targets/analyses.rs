//! Analyses against their definitions, on raw random graphs.
//!
//! Blocks with any control flow among them, unreachable ones and entries with predecessors included; a few registers of
//! every file that are defined and read over and over, under guards or not. The same function then in SSA form. The kernels
//! of the generator, which are larger and tamer, go the same way in [`super::convergence`].
//!
//! Today the optimizer has a graph, dominators, frontiers and liveness. Post-dominators and divergence are held against
//! their definitions here when it gets them.

use oriole_optimizer::ir::{Block, Function, FunctionKind, Guard, InstBuilder, Operand, Reg, RegFile, RegInfo};
use oriole_optimizer::ops::{Opcode, Space, Type};
use oriole_optimizer::ssa;
use oriole_optimizer::verify::verify_function;

use super::canary;
use crate::facts;
use crate::generate::Entropy;

/// Blocks of a graph at most; beyond a dozen nothing new happens, and definitions are quadratic.
const BLOCKS: usize = 12;

/// A random function: whether it has control flow.
pub fn analyses(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let mut func = random(&mut entropy);
    agree(&func);
    ssa::construct(&mut func);
    if let Err(violations) = verify_function(&func, None) {
        panic!("SSA form is invalid: {}", violations[0]);
    }
    agree(&func);
    func.layout.len() > 1
}

/// Holds the analyses of a function against the definitions.
fn agree(func: &Function) {
    let mut truth = func.clone();
    if canary::planted() {
        // The definitions are asked about a function that reads one register less.
        let reads = |inst| truth.insts[inst].opcode == Opcode::St;
        let mut all = truth.layout.iter().flat_map(|block| truth.blocks[*block].insts.clone());
        if let Some(inst) = all.find(|inst| reads(*inst)) {
            truth.srcs_mut(inst).iter_mut().for_each(|src| *src = Operand::Imm(0));
        }
    }
    if let Err(wrong) = facts::compare(func, &truth) {
        panic!("{wrong}\n{}", oriole_optimizer::ir::function_to_string(func, None));
    }
}

/// Few registers, so that paths meet the same ones again.
struct Regs {
    words: Vec<Reg>,
    uniform: Vec<Reg>,
    predicates: Vec<Reg>,
}

fn random(entropy: &mut Entropy<'_>) -> Function {
    let mut func = Function::new("random", FunctionKind::Device);
    let uniform = RegInfo { file: RegFile::UR, words: 1 };
    let mut regs = |count: usize, info| (0..count).map(|_| func.new_reg(info)).collect();
    let regs =
        Regs { words: regs(4, RegInfo::words(1)), uniform: regs(2, uniform), predicates: regs(3, RegInfo::PRED) };
    let blocks: Vec<Block> = (0..=entropy.below(BLOCKS)).map(|_| func.new_block()).collect();
    for block in &blocks {
        for _ in 0..entropy.below(5) {
            instruction(entropy, &regs).append(&mut func, *block);
        }
        terminator(entropy, &regs, &blocks).append(&mut func, *block);
    }
    func
}

fn instruction(entropy: &mut Entropy<'_>, regs: &Regs) -> InstBuilder {
    let word = |entropy: &mut Entropy<'_>| entropy.choose(&regs.words);
    let inst = match entropy.below(5) {
        0 => {
            let store = InstBuilder::new(Opcode::St).field(Space::Global).field(Type::B32);
            store.src(Operand::Imm(8)).src(Operand::Imm(0)).src(word(entropy))
        }
        1 => InstBuilder::new(Opcode::Mov).field(Type::B32).dst(word(entropy)).src(entropy.choose(&regs.uniform)),
        2 => InstBuilder::new(Opcode::Mov).field(Type::B32).dst(entropy.choose(&regs.uniform)).src(Operand::Imm(1)),
        3 => {
            // Two destinations at once, which may be the instruction's own sources.
            let add = InstBuilder::new(Opcode::IAddCarry).field(Type::U32).dst(word(entropy));
            let add = add.dst(entropy.choose(&regs.predicates)).src(word(entropy)).src(word(entropy));
            add.src(entropy.choose(&regs.predicates))
        }
        _ => {
            let add = InstBuilder::new(Opcode::IAdd).field(Type::U32).dst(word(entropy));
            add.src(word(entropy)).src(word(entropy))
        }
    };
    let guard = entropy.percent(30);
    inst.guard(guard.then(|| Guard { reg: entropy.choose(&regs.predicates), negated: entropy.percent(50) }))
}

fn terminator(entropy: &mut Entropy<'_>, regs: &Regs, blocks: &[Block]) -> InstBuilder {
    let any = |entropy: &mut Entropy<'_>| entropy.choose(blocks);
    match entropy.below(8) {
        0 => InstBuilder::new(Opcode::Ret),
        1 | 2 => InstBuilder::new(Opcode::Bra).src(any(entropy)),
        3 => {
            let targets: Vec<Operand> = (0..=entropy.below(3)).map(|_| any(entropy).into()).collect();
            InstBuilder::new(Opcode::Brx).src(entropy.choose(&regs.words)).srcs(targets)
        }
        _ => {
            let branch = InstBuilder::new(Opcode::CBra).src(entropy.choose(&regs.predicates));
            branch.src(any(entropy)).src(any(entropy))
        }
    }
}
