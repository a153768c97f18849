//! A change to a function: what it is, apart from why it is wrong, and how it is made.

use oriole_ir::ops::{FieldValues, Opcode, Type};
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, InstHead, Operand, Reg, RegInfo, Schedule};

/// An instruction, by where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its block.
    pub block: Block,
    /// Its number in the block.
    pub at: usize,
    /// The instruction.
    pub inst: Inst,
}

/// What is done at a place.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// The instruction vanishes.
    Remove,
    /// It stands twice; the results of the second go nowhere.
    Repeat,
    /// It moves up in its block, to this place.
    MoveUp(usize),
    /// It moves down in its block, to this place.
    MoveDown(usize),
    /// It has other fields.
    Fields(FieldValues),
    /// It has another guard; without one, nothing that it yields otherwise.
    Guard(Option<Guard>),
    /// It yields something else where its guard is false.
    Elses(Vec<Operand>),
    /// It has other sources.
    Sources(Vec<Operand>),
    /// One of its sources is an immediate of these bits.
    Immediate(usize, u64),
    /// It has other results.
    Results(Vec<Operand>),
    /// It has other scheduling control.
    Schedule(Schedule),
    /// Its only result is a copy of an operand.
    CopyOf(Operand),
    /// Another operation on other sources, in its place.
    Operation(Opcode, FieldValues, Vec<Operand>),
    /// Another operation in front, whose result takes the place of a source.
    Before(Opcode, FieldValues, Vec<Operand>, RegInfo, Box<Change>),
    /// The upper words of its result become zero.
    Narrow,
    /// The terminator goes here, whatever it decides; the other edges vanish.
    GoTo(Block),
    /// The edge to the first block leads to the second instead.
    Redirect(Block, Block),
}

/// The instructions of a function.
pub(super) fn places(func: &Function) -> impl Iterator<Item = Place> + '_ {
    func.layout().iter().flat_map(|block| {
        let insts = func.block_insts(*block).enumerate();
        insts.map(|(at, inst)| Place { block: *block, at, inst })
    })
}

/// Stands for the result of [`Change::Before`] among the sources of what follows it.
pub(super) const RESULT: Operand = Operand::Undef;

impl Change {
    /// Makes the change.
    pub fn apply(&self, func: &mut Function, place: Place) {
        let Place { block, at, inst } = place;
        let head = func.inst(inst).head();
        match self {
            Change::Remove => func.remove_inst(inst),
            Change::Repeat => repeat(func, inst),
            Change::MoveUp(to) | Change::MoveDown(to) => {
                func.remove_inst(inst);
                func.insert_at(block, *to, inst);
            }
            Change::Fields(fields) => func.set_fields(inst, *fields),
            Change::Guard(None) => rebuild(func, inst, InstHead { guard: None, ..head }, None, Some(&[])),
            Change::Guard(guard) => func.set_guard(inst, *guard),
            Change::Elses(elses) => rebuild(func, inst, head, None, Some(elses)),
            Change::Sources(sources) => rebuild(func, inst, head, Some(sources), None),
            Change::Immediate(at, bits) => func.srcs_mut(inst)[*at] = func.imm(*bits),
            Change::Results(results) => func.dsts_mut(inst).copy_from_slice(results),
            Change::Schedule(schedule) => func.set_schedule(inst, Some(*schedule)),
            Change::CopyOf(operand) => copy(func, inst, *operand),
            Change::Operation(opcode, fields, sources) => {
                rebuild(func, inst, InstHead { opcode: *opcode, fields: *fields, ..head }, Some(sources), None);
            }
            Change::Before(opcode, fields, sources, info, then) => {
                let head = InstHead { opcode: *opcode, fields: *fields, guard: None, line: head.line };
                let result = func.new_reg(*info);
                let front = func.new_inst(head, &[result.into()], sources, &[]);
                func.insert_before(inst, front);
                then.apply(func, Place { at: at + 1, ..place });
                func.srcs_mut(inst).iter_mut().filter(|op| **op == RESULT).for_each(|op| *op = result.into());
            }
            Change::Narrow => narrow(func, inst),
            Change::GoTo(target) => go_to(func, place, *target),
            Change::Redirect(from, to) => redirect(func, place, *from, *to),
        }
    }
}

/// The instruction with another head, sources or else values.
fn rebuild(func: &mut Function, inst: Inst, head: InstHead, srcs: Option<&[Operand]>, elses: Option<&[Operand]>) {
    let dsts = func.dsts(inst).to_vec();
    let srcs = srcs.map_or_else(|| func.srcs(inst).to_vec(), <[Operand]>::to_vec);
    let elses = elses.map_or_else(|| func.elses(inst).to_vec(), <[Operand]>::to_vec);
    let schedule = func.schedule(inst);
    func.set_inst(inst, head, &dsts, &srcs, &elses);
    if schedule.is_some() {
        func.set_schedule(inst, schedule);
    }
}

fn repeat(func: &mut Function, inst: Inst) {
    let head = func.inst(inst).head();
    let infos: Vec<RegInfo> = func.defs(inst).map(|reg| func.regs()[reg]).collect();
    let dsts: Vec<Operand> = infos.into_iter().map(|info| func.new_reg(info).into()).collect();
    let (srcs, elses) = (func.srcs(inst).to_vec(), func.elses(inst).to_vec());
    let again = func.new_inst(head, &dsts, &srcs, &elses);
    func.insert_after(inst, again);
}

/// The type that moves a whole register.
pub(super) fn move_type(info: RegInfo) -> Option<Type> {
    match info.words {
        _ if info.is_predicate() => Some(Type::Pred),
        1 => Some(Type::B32),
        2 => Some(Type::B64),
        4 => Some(Type::B128),
        _ => None,
    }
}

fn copy(func: &mut Function, inst: Inst, operand: Operand) {
    let Some(ty) = func.defs(inst).next().and_then(|reg| move_type(func.regs()[reg])) else { return };
    let mov = InstBuilder::new(Opcode::Mov).field(ty).head();
    let head = InstHead { opcode: mov.opcode, fields: mov.fields, ..func.inst(inst).head() };
    rebuild(func, inst, head, Some(&[operand]), None);
}

/// The result goes to a new register, of which the first word alone reaches the old one.
fn narrow(func: &mut Function, inst: Inst) {
    let Some(Operand::Reg(old)) = func.dsts(inst).first().copied() else { return };
    let new: Reg = func.new_reg(func.regs()[old]);
    func.dsts_mut(inst)[0] = new.into();
    let words = func.regs()[old].words;
    let pack = InstBuilder::new(Opcode::Pack).field(Type::B32).dst(old).src(Operand::Word(new, 0));
    pack.srcs((1..words).map(|_| Operand::imm(0))).insert_after(func, inst);
}

/// Takes a block out of the sources of the phis of another one.
fn forget(func: &mut Function, block: Block, from: Block) {
    for inst in func.block_insts(block).collect::<Vec<_>>() {
        if func.inst(inst).opcode == Opcode::Phi {
            let pairs = func.srcs(inst).chunks_exact(2).filter(|pair| pair[1] != Operand::Block(from));
            let kept: Vec<Operand> = pairs.flatten().copied().collect();
            func.set_srcs(inst, &kept);
        }
    }
}

fn go_to(func: &mut Function, Place { block, inst, .. }: Place, target: Block) {
    let others: Vec<Block> = func.successors(block).filter(|other| *other != target).collect();
    others.into_iter().for_each(|other| forget(func, other, block));
    InstBuilder::new(Opcode::Bra).src(target).replace(func, inst);
}

fn redirect(func: &mut Function, Place { block, inst, .. }: Place, from: Block, to: Block) {
    let defined: Vec<Reg> = func.block_insts(from).flat_map(|inst| func.defs(inst)).collect();
    let usable = |operand: &Operand| operand.reg().is_none_or(|reg| !defined.contains(&reg));
    for phi in func.block_insts(to).collect::<Vec<_>>() {
        if func.inst(phi).opcode == Opcode::Phi {
            let mut sources = func.srcs(phi).to_vec();
            let value = sources.chunks_exact(2).find(|pair| pair[1] == Operand::Block(from)).map(|pair| pair[0]);
            let value = value.filter(usable).unwrap_or(Operand::imm(0));
            sources.extend([value, Operand::Block(block)]);
            func.set_srcs(phi, &sources);
        }
    }
    let targets = func.srcs_mut(inst).iter_mut();
    targets.filter(|op| **op == Operand::Block(from)).for_each(|op| *op = Operand::Block(to));
    forget(func, from, block);
}
