//! Second step, for one instruction: operands against the shapes of the opcode's row.

use cranelift_entity::EntityRef;

use super::{Checker, Rule};
use crate::diagnostics::counted;
use crate::ops::{Flags, Shape, Space};
use crate::template::{Place, Template};
use crate::{Form, Function, Inst, InstData, Level, Local, Modifiers, Operand, RegFile, RegInfo};

/// What a position takes: a register's file and width, and how many bits an immediate there has.
#[derive(Clone, Copy)]
struct Wanted {
    info: RegInfo,
    bits: u32,
}

impl Wanted {
    /// Whatever such a register can hold.
    fn like(info: RegInfo) -> Wanted {
        Wanted { info, bits: if info.is_predicate() { 1 } else { 32 * u32::from(info.words) } }
    }

    fn of(data: &InstData, shape: Shape) -> Option<Wanted> {
        let ty = data.shape_type(shape)?;
        Some(Wanted { info: RegInfo::of(ty), bits: ty.bits() })
    }
}

/// Whether a register is of the wanted width, in a file of the same kind: uniform registers serve as general ones.
fn same_kind(found: RegInfo, wanted: RegInfo) -> bool {
    let barrier = |info: RegInfo| info.file == RegFile::B;
    found.words == wanted.words && found.is_predicate() == wanted.is_predicate() && !barrier(found) && !barrier(wanted)
}

fn name(info: RegInfo) -> String {
    format!("`%{}`", info.prefix())
}

impl Checker<'_> {
    pub(super) fn operands(&mut self, inst: Inst, in_layout: &[bool]) {
        let func = self.func;
        let data = func.inst(inst);
        self.destinations(inst, data);
        self.sources(inst, data, in_layout);
        for (dst, old) in func.dsts(inst).iter().zip(func.elses(inst)) {
            if let Some(info) = func.operand_info(*dst) {
                self.value(*old, Wanted::like(info));
            }
        }
    }

    fn destinations(&mut self, inst: Inst, data: &InstData) {
        let func = self.func;
        let mut rest = func.dsts(inst);
        for shape in data.opcode.row().dsts {
            let count = if *shape == Shape::Written { rest.len() } else { data.registers(*shape) };
            let Some((these, after)) = rest.split_at_checked(count) else { return self.wrong_count("destinations") };
            rest = after;
            for dst in these {
                let wired = matches!(dst, Operand::Wired { modifiers: Modifiers::NONE, .. });
                if wired && self.func.level == Level::Machine {
                    if let (Some(found), Some(wanted)) = (self.func.operand_info(*dst), data.shape_info(*shape)) {
                        self.register(found, Some(wanted));
                    }
                    continue;
                }
                if let Operand::Word(reg, word) = *dst
                    && self.writes_words()
                {
                    let (info, words) = (self.func.regs()[reg], self.func.regs()[reg].words);
                    let exists = word < words;
                    self.expect(exists, Rule::WordIndex, || {
                        format!("word {word} of a register of {}", counted(words, "word"))
                    });
                    self.register(RegInfo { words: 1, ..info }, data.shape_info(*shape));
                    continue;
                }
                let Some(reg) = dst.whole_reg() else {
                    self.expect(false, Rule::Destination, || format!("{dst:?} is no whole register"));
                    continue;
                };
                let wanted = match shape {
                    // What a template says of them is checked with its sources.
                    Shape::Written => continue,
                    Shape::Packed => Some(RegInfo::words(data.packed_words(func.srcs(inst).len()))),
                    shape => data.shape_info(*shape),
                };
                self.register(func.regs()[reg], wanted);
            }
        }
        if !rest.is_empty() {
            self.wrong_count("destinations");
        }
    }

    /// Whether an instruction may write one word of a register: on the way to the machine's registers, where the words
    /// of one are made apart.
    fn writes_words(&self) -> bool {
        self.func.level == Level::Machine && self.func.form == Form::Virtual
    }

    /// Checks a register against a position; barriers fit none, any other fits where nothing is said.
    fn register(&mut self, found: RegInfo, wanted: Option<RegInfo>) {
        let fits = match wanted {
            Some(wanted) => same_kind(found, wanted),
            None => found.file != RegFile::B,
        };
        let message = || match wanted.filter(|wanted| wanted.words <= 4) {
            Some(wanted) => format!("a {} register stands where {} belongs", name(found), name(wanted)),
            None => format!("a {} register does not fit here", name(found)),
        };
        self.expect(fits, Rule::OperandWidth, message);
    }

    fn sources(&mut self, inst: Inst, data: &InstData, in_layout: &[bool]) {
        let mut rest = self.func.srcs(inst);
        for shape in data.opcode.row().srcs {
            let count = match shape {
                Shape::Blocks | Shape::Params => rest.len().max(1),
                Shape::Parts => rest.len().max(2),
                Shape::Incoming => rest.len().next_multiple_of(2),
                Shape::Taken | Shape::Places => rest.len(),
                shape => data.registers(*shape),
            };
            let Some((these, after)) = rest.split_at_checked(count) else { return self.wrong_count("sources") };
            rest = after;
            match shape {
                Shape::Incoming => self.incoming(inst, these, in_layout),
                Shape::Params => self.call(inst, these),
                Shape::Places => self.places(inst, these),
                _ => these.iter().for_each(|operand| self.source(data, *shape, *operand, in_layout)),
            }
        }
        if !rest.is_empty() {
            self.wrong_count("sources");
        }
    }

    fn wrong_count(&mut self, what: &str) {
        self.expect(false, Rule::OperandCount, || format!("not the number of {what} that the opcode takes"));
    }

    fn source(&mut self, data: &InstData, shape: Shape, operand: Operand, in_layout: &[bool]) {
        match shape {
            Shape::Base => self.base(operand),
            Shape::Offset | Shape::Imm => {
                self.kind(operand.is_imm(), operand, "an immediate");
            }
            Shape::Special => self.special(data, operand),
            Shape::Block | Shape::Blocks => self.target(operand, in_layout),
            Shape::Callee => self.callee(operand),
            Shape::Template => {
                let fits = self.func.text(operand).is_some_and(|text| Template::of(text).is_some());
                self.kind(fits, operand, "the template of an instruction");
            }
            Shape::Taken => self.taken(operand, in_layout),
            _ => {
                let plain = self.modified(operand);
                if let Some(wanted) = Wanted::of(data, shape) {
                    self.value(plain, wanted);
                }
            }
        }
    }

    /// What an instruction of the machine takes. Whether it is what the instruction wants its encodings say.
    fn taken(&mut self, operand: Operand, in_layout: &[bool]) {
        match operand {
            Operand::Block(_) => self.target(operand, in_layout),
            Operand::Reg(_) | Operand::Imm(_) | Operand::Func(_) | Operand::Name(_) => {}
            Operand::Modified { word: None, .. } | Operand::Const { .. } | Operand::Wired { .. } => {
                self.modified(operand);
            }
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } if self.writes_words() => {
                let words = self.func.regs()[reg].words;
                self.expect(word < words, Rule::WordIndex, || {
                    format!("word {word} of a register of {}", counted(words, "word"))
                });
            }
            _ => self.kind(false, operand, "what a machine instruction takes"),
        }
    }

    /// What is in the places of a template, which is the first source, and what comes out of them.
    fn places(&mut self, inst: Inst, taken: &[Operand]) {
        let func = self.func;
        let Some(template) = func.srcs(inst).first().and_then(|first| Template::of(func.text(*first)?)) else { return };
        let (results, sources): (Vec<_>, Vec<_>) = (template.results().collect(), template.sources().collect());
        if results.len() != func.dsts(inst).len() {
            return self.wrong_count("destinations");
        }
        if sources.len() != taken.len() {
            return self.wrong_count("sources");
        }
        for (dst, ty) in func.dsts(inst).iter().zip(results) {
            let found = dst.whole_reg().map(|reg| func.regs()[reg]);
            found.into_iter().for_each(|found| self.register(found, Some(RegInfo::of(ty))));
        }
        for (operand, place) in taken.iter().zip(sources) {
            match place {
                Place::Symbol => {
                    let symbol = matches!(operand, Operand::Global(_) | Operand::Local(_) | Operand::Func(_));
                    self.kind(symbol, *operand, "the name of a variable or function");
                }
                Place::Read(ty) | Place::Written(ty) | Place::Both(ty) => {
                    self.value(*operand, Wanted { info: RegInfo::of(ty), bits: ty.bits() });
                }
            }
        }
    }

    /// Checks the modifiers of a value; the operand without them.
    fn modified(&mut self, operand: Operand) -> Operand {
        let modifiers = operand.modifiers();
        if modifiers.is_none() {
            return operand;
        }
        let signs = Modifiers::NEGATE.or(Modifiers::ABSOLUTE);
        let predicate = self.func.operand_info(operand).is_some_and(RegInfo::is_predicate);
        let fits = match modifiers.has(Modifiers::INVERT) {
            true if predicate => modifiers == Modifiers::INVERT,
            true => modifiers.without(signs) == modifiers,
            false => !predicate,
        };
        let is_register = operand.reg().is_some() || matches!(operand, Operand::Wired { .. });
        let cached = !modifiers.has(Modifiers::REUSE) || is_register;
        let holds = fits && cached && self.func.level == Level::Machine;
        if !holds {
            self.modified_out_of_place(operand);
        }
        operand.with_modifiers(Modifiers::NONE).unwrap_or(operand)
    }

    fn modified_out_of_place(&mut self, operand: Operand) {
        self.expect(false, Rule::Modifier, || format!("{operand:?} has modifiers that do not stand here"));
    }

    fn kind(&mut self, fits: bool, operand: Operand, wanted: &str) {
        self.expect(fits, Rule::OperandKind, || format!("{operand:?} stands where {wanted} belongs"));
    }

    fn value(&mut self, operand: Operand, wanted: Wanted) {
        let general = !wanted.info.is_predicate();
        match operand {
            Operand::Reg(reg) => self.register(self.func.regs()[reg], Some(wanted.info)),
            Operand::Word(reg, word) => self.word(self.func.regs()[reg], word, wanted.info),
            Operand::Imm(imm) => {
                let bits = self.func.bits(imm);
                let fits = wanted.bits >= 64 || bits >> wanted.bits == 0;
                self.expect(fits, Rule::ImmediateWidth, || {
                    format!("{bits:#x} has more than {}", counted(wanted.bits, "bit"))
                });
            }
            Operand::Undef => {}
            Operand::Wired { file, words, modifiers } => {
                if !modifiers.is_none() || self.func.level != Level::Machine {
                    self.modified_out_of_place(operand);
                }
                self.register(RegInfo { file, words }, Some(wanted.info));
            }
            Operand::Const { modifiers, .. } => {
                if !modifiers.is_none() {
                    self.modified_out_of_place(operand);
                }
                self.kind(general, operand, "a predicate");
            }
            Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => {
                self.kind(general && wanted.info.words <= 2, operand, "a value that is no address");
            }
            Operand::Modified { .. } => self.modified_out_of_place(operand),
            Operand::Special(_) | Operand::Block(_) | Operand::Name(_) => self.kind(false, operand, "a value"),
        }
    }

    fn word(&mut self, found: RegInfo, word: u8, wanted: RegInfo) {
        let exists = word < found.words;
        self.expect(exists, Rule::WordIndex, || {
            format!("word {word} of a register of {}", counted(found.words, "word"))
        });
        self.register(RegInfo { words: 1, ..found }, Some(wanted));
    }

    /// A register of one or two words, a variable, a number.
    fn base(&mut self, operand: Operand) {
        match operand {
            Operand::Reg(reg) => {
                let words = if self.func.regs()[reg].words == 1 { 1 } else { 2 };
                self.register(self.func.regs()[reg], Some(RegInfo::words(words)));
            }
            Operand::Word(reg, word) => self.word(self.func.regs()[reg], word, RegInfo::words(1)),
            Operand::Global(_) | Operand::Local(_) | Operand::Imm(_) | Operand::Undef => {}
            Operand::Wired { file: RegFile::R | RegFile::UR, words: 1 | 2, modifiers: Modifiers::NONE }
                if self.func.level == Level::Machine => {}
            Operand::Modified { .. } => self.modified_out_of_place(operand),
            _ => self.kind(false, operand, "an address"),
        }
    }

    /// Special registers that do not change are read by a pure instruction, the others by one that stays in order.
    fn special(&mut self, data: &InstData, operand: Operand) {
        let Operand::Special(reg) = operand else { return self.kind(false, operand, "a special register") };
        let class = reg.is_volatile() != data.is(Flags::PURE);
        let fits = class && reg.bits() == data.ty().bits();
        self.expect(fits, Rule::SpecialRegister, || {
            let how = if reg.is_volatile() { "that changes by itself" } else { "that does not change" };
            format!("`{}` is a register of {} {how}", reg.name(), counted(reg.bits(), "bit"))
        });
    }

    fn target(&mut self, operand: Operand, in_layout: &[bool]) {
        match operand {
            Operand::Block(block) => {
                let inside = in_layout[block.index()];
                self.expect(inside, Rule::BranchTarget, || format!("`{block}` is not in the layout"));
            }
            _ => self.kind(false, operand, "a block"),
        }
    }

    /// The values that flow into a phi; [`super::ssa`] checks where from.
    fn incoming(&mut self, inst: Inst, pairs: &[Operand], in_layout: &[bool]) {
        let info = self.func.defs(inst).next().map(|reg| self.func.regs()[reg]);
        for pair in pairs.chunks_exact(2) {
            self.target(pair[1], in_layout);
            if let Some(info) = info {
                self.value(pair[0], Wanted::like(info));
            }
        }
    }

    fn callee(&mut self, operand: Operand) {
        match operand {
            Operand::Reg(reg) => self.register(self.func.regs()[reg], Some(RegInfo::words(2))),
            Operand::Func(_) | Operand::Undef => {}
            _ => self.kind(false, operand, "a function or its address"),
        }
    }

    /// `params` is the number of results, the results, the arguments.
    fn call(&mut self, inst: Inst, params: &[Operand]) {
        let Some((Operand::Imm(results), variables)) = params.split_first() else {
            return self.kind(false, params[0], "the number of results");
        };
        for operand in variables {
            let local = match operand {
                Operand::Local(local) => self.func.locals[*local].space == Space::Param,
                _ => false,
            };
            self.expect(local, Rule::CallVariables, || format!("{operand:?} is no variable in the parameter space"));
        }
        let split =
            usize::try_from(self.func.bits(*results)).ok().and_then(|results| variables.split_at_checked(results));
        let Some((results, arguments)) = split else { return self.wrong_count("results") };
        let (module, callee) = (self.module, self.func.srcs(inst)[0]);
        if let (Some(module), Operand::Func(id)) = (module, callee) {
            let callee = &module.functions[id];
            let device = callee.kind == crate::FunctionKind::Device;
            self.expect(device, Rule::CallSignature, || "an entry cannot be called".into());
            self.call_list("results", results, callee, &callee.returns);
            self.call_list("arguments", arguments, callee, &callee.params);
        }
    }

    /// Compares sizes in bytes; the callee's own lists may be broken too.
    fn call_list(&mut self, what: &str, given: &[Operand], callee: &Function, wanted: &[Local]) {
        let size = |func: &Function, local: Local| func.locals.get(local).map(|variable| variable.size());
        let same = |(given, wanted): (&Operand, &Local)| match given {
            Operand::Local(local) => size(self.func, *local) == size(callee, *wanted),
            _ => false,
        };
        let fits = given.len() == wanted.len() && given.iter().zip(wanted).all(same);
        self.expect(fits, Rule::CallSignature, || format!("the {what} are not those of `@{}`", callee.name));
    }
}
