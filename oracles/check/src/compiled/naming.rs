//! Registers of the machine for code that has virtual ones, without any allocator of the optimizer.
//!
//! The machine interpreter executes words, and a word names registers by number. So that selected code can be executed
//! before it is allocated, each virtual register gets a number here, in the plainest way: its own where there are
//! enough, else the lowest that no register has with which it is live. Nothing is spilled, and no copy goes. Where
//! numbers do not suffice, or a call may overwrite what is live, there is no answer.
//!
//! Liveness is by words of registers and paths: a word is live where a read of it may follow, and holds something only
//! where a write may have come before. A write under a guard leaves what was there.
//!
//! Cost: words times instructions, for as many rounds as loops need.

use std::collections::BTreeSet;

use oriole_ir::{Function, Guard, Inst, InstHead, Level, Operand, PhysicalReg, Reg, RegFile};
use oriole_reference::Graph;

/// Why code does not get registers here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoNames {
    /// More registers of a file are live at once, or nearly so.
    TooMany,
    /// It calls functions, which use registers as they like.
    Calls,
}

impl NoNames {
    /// Why, for a report.
    pub fn reason(self) -> &'static str {
        match self {
            NoNames::TooMany => "too many registers are live at once to execute it before allocation",
            NoNames::Calls => "it calls functions, which use any register, so it is not executed before allocation",
        }
    }
}

/// A function with numbers for its registers.
#[derive(Clone, Debug)]
pub struct Named {
    /// The function, in physical form.
    pub func: Function,
    /// General registers that it names.
    pub registers: u16,
}

/// How many registers of a file code may name here: general ones but for two that the machine keeps.
fn end(file: RegFile, uniform: u16) -> u16 {
    match file {
        RegFile::R => 253,
        RegFile::UR => uniform,
        RegFile::P | RegFile::UP => 7,
        RegFile::B => 16,
    }
}

/// Gives the registers of a function of the machine level in virtual form numbers. Those of `fixed` have theirs, and
/// `uniform` says how many uniform registers there are.
///
/// # Errors
///
/// If numbers do not suffice, or the function calls others.
pub fn named(func: &Function, fixed: &[(Reg, u16)], uniform: u16) -> Result<Named, NoNames> {
    if func.layout_insts().any(|inst| func.is_machine_call(inst)) {
        return Err(NoNames::Calls);
    }
    let used = used(func);
    let mut numbers: Vec<Option<u16>> = vec![None; func.regs().len()];
    for (reg, number) in fixed {
        numbers[reg.as_u32() as usize] = Some(*number);
    }
    for file in [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B] {
        let own: Vec<Reg> = used.iter().copied().filter(|reg| func.regs()[*reg].file == file).collect();
        let end = end(file, uniform);
        // Lanes that have parted share uniform registers, so these are live where no path of one lane shows it.
        let is_uniform = matches!(file, RegFile::UR | RegFile::UP);
        if !apart(func, &own, end, &mut numbers) && (is_uniform || !shared(func, &own, end, &mut numbers)) {
            return Err(NoNames::TooMany);
        }
    }
    Ok(physical(func, &numbers))
}

/// The registers that a function names, wide ones first.
fn used(func: &Function) -> Vec<Reg> {
    let mut all: BTreeSet<Reg> = BTreeSet::new();
    for inst in func.layout_insts() {
        let operands = func.dsts(inst).iter().chain(func.inputs(inst)).filter_map(|operand| operand.reg());
        all.extend(operands.chain(func.inst(inst).guard.map(Guard::reg)));
    }
    let mut all: Vec<Reg> = all.into_iter().collect();
    all.sort_by_key(|reg| std::cmp::Reverse(func.regs()[*reg].words));
    all
}

/// The numbers that a register takes from its first one on.
fn range(func: &Function, reg: Reg, first: u16) -> std::ops::Range<u16> {
    first..first + u16::from(func.regs()[reg].words)
}

/// The first numbers that a register of so many words may have.
fn firsts(func: &Function, reg: Reg, end: u16) -> impl Iterator<Item = u16> + use<> {
    let words = u16::from(func.regs()[reg].words);
    (0..(end + 1).saturating_sub(words)).step_by(usize::from(words.next_power_of_two()))
}

/// Gives registers of a file numbers of their own; whether there are enough. If not, none has got one.
fn apart(func: &Function, own: &[Reg], end: u16, numbers: &mut [Option<u16>]) -> bool {
    let mut taken = [false; 256];
    let number = |numbers: &[Option<u16>], reg: Reg| numbers[reg.as_u32() as usize];
    let mut take = |reg: Reg, first: u16| range(func, reg, first).for_each(|at| taken[usize::from(at)] = true);
    own.iter().filter_map(|reg| Some((*reg, number(numbers, *reg)?))).for_each(|(reg, first)| take(reg, first));
    let mut found = Vec::new();
    for reg in own.iter().copied().filter(|reg| number(numbers, *reg).is_none()) {
        let is_free = |first: &u16| range(func, reg, *first).all(|at| !taken[usize::from(at)]);
        let Some(first) = firsts(func, reg, end).find(is_free) else { return false };
        range(func, reg, first).for_each(|at| taken[usize::from(at)] = true);
        found.push((reg, first));
    }
    found.into_iter().for_each(|(reg, first)| numbers[reg.as_u32() as usize] = Some(first));
    true
}

/// Gives registers of a file numbers that they share with others which are not live with them; whether there are
/// enough.
fn shared(func: &Function, own: &[Reg], end: u16, numbers: &mut [Option<u16>]) -> bool {
    let apart = Interference::of(func);
    for reg in own.iter().copied() {
        if numbers[reg.as_u32() as usize].is_some() {
            continue;
        }
        let mut taken = [false; 256];
        for other in own.iter().copied().filter(|other| *other != reg && apart.has(reg, *other)) {
            let first = numbers[other.as_u32() as usize];
            first.into_iter().flat_map(|first| range(func, other, first)).for_each(|at| taken[usize::from(at)] = true);
        }
        let is_free = |first: &u16| range(func, reg, *first).all(|at| !taken[usize::from(at)]);
        let Some(first) = firsts(func, reg, end).find(is_free) else { return false };
        numbers[reg.as_u32() as usize] = Some(first);
    }
    true
}

/// Which registers must not share a number.
struct Interference(BTreeSet<(Reg, Reg)>);

impl Interference {
    fn has(&self, one: Reg, other: Reg) -> bool {
        self.0.contains(&(one.min(other), one.max(other)))
    }

    fn of(func: &Function) -> Interference {
        let (graph, words) = (Graph::of(func), Words::of(func));
        let (live, written) = (words.live_out(func, &graph), words.written_in(func, &graph));
        let mut found = BTreeSet::new();
        for (place, block) in graph.blocks.iter().enumerate() {
            // The words that may hold something behind each instruction; those of them that are live follow.
            let mut holding = vec![written[place].clone()];
            for inst in func.block_insts(*block) {
                let mut next = holding.last().cloned().unwrap_or_default();
                words.written(func, inst).for_each(|word| next[word] = true);
                holding.push(next);
            }
            let mut now = live[place].clone();
            let insts: Vec<Inst> = func.block_insts(*block).collect();
            for (at, inst) in insts.iter().copied().enumerate().rev() {
                let behind = &holding[at + 1];
                let results: Vec<usize> = words.written(func, inst).collect();
                let others = (0..now.len()).filter(|word| now[*word] && behind[*word]).chain(results.iter().copied());
                for other in others.collect::<Vec<_>>() {
                    for result in &results {
                        let (one, other) = (words.reg[*result], words.reg[other]);
                        if one != other {
                            found.insert((one.min(other), one.max(other)));
                        }
                    }
                }
                words.step_back(func, inst, &mut now);
            }
        }
        Interference(found)
    }
}

/// The words of registers, by numbers.
struct Words {
    first: Vec<usize>,
    reg: Vec<Reg>,
}

impl Words {
    fn of(func: &Function) -> Words {
        let mut words = Words { first: Vec::new(), reg: Vec::new() };
        for (reg, info) in func.regs().iter() {
            words.first.push(words.reg.len());
            words.reg.extend((0..info.words).map(|_| reg));
        }
        words.first.push(words.reg.len());
        words
    }

    fn of_operand(&self, operand: Operand) -> std::ops::Range<usize> {
        let all = |reg: Reg| self.first[reg.as_u32() as usize]..self.first[reg.as_u32() as usize + 1];
        match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => all(reg),
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => {
                let at = all(reg).start + usize::from(word);
                at..at + 1
            }
            _ => 0..0,
        }
    }

    fn written<'a>(&'a self, func: &'a Function, inst: Inst) -> impl Iterator<Item = usize> + 'a {
        func.dsts(inst).iter().flat_map(|dst| self.of_operand(*dst))
    }

    /// From what is live behind an instruction to what is live before.
    fn step_back(&self, func: &Function, inst: Inst, live: &mut [bool]) {
        if func.inst(inst).guard.is_none() {
            self.written(func, inst).for_each(|word| live[word] = false);
        }
        let guard = func.inst(inst).guard.map(|guard| Operand::Reg(guard.reg()));
        let reads = func.inputs(inst).iter().copied().chain(guard);
        reads.flat_map(|operand| self.of_operand(operand)).for_each(|word| live[word] = true);
    }

    /// By place of a block: the words that are live at its end.
    fn live_out(&self, func: &Function, graph: &Graph) -> Vec<Vec<bool>> {
        let mut out = vec![vec![false; self.reg.len()]; graph.blocks.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (place, block) in graph.blocks.iter().enumerate().rev() {
                let mut now = out[place].clone();
                let insts: Vec<Inst> = func.block_insts(*block).collect();
                insts.into_iter().rev().for_each(|inst| self.step_back(func, inst, &mut now));
                for from in &graph.predecessors[place] {
                    changed |= join(&mut out[*from], &now);
                }
            }
        }
        out
    }

    /// By place of a block: the words that some way to its beginning has written.
    fn written_in(&self, func: &Function, graph: &Graph) -> Vec<Vec<bool>> {
        let mut known = vec![vec![false; self.reg.len()]; graph.blocks.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (place, block) in graph.blocks.iter().enumerate() {
                let mut now = known[place].clone();
                for inst in func.block_insts(*block) {
                    self.written(func, inst).for_each(|word| now[word] = true);
                }
                for next in &graph.successors[place] {
                    changed |= join(&mut known[*next], &now);
                }
            }
        }
        known
    }
}

/// Adds one set to another; whether that grew.
fn join(own: &mut [bool], other: &[bool]) -> bool {
    let mut grew = false;
    for (own, other) in own.iter_mut().zip(other) {
        grew |= *other && !std::mem::replace(own, *own || *other);
    }
    grew
}

/// The function with the numbers.
fn physical(func: &Function, numbers: &[Option<u16>]) -> Named {
    let mut made = Function::new(func.name.as_str(), func.kind);
    (made.linkage, made.level) = (func.linkage, Level::Machine);
    made.directives.clone_from(&func.directives);
    made.use_physical_registers();
    func.blocks().iter().for_each(|_| _ = made.create_block());
    made.set_layout(func.layout().to_vec());
    let place = |reg: Reg, word: Option<u8>| {
        let info = func.regs()[reg];
        let first = numbers[reg.as_u32() as usize].unwrap_or(0) + u16::from(word.unwrap_or(0));
        let words = if word.is_some() { 1 } else { info.words };
        PhysicalReg { file: info.file, number: first as u8, words }.reg().expect("numbers are those of the file")
    };
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            let mut map = |operand: &Operand| match *operand {
                Operand::Reg(reg) => Operand::Reg(place(reg, None)),
                Operand::Word(reg, word) => Operand::Reg(place(reg, Some(word))),
                Operand::Modified { reg, word, modifiers } => {
                    Operand::Modified { reg: place(reg, word), word: None, modifiers }
                }
                Operand::Name(_) => made.adopt(func, *operand),
                other => made.bind(func.free(other)),
            };
            let dsts: Vec<Operand> = func.dsts(inst).iter().map(&mut map).collect();
            let srcs: Vec<Operand> = func.srcs(inst).iter().map(&mut map).collect();
            let guard = func.inst(inst).guard.map(|guard| guard.with_reg(place(guard.reg(), None)));
            let head = InstHead { guard, ..func.inst(inst).head() };
            let new = made.new_inst(head, &dsts, &srcs, &[]);
            made.append_inst(*block, new);
        }
    }
    let ends = func.regs().iter().filter(|(_, info)| info.file == RegFile::R);
    let ends = ends.filter_map(|(reg, info)| Some(numbers[reg.as_u32() as usize]? + u16::from(info.words)));
    let registers = ends.max().unwrap_or(0);
    Named { func: made, registers }
}
