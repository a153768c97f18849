//! Edits of a module that respect nothing: operands, opcodes, fields, guards, targets, phi sources, order, forms,
//! registers, variables, signatures.
//!
//! Half of what an edit puts in is taken from elsewhere in the function, so that the result is often nearly right; the
//! rest is anything, numbers outside of every arena included. What comes out must be refused by the verifier or be as
//! good as any other module.

use cranelift_entity::EntityRef;
use oriole_ir::ops::{FieldValue, OpRow, Opcode, ROWS, Space, SpecialReg, Type};
use oriole_ir::{
    Block, Form, FuncId, Function, FunctionKind, Global, Guard, Inst, InstHead, Level, Linkage, Local, Modifiers,
    Module, Operand, Reg, RegFile, RegInfo, Relocation, SymbolRef, Variable,
};

use oriole_generate::Entropy;

/// Makes one edit; sometimes it finds nothing to do. Returns whether another may follow: where the list of a block is
/// broken, only the verifier may walk it.
pub(super) fn damage(module: &mut Module, entropy: &mut Entropy<'_>) -> bool {
    if entropy.percent(8) {
        variables(module, entropy);
        return true;
    }
    let sizes = (module.globals.len(), module.functions.len());
    let ids: Vec<FuncId> = module.functions.keys().filter(|id| module.functions[*id].is_definition()).collect();
    if ids.is_empty() {
        return true;
    }
    let mut edit = Edit { func: &mut module.functions[entropy.choose(&ids)], sizes, entropy };
    match edit.entropy.below(20) {
        0..=2 => edit.source(),
        3 => edit.destination(),
        4 => edit.operand_count(),
        5..=7 => edit.opcode(),
        8 | 9 => edit.field(),
        10 | 11 => edit.guard(),
        12 => edit.else_values(),
        13 => edit.target(),
        14 => edit.phi(),
        15 => edit.order(),
        16 if edit.entropy.percent(50) => {
            edit.list();
            return false;
        }
        16 => edit.order(),
        17 => edit.layout(),
        18 => edit.register(),
        _ => edit.header(),
    }
    true
}

/// An edit of one function.
struct Edit<'a, 'b, 'e> {
    func: &'a mut Function,
    /// Variables and functions of the module.
    sizes: (usize, usize),
    entropy: &'b mut Entropy<'e>,
}

impl Edit<'_, '_, '_> {
    fn block(&mut self) -> Option<Block> {
        let layout = self.func.layout();
        (!layout.is_empty()).then(|| layout[self.entropy.below(layout.len())])
    }

    /// A block and the place of an instruction in it.
    fn place(&mut self) -> Option<(Block, usize)> {
        let block = self.block()?;
        let count = self.func.blocks().get(block).map(|_| self.func.block_insts(block).len())?;
        (count > 0).then(|| (block, self.entropy.below(count)))
    }

    fn inst(&mut self) -> Option<Inst> {
        let (block, at) = self.place()?;
        let inst = self.func.inst_at(block, at);
        self.func.insts().is_valid(inst).then_some(inst)
    }

    /// An instruction for which something holds; after a few tries none.
    fn inst_with(&mut self, holds: impl Fn(&Function, Inst) -> bool) -> Option<Inst> {
        (0..8).find_map(|_| self.inst().filter(|inst| holds(self.func, *inst)))
    }

    fn reg(&mut self) -> Reg {
        let beyond = if self.entropy.percent(3) { 2 } else { 0 };
        Reg::new(self.entropy.below(self.func.regs().len() + beyond))
    }

    /// Any operand: one that is elsewhere, or one made up.
    fn operand(&mut self) -> Operand {
        if self.entropy.percent(50)
            && let Some(inst) = self.inst()
            && let inputs = self.func.inputs(inst)
            && !inputs.is_empty()
        {
            return inputs[self.entropy.below(inputs.len())];
        }
        let (globals, functions) = self.sizes;
        let number = |entropy: &mut Entropy<'_>, count: usize| entropy.below(count + 1);
        match self.entropy.below(12) {
            0..=2 => self.register_operand(),
            3 => Operand::Word(self.reg(), self.entropy.below(5) as u8),
            4 => Operand::imm(self.entropy.below(40) as u32),
            5 if self.entropy.percent(5) => Function::new("", FunctionKind::Device).imm(self.entropy.bits()),
            5 => self.func.imm(self.entropy.bits()),
            6 => Operand::Special(self.entropy.choose(SpecialReg::ALL)),
            7 => self.constant(),
            8 => Operand::Global(Global::new(number(self.entropy, globals))),
            9 => Operand::Local(Local::new(number(self.entropy, self.func.locals.len()))),
            10 => match self.entropy.below(2) {
                0 => Operand::Func(FuncId::new(number(self.entropy, functions))),
                _ => Operand::Block(Block::new(number(self.entropy, self.func.blocks().len()))),
            },
            _ => Operand::Undef,
        }
    }

    /// A constant bank, now and then with modifiers.
    fn constant(&mut self) -> Operand {
        let operand = Operand::constant(self.entropy.below(18) as u8, self.entropy.below(600) as u32);
        let all = [Modifiers::NONE, Modifiers::NONE, Modifiers::NEGATE, Modifiers::INVERT, Modifiers::REUSE];
        operand.with_modifiers(self.entropy.choose(&all)).unwrap_or(operand)
    }

    /// A register, now and then with modifiers.
    fn register_operand(&mut self) -> Operand {
        let operand = Operand::Reg(self.reg());
        let all = [Modifiers::NEGATE, Modifiers::ABSOLUTE, Modifiers::INVERT, Modifiers::REUSE];
        let modifiers = if self.entropy.percent(5) { self.entropy.choose(&all) } else { Modifiers::NONE };
        operand.with_modifiers(modifiers).unwrap_or(operand)
    }

    fn source(&mut self) {
        let operand = self.operand();
        let Some(inst) = self.inst_with(|func, inst| !func.inputs(inst).is_empty()) else { return };
        let at = self.entropy.below(self.func.inputs(inst).len());
        let inputs = self.func.inputs_mut(inst);
        if self.entropy.percent(20) {
            inputs.swap(0, at);
        } else {
            inputs[at] = operand;
        }
    }

    fn destination(&mut self) {
        let Some(inst) = self.inst_with(|func, inst| !func.dsts(inst).is_empty()) else { return };
        let at = self.entropy.below(self.func.dsts(inst).len());
        let operand = if self.entropy.percent(90) { Operand::Reg(self.reg()) } else { self.operand() };
        self.func.dsts_mut(inst)[at] = operand;
    }

    /// Gives an instruction other operands, one fewer or one more.
    fn operand_count(&mut self) {
        let Some(inst) = self.inst() else { return };
        let (mut dsts, mut srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let extra = self.operand();
        let list = if self.entropy.percent(30) { &mut dsts } else { &mut srcs };
        let at = self.entropy.below(list.len() + 1);
        if self.entropy.percent(50) {
            list.insert(at, extra);
        } else if at < list.len() {
            list.remove(at);
        }
        let elses = self.func.elses(inst).to_vec();
        self.replace(inst, self.func.inst(inst).head(), [&dsts, &srcs, &elses]);
    }

    fn replace(&mut self, inst: Inst, head: InstHead, [dsts, srcs, elses]: [&[Operand]; 3]) {
        self.func.set_inst(inst, head, dsts, srcs, elses);
    }

    /// Another opcode: mostly one of the same shape, with the fields as they stand or at their defaults.
    fn opcode(&mut self) {
        let Some(inst) = self.inst() else { return };
        let row = self.func.inst(inst).opcode.row();
        let like = |other: &&OpRow| other.dsts == row.dsts && other.srcs == row.srcs;
        let rows: Vec<&OpRow> =
            if self.entropy.percent(85) { ROWS.iter().filter(like).collect() } else { ROWS.iter().collect() };
        let row = self.entropy.choose(&rows);
        self.func.raw().insts[inst].opcode = row.opcode;
        if self.entropy.percent(70) {
            self.func.set_fields(inst, row.default_fields());
            for _ in 0..self.entropy.below(3) {
                self.field_of(inst);
            }
        }
    }

    fn field(&mut self) {
        if let Some(inst) = self.inst_with(|func, inst| !func.inst(inst).opcode.row().fields.is_empty()) {
            self.field_of(inst);
        }
    }

    /// Mostly one of the field's values, legal for the row or not.
    fn field_of(&mut self, inst: Inst) {
        let fields = self.func.inst(inst).opcode.row().fields;
        if fields.is_empty() {
            return;
        }
        let slot = self.entropy.below(fields.len());
        let legal: Vec<u8> = fields[slot].values().collect();
        self.func.raw().insts[inst].fields.0[slot] = match self.entropy.below(10) {
            0 => self.entropy.below(256) as u8,
            1 => self.entropy.below(fields[slot].field.value_names().len()) as u8,
            _ => self.entropy.choose(&legal),
        };
    }

    fn guard(&mut self) {
        let Some(inst) = self.inst() else { return };
        let regs: Vec<Reg> = self.func.regs().keys().filter(|reg| self.func.regs()[*reg].is_predicate()).collect();
        let any = if regs.is_empty() || self.entropy.percent(10) { self.reg() } else { self.entropy.choose(&regs) };
        let negated = self.entropy.percent(50);
        let guard = match (self.func.inst(inst).guard, self.entropy.below(3)) {
            (Some(_), 0) => None,
            (Some(old), 1) => Some(old.opposite()),
            _ => Some(Guard::new(any, negated)),
        };
        self.func.set_guard(inst, guard);
        if self.entropy.percent(70) {
            // An `else` for each destination, as SSA form wants it, or none.
            let wanted = if self.func.inst(inst).guard.is_some() { self.func.dsts(inst).len() } else { 0 };
            let elses: Vec<Operand> = (0..wanted).map(|_| self.operand()).collect();
            let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
            self.replace(inst, self.func.inst(inst).head(), [&dsts, &srcs, &elses]);
        }
    }

    fn else_values(&mut self) {
        let Some(inst) = self.inst() else { return };
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let elses: Vec<Operand> = (0..self.entropy.below(3)).map(|_| self.operand()).collect();
        self.replace(inst, self.func.inst(inst).head(), [&dsts, &srcs, &elses]);
    }

    /// Another target of a branch; phis may no longer fit then.
    fn target(&mut self) {
        let Some(inst) = self.inst_with(|func, inst| func.srcs(inst).iter().any(|src| src.block().is_some())) else {
            return;
        };
        let beyond = usize::from(self.entropy.percent(5));
        let to = Block::new(self.entropy.below(self.func.blocks().len() + beyond));
        let targets = self.func.srcs_mut(inst).iter_mut().filter(|src| src.block().is_some());
        let mut targets: Vec<&mut Operand> = targets.collect();
        let at = self.entropy.below(targets.len());
        *targets[at] = Operand::Block(to);
    }

    /// A phi loses a source, gets one twice, or gets another value.
    fn phi(&mut self) {
        let phi = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::Phi;
        let Some(inst) = self.inst_with(phi) else { return };
        let mut pairs: Vec<Vec<Operand>> = self.func.srcs(inst).chunks(2).map(<[Operand]>::to_vec).collect();
        if pairs.is_empty() {
            return;
        }
        let at = self.entropy.below(pairs.len());
        match self.entropy.below(4) {
            0 => drop(pairs.remove(at)),
            1 => pairs.push(pairs[at].clone()),
            2 => pairs.swap(0, at),
            _ => pairs[at][0] = self.operand(),
        }
        self.func.set_srcs(inst, &pairs.concat());
    }

    /// Drops, repeats or moves an instruction.
    fn order(&mut self) {
        let (Some((from, at)), Some((to, place))) = (self.place(), self.place()) else { return };
        let inst = self.func.inst_at(from, at);
        match self.entropy.below(5) {
            0 => self.func.remove_inst(inst),
            1 => {
                let count = self.func.block_insts(from).len();
                self.func.swap_insts(inst, self.func.inst_at(from, (at + 1) % count));
            }
            2 | 3 => {
                let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
                let elses = self.func.elses(inst).to_vec();
                let copy = self.func.new_inst(self.func.inst(inst).head(), &dsts, &srcs, &elses);
                if self.entropy.percent(20) {
                    // A copy of the record shares the operands, which is not allowed.
                    let raw = self.func.raw();
                    raw.insts[copy] = raw.insts[inst];
                }
                self.func.insert_at(to, place, copy);
            }
            _ => {
                self.func.remove_inst(inst);
                self.func.insert_at(to, place, inst);
            }
        }
    }

    /// Breaks the list of a block in one place.
    fn list(&mut self) {
        let (Some(inst), Some(other)) = (self.inst(), self.inst()) else { return };
        let beyond = Inst::new(self.func.insts().len() + self.entropy.below(2));
        let any = [Some(other), Some(other), Some(beyond), None][self.entropy.below(4)];
        let block = Block::new(self.entropy.below(self.func.blocks().len() + 1));
        let mut raw = self.func.raw();
        match self.entropy.below(5) {
            0 | 1 => raw.set_next(inst, any),
            2 => raw.set_prev(inst, any),
            3 => raw.set_block(inst, Some(block)),
            _ => raw.swap_order(inst, other),
        }
    }

    fn layout(&mut self) {
        let count = self.func.layout().len();
        let (a, b) = (self.entropy.below(count), self.entropy.below(count));
        match self.entropy.below(6) {
            0 => drop(self.func.raw().layout.remove(a)),
            1 => self.func.append_block(self.func.layout()[a]),
            2 => drop(self.func.new_block()),
            3 => self.func.append_block(Block::new(self.func.blocks().len())),
            _ => self.func.raw().layout.swap(a, b),
        }
    }

    /// Another file or width of a register, or a register more.
    fn register(&mut self) {
        let file = self.entropy.choose(&[RegFile::R, RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B]);
        let info = RegInfo { file, words: self.entropy.below(6) as u8 };
        let reg = self.reg();
        match self.func.raw().regs.get_mut(reg) {
            Some(old) if self.entropy.percent(80) => *old = info,
            _ => drop(self.func.new_reg(info)),
        }
    }

    /// Form, level, kind, linkage, name, signature.
    fn header(&mut self) {
        match self.entropy.below(9) {
            0 | 1 => self.func.form = self.entropy.choose(Form::ALL),
            8 => self.func.level = self.entropy.choose(Level::ALL),
            2 => self.func.kind = self.entropy.choose(&[FunctionKind::Entry, FunctionKind::Device]),
            3 => self.func.linkage = linkage(self.entropy),
            4 => self.func.name = name(self.entropy),
            5 => self.func.params.push(Local::new(self.entropy.below(self.func.locals.len() + 1))),
            6 => drop(self.func.params.pop()),
            _ => self.func.returns.push(Local::new(self.entropy.below(self.func.locals.len() + 1))),
        }
    }
}

fn linkage(entropy: &mut Entropy<'_>) -> Linkage {
    entropy.choose(Linkage::NAMES).0
}

fn name(entropy: &mut Entropy<'_>) -> String {
    entropy.choose(&["kernel", "device0", "vprintf", "", "a b", "$x", "r1", "é"]).to_owned()
}

/// Edits a variable of the module or of a function, or adds one.
fn variables(module: &mut Module, entropy: &mut Entropy<'_>) {
    let symbols = (module.globals.len(), module.functions.len());
    if entropy.percent(30) {
        let space = entropy.choose(Space::ALL);
        let count = entropy.percent(50).then(|| entropy.below(70) as u64);
        module.globals.push(Variable::new(name(entropy), space, entropy.choose(Type::ALL), count));
        return;
    }
    let locals = module.functions.values_mut().flat_map(|func| func.locals.values_mut());
    let mut all: Vec<&mut Variable> = module.globals.values_mut().chain(locals).collect();
    if all.is_empty() {
        return;
    }
    let at = entropy.below(all.len());
    variable(all[at], symbols, entropy);
}

fn variable(variable: &mut Variable, (globals, functions): (usize, usize), entropy: &mut Entropy<'_>) {
    match entropy.below(9) {
        0 => variable.space = entropy.choose(Space::ALL),
        1 => variable.ty = entropy.choose(Type::ALL),
        2 => variable.count = [None, Some(0), Some(3), Some(1 << 40), Some(u64::MAX)][entropy.below(5)],
        3 => variable.align = [0, 1, 3, 4, 16, 1 << 20, u32::MAX][entropy.below(7)],
        4 => variable.linkage = linkage(entropy),
        5 => variable.name = name(entropy),
        6 => variable.init = vec![1; entropy.below(40)],
        _ => {
            let symbol = match entropy.below(2) {
                0 => SymbolRef::Global(Global::new(entropy.below(globals + 1))),
                _ => SymbolRef::Func(FuncId::new(entropy.below(functions + 1))),
            };
            let (offset, width) = (entropy.below(20) as u32, entropy.choose(&[1, 4, 8, 8, 9]));
            let addend = entropy.bits() as i64;
            let generic = entropy.percent(50);
            variable.relocations.push(Relocation { offset, width, symbol, addend, generic });
        }
    }
}
