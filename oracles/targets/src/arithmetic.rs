//! Functions that compute: operations on few registers of every width, behind comparisons, in loops, through memory.
//!
//! Made for the analyses of values. All registers are defined at the start; constants are small, or next to the ends of
//! types; comparisons that branches follow are frequent.

use oriole_ir::ops::{Compare, Opcode, Space, SpecialReg, SrcType, Type};
use oriole_ir::{
    Block, FreeOperand, Function, FunctionKind, Guard, InstBuilder, Local, Operand, Reg, RegInfo, Variable,
};

use oriole_generate::Entropy;

/// Blocks at most.
const BLOCKS: usize = 7;

struct Regs {
    words: Vec<Reg>,
    pairs: Vec<Reg>,
    predicates: Vec<Reg>,
}

/// A random function in virtual form.
pub(super) fn random(entropy: &mut Entropy<'_>) -> Function {
    let mut func = Function::new("computing", FunctionKind::Device);
    func.locals.push(Variable::new("a", Space::Local, Type::B64, Some(2)));
    let mut regs = |count: usize, info| (0..count).map(|_| func.new_reg(info)).collect();
    let regs = Regs {
        words: regs(4, RegInfo::words(1)),
        pairs: regs(2, RegInfo::words(2)),
        predicates: regs(2, RegInfo::PRED),
    };
    let blocks: Vec<Block> = (0..=entropy.below(BLOCKS)).map(|_| func.new_block()).collect();
    start(entropy, &regs, &mut func, blocks[0]);
    for block in &blocks {
        for _ in 0..entropy.below(6) {
            let guard = entropy.percent(20);
            let guard = guard.then(|| Guard::new(entropy.choose(&regs.predicates), entropy.percent(50)));
            instruction(entropy, &regs).guard(guard).append(&mut func, *block);
        }
        end(entropy, &regs, &blocks, &mut func, *block);
    }
    func
}

/// Defines every register: by the launch, by memory, or by a constant.
fn start(entropy: &mut Entropy<'_>, regs: &Regs, func: &mut Function, block: Block) {
    let widths = [(&regs.words, Type::B32), (&regs.pairs, Type::B64), (&regs.predicates, Type::Pred)];
    for (reg, ty) in widths.into_iter().flat_map(|(regs, ty)| regs.iter().map(move |reg| (*reg, ty))) {
        let inst = match entropy.below(4) {
            0 if ty == Type::B32 => {
                let special = entropy.choose(&[SpecialReg::TidX, SpecialReg::LaneId, SpecialReg::NtidY]);
                InstBuilder::new(Opcode::S2r).field(ty).src(Operand::Special(special))
            }
            1 | 2 if ty != Type::Pred => {
                let narrow = entropy.choose(&[Type::U8, Type::S8, Type::U16, Type::S16, Type::U32]);
                let ty = if entropy.percent(50) || ty == Type::B64 { ty } else { narrow };
                let load = InstBuilder::new(Opcode::Ld).field(Space::Const).field(ty);
                load.src(8 * u64::from(reg.as_u32())).src(0)
            }
            _ if ty == Type::Pred => {
                let value = entropy.choose(&regs.words[..1]);
                let test = InstBuilder::new(Opcode::SetP).field(Compare::Lt).field(Type::S32);
                test.src(value).src(constant(entropy, Type::S32))
            }
            _ => InstBuilder::new(Opcode::Mov).field(ty).src(constant(entropy, ty)),
        };
        inst.dst(reg).append(func, block);
    }
}

/// A number near one of the ends of a type, or a small one.
fn constant(entropy: &mut Entropy<'_>, ty: Type) -> FreeOperand {
    let all = u64::MAX >> (64 - ty.bits());
    let near = entropy.choose(&[0, 8, 100, all >> 1, all, 0x7f, 0x8000]);
    FreeOperand::Imm(near.wrapping_add(entropy.below(5) as u64).wrapping_sub(2) & all)
}

/// A register as wide as a type, or a constant.
fn value(entropy: &mut Entropy<'_>, regs: &Regs, ty: Type) -> FreeOperand {
    match ty.bits() {
        _ if entropy.percent(25) => constant(entropy, ty),
        1 => entropy.choose(&regs.predicates).into(),
        64 => entropy.choose(&regs.pairs).into(),
        _ if entropy.percent(10) => Operand::Word(entropy.choose(&regs.pairs), entropy.below(2) as u8).into(),
        _ => entropy.choose(&regs.words).into(),
    }
}

fn place(entropy: &mut Entropy<'_>, regs: &Regs, ty: Type) -> Reg {
    entropy.choose(if ty.bits() == 64 { &regs.pairs } else { &regs.words })
}

fn instruction(entropy: &mut Entropy<'_>, regs: &Regs) -> InstBuilder {
    let unsigned = [Type::U16, Type::U32, Type::U32, Type::U64];
    let signed = [Type::S16, Type::S32, Type::S32, Type::S64];
    let ty = if entropy.percent(50) { entropy.choose(&unsigned) } else { entropy.choose(&signed) };
    let bits = entropy.choose(&[Type::B16, Type::B32, Type::B32, Type::B64]);
    let whole = if ty.bits() == 16 { Type::S32 } else { ty };
    let count = |entropy: &mut Entropy<'_>| match entropy.below(3) {
        0 => entropy.choose(&regs.words).into(),
        _ => FreeOperand::Imm(entropy.below(40) as u64),
    };
    let made = |entropy: &mut Entropy<'_>, opcode: Opcode, ty: Type, operands: usize| {
        let dst = place(entropy, regs, ty);
        let inst = InstBuilder::new(opcode).field(ty).dst(dst);
        (0..operands).fold(inst, |inst, _| inst.src(value(entropy, regs, ty)))
    };
    match entropy.below(14) {
        0 | 1 => {
            let opcode = entropy.choose(&[Opcode::IAdd, Opcode::ISub, Opcode::IMulLo]);
            made(entropy, opcode, ty, 2)
        }
        2 => {
            let opcode = entropy.choose(&[Opcode::IMin, Opcode::IMax]);
            made(entropy, opcode, ty, 2)
        }
        3 => {
            let opcode = entropy.choose(&[Opcode::IDiv, Opcode::IRem, Opcode::IMulHi]);
            made(entropy, opcode, ty, 2)
        }
        4 => made(entropy, Opcode::IMadLo, ty, 3),
        5 | 6 => {
            let opcode = entropy.choose(&[Opcode::And, Opcode::Or, Opcode::Xor]);
            made(entropy, opcode, bits, 2)
        }
        7 => made(entropy, Opcode::Shl, bits, 1).src(count(entropy)),
        8 => made(entropy, Opcode::Shr, ty, 1).src(count(entropy)),
        9 => made(entropy, Opcode::Bfe, whole, 1).src(count(entropy)).src(count(entropy)),
        10 => {
            let (from, to) = (entropy.choose(&CONVERTED), entropy.choose(&CONVERTED));
            let dst = place(entropy, regs, to.0);
            let src = value(entropy, regs, from.0);
            InstBuilder::new(Opcode::Cvt).field(to.0).field(from.1).dst(dst).src(src)
        }
        11 => {
            let dst = entropy.choose(&regs.predicates);
            compare(entropy, regs, dst)
        }
        12 => made(entropy, Opcode::SelP, bits, 2).src(entropy.choose(&regs.predicates)),
        _ => access(entropy, regs),
    }
}

const CONVERTED: [(Type, SrcType); 6] = [
    (Type::U8, SrcType::U8),
    (Type::S8, SrcType::S8),
    (Type::S16, SrcType::S16),
    (Type::U32, SrcType::U32),
    (Type::S32, SrcType::S32),
    (Type::S64, SrcType::S64),
];

/// A load or a store of the variable, or of what a register points to.
fn access(entropy: &mut Entropy<'_>, regs: &Regs) -> InstBuilder {
    let ty = entropy.choose(&[Type::B8, Type::U16, Type::S16, Type::B32, Type::B64]);
    let (space, base) = match entropy.below(4) {
        0 => (Space::Global, entropy.choose(&regs.pairs).into()),
        _ => (Space::Local, Operand::Local(Local::from_u32(0))),
    };
    let offset = FreeOperand::Imm(entropy.choose(&[0, 0, 0, 8, 4]));
    if entropy.percent(50) {
        let stored = value(entropy, regs, ty);
        InstBuilder::new(Opcode::St).field(space).field(ty).src(base).src(offset).src(stored)
    } else {
        let dst = place(entropy, regs, ty);
        InstBuilder::new(Opcode::Ld).field(space).field(ty).dst(dst).src(base).src(offset)
    }
}

/// A comparison of numbers.
fn compare(entropy: &mut Entropy<'_>, regs: &Regs, dst: Reg) -> InstBuilder {
    let ty = entropy.choose(&[Type::U32, Type::S32, Type::S32, Type::U64, Type::S64, Type::S16]);
    let ordered = [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];
    let unsigned = [Compare::Lo, Compare::Ls, Compare::Hi, Compare::Hs];
    let how = if ty.is_signed() || entropy.percent(50) { entropy.choose(&ordered) } else { entropy.choose(&unsigned) };
    let left = entropy.choose(if ty.bits() == 64 { &regs.pairs } else { &regs.words });
    let right = value(entropy, regs, ty);
    InstBuilder::new(Opcode::SetP).field(how).field(ty).dst(dst).src(left).src(right)
}

/// Ends a block, mostly by a comparison and the branch that follows it.
fn end(entropy: &mut Entropy<'_>, regs: &Regs, blocks: &[Block], func: &mut Function, block: Block) {
    let (yes, no) = (entropy.choose(blocks), entropy.choose(blocks));
    match entropy.below(6) {
        0 => InstBuilder::new(Opcode::Ret).append(func, block),
        1 => InstBuilder::new(Opcode::Bra).src(yes).append(func, block),
        _ => {
            let predicate = entropy.choose(&regs.predicates);
            if entropy.percent(80) {
                compare(entropy, regs, predicate).append(func, block);
            }
            if entropy.percent(20) {
                let opcode = entropy.choose(&[Opcode::And, Opcode::Or]);
                let both = InstBuilder::new(opcode).field(Type::Pred).dst(predicate);
                both.src(regs.predicates[0]).src(regs.predicates[1]).append(func, block);
            }
            InstBuilder::new(Opcode::CBra).src(predicate).src(yes).src(no).append(func, block)
        }
    };
}
