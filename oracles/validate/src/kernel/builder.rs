//! Kernels of a rule's left sides.

use oriole_ir::ops::{Compare, Flags, Opcode, Shape, Space, SpecialReg, Type};
use oriole_ir::{
    Block, Form, FuncId, Function, FunctionKind, Guard, InstBuilder, Linkage, Module, Operand, Reg, RegInfo, Variable,
};
use oriole_rules::instance::{Condition, Pattern, Source, place_type};

use super::effect::{self, Pointer, SCRATCH};
use super::{Case, Guarding};
use crate::translate::{Question, is_modulo_nan};
use oriole_launch::random::SplitMix64;
use oriole_launch::{Arg, ArgValue, Buffer, Launch, Scalar, ScalarType};
use oriole_proof::Term;
use oriole_proof::eval::Program;
use oriole_proof::term::{Op, ones};

/// Bytes between two inputs or results in memory.
pub(super) const SLOT: u64 = 16;

/// Where the kernel's inputs come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feed {
    /// A parameter each, for one sample.
    Parameters,
    /// A buffer.
    Buffer,
}

/// A kernel in the making: the left side of a variant on one input after the other, every result stored. Inputs and
/// results lie thread by thread.
pub(super) struct Builder<'q, 'i> {
    question: &'q Question<'i>,
    feed: Feed,
    pub(super) threads: u32,
    pub(super) func: Function,
    pub(super) block: Block,
    pub(super) results: Reg,
    operands: Option<Reg>,
    /// The bytes of the input buffer.
    bytes: Vec<u8>,
    /// The values of the parameters behind the first.
    scalars: Vec<(String, Scalar)>,
    pub(super) stored: u64,
    /// The register of each variable for the sample at hand.
    loaded: Vec<Option<Reg>>,
    pub(super) captures: Vec<Option<Operand>>,
    next_fields: usize,
    next_other: usize,
    next_constant: usize,
    pub(super) module: Module,
    /// Variables that are addresses, and where the scratch regions begin that they point into.
    pub(super) pointers: Vec<Pointer>,
    pub(super) scratch: Vec<(Space, Reg)>,
    pub(super) memory: Option<Reg>,
    /// The multicast address of that memory, whose replicas the root accesses.
    pub(super) multicast: Option<Reg>,
    /// What lies there at first, where it is not just anything.
    initial: Vec<(u64, Vec<u8>)>,
    /// Whether the thread's number is odd.
    odd: Option<Reg>,
    pub(super) thread: Option<Reg>,
    /// What destinations hold where the guard does not.
    before: SplitMix64,
}

impl<'q, 'i> Builder<'q, 'i> {
    /// A kernel for these cases: where it is one in one thread, its inputs are parameters.
    pub(super) fn new(question: &'q Question<'i>, cases: &[Case]) -> Builder<'q, 'i> {
        let threads = cases.iter().map(Case::threads).max().unwrap_or(1);
        // A parameter holds at most 64 bits, and all threads share it.
        let wide = question.terms.variables().iter().any(|variable| variable.width > 64);
        let feed = if cases.len() == 1 && threads == 1 && !wide { Feed::Parameters } else { Feed::Buffer };
        let pointers = effect::pointers(question);
        // Only device functions write to the parameter space at an address, which is their own frame.
        let is_called = pointers.iter().any(|pointer| pointer.space == Space::Param);
        let mut func = if is_called { Function::new("left", FunctionKind::Device) } else { entry() };
        func.form = Form::Ssa;
        let block = func.new_block();
        let mut builder = Builder {
            question,
            feed,
            threads,
            func,
            block,
            results: Reg::from_u32(0),
            operands: None,
            bytes: Vec::new(),
            scalars: Vec::new(),
            stored: 0,
            loaded: Vec::new(),
            captures: Vec::new(),
            next_fields: 0,
            next_other: 0,
            next_constant: 0,
            module: Module::default(),
            pointers,
            scratch: Vec::new(),
            memory: None,
            multicast: None,
            initial: Vec::new(),
            odd: None,
            thread: None,
            before: SplitMix64::new(1),
        };
        // `finish` lists the arguments in this order, and the scalars behind them.
        builder.results = builder.parameter("results", Type::U64);
        if feed == Feed::Buffer {
            builder.operands = Some(builder.parameter("operands", Type::U64));
        }
        if !builder.pointers.is_empty() {
            builder.memory = Some(builder.parameter("memory", Type::U64));
            let is_multicast = question.variant.instance.pattern().opcode.is(Flags::MULTIMEM);
            builder.multicast = is_multicast.then(|| builder.parameter("multicast", Type::U64));
        }
        if threads > 1 {
            builder.spread();
        }
        // Each thread has memory of its own by now, so pointers are made last.
        for pointer in builder.pointers.clone() {
            builder.scratch_region(pointer.space);
        }
        builder
    }

    /// The addresses of each thread's own results and inputs.
    fn spread(&mut self) {
        let tid = InstBuilder::new(Opcode::S2r).field(Type::B32).src(Operand::Special(SpecialReg::TidX));
        let tid = self.value(tid, RegInfo::words(1));
        self.results = self.own(tid, SLOT, self.results);
        self.operands = self.operands.map(|base| self.own(tid, SLOT, base));
        self.memory = self.memory.map(|base| self.own(tid, SCRATCH, base));
        self.multicast = self.multicast.map(|base| self.own(tid, SCRATCH, base));
        self.thread = Some(tid);
        let bit = InstBuilder::new(Opcode::And).field(Type::B32).src(tid).src(Operand::imm(1));
        let bit = self.value(bit, RegInfo::words(1));
        self.odd = Some(self.is_set(bit));
    }

    /// Whether a word is not zero.
    fn is_set(&mut self, word: Reg) -> Reg {
        let test = InstBuilder::new(Opcode::SetP).field(Type::U32).field(Compare::Ne);
        self.value(test.src(word).src(Operand::imm(0)), RegInfo::PRED)
    }

    fn parameter(&mut self, name: &str, ty: Type) -> Reg {
        let local = self.func.locals.push(Variable::new(name, Space::Param, ty, None));
        self.func.params.push(local);
        let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Param);
        self.value(load.src(Operand::Local(local)).src(Operand::imm(0)), RegInfo::of(ty))
    }

    pub(super) fn value(&mut self, inst: InstBuilder, info: RegInfo) -> Reg {
        inst.append_value(&mut self.func, self.block, info)
    }

    /// The left side on one input.
    pub(super) fn case(&mut self, case: &Case) {
        let question = self.question;
        let instance = question.variant.instance;
        self.loaded = vec![None; question.terms.variables().len()];
        self.captures = vec![None; instance.captures.len()];
        (self.next_fields, self.next_other, self.next_constant) = (0, 0, 0);
        for index in 0..instance.captures.len() {
            self.captures[index] = self.captured(index, case);
        }
        let results = self.pattern(instance.pattern(), case, true);
        for (thread, lane) in case.memory.iter().enumerate() {
            self.initial.extend(lane.iter().map(|(at, bytes)| (SCRATCH * thread as u64 + at, bytes.clone())));
        }
        if instance.conditions.contains(&Condition::Unused) {
            return;
        }
        let (row, fields) = (instance.pattern().opcode.row(), question.variant.fields[0]);
        for (reg, shape) in results.into_iter().zip(row.dsts) {
            let ty = place_type(row.opcode, &fields, *shape);
            let reg = match ty {
                Some(ty) if is_modulo_nan(instance) => self.with_one_nan(reg, ty),
                _ => reg,
            };
            self.store(reg);
        }
        self.read_again(&instance.conditions);
    }

    /// The variable that a term is.
    fn variable_of(&self, term: Term) -> Option<usize> {
        match self.question.terms.node(term).op {
            Op::Variable(number) => Some(number as usize),
            _ => None,
        }
    }

    /// The operand of a capture that is no operation of the pattern.
    fn captured(&mut self, index: usize, case: &Case) -> Option<Operand> {
        let instance = self.question.variant.instance;
        let capture = &instance.captures[index];
        let number = self.variable_of(self.question.captures[index])?;
        let value = case.lanes[0][number] as u64;
        if capture.constant {
            return Some(self.func.imm(value));
        }
        if is_fixed(self.question, index) {
            let bits = capture.ty.map_or(32, Type::bits);
            return Some(self.func.imm(value & ones(bits.clamp(1, 64)) as u64));
        }
        let reg = self.load(number, case);
        Some(Operand::Reg(self.with_known_bits(index, reg, case)))
    }

    /// The register of a variable, loaded from where the optimizer sees nothing of its value.
    fn load(&mut self, number: usize, case: &Case) -> Reg {
        if let Some(reg) = self.loaded[number] {
            return reg;
        }
        let variable = &self.question.terms.variables()[number];
        let (name, width) = (variable.name.clone(), variable.width);
        let ty = match width {
            64 => Type::B64,
            128 => Type::B128,
            _ => Type::B32,
        };
        let reg = if self.feed == Feed::Parameters {
            let scalar = if width == 64 { ScalarType::B64 } else { ScalarType::B32 };
            self.scalars.push((name.clone(), Scalar::from_bits(scalar, case.lanes[0][number] as u64)));
            self.parameter(&format!("p{}_{}", self.scalars.len(), clean(&name)), ty)
        } else {
            let values: Vec<u128> = case.lanes.iter().map(|inputs| inputs[number]).collect();
            self.input(ty, &values)
        };
        let reg = if width == 1 { self.is_set(reg) } else { reg };
        let reg = self.pointing(number, reg);
        self.loaded[number] = Some(reg);
        reg
    }

    /// A value from the buffer of inputs: one for each thread, the last for all that are left.
    fn input(&mut self, ty: Type, values: &[u128]) -> Reg {
        let offset = self.bytes.len() as u64;
        for thread in 0..self.threads as usize {
            let value = values.get(thread).or(values.last()).copied().unwrap_or(0);
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
        let base = self.operands.unwrap_or(self.results);
        let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Global);
        self.value(load.src(base).src(offset), RegInfo::of(ty))
    }

    /// The value with operations that show the bits which conditions want to be known.
    fn with_known_bits(&mut self, capture: usize, reg: Reg, case: &Case) -> Reg {
        let info = self.func.regs()[reg];
        if info.is_predicate() || info.words > 2 {
            return reg;
        }
        let (mut zeros, mut set) = (0u64, 0u64);
        let value = self.variable_of(self.question.captures[capture]).map_or(0, |number| case.lanes[0][number] as u64);
        for (of, is_set, mask) in &self.question.known {
            let mask = Program::new(&self.question.terms, &[*mask]).eval(&case.lanes[0])[0] as u64;
            if *of == capture && *is_set && mask & !value == 0 {
                set |= mask;
            } else if *of == capture && !*is_set && mask & value == 0 {
                zeros |= mask;
            }
        }
        let ty = if info.words == 2 { Type::B64 } else { Type::B32 };
        let all = ones(ty.bits()) as u64;
        let mut reg = reg;
        if zeros & all != 0 {
            let and = InstBuilder::new(Opcode::And).field(ty).src(reg).src(!zeros & all);
            reg = self.value(and, info);
        }
        if set & all != 0 {
            let or = InstBuilder::new(Opcode::Or).field(ty).src(reg).src(set & all);
            reg = self.value(or, info);
        }
        reg
    }

    /// The operations of a pattern; the registers of its results.
    fn pattern(&mut self, pattern: &Pattern, case: &Case, root: bool) -> Vec<Reg> {
        let fields = self.question.variant.fields[self.next_fields];
        self.next_fields += 1;
        let row = pattern.opcode.row();
        let mut inst = InstBuilder::new(pattern.opcode).fields(fields);
        for (source, shape) in pattern.srcs.iter().zip(row.srcs) {
            let ty = place_type(pattern.opcode, &fields, *shape);
            inst = inst.src(self.source(source, ty, *shape, case));
        }
        let guard = self.odd.filter(|_| root && case.guard != Guarding::None);
        let guard = guard.map(|reg| Guard::new(reg, case.guard == Guarding::Even));
        inst = inst.guard(guard);
        let mut results = Vec::with_capacity(row.dsts.len());
        for shape in row.dsts {
            let info = RegInfo::of(place_type(pattern.opcode, &fields, *shape).unwrap_or(Type::B32));
            if guard.is_some() {
                let before = self.previous(info);
                inst = inst.or_else(before);
            }
            let reg = self.func.new_reg(info);
            inst = inst.dst(reg);
            results.push(reg);
        }
        inst.append(&mut self.func, self.block);
        if let (Some(binding), [reg]) = (pattern.binding, results.as_slice()) {
            self.captures[binding] = Some(Operand::Reg(*reg));
        }
        results
    }

    /// What a destination holds where its guard does not.
    fn previous(&mut self, info: RegInfo) -> Reg {
        let ty = match info.words {
            2 if !info.is_predicate() => Type::B64,
            4 => Type::B128,
            _ => Type::B32,
        };
        let value = u128::from(self.before.next_u64()) << 64 | u128::from(self.before.next_u64());
        let reg = self.input(ty, &[value, !value]);
        if info.is_predicate() { self.is_set(reg) } else { reg }
    }

    fn source(&mut self, source: &Source, ty: Option<Type>, shape: Shape, case: &Case) -> Operand {
        match source {
            Source::Any => {
                let other = self.question.others[self.next_other];
                self.next_other += 1;
                let number = self.variable_of(other).unwrap_or(0);
                if matches!(shape, Shape::Imm | Shape::Offset) {
                    return self.func.imm(case.lanes[0][number] as u64);
                }
                Operand::Reg(self.load(number, case))
            }
            Source::Capture(capture) => match self.captures[*capture] {
                Some(operand) => operand,
                None => Operand::Undef,
            },
            Source::Constant(capture) => self.captures[*capture].unwrap_or(Operand::Undef),
            Source::Equals(_) => {
                // The translation has the value; nothing is computed here a third time.
                let value = self.question.constants[self.next_constant];
                self.next_constant += 1;
                let bits = Program::new(&self.question.terms, &[value]).eval(&case.lanes[0])[0] as u64;
                self.func.imm(bits & ones(ty.map_or(64, Type::bits).clamp(1, 64)) as u64)
            }
            Source::Inst(pattern) => match self.pattern(pattern, case, false).first() {
                Some(reg) => Operand::Reg(*reg),
                None => Operand::Undef,
            },
            Source::Word(word, of) => match self.source(of, Some(Type::B64), Shape::D, case) {
                Operand::Reg(reg) => Operand::Word(reg, *word),
                Operand::Imm(imm) => self.func.imm_word(imm, *word & 1),
                other => other,
            },
        }
    }

    /// The kernel and its launch.
    pub(super) fn finish(mut self) -> (Module, Launch) {
        if let Some(memory) = self.memory {
            let elsewhere = |space: &Space| matches!(space, Space::Shared | Space::Local | Space::Param);
            for (space, address) in self.scratch.clone().into_iter().filter(|(space, _)| elsewhere(space)) {
                self.copy((space, address), (Space::Global, memory));
            }
        }
        InstBuilder::new(Opcode::Ret).append(&mut self.func, self.block);
        let mut launch = Launch::new(Some("rule".to_owned()));
        let buffer = |name: &str, bytes: Vec<u8>, element| Arg {
            name: Some(name.to_owned()),
            value: ArgValue::Buffer(Buffer { bytes, element, ..Buffer::default() }),
        };
        launch.block = [self.threads, 1, 1];
        let results = vec![0; (SLOT * u64::from(self.threads) * self.stored.max(1)) as usize];
        launch.args.push(buffer("results", results, Some(ScalarType::B32)));
        if self.feed == Feed::Buffer {
            self.bytes.resize(self.bytes.len().max(SLOT as usize), 0);
            launch.args.push(buffer("operands", self.bytes, None));
        }
        if self.memory.is_some() {
            // Two replicas, so that what combines them has something to do; only the first begins with special content.
            let replicas = if self.multicast.is_some() { 2 } else { 0 };
            let words = SCRATCH * u64::from(self.threads) * u64::from(replicas.max(1)) / 8;
            let words = (0..words).map(|_| self.before.next_u64());
            let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            for (at, value) in &self.initial {
                bytes[*at as usize..][..value.len()].copy_from_slice(value);
            }
            let value = ArgValue::Buffer(Buffer { bytes, replicas, ..Buffer::default() });
            launch.args.push(Arg { name: Some("memory".to_owned()), value });
            if self.multicast.is_some() {
                let value = ArgValue::Multicast { arg: launch.args.len() - 1, offset: 0 };
                launch.args.push(Arg { name: Some("multicast".to_owned()), value });
            }
        }
        let scalar = |(name, scalar)| Arg { name: Some(name), value: ArgValue::Scalar(scalar) };
        launch.args.extend(self.scalars.into_iter().map(scalar));
        let kind = self.func.kind;
        let func = self.module.functions.push(self.func);
        if kind == FunctionKind::Device {
            let entry = calling(func, &self.module.functions[func]);
            self.module.functions.push(entry);
        }
        (self.module, launch)
    }
}

/// The kernel that is launched, without its code.
fn entry() -> Function {
    let mut func = Function::new("rule", FunctionKind::Entry);
    func.linkage = Linkage::Visible;
    func
}

/// A kernel that calls a function with its own parameters.
fn calling(id: FuncId, callee: &Function) -> Function {
    let mut func = entry();
    func.form = Form::Ssa;
    let block = func.new_block();
    let mut call = InstBuilder::new(Opcode::Call).src(Operand::Func(id)).src(Operand::imm(0));
    for param in &callee.params {
        let Variable { name, ty, .. } = callee.locals[*param].clone();
        let given = func.locals.push(Variable::new(format!("given_{name}"), Space::Param, ty, None));
        let param = func.locals.push(Variable::new(name, Space::Param, ty, None));
        func.params.push(param);
        let load = InstBuilder::new(Opcode::Ld).field(ty).field(Space::Param);
        let load = load.src(Operand::Local(param)).src(Operand::imm(0));
        let value = load.append_value(&mut func, block, RegInfo::of(ty));
        let store = InstBuilder::new(Opcode::St).field(ty).field(Space::Param);
        store.src(Operand::Local(given)).src(Operand::imm(0)).src(value).append(&mut func, block);
        call = call.src(Operand::Local(given));
    }
    call.append(&mut func, block);
    InstBuilder::new(Opcode::Ret).append(&mut func, block);
    func
}

/// Whether a capture has the same value in every thread: it is a constant of the kernel.
pub(super) fn is_fixed(question: &Question<'_>, capture: usize) -> bool {
    let instance = question.variant.instance;
    let wants_constant = |condition: &Condition| *condition == Condition::IsConstant(capture);
    instance.captures[capture].constant
        || instance.conditions.iter().any(wants_constant)
        || is_immediate(instance.pattern(), capture)
}

/// Whether a capture stands where only immediates can.
fn is_immediate(pattern: &Pattern, capture: usize) -> bool {
    pattern.srcs.iter().zip(pattern.opcode.row().srcs).any(|(source, shape)| match source {
        Source::Capture(one) => *one == capture && matches!(shape, Shape::Imm | Shape::Offset),
        Source::Inst(inner) => is_immediate(inner, capture),
        _ => false,
    })
}

/// A name as the text form takes it.
fn clean(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}
