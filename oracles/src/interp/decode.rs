//! Decoding: from the IR to a [`Program`].
//!
//! Decoding checks all that the engine relies on (operand counts, widths, files, targets), so that no module makes
//! the engine panic; whether the module is well-formed beyond that is the verifier's business.

use std::collections::HashMap;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use oriole_optimizer::ir::{
    Block, FuncId, Function, FunctionKind, Global, Inst, InstData, Local, Module, Operand, Reg, inst_to_string,
};
use oriole_optimizer::ops::{
    AtomOp, BoolOp, Compare, Field, FieldValue, Flags, Ftz, Opcode, ReduxOp, Relu, Rounding, Saturate, Shape,
    ShiftDirection, ShiftMode, ShuffleMode, Space, SpecialReg, SrcType, Type, VoteMode,
};

use super::memory::CODE_WINDOW;
use super::partial::Flow;
use super::program::*;
use super::scalar::ScalarOp;

/// Why a function cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{function}` cannot run: {reason}, in `{inst}`")]
pub struct DecodeError {
    /// The function.
    pub function: String,
    /// The instruction's text.
    pub inst: String,
    /// What is wrong.
    pub reason: String,
}

type Decoded<T> = Result<T, String>;

/// The addresses that were given to a module's variables, in their own spaces.
pub type Addresses = PrimaryMap<Global, u64>;

/// Decodes every function of a module.
pub fn decode(module: &Module, addresses: &Addresses) -> Result<Program, DecodeError> {
    let mut program = Program::default();
    for id in module.functions.keys() {
        Decoder::new(module, addresses, &mut program, id).function()?;
    }
    Ok(program)
}

/// Offset of each variable in the frame of its function, and the frame's size. Parameters of an entry are laid out
/// in parameter memory instead, in order, each at a multiple of its alignment.
pub fn frame_layout(func: &Function) -> (SecondaryMap<Local, u32>, u32) {
    let mut offsets = SecondaryMap::new();
    let (mut frame, mut params) = (0u64, 0u64);
    for (local, var) in &func.locals {
        let is_param = func.kind == FunctionKind::Entry && func.params.contains(&local);
        let end = if is_param { &mut params } else { &mut frame };
        let at = end.next_multiple_of(u64::from(var.align.max(1)));
        *end = at + var.size();
        offsets[local] = at.min(u64::from(u32::MAX)) as u32;
    }
    (offsets, frame.next_multiple_of(16).min(u64::from(u32::MAX)) as u32)
}

struct Decoder<'a> {
    module: &'a Module,
    func: &'a Function,
    id: FuncId,
    addresses: &'a Addresses,
    program: &'a mut Program,
    info: FuncInfo,
    offsets: SecondaryMap<Local, u32>,
    slots: SecondaryMap<Reg, Option<Slot>>,
    constants: HashMap<(u32, Option<u32>), Slot>,
    pred_constants: HashMap<Option<bool>, Slot>,
    undef: Option<Slot>,
    /// Where each block and each edge with copies begins.
    blocks: SecondaryMap<Block, Option<u32>>,
    edges: HashMap<(Block, Block), u32>,
    /// Operations whose labels stand for a pair of blocks until all are placed.
    jumps: Vec<(usize, Block)>,
    inst: Option<Inst>,
}

impl<'a> Decoder<'a> {
    fn new(module: &'a Module, addresses: &'a Addresses, program: &'a mut Program, id: FuncId) -> Decoder<'a> {
        let func = &module.functions[id];
        let (offsets, frame) = frame_layout(func);
        let place = |locals: &[Local]| -> Vec<(u32, u32)> {
            let known = locals.iter().filter(|local| func.locals.is_valid(**local));
            known.map(|local| (offsets[*local], func.locals[*local].size() as u32)).collect()
        };
        let (params, results) = (place(&func.params), place(&func.returns));
        let info = FuncInfo { name: func.name.clone(), frame, params, results, ..FuncInfo::default() };
        Decoder {
            module,
            func,
            id,
            addresses,
            program,
            info,
            offsets,
            slots: SecondaryMap::new(),
            constants: HashMap::new(),
            pred_constants: HashMap::new(),
            undef: None,
            blocks: SecondaryMap::new(),
            edges: HashMap::new(),
            jumps: Vec::new(),
            inst: None,
        }
    }

    fn function(mut self) -> Result<(), DecodeError> {
        let body = self.body();
        body.map_err(|reason| DecodeError {
            function: self.func.name.clone(),
            inst: self.inst.map_or_else(String::new, |inst| inst_to_string(self.func, inst, Some(self.module))),
            reason,
        })?;
        self.program.functions.push(self.info);
        Ok(())
    }

    fn body(&mut self) -> Decoded<()> {
        let func = self.func;
        if !func.is_definition() {
            return Ok(());
        }
        self.info.entry = Some(self.program.ops.len() as u32);
        let predecessors = self.phi_predecessors()?;
        for block in &func.layout {
            self.stubs(*block, &predecessors[*block])?;
            self.blocks[*block] = Some(self.program.ops.len() as u32);
            for inst in &func.blocks[*block].insts {
                self.inst = Some(*inst);
                if func.insts[*inst].opcode != Opcode::Phi {
                    self.instruction(*block, *inst)?;
                }
            }
            let last = func.blocks[*block].insts.last();
            if !last.is_some_and(|inst| func.insts[*inst].is(Flags::TERMINATOR)) {
                return Err(format!("`{block}` does not end in a terminator"));
            }
        }
        self.patch()
    }

    /// The predecessors of each block that has phis, once each, in layout order.
    fn phi_predecessors(&self) -> Decoded<SecondaryMap<Block, Vec<Block>>> {
        let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        for block in &self.func.layout {
            for successor in self.func.successors(*block) {
                if !self.func.blocks.is_valid(successor) {
                    return Err(format!("`{successor}` does not exist"));
                }
                let first = self.func.blocks[successor].insts.first();
                let has_phis = first.is_some_and(|inst| self.func.insts[*inst].opcode == Opcode::Phi);
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
        let phis = func.blocks[block].insts.iter().take_while(|inst| func.insts[**inst].opcode == Opcode::Phi);
        let phis: Vec<Inst> = phis.copied().collect();
        for pred in predecessors {
            self.edges.insert((*pred, block), self.program.ops.len() as u32);
            let mut copies = Vec::new();
            for phi in &phis {
                self.inst = Some(*phi);
                let source = func.srcs(*phi).chunks(2).find(|pair| pair.get(1) == Some(&Operand::Block(*pred)));
                let source = source.ok_or_else(|| format!("the phi has no source for `{pred}`"))?[0];
                let [Operand::Reg(dst)] = func.dsts(*phi) else { return Err("a phi defines one register".into()) };
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
                found.ok_or_else(|| format!("`{to}` is not part of the function"))
            };
            let op = self.program.ops[at];
            match op.kind {
                // A stub's jump goes to its block itself; the block is what it was recorded with.
                Kind::Jump if self.program.opcodes[at].is_none() => {
                    self.program.ops[at].x = self.blocks[from].ok_or("a phi's block is not placed")?;
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

    fn width(&self, reg: Reg) -> Decoded<Width> {
        let info = self.func.regs.get(reg).ok_or("an operand is not a register of the function")?;
        Ok(if info.is_predicate() { Width::Pred } else { Width::Words(info.words) })
    }

    fn fresh(&mut self, width: Width) -> Slots {
        match width {
            Width::Pred => {
                self.info.preds += 1;
                Slots::Pred(self.info.preds - 1)
            }
            Width::Words(words) => {
                self.info.words += u32::from(words);
                Slots::Words(self.info.words - u32::from(words), u32::from(words))
            }
        }
    }

    fn reg_place(&mut self, reg: Reg) -> Decoded<Slots> {
        let width = self.width(reg)?;
        if self.slots[reg].is_none() {
            self.slots[reg] = Some(match self.fresh(width) {
                Slots::Pred(slot) | Slots::Words(slot, _) => slot,
            });
        }
        let slot = self.slots[reg].unwrap_or_default();
        Ok(match width {
            Width::Pred => Slots::Pred(slot),
            Width::Words(words) => Slots::Words(slot, u32::from(words)),
        })
    }

    /// Where an operand of a given width stands; constants get slots of their own.
    fn place(&mut self, operand: Operand, width: Width) -> Decoded<Slots> {
        match (operand, width) {
            (Operand::Reg(reg), _) if self.width(reg)? == width => self.reg_place(reg),
            (Operand::Word(reg, word), Width::Words(1)) => match self.reg_place(reg)? {
                Slots::Words(slot, words) if u32::from(word) < words => Ok(Slots::Words(slot + u32::from(word), 1)),
                _ => Err(format!("{operand:?} is out of range")),
            },
            (Operand::Reg(_) | Operand::Word(..), _) => Err(format!("{operand:?} has another width than its place")),
            (Operand::Undef, Width::Pred) => Ok(Slots::Pred(self.pred_constant(None))),
            (Operand::Undef, Width::Words(words)) => Ok(Slots::Words(self.undefined(), u32::from(words))),
            (Operand::Imm(bits), Width::Pred) => Ok(Slots::Pred(self.pred_constant(Some(bits & 1 == 1)))),
            (Operand::Imm(bits), Width::Words(words)) => Ok(self.constant(bits, words)),
            (Operand::Global(id), Width::Words(words)) if self.addresses.is_valid(id) => {
                Ok(self.constant(self.addresses[id], words))
            }
            (Operand::Func(id), Width::Words(words)) => Ok(self.constant(CODE_WINDOW + 16 * id.index() as u64, words)),
            (Operand::Local(local), Width::Words(words @ (1 | 2))) => self.local_address(local, words),
            (Operand::Const { bank: 0, offset }, Width::Words(words)) => {
                let Slots::Words(slot, n) = self.fresh(width) else { unreachable!("words stay words") };
                self.info.bank.extend((0..u32::from(words)).map(|word| (slot + word, offset + 4 * word)));
                Ok(Slots::Words(slot, n))
            }
            _ => Err(format!("{operand:?} is no value of this width")),
        }
    }

    fn constant(&mut self, bits: u64, words: u8) -> Slots {
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        let key = (low, (words > 1).then_some(high));
        if words <= 2
            && let Some(slot) = self.constants.get(&key)
        {
            return Slots::Words(*slot, u32::from(words));
        }
        let Slots::Words(slot, n) = self.fresh(Width::Words(words)) else { unreachable!("words stay words") };
        let value = |word| match word {
            0 => low,
            1 => high,
            _ => 0,
        };
        self.info.constants.extend((0..n).map(|word| (slot + word, value(word))));
        self.constants.insert(key, slot);
        Slots::Words(slot, n)
    }

    fn pred_constant(&mut self, value: Option<bool>) -> Slot {
        if let Some(slot) = self.pred_constants.get(&value) {
            return *slot;
        }
        self.info.preds += 1;
        let slot = self.info.preds - 1;
        match value {
            Some(true) => self.info.truths.push(slot),
            Some(false) => self.info.falsehoods.push(slot),
            None => {}
        }
        self.pred_constants.insert(value, slot);
        slot
    }

    /// Four words that nothing ever writes.
    fn undefined(&mut self) -> Slot {
        *self.undef.get_or_insert_with(|| {
            self.info.words += 4;
            self.info.words - 4
        })
    }

    fn local_address(&mut self, local: Local, words: u8) -> Decoded<Slots> {
        if !self.func.locals.is_valid(local) {
            return Err("a variable does not exist".into());
        }
        if self.is_entry_param(local) {
            return Ok(self.constant(u64::from(self.offsets[local]), words));
        }
        let place = self.fresh(Width::Words(words));
        let Slots::Words(dst, _) = place else { unreachable!("words stay words") };
        let at = self.push(Kind::LocalAddress, None);
        self.program.ops[at] = Op { dst, a: self.offsets[local], b: u32::from(words), ..self.program.ops[at] };
        Ok(place)
    }

    fn is_entry_param(&self, local: Local) -> bool {
        self.func.kind == FunctionKind::Entry && self.func.params.contains(&local)
    }

    /// Where a source of a shape stands.
    fn source(&mut self, data: &InstData, inst: Inst, index: usize, shape: Shape) -> Decoded<Place> {
        let operand = *self.func.srcs(inst).get(index).ok_or("operands are missing")?;
        self.typed(data, operand, shape)
    }

    fn typed(&mut self, data: &InstData, operand: Operand, shape: Shape) -> Decoded<Place> {
        let width = match shape {
            Shape::Imm => Width::Words(1),
            Shape::Base => match self.func.operand_info(operand) {
                Some(info) => Width::Words(info.words),
                None => Width::Words(2),
            },
            _ => Width::of(data.shape_type(shape).ok_or("an operand is no value")?),
        };
        self.place(operand, width)?.narrow()
    }

    fn destination(&mut self, data: &InstData, inst: Inst, index: usize, shape: Shape) -> Decoded<Place> {
        match self.func.dsts(inst).get(index) {
            Some(operand @ Operand::Reg(_)) => self.typed(data, *operand, shape),
            _ => Err("a destination is missing or no register".into()),
        }
    }

    fn instruction(&mut self, block: Block, inst: Inst) -> Decoded<()> {
        let data = self.func.insts[inst];
        self.else_values(inst)?;
        let guard = match data.guard {
            None => (ALWAYS, false),
            Some(guard) => match self.reg_place(guard.reg)? {
                Slots::Pred(slot) => (slot, guard.negated),
                Slots::Words(..) => return Err("the guard is no predicate".into()),
            },
        };
        let op = self.operation(block, inst, &data)?;
        let at = self.program.ops.len();
        self.program.ops.push(Op { guard: guard.0, negated: guard.1, ..op });
        self.program.insts.push((self.id, inst));
        self.program.opcodes.push(Some(data.opcode));
        if matches!(op.kind, Kind::Jump | Kind::Branch | Kind::Switch) {
            self.jumps.push((at, block));
        }
        Ok(())
    }

    fn else_values(&mut self, inst: Inst) -> Decoded<()> {
        let func = self.func;
        for (dst, value) in func.dsts(inst).iter().zip(func.elses(inst)) {
            let Operand::Reg(reg) = *dst else { return Err("a destination is no register".into()) };
            let from = self.place(*value, self.width(reg)?)?;
            let to = self.reg_place(reg)?;
            self.copy(to, from);
        }
        Ok(())
    }

    fn operation(&mut self, _block: Block, inst: Inst, data: &InstData) -> Decoded<Op> {
        if let Some(scalar) = ScalarOp::resolve(data.opcode, &data.fields) {
            return self.scalar(inst, data, scalar);
        }
        match data.opcode {
            Opcode::Mov => self.mov(inst, data),
            Opcode::Pack => self.pack(inst, data),
            Opcode::S2r | Opcode::Cs2r => self.special(inst, data),
            Opcode::Ld | Opcode::Ldu => self.load(inst, data),
            Opcode::St => self.store(inst, data),
            Opcode::Atom | Opcode::AtomCas | Opcode::Red => self.atomic(inst, data),
            Opcode::CpAsync => self.async_copy(inst, data),
            Opcode::IsSpaceP | Opcode::Cvta => self.address_test(inst, data),
            Opcode::Bra => Ok(op(Kind::Jump).x(self.label(inst, 0)?)),
            Opcode::CBra => self.branch(inst, data),
            Opcode::Brx => self.switch(inst, data),
            Opcode::Call => self.call(inst),
            Opcode::Ret => Ok(op(Kind::Return)),
            Opcode::Exit => Ok(op(Kind::Exit)),
            Opcode::Trap => Ok(op(Kind::Trap)),
            Opcode::BarSync | Opcode::BarArrive | Opcode::BarRed | Opcode::BarRedPopc => self.barrier(inst, data),
            Opcode::ActiveMask => {
                let Place::Word(dst) = self.destination(data, inst, 0, Shape::R)? else {
                    return Err("the destination is no word".into());
                };
                Ok(Op { dst, ..op(Kind::ActiveMask) })
            }
            _ if data.is(Flags::CONVERGENT) => self.collective(inst, data),
            Opcode::Fence => Ok(op(Kind::Fence)),
            _ if data.is(Flags::HINT) || data.is(Flags::FENCE) => Ok(op(Kind::Nop)),
            Opcode::CpAsyncCommit | Opcode::BrkPt => Ok(op(Kind::Nop)),
            other => Err(format!("the interpreter has no meaning for `{}`", other.row().name)),
        }
    }

    fn scalar(&mut self, inst: Inst, data: &InstData, scalar: ScalarOp) -> Decoded<Op> {
        let row = data.opcode.row();
        if self.func.srcs(inst).len() != row.srcs.len() || self.func.dsts(inst).len() != row.dsts.len() {
            return Err("the number of operands is wrong".into());
        }
        let mut ops = ScalarOps {
            op: scalar,
            srcs: [Place::None; 5],
            dsts: [Place::None; 2],
            settles: data.field::<BoolOp>().filter(|_| row.srcs.get(2) == Some(&Shape::P)).and_then(settling),
            flow: Flow::of(data),
        };
        for (i, shape) in row.srcs.iter().enumerate() {
            ops.srcs[i] = self.source(data, inst, i, *shape)?;
        }
        for (i, shape) in row.dsts.iter().enumerate() {
            ops.dsts[i] = self.destination(data, inst, i, *shape)?;
        }
        if let Some(fast) = fast_form(self.func, inst, data, &ops) {
            return Ok(fast);
        }
        self.program.scalars.push(ops);
        Ok(op(Kind::Scalar).x(self.program.scalars.len() as u32 - 1))
    }

    fn mov(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let [Operand::Reg(dst)] = *self.func.dsts(inst) else { return Err("mov defines one register".into()) };
        let [src] = *self.func.srcs(inst) else { return Err("mov has one source".into()) };
        let width = Width::of(data.ty());
        if self.width(dst)? != width {
            return Err("the destination has another width than the type".into());
        }
        match (self.reg_place(dst)?, self.place(src, width)?) {
            (Slots::Pred(dst), Slots::Pred(a)) => Ok(Op { dst, a, ..op(Kind::Pred(PredOp::Mov)) }),
            (Slots::Words(dst, 1), Slots::Words(a, _)) => Ok(Op { dst, a, ..op(Kind::Mov32) }),
            (Slots::Words(dst, 2), Slots::Words(a, _)) => Ok(Op { dst, a, ..op(Kind::Mov64) }),
            (Slots::Words(dst, n), Slots::Words(a, _)) => {
                let parts = (0..n).map(|word| Place::Word(a + word)).collect();
                self.program.packs.push((parts, 32));
                Ok(Op { dst, ..op(Kind::Pack) }.x(self.program.packs.len() as u32 - 1))
            }
            _ => Err("a predicate and a word are not the same".into()),
        }
    }

    fn pack(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let parts = self.func.srcs(inst).len();
        let [Operand::Reg(reg)] = *self.func.dsts(inst) else { return Err("pack defines one register".into()) };
        let dst = match self.reg_place(reg)? {
            Slots::Words(slot, words) if words == u32::from(data.packed_words(parts)) => slot,
            _ => return Err("the destination is not as wide as the parts together".into()),
        };
        let places = (0..parts).map(|i| self.source(data, inst, i, Shape::Parts)).collect::<Decoded<Vec<_>>>()?;
        self.program.packs.push((places, data.ty().bits() as u8));
        Ok(Op { dst, ..op(Kind::Pack) }.x(self.program.packs.len() as u32 - 1))
    }

    fn special(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let [Operand::Special(reg)] = *self.func.srcs(inst) else { return Err("expected a special register".into()) };
        let dst = self.destination(data, inst, 0, Shape::T)?;
        let (dst, class) = match dst {
            Place::Word(slot) => (slot, 1),
            Place::Pair(slot) => (slot, 2),
            Place::Pred(slot) => (slot, 0),
            Place::None => return Err("the destination is no register".into()),
        };
        self.program.reserved_shared |= reg.name().starts_with("reserved_smem");
        let index = SpecialReg::ALL.iter().position(|r| *r == reg).unwrap_or_default();
        Ok(Op { dst, a: class, ..op(Kind::Special) }.x(index as u32))
    }

    /// The address in sources `at` and `at + 1`.
    fn address(&mut self, inst: Inst, at: usize, space: Space) -> Decoded<Address> {
        let func = self.func;
        let (base, offset) = match func.srcs(inst).get(at..) {
            Some([base, Operand::Imm(offset), ..]) => (*base, *offset),
            _ => return Err("an address is a base and an offset".into()),
        };
        let mut memory = match space {
            Space::Generic => Memory::Generic,
            Space::Global => Memory::Global,
            Space::Shared => Memory::Shared,
            Space::Local => Memory::Local,
            Space::Const => Memory::Const,
            Space::Param if func.kind == FunctionKind::Entry => Memory::Param,
            Space::Param => Memory::Local,
        };
        if let Operand::Local(local) = base {
            if !func.locals.is_valid(local) {
                return Err("a variable does not exist".into());
            }
            let frame = !self.is_entry_param(local);
            if matches!(memory, Memory::Param | Memory::Local) {
                memory = if frame { Memory::Local } else { Memory::Param };
            }
            let offset = offset.wrapping_add(u64::from(self.offsets[local]));
            return Ok(Address { base: Place::None, offset, frame, memory });
        }
        let data = func.insts[inst];
        let base = self.typed(&data, base, Shape::Base)?;
        Ok(Address { base, offset, frame: false, memory })
    }

    fn space(data: &InstData) -> Space {
        data.field::<Space>().unwrap_or(Space::Generic)
    }

    /// The first slot of each element's register; `b128` elements take four words.
    fn elements(&mut self, data: &InstData, operands: &[Operand]) -> Decoded<Vec<Slot>> {
        if operands.len() != data.vector_len() {
            return Err("the number of registers is not the vector's length".into());
        }
        let width = Width::of(data.ty());
        let slot = |slots| match slots {
            Slots::Words(slot, _) => Ok(slot),
            Slots::Pred(_) => Err("memory holds no predicates".to_string()),
        };
        operands.iter().map(|operand| self.place(*operand, width).and_then(slot)).collect()
    }

    fn access(&mut self, inst: Inst, data: &InstData, regs: &[Operand]) -> Decoded<Access> {
        use oriole_optimizer::ops::Order;
        Ok(Access {
            address: self.address(inst, 0, Self::space(data))?,
            bytes: (data.ty().bits() / 8) as u8,
            signed: data.ty().is_signed(),
            regs: self.elements(data, regs)?,
            rmw: None,
            operands: Vec::new(),
            weak: data.field::<Order>().is_none_or(|order| order == Order::Weak),
        })
    }

    fn load(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let dsts = self.func.dsts(inst);
        let access = self.access(inst, data, dsts)?;
        let fast = match access.address.memory {
            Memory::Shared => Kind::LoadShared32,
            Memory::Global => Kind::LoadGlobal32,
            _ => Kind::Load,
        };
        let kind = if access.regs.len() == 1 && access.bytes == 4 { fast } else { Kind::Load };
        Ok(self.with_access(kind, access))
    }

    fn store(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let values = self.func.srcs(inst).get(2..).ok_or("operands are missing")?;
        let access = self.access(inst, data, values)?;
        let fast = match access.address.memory {
            Memory::Shared => Kind::StoreShared32,
            Memory::Global => Kind::StoreGlobal32,
            _ => Kind::Store,
        };
        let kind = if access.regs.len() == 1 && access.bytes == 4 { fast } else { Kind::Store };
        Ok(self.with_access(kind, access))
    }

    fn with_access(&mut self, kind: Kind, access: Access) -> Op {
        self.program.accesses.push(access);
        op(kind).x(self.program.accesses.len() as u32 - 1)
    }

    fn atomic(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let func = self.func;
        let operands = func.srcs(inst).get(2..).ok_or("operands are missing")?;
        let mut access = self.access(inst, data, &[Operand::Undef].repeat(data.vector_len()))?;
        access.regs = if data.opcode == Opcode::Red { Vec::new() } else { self.elements(data, func.dsts(inst))? };
        let rmw = match data.opcode {
            Opcode::AtomCas => Rmw::Cas,
            _ => Rmw::Op(data.field::<AtomOp>().ok_or("the operation is missing")?),
        };
        let n = if rmw == Rmw::Cas { 2 } else { data.vector_len() };
        if operands.len() != n {
            return Err("the number of operands is wrong".into());
        }
        for operand in operands {
            let one = self.place(*operand, Width::of(data.ty()))?;
            let Slots::Words(slot, _) = one else { return Err("memory holds no predicates".into()) };
            access.operands.push(slot);
        }
        access.rmw = Some((rmw, data.ty()));
        access.weak = false;
        Ok(self.with_access(Kind::Atomic, access))
    }

    fn async_copy(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let to = self.address(inst, 0, Space::Shared)?;
        let from = self.address(inst, 2, Space::Global)?;
        let bytes = match self.func.srcs(inst).get(4) {
            Some(Operand::Imm(bytes @ (4 | 8 | 16))) => *bytes as u8,
            _ => return Err("a copy is of 4, 8 or 16 bytes".into()),
        };
        let size = self.source(data, inst, 5, Shape::R)?;
        self.program.copies.push(AsyncCopy { to, from, bytes, size });
        Ok(op(Kind::AsyncCopy).x(self.program.copies.len() as u32 - 1))
    }

    fn address_test(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        use oriole_optimizer::ops::CvtaDirection;
        let space = Self::space(data) as u32;
        let base = self.source(data, inst, 0, Shape::Base)?;
        let (a, wide) = match base {
            Place::Word(slot) => (slot, 0),
            Place::Pair(slot) => (slot, 1),
            _ => return Err("an address is a word or two".into()),
        };
        if data.opcode == Opcode::IsSpaceP {
            let Place::Pred(dst) = self.destination(data, inst, 0, Shape::P)? else {
                return Err("the destination is no predicate".into());
            };
            return Ok(Op { dst, a, b: wide, ..op(Kind::IsSpace) }.x(space));
        }
        let (dst, dst_wide) = match self.destination(data, inst, 0, Shape::T)? {
            Place::Word(slot) => (slot, 0),
            Place::Pair(slot) => (slot, 1),
            _ => return Err("an address is a word or two".into()),
        };
        let kind = match data.field::<CvtaDirection>() {
            Some(CvtaDirection::FromGeneric) => Kind::FromGeneric,
            _ => Kind::ToGeneric,
        };
        Ok(Op { dst, a, b: wide, c: dst_wide, ..op(kind) }.x(space))
    }

    fn label(&self, inst: Inst, index: usize) -> Decoded<u32> {
        match self.func.srcs(inst).get(index) {
            Some(Operand::Block(block)) => Ok(block.as_u32()),
            _ => Err("a branch target is no block".into()),
        }
    }

    fn branch(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let Place::Pred(a) = self.source(data, inst, 0, Shape::P)? else {
            return Err("the condition is no predicate".into());
        };
        Ok(Op { a, b: self.label(inst, 1)?, c: self.label(inst, 2)?, ..op(Kind::Branch) })
    }

    fn switch(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let Place::Word(a) = self.source(data, inst, 0, Shape::R)? else { return Err("the index is no word".into()) };
        let n = self.func.srcs(inst).len();
        let targets = (1..n).map(|i| self.label(inst, i)).collect::<Decoded<Vec<_>>>()?;
        self.program.switches.push(targets);
        Ok(Op { a, ..op(Kind::Switch) }.x(self.program.switches.len() as u32 - 1))
    }

    fn call(&mut self, inst: Inst) -> Decoded<Op> {
        let func = self.func;
        let [callee, Operand::Imm(results), params @ ..] = func.srcs(inst) else {
            return Err("a call is a callee, a number of results and parameters".into());
        };
        let target = match callee {
            Operand::Func(id) if self.module.functions.is_valid(*id) => Ok(*id),
            other => Err(self.place(*other, Width::Words(2))?.narrow()?),
        };
        let place = |operand: &Operand| match operand {
            Operand::Local(local) if func.locals.is_valid(*local) && !self.is_entry_param(*local) => {
                Ok((self.offsets[*local], func.locals[*local].size() as u32))
            }
            _ => Err("a call's parameters are variables of the function".to_string()),
        };
        let places = params.iter().map(place).collect::<Decoded<Vec<_>>>()?;
        let split = (*results as usize).min(places.len());
        let (results, args) = (places[..split].to_vec(), places[split..].to_vec());
        self.program.calls.push(Call { target, args, results });
        Ok(op(Kind::Call).x(self.program.calls.len() as u32 - 1))
    }

    fn barrier(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let id = self.source(data, inst, 0, Shape::R)?;
        let count = self.source(data, inst, 1, Shape::R)?;
        let reduce = match data.opcode {
            Opcode::BarRedPopc => Some(BarrierReduce::Popc),
            Opcode::BarRed => Some(BarrierReduce::Bool(data.field::<BoolOp>().unwrap_or(BoolOp::And))),
            _ => None,
        };
        let mut decoded = Op { ..op(Kind::Barrier) };
        if let Some(reduce) = reduce {
            let Place::Pred(a) = self.source(data, inst, 2, Shape::P)? else {
                return Err("the source is no predicate".into());
            };
            let shape = if reduce == BarrierReduce::Popc { Shape::R } else { Shape::P };
            decoded.a = a;
            decoded.dst = match self.destination(data, inst, 0, shape)? {
                Place::Word(slot) | Place::Pred(slot) => slot,
                _ => return Err("the destination has the wrong width".into()),
            };
        }
        let waits = data.opcode != Opcode::BarArrive;
        self.program.barriers.push(Barrier { id, count, waits, reduce });
        Ok(decoded.x(self.program.barriers.len() as u32 - 1))
    }

    fn collective(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let kind = match data.opcode {
            Opcode::BarWarpSync => CollectiveOp::Sync,
            Opcode::Shfl => CollectiveOp::Shuffle(data.field::<ShuffleMode>().unwrap_or(ShuffleMode::Idx)),
            Opcode::Vote => CollectiveOp::Vote(data.field::<VoteMode>().unwrap_or(VoteMode::All)),
            Opcode::Ballot => CollectiveOp::Ballot,
            Opcode::MatchAny => CollectiveOp::MatchAny,
            Opcode::MatchAll => CollectiveOp::MatchAll,
            Opcode::Redux => CollectiveOp::Reduce(data.field::<ReduxOp>().unwrap_or(ReduxOp::Add), data.ty()),
            Opcode::Elect => CollectiveOp::Elect,
            other => return Err(format!("the interpreter has no meaning for `{}`", other.row().name)),
        };
        let row = data.opcode.row();
        let mut collective = Collective { op: kind, srcs: [Place::None; 3], mask: Place::None, dsts: [Place::None; 2] };
        let last = row.srcs.len() - 1;
        for (i, shape) in row.srcs.iter().enumerate().take(last) {
            collective.srcs[i] = self.source(data, inst, i, *shape)?;
        }
        collective.mask = self.source(data, inst, last, row.srcs[last])?;
        for (i, shape) in row.dsts.iter().enumerate() {
            collective.dsts[i] = self.destination(data, inst, i, *shape)?;
        }
        self.program.collectives.push(collective);
        Ok(op(Kind::Collective).x(self.program.collectives.len() as u32 - 1))
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
    fn narrow(self) -> Decoded<Place> {
        match self {
            Slots::Pred(slot) => Ok(Place::Pred(slot)),
            Slots::Words(slot, 1) => Ok(Place::Word(slot)),
            Slots::Words(slot, 2) => Ok(Place::Pair(slot)),
            Slots::Words(_, n) => Err(format!("a value of {n} words is no operand of this instruction")),
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

/// The form of an operation that runs over all lanes at once, where there is one.
fn fast_form(func: &Function, inst: Inst, data: &InstData, ops: &ScalarOps) -> Option<Op> {
    let kind = fast_kind(func, inst, data)?;
    let slot = |place: Place| match place {
        Place::Word(slot) | Place::Pair(slot) | Place::Pred(slot) => slot,
        Place::None => 0,
    };
    let [a, b, c] = [ops.srcs[0], ops.srcs[1], ops.srcs[2]].map(slot);
    Some(Op { dst: slot(ops.dsts[0]), a, b, c, ..op(kind) })
}

fn fast_kind(func: &Function, inst: Inst, data: &InstData) -> Option<Kind> {
    let ty = data.ty();
    let word = matches!(ty, Type::B32 | Type::U32 | Type::S32);
    let long = matches!(ty, Type::B64 | Type::U64 | Type::S64);
    let signed = ty.is_signed();
    if data.field::<Saturate>() == Some(Saturate::Sat) || data.field::<Relu>() == Some(Relu::Relu) {
        return None;
    }
    let plain_float = data.field::<Ftz>() == Some(Ftz::No)
        && data.field::<Rounding>().is_none_or(|r| matches!(r, Rounding::Default | Rounding::Rn));
    let either = |narrow: Bin32, wide: Bin64| match (word, long) {
        (true, _) => Some(Kind::Bin32(narrow)),
        (_, true) => Some(Kind::Bin64(wide)),
        _ => None,
    };
    match data.opcode {
        Opcode::IAdd => either(Bin32::Add, Bin64::Add),
        Opcode::ISub => either(Bin32::Sub, Bin64::Sub),
        Opcode::IMulLo => either(Bin32::Mul, Bin64::Mul),
        Opcode::IMulHi if word => Some(Kind::Bin32(if signed { Bin32::MulHiS } else { Bin32::MulHiU })),
        Opcode::IMadLo if word => Some(Kind::Tri32(Tri32::Mad)),
        Opcode::IMulWide if word => Some(Kind::Wide(if signed { Wide::MulS } else { Wide::MulU })),
        Opcode::IMadWide if word => Some(Kind::Wide(if signed { Wide::MadS } else { Wide::MadU })),
        Opcode::IMin if word => Some(Kind::Bin32(if signed { Bin32::MinS } else { Bin32::MinU })),
        Opcode::IMax if word => Some(Kind::Bin32(if signed { Bin32::MaxS } else { Bin32::MaxU })),
        Opcode::INeg if word => Some(Kind::Un32(Un32::Neg)),
        Opcode::IAbs if word => Some(Kind::Un32(Un32::Abs)),
        Opcode::And if ty == Type::Pred => Some(Kind::Pred(PredOp::And)),
        Opcode::Or if ty == Type::Pred => Some(Kind::Pred(PredOp::Or)),
        Opcode::Xor if ty == Type::Pred => Some(Kind::Pred(PredOp::Xor)),
        Opcode::Not if ty == Type::Pred => Some(Kind::Pred(PredOp::Not)),
        Opcode::And => either(Bin32::And, Bin64::And),
        Opcode::Or => either(Bin32::Or, Bin64::Or),
        Opcode::Xor => either(Bin32::Xor, Bin64::Xor),
        Opcode::Not if word => Some(Kind::Un32(Un32::Not)),
        Opcode::Shl => either(Bin32::Shl, Bin64::Shl),
        Opcode::Shr if signed => either(Bin32::ShrS, Bin64::ShrS),
        Opcode::Shr => either(Bin32::ShrU, Bin64::ShrU),
        Opcode::Popc if word => Some(Kind::Un32(Un32::Popc)),
        Opcode::Lop3 => match func.srcs(inst).get(3) {
            Some(Operand::Imm(table)) => Some(Kind::Tri32(Tri32::Lop3(*table as u8))),
            _ => None,
        },
        Opcode::Shf if data.field() == Some(ShiftMode::Wrap) => Some(Kind::Tri32(match data.field() {
            Some(ShiftDirection::Left) => Tri32::FunnelLeftWrap,
            _ => Tri32::FunnelRightWrap,
        })),
        Opcode::Bfe if ty == Type::U32 => Some(Kind::Tri32(Tri32::BfeU32)),
        Opcode::FAdd if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FAdd)),
        Opcode::FSub if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FSub)),
        Opcode::FMul if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FMul)),
        Opcode::FFma if plain_float && ty == Type::F32 => Some(Kind::Tri32(Tri32::Fma)),
        Opcode::FAdd if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FAdd)),
        Opcode::FSub if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FSub)),
        Opcode::FMul if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FMul)),
        Opcode::FNeg if plain_float && ty == Type::F32 => Some(Kind::Un32(Un32::FNeg)),
        Opcode::FAbs if plain_float && ty == Type::F32 => Some(Kind::Un32(Un32::FAbs)),
        Opcode::SelP => match ty.bits() {
            32 => Some(Kind::Sel32),
            64 => Some(Kind::Sel64),
            _ => None,
        },
        Opcode::SetP => fast_comparison(data),
        Opcode::Cvt => fast_conversion(data),
        _ => None,
    }
}

fn fast_comparison(data: &InstData) -> Option<Kind> {
    let (compare, ty) = (data.field::<Compare>()?, data.ty());
    let compared = match ty {
        Type::U32 | Type::B32 => Compared::U32,
        Type::S32 => Compared::S32,
        Type::U64 | Type::B64 => Compared::U64,
        Type::S64 => Compared::S64,
        Type::F32 if data.field() == Some(Ftz::No) => Compared::F32,
        _ => return None,
    };
    let test = match compare {
        Compare::Eq => Test::Eq,
        Compare::Ne => Test::Ne,
        Compare::Lt | Compare::Lo => Test::Lt,
        Compare::Le | Compare::Ls => Test::Le,
        Compare::Gt | Compare::Hi => Test::Gt,
        Compare::Ge | Compare::Hs => Test::Ge,
        _ => return None,
    };
    // An ordered `ne` of floats is false where either is NaN; the lane form of `!=` is true there.
    let unsupported = compared == Compared::F32 && test == Test::Ne;
    (!unsupported).then_some(Kind::SetP(compared, test))
}

fn fast_conversion(data: &InstData) -> Option<Kind> {
    if data.field_index(Field::Rounding).is_some_and(|r| r > Rounding::Rn.index()) {
        return None;
    }
    let from = Type::from(data.field::<SrcType>()?);
    Some(match (data.ty(), from) {
        (Type::U64 | Type::S64, Type::S32) => Kind::Sext64,
        (Type::U64 | Type::S64, Type::U32) => Kind::Zext64,
        (Type::U32 | Type::S32, Type::U64 | Type::S64 | Type::U32 | Type::S32) => Kind::Mov32,
        (Type::U32 | Type::S32, Type::U8) => Kind::Un32(Un32::ZextByte),
        (Type::U32 | Type::S32, Type::U16) => Kind::Un32(Un32::ZextHalf),
        (Type::U32 | Type::S32, Type::S8) => Kind::Un32(Un32::SextByte),
        (Type::U32 | Type::S32, Type::S16) => Kind::Un32(Un32::SextHalf),
        (Type::F32, Type::U32) => Kind::Un32(Un32::F32FromU32),
        (Type::F32, Type::S32) => Kind::Un32(Un32::F32FromS32),
        _ => return None,
    })
}

/// The value of one operand that makes the other one's irrelevant.
fn settling(op: BoolOp) -> Option<bool> {
    match op {
        BoolOp::And => Some(false),
        BoolOp::Or => Some(true),
        BoolOp::Xor => None,
    }
}
