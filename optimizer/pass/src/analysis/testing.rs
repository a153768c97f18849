//! Functions for tests: random small ones, and large ones of simple shape.

use oriole_ir::ops::{Compare, Opcode, Space, Type};
use oriole_ir::{Block, Function, FunctionKind, Guard, InstBuilder, Operand, Reg, RegInfo};

/// Reads decisions from random words; zeros when they run out, so that shorter inputs are simpler functions.
struct Choices<'a> {
    words: std::slice::Iter<'a, u32>,
}

impl Choices<'_> {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.words.next().map_or(0, |word| *word as usize % bound)
    }
}

/// The registers of a random function.
struct Regs {
    narrow: Vec<Reg>,
    wide: Vec<Reg>,
    preds: Vec<Reg>,
}

/// A function in virtual form that the words describe: one to nine blocks in any control flow, definitions of few
/// registers over and over, guards, words of wide registers, reads of what may be undefined, and stores that show what
/// was computed.
pub fn random_function(words: &[u32]) -> Function {
    let mut choices = Choices { words: words.iter() };
    let mut func = Function::new("random", FunctionKind::Device);
    let regs = Regs {
        narrow: (0..4).map(|_| func.new_reg(RegInfo::words(1))).collect(),
        wide: (0..2).map(|_| func.new_reg(RegInfo::words(2))).collect(),
        preds: (0..3).map(|_| func.new_reg(RegInfo::PRED)).collect(),
    };
    let blocks: Vec<Block> = (0..1 + choices.below(9)).map(|_| func.new_block()).collect();
    define_most(&mut choices, &regs, &mut func, blocks[0]);
    for block in &blocks {
        for _ in 0..choices.below(6) {
            random_inst(&mut choices, &regs).append(&mut func, *block);
        }
        random_terminator(&mut choices, &regs, &blocks).append(&mut func, *block);
    }
    func
}

/// Without first values nearly every run would end at once in a branch on an undefined predicate.
fn define_most(choices: &mut Choices<'_>, regs: &Regs, func: &mut Function, block: Block) {
    let types = [(&regs.narrow, Type::B32), (&regs.wide, Type::B64), (&regs.preds, Type::Pred)];
    for (reg, ty) in types.iter().flat_map(|(list, ty)| list.iter().map(move |reg| (*reg, *ty))) {
        let n = choices.below(9);
        if n < 8 {
            let mov = InstBuilder::new(Opcode::Mov).field(ty).dst(reg);
            mov.src(n as u64 % 2).append(func, block);
        }
    }
}

fn narrow(choices: &mut Choices<'_>, regs: &Regs) -> Operand {
    match choices.below(8) {
        n @ 0..4 => Operand::Reg(regs.narrow[n]),
        n @ 4..6 => Operand::Word(regs.wide[n - 4], choices.below(2) as u8),
        _ => Operand::imm(choices.below(4) as u32),
    }
}

fn random_inst(choices: &mut Choices<'_>, regs: &Regs) -> InstBuilder {
    let guard = match choices.below(3) {
        0 => Some(Guard::new(regs.preds[choices.below(3)], choices.below(2) == 1)),
        _ => None,
    };
    let inst = match choices.below(9) {
        0 | 1 => {
            let dst = regs.narrow[choices.below(4)];
            InstBuilder::new(Opcode::Mov).field(Type::B32).dst(dst).src(narrow(choices, regs))
        }
        2 | 3 => {
            let dst = regs.narrow[choices.below(4)];
            let add = InstBuilder::new(Opcode::IAdd).field(Type::U32).dst(dst);
            add.src(narrow(choices, regs)).src(narrow(choices, regs))
        }
        4 => {
            let pack = InstBuilder::new(Opcode::Pack).field(Type::B32).dst(regs.wide[choices.below(2)]);
            pack.src(narrow(choices, regs)).src(narrow(choices, regs))
        }
        5 => {
            let mov = InstBuilder::new(Opcode::Mov).field(Type::B64).dst(regs.wide[choices.below(2)]);
            mov.src(regs.wide[choices.below(2)])
        }
        6 => {
            let test = InstBuilder::new(Opcode::SetP).field(Compare::Lt).field(Type::U32);
            test.dst(regs.preds[choices.below(3)]).src(narrow(choices, regs)).src(narrow(choices, regs))
        }
        7 => {
            // Two destinations at once, which may be the instruction's own sources.
            let add = InstBuilder::new(Opcode::IAddCarry).field(Type::U32);
            let add = add.dst(regs.narrow[choices.below(4)]).dst(regs.preds[choices.below(3)]);
            add.src(narrow(choices, regs)).src(narrow(choices, regs)).src(regs.preds[choices.below(3)])
        }
        _ => {
            let store = InstBuilder::new(Opcode::St).field(Space::Global).field(Type::B32);
            store.src(Operand::imm(8)).src(Operand::imm(0)).src(narrow(choices, regs))
        }
    };
    inst.guard(guard)
}

fn random_terminator(choices: &mut Choices<'_>, regs: &Regs, blocks: &[Block]) -> InstBuilder {
    let any = |choices: &mut Choices<'_>| blocks[choices.below(blocks.len())];
    match choices.below(8) {
        0 => InstBuilder::new(Opcode::Ret),
        1 | 2 => InstBuilder::new(Opcode::Bra).src(any(choices)),
        3 => {
            let brx = InstBuilder::new(Opcode::Brx).src(regs.narrow[choices.below(4)]);
            brx.src(any(choices)).src(any(choices)).src(any(choices))
        }
        _ => {
            let branch = InstBuilder::new(Opcode::CBra).src(regs.preds[choices.below(3)]);
            branch.src(any(choices)).src(any(choices))
        }
    }
}

/// So many blocks, each with one jump to the next.
pub fn chain(count: usize) -> Function {
    let mut func = Function::new("chain", FunctionKind::Device);
    let blocks: Vec<Block> = (0..count).map(|_| func.new_block()).collect();
    for pair in blocks.windows(2) {
        InstBuilder::new(Opcode::Bra).src(pair[1]).append(&mut func, pair[0]);
    }
    InstBuilder::new(Opcode::Ret).append(&mut func, blocks[count - 1]);
    func
}

/// So many blocks in a chain, each of which can also leave to the last.
pub fn ladder(count: usize) -> Function {
    let mut func = chain(count);
    let pred = func.new_reg(RegInfo::PRED);
    let (last, blocks) = (func.layout()[count - 1], func.layout().to_vec());
    for pair in blocks.windows(2) {
        let branch = func.inst_at(pair[0], 0);
        InstBuilder::new(Opcode::CBra).src(pred).src(last).src(pair[1]).replace(&mut func, branch);
    }
    func
}
