//! The order of instructions in blocks, before registers have places (AdvancedPhasePreSched, L:483-496).
//!
//! Each piece of a block between calls is ordered anew ([`Scheduler`]). General registers are followed always, uniform
//! ones where the function has some (L:193). Where an order needs more uniform registers than there are, all pieces
//! are ordered once more without following them: then general registers decide alone, and it is for the allocator to
//! say that uniform ones are too few. Nothing is moved out of its block.
//!
//! **Invariant:** a value that a copy puts into a register is made behind the last reads of what the register held,
//! where it was so before: then both still can have one place.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, Reg, RegFile};
use oriole_pass::analysis::Cfg;
use oriole_sass::Table;
use oriole_sass::row::File;
use rustc_hash::{FxHashMap, FxHashSet};

use super::control::timings;
use super::dag::{Access, Accesses, Dag, Unit, Units};
use super::latency::{Timing, Use};
use super::list::{Limit, Order, Scheduler};
use super::sets::Sets;
use crate::allocate::live::{self, Words};
use crate::allocate::{Limits, copied};
use crate::select::{Selected, is_group_product};

/// General registers of a thread with which as many threads run as a multiprocessor has room for: 65,536 registers for
/// 2,048 threads, less two that the machine reserves.
const FREE: u32 = 30;
/// Predicates that may be live before their number decides.
const PREDICATES: u32 = 5;
/// The same of uniform predicates.
const UNIFORM_PREDICATES: u32 = 5;
/// Registers that are left to the allocator where a thread may have few.
const SPARE: u16 = 4;
/// The fewest instructions that are ordered anew.
pub(super) const LEAST: usize = 3;

/// Instructions that follow each other in a block.
struct Piece {
    insts: Vec<Inst>,
    /// The words that live behind them.
    live: Vec<(File, Unit)>,
}

/// Orders the instructions of a function with virtual registers, of which it may have so many. Whether that took a
/// second try, without following uniform registers.
pub fn before_allocation(selected: &mut Selected, table: &'static Table, limits: Limits) -> bool {
    let cfg = Cfg::new(&selected.func);
    let timings = timings(&selected.func, table);
    let words = Words::of(&selected.func, &cfg);
    let (pieces, most) = pieces(selected, &cfg, &words);
    let general = most.max(FREE).min(limits.general.saturating_sub(SPARE).into());
    let limit = [general, PREDICATES, limits.uniform.into(), UNIFORM_PREDICATES];
    let has_uniform = uses_uniform(&selected.func);
    let ordered = |follows: bool| orders(&selected.func, &pieces, &timings, &words, (limit, follows));
    let first = ordered(has_uniform);
    let is_over = |(_, order): &(usize, Order)| order.most[2] > limit[2];
    let retries = has_uniform && first.iter().any(is_over);
    let last = if retries { ordered(false) } else { first };
    for (piece, Order { order, .. }) in last {
        place(&mut selected.func, &pieces[piece].insts, &order);
    }
    retries
}

/// Whether a function has uniform registers: whether they are followed at all.
pub(super) fn uses_uniform(func: &Function) -> bool {
    func.layout_insts().any(|inst| {
        let named = func.dsts(inst).iter().chain(func.inputs(inst));
        let mut infos = named.filter(|operand| operand.reg().is_some()).filter_map(|named| func.operand_info(*named));
        infos.any(|info| matches!(info.file, RegFile::UR | RegFile::UP))
    })
}

/// The orders of pieces, by the numbers of these.
fn orders(
    func: &Function,
    pieces: &[Piece],
    timings: &SecondaryMap<Inst, Option<Timing>>,
    words: &Words,
    (limit, follows_uniform): (Limit, bool),
) -> Vec<(usize, Order)> {
    let mut sets = Sets::new(words.len(), follows_uniform);
    let mut found = Vec::new();
    for (at, Piece { insts, live }) in pieces.iter().enumerate() {
        let accesses: Vec<Accesses> = insts.iter().map(|inst| accesses(func, *inst, words)).collect();
        let mut dag = Dag::of(func, insts, &accesses, timings, Units::Virtual(words));
        keep_copies(func, insts, &accesses, words, &mut dag);
        let timings: Vec<Timing> = insts.iter().filter_map(|inst| timings[*inst]).collect();
        if timings.len() == insts.len() {
            found.push((at, Scheduler::new(&dag, &accesses, &timings, live, limit, &mut sets).run()));
        }
    }
    found
}

/// The pieces of all blocks, and how many general registers are live where most are.
///
/// The stack pointer is written between pieces: what the allocator keeps in memory it stores behind where it is made,
/// and that must be a place of this frame. So are arguments and results of calls, which have their registers only from
/// there to the call, and back. Products of warpgroups stay as well ([`is_of_group`]).
fn pieces(selected: &Selected, cfg: &Cfg, words: &Words) -> (Vec<Piece>, u32) {
    let Selected { func, stack, fixed, results, .. } = selected;
    let with_place: FxHashSet<Reg> = fixed.iter().chain(results).map(|(reg, _)| *reg).collect();
    let has_place = |reg: Reg| with_place.contains(&reg);
    let is_passed = |inst: Inst| {
        let written = func.dsts(inst).iter().filter_map(|dst| dst.reg());
        let read = func.inputs(inst).iter().filter_map(|src| src.reg()).filter(|reg| Some(*reg) != *stack);
        written.chain(read).any(has_place)
    };
    let is_moved = |inst: Inst| {
        let is_own = func.inst(inst).machine().is_some() && !func.is_machine_call(inst);
        is_own && !is_passed(inst) && !is_of_group(func, inst)
    };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece_of: SecondaryMap<Inst, Option<usize>> = SecondaryMap::new();
    for block in cfg.rpo() {
        let last = func.terminator(*block);
        let insts: Vec<Inst> = func.block_insts(*block).filter(|inst| Some(*inst) != last).collect();
        for insts in insts.split(|inst| !is_moved(*inst)).filter(|insts| insts.len() >= LEAST) {
            piece_of[insts[insts.len() - 1]] = Some(pieces.len());
            pieces.push(Piece { insts: insts.to_vec(), live: Vec::new() });
        }
    }
    let mut most = 0;
    words.backward(func, cfg, |inst, live| {
        let general = live.iter().filter(|word| func.regs()[words.reg(*word)].file == RegFile::R);
        most = most.max(general.count() as u32);
        if let Some(piece) = piece_of[inst] {
            pieces[piece].live = live.iter().map(|word| (file(func, words, word), word)).collect();
        }
    });
    (pieces, most)
}

/// Whether an instruction is a product of a warpgroup, or a fence or wait for such: their registers are under way
/// behind them, so order alone keeps other accesses off.
pub(super) fn is_of_group(func: &Function, inst: Inst) -> bool {
    is_group_product(func, inst) || func.inst(inst).machine_row().is_some_and(|row| row.name.starts_with("WARPGROUP"))
}

/// The words that an instruction accesses, reads first: what it reads was there before.
pub(super) fn accesses(func: &Function, inst: Inst, words: &Words) -> Accesses {
    let guard = func.inst(inst).guard.map(|guard| words.of_reg(guard.reg()));
    let mut accesses = Accesses::default();
    words.accesses(func, inst, |word, access| {
        let file = file(func, words, word);
        let is_guard = guard.as_ref().is_some_and(|guard| guard.contains(&word));
        let access = match access {
            live::Access::Read => Access::Read(if is_guard { Use::Guard } else { Use::Source }),
            live::Access::Written => Access::Written,
            live::Access::Perhaps => Access::Perhaps,
        };
        accesses.0.push((word, file, access));
    });
    accesses.0.sort_by_key(|(.., access)| !matches!(access, Access::Read(_)));
    accesses
}

/// The file of a word.
fn file(func: &Function, words: &Words, word: Unit) -> File {
    match func.regs()[words.reg(word)].file {
        RegFile::R => File::R,
        RegFile::UR => File::Ur,
        RegFile::P => File::P,
        RegFile::UP => File::Up,
        RegFile::B => File::B,
    }
}

/// Orders the making of a value that is copied into a register behind the reads of what that register holds until
/// then, where it comes behind them already.
fn keep_copies(func: &Function, insts: &[Inst], accesses: &[Accesses], words: &Words, dag: &mut Dag) {
    let mut written: FxHashMap<Unit, u32> = FxHashMap::default();
    let mut readers: FxHashMap<Unit, Vec<u32>> = FxHashMap::default();
    for (at, (inst, accesses)) in (0u32..).zip(insts.iter().zip(accesses)) {
        if let Some((to, from)) = copied(func, *inst) {
            let (to, from) = (words.of_operand(to).start, words.of_operand(from).start);
            if let (Some(maker), Some(readers)) = (written.get(&from), readers.get(&to))
                && readers.iter().all(|reader| reader <= maker)
            {
                readers.iter().filter(|reader| *reader != maker).for_each(|reader| dag.order(*reader, *maker, 1));
            }
        }
        for (unit, _, access) in &accesses.0 {
            if *access != Access::Written {
                readers.entry(*unit).or_default().push(at);
            }
            if !matches!(access, Access::Read(_)) {
                written.insert(*unit, at);
            }
            if *access == Access::Written {
                readers.remove(unit);
            }
        }
    }
}

/// Puts instructions that follow each other into another order.
pub(super) fn place(func: &mut Function, insts: &[Inst], order: &[u32]) {
    if order.is_sorted() {
        return;
    }
    let block = func.block_of(insts[0]).expect("it stands in a block");
    let behind = func.next_inst(insts[insts.len() - 1]);
    insts.iter().for_each(|inst| func.remove_inst(*inst));
    for at in order {
        match behind {
            Some(behind) => func.insert_before(behind, insts[*at as usize]),
            None => func.append_inst(block, insts[*at as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::{Operand, RegFile, RegInfo};

    use super::super::dag::tests::Made;
    use super::*;
    use crate::select::never;

    const ROOM: Limit = [64, 7, 63, 7];

    /// A value that is copied into a register that others read before is made behind those.
    #[test]
    fn copies_can_still_share_a_place() {
        let mut made = Made::new();
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let regs: Vec<Operand> = made.general.iter().map(|reg| Operand::Reg(*reg)).collect();
        let (one, all) = (made.func.imm(1), made.func.imm(15));
        let none = made.func.imm(0);
        made.op("LDS", None, &[regs[2]], &[regs[0], none]);
        made.op("IADD3", None, &[regs[3], truth, truth], &[regs[2], regs[1], zero, never(), never()]);
        made.op("IADD3", None, &[regs[4], truth, truth], &[regs[1], one, zero, never(), never()]);
        made.op("MOV", None, &[regs[1]], &[regs[4], all]);
        let (mut dag, insts, accesses, timings) = made.dag();
        let words = Words::of(&made.func, &Cfg::new(&made.func));
        let live = [regs[1], regs[3]].into_iter().flat_map(|operand| words.of_operand(operand));
        let live: Vec<_> = live.map(|word| (File::R, word)).collect();
        let mut sets = Sets::new(words.len(), true);
        let free = Scheduler::new(&dag, &accesses, &timings, &live, ROOM, &mut sets).run().order;
        assert_eq!(free, [0, 2, 1, 3], "the next value would be made while the load is on its way");
        keep_copies(&made.func, &insts, &accesses, &words, &mut dag);
        let kept = Scheduler::new(&dag, &accesses, &timings, &live, ROOM, &mut sets).run().order;
        assert_eq!(kept, [0, 1, 2, 3]);
    }

    /// Where an order needs more uniform registers than there are, they are followed no more.
    #[test]
    fn too_many_uniform_registers_are_not_followed_again() {
        let mut made = Made::new();
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let pair = made.func.new_reg(RegInfo { file: RegFile::UR, words: 2 });
        let regs: Vec<Operand> = made.general.iter().map(|reg| Operand::Reg(*reg)).collect();
        made.op("ULDC.64", None, &[Operand::Reg(pair)], &[Operand::constant(0, 0x210)]);
        for word in 0..2 {
            let srcs = [regs[0], Operand::Word(pair, word), zero, never(), never()];
            made.op("IADD3", None, &[regs[1 + usize::from(word)], truth, truth], &srcs);
        }
        let of = |uniform| {
            let func = made.func.clone();
            let (fixed, results, patches) = (Vec::new(), Vec::new(), Vec::new());
            let mut selected =
                Selected { func, stack: None, fixed, results, bundles: Vec::new(), patches, sequences: Vec::new() };
            let table = Table::of(90).expect("it is known");
            before_allocation(&mut selected, table, Limits { general: 64, uniform, soft_skip: None })
        };
        assert_eq!([of(1), of(2)], [true, false]);
    }
}
