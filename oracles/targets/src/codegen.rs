//! Register allocation and scheduling by themselves, on functions of the machine that nobody selected.
//!
//! Both take any instruction that leaves control in its function: random words of random encodings, so that rows meet
//! which no program has side by side. Allocation gets them with virtual registers of all widths, in blocks that jump
//! anywhere, and the verifier follows every value ([`oriole_reference::allocation`]); the order of blocks is compared
//! with the blocks before. Scheduling gets them in physical form: the order of each block is compared
//! with the one before, and the scoreboard follows control and marks.

use oriole_generate::Entropy;
use oriole_ir::ops::Opcode;
use oriole_ir::sm::Target;
use oriole_ir::{
    Block, FuncId, Function, FunctionKind, Guard, Inst, InstHead, Level, Module, Operand, PhysicalReg, Reg, RegFile,
    RegInfo, Schedule,
};
use oriole_optimizer::codegen::allocate::{Allocation, Limits, allocate};
use oriole_optimizer::codegen::layout::arrange;
use oriole_optimizer::codegen::schedule::{after, control, reuse};
use oriole_optimizer::codegen::select::{Places, Selected};
use oriole_reference::{allocation as verifier, layout, order};
use oriole_sass::class::Flow;
use oriole_sass::row::NO_BIT;
use oriole_sass::{SMS, Table, ori, sample};
use oriole_scoreboard::{Code, check};

use super::canary;

/// The most instructions of an input.
const MOST_INSTS: usize = 64;
/// The most blocks.
const MOST_BLOCKS: usize = 6;
/// Mnemonics that set or await barriers themselves, and products of warpgroups, which none of the six barriers counts:
/// selection makes none of them but asynchronous copies.
const BARRIERS: [&str; 9] =
    ["DEPBAR", "LDGDEPBAR", "LDGSTS", "ARRIVES", "WARPGROUP", "BGMMA", "HGMMA", "IGMMA", "QGMMA"];

fn table(entropy: &mut Entropy<'_>) -> &'static Table {
    let sm = entropy.choose(&SMS);
    Table::of(sm).unwrap_or_else(|| panic!("sm_{sm} stands in the list and has no words"))
}

/// A random word that leaves control where it is.
fn word(table: &'static Table, entropy: &mut Entropy<'_>) -> Option<u128> {
    let encoding = &table.encodings()[entropy.below(table.encodings().len())];
    let family = encoding.name.split('.').next().unwrap_or_default();
    let is_plain = encoding.class.flow == Flow::Next && !BARRIERS.contains(&family);
    let word = sample::word(encoding, true, &mut || entropy.bits());
    // Marks in the operand cache are for scheduling to make.
    let reuse = encoding.parts.iter().filter(|part| part.reuse != NO_BIT);
    let word = reuse.fold(word, |word, part| word & !(1 << part.reuse));
    (is_plain && table.decode(word).is_ok()).then_some(word)
}

/// Random instructions in physical form, with jumps between them: the scoreboard finds nothing that their new control
/// does not cover.
pub fn scheduling(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let table = table(&mut entropy);
    let mut words = Vec::new();
    while !entropy.is_exhausted() && words.len() < MOST_INSTS {
        words.extend(word(table, &mut entropy));
    }
    if words.is_empty() {
        return false;
    }
    let read = ori::function(table.sm, "f", &words).unwrap_or_else(|error| panic!("{error}"));
    let mut module = Module { target: format!("sm_{}", table.sm), ..Module::default() };
    let id = module.functions.push(blocks_of(&read, &mut entropy));
    let func = &mut module.functions[id];
    let before = func.clone();
    after::after_allocation(func, table);
    if let Some(disorder) = order::check(&before, func) {
        panic!("sm_{}: {disorder}\n{module}", table.sm);
    }
    control::assign(func, table);
    reuse::mark(func, table);
    if canary::planted() {
        func.layout_insts().collect::<Vec<_>>().into_iter().for_each(|inst| {
            let schedule = func.schedule(inst).unwrap_or_default();
            func.set_schedule(inst, Some(Schedule { wait_mask: 0, ..schedule }));
        });
    }
    if let Some(hazard) = hazard(&module, id, table) {
        panic!("sm_{}: {hazard}\n{module}", table.sm);
    }
    true
}

/// The first place that the control of a function does not cover.
fn hazard(module: &Module, id: FuncId, table: &'static Table) -> Option<String> {
    let lowered = ori::lower(module, id).unwrap_or_else(|error| panic!("{error}\n{module}"));
    let code = Code::new(table.sm, "f", 0, &lowered, &[]).unwrap_or_else(|error| panic!("{error}\n{module}"));
    check(&code).first().map(ToString::to_string)
}

/// Ends the block with a jump to the first target where the guard holds, else to the second; or to the only one.
fn jump(func: &mut Function, block: Block, guard: Option<Guard>, targets: &[Block]) {
    let id = ori::register().identify("BRA").expect("every SM has it");
    let truth = Operand::wired(RegFile::P, 1);
    let srcs: Vec<Operand> = std::iter::once(truth).chain(targets.iter().map(|to| Operand::Block(*to))).collect();
    let head = InstHead { opcode: Opcode::MachineJump, fields: id.fields(), guard, line: 0 };
    let inst = func.new_inst(head, &[], &srcs, &[]);
    func.append_inst(block, inst);
}

/// The end of a thread.
fn exit(func: &mut Function, block: Block) {
    let id = ori::register().identify("EXIT").expect("every SM has it");
    let head = InstHead { opcode: opcode_of("EXIT"), fields: id.fields(), guard: None, line: 0 };
    let inst = func.new_inst(head, &[], &[Operand::wired(RegFile::P, 1)], &[]);
    func.append_inst(block, inst);
}

fn opcode_of(mnemonic: &str) -> Opcode {
    let row = ori::register().rows().iter().find(|row| row.name == mnemonic);
    row.map_or(Opcode::MachineEnd, |row| row.opcode)
}

/// The instructions of a block without control in several blocks, which jump to each other in order or anywhere.
fn blocks_of(read: &Function, entropy: &mut Entropy<'_>) -> Function {
    let mut func = Function::new("f", FunctionKind::Entry);
    func.level = Level::Machine;
    func.use_physical_registers();
    let insts: Vec<Inst> = read.layout_insts().filter(|inst| read.inst(*inst).machine().is_some()).collect();
    let count = 1 + entropy.below(MOST_BLOCKS);
    let blocks: Vec<Block> = (0..=count).map(|_| func.new_block()).collect();
    for inst in insts {
        let block = blocks[entropy.below(count)];
        let mut map = |operand: &Operand| match *operand {
            Operand::Name(_) => func.adopt(read, *operand),
            Operand::Reg(_) | Operand::Modified { .. } | Operand::Word(..) => *operand,
            other => func.bind(read.free(other)),
        };
        let dsts: Vec<Operand> = read.dsts(inst).iter().map(&mut map).collect();
        let srcs: Vec<Operand> = read.srcs(inst).iter().map(&mut map).collect();
        let new = func.new_inst(read.inst(inst).head(), &dsts, &srcs, &[]);
        func.append_inst(block, new);
    }
    let predicate = |entropy: &mut Entropy<'_>| {
        let number = entropy.below(7) as u8;
        PhysicalReg { file: RegFile::P, number, words: 1 }.reg().expect("the file has seven")
    };
    for at in 0..count {
        let guard = Guard::new(predicate(entropy), entropy.percent(50));
        jump(&mut func, blocks[at], Some(guard), &[blocks[entropy.below(count + 1)], blocks[at + 1]]);
    }
    exit(&mut func, blocks[count]);
    func
}

/// Random instructions with virtual registers, in blocks that jump anywhere: blocks in order do what they did, and
/// every value that is read is where it is read.
pub fn allocation(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let table = table(&mut entropy);
    let mut module = Module { target: format!("sm_{}", table.sm), ..Module::default() };
    let target: Target = module.target.parse().expect("it has a row");
    let id = module.functions.push(empty());
    let places = Places::of(&module, &module.functions[id], &[id], target).expect("it has no variables");
    let before = random(table, &mut entropy);
    let mut selected = Selected {
        func: before.clone(),
        stack: None,
        fixed: Vec::new(),
        results: Vec::new(),
        bundles: Vec::new(),
        patches: Vec::new(),
        sequences: Vec::new(),
    };
    arrange(&mut selected.func);
    let printed = || {
        let mut alone = Module { target: module.target.clone(), ..Module::default() };
        alone.functions.push(before.clone());
        alone.to_string()
    };
    if let Some(disorder) = layout::check(&before, &selected.func) {
        panic!("sm_{}: {disorder}\n{}", table.sm, printed());
    }
    let arranged = selected.func.clone();
    let general = entropy.choose(&[12u16, 16, 24, 64, 253]);
    let soft_skip = entropy.choose(&[Some(0), Some(2), None]);
    let limits = Limits { general, uniform: target.uniform_register_limit() as u16, soft_skip };
    let Ok(Allocation { func: mut after, origins, .. }) = allocate(selected, &places, limits) else { return false };
    if canary::planted() {
        exchange(&mut after);
    }
    if let Some(wrong) = verifier::check(&arranged, &after, verifier::Outside::default(), &|inst| origins[inst]).first()
    {
        panic!("sm_{}, {general} registers: {wrong}\n{}", table.sm, printed());
    }
    true
}

/// Where a fault is planted, exchanges the first two general registers that an instruction reads, and that differ.
fn exchange(func: &mut Function) {
    let is_general = |operand: &Operand| match operand {
        Operand::Reg(reg) => {
            PhysicalReg::of(*reg).is_some_and(|reg| reg.file == RegFile::R && reg.words == 1 && !reg.is_constant())
        }
        _ => false,
    };
    for inst in func.layout_insts().collect::<Vec<_>>() {
        let srcs = func.srcs(inst);
        let places: Vec<usize> = (0..srcs.len()).filter(|at| is_general(&srcs[*at])).collect();
        if let [first, second, ..] = places[..]
            && srcs[first] != srcs[second]
        {
            return func.srcs_mut(inst).swap(first, second);
        }
    }
}

/// A kernel that does nothing: the frame and the parameters of the function that is allocated.
fn empty() -> Function {
    let mut func = Function::new("f", FunctionKind::Entry);
    let block = func.new_block();
    let head = InstHead { opcode: Opcode::Ret, fields: Opcode::Ret.row().default_fields(), guard: None, line: 0 };
    let ret = func.new_inst(head, &[], &[], &[]);
    func.append_inst(block, ret);
    func
}

/// The mask of a move in all lanes of four. Selection makes no other, and allocation takes none for one.
const ALL_LANES: u64 = 15;
/// Registers of each file and width that instructions choose from.
const EACH: usize = 6;

/// A random function of the machine in virtual form.
fn random(table: &'static Table, entropy: &mut Entropy<'_>) -> Function {
    let mut func = Function::new("f", FunctionKind::Entry);
    func.level = Level::Machine;
    let infos = [
        RegInfo { file: RegFile::R, words: 1 },
        RegInfo { file: RegFile::R, words: 2 },
        RegInfo { file: RegFile::R, words: 3 },
        RegInfo { file: RegFile::R, words: 4 },
        RegInfo { file: RegFile::UR, words: 1 },
        RegInfo { file: RegFile::UR, words: 2 },
        RegInfo { file: RegFile::UR, words: 4 },
        RegInfo { file: RegFile::P, words: 1 },
        RegInfo { file: RegFile::UP, words: 1 },
    ];
    let mut pool: Vec<(RegInfo, Reg)> = Vec::new();
    for info in infos {
        // Uniform registers are not kept in memory, so they are few.
        let each = if matches!(info.file, RegFile::R | RegFile::P) { EACH } else { 3 };
        pool.extend((0..each).map(|_| (info, func.new_reg(info))));
    }
    let count = 1 + entropy.below(MOST_BLOCKS);
    let blocks: Vec<Block> = (0..=count).map(|_| func.new_block()).collect();
    let mut made = 0;
    while !entropy.is_exhausted() && made < MOST_INSTS {
        let block = blocks[entropy.below(count)];
        made += usize::from(instruction(&mut func, block, table, &pool, entropy).is_some());
    }
    let predicate = |entropy: &mut Entropy<'_>| {
        let all: Vec<Reg> = pool.iter().filter(|(info, _)| info.file == RegFile::P).map(|(_, reg)| *reg).collect();
        Guard::new(entropy.choose(&all), entropy.percent(50))
    };
    for at in 0..count {
        let to = blocks[entropy.below(count + 1)];
        if entropy.percent(30) {
            let head =
                InstHead { opcode: Opcode::Bra, fields: Opcode::Bra.row().default_fields(), guard: None, line: 0 };
            let inst = func.new_inst(head, &[], &[Operand::Block(to)], &[]);
            func.append_inst(blocks[at], inst);
        } else {
            let guard = predicate(entropy);
            let rest = blocks[entropy.below(count + 1)];
            let targets = if to == rest { vec![to, blocks[at + 1]] } else { vec![to, rest] };
            jump(&mut func, blocks[at], Some(guard), &targets);
        }
    }
    exit(&mut func, blocks[count]);
    func
}

/// Appends a random instruction, whose registers are any of the pool that fit; `None` where its word allows only some.
fn instruction(
    func: &mut Function,
    block: Block,
    table: &'static Table,
    pool: &[(RegInfo, Reg)],
    entropy: &mut Entropy<'_>,
) -> Option<()> {
    let read = ori::function(table.sm, "f", &[word(table, entropy)?]).ok()?;
    let inst = read.layout_insts().find(|inst| read.inst(*inst).machine().is_some())?;
    is_free(&read, inst, table)?;
    let mut choose = |info: RegInfo, func: &Function| -> Option<(Reg, Option<u8>)> {
        let is_wide = info.words == 1 && info.file == RegFile::R && entropy.percent(30);
        let fits = |(known, _): &&(RegInfo, Reg)| match is_wide {
            true => known.file == info.file && known.words > 1,
            false => *known == info,
        };
        let all: Vec<Reg> = pool.iter().filter(fits).map(|(_, reg)| *reg).collect();
        let reg = *all.get(entropy.below(all.len().max(1)))?;
        let word = is_wide.then(|| entropy.below(func.regs()[reg].words.into()) as u8);
        Some((reg, word))
    };
    let mut map = |operand: &Operand, func: &mut Function| -> Option<Operand> {
        let info = |reg: Reg| PhysicalReg::of(reg).map(|reg| RegInfo { file: reg.file, words: reg.words });
        Some(match *operand {
            Operand::Reg(reg) if !PhysicalReg::of(reg)?.is_constant() => match choose(info(reg)?, func)? {
                (reg, None) => Operand::Reg(reg),
                (reg, Some(word)) => Operand::Word(reg, word),
            },
            Operand::Modified { reg, modifiers, .. } if !PhysicalReg::of(reg)?.is_constant() => {
                let (reg, word) = choose(info(reg)?, func)?;
                Operand::Modified { reg, word, modifiers }
            }
            Operand::Reg(_) | Operand::Modified { .. } => return None,
            Operand::Name(_) => func.adopt(&read, *operand),
            other => func.bind(read.free(other)),
        })
    };
    let dsts: Option<Vec<Operand>> = read.dsts(inst).iter().map(|operand| map(operand, func)).collect();
    let srcs: Option<Vec<Operand>> = read.srcs(inst).iter().map(|operand| map(operand, func)).collect();
    let (dsts, srcs) = (dsts?, srcs?);
    let guard = read.inst(inst).guard.map(|guard| {
        let of_file: Vec<Reg> = pool
            .iter()
            .filter(|(info, _)| PhysicalReg::of(guard.reg()).is_some_and(|reg| reg.file == info.file))
            .map(|(_, reg)| *reg)
            .collect();
        Guard::new(entropy.choose(&of_file), guard.negated())
    });
    let head = InstHead { guard, ..read.inst(inst).head() };
    let new = func.new_inst(head, &dsts, &srcs, &[]);
    func.append_inst(block, new);
    Some(())
}

/// Whether each register of an instruction can be any of its file and width, apart from the others: a mask may name
/// predicates, and a register that is not aligned is in pieces that must be neighbours.
fn is_free(read: &Function, inst: Inst, table: &'static Table) -> Option<()> {
    let is_partial = |operand: &Operand| read.imm_bits(*operand).is_some_and(|lanes| lanes != ALL_LANES);
    let is_copy = read.inst(inst).machine_row().is_some_and(|row| row.copies);
    // A copy into a register that holds nothing may go, and is none that the verifier knows.
    let is_lost = |operand: &Operand| {
        operand.whole_reg().is_none_or(|reg| PhysicalReg::of(reg).is_none_or(PhysicalReg::is_constant))
    };
    let is_odd = || read.srcs(inst).iter().skip(1).any(is_partial) || read.dsts(inst).iter().any(is_lost);
    // Nor is a constant of a register that is inverted, where it is made again.
    let is_named =
        |operand: &Operand| operand.whole_reg().and_then(PhysicalReg::of).is_some_and(|reg| !reg.is_constant());
    let is_marked = |operand: &Operand| !is_named(operand) && !operand.modifiers().is_none();
    let is_marked_constant = !read.srcs(inst).iter().any(is_named) && read.srcs(inst).iter().any(is_marked);
    if read.hands_over(inst) || is_copy && is_odd() || is_marked_constant {
        return None;
    }
    for turn in 0..2u8 {
        let mut next = turn;
        let mut other = |operand: &Operand| -> Option<Operand> {
            let reg = operand.whole_reg().and_then(PhysicalReg::of);
            let Some(reg) = reg.filter(|reg| !reg.is_constant()) else { return Some(*operand) };
            next += 1;
            let number = match reg.file {
                RegFile::R | RegFile::UR => next.checked_mul(4)?,
                RegFile::P | RegFile::UP => next % 7,
                RegFile::B => return None,
            };
            let reg = PhysicalReg { number, ..reg }.reg()?;
            Some(match *operand {
                Operand::Modified { modifiers, .. } => Operand::Modified { reg, word: None, modifiers },
                _ => Operand::Reg(reg),
            })
        };
        let dsts: Option<Vec<Operand>> = read.dsts(inst).iter().map(&mut other).collect();
        let srcs: Option<Vec<Operand>> = read.srcs(inst).iter().map(&mut other).collect();
        ori::encode(table, read, &read.mnemonic(inst)?, None, &dsts?, &srcs?)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;

    use super::*;

    /// A result that a block leaves under way where it leads back is waited for, though the block behind the loop reads
    /// it that has its control before.
    #[test]
    fn what_is_under_way_at_the_end_of_a_loop_is_waited_for() {
        ori::register();
        let table = Table::of(90).expect("it is known");
        let text = "target sm_90 ptx 9.0\ndevice @f machine physical {\n  directive code 0 0\nbb0:\n  \
                    %R0, %PT, %PT = IADD3 %R0, 1, %RZ, ~%PT, ~%PT\n  bra bb1\nbb1:\n  \
                    @%P0 jump BRA %PT, bb3, bb2\nbb2:\n  %P1, %PT = ISETP.LT.AND %R2, 7, %PT, %PT\n  \
                    jump BRA %PT, bb1\nbb3:\n  @%P1 %R3 = MOV 1, 15\n  jump EXIT %PT\n}\n";
        let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let id = module.functions.keys().next().expect("it has one");
        control::assign(&mut module.functions[id], table);
        assert_eq!(hazard(&module, id, table), None, "{module}");
    }
}
