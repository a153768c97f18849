//! Decoding: from the IR to a [`Program`].
//!
//! Decoding checks all that the engine relies on (operand counts, widths, files, targets), so that no module makes
//! the engine panic; whether the module is well-formed beyond that is the verifier's business.

mod accesses;
mod bulk;
mod error;
mod image;
mod lanes;
mod matrix;
mod mbarrier;
mod opaque;
mod operands;
mod operations;
mod warpgroup;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::{
    Anchor, Block, FuncId, Function, FunctionKind, Global, Inst, Local, Module, Operand, Reg, inst_to_string,
};
use rustc_hash::{FxBuildHasher, FxHashMap};

pub use error::{DecodeError, DecodeFault, Part};

use super::access::MAX_LOCAL;
use super::program::{ALWAYS, FuncInfo, Kind, Op, Place, PredOp, Program, Slot};

type Decoded<T> = Result<T, DecodeFault>;

/// Bytes that the variables of a function may have: CUDA gives a thread that much local memory.
const MAX_VARIABLE: u64 = MAX_LOCAL as u64;

/// The addresses that were given to a module's variables, in their own spaces.
pub type Addresses = PrimaryMap<Global, u64>;

/// Decodes every function of a module; their variables begin so many bytes into their frames.
pub fn decode(module: &Module, addresses: &Addresses, frame: u32) -> Result<Program, DecodeError> {
    let mut program = Program::default();
    for id in module.functions.keys() {
        Decoder::new(module, addresses, &mut program, (id, frame)).function()?;
    }
    Ok(program)
}

/// Offset of each variable in the frame of its function, and the frame's size. Parameters of an entry are laid out
/// in parameter memory instead, in order, each at a multiple of its alignment. Before the first variable `unused` bytes
/// stay.
pub fn frame_layout(func: &Function, unused: u32) -> (SecondaryMap<Local, u32>, u32) {
    let mut offsets = SecondaryMap::new();
    offsets.resize(func.locals.len());
    let (mut frame, mut params) = (u64::from(unused), 0u64);
    for (local, var) in &func.locals {
        let is_param = func.kind == FunctionKind::Entry && func.params.contains(&local);
        let end = if is_param { &mut params } else { &mut frame };
        let at = end.checked_next_multiple_of(u64::from(var.align.max(1))).unwrap_or(u64::MAX);
        *end = at.saturating_add(var.size());
        offsets[local] = at.min(u64::from(u32::MAX)) as u32;
    }
    (offsets, frame.min(u64::from(u32::MAX)).next_multiple_of(16).min(u64::from(u32::MAX)) as u32)
}

struct Decoder<'a> {
    module: &'a Module,
    func: &'a Function,
    id: FuncId,
    addresses: &'a Addresses,
    program: &'a mut Program,
    info: FuncInfo,
    offsets: SecondaryMap<Local, u32>,
    /// Where the registers stand that have been met.
    slots: SecondaryMap<Reg, Option<Slots>>,
    constants: FxHashMap<(u32, Option<u32>), Slot>,
    pred_constants: FxHashMap<Option<bool>, Slot>,
    undef: Option<Slot>,
    /// Where each block and each edge with copies begins.
    blocks: SecondaryMap<Block, Option<u32>>,
    edges: FxHashMap<(Block, Block), u32>,
    /// Operations whose labels stand for a pair of blocks until all are placed.
    jumps: Vec<(usize, Block)>,
    inst: Option<Inst>,
}

impl<'a> Decoder<'a> {
    fn new(
        module: &'a Module,
        addresses: &'a Addresses,
        program: &'a mut Program,
        (id, unused): (FuncId, u32),
    ) -> Decoder<'a> {
        let func = &module.functions[id];
        let (offsets, frame) = frame_layout(func, unused);
        let place = |locals: &[Local]| -> Vec<(u32, u32)> {
            let known = locals.iter().filter(|local| func.locals.is_valid(**local));
            known.map(|local| (offsets[*local], func.locals[*local].size() as u32)).collect()
        };
        let (params, results) = (place(&func.params), place(&func.returns));
        let (mut slots, mut blocks) = (SecondaryMap::new(), SecondaryMap::new());
        slots.resize(func.regs().len());
        blocks.resize(func.blocks().len());
        let info = FuncInfo { name: func.name.clone(), frame, params, results, ..FuncInfo::default() };
        Decoder {
            module,
            func,
            id,
            addresses,
            program,
            info,
            offsets,
            slots,
            constants: FxHashMap::with_capacity_and_hasher(func.regs().len() / 4, FxBuildHasher),
            pred_constants: FxHashMap::default(),
            undef: None,
            blocks,
            edges: FxHashMap::default(),
            jumps: Vec::new(),
            inst: None,
        }
    }

    fn function(mut self) -> Result<(), DecodeError> {
        let body = self.body();
        body.map_err(|fault| DecodeError {
            function: self.func.name.clone(),
            inst: self.inst.map_or_else(String::new, |inst| inst_to_string(self.func, inst, Some(self.module))),
            fault,
        })?;
        self.program.functions.push(self.info);
        Ok(())
    }

    fn body(&mut self) -> Decoded<()> {
        let func = self.func;
        if let Some(var) = func.locals.values().find(|var| var.size() > MAX_VARIABLE) {
            return Err(DecodeFault::VariableTooLarge { name: var.name.clone(), bytes: var.size() });
        }
        if u64::from(self.info.frame) > MAX_VARIABLE {
            return Err(DecodeFault::FrameTooLarge { bytes: self.info.frame });
        }
        if !func.is_definition() {
            return Ok(());
        }
        self.info.entry = Some(self.program.ops.len() as u32);
        // Copies on edges come on top of the instructions.
        let operations = func.inst_count() * 3 / 2;
        self.program.ops.reserve(operations);
        self.program.insts.reserve(operations);
        self.program.opcodes.reserve(operations);
        // Most have a form over all lanes, and most of the others are accesses.
        self.program.accesses.reserve(operations / 4);
        self.program.scalars.reserve(operations / 8);
        let predecessors = self.phi_predecessors()?;
        for block in func.layout() {
            self.stubs(*block, &predecessors[*block])?;
            self.blocks[*block] = Some(self.program.ops.len() as u32);
            let mut behind_phis = false;
            for inst in func.block_insts(*block) {
                self.inst = Some(inst);
                if func.inst(inst).opcode == Opcode::Phi {
                    continue;
                }
                if !std::mem::replace(&mut behind_phis, true) {
                    self.kills(Anchor::Entry(*block))?;
                }
                self.instruction(*block, inst)?;
                self.kills(Anchor::Behind(inst))?;
            }
            let last = func.last_inst(*block);
            if !last.is_some_and(|inst| func.inst(inst).is(Flags::TERMINATOR)) {
                return Err(DecodeFault::NoTerminator(*block));
            }
        }
        self.patch()
    }

    /// Kill markers: copies of what nothing has defined.
    fn kills(&mut self, at: Anchor) -> Decoded<()> {
        let func = self.func;
        for reg in func.kills_at(at) {
            match self.reg_place(reg)? {
                Slots::Pred(slot) => {
                    let nothing = self.pred_constant(None);
                    self.copy(Slots::Pred(slot), Slots::Pred(nothing));
                }
                Slots::Words(slot, words) => {
                    let nothing = Slots::Words(self.undefined(), 1);
                    (slot..slot + words).for_each(|word| self.copy(Slots::Words(word, 1), nothing));
                }
            }
        }
        Ok(())
    }

    /// The predecessors of each block that has phis, once each, in layout order.
    fn phi_predecessors(&self) -> Decoded<SecondaryMap<Block, Vec<Block>>> {
        let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        predecessors.resize(self.func.blocks().len());
        for block in self.func.layout() {
            for successor in self.func.successors(*block) {
                if !self.func.blocks().is_valid(successor) {
                    return Err(DecodeFault::NoBlock(successor));
                }
                let first = self.func.first_inst(successor);
                let has_phis = first.is_some_and(|inst| self.func.inst(inst).opcode == Opcode::Phi);
                if has_phis && predecessors[successor].last() != Some(block) {
                    predecessors[successor].push(*block);
                }
            }
        }
        Ok(predecessors)
    }

    /// The copies of each edge into a block, before the block.
    fn stubs(&mut self, block: Block, predecessors: &[Block]) -> Decoded<()> {
        let func = self.func;
        let phis = func.block_insts(block).take_while(|inst| func.inst(*inst).opcode == Opcode::Phi);
        let phis: Vec<Inst> = phis.collect();
        for pred in predecessors {
            self.edges.insert((*pred, block), self.program.ops.len() as u32);
            let mut copies = Vec::new();
            for phi in &phis {
                self.inst = Some(*phi);
                let source = func.srcs(*phi).chunks(2).find(|pair| pair.get(1) == Some(&Operand::Block(*pred)));
                let source = source.ok_or(DecodeFault::NoPhiSource(*pred))?[0];
                let [Operand::Reg(dst)] = func.dsts(*phi) else { return Err(DecodeFault::NotOneResult) };
                copies.push((*dst, source));
            }
            self.parallel_copy(&copies)?;
            let at = self.push(Kind::Jump, None);
            self.jumps.push((at, block));
        }
        Ok(())
    }

    /// Copies that happen at once: through temporaries where a destination is also a source.
    fn parallel_copy(&mut self, copies: &[(Reg, Operand)]) -> Decoded<()> {
        let clash = copies.iter().any(|(dst, _)| copies.iter().any(|(_, src)| src.reg() == Some(*dst)));
        if !clash {
            return copies.iter().try_for_each(|(dst, src)| {
                let to = self.reg_place(*dst)?;
                let from = self.place(*src, self.width(*dst)?)?;
                self.copy(to, from);
                Ok(())
            });
        }
        let mut moves = Vec::new();
        for (dst, src) in copies {
            let width = self.width(*dst)?;
            let from = self.place(*src, width)?;
            let temporary = self.fresh(width);
            self.copy(temporary, from);
            moves.push((self.reg_place(*dst)?, temporary));
        }
        moves.into_iter().for_each(|(to, from)| self.copy(to, from));
        Ok(())
    }

    fn copy(&mut self, to: Slots, from: Slots) {
        match (to, from) {
            (Slots::Pred(dst), Slots::Pred(a)) => {
                let at = self.push(Kind::Pred(PredOp::Mov), None);
                self.program.ops[at] = Op { dst, a, ..self.program.ops[at] };
            }
            (Slots::Words(dst, words), Slots::Words(a, _)) => {
                for word in 0..words {
                    let at = self.push(Kind::Mov32, None);
                    self.program.ops[at] = Op { dst: dst + word, a: a + word, ..self.program.ops[at] };
                }
            }
            _ => unreachable!("places of one width are of one kind"),
        }
    }

    fn patch(&mut self) -> Decoded<()> {
        for (at, from) in std::mem::take(&mut self.jumps) {
            let resolve = |label: u32| -> Decoded<u32> {
                let to = Block::from_u32(label);
                let found = self.edges.get(&(from, to)).copied().or(self.blocks.get(to).copied().flatten());
                found.ok_or(DecodeFault::NotInLayout(to))
            };
            let op = self.program.ops[at];
            match op.kind {
                // A stub's jump goes to its block itself; the block is what it was recorded with.
                Kind::Jump if self.program.opcodes[at].is_none() => {
                    self.program.ops[at].x = self.blocks[from].ok_or(DecodeFault::NotInLayout(from))?;
                }
                Kind::Jump => self.program.ops[at].x = resolve(op.x)?,
                Kind::Branch => {
                    self.program.ops[at].b = resolve(op.b)?;
                    self.program.ops[at].c = resolve(op.c)?;
                }
                _ => {
                    let targets = self.program.switches[op.x as usize].clone();
                    self.program.switches[op.x as usize] = targets.into_iter().map(resolve).collect::<Decoded<_>>()?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, opcode: Option<Opcode>) -> usize {
        let at = self.program.ops.len();
        self.program.ops.push(Op { kind, negated: false, guard: ALWAYS, dst: 0, a: 0, b: 0, c: 0, x: 0 });
        self.program.insts.push((self.id, self.inst.expect("operations are made for instructions")));
        self.program.opcodes.push(opcode);
        at
    }
}

/// The width of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    Pred,
    Words(u8),
}

impl Width {
    fn of(ty: Type) -> Width {
        match ty {
            Type::Pred => Width::Pred,
            _ => Width::Words(ty.bits().div_ceil(32) as u8),
        }
    }
}

/// Where a value of any width stands: first slot, number of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slots {
    Pred(Slot),
    Words(Slot, u32),
}

impl Slots {
    fn width(self) -> Width {
        match self {
            Slots::Pred(_) => Width::Pred,
            Slots::Words(_, words) => Width::Words(words as u8),
        }
    }

    fn narrow(self) -> Decoded<Place> {
        match self {
            Slots::Pred(slot) => Ok(Place::Pred(slot)),
            Slots::Words(slot, 1) => Ok(Place::Word(slot)),
            Slots::Words(slot, 2) => Ok(Place::Pair(slot)),
            Slots::Words(_, n) => Err(DecodeFault::TooWide(n)),
        }
    }
}

fn op(kind: Kind) -> Op {
    Op { kind, negated: false, guard: ALWAYS, dst: 0, a: 0, b: 0, c: 0, x: 0 }
}

impl Op {
    fn x(self, x: u32) -> Op {
        Op { x, ..self }
    }
}
