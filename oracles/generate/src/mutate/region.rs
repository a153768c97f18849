//! Changes to stretches of instructions: pieces of other modules, loops, branches that nothing takes.

use std::collections::BTreeMap;

use oriole_ir::ops::{Compare, Flags, Opcode, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Module, Operand, Reg, RegInfo};

use super::super::config::MutantConfig;
use super::super::entropy::Entropy;
use super::super::values::constant;
use super::edit::{copy, register};
use super::place;

/// A stretch of a block without its terminator: from a place, so many instructions at most.
fn stretch(func: &Function, entropy: &mut Entropy<'_>, most: u32) -> Option<(Block, usize, usize)> {
    let (block, start) = place(func, entropy, |_| true)?;
    let left = func.block_insts(block).len() - 1 - start;
    let length = entropy.between(1, most.max(1)) as usize;
    Some((block, start, start + length.min(left)))
}

/// The instructions of a stretch.
fn between(func: &Function, block: Block, start: usize, end: usize) -> impl Iterator<Item = Inst> + '_ {
    func.block_insts(block).take(end).skip(start)
}

/// Cuts a block before an instruction: what was behind it is in a new block, and control does not go there yet.
fn cut(func: &mut Function, block: Block, at: usize) -> Block {
    // The new block belongs behind the old one: reconvergence follows the layout.
    let rest = func.new_block_after(block);
    if let Some(first) = func.block_insts(block).nth(at) {
        func.move_tail(first, rest);
    }
    rest
}

/// A stretch runs so many times. What it waits for with others would no longer fit, so it holds nothing convergent.
pub(super) fn repeat(func: &mut Function, entropy: &mut Entropy<'_>, config: &MutantConfig) -> Option<()> {
    let (block, start, end) = stretch(func, entropy, config.region)?;
    let alone = |inst: Inst| !func.inst(inst).is(Flags::CONVERGENT);
    if !between(func, block, start, end).all(alone) {
        return None;
    }
    let trips = entropy.between(2, config.trips.max(2));
    let rest = cut(func, block, end);
    let body = cut(func, block, start);
    let counter = func.new_reg(RegInfo::words(1));
    let more = func.new_reg(RegInfo::PRED);
    let word = |opcode| InstBuilder::new(opcode).field(Type::B32);
    word(Opcode::Mov).src(Operand::imm(0)).dst(counter).append(func, block);
    InstBuilder::new(Opcode::Bra).src(body).append(func, block);
    let next = InstBuilder::new(Opcode::IAdd).field(Type::U32).src(counter).src(Operand::imm(1));
    next.dst(counter).append(func, body);
    let test = InstBuilder::new(Opcode::SetP).field(Type::U32).field(Compare::Lt);
    test.src(counter).src(u64::from(trips)).dst(more).append(func, body);
    InstBuilder::new(Opcode::CBra).src(more).src(body).src(rest).append(func, body);
    Some(())
}

/// A stretch is repeated behind a branch on a condition that no value meets.
pub(super) fn never(func: &mut Function, entropy: &mut Entropy<'_>, most: u32) -> Option<()> {
    let (block, start, end) = stretch(func, entropy, most)?;
    let (_, at) = place(func, entropy, |_| true).filter(|(other, _)| *other == block).unwrap_or((block, end));
    let copied: Vec<Inst> = between(func, block, start, end).collect();
    let value = register(func, entropy, RegInfo::words(1))?;
    let rest = cut(func, block, at);
    let inside = cut(func, block, at);
    for inst in copied {
        let new = copy(func, inst);
        func.append_inst(inside, new);
    }
    if entropy.percent(30) {
        InstBuilder::new(Opcode::Trap).append(func, inside);
    }
    InstBuilder::new(Opcode::Bra).src(rest).append(func, inside);
    let (low, on) = (func.new_reg(RegInfo::words(1)), func.new_reg(RegInfo::PRED));
    let masked = InstBuilder::new(Opcode::And).field(Type::B32).src(value).src(Operand::imm(7)).dst(low);
    masked.append(func, block);
    let test = InstBuilder::new(Opcode::SetP).field(Type::U32).field(Compare::Gt);
    test.src(low).src(Operand::imm(7)).dst(on).append(func, block);
    InstBuilder::new(Opcode::CBra).src(on).src(inside).src(rest).append(func, block);
    Some(())
}

/// Pure instructions of another module come in: they read registers of this function, and now and then write them.
pub(super) fn splice(func: &mut Function, donor: &Module, entropy: &mut Entropy<'_>, most: u32) -> Option<()> {
    let donors: Vec<&Function> = donor.functions.values().filter(|func| func.is_definition()).collect();
    let from = donors.get(entropy.below(donors.len())).copied()?;
    let (block, start, end) = stretch(from, entropy, most)?;
    let pieces: Vec<Inst> = between(from, block, start, end).filter(|inst| is_free(from, *inst)).collect();
    let to = place(func, entropy, |_| true)?;
    if pieces.is_empty() {
        return None;
    }
    let mut map = BTreeMap::new();
    let mut code = Vec::new();
    for inst in pieces {
        let new = translate(func, from, inst, &mut map, &mut code, entropy);
        code.push(new);
    }
    let at = func.inst_at(to.0, to.1);
    code.into_iter().for_each(|inst| func.insert_before(at, inst));
    Some(())
}

/// Whether an instruction means the same in any function.
fn is_free(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let plain = |operand: &Operand| {
        matches!(operand, Operand::Reg(_) | Operand::Word(..) | Operand::Imm(_) | Operand::Special(_))
    };
    data.is(Flags::PURE) && data.opcode != Opcode::Phi && func.srcs(inst).iter().all(plain)
}

/// An instruction of another function with registers of this one.
fn translate(
    func: &mut Function,
    from: &Function,
    inst: Inst,
    map: &mut BTreeMap<Reg, Reg>,
    code: &mut Vec<Inst>,
    entropy: &mut Entropy<'_>,
) -> Inst {
    let mut head = from.inst(inst).head();
    head.line = 0;
    let mut read = |func: &mut Function, reg: Reg, map: &mut BTreeMap<Reg, Reg>| {
        let known = map.get(&reg).copied();
        known.unwrap_or_else(|| {
            let new = source(func, from.regs()[reg], code, entropy);
            map.insert(reg, new);
            new
        })
    };
    let mut srcs = Vec::new();
    for operand in from.srcs(inst) {
        srcs.push(match *operand {
            Operand::Reg(reg) => Operand::Reg(read(func, reg, map)),
            Operand::Word(reg, word) => Operand::Word(read(func, reg, map), word),
            other => func.bind(from.free(other)),
        });
    }
    head.guard = head.guard.map(|guard| guard.with_reg(read(func, guard.reg(), map)));
    let mut dsts = Vec::new();
    for reg in from.defs(inst).collect::<Vec<Reg>>() {
        let info = from.regs()[reg];
        let taken = |new: &Reg| !dsts.contains(&Operand::Reg(*new));
        let host = register(func, entropy, info).filter(taken).filter(|_| entropy.percent(60));
        let new = host.unwrap_or_else(|| func.new_reg(info));
        map.insert(reg, new);
        dsts.push(Operand::Reg(new));
    }
    func.new_inst(head, &dsts, &srcs, &[])
}

/// A register to read: one of the function's, or a new one with a constant.
fn source(func: &mut Function, info: RegInfo, code: &mut Vec<Inst>, entropy: &mut Entropy<'_>) -> Reg {
    if let Some(reg) = register(func, entropy, info) {
        return reg;
    }
    let ty = match info.words {
        _ if info.is_predicate() => Type::Pred,
        1 => Type::B32,
        2 => Type::B64,
        _ => Type::B128,
    };
    let reg = func.new_reg(info);
    let bits = constant(entropy, ty);
    code.push(InstBuilder::new(Opcode::Mov).field(ty).src(bits).dst(reg).create(func));
    reg
}

#[cfg(test)]
mod tests {
    use oriole_ir::verify::verify_function;
    use oriole_ir::{function_to_string, parse_function, parse_module};

    use super::*;

    /// Constants that operands have no room for come in with their instructions.
    #[test]
    fn pieces_bring_their_constants() {
        let text = |bits: &str| {
            format!("device @f {{\nbb0:\n  %d0 = mov.b64 {bits}\n  %d1 = xor.b64 %d0, {bits}\n  ret\n}}\n")
        };
        let donor = parse_module(&text("0x3ff0000000000001")).expect("the donor is well-formed");
        let host = parse_function(&text("0x4000000000000002")).expect("the host is well-formed");
        let mut came = 0;
        for seed in 0..50 {
            let mut func = host.clone();
            if splice(&mut func, &donor, &mut Entropy::from_seed(seed), 8).is_some() {
                assert_eq!(verify_function(&func, None), Ok(()));
                came += u32::from(function_to_string(&func, None).contains("0x3ff0000000000001"));
            }
        }
        assert!(came > 0);
    }
}
